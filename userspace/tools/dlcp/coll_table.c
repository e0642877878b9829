// SPDX-License-Identifier: GPL-2.0
/*
 * Figures of dlcp coll-perf: those of NCCL's tests, and the indicators of the IETF's draft on
 * benchmarks of AI training fabrics (draft-calabria-bmwg-ai-fabric-training-bench).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_perf.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The least time that at least @share of the rounds did not exceed */
static double quantile(const struct coll_figures *f, double share)
{
	size_t i = (size_t)ceil(share * (double)f->nr);

	return f->times[i ? i - 1 : 0];
}

/* Jain's index of what the ranks carried by second, which all have as many bytes */
static double jain_of(const double *means, int world)
{
	double sum = 0, squares = 0;
	int i;

	for (i = 0; i < world; i++) {
		sum += 1 / means[i];
		squares += 1 / means[i] / means[i];
	}
	return sum * sum / world / squares;
}

static double mean_of(const double *times, size_t nr)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		sum += times[i];
	return sum / (double)nr;
}

static void count_sums(struct coll_figures *f, const struct coll_run *r,
		       const struct dlcp_coll_stats *before)
{
	struct dlcp_coll_stats now;

	dlcp_coll_get_stats(r->coll, &now);
	f->sums[COLL_MISSING] = (int64_t)(now.missing - before->missing);
	f->sums[COLL_RECEIVED] = (int64_t)(now.received - before->received);
	f->sums[COLL_FED_BACK] = (int64_t)(now.fed_back - before->fed_back);
	f->sums[COLL_WRONG] = (int64_t)r->wrong;
	f->sums[COLL_OLD] = (int64_t)r->old;
}

/* In operations that are small, and therefore of no trace (DLCP_COLL_TRACE) */
static int reduce_times(struct coll_figures *f, const struct coll_run *r)
{
	const struct dlcp_coll_args max = { .reduce = DLCP_COLL_MAX };
	size_t i, n, most = 512;

	for (i = 0; i < f->nr; i += n) {
		n = f->nr - i < most ? f->nr - i : most;
		if (dlcp_coll_all_reduce(r->coll, f->times + i, f->times + i, n, DLCP_COLL_F64,
					 &max, NULL))
			return -1;
	}
	return 0;
}

int coll_figures_collect(struct coll_figures *f, const struct coll_run *r,
			 const struct dlcp_coll_stats *before)
{
	const struct dlcp_coll_args sum = { .reduce = DLCP_COLL_SUM };
	int world = dlcp_coll_world(r->coll);
	double *means = malloc((size_t)world * sizeof(*means));
	double mean = mean_of(f->times, f->nr);
	int err;

	if (!means) {
		errno = ENOMEM;
		return -1;
	}
	count_sums(f, r, before);
	err = dlcp_coll_all_gather(r->coll, &mean, means, 1, DLCP_COLL_F64, NULL, NULL) ||
	      dlcp_coll_all_reduce(r->coll, f->sums, f->sums, COLL_SUMS, DLCP_COLL_I64, &sum, NULL) ||
	      reduce_times(f, r);
	if (!err) {
		f->jain = jain_of(means, world);
		f->mean = mean_of(f->times, f->nr);
		qsort(f->times, f->nr, sizeof(*f->times), compare);
	}
	free(means);
	return err ? -1 : 0;
}

/* All ranks have as much to do. A root has more, and the others need not wait for it */
static int is_even(const struct coll_run *r)
{
	return !r->op->rooted;
}

static double bytes_of(const struct coll_run *r)
{
	return (double)r->count * sizeof(float);
}

static double bus_bytes(const struct coll_run *r)
{
	return bytes_of(r) * r->op->bus(dlcp_coll_world(r->coll));
}

void coll_row_of(const struct coll_run *r, const struct coll_figures *f, double rate,
		 struct coll_row *row)
{
	*row = (struct coll_row){
		.bytes = bytes_of(r), .count = r->part,
		.redop = r->op->reduces ? r->thc ? "avg" : "sum" : "none",
		.time_us = f->mean / 1e3,
		.algbw = bytes_of(r) / f->mean, .busbw = bus_bytes(r) / f->mean,
		.p50_us = quantile(f, 0.5) / 1e3, .p99_us = quantile(f, 0.99) / 1e3,
		.p99_9_us = quantile(f, 0.999) / 1e3, .max_us = f->times[f->nr - 1] / 1e3,
		/* Of the time that a link alone needs */
		.jct_ratio = rate > 0 && bus_bytes(r) > 0 ?
			     f->mean / (bus_bytes(r) * 8e9 / rate) : -1,
		.jain = is_even(r) ? f->jain : -1,
	};
	memcpy(row->sums, f->sums, sizeof(row->sums));
}

const char *coll_missing(const struct coll_row *row, char buf[NUM_LEN])
{
	return say_percent(buf, (uint64_t)row->sums[COLL_MISSING],
			   (uint64_t)row->sums[COLL_RECEIVED]);
}

void coll_table_head(const struct coll_run *r, double rate, int json)
{
	if (json)
		return;
	printf("# %s of %d ranks; times in us, until the last rank is done; bandwidths in GB/s\n",
	       r->op->name, dlcp_coll_world(r->coll));
	printf("#%11s %11s %6s %6s %9s %7s %7s %6s %9s %9s %9s %9s %7s %6s %8s\n", "size", "count",
	       "type", "redop", "time", "algbw", "busbw", "wrong", "p50", "p99", "p99.9", "max",
	       rate > 0 ? "JCTrat" : "", "Jain", "missing");
}

static void print_row(const struct coll_row *row)
{
	char missing[NUM_LEN], ratio[NUM_LEN] = "", jain[NUM_LEN] = "-";

	if (row->jct_ratio >= 0)
		snprintf(ratio, sizeof(ratio), "%.3f", row->jct_ratio);
	if (row->jain >= 0)
		snprintf(jain, sizeof(jain), "%.3f", row->jain);
	printf(" %11.0f %11zu %6s %6s %9.1f %7.3f %7.3f %6lld %9.1f %9.1f %9.1f %9.1f %7s %6s %8s\n",
	       row->bytes, row->count, "float", row->redop, row->time_us, row->algbw, row->busbw,
	       (long long)row->sums[COLL_WRONG], row->p50_us, row->p99_us, row->p99_9_us,
	       row->max_us, ratio, jain, coll_missing(row, missing));
	fflush(stdout);
}

static void print_json(const struct coll_run *r, const struct coll_row *row, uint64_t rounds)
{
	static const char *const names[COLL_SUMS] = {
		"missing_bytes", "received_bytes", "fed_back_bytes", "wrong", "old",
	};
	int i;

	json_open(NULL, '{');
	json_text("operation", r->op->name);
	json_u64("ranks", (uint64_t)dlcp_coll_world(r->coll));
	json_u64("size", (uint64_t)row->bytes);
	json_u64("count", row->count);
	json_text("type", "float");
	json_text("redop", row->redop);
	json_u64("rounds", rounds);
	json_number("time_us", row->time_us);
	json_number("algbw", row->algbw);
	json_number("busbw", row->busbw);
	json_number("p50_us", row->p50_us);
	json_number("p99_us", row->p99_us);
	json_number("p99_9_us", row->p99_9_us);
	json_number("max_us", row->max_us);
	if (row->jct_ratio >= 0)
		json_number("jct_ratio", row->jct_ratio);
	if (row->jain >= 0)
		json_number("jain", row->jain);
	for (i = 0; i < COLL_SUMS; i++)
		json_u64(names[i], (uint64_t)row->sums[i]);
	json_close('}');
}

void coll_table_row(const struct coll_run *r, const struct coll_figures *f, double rate, int json)
{
	struct coll_row row;

	coll_row_of(r, f, rate, &row);
	if (json)
		print_json(r, &row, f->nr);
	else
		print_row(&row);
	coll_html_row(&row);
}
