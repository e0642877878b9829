// SPDX-License-Identifier: GPL-2.0
/* What a connection learns of round trips: the hosts' part and the network's */
#include "test_conn.h"
#include "conn_int.h"

#define BUSY	(400 * SIM_US)

/*
 * Packets wait 200 us for each host, eight times as long as they travel. The
 * controller hears nothing of that, so that it fills the link; the timers do,
 * so that nothing is probed in vain.
 */
/* Return: whether the mean round trip in the network was short in the end */
static bool busy_hosts(u64 seed, u64 *time)
{
	struct sim_attr a = { .length = 64 << 20 };
	struct sim *s = start(seed);
	const struct dlcp_path *p;
	struct sim_msg *m;
	bool quiet;

	s->ep[0].busy = BUSY;
	s->ep[1].busy = BUSY;
	sim_up(s);
	p = &s->ep[0].c.paths[0];
	m = sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, p->net.min >= 50 * SIM_US && p->net.min < 60 * SIM_US);
	SIM_CHECK(s, p->rtt.srtt > p->net.srtt + BUSY / 2);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_PROBES] < 5);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_SPURIOUS]);
	*time += m->rcvd_at - m->sent_at;
	quiet = p->net.srtt < 200 * SIM_US;
	end(s);
	return quiet;
}

static void rtt__busy_hosts_are_no_queue(void)
{
	const u32 runs = 9;
	u32 i, quiet = 0;
	u64 time = 0;

	for (i = 1; i <= runs; i++)
		quiet += busy_hosts(i, &time);
	FIGURE("64 MB take %.1f ms, %u of %u end without a queue",
	       time / 1e6 / runs, quiet, runs);
	/* The last of a message may meet each other, so not all of them */
	CHECK(quiet > runs / 2);
	/* 54 ms at the link's rate */
	CHECK(time < runs * 80 * SIM_MS);
}

/* Guests of a busy machine: @first and those behind it have a processor for @runs ns, then
 * for @waits none. Return: ms that @length bytes take, the mean of @seeds phases
 */
static double guests(u64 length, u64 runs, u64 waits, u32 first, u32 seeds)
{
	struct sim_attr a = { .length = length };
	struct sim_msg *m;
	u64 time = 0;
	struct sim *s;
	u32 i, k;

	for (i = 1; i <= seeds; i++) {
		s = start(i);
		sim_up(s);
		for (k = first; k < 2; k++) {
			s->ep[k].runs = runs;
			s->ep[k].waits = waits;
			s->ep[k].phase = sim_below(s, runs + waits);
		}
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		/* Idle time is not made up for */
		SIM_CHECK(s, !s->ep[0].c.send.pace_late);
		time += m->rcvd_at - m->sent_at;
		end(s);
	}
	return time / 1e6 / seeds;
}

/* A processor for 200 us of 600: 20 MB take 17 ms at the link's rate */
static void rtt__guests_wait_for_processors(void)
{
	double ms = guests(20 << 20, 200 * SIM_US, 400 * SIM_US, 0, 20);

	FIGURE("20 MB take %.0f ms", ms);
	CHECK(ms < 120);
}

/* What they get while they stand still comes late and all at once, which is no queue.
 * 32 MB take 28 ms at the link's rate.
 */
static void rtt__guests_stand_still(void)
{
	double peer = guests(32 << 20, SIM_MS, SIM_MS / 2, 1, 32);
	double both = guests(32 << 20, 20 * SIM_MS, 30 * SIM_MS, 0, 8);

	FIGURE("32 MB take %.0f ms where the receiver stands still for 0.5 of 1.5 ms", peer);
	FIGURE("32 MB take %.0f ms where both do for 30 of 50 ms", both);
	CHECK(peer < 44);
	CHECK(both < 1400);
}

/* Idle hosts: both are the same but for ACKs that are delayed on purpose */
static void rtt__idle_hosts(void)
{
	struct sim_attr a = { .length = 16 << 20 };
	struct sim *s = start(1);
	const struct dlcp_path *p;

	sim_up(s);
	p = &s->ep[0].c.paths[0];
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, p->net.min >= 50 * SIM_US && p->net.min < 60 * SIM_US);
	SIM_CHECK(s, p->rtt.srtt >= p->net.srtt);
	SIM_CHECK(s, p->rtt.srtt < p->net.srtt + 20 * SIM_US);
	end(s);
}

/* A peer that had the packet for longer than it was away tells nothing */
static void rtt__impossible_delays(void)
{
	struct sim_attr a = { .length = 16 << 20 };
	struct sim *s = start(1);
	struct conn_sample cs;
	struct dlcp_f_ack f;
	struct dlcp_conn *c;
	struct dlcp_rtt net;

	sim_up(s);
	c = &s->ep[0].c;
	sim_send(&s->ep[0], &a);
	sim_run(s, 3 * SIM_MS);
	SIM_CHECK(s, c->paths[0].inflight);
	memset(&f, 0, sizeof(f));
	f.nr_words = 1;
	f.largest = c->paths[0].sent.head - 1;
	f.delay_us = U32_MAX;
	net = c->paths[0].net;
	dlcp_conn_sample_init(c, &cs, s->now);
	cs.wire = s->now;
	SIM_CHECK(s, dlcp_conn_on_ack(c, &f, &cs));
	SIM_CHECK(s, !cs.s.rtt);
	SIM_CHECK(s, !memcmp(&net, &c->paths[0].net, sizeof(net)));
	/* Nor does a stamp from before the packet left */
	f.delay_us = 0;
	cs.wire = 1;
	SIM_CHECK(s, dlcp_conn_on_ack(c, &f, &cs));
	SIM_CHECK(s, !cs.s.rtt);
	sim_finish(s, SIM_S);
	end(s);
}

/* Where the time stands in an ACK frame: put_ack() of wire.c */
#define ACK_TIME	24

/* The clock of who acknowledges: ns ahead, and millionths too fast */
static s64 ahead, drift;
/* Bytes on links: all, and of control */
static u64 all_bytes, ctrl_bytes;

static bool another_clock(struct sim *s, struct sim_pkt *k)
{
	u32 off = DLCP_CTRL_HDR_LEN, at = off;
	struct dlcp_frame f;
	s64 us;

	if (k->len < off || k->p[8] != DLCP_PT_CTRL)
		return true;
	ctrl_bytes += k->len + s->ep[0].cfg.overhead;
	for (; dlcp_get_frame(k->p, k->len, &off, &f) == 1; at = off) {
		if (f.type != DLCP_FT_ACK)
			continue;
		us = ahead / 1000 + (s64)(s->now / 1000) * drift / 1000000;
		dlcp_put_be32(k->p + at + ACK_TIME, f.ack.time_us + (u32)us);
	}
	return true;
}

/*
 * Both ends send all they can over a link of 1 Gbit/s, the second from @late
 * on, so that the ACKs of each stand in the queue of what the other one sends.
 * Return: thousandths of both links that were payload.
 */
static u32 both_ways(u64 late)
{
	struct sim_attr a = { .length = 16 << 20 };
	struct sim *s = start(1);
	struct sim_msg *m[2];
	u32 used = 0;
	u64 took;
	u32 i;

	s->meddle = another_clock;
	for (i = 0; i < 2; i++) {
		s->link[i].rate = 1000000000;
		s->link[i].queue = 128 * 1500;
	}
	sim_up(s);
	m[0] = sim_send(&s->ep[0], &a);
	sim_run(s, late);
	m[1] = sim_send(&s->ep[1], &a);
	sim_finish(s, SIM_S);
	for (i = 0; i < 2; i++) {
		took = m[i]->rcvd_at - m[i]->sent_at;
		SIM_CHECK(s, 100 * 8 * a.length >= 75 * took);
		used += (u32)(1000 * 8 * a.length / took);
		all_bytes += s->link[i].bytes;
	}
	end(s);
	return used / 2;
}

/* Alone each has 93 % of its link, and ACKs take 3. With the delay of ACKs in
 * the window it is 80 in the mean, and 64 at worst.
 */
static void rtt__acks_behind_data(void)
{
	u32 sum = 0;
	u32 i;

	for (i = 1; i <= 20; i++)
		sum += both_ways(i * 37 * SIM_US);
	printf("# both ways: %u thousandths of the links; of the bytes %u of a thousand are control\n",
	       sum / 20, (u32)(1000 * ctrl_bytes / all_bytes));
	CHECK(sum / 20 >= 840);
}

/* Two hosts' clocks have nothing to do with each other */
static void rtt__acks_behind_data_with_other_clocks(void)
{
	static const s64 s[] = { 0, 1, -1, 3600, -86400 };
	u32 sum = 0;
	u32 i;

	for (i = 0; i < 5; i++) {
		ahead = s[i] * (s64)SIM_S / 3;
		for (drift = -100; drift <= 100; drift += 50)
			sum += both_ways((i + 1) * 41 * SIM_US);
	}
	CHECK(sum / 25 >= 840);
	ahead = 0;
	drift = 0;
}

/* As if each packet had come as soon as the link allows */
static bool lying_clock(struct sim *s, struct sim_pkt *k)
{
	u32 off = DLCP_CTRL_HDR_LEN, at = off;
	const struct dlcp_sent *e;
	struct dlcp_frame f;

	if (k->to || k->len < off || k->p[8] != DLCP_PT_CTRL)
		return true;
	for (; dlcp_get_frame(k->p, k->len, &off, &f) == 1; at = off) {
		if (f.type != DLCP_FT_ACK)
			continue;
		e = dlcp_sent_get(&s->ep[0].c.paths[0].sent, f.ack.largest);
		if (e)
			dlcp_put_be32(k->p + at + ACK_TIME,
				      (u32)(e->time / 1000));
	}
	return true;
}

/* Nothing is seen of the queue then but what gets lost in it */
static void rtt__a_clock_that_lies(void)
{
	struct sim_attr a = { .length = 16 << 20 };
	struct sim *s = start(1);
	struct sim_msg *m;
	u64 lost;

	s->meddle = lying_clock;
	s->link[0].rate = 1000000000;
	s->link[0].queue = 128 * 1500;
	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	lost = s->ep[0].c.cnt[DLCP_CNT_LOST];
	printf("# hidden queue: %llu of %u packets lost, %llu us\n",
	       (unsigned long long)lost, m->nr_segs,
	       (unsigned long long)(m->rcvd_at - m->sent_at) / 1000);
	/* The link alone needs 134 ms */
	SIM_CHECK(s, lost && lost < m->nr_segs / 6);
	SIM_CHECK(s, m->rcvd_at - m->sent_at < 160 * SIM_MS);
	end(s);
}

TESTS(T(rtt__busy_hosts_are_no_queue), T(rtt__guests_wait_for_processors),
      T(rtt__guests_stand_still), T(rtt__idle_hosts),
      T(rtt__impossible_delays), T(rtt__acks_behind_data),
      T(rtt__acks_behind_data_with_other_clocks),
      T(rtt__a_clock_that_lies))
