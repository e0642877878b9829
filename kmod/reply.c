// SPDX-License-Identifier: GPL-2.0
/* Answers to packets of no connection. Nothing is kept of them. */
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/route.h>

#include "dlcp.h"
#include "flow.h"

/* The route of an answer, by which its listener's connections would go */
static int dlcp_reply_flow4(struct net *net, struct sock *lsk,
			    struct sk_buff *skb, struct dlcp_flow *f)
{
	const struct iphdr *iph = ip_hdr(skb);
	struct flowi4 fl4;
	struct rtable *rt;

	if (!skb_rtable(skb) || skb_rtable(skb)->rt_type != RTN_LOCAL)
		return -EINVAL;
	flowi4_init_output(&fl4, f->oif, f->mark, dlcp_route_tos(lsk),
			   dlcp_route_scope(lsk), dlcp_ip_proto(f->encap),
			   lsk ? inet_sk_flowi_flags(lsk) : 0, iph->saddr,
			   iph->daddr, htons(f->dport), htons(f->sport),
			   sock_net_uid(net, lsk));
	if (lsk)
		security_sk_classify_flow(lsk, flowi4_to_flowi_common(&fl4));
	else
		security_skb_classify_flow(skb, flowi4_to_flowi_common(&fl4));
	rt = ip_route_output_flow(net, &fl4, lsk);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	f->dst = &rt->dst;
	f->saddr4 = iph->daddr;
	f->daddr4 = iph->saddr;
	f->ttl = lsk && READ_ONCE(inet_sk(lsk)->uc_ttl) >= 0 ?
		 READ_ONCE(inet_sk(lsk)->uc_ttl) : ip4_dst_hoplimit(f->dst);
	return 0;
}

#if IS_ENABLED(CONFIG_IPV6)
static int dlcp_reply_flow6(struct net *net, struct sock *lsk,
			    struct sk_buff *skb, struct dlcp_flow *f)
{
	const struct ipv6hdr *ip6h = ipv6_hdr(skb);
	struct flowi6 fl6;

	if (!ipv6_unicast_destination(skb) ||
	    !(ipv6_addr_type(&ip6h->saddr) & IPV6_ADDR_UNICAST))
		return -EINVAL;
	memset(&fl6, 0, sizeof(fl6));
	fl6.flowi6_oif = f->oif;
	fl6.flowi6_mark = f->mark;
	fl6.flowlabel = dlcp_route_label(lsk);
	fl6.flowi6_uid = sock_net_uid(net, lsk);
	fl6.flowi6_proto = dlcp_ip_proto(f->encap);
	fl6.daddr = ip6h->saddr;
	fl6.saddr = ip6h->daddr;
	fl6.fl6_sport = htons(f->sport);
	fl6.fl6_dport = htons(f->dport);
	if (lsk)
		security_sk_classify_flow(lsk, flowi6_to_flowi_common(&fl6));
	else
		security_skb_classify_flow(skb, flowi6_to_flowi_common(&fl6));
	f->dst = ip6_dst_lookup_flow(net, lsk, &fl6, NULL);
	if (IS_ERR(f->dst))
		return PTR_ERR(f->dst);
	f->saddr6 = &ip6h->daddr;
	f->daddr6 = &ip6h->saddr;
	f->ttl = lsk && inet6_sk(lsk)->hop_limit >= 0 ?
		 inet6_sk(lsk)->hop_limit : ip6_dst_hoplimit(f->dst);
	return 0;
}
#else
static int dlcp_reply_flow6(struct net *net, struct sock *lsk,
			    struct sk_buff *skb, struct dlcp_flow *f)
{
	return -EAFNOSUPPORT;
}
#endif

/* A listener's answers go the way of its connections; nobody's go back to where
 * the packet came from, if that can be told from its address
 */
static void dlcp_reply_way(struct net *net, const struct sock *lsk,
			   struct sk_buff *skb, struct dlcp_flow *f)
{
	if (lsk) {
		f->oif = dlcp_request_dev(lsk, skb);
		f->mark = inet_request_mark(lsk, skb);
		return;
	}
	if (netif_index_is_l3_master(net, skb->skb_iif))
		f->oif = skb->skb_iif;
	if (skb->protocol == htons(ETH_P_IP)) {
		f->mark = IP4_REPLY_MARK(net, skb->mark);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	f->mark = IP6_REPLY_MARK(net, skb->mark);
	if (ipv6_addr_type(&ipv6_hdr(skb)->saddr) & IPV6_ADDR_LINKLOCAL)
		f->oif = DLCP_SKB_CB(skb)->header.h6.iif;
#endif
}

/* For programs and rules that ask for the socket of a packet */
static void dlcp_reply_owner(struct sk_buff *reply, struct sock *lsk)
{
	if (!lsk)
		return;
	sock_hold(lsk);
	reply->sk = lsk;
	reply->destructor = sock_efree;
}

/**
 * dlcp_reply() - answer a packet without a connection
 * @net: the namespace it came in
 * @lsk: the listener it is for; NULL: there is none
 * @skb: the packet: network header and dlcp_skb_cb valid; it is only read
 * @pkt: the DLCP packet to send back where it came from
 * @len: its length
 *
 * Context: softirq, RCU read lock held.
 */
void dlcp_reply(struct net *net, struct sock *lsk, struct sk_buff *skb,
		const u8 *pkt, u32 len)
{
	const struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	struct dlcp_net *dn = dlcp_pernet(net);
	u16 home = READ_ONCE(dn->udp_port);
	struct dlcp_flow f = {
		/* The answer is of the same flow, for firewalls on the way. Who
		 * asks again does so from another port, for another way through
		 * the network: then the answer takes another one too
		 */
		.sport = cb->here ? home : cb->rport,
		.dport = cb->here ? cb->rport : home,
		.tos = dlcp_tos(dn, lsk, skb->protocol == htons(ETH_P_IP),
				0xff),
		.encap = cb->encap,
	};
	struct sk_buff *reply;
	int err;

	dlcp_reply_way(net, lsk, skb, &f);
	if (skb->protocol == htons(ETH_P_IP))
		err = dlcp_reply_flow4(net, lsk, skb, &f);
	else
		err = dlcp_reply_flow6(net, lsk, skb, &f);
	if (err)
		return;
	if (dst_mtu(f.dst) < DLCP_MTU_MIN)
		f.frag_max = DLCP_MTU_MIN;
	reply = dlcp_new_skb(f.dst, len);
	if (reply) {
		skb_put_data(reply, pkt, len);
		if (!dlcp_put_headers(net, reply, &f)) {
			reply->priority = dlcp_priority(dn, lsk, 0xff);
			reply->mark = f.mark;
			dlcp_reply_owner(reply, lsk);
			dlcp_ip_out(net, lsk, reply);
		}
	}
	dst_release(f.dst);
}
