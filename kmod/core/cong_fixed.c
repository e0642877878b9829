// SPDX-License-Identifier: GPL-2.0
/*
 * "fixed": the rate the user asked for (SO_MAX_PACING_RATE), for networks
 * whose operator schedules the load. It yields to nobody.
 */
#include "cong.h"

/* Segments beyond two round trips: room for delayed acknowledgements */
#define FIXED_EXTRA	16
/* Round trip to reckon with before the first sample */
#define FIXED_RTT	(1 * NSEC_PER_MSEC)
/* No limit; yet sums of it do not overflow */
#define FIXED_CWND_MAX	BIT_ULL(40)

static void fixed_set(struct dlcp_cong *c, u64 rtt)
{
	u32 t = (u32)min_t(u64, rtt, U32_MAX);
	u64 bdp;

	c->rate = c->max_rate;
	if (!c->rate) {
		c->cwnd = FIXED_CWND_MAX;
		return;
	}
	/* Cut to 2^40 bytes per second, which no link has, it cannot overflow */
	bdp = mul_u64_u32_div(min_t(u64, c->rate, BIT_ULL(40)), t,
			      NSEC_PER_SEC);
	c->cwnd = min_t(u64, 2 * bdp + (u64)FIXED_EXTRA * c->mss,
			FIXED_CWND_MAX);
}

static void fixed_init(struct dlcp_cong *c, u64 now)
{
	fixed_set(c, FIXED_RTT);
}

static void fixed_ack(struct dlcp_cong *c, const struct dlcp_rtt *r,
		      const struct dlcp_cong_sample *s)
{
	struct dlcp_cong_round *round = (struct dlcp_cong_round *)c->priv;

	BUILD_BUG_ON(sizeof(*round) > sizeof(c->priv));

	if (dlcp_cong_round_add(c, round, s))
		dlcp_cong_round_next(round, s);
	fixed_set(c, r->srtt ? r->srtt : FIXED_RTT);
}

static void fixed_timeout(struct dlcp_cong *c, u64 now, u32 nth)
{
}

const struct dlcp_cong_ops dlcp_cong_fixed = {
	.name		= "fixed",
	.init		= fixed_init,
	.ack		= fixed_ack,
	.timeout	= fixed_timeout,
};
