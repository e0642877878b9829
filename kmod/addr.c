// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses of bind() and connect(). The rest of the module sees only a copy, in
 * which what the user did not give is zero: no field is read behind the end
 * of a short one. What fails leaves the socket as it was. And those options
 * that routes depend on.
 */
#include <linux/bpf-cgroup.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/transp_v6.h>

#include "dlcp.h"

/**
 * dlcp_get_addr() - what the user gave
 * @addr: set to it, and to zeros behind its end
 * @uaddr: in kernel memory, as system calls hand it on
 * @len: bytes of @uaddr
 *
 * Return: 0, or -EINVAL: it has not even a family.
 */
int dlcp_get_addr(union dlcp_addr *addr, const void *uaddr, int len)
{
	if (len < (int)sizeof(addr->sa.sa_family))
		return -EINVAL;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, uaddr, min_t(size_t, len, sizeof(*addr)));
	/* Half a number is none, as to TCP */
	if (addr->sa.sa_family == AF_INET6 && len < (int)sizeof(addr->in6))
		addr->in6.sin6_scope_id = 0;
	return 0;
}

/* Shortest address that says all that is needed */
static int dlcp_addr_least(const struct sock *sk)
{
	return sk->sk_family == AF_INET ? (int)sizeof(struct sockaddr_in) :
					  SIN6_LEN_RFC2133;
}

/* Of another family than the socket's IP says so */
static bool dlcp_addr_multicast(const struct sock *sk,
				const union dlcp_addr *addr)
{
	const struct in6_addr *a6 = &addr->in6.sin6_addr;

	if (addr->sa.sa_family != sk->sk_family)
		return false;
	if (sk->sk_family == AF_INET)
		return ipv4_is_multicast(addr->in.sin_addr.s_addr);
	return ipv6_addr_is_multicast(a6) ||
	       (ipv6_addr_v4mapped(a6) &&
		ipv4_is_multicast(a6->s6_addr32[3]));
}

#if IS_ENABLED(CONFIG_IPV6)
/* The kernel binds to the device of a link-local address before it looks whether
 * the address is there
 */
static int dlcp_bind6(struct socket *sock, union dlcp_addr *addr, int len)
{
	struct sock *sk = sock->sk;
	int before = READ_ONCE(sk->sk_bound_dev_if);
	int err;

	err = inet6_bind(sock, (void *)addr, len);
	if (!err)
		return 0;
	lock_sock(sk);
	if (!inet_sk(sk)->inet_num &&
	    sk->sk_bound_dev_if == addr->in6.sin6_scope_id)
		sk->sk_bound_dev_if = before;
	release_sock(sk);
	return err;
}
#else
static int dlcp_bind6(struct socket *sock, union dlcp_addr *addr, int len)
{
	return -EAFNOSUPPORT;
}
#endif

/* bind(). Context: process. */
int dlcp_bind(struct socket *sock, const void *uaddr, int len)
{
	struct sock *sk = sock->sk;
	union dlcp_addr addr;
	int err;

	err = dlcp_get_addr(&addr, uaddr, len);
	if (err)
		return err;
	if (len < dlcp_addr_least(sk))
		return -EINVAL;
	if (dlcp_addr_multicast(sk, &addr))
		return -EADDRNOTAVAIL;
	if (sk->sk_family == AF_INET6)
		return dlcp_bind6(sock, &addr, len);
	return inet_bind(sock, (void *)&addr, len);
}

static int dlcp_set_peer4(struct sock *sk, __be32 addr)
{
	if (addr == htonl(INADDR_ANY))
		addr = htonl(INADDR_LOOPBACK);
	if (ipv4_is_multicast(addr) || ipv4_is_lbcast(addr))
		return -ENETUNREACH;
	inet_sk(sk)->inet_daddr = addr;
	return 0;
}

#if IS_ENABLED(CONFIG_IPV6)
/* A link-local address is one on a device */
static int dlcp_set_scope(struct sock *sk, int scope)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (scope && scope != sk->sk_bound_dev_if) {
		if (!sk_dev_equal_l3scope(sk, scope))
			return -EINVAL;
		ds->dev_before = sk->sk_bound_dev_if;
		ds->scope_dev = scope;
		sk->sk_bound_dev_if = scope;
	}
	return sk->sk_bound_dev_if ? 0 : -EINVAL;
}

static int dlcp_set_peer6(struct sock *sk, const struct sockaddr_in6 *sin6)
{
	struct in6_addr addr = sin6->sin6_addr;
	int type, err;

	if (ipv6_addr_any(&addr)) {
		if (ipv6_addr_v4mapped(&sk->sk_v6_rcv_saddr))
			ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), &addr);
		else
			addr.s6_addr[15] = 1;
	}
	type = ipv6_addr_type(&addr);
	if (type & IPV6_ADDR_MULTICAST)
		return -ENETUNREACH;
	if (type & IPV6_ADDR_LINKLOCAL) {
		err = dlcp_set_scope(sk, sin6->sin6_scope_id);
		if (err)
			return err;
	}
	sk->sk_v6_daddr = addr;
	if (type != IPV6_ADDR_MAPPED) {
		inet_sk(sk)->inet_daddr = LOOPBACK4_IPV6;
		return 0;
	}
	if (ipv6_only_sock(sk))
		return -ENETUNREACH;
	return dlcp_set_peer4(sk, addr.s6_addr32[3]);
}
#endif

/* What programs of the control group say; they may change the address */
static int dlcp_ask_connect(struct sock *sk, union dlcp_addr *addr, int *len)
{
	if (sk->sk_family == AF_INET6)
		return DLCP_BPF_CONNECT(6, sk, (void *)addr, len);
	return DLCP_BPF_CONNECT(4, sk, (void *)addr, len);
}

/**
 * dlcp_set_peer() - connect() to an address
 * @sk: not connected, and to nobody
 * @addr: the peer's
 * @len: bytes of it that the user gave
 *
 * To be undone with dlcp_forget_peer(), also when it fails.
 *
 * Return: 0 or a negative errno.
 */
int dlcp_set_peer(struct sock *sk, union dlcp_addr *addr, int len)
{
	int err;

	if (len < dlcp_addr_least(sk))
		return -EINVAL;
	err = dlcp_ask_connect(sk, addr, &len);
	if (err)
		return err;
	if (addr->sa.sa_family != sk->sk_family)
		return -EAFNOSUPPORT;
	/* sin_port and sin6_port lie at the same place */
	if (!addr->in.sin_port)
		return -EINVAL;
	inet_sk(sk)->inet_dport = addr->in.sin_port;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return dlcp_set_peer6(sk, &addr->in6);
#endif
	return dlcp_set_peer4(sk, addr->in.sin_addr.s_addr);
}

/* The wildcard that was there before dlcp_route(). bind() locks a wildcard only
 * if it is IPv4's in IPv6.
 */
static void dlcp_forget_addr(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);

	/* Bound to a broadcast address it has no other to send from */
	if (inet->inet_rcv_saddr == inet->inet_saddr)
		inet->inet_rcv_saddr = 0;
	inet->inet_saddr = 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family != AF_INET6)
		return;
	sk->sk_v6_rcv_saddr = in6addr_any;
	if (sk->sk_userlocks & SOCK_BINDADDR_LOCK)
		ipv6_addr_set_v4mapped(0, &sk->sk_v6_rcv_saddr);
	inet6_sk(sk)->saddr = sk->sk_v6_rcv_saddr;
#endif
}

/* What connect() chose, not the user, must not outlive it */
static void dlcp_forget_own(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (ds->auto_addr)
		dlcp_forget_addr(sk);
	ds->auto_addr = 0;
	if (ds->scope_dev && ds->scope_dev == sk->sk_bound_dev_if)
		sk->sk_bound_dev_if = ds->dev_before;
	ds->scope_dev = 0;
}

/* The socket as it was before connect() */
void dlcp_forget_peer(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);

	dlcp_sk(sk)->peer_port = 0;
	inet->inet_daddr = 0;
	inet->inet_dport = 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		sk->sk_v6_daddr = in6addr_any;
#endif
	dlcp_forget_own(sk);
	sk_dst_reset(sk);
}

/* DSCP of IP_TOS or IPV6_TCLASS, which goes before net.dlcp.dscp; 0: not set */
u8 dlcp_own_dscp(const struct sock *sk, bool ipv4)
{
	if (!sk)
		return 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (!ipv4)
		return READ_ONCE(inet6_sk(sk)->tclass) >> 2;
#endif
	return READ_ONCE(inet_sk(sk)->tos) >> 2;
}

/**
 * dlcp_route_tos() - what a route is looked up with, beside the addresses
 * @sk: a connection or listener; NULL: none
 *
 * IP_TOS and SO_DONTROUTE, as for TCP. Old kernels read the scope from here.
 */
u8 dlcp_route_tos(const struct sock *sk)
{
	u8 tos = dlcp_own_dscp(sk, true) << 2 & IPTOS_RT_MASK;

	return sk && sock_flag(sk, SOCK_LOCALROUTE) ? tos | RTO_ONLINK : tos;
}

u8 dlcp_route_scope(const struct sock *sk)
{
	return sk && sock_flag(sk, SOCK_LOCALROUTE) ? RT_SCOPE_LINK :
						      RT_SCOPE_UNIVERSE;
}

/* IPV6_TCLASS; TCP has no SO_DONTROUTE there */
__be32 dlcp_route_label(const struct sock *sk)
{
	return ip6_make_flowinfo(dlcp_own_dscp(sk, false) << 2, 0);
}
