// SPDX-License-Identifier: GPL-2.0
/*
 * Promises 7 and 8 of protocol.md where they meet: with the memory of the protocol, or
 * of a control group, used up, nothing waits for ever and nothing fails that could
 * go on.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define PAGE		4096

/* net.dlcp.mem is a setting of the first name space, which is that of process 1 */
#define SET_MEM	"nsenter -t 1 -n sh -c 'echo %lld %lld %lld" \
		" >/proc/sys/net/dlcp/mem'"

static void set_limits(long long low, long long pressure, long long high)
{
	must_sh(-1, SET_MEM, low, pressure, high);
}

/* About those of a machine of 1 GiB. Put back whatever becomes of a test. */
static void set_normal(void)
{
	set_limits(50000, 80000, 100000);
}

struct limited {
	void	(*fn)(void *);
	void	*arg;
};

static void limited_main(void *arg)
{
	struct limited *l = arg;

	/* The tests' own watchdog knows nothing of children */
	alarm(100 * slowness);
	l->fn(l->arg);
}

/* @fn has to end, and well, with no more than so many pages for the protocol */
static void with_limits(long long low, long long pressure, long long high,
			void (*fn)(void *), void *arg)
{
	struct limited l = { fn, arg };
	int status = -1;
	pid_t pid;

	set_limits(low, pressure, high);
	pid = spawn(limited_main, &l, -1);
	waitpid(pid, &status, 0);
	set_normal();
	if (status)
		test_note("with mem %lld %lld %lld", low, pressure, high);
	EXPECT_EQ(status, 0);
}

/* --- progress */

struct flow {
	int		fd;
	struct msg	m;
	int		nr;
};

static void flow_out(void *arg)
{
	struct flow *f = arg;
	int i;

	for (i = 0; i < f->nr; i++)
		must_send(f->fd, &f->m);
}

static void flow_in(void *arg)
{
	struct flow *f = arg;
	struct got g;
	int i;

	got_init(&g, f->m.len);
	for (i = 0; i < f->nr; i++) {
		ASSERT_OK(recv_any(f->fd, &g, 0));
		check_got(&f->m, &g);
	}
	got_free(&g);
}

struct crowd {
	int		nr;	/* connections */
	struct pair	*p;
	struct msg	m;
	int		msgs;
	void		(*in)(struct crowd *c);	/* one reads all; NULL: each has a reader */
};

/* Who is not read from yet has the memory, and who is waits for it */
static void crowd_in_turn(struct crowd *c)
{
	struct flow f;
	int i;

	for (i = 0; i < c->nr; i++) {
		f = (struct flow){ c->p[i].b, c->m, c->msgs };
		flow_in(&f);
	}
}

/* Nobody waits for a message before it is there */
static void crowd_polled(struct crowd *c)
{
	struct pollfd *p = calloc(c->nr, sizeof(*p));
	int i, left = c->nr * c->msgs;
	struct flow f;

	for (i = 0; i < c->nr; i++)
		p[i] = (struct pollfd){ c->p[i].b, POLLIN };
	while (left) {
		ASSERT_GT(poll(p, c->nr, 20000 * slowness), 0);
		for (i = 0; i < c->nr; i++) {
			if (!p[i].revents)
				continue;
			f = (struct flow){ c->p[i].b, c->m, 1 };
			flow_in(&f);
			left--;
		}
	}
	free(p);
}

static void crowd_main(void *arg)
{
	struct crowd *c = arg;
	struct task *t = calloc(2 * c->nr, sizeof(*t));
	struct flow *f = calloc(2 * c->nr, sizeof(*f));
	int i, n = 0;

	for (i = 0; i < c->nr; i++) {
		f[n] = (struct flow){ c->p[i].a, c->m, c->msgs };
		task_start(&t[n], flow_out, &f[n]);
		n++;
		if (c->in)
			continue;
		f[n] = (struct flow){ c->p[i].b, c->m, c->msgs };
		task_start(&t[n], flow_in, &f[n]);
		n++;
	}
	if (c->in)
		c->in(c);
	for (i = 0; i < n; i++)
		task_join(&t[i]);
}

static void crowd_open(struct crowd *c)
{
	int i;

	c->p = calloc(c->nr, sizeof(*c->p));
	for (i = 0; i < c->nr; i++)
		c->p[i] = pair_between(-1, -1, addr_lo(PORT + i));
}

/* Limits in the form that an operator writes */
static void crowd_passes(struct crowd *c, long long pages)
{
	long long start = now_ms();
	int i;

	with_limits(pages / 2, pages * 3 / 4, pages, crowd_main, c);
	test_note("%d connections, %lld pages: %lld ms", c->nr, pages,
		  now_ms() - start);
	for (i = 0; i < c->nr; i++)
		check_counters(c->p[i].a, c->p[i].b);
}

enum { SWEPT = 3 };

static const long long scarce[SWEPT] = { 2, 100, 1000 };
/* From none to as much as all of 64 want */
static const long long plenty[SWEPT] = { 2, 1500, 100000 };

static void crowd_sweep(struct crowd *c, const long long *limits)
{
	int i;

	crowd_open(c);
	for (i = 0; i < SWEPT; i++)
		crowd_passes(c, limits[i]);
}

TEST_LIMIT(one_connection, 120)
{
	struct crowd c = { .nr = 1, .m = MSG(.len = MB), .msgs = 3 };

	crowd_sweep(&c, scarce);
	with_limits(300, 300, 300, crowd_main, &c);
	with_limits(1, 1, 100000, crowd_main, &c);
}

TEST_LIMIT(small_messages, 120)
{
	struct crowd c = { .nr = 2, .m = MSG(.len = 700), .msgs = 500 };

	crowd_sweep(&c, scarce);
}

TEST_LIMIT(eight_connections, 120)
{
	struct crowd c = { .nr = 8, .m = MSG(.len = 400000), .msgs = 2 };

	crowd_sweep(&c, scarce);
}

TEST_LIMIT(sixty_four_connections, 120)
{
	struct crowd c = { .nr = 64, .m = MSG(.len = 200000), .msgs = 1 };

	crowd_sweep(&c, scarce);
}

/* Senders ask again the more seldom the longer nobody reads. A reader that comes tells them. */
TEST_LIMIT(twenty_four_senders, 120)
{
	struct crowd c = {
		.nr = 24, .m = MSG(.len = 100000), .msgs = 1, .in = crowd_in_turn,
	};

	crowd_sweep(&c, plenty);
}

TEST_LIMIT(sixty_four_senders, 120)
{
	struct crowd c = {
		.nr = 64, .m = MSG(.len = 20000), .msgs = 1, .in = crowd_polled,
	};

	crowd_sweep(&c, plenty);
}

/* Longer than all the memory there is */
TEST_LIMIT(longer_than_all_memory, 120)
{
	struct crowd c = { .nr = 2, .m = MSG(.len = 12 * MB), .msgs = 1 };

	crowd_open(&c);
	crowd_passes(&c, 50);
	crowd_passes(&c, 1000);
}

/* --- full of what nobody reads */

/* Until the limit stops it. Result: how many */
/* With at most 300 pages for the protocol, and what each processor keeps out of
 * the account
 */
static int send_until_refused(int fd, const struct msg *m)
{
	long long pages = 300 + 256 * sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0;

	while (send_msg(fd, m, MSG_DONTWAIT) >= 0)
		n++;
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_LT(n * m->len, pages * PAGE);
	return n;
}

static void read_all(int fd, const struct msg *m, int n)
{
	struct got g;

	got_init(&g, m->len);
	while (n--) {
		ASSERT_OK(recv_any(fd, &g, 0));
		check_got(m, &g);
	}
	got_free(&g);
}

struct by_key {
	int		fd;
	struct msg	m;
};

static void by_key_main(void *arg)
{
	struct by_key *k = arg;
	struct got g;

	got_init(&g, k->m.len);
	ASSERT_OK(recv_key(k->fd, &g, k->m.key, 0));
	check_got(&k->m, &g);
	got_free(&g);
}

/* Of all lengths, each to a reader that waits for it */
static void pass_by_key(const struct pair *p)
{
	static const size_t lens[] = { 1, 5000, 100000, 3000 * KB };
	struct by_key k;
	struct task t;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		k = (struct by_key){ p->b, MSG(.len = lens[i], .key = 100 + i) };
		task_start(&t, by_key_main, &k);
		must_send(p->a, &k.m);
		task_join(&t);
	}
}

static void beside_unread(void *arg)
{
	struct msg m = MSG(.len = 60000);
	struct pair *p = arg;
	int n;

	n = send_until_refused(p->a, &m);
	pass_by_key(p);
	read_all(p->b, &m, n);
}

/* A message nobody reads never stops one that is being read */
TEST_LIMIT(unread_beside_read, 120)
{
	struct pair p = pair_lo();

	with_limits(200, 250, 300, beside_unread, &p);
	check_counters(p.a, p.b);
}

/* Has the socket its minimum already, without memory for more, then a message that is being
 * read has one of its own: of one packet, too, and of one that is announced first
 */
static void reader_has_minimum(void *arg)
{
	struct msg m = MSG(.len = 60000);
	struct pair *p = arg;
	int i;

	for (i = 0; i < 2; i++)
		must_send(p->a, &m);
	WAIT_FOR(info_of(p->a).tx_msgs_done == 2);
	set_limits(1, 1, 1);
	pass_by_key(p);
	read_all(p->b, &m, 2);
}

TEST_LIMIT(reader_beside_minimum, 60)
{
	struct pair p = pair_lo();

	with_limits(50000, 80000, 100000, reader_has_minimum, &p);
	check_counters(p.a, p.b);
}

/* --- the peer is told of room */

/* Until its sender rests */
static void wait_refused(void)
{
	long long before = mib(-1, "DropNoMemory");

	WAIT_FOR_LIMIT(mib(-1, "DropNoMemory") > before + 10, 60);
}

/* More than the minimum, and nobody reads it */
static void told_by_reader(void *arg)
{
	struct pair *p = arg;
	struct flow f = { p->a, MSG(.len = 100000), 1 };
	long long told = mib(-1, "RoomUpdates");
	struct task t;

	task_start(&t, flow_out, &f);
	wait_refused();
	EXPECT_EQ(mib(-1, "RoomUpdates"), told);
	f.fd = p->b;
	flow_in(&f);
	task_join(&t);
	EXPECT_GT(mib(-1, "RoomUpdates"), told);
}

/* Return: how many came before the first that is refused */
static int send_until_denied(const struct pair *p, struct msg *m)
{
	long long refused = mib(-1, "DropNoMemory");
	int n = info_of(p->a).tx_msgs_done, nr;

	for (nr = 0;; nr++) {
		m->key = nr;
		must_send(p->a, m);
		WAIT_FOR(info_of(p->a).tx_msgs_done == n + nr + 1 ||
			 mib(-1, "DropNoMemory") > refused);
		if (mib(-1, "DropNoMemory") > refused)
			return nr;
	}
}

static void read_keys(int fd, struct msg *m, int nr)
{
	struct by_key k = { fd, *m };
	int i;

	for (i = 0; i < nr; i++) {
		k.m.key = i;
		by_key_main(&k);
	}
}

/* What is read leaves its room to another message, which nobody waits for */
static void told_when_read(void *arg)
{
	long long told = mib(-1, "RoomUpdates");
	struct msg m = MSG(.len = 30000);
	struct pair *p = arg;
	int nr = send_until_denied(p, &m);

	wait_refused();
	EXPECT_EQ(mib(-1, "RoomUpdates"), told);
	read_keys(p->b, &m, nr);
	EXPECT_GT(mib(-1, "RoomUpdates"), told);
	read_all(p->b, &m, 1);
}

/* The one of which nothing is known yet is waited for */
static void told_by_key(void *arg)
{
	long long told = mib(-1, "RoomUpdates");
	struct msg m = MSG(.len = 1000);
	struct pair *p = arg;
	int nr = send_until_denied(p, &m);
	struct by_key k = { p->b, m };

	wait_refused();
	EXPECT_EQ(mib(-1, "RoomUpdates"), told);
	by_key_main(&k);
	EXPECT_GT(mib(-1, "RoomUpdates"), told);
	read_keys(p->b, &m, nr);
}

TEST_LIMIT(sender_is_told_of_room, 120)
{
	struct pair p = pair_lo();

	with_limits(1, 1, 2, told_by_reader, &p);
	with_limits(1, 1, 2, told_when_read, &p);
	with_limits(1, 1, 2, told_by_key, &p);
	check_counters(p.a, p.b);
}

static void still_connects(void *arg)
{
	struct msg m = MSG(.len = 60000), other = MSG(.len = 200000);
	struct pair *p = arg, q;
	int n = send_until_refused(p->a, &m);

	q = pair_between(-1, -1, addr_lo(PORT + 1));
	pass(q.a, q.b, &other);
	check_counters(q.a, q.b);
	pair_close(&q);
	read_all(p->b, &m, n);
}

TEST_LIMIT(new_connections, 60)
{
	struct pair p = pair_lo();

	with_limits(200, 250, 300, still_connects, &p);
}

/* --- who is told of memory */

static int wait_edge(int ep, int ms)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, ms * slowness) == 1 ? ev.events : 0;
}

static int edges_of(int fd)
{
	struct epoll_event ev = { .events = EPOLLOUT | EPOLLET };
	int ep = epoll_create1(0);

	ASSERT_OK(ep);
	ASSERT_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	while (wait_edge(ep, 0))
		;
	return ep;
}

/* Memory is given back by the reader of this connection */
static void edge_by_reader(void *arg)
{
	struct msg m = MSG(.len = 60000);
	struct pair *p = arg;
	int ep = edges_of(p->a), n = send_until_refused(p->a, &m);

	/* no reason to try again at once */
	EXPECT_EQ(poll_for(p->a, POLLOUT, 0), 0);
	EXPECT_EQ(wait_edge(ep, 0), 0);
	read_all(p->b, &m, n);
	ASSERT(wait_edge(ep, 5000) & EPOLLOUT);
	ASSERT_OK(send_msg(p->a, &m, MSG_DONTWAIT));
	read_all(p->b, &m, 1);
}

/* ... or by others, so that nothing happens to the socket itself. The first takes
 * what one may that has some, the second the rest, and the third has nothing.
 */
static void edge_by_others(void *arg)
{
	struct msg m = MSG(.len = 60000), longer = MSG(.len = 200000);
	struct pair *p = arg;
	int ep, n = 0, nr = 0;

	ep = edges_of(p[2].a);
	for (;;) {
		n += send_until_refused(p[0].a, &m);
		nr += send_until_refused(p[1].a, &longer);
		while (wait_edge(ep, 0))
			;
		if (send_msg(p[2].a, &longer, MSG_DONTWAIT) < 0)
			break;
		/* What they had sent was acknowledged meanwhile */
		read_all(p[2].b, &longer, 1);
	}
	EXPECT_EQ(errno, EAGAIN);
	EXPECT_EQ(poll_for(p[2].a, POLLOUT, 0), 0);
	read_all(p[0].b, &m, n);
	ASSERT(wait_edge(ep, 5000) & EPOLLOUT);
	ASSERT_OK(send_msg(p[2].a, &longer, MSG_DONTWAIT));
	read_all(p[2].b, &longer, 1);
	read_all(p[1].b, &longer, nr);
}

/* ... or by the administrator */
static void edge_by_limit(void *arg)
{
	struct msg m = MSG(.len = 60000);
	struct pair *p = arg;
	int ep = edges_of(p->a), n = send_until_refused(p->a, &m);

	set_normal();
	ASSERT(wait_edge(ep, 5000) & EPOLLOUT);
	ASSERT_OK(send_msg(p->a, &m, MSG_DONTWAIT));
	read_all(p->b, &m, n + 1);
}

TEST_LIMIT(edge_after_eagain, 60)
{
	struct pair p[] = {
		pair_between(-1, -1, addr_lo(PORT)),
		pair_between(-1, -1, addr_lo(PORT + 1)),
		pair_between(-1, -1, addr_lo(PORT + 2)),
	};

	with_limits(200, 250, 300, edge_by_reader, p);
	with_limits(200, 250, 300, edge_by_others, p);
	with_limits(200, 250, 300, edge_by_limit, p);
}

/* Is all that was given back seen by who waits? */
static void edge_when_given_back(void *arg)
{
	struct msg m = MSG(.len = 200000);
	struct pair *p = arg;
	int ep = edges_of(p->a), n = send_until_refused(p->a, &m);

	read_all(p->b, &m, n);
	ASSERT(wait_edge(ep, 5000) & EPOLLOUT);
	ASSERT_OK(send_msg(p->a, &m, MSG_DONTWAIT));
	read_all(p->b, &m, 1);
}

/* A processor keeps up to 256 pages of what it took and gave back to itself. What
 * is taken in one piece and given back in many leaves it far from zero.
 */
TEST_LIMIT(edge_whatever_went_before, 120)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 0);

	for (m.len = 650000; m.len < 1000000; m.len += 100000) {
		ASSERT_OK(send_msg(p.a, &m, MSG_DONTWAIT));
		ASSERT_OK(send_msg(p.a, &m, MSG_DONTWAIT));
		read_all(p.b, &m, 2);
		with_limits(100, 120, 150, edge_when_given_back, &p);
	}
}

/* SO_SNDBUF grows with what is under way: who waits for room is told */
TEST(edge_when_the_buffer_is_set)
{
	struct msg m = MSG(.len = 20000);
	struct pair p = pair_lo();
	int ep, n = 0;
	ssize_t sent;

	set_buffers(p.a, 60000);
	ep = edges_of(p.a);
	/* Until no edge and no room is left of what was acknowledged meanwhile */
	do {
		while (wait_edge(ep, 0))
			;
		sent = send_msg(p.a, &m, MSG_DONTWAIT);
		n += sent >= 0;
	} while (sent >= 0);
	ASSERT_EQ(errno, EAGAIN);
	set_buffers(p.a, 200000);
	ASSERT(wait_edge(ep, 5000) & EPOLLOUT);
	ASSERT_OK(send_msg(p.a, &m, MSG_DONTWAIT));
	read_all(p.b, &m, n + 1);
}

/* A message whose own tables are more than the minimum waits for memory, but no
 * longer than it may
 */
static void times_out(void *arg)
{
	struct msg m = MSG(.len = 60000);
	struct pair *p = arg;
	size_t len = 150 * MB;
	long long start;
	char *map;
	int n;

	n = send_until_refused(p->a, &m);
	map = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
		   MAP_NORESERVE, -1, 0);
	ASSERT(map != MAP_FAILED);
	set_timeout(p->a, SO_SNDTIMEO, 300);
	start = now_ms();
	EXPECT_ERR(send(p->a, map, len, MSG_NOSIGNAL), EAGAIN);
	EXPECT_GE(now_ms() - start, 200);
	EXPECT_LE(now_ms() - start, 5000 * slowness);
	read_all(p->b, &m, n);
}

TEST_LIMIT(send_timeout, 60)
{
	struct pair p = pair_lo();

	with_limits(200, 250, 300, times_out, &p);
}

/* Memory that is refused is no black hole of the path: segments keep their size */
static void no_hole(void *arg)
{
	struct msg m = MSG(.len = 60000);
	struct pair *p = arg;
	u32 mtu = info_of(p->a).mtu;
	struct msg more = MSG(.len = 400000, .key = 9);
	struct sending s = { p->a, &more };
	long long refused;
	struct task t;
	struct got g;
	int n, i;

	n = send_until_refused(p->a, &m);
	refused = mib(-1, "DropNoMemory");
	task_start(&t, sending_main, &s);
	/* long enough for a black hole to be found: 5 rounds */
	WAIT_FOR_LIMIT(mib(-1, "DropNoMemory") > refused + 10 ||
		       info_of(p->a).tx_msgs_done > n, 30);
	nap_ms(1000);
	EXPECT_EQ(info_of(p->a).mtu, mtu);
	EXPECT_EQ(mib(-1, "MtuBlackHoles"), 0);
	/* In whatever order they come: the long one need not be the last */
	for (i = 0; i <= n; i++) {
		got_init(&g, more.len);
		ASSERT_OK(recv_any(p->b, &g, 0));
		check_got(g.n == (ssize_t)more.len ? &more : &m, &g);
		got_free(&g);
	}
	task_join(&t);
}

TEST_LIMIT(refused_is_no_black_hole, 60)
{
	struct pair p = pair_lo();

	with_limits(200, 250, 300, no_hole, &p);
}

/* --- memory cgroups */

#define CGROUP	"/sys/fs/cgroup/dlcp-low"

static void cgroup_main(void *arg)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "%d", getpid());
	ASSERT_OK(file_write(-1, CGROUP "/cgroup.procs", pid));
	crowd_main(arg);
}

/* The crowd's processes are in a group, whose limit leaves little for sockets */
TEST_LIMIT(control_group, 120)
{
	struct crowd c = { .nr = 4, .m = MSG(.len = MB), .msgs = 10 };
	int status = -1;
	pid_t pid;

	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		SKIP("no control groups here");
	if (file_write(-1, CGROUP "/memory.high", "max"))
		SKIP("no memory cgroup here");
	crowd_open(&c);
	ASSERT_OK(file_write(-1, CGROUP "/memory.max", "24M"));
	ASSERT_OK(file_write(-1, CGROUP "/memory.high", "12M"));
	pid = spawn(cgroup_main, &c, -1);
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
}
