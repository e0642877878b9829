// SPDX-License-Identifier: GPL-2.0
/*
 * The contract, promise by promise, over many seeds. What is checked after
 * every event is in sim_lib.c; here are the situations.
 */
#include "sim.h"
#include "test.h"

static struct sim sim;

static void on_fail(void)
{
	longjmp(test_jmp, 1);
}

static struct sim *start(u64 seed)
{
	sim_on_fail = on_fail;
	sim_init(&sim, seed);
	return &sim;
}

static void lossy(struct sim *s, u32 ppm)
{
	s->link[0].loss = ppm;
	s->link[1].loss = ppm;
}

static void end(struct sim *s)
{
	sim_close(s);
	sim_free(s);
}

static const u64 sizes[] = {
	0, 1, 4, 1411, 1412, 1413, 1448, 1449, 5647, 5648, 5649, 5792, 5793,
	10000, 65536, 100003, 1000000,
};

static const u32 bounds[] = { 0, 1000, 10000, 100000, 1000000 };

/* 1. Bound, 2. Truth, 3. Agreement: every size, bound and loss */
static void bound__sizes_and_bounds(void)
{
	u32 i, k, l;

	for (l = 0; l < 3; l++) {
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct sim *s = start(l * 100 + i);

			lossy(s, l * 50000);
			sim_up(s);
			for (k = 0; k < ARRAY_SIZE(bounds); k++) {
				struct sim_attr a = {
					.length = sizes[i],
					.ppm = bounds[k],
				};

				sim_send(&s->ep[k % 2], &a);
			}
			sim_finish(s, 60 * SIM_S);
			end(s);
		}
	}
}

static void bound__large(void)
{
	static const u32 ppm[] = { 0, 10000 };
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_attr a = { .length = 64 << 20, .ppm = ppm[i] };
		struct sim *s = start(i + 7);

		lossy(s, 10000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

static void bound__tags(void)
{
	u32 seed;

	for (seed = 1; seed <= 40; seed++) {
		struct sim *s = start(seed);
		struct sim_attr a = {
			.length = 1 + sim_below(s, 800000),
			.ppm = bounds[seed % 5],
			.critical = (u8)(seed % 4 * 20),
			.droppable = (u8)(seed % 3 * 20),
			.flags = seed % 2 ? DLCP_MSG_EARLY_STOP : 0,
		};

		lossy(s, 100000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

static void bound__exact_without_loss_bound(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = { .length = 300000 };
		struct sim *s = start(seed);
		struct sim_msg *m;

		lossy(s, 200000);
		sim_up(s);
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		SIM_CHECK(s, m->missing == 0 && m->why == 0);
		SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_TX_FORGIVEN]);
		end(s);
	}
}

static void bound__elements_are_not_cut(void)
{
	static const u32 elem[] = { 1, 2, 3, 4, 8, 12, 16, 100, 255, 256 };
	struct sim *s = start(3);
	u32 i;

	lossy(s, 30000);
	sim_up(s);
	for (i = 0; i < ARRAY_SIZE(elem); i++) {
		struct sim_attr a = {
			.length = 100000 / elem[i] * elem[i],
			.ppm = 50000,
			.elem = elem[i],
		};
		struct sim_msg *m = sim_send(&s->ep[0], &a);

		SIM_CHECK(s, m->seg_size % elem[i] == 0);
	}
	SIM_CHECK(s, dlcp_conn_seg_size(&s->ep[0].c, 4, 1 << 20) == 1448);
	sim_finish(s, 60 * SIM_S);
	end(s);
}

/* 3. Agreement where the two ends know least of each other */
static void agreement__early_stop(void)
{
	u32 seed;

	for (seed = 1; seed <= 60; seed++) {
		struct sim *s = start(seed);
		struct sim_attr a = {
			.length = 1 + sim_below(s, 3000000),
			.ppm = (u32)sim_below(s, 500000),
			.flags = DLCP_MSG_EARLY_STOP,
			.critical = (u8)sim_below(s, 30),
		};

		lossy(s, (u32)sim_below(s, 200000));
		s->link[1].ctrl_loss = (u32)sim_below(s, 300000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

static void agreement__ack_loss(void)
{
	u32 seed;

	for (seed = 1; seed <= 40; seed++) {
		struct sim *s = start(seed);
		struct sim_attr a = {
			.length = 400000,
			.ppm = bounds[seed % 5],
		};

		s->link[0].loss = 50000;
		s->link[1].ctrl_loss = 100000 * (seed % 8);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 120 * SIM_S);
		end(s);
	}
}

static void agreement__deadlines(void)
{
	u32 seed;

	for (seed = 1; seed <= 80; seed++) {
		struct sim *s = start(seed);
		struct sim_attr a = {
			.length = 1 + sim_below(s, 2000000),
			.ppm = bounds[seed % 5],
			.deadline_us = 1 + (u32)sim_below(s, 3000),
			.flags = seed & 1 ? DLCP_MSG_HARD_DEADLINE : 0,
			.critical = (u8)(seed % 3 * 10),
		};
		struct sim_msg *m;

		lossy(s, (u32)sim_below(s, 200000));
		sim_up(s);
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		/* Hard is hard, but for the way of a segment that was never
		 * announced
		 */
		if (a.flags && m->opened && !s->link[0].loss)
			SIM_CHECK(s, m->rcvd_at <= m->sent_at +
				  (a.deadline_us + 200) * SIM_US);
		end(s);
	}
}

static void agreement__discard(void)
{
	u32 seed;

	for (seed = 1; seed <= 40; seed++) {
		struct sim *s = start(seed);
		struct sim_attr a = {
			.length = 1 + sim_below(s, 2000000),
			.ppm = bounds[seed % 5],
			.read = SIM_READ_DISCARD,
			.discard_after = sim_below(s, 500000),
		};

		lossy(s, (u32)sim_below(s, 100000));
		sim_up(s);
		sim_send(&s->ep[0], &a);
		a.read = SIM_READ_NOW;
		sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

/* 4. Once: duplicates and late packets */
static void once__duplicates(void)
{
	u32 seed;

	for (seed = 1; seed <= 30; seed++) {
		struct sim_attr a = {
			.length = 200000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);
		u32 i;

		for (i = 0; i < 2; i++) {
			s->link[i].loss = 20000;
			s->link[i].dup = 200000;
			s->link[i].reorder = 100000;
			s->link[i].reorder_delay = 500 * SIM_US;
		}
		sim_up(s);
		for (i = 0; i < 6; i++)
			sim_send(&s->ep[i % 2], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

struct recording {
	struct sim_pkt	*pkts;
	u32	nr;
	u32	cap;
};

static bool record(struct sim *s, struct sim_pkt *k)
{
	struct recording *r = s->arg;

	if (r->nr == r->cap) {
		r->cap = max_t(u32, 1024, 2 * r->cap);
		r->pkts = realloc(r->pkts, r->cap * sizeof(*r->pkts));
	}
	r->pkts[r->nr] = *k;
	r->pkts[r->nr].p = malloc(k->len);
	memcpy(r->pkts[r->nr++].p, k->p, k->len);
	return true;
}

/* Every packet once more, when all is over and while the next is on its way */
static void once__replays(void)
{
	u32 seed, i;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = {
			.length = 300000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);
		struct recording r = { 0 };
		u64 got[2];

		lossy(s, 50000);
		s->meddle = record;
		s->arg = &r;
		sim_up(s);
		for (i = 0; i < 4; i++)
			sim_send(&s->ep[i % 2], &a);
		sim_finish(s, 60 * SIM_S);
		sim_run(s, SIM_S);
		s->meddle = NULL;
		for (i = 0; i < 2; i++)
			got[i] = s->ep[i].c.cnt[DLCP_CNT_RX_DELIVERED];
		for (i = 0; i < r.nr; i++)
			sim_inject(s, r.pkts[i].to, r.pkts[i].p,
				   r.pkts[i].len, false, s->now + i * 100);
		sim_run(s, SIM_S);
		for (i = 0; i < 2; i++) {
			SIM_CHECK(s, got[i] ==
				  s->ep[i].c.cnt[DLCP_CNT_RX_DELIVERED]);
			SIM_CHECK(s, s->ep[i].nr_rcvd == 2);
		}
		for (i = 0; i < 4; i++)
			sim_send(&s->ep[i % 2], &a);
		for (i = 0; i < r.nr; i++) {
			sim_inject(s, r.pkts[i].to, r.pkts[i].p,
				   r.pkts[i].len, false, s->now + i * 100);
			free(r.pkts[i].p);
		}
		free(r.pkts);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

/* Packet and message numbers go over the end of their 32 bits */
static void once__numbers_wrap(void)
{
	u32 seed, i, k;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = {
			.length = 200000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);

		lossy(s, 30000);
		s->ep[0].cfg.nr_paths = 2;
		sim_up(s);
		for (i = 0; i < 2; i++) {
			struct dlcp_conn *c = &s->ep[i].c;
			struct dlcp_conn *o = &s->ep[1 - i].c;
			u64 base = (7ULL << 32) - 5;

			for (k = 0; k < c->cfg.nr_paths; k++) {
				struct dlcp_sent_ring *r = &c->paths[k].sent;

				r->head = r->tail = r->first = -50U;
			}
			s->ep[i].id_base = base;
			c->tx_next_id = base;
			c->tx_low_id = base;
			c->tx_max_id = base + DLCP_MSG_WINDOW;
			o->rx_low_id = base;
			o->rx_end_id = base;
			o->rx_complete = base;
			o->rx_max_id_told = base + DLCP_MSG_WINDOW;
		}
		for (i = 0; i < 40; i++)
			sim_send(&s->ep[i % 2], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

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

/* A MAP that got lost is asked for again, also where nothing else rests */
static void agreement__maps_lost_in_a_stream(void)
{
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = {
			.length = 1000000,
			.ppm = 300000,
			.flags = DLCP_MSG_EARLY_STOP,
		};
		struct sim_attr b = { .length = 100 << 20 };
		struct sim *s = start(seed);
		struct sim_msg *m, *stream;

		s->link[0].loss = 30000;
		s->link[1].ctrl_loss = 400000;
		sim_up(s);
		stream = sim_send(&s->ep[0], &b);
		m = sim_send(&s->ep[0], &a);
		sim_run(s, 60 * SIM_MS);
		SIM_CHECK(s, m->done && !stream->done);
		sim_finish(s, 10 * SIM_S);
		end(s);
	}
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

/* 6. No waste: asserted with every packet; here, in which measure */
static void no_waste__loss_within_bound(void)
{
	u32 seed;

	for (seed = 1; seed <= 10; seed++) {
		struct sim_attr a = { .length = 2000000, .ppm = 100000 };
		struct sim *s = start(seed);

		lossy(s, 10000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		/* But for the first few, before anything has vested */
		SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] <
			  a.length / 100);
		end(s);
	}
}

static void no_waste__reordering_is_learnt(void)
{
	struct sim_attr a = { .length = 20 << 20 };
	struct sim *s = start(1);

	s->link[0].jitter = 20 * SIM_US;
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 10 * SIM_S);
	SIM_CHECK(s, s->ep[0].c.paths[0].reorder > 3);
	SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] < a.length / 50);
	end(s);
}

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

static void progress__setup_timeout(void)
{
	struct sim *s = start(1);

	s->link[0].down = true;
	sim_connect(s);
	sim_run(s, 9 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error);
	sim_run(s, 2 * SIM_S);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
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

/* Paths: section 5 of the contract */
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

/* 8. Bounded memory */
static void memory__idle_connection(void)
{
	struct sim *s = start(1);

	s->ep[0].cfg.nr_paths = 4;
	s->ep[1].cfg.nr_paths = 4;
	sim_up(s);
	FIGURE("struct dlcp_conn %zu bytes, idle connection %llu more",
	       sizeof(struct dlcp_conn),
	       (unsigned long long)s->ep[0].allocated);
	SIM_CHECK(s, sizeof(struct dlcp_conn) + s->ep[0].allocated < 4096);
	sim_free(s);
}

static void memory__larger_than_all_buffers(void)
{
	u32 how;

	for (how = 0; how < 2; how++) {
		struct sim_attr a = {
			.length = 10 << 20,
			.read = how ? SIM_READ_DONE : SIM_READ_NOW,
		};
		struct sim *s = start(how + 1);

		lossy(s, 10000);
		s->ep[1].cfg.rx_space = 128 << 10;
		s->ep[1].cfg.unsolicited = 32 << 10;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		SIM_CHECK(s, s->ep[1].max_buffered <= 200 << 10);
		end(s);
	}
}

/* Every byte of the window may be lost and forgiven: credit must not run dry */
static void memory__credit_survives_forgiving(void)
{
	struct sim_attr a = { .length = 1 << 20, .ppm = 1000000 };
	struct sim *s = start(1);

	s->ep[0].cfg.dead_ns = 1000 * SIM_S;
	s->ep[1].cfg.dead_ns = 1000 * SIM_S;
	s->ep[1].cfg.rx_space = 128 << 10;
	s->ep[1].cfg.unsolicited = 32 << 10;
	sim_up(s);
	lossy(s, 500000);
	sim_send(&s->ep[0], &a);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 500 * SIM_S);
	lossy(s, 0);
	end(s);
}

/* The allowance must not shrink with what gets lost */
static void memory__unsolicited_is_conserved(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim *s = start(seed);
		u32 i;

		lossy(s, 100000);
		s->ep[1].cfg.unsolicited = 64 << 10;
		sim_up(s);
		for (i = 0; i < 200; i++) {
			struct sim_attr a = {
				.length = sim_below(s, 60000),
				.ppm = (u32)sim_below(s, 1000001),
				.flags = sim_below(s, 2) ? DLCP_MSG_EARLY_STOP :
							   0,
				.read = (enum sim_read)sim_below(s, 2),
			};

			while (!dlcp_conn_may_send(&s->ep[0].c))
				SIM_CHECK(s, sim_step(s, s->now + SIM_S));
			sim_send(&s->ep[0], &a);
			sim_run(s, sim_below(s, 100) * SIM_US);
		}
		sim_finish(s, 60 * SIM_S);
		sim_run(s, SIM_S);
		SIM_CHECK(s, !s->ep[1].c.rx_unsolicited);
		SIM_CHECK(s, s->ep[0].c.unsolicited_sent +
			  s->ep[1].cfg.unsolicited ==
			  s->ep[1].c.rx_unsolicited_max);
		SIM_CHECK(s, !s->ep[1].c.rx_out[0] && !s->ep[1].c.rx_out[1]);
		SIM_CHECK(s, !s->ep[1].c.rx_buffered);
		end(s);
	}
}

/* Close */
static void close__simultaneous(void)
{
	u32 seed;

	for (seed = 1; seed <= 40; seed++) {
		struct sim_attr a = {
			.length = sim_below(start(seed), 100000),
			.ppm = bounds[seed % 5],
		};
		struct sim *s = &sim;

		lossy(s, 100000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		/* What was queued is delivered all the same */
		end(s);
		SIM_CHECK(s, s->ep[0].nr_done == 1 && s->ep[1].nr_done == 1);
	}
}

static void close__one_after_the_other(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = { .length = 200000, .ppm = 10000 };
		struct sim *s = start(seed);

		lossy(s, 50000);
		s->ep[1].auto_close = true;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_shutdown(&s->ep[0]);
		SIM_CHECK(s, !dlcp_conn_may_send(&s->ep[0].c));
		sim_run(s, 10 * SIM_S);
		SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSED);
		SIM_CHECK(s, s->ep[1].c.state == DLCP_CLOSED);
		SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
		SIM_CHECK(s, s->ep[1].nr_rcvd == 1 && s->ep[0].eof);
		sim_free(s);
	}
}

static void close__half_closed_still_receives(void)
{
	struct sim_attr a = { .length = 500000 };
	struct sim *s = start(1);

	sim_up(s);
	sim_shutdown(&s->ep[0]);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[1].eof && s->ep[0].c.state == DLCP_ESTABLISHED);
	sim_send(&s->ep[1], &a);
	sim_finish(s, SIM_S);
	sim_shutdown(&s->ep[1]);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSED && !s->ep[0].error);
	sim_free(s);
}

static void close__unknown_peer_after_the_end(void)
{
	struct dlcp_reset r = { .code = DLCP_RST_UNKNOWN };
	struct sim_attr a = { .length = 1000 };
	struct sim *s = start(1);
	u8 buf[64];

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_shutdown(&s->ep[0]);
	sim_shutdown(&s->ep[1]);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSING);
	r.your_tag = s->ep[1].cfg.local_tag;
	sim_inject(s, 0, buf, dlcp_put_reset(buf, 1, &r), false, s->now + 1);
	sim_run(s, SIM_US);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSED && !s->ep[0].error);
	sim_free(s);
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
			struct sim_link *l = &s->link[i];
			struct dlcp_conn_cfg *c = &s->ep[i].cfg;

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
			c->nr_paths = (u8)(1 + sim_below(s, 16));
			c->mtu = 600 + (u32)sim_below(s, 9000);
			c->rx_space = (64 << 10) << sim_below(s, 7);
			c->unsolicited = c->rx_space / 4;
			c->ack_packets = 1 + (u32)sim_below(s, 64);
			c->ack_delay_ns = sim_below(s, 2000) * SIM_US + SIM_US;
			c->cong = dlcp_cong_all[sim_below(s, 3)];
			c->max_rate = l->rate / 8;
			c->dead_ns = 50 * SIM_S;
			s->ep[i].max_segs = 1 + (u32)sim_below(s, 44);
			s->ep[i].alloc_fail = (u32)sim_below(s, 2) * 50000;
		}
		sim_up(s);
		for (i = 0; i < msgs; i++) {
			struct sim_attr a = {
				.length = sim_below(s, 1 << sim_below(s, 22)),
				.ppm = (u32)(sim_below(s, 2) *
					     sim_below(s, 1000001)),
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
			};
			struct sim_ep *e = &s->ep[sim_below(s, 2)];

			while (!dlcp_conn_may_send(&e->c))
				SIM_CHECK(s, sim_step(s, s->now + SIM_S));
			sim_send(e, &a);
			sim_run(s, sim_below(s, 300) * SIM_US);
		}
		sim_finish(s, 600 * SIM_S);
		end(s);
	}
}

TESTS(T(bound__sizes_and_bounds), T(bound__large), T(bound__tags),
      T(bound__exact_without_loss_bound), T(bound__elements_are_not_cut),
      T(agreement__early_stop), T(agreement__ack_loss),
      T(agreement__deadlines), T(agreement__discard), T(once__duplicates),
      T(once__replays), T(once__numbers_wrap), T(no_order__nobody_starves),
      T(no_order__unread_beside_read), T(no_order__unread_small),
      T(no_order__thousands_small), T(no_order__urgent_overtakes),
      T(no_order__announced_beside_a_stream),
      T(agreement__maps_lost_in_a_stream),
      T(no_waste__loss_within_bound), T(no_waste__reordering_is_learnt),
      T(progress__setup_loss), T(progress__setup_timeout),
      T(progress__refused), T(progress__soft_error), T(progress__dead_peer),
      T(progress__receiver_of_dead_sender), T(progress__keepalive),
      T(progress__idle_sends_nothing), T(progress__outage),
      T(progress__heavy_loss), T(progress__bursts), T(progress__small_queue),
      T(progress__marks), T(progress__wide_area),
      T(progress__reset_of_restarted_peer), T(progress__refused_memory),
      T(progress__slow_writer), T(progress__mtu_down), T(progress__jumbo),
      T(paths__spread), T(paths__one_dead_of_four), T(memory__idle_connection),
      T(memory__larger_than_all_buffers),
      T(memory__credit_survives_forgiving),
      T(memory__unsolicited_is_conserved), T(close__simultaneous),
      T(close__one_after_the_other), T(close__half_closed_still_receives),
      T(close__unknown_peer_after_the_end), T(random__everything))
