/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many bytes of one socket its own host's queue takes.
 *
 * A queueing discipline may hold a few packets of a flow and refuse the next
 * one (sch_fq: 100, pfifo: txqueuelen). The host sees each refusal, so it need
 * not cost a packet: the sender holds back what exceeds the limit, as TCP Small
 * Queues do, and learns the limit from refusals.
 *
 * The caller serialises all calls for one struct and passes the time.
 */
#ifndef _DLCP_CORE_TXLIMIT_H
#define _DLCP_CORE_TXLIMIT_H

#include "env.h"

/* The limit falls no lower: four packets of 1500 bytes with their overhead */
#define DLCP_TXLIMIT_MIN	9216U
/* A queue that is full of others' packets is tried again after so long, ns */
#define DLCP_TXLIMIT_RETRY	NSEC_PER_MSEC
/* And so many times. Some devices (veth) refuse a packet that their peer cannot
 * take, of which no wait is the end.
 */
#define DLCP_TXLIMIT_TRIES	8

/**
 * struct dlcp_txlimit - what the queue takes of a socket
 * @limit: bytes, with the kernel's overhead; 0 = nothing was ever refused
 * @refused: bytes that were in the queue at the last refusal
 * @hold: ns between two steps up
 * @grow_at: ns: when the next step is due
 * @retry_at: ns: nothing is queued before
 * @tries: refusals in a row while little of the socket was in the queue
 * @full: the socket waits until half of @limit has left the queue
 */
struct dlcp_txlimit {
	u32	limit;
	u32	refused;
	u64	hold;
	u64	grow_at;
	u64	retry_at;
	u8	tries;
	bool	full;
};

/**
 * dlcp_txlimit_refused() - the queue refused a packet
 * @l: the limit, zeroed before the first call
 * @out: bytes of the socket in the queue at that moment
 * @now: ns
 *
 * Return: false: no wait helps, the packet counts as lost.
 */
bool dlcp_txlimit_refused(struct dlcp_txlimit *l, u32 out, u64 now);

/**
 * dlcp_txlimit_wait() - may the socket queue another batch?
 * @l: the limit
 * @out: bytes of the socket in the queue
 * @now: ns
 *
 * Return: 0: yes; else the ns to wait at most: less if dlcp_txlimit_room() says
 * so before.
 */
u64 dlcp_txlimit_wait(struct dlcp_txlimit *l, u32 out, u64 now);

/* Has enough left the queue for a socket that was told to wait? */
static inline bool dlcp_txlimit_room(const struct dlcp_txlimit *l, u32 out)
{
	return out <= READ_ONCE(l->limit) / 2;
}

#endif
