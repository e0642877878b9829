// SPDX-License-Identifier: GPL-2.0
/* 8. Bounded memory (protocol.md, section 1), and what is given back. */
#include "test_conn.h"

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

/* What was needed for traffic is given back, and made again for more */
static void memory__idle_again(void)
{
	struct sim_attr a = { .length = 1000000, .ppm = 10000 };
	struct sim *s = start(2);
	u64 busy, idle = 0;
	u32 i;

	lossy(s, 10000);
	sim_up(s);
	for (i = 0; i < 5; i++) {
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_finish(s, 60 * SIM_S);
		busy = s->ep[0].allocated;
		sim_run(s, 3 * SIM_S);
		if (!idle)
			idle = s->ep[0].allocated;
		SIM_CHECK(s, s->ep[0].allocated == idle);
		SIM_CHECK(s, s->ep[1].allocated == idle);
		SIM_CHECK(s, idle < busy && idle <= 512);
		SIM_CHECK(s, dlcp_conn_next_timer(&s->ep[0].c) == U64_MAX);
	}
	FIGURE("idle again: %llu bytes beside struct dlcp_conn",
	       (unsigned long long)idle);
	end(s);
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

/* What the peer is told, and nothing reaches it */
static void say_all(struct sim *s, struct dlcp_conn *c)
{
	struct dlcp_out o;
	u8 buf[2048];

	do {
		dlcp_conn_next(c, &o, buf, sizeof(buf), 1, s->now);
	} while (o.kind != DLCP_OUT_IDLE);
}

/*
 * Credit is granted as a reader reads, and told now and then. When it leaves,
 * what was not told must be: nobody else will, and the message would wait for
 * the peer and the peer for credit.
 */
static void memory__a_reader_leaves(void)
{
	struct sim_attr a = { .length = 16 << 20, .read = SIM_READ_DONE };
	struct dlcp_rxmsg *m = NULL;
	struct sim *s = start(1);
	struct dlcp_conn *c;

	s->ep[1].cfg.rx_space = 1 << 20;
	sim_up(s);
	c = &s->ep[1].c;
	sim_send(&s->ep[0], &a);
	while (!m || m->received < (300 << 10)) {
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
		m = list_first_entry_or_null(&c->rx.open, struct dlcp_rxmsg,
					     node);
	}
	dlcp_conn_consume(c, m, m->received - m->consumed);
	say_all(s, c);
	/* Little enough not to be told at once */
	while (m->granted == m->granted_sent) {
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
		dlcp_conn_consume(c, m, m->received - m->consumed);
	}
	SIM_CHECK(s, !m->credit_pending);
	dlcp_conn_reader(c, m, false);
	say_all(s, c);
	SIM_CHECK(s, m->granted == m->granted_sent);
	sim_free(s);
}

/* The allowance must not shrink with what gets lost, nor when it grows */
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
			if (seed % 2 && i % 20 == 0)
				dlcp_conn_rx_came(&s->ep[1].c, 1 << 20);
		}
		sim_finish(s, 60 * SIM_S);
		sim_run(s, SIM_S);
		SIM_CHECK(s, !s->ep[1].c.credit.unsolicited);
		SIM_CHECK(s, s->ep[0].c.sched.unsolicited_sent +
			  dlcp_conn_unsolicited(&s->ep[1].c) ==
			  s->ep[1].c.credit.unsolicited_max);
		SIM_CHECK(s, s->ep[0].c.sched.doubled == s->ep[1].c.credit.doubled);
		SIM_CHECK(s, !s->ep[0].c.sched.doubled == !(seed % 2));
		for (i = 0; i < DLCP_RX_KINDS; i++)
			SIM_CHECK(s, !s->ep[1].c.credit.out[i]);
		SIM_CHECK(s, !s->ep[1].c.credit.buffered);
		SIM_CHECK(s, !s->ep[1].c.rx.unread);
		end(s);
	}
}

/* A reader that waits for a message to be complete must take what is here of it once
 * no more may come: else both ends wait for ever
 */
static void memory__all_that_was_granted_is_here(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_OPEN };
	struct dlcp_hdr h = { .type = DLCP_PT_DATA };
	struct dlcp_data d = { .pn = 1000, .len = 16384 };
	struct dlcp_arrival a = {};
	struct sim *s = start(1);
	struct dlcp_rxmsg *m;
	struct dlcp_conn *c;
	u64 granted;
	void *kept;
	u8 pkt[256];
	u32 len;

	s->tainted = true;
	s->ep[1].cfg.rx_space = 64 << 10;
	s->ep[1].cfg.unsolicited = 4096;
	sim_up(s);
	c = &s->ep[1].c;
	s->ep[1].strangers = SIM_READ_NEVER;
	f.open.open.length = 1 << 20;
	f.open.open.seg_size = d.len;
	f.open.open.elem_size = 1;
	len = dlcp_put_ctrl(pkt, c->cfg.local_tag, 0, 0, 0);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	sim_inject(s, 1, pkt, len, false, s->now);
	sim_step(s, s->now);
	m = dlcp_conn_rx_find(c, 0);
	dlcp_conn_reader(c, m, true);
	sim_kick(&s->ep[1]);
	granted = m->granted_sent;
	SIM_CHECK(s, granted >= 2 * d.len && granted < f.open.open.length);
	for (; (u64)(d.seg + 1) * d.len <= granted; d.seg++) {
		SIM_CHECK(s, !dlcp_conn_rx_dry(c, m));
		d.pn++;
		a.now = s->now;
		a.wire = s->now;
		SIM_CHECK(s, dlcp_conn_rx_data(c, &h, &d, &a, &m, &kept) ==
			  DLCP_OK);
		sim_kick(&s->ep[1]);
	}
	SIM_CHECK(s, dlcp_conn_rx_dry(c, m) && m->granted_sent == granted);
	dlcp_conn_consume(c, m, d.len);
	sim_kick(&s->ep[1]);
	SIM_CHECK(s, !dlcp_conn_rx_dry(c, m) && m->granted_sent > granted);
	sim_free(s);
}

/* A peer that is short of memory is waited for, however long, as it says so */
static void waits_for_memory(struct sim *s)
{
	sim_run(s, 4 * s->ep[0].cfg.dead_ns);
	SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
}

/* Readers that leave were granted more than there is room for without them */
static void memory__readers_left(void)
{
	struct sim_attr a = { .length = 1 << 20, .read = SIM_READ_NOW };
	struct sim *s = start(1);
	struct sim_msg *m[60];
	u32 i;

	s->link[0].rate = 1000000000;
	sim_up(s);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = sim_send(&s->ep[0], &a);
	sim_run(s, 5 * SIM_MS);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		sim_read(&s->ep[1], m[i], SIM_READ_NEVER);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[1].c.credit.buffered > s->ep[1].cfg.rx_space);
	waits_for_memory(s);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		sim_read(&s->ep[1], m[i], SIM_READ_NOW);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* Of a long message OPEN goes ahead, and is refused by itself */
static void memory__opens_refused(void)
{
	struct sim_attr a = { .length = 1 << 20 };
	struct sim *s = start(1);

	sim_up(s);
	s->ep[1].refuse = 1000000;
	sim_send(&s->ep[0], &a);
	waits_for_memory(s);
	s->ep[1].refuse = 0;
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* Once there was no memory for a longer table, and all that is under way waits for
 * its reader: what comes behind it is sent all the same
 */
static void memory__table_grows_later(void)
{
	struct sim_attr a = { .length = 8 << 20, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	struct sim_msg *m;

	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	a.length = 100;
	a.read = SIM_READ_NOW;
	s->ep[0].alloc_fail = 1000000;
	while (dlcp_conn_may_send(&s->ep[0].c))
		sim_send(&s->ep[0], &a);
	sim_run(s, SIM_S);
	SIM_CHECK(s, !dlcp_conn_may_send(&s->ep[0].c));
	s->ep[0].alloc_fail = 0;
	sim_run(s, SIM_S);
	SIM_CHECK(s, dlcp_conn_may_send(&s->ep[0].c));
	sim_read(&s->ep[1], m, SIM_READ_NOW);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* A message begins without credit with half of what comes in a round trip, as long as
 * that is no more than others may hold that nobody reads
 */
static void memory__allowance_grows(void)
{
	static const struct {
		u64 space, came, all;
	} w[] = {
		{ 4 << 20, 100 << 10, 256 << 10 },
		{ 4 << 20, 200 << 10, 512 << 10 },
		{ 4 << 20, 1 << 30, 2 << 20 },
		{ 1 << 20, 1 << 30, 512 << 10 },
		{ 1000 << 10, 1 << 30, 256 << 10 },
		{ 50 << 10, 1 << 30, 256 << 10 },
		{ 1 << 30, 1 << 30, 256 << 17 },
	};
	u32 i, j;

	for (i = 0; i < sizeof(w) / sizeof(w[0]); i++) {
		struct sim *s = start(i);
		struct dlcp_conn *c = &s->ep[1].c;

		s->ep[1].cfg.rx_space = w[i].space;
		sim_up(s);
		for (j = 0; j < 10; j++)
			dlcp_conn_rx_came(c, w[i].came);
		SIM_CHECK(s, dlcp_conn_unsolicited(c) == w[i].all);
		SIM_CHECK(s, c->credit.unsolicited_max == w[i].all);
		sim_kick(&s->ep[1]);
		sim_run(s, 100 * SIM_MS);
		SIM_CHECK(s, s->ep[0].c.sched.unsolicited_max == w[i].all);
		SIM_CHECK(s, s->ep[0].c.sched.doubled == c->credit.doubled);
		end(s);
	}
}

/* Messages of all kinds, both ways, over several paths that lose packets and become
 * narrower under way. Return: ns it took, from the set-up on
 */
static u64 all_kinds(struct sim *s)
{
	u64 begin = s->now;
	u32 i, k;

	lossy(s, 30000);
	for (i = 0; i < 2; i++) {
		s->ep[i].cfg.nr_paths = 2;
		s->link[i].reorder = 20000;
		s->link[i].reorder_delay = 300 * SIM_US;
	}
	sim_up(s);
	for (i = 0; i < 12; i++) {
		struct sim_attr a = {
			.length = i % 8 ? 100 + 1000 * i : 60000,
			.ppm = bounds[i % ARRAY_SIZE(bounds)],
			.group = i % 3,
			.prio = i % 8,
			.critical = i % 4 * 10,
			.read = i % 5 ? SIM_READ_NOW : SIM_READ_DONE,
		};

		for (k = 0; k < 2; k++) {
			while (!dlcp_conn_may_send(&s->ep[k].c))
				SIM_CHECK(s, sim_step(s, s->now + SIM_S));
			sim_send(&s->ep[k], &a);
		}
		if (i == 6)
			for (k = 0; k < 2; k++) {
				dlcp_conn_set_mtu(&s->ep[k].c, 900, s->now);
				s->link[k].mtu = 900;
			}
	}
	sim_finish(s, 20 * SIM_S);
	return s->now - begin;
}

/* Nothing is left of what was wanted, and both ends agree on what was used */
static void nothing_owed(struct sim *s)
{
	const struct dlcp_conn *c, *o;
	u32 k, i;

	sim_run(s, 100 * SIM_MS);
	for (k = 0; k < 2; k++) {
		c = &s->ep[k].c;
		o = &s->ep[1 - k].c;
		SIM_CHECK(s, !c->send.no_memory && !c->send.retry && !c->inflight);
		SIM_CHECK(s, !c->credit.buffered && !c->rx.maps && !c->rx.unread);
		for (i = 0; i < DLCP_RX_KINDS; i++)
			SIM_CHECK(s, !c->credit.out[i]);
		SIM_CHECK(s, !c->credit.unsolicited && !c->sched.promised);
		SIM_CHECK(s, c->sched.unsolicited_sent + dlcp_conn_unsolicited(o) ==
			  o->credit.unsolicited_max);
		SIM_CHECK(s, c->tx.low_id == c->tx.next_id && !c->tx.tombstones);
		SIM_CHECK(s, o->rx.low_id == c->tx.next_id);
	}
}

/* With @nr allocations of end @k that fail, from number @first on */
static u64 all_kinds_short(u32 k, u32 first, u32 nr)
{
	struct sim *s = start(1);
	u64 took;

	s->ep[k].fail_first = first;
	s->ep[k].fail_nr = nr;
	took = all_kinds(s);
	nothing_owed(s);
	end(s);
	return took;
}

/* Each allocation fails once, or with some after it: what could not be done is done
 * later, and not much later. The set-up is tried again after 50 ms, and 150.
 */
static void memory__each_allocation_fails(void)
{
	static const u32 nr[] = { 1, 20 };
	u64 took, all, worst = 0;
	u32 most[2], i, k, n;
	struct sim *s;

	s = start(1);
	all = all_kinds(s);
	for (k = 0; k < 2; k++)
		most[k] = s->ep[k].allocs;
	end(s);
	for (n = 0; n < 2 * ARRAY_SIZE(nr); n++) {
		k = n & 1;
		for (i = nr[n / 2] > 1 ? 9 : 1; i <= most[k]; i++) {
			took = all_kinds_short(k, i, nr[n / 2]);
			CHECK(took < all + (i > 8 ? 50 : 200) * SIM_MS);
			if (i > 8)
				worst = max(worst, took);
		}
	}
	FIGURE("%u and %u allocations, %llu us; if some fail at most %llu us",
	       most[0], most[1], (unsigned long long)(all / SIM_US),
	       (unsigned long long)(worst / SIM_US));
}

/* There was no memory to leave a message behind that nobody reads, when the others
 * had gone as far as they could
 */
static void memory__left_behind_later(void)
{
	struct sim_attr a = { .length = 8 << 20, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	struct sim_msg *m;
	u32 i;

	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	a.length = 100;
	a.read = SIM_READ_NOW;
	for (i = 0; i < 2 * DLCP_MSG_WINDOW; i++) {
		s->ep[0].alloc_fail = i < DLCP_MSG_WINDOW / 2 ? 0 : 1000000;
		if (!sim_send_one_of(&s->ep[0], &a, i))
			break;
	}
	SIM_CHECK(s, i == DLCP_MSG_WINDOW - 1);
	s->ep[0].alloc_fail = 0;
	sim_run(s, 100 * SIM_MS);
	SIM_CHECK(s, dlcp_conn_may_send(&s->ep[0].c));
	sim_read(&s->ep[1], m, SIM_READ_NOW);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

TESTS(T(memory__each_allocation_fails), T(memory__left_behind_later),
      T(memory__readers_left), T(memory__opens_refused),
      T(memory__table_grows_later), T(memory__idle_connection), T(memory__idle_again),
      T(memory__larger_than_all_buffers), T(memory__credit_survives_forgiving),
      T(memory__a_reader_leaves), T(memory__unsolicited_is_conserved),
      T(memory__allowance_grows),
      T(memory__all_that_was_granted_is_here))
