// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's surroundings in a socket: its memory, what becomes of its
 * events, and its end.
 */
#include <linux/mm.h>
#include <net/tcp_states.h>
#include <net/xfrm.h>

#include "dlcp.h"
#include "trace.h"

/*
 * Counters
 */

static_assert(DLCP_MIB_TX_PACKETS == (int)DLCP_CNT_TX_PACKETS);
static_assert(DLCP_MIB_CE == (int)DLCP_CNT_CE);
static_assert(DLCP_MIB_RX_DUP == (int)DLCP_CNT_RX_DUP);
static_assert(DLCP_MIB_MTU_DOWN == (int)DLCP_CNT_MTU_DOWN);
static_assert(DLCP_MIB_DUP == (int)DLCP_CNT_MAX);
static_assert(DLCP_MIB_DROP_MISMATCH - DLCP_MIB_DUP ==
	      DLCP_DROP_MISMATCH - DLCP_DUP);

static void dlcp_mib_trace(const struct sock *sk, int cnt, u64 delta)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;

	switch (cnt) {
	case DLCP_CNT_ACKS_RCVD:
		trace_dlcp_ack(sk, c, delta);
		break;
	case DLCP_CNT_LOST:
		trace_dlcp_loss(sk, c, delta);
		break;
	case DLCP_CNT_REPATHS:
		trace_dlcp_repath(sk, delta, c->cnt[DLCP_CNT_REPATHS]);
		break;
	case DLCP_CNT_RATES_SENT:
		trace_dlcp_rate(sk, true, c->credit.rate);
		break;
	case DLCP_CNT_RATES_RCVD:
		trace_dlcp_rate(sk, false, c->cong.grant);
		break;
	case DLCP_CNT_TX_FORGIVEN:
	case DLCP_CNT_RX_FORGIVEN:
		trace_dlcp_forgive(sk, cnt == DLCP_CNT_TX_FORGIVEN, delta);
		break;
	}
}

/*
 * Of packets and messages the low half of what was seen tells the difference. A
 * counter of bytes may grow by more than that holds from one call to the next.
 */
static u32 *dlcp_mib_high(struct dlcp_sock *ds, int i)
{
	if (i >= DLCP_CNT_TX_OFFERED && i <= DLCP_CNT_TX_RESENT)
		return &ds->cnt_high[i - DLCP_CNT_TX_OFFERED];
	if (i >= DLCP_CNT_RX_OFFERED && i <= DLCP_CNT_RX_DUP)
		return &ds->cnt_high[DLCP_CNT_TX_BYTES + i -
				     DLCP_CNT_RX_OFFERED];
	return NULL;
}

/* How much the engine counted since last time */
static u64 dlcp_mib_delta(struct dlcp_sock *ds, int i)
{
	u32 *high = dlcp_mib_high(ds, i);
	u64 now = READ_ONCE(ds->conn.cnt[i]);
	u64 delta = (u32)now - ds->cnt_seen[i];

	if (high) {
		delta = now - ((u64)*high << 32 | ds->cnt_seen[i]);
		*high = upper_32_bits(now);
	}
	ds->cnt_seen[i] = lower_32_bits(now);
	return delta;
}

/* Add to the MIB what the engine counted since last time. Context: lock of
 * dlcp_net.socks.
 */
static void dlcp_mib_add(struct sock *sk, bool trace)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	u64 delta;
	int i;

	for (i = 0; i < DLCP_CNT_MAX; i++) {
		/* If it grew by a multiple of 2^32, that is seen next time */
		if (likely((u32)READ_ONCE(ds->conn.cnt[i]) == ds->cnt_seen[i]))
			continue;
		delta = dlcp_mib_delta(ds, i);
		if (!delta)
			continue;
		SNMP_ADD_STATS(dn->mib, i, delta);
		if (trace)
			dlcp_mib_trace(sk, i, delta);
	}
}

static bool dlcp_mib_traced(void)
{
	return trace_dlcp_ack_enabled() || trace_dlcp_loss_enabled() ||
	       trace_dlcp_repath_enabled() || trace_dlcp_rate_enabled() ||
	       trace_dlcp_forgive_enabled();
}

/* What was counted before somebody traced is no event. Context: socket lock held. */
static void dlcp_mib_sync(struct sock *sk)
{
	struct xarray *socks = &dlcp_pernet(sock_net(sk))->socks;
	struct dlcp_sock *ds = dlcp_sk(sk);

	xa_lock_bh(socks);
	dlcp_mib_add(sk, !ds->cnt_lags);
	ds->cnt_lags = 0;
	xa_unlock_bh(socks);
}

/**
 * dlcp_mib_counted() - the engine may have counted something
 * @sk: a connection
 *
 * It counts in plain words. They move to the counters of the namespace when
 * somebody reads these, or when nobody can find the connection any more.
 *
 * Context: socket lock held.
 */
void dlcp_mib_counted(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (ds->listed && !dlcp_mib_traced())
		WRITE_ONCE(ds->cnt_lags, 1);
	else
		dlcp_mib_sync(sk);
}

/**
 * dlcp_mib_collect() - add what all connections have counted
 * @dn: their namespace
 *
 * Takes no lock of a socket: a user may hold that for long. Where a word has 32 bits
 * the halves of a counter may not belong together; there the MIB has the lower one.
 *
 * Context: process.
 */
void dlcp_mib_collect(struct dlcp_net *dn)
{
	struct dlcp_sock *ds;
	unsigned long id = 0;

	for (; xa_find(&dn->socks, &id, U32_MAX, XA_PRESENT); id++) {
		cond_resched();
		xa_lock_bh(&dn->socks);
		ds = xa_load(&dn->socks, id);
		if (ds && READ_ONCE(ds->cnt_lags))
			dlcp_mib_add(&ds->inet.sk, false);
		xa_unlock_bh(&dn->socks);
	}
}

static void *dlcp_conn_alloc(struct dlcp_conn *c, size_t size)
{
	return dlcp_mem_alloc(dlcp_conn_sk(c), size);
}

static void dlcp_conn_kfree(struct dlcp_conn *c, void *p, size_t size)
{
	dlcp_mem_free(dlcp_conn_sk(c), p, size);
}

static struct dlcp_rxmsg *dlcp_conn_rx_open(struct dlcp_conn *c,
					    const struct dlcp_open *o, u64 id)
{
	struct dlcp_rx *rx = dlcp_rx_alloc(dlcp_conn_sk(c));

	if (rx)
		trace_dlcp_open(dlcp_conn_sk(c), false, id, o);
	return rx ? &rx->core : NULL;
}

static void dlcp_conn_released(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	struct dlcp_tx *tx = container_of(m, struct dlcp_tx, core);

	if (tx->nr_chunks > 1 && list_empty(&tx->large))
		list_add_tail(&tx->large, &dlcp_sk(dlcp_conn_sk(c))->tx_large);
}

static const struct dlcp_conn_ops dlcp_shell_ops = {
	.alloc		= dlcp_conn_alloc,
	.free		= dlcp_conn_kfree,
	.rx_open	= dlcp_conn_rx_open,
	.cut		= dlcp_piece_begin,
	.uncut		= dlcp_piece_drop,
	.egress		= dlcp_egress_wait,
	.released	= dlcp_conn_released,
	.rail		= dlcp_rail_wanted,
	.moved		= dlcp_place_moved,
};

static u64 dlcp_ms(u32 own, unsigned int dflt)
{
	return (u64)(own ?: dflt) * NSEC_PER_MSEC;
}

static void dlcp_fill_cfg(struct sock *sk, struct dlcp_conn_cfg *cfg)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);

	cfg->ops = &dlcp_shell_ops;
	cfg->cong = ds->cong ?: READ_ONCE(dn->cong);
	cfg->dead_ns = dlcp_ms(ds->dead_ms, READ_ONCE(dn->dead_ms));
	if (sock_flag(sk, SOCK_KEEPOPEN))
		cfg->keepalive_ns = dlcp_ms(ds->keepalive_ms,
					    READ_ONCE(dn->keepalive_ms));
	cfg->ack_delay_ns = (u64)READ_ONCE(dn->ack_delay_us) * NSEC_PER_USEC;
	cfg->front = true;
	cfg->ack_packets = READ_ONCE(dn->ack_packets);
	cfg->max_rate = dlcp_max_rate(sk);
	cfg->unsolicited = READ_ONCE(dn->rx_unsolicited);
	cfg->rx_space = READ_ONCE(sk->sk_rcvbuf) / 2;
	cfg->max_msg_len = (u64)READ_ONCE(dn->max_msg_mb) << 20;
	cfg->overhead = dlcp_is_ipv4(sk) ? 20 + 8 + 38 : 40 + 8 + 38;
	cfg->sport = ds->port;
	cfg->dport = ntohs(inet_sk(sk)->inet_dport);
	cfg->nr_paths = ds->nr_paths ?: READ_ONCE(dn->nr_paths);
	cfg->pathsched = READ_ONCE(dn->pathsched);
}

/**
 * dlcp_conn_setup() - the engine of a new connection
 * @sk: socket with addresses, ports and route
 * @local_tag: the connection's tag at this end
 *
 * Options count from here on as they are now.
 *
 * Context: socket lock held; process or softirq.
 * Return: 0 or -ENOMEM
 */
int dlcp_conn_setup(struct sock *sk, u64 local_tag)
{
	struct dlcp_conn_cfg cfg = { .local_tag = local_tag };
	struct dlcp_rail_own own[DLCP_RAILS_MAX];
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err;

	cfg.mtu = min_t(u32, ds->mtu, DLCP_MTU_MAX);
	dlcp_fill_cfg(sk, &cfg);
	dlcp_rails_setup(sk, own, &cfg);
	err = dlcp_conn_init(&ds->conn, &cfg, dlcp_now());
	if (err) {
		dlcp_conn_destroy(&ds->conn);
		memset(&ds->conn, 0, sizeof(ds->conn));
		return err;
	}
	ds->conn_ready = 1;
	return 0;
}

static void dlcp_take_tx_done(struct sock *sk)
{
	struct dlcp_txmsg *m;

	while ((m = dlcp_conn_take_tx_done(&dlcp_sk(sk)->conn)))
		dlcp_tx_over(sk, container_of(m, struct dlcp_tx, core));
}

static void dlcp_take_rx_free(struct sock *sk)
{
	struct dlcp_rxmsg *m;

	while ((m = dlcp_conn_take_rx_free(&dlcp_sk(sk)->conn)))
		dlcp_rx_free(sk, container_of(m, struct dlcp_rx, core));
}

/* The connection failed: nothing more will be known of what was sent */
static void dlcp_fail_tx(struct sock *sk)
{
	struct dlcp_txmsg *m;

	while ((m = dlcp_conn_take_tx_failed(&dlcp_sk(sk)->conn)))
		dlcp_tx_over(sk, container_of(m, struct dlcp_tx, core));
}

void dlcp_conn_teardown(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (!ds->conn_ready)
		return;
	dlcp_egress_leave(sk);
	dlcp_rails_drop_routes(sk);
	dlcp_timer_stop(sk);
	dlcp_table_del(sk);
	dlcp_mib_sync(sk);
	dlcp_link_leave(sk);
	dlcp_unopened_purge(sk);
	dlcp_conn_destroy(&ds->conn);
	dlcp_take_tx_done(sk);
	dlcp_take_rx_free(sk);
	INIT_LIST_HEAD(&ds->rx_ready);
	INIT_LIST_HEAD(&ds->rx_new);
	ds->conn_ready = 0;
	ds->deferred = 0;
	memset(&ds->conn, 0, sizeof(ds->conn));
	memset(&ds->ingress, 0, sizeof(ds->ingress));
	memset(ds->cnt_seen, 0, sizeof(ds->cnt_seen));
	memset(ds->cnt_high, 0, sizeof(ds->cnt_high));
	ds->cnt_lags = 0;
}

/**
 * dlcp_sock_cleanup() - free all a socket has
 * @sk: socket; nobody can come to use it any more
 *
 * Context: socket lock held, or nobody else knows the socket.
 */
void dlcp_sock_cleanup(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_tx *tx, *n;

	if (ds->destroyed)
		return;
	ds->destroyed = 1;
	sk_stop_timer(sk, &sk->sk_timer);
	dlcp_conn_teardown(sk);
	list_for_each_entry_safe(tx, n, &ds->reports, report)
		dlcp_tx_free(sk, tx);
	dlcp_port_release(sk);
	inet_sk_set_state(sk, TCP_CLOSE);
	xfrm_sk_free_policy(sk);
	sk_sockets_allocated_dec(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
}

/**
 * dlcp_destroy() - the end of a socket that no user has any more
 * @sk: orphaned socket
 *
 * Context: socket lock held; the caller has a reference of its own.
 */
void dlcp_destroy(struct sock *sk)
{
	if (dlcp_sk(sk)->destroyed)
		return;
	dlcp_sock_cleanup(sk);
	sock_put(sk);
}

/* Sleepers that only a fatal signal interrupts are woken too */
void dlcp_state_change(struct sock *sk)
{
	struct socket_wq *wq;

	dlcp_assert_locked(sk);
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_all(&wq->wait);
	rcu_read_unlock();
}

static int dlcp_sk_state(const struct dlcp_conn *c)
{
	switch (c->state) {
	case DLCP_INIT_SENT:
	case DLCP_ECHO_SENT:
		return TCP_SYN_SENT;
	case DLCP_ESTABLISHED:
		return TCP_ESTABLISHED;
	case DLCP_CLOSING:
		return TCP_CLOSING;
	default:
		return TCP_CLOSE;
	}
}

static void dlcp_ev_state(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_conn *c = &ds->conn;
	int state = dlcp_sk_state(c);

	if (c->peer_tag && !ds->peer_hashed && c->state != DLCP_CLOSED)
		dlcp_table_add_peer(sk);
	if (state == sk->sk_state)
		return;
	inet_sk_set_state(sk, state);
	if (state == TCP_CLOSE)
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	else if (state == TCP_ESTABLISHED)
		ds->was_open = 1;
	if (sock_flag(sk, SOCK_DEAD))
		return;
	sk->sk_state_change(sk);
	if (state == TCP_ESTABLISHED)
		sk_wake_async(sk, SOCK_WAKE_IO, POLL_OUT);
	dlcp_rx_wake_all(sk);
}

static void dlcp_ev_error(struct sock *sk)
{
	if (sock_flag(sk, SOCK_DEAD))
		return;
	sk_error_report(sk);
	sk->sk_state_change(sk);
	dlcp_rx_wake_all(sk);
}

static void dlcp_ev_eof(struct sock *sk)
{
	if (sock_flag(sk, SOCK_DEAD))
		return;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	sk->sk_state_change(sk);
	sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	dlcp_rx_wake_all(sk);
}

/* New messages for a socket that is closed: tell the peer, as TCP does */
static void dlcp_ev_rx_open(struct sock *sk)
{
	dlcp_rx_opened(sk);
	dlcp_process_unopened(sk);
	if (sock_flag(sk, SOCK_DEAD))
		dlcp_conn_abort(&dlcp_sk(sk)->conn, ECONNRESET, NULL);
}

static void dlcp_ev_tx(struct sock *sk, u32 ev)
{
	struct list_head *large = &dlcp_sk(sk)->tx_large;
	struct dlcp_tx *tx, *n;

	list_for_each_entry_safe(tx, n, large, large) {
		list_del_init(&tx->large);
		dlcp_tx_release(sk, tx);
	}
	if (ev & DLCP_EV_TX_DONE)
		dlcp_take_tx_done(sk);
	dlcp_write_space(sk);
}

/*
 * The path carries less than its route says, and no ICMP tells of it. The route
 * remembers, as it does what ICMP says and for as long (mtu_expires), so that
 * later connections to this host begin with it. With several pairs of addresses
 * it is not known which of them it was.
 */
static void dlcp_ev_mtu(struct sock *sk)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dst_entry *dst = __sk_dst_get(sk);
	u32 mtu = c->cfg.mtu + dlcp_under(sk);

	if (c->rail.nr_pairs == 1 && dst && dst->ops->update_pmtu)
		dst->ops->update_pmtu(dst, sk, NULL, mtu, false);
}

static void dlcp_act(struct sock *sk, u32 ev)
{
	/* Before the state: who sees by that the end looks for the reason */
	if (ev & DLCP_EV_ERROR && !sock_flag(sk, SOCK_DEAD))
		WRITE_ONCE(sk->sk_err, dlcp_sk(sk)->conn.error);
	if (ev & DLCP_EV_STALE)
		dlcp_table_retag(sk);
	if (ev & DLCP_EV_STATE)
		dlcp_ev_state(sk);
	if (ev & DLCP_EV_RX_OPEN)
		dlcp_ev_rx_open(sk);
	if (ev & DLCP_EV_RX_DONE) {
		dlcp_rx_completed(sk);
		dlcp_link_rest(sk);
	}
	if (ev & DLCP_EV_MTU)
		dlcp_ev_mtu(sk);
	if (ev & DLCP_EV_RX_QUIET)
		dlcp_rx_check_credit(sk);
	if (ev & (DLCP_EV_TX_DONE | DLCP_EV_TX_SPACE))
		dlcp_ev_tx(sk, ev);
	if (ev & DLCP_EV_FLUSHED)	/* close() may wait for it */
		sk->sk_state_change(sk);
	if (ev & DLCP_EV_EOF)
		dlcp_ev_eof(sk);
	if (ev & DLCP_EV_ERROR)
		dlcp_ev_error(sk);
	if (ev & DLCP_EV_RX_FREE)
		dlcp_take_rx_free(sk);
}

/**
 * dlcp_events() - act on what the engine has to say
 * @sk: the connection
 *
 * The caller transmits afterwards; dlcp_push() calls this itself. When the
 * connection is over, and the RESET, if any, is sent, it leaves the tables;
 * if it is an orphan it is destroyed, and the engine with it.
 *
 * Context: socket lock held; process or softirq. The caller has a reference.
 */
void dlcp_events(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_conn *c = &ds->conn;
	u32 ev;

	dlcp_assert_locked(sk);
	if (!ds->conn_ready)
		return;
	while ((ev = dlcp_conn_take_events(c)))
		dlcp_act(sk, ev);
	if (c->state != DLCP_CLOSED || c->reset_code)
		return;
	dlcp_fail_tx(sk);
	dlcp_timer_stop(sk);
	dlcp_table_del(sk);
	dlcp_link_leave(sk);
	dlcp_unopened_purge(sk);
	if (sock_flag(sk, SOCK_DEAD))
		dlcp_destroy(sk);
}
