/* SPDX-License-Identifier: GPL-2.0 */
/* Messages in the order of a number, in the kernel's red-black trees. */
#ifndef _DLCP_CORE_TREE_H
#define _DLCP_CORE_TREE_H

#include "env.h"

/**
 * struct dlcp_tnode - one of a tree
 * @rb: empty (RB_EMPTY_NODE) while it is in none
 * @key: its number; several may have the same
 */
struct dlcp_tnode {
	struct rb_node rb;
	u64	key;
};

static inline void dlcp_tnode_init(struct dlcp_tnode *n)
{
	RB_CLEAR_NODE(&n->rb);
}

void dlcp_tree_add(struct rb_root *root, struct dlcp_tnode *n, u64 key);
/* Does nothing if it is in no tree */
void dlcp_tree_del(struct rb_root *root, struct dlcp_tnode *n);
/* The smallest, or NULL */
struct dlcp_tnode *dlcp_tree_first(const struct rb_root *root);
struct dlcp_tnode *dlcp_tree_find(const struct rb_root *root, u64 key);
/* Of keys that are all within 2^32 the one with these low bits, or NULL */
struct dlcp_tnode *dlcp_tree_find32(const struct rb_root *root, u32 low);

#endif
