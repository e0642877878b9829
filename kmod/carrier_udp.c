// SPDX-License-Identifier: GPL-2.0
/*
 * DLCP in UDP: the kernel's tunnel sockets, and GRO.
 *
 * Each namespace has one socket per address family, opened by the first
 * connect() or listen() of the namespace; a module without sockets thus takes
 * no port, and a taken port fails the call that needs it. The sockets do not
 * hold the namespace. Every packet goes to net.dlcp.udp_port, at both ends;
 * its source port selects a path and nothing else.
 *
 * GRO puts DATA packets of one connection and size together, headers and all;
 * input.c walks them in steps of gso_size. UDP splits a GSO packet again in
 * front of a tunnel socket unless it has a tunnel bit in its gso_type. Our
 * packets are not tunnelled, and a device would take the bit for an inner
 * header, so it is set only here, on packets for a tag of this very namespace
 * that nobody will forward. GSO packets that come without GRO (veth, lo) are
 * split by UDP and arrive one by one.
 */
#include <linux/udp.h>
#include <net/gro.h>
#include <net/inet_ecn.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "dlcp.h"

/* skb->data at the UDP header, of which UDP has checked length and checksum */
static int dlcp_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	const struct udphdr *uh = udp_hdr(skb);

	/* IPv4 allows a datagram without a checksum; we do not */
	if (!uh->check && skb->ip_summed != CHECKSUM_PARTIAL) {
		dlcp_drop(sock_net(sk), skb, DLCP_MIB_DROP_NO_CSUM);
		return 0;
	}
	cb->rport = ntohs(uh->source);
	cb->step = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0;
	cb->ce = INET_ECN_is_ce(skb->protocol == htons(ETH_P_IP) ?
				ip_hdr(skb)->tos :
				ipv6_get_dsfield(ipv6_hdr(skb)));
	cb->carrier = DLCP_CARRIER_UDP;
	cb->mask = 0;
	__skb_pull(skb, sizeof(*uh));
	return dlcp_rcv(skb);
}

/*
 * ICMP errors: skb->data at the IP header quoted
 */

/* 0: the error is about a packet of ours */
static int dlcp_udp_err_lookup(struct sock *sk, struct sk_buff *skb)
{
	struct sock *found;

	found = dlcp_icmp_find(sock_net(sk), skb, skb_transport_offset(skb) +
			       (int)sizeof(struct udphdr));
	if (!found)
		return -ENOENT;
	sock_put(found);
	return 0;
}

#ifdef HAVE_ENCAP_ERR_RCV_ERRNO
static void dlcp_udp_err(struct sock *sk, struct sk_buff *skb, int err,
			 __be16 port, u32 info, u8 *payload)
{
	dlcp_icmp(sock_net(sk), skb, payload - skb->data, err);
}
#else
static void dlcp_udp_err(struct sock *sk, struct sk_buff *skb,
			 unsigned int udp_offset)
{
	dlcp_icmp(sock_net(sk), skb, udp_offset + sizeof(struct udphdr),
		  dlcp_icmp_errno(skb, sk->sk_family));
}
#endif

/*
 * GRO
 */

static u8 dlcp_gro_tos(const struct sk_buff *skb, const void *iph)
{
	return skb->protocol == htons(ETH_P_IP) ?
	       ((const struct iphdr *)iph)->tos :
	       ipv6_get_dsfield((const struct ipv6hdr *)iph);
}

/* May @skb be added to @p? Their DLCP headers are at @off; @h: @skb's. */
static bool dlcp_gro_same(const struct sk_buff *p, struct sk_buff *skb,
			  const u8 *h, unsigned int off)
{
	const void *iph = skb_gro_network_header(skb);
	u8 buf[DLCP_HDR_LEN];
	const u8 *h2;

	h2 = skb_header_pointer(p, off, sizeof(buf), buf);
	/* Tag and type; path; and a mark of congestion must not spread */
	return h2 && !memcmp(h, h2, 9) && h[10] == h2[10] &&
	       dlcp_gro_tos(skb, iph) ==
	       dlcp_gro_tos(p, p->data + off - (h - (const u8 *)iph));
}

/* Add @skb to @p. Return: @p if it is full now, or could not take @skb. */
static struct sk_buff *dlcp_gro_add(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int len = skb_gro_len(skb);
	unsigned int size = skb_shinfo(p)->gso_size;

	if (NAPI_GRO_CB(p)->flush || len > size || skb_gro_receive(p, skb))
		return p;
	return len < size || NAPI_GRO_CB(p)->count >= DLCP_SKB_SEGS ? p : NULL;
}

static struct sk_buff *dlcp_gro_receive(struct sock *sk,
					struct list_head *head,
					struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb);
	struct sk_buff *p, *pp = NULL;
	struct dlcp_hdr hdr;
	const u8 *h;

	h = skb_gro_header(skb, off + DLCP_HDR_LEN, off);
	if (!h || dlcp_get_hdr(h, DLCP_HDR_LEN, &hdr) ||
	    hdr.type != DLCP_PT_DATA)
		goto flush;
	if (skb_is_gso(skb)) {
		/* Whole already; see the top of this file */
		if (skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4 &&
		    dlcp_table_has(sock_net(sk), hdr.tag))
			skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL_CSUM;
		goto flush;
	}
	list_for_each_entry(p, head, list) {
		if (!NAPI_GRO_CB(p)->same_flow)
			continue;
		if (dlcp_gro_same(p, skb, h, off))
			return dlcp_gro_add(p, skb);
		pp = p;
		break;
	}
	/* To be held until more come, if it ends here */
	if (dlcp_table_has(sock_net(sk), hdr.tag))
		return pp;
flush:
	NAPI_GRO_CB(skb)->flush |= 1;
	return pp;
}

/* @nhoff: offset of the DLCP header */
static int dlcp_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct udphdr *uh = (struct udphdr *)(skb->data + nhoff -
					      sizeof(struct udphdr));

	skb->encapsulation = 0;
	skb->csum_start = (unsigned char *)uh - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_segs = NAPI_GRO_CB(skb)->count;
	/* UDP_L4, should the packet be cut after all */
	skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_L4;
	return 0;
}

/*
 * Tunnel sockets
 */

static int dlcp_udp_socket(struct net *net, int family, u16 port,
			   struct socket **sock)
{
	struct udp_tunnel_sock_cfg tunnel = {
		.sk_user_data		= dlcp_pernet(net),
		.encap_type		= 1,
		.encap_rcv		= dlcp_udp_rcv,
		.encap_err_lookup	= dlcp_udp_err_lookup,
		.encap_err_rcv		= dlcp_udp_err,
		.gro_receive		= dlcp_gro_receive,
		.gro_complete		= dlcp_gro_complete,
	};
	struct udp_port_cfg cfg = {
		.family			= family,
		.local_udp_port		= htons(port),
		.use_udp_checksums	= true,
		.use_udp6_tx_checksums	= true,
		.use_udp6_rx_checksums	= true,
		.ipv6_v6only		= true,
	};
	int err;

	err = udp_sock_create(net, &cfg, sock);
	if (err)
		return err;
	/* GSO packets with a tunnel bit may come in whole */
	udp_allow_gso((*sock)->sk);
	setup_udp_tunnel_sock(net, dlcp_tunnel_arg(*sock), &tunnel);
	return 0;
}

static void dlcp_udp_release(struct socket *sock)
{
	if (sock)
		udp_tunnel_sock_release(dlcp_tunnel_arg(sock));
}

/* Both sockets, or none. Context: udp_lock held. */
static int dlcp_udp_start(struct net *net, u16 port)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	struct socket *udp4, *udp6 = NULL;
	int err;

	err = dlcp_udp_socket(net, AF_INET, port, &udp4);
	if (err)
		return err;
	err = dlcp_udp_socket(net, AF_INET6, port, &udp6);
	/* A machine without IPv6 will not miss it */
	if (err && err != -EAFNOSUPPORT && err != -EPFNOSUPPORT) {
		dlcp_udp_release(udp4);
		return err;
	}
	dlcp_udp_release(dn->udp4);
	dlcp_udp_release(dn->udp6);
	dn->udp4 = udp4;
	dn->udp6 = udp6;
	return 0;
}

/**
 * dlcp_udp_open() - have the tunnel sockets of a namespace
 * @net: the namespace
 *
 * Context: process, may sleep; a socket's lock may be held.
 * Return: 0, -EADDRINUSE, -EPROTONOSUPPORT if net.dlcp.udp_port is 0, or
 * another errno of the socket calls.
 */
int dlcp_udp_open(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	int err = 0;

	if (READ_ONCE(dn->udp4))
		return 0;
	mutex_lock(&dn->udp_lock);
	if (!dn->udp_port)
		err = -EPROTONOSUPPORT;
	else if (!dn->udp4)
		err = dlcp_udp_start(net, dn->udp_port);
	mutex_unlock(&dn->udp_lock);
	return err;
}

/**
 * dlcp_udp_set_port() - change net.dlcp.udp_port
 * @net: the namespace
 * @port: the new port, 0 for none
 *
 * If the new port cannot be had all stays as it was. Connections go on, once
 * the other end has changed as well.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dlcp_udp_set_port(struct net *net, unsigned int port)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	int err = 0;

	mutex_lock(&dn->udp_lock);
	if (port == dn->udp_port)
		goto out;
	if (!port) {
		dlcp_udp_release(dn->udp4);
		dlcp_udp_release(dn->udp6);
		dn->udp4 = NULL;
		dn->udp6 = NULL;
	} else if (dn->udp4) {
		err = dlcp_udp_start(net, port);
	}
	if (!err)
		WRITE_ONCE(dn->udp_port, port);
out:
	mutex_unlock(&dn->udp_lock);
	return err;
}

void dlcp_udp_close(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);

	dlcp_udp_release(dn->udp4);
	dlcp_udp_release(dn->udp6);
	dn->udp4 = NULL;
	dn->udp6 = NULL;
}
