// SPDX-License-Identifier: GPL-2.0
/*
 * ICMP echo of a given size, which no router may cut.
 */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool.h"

#define MOST	65535

/* IP's header and ICMP's */
#define HEADERS(v6)	((v6) ? 48 : 28)

static uint16_t checksum(const uint8_t *p, int len)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len % 2)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Ordinary users may have the first kind, if net.ipv4.ping_group_range lets them */
static int open_socket(int v6, int *raw)
{
	int family = v6 ? AF_INET6 : AF_INET, proto = v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	int discover = v6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, proto);

	*raw = fd < 0;
	if (*raw)
		fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, proto);
	if (fd >= 0)
		setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			   v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &discover,
			   sizeof(discover));
	return fd;
}

/* Kernels fill in checksums of IPv6, and of sockets that are not raw */
static int send_echo(int fd, const struct sockaddr_storage *to, int len, uint16_t id)
{
	static uint8_t packet[MOST];
	int v6 = to->ss_family == AF_INET6;
	uint16_t sum;

	memset(packet, 0, (size_t)len);
	packet[0] = v6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
	packet[4] = (uint8_t)(id >> 8);
	packet[5] = (uint8_t)id;
	packet[7] = 1;
	sum = v6 ? 0 : checksum(packet, len);
	packet[2] = (uint8_t)(sum >> 8);
	packet[3] = (uint8_t)sum;
	return sendto(fd, packet, (size_t)len, 0, (const struct sockaddr *)to,
		      v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) == len ?
	       0 : -1;
}

/* Is it the answer? A raw socket of IPv4 has the IP header before it, and others' answers */
static int is_answer(const uint8_t *p, ssize_t len, int v6, int raw, uint16_t id)
{
	int at = raw && !v6 && len > 0 ? (p[0] & 15) * 4 : 0;

	if (len < at + 8 || p[at] != (v6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY))
		return 0;
	return !raw || (p[at + 4] == id >> 8 && p[at + 5] == (id & 0xff));
}

static int wait_answer(int fd, int v6, int raw, uint16_t id, int timeout_ms)
{
	uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000, now;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	static uint8_t packet[MOST];
	ssize_t len;

	while ((now = now_ns()) < end) {
		if (poll(&pfd, 1, (int)((end - now + 999999) / 1000000)) <= 0)
			continue;
		len = recv(fd, packet, sizeof(packet), MSG_DONTWAIT);
		if (is_answer(packet, len, v6, raw, id))
			return 1;
		/* An error: no way there, or too big for a router that says so */
		if (len < 0 && errno != EAGAIN)
			return 0;
	}
	return 0;
}

int peer_echo(const struct sockaddr_storage *to, int bytes, int timeout_ms)
{
	int v6 = to->ss_family == AF_INET6, len = bytes ? bytes - HEADERS(v6) + 8 : 16;
	uint16_t id = (uint16_t)getpid();
	struct sockaddr_storage at = *to;
	int fd, raw, ret, tries = 2;

	if (v6)
		((struct sockaddr_in6 *)&at)->sin6_port = 0;
	fd = open_socket(v6, &raw);
	if (fd < 0)
		return -1;
	do {
		ret = !send_echo(fd, &at, len, id) &&
		      wait_answer(fd, v6, raw, id, timeout_ms / 2);
	} while (!ret && --tries);
	close(fd);
	return ret;
}
