// SPDX-License-Identifier: GPL-2.0
/*
 * Many who ask for a connection, and many connections. What is timed is so in
 * virtual time:
 *
 *   selftests/vm/lab --time inf-cpu --mem 1024 -- build/selftests/test_scale
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "scene.h"

enum { FLOOD = 100000, IDLE = 4000, PAGE = 4096 };

/* A line of /proc/meminfo, in bytes */
static long long meminfo(const char *name)
{
	char *text = file_read(-1, "/proc/meminfo"), *at;
	long long val;

	at = text ? strstr(text, name) : NULL;
	ASSERT(at);
	val = atoll(at + strlen(name)) * KB;
	free(text);
	return val;
}

/* Bytes of the pages of a slab cache, with what no object fits into; all whose
 * names begin so
 */
static long long slab(const char *name)
{
	char *text = file_read(-1, "/proc/slabinfo"), *line, *save;
	const char *form = "%*s %*d %*d %*d %*d %lld : tunables %*d %*d %*d"
			   " : slabdata %*d %lld";
	long long sum = 0, nr, pages;

	if (!text)
		return -1;
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, name, strlen(name)) &&
		    sscanf(line, form, &pages, &nr) == 2)
			sum += nr * pages * PAGE;
	free(text);
	return sum;
}

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

struct usage {
	long long	all;	/* slabs: with files and inodes */
	long long	own;	/* sockets, and what the engine has */
};

static struct usage usage_now(void)
{
	return (struct usage){ meminfo("Slab:"),
			       slab("DLCP") + slab("kmalloc-") };
}

/* When what RCU frees late is freed */
static struct usage usage_settled(void)
{
	struct usage last, u = usage_now();
	int same = 0;

	while (same < 10) {
		last = u;
		nap_ms(20);
		u = usage_now();
		same = u.all == last.all && u.own == last.own ? same + 1 : 0;
	}
	return u;
}

/* --- half-open */

struct flood {
	int		wire;
	struct packet	init;
	int		sent;
};

/* As fast as the link takes them, each from an address of its own */
static void flood_main(void *arg)
{
	struct flood *f = arg;
	struct packet p;
	char text[64];
	int i;

	for (i = 0; i < FLOOD; i++) {
		p = f->init;
		snprintf(text, sizeof(text), family == AF_INET6 ?
			 "fd00:0:1::%x:%x:%x" : "11.%d.%d.%d",
			 i / 62500, i / 250 % 250, 1 + i % 250);
		set_source(&p, addr_of(text, 0));
		memcpy(dlcp_of(&p) + 16, &i, sizeof(i));
		packet_fix(&p);
		wire_send(f->wire, &p);
		__atomic_store_n(&f->sent, i + 1, __ATOMIC_RELAXED);
	}
}

/* The attacker has a link of 1 Gbit/s to h1, and is its way to everywhere */
static int attacker_open(struct hosts *h)
{
	int net = net_new();

	must_sh(net, "ip link add eth9 type veth peer name eth9 netns /proc/%d/fd/%d"
		" && ip link set eth9 address 02:00:00:00:09:01 up"
		" && ip addr add 10.0.9.1/24 dev eth9"
		" && tc qdisc add dev eth9 root netem rate 1gbit limit 1000",
		getpid(), h->net[H1]);
	must_sh(h->net[H1], "ip link set eth9 address 02:00:00:00:09:02 up"
		" && ip addr add 10.0.9.2/24 dev eth9"
		" && ip neigh add 10.0.9.1 dev eth9 lladdr 02:00:00:00:09:01"
		" && ip route add default via 10.0.9.1"
		" && tc qdisc add dev eth9 root netem rate 1gbit limit 1000");
	return net;
}

/* INITs of 100,000 addresses, while an honest client connects again and again */
TEST_LIMIT(half_open_flood, 300)
{
	long long start, took, worst = 0, sum = 0, sockets, memory, slabs;
	struct flood f = { 0 };
	struct scene s;
	struct pair p;
	struct task t;
	int lfd, nr;

	if (family != AF_INET)
		SKIP("the spoofed addresses are IPv4's");
	open_scene(&s);
	netem(&s.h, H0, "rate 1gbit delay 25us limit 1000");
	netem(&s.h, H1, "rate 1gbit delay 25us limit 1000");
	lfd = listen_in(s.h.net[H1], addr_host(&s.h, H1, PORT));
	f.init = *trace_find(&s.t, INIT);
	memcpy(f.init.frame, "\x02\0\0\0\x09\x02\x02\0\0\0\x09\x01", 12);
	f.wire = wire_open(attacker_open(&s.h), "eth9");
	wire_deaf(f.wire);
	wire_deaf(s.wire);
	sockets = proto_sockets(s.h.net[H1]);
	memory = proto_memory();
	slabs = usage_settled().all;
	task_start(&t, flood_main, &f);
	WAIT_FOR(f.sent > 0);
	for (nr = 0; f.sent < FLOOD; nr++) {
		p.a = dlcp_socket_in(s.h.net[H0]);
		start = now_us();
		ASSERT_OK(do_connect(p.a, addr_host(&s.h, H1, PORT)));
		took = now_us() - start;
		p.b = do_accept(lfd);
		sum += took;
		if (took > worst)
			worst = took;
		pair_close(&p);
	}
	task_join(&t);
	WAIT_FOR_LIMIT(mib(s.h.net[H1], "SetupInitReceived") >= FLOOD, 60);
	WAIT_FOR_LIMIT(proto_sockets(s.h.net[H1]) == sockets, 60);
	ASSERT_GT(nr, 0);
	slabs = usage_settled().all - slabs;
	test_note("figure: during %d spoofed set-ups %d honest ones took %lld us, the worst %lld us",
		  FLOOD, nr, sum / nr, worst);
	test_note("figure: slabs grew by %lld KB, DLCP's memory by %lld pages",
		  slabs / KB, proto_memory() - memory);
	EXPECT_LE(proto_memory(), memory + 8);
	EXPECT_LE(slabs, 2 * MB);
	if (in_virtual_time())
		EXPECT_LT(worst, 50000);
	nothing_changed(&s);
}

/* --- idle */

static void more_files(int nr)
{
	struct rlimit lim = { nr, nr };

	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &lim));
}

static struct usage say_usage(const char *what, struct usage from)
{
	struct usage to = usage_settled();

	test_note("figure: %s: %lld bytes of each end of a connection, %lld with its file and inode",
		  what, (to.own - from.own) / (2 * IDLE),
		  (to.all - from.all) / (2 * IDLE));
	return to;
}

/* Connections of one host to another, with all that belongs to them */
TEST_LIMIT(idle_connections, 120)
{
	/* The socket, of which eight share 32 KiB, and an eighth of that beside it */
	const long long idle_limit = (4096 + 512LL) * 2 * IDLE;
	struct pair *p = calloc(IDLE, sizeof(*p));
	struct usage before, now;
	struct hosts h;
	int i, lfd;

	more_files(2 * IDLE + 100);
	hosts_open(&h);
	lfd = listen_in(h.net[H1], addr_host(&h, H1, PORT));
	before = usage_settled();
	for (i = 0; i < IDLE; i++) {
		p[i].a = dlcp_socket_in(h.net[H0]);
		ASSERT_OK(do_connect(p[i].a, addr_host(&h, H1, PORT)));
		p[i].b = do_accept(lfd);
	}
	now = say_usage("set up", before);
	EXPECT_LE(now.own - before.own, idle_limit);
	for (i = 0; i < IDLE; i++)
		ping_pong(&p[i]);
	/* what was needed for traffic is kept for a second, and little longer */
	WAIT_FOR_LIMIT(usage_now().own - now.own <= 256LL * 2 * IDLE, 30);
	now = say_usage("used and idle again", before);
	EXPECT_LE(now.own - before.own, idle_limit);
	for (i = 0; i < IDLE; i++)
		pair_close(&p[i]);
	WAIT_FOR_LIMIT(!proto_sockets(h.net[H0]), 60);
}

/* --- answers that a peer does not acknowledge */

/* The liar asks again and again how a message ended. Each answer has to be acknowledged,
 * and waits: no more of them than security.md states, in a ring of no more than that.
 */
TEST_LIMIT(never_acknowledges, 120)
{
	int nr = in_virtual_time() ? 5 * 16384 : 3000, i;
	struct linger at_once = { .l_onoff = 1 };
	long long slabs, pinned, packets;
	u8 offer[8] = { 0 };
	struct scene s;

	if (!strcmp(getenv("DLCP_LAB_DEBUG") ?: "", "yes"))
		SKIP("KASAN and kmemleak keep slabs of their own");
	hosts_open(&s.h);
	sysctl_set(s.h.net[H1], "dead_ms", 60000);
	scene_begin(&s);
	silence(&s);
	slabs = usage_settled().all;
	packets = mib(s.h.net[H1], "TxPackets");
	for (i = 0; i < nr; i++)
		lie_frame(&s, F_OFFER, offer, sizeof(offer), 0);
	pinned = usage_settled().all - slabs;
	packets = mib(s.h.net[H1], "TxPackets") - packets;
	test_note("figure: %lld bytes, for %lld answers", pinned, packets);
	EXPECT_EQ(info_of(s.p.b).state, DLCP_ESTABLISHED);
	EXPECT_GE(pinned, 32 * (nr < 16384 ? nr : 16384));
	EXPECT_LE(pinned, MB + 64 * KB);
	ASSERT_OK(setsockopt(s.p.b, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	pair_close(&s.p);
	WAIT_FOR(usage_settled().all - slabs < 64 * KB);
	EXPECT_EQ(proto_memory(), 0);
}
