// SPDX-License-Identifier: GPL-2.0
/*
 * Progress or an error (protocol.md, section 1) over many seeds; last, everything at
 * once and at random.
 */
#include "conn_int.h"
#include "test_conn.h"

/* 7. Progress or error */
static void progress__setup_loss(void)
{
	u32 seed;

	for (seed = 1; seed <= 60; seed++) {
		struct sim_attr a = { .length = 10000 };
		struct sim *s = start(seed);

		s->link[0].setup_loss = 400000;
		s->link[1].setup_loss = 400000;
		s->ep[0].cfg.dead_ns = 50 * SIM_S;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

static void progress__another_version(void)
{
	struct dlcp_reset r = { .code = DLCP_RST_VERSION };
	struct sim *s = start(1);

	s->link[0].down = true;
	sim_connect(s);
	sim_run(s, SIM_S);
	r.your_tag = s->ep[0].c.cfg.local_tag;
	dlcp_conn_rx_reset(&s->ep[0].c, &r, s->now);
	SIM_CHECK(s, s->ep[0].c.error == EPROTONOSUPPORT);
	SIM_CHECK(s, !strcmp(s->ep[0].c.error_text, "no common protocol version"));
	sim_free(s);
}

static void progress__setup_timeout(void)
{
	struct sim *s = start(1);

	s->link[0].down = true;
	sim_connect(s);
	sim_run(s, 9 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error);
	sim_run(s, 2 * SIM_S);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	SIM_CHECK(s, !strcmp(s->ep[0].c.error_text, "the peer did not answer the set-up"));
	/* 50 ms, doubling up to a second */
	SIM_CHECK(s, s->link[0].packets > 8 && s->link[0].packets < 18);
	sim_free(s);
}

static void progress__refused(void)
{
	struct dlcp_reset r = { .code = DLCP_RST_REFUSED };
	struct sim *s = start(1);
	u8 buf[64];

	s->link[0].down = true;
	sim_connect(s);
	r.your_tag = 12345;
	sim_inject(s, 0, buf, dlcp_put_reset(buf, 1, &r), false, s->now + 10);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, !s->ep[0].error);
	r.your_tag = s->ep[0].cfg.local_tag;
	sim_inject(s, 0, buf, dlcp_put_reset(buf, 1, &r), false, s->now + 10);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, s->ep[0].error == ECONNREFUSED);
	sim_free(s);
}

static void progress__soft_error(void)
{
	struct sim_attr a = { .length = 1000000 };
	struct sim *s = start(1);

	s->link[0].down = true;
	sim_connect(s);
	dlcp_conn_soft_error(&s->ep[0].c, EHOSTUNREACH);
	sim_kick(&s->ep[0]);
	SIM_CHECK(s, s->ep[0].error == EHOSTUNREACH);
	sim_free(s);

	s = start(2);
	sim_up(s);
	sim_send(&s->ep[0], &a);
	s->link[0].down = true;
	s->link[1].down = true;
	sim_run(s, SIM_MS);
	dlcp_conn_soft_error(&s->ep[0].c, EHOSTUNREACH);
	sim_run(s, 12 * SIM_S);
	SIM_CHECK(s, s->ep[0].error == EHOSTUNREACH);
	sim_free(s);
}

static void progress__dead_peer(void)
{
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = { .length = 2000000, .ppm = 10000 };
		struct sim *s = start(seed);
		u64 died;

		s->ep[0].cfg.nr_paths = (u8)(1 + seed % 4);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_run(s, 300 * SIM_US);
		s->ep[1].mute = true;
		died = s->now;
		while (!s->ep[0].error && sim_step(s, died + 60 * SIM_S))
			;
		SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
		SIM_CHECK(s, s->now >= died + 9 * SIM_S);
		SIM_CHECK(s, s->now <= died + 11 * SIM_S);
		sim_free(s);
	}
}

static void progress__receiver_of_dead_sender(void)
{
	struct sim_attr a = { .length = 2000000 };
	struct sim *s = start(1);

	s->ep[1].cfg.keepalive_ns = 2 * SIM_S;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 300 * SIM_US);
	s->ep[0].mute = true;
	sim_run(s, 13 * SIM_S);
	SIM_CHECK(s, s->ep[1].error == ETIMEDOUT);
	sim_free(s);
}

static void progress__keepalive(void)
{
	struct sim *s = start(1);

	s->ep[0].cfg.keepalive_ns = SIM_S;
	sim_up(s);
	sim_run(s, 30 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_KEEPALIVES] >= 25);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_KEEPALIVES] <= 31);
	s->ep[1].mute = true;
	sim_run(s, 13 * SIM_S);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	sim_free(s);
}

static void progress__idle_sends_nothing(void)
{
	struct sim *s = start(1);
	u64 n;

	sim_up(s);
	sim_run(s, SIM_S);
	n = s->link[0].packets + s->link[1].packets;
	sim_run(s, 100 * SIM_S);
	SIM_CHECK(s, n == s->link[0].packets + s->link[1].packets);
	SIM_CHECK(s, dlcp_conn_next_timer(&s->ep[0].c) == U64_MAX);
	/* Silence before counts for nothing: the peer gets its time */
	s->ep[1].mute = true;
	sim_send(&s->ep[0], &(struct sim_attr){ .length = 100 });
	sim_run(s, 9 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error);
	sim_run(s, 2 * SIM_S);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	sim_free(s);
}

static void progress__outage(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = {
			.length = 1000000,
			.ppm = bounds[seed % 5],
			.read = seed % 3 ? SIM_READ_NOW : SIM_READ_DONE,
		};
		struct sim *s = start(seed);
		u32 i;

		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		for (i = 0; i < 5; i++) {
			sim_run(s, sim_below(s, 400) * SIM_US);
			s->link[sim_below(s, 2)].down = true;
			sim_run(s, sim_below(s, 2000) * SIM_MS);
			s->link[0].down = false;
			s->link[1].down = false;
		}
		sim_finish(s, 20 * SIM_S);
		end(s);
	}
}

static void progress__heavy_loss(void)
{
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = {
			.length = 100000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);

		s->ep[0].cfg.dead_ns = 100 * SIM_S;
		s->ep[1].cfg.dead_ns = 100 * SIM_S;
		lossy(s, 500000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_finish(s, 1000 * SIM_S);
		lossy(s, 0);
		end(s);
	}
}

static void progress__bursts(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = {
			.length = 2000000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);
		u32 i;

		for (i = 0; i < 2; i++) {
			s->link[i].burst_enter = 5000;
			s->link[i].burst_exit = 300000;
		}
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_finish(s, 100 * SIM_S);
		end(s);
	}
}

static void progress__small_queue(void)
{
	u32 seed;

	for (seed = 1; seed <= 5; seed++) {
		struct sim_attr a = { .length = 5000000, .ppm = 10000 };
		struct sim *s = start(seed);

		s->link[0].rate = 1000000000ULL;
		s->link[0].queue = 30000;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 10 * SIM_S);
		/* 40 ms at line rate */
		SIM_CHECK(s, s->ep[0].msgs[0]->rcvd_at -
			  s->ep[0].msgs[0]->sent_at < 60 * SIM_MS);
		end(s);
	}
}

static void progress__marks(void)
{
	struct sim_attr a = { .length = 20000000 };
	struct sim *s = start(1);

	s->link[0].mark = 50000;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 10 * SIM_S);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_LOST] == 0);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] == 0);
	end(s);
}

static void progress__wide_area(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct sim *s = start(1);
	u32 i;

	for (i = 0; i < 2; i++) {
		s->link[i].rate = 1000000000ULL;
		s->link[i].delay = 20 * SIM_MS;
		s->link[i].loss = 1000;
		s->link[i].queue = 8 << 20;
		s->ep[i].cfg.rx_space = 64 << 20;
	}
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 20 * SIM_S);
	end(s);
}

static void progress__reset_of_restarted_peer(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct sim *s = start(1);

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 500 * SIM_US);
	/* The peer is there but knows nothing of it */
	s->ep[1].c.cfg.nr_paths = s->ep[1].cfg.nr_paths;
	dlcp_conn_abort(&s->ep[1].c, ECONNABORTED, "test");
	sim_kick(&s->ep[1]);
	SIM_CHECK(s, s->ep[1].error == ECONNABORTED);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[0].error == ECONNRESET);
	sim_free(s);
}

static void progress__refused_memory(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = {
			.length = 300000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);
		u32 i;

		sim_up(s);
		for (i = 0; i < 2; i++) {
			s->ep[i].alloc_fail = 300000;
			s->ep[i].refuse = 300000;
		}
		for (i = 0; i < 40; i++) {
			while (!dlcp_conn_may_send(&s->ep[i % 2].c))
				SIM_CHECK(s, sim_step(s, s->now + SIM_S));
			sim_send(&s->ep[i % 2], &a);
		}
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

static void progress__slow_writer(void)
{
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = {
			.length = 500000,
			.ppm = bounds[seed % 5],
			.critical = (u8)(seed % 2 * 10),
		};
		struct sim *s = start(seed);

		lossy(s, 20000);
		s->ep[0].fill_step = 1 + seed * 3;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

static void progress__mtu_down(void)
{
	struct sim_attr a = { .length = 5000000, .ppm = 1000 };
	struct sim *s = start(1);
	struct sim_msg *m;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, SIM_MS);
	dlcp_conn_set_mtu(&s->ep[0].c, 1200, s->now);
	sim_finish(s, SIM_S);
	m = sim_send(&s->ep[0], &a);
	SIM_CHECK(s, m->seg_size == 1176);
	s->link[0].mtu = 1200;
	sim_finish(s, SIM_S);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_MTU_DOWN] == 1);
	end(s);
}

/* A link drops what is large, and nobody says so */
static void progress__black_hole(void)
{
	static const struct { u32 route, link, found; } c[] = {
		{ 1472, 1452, 1452 }, { 1472, 1300, 1232 }, { 1472, 600, 548 },
		{ 8972, 1472, 1472 }, { 8972, 4100, 4048 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		struct sim_attr a = { .length = 3000000, .ppm = i % 2 * 10000 };
		struct sim *s = start(i + 1);
		struct sim_msg *m;
		u64 lost;

		s->ep[0].cfg.mtu = c[i].route;
		s->ep[0].max_segs = 7;
		s->link[0].mtu = c[i].link;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 10 * SIM_S);
		sim_run(s, SIM_S);
		SIM_CHECK(s, s->ep[0].c.cfg.mtu == c[i].found);
		SIM_CHECK(s, s->ep[0].small_paths == 1);
		/* what comes then is cut to it, and nothing of it is lost */
		lost = s->ep[0].c.cnt[DLCP_CNT_LOST];
		m = sim_send(&s->ep[0], &a);
		SIM_CHECK(s, m->seg_size < c[i].found);
		sim_finish(s, SIM_S);
		SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_LOST] == lost);
		/* ten minutes later the link is repaired */
		s->link[0].mtu = 0;
		sim_run(s, 601 * SIM_S);
		SIM_CHECK(s, s->ep[0].c.cfg.mtu == c[i].route);
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		SIM_CHECK(s, s->ep[0].c.cfg.mtu == c[i].route);
		end(s);
	}
}

/* Losses of another kind are not taken for it */
static void progress__no_black_hole(void)
{
	u32 seed, holes = 0;

	for (seed = 1; seed <= 100; seed++) {
		struct sim_attr a = { .length = 3000000 };
		struct sim *s = start(seed);

		lossy(s, 200000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_run(s, 2 * SIM_MS);
		s->link[0].down = true;
		sim_run(s, 200 * SIM_MS);
		s->link[0].down = false;
		sim_finish(s, 60 * SIM_S);
		holes += s->ep[0].c.cnt[DLCP_CNT_MTU_HOLES];
		/* what was is soon found out not to have been one */
		sim_run(s, SIM_S);
		SIM_CHECK(s, s->ep[0].c.cfg.mtu == 1472);
		SIM_CHECK(s, !s->ep[0].small_paths);
		end(s);
	}
	FIGURE("black holes seen in 100 outages with 20 %% loss: %u", holes);
	CHECK(!holes);
}

static void progress__jumbo(void)
{
	struct sim_attr a = { .length = 20000000, .ppm = 10000 };
	struct sim *s = start(1);
	u32 i;

	for (i = 0; i < 2; i++) {
		s->ep[i].cfg.mtu = 8972;
		s->ep[i].max_segs = 7;
		s->link[i].loss = 10000;
	}
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_send(&s->ep[1], &a);
	sim_finish(s, SIM_S);
	end(s);
}

static void any_link(struct sim *s, struct sim_link *l)
{
	l->rate = 100000000ULL << sim_below(s, 8);
	l->delay = SIM_US << sim_below(s, 13);
	l->queue = 20000 << sim_below(s, 8);
	l->mark = sim_below(s, 2) ? l->queue / 4 : 0;
	l->loss = (u32)sim_below(s, 150000);
	l->dup = (u32)sim_below(s, 50000);
	l->reorder = (u32)sim_below(s, 50000);
	l->reorder_delay = sim_below(s, 3 * l->delay);
	l->jitter = sim_below(s, 2) ? l->delay / 4 : 0;
	l->setup_loss = (u32)sim_below(s, 300000);
}

static void any_end(struct sim *s, struct sim_ep *e, u64 rate)
{
	struct dlcp_conn_cfg *c = &e->cfg;

	c->nr_paths = (u8)(1 + sim_below(s, 16));
	c->mtu = 600 + (u32)sim_below(s, 9000);
	c->rx_space = (64 << 10) << sim_below(s, 7);
	c->unsolicited = c->rx_space / 4;
	c->ack_packets = 1 + (u32)sim_below(s, 64);
	c->ack_delay_ns = sim_below(s, 2000) * SIM_US + SIM_US;
	c->cong = dlcp_cong_all[sim_below(s, 3)];
	c->max_rate = rate / 8;
	c->dead_ns = 50 * SIM_S;
	e->max_segs = 1 + (u32)sim_below(s, 44);
	e->alloc_fail = (u32)sim_below(s, 2) * 50000;
}

static void send_any(struct sim *s)
{
	struct sim_attr a = {
		.length = sim_below(s, 1 << sim_below(s, 22)),
		.ppm = (u32)(sim_below(s, 2) * sim_below(s, 1000001)),
		.deadline_us = (u32)(sim_below(s, 4) ? 0 :
						       sim_below(s, 20000)),
		.elem = 1 + (u32)sim_below(s, 64),
		.prio = (u8)sim_below(s, 8),
		.flags = (u8)sim_below(s, 4),
		.critical = (u8)(sim_below(s, 3) * 10),
		.droppable = (u8)(sim_below(s, 3) * 20),
		.read = (enum sim_read)(sim_below(s, 10) ?
			sim_below(s, 2) : SIM_READ_DISCARD),
		.discard_after = sim_below(s, 100000),
		.group = sim_below(s, 2) ? (u32)sim_below(s, SIM_GROUPS) : 0,
	};
	struct sim_ep *e = &s->ep[sim_below(s, 2)];

	while (!dlcp_conn_may_send(&e->c))
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	sim_send(e, &a);
	sim_run(s, sim_below(s, 300) * SIM_US);
}

/* Anything that can be set differently, differently for each seed */
static void random__everything(void)
{
	const char *n = getenv("DLCP_SEEDS_NR");
	u32 nr = n ? (u32)atoi(n) : 150;
	u32 seed;

	for (seed = 1; seed <= nr; seed++) {
		struct sim *s = start(seed * 7919);
		u32 i, msgs = 1 + (u32)sim_below(s, 30);

		for (i = 0; i < 2; i++) {
			any_link(s, &s->link[i]);
			any_end(s, &s->ep[i], s->link[i].rate);
		}
		if (seed % 3 == 0)
			sim_rails(s, 1 + seed / 3 % 4);
		sim_up(s);
		for (i = 0; i < msgs; i++)
			send_any(s);
		sim_finish(s, 600 * SIM_S);
		end(s);
	}
}

/* A network that lets through nothing but control: the answers of the peer, which is
 * alive, are none to the data
 */
static void progress__only_control(void)
{
	struct sim_attr a = { .length = 100000 };
	struct sim *s = start(1);

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, SIM_S);
	s->link[0].dead_class = BIT(0);
	sim_send(&s->ep[0], &a);
	sim_run(s, s->ep[0].cfg.dead_ns / 2);
	SIM_CHECK(s, !s->ep[0].error);
	sim_run(s, s->ep[0].cfg.dead_ns);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	sim_free(s);
}

TESTS(T(progress__only_control), T(progress__setup_loss), T(progress__setup_timeout),
      T(progress__another_version), T(progress__refused),
      T(progress__soft_error), T(progress__dead_peer),
      T(progress__receiver_of_dead_sender), T(progress__keepalive),
      T(progress__idle_sends_nothing), T(progress__outage),
      T(progress__heavy_loss), T(progress__bursts), T(progress__small_queue),
      T(progress__marks), T(progress__wide_area),
      T(progress__reset_of_restarted_peer), T(progress__refused_memory),
      T(progress__slow_writer), T(progress__mtu_down), T(progress__black_hole),
      T(progress__no_black_hole), T(progress__jumbo), T(random__everything))
