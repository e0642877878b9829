// SPDX-License-Identifier: GPL-2.0
/*
 * DLCP in an IP protocol of its own (253, "for experimentation"), for closed
 * fabrics; module parameter raw. An 8-byte header like UDP's carries the
 * entropy of the path, the length and the checksum. Network cards neither
 * hash nor cut nor merge it.
 */
#include <linux/icmpv6.h>
#include <linux/module.h>
#include <linux/udp.h>
#include <net/icmp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/protocol.h>
#include <net/route.h>

#include "dlcp.h"

bool dlcp_raw;
module_param_named(raw, dlcp_raw, bool, 0444);
MODULE_PARM_DESC(raw, "also carry DLCP in IP protocol 253 (default: UDP only)");

/* Length, then checksum. Return: 0, or the counter of the reason to drop. */
static int dlcp_raw_check(struct sk_buff *skb)
{
	const struct udphdr *uh;
	unsigned int len;
	__sum16 bad;

	if (!pskb_may_pull(skb, sizeof(*uh)))
		return DLCP_MIB_DROP_SHORT;
	uh = udp_hdr(skb);
	len = ntohs(uh->len);
	if (len < sizeof(*uh) || len > skb->len || pskb_trim_rcsum(skb, len))
		return DLCP_MIB_DROP_SHORT;
	if (skb->protocol == htons(ETH_P_IP))
		bad = skb_checksum_validate(skb, IPPROTO_DLCP,
					    inet_compute_pseudo);
	else
		bad = skb_checksum_validate(skb, IPPROTO_DLCP,
					    ip6_compute_pseudo);
	return bad ? DLCP_MIB_DROP_CSUM : 0;
}

static int dlcp_raw_rcv(struct sk_buff *skb)
{
	struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	int mib;

	mib = dlcp_raw_check(skb);
	if (mib) {
		dlcp_drop(dev_net(skb->dev), skb, mib);
		return 0;
	}
	cb->rport = ntohs(udp_hdr(skb)->source);
	cb->step = 0;
	cb->run = 0;
	cb->ce = INET_ECN_is_ce(skb->protocol == htons(ETH_P_IP) ?
				ip_hdr(skb)->tos :
				ipv6_get_dsfield(ipv6_hdr(skb)));
	cb->encap = DLCP_ENCAP_RAW;
	cb->mask = 0;
	__skb_pull(skb, sizeof(struct udphdr));
	return dlcp_rcv(skb);
}

/* The route must not believe an error either that is not about our packet */
static bool dlcp_raw_ours(struct net *net, const struct sk_buff *skb,
			  int offset)
{
	struct sock *sk = dlcp_icmp_find(net, skb, offset);

	if (!sk) {
		DLCP_INC(net, DROP_ICMP);
		return false;
	}
	sock_put(sk);
	return true;
}

static int dlcp_raw_err4(struct sk_buff *skb, u32 info)
{
	const struct iphdr *iph = (const struct iphdr *)skb->data;
	int offset = iph->ihl * 4 + sizeof(struct udphdr);
	int err = dlcp_icmp_errno(skb, AF_INET);
	struct net *net = dev_net(skb->dev);

	if (!dlcp_raw_ours(net, skb, offset))
		return -ENOENT;
	if (icmp_hdr(skb)->type == ICMP_REDIRECT) {
		ipv4_redirect(skb, net, 0, IPPROTO_DLCP);
		return 0;
	}
	if (err == -EMSGSIZE)
		ipv4_update_pmtu(skb, net, info, 0, IPPROTO_DLCP);
	dlcp_icmp(net, skb, offset, err);
	return 0;
}

static const struct net_protocol dlcp_raw_protocol = {
	.handler	= dlcp_raw_rcv,
	.err_handler	= dlcp_raw_err4,
	/* An error quotes a tag: net.ipv4.ip_no_pmtu_disc=3 may believe it */
	.icmp_strict_tag_validation = 1,
};

#if IS_ENABLED(CONFIG_IPV6)
static int dlcp_raw_err6(struct sk_buff *skb, struct inet6_skb_parm *opt,
			 u8 type, u8 code, int offset, __be32 info)
{
	struct net *net = dev_net(skb->dev);
	int err;

	offset += sizeof(struct udphdr);
	if (!dlcp_raw_ours(net, skb, offset))
		return -ENOENT;
	if (type == NDISC_REDIRECT) {
		ip6_redirect(skb, net, skb->dev->ifindex, 0,
			     sock_net_uid(net, NULL));
		return 0;
	}
	icmpv6_err_convert(type, code, &err);
	if (type == ICMPV6_PKT_TOOBIG)
		ip6_update_pmtu(skb, net, info, 0, 0, sock_net_uid(net, NULL));
	dlcp_icmp(net, skb, offset, -err);
	return 0;
}

static const struct inet6_protocol dlcp_raw6_protocol = {
	.handler	= dlcp_raw_rcv,
	.err_handler	= dlcp_raw_err6,
	.flags		= INET6_PROTO_FINAL,
};

static int dlcp_raw_add6(void)
{
	return inet6_add_protocol(&dlcp_raw6_protocol, IPPROTO_DLCP);
}

static void dlcp_raw_del6(void)
{
	inet6_del_protocol(&dlcp_raw6_protocol, IPPROTO_DLCP);
}
#else
static int dlcp_raw_add6(void)
{
	return 0;
}

static void dlcp_raw_del6(void)
{
}
#endif

int dlcp_raw_register(void)
{
	if (inet_add_protocol(&dlcp_raw_protocol, IPPROTO_DLCP))
		goto taken;
	if (dlcp_raw_add6()) {
		inet_del_protocol(&dlcp_raw_protocol, IPPROTO_DLCP);
		goto taken;
	}
	return 0;

taken:
	pr_err("dlcp: IP protocol %d is in use by another module\n",
	       IPPROTO_DLCP);
	return -EBUSY;
}

void dlcp_raw_unregister(void)
{
	dlcp_raw_del6();
	inet_del_protocol(&dlcp_raw_protocol, IPPROTO_DLCP);
}
