/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses, for the tool and the trainer */
#ifndef TOOLS_INET_H
#define TOOLS_INET_H

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As in a URL, [fd00::1] is fd00::1 */
static inline void inet_unbracket(char name[NI_MAXHOST], const char *host)
{
	size_t len = strlen(host);
	int brackets = len > 2 && *host == '[' && host[len - 1] == ']' && strchr(host, ':');

	snprintf(name, NI_MAXHOST, "%.*s", (int)len - 2 * brackets, host + brackets);
}

/* To a port of all addresses; AF_INET6 is for both families. Return: as bind() */
static inline int inet_bind(int fd, int family, int port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int off = 0;

	if (family == AF_INET)
		return bind(fd, (const struct sockaddr *)&four, sizeof(four));
	/* Whatever net.ipv6.bindv6only says */
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)))
		return -1;
	return bind(fd, (const struct sockaddr *)&six, sizeof(six));
}

/* TCP for both families, or for IPv4 where that is all. Return: a listener, or -1 and errno */
static inline int inet_listen_tcp(int port, int backlog)
{
	int family = AF_INET6, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, err;

	if (fd < 0 && errno == EAFNOSUPPORT) {
		family = AF_INET;
		fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	}
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!inet_bind(fd, family, port) && !listen(fd, backlog))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

#endif
