// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "owd.h"

#define US 1000ULL
#define MS 1000000ULL
#define SEC 1000000000ULL

#define WAY	(25 * US)	/* each way, without a queue */
#define CUT	(3 * US)	/* what is lost where times are whole us */
#define AGED	(8 * US)	/* and in 20 ms */

/* Packets one after the other, each with its own queues */
struct way {
	struct dlcp_owd o;
	u64	now;
	s64	offset;		/* ns: the peer's clock is ahead */
	s64	drift;		/* parts in a million */
};

/* Return: what of the queues is told, ns */
static u64 packet(struct way *w, u64 there, u64 back)
{
	u64 came = w->now + WAY + there;
	u64 rtt = 2 * WAY + there + back;
	u64 got;

	came += w->offset + (s64)came / 1000000 * w->drift;
	got = dlcp_owd_rtt(&w->o, 2 * WAY, rtt, w->now, (u32)(came / US));
	CHECK(got >= 2 * WAY);
	CHECK(got <= rtt);
	/* A queue on the way there is never hidden by one on the way back */
	CHECK(got + CUT >= 2 * WAY + there);
	return got - 2 * WAY;
}

static void owd__what_waits_on_the_way_back(void)
{
	struct way w = { .now = SEC, .offset = 77 * SEC };
	u32 i;

	for (i = 0; i < 1000; i++, w.now += 10 * US)
		CHECK(packet(&w, 0, i * US) <= AGED);
	/* Nor when it falls again */
	for (i = 1000; i; i--, w.now += 10 * US)
		CHECK(packet(&w, 0, i * US) <= AGED);
}

static void owd__what_waits_on_the_way_there(void)
{
	struct way w = { .now = SEC, .offset = -(s64)SEC / 2 };
	u32 i;

	for (i = 0; i < 1000; i++, w.now += 10 * US)
		CHECK_EQ(packet(&w, i * US, 0), i * US);
	/* On top of one on the way back, too */
	for (i = 0; i < 1000; i++, w.now += 10 * US)
		CHECK(packet(&w, i * US, 300 * US) <= i * US + AGED);
}

/* The first packet may have stood in queues itself: then they are told, until
 * one comes that did not
 */
static void owd__begins_in_a_queue(void)
{
	struct way w = { .now = SEC };

	CHECK_EQ(packet(&w, 0, 200 * US), 200 * US);
	w.now += MS;
	CHECK(packet(&w, 0, 500 * US) <= 200 * US + CUT);
	w.now += MS;
	CHECK_EQ(packet(&w, 0, 50 * US), 50 * US);
	w.now += MS;
	CHECK(packet(&w, 0, 500 * US) <= 50 * US + CUT);
	w.now += MS;
	CHECK_EQ(packet(&w, 0, 0), 0);
	w.now += MS;
	CHECK(packet(&w, 0, 500 * US) <= CUT);
}

/* Two of quartz are 100 ppm apart at most, and as much may NTP correct. With a
 * quiet moment each quarter of a second no sample is more than 120 us too much.
 */
static void owd__clocks_that_drift(void)
{
	s64 drift;
	u32 i;

	for (drift = -200; drift <= 200; drift += 100) {
		struct way w = { .now = SEC, .drift = drift };
		u64 there, back;

		for (i = 0; i < 200000; i++, w.now += 100 * US) {
			there = i % 2500 ? rnd_below(300) * US : 0;
			back = i % 2500 ? rnd_below(2000) * US : 0;
			CHECK(packet(&w, there, back) <=
			      there + 250 * MS / 2048 + CUT);
		}
		/* Nothing for an hour: less is known, and nothing wrong */
		w.now += 3600 * SEC;
		packet(&w, 100 * US, MS);
	}
}

static void owd__clocks_that_jump(void)
{
	struct way w = { .now = SEC };
	u64 got;
	u32 i;

	packet(&w, 0, 0);
	/* Back: seen at once */
	w.offset = -5 * (s64)SEC;
	CHECK_EQ(packet(&w, 0, 100 * US), 100 * US);
	w.now += MS;
	CHECK_EQ(packet(&w, 0, 0), 0);
	w.now += MS;
	CHECK(packet(&w, 0, 100 * US) <= CUT);
	/* Ahead: nothing is known until there is a quiet moment */
	w.offset = 5 * (s64)SEC;
	w.now += MS;
	CHECK_EQ(packet(&w, 0, 100 * US), 100 * US);
	w.now += MS;
	CHECK_EQ(packet(&w, 0, 0), 0);
	w.now += MS;
	CHECK(packet(&w, 0, 100 * US) <= CUT);
	/* A peer whose clock stands, or is no clock */
	memset(&w.o, 0, sizeof(w.o));
	for (i = 0; i < 1000; i++) {
		got = dlcp_owd_rtt(&w.o, 2 * WAY, MS, w.now + i * 100 * US, 7);
		CHECK_EQ(got, MS);
		got = dlcp_owd_rtt(&w.o, 2 * WAY, MS, w.now + i * 100 * US,
				   (u32)rnd());
		CHECK(got >= 2 * WAY && got <= MS);
	}
}

/* The peer's 32 bits of microseconds wrap after 72 minutes */
static void owd__time_wraps(void)
{
	struct way w = { .now = (1ULL << 32) * US - 50 * US };
	u32 i;

	for (i = 0; i < 20; i++, w.now += 10 * US)
		CHECK(packet(&w, 0, i * 20 * US) <= CUT);
}

/* Shorter than the shortest: the minimum comes from before */
static void owd__below_the_minimum(void)
{
	struct dlcp_owd o = { 0 };

	CHECK_EQ(dlcp_owd_rtt(&o, 50 * US, 40 * US, SEC, 1), 40 * US);
	CHECK_EQ(dlcp_owd_rtt(&o, 50 * US, 50 * US, SEC, 11), 50 * US);
}

TESTS(T(owd__what_waits_on_the_way_back),
      T(owd__what_waits_on_the_way_there),
      T(owd__begins_in_a_queue),
      T(owd__clocks_that_drift),
      T(owd__clocks_that_jump),
      T(owd__time_wraps),
      T(owd__below_the_minimum))
