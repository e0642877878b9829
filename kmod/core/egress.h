/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Egress scheduling: which of the sockets of a host that send through one
 * device sends next.
 *
 * What stands in a device's queue can no longer be overtaken. So when there is
 * enough there to keep the device busy, sockets wait. What leaves the queue
 * makes room for one of them: the most urgent class, and within a class the one
 * whose message has the fewest bytes left, which makes the mean completion time
 * the shortest (shortest remaining processing time first). None starves: of the
 * bytes that leave while others are passed over, one part in DLCP_EGRESS_FAIR
 * is owed to the one that has waited longest. Bytes are counted and not
 * batches, since batches may differ a hundredfold.
 *
 * How much is enough is found as the kernel's byte queue limits find it: more,
 * when the queue ran dry while a socket waited; less, when it never came near
 * that for some time.
 *
 * The caller has the lock, counts the bytes in the queue, and wakes the socket
 * that is called.
 */
#ifndef _DLCP_CORE_EGRESS_H
#define _DLCP_CORE_EGRESS_H

#include "env.h"
#include "wire.h"

/* One part of 16 goes to the socket that has waited longest */
#define DLCP_EGRESS_FAIR		16
/* At most so much is owed to waiting sockets, or given in advance, bytes */
#define DLCP_EGRESS_OWED_MAX	(256 << 10)
/* Sockets of a class that are looked at */
#define DLCP_EGRESS_LOOK		32
/* Bytes in the queue, with the kernel's overhead, from which on sockets wait:
 * two packets, to begin with as much as one large one, and as much as 100
 * Gbit/s need for 300 us
 */
#define DLCP_EGRESS_LIMIT_MIN	4096U
#define DLCP_EGRESS_LIMIT_FIRST	8192U
#define DLCP_EGRESS_LIMIT_MAX	(4U << 20)
/* A socket waits no longer for its turn, ns */
#define DLCP_EGRESS_WAIT_MAX	(100 * NSEC_PER_MSEC)

/* Why a socket has its turn */
enum dlcp_egress_order {
	DLCP_EGRESS_ALONE = 0,	/* no other waited */
	DLCP_EGRESS_AHEAD,	/* it was first, and others go on waiting */
	DLCP_EGRESS_OWED,		/* it was owed */
};

/**
 * struct dlcp_egress_entry - one socket
 * @node: on dlcp_egress.waiting[@prio], or empty
 * @left: bytes its message has to go
 * @number: an entry that came to wait earlier has a smaller one
 * @prio: class of the message
 * @called: its turn has come, and it has not yet used it
 * @order: enum dlcp_egress_order of its last turn
 */
struct dlcp_egress_entry {
	struct list_head node;
	u64	left;
	u64	number;
	u8	prio;
	u8	called;
	u8	order;
};

/**
 * struct dlcp_egress - the sockets of one device
 * @waiting: struct dlcp_egress_entry, by class, in the order of their numbers
 * @called: the last one that was called, if it has not yet used its turn
 * @number: the next one
 * @nr: how many wait
 * @owed: bytes due to the socket that has waited longest; below 0: it had more
 * @limit: bytes in the queue from which on sockets wait
 * @least: fewest bytes that were in the queue since the last look, while
 *	somebody waited
 * @look: ns: when @limit may shrink again
 * @hold: ns between looks; doubles each time it shrank too far
 */
struct dlcp_egress {
	struct list_head waiting[DLCP_PRIO_MAX + 1];
	struct dlcp_egress_entry *called;
	u64	number;
	u32	nr;
	s32	owed;
	u32	limit;
	u32	least;
	u64	look;
	u64	hold;
};

void dlcp_egress_init(struct dlcp_egress *t);
void dlcp_egress_entry_init(struct dlcp_egress_entry *me);
/**
 * dlcp_egress_ask() - may a socket send a batch now?
 * @t: the device
 * @me: the socket
 * @prio: class of the most urgent message it could send
 * @left: bytes of that which are to go
 * @out: bytes in the queue
 * @mine: of them this socket's
 *
 * Return: true: now; false: it waits until dlcp_egress_call() names it.
 */
bool dlcp_egress_ask(struct dlcp_egress *t, struct dlcp_egress_entry *me,
		     u8 prio, u64 left, u32 out, u32 mine);
struct dlcp_conn;
/* Need dlcp_egress_turn() not be asked, nor the lock be taken? Without it: what is
 * read may be old
 */
static inline bool dlcp_egress_free(const struct dlcp_egress *t, u32 out,
				    u32 mine)
{
	return !READ_ONCE(t->nr) &&
	       (out < READ_ONCE(t->limit) || out <= mine);
}

/**
 * dlcp_egress_turn() - may a connection send a batch now?
 * @t: the device
 * @me: the connection's
 * @c: the connection
 * @out: bytes in the queue
 * @mine: of them this connection's
 * @late: it has waited long enough
 *
 * Return: 0: yes; else ns to wait at most, if dlcp_egress_call() does not name it
 * before.
 */
u64 dlcp_egress_turn(struct dlcp_egress *t, struct dlcp_egress_entry *me,
		     const struct dlcp_conn *c, u32 out, u32 mine, bool late);
/* The socket to wake, with @out bytes in the queue; NULL: none. It has its
 * turn until it asked, or until dlcp_egress_pass().
 */
struct dlcp_egress_entry *dlcp_egress_call(struct dlcp_egress *t, u32 out);
/* @me, which had its turn, has queued @bytes */
void dlcp_egress_sent(struct dlcp_egress *t, const struct dlcp_egress_entry *me,
		      u32 bytes);
/* @me has sent what it wants to send for now */
void dlcp_egress_pass(struct dlcp_egress *t, struct dlcp_egress_entry *me);
/* @me does not wait any more */
void dlcp_egress_quit(struct dlcp_egress *t, struct dlcp_egress_entry *me);
/* Something left the queue, and @out bytes are still there */
void dlcp_egress_freed(struct dlcp_egress *t, u32 out, u64 now);

#endif
