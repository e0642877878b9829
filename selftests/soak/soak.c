// SPDX-License-Identifier: GPL-2.0
/*
 * Random traffic over random networks with random faults, scene after scene. See
 * README.md. DLCP_SOAK_SECONDS, DLCP_SOAK_SEED, DLCP_SOAK_SCENE say how long, which.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

enum { LANES_MAX = 6, FAULTS_MAX = 6 };

/* Every thread has chances of its own, all from the seed and the scene */
struct dice {
	u64 state;
};

static u64 rnd64(struct dice *d)
{
	u64 x = d->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 31) * 0xd6e8feb86659fd93ULL;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 32;
}

static u32 rnd(struct dice *d, u32 n)
{
	return rnd64(d) % n;
}

static u64 env_number(const char *name, u64 otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* --- traffic: each lane is a connection that carries messages, either way */

struct lane {
	struct pair	p;
	struct dice	d;
	struct task	t;
	int		messages;
};

struct scene {
	struct hosts	h;
	bool		lo;
	struct lane	lane[LANES_MAX];
	int		lanes;
};

static struct msg any_message(struct dice *d, u64 key)
{
	static const u32 bounds[] = { 0, 0, 1, 10, 50 };
	static const char * const kinds[] = { "i", "d", "cdi", "ddddc", "c" };
	static const int elems[] = { 1, 2, 4, 8, 12 };
	struct msg m = MSG(.len = rnd(d, 1 << (4 + rnd(d, 15))), .key = key,
			   .flags = DLCP_MSG_REPORT);

	m.loss = bounds[rnd(d, ARRAY_SIZE(bounds))] * PERCENT;
	m.elem = elems[rnd(d, ARRAY_SIZE(elems))];
	m.len = m.len / m.elem * m.elem;
	m.prio = rnd(d, DLCP_PRIO_MAX + 1);
	if (!rnd(d, 4))
		m.flags |= DLCP_MSG_EARLY_STOP;
	if (m.len && !rnd(d, 3))
		m.tags = tags_new(m.len, 1000,
				  kinds[rnd(d, ARRAY_SIZE(kinds))]);
	return m;
}

/* Bound, truth and agreement of each are looked at by pass() */
static void lane_main(void *arg)
{
	struct lane *l = arg;
	struct msg m;
	int i;

	for (i = 0; i < l->messages; i++) {
		m = any_message(&l->d, i + 1);
		if (rnd(&l->d, 3))
			pass(l->p.a, l->p.b, &m);
		else
			pass(l->p.b, l->p.a, &m);
		free(m.tags);
	}
}

static void lane_open(struct scene *s, struct lane *l, int port, u64 seed)
{
	int a = s->lo ? -1 : s->h.net[H0], b = s->lo ? -1 : s->h.net[H1];
	union addr to = s->lo ? addr_lo(port) : addr_host(&s->h, H1, port);
	int fd = dlcp_socket_in(a);

	l->d.state = seed;
	l->messages = 5 + rnd(&l->d, 40);
	ASSERT_OK(set_int(fd, DLCP_PATHS, 1 + rnd(&l->d, 4)));
	if (!rnd(&l->d, 3))
		set_buffers(fd, 20000 + rnd(&l->d, 100000));
	l->p = pair_from(fd, b, to);
	if (!rnd(&l->d, 3))
		set_buffers(l->p.b, 20000 + rnd(&l->d, 100000));
}

static void lane_close(struct lane *l)
{
	task_join(&l->t);
	check_counters(l->p.a, l->p.b);
	check_counters(l->p.b, l->p.a);
	pair_close(&l->p);
}

/* --- faults: none ends a connection */

static void any_netem(struct scene *s, struct dice *d)
{
	static const char * const how[] = {
		"loss 1%", "loss 5%", "loss 2% 25%", "duplicate 10%",
		"delay 2ms 1ms", "delay 3ms reorder 25%", "corrupt 2%",
		"rate 50mbit", "rate 20mbit loss 1%", "delay 100us",
	};

	netem(&s->h, rnd(d, 2), "%s", how[rnd(d, ARRAY_SIZE(how))]);
}

static void any_mtu(struct scene *s, struct dice *d)
{
	static const int sizes[] = { 1500, 1400, 1280, 9000 };
	int mtu = sizes[rnd(d, ARRAY_SIZE(sizes))];

	must_sh(s->h.net[H1], "ip link set eth0 mtu %d", mtu);
	if (s->h.routed)
		must_sh(s->h.net[ROUTER], "ip link set eth1 mtu %d", mtu);
	else
		must_sh(s->h.net[H0], "ip link set eth0 mtu %d", mtu);
}

/* Where nobody's default route goes with it */
static void flap(struct scene *s)
{
	int net = s->h.net[s->h.routed ? ROUTER : H1];
	const char *dev = s->h.routed ? "eth1" : "eth0";

	file_write(net, "/proc/sys/net/ipv6/conf/all/keep_addr_on_down", "1");
	must_sh(net, "ip link set %s down; ip link set %s up", dev, dev);
}

static void settings(struct scene *s, struct dice *d)
{
	int net = s->h.net[rnd(d, 2)];

	sysctl_set(net, "ack_packets", 1 + rnd(d, 64));
	sysctl_set(net, "ack_delay_us", rnd(d, 1000));
	sysctl_set(net, "nr_paths", 1 + rnd(d, DLCP_PATHS_MAX));
	sysctl_set(net, "rx_unsolicited", 10000 + rnd(d, 1000000));
}

/* A connection that is given up by either end, with messages under way */
static void stranger(struct scene *s, struct dice *d)
{
	struct linger l = { .l_onoff = rnd(d, 2) };
	struct pair p = pair_between(s->h.net[H0], s->h.net[H1],
				     addr_host(&s->h, H1, PORT + 99));

	must_send(p.a, &MSG(.len = rnd(d, 200000)));
	ASSERT_OK(setsockopt(p.b, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	if (rnd(d, 2))
		pair_close(&p);
	close(p.b);
	close(p.a);
}

static void any_fault(struct scene *s, struct dice *d)
{
	switch (s->lo ? 9 : rnd(d, 7)) {
	case 0:
	case 1:
	case 2:
		any_netem(s, d);
		break;
	case 3:
		any_mtu(s, d);
		break;
	case 4:
		flap(s);
		break;
	case 5:
		settings(s, d);
		break;
	case 6:
		stranger(s, d);
		break;
	}
	nap_ms(rnd(d, 100));
}

/* --- scenes */

static void scene_open(struct scene *s, struct dice *d)
{
	int i;

	memset(s, 0, sizeof(*s));
	family = rnd(d, 2) ? AF_INET6 : AF_INET;
	encap = rnd(d, 4) ? DLCP_ENCAP_UDP : DLCP_ENCAP_RAW;
	s->lo = !rnd(d, 5);
	if (!s->lo && rnd(d, 2))
		hosts_open_routed(&s->h);
	else if (!s->lo)
		hosts_open(&s->h);
	s->lanes = 1 + rnd(d, LANES_MAX);
	for (i = 0; i < s->lanes; i++)
		lane_open(s, &s->lane[i], PORT + i, rnd64(d));
	test_note("%s %s, %s, %d connections",
		  family == AF_INET6 ? "IPv6" : "IPv4",
		  encap == DLCP_ENCAP_RAW ? "raw" : "udp",
		  s->lo ? "lo" : s->h.routed ? "routed" : "cable", s->lanes);
}

static void scene_close(struct scene *s)
{
	int i;

	for (i = 0; i < 2 && !s->lo; i++)
		netem(&s->h, i, "delay 1us");
	for (i = 0; i < s->lanes; i++)
		lane_close(&s->lane[i]);
	for (i = 0; i < 2; i++)
		WAIT_FOR_LIMIT(!proto_sockets(s->lo ? -1 : s->h.net[i]), 30);
	WAIT_FOR_LIMIT(!proto_memory(), 30);
}

static void scene_main(u64 seed, u64 nr)
{
	struct dice d = { seed * 1000003 + nr };
	static struct scene s;
	int i, faults;

	alarm(120 * slowness);
	test_setup();
	scene_open(&s, &d);
	for (i = 0; i < s.lanes; i++)
		task_start(&s.lane[i].t, lane_main, &s.lane[i]);
	faults = rnd(&d, FAULTS_MAX + 1);
	for (i = 0; i < faults; i++)
		any_fault(&s, &d);
	scene_close(&s);
}

TEST_LIMIT(soak, 10000000)
{
	long long end = now_ms() + 1000 * env_number("DLCP_SOAK_SECONDS", 60);
	u64 seed = env_number("DLCP_SOAK_SEED", 1);
	u64 nr = env_number("DLCP_SOAK_SCENE", 0), first = nr;
	int status;
	pid_t pid;

	do {
		test_note("scene %llu of seed %llu", (unsigned long long)nr,
			  (unsigned long long)seed);
		pid = ASSERT_OK(fork());
		if (!pid) {
			scene_main(seed, nr);
			_exit(0);
		}
		ASSERT_OK(waitpid(pid, &status, 0));
		if (status)
			test_failed(true, "again: make soak SEED=%llu SCENE=%llu HOURS=0",
				    (unsigned long long)seed,
				    (unsigned long long)nr);
		nr++;
	} while (now_ms() < end);
	test_note("%llu scenes", (unsigned long long)(nr - first));
}
