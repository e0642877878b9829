// SPDX-License-Identifier: GPL-2.0
/*
 * Training over TCP: what it is compared with. One connection for each worker,
 * a header before each message, header and bytes in one system call, no Nagle,
 * buffers left to the kernel's auto-tuning.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* glibc's tcp_info is too old for the counters */
#include <linux/tcp.h>

#include "../tools/inet.h"
#include "net.h"

#define DEAD_MS		20000

struct header {
	uint64_t	key;
	uint64_t	bytes;
};

/**
 * struct conn - a connection
 * @fd: its socket
 * @offered: bytes given to send(), without headers
 * @sent: the same with headers; both are read by other threads
 * @have_header: 1 when @header has been read and its bytes have not
 * @header: of the message that comes next
 */
struct conn {
	int		fd;
	_Atomic uint64_t offered, sent;
	int		have_header;
	struct header	header;
};

static _Thread_local char text[200] = "no error";

static int fail(const char *what)
{
	int err = errno;
	char why[64];

	snprintf(text, sizeof(text), "%s: %s", what,
		 strerror_r(err, why, sizeof(why)));
	errno = err;
	return -1;
}

static const char *error_tcp(void)
{
	return text;
}

static struct conn *make_conn(int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	unsigned int dead = DEAD_MS;
	int on = 1;

	if (!conn ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead, sizeof(dead)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on))) {
		fail("setsockopt");
		free(conn);
		close(fd);
		return NULL;
	}
	conn->fd = fd;
	return conn;
}

static struct addrinfo *resolve(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	char name[NI_MAXHOST];
	int err;

	inet_unbracket(name, host);
	err = getaddrinfo(name, port, &hints, &list);
	if (!err)
		return list;
	snprintf(text, sizeof(text), "%s port %s: %s", host, port, gai_strerror(err));
	errno = EADDRNOTAVAIL;
	return NULL;
}

static int listen_tcp(const char *port)
{
	int fd = inet_listen_tcp(atoi(port), 64);

	return fd < 0 ? fail("listen") : fd;
}

static struct conn *accept_tcp(int fd)
{
	int conn;

	do
		conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	while (conn < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (conn < 0) {
		fail("accept");
		return NULL;
	}
	return make_conn(conn);
}

/* Return: a socket, or -1 and errno */
static int connect_to(const struct addrinfo *ai, int ms)
{
	struct timeval limit = { ms / 1000, ms % 1000 * 1000 + 1 }, none = { 0 };
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -1;
	/* Which limits connect(), too */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, ai->ai_addr, ai->ai_addrlen)) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
		return fd;
	}
	err = errno == EINPROGRESS ? ETIMEDOUT : errno;
	close(fd);
	errno = err;
	return -1;
}

static void note_failure(const struct addrinfo *ai, int err)
{
	size_t at = strlen(text);
	char addr[64], why[64];

	if (getnameinfo(ai->ai_addr, ai->ai_addrlen, addr, sizeof(addr), NULL, 0, NI_NUMERICHOST))
		strcpy(addr, "?");
	snprintf(text + at, sizeof(text) - at, "%s%s: %s", at ? "; " : "", addr,
		 strerror_r(err, why, sizeof(why)));
}

/* Each address has an equal share of @ms; errno is ECONNREFUSED or ETIMEDOUT if any of them may take
 * a connection later
 */
static struct conn *connect_tcp(const char *host, const char *port, int ms)
{
	struct addrinfo *list = resolve(host, port), *ai;
	int nr = 0, fd = -1, err = 0;

	if (!list)
		return NULL;
	*text = '\0';
	for (ai = list; ai; ai = ai->ai_next)
		nr++;
	for (ai = list; ai && fd < 0; ai = ai->ai_next) {
		fd = connect_to(ai, ms / nr);
		if (fd >= 0)
			break;
		if (err != ECONNREFUSED && err != ETIMEDOUT)
			err = errno;
		note_failure(ai, errno);
	}
	freeaddrinfo(list);
	errno = err;
	return fd < 0 ? NULL : make_conn(fd);
}

static int send_tcp(struct conn *conn, const struct tensor *tensor)
{
	struct header header = { tensor->key, tensor->bytes };
	struct iovec iov[2] = {
		{ &header, sizeof(header) },
		{ (void *)tensor->data, tensor->bytes },
	};
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n;

	conn->offered += tensor->bytes;
	while (mh.msg_iovlen) {
		n = sendmsg(conn->fd, &mh, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail("send");
		conn->sent += n;
		while (mh.msg_iovlen && (size_t)n >= mh.msg_iov->iov_len) {
			n -= mh.msg_iov->iov_len;
			mh.msg_iov++;
			mh.msg_iovlen--;
		}
		if (mh.msg_iovlen) {
			mh.msg_iov->iov_base = (char *)mh.msg_iov->iov_base + n;
			mh.msg_iov->iov_len -= n;
		}
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t bytes)
{
	char *to = buf;
	size_t got = 0;
	ssize_t n;

	while (got < bytes) {
		n = recv(fd, to + got, bytes - got, MSG_WAITALL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail("recv");
		if (!n && !got)
			return NET_EOF;
		if (!n) {
			errno = ECONNRESET;
			return fail("the connection ended inside a message");
		}
		got += n;
	}
	return 0;
}

static int next_tcp(struct conn *conn, uint64_t *key)
{
	int ret;

	if (!conn->have_header) {
		ret = read_all(conn->fd, &conn->header, sizeof(conn->header));
		if (ret)
			return ret;
		conn->have_header = 1;
	}
	*key = conn->header.key;
	return 0;
}

static int recv_tcp(struct conn *conn, uint64_t key, void *buf, size_t bytes,
		    struct gaps *gaps)
{
	uint64_t next;
	int ret;

	(void)gaps;
	ret = next_tcp(conn, &next);
	if (ret)
		return ret;
	if (next != key || conn->header.bytes != bytes)
		return NET_WRONG;
	conn->have_header = 0;
	return read_all(conn->fd, buf, bytes);
}

static int recv_any_tcp(struct conn *conn, uint64_t *key, void *buf, size_t max,
			struct gaps *gaps)
{
	int ret = next_tcp(conn, key);

	if (ret)
		return ret;
	if (conn->header.bytes > max)
		return NET_WRONG;
	return recv_tcp(conn, *key, buf, conn->header.bytes, gaps);
}

static int backlog_tcp(struct conn *conn, size_t bytes)
{
	unsigned int unsent = bytes;

	if (setsockopt(conn->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
		       sizeof(unsent)))
		return fail("TCP_NOTSENT_LOWAT");
	return 0;
}

/* Headers are TCP's expense: they are in no figure */
static int stats_tcp(struct conn *conn, struct stats *stats)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	uint64_t sent = conn->sent, acked;

	memset(&info, 0, sizeof(info));
	if (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return fail("TCP_INFO");
	acked = info.tcpi_bytes_acked < sent ? info.tcpi_bytes_acked : sent;
	stats->offered = conn->offered;
	stats->delivered = sent ? (uint64_t)((double)acked / (double)sent *
					     (double)conn->offered) : 0;
	stats->forgiven = 0;
	stats->resent = info.tcpi_bytes_retrans;
	return 0;
}

static const char *name_of_tcp(struct conn *conn)
{
	return net_peer_name(conn->fd);
}

static void close_tcp(struct conn *conn)
{
	close(conn->fd);
	free(conn);
}

const struct net_ops net_tcp = {
	.name		= "tcp",
	.any_order	= 0,
	.listen		= listen_tcp,
	.accept		= accept_tcp,
	.connect	= connect_tcp,
	.send		= send_tcp,
	.next		= next_tcp,
	.recv		= recv_tcp,
	.recv_any	= recv_any_tcp,
	.backlog	= backlog_tcp,
	.stats		= stats_tcp,
	.name_of	= name_of_tcp,
	.error		= error_tcp,
	.close		= close_tcp,
};
