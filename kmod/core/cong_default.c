// SPDX-License-Identifier: GPL-2.0
/*
 * "dlcp", the default controller: for data-centre links, with or without ECN,
 * deep or shallow buffers, and for links that lose packets by themselves.
 *
 * The window doubles per round (slow start; a round is a window's worth of
 * acknowledgments) until marks, a queue or a real loss show the end of the
 * road. From then on it is judged once per round:
 *
 * - It is cut in proportion to the evidence. Marks, delay and loss are three
 *   views of one queue, so the strongest counts and they are not added up:
 *     marks  alpha / 2, alpha being the smoothed share of marked packets
 *            (DCTCP, RFC 8257);
 *     delay  of the way there (owd.h) above a target, the share of the round
 *            trip spent in the queue, at most 30 % (after Swift, SIGCOMM
 *            2020): the queue is emptied and not only brought to the target,
 *            because all see the minimum of their round trip only in an empty
 *            queue;
 *     loss   the share that was lost: the window becomes what really arrived.
 *            Loss both ends forgave counts a quarter as long as no queue
 *            stands, since a message need not slow down for what it may lose.
 * - It grows by a step that starts small after each cut and grows by half per
 *   round without a queue (set_step()).
 * - While there is no queue, smoothed loss of up to 4 % is put back: that much
 *   a link may lose by itself without being throttled. More than that reduces,
 *   until a trial at half the rate tells whose doing it is (cong_judge.c). What
 *   is left there is put back, too. If nothing is left, a policer or a short
 *   queue loses what is too much, and loss counts from the first per cent on.
 * - Where the queue stands all the same for 20 ms, and the window became small
 *   by it, or it stood without our part, others fill it: then it competes with
 *   them as they do, until looks without its own part of the queue find it empty
 *   (cong_compete.c).
 * - Where a cut by delay leaves more queue than it should, others take the queue
 *   for their way: a round with next to nothing sent shows it to them.
 * - What was lost, marked or delayed in the round after a cut left before it,
 *   and is not answered again (the recovery period of RFC 9002).
 *
 * With many senders the fair window is less than a packet. The window may
 * therefore become a fraction of a segment; cwnd stays at 2 segments and the
 * rate alone follows it further down (as in Swift).
 *
 * Shares are in 1/1024, times in ns, sizes in bytes.
 */
#include "cong_dflt.h"

/* Rounds in which a window that has followed a larger grant is on trial */
#define GRANT_TRIAL	2
/* Marks that many paced senders make by chance, where they begin at four
 * packets. A core link that is full marks all.
 */
#define MARKS_OK	(ONE * 3 / 4)

/* A queue that ends slow start: a part of the round trip, and at most so much.
 * That is the threshold of HyStart++ (RFC 9406, 4.2) without its least, which is
 * more than a link of a rack can queue.
 */
#define START_WAIT_DIV	8
#define START_WAIT_MAX	(16 * NSEC_PER_MSEC)
/* Packets that a link may lose by itself at once, and the part of a window that
 * an ACK or two tell of
 */
#define START_BURST	16
#define START_ACKS	8

/* The first step: with 64 senders two packets in all */
#define STEP_MIN_DIV	32

/* Who comes to a standing queue takes it for a part of the path and fills it
 * further, while those who know better give way. So for one round in so many
 * half the window is held back: it shows who holds the most what the path is
 * without it. The next one is twice as far away. A lone sender loses a round in
 * the first 64 and little later. Who finds the path shorter saw that others are
 * there, counts anew, and is sooner. All who saw it count from the same time, as
 * those whose least round trip BBR lets expire, so that the queue gets empty.
 */
#define DRAIN_FIRST	64
#define DRAIN_SEEN	8
#define DRAIN_LAST	1024

static u32 to_kib(u64 bytes)
{
	return (u32)min_t(u64, bytes >> 10, U32_MAX);
}

static void dflt_init(struct dlcp_cong *c, u64 now)
{
	struct dflt *d = dflt_priv(c);

	d->start = 1;
	d->loss_ok = LOSS_OK;
	d->period = DRAIN_FIRST;
	dlcp_dflt_set(c, (u64)WIN_INIT * c->mss);
}

/*
 * Small windows tolerate up to twice the delay (flow scaling of Swift): many
 * senders make a longer queue between them, and of two with unequal windows
 * the larger one gives way first.
 */
static u64 scaled_excess(const struct dlcp_cong *c, const struct dflt *d,
			 u64 excess)
{
	return excess + div64_u64(excess * c->mss, d->win + c->mss);
}

static u64 queue_of(const struct dflt *d, const struct dlcp_rtt *r)
{
	u64 delay = dlcp_dflt_delay(d, r);

	return delay > DLCP_PACE_QUANTUM ? delay - DLCP_PACE_QUANTUM : 0;
}

static u32 cut_by_delay(const struct dlcp_cong_round *round, u64 queue,
			u64 excess, u32 most)
{
	if (queue <= excess)
		return 0;
	return min_t(u32, dflt_share(queue, round->min_rtt), most);
}

/*
 * The shortest of many round trips tells of a queue, the shortest of two only
 * of chance: where the window is small, several rounds in a row must agree.
 */
static bool enough(struct dflt *d, u32 delay)
{
	d->seen = delay ? d->seen + d->round.packets : 0;
	return d->seen >= DELAY_SAMPLES;
}

/* Bytes lost in the round, as far as they count */
static u64 round_lost(const struct dlcp_cong *c, const struct dflt *d,
		      bool empty)
{
	u64 forgiven = min(d->round.forgiven, d->round.lost);
	u64 lost = d->round.lost;

	forgiven -= forgiven / FORGIVEN_DIV;
	if (empty)
		lost -= div_u64(forgiven * dlcp_dflt_leniency(c, d), ONE);
	return lost;
}

/*
 * Marks keep a queue short. Where there are some, the shortest round trip is that of
 * the way. Elsewhere it may be that of a queue that stands.
 */
static bool is_far(const struct dflt *d, u64 min)
{
	return min >= (d->alpha > ALPHA_FEW ? MARKED_PATH : LONG_PATH);
}

/*
 * The smallest step. A round trip of a rack is short, and many share it. On a
 * long path a small step takes seconds to bring a window back, so there it is
 * the segment of RFC 5681, 3.1: but not for windows of a few packets, which are
 * many senders', nor where what is lost was found to be our own doing.
 */
static u64 least_step(const struct dlcp_cong *c, const struct dflt *d, u64 min)
{
	if (is_far(d, min) && d->loss_ok >= LOSS_OK &&
	    d->win >= (u64)CWND_MIN * c->mss)
		return c->mss;
	return max_t(u64, c->mss / STEP_MIN_DIV, 1);
}

/*
 * The step by which a round grows the window: the same for large and small
 * windows, starting from almost nothing after each cut and growing by half
 * each round without a queue. All who share a queue see it at about the same
 * time and start over together, so their steps are alike, which makes unequal
 * windows equal; and the sum of the steps finds its measure whether there are
 * two senders or two hundred.
 */
static void set_step(struct dlcp_cong *c, struct dflt *d, u64 least, bool cut,
		     bool empty, u64 lost)
{
	u64 most = d->loss_ok < LOSS_OK ? d->win / OURS_STEP_DIV :
					  d->win / STEP_DIV;

	if (cut)
		d->step = least;
	else if (d->loss >> LOSS_SHIFT > d->loss_ok + d->loss_ok / 2 ||
		 dlcp_dflt_is_burst(c, d, lost, LOSS_BURST / 2))
		d->step -= d->step / 2;
	else if (empty)
		d->step += d->step / 2 + 1;
	d->step = clamp(d->step, least, max(most, least));
}

/* What the link takes by itself is put back, whatever the sender had to send:
 * it was taken off likewise
 */
static u64 put_back(const struct dlcp_cong *c, const struct dflt *d)
{
	u32 loss = min_t(u32, d->loss >> LOSS_SHIFT, d->loss_ok);

	return div_u64(d->win * (loss * dlcp_dflt_leniency(c, d) / ONE), ONE);
}

/* Bytes to add for a round */
static u64 growth(const struct dlcp_cong *c, const struct dflt *d, bool empty)
{
	u64 grow = dlcp_dflt_limited(c, d) ? d->step : 0;

	/* Below a segment a round takes several round trips */
	if (d->win < c->mss)
		grow = div64_u64(grow * c->mss, d->win);
	return empty ? grow + put_back(c, d) : grow / 4;
}

/*
 * What the shortest round trip is to be after @cut: who is alone in a queue shortens
 * it by as much as he takes off. What slow start sent last stands there yet: by then
 * it is half of that, of which a quarter is for chance.
 */
static void set_expect(struct dflt *d, u32 cut, bool start)
{
	u64 fall = d->round.min_rtt * cut / ONE;

	d->expect = (u32)min_t(u64, d->round.min_rtt - (start ? fall / 8 * 3 : fall), U32_MAX);
}

/*
 * Is the queue longer than a cut should have left it? Then others fill it who take it
 * for a part of their way, and see no reason to give way.
 */
static bool is_crowded(const struct dlcp_cong *c, const struct dflt *d,
		       const struct dlcp_rtt *r, bool empty)
{
	return d->expect && d->round.min_rtt > d->expect && !empty && !d->drain &&
	       !c->grant && r->min < LONG_PATH;
}

/*
 * When is a part of the window held back, for a round? The round after that one shows
 * what the queue is without it: if it stands, it is others'.
 */
static void set_drain(struct dflt *d, const struct dlcp_rtt *r, bool crowded)
{
	if (d->min && r->min + dlcp_dflt_excess(r) / 8 < d->min) {
		d->rounds = 0;
		d->period = DRAIN_SEEN;
	}
	d->min = r->min;
	if (d->drained)
		d->others = dlcp_dflt_is_standing(d, r);
	d->drained = d->drain;
	if (d->drain) {
		d->drain = 0;
		d->rounds = 0;
	} else if (crowded) {
		d->drain = DRAIN_QUEUE;
	} else if (++d->rounds >= d->period) {
		d->drain = DRAIN_HALF;
		d->period = min_t(u32, 2 * d->period, DRAIN_LAST);
	}
}

/*
 * The receiver sees to it that the sum of all it grants is less than its link
 * takes. What is lost or marked all the same is so by chance, as paced packets
 * of many meet: up to a limit it is no reason to send less.
 */
static u32 granted_loss(const struct dflt *d)
{
	u32 loss = d->loss >> LOSS_SHIFT;

	return loss > LOSS_OK ? loss - LOSS_OK : 0;
}

/* Of a small window's one or two packets in a round a lost one says nothing */
static bool is_chance(const struct dlcp_cong *c, const struct dflt *d,
		      bool empty)
{
	return c->grant && (empty || d->round.packets < DELAY_SAMPLES);
}

static u32 cut_by_marks(const struct dlcp_cong *c, const struct dflt *d)
{
	if (!c->grant)
		return d->alpha / 2;
	return d->alpha > MARKS_OK ? d->alpha - MARKS_OK : 0;
}

/*
 * What a round that lost packets takes, beyond what delay and marks tell. A
 * burst that met a full queue is one piece of news, however much of it was
 * lost: it takes half (RFC 9002, 7.3.2) and leaves two packets (7.2). Only if
 * the next round loses as much the queue stands, and the window becomes what
 * arrived. The end of slow start (@first) cuts a round short: what it lost is
 * of that burst, too.
 */
static u64 loss_floor(const struct dlcp_cong *c, struct dflt *d, u32 loss,
		      bool first)
{
	u64 floor = (u64)CWND_MIN * c->mss;
	bool again = d->lossy && !first;

	d->lossy = loss > d->loss_ok;
	if (again || c->grant)
		return 0;
	return d->win > floor ? max(d->win / 2, floor) : d->win / 2;
}

/* The share lost in the round, as far as it is news; likewise *@lost, bytes */
static u32 loss_news(const struct dlcp_cong *c, struct dflt *d,
		     const struct dlcp_rtt *r, bool empty, bool first, u64 *lost)
{
	u32 loss = dflt_share(*lost, dlcp_dflt_round_bytes(d));

	/* What met a full queue is not the link's own. In a rack a queue of
	 * others stands all the time
	 */
	dlcp_dflt_smooth(d, empty || c->grant || r->min < LONG_PATH ? loss : 0);
	if (is_chance(c, d, empty))
		return granted_loss(d);
	if (dlcp_dflt_judge_loss(c, d, r, *lost, first)) {
		*lost = 0;
		return 0;
	}
	if (dlcp_dflt_is_policed(c, d, *lost))
		return max_t(u32, loss, OURS_CUT);
	return loss;
}

/* @win would be less than the initial window: see LONG_PATH. Nor does a window
 * that was not used become so where there is no queue.
 */
static u64 keep_initial(const struct dlcp_cong *c, const struct dflt *d,
			u64 min, u64 win, u32 queue, u32 loss)
{
	u64 init = (u64)WIN_INIT * c->mss;

	if (is_far(d, min) && !loss)
		return min(d->win + c->mss, init);
	return d->idle && !queue ? min(d->win, init) : win;
}

/*
 * Slow start has sent up to twice what arrives, and half of it is on its way yet.
 * The path holds what came in the round trip of the packet that told: no more is
 * sent, and what is lost of the rest is no news. In a rack a message is sooner
 * sent than that is known. Where nothing was lost the queue holds it.
 */
static u64 end_start(const struct dlcp_cong *c, struct dflt *d,
		     const struct dlcp_rtt *r, u64 win)
{
	u64 fits = dlcp_dflt_arriving(c, d, r->min + dlcp_dflt_delay(d, r));

	win = min(win, max_t(u64, fits, (u64)WIN_INIT * c->mss));
	if (win < d->win)
		d->cut = dflt_share(d->win - win, d->win);
	return win;
}

/* What is to be put back if the reason of a cut proves wrong */
static void undo_note(struct dflt *d, bool start)
{
	if (d->undo)
		return;
	d->undo = d->win;
	d->undo_start = start;
}

static void undo_forget(struct dflt *d)
{
	d->undo = 0;
	d->undo_lost = 0;
	d->undo_queue = 0;
}

static void undo_cut(struct dflt *d)
{
	d->win = max(d->win, d->undo);
	d->start |= d->undo_start;
	undo_forget(d);
}

/* Of what was lost @came bytes came late. Once all did, it was no loss (RFC 4015) */
static void undo_lost(const struct dlcp_cong *c, struct dflt *d, u64 came)
{
	d->undo_lost -= min_t(u64, came, d->undo_lost);
	if (came && d->undo_lost < c->mss)
		undo_cut(d);
}

/*
 * The first round that shows what a cut did. All who stood in a queue took about the
 * same share off, and it fell by about that. What was longer and is gone all the same
 * was no queue: a host stood still, and what it had went on at once.
 */
static void undo_round(struct dflt *d, bool empty)
{
	if (d->undo_queue && empty)
		undo_cut(d);
	undo_forget(d);
}

/* Do hosts, or packets that take their own time, make more delay than is accepted? */
static bool is_noisy(const struct dlcp_rtt *r)
{
	return 2 * dlcp_rtt_jitter(r) > max((u64)EXCESS_MIN, r->min / 2);
}

/* What @cut is for: @loss, or @queue ns in each of its packets' round trips */
static void undo_begin(struct dflt *d, const struct dlcp_rtt *r, bool start,
		       u32 cut, u32 loss, u64 queue)
{
	/* Under a grant what was lost in earlier rounds counts, too */
	if (!cut || (cut == loss && !d->round.lost))
		return;
	if (cut == loss) {
		undo_note(d, start);
		d->undo_lost = (u32)min_t(u64, d->round.lost, U32_MAX);
	} else if (is_noisy(r) &&
		   dflt_share(queue, d->round.min_rtt) > 2 * cut) {
		undo_note(d, start);
		d->undo_queue = 1;
	}
}

static void dflt_round(struct dlcp_cong *c, const struct dlcp_rtt *r,
		       const struct dlcp_cong_sample *s, bool first)
{
	struct dflt *d = dflt_priv(c);
	u64 excess = dlcp_dflt_excess(r);
	u64 queue = queue_of(d, r);
	bool empty = dlcp_dflt_is_empty(c, d, r);
	u64 lost = round_lost(c, d, empty);
	u32 loss = loss_news(c, d, r, empty, first, &lost);
	u32 ecn = 0, delay = 0, cut;
	u64 floor = loss_floor(c, d, loss, first);
	u64 win = d->win;
	bool crowded = false, alone;

	c->queued = queue > excess;
	if (d->cut) {
		/* No news but of loss beyond what was cut */
		cut = loss > d->cut ? loss - d->cut : 0;
		d->cut = 0;
		if (cut)
			undo_forget(d);
	} else {
		undo_round(d, empty);
		win = d->win;
		crowded = is_crowded(c, d, r, empty);
		d->expect = 0;
		delay = cut_by_delay(&d->round, queue,
				     scaled_excess(c, d, excess),
				     first ? ONE / 2 : DELAY_CUT_MAX);
		if (!first && !enough(d, delay))
			delay = 0;
		ecn = d->round.ce && !d->start ? cut_by_marks(c, d) : 0;
		cut = max3(ecn, delay, loss);
		if (ecn || delay ||
		    dlcp_dflt_is_burst(c, d, lost, LOSS_BURST) ||
		    dlcp_dflt_is_policed(c, d, lost))
			d->cut = cut;
		if (delay && delay == cut)
			set_expect(d, cut, first);
		alone = empty && (d->peak >= MANY_SEGS * c->mss || c->grant);
		set_step(c, d, least_step(c, d, r->min),
			 d->cut || (lost && !alone), empty, lost);
		if (!ecn && !delay && !d->start && !d->judge)
			win += growth(c, d, empty);
		undo_begin(d, r, first, cut, loss, delay == cut ? queue : 0);
	}
	win -= div_u64(d->win * cut, ONE);
	if (cut == loss)
		win = max(win, floor);
	if (first && d->round.lost && cut == loss && r->min >= LONG_PATH)
		win = end_start(c, d, r, win);
	if (win < (u64)WIN_INIT * c->mss)
		win = keep_initial(c, d, r->min, win, max(ecn, delay), loss);

	if (!d->start)
		set_drain(d, r, crowded);
	d->peak = max(win, d->peak - (d->peak >> PEAK_SHIFT));
	dlcp_cong_round_next(&d->round, s);
	dlcp_dflt_set(c, win);
}

/*
 * One packet that stood in a queue. On a long path half a round trip would be
 * too much: by the time it is seen the window of slow start is three times what
 * the path holds. There it is a part of the round trip, 1 / @div.
 */
static bool has_waited(const struct dlcp_rtt *r,
		       const struct dlcp_cong_sample *s, u32 div)
{
	u64 excess = dlcp_dflt_excess(r);

	if (r->min >= LONG_PATH)
		excess = max3(min_t(u64, div_u64(r->min, div), START_WAIT_MAX),
			      2 * r->var, 2 * dlcp_rtt_jitter(r));
	return s->rtt > r->min + 2 * dlcp_rtt_noise(r) + excess +
			DLCP_PACE_QUANTUM;
}

/*
 * On a long path marks of less than half a window tell of bursts that met; and
 * what slow start did not reach takes seconds there. A link that is full marks
 * all that comes to it: half of what slow start sends is too much. By then the
 * window has grown by as much, of which that is a third.
 */
static bool has_marks(const struct dlcp_cong *c, const struct dflt *d, u64 min)
{
	return d->round.ce && (min < LONG_PATH ||
			       3 * (u64)d->round.ce * c->mss > d->win);
}

/*
 * A queue so short that no packet is seen to wait. What came before the first
 * loss found room there: only what follows tells how much is lost. In a rack a
 * window is few packets and soon acknowledged: there half of it tells.
 */
static bool is_overflow(const struct dlcp_cong *c, const struct dflt *d, u64 min)
{
	u64 since = d->round.acked + d->round.lost;

	if (min < LONG_PATH)
		return since >= d->win / 2 &&
		       dlcp_dflt_is_burst(c, d, d->round.lost, LOSS_BURST);
	since -= (u64)d->before << 10;
	return d->round.lost >= START_BURST * (u64)c->mss &&
	       since >= d->win / START_ACKS &&
	       dflt_share(d->round.lost, since) > LOSS_BURST;
}

/*
 * Slow start does not wait for the end of the round: it would add a window
 * to the queue meanwhile. A single loss without a queue is not its end: at
 * 3 % random loss every fourth connection would end it in the first round.
 */
static bool start_is_over(const struct dlcp_cong *c, const struct dflt *d,
			  const struct dlcp_rtt *r,
			  const struct dlcp_cong_sample *s)
{
	if (has_marks(c, d, r->min))
		return true;
	/* What was lost while others waited met a full queue, however short */
	if (has_waited(r, s, d->round.lost ? QUIET_DIV : START_WAIT_DIV))
		return true;
	if (!d->round.lost)
		return false;
	return !dlcp_dflt_is_empty(c, d, r) || is_overflow(c, d, r->min);
}

/*
 * Where only acknowledgments were lost, the first one that comes through names
 * nearly all that was sent: then the timeouts tell of no congestion.
 */
static void undo_timeouts(struct dlcp_cong *c, const struct dlcp_cong_sample *s)
{
	struct dflt *d = dflt_priv(c);

	if (dflt_share(s->lost, s->acked + s->lost) <= LOSS_BURST)
		undo_cut(d);
	undo_forget(d);
}

/*
 * A larger grant is as much as the receiver's link has to give; the sender's
 * own may have less. So the window that followed it is cut at the first packet
 * that waited to what recent rounds brought; who sent little all the time keeps
 * the initial window.
 */
static void try_grant(struct dlcp_cong *c, struct dflt *d,
		      const struct dlcp_rtt *r,
		      const struct dlcp_cong_sample *s, bool over)
{
	u64 win = dlcp_dflt_arriving(c, d, r->min + dlcp_dflt_excess(r));

	d->trial -= over;
	if (!has_waited(r, s, START_WAIT_DIV))
		return;
	d->trial = 0;
	win = max_t(u64, win, (u64)WIN_INIT * c->mss);
	if (win >= d->win)
		return;
	/* That answers the queue that is there */
	d->cut = dflt_share(d->win - win, d->win);
	d->step = 0;
	dlcp_dflt_set(c, win);
}

static void dflt_ack(struct dlcp_cong *c, const struct dlcp_rtt *r,
		     const struct dlcp_cong_sample *s)
{
	struct dflt *d = dflt_priv(c);
	bool over = dlcp_cong_round_add(c, &d->round, s);
	bool first;

	d->srtt = r->srtt;
	d->back = r->back;
	if (over)
		d->rtt = (u32)min_t(u64, d->round.min_rtt, U32_MAX);
	d->idle = s->app_limited;
	if (d->undo_lost)
		undo_lost(c, d, s->spurious);
	else if (d->undo && !d->undo_queue)
		undo_timeouts(c, s);
	/* Nothing of the round was lost until now */
	if (d->round.lost == s->lost)
		d->before = to_kib(d->round.acked - s->acked);
	first = d->start && start_is_over(c, d, r, s);
	if (first) {
		d->start = 0;
		/* RFC 8257: the first marks count in full */
		if (d->round.ce)
			d->alpha = ONE;
		/* The queue as it is now, after a round of growth */
		d->round.min_rtt = max(d->round.min_rtt, s->rtt);
	} else if (d->start && dlcp_dflt_limited(c, d)) {
		dlcp_dflt_set(c, d->win + s->acked);
	}
	if ((over || first) && !s->app_limited)
		d->bw = max(to_kib(c->delivery_rate), d->bw - d->bw / 8);
	if (d->trial)
		try_grant(c, d, r, s, over);
	if (!over && !first)
		dlcp_dflt_set(c, d->win);
	else if (dlcp_dflt_is_competing(c, d, r, s->now))
		dlcp_dflt_compete_round(c, d, r, s);
	else
		dflt_round(c, r, s, first);
}

/*
 * The first probe asks whether only the last packets were lost; a second one
 * in a row means that nothing gets through. Before there is a sample it means
 * only that the path is longer than was thought (RFC 9002, 7.6.1).
 */
static void dflt_timeout(struct dlcp_cong *c, u64 now, u32 nth)
{
	struct dflt *d = dflt_priv(c);
	u64 floor = min_t(u64, d->win, (u64)CWND_MIN * c->mss);

	if (nth < 2 || !d->srtt)
		return;
	undo_note(d, d->start);
	d->undo_lost = 0;
	d->undo_queue = 0;
	d->start = 0;
	dlcp_dflt_set(c, max(d->win / 2, floor));
}

/*
 * Training sends the same burst each step, over the same links, against the
 * same neighbours: what the last burst got is a better guess for the next one
 * than ten segments are. The distance to that, and a quarter to grow by, is
 * halved per millisecond (or 8 round trips) of silence; a window below it
 * stays.
 */
static void dflt_restart(struct dlcp_cong *c, u64 now, u64 idle)
{
	struct dflt *d = dflt_priv(c);
	u64 step = max_t(u64, 8 * d->srtt, NSEC_PER_MSEC);
	u64 n = min_t(u64, div64_u64(idle, step), 63);
	u64 got;

	d->drain = 0;
	d->drained = 0;
	if (d->judge) {
		d->judge = 0;
		d->trial_win = 0;
	}
	d->judged = 0;
	/* An idle queue is no news of the path: the round starts afresh */
	d->round.min_rtt = 0;
	d->round.inflight = 0;

	got = mul_u64_u32_div((u64)d->bw << 10,
			      (u32)min_t(u64, d->srtt, NSEC_PER_SEC),
			      NSEC_PER_SEC);
	got = max_t(u64, got + got / 4, (u64)WIN_INIT * c->mss);
	if (n && d->win > got)
		dlcp_dflt_set(c, got + ((d->win - got) >> n));
	else
		dlcp_dflt_set(c, d->win);
}

/*
 * Who uses most of its grant uses as much of the next one: it is the receiver's
 * link that limits, and others have come or gone. Who uses less is held back
 * elsewhere, and goes on from what it found there.
 */
static void dflt_granted(struct dlcp_cong *c, u64 before)
{
	struct dflt *d = dflt_priv(c);
	u64 full = dlcp_dflt_full_window(c, d, before);
	u64 win = d->win;

	if (before && c->grant && win > full / 2) {
		win = dlcp_dflt_full_window(c, d, c->grant) *
		      dflt_share(win, full) / ONE;
		if (win > d->win)
			d->trial = GRANT_TRIAL;
	}
	dlcp_dflt_set(c, win);
}

const struct dlcp_cong_ops dlcp_cong_default = {
	.name		= "dlcp",
	.init		= dflt_init,
	.ack		= dflt_ack,
	.timeout	= dflt_timeout,
	.restart	= dflt_restart,
	.granted	= dflt_granted,
};
