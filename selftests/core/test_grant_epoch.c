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

/* Of senders that would send at @want, each @len bytes */
static void bursts(int nr, int senders, u64 len, u64 want)
{
	int i, k;

	for (i = 0; i < nr; i++) {
		for (k = 0; k < senders; k++) {
			w.s[k].got = 0;
			w.s[k].len = len;
		}
		on(0, senders, want);
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
	u64 len;

	for (i = 0; i < ARRAY_SIZE(gbit); i++) {
		start(gbit[i] * GBIT, 32);
		len = w.rate / 1000 / 8;
		bursts(8, 8, len, w.rate / 2);
		count_from_here();
		bursts(20, 8, len, w.rate / 2);
		FIGURE("bursts of 1 ms at %llu Gbit/s: %.3f of the link known, %.2f %% lost",
		       (unsigned long long)gbit[i], (double)w.g.rate / w.rate,
		       100.0 * w.lost / w.sent);
		CHECK(w.g.rate > w.rate / 100 * 97);
		CHECK(w.g.rate < w.rate / 1000 * 1010);
		CHECK(w.lost < w.sent / 100);
	}
}

static void teaches_nothing(int senders, u64 len, u64 want)
{
	bursts(20, senders, len, want);
	FIGURE("%d senders of %llu bytes: %.1f %% lost", senders,
	       (unsigned long long)len, 100.0 * w.lost / w.sent);
	CHECK_EQ(w.g.rate, 0);
}

/* Of 0.3 ms, of three packets of each sender, of senders that are far away; and of
 * those for whom the link has room, but that loses by itself
 */
static void grant__bursts_that_show_nothing(void)
{
	start(10 * GBIT, 32);
	teaches_nothing(8, w.rate * 3 / 10000 / 8, w.rate / 2);
	CHECK(w.lost > w.sent / 32);
	start(10 * GBIT, 32);
	teaches_nothing(250, 3 * PKT, w.rate / 2);
	CHECK(w.lost > w.sent / 32);
	start(10 * GBIT, 32);
	w.delay = 400 * US / TICK;
	teaches_nothing(8, w.rate / 1000 / 8, w.rate / 2);
	CHECK(w.lost > w.sent / 32);
	start(10 * GBIT, 32);
	w.loss = 0.02;
	teaches_nothing(8, w.rate / 1000 / 8, w.rate / 9);
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
      T(grant__bursts_that_show_nothing),
      T(grant__turns_share_nothing))
