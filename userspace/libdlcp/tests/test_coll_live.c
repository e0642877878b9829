// SPDX-License-Identifier: GPL-2.0
/*
 * The collectives with the kernel it runs in: every rank is a process, all of
 * them over loopback. Skipped where there is no module; in the lab:
 * selftests/vm/lab -- build/user/tests/coll-live
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlcp.h>
#include <dlcp_thc.h>

#include "ranks.h"

static const size_t sizes[] = {
	0, 1, 5, 2048, 2049, 16384, 70001, 16384 * 8 + 3, 1000000,
};

static void all_reduce_sizes(int algo)
{
	struct dlcp_coll_args args = { .algo = (uint8_t)algo };
	float *in, *out;
	size_t k;

	for (k = 0; k < NR(sizes); k++) {
		in = make(me, sizes[k]);
		out = calloc(sizes[k] + 1, sizeof(*out));
		args.reduce = k % 2 ? DLCP_COLL_AVG : DLCP_COLL_SUM;
		NEED(!dlcp_coll_all_reduce(coll, in, out, sizes[k],
					   DLCP_COLL_F32, &args, NULL));
		check_sum(out, sizes[k], k % 2 ? (float)world : 1);
		/* in place */
		NEED(!dlcp_coll_all_reduce(coll, in, in, sizes[k],
					   DLCP_COLL_F32, &args, NULL));
		NEED(!memcmp(in, out, sizes[k] * sizeof(*in)));
		free(in);
		free(out);
	}
}

static void all_reduces(void)
{
	join();
	all_reduce_sizes(DLCP_COLL_AUTO);
	all_reduce_sizes(DLCP_COLL_RING);
	all_reduce_sizes(DLCP_COLL_TRANSPOSE);
	all_reduce_sizes(DLCP_COLL_SERVER);
	leave();
}

static void all_reduce_2(void) { CHECK(!ranks(2, all_reduces)); }
static void all_reduce_5(void) { CHECK(!ranks(5, all_reduces)); }
static void all_reduce_alone(void) { CHECK(!ranks(1, all_reduces)); }

static void three_servers_body(void)
{
	options.nr_servers = 3;
	join();
	all_reduce_sizes(DLCP_COLL_SERVER);
	leave();
}

static void three_servers(void) { CHECK(!ranks(4, three_servers_body)); }

static void dedicated_body(void)
{
	options.nr_servers = 2;
	options.dedicated = 1;
	join();
	if (me >= dlcp_coll_world(coll)) {
		NEED(!dlcp_coll_serve(coll));
		leave();
		return;
	}
	world = dlcp_coll_world(coll);
	all_reduce_sizes(DLCP_COLL_SERVER);
	NEED(!dlcp_coll_barrier(coll, NULL));
	all_reduce_sizes(DLCP_COLL_RING);
	all_reduce_sizes(DLCP_COLL_AUTO);
	leave();
}

static void dedicated_servers(void) { CHECK(!ranks(5, dedicated_body)); }

/* One worker's ring goes nowhere */
static void ring_of_one_body(void)
{
	options.dedicated = 1;
	join();
	if (me) {
		NEED(!dlcp_coll_serve(coll));
	} else {
		world = 1;
		all_reduce_sizes(DLCP_COLL_RING);
	}
	leave();
}

static void ring_of_one(void) { CHECK(!ranks(2, ring_of_one_body)); }

static void others_body(void)
{
	size_t k, i, n;
	float *in, *out;
	int r;

	join();
	for (k = 0; k < NR(sizes); k++) {
		n = sizes[k];
		in = make(me, n * (size_t)world);
		out = calloc(n * (size_t)world + 1, sizeof(*out));
		NEED(!dlcp_coll_reduce_scatter(coll, in, out, n, DLCP_COLL_F32,
					       NULL, NULL));
		for (i = 0; i < n; i++)
			NEED(out[i] == sum_at((size_t)me * n + i));
		NEED(!dlcp_coll_all_gather(coll, in, out, n, DLCP_COLL_F32,
					   NULL, NULL));
		for (r = 0; r < world; r++)
			for (i = 0; i < n; i++)
				NEED(out[(size_t)r * n + i] == value(r, i));
		for (r = 0; r < world; r++) {
			memcpy(out, in, n * sizeof(*in));
			NEED(!dlcp_coll_broadcast(coll, out, n, DLCP_COLL_F32,
						  r, NULL, NULL));
			for (i = 0; i < n; i++)
				NEED(out[i] == value(r, i));
		}
		NEED(!dlcp_coll_barrier(coll, NULL));
		free(in);
		free(out);
	}
	leave();
}

static void scatter_gather_broadcast(void) { CHECK(!ranks(4, others_body)); }

static void dtypes_body(void)
{
	size_t i, n = 100000;
	int8_t *bytes = malloc(n);
	int32_t *ints = malloc(n * 4);
	uint16_t *halves = malloc(n * 2);
	struct dlcp_coll_args args = { .reduce = DLCP_COLL_MAX };

	join();
	for (i = 0; i < n; i++) {
		bytes[i] = (int8_t)(i + (size_t)me);
		ints[i] = (int32_t)i * (me + 1);
		halves[i] = (uint16_t)(0x3c00 + (me << 10));	/* 2^me */
	}
	NEED(!dlcp_coll_all_reduce(coll, bytes, bytes, n, DLCP_COLL_I8, NULL,
				   NULL));
	NEED(!dlcp_coll_all_reduce(coll, ints, ints, n, DLCP_COLL_I32, &args,
				   NULL));
	NEED(!dlcp_coll_all_reduce(coll, halves, halves, n, DLCP_COLL_F16, NULL,
				   NULL));
	for (i = 0; i < n; i++) {
		NEED(bytes[i] == (int8_t)(3 * i + 3));
		NEED(ints[i] == (int32_t)i * 3);
		NEED(halves[i] == 0x4700);	/* 1 + 2 + 4 */
		halves[i] = (uint16_t)(0x3f80 + (me << 7));
	}
	args.reduce = DLCP_COLL_SUM;
	args.algo = DLCP_COLL_RING;
	NEED(!dlcp_coll_all_reduce(coll, halves, halves, n, DLCP_COLL_BF16,
				   &args, NULL));
	for (i = 0; i < n; i++)
		NEED(halves[i] == 0x40e0);
	leave();
}

static void dtypes(void) { CHECK(!ranks(3, dtypes_body)); }

/* 256 + 1 is 256 in bfloat16, and 259 becomes 260 */
static void rounded_once_body(void)
{
	size_t i, n = 100000;
	uint16_t *x = malloc(n * 2);

	join();
	for (i = 0; i < n; i++)
		x[i] = me ? 0x3f80 : 0x4380;
	NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_BF16, NULL, NULL));
	for (i = 0; i < n; i++)
		NEED(x[i] == 0x4382);
	free(x);
	leave();
}

static void rounded_once(void) { CHECK(!ranks(4, rounded_once_body)); }

/* Where sums of four do not fit into an element, their average does */
static void averages_of_integers_body(void)
{
	struct dlcp_coll_args args = { .reduce = DLCP_COLL_AVG };
	size_t i, n = 1 << 20;
	int8_t *bytes = malloc(n);
	int32_t *ints = malloc(n * 4);
	int algo;

	join();
	for (algo = DLCP_COLL_AUTO; algo <= DLCP_COLL_SERVER; algo++) {
		args.algo = (uint8_t)algo;
		for (i = 0; i < n; i++) {
			bytes[i] = 100;
			ints[i] = 1000000000;
		}
		if (algo == DLCP_COLL_RING) {
			NEED(dlcp_coll_all_reduce(coll, bytes, bytes, n,
						  DLCP_COLL_I8, &args, NULL) &&
			     errno == EOPNOTSUPP);
			continue;
		}
		NEED(!dlcp_coll_all_reduce(coll, bytes, bytes, n, DLCP_COLL_I8,
					   &args, NULL));
		NEED(!dlcp_coll_all_reduce(coll, ints, ints, n, DLCP_COLL_I32,
					   &args, NULL));
		for (i = 0; i < n; i++)
			NEED(bytes[i] == 100 && ints[i] == 1000000000);
	}
	leave();
}

static void averages_of_integers(void)
{
	CHECK(!ranks(4, averages_of_integers_body));
}

static void async_body(void)
{
	enum { OPS = 12, N = 50000 };
	struct dlcp_coll_handle *handle[OPS];
	struct dlcp_coll_args args = { .prio = 0 };
	float *x[OPS];
	struct pollfd pfd = { .events = POLLIN };
	int i;

	join();
	for (i = 0; i < OPS; i++) {
		args.prio = (uint8_t)(i % 8);
		args.algo = (uint8_t)(i % 4);
		x[i] = make(me, N + (size_t)i);
		NEED(!dlcp_coll_all_reduce(coll, x[i], x[i], N + (size_t)i,
					   DLCP_COLL_F32, &args, &handle[i]));
	}
	for (i = OPS - 1; i >= 0; i--) {
		pfd.fd = dlcp_coll_fd(handle[i]);
		NEED(poll(&pfd, 1, 20000) == 1);
		NEED(dlcp_coll_test(handle[i]));
		NEED(!dlcp_coll_wait(handle[i], 0));
		check_sum(x[i], N + (size_t)i, 1);
	}
	/* rank 0 is late: the others see that it is not over */
	if (me)
		NEED(!dlcp_coll_barrier(coll, &handle[0]));
	if (me && dlcp_coll_wait(handle[0], 0)) {
		NEED(errno == EAGAIN);
		NEED(!dlcp_coll_barrier(coll, &handle[1]));
	} else if (me) {
		NEED(0);	/* nobody can know that yet */
	}
	if (!me) {
		usleep(200000);
		NEED(!dlcp_coll_barrier(coll, &handle[0]));
		NEED(!dlcp_coll_barrier(coll, &handle[1]));
	}
	NEED(!dlcp_coll_wait(handle[0], -1));
	NEED(!dlcp_coll_wait(handle[1], -1));
	leave();
}

static void many_at_once(void) { CHECK(!ranks(3, async_body)); }

/* --- parameter server */

static void descend(void *ctx, uint64_t tensor, size_t first, const void *grad,
		    void *value, size_t count, int dtype)
{
	const float *g = grad;
	float *x = value;
	size_t i;

	(void)ctx;
	(void)first;
	NEED(tensor == 5 && dtype == DLCP_COLL_F32);
	for (i = 0; i < count; i++)
		x[i] -= 0.5f * g[i];
}

static void push_pull_body(void)
{
	struct dlcp_coll_args args = { .tensor = 5 };
	struct dlcp_coll_handle *push, *pull;
	size_t n = 60000, i;
	float *g, *x = calloc(n, sizeof(*x));
	int step, servers = options.nr_servers;

	join();
	if (!options.dedicated ? me < servers :
	    me >= dlcp_coll_world(coll))
		dlcp_coll_set_update(coll, descend, NULL);
	if (me >= dlcp_coll_world(coll)) {
		NEED(!dlcp_coll_serve(coll));
		leave();
		return;
	}
	g = make(me, n);
	for (step = 1; step <= 5; step++) {
		NEED(!dlcp_coll_push(coll, g, n, DLCP_COLL_F32, &args, &push));
		NEED(!dlcp_coll_pull(coll, x, n, DLCP_COLL_F32, &args, &pull));
		NEED(!dlcp_coll_wait(pull, -1));
		NEED(!dlcp_coll_wait(push, -1));
		for (i = 0; i < n; i++)
			NEED(x[i] == -0.5f * (float)step * sum_at(i));
	}
	/* of nothing */
	args.tensor = 6;
	NEED(!dlcp_coll_push(coll, g, 0, DLCP_COLL_F32, &args, NULL));
	NEED(!dlcp_coll_pull(coll, x, 0, DLCP_COLL_F32, &args, NULL));
	leave();
}

static void not_pushed_body(void)
{
	struct dlcp_coll_args args = { .tensor = 7 };
	float x[9];

	join();
	if (me >= dlcp_coll_world(coll))
		NEED(dlcp_coll_serve(coll));
	else
		NEED(dlcp_coll_pull(coll, x, 9, DLCP_COLL_F32, &args, NULL));
	NEED(errno == EINVAL && said("tensor 7 was not pushed"));
	leave();
}

/* Of whole numbers, in types that no other test pushes or scatters */
static void put(void *x, size_t i, int dtype, int v)
{
	static const uint16_t f16[] = { 0, 0x3c00, 0x4000, 0x4200, 0x4400,
					0x4500, 0x4600 };
	static const uint16_t bf16[] = { 0, 0x3f80, 0x4000, 0x4040, 0x4080,
					 0x40a0, 0x40c0 };

	if (dtype == DLCP_COLL_I8)
		((int8_t *)x)[i] = (int8_t)v;
	else if (dtype == DLCP_COLL_I32)
		((int32_t *)x)[i] = v;
	else
		((uint16_t *)x)[i] = dtype == DLCP_COLL_F16 ? f16[v] : bf16[v];
}

/* What all have contributed, 1 + 2 + 3 at the even places, 1 at the others */
static void put_sums(void *x, size_t first, size_t n, int dtype)
{
	size_t i;

	for (i = 0; i < n; i++)
		put(x, i, dtype, (first + i) % 2 ? 1 : 6);
}

static void types_of_others(int dtype)
{
	struct dlcp_coll_args args = { .tensor = (uint64_t)dtype };
	size_t n = 70001, part = n / 3, i;
	size_t size = dtype == DLCP_COLL_I32 ? 4 : dtype == DLCP_COLL_I8 ? 1 : 2;
	char *in = calloc(n, size), *out = calloc(n, size);
	char *want = calloc(n, size);

	for (i = 0; i < n; i++)
		put(in, i, dtype, i % 2 ? me == 1 : me + 1);
	put_sums(want, (size_t)me * part, part, dtype);
	NEED(!dlcp_coll_reduce_scatter(coll, in, out, part, dtype, NULL, NULL));
	NEED(!memcmp(out, want, part * size));
	NEED(!dlcp_coll_all_gather(coll, want, out, part, dtype, NULL, NULL));
	put_sums(want, 0, n, dtype);
	NEED(!memcmp(out, want, 3 * part * size));
	NEED(!dlcp_coll_push(coll, in, n, dtype, &args, NULL));
	NEED(!dlcp_coll_pull(coll, out, n, dtype, &args, NULL));
	NEED(!memcmp(out, want, n * size));
	free(in);
	free(out);
	free(want);
}

static void dtypes_of_others_body(void)
{
	options.nr_servers = 2;
	join();
	types_of_others(DLCP_COLL_F16);
	types_of_others(DLCP_COLL_BF16);
	types_of_others(DLCP_COLL_I8);
	types_of_others(DLCP_COLL_I32);
	leave();
}

static void dtypes_of_others(void) { CHECK(!ranks(3, dtypes_of_others_body)); }

static void push_pull(void)
{
	options.nr_servers = 1;
	CHECK(!ranks(1, push_pull_body));
	options.nr_servers = 2;
	CHECK(!ranks(3, push_pull_body));
	options.dedicated = 1;
	CHECK(!ranks(5, push_pull_body));
	options.nr_servers = 1;
	CHECK(!ranks(2, push_pull_body));
	CHECK(!ranks(3, not_pushed_body));
	options.dedicated = 0;
	CHECK(!ranks(2, not_pushed_body));
}

/* The first gradient takes half a second, or until another one comes */
static void slow_at_first(void *ctx, uint64_t tensor, size_t first,
			  const void *grad, void *value, size_t count,
			  int dtype)
{
	int others = __atomic_fetch_add(&shared->updates, 1, __ATOMIC_SEQ_CST);
	const float *g = grad;
	int i;

	(void)ctx, (void)tensor, (void)first;
	NEED(dtype == DLCP_COLL_F32);
	if (others)
		shared->together = 1;
	for (i = 0; i < 50 && g[0] == 5 && !shared->together; i++)
		usleep(10000);
	memcpy(value, grad, count * sizeof(*g));
	__atomic_fetch_sub(&shared->updates, 1, __ATOMIC_SEQ_CST);
}

static void serve_slowly(void)
{
	dlcp_coll_set_update(coll, slow_at_first, NULL);
	NEED(!dlcp_coll_serve(coll));
	leave();
}

static void pushes_in_order_body(void)
{
	struct dlcp_coll_args args = { .tensor = 5 };
	size_t n = 10000, i;	/* one chunk */
	float *x = malloc(n * sizeof(*x));
	int push;

	options.dedicated = 1;
	join();
	if (me >= dlcp_coll_world(coll)) {
		serve_slowly();
		return;
	}
	for (push = 5; push <= 50; push += 45) {
		for (i = 0; i < n; i++)
			x[i] = (float)push;
		NEED(!dlcp_coll_push(coll, x, n, DLCP_COLL_F32, &args, NULL));
	}
	NEED(!dlcp_coll_pull(coll, x, n, DLCP_COLL_F32, &args, NULL));
	for (i = 0; i < n; i++)
		NEED(x[i] == 50);
	NEED(!shared->together);
	leave();
}

/*
 * Worker 0 pushes anew while the server has still to send the first value to
 * worker 1, who pulls late
 */
static void push_behind_a_pull_body(void)
{
	struct dlcp_coll_args args = { .tensor = 5, .reduce = DLCP_COLL_MAX };
	struct dlcp_coll_handle *pull, *push;
	size_t n = 2000000;
	float *in = make(0, n + 1), *out = calloc(n, sizeof(*out));

	options.dedicated = 1;
	join();
	if (me >= dlcp_coll_world(coll)) {
		NEED(!dlcp_coll_serve(coll));
		leave();
		return;
	}
	NEED(!dlcp_coll_push(coll, in, n, DLCP_COLL_F32, &args, NULL));
	while (me && !__atomic_load_n(&shared->pushed, __ATOMIC_SEQ_CST))
		usleep(1000);
	if (me)
		usleep(100000);	/* for the server to see that */
	NEED(!dlcp_coll_pull(coll, out, n, DLCP_COLL_F32, &args, &pull));
	NEED(!dlcp_coll_push(coll, in + 1, n, DLCP_COLL_F32, &args, &push));
	__atomic_store_n(&shared->pushed, 1, __ATOMIC_SEQ_CST);
	NEED(!dlcp_coll_wait(pull, -1));
	NEED(!memcmp(in, out, n * sizeof(*in)));
	NEED(!dlcp_coll_wait(push, -1));
	NEED(!dlcp_coll_pull(coll, out, n, DLCP_COLL_F32, &args, NULL));
	NEED(!memcmp(in + 1, out, n * sizeof(*in)));
	leave();
}

static void pushes_in_order(void) { CHECK(!ranks(2, pushes_in_order_body)); }
static void push_behind_a_pull(void)
{
	CHECK(!ranks(3, push_behind_a_pull_body));
}

static void address_list_body(void)
{
	char list[200];
	float x = (float)me;

	snprintf(list, sizeof(list), "127.0.0.1:%d,localhost:%d,[::1]:%d",
		 base_port + 1000, base_port + 2000, base_port + 3000);
	options.addrs = list;
	join();
	NEED(!dlcp_coll_all_reduce(coll, &x, &x, 1, DLCP_COLL_F32, NULL, NULL));
	NEED(x == 3);
	leave();
}

static void address_list(void) { CHECK(!ranks(3, address_list_body)); }

/* Tags, bounds and corrections on a network that loses nothing: exact */
static void lossless_body(void)
{
	struct dlcp_coll_args args = {
		.tensor = 3, .loss_ppm = 100000, .droppable = 0.5f,
		.critical = 0.1f,
	};
	struct dlcp_coll_stats stats;
	size_t n = 300000;
	float *in, *out = malloc(n * sizeof(*out));
	int step;

	join();
	in = make(me, n);
	for (step = 0; step < 6; step++) {
		args.correct = (uint8_t)(step % 2);
		args.algo = step % 2 ? DLCP_COLL_TRANSPOSE : DLCP_COLL_RING;
		NEED(!dlcp_coll_all_reduce(coll, in, out, n, DLCP_COLL_F32,
					   &args, NULL));
		dlcp_coll_get_stats(coll, &stats);
		if (!stats.missing && !stats.fed_back)
			check_sum(out, n, 1);
	}
	leave();
}

static void tags_and_corrections(void) { CHECK(!ranks(3, lossless_body)); }

static size_t tagged, untagged;
static int ascending;

ssize_t __real_dlcp_send(int fd, const struct dlcp_send *msg);
ssize_t __wrap_dlcp_send(int fd, const struct dlcp_send *msg);

/* What the collectives send. Where magnitudes grow with the index, the begin of
 * every message is what may go, and its end what must not
 */
ssize_t __wrap_dlcp_send(int fd, const struct dlcp_send *msg)
{
	uint32_t i, drop, crit;

	if (!ascending || !msg->tags) {
		untagged += msg->attr.loss_ppm > 0;
		return __real_dlcp_send(fd, msg);
	}
	tagged++;
	drop = msg->tags->count / 5 * 4;
	crit = msg->tags->count - msg->tags->count / 5;
	NEED(msg->attr.loss_ppm && msg->tags->stride < msg->len);
	for (i = 0; i < msg->tags->count; i++) {
		if (i < drop)
			NEED(dlcp_tags_get(msg->tags, i) == DLCP_TAG_DROPPABLE);
		if (i >= crit)
			NEED(dlcp_tags_get(msg->tags, i) == DLCP_TAG_CRITICAL);
	}
	return __real_dlcp_send(fd, msg);
}

static void magnitudes_body(void)
{
	struct dlcp_coll_args args = {
		.loss_ppm = 100000, .droppable = 0.8f, .critical = 0.2f,
		.correct = DLCP_COLL_AVERAGE, .algo = DLCP_COLL_TRANSPOSE,
	};
	size_t i, n = 1500000;	/* a segment is up to 64 kB here */
	uint16_t *narrow = malloc(n * 2);
	float *wide = malloc(n * 4);

	options.chunk_bytes = 2 << 20;
	ascending = 1;
	join();
	for (i = 0; i < n; i++) {
		narrow[i] = (uint16_t)(0x3000 + i / 75);	/* bfloat16 */
		wide[i] = -(float)i;
	}
	NEED(!dlcp_coll_all_reduce(coll, wide, wide, n, DLCP_COLL_F32, &args,
				   NULL));
	NEED(tagged && !untagged);
	tagged = 0;
	NEED(!dlcp_coll_all_reduce(coll, narrow, narrow, n, DLCP_COLL_BF16,
				   &args, NULL));
	NEED(tagged && !untagged);
	leave();
}

static void tags_from_magnitudes(void) { CHECK(!ranks(3, magnitudes_body)); }

/* Root mean square of what @x is off the average, relative to that */
static double off(const float *x, size_t n)
{
	double bad = 0, all = 0, mean;
	size_t i;

	for (i = 0; i < n; i++) {
		mean = (double)sum_at(i) / world;
		bad += pow(x[i] - mean, 2);
		all += mean * mean;
	}
	return sqrt(bad / all);
}

static void thc_body(void)
{
	struct dlcp_coll_args args = { .reduce = DLCP_COLL_AVG };
	size_t n = 300001, i;
	struct dlcp_thc *thc;
	float *in = make(me, n), *out = malloc(n * 4), *same = malloc(n * 4);
	double *total = calloc(n, sizeof(*total));
	int step;

	join();
	world = dlcp_coll_world(coll);
	if (me >= world) {
		NEED(!dlcp_coll_serve(coll));
		leave();
		return;
	}
	thc = dlcp_thc_new(n, (uint64_t)me);
	for (step = 0; step < 8; step++) {
		args.algo = step % 2 ? DLCP_COLL_SERVER : DLCP_COLL_TRANSPOSE;
		NEED(!dlcp_thc_all_reduce(coll, thc, in, out, &args));
		NEED(off(out, n) < 0.25);
		/* every rank has the same bits */
		memcpy(same, out, n * 4);
		NEED(!dlcp_coll_broadcast(coll, same, n, DLCP_COLL_F32, 0, NULL,
					  NULL));
		NEED(!memcmp(same, out, n * 4));
		for (i = 0; i < n; i++)
			total[i] += out[i];
	}
	for (i = 0; i < n; i++)
		out[i] = (float)(total[i] / step);
	NEED(off(out, n) < 0.05);
	args.algo = DLCP_COLL_RING;
	NEED(dlcp_thc_all_reduce(coll, thc, in, out, &args) && errno == EINVAL);
	args.algo = 0;
	/* concerns who did it, and nobody else */
	args.loss_ppm = DLCP_PPM + 1;
	NEED(me || (dlcp_thc_all_reduce(coll, thc, in, out, &args) &&
		    errno == EINVAL));
	args.loss_ppm = 0;
	in[7] = me ? in[7] : INFINITY;
	NEED(!dlcp_thc_all_reduce(coll, thc, in, out, &args));
	NEED(isnan(out[0]) && isnan(out[n - 1]));
	dlcp_thc_free(thc);
	thc = dlcp_thc_new(0, 1);
	NEED(!dlcp_thc_all_reduce(coll, thc, in, out, NULL));
	dlcp_thc_free(thc);
	leave();
}

static void thc_codes(void)
{
	CHECK(!ranks(3, thc_body));
	CHECK(!ranks(9, thc_body));	/* sums of 16 bits */
	CHECK(!ranks(1, thc_body));
	options.nr_servers = 2;
	CHECK(!ranks(3, thc_body));
	options.dedicated = 1;
	CHECK(!ranks(4, thc_body));
}

int main(void)
{
	static const struct test tests[] = {
#define T(name) { #name, name }
		T(all_reduce_2), T(all_reduce_5), T(all_reduce_alone),
		T(three_servers), T(dedicated_servers), T(ring_of_one),
		T(scatter_gather_broadcast), T(dtypes), T(dtypes_of_others),
		T(rounded_once), T(averages_of_integers),
		T(tags_from_magnitudes), T(tags_and_corrections), T(thc_codes),
		T(many_at_once), T(push_pull), T(pushes_in_order), T(push_behind_a_pull),
		T(address_list), { 0 },
	};

	return run_tests("coll-live", tests);
}
