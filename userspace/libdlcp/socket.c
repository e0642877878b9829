// SPDX-License-Identifier: LGPL-2.1-or-later
/* Making, connecting and configuring sockets */
#include <errno.h>
#include <fcntl.h>
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

DLCP_API int dlcp_socket(int family)
{
	int fd = socket(family, SOCK_DLCP | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return dlcp__fail_socket(errno, family);
	if (dlcp_prepare(fd))
		return close_failed(fd);
	return fd;
}

static struct addrinfo *resolve(const char *host, const char *port, int family,
				int flags)
{
	struct addrinfo hints = {
		.ai_flags = flags,
		.ai_family = family,
		/* getaddrinfo() does not know DLCP; ports are as UDP's */
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *list = NULL;
	int err = getaddrinfo(host, port, &hints, &list);

	if (!err)
		return list;
	if (err == EAI_SYSTEM)
		dlcp__fail(errno, "%s port %s", host ? host : "*", port);
	else
		dlcp__fail(EADDRNOTAVAIL, "%s port %s (%s)",
			   host ? host : "*", port, gai_strerror(err));
	return NULL;
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
	struct addrinfo *list = resolve(host, port, family, AI_PASSIVE), *ai;
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

static int set_nonblock(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return dlcp__fail(errno, "fcntl");
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	if (fcntl(fd, F_SETFL, flags))
		return dlcp__fail(errno, "fcntl");
	return 0;
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

	if (set_nonblock(fd, 1))
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

/* Add the kernel's own words, if it has any, to a failure */
static int fail_conn(int fd, int err, const char *what)
{
	char text[DLCP_ERROR_TEXT_MAX];
	socklen_t len = sizeof(text) - 1;

	memset(text, 0, sizeof(text));
	if (getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, text, &len) || !*text)
		return dlcp__fail(err, "%s", what);
	return dlcp__fail(err, "%s (%s)", what, text);
}

static int finish_connect(int fd, const struct dlcp__until *until)
{
	int n = dlcp__poll(fd, POLLOUT, until), err = 0;
	socklen_t len = sizeof(err);

	if (n < 0)
		return -1;
	if (!n)
		return dlcp__fail(ETIMEDOUT, "connect: no answer in time");
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		return dlcp__fail(errno, "SO_ERROR");
	return err ? fail_conn(fd, err, "connect") : 0;
}

static int connect_until(int fd, const struct sockaddr *addr,
			 socklen_t addrlen, const struct dlcp__until *until)
{
	int flags = fcntl(fd, F_GETFL), ret = 0, err;

	if (flags < 0)
		return dlcp__fail(errno, "fcntl");
	if (set_nonblock(fd, 1))
		return -1;
	if (connect(fd, addr, addrlen)) {
		/* after a signal the connection goes on being made */
		if (errno == EINPROGRESS || errno == EINTR)
			ret = finish_connect(fd, until);
		else
			ret = fail_conn(fd, errno, "connect");
	}
	err = errno;
	if (!(flags & O_NONBLOCK) && set_nonblock(fd, 0))
		return -1;
	errno = err;
	return ret;
}

DLCP_API int dlcp_connect_fd(int fd, const struct sockaddr *addr,
			     socklen_t addrlen, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);

	return connect_until(fd, addr, addrlen, &until);
}

static int connect_to(const struct addrinfo *ai,
		      const struct dlcp__until *until)
{
	int fd = dlcp_socket(ai->ai_family);

	if (fd < 0)
		return -1;
	if (connect_until(fd, ai->ai_addr, ai->ai_addrlen, until))
		return close_failed(fd);
	return fd;
}

DLCP_API int dlcp_connect(const char *host, const char *port, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);
	struct addrinfo *list = resolve(host, port, AF_UNSPEC, 0), *ai;
	int fd = -1, err;

	if (!list)
		return -1;
	for (ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = connect_to(ai, &until);
	err = errno;
	freeaddrinfo(list);
	errno = err;
	return fd;
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
	if (setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv)))
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
