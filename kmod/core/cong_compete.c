// SPDX-License-Identifier: GPL-2.0
/* The default controller beside those who fill every queue. */
#include "cong_dflt.h"

/* A queue that is hardly ever found empty in this time, though we gave way to
 * it, may be kept by others than our like: many of those at one receiver are
 * granted rates before. Rounds that found it empty count so many times. If it
 * was our like all the same, the next time is twice as long, up to 64 times and 4.3 s.
 */
#define STAND_TIME	(20 * NSEC_PER_MSEC)
#define STAND_EMPTY	8
#define STAND_SHIFT	6
/* Small windows accept twice the delay of large ones. Who takes that for a part of the
 * way accepts as much again, and so on
 */
#define STAND_OURS	8
/* While competing, rounds from one look without our own part of the queue to
 * the next, fewer until that is proven to be right, and rounds of a look: one
 * until the others see and join it, one until the queue is drained, one to
 * look. Of those who have just given way, as all do after a loss, little is to
 * be seen where the queue is short: so it begins when the queue is long, or
 * after many rounds. A queue of twice that length that fell by 1 / 8 in a round
 * is the sight of a look, unless something was lost a moment ago.
 */
#define LOOK_FIRST	8
#define LOOK_EVERY	32
#define LOOK_ROUNDS	3
#define LOOK_DIV	8
#define LOOK_LONG	(25 * NSEC_PER_USEC)
#define LOOK_CALM	2

/* What is left of the queue, if it is so many percent of it (no less than the
 * first, no more than the second time or a packet of ours takes), is others'.
 * They have gone if so many looks in a row find none. Who found some so often was
 * right to compete.
 */
#define LOOK_LEFT	38
#define LOOK_LEAST	(5 * NSEC_PER_USEC)
#define LOOK_EMPTY	(10 * NSEC_PER_USEC)
#define LOOKS_NONE	3
#define LOOKS_RIGHT	4

/* A look tells how much others have. Who was right and has less than half as
 * much grows by 1 / 4 per round until then: a segment per round takes half a
 * second where a thousand packets wait. Others' window is at most so many times
 * our own, as far as that can be told.
 */
#define CATCH_UP_DIV	4
#define CATCH_UP_MAX	16

/* A sender alone keeps a queue standing, too: while it grows from half of the delay
 * that it accepts to all of it, which is a quarter of its window where it accepts half
 * a round trip. At a segment a round trip that takes so many of them.
 */
static u64 stand_time(const struct dlcp_cong *c, const struct dflt *d,
		      const struct dlcp_rtt *r)
{
	u32 rounds = (u32)div_u64(d->win, 4 * c->mss);

	return min_t(u64, max_t(u64, STAND_TIME, r->min * rounds) << d->alarms,
		     U32_MAX);
}

/* The delay a sender gives way to is twice that */
static u64 standing(const struct dlcp_rtt *r)
{
	return max_t(u64, EXCESS_MIN, r->min / 2) / 2;
}

bool dlcp_dflt_is_standing(const struct dflt *d, const struct dlcp_rtt *r)
{
	return dlcp_dflt_delay(d, r) > standing(r);
}

/* A pause is no time in which a queue stands. The rounds of a window below a packet
 * take as long as packets are apart.
 */
static u64 round_most(const struct dlcp_cong *c)
{
	u64 apart = c->rate ? div64_u64(2ULL * c->mss * NSEC_PER_SEC, c->rate) : 0;

	return max_t(u64, NSEC_PER_MSEC, apart);
}

/*
 * So long the queue stood, as far as the round tells. Our like let theirs run empty again
 * and again, which the few packets of small windows hardly see: each tells of as long as
 * it took, before and after. A queue far beyond what they accept is not theirs.
 */
static u64 told_of(const struct dlcp_cong *c, const struct dflt *d,
		   const struct dlcp_rtt *r, u64 now)
{
	u64 most = round_most(c);

	if (!d->judged)
		return 0;
	if (dlcp_dflt_delay(d, r) <= STAND_OURS * dlcp_dflt_excess(r))
		most = min(most, 2 * d->round.min_rtt);
	return min(now - d->judged, most);
}

/*
 * Who answers to delay leaves a link to those who fill its queue until it
 * drops. Return: whether that seems to be so, and little is left to us, or the queue
 * stood without our part of it. What stands while we have much may be our own: it does
 * not count. On a long path the window does not fall below the initial one.
 */
static bool is_starved(const struct dlcp_cong *c, struct dflt *d,
		       const struct dlcp_rtt *r, u64 now)
{
	bool little = d->others ||
		      d->win <= max(d->peak / 4, (u64)WIN_INIT * c->mss);
	u64 most = stand_time(c, d, r), time = told_of(c, d, r, now);

	d->judged = now;
	/* Marks hold a queue at their threshold, whoever fills it */
	if (c->grant || d->start || d->alpha > ALPHA_FEW)
		d->stand = 0;
	else if (!dlcp_dflt_is_standing(d, r))
		d->stand -= min_t(u64, d->stand, STAND_EMPTY * time);
	else if (little)
		d->stand = (u32)min_t(u64, d->stand + time, most);
	return d->stand >= most && little;
}

bool dlcp_dflt_is_competing(const struct dlcp_cong *c, struct dflt *d,
			    const struct dlcp_rtt *r, u64 now)
{
	if (d->compete || !is_starved(c, d, r, now))
		return d->compete;
	d->compete = 1;
	d->looks = 0;
	d->looks_none = 0;
	d->stand = 0;
	d->cut = 0;
	d->drain = 0;
	d->drained = 0;
	d->rounds = 0;
	d->queue = 0;
	d->judge = 0;
	d->trial_win = 0;
	d->win = max(d->win, d->peak / 2);
	return true;
}

/* The window of others, if so much of the queue is theirs */
static u64 theirs(const struct dflt *d, u64 left, u64 queue)
{
	if (left >= queue - queue / CATCH_UP_MAX)
		return CATCH_UP_MAX * d->win;
	/* In 1024 ns the longest round trip fits 32 bits */
	return mul_u64_u32_div(d->win, (u32)(left >> 10),
			       (u32)((queue - left) >> 10) + 1);
}

/*
 * One round of holding back our part of the queue is over. If it is empty in
 * the end nobody but our like filled it, who saw us and did the same.
 */
static void look(struct dlcp_cong *c, struct dflt *d,
		 const struct dlcp_rtt *r)
{
	u64 left = dlcp_dflt_delay(d, r);
	u64 queue = d->queue, packet;

	if (--d->drain)
		return;
	packet = div64_u64((r->min + queue) * c->mss, d->win);
	d->rounds = 0;
	d->queue = 0;
	d->trial_win = 0;
	if (left > clamp_t(u64, queue * LOOK_LEFT / 100, LOOK_LEAST,
			   max_t(u64, packet, LOOK_EMPTY))) {
		d->looks = min(d->looks + 1, LOOKS_RIGHT);
		d->looks_none = 0;
		if (d->looks == LOOKS_RIGHT)
			d->trial_win = theirs(d, left, queue) / 2;
		return;
	}
	if (++d->looks_none < LOOKS_NONE)
		return;
	/* Nobody fills it: a link that has got so slow takes that for a packet */
	c->longer = d->round.min_rtt > r->min + standing(r);
	d->compete = 0;
	d->drained = 0;
	if (d->looks == LOOKS_RIGHT)
		d->alarms = 0;
	else
		d->alarms = min(d->alarms + 1, STAND_SHIFT);
}

/* Is it time for a look, or is another one looking? */
static void look_out(const struct dlcp_cong *c, struct dflt *d, u64 queue,
		     bool lost)
{
	u32 every = d->looks == LOOKS_RIGHT ? LOOK_EVERY : LOOK_FIRST;
	bool now = d->queue >= 2 * LOOK_LONG &&
		   queue + queue / LOOK_DIV < d->queue;

	d->rounds++;
	d->queue = 0;
	/* Of many with small windows some lose in every round */
	if (d->rounds >= 2 * every ||
	    (lost && d->win < MANY_SEGS * (u64)c->mss)) {
		now = true;
	} else if (lost) {
		d->rounds = max_t(u32, d->rounds, every);
		d->drained = LOOK_CALM;
		return;
	} else if (d->drained) {
		d->drained--;
		return;
	}
	if (now || (d->rounds >= every && queue >= LOOK_LONG))
		d->drain = LOOK_ROUNDS;
	d->queue = (u32)min_t(u64, queue, U32_MAX);
}

/*
 * Beside those who fill the queue: a segment more per round, half the window
 * after a loss (RFC 5681) and as much less as packets are marked (RFC 8257).
 * Now and then, when others seem to look, and when the queue is back after a
 * loss, what is ours in it is held back to see what is not; from that we know
 * how far we are behind. Here forgiven loss counts like any other, lest the
 * others pay for the bound.
 */
void dlcp_dflt_compete_round(struct dlcp_cong *c, struct dflt *d,
			     const struct dlcp_rtt *r,
			     const struct dlcp_cong_sample *s)
{
	u32 loss = dflt_share(d->round.lost, dlcp_dflt_round_bytes(d));
	bool lost = loss > (dlcp_dflt_is_standing(d, r) ? 0 : d->loss_ok);
	u64 win = d->win;

	dlcp_dflt_smooth(d, loss);
	c->queued = dlcp_dflt_is_standing(d, r);
	if (d->drain) {
		look(c, d, r);
	} else {
		if (lost || d->round.ce)
			d->trial_win = 0;
		if (lost)
			win -= win / 2;
		else if (d->round.ce)
			win -= div_u64(win * d->alpha, 2 * ONE);
		else if (dlcp_dflt_limited(c, d))
			win += max_t(u64, win < d->trial_win ?
				     win / CATCH_UP_DIV : 0, c->mss);
		look_out(c, d, dlcp_dflt_delay(d, r), lost);
	}
	if (c->grant)
		d->compete = 0;
	d->min = r->min;
	d->peak = max(win, d->peak - (d->peak >> PEAK_SHIFT));
	dlcp_cong_round_next(&d->round, s);
	dlcp_dflt_set(c, win);
}
