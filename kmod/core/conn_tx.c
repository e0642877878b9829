// SPDX-License-Identifier: GPL-2.0
/* What to send next. */
#include "conn_int.h"

/* A CTRL packet in the making */
struct conn_ctrl {
	struct dlcp_frame f;	/* for those who add one */
	struct dlcp_path *path;
	u8	*p;
	u32	len;
	u32	room;
	u32	what;		/* DLCP_SW_* */
	u32	msg;
	u16	port;		/* as in dlcp_out */
	u8	pair;
	bool	reliable;	/* there is room in the ring for it */
};

/* With several paths a batch is divided by their number, at most by this */
#define CONN_SPLIT	4

/* Of 65536, of dlcp_path.loss_avg: after one loss it is below in 211 packets */
#define LOSS_OF_LATE	64

void conn_out(struct dlcp_conn *c, struct dlcp_out *out,
	      const struct dlcp_path *p, u32 len)
{
	out->kind = DLCP_OUT_CTRL;
	out->cls = 0xff;
	out->path = p->id;
	out->port = conn_port(p);
	out->len = (u16)len;
	c->cnt[DLCP_CNT_TX_PACKETS]++;
	c->cnt[DLCP_CNT_TX_CTRL]++;
}

static bool ctrl_put(struct conn_ctrl *k, u8 type)
{
	u32 n;

	k->f.type = type;
	k->f.flags = 0;
	n = dlcp_put_frame(k->p + k->len, k->room - k->len, &k->f);
	k->len += n;
	return n;
}

/* A frame of message @msg that is repeated if it gets lost */
static bool ctrl_put_msg(struct conn_ctrl *k, u8 type, u32 msg, u32 what)
{
	if (!ctrl_put(k, type))
		return false;
	k->what |= what;
	k->msg = msg;
	return true;
}

static void ctrl_rx_done(struct conn_ctrl *k, struct dlcp_rxmsg *m)
{
	memset(&k->f.done, 0, sizeof(k->f.done));
	k->f.done.msg = (u32)m->id;
	k->f.done.nr_missing = m->nr_missing;
	k->f.done.missing = m->missing;
	k->f.done.why = m->why;
	k->f.done.below_bound = m->below_bound;
	k->f.done.late = m->late;
	if (ctrl_put_msg(k, DLCP_FT_DONE, (u32)m->id, DLCP_SW_DONE))
		m->done_pending = 0;
}

static void ctrl_rx_map(struct conn_ctrl *k, struct dlcp_rxmsg *m)
{
	u32 words = dlcp_segmap_words(m->nr_segs) - m->map_word;
	/* Frame header and fixed part of MAP are below 32 bytes */
	u32 room = k->room - k->len;

	if (room < 64)
		return;
	words = min3(words, (room - 32) / 8, (u32)DLCP_MAP_WORDS_MAX);
	k->f.map.msg = (u32)m->id;
	k->f.map.first_word = m->map_word;
	k->f.map.nr_words = (u16)words;
	memcpy(k->f.map.words, m->map.bits + m->map_word,
	       words * sizeof(u64));
	if (ctrl_put(k, DLCP_FT_MAP))
		m->map_pending = 0;
}

static void ctrl_rx_msg(struct conn_ctrl *k, struct dlcp_rxmsg *m)
{
	if (m->done_pending && k->reliable)
		ctrl_rx_done(k, m);
	if (m->complete)
		m->credit_pending = 0;
	if (m->credit_pending && k->reliable) {
		k->f.credit.msg = (u32)m->id;
		k->f.credit.bytes = m->granted;
		if (ctrl_put_msg(k, DLCP_FT_CREDIT, (u32)m->id,
				 DLCP_SW_CREDIT)) {
			m->credit_pending = 0;
			m->granted_sent = m->granted;
		}
	}
	if (m->map_pending)
		ctrl_rx_map(k, m);
}

/* Frames of one incoming message. Return: whether there were any. What had
 * become needless meanwhile must not stop those behind it.
 */
static bool ctrl_rx(struct dlcp_conn *c, struct conn_ctrl *k)
{
	struct dlcp_rxmsg *m, *n;
	u32 start = k->len;

	list_for_each_entry_safe(m, n, &c->rx_ctrl, ctrl_node) {
		ctrl_rx_msg(k, m);
		if (!m->done_pending && !m->credit_pending && !m->map_pending)
			list_del_init(&m->ctrl_node);
		else
			break;
		if (k->len != start)
			break;
	}
	return k->len != start;
}

static bool ctrl_tx_open(struct conn_ctrl *k, struct dlcp_txmsg *m, u64 now)
{
	k->f.open.msg = (u32)m->id;
	dlcp_txmsg_open(m, now, &k->f.open.open);
	if (!ctrl_put_msg(k, DLCP_FT_OPEN, (u32)m->id, DLCP_SW_OPEN))
		return false;
	m->open_due = 0;
	m->since_open = 0;
	m->opened_paths |= (u16)BIT(k->path->id);
	return true;
}

static void ctrl_tx_msg(struct dlcp_conn *c, struct conn_ctrl *k,
			struct dlcp_txmsg *m, u64 now)
{
	if (m->open_acked)
		m->open_due = 0;
	/* An OFFER of a message the peer never heard of would be in vain */
	if (m->open_due || (m->offer_pending && !m->open_acked))
		ctrl_tx_open(k, m, now);
	k->f.offer.msg = (u32)m->id;
	k->f.offer.given_up = m->forgiven.count;
	if (m->offer_pending &&
	    ctrl_put_msg(k, DLCP_FT_OFFER, (u32)m->id, DLCP_SW_OFFER)) {
		m->offer_pending = 0;
		m->offered = m->forgiven.count;
		c->cnt[DLCP_CNT_OFFERS]++;
		conn_tx_asked(c, m, now);
	}
	k->f.msg.msg = (u32)m->id;
	k->f.msg.word = m->map_next;
	if (m->getmap_pending &&
	    ctrl_put_msg(k, DLCP_FT_GETMAP, (u32)m->id, DLCP_SW_GETMAP)) {
		m->getmap_pending = 0;
		conn_tx_asked(c, m, now);
	}
}

/* Frames of one outgoing message */
static bool ctrl_tx(struct dlcp_conn *c, struct conn_ctrl *k, u64 now)
{
	struct dlcp_txmsg *m, *n;
	u32 start = k->len;

	if (!k->reliable)
		return false;
	list_for_each_entry_safe(m, n, &c->tx_ctrl, ctrl_node) {
		ctrl_tx_msg(c, k, m, now);
		if (!m->open_due && !m->offer_pending && !m->getmap_pending)
			list_del_init(&m->ctrl_node);
		else
			break;
		if (k->len != start)
			break;
	}
	return k->len != start;
}

static bool ctrl_tombstone(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u64 id;

	if (!k->reliable || k->room - k->len < 16 ||
	    !conn_tx_next_tombstone(c, &id))
		return false;
	k->f.msg.msg = (u32)id;
	k->f.msg.word = 0;
	return ctrl_put_msg(k, DLCP_FT_DONE_ACK, (u32)id, DLCP_SW_DONE_ACK);
}

static bool ctrl_again(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u32 msg;

	if (!c->nr_again || !k->reliable)
		return false;
	msg = c->rx_again[c->nr_again - 1];
	memset(&k->f.done, 0, sizeof(k->f.done));
	k->f.done.msg = msg;
	if (!ctrl_put_msg(k, DLCP_FT_DONE, msg, DLCP_SW_DONE))
		return false;
	c->nr_again--;
	return true;
}

static void ctrl_rails(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u32 i;

	k->f.rails.family = c->cfg.rail_family;
	for (i = 0; i < DLCP_RAILS_MAX; i++)
		memcpy(k->f.rails.addr[i], c->rails[i].own.addr,
		       DLCP_ADDR_LEN);
	if (ctrl_put(k, DLCP_FT_RAILS)) {
		c->rails_pending = 0;
		k->what |= DLCP_SW_RAILS;
	}
}

/* It may get lost: then the question comes again */
static void ctrl_answer(struct dlcp_conn *c, struct conn_ctrl *k)
{
	k->f.token.token = c->answer;
	if (c->answer_pending && ctrl_put(k, DLCP_FT_ANSWER))
		c->answer_pending = 0;
}

static void ctrl_conn(struct dlcp_conn *c, struct conn_ctrl *k)
{
	if (!k->reliable)
		return;
	if (c->window_pending) {
		k->f.window.max_msg = (u32)(c->rx_low_id + DLCP_MSG_WINDOW);
		k->f.window.unsolicited = c->rx_unsolicited_max;
		if (ctrl_put(k, DLCP_FT_WINDOW)) {
			c->window_pending = 0;
			c->rx_unsolicited_advertised = c->rx_unsolicited_max;
			c->rx_max_id_advertised =
				c->rx_low_id + DLCP_MSG_WINDOW;
			k->what |= DLCP_SW_WINDOW;
		}
	}
	if (c->rails_pending)
		ctrl_rails(c, k);
	if (c->close_pending) {
		k->f.close.nr_msgs = (u32)c->tx_next_id;
		if (ctrl_put(k, DLCP_FT_CLOSE)) {
			c->close_pending = 0;
			k->what |= DLCP_SW_CLOSE;
		}
	}
}

static void ctrl_acks(struct dlcp_conn *c, struct conn_ctrl *k, u64 now)
{
	/* ACK without words, with its frame header, is below 32 bytes */
	const u32 fixed = 32;
	struct dlcp_recv_window *w;
	u32 i, words;

	for (i = 0; i < c->nr_recv; i++) {
		w = conn_recv_window(c, i);
		if (!w || !w->unacked)
			continue;
		if (k->room - k->len < fixed + 8)
			break;
		words = min_t(u32, (k->room - k->len - fixed) / 8,
			      DLCP_ACK_WORDS_MAX);
		dlcp_recv_ack(w, (u8)i, now, words, &k->f.ack);
		ctrl_put(k, DLCP_FT_ACK);
		c->cnt[DLCP_CNT_ACKS_SENT]++;
	}
}

/* It may get lost, as it is in every packet that acknowledges data */
static void ctrl_rate(struct dlcp_conn *c, struct conn_ctrl *k)
{
	if (!c->rate_used)
		return;
	k->f.rate.rate = (u32)min_t(u64, div_u64(c->rx_rate + 999, 1000),
				    U32_MAX);
	if (ctrl_put(k, DLCP_FT_RATE)) {
		c->cnt[DLCP_CNT_RATES_SENT] += !!c->rx_rate;
		c->rx_rate_advertised = c->rx_rate;
		c->rate_due = 0;
	}
}

static void ctrl_finish(struct dlcp_conn *c, struct conn_ctrl *k,
			struct dlcp_out *out, u64 now)
{
	struct dlcp_path *p = k->path;
	u32 pn = p->sent.head;
	struct dlcp_sent *e;
	u8 flags = 0;

	if (!k->port && !k->pair)
		flags |= DLCP_F_HERE;
	if (k->what) {
		flags |= DLCP_F_ELICIT;
		e = conn_sent(c, p, DLCP_SENT_CTRL, k->len + c->cfg.overhead,
			      now);
		e->msg = k->msg;
		e->pos = k->what;
	}
	dlcp_put_ctrl(k->p, c->peer_tag, flags, p->id, pn);
	c->cfg.pathsched->sent(p, k->len + c->cfg.overhead);
	/* Not charged to the pacing clock, which does not hold it back either:
	 * at a low rate a stream of ACKs would push the clock far ahead, and
	 * the next message would wait for it.
	 */
	conn_out(c, out, p, k->len);
	out->pn = pn;
	out->count = k->what ? 1 : 0;
	out->pair = k->pair;
	out->port = k->port;
}

/* Nothing in it will be acknowledged */
static void ctrl_begin(struct dlcp_conn *c, struct conn_ctrl *k,
		       struct dlcp_path *p, u8 *buf, u32 buf_len)
{
	k->path = p;
	k->p = buf;
	k->len = DLCP_CTRL_HDR_LEN;
	k->room = min3(buf_len, c->cfg.mtu, DLCP_CTRL_MAX);
	k->what = 0;
	k->msg = 0;
	k->port = conn_port(p);
	k->pair = p->pair;
	k->reliable = false;
}

static void ctrl_start(struct dlcp_conn *c, struct conn_ctrl *k,
		       struct dlcp_path *p, u8 *buf, u32 buf_len)
{
	ctrl_begin(c, k, p, buf, buf_len);
	/* A probe is seldom, and what ends the wait */
	k->reliable = (c->ctrl_out < CONN_CTRL_OUT_MAX || p->probe) &&
		      conn_ring_room(c, p, 1);
}

static struct dlcp_path *conn_probe_path(struct dlcp_conn *c)
{
	u32 i;

	for (i = 0; i < c->cfg.nr_paths; i++)
		if (c->paths[i].probe)
			return &c->paths[i];
	return NULL;
}

/* Is there something to be said that has to arrive? */
static bool conn_news_due(const struct dlcp_conn *c)
{
	return c->window_pending || c->close_pending || c->ping_pending ||
	       c->rails_pending || c->nr_again || c->tx_tombstones ||
	       !list_empty(&c->rx_ctrl) || !list_empty(&c->tx_ctrl);
}

static bool conn_ctrl_due(const struct dlcp_conn *c, u64 now)
{
	u64 t = conn_ack_time(c);

	return conn_news_due(c) || c->answer_pending || c->rate_due ||
	       (t && t <= now);
}

static bool conn_next_ctrl(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			   u32 buf_len, u64 now)
{
	struct dlcp_path *probe = conn_probe_path(c), *p = probe;
	struct conn_ctrl k;
	u64 acks;

	if (!p) {
		if (!conn_ctrl_due(c, now))
			return false;
		p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	}
	/* Acknowledgments alone need no ring, which an idle end goes without */
	if (probe || conn_news_due(c))
		ctrl_start(c, &k, p, buf, buf_len);
	else
		ctrl_begin(c, &k, p, buf, buf_len);
	if (probe) {
		k.reliable = k.reliable || conn_ring_steal(c, probe, now);
		probe->probe--;
	}
	/* A path that does not work is asked, but trusted with nothing */
	if (!probe || !probe->bad) {
		(void)(ctrl_rx(c, &k) || ctrl_tx(c, &k, now) ||
		       ctrl_tombstone(c, &k) || ctrl_again(c, &k));
		ctrl_conn(c, &k);
		ctrl_answer(c, &k);
		acks = c->cnt[DLCP_CNT_ACKS_SENT];
		ctrl_acks(c, &k, now);
		if (c->rate_due || c->cnt[DLCP_CNT_ACKS_SENT] != acks)
			ctrl_rate(c, &k);
	}
	if (k.reliable && (probe || c->ping_pending)) {
		/* A firewall on the way shall not forget the connection */
		if (!probe)
			k.port = 0;
		c->ping_pending = 0;
		k.what |= DLCP_SW_PING;
	} else if (k.len == DLCP_CTRL_HDR_LEN) {
		return false;
	}
	if (!k.what)
		k.pair = c->rx_pair;
	ctrl_finish(c, &k, out, now);
	return true;
}

/* Does the peer receive where it announced, or was seen, or from this port? */
static bool conn_next_ask(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			  u32 buf_len, u64 now)
{
	struct conn_ctrl k;
	struct conn_ask a;
	int rail = -1;

	if (!conn_place_ask(c, &a, now)) {
		rail = conn_rails_ask(c, now);
		if (rail < 0)
			return false;
		a.token = c->rails[rail].own.token;
	}
	ctrl_begin(c, &k, &c->paths[0], buf, buf_len);
	k.f.token.token = a.token;
	ctrl_put(&k, DLCP_FT_ASK);
	k.port = a.port;
	k.pair = (u8)(1 + rail);
	ctrl_finish(c, &k, out, now);
	out->to = a.to;
	return true;
}

/* Padding, to see whether so much arrives */
static bool conn_next_mtu(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			  u32 buf_len, u64 now)
{
	struct conn_ctrl k;
	u32 size, n;

	if (!c->mtu_due)
		return false;
	ctrl_start(c, &k,
		   c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths), buf,
		   buf_len);
	if (!k.reliable)
		return false;
	size = conn_pmtu_probe(c);
	n = dlcp_put_pad(k.p + k.len, size - k.len);
	out->pad = (u16)(size - k.len - n);
	k.len = size;
	k.what = DLCP_SW_MTU;
	ctrl_finish(c, &k, out, now);
	c->mtu_flight = (u16)(size + c->cfg.overhead);
	return true;
}

/* OPEN of @m goes ahead of its data */
static bool conn_next_open(struct dlcp_conn *c, struct dlcp_txmsg *m,
			   struct dlcp_path *p, struct dlcp_out *out, u8 *buf,
			   u32 buf_len, u64 now)
{
	struct conn_ctrl k;

	ctrl_start(c, &k, p, buf, buf_len);
	if (!k.reliable || !ctrl_tx_open(&k, m, now))
		return false;
	ctrl_finish(c, &k, out, now);
	return true;
}

static bool conn_needs_open(const struct dlcp_txmsg *m,
			    const struct dlcp_path *p)
{
	return !m->open_acked && !m->inline_open &&
	       (!(m->opened_paths & BIT(p->id)) ||
		m->since_open >= DLCP_OPEN_REPEAT);
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
	conn_tx_released(c, m, released);
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
	u32 pos;

	if (!out->first || out->len || (m->inline_open && !m->open_acked))
		return;
	dlcp_msgsched_credit(c, m, 0, &left);
	left -= len;
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
	struct dlcp_sent *e = NULL;
	u64 bytes = 0;
	u32 len, i;

	out->pn = p->sent.head;
	for (i = 0; i < out->count; i++) {
		len = conn_payload(out, i);
		e = conn_sent(c, p, kind, len + headers, now);
		e->msg = (u32)m->id;
		e->pos = out->pos + i;
		bytes += len;
	}
	if (out->len)
		conn_cut_sent(c, out, e);
	else if (!out->first)	/* just one */
		dlcp_segmap_clear(&m->lost, out->pos);
	total += bytes;
	c->cnt[DLCP_CNT_TX_SENT] += bytes;
	if (out->first) {
		m->sent_bytes += out->len ? dlcp_txmsg_len(m, out->pos) : bytes;
	} else if (again) {
		m->resent_bytes += bytes;
		c->cnt[DLCP_CNT_TX_RESENT] += bytes;
	}
	m->inflight_segs += out->count;
	m->since_open += out->count;
	if (out->first) {
		conn_tx_charge(c, m);
		c->opens_ahead |= !m->next_pos;
		m->next_pos += out->count;
		conn_tx_check_offer(c, m, now);
	}
	c->since_ack_now += total;
	c->last_data = now;
	c->persist_count = 0;
	c->batch++;
	c->cnt[DLCP_CNT_TX_PACKETS] += out->count;
	c->cnt[DLCP_CNT_TX_DATA] += out->count;
	c->cfg.pathsched->sent(p, total);
	dlcp_pace_sent(&c->pace, now, total);
	m->wait_since = c->batch;
	dlcp_msgsched_update(c, m);
}

/* Bytes that may leave now; 0 = none. *full: the window is what ends it. */
static u32 conn_allowed(struct dlcp_conn *c, u32 seg, u64 now)
{
	u64 inflight = c->inflight - c->mtu_flight;
	u64 left = c->cong.cwnd > inflight ? c->cong.cwnd - inflight : 0;
	u32 allow;

	c->pace_wait = 0;
	/* With nothing in flight one packet may always go */
	if (left < seg) {
		if (inflight)
			return 0;
		left = seg;
	}
	allow = dlcp_pace_allow(&c->pace, now, seg,
				(u32)min_t(u64, left, U32_MAX));
	c->pace_wait = !allow;
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
	u64 mix = (c->cfg.local_tag + c->batch) * 0x9e3779b97f4a7c15ULL;

	most = min_t(u64, most, NSEC_PER_MSEC);
	if (c->app_limited && now > c->pace.next + most)
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
	u64 since = max(c->last_data, c->pace.next);

	if ((s64)(now - c->granted_time) > (s64)CONN_GRANT_LIFE)
		c->cong.grant = 0;
	if (c->cong.grant)
		conn_pathsched(c, now);
	if (!c->last_data || c->inflight ||
	    (s64)(now - since) < (s64)conn_pto(c))
		return;
	if (c->cong.ops->restart)
		c->cong.ops->restart(&c->cong, now, now - c->last_data);
	c->pace.rate = c->cong.rate;
	c->last_data = now;
}

static void conn_batch_flags(struct dlcp_conn *c, struct dlcp_out *out,
			     u64 now)
{
	struct dlcp_txmsg *m = out->m;

	out->kind = DLCP_OUT_DATA;
	out->cls = dlcp_cls(m->open.prio, dlcp_txmsg_tag(m, out->pos));
	if (m->inline_open && !m->open_acked) {
		out->flags |= DLCP_F_OPEN;
		dlcp_txmsg_open(m, now, &out->open);
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
static bool conn_open_waiting(struct dlcp_conn *c, bool idle, u64 now)
{
	u64 want = idle ? U64_MAX : 2 * c->cong.cwnd;
	struct dlcp_txmsg *m, *n;
	u64 bytes = 0;
	u32 nr = 0;

	if (list_empty(&c->tx_unopened) || c->t_stall ||
	    (idle ? !!c->inflight : now - c->last_opens < conn_pto(c)))
		return false;
	c->last_opens = now;
	list_for_each_entry_safe(m, n, &c->tx_unopened, open_node) {
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
	struct dlcp_txmsg *m;
	u64 bytes = 0;
	u32 look = 0;

	c->opens_ahead = 0;
	list_for_each_entry(m, &c->tx_wait, sched_node) {
		if (look++ == CONN_OPENS || bytes >= want)
			return;
		bytes += m->open.length - m->sent_bytes;
		if (!m->inline_open && !m->open_acked && !m->opened_paths)
			conn_tx_open_due(c, m);
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
	for (i = 0; i < c->nr_pairs && !p->held; i++) {
		wait = c->cfg.ops->egress(c, p->pair, late);
		if (!wait)
			break;
		for (q = c->paths; q < c->paths + c->cfg.nr_paths; q++)
			q->held |= q->pair == p->pair;
		p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	}
	if (p->held) {
		p = NULL;
		c->t_egress = since ? min(since, now + wait) : now + wait;
	}
	for (q = c->paths; q < c->paths + c->cfg.nr_paths; q++)
		q->held = 0;
	return p;
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

	if (full && p->loss_avg >= LOSS_OF_LATE)
		shift = 5;
	else if (full)
		shift = c->cfg.nr_paths > 1 ? 4 : 3;
	if (dlcp_msgsched_idle(c) ||
	    c->since_ack_now >= c->cong.cwnd >> shift) {
		out->ack_now_last = 1;
		p->prompt = 1;
		c->since_ack_now = 0;
	}
}

/* Return: 1 if @out is filled in, 0 if nothing can go, -EAGAIN: look again
 * for control frames, then here
 */
static int conn_next_data(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			  u32 buf_len, u32 max_segs, u64 now)
{
	u64 since = c->t_egress;
	struct dlcp_path *p;
	struct dlcp_txmsg *m;
	u32 allow;

	c->pace_wait = 0;
	c->t_egress = 0;
	if (c->t_stall)
		return 0;
	m = dlcp_msgsched_pick(c);
	if (!m) {
		c->app_limited = c->inflight < c->cong.cwnd;
		return conn_open_waiting(c, true, now) ? -EAGAIN : 0;
	}
	if (!conn_batch_start(c, m, out)) {
		/* What it had to send again could be forgiven meanwhile */
		conn_tx_check(c, m, now);
		memset(out, 0, sizeof(*out));
		return -EAGAIN;
	}
	conn_restart(c, now);
	if (!conn_cut_start(c, out))
		goto nothing;
	allow = conn_allowed(c, conn_payload(out, 0) + conn_headers(c, out),
			     now);
	if (!allow) {
		/* It is the controller that holds it back, by its window or
		 * by its rate: below a packet per round trip by that alone
		 */
		c->app_limited = 0;
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
		c->t_egress = since;
		return conn_next_open(c, m, p, out, buf, buf_len, now);
	}
	if (c->stalled >= CONN_STALL_ROUNDS)
		c->t_stall = now + conn_stall_pause(c);
	else
		conn_batch_fill(c, out, max_segs, allow);
	if (!conn_ring_room(c, p, out->count))
		out->count = min(out->count, dlcp_sent_room(&p->sent));
	if (!out->count)
		goto nothing;
	out->path = p->id;
	out->pair = p->pair;
	out->port = conn_port(p);
	conn_batch_flags(c, out, now);
	conn_batch_commit(c, out, p, now);
	conn_batch_ack(c, out, p);
	return 1;
nothing:
	memset(out, 0, sizeof(*out));
	return 0;
}

void dlcp_conn_next(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
		    u32 buf_len, u32 max_segs, u64 now)
{
	memset(out, 0, sizeof(*out));
	if (conn_next_reset(c, out, buf))
		return;
	if (c->state == DLCP_CLOSED)
		return;
	if (conn_next_setup(c, out, buf, now))
		return;
	if (!conn_open(c))
		return;
	conn_credit_run(c);
	conn_open_waiting(c, false, now);
	if (c->opens_ahead && !c->t_stall)
		conn_open_ahead(c);
	c->no_memory = 0;
	do {
		if (conn_next_ask(c, out, buf, buf_len, now) ||
		    conn_next_mtu(c, out, buf, buf_len, now) ||
		    conn_next_ctrl(c, out, buf, buf_len, now))
			break;
	} while (conn_next_data(c, out, buf, buf_len, max_t(u32, max_segs, 1),
				now) == -EAGAIN);
	c->t_retry = c->no_memory ? now + CONN_RETRY : 0;
}
