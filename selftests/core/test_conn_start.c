// SPDX-License-Identifier: GPL-2.0
/*
 * The begin of a connection: what the set-up tells of the round trip, and slow
 * start on paths of any length.
 */
#include "test_conn.h"

static void path(struct sim *s, u64 rtt, u64 rate)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		s->link[i].delay = rtt / 2;
		s->link[i].rate = rate;
		s->link[i].queue = max(rate / 8 * rtt / SIM_S, 200000ULL);
		s->ep[i].cfg.rx_space = 1 << 30;
	}
}

static const u64 rtts[] = { 20, 50, 500, 5000, 31000, 200000 };	/* us */

/* Whichever end sends first, a lost first flight is noticed in four round trips,
 * and sent again in three
 */
static void setup__tells_the_round_trip(void)
{
	struct sim_attr a = { .length = 10000 };
	struct sim_msg *m;
	struct sim *s;
	u64 took;
	u32 i, k;

	for (i = 0; i < 2 * ARRAY_SIZE(rtts); i++) {
		k = i & 1;
		s = start(i + 1);
		path(s, rtts[i / 2] * SIM_US, 10000000000ULL);
		sim_up(s);
		s->link[k].down = true;
		m = sim_send(&s->ep[k], &a);
		sim_run(s, rtts[i / 2] * SIM_US);
		s->link[k].down = false;
		sim_finish(s, 10 * SIM_S);
		took = (m->rcvd_at - m->sent_at) / SIM_US;
		FIGURE("first flight of end %u lost, round trip %llu us: %llu us",
		       k, (unsigned long long)rtts[i / 2],
		       (unsigned long long)took);
		SIM_CHECK(s, took < 7 * rtts[i / 2] + 300);
		end(s);
	}
}

/* A packet of the set-up was lost: that is no round trip, and the first sample
 * counts instead
 */
static void setup__lost_is_no_sample(void)
{
	struct sim_attr a = { .length = 100000 };
	struct sim *s;
	u32 i, k;

	for (i = 1; i < 20; i++) {
		s = start(i);
		s->link[0].setup_loss = 500000;
		s->link[1].setup_loss = 500000;
		sim_up(s);
		for (k = 0; k < 2; k++) {
			sim_send(&s->ep[k], &a);
			sim_finish(s, 20 * SIM_S);
			SIM_CHECK(s, s->ep[k].c.paths[0].rtt.srtt < SIM_MS);
		}
		end(s);
	}
}

/* On a long path a lost tail is asked for at once: it takes two round trips and not
 * five, also if nothing was sent before. Return: time over the round trip, percent
 */
static u64 lost_tail(u64 rtt, bool warm)
{
	struct sim_attr a = { .length = 10000 };
	struct sim *s = start(1);
	struct sim_msg *m;
	u64 took;

	path(s, rtt, 10000000000ULL);
	sim_up(s);
	if (warm) {
		sim_send(&s->ep[0], &a);
		sim_finish(s, 10 * SIM_S);
	}
	a.length = 1000;
	s->link[0].down = true;
	m = sim_send(&s->ep[0], &a);
	sim_run(s, rtt / 16);
	s->link[0].down = false;
	sim_finish(s, 10 * SIM_S);
	took = (m->rcvd_at - m->sent_at) * 100 / rtt;
	FIGURE("lost tail, round trip %llu us, %s: %llu %%",
	       (unsigned long long)(rtt / SIM_US), warm ? "warm" : "cold",
	       (unsigned long long)took);
	end(s);
	return took;
}

static void tail__is_asked_for_on_long_paths(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		CHECK(lost_tail(5 * SIM_MS, i) < 200);
		CHECK(lost_tail(200 * SIM_MS, i) < 200);
	}
}

/* Return: time of @bytes over the ideal, percent */
static u64 cold(u64 rtt, u64 rate, u64 bytes, u8 paths)
{
	struct sim_attr a = { .length = bytes };
	u64 ideal = bytes * 8 * SIM_S / (rate / 1538 * 1448) + rtt;
	struct sim *s = start(1);
	struct sim_msg *m;
	u64 took;

	path(s, rtt, rate);
	s->ep[0].cfg.nr_paths = paths;
	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	sim_finish(s, 60 * SIM_S);
	took = (m->rcvd_at - m->sent_at) * 100 / ideal;
	FIGURE("%llu MB on a new connection of %u paths, %llu Mbit/s, %llu ms: %llu %% of the ideal",
	       (unsigned long long)bytes / 1000000, paths,
	       (unsigned long long)rate / 1000000,
	       (unsigned long long)(rtt / SIM_MS), (unsigned long long)took);
	end(s);
	return took;
}

/* The first flight takes a round trip, however long that is: no timeout ends slow
 * start
 */
static void start__long_paths(void)
{
	CHECK(cold(11 * SIM_MS, 1000000000, 25000000, 16) < 200);
	CHECK(cold(31 * SIM_MS, 1000000000, 25000000, 1) < 250);
	CHECK(cold(80 * SIM_MS, 1000000000, 25000000, 1) < 450);
	CHECK(cold(200 * SIM_MS, 100000000, 25000000, 16) < 250);
}

/* Packets lost of one message; *@segs: about as many it has */
static u64 lost_of(struct sim *s, const struct sim_attr *a, u64 *segs)
{
	sim_up(s);
	sim_send(&s->ep[0], a);
	sim_finish(s, 60 * SIM_S);
	*segs = a->length / s->ep[0].c.cfg.mtu;
	return s->ep[0].c.cnt[DLCP_CNT_LOST];
}

/* It ends by the first packets that waited, while the queue, as long as the path,
 * is not full. Half a round trip of waiting would lose 14 %.
 */
static void start__ends_before_the_queue_is_full(void)
{
	struct sim_attr a = { .length = 25000000 };
	u64 lost, segs;
	struct sim *s;
	u32 i;

	for (i = 0; i < 3; i++) {
		s = start(i + 1);
		path(s, (10 + 15 * i) * SIM_MS, 1000000000);
		lost = lost_of(s, &a, &segs);
		FIGURE("slow start, round trip %u ms: %llu of %llu packets lost",
		       10 + 15 * i, (unsigned long long)lost,
		       (unsigned long long)segs);
		SIM_CHECK(s, lost < segs / 16);
		end(s);
	}
}

/* A queue of a part of the path: no packet waits long before it overflows. The
 * first loss tells a round trip later, when twice what fits is on its way: 0.85
 * of what the path holds is lost by then, and next to nothing later.
 */
static void start__ends_by_a_short_queue(void)
{
	static const struct { u32 ms, mbit, part, permille; } c[] = {
		{ 40, 1000, 10, 60 }, { 40, 1000, 20, 60 }, { 40, 1000, 50, 60 },
		{ 20, 1000, 20, 35 }, { 100, 100, 20, 45 }, { 20, 100, 20, 45 },
	};
	struct sim_attr a = { .length = 100000000 };
	u64 lost, segs;
	struct sim *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		s = start(i + 1);
		path(s, c[i].ms * SIM_MS, c[i].mbit * 1000000ULL);
		s->link[0].queue = max(c[i].mbit * 125ULL * c[i].ms / c[i].part,
				       8 * 1538ULL);
		lost = lost_of(s, &a, &segs);
		FIGURE("%u Mbit/s, %u ms, a queue of 1 / %u of it: %llu of %llu packets lost",
		       c[i].mbit, c[i].ms, c[i].part, (unsigned long long)lost,
		       (unsigned long long)segs);
		SIM_CHECK(s, lost < segs * c[i].permille / 1000);
		end(s);
	}
}

/* Several messages at once: their OPENs are in a higher class of the switch's
 * queues than the data, and say nothing of data that they overtake
 */
static void start__control_overtakes_data(void)
{
	static const u64 length[] = { 204, 1, 142171, 1254484, 86, 1508226 };
	struct sim_attr a = { .length = 0 };
	struct sim_msg *m = NULL;
	struct sim *s = start(1);
	u64 took;
	u32 i;

	path(s, 6 * SIM_MS, 10000000000ULL);
	s->link[0].data_delay = 10 * SIM_US;
	sim_up(s);
	for (i = 0; i < ARRAY_SIZE(length); i++) {
		a.length = length[i];
		m = sim_send(&s->ep[0], &a);
	}
	sim_finish(s, 10 * SIM_S);
	took = (m->rcvd_at - m->sent_at) / SIM_MS;
	FIGURE("2.9 MB, round trip 6 ms: %llu ms", (unsigned long long)took);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_LOST]);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_SPURIOUS]);
	SIM_CHECK(s, took < 10 * 6);
	end(s);
}

/* On a long path the first window is no burst, and costs an eighth of a round trip:
 * half of one is the way there
 */
static void setup__paces_the_first_window(void)
{
	u64 rtt = 40 * SIM_MS, took;
	struct sim_attr a = { 0 };
	struct sim_msg *m;
	struct sim *s;
	u32 k;

	for (k = 0; k < 2; k++) {
		s = start(k + 1);
		path(s, rtt, 10000000000ULL);
		sim_up(s);
		a.length = 10 * (s->ep[k].c.cfg.mtu - 100);
		m = sim_send(&s->ep[k], &a);
		sim_finish(s, 10 * SIM_S);
		took = m->rcvd_at - m->sent_at;
		FIGURE("ten segments of end %u over %llu us: %llu us", k,
		       (unsigned long long)rtt / SIM_US,
		       (unsigned long long)took / SIM_US);
		SIM_CHECK(s, took > rtt / 2 + rtt / 12 &&
			  took < rtt / 2 + rtt / 7);
		end(s);
	}
}

TESTS(T(setup__tells_the_round_trip), T(setup__lost_is_no_sample),
      T(tail__is_asked_for_on_long_paths),
      T(setup__paces_the_first_window),
      T(start__long_paths), T(start__ends_before_the_queue_is_full),
      T(start__ends_by_a_short_queue),
      T(start__control_overtakes_data))
