// SPDX-License-Identifier: GPL-2.0
/* Arrivals on an open connection. */
#include "budget.h"
#include "conn_int.h"

/* Where a longer one cannot be had, what is very late looks lost */
static void conn_recv_longer(struct dlcp_conn *c, struct dlcp_recv_window **w,
			     u8 order)
{
	struct dlcp_recv_window *longer;

	longer = c->cfg.ops->alloc(c, dlcp_recv_size(order));
	if (!longer)
		return;
	dlcp_recv_move(longer, *w, order);
	c->cfg.ops->free(c, *w, dlcp_recv_size((*w)->order));
	*w = longer;
}

/* The window of @path, in which @pn will be looked for */
static struct dlcp_recv_window *conn_recv(struct dlcp_conn *c, u8 path, u32 pn)
{
	struct dlcp_recv_window **w = &c->recv0;
	u8 order;

	if (path && !c->recv)
		c->recv = c->cfg.ops->alloc(c, CONN_RECV_SIZE);
	if (path && !c->recv)
		return NULL;
	if (path)
		w = &c->recv[path - 1];
	if (!*w)
		*w = c->cfg.ops->alloc(c, dlcp_recv_size(0));
	if (!*w)
		return NULL;
	order = dlcp_recv_wants(*w, pn);
	if (order != (*w)->order)
		conn_recv_longer(c, w, order);
	c->rx.nr_paths = max_t(u8, c->rx.nr_paths, path + 1);
	return *w;
}

/* The peer knows our tag and sends: it has accepted us. Its ECHO_ACK may
 * still be missing, and with it its limits: ECHO is sent until it is here.
 */
static bool conn_rx_ready(struct dlcp_conn *c, const struct dlcp_arrival *a)
{
	u64 now = a->now;

	if (c->state == DLCP_ECHO_SENT)
		dlcp_conn_established(c, now);
	if (!conn_open(c))
		return false;
	if (c->t_linger)
		dlcp_conn_linger_on(c, now);
	c->last_rcvd = now;
	c->soft_error = 0;
	c->cnt[DLCP_CNT_RX_PACKETS]++;
	dlcp_conn_came_by(c, a->pair);
	return true;
}

/* The ACK will tell for how long this host had the packet, from the wire on */
static void conn_record(struct dlcp_conn *c, struct dlcp_recv_window *w,
			u32 pn, bool soon, const struct dlcp_arrival *a)
{
	if (!dlcp_conn_ack_time(c))
		c->ctrl.ack = a->now + conn_ack_delay(c, &c->paths[0].rtt);
	c->credit.bad += a->ce;
	if (w->any && dlcp_pn_before(w->largest, pn))
		c->credit.bad += pn - w->largest - 1;
	/* The newest of its path is not one that somebody repeats */
	if (a->elsewhere && (!w->any || dlcp_pn_before(w->largest, pn)))
		c->place.elsewhere = 1;
	dlcp_recv_mark(w, pn, a->ce, a->wire);
	if (soon || w->unacked >= c->cfg.ack_packets)
		w->ack_now = 1;
}

/* A packet we know: its sender may not know that. Tell all there is to tell. */
static void conn_repeat(struct dlcp_recv_window *w)
{
	w->full = 1;
	w->ack_now = 1;
	/* Not a new packet, but something to be acknowledged */
	w->unacked = max_t(u32, w->unacked, 1);
}

/* The message a DATA packet is of. DLCP_DUP: it is finished. */
static enum dlcp_verdict conn_data_msg(struct dlcp_conn *c,
				       const struct dlcp_hdr *h,
				       const struct dlcp_data *d,
				       struct dlcp_rxmsg **m, u64 now)
{
	s64 id = dlcp_conn_rx_extend(c, d->msg);

	if (id < 0 || id >= (s64)c->rx.low_id + DLCP_MSG_WINDOW)
		return DLCP_DROP_WINDOW;
	if (dlcp_conn_rx_is_done(c, (u64)id))
		return DLCP_DUP;
	if (c->fin_rcvd && (u64)id >= c->rx.fin_id)
		return DLCP_DROP_MISMATCH;
	if (h->flags & DLCP_F_OPEN)
		return dlcp_conn_rx_begin(c, (u64)id, &d->open, m, now);
	*m = dlcp_conn_rx_msg(c, (u64)id);
	return *m ? DLCP_OK : DLCP_DROP_UNOPENED;
}

static enum dlcp_verdict conn_data_segment(struct dlcp_conn *c,
					   struct dlcp_rxmsg *m,
					   const struct dlcp_hdr *h,
					   const struct dlcp_data *d)
{
	bool critical = dlcp_cls_tag(h->cls) == DLCP_TAG_CRITICAL;
	enum dlcp_verdict v = DLCP_OK;

	/* What is beyond the limits must not reach the map */
	if (!dlcp_rxmsg_complete(m) && d->seg < m->nr_segs &&
	    !dlcp_segmap_test(&m->map, d->seg) &&
	    !dlcp_conn_cut_rx_begun(m, d->seg))
		v = dlcp_conn_rx_allowed(c, m, d->len);
	if (v != DLCP_OK)
		return v;
	switch (dlcp_rxmsg_segment(m, d->seg, d->len, critical)) {
	case 1:
		dlcp_conn_cut_rx_whole(c, m, d->seg);
		return DLCP_OK;
	case 0:
		return DLCP_DUP;
	case -ESTALE:
		return DLCP_DROP_LATE;
	default:
		return DLCP_DROP_MISMATCH;
	}
}

/* With DLCP_OK *@len is that of the segment. What was acknowledged of it, piece by
 * piece, must not be dropped for want of credit.
 */
static enum dlcp_verdict conn_data_piece(struct dlcp_conn *c,
					 struct dlcp_rxmsg *m,
					 const struct dlcp_hdr *h,
					 const struct dlcp_data *d,
					 void **kept, u32 *len)
{
	bool critical = dlcp_cls_tag(h->cls) == DLCP_TAG_CRITICAL;
	enum dlcp_verdict v = dlcp_conn_cut_rx(c, m, d, kept);

	if (v != DLCP_OK)
		return v;
	*len = dlcp_seg_len(&m->open, d->seg);
	if (dlcp_rxmsg_segment(m, d->seg, *len, critical) == 1)
		return DLCP_OK;
	c->cfg.ops->uncut(c, *kept);
	*kept = NULL;
	return DLCP_DROP_MISMATCH;
}

/* Something of message @msg was refused for want of memory */
static void conn_rx_deny(struct dlcp_conn *c, u32 msg)
{
	struct dlcp_rxmsg *m = dlcp_conn_rx_find(c, msg);

	if (m)
		m->denied = !dlcp_rxmsg_complete(m);
	c->credit.denied = 1;
	c->credit.denied_msg = msg;
}

/* What a packet of @m tells of the silence that @m may be complete after */
static void conn_rx_silence(struct dlcp_conn *c, struct dlcp_rxmsg *m, u8 flags,
			    enum dlcp_verdict v, u64 now)
{
	/* What is sent again may come after all; that was not waited for */
	if (v == DLCP_DROP_LATE && m->silence && !(flags & DLCP_F_RESENT))
		dlcp_conn_rx_overtaken(c);
	if (v > DLCP_DUP)
		return;
	if (v <= DLCP_MORE)
		m->last = now;
	if (flags & DLCP_F_SENT)
		dlcp_rxmsg_all_sent(m, dlcp_wait_ns(m->open.wait), now);
	if (m->all_sent)
		dlcp_conn_rx_vest(c, m);
}

enum dlcp_verdict dlcp_conn_rx_data(struct dlcp_conn *c,
				    const struct dlcp_hdr *h,
				    const struct dlcp_data *d,
				    const struct dlcp_arrival *a,
				    struct dlcp_rxmsg **m, void **kept)
{
	struct dlcp_recv_window *w;
	enum dlcp_verdict v;
	u64 now = a->now;
	u32 len = d->len;
	int fresh;

	*m = NULL;
	*kept = NULL;
	if (!conn_rx_ready(c, a))
		return DLCP_DROP_STATE;
	c->cnt[DLCP_CNT_RX_DATA]++;
	if (h->path >= DLCP_PATHS_MAX)
		return DLCP_DROP_MALFORMED;
	w = conn_recv(c, h->path, d->pn);
	if (!w)
		return DLCP_DROP_NOMEM;
	fresh = dlcp_recv_test(w, d->pn);
	if (fresh < 0)
		return DLCP_DROP_OLD;
	if (!fresh) {
		c->cnt[DLCP_CNT_RX_DUP] += d->len;
		conn_repeat(w);
		return DLCP_DUP;
	}
	v = conn_data_msg(c, h, d, m, now);
	if (v == DLCP_OK && h->flags & DLCP_F_PIECE)
		v = conn_data_piece(c, *m, h, d, kept, &len);
	else if (v == DLCP_OK)
		v = conn_data_segment(c, *m, h, d);
	/*
	 * An acknowledgment says: it is in the map. What was not taken, for
	 * whatever reason, must look lost.
	 */
	if (v <= DLCP_DUP)
		conn_record(c, w, d->pn, h->flags & DLCP_F_ACK_NOW, a);
	c->cnt[DLCP_CNT_RX_DUP] += v == DLCP_DUP ? d->len : 0;
	if (v == DLCP_DROP_NOMEM) {
		w->ce++;
		conn_rx_deny(c, d->msg);
	}
	if (v <= DLCP_MORE)
		c->credit.queued += !!(h->flags & DLCP_F_QUEUED);
	if (*m)
		conn_rx_silence(c, *m, h->flags, v, now);
	if (v == DLCP_OK) {
		dlcp_conn_rx_accept(c, *m, len);
		dlcp_conn_rx_check(c, *m, now);
	} else if (v != DLCP_MORE) {
		/* Opened by this very packet, it may be over without it */
		if (*m && !dlcp_rxmsg_complete(*m))
			dlcp_conn_rx_check(c, *m, now);
		*m = NULL;
	}
	return v;
}

/* The message that @nr packets are of, if all of them fit it and may come */
static struct dlcp_rxmsg *conn_run_msg(struct dlcp_conn *c,
				       const struct dlcp_hdr *h,
				       const struct dlcp_data *d, u32 nr,
				       u32 last, u64 now)
{
	bool critical = dlcp_cls_tag(h->cls) == DLCP_TAG_CRITICAL;
	s64 id = dlcp_conn_rx_extend(c, d->msg);
	bool opens = h->flags & DLCP_F_OPEN;
	u32 len = (nr - 1) * d->len + last;
	struct dlcp_rxmsg *m;

	if (id < 0 || id >= (s64)c->rx.low_id + DLCP_MSG_WINDOW ||
	    (c->fin_rcvd && (u64)id >= c->rx.fin_id))
		return NULL;
	m = dlcp_conn_rx_msg(c, (u64)id);
	if (!m && opens) {
		if (dlcp_conn_rx_begin(c, (u64)id, &d->open, &m, now) != DLCP_OK)
			return NULL;
		opens = false;
	}
	/* What there are pieces of may be in the run */
	if (!m || m->cuts.rb_node ||
	    !dlcp_rxmsg_run_fits(m, d->seg, nr, d->len, last, critical) ||
	    dlcp_conn_rx_allowed(c, m, len) != DLCP_OK)
		return NULL;
	if (opens &&
	    dlcp_conn_rx_begin(c, (u64)id, &d->open, &m, now) != DLCP_OK)
		return NULL;
	return m;
}

/* As conn_record() */
static void conn_record_run(struct dlcp_conn *c, struct dlcp_recv_window *w,
			    const struct dlcp_hdr *h, u32 pn, u32 nr,
			    const struct dlcp_arrival *a)
{
	if (!dlcp_conn_ack_time(c))
		c->ctrl.ack = a->now + conn_ack_delay(c, &c->paths[0].rtt);
	c->credit.bad += pn - w->largest - 1 + (a->ce ? nr : 0);
	c->credit.queued += h->flags & DLCP_F_QUEUED ? nr : 0;
	dlcp_recv_mark_run(w, pn, nr, a->ce, a->wire);
	if (h->flags & DLCP_F_ACK_NOW || w->unacked >= c->cfg.ack_packets)
		w->ack_now = 1;
}

bool dlcp_conn_rx_run(struct dlcp_conn *c, const struct dlcp_hdr *h,
		      const struct dlcp_data *d, const struct dlcp_arrival *a,
		      u32 nr, u32 last, struct dlcp_rxmsg **m)
{
	struct dlcp_recv_window *w = NULL;

	if (h->path < c->rx.nr_paths)
		w = conn_recv_window(c, h->path);
	if (!w || !w->any || !dlcp_pn_before(w->largest, d->pn) ||
	    dlcp_recv_wants(w, d->pn) != w->order || a->elsewhere ||
	    c->state != DLCP_ESTABLISHED)
		return false;
	*m = conn_run_msg(c, h, d, nr, last, a->now);
	if (!*m || !conn_rx_ready(c, a))
		return false;
	c->cnt[DLCP_CNT_RX_PACKETS] += nr - 1;
	c->cnt[DLCP_CNT_RX_DATA] += nr;
	conn_record_run(c, w, h, d->pn, nr, a);
	dlcp_rxmsg_run(*m, d->seg, nr, last,
		       dlcp_cls_tag(h->cls) == DLCP_TAG_CRITICAL);
	conn_rx_silence(c, *m, h->flags, DLCP_OK, a->now);
	dlcp_conn_rx_accept(c, *m, (nr - 1) * d->len + last);
	dlcp_conn_rx_check(c, *m, a->now);
	return true;
}

void dlcp_conn_rx_refused(struct dlcp_conn *c, u8 path, u32 msg, u32 nr)
{
	struct dlcp_recv_window *w = NULL;

	conn_rx_deny(c, msg);
	if (path < c->rx.nr_paths)
		w = conn_recv_window(c, path);
	if (w)
		w->ce += nr;
}

void dlcp_conn_rx_room(struct dlcp_conn *c)
{
	s64 id = dlcp_conn_rx_extend(c, c->credit.denied_msg);
	struct dlcp_rxmsg *m;

	m = id < 0 ? NULL : dlcp_conn_rx_msg(c, (u64)id);
	if (!c->credit.denied ||
	    (!(m && m->reader) && c->credit.buffered > c->cfg.rx_space))
		return;
	c->credit.denied = 0;
	if (m) {
		dlcp_conn_rx_advertise(c, m);
	} else if (id >= 0 && !dlcp_conn_rx_is_done(c, (u64)id)) {
		c->ctrl.room_pending = 1;
		c->cnt[DLCP_CNT_ROOM_UPDATES]++;
	}
}

static enum dlcp_verdict conn_on_open(struct dlcp_conn *c, u32 msg,
				      const struct dlcp_open *o, bool covered,
				      u64 now)
{
	s64 id = dlcp_conn_rx_extend(c, msg);
	struct dlcp_rxmsg *m = NULL;
	enum dlcp_verdict v;

	if (id < 0 || id >= (s64)c->rx.low_id + DLCP_MSG_WINDOW)
		return DLCP_DROP_WINDOW;
	if (c->fin_rcvd && (u64)id >= c->rx.fin_id)
		return DLCP_DROP_MISMATCH;
	v = dlcp_conn_rx_begin(c, (u64)id, o, &m, now);
	if (v == DLCP_DROP_NOMEM)
		conn_rx_deny(c, msg);
	if (v == DLCP_OK && covered)
		dlcp_conn_rx_covered(c, m);
	/* Nothing of it may be needed at all */
	if (v == DLCP_OK)
		dlcp_conn_rx_check(c, m, now);
	return v;
}

/* A message that left nothing but a bit has nothing missing */
static enum dlcp_verdict conn_done_again(struct dlcp_conn *c, u32 msg)
{
	u32 i;

	for (i = 0; i < c->ctrl.nr_again; i++)
		if (c->ctrl.again[i] == msg)
			return DLCP_OK;
	/* Not recorded, it will be asked again. That is no lack of memory, of which the
	 * peer is told by a mark.
	 */
	if (c->ctrl.nr_again == ARRAY_SIZE(c->ctrl.again))
		return DLCP_DROP_WINDOW;
	c->ctrl.again[c->ctrl.nr_again++] = msg;
	return DLCP_OK;
}

static enum dlcp_verdict conn_on_offer(struct dlcp_conn *c, u32 msg,
				       u32 given_up, u64 now)
{
	s64 id = dlcp_conn_rx_extend(c, msg);
	struct dlcp_rxmsg *m;

	if (id < 0)
		return DLCP_DROP_WINDOW;
	if (dlcp_conn_rx_is_done(c, (u64)id))
		return conn_done_again(c, msg);
	m = dlcp_conn_rx_msg(c, (u64)id);
	if (!m)
		return DLCP_DROP_UNOPENED;
	if (dlcp_rxmsg_complete(m)) {
		m->done_pending = 1;
		conn_rx_ctrl_due(c, m);
		return DLCP_OK;
	}
	dlcp_rxmsg_offer(m, given_up);
	dlcp_conn_rx_check(c, m, now);
	/* It may have completed with nothing missing and nothing owed */
	if (dlcp_conn_rx_is_done(c, (u64)id))
		return conn_done_again(c, msg);
	return DLCP_OK;
}

/* A message that is over needs nothing more, not even another DONE */
static enum dlcp_verdict conn_on_sent(struct dlcp_conn *c, u32 msg, u32 wait,
				      u64 now)
{
	s64 id = dlcp_conn_rx_extend(c, msg);
	struct dlcp_rxmsg *m;

	if (id < 0)
		return DLCP_DROP_WINDOW;
	if (dlcp_conn_rx_is_done(c, (u64)id))
		return DLCP_OK;
	m = dlcp_conn_rx_msg(c, (u64)id);
	if (!m)
		return DLCP_DROP_UNOPENED;
	dlcp_rxmsg_all_sent(m, wait, now);
	dlcp_conn_rx_vest(c, m);
	return DLCP_OK;
}

static void conn_on_getmap(struct dlcp_conn *c, u32 msg, u32 word)
{
	s64 id = dlcp_conn_rx_extend(c, msg);
	struct dlcp_rxmsg *m;

	m = id < 0 ? NULL : dlcp_conn_rx_msg(c, (u64)id);
	if (!m || !dlcp_rxmsg_complete(m) ||
	    word >= dlcp_segmap_words(m->nr_segs))
		return;
	m->map_pending = 1;
	m->map_word = word;
	conn_rx_ctrl_due(c, m);
}

static void conn_on_done_ack(struct dlcp_conn *c, u32 msg, u64 now)
{
	s64 id = dlcp_conn_rx_extend(c, msg);
	struct dlcp_rxmsg *m;

	m = id < 0 ? NULL : dlcp_conn_rx_msg(c, (u64)id);
	if (!m || !dlcp_rxmsg_complete(m))
		return;
	dlcp_conn_rx_confirmed(c, m);
	dlcp_conn_check_close(c, now);
}

/* May the receiver do without so much? A lie about it would be believed. */
static bool conn_done_allowed(const struct dlcp_txmsg *m,
			      const struct dlcp_f_done *d)
{
	const struct dlcp_open *o = &m->open;

	return d->missing <= (m->group ? dlcp_group_left(m->group) :
			      dlcp_bound(o->length, o->loss_ppm)) ||
	       dlcp_txmsg_unbound(m, d);
}

/* The peer told more of what it lacks of @m; is it all? */
static void conn_resolved(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	c->alive.resolve_count = 0;
	m->asked_since = dlcp_conn_awake(c, now);
	dlcp_conn_tx_check(c, m, now);
	if (m->state == DLCP_TX_RESOLVING)
		dlcp_conn_tx_ask(c, m, now);
}

static void conn_on_done(struct dlcp_conn *c, const struct dlcp_f_done *d,
			 struct conn_sample *cs)
{
	u64 now = cs->s.now;
	struct dlcp_txmsg *m = dlcp_conn_tx_find(c, d->msg);
	u32 released;

	if (!m || m->state != DLCP_TX_SENDING ||
	    d->nr_missing > m->nr_segs - m->acked.count)
		return;
	if (!conn_done_allowed(m, d)) {
		c->reset_code = DLCP_RST_PROTOCOL;
		dlcp_conn_fail(c, EPROTO,
			       "the peer gave up more than the bound");
		return;
	}
	dlcp_conn_done_lost(c, m, d, cs);
	dlcp_conn_taken(c, NULL);
	released = dlcp_txmsg_released(m);
	dlcp_txmsg_on_done(m, d);
	dlcp_conn_tx_released(c, m, released);
	dlcp_msgsched_update(c, m);
	m->done_ack_due = !!d->nr_missing;
	conn_resolved(c, m, now);
}

static void conn_on_map(struct dlcp_conn *c, const struct dlcp_f_map *f,
			u64 now)
{
	struct dlcp_txmsg *m = dlcp_conn_tx_find(c, f->msg);
	u32 from;

	/* Its data came, and OPEN did not */
	if (m && !f->nr_words && m->opened_paths && !m->open_acked)
		conn_tx_open_due(c, m);
	if (!m || m->state != DLCP_TX_RESOLVING)
		return;
	from = m->map_next;
	dlcp_txmsg_on_map(m, f);
	if (m->map_next != from)
		conn_resolved(c, m, now);
}

static void conn_on_credit(struct dlcp_conn *c, u32 msg, u64 bytes)
{
	struct dlcp_txmsg *m = dlcp_conn_tx_find(c, msg);

	if (!m || bytes < m->granted)
		return;
	if (bytes == m->granted) {
		dlcp_conn_room_received(c, m);
		return;
	}
	m->granted = bytes;
	c->alive.persist_count = 0;
	dlcp_conn_taken(c, m);
	dlcp_msgsched_update(c, m);
}

static void conn_on_rate(struct dlcp_conn *c, u32 rate)
{
	u64 before = c->cong.grant;

	c->cnt[DLCP_CNT_RATES_RCVD] += !!rate;
	c->send.granted_time = c->last_rcvd;
	c->cong.grant = (u64)rate * 1000;
	if (c->cong.grant == before || !c->cong.ops->granted)
		return;
	c->cong.ops->granted(&c->cong, before);
	c->pace.rate = c->cong.rate;
}

static enum dlcp_verdict conn_on_close(struct dlcp_conn *c, u32 nr, u64 now)
{
	s64 id = dlcp_conn_rx_extend(c, nr);

	if (c->fin_rcvd)
		return DLCP_OK;
	if (id < (s64)c->rx.end_id)
		return DLCP_DROP_MALFORMED;
	c->fin_rcvd = 1;
	c->rx.fin_id = (u64)id;
	dlcp_conn_rx_check_eof(c);
	dlcp_conn_check_close(c, now);
	return DLCP_OK;
}

static enum dlcp_verdict conn_on_frame(struct dlcp_conn *c,
				       const struct dlcp_frame *f,
				       struct conn_sample *cs, u64 now)
{
	switch (f->type) {
	case DLCP_FT_ACK:
		return dlcp_conn_on_ack(c, &f->ack, cs) ? DLCP_OK :
						     DLCP_DROP_MALFORMED;
	case DLCP_FT_OPEN:
		return conn_on_open(c, f->open.msg, &f->open.open,
				    f->flags & DLCP_FF_COVERED, now);
	case DLCP_FT_OFFER:
		return conn_on_offer(c, f->offer.msg, f->offer.given_up, now);
	case DLCP_FT_SENT:
		return conn_on_sent(c, f->sent.msg, f->sent.wait, now);
	case DLCP_FT_MAP:
		conn_on_map(c, &f->map, now);
		return DLCP_OK;
	case DLCP_FT_DONE_ACK:
		conn_on_done_ack(c, f->msg.msg, now);
		return DLCP_OK;
	case DLCP_FT_GETMAP:
		conn_on_getmap(c, f->msg.msg, f->msg.word);
		return DLCP_OK;
	case DLCP_FT_CREDIT:
		conn_on_credit(c, f->credit.msg, f->credit.bytes);
		return DLCP_OK;
	case DLCP_FT_WINDOW:
		dlcp_conn_set_limits(c,
				     dlcp_conn_tx_extend(c, f->window.max_msg),
				     f->window.unsolicited);
		return DLCP_OK;
	case DLCP_FT_CLOSE:
		return conn_on_close(c, f->close.nr_msgs, now);
	case DLCP_FT_RATE:
		conn_on_rate(c, f->rate.rate);
		return DLCP_OK;
	case DLCP_FT_RAILS:
		dlcp_conn_on_rails(c, &f->rails);
		return DLCP_OK;
	case DLCP_FT_ASK:
		c->ctrl.answer = f->token.token;
		c->ctrl.answer_pending = 1;
		return DLCP_OK;
	case DLCP_FT_ANSWER:
		dlcp_conn_on_answer(c, f->token.token, now);
		return DLCP_OK;
	default:
		return DLCP_OK;
	}
}

/* The peer asks: the CREDIT it waits for may be lost, which this end would notice
 * by its own timeout only
 */
static void conn_credit_again(struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;
	u32 nr = 0;

	/* All that was told is acknowledged */
	if (!c->ctrl.out)
		return;
	list_for_each_entry(m, &c->rx.open, node) {
		if (nr++ == CONN_CREDITS_AGAIN)
			return;
		if (!m->granted_sent)
			continue;
		m->credit_pending = 1;
		conn_rx_ctrl_due(c, m);
	}
}

/*
 * Frames that cannot be taken now are skipped and the others are taken all
 * the same, but then the packet counts as not received: every reliable frame
 * may come twice. DONE is looked at when the ACKs that came with it were: they
 * tell which of the missing got lost before.
 */
static enum dlcp_verdict conn_frames(struct dlcp_conn *c, const u8 *pkt,
				     u32 len, u32 *nr, bool *soon,
				     const struct dlcp_arrival *a)
{
	enum dlcp_verdict v, worst = DLCP_OK;
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_f_done done;
	struct conn_sample cs;
	struct dlcp_frame f DLCP_UNINIT;
	bool any = false;
	int ret;

	dlcp_conn_sample_init(c, &cs, a->now);
	cs.wire = a->wire;
	for (;;) {
		ret = dlcp_get_frame(pkt, len, &off, &f);
		if (ret <= 0)
			break;
		*nr += f.type != DLCP_FT_ACK && f.type != DLCP_FT_RATE;
		*soon |= f.type != DLCP_FT_OPEN || !(f.flags & DLCP_FF_COVERED);
		if (f.type == DLCP_FT_DONE) {
			dlcp_conn_acks_end(c, &cs);
			if (any)
				conn_on_done(c, &done, &cs);
			done = f.done;
			any = true;
			continue;
		}
		v = conn_on_frame(c, &f, &cs, a->now);
		if (v > DLCP_DUP && worst == DLCP_OK)
			worst = v;
	}
	dlcp_conn_acks_end(c, &cs);
	if (any)
		conn_on_done(c, &done, &cs);
	dlcp_conn_sample_done(c, &cs);
	return ret < 0 ? DLCP_DROP_MALFORMED : worst;
}

/*
 * The peer asks by packet @pn, all before it came, and was acknowledged a round trip
 * ago: that ACK got lost, and an end that only answers does not see which of its ways
 * is dead. Not taken for dead is a way that was answered since, and one with data of
 * this end, whose own probes tell; nor does it tell of a way of its own what comes from
 * the well-known port. With several pairs ACKs do not go by the pair of their path.
 */
static bool conn_ack_lost(const struct dlcp_conn *c, const struct dlcp_hdr *h,
			  const struct dlcp_recv_window *w, u32 pn, u64 wire)
{
	const struct dlcp_path *p = &c->paths[w->by];
	u64 rtt = c->net.min ?: c->paths[0].rtt.min;

	return c->cfg.nr_paths > 1 && c->rail.nr_pairs == 1 &&
	       !(h->flags & DLCP_F_HERE) && w->any && !w->unacked &&
	       pn == w->largest + 1 && wire >= w->last_time + rtt &&
	       p->net_time < w->last_time && !p->data_out;
}

static enum dlcp_verdict conn_rx_ctrl(struct dlcp_conn *c,
				      const struct dlcp_hdr *h, const u8 *pkt,
				      u32 len, const struct dlcp_arrival *a)
{
	struct dlcp_recv_window *w = NULL;
	enum dlcp_verdict v;
	bool soon = false;
	u32 nr = 0;
	int fresh;
	u32 pn;

	if (h->path >= DLCP_PATHS_MAX || dlcp_get_ctrl(pkt, len, &pn))
		return DLCP_DROP_MALFORMED;
	if (!conn_rx_ready(c, a))
		return DLCP_DROP_STATE;
	c->cnt[DLCP_CNT_RX_CTRL]++;
	if (h->flags & DLCP_F_ELICIT) {
		w = conn_recv(c, h->path, pn);
		if (!w)
			return DLCP_DROP_NOMEM;
		fresh = dlcp_recv_test(w, pn);
		if (fresh < 0)
			return DLCP_DROP_OLD;
		if (!fresh) {
			conn_repeat(w);
			return DLCP_DUP;
		}
	}
	v = conn_frames(c, pkt, len, &nr, &soon, a);
	if (w)
		w->ce += v == DLCP_DROP_NOMEM;
	if (!w || v != DLCP_OK)
		return v;
	if (!nr && conn_ack_lost(c, h, w, pn, a->wire))
		conn_repath(c, &c->paths[w->by], a->now);
	/* The last packet of data that follows asks for an ACK */
	conn_record(c, w, pn, soon || !nr, a);
	if (!nr) {
		/* A probe: tell all that might have got lost */
		dlcp_conn_rx_probe(c, h->flags & DLCP_F_HERE, a->now);
		conn_credit_again(c);
		w->full = 1;
		c->credit.dirty = 1;
		c->credit.all = 1;
		dlcp_conn_window_check(c, true);
	}
	return DLCP_OK;
}

enum dlcp_verdict dlcp_conn_rx_other(struct dlcp_conn *c,
				     const struct dlcp_hdr *h, const u8 *pkt,
				     u32 len, const struct dlcp_arrival *a)
{
	struct dlcp_setup s;
	struct dlcp_reset r;

	/* It waited while dlcp_conn_anew() changed the tag */
	if (h->type != DLCP_PT_RESET && h->tag != c->cfg.local_tag)
		return DLCP_DROP_STATE;
	switch (h->type) {
	case DLCP_PT_CTRL:
		return conn_rx_ctrl(c, h, pkt, len, a);
	case DLCP_PT_INIT_ACK:
	case DLCP_PT_ECHO:
	case DLCP_PT_ECHO_ACK:
		if (!dlcp_get_setup(pkt, len, h, &s))
			return dlcp_conn_rx_setup(c, h, &s, a->now);
		break;
	case DLCP_PT_RESET:
		if (!dlcp_get_reset(pkt, len, &r))
			return dlcp_conn_rx_reset(c, &r, a->now);
		break;
	}
	return DLCP_DROP_MALFORMED;
}
