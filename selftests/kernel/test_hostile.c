// SPDX-License-Identifier: GPL-2.0
/*
 * Promise 4 of protocol.md, and the drops that prove it: packets that are
 * not the peer's change nothing. The attacker sits in h0 and can send anything;
 * the victim is h1.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "scene.h"

/* Change and send each packet of the trace; counts those of a type */
static int send_all(struct scene *s, void (*change)(struct packet *p, int i),
		    int type)
{
	struct packet p;
	int i, nr = 0;

	for (i = 0; i < s->t.nr; i++) {
		p = s->t.p[i];
		nr += !type || type_of(&p) == type;
		packet_fix(&p);
		if (change)
			change(&p, i);
		wire_send(s->wire, &p);
	}
	return nr;
}

static void put32(u8 *p, u32 val)
{
	val = htonl(val);
	memcpy(p, &val, sizeof(val));
}

TEST(replay)
{
	struct scene s;
	int nr;

	open_scene(&s);
	send_all(&s, NULL, 0);
	nr = send_all(&s, NULL, DATA);
	ASSERT_GT(nr, 50);
	/* twice each */
	WAIT_FOR(new_drops(&s) >= 2 * nr);
	EXPECT_GE(mib(s.h.net[H1], "DropDuplicate"), 2 * nr);
	nothing_changed(&s);
}

/* The old packets of a connection that is over, to one like it */
TEST(replay_to_a_successor)
{
	struct scene s;

	open_scene(&s);
	pair_close(&s.p);
	WAIT_FOR(!proto_sockets(s.h.net[H0]) && !proto_sockets(s.h.net[H1]));
	s.p = pair_hosts(&s.h);
	ping_pong(&s.p);
	check_counters(s.p.a, s.p.b);
	s.before = info_of(s.p.b);
	send_all(&s, NULL, 0);
	WAIT_FOR(new_drops(&s) >= past_set_up(&s));
	nothing_changed(&s);
}

/* The same to the listener that made the connection: its cookie is still good */
TEST(replay_to_the_listener)
{
	struct scene s;
	int lfd;

	open_scene(&s);
	lfd = listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	pair_close(&s.p);
	WAIT_FOR(proto_sockets(s.h.net[H1]) == 1);
	send_all(&s, NULL, 0);
	WAIT_FOR(mib(s.h.net[H1], "DropStaleCookie") > 0);
	WAIT_FOR(new_drops(&s) >= past_set_up(&s));
	EXPECT_EQ(poll_for(lfd, POLLIN, 0), 0);
	EXPECT_EQ(proto_sockets(s.h.net[H1]), 1);
	/* and it goes on listening */
	s.p.a = dlcp_socket_in(s.h.net[H0]);
	ASSERT_OK(do_connect(s.p.a, addr_host(&s.h, H1, PORT)));
	s.p.b = do_accept(lfd);
	ping_pong(&s.p);
}

static void wrong_tag(struct packet *p, int i)
{
	dlcp_of(p)[AT_TAG + i % 8] ^= 1 << i % 7;
	packet_fix(p);
}

TEST(unknown_tags)
{
	struct scene s;

	open_scene(&s);
	send_all(&s, wrong_tag, 0);
	WAIT_FOR(new_drops(&s) >= past_set_up(&s));
	EXPECT_GT(mib(s.h.net[H1], "DropUnknownTag"), 50);
	nothing_changed(&s);
}

static void flip_a_bit(struct packet *p, int i)
{
	int at = i * 7919 % dlcp_len(p);

	dlcp_of(p)[at] ^= 1 << i % 8;
}

TEST(bad_checksums)
{
	struct scene s;

	open_scene(&s);
	send_all(&s, flip_a_bit, 0);
	WAIT_FOR(new_drops(&s) + udp_csum_errors(s.h.net[H1]) >= s.t.nr);
	nothing_changed(&s);
}

static void no_checksum(struct packet *p, int i)
{
	memset(p->frame + p->udp + 6, 0, 2);
}

TEST(no_checksums)
{
	struct scene s;

	open_scene(&s);
	send_all(&s, no_checksum, 0);
	/* the raw encapsulation, and IPv6, take it for a wrong one */
	WAIT_FOR(new_drops(&s) + udp_csum_errors(s.h.net[H1]) >= s.t.nr);
	nothing_changed(&s);
}

static void cut_short(struct packet *p, int i)
{
	p->len = p->dlcp + i * 13 % (dlcp_len(p) < 80 ? dlcp_len(p) : 80);
	packet_fix(p);
}

TEST(truncated)
{
	struct scene s;

	open_scene(&s);
	send_all(&s, cut_short, 0);
	WAIT_FOR(new_drops(&s) >= s.t.nr * 9 / 10);
	nothing_changed(&s);
}

/*
 * An attacker who knows the tag can say anything; the connection may end, the
 * kernel must not, and nobody else may suffer.
 */
static unsigned int seed = 1;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void mutate(struct packet *p, int i)
{
	int k, len = dlcp_len(p);

	if (!rnd(4))
		len = AT_TYPE + rnd(len - AT_TYPE + 1);
	for (k = rnd(6); k >= 0; k--)
		dlcp_of(p)[AT_TYPE + rnd(40) % (len - AT_TYPE + 1)] = rnd(256);
	/* a packet number not seen before, mostly */
	if (rnd(3) && len > AT_PN + 4)
		dlcp_of(p)[AT_PN + 2] += 1 + rnd(8);
	p->len = p->dlcp + len;
	packet_fix(p);
}

TEST_LIMIT(mutated, 40)
{
	struct pair other;
	struct scene s;
	int i;

	open_scene(&s);
	other = pair_between(s.h.net[H0], s.h.net[H1],
			     addr_host(&s.h, H1, PORT + 1));
	for (i = 0; i < 20; i++)
		send_all(&s, mutate, 0);
	ping_pong(&other);
	pair_close(&s.p);
	s.p = pair_hosts(&s.h);
	ping_pong(&s.p);
	pair_close(&s.p);
	pair_close(&other);
	WAIT_FOR_LIMIT(!proto_memory(), 20);
}

static void make_reset(struct packet *p, u64 tag, u64 your_tag, int code)
{
	u8 *d = dlcp_of(p);

	memcpy(d + AT_TAG, &tag, 8);
	d[AT_TYPE] = RESET;
	d[AT_FLAGS] = d[AT_PATH] = d[AT_CLASS] = 0;
	memcpy(d + 12, &your_tag, 8);
	d[20] = 0;
	d[21] = code;
	d[22] = d[23] = 1;
	p->len = p->dlcp + 24;
	packet_fix(p);
}

/* A RESET needs the tag that its receiver sends with, which the attacker
 * cannot know, even with the one it receives with
 */
TEST(forged_resets)
{
	struct packet p;
	struct scene s;
	u64 right;
	int i;

	open_scene(&s);
	p = *trace_find(&s.t, DATA);
	memcpy(&right, dlcp_of(&p) + AT_TAG, 8);
	for (i = 0; i < 100; i++) {
		make_reset(&p, i % 2 ? right : 0, 0x1234567890abcdefULL * i,
			   1 + i % 5);
		wire_send(s.wire, &p);
	}
	make_reset(&p, right, right, 1);
	wire_send(s.wire, &p);
	WAIT_FOR(new_drops(&s) >= 100);
	nothing_changed(&s);
}

struct icmp_kind {
	int	type4, code4, type6, code6;
	u32	info;
};

/* h1 is told of what it sent, but for the tag, which is never the right one */
static void forge_icmp(struct scene *s, const struct packet *sent,
		       const struct icmp_kind *e, int nr)
{
	long long seen = mib(s->h.net[H1], "DropForeignIcmp");
	bool v6 = family == AF_INET6;
	struct packet back = *sent, p;
	int i, k;

	for (i = 0; i < 16; i++) {
		/* nor twice the same */
		dlcp_of(&back)[AT_TAG + i % 8] ^= i < 8 ? 0x55 : 0xaa;
		for (k = 0; k < nr; k++) {
			icmp_make(&p, &back, v6 ? e[k].type6 : e[k].type4,
				  v6 ? e[k].code6 : e[k].code4, e[k].info);
			wire_send(s->wire, &p);
		}
	}
	WAIT_FOR(mib(s->h.net[H1], "DropForeignIcmp") >= seen + 16);
}

/* h1 is told that what it sent could not be delivered: it sent no such thing */
TEST(forged_icmp)
{
	static const struct icmp_kind lost[] = {
		{ 3, 3, 1, 4, 0 },		/* port unreachable */
		{ 3, 1, 1, 3, 0 },		/* host unreachable */
		{ 3, 2, 4, 1, 0 },		/* protocol unknown */
		{ 11, 0, 3, 0, 0 },		/* time exceeded */
	}, too_big[] = {
		{ 3, 4, 2, 0, 1280 },
		{ 3, 4, 2, 0, 0 },
	};
	struct packet back;
	struct scene s;

	open_scene(&s);
	/* a packet as h1 sends it */
	pass(s.p.b, s.p.a, &MSG(.len = 1000));
	do
		ASSERT(wire_read(s.wire, &back, 5000));
	while (back.out);
	check_counters(s.p.b, s.p.a);
	s.before = info_of(s.p.b);
	forge_icmp(&s, &back, lost, ARRAY_SIZE(lost));
	nothing_changed(&s);
	s.before = info_of(s.p.b);
	forge_icmp(&s, &back, too_big, ARRAY_SIZE(too_big));
	/* Of UDP a kernel may believe it before it asks us, down to its minimum */
	pass(s.p.b, s.p.a, &MSG(.len = 100 * KB));
	if (encap == DLCP_ENCAP_UDP)
		EXPECT_GE(info_of(s.p.b).mtu, family == AF_INET ? 576 : 1280);
	else
		EXPECT_EQ(info_of(s.p.b).mtu, s.before.mtu);
	EXPECT_EQ(mib(s.h.net[H1], "IcmpReceived"), 0);
	EXPECT_EQ(sock_error(s.p.b), 0);
}

/* Set-up: a listener keeps nothing for those who only ask */
TEST(flood_of_inits)
{
	struct packet *init, p;
	struct scene s;
	long long sockets;
	char text[64];
	int i;

	open_scene(&s);
	close(listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT + 1)));
	init = trace_find(&s.t, INIT);
	sockets = proto_sockets(s.h.net[H1]);
	for (i = 0; i < 3000; i++) {
		p = *init;
		if (family == AF_INET6)
			snprintf(text, sizeof(text), "fd00::%x", 100 + i);
		else
			snprintf(text, sizeof(text), "10.0.%d.%d",
				 1 + i / 250, 1 + i % 250);
		set_source(&p, addr_of(text, 0));
		dlcp_of(&p)[16] ^= i;
		packet_fix(&p);
		wire_send(s.wire, &p);
	}
	WAIT_FOR(mib(s.h.net[H1], "SetupInitReceived") >= 3000);
	EXPECT_EQ(proto_sockets(s.h.net[H1]), sockets);
	nothing_changed(&s);
	pair_close(&s.p);
	s.p = pair_hosts(&s.h);
	ping_pong(&s.p);
}

/* An ECHO is worth something only with the cookie made for its sender */
TEST(bad_cookies)
{
	struct packet *echo, p;
	struct scene s;
	int i, lfd;

	open_scene(&s);
	lfd = listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	echo = trace_find(&s.t, ECHO);
	for (i = 0; i < 100; i++) {
		p = *echo;
		/* another connection of the same client, with the old cookie */
		dlcp_of(&p)[AT_TAG + i % 8] ^= 1 + i;
		if (i % 2)
			dlcp_of(&p)[dlcp_len(&p) - 1 - i % 100] ^= 0x10;
		packet_fix(&p);
		wire_send(s.wire, &p);
	}
	p = *echo;
	set_source(&p, addr_of(family == AF_INET6 ? "fd00::77" : "10.0.0.77",
			       0));
	dlcp_of(&p)[AT_TAG] ^= 1;
	packet_fix(&p);
	wire_send(s.wire, &p);
	WAIT_FOR(mib(s.h.net[H1], "DropBadCookie") >= 101);
	EXPECT_EQ(poll_for(lfd, POLLIN, 0), 0);
	nothing_changed(&s);
}

/* --- answers to those who have not shown that they receive at their address */

enum { NOBODYS_PORT = PORT + 9 };

static void set_dport(struct packet *p, int port)
{
	dlcp_of(p)[22] = port >> 8;
	dlcp_of(p)[23] = port;
}

/* Bytes that h1 answers to @p with: what comes before the answer to an INIT
 * sent after it. Counts the packets.
 */
static int answer_len(struct scene *s, const struct packet *p, int *nr)
{
	struct packet probe = *trace_find(&s->t, INIT), q;
	static u8 nth;
	int len = 0;

	dlcp_of(&probe)[19] ^= ++nth;
	packet_fix(&probe);
	wire_send(s->wire, p);
	wire_send(s->wire, &probe);
	for (;;) {
		ASSERT(wire_read(s->wire, &q, 5000));
		if (q.out)
			continue;
		if (type_of(&q) == INIT_ACK &&
		    !memcmp(dlcp_of(&q) + AT_TAG, dlcp_of(&probe) + 12, 8))
			return len;
		len += dlcp_len(&q);
		*nr += 1;
	}
}

/* A packet of @type and @len bytes from nowhere */
static void make_stray(struct packet *p, struct scene *s, int type, int len)
{
	*p = *trace_find(&s->t, type == ECHO ? ECHO : INIT);
	memset(dlcp_of(p) + dlcp_len(p), 1, 1000);
	dlcp_of(p)[AT_TYPE] = type;
	if (type != INIT)
		memset(dlcp_of(p) + AT_TAG, 0x5a, 8);
	p->len = p->dlcp + len;
}

TEST_LIMIT(answers_are_not_longer, 30)
{
	int i, type, len, answer, nr = 0;
	struct packet p;
	struct scene s;

	open_scene(&s);
	sysctl_set(s.h.net[H1], "reply_rate", 1000000);
	listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	for (i = 0; i < 25 * RESET; i++) {
		type = 1 + i % RESET;
		len = i / RESET + (i / RESET < 16 ? 12 : 112);
		make_stray(&p, &s, type, len);
		if (type == INIT && i % 3 == 0)
			set_dport(&p, NOBODYS_PORT);
		if (type == INIT && i % 3 == 1)
			dlcp_of(&p)[24] = dlcp_of(&p)[25] = 9;
		packet_fix(&p);
		answer = answer_len(&s, &p, &nr);
		if (answer > len)
			test_failed(false, "type %d: %d bytes for %d", type,
				    answer, len);
	}
	EXPECT_GT(nr, 50);
}

/* --- a peer that seems to have moved */

enum { ELSEWHERE = 7777 };

/* From another port, which it says is the one to answer to */
static void from_elsewhere(struct packet *p, int i)
{
	dlcp_of(p)[AT_FLAGS] |= F_HERE;
	p->frame[p->udp] = ELSEWHERE >> 8;
	p->frame[p->udp + 1] = ELSEWHERE & 0xff;
	packet_fix(p);
}

/* A packet that is the newest of its path */
static void make_newest(struct packet *p, struct scene *s, u32 pn)
{
	*p = *trace_find(&s->t, CTRL);
	memset(dlcp_of(p) + AT_PATH, 0, 10);
	dlcp_of(p)[AT_FLAGS] = F_ELICIT;
	dlcp_of(p)[AT_PATH] = DLCP_PATHS_MAX - 1;
	put32(dlcp_of(p) + AT_PN, pn);
	put32(dlcp_of(p) + AT_MSG, 4);	/* a PAD frame */
	p->len = p->dlcp + AT_MSG + 4;
	from_elsewhere(p, 0);
}

/* Packets of h1's connection to the other port, until nothing comes, and not answers
 * to set-up; bytes to *@len
 */
static int sent_elsewhere(struct scene *s, int *len)
{
	struct packet q;
	int nr = 0;

	*len = 0;
	while (wire_read(s->wire, &q, 300)) {
		if (q.out || type_of(&q) != CTRL ||
		    (q.frame[q.udp + 2] << 8 | q.frame[q.udp + 3]) !=
			    ELSEWHERE)
			continue;
		*len += dlcp_len(&q);
		nr++;
	}
	return nr;
}

/* Packets of the connection, come again from another place, have nobody asked */
TEST(replay_from_elsewhere)
{
	struct scene s;
	int len, nr;

	if (encap == DLCP_ENCAP_RAW)
		SKIP("the raw encapsulation has no ports");
	open_scene(&s);
	nr = send_all(&s, from_elsewhere, DATA);
	WAIT_FOR(new_drops(&s) >= nr);
	EXPECT_EQ(sent_elsewhere(&s, &len), 0);
	EXPECT_EQ(mib(s.h.net[H1], "PeerMoves"), 0);
	nothing_changed(&s);
}

/* New ones do, if their sender knows the tag: of few bytes, and not for each of
 * them. As long as the peer answers where it is the connection stays there.
 */
TEST(forged_moves)
{
	enum { NR = 1000 };
	struct packet p;
	struct scene s;
	int i, nr, len;

	if (encap == DLCP_ENCAP_RAW)
		SKIP("the raw encapsulation has no ports");
	open_scene(&s);
	for (i = 0; i < NR; i++) {
		make_newest(&p, &s, i);
		wire_send(s.wire, &p);
	}
	nr = sent_elsewhere(&s, &len);
	test_note("figure: %d questions, %d bytes, for %d packets", nr, len, NR);
	EXPECT_GT(nr, 0);
	EXPECT_GT(NR / 10, nr);
	EXPECT_EQ(len, 28 * nr);
	EXPECT_EQ(mib(s.h.net[H1], "PeerMoves"), 0);
	nothing_changed(&s);
	s.before = info_of(s.p.b);
	/* Who does not know it changes nothing */
	for (i = 0; i < NR; i++) {
		make_newest(&p, &s, NR + i);
		dlcp_of(&p)[AT_TAG + i % 8] ^= 1 + i / 8;
		packet_fix(&p);
		wire_send(s.wire, &p);
	}
	EXPECT_EQ(sent_elsewhere(&s, &len), 0);
	EXPECT_EQ(mib(s.h.net[H1], "PeerMoves"), 0);
	nothing_changed(&s);
}

/* Who sends packets to us in the name of another cannot have us flood it */
TEST(resets_are_limited)
{
	long long start, secs;
	struct packet p;
	struct scene s;
	int i, nr = 0;

	open_scene(&s);
	sysctl_set(s.h.net[H1], "reply_rate", 10);
	listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	start = now_ms();
	for (i = 0; i < 500; i++) {
		make_stray(&p, &s, i % 2 ? INIT : DATA, 128);
		set_dport(&p, NOBODYS_PORT);
		packet_fix(&p);
		if (i % 50)
			wire_send(s.wire, &p);
		else
			answer_len(&s, &p, &nr);
	}
	answer_len(&s, &p, &nr);
	secs = (now_ms() - start) / 1000 + 1;
	EXPECT_GE(nr, 1);
	EXPECT_LE(nr, 10 * secs + 2);
	EXPECT_GE(mib(s.h.net[H1], "RepliesLimited"), 501 - nr);
	sysctl_set(s.h.net[H1], "reply_rate", 0);
	nr = 0;
	answer_len(&s, &p, &nr);
	EXPECT_EQ(nr, 0);
}

/* --- a sender that still writes to what it has sent */

enum { HEAD = DATA_HDR + 40, SEG = 1000 };

/* A segment of a message of two, as the peer would send it. @first: a DATA packet
 * of it, with an OPEN block. Return: bytes.
 */
static int put_segment(u8 *to, struct packet *first, int seg)
{
	int head = seg ? DATA_HDR : HEAD;

	memcpy(to, dlcp_of(first), head);
	put32(to + AT_PN, 1000 + seg);
	put32(to + AT_MSG, 1);
	put32(to + AT_SEG, seg);
	if (seg) {
		to[AT_FLAGS] &= ~F_OPEN;
	} else {
		memset(to + DATA_HDR + 8, 0, 8);
		put32(to + DATA_HDR + 12, 2 * SEG);
		to[DATA_HDR + 28] = SEG >> 8;
		to[DATA_HDR + 29] = SEG & 0xff;
	}
	memset(to + head, seg ? 0x22 : 0x11, SEG);
	return head + SEG;
}

/* sendfile() gives the kernel the pages of the file, not a copy */
TEST(changes_after_arrival)
{
	int udp = ASSERT_OK(socket(family, SOCK_DGRAM, 0)), file, wire, i;
	struct msg m = MSG(.len = 2 * SEG);
	u8 buf[3 * SEG] = { 0 }, *pages;
	struct trace t = { 0 };
	struct packet *first;
	struct pair p;
	off_t at;

	if (encap != DLCP_ENCAP_UDP)
		SKIP("a packet socket would have to do it");
	wire = wire_open(-1, "lo");
	p = pair_lo();
	pass(p.a, p.b, &m);
	trace_read(wire, &t, 100);
	first = trace_find(&t, DATA);
	ASSERT(dlcp_of(first)[AT_FLAGS] & F_OPEN);
	file = ASSERT_OK(memfd_create("pages", 0));
	ASSERT_OK(ftruncate(file, 8192));
	pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ASSERT(pages != MAP_FAILED);
	ASSERT_OK(do_connect(udp, addr_lo(DLCP_UDP_PORT)));
	for (i = 0; i < 2; i++) {
		at = i * 4096;
		ASSERT_EQ(sendfile(udp, file, &at,
				   put_segment(pages + at, first, i)),
			  (i ? DATA_HDR : HEAD) + SEG);
	}
	ASSERT(poll_for(p.b, POLLIN, 5000 * slowness) & POLLIN);
	/* It is complete: now it says that it is something else */
	for (i = 0; i < 2; i++) {
		put32(pages + i * 4096 + AT_SEG, i ? 0x7fffffff : 1);
		pages[i * 4096 + AT_FLAGS] ^= F_OPEN;
		pages[i * 4096 + AT_TYPE] = RESET;
	}
	ASSERT_EQ(recv(p.b, buf, sizeof(buf), MSG_DONTWAIT), 2 * SEG);
	for (i = 0; i < 2 * SEG; i++)
		if (buf[i] != (i < SEG ? 0x11 : 0x22)) {
			test_failed(false, "byte %d is %#x", i, buf[i]);
			break;
		}
	EXPECT_EQ(buf[2 * SEG], 0);
	EXPECT_EQ(info_of(p.b).state, DLCP_ESTABLISHED);
}
