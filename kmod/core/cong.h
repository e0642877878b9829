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

struct dlcp_cong_sample {
	u64	now;
	u64	acked;		/* bytes newly acknowledged */
	u64	lost;		/* bytes newly declared lost */
	u64	forgiven;	/* of them given up within the bound */
	u64	inflight;	/* bytes before this acknowledgement */
	u64	delivered;	/* bytes acknowledged in all, after it */
	u64	delivered_then;	/* the same when the newest acked packet left */
	u64	sent_then;	/* time the newest acked packet left */
	u64	rtt;		/* ns, this sample; 0 = none */
	u32	acked_packets;
	u32	ce_packets;	/* of them that carried a congestion mark */
	bool	app_limited;	/* the sender had nothing more to send */
};

struct dlcp_cong {
	const struct dlcp_cong_ops *ops;
	u64	cwnd;		/* bytes */
	u64	rate;		/* bytes per second; 0 = unlimited */
	u64	max_rate;	/* the user's limit (SO_MAX_PACING_RATE) */
	u64	delivery_rate;	/* bytes per second, last measured */
	u32	mss;		/* bytes of a full packet with headers */
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
};

/* NULL-terminated; the first is the default */
extern const struct dlcp_cong_ops *const dlcp_cong_all[];
const struct dlcp_cong_ops *dlcp_cong_find(const char *name);
void dlcp_cong_init(struct dlcp_cong *c, const struct dlcp_cong_ops *ops,
		    u32 mss, u64 max_rate, u64 now);

#endif
