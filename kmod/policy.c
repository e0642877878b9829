// SPDX-License-Identifier: GPL-2.0
/*
 * What the administrator and the owner of a socket have to say of packets that
 * reach it, of set-up as of connections: the places and the order of TCP.
 */
#include <linux/filter.h>
#include <linux/security.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/request_sock.h>
#include <net/tcp_states.h>
#include <net/xfrm.h>

#include "dlcp.h"

/**
 * dlcp_dev_matches() - may a packet that came by this device reach a socket?
 * @sk: a listener or a connection
 * @skb: the packet
 *
 * A socket that is bound to a device or VRF takes what came by it. One that is
 * not takes what came by a VRF only if net.ipv4.tcp_l3mdev_accept says so.
 *
 * Context: RCU read lock held.
 */
bool dlcp_dev_matches(const struct sock *sk, struct sk_buff *skb)
{
	int dev = READ_ONCE(sk->sk_bound_dev_if);

	if (skb->protocol == htons(ETH_P_IP))
		return inet_sk_bound_dev_eq(sock_net(sk), dev, inet_iif(skb),
					    inet_sdif(skb));
#if IS_ENABLED(CONFIG_IPV6)
	return inet_sk_bound_dev_eq(sock_net(sk), dev, inet6_iif(skb),
				    inet6_sdif(skb));
#else
	return false;
#endif
}

/**
 * dlcp_request_dev() - the device that a listener's connection is bound to
 * @lsk: the listener
 * @skb: a packet of the set-up
 *
 * Return: ifindex; 0: none
 */
int dlcp_request_dev(const struct sock *lsk, struct sk_buff *skb)
{
	int dev = inet_request_bound_dev_if(lsk, skb);

#if IS_ENABLED(CONFIG_IPV6)
	/* Not the VRF: the address is one on the device itself */
	if (skb->protocol == htons(ETH_P_IPV6) &&
	    ipv6_addr_type(&ipv6_hdr(skb)->saddr) & IPV6_ADDR_LINKLOCAL)
		dev = DLCP_SKB_CB(skb)->header.h6.iif;
#endif
	return dev;
}

/* IP_MINTTL, IPV6_MINHOPCOUNT */
static bool dlcp_ttl_ok(const struct sock *sk, const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return ip_hdr(skb)->ttl >= READ_ONCE(inet_sk(sk)->min_ttl);
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_hdr(skb)->hop_limit >=
	       READ_ONCE(inet6_sk(sk)->min_hopcount);
#else
	return false;
#endif
}

static bool dlcp_xfrm_ok(struct sock *sk, struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return xfrm4_policy_check(sk, XFRM_POLICY_IN, skb);
	return xfrm6_policy_check(sk, XFRM_POLICY_IN, skb);
}

/**
 * dlcp_policy_in() - may a packet reach a socket?
 * @sk: a listener or a connection
 * @skb: the packet, skb->dev valid; a socket filter may cut it
 *
 * Asks, as TCP does, for the device, IP_MINTTL, IPsec, and, in sk_filter(),
 * programs of the control group, security modules and the socket's filter.
 *
 * Context: softirq, RCU read lock held.
 * Return: 0, or the counter of the reason to drop.
 */
int dlcp_policy_in(struct sock *sk, struct sk_buff *skb)
{
	if (!dlcp_dev_matches(sk, skb))
		return DLCP_MIB_DROP_DEVICE;
	if (!dlcp_ttl_ok(sk, skb))
		return DLCP_MIB_DROP_TTL;
	if (!dlcp_xfrm_ok(sk, skb))
		return DLCP_MIB_DROP_POLICY;
	if (sk_filter(sk, skb))
		return DLCP_MIB_DROP_FILTER;
	return 0;
}

#ifdef CONFIG_SECURITY_NETWORK
static const struct request_sock_ops dlcp_request_ops4 = {
	.family		= PF_INET,
};

static const struct request_sock_ops dlcp_request_ops6 = {
	.family		= PF_INET6,
};

static void dlcp_request_addrs(struct inet_request_sock *ireq,
			       const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		ireq->ir_rmt_addr = ip_hdr(skb)->saddr;
		ireq->ir_loc_addr = ip_hdr(skb)->daddr;
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	ireq->ir_v6_rmt_addr = ipv6_hdr(skb)->saddr;
	ireq->ir_v6_loc_addr = ipv6_hdr(skb)->daddr;
#endif
}

/**
 * dlcp_request_ok() - do the security modules allow a connection?
 * @lsk: the listener
 * @skb: INIT or ECHO
 * @s: what it says
 *
 * They want a struct request_sock. Nothing of the connection is kept between
 * INIT and ECHO, so each has one of its own, as with TCP's cookies.
 *
 * Context: softirq, RCU read lock held.
 */
noinline_for_stack bool dlcp_request_ok(struct sock *lsk, struct sk_buff *skb,
					const struct dlcp_setup *s)
{
	struct inet_request_sock ireq;
	bool ok;

	memset(&ireq, 0, sizeof(ireq));
	ireq.req.rsk_ops = skb->protocol == htons(ETH_P_IP) ?
			   &dlcp_request_ops4 : &dlcp_request_ops6;
	ireq.req.rsk_listener = lsk;
	ireq.ireq_family = ireq.req.rsk_ops->family;
	ireq.ireq_state = TCP_NEW_SYN_RECV;
	write_pnet(&ireq.ireq_net, sock_net(lsk));
	ireq.ir_num = s->dport;
	ireq.ir_rmt_port = htons(s->sport);
	ireq.ir_mark = inet_request_mark(lsk, skb);
	ireq.ir_iif = dlcp_request_dev(lsk, skb);
	dlcp_request_addrs(&ireq, skb);
	ok = !security_inet_conn_request(lsk, skb, &ireq.req);
	/* IP options with a label, of either family */
	kfree(rcu_access_pointer(ireq.ireq_opt));
	return ok;
}
#else
bool dlcp_request_ok(struct sock *lsk, struct sk_buff *skb,
		     const struct dlcp_setup *s)
{
	return true;
}
#endif
