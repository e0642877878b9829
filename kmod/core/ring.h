/* SPDX-License-Identifier: GPL-2.0 */
/* Lists whose heads are one pointer: for arrays of them of which most are empty. */
#ifndef _DLCP_CORE_RING_H
#define _DLCP_CORE_RING_H

#include "env.h"

/**
 * struct dlcp_ring - zeroed, it is empty
 * @first: its first node; the last one is before it
 */
struct dlcp_ring {
	struct list_head *first;
};

/* @n is on no list */
static inline void dlcp_ring_add_tail(struct dlcp_ring *r, struct list_head *n)
{
	INIT_LIST_HEAD(n);
	if (r->first)
		list_add_tail(n, r->first);
	else
		r->first = n;
}

/* @n is on this one */
static inline void dlcp_ring_del(struct dlcp_ring *r, struct list_head *n)
{
	if (r->first == n)
		r->first = list_empty(n) ? NULL : n->next;
	list_del_init(n);
}

static inline struct list_head *dlcp_ring_next(const struct dlcp_ring *r,
					       const struct list_head *n)
{
	return n->next == r->first ? NULL : n->next;
}

#define dlcp_ring_for_each(n, r) \
	for (n = (r)->first; n; n = dlcp_ring_next(r, n))

#endif
