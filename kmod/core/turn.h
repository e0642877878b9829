/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose turn it is: the sockets of a host that send through one device.
 *
 * What stands in a device's queue can no longer be overtaken. So when there is
 * enough there to keep the device busy, sockets wait, and what leaves the
 * queue makes room for one of them: the most urgent class, within a class the
 * one whose message has the least left (it is over soonest, and the mean of
 * all the shortest). None starves: of the bytes that leave while others are
 * passed over, one part in DLCP_TURN_FAIR is owed to whoever has waited longest.
 * Bytes and not turns are counted, since batches may differ a hundredfold.
 *
 * How much is enough is found as the kernel's byte queue limits find it: more,
 * when the queue ran dry while somebody waited; less, when it never came near
 * that for some time.
 *
 * The shell has the lock, counts the bytes in the queue, and wakes who is
 * called.
 */
#ifndef _DLCP_CORE_TURN_H
#define _DLCP_CORE_TURN_H

#include "env.h"
#include "wire.h"

/* One part of so many goes to who has waited longest */
#define DLCP_TURN_FAIR		16
/* No more is owed to those who wait, or was given them in advance, bytes */
#define DLCP_TURN_OWED_MAX	(256 << 10)
/* Sockets of a class that are looked at */
#define DLCP_TURN_LOOK		32
/* Bytes in the queue, with the kernel's overhead, from which on sockets wait:
 * two packets, to begin with as much as one large one, and as much as 100
 * Gbit/s need for 300 us
 */
#define DLCP_TURN_LIMIT_MIN	4096U
#define DLCP_TURN_LIMIT_FIRST	8192U
#define DLCP_TURN_LIMIT_MAX	(4U << 20)
/* A socket waits no longer for its turn, ns */
#define DLCP_TURN_WAIT_MAX	(100 * NSEC_PER_MSEC)

/* Why a socket has its turn */
enum dlcp_turn_order {
	DLCP_TURN_ALONE = 0,	/* no other waited */
	DLCP_TURN_AHEAD,	/* it was first, and others go on waiting */
	DLCP_TURN_OWED,		/* it was owed */
};

/**
 * struct dlcp_turn - one socket
 * @node: on dlcp_turns.waiting[@prio], or empty
 * @left: bytes its message has to go
 * @number: who came to wait earlier has a smaller one
 * @prio: class of the message
 * @called: its turn has come, and it has not yet used it
 * @order: enum dlcp_turn_order of its last turn
 */
struct dlcp_turn {
	struct list_head node;
	u64	left;
	u64	number;
	u8	prio;
	u8	called;
	u8	order;
};

/**
 * struct dlcp_turns - the sockets of one device
 * @waiting: struct dlcp_turn, by class, in the order of their numbers
 * @called: the last one that was called, if it has not yet used its turn
 * @number: the next one
 * @nr: how many wait
 * @owed: bytes due to who has waited longest; less than 0: it had more
 * @limit: bytes in the queue from which on sockets wait
 * @least: fewest bytes that were in the queue since the last look, while
 *	somebody waited
 * @look: ns: when @limit may shrink again
 * @hold: ns between looks; doubles each time it shrank too far
 */
struct dlcp_turns {
	struct list_head waiting[DLCP_PRIO_MAX + 1];
	struct dlcp_turn *called;
	u64	number;
	u32	nr;
	s32	owed;
	u32	limit;
	u32	least;
	u64	look;
	u64	hold;
};

void dlcp_turns_init(struct dlcp_turns *t);
void dlcp_turn_init(struct dlcp_turn *me);
/**
 * dlcp_turn_ask() - may a socket send a batch now?
 * @t: the device
 * @me: the socket
 * @prio: class of the most urgent message it could send
 * @left: bytes of that which are to go
 * @out: bytes in the queue
 * @mine: of them this socket's
 *
 * Return: true: now; false: it waits until dlcp_turn_call() names it.
 */
bool dlcp_turn_ask(struct dlcp_turns *t, struct dlcp_turn *me, u8 prio,
		   u64 left, u32 out, u32 mine);
/* Who is to be woken, with @out bytes in the queue; NULL: nobody. It has its
 * turn until it asked, or until dlcp_turn_pass().
 */
struct dlcp_turn *dlcp_turn_call(struct dlcp_turns *t, u32 out);
/* @me, which had its turn, has queued @bytes */
void dlcp_turn_sent(struct dlcp_turns *t, const struct dlcp_turn *me,
		    u32 bytes);
/* @me has sent what it wants to send for now */
void dlcp_turn_pass(struct dlcp_turns *t, struct dlcp_turn *me);
/* @me does not wait any more */
void dlcp_turn_quit(struct dlcp_turns *t, struct dlcp_turn *me);
/* Something left the queue, and @out bytes are still there */
void dlcp_turns_freed(struct dlcp_turns *t, u32 out, u64 now);

#endif
