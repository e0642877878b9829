// SPDX-License-Identifier: GPL-2.0
/*
 * The Gloo device at the end of a process, in its children, and where no file is left. As test_gloo.cc
 */
#include <sys/resource.h>

#include "ranks.h"

/* Whether a child that does this ends well, and within seconds */
static bool child(const std::function<void()> &act)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(5);
		act();
		exit(0);
	}
	return waitpid(pid, &status, 0) == pid && !status;
}

/* A child has no part in its parent's sends, and does not wait for them when it ends */
static void forked(const Ctx &ctx)
{
	std::vector<char> x(64 << 20);
	pid_t pid = getpid();
	auto buf = ctx->createUnboundBuffer(x.data(), x.size());
	auto about = ctx->createUnboundBuffer(&pid, sizeof(pid));

	if (ctx->rank) {
		buf->recv(0, 1);
		about->send(0, 2);
		buf->waitRecv();
		return;
	}
	about->recv(1, 2);
	about->waitRecv();
	kill(pid, SIGSTOP);
	buf->send(1, 1);
	NEED(child([&] {
		if (!says("this process was forked by one that is in a group", [&] { buf->waitSend(); }))
			abort();
		buf.reset();
	}));
	kill(pid, SIGCONT);
	buf->waitSend();
}

/* A rank that dies is missed at once, although its child lives */
static void orphaned(const Ctx &ctx)
{
	int x = 0;
	auto buf = ctx->createUnboundBuffer(&x, sizeof(x));
	auto start = steady_clock::now();

	if (ctx->rank) {
		if (!fork()) {
			alarm(20);
			pause();
			_exit(0);
		}
		raise(SIGKILL);
	}
	NEED(says("the connection of rank 0 with rank 1", [&] {
		buf->recv(1, 1);
		buf->waitRecv();
	}));
	NEED(seconds_since(start) < 5);
}

/* The next file would be one too many */
static void limit_files(struct rlimit *old)
{
	int next = dup(0);
	struct rlimit low;

	close(next);
	getrlimit(RLIMIT_NOFILE, old);
	low = *old;
	low.rlim_cur = static_cast<rlim_t>(next);
	setrlimit(RLIMIT_NOFILE, &low);
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* A connection for which there is no file waits, and costs nothing meanwhile */
static void gloo_no_files(void)
{
	auto device = own_device(), theirs = own_device();
	auto ctx = device->createContext(0, 2);
	struct rlimit old;
	double before;
	pid_t pid;
	int x;

	ctx->setTimeout(milliseconds(30000));
	auto &pair = ctx->createPair(1);
	auto buf = ctx->createUnboundBuffer(&x, sizeof(x));
	buf->recv(1, 1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		usleep(500000);
		put(theirs->connect(wire::Address(pair->address().bytes()), milliseconds(20000)), 5ULL << 60, "?", 1);
		sleep(20);
		_exit(0);
	}
	limit_files(&old);
	sleep(1);
	before = cpu_seconds();
	sleep(2);
	CHECK(cpu_seconds() - before < 0.5);
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK(says("rank 1 does not speak our language", [&] { buf->waitRecv(); }));
	kill(pid, SIGKILL);
	waitpid(pid, nullptr, 0);
}

static void gloo_forked(void) { CHECK(ranks(2, forked) == 0); }
static void gloo_orphaned(void) { CHECK(ranks(2, orphaned) == 1); }

int main(void)
{
	int fd = dlcp_socket(AF_INET), failed;

	if (fd < 0) {
		check_skip("gloo-ends", "the running kernel has no DLCP");
		return 0;
	}
	close(fd);
	failed = RUN(gloo_no_files);
	return failed | RUN(gloo_forked) | RUN(gloo_orphaned);
}
