// SPDX-License-Identifier: GPL-2.0
/* See ranks.h: what is the same for processes and threads */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dlcp.h>

#include "ranks.h"

__thread int me, world;
__thread struct dlcp_coll *coll;
__thread struct dlcp_coll_options options;
struct shared *shared;

int base_port = 20000;

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

double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void begin(void)
{
	double never = 0, now = seconds();

	__atomic_compare_exchange(&shared->began, &never, &now, 0,
				  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int between(double least, double most)
{
	double took = seconds() - shared->began;

	if (took >= least && took <= most)
		return 1;
	printf("# rank %d: after %.2f s\n", me, took);
	return 0;
}

int at_once(void)
{
	return between(0, 10);
}

void idle_until_told(void)
{
	do
		usleep(20000);
	while (dlcp_coll_broadcast(coll, NULL, 1, DLCP_COLL_F32, 0, NULL,
				   NULL) && errno == EINVAL);
}

int run_all(const struct test *test)
{
	const char *only = getenv("TESTS");
	int bad = 0;

	for (; test->name; test++) {
		if (only && !strstr(only, test->name))
			continue;
		defaults();
		bad |= check_run(test->name, test->fn);
	}
	return bad;
}
