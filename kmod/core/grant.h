/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receiver's part of congestion control: it alone knows how many senders
 * share its link, so it tells each at which rate to send, and the sum over
 * all is just below what the link brings. See Documentation/congestion.md.
 *
 * One struct dlcp_grant for each receiving link, one struct dlcp_grantee in
 * each connection. The caller holds a lock that covers both and passes the
 * time; nothing here sleeps or allocates.
 */
#ifndef _DLCP_CORE_GRANT_H
#define _DLCP_CORE_GRANT_H

#include "env.h"

/* The weight of a sender with a full share */
#define DLCP_GRANT_ONE		1024

enum dlcp_grant_state {
	DLCP_GRANT_AWAY	= 0,	/* on no list */
	DLCP_GRANT_BUSY,	/* something is to come from it */
	DLCP_GRANT_IDLE,	/* it was busy a short time ago */
};

struct dlcp_grantee {
	struct list_head node;
	u32	bytes;		/* in this epoch, */
	u32	bad;		/* and packets lost or marked */
	u64	since;		/* ns: when it became busy, or idle, or had
				 * another share: it counts from then on
				 */
	u64	left;		/* bytes of its present message to come */
	u64	enough;		/* bytes left: with less it needs less than
				 * half its part
				 */
	u32	weight;		/* 1 .. DLCP_GRANT_ONE: what it uses of its
				 * share; BUSY only
				 */
	u32	part;		/* times DLCP_GRANT_ONE: shares it is to have,
				 * one in the mean of all; BUSY only
				 */
	u8	prio;		/* class of its present message */
	u8	state;		/* enum dlcp_grant_state */
	u8	wasted;		/* it used less than half of what it counted for
				 * in one of so many epochs, less those since
				 */
	u8	doubt;		/* epochs in which it is not believed that it will
				 * use another part
				 */
	u32	due;		/* bytes its parts were to bring in this epoch,
				 * less what its present one would have in all of
				 * it, if BUSY
				 */
};

struct dlcp_grant {
	struct list_head busy;
	struct list_head idle;	/* latest first */
	u32	nr_busy;
	u32	nr_idle;
	u32	nr_prio[DLCP_PRIO_MAX + 1];	/* busy, of each class */
	u8	top;		/* the most urgent class, last looked at */
	u32	urgent;		/* parts of one of the most urgent class, where
				 * each of the others has DLCP_GRANT_ONE
				 */
	u64	least;		/* bytes left of one of it: who has much more
				 * of that class has less of the link
				 */
	u64	mean;		/* bytes left of those of that class */
	u32	weight;		/* of all that are busy, by their parts */
	u32	shares;		/* what the link is divided by; follows weight
				 * up at once, and down step by step
				 */
	u64	shares_time;	/* ns: of the last step */
	u64	rate;		/* bytes per second the link brings; 0 = not
				 * known yet
				 */
	u64	best[2];	/* of this and of the last window of epochs;
				 * while not known: the last that grew by much,
				 * and of those since
				 */
	u64	start;		/* ns: of the epoch; 0 = none runs */
	u64	rtt;		/* ns: least of those that sent in it; 0 = unknown */
	u64	fair;		/* bytes one share brought in it, until */
	u64	counted;	/* ns */
	u64	now;		/* ns: when it was told something last */
	u64	bytes;		/* in it, */
	u64	queued;		/* and packets of senders who see a queue */
	u64	shared;		/* ns of it in which several were busy, and */
	u64	shared_since;	/* ns: since when they are */
	u64	slice;		/* ns: of the slice of the epoch */
	u64	slice_bytes;	/* bytes before it, */
	u64	slice_best;	/* and bytes per second of the best one */
	u8	burst;		/* it is the first since nobody sent */
	u32	looks;		/* at a sender because of another; in the epoch */
	u32	gain;		/* per mille of the rate that is granted, */
	u32	extra;		/* and for what is lost before the link */
	u32	epochs;		/* since the last probe, */
	u32	every;		/* and until the next one */
	u32	window;		/* epochs in this window */
	u32	stable;		/* epochs without growth; while not known */
};

void dlcp_grant_init(struct dlcp_grant *g);
/* @bytes (with all headers) came from @e, which has more to send; since the
 * last call @bad packets were missing in front of them, or marked, and of
 * @queued packets the sender said that it sees a queue
 */
void dlcp_grant_arrived(struct dlcp_grant *g, struct dlcp_grantee *e,
			u64 bytes, u64 bad, u64 queued, u64 now);
/* What came from @e is of a message of class @prio, of which @left bytes are
 * still to come; to be called before dlcp_grant_arrived(), lest who begins be
 * taken for one of the class of its last message
 */
void dlcp_grant_rank(struct dlcp_grant *g, struct dlcp_grantee *e, u8 prio,
		     u64 left);
/* The round trip to a sender whose data came is @rtt ns, or 0: unknown; to be
 * called before dlcp_grant_arrived()
 */
void dlcp_grant_rtt(struct dlcp_grant *g, u64 rtt);
/* Nothing more is to come for now */
void dlcp_grant_rest(struct dlcp_grant *g, struct dlcp_grantee *e, u64 now);
/* @e ends, or moves to another link */
void dlcp_grant_leave(struct dlcp_grant *g, struct dlcp_grantee *e);
/* Bytes per second @e may send at: now if it is busy, else when it comes
 * back. 0 = no limit of ours.
 */
u64 dlcp_grant_rate(struct dlcp_grant *g, const struct dlcp_grantee *e,
		    u64 now);

#endif
