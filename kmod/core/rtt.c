// SPDX-License-Identifier: GPL-2.0
#include "rtt.h"

/* Longer samples come of a broken clock; cut, they overflow nothing below */
#define RTT_MAX		(100ULL * NSEC_PER_SEC)
#define PTO_FIRST	(10 * NSEC_PER_MSEC)
#define PTO_VAR_MIN	(50 * NSEC_PER_USEC)
#define LOSS_DELAY_MIN	(20 * NSEC_PER_USEC)

void dlcp_rtt_init(struct dlcp_rtt *r)
{
	memset(r, 0, sizeof(*r));
}

/*
 * The minimum of a window that slides in steps: beside the minimum the best
 * sample since it was found is kept, and takes over when the minimum is too
 * old. So @min is always a sample of the last window.
 */
static void rtt_min(struct dlcp_rtt *r, u64 rtt, u64 now)
{
	if (!r->min || rtt <= r->min) {
		r->min = rtt;
		r->min_time = now;
		r->min_next = 0;
		return;
	}
	if (!r->min_next || rtt <= r->min_next) {
		r->min_next = rtt;
		r->min_next_time = now;
	}
	if (now - r->min_time <= DLCP_RTT_MIN_WIN)
		return;
	if (now - r->min_next_time > DLCP_RTT_MIN_WIN) {
		r->min_next = rtt;
		r->min_next_time = now;
	}
	r->min = r->min_next;
	r->min_time = r->min_next_time;
	r->min_next = r->min_time == now ? 0 : rtt;
	r->min_next_time = now;
}

static void rtt_smooth(struct dlcp_rtt *r, u64 rtt)
{
	u64 dev;

	r->latest = rtt;
	if (!r->srtt) {
		r->srtt = rtt;
		r->var = rtt / 2;
		return;
	}
	dev = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
	r->var = (3 * r->var + dev) / 4;
	r->srtt = max_t(u64, (7 * r->srtt + rtt) / 8, 1);
}

void dlcp_rtt_sample(struct dlcp_rtt *r, u64 rtt, u64 now)
{
	rtt = clamp_t(u64, rtt, 1, RTT_MAX);
	if (!r->full) {
		r->full = true;
		r->min = 0;
	}
	rtt_min(r, rtt, now);
	rtt_smooth(r, rtt);
}

bool dlcp_rtt_sample_small(struct dlcp_rtt *r, u64 rtt, u64 now)
{
	rtt = clamp_t(u64, rtt, 1, RTT_MAX);
	if (!r->full)
		rtt_min(r, rtt, now);
	rtt_smooth(r, rtt);
	return !r->full;
}

u64 dlcp_rtt_pto(const struct dlcp_rtt *r, u64 max_delay)
{
	if (!r->srtt)
		return PTO_FIRST + max_delay;
	return r->srtt + max_t(u64, 4 * r->var, PTO_VAR_MIN) + max_delay;
}

u64 dlcp_rtt_loss_delay(const struct dlcp_rtt *r)
{
	u64 rtt = max(r->srtt, r->latest);

	return max3(rtt + rtt / 8, r->srtt + 3 * r->var, (u64)LOSS_DELAY_MIN);
}
