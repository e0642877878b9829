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
 *   until a trial at half the rate tells whose doing it is (judge_loss()). What
 *   is left there is put back, too. If nothing is left, a policer or a short
 *   queue loses what is too much, and loss counts from the first per cent on.
 * - Where the queue stands all the same for 20 ms, and the window became small
 *   by it, others fill it: then it competes with them as they do, until looks
 *   without its own part of the queue find it empty (compete_round()).
 * - What was lost, marked or delayed in the round after a cut left before it,
 *   and is not answered again (the recovery period of RFC 9002).
 *
 * With many senders the fair window is less than a packet. The window may
 * therefore become a fraction of a segment; cwnd stays at 2 segments and the
 * rate alone follows it further down (as in Swift).
 *
 * Shares are in 1/1024, times in ns, sizes in bytes.
 */
#include "cong.h"
#include "pace.h"

#define ONE		1024

/* Initial window, segments (RFC 6928) and the time in which to send it while
 * no round trip is known: the round trip of a busy rack. At 1500 bytes this
 * is 1.2 Gbit/s: no burst for a 32-packet queue, and the first sample, one
 * round trip later, corrects it.
 */
#define WIN_INIT	10
#define FIRST_TIME	(100 * NSEC_PER_USEC)

/* The smallest window is a packet in 16 round trips: 1000 senders share
 * 10 Gbit/s over 75 us. The largest is 16 GiB.
 */
#define WIN_MIN_DIV	16
#define WIN_MAX		BIT_ULL(34)
#define CWND_MIN	2

/* Pacing gain, percent of window / round trip: enough to double in slow start,
 * then just enough for the window and not the rate to limit.
 */
#define GAIN_START	125
#define GAIN		105

/* Percent of the window a grant takes: who is granted a rate is held by it and
 * not by the window, and a cut or two need not slow it down.
 */
#define GRANT_ROOM	125
/* Rounds in which a window that has followed a larger grant is on trial */
#define GRANT_TRIAL	2
/* Marks that many paced senders make by chance, where they begin at four
 * packets. A core link that is full marks all.
 */
#define MARKS_OK	(ONE * 3 / 4)

/* Queueing delay to accept: 25 us is 20 packets at 10 Gbit/s, less is noise of
 * hosts; on long paths half the round trip, as deep as buffers are there; on
 * noisy hosts twice the deviation, or the mean difference of two packets in a
 * row: the deviation is that of four, which are alike now and then by chance.
 */
#define EXCESS_MIN	(25 * NSEC_PER_USEC)
#define DELAY_CUT_MAX	(ONE * 3 / 10)
#define DELAY_SAMPLES	8		/* packets that must agree on it */

/* A path as long as this is no rack: either far, or slow, or noisy. There the
 * initial window is harmless (RFC 6928), and delay alone, which may be jitter,
 * or a packet's own time on a slow link, takes nobody below it.
 */
#define LONG_PATH	((u64)NSEC_PER_MSEC)

#define ALPHA_SHIFT	4		/* RFC 8257: g = 1/16 */
#define ALPHA_FEW	(ONE / 32)	/* less: nobody marks here */
#define LOSS_SHIFT	4
#define LOSS_OK		(ONE * 4 / 100)	/* smoothed: put back, */
#define LOSS_OK_MAX	(ONE / 4)	/* and when shown not to be ours: */
#define QUIET_DIV	32		/* with less delay than 1 / 32 of it */
#define LOSS_BURST	(ONE / 8)	/* of one round: congestion */
#define FORGIVEN_DIV	4

/* Packets that show what share is lost; fewer tell of chance. A suspicion ends
 * in a trial once the window is half of what it was, or after so many rounds.
 * A trial ends with so many packets lost, sent, or so many rounds.
 */
#define TRIAL_SEGS	64
#define TRIAL_ROUNDS	24
#define TRIAL_LOST	8
#define TRIAL_SENT	256

/* What is put back of losses that are ours, growing by 1 / 1024 per so many
 * rounds, as networks change; and what a round that loses more than twice that
 * takes, with the part of the window a step is at most. So much room BBR leaves
 * (draft-ietf-ccwg-bbr, BBRHeadroom), and the news of a step come two late.
 */
#define LOSS_OURS	(ONE / 100)
#define OURS_AGES	8
#define OURS_CUT	(ONE * 15 / 100)
#define OURS_STEP_DIV	16
#define STEP_DIV	4

/* Windows of fewer segments are shares of many */
#define MANY_SEGS	8
#define PEAK_SHIFT	8
#define PEAK_DIV	4	/* most of it: all but a fifth */

/* The first step: with 64 senders two packets in all */
#define STEP_MIN_DIV	32

/* Who comes to a standing queue takes it for a part of the path and fills it
 * further, while those who know better give way. So for one round in so many
 * half the window is held back: it shows who holds the most what the path is
 * without it. If it showed nothing new, the next one is twice as far away. A
 * lone sender loses a round in the first 64 and little later.
 */
#define DRAIN_FIRST	64
#define DRAIN_LAST	1024

/* A queue that is hardly ever found empty in this time, though we gave way to
 * it, may be kept by others than our like: many of those at one receiver are
 * granted rates before. Rounds that found it empty count so many times. If it
 * was our like all the same, the next time is twice as long, up to 1.3 s.
 */
#define STAND_TIME	(20 * NSEC_PER_MSEC)
#define STAND_EMPTY	8
#define STAND_SHIFT	6
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
 * first, no more than the second time), is others'. They have gone if so many
 * looks in a row find none. Who found some so often was right to compete.
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

struct dflt {
	struct dlcp_cong_round round;
	u64	win;		/* bytes; cwnd and rate follow from it */
	u64	peak;		/* largest win of some hundred rounds */
	u64	step;		/* bytes to grow by in a round */
	u64	srtt;
	u32	bw;		/* KiB per second: best of recent rounds */
	u32	rtt;		/* ns: least of the last round, 0 = unknown */
	u32	loss;		/* smoothed share << LOSS_SHIFT */
	u32	loss_ok;	/* share that is put back */
	u32	stand;		/* ns the queue stands */
	u32	seen;		/* packets of rounds in a row with a queue */
	u64	trial_win;	/* when judge_loss() began to watch, or what
				 * is sent meanwhile; 0 = it does not. While
				 * competing: to catch up to
				 */
	u64	trial_lost;	/* bytes since */
	u64	trial_sent;
	u64	min;		/* minimum before the last drain */
	u64	judged;		/* ns: end of the last round */
	u32	queue;		/* ns, of the last round; while competing */
	u32	back;		/* ns, mean: what ACKs wait on their way */
	u64	undo;		/* win before probe timeouts in a row cut it;
				 * 0 = they did not
				 */
	u16	alpha;		/* smoothed share of marked packets */
	u16	trial_loss;	/* share that began it */
	u16	cut;		/* what the last round was answered with */
	u16	rounds;		/* since the last drain */
	u16	period;		/* rounds until the next one */
	u8	compete;	/* others fill the queue: do as they do */
	u8	looks;		/* that found them, */
	u8	looks_none;	/* and in a row, that did not */
	u8	alarms;		/* false ones in a row */
	u8	start:1;	/* slow start */
	u8	undo_start:1;	/* so it was at undo */
	u8	lossy:1;	/* the last round lost more than is put back */
	u8	idle:1;		/* the round did not use the window */
	u8	trial_left;	/* rounds that judge_loss() has left */
	u8	judge:2;	/* half the rate: 1 = what is lost counts */
	u8	trial:2;	/* rounds the larger grant's is on trial */
	u8	drain;		/* half the window is held back */
	u8	drained;	/* so it was in the last round. While competing:
				 * rounds left in which all give way
				 */
};

static struct dflt *dflt_priv(struct dlcp_cong *c)
{
	BUILD_BUG_ON(sizeof(struct dflt) > sizeof(c->priv));
	return (struct dflt *)c->priv;
}

/* Window that uses the grant in full, and a little to spare */
static u64 full_window(const struct dlcp_cong *c, const struct dflt *d,
		       u64 grant)
{
	u32 rtt = d->srtt ? (u32)min_t(u64, d->srtt, U32_MAX) : FIRST_TIME;

	return mul_u64_u32_div(min_t(u64, grant, BIT_ULL(40)), rtt,
			       NSEC_PER_SEC) * GRANT_ROOM / 100;
}

/* What of the window is not in the queue */
static u64 without_queue(const struct dflt *d)
{
	u32 srtt = (u32)min_t(u64, d->srtt, U32_MAX);

	return d->min < srtt ? mul_u64_u32_div(d->win, (u32)d->min, srtt) :
			       d->win;
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

static void dflt_set(struct dlcp_cong *c, u64 win)
{
	struct dflt *d = dflt_priv(c);
	u64 use;

	if (c->grant)
		win = min(win, full_window(c, d, c->grant));
	d->win = clamp_t(u64, win, max_t(u64, c->mss / WIN_MIN_DIV, 1),
			 WIN_MAX);
	use = d->win;
	if (d->judge)
		use = min(use, d->trial_win);
	if (d->drain)
		use = d->compete ? without_queue(d) : d->win / 2;
	/* A granted rate is kept by pacing; ACKs may be late */
	c->cwnd = max_t(u64, (c->grant ? 2 * use : use) + named_late(c, d),
			(u64)(c->grant ? 2 : 1) * CWND_MIN * c->mss);
	if (d->srtt)
		c->rate = dlcp_cong_rate(c, use, pace_time(c, d),
					 d->start ? GAIN_START : GAIN);
	else
		c->rate = dlcp_cong_rate(c, use, FIRST_TIME, 100);
}

static void dflt_init(struct dlcp_cong *c, u64 now)
{
	struct dflt *d = dflt_priv(c);

	d->start = 1;
	d->loss_ok = LOSS_OK;
	d->period = DRAIN_FIRST;
	dflt_set(c, (u64)WIN_INIT * c->mss);
}

/* @part of @whole, both below 2^54 */
static u32 share(u64 part, u64 whole)
{
	return whole ? (u32)div64_u64(min(part, whole) * ONE, whole) : 0;
}

static u64 excess_of(const struct dlcp_rtt *r)
{
	return max3((u64)EXCESS_MIN, r->min / 2,
		    2 * max(r->var, dlcp_rtt_jitter(r)));
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

/*
 * What stood in the queue all through the round, and the sender's own: packets
 * leave in batches of one pacing quantum and are acknowledged in batches. Where
 * each takes its own time the quickest of a round is slower than the quickest
 * of all, and the fewer there are the more.
 */
static u64 delay_of(const struct dflt *d, const struct dlcp_rtt *r)
{
	u64 noise = dlcp_rtt_noise(r);
	u64 base = r->min + noise;

	if (d->round.packets < DELAY_SAMPLES)
		base += noise;
	return d->round.min_rtt > base ? d->round.min_rtt - base : 0;
}

static u64 queue_of(const struct dflt *d, const struct dlcp_rtt *r)
{
	u64 delay = delay_of(d, r);

	return delay > DLCP_PACE_QUANTUM ? delay - DLCP_PACE_QUANTUM : 0;
}

/*
 * Who has a small window shares the link with many, and there loss is rather
 * their doing than the link's: leniency grows with the window.
 */
static u32 leniency(const struct dlcp_cong *c, const struct dflt *d)
{
	return share(d->peak, d->peak + (u64)MANY_SEGS * c->mss);
}

/* Next to no queue. Here a small sender, of small batches, is stricter */
static bool is_empty(const struct dlcp_cong *c, const struct dflt *d,
		     const struct dlcp_rtt *r)
{
	u64 noise = 0;

	/* On a short path it is rather our own queue that moves */
	if (r->min >= LONG_PATH && 2 * r->var > EXCESS_MIN)
		noise = 2 * r->var - EXCESS_MIN;
	return delay_of(d, r) < max(excess_of(r) / 4, noise) +
				DLCP_PACE_QUANTUM * leniency(c, d) / ONE;
}

static u32 cut_by_delay(const struct dlcp_cong_round *round, u64 queue,
			u64 excess, u32 most)
{
	if (queue <= excess)
		return 0;
	return min_t(u32, share(queue, round->min_rtt), most);
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

/* What the losses of the round are a share of: who did not use the window
 * must not lose half of it with one packet of two.
 */
static u64 round_bytes(const struct dflt *d)
{
	u64 sent = d->round.acked + d->round.lost;

	return d->idle ? max(sent, d->win) : sent;
}

/* Bytes lost in the round, as far as they count */
static u64 round_lost(const struct dlcp_cong *c, const struct dflt *d,
		      bool empty)
{
	u64 forgiven = min(d->round.forgiven, d->round.lost);
	u64 lost = d->round.lost;

	forgiven -= forgiven / FORGIVEN_DIV;
	if (empty)
		lost -= div_u64(forgiven * leniency(c, d), ONE);
	return lost;
}

/* More lost than chance takes: at 3 % two of eight are one time in 45 */
static bool is_burst(const struct dlcp_cong *c, const struct dflt *d,
		     u64 lost, u32 limit)
{
	limit += 2 * (d->loss_ok - LOSS_OK);
	return lost > c->mss && share(lost, round_bytes(d)) > limit;
}

/*
 * Whether the window may grow: a window that was not used says nothing about
 * the path (RFC 9002, 7.8). Half of it must have been in flight (RFC 7661, 4.1)
 * to double in slow start, or to come back to what it was. More than it ever
 * was needs nearly all of it.
 */
static bool limited(const struct dlcp_cong *c, const struct dflt *d)
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

/* Loss was found to be ours, and two packets of a round are no chance */
static bool is_policed(const struct dlcp_cong *c, const struct dflt *d,
		       u64 lost)
{
	return d->loss_ok < LOSS_OK && lost > c->mss &&
	       share(lost, round_bytes(d)) > 2 * d->loss_ok;
}

/* Half of what arrives of a window */
static u64 half_of_arriving(const struct dlcp_cong *c, const struct dflt *d)
{
	u64 bw = max(c->delivery_rate, (u64)d->bw << 10);
	u64 win = mul_u64_u32_div(min_t(u64, bw, BIT_ULL(40)),
				  (u32)min_t(u64, d->srtt, NSEC_PER_SEC),
				  NSEC_PER_SEC);

	return clamp_t(u64, win / 2, d->win / 4, d->win / 2);
}

/* If a quarter of the loss is left at half the rate, or the packets were too few,
 * it is the link's own. More than LOSS_OK_MAX is not put back: of such a loss,
 * half must be left.
 */
static void judge_end(const struct dlcp_cong *c, struct dflt *d)
{
	bool few = d->trial_sent < TRIAL_SENT / 2 * (u64)c->mss &&
		   d->trial_lost < TRIAL_LOST * (u64)c->mss;
	u32 loss = few ? d->trial_loss : share(d->trial_lost, d->trial_sent);
	u32 part = d->trial_loss > LOSS_OK_MAX ? 2 : 4;
	bool ours = loss < d->trial_loss / part;

	if (loss > LOSS_OK_MAX)
		d->win = min(d->win, d->trial_win);
	else if (ours)
		d->win = min(d->win, 2 * d->trial_win);
	if (loss <= LOSS_OK_MAX)
		d->loss_ok = clamp_t(u32, loss + loss / 4,
				     ours ? LOSS_OURS : LOSS_OK, LOSS_OK_MAX);
	d->loss = min(d->loss, d->loss_ok << LOSS_SHIFT);
	d->step = 0;
	d->trial_win = 0;
	d->judge = 0;
}

static void judge_begin(struct dflt *d, u64 win, u8 judge)
{
	d->trial_win = win;
	d->trial_lost = 0;
	d->trial_sent = 0;
	d->trial_left = TRIAL_ROUNDS;
	d->judge = judge;
}

/* A round with half the rate; two that began before do not count */
static void judge_round(const struct dlcp_cong *c, struct dflt *d, u64 lost)
{
	if (d->judge > 1) {
		d->judge--;
		return;
	}
	d->trial_lost += lost;
	d->trial_sent += round_bytes(d);
	if (!--d->trial_left || d->trial_lost >= TRIAL_LOST * (u64)c->mss ||
	    d->trial_sent >= TRIAL_SENT * (u64)c->mss)
		judge_end(c, d);
}

/*
 * More is lost than is put back, for long, or although the window is half of
 * what it was. Where packets take their own time nothing better can be told;
 * and one of many hides by its window what the others do.
 */
static void judge_suspect(const struct dlcp_cong *c, struct dflt *d,
			  const struct dlcp_rtt *r, u32 loss)
{
	if (dlcp_rtt_noise(r) > r->min / QUIET_DIV ||
	    d->win < MANY_SEGS * (u64)c->mss) {
		d->loss_ok = min_t(u32, loss + loss / 4, LOSS_OK_MAX);
		d->trial_win = 0;
		return;
	}
	d->trial_loss = (u16)loss;
	judge_begin(d, half_of_arriving(c, d), 3);
}

/*
 * Loss that does not fall with the rate is not made by it. A link that loses by
 * itself takes a share of whatever is sent; a policer or a short queue takes so
 * much and no more. So when more is lost than is put back, for some rounds half
 * of what arrives is sent, and what is lost of that is put back from then on.
 * But one of many, who fill a shallow buffer together, cannot change their loss
 * either: hence not with any queue to be seen at all, nor where the receiver
 * knows of many. Return: whether only half is sent, and loss is no news.
 */
static bool judge_loss(const struct dlcp_cong *c, struct dflt *d,
		       const struct dlcp_rtt *r, u64 lost)
{
	u32 least = max_t(u32, d->loss_ok, LOSS_OK);
	u32 loss = d->loss >> LOSS_SHIFT;

	if (loss < d->loss_ok / 2 && d->loss_ok > LOSS_OK)
		d->loss_ok--;
	else if (d->loss_ok < LOSS_OK && !(d->rounds % OURS_AGES))
		d->loss_ok++;
	if (c->grant || delay_of(d, r) > r->min / QUIET_DIV) {
		judge_begin(d, 0, 0);
		return false;
	}
	if (d->judge) {
		judge_round(c, d, lost);
		return true;
	}
	if (!d->trial_win) {
		if (d->win < CWND_MIN * (u64)c->mss ||
		    share(lost, round_bytes(d)) <= least)
			return false;
		judge_begin(d, d->win, 0);
	}
	d->trial_lost += lost;
	d->trial_sent += round_bytes(d);
	if (d->trial_left)
		d->trial_left--;
	loss = share(d->trial_lost, d->trial_sent);
	if (loss <= least)
		d->trial_win = 0;
	else if ((d->win <= d->trial_win / 2 || !d->trial_left) &&
		 d->trial_sent >= TRIAL_SEGS * (u64)c->mss)
		judge_suspect(c, d, r, loss);
	return d->judge;
}

/*
 * The step by which a round grows the window: the same for large and small
 * windows, starting from almost nothing after each cut and growing by half
 * each round without a queue. All who share a queue see it at about the same
 * time and start over together, so their steps are alike, which makes unequal
 * windows equal; and the sum of the steps finds its measure whether there are
 * two senders or two hundred.
 */
static void set_step(struct dlcp_cong *c, struct dflt *d, bool cut, bool empty,
		     u64 lost)
{
	u64 least = max_t(u64, c->mss / STEP_MIN_DIV, 1);

	if (cut)
		d->step = least;
	else if (d->loss >> LOSS_SHIFT > d->loss_ok + d->loss_ok / 2 ||
		 is_burst(c, d, lost, LOSS_BURST / 2))
		d->step -= d->step / 2;
	else if (empty)
		d->step += d->step / 2 + 1;
	d->step = clamp(d->step, least,
			max(d->win / (d->loss_ok < LOSS_OK ? OURS_STEP_DIV :
				      STEP_DIV), least));
}

/* What the link takes by itself is put back, whatever the sender had to send:
 * it was taken off likewise
 */
static u64 put_back(const struct dlcp_cong *c, const struct dflt *d)
{
	u32 loss = min(d->loss >> LOSS_SHIFT, d->loss_ok);

	return div_u64(d->win * (loss * leniency(c, d) / ONE), ONE);
}

/* Bytes to add for a round */
static u64 growth(const struct dlcp_cong *c, const struct dflt *d, bool empty)
{
	u64 grow = limited(c, d) ? d->step : 0;

	/* Below a segment a round takes several round trips */
	if (d->win < c->mss)
		grow = div64_u64(grow * c->mss, d->win);
	return empty ? grow + put_back(c, d) : grow / 4;
}

static void smooth(struct dflt *d, u32 lost)
{
	u32 ce = share(d->round.ce, d->round.packets);

	/* Rounded up, else a small alpha would never move */
	if (ce > d->alpha)
		d->alpha += (ce - d->alpha + (1 << ALPHA_SHIFT) - 1) >>
			    ALPHA_SHIFT;
	else
		d->alpha -= (d->alpha - ce + (1 << ALPHA_SHIFT) - 1) >>
			    ALPHA_SHIFT;
	d->loss += lost - (d->loss >> LOSS_SHIFT);
}

/* After a round in which half the window was held back: did it show more? */
static void set_drain(struct dflt *d, const struct dlcp_rtt *r)
{
	if (d->drain) {
		d->drain = 0;
		/* One round more until its effect is seen */
		d->drained = 1;
		return;
	}
	if (d->drained) {
		d->drained = 0;
		d->rounds = 0;
		if (r->min + excess_of(r) / 8 < d->min)
			d->period = DRAIN_FIRST;
		else
			d->period = min_t(u32, 2 * d->period, DRAIN_LAST);
	}
	d->min = r->min;
	d->drain = ++d->rounds >= d->period;
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

/* The delay a sender gives way to is twice that */
static bool is_standing(const struct dflt *d, const struct dlcp_rtt *r)
{
	return delay_of(d, r) > max_t(u64, EXCESS_MIN, r->min / 2) / 2;
}

/*
 * Who answers to delay leaves a link to those who fill its queue until it
 * drops. Return: whether that seems to be so, and little is left to us. The
 * queue that stands while we have much is our own: it does not count.
 */
static bool is_starved(const struct dlcp_cong *c, struct dflt *d,
		       const struct dlcp_rtt *r, u64 now)
{
	u64 time = d->judged ? min_t(u64, now - d->judged, NSEC_PER_MSEC) : 0;
	bool little = d->win <= max(d->peak / 4, MANY_SEGS * (u64)c->mss);
	u32 most = STAND_TIME << d->alarms;

	d->judged = now;
	/* Marks hold a queue at their threshold, whoever fills it */
	if (c->grant || d->start || d->alpha > ALPHA_FEW)
		d->stand = 0;
	else if (!is_standing(d, r))
		d->stand -= min_t(u64, d->stand, STAND_EMPTY * time);
	else if (little)
		d->stand = min_t(u64, d->stand + time, most);
	return d->stand == most && little;
}

static bool is_competing(const struct dlcp_cong *c, struct dflt *d,
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
static void look(struct dflt *d, const struct dlcp_rtt *r)
{
	u64 left = delay_of(d, r);
	u64 queue = d->queue;

	if (--d->drain)
		return;
	d->rounds = 0;
	d->queue = 0;
	d->trial_win = 0;
	if (left > clamp_t(u64, queue * LOOK_LEFT / 100, LOOK_LEAST,
			   LOOK_EMPTY)) {
		d->looks = min(d->looks + 1, LOOKS_RIGHT);
		d->looks_none = 0;
		if (d->looks == LOOKS_RIGHT)
			d->trial_win = theirs(d, left, queue) / 2;
		return;
	}
	if (++d->looks_none < LOOKS_NONE)
		return;
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
static void compete_round(struct dlcp_cong *c, struct dflt *d,
			  const struct dlcp_rtt *r,
			  const struct dlcp_cong_sample *s)
{
	u32 loss = share(d->round.lost, round_bytes(d));
	bool lost = loss > (is_standing(d, r) ? 0 : d->loss_ok);
	u64 win = d->win;

	smooth(d, loss);
	c->queued = is_standing(d, r);
	if (d->drain) {
		look(d, r);
	} else {
		if (lost || d->round.ce)
			d->trial_win = 0;
		if (lost)
			win -= win / 2;
		else if (d->round.ce)
			win -= div_u64(win * d->alpha, 2 * ONE);
		else if (limited(c, d))
			win += max_t(u64, win < d->trial_win ?
				     win / CATCH_UP_DIV : 0, c->mss);
		look_out(c, d, delay_of(d, r), lost);
	}
	if (c->grant)
		d->compete = 0;
	d->min = r->min;
	d->peak = max(win, d->peak - (d->peak >> PEAK_SHIFT));
	dlcp_cong_round_next(&d->round, s);
	dflt_set(c, win);
}

/*
 * What a round that lost packets takes, beyond what delay and marks tell. A
 * burst that met a full queue is one piece of news, however much of it was
 * lost: it takes half (RFC 9002, 7.3.2) and leaves two packets (7.2). Only if
 * the next round loses as much the queue stands, and the window becomes what
 * arrived.
 */
static u64 loss_floor(const struct dlcp_cong *c, struct dflt *d, u32 loss)
{
	u64 floor = (u64)CWND_MIN * c->mss;
	bool again = d->lossy;

	d->lossy = loss > d->loss_ok;
	if (again || c->grant)
		return 0;
	return d->win > floor ? max(d->win / 2, floor) : d->win / 2;
}

/* The share lost in the round, as far as it is news; likewise *@lost, bytes */
static u32 loss_news(const struct dlcp_cong *c, struct dflt *d,
		     const struct dlcp_rtt *r, bool empty, u64 *lost)
{
	u32 loss = share(*lost, round_bytes(d));

	smooth(d, loss);
	if (is_chance(c, d, empty))
		return granted_loss(d);
	if (judge_loss(c, d, r, *lost)) {
		*lost = 0;
		return 0;
	}
	return is_policed(c, d, *lost) ? max_t(u32, loss, OURS_CUT) : loss;
}

static void dflt_round(struct dlcp_cong *c, const struct dlcp_rtt *r,
		       const struct dlcp_cong_sample *s, bool first)
{
	struct dflt *d = dflt_priv(c);
	u64 excess = excess_of(r);
	u64 queue = queue_of(d, r);
	bool empty = is_empty(c, d, r);
	u64 lost = round_lost(c, d, empty);
	u32 loss = loss_news(c, d, r, empty, &lost);
	u32 ecn = 0, delay = 0, cut;
	u64 init = (u64)WIN_INIT * c->mss;
	u64 floor = loss_floor(c, d, loss);
	u64 win = d->win;
	bool crowded;

	c->queued = queue > excess;
	if (d->cut) {
		/* No news but of loss beyond what was cut */
		cut = loss > d->cut ? loss - d->cut : 0;
		d->cut = 0;
	} else {
		delay = cut_by_delay(&d->round, queue,
				     scaled_excess(c, d, excess),
				     first ? ONE / 2 : DELAY_CUT_MAX);
		if (!first && !enough(d, delay))
			delay = 0;
		ecn = d->round.ce ? cut_by_marks(c, d) : 0;
		cut = max3(ecn, delay, loss);
		if (ecn || delay || is_burst(c, d, lost, LOSS_BURST) ||
		    is_policed(c, d, lost))
			d->cut = cut;
		crowded = !empty || (d->peak < MANY_SEGS * c->mss && !c->grant);
		set_step(c, d, d->cut || (lost && crowded), empty,
			 lost);
		if (!ecn && !delay && !d->start && !d->judge)
			win += growth(c, d, empty);
	}
	win -= div_u64(d->win * cut, ONE);
	if (cut == loss)
		win = max(win, floor);
	if (!ecn && win < init) {
		if (r->min >= LONG_PATH && !loss)
			win = min(d->win + c->mss, init);
		else if (d->idle && !delay)
			win = min(d->win, init);
	}

	if (!d->start)
		set_drain(d, r);
	d->peak = max(win, d->peak - (d->peak >> PEAK_SHIFT));
	dlcp_cong_round_next(&d->round, s);
	dflt_set(c, win);
}

/* One packet that stood in a queue */
static bool has_waited(const struct dlcp_rtt *r,
		       const struct dlcp_cong_sample *s)
{
	return s->rtt > r->min + 2 * dlcp_rtt_noise(r) + excess_of(r) +
			DLCP_PACE_QUANTUM;
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
	const struct dlcp_cong_round *round = &d->round;

	if (round->ce)
		return true;
	if (has_waited(r, s))
		return true;
	if (!round->lost)
		return false;
	return !is_empty(c, d, r) ||
	       (is_burst(c, d, round->lost, LOSS_BURST) &&
		round->acked + round->lost >= d->win / 2);
}

/*
 * Where only acknowledgments were lost, the first one that comes through names
 * nearly all that was sent: then the timeouts tell of no congestion.
 */
static void undo_timeouts(struct dlcp_cong *c, const struct dlcp_cong_sample *s)
{
	struct dflt *d = dflt_priv(c);

	if (share(s->lost, s->acked + s->lost) <= LOSS_BURST) {
		d->start = d->undo_start;
		dflt_set(c, max(d->undo, d->win));
	}
	d->undo = 0;
}

static u32 to_kib(u64 bytes)
{
	return (u32)min_t(u64, bytes >> 10, U32_MAX);
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
	u32 time = (u32)min_t(u64, r->min + excess_of(r), NSEC_PER_SEC);
	u64 bw = max(c->delivery_rate, (u64)d->bw << 10);
	u64 win = mul_u64_u32_div(bw, time, NSEC_PER_SEC);

	d->trial -= over;
	if (!has_waited(r, s))
		return;
	d->trial = 0;
	win = max_t(u64, win, (u64)WIN_INIT * c->mss);
	if (win >= d->win)
		return;
	/* That answers the queue that is there */
	d->cut = share(d->win - win, d->win);
	d->step = 0;
	dflt_set(c, win);
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
	if (d->undo)
		undo_timeouts(c, s);
	first = d->start && start_is_over(c, d, r, s);
	if (first) {
		d->start = 0;
		/* RFC 8257: the first marks count in full */
		if (d->round.ce)
			d->alpha = ONE;
		/* The queue as it is now, after a round of growth */
		d->round.min_rtt = max(d->round.min_rtt, s->rtt);
	} else if (d->start && limited(c, d)) {
		dflt_set(c, d->win + s->acked);
	}
	if ((over || first) && !s->app_limited)
		d->bw = max(to_kib(c->delivery_rate), d->bw - d->bw / 8);
	if (d->trial)
		try_grant(c, d, r, s, over);
	if (!over && !first)
		dflt_set(c, d->win);
	else if (is_competing(c, d, r, s->now))
		compete_round(c, d, r, s);
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
	if (!d->undo) {
		d->undo = d->win;
		d->undo_start = d->start;
	}
	d->start = 0;
	dflt_set(c, max(d->win / 2, floor));
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
		dflt_set(c, got + ((d->win - got) >> n));
	else
		dflt_set(c, d->win);
}

/*
 * Who uses most of its grant uses as much of the next one: it is the receiver's
 * link that limits, and others have come or gone. Who uses less is held back
 * elsewhere, and goes on from what it found there.
 */
static void dflt_granted(struct dlcp_cong *c, u64 before)
{
	struct dflt *d = dflt_priv(c);
	u64 full = full_window(c, d, before);
	u64 win = d->win;

	if (before && c->grant && win > full / 2) {
		win = full_window(c, d, c->grant) * share(win, full) / ONE;
		if (win > d->win)
			d->trial = GRANT_TRIAL;
	}
	dflt_set(c, win);
}

const struct dlcp_cong_ops dlcp_cong_default = {
	.name		= "dlcp",
	.init		= dflt_init,
	.ack		= dflt_ack,
	.timeout	= dflt_timeout,
	.restart	= dflt_restart,
	.granted	= dflt_granted,
};
