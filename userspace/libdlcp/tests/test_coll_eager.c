// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks of which some are ahead of others: they have begun operations that those
 * will begin only after what they wait for. Much more is sent than anybody has
 * room for who does not read it. Run in memory, where that is less (threads.c), and
 * over the module with small buffers (coll-eager).
 */
#include <stdlib.h>
#include <string.h>

#include <dlcp.h>

#include "ranks.h"

#define CHUNK	65536
#define CHUNKS	8	/* of a part: more than are under way at a time */
#define OPS	4
#define MANY	300	/* small operations */

static size_t elements(void)
{
	return (size_t)CHUNKS * CHUNK / sizeof(float) * (size_t)world;
}

static void enter(void)
{
	options.chunk_bytes = CHUNK;
	/* Operations wait for all those begun before: that is the machine's speed */
	options.timeout_ms = 120000;
	join();
}

/* Rank 1 waits for each operation, the others begin them all */
static int waits(void)
{
	return me == 1;
}

typedef int start_fn(int i, struct dlcp_coll_handle **handle);
typedef void check_fn(int i);

static __thread float *in[OPS], *out[OPS];
static __thread uint8_t algo;

static void begin_and_wait(int n, start_fn *start, check_fn *check)
{
	struct dlcp_coll_handle *handle[MANY];
	int i;

	for (i = 0; i < n; i++)
		NEED(!start(i, waits() ? NULL : &handle[i]));
	for (i = 0; i < n; i++) {
		NEED(waits() || !dlcp_coll_wait(handle[i], -1));
		if (check)
			check(i);
	}
}

static void make_all(size_t n, size_t n_out)
{
	int i;

	for (i = 0; i < OPS; i++) {
		in[i] = make(me, n);
		out[i] = calloc(n_out, sizeof(float));
	}
}

static void free_all(void)
{
	int i;

	for (i = 0; i < OPS; i++) {
		free(in[i]);
		free(out[i]);
	}
}

/* --- all-reduce */

static int all_reduce(int i, struct dlcp_coll_handle **handle)
{
	struct dlcp_coll_args args = { .algo = algo };

	return dlcp_coll_all_reduce(coll, in[i], in[i], elements(),
				    DLCP_COLL_F32, &args, handle);
}

static void is_sum(int i)
{
	check_sum(in[i], elements(), 1);
}

static void all_reduces(void)
{
	enter();
	make_all(elements(), 1);
	begin_and_wait(OPS, all_reduce, is_sum);
	free_all();
	leave();
}

static void by_transpose(void)
{
	algo = DLCP_COLL_TRANSPOSE;
	all_reduces();
}

static void by_ring(void)
{
	algo = DLCP_COLL_RING;
	all_reduces();
}

static void by_servers(void)
{
	options.nr_servers = 2;
	algo = DLCP_COLL_SERVER;
	all_reduces();
}

static void transpose(void)
{
	CHECK(!ranks(3, by_transpose));
}

static void transpose_of_two(void)
{
	CHECK(!ranks(2, by_transpose));
}

static void ring(void)
{
	CHECK(!ranks(3, by_ring));
}

static void ring_of_two(void)
{
	CHECK(!ranks(2, by_ring));
}

static void servers(void)
{
	CHECK(!ranks(3, by_servers));
}

/* --- one half alone */

static int reduce_scatter(int i, struct dlcp_coll_handle **handle)
{
	return dlcp_coll_reduce_scatter(coll, in[i], out[i],
					elements() / (size_t)world,
					DLCP_COLL_F32, NULL, handle);
}

static void is_part(int i)
{
	size_t j, n = elements() / (size_t)world;

	for (j = 0; j < n; j++)
		NEED(out[i][j] == sum_at((size_t)me * n + j));
}

static int all_gather(int i, struct dlcp_coll_handle **handle)
{
	return dlcp_coll_all_gather(coll, in[i], out[i],
				    elements() / (size_t)world, DLCP_COLL_F32,
				    NULL, handle);
}

static void is_whole(int i)
{
	size_t j, n = elements() / (size_t)world;

	for (j = 0; j < elements(); j++)
		NEED(out[i][j] == value((int)(j / n), j % n));
}

static int broadcast(int i, struct dlcp_coll_handle **handle)
{
	return dlcp_coll_broadcast(coll, in[i], elements(), DLCP_COLL_F32, 0,
				   NULL, handle);
}

static void is_roots(int i)
{
	size_t j;

	for (j = 0; j < elements(); j++)
		NEED(in[i][j] == value(0, j));
}

static void halves(void)
{
	enter();
	make_all(elements(), elements());
	begin_and_wait(OPS, reduce_scatter, is_part);
	begin_and_wait(OPS, all_gather, is_whole);
	begin_and_wait(OPS, broadcast, is_roots);
	free_all();
	leave();
}

static void one_half(void)
{
	CHECK(!ranks(3, halves));
}

/* --- push and pull */

static int push(int i, struct dlcp_coll_handle **handle)
{
	struct dlcp_coll_args args = { .tensor = (uint64_t)i + 1 };

	return dlcp_coll_push(coll, in[i], elements(), DLCP_COLL_F32, &args,
			      handle);
}

static int pull(int i, struct dlcp_coll_handle **handle)
{
	struct dlcp_coll_args args = { .tensor = (uint64_t)i + 1 };

	return dlcp_coll_pull(coll, out[i], elements(), DLCP_COLL_F32, &args,
			      handle);
}

static void is_pulled(int i)
{
	check_sum(out[i], elements(), 1);
}

static void pushes(void)
{
	enter();
	make_all(elements(), elements());
	begin_and_wait(OPS, push, NULL);
	begin_and_wait(OPS, pull, is_pulled);
	free_all();
	leave();
}

static void push_and_pull(void)
{
	options.nr_servers = 2;
	CHECK(!ranks(3, pushes));
}

/* --- many small ones behind a large one */

static __thread float *few;

static int small(int i, struct dlcp_coll_handle **handle)
{
	if (!i)
		return all_reduce(0, handle);
	return dlcp_coll_all_reduce(coll, few + 1000 * i, few + 1000 * i, 1000,
				    DLCP_COLL_F32, NULL, handle);
}

static void is_small_sum(int i)
{
	if (!i)
		is_sum(0);
	else
		check_sum(few + 1000 * i, 1000, 1);
}

static void large_and_small(void)
{
	int i;

	algo = DLCP_COLL_TRANSPOSE;
	enter();
	make_all(elements(), 1);
	few = malloc(MANY * 1000 * sizeof(float));
	for (i = 0; i < MANY * 1000; i++)
		few[i] = value(me, (size_t)i % 1000);
	begin_and_wait(MANY, small, is_small_sum);
	free(few);
	free_all();
	leave();
}

static void many_small(void)
{
	CHECK(!ranks(3, large_and_small));
}

int main(void)
{
	static const struct test tests[] = {
		{ "coll_eager_transpose", transpose },
		{ "coll_eager_transpose_of_two", transpose_of_two },
		{ "coll_eager_ring", ring },
		{ "coll_eager_ring_of_two", ring_of_two },
		{ "coll_eager_servers", servers },
		{ "coll_eager_one_half", one_half },
		{ "coll_eager_push_and_pull", push_and_pull },
		{ "coll_eager_many_small", many_small },
		{ NULL, NULL }
	};

	return run_tests("coll-eager", tests);
}
