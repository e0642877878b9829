// SPDX-License-Identifier: GPL-2.0
/*
 * DLCP in UDP: the kernel's tunnel sockets, and GRO.
 *
 * Each namespace has one socket per address family. They take a port of all its
 * addresses, so it is for the administrator to open it: by writing
 * net.dlcp.udp_port, or with the first connect() or listen() of a process
 * that has CAP_NET_ADMIN. A module that is just loaded takes no port. The sockets
 * do not hold the namespace. Every packet goes to net.dlcp.udp_port, at both ends;
 * its source port selects a path and nothing else.
 *
 * GRO merges our packets as it does for any UDP socket with UDP_GRO: packets
 * of one source port and size, with whatever follows the UDP header, which
 * for us is the DLCP header, at every gso_size. process.c walks them in these
 * steps. What the source port threw together but is not DATA of a single
 * connection is taken apart again here.
 *
 * UDP splits a GSO packet in front of a tunnel socket unless its gso_type has
 * a tunnel bit. Our packets are not tunnelled, and a device would look for an
 * inner header, so it is set only on packets for a tag of this namespace,
 * which are not forwarded: in gro_complete, and for GSO packets that come
 * without GRO (over veth, lo) in a netfilter hook on the way to UDP. What has
 * no bit is split by UDP and arrives one by one.
 */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "dlcp.h"

/* A packet, or several DATA packets of one connection, in steps of @step. @run: as in
 * struct dlcp_skb_cb.
 */
static void dlcp_udp_rcv_one(struct sk_buff *skb, u16 step, u8 run)
{
	struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	const struct udphdr *uh = udp_hdr(skb);

	/* IPv4 allows a datagram without a checksum; we do not */
	if (!uh->check && skb->ip_summed != CHECKSUM_PARTIAL) {
		dlcp_drop(dev_net(skb->dev), skb, DLCP_MIB_DROP_NO_CSUM);
		return;
	}
	cb->rport = ntohs(uh->source);
	cb->step = step;
	cb->run = run;
	cb->ce = INET_ECN_is_ce(skb->protocol == htons(ETH_P_IP) ?
				ip_hdr(skb)->tos :
				ipv6_get_dsfield(ipv6_hdr(skb)));
	cb->encap = DLCP_ENCAP_UDP;
	cb->mask = 0;
	__skb_pull(skb, sizeof(*uh));
	dlcp_rcv(skb);
}

/* DATA of one connection in every step? *@run: how many of them follow each other */
static bool dlcp_udp_uniform(const struct sk_buff *skb, u32 step, u8 *run)
{
	u8 first[DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN], buf[DLCP_HDR_LEN];
	u32 off = sizeof(struct udphdr), head = DLCP_DATA_HDR_LEN;
	struct dlcp_cursor cur;
	u8 flags = 0;
	const u8 *p;
	u64 tag;

	p = dlcp_peek(skb, off, head, first);
	if (!p || p[DLCP_HDR_TYPE] != DLCP_PT_DATA)
		return false;
	if (p[DLCP_HDR_TYPE + 1] & DLCP_F_OPEN) {
		head += DLCP_OPEN_LEN;
		p = dlcp_peek(skb, off, head, first);
		if (!p)
			return false;
	}
	tag = dlcp_get_be64(p);
	dlcp_cursor_init(&cur, skb);
	*run = (u8)dlcp_run_length(&cur, off, step, DLCP_SKB_SEGS, p, head,
				   &flags);
	for (off += *run * step; off < skb->len; off += step) {
		p = dlcp_cursor_bytes(&cur, off, sizeof(buf)) ?:
		    skb_header_pointer(skb, off, sizeof(buf), buf);
		if (!p || dlcp_get_be64(p) != tag ||
		    p[DLCP_HDR_TYPE] != DLCP_PT_DATA)
			return false;
	}
	return true;
}

/* Back to what was on the wire, as udp_queue_rcv_skb() does it */
static void dlcp_udp_split(struct sock *sk, struct sk_buff *skb)
{
	struct sk_buff *segs, *next;

	skb_shinfo(skb)->gso_type &= ~(SKB_GSO_UDP_TUNNEL |
				       SKB_GSO_UDP_TUNNEL_CSUM);
	__skb_push(skb, -skb_mac_offset(skb));
	segs = udp_rcv_segment(sk, skb, sk->sk_family == AF_INET);
	skb_list_walk_safe(segs, skb, next) {
		skb_mark_not_on_list(skb);
		__skb_pull(skb, skb_transport_offset(skb));
		udp_post_segment_fix_csum(skb);
		dlcp_udp_rcv_one(skb, 0, 0);
	}
}

/* skb->data at the UDP header, of which UDP has checked length and checksum */
static int dlcp_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	u16 step = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : 0;
	u8 run;

	if (!step || step >= skb->len - sizeof(struct udphdr))
		dlcp_udp_rcv_one(skb, 0, 0);
	else if (dlcp_udp_uniform(skb, step, &run))
		dlcp_udp_rcv_one(skb, step, run);
	else
		dlcp_udp_split(sk, skb);
	return 0;
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
	if (!found) {
		DLCP_INC(sock_net(sk), DROP_ICMP);
		return -ENOENT;
	}
	sock_put(found);
	return 0;
}

#ifdef HAVE_ENCAP_ERR_RCV_ERRNO
static void dlcp_udp_err(struct sock *sk, struct sk_buff *skb, int err,
			 __be16 port, u32 info, u8 *payload)
{
	dlcp_icmp(sock_net(sk), skb, payload - skb->data, -err);
}
#else
static void __maybe_unused dlcp_udp_err(struct sock *sk, struct sk_buff *skb,
					unsigned int udp_offset)
{
	dlcp_icmp(sock_net(sk), skb, udp_offset + sizeof(struct udphdr),
		  dlcp_icmp_errno(skb, sk->sk_family));
}
#endif

/*
 * GRO
 */

/* May UDP hand on the GSO packet in one piece? @off: first DLCP header */
static bool dlcp_gso_whole(struct net *net, const struct sk_buff *skb, int off)
{
	u8 buf[DLCP_HDR_LEN];
	struct dlcp_hdr h;
	const u8 *p;

	p = dlcp_peek(skb, off, sizeof(buf), buf);
	return p && !dlcp_get_hdr(p, sizeof(buf), &h) &&
	       dlcp_table_has(net, h.tag);
}

/* Packets were merged; @nhoff: offset of the first DLCP header */
static int dlcp_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct udphdr *uh = (struct udphdr *)(skb->data + nhoff) - 1;

	/* As for plain UDP, so that the packet can be cut again... */
	skb->encapsulation = 0;
	skb->csum_start = (unsigned char *)uh - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb_shinfo(skb)->gso_segs = NAPI_GRO_CB(skb)->count;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	/* ... but not if it ends here: see the top of this file */
	if (dlcp_gso_whole(sock_net(sk), skb, nhoff))
		skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL_CSUM;
	return 0;
}

#ifdef CONFIG_NETFILTER
/* skb->data at the IP header; others may still look at a cloned packet */
static unsigned int dlcp_gso_local_in(void *priv, struct sk_buff *skb,
				      const struct nf_hook_state *state)
{
	struct udphdr buf, *uh;
	int off;

	if (likely(!skb_is_gso(skb)) || skb_cloned(skb) ||
	    skb_shinfo(skb)->gso_type != SKB_GSO_UDP_L4)
		return NF_ACCEPT;
	if (state->pf == NFPROTO_IPV4) {
		if (ip_hdr(skb)->protocol != IPPROTO_UDP)
			return NF_ACCEPT;
		off = ip_hdrlen(skb);
	} else {
		if (ipv6_hdr(skb)->nexthdr != IPPROTO_UDP)
			return NF_ACCEPT;
		off = sizeof(struct ipv6hdr);
	}
	uh = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (uh && ntohs(uh->dest) == dlcp_pernet(state->net)->udp_port &&
	    dlcp_gso_whole(state->net, skb, off + sizeof(*uh)))
		skb_shinfo(skb)->gso_type |= SKB_GSO_UDP_TUNNEL_CSUM;
	return NF_ACCEPT;
}

static const struct nf_hook_ops dlcp_gso_hooks[] = {
	{
		.hook		= dlcp_gso_local_in,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= INT_MAX,
	},
#if IS_ENABLED(CONFIG_IPV6)
	{
		.hook		= dlcp_gso_local_in,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= INT_MAX,
	},
#endif
};

static int dlcp_gso_hook(struct net *net)
{
	return nf_register_net_hooks(net, dlcp_gso_hooks,
				     ARRAY_SIZE(dlcp_gso_hooks));
}

static void dlcp_gso_unhook(struct net *net)
{
	nf_unregister_net_hooks(net, dlcp_gso_hooks,
				ARRAY_SIZE(dlcp_gso_hooks));
}
#else
static int dlcp_gso_hook(struct net *net)
{
	return 0;
}

static void dlcp_gso_unhook(struct net *net)
{
}
#endif

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
		DLCP_ENCAP_ERR_RCV(dlcp_udp_err)
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
	int on = 1, err;

	err = udp_sock_create(net, &cfg, sock);
	if (err)
		return err;
	err = (*sock)->ops->setsockopt(*sock, SOL_UDP, UDP_GRO,
				       KERNEL_SOCKPTR(&on), sizeof(on));
	if (err) {
		kernel_sock_shutdown(*sock, SHUT_RDWR);
		sock_release(*sock);
		return err;
	}
	setup_udp_tunnel_sock(net, dlcp_tunnel_arg(*sock), &tunnel);
	/* There is no checksum inside that would gain by it */
	inet_dec_convert_csum((*sock)->sk);
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

	lockdep_assert_held(&dn->udp_lock);
	err = dlcp_udp_socket(net, AF_INET, port, &udp4);
	if (err)
		return err;
	err = dlcp_udp_socket(net, AF_INET6, port, &udp6);
	/* A machine without IPv6 will not miss it */
	if (err && err != -EAFNOSUPPORT && err != -EPFNOSUPPORT)
		goto release;
	err = dn->udp4 ? 0 : dlcp_gso_hook(net);
	if (err)
		goto release;
	dlcp_udp_release(dn->udp4);
	dlcp_udp_release(dn->udp6);
	dn->udp4 = udp4;
	dn->udp6 = udp6;
	return 0;

release:
	dlcp_udp_release(udp4);
	dlcp_udp_release(udp6);
	return err;
}

/* Context: udp_lock held, or nobody else knows of the namespace. */
static void dlcp_udp_stop(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);

	if (!dn->udp4)
		return;
	dlcp_gso_unhook(net);
	dlcp_udp_release(dn->udp4);
	dlcp_udp_release(dn->udp6);
	dn->udp4 = NULL;
	dn->udp6 = NULL;
}

/**
 * dlcp_udp_open() - have the tunnel sockets of a namespace
 * @net: the namespace
 *
 * Context: process, may sleep; a socket's lock may be held.
 * Return: 0, -EADDRINUSE, -EPROTONOSUPPORT if net.dlcp.udp_port is 0, -EPERM if
 * they are not there and the caller may not open them, or another errno of the
 * socket calls.
 */
int dlcp_udp_open(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	int err;

	if (READ_ONCE(dn->udp4))
		return 0;
	mutex_lock(&dn->udp_lock);
	if (!dn->udp_port)
		err = -EPROTONOSUPPORT;
	else if (dn->udp4)
		err = 0;
	else if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		err = -EPERM;
	else
		err = dlcp_udp_start(net, dn->udp_port);
	mutex_unlock(&dn->udp_lock);
	return err;
}

/**
 * dlcp_udp_set_port() - change net.dlcp.udp_port
 * @net: the namespace
 * @port: the new port, 0 for none
 *
 * It is opened, also if it is the present one. If it cannot be had all stays as
 * it was. Connections go on, once the other end has changed as well.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int dlcp_udp_set_port(struct net *net, unsigned int port)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	int err = 0;

	mutex_lock(&dn->udp_lock);
	if (!port)
		dlcp_udp_stop(net);
	else if (!dn->udp4 || port != dn->udp_port)
		err = dlcp_udp_start(net, port);
	if (!err)
		WRITE_ONCE(dn->udp_port, port);
	mutex_unlock(&dn->udp_lock);
	return err;
}

void dlcp_udp_close(struct net *net)
{
	dlcp_udp_stop(net);
}
