// SPDX-License-Identifier: GPL-2.0
/*
 * Who a packet is for: connections by their tag, listeners by their port.
 *
 * Tags are random 64-bit numbers, so one table serves all namespaces; the
 * second table, by the peer's tag, is for packets that quote one of ours:
 * RESETs of a peer that has forgotten us, and ICMP errors. Both are read
 * under RCU. Ports are few and looked up only in set-up packets.
 */
#include <linux/random.h>
#include <net/inet_hashtables.h>
#include <net/addrconf.h>
#include <net/ip.h>

#include "dlcp.h"

struct dlcp_tag_key {
	const struct net *net;
	u64		 tag;
};

static u32 dlcp_tag_hash(const struct net *net, u64 tag, u32 seed)
{
	return jhash_3words((u32)tag, (u32)(tag >> 32), net_hash_mix(net),
			    seed);
}

static u32 dlcp_key_hash(const void *data, u32 len, u32 seed)
{
	const struct dlcp_tag_key *key = data;

	return dlcp_tag_hash(key->net, key->tag, seed);
}

static u32 dlcp_local_hash(const void *data, u32 len, u32 seed)
{
	const struct dlcp_sock *ds = data;

	return dlcp_tag_hash(sock_net(&ds->inet.sk), ds->conn.cfg.local_tag,
			     seed);
}

static int dlcp_local_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct dlcp_tag_key *key = arg->key;
	const struct dlcp_sock *ds = obj;

	return ds->conn.cfg.local_tag != key->tag ||
	       !net_eq(sock_net(&ds->inet.sk), key->net);
}

static u32 dlcp_peer_hash(const void *data, u32 len, u32 seed)
{
	const struct dlcp_sock *ds = data;

	return dlcp_tag_hash(sock_net(&ds->inet.sk), ds->conn.peer_tag, seed);
}

static int dlcp_peer_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct dlcp_tag_key *key = arg->key;
	const struct dlcp_sock *ds = obj;

	return ds->conn.peer_tag != key->tag ||
	       !net_eq(sock_net(&ds->inet.sk), key->net);
}

static const struct rhashtable_params dlcp_local_params = {
	.head_offset		= offsetof(struct dlcp_sock, node),
	.key_len		= sizeof(struct dlcp_tag_key),
	.hashfn			= dlcp_key_hash,
	.obj_hashfn		= dlcp_local_hash,
	.obj_cmpfn		= dlcp_local_cmp,
	.automatic_shrinking	= true,
};

static const struct rhashtable_params dlcp_peer_params = {
	.head_offset		= offsetof(struct dlcp_sock, peer_node),
	.key_len		= sizeof(struct dlcp_tag_key),
	.hashfn			= dlcp_key_hash,
	.obj_hashfn		= dlcp_peer_hash,
	.obj_cmpfn		= dlcp_peer_cmp,
	.automatic_shrinking	= true,
};

static struct rhashtable dlcp_local_table;
static struct rhashtable dlcp_peer_table;

int dlcp_table_init(void)
{
	int err;

	err = rhashtable_init(&dlcp_local_table, &dlcp_local_params);
	if (err)
		return err;
	err = rhashtable_init(&dlcp_peer_table, &dlcp_peer_params);
	if (err)
		rhashtable_destroy(&dlcp_local_table);
	return err;
}

void dlcp_table_exit(void)
{
	rhashtable_destroy(&dlcp_peer_table);
	rhashtable_destroy(&dlcp_local_table);
}

struct rhashtable *dlcp_table_local(void)
{
	return &dlcp_local_table;
}

/* To be called under RCU */
static struct sock *dlcp_table_get(struct rhashtable *table,
				   const struct rhashtable_params params,
				   struct net *net, u64 tag)
{
	struct dlcp_tag_key key = { .net = net, .tag = tag };
	struct dlcp_sock *ds;

	ds = rhashtable_lookup(table, &key, params);
	if (!ds || !refcount_inc_not_zero(&ds->inet.sk.sk_refcnt))
		return NULL;
	return &ds->inet.sk;
}

/**
 * dlcp_table_find() - the connection with this tag of ours
 * @net: its namespace
 * @tag: as in the header of a packet
 *
 * Context: RCU read lock held.
 * Return: the socket, with a reference, or NULL.
 */
struct sock *dlcp_table_find(struct net *net, u64 tag)
{
	return dlcp_table_get(&dlcp_local_table, dlcp_local_params, net, tag);
}

/* Is there such a connection? Context: RCU read lock held. */
bool dlcp_table_has(struct net *net, u64 tag)
{
	struct dlcp_tag_key key = { .net = net, .tag = tag };

	return rhashtable_lookup(&dlcp_local_table, &key, dlcp_local_params);
}

/**
 * dlcp_table_find_peer() - the connection with this tag of its peer
 * @net: its namespace
 * @peer_tag: as in the packets we send
 *
 * Context: RCU read lock held.
 * Return: the socket, with a reference, or NULL.
 */
struct sock *dlcp_table_find_peer(struct net *net, u64 peer_tag)
{
	return dlcp_table_get(&dlcp_peer_table, dlcp_peer_params, net,
			      peer_tag);
}

/* A tag nobody can guess and nobody has */
u64 dlcp_new_tag(struct net *net)
{
	bool taken;
	u64 tag;

	do {
		tag = get_random_u64();
		rcu_read_lock();
		taken = !tag || dlcp_table_has(net, tag);
		rcu_read_unlock();
	} while (taken);
	return tag;
}

/**
 * dlcp_table_add() - make a connection known by conn.cfg.local_tag
 * @sk: the connection; the tag must not change from now on
 *
 * Context: socket lock held, softirq or process.
 * Return: 0, -EEXIST or -ENOMEM.
 */
int dlcp_table_add(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err;

	struct dlcp_tag_key key = {
		.net = sock_net(sk),
		.tag = ds->conn.cfg.local_tag,
	};

	if (WARN_ON_ONCE(ds->hashed))
		return -EEXIST;
	err = rhashtable_lookup_insert_key(&dlcp_local_table, &key, &ds->node,
					   dlcp_local_params);
	if (!err)
		ds->hashed = 1;
	return err;
}

/**
 * dlcp_table_add_peer() - make a connection known by conn.peer_tag
 * @sk: the connection; the tag must not change from now on
 *
 * Peers choose their tags, so two may be alike; then, or without memory, the
 * connection does without ICMP errors and foreign RESETs.
 *
 * Context: socket lock held, softirq or process.
 */
void dlcp_table_add_peer(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_tag_key key = {
		.net = sock_net(sk),
		.tag = ds->conn.peer_tag,
	};

	if (ds->peer_hashed || !key.tag)
		return;
	if (!rhashtable_lookup_insert_key(&dlcp_peer_table, &key,
					  &ds->peer_node, dlcp_peer_params))
		ds->peer_hashed = 1;
}

/* Context: socket lock held. */
void dlcp_table_del(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (ds->hashed)
		rhashtable_remove_fast(&dlcp_local_table, &ds->node,
				       dlcp_local_params);
	if (ds->peer_hashed)
		rhashtable_remove_fast(&dlcp_peer_table, &ds->peer_node,
				       dlcp_peer_params);
	ds->hashed = 0;
	ds->peer_hashed = 0;
}

/*
 * Ports
 */

static struct hlist_head *dlcp_port_bucket(struct dlcp_net *dn, u16 port)
{
	return &dn->ports[port % ARRAY_SIZE(dn->ports)];
}

static bool dlcp_port_conflict(const struct sock *sk, const struct sock *other)
{
	if (sk->sk_bound_dev_if && other->sk_bound_dev_if &&
	    sk->sk_bound_dev_if != other->sk_bound_dev_if)
		return false;
	if (sk->sk_reuse && other->sk_reuse && other->sk_state != TCP_LISTEN)
		return false;
	return inet_rcv_saddr_equal(sk, other, true);
}

static bool dlcp_port_free(struct dlcp_net *dn, const struct sock *sk, u16 port)
{
	struct dlcp_sock *other;

	hlist_for_each_entry(other, dlcp_port_bucket(dn, port), port_node)
		if (other->port == port &&
		    dlcp_port_conflict(sk, &other->inet.sk))
			return false;
	return true;
}

/* The first free one from a random start; 0: none */
static u16 dlcp_port_any(struct dlcp_net *dn, const struct sock *sk)
{
	int low, high, span, start, i;

	inet_sk_get_local_port_range(sk, &low, &high);
	span = high - low + 1;
	start = get_random_u32() % span;
	for (i = 0; i < span; i++) {
		int port = low + (start + i) % span;

		if (!inet_is_local_reserved_port(sock_net(sk), port) &&
		    dlcp_port_free(dn, sk, port))
			return port;
	}
	return 0;
}

/**
 * dlcp_port_bind() - take a DLCP port
 * @sk: inet_rcv_saddr, sk_bound_dev_if, sk_reuse are looked at
 * @port: host order; 0: any free one
 *
 * Sockets that ask for the same port conflict unless they are on different
 * addresses or devices, or both have SO_REUSEADDR and none listens.
 *
 * Context: socket lock held, process context.
 * Return: 0 with dlcp_sock.port set, -EADDRINUSE, or -EACCES for a
 * privileged port.
 */
int dlcp_port_bind(struct sock *sk, u16 port)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err = 0;

	if (port && inet_port_requires_bind_service(sock_net(sk), port) &&
	    !ns_capable(sock_net(sk)->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;

	spin_lock_bh(&dn->port_lock);
	if (!port)
		port = dlcp_port_any(dn, sk);
	else if (!dlcp_port_free(dn, sk, port))
		port = 0;
	if (port) {
		ds->port = port;
		inet_sk(sk)->inet_num = port;
		ds->port_bound = 1;
		hlist_add_head_rcu(&ds->port_node, dlcp_port_bucket(dn, port));
	} else {
		err = -EADDRINUSE;
	}
	spin_unlock_bh(&dn->port_lock);
	return err;
}

/* Context: socket lock held. */
void dlcp_port_release(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (!ds->port_bound)
		return;
	spin_lock_bh(&dn->port_lock);
	hlist_del_init_rcu(&ds->port_node);
	ds->port_bound = 0;
	spin_unlock_bh(&dn->port_lock);
}

/* 0: not for this listener; more for a closer match */
static int dlcp_port_score4(const struct sock *sk, const struct sk_buff *skb)
{
	__be32 addr = inet_sk(sk)->inet_rcv_saddr;

	if (sk->sk_family == AF_INET6 && ipv6_only_sock(sk))
		return 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6 &&
	    !ipv6_addr_any(&sk->sk_v6_rcv_saddr) &&
	    !ipv6_addr_v4mapped(&sk->sk_v6_rcv_saddr))
		return 0;
#endif
	if (!addr)
		return sk->sk_family == AF_INET ? 2 : 1;
	return addr == ip_hdr(skb)->daddr ? 5 : 0;
}

static int dlcp_port_score6(const struct sock *sk, const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family != AF_INET6)
		return 0;
	if (ipv6_addr_any(&sk->sk_v6_rcv_saddr))
		return 2;
	return ipv6_addr_equal(&sk->sk_v6_rcv_saddr, &ipv6_hdr(skb)->daddr) ?
	       5 : 0;
#else
	return 0;
#endif
}

static int dlcp_port_score(const struct sock *sk, const struct sk_buff *skb)
{
	int dev = READ_ONCE(sk->sk_bound_dev_if);
	int score;

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
		return 0;
	if (dev && dev != skb->skb_iif && dev != skb->dev->ifindex)
		return 0;
	score = skb->protocol == htons(ETH_P_IP) ? dlcp_port_score4(sk, skb) :
						   dlcp_port_score6(sk, skb);
	return score && dev ? score + 2 : score;
}

/**
 * dlcp_port_find() - the listener a set-up packet is for
 * @net: namespace it came in
 * @skb: the packet, its network header valid
 * @port: DLCP port it is for, host order
 *
 * Context: RCU read lock held.
 * Return: the socket with the closest address and device, with a reference,
 * or NULL.
 */
struct sock *dlcp_port_find(struct net *net, struct sk_buff *skb, u16 port)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	struct dlcp_sock *ds, *best = NULL;
	int score, top = 0;

	hlist_for_each_entry_rcu(ds, dlcp_port_bucket(dn, port), port_node) {
		if (READ_ONCE(ds->port) != port)
			continue;
		score = dlcp_port_score(&ds->inet.sk, skb);
		if (score > top) {
			top = score;
			best = ds;
		}
	}
	if (!best || !refcount_inc_not_zero(&best->inet.sk.sk_refcnt))
		return NULL;
	return &best->inet.sk;
}
