// SPDX-License-Identifier: GPL-2.0
/*
 * "even": every path that works carries as many bytes. For fabrics that balance
 * by themselves, and to compare with.
 */
#include "spread.h"

static void even_sent(struct dlcp_path *p, u32 bytes)
{
	p->vtime += bytes;
}

const struct dlcp_spread_ops dlcp_spread_even = {
	.name	= "even",
	.pick	= dlcp_spread_least,
	.sent	= even_sent,
};
