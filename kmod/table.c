// SPDX-License-Identifier: GPL-2.0
/*
 * Who a packet is for: connections by their tag, listeners by their port.
 *
 * Tags are random 64-bit numbers, so one table serves all namespaces; the
 * second table, by the peer's tag, is for packets that quote one of ours:
 * RESETs of a peer that has forgotten us, and ICMP errors. Both are read
 * under RCU. Ports are looked up only in set-up packets.
 */
#include <linux/random.h>
#include <net/inet_hashtables.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/sock_reuseport.h>

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
/* So that no client can choose among listeners that share a port */
static u32 dlcp_share_seed __read_mostly;

int dlcp_table_init(void)
{
	int err;

	dlcp_share_seed = get_random_u32();
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
 * @sk: the connection; from now on only dlcp_table_retag() changes the tag
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
	err = dlcp_list_add(sk);
	if (err)
		return err;
	err = rhashtable_lookup_insert_key(&dlcp_local_table, &key, &ds->node,
					   dlcp_local_params);
	if (err)
		dlcp_list_del(sk);
	else
		ds->hashed = 1;
	return err;
}

/**
 * dlcp_table_add_peer() - make a connection known by conn.peer_tag
 * @sk: the connection; from now on only dlcp_table_retag() changes the tag
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

/* Nobody can find it by its tags any more */
static void dlcp_table_unhash(struct dlcp_sock *ds)
{
	if (ds->hashed)
		rhashtable_remove_fast(&dlcp_local_table, &ds->node,
				       dlcp_local_params);
	if (ds->peer_hashed)
		rhashtable_remove_fast(&dlcp_peer_table, &ds->peer_node,
				       dlcp_peer_params);
	ds->hashed = 0;
	ds->peer_hashed = 0;
}

/**
 * dlcp_table_retag() - the set-up begins again, with another tag of ours
 * @sk: the connection; without memory it fails
 *
 * A reader that is at its node meanwhile starts again, if its chain is another.
 *
 * Context: socket lock held, softirq or process.
 */
void dlcp_table_retag(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_tag_key key = { .net = sock_net(sk) };

	if (ds->conn.state != DLCP_ECHO_SENT)
		return;
	key.tag = dlcp_new_tag(sock_net(sk));
	dlcp_table_unhash(ds);
	dlcp_conn_anew(&ds->conn, key.tag);
	if (rhashtable_lookup_insert_key(&dlcp_local_table, &key, &ds->node,
					 dlcp_local_params))
		dlcp_conn_abort(&ds->conn, ENOMEM, NULL);
	else
		ds->hashed = 1;
}

/**
 * dlcp_table_del() - nobody can find the connection any more
 * @sk: the connection
 *
 * Context: socket lock held, softirq or process.
 */
void dlcp_table_del(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_list_del(sk);
	dlcp_port_disconnect(sk);
	dlcp_table_unhash(ds);
}

/*
 * The list of a namespace's sockets, for those who only look
 */

/**
 * dlcp_list_add() - let a connection or listener be seen
 * @sk: the socket
 *
 * Readers take no lock of the socket. They hold that of the list while they
 * look at one, so what they look at must be freed after dlcp_list_del() only.
 *
 * Context: socket lock held, softirq or process.
 * Return: 0, -EBUSY or -ENOMEM.
 */
int dlcp_list_add(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err;

	err = xa_alloc_bh(&dn->socks, &ds->list_id, ds, xa_limit_32b,
			  GFP_ATOMIC | __GFP_NOWARN);
	if (!err)
		ds->listed = 1;
	return err;
}

/* Context: socket lock held, softirq or process. */
void dlcp_list_del(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (ds->listed)
		xa_erase_bh(&dlcp_pernet(sock_net(sk))->socks, ds->list_id);
	ds->listed = 0;
}

/**
 * dlcp_list_next() - walk a namespace's list
 * @net: the namespace
 * @id: index to look from; then of the socket that was found
 *
 * A socket keeps its index: each that is there all the time is found once.
 *
 * Context: any, no lock held.
 * Return: the socket, with a reference; NULL: there is none any more.
 */
struct sock *dlcp_list_next(struct net *net, unsigned long *id)
{
	struct xarray *socks = &dlcp_pernet(net)->socks;
	struct dlcp_sock *ds;

	xa_lock_bh(socks);
	ds = xa_find(socks, id, U32_MAX, XA_PRESENT);
	if (ds)
		sock_hold(&ds->inet.sk);
	xa_unlock_bh(socks);
	return ds ? &ds->inet.sk : NULL;
}
EXPORT_SYMBOL_GPL(dlcp_list_next);

/*
 * Ports. Who may share one with whom is as for TCP.
 */

/**
 * struct dlcp_port - a port that is bound
 * @owners: sockets bound to it, by port_node
 * @listeners: those of them that listen, by listen_node; RCU readers
 * @rcu: to free it
 *
 * Its lock is that of dlcp_net.ports.
 */
struct dlcp_port {
	struct hlist_head	owners;
	struct hlist_head	listeners;
	struct rcu_head		rcu;
};

/* Ports looked at before others may have the lock */
#define DLCP_PORT_BATCH	256

void dlcp_ports_init(struct dlcp_net *dn)
{
	xa_init_flags(&dn->ports, XA_FLAGS_LOCK_BH);
	xa_init_flags(&dn->socks, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
}

void dlcp_ports_exit(struct dlcp_net *dn)
{
	WARN_ON_ONCE(!xa_empty(&dn->ports) || !xa_empty(&dn->socks));
	xa_destroy(&dn->ports);
	xa_destroy(&dn->socks);
}

/* The IPv4 addresses of this host that a socket is bound to: 0 is all of them */
static bool dlcp_takes4(const struct sock *sk, __be32 *addr)
{
	*addr = inet_sk(sk)->inet_rcv_saddr;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		*addr = sk->sk_v6_rcv_saddr.s6_addr32[3];
		return ipv6_addr_v4mapped(&sk->sk_v6_rcv_saddr) ||
		       (ipv6_addr_any(&sk->sk_v6_rcv_saddr) &&
			!ipv6_only_sock(sk));
	}
#endif
	return true;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool dlcp_takes6(const struct sock *sk)
{
	return sk->sk_family == AF_INET6 &&
	       !ipv6_addr_v4mapped(&sk->sk_v6_rcv_saddr);
}

static bool dlcp_same_addr6(const struct sock *a, const struct sock *b)
{
	return dlcp_takes6(a) && dlcp_takes6(b) &&
	       (ipv6_addr_any(&a->sk_v6_rcv_saddr) ||
		ipv6_addr_any(&b->sk_v6_rcv_saddr) ||
		ipv6_addr_equal(&a->sk_v6_rcv_saddr, &b->sk_v6_rcv_saddr));
}
#else
static bool dlcp_same_addr6(const struct sock *a, const struct sock *b)
{
	return false;
}
#endif

/* Is there an address of this host that both are bound to? Not every kernel
 * exports its inet_rcv_saddr_equal().
 */
static bool dlcp_same_addr(const struct sock *a, const struct sock *b)
{
	__be32 a4, b4;

	if (dlcp_takes4(a, &a4) && dlcp_takes4(b, &b4) &&
	    (!a4 || !b4 || a4 == b4))
		return true;
	return dlcp_same_addr6(a, b);
}

static bool dlcp_bound_alike(const struct sock *a, const struct sock *b)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (a->sk_family == AF_INET6)
		return ipv6_addr_equal(&a->sk_v6_rcv_saddr,
				       &b->sk_v6_rcv_saddr);
#endif
	return inet_sk(a)->inet_rcv_saddr == inet_sk(b)->inet_rcv_saddr;
}

static bool dlcp_port_same_dev(const struct sock *sk, const struct sock *other)
{
	int dev = READ_ONCE(sk->sk_bound_dev_if);
	int other_dev = READ_ONCE(other->sk_bound_dev_if);

	if (dev == other_dev)
		return true;
	if (dev && other_dev)
		return false;
	/* With tcp_l3mdev_accept one without a device is in all VRFs */
	return inet_sk_bound_l3mdev(sk) == inet_sk_bound_l3mdev(other);
}

/*
 * May both have the port, were their addresses the same? @strict: if the kernel
 * chooses it, or could choose another, SO_REUSEADDR is no reason.
 */
static bool dlcp_port_share(const struct sock *sk, const struct sock *other,
			    bool strict)
{
	if (strict)
		return false;
	if (sk->sk_reuse && other->sk_reuse && other->sk_state != TCP_LISTEN)
		return true;
	return sk->sk_reuseport && other->sk_reuseport &&
	       uid_eq(dlcp_sk_uid(sk), dlcp_sk_uid(other));
}

/* May @sk have the port of @dp, or go on to have it? Context: lock held. */
static bool dlcp_port_free(const struct dlcp_port *dp, const struct sock *sk,
			   bool strict)
{
	struct dlcp_sock *ds;
	const struct sock *other;

	hlist_for_each_entry(ds, &dp->owners, port_node) {
		other = &ds->inet.sk;
		if (other != sk && dlcp_port_same_dev(sk, other) &&
		    !dlcp_port_share(sk, other, strict) &&
		    dlcp_same_addr(sk, other))
			return false;
	}
	return true;
}

/* Are both between the same addresses and ports, of which the local port is? */
static bool dlcp_same_peer(const struct sock *sk, const struct sock *other)
{
	if (inet_sk(sk)->inet_dport != inet_sk(other)->inet_dport ||
	    dlcp_is_ipv4(sk) != dlcp_is_ipv4(other))
		return false;
	if (sk->sk_bound_dev_if && other->sk_bound_dev_if &&
	    sk->sk_bound_dev_if != other->sk_bound_dev_if)
		return false;
#if IS_ENABLED(CONFIG_IPV6)
	if (!dlcp_is_ipv4(sk))
		return ipv6_addr_equal(&sk->sk_v6_daddr, &other->sk_v6_daddr) &&
		       ipv6_addr_equal(&sk->sk_v6_rcv_saddr,
				       &other->sk_v6_rcv_saddr);
#endif
	return inet_sk(sk)->inet_daddr == inet_sk(other)->inet_daddr &&
	       inet_sk(sk)->inet_rcv_saddr == inet_sk(other)->inet_rcv_saddr;
}

/* Does no other connection from this port have the same peer? @mine: the port
 * is bound already; otherwise all others must share it, too. Context: lock held.
 */
static bool dlcp_port_peer_free(const struct dlcp_port *dp,
				const struct sock *sk, bool mine)
{
	struct dlcp_sock *ds;

	hlist_for_each_entry(ds, &dp->owners, port_node) {
		if (&ds->inet.sk == sk)
			continue;
		if (!mine && !ds->port_auto)
			return false;
		if (ds->port_peer && dlcp_same_peer(sk, &ds->inet.sk))
			return false;
	}
	return true;
}

/* Give @sk the port if it may have it. Context: lock held. */
static int dlcp_port_take(struct sock *sk, u16 port, bool strict, bool connect)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_port *dp = xa_load(&dn->ports, port);
	struct dlcp_sock *ds = dlcp_sk(sk);

	lockdep_assert_held(&dn->ports.xa_lock);
	if (dp && !(connect ? dlcp_port_peer_free(dp, sk, false) :
			      dlcp_port_free(dp, sk, strict)))
		return -EADDRINUSE;
	if (!dp) {
		dp = kzalloc(sizeof(*dp), GFP_ATOMIC | __GFP_NOWARN);
		if (!dp)
			return -ENOMEM;
		if (xa_is_err(__xa_store(&dn->ports, port, dp,
					 GFP_ATOMIC | __GFP_NOWARN))) {
			kfree(dp);
			return -ENOMEM;
		}
	}
	ds->port = port;
	inet_sk(sk)->inet_num = port;
	ds->port_bound = 1;
	ds->port_auto = connect;
	ds->port_peer = connect;
	hlist_add_head(&ds->port_node, &dp->owners);
	return 0;
}

/* The first free one from a random start. Return: 0 or a negative errno. */
static int dlcp_port_any(struct sock *sk, bool connect)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	int low, high, span, start, i, port;
	int err = -EADDRINUSE;

	inet_sk_get_local_port_range(sk, &low, &high);
	span = high - low + 1;
	start = get_random_u32() % span;
	xa_lock_bh(&dn->ports);
	for (i = 0; i < span && err == -EADDRINUSE; i++) {
		port = low + (start + i) % span;
		if (!inet_is_local_reserved_port(sock_net(sk), port))
			err = dlcp_port_take(sk, port, true, connect);
		if (err == -EADDRINUSE && i % DLCP_PORT_BATCH ==
					  DLCP_PORT_BATCH - 1) {
			xa_unlock_bh(&dn->ports);
			cond_resched();
			xa_lock_bh(&dn->ports);
		}
	}
	xa_unlock_bh(&dn->ports);
	return err;
}

/**
 * dlcp_port_bind() - bind a socket to a DLCP port
 * @sk: inet_rcv_saddr, sk_bound_dev_if, sk_reuse, sk_reuseport are looked at
 * @port: host order; 0: any free one
 *
 * Sockets that ask for the same port conflict, unless
 * - they are on different addresses, devices or VRFs,
 * - or both have SO_REUSEADDR and the other one does not listen,
 * - or both have SO_REUSEPORT and belong to the same user.
 *
 * Context: socket lock held, process context, may sleep.
 * Return: 0 with dlcp_sock.port set, -EADDRINUSE, -ENOMEM, or -EACCES for a
 * privileged port.
 */
int dlcp_port_bind(struct sock *sk, u16 port)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	int err;

	if (!port)
		return dlcp_port_any(sk, false);
	if (inet_port_requires_bind_service(sock_net(sk), port) &&
	    !ns_capable(sock_net(sk)->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	xa_lock_bh(&dn->ports);
	err = dlcp_port_take(sk, port, false, false);
	xa_unlock_bh(&dn->ports);
	return err;
}

/**
 * dlcp_port_connect() - have a local port for a connection to its peer
 * @sk: own and peer's address and the peer's port are set
 *
 * Sockets that connect() without bind() share ports as long as each
 * has another peer. So do those that bind() has let share one.
 *
 * Context: socket lock held, process context, may sleep.
 * Return: 0 with dlcp_sock.port set; -EADDRNOTAVAIL: there is a connection
 * between the same addresses and ports, or no port is free; -ENOMEM.
 */
int dlcp_port_connect(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err = 0;

	if (!ds->port_bound) {
		err = dlcp_port_any(sk, true);
		ds->autobound = !err;
		return err == -EADDRINUSE ? -EADDRNOTAVAIL : err;
	}
	xa_lock_bh(&dn->ports);
	if (dlcp_port_peer_free(xa_load(&dn->ports, ds->port), sk, true))
		ds->port_peer = 1;
	else
		err = -EADDRNOTAVAIL;
	xa_unlock_bh(&dn->ports);
	return err;
}

/* Listeners that share all they are bound to are one group of SO_REUSEPORT: what a
 * program attached to one of them says is for all. Context: lock held.
 */
static int dlcp_port_group(const struct dlcp_port *dp, struct sock *sk)
{
	const struct sock *other;
	struct dlcp_sock *ds;

	if (!sk->sk_reuseport)
		return 0;
	hlist_for_each_entry(ds, &dp->listeners, listen_node) {
		other = &ds->inet.sk;
		if (other->sk_reuseport && other->sk_family == sk->sk_family &&
		    ipv6_only_sock(other) == ipv6_only_sock(sk) &&
		    other->sk_bound_dev_if == sk->sk_bound_dev_if &&
		    uid_eq(dlcp_sk_uid(other), dlcp_sk_uid(sk)) &&
		    dlcp_bound_alike(other, sk))
			return reuseport_add_sock(sk, &ds->inet.sk, false);
	}
	return reuseport_alloc(sk, false);
}

/**
 * dlcp_port_listen() - become a listener
 * @sk: a socket that is bound
 *
 * With SO_REUSEADDR others may have bound the port since: whether it is still
 * free is looked at again, or they could take its connections.
 *
 * Context: socket lock held, process context.
 * Return: 0, and it is in state LISTEN; -EADDRINUSE; -ENOMEM.
 */
int dlcp_port_listen(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_port *dp;
	int err;

	err = dlcp_list_add(sk);
	if (err)
		return err;
	xa_lock_bh(&dn->ports);
	dp = xa_load(&dn->ports, ds->port);
	err = dlcp_port_free(dp, sk, false) ? dlcp_port_group(dp, sk) :
					      -EADDRINUSE;
	if (!err) {
		inet_sk_set_state(sk, TCP_LISTEN);
		hlist_add_head_rcu(&ds->listen_node, &dp->listeners);
	}
	xa_unlock_bh(&dn->ports);
	if (err)
		dlcp_list_del(sk);
	return err;
}

/* No listener any more. Context: socket lock held. */
void dlcp_port_unlisten(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));

	dlcp_list_del(sk);
	xa_lock_bh(&dn->ports);
	hlist_del_rcu(&dlcp_sk(sk)->listen_node);
	if (rcu_access_pointer(sk->sk_reuseport_cb))
		reuseport_detach_sock(sk);
	inet_sk_set_state(sk, TCP_CLOSE);
	xa_unlock_bh(&dn->ports);
}

/**
 * dlcp_port_release() - undo dlcp_port_bind()
 * @sk: a socket that does not listen
 *
 * Context: socket lock held, softirq or process.
 */
void dlcp_port_release(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_port *dp;

	if (!ds->port_bound)
		return;
	xa_lock_bh(&dn->ports);
	hlist_del(&ds->port_node);
	ds->port_bound = 0;
	ds->port_peer = 0;
	ds->autobound = 0;
	/* bind() may be called again */
	inet_sk(sk)->inet_num = 0;
	inet_sk(sk)->inet_sport = 0;
	dp = xa_load(&dn->ports, ds->port);
	if (hlist_empty(&dp->owners)) {
		__xa_erase(&dn->ports, ds->port);
		kfree_rcu(dp, rcu);
	}
	xa_unlock_bh(&dn->ports);
}

/**
 * dlcp_port_disconnect() - undo dlcp_port_connect()
 * @sk: it has no connection any more
 *
 * Only a port that the user has chosen stays bound.
 *
 * Context: socket lock held, softirq or process.
 */
void dlcp_port_disconnect(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (!ds->port_peer)
		return;
	if (ds->autobound) {
		dlcp_port_release(sk);
		return;
	}
	xa_lock_bh(&dn->ports);
	ds->port_peer = 0;
	xa_unlock_bh(&dn->ports);
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

static int dlcp_port_score(const struct sock *sk, struct sk_buff *skb)
{
	int dev = READ_ONCE(sk->sk_bound_dev_if);
	int score;

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
		return 0;
	if (!dlcp_dev_matches(sk, skb))
		return 0;
	score = skb->protocol == htons(ETH_P_IP) ? dlcp_port_score4(sk, skb) :
						   dlcp_port_score6(sk, skb);
	if (score && dev)
		score += 2;
	/* SO_INCOMING_CPU, among those that are alike */
	return 2 * score + (score && READ_ONCE(sk->sk_incoming_cpu) ==
				     raw_smp_processor_id());
}

/* What the program says that is attached to a listener's group
 * (SO_ATTACH_REUSEPORT_*), as for TCP; it sees the packet from DLCP's header on.
 * Context: RCU read lock held. Return: @sk if there is none.
 */
static struct sock *dlcp_port_ask(struct sock *sk, struct sk_buff *skb, u32 hash)
{
	struct sock_reuseport *group = rcu_dereference(sk->sk_reuseport_cb);
	struct sock *other;

	if (!group || !rcu_access_pointer(group->prog))
		return sk;
	other = reuseport_select_sock(sk, hash, skb, 0);
	return !IS_ERR_OR_NULL(other) && dlcp_port_score(other, skb) ? other :
								       sk;
}

/**
 * dlcp_port_find() - the listener a set-up packet is for
 * @net: namespace it came in
 * @skb: the packet, its network header valid
 * @port: DLCP port it is for, host order
 * @client_tag: tag its sender has chosen
 *
 * Listeners that are equally close share by SO_REUSEPORT: each gets its part of
 * the clients, and a client the same one each time, unless a program or
 * SO_INCOMING_CPU choose.
 *
 * Context: RCU read lock held.
 * Return: the socket with the closest address and device, with a reference,
 * or NULL.
 */
struct sock *dlcp_port_find(struct net *net, struct sk_buff *skb, u16 port,
			    u64 client_tag)
{
	struct dlcp_port *dp = xa_load(&dlcp_pernet(net)->ports, port);
	struct dlcp_sock *ds, *best = NULL;
	int score, top = 0;
	u32 hash, nr = 0;
	struct sock *sk;

	if (!dp)
		return NULL;
	hash = dlcp_tag_hash(net, client_tag, dlcp_share_seed);
	hlist_for_each_entry_rcu(ds, &dp->listeners, listen_node) {
		score = dlcp_port_score(&ds->inet.sk, skb);
		if (!score || score < top)
			continue;
		nr = score > top ? 1 : nr + 1;
		top = score;
		/* The n-th replaces those before in one of n cases */
		if (!reciprocal_scale(hash, nr))
			best = ds;
		hash = jhash_1word(hash, nr);
	}
	if (!best)
		return NULL;
	sk = dlcp_port_ask(&best->inet.sk, skb, hash);
	return refcount_inc_not_zero(&sk->sk_refcnt) ? sk : NULL;
}
