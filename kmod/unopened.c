// SPDX-License-Identifier: GPL-2.0
/*
 * skbs of data that came before the OPEN of its message, until it is opened. How
 * much is kept, and when it comes up again, the engine says.
 */
#include "dlcp.h"

static struct sk_buff *dlcp_unopened_skb(struct dlcp_unopened *held)
{
	return container_of((void *)container_of(held, struct dlcp_skb_cb, held),
			    struct sk_buff, cb);
}

/**
 * dlcp_unopened_keep() - keep data whose message is not open yet
 * @sk: the connection
 * @skb: the data, for which there is room; taken if the answer is true
 * @msg: message its first packet is of
 * @nr: packets
 *
 * Context: socket lock held; process or softirq.
 * Return: false: too much is kept already
 */
bool dlcp_unopened_keep(struct sock *sk, struct sk_buff *skb, u32 msg, u32 nr)
{
	struct dlcp_unopened *held = &DLCP_SKB_CB(skb)->held;
	u64 used = atomic_read(&sk->sk_rmem_alloc);

	dlcp_assert_locked(sk);
	if (!dlcp_conn_unopened_keep(&dlcp_sk(sk)->conn, held, msg, nr,
				     used + skb->truesize,
				     READ_ONCE(sk->sk_rcvbuf)))
		return false;
	skb_orphan(skb);
	skb_dst_drop(skb);
	skb_set_owner_r(skb, sk);
	return true;
}

/**
 * dlcp_unopened_opened() - take what was kept of messages that are open now
 * @sk: the connection
 *
 * Context: socket lock held; process or softirq.
 * Return: a list, the oldest first
 */
struct sk_buff *dlcp_unopened_opened(struct sock *sk)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dlcp_unopened *held = dlcp_conn_unopened_take(c);
	struct sk_buff *list = NULL, **end = &list;

	dlcp_assert_locked(sk);
	for (; held; held = held->next) {
		*end = dlcp_unopened_skb(held);
		skb_orphan(*end);
		end = &(*end)->next;
	}
	*end = NULL;
	return list;
}

/**
 * dlcp_unopened_purge() - drop what is kept
 * @sk: the connection
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_unopened_purge(struct sock *sk)
{
	struct dlcp_unopened *held;
	struct sk_buff *skb;

	while ((held = dlcp_conn_unopened_any(&dlcp_sk(sk)->conn))) {
		skb = dlcp_unopened_skb(held);
		skb_orphan(skb);
		dlcp_drop(sock_net(sk), skb, DLCP_MIB_DROP_UNOPENED);
	}
}
