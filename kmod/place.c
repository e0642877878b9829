// SPDX-License-Identifier: GPL-2.0
/*
 * Where the peer is: the address and port that packets to it go to. See
 * core/conn_place.c for when it moves.
 */
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/route.h>

#include "dlcp.h"

/* UDP port of the peer's place */
u16 dlcp_peer_port(const struct sock *sk)
{
	return READ_ONCE(dlcp_sk(sk)->peer_port) ?:
	       READ_ONCE(dlcp_pernet(sock_net(sk))->udp_port);
}

/**
 * dlcp_place_port() - answers to a packet go to the port it came from, or not
 * @net: the namespace
 * @skb: the packet
 *
 * Return: the port for dlcp_sock.peer_port.
 */
u16 dlcp_place_port(struct net *net, const struct sk_buff *skb)
{
	const struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);

	if (!cb->here || cb->encap != DLCP_ENCAP_UDP ||
	    cb->rport == READ_ONCE(dlcp_pernet(net)->udp_port))
		return 0;
	return cb->rport;
}

/**
 * dlcp_elsewhere() - does a packet come from another place than the peer's?
 * @sk: the connection it is for
 * @skb: the packet; its sender says that it receives where it sent from
 * @from: filled in if so
 *
 * Context: socket lock held.
 */
bool dlcp_elsewhere(const struct sock *sk, const struct sk_buff *skb,
		    struct dlcp_place *from)
{
	u8 own[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN], to[DLCP_ADDR_LEN];
	u16 port = dlcp_peer_port(sk);
	bool ipv4 = skb->protocol == htons(ETH_P_IP);

	if (dlcp_is_ipv4(sk) != ipv4)
		return false;
	memset(from, 0, sizeof(*from));
	dlcp_skb_addrs(skb, to, from->addr);
	from->port = DLCP_SKB_CB(skb)->rport;
	if (DLCP_SKB_CB(skb)->encap == DLCP_ENCAP_RAW)
		from->port = port;
	dlcp_pair_addrs(sk, 0, own, peer);
	return from->port != port || memcmp(from->addr, peer, sizeof(peer));
}

/* The peer may be at @from */
void dlcp_seen_elsewhere(struct sock *sk, const struct dlcp_place *from)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u64 tokens[2];

	if (!dlcp_addr_usable(sk, from->addr) || !from->port)
		return;
	get_random_bytes(tokens, sizeof(tokens));
	dlcp_conn_elsewhere(c, from, tokens, dlcp_now());
}

/**
 * dlcp_place_dst() - the way to where the peer was seen
 * @sk: the connection; conn.place.move is not NULL
 *
 * Context: socket lock held.
 * Return: a route, with a reference; NULL: there is none, or it ends in this
 *	host or at many.
 */
struct dst_entry *dlcp_place_dst(struct sock *sk)
{
	const u8 *to = dlcp_sk(sk)->conn.place.move->to.addr;
	u8 own[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN];
	struct dst_entry *dst;

	dlcp_pair_addrs(sk, 0, own, peer);
	dst = dlcp_route_pair(sk, sk->sk_bound_dev_if, own, to);
	if (IS_ERR(dst))
		return NULL;
	if (dlcp_dst_one_other(sk, dst))
		return dst;
	dst_release(dst);
	return NULL;
}

/**
 * dlcp_place_moved() - the peer is at another place; dlcp_conn_ops.moved
 * @c: the engine of a connection
 * @to: the place
 *
 * Context: socket lock held.
 * Return: whether the address is another one.
 */
bool dlcp_place_moved(struct dlcp_conn *c, const struct dlcp_place *to)
{
	u8 own[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN];
	struct sock *sk = dlcp_conn_sk(c);
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));

	DLCP_INC(sock_net(sk), PEER_MOVES);
	dlcp_pair_addrs(sk, 0, own, peer);
	WRITE_ONCE(dlcp_sk(sk)->peer_port, to->port);
	__sk_dst_reset(sk);
	if (!memcmp(peer, to->addr, sizeof(peer)))
		return false;
	/* Whoever looks for a free port compares peers */
	xa_lock_bh(&dn->ports);
	if (dlcp_is_ipv4(sk))
		memcpy(&inet_sk(sk)->inet_daddr, to->addr, sizeof(__be32));
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 && dlcp_is_ipv4(sk))
		ipv6_addr_set_v4mapped(inet_sk(sk)->inet_daddr,
				       &sk->sk_v6_daddr);
	else if (sk->sk_family == AF_INET6)
		memcpy(&sk->sk_v6_daddr, to->addr, sizeof(sk->sk_v6_daddr));
#endif
	xa_unlock_bh(&dn->ports);
	return true;
}

/* connect() begins. Context: socket lock held; the peer's address is set. */
void dlcp_place_tried(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u8 own[DLCP_ADDR_LEN];

	dlcp_pair_addrs(sk, 0, own, ds->tried.addr);
	ds->tried.port = dlcp_peer_port(sk);
	ds->tried_ipv4 = dlcp_is_ipv4(sk);
	ds->tried_err = 0;
	ds->tried_text = NULL;
}
