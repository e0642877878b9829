// SPDX-License-Identifier: GPL-2.0
/* The receiver's grants: who gets how much of a link */
#include "grant_world.h"

static void grant__nothing_known_no_limit(void)
{
	start(10 * GBIT, 32);
	on(0, 8, GBIT / 2);
	run_for(50 * MS);
	/* It never was full */
	CHECK_EQ(w.g.rate, 0);
	CHECK_EQ(dlcp_grant_rate(&w.g, &w.s[0].e, w.now), 0);
	CHECK_EQ(w.lost, 0);
}

static void grant__incast_fills_the_link_without_loss(void)
{
	static const int nr[] = { 2, 8, 32, 64, 200 };
	static const u32 queue[] = { 16, 32, 128 };
	size_t i, k;
	int n;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		for (k = 0; k < ARRAY_SIZE(queue); k++) {
			/* Of too many some always meet in the queue */
			if (nr[i] > 4 * queue[k])
				continue;
			start(10 * GBIT, queue[k]);
			on(0, nr[i], 5 * GBIT);
			run_for(20 * MS);
			count_from_here();
			run_for(300 * MS);
			FIGURE("%d senders, queue %u: %.3f of the link used, %.3f %% lost",
			       nr[i], queue[k], used(300 * MS),
			       100.0 * w.lost / w.sent);
			CHECK(used(300 * MS) > 0.97);
			CHECK(w.lost < w.sent / 500);
			for (n = 0; n < nr[i]; n++)
				CHECK(w.s[n].got * nr[i] > w.got * 8 / 10 &&
				      w.s[n].got * nr[i] < w.got * 12 / 10);
		}
	}
}

static void grant__random_loss_is_no_full_link(void)
{
	start(10 * GBIT, 32);
	w.loss = 0.01;
	on(0, 32, GBIT / 64);
	run_for(50 * MS);
	/* A rate may be taken for the link's, but must not stay */
	on(0, 32, 5 * GBIT);
	run_for(100 * MS);
	count_from_here();
	run_for(100 * MS);
	FIGURE("with 1 %% random loss %.3f of the link used",
	       used(100 * MS));
	CHECK(used(100 * MS) > 0.95);
}

/* Or those who come next would get a share of what the few packets were */
static void grant__little_traffic_teaches_nothing(void)
{
	start(10 * GBIT, 32);
	w.loss = 0.1;
	on(0, 4, 2 * PKT * 1000);
	run_for(2 * SEC);
	CHECK_EQ(w.g.rate, 0);
	w.loss = 0;
	on(0, 8, 5 * GBIT);
	run_for(20 * MS);
	CHECK(w.g.rate > 9 * GBIT);
	/* Nor is what was learnt forgotten for it */
	w.loss = 0.1;
	on(0, 8, 2 * PKT * 1000);
	run_for(5 * SEC);
	CHECK(w.g.rate > 9 * GBIT);
}

/* A deep queue drops nothing: who sends tells that it stands */
static void grant__a_deep_queue_is_seen(void)
{
	start(10 * GBIT, 1000);
	w.told = true;
	on(0, 16, 10 * GBIT / 15);
	run_for(4 * MS);
	CHECK_EQ(w.lost, 0);
	run_for(20 * MS);
	CHECK_EQ(w.lost, 0);
	CHECK(w.g.rate > 99 * GBIT / 10);
	CHECK(dlcp_grant_rate(&w.g, &w.s[0].e, w.now) < 10 * GBIT / 16);
	/* What one alone sees may be made by others than ours */
	start(10 * GBIT, 1000);
	w.told = true;
	on(0, 1, 101 * GBIT / 10);
	run_for(50 * MS);
	CHECK_EQ(w.lost, 0);
	CHECK_EQ(w.g.rate, 0);
}

static void grant__alone_there_is_no_limit(void)
{
	start(10 * GBIT, 32);
	on(0, 8, 5 * GBIT);
	run_for(20 * MS);
	CHECK(w.g.rate > 9 * GBIT);
	off(1, 8);
	run_for(2 * MS);
	CHECK_EQ(dlcp_grant_rate(&w.g, &w.s[0].e, w.now), 0);
}

static void grant__those_who_stay_get_what_others_leave(void)
{
	u64 share;

	start(10 * GBIT, 32);
	on(0, 64, 5 * GBIT);
	run_for(50 * MS);
	off(2, 64);
	run_for(1 * MS);
	share = dlcp_grant_rate(&w.g, &w.s[0].e, w.now);
	CHECK(share > 48 * GBIT / 10 && share < 52 * GBIT / 10);
	/* who rested starts with the share it had among all */
	share = dlcp_grant_rate(&w.g, &w.s[5].e, w.now);
	CHECK(share > 10 * GBIT / 70 && share < 10 * GBIT / 60);
	/* after a second of silence the past does not count */
	run_for(1100 * MS);
	CHECK_EQ(w.g.nr_idle, 0);
	CHECK_EQ(w.g.nr_busy, 2);
}

static void grant__all_start_together_again(void)
{
	u64 lost;
	int i;

	start(10 * GBIT, 32);
	on(0, 64, 5 * GBIT);
	run_for(50 * MS);
	for (i = 0; i < 10; i++) {
		off(0, 64);
		run_for(5 * MS);
		lost = w.lost;
		on(0, 64, 5 * GBIT);
		run_for(20 * MS);
	}
	FIGURE("64 senders starting again: %llu packets lost",
	       (unsigned long long)(w.lost - lost));
	CHECK(w.lost - lost < 64);
}

static void grant__who_sends_little_leaves_the_rest(void)
{
	start(10 * GBIT, 32);
	on(0, 4, 5 * GBIT);
	run_for(20 * MS);
	on(4, 20, GBIT / 50);
	run_for(100 * MS);
	count_from_here();
	run_for(100 * MS);
	FIGURE("4 of 20 senders want all: %.3f of the link used",
	       used(100 * MS));
	CHECK(used(100 * MS) > 0.93);
}

/* Nor does the link seem slower for it when this lasts: with a share that is left
 * in part to grow by, it is never quite full
 */
static void grant__who_sends_less_for_long(void)
{
	start(10 * GBIT, 32);
	on(0, 2, 10 * GBIT);
	run_for(50 * MS);
	on(0, 1, 3 * GBIT);
	run_for(4 * SEC);
	count_from_here();
	run_for(100 * MS);
	FIGURE("one of two wants a third for 4 s: %.3f of the link used",
	       used(100 * MS));
	CHECK(used(100 * MS) > 0.9);
	CHECK(w.g.rate > 99 * GBIT / 10);
}

struct lie {
	int	senders;
	int	liars;
	u64	rate;		/* a liar sends at */
	u64	before;		/* and each of the others when it begins to lie */
	u32	holes;
	bool	queued;
	u8	turns;
};

/* Who leaves holes in its packet numbers, or tells of a queue, where nothing is
 * full: the others lose no more than what a sender of so much always takes
 */
static void grant__a_lie_takes_nothing(void)
{
	static const struct lie lies[] = {
		{ 2, 1, GBIT / 2, GBIT / 2, 0, true, NONE },
		{ 2, 1, GBIT / 100, GBIT / 2, 100, true, NONE },
		{ 2, 1, GBIT / 2, 10 * GBIT, 10, false, NONE },
		{ 9, 1, GBIT / 2, GBIT / 2, 10, true, NONE },
		{ 64, 12, GBIT / 100, GBIT / 16, 100, false, NONE },
		{ 64, 12, GBIT / 100, 10 * GBIT, 10, false, NONE },
		{ 9, 2, GBIT / 100, 10 * GBIT, 9, true, CLASSES },
		{ 9, 2, GBIT / 10, 10 * GBIT, 0, false, CLASSES },
		{ 9, 2, GBIT / 100, 10 * GBIT, 0, false, CLASSES_SLOWLY },
		{ 9, 2, GBIT / 100, 10 * GBIT, 0, false, LENGTHS },
		{ 9, 2, GBIT / 100, 10 * GBIT, 0, false, ENDS },
	};
	static const char *const says[] = {
		"", ", classes", ", classes slowly", ", lengths", ", ends",
	};
	double theirs, honest;
	const struct lie *l;
	int i;

	for (l = lies; l < lies + ARRAY_SIZE(lies); l++) {
		start(10 * GBIT, 32);
		for (i = 0; i < l->liars; i++) {
			w.s[i].holes = l->holes;
			w.s[i].queued = l->queued;
			w.s[i].turns = l->turns;
		}
		for (i = 0; i < l->senders; i++)
			w.s[i].prio = DLCP_PRIO_DEFAULT;
		on(0, l->liars, l->rate);
		on(l->liars, l->senders, l->before);
		run_for(100 * MS);
		on(l->liars, l->senders, 10 * GBIT);
		run_for(2 * SEC);
		count_from_here();
		run_for(200 * MS);
		for (i = 0, theirs = 0; i < l->liars; i++)
			theirs += w.s[i].got;
		theirs /= (double)w.rate / 5;
		honest = used(200 * MS) - theirs;
		FIGURE("%d of %d lie (%u holes%s%s) and send %.3f of the link: others %.3f",
		       l->liars, l->senders, l->holes,
		       l->queued ? ", queue" : "", says[l->turns],
		       theirs, honest);
		CHECK(honest + theirs * 5 / 4 > 0.96);
	}
}

static void grant__follows_the_link(void)
{
	start(10 * GBIT, 32);
	on(0, 16, 5 * GBIT);
	run_for(50 * MS);
	w.rate = 40 * GBIT;
	run_for(1 * SEC);
	count_from_here();
	run_for(100 * MS);
	FIGURE("link four times as fast: %.3f used", used(100 * MS));
	CHECK(used(100 * MS) > 0.95);
	w.rate = 10 * GBIT;
	run_for(3 * SEC);
	count_from_here();
	run_for(100 * MS);
	FIGURE("and as before: %.3f %% lost", 100.0 * w.lost / w.sent);
	CHECK(w.lost < w.sent / 100);
}

/* All of class @prio have a message of @len bytes from now on */
static void begin(int from, int to, u8 prio, u64 len)
{
	int i;

	on(from, to, 10 * GBIT);
	for (i = from; i < to; i++) {
		w.s[i].prio = prio;
		w.s[i].len = len;
		w.s[i].got = 0;
		w.s[i].done = 0;
	}
}

/* ns from @start until the last message was there, as part of what the link
 * takes for so many bytes
 */
static double ended(int from, int to, u64 start, u64 bytes)
{
	u64 last = 0;
	int i;

	for (i = from; i < to; i++) {
		CHECK(w.s[i].done);
		last = max(last, w.s[i].done);
	}
	return (double)(last - start) / ((double)bytes * SEC / w.rate);
}

/* A link that has been full, and nobody is sending */
static void learnt(u32 queue)
{
	start(10 * GBIT, queue);
	on(0, 32, 5 * GBIT);
	run_for(50 * MS);
	off(0, 32);
	run_for(5 * MS);
	count_from_here();
}

/* As if the urgent ones had the link to themselves, but for a ninth of it; the
 * others wait and lose nothing by it
 */
static void grant__urgent_class_first(void)
{
	static const int nr[] = { 1, 4, 16, 28 };
	double urgent, all;
	size_t i;
	u64 t;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		learnt(32);
		t = w.now;
		begin(0, nr[i], 2, 16 * PKT * 1000 / nr[i]);
		begin(nr[i], 32, 5, 16 * PKT * 1000 / (32 - nr[i]));
		run_for(100 * MS);
		urgent = ended(0, nr[i], t, 16 * PKT * 1000);
		all = ended(0, 32, t, 32 * PKT * 1000);
		FIGURE("%d of 32 senders more urgent, half of the bytes: there after %.3f of their time, all after %.3f; %.3f %% lost",
		       nr[i], urgent, all, 100.0 * w.lost / w.sent);
		CHECK(urgent < 1.30);
		CHECK(all < 1.10);
		CHECK(w.lost < w.sent / 100);
	}
}

/* Those who come later with something more urgent, or much shorter */
static void grant__latecomers(void)
{
	double late;
	int shorter;
	u64 t;

	for (shorter = 0; shorter < 2; shorter++) {
		learnt(32);
		begin(0, 16, 4, 2000 * PKT);
		run_for(5 * MS);
		t = w.now;
		begin(16, 20, shorter ? 4 : 3, shorter ? 250 * PKT : 500 * PKT);
		run_for(200 * MS);
		late = ended(16, 20, t, shorter ? 1000 * PKT : 2000 * PKT);
		FIGURE("4 of 20, %s: there after %.2f of their time alone",
		       shorter ? "shorter" : "more urgent", late);
		/* A fair share would be five times as long */
		CHECK(late < (shorter ? 2.8 : 1.6));
	}
}

/* A stream that never ends leaves the others something */
static void grant__nobody_starves(void)
{
	int i;

	learnt(32);
	begin(0, 8, 0, 0);
	begin(8, 16, 7, 0);
	run_for(50 * MS);
	count_from_here();
	run_for(100 * MS);
	for (i = 8; i < 16; i++)
		CHECK(w.s[i].got > w.got / 9 / 8 * 7 / 10);
	CHECK(used(100 * MS) > 0.97);
}

/* What the urgent ones do not use is the others' */
static void grant__urgent_who_send_little(void)
{
	learnt(32);
	begin(0, 4, 0, 0);
	on(0, 4, GBIT / 50);
	begin(4, 20, 7, 0);
	run_for(200 * MS);
	count_from_here();
	run_for(100 * MS);
	FIGURE("4 of 20 are urgent and send little: %.3f of the link used",
	       used(100 * MS));
	CHECK(used(100 * MS) > 0.93);
}

/* One after the other goes on with its next layer, also those who were the
 * last in a class: whoever has which part, all together have the link
 */
static void grant__next_class(void)
{
	struct dlcp_grantee *e;
	double sum;
	int i, k;
	u8 prio;

	learnt(32);
	begin(0, 16, 0, 0);
	run_for(5 * MS);
	for (prio = 1; prio <= DLCP_PRIO_MAX; prio++) {
		for (i = 0; i < 16; i++) {
			e = &w.s[i].e;
			dlcp_grant_rank(&w.g, e, prio, 300000);
			w.s[i].prio = prio;
			for (k = 0, sum = 0; k < 16; k++)
				sum += dlcp_grant_rate(&w.g, &w.s[k].e, w.now);
			CHECK(sum > 0.97 * w.g.rate && sum < 1.03 * w.g.rate);
		}
	}
}

/* Nobody keeps the link for a few bytes that may have been lost, and come again
 * between others of a lower class
 */
static void grant__last_bytes(void)
{
	struct dlcp_grantee *e = &w.s[0].e;
	double sum;
	u64 left;
	int k;

	learnt(32);
	begin(0, 32, 5, 0);
	run_for(5 * MS);
	for (left = 800 * PKT; left; left -= PKT) {
		w.now += 2 * US;
		dlcp_grant_rank(&w.g, e, 0, left);
		for (k = 1, sum = 0; k < 32; k++)
			sum += dlcp_grant_rate(&w.g, &w.s[k].e, w.now);
		/* 8/9 for who has much left, and a share for who has not */
		CHECK(left > 500 * PKT ? sum < 0.2 * w.g.rate :
					 sum > 0.05 * w.g.rate);
	}
	FIGURE("others have %.2f of the link while the last packet is missing",
	       sum / w.g.rate);
	CHECK(sum > 0.9 * w.g.rate);
}

/* One that changes its class all the time costs no more than so many looks at
 * the others, and the parts are right when the epoch is over
 */
static void grant__changes_are_bounded(void)
{
	struct dlcp_grantee *e = &w.s[0].e;
	u64 epoch;
	u32 most = 0;
	int i;

	learnt(32);
	begin(0, SENDERS, 5, 0);
	run_for(5 * MS);
	epoch = w.g.start;
	for (i = 0; w.g.start == epoch; i++) {
		w.now += 100;
		dlcp_grant_rank(&w.g, e, i % 2 ? 5 : 1, 300000);
		most = max(most, w.g.looks);
		if (i % 12 == 0)
			dlcp_grant_arrived(&w.g, e, PKT, 0, 0, w.now);
	}
	CHECK(i > 1000);
	CHECK(most < 10000);
	CHECK_EQ(w.g.looks, 0);
	CHECK(e->prio == 1 ? e->part > 100 * DLCP_GRANT_ONE :
			     e->part == DLCP_GRANT_ONE);
}

/* Whatever the class of its last message, nobody begins as more urgent */
static void grant__begins_in_its_class(void)
{
	static const u8 prios[] = { 3, 5, 0, 7 };
	struct dlcp_grantee *e;
	u64 now = SEC;
	u32 k, i;

	start(10 * GBIT, 32);
	for (k = 0; k < ARRAY_SIZE(prios); k++) {
		for (i = 0; i < 16; i++) {
			e = &w.s[i].e;
			now += US;
			dlcp_grant_rank(&w.g, e, prios[k], 300000);
			dlcp_grant_arrived(&w.g, e, PKT, 0, 0, now);
			dlcp_grant_rate(&w.g, e, now);
			CHECK_EQ(e->prio, prios[k]);
			CHECK_EQ(e->part, DLCP_GRANT_ONE);
			CHECK(w.g.shares <= 16 * DLCP_GRANT_ONE);
		}
		for (i = 0; i < 16; i++)
			dlcp_grant_rest(&w.g, &w.s[i].e, ++now);
	}
}

static void grant__random_calls(void)
{
	struct dlcp_grantee *e;
	u32 busy, idle, weight;
	u64 now = SEC;
	int i, k;

	start(10 * GBIT, 32);
	for (i = 0; i < 200000; i++) {
		e = &w.s[rnd_below(SENDERS)].e;
		now += rnd_below(8) ? rnd_below(20 * US) :
		       rnd() >> (34 + rnd_below(30));
		switch (rnd_below(8)) {
		case 0:
			dlcp_grant_rest(&w.g, e, now);
			break;
		case 1:
			dlcp_grant_leave(&w.g, e);
			break;
		default:
			/* Clocks of processors differ a little */
			dlcp_grant_rtt(&w.g, rnd() >> (24 + rnd_below(40)));
			dlcp_grant_arrived(&w.g, e, rnd() >> (24 + rnd_below(40)),
					   rnd_below(3), rnd_below(3),
					   now - rnd_below(500));
			if (rnd_below(2))
				dlcp_grant_rank(&w.g, e, rnd_below(8),
						rnd() >> (20 + rnd_below(44)));
			dlcp_grant_rate(&w.g, e, now);
			break;
		}
		if (i % 64)
			continue;
		busy = 0;
		idle = 0;
		weight = 0;
		for (k = 0; k < SENDERS; k++) {
			e = &w.s[k].e;
			busy += e->state == DLCP_GRANT_BUSY;
			idle += e->state == DLCP_GRANT_IDLE;
			if (e->state == DLCP_GRANT_BUSY)
				weight += max_t(u64, (u64)e->weight * e->part /
						     DLCP_GRANT_ONE, 1);
		}
		CHECK_EQ(busy, w.g.nr_busy);
		CHECK_EQ(idle, w.g.nr_idle);
		CHECK_EQ(weight, w.g.weight);
	}
}

/* What is lost on the way to the link does not leave it idle */
static void grant__loss_before_the_link(void)
{
	static const double before[] = { 0, 0.01, 0.02 };
	double all[ARRAY_SIZE(before)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(before); i++) {
		start(10 * GBIT, 32);
		on(0, 32, 5 * GBIT);
		run_for(40 * MS);
		w.before = before[i];
		run_for(40 * MS);
		count_from_here();
		run_for(100 * MS);
		all[i] = used(100 * MS);
		FIGURE("%.0f %% lost before the link: %.4f of it used",
		       100 * before[i], all[i]);
		CHECK(all[i] > 0.985);
		/* Nor are they taken for room in the link */
		CHECK(w.lost < w.sent / 500);
	}
}

/* Who is limited elsewhere while the link is learnt makes it seem slower */
static void grant__learnt_low_is_found_soon(void)
{
	u64 learnt;

	start(10 * GBIT, 32);
	w.loss = 0.05;
	on(0, 32, 9 * GBIT / 32);
	run_for(20 * MS);
	learnt = w.g.rate;
	w.loss = 0;
	run_for(10 * MS);
	on(0, 32, 5 * GBIT);
	run_for(30 * MS);
	count_from_here();
	run_for(20 * MS);
	FIGURE("learnt at %.3f of the link: %.3f of it used 30 ms after more could be sent",
	       (double)learnt / w.rate, used(20 * MS));
	CHECK(learnt && learnt < 95 * (w.rate / 100));
	CHECK(used(20 * MS) > 0.97);
}

/* Who has lost more than others, and so has more left, is not left alone with
 * the link in the end
 */
static void grant__those_alike_end_together(void)
{
	u64 first = U64_MAX, last = 0, t;
	int i;

	learnt(32);
	t = w.now;
	begin(0, 16, 3, 900 * PKT);
	begin(16, 32, 3, 1100 * PKT);
	run_for(100 * MS);
	for (i = 0; i < 32; i++) {
		CHECK(w.s[i].done);
		first = min(first, w.s[i].done);
		last = max(last, w.s[i].done);
	}
	FIGURE("16 of 32 have a fifth more: the first ends after %.3f of the time, all after %.3f of what the link takes",
	       (double)(first - t) / (last - t),
	       ended(0, 32, t, 32000 * PKT));
	CHECK(first - t > (last - t) * 98 / 100);
	CHECK(ended(0, 32, t, 32000 * PKT) < 1.03);
}

TESTS(T(grant__nothing_known_no_limit),
      T(grant__incast_fills_the_link_without_loss),
      T(grant__random_loss_is_no_full_link),
      T(grant__little_traffic_teaches_nothing),
      T(grant__a_deep_queue_is_seen),
      T(grant__alone_there_is_no_limit),
      T(grant__those_who_stay_get_what_others_leave),
      T(grant__all_start_together_again),
      T(grant__who_sends_little_leaves_the_rest),
      T(grant__who_sends_less_for_long), T(grant__a_lie_takes_nothing),
      T(grant__follows_the_link),
      T(grant__urgent_class_first), T(grant__latecomers),
      T(grant__nobody_starves), T(grant__urgent_who_send_little),
      T(grant__next_class),
      T(grant__last_bytes),
      T(grant__changes_are_bounded),
      T(grant__begins_in_its_class),
      T(grant__loss_before_the_link),
      T(grant__learnt_low_is_found_soon),
      T(grant__those_alike_end_together),
      T(grant__random_calls))
