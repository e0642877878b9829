// SPDX-License-Identifier: GPL-2.0
/* The receiver's grants: what counts as an epoch, of senders that are far away, or done soon */
#include "grant_world.h"

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
	run_for(200 * MS);
	CHECK(w.g.rate);
	count_from_here();
	for (i = 0; i < 20; i++) {
		/* A loss makes all of them slow for a round trip */
		if (i % 5 == 0)
			on(0, 8, GBIT / 64);
		else if (i % 5 == 1)
			on(0, 8, GBIT / 2);
		for (k = 0; k < 10; k++) {
			run_for(MS);
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
	run_for(200 * MS);
	off(1, 8);
	on(0, 1, GBIT / 64);
	/* Learnt low, by what others held back */
	w.g.rate = GBIT / 2;
	w.g.best[0] = w.g.rate;
	w.g.best[1] = 0;
	for (i = 0; i < 40; i++) {
		on(1, 8, GBIT / 2);
		run_for(5 * MS);
		off(1, 8);
		run_for(15 * MS);
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
		run_for(4 * MS);
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
			run_for(300 * US);
			/* The next one begins before this one ends */
			on(k + 1, k + 2, w.rate + w.rate / 8);
			run_for(50 * US);
			off(k, k + 1);
		}
		off(4, 5);
		run_for(2 * MS);
	}
	CHECK(w.lost > w.sent / 16);
	CHECK_EQ(w.g.rate, 0);
}

TESTS(T(grant__far_senders_are_waited_for),
      T(grant__far_and_short_shows_the_link),
      T(grant__bursts_show_the_link),
      T(grant__turns_share_nothing))
