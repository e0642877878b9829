// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks whose process ends or forks, and ranks under signals. As coll-faults, with
 * the kernel it runs in.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlcp.h>

#include "ranks.h"

/* --- the end of a process, and its children */

static void exit_body(void)
{
	join();
	NEED(!dlcp_coll_barrier(coll, NULL) || errno == ECANCELED);
	if (me == 1) {
		begin();
		exit(0);	/* others have not noticed that it is missing */
	}
	idle_until_told();
	NEED(errno == ECANCELED && at_once());
	NEED(said("rank 1 ended its process without leaving the group"));
	leave();
}

static void exit_leaving_body(void)
{
	join();
	NEED(!dlcp_coll_barrier(coll, NULL));
	leave();
	exit(0);
}

static void exit_without_leaving(void)
{
	CHECK(!ranks(3, exit_body));
	CHECK(!ranks(3, exit_leaving_body));
}

/* All that a child can do to the group, and then it ends as programs do */
static void be_child(struct dlcp_coll_handle *h)
{
	struct dlcp_coll_stats stats;

	NEED(dlcp_coll_barrier(coll, NULL) == -1 && errno == ECHILD);
	NEED(said("this process was forked by one that is in a group"));
	NEED(dlcp_coll_test(h) && dlcp_coll_wait(h, -1) && errno == ECHILD);
	NEED(dlcp_coll_serve(coll) == -1 && errno == ECHILD);
	dlcp_coll_get_stats(coll, &stats);
	dlcp_coll_abort(coll, "a child's wish");
	dlcp_coll_close(coll);
	exit(0);
}

static void child_body(void)
{
	struct dlcp_coll_handle *h;
	int i, status;
	pid_t pid;

	join();
	for (i = 0; i < 3; i++) {
		NEED(!dlcp_coll_barrier(coll, &h));
		pid = me ? 0 : fork();
		if (!me && !pid)
			be_child(h);
		if (!me)
			NEED(waitpid(pid, &status, 0) == pid && !status);
		NEED(!dlcp_coll_wait(h, -1));
	}
	leave();
}

static void child_ends_nothing(void) { CHECK(!ranks(2, child_body)); }

/* It holds no connection, so that the parent's death is known at once */
static void orphan_body(void)
{
	pid_t pid;

	join();
	NEED(!dlcp_coll_barrier(coll, NULL) || errno == ECONNRESET);
	if (me == 1) {
		pid = fork();
		if (!pid) {
			pause();
			_exit(0);
		}
		shared->server = pid;
		begin();
		raise(SIGKILL);
	}
	idle_until_told();
	NEED(errno == ECONNRESET && said("rank 1 died") && at_once());
	leave();
}

static void child_outlives_rank(void)
{
	CHECK(ranks(3, orphan_body) == 1);
	CHECK(shared->server > 0 && !kill(shared->server, SIGKILL));
}

/* --- signals */

static void nothing(int sig)
{
	(void)sig;
}

/* Twenty a second, with and without SA_RESTART */
static void storm(int flags)
{
	struct sigaction act = { .sa_handler = nothing, .sa_flags = flags };
	struct itimerval every = { { 0, 50000 }, { 0, 50000 } };

	NEED(!sigaction(SIGALRM, &act, NULL));
	NEED(!setitimer(ITIMER_REAL, &every, NULL));
}

static void storm_open_body(void)
{
	options.timeout_ms = 3000;
	if (me == 2)
		return;	/* never comes */
	begin();
	storm(me ? SA_RESTART : 0);
	NEED(!dlcp_coll_open(&options) && errno == ETIMEDOUT);
	NEED(said("did not come") && between(2.99, 30));
}

static void storm_wait_body(void)
{
	struct dlcp_coll_handle *h;
	double began;

	options.timeout_ms = 6000;
	join();
	NEED(!dlcp_coll_barrier(coll, NULL));
	if (me == 1) {
		idle_until_told();
		leave();
		return;
	}
	storm(me ? SA_RESTART : 0);
	began = seconds();
	NEED(!dlcp_coll_barrier(coll, &h));
	NEED(dlcp_coll_wait(h, 300) == -1 && errno == EAGAIN);
	NEED(seconds() - began >= 0.29 && seconds() - began < 5.9);
	NEED(dlcp_coll_wait(h, -1) == -1);
	NEED(errno == ETIMEDOUT && said("not begun by rank 1"));
	NEED(seconds() - began < 30);
	leave();
}

static void timeouts_under_signals(void)
{
	CHECK(!ranks(3, storm_open_body));
	CHECK(!ranks(3, storm_wait_body));
}

/* Another program has rank 0's port, and says what no rank does */
static void impostor_body(void)
{
	struct dlcp_send msg = {
		.buf = "?", .len = 1,
		.attr = { .mask = DLCP_ATTR_KEY, .key = 2 },
	};
	char hello[4096];
	int fd;

	if (me) {
		NEED(!dlcp_coll_open(&options) && errno == EBADMSG);
		NEED(said("a message of 1 bytes where ") &&
		     said(" were expected: is the port a rank's, and libdlcp the same?"));
		return;
	}
	fd = dlcp_accept(dlcp_listen(NULL, options.master_port, 1), 10000);
	NEED(fd >= 0 && dlcp_send(fd, &msg) == 1);
	while (dlcp_recv(fd, DLCP_ANY, hello, sizeof(hello), 0, NULL) > 0)
		;
}

static void other_program(void) { CHECK(!ranks(2, impostor_body)); }

int main(void)
{
	static const struct test tests[] = {
#define T(name) { #name, name }
		T(exit_without_leaving), T(child_ends_nothing),
		T(child_outlives_rank), T(timeouts_under_signals),
		T(other_program), { 0 },
	};

	return run_tests("coll-end", tests);
}
