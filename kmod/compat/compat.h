/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels, in one place: the rest of the module is
 * written for one kernel and sees only the names below. dlcp_config.h is
 * written by probe.sh, which asks the compiler, not the version.
 */
#ifndef _DLCP_COMPAT_H
#define _DLCP_COMPAT_H

#include "dlcp_config.h"

#if !IS_ENABLED(CONFIG_INET) || !IS_ENABLED(CONFIG_NET_UDP_TUNNEL)
#error "DLCP needs a kernel with CONFIG_INET and CONFIG_NET_UDP_TUNNEL"
#endif

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/inet_common.h>
#include <net/inet_dscp.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>

#ifdef HAVE_PROTO_MEMORY_H
#include <net/proto_memory.h>
#endif

/* First argument of a sysctl handler */
#ifdef HAVE_CONST_CTL_TABLE
#define DLCP_CTL_TABLE	const struct ctl_table
#else
#define DLCP_CTL_TABLE	struct ctl_table
#endif

/* @table has one entry of zeros after its @size entries */
static inline struct ctl_table_header *
dlcp_register_sysctl(struct net *net, const char *path,
		     struct ctl_table *table, size_t size)
{
#ifdef HAVE_REGISTER_NET_SYSCTL_SZ
	return register_net_sysctl_sz(net, path, table, size);
#else
	return register_net_sysctl(net, path, table);
#endif
}

#ifndef HAVE_TIMER_CONTAINER_OF
#define timer_container_of	from_timer
#endif

static inline void
dlcp_hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode)
{
#ifdef HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, mode);
#else
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#endif
}

/* The kernel's udp_tunnel.h takes sockets or socks */
#ifdef HAVE_TUNNEL_SOCK_SK
#define dlcp_tunnel_arg(sock)	((sock)->sk)
#else
#define dlcp_tunnel_arg(sock)	(sock)
#endif

static inline kuid_t dlcp_sk_uid(const struct sock *sk)
{
#ifdef HAVE_SK_UID_HELPER
	return sk_uid(sk);
#else
	return sk->sk_uid;
#endif
}

/* Bits of the traffic class that routing looks at: all of DSCP since 6.11 */
#ifndef IPTOS_RT_MASK
#define IPTOS_RT_MASK		INET_DSCP_MASK
#endif

/* An address as proto_ops are given it, of any family and size */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized	sockaddr
#endif

/* Last parameters of proto.recvmsg: the flags, and where the length of
 * msg->msg_name goes. Newer kernels take that from @msg.
 */
#ifdef HAVE_RECVMSG_ADDR_LEN
#define DLCP_RECVMSG_PARAMS	int flags, int *addr_len
#define dlcp_put_addr_len(msg)	(*addr_len = (msg)->msg_namelen)

static inline int dlcp_inet_recv_error(struct sock *sk, struct msghdr *msg,
				       int len)
{
	return inet_recv_error(sk, msg, len, &msg->msg_namelen);
}
#else
#define DLCP_RECVMSG_PARAMS	int flags
#define dlcp_put_addr_len(msg)	do { } while (0)
#define dlcp_inet_recv_error(sk, msg, len)	inet_recv_error(sk, msg, len)
#endif

#if IS_ENABLED(CONFIG_IPV6)
/* sk_clone_lock() copied the list of the listener */
static inline void dlcp_drop_flowlabels(struct sock *sk)
{
#ifdef HAVE_INET_SOCK_FL_LIST
	inet_sk(sk)->ipv6_fl_list = NULL;
#else
	inet6_sk(sk)->ipv6_fl_list = NULL;
#endif
}
#endif

/* What proto.accept is given after the socket: its flags, and where an error
 * goes
 */
#ifdef HAVE_PROTO_ACCEPT_ARG
#define DLCP_ACCEPT_PARAMS	struct proto_accept_arg *arg
#define DLCP_ACCEPT_FLAGS	(arg->flags)
#define DLCP_ACCEPT_ERR		(&arg->err)
#else
#define DLCP_ACCEPT_PARAMS	int flags, int *err, bool kern
#define DLCP_ACCEPT_FLAGS	(flags)
#define DLCP_ACCEPT_ERR		(err)
#endif

/* Where proto.ioctl puts its answer */
#ifdef HAVE_IOCTL_KARG
#define DLCP_IOCTL_ARG		int *

static inline int dlcp_ioctl_put(DLCP_IOCTL_ARG arg, int value)
{
	*arg = value;
	return 0;
}
#else
#define DLCP_IOCTL_ARG		unsigned long

static inline int dlcp_ioctl_put(DLCP_IOCTL_ARG arg, int value)
{
	return put_user(value, (int __user *)arg);
}
#endif

#ifdef HAVE_IPV6_PINFO_OFFSET
#define DLCP_PROTO_PINFO6(struct_, member)				\
	.ipv6_pinfo_offset = offsetof(struct_, member),
#else
#define DLCP_PROTO_PINFO6(struct_, member)
#endif

/* cgroup/connect4 and 6; @len may be changed */
#ifdef HAVE_BPF_CONNECT_LEN
#define DLCP_BPF_CONNECT(family, sk, addr, len)				\
	BPF_CGROUP_RUN_PROG_INET##family##_CONNECT(sk, addr, len)
#else
#define DLCP_BPF_CONNECT(family, sk, addr, len)				\
	BPF_CGROUP_RUN_PROG_INET##family##_CONNECT(sk, addr)
#endif

static inline struct ubuf_info *dlcp_ubuf_alloc(struct sock *sk, size_t size)
{
#ifdef HAVE_ZEROCOPY_DEVMEM
	return msg_zerocopy_realloc(sk, size, NULL, false);
#else
	return msg_zerocopy_realloc(sk, size, NULL);
#endif
}

/* splice() gives sendmsg() the pages of a pipe */
#ifdef MSG_SPLICE_PAGES
#define DLCP_MSG_SPLICE	MSG_SPLICE_PAGES
#else
#define DLCP_MSG_SPLICE	0
#endif

/* Address of the next byte of @i; of no use but to compare */
static inline unsigned long dlcp_iter_addr(const struct iov_iter *i)
{
	if (iter_is_ubuf(i))
		return (unsigned long)i->ubuf + i->iov_offset;
#ifdef HAVE_ITER_IOV
	if (iter_is_iovec(i) && iter_iov(i))
		return (unsigned long)iter_iov(i)->iov_base + i->iov_offset;
#else
	if (iter_is_iovec(i) && i->iov)
		return (unsigned long)i->iov->iov_base + i->iov_offset;
#endif
	return (unsigned long)i->kvec + i->iov_offset;
}

#endif
