// SPDX-License-Identifier: GPL-2.0
/*
 * A round: some processes, some of them with two threads, make calls at the same
 * time on sockets that were opened before they were forked, on those they open, and on
 * those they send each other. When the first is done, the rest is killed soon.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

int slot[SLOTS];
int file_fd;
int mail[2];
pid_t *workers;
bool *overran, *settings_changed;
bool tracing, is_uml;
__thread bool faulty;

static u64 round_nr;
static __thread const char *call_name;
static __thread int call_nr;
static int worker_nr;

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* --- descriptors */

int fd_any(void)
{
	int i, first = rnd(SLOTS);

	for (i = 0; i < SLOTS; i++)
		if (slot[(first + i) % SLOTS] >= 0)
			return slot[(first + i) % SLOTS];
	return -1;
}

void fd_drop(int i)
{
	int fd = slot[i];

	slot[i] = -1;
	if (fd >= 0)
		done(close(fd), "close %d", fd);
}

/* In an empty place, or in that of another */
void fd_put(int fd)
{
	int i, at = rnd(SLOTS);

	if (fd < 0)
		return;
	for (i = 0; i < SLOTS && chance(90); i++)
		if (slot[(at + i) % SLOTS] < 0) {
			at = (at + i) % SLOTS;
			break;
		}
	fd_drop(at);
	slot[at] = fd;
}

/* --- one call */

long done(long result, const char *fmt, ...)
{
	int err = errno;
	char text[256];
	va_list ap;

	if (!tracing)
		return result;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%lld %llu.%d.%d %s: %s = %ld%s%s\n", now_ms() % 1000000,
		(unsigned long long)round_nr, worker_nr, call_nr, call_name,
		text, result, result < 0 ? " " : "",
		result < 0 ? strerrorname_np(err) : "");
	return result;
}

void overrun(const char *what)
{
	fprintf(stderr, "round %llu: %s wrote too much\n",
		(unsigned long long)round_nr, what);
	*overran = true;
	_exit(1);
}

/* Each call as often as it weighs */
static const struct call *deck[512];
static int deck_size;

static void deck_fill(const struct call *c)
{
	int i;

	for (; c->fn; c++)
		for (i = 0; i < c->weight; i++)
			deck[deck_size++] = c;
}

/* The @nth allocation of this thread from now on fails; 0: none will. Only a
 * kernel with fault injection has the file.
 */
static void fail_allocation(int nth)
{
	static __thread int fd = -1;
	static __thread pid_t owner;
	char text[16];

	if (owner != gettid()) {	/* after fork() */
		close(fd);
		fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
		owner = gettid();
	}
	snprintf(text, sizeof(text), "%d", nth);
	if (fd >= 0 && write(fd, text, strlen(text)) < 0 && tracing)
		perror("fail-nth");
}

/* User-mode Linux does not survive a page fault within a system call that finds no
 * memory: nothing fails there in calls that take buffers.
 */
static bool may_fail(const struct call *c)
{
	return !is_uml || c->no_buffers;
}

void call_any(void)
{
	const struct call *c = deck[rnd(deck_size)];
	int nth = chance(10) ? 1 + rnd(25) : 0;

	call_name = c->name;
	faulty = nth && may_fail(c);
	if (faulty)
		fail_allocation(nth);
	c->fn();
	if (faulty)
		fail_allocation(0);
	faulty = false;
}

/* --- processes */

enum { CALLS_MIN = 15, CALLS_MAX = 60 };

static void interrupted(int sig)
{
}

/* Nothing waits for long: there is a signal every few milliseconds, which may
 * or may not restart a call
 */
static void signals_open(void)
{
	struct sigaction sa = { .sa_handler = interrupted };
	struct itimerval it;

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGURG, &sa, NULL);
	sigaction(SIGIO, &sa, NULL);
	sigaction(10, &sa, NULL);
	sa.sa_flags = chance(30) ? SA_RESTART : 0;
	sigaction(SIGALRM, &sa, NULL);
	it.it_interval.tv_sec = 0;
	it.it_interval.tv_usec = 5000 + rnd(20000);
	it.it_value = it.it_interval;
	setitimer(ITIMER_REAL, &it, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
}

static void *thread_main(void *arg)
{
	int stream = (long)arg, nr;

	rnd_seed(options.seed, round_nr, stream, 0);
	nr = CALLS_MIN + rnd(CALLS_MAX - CALLS_MIN);
	if (options.calls && options.calls < nr)
		nr = options.calls;
	for (call_nr = 1; call_nr <= nr; call_nr++) {
		rnd_seed(options.seed, round_nr, stream, call_nr);
		call_any();
	}
	return NULL;
}

static void worker_main(int nr)
{
	pthread_t t;
	bool two;

	worker_nr = nr;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rnd_seed(options.seed, round_nr, nr, ~0ULL);
	signals_open();
	memory_open();
	two = chance(40) &&
	      !pthread_create(&t, NULL, thread_main,
			      (void *)(long)(nr + WORKERS_MAX));
	thread_main((void *)(long)nr);
	if (two)
		pthread_join(t, NULL);
	_exit(0);
}

/* --- sockets all processes have */

static void slots_open(void)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		slot[i] = -1;
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, mail))
		abort();
	rnd_seed(options.seed, round_nr, 0, ~0ULL - 1);
	call_name = "before";
	for (i = 0; i < 2; i++)
		socket_calls[5].fn();	/* pairs */
}

static void slots_close(void)
{
	int i;

	for (i = 0; i < SLOTS; i++)
		fd_drop(i);
	close(mail[0]);
	close(mail[1]);
}

/* --- the end of a round */

/* Reap for @ms at most, or until @enough have ended. Is none left? */
static bool reap(int ms, int enough)
{
	long long end = now_ms() + ms;
	pid_t pid;

	while (enough) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0)
			return true;
		if (pid)
			enough--;
		else if (now_ms() > end)
			return false;
		else
			usleep(500);
	}
	return false;
}

static void show_hang(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "cd /proc/%d/task && grep -H . */comm */stack", pid);
	if (system(command))
		fprintf(stderr, "process %d is gone\n", pid);
}

static void start_all(int n)
{
	pid_t pid;
	int i;

	for (i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			abort();
		if (!pid)
			worker_main(i);
		setpgid(pid, pid);
		workers[i] = pid;	/* the table is the child's, too */
	}
}

bool round_run(u64 nr)
{
	bool gone;
	int n, i;

	round_nr = nr;
	if (!deck_size) {
		deck_fill(socket_calls);
		deck_fill(io_calls);
		deck_fill(option_calls);
		deck_fill(other_calls);
	}
	if (*settings_changed)
		settings_reset();
	*settings_changed = false;
	slots_open();
	n = 2 + rnd(WORKERS_MAX - 1);
	start_all(n);
	if (!reap(1000 * slowness, 1))
		reap(50 * slowness, INT_MAX);
	for (i = 0; i < n; i++)
		kill(-workers[i], SIGKILL);
	gone = reap(10000 * slowness, INT_MAX);
	for (i = 0; i < n && !gone; i++)
		show_hang(workers[i]);
	memset(workers, 0, WORKERS_MAX * sizeof(*workers));
	slots_close();
	return gone;
}
