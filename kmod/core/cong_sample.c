// SPDX-License-Identifier: GPL-2.0
/* What controllers share: sums of a round, and rates. */
#include "cong.h"

/*
 * Bytes delivered since the packet left that was acknowledged just now, over
 * the time since. A sender with nothing to send shows less than the network
 * can do: such a sample counts only upwards.
 */
static void cong_measure(struct dlcp_cong *c, const struct dlcp_cong_sample *s)
{
	u64 bytes, rate;

	if (!s->acked || s->now <= s->sent_then ||
	    s->delivered <= s->delivered_then)
		return;
	bytes = min_t(u64, s->delivered - s->delivered_then, U32_MAX);
	rate = div64_u64(bytes * NSEC_PER_SEC, s->now - s->sent_then);
	if (!s->app_limited || rate > c->delivery_rate)
		c->delivery_rate = rate;
}

bool dlcp_cong_round_add(struct dlcp_cong *c, struct dlcp_cong_round *r,
			 const struct dlcp_cong_sample *s)
{
	cong_measure(c, s);
	r->acked += s->acked;
	/* What came late was not lost */
	r->lost += s->lost;
	r->lost -= min(r->lost, s->spurious);
	r->forgiven += s->forgiven;
	r->packets += s->acked_packets;
	r->ce += s->ce_packets;
	r->used |= !s->app_limited;
	r->inflight = max(r->inflight, s->inflight);
	if (s->rtt && (!r->min_rtt || s->rtt < r->min_rtt))
		r->min_rtt = s->rtt;
	return s->acked && s->delivered_then >= r->end;
}

void dlcp_cong_round_next(struct dlcp_cong_round *r,
			  const struct dlcp_cong_sample *s)
{
	memset(r, 0, sizeof(*r));
	/* Without news what is on its way still bears this number */
	r->end = s->delivered + !s->acked;
}

u64 dlcp_cong_rate(const struct dlcp_cong *c, u64 bytes, u64 time,
		   u32 percent)
{
	u32 t = (u32)clamp_t(u64, time, NSEC_PER_USEC, U32_MAX);
	u64 rate;

	/* Of at most 16 GiB in at least 1 us the rate fits 64 bits */
	bytes = min_t(u64, bytes, BIT_ULL(34));
	rate = mul_u64_u32_div(bytes * percent, NSEC_PER_SEC / 100, t);
	if (c->max_rate)
		rate = min(rate, c->max_rate);
	if (c->grant)
		rate = min(rate, c->grant);
	return max_t(u64, rate, 1);
}
