// SPDX-License-Identifier: GPL-2.0
/* Socket options, level SOL_DLCP. */
#include <linux/inet.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp_states.h>

#include "dlcp.h"

static int dlcp_get_int(sockptr_t optval, unsigned int optlen, void *val)
{
	if (optlen < sizeof(int))
		return -EINVAL;
	return copy_from_sockptr(val, optval, sizeof(int)) ? -EFAULT : 0;
}

static int dlcp_get_bool(sockptr_t optval, unsigned int optlen, u8 *to)
{
	int val, err = dlcp_get_int(optval, optlen, &val);

	if (err)
		return err;
	if (val & ~1)
		return -EINVAL;
	WRITE_ONCE(*to, val);
	return 0;
}

/* What can only be chosen before there is a connection or a listener */
static bool dlcp_is_fixed(const struct sock *sk)
{
	return sk->sk_state != TCP_CLOSE || dlcp_sk(sk)->was_open;
}

static int dlcp_set_attr(struct sock *sk, sockptr_t optval,
			 unsigned int optlen)
{
	struct dlcp_attr a, *def = &dlcp_sk(sk)->attr;
	int err;

	err = dlcp_struct_from_sockptr(&a, sizeof(a), optval, optlen);
	if (!err)
		err = dlcp_check_attr(&a);
	if (err)
		return err;
	/* These are a single message's */
	if (a.mask & (DLCP_ATTR_KEY | DLCP_ATTR_LENGTH | DLCP_ATTR_COOKIE))
		return -EINVAL;
	if (a.mask & DLCP_ATTR_LOSS)
		def->loss_ppm = a.loss_ppm;
	if (a.mask & DLCP_ATTR_DEADLINE)
		def->deadline_us = a.deadline_us;
	if (a.mask & DLCP_ATTR_ELEM)
		def->elem_size = a.elem_size;
	if (a.mask & DLCP_ATTR_PRIO)
		def->prio = a.prio;
	if (a.mask & DLCP_ATTR_FLAGS)
		def->flags = a.flags;
	if (a.mask & DLCP_ATTR_GROUP)
		def->group = a.group;
	return 0;
}

static int dlcp_set_congestion(struct sock *sk, sockptr_t optval,
			       unsigned int optlen)
{
	const struct dlcp_cong_ops *cong;
	char name[DLCP_CC_NAME_MAX] = "";

	if (!optlen)
		return -EINVAL;
	if (copy_from_sockptr(name, optval,
			      min_t(size_t, optlen, sizeof(name) - 1)))
		return -EFAULT;
	cong = dlcp_cong_find(name);
	if (!cong)
		return -ENOENT;
	if (dlcp_is_fixed(sk))
		return -EISCONN;
	dlcp_sk(sk)->cong = cong;
	return 0;
}

static int dlcp_set_fill(struct sock *sk, sockptr_t optval,
			 unsigned int optlen)
{
	int val, err = dlcp_get_int(optval, optlen, &val);

	if (err)
		return err;
	if (val != DLCP_FILL_ZERO && val != DLCP_FILL_KEEP)
		return -EINVAL;
	WRITE_ONCE(dlcp_sk(sk)->fill, val);
	return 0;
}

/* 0: the namespace's, whose range is the same */
static int dlcp_get_ms(sockptr_t optval, unsigned int optlen, u32 *ms)
{
	int err = dlcp_get_int(optval, optlen, ms);

	if (err)
		return err;
	if (*ms && (*ms < DLCP_SILENCE_MIN_MS || *ms > DLCP_SILENCE_MAX_MS))
		return -EINVAL;
	return 0;
}

static int dlcp_set_dead(struct sock *sk, sockptr_t optval,
			 unsigned int optlen)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	u32 ms;
	int err;

	err = dlcp_get_ms(optval, optlen, &ms);
	if (err)
		return err;
	ds->dead_ms = ms;
	if (!ds->conn_ready)
		return 0;
	dlcp_conn_set_dead(&ds->conn, (u64)(ms ?: READ_ONCE(dn->dead_ms)) *
				      NSEC_PER_MSEC);
	dlcp_push(sk);
	return 0;
}

static int dlcp_set_keepalive(struct sock *sk, sockptr_t optval,
			      unsigned int optlen)
{
	u32 ms;
	int err;

	err = dlcp_get_ms(optval, optlen, &ms);
	if (err)
		return err;
	dlcp_sk(sk)->keepalive_ms = ms;
	sk->sk_prot->keepalive(sk, sock_flag(sk, SOCK_KEEPOPEN));
	return 0;
}

static int dlcp_set_paths(struct sock *sk, sockptr_t optval,
			  unsigned int optlen)
{
	int val, err = dlcp_get_int(optval, optlen, &val);

	if (err)
		return err;
	if (val < 1 || val > DLCP_PATHS_MAX)
		return -EINVAL;
	if (dlcp_is_fixed(sk))
		return -EISCONN;
	dlcp_sk(sk)->nr_paths = val;
	return 0;
}

static int dlcp_set_encap(struct sock *sk, sockptr_t optval,
			  unsigned int optlen)
{
	int val, err = dlcp_get_int(optval, optlen, &val);

	if (err)
		return err;
	if (val != DLCP_ENCAP_UDP && val != DLCP_ENCAP_RAW)
		return -EINVAL;
	if (val == DLCP_ENCAP_RAW && !dlcp_raw)
		return -EPROTONOSUPPORT;
	if (dlcp_is_fixed(sk))
		return -EISCONN;
	dlcp_sk(sk)->encap = val;
	return 0;
}

static int dlcp_set_zerocopy(struct sock *sk, sockptr_t optval,
			     unsigned int optlen)
{
	int val, err = dlcp_get_int(optval, optlen, &val);

	if (err)
		return err;
	if (val & ~1)
		return -EINVAL;
	sock_valbool_flag(sk, SOCK_ZEROCOPY, val);
	return 0;
}

static int dlcp_set(struct sock *sk, int optname, sockptr_t optval,
		    unsigned int optlen)
{
	switch (optname) {
	case DLCP_ATTR:
		return dlcp_set_attr(sk, optval, optlen);
	case DLCP_CONGESTION:
		return dlcp_set_congestion(sk, optval, optlen);
	case DLCP_RECVWANT:
		return dlcp_get_bool(optval, optlen, &dlcp_sk(sk)->recvwant);
	case DLCP_FILL:
		return dlcp_set_fill(sk, optval, optlen);
	case DLCP_DEAD_MS:
		return dlcp_set_dead(sk, optval, optlen);
	case DLCP_KEEPALIVE_MS:
		return dlcp_set_keepalive(sk, optval, optlen);
	case DLCP_PATHS:
		return dlcp_set_paths(sk, optval, optlen);
	case DLCP_ENCAP:
		return dlcp_set_encap(sk, optval, optlen);
	case DLCP_ZEROCOPY:
		return dlcp_set_zerocopy(sk, optval, optlen);
	default:	/* the others are read only */
		return -ENOPROTOOPT;
	}
}

/* What IP would keep, and DLCP's packets would not have. Groups are refused as TCP
 * refuses them. Return: 0 or a negative errno
 */
static int dlcp_without_effect(const struct sock *sk, int level, int optname)
{
	if (level == SOL_IP) {
		switch (optname) {
		case IP_OPTIONS:
			return -ENOPROTOOPT;
		case IP_MULTICAST_IF:
		case IP_MULTICAST_TTL:
			return -EINVAL;
		case IP_ADD_MEMBERSHIP:
		case IP_DROP_MEMBERSHIP:
			return -EPROTO;
		}
	}
	if (level != SOL_IPV6 || sk->sk_family != AF_INET6)
		return 0;
	switch (optname) {
	case IPV6_HOPOPTS:
	case IPV6_RTHDRDSTOPTS:
	case IPV6_RTHDR:
	case IPV6_DSTOPTS:
	case IPV6_2292PKTOPTIONS:
	case IPV6_FLOWINFO_SEND:
	case IPV6_MULTICAST_IF:
	case IPV6_MULTICAST_HOPS:
		return -ENOPROTOOPT;
	case IPV6_ADD_MEMBERSHIP:
	case IPV6_DROP_MEMBERSHIP:
		return -EPROTO;
	}
	return 0;
}

int dlcp_setsockopt(struct sock *sk, int level, int optname, sockptr_t optval,
		    unsigned int optlen)
{
	int err;

	if (level != SOL_DLCP) {
		err = dlcp_without_effect(sk, level, optname);
		if (err)
			return err;
#if IS_ENABLED(CONFIG_IPV6)
		if (sk->sk_family == AF_INET6)
			return ipv6_setsockopt(sk, level, optname, optval,
					       optlen);
#endif
		return ip_setsockopt(sk, level, optname, optval, optlen);
	}
	if (optlen > PAGE_SIZE)
		return -E2BIG;
	lock_sock(sk);
	err = dlcp_set(sk, optname, optval, optlen);
	release_sock(sk);
	return err;
}

static u8 dlcp_info_state(const struct sock *sk)
{
	if (sk->sk_state == TCP_LISTEN)
		return DLCP_LISTEN;
	return dlcp_sk(sk)->conn.state;
}

/* The path whose round trips are the shortest */
static const struct dlcp_path *dlcp_best_path(const struct dlcp_conn *c)
{
	const struct dlcp_path *best = NULL;
	u32 i;

	for (i = 0; c->paths && i < c->cfg.nr_paths; i++) {
		if (!c->paths[i].rtt.srtt)
			continue;
		if (!best || c->paths[i].rtt.srtt < best->rtt.srtt)
			best = &c->paths[i];
	}
	return best;
}

static void dlcp_fill_counters(const struct dlcp_conn *c,
			       struct dlcp_info *info)
{
	info->tx_offered = c->cnt[DLCP_CNT_TX_OFFERED];
	info->tx_delivered = c->cnt[DLCP_CNT_TX_DELIVERED];
	info->tx_forgiven = c->cnt[DLCP_CNT_TX_FORGIVEN];
	info->tx_resent = c->cnt[DLCP_CNT_TX_RESENT];
	info->tx_sent = c->cnt[DLCP_CNT_TX_SENT];
	info->tx_msgs = c->cnt[DLCP_CNT_TX_MSGS];
	info->tx_msgs_done = c->cnt[DLCP_CNT_TX_MSGS_DONE];
	info->rx_offered = c->cnt[DLCP_CNT_RX_OFFERED];
	info->rx_delivered = c->cnt[DLCP_CNT_RX_DELIVERED];
	info->rx_forgiven = c->cnt[DLCP_CNT_RX_FORGIVEN];
	info->rx_dup = c->cnt[DLCP_CNT_RX_DUP];
	info->rx_msgs = c->cnt[DLCP_CNT_RX_MSGS];
	info->rx_msgs_done = c->cnt[DLCP_CNT_RX_MSGS_DONE];
	info->tx_packets = c->cnt[DLCP_CNT_TX_PACKETS];
	info->rx_packets = c->cnt[DLCP_CNT_RX_PACKETS];
	info->lost_packets = c->cnt[DLCP_CNT_LOST];
	info->spurious = c->cnt[DLCP_CNT_SPURIOUS];
	info->ce_marks = c->cnt[DLCP_CNT_CE];
	info->probes = c->cnt[DLCP_CNT_PROBES];
}

/**
 * dlcp_fill_info() - DLCP_INFO
 * @sk: socket
 * @info: filled in; zero but for state and encap without a connection
 *
 * Context: socket lock held; or that of dlcp_net.socks, with @sk on that list:
 *	then the figures may not be of one moment.
 */
void dlcp_fill_info(const struct sock *sk, struct dlcp_info *info)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	const struct dlcp_path *path;

	memset(info, 0, sizeof(*info));
	info->state = dlcp_info_state(sk);
	info->encap = dlcp_sk(sk)->encap;
	if (!dlcp_sk(sk)->conn_ready)
		return;
	info->version = c->version;
	info->nr_paths = c->cfg.nr_paths;
	info->nr_pairs = c->rail.nr_pairs;
	info->mtu = c->cfg.mtu + (dlcp_is_ipv4(sk) ? 28 : 48);
	info->seg_size = dlcp_conn_seg_size(c, 4, U32_MAX, 0);
	path = dlcp_best_path(c);
	if (path) {
		info->srtt_ns = path->rtt.srtt;
		info->rttvar_ns = path->rtt.var;
		info->min_rtt_ns = path->net.min;
	}
	info->cwnd = c->cong.cwnd;
	info->inflight = c->inflight;
	info->pacing_rate = c->pace.rate;
	info->delivery_rate = c->cong.delivery_rate;
	dlcp_fill_counters(c, info);
}

/**
 * dlcp_list_info() - DLCP_INFO of a socket, without its lock
 * @sk: a socket that dlcp_list_next() returned
 * @info: left alone if it is not on the list any more
 *
 * Context: any, no lock held.
 */
void dlcp_list_info(struct sock *sk, struct dlcp_info *info)
{
	struct xarray *socks = &dlcp_pernet(sock_net(sk))->socks;
	struct dlcp_sock *ds = dlcp_sk(sk);

	xa_lock_bh(socks);
	if (xa_load(socks, READ_ONCE(ds->list_id)) == ds)
		dlcp_fill_info(sk, info);
	xa_unlock_bh(socks);
}
EXPORT_SYMBOL_GPL(dlcp_list_info);

/**
 * dlcp_fill_path_info() - one entry of DLCP_PATH_INFO, but for the device
 * @sk: its connection
 * @p: the path
 * @info: filled in
 *
 * Context: as for dlcp_fill_info().
 */
void dlcp_fill_path_info(const struct sock *sk, const struct dlcp_path *p,
			 struct dlcp_path_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->id = p->id;
	info->state = p->bad ? DLCP_PATH_FAILED :
		      p->pto_count ? DLCP_PATH_ASKED : DLCP_PATH_WORKS;
	info->entropy = p->home ? READ_ONCE(dlcp_pernet(sock_net(sk))->udp_port) :
				  p->entropy;
	info->weight = p->weight;
	info->srtt_ns = p->rtt.srtt;
	info->rttvar_ns = p->rtt.var;
	info->net_ns = p->net.srtt;
	info->min_net_ns = p->net.min;
	info->packets = p->sent_packets;
	info->acked = p->acked;
	info->lost = p->lost;
	info->ce_marks = p->ce_seen;
	info->inflight = p->inflight;
	info->pair = p->pair;
	dlcp_pair_addrs(sk, p->pair, info->local, info->remote);
}

/* The device packets to that pair of addresses leave through; 0: no route */
static int dlcp_path_dev(struct sock *sk, u8 pair)
{
	struct dst_entry *dst;

	dst = pair ? dlcp_rail_dst(sk, pair - 1) : __sk_dst_get(sk);
	return dst ? dst->dev->ifindex : 0;
}

/* To the user: what both know; an int where the user may ask for less */
static int dlcp_put_opt(char __user *optval, int __user *optlen,
			const void *val, int size)
{
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	len = min(len, size);
	if (put_user(len, optlen) || copy_to_user(optval, val, len))
		return -EFAULT;
	return 0;
}

static int dlcp_put_int(char __user *optval, int __user *optlen, int val)
{
	return dlcp_put_opt(optval, optlen, &val, sizeof(val));
}

/* Where there is room for a part of it alone, that ends with a NUL, too */
static int dlcp_put_string(char __user *optval, int __user *optlen,
			   const char *s, size_t max)
{
	char text[DLCP_ERROR_TEXT_MAX] = "";
	int len;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len > 0)
		strscpy(text, s, min3(max, sizeof(text), (size_t)len));
	return dlcp_put_opt(optval, optlen, text, strlen(text) + 1);
}

static int dlcp_get_attr(struct sock *sk, char __user *optval,
			 int __user *optlen)
{
	struct dlcp_attr a;

	lock_sock(sk);
	a = dlcp_sk(sk)->attr;
	release_sock(sk);
	/* All that a default can be, as dlcp_set_attr() takes it */
	a.mask = DLCP_ATTR_ALL & ~(DLCP_ATTR_KEY | DLCP_ATTR_LENGTH |
				   DLCP_ATTR_COOKIE);
	return dlcp_put_opt(optval, optlen, &a, sizeof(a));
}

/* What a connection was set up with; or what one would be, were it made now */
static int dlcp_get_congestion(struct sock *sk, char __user *optval,
			       int __user *optlen)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	const struct dlcp_cong_ops *cong;

	lock_sock(sk);
	cong = ds->conn_ready ? ds->conn.cong.ops : ds->cong;
	release_sock(sk);
	if (!cong)
		cong = READ_ONCE(dn->cong);
	return dlcp_put_string(optval, optlen, cong->name, DLCP_CC_NAME_MAX);
}

static int dlcp_get_paths(struct sock *sk, char __user *optval,
			  int __user *optlen)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	u32 nr;

	lock_sock(sk);
	nr = ds->conn_ready ? ds->conn.cfg.nr_paths : ds->nr_paths;
	release_sock(sk);
	return dlcp_put_int(optval, optlen, nr ?: READ_ONCE(dn->nr_paths));
}

static int dlcp_get_info(struct sock *sk, char __user *optval,
			 int __user *optlen)
{
	struct dlcp_info info;

	lock_sock(sk);
	dlcp_fill_info(sk, &info);
	release_sock(sk);
	return dlcp_put_opt(optval, optlen, &info, sizeof(info));
}

static int dlcp_get_path_info(struct sock *sk, char __user *optval,
			      int __user *optlen)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dlcp_path_info *info;
	u32 nr = 0;
	int err;

	info = kcalloc(DLCP_PATHS_MAX, sizeof(*info), GFP_KERNEL_ACCOUNT);
	if (!info)
		return -ENOMEM;
	lock_sock(sk);
	for (; dlcp_sk(sk)->conn_ready && nr < c->cfg.nr_paths; nr++) {
		dlcp_fill_path_info(sk, &c->paths[nr], &info[nr]);
		info[nr].ifindex = dlcp_path_dev(sk, c->paths[nr].pair);
	}
	release_sock(sk);
	err = dlcp_put_opt(optval, optlen, info, nr * sizeof(*info));
	kfree(info);
	return err;
}

/* Of a set-up that ended with @err, as the peer said nothing: what to look at */
static void dlcp_unanswered(const struct sock *sk, int err, char *text,
			    int size)
{
	const struct dlcp_sock *ds = dlcp_sk(sk);
	char peer[INET6_ADDRSTRLEN], port[20];

	if (ds->tried_ipv4)
		scnprintf(peer, sizeof(peer), "%pI4", ds->tried.addr);
	else
		scnprintf(peer, sizeof(peer), "%pI6c", ds->tried.addr);
	if (ds->encap == DLCP_ENCAP_RAW)
		scnprintf(port, sizeof(port), "IP protocol %d", IPPROTO_DLCP);
	else
		scnprintf(port, sizeof(port), "UDP port %u", ds->tried.port);
	if (err == ETIMEDOUT)
		scnprintf(text, size,
			  "no answer from %s at %s: is the module loaded there, and the port open?",
			  port, peer);
	else if (err == ECONNREFUSED || err == ENOPROTOOPT)
		scnprintf(text, size,
			  "%s at %s is closed (ICMP): is the module in use there, or does a firewall refuse it?",
			  port, peer);
	else
		scnprintf(text, size,
			  "no way to %s at %s (ICMP or no route): does a firewall or router refuse it?",
			  port, peer);
}

static int dlcp_get_last_error(struct sock *sk, char __user *optval,
			       int __user *optlen)
{
	char text[DLCP_ERROR_TEXT_MAX] = "";
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	int err;

	lock_sock(sk);
	err = c->unanswered ? c->error : dlcp_sk(sk)->tried_err;
	if (err)
		dlcp_unanswered(sk, err, text, sizeof(text));
	else if (c->error_text ?: dlcp_sk(sk)->tried_text)
		strscpy(text, c->error_text ?: dlcp_sk(sk)->tried_text,
			sizeof(text));
	release_sock(sk);
	return dlcp_put_string(optval, optlen, text, sizeof(text));
}

static int dlcp_get(struct sock *sk, int optname, char __user *optval,
		    int __user *optlen)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	switch (optname) {
	case DLCP_ATTR:
		return dlcp_get_attr(sk, optval, optlen);
	case DLCP_INFO:
		return dlcp_get_info(sk, optval, optlen);
	case DLCP_CONGESTION:
		return dlcp_get_congestion(sk, optval, optlen);
	case DLCP_RECVWANT:
		return dlcp_put_int(optval, optlen, READ_ONCE(ds->recvwant));
	case DLCP_FILL:
		return dlcp_put_int(optval, optlen, READ_ONCE(ds->fill));
	case DLCP_DEAD_MS:
		return dlcp_put_int(optval, optlen, READ_ONCE(ds->dead_ms));
	case DLCP_KEEPALIVE_MS:
		return dlcp_put_int(optval, optlen,
				    READ_ONCE(ds->keepalive_ms));
	case DLCP_PATHS:
		return dlcp_get_paths(sk, optval, optlen);
	case DLCP_ENCAP:
		return dlcp_put_int(optval, optlen, READ_ONCE(ds->encap));
	case DLCP_LAST_ERROR:
		return dlcp_get_last_error(sk, optval, optlen);
	case DLCP_ZEROCOPY:
		return dlcp_put_int(optval, optlen, sock_flag(sk, SOCK_ZEROCOPY));
	case DLCP_PATH_INFO:
		return dlcp_get_path_info(sk, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

int dlcp_getsockopt(struct sock *sk, int level, int optname,
		    char __user *optval, int __user *optlen)
{
	if (level == SOL_DLCP)
		return dlcp_get(sk, optname, optval, optlen);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return ipv6_getsockopt(sk, level, optname, optval, optlen);
#endif
	return ip_getsockopt(sk, level, optname, optval, optlen);
}
