// SPDX-License-Identifier: GPL-2.0
/*
 * The promises of protocol.md, section 1, over many seeds: 1 to 4, and 6. What is
 * checked after every event is in sim_lib.c; here are the situations.
 */
#include "test_conn.h"

static const u64 sizes[] = {
	0, 1, 4, 1411, 1412, 1413, 1448, 1449, 5647, 5648, 5649, 5792, 5793,
	10000, 22591, 22592, 22593, 65536, 100003, 1000000,
};

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

/* What the host's own queue refuses is no loss: the bound is not charged, nor
 * the controller
 */
static void bound__refused_by_the_own_queue(void)
{
	u32 seed;

	for (seed = 1; seed <= 100; seed++) {
		struct sim_attr a = {
			.length = 1 + seed * 39989,
			.ppm = bounds[1 + seed % 4],
			.droppable = (u8)(seed % 3 * 20),
		};
		struct sim *s = start(seed);
		struct sim_msg *m[2];

		sim_up(s);
		s->ep[0].own_queue = 100000;
		m[0] = sim_send(&s->ep[0], &a);
		m[1] = sim_send(&s->ep[0], &a);
		sim_finish(s, 60 * SIM_S);
		SIM_CHECK(s, !m[0]->missing && !m[1]->missing);
		SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_LOST]);
		end(s);
	}
}

/* And on a network that loses packets, too, all promises hold */
static void bound__own_queue_and_network(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = {
			.length = 300000,
			.ppm = bounds[seed % 5],
		};
		struct sim *s = start(seed);

		lossy(s, 50000);
		sim_up(s);
		s->ep[0].own_queue = 200000;
		s->ep[1].own_queue = 200000;
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
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
	SIM_CHECK(s, dlcp_conn_seg_size(&s->ep[0].c, 4, 1 << 20, 0) == 1448);
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
			c->tx.next_id = base;
			c->tx.low_id = base;
			c->tx.max_id = base + DLCP_MSG_WINDOW;
			o->rx.low_id = base;
			o->rx.end_id = base;
			o->rx.complete = base;
			o->credit.max_id_advertised = base + DLCP_MSG_WINDOW;
		}
		for (i = 0; i < 40; i++)
			sim_send(&s->ep[i % 2], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
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

/* Take segment 12 of the message whose number is at s->arg, once */
static bool drop_twelfth(struct sim *s, struct sim_pkt *k)
{
	u64 *id = s->arg;

	if (k->p[8] != DLCP_PT_DATA || dlcp_get_be32(k->p + 16) != *id ||
	    dlcp_get_be32(k->p + 20) != 12)
		return true;
	*id = U64_MAX;
	return false;
}

/* How long the tenth of ten messages takes to arrive, one after the other, one
 * packet of it being lost or not
 */
static u64 time_of_tenth(u32 ppm, bool lose)
{
	struct sim_attr a = { .length = 48 << 10, .ppm = ppm };
	struct sim_msg *m = NULL;
	struct sim *s = start(1);
	u64 id, took;
	u32 i;

	sim_up(s);
	s->arg = &id;
	for (i = 0; i < 10; i++) {
		id = lose && i == 9 ? s->ep[0].id_base + i : U64_MAX;
		s->meddle = drop_twelfth;
		m = sim_send(&s->ep[0], &a);
		sim_run(s, 10 * SIM_MS);
	}
	sim_finish(s, SIM_S);
	SIM_CHECK(s, !!m->missing == (lose && ppm));
	took = m->rcvd_at - m->sent_at;
	end(s);
	return took;
}

/* What is forgiven is not waited for: not for as long as a resend takes, and not
 * until the sender knows that all else has arrived
 */
static void no_waste__forgiven_costs_no_round_trip(void)
{
	u64 clean = time_of_tenth(0, false), resent = time_of_tenth(0, true);
	u64 forgiven = time_of_tenth(100000, true);

	FIGURE("48 KiB take %.1f us, with a lost packet sent again %.1f, forgiven %.1f",
		    (double)clean / SIM_US, (double)resent / SIM_US,
		    (double)forgiven / SIM_US);
	CHECK(forgiven <= resent);
	CHECK(forgiven < clean + 10 * SIM_US);
}

/* What was read is told with the acknowledgments, and by itself only when it has
 * become much
 */
static void no_waste__two_packets_a_message(void)
{
	struct sim_attr a = { .length = 64 };
	struct sim *s = start(1);
	u64 packets, windows;
	u32 i;

	sim_up(s);
	sim_run(s, SIM_MS);
	packets = s->link[0].packets + s->link[1].packets;
	for (i = 0; i < 1000; i++) {
		sim_send(&s->ep[i % 2], &a);
		sim_run(s, SIM_MS);
	}
	sim_finish(s, SIM_S);
	packets = s->link[0].packets + s->link[1].packets - packets;
	/* 500 of them are less than an eighth of the allowance */
	windows = 1 + 500 * a.length * 8 / s->ep[0].cfg.unsolicited;
	SIM_CHECK(s, packets <= 2 * 1000 + 4 * windows);
	for (i = 0; i < 2; i++)
		SIM_CHECK(s, s->ep[i].c.sched.unsolicited_max >=
			     s->ep[1 - i].c.credit.unsolicited_max - 64);
	end(s);
}

/* What a small message is goes with its data, and all leaves at once */
static void no_waste__small_leave_as_one(void)
{
	static const u64 lengths[] = { 1000, 2000, 4000, 5648, 5649, 16384 };
	struct sim *s = start(2);
	struct dlcp_conn *c = &s->ep[0].c;
	u64 batches, ctrl;
	u32 i;

	sim_up(s);
	sim_run(s, SIM_MS);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct sim_attr a = { .length = lengths[i] };

		batches = c->send.batch;
		ctrl = c->cnt[DLCP_CNT_TX_CTRL];
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		/* The pacing clock divides larger ones */
		SIM_CHECK(s, i > 2 || c->send.batch == batches + 1);
		SIM_CHECK(s, c->cnt[DLCP_CNT_TX_CTRL] == ctrl);
		sim_run(s, SIM_MS);
	}
	end(s);
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

TESTS(T(bound__sizes_and_bounds), T(bound__large), T(bound__tags),
      T(bound__refused_by_the_own_queue), T(bound__own_queue_and_network),
      T(bound__exact_without_loss_bound), T(bound__elements_are_not_cut),
      T(agreement__early_stop), T(agreement__ack_loss), T(agreement__deadlines),
      T(agreement__discard), T(once__duplicates), T(once__replays),
      T(once__numbers_wrap), T(agreement__maps_lost_in_a_stream),
      T(no_waste__loss_within_bound), T(no_waste__forgiven_costs_no_round_trip),
      T(no_waste__two_packets_a_message), T(no_waste__small_leave_as_one),
      T(no_waste__reordering_is_learnt))
