// SPDX-License-Identifier: GPL-2.0
/* The library's calls against a kernel that is made up here */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../internal.h"
#include "check.h"
#include "fake.h"

#define FD	1000	/* never opened: only fakes see it */

static int no_module(int family, int type, int protocol)
{
	(void)protocol;
	errno = (type & 15) == SOCK_DLCP && family == AF_INET ?
		ESOCKTNOSUPPORT : EAFNOSUPPORT;
	return -1;
}

static void module_missing_says_modprobe(void)
{
	fake_reset();
	fake.socket = no_module;
	CHECK(dlcp_socket(AF_INET) == -1 && errno == ESOCKTNOSUPPORT);
	CHECK(strstr(dlcp_last_error(), "the module is not loaded (as root: modprobe dlcp)"));
	CHECK(dlcp_connect("127.0.0.1", "7000", 100) == -1);
	CHECK(errno == ESOCKTNOSUPPORT);
	CHECK(strstr(dlcp_last_error(), "modprobe dlcp"));
	CHECK(dlcp_listen(NULL, "7000", 0) == -1 && errno == ESOCKTNOSUPPORT);
	CHECK(dlcp_socket(AF_UNIX) == -1 && errno == EAFNOSUPPORT);
	CHECK(strstr(dlcp_last_error(), "DLCP needs AF_INET or AF_INET6"));
}

static void bad_names(void)
{
	fake_reset();
	CHECK(dlcp_connect("256.0.0.1.invalid", "7000", -1) == -1);
	CHECK(errno == EADDRNOTAVAIL);
	CHECK(dlcp_listen("127.0.0.1", "no-such-service", 0) == -1);
	CHECK(errno == EADDRNOTAVAIL && strstr(dlcp_last_error(), "no-such"));
	CHECK(dlcp_connect("", "7000", -1) == -1 && errno == EINVAL);
	CHECK(strstr(dlcp_last_error(), "the host's name is empty: give a name or an address"));
	CHECK(dlcp_listen("", "7000", 0) == -1 && errno == EINVAL);
	CHECK(dlcp_connect("[127.0.0.1]", "7000", -1) == -1 && errno == EADDRNOTAVAIL);
	CHECK(dlcp_connect("[]", "7000", -1) == -1 && errno == EADDRNOTAVAIL);
}

/* As in a URL, and with an interface */
static void brackets(void)
{
	static const char *const hosts[] = { "::1", "[::1]", "fe80::1%lo", "[fe80::1%lo]" };
	size_t i;

	fake_reset();
	fake.socket = no_module;
	for (i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		CHECK(dlcp_connect(hosts[i], "7000", 100) == -1);
		CHECK(strstr(dlcp_last_error(), "Address family not supported"));
	}
}

static void bad_ports(void)
{
	static const char *const ports[] = {
		"", " 80", "+80", "65536", "70000", "4294967297", "99999999999999999999",
	};
	size_t i;

	fake_reset();
	fake.socket = no_module;
	for (i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		CHECK(dlcp_connect("127.0.0.1", ports[i], 100) == -1 && errno == EINVAL);
		CHECK(strstr(dlcp_last_error(), " is no port to connect to: a number of 1 to 65535, or a name"));
		CHECK(dlcp_listen(NULL, ports[i], 0) == -1 && errno == EINVAL);
		CHECK(strstr(dlcp_last_error(), " is no port: a number up to 65535, or a name"));
	}
	/* The kernel chooses one to listen at, and none to connect to */
	CHECK(dlcp_connect("127.0.0.1", "0", 100) == -1 && errno == EINVAL);
	CHECK(strstr(dlcp_last_error(), "0 is no port to connect to: "));
	CHECK(dlcp_connect("127.0.0.1", NULL, 100) == -1 && errno == EINVAL);
	CHECK(dlcp_listen(NULL, "0", 0) == -1 && errno == ESOCKTNOSUPPORT);
	CHECK(dlcp_connect("127.0.0.1", "65535", 100) == -1 && errno == ESOCKTNOSUPPORT);
}

static ssize_t take_after_signals(int fd, const struct msghdr *mh, int flags)
{
	(void)fd;
	if (fake.calls < 3) {
		errno = EINTR;
		return -1;
	}
	if (!(flags & MSG_NOSIGNAL))
		return 0;
	return mh->msg_iov[0].iov_len;
}

static ssize_t take_half(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)flags;
	return mh->msg_iov[0].iov_len / 2;
}

static ssize_t too_long(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	errno = EMSGSIZE;
	return -1;
}

static ssize_t no_room(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	errno = ENOBUFS;
	return -1;
}

static ssize_t gone(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	errno = EPIPE;
	return -1;
}

static void send_restarts_and_checks(void)
{
	struct dlcp_send msg = { .buf = "abcdefgh", .len = 8 };

	fake_reset();
	fake.sendmsg = take_after_signals;
	CHECK(dlcp_send(FD, &msg) == 8 && fake.calls == 3);
	fake.sendmsg = take_half;
	CHECK(dlcp_send(FD, &msg) == -1 && errno == EIO);
	CHECK(strstr(dlcp_last_error(), "the kernel took 4 of 8 bytes"));
	fake.sendmsg = too_long;
	CHECK(dlcp_send(FD, &msg) == -1 && errno == EMSGSIZE);
	CHECK(strstr(dlcp_last_error(), "SO_SNDBUF without blocking: dlcp_set_buffers() raises it"));
	fake.sendmsg = no_room;
	CHECK(dlcp_send(FD, &msg) == -1 && errno == ENOBUFS);
	CHECK(strstr(dlcp_last_error(), "a message of 8 bytes: read the reports"));
	fake.sendmsg = gone;
	CHECK(dlcp_send(FD, &msg) == -1 && errno == EPIPE);
	CHECK(strstr(dlcp_last_error(), "sending a message of 8 bytes: Broken"));
}

static int forbidden(int family, int type, int protocol)
{
	(void)family, (void)type, (void)protocol;
	errno = EPERM;
	return -1;
}

static int too_many(int family, int type, int protocol)
{
	(void)family, (void)type, (void)protocol;
	errno = EMFILE;
	return -1;
}

static int poll_stays_quiet(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)pfd, (void)n, (void)timeout;
	return 0;
}

static int poll_ends(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)n, (void)timeout;
	pfd->revents = POLLHUP;
	return 1;
}

static int no_error(int fd, int level, int name, void *val, socklen_t *len)
{
	(void)fd, (void)level, (void)name, (void)len;
	*(int *)val = 0;
	return 0;
}

static int poll_bad(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)n, (void)timeout;
	pfd->revents = POLLNVAL;
	return 1;
}

static ssize_t nothing_yet(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	errno = EAGAIN;
	return -1;
}

/* What they say that no other test has provoked */
static void words(void)
{
	struct dlcp_reports reports = { .size = sizeof(reports) };
	int null = open("/dev/null", O_RDWR);

	fake_reset();
	fake.socket = forbidden;
	CHECK(dlcp_socket(AF_INET) == -1 && errno == EPERM);
	CHECK(strstr(dlcp_last_error(), "a DLCP socket is forbidden here: by seccomp"));
	fake.socket = too_many;
	CHECK(dlcp_socket(AF_INET) == -1 && errno == EMFILE);
	CHECK(strstr(dlcp_last_error(), "cannot make a DLCP socket"));
	fake.poll = poll_stays_quiet;
	CHECK(dlcp_wait(FD, POLLIN, 0) == -1 && errno == ETIMEDOUT);
	CHECK(strstr(dlcp_last_error(), "nothing happened for 0 ms"));
	CHECK(dlcp_accept(null, 0) == -1 && errno == ETIMEDOUT);
	CHECK(strstr(dlcp_last_error(), "no connection in 0 ms"));
	fake.recvmsg = nothing_yet;
	CHECK(dlcp_reports(FD, &reports, 0) == -1 && errno == EAGAIN);
	CHECK(strstr(dlcp_last_error(), "no report in 0 ms"));
	fake.poll = poll_ends;
	fake.getsockopt = no_error;
	CHECK(dlcp_reports(FD, &reports, 0) == -1 && errno == EPIPE);
	CHECK(strstr(dlcp_last_error(), "no more reports: the connection has ended"));
	fake.poll = poll_bad;
	CHECK(dlcp_wait(FD, POLLIN, 0) == -1 && errno == EBADF);
	CHECK(strstr(dlcp_last_error(), "poll on descriptor 1000: it is not open"));
	dlcp_reports_free(&reports);
	close(null);
}

static ssize_t fails_with(int err)
{
	errno = err;
	return -1;
}

static ssize_t busy(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	return fails_with(EBUSY);
}

static ssize_t no_queue(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	return fails_with(EIO);
}

static int refuse_setting(int fd, int level, int name, const void *val,
			  socklen_t len)
{
	(void)fd, (void)level, (void)name, (void)val, (void)len;
	return (int)fails_with(EPERM);
}

static int under_way(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd, (void)addr, (void)len;
	return (int)fails_with(EINPROGRESS);
}

static int said(int ret, int err, const char *words)
{
	return ret == -1 && errno == err && strstr(dlcp_last_error(), words);
}

/* What the kernel refuses, or has no room for */
static void words_of_refusals(void)
{
	struct dlcp_reports reports = { .size = sizeof(reports) };
	struct sockaddr_in to = { .sin_family = AF_INET };
	int null = open("/dev/null", O_RDWR);
	char text[4];

	fake_reset();
	fake.recvmsg = busy;
	CHECK(said((int)dlcp_recv(FD, DLCP_ANY, text, 4, 0, NULL), EBUSY,
		   "a part of any message is in the buffer of an earlier call, which must be used again"));
	fake.recvmsg = no_queue;
	CHECK(said(dlcp_reports(FD, &reports, 0), EIO, "reading reports"));
	fake.setsockopt = refuse_setting;
	CHECK(said(dlcp_set_buffers(FD, 100, 0), EPERM,
		   "setting a buffer of 100 bytes"));
	fake.getsockopt = no_error;
	CHECK(said(dlcp_set_timeouts(FD, 7, 0), EPERM,
		   "setting a timeout of 7 ms"));
	CHECK(said(dlcp_conn_error(FD, text, 0), EINVAL, "no room for a text"));
	fake.connect = under_way;
	fake.poll = poll_stays_quiet;
	CHECK(said(dlcp_connect_fd(null, (struct sockaddr *)&to, sizeof(to), 0),
		   ETIMEDOUT, "connect: no answer in time: is the module loaded there"));
	fake.no_thread = 1;
	CHECK(said(dlcp_connect("name", "7000", 1000), EAGAIN,
		   "cannot start a thread: raise 'ulimit -u' or pids.max"));
	dlcp_reports_free(&reports);
	close(null);
}

/*
 * A socket whose limit is obeyed, and a signal every 5 ms: the kernel starts the
 * limit again with each call.
 */
static struct timeval limit;

static int get_limit(int fd, int level, int name, void *val, socklen_t *len)
{
	(void)fd, (void)level, (void)name;
	memcpy(val, &limit, sizeof(limit));
	*len = sizeof(limit);
	return 0;
}

static int set_limit(int fd, int level, int name, const void *val, socklen_t len)
{
	(void)fd, (void)level, (void)name, (void)len;
	memcpy(&limit, val, sizeof(limit));
	return 0;
}

static int until_signal(void)
{
	long us = limit.tv_sec * 1000000 + limit.tv_usec;

	usleep(us && us < 5000 ? us : 5000);
	errno = us && us < 5000 ? EAGAIN : EINTR;
	return -1;
}

static ssize_t recv_until_signal(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	return until_signal();
}

static ssize_t send_until_signal(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	return until_signal();
}

static void signals_do_not_prolong(void)
{
	struct dlcp_send msg = { .buf = "abcdefgh", .len = 8 };
	uint64_t began;

	fake_reset();
	fake.getsockopt = get_limit;
	fake.setsockopt = set_limit;
	fake.recvmsg = recv_until_signal;
	fake.sendmsg = send_until_signal;
	CHECK(!dlcp_set_timeouts(FD, 100, 100) && limit.tv_usec == 100000);
	began = dlcp__now_ns();
	CHECK(dlcp_recv(FD, DLCP_KEY(1), NULL, 0, 0, NULL) == -1);
	CHECK(errno == EAGAIN && dlcp__now_ns() - began >= 100000000);
	CHECK(limit.tv_usec == 100000);		/* as it was */
	CHECK(dlcp_peek(FD, DLCP_KEY(1), 0, NULL) == -1 && errno == EAGAIN);
	CHECK(dlcp_send(FD, &msg) == -1 && errno == EAGAIN);
	CHECK(limit.tv_usec == 100000);
}

static ssize_t wait_for_limit(int fd, struct msghdr *mh, int flags)
{
	long us = limit.tv_sec * 1000000 + limit.tv_usec;

	(void)fd, (void)mh;
	if (flags & MSG_DONTWAIT) {
		errno = EAGAIN;
		return -1;
	}
	usleep((unsigned int)us);
	errno = EAGAIN;
	return -1;
}

/* Another thread's call has lowered the limit when this one begins */
static void lowered_limit_is_noticed(void)
{
	struct timeval lowered = { .tv_usec = 10000 };
	struct dlcp__call other;
	uint64_t began;
	int fd[2];

	CHECK(!pipe(fd));
	fake_reset();
	fake.getsockopt = get_limit;
	fake.setsockopt = set_limit;
	fake.recvmsg = wait_for_limit;
	CHECK(!dlcp_set_timeouts(fd[0], -1, 100));
	other = dlcp__call(fd[0], SO_RCVTIMEO, 0);
	errno = EINTR;
	CHECK(dlcp__again(&other));
	limit = lowered;
	began = dlcp__now_ns();
	CHECK(dlcp_recv(fd[0], DLCP_ANY, NULL, 0, 0, NULL) == -1);
	CHECK(errno == EAGAIN && dlcp__now_ns() - began >= 100000000);
	/* what does not wait does not begin to */
	CHECK(dlcp_recv(fd[0], DLCP_ANY, NULL, 0, MSG_DONTWAIT, NULL) == -1);
	CHECK(errno == EAGAIN);
	CHECK(!dlcp_set_timeouts(fd[0], -1, 200));	/* for later calls */
	dlcp__call_over(&other);
	CHECK(limit.tv_usec == 200000);
	close(fd[0]);
	close(fd[1]);
}

static size_t seen_control;

static ssize_t see_control(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)flags;
	seen_control = mh->msg_controllen;
	return mh->msg_iov[0].iov_len + mh->msg_iov[1].iov_len;
}

static void send_gathers_and_tags(void)
{
	struct iovec iov[2] = { { "abc", 3 }, { "defgh", 5 } };
	struct dlcp_tags *tags = dlcp_tags_new(1 << 20, 1000);
	struct dlcp_send msg = { .iov = iov, .iovcnt = 2, .tags = tags };

	CHECK(tags);
	fake_reset();
	fake.sendmsg = see_control;
	CHECK(dlcp_send(FD, &msg) == 8);
	CHECK(seen_control == CMSG_SPACE(dlcp_tags_bytes(tags)));
	dlcp_tags_free(tags);
}

/* One message with @nr_ranges missing ranges, of 1000 bytes each second */
static uint32_t nr_ranges;

static ssize_t one_message(int fd, struct msghdr *mh, int flags)
{
	struct dlcp_msg msg = {
		.length = nr_ranges * 2000, .missing = nr_ranges * 1000,
		.nr_ranges = nr_ranges, .complete = 1,
	};
	struct cmsghdr *cm = CMSG_FIRSTHDR(mh);
	struct dlcp_range r = { .length = 1000 }, *all;
	struct dlcp_want want;
	size_t at = 0;
	uint32_t i;

	(void)fd;
	if (!cm || cm->cmsg_type != DLCP_CMSG_WANT) {
		errno = EINVAL;
		return -1;
	}
	memcpy(&want, CMSG_DATA(cm), sizeof(want));
	msg.key = want.key;
	if (!(flags & (MSG_PEEK | MSG_TRUNC)) &&
	    mh->msg_iov[0].iov_len < msg.length) {
		errno = EMSGSIZE;
		return -1;
	}
	all = calloc(nr_ranges, sizeof(r));
	for (i = 0; i < nr_ranges; i++) {
		r.offset = 2000 * i;
		all[i] = r;
	}
	fake_put(mh, &at, DLCP_CMSG_MSG, &msg, sizeof(msg));
	fake_put(mh, &at, DLCP_CMSG_RANGES, all, nr_ranges * sizeof(r));
	free(all);
	mh->msg_controllen = at;
	return msg.length;
}

static char buf[2000 * 3000];

static void recv_has_room_for_every_range(void)
{
	struct dlcp_receipt receipt = { .eof = 0 };

	fake_reset();
	fake.recvmsg = one_message;
	nr_ranges = 3000;
	fake.no_memory = 1;
	CHECK(said((int)dlcp_recv(FD, DLCP_ANY, buf, sizeof(buf), 0, &receipt),
		   ENOMEM, "no memory: end other programs, or raise memory.max"));
	fake.no_memory = fake.calls = 0;
	CHECK(dlcp_recv(FD, DLCP_KEY(42), buf, sizeof(buf), 0, &receipt) ==
	      (ssize_t)sizeof(buf));
	CHECK(fake.calls == 1 && receipt.msg.key == 42 && !receipt.truncated);
	CHECK(receipt.nr_ranges == 3000);
	CHECK(receipt.ranges[2999].offset == 2999 * 2000);
	/* the smaller message uses what is there */
	nr_ranges = 1;
	CHECK(dlcp_recv(FD, DLCP_ANY, buf, 2000, 0, &receipt) == 2000);
	CHECK(receipt.nr_ranges == 1);
	dlcp_receipt_free(&receipt);
}

static void short_buffer(void)
{
	struct dlcp_receipt receipt = { .eof = 0 };

	fake_reset();
	fake.recvmsg = one_message;
	nr_ranges = 200;
	CHECK(dlcp_recv(FD, DLCP_KEY(9), buf, 10, 0, &receipt) == -1);
	CHECK(errno == EMSGSIZE && strstr(dlcp_last_error(), "message 9 is longer than the buffer of"));
	CHECK(dlcp_recv(FD, DLCP_KEY(9), buf, 10, MSG_TRUNC, &receipt) ==
	      200 * 2000);
	CHECK(receipt.nr_ranges == 200 && !receipt.truncated);
	dlcp_receipt_free(&receipt);
}

static void peek_looks_again_with_more_room(void)
{
	struct dlcp_receipt receipt = { .eof = 0 };

	fake_reset();
	fake.recvmsg = one_message;
	nr_ranges = 1000;
	CHECK(dlcp_peek(FD, DLCP_KEY(9), 0, &receipt) == 1000 * 2000);
	CHECK(fake.calls == 2 && receipt.nr_ranges == 1000);
	CHECK(dlcp_peek(FD, DLCP_KEY(9), 0, NULL) == 1000 * 2000);
	dlcp_receipt_free(&receipt);
}

static ssize_t peer_is_done(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)flags;
	if (fake.calls < 3) {
		errno = EINTR;
		return -1;
	}
	mh->msg_controllen = 0;
	return 0;
}

static void end_of_connection(void)
{
	struct dlcp_receipt receipt = { .eof = 0 };

	fake_reset();
	fake.recvmsg = peer_is_done;
	CHECK(dlcp_recv(FD, DLCP_ANY, buf, 10, 0, &receipt) == 0);
	CHECK(receipt.eof && fake.calls == 3);
	dlcp_receipt_free(&receipt);
}

/* The error queue: report i has queue[i] ranges */
static uint32_t queue[8];
static int queue_head, queue_len;

static ssize_t error_queue(int fd, struct msghdr *mh, int flags)
{
	static struct dlcp_range r[10000];
	struct dlcp_report rep = { .key = 0 };
	size_t at = 0, need;
	int i;

	(void)fd;
	if (queue_head == queue_len) {
		errno = EAGAIN;
		return -1;
	}
	for (i = queue_head; i < queue_len; i++) {
		need = CMSG_SPACE(sizeof(rep)) +
		       CMSG_SPACE(queue[i] * sizeof(*r));
		if (i > queue_head && at + need > mh->msg_controllen)
			break;
		rep.key = i;
		rep.nr_ranges = queue[i];
		fake_put(mh, &at, DLCP_CMSG_REPORT, &rep, sizeof(rep));
		if (queue[i])
			fake_put(mh, &at, DLCP_CMSG_RANGES, r,
				 queue[i] * sizeof(*r));
	}
	if (!(flags & MSG_PEEK))
		queue_head = i;
	mh->msg_controllen = at;
	return 0;
}

static int poll_nothing(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)n, (void)timeout;
	pfd->revents = 0;
	return 0;
}

static int poll_error(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)n, (void)timeout;
	pfd->revents = POLLERR | POLLHUP;
	return 1;
}

static int so_error(int fd, int level, int name, void *val, socklen_t *len)
{
	int err = ECONNRESET;

	(void)fd;
	if (level != SOL_SOCKET || name != SO_ERROR)
		return -1;
	memcpy(val, &err, sizeof(err));
	*len = sizeof(err);
	return 0;
}

static void reports_lose_no_range(void)
{
	static const uint32_t lens[] = { 0, 3, 2000, 9000, 1 };
	struct dlcp_reports reports = { .nr = 0 };
	size_t i, seen = 0;

	fake_reset();
	fake.recvmsg = error_queue;
	memcpy(queue, lens, sizeof(lens));
	queue_head = 0;
	queue_len = 5;
	while (seen < 5) {
		CHECK(dlcp_reports(FD, &reports, 0) > 0);
		for (i = 0; i < reports.nr; i++, seen++) {
			CHECK(reports.sent[i].report.key == seen);
			CHECK(!reports.sent[i].truncated);
			CHECK(reports.sent[i].nr_ranges == lens[seen]);
		}
	}
	fake.poll = poll_nothing;
	CHECK(dlcp_reports(FD, &reports, 0) == -1 && errno == EAGAIN);
	fake.poll = poll_error;
	fake.getsockopt = so_error;
	CHECK(dlcp_reports(FD, &reports, -1) == -1 && errno == ECONNRESET);
	dlcp_reports_free(&reports);
}

static int poll_after_signals(struct pollfd *pfd, nfds_t n, int timeout)
{
	static int before;

	(void)n;
	/* What is left of it: less each time, however slow the machine is */
	if (timeout > (fake.calls == 1 ? 1000 : before - 2))
		return 0;
	before = timeout;
	usleep(3000);
	if (fake.calls < 4) {
		errno = EINTR;
		return -1;
	}
	pfd->revents = POLLIN;
	return 1;
}

static void wait_keeps_its_deadline(void)
{
	fake_reset();
	fake.poll = poll_after_signals;
	CHECK(dlcp_wait(FD, POLLIN, 1000) == POLLIN && fake.calls == 4);
	fake.poll = poll_nothing;
	CHECK(dlcp_wait(FD, POLLIN, 0) == -1 && errno == ETIMEDOUT);
}

static int want_on;

static int accept_setsockopt(int fd, int level, int name, const void *val,
			     socklen_t len)
{
	(void)fd, (void)len;
	if (level == SOL_DLCP && name == DLCP_RECVWANT)
		memcpy(&want_on, val, sizeof(want_on));
	return 0;
}

static int poll_in(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)n, (void)timeout;
	pfd->revents = POLLIN;
	return 1;
}

static int accept_late(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	(void)fd, (void)addr, (void)len;
	if (fake.calls < 4) {
		errno = ECONNABORTED;
		return -1;
	}
	return flags & SOCK_CLOEXEC ? FD : -1;
}

static void accept_prepares(void)
{
	int pair[2];

	CHECK(!pipe(pair));
	fake_reset();
	want_on = 0;
	fake.poll = poll_in;
	fake.accept4 = accept_late;
	fake.setsockopt = accept_setsockopt;
	CHECK(dlcp_accept(pair[0], 100) == FD && want_on == 1);
	fake.poll = poll_nothing;
	CHECK(dlcp_accept(pair[0], 1) == -1 && errno == ETIMEDOUT);
	close(pair[0]);
	close(pair[1]);
}

/* A name with an IPv6 and an IPv4 address; and what becomes of each */
static int six_errno, four_errno;	/* 0: it answers; -1: it never does */
static int six_fd, four_fd, tries, waited_ms;

static int two_addresses(const char *host, const char *port,
			 const struct addrinfo *hints, struct addrinfo **list)
{
	struct addrinfo more = *hints;

	if (strcmp(host, "two"))
		return fake_real_getaddrinfo(host, port, hints, list);
	if (hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	more.ai_flags |= AI_NUMERICHOST;
	if (fake_real_getaddrinfo("2001:db8::2", port, &more, list))
		return EAI_FAIL;
	return fake_real_getaddrinfo("192.0.2.2", port, &more, &(*list)->ai_next);
}

static int some_socket(int family, int type, int protocol)
{
	int fd[2];

	(void)type, (void)protocol;
	if (pipe(fd))
		return -1;
	close(fd[1]);
	if (six_fd == fd[0])	/* it was closed */
		six_fd = -1;
	*(family == AF_INET6 ? &six_fd : &four_fd) = fd[0];
	return fd[0];
}

static int begin_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	(void)fd, (void)addr, (void)len;
	tries++;
	errno = EINPROGRESS;
	return -1;
}

static int poll_two(struct pollfd *pfd, nfds_t n, int timeout)
{
	nfds_t i;
	int ready = 0;

	for (i = 0; i < n; i++) {
		pfd[i].revents = 0;
		if ((pfd[i].fd == six_fd ? six_errno : four_errno) < 0)
			continue;
		pfd[i].revents = POLLOUT;
		ready++;
	}
	if (!ready && timeout > 0) {
		usleep((unsigned int)timeout * 1000);
		waited_ms += timeout;
	}
	return ready;
}

static int error_of_two(int fd, int level, int name, void *val, socklen_t *len)
{
	if (level != SOL_SOCKET || name != SO_ERROR)
		return -1;
	memcpy(val, fd == six_fd ? &six_errno : &four_errno, sizeof(int));
	*len = sizeof(int);
	return 0;
}

static int connect_two(int six, int four, int timeout)
{
	fake_reset();
	fake.socket = some_socket;
	fake.setsockopt = accept_setsockopt;
	fake.connect = begin_connect;
	fake.poll = poll_two;
	fake.getsockopt = error_of_two;
	fake.getaddrinfo = two_addresses;
	six_errno = six;
	four_errno = four;
	tries = waited_ms = 0;
	six_fd = four_fd = -1;
	return dlcp_connect("two", "7000", timeout);
}

static void addresses_share_the_time(void)
{
	int fd;

	/* the first never answers */
	fd = connect_two(-1, 0, 100000);
	CHECK(fd >= 0 && fd == four_fd && waited_ms <= 251 && tries == 2);
	CHECK(fcntl(six_fd, F_GETFD) == -1);	/* the other one is closed */
	CHECK(!(fcntl(fd, F_GETFL) & O_NONBLOCK));
	close(fd);
	/* the first answers: the second is not tried */
	fd = connect_two(0, 0, 100000);
	CHECK(fd >= 0 && fd == six_fd && tries == 1);
	close(fd);
	/* the first fails: the second is tried at once */
	fd = connect_two(ENETUNREACH, 0, -1);
	CHECK(fd >= 0 && fd == four_fd && !waited_ms);
	close(fd);
	/* none answers: the time promised, and what became of both */
	CHECK(connect_two(ECONNREFUSED, -1, 400) == -1);
	CHECK(errno == ETIMEDOUT && waited_ms <= 401);
	CHECK(strstr(dlcp_last_error(), "2001:db8::2: Connection refused"));
	CHECK(strstr(dlcp_last_error(), "192.0.2.2: Connection timed out"));
	CHECK(connect_two(ENETUNREACH, ECONNREFUSED, -1) == -1);
	CHECK(errno == ECONNREFUSED && fcntl(four_fd, F_GETFD) == -1);
	/* in whichever order: the server may come later */
	CHECK(connect_two(ECONNREFUSED, ENETUNREACH, -1) == -1);
	CHECK(errno == ECONNREFUSED);
}

static int slow_resolver(const char *host, const char *port,
			 const struct addrinfo *hints, struct addrinfo **list)
{
	if (hints->ai_flags & AI_NUMERICHOST)
		return fake_real_getaddrinfo(host, port, hints, list);
	sleep(3);
	return EAI_AGAIN;
}

static void names_take_no_longer(void)
{
	uint64_t began = dlcp__now_ns();

	fake_reset();
	fake.getaddrinfo = slow_resolver;
	CHECK(dlcp_connect("slow", "7000", 50) == -1 && errno == ETIMEDOUT);
	CHECK(dlcp__now_ns() - began < 2500000000);
	CHECK(strstr(dlcp_last_error(), "slow was not resolved in time"));
	CHECK(dlcp_connect("slow", "7000", -1) == -1);
	CHECK(errno == EADDRNOTAVAIL);
}

int main(void)
{
	int bad = 0;

	bad |= RUN(module_missing_says_modprobe);
	bad |= RUN(bad_names);
	bad |= RUN(brackets);
	bad |= RUN(bad_ports);
	bad |= RUN(send_restarts_and_checks);
	bad |= RUN(words);
	bad |= RUN(words_of_refusals);
	bad |= RUN(signals_do_not_prolong);
	bad |= RUN(lowered_limit_is_noticed);
	bad |= RUN(send_gathers_and_tags);
	bad |= RUN(recv_has_room_for_every_range);
	bad |= RUN(short_buffer);
	bad |= RUN(peek_looks_again_with_more_room);
	bad |= RUN(end_of_connection);
	bad |= RUN(reports_lose_no_range);
	bad |= RUN(wait_keeps_its_deadline);
	bad |= RUN(accept_prepares);
	bad |= RUN(addresses_share_the_time);
	bad |= RUN(names_take_no_longer);
	return bad;
}
