// SPDX-License-Identifier: GPL-2.0
/*
 * Ranks that do not mean the same: all hear of it, at once and with words that
 * say who means what. As threads, under the sanitizers, or, with the module, as
 * processes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <dlcp.h>
#include <dlcp_thc.h>

#include "ranks.h"

#define MANY	100000	/* elements that do not go in one round */

/* --- workers of dedicated servers */

/**
 * struct act - what a worker does
 * @what: as texts call it
 * @call: an operation
 * @words: more of the text
 */
struct act {
	const char	*what;
	int		(*call)(void);
	const char	*words;
};

static __thread float *data;

static int all_reduce(size_t n, int dtype, uint8_t algo, uint8_t reduce)
{
	struct dlcp_coll_args args = { .algo = algo, .reduce = reduce };

	return dlcp_coll_all_reduce(coll, data, data, n, dtype, &args, NULL);
}

static int push(uint64_t tensor, size_t n, int dtype)
{
	struct dlcp_coll_args args = { .tensor = tensor };

	return dlcp_coll_push(coll, data, n, dtype, &args, NULL);
}

static int pull(uint64_t tensor, size_t n, int dtype)
{
	struct dlcp_coll_args args = { .tensor = tensor };

	return dlcp_coll_pull(coll, data, n, dtype, &args, NULL);
}

static int push_it(void) { return push(5, MANY, DLCP_COLL_F32); }
static int push_more(void) { return push(5, MANY + 1, DLCP_COLL_F32); }
static int push_ints(void) { return push(5, MANY, DLCP_COLL_I32); }
static int push_other(void) { return push(6, MANY, DLCP_COLL_F32); }
static int pull_it(void) { return pull(5, MANY, DLCP_COLL_F32); }
static int reduce_it(void) { return all_reduce(MANY, DLCP_COLL_F32, 0, 0); }
static int reduce_few(void) { return all_reduce(10, DLCP_COLL_F32, 0, 0); }
static int find_max(void)
{
	return all_reduce(MANY, DLCP_COLL_F32, 0, DLCP_COLL_MAX);
}

static int reduce_in_a_ring(void)
{
	return all_reduce(MANY, DLCP_COLL_F32, DLCP_COLL_RING, 0);
}

static int meet(void) { return dlcp_coll_barrier(coll, NULL); }

/* A push, and many a barrier, may be over before servers find out */
static int rendezvous_until_told(void)
{
	int i;

	for (i = 0; i < 2000; i++) {
		if (meet())
			return -1;
		usleep(2000);
	}
	return 0;
}

static int spread(void)
{
	return dlcp_coll_broadcast(coll, data, MANY, DLCP_COLL_F32, 0, NULL,
				   NULL);
}

static const struct act pushes = { "push", push_it, "100000 float32" },
	longer_pushes = { "push", push_more, "100001 float32" },
	pushes_of_ints = { "push", push_ints, "100000 int32" },
	pushes_of_others = { "push", push_other, "6" },
	pulls = { "pull", pull_it, "100000 float32" },
	reduces = { "all-reduce", reduce_it, "100000 float32" },
	small_reduces = { "all-reduce", reduce_few, "10 float32" },
	rings = { "all-reduce", reduce_in_a_ring, "ring" },
	maxima = { "all-reduce", find_max, "maximum" },
	barriers = { "barrier", meet, "" },
	broadcasts = { "broadcast", spread, "100000 float32" },
	closes = { "the end", NULL, "" };

/* Where ranks hear at once, whatever the machine's load: nothing may time out */
#define FOR_EVER	120000

static const struct pair {
	const struct act *most, *one;
} pairs[] = {
	{ &pushes, &pulls }, { &pulls, &pushes },
	{ &pushes, &longer_pushes }, { &pushes, &pushes_of_ints },
	{ &pushes, &pushes_of_others }, { &pushes, &reduces },
	{ &reduces, &maxima }, { &reduces, &pushes },
	{ &reduces, &small_reduces }, { &small_reduces, &reduces },
	{ &reduces, &rings }, { &rings, &reduces },
	{ &pushes, &barriers }, { &barriers, &pushes },
	{ &pulls, &broadcasts }, { &broadcasts, &pulls },
	{ &reduces, &barriers }, { &barriers, &reduces },
	{ &pushes, &closes }, { &closes, &pushes },
	{ &reduces, &closes }, { &closes, &reduces },
	{ &barriers, &closes }, { &closes, &barriers },
};

/* What differs, and the worker that does: the last, or the first whose heads
 * servers once took for everybody's
 */
static const struct pair *pair;
static int odd;

static int names(int rank)
{
	char words[20];

	snprintf(words, sizeof(words), "at rank %d", rank);
	return strstr(dlcp_last_error(), words) != NULL;
}

/* What the odd one means, and another worker; what servers mean is of no use */
static int says_both(void)
{
	return said(pair->most->what) && said(pair->one->what) &&
	       said(pair->most->words) && said(pair->one->words) &&
	       names(odd) && names(0) + names(1) + names(2) == 2 && !names(3);
}

/* Who has left may be missed before servers have told what it meant */
static int says_left(void)
{
	return (pair->one == &closes || pair->most == &closes) &&
	       errno == ECONNRESET && strstr(dlcp_last_error(), "has left");
}

static void at_odds_body(void)
{
	const struct act *act = me == odd ? pair->one : pair->most;
	int failed;

	options.dedicated = 1;
	options.timeout_ms = FOR_EVER;
	join();
	data = make(me, MANY + 1);
	if (me >= dlcp_coll_world(coll))
		failed = dlcp_coll_serve(coll);
	else	/* others may be at odds before this rank comes to it */
		failed = push_it() || pull_it();
	if (me < dlcp_coll_world(coll) && !failed && act->call)
		failed = act->call();
	if (!failed && act->call)
		failed = rendezvous_until_told();
	if (failed)
		NEED((errno == EBADMSG && says_both()) || says_left());
	else
		NEED(!act->call && me < dlcp_coll_world(coll));
	leave();
	free(data);
}

static void workers_of_servers(void)
{
	size_t i;

	for (i = 0; i < NR(pairs); i++) {
		pair = &pairs[i];
		for (odd = 0; odd < 3; odd += 2)
			CHECK(!ranks(4, at_odds_body));
	}
}

/* Rank 0 does nothing yet, and need not for the others to hear */
static void first_idles_body(void)
{
	int failed;

	options.dedicated = 1;
	options.timeout_ms = FOR_EVER;
	join();
	data = make(me, MANY);
	if (!me) {
		idle_until_told();
	} else if (me == 3) {
		NEED(dlcp_coll_serve(coll));
	} else {
		failed = me == 1 ? push_it() : reduce_it();
		NEED(failed || rendezvous_until_told());
	}
	NEED(errno == EBADMSG && said("push") && said("all-reduce"));
	NEED(said("at rank 1") && said("at rank 2"));
	leave();
	free(data);
}

static void first_idles(void)
{
	CHECK(!ranks(4, first_idles_body));
}

/* Who does nothing, of workers with servers; and what the others do */
static const struct wait {
	int	idle;
	int	(*in_vain)(void);
} *wait_for;

static void idle_worker_body(void)
{
	char words[30];

	options.dedicated = 1;
	options.timeout_ms = 15000;
	join();
	data = make(me, MANY);
	if (me == wait_for->idle)
		idle_until_told();
	else if (me == 3)
		NEED(dlcp_coll_serve(coll));
	else
		NEED(wait_for->in_vain());
	snprintf(words, sizeof(words), "not begun by rank %d", wait_for->idle);
	NEED(errno == ETIMEDOUT && said(words));
	leave();
	free(data);
}

static int push_and_meet(void) { return push_it() || meet(); }

/* It is to blame, and not the server that waits for it */
static void worker_that_does_nothing(void)
{
	static const struct wait waits[] = {
		{ 0, reduce_it }, { 2, reduce_it }, { 0, push_and_meet },
	};
	size_t i;

	for (i = 0; i < NR(waits); i++) {
		wait_for = &waits[i];
		CHECK(!ranks(4, idle_worker_body));
	}
}

/* --- all mean another shape than the servers have */

static const struct shape {
	size_t		count;
	int		dtype;
	int		pulled;
	const char	*words;
} shapes[] = {
	{ MANY, DLCP_COLL_I32, 1, "is pulled as 100000 int32" },
	{ 2 * MANY, DLCP_COLL_BF16, 1, "is pulled as 200000 bfloat16" },
	{ MANY / 2, DLCP_COLL_F32, 1, "is pulled as 50000 float32" },
	{ 0, DLCP_COLL_F32, 1, "is pulled as 0 float32" },
	{ MANY, DLCP_COLL_I32, 0, "is pushed now as 100000 int32" },
	{ MANY / 2, DLCP_COLL_F32, 0, "is pushed now as 50000 float32" },
};

static const struct shape *shape;

static void shape_body(void)
{
	int failed;

	options.timeout_ms = FOR_EVER;
	join();
	data = make(me, MANY);
	if (me >= dlcp_coll_world(coll)) {
		failed = dlcp_coll_serve(coll);
	} else {
		failed = push_it() ||
			 (shape->pulled ? pull : push)(5, shape->count,
						       shape->dtype);
		if (!failed)
			failed = rendezvous_until_told();
	}
	NEED(failed && errno == EINVAL);
	NEED(said("tensor 5 was pushed as 100000 float32") &&
	     said(shape->words));
	leave();
	free(data);
}

static void other_shapes(void)
{
	size_t i;

	for (i = 0; i < NR(shapes); i++) {
		shape = &shapes[i];
		options.dedicated = 0;
		CHECK(!ranks(2, shape_body));
		options.dedicated = 1;
		CHECK(!ranks(3, shape_body));
	}
}

/* --- other arguments */

/* A ring with a bound has longer messages */
static void bounds_body(void)
{
	struct dlcp_coll_args args = {
		.algo = DLCP_COLL_RING, .tensor = 5,
		.loss_ppm = me ? 0 : 10000,
	};

	options.timeout_ms = FOR_EVER;
	join();
	if (me >= dlcp_coll_world(coll)) {
		NEED(dlcp_coll_serve(coll));
	} else {
		data = make(me, MANY);
		NEED(dlcp_coll_all_reduce(coll, data, data, MANY, DLCP_COLL_F32,
					  &args, NULL));
	}
	NEED(errno == EBADMSG && said("bound") && said("in a ring"));
	leave();
	free(data);
}

static void bounds_in_a_ring(void)
{
	CHECK(!ranks(3, bounds_body));
	options.dedicated = 1;
	CHECK(!ranks(4, bounds_body));
}

/* Elements of a tensor in THC codes: the same blocks and units */
static void thc_sizes_body(void)
{
	size_t n = me == 1 ? 3000 : 2999;
	float *in = make(me, n);
	struct dlcp_thc *thc = dlcp_thc_new(n, 1);

	options.timeout_ms = FOR_EVER;
	join();
	if (me >= dlcp_coll_world(coll)) {
		NEED(dlcp_coll_serve(coll));
	} else {
		NEED(dlcp_thc_all_reduce(coll, thc, in, in, NULL));
	}
	NEED(errno == EBADMSG && said("elements in THC's last block"));
	leave();
	dlcp_thc_free(thc);
	free(in);
}

static void sizes_in_thc(void)
{
	CHECK(!ranks(2, thc_sizes_body));
	CHECK(!ranks(3, thc_sizes_body));
	options.dedicated = 1;
	CHECK(!ranks(4, thc_sizes_body));
}

/* Refused, and nobody else has heard of it */
static void refuse_thc(struct dlcp_thc *thc, const float *in,
		       struct dlcp_coll_args args)
{
	float out[100];

	NEED(dlcp_thc_all_reduce(coll, thc, in, out, &args) && errno == EINVAL);
}

static void thc_arguments_body(void)
{
	struct dlcp_thc *thc = dlcp_thc_new(100, 1);
	float *in = make(0, 100);

	options.timeout_ms = FOR_EVER;
	join();
	if (me) {
		refuse_thc(thc, in, (struct dlcp_coll_args){ .reduce = 77 });
		refuse_thc(thc, in, (struct dlcp_coll_args){ .algo = 77 });
		refuse_thc(thc, NULL, (struct dlcp_coll_args){ .algo = 0 });
	}
	NEED(!dlcp_thc_all_reduce(coll, thc, in, in, NULL));
	leave();
	dlcp_thc_free(thc);
	free(in);
}

static void arguments_of_thc(void) { CHECK(!ranks(2, thc_arguments_body)); }

static const struct test tests[] = {
#define T(name) { #name, name }
	T(workers_of_servers), T(first_idles), T(worker_that_does_nothing),
	T(other_shapes), T(bounds_in_a_ring), T(sizes_in_thc),
	T(arguments_of_thc), { 0 },
};

int main(void)
{
	return run_tests("coll-differ", tests);
}
