// SPDX-License-Identifier: GPL-2.0
/*
 * Which connection a packet is for, and under which lock it gets there; set-up
 * that keeps no state; ICMP. encap_*.c have checked length and checksum, and
 * filled struct dlcp_skb_cb.
 */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/siphash.h>
#include <net/icmp.h>
#include <net/ip.h>

#include "core/listen.h"
#include "dlcp.h"

/*
 * Stateless replies
 */

/* At most net.dlcp.reply_rate in a second, bursts of a tenth of that */
static bool dlcp_reply_allowed(struct dlcp_net *dn)
{
	u32 rate = READ_ONCE(dn->reply_rate);
	s64 now, old, next, step;

	if (!rate)
		return false;
	step = div_u64(NSEC_PER_SEC, rate);
	now = dlcp_now();
	old = atomic64_read(&dn->reply_time);
	do {
		next = max(old, now) + step;
		if (next > now + max_t(s64, step, NSEC_PER_SEC / 10))
			return false;
	} while (!atomic64_try_cmpxchg(&dn->reply_time, &old, next));
	return true;
}

/* @lsk: the listener asked, or NULL; @tag: the receiver's tag if known, else 0 */
static void dlcp_send_reset(struct net *net, struct sock *lsk,
			    struct sk_buff *skb, u64 tag, u64 your_tag,
			    u16 code)
{
	struct dlcp_reset reset = {
		.your_tag	= your_tag,
		.code		= code,
		.version_min	= DLCP_VERSION,
		.version_max	= DLCP_VERSION,
		.stray		= !DLCP_SKB_CB(skb)->here,
	};
	u8 pkt[32];
	u32 len;

	len = dlcp_put_reset(pkt, tag, &reset);
	if (len > skb->len)
		return;
	if (!dlcp_reply_allowed(dlcp_pernet(net))) {
		DLCP_INC(net, REPLY_LIMITED);
		return;
	}
	dlcp_reply(net, lsk, skb, pkt, len);
	DLCP_INC(net, RESET_SENT);
}

/*
 * Cookies
 */

static u64 dlcp_cookie_mac(void *ctx, const void *data, size_t len)
{
	return siphash(data, len, ctx);
}

/* A new secret every DLCP_COOKIE_LIFE. @keys points into the copy @s. */
static void dlcp_get_keys(struct dlcp_net *dn, u64 now, struct dlcp_secrets *s,
			  struct dlcp_listen_keys *keys)
{
	spin_lock_bh(&dn->secret_lock);
	if (now - dn->secret_time > (u64)DLCP_COOKIE_LIFE * NSEC_PER_SEC) {
		dn->secrets.before = dn->secrets.now;
		get_random_bytes(&dn->secrets.now, sizeof(dn->secrets.now));
		dn->secret_time = now;
	}
	*s = dn->secrets;
	spin_unlock_bh(&dn->secret_lock);
	keys->mac = dlcp_cookie_mac;
	keys->now = &s->now;
	keys->before = &s->before;
}

static void dlcp_cookie_fill(struct dlcp_cookie_in *in,
			     const struct sk_buff *skb)
{
	memset(in, 0, sizeof(*in));
	in->now = dlcp_now();
	if (skb->protocol == htons(ETH_P_IP)) {
		in->addr_len = sizeof(struct in_addr);
		memcpy(in->saddr, &ip_hdr(skb)->saddr, in->addr_len);
		memcpy(in->daddr, &ip_hdr(skb)->daddr, in->addr_len);
	} else {
		in->addr_len = sizeof(struct in6_addr);
		memcpy(in->saddr, &ipv6_hdr(skb)->saddr, in->addr_len);
		memcpy(in->daddr, &ipv6_hdr(skb)->daddr, in->addr_len);
	}
}

/* Return: 0, or the counter of the reason to drop */
static int dlcp_cookie_verify(struct net *net, const struct sk_buff *skb,
			      const struct dlcp_setup *s, u64 tag)
{
	struct dlcp_listen_keys keys;
	struct dlcp_secrets secrets;
	struct dlcp_cookie_in in;
	int err;

	dlcp_cookie_fill(&in, skb);
	dlcp_get_keys(dlcp_pernet(net), in.now, &secrets, &keys);
	err = dlcp_listen_echo(s, tag, &in, &keys);
	if (err == -ESTALE)
		return DLCP_MIB_DROP_COOKIE_OLD;
	return err ? DLCP_MIB_DROP_COOKIE : 0;
}

/*
 * Set-up at a listener
 */

/* The listener answers INIT with a cookie; nothing is kept.
 * Return: 0, or the counter of the reason to drop
 */
static int dlcp_send_cookie(struct sock *lsk, struct sk_buff *skb,
			    const struct dlcp_setup *s)
{
	struct net *net = sock_net(lsk);
	struct dlcp_listen_keys keys;
	struct dlcp_secrets secrets;
	struct dlcp_cookie_in in;
	u8 pkt[DLCP_SETUP_LEN];
	int len;

	dlcp_cookie_fill(&in, skb);
	in.server_tag = dlcp_new_tag(net);
	dlcp_get_keys(dlcp_pernet(net), in.now, &secrets, &keys);
	len = dlcp_listen_init(pkt, s, &in, &keys);
	if (len < 0) {
		dlcp_send_reset(net, lsk, skb, s->tag, s->tag,
				DLCP_RST_VERSION);
		return DLCP_MIB_DROP_VERSION;
	}
	dlcp_reply(net, lsk, skb, pkt, len);
	return 0;
}

/* Return: as above. */
static int dlcp_request_init(struct sock *lsk, struct sk_buff *skb,
			     const struct dlcp_setup *s)
{
	int mib = dlcp_policy_in(lsk, skb);

	if (mib)
		return mib;
	if (!dlcp_request_ok(lsk, skb, s))
		return DLCP_MIB_DROP_POLICY;
	return dlcp_send_cookie(lsk, skb, s);
}

/* INIT. Return: as above. */
static int dlcp_answer_init(struct net *net, struct sk_buff *skb,
			    const struct dlcp_setup *s)
{
	struct sock *lsk;
	int mib;

	DLCP_INC(net, INIT_RCVD);
	lsk = dlcp_port_find(net, skb, s->dport, s->tag);
	if (!lsk) {
		dlcp_send_reset(net, NULL, skb, s->tag, s->tag,
				DLCP_RST_REFUSED);
		return DLCP_MIB_DROP_LISTENER;
	}
	mib = dlcp_request_init(lsk, skb, s);
	sock_put(lsk);
	return mib;
}

/*
 * A cookie is good for a minute, a connection may be over sooner: its packets,
 * come again, must not make it anew. By tag, which is random: one is forgotten
 * when another falls into its place.
 */
static u64 *dlcp_tag_spent(struct net *net, u64 tag)
{
	struct dlcp_net *dn = dlcp_pernet(net);

	return &dn->spent[tag % ARRAY_SIZE(dn->spent)];
}

/* Return: 0, or the counter of the reason to drop */
static int dlcp_tag_check(struct net *net, u64 tag)
{
	struct sock *sk;

	if (READ_ONCE(*dlcp_tag_spent(net, tag)) != tag)
		return 0;
	/* It was made while this ECHO waited for the listener's lock */
	sk = dlcp_table_find(net, tag);
	if (!sk)
		return DLCP_MIB_DROP_COOKIE_OLD;
	sock_put(sk);
	return DLCP_MIB_DUP;
}

/**
 * dlcp_request_echo() - a valid ECHO has reached the listener
 * @lsk: the listener
 * @skb: the packet; it stays the caller's
 * @child: set to the new connection, with a reference, to be transmitted for
 *
 * Context: listener's lock held; softirqs disabled; RCU read lock held.
 * Return: 0, or the counter of the reason to drop.
 */
static int dlcp_request_echo(struct sock *lsk, struct sk_buff *skb,
			     struct sock **child)
{
	struct net *net = sock_net(lsk);
	struct dlcp_setup s;
	struct dlcp_hdr h;
	struct sock *sk;
	int mib;

	*child = NULL;
	if (lsk->sk_state != TCP_LISTEN)
		return DLCP_MIB_DROP_LISTENER;
	if (dlcp_get_hdr(skb->data, skb->len, &h) ||
	    dlcp_get_setup(skb->data, skb->len, &h, &s))
		return DLCP_MIB_DROP_MALFORMED;
	mib = dlcp_tag_check(net, h.tag);
	if (mib)
		return mib;
	sk = dlcp_accept_child(lsk, skb, &s, h.tag);
	if (!sk)
		return DLCP_MIB_DROP_ACCEPT;
	__acquire(&sk->sk_lock.slock);	/* it came locked */
	WRITE_ONCE(*dlcp_tag_spent(net, h.tag), h.tag);
	DLCP_INC(net, ACCEPTED);
	dlcp_table_add_peer(sk);
	dlcp_push_build(sk);
	bh_unlock_sock(sk);
	*child = sk;
	return 0;
}

static void dlcp_child_xmit(struct sock *child)
{
	if (child) {
		dlcp_push_xmit(child);
		sock_put(child);
	}
}

/* Return: 0, the counter of the reason to drop, or -1: @skb is taken */
static int dlcp_lock_echo(struct sock *lsk, struct sk_buff *skb)
{
	struct sock *child = NULL;
	int mib = -1;

	bh_lock_sock_nested(lsk);
	if (!sock_owned_by_user(lsk)) {
		mib = dlcp_request_echo(lsk, skb, &child);
	} else {
		/* It may be gone when the packet is looked at again */
		skb->dev = NULL;
		DLCP_SKB_CB(skb)->echo = 1;
		if (sk_add_backlog(lsk, skb, dlcp_backlog_limit(lsk)))
			mib = DLCP_MIB_DROP_BACKLOG;
	}
	bh_unlock_sock(lsk);
	dlcp_child_xmit(child);
	return mib;
}

/* An ECHO for which there is no connection. Return: as above. */
static int dlcp_rcv_echo(struct net *net, struct sk_buff *skb,
			 const struct dlcp_hdr *h, const struct dlcp_setup *s)
{
	struct sock *lsk;
	int mib;

	DLCP_INC(net, ECHO_RCVD);
	mib = dlcp_cookie_verify(net, skb, s, h->tag);
	if (mib)
		return mib;
	lsk = dlcp_port_find(net, skb, s->dport, s->tag);
	if (!lsk) {
		dlcp_send_reset(net, NULL, skb, s->tag, h->tag,
				DLCP_RST_REFUSED);
		return DLCP_MIB_DROP_LISTENER;
	}
	mib = dlcp_policy_in(lsk, skb);
	if (!mib && !dlcp_request_ok(lsk, skb, s))
		mib = DLCP_MIB_DROP_POLICY;
	if (!mib)
		mib = dlcp_lock_echo(lsk, skb);
	/* A client that still tries must learn that it is over */
	if (mib == DLCP_MIB_DROP_COOKIE_OLD)
		dlcp_send_reset(net, lsk, skb, s->tag, h->tag,
				DLCP_RST_UNKNOWN);
	sock_put(lsk);
	return mib;
}

/*
 * Connections
 */

/**
 * dlcp_backlog_rcv() - packets that came while a user owned the socket
 * @sk: the socket
 * @skb: the packet; taken
 *
 * Context: process, socket owned.
 * Return: 0.
 */
int dlcp_backlog_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct sock *child;
	int mib;

	/* It came for a connection that the socket was until then */
	if (sk->sk_state == TCP_LISTEN && !DLCP_SKB_CB(skb)->echo) {
		dlcp_drop(sock_net(sk), skb, DLCP_MIB_DROP_STATE);
		return 0;
	}
	if (sk->sk_state != TCP_LISTEN) {
		/* One answer to as many as it can name: who empties the
		 * backlog gives the last
		 */
		if (!dlcp_process(sk, skb))
			return 0;
		if (dlcp_conn_ack_full(&dlcp_sk(sk)->conn))
			dlcp_push(sk);
		else
			set_bit(DLCP_DEFER_PUSH, &dlcp_sk(sk)->deferred);
		return 0;
	}
	local_bh_disable();
	rcu_read_lock();
	mib = dlcp_request_echo(sk, skb, &child);
	rcu_read_unlock();
	local_bh_enable();
	dlcp_child_xmit(child);
	if (mib)
		dlcp_drop(sock_net(sk), skb, mib);
	else
		consume_skb(skb);
	return 0;
}

/* INIT, or an ECHO nobody knows. Takes @skb. */
static void dlcp_rcv_setup(struct net *net, struct sk_buff *skb)
{
	struct dlcp_setup s;
	struct dlcp_hdr h;
	int mib;

	/* Linear, nobody writes to it: what counts is what it says from here on */
	if (skb_linearize(skb))
		mib = DLCP_MIB_DROP_NOMEM;
	else if (dlcp_get_hdr(skb->data, skb->len, &h) ||
		 dlcp_get_setup(skb->data, skb->len, &h, &s))
		mib = DLCP_MIB_DROP_MALFORMED;
	else if (h.type == DLCP_PT_INIT)
		mib = dlcp_answer_init(net, skb, &s);
	else if (h.type == DLCP_PT_ECHO)
		mib = dlcp_rcv_echo(net, skb, &h, &s);
	else
		mib = DLCP_MIB_DROP_MALFORMED;
	if (mib > 0)
		dlcp_drop(net, skb, mib);
	else if (!mib)
		consume_skb(skb);
}

/* The connection a RESET is about: it may know only the tag we send with */
static struct sock *dlcp_find_reset(struct net *net, const struct sk_buff *skb,
				    const struct dlcp_hdr *h)
{
	struct dlcp_reset r;
	u8 buf[32];
	const u8 *p;
	u32 len;

	if (h->tag)
		return dlcp_table_find(net, h->tag);
	len = min_t(u32, skb->len, sizeof(buf));
	p = skb_header_pointer(skb, 0, len, buf);
	if (!p || dlcp_get_reset(p, len, &r))
		return NULL;
	return dlcp_table_find_peer(net, r.your_tag);
}

/*
 * When @skb reached this host: the kernel has stamped it before it waited for
 * a processor (dlcp_init_sock()). That clock is set now and then: times that
 * cannot be are ignored.
 */
static u64 dlcp_wire_time(const struct sk_buff *skb)
{
	ktime_t stamp = skb_tstamp(skb);
	u64 now = dlcp_now();
	s64 ago;

	if (!stamp)
		return now;
	ago = ktime_to_ns(ktime_sub(ktime_get_real(), stamp));
	return ago > 0 && ago < NSEC_PER_SEC ? now - ago : now;
}

/* A packet that follows no other. Takes @skb. @p: DLCP_HDR_LEN bytes of it, or NULL */
static void dlcp_rcv_one(struct net *net, struct sk_buff *skb, const u8 *p)
{
	struct sock *sk = NULL;
	struct dlcp_hdr h;
	int mib = 0;

	if (!p || skb->pkt_type != PACKET_HOST) {
		mib = DLCP_MIB_DROP_SHORT;
	} else if (dlcp_get_hdr(p, DLCP_HDR_LEN, &h)) {
		mib = DLCP_MIB_DROP_MALFORMED;
	} else if (h.type == DLCP_PT_RESET) {
		DLCP_SKB_CB(skb)->here = 0;
		sk = dlcp_find_reset(net, skb, &h);
		if (!sk)
			mib = DLCP_MIB_DROP_RESET;
	} else if (h.type != DLCP_PT_INIT) {
		sk = dlcp_table_find(net, h.tag);
		if (!sk && h.type != DLCP_PT_ECHO) {
			dlcp_send_reset(net, NULL, skb, 0, h.tag,
					DLCP_RST_UNKNOWN);
			mib = DLCP_MIB_DROP_TAG;
		}
	}
	if (mib) {
		dlcp_drop(net, skb, mib);
	} else if (sk) {
		DLCP_INC(net, RX_SKBS);
		dlcp_deliver(sk, skb, &h);
	} else {
		dlcp_rcv_setup(net, skb);
	}
}

/**
 * dlcp_rcv() - a packet from a encap
 * @skb: the packet; taken. skb->data at the DLCP header, network header and
 *	dlcp_skb_cb valid, checksum good
 *
 * Context: softirq, RCU read lock held.
 * Return: 0, as protocol handlers do.
 */
int dlcp_rcv(struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);
	u8 buf[DLCP_HDR_LEN];
	const u8 *p;

	DLCP_SKB_CB(skb)->wire = dlcp_wire_time(skb);
	p = dlcp_peek(skb, 0, sizeof(buf), buf);
	DLCP_SKB_CB(skb)->here = p && p[DLCP_HDR_TYPE + 1] & DLCP_F_HERE;
	DLCP_SKB_CB(skb)->echo = 0;
	if (p && skb->pkt_type == PACKET_HOST && dlcp_run_add(net, skb))
		DLCP_INC(net, RX_SKBS);
	else
		dlcp_rcv_one(net, skb, p);
	return 0;
}

/*
 * ICMP
 */

/* -errno of an ICMP error; @skb as handed to an error handler of IP */
int dlcp_icmp_errno(const struct sk_buff *skb, int family)
{
	const struct icmphdr *icmp;
	int err = EHOSTUNREACH;

#if IS_ENABLED(CONFIG_IPV6)
	if (family == AF_INET6) {
		icmpv6_err_convert(icmp6_hdr(skb)->icmp6_type,
				   icmp6_hdr(skb)->icmp6_code, &err);
		return -err;
	}
#endif
	icmp = icmp_hdr(skb);
	if (icmp->type == ICMP_PARAMETERPROB)
		return -EPROTO;
	if (icmp->type != ICMP_DEST_UNREACH)
		return -err;
	if (icmp->code == ICMP_FRAG_NEEDED)
		return -EMSGSIZE;
	if (icmp->code <= NR_ICMP_UNREACH)
		err = icmp_err_convert[icmp->code].errno;
	return -err;
}

/**
 * dlcp_icmp_find() - the connection that sent the packet an ICMP error quotes
 * @net: the namespace
 * @skb: the error
 * @offset: of the DLCP packet quoted
 *
 * That the quoted packet bears a tag only we and the peer know is the proof
 * that the error is not forged.
 *
 * Context: RCU read lock held.
 * Return: the socket, with a reference, or NULL.
 */
struct sock *dlcp_icmp_find(struct net *net, const struct sk_buff *skb,
			    int offset)
{
	u8 buf[DLCP_SETUP_LEN];
	struct dlcp_setup s;
	struct dlcp_hdr h;
	const u8 *p;

	p = skb_header_pointer(skb, offset, DLCP_HDR_LEN, buf);
	if (!p || dlcp_get_hdr(p, DLCP_HDR_LEN, &h))
		return NULL;
	if (h.type != DLCP_PT_INIT)
		return dlcp_table_find_peer(net, h.tag);
	/* No tag of the peer's yet; but ours is inside */
	p = skb_header_pointer(skb, offset, sizeof(buf), buf);
	if (!p || dlcp_get_setup(p, sizeof(buf), &h, &s))
		return NULL;
	return dlcp_table_find(net, s.tag);
}

/**
 * dlcp_icmp() - an ICMP error came
 * @net: the namespace
 * @skb: the error; it stays the caller's
 * @offset: of the DLCP packet it quotes
 * @err: negative errno; EMSGSIZE if the path MTU shrank: the route knows
 *	the new one
 *
 * Context: softirq, RCU read lock held.
 */
void dlcp_icmp(struct net *net, struct sk_buff *skb, int offset, int err)
{
	struct sock *sk = dlcp_icmp_find(net, skb, offset);
	struct dlcp_sock *ds;

	if (!sk) {
		DLCP_INC(net, DROP_ICMP);
		return;
	}
	DLCP_INC(net, ICMP_RCVD);
	ds = dlcp_sk(sk);
	bh_lock_sock_nested(sk);
	if (err == -EMSGSIZE) {
		set_bit(DLCP_DEFER_MTU, &ds->deferred);
	} else {
		WRITE_ONCE(ds->soft_error, -err);
		set_bit(DLCP_DEFER_ERROR, &ds->deferred);
	}
	if (!sock_owned_by_user(sk))
		dlcp_run_deferred(sk);
	bh_unlock_sock(sk);
	dlcp_push_xmit(sk);
	sock_put(sk);
}
