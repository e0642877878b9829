// SPDX-License-Identifier: GPL-2.0
/*
 * Data that came before the OPEN of its message: it overtook it on the way, or
 * was sent by another path. It is kept until that message is opened. Dropped,
 * it would be sent again more than a round trip later, and the message would
 * wait for it.
 */
#include "dlcp.h"

/* Packets that may be kept, or batches of them (GRO): at least what comes over
 * 10 Gbit/s in 300 us, by which one packet may be slower than the next
 */
#define DLCP_UNOPENED_MAX		U8_MAX

/**
 * dlcp_unopened_keep() - keep data whose message is not open yet
 * @sk: the connection
 * @skb: the data, for which there is room; taken if the answer is true
 *
 * Context: socket lock held; process or softirq.
 * Return: false: too much is kept already
 */
bool dlcp_unopened_keep(struct sock *sk, struct sk_buff *skb)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u64 used = atomic_read(&sk->sk_rmem_alloc);
	struct dlcp_data d;
	struct dlcp_hdr h;

	dlcp_assert_locked(sk);
	/* What is open comes first, if there is little room */
	if (ds->unopened_nr == DLCP_UNOPENED_MAX ||
	    used + skb->truesize > READ_ONCE(sk->sk_rcvbuf) / 2 ||
	    !dlcp_first_data(skb, &h, &d))
		return false;
	skb_orphan(skb);
	skb_dst_drop(skb);
	skb_set_owner_r(skb, sk);
	DLCP_SKB_CB(skb)->mask = d.msg;
	ds->unopened_nr++;
	skb->next = ds->unopened;
	ds->unopened = skb;
	return true;
}

static struct sk_buff *dlcp_unopened_pop(struct dlcp_sock *ds,
					 struct sk_buff **at)
{
	struct sk_buff *skb = *at;

	*at = skb->next;
	skb_mark_not_on_list(skb);
	ds->unopened_nr--;
	skb_orphan(skb);
	return skb;
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
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct sk_buff **at = &ds->unopened;
	struct sk_buff *skb, *list = NULL;

	dlcp_assert_locked(sk);
	while (*at) {
		if (!dlcp_conn_rx_known(&ds->conn,
					(u32)DLCP_SKB_CB(*at)->mask)) {
			at = &(*at)->next;
			continue;
		}
		/* The newest came first here, and comes last now */
		skb = dlcp_unopened_pop(ds, at);
		skb->next = list;
		list = skb;
	}
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
	struct dlcp_sock *ds = dlcp_sk(sk);

	while (ds->unopened)
		dlcp_drop(sock_net(sk), dlcp_unopened_pop(ds, &ds->unopened),
			  DLCP_MIB_DROP_UNOPENED);
}
