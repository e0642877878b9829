// SPDX-License-Identifier: GPL-2.0
/*
 * When a peer is dead, and when it is not: pauses of either end, peers that answer
 * to nothing, or to all but what matters.
 */
#include "test_conn.h"

/* Nobody's timer runs and no packet is handled for @ns */
static void pause_both(struct sim *s, u64 ns)
{
	s->ep[0].mute = true;
	s->ep[1].mute = true;
	sim_run(s, ns);
	s->ep[0].mute = false;
	s->ep[1].mute = false;
	sim_kick(&s->ep[0]);
	sim_kick(&s->ep[1]);
}

static void each_dead_ns(struct sim *s, u64 ns)
{
	s->ep[0].cfg.dead_ns = ns;
	s->ep[1].cfg.dead_ns = ns;
}

/* Data on its way both ways, again and again, for as short or long as it likes */
static void pause__of_both(void)
{
	static const u64 ns[] = { 100 * SIM_MS, SIM_S, 10 * SIM_S, 3600 * SIM_S };
	u32 i, k;

	for (i = 0; i < 4 * ARRAY_SIZE(ns); i++) {
		struct sim_attr a = { .length = 2000000, .ppm = bounds[i % 5] };
		struct sim *s = start(i + 1);

		each_dead_ns(s, ns[i % 4]);
		s->ep[0].cfg.nr_paths = (u8)(1 + i / 4);
		sim_up(s);
		for (k = 0; k < 8; k++) {
			sim_send(&s->ep[0], &a);
			sim_send(&s->ep[1], &a);
			sim_run(s, sim_below(s, 2000) * SIM_US);
			pause_both(s, ns[i % 4] + sim_below(s, 100 * SIM_S));
		}
		sim_finish(s, 20 * SIM_S);
		end(s);
	}
}

static void pause__in_set_up(void)
{
	u64 at;

	for (at = 1; at < 130; at += 4) {
		struct sim_attr a = { .length = 10000 };
		struct sim *s = start(at);

		sim_connect(s);
		sim_run(s, at * SIM_US);
		pause_both(s, 17 * SIM_S);
		sim_wait_up(s);
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		end(s);
	}
}

/* The peer is away, too, for a while after this end is back */
static void pause__then_an_outage(void)
{
	struct sim_attr a = { .length = 2000000 };
	struct sim *s = start(1);
	u64 probes;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 300 * SIM_US);
	pause_both(s, 17 * SIM_S);
	s->link[0].down = true;
	probes = s->ep[0].c.cnt[DLCP_CNT_PROBES];
	sim_run(s, 8 * SIM_S);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_PROBES] - probes >= 8);
	s->link[0].down = false;
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* What is really dead is found all the same, however often this end stands still */
static void pause__does_not_hide_death(void)
{
	struct sim_attr a = { .length = 2000000 };
	struct sim *s = start(1);
	u64 awake = 0;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 300 * SIM_US);
	s->link[0].down = true;
	s->link[1].down = true;
	while (!s->ep[0].error && awake < 30) {
		pause_both(s, 60 * SIM_S);
		sim_run(s, SIM_S);
		awake++;
	}
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	/* Of each pause one step counts, and each second awake */
	SIM_CHECK(s, awake >= 5 && awake <= 11);
	sim_free(s);
}

/* One end stands still for less than the other gives it */
static void pause__of_the_peer(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_attr a = { .length = 2000000 };
		struct sim *s = start(i + 1);

		each_dead_ns(s, 30 * SIM_S);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_run(s, 300 * SIM_US);
		s->ep[i].mute = true;
		sim_run(s, 17 * SIM_S);
		s->ep[i].mute = false;
		sim_kick(&s->ep[i]);
		sim_finish(s, 5 * SIM_S);
		end(s);
	}
}

/* ep[0]'s packets that acknowledge do not get through; all others do */
static bool no_acks(struct sim *s, struct sim_pkt *k)
{
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_frame f;

	if (k->to != 1 || k->p[8] != DLCP_PT_CTRL)
		return true;
	while (dlcp_get_frame(k->p, k->len, &off, &f) > 0)
		if (f.type == DLCP_FT_ACK)
			return false;
	return true;
}

static void sends_for(struct sim *s, u64 ns)
{
	struct sim_attr a = { .length = 1000 };
	u64 to = s->now + ns;

	while (s->now < to && !s->ep[0].error && !s->ep[1].error) {
		if (dlcp_conn_may_send(&s->ep[0].c))
			sim_send(&s->ep[0], &a);
		sim_run(s, 20 * SIM_MS);
	}
}

static void silent__sends_and_never_acknowledges(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_attr a = { .length = i ? 100000 : 1000 };
		struct sim *s = start(i + 1);
		struct sim_msg *m;
		u64 from;

		sim_up(s);
		sim_run(s, SIM_MS);
		s->meddle = no_acks;
		s->tainted = true;
		m = sim_send(&s->ep[1], &a);
		from = s->now;
		sends_for(s, 60 * SIM_S);
		SIM_CHECK(s, s->ep[1].error == ETIMEDOUT && !m->done);
		SIM_CHECK(s, s->now - from > 9 * SIM_S &&
			  s->now - from < 11 * SIM_S);
		sim_free(s);
	}
}

/* Data comes, and the limits of the peer never do */
static bool no_echo_ack(struct sim *s, struct sim_pkt *k)
{
	return k->p[8] != DLCP_PT_ECHO_ACK;
}

static void silent__set_up_never_ends(void)
{
	struct sim_attr a = { .length = 1000 };
	struct sim *s = start(1);
	u32 i;

	s->meddle = no_echo_ack;
	s->tainted = true;
	sim_connect(s);
	while (!s->ep[1].live)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	for (i = 0; i < 400 && !s->ep[0].error; i++) {
		if (dlcp_conn_may_send(&s->ep[1].c))
			sim_send(&s->ep[1], &a);
		sim_run(s, 50 * SIM_MS);
	}
	SIM_CHECK(s, s->ep[0].c.setup.acked == 0);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	SIM_CHECK(s, s->now < 14 * SIM_S);
	sim_free(s);
}

/* Frames of one kind of ep[1] do not get through, nor ACKs as long as the peer has
 * to learn of what it lacks by a MAP
 */
static u8 withheld;
static bool no_ack_yet;

static bool withhold(struct sim *s, struct sim_pkt *k)
{
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_frame f;
	u8 buf[2048];
	u32 len, pn;

	if (k->to || k->p[8] != DLCP_PT_CTRL)
		return true;
	dlcp_get_ctrl(k->p, k->len, &pn);
	len = dlcp_put_ctrl(buf, s->ep[0].cfg.local_tag, k->p[9], k->p[10], pn);
	while (dlcp_get_frame(k->p, k->len, &off, &f) > 0)
		if (f.type != withheld && !(no_ack_yet && f.type == DLCP_FT_ACK))
			len += dlcp_put_frame(buf + len, sizeof(buf) - len, &f);
	no_ack_yet = no_ack_yet && s->ep[0].c.tx.active.next != &s->ep[0].c.tx.active &&
		     list_empty(&s->ep[0].c.tx.resolve);
	memcpy(k->p, buf, len);
	k->len = len;
	return true;
}

/* It acknowledges all that is asked, and never says what it has */
static void silent__answers_nothing_of_a_message(void)
{
	static const u8 kinds[] = { DLCP_FT_DONE, DLCP_FT_MAP };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct sim_attr a = { .length = 3000000, .ppm = 100000,
				      .flags = i ? DLCP_MSG_EARLY_STOP : 0 };
		struct sim *s = start(i + 1);
		u64 from;

		withheld = kinds[i];
		no_ack_yet = i;
		sim_up(s);
		sim_run(s, SIM_MS);
		s->tainted = true;
		s->meddle = withhold;
		lossy(s, 50000);
		sim_send(&s->ep[0], &a);
		from = s->now;
		sim_run(s, 8 * SIM_S);
		lossy(s, 0);
		SIM_CHECK(s, !s->ep[0].error);
		while (!s->ep[0].error)
			SIM_CHECK(s, sim_step(s, from + 30 * SIM_S));
		SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
		SIM_CHECK(s, i || !strcmp(s->ep[0].c.error_text,
					"the peer does not say what it has"));
		SIM_CHECK(s, s->now - from < 13 * SIM_S);
		sim_free(s);
	}
}

/* Without credit nothing is sent, and as long as the peer lives it may come */
static void silent__no_credit_is_no_death(void)
{
	struct sim_attr a = { .length = 8000000, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	struct sim_msg *m;

	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	sim_run(s, 1000 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error && !m->done);
	sim_read(&s->ep[1], m, SIM_READ_NOW);
	sim_finish(s, 5 * SIM_S);
	end(s);
}

/* Where there is no memory for a probe the peer is asked all the same */
static void silent__no_memory_to_ask(void)
{
	struct sim_attr a = { .length = 2000000 };
	struct sim *s = start(1);

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 300 * SIM_US);
	s->ep[0].alloc_fail = 1000000;
	s->link[0].down = true;
	sim_run(s, SIM_S);
	s->link[0].down = false;
	sim_run(s, 20 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error);
	s->ep[0].alloc_fail = 0;
	sim_finish(s, 10 * SIM_S);
	end(s);
}

TESTS(T(pause__of_both), T(pause__in_set_up), T(pause__then_an_outage),
      T(pause__does_not_hide_death), T(pause__of_the_peer),
      T(silent__sends_and_never_acknowledges), T(silent__set_up_never_ends),
      T(silent__answers_nothing_of_a_message),
      T(silent__no_credit_is_no_death), T(silent__no_memory_to_ask))
