// SPDX-License-Identifier: GPL-2.0
/*
 * The loop of a connection: ask the engine what to do, build packets, handle
 * its events, arm the timer; then give the packets to IP. And what comes back
 * to it: the timer, and work put off while a user owned the socket.
 */
#include <linux/interrupt.h>
#include <linux/llist.h>

#include "dlcp.h"
#include "flow.h"
#include "trace.h"

static bool dlcp_grow(int *buf, u64 want, unsigned int most)
{
	if (want <= *buf || *buf >= most)
		return false;
	WRITE_ONCE(*buf, min_t(u64, want, most));
	return true;
}

/*
 * Buffers that the user has not set grow with the connection. Sending: what
 * is in flight, as much again in user's hands, and twice for the overhead.
 * Receiving: half of the buffer is the peer's to fill, half of that may be
 * one message, and it takes a round trip to hear of more.
 */
static void dlcp_tune_buffers(struct sock *sk, u64 now)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_conn *c = &ds->conn;
	u64 all = c->cnt[DLCP_CNT_RX_DELIVERED];

	if (sk_under_memory_pressure(sk))
		return;
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK) &&
	    dlcp_grow(&sk->sk_sndbuf, 4 * c->inflight, READ_ONCE(dn->wmem[2])))
		dlcp_write_space(sk);
	if (now < ds->tune_time)
		return;
	/* Less than before: it is another connection */
	if (all > ds->tune_bytes) {
		if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK))
			dlcp_grow(&sk->sk_rcvbuf, 8 * (all - ds->tune_bytes),
				  READ_ONCE(dn->rmem[2]));
		dlcp_rx_sync_space(sk);
		dlcp_conn_rx_came(c, all - ds->tune_bytes);
	}
	ds->tune_bytes = all;
	ds->tune_time = now + max_t(u64, c->paths[0].rtt.srtt,
				    50 * NSEC_PER_USEC);
}

/* What came may be over with it. A connection that is over has a last packet to send
 * first.
 */
static void dlcp_take_events(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_conn *c = &ds->conn;

	if (ds->conn_ready && c->events && c->state != DLCP_CLOSED) {
		trace_dlcp_events(sk, c);
		dlcp_events(sk);
	}
}

/**
 * dlcp_push_build() - do what the engine wants done, but for transmitting
 * @sk: a connection; nothing happens if it has no engine
 *
 * Builds packets onto txq, handles events, arms the timer. To be followed by
 * dlcp_push_xmit() once the lock is free.
 *
 * Context: socket lock held, process or softirq.
 */
void dlcp_push_build(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_conn *c = &ds->conn;
	u64 now = 0;

	dlcp_assert_locked(sk);
	ds->later_due = 0;
	dlcp_take_events(sk);	/* and the engine is asked once */
	while (ds->conn_ready) {
		now = dlcp_now();
		/* It counts from when it is set, of which nobody tells us */
		c->cong.max_rate = dlcp_max_rate(sk);
		dlcp_hostq_settle(sk, now);
		dlcp_build(sk, now);
		if (!c->events)
			break;
		trace_dlcp_events(sk, c);
		dlcp_events(sk);
	}
	/* It is over, and now the last packet of it is built too */
	if (ds->conn_ready && c->state == DLCP_CLOSED)
		dlcp_events(sk);
	if (!ds->conn_ready)
		return;
	dlcp_tune_buffers(sk, now);
	dlcp_timer_arm(sk, now);
	dlcp_mib_counted(sk);
}

static void dlcp_xmit(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	struct dlcp_tx_note what = DLCP_TX_CB(skb)->note;
	int err = dlcp_ip_out(net, sk, skb);

	if (!err)
		return;
	DLCP_INC(net, TX_QUEUE_DROP);
	/* An errno is a firewall's, or of a device that is down: nothing is
	 * gained by another try at once.
	 */
	if (err == NET_XMIT_DROP)
		dlcp_hostq_refused(sk, &what);
}

/**
 * dlcp_push_xmit() - give the packets on txq to IP
 * @sk: the connection, with a reference
 *
 * Context: any but hard interrupts; without the socket's spinlock if it can be.
 */
void dlcp_push_xmit(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct net *net = sock_net(sk);
	struct sk_buff_head list;
	struct sk_buff *skb;

	__skb_queue_head_init(&list);
	while (!skb_queue_empty_lockless(&ds->txq)) {
		/* Whoever has it looks at the queue again afterwards. Not to
		 * be interrupted by a softirq or put to sleep meanwhile: it
		 * would hold up everyone's packets.
		 */
		local_bh_disable();
		if (test_and_set_bit(0, &ds->tx_busy)) {
			local_bh_enable();
			return;
		}
		spin_lock(&ds->txq.lock);
		skb_queue_splice_tail_init(&ds->txq, &list);
		spin_unlock(&ds->txq.lock);
		while ((skb = __skb_dequeue(&list)))
			dlcp_xmit(net, sk, skb);
		clear_bit_unlock(0, &ds->tx_busy);
		/* Free it before looking at the queue: who filled that looks
		 * at it afterwards.
		 */
		smp_mb__after_atomic();
		local_bh_enable();
	}
}

/**
 * dlcp_push() - do what the engine wants done, and transmit
 * @sk: a connection; nothing happens if it has no engine
 *
 * Context: socket lock held, process or softirq.
 */
void dlcp_push(struct sock *sk)
{
	dlcp_assert_locked(sk);
	dlcp_push_build(sk);
	dlcp_push_xmit(sk);
}

/**
 * dlcp_push_read() - a message was read: dlcp_push(), if there is something to do
 * @sk: a connection; nothing happens if it has no engine
 *
 * Mostly there is not: the next ACK tells the peer of the room.
 *
 * Context: process, socket lock owned.
 */
void dlcp_push_read(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_take_events(sk);
	if (!ds->conn_ready || dlcp_data_due(sk, dlcp_now()))
		dlcp_push(sk);
}

/*
 * Packets that come together are answered together: the tasklet runs once the
 * receive softirq is through with them.
 */
struct dlcp_later {
	struct llist_head	socks;	/* struct dlcp_sock.later */
	struct tasklet_struct	tasklet;
};

static DEFINE_PER_CPU(struct dlcp_later, dlcp_later);

/**
 * dlcp_push_later() - dlcp_push() when the packets at hand are in
 * @sk: the connection
 * @ref: a reference to it, which is taken
 *
 * Context: softirq, socket's spinlock held, no user owns the socket.
 */
void dlcp_push_later(struct sock *sk, struct sock **ref)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_later *l;

	dlcp_assert_locked(sk);
	ds->later_due = 1;
	if (ds->later_queued)
		return;
	ds->later_queued = 1;
	*ref = NULL;
	l = this_cpu_ptr(&dlcp_later);
	if (llist_add(&ds->later, &l->socks))
		tasklet_schedule(&l->tasklet);
}

static void dlcp_later_push(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	bh_lock_sock(sk);
	ds->later_queued = 0;
	if (ds->later_due) {
		if (sock_owned_by_user(sk))
			set_bit(DLCP_DEFER_PUSH, &ds->deferred);
		else
			dlcp_push_build(sk);
	}
	bh_unlock_sock(sk);
	dlcp_push_xmit(sk);
	sock_put(sk);
}

/* Those of a processor that is gone run on another one: not that one's list */
static void dlcp_later_run(struct tasklet_struct *t)
{
	struct dlcp_later *l = container_of(t, struct dlcp_later, tasklet);
	struct llist_node *first = llist_del_all(&l->socks);
	struct dlcp_sock *ds, *next;

	/* The one that waited longest first */
	first = llist_reverse_order(first);
	llist_for_each_entry_safe(ds, next, first, later)
		dlcp_later_push(&ds->inet.sk);
}

void __init dlcp_push_init(void)
{
	struct dlcp_later *l;
	int cpu;

	for_each_possible_cpu(cpu) {
		l = per_cpu_ptr(&dlcp_later, cpu);
		init_llist_head(&l->socks);
		tasklet_setup(&l->tasklet, dlcp_later_run);
	}
}

/* No socket is on a list: it has a reference there, and holds the module. But the
 * tasklet that put the last one may not have returned.
 */
void dlcp_push_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&dlcp_later, cpu)->tasklet);
}

static enum hrtimer_restart dlcp_timer_fire(struct hrtimer *timer)
{
	struct dlcp_sock *ds = container_of(timer, struct dlcp_sock, timer);
	struct sock *sk = &ds->inet.sk;
	bool again;

	spin_lock(&ds->timer_lock);
	/* Armed again before it got here: then that firing does the work */
	again = hrtimer_is_queued(timer);
	if (!again)
		ds->timer_ref = 0;
	spin_unlock(&ds->timer_lock);
	if (again)
		return HRTIMER_NORESTART;

	bh_lock_sock(sk);
	ds->wakeup.fired = 1;
	if (sock_owned_by_user(sk)) {
		set_bit(DLCP_DEFER_TIMER, &ds->deferred);
	} else if (ds->conn_ready) {
		dlcp_conn_timer(&ds->conn, dlcp_now());
		dlcp_push_build(sk);
	}
	bh_unlock_sock(sk);
	dlcp_push_xmit(sk);
	sock_put(sk);
	return HRTIMER_NORESTART;
}

/**
 * dlcp_timer_init() - prepare the timer and what is kept here of a socket
 * @sk: a new socket, nobody else knows of it yet
 */
void dlcp_timer_init(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_hrtimer_setup(&ds->timer, dlcp_timer_fire, CLOCK_MONOTONIC,
			   HRTIMER_MODE_ABS_PINNED_SOFT);
	spin_lock_init(&ds->timer_lock);
	ds->timer_ref = 0;
	memset(&ds->wakeup, 0, sizeof(ds->wakeup));
	skb_queue_head_init(&ds->txq);
	ds->hostq = NULL;
	ds->tx_busy = 0;
	ds->deferred = 0;
	ds->later_queued = 0;
	ds->later_due = 0;
	ds->tune_time = 0;
	ds->tune_bytes = 0;
	memset(ds->cnt_seen, 0, sizeof(ds->cnt_seen));
	memset(ds->cnt_high, 0, sizeof(ds->cnt_high));
	ds->cnt_lags = 0;
	ds->timer_ready = 1;
}

/**
 * dlcp_run_deferred() - what softirq left while a user owned the socket
 * @sk: the connection
 *
 * Context: release_cb: the socket's spinlock held, still owned.
 */
void dlcp_run_deferred(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	bool push = false;

	if (likely(!READ_ONCE(ds->deferred)) || !ds->conn_ready)
		return;
	if (test_and_clear_bit(DLCP_DEFER_MTU, &ds->deferred)) {
		dlcp_sync_mtu(sk);
		push = true;
	}
	if (test_and_clear_bit(DLCP_DEFER_ERROR, &ds->deferred)) {
		dlcp_conn_soft_error(&ds->conn, READ_ONCE(ds->soft_error));
		push = true;
	}
	if (test_and_clear_bit(DLCP_DEFER_TIMER, &ds->deferred)) {
		dlcp_conn_timer(&ds->conn, dlcp_now());
		push = true;
	}
	if (test_and_clear_bit(DLCP_DEFER_PUSH, &ds->deferred))
		push = true;
	if (push)
		dlcp_push(sk);
}
