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

#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>
#include <net/ip.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/ping.h>
#include <net/route.h>
#include <net/udp.h>

#ifdef HAVE_INET_DSCP_H
#include <net/inet_dscp.h>
#endif
#ifdef HAVE_GRO_H
#include <net/gro.h>
#endif

#ifdef HAVE_PROTO_MEMORY_H
#include <net/proto_memory.h>
#endif

/* wait_woken() that only a fatal signal ends, and that the freezer (suspend) does
 * not wait for
 */
static inline long dlcp_wait_killable(struct wait_queue_entry *wait, long timeo)
{
	/* The freezer of a cgroup asks only once */
	try_to_freeze();
#ifdef TASK_FREEZABLE
	return wait_woken(wait, TASK_KILLABLE | TASK_FREEZABLE, timeo);
#else
	freezer_do_not_count();
	timeo = wait_woken(wait, TASK_KILLABLE, timeo);
	freezer_count();
	return timeo;
#endif
}

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

/* Newer ones read the scope of a flow from its scope */
#ifndef RTO_ONLINK
#define RTO_ONLINK		0
#endif

/* Bits of the traffic class that routing looks at: all of DSCP since 6.11 */
#ifndef IPTOS_RT_MASK
#define IPTOS_RT_MASK		INET_DSCP_MASK
#endif

/* An address as proto_ops are given it, of any family and size */
#ifndef HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized	sockaddr
#endif

/* Last parameters of proto.recvmsg: the flags, with MSG_DONTWAIT among them or
 * in a parameter of its own, and where the length of msg->msg_name goes. Newer
 * kernels take that from @msg.
 */
#ifdef HAVE_RECVMSG_NOBLOCK
#define DLCP_RECVMSG_PARAMS	int noblock, int flags, int *addr_len
#define DLCP_RECVMSG_FLAGS	(noblock ? flags | MSG_DONTWAIT : flags)
#elif defined(HAVE_RECVMSG_ADDR_LEN)
#define DLCP_RECVMSG_PARAMS	int flags, int *addr_len
#define DLCP_RECVMSG_FLAGS	flags
#else
#define DLCP_RECVMSG_PARAMS	int flags
#define DLCP_RECVMSG_FLAGS	flags
#endif

#if defined(HAVE_RECVMSG_NOBLOCK) || defined(HAVE_RECVMSG_ADDR_LEN)
#define dlcp_put_addr_len(msg)	(*addr_len = (msg)->msg_namelen)
#else
#define dlcp_put_addr_len(msg)	do { } while (0)
#endif

/* What the socket's error queue has besides reports */
static inline int dlcp_inet_recv_error(struct sock *sk, struct msghdr *msg,
				       int len)
{
#ifndef HAVE_INET_RECV_ERROR
	/* Not for modules, but its callers are */
	if (sk->sk_family == AF_INET)
		return udp_prot.recvmsg(sk, msg, len, 1, MSG_ERRQUEUE,
					&msg->msg_namelen);
	return pingv6_ops.ipv6_recv_error(sk, msg, len, &msg->msg_namelen);
#elif defined(HAVE_RECVMSG_NOBLOCK) || defined(HAVE_RECVMSG_ADDR_LEN)
	return inet_recv_error(sk, msg, len, &msg->msg_namelen);
#else
	return inet_recv_error(sk, msg, len);
#endif
}

/* Otherwise the backlog waits until the socket is let go */
static inline void dlcp_flush_backlog(struct sock *sk)
{
#ifdef HAVE_SK_FLUSH_BACKLOG
	sk_flush_backlog(sk);
#endif
}

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

/* What proto_ops.accept is given after the sockets: with its flags among it */
#ifdef HAVE_PROTO_ACCEPT_ARG
#define DLCP_ACCEPT_PARAMS	struct proto_accept_arg *arg
#define DLCP_ACCEPT_FLAGS	(arg->flags)
#else
#define DLCP_ACCEPT_PARAMS	int flags, bool kern
#define DLCP_ACCEPT_FLAGS	(flags)
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

#ifndef HAVE_MSG_ZEROCOPY
#define msg_zerocopy_realloc	sock_zerocopy_realloc
#define net_zcopy_put		sock_zerocopy_put
#endif

#ifndef HAVE_UARG_TO_MSGZC
#define uarg_to_msgzc(uarg)	(uarg)
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

/* Parts of a user's buffer that has several */
static inline const struct iovec *dlcp_iter_iov(const struct iov_iter *i)
{
#ifdef HAVE_ITER_IOV
	return iter_iov(i);
#else
	return i->iov;
#endif
}

/* Address of the next byte of @i, which is the user's */
static inline unsigned long dlcp_iter_addr(const struct iov_iter *i)
{
#ifdef HAVE_ITER_UBUF
	if (iter_is_ubuf(i))
		return (unsigned long)i->ubuf + i->iov_offset;
#endif
	if (!dlcp_iter_iov(i))	/* none */
		return 0;
	return (unsigned long)dlcp_iter_iov(i)->iov_base + i->iov_offset;
}

#ifndef HAVE_ITER_UBUF
#define user_backed_iter	iter_is_iovec

static inline ssize_t iov_iter_get_pages2(struct iov_iter *i,
					  struct page **pages, size_t size,
					  unsigned int nr, size_t *start)
{
	ssize_t got = iov_iter_get_pages(i, pages, size, nr, start);

	if (got > 0)
		iov_iter_advance(i, got);
	return got;
}
#endif

#ifndef siphash_aligned_key_t
#define siphash_aligned_key_t	siphash_key_t __aligned(16)
#endif

#ifndef HAVE_SK_ERROR_REPORT
static inline void sk_error_report(struct sock *sk)
{
	sk->sk_error_report(sk);
}
#endif

/* Nobody asks why a packet is dropped */
#ifndef HAVE_DROP_REASONS
enum dlcp_no_reason {
	SKB_DROP_REASON_NOT_SPECIFIED,
	SKB_DROP_REASON_NO_SOCKET,
	SKB_DROP_REASON_PKT_TOO_SMALL,
	SKB_DROP_REASON_PROTO_MEM,
	SKB_DROP_REASON_SOCKET_BACKLOG,
	SKB_DROP_REASON_SOCKET_FILTER,
	SKB_DROP_REASON_UDP_CSUM,
	SKB_DROP_REASON_XFRM_POLICY,
};

#define skb_drop_reason		dlcp_no_reason

static inline void kfree_skb_reason(struct sk_buff *skb,
				    enum skb_drop_reason reason)
{
	kfree_skb(skb);
}
#endif

#ifndef HAVE_SKB_TSTAMP
static inline ktime_t skb_tstamp(const struct sk_buff *skb)
{
	return skb->tstamp;
}
#endif

/* What UDP makes of a packet that it has cut; older kernels do nothing */
#ifndef HAVE_UDP_POST_SEGMENT
static inline void udp_post_segment_fix_csum(struct sk_buff *skb) { }
#endif

#ifndef HAVE_SK_PORT_RANGE
static inline void inet_sk_get_local_port_range(const struct sock *sk,
						int *low, int *high)
{
	inet_get_local_port_range(sock_net(sk), low, high);
}
#endif

/* Older kernels keep ICMP errors from tunnels: a path's MTU is then found by
 * probes alone, and a host that refuses UDP by its silence
 */
#ifdef HAVE_ENCAP_ERR_RCV
#define DLCP_ENCAP_ERR_RCV(f)	.encap_err_rcv = f,
#else
#define DLCP_ENCAP_ERR_RCV(f)
#endif

/* Who gives back a port where a program of BPF refuses bind() */
#ifdef HAVE_PROTO_PUT_PORT
#define DLCP_PROTO_PUT_PORT(f)	.put_port = f,
#else
#define DLCP_PROTO_PUT_PORT(f)
#endif

/* The share of processors in the count of a protocol's memory */
#ifdef HAVE_PROTO_FW_ALLOC
#define DLCP_PROTO_FW_ALLOC(p)	.per_cpu_fw_alloc = p,
#else
#define DLCP_PROTO_FW_ALLOC(p)
#endif

/* Commands of generic netlink that each are one entry: of ours none has two */
#ifndef HAVE_GENL_SPLIT_OPS
#define genl_split_ops		genl_ops
#define split_ops		ops
#define n_split_ops		n_ops
#endif

/* What has the family and the attributes of a dump's request */
#ifdef HAVE_GENL_INFO_DUMP
#define dlcp_dump_info		genl_info_dump
#else
#define dlcp_dump_info		genl_dumpit_info
#endif

/* What the filter of a dump by inet_diag is in */
#ifdef HAVE_INET_DIAG_BC_DATA
#define dlcp_diag_bc_sk(data, sk) inet_diag_bc_sk(data, sk)
#else
#define dlcp_diag_bc_sk(data, sk)					\
	inet_diag_bc_sk(((struct inet_diag_dump_data *)(data))->inet_diag_nla_bc, sk)
#endif

/* inet_diag holds the module while it asks it */
#ifdef HAVE_INET_DIAG_OWNER
#define DLCP_DIAG_OWNER		.owner = THIS_MODULE,
#else
#define DLCP_DIAG_OWNER
#endif

#ifndef HAVE_NLA_PUT_UINT
static inline int nla_put_uint(struct sk_buff *skb, int type, u64 value)
{
	if (value == (u32)value)
		return nla_put_u32(skb, type, value);
	return nla_put(skb, type, sizeof(value), &value);
}
#endif

#endif
