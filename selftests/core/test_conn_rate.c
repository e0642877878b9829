// SPDX-License-Identifier: GPL-2.0
/* A sender under a grant of its receiver. */
#include "test_conn.h"

#define MBYTE	1000000ULL

/* Return: bytes per second of one message, of what fills @step at a time */
static u64 speed(struct sim *s, u64 length)
{
	struct sim_attr a = { .length = length };
	u64 start = s->now;

	sim_send(&s->ep[0], &a);
	sim_finish(s, 60 * SIM_S);
	return length * SIM_S / (s->now - start);
}

static void grant(struct sim *s, u64 rate)
{
	s->ep[1].own_rate = true;
	dlcp_conn_grant(&s->ep[1].c, rate);
	sim_kick(&s->ep[1]);
}

static void rate__is_kept(void)
{
	static const u64 rates[] = { 5, 20, 100, 500 };
	struct sim *s = start(1);
	u64 got;
	u32 i;

	sim_up(s);
	speed(s, MBYTE);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		grant(s, rates[i] * MBYTE);
		sim_run(s, SIM_MS);
		got = speed(s, rates[i] * MBYTE / 20);
		FIGURE("granted %llu MB/s, used %.1f",
		       (unsigned long long)rates[i], got / 1e6);
		SIM_CHECK(s, got < rates[i] * MBYTE);
		SIM_CHECK(s, got > rates[i] * MBYTE * 85 / 100);
	}
	grant(s, 0);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, speed(s, 20 * MBYTE) > 900 * MBYTE);
	end(s);
}

/*
 * Below a packet per round trip no window is ever full, and data comes piece
 * by piece: who lost its rate must find back to it all the same.
 */
static void rate__is_found_again(void)
{
	struct sim *s = start(2);
	u64 got;

	s->ep[0].fill_step = 2;
	sim_up(s);
	speed(s, MBYTE);
	grant(s, 20 * MBYTE);
	sim_run(s, SIM_MS);
	s->link[0].loss = 300000;
	got = speed(s, MBYTE / 2);
	FIGURE("with 30 %% lost %.1f of 20 MB/s", got / 1e6);
	SIM_CHECK(s, got < 14 * MBYTE);
	s->link[0].loss = 0;
	/* Out of the pit, then as granted */
	speed(s, MBYTE / 2);
	got = speed(s, MBYTE);
	FIGURE("afterwards %.1f", got / 1e6);
	SIM_CHECK(s, got > 17 * MBYTE);
	end(s);
}

/* Who uses its grant uses more at once when others leave */
static void rate__grows_with_the_grant(void)
{
	struct sim *s = start(3);
	u64 got;

	sim_up(s);
	speed(s, MBYTE);
	grant(s, 20 * MBYTE);
	sim_run(s, SIM_MS);
	speed(s, MBYTE);
	grant(s, 600 * MBYTE);
	got = speed(s, 20 * MBYTE);
	FIGURE("grant from 20 to 600 MB/s, used %.1f", got / 1e6);
	SIM_CHECK(s, got > 540 * MBYTE);
	end(s);
}

/* What was granted is no news after a second of silence */
static void rate__is_forgotten(void)
{
	struct sim *s = start(4);

	sim_up(s);
	grant(s, 5 * MBYTE);
	sim_run(s, SIM_MS);
	speed(s, MBYTE / 10);
	s->ep[1].c.credit.rate = 0;
	s->ep[1].c.credit.rate_used = 0;
	sim_run(s, 2 * SIM_S);
	SIM_CHECK(s, speed(s, 20 * MBYTE) > 500 * MBYTE);
	end(s);
}

/* The receiver sees no round trips: who sees a queue tells it */
static void queue__is_told(void)
{
	struct sim *s = start(5);

	sim_up(s);
	/* A grant keeps it from filling its link's queue */
	grant(s, 100 * MBYTE);
	speed(s, MBYTE);
	SIM_CHECK(s, !s->ep[1].c.credit.queued);
	grant(s, 0);
	s->link[0].rate = SIM_S;
	s->link[0].queue = 8 * MBYTE;
	speed(s, 20 * MBYTE);
	FIGURE("%u packets told of a queue",
	       s->ep[1].c.credit.queued);
	SIM_CHECK(s, s->ep[1].c.credit.queued > 0);
	end(s);
}

/* Up, over a long path on which packets' times deviate by @sigma */
static void long_path(struct sim *s, u64 delay, u64 sigma, u32 queue)
{
	u32 k;

	for (k = 0; k < 2; k++) {
		s->link[k].delay = delay;
		s->link[k].sigma = sigma;
		s->link[k].queue = queue;
	}
	sim_up(s);
}

/*
 * Each packet takes its own time and overtakes others: neither is a queue, and
 * neither is loss.
 */
static void jitter__is_no_queue(void)
{
	static const u64 sigma[] = { 5, 10, 15, 21, 43, 86 };
	struct sim *s;
	u64 got, least;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(sigma); i++) {
		s = start(5 + i);
		long_path(s, 100 * SIM_US, sigma[i] * SIM_US, 200000);
		least = U64_MAX;
		for (k = 0; k < 5; k++) {
			got = speed(s, 20 * MBYTE);
			least = got < least ? got : least;
		}
		FIGURE("100 us each way, deviation %llu us: the worst of 5 times 20 MB %.1f MB/s",
		       (unsigned long long)sigma[i], least / 1e6);
		SIM_CHECK(s, least > 700 * MBYTE);
		end(s);
	}
}

/*
 * A round trip holds more messages than the allowance without credit: they are
 * announced as fast as the window takes them.
 */
static void credit__comes_in_time(void)
{
	struct sim_attr a = { .length = 128 << 10 };
	struct sim *s = start(20);
	u64 begin, got;
	u32 i;

	long_path(s, 250 * SIM_US, 0, 400000);
	speed(s, 40 * MBYTE);
	begin = s->now;
	for (i = 0; i < 200; i++)
		sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	got = 200 * a.length * SIM_S / (s->now - begin);
	FIGURE("128 KB each, 250 us each way: %.1f MB/s", got / 1e6);
	SIM_CHECK(s, got > 700 * MBYTE);
	end(s);
}

/*
 * A ring's pieces become ready one after the other, on a path that holds more of
 * them than the allowance without credit. None waits because it was not there
 * yet when those before it were announced.
 */
static void credit__comes_to_late_comers(void)
{
	struct sim_attr a = { .length = 112 << 10 };
	struct sim *s = start(21);
	u64 begin, got, best = 0;
	u32 i, k;

	long_path(s, 250 * SIM_US, 0, 400000);
	speed(s, 40 * MBYTE);
	for (k = 0; k < 5; k++) {
		sim_run(s, 2 * SIM_MS);
		begin = s->now;
		for (i = 0; i < 30; i++) {
			sim_send(&s->ep[0], &a);
			sim_run(s, 20 * SIM_US);
		}
		sim_finish(s, SIM_S);
		got = 30 * a.length * SIM_S / (s->now - begin);
		best = got > best ? got : best;
	}
	FIGURE("30 times 112 KB, one after the other: %.1f MB/s", best / 1e6);
	SIM_CHECK(s, best > 850 * MBYTE);
	end(s);
}

/*
 * Where each packet takes its own time no data comes before its OPEN, to be
 * dropped, and what comes out of order does not ask for an ACK each.
 */
static void jitter__costs_little(void)
{
	struct sim_attr a = { .length = 128 << 10 };
	struct sim *s = start(22);
	u64 resent, acks, data;
	u32 i;

	long_path(s, 100 * SIM_US, 21 * SIM_US, 400000);
	speed(s, 40 * MBYTE);
	resent = s->ep[0].c.cnt[DLCP_CNT_TX_RESENT];
	acks = s->ep[1].c.cnt[DLCP_CNT_ACKS_SENT];
	data = s->ep[0].c.cnt[DLCP_CNT_TX_DATA];
	for (i = 0; i < 100; i++) {
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		sim_run(s, SIM_MS);
	}
	resent = s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] - resent;
	acks = s->ep[1].c.cnt[DLCP_CNT_ACKS_SENT] - acks;
	data = s->ep[0].c.cnt[DLCP_CNT_TX_DATA] - data;
	FIGURE("deviation 21 us, two of 128 KB at a time: %.2f %% resent, %.2f ACKs for each packet",
	       100.0 * resent / (200 * a.length), (double)acks / data);
	SIM_CHECK(s, resent < 200 * a.length / 100);
	SIM_CHECK(s, acks < data / 3);
	end(s);
}

/*
 * At 10 Gbit/s a deviation of 1 ms is 830 packets, and some are overtaken by
 * thousands. Each is acknowledged all the same.
 */
static void jitter__of_thousands(void)
{
	struct sim *s = start(23);
	u64 resent, got;

	s->ep[1].cfg.rx_space = 1 << 30;
	long_path(s, 10 * SIM_MS, SIM_MS, 100000000);
	speed(s, 200 * MBYTE);
	resent = s->ep[0].c.cnt[DLCP_CNT_TX_RESENT];
	got = speed(s, 200 * MBYTE);
	resent = s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] - resent;
	FIGURE("10 ms each way, deviation 1 ms: %.1f MB/s, %.2f %% resent",
	       got / 1e6, 100.0 * resent / (200 * MBYTE));
	SIM_CHECK(s, resent < 200 * MBYTE / 200);
	SIM_CHECK(s, got > 600000000);
	end(s);
}

/* Return: bytes per second of 200 messages, one after the other */
static u64 speed_of_many(struct sim *s, const struct sim_attr *a)
{
	u64 begin = s->now;
	u32 i;

	for (i = 0; i < 200; i++)
		sim_send(&s->ep[0], a);
	sim_finish(s, 10 * SIM_S);
	return 200 * a->length * SIM_S / (s->now - begin);
}

/* Bytes per second of what is sent whole, stopped early and thrown away */
static void speeds_of_stopped(u64 seed, u64 sigma, u64 sum[3])
{
	struct sim_attr a = { .length = 128 << 10 };
	struct sim *s = start(seed);

	long_path(s, 100 * SIM_US, sigma, 400000);
	speed(s, 40 * MBYTE);
	sum[0] += speed_of_many(s, &a);
	a.ppm = 100000;
	a.flags = DLCP_MSG_EARLY_STOP;
	sum[1] += speed_of_many(s, &a);
	a.ppm = 0;
	a.flags = 0;
	a.read = SIM_READ_DISCARD;
	a.discard_after = a.length / 2;
	sum[2] += speed_of_many(s, &a);
	end(s);
}

/*
 * What was on its way when the receiver had enough is not acknowledged any more.
 * That is no loss: the messages behind it are sent no slower, and if packets
 * take their own time, much of every message comes too late. With the longest
 * times one run differs from the next by a factor of four, so the mean counts.
 */
static void stop__is_no_congestion(void)
{
	static const u64 sigma[] = { 0, 21, 86 };
	u32 i, k, runs;

	for (i = 0; i < ARRAY_SIZE(sigma); i++) {
		u64 sum[3] = { 0 };

		runs = i == 2 ? 8 : 1;
		for (k = 0; k < runs; k++)
			speeds_of_stopped(50 + k, sigma[i] * SIM_US, sum);
		FIGURE("deviation %llu us: whole %.1f MB/s, stopped at 90 %% %.1f, thrown away half-way %.1f",
		       (unsigned long long)sigma[i], sum[0] / 1e6 / runs,
		       sum[1] / 1e6 / runs, sum[2] / 1e6 / runs);
		CHECK(sum[1] > sum[0] * 9 / 10);
		CHECK(sum[2] > sum[0] * 2 / 5);
	}
}

/* Return: ns that a message takes, of the last of @nr, 10 ms between them */
static u64 last_of(struct sim *s, u64 length, u32 nr)
{
	struct sim_attr a = { .length = length };
	struct sim_msg *m = NULL;

	while (nr--) {
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		sim_run(s, 10 * SIM_MS);
	}
	return m->rcvd_at - m->sent_at;
}

/*
 * Messages of about a window, with pauses. Losses took their share of the window
 * and no message is long enough to show that more would do: it comes back all
 * the same. The path takes 25 us there, and @length at 10 Gbit/s.
 */
static void pauses__keep_the_window(void)
{
	static const u64 length[] = { 20000, 48000, 64000, 100000, 150000 };
	u64 before, after, path;
	struct sim *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(length); i++) {
		s = start(60 + i);
		s->link[0].queue = 200000;
		sim_up(s);
		speed(s, 20 * MBYTE);
		before = last_of(s, length[i], 100);
		lossy(s, 10000);
		last_of(s, length[i], 500);
		lossy(s, 0);
		after = last_of(s, length[i], 300);
		path = 25 * SIM_US + length[i] * 8 / 10;
		FIGURE("%llu bytes, 10 ms apart: %.1f us, after losses %.1f, the path alone %.1f",
		       (unsigned long long)length[i], before / 1e3,
		       after / 1e3, path / 1e3);
		SIM_CHECK(s, before < path * 5 / 4);
		SIM_CHECK(s, after < path * 5 / 4);
		end(s);
	}
}

/* Messages of two windows, of which the last half never fills one: this is no
 * reason to grow until more is lost than the link loses by itself.
 */
static void unused__window_does_not_grow(void)
{
	struct sim_attr a = { .length = 10 * MBYTE };
	struct sim *s = start(70);
	u64 sent, lost;
	u32 i;

	s->link[0].rate = SIM_S;
	for (i = 0; i < 2; i++) {
		s->ep[i].cfg.rx_space = 64 << 20;
		s->ep[i].cfg.unsolicited = 4 << 20;
	}
	long_path(s, 20 * SIM_MS, 0, 5000000);
	lossy(s, 10000);
	for (i = 0; i < 5; i++)
		speed(s, a.length);
	sent = s->ep[0].c.cnt[DLCP_CNT_TX_DATA];
	lost = s->ep[0].c.cnt[DLCP_CNT_LOST];
	for (i = 0; i < 20; i++)
		speed(s, a.length);
	sent = s->ep[0].c.cnt[DLCP_CNT_TX_DATA] - sent;
	lost = s->ep[0].c.cnt[DLCP_CNT_LOST] - lost;
	FIGURE("10 MB over 40 ms, 1 %% lost by the link: %.2f %% in all",
	       100.0 * lost / sent);
	SIM_CHECK(s, lost < sent / 40);
	end(s);
}

/* Return: how many of the times that were looked at, from 2 s after a link of 1 Gbit/s
 * has got slow to the end, have a queue of more than five round trips. @buffers: what
 * the queue holds, in round trips at that rate
 */
static u32 queue_of_slow_link(u64 rtt, u64 rate, u32 buffers)
{
	struct sim_attr a = { .length = 140 * MBYTE };
	struct sim *s = start(1);
	struct sim_msg *m;
	u32 n = 0, i;

	s->link[0].rate = SIM_S;
	for (i = 0; i < 2; i++)
		s->ep[i].cfg.rx_space = 1 << 30;
	long_path(s, rtt / 2, 0, (u32)(buffers * rtt / 8));
	m = sim_send(&s->ep[0], &a);
	sim_run(s, 500 * SIM_MS);
	s->link[0].rate = rate;
	sim_run(s, 2 * SIM_S);
	for (i = 0; !m->done; i++) {
		n += s->link[0].free_at > s->now + 5 * rtt;
		sim_run(s, 20 * SIM_MS);
	}
	FIGURE("1 Gbit/s became %llu, %llu ms: a queue at %u of %u times",
	       (unsigned long long)rate / 1000000, (unsigned long long)rtt / SIM_MS, n, i);
	SIM_CHECK(s, i > 50);
	end(s);
	return n;
}

/* A window below a quarter of what it was, beside a queue that stands for as long as its
 * own growth takes, is no sign of others who fill it.
 */
static void queue__of_a_link_that_got_slow(void)
{
	CHECK(!queue_of_slow_link(10 * SIM_MS, 100000000, 1));
	CHECK(!queue_of_slow_link(20 * SIM_MS, 100000000, 1));
	CHECK(!queue_of_slow_link(20 * SIM_MS, 200000000, 1));
	/* Once it was taken for one all the same, for ever */
	CHECK(queue_of_slow_link(5 * SIM_MS, 50000000, 4) < 100);
}

/* Return: percent of what a link brings of @rate bits per second, with a deep queue, that was
 * ten gigabits while few packets waited: as a token bucket's is, beside a short way
 */
static u32 use_of_shaped_link(u64 delay, u64 rate)
{
	struct sim_attr a = { .length = 2 * rate / 8 };
	struct sim *s = start(1);
	struct sim_msg *m;
	u64 ideal = 2 * SIM_S;
	u32 percent;

	s->link[0].rate = 10 * SIM_S;
	s->link[0].queue = 100000000;
	s->link[0].delay = delay;
	s->link[1].delay = delay;
	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	sim_run(s, delay * 4 + 100000);
	s->link[0].rate = rate;
	sim_finish(s, 100 * SIM_S);
	percent = (u32)(100 * ideal / (m->rcvd_at - m->sent_at));
	FIGURE("10 Gbit/s became %llu Mbit/s, %llu us: %u %% of it",
	       (unsigned long long)rate / 1000000, (unsigned long long)delay / 500, percent);
	end(s);
	return percent;
}

/* What the window is without a queue may be next to nothing: then a sender that looks
 * for others would be still for seconds
 */
static void queue__of_a_shaped_link(void)
{
	CHECK(use_of_shaped_link(0, 16000000) > 80);
	CHECK(use_of_shaped_link(5000, 16000000) > 80);
	CHECK(use_of_shaped_link(50000, 5000000) > 70);
	/* A packet takes longer than the delay that is accepted */
	CHECK(use_of_shaped_link(5000, 100000000) > 80);
	CHECK(use_of_shaped_link(50000, 50000000) > 80);
}

/* Return: percent of a link of @rate bits per second that is used in the 2 s after its way
 * has become another: @delay, that was @was
 */
static u32 use_of_longer_way(u64 rate, u64 was, u64 delay)
{
	struct sim_attr a = { .length = 5 * rate / 8 };
	struct sim *s = start(1);
	u32 i, percent;
	u64 had;

	s->link[0].rate = rate;
	s->link[0].queue = (u32)(rate / 8 / 25);
	for (i = 0; i < 2; i++) {
		s->link[i].delay = was;
		s->ep[i].cfg.rx_space = 1 << 30;
	}
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, SIM_S);
	for (i = 0; i < 2; i++)
		s->link[i].delay = delay;
	had = s->ep[0].c.delivered;
	sim_run(s, 2 * SIM_S);
	percent = (u32)(100 * 8 * (s->ep[0].c.delivered - had) / (2 * rate));
	FIGURE("%llu Mbit/s, %llu us each way became %llu: %u %% of it in 2 s",
	       (unsigned long long)rate / 1000000, (unsigned long long)was / 1000,
	       (unsigned long long)delay / 1000, percent);
	sim_finish(s, 100 * SIM_S);
	end(s);
	return percent;
}

/* A way that gets longer looks like a queue that stands. A window below a packet has long
 * rounds, and that of a long path is never below the initial one: both are soon found to be
 * starved
 */
static void queue__of_a_longer_way(void)
{
	CHECK(use_of_longer_way(1000000000, 5000, 500000) > 50);
	CHECK(use_of_longer_way(1000000000, 5000, 5000000) > 30);
	CHECK(use_of_longer_way(100000000, 500000, 5000000) > 50);
}

/* A link that loses by itself, whatever is sent, is used for what it brings */
static void loss__at_random_is_no_congestion(void)
{
	static const u32 percent[] = { 3, 10, 15, 20 };
	struct sim *s;
	u64 got;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(percent); i++) {
		s = start(10 + i);
		sim_up(s);
		lossy(s, percent[i] * 10000);
		speed(s, 20 * MBYTE);
		got = speed(s, 40 * MBYTE);
		FIGURE("%u %% lost each way: %.1f MB/s", percent[i], got / 1e6);
		SIM_CHECK(s, got > 400 * MBYTE);
		end(s);
	}
}

/* Return: percent of its window a sender has when it hears from its peer again,
 * after probe timeouts in a row because @link was broken
 */
static u64 window_after(u64 seed, u32 link)
{
	struct sim_attr a = { .length = 20 * MBYTE };
	struct sim *s = start(seed);
	u64 before, after;

	sim_up(s);
	speed(s, 20 * MBYTE);
	sim_send(&s->ep[0], &a);
	sim_run(s, 4 * SIM_MS);
	before = s->ep[0].c.cong.cwnd;
	s->link[link].down = true;
	while (s->ep[0].c.alive.pto_nth < 3)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	SIM_CHECK(s, s->ep[0].c.cong.cwnd < before);
	s->link[link].down = false;
	while (s->ep[0].c.alive.pto_nth)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	after = s->ep[0].c.cong.cwnd;
	sim_finish(s, SIM_S);
	end(s);
	return 100 * after / before;
}

/* Nothing got through: less is sent. But not where all of it did, and only
 * the acknowledgments got lost.
 */
static void timeouts__of_lost_acks_are_no_congestion(void)
{
	u64 data = window_after(30, 0);
	u64 acks = window_after(30, 1);

	FIGURE("window after three timeouts: %llu %% of it where data got lost, %llu %% where ACKs did",
	       (unsigned long long)data, (unsigned long long)acks);
	CHECK(data <= 50);
	CHECK(acks >= 90);
}

/*
 * A queue of others that stood in every path is gone. Who was brought down to
 * a packet in eight round trips by it sees that by the next packets, on
 * whichever path: what the one that carries most told before is old. However
 * long its own queue stood before, it gives way to that of others first.
 */
static void others_are_gone(u32 bytes, u64 then)
{
	struct sim_attr a = { .length = 400 * MBYTE };
	struct sim *s = start(40);
	struct dlcp_conn *c = &s->ep[0].c;
	u64 delay = s->link[0].delay;
	u64 before, gone;
	u32 i;

	s->ep[0].cfg.nr_paths = 16;
	s->ep[0].cfg.pathsched = dlcp_pathsched_find("even");
	sim_up(s);
	for (i = 1; i < 16; i++)
		c->paths[i].weight = DLCP_WEIGHT_ONE / 2;
	speed(s, bytes);
	sim_send(&s->ep[0], &a);
	sim_run(s, then);
	s->link[0].delay = 6 * delay;
	while (c->cong.rate * c->net.srtt > c->cong.mss * SIM_S / 8)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	s->link[0].delay = delay;
	before = c->delivered;
	gone = s->now;
	while (c->delivered - before < MBYTE)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	gone = s->now - gone;
	FIGURE("a megabyte after the queue has gone takes %.1f ms", gone / 1e6);
	SIM_CHECK(s, gone < 10 * SIM_MS);
	sim_finish(s, 2 * SIM_S);
	end(s);
}

static void queue__of_others_is_gone(void)
{
	others_are_gone(20 * MBYTE, 4 * SIM_MS);
	others_are_gone(60 * MBYTE, 12 * SIM_MS);
}

/* After most of the data that comes the engine has nothing to say, and need not be
 * asked: ep_quiet() sees that it is so each time
 */
static void data__makes_little_work(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct sim *s = start(1);
	u64 packets;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 10 * SIM_S);
	packets = s->ep[1].c.cnt[DLCP_CNT_RX_DATA];
	FIGURE("nothing due after %llu of %llu packets of data",
	       (unsigned long long)s->ep[1].quiet, (unsigned long long)packets);
	SIM_CHECK(s, s->ep[1].quiet > packets / 2);
	end(s);
}

/* Nor after most small messages that are read */
static void reads__make_little_work(void)
{
	struct sim_attr a = { .length = 64 };
	struct sim *s = start(1);
	u32 i;

	sim_up(s);
	for (i = 0; i < 100; i++) {
		sim_send(&s->ep[0], &a);
		sim_run(s, SIM_MS);
	}
	sim_finish(s, 10 * SIM_S);
	FIGURE("nothing due after %llu of 100 messages read",
	       (unsigned long long)s->ep[1].quiet_reads);
	SIM_CHECK(s, s->ep[1].quiet_reads > 50);
	end(s);
}

TESTS(T(data__makes_little_work), T(reads__make_little_work),
      T(rate__is_kept), T(rate__is_found_again),
      T(rate__grows_with_the_grant), T(rate__is_forgotten),
      T(queue__is_told), T(queue__of_others_is_gone),
      T(queue__of_a_link_that_got_slow), T(queue__of_a_shaped_link),
      T(queue__of_a_longer_way),
      T(jitter__is_no_queue), T(jitter__costs_little),
      T(jitter__of_thousands),       T(stop__is_no_congestion),
      T(pauses__keep_the_window), T(unused__window_does_not_grow),
      T(credit__comes_in_time),
      T(credit__comes_to_late_comers),
      T(loss__at_random_is_no_congestion),
      T(timeouts__of_lost_acks_are_no_congestion))
