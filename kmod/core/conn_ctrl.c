// SPDX-License-Identifier: GPL-2.0
/* Control packets: what is said to the peer, and questions. */
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
	bool	with_data;	/* in the class of data */
};

/* When the delayed ACKs are due; 0 = none is owed */
u64 dlcp_conn_ack_time(const struct dlcp_conn *c)
{
	const struct dlcp_recv_window *w;
	u64 t = 0;
	u32 i;

	for (i = 0; i < c->rx.nr_paths; i++) {
		w = conn_recv_window(c, i);
		if (!w || !w->unacked)
			continue;
		if (w->ack_now)
			return 1;
		t = c->ctrl.ack;
	}
	return t;
}

bool dlcp_conn_ack_full(const struct dlcp_conn *c)
{
	const struct dlcp_recv_window *w;
	u32 i;

	for (i = 0; i < c->rx.nr_paths; i++) {
		w = conn_recv_window(c, i);
		if (w && w->unacked >= DLCP_RECV_FRAME / 2)
			return true;
	}
	return false;
}

void dlcp_conn_out(struct dlcp_conn *c, struct dlcp_out *out,
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
	if (dlcp_rxmsg_complete(m))
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

	list_for_each_entry_safe(m, n, &c->ctrl.rx, ctrl_node) {
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

/* Needs @m no credit? It is about to begin, or has begun without. It is charged
 * now: the peer takes it that it is. One with a deadline is announced as early as it
 * can be, and has nothing of the allowance before its turn.
 */
static bool ctrl_tx_covered(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (conn_tx_share(c, m) < m->open.length || m->granted ||
	    m->open.has_deadline)
		return false;
	if (!m->charged && m->sched == DLCP_SCHED_READY &&
	    conn_tx_may_charge(c, m))
		dlcp_conn_tx_charge(c, m);
	return m->charged && m->unsolicited;
}

static bool ctrl_tx_open(struct dlcp_conn *c, struct conn_ctrl *k,
			 struct dlcp_txmsg *m, u64 now)
{
	bool put;

	k->f.open.msg = (u32)m->id;
	dlcp_conn_tx_open(c, m, now, &k->f.open.open);
	k->f.flags = ctrl_tx_covered(c, m) ? DLCP_FF_COVERED : 0;
	put = ctrl_put_msg(k, DLCP_FT_OPEN, (u32)m->id, DLCP_SW_OPEN);
	k->f.flags = 0;
	if (!put)
		return false;
	m->open_due = 0;
	m->since_open = 0;
	m->opened_paths |= (u16)BIT(k->path->id);
	return true;
}

static bool ctrl_tx_due(const struct dlcp_txmsg *m)
{
	return m->open_due || m->ask_pending || m->sent_frame == DLCP_FRAME_SENT_PENDING;
}

static void ctrl_tx_sent(struct dlcp_conn *c, struct conn_ctrl *k,
			 struct dlcp_txmsg *m)
{
	k->f.sent.msg = (u32)m->id;
	k->f.sent.wait = m->vests ? (u32)dlcp_conn_tx_silence(c) : 0;
	if (!ctrl_put_msg(k, DLCP_FT_SENT, (u32)m->id, DLCP_SW_SENT))
		return;
	m->sent_frame = DLCP_FRAME_SENT_OUT;
	c->cnt[DLCP_CNT_SENTS]++;
}

static bool ctrl_tx_offer(struct dlcp_conn *c, struct conn_ctrl *k,
			  struct dlcp_txmsg *m)
{
	k->f.offer.msg = (u32)m->id;
	k->f.offer.given_up = m->forgiven.count;
	if (!ctrl_put_msg(k, DLCP_FT_OFFER, (u32)m->id, DLCP_SW_OFFER))
		return false;
	m->offered = m->forgiven.count;
	c->cnt[DLCP_CNT_OFFERS]++;
	return true;
}

static bool ctrl_tx_getmap(struct conn_ctrl *k, struct dlcp_txmsg *m)
{
	k->f.msg.msg = (u32)m->id;
	k->f.msg.word = m->map_next;
	return ctrl_put_msg(k, DLCP_FT_GETMAP, (u32)m->id, DLCP_SW_GETMAP);
}

/* The question of the state */
static void ctrl_tx_ask(struct dlcp_conn *c, struct conn_ctrl *k,
			struct dlcp_txmsg *m, u64 now)
{
	bool out = m->state == DLCP_TX_SENDING ? ctrl_tx_offer(c, k, m) :
						 ctrl_tx_getmap(k, m);

	if (!out)
		return;
	m->ask_pending = 0;
	dlcp_conn_tx_asked(c, m, now);
}

static void ctrl_tx_msg(struct dlcp_conn *c, struct conn_ctrl *k,
			struct dlcp_txmsg *m, u64 now)
{
	if (m->open_acked)
		m->open_due = 0;
	/* An OFFER of a message the peer never heard of would be in vain */
	if (m->open_due || (m->state == DLCP_TX_SENDING && !m->open_acked &&
			    ctrl_tx_due(m)))
		ctrl_tx_open(c, k, m, now);
	if (m->sent_frame == DLCP_FRAME_SENT_PENDING)
		ctrl_tx_sent(c, k, m);
	if (m->ask_pending)
		ctrl_tx_ask(c, k, m, now);
}

/* A question that is to be acknowledged. A peer that has forgotten the connection
 * answers by a RESET, unless that is longer than what it got.
 */
static void ctrl_ping(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u32 pad = DLCP_RESET_LEN - min_t(u32, k->len, DLCP_RESET_LEN);

	c->ctrl.ping_pending = 0;
	k->what |= DLCP_SW_PING;
	if (!pad)
		return;
	memset(k->p + k->len, 0, pad);
	dlcp_put_pad(k->p + k->len, pad);
	k->len += pad;
}

/* Frames of one outgoing message */
static bool ctrl_tx(struct dlcp_conn *c, struct conn_ctrl *k, u64 now)
{
	struct dlcp_txmsg *m, *n;
	u32 start = k->len;

	if (!k->reliable)
		return false;
	list_for_each_entry_safe(m, n, &c->ctrl.tx, ctrl_node) {
		ctrl_tx_msg(c, k, m, now);
		if (ctrl_tx_due(m))
			break;
		list_del_init(&m->ctrl_node);
		if (k->len != start)
			break;
	}
	return k->len != start;
}

static bool ctrl_tombstone(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u64 id;

	if (!k->reliable || k->room - k->len < 16 ||
	    !dlcp_conn_tx_next_tombstone(c, &id))
		return false;
	k->f.msg.msg = (u32)id;
	k->f.msg.word = 0;
	return ctrl_put_msg(k, DLCP_FT_DONE_ACK, (u32)id, DLCP_SW_DONE_ACK);
}

static bool ctrl_again(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u32 msg;

	if (!c->ctrl.nr_again || !k->reliable)
		return false;
	msg = c->ctrl.again[c->ctrl.nr_again - 1];
	memset(&k->f.done, 0, sizeof(k->f.done));
	k->f.done.msg = msg;
	if (!ctrl_put_msg(k, DLCP_FT_DONE, msg, DLCP_SW_DONE))
		return false;
	c->ctrl.nr_again--;
	return true;
}

static void ctrl_rails(struct dlcp_conn *c, struct conn_ctrl *k)
{
	u32 i;

	k->f.rails.family = c->cfg.rail_family;
	for (i = 0; i < DLCP_RAILS_MAX; i++)
		memcpy(k->f.rails.addr[i], c->rail.table[i].own.addr,
		       DLCP_ADDR_LEN);
	if (ctrl_put(k, DLCP_FT_RAILS)) {
		c->rail.pending = 0;
		k->what |= DLCP_SW_RAILS;
	}
}

/* It may get lost: then the question comes again */
static void ctrl_answer(struct dlcp_conn *c, struct conn_ctrl *k)
{
	k->f.token.token = c->ctrl.answer;
	if (c->ctrl.answer_pending && ctrl_put(k, DLCP_FT_ANSWER))
		c->ctrl.answer_pending = 0;
}

/* There is room for what is not open here: see dlcp_conn_rx_room() */
static bool ctrl_room(struct dlcp_conn *c, struct conn_ctrl *k)
{
	if (!c->ctrl.room_pending || !k->reliable)
		return false;
	k->f.credit.msg = c->credit.denied_msg;
	k->f.credit.bytes = 0;
	if (!ctrl_put_msg(k, DLCP_FT_CREDIT, c->credit.denied_msg, DLCP_SW_CREDIT))
		return false;
	c->ctrl.room_pending = 0;
	return true;
}

/* "I have nothing of it": the OPEN that is sent again is the answer */
static void ctrl_open_lost(struct dlcp_conn *c, struct conn_ctrl *k)
{
	c->ctrl.open_lost = 0;
	if (!c->rx.unopened)
		return;
	memset(&k->f.map, 0, sizeof(k->f.map));
	k->f.map.msg = c->rx.unopened->msg;
	ctrl_put(k, DLCP_FT_MAP);
}

static bool ctrl_window(struct dlcp_conn *c, struct conn_ctrl *k)
{
	k->f.window.max_msg = (u32)(c->rx.low_id + DLCP_MSG_WINDOW);
	k->f.window.unsolicited = c->credit.unsolicited_max;
	if (!ctrl_put(k, DLCP_FT_WINDOW))
		return false;
	c->credit.unsolicited_acked = c->credit.unsolicited_max;
	return true;
}

static void ctrl_conn(struct dlcp_conn *c, struct conn_ctrl *k)
{
	if (!k->reliable)
		return;
	if (c->ctrl.window_pending && ctrl_window(c, k)) {
		c->ctrl.window_pending = 0;
		c->credit.unsolicited_advertised = c->credit.unsolicited_max;
		c->credit.max_id_advertised = c->rx.low_id + DLCP_MSG_WINDOW;
		k->what |= DLCP_SW_WINDOW;
	}
	if (c->rail.pending)
		ctrl_rails(c, k);
	if (c->ctrl.close_pending) {
		k->f.close.nr_msgs = (u32)c->tx.next_id;
		if (ctrl_put(k, DLCP_FT_CLOSE)) {
			c->ctrl.close_pending = 0;
			k->what |= DLCP_SW_CLOSE;
		}
	}
}

/* ACK without words, with its frame header, is below 32 bytes */
#define CTRL_ACK_FIXED		32

static u32 ctrl_ack_words(const struct conn_ctrl *k)
{
	return min_t(u32, (k->room - k->len - CTRL_ACK_FIXED) / 8,
		     DLCP_ACK_WORDS_MAX);
}

/* The newest go last: no packet is lost before all is told */
static void ctrl_acks_of(struct dlcp_conn *c, struct conn_ctrl *k,
			 struct dlcp_recv_window *w, u8 path, u64 now)
{
	u32 at = dlcp_recv_low(w);

	/* Room for both */
	while (k->room - k->len >= 2 * CTRL_ACK_FIXED + 8 * DLCP_ACK_WORDS_MAX &&
	       dlcp_recv_ack_late(w, path, now, DLCP_ACK_WORDS_MAX / 2, &at,
				  &k->f.ack))
		ctrl_put(k, DLCP_FT_ACK);
	dlcp_recv_ack(w, path, now, ctrl_ack_words(k), &k->f.ack);
	w->by = k->path->id;
	ctrl_put(k, DLCP_FT_ACK);
	c->cnt[DLCP_CNT_ACKS_SENT]++;
}

static void ctrl_acks(struct dlcp_conn *c, struct conn_ctrl *k, u64 now)
{
	struct dlcp_recv_window *w;
	u32 i;

	for (i = 0; i < c->rx.nr_paths; i++) {
		w = conn_recv_window(c, i);
		if (!w || !w->unacked)
			continue;
		if (k->room - k->len < CTRL_ACK_FIXED + 8)
			break;
		ctrl_acks_of(c, k, w, (u8)i, now);
	}
}

/* They may get lost: what goes with the ACKs is told anew with the next, or when
 * it has become much
 */
static void ctrl_with_acks(struct dlcp_conn *c, struct conn_ctrl *k)
{
	if (c->credit.unsolicited_acked != c->credit.unsolicited_max)
		ctrl_window(c, k);
	if (!c->credit.rate_used)
		return;
	k->f.rate.rate = (u32)min_t(u64, div_u64(c->credit.rate + 999, 1000),
				    U32_MAX);
	if (ctrl_put(k, DLCP_FT_RATE)) {
		c->cnt[DLCP_CNT_RATES_SENT] += !!c->credit.rate;
		c->credit.rate_advertised = c->credit.rate;
		c->ctrl.rate_due = 0;
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
	if (k->what & DLCP_SW_PING && flags & DLCP_F_HERE)
		k->what |= DLCP_SW_HOME;
	/* "All was sent" must not overtake what was */
	if (k->what & DLCP_SW_SENT && p->data_out)
		k->with_data = true;
	if (k->what) {
		flags |= DLCP_F_ELICIT;
		e = dlcp_conn_sent(c, p, DLCP_SENT_CTRL, k->with_data,
				   k->len + c->cfg.overhead, now);
		e->msg = k->msg;
		e->pos = k->what;
	}
	dlcp_put_ctrl(k->p, c->peer_tag, flags, p->id, pn);
	c->cfg.pathsched->sent(p, k->len + c->cfg.overhead);
	/* Not charged to the pacing clock, which does not hold it back either:
	 * at a low rate a stream of ACKs would push the clock far ahead, and
	 * the next message would wait for it.
	 */
	dlcp_conn_out(c, out, p, k->len);
	if (k->with_data)
		out->cls = p->cls;
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
	k->with_data = false;
	k->f.flags = 0;
}

static void ctrl_start(struct dlcp_conn *c, struct conn_ctrl *k,
		       struct dlcp_path *p, u8 *buf, u32 buf_len)
{
	ctrl_begin(c, k, p, buf, buf_len);
	/* A probe is seldom, and what ends the wait */
	k->reliable = (c->ctrl.out < CONN_CTRL_OUT_MAX || p->probe) &&
		      dlcp_conn_ring_room(c, p, 1);
}

static struct dlcp_path *conn_probe_path(const struct dlcp_conn *c)
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
	return c->ctrl.window_pending || c->ctrl.close_pending || c->ctrl.ping_pending ||
	       c->ctrl.open_lost || c->ctrl.room_pending || c->rail.pending ||
	       c->ctrl.nr_again || c->tx.tombstones ||
	       !list_empty(&c->ctrl.rx) || !list_empty(&c->ctrl.tx);
}

static bool conn_acks_due(const struct dlcp_conn *c, u64 now)
{
	u64 t = dlcp_conn_ack_time(c);

	return t && t <= now;
}

bool dlcp_conn_ctrl_due(const struct dlcp_conn *c, u64 now)
{
	return conn_news_due(c) || c->ctrl.answer_pending || c->ctrl.rate_due ||
	       conn_acks_due(c, now) || conn_probe_path(c);
}

bool dlcp_conn_ask_due(const struct dlcp_conn *c, u64 now)
{
	u64 place, rails;

	if (!conn_asks(c))
		return false;
	if (c->place.move)
		return true;
	place = dlcp_conn_place_time(c);
	rails = dlcp_conn_rails_time(c);
	return (place && place <= now) || (rails && rails <= now);
}

u64 dlcp_conn_rx_due(struct dlcp_conn *c)
{
	u64 t, rails;

	dlcp_conn_credit_run(c);
	if (c->events || c->state != DLCP_ESTABLISHED || c->place.move ||
	    conn_news_due(c) || c->ctrl.rate_due || c->ctrl.answer_pending)
		return 0;
	/* It need not wait for the timer */
	if (c->send.pace_wait && c->pace.next <= c->last_rcvd)
		return 0;
	t = dlcp_conn_ack_time(c) ?: U64_MAX;
	if (c->rx.vest_timer)
		t = min(t, c->rx.vest_timer);
	rails = conn_asks(c) ? dlcp_conn_rails_time(c) : 0;
	return rails ? min(t, rails) : t;
}

bool dlcp_conn_next_ctrl(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			 u32 buf_len, u64 now)
{
	struct dlcp_path *probe = conn_probe_path(c), *p = probe;
	struct conn_ctrl k DLCP_UNINIT;
	u64 acks;

	if (!p)
		p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	/* Acknowledgments alone need no ring, which an idle end goes without */
	if (probe || conn_news_due(c))
		ctrl_start(c, &k, p, buf, buf_len);
	else
		ctrl_begin(c, &k, p, buf, buf_len);
	if (probe) {
		k.reliable = k.reliable || dlcp_conn_ring_steal(c, probe, now);
		probe->probe--;
		/* A firewall may let nothing else through */
		if (!probe->probe && !probe->bad &&
		    probe->pto_count >= DLCP_PATH_BAD_PTOS)
			k.port = 0;
	} else if (c->ctrl.answer_home) {
		c->ctrl.answer_home = 0;
		k.port = 0;
	}
	/* What asks for data goes after it, in its class: any other would be
	 * answered while the data is in a queue. The last one goes in the class of
	 * control, with all that is urgent, and tells whether the path is alive.
	 */
	k.with_data = probe && probe->data_out && k.reliable &&
		      (probe->probe || probe->tail == DLCP_TAIL_ASK);
	/* A path that does not work is asked, but trusted with nothing */
	if (!k.with_data && (!probe || !probe->bad)) {
		(void)(ctrl_rx(c, &k) || ctrl_tx(c, &k, now) ||
		       ctrl_tombstone(c, &k) || ctrl_again(c, &k) ||
		       ctrl_room(c, &k));
		ctrl_conn(c, &k);
		ctrl_answer(c, &k);
		if (c->ctrl.open_lost)
			ctrl_open_lost(c, &k);
		acks = c->cnt[DLCP_CNT_ACKS_SENT];
		ctrl_acks(c, &k, now);
		if (c->ctrl.rate_due || c->cnt[DLCP_CNT_ACKS_SENT] != acks)
			ctrl_with_acks(c, &k);
	}
	if (k.reliable && (probe || c->ctrl.ping_pending)) {
		/* A firewall on the way shall not forget the connection */
		if (!probe)
			k.port = 0;
		ctrl_ping(c, &k);
	} else if (k.len == DLCP_CTRL_HDR_LEN) {
		return false;
	}
	if (!k.what)
		k.pair = c->rail.rx_pair;
	ctrl_finish(c, &k, out, now);
	return true;
}

/* Does the peer receive where it announced, or was seen, or from this port? */
bool dlcp_conn_next_ask(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			u32 buf_len, u64 now)
{
	struct conn_ctrl k DLCP_UNINIT;
	struct conn_ask a;
	int rail = -1;

	if (!dlcp_conn_place_ask(c, &a, now)) {
		rail = dlcp_conn_rails_ask(c, now);
		if (rail < 0)
			return false;
		a.token = c->rail.table[rail].own.token;
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

/* What one ACK frame takes at most, with what goes with it */
#define CTRL_FRONT_ROOM	(DLCP_FRONT_LEN + CTRL_ACK_FIXED + 8 * DLCP_ACK_WORDS_MAX)

static bool conn_front_fits(const struct dlcp_conn *c, u32 len)
{
	return len + CTRL_FRONT_ROOM <= c->cfg.mtu && !c->rail.rx_pair;
}

/* Are ACKs all that is due, and does the data that goes next carry them? */
bool dlcp_conn_acks_carried(const struct dlcp_conn *c, u64 now)
{
	const struct dlcp_txmsg *m;

	if (!c->cfg.front || c->inflight || c->sched.nr_ready != 1 ||
	    !conn_acks_due(c, now) || conn_news_due(c) || c->ctrl.rate_due ||
	    c->ctrl.answer_pending || conn_probe_path(c))
		return false;
	m = dlcp_msgsched_first(c);
	return m && m->nr_segs == 1 && !m->next_pos &&
	       conn_front_fits(c, conn_data_len(m, (u32)m->open.length));
}

/*
 * ACKs that are owed go in front of @out's only packet, as RFC 9000, 12.2, puts
 * packets together, so that none is sent for their sake alone. Only where nothing
 * else of this end is on its way, behind which they would wait in the class of data;
 * and not with the first of many packets, which receivers merge if they are alike.
 */
void dlcp_conn_front(struct dlcp_conn *c, struct dlcp_out *out,
		     struct dlcp_path *p, u8 *buf, u32 buf_len, u64 now)
{
	u32 len = conn_data_len(out->m, dlcp_txmsg_len(out->m, out->pos));
	struct conn_ctrl k DLCP_UNINIT;

	if (!c->cfg.front || out->count != 1 || !out->first || out->len ||
	    out->pair || c->sched.nr_ready || c->inflight > len + c->cfg.overhead ||
	    dlcp_cls_tag(out->cls) == DLCP_TAG_DROPPABLE ||
	    !dlcp_conn_ack_time(c) || !conn_front_fits(c, len))
		return;
	ctrl_begin(c, &k, p, buf, min(buf_len, c->cfg.mtu - len));
	k.len = DLCP_FRONT_LEN;
	ctrl_acks(c, &k, now);
	ctrl_with_acks(c, &k);
	dlcp_put_ctrl(buf, c->peer_tag, out->flags & DLCP_F_HERE, p->id,
		      out->pn);
	dlcp_put_front(buf + DLCP_CTRL_HDR_LEN, k.len);
	out->front = (u16)k.len;
	c->cfg.pathsched->sent(p, k.len);
	c->cnt[DLCP_CNT_TX_PACKETS]++;
	c->cnt[DLCP_CNT_TX_CTRL]++;
}

/* Padding, to see whether so much arrives */
bool dlcp_conn_next_mtu(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			u32 buf_len, u64 now)
{
	struct conn_ctrl k DLCP_UNINIT;
	u32 size, n;

	ctrl_start(c, &k,
		   c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths), buf,
		   buf_len);
	if (!k.reliable)
		return false;
	size = dlcp_conn_pmtu_probe(c);
	n = dlcp_put_pad(k.p + k.len, size - k.len);
	out->pad = (u16)(size - k.len - n);
	k.len = size;
	k.what = DLCP_SW_MTU;
	ctrl_finish(c, &k, out, now);
	c->mtu.flight = (u16)(size + c->cfg.overhead);
	return true;
}

/* OPEN of @m goes ahead of its data */
bool dlcp_conn_next_open(struct dlcp_conn *c, struct dlcp_txmsg *m,
			 struct dlcp_path *p, struct dlcp_out *out, u8 *buf,
			 u32 buf_len, u64 now)
{
	struct conn_ctrl k DLCP_UNINIT;

	ctrl_start(c, &k, p, buf, buf_len);
	if (!k.reliable || !ctrl_tx_open(c, &k, m, now))
		return false;
	ctrl_finish(c, &k, out, now);
	/* The ACK of it waits for that of its data. Of what left before nothing is new */
	if (!p->data_out)
		p->prompt = !m->unsolicited;
	return true;
}
