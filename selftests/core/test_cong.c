// SPDX-License-Identifier: GPL-2.0
/* Controllers on a simulated bottleneck (cong_world.h). */
#include "cong_world.h"

static const struct net rack = {
	.rate = 10 * GBIT, .delay = 60 * US, .queue = 128,
};

static void find__names(void)
{
	const struct dlcp_cong_ops *const *o;

	CHECK(dlcp_cong_find("dlcp") == dlcp_cong_all[0]);
	CHECK(dlcp_cong_find("fixed"));
	CHECK(dlcp_cong_find("loss"));
	CHECK(!dlcp_cong_find("cubic"));
	CHECK(!dlcp_cong_find(""));
	for (o = dlcp_cong_all; *o; o++)
		CHECK(dlcp_cong_find((*o)->name) == *o &&
		      strlen((*o)->name) < DLCP_CC_NAME_MAX);
}

static void all__start_and_survive_extremes(void)
{
	static const u32 mss[] = { 0, 1, 576, 1500, 9000, 65535 };
	const struct dlcp_cong_ops *const *o;
	struct dlcp_cong_sample s;
	struct dlcp_rtt r;
	struct dlcp_cong c;
	u64 now, d;
	size_t m;
	int i;

	for (o = dlcp_cong_all; *o; o++) {
		for (m = 0; m < ARRAY_SIZE(mss); m++) {
			dlcp_rtt_init(&r);
			dlcp_cong_init(&c, *o, mss[m], m & 1 ? 1 : 0, 0);
			CHECK(c.cwnd >= 2 * c.mss && c.mss);
			d = 0;
			now = 0;
			for (i = 0; i < 20000; i++) {
				memset(&s, 0, sizeof(s));
				now += rnd() >> (20 + rnd_below(44));
				s.now = now;
				s.acked = rnd() & 3 ? rnd() >>
					  (24 + rnd_below(40)) : 0;
				s.lost = rnd() & 3 ? 0 : rnd() >>
					 (24 + rnd_below(40));
				s.forgiven = s.lost && rnd() & 1 ?
					     rnd_below(s.lost) : 0;
				s.inflight = rnd() >> (24 + rnd_below(40));
				s.delivered_then = d - (d ? rnd_below(d) >>
						   rnd_below(40) : 0);
				s.delivered = d = d + s.acked;
				s.sent_then = now - (now ? rnd_below(now) >>
						     rnd_below(40) : 0);
				s.rtt = rnd() & 1 ? now - s.sent_then : 0;
				s.acked_packets = (u32)rnd_below(64);
				s.ce_packets = (u32)rnd_below(2 +
							s.acked_packets);
				s.app_limited = rnd() & 1;
				if (s.rtt)
					dlcp_rtt_sample(&r, s.rtt, 0, now);
				c.ops->ack(&c, &r, &s);
				if (!(rnd() & 63))
					c.ops->timeout(&c, now, 1 +
						       (u32)rnd_below(9));
				if (!(rnd() & 63) && c.ops->restart)
					c.ops->restart(&c, now, rnd() >>
						       rnd_below(64));
				CHECK(c.cwnd >= 2 * c.mss);
				CHECK(c.cwnd <= 1ULL << 41);
				CHECK(!c.max_rate || c.rate <= c.max_rate);
				CHECK(c.max_rate || c.rate ||
				      !strcmp((*o)->name, "fixed"));
			}
		}
	}
}

static void dlcp__fills_the_link_under_random_loss(void)
{
	static const double loss[] = { 0, 0.001, 0.01, 0.03 };
	struct net n = rack;
	struct result r;
	char what[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(loss); i++) {
		n.loss = loss[i];
		snprintf(what, sizeof(what), "1 flow, %.1f %% loss",
			 100 * loss[i]);
		r = trial(what, &n, 1, "dlcp", 20 * MS, 100 * MS);
		CHECK(r.good > 0.95);
		CHECK(r.queue_us < 40);
	}
}

static void dlcp__fills_long_and_fast_links(void)
{
	static const struct { u64 gbit, us; u32 queue; double loss; } c[] = {
		{ 100, 30, 512, 0 }, { 100, 30, 512, 0.03 },
		{ 1, 1000, 128, 0.01 }, { 1, 100, 64, 0.03 },
		{ 10, 1000, 1000, 0 },
	};
	struct net n = rack;
	struct result r;
	char what[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		n.rate = c[i].gbit * GBIT;
		n.delay = c[i].us * US;
		n.queue = c[i].queue;
		n.loss = c[i].loss;
		snprintf(what, sizeof(what),
			 "%llu Gbit/s, %llu us, %.1f %% loss",
			 c[i].gbit, c[i].us, 100 * c[i].loss);
		r = trial(what, &n, 1, "dlcp", 100 * MS, 100 * MS);
		CHECK(r.good > 0.9);
	}
}

/* Loss that no rate of ours would end must not end us either */
static void dlcp__no_collapse(void)
{
	static const double loss[] = { 0.05, 0.1, 0.15, 0.2, 0.25, 0.5 };
	static const double least[] = { 0.7, 0.6, 0.6, 0.6, 0.001,
					0.0001 };
	struct net n = rack;
	struct result r;
	char what[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(loss); i++) {
		n.loss = loss[i];
		snprintf(what, sizeof(what), "1 flow, %.0f %% loss",
			 100 * loss[i]);
		r = trial(what, &n, 1, "dlcp", 20 * MS, 100 * MS);
		CHECK(r.good > least[i]);
	}
}

static void dlcp__shallow_buffers(void)
{
	static const u32 queue[] = { 32, 16, 8, 4 };
	static const int flows[] = { 1, 2, 8, 32, 64 };
	struct net n = rack;
	struct result r;
	char what[64];
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(queue); i++) {
		for (k = 0; k < ARRAY_SIZE(flows); k++) {
			n.queue = queue[i];
			snprintf(what, sizeof(what), "%d flows, queue %u",
				 flows[k], queue[i]);
			r = trial(what, &n, flows[k], "dlcp", 20 * MS,
				  20 * MS);
			CHECK(r.util > (queue[i] >= 16 ? 0.95 : 0.85));
			/* A packet of each of 64 is 16 times a queue of 4 */
			CHECK(r.drops < (flows[k] <= 8 ? 0.07 :
					 queue[i] < 8 ? 0.18 : 0.15));
			if (flows[k] == 2 && queue[i] >= 32)
				CHECK(r.jain > 0.8);
		}
	}
}

/* One sender alone: what a policer or a queue of a twentieth of the path loses is
 * its own doing, and no link's that loses at random
 */
static void dlcp__policer_and_short_queue(void)
{
	static const struct { u64 rate, police, us; u32 queue; } c[] = {
		{ GBIT / 10, 0, 20000, 8 }, { GBIT, 0, 1000, 8 },
		{ GBIT, 0, 5000, 20 }, { GBIT, 0, 20000, 83 },
		{ GBIT, GBIT / 10, 2000, 166 },
		{ GBIT, GBIT / 10, 20000, 1666 },
		{ 10 * GBIT, 5 * GBIT, 50, 128 },
		{ 10 * GBIT, 5 * GBIT, 100, 128 },
	};
	double part;
	struct net n = rack;
	struct result r;
	char what[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		n.rate = c[i].rate;
		n.police = c[i].police;
		n.delay = c[i].us * US;
		n.queue = c[i].queue;
		part = n.police ? (double)n.police / n.rate : 1;
		snprintf(what, sizeof(what), "%.0f of %.0f Mbit/s, %llu us, queue %u",
			 part * n.rate / 125e3, n.rate / 125e3, c[i].us,
			 n.queue);
		r = trial(what, &n, 1, "dlcp", 100 * n.delay + 100 * MS,
			  500 * n.delay + 400 * MS);
		CHECK(r.drops < 0.045);
		CHECK(r.util > 0.75 * part);
	}
}

static void dlcp__marks(void)
{
	struct net n = rack;
	struct result r;

	n.mark = 20;
	r = trial("1 flow, marks from 20", &n, 1, "dlcp", 20 * MS, 50 * MS);
	CHECK(r.util > 0.95);
	CHECK(r.drops == 0);
	r = trial("8 flows, marks from 20", &n, 8, "dlcp", 20 * MS, 50 * MS);
	CHECK(r.util > 0.95);
	CHECK(r.queue_us < 40);
	CHECK(r.jain > 0.6);
}

static void dlcp__two_flows_become_equal(void)
{
	struct world *w = world(&rack, 2, "dlcp");
	double j, sum = 0;
	int i;

	w->f[1].start = w->now + 20 * MS;
	run(w, w->now + 20 * MS);
	for (i = 0; i < 5; i++) {
		measure_from_here(w);
		run(w, w->now + 20 * MS);
		j = jain(w);
		sum += j;
		FIGURE("dlcp late-comer after %d ms: Jain %.3f", 20 * i + 20,
		       j);
	}
	world_free(w);
	CHECK(sum / 5 > 0.9);
}

/*
 * TCP CUBIC where round trips are short: there it grows as Reno would with its
 * reduction (RFC 9438, 4.3), and only if it used its window (RFC 9438, 5.8).
 * Here without pacing: acknowledgments are its clock.
 */
struct cubic {
	u64	ssthresh;
	u64	recover;
};

static void cubic_init(struct dlcp_cong *c, u64 now)
{
	struct cubic *k = (struct cubic *)c->priv;

	k->ssthresh = U64_MAX;
	c->cwnd = 10 * MSS;
}

static void cubic_ack(struct dlcp_cong *c, const struct dlcp_rtt *r,
		      const struct dlcp_cong_sample *s)
{
	struct cubic *k = (struct cubic *)c->priv;

	if (s->lost && s->delivered_then >= k->recover) {
		c->cwnd = max_t(u64, c->cwnd * 7 / 10, 2 * MSS);
		k->ssthresh = c->cwnd;
		k->recover = s->delivered;
	} else if (c->cwnd < k->ssthresh) {
		if (2 * s->inflight >= c->cwnd)
			c->cwnd += s->acked;
	} else if (4 * s->inflight >= 3 * c->cwnd) {
		c->cwnd += s->acked * MSS * 53 / 100 / c->cwnd;
	}
}

static void cubic_timeout(struct dlcp_cong *c, u64 now, u32 nth)
{
	c->cwnd = 2 * MSS;
}

static const struct dlcp_cong_ops cubic = {
	.name		= "cubic",
	.init		= cubic_init,
	.ack		= cubic_ack,
	.timeout	= cubic_timeout,
};

/* One CUBIC beside @nr: *@mine is their share. Then it goes, *@queue and the
 * return value tell what they make of the link.
 */
static double beside(const struct net *n, int nr, u32 warm, double *mine,
		     double *queue)
{
	struct world *w = world(n, nr + 1, "dlcp");
	u64 theirs;
	double util;

	dlcp_cong_init(&w->f[nr].c, &cubic, MSS, 0, w->now);
	run(w, w->now + warm * MS);
	measure_from_here(w);
	run(w, w->now + 400 * MS);
	theirs = w->f[nr].delivered - w->f[nr].mark;
	*mine = 1 - (double)theirs / got(w);
	w->f[nr].stop = w->now;
	run(w, w->now + 200 * MS);
	measure_from_here(w);
	run(w, w->now + 50 * MS);
	util = got(w) / (n->rate * 0.05);
	*queue = w->sum_queue / 1000.0 / w->packets;
	FIGURE("%d dlcp beside cubic, queue %u, %.0f %% forgiven: %.1f %%, then %.3f of the link, queue %.1f us",
	       nr, n->queue, 100 * n->forgiven, 100 * *mine, util, *queue);
	world_free(w);
	return util;
}

/* Who fills every queue is no reason to send nothing, and when it has gone the
 * queue is empty again. Several may take each other for CUBIC for some time
 * then: there the mean of 16 runs counts.
 */
static void dlcp__beside_one_that_fills_the_queue(void)
{
	static const struct {
		u32 queue, us, warm;
		int nr;
		double least, most, forgiven;
	} c[] = {
		{ 64, 51, 50, 1, 0.35, 0.65, 0 },
		{ 128, 60, 50, 1, 0.35, 0.65, 0 },
		{ 128, 60, 50, 1, 0.35, 0.65, 1 },
		{ 256, 60, 50, 1, 0.35, 0.65, 0 },
		{ 512, 60, 50, 1, 0.35, 0.65, 0 },
		{ 1000, 51, 100, 1, 0.35, 0.65, 0 },
		{ 128, 60, 50, 3, 0.45, 0.85, 0 },
	};
	double mine, queue, sum;
	struct net n = rack;
	int k, runs;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		n.queue = c[i].queue;
		n.delay = c[i].us * US;
		n.forgiven = c[i].forgiven;
		runs = c[i].nr > 1 ? 16 : 1;
		sum = 0;
		for (k = 0; k < runs; k++) {
			CHECK(beside(&n, c[i].nr, c[i].warm, &mine, &queue) >
			      0.95);
			CHECK(mine > c[i].least);
			CHECK(mine < c[i].most);
			sum += queue;
		}
		CHECK(sum / runs < 60);
	}
}

/* Incast: when others finish, who is left takes the link within a few ms */
static void dlcp__takes_what_others_leave(void)
{
	struct world *w = world(&rack, 16, "dlcp");
	u64 before;
	double u;
	int i;

	for (i = 1; i < 16; i++)
		w->f[i].stop = w->now + 20 * MS;
	run(w, w->now + 21 * MS);
	before = w->f[0].delivered;
	run(w, w->now + 2 * MS);
	u = (double)(w->f[0].delivered - before) / (10 * GBIT * 0.002);
	FIGURE("dlcp last of 16, first 2 ms alone: utilisation %.3f", u);
	world_free(w);
	CHECK(u > 0.6);
}

/* Minimum round trips expire after 10 s: a queue must not become the norm */
static void dlcp__queue_does_not_creep(void)
{
	struct net n = rack;
	struct result r;

	n.rate = GBIT;
	n.delay = 200 * US;
	n.queue = 1000;
	r = trial("4 flows at 1 Gbit/s after 35 s", &n, 4, "dlcp", 35 * SEC,
		  1 * SEC);
	CHECK(r.util > 0.95);
	CHECK(r.queue_us < 150);
}

/* Mean of Jain's index in @runs, of @nr flows that begin within 15 ms */
static double fairness(const struct net *n, int nr, int runs)
{
	struct world *w;
	double sum = 0;
	int i, k;

	for (k = 0; k < runs; k++) {
		w = world(n, nr, "dlcp");
		for (i = 0; i < nr; i++)
			w->f[i].start += rnd_below(15 * MS);
		run(w, w->now + 30 * MS);
		measure_from_here(w);
		run(w, w->now + 20 * MS);
		sum += jain(w);
		world_free(w);
	}
	FIGURE("%d flows that begin within 15 ms, %llu us jitter: Jain's index %.3f",
	       nr, n->jitter / US, sum / runs);
	return sum / runs;
}

/* Senders that begin at any time, whose fair window is a few packets: by chance some
 * take the queue of others for their path, and keep it. A delay that few packets tell
 * of must not count, the larger windows give way first, who finds that a cut left
 * more queue than it should holds back for a round, and who sees the queue fall by that
 * does so soon and at the same time as others.
 */
static void dlcp__small_windows_are_fair(void)
{
	static const struct { int nr; double calm, jitter; } c[] = {
		{ 2, 0.95, 0.84 }, { 8, 0.82, 0.75 }, { 32, 0.7, 0.7 },
		{ 64, 0.88, 0.84 },
	};
	struct net n = rack;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		n.jitter = 0;
		CHECK(fairness(&n, c[i].nr, 20) > c[i].calm);
		n.jitter = 20 * US;
		CHECK(fairness(&n, c[i].nr, 40) > c[i].jitter);
	}
}

static void dlcp__jitter_of_hosts(void)
{
	struct net n = rack;
	struct result r;

	n.jitter = 20 * US;
	r = trial("1 flow, 20 us jitter", &n, 1, "dlcp", 20 * MS, 50 * MS);
	CHECK(r.util > 0.9);
}

static void dlcp__forgiven_loss_weighs_less(void)
{
	struct net n = rack;
	struct result all, none;

	n.loss = 0.1;
	none = trial("10 % loss, none forgiven", &n, 1, "dlcp", 20 * MS,
		     50 * MS);
	n.forgiven = 1;
	all = trial("10 % loss, all forgiven", &n, 1, "dlcp", 20 * MS,
		    50 * MS);
	CHECK(all.util > none.util);
	/* but never against a neighbour: congestion is congestion */
	n.loss = 0;
	n.queue = 32;
	all = trial("64 flows, queue 32, all forgiven", &n, 64, "dlcp",
		    20 * MS, 20 * MS);
	CHECK(all.drops < 0.15);
}

/* @nr packets of a full window arrive, over a path of @rtt, the first @ce marked */
static void acks_after(struct dlcp_cong *c, struct dlcp_rtt *r, u64 *now,
		       u64 *delivered, u64 nr, u32 ce, u64 rtt)
{
	struct dlcp_cong_sample s = {
		.acked = MSS, .acked_packets = 1, .rtt = rtt,
		.sent_then = *now, .delivered_then = *delivered,
		.delivered = *delivered, .inflight = c->cwnd,
	};

	*now += s.rtt;
	for (; nr; nr--, ce -= !!ce) {
		s.now = *now;
		s.ce_packets = !!ce;
		s.delivered += MSS;
		dlcp_rtt_sample(r, s.rtt, 0, s.now);
		c->ops->ack(c, r, &s);
	}
	*delivered = s.delivered;
}

static void far_acks(struct dlcp_cong *c, struct dlcp_rtt *r, u64 *now,
		     u64 *delivered, u64 nr, u32 ce)
{
	acks_after(c, r, now, delivered, nr, ce, 40 * MS);
}

static void dlcp__timeouts(void)
{
	u64 now = 0, delivered = 0, w;
	struct dlcp_cong c;
	struct dlcp_rtt r;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, 0);
	w = c.cwnd;
	CHECK_EQ(w, 10 * MSS);
	CHECK_EQ(c.rate, 10 * MSS * SEC / (100 * US));
	/* The path is longer than thought, as nothing came back yet */
	c.ops->timeout(&c, 1, 1);
	c.ops->timeout(&c, 1, 2);
	c.ops->timeout(&c, 1, 3);
	CHECK_EQ(c.cwnd, w);
	far_acks(&c, &r, &now, &delivered, 1, 0);
	w = c.cwnd;
	CHECK_EQ(w, 11 * MSS);
	c.ops->timeout(&c, 1, 1);
	CHECK_EQ(c.cwnd, w);
	c.ops->timeout(&c, 1, 2);
	CHECK_EQ(c.cwnd, w / 2);
	/* Nothing was lost: as if there had been no timeout */
	far_acks(&c, &r, &now, &delivered, 1, 0);
	CHECK_EQ(c.cwnd, w + MSS);
	c.ops->timeout(&c, 1, 2);
	c.ops->timeout(&c, 1, 3);
	c.ops->timeout(&c, 1, 4);
	c.ops->timeout(&c, 1, 5);
	CHECK_EQ(c.cwnd, 2 * MSS);
}

static void far_round(struct dlcp_cong *c, struct dlcp_rtt *r, u64 *now,
		      u64 *delivered, u32 ce)
{
	far_acks(c, r, now, delivered, c->cwnd / MSS, ce);
}

/* Bursts meet in a queue that marks from the first packet on */
static void dlcp__marks_far(void)
{
	u64 now = 0, delivered = 0, w;
	struct dlcp_cong c;
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, 0);
	/* Some are no end of slow start */
	far_round(&c, &r, &now, &delivered, 3);
	CHECK(c.cwnd >= 19 * MSS);
	far_round(&c, &r, &now, &delivered, 3);
	w = c.cwnd;
	CHECK(w >= 36 * MSS);
	/* Half of the window are, and what was sent too much goes */
	far_round(&c, &r, &now, &delivered, U32_MAX);
	CHECK(c.cwnd < w);
	/* The initial window is left */
	for (i = 0; i < 40; i++)
		far_round(&c, &r, &now, &delivered, U32_MAX);
	CHECK(c.cwnd >= 10 * MSS && c.cwnd <= 12 * MSS);
}

/* The largest window, segments, of @ms over 50 us and a queue: what others keep at @queue ns,
 * or its own before a link of @link bytes per us
 */
static u64 largest_beside(u64 queue, u64 link, u64 ms)
{
	u64 now = 0, delivered = 0, most = 0, rtt;
	struct dlcp_cong c;
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, 0);
	for (i = 0; i < 2; i++)
		acks_after(&c, &r, &now, &delivered, c.cwnd / MSS, 0, 50 * US);
	acks_after(&c, &r, &now, &delivered, c.cwnd / MSS, 0, 150 * US);
	while (now < ms * MS && most < 200 * MSS) {
		rtt = queue ? 50 * US + queue :
			      max_t(u64, 50 * US, c.cwnd * US / link);
		acks_after(&c, &r, &now, &delivered, c.cwnd / MSS, 0, rtt);
		if (now > 2 * MS)
			most = max(most, c.cwnd);
	}
	return most / MSS;
}

/* A queue too short to give way to, that stands: whose it is shows when a part of the
 * window is held back
 */
static void dlcp__whose_queue(void)
{
	u64 theirs = largest_beside(35 * US, 0, 120);
	u64 ours = largest_beside(0, 1250, 120);

	FIGURE("dlcp window beside a queue of others: %llu, alone: %llu", theirs, ours);
	CHECK(theirs > 100);
	CHECK(ours < 90);
}

/*
 * Likewise some racks away: nine bursts of ten met another one. A queue that is not
 * marked is as long, and there nothing tells it from the path.
 */
static void dlcp__marks_of_a_hall(void)
{
	u64 now = 0, delivered = 0;
	struct dlcp_cong c;
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, 0);
	for (i = 0; i < 40; i++)
		acks_after(&c, &r, &now, &delivered, c.cwnd / MSS,
			   i % 10 ? U32_MAX : 0, 400 * US);
	FIGURE("dlcp window after 40 marked rounds of 400 us: %llu", c.cwnd);
	CHECK(c.cwnd >= 10 * MSS && c.cwnd <= 14 * MSS);
	/* And it comes back */
	for (i = 0; i < 10; i++)
		acks_after(&c, &r, &now, &delivered, c.cwnd / MSS, 0,
			   400 * US);
	FIGURE("dlcp window after ten without marks: %llu", c.cwnd);
	CHECK(c.cwnd >= 30 * MSS);
}

static void dlcp__restart_keeps_what_was_learnt(void)
{
	struct world *w = world(&rack, 1, "dlcp");
	struct flow *f = &w->f[0];
	u64 cwnd = 0, bdp = 10 * GBIT * 60 / 1000000;
	int i;

	run(w, w->now + 20 * MS);
	/* Longer than a part of it is held back */
	for (i = 0; i < 4; i++) {
		run(w, w->now + 100 * US);
		cwnd = max(cwnd, f->c.cwnd);
	}
	f->c.ops->restart(&f->c, w->now, 100 * MS);
	FIGURE("dlcp window before and after 100 ms of silence: %llu, %llu, path %llu",
	       cwnd, f->c.cwnd, bdp);
	CHECK(f->c.cwnd <= cwnd);
	CHECK(f->c.cwnd >= bdp / 2);
	CHECK(f->c.cwnd <= bdp * 2);
	world_free(w);
}

static void grant(struct flow *f, u64 rate)
{
	u64 before = f->c.grant;

	f->c.grant = rate;
	f->c.ops->granted(&f->c, before);
}

/* Packets that wait for the own link, in the mean of the next 10 ms */
static double own_queue(struct world *w)
{
	u64 tx = MSS * SEC / w->n.own, sum = 0, end = w->now + 10 * MS;
	u32 nr = 0;

	for (; w->now < end; nr++) {
		run(w, w->now + tx);
		if (w->f[0].nic > w->now)
			sum += w->f[0].nic - w->now;
	}
	return (double)sum / (double)tx / nr;
}

/*
 * A sender with 1 Gbit/s of its own that is granted little more, and then, as
 * others have gone, much more: it has no use for that.
 */
static void dlcp__grant_beyond_the_own_link(void)
{
	struct net n = rack;
	double before, after, used;
	struct world *w;

	n.own = GBIT;
	w = world(&n, 1, "dlcp");
	grant(&w->f[0], GBIT * 5 / 4);
	run(w, w->now + 10 * MS);
	before = own_queue(w);
	grant(&w->f[0], 5 * GBIT);
	measure_from_here(w);
	after = own_queue(w);
	used = (double)got(w) / (GBIT / 100);
	FIGURE("dlcp own link of 1 Gbit/s, granted 1.25, then 5: %.1f, then %.1f packets wait for it, %.3f of it used",
	       before, after, used);
	CHECK(after < 10);
	CHECK(used > 0.9);
	world_free(w);
}

/* One packet at a time, of which @lost bytes before it */
static void one_packet(struct dlcp_cong *c, struct dlcp_rtt *r, u64 *now,
		       u64 rtt, u64 lost)
{
	struct dlcp_cong_sample s = {
		.sent_then = *now, .delivered_then = r->min ? *now / US : 0,
		.acked = MSS, .acked_packets = 1, .lost = lost,
		.inflight = MSS + lost, .rtt = rtt,
	};

	*now += rtt;
	s.now = *now;
	s.delivered = *now / US;
	dlcp_rtt_sample(r, rtt, 0, *now);
	c->ops->ack(c, r, &s);
}

/*
 * Nearly all of a burst is lost, which leaves less than a packet per round
 * trip, and the few that follow come late. Once they are quick again the next
 * one must not wait for as long as the mean of the late ones says.
 */
static void dlcp__late_packets_and_a_small_window(void)
{
	struct dlcp_cong c;
	struct dlcp_rtt r;
	u64 now = SEC;
	double wait;
	int i;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, now);
	for (i = 0; i < 20; i++)
		one_packet(&c, &r, &now, 50 * US, 0);
	for (i = 0; i < 3; i++)
		one_packet(&c, &r, &now, 50 * US, 20 * MSS);
	for (i = 0; i < 4; i++)
		one_packet(&c, &r, &now, 3 * MS, 0);
	one_packet(&c, &r, &now, 50 * US, 0);
	wait = (double)MSS * SEC / c.rate / MS;
	FIGURE("dlcp after loss and late packets: srtt %.1f ms, a packet each %.2f ms",
	       (double)r.srtt / MS, wait);
	CHECK(r.srtt > MS);
	CHECK(wait < 1);
}

/* @nr packets, a round trip of 20 of them, each of up to 200 us of its own */
static void jittery_packets(struct dlcp_cong *c, struct dlcp_rtt *r, u64 *now,
			    u64 *delivered, u64 queue, int nr)
{
	struct dlcp_cong_sample s = {
		.acked = MSS, .acked_packets = 1,
	};

	while (nr--) {
		*now += 10 * US;
		*delivered += MSS;
		s.now = *now;
		s.inflight = c->cwnd;
		s.rtt = 100 * US + rnd_below(200 * US) + queue;
		s.sent_then = *now - s.rtt;
		s.delivered = *delivered;
		s.delivered_then = *delivered - 20 * MSS;
		dlcp_rtt_sample(r, s.rtt, 0, *now);
		c->ops->ack(c, r, &s);
	}
}

/*
 * The deviation is that of a few packets, and they are alike now and then by
 * chance. A queue as short as what packets differ by does not take the window
 * whenever they are.
 */
static void dlcp__short_queue_beside_jitter(void)
{
	u64 before, now = SEC, delivered = SEC;
	struct dlcp_cong c;
	struct dlcp_rtt r;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, now);
	jittery_packets(&c, &r, &now, &delivered, 0, 100);
	before = c.cwnd;
	jittery_packets(&c, &r, &now, &delivered, 160 * US, 1500);
	FIGURE("dlcp 100 to 300 us a packet, and a queue of 160: window %.2f times what it was",
	       (double)c.cwnd / before);
	CHECK(c.cwnd >= before);
}

/* Who sends a packet now and then does not lose the window by a larger grant */
static void dlcp__grant_to_one_who_sends_little(void)
{
	struct dlcp_cong c;
	struct dlcp_rtt r;
	u64 now = SEC;
	int i;

	dlcp_rtt_init(&r);
	dlcp_cong_init(&c, dlcp_cong_find("dlcp"), MSS, 0, now);
	c.grant = GBIT;
	c.ops->granted(&c, 0);
	for (i = 0; i < 100; i++)
		one_packet(&c, &r, &now, 50 * US, 0);
	c.grant = 5 * GBIT;
	c.ops->granted(&c, GBIT);
	one_packet(&c, &r, &now, 150 * US, 0);
	CHECK(c.cwnd >= 10 * MSS);
}

static void fixed__rate_is_the_users(void)
{
	struct net n = rack;
	struct result r;

	n.max_rate = 5 * GBIT;
	n.loss = 0.03;
	r = trial("5 of 10 Gbit/s, 3 % loss", &n, 1, "fixed", 5 * MS, 50 * MS);
	CHECK(r.good > 0.49 && r.good < 0.505);
}

static void fixed__no_rate_no_limit(void)
{
	struct dlcp_cong c;

	dlcp_cong_init(&c, dlcp_cong_find("fixed"), MSS, 0, 0);
	CHECK_EQ(c.rate, 0);
	CHECK(c.cwnd >= 1 << 30);
}

static void loss__reno_on_a_clean_link(void)
{
	struct result r;

	r = trial("1 flow", &rack, 1, "loss", 50 * MS, 100 * MS);
	CHECK(r.util > 0.95);
	r = trial("2 flows", &rack, 2, "loss", 100 * MS, 400 * MS);
	CHECK(r.util > 0.95);
	CHECK(r.jain > 0.8);
}

TESTS(T(find__names),
      T(all__start_and_survive_extremes),
      T(dlcp__fills_the_link_under_random_loss),
      T(dlcp__fills_long_and_fast_links),
      T(dlcp__no_collapse),
      T(dlcp__shallow_buffers),
      T(dlcp__policer_and_short_queue),
      T(dlcp__marks),
      T(dlcp__two_flows_become_equal),
      T(dlcp__beside_one_that_fills_the_queue),
      T(dlcp__takes_what_others_leave),
      T(dlcp__queue_does_not_creep),
      T(dlcp__small_windows_are_fair),
      T(dlcp__jitter_of_hosts),
      T(dlcp__forgiven_loss_weighs_less),
      T(dlcp__timeouts),
      T(dlcp__marks_far), T(dlcp__whose_queue), T(dlcp__marks_of_a_hall),
      T(dlcp__restart_keeps_what_was_learnt),
      T(dlcp__grant_beyond_the_own_link),
      T(dlcp__late_packets_and_a_small_window),
      T(dlcp__grant_to_one_who_sends_little),
      T(dlcp__short_queue_beside_jitter),
      T(fixed__rate_is_the_users),
      T(fixed__no_rate_no_limit),
      T(loss__reno_on_a_clean_link))
