// SPDX-License-Identifier: GPL-2.0
#include "tree.h"

static struct dlcp_tnode *tnode_of(struct rb_node *rb)
{
	return rb ? rb_entry(rb, struct dlcp_tnode, rb) : NULL;
}

void dlcp_tree_add(struct rb_root *root, struct dlcp_tnode *n, u64 key)
{
	struct rb_node **link = &root->rb_node;
	struct rb_node *parent = NULL;

	n->key = key;
	while (*link) {
		parent = *link;
		link = key < tnode_of(parent)->key ? &parent->rb_left :
						     &parent->rb_right;
	}
	rb_link_node(&n->rb, parent, link);
	rb_insert_color(&n->rb, root);
}

void dlcp_tree_del(struct rb_root *root, struct dlcp_tnode *n)
{
	if (RB_EMPTY_NODE(&n->rb))
		return;
	rb_erase(&n->rb, root);
	RB_CLEAR_NODE(&n->rb);
}

struct dlcp_tnode *dlcp_tree_first(const struct rb_root *root)
{
	return tnode_of(rb_first(root));
}

struct dlcp_tnode *dlcp_tree_find(const struct rb_root *root, u64 key)
{
	struct dlcp_tnode *n = tnode_of(root->rb_node);

	while (n && n->key != key)
		n = tnode_of(key < n->key ? n->rb.rb_left : n->rb.rb_right);
	return n;
}

struct dlcp_tnode *dlcp_tree_find32(const struct rb_root *root, u32 low)
{
	const struct dlcp_tnode *first = dlcp_tree_first(root);

	return first ? dlcp_tree_find(root, first->key +
				      (u32)(low - (u32)first->key)) : NULL;
}
