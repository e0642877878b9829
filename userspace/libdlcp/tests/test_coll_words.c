// SPDX-License-Identifier: GPL-2.0
/*
 * What the library says of arguments that it refuses: the cause, and what is
 * possible. Documentation/messages.md lists all.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <dlcp.h>
#include <dlcp_thc.h>

#include "ranks.h"

/* @options with one change, and what is said of it */
static int refused(const struct dlcp_coll_options *changed, const char *words)
{
	return !dlcp_coll_open(changed) && errno == EINVAL && said(words);
}

static void options_body(void)
{
	struct dlcp_coll_options o = options;

	o.world = 0;
	NEED(refused(&o, "a group of 0 ranks: WORLD_SIZE is 1 to"));
	o.world = 2;
	o.rank = 2;
	NEED(refused(&o, "rank 2 of 2: RANK is 0 to 1"));
	o.rank = 0;
	o.timeout_ms = 0;
	NEED(refused(&o, "a timeout of 0 ms: it is 1 or more"));
	o.timeout_ms = 1000;
	o.nr_servers = 3;
	NEED(refused(&o, "3 servers among 2 ranks: there are 1 to 2"));
	o.dedicated = 1;
	o.nr_servers = 2;
	NEED(refused(&o, "2 servers among 2 ranks: there are 1 to 1"));
	o.nr_servers = 1;
	o.chunk_bytes = 64;
	NEED(refused(&o, "chunks of 64 bytes: chunk_bytes is 4096 to"));
	o.chunk_bytes = 4096;
	o.small_bytes = 8192;
	NEED(refused(&o, "small_bytes 8192 exceeds chunk_bytes, which is 4096"));
}

static void options_words(void)
{
	CHECK(!ranks(1, options_body));
}

static int reduce(void *x, size_t n, int dtype, struct dlcp_coll_args *args)
{
	return dlcp_coll_all_reduce(coll, x, x, n, dtype, args, NULL);
}

#define REFUSED(call, words)	NEED((call) && errno == EINVAL && said(words))

static void args_body(void)
{
	struct dlcp_coll_args args = { .reduce = 99 };
	float x[4] = { 1, 2, 3, 4 };

	join();
	REFUSED(reduce(x, 4, DLCP_COLL_F32, &args),
		"unknown reduction, algorithm or correction: dlcp_coll.h lists");
	args = (struct dlcp_coll_args) { .prio = DLCP_PRIO_MAX + 1 };
	REFUSED(reduce(x, 4, DLCP_COLL_F32, &args),
		"a class or loss bound is out of range: at most");
	args = (struct dlcp_coll_args) { .droppable = 0.6f, .critical = 0.6f };
	REFUSED(reduce(x, 4, DLCP_COLL_F32, &args),
		"shares of tags are 0 to 1, together too");
	args = (struct dlcp_coll_args) { .reduce = DLCP_COLL_AND };
	REFUSED(reduce(x, 4, DLCP_COLL_F32, &args),
		"bitwise reductions are for integers, and not for float32");
	args = (struct dlcp_coll_args) { .reduce = DLCP_COLL_MAX,
					 .loss_ppm = 1000 };
	REFUSED(reduce(x, 4, DLCP_COLL_F32, &args),
		"only sums and averages allow loss: set loss_ppm to 0");
	args = (struct dlcp_coll_args) { .loss_ppm = 1000,
					 .correct = DLCP_COLL_FEEDBACK };
	REFUSED(reduce(x, 4, DLCP_COLL_F32, &args),
		"feedback needs a name for the tensor: set args.tensor");
	leave();
}

static void calls_body(void)
{
	float x[4] = { 1, 2, 3, 4 };
	size_t counts[] = { 2, 2 };

	join();
	REFUSED(reduce(x, 4, 77, NULL),
		"there is no element type 77 here: dlcp_coll.h lists them");
	REFUSED(dlcp_coll_broadcast(coll, x, 4, 77, 0, NULL, NULL),
		"there is no element type 77 here");
	REFUSED(reduce(x, SIZE_MAX / 4, DLCP_COLL_F32, NULL),
		" elements: at most ");
	REFUSED(reduce(NULL, 4, DLCP_COLL_F32, NULL),
		"no buffer: NULL is for 0 elements");
	REFUSED(dlcp_coll_send(coll, NULL, 1, 1 - me, 0, 0, NULL), "no buffer");
	REFUSED(dlcp_coll_all_to_all(coll, x, NULL, x, counts, DLCP_COLL_F32,
				     NULL, NULL),
		"no counts: give one for each rank");
	REFUSED(dlcp_coll_broadcast(coll, x, 4, DLCP_COLL_F32, 2, NULL, NULL),
		"root 2 of 2 ranks: the first is 0");
	REFUSED(dlcp_coll_push(coll, x, 4, DLCP_COLL_F32, NULL, NULL),
		"push and pull need a name for the tensor: set args.tensor");
	REFUSED(dlcp_coll_send(coll, x, 4, 2, 0, 0, NULL),
		"has no other rank 2 to send to: peers are 0 to 1");
	REFUSED(dlcp_coll_serve(coll), "is not a dedicated server");
	leave();
}

static void dedicated_body(void)
{
	float x[4] = { 1, 2, 3, 4 };

	options.dedicated = 1;
	join();
	if (me == 2) {
		REFUSED(reduce(x, 4, DLCP_COLL_F32, NULL),
			"rank 2 is a dedicated server: it calls dlcp_coll_serve");
		NEED(!dlcp_coll_serve(coll));
	}
	leave();
}

static void thc_refused(struct dlcp_thc *thc, struct dlcp_coll_args args,
			float *x, const char *words)
{
	REFUSED(dlcp_thc_all_reduce(coll, thc, x, x, &args), words);
}

static void thc_body(void)
{
	float x[64] = { 1 };
	struct dlcp_thc *thc = dlcp_thc_new(64, 1);

	NEED(thc);
	join();
	thc_refused(thc, (struct dlcp_coll_args) { 0 }, NULL,
		    "no buffer: NULL is for 0 elements");
	thc_refused(thc, (struct dlcp_coll_args) { .algo = DLCP_COLL_RING }, x,
		    "codes are added by servers, not in a ring");
	thc_refused(thc, (struct dlcp_coll_args) { .algo = 99 }, x,
		    "unknown reduction or algorithm: dlcp_coll.h lists them");
	thc_refused(thc, (struct dlcp_coll_args) { .loss_ppm = 2000000 }, x,
		    "a class or loss bound is out of range");
	leave();
	dlcp_thc_free(thc);
}

static void args_words(void)
{
	CHECK(!ranks(2, args_body));
	CHECK(!ranks(2, calls_body));
	CHECK(!ranks(3, dedicated_body));
	CHECK(!ranks(2, thc_body));
}

int main(void)
{
	static const struct test tests[] = {
		{ "coll_words_options", options_words },
		{ "coll_words_args", args_words },
		{ NULL, NULL }
	};

	return run_tests("coll-words", tests);
}
