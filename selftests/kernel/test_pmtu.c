// SPDX-License-Identifier: GPL-2.0
/* The path's MTU is found and followed; what ICMP says of it is heard */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "lib.h"

/* MTU of the way from the router to h1 */
static void set_far_mtu(struct hosts *h, int mtu)
{
	must_sh(h->net[ROUTER], "ip link set eth1 mtu %d", mtu);
	must_sh(h->net[H1], "ip link set eth0 mtu %d", mtu);
}

TEST(mtu_of_the_interface)
{
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	p = pair_hosts(&h);
	ping_pong(&p);
	EXPECT_EQ(info_of(p.a).mtu, 1500);
	EXPECT_GT(info_of(p.a).seg_size, 1380);
	EXPECT_LT(info_of(p.a).seg_size, 1460);
}

TEST(jumbo_frames)
{
	struct msg m = MSG(.len = 4 * MB, .flags = DLCP_MSG_REPORT);
	struct outcome o;
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	must_sh(h.net[H0], "ip link set eth0 mtu 9000");
	must_sh(h.net[H1], "ip link set eth0 mtu 9000");
	p = pair_hosts(&h);
	o = transfer(p.a, p.b, &m);
	EXPECT_EQ(info_of(p.a).mtu, 9000);
	EXPECT_GT(o.got.msg.seg_size, 8800);
	check_counters(p.a, p.b);
}

static void smaller_in_the_middle(int mtu)
{
	struct msg m = MSG(.len = 500 * KB, .flags = DLCP_MSG_REPORT);
	long long before;
	struct outcome o;
	struct hosts h;
	struct pair p;

	hosts_open_routed(&h);
	set_far_mtu(&h, mtu);
	p = pair_hosts(&h);
	pass(p.a, p.b, &m);
	WAIT_FOR(info_of(p.a).mtu <= mtu);
	EXPECT_EQ(info_of(p.a).mtu, mtu);
	/* what comes next is cut to it */
	m.key++;
	before = really_lost(p.a, p.b);
	o = transfer(p.a, p.b, &m);
	EXPECT_LT(o.got.msg.seg_size, mtu);
	check_counters(p.a, p.b);
	WAIT_FOR(really_lost(p.a, p.b) <= before);
	/* and what comes after it in another connection, from the start */
	pair_close(&p);
	p = pair_between(h.net[H0], h.net[H1], addr_host(&h, H1, PORT + 1));
	EXPECT_EQ(info_of(p.a).mtu, mtu);
	pass(p.a, p.b, &m);
}

TEST(small_mtu_in_the_middle)
{
	smaller_in_the_middle(1300);
}

TEST(smallest_mtu_in_the_middle)
{
	smaller_in_the_middle(family == AF_INET6 ? 1280 : 600);
}

TEST(mtu_shrinks_under_traffic)
{
	static const int mtus[] = { 1450, 1350, 1280 };
	struct underway u = {
		.m = MSG(.len = 500 * KB, .key = 1, .flags = DLCP_MSG_REPORT),
		.there.again = true,
	};
	int i;

	hosts_open_routed(&u.h);
	underway_start(&u, "12mbit");
	for (i = 0; i < ARRAY_SIZE(mtus); i++) {
		underway_wait(&u, 50000);
		set_far_mtu(&u.h, mtus[i]);
		WAIT_FOR(info_of(u.p.a).mtu <= mtus[i]);
		EXPECT_EQ(info_of(u.p.a).mtu, mtus[i]);
	}
	/* a message of many small segments cut before, and sent after */
	passing_end(&u.there, &u.t);
	check_counters(u.p.a, u.p.b);
}

/* Such a link does not even carry a whole control packet: all in fragments */
TEST(less_than_ip_promises)
{
	struct msg m = MSG(.len = 20000, .flags = DLCP_MSG_REPORT);
	struct hosts h;
	struct pair p;

	if (family == AF_INET6)
		SKIP("IPv6 does not run on such links");
	hosts_open(&h);
	p = pair_hosts(&h);
	must_sh(h.net[H0], "ip link set eth0 mtu 68");
	must_sh(h.net[H1], "ip link set eth0 mtu 68");
	pass(p.a, p.b, &m);
	pass(p.b, p.a, &m);
	EXPECT_EQ(info_of(p.a).mtu, 576);
	check_counters(p.a, p.b);
	/* and one that begins there */
	pair_close(&p);
	p = pair_hosts(&h);
	ping_pong(&p);
}

/* h1's end of the cable drops what is larger, and says nothing */
TEST(black_hole)
{
	struct msg m = MSG(.len = 500 * KB, .flags = DLCP_MSG_REPORT);
	long long before;
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	no_gso(&h, H0);
	must_sh(h.net[H1], "ip link set eth0 mtu 1300");
	p = pair_hosts(&h);
	EXPECT_EQ(info_of(p.a).mtu, 1500);
	pass(p.a, p.b, &m);
	EXPECT_LE(info_of(p.a).mtu, 1300);
	EXPECT_GE(info_of(p.a).mtu, 1250);
	EXPECT_GT(mib(h.net[H0], "MtuBlackHoles"), 0);
	/* what comes next is cut to it */
	m.key++;
	before = really_lost(p.a, p.b);
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	WAIT_FOR(really_lost(p.a, p.b) <= before);
	/* the other direction never had the problem */
	pass(p.b, p.a, &m);
}

/* --- a path that shrinks under a message, and takes no fragments */

struct shrink {
	int	from, to;
	u64	len;
	bool	told;		/* by ICMP */
};

static void set_mtus(struct hosts *h, int mtu)
{
	int i;

	for (i = 0; i <= ROUTER; i++)
		must_sh(h->net[i], "ip link set eth0 mtu %d", mtu);
	must_sh(h->net[ROUTER], "ip link set eth1 mtu %d", mtu);
}

/* Firewalls and clouds do: before h1 could put them together */
static void drop_fragments(struct hosts *h)
{
	must_sh(h->net[H1], "nft -f - <<E\n"
		"table inet f {\nchain c {\n"
		"type filter hook prerouting priority -500;\n"
		"ip frag-off & 0x3fff != 0 drop\nexthdr frag exists drop\n"
		"}\n}\nE");
}

static void drop_icmp(struct hosts *h)
{
	must_sh(h->net[H0], "nft -f - <<E\n"
		"table inet f {\nchain c {\n"
		"type filter hook prerouting priority -500;\n"
		"icmp type destination-unreachable drop\n"
		"icmpv6 type packet-too-big drop\n"
		"}\n}\nE");
}

/* With what does a connection begin now? */
static int next_mtu(struct hosts *h)
{
	static int port = PORT;
	struct pair p;
	int mtu;

	p = pair_between(h->net[H0], h->net[H1], addr_host(h, H1, ++port));
	mtu = info_of(p.a).mtu;
	pair_close(&p);
	return mtu;
}

/* Data goes on within a second: in smaller pieces, as what was cut before is too large.
 * Time in which the whole guest stood still is not counted.
 */
static void goes_on(struct hosts *h)
{
	long long waited = 0, at, took;

	while (!mib(h->net[H1], "RxPieces") && waited <= 10000 * slowness) {
		HERE();
		at = now_ms();
		nap_ms(1);
		took = now_ms() - at;
		waited += took < 20 ? took : 20;
	}
	EXPECT_LE(waited, 1000 * slowness);
}

static void shrinks(const struct shrink *c)
{
	struct underway u = {
		.m = MSG(.len = c->len, .key = 1, .flags = DLCP_MSG_REPORT),
	};
	long long holes;

	hosts_open_routed(&u.h);
	no_gso(&u.h, H0);
	set_mtus(&u.h, c->from);
	drop_fragments(&u.h);
	if (!c->told)
		drop_icmp(&u.h);
	if (c->len > MB) {
		underway_start(&u, "8mbit");
		underway_wait(&u, c->len / 8);
		set_far_mtu(&u.h, c->to);
	} else {
		/* cut for what the path was, and no word of what it is */
		u.p = pair_hosts(&u.h);
		ping_pong(&u.p);
		set_far_mtu(&u.h, c->to);
		u.there = (struct passing){ u.p.a, u.p.b, &u.m };
		task_start(&u.t, passing_main, &u.there);
	}
	goes_on(&u.h);
	passing_end(&u.there, &u.t);
	check_counters(u.p.a, u.p.b);
	EXPECT_LE(info_of(u.p.a).mtu, c->to);
	EXPECT_GT(mib(u.h.net[H0], "TxPieces"), 0);
	EXPECT_GT(mib(u.h.net[H1], "RxPieces"), 0);
	EXPECT(!mib(u.h.net[H0], "MtuBlackHoles") == c->told);
	/* Those that come later know it from the start */
	WAIT_FOR(next_mtu(&u.h) <= c->to);
	pair_close(&u.p);
	holes = mib(u.h.net[H0], "MtuBlackHoles");
	u.p = pair_between(u.h.net[H0], u.h.net[H1],
			   addr_host(&u.h, H1, PORT + 1000));
	EXPECT_LE(info_of(u.p.a).mtu, c->to);
	u.m.key++;
	pass(u.p.a, u.p.b, &u.m);
	EXPECT_EQ(mib(u.h.net[H0], "MtuBlackHoles"), holes);
	check_counters(u.p.a, u.p.b);
}

static int least_mtu(void)
{
	return family == AF_INET6 ? 1280 : 576;
}

TEST(shrinks_under_a_short_message)
{
	shrinks(&(struct shrink){ 9000, 1500, 64 * KB, .told = true });
}

TEST_LIMIT(shrinks_under_a_long_message, 60)
{
	shrinks(&(struct shrink){ 9000, 1500, 2 * MB, .told = true });
}

TEST(shrinks_to_the_least)
{
	shrinks(&(struct shrink){ 9000, least_mtu(), MB, .told = true });
}

TEST(shrinks_silently_under_a_short_message)
{
	shrinks(&(struct shrink){ 9000, 1500, 64 * KB });
}

TEST_LIMIT(shrinks_silently_under_a_long_message, 60)
{
	shrinks(&(struct shrink){ 9000, 1500, 2 * MB });
}

TEST(shrinks_silently_to_the_least)
{
	shrinks(&(struct shrink){ 1500, least_mtu(), MB });
}

/* --- what is unreachable */

static int connect_error(struct hosts *h)
{
	int fd = dlcp_socket_in(h->net[H0]), err;

	/* a second would do: an error that is told comes at once */
	ASSERT_OK(set_int(fd, DLCP_DEAD_MS, 3000));
	err = do_connect(fd, addr_host(h, H1, PORT)) ? errno : 0;
	close(fd);
	return err;
}

static void route_away(struct hosts *h, const char *kind)
{
	must_sh(h->net[ROUTER], "ip route add %s %s/%d", kind,
		text_host(h, H1), family == AF_INET6 ? 128 : 32);
}

static void route_back(struct hosts *h, const char *kind)
{
	must_sh(h->net[ROUTER], "ip route del %s %s/%d", kind,
		text_host(h, H1), family == AF_INET6 ? 128 : 32);
}

TEST(host_unreachable)
{
	struct hosts h;
	struct pair p;
	int err;

	hosts_open_routed(&h);
	route_away(&h, "unreachable");
	err = connect_error(&h);
	EXPECT(err == EHOSTUNREACH || err == ENETUNREACH);
	route_back(&h, "unreachable");
	p = pair_hosts(&h);
	ping_pong(&p);
}

TEST(administratively_prohibited)
{
	struct hosts h;
	int err;

	hosts_open_routed(&h);
	route_away(&h, "prohibit");
	err = connect_error(&h);
	EXPECT(err == EHOSTUNREACH || err == EACCES);
}

/* Nobody listens: said by DLCP. Not even DLCP is there: said by ICMP. */
TEST(refused)
{
	struct hosts h;
	int lfd;

	hosts_open(&h);
	EXPECT_EQ(connect_error(&h), ECONNREFUSED);
	lfd = listen_in(h.net[H1], addr_host(&h, H1, PORT + 1));
	EXPECT_EQ(connect_error(&h), ECONNREFUSED);
	close(lfd);
}

/* An open connection survives a route that comes back ... */
TEST(route_flaps)
{
	struct msg m = MSG(.len = 500 * KB, .flags = DLCP_MSG_REPORT);
	struct passing there;
	struct hosts h;
	struct task t;
	struct pair p;

	hosts_open_routed(&h);
	netem(&h, H0, "rate 8mbit");
	p = pair_hosts(&h);
	there = (struct passing){ p.a, p.b, &m, .again = true };
	task_start(&t, passing_main, &there);
	WAIT_FOR(info_of(p.b).rx_delivered > 100000);
	route_away(&h, "unreachable");
	WAIT_FOR(mib(h.net[H0], "IcmpReceived") > 0);
	route_back(&h, "unreachable");
	passing_end(&there, &t);
	check_counters(p.a, p.b);
}

/* ... and tells what ICMP said when it does not */
TEST(route_gone)
{
	struct hosts h;
	struct pair p;
	struct got g;
	int err;

	hosts_open_routed(&h);
	p = pair_hosts(&h);
	ASSERT_OK(set_int(p.a, DLCP_DEAD_MS, 500));
	route_away(&h, "unreachable");
	must_send(p.a, &MSG(.len = 1000));
	got_init(&g, 100);
	ASSERT(recv_any(p.a, &g, 0) < 0);
	err = errno;
	EXPECT(err == EHOSTUNREACH || err == ENETUNREACH || err == ETIMEDOUT);
}
