// SPDX-License-Identifier: GPL-2.0
/* The simulator: what a test does with it. */
#include "sim.h"

void (*sim_on_fail)(void);

static void ep_dump(const struct sim_ep *e)
{
	const struct dlcp_conn *c = &e->c;
	const struct sim_msg *sent;
	const struct sim_rxmsg *got;
	const struct dlcp_txmsg *t;
	const struct dlcp_rxmsg *r;
	u32 n = 0;

	printf("# ep%d state %d err %d cwnd %llu inflight %llu rate %llu tx %llu..%llu rx %llu unsol %llu/%llu pace %d next %llu rxout %llu %llu %llu %llu\n",
	       e->n, c->state, c->error, c->cong.cwnd, c->inflight,
	       c->cong.rate, c->tx.low_id, c->tx.next_id, c->rx.low_id,
	       c->sched.unsolicited_sent, c->sched.unsolicited_max,
	       c->send.pace_wait, e->live ? dlcp_conn_next_timer(c) : 0,
	       c->credit.out[0], c->credit.out[1], c->credit.out[2], c->credit.out[3]);
	if (!e->live)
		return;
	printf("#  lost %llu spurious %llu probes %llu sent %llu resent %llu srtt %llu\n",
	       c->cnt[DLCP_CNT_LOST], c->cnt[DLCP_CNT_SPURIOUS],
	       c->cnt[DLCP_CNT_PROBES], c->cnt[DLCP_CNT_TX_SENT],
	       c->cnt[DLCP_CNT_TX_RESENT], c->paths[0].rtt.srtt);
	dlcp_conn_for_each_tx(sent, c, tx) {
		t = &sent->tx;
		if (n++ < 5)
			printf("#  tx %llu st %d segs %u next %u filled %u acked %u lost %u forg %u infl %u granted %llu sent %llu open %d sched %d offer %d/%d len %llu ppm %u flags %x\n",
			       t->id, t->state, t->nr_segs, t->next_pos,
			       t->filled, t->acked.count, t->lost.count,
			       t->forgiven.count, t->inflight_segs, t->granted,
			       t->sent_bytes, t->open_acked, t->sched,
			       t->ask_pending, t->offered,
			       t->open.length, t->open.loss_ppm, t->open.flags);
	}
	dlcp_conn_for_each_rx(got, c, m) {
		r = &got->m;
		if (n++ < 10)
			printf("#  rx %llu segs %u got %u granted %llu told %llu received %llu consumed %llu reader %d\n",
			       r->id, r->nr_segs, r->map.count, r->granted,
			       r->granted_sent, r->received, r->consumed,
			       r->reader);
	}
}

void sim_fail(const struct sim *s, const char *file, int line, const char *what)
{
	printf("# %s:%d: %s (seed %llu, %llu ns)\n", file, line, what,
	       (unsigned long long)s->seed, (unsigned long long)s->now);
	ep_dump(&s->ep[0]);
	ep_dump(&s->ep[1]);
	fflush(stdout);
	if (sim_on_fail)
		sim_on_fail();
	abort();
}

void sim_run(struct sim *s, u64 ns)
{
	u64 until = s->now + ns;

	while (sim_step(s, until))
		;
}

void sim_connect(struct sim *s)
{
	struct sim_ep *e = &s->ep[0];

	s->ep[1].listening = true;
	/* Without memory it fails, and leaves nothing */
	while (dlcp_conn_init(&e->c, &e->cfg, s->now)) {
		SIM_CHECK(s, e->alloc_fail || e->fail_nr);
		dlcp_conn_destroy(&e->c);
		SIM_CHECK(s, !e->allocated);
	}
	e->live = true;
	dlcp_conn_connect(&e->c, s->now);
	sim_kick(e);
}

void sim_wait_up(struct sim *s)
{
	u64 end = s->now + 60 * SIM_S;

	while (!s->ep[1].live || s->ep[1].c.state < DLCP_ESTABLISHED ||
	       s->ep[0].c.state != DLCP_ESTABLISHED || !s->ep[0].c.setup.acked) {
		SIM_CHECK(s, !s->ep[0].error && s->now < end);
		SIM_CHECK(s, sim_step(s, end));
	}
}

void sim_up(struct sim *s)
{
	sim_connect(s);
	sim_wait_up(s);
}

static u8 *msg_tags(struct sim *s, struct sim_msg *m,
		    const struct sim_attr *a)
{
	u8 *tags = calloc(1, m->nr_segs / 4 + 1);
	u32 i, roll;
	u8 tag;

	for (i = 0; i < m->nr_segs; i++) {
		roll = (u32)sim_below(s, 100);
		tag = roll < a->critical ? DLCP_TAG_CRITICAL :
		      roll < (u32)a->critical + a->droppable ?
		      DLCP_TAG_DROPPABLE : DLCP_TAG_IMPORTANT;
		tags[i / 4] |= (u8)(tag << (i % 4 * 2));
		m->critical[i] = tag == DLCP_TAG_CRITICAL && m->length;
	}
	return tags;
}

static void msg_fill(struct sim *s, struct sim_msg *m)
{
	u64 i, v;

	m->data = malloc(m->length ? m->length : 1);
	for (i = 0; i + 8 <= m->length; i += 8) {
		v = sim_rnd(s);
		memcpy(m->data + i, &v, 8);
	}
	for (; i < m->length; i++)
		m->data[i] = (u8)sim_rnd(s);
}

struct sim_msg *sim_send(struct sim_ep *e, const struct sim_attr *a)
{
	u32 elem = a->elem ? a->elem : 4;
	struct sim_msg *m = calloc(1, sizeof(*m));
	struct dlcp_open o = {
		.key = e->nr_msgs,
		.length = a->length,
		.loss_ppm = a->ppm,
		.deadline_us = a->deadline_us,
		.elem_size = (u16)elem,
		.prio = a->prio,
		.flags = a->flags,
		.has_deadline = !!a->deadline_us,
		.group = a->group,
	};
	bool tagged = a->critical || a->droppable;
	u8 *tags = NULL;

	SIM_CHECK(e->s, e->live && dlcp_conn_may_send(&e->c));
	o.seg_size = (u16)dlcp_conn_seg_size(&e->c, elem, a->length,
					     a->group ? 0 : a->ppm);
	m->from = e;
	m->length = a->length;
	m->seg_size = o.seg_size;
	m->nr_segs = dlcp_nr_segs(a->length, o.seg_size);
	m->ppm = a->ppm;
	m->group = a->group;
	e->s->group_bound[e - e->s->ep][a->group] += dlcp_bound(a->length, a->ppm);
	m->read = a->read;
	m->discard_after = a->discard_after;
	m->sent_at = e->s->now;
	m->taken = calloc(1, m->nr_segs);
	m->critical = calloc(1, m->nr_segs);
	msg_fill(e->s, m);
	m->mem = calloc(1, dlcp_txmsg_mem(m->nr_segs, tagged));
	if (tagged)
		tags = msg_tags(e->s, m, a);
	dlcp_txmsg_init(&m->tx, &o, tags, m->seg_size, m->mem, e->s->now);
	m->tx.awaited = a->awaited;
	free(tags);
	if (e->nr_msgs == e->cap_msgs) {
		e->cap_msgs = max_t(u32, 16, 2 * e->cap_msgs);
		e->msgs = realloc(e->msgs, e->cap_msgs * sizeof(*e->msgs));
	}
	e->msgs[e->nr_msgs++] = m;
	dlcp_conn_send(&e->c, &m->tx);
	m->id = m->tx.id;
	SIM_CHECK(e->s, m->id == e->id_base + e->nr_msgs - 1);
	if (!e->fill_step && !a->held)
		dlcp_conn_fill(&e->c, &m->tx, m->nr_segs);
	sim_kick(e);
	return m;
}

bool sim_send_one_of(struct sim_ep *e, const struct sim_attr *a, u32 i)
{
	if (!dlcp_conn_may_send(&e->c))
		sim_run(e->s, 100 * SIM_MS);
	if (!dlcp_conn_may_send(&e->c))
		return false;
	sim_send(e, a);
	if (i % 16 == 15)
		sim_run(e->s, 20 * SIM_US);
	return true;
}

void sim_fill(struct sim_msg *m)
{
	dlcp_conn_fill(&m->from->c, &m->tx, m->nr_segs);
	sim_kick(m->from);
}

bool sim_forgotten(const struct sim_ep *e)
{
	u32 i;

	if (!e->s->may_forget || e->error != ECONNRESET || !e->c.fin_rcvd ||
	    e->peer->error || e->peer->c.state != DLCP_CLOSED || !e->peer->eof)
		return false;
	for (i = 0; i < e->nr_msgs; i++)
		if (!e->msgs[i]->rcvd)
			return false;
	return true;
}

void sim_finish(struct sim *s, u64 ns)
{
	u64 end = s->now + ns;

	while (s->ep[0].nr_done < s->ep[0].nr_msgs ||
	       s->ep[1].nr_done < s->ep[1].nr_msgs) {
		if (sim_forgotten(&s->ep[0]) || sim_forgotten(&s->ep[1]))
			return;
		SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
		SIM_CHECK(s, sim_step(s, end));
	}
}

void sim_shutdown(struct sim_ep *e)
{
	dlcp_conn_shutdown(&e->c, e->s->now);
	sim_kick(e);
}

void sim_close(struct sim *s)
{
	u64 end = s->now + 60 * SIM_S;

	sim_shutdown(&s->ep[0]);
	sim_shutdown(&s->ep[1]);
	while (s->ep[0].c.state != DLCP_CLOSED ||
	       s->ep[1].c.state != DLCP_CLOSED)
		SIM_CHECK(s, sim_step(s, end));
	if (sim_forgotten(&s->ep[0]) || sim_forgotten(&s->ep[1]))
		return;
	SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
	SIM_CHECK(s, s->ep[0].eof && s->ep[1].eof);
	sim_check_counters(&s->ep[0]);
	sim_check_counters(&s->ep[1]);
}

void sim_read(struct sim_ep *e, struct sim_msg *m, enum sim_read how)
{
	m->read = how;
	sim_kick(e);
}
