// SPDX-License-Identifier: GPL-2.0
/*
 * "dlcp", the default controller: for data-centre links, with or without ECN,
 * deep or shallow buffers, and for links that lose packets by themselves.
 *
 * The window doubles per round (slow start) until marks, a queue or a real
 * loss show the end of the road. From then on it is judged once per round:
 *
 * - It is cut in proportion to the evidence. Marks, delay and loss are three
 *   views of one queue, so the strongest counts and they are not added up:
 *     marks  alpha / 2, alpha being the smoothed share of marked packets
 *            (DCTCP, RFC 8257);
 *     delay  above a target, 0.8 of the share of the round trip that the
 *            excess makes up, at most 30 % (Swift, SIGCOMM 2020);
 *     loss   the share that was lost: the window becomes what really arrived.
 *            So a link that loses a little is not throttled, yet loss that
 *            stays always reduces and collapse is impossible. Loss both ends
 *            forgave counts a quarter as long as no queue stands, since the
 *            message need not be told to slow down for what it may lose.
 * - It grows by 2 segments or 4 %, whichever is more, while there is next to
 *   no queue, and barely with a queue below the target. 2 / window or 4 % of
 *   growth hold against 3 % of random loss for windows up to 66 segments and
 *   beyond. Where queues are too short to be seen as delay, growth itself
 *   makes the loss: above 4 % of smoothed loss it is throttled, so that
 *   shallow buffers are not filled with what they cannot hold.
 * - After some rounds with no queue growth doubles per round, up to a quarter
 *   of the window: in incast the others finish, and the link falls to who is
 *   left.
 *
 * With many senders the fair window is less than a packet. The window may
 * therefore become a fraction of a segment; cwnd stays at 2 segments, the
 * rate alone follows it further down (as in Swift), and growth shrinks with
 * it.
 *
 * Units: shares are in 1/1024, times in ns, sizes in bytes.
 */
#include "cong.h"

#define ONE		1024

/* Initial window, segments (RFC 6928) and the time in which to send it while
 * no round trip is known: the round trip of a busy rack. At 1500 bytes this
 * is 1.2 Gbit/s: no burst for a 32-packet queue, and the first sample, one
 * round trip later, corrects it.
 */
#define WIN_INIT	10
#define FIRST_TIME	(100 * NSEC_PER_USEC)

/* Smallest window: a packet in 16 round trips, 256 senders share 10 Gbit/s *
 * 25 us; the largest is 16 GiB.
 */
#define WIN_MIN_DIV	16
#define WIN_MAX		BIT_ULL(34)
#define CWND_MIN	2

/* Pacing gain, percent of window / round trip: enough to double in slow start,
 * then just enough for the window and not the rate to limit.
 */
#define GAIN_START	125
#define GAIN		105

/* Queueing delay to accept: 25 us is 20 packets at 10 Gbit/s, less is noise of
 * hosts; on long paths half the round trip, as deep as buffers are there.
 */
#define EXCESS_MIN	(25 * NSEC_PER_USEC)
#define DELAY_BETA	(ONE * 8 / 10)
#define DELAY_CUT_MAX	(ONE * 3 / 10)

#define ALPHA_SHIFT	4	/* RFC 8257: g = 1/16 */
#define LOSS_SHIFT	4
#define LOSS_OK		(ONE * 4 / 100)
#define LOSS_BURST	(ONE / 8)
#define FORGIVEN_DIV	4

#define GROW_SEGS	2
#define GROW_DIV	25	/* 4 % */
#define CLEAN_ROUNDS	4
#define CLEAN_MAX	6	/* doublings */

/* So long without an empty queue, and half a window is held back for two
 * rounds: else a queue that never empties would pass for the path's minimum.
 */
#define DRAIN_TIME	((u64)NSEC_PER_SEC)
#define DRAIN_ROUNDS	2

struct dflt {
	struct dlcp_cong_round round;
	u64	win;		/* bytes; cwnd and rate follow from it */
	u64	srtt;
	u64	bw;		/* bytes per second: best of recent rounds */
	u64	empty_time;	/* when the queue was last seen empty */
	u32	alpha;
	u32	loss;		/* smoothed share << LOSS_SHIFT */
	u32	clean;		/* rounds in a row with no queue */
	u8	start;		/* slow start */
	u8	drain;		/* rounds left */
};

static struct dflt *dflt_priv(struct dlcp_cong *c)
{
	BUILD_BUG_ON(sizeof(struct dflt) > sizeof(c->priv));
	return (struct dflt *)c->priv;
}

static void dflt_set(struct dlcp_cong *c, u64 win)
{
	struct dflt *d = dflt_priv(c);
	u64 use;

	d->win = clamp_t(u64, win, max_t(u64, c->mss / WIN_MIN_DIV, 1),
			 WIN_MAX);
	use = d->drain ? d->win / 2 : d->win;
	c->cwnd = max_t(u64, use, (u64)CWND_MIN * c->mss);
	if (d->srtt)
		c->rate = dlcp_cong_rate(c, use, d->srtt,
					 d->start ? GAIN_START : GAIN);
	else
		c->rate = dlcp_cong_rate(c, use, FIRST_TIME, 100);
}

static void dflt_init(struct dlcp_cong *c, u64 now)
{
	struct dflt *d = dflt_priv(c);

	d->start = 1;
	d->empty_time = now;
	dflt_set(c, (u64)WIN_INIT * c->mss);
}

/* @part of @whole, both below 2^54 */
static u32 share(u64 part, u64 whole)
{
	return whole ? (u32)div64_u64(min(part, whole) * ONE, whole) : 0;
}

static u64 excess_of(const struct dlcp_rtt *r)
{
	return max_t(u64, EXCESS_MIN, r->min / 2);
}

/* What stood in the queue all through the round */
static u64 queue_of(const struct dlcp_rtt *r,
		    const struct dlcp_cong_round *round)
{
	return round->min_rtt > r->min ? round->min_rtt - r->min : 0;
}

static u32 cut_by_delay(const struct dlcp_cong_round *round, u64 queue,
			u64 excess)
{
	if (queue <= excess)
		return 0;
	return min_t(u32, share(queue, round->min_rtt), DELAY_CUT_MAX);
}

static u32 cut_by_loss(const struct dlcp_cong_round *round, bool empty)
{
	u64 forgiven = min(round->forgiven, round->lost);
	u64 lost = round->lost;

	if (empty)
		lost -= forgiven - forgiven / FORGIVEN_DIV;
	return share(lost, round->acked + round->lost);
}

/* Bytes to add for a round with @queue ns of standing queue */
static u64 growth(const struct dlcp_cong *c, const struct dflt *d, bool empty)
{
	u32 loss = d->loss >> LOSS_SHIFT;
	u64 grow;

	/* Small windows are shares of many: the step shrinks along, yet not
	 * quite in proportion, so that unequal shares become equal.
	 */
	grow = min_t(u64, (u64)GROW_SEGS * c->mss,
		     (d->win + c->mss / 4) / 8);
	if (d->win < c->mss)
		grow = div64_u64(grow * c->mss, d->win);
	if (!empty)
		return grow / 4;
	grow = max_t(u64, grow, d->win / GROW_DIV);
	if (d->clean > CLEAN_ROUNDS)
		grow = min(grow << min_t(u32, d->clean - CLEAN_ROUNDS,
					 CLEAN_MAX),
			   max(grow, d->win / 4));
	if (loss > LOSS_OK)
		grow = div_u64(grow * LOSS_OK * LOSS_OK, loss * loss);
	return grow;
}

static void smooth(struct dflt *d)
{
	const struct dlcp_cong_round *r = &d->round;
	u32 ce = share(r->ce, r->packets);
	u32 lost = share(r->lost, r->acked + r->lost);

	/* Rounded up, else a small alpha would never move */
	if (ce > d->alpha)
		d->alpha += (ce - d->alpha + (1 << ALPHA_SHIFT) - 1) >>
			    ALPHA_SHIFT;
	else
		d->alpha -= (d->alpha - ce + (1 << ALPHA_SHIFT) - 1) >>
			    ALPHA_SHIFT;
	d->loss += lost - (d->loss >> LOSS_SHIFT);
}

/* Whether the window was what limited the sender */
static bool limited(const struct dlcp_cong *c, const struct dflt *d,
		    const struct dlcp_cong_sample *s)
{
	if (s->app_limited)
		return false;
	return 2 * d->round.inflight >= d->win || d->win < 4 * (u64)c->mss;
}

static void dflt_round(struct dlcp_cong *c, const struct dlcp_rtt *r,
		       const struct dlcp_cong_sample *s)
{
	struct dflt *d = dflt_priv(c);
	u64 excess = excess_of(r);
	u64 queue = queue_of(r, &d->round);
	bool empty = queue < excess / 4;
	u32 delay = cut_by_delay(&d->round, queue, excess);
	u32 loss = cut_by_loss(&d->round, empty);
	u64 win = d->win;
	u32 ecn;

	smooth(d);
	ecn = d->round.ce ? d->alpha / 2 : 0;
	if (empty && !d->round.ce && loss < LOSS_BURST)
		d->clean++;
	else
		d->clean = 0;

	win -= div_u64(win * max3(ecn, delay, loss), ONE);
	if (!ecn && !delay && !d->start && limited(c, d, s))
		win += growth(c, d, empty);

	if (!s->app_limited)
		d->bw = max(c->delivery_rate, d->bw - d->bw / 8);

	if (d->drain) {
		d->drain--;
		d->empty_time = s->now;
	} else if (empty) {
		d->empty_time = s->now;
	} else if (s->now - d->empty_time > DRAIN_TIME) {
		d->drain = DRAIN_ROUNDS;
	}
	dlcp_cong_round_next(&d->round, s);
	dflt_set(c, win);
}

/*
 * Slow start does not wait for the end of the round: it would add a window
 * to the queue meanwhile. A single loss without a queue is not its end: at
 * 3 % random loss every fourth connection would start with ten segments.
 */
static bool start_is_over(const struct dflt *d, const struct dlcp_rtt *r,
			  const struct dlcp_cong_sample *s)
{
	const struct dlcp_cong_round *round = &d->round;
	u64 excess = excess_of(r);

	if (round->ce)
		return true;
	if (queue_of(r, round) > excess || s->rtt > r->min + 2 * excess)
		return true;
	if (!round->lost)
		return false;
	return queue_of(r, round) >= excess / 4 ||
	       (share(round->lost, round->lost + round->acked) > LOSS_BURST &&
		round->acked + round->lost >= d->win / 2);
}

static void dflt_ack(struct dlcp_cong *c, const struct dlcp_rtt *r,
		     const struct dlcp_cong_sample *s)
{
	struct dflt *d = dflt_priv(c);
	bool over = dlcp_cong_round_add(c, &d->round, s);

	d->srtt = r->srtt;
	if (d->start && start_is_over(d, r, s)) {
		d->start = 0;
		/* RFC 8257: the first marks count in full */
		if (d->round.ce)
			d->alpha = ONE;
		over = true;
	} else if (d->start && limited(c, d, s)) {
		dflt_set(c, d->win + s->acked);
	}
	if (over)
		dflt_round(c, r, s);
	else
		dflt_set(c, d->win);
}

/*
 * The first probe asks whether only the last packets were lost; a second one
 * in a row means that nothing gets through.
 */
static void dflt_timeout(struct dlcp_cong *c, u64 now, u32 nth)
{
	struct dflt *d = dflt_priv(c);
	u64 floor = min_t(u64, d->win, (u64)CWND_MIN * c->mss);

	if (nth < 2)
		return;
	d->start = 0;
	d->clean = 0;
	dflt_set(c, max(d->win / 2, floor));
}

/*
 * Training sends the same burst each step, over the same links, against the
 * same neighbours: what the last burst got is a better guess for the next one
 * than ten segments are. The distance to that is halved per millisecond (or 8
 * round trips) of silence; a window below it stays.
 */
static void dflt_restart(struct dlcp_cong *c, u64 now, u64 idle)
{
	struct dflt *d = dflt_priv(c);
	u64 step = max_t(u64, 8 * d->srtt, NSEC_PER_MSEC);
	u64 n = min_t(u64, div64_u64(idle, step), 63);
	u64 got;

	d->clean = 0;
	d->drain = 0;
	d->empty_time = now;
	/* An idle queue is no news of the path: the round starts afresh */
	d->round.min_rtt = 0;
	d->round.inflight = 0;

	got = mul_u64_u32_div(min_t(u64, d->bw, WIN_MAX),
			      (u32)min_t(u64, d->srtt, NSEC_PER_SEC),
			      NSEC_PER_SEC);
	got = max_t(u64, got, (u64)WIN_INIT * c->mss);
	if (n && d->win > got)
		dflt_set(c, got + ((d->win - got) >> n));
	else
		dflt_set(c, d->win);
}

const struct dlcp_cong_ops dlcp_cong_default = {
	.name		= "dlcp",
	.init		= dflt_init,
	.ack		= dflt_ack,
	.timeout	= dflt_timeout,
	.restart	= dflt_restart,
};
