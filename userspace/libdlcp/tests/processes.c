// SPDX-License-Identifier: GPL-2.0
/* See ranks.h: every rank is a process, and the network is the kernel's */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlcp.h>

#include "ranks.h"

static void run_rank(int rank, int n, rank_fn *fn)
{
	static char port[8];

	me = rank;
	world = n;
	snprintf(port, sizeof(port), "%d", base_port);
	options.rank = rank;
	options.world = n;
	options.master_addr = "127.0.0.1";
	options.master_port = port;
	fn();
	fflush(stdout);
	_exit(0);
}

/* Each test has a port of its own */
int ranks(int n, rank_fn *fn)
{
	pid_t pid[64];
	int i, status, bad = 0;

	base_port++;
	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	for (i = 0; i < n; i++) {
		pid[i] = fork();
		if (!pid[i])
			run_rank(i, n, fn);
	}
	for (i = 0; i < n; i++) {
		waitpid(pid[i], &status, 0);
		bad += status != 0;
	}
	return bad;
}

int run_tests(const char *program, const struct test *tests)
{
	int fd = dlcp_socket(AF_INET);

	if (fd < 0) {
		check_skip(program, dlcp_last_error());
		return 0;
	}
	close(fd);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED || run_all(tests);
}
