/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the core needs from its surroundings, and all it may use: integer
 * types, lists, bit operations and arithmetic. The core knows no socket, no
 * skb, no allocator, no clock and no lock: those who call it bring bytes and
 * times. This is what lets the same files run in the kernel and, under the
 * sanitizers, in user space (env_user.h of the self-tests).
 *
 * 64-bit divisions go through the helpers of math64.h, so that the module
 * builds on 32-bit machines; there is no floating point.
 */
#ifndef _DLCP_CORE_ENV_H
#define _DLCP_CORE_ENV_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/limits.h>
#include <linux/kernel.h>
#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/bug.h>
#else
#include "env_user.h"
#endif

#include <linux/dlcp.h>

/*
 * For a large variable on the stack of which nothing is read before it was written:
 * where the kernel is built to zero all of the stack that would be most of the work.
 */
#ifdef __has_attribute
#if __has_attribute(uninitialized)
#define DLCP_UNINIT	__attribute__((uninitialized))
#endif
#endif
#ifndef DLCP_UNINIT
#define DLCP_UNINIT
#endif

/* @n goes off its list, if it is on one. Mostly it is not, and to see that takes less than
 * to delete it, above all where the kernel checks its lists.
 */
static inline void dlcp_list_off(struct list_head *n)
{
	if (!list_empty(n))
		list_del_init(n);
}

/*
 * Big-endian fields at any address. Written with shifts rather than with
 * get_unaligned_be32() because the header of that one has moved between
 * kernel releases; compilers make the same single load of it.
 */
static inline u16 dlcp_get_be16(const u8 *p)
{
	return (u16)(p[0] << 8 | p[1]);
}

static inline u32 dlcp_get_be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

static inline u64 dlcp_get_be64(const u8 *p)
{
	return (u64)dlcp_get_be32(p) << 32 | dlcp_get_be32(p + 4);
}

static inline void dlcp_put_be16(u8 *p, u16 v)
{
	p[0] = (u8)(v >> 8);
	p[1] = (u8)v;
}

static inline void dlcp_put_be32(u8 *p, u32 v)
{
	p[0] = (u8)(v >> 24);
	p[1] = (u8)(v >> 16);
	p[2] = (u8)(v >> 8);
	p[3] = (u8)v;
}

static inline void dlcp_put_be64(u8 *p, u64 v)
{
	dlcp_put_be32(p, (u32)(v >> 32));
	dlcp_put_be32(p + 4, (u32)v);
}

#endif
