// SPDX-License-Identifier: GPL-2.0
/* The promises of protocol.md, section 1: 5 and 7 */
#include "test_conn.h"

/* 5. No order, and nobody waits for what nobody reads */
static void no_order__unread_beside_read(void)
{
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = {
			.length = 10 << 20,
			.read = SIM_READ_NEVER,
		};
		struct sim *s = start(seed);
		struct sim_msg *m[6], *r;
		u32 i;

		lossy(s, seed % 2 * 10000);
		s->ep[1].cfg.rx_space = 1 << 20;
		sim_up(s);
		for (i = 0; i < 6; i++)
			m[i] = sim_send(&s->ep[0], &a);
		sim_run(s, 100 * SIM_MS);
		a.read = SIM_READ_NOW;
		a.prio = 7;
		r = sim_send(&s->ep[0], &a);
		sim_run(s, 3 * SIM_S);
		SIM_CHECK(s, r->done);
		SIM_CHECK(s, !m[0]->done && !m[5]->done);
		SIM_CHECK(s, s->ep[1].max_buffered <=
			  s->ep[1].cfg.rx_space + s->ep[1].cfg.unsolicited +
			  s->ep[1].cfg.rx_space / 16);
		for (i = 6; i-- > 0;) {
			sim_read(&s->ep[1], m[i], SIM_READ_NOW);
			sim_run(s, 2 * SIM_S);
			SIM_CHECK(s, m[i]->done);
		}
		end(s);
	}
}

static void no_order__unread_small(void)
{
	struct sim_attr a = { .length = 3000, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	struct sim_msg *m, *first;
	u32 i;

	s->ep[1].cfg.rx_space = 256 << 10;
	s->ep[1].cfg.unsolicited = 64 << 10;
	sim_up(s);
	first = sim_send(&s->ep[0], &a);
	for (i = 1; i < 500; i++)
		sim_send(&s->ep[0], &a);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[1].nr_rcvd > 10 && s->ep[1].nr_rcvd < 500);
	a.read = SIM_READ_NOW;
	m = sim_send(&s->ep[0], &a);
	sim_run(s, SIM_S);
	SIM_CHECK(s, first->done && m->done);
	for (i = 0; i < 500; i++)
		sim_read(&s->ep[1], s->ep[0].msgs[i], SIM_READ_DONE);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

static void no_order__thousands_small(void)
{
	u32 round;

	for (round = 0; round < 3; round++) {
		struct sim *s = start(round + 1);
		struct sim_attr a = { .ppm = round * 20000 };
		u32 i, sent = 0;

		lossy(s, round * 10000);
		sim_up(s);
		while (sent < 10000) {
			for (i = 0; i < 16 && sent < 10000; i++) {
				if (!dlcp_conn_may_send(&s->ep[0].c))
					break;
				a.length = sim_below(s, 2000);
				a.prio = (u8)sim_below(s, 8);
				sim_send(&s->ep[0], &a);
				sent++;
			}
			SIM_CHECK(s, sim_step(s, s->now + 10 * SIM_S));
		}
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

/* More messages than there are numbers in the window pass by unread ones */
static void no_order__left_behind(void)
{
	u32 round;

	for (round = 0; round < 2; round++) {
		struct sim *s = start(round + 1);
		struct sim_attr big = { .length = 4 << 20, .ppm = round * 50000,
					.read = SIM_READ_NEVER };
		struct sim_attr a = { .length = 700 };
		struct sim_msg *m[4];
		u32 i, sent = 0;

		lossy(s, round * 10000);
		s->ep[1].cfg.rx_space = 1 << 20;
		sim_up(s);
		while (sent < 3 * DLCP_MSG_WINDOW) {
			for (i = 0; i < 64 && sent < 3 * DLCP_MSG_WINDOW;
			     i++, sent++) {
				if (!dlcp_conn_may_send(&s->ep[0].c))
					break;
				if (!(sent % DLCP_MSG_WINDOW))
					m[sent / DLCP_MSG_WINDOW] =
						sim_send(&s->ep[0], &big);
				else
					sim_send(&s->ep[0], &a);
			}
			SIM_CHECK(s, sim_step(s, s->now + 10 * SIM_S));
		}
		sim_run(s, SIM_S);
		SIM_CHECK(s, s->ep[0].nr_done == sent - 3);
		SIM_CHECK(s, s->ep[0].c.tx.nr_old && s->ep[1].c.rx.nr_old);
		for (i = 3; i-- > 0;) {
			SIM_CHECK(s, !m[i]->done);
			sim_read(&s->ep[1], m[i], SIM_READ_NOW);
			sim_run(s, 2 * SIM_S);
			SIM_CHECK(s, m[i]->done);
		}
		SIM_CHECK(s, !s->ep[0].c.tx.nr_old && !s->ep[1].c.rx.nr_old);
		end(s);
	}
}

static void no_order__nobody_starves(void)
{
	struct sim_attr a = { .length = 100 << 20, .prio = 0 };
	struct sim_attr b = { .length = 2 << 20, .prio = 7 };
	struct sim *s = start(1);
	struct sim_msg *urgent, *patient;

	sim_up(s);
	urgent = sim_send(&s->ep[0], &a);
	patient = sim_send(&s->ep[0], &b);
	sim_finish(s, 10 * SIM_S);
	SIM_CHECK(s, patient->rcvd_at < urgent->rcvd_at);
	end(s);
}

/* Steps of a pipeline, some a little shorter: none goes before an older one, but
 * for the turns. A short one does.
 */
static void no_order__of_one_length_the_older_first(void)
{
	struct sim_attr a = { .read = SIM_READ_DONE };
	struct sim_msg *m[28], *small;
	u32 i, seed;

	for (seed = 1; seed <= 5; seed++) {
		struct sim *s = start(seed);

		s->link[0].rate = 1000000000;
		s->link[0].queue = 128 * 1500;
		sim_up(s);
		for (i = 0; i < ARRAY_SIZE(m); i++) {
			a.length = i % 4 == 3 ? 50164 : 50180;
			m[i] = sim_send(&s->ep[0], &a);
		}
		a.length = 3000;
		small = sim_send(&s->ep[0], &a);
		sim_finish(s, 10 * SIM_S);
		for (i = 0; i + 2 < ARRAY_SIZE(m); i++)
			SIM_CHECK(s, m[i]->rcvd_at < m[i + 2]->rcvd_at);
		SIM_CHECK(s, small->rcvd_at < m[3]->rcvd_at);
		end(s);
	}
}

/* All the allowance is held by what nobody reads, and a stream never pauses */
static void no_order__announced_beside_a_stream(void)
{
	struct sim_attr a = { .length = 3000, .read = SIM_READ_NEVER };
	struct sim_attr b = { .length = 200 << 20 };
	struct sim *s = start(1);
	struct sim_msg *m, *stream;
	u32 i;

	s->ep[1].cfg.unsolicited = 64 << 10;
	sim_up(s);
	for (i = 0; i < 30; i++)
		sim_send(&s->ep[0], &a);
	sim_run(s, SIM_MS);
	stream = sim_send(&s->ep[0], &b);
	sim_run(s, SIM_MS);
	/* Too many for credit without a reader, too */
	a.length = 1 << 20;
	for (i = 0; i < 5; i++)
		sim_send(&s->ep[0], &a);
	a.length = 3000;
	a.read = SIM_READ_NOW;
	m = sim_send(&s->ep[0], &a);
	sim_run(s, 20 * SIM_MS);
	SIM_CHECK(s, m->done && !stream->done);
	for (i = 0; i < s->ep[0].nr_msgs; i++)
		sim_read(&s->ep[1], s->ep[0].msgs[i], SIM_READ_NOW);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

static void no_order__urgent_overtakes(void)
{
	struct sim_attr a = { .length = 10 << 20, .prio = 5 };
	struct sim *s = start(1);
	struct sim_msg *slow, *fast;

	sim_up(s);
	slow = sim_send(&s->ep[0], &a);
	sim_run(s, SIM_MS);
	a.prio = 0;
	a.length = 100000;
	fast = sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, fast->rcvd_at < slow->rcvd_at);
	SIM_CHECK(s, fast->rcvd_at - fast->sent_at < SIM_MS);
	end(s);
}

/* 7. Nothing hangs: who only looks for what is complete gets one after the other,
 * though a patient one has a part of the room when an urgent one wants more of
 * it than the rest
 */
static void progress__polled_one_by_one(void)
{
	struct sim_attr a = { .length = 300 << 10, .read = SIM_READ_NEVER,
			      .prio = 7 };
	struct sim *s = start(1);
	struct sim_msg *first;

	s->ep[1].cfg.rx_space = 1 << 20;
	s->ep[1].cfg.unsolicited = 8 << 10;
	sim_up(s);
	first = sim_send(&s->ep[0], &a);
	a.read = SIM_READ_POLL;
	sim_send(&s->ep[0], &a);
	sim_run(s, 100 * SIM_MS);
	a.length = 500 << 10;
	a.prio = 0;
	sim_send(&s->ep[0], &a);
	sim_run(s, 100 * SIM_MS);
	SIM_CHECK(s, first->rcvd && s->ep[1].nr_rcvd == 1);
	sim_read(&s->ep[1], first, SIM_READ_POLL);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* ... whatever there is, in whichever order; that it cannot hold whole, too */
static void progress__polled(void)
{
	u32 seed, i;

	for (seed = 1; seed <= 60; seed++) {
		struct sim *s = start(seed);
		struct sim_attr a = { .read = SIM_READ_POLL };
		u64 space = 64 << 10 << seed % 5;

		lossy(s, seed % 3 * 10000);
		s->ep[1].cfg.rx_space = space;
		s->ep[1].cfg.unsolicited = space >> seed % 4;
		sim_up(s);
		for (i = 0; i < 40; i++) {
			a.length = 1 + sim_below(s, i % 8 ? space / 2 : space);
			a.prio = (u8)sim_below(s, 8);
			sim_send(&s->ep[0], &a);
			if (sim_chance(s, 500000))
				sim_run(s, sim_below(s, SIM_MS));
		}
		sim_finish(s, 10 * SIM_S);
		end(s);
	}
}

/* ... and what readers were granted that left before anything came of it */
static void progress__readers_left(void)
{
	struct sim_attr a = { .length = 512 << 10, .read = SIM_READ_NEVER };
	struct sim_msg *m[24];
	struct sim *s = start(1);
	u32 i;

	s->ep[1].cfg.rx_space = 1 << 20;
	s->ep[1].cfg.unsolicited = 8 << 10;
	sim_up(s);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = sim_send(&s->ep[0], &a);
	sim_run(s, SIM_MS);
	s->link[1].down = true;
	for (i = ARRAY_SIZE(m); i-- > 0;)
		sim_read(&s->ep[1], m[i], SIM_READ_NOW);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		sim_read(&s->ep[1], m[i], SIM_READ_POLL);
	s->link[1].down = false;
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* ... and messages whose writer stopped after their first segment: they have been
 * given the room, all of it or a part
 */
static void progress__writer_stopped(void)
{
	struct sim_attr a = { .read = SIM_READ_POLL };
	struct sim_msg *m[2];
	struct sim *s;
	u32 more, i;

	for (more = 0; more < 2; more++) {
		s = start(1);
		s->ep[1].cfg.rx_space = 1 << 20;
		s->ep[1].cfg.unsolicited = 8 << 10;
		sim_up(s);
		s->ep[0].fill_step = 1;
		a.length = 500 << 10;
		for (i = 0; i <= more; i++) {
			m[i] = sim_send(&s->ep[0], &a);
			dlcp_conn_fill(&s->ep[0].c, &m[i]->tx, 1);
		}
		s->ep[0].fill_step = 0;
		sim_run(s, 100 * SIM_MS);
		for (i = 0; i < 5; i++) {
			a.length = 100 << 10 << i % 3;
			sim_send(&s->ep[0], &a);
		}
		sim_run(s, 10 * SIM_S);
		SIM_CHECK(s, s->ep[1].nr_rcvd == 5);
		for (i = 0; i <= more; i++)
			dlcp_conn_fill(&s->ep[0].c, &m[i]->tx,
				       m[i]->tx.nr_segs);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 10 * SIM_S);
		end(s);
	}
}

TESTS(T(no_order__nobody_starves), T(no_order__of_one_length_the_older_first),
      T(no_order__unread_beside_read), T(no_order__unread_small),
      T(no_order__thousands_small), T(no_order__urgent_overtakes),
      T(no_order__announced_beside_a_stream), T(no_order__left_behind),
      T(progress__polled_one_by_one), T(progress__polled),
      T(progress__readers_left), T(progress__writer_stopped))
