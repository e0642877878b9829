// SPDX-License-Identifier: GPL-2.0
/*
 * Another host: is it there, does its DLCP answer, and if not, what to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/dlcp.h>

#include "../inet.h"
#include "tool.h"

/* Until files or memory may be there again */
#define ACCEPT_PAUSE_MS	100
/* DNS has no longer names */
#define HOST_MAX	255

int setting_read(const char *name, char *buf, size_t size)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/dlcp/%s", name);
	*buf = '\0';
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return 0;
}

long setting_number(const char *name)
{
	char buf[80];

	setting_read(name, buf, sizeof(buf));
	return strtol(buf, NULL, 10);
}

static int take_addresses(const struct addrinfo *list, struct peer *peer)
{
	const struct addrinfo *i;
	size_t nr = 1;		/* getaddrinfo() names one at least */

	for (i = list->ai_next; i; i = i->ai_next)
		nr++;
	peer->nr = 0;
	peer->addrs = calloc(nr, sizeof(*peer->addrs));
	if (!peer->addrs)
		return say_no_memory();
	for (i = list; i; i = i->ai_next)
		memcpy(&peer->addrs[peer->nr++], i->ai_addr, i->ai_addrlen);
	return 0;
}

static int is_link_local(const struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)to;

	return to->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

/* It is not everybody's, nobody's, or one on each link */
static int is_of_a_host(const struct sockaddr_storage *to)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)to;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)to;
	in_addr_t v4 = ntohl(four->sin_addr.s_addr);
	const struct in6_addr *v6 = &six->sin6_addr;
	int is_v4 = to->ss_family == AF_INET;

	if (is_link_local(to))
		return six->sin6_scope_id != 0;
	if (!is_v4 && IN6_IS_ADDR_V4MAPPED(v6)) {
		v4 = ntohl(v6->s6_addr32[3]);
		is_v4 = 1;
	}
	return is_v4 ? v4 != INADDR_ANY && v4 != INADDR_BROADCAST && !IN_MULTICAST(v4) :
		       !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_MULTICAST(v6);
}

/* Of a name's addresses those that can be a host's stay. Return: 0, or an exit status after an error
 * message: there is none
 */
static int keep_hosts(const char *host, struct peer *peer)
{
	size_t i, nr = 0;

	for (i = 0; i < peer->nr; i++)
		if (is_of_a_host(&peer->addrs[i]))
			peer->addrs[nr++] = peer->addrs[i];
	peer->nr = nr;
	if (nr)
		return 0;
	if (is_link_local(peer->addrs))
		return say_error("%s is on each link: say by which device it is reached, as %s%%eth0",
				 host, host);
	return say_error("%s is no address of one host: give a name or an address of one", host);
}

int peer_resolve(const char *host, int port, int family, struct peer *peer)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_DGRAM };
	char service[12], name[NI_MAXHOST];
	struct addrinfo *list;
	int err;

	if (!*host)
		return say_error("the host's name is empty: give a name or an address");
	if (strlen(host) > HOST_MAX)
		return say_error("the host's name has %zu characters, %d at most: give a name or an address",
				 strlen(host), HOST_MAX);
	snprintf(service, sizeof(service), "%d", port);
	inet_unbracket(name, host);
	err = getaddrinfo(name, service, &hints, &list);
	if (err)
		return say_error("%s: %s: give an address, or look at /etc/hosts and `getent hosts %s`",
				 host, gai_strerror(err), host);
	err = take_addresses(list, peer);
	freeaddrinfo(list);
	if (err)
		return err;
	err = keep_hosts(host, peer);
	if (err)
		peer_free(peer);
	return err;
}

void peer_free(struct peer *peer)
{
	free(peer->addrs);
	memset(peer, 0, sizeof(*peer));
}

static socklen_t addr_len(const struct sockaddr_storage *to)
{
	return to->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					   sizeof(struct sockaddr_in);
}

const char *peer_text(const struct sockaddr_storage *to, char *buf)
{
	if (getnameinfo((const struct sockaddr *)to, addr_len(to), buf, 64, NULL, 0,
			NI_NUMERICHOST))
		strcpy(buf, "?");
	/* IPv4 at a socket of IPv6 */
	if (!strncmp(buf, "::ffff:", 7) && strchr(buf, '.'))
		memmove(buf, buf + 7, strlen(buf) - 6);
	return buf;
}

/* Return: 0, or an errno */
static int wait_connected(int fd, int timeout_ms)
{
	uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000, now;
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int n, err = 0;

	do {
		now = now_ns();
		n = poll(&pfd, 1, now < end ? (int)((end - now + 999999) / 1000000) : 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? errno : ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

static void take_info(int fd, uint64_t ns, struct reach *r)
{
	struct dlcp_info info = { 0 };
	socklen_t len = sizeof(info);

	r->what = REACHED;
	/* Two packets there and two back */
	r->rtt_us = ns / 2000;
	if (getsockopt(fd, SOL_DLCP, DLCP_INFO, &info, &len))
		return;
	r->version = info.version;
	r->mtu = (int)info.mtu;
	if (info.srtt_ns)
		r->rtt_us = info.srtt_ns / 1000;
}

void peer_reach(const struct sockaddr_storage *to, int timeout_ms, struct reach *r)
{
	int fd = source_socket(to->ss_family, SOCK_NONBLOCK);
	socklen_t len = sizeof(r->words) - 1;
	uint64_t begin = now_ns();

	memset(r, 0, sizeof(*r));
	r->what = REACHED_NOT;
	if (fd < 0) {
		r->err = errno;
		strcpy(r->words, "socket");
		return;
	}
	if (connect(fd, (const struct sockaddr *)to, addr_len(to)))
		r->err = errno == EINPROGRESS ? wait_connected(fd, timeout_ms) : errno;
	if (!r->err) {
		take_info(fd, now_ns() - begin, r);
	} else {
		r->rtt_us = (now_ns() - begin) / 1000;
		if (getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, r->words, &len))
			*r->words = '\0';
		/* ICMP has other words */
		if (r->err == ECONNREFUSED && strstr(r->words, "nobody listens"))
			r->what = REACHED_ONLY;
	}
	close(fd);
}

int peer_read(const struct sockaddr_storage *to, int timeout_ms, char *buf, size_t size)
{
	int fd = source_socket(to->ss_family, SOCK_NONBLOCK);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t len = -1;

	if (fd < 0)
		return -1;
	if ((!connect(fd, (const struct sockaddr *)to, addr_len(to)) ||
	     (errno == EINPROGRESS && !wait_connected(fd, timeout_ms))) &&
	    poll(&pfd, 1, timeout_ms) == 1)
		len = recv(fd, buf, size, 0);
	close(fd);
	return (int)len;
}

const char *advise_limit(int err)
{
	switch (err) {
	case EMFILE: return "raise `ulimit -n`, or ask for fewer connections";
	case ENFILE: return "raise `sysctl fs.file-max`, or end other programs";
	case ENOMEM:
	case ENOBUFS: return "end other programs, or raise memory.max of the cgroup";
	default: return NULL;
	}
}

static const char *advise_socket(int err)
{
	if (advise_limit(err))
		return advise_limit(err);
	if (err == ESOCKTNOSUPPORT || err == EPROTONOSUPPORT)
		return "the module dlcp is not loaded: run `modprobe dlcp` as root";
	return "a policy of this service or container forbids the socket: allow it in seccomp, RestrictAddressFamilies= or AppArmor (troubleshooting.md, \"A program does not start\")";
}

const char *peer_advice(const struct reach *r, const char *host, char *buf, size_t size)
{
	long port = setting_number("udp_port");

	if (!strcmp(r->words, "socket")) {
		snprintf(buf, size, "%s", advise_socket(r->err));
		return buf;
	}
	switch (r->err) {
	case ETIMEDOUT:
		snprintf(buf, size, "run `dlcp check %s` here, and `dlcp check` at %s: a firewall may drop UDP port %ld on the way (`nft add rule inet filter input udp dport %ld accept`), or the host is down",
			 host, host, port, port);
		break;
	case ECONNREFUSED:
	case ENOPROTOOPT:
		snprintf(buf, size, "at %s, as root: `modprobe dlcp` and `sysctl -w net.dlcp.udp_port=%ld`; all hosts must have the same port, and no firewall that refuses it",
			 host, port);
		break;
	case ENETUNREACH:
	case EHOSTUNREACH:
		snprintf(buf, size, "there is no way there: `ip route get %s`, and whether its cable and switch work",
			 host);
		break;
	case EPERM:
	case EACCES:
		snprintf(buf, size, "the UDP port is closed in this network namespace: run `sysctl -w net.dlcp.udp_port=6253` as root");
		break;
	case EADDRINUSE:
		snprintf(buf, size, "another program has UDP port %ld: `ss -lunp 'sport = :%ld'` names it; stop it",
			 port, port);
		break;
	case EPROTONOSUPPORT:
		snprintf(buf, size, "%s", port ? "the hosts have modules of different versions: install the same one on both" :
			 "UDP is switched off here: run `sysctl -w net.dlcp.udp_port=6253` as root");
		break;
	default:
		snprintf(buf, size, "run `dlcp check %s`", host);
	}
	return buf;
}

/* What accept() has no room for stays ready, so that a loop without a pause would spin */
int peer_accept_failed(void)
{
	if (errno == EINVAL)
		return say_error("the listener was ended from outside (dlcp kill): run it again");
	if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED)
		poll(NULL, 0, ACCEPT_PAUSE_MS);
	return 0;
}

static int listen_failed(const char *call, int port)
{
	struct reach r = { .what = REACHED_NOT, .err = errno };
	char advice[400];

	if (!strcmp(call, "socket"))
		strcpy(r.words, call);
	if (r.err == EADDRINUSE && strcmp(call, "listen"))
		say_error("DLCP port %d is in use: `dlcp show -lp sport %d` says by whom; choose another one with -p",
			  port, port);
	else if (r.err == EACCES && !strcmp(call, "bind") && setting_number("udp_port"))
		say_error("DLCP port %d is root's, as all below 1024: choose another one with -p", port);
	else
		say_error("%s: %s: %s", call, strerror(r.err),
			  peer_advice(&r, "the peer", advice, sizeof(advice)));
	return -1;
}

int peer_listen(int port)
{
	int family = AF_INET6, fd = source_socket(family, 0);

	if (fd < 0 && errno == EAFNOSUPPORT) {
		family = AF_INET;
		fd = source_socket(family, 0);
	}
	if (fd < 0)
		return listen_failed("socket", port);
	if (inet_bind(fd, family, port)) {
		listen_failed("bind", port);
	} else if (listen(fd, 64)) {
		listen_failed("listen", port);
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

int peer_route(const struct sockaddr_storage *to, int *mtu, char *dev)
{
	int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	int v6 = to->ss_family == AF_INET6;
	socklen_t len = sizeof(*mtu);

	*mtu = 0;
	*dev = '\0';
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)to, addr_len(to)) ||
	    getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, mtu, &len))
		err = errno;
	else
		route_device(to, dev);
	close(fd);
	return err;
}
