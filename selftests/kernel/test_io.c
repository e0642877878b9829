// SPDX-License-Identifier: GPL-2.0
/* What a socket programmer expects of send, recv, poll, shutdown and close */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

static const struct msg small = { .len = 1000, .key = 1, .elem = 4,
				  .prio = DLCP_PRIO_DEFAULT };

/* Receives one message of a kind and checks it */
static void must_recv(int fd, const struct msg *m)
{
	struct got g;

	got_init(&g, m->len);
	ASSERT_OK(recv_any(fd, &g, 0));
	check_got(m, &g);
	got_free(&g);
}

static void must_be_eof(int fd)
{
	struct got g;

	got_init(&g, 100);
	ASSERT_EQ(recv_any(fd, &g, 0), 0);
	EXPECT(g.eof);
	got_free(&g);
}

static void expect_epipe(int fd)
{
	struct msg m = small;

	EXPECT_ERR(send_msg(fd, &m, 0), EPIPE);
}

/* Fill the buffers of both ends; nobody reads. Returns messages. */
static int send_until_full(struct pair *p)
{
	struct msg m = MSG(.len = 50000);
	int n = 0;

	set_buffers(p->a, 100000);
	set_buffers(p->b, 100000);
	do {
		while (send_msg(p->a, &m, MSG_DONTWAIT) >= 0)
			n++;
		EXPECT_EQ(errno, EAGAIN);
	} while (poll_for(p->a, POLLOUT, 300) & POLLOUT);
	EXPECT_GT(n, 0);
	return n;
}

TEST(plain_calls)
{
	struct pair p = pair_lo();
	char out[2][100], in[300];
	struct iovec iov[2] = { { out[0], 100 }, { out[1], 100 } };

	fill(out[0], 100, 1);
	fill(out[1], 100, 2);
	EXPECT_EQ(write(p.a, out[0], 100), 100);
	EXPECT_EQ(read(p.b, in, sizeof(in)), 100);
	EXPECT(!memcmp(in, out[0], 100));
	EXPECT_EQ(send(p.a, out[0], 100, 0), 100);
	EXPECT_EQ(recv(p.b, in, sizeof(in), 0), 100);
	EXPECT(!memcmp(in, out[0], 100));
	EXPECT_EQ(writev(p.b, iov, 2), 200);
	EXPECT_EQ(readv(p.a, iov, 2), 200);
	/* a buffer in two parts is filled in order */
	fill(in, 100, 1);
	EXPECT(!memcmp(in, out[0], 100));
	fill(in, 100, 2);
	EXPECT(!memcmp(in, out[1], 100));
}

TEST(several_at_once)
{
	struct pair p = pair_lo();
	struct mmsghdr mm[5] = { 0 };
	struct iovec iov[5];
	char buf[5][100];
	int i;

	for (i = 0; i < 5; i++) {
		fill(buf[i], 100, i);
		iov[i] = (struct iovec){ buf[i], 100 - i };
		mm[i].msg_hdr.msg_iov = &iov[i];
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	ASSERT_EQ(sendmmsg(p.a, mm, 5, 0), 5);
	for (i = 0; i < 5; i++)
		iov[i].iov_len = 100;
	ASSERT_EQ(recvmmsg(p.b, mm, 5, 0, NULL), 5);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(mm[i].msg_len, 100 - i);
}

TEST(flags_that_make_no_sense)
{
	struct pair p = pair_lo();
	char buf[8] = { 0 };

	EXPECT_ERR(send(p.a, buf, sizeof(buf), MSG_OOB), EOPNOTSUPP);
	EXPECT_ERR(recv(p.b, buf, sizeof(buf), MSG_OOB | MSG_DONTWAIT),
		   EOPNOTSUPP);
	ping_pong(&p);
}

TEST(shutdown_write)
{
	struct pair p = pair_lo();

	must_send(p.a, &small);
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	expect_epipe(p.a);
	must_recv(p.b, &small);
	must_be_eof(p.b);
	must_be_eof(p.b);
	EXPECT(poll_for(p.b, POLLIN | POLLRDHUP, 0) & POLLRDHUP);
	EXPECT(!(poll_for(p.b, POLLIN, 0) & POLLHUP));
	/* the other direction is open */
	must_send(p.b, &small);
	must_recv(p.a, &small);
	EXPECT_OK(shutdown(p.a, SHUT_WR));
	ASSERT_OK(shutdown(p.b, SHUT_WR));
	must_be_eof(p.a);
	EXPECT(poll_for(p.a, POLLIN, 5000) & POLLHUP);
	EXPECT_ERR(shutdown(p.b, 7), EINVAL);
	EXPECT_EQ(sock_error(p.a), 0);
	EXPECT_EQ(sock_error(p.b), 0);
}

TEST(shutdown_read)
{
	struct pair p = pair_lo();

	ASSERT_OK(shutdown(p.b, SHUT_RD));
	must_be_eof(p.b);
	EXPECT(poll_for(p.b, POLLIN | POLLRDHUP, 0) & POLLIN);
	/* it may still send */
	must_send(p.b, &small);
	must_recv(p.a, &small);
}

static void eof_main(void *arg)
{
	must_be_eof(*(int *)arg);
}

TEST(shutdown_wakes_a_reader)
{
	struct pair p = pair_lo();
	struct task t;

	task_start(&t, eof_main, &p.b);
	WAIT_FOR(task_sleeps(&t));
	ASSERT_OK(shutdown(p.b, SHUT_RDWR));
	task_join(&t);
}

static int pushed;

static void push_main(void *arg)
{
	struct msg m = MSG(.len = 50000);

	while (send_msg(*(int *)arg, &m, MSG_NOSIGNAL) >= 0)
		pushed++;
	EXPECT_EQ(errno, EPIPE);
}

/* ... though nobody reads; and what sendmsg() took is delivered nevertheless */
TEST(shutdown_wakes_a_sender)
{
	struct msg m = MSG(.len = 50000);
	struct pair p = pair_lo();
	struct task t;
	struct got g;
	int n;

	n = send_until_full(&p);
	task_start(&t, push_main, &p.a);
	WAIT_FOR(task_sleeps(&t));
	nap_ms(100);
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	task_join(&t);
	EXPECT_GT(pushed, 0);
	got_init(&g, m.len);
	for (n += pushed; n; n--) {
		ASSERT_OK(recv_any(p.b, &g, 0));
		check_got(&m, &g);
	}
	must_be_eof(p.b);
}

static volatile int pipes;

static void on_pipe(int sig)
{
	pipes++;
}

TEST(sigpipe)
{
	struct pair p = pair_lo();

	signal(SIGPIPE, on_pipe);
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	EXPECT_ERR(send(p.a, "x", 1, MSG_NOSIGNAL), EPIPE);
	EXPECT_EQ(pipes, 0);
	EXPECT_ERR(send(p.a, "x", 1, 0), EPIPE);
	EXPECT_EQ(pipes, 1);
}

TEST(eof_after_everything)
{
	struct pair p = pair_lo();
	struct msg big = MSG(.len = 300 * KB, .key = 2);
	struct got g;
	int i;

	/* close() delivers what was sent, in the background */
	for (i = 0; i < 10; i++)
		must_send(p.a, &small);
	must_send(p.a, &big);
	close(p.a);
	got_init(&g, big.len);
	ASSERT_OK(recv_key(p.b, &g, 2, 0));
	check_got(&big, &g);
	for (i = 0; i < 10; i++)
		must_recv(p.b, &small);
	must_be_eof(p.b);
	/* no such message will ever come */
	EXPECT_EQ(recv_key(p.b, &g, 99, 0), 0);
	EXPECT(g.eof);
}

TEST(dontwait)
{
	struct pair p = pair_lo();
	struct got g;

	got_init(&g, small.len);
	EXPECT_ERR(recv_any(p.b, &g, MSG_DONTWAIT), EAGAIN);
	ASSERT_OK(fcntl(p.b, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(recv_any(p.b, &g, 0), EAGAIN);
	must_send(p.a, &small);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	EXPECT_ERR(recv_key(p.b, &g, 2, 0), EAGAIN);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&small, &g);

	send_until_full(&p);
	EXPECT_EQ(poll_for(p.a, POLLIN | POLLOUT, 0), 0);
}

/* Nothing is taken of a message that does not fit */
TEST(nothing_taken_with_eagain)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 50000);
	struct got g;
	int sent, i;

	sent = send_until_full(&p);
	EXPECT_EQ(info_of(p.a).tx_msgs, sent);
	EXPECT_EQ(info_of(p.a).tx_offered, sent * m.len);
	got_init(&g, m.len);
	for (i = 0; i < sent; i++) {
		ASSERT_OK(recv_any(p.b, &g, 0));
		check_got(&m, &g);
	}
	ASSERT(poll_for(p.a, POLLOUT, 5000) & POLLOUT);
	EXPECT_ERR(recv_any(p.b, &g, MSG_DONTWAIT), EAGAIN);
	ping_pong(&p);
}

/* A message that could never be queued at once */
TEST(emsgsize_without_waiting)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 4 * MB);

	set_buffers(p.a, 100000);
	/* here by a call that waits: io_uring relies on that */
	EXPECT_ERR(send_msg(p.a, &m, MSG_DONTWAIT), EAGAIN);
	ASSERT_OK(fcntl(p.a, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(send_msg(p.a, &m, MSG_DONTWAIT), EMSGSIZE);
	EXPECT_ERR(send_msg(p.a, &m, 0), EMSGSIZE);
	ASSERT_OK(fcntl(p.a, F_SETFL, 0));
	ping_pong(&p);
}

/* The kernel counts them in ticks, of which a busy machine delivers many late */
TEST(timeouts)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 50000);
	long long start;
	struct got g;

	got_init(&g, 100);
	set_timeout(p.b, SO_RCVTIMEO, 100);
	start = now_ms();
	EXPECT_ERR(recv_any(p.b, &g, 0), EAGAIN);
	EXPECT_GE(now_ms() - start, 50);
	EXPECT_LE(now_ms() - start, 5000 * slowness);

	set_timeout(p.a, SO_SNDTIMEO, 100);
	send_until_full(&p);
	start = now_ms();
	EXPECT_ERR(send_msg(p.a, &m, 0), EAGAIN);
	EXPECT_GE(now_ms() - start, 50);
	EXPECT_LE(now_ms() - start, 5000 * slowness);
}

TEST(peek)
{
	struct pair p = pair_lo();
	struct msg other = MSG(.len = 2000, .key = 2);
	struct got g;

	got_init(&g, 3000);
	must_send(p.a, &small);
	must_send(p.a, &other);
	ASSERT_OK(recv_key(p.b, &g, 2, MSG_PEEK));
	check_got(&other, &g);
	ASSERT_OK(recv_key(p.b, &g, 1, MSG_PEEK));
	EXPECT_EQ(g.n, small.len);
	EXPECT_EQ(g.msg.key, 1);
	EXPECT_EQ(g.msg.length, small.len);
	/* peeked at, and still all there */
	got_free(&g);
	must_recv(p.b, &small);
	must_recv(p.b, &other);
}

/* A message on its way can be seen, so that a buffer can be made for it */
TEST(peek_at_the_incomplete)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 2 * MB, .key = 7);
	struct sending s = { p.a, &m };
	struct task t;
	struct got g;

	set_buffers(p.a, 100000);
	set_buffers(p.b, 100000);
	task_start(&t, sending_main, &s);
	got_init(&g, 0);
	WAIT_FOR(recv_key(p.b, &g, 7, MSG_PEEK | MSG_DONTWAIT) >= 0);
	EXPECT_EQ(g.msg.complete, 0);
	EXPECT_EQ(g.msg.length, m.len);
	/* it cannot complete without a reader: so any reader is told of it */
	ASSERT_OK(recv_any(p.b, &g, MSG_PEEK | MSG_TRUNC));
	EXPECT_EQ(g.n, m.len);
	EXPECT_EQ(g.msg.length, m.len);
	EXPECT_EQ(g.msg.key, 7);
	EXPECT_EQ(g.msg.complete, 0);
	got_free(&g);
	must_recv(p.b, &m);
	task_join(&t);
}

/* @m over a slow link, into buffers it does not fit in */
static struct pair send_slowly(struct task *t, struct sending *s, struct msg *m)
{
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	netem(&h, H0, "rate 8mbit");
	p = pair_hosts(&h);
	set_buffers(p.b, 50000);
	*s = (struct sending){ p.a, m };
	task_start(t, sending_main, s);
	WAIT_FOR(info_of(p.b).rx_delivered > 0);
	return p;
}

/*
 * A call that was interrupted in the middle of a message that is copied as it
 * comes is continued with the same buffer; the message fits no other.
 */
TEST(continued)
{
	struct msg m = MSG(.len = 600 * KB, .key = 7);
	struct sending s;
	struct got g, other;
	struct pair p;
	struct task t;

	p = send_slowly(&t, &s, &m);
	got_init(&g, m.len);
	got_init(&other, m.len);
	set_timeout(p.b, SO_RCVTIMEO, 20);
	while (recv_any(p.b, &g, 0) < 0) {
		ASSERT_EQ(errno, EAGAIN);
		if (recv_key(p.b, &other, 7, MSG_DONTWAIT) < 0)
			EXPECT(errno == EBUSY || errno == EAGAIN);
		else
			test_failed(true, "it fits another buffer");
	}
	check_got(&m, &g);
	task_join(&t);
	check_counters(p.a, p.b);
}

/* What is in the buffer of one process is not in that of another at the same address */
TEST(continued_by_another)
{
	struct msg m = MSG(.len = 600 * KB, .key = 7);
	struct sending s;
	struct hosts h;
	struct pair p;
	struct task t;
	struct got g;
	int status, go[2];
	pid_t pid;

	hosts_open(&h);
	netem(&h, H0, "rate 8mbit");
	p = pair_hosts(&h);
	set_buffers(p.b, 50000);
	set_timeout(p.b, SO_RCVTIMEO, 100);
	got_init(&g, m.len);
	ASSERT_OK(pipe(go));
	pid = ASSERT_OK(fork());
	if (!pid) {
		if (read(go[0], &status, 1) != 1)
			_exit(2);
		_exit(recv_key(p.b, &g, 7, 0) < 0 ? errno : 0);
	}
	s = (struct sending){ p.a, &m };
	task_start(&t, sending_main, &s);
	WAIT_FOR(mib(h.net[H1], "RxData"));
	ASSERT_ERR(recv_any(p.b, &g, 0), EAGAIN);
	ASSERT_EQ(write(go[1], "", 1), 1);
	ASSERT_OK(waitpid(pid, &status, 0));
	EXPECT_EQ(WEXITSTATUS(status), EBUSY);
	set_timeout(p.b, SO_RCVTIMEO, 20000);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
	task_join(&t);
	check_counters(p.a, p.b);
}

/* Nor in that of a process that began later, whatever the kernel knows it by: memory
 * of one that has ended is used again.
 */
TEST(continued_by_a_successor)
{
	struct msg m = MSG(.len = 600 * KB, .key = 7);
	struct dlcp_want none = { .key = 7, .flags = DLCP_WANT_KEY | DLCP_WANT_DISCARD };
	int flags[] = { 0, MSG_DONTWAIT }, i, status;
	struct sending s;
	struct pair p;
	struct task t;
	struct got g;
	pid_t pid;

	p = send_slowly(&t, &s, &m);
	set_timeout(p.b, SO_RCVTIMEO, 100);
	got_init(&g, m.len);
	for (i = 0; i < 30; i++) {
		pid = ASSERT_OK(fork());
		if (!pid)
			_exit(recv_key(p.b, &g, 7, flags[!!i]) < 0 ? errno : 0);
		ASSERT_OK(waitpid(pid, &status, 0));
		ASSERT_EQ(WEXITSTATUS(status), i ? EBUSY : EAGAIN);
	}
	/* The first one had what came of it, so nobody can have it all */
	EXPECT_OK(recv_want(p.b, &g, &none, 0));
	task_join(&t);
}

static ssize_t recv_parts(int fd, u64 key, const struct iovec *iov, int nr, int flags)
{
	struct dlcp_want w = { .key = key, .flags = DLCP_WANT_KEY };
	union { struct cmsghdr cm; char room[CMSG_SPACE(sizeof(w))]; } u = {
		.cm = { .cmsg_level = SOL_DLCP, .cmsg_type = DLCP_CMSG_WANT,
			.cmsg_len = CMSG_LEN(sizeof(w)) },
	};
	struct msghdr mh = { .msg_iov = (void *)iov, .msg_iovlen = nr,
			     .msg_control = &u, .msg_controllen = sizeof(u) };

	memcpy(CMSG_DATA(&u.cm), &w, sizeof(w));
	return recvmsg(fd, &mh, flags);
}

/* A buffer in parts is the same if they are the same bytes in the same order. Between
 * them nothing else is received meanwhile.
 */
TEST(continued_in_parts)
{
	enum { PART = 300 * KB, LEN = 2 * PART };
	struct msg m = MSG(.len = LEN, .key = 7), urgent = MSG(.len = 1000, .key = 8);
	u8 *a = malloc(LEN), *b = malloc(LEN), *c = malloc(LEN), *want = malloc(LEN);
	struct iovec first[] = { { a, PART }, { b, PART } };
	struct iovec others[][2] = {
		{ { a, PART }, { c, PART } },
		{ { a, PART - 1 }, { b, PART + 1 } },
		{ { a, PART }, { b + 1, PART } },
		{ { b, PART }, { a, PART } },
		{ { a, LEN } },
	};
	struct iovec cut[] = { { a, 1000 }, { c, 0 }, { a + 1000, PART - 1000 }, { b, PART } };
	struct iovec between[] = { { c, 500 }, { b + 500, 500 } };
	struct sending s;
	struct task t;
	struct pair p = send_slowly(&t, &s, &m);
	int i;

	set_timeout(p.b, SO_RCVTIMEO, 100);
	ASSERT_ERR(recv_parts(p.b, 7, first, 2, 0), EAGAIN);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		EXPECT_ERR(recv_parts(p.b, 7, others[i], 2, MSG_DONTWAIT), EBUSY);
	urgent.prio = 0;
	must_send(p.a, &urgent);
	while (recv_parts(p.b, 8, between, 2, 0) < 0 && errno == EAGAIN)
		;
	EXPECT_EQ(errno, EBUSY);
	EXPECT_EQ(recv_parts(p.b, 8, &(struct iovec){ c, 1000 }, 1, 0), 1000);
	set_timeout(p.b, SO_RCVTIMEO, 20000);
	EXPECT_EQ(recv_parts(p.b, 7, cut, ARRAY_SIZE(cut), 0), LEN);
	fill(want, LEN, m.seed + m.key);
	EXPECT(!memcmp(a, want, PART) && !memcmp(b, want + PART, PART));
	task_join(&t);
}

/* A buffer that is too short loses nothing, unless that is asked for */
TEST(short_buffer)
{
	struct pair p = pair_lo();
	struct got g;

	must_send(p.a, &small);
	must_send(p.a, &small);
	got_init(&g, 500);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	EXPECT_ERR(recv_any(p.b, &g, 0), EMSGSIZE);
	EXPECT_ERR(recv_any(p.b, &g, 0), EMSGSIZE);
	EXPECT_ERR(recv_key(p.b, &g, small.key, MSG_DONTWAIT), EMSGSIZE);
	EXPECT_EQ(g.buf[0], CANARY);
	must_recv(p.b, &small);

	EXPECT_EQ(recv_any(p.b, &g, MSG_TRUNC), small.len);
	EXPECT(g.flags & MSG_TRUNC);
	EXPECT_EQ(g.msg.length, small.len);
	EXPECT_EQ(g.buf[500], CANARY);
	EXPECT_ERR(recv_any(p.b, &g, MSG_DONTWAIT), EAGAIN);
}

/* Too little room for the receipt is said, and the data are there */
TEST(short_control_buffer)
{
	struct pair p = pair_lo();
	char buf[1000], control[CMSG_SPACE(sizeof(struct dlcp_want))] = { 0 };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	must_send(p.a, &small);
	must_send(p.a, &small);
	ASSERT_EQ(recvmsg(p.b, &mh, 0), small.len);
	EXPECT(mh.msg_flags & MSG_CTRUNC);
	mh.msg_control = control;
	mh.msg_controllen = sizeof(control);
	ASSERT_OK(set_int(p.b, DLCP_RECVWANT, 0));
	ASSERT_EQ(recvmsg(p.b, &mh, 0), small.len);
	EXPECT(mh.msg_flags & MSG_CTRUNC);
	ping_pong(&(struct pair){ p.b, p.a });
}

TEST(poll_states)
{
	struct pair p = pair_lo();

	EXPECT_EQ(poll_for(p.a, POLLIN | POLLOUT | POLLRDHUP, 0), POLLOUT);
	EXPECT_EQ(poll_for(p.b, POLLIN | POLLOUT | POLLRDHUP, 0), POLLOUT);
	must_send(p.a, &small);
	EXPECT_EQ(poll_for(p.b, POLLIN, 5000), POLLIN);
	must_recv(p.b, &small);
	EXPECT_EQ(poll_for(p.b, POLLIN, 0), 0);
	close(p.a);
	EXPECT_EQ(poll_for(p.b, POLLIN | POLLRDHUP, 5000) &
		  (POLLIN | POLLRDHUP), POLLIN | POLLRDHUP);
}

static int epoll_events(int ep, int ms)
{
	struct epoll_event ev = { 0 };

	return ASSERT_OK(epoll_wait(ep, &ev, 1, ms)) ? ev.events : 0;
}

static int epoll_on(int fd, int events)
{
	struct epoll_event ev = { .events = events };
	int ep = ASSERT_OK(epoll_create1(0));

	ASSERT_OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

TEST(epoll_level)
{
	struct pair p = pair_lo();
	int ep = epoll_on(p.b, EPOLLIN);

	EXPECT_EQ(epoll_events(ep, 0), 0);
	must_send(p.a, &small);
	must_send(p.a, &small);
	EXPECT_EQ(epoll_events(ep, 5000), EPOLLIN);
	must_recv(p.b, &small);
	EXPECT_EQ(epoll_events(ep, 5000), EPOLLIN);
	must_recv(p.b, &small);
	EXPECT_EQ(epoll_events(ep, 0), 0);
}

TEST(epoll_edge)
{
	struct pair p = pair_lo();
	int ep = epoll_on(p.b, EPOLLIN | EPOLLET), i;

	for (i = 0; i < 3; i++) {
		must_send(p.a, &small);
		EXPECT_EQ(epoll_events(ep, 5000), EPOLLIN);
		must_recv(p.b, &small);
	}
	EXPECT_EQ(epoll_events(ep, 0), 0);
}

/* Writable again once the peer has read */
TEST(epoll_edge_out)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 50000);
	int ep = epoll_on(p.a, EPOLLOUT | EPOLLET), n;

	EXPECT_EQ(epoll_events(ep, 5000), EPOLLOUT);
	n = send_until_full(&p);
	while (epoll_events(ep, 0))
		;
	while (n--)
		must_recv(p.b, &m);
	EXPECT_EQ(epoll_events(ep, 5000), EPOLLOUT);
	EXPECT_OK(send_msg(p.a, &m, MSG_DONTWAIT));
}

static volatile sig_atomic_t nr_sigio;

static void on_sigio(int sig)
{
	nr_sigio++;
}

static void ask_for_sigio(int fd)
{
	int flags = ASSERT_OK(fcntl(fd, F_GETFL));

	ASSERT(signal(SIGIO, on_sigio) != SIG_ERR);
	ASSERT_OK(fcntl(fd, F_SETOWN, getpid()));
	ASSERT_OK(fcntl(fd, F_SETFL, flags | O_ASYNC));
}

/* Who polls nothing and waits for the signal hears of it, too */
TEST(sigio)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 50000);
	int n = 0;

	ask_for_sigio(p.b);
	must_send(p.a, &small);
	WAIT_FOR(nr_sigio);
	must_recv(p.b, &small);
	ASSERT_OK(fcntl(p.b, F_SETFL, 0));

	set_buffers(p.a, 100000);
	nr_sigio = 0;
	ask_for_sigio(p.a);
	while (send_msg(p.a, &m, MSG_DONTWAIT) >= 0)
		n++;
	EXPECT_EQ(errno, EAGAIN);
	while (n--)
		must_recv(p.b, &m);
	WAIT_FOR(nr_sigio);
	EXPECT_OK(send_msg(p.a, &m, MSG_DONTWAIT));
}

TEST(reports)
{
	struct msg m = MSG(.len = 5000, .flags = DLCP_MSG_REPORT);
	struct pair p = pair_lo();
	struct sent s[10];
	u64 seen = 0;
	int ep = epoll_on(p.a, 0), i, n;

	EXPECT_ERR(read_reports(p.a, s, 10, 0), EAGAIN);
	for (i = 0; i < 10; i++) {
		m.key = i;
		m.cookie = 100 + i;
		must_send(p.a, &m);
	}
	/* nobody needs to have read them: they are delivered */
	WAIT_FOR(info_of(p.a).tx_msgs_done == 10);
	EXPECT_EQ(epoll_events(ep, 5000), EPOLLERR);
	EXPECT_EQ(sock_error(p.a), 0);
	/* looking does not take; then in one batch */
	EXPECT_EQ(read_reports(p.a, s, 10, MSG_PEEK), 10);
	n = read_reports(p.a, s, 10, 0);
	EXPECT_EQ(n, 10);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(s[i].r.cookie, s[i].r.key + 100);
		EXPECT_EQ(s[i].r.length, 5000);
		EXPECT_EQ(s[i].r.missing, 0);
		EXPECT_EQ(s[i].r.nr_ranges, 0);
		EXPECT_EQ(s[i].r.error, 0);
		EXPECT_EQ(s[i].r.id, s[i].r.key);
		EXPECT_GT(s[i].r.duration_ns, 0);
		seen |= 1 << s[i].r.key;
	}
	EXPECT_EQ(seen, 0x3ff);
	EXPECT_ERR(read_reports(p.a, s, 10, 0), EAGAIN);
	EXPECT_EQ(epoll_events(ep, 0), 0);
	/* none unless asked for */
	m.flags = 0;
	must_send(p.a, &m);
	WAIT_FOR(info_of(p.a).tx_msgs_done == 11);
	EXPECT_EQ(epoll_events(ep, 0), 0);
}

/* A control buffer for three at a time */
TEST(reports_in_parts)
{
	struct msg m = MSG(.len = 10, .flags = DLCP_MSG_REPORT);
	char control[3 * CMSG_SPACE(sizeof(struct dlcp_report))];
	struct msghdr mh = { 0 };
	struct pair p = pair_lo();
	int i, total = 0;

	for (i = 0; i < 8; i++)
		must_send(p.a, &m);
	WAIT_FOR(info_of(p.a).tx_msgs_done == 8);
	while (total < 8) {
		struct cmsghdr *cm;

		mh.msg_control = control;
		mh.msg_controllen = sizeof(control);
		ASSERT_OK(recvmsg(p.a, &mh, MSG_ERRQUEUE));
		EXPECT_EQ(mh.msg_flags & ~MSG_CTRUNC, MSG_ERRQUEUE);
		for (cm = CMSG_FIRSTHDR(&mh); cm; cm = CMSG_NXTHDR(&mh, cm))
			total++;
	}
	EXPECT_EQ(total, 8);
}

/* What was under way when the connection broke is reported as well */
TEST(reports_of_the_failed)
{
	struct msg m = MSG(.len = 50000, .cookie = 5,
			   .flags = DLCP_MSG_REPORT);
	struct pair p = pair_lo();
	struct sent s[64];
	int sent, n = 0, got;

	set_buffers(p.a, 200000);
	set_buffers(p.b, 20000);
	for (sent = 0; sent < 64; sent++)
		if (send_msg(p.a, &m, MSG_DONTWAIT) < 0)
			break;
	ASSERT_GT(sent, 0);
	close(p.b);
	/* a report that is there already ends poll(), too */
	WAIT_FOR(poll_for(p.a, POLLIN, 100) & POLLHUP);
	while ((got = read_reports(p.a, s, 64, 0)) > 0) {
		for (n += got; got--;) {
			EXPECT(s[got].r.error == 0 ||
			       s[got].r.error == ECONNRESET);
			EXPECT_EQ(s[got].r.cookie, 5);
		}
	}
	EXPECT_EQ(n, sent);
}

TEST(queue_sizes)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 50000);
	int n = -1;

	EXPECT_OK(ioctl(p.b, SIOCINQ, &n));
	EXPECT_EQ(n, 0);
	must_send(p.a, &small);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	EXPECT_OK(ioctl(p.b, SIOCINQ, &n));
	EXPECT_EQ(n, small.len);
	must_recv(p.b, &small);
	EXPECT_OK(ioctl(p.b, SIOCINQ, &n));
	EXPECT_EQ(n, 0);
	WAIT_FOR(({ EXPECT_OK(ioctl(p.a, SIOCOUTQ, &n)); n == 0; }));

	set_buffers(p.a, 100000);
	set_buffers(p.b, 20000);
	/* What the peer still took empties the queue once more */
	WAIT_FOR(({
		while (send_msg(p.a, &m, MSG_DONTWAIT) >= 0)
			;
		EXPECT_OK(ioctl(p.a, SIOCOUTQ, &n));
		n > 0;
	}));
	EXPECT_ERR(ioctl(p.a, 0x12345678, &n), ENOTTY);
}

TEST(dup_and_fork)
{
	struct pair p = pair_lo();
	int d = ASSERT_OK(dup(p.a));
	pid_t pid;

	close(p.a);
	p.a = d;
	ping_pong(&p);
	pid = fork();
	if (!pid) {
		ping_pong(&p);
		_exit(0);
	}
	ASSERT_OK(waitpid(pid, NULL, 0));
	/* the child's end did not end ours */
	ping_pong(&p);
	close(p.a);
	must_be_eof(p.b);
}

TEST(close_with_unread_data)
{
	struct pair p = pair_lo();
	struct got g;

	must_send(p.a, &small);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	close(p.b);
	got_init(&g, 100);
	EXPECT_ERR(recv_any(p.a, &g, 0), ECONNRESET);
	/* told once, then the end */
	expect_epipe(p.a);
	EXPECT_EQ(sock_error(p.a), 0);
	EXPECT_EQ(info_of(p.a).state, DLCP_CLOSED);
}

TEST(linger_zero_resets)
{
	struct linger l = { .l_onoff = 1 };
	struct pair p = pair_lo();
	struct got g;

	ASSERT_OK(setsockopt(p.a, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	close(p.a);
	got_init(&g, 100);
	EXPECT_ERR(recv_any(p.b, &g, 0), ECONNRESET);
}

TEST(send_to_the_closed)
{
	struct pair p = pair_lo();
	struct msg m = small;
	int i, err = 0;

	signal(SIGPIPE, SIG_IGN);
	close(p.b);
	/* nobody reads any more: an error must come */
	for (i = 0; i < 10000 && !err; i++)
		if (send_msg(p.a, &m, 0) < 0)
			err = errno;
	EXPECT(err == ECONNRESET || err == EPIPE);
}
