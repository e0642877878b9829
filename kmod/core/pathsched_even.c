// SPDX-License-Identifier: GPL-2.0
/*
 * "even": every path that works carries as many bytes. For fabrics that balance
 * by themselves, and to compare with.
 */
#include "pathsched.h"

static bool even_before(const struct dlcp_path *a, const struct dlcp_path *b)
{
	return a->vtime < b->vtime;
}

static struct dlcp_path *even_pick(struct dlcp_path *paths, u32 nr)
{
	return dlcp_path_first(paths, nr, even_before);
}

static void even_sent(struct dlcp_path *p, u32 bytes)
{
	p->vtime += bytes;
}

const struct dlcp_pathsched_ops dlcp_pathsched_even = {
	.name	= "even",
	.pick	= even_pick,
	.sent	= even_sent,
};
