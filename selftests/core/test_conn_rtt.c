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
static void rtt__busy_hosts_are_no_queue(void)
{
	struct sim_attr a = { .length = 64 << 20 };
	struct sim *s = start(1);
	const struct dlcp_path *p;
	struct sim_msg *m;

	s->ep[0].busy = BUSY;
	s->ep[1].busy = BUSY;
	sim_up(s);
	p = &s->ep[0].c.paths[0];
	m = sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, p->net.min >= 50 * SIM_US && p->net.min < 60 * SIM_US);
	SIM_CHECK(s, p->net.srtt < 200 * SIM_US);
	SIM_CHECK(s, p->rtt.srtt > p->net.srtt + BUSY / 2);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_PROBES] < 5);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_SPURIOUS]);
	/* 54 ms at the link's rate */
	SIM_CHECK(s, m->rcvd_at - m->sent_at < 80 * SIM_MS);
	end(s);
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
	conn_sample_init(c, &cs, s->now);
	cs.wire = s->now;
	SIM_CHECK(s, conn_on_ack(c, &f, &cs));
	SIM_CHECK(s, !cs.s.rtt);
	SIM_CHECK(s, !memcmp(&net, &c->paths[0].net, sizeof(net)));
	/* Nor does a stamp from before the packet left */
	f.delay_us = 0;
	cs.wire = 1;
	SIM_CHECK(s, conn_on_ack(c, &f, &cs));
	SIM_CHECK(s, !cs.s.rtt);
	sim_finish(s, SIM_S);
	end(s);
}

TESTS(T(rtt__busy_hosts_are_no_queue), T(rtt__idle_hosts),
      T(rtt__impossible_delays))
