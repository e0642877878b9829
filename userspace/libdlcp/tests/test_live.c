// SPDX-License-Identifier: GPL-2.0
/*
 * The library against the kernel it runs in, over loopback. Skipped where
 * there is no module; in the lab: selftests/vm/lab -- build/user/tests/live
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dlcp.h>

#include "check.h"

#define N	200000	/* floats of a tensor */
#define BYTES	(N * sizeof(float))

static float tensor[N], got[N];

/* Two ends of a connection over loopback */
struct pair {
	int a, b;
};

static int port_of(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	/* the port lies at the same place in both families */
	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		return -1;
	return ntohs(((struct sockaddr_in *)&addr)->sin_port);
}

static int connect_pair(struct pair *p, const char *at, const char *to)
{
	int fd = dlcp_listen(at, "0", 4);
	char port[8];

	if (fd < 0)
		return -1;
	snprintf(port, sizeof(port), "%d", port_of(fd));
	p->a = dlcp_connect(to, port, 5000);
	p->b = p->a < 0 ? -1 : dlcp_accept(fd, 5000);
	close(fd);
	if (p->b < 0)
		return -1;
	return dlcp_set_timeouts(p->a, 10000, 10000) ||
	       dlcp_set_timeouts(p->b, 10000, 10000);
}

static void close_pair(struct pair *p)
{
	close(p->a);
	close(p->b);
}

static int send_key(int fd, uint64_t key, size_t bytes, uint32_t flags)
{
	struct dlcp_send msg = {
		.buf = tensor,
		.len = bytes,
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_FLAGS |
				DLCP_ATTR_COOKIE,
			.key = key,
			.flags = flags,
			.cookie = ~key,
		},
	};

	return dlcp_send(fd, &msg) == (ssize_t)bytes ? 0 : -1;
}

static void by_key_in_any_order(void)
{
	struct dlcp_receipt r = { .eof = 0 };
	struct pair p;
	int i;

	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	for (i = 0; i < 5; i++)
		CHECK(!send_key(p.a, i, 1000 + i, 0));
	for (i = 4; i >= 0; i--) {
		CHECK(dlcp_peek(p.b, DLCP_KEY(i), 0, &r) == 1000 + i);
		CHECK(r.msg.key == (unsigned int)i);
		CHECK(dlcp_recv(p.b, DLCP_KEY(i), got, BYTES, 0, &r) ==
		      1000 + i);
		CHECK(r.msg.key == (unsigned int)i && r.msg.complete);
		CHECK(!r.nr_ranges && !r.eof);
		CHECK(!memcmp(got, tensor, 1000 + i));
	}
	dlcp_receipt_free(&r);
	close_pair(&p);
}

static void short_buffer_loses_nothing(void)
{
	struct dlcp_receipt r = { .eof = 0 };
	struct pair p;

	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!send_key(p.a, 7, 5000, 0));
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, 100, 0, &r) == -1);
	CHECK(errno == EMSGSIZE);
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, 5000, 0, &r) == 5000);
	CHECK(!send_key(p.a, 8, 5000, 0));
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, 100, MSG_TRUNC, &r) == 5000);
	CHECK(r.msg.key == 8);
	dlcp_receipt_free(&r);
	close_pair(&p);
}

static void end_and_empty_message(void)
{
	struct dlcp_receipt r = { .eof = 0 };
	struct pair p;

	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!send_key(p.a, 9, 0, 0));
	CHECK(!shutdown(p.a, SHUT_WR));
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, BYTES, 0, &r) == 0);
	CHECK(!r.eof && r.msg.key == 9);
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, BYTES, 0, &r) == 0 && r.eof);
	CHECK(dlcp_peek(p.b, DLCP_ANY, 0, &r) == 0 && r.eof);
	CHECK(!send_key(p.b, 1, 100, 0));
	CHECK(dlcp_recv(p.a, DLCP_KEY(1), got, 100, 0, &r) == 100);
	CHECK(send_key(p.a, 1, 100, 0) == -1 && errno == EPIPE);
	dlcp_receipt_free(&r);
	close_pair(&p);
}

static void *send_big(void *arg)
{
	struct pair *p = arg;

	usleep(100000);
	return (void *)(long)send_key(p->a, 3, BYTES, DLCP_MSG_REPORT);
}

static void reports_come_back(void)
{
	struct dlcp_reports reports = { .nr = 0 };
	struct dlcp_receipt r = { .eof = 0 };
	pthread_t sender;
	struct pair p;
	void *ret;

	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(dlcp_reports(p.a, &reports, 0) == -1 && errno == EAGAIN);
	CHECK(dlcp_reports(p.a, &reports, 50) == -1 && errno == EAGAIN);
	CHECK(!pthread_create(&sender, NULL, send_big, &p));
	memset(got, 0xff, sizeof(got));
	CHECK(dlcp_recv(p.b, DLCP_KEY(3), got, BYTES, 0, &r) ==
	      (ssize_t)BYTES);
	CHECK(!pthread_join(sender, &ret) && !ret);
	CHECK(!memcmp(got, tensor, BYTES));
	CHECK(dlcp_reports(p.a, &reports, 5000) == 1);
	CHECK(reports.sent[0].report.key == 3);
	CHECK(reports.sent[0].report.cookie == ~3ULL);
	CHECK(reports.sent[0].report.missing == r.msg.missing);
	CHECK(reports.sent[0].nr_ranges == r.nr_ranges);
	CHECK(reports.sent[0].report.duration_ns > 0);
	dlcp_reports_free(&reports);
	dlcp_receipt_free(&r);
	close_pair(&p);
}

/* Early stop with everything droppable: the bound is spent */
static void receipt_and_report_agree(void)
{
	struct dlcp_tags *tags = dlcp_tags_new(BYTES, 1000);
	struct dlcp_send msg = {
		.buf = tensor, .len = BYTES, .tags = tags,
		.attr = {
			.mask = DLCP_ATTR_LOSS | DLCP_ATTR_FLAGS,
			.loss_ppm = 300000,
			.flags = DLCP_MSG_EARLY_STOP | DLCP_MSG_REPORT,
		},
	};
	struct dlcp_reports reports = { .nr = 0 };
	struct dlcp_receipt r = { .eof = 0 };
	struct pair p;
	size_t i, j, at;

	CHECK(tags && !dlcp_tags_f32(tags, tensor, N, 0.5, 0.1));
	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(dlcp_send(p.a, &msg) == (ssize_t)BYTES);
	memset(got, 0xff, sizeof(got));
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, BYTES, 0, &r) == (ssize_t)BYTES);
	CHECK(dlcp_reports(p.a, &reports, 5000) == 1);
	CHECK(r.msg.missing <= BYTES * 3 / 10);
	CHECK(reports.sent[0].nr_ranges == r.nr_ranges);
	for (i = 0, at = 0; i < r.nr_ranges; i++) {
		CHECK(!memcmp(&reports.sent[0].ranges[i], &r.ranges[i],
			      sizeof(r.ranges[i])));
		j = r.ranges[i].offset / sizeof(float);
		CHECK(!memcmp(got + at, tensor + at, (j - at) * sizeof(float)));
		at = j + r.ranges[i].length / sizeof(float);
		for (; j < at; j++)
			CHECK(got[j] == 0);
	}
	CHECK(!memcmp(got + at, tensor + at, (N - at) * sizeof(float)));
	printf("# %llu bytes missing in %zu ranges\n",
	       (unsigned long long)r.msg.missing, r.nr_ranges);
	dlcp_reports_free(&reports);
	dlcp_receipt_free(&r);
	dlcp_tags_free(tags);
	close_pair(&p);
}

static void zerocopy_is_told(void)
{
	struct dlcp_send msg = {
		.buf = tensor, .len = BYTES, .flags = MSG_ZEROCOPY,
		.attr = { .mask = DLCP_ATTR_FLAGS, .flags = DLCP_MSG_REPORT },
	};
	struct dlcp_reports reports = { .nr = 0 };
	uint32_t over = 0, i, told = 0;
	struct pair p;

	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!dlcp_allow_zerocopy(p.a));
	CHECK(!dlcp_set_buffers(p.a, 4 * BYTES, 0));
	CHECK(!dlcp_set_buffers(p.b, 0, 8 * BYTES));
	for (i = 0; i < 3; i++) {
		CHECK(dlcp_send(p.a, &msg) == BYTES);
		CHECK(dlcp_recv(p.b, DLCP_ANY, got, BYTES, 0, NULL) == BYTES);
		CHECK(!memcmp(got, tensor, BYTES));
	}
	while (over < 3 || told < 3) {
		CHECK(dlcp_reports(p.a, &reports, 5000) >= 0);
		told += reports.nr;
		if (!reports.nr_zerocopy)
			continue;
		CHECK(reports.first_zerocopy == over && reports.copied);
		over += reports.nr_zerocopy;
	}
	CHECK(dlcp_reports(p.a, &reports, 0) == -1 && errno == EAGAIN);
	dlcp_reports_free(&reports);
	close_pair(&p);
}

static void both_families(void)
{
	struct pair p;

	CHECK(!connect_pair(&p, NULL, "127.0.0.1"));
	close_pair(&p);
	CHECK(!connect_pair(&p, NULL, "::1"));
	close_pair(&p);
	CHECK(!connect_pair(&p, "::1", "::1"));
	close_pair(&p);
	CHECK(!connect_pair(&p, "::", "::1"));
	close_pair(&p);
	CHECK(!connect_pair(&p, "::", "127.0.0.1"));
	close_pair(&p);
}

static void timeouts_and_refusals(void)
{
	struct dlcp_receipt r = { .eof = 0 };
	int fd = dlcp_listen("127.0.0.1", "0", 1);
	char port[8];
	struct pair p;

	CHECK(fd >= 0);
	CHECK(dlcp_accept(fd, 50) == -1 && errno == ETIMEDOUT);
	snprintf(port, sizeof(port), "%d", port_of(fd));
	close(fd);
	CHECK(dlcp_connect("127.0.0.1", port, 2000) == -1);
	CHECK(errno == ECONNREFUSED);
	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!dlcp_set_timeouts(p.b, -1, 50));
	CHECK(dlcp_recv(p.b, DLCP_KEY(1), got, BYTES, 0, &r) == -1);
	CHECK(errno == EAGAIN);
	CHECK(dlcp_wait(p.b, POLLIN, 50) == -1 && errno == ETIMEDOUT);
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, BYTES, MSG_DONTWAIT, &r) == -1);
	CHECK(errno == EAGAIN);
	CHECK(!send_key(p.a, 1, 10, 0));
	CHECK(dlcp_wait(p.b, POLLIN, 5000) & POLLIN);
	dlcp_receipt_free(&r);
	close_pair(&p);
}

static void options_and_info(void)
{
	struct dlcp_attr attr = {
		.mask = DLCP_ATTR_LOSS | DLCP_ATTR_PRIO,
		.loss_ppm = 50000, .prio = 2,
	};
	struct dlcp_receipt r = { .eof = 0 };
	char text[DLCP_ERROR_TEXT_MAX];
	struct dlcp_info info;
	struct pair p;

	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!dlcp_set_defaults(p.a, &attr));
	CHECK(!dlcp_set_buffers(p.a, 1 << 22, 1 << 22));
	CHECK(!send_key(p.a, 5, 400, 0));
	CHECK(dlcp_recv(p.b, DLCP_ANY, got, BYTES, 0, &r) == 400);
	CHECK(r.msg.loss_ppm == 50000 && r.msg.prio == 2);
	CHECK(!dlcp_get_info(p.a, &info));
	CHECK(info.state == DLCP_ESTABLISHED && info.tx_offered == 400);
	CHECK(info.seg_size > 500);
	CHECK(!dlcp_conn_error(p.a, text, sizeof(text)) && !*text);
	attr.mask |= DLCP_ATTR_KEY;
	CHECK(dlcp_set_defaults(p.a, &attr) == -1 && errno == EINVAL);
	CHECK(dlcp_prepare(0) == -1);
	dlcp_receipt_free(&r);
	close_pair(&p);
}

static void nothing(int sig)
{
	(void)sig;
}

static void *interrupt(void *arg)
{
	struct pair *p = arg;
	int i;

	for (i = 0; i < 20; i++) {
		usleep(10000);
		kill(getpid(), SIGUSR1);
	}
	return (void *)(long)send_key(p->a, 6, 100, 0);
}

static void signals_change_nothing(void)
{
	struct sigaction act = { .sa_handler = nothing };
	struct dlcp_receipt r = { .eof = 0 };
	pthread_t thread;
	struct pair p;
	sigset_t set;
	void *ret;

	/* the handler runs in this thread, without SA_RESTART */
	CHECK(!sigaction(SIGUSR1, &act, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(!pthread_create(&thread, NULL, interrupt, &p));
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK(dlcp_recv(p.b, DLCP_KEY(6), got, BYTES, 0, &r) == 100);
	CHECK(!pthread_join(thread, &ret) && !ret);
	dlcp_receipt_free(&r);
	close_pair(&p);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Not before, and not much later, though machines may be slow */
#define TAKES(least, call) do { \
	double took, began = seconds(); \
	CHECK(call); \
	took = seconds() - began; \
	if (took < (least) - 0.01 || took > (least) + 3) { \
		printf("# after %.2f s: %s\n", took, #call); \
		CHECK(0); \
	} \
} while (0)

/* An address from which nothing comes back, where we may make one */
static int make_silence(void)
{
	return unshare(CLONE_NEWNET) ||
	       system("ip link set lo up && ip link add silent type veth peer name nobody && "
		      "ip addr add 192.0.2.1/24 dev silent && ip link set silent up && ip link set nobody up && "
		      "ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev silent");
}

static void storm(int flags)
{
	struct sigaction act = { .sa_handler = nothing, .sa_flags = flags };
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Every call that waits, with a signal every 20 ms: the time that it promises */
static void deadlines_in_a_storm(int flags)
{
	struct dlcp_receipt r = { .eof = 0 };
	struct dlcp_reports reports = { .nr = 0 };
	struct sockaddr_in where = { .sin_family = AF_INET, .sin_port = htons(7),
				     .sin_addr.s_addr = htonl(0xc0000209) };
	int fd = dlcp_listen("127.0.0.1", "0", 1);
	struct pair p;

	CHECK(fd >= 0 && !connect_pair(&p, "127.0.0.1", "127.0.0.1"));
	CHECK(!dlcp_set_timeouts(p.a, 500, 500));
	storm(flags);
	TAKES(0.5, dlcp_recv(p.a, DLCP_KEY(1), got, BYTES, 0, &r) == -1);
	CHECK(errno == EAGAIN);
	TAKES(0.5, dlcp_peek(p.a, DLCP_KEY(1), 0, &r) == -1 && errno == EAGAIN);
	while (!send_key(p.a, 1, BYTES, 0) && seconds() > 0)
		if (dlcp_wait(p.a, POLLOUT, 0) < 0)
			break;
	TAKES(0.5, send_key(p.a, 1, BYTES, 0) == -1 && errno == EAGAIN);
	TAKES(0.5, dlcp_wait(p.a, POLLIN, 500) == -1 && errno == ETIMEDOUT);
	TAKES(0.5, dlcp_reports(p.a, &reports, 500) == -1 && errno == EAGAIN);
	TAKES(0.5, dlcp_accept(fd, 500) == -1 && errno == ETIMEDOUT);
	TAKES(0.7, dlcp_connect("192.0.2.9", "7", 700) == -1);
	CHECK(errno == ETIMEDOUT);
	close(fd);
	fd = dlcp_socket(AF_INET);
	TAKES(0.7, dlcp_connect_fd(fd, (struct sockaddr *)&where, sizeof(where),
				   700) == -1 && errno == ETIMEDOUT);
	dlcp_receipt_free(&r);
	dlcp_reports_free(&reports);
	close(fd);
	close_pair(&p);
}

static void deadlines_in_storms(void)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (make_silence()) {
			printf("# not root: this is not tested\n");
			fflush(stdout);
			_exit(0);
		}
		deadlines_in_a_storm(SA_RESTART);
		setitimer(ITIMER_REAL, &never, NULL);
		if (!check_failed)
			deadlines_in_a_storm(0);
		fflush(stdout);
		_exit(check_failed);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

int main(void)
{
	int fd = dlcp_socket(AF_INET), bad = 0, i;

	if (fd < 0) {
		check_skip("live", dlcp_last_error());
		return 0;
	}
	close(fd);
	for (i = 0; i < N; i++)
		tensor[i] = (float)(i % 7919 + 1) * ((i & 1) ? 1.0f : -1.0f);
	bad |= RUN(by_key_in_any_order);
	bad |= RUN(short_buffer_loses_nothing);
	bad |= RUN(end_and_empty_message);
	bad |= RUN(reports_come_back);
	bad |= RUN(receipt_and_report_agree);
	bad |= RUN(zerocopy_is_told);
	bad |= RUN(both_families);
	bad |= RUN(timeouts_and_refusals);
	bad |= RUN(options_and_info);
	bad |= RUN(signals_change_nothing);
	bad |= RUN(deadlines_in_storms);
	return bad;
}
