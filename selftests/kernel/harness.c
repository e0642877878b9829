// SPDX-License-Identifier: GPL-2.0
/* The test harness: processes, watchdog, TAP */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

/* Shared between the harness and the test's processes */
static struct {
	const char	*file;
	int		line;
	int		failures;
	char		skipped[128];	/* why */
} *state;

static struct test *tests, **tests_end = &tests;
int slowness = 1;

void test_register(struct test *t)
{
	*tests_end = t;
	tests_end = &t->next;
}

void test_at(const char *file, int line)
{
	state->file = file;
	state->line = line;
}

static void say(const char *fmt, va_list ap)
{
	char line[4096] = "# ";

	vsnprintf(line + 2, sizeof(line) - 3, fmt, ap);
	strcat(line, "\n");
	/* one write, as several processes share the file */
	if (write(STDOUT_FILENO, line, strlen(line)) < 0)
		abort();
}

void test_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

void test_failed(bool fatal, const char *fmt, ...)
{
	int n = __atomic_add_fetch(&state->failures, 1, __ATOMIC_RELAXED);
	va_list ap;

	/* the first few tell all; a loop must not flood the log */
	if (n <= 20) {
		va_start(ap, fmt);
		say(fmt, ap);
		va_end(ap);
	}
	if (fatal)
		_exit(TEST_FAIL);
}

void test_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(state->skipped, sizeof(state->skipped), fmt, ap);
	va_end(ap);
	_exit(TEST_SKIP);
}

const char *err_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "?";
}

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void nap_ms(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

/* Copy a file as comment lines */
static void show_file(const char *path)
{
	char line[512];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		test_note("  %.*s", (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

/* Where in the kernel the threads of a hung process are */
static void show_threads(pid_t pid)
{
	static const char * const names[] = { "comm", "syscall", "stack" };
	char path[64];
	size_t i, k;
	glob_t g;

	snprintf(path, sizeof(path), "/proc/%d/task/*", pid);
	if (glob(path, 0, NULL, &g))
		return;
	for (i = 0; i < g.gl_pathc; i++) {
		test_note("thread %s", strrchr(g.gl_pathv[i], '/') + 1);
		for (k = 0; k < sizeof(names) / sizeof(*names); k++) {
			snprintf(path, sizeof(path), "%s/%s", g.gl_pathv[i],
				 names[k]);
			show_file(path);
		}
	}
	globfree(&g);
}

static void show_hang(pid_t pid)
{
	char path[64];
	pid_t child;
	FILE *f;

	test_note("hangs; it was last seen at %s:%d", state->file, state->line);
	show_threads(pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		show_threads(child);
	if (f)
		fclose(f);
}

static bool ends_within(int pidfd, int ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static int child_main(const struct test *t)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	test_setup();
	t->fn();
	return state->failures ? TEST_FAIL : TEST_PASS;
}

static int verdict(int status)
{
	if (!WIFEXITED(status)) {
		test_note("killed by signal SIG%s; last seen at %s:%d",
			  sigabbrev_np(WTERMSIG(status)), state->file,
			  state->line);
		return TEST_FAIL;
	}
	/* a failure seen in another process of the test counts as well */
	if (state->failures)
		return TEST_FAIL;
	return WEXITSTATUS(status);
}

static int run_one(const struct test *t)
{
	int status = 0, pidfd;
	bool hung;
	pid_t pid;

	memset(state, 0, sizeof(*state));
	test_at("start", 0);
	pid = fork();
	if (!pid)
		exit(child_main(t));
	setpgid(pid, pid);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	hung = !ends_within(pidfd, t->seconds * slowness * 1000);
	if (hung)
		show_hang(pid);
	kill(-pid, SIGKILL);
	if (!ends_within(pidfd, 10000)) {
		test_note("and cannot be killed");
		show_threads(pid);
		printf("Bail out! a test cannot be killed\n");
		exit(TEST_FAIL);
	}
	close(pidfd);
	waitpid(pid, &status, 0);
	return hung ? TEST_FAIL : verdict(status);
}

static bool chosen(const struct test *t, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], t->name))
			return true;
	return argc < 2;
}

static int count_chosen(int argc, char **argv)
{
	struct test *t;
	int n = 0;

	for (t = tests; t; t = t->next)
		n += chosen(t, argc, argv);
	return n;
}

int main(int argc, char **argv)
{
	static const char * const word[] = {
		[TEST_PASS] = "ok", [TEST_FAIL] = "not ok", [TEST_SKIP] = "ok",
	};
	int nr = 0, count[TEST_SKIP + 1] = { 0 }, res;
	const char *why;
	struct test *t;
	long long start;

	setvbuf(stdout, NULL, _IOLBF, 0);
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("TAP version 13\n");
	why = test_init();
	if (why) {
		printf("1..0 # SKIP %s\n", why);
		return TEST_SKIP;
	}
	printf("1..%d\n", count_chosen(argc, argv));
	for (t = tests; t; t = t->next) {
		if (!chosen(t, argc, argv))
			continue;
		start = now_ms();
		res = run_one(t);
		if (res != TEST_PASS && res != TEST_SKIP)
			res = TEST_FAIL;
		count[res]++;
		printf("%s %d - %s # ", word[res], ++nr, t->name);
		if (res == TEST_SKIP)
			printf("SKIP %s\n", state->skipped);
		else
			printf("%lld ms\n", now_ms() - start);
	}
	if (count[TEST_FAIL] || !nr)
		return TEST_FAIL;
	return count[TEST_PASS] ? TEST_PASS : TEST_SKIP;
}
