// SPDX-License-Identifier: GPL-2.0
/* Data before its OPEN is held, in order and within limits, until it is opened. */
#include "test_conn.h"

#define NR	300

/* Frames, OPEN among them, come when s->arg says, and not before */
static bool frames_late(struct sim *s, struct sim_pkt *k)
{
	u64 at = *(u64 *)s->arg;

	if (k->p[8] != DLCP_PT_CTRL || s->now >= at)
		return true;
	sim_inject(s, k->to, k->p, k->len, k->ce, at);
	return false;
}

static void unopened__waits(void)
{
	struct sim_attr a = { .length = 50000 };
	struct sim *s = start(1);
	u64 at;

	sim_up(s);
	at = s->now + 60 * SIM_US;
	s->arg = &at;
	s->meddle = frames_late;
	sim_send(&s->ep[0], &a);
	while (!s->ep[1].c.nr_unopened)
		SIM_CHECK(s, sim_step(s, at));
	/* None of it is counted before it is taken */
	SIM_CHECK(s, !s->ep[1].c.cnt[DLCP_CNT_RX_DATA]);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, !s->ep[1].c.nr_unopened);
	SIM_CHECK(s, s->ep[1].c.cnt[DLCP_CNT_RX_DATA] == 35);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_TX_RESENT]);
	end(s);
}

static void unopened__in_order(void)
{
	struct sim_attr a = { .length = 1000 };
	struct sim *s = start(1);
	struct dlcp_conn *c = &s->ep[1].c;
	struct dlcp_unopened held[6], *h;
	u32 i;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	/* Message 0 is over, 1 is not open, and -1 can never be */
	for (i = 0; i < 6; i++)
		CHECK(dlcp_conn_unopened_keep(c, &held[i], i % 3 - 1, 1, 1, 2));
	h = dlcp_conn_unopened_take(c);
	CHECK(h == &held[0]);
	CHECK(h->next == &held[1]);
	CHECK(h->next->next == &held[3]);
	CHECK(h->next->next->next == &held[4]);
	CHECK(!held[4].next);
	CHECK(!dlcp_conn_unopened_take(c));
	CHECK(dlcp_conn_unopened_any(c) == &held[5]);
	CHECK(dlcp_conn_unopened_any(c) == &held[2]);
	CHECK(!dlcp_conn_unopened_any(c));
	end(s);
}

static void unopened__limits(void)
{
	struct sim *s = start(1);
	struct dlcp_conn *c = &s->ep[1].c;
	static struct dlcp_unopened held[NR];
	u32 i, nr = 0;

	sim_up(s);
	/* What is open comes first */
	CHECK(!dlcp_conn_unopened_keep(c, &held[0], 1, 1, 501, 1000));
	CHECK(dlcp_conn_unopened_keep(c, &held[0], 1, 1, 500, 1000));
	for (i = 1; i < NR; i++)
		nr += dlcp_conn_unopened_keep(c, &held[i], i, 1, 500, 1000);
	CHECK_EQ(nr, 254);
	while (dlcp_conn_unopened_any(c))
		nr--;
	CHECK_EQ(nr, (u32)-1);
	end(s);
}

/* The first packet of frames that goes to ep[1] is lost: OPEN */
static bool first_frames_lost(struct sim *s, struct sim_pkt *k)
{
	u32 *nr = s->arg;

	return k->to != 1 || k->p[8] != DLCP_PT_CTRL || (*nr)++;
}

/* Three packets behind it tell, so that nobody has to wait for a timeout */
static void unopened__asks_for_its_open(void)
{
	struct sim_attr a = { .length = 50000 };
	struct sim *s = start(1);
	struct sim_msg *m;
	u64 cwnd;
	u32 nr = 0;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	cwnd = s->ep[0].c.cong.cwnd;
	s->arg = &nr;
	s->meddle = first_frames_lost;
	m = sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	FIGURE("OPEN lost: over after %llu us",
	       (unsigned long long)((m->rcvd_at - m->sent_at) / SIM_US));
	/* Two round trips of 50 us, and 40 us on the wire */
	SIM_CHECK(s, m->rcvd_at - m->sent_at < 150 * SIM_US);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_PROBES]);
	SIM_CHECK(s, s->ep[0].c.cong.cwnd >= cwnd);
	end(s);
}

TESTS(T(unopened__asks_for_its_open), T(unopened__waits), T(unopened__in_order), T(unopened__limits))
