// SPDX-License-Identifier: GPL-2.0
#include "rtt.h"

/* Longer samples come of a broken clock; cut, they overflow nothing below */
#define RTT_MAX		(100ULL * NSEC_PER_SEC)
#define LOW_SHIFT	20
/* Less one, as both ends are cut: nothing is older than the window */
#define LOW_WIN		((u32)(DLCP_RTT_MIN_WIN >> LOW_SHIFT) - 1)
/* RFC 9002, 6.2.2: while nothing is known */
#define RTT_FIRST	(333 * NSEC_PER_MSEC)
#define PTO_VAR_MIN	(50 * NSEC_PER_USEC)
#define LOSS_DELAY_MIN	(20 * NSEC_PER_USEC)
#define JITTER_MIN	(8 * NSEC_PER_USEC)	/* less is a queue's own */
#define JITTER_TAIL	8
#define RTT_SAMPLES	16		/* what srtt is a mean of, and more */

void dlcp_rtt_init(struct dlcp_rtt *r)
{
	memset(r, 0, sizeof(*r));
}

/*
 * The minimum of a window that slides in steps: beside the minimum the best
 * value since it was found is kept, and takes over when the minimum is too
 * old. So the minimum is always a value of the last window. Return: it.
 */
static u64 rtt_low(struct dlcp_rtt_low *l, u64 value, u64 time)
{
	u32 now = (u32)(time >> LOW_SHIFT);

	if (!l->value || value <= l->value) {
		l->value = value;
		l->time = now;
		l->next = 0;
		return value;
	}
	if (!l->next || value <= l->next) {
		l->next = value;
		l->next_time = now;
	}
	if (now - l->time <= LOW_WIN)
		return l->value;
	if (now - l->next_time > LOW_WIN) {
		l->next = value;
		l->next_time = now;
	}
	l->value = l->next;
	l->time = l->next_time;
	l->next = l->time == now ? 0 : value;
	l->next_time = now;
	return l->value;
}

/*
 * The least mean of the round trip. Who waits for all samples of a mean may meet a queue
 * meanwhile: so that of the first ones counts, and what they differ by, as it may be too
 * low by that. Where each packet differs by 36 us from the one before, so that the mean of
 * so few is JITTER_MIN, as on a link so slow that one waits for the other, the first ones
 * tell nothing.
 */
static void rtt_calm(struct dlcp_rtt *r, u64 now)
{
	u64 dev = 2 * r->var * (RTT_SAMPLES - r->samples) / RTT_SAMPLES;

	if (r->samples < RTT_SAMPLES && ++r->samples == RTT_SAMPLES && dlcp_rtt_jitter(r))
		r->calm.value = 0;
	rtt_low(&r->calm, r->srtt + r->back + dev, now);
}

static void rtt_smooth(struct dlcp_rtt *r, u64 rtt, u64 back, u64 now)
{
	u64 dev, step;

	step = rtt > r->latest ? rtt - r->latest : r->latest - rtt;
	r->latest = rtt;
	r->back = (u32)((7ULL * r->back + min_t(u64, back, NSEC_PER_SEC)) / 8);
	if (!r->srtt || r->guess) {
		r->srtt = rtt;
		r->var = rtt / 2;
		r->first = (u32)min_t(u64, r->var, U32_MAX);
		r->guess = false;
		return;
	}
	dev = rtt > r->srtt ? rtt - r->srtt : r->srtt - rtt;
	r->var = (3 * r->var + dev) / 4;
	r->first = (u32)(3ULL * r->first / 4);
	r->srtt = max_t(u64, (7 * r->srtt + rtt) / 8, 1);
	r->jitter = (u32)min_t(u64, (63ULL * r->jitter + step) / 64, U32_MAX);
	rtt_calm(r, now);
}

void dlcp_rtt_guess(struct dlcp_rtt *r, u64 rtt)
{
	rtt = clamp_t(u64, rtt, 1, RTT_FIRST);
	if (r->srtt && (!r->guess || r->srtt <= rtt))
		return;
	r->srtt = rtt;
	r->var = rtt / 2;
	r->first = (u32)min_t(u64, r->var, U32_MAX);
	r->latest = rtt;
	r->guess = true;
}

void dlcp_rtt_sample(struct dlcp_rtt *r, u64 rtt, u64 back, u64 now)
{
	rtt = clamp_t(u64, rtt, 1, RTT_MAX);
	if (!r->full) {
		r->full = true;
		r->least.value = 0;
	}
	r->min = rtt_low(&r->least, rtt, now);
	rtt_smooth(r, rtt, back, now);
}

bool dlcp_rtt_sample_small(struct dlcp_rtt *r, u64 rtt, u64 back, u64 now)
{
	rtt = clamp_t(u64, rtt, 1, RTT_MAX);
	if (!r->full)
		r->min = rtt_low(&r->least, rtt, now);
	rtt_smooth(r, rtt, back, now);
	return !r->full;
}

void dlcp_rtt_forget(struct dlcp_rtt *r)
{
	r->least.value = 0;
}

u64 dlcp_rtt_jitter(const struct dlcp_rtt *r)
{
	return r->jitter - min_t(u32, r->jitter, JITTER_MIN);
}

/*
 * What the quietest mean is above the quickest packet. A queue that nobody ever
 * let drain would pass for it: but from one packet to the next a queue changes
 * little, while packets that take their own time each differ from one another
 * about as much as from their mean. The quickest of 10 s may be five or six
 * such differences away from it, as packets of one batch differ less.
 *
 * The mean is that of whole round trips. What is taken off where ACKs stand in
 * a queue has the time of their own in it, so that the rest is shorter there:
 * by the mean of that, every packet of another time would have met a queue.
 */
u64 dlcp_rtt_noise(const struct dlcp_rtt *r)
{
	if (r->calm.value <= r->min)
		return 0;
	return min(r->calm.value - r->min, JITTER_TAIL * dlcp_rtt_jitter(r));
}

u64 dlcp_rtt_pto(const struct dlcp_rtt *r, u64 max_delay)
{
	if (!r->srtt)
		return 3 * RTT_FIRST + max_delay;
	return r->srtt + max_t(u64, 4 * r->var, PTO_VAR_MIN) + max_delay;
}

u64 dlcp_rtt_loss_delay(const struct dlcp_rtt *r)
{
	u64 rtt = max(r->srtt, r->latest);

	return max3(rtt + rtt / 8, r->srtt + 3 * (r->var - r->first),
		    (u64)LOSS_DELAY_MIN);
}
