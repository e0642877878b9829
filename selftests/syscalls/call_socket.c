// SPDX-License-Identifier: GPL-2.0
/* Calls that make, name, connect and end sockets */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

static void call_socket(void)
{
	static const int families[] = {
		AF_INET, AF_INET, AF_INET, AF_INET6, AF_INET6, AF_UNIX,
	};
	static const int types[] = { SOCK_DLCP, SOCK_DLCP, SOCK_DGRAM };
	int flags = (chance(40) ? SOCK_NONBLOCK : 0) |
		    (chance(40) ? SOCK_CLOEXEC : 0);
	int f = one_of(families), t = one_of(types), p, fd;

	p = t == SOCK_DGRAM || chance(20) ? IPPROTO_DLCP : 0;
	if (chance(2))
		p = rnd_edge();
	fd = socket(f, t | flags, p);
	done(fd, "socket %d %#x %d", f, t | flags, p);
	fd_put(fd);
}

static void address4(struct sockaddr_in *a)
{
	static const char * const odd[] = {
		"0.0.0.0", "224.0.0.1", "255.255.255.255", "10.9.9.9",
		"127.255.255.255", "127.0.0.2",
	};

	a->sin_family = AF_INET;
	inet_pton(AF_INET, chance(85) ? "127.0.0.1" : one_of(odd),
		  &a->sin_addr);
}

static void address6(struct sockaddr_in6 *a)
{
	static const char * const odd[] = {
		"::", "ff02::1", "fe80::1", "fd00::9", "::ffff:127.0.0.1",
		"::ffff:0.0.0.0", "::ffff:224.0.0.1", "::127.0.0.1",
	};

	a->sin6_family = AF_INET6;
	inet_pton(AF_INET6, chance(80) ? "::1" : one_of(odd), &a->sin6_addr);
	if (chance(5))
		a->sin6_flowinfo = rnd64();
	if (chance(5))
		a->sin6_scope_id = rnd(3);
}

void address_make(struct sockaddr_storage *a, socklen_t *len)
{
	memset(a, 0, sizeof(*a));
	if (chance(50)) {
		address4((struct sockaddr_in *)a);
		*len = sizeof(struct sockaddr_in);
	} else {
		address6((struct sockaddr_in6 *)a);
		*len = sizeof(struct sockaddr_in6);
	}
	/* at the same place for both */
	((struct sockaddr_in *)a)->sin_port =
		htons(FIRST_PORT + rnd(PORTS));
	if (chance(3))
		((struct sockaddr_in *)a)->sin_port = htons(rnd(2) * 65535);
	if (chance(3))
		a->ss_family = rnd_edge();
	if (chance(3))
		*len = rnd(sizeof(*a) + 1);
}

static void call_bind(void)
{
	struct sockaddr_storage a;
	socklen_t len;
	int fd = fd_any();

	address_make(&a, &len);
	done(bind(fd, (void *)&a, len), "bind %d", fd);
}

static void call_listen(void)
{
	int fd = fd_any(), n = chance(80) ? rnd(10) : rnd_edge();

	done(listen(fd, n), "listen %d %d", fd, n);
}

static void call_accept(void)
{
	struct sockaddr_storage a;
	socklen_t len = rnd(sizeof(a) + 1);
	int flags = (chance(50) ? SOCK_NONBLOCK : 0) |
		    (chance(50) ? SOCK_CLOEXEC : 0);
	int fd = fd_any(), new;

	if (chance(2))
		flags = rnd_edge();
	new = accept4(fd, chance(80) ? (void *)&a : NULL, &len, flags);
	done(new, "accept4 %d %#x", fd, flags);
	fd_put(new);
}

static void call_connect(void)
{
	struct sockaddr_storage a;
	socklen_t len;
	int fd = fd_any();

	address_make(&a, &len);
	done(connect(fd, (void *)&a, len), "connect %d", fd);
}

/* A socket that listens, and one that connects to it */
static void call_pair(void)
{
	int family = chance(60) ? AF_INET : AF_INET6, type = SOCK_DLCP;
	struct sockaddr_storage a;
	socklen_t len;
	int lfd, fd;

	do
		address_make(&a, &len);
	while (a.ss_family != family);
	lfd = socket(family, type | SOCK_NONBLOCK, 0);
	bind(lfd, (void *)&a, len);
	done(listen(lfd, 1 + rnd(10)), "listen %d", lfd);
	fd = socket(family, type | (chance(50) ? SOCK_NONBLOCK : 0), 0);
	done(connect(fd, (void *)&a, len), "connect %d", fd);
	fd_put(accept4(lfd, NULL, NULL, 0));
	fd_put(lfd);
	fd_put(fd);
}

static void call_shutdown(void)
{
	int fd = fd_any(), how = chance(90) ? rnd(3) : rnd_edge();

	done(shutdown(fd, how), "shutdown %d %d", fd, how);
}

static void call_close(void)
{
	fd_drop(rnd(SLOTS));
}

static void call_dup(void)
{
	int fd = fd_any(), i = rnd(SLOTS);

	if (chance(50) && slot[i] >= 0)
		done(dup2(fd, slot[i]), "dup2 %d %d", fd, slot[i]);
	else
		fd_put(dup(fd));
}

static void call_names(void)
{
	struct { struct sockaddr_storage a; u8 guard[16]; } s;
	socklen_t room = rnd(sizeof(s.a) + 1), len = room;
	int fd = fd_any(), i;

	memset(&s, 0x5a, sizeof(s));
	if (chance(50))
		done(getsockname(fd, (void *)&s, &len), "getsockname %d", fd);
	else
		done(getpeername(fd, (void *)&s, &len), "getpeername %d", fd);
	for (i = 0; i < 16; i++)
		if (((u8 *)&s)[room + i] != 0x5a)
			overrun("getsockname, getpeername");
}

const struct call socket_calls[] = {
	{ "socket", 6, call_socket, true },
	{ "bind", 4, call_bind, true },
	{ "listen", 4, call_listen, true },
	{ "accept", 8, call_accept, true },
	{ "connect", 8, call_connect, true },
	{ "pair", 8, call_pair, true },
	{ "shutdown", 3, call_shutdown, true },
	{ "close", 5, call_close, true },
	{ "dup", 2, call_dup, true },
	{ "names", 2, call_names, true },
	{ }
};
