/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events in the order of their times, and of their making among equal times.
 * So the order does not depend on the size of the wheel.
 *
 * A hierarchical timing wheel (Varghese and Lauck, SOSP 1987): the events of the
 * slot that is being run are in a small heap, all others in lists by the first
 * digit of their time in which they differ from now.
 */
#ifndef _SCALE_WHEEL_H
#define _SCALE_WHEEL_H

#include "env.h"

struct ev {
	u64	time;		/* ns */
	u64	seq;		/* order of making */
	struct ev *next;	/* in a slot */
	struct ev **link;	/* what points to it there; NULL: in no slot */
	void	(*fn)(struct ev *e);
	u32	heap;		/* 1 + index in the heap; 0: not there */
};

struct wheel {
	u64	now;		/* ns */
	u64	seq;
	u64	done;		/* events run */
	u64	cur;		/* slot of level 0 that is being run */
	u32	shift;		/* a slot of level 0 is 2^shift ns */
	u32	bits;		/* slots of a level */
	u32	levels;
	u32	nr;		/* in the heap */
	u32	cap;
	struct ev **heap;
	struct ev **slots;
};

void wheel_init(struct wheel *w, u32 shift, u32 bits, u64 now);
void wheel_free(struct wheel *w);
static inline bool ev_waits(const struct ev *e)
{
	return e->link || e->heap;
}

/* @e waits for nothing; @time is not in the past */
void wheel_add(struct wheel *w, struct ev *e, u64 time);
/* Nothing happens if it does not wait */
void wheel_del(struct wheel *w, struct ev *e);
/* Run the next event. Return: false: there is none before @until */
bool wheel_step(struct wheel *w, u64 until);

#endif
