// SPDX-License-Identifier: GPL-2.0
/*
 * The simulator: two ends that drive the engine as the module does, a channel
 * (sim_link.c), answers to packets of no connection (sim_listen.c), what a test does
 * with the ends (sim_run.c), what several connections of two hosts share (sim_host.c),
 * and what is asserted of them all (sim_check.c). It is one object, so that a program
 * needs no more than this file and the engine.
 */
#include "sim.h"
#include "sim_check.c"
#include "sim_link.c"
#include "sim_listen.c"
#include "sim_run.c"
#include "sim_host.c"

u64 sim_rnd(struct sim *s)
{
	u64 z = s->rng += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u64 sim_below(struct sim *s, u64 n)
{
	return sim_rnd(s) % n;
}

bool sim_chance(struct sim *s, u32 ppm)
{
	return ppm && sim_below(s, 1000000) < ppm;
}

/* ---- the shell's part: memory and messages ---- */

static struct sim_ep *ep_of(struct dlcp_conn *c)
{
	return container_of(c, struct sim_ep, c);
}

static bool ep_no_memory(struct sim_ep *e, u32 ppm)
{
	return ++e->allocs - e->fail_first < e->fail_nr || sim_chance(e->s, ppm);
}

static void *ep_alloc(struct dlcp_conn *c, size_t size)
{
	struct sim_ep *e = ep_of(c);

	if (ep_no_memory(e, e->alloc_fail))
		return NULL;
	e->allocated += size;
	e->peak = max(e->peak, e->allocated);
	return calloc(1, size ? size : 1);
}

static void ep_free(struct dlcp_conn *c, void *p, size_t size)
{
	struct sim_ep *e = ep_of(c);

	SIM_CHECK(e->s, p && e->allocated >= size);
	e->allocated -= size;
	free(p);
}

static struct dlcp_rxmsg *ep_rx_open(struct dlcp_conn *c,
				     const struct dlcp_open *o, u64 id)
{
	struct sim_ep *e = ep_of(c);
	struct sim_msg *msg = NULL;
	struct sim_rxmsg *r;

	if (ep_no_memory(e, e->refuse))
		return NULL;
	/* What it is announced as fits what the engine was told to take */
	SIM_CHECK(e->s, o->length <= c->cfg.max_msg_len && o->seg_size);
	if (!e->s->tainted) {
		SIM_CHECK(e->s, id - e->peer->id_base < e->peer->nr_msgs);
		msg = e->peer->msgs[id - e->peer->id_base];
		SIM_CHECK(e->s, !msg->opened);
		SIM_CHECK(e->s, o->length == msg->length);
		SIM_CHECK(e->s, o->seg_size == msg->seg_size);
		msg->opened = true;
	}
	r = calloc(1, sizeof(*r));
	r->msg = msg;
	e->allocated += sizeof(*r);
	return &r->m;
}

/* Pieces of a segment, as the module's pieces.c keeps them */
struct sim_kept {
	u32	len;
	u8	bytes[];
};

static void *ep_cut(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg)
{
	u32 len = dlcp_seg_len(&m->open, seg);
	struct sim_ep *e = ep_of(c);
	struct sim_kept *kept;

	if (ep_no_memory(e, e->refuse))
		return NULL;
	kept = malloc(sizeof(*kept) + len);
	memset(kept->bytes, 0xa5, len);
	kept->len = len;
	e->allocated += len;
	return kept;
}

static void ep_uncut(struct dlcp_conn *c, void *kept)
{
	ep_of(c)->allocated -= ((struct sim_kept *)kept)->len;
	free(kept);
}

static bool ep_moved(struct dlcp_conn *c, const struct dlcp_place *to)
{
	struct sim_ep *e = ep_of(c);

	e->peer_at = to->port;
	e->moves++;
	return e->far;
}

static const struct dlcp_conn_ops ep_ops = {
	.alloc = ep_alloc,
	.free = ep_free,
	.rx_open = ep_rx_open,
	.cut = ep_cut,
	.uncut = ep_uncut,
	.moved = ep_moved,
	.egress = ep_egress,
};

void sim_init(struct sim *s, u64 seed)
{
	struct sim_ep *e;
	u32 i, k;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	s->rng = seed * 0x2545f4914f6cdd1dULL + 1;
	s->now = SIM_S;
	s->next = s;
	for (i = 0; i < 2; i++) {
		host_init(&s->host[i]);
		s->link[i].rate = 10000000000ULL;
		s->link[i].delay = 25 * SIM_US;
		s->link[i].queue = 1 << 20;
		e = &s->ep[i];
		e->n = (u8)i;
		e->s = s;
		e->peer = &s->ep[1 - i];
		e->out = &s->link[i];
		e->host = &s->host[i];
		for (k = 0; k < DLCP_PAIRS_MAX; k++) {
			dlcp_egress_entry_init(&e->flow[k].entry);
			e->flow[k].e = e;
		}
		e->max_segs = 44;
		e->cfg = (struct dlcp_conn_cfg) {
			.ops = &ep_ops,
			.cong = dlcp_cong_all[0],
			.local_tag = sim_rnd(s) | 1,
			.dead_ns = 10 * SIM_S,
			.ack_delay_ns = 50 * SIM_US,
			.unsolicited = 256 << 10,
			.rx_space = 4 << 20,
			.max_msg_len = 1ULL << 40,
			.ack_packets = 16,
			.mtu = 1472,
			.overhead = 66,
			.sport = (u16)(4000 + i),
			.dport = (u16)(4001 - i),
			.nr_paths = 1,
			.front = true,
		};
	}
}

void sim_rails(struct sim *s, u32 nr)
{
	u32 i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < nr; k++) {
			s->own[i][k].addr[0] = 10;
			s->own[i][k].addr[2] = (u8)(1 + k);
			s->own[i][k].addr[3] = (u8)(1 + i);
			s->own[i][k].token = sim_rnd(s);
			s->rail[i][k] = s->link[i];
		}
		s->ep[i].cfg.rails = s->own[i];
		s->ep[i].cfg.rail_family = 4;
	}
}

static void msg_free(struct sim_msg *m)
{
	free(m->data);
	free(m->mem);
	free(m->taken);
	free(m->receipt);
	free(m->report);
	free(m->critical);
	free(m);
}

static void ep_rx_free_list(struct sim_ep *e)
{
	struct dlcp_rxmsg *m;

	while ((m = dlcp_conn_take_rx_free(&e->c))) {
		e->allocated -= sizeof(struct sim_rxmsg);
		free(container_of(m, struct sim_rxmsg, m));
	}
}

static void ep_tx_done(struct sim_ep *e);

/* A packet before its OPEN */
struct sim_held {
	struct dlcp_unopened held;
	struct sim_pkt k;
	u8	p[];
};

static void ep_purge(struct sim_ep *e)
{
	struct dlcp_unopened *held;

	while ((held = dlcp_conn_unopened_any(&e->c)))
		free(container_of(held, struct sim_held, held));
}

static void ep_destroy(struct sim_ep *e)
{
	if (!e->live)
		return;
	ep_purge(e);
	ep_link_leave(e);
	ep_egress_done(e, true);
	dlcp_conn_destroy(&e->c);
	ep_tx_done(e);
	ep_rx_free_list(e);
	e->live = false;
	SIM_CHECK(e->s, !e->allocated);
}

void sim_free(struct sim *s)
{
	struct sim_ep *e;
	u32 i, k;

	for (i = 0; i < 2; i++)
		ep_destroy(&s->ep[i]);
	for (i = 0; i < 2; i++) {
		e = &s->ep[i];
		for (k = 0; k < e->nr_msgs; k++)
			msg_free(e->msgs[k]);
		free(e->msgs);
		e->msgs = NULL;
	}
	for (i = 0; i < s->nr_heap; i++)
		free(s->heap[i].p);
	free(s->heap);
	s->heap = NULL;
	s->nr_heap = 0;
}

/* ---- sending ---- */

/* What was dropped as droppable is sent again as important */
static u8 tag_to_send(const struct dlcp_out *o, u32 i)
{
	u8 tag = dlcp_txmsg_tag(o->m, o->pos + i);

	return tag == DLCP_TAG_DROPPABLE && o->flags & DLCP_F_RESENT ?
	       DLCP_TAG_IMPORTANT : tag;
}

static void check_resend(struct sim_ep *e, const struct dlcp_out *o)
{
	const struct dlcp_txmsg *m = o->m;
	u32 len = dlcp_txmsg_len(m, o->pos);

	SIM_CHECK(e->s, o->count == 1);
	SIM_CHECK(e->s, !dlcp_segmap_test(&m->acked, o->pos));
	SIM_CHECK(e->s, !dlcp_segmap_test(&m->forgiven, o->pos));
	/* No waste: what may be forgiven is not sent again. What a group has left
	 * only its receiver knows; what it has a piece of is to be whole
	 */
	SIM_CHECK(e->s, m->refused || !m->open.loss_ppm || !len ||
		  m->open.group || o->len ||
		  o->pos < m->open.nr_critical ||
		  !dlcp_budget_may_forgive(&m->budget, len));
}

/* @front: o->front bytes */
static void ep_send_data(struct sim_ep *e, const struct dlcp_out *o,
			 const u8 *front)
{
	struct sim_msg *m = container_of(o->m, struct sim_msg, tx);
	u32 i, seg, len, off;
	u8 whole[66000];
	u8 *pkt = whole + o->front;
	u8 flags;

	SIM_CHECK(e->s, o->count && o->pos + o->count <= o->m->filled);
	SIM_CHECK(e->s, !o->front || o->count == 1);
	memcpy(whole, front, o->front);
	SIM_CHECK(e->s, o->m->state == DLCP_TX_SENDING);
	if (!o->first && o->flags & DLCP_F_RESENT)
		check_resend(e, o);
	SIM_CHECK(e->s, !o->len || (o->flags & DLCP_F_PIECE && o->count == 1));
	for (i = 0; i < o->count; i++) {
		seg = dlcp_txmsg_seg(o->m, o->pos + i);
		len = dlcp_seg_len(&o->m->open, seg);
		SIM_CHECK(e->s, len == m->seg_size || i + 1 == o->count);
		SIM_CHECK(e->s, o->off + o->len <= len);
		SIM_CHECK(e->s, dlcp_cls_tag(o->cls) == tag_to_send(o, i));
		flags = o->flags;
		if (i + 1 == o->count)
			flags |= o->last_flags;
		off = dlcp_put_data(pkt, e->c.peer_tag, flags, o->path, o->cls,
				    o->pn + i, (u32)o->m->id, seg);
		if (flags & DLCP_F_OPEN)
			off += dlcp_put_open(pkt + off, &o->open);
		if (o->len) {
			off += dlcp_put_piece(pkt + off, o->off);
			len = o->len;
			e->pieces++;
		}
		if (len)
			memcpy(pkt + off, m->data + (u64)seg * m->seg_size +
			       o->off, len);
		len += o->front + off;
		SIM_CHECK(e->s, len <= e->c.cfg.mtu);
		sim_link_send(e, o->pair, whole, len, o->cls);
	}
}

static void ep_flush(struct sim_ep *e)
{
	struct dlcp_out o;
	u8 buf[66000];
	u32 n = 0;

	for (;;) {
		dlcp_conn_next(&e->c, &o, buf, DLCP_CTRL_MAX, e->max_segs,
			       e->s->now);
		if (o.kind == DLCP_OUT_IDLE)
			break;
		e->port = o.port;
		e->dest = e->peer_at;
		if (o.to == DLCP_TO_MOVED) {
			e->dest = e->c.place.move->to.port;
			e->asks++;
			SIM_CHECK(e->s, o.kind == DLCP_OUT_CTRL && o.len <= 28);
		}
		if (sim_chance(e->s, e->own_queue)) {
			dlcp_conn_tx_refused(&e->c, o.path, o.pn, o.count,
					     e->s->now);
		} else if (o.kind == DLCP_OUT_CTRL) {
			SIM_CHECK(e->s, o.len <= e->c.cfg.mtu ||
				  (o.pad && o.len <= e->c.mtu.route));
			SIM_CHECK(e->s, o.len - o.pad <= DLCP_CTRL_MAX);
			/* Who has forgotten us may say so in as many bytes */
			SIM_CHECK(e->s, !o.count || o.len >= DLCP_RESET_LEN);
			memset(buf + o.len - o.pad, 0, o.pad);
			sim_link_send(e, o.pair, buf, o.len, o.cls);
		} else {
			ep_send_data(e, &o, buf);
		}
		/* It must come to an end by itself */
		SIM_CHECK(e->s, ++n < 1000000);
	}
	e->port = 0;
	e->dest = e->peer_at;
	ep_egress_done(e, false);
}

/* ---- completions ---- */

static void ep_tx_done(struct sim_ep *e)
{
	struct dlcp_txmsg *t;
	struct sim_msg *m;

	while ((t = dlcp_conn_take_tx_done(&e->c))) {
		m = container_of(t, struct sim_msg, tx);
		if (t->state == DLCP_TX_DONE)
			msg_reported(e, m);
		else
			m->failed = true;
		/* The engine must not touch it again */
		free(m->mem);
		m->mem = NULL;
		memset(&m->tx, 0x5a, sizeof(m->tx));
	}
}

static struct sim_rxmsg *rx_of(struct dlcp_rxmsg *m)
{
	return container_of(m, struct sim_rxmsg, m);
}

static enum sim_read rx_read(const struct sim_ep *e, const struct sim_rxmsg *r)
{
	return r->msg ? r->msg->read : e->strangers;
}

/* What poll() tells of though it is not complete, as the module's rxqueue.c */
static bool rx_told(const struct sim_ep *e, struct sim_rxmsg *r)
{
	r->told |= r->m.open.length > dlcp_conn_unread_space(&e->c) ||
		   &r->m == dlcp_conn_rx_starved(&e->c);
	return r->told;
}

/* Readers come and go, what is complete is taken */
static void ep_readers(struct sim_ep *e)
{
	struct sim_rxmsg *r, *n;
	struct dlcp_rxmsg *m;
	bool any = false;

	dlcp_conn_for_each_rx_safe(r, n, &e->c, m) {
		m = &r->m;
		if (rx_read(e, r) == SIM_READ_DISCARD &&
		    m->received >= r->msg->discard_after) {
			dlcp_conn_discard(&e->c, m, e->s->now);
			continue;
		}
		/* recvmsg() without a key waits for some message */
		if (rx_read(e, r) == SIM_READ_NOW ||
		    rx_read(e, r) == SIM_READ_DISCARD ||
		    (rx_read(e, r) == SIM_READ_POLL && rx_told(e, r)) ||
		    (rx_read(e, r) == SIM_READ_DONE && !any)) {
			any |= rx_read(e, r) == SIM_READ_DONE;
			dlcp_conn_reader(&e->c, m, true);
			dlcp_conn_consume(&e->c, m, m->received - m->consumed);
		} else {
			dlcp_conn_reader(&e->c, m, false);
		}
	}
	dlcp_conn_for_each_rx_done_safe(r, n, &e->c, m) {
		if (r->m.shell_done)
			continue;
		if (!r->taken) {
			r->taken = true;
			msg_received(e, r);
		}
		if (rx_read(e, r) == SIM_READ_NEVER)
			continue;
		dlcp_conn_rx_done(&e->c, &r->m);
		dlcp_conn_rx_room(&e->c);
	}
}

static void ep_fill(struct sim_ep *e)
{
	struct dlcp_txmsg *t;
	struct sim_msg *m;

	if (!e->fill_step)
		return;
	dlcp_conn_for_each_tx(m, &e->c, tx) {
		t = &m->tx;
		if (t->filled < t->nr_segs && t->next_pos == t->filled)
			dlcp_conn_fill(&e->c, t, t->filled + e->fill_step);
	}
}

static void ep_take(struct sim_ep *e, struct dlcp_rxmsg *m,
		    const struct dlcp_data *d)
{
	struct sim_msg *msg = rx_of(m)->msg;

	if (!msg || e->s->tainted)
		return;
	/* Once, and true */
	SIM_CHECK(e->s, !msg->rcvd && !msg->taken[d->seg]);
	msg->taken[d->seg] = 1;
	SIM_CHECK(e->s, !d->len ||
		  !memcmp(d->payload, msg->data + (u64)d->seg * msg->seg_size,
			  d->len));
}

/* A piece; the segment is whole if @v says so */
static void ep_piece(struct sim_ep *e, struct dlcp_rxmsg *m,
		     const struct dlcp_data *d, struct sim_kept *kept,
		     enum dlcp_verdict v)
{
	struct dlcp_data whole = *d;

	SIM_CHECK(e->s, d->off + d->len <= kept->len);
	memcpy(kept->bytes + d->off, d->payload, d->len);
	if (v != DLCP_OK)
		return;
	whole.payload = kept->bytes;
	whole.len = kept->len;
	ep_take(e, m, &whole);
	ep_uncut(&e->c, kept);
}

static bool ep_elsewhere(const struct sim_ep *e, const struct sim_pkt *k,
			 const struct dlcp_hdr *h)
{
	return h->flags & DLCP_F_HERE && k->from != e->peer_at;
}

/* A shell need not ask after data, or after a message was read, if dlcp_conn_rx_due()
 * says so: there is nothing to be had, and the timer, as it was armed @before, comes in
 * time. What waits for memory, the window or the pacing clock is looked at when these
 * move. Return: it says so, and it was looked at
 */
static bool ep_quiet(struct sim_ep *e, u64 before)
{
	u64 next = dlcp_conn_next_timer(&e->c), left;
	u64 due = dlcp_conn_rx_due(&e->c);
	u8 buf[DLCP_CTRL_MAX], prio;
	struct dlcp_out o;

	if (due <= e->s->now || next <= e->s->now)
		return false;
	SIM_CHECK(e->s, next >= min(before, due));
	if (e->c.send.retry || dlcp_conn_first(&e->c, &prio, &left) ||
	    !list_empty(&e->c.sched.unopened))
		return false;
	dlcp_conn_next(&e->c, &o, buf, sizeof(buf), e->max_segs, e->s->now);
	SIM_CHECK(e->s, o.kind == DLCP_OUT_IDLE);
	return true;
}

static bool ep_hold(struct sim_ep *e, const struct sim_pkt *k, u32 msg)
{
	struct sim_held *held = malloc(sizeof(*held) + k->len);

	held->k = *k;
	held->k.p = memcpy(held->p, k->p, k->len);
	if (!dlcp_conn_unopened_keep(&e->c, &held->held, msg, 1,
				     e->c.credit.buffered + k->len,
				     2 * e->c.cfg.rx_space)) {
		free(held);
		return false;
	}
	return true;
}

static void ep_data(struct sim_ep *e, const struct sim_pkt *k,
		    const struct dlcp_hdr *h, const struct dlcp_data *d)
{
	struct dlcp_arrival a = { .now = e->s->now, .wire = k->wire,
				  .ce = k->ce, .pair = k->pair,
				  .elsewhere = ep_elsewhere(e, k, h) };
	u64 before = dlcp_conn_next_timer(&e->c);
	enum dlcp_verdict v = DLCP_OK;
	struct dlcp_rxmsg *m;
	void *kept = NULL;

	/* A run of one is the same */
	if (d->pn % 2 || h->flags & DLCP_F_PIECE ||
	    !dlcp_conn_rx_run(&e->c, h, d, &a, 1, d->len, &m))
		v = dlcp_conn_rx_data(&e->c, h, d, &a, &m, &kept);
	if (v <= DLCP_MORE && kept)
		ep_piece(e, m, d, kept, v);
	else if (v == DLCP_OK)
		ep_take(e, m, d);
	if (v == DLCP_DROP_UNOPENED && ep_hold(e, k, d->msg))
		return;
	ep_link_data(e, k, m);
	if (v <= DLCP_MORE && !e->c.place.elsewhere)
		e->quiet += ep_quiet(e, before);
}

/* Messages were opened */
static void ep_unhold(struct sim_ep *e)
{
	struct dlcp_unopened *next = dlcp_conn_unopened_take(&e->c);
	struct sim_held *held;
	struct dlcp_data d;
	struct dlcp_hdr h;

	while (next) {
		held = container_of(next, struct sim_held, held);
		next = next->next;
		SIM_CHECK(e->s, !dlcp_get_hdr(held->p, held->k.len, &h) &&
			  dlcp_get_data(held->p, held->k.len, held->k.len,
					&h, &d) > 0);
		ep_data(e, &held->k, &h, &d);
		free(held);
	}
}

/* The set-up begins again, with another tag */
static void ep_anew(struct sim_ep *e)
{
	e->old_tag = e->cfg.local_tag;
	e->cfg.local_tag = sim_rnd(e->s) | 1;
	dlcp_conn_anew(&e->c, e->cfg.local_tag);
	e->anew++;
}

static void ep_events(struct sim_ep *e)
{
	struct dlcp_conn *c = &e->c;
	u64 before;
	u32 ev;

	for (;;) {
		ep_fill(e);
		ep_flush(e);
		before = dlcp_conn_next_timer(c);
		ep_readers(e);
		ev = dlcp_conn_take_events(c);
		/* A closed engine does nothing any more */
		if (!ev && (c->state < DLCP_ESTABLISHED ||
			    (!c->credit.dirty &&
			     (list_empty(&c->ctrl.rx) || c->send.no_memory))))
			break;
		if (ev & DLCP_EV_STALE)
			ep_anew(e);
		if (ev & DLCP_EV_RX_OPEN)
			ep_unhold(e);
		e->small_paths += !!(ev & DLCP_EV_MTU);
		if (ev & DLCP_EV_RX_DONE)
			ep_link_rest(e);
		if (ev & DLCP_EV_TX_DONE)
			ep_tx_done(e);
		if (ev & DLCP_EV_RX_FREE)
			ep_rx_free_list(e);
		if (ev & DLCP_EV_EOF) {
			SIM_CHECK(e->s, !e->eof);
			e->eof = true;
			if (e->auto_close)
				dlcp_conn_shutdown(c, e->s->now);
		}
		if (ev & DLCP_EV_ERROR) {
			SIM_CHECK(e->s, c->state == DLCP_CLOSED);
			SIM_CHECK(e->s, c->error > 0 && (c->error_text || c->unanswered));
			e->error = c->error;
		}
		if (ev & DLCP_EV_RX_FREE)
			e->quiet_reads += ep_quiet(e, before);
	}
	ep_check(e);
}

void sim_kick(struct sim_ep *e)
{
	if (e->live && !e->mute)
		ep_events(e);
}

/* ---- arrivals ---- */

/* As the module's input.c and place.c */
static void ep_seen(struct sim_ep *e, u16 from)
{
	const struct dlcp_place to = { .port = from };
	u64 tokens[2] = { sim_rnd(e->s), sim_rnd(e->s) };

	if (!e->live || !dlcp_conn_take_elsewhere(&e->c))
		return;
	dlcp_conn_elsewhere(&e->c, &to, tokens, e->s->now);
}

/* CTRL, DATA, or one in front of the other */
static void ep_rx_packets(struct sim_ep *e, struct sim_pkt *k,
			  struct dlcp_hdr *h, const struct dlcp_arrival *a)
{
	u32 front = 0, len = k->len;
	struct dlcp_data d;

	if (h->type == DLCP_PT_CTRL)
		front = dlcp_get_front(k->p, k->len, k->len);
	if (h->type != DLCP_PT_DATA) {
		if (dlcp_conn_rx_other(&e->c, h, k->p, front ?: len, a) !=
		    DLCP_OK || !front ||
		    dlcp_get_hdr(k->p + front, len - front, h) ||
		    h->tag != e->cfg.local_tag)
			return;
	}
	len -= front;
	if (h->type == DLCP_PT_DATA &&
	    dlcp_get_data(k->p + front, len, len, h, &d) > 0)
		ep_data(e, k, h, &d);
}

static void ep_rx(struct sim_ep *e, struct sim_pkt *k)
{
	struct dlcp_arrival a = { .now = e->s->now, .wire = k->wire, .ce = k->ce,
				  .pair = k->pair };
	struct dlcp_setup s;
	struct dlcp_hdr h;
	bool mine, setup;

	if (e->mute || k->dest != e->at || dlcp_get_hdr(k->p, k->len, &h))
		return;
	a.elsewhere = ep_elsewhere(e, k, &h);
	mine = h.tag == e->cfg.local_tag;
	setup = h.type >= DLCP_PT_INIT && h.type <= DLCP_PT_ECHO_ACK;
	if (setup && (!e->live || !mine)) {
		if (e->listening && !dlcp_get_setup(k->p, k->len, &h, &s))
			ep_listen(e, &h, &s);
	} else if (!mine && h.type != DLCP_PT_RESET) {
		if (e->live && h.tag == e->old_tag)
			ep_reset_reply(e, &h);
		return;
	} else if (!e->live || (!setup && e->c.state == DLCP_CLOSED)) {
		ep_reset_reply(e, &h);
	} else {
		ep_rx_packets(e, k, &h, &a);
	}
	ep_seen(e, k->from);
	if (e->live)
		ep_events(e);
}

/* ---- driving ---- */

static u64 ep_timer(const struct sim_ep *e)
{
	u64 t = e->live && !e->mute ? dlcp_conn_next_timer(&e->c) : U64_MAX;

	return ep_runs(e, e->called ? min(t, e->called) : t);
}

static u64 sim_next(const struct sim *s)
{
	u64 t = min(ep_timer(&s->ep[0]), ep_timer(&s->ep[1]));

	return s->nr_heap ? min(t, s->heap[0].time) : t;
}

static void ep_fire(struct sim_ep *e)
{
	e->called = 0;
	if (!e->live || e->mute)
		return;
	dlcp_conn_timer(&e->c, e->s->now);
	ep_events(e);
	/* A timer that is due again at once would never let go */
	SIM_CHECK(e->s, dlcp_conn_next_timer(&e->c) > e->s->now);
}

bool sim_step(struct sim *s, u64 until)
{
	struct sim *first = s, *o;
	struct sim_pkt k;
	u64 t;

	for (o = s->next; o != s; o = o->next)
		if (sim_next(o) < sim_next(first))
			first = o;
	t = sim_next(first);
	for (o = s->next; o != s; o = o->next)
		o->now = max(o->now, min(t, until));
	s->now = max(s->now, min(t, until));
	if (t > until)
		return false;
	s = first;
	if (!s->nr_heap || s->heap[0].time > t) {
		ep_fire(&s->ep[ep_timer(&s->ep[0]) > t]);
		return true;
	}
	k = sim_pkt_next(s);
	if (!k.p)
		ep_egress_sent(&s->ep[k.to], &k);
	else if (!s->meddle || s->meddle(s, &k))
		ep_rx(&s->ep[k.to], &k);
	free(k.p);
	return true;
}
