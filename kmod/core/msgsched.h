/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which message sends next. More urgent classes first, within a class one with
 * less than half as much left as the others, or else the oldest; but every
 * DLCP_SCHED_FAIR batches the one that has waited longest, so that none
 * starves.
 */
#ifndef _DLCP_CORE_MSGSCHED_H
#define _DLCP_CORE_MSGSCHED_H

#include "conn.h"

/* One batch of so many goes to whoever has waited longest */
#define DLCP_SCHED_FAIR		16
/* Messages of a class that are looked at */
#define DLCP_SCHED_LOOK		32

enum dlcp_msgsched_state {
	DLCP_SCHED_NONE		= 0,	/* nothing to send */
	DLCP_SCHED_READY	= 1,	/* on conn->sched.ready[prio] */
	DLCP_SCHED_WAIT		= 2,	/* on conn->sched.wait[]: lacks credit */
	DLCP_SCHED_REFUSED	= 3,	/* on conn->sched.refused: the peer takes none */
};

/* Index of tx_wait[]: see there */
#define DLCP_SCHED_CREDIT	(DLCP_PRIO_MAX + 1)

/* Bytes of first transmissions @m may still send by the peer's credit; false
 * if not even @need
 */
bool dlcp_msgsched_credit(const struct dlcp_conn *c, const struct dlcp_txmsg *m,
			  u64 need, u64 *left);
/* Something about @m changed: put it on the list it belongs on */
void dlcp_msgsched_update(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* @m is over */
void dlcp_msgsched_remove(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* Likewise, and nothing more is to be sent of it */
void dlcp_conn_tx_unlink(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* @m is ready and has not begun: its part of the allowance is not for others; or
 * that is over
 */
void dlcp_msgsched_promise(struct dlcp_conn *c, struct dlcp_txmsg *m, bool on);
/* The peer's limits rose: some of those that waited may be ready */
void dlcp_msgsched_wake(struct dlcp_conn *c);
/* If @m is refused it is the next that is tried */
void dlcp_msgsched_try(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* Of those that are refused, the one of which a segment is tried now, or NULL */
struct dlcp_txmsg *dlcp_msgsched_trial(const struct dlcp_conn *c);
/* The message to send next, or NULL */
struct dlcp_txmsg *dlcp_msgsched_pick(struct dlcp_conn *c);
/* Most likely the same, and nothing changes; NULL: none is ready */
struct dlcp_txmsg *dlcp_msgsched_first(const struct dlcp_conn *c);

#endif
