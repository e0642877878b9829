// SPDX-License-Identifier: GPL-2.0
/*
 * Against an attacker on the path DLCP has IPsec: ESP in transport mode between
 * the two hosts. The attacker sees all packets, knows the tags, and may send
 * what it likes; h1 accepts nothing that is not ESP.
 */
#define _GNU_SOURCE
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>

#include "scene.h"

#define KEY	"0x000102030405060708090a0b0c0d0e0f10111213"

/* An association of @from with @to, at host @at, and what it is for */
static void esp_add(struct hosts *h, int at, int from, int to, int spi)
{
	const char *src = text_host(h, from);
	char dst[64];

	snprintf(dst, sizeof(dst), "%s", text_host(h, to));
	must_sh(h->net[at], "ip xfrm state add src %s dst %s proto esp spi %d"
		" mode transport replay-window 32"
		" aead 'rfc4106(gcm(aes))' " KEY " 128", src, dst, spi);
	must_sh(h->net[at], "ip xfrm policy add src %s dst %s proto %d dir %s"
		" tmpl src %s dst %s proto esp mode transport",
		src, dst, encap ? IPPROTO_DLCP : IPPROTO_UDP,
		at == from ? "out" : "in", src, dst);
}

static void esp_open(struct hosts *h)
{
	int at;

	if (sh(h->net[H0], "ip xfrm state add src 192.0.2.1 dst 192.0.2.2"
	       " proto esp spi 9 mode transport"
	       " aead 'rfc4106(gcm(aes))' " KEY " 128 2>/dev/null"))
		SKIP("no ESP in this kernel");
	for (at = H0; at <= H1; at++) {
		esp_add(h, at, H0, H1, 100);
		esp_add(h, at, H1, H0, 101);
	}
}

/* A counter of /proc/net/xfrm_stat; -1: there is none */
static long long xfrm_stat(int net, const char *name)
{
	char *text = file_read(net, "/proc/net/xfrm_stat"), *at;

	at = text ? strstr(text, name) : NULL;
	return at ? atoll(at + strlen(name)) : -1;
}

/* Is it ESP? wire_read() cannot tell: it is not DLCP any more */
static bool is_esp(const u8 *f, int len)
{
	bool v6 = f[12] == 0x86;

	return len > 54 && f[v6 ? 14 + 6 : 14 + 9] == IPPROTO_ESP;
}

/* All that h0 sends, as it is on the wire */
static int frames_read(int wire, struct packet *p, int max)
{
	struct sockaddr_ll ll;
	struct pollfd pfd = { .fd = wire, .events = POLLIN };
	socklen_t len;
	int nr = 0;

	while (nr < max && ASSERT_OK(poll(&pfd, 1, 200))) {
		len = sizeof(ll);
		p[nr].len = ASSERT_OK(recvfrom(wire, p[nr].frame,
					       sizeof(p[nr].frame), 0,
					       (struct sockaddr *)&ll, &len));
		if (ll.sll_pkttype == PACKET_OUTGOING &&
		    is_esp(p[nr].frame, p[nr].len))
			nr++;
	}
	return nr;
}

static struct packet seen[200];

/* Everything is ESP; what is recorded, changed or cut is of no use */
TEST(on_the_path)
{
	struct msg m = MSG(.len = 50000, .flags = DLCP_MSG_REPORT);
	struct packet plain;
	struct hosts h;
	struct pair p;
	int wire, nr, i;
	u8 *end;

	hosts_open(&h);
	no_gso(&h, H0);
	no_gso(&h, H1);
	esp_open(&h);
	wire = wire_open(h.net[H0], "eth0");
	p = pair_hosts(&h);
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	nr = frames_read(wire, seen, ARRAY_SIZE(seen));
	ASSERT_GT(nr, 30);
	/* nothing of it in the clear */
	EXPECT(!wire_read(wire, &plain, 1));
	for (i = 0; i < nr; i++)
		wire_send(wire, &seen[i]);
	for (i = 0; i < nr; i++) {
		end = seen[i].frame + seen[i].len - 1 - i % 40;
		*end ^= 1 << i % 8;
		wire_send(wire, &seen[i]);
	}
	if (xfrm_stat(h.net[H1], "XfrmInStateSeqError") >= 0)
		WAIT_FOR(xfrm_stat(h.net[H1], "XfrmInStateSeqError") +
			 xfrm_stat(h.net[H1], "XfrmInStateProtoError") >=
			 2 * nr);
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	/* What is sent again on a slow machine comes twice, too */
	EXPECT_LT(mib_drops(h.net[H1]), nr / 2);
}

/* In the clear, with the right tags: recorded before there was a policy */
TEST(in_the_clear)
{
	struct scene s;
	int i;

	open_scene(&s);
	esp_open(&s.h);
	for (i = 0; i < s.t.nr; i++) {
		/* numbers that would be new */
		if (type_of(&s.t.p[i]) == DATA)
			dlcp_of(&s.t.p[i])[AT_PN + 2] += 2;
		packet_fix(&s.t.p[i]);
		wire_send(s.wire, &s.t.p[i]);
	}
	/* each is refused before DLCP sees it */
	if (xfrm_stat(s.h.net[H1], "XfrmInTmplMismatch") >= 0)
		WAIT_FOR(xfrm_stat(s.h.net[H1], "XfrmInTmplMismatch") >=
			 s.t.nr);
	nothing_changed(&s);
	EXPECT_EQ(new_drops(&s), 0);
}

/* With ESP's bytes in each packet, the segments still fit */
TEST(mtu)
{
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	esp_open(&h);
	p = pair_hosts(&h);
	pass(p.a, p.b, &MSG(.len = MB));
	check_counters(p.a, p.b);
	EXPECT_LT(info_of(p.a).seg_size, family == AF_INET6 ? 1428 : 1448);
	EXPECT_GT(info_of(p.a).seg_size, 1300);
}
