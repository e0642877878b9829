/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How packets are spread over the paths of a connection, as a table of
 * operations. A policy is one file pathsched_NAME.c with one table, named in
 * pathsched.c. It sees struct dlcp_path and nothing else; path.c keeps what was
 * sent, lost and measured on each, and conn_timer.c finds dead ones.
 *
 * All are called with the connection's lock held, in process or softirq
 * context, and must not sleep. @nr is at least 1.
 */
#ifndef _DLCP_CORE_PATHSCHED_H
#define _DLCP_CORE_PATHSCHED_H

#include "path.h"

struct dlcp_pathsched_ops {
	const char *name;
	/* The path the next batch or control packet takes */
	struct dlcp_path *(*pick)(struct dlcp_path *paths, u32 nr);
	/* @bytes were sent on @p */
	void (*sent)(struct dlcp_path *p, u32 bytes);
	/*
	 * A round trip of @p is over; p->round has what it brought. Optional.
	 * Return: whether @p shall try another way (dlcp_path_repath()).
	 */
	bool (*round)(struct dlcp_path *paths, u32 nr, struct dlcp_path *p,
		      u64 now);
};

/* NULL-terminated; the first is the default */
extern const struct dlcp_pathsched_ops *const dlcp_pathsched_all[];
extern const struct dlcp_pathsched_ops dlcp_pathsched_adaptive;
extern const struct dlcp_pathsched_ops dlcp_pathsched_even;

/* By name; NULL if there is none of it */
const struct dlcp_pathsched_ops *dlcp_pathsched_find(const char *name);

#endif
