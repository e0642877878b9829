// SPDX-License-Identifier: GPL-2.0
/* Listeners: connections made by packets, waiting for accept(). */
#include <linux/memcontrol.h>
#include <linux/security.h>
#include <net/ipv6.h>
#include <net/tcp_states.h>
#include <net/transp_v6.h>

#include "core/cookie.h"
#include "dlcp.h"

/* The listener's cgroup pays for the child */
static void dlcp_child_memcg(struct sock *sk, const struct sock *lsk)
{
#ifdef CONFIG_MEMCG
	if (mem_cgroup_sockets_enabled && lsk->sk_memcg &&
	    css_tryget(&lsk->sk_memcg->css))
		sk->sk_memcg = lsk->sk_memcg;
#endif
}

/* sk_clone_lock() copied the listener: undo what must not be shared */
static void dlcp_child_reset(struct sock *sk, const struct sock *lsk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct inet_sock *inet = inet_sk(sk);

	dlcp_child_memcg(sk, lsk);
	inet_sk_set_state(sk, TCP_CLOSE);
	sk->sk_max_ack_backlog = 0;
	sk->sk_ack_backlog = 0;
	atomic64_set(&sk->sk_cookie, 0);
	RCU_INIT_POINTER(inet->inet_opt, NULL);
	RCU_INIT_POINTER(inet->mc_list, NULL);
	memset(&ds->conn, 0, sizeof(ds->conn));
	ds->hashed = 0;
	ds->peer_hashed = 0;
	ds->port_bound = 0;
	ds->port_peer = 0;
	ds->listed = 0;
	ds->conn_ready = 0;
	ds->tried_err = 0;
	ds->tried_text = NULL;
	dlcp_sock_setup(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);
}

#if IS_ENABLED(CONFIG_IPV6)
static void dlcp_child_pinet6(struct sock *sk, const struct sock *lsk)
{
	struct ipv6_pinfo *np;

	if (sk->sk_family != AF_INET6)
		return;
	np = &((struct dlcp6_sock *)sk)->inet6;
	inet_sk(sk)->pinet6 = np;
	memcpy(np, inet6_sk(lsk), sizeof(*np));
	np->ipv6_mc_list = NULL;
	np->ipv6_ac_list = NULL;
	dlcp_drop_flowlabels(sk);
	np->pktoptions = NULL;
	RCU_INIT_POINTER(np->opt, NULL);
}

static void dlcp_child_addr6(struct sock *sk, struct sk_buff *skb)
{
	struct ipv6_pinfo *np = inet6_sk(sk);

	if (skb->protocol == htons(ETH_P_IP)) {
		ipv6_addr_set_v4mapped(ip_hdr(skb)->saddr, &sk->sk_v6_daddr);
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr,
				       &sk->sk_v6_rcv_saddr);
	} else {
		sk->sk_v6_daddr = ipv6_hdr(skb)->saddr;
		sk->sk_v6_rcv_saddr = ipv6_hdr(skb)->daddr;
	}
	np->saddr = sk->sk_v6_rcv_saddr;
}
#else
static void dlcp_child_pinet6(struct sock *sk, const struct sock *lsk)
{
}

static void dlcp_child_addr6(struct sock *sk, struct sk_buff *skb)
{
}
#endif

static void dlcp_child_addr(struct sock *sk, struct sk_buff *skb, u16 port)
{
	struct inet_sock *inet = inet_sk(sk);

	inet->inet_dport = htons(port);
	dlcp_sk(sk)->auto_addr = !inet->inet_saddr;
	if (skb->protocol == htons(ETH_P_IP)) {
		inet->inet_daddr = ip_hdr(skb)->saddr;
		inet->inet_saddr = ip_hdr(skb)->daddr;
		inet->inet_rcv_saddr = ip_hdr(skb)->daddr;
	} else {
		inet->inet_daddr = LOOPBACK4_IPV6;
		inet->inet_saddr = LOOPBACK4_IPV6;
		inet->inet_rcv_saddr = LOOPBACK4_IPV6;
	}
	if (sk->sk_family == AF_INET6)
		dlcp_child_addr6(sk, skb);
}

/* A child nobody has heard of. It is locked. */
static void dlcp_child_drop(struct sock *sk)
{
	sock_set_flag(sk, SOCK_DEAD);
	dlcp_destroy(sk);
	__acquire(&sk->sk_lock.slock);	/* by sk_clone_lock() */
	bh_unlock_sock(sk);
	sock_put(sk);
}

/**
 * dlcp_accept_child() - a connection from a valid ECHO
 * @lsk: the listener
 * @skb: the ECHO, for its addresses
 * @echo: what it says
 * @local_tag: tag of the new connection
 *
 * Context: softirq, or process with BH disabled; @lsk's lock held.
 * Return: the child, locked and with a reference: the caller transmits, then
 *	bh_unlock_sock() and sock_put(). NULL if it was refused.
 */
struct sock *dlcp_accept_child(struct sock *lsk, struct sk_buff *skb,
			       const struct dlcp_setup *echo, u64 local_tag)
{
	struct net *net = sock_net(lsk);
	struct dlcp_sock *ds;
	struct sock *sk;

	if (lsk->sk_state != TCP_LISTEN)
		return NULL;
	if (sk_acceptq_is_full(lsk)) {
		DLCP_INC(net, LISTEN_OVERFLOW);
		return NULL;
	}
	sk = sk_clone_lock(lsk, GFP_ATOMIC);
	if (!sk)
		goto nomem;
	dlcp_child_reset(sk, lsk);
	dlcp_child_pinet6(sk, lsk);
	dlcp_child_addr(sk, skb, echo->sport);
	sk->sk_bound_dev_if = dlcp_request_dev(lsk, skb);
	sk->sk_mark = inet_request_mark(lsk, skb);
	ds = dlcp_sk(sk);
	ds->encap = DLCP_SKB_CB(skb)->encap;
	ds->peer_port = dlcp_place_port(net, skb);
	if (dlcp_route(sk) < 0) {
		dlcp_child_drop(sk);
		DLCP_INC(net, LISTEN_NO_ROUTE);
		return NULL;
	}
	if (dlcp_conn_setup(sk, local_tag) || dlcp_table_add(sk)) {
		dlcp_child_drop(sk);
		goto nomem;
	}
	dlcp_conn_accept(&ds->conn, echo, dlcp_now());
	dlcp_conn_setup_took(&ds->conn,
			     dlcp_cookie_age(echo->cookie, dlcp_now()));
	security_inet_conn_established(sk, skb);
	list_add_tail(&ds->accept_node, &dlcp_sk(lsk)->accept_queue);
	sk_acceptq_added(lsk);
	lsk->sk_data_ready(lsk);
	return sk;

nomem:
	DLCP_INC(net, LISTEN_NOMEM);
	return NULL;
}

/* Nobody will accept this one. Somebody may own its lock, so wait for it. */
static void dlcp_child_stop(struct sock *csk)
{
	lock_sock_nested(csk, SINGLE_DEPTH_NESTING);
	sock_orphan(csk);
	dlcp_conn_abort(&dlcp_sk(csk)->conn, ECONNABORTED, NULL);
	/* Destroys it: at once if the connection was over already */
	dlcp_push(csk);
	release_sock(csk);
}

/**
 * dlcp_listen_stop() - be a listener no more
 * @sk: the listener
 *
 * Ends the connections that were not accepted.
 *
 * Context: process, the listener's lock owned, may sleep.
 */
void dlcp_listen_stop(struct sock *sk)
{
	struct dlcp_sock *child, *n;
	struct sock *csk;

	dlcp_assert_locked(sk);
	dlcp_port_unlisten(sk);
	list_for_each_entry_safe(child, n, &dlcp_sk(sk)->accept_queue,
				 accept_node) {
		csk = &child->inet.sk;
		list_del_init(&child->accept_node);
		sk_acceptq_removed(sk);
		sock_hold(csk);
		dlcp_child_stop(csk);
		sock_put(csk);
		cond_resched();
	}
}

/* A listener that SOCK_DESTROY has ended says so, once. The error of a connection
 * is not accept()'s to take.
 */
static int dlcp_no_listener(struct sock *sk)
{
	if (dlcp_sk(sk)->conn_ready)
		return -EINVAL;
	return sock_error(sk) ?: -EINVAL;
}

static int dlcp_wait_child(struct sock *sk, long timeo)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	DEFINE_WAIT(wait);
	int err;

	for (;;) {
		prepare_to_wait_exclusive(sk_sleep(sk), &wait,
					  TASK_INTERRUPTIBLE);
		release_sock(sk);
		timeo = schedule_timeout(timeo);
		sched_annotate_sleep();
		lock_sock(sk);
		err = 0;
		if (!list_empty(&ds->accept_queue))
			break;
		if (sk->sk_state != TCP_LISTEN) {
			err = dlcp_no_listener(sk);
			break;
		}
		err = sock_intr_errno(timeo);
		if (signal_pending(current))
			break;
		err = -EAGAIN;
		if (!timeo)
			break;
	}
	finish_wait(sk_sleep(sk), &wait);
	return err;
}

/**
 * dlcp_do_accept() - take the oldest connection of a listener
 * @sk: the listener
 * @flags: O_NONBLOCK
 * @err: negative errno if NULL is returned
 *
 * Context: process.
 * Return: the child, with the reference of its queue
 */
struct sock *dlcp_do_accept(struct sock *sk, int flags, int *err)
{
	struct dlcp_sock *child, *ds = dlcp_sk(sk);
	struct sock *csk = NULL;
	long timeo;

	lock_sock(sk);
	if (sk->sk_state != TCP_LISTEN) {
		*err = dlcp_no_listener(sk);
		goto out;
	}
	if (list_empty(&ds->accept_queue)) {
		timeo = sock_rcvtimeo(sk, flags & O_NONBLOCK);
		*err = timeo ? dlcp_wait_child(sk, timeo) : -EAGAIN;
		if (*err)
			goto out;
	}
	child = list_first_entry(&ds->accept_queue, struct dlcp_sock,
				 accept_node);
	list_del_init(&child->accept_node);
	sk_acceptq_removed(sk);
	csk = &child->inet.sk;
	*err = 0;
out:
	release_sock(sk);
	return csk;
}
