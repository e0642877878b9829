// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz_syscalls [--seed S] [--first R] [--rounds N] [--calls N] [--trace]
 *
 * Rounds, and what must be true after each: the kernel says nothing, every
 * process can be killed, and nothing is left of its sockets. TAP comes out.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fuzz.h"

/* Rounds in one name space */
enum { BATCH = 20 };

struct options options = { .seed = 1, .rounds = 10 };
int slowness = 1;

static int kmsg;

/* --- what the kernel says */

static bool complains(const char *line)
{
	static const char * const words[] = {
		"WARNING: ", "BUG: ", "BUG at ", "Oops", "KASAN", "UBSAN",
		"suspicious RCU", "circular locking", "inconsistent lock",
		"INFO: task", "INFO: rcu_", "general protection",
		"refcount_t:", "ODEBUG", "unregister_netdevice: waiting",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

static void kmsg_open(void)
{
	kmsg = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (kmsg >= 0)
		lseek(kmsg, 0, SEEK_END);
}

/* In the kernel's log the complaint comes after the round that caused it */
static void kmsg_say(u64 nr)
{
	char text[80];

	snprintf(text, sizeof(text), "fuzz: round %llu of seed %llu\n",
		 (unsigned long long)nr, (unsigned long long)options.seed);
	if (kmsg >= 0 && write(kmsg, text, strlen(text)) < 0)
		perror("/dev/kmsg");
}

static bool kernel_is_quiet(void)
{
	bool quiet = true;
	char line[8192];
	ssize_t n;

	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		if (!complains(line))
			continue;
		printf("# %.*s\n", (int)strcspn(line, "\n"), line);
		quiet = false;
	}
	return quiet;
}

/* Whatever fails where it was told to is not to fill the log */
static void fault_injection_open(void)
{
	static const char * const lines[] = {
		"failslab/verbose=0", "failslab/ignore-gfp-wait=0",
		"fail_page_alloc/verbose=0", "fail_page_alloc/min-order=0",
		"fail_page_alloc/ignore-gfp-wait=0",
		"fail_usercopy/verbose=0",
	};
	char path[128];
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%.*s",
			 (int)strcspn(lines[i], "="), lines[i]);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (write(fd, "0", 1) != 1)
			perror(path);
		close(fd);
	}
}

/* --- name spaces */

static void net_open(void)
{
	if (unshare(CLONE_NEWNET)) {
		perror("unshare");
		exit(1);
	}
	*settings_changed = true;	/* to what they are here */
}

/* Sockets of this name space; pages of all, of which each processor may keep
 * 256 back
 */
static bool nothing_left(void)
{
	long long sockets = 0, pages = 0, n, mem;
	char line[256], name[64];
	FILE *f = fopen("/proc/thread-self/net/protocols", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %*d %lld %lld", name, &n, &mem) != 3 ||
		    strncmp(name, "DLCP", 4))
			continue;
		sockets += n;
		pages = mem;
	}
	if (f)
		fclose(f);
	return !sockets && pages <= 256 * sysconf(_SC_NPROCESSORS_ONLN);
}

static bool wait_nothing_left(void)
{
	int i;

	for (i = 0; i < 400 * slowness; i++) {
		if (nothing_left())
			return true;
		usleep(50000);
	}
	if (system("sed 's/^/# /' /proc/net/protocols | grep DLCP"))
		printf("# and cannot be shown\n");
	return false;
}

/* --- */

static bool failed(u64 nr, const char *why)
{
	printf("# round %llu: %s\n"
	       "# again: make fuzz-syscalls SEED=%llu FIRST=%llu ROUNDS=1\n",
	       (unsigned long long)nr, why, (unsigned long long)options.seed,
	       (unsigned long long)nr);
	return false;
}

static bool run(void)
{
	u64 nr, end = options.first + options.rounds;

	for (nr = options.first; nr < end; nr++) {
		kmsg_say(nr);
		if (!round_run(nr))
			return failed(nr, "a process cannot be killed");
		if (!kernel_is_quiet())
			return failed(nr, "the kernel complains");
		if (*overran)
			return failed(nr, "the kernel wrote too much");
		if ((nr + 1 - options.first) % 1000 == 0)
			printf("# %llu rounds\n",
			       (unsigned long long)(nr + 1 - options.first));
		if ((nr + 1 - options.first) % BATCH && nr + 1 < end)
			continue;
		if (!wait_nothing_left())
			return failed(nr, "something is left (of this, or of those since the last look)");
		net_open();
	}
	return kernel_is_quiet();
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "first", required_argument, NULL, 'f' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "calls", required_argument, NULL, 'c' },
		{ "trace", no_argument, NULL, 't' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		switch (c) {
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'f':
			options.first = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			options.rounds = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			options.calls = atoi(optarg);
			break;
		case 't':
			tracing = true;
			break;
		default:
			exit(2);
		}
	}
}

static void shared_open(void)
{
	size_t size = (WORKERS_MAX + 1) * sizeof(*workers);

	workers = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	overran = (void *)(workers + WORKERS_MAX);
	settings_changed = overran + 1;
	file_fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (workers == MAP_FAILED || file_fd < 0 ||
	    ftruncate(file_fd, FILE_SIZE)) {
		perror("memory");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	const char *lab = getenv("DLCP_LAB"), *debug = getenv("DLCP_LAB_DEBUG");
	bool ok;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	if (debug && !strcmp(debug, "yes"))
		slowness *= 4;
	if (lab && !strcmp(lab, "qemu"))
		slowness *= 2;
	is_uml = lab && !strcmp(lab, "uml");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	shared_open();
	kmsg_open();
	fault_injection_open();
	net_open();
	printf("TAP version 13\n1..1\n");
	ok = run();
	printf("%s 1 - seed_%llu_rounds_%llu_to_%llu\n", ok ? "ok" : "not ok",
	       (unsigned long long)options.seed,
	       (unsigned long long)options.first,
	       (unsigned long long)(options.first + options.rounds - 1));
	return !ok;
}
