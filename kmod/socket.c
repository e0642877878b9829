// SPDX-License-Identifier: GPL-2.0
/* The protocol family's side of a socket: from socket() to close(). */
#include <linux/errqueue.h>
#include <linux/poll.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/ip6_route.h>
#include <net/protocol.h>
#include <net/tcp_states.h>
#include <net/transp_v6.h>

#include "dlcp.h"
#include "trace.h"

/* What a socket may have under memory pressure: minimum, default, maximum */
static int dlcp_wmem_min[3] = { 4096, 4096, 4096 };
static int dlcp_rmem_min[3] = { 4096, 4096, 4096 };

/* No packet is left that could look at the lanes */
static void dlcp_destruct(struct sock *sk)
{
	dlcp_rails_drop_routes(sk);
	dlcp_egress_put(sk);
	dlcp_hostq_free(sk);
	kfree(dlcp_sk(sk)->rails);
	dlcp_sk(sk)->destruct(sk);
}

/* AppArmor's profiles name types of sockets, and its parser does not know ours: what
 * "network, deny network inet," leaves is our type alone. Who may have no UDP socket
 * may have none of ours. Those of the second door were asked about as datagrams.
 */
static int dlcp_ask_as_udp(const struct sock *sk)
{
	struct socket *sock;
	int err;

	if (sk->sk_kern_sock || sk->sk_type != SOCK_DLCP)
		return 0;
	err = sock_create(sk->sk_family, SOCK_DGRAM, IPPROTO_UDP, &sock);
	if (!err)
		sock_release(sock);
	return err;
}

static int dlcp_init_sock(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);

	dlcp_sock_setup(sk);
	ds->attr.elem_size = 4;
	ds->attr.prio = DLCP_PRIO_DEFAULT;
	WRITE_ONCE(sk->sk_sndbuf, READ_ONCE(dn->wmem[1]));
	WRITE_ONCE(sk->sk_rcvbuf, READ_ONCE(dn->rmem[1]));
	sk->sk_state_change = dlcp_state_change;
	sk->sk_write_space = dlcp_skb_freed;
	ds->destruct = sk->sk_destruct;
	sk->sk_destruct = dlcp_destruct;
	sock_set_flag(sk, SOCK_RCU_FREE);
	/* Packets are stamped on arrival as long as there is a socket with
	 * this flag; the kernel gives it to children and counts for us. A stamp
	 * tells the network's time from that of a busy host.
	 */
	sock_set_flag(sk, SOCK_TIMESTAMP);
	net_enable_timestamp();
	sk_sockets_allocated_inc(sk);
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, 1);
	return dlcp_ask_as_udp(sk);
}

/* Nothing is found through the family's own tables */
static int dlcp_hash(struct sock *sk)
{
	return 0;
}

static void dlcp_unhash(struct sock *sk)
{
}

static int dlcp_get_port(struct sock *sk, unsigned short snum)
{
	return dlcp_port_bind(sk, snum);
}

static int dlcp_disconnect(struct sock *sk, int flags)
{
	return -EOPNOTSUPP;
}

static void dlcp_enter_memory_pressure(struct sock *sk)
{
	WRITE_ONCE(dlcp_memory_pressure, 1);
}

static void dlcp_leave_memory_pressure(struct sock *sk)
{
	if (READ_ONCE(dlcp_memory_pressure))
		WRITE_ONCE(dlcp_memory_pressure, 0);
}

static void dlcp_keepalive(struct sock *sk, int on)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	u32 ms = ds->keepalive_ms ?: READ_ONCE(dn->keepalive_ms);

	if (!ds->conn_ready)
		return;
	dlcp_conn_set_keepalive(&ds->conn, on ? (u64)ms * NSEC_PER_MSEC : 0);
	dlcp_push(sk);
}

static int dlcp_bind_ops(struct socket *sock, struct sockaddr_unsized *uaddr,
			 int len)
{
	return dlcp_bind(sock, uaddr, len);
}

/* The encapsulation, for connect() and listen(). Return: 0 or a negative errno. */
static int dlcp_open_encap(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err;

	if (ds->encap != DLCP_ENCAP_UDP)
		return 0;
	err = dlcp_udp_open(sock_net(sk));
	if (err != -EPERM)
		return err;
	lock_sock(sk);
	if (!ds->conn_ready) {
		ds->tried_err = 0;
		ds->tried_text = "the UDP port is closed: root opens it by net.dlcp.udp_port";
	}
	release_sock(sk);
	return err;
}

static int dlcp_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	int err;

	err = dlcp_open_encap(sk);
	if (err)
		return err;
	lock_sock(sk);
	err = -EINVAL;
	if (sock->state != SS_UNCONNECTED || dlcp_sk(sk)->conn_ready ||
	    (sk->sk_state != TCP_CLOSE && sk->sk_state != TCP_LISTEN))
		goto out;
	WRITE_ONCE(sk->sk_max_ack_backlog, backlog);
	err = 0;
	if (sk->sk_state == TCP_LISTEN)
		goto out;
	if (!inet_sk(sk)->inet_num)
		err = dlcp_port_bind(sk, 0);
	if (err)
		goto out;
	inet_sk(sk)->inet_sport = htons(inet_sk(sk)->inet_num);
	sk->sk_ack_backlog = 0;
	err = dlcp_port_listen(sk);
	if (!err)
		WRITE_ONCE(sk->sk_shutdown, 0);
out:
	release_sock(sk);
	return err;
}

static int dlcp_start_connect(struct sock *sk, union dlcp_addr *addr, int len)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err;

	if (sk->sk_state != TCP_CLOSE)
		return -EISCONN;
	/* What an attempt that failed has left */
	dlcp_conn_teardown(sk);
	dlcp_forget_peer(sk);
	err = dlcp_set_peer(sk, addr, len);
	if (!err)
		err = dlcp_route(sk);
	if (err >= 0)
		err = dlcp_port_connect(sk);
	if (!err) {
		inet_sk(sk)->inet_sport = htons(inet_sk(sk)->inet_num);
		err = dlcp_conn_setup(sk, dlcp_new_tag(sock_net(sk)));
	}
	if (!err)
		err = dlcp_table_add(sk);
	if (err) {
		dlcp_conn_teardown(sk);
		dlcp_port_disconnect(sk);
		dlcp_forget_peer(sk);
		return err;
	}
	WRITE_ONCE(sk->sk_err, 0);
	WRITE_ONCE(sk->sk_shutdown, 0);
	dlcp_place_tried(sk);
	dlcp_conn_connect(&ds->conn, dlcp_now());
	dlcp_push(sk);
	return 0;
}

/* connect() has failed: all is as before, but for what DLCP_LAST_ERROR says */
static int dlcp_connect_failed(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct dlcp_sock *ds = dlcp_sk(sk);

	ds->tried_text = ds->conn.error_text;
	if (ds->conn.unanswered)
		ds->tried_err = (u8)ds->conn.error;
	dlcp_conn_teardown(sk);
	dlcp_port_disconnect(sk);
	dlcp_forget_peer(sk);
	/* recv() shall not take it for the end */
	sock->state = SS_UNCONNECTED;
	WRITE_ONCE(sk->sk_shutdown, 0);
	return sock_error(sk) ?: -ECONNABORTED;
}

static long dlcp_wait_connect(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while (sk->sk_state == TCP_SYN_SENT) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
		if (signal_pending(current) || !timeo)
			break;
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return timeo;
}

/* Set-up began: wait for its end. Context: process, socket lock owned. */
static int dlcp_finish_connect(struct socket *sock, long timeo, int pending)
{
	struct sock *sk = sock->sk;

	if (sk->sk_state == TCP_SYN_SENT) {
		if (!timeo)
			return pending;
		timeo = dlcp_wait_connect(sk, timeo);
		if (sk->sk_state == TCP_SYN_SENT)
			return signal_pending(current) ?
			       sock_intr_errno(timeo) : -EINPROGRESS;
	}
	if (dlcp_sk(sk)->was_open) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	/* Another thread that waited has put all back: the socket may be anything by now */
	if (!dlcp_sk(sk)->conn_ready)
		return sock_error(sk) ?: -ECONNABORTED;
	return dlcp_connect_failed(sock);
}

static int dlcp_connect(struct socket *sock, struct sockaddr_unsized *uaddr,
			int len, int flags)
{
	struct sock *sk = sock->sk;
	int err, pending = -EALREADY;
	union dlcp_addr addr;

	err = dlcp_get_addr(&addr, uaddr, len);
	if (err)
		return err;
	if (addr.sa.sa_family == AF_UNSPEC)
		return -EOPNOTSUPP;
	err = dlcp_open_encap(sk);
	if (err)
		return err;
	lock_sock(sk);
	if (sock->state == SS_UNCONNECTED) {
		err = dlcp_start_connect(sk, &addr, len);
		if (err)
			goto out;
		sock->state = SS_CONNECTING;
		pending = -EINPROGRESS;
	} else if (sock->state != SS_CONNECTING) {
		err = sock->state == SS_CONNECTED ? -EISCONN : -EINVAL;
		goto out;
	}
	err = dlcp_finish_connect(sock, sock_sndtimeo(sk, flags & O_NONBLOCK),
				  pending);
out:
	release_sock(sk);
	return err;
}

static int dlcp_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct dlcp_sock *ds = dlcp_sk(sk);
	int err = 0;

	how++;		/* RCV_SHUTDOWN, SEND_SHUTDOWN, both */
	if (how < 1 || how > SHUTDOWN_MASK)
		return -EINVAL;
	lock_sock(sk);
	if (sk->sk_state == TCP_CLOSE) {
		err = -ENOTCONN;
	} else if (sk->sk_state == TCP_LISTEN) {
		if (how & RCV_SHUTDOWN)
			dlcp_listen_stop(sk);
	} else if (sk->sk_state == TCP_SYN_SENT) {
		dlcp_conn_abort(&ds->conn, ECONNABORTED,
				"shutdown() ended the set-up: call connect() again");
		dlcp_push(sk);
		sock->state = SS_UNCONNECTED;	/* connect() starts anew */
	} else {
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
		if (how & SEND_SHUTDOWN)
			dlcp_conn_shutdown(&ds->conn, dlcp_now());
		dlcp_push(sk);
	}
	/* Pollers of an unconnected socket too, as for UDP */
	sk->sk_state_change(sk);
	dlcp_rx_wake_all(sk);
	release_sock(sk);
	return err;
}

/* SOCK_DESTROY: the administrator ends it. The owner's calls fail with @err. */
static int dlcp_diag_destroy(struct sock *sk, int err)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	int ret = 0;

	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		dlcp_listen_stop(sk);
		WRITE_ONCE(sk->sk_err, err);
		sk_error_report(sk);
		sk->sk_state_change(sk);
	} else if (ds->conn_ready && ds->conn.state != DLCP_CLOSED) {
		dlcp_conn_abort(&ds->conn, err, "ended by the administrator");
		dlcp_push(sk);
	} else {
		ret = -ENOENT;
	}
	release_sock(sk);
	return ret;
}

static __poll_t dlcp_poll_listen(const struct sock *sk)
{
	return list_empty(&dlcp_sk(sk)->accept_queue) ? 0 :
	       EPOLLIN | EPOLLRDNORM;
}

static __poll_t dlcp_poll_shutdown(const struct sock *sk, int state)
{
	u8 shut = READ_ONCE(sk->sk_shutdown);
	__poll_t mask = 0;

	if (shut == SHUTDOWN_MASK || state == TCP_CLOSE)
		mask |= EPOLLHUP;
	if (shut & RCV_SHUTDOWN)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	return mask;
}

static __poll_t dlcp_poll_out(struct sock *sk)
{
	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN || dlcp_writable(sk))
		return EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
	dlcp_want_space(sk);
	/* Space may have come before the bit was seen */
	smp_mb__after_atomic();
	return dlcp_writable(sk) ? EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND : 0;
}

static __poll_t dlcp_poll(struct file *file, struct socket *sock,
			  poll_table *wait)
{
	struct sock *sk = sock->sk;
	__poll_t mask;
	int state;

	sock_poll_wait(file, sock, wait);
	state = inet_sk_state_load(sk);
	if (state == TCP_LISTEN)
		return dlcp_poll_listen(sk);
	mask = dlcp_poll_shutdown(sk, state);
	if (state != TCP_SYN_SENT && state != TCP_CLOSE)
		mask |= dlcp_poll_out(sk);
	else if (state == TCP_CLOSE)
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (dlcp_rx_readable(sk))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(sk->sk_err) || dlcp_errqueue_readable(sk))
		mask |= EPOLLERR |
			(sock_flag(sk, SOCK_SELECT_ERR_QUEUE) ? EPOLLPRI : 0);
	return mask;
}

/* Bytes that recvmsg() would return, bytes not yet delivered */
static int dlcp_ioctl(struct sock *sk, int cmd, DLCP_IOCTL_ARG arg)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_rx *rx;
	u64 n = 0;

	if (cmd != SIOCINQ && cmd != SIOCOUTQ)
		return -ENOIOCTLCMD;
	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		release_sock(sk);
		return -EINVAL;
	}
	if (cmd == SIOCOUTQ) {
		n = ds->conn.cnt[DLCP_CNT_TX_OFFERED] -
		    ds->conn.cnt[DLCP_CNT_TX_DELIVERED];
		if (sk->sk_state == TCP_CLOSE)
			n = 0;
	} else {
		rx = list_first_entry_or_null(&ds->rx_ready, struct dlcp_rx,
					      ready);
		if (rx)
			n = rx->core.open.length;
	}
	release_sock(sk);
	return dlcp_ioctl_put(arg, min_t(u64, n, INT_MAX));
}

/* Complete and never read, or on its way */
static bool dlcp_data_unread(const struct sock *sk)
{
	const struct dlcp_sock *ds = dlcp_sk(sk);

	return !list_empty(&ds->rx_ready) || dlcp_conn_rx_any(&ds->conn);
}

static bool dlcp_close_aborts(const struct sock *sk)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;

	if (sk->sk_state == TCP_SYN_SENT)
		return true;
	if (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime)
		return true;
	return dlcp_data_unread(sk) && !c->eof;
}

static void dlcp_linger(struct sock *sk, long timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	while (timeo && sk->sk_state != TCP_CLOSE &&
	       !dlcp_sk(sk)->conn.flushed && !signal_pending(current)) {
		release_sock(sk);
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
}

/* What nobody will read makes room for what the peer still has to say */
static void dlcp_drop_unread(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_rx *rx, *n;

	list_for_each_entry_safe(rx, n, &ds->rx_ready, ready) {
		list_del_init(&rx->ready);
		dlcp_rx_purge_queue(sk, rx);
		trace_dlcp_read(sk, rx->core.id, false);
		dlcp_conn_rx_done(&ds->conn, &rx->core);
	}
}

/**
 * dlcp_close() - the user has no way to the socket any more
 * @sk: socket
 * @timeout: SO_LINGER, jiffies
 *
 * What was sent is still delivered, in the background, until it is or the
 * peer is silent for DLCP_DEAD_MS, or net.dlcp.dead_ms if that is less. Unread
 * messages and SO_LINGER 0 end the connection at once, with a RESET, so that
 * the peer learns of it.
 */
static void dlcp_close(struct sock *sk, long timeout)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	lock_sock(sk);
	WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	if (sk->sk_state == TCP_LISTEN) {
		dlcp_listen_stop(sk);
	} else if (ds->conn_ready && ds->conn.state != DLCP_CLOSED) {
		if (dlcp_close_aborts(sk)) {
			dlcp_conn_abort(&ds->conn, ECONNABORTED, NULL);
		} else {
			dlcp_drop_unread(sk);
			dlcp_conn_shutdown(&ds->conn, dlcp_now());
		}
		dlcp_push(sk);
		dlcp_linger(sk, timeout);
	}
	sock_hold(sk);
	dlcp_orphan(sk);
	release_sock(sk);
	sock_put(sk);
}

static int dlcp_set_rcvlowat(struct sock *sk, int val)
{
	return -EOPNOTSUPP;	/* messages come whole */
}

#ifdef HAVE_SENDPAGE
/* A page is not a message: splice() and sendfile() are refused, as newer kernels'
 * are in sendmsg()
 */
static ssize_t dlcp_no_sendpage(struct socket *sock, struct page *page,
				int offset, size_t size, int flags)
{
	return -EINVAL;
}

#define DLCP_NO_SENDPAGE	.sendpage = dlcp_no_sendpage,
#else
#define DLCP_NO_SENDPAGE
#endif

/* A message has to be copied to its places, which a pipe does not have */
static ssize_t dlcp_no_splice_read(struct socket *sock, loff_t *pos,
				   struct pipe_inode_info *pipe, size_t len,
				   unsigned int flags)
{
	return -EINVAL;
}

/* Not inet_accept(): newer kernels charge a connection to who accepts it, and take
 * it for one that nobody pays for yet. Here its listener's control group does.
 */
static int dlcp_accept(struct socket *sock, struct socket *to, DLCP_ACCEPT_PARAMS)
{
	struct sock *sk;
	int err;

	sk = dlcp_do_accept(sock->sk, DLCP_ACCEPT_FLAGS, &err);
	if (!sk)
		return err;
	lock_sock(sk);
	sock_graft(sk, to);
	to->state = SS_CONNECTED;
	release_sock(sk);
	return 0;
}

static int dlcp_proto_recvmsg(struct sock *sk, struct msghdr *msg, size_t len,
			      DLCP_RECVMSG_PARAMS)
{
	int err = dlcp_recvmsg(sk, msg, len, DLCP_RECVMSG_FLAGS);

	dlcp_put_addr_len(msg);
	return err;
}

#define DLCP_PROTO_COMMON						\
	.owner			= THIS_MODULE,				\
	.close			= dlcp_close,				\
	.disconnect		= dlcp_disconnect,			\
	.diag_destroy		= dlcp_diag_destroy,			\
	.ioctl			= dlcp_ioctl,				\
	.init			= dlcp_init_sock,			\
	.destroy		= dlcp_sock_cleanup,			\
	.setsockopt		= dlcp_setsockopt,			\
	.getsockopt		= dlcp_getsockopt,			\
	.keepalive		= dlcp_keepalive,			\
	.sendmsg		= dlcp_sendmsg,				\
	.recvmsg		= dlcp_proto_recvmsg,			\
	.backlog_rcv		= dlcp_backlog_rcv,			\
	.release_cb		= dlcp_run_deferred,			\
	.hash			= dlcp_hash,				\
	.unhash			= dlcp_unhash,				\
	.get_port		= dlcp_get_port,			\
	DLCP_PROTO_PUT_PORT(dlcp_port_release)				\
	.enter_memory_pressure	= dlcp_enter_memory_pressure,		\
	.leave_memory_pressure	= dlcp_leave_memory_pressure,		\
	.sockets_allocated	= &dlcp_sockets_allocated,		\
	.memory_allocated	= &dlcp_memory_allocated,		\
	DLCP_PROTO_FW_ALLOC(&dlcp_fw_alloc)				\
	.memory_pressure	= &dlcp_memory_pressure,		\
	.sysctl_mem		= dlcp_sysctl_mem,			\
	.sysctl_wmem		= dlcp_wmem_min,			\
	.sysctl_rmem		= dlcp_rmem_min,			\
	.slab_flags		= SLAB_ACCOUNT,				\
	.no_autobind		= true

static struct proto dlcp_prot = {
	.name		= "DLCP",
	.obj_size	= sizeof(struct dlcp_sock),
	DLCP_PROTO_COMMON,
};

static const struct proto_ops dlcp_ops = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= inet_release,
	.bind		= dlcp_bind_ops,
	.connect	= dlcp_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= dlcp_accept,
	.getname	= inet_getname,
	.poll		= dlcp_poll,
	.ioctl		= inet_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= dlcp_listen,
	.shutdown	= dlcp_shutdown,
	.setsockopt	= sock_common_setsockopt,
	.getsockopt	= sock_common_getsockopt,
	.sendmsg	= inet_sendmsg,
	.recvmsg	= inet_recvmsg,
	.mmap		= sock_no_mmap,
	.splice_read	= dlcp_no_splice_read,
	DLCP_NO_SENDPAGE
	.set_rcvlowat	= dlcp_set_rcvlowat,
};

static struct inet_protosw dlcp_protosw[] = {
	{
		.type		= SOCK_DLCP,
		.protocol	= IPPROTO_DLCP,
		.prot		= &dlcp_prot,
		.ops		= &dlcp_ops,
	},
	/* A second door for security modules that do not know the type */
	{
		.type		= SOCK_DGRAM,
		.protocol	= IPPROTO_DLCP,
		.prot		= &dlcp_prot,
		.ops		= &dlcp_ops,
	},
};

#if IS_ENABLED(CONFIG_IPV6)
static struct proto dlcpv6_prot = {
	.name		= "DLCPv6",
	.obj_size	= sizeof(struct dlcp6_sock),
	DLCP_PROTO_PINFO6(struct dlcp6_sock, inet6)
	DLCP_PROTO_COMMON,
};

static const struct proto_ops dlcpv6_ops = {
	.family		= PF_INET6,
	.owner		= THIS_MODULE,
	.release	= inet6_release,
	.bind		= dlcp_bind_ops,
	.connect	= dlcp_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= dlcp_accept,
	.getname	= inet6_getname,
	.poll		= dlcp_poll,
	.ioctl		= inet6_ioctl,
	.gettstamp	= sock_gettstamp,
	.listen		= dlcp_listen,
	.shutdown	= dlcp_shutdown,
	.setsockopt	= sock_common_setsockopt,
	.getsockopt	= sock_common_getsockopt,
	.sendmsg	= inet_sendmsg,
	.recvmsg	= inet_recvmsg,
	.mmap		= sock_no_mmap,
	.splice_read	= dlcp_no_splice_read,
	DLCP_NO_SENDPAGE
	.set_rcvlowat	= dlcp_set_rcvlowat,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= inet6_compat_ioctl,
#endif
};

static struct inet_protosw dlcpv6_protosw[] = {
	{
		.type		= SOCK_DLCP,
		.protocol	= IPPROTO_DLCP,
		.prot		= &dlcpv6_prot,
		.ops		= &dlcpv6_ops,
	},
	{
		.type		= SOCK_DGRAM,
		.protocol	= IPPROTO_DLCP,
		.prot		= &dlcpv6_prot,
		.ops		= &dlcpv6_ops,
	},
};

static int dlcp_register6(void)
{
	int i, err;

	err = proto_register(&dlcpv6_prot, 1);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(dlcpv6_protosw); i++) {
		err = inet6_register_protosw(&dlcpv6_protosw[i]);
		if (err)
			goto unregister;
	}
	return 0;

unregister:
	while (i--)
		inet6_unregister_protosw(&dlcpv6_protosw[i]);
	proto_unregister(&dlcpv6_prot);
	return err;
}

static void dlcp_unregister6(void)
{
	int i = ARRAY_SIZE(dlcpv6_protosw);

	while (i--)
		inet6_unregister_protosw(&dlcpv6_protosw[i]);
	proto_unregister(&dlcpv6_prot);
}
#else
static int dlcp_register6(void)
{
	return 0;
}

static void dlcp_unregister6(void)
{
}
#endif

static void dlcp_unregister4(void)
{
	int i = ARRAY_SIZE(dlcp_protosw);

	while (i--)
		inet_unregister_protosw(&dlcp_protosw[i]);
	proto_unregister(&dlcp_prot);
}

int dlcp_register_protos(void)
{
	int i, err;

	err = proto_register(&dlcp_prot, 1);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(dlcp_protosw); i++)
		inet_register_protosw(&dlcp_protosw[i]);
	err = dlcp_register6();
	if (err)
		dlcp_unregister4();
	return err;
}

void dlcp_unregister_protos(void)
{
	dlcp_unregister6();
	dlcp_unregister4();
}
