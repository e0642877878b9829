/* SPDX-License-Identifier: GPL-2.0 */
/* What packets of connections and answers to others have in common: output.c */
#ifndef _DLCP_FLOW_H
#define _DLCP_FLOW_H

#include "dlcp.h"

/* Every host takes that much, and a control packet with something in it needs
 * it. Links of less get fragments.
 */
#define DLCP_MTU_MIN	576U

/**
 * struct dlcp_flow - all that goes into the headers below DLCP
 * @dst: the route; a reference is taken for each skb
 * @saddr4: source, IPv4
 * @daddr4: destination, IPv4
 * @saddr6: source, IPv6; NULL for IPv4
 * @daddr6: destination, IPv6
 * @label: IPv6 flow label
 * @sport: UDP source port, host order
 * @dport: UDP destination port, host order
 * @ttl: hop limit
 * @tos: DSCP and ECN
 * @encap: enum dlcp_encap
 * @ident: of IPv4, of the next packet; NULL: 0
 * @frag_max: may be fragmented, into pieces of this size; 0: may not
 * @pair: of addresses, of a connection
 * @oif: of an answer: the device it must leave by; 0: any
 * @mark: of an answer
 */
struct dlcp_flow {
	struct dst_entry	*dst;
	__be32			saddr4;
	__be32			daddr4;
	const struct in6_addr	*saddr6;
	const struct in6_addr	*daddr6;
	__be32			label;
	u16			sport;
	u16			dport;
	u8			ttl;
	u8			tos;
	u8			encap;
	u16			*ident;
	u16			frag_max;
	u8			pair;
	int			oif;
	u32			mark;
};

int dlcp_put_headers(struct net *net, struct sk_buff *skb,
		     const struct dlcp_flow *f);
int dlcp_ip_out(struct net *net, struct sock *sk, struct sk_buff *skb);
struct sk_buff *dlcp_new_skb(const struct dst_entry *dst, u32 linear);
u32 dlcp_priority(const struct dlcp_net *dn, const struct sock *sk, u8 cls);
u8 dlcp_tos(const struct dlcp_net *dn, const struct sock *sk, bool ipv4,
	    u8 cls);

#endif
