// SPDX-License-Identifier: GPL-2.0
/*
 * The family "dlcp" of generic netlink: listeners, connections and their paths,
 * and devices, as dumps. Its attributes are described in
 * Documentation/netlink/specs/dlcp.yaml.
 *
 * Nobody's socket is locked: whoever may ask could hold up its users otherwise.
 * The lock of dlcp_net.socks keeps a socket on it, and so its engine, for as
 * long as it takes to copy what is shown. A dump goes on at the index where the
 * message before has ended, and a socket keeps its index: each that is there all
 * the time is shown once.
 */
#include <linux/sock_diag.h>

#include "dlcp.h"
#include "netlink_gen.h"

/**
 * struct dlcp_nl_ends - the addresses of a socket
 * @local: IPv4 or IPv6
 * @remote: likewise; zeros of a listener
 * @local_port: host order
 * @remote_port: host order; 0 of a listener
 * @ipv4: they are IPv4
 */
struct dlcp_nl_ends {
	u8	local[DLCP_ADDR_LEN];
	u8	remote[DLCP_ADDR_LEN];
	u16	local_port;
	u16	remote_port;
	bool	ipv4;
};

/**
 * struct dlcp_nl_sock - what is shown of a socket
 * @info: its DLCP_INFO
 * @ends: its addresses
 * @cookie: its SO_COOKIE
 * @inode: of its file; 0: it has none
 * @uid: its user
 * @wqueue: bytes in its send buffer
 * @rqueue: bytes in its receive buffer
 * @backlog: of a listener: connections that wait
 * @backlog_max: and that may
 */
struct dlcp_nl_sock {
	struct dlcp_info	info;
	struct dlcp_nl_ends	ends;
	u64			cookie;
	u64			inode;
	kuid_t			uid;
	u32			wqueue;
	u32			rqueue;
	u32			backlog;
	u32			backlog_max;
};

/**
 * struct dlcp_nl_path - what is shown of a path
 * @info: its part of DLCP_PATH_INFO
 * @ends: its addresses
 * @cookie: SO_COOKIE of its socket
 */
struct dlcp_nl_path {
	struct dlcp_path_info	info;
	struct dlcp_nl_ends	ends;
	u64			cookie;
};

/**
 * struct dlcp_nl_ctx - where a dump goes on
 * @id: index of the socket or device
 * @path: number of the next path
 * @cookie: of the socket that it is of; it may be another one by then
 */
struct dlcp_nl_ctx {
	unsigned long	id;
	u32		path;
	u64		cookie;
};

static struct dlcp_nl_ctx *dlcp_nl_ctx(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct dlcp_nl_ctx) > sizeof(cb->ctx));
	return (struct dlcp_nl_ctx *)cb->ctx;
}

/* A field of a struct, as an attribute */
struct dlcp_nl_field {
	u16	attr;
	u16	offset;
};

/* u64 of struct dlcp_info */
static const struct dlcp_nl_field dlcp_nl_info[] = {
	{ DLCP_A_SOCK_SRTT_NS, offsetof(struct dlcp_info, srtt_ns) },
	{ DLCP_A_SOCK_RTTVAR_NS, offsetof(struct dlcp_info, rttvar_ns) },
	{ DLCP_A_SOCK_MIN_RTT_NS, offsetof(struct dlcp_info, min_rtt_ns) },
	{ DLCP_A_SOCK_CWND, offsetof(struct dlcp_info, cwnd) },
	{ DLCP_A_SOCK_INFLIGHT, offsetof(struct dlcp_info, inflight) },
	{ DLCP_A_SOCK_PACING_RATE, offsetof(struct dlcp_info, pacing_rate) },
	{ DLCP_A_SOCK_DELIVERY_RATE,
	  offsetof(struct dlcp_info, delivery_rate) },
	{ DLCP_A_SOCK_TX_OFFERED, offsetof(struct dlcp_info, tx_offered) },
	{ DLCP_A_SOCK_TX_DELIVERED, offsetof(struct dlcp_info, tx_delivered) },
	{ DLCP_A_SOCK_TX_FORGIVEN, offsetof(struct dlcp_info, tx_forgiven) },
	{ DLCP_A_SOCK_TX_RESENT, offsetof(struct dlcp_info, tx_resent) },
	{ DLCP_A_SOCK_TX_SENT, offsetof(struct dlcp_info, tx_sent) },
	{ DLCP_A_SOCK_TX_MSGS, offsetof(struct dlcp_info, tx_msgs) },
	{ DLCP_A_SOCK_TX_MSGS_DONE, offsetof(struct dlcp_info, tx_msgs_done) },
	{ DLCP_A_SOCK_RX_OFFERED, offsetof(struct dlcp_info, rx_offered) },
	{ DLCP_A_SOCK_RX_DELIVERED, offsetof(struct dlcp_info, rx_delivered) },
	{ DLCP_A_SOCK_RX_FORGIVEN, offsetof(struct dlcp_info, rx_forgiven) },
	{ DLCP_A_SOCK_RX_DUP, offsetof(struct dlcp_info, rx_dup) },
	{ DLCP_A_SOCK_RX_MSGS, offsetof(struct dlcp_info, rx_msgs) },
	{ DLCP_A_SOCK_RX_MSGS_DONE, offsetof(struct dlcp_info, rx_msgs_done) },
	{ DLCP_A_SOCK_TX_PACKETS, offsetof(struct dlcp_info, tx_packets) },
	{ DLCP_A_SOCK_RX_PACKETS, offsetof(struct dlcp_info, rx_packets) },
	{ DLCP_A_SOCK_LOST_PACKETS, offsetof(struct dlcp_info, lost_packets) },
	{ DLCP_A_SOCK_SPURIOUS, offsetof(struct dlcp_info, spurious) },
	{ DLCP_A_SOCK_CE_MARKS, offsetof(struct dlcp_info, ce_marks) },
};

/* u64 of struct dlcp_path_info */
static const struct dlcp_nl_field dlcp_nl_path_info[] = {
	{ DLCP_A_PATH_SRTT_NS, offsetof(struct dlcp_path_info, srtt_ns) },
	{ DLCP_A_PATH_RTTVAR_NS, offsetof(struct dlcp_path_info, rttvar_ns) },
	{ DLCP_A_PATH_NET_NS, offsetof(struct dlcp_path_info, net_ns) },
	{ DLCP_A_PATH_MIN_NET_NS, offsetof(struct dlcp_path_info, min_net_ns) },
	{ DLCP_A_PATH_PACKETS, offsetof(struct dlcp_path_info, packets) },
	{ DLCP_A_PATH_ACKED, offsetof(struct dlcp_path_info, acked) },
	{ DLCP_A_PATH_LOST, offsetof(struct dlcp_path_info, lost) },
	{ DLCP_A_PATH_CE_MARKS, offsetof(struct dlcp_path_info, ce_marks) },
	{ DLCP_A_PATH_INFLIGHT, offsetof(struct dlcp_path_info, inflight) },
};

static int dlcp_nl_put_fields(struct sk_buff *skb,
			      const struct dlcp_nl_field *field, u32 nr,
			      const void *from)
{
	int err = 0;

	for (; nr && !err; nr--, field++)
		err = nla_put_uint(skb, field->attr,
				   *(const u64 *)(from + field->offset));
	return err;
}

static void dlcp_nl_copy_ends(struct dlcp_nl_ends *e, const struct sock *sk,
			      u8 pair)
{
	dlcp_pair_addrs(sk, pair, e->local, e->remote);
	e->local_port = dlcp_sk(sk)->port;
	e->remote_port = ntohs(inet_sk(sk)->inet_dport);
	e->ipv4 = dlcp_is_ipv4(sk);
}

static int dlcp_nl_put_ends(struct sk_buff *skb, int attr,
			    const struct dlcp_nl_ends *e)
{
	int local = e->ipv4 ? DLCP_A_ENDS_LOCAL_IPV4 : DLCP_A_ENDS_LOCAL_IPV6;
	int remote = e->ipv4 ? DLCP_A_ENDS_REMOTE_IPV4 :
			       DLCP_A_ENDS_REMOTE_IPV6;
	int len = e->ipv4 ? sizeof(__be32) : sizeof(struct in6_addr);
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest || nla_put(skb, local, len, e->local) ||
	    nla_put(skb, remote, len, e->remote) ||
	    nla_put_u16(skb, DLCP_A_ENDS_LOCAL_PORT, e->local_port) ||
	    nla_put_u16(skb, DLCP_A_ENDS_REMOTE_PORT, e->remote_port))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static u64 dlcp_nl_cookie(struct sock *sk)
{
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	return (u64)cookie[1] << 32 | cookie[0];
}

/* Is it the one that was asked for? */
static bool dlcp_nl_wanted(struct netlink_callback *cb, int attr, u64 value)
{
	const struct nlattr *nla = dlcp_dump_info(cb)->attrs[attr];

	if (!nla)
		return true;
	return value == (nla_len(nla) == sizeof(u64) ? nla_get_u64(nla) :
						       nla_get_u32(nla));
}

static struct xarray *dlcp_nl_socks(const struct sk_buff *skb)
{
	return &dlcp_pernet(sock_net(skb->sk))->socks;
}

static u32 dlcp_nl_uid(const struct netlink_callback *cb, kuid_t uid)
{
	return from_kuid_munged(sk_user_ns(NETLINK_CB(cb->skb).sk), uid);
}

static void *dlcp_nl_begin(struct sk_buff *skb, struct netlink_callback *cb,
			   u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   dlcp_dump_info(cb)->family, NLM_F_MULTI, cmd);
}

/* Whole, or not at all */
static int dlcp_nl_end(struct sk_buff *skb, void *hdr, int err)
{
	if (err)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return err;
}

/* What a dump returns where it stops: a message that had no room comes next */
static int dlcp_nl_stop(const struct sk_buff *skb, int err)
{
	return skb->len ?: err;
}

/* Return: false if there is none with that index any more */
static bool dlcp_nl_copy_sock(struct xarray *socks, unsigned long id,
			      struct dlcp_nl_sock *s)
{
	struct dlcp_sock *ds;
	struct sock *sk;

	memset(s, 0, sizeof(*s));
	xa_lock_bh(socks);
	ds = xa_load(socks, id);
	if (ds) {
		sk = &ds->inet.sk;
		dlcp_fill_info(sk, &s->info);
		dlcp_nl_copy_ends(&s->ends, sk, 0);
		s->cookie = dlcp_nl_cookie(sk);
		s->inode = sock_i_ino(sk);
		s->uid = dlcp_sk_uid(sk);
		if (s->info.state == DLCP_LISTEN) {
			s->backlog = READ_ONCE(sk->sk_ack_backlog);
			s->backlog_max = READ_ONCE(sk->sk_max_ack_backlog);
		} else {
			s->wqueue = READ_ONCE(sk->sk_wmem_queued);
			s->rqueue = sk_rmem_alloc_get(sk);
		}
	}
	xa_unlock_bh(socks);
	return ds;
}

static int dlcp_nl_put_conn(struct sk_buff *skb, const struct dlcp_nl_sock *s)
{
	const struct dlcp_info *info = &s->info;

	if (nla_put_u32(skb, DLCP_A_SOCK_WQUEUE, s->wqueue) ||
	    nla_put_u32(skb, DLCP_A_SOCK_RQUEUE, s->rqueue) ||
	    nla_put_u32(skb, DLCP_A_SOCK_VERSION, info->version) ||
	    nla_put_u32(skb, DLCP_A_SOCK_PATHS, info->nr_paths) ||
	    nla_put_u32(skb, DLCP_A_SOCK_PAIRS, info->nr_pairs) ||
	    nla_put_u32(skb, DLCP_A_SOCK_MTU, info->mtu) ||
	    nla_put_u32(skb, DLCP_A_SOCK_SEG_SIZE, info->seg_size) ||
	    nla_put_u32(skb, DLCP_A_SOCK_PROBES, info->probes))
		return -EMSGSIZE;
	return dlcp_nl_put_fields(skb, dlcp_nl_info, ARRAY_SIZE(dlcp_nl_info),
				  info);
}

static int dlcp_nl_put_sock(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct dlcp_nl_sock *s)
{
	void *hdr = dlcp_nl_begin(skb, cb, DLCP_CMD_SOCK_GET);
	int err;

	if (!hdr)
		return -EMSGSIZE;
	err = -EMSGSIZE;
	if (nla_put_u64_64bit(skb, DLCP_A_SOCK_COOKIE, s->cookie,
			      DLCP_A_SOCK_PAD) ||
	    dlcp_nl_put_ends(skb, DLCP_A_SOCK_ENDS, &s->ends) ||
	    nla_put_u32(skb, DLCP_A_SOCK_STATE, s->info.state) ||
	    nla_put_u32(skb, DLCP_A_SOCK_ENCAP, s->info.encap) ||
	    nla_put_u32(skb, DLCP_A_SOCK_UID, dlcp_nl_uid(cb, s->uid)) ||
	    nla_put_uint(skb, DLCP_A_SOCK_INODE, s->inode))
		return dlcp_nl_end(skb, hdr, err);
	if (s->info.state != DLCP_LISTEN)
		err = dlcp_nl_put_conn(skb, s);
	else if (!nla_put_u32(skb, DLCP_A_SOCK_BACKLOG, s->backlog))
		err = nla_put_u32(skb, DLCP_A_SOCK_BACKLOG_MAX, s->backlog_max);
	return dlcp_nl_end(skb, hdr, err);
}

/* DLCP_CMD_SOCK_GET */
int dlcp_nl_sock_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct xarray *socks = dlcp_nl_socks(skb);
	struct dlcp_nl_ctx *ctx = dlcp_nl_ctx(cb);
	struct dlcp_nl_sock s;
	int err = 0;

	for (; xa_find(socks, &ctx->id, U32_MAX, XA_PRESENT); ctx->id++) {
		cond_resched();
		if (!dlcp_nl_copy_sock(socks, ctx->id, &s) ||
		    !dlcp_nl_wanted(cb, DLCP_A_SOCK_COOKIE, s.cookie))
			continue;
		err = dlcp_nl_put_sock(skb, cb, &s);
		if (err)
			break;
	}
	return dlcp_nl_stop(skb, err);
}

/* The @i-th path of a connection. Return: false if there is none. */
static bool dlcp_nl_copy_path(struct xarray *socks, unsigned long id, u32 i,
			      struct dlcp_nl_path *p)
{
	const struct dlcp_conn *c;
	struct dlcp_sock *ds;
	bool found;

	memset(p, 0, sizeof(*p));
	xa_lock_bh(socks);
	ds = xa_load(socks, id);
	c = ds ? &ds->conn : NULL;
	found = c && i < c->cfg.nr_paths;
	if (found) {
		dlcp_fill_path_info(&ds->inet.sk, &c->paths[i], &p->info);
		dlcp_nl_copy_ends(&p->ends, &ds->inet.sk, p->info.pair);
		p->cookie = dlcp_nl_cookie(&ds->inet.sk);
	}
	xa_unlock_bh(socks);
	return found;
}

static int dlcp_nl_put_path(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct dlcp_nl_path *p)
{
	void *hdr = dlcp_nl_begin(skb, cb, DLCP_CMD_PATH_GET);
	const struct dlcp_path_info *info = &p->info;
	int err;

	if (!hdr)
		return -EMSGSIZE;
	err = -EMSGSIZE;
	if (nla_put_u64_64bit(skb, DLCP_A_PATH_COOKIE, p->cookie,
			      DLCP_A_PATH_PAD) ||
	    dlcp_nl_put_ends(skb, DLCP_A_PATH_ENDS, &p->ends) ||
	    nla_put_u32(skb, DLCP_A_PATH_ID, info->id) ||
	    nla_put_u32(skb, DLCP_A_PATH_PAIR, info->pair) ||
	    nla_put_u32(skb, DLCP_A_PATH_STATE, info->state) ||
	    nla_put_u32(skb, DLCP_A_PATH_ENTROPY, info->entropy) ||
	    nla_put_u32(skb, DLCP_A_PATH_WEIGHT, info->weight))
		return dlcp_nl_end(skb, hdr, err);
	err = dlcp_nl_put_fields(skb, dlcp_nl_path_info,
				 ARRAY_SIZE(dlcp_nl_path_info), info);
	return dlcp_nl_end(skb, hdr, err);
}

/* The paths of one connection, from ctx->path on */
static int dlcp_nl_put_paths(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dlcp_nl_ctx *ctx = dlcp_nl_ctx(cb);
	struct dlcp_nl_path p;
	int err;

	for (; dlcp_nl_copy_path(dlcp_nl_socks(skb), ctx->id, ctx->path, &p);
	     ctx->path++) {
		if (!dlcp_nl_wanted(cb, DLCP_A_PATH_COOKIE, p.cookie))
			break;
		/* Another connection has the index now: from its first one */
		if (ctx->path && ctx->cookie != p.cookie) {
			ctx->path = -1;
			continue;
		}
		err = dlcp_nl_put_path(skb, cb, &p);
		if (err)
			return err;
		ctx->cookie = p.cookie;
	}
	ctx->path = 0;
	return 0;
}

/* DLCP_CMD_PATH_GET */
int dlcp_nl_path_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct xarray *socks = dlcp_nl_socks(skb);
	struct dlcp_nl_ctx *ctx = dlcp_nl_ctx(cb);
	unsigned long id = ctx->id;
	int err = 0;

	for (; xa_find(socks, &id, U32_MAX, XA_PRESENT); id++) {
		cond_resched();
		if (id != ctx->id)
			ctx->path = 0;
		ctx->id = id;
		err = dlcp_nl_put_paths(skb, cb);
		if (err)
			break;
	}
	ctx->id = id;
	return dlcp_nl_stop(skb, err);
}

static int dlcp_nl_put_dev(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct dlcp_egress_seen *dev)
{
	void *hdr = dlcp_nl_begin(skb, cb, DLCP_CMD_DEV_GET);
	int err = 0;

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u32(skb, DLCP_A_DEV_IFINDEX, dev->ifindex) ||
	    nla_put_u32(skb, DLCP_A_DEV_UID, dlcp_nl_uid(cb, dev->uid)) ||
	    nla_put_u32(skb, DLCP_A_DEV_FLOWS, dev->flows) ||
	    nla_put_u32(skb, DLCP_A_DEV_QUEUED, dev->queued) ||
	    nla_put_u32(skb, DLCP_A_DEV_WAITING, dev->waiting))
		err = -EMSGSIZE;
	return dlcp_nl_end(skb, hdr, err);
}

/* DLCP_CMD_DEV_GET */
int dlcp_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(skb->sk));
	struct dlcp_nl_ctx *ctx = dlcp_nl_ctx(cb);
	struct dlcp_egress_seen dev;
	int err = 0;

	for (; dlcp_egress_look(dn, &ctx->id, &dev); ctx->id++) {
		cond_resched();
		if (!dlcp_nl_wanted(cb, DLCP_A_DEV_IFINDEX, dev.ifindex))
			continue;
		err = dlcp_nl_put_dev(skb, cb, &dev);
		if (err)
			break;
	}
	return dlcp_nl_stop(skb, err);
}
