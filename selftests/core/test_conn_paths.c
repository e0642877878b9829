// SPDX-License-Identifier: GPL-2.0
/* Several paths: all are used, and none is needed. */
#include "test_conn.h"

static void paths__spread(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct sim *s = start(1);
	u32 i, k;

	s->ep[0].cfg.nr_paths = 4;
	s->ep[1].cfg.nr_paths = 4;
	sim_up(s);
	for (i = 0; i < 4; i++)
		for (k = 0; k < i; k++)
			SIM_CHECK(s, s->ep[0].c.paths[i].entropy !=
				  s->ep[0].c.paths[k].entropy);
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	for (i = 0; i < 4; i++)
		SIM_CHECK(s, s->link[0].path_packets[i] > 1400 &&
			  s->link[0].path_packets[i] < 2200);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] == 0);
	end(s);
}

/* The other policy: as many bytes on each, however long they take */
static void paths__even(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct sim *s = start(1);
	u32 i;

	SIM_CHECK(s, !dlcp_pathsched_find("none such"));
	s->ep[0].cfg.pathsched = dlcp_pathsched_find("even");
	s->ep[0].cfg.nr_paths = 4;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	for (i = 1; i < 4; i++)
		SIM_CHECK(s, s->link[0].path_packets[i] + 50 >
			  s->link[0].path_packets[0]);
	end(s);
}

static void paths__one_dead_of_four(void)
{
	struct sim_attr a = { .length = 20000000 };
	struct sim *s = start(1);
	u64 before, n;

	s->ep[0].cfg.nr_paths = 4;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 2 * SIM_MS);
	s->link[0].dead_paths = BIT(2);
	sim_run(s, 2 * SIM_MS);
	before = s->link[0].path_packets[2];
	sim_finish(s, SIM_S);
	/* Only probes go there now */
	SIM_CHECK(s, s->link[0].path_packets[2] - before < 30);
	SIM_CHECK(s, s->ep[0].msgs[0]->rcvd_at - s->ep[0].msgs[0]->sent_at <
		  25 * SIM_MS);
	/* With nothing to send there is nothing to try */
	sim_run(s, 60 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error);
	SIM_CHECK(s, dlcp_conn_next_timer(&s->ep[0].c) == U64_MAX);
	/* A path that recovers is used again */
	s->link[0].dead_paths = 0;
	sim_run(s, 2 * SIM_S);
	n = s->link[0].path_packets[2];
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, s->link[0].path_packets[2] - n > 2000);
	end(s);
}

/* Each of 16 paths but the first loses the first packet it ever carries, while the
 * others deliver. Return: how long the slowest message took, ns
 */
static u64 first_packets_lost(struct sim *s)
{
	struct sim_attr a = { .length = 100 };
	struct sim_msg *m;
	u64 worst = 0;
	u32 i;

	s->ep[0].cfg.nr_paths = 16;
	sim_up(s);
	for (i = 0; i < 16; i++) {
		if (i)
			s->link[0].dead_paths = 0xffff & ~1;
		m = sim_send(&s->ep[0], &a);
		sim_run(s, SIM_MS / 5);
		s->link[0].dead_paths = 0;
		sim_finish(s, SIM_S);
		worst = max(worst, m->rcvd_at - m->sent_at);
	}
	return worst;
}

/* The others have shown how long an answer takes */
static void paths__first_loss(void)
{
	struct sim *s = start(1);
	u64 worst = first_packets_lost(s);

	FIGURE("at worst %.2f ms", worst / 1e6);
	SIM_CHECK(s, worst < 2 * SIM_MS);
	end(s);
}

/* The same far away: the tail of a path that was never used is asked for, too */
static void paths__first_tail(void)
{
	struct sim *s = start(1);
	u64 worst;

	s->link[0].delay = 5 * SIM_MS;
	s->link[1].delay = 5 * SIM_MS;
	worst = first_packets_lost(s);
	FIGURE("round trip of 10 ms: at worst %.2f ms", worst / 1e6);
	SIM_CHECK(s, worst < 20 * SIM_MS);
	end(s);
}

static u32 nr_bad(const struct dlcp_conn *c)
{
	u32 i, nr = 0;

	for (i = 0; i < c->cfg.nr_paths; i++)
		nr += c->paths[i].bad;
	return nr;
}

/* A way that dies is left after one timeout, as others are answered meanwhile. While
 * nobody is answered none is left for longer than that.
 */
static void paths__left_at_once(void)
{
	struct sim_attr a = { .length = 40000000 };
	struct sim *s = start(1);
	struct dlcp_path *p;
	u64 pto, died;

	s->ep[0].cfg.nr_paths = 4;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 4 * SIM_MS);
	p = &s->ep[0].c.paths[2];
	pto = dlcp_rtt_pto(&p->rtt, s->ep[0].c.cfg.ack_delay_ns);
	SIM_CHECK(s, p->data_out > 2 && !nr_bad(&s->ep[0].c));
	s->link[0].down = true;
	s->link[1].down = true;
	sim_run(s, pto + pto / 2);
	SIM_CHECK(s, p->pto_count && !nr_bad(&s->ep[0].c));
	s->link[0].down = false;
	s->link[1].down = false;
	sim_run(s, 4 * SIM_MS);
	SIM_CHECK(s, p->data_out && !nr_bad(&s->ep[0].c));
	pto = dlcp_rtt_pto(&p->rtt, s->ep[0].c.cfg.ack_delay_ns);
	s->link[0].dead_paths = BIT(2);
	died = s->now;
	while (!p->bad)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	FIGURE("left after %.2f timeouts", (double)(s->now - died) / pto);
	SIM_CHECK(s, 2 * (s->now - died) < 3 * pto);
	sim_finish(s, SIM_S);
	end(s);
}

/* Return: how long after the first answer all has arrived, ns, where each of 16 ways was
 * dead for @dead ms
 */
static u64 all_dead_for(u32 dead)
{
	struct sim_attr a = { .length = 100 };
	struct sim *s = start(1);
	u64 acks, heard;
	u32 i;

	s->ep[0].cfg.nr_paths = 16;
	sim_up(s);
	for (i = 0; i < 64; i++) {
		sim_send(&s->ep[0], &a);
		sim_run(s, SIM_MS / 10);
	}
	s->link[0].down = true;
	for (i = 0; i < 16; i++) {
		sim_send(&s->ep[0], &a);
		sim_run(s, SIM_MS);
	}
	sim_run(s, (dead - 16) * SIM_MS);
	s->link[0].down = false;
	acks = s->ep[0].c.cnt[DLCP_CNT_ACKS_RCVD];
	while (s->ep[0].c.cnt[DLCP_CNT_ACKS_RCVD] == acks)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	heard = s->now;
	sim_finish(s, SIM_S);
	heard = s->now - heard;
	end(s);
	return heard;
}

/* The timeouts of an outage tell nothing of the ways: after the first answer the
 * other paths wait for one more, and not for as long as all were dead
 */
static void paths__all_dead_for_a_while(void)
{
	u64 worst = 0;
	u32 dead;

	for (dead = 40; dead <= 200; dead += 10)
		worst = max(worst, all_dead_for(dead));
	FIGURE("after the first answer at worst %.2f ms", worst / 1e6);
	SIM_CHECK(&sim, worst < SIM_MS);
}

/* Three of four packets of a burst are followed by another loss, however long
 * after: the network forgets nothing while nobody sends
 */
static void paths__bursts_that_wait(void)
{
	u64 seed, worst = 0;

	for (seed = 1; seed <= 40; seed++) {
		struct sim_attr a = { .length = 5000000 };
		struct sim *s = start(seed);
		struct sim_msg *m;
		u32 i;

		for (i = 0; i < 2; i++) {
			s->link[i].burst_enter = 7700;
			s->link[i].burst_exit = 250000;
		}
		sim_up(s);
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		worst = max(worst, m->rcvd_at - m->sent_at);
		end(s);
	}
	FIGURE("5 MB, 3 %% lost in bursts of 4: at worst %.1f ms", worst / 1e6);
	SIM_CHECK(&sim, worst < 40 * SIM_MS);
}

/* Set-up is not answered: the next packet takes another way, at both ends */
static void paths__set_up_goes_round(void)
{
	struct sim *s = start(1);
	u16 first[2];

	s->link[0].down = true;
	sim_connect(s);
	first[0] = s->ep[0].c.paths[0].entropy;
	sim_run(s, 40 * SIM_MS);
	SIM_CHECK(s, s->ep[0].c.paths[0].entropy == first[0]);
	sim_run(s, 60 * SIM_MS);
	SIM_CHECK(s, s->ep[0].c.paths[0].entropy != first[0]);
	s->link[0].down = false;
	while (s->ep[0].c.state != DLCP_ECHO_SENT)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	s->link[1].down = true;
	while (!s->ep[1].live)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	first[1] = s->ep[1].c.paths[0].entropy;
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[1].c.paths[0].entropy != first[1]);
	s->link[1].down = false;
	sim_wait_up(s);
	end(s);
}

/* No ACK arrives, and the end that sends them asks nothing: the first probe that tells it
 * so takes the ACK's path another way
 */
static void paths__answers_lost(void)
{
	struct sim_attr a = { .length = 5000000 };
	struct sim *s = start(1);
	struct dlcp_conn *c = &s->ep[1].c;
	u64 repaths;
	u16 was[4];
	u32 i;

	s->ep[0].cfg.nr_paths = 4;
	s->ep[1].cfg.nr_paths = 4;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 2 * SIM_MS);
	s->link[1].down = true;
	repaths = c->cnt[DLCP_CNT_REPATHS];
	for (i = 0; i < 4; i++)
		was[i] = c->paths[i].entropy;
	/* What was on its way has come, until it is asked */
	while (c->cnt[DLCP_CNT_REPATHS] == repaths)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	for (i = 0; i < 4; i++)
		SIM_CHECK(s, was[i] == c->paths[i].entropy ||
			  !c->paths[i].pto_count);
	s->link[1].down = false;
	sim_finish(s, SIM_S);
	end(s);
}

/* One path of four lets through nothing but control: what it carried goes by others */
static void paths__only_control(void)
{
	struct sim_attr a = { .length = 1 << 20 };
	struct sim *s = start(1);
	u32 i;

	s->ep[0].cfg.nr_paths = 4;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	s->link[0].dead_class = BIT(1);
	for (i = 0; i < 10; i++) {
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
	}
	end(s);
}

TESTS(T(paths__only_control), T(paths__spread), T(paths__even),
      T(paths__one_dead_of_four),
      T(paths__first_loss), T(paths__first_tail), T(paths__left_at_once),
      T(paths__all_dead_for_a_while), T(paths__answers_lost),
      T(paths__bursts_that_wait),
      T(paths__set_up_goes_round))
