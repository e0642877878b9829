// SPDX-License-Identifier: GPL-2.0
/*
 * MSG_ZEROCOPY: the user's pages are sent, and the notification says when they
 * are free. Here every packet ends on this machine, so that the kernel copies
 * it at the receiving end and says so; what leaves for nowhere is not copied.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

/* Neither at the beginning of a page nor of a segment */
#define ODD	1234

static u8 *buffer(const struct msg *m)
{
	u8 *map = mmap(NULL, m->len + ODD, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(map != MAP_FAILED);
	fill(map + ODD, m->len, m->key + m->seed);
	return map + ODD;
}

static void buffer_free(u8 *buf, const struct msg *m)
{
	ASSERT_OK(munmap(buf - ODD, m->len + ODD));
}

static struct pair allow(struct pair p)
{
	ASSERT_OK(set_int(p.a, DLCP_ZEROCOPY, 1));
	return p;
}

static void send_zc(int fd, const struct msg *m, const u8 *buf)
{
	ASSERT_EQ(send_bytes(fd, m, buf, MSG_ZEROCOPY), m->len);
}

static void must_recv(int fd, const struct msg *m)
{
	struct got g;

	got_init(&g, m->len);
	ASSERT_OK(recv_key(fd, &g, m->key, 0));
	check_got(m, &g);
	got_free(&g);
}

static void big_sndbuf(int fd)
{
	int bytes = 16 * MB;

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes,
			     sizeof(bytes)));
}

/* A sender and what it sends */
struct sender {
	int		fd;
	struct msg	m;
	u8		*buf;
};

static void sender_main(void *arg)
{
	struct sender *s = arg;

	send_zc(s->fd, &s->m, s->buf);
}

/* Send and receive one; Return: its notification */
static struct zerocopy pass_zc(struct pair *p, const struct msg *m)
{
	struct sender s = { p->a, *m, buffer(m) };
	struct zerocopy z;
	struct task t;

	task_start(&t, sender_main, &s);
	must_recv(p->b, m);
	task_join(&t);
	wait_zerocopy(p->a, 1, &z);
	buffer_free(s.buf, m);
	return z;
}

TEST(option)
{
	struct pair p = pair_lo();
	socklen_t len = sizeof(int);
	int val = -1;

	ASSERT_OK(getsockopt(p.a, SOL_DLCP, DLCP_ZEROCOPY, &val, &len));
	EXPECT_EQ(val, 0);
	allow(p);
	ASSERT_OK(getsockopt(p.a, SOL_DLCP, DLCP_ZEROCOPY, &val, &len));
	EXPECT_EQ(val, 1);
	ASSERT_OK(getsockopt(p.a, SOL_SOCKET, SO_ZEROCOPY, &val, &len));
	EXPECT_EQ(val, 1);
	/* without the flag nothing is told */
	pass(p.a, p.b, &MSG(.len = 100 * KB));
	EXPECT_ERR(read_zerocopy(p.a, &(struct zerocopy){}), EAGAIN);
	ASSERT_OK(set_int(p.a, DLCP_ZEROCOPY, 0));
}

TEST(sizes)
{
	static const size_t sizes[] = {
		1, 100, 1400, 16383, 16384, 20001, 65536, 100000, 300001,
		MB + 3, 4 * MB,
	};
	struct pair p = allow(pair_lo());
	struct zerocopy z;
	int i;

	/* an empty message holds no pages */
	ASSERT_EQ(send(p.a, NULL, 0, MSG_ZEROCOPY), 0);
	must_recv(p.b, &MSG());
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		z = pass_zc(&p, &MSG(.len = sizes[i], .elem = 1, .key = i));
		EXPECT_EQ(z.lo, i);
		EXPECT_EQ(z.hi, i);
		EXPECT(z.copied);
	}
	check_counters(p.a, p.b);
	EXPECT_ERR(read_zerocopy(p.a, &z), EAGAIN);
}

TEST(small_buffers)
{
	struct pair p = allow(pair_lo());

	set_buffers(p.a, 50000);
	set_buffers(p.b, 50000);
	pass_zc(&p, &MSG(.len = 4 * MB));
}

TEST(in_pieces)
{
	struct pair p = allow(pair_lo());
	struct msg m = MSG(.len = 300 * KB);
	u8 *buf = buffer(&m);
	struct iovec iov[] = {
		{ buf, 1001 }, { buf + 1001, 100 * KB },
		{ buf + 1001 + 100 * KB, m.len - 1001 - 100 * KB },
	};
	struct msghdr mh = { .msg_iov = iov, .msg_iovlen = 3 };
	struct zerocopy z;

	ASSERT_EQ(sendmsg(p.a, &mh, MSG_ZEROCOPY), m.len);
	must_recv(p.b, &m);
	wait_zerocopy(p.a, 1, &z);
	EXPECT(z.copied);
}

TEST(numbers)
{
	struct msg m = MSG(.len = 50 * KB);
	struct pair p = allow(pair_lo());
	u8 *buf = buffer(&m);
	struct zerocopy z;
	int i;

	for (i = 0; i < 10; i++)
		send_zc(p.a, &m, buf);
	for (i = 0; i < 10; i++)
		must_recv(p.b, &m);
	wait_zerocopy(p.a, 10, &z);
	EXPECT_EQ(z.lo, 0);
	EXPECT_EQ(z.hi, 9);
}

/* What is sent is not what the buffer held then, but what it holds now */
TEST(the_pages_themselves)
{
	struct msg m = MSG(.len = MB, .elem = 1);
	struct hosts h;
	struct pair p;
	struct got g;
	int zc;

	if (encap != DLCP_ENCAP_UDP)
		SKIP("everything is copied in this encapsulation");
	hosts_open(&h);
	p = allow(pair_hosts(&h));
	netem(&h, H0, "rate 8mbit");
	big_sndbuf(p.a);
	for (zc = 0; zc < 2; zc++) {
		u8 *buf = buffer(&m);

		ASSERT_EQ(send_bytes(p.a, &m, buf, zc ? MSG_ZEROCOPY : 0),
			  m.len);
		buf[m.len - 1] ^= 0xff;
		got_init(&g, m.len);
		ASSERT_OK(recv_any(p.b, &g, 0));
		EXPECT_EQ(g.buf[m.len - 1] == buf[m.len - 1], zc);
		buf[m.len - 1] ^= 0xff;
		EXPECT_EQ(memcmp(g.buf, buf, m.len - 1), 0);
		got_free(&g);
	}
}

/* The kernel has the pages, whatever becomes of the process's view of them */
TEST(unmapped_and_closed)
{
	struct msg m = MSG(.len = MB);
	struct hosts h;
	struct pair p;
	u8 *buf;

	hosts_open(&h);
	p = allow(pair_hosts(&h));
	netem(&h, H0, "rate 16mbit loss 1%%");
	big_sndbuf(p.a);
	buf = buffer(&m);
	send_zc(p.a, &m, buf);
	buffer_free(buf, &m);
	close(p.a);
	must_recv(p.b, &m);
}

static void over_a_bad_cable(struct msg *m)
{
	struct sender s;
	struct zerocopy z;
	struct hosts h;
	struct sent sent;
	struct pair p;
	struct task t;
	struct got g;

	hosts_open(&h);
	p = allow(pair_hosts(&h));
	netem(&h, H0, "loss 3%% delay 1ms 500us");
	netem(&h, H1, "loss 3%%");
	m->flags |= DLCP_MSG_REPORT;
	s = (struct sender){ p.a, *m, buffer(m) };
	task_start(&t, sender_main, &s);
	got_init(&g, m->len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(m, &g);
	task_join(&t);
	/* Pages may come back before the report is there; once it is, it is read first */
	WAIT_FOR(info_of(p.a).tx_msgs_done == 1);
	wait_report(p.a, &sent);
	check_agree(&g, &sent);
	wait_zerocopy(p.a, 1, &z);
	EXPECT_GT(info_of(p.a).tx_resent + sent.r.missing, 0);
	check_counters(p.a, p.b);
}

TEST(sent_again)
{
	over_a_bad_cable(&MSG(.len = 2 * MB));
}

TEST(bound)
{
	over_a_bad_cable(&MSG(.len = 2 * MB, .loss = 5 * PERCENT));
}

/* Segments leave in another order than they lie in memory */
TEST(tagged)
{
	struct msg m = MSG(.len = MB + 100, .loss = 5 * PERCENT);

	m.tags = tags_new(m.len, 1000, "iddcidcdi");
	over_a_bad_cable(&m);
}

TEST_LIMIT(many_at_once, 40)
{
	struct msg m = MSG(.len = 60 * KB);
	struct pair p = allow(pair_lo());
	u8 *buf = buffer(&m);
	struct zerocopy z;
	u32 over = 0;
	int i;

	for (i = 0; i < 300; i++) {
		/* net.core.optmem_max bounds what may be under way */
		while (send_bytes(p.a, &m, buf, MSG_ZEROCOPY) < 0) {
			ASSERT_EQ(errno, ENOBUFS);
			ASSERT(poll_for(p.a, 0, 5000) & POLLERR);
			ASSERT_OK(read_zerocopy(p.a, &z));
			over += z.hi - z.lo + 1;
		}
		must_recv(p.b, &m);
	}
	if (over < 300)
		wait_zerocopy(p.a, 300 - over, &z);
	check_counters(p.a, p.b);
}

TEST(bad_buffers)
{
	struct pair p = allow(pair_lo());
	struct msg m = MSG(.len = 64 * KB);
	u8 *buf = buffer(&m);

	EXPECT_ERR(send_bytes(p.a, &m, (void *)16, MSG_ZEROCOPY), EFAULT);
	ASSERT_OK(munmap(buf - ODD + 8 * 4096, 4096));
	EXPECT_ERR(send_bytes(p.a, &m, buf, MSG_ZEROCOPY), EFAULT);
	/* neither is counted */
	EXPECT_EQ(pass_zc(&p, &m).lo, 0);
	ping_pong(&p);
}

/* Nothing arrives: nothing is copied, and the pages come back all the same */
TEST(peer_is_gone)
{
	struct msg m = MSG(.len = 300 * KB, .flags = DLCP_MSG_REPORT);
	struct zerocopy z;
	struct sent sent;
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	p = allow(pair_hosts(&h));
	big_sndbuf(p.a);
	ASSERT_OK(set_int(p.a, DLCP_DEAD_MS, 500));
	ping_pong(&p);
	netem(&h, H0, "loss 100%%");
	send_zc(p.a, &m, buffer(&m));
	ASSERT(poll_for(p.a, 0, 10000 * slowness) & POLLERR);
	WAIT_FOR(info_of(p.a).state == DLCP_CLOSED);
	wait_report(p.a, &sent);
	EXPECT_EQ(sent.r.error, ETIMEDOUT);
	wait_zerocopy(p.a, 1, &z);
	EXPECT_EQ(z.copied, encap == DLCP_ENCAP_RAW);
}

static void child_sends_for_ever(void *arg)
{
	struct msg m = MSG(.len = 500 * KB);
	u8 *buf = buffer(&m);

	while (send_bytes(*(int *)arg, &m, buf, MSG_ZEROCOPY) > 0)
		;
}

TEST(killed)
{
	struct hosts h;
	struct pair p;
	struct got g;
	pid_t pid;

	hosts_open(&h);
	p = allow(pair_hosts(&h));
	netem(&h, H0, "rate 8mbit");
	pid = spawn(child_sends_for_ever, &p.a, p.b);
	close(p.a);
	WAIT_FOR(info_of(p.b).rx_delivered > 100 * KB && pid_sleeps(pid));
	ASSERT_OK(kill(pid, SIGKILL));
	ASSERT_OK(waitpid(pid, NULL, 0));
	got_init(&g, 500 * KB);
	while (recv_any(p.b, &g, 0) > 0)
		;
	close(p.b);
	WAIT_FOR(!proto_sockets(h.net[H0]) && !proto_memory());
}

TEST(reset_under_way)
{
	struct msg m = MSG(.len = MB);
	struct zerocopy z;
	struct hosts h;
	struct pair p;
	u8 *buf;

	hosts_open(&h);
	p = allow(pair_hosts(&h));
	netem(&h, H0, "rate 8mbit");
	big_sndbuf(p.a);
	buf = buffer(&m);
	send_zc(p.a, &m, buf);
	WAIT_FOR(info_of(p.b).rx_delivered > 100 * KB);
	close(p.b);
	wait_zerocopy(p.a, 1, &z);
	buffer_free(buf, &m);
}

static void child_of_nobody(void *arg)
{
	struct rlimit limit = { 256 * KB, 256 * KB };
	struct msg m = MSG(.len = MB);
	struct pair *p = arg;
	u8 *buf = buffer(&m);
	int i;

	ASSERT_OK(setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_OK(setuid(65534));
	EXPECT_ERR(send_bytes(p->a, &m, buf, MSG_ZEROCOPY), ENOBUFS);
	ASSERT_OK(send_bytes(p->a, &m, buf, 0));
	must_recv(p->b, &m);
	/* what is through is not counted any more */
	for (i = 0; i < 20; i++)
		EXPECT_EQ(pass_zc(p, &MSG(.len = 150 * KB)).lo, i);
}

TEST(locked_memory_is_a_limit)
{
	struct pair p = allow(pair_lo());
	int status;
	pid_t pid;

	big_sndbuf(p.a);
	pid = spawn(child_of_nobody, &p, -1);
	ASSERT_OK(waitpid(pid, &status, 0));
	EXPECT_EQ(status, 0);
}
