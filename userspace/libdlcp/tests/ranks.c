// SPDX-License-Identifier: GPL-2.0
/* See ranks.h */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlcp.h>

#include "ranks.h"

int me, world;
struct dlcp_coll *coll;
struct dlcp_coll_options options;
struct shared *shared;

int base_port = 20000;

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

/* Each test has a port of its own. Return: ranks that failed */
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

void defaults(void)
{
	dlcp_coll_options_init(&options);
	options.chunk_bytes = 65536;
}

void join(void)
{
	coll = dlcp_coll_open(&options);
	NEED(coll);
	NEED(dlcp_coll_rank(coll) == me);
}

void leave(void)
{
	dlcp_coll_close(coll);
}

/* Exactly representable, and different for every rank and element */
float value(int rank, size_t i)
{
	return (float)((int)(i % 1009) - 500 + rank * 7);
}

float *make(int rank, size_t n)
{
	float *x = malloc(n * sizeof(*x) + 1);
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = value(rank, i);
	return x;
}

float sum_at(size_t i)
{
	float sum = 0;
	int r;

	for (r = 0; r < dlcp_coll_world(coll); r++)
		sum += value(r, i);
	return sum;
}

void check_sum(const float *x, size_t n, float divisor)
{
	size_t i;

	for (i = 0; i < n; i++)
		NEED(x[i] == sum_at(i) / divisor);
}

int said(const char *words)
{
	if (strstr(dlcp_last_error(), words))
		return 1;
	printf("# rank %d: %s\n", me, dlcp_last_error());
	return 0;
}

int run_tests(const char *program, const struct test *test)
{
	int fd = dlcp_socket(AF_INET), bad = 0;
	const char *only = getenv("TESTS");

	if (fd < 0) {
		check_skip(program, dlcp_last_error());
		return 0;
	}
	close(fd);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	for (; test->name; test++) {
		if (only && !strstr(only, test->name))
			continue;
		defaults();
		bad |= check_run(test->name, test->fn);
	}
	return bad;
}
