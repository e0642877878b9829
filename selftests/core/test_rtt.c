// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "rtt.h"

#define US 1000ULL
#define MS 1000000ULL
#define SEC 1000000000ULL

static void rtt__nothing_known(void)
{
	struct dlcp_rtt r;

	dlcp_rtt_init(&r);
	CHECK_EQ(r.srtt, 0);
	CHECK_EQ(dlcp_rtt_pto(&r, 0), 999 * MS);
	CHECK_EQ(dlcp_rtt_pto(&r, 3 * MS), 1002 * MS);
	CHECK_EQ(dlcp_rtt_loss_delay(&r), 20 * US);
}

static void rtt__first_sample(void)
{
	struct dlcp_rtt r;

	dlcp_rtt_init(&r);
	dlcp_rtt_sample(&r, 80 * US, 0, 5);
	CHECK_EQ(r.srtt, 80 * US);
	CHECK_EQ(r.var, 40 * US);
	CHECK_EQ(r.min, 80 * US);
	CHECK_EQ(dlcp_rtt_pto(&r, 7), 80 * US + 160 * US + 7);
	/* One sample tells nothing of the spread yet */
	CHECK_EQ(dlcp_rtt_loss_delay(&r), 90 * US);
	dlcp_rtt_sample(&r, 160 * US, 0, 6);
	CHECK_EQ(r.var, 50 * US);
	CHECK_EQ(dlcp_rtt_loss_delay(&r), 180 * US);
}

static void rtt__loss_delay_follows_the_spread(void)
{
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	for (i = 0; i < 100; i++)
		dlcp_rtt_sample(&r, 80 * US, 0, i * MS);
	CHECK_EQ(dlcp_rtt_loss_delay(&r), 90 * US);
	/* A late packet of a path with jitter is not lost */
	for (i = 0; i < 100; i++)
		dlcp_rtt_sample(&r, (i & 1 ? 40 : 120) * US, 0, i * MS);
	CHECK(dlcp_rtt_loss_delay(&r) > 150 * US);
	CHECK(dlcp_rtt_loss_delay(&r) < 240 * US);
}

static void rtt__means_follow_rfc6298(void)
{
	struct dlcp_rtt r;
	/* in 1024ths of a ns */
	u64 srtt = 100000 * 1024, var = 50000 * 1024, x, d;
	int i;

	dlcp_rtt_init(&r);
	dlcp_rtt_sample(&r, 100000, 0, 0);
	for (i = 1; i < 1000; i++) {
		x = (50000 + rnd_below(100000)) * 1024;
		d = x > srtt ? x - srtt : srtt - x;
		var = (3 * var + d) / 4;
		srtt = (7 * srtt + x) / 8;
		dlcp_rtt_sample(&r, x / 1024, 0, (u64)i * 1000);
		CHECK(r.srtt + 10 > srtt / 1024 && r.srtt < srtt / 1024 + 10);
		CHECK(r.var + 20 > var / 1024 && r.var < var / 1024 + 20);
	}
}

static void rtt__extremes(void)
{
	struct dlcp_rtt r;

	dlcp_rtt_init(&r);
	dlcp_rtt_sample(&r, 0, 0, 0);
	CHECK(r.srtt && r.min);
	dlcp_rtt_sample(&r, U64_MAX, 0, U64_MAX);
	CHECK(r.srtt < U64_MAX / 16);
	CHECK(dlcp_rtt_pto(&r, 0) < U64_MAX / 16);
	CHECK(dlcp_rtt_loss_delay(&r) > 0);
	dlcp_rtt_init(&r);
	while (r.srtt != 1)
		dlcp_rtt_sample(&r, 1, 0, 0);
	CHECK_EQ(dlcp_rtt_pto(&r, 0), 1 + 50 * US);
}

/* Never below the true minimum of the window, never older than the window,
 * and below the best of the last sample.
 */
static void rtt__windowed_minimum(void)
{
	enum { N = 20000 };
	static u64 v[N], t[N];
	struct dlcp_rtt r;
	u64 best, now = 0;
	int i, k, lo = 0;
	bool found;

	dlcp_rtt_init(&r);
	for (i = 0; i < N; i++) {
		now += rnd_below(40 * MS);
		t[i] = now;
		v[i] = 50 * US + rnd_below(100 * US) + (u64)(i / 5000) * 60 * US;
		dlcp_rtt_sample(&r, v[i], 0, now);
		while (t[lo] + DLCP_RTT_MIN_WIN < now)
			lo++;
		best = U64_MAX;
		found = false;
		for (k = lo; k <= i; k++) {
			best = min(best, v[k]);
			found |= v[k] == r.min;
		}
		CHECK(r.min >= best);
		CHECK(r.min <= v[i]);
		CHECK(found);
	}
}

static void rtt__minimum_forgets_a_shorter_path(void)
{
	struct dlcp_rtt r;
	u64 now;

	dlcp_rtt_init(&r);
	dlcp_rtt_sample(&r, 10 * US, 0, 0);
	for (now = 0; now < 9 * SEC; now += SEC / 4)
		dlcp_rtt_sample(&r, 90 * US, 0, now);
	CHECK_EQ(r.min, 10 * US);
	for (; now < 11 * SEC; now += SEC / 4)
		dlcp_rtt_sample(&r, 90 * US, 0, now);
	CHECK_EQ(r.min, 90 * US);
	/* And after a silence at once */
	dlcp_rtt_sample(&r, 200 * US, 0, now + 60 * SEC);
	CHECK_EQ(r.min, 200 * US);
}

/* Packets that take their own time each, and a queue that everyone shares */
static void rtt__a_queue_is_no_noise(void)
{
	struct dlcp_rtt r;
	u64 queue = 0;
	int i;

	dlcp_rtt_init(&r);
	for (i = 0; i < 10000; i++)
		dlcp_rtt_sample(&r, (150 + rnd_below(100)) * US, 0, i * 10 * US);
	CHECK(dlcp_rtt_noise(&r) > 10 * US);
	CHECK(dlcp_rtt_noise(&r) <= 50 * US);

	dlcp_rtt_init(&r);
	dlcp_rtt_sample(&r, 150 * US, 0, 0);
	for (i = 1; i < 10000; i++) {
		queue = (queue + 3) % 100;
		dlcp_rtt_sample(&r, (190 + queue + rnd_below(8)) * US, 0,
				i * 10 * US);
		CHECK_EQ(dlcp_rtt_noise(&r), 0);
	}
}

/* A queue that stands from the first milliseconds on, and bursts that come to it */
static void rtt__a_queue_after_a_few_packets(void)
{
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	for (i = 0; i < 8; i++)
		dlcp_rtt_sample(&r, (52 + i % 4) * US, 0, i * 10 * US);
	for (; i < 10000; i++)
		dlcp_rtt_sample(&r, (110 + i % 4 * 20) * US, 0, i * 10 * US);
	CHECK(dlcp_rtt_noise(&r) < 10 * US);
}

/* A link of 16 Mbit/s lets a few packets pass at once. After that each waits for another */
static void rtt__the_first_packets_of_a_slow_link(void)
{
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	for (i = 0; i < 5; i++)
		dlcp_rtt_sample(&r, 20 * US, 0, i * US);
	for (; i < 30; i++)
		dlcp_rtt_sample(&r, min_t(u64, i, 15) * 720 * US, 0, i * 720 * US);
	CHECK(dlcp_rtt_noise(&r) > 720 * US);
}

/* Where ACKs stand in a queue their own time is taken off with it. What is left
 * varies less, but tells nothing of times without that queue.
 */
static void rtt__noise_is_of_the_whole_trip(void)
{
	u64 there, back, queue;
	struct dlcp_rtt r;
	int i;

	dlcp_rtt_init(&r);
	dlcp_rtt_sample(&r, 100 * US, 0, 0);
	for (i = 1; i < 20000; i++) {
		queue = i / 1000 % 2 ? 60 * US : 0;
		there = rnd_below(40) * US;
		back = rnd_below(40) * US;
		if (queue)
			dlcp_rtt_sample(&r, 100 * US + there, back + queue,
					i * 10 * US);
		else
			dlcp_rtt_sample(&r, 100 * US + there + back, 0,
					i * 10 * US);
	}
	CHECK(dlcp_rtt_noise(&r) > 15 * US);
	CHECK(dlcp_rtt_noise(&r) <= 40 * US);
}

/* The set-up tells at most what a packet takes; a sample tells what it does */
static void rtt__guess(void)
{
	struct dlcp_rtt r;

	dlcp_rtt_init(&r);
	dlcp_rtt_guess(&r, 5000 * MS);
	CHECK_EQ(r.srtt, 333 * MS);
	dlcp_rtt_guess(&r, 50 * MS);
	dlcp_rtt_guess(&r, 80 * MS);
	CHECK_EQ(r.srtt, 50 * MS);
	CHECK_EQ(dlcp_rtt_pto(&r, 0), 150 * MS);
	dlcp_rtt_sample(&r, 80 * US, 0, 1);
	CHECK_EQ(r.srtt, 80 * US);
	CHECK_EQ(r.min, 80 * US);
	dlcp_rtt_guess(&r, 10 * US);
	CHECK_EQ(r.srtt, 80 * US);
}

TESTS(T(rtt__guess), T(rtt__nothing_known),
      T(rtt__first_sample),
      T(rtt__loss_delay_follows_the_spread),
      T(rtt__means_follow_rfc6298),
      T(rtt__extremes),
      T(rtt__windowed_minimum),
      T(rtt__minimum_forgets_a_shorter_path),
      T(rtt__a_queue_is_no_noise),
      T(rtt__a_queue_after_a_few_packets),
      T(rtt__the_first_packets_of_a_slow_link),
      T(rtt__noise_is_of_the_whole_trip))
