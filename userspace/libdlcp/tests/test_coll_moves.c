// SPDX-License-Identifier: GPL-2.0
/*
 * Operations for one rank, between any two, and of two alone: reduce, gather,
 * scatter, all-to-all, send and receive. Run in memory and over the module.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <dlcp.h>

#include "ranks.h"

#define FOR_EVER 600000

/* Small ones, some chunks, and many */
static const size_t counts[] = { 0, 1, 1000, 70000, 300000 };

static float *zeros(size_t n)
{
	return calloc(n + 1, sizeof(float));
}

static void reduce_one(size_t n, int root)
{
	float *in = make(me, n), *out = zeros(n);
	struct dlcp_coll_handle *handle;

	NEED(!dlcp_coll_reduce(coll, in, me == root ? out : NULL, n,
			       DLCP_COLL_F32, root, NULL, &handle));
	NEED(!dlcp_coll_wait(handle, -1));
	if (me == root)
		check_sum(out, n, 1);
	NEED(!dlcp_coll_reduce(coll, in, me == root ? in : NULL, n,
			       DLCP_COLL_F32, root, NULL, NULL));
	if (me == root)
		check_sum(in, n, 1);
	free(in);
	free(out);
}

static void gather_and_scatter(size_t n, int root)
{
	float *in = make(me, n), *all = zeros(n * (size_t)world);
	float *out = zeros(n);
	size_t i;
	int r;

	NEED(!dlcp_coll_gather(coll, in, me == root ? all : NULL, n,
			       DLCP_COLL_F32, root, NULL, NULL));
	for (r = 0; r < world && me == root; r++)
		for (i = 0; i < n; i++)
			NEED(all[(size_t)r * n + i] == value(r, i));
	NEED(!dlcp_coll_scatter(coll, me == root ? all : NULL, out, n,
				DLCP_COLL_F32, root, NULL, NULL));
	NEED(!memcmp(out, in, n * sizeof(float)));
	free(in);
	free(all);
	free(out);
}

/* Rank a has a * scale + b elements for rank b */
static void exchange(size_t scale)
{
	size_t in_n[8], out_n[8], in = 0, out = 0, i, at;
	int32_t *from, *to;
	int r;

	for (r = 0; r < world; r++) {
		in += in_n[r] = (size_t)me * scale + (size_t)r;
		out += out_n[r] = (size_t)r * scale + (size_t)me;
	}
	from = calloc(in + 1, sizeof(*from));
	to = calloc(out + 1, sizeof(*to));
	for (r = 0, at = 0; r < world; r++)
		for (i = 0; i < in_n[r]; i++)
			from[at++] = me * 1000003 + r * 10007 + (int)i;
	NEED(!dlcp_coll_all_to_all(coll, from, in_n, to, out_n, DLCP_COLL_I32,
				   NULL, NULL));
	for (r = 0, at = 0; r < world; r++)
		for (i = 0; i < out_n[r]; i++)
			NEED(to[at++] == r * 1000003 + me * 10007 + (int)i);
	free(from);
	free(to);
}

static void move_all(void)
{
	size_t i;
	int root;

	join();
	for (i = 0; i < NR(counts); i++) {
		for (root = 0; root < world; root++) {
			reduce_one(counts[i], root);
			gather_and_scatter(counts[i], root);
		}
	}
	exchange(0);
	exchange(100);
	exchange(50000);
	leave();
}

static void moves(void)
{
	CHECK(!ranks(3, move_all));
	CHECK(!ranks(2, move_all));
}

static void moves_alone(void)
{
	CHECK(!ranks(1, move_all));
}

/* Of other bytes than the root's and one's neighbour's nobody hears anything */
static void move_little(void)
{
	enum { N = 100000 };
	uint64_t all = (uint64_t)N * sizeof(float);
	struct dlcp_coll_stats stats;
	float *in, *out;

	join();
	in = make(me, (size_t)N * (size_t)world);
	out = zeros((size_t)N * (size_t)world);
	NEED(!dlcp_coll_gather(coll, in, out, N, DLCP_COLL_F32, 1, NULL, NULL));
	NEED(!dlcp_coll_scatter(coll, in, out, N, DLCP_COLL_F32, 1, NULL, NULL));
	dlcp_coll_get_stats(coll, &stats);
	NEED(stats.sent < (me == 1 ? (uint64_t)(world - 1) * all : all) + 4096);
	NEED(!dlcp_coll_reduce(coll, in, out, N, DLCP_COLL_F32, 1, NULL, NULL));
	dlcp_coll_get_stats(coll, &stats);
	NEED(me == 1 || stats.sent < 2 * all + 8192);
	free(in);
	free(out);
	leave();
}

static void little(void)
{
	CHECK(!ranks(4, move_little));
}

static void differing(void)
{
	size_t in_n[2] = { 5, 5 }, out_n[2] = { 5, 5 };
	float in[16] = { 0 }, out[16] = { 0 };

	join();
	if (me)
		out_n[0] = 6;
	if (me || !dlcp_coll_all_to_all(coll, in, in_n, out, out_n,
					DLCP_COLL_F32, NULL, NULL))
		NEED(dlcp_coll_all_to_all(coll, in, in_n, out, out_n,
					  DLCP_COLL_F32, NULL, NULL));
	NEED(said("sends 20 bytes in operation") && said("expects 24"));
	leave();
}

static void unlike_lengths(void)
{
	CHECK(!ranks(2, differing));
}

/* --- two ranks alone */

/* From the last to the first, many at once, in both directions, while all reduce */
static void pass_on(void)
{
	enum { N = 20 };
	struct dlcp_coll_handle *sent[N], *got[N];
	int next = (me + 1) % world, before = (me + world - 1) % world, i;
	float *in[N], *out[N], *sum = make(me, 50000);
	size_t n, k;

	join();
	for (i = 0; i < N; i++) {
		n = counts[i % 4];
		in[i] = make(me + i, n);
		out[i] = zeros(n);
		NEED(!dlcp_coll_send(coll, in[i], n * sizeof(float), next,
				     (uint32_t)(i / 4), 0, &sent[i]));
	}
	NEED(!dlcp_coll_all_reduce(coll, sum, sum, 50000, DLCP_COLL_F32, NULL,
				   NULL));
	check_sum(sum, 50000, 1);
	/* tags from the last to the first; each one's messages in order */
	for (i = N - 4; i >= 0; i -= 4)
		for (k = 0; k < 4; k++)
			NEED(!dlcp_coll_recv(coll, out[i + (int)k],
					     counts[k] * sizeof(float), before,
					     (uint32_t)(i / 4),
					     &got[i + (int)k]));
	for (i = 0; i < N; i++) {
		NEED(dlcp_coll_source(got[i]) == before);
		NEED(!dlcp_coll_wait(got[i], -1));
		NEED(!dlcp_coll_wait(sent[i], -1));
		for (k = 0; k < counts[i % 4]; k++)
			NEED(out[i][k] == value(before + i, k));
		free(in[i]);
		free(out[i]);
	}
	free(sum);
	leave();
}

static void messages(void)
{
	CHECK(!ranks(3, pass_on));
	CHECK(!ranks(2, pass_on));
}

static void anybody(void)
{
	struct dlcp_coll_handle *handle;
	int from, seen = 0, r;
	int32_t x = me;

	join();
	if (me) {
		NEED(!dlcp_coll_send(coll, &x, sizeof(x), 0, 7, 0, NULL));
	} else {
		for (r = 1; r < world; r++) {
			NEED(!dlcp_coll_recv(coll, &x, sizeof(x), DLCP_COLL_ANY,
					     7, &handle));
			while (!dlcp_coll_test(handle))
				;
			from = dlcp_coll_source(handle);
			NEED(!dlcp_coll_wait(handle, -1));
			NEED(from == x && !(seen & 1 << x));
			seen |= 1 << x;
		}
	}
	leave();
}

static void any_source(void)
{
	CHECK(!ranks(4, anybody));
}

static void refused(void)
{
	struct dlcp_coll_handle *handle;
	char x = 1;

	join();
	NEED(dlcp_coll_send(coll, &x, 1, me, 0, 0, &handle) && errno == EINVAL);
	NEED(dlcp_coll_send(coll, &x, 1, world, 0, 0, &handle) && errno == EINVAL);
	NEED(dlcp_coll_send(coll, &x, 1, DLCP_COLL_ANY, 0, 0, &handle) &&
	     errno == EINVAL);
	NEED(dlcp_coll_recv(coll, &x, 1, -2, 0, &handle) && errno == EINVAL);
	NEED(dlcp_coll_send(coll, NULL, 1, 1 - me, 0, 0, &handle) &&
	     errno == EINVAL);
	NEED(dlcp_coll_gather(coll, &x, &x, 1, DLCP_COLL_U8, 2, NULL, &handle) &&
	     errno == EINVAL);
	NEED(!dlcp_coll_barrier(coll, NULL));
	leave();
}

static void bad_calls(void)
{
	CHECK(!ranks(2, refused));
}

static void too_long(void)
{
	char x[9] = { 0 };

	join();
	if (me) {
		NEED(dlcp_coll_recv(coll, x, 8, 0, 0, NULL));
	} else {
		NEED(dlcp_coll_send(coll, x, 9, 1, 0, 0, NULL));
	}
	NEED(said("sends 9 bytes with tag 0, and rank 1 expects 8"));
	leave();
}

static void other_length(void)
{
	CHECK(!ranks(2, too_long));
}

static void unheard(void)
{
	char x = 0;

	options.timeout_ms = 1000;
	join();
	NEED(dlcp_coll_recv(coll, &x, 1, me ? 0 : DLCP_COLL_ANY, 5, NULL));
	NEED(said(": Timed out after 1000 ms: a receive from") &&
	     said("tag 5"));
	leave();
}

static void never_sent(void)
{
	CHECK(!ranks(2, unheard));
}

/* A later operation has another timeout than one under way, and it does not wait
 * for the first one's
 */
static void unheard_later(void)
{
	struct dlcp_coll_handle *handle;
	char x = 0, y = 0;

	options.timeout_ms = FOR_EVER;
	join();
	NEED(dlcp_coll_set_timeout(coll, 0) && said("a timeout of 0 ms"));
	NEED(!dlcp_coll_recv(coll, &x, 1, !me, 5, &handle));
	NEED(!dlcp_coll_set_timeout(coll, 700));
	NEED(dlcp_coll_recv(coll, &y, 1, !me, 6, NULL));
	NEED(said(": Timed out after 700 ms: a receive from") &&
	     said("tag 6"));
	NEED(dlcp_coll_wait(handle, -1));
	leave();
}

/* And a longer one, with which it comes in time */
static void heard_later(void)
{
	struct dlcp_coll_handle *handle;
	char x = 0, y = 7;

	options.timeout_ms = 1000;
	join();
	NEED(!dlcp_coll_set_timeout(coll, FOR_EVER));
	if (me) {
		NEED(!dlcp_coll_recv(coll, &x, 1, 0, 5, &handle));
		NEED(dlcp_coll_wait(handle, 1500) && errno == EAGAIN);
		NEED(!dlcp_coll_send(coll, &x, 1, 0, 6, 0, NULL));
		NEED(!dlcp_coll_wait(handle, -1) && x == 7);
	} else {
		NEED(!dlcp_coll_recv(coll, &x, 1, 1, 6, NULL));
		NEED(!dlcp_coll_send(coll, &y, 1, 1, 5, 0, NULL));
	}
	leave();
}

static void set_timeout(void)
{
	CHECK(!ranks(2, unheard_later));
	CHECK(!ranks(2, heard_later));
}

static void gone(void)
{
	char x = 0;

	join();
	if (!me) {
		NEED(dlcp_coll_recv(coll, &x, 1, 1, 0, NULL));
		NEED(said("has left the group"));
	}
	leave();
}

static void left(void)
{
	CHECK(!ranks(2, gone));
}

int main(void)
{
	static const struct test tests[] = {
		{ "coll_moves", moves },
		{ "coll_moves_alone", moves_alone },
		{ "coll_moves_little", little },
		{ "coll_moves_unlike_lengths", unlike_lengths },
		{ "coll_moves_messages", messages },
		{ "coll_moves_any_source", any_source },
		{ "coll_moves_bad_calls", bad_calls },
		{ "coll_moves_other_length", other_length },
		{ "coll_moves_never_sent", never_sent },
		{ "coll_moves_set_timeout", set_timeout },
		{ "coll_moves_left", left },
		{ NULL, NULL }
	};

	return run_tests("coll-moves", tests);
}
