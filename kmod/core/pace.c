// SPDX-License-Identifier: GPL-2.0
#include "pace.h"

/*
 * The clock never runs ahead by more than this: one wrong, tiny rate must not
 * silence a sender for longer than it takes to measure a better one.
 */
#define PACE_AHEAD_MAX	((u64)NSEC_PER_SEC)

u32 dlcp_pace_allow(const struct dlcp_pace *p, u64 now, u32 seg, u32 max)
{
	u64 quantum;

	if (!p->rate)
		return max;
	if (p->next > now)
		return 0;
	quantum = mul_u64_u32_div(p->rate, DLCP_PACE_QUANTUM, NSEC_PER_SEC);
	return (u32)min_t(u64, max_t(u64, quantum, seg), max);
}

void dlcp_pace_sent(struct dlcp_pace *p, u64 now, u32 bytes)
{
	u64 start = now > DLCP_PACE_QUANTUM ? now - DLCP_PACE_QUANTUM : 0;
	u64 cost;

	if (!p->rate) {
		p->next = now;
		return;
	}
	/*
	 * A sender that was woken late makes up for at most one quantum, so
	 * that timer latency costs no rate and idle time earns no burst.
	 */
	start = max(p->next, start);
	/* 2^32 bytes * 10^9 fit; rounded up so as not to exceed the rate */
	cost = div64_u64((u64)bytes * NSEC_PER_SEC + p->rate - 1, p->rate);
	p->next = min(start + cost, now + PACE_AHEAD_MAX);
}
