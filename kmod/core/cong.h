/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion control as a table of operations. An algorithm is one file
 * cong_NAME.c with one table, named in cong.c. It sees bytes and times, and
 * sets cwnd and rate; who sends what is not its business.
 *
 * All are called with the connection's lock held, in process or softirq
 * context, and must not sleep.
 */
#ifndef _DLCP_CORE_CONG_H
#define _DLCP_CORE_CONG_H

#include "env.h"
#include "rtt.h"

/* What one acknowledgment (or one look at the clock that found losses) told */
struct dlcp_cong_sample {
	u64	now;
	u64	acked;		/* bytes newly acknowledged */
	u64	lost;		/* bytes newly declared lost */
	u64	spurious;	/* of the acknowledged: declared lost before */
	u64	forgiven;	/* of them given up within the bound */
	u64	inflight;	/* bytes before this acknowledgment */
	u64	delivered;	/* bytes acknowledged in all, after it */
	u64	delivered_then;	/* the same when the newest acked packet left */
	u64	sent_then;	/* time the newest acked packet left */
	u64	rtt;		/* ns, this sample, but for the queue its ACK
				 * stood in; 0 = none
				 */
	u32	acked_packets;
	u32	ce_packets;	/* of them that carried a congestion mark */
	bool	app_limited;	/* when the newest acked packet left, nothing
				 * more could be sent: no data, or no credit
				 */
};

struct dlcp_cong {
	const struct dlcp_cong_ops *ops;
	u64	cwnd;		/* bytes */
	u64	rate;		/* bytes per second; 0 = unlimited */
	u64	max_rate;	/* the user's limit (SO_MAX_PACING_RATE) */
	u64	grant;		/* the receiver's: bytes per second; 0 = none */
	u64	delivery_rate;	/* bytes per second, last measured */
	u64	setup;		/* ns: the round trip of the set-up; 0 = unknown */
	u32	mss;		/* bytes of a full packet with headers */
	bool	queued;		/* packets wait on their way: to be told to the
				 * receiver, who sees no round trips
				 */
	bool	longer;		/* the way takes longer than the minimum of @r:
				 * it is to be found anew
				 */
	u64	priv[24];	/* the algorithm's own */
};

struct dlcp_cong_ops {
	const char *name;
	void (*init)(struct dlcp_cong *c, u64 now);
	void (*ack)(struct dlcp_cong *c, const struct dlcp_rtt *r,
		    const struct dlcp_cong_sample *s);
	/* @nth probe timeout in a row, from 1 */
	void (*timeout)(struct dlcp_cong *c, u64 now, u32 nth);
	/* Nothing was sent for @idle ns, something will be now; optional */
	void (*restart)(struct dlcp_cong *c, u64 now, u64 idle);
	/* c->grant changed, it was @before; optional */
	void (*granted)(struct dlcp_cong *c, u64 before);
};

/* NULL-terminated; the first is the default */
extern const struct dlcp_cong_ops *const dlcp_cong_all[];
extern const struct dlcp_cong_ops dlcp_cong_default;
extern const struct dlcp_cong_ops dlcp_cong_fixed;
extern const struct dlcp_cong_ops dlcp_cong_loss;

/* By name; NULL if there is none of it */
const struct dlcp_cong_ops *dlcp_cong_find(const char *name);
void dlcp_cong_init(struct dlcp_cong *c, const struct dlcp_cong_ops *ops,
		    u32 mss, u64 max_rate, u64 now);

/* For algorithms: what they have in common */

/* Rounds: one is over when a packet sent after its start is acknowledged */
struct dlcp_cong_round {
	u64	end;		/* delivered_then at which it ends */
	u64	acked;		/* bytes in this round */
	u64	lost;
	u64	forgiven;
	u64	min_rtt;	/* ns, of such; 0 = no sample */
	u64	inflight;	/* most of it */
	u32	packets;
	u32	ce:31;
	u32	used:1;		/* some were not app_limited */
};

/* Takes in @s and measures c->delivery_rate. Return: whether a round is over;
 * the caller then looks at @r and calls dlcp_cong_round_next().
 */
bool dlcp_cong_round_add(struct dlcp_cong *c, struct dlcp_cong_round *r,
			 const struct dlcp_cong_sample *s);
void dlcp_cong_round_next(struct dlcp_cong_round *r,
			  const struct dlcp_cong_sample *s);
/* Rate that sends @bytes * @percent / 100 in @time ns, within c->max_rate and
 * c->grant
 */
u64 dlcp_cong_rate(const struct dlcp_cong *c, u64 bytes, u64 time,
		   u32 percent);

#endif
