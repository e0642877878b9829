// SPDX-License-Identifier: GPL-2.0
/* The default controller: what a round of acknowledgments tells, and the window. */
#include "cong_dflt.h"

/* Pacing gain, percent of window / round trip: enough to double in slow start,
 * then just enough for the window and not the rate to limit.
 */
#define GAIN_START	125
#define GAIN		105

/* Percent of the window a grant takes: who is granted a rate is held by it and
 * not by the window, and a cut or two need not slow it down.
 */
#define GRANT_ROOM	125

/* Time in which hosts may hold up data and acknowledgments: as BBR's for
 * aggregated ACKs (bbr_extra_acked_max_us of Linux's tcp_bbr.c)
 */
#define HOST_WAIT	(100 * NSEC_PER_MSEC)

/* Window that uses the grant in full, and a little to spare */
u64 dlcp_dflt_full_window(const struct dlcp_cong *c, const struct dflt *d,
			  u64 grant)
{
	u32 rtt = d->srtt ? (u32)min_t(u64, d->srtt, U32_MAX) : FIRST_TIME;

	return mul_u64_u32_div(min_t(u64, grant, BIT_ULL(40)), rtt,
			       NSEC_PER_SEC) * GRANT_ROOM / 100;
}

/* What arrives in @time: the best of recent rounds */
u64 dlcp_dflt_arriving(const struct dlcp_cong *c, const struct dflt *d,
		       u64 time)
{
	u64 bw = max(c->delivery_rate, (u64)d->bw << 10);

	return mul_u64_u32_div(min_t(u64, bw, BIT_ULL(40)),
			       (u32)min_t(u64, time, NSEC_PER_SEC),
			       NSEC_PER_SEC);
}

/*
 * What of the window is not in the queue. Beside a way that takes next to no time
 * that is next to nothing; a packet a round trip tells what became of the queue.
 */
static u64 without_queue(const struct dlcp_cong *c, const struct dflt *d)
{
	u32 srtt = (u32)min_t(u64, d->srtt, U32_MAX);
	u64 most = min_t(u64, d->win, c->mss);

	return d->min < srtt ?
	       max(mul_u64_u32_div(d->win, (u32)d->min, srtt), most) : d->win;
}

static u64 held_back(const struct dlcp_cong *c, const struct dflt *d)
{
	if (d->compete)
		return without_queue(c, d);
	return (d->drain == DRAIN_QUEUE ? without_queue(c, d) : d->win) / 2;
}

/*
 * The time in which the window is to be sent: the smoothed round trip. Where
 * the rate alone follows the window a round is one packet, and a few that were
 * late, each an eighth of the mean, would rule for rounds as long as they make
 * them: there the last round counts if it was much quicker.
 */
static u64 pace_time(const struct dlcp_cong *c, const struct dflt *d)
{
	if (d->win < (u64)CWND_MIN * c->mss && d->rtt)
		return min(d->srtt, 2 * (u64)d->rtt);
	return d->srtt;
}

/*
 * What has arrived long since, but for the ACK that stands in a queue. A window
 * that is all the round trip may hold would lose to who fills that queue.
 */
static u64 named_late(const struct dlcp_cong *c, const struct dflt *d)
{
	return mul_u64_u32_div(min_t(u64, c->delivery_rate, BIT_ULL(40)),
			       d->back, NSEC_PER_SEC);
}

/*
 * What waits in hosts is no queue of the network, and no window falls by it. Without a
 * limit all that there is to send would wait there, and be dropped where too much does.
 */
static u64 most_under_way(const struct dlcp_cong *c, const struct dflt *d)
{
	return max_t(u64, (u64)WIN_INIT * c->mss,
		     dlcp_dflt_arriving(c, d, 2 * d->srtt + HOST_WAIT));
}

void dlcp_dflt_set(struct dlcp_cong *c, u64 win)
{
	struct dflt *d = dflt_priv(c);
	u64 use;

	if (c->grant)
		win = min(win, dlcp_dflt_full_window(c, d, c->grant));
	d->win = clamp_t(u64, win, max_t(u64, c->mss / WIN_MIN_DIV, 1),
			 WIN_MAX);
	use = d->win;
	if (d->judge)
		use = min(use, d->trial_win);
	if (d->drain)
		use = held_back(c, d);
	/* A granted rate is kept by pacing; ACKs may be late */
	c->cwnd = max_t(u64,
			(c->grant ? 2 * use : use) + named_late(c, d),
			(u64)(c->grant ? 2 : 1) * CWND_MIN * c->mss);
	if (!d->start && c->delivery_rate)
		c->cwnd = min(c->cwnd, most_under_way(c, d));
	if (d->srtt)
		c->rate = dlcp_cong_rate(c, use, pace_time(c, d),
					 d->start ? GAIN_START : GAIN);
	else
		c->rate = dlcp_cong_rate(c, use,
					 max_t(u64, c->setup / FIRST_DIV,
					       FIRST_TIME), 100);
}

u64 dlcp_dflt_excess(const struct dlcp_rtt *r)
{
	return max3((u64)EXCESS_MIN, r->min / 2,
		    2 * max(r->var, dlcp_rtt_jitter(r)));
}

/*
 * What stood in the queue all through the round, and the sender's own: packets
 * leave in batches of one pacing quantum and are acknowledged in batches. Where
 * each takes its own time the quickest of a round is slower than the quickest
 * of all, and the fewer there are the more.
 */
u64 dlcp_dflt_delay(const struct dflt *d, const struct dlcp_rtt *r)
{
	u64 noise = dlcp_rtt_noise(r);
	u64 base = r->min + noise;

	if (d->round.packets < DELAY_SAMPLES)
		base += noise;
	return d->round.min_rtt > base ? d->round.min_rtt - base : 0;
}

/*
 * Who has a small window shares the link with many, and there loss is rather
 * their doing than the link's: leniency grows with the window.
 */
u32 dlcp_dflt_leniency(const struct dlcp_cong *c, const struct dflt *d)
{
	return dflt_share(d->peak, d->peak + (u64)MANY_SEGS * c->mss);
}

/*
 * Next to no queue. Here a small sender, of small batches, is stricter. A short
 * queue is full before it is long: on a long path it need not be where packets
 * were lost. In a rack that would be less than two packets.
 */
bool dlcp_dflt_is_empty(const struct dlcp_cong *c, const struct dflt *d,
			const struct dlcp_rtt *r)
{
	u64 quantum = DLCP_PACE_QUANTUM * dlcp_dflt_leniency(c, d) / ONE;
	u64 most = dlcp_dflt_excess(r) / 4;

	if (d->round.lost && r->min >= LONG_PATH)
		most = min_t(u64, r->min / QUIET_DIV, most);
	return dlcp_dflt_delay(d, r) < most + quantum;
}

/* What the losses of the round are a share of: who did not use the window
 * must not lose half of it with one packet of two.
 */
u64 dlcp_dflt_round_bytes(const struct dflt *d)
{
	u64 sent = d->round.acked + d->round.lost;

	return d->idle ? max(sent, d->win) : sent;
}

/* More lost than chance takes: at 3 % two of eight are one time in 45 */
bool dlcp_dflt_is_burst(const struct dlcp_cong *c, const struct dflt *d,
			u64 lost, u32 limit)
{
	limit += 2 * (d->loss_ok - LOSS_OK);
	return lost > c->mss &&
	       dflt_share(lost, dlcp_dflt_round_bytes(d)) > limit;
}

/*
 * Whether the window may grow: a window that was not used says nothing about
 * the path (RFC 9002, 7.8). Half of it must have been in flight (RFC 7661, 4.1)
 * to double in slow start, or to come back to what it was. More than it ever
 * was needs nearly all of it.
 */
bool dlcp_dflt_limited(const struct dlcp_cong *c, const struct dflt *d)
{
	u64 used = d->round.inflight;

	if (!d->round.used)
		return false;
	if (d->start || d->win < d->peak - d->peak / PEAK_DIV)
		used *= 2;
	else
		used += used / PEAK_DIV;
	return used >= d->win + named_late(c, d) ||
	       d->win < 4 * (u64)c->mss;
}

void dlcp_dflt_smooth(struct dflt *d, u32 lost)
{
	u32 ce = dflt_share(d->round.ce, d->round.packets);

	/* Rounded up, else a small alpha would never move */
	if (ce > d->alpha)
		d->alpha += (ce - d->alpha + (1 << ALPHA_SHIFT) - 1) >>
			    ALPHA_SHIFT;
	else
		d->alpha -= (d->alpha - ce + (1 << ALPHA_SHIFT) - 1) >>
			    ALPHA_SHIFT;
	d->loss += lost - (d->loss >> LOSS_SHIFT);
}
