// SPDX-License-Identifier: GPL-2.0
/*
 * A socket from its making to the end of what its user left: sk_timer, and
 * orphans.
 */
#include "dlcp.h"

/* An orphan is looked at so often in the time that a silent peer is given */
#define DLCP_ORPHAN_LOOKS	8

/*
 * An orphan whose data is delivered and whose peer does not close either, or
 * whose peer takes nothing any more, is given up after the time that a silent
 * peer is given, as TCP gives up FIN_WAIT2 and closed windows. Looks are counted
 * and not time: a machine that stood still comes back to one look that is late.
 */
static bool dlcp_orphan_hopeless(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u32 mark = ds->conn.cnt[DLCP_CNT_TX_DELIVERED];

	if (!ds->conn.flushed && mark != ds->orphan_mark)
		ds->orphan_looks = 0;
	ds->orphan_mark = mark;
	return ++ds->orphan_looks >= DLCP_ORPHAN_LOOKS;
}

/* What users may set for themselves, up to an hour, is not for what they leave
 * behind: of that they have as much as they like.
 */
static void dlcp_orphan_cap(struct sock *sk)
{
	unsigned int ms = READ_ONCE(dlcp_pernet(sock_net(sk))->dead_ms);
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;

	dlcp_conn_set_dead(c, min_t(u64, c->cfg.dead_ns,
				    (u64)ms * NSEC_PER_MSEC));
}

static void dlcp_orphan_wait(struct sock *sk)
{
	u64 ns = div_u64(dlcp_sk(sk)->conn.cfg.dead_ns, DLCP_ORPHAN_LOOKS);

	sk_reset_timer(sk, &sk->sk_timer, jiffies + nsecs_to_jiffies(ns) + 1);
}

static void dlcp_orphan_timeout(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (sock_owned_by_user(sk)) {	/* close() has not returned yet */
		sk_reset_timer(sk, &sk->sk_timer, jiffies + HZ / 20 + 1);
		return;
	}
	if (dlcp_orphan_hopeless(sk))
		dlcp_conn_abort(&ds->conn, ETIMEDOUT, NULL);
	else
		dlcp_orphan_wait(sk);
	dlcp_push_build(sk);
}

/* Of a socket that has a user it looks for memory, of an orphan for its end */
static void dlcp_sock_timer(struct timer_list *t)
{
	struct sock *sk = timer_container_of(sk, t, sk_timer);

	bh_lock_sock(sk);
	if (dlcp_sk(sk)->conn_ready) {
		if (sock_flag(sk, SOCK_DEAD))
			dlcp_orphan_timeout(sk);
		else
			dlcp_mem_again(sk);
	}
	bh_unlock_sock(sk);
	dlcp_push_xmit(sk);
	sock_put(sk);
}

void dlcp_orphan(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	sock_orphan(sk);
	if (!ds->conn_ready) {
		dlcp_destroy(sk);
		return;
	}
	ds->orphan_mark = ds->conn.cnt[DLCP_CNT_TX_DELIVERED];
	ds->orphan_looks = 0;
	dlcp_orphan_cap(sk);
	dlcp_orphan_wait(sk);
	dlcp_push(sk);
}

void dlcp_sock_setup(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	INIT_LIST_HEAD(&ds->accept_queue);
	INIT_LIST_HEAD(&ds->rx_ready);
	INIT_LIST_HEAD(&ds->rx_new);
	INIT_LIST_HEAD(&ds->readers);
	INIT_LIST_HEAD(&ds->tx_large);
	INIT_LIST_HEAD(&ds->reports);
	timer_setup(&sk->sk_timer, dlcp_sock_timer, 0);
	dlcp_egress_flow_init(&ds->egress, sk);
	ds->engine_mem = 0;
	ds->mem_wanted = 0;
	ds->rails = NULL;
	dlcp_timer_init(sk);
}
