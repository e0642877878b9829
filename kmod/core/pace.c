// SPDX-License-Identifier: GPL-2.0
#include "pace.h"

/*
 * The clock never runs ahead by more than this: one wrong, tiny rate must not
 * silence a sender for longer than it takes to measure a better one.
 */
#define PACE_AHEAD_MAX	((u64)NSEC_PER_SEC)

/* What may be made up for, ns */
static u64 pace_slack(const struct dlcp_pace *p, u64 now, u64 late)
{
	return max_t(u64, min(late, dlcp_pace_behind(p, now)),
		     DLCP_PACE_QUANTUM);
}

u32 dlcp_pace_allow(const struct dlcp_pace *p, u64 now, u64 late, u32 seg,
		    u32 max)
{
	u64 quantum;

	if (!p->rate)
		return max;
	if (p->next > now)
		return 0;
	quantum = mul_u64_u32_div(p->rate, (u32)pace_slack(p, now, late),
				  NSEC_PER_SEC);
	return (u32)min_t(u64, max_t(u64, quantum, seg), max);
}

void dlcp_pace_sent(struct dlcp_pace *p, u64 now, u64 late, u32 bytes)
{
	u64 slack = pace_slack(p, now, late);
	u64 start = now > slack ? now - slack : 0;
	u64 cost;

	if (!p->rate) {
		p->next = now;
		return;
	}
	start = max(p->next, start);
	/* 2^32 bytes * 10^9 fit; rounded up so as not to exceed the rate */
	cost = div64_u64((u64)bytes * NSEC_PER_SEC + p->rate - 1, p->rate);
	p->next = min(start + cost, now + PACE_AHEAD_MAX);
}
