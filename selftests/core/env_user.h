/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's vocabulary in user space, as far as kmod/core uses it.
 *
 * It is stricter than the kernel where that finds bugs: min() and max() insist
 * on equal types as kernels before 6.8 do, deleted list entries point nowhere,
 * a WARN_ON_ONCE() that fires aborts, and so does a division by zero.
 */
#ifndef _DLCP_ENV_USER_H
#define _DLCP_ENV_USER_H

#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define U8_MAX		((u8)~0U)
#define U16_MAX		((u16)~0U)
#define U32_MAX		((u32)~0U)
#define U64_MAX		((u64)~0ULL)
#define S32_MAX		((s32)(U32_MAX >> 1))
#define S64_MAX		((s64)(U64_MAX >> 1))

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L

/* Compiler */
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) \
	do { *(volatile __typeof__(x) *)&(x) = (v); } while (0)
#define noinline	__attribute__((__noinline__))
#define __maybe_unused	__attribute__((__unused__))
#define fallthrough	__attribute__((__fallthrough__))
#define BUILD_BUG_ON(c)	do { _Static_assert(!(c), #c); } while (0)

#define container_of(ptr, type, member) \
	((type *)((char *)(1 ? (ptr) : &((type *)0)->member) - \
		  offsetof(type, member)))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Bugs */
#define ENV_DIE(what)							\
	do {								\
		fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,	\
			__func__, what);				\
		abort();						\
	} while (0)
#define WARN_ON(c)							\
	({								\
		bool warn_ = !!(c);					\
		if (unlikely(warn_))					\
			ENV_DIE("WARN_ON(" #c ")");			\
		warn_;							\
	})
#define WARN_ON_ONCE(c)	WARN_ON(c)

/* Comparison; the pointer comparison makes unequal types an error */
#define ENV_CMP_(x, y, op)						\
	({								\
		__typeof__(x) cx_ = (x);				\
		__typeof__(y) cy_ = (y);				\
		(void)(&cx_ == &cy_);					\
		cx_ op cy_ ? cx_ : cy_;					\
	})
#define min(x, y)	ENV_CMP_(x, y, <)
#define max(x, y)	ENV_CMP_(x, y, >)
#define min_t(t, x, y)	\
	({ t mx_ = (t)(x); t my_ = (t)(y); mx_ < my_ ? mx_ : my_; })
#define max_t(t, x, y)	\
	({ t mx_ = (t)(x); t my_ = (t)(y); mx_ > my_ ? mx_ : my_; })
#define min3(x, y, z)	min((__typeof__(x))min(x, y), z)
#define max3(x, y, z)	max((__typeof__(x))max(x, y), z)
#define clamp(v, lo, hi) min((__typeof__(v))max(v, lo), hi)
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define swap(a, b) \
	do { __typeof__(a) sw_ = (a); (a) = (b); (b) = sw_; } while (0)

/* Arithmetic */
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define lower_32_bits(n)	((u32)((n) & 0xffffffff))
#define upper_32_bits(n)	((u32)(((n) >> 16) >> 16))

static inline u64 div64_u64(u64 a, u64 b)
{
	if (!b)
		ENV_DIE("division by zero");
	return a / b;
}

static inline u64 div_u64(u64 a, u32 b)
{
	return div64_u64(a, b);
}

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rem)
{
	if (!b)
		ENV_DIE("division by zero");
	*rem = (u32)(a % b);
	return a / b;
}

#define DIV_ROUND_UP_ULL(n, d) \
	({ u64 dn_ = (n); u32 dd_ = (d); div_u64(dn_ + dd_ - 1, dd_); })

/* 32-bit compilers have no 128-bit integers */
struct env_u128 {
	u64	high;
	u64	low;
};

static inline struct env_u128 env_mul(u64 a, u64 b)
{
	u64 low = (u64)(u32)a * (u32)b;
	u64 mid = (a >> 32) * (u32)b + (low >> 32);
	u64 mid2 = (u64)(u32)a * (b >> 32) + (u32)mid;

	return (struct env_u128){
		.high = (a >> 32) * (b >> 32) + (mid >> 32) + (mid2 >> 32),
		.low = mid2 << 32 | (u32)low,
	};
}

/* The x86 kernel traps when the quotient does not fit; the others cut it. */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	struct env_u128 v = env_mul(a, b);
	u64 rest = v.high, q = 0;
	bool carry;
	int bit;

	if (!c)
		ENV_DIE("division by zero");
	if (!v.high)
		return v.low / c;
	if (v.high >= c)
		ENV_DIE("quotient overflow");
	for (bit = 63; bit >= 0; bit--) {
		carry = rest >> 63;
		rest = rest << 1 | (v.low >> bit & 1);
		if (carry || rest >= c) {
			rest -= c;
			q |= 1ULL << bit;
		}
	}
	return q;
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 divisor)
{
	return mul_u64_u64_div_u64(a, mul, divisor);
}

/* Bits */
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK_ULL(h, l) \
	((~0ULL << (l)) & (~0ULL >> (63 - (h))))

static inline unsigned int hweight64(u64 x)
{
	return (unsigned int)__builtin_popcountll(x);
}

/* Undefined for 0, as in the kernel: here it is found out */
static inline unsigned int __ffs64(u64 x)
{
	if (!x)
		ENV_DIE("no bit");
	return (unsigned int)__builtin_ctzll(x);
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n <= 1 ? 1 : 1UL << fls64(n - 1);
}

/* Lists */
struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)
#define LIST_POISON1		((struct list_head *)0x100)
#define LIST_POISON2		((struct list_head *)0x122)

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline void __list_add(struct list_head *n, struct list_head *prev,
			      struct list_head *next)
{
	next->prev = n;
	n->next = next;
	n->prev = prev;
	prev->next = n;
}

static inline void list_add(struct list_head *n, struct list_head *head)
{
	__list_add(n, head, head->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *head)
{
	__list_add(n, head->prev, head);
}

static inline void __list_del_entry(struct list_head *e)
{
	if (e->prev->next != e || e->next->prev != e)
		ENV_DIE("list corrupted");
	e->next->prev = e->prev;
	e->prev->next = e->next;
}

static inline void list_del(struct list_head *e)
{
	__list_del_entry(e);
	e->next = LIST_POISON1;
	e->prev = LIST_POISON2;
}

static inline void list_del_init(struct list_head *e)
{
	__list_del_entry(e);
	INIT_LIST_HEAD(e);
}

static inline void list_move(struct list_head *e, struct list_head *head)
{
	__list_del_entry(e);
	list_add(e, head);
}

static inline void list_move_tail(struct list_head *e, struct list_head *head)
{
	__list_del_entry(e);
	list_add_tail(e, head);
}

static inline int list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline int list_is_last(const struct list_head *e,
			       const struct list_head *head)
{
	return e->next == head;
}

static inline void __list_splice(struct list_head *l, struct list_head *prev,
				 struct list_head *next)
{
	struct list_head *first = l->next;
	struct list_head *last = l->prev;

	first->prev = prev;
	prev->next = first;
	last->next = next;
	next->prev = last;
}

static inline void list_splice_tail_init(struct list_head *l,
					 struct list_head *head)
{
	if (list_empty(l))
		return;
	__list_splice(l, head->prev, head);
	INIT_LIST_HEAD(l);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
/* Steps of walks: tests see whether they grow with what there is */
u64 env_steps __attribute__((__weak__));

#define list_next_entry(pos, member) \
	(env_steps++, \
	 list_entry((pos)->member.next, __typeof__(*(pos)), member))
#define list_entry_is_head(pos, head, member) (&(pos)->member == (head))
#define list_for_each_entry(pos, head, member) \
	for (pos = list_first_entry(head, __typeof__(*pos), member); \
	     !list_entry_is_head(pos, head, member); \
	     pos = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member) \
	for (pos = list_first_entry(head, __typeof__(*pos), member), \
	     n = list_next_entry(pos, member); \
	     !list_entry_is_head(pos, head, member); \
	     pos = n, n = list_next_entry(n, member))

#include "env_rbtree.h"

#endif
