// SPDX-License-Identifier: GPL-2.0
#include "grant.h"

/* What is granted, per mille of the measured rate. 1 % is left for bursts to
 * drain.
 */
#define GAIN_CRUISE	990
/* The link may carry more than was ever asked of it. So more is granted for one
 * epoch now and then, and much more while that succeeds. At 10 Gbit/s 2.5 % of
 * an epoch are some 25 packets, which a queue of 32 holds: a probe costs almost
 * no packet.
 */
#define GAIN_PROBE	1025
#define GAIN_GROW	1250
#define PROBE_EVERY	64
/* The first measurement is taken while senders compete for the link. So the
 * first probes come soon, each after twice as many epochs as the last one, or
 * after eight times as many if it met no more rate for certain.
 */
#define PROBE_FIRST	2
#define PROBE_SURE	8
/* Packets that are lost on their way to the link leave it idle. If less arrives
 * than was granted, at most so much more is granted, per mille.
 */
#define EXTRA_MAX	25

/* The rate is measured over this time: long against a round trip of a rack, and
 * against the batches in which network cards deliver. What is granted comes a round
 * trip later: sooner, senders would seem to use little of it, all would be granted
 * more, and more came at once than fits. So an epoch is two round trips to the
 * nearest sender at least, and its best slice of that time tells the rate, as all of
 * it may have pauses. Nobody answers to a grant while there is none. Of two senders
 * 32 bits count what they bring in the longest at 500 Gbit/s.
 */
#define EPOCH		(2 * NSEC_PER_MSEC)
#define EPOCH_TRIPS	2
#define EPOCH_MAX	(128 * NSEC_PER_MSEC)
/* A burst that is over before its first epoch is one, too, if it lasted for so long,
 * which is ten round trips of a rack. Its best slice of as long tells the rate: at its
 * end the last senders wait for what they lost, and the link for them. A rate is of no
 * use to senders of a few packets, who would but wait for their clocks.
 */
#define BURST_MIN	(EPOCH / 4)
#define BURST_EACH	(4 * PACKET)
/* The best of one to two windows counts, in epochs that used the link */
#define WINDOW		512
/* Bytes a lost packet is thought to have had */
#define PACKET		1500

/* An epoch of fewer packets tells nothing: on 10 Gbit/s that is 4 % of it */
#define EPOCH_MIN	(64 * PACKET)
/* More is lost or marked than links lose at random: one packet in 32 */
#define BAD_DIV		32
/* Losses count if at least two senders have them, and one active sender in
 * four: those of fewer happen elsewhere, or the packets never were sent. Each
 * sender's losses count up to a quarter of what it brought.
 */
#define LOSERS		2
#define LOSERS_DIV	4
#define BELIEVED_DIV	4
/* A deep queue loses almost nothing, so senders say that they see a queue.
 * Those that it starves see it first, and send few packets. A single sender may
 * share the queue with other protocols.
 */
#define QUEUED_SENDERS	2
/* The link is full after three congested epochs in which the rate did not grow
 * by an eighth
 */
#define STABLE		3

/* A sender that stops leaves its share to the others. But senders that are
 * started together do not start at the same instant. So the number of shares
 * begins with all senders of the last second, and falls by half in a round trip
 * of a rack.
 */
#define FALL		(64 * NSEC_PER_USEC)
#define REMEMBER	((u64)NSEC_PER_SEC)

/* The most urgent class gets eight parts of the link, and all others together
 * one: none starves, and those that wait soon learn that the link is free.
 * Within the class a sender gets one part if it has more than four times the
 * least remaining bytes, and else four. Messages with less than 64 KB left
 * count as equal.
 */
#define URGENT		8
#define SHORTER		4
#define LONGER		4
#define LEFT_MIN	(64ULL << 10)
/* Senders with about as much left as the mean of their class, within a half,
 * are to end together. One with more left gets more of the link in proportion,
 * at most a quarter. A round lasts until the last one ends, and senders that
 * had more losses must not be alone then.
 */
#define EVEN_SPAN	2		/* 1 / 2 */
#define EVEN_MOST	4		/* 1 / 4 */

/* Classes may change with each packet, and each change costs a look at all
 * senders. An epoch has at most so many looks: two changes of each of 64
 * senders. More wait for its end. (With thousands of senders that is a few per
 * cent of a processor.)
 */
#define LOOKS_MAX	8192

/* A sender whose part changed is believed to use it. One that twice in 64
 * epochs used less than half of it only takes it from the others, by changing
 * its class all the time. It is not believed for 255 epochs.
 */
#define WASTED		64
#define DOUBT		255

void dlcp_grant_init(struct dlcp_grant *g)
{
	memset(g, 0, sizeof(*g));
	g->least = U64_MAX;
	g->urgent = DLCP_GRANT_ONE;
	INIT_LIST_HEAD(&g->busy);
	INIT_LIST_HEAD(&g->idle);
	g->gain = GAIN_CRUISE;
}

static u64 grant_epoch_time(const struct dlcp_grant *g)
{
	u64 trips = EPOCH_TRIPS * min_t(u64, g->rtt, EPOCH_MAX);

	return g->rtt && g->rate ? clamp_t(u64, trips, EPOCH, EPOCH_MAX) : EPOCH;
}

void dlcp_grant_rtt(struct dlcp_grant *g, u64 rtt)
{
	if (!g->rtt || (rtt && rtt < g->rtt))
		g->rtt = rtt;
}

/* Bytes per second of one share */
static u64 grant_share(const struct dlcp_grant *g, u32 shares)
{
	u64 rate = min_t(u64, g->rate, BIT_ULL(40));

	return div_u64(div_u64(rate * (g->gain + g->extra), 1000) *
		       DLCP_GRANT_ONE, shares);
}

/* Add what a share brought since this was done last */
static void grant_count(struct dlcp_grant *g, u64 now)
{
	s64 time = min_t(s64, now - g->counted, 2 * grant_epoch_time(g));

	if (time <= 0)
		return;
	g->counted = now;
	g->fair += mul_u64_u32_div(grant_share(g, max(g->shares, 1U)),
				   (u32)time, NSEC_PER_SEC);
}

static void grant_shares(struct dlcp_grant *g, u64 now)
{
	u32 want = max_t(u32, g->weight, DLCP_GRANT_ONE);

	if (want == g->shares) {
		g->shares_time = now;
	} else if (want > g->shares) {
		grant_count(g, now);
		g->shares = want;
		g->shares_time = now;
	} else if ((s64)(now - g->shares_time) >= (s64)FALL) {
		grant_count(g, now);
		g->shares = max(want, g->shares / 2);
		g->shares_time = now;
	}
}

/* What it counts for in the division of the link */
static u32 grant_counts(const struct dlcp_grantee *e)
{
	return (u32)max_t(u64, (u64)e->weight * e->part / DLCP_GRANT_ONE, 1);
}

static u8 grant_top(const struct dlcp_grant *g)
{
	u8 prio = 0;

	while (prio < DLCP_PRIO_MAX && !g->nr_prio[prio])
		prio++;
	return prio;
}

static bool grant_longer(const struct dlcp_grant *g,
			 const struct dlcp_grantee *e)
{
	return e->left / LONGER > g->least;
}

/* Return: whether one of the class has much more left than another */
static bool grant_find_least(struct dlcp_grant *g, u8 top)
{
	struct dlcp_grantee *e;

	g->least = U64_MAX;
	g->mean = 0;
	list_for_each_entry(e, &g->busy, node) {
		if (e->prio != top)
			continue;
		g->least = min(g->least, max(e->left, LEFT_MIN));
		g->mean += min_t(u64, e->left, BIT_ULL(32));
	}
	if (g->nr_prio[top])
		g->mean = div_u64(g->mean, g->nr_prio[top]);
	list_for_each_entry(e, &g->busy, node)
		if (e->prio == top && grant_longer(g, e))
			return true;
	return false;
}

/* Parts of one of the most urgent class, where each of the others has one */
static u32 grant_urgent(const struct dlcp_grant *g, u8 top)
{
	u32 others = g->nr_busy - g->nr_prio[top];
	u64 parts;

	if (!others)
		return DLCP_GRANT_ONE;
	parts = div_u64((u64)URGENT * others * DLCP_GRANT_ONE, g->nr_prio[top]);
	return (u32)clamp_t(u64, parts, DLCP_GRANT_ONE, U32_MAX / SHORTER);
}

/* @raw parts, more or less, so that those who began together end together */
static u32 grant_even(const struct dlcp_grant *g, const struct dlcp_grantee *e,
		      u32 raw)
{
	u64 span = g->mean / EVEN_SPAN;
	u64 off = raw / EVEN_MOST;

	if (!g->mean || e->left + span < g->mean || e->left > g->mean + span)
		return raw;
	if (e->left > g->mean)
		return raw + (u32)min(off, div64_u64((e->left - g->mean) * raw,
						     g->mean));
	return raw - (u32)min(off, div64_u64((g->mean - e->left) * raw,
					     g->mean));
}

/*
 * Parts of @e where each of the others has one: not more than it can use in a
 * round trip, where each part brings @rate. It may wait for a few bytes that
 * were lost, and be of another class for each packet that comes meanwhile.
 */
static u32 grant_raw(const struct dlcp_grant *g, const struct dlcp_grantee *e,
		     bool some_longer, u64 rate)
{
	u32 raw = g->urgent;
	u64 most;

	if (e->prio != g->top)
		return DLCP_GRANT_ONE;
	if (some_longer && !grant_longer(g, e))
		raw *= SHORTER;
	else if (!some_longer)
		raw = grant_even(g, e, raw);
	if (!rate || e->left >= BIT_ULL(32))
		return raw;
	most = div64_u64(e->left * (NSEC_PER_SEC / FALL) * DLCP_GRANT_ONE, rate);
	return (u32)clamp_t(u64, most, min_t(u32, raw, DLCP_GRANT_ONE), raw);
}

/* Bytes @part would have brought since the epoch began */
static u32 grant_brings(const struct dlcp_grant *g, u32 part)
{
	return (u32)(g->fair * part / DLCP_GRANT_ONE);
}

/* What it used of another share says little of the new one, unless it told so
 * before: then it is taken to use as much as it did
 */
static void grant_believe(struct dlcp_grantee *e, u32 part)
{
	u64 same = div_u64((u64)e->weight * e->part, part);

	e->weight = DLCP_GRANT_ONE;
	if (e->doubt)
		e->weight = (u32)clamp_t(u64, same, 1, DLCP_GRANT_ONE);
}

static void grant_set_part(struct dlcp_grant *g, struct dlcp_grantee *e,
			   u32 part)
{
	u32 old = e->part;

	if (part / 2 > old || part < old / 2)
		grant_believe(e, part);
	if (part > old + old / 8 || part < old - old / 8)
		e->since = g->start + 1;
	e->due += grant_brings(g, old) - grant_brings(g, part);
	e->part = part;
}

/*
 * Divide the shares, of which there are as many as senders; equal senders have
 * one each. When the last sender of a class becomes as urgent as the rest, the
 * number of shares stays, and grant_shares() need not follow it.
 */
static void grant_divide(struct dlcp_grant *g)
{
	u64 parts = 0, rate;
	struct dlcp_grantee *e;
	bool some_longer;
	u32 raw;

	if (!g->nr_busy)
		return;
	g->top = grant_top(g);
	g->urgent = grant_urgent(g, g->top);
	some_longer = grant_find_least(g, g->top);
	rate = div_u64(min_t(u64, g->rate, BIT_ULL(40)), g->nr_busy);
	list_for_each_entry(e, &g->busy, node)
		parts += grant_raw(g, e, some_longer, rate);
	g->weight = 0;
	list_for_each_entry(e, &g->busy, node) {
		raw = grant_raw(g, e, some_longer, rate);
		grant_set_part(g, e, (u32)max_t(u64, div64_u64((u64)raw *
				g->nr_busy * DLCP_GRANT_ONE, parts), 1));
		e->enough = 0;
		if (raw > DLCP_GRANT_ONE)
			e->enough = div_u64(mul_u64_u32_div(rate, raw,
							    DLCP_GRANT_ONE),
					    2 * NSEC_PER_SEC / FALL);
		g->weight += grant_counts(e);
	}
}

/* Somebody came, went or changed its class */
static void grant_changed(struct dlcp_grant *g)
{
	u32 weight = g->weight;

	if (g->looks >= LOOKS_MAX)
		return;
	g->looks += g->nr_busy;
	grant_count(g, g->now);
	grant_divide(g);
	/* No sender left: those that use little have more parts now */
	if (g->weight < weight)
		g->shares = (u32)div_u64((u64)g->shares * g->weight, weight);
}

void dlcp_grant_rank(struct dlcp_grant *g, struct dlcp_grantee *e, u8 prio,
		     u64 left)
{
	u8 top = grant_top(g);
	u8 before = e->prio;

	e->left = left;
	e->prio = prio;
	if (e->state != DLCP_GRANT_BUSY)
		return;
	g->nr_prio[before]--;
	g->nr_prio[prio]++;
	/* Less is left than it could use of its part in a round trip */
	if (left < e->enough && prio == before) {
		grant_changed(g);
		return;
	}
	/* The order by length changes slowly and waits for the end of the
	 * epoch, unless a sender begins with a much shorter message
	 */
	if (prio != before ? prio <= top || before == top :
	    prio == top && left < g->least / LONGER && g->least > LEFT_MIN)
		grant_changed(g);
}

static void grant_remove(struct dlcp_grant *g, struct dlcp_grantee *e)
{
	if (e->state == DLCP_GRANT_BUSY) {
		g->nr_busy--;
		g->nr_prio[e->prio]--;
		g->weight -= grant_counts(e);
		grant_count(g, g->now);
		e->due += grant_brings(g, e->part);
		if (g->nr_busy == 1)
			g->shared += g->now - g->shared_since;
		/* An epoch without senders measures nothing */
		if (!g->nr_busy)
			g->start = 0;
	} else {
		g->nr_idle--;
	}
	list_del(&e->node);
	/* The link is for the next sender */
	if (e->state == DLCP_GRANT_BUSY && g->urgent != DLCP_GRANT_ONE)
		grant_changed(g);
	e->state = DLCP_GRANT_AWAY;
}

static void grant_begin_epoch(struct dlcp_grant *g, u64 now)
{
	struct dlcp_grantee *e;

	list_for_each_entry(e, &g->busy, node) {
		e->bytes = 0;
		e->bad = 0;
		e->due = 0;
	}
	g->start = now;
	g->counted = now;
	g->shared = 0;
	g->shared_since = now;
	g->fair = 0;
	g->bytes = 0;
	g->slice = now;
	g->slice_bytes = 0;
	g->slice_best = 0;
	g->queued = 0;
	g->looks = 0;
	g->rtt = 0;
}

static void grant_join(struct dlcp_grant *g, struct dlcp_grantee *e, u64 now)
{
	bool again = e->state == DLCP_GRANT_IDLE;

	if (again)
		grant_remove(g, e);
	if (!g->nr_busy++) {
		g->shares = (g->nr_idle + 1) * DLCP_GRANT_ONE;
		g->shares_time = now;
		g->burst = true;
		grant_begin_epoch(g, now);
	} else if (g->nr_busy == 2) {
		g->shared_since = now;
	}
	/* Short messages may come one by one */
	if (!again || e->since <= g->start) {
		e->bytes = 0;
		e->bad = 0;
		e->due = 0;
	}
	e->state = DLCP_GRANT_BUSY;
	e->since = now;
	grant_believe(e, DLCP_GRANT_ONE);
	e->part = DLCP_GRANT_ONE;
	grant_count(g, now);
	e->due -= grant_brings(g, e->part);
	e->enough = 0;
	g->weight += grant_counts(e);
	g->nr_prio[e->prio]++;
	list_add(&e->node, &g->busy);
	if (g->nr_prio[e->prio] != g->nr_busy)
		grant_changed(g);
}

/* It was to bring @due bytes if it uses all its parts */
static void grant_doubt(struct dlcp_grantee *e, u32 due)
{
	bool waste = e->bytes < (u64)due * e->weight / DLCP_GRANT_ONE / 2;

	if (e->doubt)
		e->doubt--;
	if (waste && e->wasted)
		e->doubt = DOUBT;
	if (waste)
		e->wasted = WASTED;
	else if (e->wasted)
		e->wasted--;
}

/*
 * A sender that uses less than its share, because it cannot send more or is
 * held back elsewhere, counts by what it uses, and a quarter more to grow by.
 * The others get the rest. The quarter does not count during a probe, or the
 * grants would not fill the link. If the link is @crowded, lost packets count
 * as sent: a sender with losses must not leave its share to those that caused
 * them.
 */
static void grant_weigh(struct dlcp_grant *g, bool crowded)
{
	u32 more = g->gain == GAIN_CRUISE ? 5 : 4;
	struct dlcp_grantee *e;
	u64 used;
	u32 due;

	list_for_each_entry(e, &g->busy, node) {
		due = e->due + grant_brings(g, e->part);
		if (!crowded)
			grant_doubt(e, due);
		used = e->bytes;
		if (crowded)
			used += (u64)e->bad * PACKET;
		used = div64_u64(used * DLCP_GRANT_ONE * more / 4,
				 (u64)due + 1);
		if (!g->fair)
			used = DLCP_GRANT_ONE;
		if (e->since <= g->start || e->doubt)
			e->weight = clamp_t(u64, used, 1, DLCP_GRANT_ONE);
	}
	grant_divide(g);
}

static void grant_forget(struct dlcp_grant *g, u64 now)
{
	struct dlcp_grantee *e;

	while (!list_empty(&g->idle)) {
		e = list_last_entry(&g->idle, struct dlcp_grantee, node);
		if ((s64)(now - e->since) < (s64)REMEMBER)
			break;
		grant_remove(g, e);
	}
}

/* Packets lost or marked in the epoch, as far as it is believed */
static u32 grant_bad(const struct dlcp_grantee *e, u32 *losers)
{
	u32 bad = min(e->bad, e->bytes / (PACKET * BELIEVED_DIV) + 1);

	if (bad && (u64)bad * PACKET * BAD_DIV >= e->bytes)
		(*losers)++;
	return bad;
}

/* ns of the epoch in which two senders or more were busy */
static u64 grant_shared(const struct dlcp_grant *g, u64 now)
{
	return g->shared + (g->nr_busy > 1 ? now - g->shared_since : 0);
}

/* Packets lost or marked in the epoch of @time, as far as they tell of the link. @ended:
 * senders that came to rest in it, which count as those that are busy, unless they
 * came one after another: each may have filled a queue alone then.
 */
static u64 grant_lost(const struct dlcp_grant *g, u64 time, u32 *ended)
{
	bool together = 2 * grant_shared(g, g->start + time) >= time;
	struct dlcp_grantee *e;
	u32 losers = 0;
	u64 sum = 0;

	*ended = 0;
	list_for_each_entry(e, &g->busy, node)
		sum += grant_bad(e, &losers);
	list_for_each_entry(e, &g->idle, node) {
		if (!together || e->since <= g->start)
			break;
		sum += grant_bad(e, &losers);
		(*ended)++;
	}
	return losers >= max_t(u32, (g->nr_busy + *ended) / LOSERS_DIV, LOSERS) ?
	       sum : 0;
}

/* So many that more came than fits, rather than what a link loses by itself */
static bool grant_crowded(const struct dlcp_grant *g, u64 packets)
{
	return g->bytes >= EPOCH_MIN && packets * PACKET * BAD_DIV >= g->bytes;
}

/* Until the link was full once nothing is known of it */
static void grant_learn(struct dlcp_grant *g, u64 rate, bool full)
{
	if (rate > g->best[0] + g->best[0] / 8) {
		g->best[0] = rate;
		g->best[1] = 0;
		g->stable = 0;
	} else if (full) {
		g->best[1] = max(g->best[1], rate);
		if (++g->stable < STABLE)
			return;
		g->rate = max(g->best[0], g->best[1]);
		g->best[0] = g->rate;
		g->best[1] = 0;
		/* Most likely a little less than the link brings */
		g->gain = GAIN_PROBE;
		g->every = PROBE_FIRST;
	}
}

/* Bring about that as much comes as is meant to, whatever is lost before */
static void grant_follow(struct dlcp_grant *g, u64 rate)
{
	s64 less;

	/* By far less is not asked for, or something else holds it back */
	if (g->gain != GAIN_CRUISE || rate < g->rate - g->rate / 16)
		return;
	less = GAIN_CRUISE - (s64)div64_u64(rate * 1000, g->rate);
	g->extra = (u32)clamp_t(s64, g->extra + less / 2, 0, EXTRA_MAX);
}

static void grant_measure(struct dlcp_grant *g, u64 rate, bool crowded)
{
	bool more = rate > g->rate + g->rate / 128;
	bool looked = g->gain == GAIN_PROBE;

	grant_follow(g, rate);
	g->best[0] = max(g->best[0], rate);
	/* An epoch in which senders wanted less tells nothing */
	if ((crowded || rate > g->rate - g->rate / 32) &&
	    ++g->window == WINDOW) {
		g->best[1] = g->best[0];
		g->best[0] = rate;
		g->window = 0;
	}
	g->rate = max(g->best[0], g->best[1]);
	if (more) {
		g->gain = GAIN_GROW;
		g->epochs = 0;
	} else if (looked && rate > g->rate - g->rate / 64 && !crowded) {
		/* More was granted and did not come, and nobody slowed down */
		g->gain = GAIN_CRUISE;
		g->every = min_t(u32, PROBE_SURE * g->every, PROBE_EVERY);
	} else if (++g->epochs >= g->every) {
		g->gain = GAIN_PROBE;
		g->epochs = 0;
		g->every = min_t(u32, 2 * g->every, PROBE_EVERY);
	} else {
		g->gain = GAIN_CRUISE;
	}
}

static void grant_slice(struct dlcp_grant *g, u64 now)
{
	u64 slice = grant_epoch_time(g) > EPOCH ? EPOCH : BURST_MIN;
	u64 bytes = g->bytes - g->slice_bytes;
	u64 time = now - g->slice;

	if (time < slice)
		return;
	if (time < 2 * EPOCH)
		g->slice_best = max(g->slice_best,
				    mul_u64_u32_div(bytes, NSEC_PER_SEC, (u32)time));
	g->slice = now;
	g->slice_bytes = g->bytes;
}

/* Return: whether more was lost or marked than a link does by itself */
static bool grant_judge(struct dlcp_grant *g, u64 time, bool burst)
{
	u64 rate = mul_u64_u32_div(g->bytes, NSEC_PER_SEC, (u32)time);
	u32 ended;
	u64 lost = grant_lost(g, time, &ended);
	bool crowded = grant_crowded(g, lost);

	if (burst && g->bytes < (u64)(g->nr_busy + ended) * BURST_EACH)
		return crowded;
	if ((g->burst && ended) || grant_epoch_time(g) > EPOCH)
		rate = max(rate, g->slice_best);
	if (g->rate) {
		grant_measure(g, rate, crowded);
		return crowded;
	}
	/* Or senders see that a deep queue grows */
	if (g->nr_busy + ended >= QUEUED_SENDERS)
		lost += g->queued;
	grant_learn(g, rate, grant_crowded(g, lost));
	return crowded;
}

/* The last sender is to rest, before there was an epoch */
static void grant_burst(struct dlcp_grant *g, u64 now)
{
	u64 time = now - g->start;

	if (g->slice_best && time < 2 * EPOCH &&
	    EPOCH_TRIPS * g->rtt <= BURST_MIN)
		grant_judge(g, time, true);
}

static void grant_epoch(struct dlcp_grant *g, u64 now)
{
	u64 time = now - g->start;

	/* A gap as long as that was not the network's */
	if (time < 2 * grant_epoch_time(g)) {
		grant_count(g, now);
		grant_weigh(g, grant_judge(g, time, false));
	}
	g->burst = false;
	grant_forget(g, now);
	grant_begin_epoch(g, now);
}

void dlcp_grant_arrived(struct dlcp_grant *g, struct dlcp_grantee *e,
			u64 bytes, u64 bad, u64 queued, u64 now)
{
	/* Clocks of two processors, or of two looks at one */
	now = max(now, g->start);
	g->now = now;
	if (e->state != DLCP_GRANT_BUSY)
		grant_join(g, e, now);
	e->bytes = (u32)min_t(u64, e->bytes + bytes, U32_MAX);
	e->bad = (u32)min_t(u64, e->bad + bad, U32_MAX);
	g->bytes += bytes;
	g->queued += queued;
	/* What came before its first moment was over is not the slice's */
	if (now == g->slice)
		g->slice_bytes = g->bytes;
	grant_slice(g, now);
	if (now - g->start >= grant_epoch_time(g))
		grant_epoch(g, now);
	grant_shares(g, now);
}

void dlcp_grant_rest(struct dlcp_grant *g, struct dlcp_grantee *e, u64 now)
{
	if (e->state != DLCP_GRANT_BUSY)
		return;
	if (g->burst && g->nr_busy == 1)
		grant_burst(g, now);
	grant_remove(g, e);
	e->state = DLCP_GRANT_IDLE;
	e->since = now;
	list_add(&e->node, &g->idle);
	g->nr_idle++;
}

void dlcp_grant_leave(struct dlcp_grant *g, struct dlcp_grantee *e)
{
	if (e->state != DLCP_GRANT_AWAY)
		grant_remove(g, e);
}

u64 dlcp_grant_rate(struct dlcp_grant *g, const struct dlcp_grantee *e,
		    u64 now)
{
	u32 part = DLCP_GRANT_ONE;
	u32 shares;

	if (e->state == DLCP_GRANT_BUSY) {
		grant_shares(g, now);
		shares = g->shares;
		part = e->part;
	} else {
		shares = (g->nr_busy + g->nr_idle) * DLCP_GRANT_ONE;
	}
	/* Alone it finds out for itself, and needs no round trip for it */
	if (!g->rate || shares <= DLCP_GRANT_ONE)
		return 0;
	return max_t(u64, grant_share(g, shares) * part / DLCP_GRANT_ONE, 1);
}
