// SPDX-License-Identifier: GPL-2.0
/*
 * A man in the middle who knows all tags: real traffic of two hosts crosses a
 * third one, which changes it on its way from device to device. He may spoil
 * data and end connections; the kernel must stand it, no call may hang, and
 * when he is gone all is as it was.
 *
 * What he does follows from the seed and the number of the packet alone.
 * DLCP_MANGLE_SEED and DLCP_MANGLE_ROUNDS choose others, for long runs.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "lib.h"
#include "packet.h"

/* Frames he remembers, to send again */
#define MEMORY	32

struct mangler {
	int		wire[2];	/* the third host's: to H0, to H1 */
	u32		seed;
	u64		rng;		/* anew for each packet */
	u32		share;		/* one packet of so many is changed */
	bool		stop;
	struct packet	seen[MEMORY];
	u32		nr;		/* packets that crossed */
	u32		changed;
};

static u32 below(struct mangler *x, u32 n)
{
	x->rng = x->rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (x->rng >> 33) % n;
}

/* Values at the edges of what fields hold */
static void set_edge(struct mangler *x, struct packet *p)
{
	static const u64 edges[] = { 0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff,
				     0x7fffffff, 0x80000000, 0xffffffff,
				     0x7fffffffffffffff, ~0ULL };
	u32 size = 1 << below(x, 4), at, i;
	u64 v = edges[below(x, ARRAY_SIZE(edges))];

	if (dlcp_len(p) <= AT_TYPE + size)
		return;
	/* mostly headers and frames: payload is just bytes */
	at = dlcp_len(p) - AT_TYPE - size;
	at = AT_TYPE + below(x, below(x, 4) && at > 64 ? 64 : at);
	for (i = 0; i < size; i++)
		dlcp_of(p)[at + i] = v >> 8 * (size - 1 - i);
}

static void flip_bits(struct mangler *x, struct packet *p)
{
	u32 n = 1 + below(x, 4), len = dlcp_len(p) - AT_TYPE;

	while (n--)
		dlcp_of(p)[AT_TYPE + below(x, len)] ^= 1 << below(x, 8);
}

static void change_length(struct mangler *x, struct packet *p)
{
	int room = 1514 - p->len, i;	/* what a cable carries */

	if (room <= 0 || below(x, 2)) {
		p->len = p->dlcp + AT_PN + below(x, dlcp_len(p) - AT_PN + 1);
		return;
	}
	room = 1 + below(x, room < 100 ? room : 100);
	for (i = 0; i < room; i++)
		p->frame[p->len++] = below(x, 256);
}

/* The head of one packet and the rest of another that went the same way */
static void splice(struct mangler *x, struct packet *p)
{
	struct packet *q = &x->seen[below(x, MEMORY)];
	int at;

	if (!q->len || q->out != p->out || dlcp_len(q) <= AT_PN)
		return;
	at = AT_PN + below(x, dlcp_len(q) - AT_PN);
	if (at > dlcp_len(p) || p->dlcp + dlcp_len(q) > 1514)
		return;
	memcpy(dlcp_of(p) + at, dlcp_of(q) + at, dlcp_len(q) - at);
	p->len = p->dlcp + dlcp_len(q);
}

static void mangle(struct mangler *x, struct packet *p)
{
	switch (below(x, 5)) {
	case 0:
		flip_bits(x, p);
		break;
	case 1:
		set_edge(x, p);
		set_edge(x, p);
		break;
	case 2:
		change_length(x, p);
		break;
	case 3:
		splice(x, p);
		break;
	case 4:		/* another type, perhaps a reset */
		dlcp_of(p)[AT_TYPE] = DATA + below(x, RESET + 1);
		break;
	}
}

/* To the other side: @side 0 came from H0 */
static void pass_on(struct mangler *x, struct packet *p, int side)
{
	int to = 2 - side;

	/* addresses as net.c gives them: subnet, host */
	memcpy(p->frame, (u8[]){ 2, 0, 0, 0, to, to }, 6);
	memcpy(p->frame + 6, (u8[]){ 2, 0, 0, 0, to, 254 }, 6);
	packet_fix(p);
	wire_send(x->wire[!side], p);
}

static void cross(struct mangler *x, struct packet *p, int side)
{
	struct packet *kept = &x->seen[x->nr++ % MEMORY];

	p->out = side;		/* here: the direction */
	*kept = *p;
	x->rng = ((u64)x->seed << 32 | x->nr) * 0x9e3779b97f4a7c15ULL;
	if (below(x, x->share)) {
		pass_on(x, p, side);
		return;
	}
	x->changed++;
	switch (below(x, 8)) {
	case 0:			/* lost */
		break;
	case 1:			/* twice, or an old one again */
		pass_on(x, p, side);
		*p = x->seen[below(x, MEMORY)];
		if (p->len)
			pass_on(x, p, p->out);
		break;
	default:
		mangle(x, p);
		pass_on(x, p, side);
		break;
	}
}

static void mangler_main(void *arg)
{
	static struct packet p;
	struct mangler *x = arg;
	int side;

	while (!__atomic_load_n(&x->stop, __ATOMIC_ACQUIRE))
		for (side = 0; side < 2; side++)
			if (wire_read(x->wire[side], &p, 1) && !p.out)
				cross(x, &p, side);
}

static void mangler_open(struct mangler *x, struct hosts *h)
{
	hosts_open_routed(h);
	file_write(h->net[ROUTER], "/proc/sys/net/ipv4/ip_forward", "0");
	file_write(h->net[ROUTER], "/proc/sys/net/ipv6/conf/all/forwarding",
		   "0");
	no_gso(h, H0);
	no_gso(h, H1);
	x->wire[0] = wire_open(h->net[ROUTER], "eth0");
	x->wire[1] = wire_open(h->net[ROUTER], "eth1");
}

/* --- what goes on between the hosts */

enum { DEAD = 300, WAIT = 150 };

static void prepare(int fd)
{
	ASSERT_OK(set_int(fd, DLCP_DEAD_MS, DEAD));
	set_timeout(fd, SO_RCVTIMEO, WAIT);
	set_timeout(fd, SO_SNDTIMEO, WAIT);
}

/* Whatever happens, but in time */
static void send_some(int fd, u32 seed)
{
	struct msg m;
	u32 i;

	for (i = 0; i < 4; i++) {
		m = MSG(.len = 1 + seed * (i + 1) % 30000, .key = i,
			.flags = i & 1 ? DLCP_MSG_REPORT : 0,
			.loss = i & 2 ? 10 * PERCENT : 0, .prio = i);
		if (send_msg(fd, &m, 0) < 0)
			break;
	}
}

static void recv_some(int fd)
{
	static struct sent s[8];
	struct got g;
	u32 i;

	got_init(&g, MB);
	for (i = 0; i < 8; i++)
		if (recvmsg(fd, &(struct msghdr){
				.msg_iov = &(struct iovec){ g.buf, g.size },
				.msg_iovlen = 1 }, MSG_TRUNC) <= 0)
			break;
	read_reports(fd, s, ARRAY_SIZE(s), 0);
	got_free(&g);
}

static void one_round(struct hosts *h, int lfd, u32 seed)
{
	int a = dlcp_socket_in(h->net[H0]), b = -1;

	prepare(a);
	if (!do_connect(a, addr_host(h, H1, PORT)) &&
	    poll_for(lfd, POLLIN, WAIT))
		b = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	send_some(a, seed);
	if (b >= 0) {
		prepare(b);
		send_some(b, seed / 7);
		recv_some(b);
	}
	recv_some(a);
	close(a);
	if (b >= 0)
		close(b);
}

static u32 env_number(const char *name, u32 otherwise)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : otherwise;
}

static void set_dead_ms(struct hosts *h, int ms)
{
	int i;

	for (i = H0; i <= H1; i++)
		sysctl_set(h->net[i], "dead_ms", ms);
}

TEST_LIMIT(traffic, 60)
{
	static struct mangler x;
	u32 rounds = env_number("DLCP_MANGLE_ROUNDS", 6);
	struct hosts h;
	struct pair p;
	struct task t;
	u32 i;
	int lfd;

	x.seed = env_number("DLCP_MANGLE_SEED", 1);
	x.share = ~0U;
	mangler_open(&x, &h);
	task_start(&t, mangler_main, &x);
	p = pair_hosts(&h);
	ping_pong(&p);
	pair_close(&p);
	set_dead_ms(&h, DEAD);
	lfd = listen_in(h.net[H1], addr_host(&h, H1, PORT));
	for (i = 0; i < rounds; i++) {
		x.share = 2 << i % 5;
		one_round(&h, lfd, (x.seed + i) * 7919);
	}
	close(lfd);
	x.share = ~0U;
	test_note("%u of %u packets changed", x.changed, x.nr);
	EXPECT_GT(x.changed, rounds);
	WAIT_FOR(!proto_sockets(h.net[H0]) && !proto_sockets(h.net[H1]));
	/* The honest have more time: a slow machine needs it */
	set_dead_ms(&h, 15000);
	p = pair_hosts(&h);
	ping_pong(&p);
	check_counters(p.a, p.b);
	__atomic_store_n(&x.stop, true, __ATOMIC_RELEASE);
	task_join(&t);
}
