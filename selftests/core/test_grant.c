// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver's grants: one link, a short queue, senders that obey them and
 * would else send as fast as they like. What they are told takes effect a
 * round trip later.
 */
#include "test.h"
#include "grant.h"

#define US	1000ULL
#define MS	1000000ULL
#define SEC	1000000000ULL
#define GBIT	125000000ULL
#define PKT	1500
#define TICK	(5 * US)
#define DELAY	10		/* ticks until the sender knows, */
#define FAR	2000		/* and one that is far away */
#define SENDERS	256

/* What it says of each packet's message to have always something new to say */
enum turns {
	NONE, CLASSES, CLASSES_SLOWLY, LENGTHS, ENDS
};

struct sender {
	struct dlcp_grantee e;
	u64	told[FAR];	/* ring of grants on their way */
	u64	want;		/* bytes per second without a grant */
	u64	owed;		/* part of a packet, bytes * SEC */
	u64	lost;		/* not yet seen by the receiver */
	u64	got;
	u64	len;		/* of its message; 0: it has no end */
	u64	done;		/* its message was complete then */
	u32	holes;		/* packet numbers it leaves out before each */
	u8	turns;		/* enum turns */
	u8	prio;
	bool	queued;		/* tells of a queue, whatever it sees */
	bool	on;
};

static struct {
	struct dlcp_grant g;
	struct sender s[SENDERS];
	u64	now;
	u64	rate;
	u64	busy;		/* the link is busy until */
	u64	tick;
	u32	delay;		/* ticks until senders know */
	u64	lost;
	u64	sent;
	u64	got;
	u32	queue;		/* packets */
	double	loss;		/* at random, behind the queue */
	double	before;		/* and before it */
	bool	told;		/* senders tell of a queue */
} w;

static void start(u64 rate, u32 queue)
{
	memset(&w, 0, sizeof(w));
	dlcp_grant_init(&w.g);
	w.now = SEC;
	w.rate = rate;
	w.queue = queue;
	w.delay = DELAY;
}

static void on(int from, int to, u64 want)
{
	int i;

	for (i = from; i < to; i++) {
		w.s[i].on = true;
		w.s[i].want = want;
		/* Paced senders do not send at the same instant */
		w.s[i].owed = rnd_below(PKT * SEC);
	}
}

static void off(int from, int to)
{
	int i;

	for (i = from; i < to; i++) {
		w.s[i].on = false;
		dlcp_grant_rest(&w.g, &w.s[i].e, w.now);
	}
}

static void say_rank(struct sender *s)
{
	bool odd = s->got / PKT % 2;
	u64 left = s->len ? s->len - s->got : 0;
	u8 prio = s->prio;

	switch (s->turns) {
	case CLASSES:
		prio = odd ? DLCP_PRIO_MAX : 0;
		left = SEC;
		break;
	case CLASSES_SLOWLY:
		prio = w.now / (5 * MS) % 2 ? DLCP_PRIO_MAX : 0;
		left = SEC;
		break;
	case LENGTHS:
		left = odd ? 100 * PKT : SEC;
		break;
	case ENDS:
		prio = 0;
		left = SEC;
		dlcp_grant_rest(&w.g, &s->e, w.busy);
		break;
	}
	dlcp_grant_rank(&w.g, &s->e, prio, left);
}

static void one_packet(struct sender *s)
{
	u64 tx = PKT * SEC / w.rate;
	u64 wait = w.busy > w.now ? w.busy - w.now : 0;

	w.sent++;
	if (w.before > 0 && rnd_below(1000000) < w.before * 1000000) {
		s->lost++;
		return;
	}
	if (wait / tx >= w.queue) {
		w.lost++;
		s->lost++;
		return;
	}
	w.busy = max(w.busy, w.now) + tx;
	if (rnd_below(1000000) < w.loss * 1000000) {
		s->lost++;
		return;
	}
	s->got += PKT;
	w.got += PKT;
	say_rank(s);
	dlcp_grant_rtt(&w.g, w.delay * TICK);
	/* It leaves the link when those before it have */
	dlcp_grant_arrived(&w.g, &s->e, PKT, s->lost + s->holes,
			   s->queued || (w.told && wait > 30 * US), w.busy);
	s->lost = 0;
	if (s->len && s->got >= s->len) {
		s->on = false;
		s->done = w.busy;
		dlcp_grant_rest(&w.g, &s->e, w.busy);
	}
	s->told[w.tick % w.delay] = dlcp_grant_rate(&w.g, &s->e, w.busy);
}

static void tick(void)
{
	struct sender *s;
	u64 rate, old;
	int i;

	w.now += TICK;
	w.tick++;
	for (i = 0; i < SENDERS; i++) {
		s = &w.s[(i + w.tick) % SENDERS];
		old = s->told[w.tick % w.delay];
		s->told[w.tick % w.delay] = s->told[(w.tick - 1) % w.delay];
		if (!s->on)
			continue;
		rate = old ? min(old, s->want) : s->want;
		/* No sender's timers are exact */
		for (s->owed += rate * TICK / 100 * (95 + rnd_below(11));
		     s->on && s->owed >= PKT * SEC; s->owed -= PKT * SEC)
			one_packet(s);
	}
}

static void run(u64 ns)
{
	u64 end = w.now + ns;

	while (w.now < end)
		tick();
}

static void count_from_here(void)
{
	int i;

	w.lost = 0;
	w.sent = 0;
	w.got = 0;
	for (i = 0; i < SENDERS; i++)
		w.s[i].got = 0;
}

static double used(u64 ns)
{
	return (double)w.got / ((double)w.rate * ns / SEC);
}

static void grant__nothing_known_no_limit(void)
{
	start(10 * GBIT, 32);
	on(0, 8, GBIT / 2);
	run(50 * MS);
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
			run(20 * MS);
			count_from_here();
			run(300 * MS);
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
	run(50 * MS);
	/* A rate may be taken for the link's, but must not stay */
	on(0, 32, 5 * GBIT);
	run(100 * MS);
	count_from_here();
	run(100 * MS);
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
	run(2 * SEC);
	CHECK_EQ(w.g.rate, 0);
	w.loss = 0;
	on(0, 8, 5 * GBIT);
	run(20 * MS);
	CHECK(w.g.rate > 9 * GBIT);
	/* Nor is what was learnt forgotten for it */
	w.loss = 0.1;
	on(0, 8, 2 * PKT * 1000);
	run(5 * SEC);
	CHECK(w.g.rate > 9 * GBIT);
}

/* A deep queue drops nothing: who sends tells that it stands */
static void grant__a_deep_queue_is_seen(void)
{
	start(10 * GBIT, 1000);
	w.told = true;
	on(0, 16, 10 * GBIT / 15);
	run(4 * MS);
	CHECK_EQ(w.lost, 0);
	run(20 * MS);
	CHECK_EQ(w.lost, 0);
	CHECK(w.g.rate > 99 * GBIT / 10);
	CHECK(dlcp_grant_rate(&w.g, &w.s[0].e, w.now) < 10 * GBIT / 16);
	/* What one alone sees may be made by others than ours */
	start(10 * GBIT, 1000);
	w.told = true;
	on(0, 1, 101 * GBIT / 10);
	run(50 * MS);
	CHECK_EQ(w.lost, 0);
	CHECK_EQ(w.g.rate, 0);
}

static void grant__alone_there_is_no_limit(void)
{
	start(10 * GBIT, 32);
	on(0, 8, 5 * GBIT);
	run(20 * MS);
	CHECK(w.g.rate > 9 * GBIT);
	off(1, 8);
	run(2 * MS);
	CHECK_EQ(dlcp_grant_rate(&w.g, &w.s[0].e, w.now), 0);
}

static void grant__those_who_stay_get_what_others_leave(void)
{
	u64 share;

	start(10 * GBIT, 32);
	on(0, 64, 5 * GBIT);
	run(50 * MS);
	off(2, 64);
	run(1 * MS);
	share = dlcp_grant_rate(&w.g, &w.s[0].e, w.now);
	CHECK(share > 48 * GBIT / 10 && share < 52 * GBIT / 10);
	/* who rested starts with the share it had among all */
	share = dlcp_grant_rate(&w.g, &w.s[5].e, w.now);
	CHECK(share > 10 * GBIT / 70 && share < 10 * GBIT / 60);
	/* after a second of silence the past does not count */
	run(1100 * MS);
	CHECK_EQ(w.g.nr_idle, 0);
	CHECK_EQ(w.g.nr_busy, 2);
}

static void grant__all_start_together_again(void)
{
	u64 lost;
	int i;

	start(10 * GBIT, 32);
	on(0, 64, 5 * GBIT);
	run(50 * MS);
	for (i = 0; i < 10; i++) {
		off(0, 64);
		run(5 * MS);
		lost = w.lost;
		on(0, 64, 5 * GBIT);
		run(20 * MS);
	}
	FIGURE("64 senders starting again: %llu packets lost",
	       (unsigned long long)(w.lost - lost));
	CHECK(w.lost - lost < 64);
}

static void grant__who_sends_little_leaves_the_rest(void)
{
	start(10 * GBIT, 32);
	on(0, 4, 5 * GBIT);
	run(20 * MS);
	on(4, 20, GBIT / 50);
	run(100 * MS);
	count_from_here();
	run(100 * MS);
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
	run(50 * MS);
	on(0, 1, 3 * GBIT);
	run(4 * SEC);
	count_from_here();
	run(100 * MS);
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
		run(100 * MS);
		on(l->liars, l->senders, 10 * GBIT);
		run(2 * SEC);
		count_from_here();
		run(200 * MS);
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
	run(50 * MS);
	w.rate = 40 * GBIT;
	run(1 * SEC);
	count_from_here();
	run(100 * MS);
	FIGURE("link four times as fast: %.3f used", used(100 * MS));
	CHECK(used(100 * MS) > 0.95);
	w.rate = 10 * GBIT;
	run(3 * SEC);
	count_from_here();
	run(100 * MS);
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
	run(50 * MS);
	off(0, 32);
	run(5 * MS);
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
		run(100 * MS);
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
		run(5 * MS);
		t = w.now;
		begin(16, 20, shorter ? 4 : 3, shorter ? 250 * PKT : 500 * PKT);
		run(200 * MS);
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
	run(50 * MS);
	count_from_here();
	run(100 * MS);
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
	run(200 * MS);
	count_from_here();
	run(100 * MS);
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
	run(5 * MS);
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
	run(5 * MS);
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
	run(5 * MS);
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
		run(40 * MS);
		w.before = before[i];
		run(40 * MS);
		count_from_here();
		run(100 * MS);
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
	run(20 * MS);
	learnt = w.g.rate;
	w.loss = 0;
	run(10 * MS);
	on(0, 32, 5 * GBIT);
	run(30 * MS);
	count_from_here();
	run(20 * MS);
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
	run(100 * MS);
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

/* Those who are far away send what they are granted a round trip later: by then the
 * receiver has not granted all of them more, as if they had no use for it
 */
static void grant__far_senders_are_waited_for(void)
{
	double most = 0, sum;
	int i, k;

	start(GBIT, 400);
	w.delay = FAR;
	on(0, 8, GBIT / 2);
	run(200 * MS);
	CHECK(w.g.rate);
	count_from_here();
	for (i = 0; i < 20; i++) {
		/* A loss makes all of them slow for a round trip */
		if (i % 5 == 0)
			on(0, 8, GBIT / 64);
		else if (i % 5 == 1)
			on(0, 8, GBIT / 2);
		for (k = 0; k < 10; k++) {
			run(MS);
			sum = 8.0 * w.s[0].told[w.tick % w.delay];
			most = max(most, sum / w.rate);
		}
	}
	FIGURE("8 senders at 10 ms, slow now and then: %.2f of the link granted at most, %.2f %% lost",
	       most, 100.0 * w.lost / w.sent);
	CHECK(most < 1.5);
	CHECK(w.lost < w.sent / 500);
}

/* Nor does the link seem slower for it if what they send takes less than an epoch */
static void grant__far_and_short_shows_the_link(void)
{
	int i;

	start(GBIT, 400);
	w.delay = FAR;
	on(0, 8, GBIT / 2);
	run(200 * MS);
	off(1, 8);
	on(0, 1, GBIT / 64);
	/* Learnt low, by what others held back */
	w.g.rate = GBIT / 2;
	w.g.best[0] = w.g.rate;
	w.g.best[1] = 0;
	for (i = 0; i < 40; i++) {
		on(1, 8, GBIT / 2);
		run(5 * MS);
		off(1, 8);
		run(15 * MS);
	}
	FIGURE("8 senders at 10 ms that send 5 of 20 ms: %.3f of the link known",
	       (double)w.g.rate / w.rate);
	CHECK(w.g.rate > 95 * (w.rate / 100) && w.g.rate < 103 * (w.rate / 100));
}

static void bursts(int nr, int senders, u64 len)
{
	int i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < senders; k++) {
			w.s[k].got = 0;
			w.s[k].len = len;
		}
		on(0, senders, w.rate / 2);
		run(4 * MS);
	}
}

/* Bursts that are over before an epoch is show the link, too: of each sender more
 * than some packets, and long against a round trip
 */
static void grant__bursts_show_the_link(void)
{
	static const u64 gbit[] = { 2, 10, 40 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gbit); i++) {
		start(gbit[i] * GBIT, 32);
		bursts(8, 8, gbit[i] * GBIT / 1000 / 8);
		count_from_here();
		bursts(20, 8, gbit[i] * GBIT / 1000 / 8);
		FIGURE("bursts of 1 ms at %llu Gbit/s: %.3f of the link known, %.2f %% lost",
		       (unsigned long long)gbit[i], (double)w.g.rate / w.rate,
		       100.0 * w.lost / w.sent);
		CHECK(w.g.rate > w.rate / 100 * 97);
		CHECK(w.g.rate < w.rate / 1000 * 1010);
		CHECK(w.lost < w.sent / 100);
	}
	/* Nothing is learnt of shorter ones, and of three packets of each */
	start(10 * GBIT, 32);
	bursts(20, 8, GBIT / 10000 * 2 / 8);
	CHECK_EQ(w.g.rate, 0);
	start(10 * GBIT, 32);
	bursts(20, 250, 3 * PKT);
	CHECK(w.lost > 0);
	CHECK_EQ(w.g.rate, 0);
	/* A link that loses by itself is not full for it */
	start(10 * GBIT, 32);
	w.loss = 0.01;
	bursts(20, 1, GBIT / 1000);
	CHECK_EQ(w.g.rate, 0);
}

/* Who fills the queue alone, one after another, shares the link with nobody */
static void grant__turns_share_nothing(void)
{
	int i, k;

	start(10 * GBIT, 32);
	for (i = 0; i < 20; i++) {
		for (k = 0; k < 4; k++) {
			on(k, k + 1, w.rate + w.rate / 8);
			run(300 * US);
			/* The next one begins before this one ends */
			on(k + 1, k + 2, w.rate + w.rate / 8);
			run(50 * US);
			off(k, k + 1);
		}
		off(4, 5);
		run(2 * MS);
	}
	CHECK(w.lost > w.sent / 16);
	CHECK_EQ(w.g.rate, 0);
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
      T(grant__far_senders_are_waited_for),
      T(grant__far_and_short_shows_the_link),
      T(grant__bursts_show_the_link),
      T(grant__turns_share_nothing),
      T(grant__random_calls))
