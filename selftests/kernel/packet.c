// SPDX-License-Identifier: GPL-2.0
/* DLCP packets on the wire */
#define _GNU_SOURCE
#include <errno.h>
#include <arpa/inet.h>
#include <linux/dlcp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "packet.h"

int wire_open(int net, const char *dev)
{
	struct sockaddr_ll ll = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
	};
	int fd, size = 8 * MB;

	net_enter(net);
	fd = ASSERT_OK(socket(AF_PACKET, SOCK_RAW, 0));
	ll.sll_ifindex = if_nametoindex(dev);
	net_leave();
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size,
			     sizeof(size)));
	ASSERT_OK(bind(fd, (struct sockaddr *)&ll, sizeof(ll)));
	return fd;
}

static bool is_v6(const struct packet *p)
{
	return p->frame[p->ip] >> 4 == 6;
}

/* Find the headers. False: not one of ours. */
static bool packet_parse(struct packet *p)
{
	struct ethhdr *eth = (void *)p->frame;
	struct ip6_hdr *ip6;
	struct udphdr *uh;
	struct iphdr *ip4;
	int proto;

	p->ip = sizeof(*eth);
	ip4 = (void *)(p->frame + p->ip);
	ip6 = (void *)ip4;
	if (eth->h_proto == htons(ETH_P_IP)) {
		proto = ip4->protocol;
		p->udp = p->ip + ip4->ihl * 4;
		if (ip4->frag_off & htons(0x3fff))
			return false;
	} else if (eth->h_proto == htons(ETH_P_IPV6)) {
		proto = ip6->ip6_nxt;
		p->udp = p->ip + sizeof(*ip6);
	} else {
		return false;
	}
	uh = (void *)(p->frame + p->udp);
	p->dlcp = p->udp + sizeof(*uh);
	if (p->len < p->dlcp + AT_PN)
		return false;
	return proto == IPPROTO_DLCP ||
	       (proto == IPPROTO_UDP && (uh->dest == htons(DLCP_UDP_PORT) ||
					 uh->source == htons(DLCP_UDP_PORT)));
}

bool wire_read(int fd, struct packet *p, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct sockaddr_ll ll = { };
	socklen_t len;

	while (ASSERT_OK(poll(&pfd, 1, ms))) {
		len = sizeof(ll);
		p->len = ASSERT_OK(recvfrom(fd, p->frame, sizeof(p->frame), 0,
					    (struct sockaddr *)&ll, &len));
		p->out = ll.sll_pkttype == PACKET_OUTGOING;
		if (packet_parse(p))
			return true;
	}
	return false;
}

void wire_send(int fd, const struct packet *p)
{
	ssize_t n;

	/* A queue on the way may be full for a moment: it was not sent then */
	while ((n = send(fd, p->frame, p->len, 0)) < 0 && errno == ENOBUFS)
		nap_ms(1);
	ASSERT_EQ(n, p->len);
}

/* Traffic class */
static int tos_of(const struct packet *p)
{
	const u8 *ip = p->frame + p->ip;

	return is_v6(p) ? (ip[0] & 15) << 4 | ip[1] >> 4 : ip[1];
}

int dscp_of(const struct packet *p)
{
	return tos_of(p) >> 2;
}

int ecn_of(const struct packet *p)
{
	return tos_of(p) & 3;
}

void set_source(struct packet *p, union addr a)
{
	if (is_v6(p))
		memcpy(p->frame + p->ip + 8, &a.in6.sin6_addr, 16);
	else
		memcpy(p->frame + p->ip + 12, &a.in.sin_addr, 4);
}

/* --- checksums */

static u32 sum(const void *data, int len, u32 s)
{
	const u8 *b = data;
	int i;

	for (i = 0; i + 1 < len; i += 2)
		s += b[i] << 8 | b[i + 1];
	return len & 1 ? s + (b[len - 1] << 8) : s;
}

static u16 folded(u32 s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return htons(~s);
}

static u32 pseudo_sum(const struct packet *p, int proto, int len)
{
	const u8 *ip = p->frame + p->ip;

	return is_v6(p) ? sum(ip + 8, 32, proto + len) :
			  sum(ip + 12, 8, proto + len);
}

/* Length and checksum of IP for p->len bytes in all */
static int fix_ip(struct packet *p)
{
	struct iphdr *ip4 = (void *)(p->frame + p->ip);
	struct ip6_hdr *ip6 = (void *)ip4;

	if (is_v6(p)) {
		ip6->ip6_plen = htons(p->len - p->ip - sizeof(*ip6));
		return ip6->ip6_nxt;
	}
	ip4->tot_len = htons(p->len - p->ip);
	ip4->check = 0;
	ip4->check = folded(sum(ip4, ip4->ihl * 4, 0));
	return ip4->protocol;
}

void packet_fix(struct packet *p)
{
	struct udphdr *uh = (void *)(p->frame + p->udp);
	int proto = fix_ip(p), len = p->len - p->udp;

	uh->len = htons(len);
	uh->check = 0;
	uh->check = folded(sum(uh, len, pseudo_sum(p, proto, len))) ?: 0xffff;
}

/* --- ICMP */

static void swap(void *a, void *b, int len)
{
	u8 t[16];

	memcpy(t, a, len);
	memcpy(a, b, len);
	memcpy(b, t, len);
}

/* Headers that go the other way */
static void turn_around(struct packet *p)
{
	u8 *ip = p->frame + p->ip;

	swap(p->frame, p->frame + ETH_ALEN, ETH_ALEN);
	if (is_v6(p))
		swap(ip + 8, ip + 24, 16);
	else
		swap(ip + 12, ip + 16, 4);
}

void icmp_make(struct packet *p, const struct packet *q, int type, int code,
	       u32 info)
{
	int quoted = q->len - q->ip < 200 ? q->len - q->ip : 200, len;
	struct icmphdr *icmp;
	u8 *ip;

	*p = *q;
	turn_around(p);
	icmp = (void *)(p->frame + p->udp);
	memmove(icmp + 1, q->frame + q->ip, quoted);
	p->len = p->udp + sizeof(*icmp) + quoted;
	*icmp = (struct icmphdr){ .type = type, .code = code };
	icmp->un.gateway = htonl(info);
	ip = p->frame + p->ip;
	ip[is_v6(p) ? 6 : 9] = is_v6(p) ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
	fix_ip(p);
	len = p->len - p->udp;
	icmp->checksum = folded(sum(icmp, len, is_v6(p) ?
				    pseudo_sum(p, IPPROTO_ICMPV6, len) : 0));
}

/* --- traces */

void trace_read(int fd, struct trace *t, int max)
{
	static struct packet p;

	*t = (struct trace){ .p = malloc(max * sizeof(p)), .max = max };
	while (wire_read(fd, &p, 200))
		if (p.out && t->nr < max)
			t->p[t->nr++] = p;
	ASSERT_GT(t->nr, 0);
}

struct packet *trace_find(struct trace *t, int type)
{
	int i;

	for (i = 0; i < t->nr; i++)
		if (type_of(&t->p[i]) == type)
			return &t->p[i];
	test_failed(true, "no packet of type %d was seen", type);
	return NULL;
}
