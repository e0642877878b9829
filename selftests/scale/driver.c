// SPDX-License-Identifier: GPL-2.0
/*
 * The shell around the engine, kmod/core, for many hosts in simulated time: what
 * the module has around it. What a listener answers, what a link grants, who sends
 * next, what is held before its OPEN and when the timer fires is the engine's. The
 * loop is that of push.c.
 *
 * Packets have their headers and control frames, and no payload.
 */
#include "driver.h"
#include "listen.h"

#define SET_UP_PORT	4800	/* of every listener */
#define RX_SPACE	(4ULL << 20)	/* half of rmem[1], of rmem[2] */
#define RX_SPACE_MAX	(32ULL << 20)
#define HEAD		(DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN)
#define MAX_SEGS	44	/* of a batch: GSO */

struct host *hosts;
struct map tags, pairs;
struct end *ends;
static u64 rng, credits_to_lose;
static u32 waiting;		/* for their set-up */
static struct proto_stats stats;
static u8 proto_nr;

static void end_push(struct end *e);

static struct end *end_of(struct dlcp_conn *c)
{
	return container_of(c, struct end, c);
}

/* --- memory and messages */

static void *op_alloc(struct dlcp_conn *c, size_t size)
{
	return calloc(1, size);
}

static void op_free(struct dlcp_conn *c, void *p, size_t size)
{
	free(p);
}

static struct dlcp_rxmsg *op_rx_open(struct dlcp_conn *c,
				     const struct dlcp_open *o, u64 id)
{
	struct xfer *x = xfer_find(o->key & (BIT_ULL(KEY_TRY) - 1));
	struct end *e = end_of(c);
	struct rx *r = calloc(1, sizeof(*r));

	SCALE_CHECK(x->dst == e->host && x->src == e->peer &&
		    x->bytes == o->length);
	r->x = x;
	r->tries = (u16)(o->key >> KEY_TRY);
	list_add_tail(&r->fresh, &e->fresh);
	return &r->m;
}

/* Pieces come where losses are taken for a smaller MTU; they have no bytes here */
static void *op_cut(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg)
{
	stats.cut++;
	return malloc(1);
}

static void op_uncut(struct dlcp_conn *c, void *kept)
{
	free(kept);
}

static bool op_rail(struct dlcp_conn *c, u32 k)
{
	return true;
}

static u64 op_egress(struct dlcp_conn *c, u8 pair, bool late)
{
	struct end *e = end_of(c);
	struct flow *f = &e->flow[pair];
	struct dev *dev = &hosts[e->host].dev[pair];

	if (dlcp_egress_free(&dev->sched, dev->out, f->out))
		return 0;
	return dlcp_egress_turn(&dev->sched, &f->entry, c, dev->out, f->out,
				late);
}

static const struct dlcp_conn_ops conn_ops = {
	.alloc = op_alloc, .free = op_free, .rx_open = op_rx_open,
	.cut = op_cut, .uncut = op_uncut, .rail = op_rail, .egress = op_egress,
};

static const struct dlcp_conn_ops conn_ops_unordered = {
	.alloc = op_alloc, .free = op_free, .rx_open = op_rx_open,
	.cut = op_cut, .uncut = op_uncut, .rail = op_rail,
};

/* --- egress */

static void egress_wake(struct dev *dev)
{
	struct dlcp_egress_entry *next;
	struct end *e;

	next = dlcp_egress_call(&dev->sched, dev->out);
	if (!next)
		return;
	e = container_of(next, struct flow, entry)->e;
	wheel_del(&fab.wheel, &e->timer);
	wheel_add(&fab.wheel, &e->timer, fab_now());
}

static void egress_done(struct end *e)
{
	struct dev *dev;
	u32 i;

	for (i = 0; i < par.rails; i++) {
		dev = &hosts[e->host].dev[i];
		if (!dev->sched.nr && !e->flow[i].entry.called)
			continue;
		dlcp_egress_pass(&dev->sched, &e->flow[i].entry);
		egress_wake(dev);
	}
}

static void egress_charge(struct end *e, u8 rail, u32 wire)
{
	struct dev *dev = &hosts[e->host].dev[rail];

	e->flow[rail].out += wire;
	dev->out += wire;
	if (dev->sched.nr)
		dlcp_egress_sent(&dev->sched, &e->flow[rail].entry, wire);
}

static void dl_sent(void *owner, u8 rail, u32 wire)
{
	struct end *e = owner;
	struct dev *dev = &hosts[e->host].dev[rail];

	e->flow[rail].out -= wire;
	dev->out -= wire;
	if (!dev->sched.nr)
		return;
	dlcp_egress_freed(&dev->sched, dev->out, fab_now());
	egress_wake(dev);
}

/* --- grants */

static void link_leave(struct end *e)
{
	if (e->link)
		dlcp_grant_leave(e->link, &e->ingress.grantee);
	e->link = NULL;
}

static struct dlcp_grant *link_of(struct end *e, u8 rail)
{
	if (dlcp_ingress_moves(&e->ingress, rail + 1, fab_now()))
		link_leave(e);
	if (!e->link && !dlcp_ingress_mixed(&e->ingress, fab_now()))
		e->link = &hosts[e->host].grant[rail];
	return e->link;
}

static void link_data(struct end *e, u8 rail, const struct dlcp_rxmsg *m,
		      u64 bytes)
{
	struct dlcp_conn *c = &e->c;
	struct dlcp_grant *g;
	u64 rate = 0;

	if (c->state == DLCP_CLOSED || !par.grants)
		return;
	g = link_of(e, rail);
	if (g)
		rate = dlcp_ingress_data(&e->ingress, g, c, m, bytes,
					 fab_now());
	dlcp_conn_grant(c, rate);
}

/* --- sending */

static void dl_xmit(u32 src, u32 dst, struct end *e, struct pkt *k,
		    const struct dlcp_out *o)
{
	u8 cls = o ? o->cls : 0xff;

	k->proto = proto_nr;
	k->src = src;
	k->dst = dst;
	k->wire = max(k->len + 66, WIRE_MIN);
	k->hash = mix32(src, dst, o ? o->port : 0);
	k->owner = e;
	if (cls != 0xff) {
		k->droppable = dlcp_cls_tag(cls) == DLCP_TAG_DROPPABLE;
		k->band = 1 + dlcp_cls_prio(cls) * (fab.bands - 1) / 8;
	}
	k->ect = !k->droppable;
	if (e) {
		k->rail = o->pair;
		egress_charge(e, k->rail, k->wire);
	}
	fabric_send(k);
}

static bool has_credit(const u8 *p, u32 len)
{
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_frame f;

	while (dlcp_get_frame(p, len, &off, &f) > 0)
		if (f.type == DLCP_FT_CREDIT)
			return true;
	return false;
}

static void send_ctrl(struct end *e, const struct dlcp_out *o, const u8 *buf)
{
	struct pkt *k;

	if (credits_to_lose && buf[8] == DLCP_PT_CTRL &&
	    has_credit(buf, o->len - o->pad)) {
		credits_to_lose--;
		return;
	}
	k = pkt_new(o->len);
	memcpy(k->data, buf, o->len - o->pad);
	k->len = o->len;
	dl_xmit(e->host, e->peer, e, k, o);
}

/* @front: o->front bytes */
static void send_data(struct end *e, const struct dlcp_out *o, const u8 *front)
{
	u32 i, seg, off;
	u8 flags, *p;
	struct pkt *k;

	SCALE_CHECK(o->m->state == DLCP_TX_SENDING);
	for (i = 0; i < o->count; i++) {
		seg = dlcp_txmsg_seg(o->m, o->pos + i);
		flags = o->flags;
		if (i + 1 == o->count)
			flags |= o->last_flags;
		k = pkt_new(o->front + HEAD);
		memcpy(k->data, front, o->front);
		p = k->data + o->front;
		off = dlcp_put_data(p, e->c.peer_tag, flags, o->path,
				    o->cls, o->pn + i, (u32)o->m->id, seg);
		if (flags & DLCP_F_OPEN)
			off += dlcp_put_open(p + off, &o->open);
		if (o->len)
			off += dlcp_put_piece(p + off, o->off);
		k->len = o->front + off + (o->len ?: dlcp_seg_len(&o->m->open, seg));
		dl_xmit(e->host, e->peer, e, k, o);
		stats.sent++;
	}
}

static void end_flush(struct end *e)
{
	struct dlcp_out o;
	u8 buf[DLCP_CTRL_MAX];

	for (;;) {
		dlcp_conn_next(&e->c, &o, buf, sizeof(buf), MAX_SEGS,
			       fab_now());
		if (o.kind == DLCP_OUT_IDLE)
			break;
		if (o.kind == DLCP_OUT_CTRL)
			send_ctrl(e, &o, buf);
		else
			send_data(e, &o, buf);
	}
	egress_done(e);
}

static u8 *tags_of(const struct xfer *x, u32 nr_segs)
{
	u8 *list;
	u32 i;
	u8 tag;

	if (!x->droppable)
		return NULL;
	list = calloc(1, nr_segs / 4 + 1);
	for (i = 0; i < nr_segs; i++) {
		tag = rng_below(&rng, 100) < x->droppable ?
		      DLCP_TAG_DROPPABLE : DLCP_TAG_IMPORTANT;
		list[i / 4] |= (u8)(tag << (i % 4 * 2));
	}
	return list;
}

static void end_send(struct end *e, struct xfer *x)
{
	struct dlcp_open o = {
		.key = x->nr | (u64)x->tries << KEY_TRY, .length = x->bytes,
		.loss_ppm = x->loss_ppm, .elem_size = 4, .prio = x->prio,
	};
	struct tx *t = calloc(1, sizeof(*t));
	u32 nr_segs;
	u8 *list;

	o.seg_size = (u16)dlcp_conn_seg_size(&e->c, 4, x->bytes,
					     x->loss_ppm);
	nr_segs = dlcp_nr_segs(x->bytes, o.seg_size);
	list = tags_of(x, nr_segs);
	t->x = x;
	t->mem = calloc(1, dlcp_txmsg_mem(nr_segs, list));
	dlcp_txmsg_init(&t->m, &o, list, o.seg_size, t->mem, fab_now());
	free(list);
	dlcp_conn_send(&e->c, &t->m);
	dlcp_conn_fill(&e->c, &t->m, nr_segs);
}

static void end_send_waiting(struct end *e)
{
	struct xfer *x;

	while (e->wait && e->ready && dlcp_conn_may_send(&e->c)) {
		x = e->wait;
		e->wait = x->next;
		end_send(e, x);
	}
}

/* --- events */

/* Somebody waits for each message, with room for it */
static void ev_rx_open(struct end *e)
{
	struct rx *r, *n;

	list_for_each_entry_safe(r, n, &e->fresh, fresh) {
		list_del_init(&r->fresh);
		dlcp_conn_reader(&e->c, &r->m, true);
		dlcp_conn_consume(&e->c, &r->m,
				  r->m.received - r->m.consumed);
	}
}

static void ev_rx_done(struct end *e)
{
	struct rx *r, *n;

	dlcp_conn_for_each_rx_done_safe(r, n, &e->c, m) {
		if (r->m.shell_done || r->seen)
			continue;
		r->seen = true;
		if (!list_empty(&r->fresh))
			list_del_init(&r->fresh);
		/* Who sent an earlier try has forgotten it, and sends all again */
		if (r->tries == r->x->tries) {
			r->x->missing = r->m.missing;
			xfer_done(r->x);
		}
		dlcp_conn_rx_done(&e->c, &r->m);
	}
	if (e->link)
		dlcp_ingress_rest(&e->ingress, e->link, &e->c, fab_now());
}

static void ev_tx_done(struct end *e)
{
	struct dlcp_txmsg *m;
	struct tx *t;

	while ((m = dlcp_conn_take_tx_done(&e->c))) {
		t = container_of(m, struct tx, m);
		if (m->state == DLCP_TX_DONE) {
			/* Receipt and report agree */
			SCALE_CHECK(t->x->done_at &&
				    t->x->missing == m->missing_bytes);
			t->x->reported = true;
		}
		tx_free(t);
	}
}

void ev_rx_free(struct end *e)
{
	struct dlcp_rxmsg *m;
	struct rx *r;

	while ((m = dlcp_conn_take_rx_free(&e->c))) {
		r = container_of(m, struct rx, m);
		list_del_init(&r->fresh);
		free(r);
	}
}

static void ev_state(struct end *e)
{
	if (e->ready || e->c.state != DLCP_ESTABLISHED)
		return;
	e->ready = true;
	waiting--;
}

static bool end_data(struct end *e, struct pkt *k, const struct dlcp_hdr *h);

static void ev_unopened(struct end *e)
{
	struct dlcp_unopened *next = dlcp_conn_unopened_take(&e->c);
	struct kept *kept;
	struct dlcp_hdr h;

	while (next) {
		kept = container_of(next, struct kept, held);
		next = next->next;
		dlcp_get_hdr(kept->k->data, HEAD, &h);
		end_data(e, kept->k, &h);
		free(kept);
	}
}

static void ev_error(struct end *e)
{
	if (e->failed)
		return;
	e->failed = true;
	stats.failed++;
	stats.late_by = e->c.error;
	link_leave(e);
	if (e->bereft)
		end_bereft(e);
}

static void end_events(struct end *e)
{
	u32 ev = dlcp_conn_take_events(&e->c);

	if (ev & DLCP_EV_STATE)
		ev_state(e);
	if (ev & DLCP_EV_RX_OPEN) {
		ev_rx_open(e);
		ev_unopened(e);
	}
	if (ev & DLCP_EV_RX_DONE)
		ev_rx_done(e);
	if (ev & DLCP_EV_TX_DONE)
		ev_tx_done(e);
	if (ev & DLCP_EV_RX_FREE)
		ev_rx_free(e);
	if (ev & DLCP_EV_ERROR)
		ev_error(e);
}

static void end_arm(struct end *e)
{
	u64 next = dlcp_conn_next_timer(&e->c);

	if (next >= S64_MAX) {
		wheel_del(&fab.wheel, &e->timer);
		return;
	}
	if (ev_waits(&e->timer) && e->timer.time <= next)
		return;
	wheel_del(&fab.wheel, &e->timer);
	wheel_add(&fab.wheel, &e->timer,
		  dlcp_wakeup_at(&e->wakeup, next, fab_now()));
}

/* As push.c: a receive buffer that nobody has set grows with what arrives, and so
 * does what may come without credit
 */
static void end_tune(struct end *e)
{
	u64 all = e->c.cnt[DLCP_CNT_RX_DELIVERED], space;

	if (par.rx_space || fab_now() < e->tune_time)
		return;
	space = min(4 * (all - e->tune_bytes), RX_SPACE_MAX);
	if (space > e->c.cfg.rx_space)
		dlcp_conn_set_rx_space(&e->c, space);
	dlcp_conn_rx_came(&e->c, all - e->tune_bytes);
	e->tune_bytes = all;
	e->tune_time = fab_now() + max_t(u64, e->c.paths[0].rtt.srtt,
					 50 * NSEC_PER_USEC);
}

static void end_push(struct end *e)
{
	do {
		end_send_waiting(e);
		end_flush(e);
		end_events(e);
	} while (e->c.events || (e->wait && e->ready &&
				 dlcp_conn_may_send(&e->c)) ||
		 (e->c.state >= DLCP_ESTABLISHED && e->c.credit.dirty));
	end_flush(e);
	end_tune(e);
	end_arm(e);
}

static void end_timer(struct ev *ev)
{
	struct end *e = container_of(ev, struct end, timer);

	e->wakeup.fired = 1;
	dlcp_conn_timer(&e->c, fab_now());
	end_push(e);
}

/* --- connections */

static struct dlcp_rail_own *rails_of(u32 host)
{
	static struct dlcp_rail_own own[DLCP_RAILS_MAX];
	u32 i;

	memset(own, 0, sizeof(own));
	for (i = 1; i < par.rails; i++) {
		own[i - 1].addr[0] = (u8)(10 + i);
		dlcp_put_be16(own[i - 1].addr + 2, (u16)(host + 1));
		own[i - 1].token = rng_next(&rng);
	}
	return own;
}

static struct end *end_new(u32 host, u32 peer, u64 tag, u16 sport, u16 dport)
{
	struct dlcp_conn_cfg cfg = {
		.ops = par.order ? &conn_ops : &conn_ops_unordered,
		.cong = *par.cong ? dlcp_cong_find(par.cong) : dlcp_cong_all[0],
		.local_tag = tag, .sport = sport, .dport = dport,
		.dead_ns = par.dead_ms * NSEC_PER_MSEC,
		.ack_delay_ns = 50 * NSEC_PER_USEC, .ack_packets = 16,
		.unsolicited = 256 << 10, .rx_space = par.rx_space ?: RX_SPACE,
		.max_msg_len = 1ULL << 40, .mtu = (u32)par.mtu - 28,
		.overhead = 66, .nr_paths = (u8)par.paths,
		.rails = par.rails > 1 ? rails_of(host) : NULL,
		.rail_family = 4, .front = true,
	};
	struct end *e = calloc(1, sizeof(*e) +
				  par.rails * sizeof(e->flow[0]));
	u32 i;

	SCALE_CHECK(cfg.cong);
	e->host = host;
	e->peer = peer;
	e->timer.fn = end_timer;
	e->wait_tail = &e->wait;
	INIT_LIST_HEAD(&e->fresh);
	for (i = 0; i < par.rails; i++) {
		dlcp_egress_entry_init(&e->flow[i].entry);
		e->flow[i].e = e;
	}
	e->next = ends;
	ends = e;
	waiting++;
	map_put(&tags, tag, e);
	map_put(&pairs, map_pair(host, peer), e);
	SCALE_CHECK(!dlcp_conn_init(&e->c, &cfg, fab_now()));
	return e;
}

static u64 cookie_mac(void *ctx, const void *data, size_t len)
{
	u64 h = *(u64 *)ctx;
	const u8 *p = data;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return rng_next(&h);
}

static void cookie_in(struct dlcp_cookie_in *in, u32 host, u32 client)
{
	*in = (struct dlcp_cookie_in) {
		.now = fab_now(), .addr_len = 4,
	};
	dlcp_put_be32(in->saddr, client);
	dlcp_put_be32(in->daddr, host);
}

static struct dlcp_listen_keys keys_of(u32 host)
{
	return (struct dlcp_listen_keys) {
		.mac = cookie_mac,
		.now = &hosts[host].secret,
		.before = &hosts[host].secret,
	};
}

static void reply(u32 host, u32 to, const u8 *buf, u32 len)
{
	struct pkt *k = pkt_new(len);

	memcpy(k->data, buf, len);
	k->len = len;
	dl_xmit(host, to, NULL, k, NULL);
}

static void listen_init(u32 host, u32 client, const struct dlcp_setup *in)
{
	const struct dlcp_listen_keys keys = keys_of(host);
	struct dlcp_cookie_in c;
	u8 buf[DLCP_SETUP_LEN];
	int len;

	cookie_in(&c, host, client);
	c.server_tag = rng_next(&rng) | 1;
	len = dlcp_listen_init(buf, in, &c, &keys);
	SCALE_CHECK(len > 0);
	reply(host, client, buf, (u32)len);
}

static void listen_echo(u32 host, u32 client, const struct dlcp_setup *in,
			u64 tag)
{
	const struct dlcp_listen_keys keys = keys_of(host);
	struct dlcp_cookie_in c;
	struct end *e;

	cookie_in(&c, host, client);
	if (dlcp_listen_echo(in, tag, &c, &keys))
		return;
	e = end_new(host, client, tag, in->dport, in->sport);
	dlcp_conn_accept(&e->c, in, fab_now());
	dlcp_conn_setup_took(&e->c, dlcp_cookie_age(in->cookie, fab_now()));
	end_push(e);
}

static void rx_listen(u32 host, struct pkt *k, const struct dlcp_hdr *h)
{
	struct dlcp_setup s;

	if (dlcp_get_setup(k->data, k->len, h, &s))
		return;
	if (h->type == DLCP_PT_INIT)
		listen_init(host, k->src, &s);
	else if (h->type == DLCP_PT_ECHO)
		listen_echo(host, k->src, &s, h->tag);
}

/* --- arrivals */

static bool end_keep(struct end *e, struct pkt *k, u32 msg)
{
	struct kept *kept = malloc(sizeof(*kept));

	kept->k = k;
	if (!dlcp_conn_unopened_keep(&e->c, &kept->held, msg, 1,
				     e->c.credit.buffered + k->wire,
				     2 * e->c.cfg.rx_space)) {
		free(kept);
		return false;
	}
	stats.unopened++;
	return true;
}

/* Has the engine to be asked after data that was taken? As the module does */
static bool end_due(struct end *e)
{
	u64 due = dlcp_conn_rx_due(&e->c);

	if (due <= fab_now())
		return true;
	if (!ev_waits(&e->timer) || e->timer.time > due)
		end_arm(e);
	return false;
}

/* Takes @k. Return: end_push() is to follow */
static bool end_data(struct end *e, struct pkt *k, const struct dlcp_hdr *h)
{
	struct dlcp_arrival a = {
		.now = fab_now(), .wire = fab_now(), .ce = k->ce,
		.pair = k->rail,
	};
	struct dlcp_rxmsg *m;
	enum dlcp_verdict v;
	struct dlcp_data d;
	void *kept;

	if (dlcp_get_data(k->data, min_t(u32, HEAD, k->len), k->len, h, &d) < 0)
		scale_die(__FILE__, __LINE__, "a packet nobody can read");
	v = dlcp_conn_rx_data(&e->c, h, &d, &a, &m, &kept);
	if (v == DLCP_OK)
		free(kept);
	if (v == DLCP_DROP_UNOPENED && end_keep(e, k, d.msg))
		return true;
	if (v == DLCP_OK && m->reader)
		dlcp_conn_consume(&e->c, m, m->received - m->consumed);
	link_data(e, k->rail, m, k->wire);
	pkt_free(k);
	return v > DLCP_MORE || end_due(e);
}

static void rx_other(u32 host, struct pkt *k, const struct dlcp_hdr *h,
		     struct end *e)
{
	struct dlcp_arrival a = {
		.now = fab_now(), .wire = fab_now(), .ce = k->ce,
		.pair = k->rail,
	};
	struct dlcp_reset r = {
		.your_tag = h->tag, .code = DLCP_RST_UNKNOWN,
		.stray = !(h->flags & DLCP_F_HERE),
	};
	bool setup = h->type >= DLCP_PT_INIT && h->type <= DLCP_PT_ECHO_ACK;
	u8 buf[64];

	if (setup && !e)
		rx_listen(host, k, h);
	else if (e && (setup || e->c.state != DLCP_CLOSED))
		dlcp_conn_rx_other(&e->c, h, k->data, k->len, &a);
	else if (h->type != DLCP_PT_RESET)
		reply(host, k->src, buf, dlcp_put_reset(buf, 0, &r));
	pkt_free(k);
}

/* A CTRL packet, if there is one in front of DATA in the same datagram, as in the
 * module's process.c
 */
static void rx_front(struct end *e, struct pkt *k, struct dlcp_hdr *h)
{
	struct dlcp_arrival a = {
		.now = fab_now(), .wire = fab_now(), .ce = k->ce,
		.pair = k->rail,
	};
	u32 front = dlcp_get_front(k->data, k->len, k->len);

	if (!front)
		return;
	dlcp_conn_rx_other(&e->c, h, k->data, front, &a);
	memmove(k->data, k->data + front, HEAD);
	k->len -= front;
	dlcp_get_hdr(k->data, k->len, h);
}

/* A RESET names the tag that it answers: the peer's. Few come. */
static struct end *end_reset(u32 host, const struct pkt *k)
{
	struct dlcp_reset r;
	struct end *e;

	if (dlcp_get_reset(k->data, k->len, &r))
		scale_die(__FILE__, __LINE__, "a RESET nobody can read");
	for (e = ends; e; e = e->next)
		if (e->host == host && e->c.state != DLCP_CLOSED &&
		    e->c.peer_tag == r.your_tag)
			break;
	return e;
}

static void dl_rx(u32 host, struct pkt *k)
{
	struct dlcp_hdr h;
	bool due = true;
	struct end *e;

	/* A cut payload is a lost one: the engine knows nothing of trimming */
	if (k->trimmed || hosts[host].down) {
		pkt_free(k);
		return;
	}
	if (dlcp_get_hdr(k->data, k->len, &h))
		scale_die(__FILE__, __LINE__, "a packet without a header");
	e = h.type == DLCP_PT_RESET ? end_reset(host, k) :
				      map_get(&tags, h.tag);
	SCALE_CHECK(!e || e->host == host);
	if (h.type == DLCP_PT_CTRL && e && e->c.state != DLCP_CLOSED)
		rx_front(e, k, &h);
	if (h.type == DLCP_PT_DATA && e && e->c.state != DLCP_CLOSED)
		due = end_data(e, k, &h);
	else
		rx_other(host, k, &h, e);
	if (e && due)
		end_push(e);
}

/* --- what the simulator sees */

static struct end *end_connect(u32 a, u32 b)
{
	struct end *e = end_new(a, b, rng_next(&rng) | 1, (u16)rng_next(&rng),
				SET_UP_PORT);

	dlcp_conn_connect(&e->c, fab_now());
	end_push(e);
	return e;
}

static void dl_connect(u32 a, u32 b)
{
	if (!map_get(&pairs, map_pair(a, b)) &&
	    !map_get(&pairs, map_pair(b, a)))
		end_connect(a, b);
}

static bool dl_ready(void)
{
	return !waiting;
}

void dl_send(struct xfer *x)
{
	struct end *e = map_get(&pairs, map_pair(x->src, x->dst));
	struct xfer **later = &hosts[x->src].wait;

	x->next = NULL;
	if (hosts[x->src].down) {
		while (*later)
			later = &(*later)->next;
		*later = x;
		return;
	}
	if (!e || (e->failed && e->bereft))
		e = end_connect(x->src, x->dst);
	if (!e->wait)
		e->wait_tail = &e->wait;
	*e->wait_tail = x;
	e->wait_tail = &x->next;
	end_push(e);
}

void host_init(struct host *h)
{
	u32 k;

	h->secret = rng_next(&rng);
	for (k = 0; k < par.rails; k++) {
		dlcp_grant_init(&h->grant[k]);
		dlcp_egress_init(&h->dev[k].sched);
	}
}

static void dl_setup(u8 nr)
{
	u32 i;

	proto_nr = nr;
	rng = par.seed * 0xd1342543de82ef95ULL + 7;
	credits_to_lose = par.lose_credits;
	hosts = calloc(par.hosts, sizeof(*hosts));
	for (i = 0; i < par.hosts; i++)
		host_init(&hosts[i]);
}

static void dl_stats(struct proto_stats *s)
{
	struct end *e;

	*s = stats;
	for (e = ends; e; e = e->next) {
		s->resent += e->c.cnt[DLCP_CNT_TX_RESENT] / par_payload();
		s->timeouts += e->c.cnt[DLCP_CNT_PROBES];
		s->spurious += e->c.cnt[DLCP_CNT_SPURIOUS];
		s->holes += e->c.cnt[DLCP_CNT_MTU_HOLES];
	}
}

struct proto proto_dlcp = {
	.name = "dlcp", .disc = &port_drop_tail, .bands = 1,
	.setup = dl_setup, .connect = dl_connect, .ready = dl_ready,
	.send = dl_send, .rx = dl_rx, .sent = dl_sent, .boot = dl_boot,
	.stats = dl_stats,
};
