// SPDX-License-Identifier: GPL-2.0
/* What to send next. */
#include "conn_int.h"

/* With several paths a batch is divided by their number, at most by this */
#define CONN_SPLIT	4

/* Unit of dlcp_conn.send.pace_late, which ends at 8 ms: 2^15 ns */
#define CONN_LATE_SHIFT	15

static u64 conn_late(const struct dlcp_conn *c)
{
	return (u64)c->send.pace_late << CONN_LATE_SHIFT;
}

/* Something has waited for the pacing clock: what that is behind the host was late.
 * At most what leaves in half a round trip goes in one piece.
 */
static void conn_late_found(struct dlcp_conn *c, u64 now)
{
	u64 late = min(dlcp_pace_behind(&c->pace, now),
		       c->paths[0].rtt.srtt / 2);

	c->send.pace_late = (u8)min_t(u64, late >> CONN_LATE_SHIFT, U8_MAX);
}

/* Less of it is left when something was sent, and none when the clock is ahead */
static void conn_late_used(struct dlcp_conn *c, u64 now)
{
	u64 left = dlcp_pace_behind(&c->pace, now) +
		   BIT_ULL(CONN_LATE_SHIFT) - 1;

	c->send.pace_late = (u8)min_t(u64, left >> CONN_LATE_SHIFT, c->send.pace_late);
}

/* Of a message without a bound a lost packet costs a round trip, be it OPEN or not.
 * One with a bound need not wait for any, if the peer knows it.
 */
static bool conn_needs_open(const struct dlcp_txmsg *m,
			    const struct dlcp_path *p)
{
	u32 repeat = m->open.loss_ppm ? DLCP_OPEN_REPEAT_BOUND :
					DLCP_OPEN_REPEAT;

	return !m->open_acked && !m->inline_open &&
	       (!(m->opened_paths & BIT(p->id)) || m->since_open >= repeat);
}

/* Bytes of headers in front of each segment of @out, or its piece */
static u32 conn_headers(const struct dlcp_conn *c, const struct dlcp_out *out)
{
	return conn_data_len(out->m, out->len ? DLCP_PIECE_LEN : 0) +
	       c->cfg.overhead;
}

/* Payload of the @i-th packet of @out */
static u32 conn_payload(const struct dlcp_out *out, u32 i)
{
	return out->len ?: dlcp_txmsg_len(out->m, out->pos + i);
}

/* Was all that @out has been sent before? */
static bool conn_again(const struct dlcp_out *out)
{
	return !out->first && out->pos != out->m->cutting;
}

/* What of @m goes next. Return: false if nothing does after all. */
static bool conn_batch_start(struct dlcp_conn *c, struct dlcp_txmsg *m,
			     struct dlcp_out *out)
{
	u32 released = dlcp_txmsg_released(m);
	u64 left;

	out->m = m;
	out->count = 1;
	out->pos = dlcp_txmsg_next_resend(m);
	dlcp_conn_tx_released(c, m, released);
	if (out->pos < m->nr_segs)
		return true;
	out->first = 1;
	out->pos = m->next_pos;
	return m->next_pos < m->filled &&
	       dlcp_msgsched_credit(c, m, dlcp_txmsg_len(m, m->next_pos),
				    &left);
}

/*
 * A batch of first transmissions: segments of one tag and of full size, only
 * the last may be shorter, so that they can leave as one large packet.
 */
static void conn_batch_fill(struct dlcp_conn *c, struct dlcp_out *out,
			    u32 max_segs, u32 allow)
{
	struct dlcp_txmsg *m = out->m;
	u32 end = min(m->filled, dlcp_txmsg_tag_end(m, out->pos));
	u32 len = dlcp_txmsg_len(m, out->pos);
	u32 headers = conn_headers(c, out);
	u32 bytes = len + headers;
	u64 left;
	u32 pos, n;

	if (!out->first || out->len)
		return;
	dlcp_msgsched_credit(c, m, 0, &left);
	left -= len;
	if (len == m->open.seg_size && !m->seg_of_pos) {
		/* All but the message's last are full: no look at each */
		n = min3(end - out->pos, max_segs,
			 (u32)min_t(u64, left, U32_MAX - len) / len + 1);
		n = min(n, max(allow / (len + headers), 1U));
		if (out->pos + n == m->nr_segs && n > 1)
			n--;
		out->count = n;
		bytes *= n;
		left -= (u64)(n - 1) * len;
	}
	while (out->count < max_segs && len == m->open.seg_size) {
		pos = out->pos + out->count;
		if (pos >= end)
			break;
		len = dlcp_txmsg_len(m, pos);
		bytes += len + headers;
		if (len > left || bytes > allow)
			break;
		left -= len;
		out->count++;
	}
}

/* A probe shall not be dropped before the data that it asks for */
static void conn_path_cls(struct dlcp_path *p, u8 cls)
{
	u8 prio = dlcp_cls_prio(cls);

	if (p->data_out)
		prio = max_t(u8, prio, dlcp_cls_prio(p->cls));
	p->cls = dlcp_cls(prio, DLCP_TAG_IMPORTANT);
}

/* Packet numbers, windows and clocks of a batch that leaves now */
static void conn_batch_commit(struct dlcp_conn *c, struct dlcp_out *out,
			      struct dlcp_path *p, u64 now)
{
	u8 kind = out->flags & DLCP_F_OPEN ? DLCP_SENT_DATA_OPEN :
					     DLCP_SENT_DATA;
	struct dlcp_txmsg *m = out->m;
	u32 headers = conn_headers(c, out);
	u32 total = out->count * headers;
	bool again = conn_again(out);
	u32 last = conn_payload(out, out->count - 1);
	u64 bytes = (u64)(out->count - 1) * m->open.seg_size + last;
	struct dlcp_sent *e;

	out->pn = p->sent.head;
	conn_path_cls(p, out->cls);
	if (out->count > 1)
		dlcp_conn_sent_run(c, p, kind, out, m->open.seg_size + headers,
				   now);
	e = dlcp_conn_sent(c, p, kind, true, last + headers, now);
	e->msg = (u32)m->id;
	e->pos = out->pos + out->count - 1;
	e->again = again;
	if (out->len)
		dlcp_conn_cut_sent(c, out, e);
	else if (!out->first)	/* just one */
		dlcp_segmap_clear(&m->lost, out->pos);
	total += bytes;
	c->cnt[DLCP_CNT_TX_SENT] += bytes;
	if (out->first) {
		m->sent_bytes += out->len ? dlcp_txmsg_len(m, out->pos) : bytes;
	} else if (again) {
		m->resent_bytes += bytes;
		c->cnt[DLCP_CNT_TX_RESENT] += bytes;
		m->again_segs += out->count;
	}
	m->inflight_segs += out->count;
	m->since_open += out->count;
	if (out->first) {
		dlcp_conn_tx_charge(c, m);
		c->sched.opens_ahead |= !m->next_pos;
		m->next_pos += out->count;
		dlcp_conn_tx_check_offer(c, m, now);
	}
	c->send.since_ack_now = (u32)min_t(u64, (u64)c->send.since_ack_now + total,
					   U32_MAX);
	c->send.last_data = now;
	c->alive.persist_count = 0;
	c->send.batch++;
	c->cnt[DLCP_CNT_TX_PACKETS] += out->count;
	c->cnt[DLCP_CNT_TX_DATA] += out->count;
	c->cfg.pathsched->sent(p, total);
	dlcp_pace_sent(&c->pace, now, conn_late(c), total);
	conn_late_used(c, now);
	m->wait_since = c->send.batch;
	dlcp_msgsched_update(c, m);
}

/* Bytes that may leave now; 0 = none. *full: the window is what ends it. */
static u32 conn_allowed(struct dlcp_conn *c, u32 seg, u64 now)
{
	u64 inflight = c->inflight - c->mtu.flight;
	u64 left = c->cong.cwnd > inflight ? c->cong.cwnd - inflight : 0;
	u32 allow;

	c->send.pace_wait = 0;
	/* With nothing in flight one packet may always go */
	if (left < seg) {
		if (inflight)
			return 0;
		left = seg;
	}
	allow = dlcp_pace_allow(&c->pace, now, conn_late(c), seg,
				(u32)min_t(u64, left, U32_MAX));
	c->send.pace_wait = !allow;
	/* A link of many would be given in one piece what is for all of them */
	if (c->cfg.nr_paths > 1 && allow)
		allow = max(allow / min_t(u32, c->cfg.nr_paths, CONN_SPLIT),
			    seg);
	return allow;
}

/*
 * The first packet after a pause goes at any time within the time one packet
 * takes under the grant: many senders start at the same instant, and a short
 * queue has no room for a packet of each.
 */
static void conn_pathsched(struct dlcp_conn *c, u64 now)
{
	u64 most = div64_u64((u64)c->cong.mss * NSEC_PER_SEC, c->cong.grant);
	u64 mix = (c->cfg.local_tag + c->send.batch) * 0x9e3779b97f4a7c15ULL;

	most = min_t(u64, most, NSEC_PER_MSEC);
	if (c->send.app_limited && now > c->pace.next + most)
		c->pace.next = now + (most * (mix >> 40) >> 24);
}

/*
 * The window restarts when a sender comes back that was silent. Who waits for
 * the pacing clock is not: at a small rate that takes longer than a probe
 * timeout, and putting a packet off each time its time has come would keep it
 * for ever.
 */
static void conn_restart(struct dlcp_conn *c, u64 now)
{
	u64 since = max(c->send.last_data, c->pace.next);

	if ((s64)(now - c->send.granted_time) > (s64)CONN_GRANT_LIFE)
		c->cong.grant = 0;
	if (c->cong.grant)
		conn_pathsched(c, now);
	if (!c->send.last_data || c->inflight ||
	    (s64)(now - since) < (s64)dlcp_conn_pto(c))
		return;
	if (c->cong.ops->restart)
		c->cong.ops->restart(&c->cong, now, now - c->send.last_data);
	c->pace.rate = c->cong.rate;
	c->send.last_data = now;
}

static void conn_batch_flags(struct dlcp_conn *c, struct dlcp_out *out,
			     u64 now)
{
	u8 tag = dlcp_txmsg_tag(out->m, out->pos);
	struct dlcp_txmsg *m = out->m;

	/* A queue that drops what is droppable would never let it through */
	if (tag == DLCP_TAG_DROPPABLE && conn_again(out))
		tag = DLCP_TAG_IMPORTANT;
	out->kind = DLCP_OUT_DATA;
	out->cls = dlcp_cls(m->open.prio, tag);
	if (conn_open_goes(m)) {
		out->flags |= DLCP_F_OPEN;
		dlcp_conn_tx_open(c, m, now, &out->open);
	}
	if (out->len)
		out->flags |= DLCP_F_PIECE;
	if (conn_again(out))
		out->flags |= DLCP_F_RESENT;
	if (c->cong.queued)
		out->flags |= DLCP_F_QUEUED;
	if (!out->port && !out->pair)
		out->flags |= DLCP_F_HERE;
}

/*
 * Messages that lack credit are announced without data, for the peer can give
 * them credit only if it knows them. Most will not need it, as those before
 * them free the allowance: so all at once only where nothing else moves, and
 * where others do some per round trip, as many as the window takes meanwhile.
 */
static bool conn_opens_due(const struct dlcp_conn *c, bool idle, u64 now)
{
	return !list_empty(&c->sched.unopened) && !conn_stall_rests(c) &&
	       (idle ? !c->inflight :
		       now - c->send.last_opens >= dlcp_conn_pto(c));
}

static bool conn_open_waiting(struct dlcp_conn *c, bool idle, u64 now)
{
	u64 want = idle ? U64_MAX : 2 * c->cong.cwnd;
	struct dlcp_txmsg *m, *n;
	u64 bytes = 0;
	u32 nr = 0;

	if (!conn_opens_due(c, idle, now))
		return false;
	c->send.last_opens = now;
	list_for_each_entry_safe(m, n, &c->sched.unopened, open_node) {
		list_del_init(&m->open_node);
		if (m->open_acked || m->open_due || m->opened_paths)
			continue;
		conn_tx_open_due(c, m);
		bytes += m->open.length;
		if (++nr == CONN_OPENS ||
		    (nr >= CONN_OPENS / 8 && bytes >= want))
			break;
	}
	return nr;
}

/*
 * The OPEN of who waits for credit goes as soon as its message is one of the next
 * that the window takes, so that the credit comes in time.
 */
static void conn_open_ahead(struct dlcp_conn *c)
{
	u64 want = 2 * c->cong.cwnd;
	struct list_head *at;
	struct dlcp_txmsg *m;
	u64 bytes = 0;
	u32 look = 0;
	int i;

	c->sched.opens_ahead = 0;
	/* Those that have begun were announced */
	dlcp_ring_for_each(at, &c->sched.wait[DLCP_SCHED_CREDIT]) {
		m = list_entry(at, struct dlcp_txmsg, sched_node);
		if (look++ == CONN_OPENS || bytes >= want)
			return;
		bytes += m->open.length - m->sent_bytes;
	}
	for (i = 0; i <= DLCP_PRIO_MAX; i++) {
		dlcp_ring_for_each(at, &c->sched.wait[i]) {
			m = list_entry(at, struct dlcp_txmsg, sched_node);
			if (look++ == CONN_OPENS || bytes >= want)
				return;
			bytes += m->open.length;
			if (!m->inline_open && !m->open_acked &&
			    !m->opened_paths)
				conn_tx_open_due(c, m);
		}
	}
}

/*
 * The path that takes it, among those whose device is not kept for the host's
 * other sockets just now. Return: NULL: all are.
 */
static struct dlcp_path *conn_egress(struct dlcp_conn *c, struct dlcp_path *p,
				     u64 since, u64 now)
{
	bool late = since && now >= since;
	struct dlcp_path *q;
	u64 wait = 0;
	u32 i;

	if (!c->cfg.ops->egress)
		return p;
	for (i = 0; i < c->rail.nr_pairs && !p->held; i++) {
		wait = c->cfg.ops->egress(c, p->pair, late);
		if (!wait)
			break;
		for (q = c->paths; q < c->paths + c->cfg.nr_paths; q++)
			q->held |= q->pair == p->pair;
		p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	}
	if (p->held) {
		p = NULL;
		c->send.egress = since ? min(since, now + wait) : now + wait;
	}
	for (q = c->paths; q < c->paths + c->cfg.nr_paths; q++)
		q->held = 0;
	return p;
}

/*
 * Does anything wait for the ACK of the last packets of @m? A small message that
 * nobody asked a report of leaves room for others in any case. Where packets get
 * lost the ACK tells what is to be sent again.
 */
static bool conn_awaited(const struct dlcp_txmsg *m, const struct dlcp_path *p)
{
	return !m->inline_open || m->awaited || conn_loses(p);
}

/*
 * Where the sender stops, and often enough on the way, an ACK must not be
 * delayed. Who stops because the window is full stops after each packet, and
 * one ACK for each, or for each two, would take 6 % or 3 of the link from who
 * sends the other way, as all do in a ring of all-reduces. So there are eight in
 * a full window; 16 with several paths, whose queues are short and must not run
 * dry in between; and 32 where packets got lost of late, for then ACKs do, and
 * who has none left waits for a probe.
 */
static void conn_batch_ack(struct dlcp_conn *c, struct dlcp_out *out,
			   struct dlcp_path *p)
{
	bool full = c->inflight + c->cong.mss > c->cong.cwnd;
	u32 shift = 2;

	if (full && conn_loses(p))
		shift = 5;
	else if (full)
		shift = c->cfg.nr_paths > 1 ? 4 : 3;
	if ((!c->sched.nr_ready && conn_awaited(out->m, p)) ||
	    c->send.since_ack_now >= c->cong.cwnd >> shift) {
		out->last_flags |= DLCP_F_ACK_NOW;
		p->prompt = 1;
		c->send.since_ack_now = 0;
	}
}

/* Segments for @out, as many as may leave on @p. Return: there are some. */
static bool conn_batch_send(struct dlcp_conn *c, struct dlcp_out *out,
			    struct dlcp_path *p, u32 max_segs, u32 allow,
			    u64 now)
{
	if (out->m->sched == DLCP_SCHED_REFUSED)
		dlcp_conn_stall_pause(c, now);
	else
		conn_batch_fill(c, out, max_segs, allow);
	if (!dlcp_conn_ring_room(c, p, out->count))
		out->count = min(out->count, dlcp_sent_room(&p->sent));
	if (!out->count)
		return false;
	out->path = p->id;
	out->pair = p->pair;
	out->port = conn_port(p);
	conn_batch_flags(c, out, now);
	conn_batch_commit(c, out, p, now);
	if (dlcp_conn_tx_sent(c, out->m, now))
		out->last_flags |= DLCP_F_SENT;
	conn_batch_ack(c, out, p);
	return true;
}

/* Return: 1 if @out is filled in, 0 if nothing can go, -EAGAIN: look again
 * for control frames, then here
 */
static int conn_next_data(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			  u32 buf_len, u32 max_segs, u64 now)
{
	u64 since = c->send.egress;
	struct dlcp_path *p;
	struct dlcp_txmsg *m;
	u32 allow;

	if (c->send.pace_wait)
		conn_late_found(c, now);
	c->send.pace_wait = 0;
	c->send.egress = 0;
	m = dlcp_msgsched_pick(c);
	if (!m) {
		c->send.pace_late = 0;
		c->send.app_limited = c->inflight < c->cong.cwnd;
		return conn_open_waiting(c, true, now) ? -EAGAIN : 0;
	}
	if (!conn_batch_start(c, m, out)) {
		/* What it had to send again could be forgiven meanwhile */
		dlcp_conn_tx_check(c, m, now);
		memset(out, 0, sizeof(*out));
		return -EAGAIN;
	}
	conn_restart(c, now);
	if (!dlcp_conn_cut_start(c, out))
		goto nothing;
	allow = conn_allowed(c, conn_payload(out, 0) + conn_headers(c, out),
			     now);
	if (!allow) {
		/* It is the controller that holds it back, by its window or
		 * by its rate: below a packet per round trip by that alone
		 */
		c->send.app_limited = 0;
		goto nothing;
	}
	p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	if (!conn_needs_open(m, p)) {
		p = conn_egress(c, p, since, now);
		if (!p)
			goto nothing;
	}
	if (conn_needs_open(m, p)) {
		memset(out, 0, sizeof(*out));
		c->send.egress = since;
		return dlcp_conn_next_open(c, m, p, out, buf, buf_len, now);
	}
	if (!conn_batch_send(c, out, p, max_segs, allow, now))
		goto nothing;
	dlcp_conn_front(c, out, p, buf, buf_len, now);
	return 1;
nothing:
	memset(out, 0, sizeof(*out));
	return 0;
}

/* May dlcp_conn_next() have something to do, of an open connection? */
static bool conn_any_due(const struct dlcp_conn *c, u64 now)
{
	return c->sched.nr_ready || dlcp_msgsched_trial(c) ||
	       (c->sched.nr_wait && (c->sched.wake_due || c->sched.opens_ahead)) ||
	       c->mtu.due || dlcp_conn_ctrl_due(c, now) ||
	       dlcp_conn_ask_due(c, now) || conn_opens_due(c, true, now) ||
	       conn_opens_due(c, false, now);
}

bool dlcp_conn_idle(struct dlcp_conn *c, u64 now)
{
	if (c->reset_code)
		return false;
	if (c->state == DLCP_CLOSED)
		return true;
	if (c->setup.ack_pending || c->setup.pending)
		return false;
	if (!conn_open(c))
		return true;
	/* Mostly nobody can be given any */
	dlcp_conn_credit_run(c);
	if (conn_any_due(c, now))
		return false;
	/* No data is ready */
	c->send.pace_wait = 0;
	c->send.pace_late = 0;
	c->send.egress = 0;
	c->send.retry = 0;
	c->send.app_limited = c->inflight < c->cong.cwnd;
	return true;
}

void dlcp_conn_next(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
		    u32 buf_len, u32 max_segs, u64 now)
{
	if (dlcp_conn_idle(c, now))
		out->kind = DLCP_OUT_IDLE;
	else
		dlcp_conn_next_due(c, out, buf, buf_len, max_segs, now);
}

void dlcp_conn_next_due(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			u32 buf_len, u32 max_segs, u64 now)
{
	bool carried;

	memset(out, 0, sizeof(*out));
	if (c->reset_code) {
		dlcp_conn_next_reset(c, out, buf);
		return;
	}
	if (c->state == DLCP_CLOSED)
		return;
	if (c->setup.ack_pending || c->setup.pending) {
		dlcp_conn_next_setup(c, out, buf, now);
		return;
	}
	if (!conn_open(c))
		return;
	dlcp_conn_credit_run(c);
	conn_open_waiting(c, false, now);
	if (!c->sched.nr_wait)
		c->sched.opens_ahead = 0;
	else if (c->sched.opens_ahead && !conn_stall_rests(c))
		conn_open_ahead(c);
	c->send.no_memory = 0;
	carried = dlcp_conn_acks_carried(c, now);
	do {
		if ((dlcp_conn_ask_due(c, now) &&
		     dlcp_conn_next_ask(c, out, buf, buf_len, now)) ||
		    (c->mtu.due &&
		     dlcp_conn_next_mtu(c, out, buf, buf_len, now)) ||
		    (!carried && dlcp_conn_ctrl_due(c, now) &&
		     dlcp_conn_next_ctrl(c, out, buf, buf_len, now)))
			break;
	} while (conn_next_data(c, out, buf, buf_len, max_t(u32, max_segs, 1),
				now) == -EAGAIN);
	if (carried && out->kind == DLCP_OUT_IDLE)
		dlcp_conn_next_ctrl(c, out, buf, buf_len, now);
	c->send.retry = c->send.no_memory ? now + CONN_RETRY : 0;
}
