// SPDX-License-Identifier: GPL-2.0
/*
 * "adaptive", the default: packets go where they get through.
 *
 * Every path has a weight, its share of what is in flight: the next packet
 * takes the path that has the least in flight for its weight. So a path that
 * slows down or stops takes no more than its share of the window, at once and
 * without any measurement. After each of its round trips it is compared with
 * the best of the others in three respects: queue (the least of its round
 * trips, less the minimum known), marks and loss. What it has more of than the
 * best one reduces its weight; a path that has no more gains a constant. The
 * mean is kept at 1, so all this moves shares and never the whole, which is
 * the congestion controller's. Gaining a constant and losing a share makes
 * equal paths equal, and paths behind one link share that link's part: how
 * many of the entropies were hashed to a link does not matter as long as it is
 * one.
 *
 * So that it is one, entropies are replaced: as in REPS (Bonato et al.,
 * "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and
 * Failure Mitigation", arXiv:2407.21625) those that are
 * acknowledged in time and unmarked are kept, and fresh ones are tried instead
 * of the others. A path that stays light takes another entropy; and every now
 * and then the lightest of all does, which finds links that came back, or that
 * none of the entropies was hashed to. REPS decides this for each packet from
 * a cache of good entropies; here a path is such an entropy, with packet
 * numbers of its own, so that a loss is known without waiting for a timer.
 *
 * Weights are in 1/1024, shares likewise, times in ns.
 */
#include "pathsched.h"

#define ONE		DLCP_WEIGHT_ONE
/* A path carries at least 1/32 of what it would among equals, by which it is
 * seen to recover, and at most 8 times that: one that is alone on its link
 */
#define WEIGHT_MIN	(ONE / 32)
#define WEIGHT_MAX	(8 * ONE)
/* Gained in a round trip: 16 of them from nothing to a full share */
#define GROWTH		(ONE / 16)
/* Lost in one, at most: from a full share to a quarter of it in 5 */
#define CUT_MAX		(ONE / 4)
/* A queue longer than the best by so much, and an eighth of the round trip, is
 * no accident: what a host sends at once may stand in it for as long
 */
#define QUEUE_SLACK	(20 * NSEC_PER_USEC)
/* Lighter than that for so many round trips: try another way */
#define LIGHT		(ONE / 4)
#define LIGHT_ROUNDS	16
/* The lightest one tries another way after so many round trips, but not
 * more often than after so long. With 16 paths each is tried anew about ten
 * times a second, at the cost of one round trip of half its share. Where all
 * weigh the same each has a link for itself, and no other could be won.
 */
#define UNEVEN		(ONE * 7 / 8)
#define EXPLORE_ROUNDS	64
#define EXPLORE_MIN	(5 * NSEC_PER_MSEC)

struct best {
	u64	queue;		/* ns */
	u32	loss;
	u32	ce;
	u32	weight;		/* the least */
	u64	repathed;	/* ns: last of all */
};

static void adaptive_best(const struct dlcp_path *paths, u32 nr,
			  struct best *b)
{
	const struct dlcp_path *p;

	memset(b, 0xff, sizeof(*b));
	b->repathed = 0;
	for (p = paths; p < paths + nr; p++) {
		b->repathed = max(b->repathed, p->repathed);
		if (!dlcp_path_works(p) || p->settling)
			continue;
		b->queue = min(b->queue, p->queue);
		b->loss = min(b->loss, p->loss_avg);
		b->ce = min(b->ce, p->ce_avg);
		b->weight = min(b->weight, p->weight);
	}
}

static u32 cut_by_queue(const struct dlcp_path *p, const struct best *b)
{
	u64 slack = QUEUE_SLACK + p->net.min / 8;

	if (p->queue <= b->queue + slack)
		return 0;
	return (u32)div64_u64((p->queue - b->queue) * ONE,
			      p->net.min + p->queue);
}

/* Twice the loss, a quarter of the marks: one packet lost costs more than one
 * that waited
 */
static u32 adaptive_cut(const struct dlcp_path *p, const struct best *b)
{
	u32 cut = cut_by_queue(p, b);

	if (p->loss_avg > b->loss)
		cut = max_t(u32, cut, (p->loss_avg - b->loss) / (65536 / ONE) *
				      2);
	if (p->ce_avg > b->ce)
		cut = max_t(u32, cut, (p->ce_avg - b->ce) / (65536 / ONE) / 4);
	return min_t(u32, cut, CUT_MAX);
}

/* The mean weight is 1 again */
static void adaptive_normalise(struct dlcp_path *paths, u32 nr)
{
	u32 sum = 0;
	u32 i;

	for (i = 0; i < nr; i++)
		sum += paths[i].weight;
	for (i = 0; i < nr; i++)
		paths[i].weight = clamp_t(u32, paths[i].weight * nr * ONE / sum,
					  WEIGHT_MIN, WEIGHT_MAX);
}

static bool adaptive_explore(const struct dlcp_path *p, const struct best *b,
			     u64 now)
{
	u64 pause = max_t(u64, EXPLORE_ROUNDS * p->net.srtt, EXPLORE_MIN);

	return p->weight <= b->weight && p->weight < UNEVEN &&
	       now - b->repathed > pause;
}

static bool adaptive_round(struct dlcp_path *paths, u32 nr,
			   struct dlcp_path *p, u64 now)
{
	struct best b;
	u32 cut;

	p->queue = p->round.net > p->net.min ? p->round.net - p->net.min : 0;
	adaptive_best(paths, nr, &b);
	cut = adaptive_cut(p, &b);
	if (cut)
		p->weight -= p->weight * cut / ONE;
	else
		p->weight += GROWTH;
	adaptive_normalise(paths, nr);
	if (p->weight >= LIGHT)
		p->light = 0;
	else if (p->light < U8_MAX)
		p->light++;
	return p->light >= LIGHT_ROUNDS || adaptive_explore(p, &b, now);
}

static bool adaptive_before(const struct dlcp_path *a,
			    const struct dlcp_path *b)
{
	u64 x = a->inflight * b->weight;
	u64 y = b->inflight * a->weight;

	return x != y ? x < y : a->vtime < b->vtime;
}

static struct dlcp_path *adaptive_pick(struct dlcp_path *paths, u32 nr)
{
	return dlcp_path_first(paths, nr, adaptive_before);
}

static void adaptive_sent(struct dlcp_path *p, u32 bytes)
{
	p->vtime += div_u64((u64)bytes * ONE, p->weight);
}

const struct dlcp_pathsched_ops dlcp_pathsched_adaptive = {
	.name	= "adaptive",
	.pick	= adaptive_pick,
	.sent	= adaptive_sent,
	.round	= adaptive_round,
};
