// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that no other program here makes; Documentation/faults.md has the list of
 * all. After each: the right error or none, nothing left, counters that add up.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib.h"

static unsigned int seed = 1;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

/* --- addresses and routes */

static void addresses(struct hosts *h, int host, const char *what)
{
	must_sh(h->net[host], "ip addr %s 10.0.0.%d/24 dev eth0; "
		"ip addr %s fd00::%d/64 dev eth0 %s", what, host + 1, what,
		host + 1, what[0] == 'a' ? "nodad" : "");
}

/* The sender's, then the receiver's address goes, and comes back */
TEST_LIMIT(address_removed, 40)
{
	struct underway u = {
		.m = MSG(.len = MB, .flags = DLCP_MSG_REPORT),
	};
	int i;

	hosts_open(&u.h);
	underway_start(&u, "8mbit");
	for (i = 0; i < 2; i++) {
		underway_wait(&u, 50000);
		ASSERT(i || !u.t.done);
		addresses(&u.h, i, "del");
		addresses(&u.h, i, "add");
	}
	task_join(&u.t);
	check_counters(u.p.a, u.p.b);
}

/* --- ends that do nothing */

struct quiet {
	struct hosts	h;
	struct pair	p;
};

enum { DEAD = 400 };

/* Both ends ask for a sign of life soon */
static void quiet_hosts(struct quiet *q)
{
	int i;

	hosts_open(&q->h);
	for (i = 0; i < 2; i++)
		sysctl_set(q->h.net[i], "keepalive_ms", 100);
}

/* Silence of so many ms means death, to both */
static void dead_after(const struct quiet *q, int ms)
{
	ASSERT_OK(set_int(q->p.a, DLCP_DEAD_MS, ms));
	ASSERT_OK(set_int(q->p.b, DLCP_DEAD_MS, ms));
}

static void quiet_pair(struct quiet *q)
{
	int on = 1;

	q->p = pair_hosts(&q->h);
	dead_after(q, DEAD);
	ASSERT_OK(setsockopt(q->p.b, SOL_SOCKET, SO_KEEPALIVE, &on,
			     sizeof(on)));
}

static void quiet_open(struct quiet *q)
{
	quiet_hosts(q);
	quiet_pair(q);
}

/* Longer than a peer that does not answer would be taken for alive */
static void outlive(void)
{
	long long start = now_ms();

	WAIT_FOR(now_ms() > start + 3 * DEAD);
}

/* More than all buffers and what may be sent unasked */
#define LARGE	MB

static void child_sends_large(void *arg)
{
	struct msg m = MSG(.len = LARGE, .key = 1);

	must_send(*(int *)arg, &m);
}

/* A sender suspended half-way holds up its message, and nothing else */
TEST(sender_suspended)
{
	struct msg large = MSG(.len = LARGE, .key = 1);
	struct msg small = MSG(.len = 5000, .key = 2);
	struct quiet q;
	struct got g;
	pid_t pid;

	quiet_open(&q);
	netem(&q.h, H0, "rate 8mbit");
	set_buffers(q.p.a, 50000);
	pid = spawn(child_sends_large, &q.p.a, q.p.b);
	WAIT_FOR(info_of(q.p.b).rx_delivered > 10000);
	ASSERT_OK(kill(pid, SIGSTOP));
	outlive();
	EXPECT_EQ(info_of(q.p.b).state, DLCP_ESTABLISHED);
	pass(q.p.b, q.p.a, &small);
	ASSERT_OK(kill(pid, SIGCONT));
	got_init(&g, LARGE);
	ASSERT_OK(recv_key(q.p.b, &g, 1, 0));
	check_got(&large, &g);
	ASSERT_OK(waitpid(pid, NULL, 0));
	check_counters(q.p.a, q.p.b);
}

static void child_receives_large(void *arg)
{
	struct msg m = MSG(.len = LARGE, .key = 1);
	struct got g;

	got_init(&g, LARGE);
	ASSERT_OK(recv_key(*(int *)arg, &g, 1, 0));
	check_got(&m, &g);
}

TEST(receiver_suspended)
{
	struct msg large = MSG(.len = LARGE, .key = 1);
	struct sending s;
	struct quiet q;
	struct task t;
	bool in_time;
	pid_t pid;

	quiet_open(&q);
	netem(&q.h, H0, "rate 8mbit");
	set_buffers(q.p.a, 50000);
	set_buffers(q.p.b, 50000);
	pid = spawn(child_receives_large, &q.p.b, q.p.a);
	s = (struct sending){ q.p.a, &large };
	task_start(&t, sending_main, &s);
	WAIT_FOR(info_of(q.p.b).rx_delivered > 10000);
	ASSERT_OK(kill(pid, SIGSTOP));
	in_time = info_of(q.p.b).rx_delivered < LARGE / 2;
	outlive();
	EXPECT(!t.done || !in_time);
	ASSERT_OK(kill(pid, SIGCONT));
	task_join(&t);
	ASSERT_OK(waitpid(pid, NULL, 0));
	check_counters(q.p.a, q.p.b);
}

/* A peer that reads nothing for long, but lives, is waited for */
TEST(receiver_never_reads)
{
	struct msg m = MSG(.len = LARGE, .key = 1);
	struct sending s = { .m = &m };
	struct quiet q;
	struct task t;
	struct got g;

	quiet_open(&q);
	/* Each packet by itself: much more memory than what is in it */
	no_gso(&q.h, H0);
	set_buffers(q.p.a, 50000);
	set_buffers(q.p.b, 30000);
	s.fd = q.p.a;
	task_start(&t, sending_main, &s);
	WAIT_FOR(task_sleeps(&t) && info_of(q.p.b).rx_delivered > 0);
	outlive();
	EXPECT(!t.done);
	EXPECT_EQ(info_of(q.p.a).state, DLCP_ESTABLISHED);
	got_init(&g, LARGE);
	ASSERT_OK(recv_any(q.p.b, &g, 0));
	check_got(&m, &g);
	task_join(&t);
	check_counters(q.p.a, q.p.b);
}

/* The same, of messages that take far more memory than they have bytes */
TEST(small_messages_never_read)
{
	struct msg m = MSG(.len = 20);
	const int nr = 500;
	struct quiet q;
	struct got g;
	int i;

	quiet_hosts(&q);
	sysctl_set(q.h.net[H1], "rx_unsolicited", 16384);
	no_gso(&q.h, H0);
	quiet_pair(&q);
	set_buffers(q.p.b, 20000);
	for (i = 0; i < nr; i++)
		must_send(q.p.a, &m);
	/* What is refused is told as marked */
	WAIT_FOR(info_of(q.p.a).ce_marks > 0);
	outlive();
	EXPECT_EQ(info_of(q.p.a).state, DLCP_ESTABLISHED);
	/* Slow kernels read for long, and answer nobody meanwhile */
	dead_after(&q, 20000);
	got_init(&g, m.len);
	for (i = 0; i < nr; i++)
		ASSERT_OK(recv_any(q.p.b, &g, 0));
	check_counters(q.p.a, q.p.b);
}

/* --- the clock on the wall */

static void jump(int seconds)
{
	struct timespec ts;

	ASSERT_OK(clock_gettime(CLOCK_REALTIME, &ts));
	ts.tv_sec += seconds;
	ASSERT_OK(clock_settime(CLOCK_REALTIME, &ts));
}

/* Arrivals are stamped with it */
TEST_LIMIT(clock_jumps, 40)
{
	static const int by[] = { 86400, -3600, 1, -82801 };	/* 0 in all */
	struct underway u = {
		.m = MSG(.len = 2 * MB, .flags = DLCP_MSG_REPORT),
	};
	struct dlcp_info info;
	int i;

	if (in_virtual_time())
		SKIP("the clock there is not the wall's");
	hosts_open(&u.h);
	underway_start(&u, "16mbit");
	for (i = 0; i < ARRAY_SIZE(by); i++) {
		underway_wait(&u, 20000);
		ASSERT(i || !u.t.done);
		jump(by[i]);
	}
	task_join(&u.t);
	check_counters(u.p.a, u.p.b);
	info = info_of(u.p.a);
	EXPECT_GT(info.srtt_ns, 0);
	EXPECT_LT(info.srtt_ns, 1000000000);
	EXPECT_LT(info.min_rtt_ns, 1000000000);
	ping_pong(&u.p);
}

/* --- the machine stands still */

#define PAUSE	"/run/lab/pause"	/* the lab reads it */

static bool clock_jumped(long long *last, int ms)
{
	long long now = now_ms(), step = now - *last;

	*last = now;
	return step > ms;
}

/* With everything in it but the clock; returns when it goes on */
static void pause_machine(int seconds)
{
	int fd = ASSERT_OK(open(PAUSE, O_WRONLY | O_APPEND | O_CLOEXEC));
	long long last = now_ms();

	ASSERT_OK(dprintf(fd, "%d\n", seconds));
	ASSERT_OK(fsync(fd));
	close(fd);
	WAIT_FOR_LIMIT(clock_jumped(&last, seconds * 500), 60);
}

struct paused {
	struct hosts	h;
	int		lfd;
	int		fd;		/* its set-up is under way */
	struct pair	orphan;		/* a is closed, with data to send */
	struct msg	m;
};

static void paused_open(struct paused *p, int dead_ms)
{
	int i;

	hosts_open(&p->h);
	for (i = 0; i < 2; i++)
		sysctl_set(p->h.net[i], "dead_ms", dead_ms);
	p->lfd = listen_in(p->h.net[H1], addr_host(&p->h, H1, PORT));
	p->orphan.a = dlcp_socket_in(p->h.net[H0]);
	ASSERT_OK(do_connect(p->orphan.a, addr_host(&p->h, H1, PORT)));
	p->orphan.b = do_accept(p->lfd);
}

/* What nobody hears until the machine was paused */
static void paused_begin(struct paused *p)
{
	netem(&p->h, H0, "loss 100%%");
	p->m = MSG(.len = 10 * KB);
	must_send(p->orphan.a, &p->m);
	close(p->orphan.a);
	p->fd = dlcp_socket_in(p->h.net[H0]);
	ASSERT_OK(fcntl(p->fd, F_SETFL, O_NONBLOCK));
	ASSERT_ERR(do_connect(p->fd, addr_host(&p->h, H1, PORT)), EINPROGRESS);
}

static void paused_goes_on(struct paused *p)
{
	struct got g;

	netem(&p->h, H0, "loss 0%%");
	ASSERT(poll_for(p->fd, POLLOUT, 10000 * slowness) & POLLOUT);
	EXPECT_EQ(sock_error(p->fd), 0);
	ASSERT_OK(fcntl(p->fd, F_SETFL, 0));
	ping_pong(&(struct pair){ p->fd, do_accept(p->lfd) });
	got_init(&g, p->m.len);
	ASSERT_OK(recv_any(p->orphan.b, &g, 0));
	check_got(&p->m, &g);
	got_free(&g);
}

/* For longer than a silent peer is taken for alive: under traffic, idle, while a
 * connection is made, and while data is sent that was left behind
 */
TEST_LIMIT(machine_paused, 60)
{
	struct underway u = {
		.m = MSG(.len = 3 * MB, .flags = DLCP_MSG_REPORT),
	};
	/* What is lost before the pause and after it counts. More than 20 s at once are too
	 * much for the clock of some emulated machines.
	 */
	int slow = slowness > 4 ? 2 : 1, dead_ms = 4000 * slow;
	struct paused p;
	struct quiet q;

	if (in_virtual_time() || access(PAUSE, W_OK))
		SKIP("nobody here stops the machine");
	quiet_open(&q);
	dead_after(&q, dead_ms);
	paused_open(&p, dead_ms);
	hosts_open(&u.h);
	underway_start(&u, slow > 1 ? "2mbit" : "4mbit");
	dead_after(&(struct quiet){ .p = u.p }, dead_ms);
	underway_wait(&u, 20000);
	paused_begin(&p);
	pause_machine(9 * slow);
	EXPECT(!u.t.done);
	paused_goes_on(&p);
	ping_pong(&q.p);
	task_join(&u.t);
	check_counters(u.p.a, u.p.b);
}

/* --- many, and at random moments */

/* Ten thousand where that takes seconds */
TEST_LIMIT(thousands_come_and_go, 60)
{
	int lfd = listen_in(-1, addr_lo(PORT)), i, nr;
	struct msg m = MSG(.len = 100);
	struct pair p;

	nr = slowness == 1 ? 10000 : 200;
	for (i = 0; i < nr; i++) {
		p.a = dlcp_socket();
		ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
		p.b = do_accept(lfd);
		if (i % 16 == 0)
			pass(p.a, p.b, &m);
		pair_close(&p);
	}
	p.a = dlcp_socket();
	ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
	p.b = do_accept(lfd);
	ping_pong(&p);
	pair_close(&p);
	close(lfd);
	WAIT_FOR_LIMIT(!proto_sockets(-1) && !proto_memory(), 20);
}

/* Between a child and its parent */
static struct shared {
	unsigned int	steps;		/* so far has the child come */
	bool		enough;		/* it may end */
} *shared;

static void shared_open(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(shared != MAP_FAILED);
}

static void step(void)
{
	__atomic_add_fetch(&shared->steps, 1, __ATOMIC_RELEASE);
}

static void child_is_busy(void *arg)
{
	struct msg m = MSG(.len = 40000);
	struct pair p[3];
	struct got g;
	int i;

	test_setup();	/* a name space of its own, which dies with it */
	step();
	got_init(&g, m.len);
	for (i = 0; i < 3; i++) {
		p[i] = pair_between(-1, -1, addr_lo(PORT + i));
		step();
		must_send(p[i].a, &m);
	}
	for (i = 0;; i++, step()) {
		must_send(p[i % 3].a, &m);
		ASSERT_OK(recv_any(p[i % 3].b, &g, 0));
		if (i % 7 == 0) {
			pair_close(&p[i % 3]);
			p[i % 3] = pair_between(-1, -1, addr_lo(PORT + 3));
			must_send(p[i % 3].a, &m);
		}
	}
}

/* At any step of theirs, and within it: a step takes as long as the machine needs */
TEST_LIMIT(name_spaces_die_at_random, 60)
{
	unsigned int due;
	pid_t pid;
	int i;

	shared_open();
	for (i = 0; i < 15; i++) {
		shared->steps = 0;
		due = rnd(12);
		pid = spawn(child_is_busy, NULL, -1);
		WAIT_FOR(__atomic_load_n(&shared->steps, __ATOMIC_ACQUIRE) >=
			 due);
		nap_ms(rnd(10));
		ASSERT_OK(kill(pid, SIGKILL));
		ASSERT_OK(waitpid(pid, NULL, 0));
	}
	WAIT_FOR_LIMIT(!proto_memory(), 20);
}

/* Sockets for a moment, and for another one none, if the module is there */
static void child_comes_and_goes(void *arg)
{
	union addr to = addr_lo(PORT);
	char buf[3000] = { 0 };
	int lfd, fd;

	while (!__atomic_load_n(&shared->enough, __ATOMIC_ACQUIRE)) {
		/* or the kernel would look for it on disk, which takes long */
		WAIT_FOR(!access("/sys/module/dlcp", F_OK));
		lfd = socket(family, SOCK_DLCP, 0);
		fd = socket(family, SOCK_DLCP, 0);
		set_int(lfd, DLCP_ENCAP, encap);
		set_int(fd, DLCP_ENCAP, encap);
		do_bind(lfd, to);
		listen(lfd, 5);
		if (!do_connect(fd, to))
			send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
		close(lfd);
		close(fd);
		nap_ms(rnd(20));
	}
}

static void reload(void)
{
	ASSERT_OK(module_load(encap == DLCP_ENCAP_RAW ? "raw=1" : ""));
}

/* It goes or it does not, and in the end it does */
static bool try_to_remove(void)
{
	HERE();
	if (!module_unload())
		return true;
	ASSERT(errno == EAGAIN || errno == EBUSY);
	return false;
}

/* Until it went often enough, and often enough was in use */
TEST_LIMIT(module_removed_at_random, 60)
{
	int gone = 0, in_use = 0;
	struct pair p;
	pid_t pid;

	if (!module_path())
		SKIP("the module may only be removed in the lab");
	shared_open();
	pid = spawn(child_comes_and_goes, NULL, -1);
	while (gone < 3 || in_use < 3) {
		if (try_to_remove()) {
			gone++;
			nap_ms(rnd(5));
			reload();
		} else {
			in_use++;
		}
		/* The child is as slow as the machine */
		nap_ms(rnd(5 * slowness));
	}
	test_note("figure: removed %d times, in use %d times", gone, in_use);
	__atomic_store_n(&shared->enough, true, __ATOMIC_RELEASE);
	ASSERT_OK(waitpid(pid, NULL, 0));
	WAIT_FOR_LIMIT(try_to_remove(), 20);
	reload();
	p = pair_between(-1, -1, addr_lo(PORT + 1));
	ping_pong(&p);
}

/* --- memory and processors taken away */

#define CGROUPS	"/sys/fs/cgroup"
#define CGROUP	CGROUPS "/dlcp-limit"

static void enter_cgroup(const char *group)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	snprintf(text, sizeof(text), "%d", getpid());
	ASSERT_OK(file_write(-1, path, text));
}

static long long cgroup_use(void)
{
	char *text = file_read(-1, CGROUP "/memory.current");
	long long n = text ? atoll(text) : -1;

	free(text);
	return n;
}

#define BULK	(3 * MB)

static u8 *bulk;

static void bulk_send(void *arg)
{
	ASSERT_EQ(send(*(int *)arg, bulk, BULK, MSG_NOSIGNAL), BULK);
}

/* What does not fit waits, and nothing gets lost; and who has nothing in memory
 * gets on, though the others have all of it. The cgroup has the sockets made in
 * it, but not this process: its own memory shall not run out.
 */
TEST_LIMIT(cgroup_limit_reached, 60)
{
	struct msg m = MSG(.len = BULK);
	enum { NR = 4 };
	struct task t[NR];
	struct pair p[NR];
	struct got g;
	int i;

	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		SKIP("no control groups here");
	if (file_write(-1, CGROUP "/memory.max", "8M"))
		SKIP("no memory cgroup here");
	got_init(&g, m.len);
	bulk = malloc(BULK);
	fill(bulk, BULK, 0);
	enter_cgroup(CGROUP);
	for (i = 0; i < NR; i++)
		p[i] = pair_between(-1, -1, addr_lo(PORT + i));
	enter_cgroup(CGROUPS);
	for (i = 1; i < NR; i++)
		task_start(&t[i], bulk_send, &p[i].a);
	WAIT_FOR(cgroup_use() > 7 * MB + 512 * KB);
	task_start(&t[0], bulk_send, &p[0].a);
	for (i = 0; i < NR; i++) {
		memset(g.buf, CANARY, g.size);
		ASSERT_OK(recv_any(p[i].b, &g, 0));
		check_got(&m, &g);
	}
	for (i = 0; i < NR; i++) {
		task_join(&t[i]);
		check_counters(p[i].a, p[i].b);
	}
}

#define CPU	"/sys/devices/system/cpu/cpu1/online"

TEST_LIMIT(processor_unplugged, 60)
{
	struct msg m[2];
	struct passing there[2];
	struct task t[2];
	struct pair p[2];
	u64 at;
	int i;

	if (access(CPU, W_OK))
		SKIP("there is no second processor");
	for (i = 0; i < 2; i++) {
		p[i] = pair_between(-1, -1, addr_lo(PORT + i));
		m[i] = MSG(.len = MB, .flags = DLCP_MSG_REPORT);
		there[i] = (struct passing){ p[i].a, p[i].b, &m[i],
					     .again = true };
		task_start(&t[i], passing_main, &there[i]);
	}
	for (i = 0; i < 4; i++) {
		at = info_of(p[i % 2].b).rx_delivered;
		if (file_write(-1, CPU, i % 2 ? "1" : "0")) {
			ASSERT(i == 0);
			SKIP("it cannot be unplugged");
		}
		/* with one processor, and with both again */
		WAIT_FOR(info_of(p[i % 2].b).rx_delivered > at + MB);
	}
	for (i = 0; i < 2; i++) {
		passing_end(&there[i], &t[i]);
		check_counters(p[i].a, p[i].b);
	}
}
