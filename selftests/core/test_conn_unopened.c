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
	while (!s->ep[1].c.rx.nr_unopened)
		SIM_CHECK(s, sim_step(s, at));
	/* None of it is counted before it is taken */
	SIM_CHECK(s, !s->ep[1].c.cnt[DLCP_CNT_RX_DATA]);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, !s->ep[1].c.rx.nr_unopened);
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

/* Message 0 is not heard of at ep[1] before *(bool *)s->arg */
static bool first_unheard(struct sim *s, struct sim_pkt *k)
{
	struct dlcp_frame f;
	struct dlcp_data d;
	struct dlcp_hdr h;
	u32 off = DLCP_CTRL_HDR_LEN;

	if (k->to != 1 || *(bool *)s->arg || dlcp_get_hdr(k->p, k->len, &h))
		return true;
	if (h.type == DLCP_PT_DATA)
		return dlcp_get_data(k->p, k->len, k->len, &h, &d) < 0 || d.msg;
	while (h.type == DLCP_PT_CTRL && dlcp_get_frame(k->p, k->len, &off, &f) > 0)
		if (f.type == DLCP_FT_OPEN && !f.open.msg)
			return false;
	return true;
}

/* As many as may be, at most @most. Return: how many are over after a while */
static u32 others(struct sim *s, u32 most)
{
	struct sim_attr a = { .length = 100 };
	u32 done = s->ep[0].nr_done, i;

	for (i = 0; i < most; i++) {
		if (!sim_send_one_of(&s->ep[0], &a, i))
			break;
	}
	sim_run(s, 100 * SIM_MS);
	return s->ep[0].nr_done - done;
}

/* Its user takes his time. It is announced, so that no other message waits for it. */
static void unopened__first_is_late(void)
{
	static const u64 length[] = { 50000, 1000, 0 };
	struct sim_attr a = { .held = true };
	struct sim_msg *m;
	struct sim *s;
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(length); i++) {
		s = start(i + 1);
		lossy(s, i % 2 * 50000);
		sim_up(s);
		a.length = length[i / 2];
		m = sim_send(&s->ep[0], &a);
		SIM_CHECK(s, others(s, 3 * DLCP_MSG_WINDOW) == 3 * DLCP_MSG_WINDOW);
		SIM_CHECK(s, !m->tx.sent_bytes && s->ep[1].c.rx.nr_old == 1);
		sim_fill(m);
		sim_finish(s, SIM_S);
		end(s);
	}
}

/* Nothing of it comes: all others stand still, a window later, until it does; and go on
 * then, although nobody reads it.
 */
static void unopened__first_is_lost(void)
{
	struct sim_attr a = { .length = 8 << 20, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	bool heard = false;
	struct sim_msg *m;

	sim_up(s);
	s->arg = &heard;
	s->meddle = first_unheard;
	m = sim_send(&s->ep[0], &a);
	SIM_CHECK(s, others(s, 3 * DLCP_MSG_WINDOW) == DLCP_MSG_WINDOW - 1);
	heard = true;
	sim_run(s, 2 * SIM_S);
	SIM_CHECK(s, others(s, 3 * DLCP_MSG_WINDOW) == 3 * DLCP_MSG_WINDOW);
	sim_read(&s->ep[1], m, SIM_READ_NOW);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* It never comes. The peer answers, and takes nothing: that is an error. */
static void unopened__first_never_comes(void)
{
	struct sim_attr a = { .length = 50000 };
	struct sim *s = start(1);
	bool heard = false;

	sim_up(s);
	s->arg = &heard;
	s->meddle = first_unheard;
	sim_send(&s->ep[0], &a);
	SIM_CHECK(s, others(s, 3 * DLCP_MSG_WINDOW) == DLCP_MSG_WINDOW - 1);
	sim_run(s, 2 * s->ep[0].cfg.dead_ns);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	sim_free(s);
}

TESTS(T(unopened__first_is_late), T(unopened__first_is_lost),
      T(unopened__first_never_comes),
      T(unopened__asks_for_its_open), T(unopened__waits),
      T(unopened__in_order), T(unopened__limits))
