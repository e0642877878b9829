// SPDX-License-Identifier: GPL-2.0
/* Set-up, state and end of a connection. */
#include "conn_int.h"
#include "cookie.h"

static void conn_lists(struct dlcp_conn *c)
{
	u32 i;

	INIT_LIST_HEAD(&c->tx.active);
	INIT_LIST_HEAD(&c->tx.done);
	INIT_LIST_HEAD(&c->ctrl.tx);
	INIT_LIST_HEAD(&c->tx.resolve);
	INIT_LIST_HEAD(&c->tx.sent);
	INIT_LIST_HEAD(&c->sched.unopened);
	INIT_LIST_HEAD(&c->tx.old_due);
	INIT_LIST_HEAD(&c->credit.unadvertised);
	c->tx.old = RB_ROOT;
	c->rx.old = RB_ROOT;
	c->rx.deadlines = RB_ROOT;
	c->rx.vest_waiting = RB_ROOT;
	INIT_LIST_HEAD(&c->rx.open);
	INIT_LIST_HEAD(&c->rx.closed);
	INIT_LIST_HEAD(&c->rx.free);
	INIT_LIST_HEAD(&c->ctrl.rx);
	for (i = 0; i <= DLCP_PRIO_MAX; i++)
		INIT_LIST_HEAD(&c->credit.want[i]);
	INIT_LIST_HEAD(&c->credit.want[CONN_WANT_LONG]);
}

static void conn_set_rate(struct dlcp_conn *c)
{
	c->pace.rate = c->cong.rate;
}

int dlcp_conn_init(struct dlcp_conn *c, const struct dlcp_conn_cfg *cfg,
		   u64 now)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	c->cfg = *cfg;
	if (!c->cfg.pathsched)
		c->cfg.pathsched = &dlcp_pathsched_adaptive;
	c->cfg.nr_paths = clamp_t(u8, cfg->nr_paths, 1, DLCP_PATHS_MAX);
	c->version = DLCP_VERSION;
	c->last_rcvd = now;
	c->alive.looked = now;
	c->alive.answered = 1;
	c->mtu.route = cfg->mtu;
	c->credit.unsolicited_max = cfg->unsolicited;
	c->credit.unsolicited_advertised = cfg->unsolicited;
	c->credit.unsolicited_acked = cfg->unsolicited;
	c->credit.max_id_advertised = DLCP_MSG_WINDOW;
	c->tx.tombstone_low = U64_MAX;
	conn_lists(c);
	dlcp_cong_init(&c->cong, cfg->cong, cfg->mtu + cfg->overhead,
		       cfg->max_rate, now);
	conn_set_rate(c);
	c->rail.nr_pairs = 1;
	c->paths = &c->path0;
	if (c->cfg.nr_paths > 1) {
		dlcp_rtt_init(&c->net);
		c->paths = c->cfg.ops->alloc(c, c->cfg.nr_paths *
					    sizeof(*c->paths));
	}
	if (!c->paths) {
		c->cfg.nr_paths = 0;
		return -ENOMEM;
	}
	for (i = 0; i < c->cfg.nr_paths; i++)
		dlcp_path_init(&c->paths[i], (u8)i, cfg->local_tag);
	if (dlcp_conn_rails_init(c))
		return -ENOMEM;
	/* A first message must not fail for want of a table */
	return dlcp_conn_tx_grow(c);
}

static void conn_free(struct dlcp_conn *c, void *p, size_t size)
{
	if (p)
		c->cfg.ops->free(c, p, size);
}

static void conn_free_ring(struct dlcp_conn *c, struct dlcp_sent_ring *r)
{
	conn_free(c, r->ring, r->size * sizeof(*r->ring));
	r->ring = NULL;
	r->size = 0;
}

/* When dlcp_conn_shrink() is due; 0: the connection is not idle, or has nothing
 * that it could do without
 */
u64 dlcp_conn_idle_time(const struct dlcp_conn *c)
{
	bool any = c->rx.size;
	u32 i;

	if (c->inflight || !list_empty(&c->tx.active) || c->rx.nr_old ||
	    c->rx.low_id != c->rx.end_id)
		return 0;
	for (i = 0; i < c->cfg.nr_paths && !any; i++)
		any = c->paths[i].sent.ring;
	return any ? max(c->last_rcvd, c->last_sent) + CONN_IDLE : 0;
}

/* A host may have thousands of idle connections. What is freed here is made
 * anew with the next packet.
 */
void dlcp_conn_shrink(struct dlcp_conn *c, u64 now)
{
	struct dlcp_sent_ring *r;
	u32 i;

	for (i = 0; i < c->cfg.nr_paths; i++) {
		r = &c->paths[i].sent;
		/* Only news of lost packets is kept there: of no interest */
		r->tail = r->head;
		r->first = r->head;
		conn_free_ring(c, r);
	}
	dlcp_conn_rx_shrink(c);
}

static void conn_destroy_msgs(struct dlcp_conn *c)
{
	struct dlcp_rxmsg *rx, *n;
	struct dlcp_txmsg *tx;

	list_for_each_entry(tx, &c->tx.active, node) {
		dlcp_conn_tx_unlink(c, tx);
		dlcp_conn_cut_tx_free(c, tx);
	}
	list_splice_tail_init(&c->tx.active, &c->tx.done);
	list_for_each_entry_safe(rx, n, &c->rx.open, node)
		dlcp_conn_rx_free(c, rx);
	list_for_each_entry_safe(rx, n, &c->rx.closed, node)
		dlcp_conn_rx_free(c, rx);
	c->rx.old = RB_ROOT;
	c->rx.deadlines = RB_ROOT;
	c->rx.vest_waiting = RB_ROOT;
}

void dlcp_conn_destroy(struct dlcp_conn *c)
{
	struct dlcp_recv_window *w;
	u32 i;

	conn_destroy_msgs(c);
	dlcp_conn_tx_forget(c);
	for (i = 0; i < c->cfg.nr_paths; i++)
		conn_free_ring(c, &c->paths[i].sent);
	if (c->paths != &c->path0)
		conn_free(c, c->paths, c->cfg.nr_paths * sizeof(*c->paths));
	conn_free(c, c->rail.table, DLCP_RAILS_MAX * sizeof(*c->rail.table));
	conn_free(c, c->place.move, sizeof(*c->place.move));
	conn_free(c, c->tx.groups, sizeof(*c->tx.groups));
	conn_free(c, c->rx.groups, sizeof(*c->rx.groups));
	for (i = 0; i < c->rx.nr_paths; i++) {
		w = conn_recv_window(c, i);
		if (w)
			conn_free(c, w, dlcp_recv_size(w->order));
	}
	conn_free(c, c->recv, CONN_RECV_SIZE);
	conn_free(c, c->setup.cookie, DLCP_COOKIE_LEN);
	c->setup.cookie = NULL;
	conn_free(c, c->tx.table, dlcp_conn_tx_table_mem(c->tx.size));
	dlcp_conn_rx_shrink(c);
	c->paths = NULL;
	c->rail.table = NULL;
	c->place.move = NULL;
	c->tx.groups = NULL;
	c->rx.groups = NULL;
	c->recv0 = NULL;
	c->recv = NULL;
	c->rx.nr_paths = 0;
	c->tx.table = NULL;
	c->tx.size = 0;
	c->cfg.nr_paths = 0;
	c->inflight = 0;
	c->state = DLCP_CLOSED;
}

void dlcp_conn_soft_error(struct dlcp_conn *c, int err)
{
	if (conn_open(c)) {
		c->soft_error = err;
		return;
	}
	c->unanswered = 1;
	dlcp_conn_fail(c, err, NULL);
}

void dlcp_conn_next_reset(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf)
{
	struct dlcp_reset r = {
		.your_tag = c->cfg.local_tag,
		.code = c->reset_code,
		.version_min = DLCP_VERSION,
		.version_max = DLCP_VERSION,
	};

	c->reset_code = 0;
	dlcp_conn_out(c, out, &c->paths[0],
		      dlcp_put_reset(buf, c->peer_tag, &r));
}

void dlcp_conn_next_setup(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			  u64 now)
{
	struct dlcp_setup s = {
		.tag = c->cfg.local_tag,
		.sport = c->cfg.sport,
		.dport = c->cfg.dport,
		.version_min = DLCP_VERSION,
		.version_max = DLCP_VERSION,
		.max_msg = DLCP_MSG_WINDOW,
		.unsolicited = c->cfg.unsolicited,
	};
	u8 type;

	if (c->setup.ack_pending) {
		c->setup.ack_pending = 0;
		if (c->setup.count++ && !c->paths[0].any_acked)
			dlcp_conn_setup_repath(c, now);
		type = DLCP_PT_ECHO_ACK;
	} else {
		c->setup.pending = 0;
		if (c->setup.count)
			dlcp_conn_setup_repath(c, now);
		else
			c->setup.sent = now;
		type = c->state == DLCP_INIT_SENT ? DLCP_PT_INIT :
						    DLCP_PT_ECHO;
		c->setup.timer = now + min_t(u64, CONN_BACKOFF_MAX,
					 (u64)CONN_SETUP_FIRST <<
					 min_t(u32, c->setup.count, 8));
		if (c->setup.count < U8_MAX)
			c->setup.count++;
	}
	s.here = c->paths[0].home;
	if (c->setup.cookie)
		memcpy(s.cookie, c->setup.cookie, DLCP_COOKIE_LEN);
	dlcp_conn_out(c, out, &c->paths[0],
		      dlcp_put_setup(buf, type, c->peer_tag, &s));
}

void dlcp_conn_connect(struct dlcp_conn *c, u64 now)
{
	c->is_client = 1;
	c->setup.pending = 1;
	c->last_rcvd = now;
	dlcp_conn_received(c, now);
	dlcp_conn_set_state(c, DLCP_INIT_SENT);
}

/* The cookie was made before the first ECHO left */
void dlcp_conn_setup_timer(struct dlcp_conn *c, u64 now)
{
	bool stale = c->state == DLCP_ECHO_SENT &&
		     now - c->setup.sent >= (u64)DLCP_COOKIE_LIFE * NSEC_PER_SEC;

	c->setup.timer = 0;
	if (stale)
		conn_event(c, DLCP_EV_STALE);
	else
		c->setup.pending = 1;
}

void dlcp_conn_anew(struct dlcp_conn *c, u64 tag)
{
	if (c->state != DLCP_ECHO_SENT)
		return;
	c->cfg.local_tag = tag;
	c->peer_tag = 0;
	c->setup.anew = 1;
	c->setup.pending = 1;
	c->setup.count = 0;
	dlcp_conn_set_state(c, DLCP_INIT_SENT);
}

/* Until there is a sample the timers go by what the set-up took (RFC 9002,
 * 6.2.2), and the first window. If a packet of it was sent again that is too long.
 */
void dlcp_conn_setup_took(struct dlcp_conn *c, u64 age)
{
	struct dlcp_rtt *r = &c->paths[0].rtt;

	dlcp_rtt_guess(r, age);
	if (!r->guess)
		return;
	c->cong.setup = r->srtt;
	c->cong.ops->init(&c->cong, c->alive.looked);
	c->pace.rate = c->cong.rate;
}

/* What is left is never more than the peer allows in all. Where it is more than was
 * known of, that is twice as much.
 */
static void conn_tx_double(struct dlcp_conn *c)
{
	u64 sent = min(c->sched.unsolicited_sent, c->sched.unsolicited_max);
	u64 left = c->sched.unsolicited_max - sent;

	while (c->sched.doubled < DLCP_DOUBLED_MAX &&
	       left >> (c->sched.doubled + 1) > c->sched.unsolicited_msg)
		c->sched.doubled++;
}

/* Limits only ever rise; what comes late or twice changes nothing */
void dlcp_conn_set_limits(struct dlcp_conn *c, u64 max_id, u64 unsolicited)
{
	if (max_id > c->tx.max_id) {
		c->tx.max_id = max_id;
		conn_event(c, DLCP_EV_TX_SPACE);
	}
	if (unsolicited > c->sched.unsolicited_max) {
		c->sched.unsolicited_max = unsolicited;
		conn_tx_double(c);
		dlcp_msgsched_wake(c);
	}
}

void dlcp_conn_established(struct dlcp_conn *c, u64 now)
{
	c->last_rcvd = now;
	c->rail.pending = !!c->rail.table;
	dlcp_conn_set_state(c, DLCP_ESTABLISHED);
}

static void conn_peer_limits(struct dlcp_conn *c, const struct dlcp_setup *s)
{
	/* The first one is what shares are cut from */
	c->sched.unsolicited_msg = (u32)min_t(u64, s->unsolicited / 2, U32_MAX);
	dlcp_conn_set_limits(c, s->max_msg, s->unsolicited);
}

void dlcp_conn_accept(struct dlcp_conn *c, const struct dlcp_setup *echo,
		      u64 now)
{
	c->peer_tag = echo->tag;
	c->setup.ack_pending = 1;
	c->setup.acked = 1;
	/* The client tries another way: so does the answer */
	c->paths[0].home = echo->here;
	conn_peer_limits(c, echo);
	dlcp_conn_established(c, now);
}

static enum dlcp_verdict conn_on_init_ack(struct dlcp_conn *c,
					  const struct dlcp_setup *s, u64 now)
{
	if (c->state != DLCP_INIT_SENT)
		return DLCP_DROP_STATE;
	if (s->version_min != DLCP_VERSION || !s->tag)
		return DLCP_DROP_MISMATCH;
	if (!c->setup.cookie)
		c->setup.cookie = c->cfg.ops->alloc(c, DLCP_COOKIE_LEN);
	if (!c->setup.cookie)
		return DLCP_DROP_NOMEM;
	c->peer_tag = s->tag;
	memcpy(c->setup.cookie, s->cookie, DLCP_COOKIE_LEN);
	c->setup.pending = 1;
	c->setup.count = 0;
	dlcp_conn_setup_took(c, now - c->setup.sent);
	/* A listener that makes no connection is not waited for again and again */
	if (!c->setup.anew)
		dlcp_conn_received(c, now);
	dlcp_conn_set_state(c, DLCP_ECHO_SENT);
	return DLCP_OK;
}

static enum dlcp_verdict conn_on_echo_ack(struct dlcp_conn *c,
					  const struct dlcp_setup *s, u64 now)
{
	if (!c->is_client || c->setup.acked ||
	    (c->state != DLCP_ECHO_SENT && !conn_open(c)))
		return DLCP_DROP_STATE;
	if (s->tag && s->tag != c->peer_tag)
		return DLCP_DROP_MISMATCH;
	c->setup.acked = 1;
	conn_free(c, c->setup.cookie, DLCP_COOKIE_LEN);
	c->setup.cookie = NULL;
	c->setup.pending = 0;
	c->setup.timer = 0;
	dlcp_conn_setup_took(c, now - c->setup.sent);
	dlcp_conn_received(c, now);
	conn_peer_limits(c, s);
	if (c->state == DLCP_ECHO_SENT)
		dlcp_conn_established(c, now);
	return DLCP_OK;
}

enum dlcp_verdict dlcp_conn_rx_setup(struct dlcp_conn *c,
				     const struct dlcp_hdr *h,
				     const struct dlcp_setup *s, u64 now)
{
	enum dlcp_verdict v = DLCP_DROP_STATE;

	if (c->state == DLCP_CLOSED)
		return v;
	if (h->type == DLCP_PT_INIT_ACK && c->is_client) {
		v = conn_on_init_ack(c, s, now);
	} else if (h->type == DLCP_PT_ECHO_ACK) {
		v = conn_on_echo_ack(c, s, now);
	} else if (h->type == DLCP_PT_ECHO && !c->is_client &&
		   conn_open(c)) {
		/* Our ECHO_ACK got lost, or theirs came twice */
		v = s->tag == c->peer_tag ? DLCP_DUP : DLCP_DROP_MISMATCH;
		if (v == DLCP_DUP)
			c->setup.ack_pending = 1;
	}
	if (v <= DLCP_DUP) {
		c->cnt[DLCP_CNT_RX_PACKETS]++;
		c->last_rcvd = now;
	}
	return v;
}

/*
 * The peer has forgotten us. It does so once it has all it wanted: then only
 * our knowledge of that is missing.
 */
static bool conn_clean_end(const struct dlcp_conn *c)
{
	return c->fin_sent && list_empty(&c->tx.active) && c->eof;
}

enum dlcp_verdict dlcp_conn_rx_reset(struct dlcp_conn *c,
				     const struct dlcp_reset *r, u64 now)
{
	bool known = c->peer_tag && r->your_tag == c->peer_tag;

	(void)now;
	if (c->state == DLCP_INIT_SENT)
		known = r->your_tag == c->cfg.local_tag;
	if (c->state == DLCP_CLOSED || !known)
		return DLCP_DROP_STATE;
	c->cnt[DLCP_CNT_RX_PACKETS]++;
	switch (r->code) {
	case DLCP_RST_REFUSED:
		dlcp_conn_fail(c, ECONNREFUSED,
			       "nobody listens at the peer's port");
		break;
	case DLCP_RST_VERSION:
		dlcp_conn_fail(c, EPROTONOSUPPORT,
			       "no common protocol version");
		break;
	case DLCP_RST_PROTOCOL:
		dlcp_conn_fail(c, EPROTO, "the peer found a protocol error");
		break;
	case DLCP_RST_UNKNOWN:
		if (conn_clean_end(c))
			dlcp_conn_set_state(c, DLCP_CLOSED);
		else if (conn_open(c) && r->stray)
			dlcp_conn_ports_lost(c);
		else if (!c->place.move)	/* who is asked now may be anybody */
			dlcp_conn_fail(c, ECONNRESET,
				       "the peer does not know the connection");
		break;
	default:
		dlcp_conn_fail(c, ECONNRESET,
			       "the peer gave up the connection");
		break;
	}
	return DLCP_OK;
}

void dlcp_conn_shutdown(struct dlcp_conn *c, u64 now)
{
	if (c->fin_sent || !conn_open(c))
		return;
	c->fin_sent = 1;
	c->ctrl.close_pending = 1;
	dlcp_conn_check_close(c, now);
}
