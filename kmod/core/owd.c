// SPDX-License-Identifier: GPL-2.0
#include "owd.h"

/* Two clocks drift by no more than a part in so many: 244 ppm. Quartz has 50
 * ppm, two of them 100; so much is left for NTP's corrections.
 */
#define DRIFT_DIV	4096
/* Both times of both trips are cut to whole us, and the delay of ACKs is */
#define ROUNDING	(2 * NSEC_PER_USEC)

static u64 queue_of(u64 rtt, u64 min)
{
	return rtt > min ? rtt - min : 0;
}

u64 dlcp_owd_rtt(struct dlcp_owd *o, u64 min, u64 rtt, u64 sent, u32 came_us)
{
	u32 trip = came_us - (u32)div_u64(sent, NSEC_PER_USEC);
	u64 age = sent > o->sent ? sent - o->sent : 0;
	u64 queue, most;
	s64 there;

	min = min ?: rtt;
	queue = queue_of(rtt, min);
	most = queue_of(o->rtt, min) + age / DRIFT_DIV;
	there = (s64)(most + ROUNDING) +
		(s64)(s32)(trip - o->trip) * (s64)NSEC_PER_USEC;
	/* A queue of less than nothing: a clock was set, or the reference is of
	 * another route
	 */
	if (!o->rtt || queue <= most || there < 0) {
		o->rtt = rtt <= U32_MAX ? (u32)rtt : 0;
		o->sent = sent;
		o->trip = trip;
		return rtt;
	}
	return rtt - queue + min_t(u64, queue, (u64)there);
}
