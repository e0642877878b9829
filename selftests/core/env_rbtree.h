/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's interface of red-black trees in user space, as far as kmod/core
 * uses it. This is a treap: what is rotated up is decided by a hash of the node's
 * address, so that the tree is as flat as one of random insertions.
 */
#ifndef _DLCP_ENV_RBTREE_H
#define _DLCP_ENV_RBTREE_H

struct rb_node {
	struct rb_node *parent;
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

#define RB_ROOT			((struct rb_root){ NULL })
#define RB_EMPTY_NODE(n)	((n)->parent == (n))
#define RB_CLEAR_NODE(n)	((n)->parent = (n))
#define rb_entry(ptr, type, member) container_of(ptr, type, member)

static inline u64 env_rb_rank(const struct rb_node *n)
{
	u64 x = (u64)(uintptr_t)n * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return x ^ (x >> 31);
}

/* The place that points to @n */
static inline struct rb_node **env_rb_link(struct rb_node *n,
					   struct rb_root *root)
{
	if (!n->parent)
		return &root->rb_node;
	return n->parent->rb_left == n ? &n->parent->rb_left :
					 &n->parent->rb_right;
}

/* @n changes places with its parent */
static inline void env_rb_up(struct rb_node *n, struct rb_root *root)
{
	struct rb_node *p = n->parent;
	struct rb_node *moved;

	*env_rb_link(p, root) = n;
	n->parent = p->parent;
	if (p->rb_left == n) {
		moved = n->rb_right;
		p->rb_left = moved;
		n->rb_right = p;
	} else {
		moved = n->rb_left;
		p->rb_right = moved;
		n->rb_left = p;
	}
	p->parent = n;
	if (moved)
		moved->parent = p;
}

static inline void rb_link_node(struct rb_node *n, struct rb_node *parent,
				struct rb_node **link)
{
	n->parent = parent;
	n->rb_left = NULL;
	n->rb_right = NULL;
	*link = n;
}

static inline void rb_insert_color(struct rb_node *n, struct rb_root *root)
{
	while (n->parent && env_rb_rank(n->parent) < env_rb_rank(n))
		env_rb_up(n, root);
}

static inline void rb_erase(struct rb_node *n, struct rb_root *root)
{
	struct rb_node *child;

	while (n->rb_left && n->rb_right)
		env_rb_up(env_rb_rank(n->rb_left) < env_rb_rank(n->rb_right) ?
			  n->rb_right : n->rb_left, root);
	child = n->rb_left ? n->rb_left : n->rb_right;
	*env_rb_link(n, root) = child;
	if (child)
		child->parent = n->parent;
}

static inline struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *n = root->rb_node;

	while (n && n->rb_left) {
		env_steps++;
		n = n->rb_left;
	}
	return n;
}

#endif
