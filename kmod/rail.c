// SPDX-License-Identifier: GPL-2.0
/*
 * Rails: which addresses and devices a host has beside those of a connection's
 * set-up, and the way to the peer's. See core/rail.h for who may be sent what,
 * Documentation/rails.md for the rest.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip6_route.h>
#include <net/route.h>

#include "dlcp.h"

/*
 * Own addresses
 */

/* Return: whether the device has one that the whole network knows */
static bool dlcp_dev_addr4(struct net_device *dev, u8 *addr)
{
	const struct in_device *in_dev = __in_dev_get_rcu(dev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (ifa->ifa_scope != RT_SCOPE_UNIVERSE ||
		    ifa->ifa_flags & IFA_F_SECONDARY)
			continue;
		memcpy(addr, &ifa->ifa_local, sizeof(ifa->ifa_local));
		return true;
	}
	return false;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool dlcp_dev_addr6(struct net_device *dev, u8 *addr)
{
	const u32 bad = IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED |
			IFA_F_TEMPORARY;
	struct inet6_dev *idev = __in6_dev_get(dev);
	struct inet6_ifaddr *ifa;
	bool found = false;

	if (!idev)
		return false;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifa, &idev->addr_list, if_list) {
		if (ifa->flags & bad || ifa->scope != RT_SCOPE_UNIVERSE)
			continue;
		memcpy(addr, &ifa->addr, sizeof(ifa->addr));
		found = true;
		break;
	}
	read_unlock_bh(&idev->lock);
	return found;
}
#else
static bool dlcp_dev_addr6(struct net_device *dev, u8 *addr)
{
	return false;
}
#endif

/**
 * dlcp_pair_addrs() - a pair of addresses
 * @sk: the connection
 * @pair: its number: see core/rail.h
 * @own: filled in, DLCP_ADDR_LEN bytes, in the form of struct dlcp_rail_own
 * @peer: likewise
 *
 * Context: socket lock held.
 */
void dlcp_pair_addrs(const struct sock *sk, u8 pair, u8 *own, u8 *peer)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;

	memset(own, 0, DLCP_ADDR_LEN);
	memset(peer, 0, DLCP_ADDR_LEN);
	if (pair) {
		memcpy(own, c->rail.table[pair - 1].own.addr, DLCP_ADDR_LEN);
		memcpy(peer, c->rail.table[pair - 1].peer, DLCP_ADDR_LEN);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (!dlcp_is_ipv4(sk)) {
		memcpy(own, &inet6_sk(sk)->saddr, DLCP_ADDR_LEN);
		memcpy(peer, &sk->sk_v6_daddr, DLCP_ADDR_LEN);
		return;
	}
#endif
	memcpy(own, &inet_sk(sk)->inet_saddr, sizeof(__be32));
	memcpy(peer, &inet_sk(sk)->inet_daddr, sizeof(__be32));
}

/* Device of rail @k, from net.dlcp.rails */
static void dlcp_rail_name(struct dlcp_net *dn, u32 k, char *name)
{
	spin_lock_bh(&dn->rails_lock);
	memcpy(name, dn->rails[k], IFNAMSIZ);
	spin_unlock_bh(&dn->rails_lock);
}

/* Return: ifindex of the device that has the address, or 0 */
static int dlcp_rail_own(struct sock *sk, u32 k, u8 *addr)
{
	struct net *net = sock_net(sk);
	struct net_device *dev;
	char name[IFNAMSIZ];
	int ifindex = 0;
	bool found;

	dlcp_rail_name(dlcp_pernet(net), k, name);
	if (!name[0])
		return 0;
	rcu_read_lock();
	dev = dev_get_by_name_rcu(net, name);
	if (dev) {
		found = dlcp_is_ipv4(sk) ? dlcp_dev_addr4(dev, addr) :
					   dlcp_dev_addr6(dev, addr);
		ifindex = found ? dev->ifindex : 0;
	}
	rcu_read_unlock();
	return ifindex;
}

/*
 * Those of a connection before, for packets on their way may still know them;
 * these may be freed, and look, while we make the first. NULL: no memory.
 */
static struct dlcp_rail_way *dlcp_rails_ways(struct sock *sk)
{
	struct dlcp_rail_way *ways = dlcp_sk(sk)->rails;
	u32 k;

	if (ways)
		return ways;
	ways = kcalloc(DLCP_RAILS_MAX, sizeof(*ways),
		       GFP_ATOMIC | __GFP_NOWARN);
	if (!ways)
		return NULL;
	for (k = 0; k < DLCP_RAILS_MAX; k++)
		dlcp_egress_flow_init(&ways[k].egress, sk);
	/* Pairs with READ_ONCE() in egress_dev.c */
	smp_store_release(&dlcp_sk(sk)->rails, ways);
	return ways;
}

/**
 * dlcp_rails_setup() - the addresses a new connection announces
 * @sk: the connection; its own address is known
 * @own: filled in, DLCP_RAILS_MAX of them
 * @cfg: gets them, if there are any, and a path for each
 *
 * A socket that is bound to a device has no others.
 *
 * Context: socket lock held, process or softirq.
 */
void dlcp_rails_setup(struct sock *sk, struct dlcp_rail_own *own,
		      struct dlcp_conn_cfg *cfg)
{
	u8 mine[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN];
	struct dlcp_rail_way *ways;
	int ifindex[DLCP_RAILS_MAX];
	u32 k, nr = 0, others = 0;

	memset(own, 0, DLCP_RAILS_MAX * sizeof(*own));
	if (sk->sk_bound_dev_if)
		return;
	dlcp_pair_addrs(sk, 0, mine, peer);
	for (k = 0; k < DLCP_RAILS_MAX; k++) {
		ifindex[k] = dlcp_rail_own(sk, k, own[k].addr);
		nr += !!ifindex[k];
		others += ifindex[k] && memcmp(own[k].addr, mine, sizeof(mine));
	}
	if (!nr)
		return;
	ways = dlcp_rails_ways(sk);
	if (!ways)
		return;
	for (k = 0; k < DLCP_RAILS_MAX; k++) {
		ways[k].ifindex = ifindex[k];
		get_random_bytes(&own[k].token, sizeof(own[k].token));
	}
	cfg->rails = own;
	cfg->rail_family = dlcp_is_ipv4(sk) ? 4 : 6;
	cfg->nr_paths = clamp_t(u32, 1 + others, cfg->nr_paths, DLCP_PATHS_MAX);
}

/*
 * The way to the peer's
 */

static struct dst_entry *dlcp_route_pair4(struct sock *sk, int oif,
					  const u8 *own, const u8 *peer)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	u16 port = READ_ONCE(dn->udp_port);
	__be32 saddr, daddr;
	struct flowi4 fl4;
	struct rtable *rt;

	memcpy(&saddr, own, sizeof(saddr));
	memcpy(&daddr, peer, sizeof(daddr));
	flowi4_init_output(&fl4, oif,
			   READ_ONCE(sk->sk_mark), dlcp_route_tos(sk),
			   dlcp_route_scope(sk),
			   dlcp_ip_proto(dlcp_sk(sk)->encap),
			   inet_sk_flowi_flags(sk), daddr, saddr, htons(port),
			   htons(port), dlcp_sk_uid(sk));
	security_sk_classify_flow(sk, flowi4_to_flowi_common(&fl4));
	rt = ip_route_output_flow(sock_net(sk), &fl4, sk);
	return IS_ERR(rt) ? ERR_CAST(rt) : &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *dlcp_route_pair6(struct sock *sk, int oif,
					  const u8 *own, const u8 *peer)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct flowi6 fl6;

	memset(&fl6, 0, sizeof(fl6));
	fl6.flowi6_oif = oif;
	fl6.flowi6_mark = READ_ONCE(sk->sk_mark);
	fl6.flowlabel = dlcp_route_label(sk);
	fl6.flowi6_proto = dlcp_ip_proto(dlcp_sk(sk)->encap);
	fl6.flowi6_uid = dlcp_sk_uid(sk);
	memcpy(&fl6.daddr, peer, sizeof(fl6.daddr));
	memcpy(&fl6.saddr, own, sizeof(fl6.saddr));
	fl6.fl6_dport = htons(READ_ONCE(dn->udp_port));
	fl6.fl6_sport = fl6.fl6_dport;
	security_sk_classify_flow(sk, flowi6_to_flowi_common(&fl6));
	return ip6_dst_lookup_flow(sock_net(sk), sk, &fl6, NULL);
}
#else
static struct dst_entry *dlcp_route_pair6(struct sock *sk, int oif,
					  const u8 *own, const u8 *peer)
{
	return ERR_PTR(-EAFNOSUPPORT);
}
#endif

/**
 * dlcp_route_pair() - the way from one address to another
 * @sk: for a packet of this connection
 * @oif: ifindex of the device it shall leave by; 0: any
 * @own: from here, in the form of struct dlcp_rail_own
 * @peer: to there, likewise
 *
 * Context: socket lock held.
 * Return: the route, with a reference, or an ERR_PTR().
 */
struct dst_entry *dlcp_route_pair(struct sock *sk, int oif, const u8 *own,
				  const u8 *peer)
{
	return dlcp_is_ipv4(sk) ? dlcp_route_pair4(sk, oif, own, peer) :
				  dlcp_route_pair6(sk, oif, own, peer);
}

static void dlcp_rail_drop_dst(struct dlcp_rail_way *way)
{
	dst_release(way->dst);
	way->dst = NULL;
}

/**
 * dlcp_rail_dst() - the route of a rail
 * @sk: the connection
 * @k: number of the rail; both ends have an address on it
 *
 * Context: socket lock held.
 * Return: the route, with no reference for the caller; NULL: there is none.
 */
struct dst_entry *dlcp_rail_dst(struct sock *sk, u32 k)
{
	struct dlcp_rail_way *way = &dlcp_sk(sk)->rails[k];
	const struct dlcp_rail *r = &dlcp_sk(sk)->conn.rail.table[k];
	struct dst_entry *dst;

	if (way->dst && dst_check(way->dst, way->cookie))
		return way->dst;
	dlcp_rail_drop_dst(way);
	dst = dlcp_route_pair(sk, way->ifindex, r->own.addr, r->peer);
	if (IS_ERR(dst))
		return NULL;
	way->cookie = 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (!dlcp_is_ipv4(sk))
		way->cookie = rt6_get_cookie((struct rt6_info *)dst);
#endif
	way->dst = dst;
	return dst;
}

/**
 * dlcp_rails_drop_routes() - they may have changed, or are no longer needed
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_rails_drop_routes(struct sock *sk)
{
	struct dlcp_rail_way *rails = dlcp_sk(sk)->rails;
	u32 k;

	for (k = 0; rails && k < DLCP_RAILS_MAX; k++)
		dlcp_rail_drop_dst(&rails[k]);
}

/* Least MTU of the routes in use; @mtu: of the first */
u32 dlcp_rails_mtu(struct sock *sk, u32 mtu)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dst_entry *dst;
	u32 k;

	for (k = 0; ds->conn.rail.nr_pairs > 1 && k < DLCP_RAILS_MAX; k++) {
		if (!dlcp_conn_pair_works(&ds->conn, 1 + k))
			continue;
		dst = dlcp_rail_dst(sk, k);
		if (dst)
			mtu = min(mtu, dst_mtu(dst));
	}
	return mtu;
}

/* Something packets may be sent to, other than this host? */
bool dlcp_addr_usable(const struct sock *sk, const u8 *addr)
{
	struct in6_addr a6;
	__be32 a4;
	int type;

	if (dlcp_is_ipv4(sk)) {
		memcpy(&a4, addr, sizeof(a4));
		return !ipv4_is_multicast(a4) && !ipv4_is_lbcast(a4) &&
		       !ipv4_is_zeronet(a4) && !ipv4_is_loopback(a4);
	}
	memcpy(&a6, addr, sizeof(a6));
	type = ipv6_addr_type(&a6);
	return type & IPV6_ADDR_UNICAST &&
	       !(type & (IPV6_ADDR_LOOPBACK | IPV6_ADDR_LINKLOCAL |
			 IPV6_ADDR_MAPPED));
}

/* Does it lead to one host, and another than this? */
bool dlcp_dst_one_other(const struct sock *sk, const struct dst_entry *dst)
{
	if (dst->dev->flags & IFF_LOOPBACK)
		return false;
	return !dlcp_is_ipv4(sk) ||
	       !(((const struct rtable *)dst)->rt_flags &
		 (RTCF_BROADCAST | RTCF_MULTICAST));
}

/**
 * dlcp_rail_wanted() - the peer has announced an address; dlcp_conn_ops.rail
 * @c: the engine of a connection
 * @k: number of the rail
 *
 * Context: socket lock held.
 * Return: whether it is another one than that of the set-up, and there is a
 *	way to it that does not end in this host or at many.
 */
bool dlcp_rail_wanted(struct dlcp_conn *c, u32 k)
{
	const struct dlcp_rail *r = &c->rail.table[k];
	u8 mine[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN];
	struct sock *sk = dlcp_conn_sk(c);
	struct dst_entry *dst;

	dlcp_pair_addrs(sk, 0, mine, peer);
	if (!memcmp(r->peer, peer, sizeof(peer)) ||
	    !memcmp(r->own.addr, mine, sizeof(mine)) ||
	    !dlcp_addr_usable(sk, r->peer))
		return false;
	dst = dlcp_rail_dst(sk, k);
	return dst && dlcp_dst_one_other(sk, dst);
}

/*
 * Packets that come
 */

void dlcp_skb_addrs(const struct sk_buff *skb, u8 *own, u8 *peer)
{
	memset(own, 0, DLCP_ADDR_LEN);
	memset(peer, 0, DLCP_ADDR_LEN);
	if (skb->protocol == htons(ETH_P_IP)) {
		memcpy(own, &ip_hdr(skb)->daddr, sizeof(__be32));
		memcpy(peer, &ip_hdr(skb)->saddr, sizeof(__be32));
	} else {
		memcpy(own, &ipv6_hdr(skb)->daddr, DLCP_ADDR_LEN);
		memcpy(peer, &ipv6_hdr(skb)->saddr, DLCP_ADDR_LEN);
	}
}

/**
 * dlcp_pair_of() - by which pair of addresses a packet came
 * @sk: the connection it is for
 * @skb: the packet
 *
 * Context: socket lock held.
 * Return: its number; 0 also if it is none of them.
 */
u8 dlcp_pair_of(const struct sock *sk, const struct sk_buff *skb)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u8 own[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN];
	u8 k;

	if (c->rail.nr_pairs < 2)
		return 0;
	dlcp_skb_addrs(skb, own, peer);
	for (k = 0; k < DLCP_RAILS_MAX; k++)
		if (dlcp_conn_pair_works(c, 1 + k) &&
		    !memcmp(c->rail.table[k].peer, peer, sizeof(peer)) &&
		    !memcmp(c->rail.table[k].own.addr, own, sizeof(own)))
			return 1 + k;
	return 0;
}

/**
 * dlcp_from_peer() - does a RESET come from who it says?
 * @sk: the connection it is for
 * @skb: the packet
 *
 * Who was asked whether he is the peer, and is not, knows the tag and does not
 * know the connection.
 *
 * Context: socket lock held.
 */
bool dlcp_from_peer(const struct sock *sk, const struct sk_buff *skb)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u8 own[DLCP_ADDR_LEN], peer[DLCP_ADDR_LEN];
	u8 k;

	if (!c->rail.table || !c->rail.known)
		return true;
	dlcp_skb_addrs(skb, own, peer);
	for (k = 0; k < DLCP_RAILS_MAX; k++)
		if (!dlcp_conn_pair_works(c, 1 + k) &&
		    !memcmp(c->rail.table[k].peer, peer, sizeof(peer)))
			return c->rail.table[k].state == DLCP_RAIL_REFUSED;
	return true;
}

/*
 * net.dlcp.rails
 */

/**
 * dlcp_rails_set() - name the devices of the rails
 * @dn: the namespace
 * @names: separated by blanks; it is cut up
 *
 * They need not exist yet.
 *
 * Return: 0, or -EINVAL: too many, or too long a name.
 */
int dlcp_rails_set(struct dlcp_net *dn, char *names)
{
	char rails[DLCP_RAILS_MAX][IFNAMSIZ] = {};
	char *word;
	u32 nr = 0;

	while ((word = strsep(&names, " \t\n,"))) {
		if (!*word)
			continue;
		if (nr == DLCP_RAILS_MAX || strlen(word) >= IFNAMSIZ)
			return -EINVAL;
		strscpy(rails[nr++], word, IFNAMSIZ);
	}
	spin_lock_bh(&dn->rails_lock);
	memcpy(dn->rails, rails, sizeof(rails));
	spin_unlock_bh(&dn->rails_lock);
	return 0;
}

/* The same in words; @names has room for DLCP_RAILS_TEXT */
void dlcp_rails_get(struct dlcp_net *dn, char *names)
{
	char name[IFNAMSIZ];
	int len = 0;
	u32 k;

	names[0] = '\0';
	for (k = 0; k < DLCP_RAILS_MAX; k++) {
		dlcp_rail_name(dn, k, name);
		if (name[0])
			len += scnprintf(names + len, DLCP_RAILS_TEXT - len,
					 "%s%s", len ? " " : "", name);
	}
}
