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
	int failed, i;

	options.dedicated = 1;
	options.timeout_ms = 5000;
	join();
	data = make(me, MANY + 1);
	if (me >= dlcp_coll_world(coll))
		failed = dlcp_coll_serve(coll);
	else	/* others may be at odds before this rank comes to it */
		failed = push_it() || pull_it();
	if (me < dlcp_coll_world(coll) && !failed && act->call)
		failed = act->call();
	/* it, and even a barrier, may be over before the servers find out */
	for (i = 0; i < 1000 && !failed && act->call; i++)
		failed = meet();
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

static const struct test tests[] = {
#define T(name) { #name, name }
	T(workers_of_servers), { 0 },
};

int main(void)
{
	return run_tests("coll-differ", tests);
}
