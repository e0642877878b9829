// SPDX-License-Identifier: GPL-2.0
/*
 * The collectives with the kernel it runs in: every rank is a process, all of
 * them over loopback. Skipped where there is no module; in the lab:
 * selftests/vm/lab -- build/user/tests/coll-live
 */
#include <errno.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dlcp.h>
#include <dlcp_coll.h>
#include <dlcp_thc.h>

#include "check.h"

/* In a rank: a failed check ends the process */
#define NEED(cond) do { \
	if (!(cond)) { \
		printf("# rank %d: %s:%d: %s (%s)\n", me, __FILE__, __LINE__, \
		       #cond, dlcp_last_error()); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

static int me, world, base_port = 20000;
static struct dlcp_coll *coll;
static struct dlcp_coll_options options;

/* What ranks of a test see of each other: when what is to go wrong began, and
 * who a server is
 */
static struct {
	double	began;
	pid_t	server;
} *shared;

typedef void rank_fn(void);

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
static int ranks(int n, rank_fn *fn)
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

static void defaults(void)
{
	dlcp_coll_options_init(&options);
	options.chunk_bytes = 65536;
}

static void join(void)
{
	coll = dlcp_coll_open(&options);
	NEED(coll);
	NEED(dlcp_coll_rank(coll) == me);
}

static void leave(void)
{
	dlcp_coll_close(coll);
}

/* Exactly representable, and different for every rank and element */
static float value(int rank, size_t i)
{
	return (float)((int)(i % 1009) - 500 + rank * 7);
}

static float *make(int rank, size_t n)
{
	float *x = malloc(n * sizeof(*x) + 1);
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = value(rank, i);
	return x;
}

static float sum_at(size_t i)
{
	float sum = 0;
	int r;

	for (r = 0; r < dlcp_coll_world(coll); r++)
		sum += value(r, i);
	return sum;
}

static void check_sum(const float *x, size_t n, float divisor)
{
	size_t i;

	for (i = 0; i < n; i++)
		NEED(x[i] == sum_at(i) / divisor);
}

static const size_t sizes[] = {
	0, 1, 5, 2048, 2049, 16384, 70001, 16384 * 8 + 3, 1000000,
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

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

static int said(const char *words)
{
	if (strstr(dlcp_last_error(), words))
		return 1;
	printf("# rank %d: %s\n", me, dlcp_last_error());
	return 0;
}

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

/* What ranks of a test tell each other besides */
struct shared {
	int	updates;	/* that run */
	int	together;	/* several did */
	int	pushed;		/* so many pushes */
};

static struct shared *shared;

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
 * Worker 0 has pushed another shape while the server still sends the first to
 * worker 1, who pulls late
 */
static void new_shape_body(void)
{
	struct dlcp_coll_args args = { .tensor = 5, .reduce = DLCP_COLL_MAX };
	struct dlcp_coll_handle *pull;
	size_t n = 2000000, less = 1000, i;
	float *in = make(0, n), *out = calloc(n, sizeof(*out));

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
	NEED(!dlcp_coll_push(coll, in + 1, less, DLCP_COLL_F32, &args, NULL));
	__atomic_store_n(&shared->pushed, 1, __ATOMIC_SEQ_CST);
	NEED(!dlcp_coll_wait(pull, -1));
	NEED(!memcmp(in, out, n * sizeof(*in)));
	NEED(!dlcp_coll_pull(coll, out, less, DLCP_COLL_F32, &args, NULL));
	for (i = 0; i < less; i++)
		NEED(out[i] == in[i + 1]);
	leave();
}

static int ranks_that_share(int n, rank_fn *fn)
{
	int bad;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return -1;
	bad = ranks(n, fn);
	munmap(shared, sizeof(*shared));
	return bad;
}

static void pushes_in_order(void)
{
	CHECK(!ranks_that_share(2, pushes_in_order_body));
}

static void new_shape(void) { CHECK(!ranks_that_share(3, new_shape_body)); }

/* --- what goes wrong */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* The first rank that calls this says when */
static void begin(void)
{
	double never = 0, now = seconds();

	__atomic_compare_exchange(&shared->began, &never, &now, 0,
				  __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static int between(double least, double most)
{
	double took = seconds() - shared->began;

	if (took >= least && took <= most)
		return 1;
	printf("# rank %d: after %.2f s\n", me, took);
	return 0;
}

/* After the timeout, but not much, though machines may be slow */
static int in_time(void)
{
	double timeout = options.timeout_ms / 1e3;

	return between(timeout - 0.01, 3 * timeout + 2);
}

/* Nobody had to wait for the timeout, which is 30 s */
static int at_once(void)
{
	return between(0, 10);
}

static void die(void)
{
	begin();
	raise(SIGKILL);
}

static void killed_body(void)
{
	float *x = make(me, 500000);
	int i = 0;

	join();
	while (!dlcp_coll_all_reduce(coll, x, x, 500000, DLCP_COLL_F32, NULL,
				     NULL))
		if (me == 2 && ++i == 3)
			die();
	NEED(errno == ECONNRESET && said("rank 2 died") && at_once());
	NEED(dlcp_coll_barrier(coll, NULL) && said("rank 2 died"));
	leave();
}

static void killed_rank(void)
{
	CHECK(ranks(4, killed_body) == 1);
}

static void killed_idle_body(void)
{
	struct dlcp_coll_handle *h;
	struct pollfd pfd = { .events = POLLIN };

	join();
	if (me == 1)
		die();
	/* nothing is due from rank 1 here, and yet */
	if (!me) {
		NEED(!dlcp_coll_barrier(coll, &h));
		pfd.fd = dlcp_coll_fd(h);
		NEED(poll(&pfd, 1, 20000) == 1);
		NEED(dlcp_coll_wait(h, -1) && errno == ECONNRESET);
	} else {
		while (!dlcp_coll_barrier(coll, NULL))
			;
	}
	NEED(said("rank 1 died") && at_once());
	leave();
}

static void killed_before_it_starts(void)
{
	CHECK(ranks(3, killed_idle_body) == 1);
}

static void die_updating(void *ctx, uint64_t tensor, size_t first,
			 const void *grad, void *value, size_t count, int dtype)
{
	(void)ctx, (void)tensor, (void)first, (void)grad, (void)value;
	(void)count, (void)dtype;
	die();
}

/* The last rank is a dedicated server, which dies in a push or an all-reduce */
static void killed_server_body(int push)
{
	struct dlcp_coll_args args = { .tensor = 5 };
	struct dlcp_coll_handle *h;
	size_t n = 4000000;
	float *x = make(me, n);

	options.dedicated = 1;
	if (me == 2)
		shared->server = getpid();
	join();
	if (me == 2) {
		dlcp_coll_set_update(coll, die_updating, NULL);
		dlcp_coll_serve(coll);
		_exit(0);	/* it should have died */
	}
	if (push) {
		/* one may be over, if all it had to say was sent */
		while (!dlcp_coll_push(coll, x, n, DLCP_COLL_F32, &args, NULL))
			;
	} else if (!me) {
		NEED(!dlcp_coll_barrier(coll, NULL));
		NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, &args,
					   &h));
		begin();
		kill(shared->server, SIGKILL);
		NEED(dlcp_coll_wait(h, -1));
	} else {
		NEED(!dlcp_coll_barrier(coll, NULL));
		while (!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32,
					     &args, NULL))
			;
	}
	NEED(errno == ECONNRESET && said("rank 2 died") && at_once());
	leave();
}

static void killed_in_push_body(void) { killed_server_body(1); }
static void killed_in_reduce_body(void) { killed_server_body(0); }

static void killed_server(void)
{
	CHECK(ranks(3, killed_in_push_body) == 1);
	CHECK(ranks(3, killed_in_reduce_body) == 1);
}

static void mixed_body(void)
{
	float x[10000];

	memset(x, 0, sizeof(x));
	join();
	if (me == 1)
		NEED(dlcp_coll_barrier(coll, NULL));
	else
		NEED(dlcp_coll_all_reduce(coll, x, x, 10000, DLCP_COLL_F32,
					  NULL, NULL));
	NEED(errno == EBADMSG && said("barrier") && said("all-reduce"));
	leave();
}

static void disagreement_of_calls(void) { CHECK(!ranks(3, mixed_body)); }

/* Alive all the while, and no operation: a call with a bad argument is none */
static void idle_until_told(void)
{
	do
		usleep(20000);
	while (dlcp_coll_broadcast(coll, NULL, 1, DLCP_COLL_F32, 0, NULL,
				   NULL) && errno == EINVAL);
}

static void never(size_t n)
{
	float *x = make(me, n);

	join();
	if (me == 1) {
		idle_until_told();
	} else {
		begin();
		NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL,
					  NULL));
	}
	NEED(errno == ETIMEDOUT && said("not begun by rank 1") && in_time());
	leave();
}

static void never_body(void)
{
	options.timeout_ms = 700;
	never(10000);
}

/* Rank 1 is told although all room on the way to it is taken by what it does
 * not read
 */
static void never_large_body(void)
{
	options.timeout_ms = 2000;
	never(8000000);
}

static void rank_that_does_not_call(void)
{
	CHECK(!ranks(3, never_body));
	CHECK(!ranks(3, never_large_body));
}

static void absent_body(void)
{
	options.timeout_ms = 1000;
	if (me == 2)
		return;
	begin();
	NEED(!dlcp_coll_open(&options));
	NEED(errno == ETIMEDOUT && said("rank 2 did not come") && in_time());
}

static void rank_that_never_comes(void) { CHECK(!ranks(3, absent_body)); }

/* --- a host or a name that is not up yet: after meet.c's first try it is */

static void (*on_nap)(void);

int nanosleep(const struct timespec *req, struct timespec *rem)
{
	void (*fn)(void) = on_nap;

	on_nap = NULL;
	if (fn)
		fn();
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, req, rem);
	return errno ? -1 : 0;
}

static void lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	NEED(!ioctl(fd, SIOCSIFFLAGS, &ifr));
	close(fd);
}

static void late_network_body(void)
{
	if (me)
		on_nap = lo_up;
	join();
	NEED(!on_nap);
	NEED(!dlcp_coll_barrier(coll, NULL));
	leave();
}

#define HOSTS	"/tmp/coll-live.hosts"
#define NAME	"rank-0.a-name-that-is-longer-than-63-characters.as-those-in-clusters-are.test"

static void write_hosts(const char *text)
{
	FILE *file = fopen(HOSTS, "w");

	NEED(file && fputs(text, file) >= 0 && !fclose(file));
}

static void name_up(void)
{
	write_hosts("127.0.0.1 " NAME "\n");
}

static void late_name_body(void)
{
	if (me) {
		setenv("RES_OPTIONS", "attempts:1 timeout:1", 1);
		options.master_addr = NAME;
		on_nap = name_up;
	}
	join();
	NEED(!on_nap);
	NEED(!dlcp_coll_barrier(coll, NULL));
	leave();
}

static void nameless_body(void)
{
	options.timeout_ms = 1000;
	options.master_addr = NAME;
	if (!me)
		return;
	begin();
	NEED(!dlcp_coll_open(&options));
	NEED(errno == ETIMEDOUT && said("rank 0 did not come") && said(NAME));
	NEED(between(0.99, 20));	/* the resolver has a time of its own */
}

/* In name spaces of its own, whose lo is down */
static int apart(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET | CLONE_NEWNS)) {
			printf("# not root: this is not tested\n");
			fflush(stdout);
			_exit(0);
		}
		_exit(fn() != 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int late_network(void)
{
	return ranks(2, late_network_body);
}

static int late_name(void)
{
	int bad;

	lo_up();
	write_hosts("");
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(HOSTS, "/etc/hosts", NULL, MS_BIND, NULL))
		return 1;
	bad = ranks(2, nameless_body) || ranks(2, late_name_body);
	unlink(HOSTS);
	return bad;
}

static void not_up_yet(void)
{
	CHECK(!apart(late_network));
	CHECK(!apart(late_name));
}

static void names_body(void)
{
	char name[1100], list[1200];

	if (!me)
		return;	/* it reads no name */
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	options.master_addr = name;
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EINVAL && said("1099 characters"));
	snprintf(list, sizeof(list), "%s:5,127.0.0.1:6", name);
	options.addrs = list;
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EINVAL && said("1099 characters"));
}

static void names_too_long(void)
{
	CHECK(!ranks(2, names_body));
}

/* --- limits of the machine */

static void set_open_files(rlim_t n)
{
	struct rlimit limit;

	NEED(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = n;
	NEED(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void open_files_body(void)
{
	struct dlcp_coll_args args = { .tensor = 9 };
	struct dlcp_coll_handle *h;
	struct rlimit limit;
	size_t n = 100000;
	float *x = make(me, n);
	int fd, less;

	join();
	NEED(!getrlimit(RLIMIT_NOFILE, &limit));
	fd = dup(0);
	close(fd);
	/* one descriptor too few, and two */
	for (less = 0; less < 2; less++) {
		set_open_files((rlim_t)(fd + less));
		NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, &args,
					  &h));
		NEED(errno == EMFILE);
	}
	set_open_files(limit.rlim_cur);
	NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, &args, &h));
	NEED(!dlcp_coll_wait(h, -1));
	check_sum(x, n, 1);
	leave();
}

static void too_many_open_files(void) { CHECK(!ranks(2, open_files_body)); }

static void large_chunks_body(void)
{
	size_t n = 5000000;
	float *x = make(me, n);

	options.chunk_bytes = 8 << 20;
	join();
	NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL, NULL));
	check_sum(x, n, 1);
	leave();
}

/* Who may not exceed net.core.wmem_max is told at once */
static void too_large_chunks_body(void)
{
	options.chunk_bytes = 8 << 20;
	NEED(!setuid(65534));
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EMSGSIZE && said("chunks of 8388608 bytes"));
}

static void large_chunks(void)
{
	if (geteuid()) {
		printf("# not root: this is not tested\n");
		return;
	}
	CHECK(!ranks(2, large_chunks_body));
	CHECK(!ranks(2, too_large_chunks_body));
}

/* --- a clock that somebody sets back all the time */

static int stop_clock;

static void *set_back(void *arg)
{
	struct timespec ts;

	(void)arg;
	while (!__atomic_load_n(&stop_clock, __ATOMIC_ACQUIRE)) {
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_sec -= 5;
		clock_settime(CLOCK_REALTIME, &ts);
		usleep(20000);
	}
	return NULL;
}

static void clock_body(void)
{
	struct dlcp_coll_handle *h;

	options.timeout_ms = 3000;
	alarm(60);
	join();
	if (me == 1) {
		idle_until_told();
		_exit(0);
	}
	NEED(!dlcp_coll_barrier(coll, &h));
	begin();
	NEED(dlcp_coll_wait(h, 300) && errno == EAGAIN);
	NEED(between(0.29, 3));
	NEED(dlcp_coll_wait(h, -1) && errno == ETIMEDOUT);
	leave();
}

/* Rank 1 does not close, for longer than rank 0 waits */
static void clock_close_body(void)
{
	options.timeout_ms = 1000;
	alarm(60);
	join();
	if (me == 1) {
		while (!shared->server)
			usleep(20000);
		_exit(0);
	}
	begin();
	leave();
	NEED(between(0, 10));
	shared->server = 1;
}

static void clock_set_back(void)
{
	struct timespec was, is;
	double from = seconds();
	pthread_t thread;
	int bad;

	clock_gettime(CLOCK_REALTIME, &was);
	if (clock_settime(CLOCK_REALTIME, &was)) {
		printf("# the clock cannot be set: this is not tested\n");
		return;
	}
	pthread_create(&thread, NULL, set_back, NULL);
	bad = ranks(2, clock_body) + ranks(2, clock_close_body);
	__atomic_store_n(&stop_clock, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	is = was;
	is.tv_sec += (time_t)(seconds() - from);
	clock_settime(CLOCK_REALTIME, &is);
	CHECK(!bad);
}

static void sizes_body(void)
{
	size_t n = me == 1 ? 300000 : 200000;
	float *x = make(me, n);

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL, NULL));
	NEED(errno == EBADMSG && said("300000") && said("200000"));
	leave();
}

static void small_sizes_body(void)
{
	size_t n = me == 1 ? 3 : 200000;
	float *x = make(me, n);

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL, NULL));
	NEED(errno == EBADMSG && said("all-reduce"));
	leave();
}

static void dtype_body(void)
{
	float *x = make(me, 100);
	int dtype = me ? DLCP_COLL_F32 : DLCP_COLL_I32;

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, 100, dtype, NULL, NULL));
	NEED(errno == EBADMSG && said("int32") && said("float32"));
	leave();
}

/* Where the operation was over before others found out, the next one fails */
static void fails_now_or_next(int ret)
{
	NEED(ret || dlcp_coll_barrier(coll, NULL));
	NEED(errno == EBADMSG);
}

static void roots_body(void)
{
	size_t n = 100000;
	float *x = make(me, n);

	join();
	fails_now_or_next(dlcp_coll_broadcast(coll, x, n, DLCP_COLL_F32,
					      me == 1, NULL, NULL));
	NEED(said("broadcast") && said("with other arguments"));
	leave();
}

static void pull_or_push_body(void)
{
	struct dlcp_coll_args args = { .tensor = 5 };
	size_t n = 100000;
	float *x = make(me, n);

	join();
	NEED(!dlcp_coll_push(coll, x, n, DLCP_COLL_F32, &args, NULL));
	NEED(!dlcp_coll_barrier(coll, NULL));
	if (me == 1)
		fails_now_or_next(dlcp_coll_push(coll, x, n, DLCP_COLL_F32,
						 &args, NULL));
	else
		fails_now_or_next(dlcp_coll_pull(coll, x, n, DLCP_COLL_F32,
						 &args, NULL));
	NEED(said("push of 100000") && said("pull of 100000"));
	leave();
}

static void unequal_without_data(void)
{
	CHECK(!ranks(2, roots_body));
	CHECK(!ranks(3, roots_body));
	CHECK(!ranks(5, roots_body));
	CHECK(!ranks(2, pull_or_push_body));
	CHECK(!ranks(4, pull_or_push_body));
}

static void unequal(void)
{
	CHECK(!ranks(3, sizes_body));
	CHECK(!ranks(2, small_sizes_body));
	CHECK(!ranks(3, dtype_body));
}

static void bad_arguments_body(void)
{
	struct dlcp_coll_args args = { .loss_ppm = 1000 };
	float x[4] = { NAN, 1, 2, INFINITY };

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 77, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_all_reduce(coll, x, NULL, 4, 0, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_all_reduce(coll, x, x, SIZE_MAX / 4, 0, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 0, &args, NULL));
	NEED(errno == EINVAL && said("name"));
	args.correct = DLCP_COLL_AVERAGE;
	args.algo = DLCP_COLL_RING;
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 0, &args, NULL));
	NEED(errno == EOPNOTSUPP);
	args.algo = 0;
	args.droppable = 2;
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 0, &args, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_broadcast(coll, x, 4, 0, 9, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_push(coll, x, 4, 0, NULL, NULL) && errno == EINVAL);
	NEED(dlcp_coll_serve(coll) && errno == EINVAL);
	/* and none of it has done any harm; NaN and infinity go through */
	NEED(!dlcp_coll_all_reduce(coll, x, x, 4, 0, NULL, NULL));
	NEED(isnan(x[0]) && x[1] == 2 && x[2] == 4 && isinf(x[3]));
	leave();
}

static void bad_arguments(void) { CHECK(!ranks(2, bad_arguments_body)); }

static void world_body(void)
{
	options.timeout_ms = 2000;
	if (me == 1)
		options.world = 4;
	NEED(!dlcp_coll_open(&options));
	NEED(me || said("says that there are 4 ranks, and not 2"));
}

static void twins_body(void)
{
	options.timeout_ms = 2000;
	if (me == 2)
		options.rank = 1;
	NEED(!dlcp_coll_open(&options));
	NEED(me || said("two processes say that they are rank 1"));
}

static void options_body(void)
{
	options.world = 0;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.world = 2;
	options.rank = 2;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.rank = 0;
	options.addrs = "10.0.0.1:5";
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.addrs = "10.0.0.1,10.0.0.2:4";
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.addrs = NULL;
	options.master_addr = NULL;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.timeout_ms = 0;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
}

static void bad_groups(void)
{
	CHECK(!ranks(2, world_body));
	CHECK(!ranks(3, twins_body));
	CHECK(!ranks(1, options_body));
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

static void left_body(void)
{
	join();
	NEED(!dlcp_coll_barrier(coll, NULL));
	if (me == 1) {
		leave();
		return;
	}
	NEED(dlcp_coll_barrier(coll, NULL) && said("rank 1 has left"));
	leave();
}

static void one_leaves_early(void) { CHECK(!ranks(2, left_body)); }

static void abort_body(void)
{
	join();
	/* rank 2 may be in it when it is over at rank 1 */
	NEED(!dlcp_coll_barrier(coll, NULL) || errno == ECANCELED);
	if (me == 1)
		dlcp_coll_abort(coll, "no more data");
	else
		NEED(dlcp_coll_barrier(coll, NULL));
	NEED(dlcp_coll_barrier(coll, NULL) && errno == ECANCELED);
	NEED(said("rank 1 gave up: no more data"));
	leave();
}

static void abort_with_words(void) { CHECK(!ranks(3, abort_body)); }

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

/*
 * One rank of those whose network a script breaks (coll-silent), RANK and so on
 * being set: without an operation ("idle", "abort": until rank 1 ends it), or in
 * one all-reduce after the other ("busy", "served" by the last rank). It says when
 * it is there, and when and of what it heard.
 */
static int be_rank(const char *what, int timeout_ms)
{
	size_t n = 100000;
	struct timespec ts;
	float *x;
	int i = 0;

	options.timeout_ms = timeout_ms;
	options.dedicated = !strcmp(what, "served");
	coll = dlcp_coll_open(&options);
	if (!coll) {
		printf("open: %s\n", dlcp_last_error());
		return 1;
	}
	me = dlcp_coll_rank(coll);
	x = make(me, n);
	if (me >= dlcp_coll_world(coll)) {
		dlcp_coll_serve(coll);
	} else if (!strcmp(what, "idle") || !strcmp(what, "abort")) {
		if (!dlcp_coll_barrier(coll, NULL))
			puts("there");
		fflush(stdout);
		if (*what == 'a' && me == 1)
			dlcp_coll_abort(coll, "no more data");
		idle_until_told();
	} else {
		while (!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL,
					     NULL))
			if (++i == 3 && puts("there"))
				fflush(stdout);
	}
	clock_gettime(CLOCK_BOOTTIME, &ts);
	printf("heard at %lld.%03ld: %s\n", (long long)ts.tv_sec,
	       ts.tv_nsec / 1000000, dlcp_last_error());
	dlcp_coll_close(coll);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char	*name;
		void		(*fn)(void);
	} tests[] = {
#define T(name) { #name, name }
		T(all_reduce_2), T(all_reduce_5), T(all_reduce_alone),
		T(three_servers), T(dedicated_servers), T(ring_of_one),
		T(scatter_gather_broadcast), T(dtypes), T(dtypes_of_others),
		T(rounded_once), T(averages_of_integers),
		T(tags_from_magnitudes), T(tags_and_corrections), T(thc_codes),
		T(many_at_once), T(push_pull), T(pushes_in_order), T(new_shape),
		T(killed_rank), T(killed_before_it_starts), T(killed_server),
		T(disagreement_of_calls), T(rank_that_does_not_call),
		T(rank_that_never_comes), T(not_up_yet), T(names_too_long),
		T(too_many_open_files), T(large_chunks), T(clock_set_back),
		T(unequal), T(unequal_without_data), T(bad_arguments),
		T(bad_groups), T(address_list), T(one_leaves_early),
		T(abort_with_words),
	};
	int fd = dlcp_socket(AF_INET), bad = 0;
	const char *only = getenv("TESTS");
	size_t i;

	if (fd < 0) {
		check_skip("coll-live", dlcp_last_error());
		return 0;
	}
	close(fd);
	if (argc > 2) {
		defaults();
		return be_rank(argv[1], atoi(argv[2]));
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	for (i = 0; i < NR(tests); i++) {
		if (only && !strstr(only, tests[i].name))
			continue;
		defaults();
		bad |= check_run(tests[i].name, tests[i].fn);
	}
	return bad;
}
