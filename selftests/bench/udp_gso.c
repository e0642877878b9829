// SPDX-License-Identifier: GPL-2.0
/*
 * Datagrams with segmentation and coalescing by the kernel, and next to no protocol: what a
 * transport over UDP cannot undercut. The receiver tells by a datagram of one byte that
 * it has read another credit's worth. What is lost stays lost, and the round does not end.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#include "perf.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif
#ifndef UDP_GRO
#define UDP_GRO		104
#endif

#define CREDIT		(1 << 20)	/* bytes */
#define MAX_UNREAD	(2 * CREDIT)
#define MAX_DATAGRAM	65507
#define HEADERS		52		/* IP, UDP and 24 bytes: as much as TCP's at IPv4 */

static int segment_of(int fd)
{
	socklen_t len = sizeof(int);
	int mtu;

	if (getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &len))
		die("IP_MTU");
	return mtu - HEADERS;
}

/* The first datagram tells the receiver where the sender is */
static void gso_connected(struct conn *c)
{
	udp_connected(c);
	c->segment = segment_of(c->data_fd);
	set_int(c->data_fd, IPPROTO_UDP, UDP_SEGMENT, c->segment, "UDP_SEGMENT");
	if (send(c->data_fd, "", 1, 0) != 1)
		die("send");
}

static void gso_accepted(struct conn *c)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	char byte;

	udp_accepted(c);
	if (recvfrom(c->data_fd, &byte, 1, 0, (struct sockaddr *)&peer, &len) != 1 ||
	    connect(c->data_fd, (struct sockaddr *)&peer, len))
		die("the first datagram");
	set_int(c->data_fd, IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
}

static void gso_put(struct conn *c, const void *data, size_t len)
{
	if (send(c->data_fd, data, len, 0) != (ssize_t)len)
		die("send");
}

/* Return: its length, or 0: that was a credit */
static size_t take(struct conn *c, void *data, size_t len)
{
	ssize_t n = recv(c->data_fd, data, len, 0);

	if (n < 0)
		die("recv");
	if (n != 1)
		return n;
	c->unread -= CREDIT;
	return 0;
}

static void gso_get(struct conn *c, void *data, size_t len)
{
	size_t n = 0;

	while (!n)
		n = take(c, data, len);
	if (n != len)
		fail("a command of %zu bytes instead of %zu", n, len);
}

static void send_message(struct conn *c, const uint8_t *data, size_t len)
{
	size_t step = MAX_DATAGRAM / c->segment * c->segment, n;
	uint64_t command;

	for (; len; data += n, len -= n) {
		while (c->unread >= MAX_UNREAD)
			if (take(c, &command, sizeof(command)))
				fail("a command within a round");
		n = len < step ? len : step;
		gso_put(c, data, n);
		c->unread += n;
	}
}

static void gso_send(struct conn *c, uint64_t round, uint32_t layer, uint64_t offset)
{
	size_t len = c->opt->share / c->opt->messages;

	(void)round;
	(void)layer;
	for (; offset < c->opt->share; offset += len)
		send_message(c, c->buf + offset, len);
}

/* What is coalesced may be several messages */
static void gso_recv(struct conn *c, uint64_t round)
{
	static __thread uint8_t data[65536];
	size_t left = c->opt->share;
	ssize_t n;

	(void)round;
	while (left) {
		n = recv(c->data_fd, data, sizeof(data), 0);
		if (n < 0)
			die("recv");
		if ((size_t)n > left)
			fail("more bytes than a round has");
		left -= n;
		c->unread += n;
		if (c->unread < CREDIT)
			continue;
		c->unread -= CREDIT;
		gso_put(c, "", 1);
	}
}

const struct proto proto_udp_gso = {
	.name = "udp-gso",
	.open = tcp_open,
	.connected = gso_connected,
	.accepted = gso_accepted,
	.put = gso_put,
	.get = gso_get,
	.send = gso_send,
	.recv = gso_recv,
	.stats = no_stats,
};
