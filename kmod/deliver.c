// SPDX-License-Identifier: GPL-2.0
/*
 * A packet to its connection, under the socket's lock. Data that comes without GRO, one
 * packet at a time, is first joined with what follows it, as GRO would do: the lock, the
 * engine and the reader then see a run. What was joined waits for no longer than the
 * receive softirq is at work.
 */
#include <linux/interrupt.h>
#include <net/busy_poll.h>

#include "dlcp.h"

/**
 * struct dlcp_run - packets of data that follow each other, of a processor
 * @skb: their bytes; the header of the first is @first. NULL: there are none
 * @sk: whose they are, with a reference
 * @first: see @skb
 * @tasklet: delivers them, if nothing else does before
 *
 * Of a processor, by its softirqs alone.
 */
struct dlcp_run {
	struct sk_buff		*skb;
	struct sock		*sk;
	struct dlcp_words	first;
	struct tasklet_struct	tasklet;
};

static DEFINE_PER_CPU(struct dlcp_run, dlcp_runs);

/* A packet was processed. @soon: its sender waits for what is said to it alone. Nor does
 * the answer wait where there are events: a reader wakes up, whose own answer would
 * come behind the tasklet.
 * @ref: a reference, which may be taken
 */
static void dlcp_delivered(struct sock *sk, bool soon, struct sock **ref)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;

	if (soon || c->events || dlcp_conn_ack_full(c))
		dlcp_push_build(sk);
	else
		dlcp_push_later(sk, ref);
}

/* Takes @skb, which may reach the socket, and the reference. @soon: as above */
static void dlcp_deliver_now(struct sock *sk, struct sk_buff *skb, bool soon)
{
	struct net *net = sock_net(sk);
	struct sock *ref = sk;

	sk_incoming_cpu_update(sk);
	sk_mark_napi_id(sk, skb);
	sock_rps_save_rxhash(sk, skb);
	/* It may be gone when the packet is looked at again */
	skb->dev = NULL;

	bh_lock_sock_nested(sk);
	if (!sock_owned_by_user(sk)) {
		if (dlcp_process(sk, skb))
			dlcp_delivered(sk, soon, &ref);
	} else if (sk_add_backlog(sk, skb, dlcp_backlog_limit(sk))) {
		dlcp_drop(net, skb, DLCP_MIB_DROP_BACKLOG);
	} else {
		DLCP_INC(net, RX_BACKLOG);
	}
	bh_unlock_sock(sk);
	if (!ref)
		return;
	dlcp_push_xmit(sk);
	sock_put(sk);
}

/* May @skb reach the socket? Else it is dropped. */
static bool dlcp_passes(struct sock *sk, struct sk_buff *skb)
{
	int mib = dlcp_policy_in(sk, skb);

	if (mib)
		dlcp_drop(sock_net(sk), skb, mib);
	return !mib;
}

static void dlcp_run_deliver(struct dlcp_run *r, bool soon)
{
	struct sk_buff *skb = r->skb;

	if (!skb)
		return;
	/* Packets that go out may come back here */
	r->skb = NULL;
	if (DLCP_SKB_CB(skb)->run == 1) {
		DLCP_SKB_CB(skb)->step = 0;
		DLCP_SKB_CB(skb)->run = 0;
	}
	dlcp_deliver_now(r->sk, skb, soon);
}

/* The packets at hand are in: the answer waits no more */
static void dlcp_run_over(struct tasklet_struct *t)
{
	dlcp_run_deliver(container_of(t, struct dlcp_run, tasklet), true);
}

/* May others follow it? Neither an OPEN nor pieces are in a run. With PREEMPT_RT one
 * softirq may interrupt another.
 */
static bool dlcp_run_begins(const struct sk_buff *skb, const struct dlcp_hdr *h)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && h->type == DLCP_PT_DATA &&
	       !DLCP_SKB_CB(skb)->step &&
	       !(h->flags & (DLCP_F_OPEN | DLCP_F_PIECE | DLCP_F_LAST)) &&
	       !skb_cloned(skb);
}

/* Keep @skb for those that follow; takes it and the reference, if the answer is true */
static bool dlcp_run_begin(struct sock *sk, struct sk_buff *skb)
{
	struct dlcp_run *r = this_cpu_ptr(&dlcp_runs);
	struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	u8 buf[DLCP_DATA_HDR_LEN];
	const u8 *p = dlcp_peek(skb, 0, sizeof(buf), buf);

	if (r->skb || !p)
		return false;
	r->first = dlcp_get_words(p);
	r->skb = skb;
	r->sk = sk;
	cb->step = (u16)skb->len;
	cb->run = 1;
	skb->dev = NULL;
	skb_dst_drop(skb);
	tasklet_schedule(&r->tasklet);
	return true;
}

/* From the same place to the same? */
static bool dlcp_same_way(const struct sk_buff *a, const struct sk_buff *b)
{
	if (a->protocol != b->protocol || a->skb_iif != b->skb_iif)
		return false;
	if (a->protocol == htons(ETH_P_IP))
		return ip_hdr(a)->saddr == ip_hdr(b)->saddr &&
		       ip_hdr(a)->daddr == ip_hdr(b)->daddr;
	return ipv6_addr_equal(&ipv6_hdr(a)->saddr, &ipv6_hdr(b)->saddr) &&
	       ipv6_addr_equal(&ipv6_hdr(a)->daddr, &ipv6_hdr(b)->daddr);
}

/* Return: as dlcp_data_follows(), of what is at hand */
static u32 dlcp_run_follows(const struct dlcp_run *r, const struct net *net,
			    const struct sk_buff *skb)
{
	const struct dlcp_skb_cb *to = DLCP_SKB_CB(r->skb);
	const struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	u8 buf[DLCP_DATA_HDR_LEN];
	const u8 *p = dlcp_peek(skb, 0, sizeof(buf), buf);
	u32 same = p ? dlcp_data_follows(p, r->first, to->run) : 0;

	if (!same || sock_net(r->sk) != net || cb->step ||
	    skb->len > to->step || cb->rport != to->rport ||
	    cb->ce != to->ce || cb->encap != to->encap ||
	    !dlcp_same_way(skb, r->skb))
		return 0;
	return same;
}

/* Those at hand, and then @skb; takes it */
static void dlcp_run_alone(struct dlcp_run *r, struct sk_buff *skb)
{
	struct sock *sk = r->sk;

	sock_hold(sk);
	dlcp_run_deliver(r, false);
	dlcp_deliver_now(sk, skb, false);
}

/**
 * dlcp_run_add() - a packet that follows those at hand is joined with them
 * @net: the namespace
 * @skb: a packet, with dlcp_skb_cb; taken if the answer is true
 *
 * If it does not follow them they are delivered, so that all stays in order.
 *
 * Context: softirq, RCU read lock held.
 */
bool dlcp_run_add(struct net *net, struct sk_buff *skb)
{
	struct dlcp_run *r = this_cpu_ptr(&dlcp_runs);
	u64 wire = DLCP_SKB_CB(skb)->wire;
	u32 len = skb->len, same;
	struct dlcp_skb_cb *to;
	bool stolen;
	int more;

	if (!r->skb)
		return false;
	same = dlcp_run_follows(r, net, skb);
	if (!same) {
		dlcp_run_deliver(r, false);
		return false;
	}
	if (!dlcp_passes(r->sk, skb))
		return true;
	/* A filter may have cut it */
	if (skb->len != len ||
	    !skb_try_coalesce(r->skb, skb, &stolen, &more)) {
		dlcp_run_alone(r, skb);
		return true;
	}
	kfree_skb_partial(skb, stolen);
	DLCP_INC(net, RX_JOINED);
	to = DLCP_SKB_CB(r->skb);
	/* The last one is what the answer names */
	to->wire = wire;
	to->run++;
	if (same > 1 || len < to->step || to->run == DLCP_SKB_SEGS)
		dlcp_run_deliver(r, false);
	return true;
}

/**
 * dlcp_deliver() - a packet for a connection
 * @sk: the connection, with a reference, which is taken
 * @skb: the packet, with dlcp_skb_cb; taken
 * @h: its header
 *
 * Context: softirq, RCU read lock held.
 */
void dlcp_deliver(struct sock *sk, struct sk_buff *skb,
		  const struct dlcp_hdr *h)
{
	bool soon = h->type != DLCP_PT_DATA && h->type != DLCP_PT_CTRL;

	if (!dlcp_passes(sk, skb))
		sock_put(sk);
	else if (!dlcp_run_begins(skb, h) || !dlcp_run_begin(sk, skb))
		dlcp_deliver_now(sk, skb, soon);
}

void __init dlcp_deliver_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_setup(&per_cpu_ptr(&dlcp_runs, cpu)->tasklet,
			      dlcp_run_over);
}

/* As dlcp_push_exit() */
void dlcp_deliver_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		tasklet_kill(&per_cpu_ptr(&dlcp_runs, cpu)->tasklet);
}
