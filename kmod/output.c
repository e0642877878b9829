// SPDX-License-Identifier: GPL-2.0
/*
 * From what the engine wants sent to skbs given to IP.
 *
 * First transmissions leave as GSO packets: their headers are written into
 * the room in front of each segment in the message's chunks, and a run of
 * slots becomes a page fragment, so the payload is not touched. What is sent
 * again has its DLCP header in the linear part.
 *
 * Packets are built under the socket lock and queued on txq; who finds nobody
 * emptying it does so without the lock. The queue keeps packet numbers in
 * order when a user and a softirq send at the same time.
 */
#include <linux/jhash.h>
#include <linux/pkt_sched.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/udp.h>

#include "dlcp.h"
#include "flow.h"
#include "trace.h"

/* UDP header, or the same in front of DLCP in IP protocol 253 */
#define DLCP_UDP_LEN	sizeof(struct udphdr)
/* Largest IP packet less the largest IP header without options */
#define DLCP_GSO_MAX	(65535U - sizeof(struct ipv6hdr))

/*
 * Routes
 */

/* The socket has no address of its own: the route says which. addr.c undoes it. */
static void dlcp_choose_addr4(struct sock *sk, __be32 saddr)
{
	struct inet_sock *inet = inet_sk(sk);

	if (inet->inet_saddr)
		return;
	dlcp_sk(sk)->auto_addr = 1;
	inet->inet_saddr = saddr;
	if (!inet->inet_rcv_saddr)
		inet->inet_rcv_saddr = saddr;
#if IS_ENABLED(CONFIG_IPV6)
	/* It is :: or ::ffff:0.0.0.0 */
	if (sk->sk_family != AF_INET6)
		return;
	ipv6_addr_set_v4mapped(saddr, &inet6_sk(sk)->saddr);
	sk->sk_v6_rcv_saddr = inet6_sk(sk)->saddr;
#endif
}

/* UDP source port of what the engine sends from @port */
static u16 dlcp_own_port(const struct sock *sk, u16 port)
{
	return port ?: READ_ONCE(dlcp_pernet(sock_net(sk))->udp_port);
}

static struct dst_entry *dlcp_route4(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct flowi4 fl4;
	struct rtable *rt;

#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		inet->inet_daddr = sk->sk_v6_daddr.s6_addr32[3];
#endif
	flowi4_init_output(&fl4, sk->sk_bound_dev_if, READ_ONCE(sk->sk_mark),
			   dlcp_route_tos(sk), dlcp_route_scope(sk),
			   dlcp_ip_proto(ds->encap),
			   inet_sk_flowi_flags(sk), inet->inet_daddr,
			   inet->inet_saddr, htons(dlcp_peer_port(sk)),
			   htons(dlcp_own_port(sk, 0)), dlcp_sk_uid(sk));
	security_sk_classify_flow(sk, flowi4_to_flowi_common(&fl4));
	rt = ip_route_output_flow(sock_net(sk), &fl4, sk);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_flags & (RTCF_BROADCAST | RTCF_MULTICAST)) {
		ip_rt_put(rt);
		return ERR_PTR(-ENETUNREACH);
	}
	dlcp_choose_addr4(sk, fl4.saddr);
	ds->dst_cookie = 0;
	return &rt->dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static struct dst_entry *dlcp_route6(struct sock *sk)
{
	struct ipv6_pinfo *np = inet6_sk(sk);
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dst_entry *dst;
	struct flowi6 fl6;

	if (ipv6_addr_is_multicast(&sk->sk_v6_daddr))
		return ERR_PTR(-ENETUNREACH);
	memset(&fl6, 0, sizeof(fl6));
	fl6.flowi6_oif = sk->sk_bound_dev_if;
	fl6.flowi6_mark = READ_ONCE(sk->sk_mark);
	fl6.flowlabel = dlcp_route_label(sk);
	fl6.flowi6_proto = dlcp_ip_proto(ds->encap);
	fl6.flowi6_uid = dlcp_sk_uid(sk);
	fl6.daddr = sk->sk_v6_daddr;
	fl6.saddr = np->saddr;
	fl6.fl6_dport = htons(dlcp_peer_port(sk));
	fl6.fl6_sport = htons(dlcp_own_port(sk, 0));
	security_sk_classify_flow(sk, flowi6_to_flowi_common(&fl6));
	dst = ip6_dst_lookup_flow(sock_net(sk), sk, &fl6, NULL);
	if (IS_ERR(dst))
		return dst;
	if (ipv6_addr_any(&np->saddr)) {
		ds->auto_addr = 1;
		np->saddr = fl6.saddr;
		sk->sk_v6_rcv_saddr = fl6.saddr;
	}
	ds->dst_cookie = rt6_get_cookie((struct rt6_info *)dst);
	return dst;
}
#else
static struct dst_entry *dlcp_route6(struct sock *sk)
{
	return ERR_PTR(-EAFNOSUPPORT);
}
#endif

/* Bytes of headers below DLCP */
u32 dlcp_under(const struct sock *sk)
{
	return DLCP_UDP_LEN + (dlcp_is_ipv4(sk) ? sizeof(struct iphdr) :
						  sizeof(struct ipv6hdr));
}

/* Bytes for a DLCP packet on this route */
static u32 dlcp_dst_mtu(struct sock *sk, struct dst_entry *dst)
{
	u32 mtu = dlcp_rails_mtu(sk, dst_mtu(dst));

	/* Without jumbograms the length fields end at 65535 */
	return clamp(mtu, DLCP_MTU_MIN, 65535U) - dlcp_under(sk);
}

/**
 * dlcp_route() - find the way to the peer
 * @sk: peer's address set; own address filled in if it is not
 *
 * Sets sk_dst_cache.
 *
 * Context: socket lock held, process or softirq.
 * Return: largest DLCP packet on the path, or a negative errno.
 */
int dlcp_route(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dst_entry *dst;

	dlcp_assert_locked(sk);
	dst = dlcp_is_ipv4(sk) ? dlcp_route4(sk) : dlcp_route6(sk);
	if (IS_ERR(dst)) {
		__sk_dst_reset(sk);
		return PTR_ERR(dst);
	}
	__sk_dst_set(sk, dst);
	ds->mtu = dlcp_dst_mtu(sk, dst);
	return ds->mtu;
}

/* The valid route, or NULL with *err; tells the engine of a new MTU */
static struct dst_entry *dlcp_dst(struct sock *sk, int *err)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u32 old = ds->mtu, mtu;
	struct dst_entry *dst;
	int ret;

	dst = __sk_dst_check(sk, ds->dst_cookie);
	if (!dst) {
		ret = dlcp_route(sk);
		if (ret < 0) {
			*err = -ret;
			return NULL;
		}
		dst = __sk_dst_get(sk);
	}
	mtu = dlcp_dst_mtu(sk, dst);
	if (mtu != old) {
		ds->mtu = mtu;
		dlcp_conn_set_mtu(&ds->conn, min_t(u32, mtu, DLCP_MTU_MAX),
				  dlcp_now());
	}
	return dst;
}

/**
 * dlcp_sync_mtu() - the path MTU may have changed
 * @sk: the connection
 *
 * Context: socket lock held, process or softirq.
 */
void dlcp_sync_mtu(struct sock *sk)
{
	int err;

	dlcp_assert_locked(sk);
	__sk_dst_reset(sk);
	dlcp_rails_drop_routes(sk);
	dlcp_dst(sk, &err);
}

/* How many segments of @slot_size bytes, with headers, fit one skb: at least 1 */
static u32 dlcp_max_segs(struct sock *sk, u32 slot_size)
{
	u32 max = (DLCP_GSO_MAX - DLCP_UDP_LEN) / slot_size;

	/* Only UDP knows how to cut a packet */
	if (dlcp_sk(sk)->encap == DLCP_ENCAP_RAW)
		return 1;
	return clamp_t(u32, max, 1, DLCP_SKB_SEGS);
}

/*
 * Headers below DLCP
 */

static void dlcp_put_udp(struct sk_buff *skb, const struct dlcp_flow *f)
{
	u8 proto = dlcp_ip_proto(f->encap);
	struct udphdr *uh;

	uh = skb_push(skb, sizeof(*uh));
	skb_reset_transport_header(skb);
	uh->source = htons(f->sport);
	uh->dest = htons(f->dport);
	uh->len = htons(skb->len);
	if (f->saddr6)
		uh->check = ~csum_ipv6_magic(f->saddr6, f->daddr6, skb->len,
					     proto, 0);
	else
		uh->check = ~csum_tcpudp_magic(f->saddr4, f->daddr4, skb->len,
					       proto, 0);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_transport_header(skb) - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
}

/* Of @nr packets. Only what may be fragmented needs one that no other packet has
 * (RFC 6864); else it is as TCP's, which GRO wants to ascend.
 */
static void dlcp_put_ident(struct net *net, struct iphdr *iph,
			   const struct dlcp_flow *f, u32 nr)
{
	iph->id = 0;
	if (f->frag_max) {
		__ip_select_ident(net, iph, nr);
	} else if (f->ident) {
		iph->id = htons(*f->ident);
		*f->ident += nr;
	}
}

static void dlcp_put_ip4(struct net *net, struct sk_buff *skb,
			 const struct dlcp_flow *f)
{
	struct iphdr *iph;

	iph = skb_push(skb, sizeof(*iph));
	skb_reset_network_header(skb);
	iph->version = 4;
	iph->ihl = sizeof(*iph) >> 2;
	iph->tos = f->tos;
	iph->frag_off = f->frag_max ? 0 : htons(IP_DF);
	iph->ttl = f->ttl;
	iph->protocol = dlcp_ip_proto(f->encap);
	iph->saddr = f->saddr4;
	iph->daddr = f->daddr4;
	dlcp_put_ident(net, iph, f, skb_shinfo(skb)->gso_segs ?: 1);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	IPCB(skb)->frag_max_size = f->frag_max;
	skb->protocol = htons(ETH_P_IP);
}

static void dlcp_put_ip6(struct sk_buff *skb, const struct dlcp_flow *f)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct ipv6hdr *ip6h;

	ip6h = skb_push(skb, sizeof(*ip6h));
	skb_reset_network_header(skb);
	ip6_flow_hdr(ip6h, f->tos, f->label);
	ip6h->hop_limit = f->ttl;
	ip6h->nexthdr = dlcp_ip_proto(f->encap);
	ip6h->saddr = *f->saddr6;
	ip6h->daddr = *f->daddr6;
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	skb->protocol = htons(ETH_P_IPV6);
	skb->ignore_df = !!f->frag_max;
	IP6CB(skb)->frag_max_size = f->frag_max;
#endif
}

/* skb->data at the DLCP packet. Return: 0, or -errno and the skb is freed. */
int dlcp_put_headers(struct net *net, struct sk_buff *skb,
		     const struct dlcp_flow *f)
{
	dlcp_put_udp(skb, f);
	/* Devices find the checksum of UDP, but know nothing of 253 */
	if (f->encap == DLCP_ENCAP_RAW && skb_checksum_help(skb)) {
		kfree_skb(skb);
		return -ENOMEM;
	}
	if (f->saddr6)
		dlcp_put_ip6(skb, f);
	else
		dlcp_put_ip4(net, skb, f);
	dst_hold(f->dst);
	skb_dst_set(skb, f->dst);
	return 0;
}

/* Takes @skb. Return: as net_xmit_eval(). */
int dlcp_ip_out(struct net *net, struct sock *sk, struct sk_buff *skb)
{
	int err;

#if IS_ENABLED(CONFIG_IPV6)
	if (skb->protocol == htons(ETH_P_IPV6))
		err = ip6_local_out(net, sk, skb);
	else
#endif
		err = ip_local_out(net, sk, skb);
	return net_xmit_eval(err);
}

/* An skb with room for all headers, and for @linear bytes. Return: NULL: no memory. */
struct sk_buff *dlcp_new_skb(const struct dst_entry *dst, u32 linear)
{
	u32 room = LL_RESERVED_SPACE(dst->dev) + dst->header_len +
		   sizeof(struct ipv6hdr) + DLCP_UDP_LEN;
	struct sk_buff *skb;

	skb = alloc_skb(room + linear, GFP_ATOMIC | __GFP_NOWARN);
	if (skb)
		skb_reserve(skb, room);
	return skb;
}

/*
 * Connections
 */

/*
 * skb->priority where the administrator wants it (net.dlcp.tx_priority). Of data
 * the low four bits are what qdiscs map to bands and mqprio to traffic classes,
 * 15 for the most urgent class down to 8; those above order the tags, so that
 * sch_skbprio drops droppable segments of every class first. Control has the
 * highest of all, and band 0 of pfifo_fast.
 */
static u32 dlcp_class_priority(u8 cls)
{
	static const u8 rank[4] = {
		[DLCP_TAG_IMPORTANT] = 1,
		[DLCP_TAG_CRITICAL] = 2,
	};

	if (cls == 0xff)
		return 0x37;
	return rank[dlcp_cls_tag(cls)] << 4 | 8 |
	       (DLCP_PRIO_MAX - dlcp_cls_prio(cls));
}

/* SO_PRIORITY goes before all. Without it and the administrator's word there is
 * nothing that an unprivileged user could not set for a socket of UDP.
 */
u32 dlcp_priority(const struct dlcp_net *dn, const struct sock *sk, u8 cls)
{
	u32 own = sk ? READ_ONCE(sk->sk_priority) : 0;

	if (own)
		return own;
	if (READ_ONCE(dn->tx_priority))
		return dlcp_class_priority(cls);
	return cls == 0xff ? TC_PRIO_INTERACTIVE : TC_PRIO_BESTEFFORT;
}

/* DSCP and ECN of a packet of class @cls; 0xff: control */
u8 dlcp_tos(const struct dlcp_net *dn, const struct sock *sk, bool ipv4, u8 cls)
{
	u8 dscp = dlcp_own_dscp(sk, ipv4);
	u8 ecn = INET_ECN_ECT_0;
	u8 tag;

	if (cls == 0xff)
		return (dscp ?: READ_ONCE(dn->dscp[0][3])) << 2 | ecn;
	tag = dlcp_cls_tag(cls);
	if (tag == DLCP_TAG_DROPPABLE)
		ecn = INET_ECN_NOT_ECT;
	return (dscp ?: READ_ONCE(dn->dscp[dlcp_cls_prio(cls)][tag])) << 2 |
	       ecn;
}

#if IS_ENABLED(CONFIG_IPV6)
static void dlcp_flow_addr6(struct dlcp_flow *f, struct sock *sk)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	int ttl = inet6_sk(sk)->hop_limit;

	if (f->pair) {
		f->saddr6 = (void *)c->rail.table[f->pair - 1].own.addr;
		f->daddr6 = (void *)c->rail.table[f->pair - 1].peer;
	} else {
		f->saddr6 = &inet6_sk(sk)->saddr;
		f->daddr6 = &sk->sk_v6_daddr;
	}
	f->label = htonl(jhash_2words(lower_32_bits(c->peer_tag), f->sport,
				      0)) & IPV6_FLOWLABEL_MASK;
	f->ttl = ttl < 0 ? ip6_dst_hoplimit(f->dst) : ttl;
}
#else
static void dlcp_flow_addr6(struct dlcp_flow *f, struct sock *sk)
{
}
#endif

static void dlcp_flow_addr4(struct dlcp_flow *f, struct sock *sk)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	int ttl = READ_ONCE(inet_sk(sk)->uc_ttl);

	if (f->pair) {
		memcpy(&f->saddr4, c->rail.table[f->pair - 1].own.addr,
		       sizeof(f->saddr4));
		memcpy(&f->daddr4, c->rail.table[f->pair - 1].peer,
		       sizeof(f->daddr4));
	} else {
		f->saddr4 = inet_sk(sk)->inet_saddr;
		f->daddr4 = inet_sk(sk)->inet_daddr;
	}
	f->ttl = ttl < 0 ? ip4_dst_hoplimit(f->dst) : ttl;
}

static void dlcp_flow_init(struct dlcp_flow *f, struct sock *sk,
			   struct dst_entry *dst, const struct dlcp_out *out)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);

	memset(f, 0, sizeof(*f));
	f->dst = dst;
	f->pair = out->pair;
	f->sport = dlcp_own_port(sk, out->port);
	f->dport = out->pair ? READ_ONCE(dn->udp_port) : dlcp_peer_port(sk);
	f->tos = dlcp_tos(dn, sk, dlcp_is_ipv4(sk), out->cls);
	f->encap = ds->encap;
	f->ident = &ds->ip_ident;
	/* Less than IPv4 promises: not even control packets fit */
	if (dst_mtu(dst) < DLCP_MTU_MIN)
		f->frag_max = ds->conn.cfg.mtu + dlcp_under(sk);
	if (dlcp_is_ipv4(sk))
		dlcp_flow_addr4(f, sk);
	else
		dlcp_flow_addr6(f, sk);
}

/*
 * Qdiscs with a queue for each flow (fq_codel, which distributions choose) tell
 * flows by this hash. Control has one of its own: acknowledgments of what comes
 * must not wait behind the data that goes the other way, or the peer takes
 * this host's queue for the network's. Nothing is seen of it on the wire.
 */
static void dlcp_control_hash(struct sk_buff *skb, const struct dlcp_sock *ds,
			      const struct dlcp_flow *f)
{
	u32 tag = lower_32_bits(ds->conn.peer_tag);

	__skb_set_sw_hash(skb, jhash_2words(tag, f->sport, 1), false);
}

/* Complete @skb and put it on the queue; takes it. It holds @nr packets of
 * @out that wait for an acknowledgment, from the @i-th on.
 */
static void dlcp_queue_skb(struct sock *sk, struct sk_buff *skb,
			   const struct dlcp_flow *f,
			   const struct dlcp_out *out, u32 i, u32 nr)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u8 cls = out->cls;

	if (dlcp_put_headers(sock_net(sk), skb, f)) {
		DLCP_INC(sock_net(sk), TX_NO_MEMORY);
		return;
	}
	skb->priority = dlcp_priority(dlcp_pernet(sock_net(sk)), sk, cls);
	if (cls == 0xff)
		dlcp_control_hash(skb, ds, f);
	skb->mark = READ_ONCE(sk->sk_mark);
	/* Classes may go to different device queues */
	skb->ooo_okay = skb->priority != ds->last_priority;
	ds->last_priority = skb->priority;
	dlcp_egress_charge(skb, sk, f->pair);
	trace_dlcp_send(sk, out, i, nr, skb);
	skb_set_dst_pending_confirm(skb, READ_ONCE(sk->sk_dst_pending_confirm));
	DLCP_TX_CB(skb)->note = (struct dlcp_tx_note) {
		.pn = out->pn + i,
		.count = nr,
		.path = out->path,
		.pair = out->pair,
	};
	skb_queue_tail(&ds->txq, skb);
	DLCP_INC(sock_net(sk), TX_SKBS);
}

static void dlcp_send_ctrl(struct sock *sk, const struct dlcp_flow *f,
			   const struct dlcp_out *out, const u8 *pkt)
{
	struct sk_buff *skb;

	skb = dlcp_new_skb(f->dst, out->len);
	if (!skb) {
		DLCP_INC(sock_net(sk), TX_NO_MEMORY);
		return;
	}
	skb_put_data(skb, pkt, out->len - out->pad);
	skb_put_zero(skb, out->pad);
	dlcp_queue_skb(sk, skb, f, out, 0, out->count);
}

/* Where the headers of position @pos end; NULL: its chunk is gone */
static struct page *dlcp_slot(const struct dlcp_tx *tx, u32 pos, u32 *offset)
{
	const struct dlcp_chunk *chunk = &tx->chunks[pos / tx->slots];

	*offset = chunk->offset + tx->head + pos % tx->slots * tx->stride;
	return chunk->page;
}

/* Bytes of headers of @out's packets, pieces excepted */
static u32 dlcp_header_len(const struct dlcp_out *out)
{
	return DLCP_DATA_HDR_LEN +
	       (out->flags & DLCP_F_OPEN ? DLCP_OPEN_LEN : 0);
}

static u32 dlcp_put_header(u8 *p, const struct dlcp_conn *c,
			   const struct dlcp_out *out, u32 i)
{
	u8 flags = out->flags | (i + 1 == out->count ? out->last_flags : 0);
	u32 len = dlcp_put_data(p, c->peer_tag, flags, out->path, out->cls,
				out->pn + i, (u32)out->m->id,
				dlcp_txmsg_seg(out->m, out->pos + i));

	if (out->flags & DLCP_F_OPEN)
		len += dlcp_put_open(p + len, &out->open);
	return len;
}

/* One segment, or a piece of one, with its header apart from the payload */
static void dlcp_send_single(struct sock *sk, const struct dlcp_flow *f,
			     const struct dlcp_out *out, const u8 *front, u32 i)
{
	struct dlcp_tx *tx = container_of(out->m, struct dlcp_tx, core);
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u32 offset, len, pos = out->pos + i;
	struct sk_buff *skb;
	struct page *page;

	page = dlcp_slot(tx, pos, &offset);
	if (WARN_ON_ONCE(!page))
		return;
	skb = dlcp_new_skb(f->dst, out->front + DLCP_DATA_HDR_LEN +
			   DLCP_OPEN_LEN);
	if (!skb) {
		DLCP_INC(sock_net(sk), TX_NO_MEMORY);
		return;
	}
	skb_put_data(skb, front, out->front);
	skb_put(skb, dlcp_put_header(skb_tail_pointer(skb), c, out, i));
	if (out->len)
		skb_put(skb, dlcp_put_piece(skb_tail_pointer(skb), out->off));
	len = out->len ?: dlcp_txmsg_len(out->m, pos);
	if (tx->pinned)
		dlcp_add_pinned(skb, tx, pos, out->off, len);
	else if (len)
		dlcp_add_frag(skb, page, offset + out->off, len);
	if (tx->pinned)
		skb_zcopy_set(skb, tx->uarg, NULL);
	dlcp_queue_skb(sk, skb, f, out, i, 1);
}

/* Most packets in one skb. Where segmentation is switched off, queues count
 * packets, and what is cut behind the queue would be one.
 */
static u32 dlcp_skb_segs(const struct dst_entry *dst)
{
	return dst->dev->features & NETIF_F_GSO ? DLCP_SKB_SEGS : 1;
}

/* Append up to @n packets from the @i-th on that lie in a row: headers and payload.
 * Return: how many; 0: there is no room.
 */
static u32 dlcp_add_slots(struct sk_buff *skb, const struct dlcp_out *out,
			  u32 i, u32 n)
{
	struct dlcp_tx *tx = container_of(out->m, struct dlcp_tx, core);
	u32 head = dlcp_header_len(out), pos = out->pos + i;
	u32 offset, len;
	struct page *page = dlcp_slot(tx, pos, &offset);

	if (WARN_ON_ONCE(!page))
		return 0;
	n = head == tx->head && !tx->pinned ?
	    min(n, tx->slots - pos % tx->slots) : 1;
	len = dlcp_txmsg_len(out->m, pos + n - 1);
	if (!tx->pinned)
		return dlcp_add_frag(skb, page, offset - head,
				     (n - 1) * tx->stride + head + len) ? n : 0;
	if (skb_shinfo(skb)->nr_frags + 1 + dlcp_pinned_frags(len) >
	    MAX_SKB_FRAGS)
		return 0;
	dlcp_add_frag(skb, page, offset - head, head);
	dlcp_add_pinned(skb, tx, pos, 0, len);
	return 1;
}

/* Write the headers of @n packets from the @i-th on, in one chunk */
static void dlcp_put_slots(const struct dlcp_conn *c,
			   const struct dlcp_out *out, u32 i, u32 n)
{
	struct dlcp_tx *tx = container_of(out->m, struct dlcp_tx, core);
	u32 offset, head = dlcp_header_len(out);
	u8 like[DLCP_DATA_HDR_LEN];
	u8 *first, *p;
	u32 k;

	p = page_address(dlcp_slot(tx, out->pos + i, &offset));
	p += offset - head;
	first = p;
	dlcp_put_header(p, c, out, i);
	/* Not read again for each of them */
	memcpy(like, first, sizeof(like));
	for (k = 1; k < n; k++) {
		p += tx->stride;
		dlcp_put_data_like(p, like, out->pn + i + k,
				   dlcp_txmsg_seg(out->m, out->pos + i + k));
		if (head > DLCP_DATA_HDR_LEN)
			memcpy(p + DLCP_DATA_HDR_LEN, first + DLCP_DATA_HDR_LEN,
			       DLCP_OPEN_LEN);
	}
	if (i + n == out->count)
		p[DLCP_HDR_TYPE + 1] |= out->last_flags;
}

/* As many slots from the @i-th on as fit one skb; only the last of all may be
 * shorter than the others. Return: how many.
 */
static u32 dlcp_send_run(struct sock *sk, const struct dlcp_flow *f,
			 const struct dlcp_out *out, const u8 *front, u32 i)
{
	struct dlcp_tx *tx = container_of(out->m, struct dlcp_tx, core);
	u32 first = dlcp_header_len(out) +
		    dlcp_txmsg_len(out->m, out->pos + i);
	u32 most = min3(out->count - i, dlcp_skb_segs(f->dst),
			max(1U, (u32)(DLCP_GSO_MAX - DLCP_UDP_LEN) / first));
	struct sk_buff *skb;
	u32 n = 0, k;

	skb = dlcp_new_skb(f->dst, out->front);
	if (!skb) {
		DLCP_INC(sock_net(sk), TX_NO_MEMORY);
		return out->count - i;
	}
	skb_put_data(skb, front, out->front);
	while (n < most) {
		k = dlcp_add_slots(skb, out, i + n, most - n);
		if (!k)
			break;
		dlcp_put_slots(&dlcp_sk(sk)->conn, out, i + n, k);
		n += k;
	}
	if (!n) {
		kfree_skb(skb);
		return out->count - i;
	}
	if (n > 1) {
		skb_shinfo(skb)->gso_size = first;
		skb_shinfo(skb)->gso_segs = n;
		skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	}
	if (tx->pinned)
		skb_zcopy_set(skb, tx->uarg, NULL);
	dlcp_queue_skb(sk, skb, f, out, i, n);
	return n;
}

/* @front: out->front bytes */
static void dlcp_send_data(struct sock *sk, const struct dlcp_flow *f,
			   const struct dlcp_out *out, const u8 *front)
{
	struct dlcp_tx *tx = container_of(out->m, struct dlcp_tx, core);
	/* Headers written in front of a segment stay as they are */
	bool single = !out->first || out->len || dlcp_header_len(out) > tx->head;
	u32 i;

	for (i = 0; i < out->count; ) {
		if (single)
			dlcp_send_single(sk, f, out, front, i++);
		else
			i += dlcp_send_run(sk, f, out, front, i);
	}
}

/* The device a packet leaves through; @dst: of the set-up's addresses */
static struct dst_entry *dlcp_out_dst(struct sock *sk, struct dst_entry *dst,
				      const struct dlcp_out *out)
{
	if (out->pair)
		dst = dlcp_rail_dst(sk, out->pair - 1);
	if (out->pair && dst)
		dlcp_egress_set_dev(dlcp_egress_flow(sk, out->pair),
				    dst->dev->ifindex);
	return dst;
}

/* A question to where the peer was seen. Rare: not on the stack of all else */
static noinline_for_stack
void dlcp_send_moved(struct sock *sk, const struct dlcp_out *out, const u8 *pkt)
{
	const struct dlcp_place *to = &dlcp_sk(sk)->conn.place.move->to;
	struct dst_entry *dst = dlcp_place_dst(sk);
	struct dlcp_flow f;

	if (!dst) {
		DLCP_INC(sock_net(sk), TX_NO_ROUTE);
		return;
	}
	dlcp_flow_init(&f, sk, dst, out);
	f.dport = to->port;
	if (f.daddr6)
		f.daddr6 = (const void *)to->addr;
	else
		memcpy(&f.daddr4, to->addr, sizeof(f.daddr4));
	dlcp_send_ctrl(sk, &f, out, pkt);
	dst_release(dst);
}

/* Its buffer is the stack's only while there may be something to say: not inlined */
static noinline void dlcp_build_due(struct sock *sk, u64 now)
{
	/* In each socket it would be a third of it */
	u8 ctrl[DLCP_CTRL_MAX] DLCP_UNINIT;
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dst_entry *dst, *main_dst;
	struct dlcp_flow flow;
	struct dlcp_out out;
	int err = 0;

	main_dst = dlcp_dst(sk, &err);
	if (main_dst)
		dlcp_egress_set_dev(dlcp_egress_flow(sk, 0),
				    main_dst->dev->ifindex);
	do {
		dlcp_conn_next_due(c, &out, ctrl, sizeof(ctrl),
				   dlcp_max_segs(sk, c->cfg.mtu), now);
		if (out.kind == DLCP_OUT_IDLE)
			break;
		dst = dlcp_out_dst(sk, main_dst, &out);
		if (!dst) {
			DLCP_INC(sock_net(sk), TX_NO_ROUTE);
			continue;
		}
		if (out.to == DLCP_TO_MOVED) {
			dlcp_send_moved(sk, &out, ctrl);
			continue;
		}
		dlcp_flow_init(&flow, sk, dst, &out);
		if (out.kind == DLCP_OUT_CTRL)
			dlcp_send_ctrl(sk, &flow, &out, ctrl);
		else
			dlcp_send_data(sk, &flow, &out, ctrl);
	} while (!dlcp_conn_idle(c, now));
	if (err)
		dlcp_conn_soft_error(c, err);
}

/* Ask the engine what to send at @now and build until it is idle. It is not for
 * long: of data no more goes than the pacing clock yields at @now.
 */
void dlcp_build(struct sock *sk, u64 now)
{
	dlcp_assert_locked(sk);
	if (!dlcp_conn_idle(&dlcp_sk(sk)->conn, now))
		dlcp_build_due(sk, now);
	dlcp_egress_done(sk);
}
