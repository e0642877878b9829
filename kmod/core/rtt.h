/* SPDX-License-Identifier: GPL-2.0 */
/* Round-trip time of a path: RFC 6298 means, and windowed minimums. */
#ifndef _DLCP_CORE_RTT_H
#define _DLCP_CORE_RTT_H

#include "env.h"

/* Least of a window that slides in steps; times are in 2^20 ns, and wrap */
struct dlcp_rtt_low {
	u64	value;		/* ns; 0 = none yet */
	u64	next;		/* best of the running window */
	u32	time;
	u32	next_time;
};

struct dlcp_rtt {
	u64	srtt;		/* ns; 0 = no sample yet */
	u64	var;		/* ns, mean deviation */
	u64	latest;		/* ns */
	u64	min;		/* ns; over the last DLCP_RTT_MIN_WIN */
	struct dlcp_rtt_low least;	/* of samples: what min is */
	struct dlcp_rtt_low calm;	/* of srtt + back */
	u32	back;		/* ns, mean: what samples were reduced by */
	u32	jitter;		/* ns, mean difference of two samples in a row,
				 * of some 64 (compare RFC 3550, 6.4.1)
				 */
	u32	first;		/* ns: what var has of its first value, which is a
				 * guess and no deviation
				 */
	bool	full;		/* min is of full packets */
	bool	guess;		/* srtt is of the set-up: the first sample counts
				 * instead
				 */
	u8	samples;	/* until srtt is a mean */
};

#define DLCP_RTT_MIN_WIN	(10ULL * 1000 * 1000 * 1000)

void dlcp_rtt_init(struct dlcp_rtt *r);
/* A sample of a packet of full size: @rtt ns, from which @back was taken off for
 * the queue its ACK stood in (owd.h)
 */
void dlcp_rtt_sample(struct dlcp_rtt *r, u64 rtt, u64 back, u64 now);
/* A sample of a small packet. It is smoothed like any other, but is a minimum
 * only until there are full ones: on a slow link a small packet is so much
 * sooner on the wire that every full one would seem to have stood in a queue.
 * Return: whether it says anything of queues.
 */
bool dlcp_rtt_sample_small(struct dlcp_rtt *r, u64 rtt, u64 back, u64 now);
/* The set-up took @rtt ns, or less if one of its packets was sent again: a
 * round trip for timers until there is a sample. The least of several counts,
 * and at most 333 ms.
 */
void dlcp_rtt_guess(struct dlcp_rtt *r, u64 rtt);
/* The way has become another: the minimum is the next sample's, and so on */
void dlcp_rtt_forget(struct dlcp_rtt *r);
/* Mean difference of two samples in a row, beyond what queues make; ns */
u64 dlcp_rtt_jitter(const struct dlcp_rtt *r);
/* How much longer than min a packet takes with no queue at all, in the mean:
 * where each takes its own time, of many one is quick. 0 = next to nothing. ns.
 */
u64 dlcp_rtt_noise(const struct dlcp_rtt *r);
/* Time after which a probe is due: srtt + max(4 * var, 50 us) + max_delay;
 * 1 s + max_delay while nothing is known (RFC 9002, 6.2.2).
 */
u64 dlcp_rtt_pto(const struct dlcp_rtt *r, u64 max_delay);
/* Age at which a packet sent before an acknowledged one counts as lost:
 * 9/8 of max(srtt, latest), at least 20 us (RFC 9002, 6.1.2), and three
 * deviations more than srtt: with jitter late packets are not lost.
 */
u64 dlcp_rtt_loss_delay(const struct dlcp_rtt *r);

#endif
