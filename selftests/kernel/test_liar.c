// SPDX-License-Identifier: GPL-2.0
/*
 * The attacker is the peer itself, or on the path: it knows the tags, and says
 * what is not so. It may end the connection, or keep it for itself; it must not
 * have more memory than was meant for it, and nobody else may suffer.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <unistd.h>

#include "scene.h"

static long long victims(struct scene *s, const char *name)
{
	return mib(s->h.net[H1], name);
}

/* Another connection of the same hosts */
static void others_are_well(struct scene *s)
{
	struct pair p = pair_between(s->h.net[H0], s->h.net[H1],
				     addr_host(&s->h, H1, PORT + 1));

	ping_pong(&p);
	check_counters(p.a, p.b);
	pair_close(&p);
}

/* Data that comes before its OPEN waits for it, so much of it and no more */
TEST(data_before_its_open)
{
	struct open o = { .length = 3000, .seg = 1000, .elem = 1 };
	struct scene s;
	struct got g;
	u32 i;

	open_scene(&s);
	for (i = 0; i < 3; i++)
		lie_data(&s, i, LIAR_MSG, 2 - i, 1000);
	WAIT_FOR(rmem_of(s.p.b) > 3000);
	EXPECT_EQ(info_of(s.p.b).rx_msgs, s.before.rx_msgs);
	lie_open(&s, LIAR_MSG, &o);
	got_init(&g, o.length);
	ASSERT_OK(recv_any(s.p.b, &g, 0));
	EXPECT_EQ(g.msg.key, 0xbad);
	EXPECT_EQ(g.msg.missing, 0);
	EXPECT_EQ(victims(&s, "DropUnopened"), 0);
	got_free(&g);
	WAIT_FOR(!rmem_of(s.p.b));

	for (i = 0; i < 3000; i++)
		lie_data(&s, 3 + i, LIAR_MSG + 1, i, 1000);
	WAIT_FOR(victims(&s, "DropUnopened") >= 2000);
	EXPECT_LE(rmem_of(s.p.b), 255 * 4096);
	others_are_well(&s);
	pair_close(&s.p);
	WAIT_FOR(!proto_memory());
}

enum { HEAP = 6, HEAP_STEP = DATA_HDR + 1000, FLAG_SENT = 0x80 };

/* HEAP packets as one skb, which the host's own UDP makes; it arrives so. They have
 * the numbers after the first, and segments @segs.
 */
static void send_heap(struct scene *s, const u32 *segs, u8 last_flags)
{
	int port = (int)sysctl_get(s->h.net[H1], "udp_port");
	union addr to = addr_host(&s->h, H1, port);
	int step = HEAP_STEP, fd, i;
	u8 heap[HEAP * HEAP_STEP], *at;
	struct packet p;

	lie_begin(s, &p, DATA);
	for (i = 0; i < HEAP; i++) {
		at = heap + i * HEAP_STEP;
		memcpy(at, dlcp_of(&p), DATA_HDR);
		put(at + AT_PN, 4, 1 + i);
		put(at + AT_MSG, 4, LIAR_MSG);
		put(at + AT_SEG, 4, segs[i]);
		memset(at + DATA_HDR, (int)segs[i], 1000);
	}
	at[AT_FLAGS] |= last_flags;
	must_sh(s->h.net[H0], "ethtool -K eth0 gso on tx-udp-segmentation on");
	/* Who has a copy of it keeps it from being one to the end */
	ASSERT_OK(close(s->wire));
	net_enter(s->h.net[H0]);
	fd = socket(family, SOCK_DGRAM, 0);
	net_leave();
	ASSERT_OK(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &step, sizeof(step)));
	ASSERT_EQ(sendto(fd, heap, sizeof(heap), 0, &to.sa, addr_len()),
		  sizeof(heap));
	close(fd);
}

/* The message of @o arrives, the first segment alone, then @segs as one skb */
static void receive_heap(const struct open *o, const u32 *segs, u8 last_flags)
{
	long long skbs;
	struct scene s;
	struct got g;
	u32 i;

	if (encap == DLCP_ENCAP_RAW)
		return;
	open_scene(&s);
	lie_open(&s, LIAR_MSG, o);
	/* Of a path that was not heard of nothing comes in one */
	lie_data(&s, 0, LIAR_MSG, 0, 1000);
	WAIT_FOR(info_of(s.p.b).rx_delivered == s.before.rx_delivered + 1000);
	skbs = victims(&s, "RxBatches");
	send_heap(&s, segs, last_flags);
	got_init(&g, o->length);
	ASSERT_OK(recv_any(s.p.b, &g, 0));
	EXPECT_LT(victims(&s, "RxBatches") - skbs, HEAP);
	for (i = 1; i <= HEAP; i++) {
		EXPECT_EQ(g.buf[i * 1000], i);
		EXPECT_EQ(g.buf[i * 1000 + 999], i);
	}
	got_free(&g);
	pair_close(&s.p);
}

/* The numbers of packets ascend, and those of segments do not: each gets to its place */
TEST(segments_that_do_not_follow)
{
	static const u32 segs[HEAP] = { 1, 2, 4, 3, 5, 6 };
	struct open o = { .length = (1 + HEAP) * 1000, .seg = 1000, .elem = 1 };

	receive_heap(&o, segs, 0);
}

/* What only the last of them says is heard: all was sent, and one may be missing */
TEST(last_of_many_in_one)
{
	static const u32 segs[HEAP] = { 1, 2, 3, 4, 5, 6 };
	struct open o = { .length = (2 + HEAP) * 1000, .seg = 1000, .elem = 1,
			  .loss = 500000, .wait = 0x88 };

	receive_heap(&o, segs, FLAG_SENT);
}

/* A packet of type @behind, in one datagram behind control that says that it ends at @at */
static void lie_both(struct scene *s, int at, int behind, u8 tag_bits)
{
	struct packet p;
	u8 *f = p.frame, *d;

	lie_begin(s, &p, CTRL);
	f += p.len;
	d = f + 8;
	memset(d, 0, DATA_HDR + 1000);
	memcpy(d, dlcp_of(&p), AT_PN);
	put(f, 4, 16 << 24 | 8);
	put(f + 4, 4, (u64)at << 16);
	d[0] ^= tag_bits;
	d[AT_TYPE] = behind;
	put(d + AT_MSG, 4, LIAR_MSG);
	p.len += 8 + DATA_HDR + 1000;
	lie_send(s, &p);
}

TEST(data_behind_control)
{
	struct open o = { .length = 1000, .seg = 1000, .elem = 1 };
	struct scene s;

	open_scene(&s);
	lie_open(&s, LIAR_MSG, &o);
	lie_both(&s, 24, CTRL, 0);
	lie_both(&s, 24, DATA, 1);
	lie_both(&s, 25, DATA, 0);
	lie_both(&s, 23, DATA, 0);
	lie_both(&s, 0xffff, DATA, 0);
	WAIT_FOR(victims(&s, "DropMalformed") == 5);
	EXPECT_EQ(info_of(s.p.b).rx_delivered, s.before.rx_delivered);
	lie_both(&s, 24, DATA, 0);
	WAIT_FOR(info_of(s.p.b).rx_delivered == s.before.rx_delivered + 1000);
	pair_close(&s.p);
}

/* A message nobody reads, sent without a look at what may be sent */
TEST(ignores_credit)
{
	struct open o = { .length = 64 * MB, .seg = 1000, .elem = 1 };
	struct scene s;
	u32 i;

	open_scene(&s);
	set_buffers(s.p.b, 100000);
	lie_open(&s, LIAR_MSG, &o);
	for (i = 0; i < 3000; i++)
		lie_data(&s, i, LIAR_MSG, i, 1000);
	WAIT_FOR(new_drops(&s) >= 2000);
	EXPECT_GE(victims(&s, "DropWindow"), 2000);
	/* What was allowed: half the buffer, and the share of 128 KB */
	EXPECT_LE(info_of(s.p.b).rx_delivered - s.before.rx_delivered,
		  100000 + 131072);
	EXPECT_LE(rmem_of(s.p.b), 4 * (100000 + 262144) + 65536);
	others_are_well(&s);
	pair_close(&s.p);
	WAIT_FOR(!proto_memory());
}

/* Long messages of segments of a byte: each wants a megabyte for its map */
TEST(maps_without_end)
{
	struct open o = { .length = 8 * MB, .seg = 1, .elem = 1 };
	long long before;
	struct scene s;
	int i;

	open_scene(&s);
	before = proto_memory();
	for (i = 0; i < 40; i++)
		lie_open(&s, LIAR_MSG + i, &o);
	WAIT_FOR(info_of(s.p.b).rx_msgs + victims(&s, "DropNoMemory") >=
		 s.before.rx_msgs + 40);
	EXPECT_LE(info_of(s.p.b).rx_msgs, s.before.rx_msgs + 8);
	EXPECT_LE(proto_memory() - before, 9 * MB / 4096 + 256);
	others_are_well(&s);
	pair_close(&s.p);
	WAIT_FOR(!proto_memory());
}

/* Announced, and never sent: what does come finds a reader nevertheless */
TEST(announces_and_sends_nothing)
{
	struct open o = { .seg = 1000, .elem = 1 };
	struct msg m = MSG(.len = 45000, .key = 7);
	struct scene s;
	struct got g;

	open_scene(&s);
	pair_close(&s.p);
	sysctl_set(s.h.net[H1], "rx_unsolicited", 4096);
	s.p = pair_hosts(&s.h);
	set_buffers(s.p.b, 100000);
	/* its tag is another one now */
	free(s.t.p);
	pass(s.p.a, s.p.b, &MSG(.len = 100));
	trace_read(s.wire, &s.t, TRACE_MAX);
	o.length = 49000;
	lie_open(&s, LIAR_MSG, &o);
	WAIT_FOR(info_of(s.p.b).rx_msgs == 2);
	must_send(s.p.a, &m);
	WAIT_FOR(info_of(s.p.b).rx_msgs == 3);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(s.p.b, &g, 0));
	EXPECT_EQ(g.msg.key, 7);
	check_got(&m, &g);
}

/* --- what makes no sense */

TEST(absurd_messages)
{
	static const struct open opens[] = {
		{ .length = ~0ULL, .seg = 1, .elem = 1 },
		{ .length = ~0ULL, .seg = 65535, .elem = 1 },
		{ .length = 1ULL << 63, .seg = 65535, .elem = 1 },
		{ .length = 5ULL << 30, .seg = 1400, .elem = 4 },
		{ .length = 1000, .seg = 0, .elem = 1 },
		{ .length = 1000, .seg = 100, .elem = 0 },
		{ .length = 1000, .seg = 65535, .elem = 65535 },
		{ .length = 1000, .seg = 100, .elem = 3 },
		{ .length = 1000, .seg = 100, .elem = 1, .loss = 1000001 },
		{ .length = 1000, .seg = 100, .elem = 1, .loss = ~0U },
		{ .length = 1000, .seg = 100, .elem = 1, .critical = 11 },
		{ .length = 1000, .seg = 100, .elem = 1, .prio = 8 },
	};
	static const u32 msgs[] = { LIAR_MSG + 8192, 0x7fffffff, 0x80000001,
				    ~0U };
	struct open o = { .length = 1000, .seg = 100, .elem = 1 };
	struct scene s;
	int i, nr = 0;

	open_scene(&s);
	for (i = 0; i < ARRAY_SIZE(opens); i++, nr++)
		lie_open(&s, LIAR_MSG, &opens[i]);
	for (i = 0; i < ARRAY_SIZE(msgs); i++, nr += 2) {
		lie_open(&s, msgs[i], &o);
		lie_data(&s, i, msgs[i], ~0U, 100);
	}
	WAIT_FOR(new_drops(&s) >= nr);
	EXPECT_EQ(new_drops(&s), nr);
	nothing_changed(&s);
}

/* Of a message that is there: other contents, other lengths, other places */
TEST(absurd_segments)
{
	struct open o = { .length = 1000, .seg = 100, .elem = 1 };
	static const struct { u32 seg; int len; } d[] = {
		{ 10, 100 }, { ~0U, 100 }, { 0x80000000, 100 }, { 9, 99 },
		{ 9, 101 }, { 0, 1400 }, { 0, 1 },
	};
	struct scene s;
	int i;

	open_scene(&s);
	lie_open(&s, LIAR_MSG, &o);
	WAIT_FOR(info_of(s.p.b).rx_msgs == s.before.rx_msgs + 1);
	for (i = 0; i < ARRAY_SIZE(d); i++)
		lie_data(&s, i, LIAR_MSG, d[i].seg, d[i].len);
	o.length++;
	lie_open(&s, LIAR_MSG, &o);
	WAIT_FOR(new_drops(&s) >= ARRAY_SIZE(d) + 1);
	EXPECT_GE(victims(&s, "DropMismatch"), ARRAY_SIZE(d));
	EXPECT_EQ(info_of(s.p.b).rx_delivered, s.before.rx_delivered);
	ping_pong(&s.p);
}

/* Frames whose counts and lengths are not those of their bodies */
TEST(absurd_frames)
{
	u8 b[1000] = { 0 };
	struct scene s;
	int type, nr = 0;

	open_scene(&s);
	for (type = F_ACK; type <= F_ANSWER; type++, nr += 5) {
		lie_frame(&s, type, b, 0, 0);
		lie_frame(&s, type, b, 200, 3);
		lie_frame(&s, type, b, 200, 0x00ff);
		lie_frame(&s, type, b, 200, 0xffff);
		lie_frame(&s, type, b, 999, 1003);
	}
	/* ACK: words that are not there; more than there may be; none */
	put(b + 2, 2, 0xffff);
	lie_frame(&s, F_ACK, b, ACK_BODY + 8, 0);
	put(b + 2, 2, 17);
	lie_frame(&s, F_ACK, b, ACK_BODY + 17 * 8, 0);
	put(b + 2, 2, 0);
	lie_frame(&s, F_ACK, b, ACK_BODY, 0);
	/* MAP: the same, and one that begins after the end of all numbers */
	put(b + 8, 2, 0xffff);
	lie_frame(&s, F_MAP, b, 20, 0);
	put(b + 8, 2, 65);
	lie_frame(&s, F_MAP, b, 12 + 65 * 8, 0);
	put(b + 4, 4, ~0U);
	put(b + 8, 2, 64);
	lie_frame(&s, F_MAP, b, 12 + 64 * 8, 0);
	/* RAILS: a family there is not, and IPv4 with more than it has */
	memset(b, 0xff, 4 + 4 * 16);
	lie_frame(&s, F_RAILS, b, 4 + 4 * 16, 0);
	b[0] = 4;
	lie_frame(&s, F_RAILS, b, 4 + 4 * 16, 0);
	nr += 8;
	WAIT_FOR(new_drops(&s) >= nr);
	EXPECT_EQ(victims(&s, "DropMalformed"), nr);
	nothing_changed(&s);
}

/* Right in form, of messages there are not */
TEST(strange_numbers)
{
	static const u32 msgs[] = { 1, 2, LIAR_MSG, 0x7fffffff, 0x80000000,
				    ~0U };
	u8 b[32] = { 0 };
	struct scene s;
	int i, type;

	open_scene(&s);
	for (i = 0; i < ARRAY_SIZE(msgs); i++) {
		put(b, 4, msgs[i]);
		put(b + 4, 8, ~0ULL);
		for (type = F_OFFER; type <= F_CREDIT; type++)
			if (type != F_MAP && type != F_DONE)
				lie_frame(&s, type, b, type == F_CREDIT ? 12 :
					  type == F_GETMAP || type == F_OFFER ?
					  8 : 4, 0);
		put(b + 4, 8, 0);
		lie_frame(&s, F_DONE, b, 20, 0);
	}
	/* and an end before the messages there were */
	put(b, 4, 0);
	lie_frame(&s, F_CLOSE, b, 4, 0);
	/* and the GETMAPs, of a word no map can have */
	WAIT_FOR(victims(&s, "DropMalformed") == ARRAY_SIZE(msgs) + 1);
	nothing_changed(&s);
}

/* --- lies about what was received */

/* The victim sends over a slow link, and packets are under way */
static void victim_sends(struct scene *s, struct msg *m)
{
	netem(&s->h, H1, "rate 2mbit");
	no_gso(&s->h, H1);
	must_send(s->p.b, m);
	WAIT_FOR(info_of(s->p.b).inflight > 0);
}

static void lie_ack(struct scene *s, int path, u32 largest)
{
	u8 b[ACK_BODY + 16 * 8];

	memset(b, 0xff, sizeof(b));
	b[0] = path;
	put(b + 2, 2, 16);
	put(b + 4, 4, largest);
	put(b + 8, 4, 0);
	lie_frame(s, F_ACK, b, sizeof(b), 0);
}

/* Packets that were never sent did not arrive */
TEST(acknowledges_the_future)
{
	static const u32 pns[] = { 5000, 0x10000, 0x40000000, 0x7fffffff };
	struct msg m = MSG(.len = 200000, .flags = DLCP_MSG_REPORT);
	struct scene s;
	struct got g;
	int i;

	open_scene(&s);
	victim_sends(&s, &m);
	/* one of the past: so it is not their form that others are refused for */
	lie_ack(&s, 0, 0);
	for (i = 0; i < ARRAY_SIZE(pns); i++) {
		lie_ack(&s, 0, pns[i]);
		lie_ack(&s, 1 + i, 0);
	}
	WAIT_FOR(victims(&s, "DropMalformed") == 2 * ARRAY_SIZE(pns));
	EXPECT_EQ(info_of(s.p.b).tx_msgs_done, 0);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(s.p.a, &g, 0));
	check_got(&m, &g);
	EXPECT_EQ(victims(&s, "DropMalformed"), 2 * ARRAY_SIZE(pns));
	check_counters(s.p.b, s.p.a);
}

/*
 * Those that were sent may have arrived: who says so does not get them again,
 * and has a sender that believes the way to be free. What it owes to others
 * must not suffer: its packets are paced, and of its own memory.
 */
TEST(acknowledges_too_early)
{
	struct msg m = MSG(.len = 200000);
	struct dlcp_info info;
	struct scene s;
	u32 pn;

	open_scene(&s);
	victim_sends(&s, &m);
	for (pn = 0; info_of(s.p.b).tx_msgs_done == 0; pn++) {
		lie_ack(&s, 0, pn % 200);
		ASSERT_LE(pn, 100000);
	}
	info = info_of(s.p.b);
	EXPECT_EQ(info.tx_delivered, m.len);
	/* some came after what they tell of was sent, and were believed */
	EXPECT_LT(victims(&s, "DropMalformed"), pn);
	/* On a busy machine a packet may be passed by later ones in another
	 * processor's backlog, and be sent again with good reason
	 */
	EXPECT_LE(info.tx_sent, m.len + 1448 * (1 + info.lost_packets));
	EXPECT_EQ(info.state, DLCP_ESTABLISHED);
	netem(&s.h, H1, "delay 0");
	others_are_well(&s);
}

/* As much credit as can be said: what there is no room for is not kept */
TEST(grants_without_end)
{
	struct msg m = MSG(.len = MB, .key = 5);
	u8 b[12];
	struct scene s;
	struct got g;

	open_scene(&s);
	set_buffers(s.p.a, 100000);
	must_send(s.p.b, &m);
	WAIT_FOR(info_of(s.p.a).rx_msgs == 1);
	/* messages of the victim are numbered from 0 */
	put(b, 4, 0);
	put(b + 4, 8, ~0ULL);
	lie_frame(&s, F_CREDIT, b, 12, 0);
	put(b, 4, ~0U);
	lie_frame(&s, F_WINDOW, b, 12, 0);
	WAIT_FOR(mib(s.h.net[H0], "DropWindow") > 0);
	EXPECT_LE(rmem_of(s.p.a), 2 * 200000 + 65536);
	/* less than before is no news */
	memset(b, 0, sizeof(b));
	lie_frame(&s, F_CREDIT, b, 12, 0);
	lie_frame(&s, F_WINDOW, b, 12, 0);
	got_init(&g, m.len);
	ASSERT_OK(recv_key(s.p.a, &g, 5, 0));
	check_got(&m, &g);
	pass(s.p.a, s.p.b, &m);
}

/* A stop nobody may ask for, and a receipt of what did not come */
TEST(forged_stop)
{
	struct msg m = MSG(.len = 200000, .loss = 1 * PERCENT);
	u8 b[20] = { 0 };
	struct scene s;

	open_scene(&s);
	victim_sends(&s, &m);
	put(b + 4, 4, 100);
	put(b + 8, 8, 100 * 1448);
	b[16] = DLCP_WHY_STOPPED;
	lie_frame(&s, F_DONE, b, sizeof(b), 0);
	WAIT_FOR(info_of(s.p.b).state == DLCP_CLOSED);
	EXPECT_EQ(sock_error(s.p.b), EPROTO);
	check_words(s.p.b, "the peer gave up more than the bound");
	EXPECT_EQ(info_of(s.p.b).tx_forgiven, 0);
	netem(&s.h, H1, "delay 0");
	WAIT_FOR(info_of(s.p.a).state == DLCP_CLOSED);
	check_words(s.p.a, "the peer found a protocol error");
	others_are_well(&s);
}

/* --- a set-up by hand: the attacker keeps nothing and answers as it likes */

/* The ECHO that follows this INIT: its client's tag is one of its own */
static struct packet echo_of(struct scene *s, struct packet *init, u32 max_msg,
			     u64 unsolicited)
{
	static u32 nr;
	struct packet p = *init, q;

	put(dlcp_of(&p) + 12, 4, ++nr);
	packet_fix(&p);
	wire_send(s->wire, &p);
	do
		ASSERT(wire_read(s->wire, &q, 5000));
	while (q.out || type_of(&q) != INIT_ACK);
	/* its tag, and its cookie */
	memcpy(dlcp_of(&p) + AT_TAG, dlcp_of(&q) + 12, 8);
	dlcp_of(&p)[AT_TYPE] = ECHO;
	put(dlcp_of(&p) + 28, 4, max_msg);
	put(dlcp_of(&p) + 32, 8, unsolicited);
	memcpy(dlcp_of(&p) + 40, dlcp_of(&q) + 40, 48);
	packet_fix(&p);
	return p;
}

static int sent_to(struct scene *s, int ms)
{
	struct packet q;
	int nr = 0;

	while (wire_read(s->wire, &q, ms))
		nr += !q.out;
	return nr;
}

/* No room at all, or for a byte: the sender waits, asks seldom, and gives up in
 * the end
 */
TEST(tiny_windows)
{
	static const struct { u32 max_msg; u64 unsolicited; } w[] = {
		{ 8192, 0 }, { 8192, 1 }, { 1, 1 }, { ~0U, ~0ULL },
	};
	struct msg m = MSG(.len = 20000);
	struct packet init, echo;
	struct scene s;
	int i, fd, lfd;

	open_scene(&s);
	init = *trace_find(&s.t, INIT);
	sysctl_set(s.h.net[H1], "dead_ms", 1000);
	lfd = listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	/* h0 knows nothing of all this and would say so */
	sysctl_set(s.h.net[H0], "reply_rate", 0);
	for (i = 0; i < ARRAY_SIZE(w); i++) {
		echo = echo_of(&s, &init, w[i].max_msg, w[i].unsolicited);
		wire_send(s.wire, &echo);
		fd = do_accept(lfd);
		must_send(fd, &m);
		WAIT_FOR(info_of(fd).state == DLCP_CLOSED);
		EXPECT_EQ(sock_error(fd), ETIMEDOUT);
		EXPECT_LE(sent_to(&s, 1), 60);
		close(fd);
	}
	ping_pong(&s.p);
}

/* A cookie is good for a minute, also when the secret it was made with has been
 * replaced meanwhile, and never after
 */
TEST_LIMIT(cookies_grow_old, 300)
{
	enum { STEP = 20, NR = 10, GOOD = 40 / STEP, OLD = 80 / STEP };
	struct packet init, used[NR], kept[NR];
	struct scene s;
	int i, lfd;

	if (!in_virtual_time())
		SKIP("that takes minutes where time is not skipped");
	open_scene(&s);
	init = *trace_find(&s.t, INIT);
	lfd = listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	/* h0 knows nothing of all this and would say so */
	sysctl_set(s.h.net[H0], "reply_rate", 0);
	for (i = 0; i < NR; i++) {
		used[i] = echo_of(&s, &init, ~0U, ~0ULL);
		kept[i] = echo_of(&s, &init, ~0U, ~0ULL);
		if (i >= GOOD) {
			wire_send(s.wire, &used[i - GOOD]);
			close(do_accept(lfd));
		}
		if (i >= OLD)
			wire_send(s.wire, &kept[i - OLD]);
		sleep(STEP);
	}
	WAIT_FOR(new_drops(&s) >= NR - OLD);
	EXPECT_EQ(victims(&s, "DropStaleCookie") +
		  victims(&s, "DropBadCookie"), NR - OLD);
	EXPECT_GT(victims(&s, "DropStaleCookie"), 0);
	/* The secrets of the first one are forgotten */
	wire_send(s.wire, &kept[0]);
	WAIT_FOR(victims(&s, "DropBadCookie") > 0);
	EXPECT_EQ(poll_for(lfd, POLLIN, 0), 0);
	ping_pong(&s.p);
}

/* h1 has another card, with somebody at its other end who knows DLCP and
 * nothing of the connection. h1's connection with h0 is opened anew.
 */
static int stranger_of(struct scene *s)
{
	struct msg m = MSG(.len = 100 * KB);
	int net = net_new();

	must_sh(s->h.net[H1],
		"ip link add eth1 type veth peer name eth0 netns /proc/%d/fd/%d && "
		"ip addr add 10.9.9.1/24 dev eth1 && "
		"ip addr add fd00:9::1/64 dev eth1 nodad && ip link set eth1 up",
		getpid(), net);
	must_sh(net, "ip addr add 10.9.9.2/24 dev eth0 && "
		"ip addr add fd00:9::2/64 dev eth0 nodad && ip link set eth0 up");
	close(listen_in(net, addr_any(PORT)));
	ASSERT_OK(file_write(s->h.net[H1], "/proc/sys/net/dlcp/rails",
			     "eth0 eth1"));
	pair_close(&s->p);
	free(s->t.p);
	s->p = pair_hosts(&s->h);
	pass(s->p.a, s->p.b, &m);
	trace_read(s->wire, &s->t, TRACE_MAX);
	return net;
}

/* The second address of four: 0, or one of the stranger's network */
static void lie_rails(struct scene *s, int last)
{
	u8 v6[16] = { 0xfd, 0, 0, 9, [15] = last };
	u8 b[4 + 4 * 16] = { family == AF_INET ? 4 : 6 };

	if (family == AF_INET)
		put(b + 4 + 16, 4, 0x0a090900 + last);
	else
		memcpy(b + 4 + 16, v6, 16);
	lie_frame(s, F_RAILS, b, sizeof(b), 0);
}

/* What is sent to somebody who only was named: questions, no more than the
 * liar sends packets, and nothing else, whatever it says next. That somebody
 * says it knows no such connection ends nothing.
 */
TEST(announces_strangers)
{
	struct msg m = MSG(.len = 4 * MB);
	long long resets;
	struct packet q;
	struct scene s;
	int net, wire;
	u8 token[8];
	int i, nr = 0;

	open_scene(&s);
	net = stranger_of(&s);
	wire = wire_open(s.h.net[H1], "eth1");
	resets = mib(net, "ResetsSent");
	for (i = 0; i < 50; i++)
		lie_rails(&s, 2 + i);
	WAIT_FOR(mib(net, "ResetsSent") > resets);
	for (i = 0; i < 200; i++) {
		put(token, 8, i * 0x0101010101010101ULL);
		lie_frame(&s, F_ANSWER, token, sizeof(token), 0);
	}
	pass(s.p.b, s.p.a, &m);
	ping_pong(&s.p);
	while (wire_read(wire, &q, 200)) {
		if (!q.out)
			continue;
		nr++;
		EXPECT_EQ(type_of(&q), CTRL);
		EXPECT_EQ(dlcp_of(&q)[16], F_ASK);
		EXPECT_LE(dlcp_len(&q), 28);
	}
	/* It may not have been sent twice in so short a time */
	EXPECT_GE(nr, 1);
	EXPECT_LE(nr, 40);
	EXPECT_EQ(info_of(s.p.b).state, DLCP_ESTABLISHED);
	EXPECT_EQ(info_of(s.p.b).nr_pairs, 1);
	pair_close(&s.p);
}

/* --- a link shared with others */

enum { HONEST = 7, LIARS = 2 };

struct liar {
	struct scene	s;
	struct task	t;
	bool		lies;
	u64		sent;	/* bytes */
};

/*
 * A trickle of the most urgent class and of the least, by turns: nine packets of
 * ten were lost, if their numbers are believed, and each tells of a queue.
 */
static void liar_main(void *arg)
{
	struct open o = { .length = MB, .seg = 100, .elem = 1 };
	struct liar *l = arg;
	struct packet p;
	u32 i;

	lie_open(&l->s, LIAR_MSG, &o);
	o.prio = DLCP_PRIO_MAX;
	lie_open(&l->s, LIAR_MSG + 1, &o);
	for (i = 0; __atomic_load_n(&l->lies, __ATOMIC_RELAXED); i++) {
		lie_begin(&l->s, &p, DATA);
		dlcp_of(&p)[AT_FLAGS] = F_QUEUED;
		put(dlcp_of(&p) + AT_PN, 4, 10 * i);
		put(dlcp_of(&p) + AT_MSG, 4, LIAR_MSG + i % 2);
		put(dlcp_of(&p) + AT_SEG, 4, i / 2);
		p.len += 100;
		l->sent += p.len;
		lie_send(&l->s, &p);
		usleep(500);
	}
}

/* ms that the honest take for @m each, over one slow link to h1 */
static long long honest_together(struct hosts *h, struct msg *m)
{
	struct passing there[HONEST];
	struct pair p[HONEST];
	struct task t[HONEST];
	long long start;
	int i;

	for (i = 0; i < HONEST; i++) {
		p[i] = pair_between(h->net[H0], h->net[H1],
				    addr_host(h, H1, PORT + 1 + i));
		there[i] = (struct passing){ p[i].a, p[i].b, m };
	}
	start = now_ms();
	for (i = 0; i < HONEST; i++)
		task_start(&t[i], passing_main, &there[i]);
	for (i = 0; i < HONEST; i++)
		task_join(&t[i]);
	start = now_ms() - start;
	for (i = 0; i < HONEST; i++) {
		check_counters(p[i].a, p[i].b);
		pair_close(&p[i]);
	}
	return start;
}

/*
 * What senders say of the link, and of how urgent they are, when they send next
 * to nothing: the others have the rest.
 */
TEST_LIMIT(lies_of_the_link, 60)
{
	struct msg m = MSG(.len = 4 * MB);
	int room = 64 * MB, i, nr;
	long long alone, beside;
	struct liar l[LIARS];
	struct hosts h;

	if (!in_virtual_time())
		SKIP("a busy machine is no full link");
	hosts_open_routed(&h);
	no_gso(&h, H0);
	no_gso(&h, H1);
	netem(&h, H0, "rate 10gbit delay 25us limit 10000");
	must_sh(h.net[ROUTER], "ethtool -K eth1 tso off gso off gro off && "
		"tc qdisc add dev eth1 root netem rate 1gbit limit 32");
	alone = honest_together(&h, &m);
	for (i = 0; i < LIARS; i++) {
		l[i] = (struct liar){ .s.h = h, .lies = true };
		scene_begin(&l[i].s);
		ASSERT_OK(setsockopt(l[i].s.p.b, SOL_SOCKET, SO_RCVBUFFORCE,
				     &room, sizeof(room)));
	}
	for (i = 0; i < LIARS; i++)
		task_start(&l[i].t, liar_main, &l[i]);
	nr = mib(h.net[H1], "RatesSent");
	beside = honest_together(&h, &m);
	nr = mib(h.net[H1], "RatesSent") - nr;
	for (i = 0; i < LIARS; i++) {
		__atomic_store_n(&l[i].lies, false, __ATOMIC_RELAXED);
		task_join(&l[i].t);
	}
	test_note("figure: %d senders took %lld ms alone and %lld beside %d liars, who sent %llu bytes; %d rates",
		  HONEST, alone, beside, LIARS,
		  (unsigned long long)(l[0].sent + l[1].sent), nr);
	EXPECT_LE(beside, alone + alone / 10);
}

static struct packet next_of(int wire, int type, bool out)
{
	struct packet p;

	do
		ASSERT(wire_read(wire, &p, 90 * 1000));
	while (p.out != out || type_of(&p) != type);
	return p;
}

/* The same, with the client's tag and the cookie of two others */
static void send_echo(struct scene *s, const struct packet *echo, u8 *tag,
		      u8 *cookie)
{
	struct packet p = *echo;

	memcpy(dlcp_of(&p) + 12, tag, 8);
	memcpy(dlcp_of(&p) + 40, cookie, 48);
	packet_fix(&p);
	wire_send(s->wire, &p);
}

/* The listener had no room for so long that the cookie is too old. The client begins
 * again, with another tag: the old one finds nobody, and a cookie is good for the
 * tag it was made for.
 */
TEST_LIMIT(new_tag_old_cookie, 300)
{
	struct packet ack, old, new;
	int lfd, fd[2], front;
	long long unknown;
	struct scene s;

	if (!in_virtual_time())
		SKIP("that takes a minute where time is not skipped");
	open_scene(&s);
	sysctl_set(s.h.net[H0], "dead_ms", 300 * 1000);
	front = wire_open(s.h.net[H1], "eth0");
	lfd = listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	ASSERT_OK(listen(lfd, 0));
	fd[0] = dlcp_socket_in(s.h.net[H0]);
	ASSERT_OK(do_connect(fd[0], addr_host(&s.h, H1, PORT)));
	next_of(s.wire, ECHO, true);
	fd[1] = dlcp_socket_in(s.h.net[H0]);
	ASSERT_OK(fcntl(fd[1], F_SETFL, O_NONBLOCK));
	ASSERT_ERR(do_connect(fd[1], addr_host(&s.h, H1, PORT)), EINPROGRESS);
	ack = next_of(s.wire, INIT_ACK, false);
	old = next_of(s.wire, ECHO, true);
	next_of(s.wire, INIT, true);
	new = next_of(s.wire, ECHO, true);
	EXPECT(memcmp(dlcp_of(&old) + 12, dlcp_of(&new) + 12, 8));
	EXPECT(memcmp(dlcp_of(&old) + 40, dlcp_of(&new) + 40, 48));

	unknown = mib(s.h.net[H0], "DropUnknownTag");
	packet_fix(&ack);
	wire_send(front, &ack);
	WAIT_FOR(mib(s.h.net[H0], "DropUnknownTag") == unknown + 1);
	EXPECT_EQ(info_of(fd[1]).state, DLCP_ECHO_SENT);

	close(do_accept(lfd));
	s.drops = mib_drops(s.h.net[H1]);
	send_echo(&s, &old, dlcp_of(&new) + 12, dlcp_of(&old) + 40);
	send_echo(&s, &old, dlcp_of(&old) + 12, dlcp_of(&old) + 40);
	send_echo(&s, &new, dlcp_of(&old) + 12, dlcp_of(&new) + 40);
	WAIT_FOR(new_drops(&s) >= 3);
	pair_close(&s.p);
	s.p.a = fd[1];
	s.p.b = do_accept(lfd);
	ASSERT_OK(fcntl(fd[1], F_SETFL, 0));
	ping_pong(&s.p);
	EXPECT_EQ(poll_for(lfd, POLLIN, 0), 0);
}
