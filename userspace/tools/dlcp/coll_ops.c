// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives that dlcp coll-perf measures. All inputs are whole numbers, so that every result
 * can be checked exactly. With feedback, what is lost in one round comes in a later one. So the
 * sum over all rounds, the last of which is lossless, is as if nothing was lost. With a second
 * bound the inputs are k times as large in the k-th round, so that what is missing, and
 * therefore old, shows which round it is of.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_perf.h"

static int rank_of(const struct coll_run *r)
{
	return dlcp_coll_rank(r->coll);
}

static int world_of(const struct coll_run *r)
{
	return dlcp_coll_world(r->coll);
}

static double value(const struct coll_run *r, int rank, size_t i)
{
	return (int)(i % 61) - 30 + (r->same ? 0 : rank);
}

static double sum_of(const struct coll_run *r, size_t i)
{
	int world = world_of(r);

	return world * ((int)(i % 61) - 30) + (r->same ? 0 : world * (world - 1) / 2);
}

static size_t all(const struct coll_run *r)
{
	return r->count;
}

static size_t own_part(const struct coll_run *r)
{
	return r->part;
}

static size_t at_root(const struct coll_run *r)
{
	return rank_of(r) ? 0 : r->count;
}

static double twice_but_own(int world)
{
	return 2. * (world - 1) / world;
}

static double all_but_own(int world)
{
	return 1. * (world - 1) / world;
}

static double once(int world)
{
	(void)world;
	return 1;
}

static int run_all_reduce(struct coll_run *r)
{
	if (r->thc)
		return dlcp_thc_all_reduce(r->coll, r->codec, r->in, r->out, &r->args);
	return dlcp_coll_all_reduce(r->coll, r->in, r->out, r->count, DLCP_COLL_F32, &r->args, NULL);
}

static double want_sum(const struct coll_run *r, size_t i)
{
	return r->thc ? value(r, 0, i) : sum_of(r, i);
}

static int run_reduce_scatter(struct coll_run *r)
{
	return dlcp_coll_reduce_scatter(r->coll, r->in, r->out, r->part, DLCP_COLL_F32, &r->args,
					NULL);
}

static double want_part_of_sum(const struct coll_run *r, size_t i)
{
	return sum_of(r, (size_t)rank_of(r) * r->part + i);
}

static int run_all_gather(struct coll_run *r)
{
	return dlcp_coll_all_gather(r->coll, r->in, r->out, r->part, DLCP_COLL_F32, &r->args, NULL);
}

static double want_gathered(const struct coll_run *r, size_t i)
{
	return value(r, (int)(i / r->part), i % r->part);
}

static int run_broadcast(struct coll_run *r)
{
	return dlcp_coll_broadcast(r->coll, r->out, r->count, DLCP_COLL_F32, 0, &r->args, NULL);
}

static double want_root(const struct coll_run *r, size_t i)
{
	return value(r, 0, i);
}

static int run_reduce(struct coll_run *r)
{
	return dlcp_coll_reduce(r->coll, r->in, r->out, r->count, DLCP_COLL_F32, 0, &r->args, NULL);
}

static int run_all_to_all(struct coll_run *r)
{
	int world = world_of(r), i, err;
	size_t *counts = malloc((size_t)world * sizeof(*counts));

	if (!counts) {
		errno = ENOMEM;
		return -1;
	}
	for (i = 0; i < world; i++)
		counts[i] = r->part;
	err = dlcp_coll_all_to_all(r->coll, r->in, counts, r->out, counts, DLCP_COLL_F32, &r->args,
				   NULL);
	free(counts);
	return err;
}

static double want_transposed(const struct coll_run *r, size_t i)
{
	return value(r, (int)(i / r->part), (size_t)rank_of(r) * r->part + i % r->part);
}

static const struct coll_operation operations[] = {
	{ "all_reduce", 0, 1, 0, 1, twice_but_own, run_all_reduce, all, want_sum },
	{ "reduce_scatter", 1, 1, 0, 1, all_but_own, run_reduce_scatter, own_part, want_part_of_sum },
	{ "all_gather", 1, 0, 0, 0, all_but_own, run_all_gather, all, want_gathered },
	{ "broadcast", 0, 0, 1, 0, once, run_broadcast, all, want_root },
	{ "reduce", 0, 1, 1, 0, once, run_reduce, at_root, want_sum },
	{ "alltoall", 1, 0, 0, 0, all_but_own, run_all_to_all, all, want_transposed },
};

#define NR_OPERATIONS	(sizeof(operations) / sizeof(*operations))

const struct coll_operation *coll_operation_find(const char *name)
{
	size_t i;

	for (i = 0; i < NR_OPERATIONS; i++)
		if (!strcmp(name, operations[i].name))
			return &operations[i];
	return NULL;
}

const char *coll_operation_names(char *buf, size_t size)
{
	size_t i, at = 0;

	for (i = 0; i < NR_OPERATIONS && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "",
				       operations[i].name);
	return buf;
}

static void fill(struct coll_run *r, double times)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		r->in[i] = (float)(times * value(r, rank_of(r), i));
}

int coll_run_prepare(struct coll_run *r, size_t count)
{
	size_t world = (size_t)world_of(r);

	r->part = r->op->parts ? count / world : count;
	r->count = r->op->parts ? r->part * world : count;
	r->in = malloc(r->count * sizeof(*r->in) + 1);
	r->out = calloc(r->count + 1, sizeof(*r->out));
	r->total = calloc(r->count + 1, sizeof(*r->total));
	if (r->thc)
		r->codec = dlcp_thc_new(r->count, (uint64_t)rank_of(r));
	if (!r->in || !r->out || !r->total || (r->thc && !r->codec))
		return say_error("no memory for %zu elements: ask for fewer with -e", r->count);
	r->rounds = 0;
	r->wrong = 0;
	r->old = 0;
	fill(r, 1);
	return 0;
}

void coll_run_free(struct coll_run *r)
{
	free(r->in);
	free(r->out);
	free(r->total);
	if (r->codec)
		dlcp_thc_free(r->codec);
	r->in = NULL;
	r->out = NULL;
	r->total = NULL;
	r->codec = NULL;
}

void coll_round_prepare(struct coll_run *r)
{
	if (r->args.loss2_ppm)
		fill(r, r->rounds + 1);
	if (r->op->run == run_broadcast)
		memcpy(r->out, r->in, r->count * sizeof(*r->in));
}

/* The result of an earlier round where it may be: old. Else wrong */
static void check_old(struct coll_run *r)
{
	int exact = r->args.resync_every && r->rounds % r->args.resync_every == 0;
	size_t i, nr = r->op->nr_results(r);
	double times;

	for (i = 0; i < nr; i++) {
		if (r->out[i] == (float)(r->rounds * r->op->want(r, i)))
			continue;
		times = r->out[i] / r->op->want(r, i);
		if (exact || times < 0 || times > r->rounds || times != (double)(int)times)
			r->wrong++;
		r->old++;
	}
}

void coll_round_check(struct coll_run *r)
{
	size_t i, nr = r->op->nr_results(r);

	r->rounds++;
	if (r->args.loss2_ppm) {
		check_old(r);
		return;
	}
	for (i = 0; i < nr; i++)
		r->total[i] += r->out[i];
}

/* In 4 bits single results are rough, and their mean is not */
static void check_mean(struct coll_run *r)
{
	double off = 0, sum = 0, want, d;
	size_t i;

	for (i = 0; i < r->count; i++) {
		want = r->op->want(r, i);
		d = r->total[i] / r->rounds - want;
		off += d * d;
		sum += want * want;
	}
	r->wrong = off < sum / 100 ? 0 : r->count;
}

void coll_run_check(struct coll_run *r)
{
	size_t i, nr = r->op->nr_results(r);

	if (r->args.loss2_ppm)
		return;
	if (r->thc) {
		check_mean(r);
		return;
	}
	for (i = 0; i < nr; i++)
		r->wrong += r->total[i] != r->rounds * r->op->want(r, i);
}

int coll_must_be_right(const struct coll_run *r, int bounded)
{
	if (!bounded || r->thc || r->args.loss2_ppm)
		return 1;
	return r->args.correct == DLCP_COLL_FEEDBACK ||
	       (r->same && r->args.correct == DLCP_COLL_AVERAGE);
}
