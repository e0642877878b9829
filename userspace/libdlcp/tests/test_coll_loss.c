// SPDX-License-Identifier: GPL-2.0
/*
 * One rank of a group on a lossy network (coll-lossy), with RANK, WORLD_SIZE,
 * MASTER_ADDR and MASTER_PORT set:
 *
 *	coll-loss all_reduce|reduce_scatter|push f32|f16|bf16 feedback|average
 *	coll-loss pull|broadcast|all_gather second [dedicated]
 *
 * The first are operations that lose contributions and must be right all the
 * same. The others lose what they spread: what is missing must be of an earlier
 * round, and nothing may be in every fourth. Whole numbers, all of them exact in
 * all types. Ends with 1 if anything is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlcp_coll.h>
#include <dlcp.h>

#define N	400000	/* elements of the whole */
#define ROUNDS	5
#define ROUNDS2	8	/* with the second bound, which is 0 in ... */
#define RESYNC	4	/* ... each of these */

static struct dlcp_coll *coll;
static int me, world, dtype, dedicated;
static const char *op;
static struct dlcp_coll_args args = { .tensor = 1 };
static float in[N], out[N], total[N];
static uint16_t half_in[N], half_out[N];

static void need(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "rank %d: %s: %s\n", me, what, dlcp_last_error());
	exit(1);
}

/* More than 0, so that twice the value is another one */
static float value(int rank, size_t i)
{
	return (float)(i % 7 + 1 + (size_t)rank);
}

static float sum_at(size_t i)
{
	return (float)world * value(0, i) + (float)(world * (world - 1) / 2);
}

static uint16_t to_half(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return (uint16_t)(dtype == DLCP_COLL_BF16 ? u >> 16 :
			  (u - (112U << 23)) >> 13);
}

static float from_half(uint16_t h)
{
	uint32_t u = dtype == DLCP_COLL_BF16 ? (uint32_t)h << 16 :
		     ((uint32_t)h << 13) + (112U << 23);
	float x;

	memcpy(&x, &u, sizeof(x));
	return h ? x : 0;
}

static int is(const char *name)
{
	return !strcmp(op, name);
}

/* From in[] to out[], in the type asked for */
static void reduce_once(void)
{
	const void *from = dtype ? (void *)half_in : in;
	void *to = dtype ? (void *)half_out : out;
	size_t i;

	for (i = 0; dtype && i < N; i++)
		half_in[i] = to_half(in[i]);
	if (is("all_reduce"))
		need(dlcp_coll_all_reduce(coll, from, to, N, dtype, &args,
					  NULL), op);
	else if (is("reduce_scatter"))
		need(dlcp_coll_reduce_scatter(coll, from, to,
					      N / (size_t)world, dtype, &args,
					      NULL), op);
	else
		need(dlcp_coll_push(coll, from, N, dtype, &args, NULL), op);
	for (i = 0; dtype && i < N; i++)
		out[i] = from_half(half_out[i]);
}

/* A server that keeps the sum of all rounds */
static void accumulate(void *ctx, uint64_t tensor, size_t first,
		       const void *grad, void *sum, size_t count, int type)
{
	size_t i;

	(void)ctx, (void)tensor, (void)first, (void)type;
	for (i = 0; i < count; i++)
		((float *)sum)[i] += ((const float *)grad)[i];
}

static size_t wrong_elements(const float *x, int times, int same)
{
	size_t n = is("reduce_scatter") ? N / (size_t)world : N;
	size_t i, at, wrong = 0;

	for (i = 0; i < n; i++) {
		at = i + (is("reduce_scatter") ? (size_t)me * n : 0);
		wrong += x[i] != (float)times * (same ? value(0, at) :
							sum_at(at));
	}
	return wrong;
}

/* The last round has no loss; after it all has arrived that was ever sent */
static size_t with_feedback(void)
{
	size_t i;
	int round;

	for (i = 0; i < N; i++)
		in[i] = value(me, i);
	for (round = 0; round <= ROUNDS; round++) {
		args.loss_ppm = round < ROUNDS ? 100000 : 0;
		reduce_once();
		for (i = 0; i < N; i++)
			total[i] += out[i];
	}
	if (is("push"))
		need(dlcp_coll_pull(coll, total, N, dtype, &args, NULL), op);
	return wrong_elements(total, ROUNDS + 1, 0);
}

/* All have the same, and so has the average of those that arrived */
static size_t with_averages(void)
{
	size_t i, wrong = 0;
	int round;

	args.correct = DLCP_COLL_AVERAGE;
	args.reduce = DLCP_COLL_AVG;
	args.loss_ppm = 100000;
	for (i = 0; i < N; i++)
		in[i] = value(0, i);
	for (round = 1; round <= ROUNDS; round++) {
		reduce_once();
		if (is("push"))
			need(dlcp_coll_pull(coll, out, N, dtype, &args, NULL),
			     op);
		wrong += wrong_elements(out, is("push") ? round : 1, 1);
	}
	return wrong;
}

/* Everybody's @k-th; the push before the pull is exact */
static void spread_once(int k)
{
	size_t part = N / (size_t)world, i;
	struct dlcp_coll_args exact = { .tensor = 1 };

	for (i = 0; i < N; i++)
		in[i] = (float)k * value(me, i);
	if (is("pull")) {
		need(dlcp_coll_push(coll, in, N, dtype, &exact, NULL), op);
		need(dlcp_coll_pull(coll, out, N, dtype, &args, NULL), op);
	} else if (is("broadcast")) {
		if (me == 1)
			memcpy(out, in, sizeof(out));
		need(dlcp_coll_broadcast(coll, out, N, dtype, 1, &args, NULL),
		     op);
	} else {
		need(dlcp_coll_all_gather(coll, in, out, part, dtype, &args,
					  NULL), op);
	}
}

static float spread_value(size_t i)
{
	size_t part = N / (size_t)world;

	if (is("pull"))
		return sum_at(i);
	return is("broadcast") ? value(1, i) : value((int)(i / part), i % part);
}

static int can_miss(void)
{
	if (is("pull"))
		return me > 0 || dedicated;
	return is("broadcast") ? me != 1 : 1;
}

/* Who reads its own part, or all of it, from no network misses nothing there.
 * Return: elements that are wrong, and rounds with none missing that may be
 */
static size_t second_bound(void)
{
	struct dlcp_coll_args exact = { .tensor = 1 };
	size_t i, old, wrong = 0;
	float times;
	int k;

	args.loss2_ppm = 100000;
	args.resync_every = RESYNC;
	if (is("pull"))	/* one more than there are pulls */
		need(dlcp_coll_push(coll, in, N, dtype, &exact, NULL), op);
	for (k = 1; k <= ROUNDS2; k++) {
		spread_once(k);
		for (i = old = 0; i < N; i++) {
			times = out[i] / spread_value(i);
			old += times != (float)k;
			wrong += times < 0 || times > (float)k ||
				 times != (float)(int)times;
		}
		if (k % RESYNC == 0)
			wrong += old;
		else if (can_miss())
			wrong += !old;
	}
	return wrong;
}

static void report(size_t wrong)
{
	struct dlcp_coll_stats stats;

	dlcp_coll_get_stats(coll, &stats);
	printf("rank %d: missing %llu of %llu, wrong %zu\n", me,
	       (unsigned long long)stats.missing,
	       (unsigned long long)stats.received, wrong);
	fflush(stdout);
}

static size_t run(int argc, char **argv)
{
	static const char *const types[] = { "f32", "f16", "bf16" };

	for (dtype = 0; dtype < 2 && strcmp(types[dtype], argv[2]);)
		dtype++;
	dlcp_coll_set_update(coll, is("push") ? accumulate : NULL, NULL);
	if (me >= world) {
		need(dlcp_coll_serve(coll), "serve");
		return 0;
	}
	if (argc > 3 && !strcmp(argv[3], "feedback"))
		return with_feedback();
	if (argc > 3 && !strcmp(argv[3], "average"))
		return with_averages();
	dtype = DLCP_COLL_F32;
	return second_bound();
}

int main(int argc, char **argv)
{
	struct dlcp_coll_options options;
	size_t wrong;

	if (argc < 3)
		return 2;
	op = argv[1];
	dlcp_coll_options_init(&options);
	dedicated = argc > 3 && !strcmp(argv[3], "dedicated");
	options.dedicated = dedicated;
	coll = dlcp_coll_open(&options);
	need(!coll, "open");
	me = dlcp_coll_rank(coll);
	world = dlcp_coll_world(coll);
	wrong = run(argc, argv);
	report(wrong);
	dlcp_coll_close(coll);
	return wrong != 0;
}
