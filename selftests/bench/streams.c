// SPDX-License-Identifier: GPL-2.0
/* The peers: TCP, MPTCP, SCTP, and datagrams paced blindly. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "perf.h"

/* --- byte streams */

void write_all(int fd, const void *data, size_t len, size_t step)
{
	const uint8_t *p = data;
	ssize_t n;

	while (len) {
		n = send(fd, p, len < step ? len : step, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("send");
		p += n;
		len -= n;
	}
}

void read_all(int fd, void *data, size_t len)
{
	uint8_t *p = data;
	ssize_t n;

	while (len) {
		n = recv(fd, p, len, MSG_WAITALL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("recv");
		if (n == 0)
			fail("the peer closed the connection");
		p += n;
		len -= n;
	}
}

void stream_put(struct conn *c, const void *data, size_t len)
{
	write_all(c->fd, data, len, len);
}

void stream_get(struct conn *c, void *data, size_t len)
{
	read_all(c->fd, data, len);
}

void stream_send(struct conn *c, uint64_t round, uint32_t layer,
		 uint64_t offset)
{
	uint64_t len = c->opt->layer[layer];

	(void)round;
	write_all(c->fd, c->buf + offset, len, len / c->opt->messages);
}

/* @data in pieces of memory, as an application has it that gathers tensors */
static void read_pieces(struct conn *c, uint8_t *data, size_t len)
{
	struct iovec iov[MAX_IOVECS];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = c->opt->iovecs };
	size_t step = len / msg.msg_iovlen, i;

	for (i = 0; i < msg.msg_iovlen; i++)
		iov[i] = (struct iovec){ data + i * step, step };
	iov[i - 1].iov_len += len % msg.msg_iovlen;
	if (recvmsg(c->fd, &msg, MSG_WAITALL) != (ssize_t)len)
		die("recvmsg");
}

void stream_recv(struct conn *c, uint64_t round)
{
	size_t len = c->opt->share / c->opt->messages, offset;

	(void)round;
	for (offset = 0; offset < c->opt->share; offset += len)
		if (c->opt->iovecs > 1)
			read_pieces(c, c->buf + offset, len);
		else
			read_all(c->fd, c->buf + offset, len);
}

static int open_stream(const struct options *opt, int protocol,
		       const char *name)
{
	int fd = socket(opt->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC,
			protocol);

	if (fd < 0)
		die("no %s socket", name);
	return fd;
}

static void set_cc(int fd, const char *cc)
{
	if (cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, strlen(cc)))
		die("congestion control %s", cc);
}

int tcp_open(const struct options *opt)
{
	int fd = open_stream(opt, IPPROTO_TCP, "TCP");

	set_cc(fd, opt->cc);
	return fd;
}

static int mptcp_open(const struct options *opt)
{
	int fd = open_stream(opt, IPPROTO_MPTCP, "MPTCP");

	set_cc(fd, opt->cc);
	return fd;
}

static void tcp_nodelay(struct conn *c)
{
	set_int(c->fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
	hold_share(c);
}

/* The C library's struct tcp_info is older than the kernel's */
struct tcp_counters {
	struct tcp_info base;
	uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
	uint32_t segs_out, segs_in, notsent_bytes, min_rtt;
	uint32_t data_segs_in, data_segs_out;
	uint64_t delivery_rate, busy_time, rwnd_limited, sndbuf_limited;
	uint32_t delivered, delivered_ce;
	uint64_t bytes_sent, bytes_retrans;
};

static void tcp_stats(struct conn *c, struct stats *st)
{
	struct tcp_counters info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		die("TCP_INFO");
	st->known = 1;
	st->sent = info.bytes_sent;
	st->resent = info.bytes_retrans;
	st->marks = info.delivered_ce;
}

void no_stats(struct conn *c, struct stats *st)
{
	(void)c;
	(void)st;
}

/* --- SCTP, as a stream: messages of 32 kB, put together by the reader */

/* <linux/sctp.h> does not compile in user space */
#define SCTP_NODELAY	3

static int sctp_open(const struct options *opt)
{
	int fd = open_stream(opt, IPPROTO_SCTP, "SCTP");

	set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20, "SO_RCVBUFFORCE");
	set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20, "SO_SNDBUFFORCE");
	return fd;
}

static void sctp_nodelay(struct conn *c)
{
	set_int(c->fd, IPPROTO_SCTP, SCTP_NODELAY, 1, "SCTP_NODELAY");
}

static void sctp_send(struct conn *c, uint64_t round, uint32_t layer,
		      uint64_t offset)
{
	uint64_t len = c->opt->layer[layer];

	(void)round;
	write_all(c->fd, c->buf + offset, len,
		  c->opt->messages > 1 ? len / c->opt->messages : 32 << 10);
}

/* --- datagrams: commands go over TCP, data at 98 % of the fair share */

#define UDP_DATA	1456
#define UDP_WIRE	(UDP_DATA + 16 + 8 + 20 + 14)
#define UDP_SHARE	0.98

struct datagram {
	uint64_t round;
	uint64_t offset;
	uint8_t data[UDP_DATA];
};

static int udp_socket(const struct conn *c)
{
	int fd = socket(c->opt->addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("no UDP socket");
	set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20, "SO_RCVBUFFORCE");
	set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20, "SO_SNDBUFFORCE");
	return fd;
}

static void set_port(struct sockaddr_storage *addr, in_port_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = port;
	else
		((struct sockaddr_in *)addr)->sin_port = port;
}

static in_port_t get_port(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)addr)->sin6_port;
	return ((const struct sockaddr_in *)addr)->sin_port;
}

/* The receiver opens a port for each sender and tells it the number */
void udp_accepted(struct conn *c)
{
	struct sockaddr_storage addr = c->opt->addr;
	socklen_t len = sizeof(addr);
	in_port_t port;

	c->data_fd = udp_socket(c);
	set_port(&addr, 0);
	if (bind(c->data_fd, (struct sockaddr *)&addr, c->opt->addr_len) ||
	    getsockname(c->data_fd, (struct sockaddr *)&addr, &len))
		die("bind");
	port = get_port(&addr);
	tcp_nodelay(c);
	stream_put(c, &port, sizeof(port));
}

void udp_connected(struct conn *c)
{
	struct sockaddr_storage addr = c->opt->addr;
	in_port_t port;

	tcp_nodelay(c);
	stream_get(c, &port, sizeof(port));
	set_port(&addr, port);
	c->data_fd = udp_socket(c);
	if (connect(c->data_fd, (struct sockaddr *)&addr, c->opt->addr_len))
		die("connect");
}

static void udp_send(struct conn *c, uint64_t round, uint32_t layer,
		     uint64_t offset)
{
	const struct options *opt = c->opt;
	double gap = UDP_WIRE * 8e9 * opt->senders / (opt->rate * UDP_SHARE);
	double due = gap * c->index / opt->senders;
	struct datagram d = { .round = round };
	uint64_t start = now_ns();
	size_t len;

	if (layer || offset || opt->nr_layers > 1)
		fail("datagrams have no layers");
	for (d.offset = 0; d.offset < opt->share; d.offset += UDP_DATA) {
		len = opt->share - d.offset;
		len = len < UDP_DATA ? len : UDP_DATA;
		memcpy(d.data, c->buf + d.offset, len);
		sleep_until(start, due);
		due += gap;
		if (send(c->data_fd, &d, 16 + len, 0) < 0 && errno != ENOBUFS)
			die("send");
	}
	stream_put(c, &round, sizeof(round));
}

static void udp_skip_to(struct conn *c, uint64_t *next, uint64_t offset)
{
	if (offset < *next)
		fail("datagrams out of order");
	if (offset == *next)
		return;
	memset(c->buf + *next, 0, offset - *next);
	add_missing(c, *next, offset - *next);
	*next = offset;
}

/* One datagram if there is one. Return: its bytes. */
static size_t udp_take(struct conn *c, uint64_t round, uint64_t *next)
{
	struct datagram d;
	ssize_t n = recv(c->data_fd, &d, sizeof(d), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 16)
		die("recv");
	n -= 16;
	if (d.round != round || d.offset + n > c->opt->share)
		fail("a datagram of another round");
	udp_skip_to(c, next, d.offset);
	memcpy(c->buf + d.offset, d.data, n);
	*next += n;
	return n;
}

/*
 * Until all is there, or the sender says that nothing more will come. What it
 * says after the last datagram is read when the clock no longer runs.
 */
static void udp_recv(struct conn *c, uint64_t round)
{
	struct pollfd p[2] = { { .fd = c->data_fd, .events = POLLIN },
			       { .fd = c->fd, .events = POLLIN } };
	uint64_t next = 0;

	while (next < c->opt->share) {
		if (poll(p, 2, -1) < 0)
			die("poll");
		while (udp_take(c, round, &next))
			;
		if (p[1].revents)
			udp_skip_to(c, &next, c->opt->share);
	}
}

static void udp_after(struct conn *c)
{
	uint64_t round;

	stream_get(c, &round, sizeof(round));
}

#define STREAM \
	.put = stream_put, .get = stream_get, .recv = stream_recv

static const struct proto proto_tcp = {
	.name = "tcp", .open = tcp_open, STREAM, .send = stream_send,
	.connected = tcp_nodelay, .accepted = tcp_nodelay, .stats = tcp_stats,
};

static const struct proto proto_mptcp = {
	.name = "mptcp", .open = mptcp_open, STREAM, .send = stream_send,
	.connected = tcp_nodelay, .accepted = tcp_nodelay, .stats = no_stats,
};

static const struct proto proto_sctp = {
	.name = "sctp", .open = sctp_open, STREAM, .send = sctp_send,
	.connected = sctp_nodelay, .accepted = sctp_nodelay, .stats = no_stats,
};

static const struct proto proto_udp = {
	.name = "udp", .open = tcp_open, .put = stream_put, .get = stream_get,
	.send = udp_send, .recv = udp_recv, .after = udp_after,
	.connected = udp_connected, .accepted = udp_accepted,
	.stats = no_stats,
};

const struct proto *const protos[] = {
	&proto_tcp, &proto_mptcp, &proto_sctp, &proto_udp, &proto_udp_gso, &proto_dlcp,
	&proto_dlcp_plain, NULL
};
