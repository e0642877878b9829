// SPDX-License-Identifier: LGPL-2.1-or-later
/* Making and configuring sockets, and listening */
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int set(int fd, int name, const void *val, socklen_t len,
	       const char *what)
{
	if (setsockopt(fd, SOL_DLCP, name, val, len))
		return dlcp__fail(errno, "setting %s", what);
	return 0;
}

/* close() that leaves errno alone */
static int close_failed(int fd)
{
	int err = errno;

	close(fd);
	errno = err;
	return -1;
}

DLCP_API int dlcp_prepare(int fd)
{
	int on = 1;

	return set(fd, DLCP_RECVWANT, &on, sizeof(on), "DLCP_RECVWANT");
}

/* AppArmor's parser does not know our type: "network inet," gives the types that it knows */
static int open_socket(int family)
{
	int fd = socket(family, SOCK_DLCP | SOCK_CLOEXEC, 0);

	if (fd < 0 && errno == EACCES)
		fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_DLCP);
	return fd;
}

DLCP_API int dlcp_socket(int family)
{
	int fd = open_socket(family);

	if (fd < 0)
		return dlcp__fail_socket(errno, family);
	if (dlcp_prepare(fd))
		return close_failed(fd);
	return fd;
}

static int listen_at(const struct addrinfo *ai, int backlog, int dual)
{
	int fd = dlcp_socket(ai->ai_family), on = 1, off = 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (dual && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)))
		dlcp__fail(errno, "IPV6_V6ONLY");
	else if (bind(fd, ai->ai_addr, ai->ai_addrlen))
		dlcp__fail(errno, "bind");
	else if (listen(fd, backlog > 0 ? backlog : SOMAXCONN))
		dlcp__fail(errno, "listen");
	else
		return fd;
	return close_failed(fd);
}

static int listen_family(const char *host, const char *port, int backlog,
			 int family)
{
	struct addrinfo *list = dlcp__resolve(host, port, family,
					      AI_PASSIVE, NULL), *ai;
	int fd = -1, err;

	if (!list)
		return -1;
	for (ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = listen_at(ai, backlog, !host && family == AF_INET6);
	err = errno;
	freeaddrinfo(list);
	errno = err;
	return fd;
}

/* With no host: one socket for both families, or for IPv4 if that is all */
DLCP_API int dlcp_listen(const char *host, const char *port, int backlog)
{
	int fd;

	if (host)
		return listen_family(host, port, backlog, AF_UNSPEC);
	fd = listen_family(NULL, port, backlog, AF_INET6);
	if (fd >= 0 || errno == EADDRINUSE)
		return fd;
	return listen_family(NULL, port, backlog, AF_INET);
}

/* Another thread may be faster, so the listening socket must not block */
DLCP_API int dlcp_accept(int fd, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);
	int conn, n;

	if (dlcp__set_nonblock(fd, 1))
		return -1;
	for (;;) {
		n = dlcp__poll(fd, POLLIN, &until);
		if (n < 0)
			return -1;
		if (!n)
			return dlcp__fail(ETIMEDOUT, "no connection in %d ms",
					  timeout_ms);
		conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (conn >= 0)
			break;
		if (errno != EAGAIN && errno != EINTR &&
		    errno != ECONNABORTED && errno != EPROTO)
			return dlcp__fail(errno, "accept");
	}
	if (dlcp_prepare(conn))
		return close_failed(conn);
	return conn;
}

DLCP_API int dlcp_set_defaults(int fd, const struct dlcp_attr *attr)
{
	return set(fd, DLCP_ATTR, attr, sizeof(*attr), "DLCP_ATTR");
}

static int set_timeout(int fd, int name, int ms)
{
	struct timeval tv = { 0 };

	if (ms >= 0) {
		tv.tv_sec = ms / 1000;
		tv.tv_usec = ms % 1000 * 1000;
		if (!ms)
			tv.tv_usec = 1000;
	}
	if (dlcp__set_limit(fd, name, &tv))
		return dlcp__fail(errno, "setting a timeout of %d ms", ms);
	return 0;
}

DLCP_API int dlcp_set_timeouts(int fd, int send_ms, int recv_ms)
{
	if (set_timeout(fd, SO_SNDTIMEO, send_ms))
		return -1;
	return set_timeout(fd, SO_RCVTIMEO, recv_ms);
}

DLCP_API int dlcp_allow_zerocopy(int fd)
{
	int on = 1;

	if (setsockopt(fd, SOL_DLCP, DLCP_ZEROCOPY, &on, sizeof(on)))
		return dlcp__fail(errno, "allowing MSG_ZEROCOPY");
	return 0;
}

/* The kernel doubles what it is given, for its bookkeeping */
static int set_buffer(int fd, int force, int name, size_t bytes)
{
	int val = bytes > INT_MAX / 2 ? INT_MAX / 2 : (int)bytes;

	if (!bytes || !setsockopt(fd, SOL_SOCKET, force, &val, sizeof(val)))
		return 0;
	if (setsockopt(fd, SOL_SOCKET, name, &val, sizeof(val)))
		return dlcp__fail(errno, "setting a buffer of %zu bytes",
				  bytes);
	return 0;
}

DLCP_API int dlcp_set_buffers(int fd, size_t send_bytes, size_t recv_bytes)
{
	if (set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, send_bytes))
		return -1;
	return set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, recv_bytes);
}

DLCP_API int dlcp_get_info_sized(int fd, struct dlcp_info *info, size_t size)
{
	socklen_t len = (socklen_t)size;

	memset(info, 0, size);
	if (getsockopt(fd, SOL_DLCP, DLCP_INFO, info, &len))
		return dlcp__fail(errno, "reading DLCP_INFO");
	return 0;
}

DLCP_API int dlcp_conn_error(int fd, char *text, size_t len)
{
	socklen_t n = (socklen_t)len;

	if (!len)
		return dlcp__fail(EINVAL, "no room for a text");
	memset(text, 0, len);
	if (getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, text, &n))
		return dlcp__fail(errno, "reading DLCP_LAST_ERROR");
	text[len - 1] = '\0';
	return 0;
}
