// SPDX-License-Identifier: GPL-2.0
/* The packets that are on their way, and which of them are lost. */
#include "conn_int.h"

void dlcp_conn_sample_init(struct dlcp_conn *c, struct conn_sample *cs, u64 now)
{
	memset(cs, 0, sizeof(*cs));
	cs->s.now = now;
	cs->s.inflight = c->inflight;
}

/* The controller has found that no path is as short as it was */
static void conn_rtt_forget(struct dlcp_conn *c)
{
	u32 i;

	c->cong.longer = false;
	if (c->cfg.nr_paths > 1)
		dlcp_rtt_forget(&c->net);
	for (i = 0; i < c->cfg.nr_paths; i++)
		dlcp_rtt_forget(&c->paths[i].net);
}

void dlcp_conn_sample_done(struct dlcp_conn *c, struct conn_sample *cs)
{
	if (!cs->s.acked && !cs->s.lost)
		return;
	if (!cs->path)
		cs->path = &c->paths[0];
	cs->s.delivered = c->delivered;
	c->cong.ops->ack(&c->cong, c->cfg.nr_paths > 1 ? &c->net :
			 &cs->path->net, &cs->s);
	if (c->cong.longer)
		conn_rtt_forget(c);
	c->pace.rate = c->cong.rate;
}

bool dlcp_conn_ring_room(struct dlcp_conn *c, struct dlcp_path *p, u32 need)
{
	struct dlcp_sent_ring *r = &p->sent;
	struct dlcp_sent *ring, *old;
	u32 old_size = r->size;
	u32 size;

	if (dlcp_sent_room(r) >= need)
		return true;
	size = max_t(u32, old_size, CONN_RING_MIN / 2);
	do
		size *= 2;
	while (size - (r->head - r->tail) < need);
	ring = size <= CONN_RING_MAX ?
	       c->cfg.ops->alloc(c, size * sizeof(*ring)) : NULL;
	if (ring) {
		old = dlcp_sent_move(r, ring, size);
		if (old)
			c->cfg.ops->free(c, old, old_size * sizeof(*old));
		return true;
	}
	/* News of packets declared lost is the only thing we can do without */
	if (r->ring)
		dlcp_sent_trim(r, U64_MAX, r->tail);
	if (dlcp_sent_room(r) >= need)
		return true;
	c->send.no_memory = 1;
	return false;
}

/* @nr packets of @bytes leave now */
static void conn_sent_count(struct dlcp_conn *c, struct dlcp_path *p, u8 kind,
			    bool with_data, u32 nr, u32 bytes, u64 now)
{
	dlcp_conn_waits(c, now);
	c->inflight += (u64)nr * bytes;
	c->ctrl.out += kind == DLCP_SENT_CTRL;
	p->inflight += (u64)nr * bytes;
	p->sent_packets += nr;
	p->data_out += with_data ? nr : 0;
	if (kind != DLCP_SENT_CTRL)
		p->tail = DLCP_TAIL_OUT;
	else if (p->tail == DLCP_TAIL_ASK)
		p->tail = DLCP_TAIL_ASKED;
	/* What control would tell is nothing of data, and not waited for */
	if (with_data || !p->data_out) {
		p->last_elicit = now;
		p->prompt = kind == DLCP_SENT_CTRL;
	}
	c->last_sent = now;
}

struct dlcp_sent *dlcp_conn_sent(struct dlcp_conn *c, struct dlcp_path *p,
				 u8 kind,
				 bool with_data, u32 bytes, u64 now)
{
	struct dlcp_sent *e = dlcp_sent_push(&p->sent);

	e->time = now;
	e->delivered = c->delivered;
	e->bytes = (u16)min_t(u32, bytes, U16_MAX);
	e->kind = kind;
	e->with_data = with_data;
	e->app_limited = c->send.app_limited;
	conn_sent_count(c, p, kind, with_data, 1, e->bytes, now);
	return e;
}

void dlcp_conn_sent_run(struct dlcp_conn *c, struct dlcp_path *p, u8 kind,
			const struct dlcp_out *out, u32 bytes, u64 now)
{
	struct dlcp_sent e = {
		.time = now,
		.delivered = c->delivered,
		.msg = (u32)out->m->id,
		.pos = out->pos,
		.bytes = (u16)min_t(u32, bytes, U16_MAX),
		.kind = kind,
		.with_data = true,
		.app_limited = c->send.app_limited,
	};
	u32 nr = out->count - 1;

	dlcp_sent_fill(&p->sent, &e, nr);
	conn_sent_count(c, p, kind, true, nr, e.bytes, now);
}

/* Data that is to be sent again, or its OPEN, was lost: is it one more round of
 * nothing else?
 */
static void conn_stall_lost(struct dlcp_conn *c, const struct dlcp_sent *e,
			    u64 now)
{
	if (c->alive.stall_rounds && e->time <= c->alive.stall_mark)
		return;
	if (!c->alive.stall_rounds)
		c->alive.stall_since = dlcp_conn_awake(c, now);
	c->alive.stall_mark = now;
	if (c->alive.stall_rounds < U8_MAX)
		c->alive.stall_rounds++;
}

/* ... and of @m alone, while others may move */
static void conn_stall_msg_lost(struct dlcp_conn *c, struct dlcp_txmsg *m,
				const struct dlcp_sent *e, u64 now)
{
	conn_stall_lost(c, e, now);
	if (m->stall_rounds && e->time <= m->stall_mark)
		return;
	m->stall_mark = now;
	if (m->stall_rounds < U8_MAX)
		m->stall_rounds++;
}

/* What the packet carried is sent again, where it still matters */
static void conn_ctrl_lost(struct dlcp_conn *c, const struct dlcp_sent *e,
			   const struct conn_sample *cs)
{
	u32 what = e->pos;
	struct dlcp_txmsg *tx = NULL;
	struct dlcp_rxmsg *rx = NULL;
	s64 id;

	if (what & (DLCP_SW_OPEN | DLCP_SW_OFFER | DLCP_SW_GETMAP |
		    DLCP_SW_SENT))
		tx = dlcp_conn_tx_find(c, e->msg);
	if (tx && what & DLCP_SW_OPEN) {
		conn_stall_lost(c, e, cs->s.now);
		/* While data waits it goes with the next */
		if (conn_stalled(c)) {
			if (!c->alive.stall_until)
				dlcp_conn_stall_pause(c, cs->s.now);
			tx->opened_paths = 0;
			if (tx->sched == DLCP_SCHED_WAIT)
				list_move_tail(&tx->open_node,
					       &c->sched.unopened);
		} else {
			conn_tx_open_due(c, tx);
		}
	}
	if (tx && what & DLCP_SW_OFFER && tx->state == DLCP_TX_SENDING)
		dlcp_conn_tx_ask(c, tx, cs->s.now);
	if (tx && what & DLCP_SW_SENT)
		dlcp_conn_tx_sent_lost(c, tx, cs->s.now);
	if (tx && what & DLCP_SW_GETMAP && tx->state == DLCP_TX_RESOLVING)
		dlcp_conn_tx_ask(c, tx, cs->s.now);
	if (what & DLCP_SW_DONE_ACK)
		dlcp_conn_tx_tombstone(c, e->msg, false);
	if (what & (DLCP_SW_DONE | DLCP_SW_CREDIT)) {
		id = dlcp_conn_rx_extend(c, e->msg);
		rx = id < 0 ? NULL : dlcp_conn_rx_msg(c, (u64)id);
	}
	if (rx && what & DLCP_SW_DONE) {
		rx->done_pending = 1;
		conn_rx_ctrl_due(c, rx);
	}
	if (rx && what & DLCP_SW_CREDIT && !dlcp_rxmsg_complete(rx)) {
		rx->credit_pending = 1;
		conn_rx_ctrl_due(c, rx);
	}
	if (what & DLCP_SW_WINDOW)
		c->ctrl.window_pending = 1;
	if (what & DLCP_SW_MTU)
		c->mtu.due = dlcp_conn_pmtu_again(c, cs->s.now);
	if (what & DLCP_SW_RAILS)
		c->rail.pending = 1;
	if (what & DLCP_SW_CLOSE && !c->fin_acked)
		c->ctrl.close_pending = 1;
}

static void conn_data_lost(struct dlcp_conn *c, struct dlcp_txmsg *m,
			   const struct dlcp_sent *e, struct conn_sample *cs)
{
	u32 released = dlcp_txmsg_released(m);

	conn_landed(m, e);
	if (!dlcp_conn_cut_lost(m, e))
		return;
	if (dlcp_txmsg_lost(m, e->pos))
		cs->s.forgiven += e->bytes;
	else if (m->state == DLCP_TX_SENDING &&
		 !dlcp_txmsg_undecided(m, e->pos))
		conn_stall_msg_lost(c, m, e, cs->s.now);
	dlcp_conn_tx_released(c, m, released);
	dlcp_conn_tx_check(c, m, cs->s.now);
}

/* The path takes no more packets of its size, as far as is known */
static bool conn_too_large(const struct dlcp_conn *c, const struct dlcp_sent *e)
{
	return e->bytes > c->cfg.mtu + c->cfg.overhead;
}

/*
 * When the peer has stopped a message it acknowledges nothing more of it: that
 * all which was on its way then is silent tells of no loss.
 */
static void conn_lost(struct dlcp_conn *c, struct dlcp_path *p,
		      struct dlcp_sent *e, struct conn_sample *cs)
{
	bool data = e->kind != DLCP_SENT_CTRL;
	struct dlcp_txmsg *m = data ? dlcp_conn_tx_find(c, e->msg) : NULL;

	conn_unsent(c, p, e);
	if (conn_too_large(c, e)) {
		/* Of no interest to the controller, as none of the network's
		 * queues dropped it
		 */
		if (data)
			c->cnt[DLCP_CNT_LOST]++;
	} else if (!data || (m && m->state == DLCP_TX_SENDING)) {
		cs->s.lost += e->bytes;
		c->cnt[DLCP_CNT_LOST]++;
		dlcp_path_record(p, true);
		dlcp_conn_pmtu_lost(c, e, cs->s.now);
	}
	e->kind = data ? DLCP_SENT_LOST_DATA : DLCP_SENT_FREE;
	if (!data)
		conn_ctrl_lost(c, e, cs);
	else if (m)
		conn_data_lost(c, m, e, cs);
}

/* Packets of @m on @p that left before others which arrived, at most @left. Return:
 * how many there were
 */
static u32 conn_done_holes(struct dlcp_conn *c, struct dlcp_path *p,
			   struct dlcp_txmsg *m, u32 left,
			   struct conn_sample *cs)
{
	struct dlcp_sent *e;
	u32 look, nr = 0;
	u32 pn;

	for (pn = p->sent.first, look = 0; p->any_data && nr < left &&
	     dlcp_sent_before(&p->sent, pn, p->largest_data) &&
	     look < DLCP_REORDER_MAX;
	     pn++, look++) {
		e = dlcp_sent_get(&p->sent, pn);
		if (!e || e->msg != (u32)m->id || e->again ||
		    (e->kind != DLCP_SENT_DATA &&
		     e->kind != DLCP_SENT_DATA_OPEN))
			continue;
		conn_lost(c, p, e, cs);
		nr++;
	}
	return nr;
}

/*
 * The receiver is done before the sender has missed all that got lost: nothing
 * of the message is acknowledged from then on. The controller has to hear of
 * it all the same, or the bound would hide what its sender does to the
 * network. DONE tells how much is missing.
 *
 * What left before something that arrived was lost. Of the rest the message was
 * complete without as much as was on its way, if it was stopped; but not if it
 * was complete because nothing more came.
 */
void dlcp_conn_done_lost(struct dlcp_conn *c, struct dlcp_txmsg *m,
			 const struct dlcp_f_done *d, struct conn_sample *cs)
{
	u32 known = m->forgiven.count + m->lost.count + m->again_segs;
	u32 left = d->nr_missing - min(d->nr_missing, known);
	struct dlcp_path *p;
	u64 bytes;

	for (p = c->paths; left && p < c->paths + c->cfg.nr_paths; p++)
		left -= conn_done_holes(c, p, m, left, cs);
	if (!left || d->why != DLCP_WHY_FORGIVEN)
		return;
	bytes = (u64)left * (m->open.seg_size + DLCP_DATA_HDR_LEN +
			     c->cfg.overhead);
	cs->s.lost += bytes;
	cs->s.forgiven += bytes;
	c->cnt[DLCP_CNT_LOST] += left;
	/* Of several paths it is not known which */
	for (; left && c->cfg.nr_paths == 1; left--)
		dlcp_path_record(&c->paths[0], true);
}

/*
 * A route that changed once, or a late ACK, must not make detection slow for the
 * life of the path. Halves and no reset, as a path that does reorder would lose
 * a round of packets to each.
 */
static void conn_reorder_decay(struct dlcp_path *p, u32 pn)
{
	if (dlcp_sent_before(&p->sent, pn, p->keep_pn))
		return;
	p->keep_pn = p->sent.head;
	if (--p->slack_keep)
		return;
	p->slack_keep = DLCP_SLACK_KEEP;
	p->slack /= 2;
	p->reorder = max_t(u32, p->reorder / 2, DLCP_REORDER_MIN);
}

/* How many packets later was one sent that arrived? Control packets are in the
 * highest class of queues, so that they overtake data, and only what waits with
 * data tells of data. A switch that has classes would else end slow start in the
 * first round of several small messages.
 */
static s32 conn_passed_by(const struct dlcp_path *p, const struct dlcp_sent *e,
			  u32 pn)
{
	u32 newest = e->with_data ? p->largest_data : p->largest_acked;

	/* There may have been none for long */
	if ((e->with_data && !p->any_data) ||
	    !dlcp_sent_before(&p->sent, pn, newest))
		return 0;
	return (s32)(newest - pn);
}

/*
 * A packet is lost when one sent p->reorder packets later, or a round trip
 * later, has arrived (RFC 9002, section 6.1). Where packets overtake so many
 * others, their number says nothing (as in RFC 8985, 6.2).
 */
static bool conn_is_lost(struct dlcp_path *p, const struct dlcp_sent *e,
			 u32 pn, u64 delay, u64 now)
{
	u64 limit = e->time + delay;

	/* One way says little of the other: only time counts, and more of it */
	if (p->former && dlcp_pn_before(pn, p->repath_pn) &&
	    !dlcp_pn_before(p->largest_acked, p->repath_pn))
		limit += delay;
	else if (p->reorder < DLCP_REORDER_MAX &&
		 conn_passed_by(p, e, pn) >= (s32)p->reorder)
		return true;
	if (limit <= now)
		return true;
	p->loss_time = limit;
	return false;
}

/*
 * Packets of a path were sent in the order of their numbers, so that the
 * first one which is not lost ends the search.
 */
void dlcp_conn_detect(struct dlcp_conn *c, struct dlcp_path *p,
		      struct conn_sample *cs)
{
	u64 delay = dlcp_rtt_loss_delay(&p->rtt);
	struct dlcp_sent_ring *r = &p->sent;
	u64 now = cs->s.now;
	struct dlcp_sent *e;
	u64 old;

	p->loss_time = 0;
	if (!p->any_acked)
		return;
	delay += delay * p->slack / 8;
	for (;; r->first++) {
		dlcp_sent_skip(r);
		if (r->first == r->head)
			break;
		e = &r->ring[r->first & (r->size - 1)];
		if (conn_passed_by(p, e, r->first) <= 0)
			break;
		if (!conn_is_lost(p, e, r->first, delay, now))
			break;
		conn_reorder_decay(p, r->first);
		conn_lost(c, p, e, cs);
	}
	if (!dlcp_pn_before(r->first, p->repath_pn))
		p->former = DLCP_FORMER_NONE;
	old = 4 * delay + conn_ack_delay(c, &p->rtt);
	dlcp_sent_trim(r, now > old ? now - old : 0, p->largest_acked);
}

static void conn_refused(struct dlcp_conn *c, struct dlcp_path *p,
			 struct dlcp_sent *e, const struct conn_sample *cs)
{
	bool data = e->kind != DLCP_SENT_CTRL;
	struct dlcp_txmsg *m = data ? dlcp_conn_tx_find(c, e->msg) : NULL;

	conn_unsent(c, p, e);
	e->kind = DLCP_SENT_FREE;
	dlcp_conn_pmtu_unsent(c, e, cs->s.now);
	if (!data)
		conn_ctrl_lost(c, e, cs);
	if (!m)
		return;
	conn_landed(m, e);
	if (dlcp_conn_cut_lost(m, e))
		dlcp_txmsg_refused(m, e->pos);
	dlcp_conn_tx_check(c, m, cs->s.now);
}

void dlcp_conn_tx_refused(struct dlcp_conn *c, u8 path, u32 pn, u32 nr,
			  u64 now)
{
	struct conn_sample cs;
	struct dlcp_sent *e;
	struct dlcp_path *p;

	if (c->state == DLCP_CLOSED || path >= c->cfg.nr_paths)
		return;
	p = &c->paths[path];
	dlcp_conn_sample_init(c, &cs, now);
	for (; nr; nr--, pn++) {
		e = dlcp_sent_get(&p->sent, pn);
		if (e && e->kind != DLCP_SENT_FREE &&
		    e->kind != DLCP_SENT_LOST_DATA)
			conn_refused(c, p, e, &cs);
	}
	/* Nobody was asked: from the next packet on it is */
	c->alive.answered |= !c->inflight;
}

/*
 * Room for a probe where there is no memory: the oldest packet on its way is
 * taken for lost. A peer must not be found dead because nobody asked it.
 * Return: there is room.
 */
bool dlcp_conn_ring_steal(struct dlcp_conn *c, struct dlcp_path *p, u64 now)
{
	struct dlcp_sent_ring *r = &p->sent;
	struct conn_sample cs;
	struct dlcp_sent *e;

	dlcp_conn_sample_init(c, &cs, now);
	for (; r->first != r->head && !dlcp_sent_room(r); r->first++) {
		e = &r->ring[r->first & (r->size - 1)];
		if (e->kind != DLCP_SENT_FREE && e->kind != DLCP_SENT_LOST_DATA)
			conn_lost(c, p, e, &cs);
		r->tail = r->first + 1;
	}
	dlcp_conn_sample_done(c, &cs);
	return dlcp_sent_room(r);
}

/* Nothing of what went on @p will be heard of again */
void dlcp_conn_path_give_up(struct dlcp_conn *c, struct dlcp_path *p,
			    struct conn_sample *cs)
{
	struct dlcp_sent_ring *r = &p->sent;
	struct dlcp_sent *e;

	p->loss_time = 0;
	for (; r->first != r->head; r->first++) {
		e = &r->ring[r->first & (r->size - 1)];
		if (e->kind != DLCP_SENT_FREE && e->kind != DLCP_SENT_LOST_DATA)
			conn_lost(c, p, e, cs);
	}
}
