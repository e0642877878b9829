/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dlcp coll-perf: collectives. coll_ops.c (the operations, and whether their results are right),
 * coll_table.c (figures and what is printed), coll_html.c (the page), coll_perf.c (the command line, the group, rounds).
 */
#ifndef TOOLS_COLL_PERF_H
#define TOOLS_COLL_PERF_H

#include <stddef.h>
#include <stdint.h>

#include <dlcp.h>
#include <dlcp_coll.h>
#include <dlcp_thc.h>

#include "tool.h"

struct coll_run;

/**
 * struct coll_operation - a collective
 * @name: as in NCCL's tests
 * @parts: a rank has one part of the whole, so that counts are multiples of the ranks
 * @reduces: contributions are added up
 * @rooted: rank 0 is another one than the others
 * @bounded: it may be given a loss bound
 * @bus: bytes on a rank's link for each byte of the size, of so many ranks
 * @run: it. Return: 0, or -1
 * @nr_results: elements of this rank's result
 * @want: what an element of it has to be
 */
struct coll_operation {
	const char *name;
	int parts;
	int reduces;
	int rooted;
	int bounded;
	double (*bus)(int world);
	int (*run)(struct coll_run *r);
	size_t (*nr_results)(const struct coll_run *r);
	double (*want)(const struct coll_run *r, size_t i);
};

/**
 * struct coll_run - rounds of one size
 * @op: the operation
 * @coll: the group
 * @args: for it
 * @same: all ranks have the same input
 * @thc: averages of it, in 4 bits
 * @count: elements of the whole
 * @part: elements of a rank's part
 * @in: inputs
 * @out: results
 * @total: their sum over all rounds
 * @codec: of @thc
 * @rounds: done
 * @wrong: elements
 * @old: elements that kept the value of an earlier round, which a second bound allows
 */
struct coll_run {
	const struct coll_operation	*op;
	struct dlcp_coll		*coll;
	struct dlcp_coll_args		args;
	int				same;
	int				thc;
	size_t				count;
	size_t				part;
	float				*in;
	float				*out;
	double				*total;
	struct dlcp_thc			*codec;
	unsigned int			rounds;
	size_t				wrong;
	size_t				old;
};

/* Return: NULL if there is none of that name */
const struct coll_operation *coll_operation_find(const char *name);
/* Their names, with commas */
const char *coll_operation_names(char *buf, size_t size);
/* Buffers and inputs for @count elements. Return: 0, or an exit status after an error message */
int coll_run_prepare(struct coll_run *r, size_t count);
void coll_run_free(struct coll_run *r);
/* What a round needs before its time begins */
void coll_round_prepare(struct coll_run *r);
/* After each round, and after all of them */
void coll_round_check(struct coll_run *r);
void coll_run_check(struct coll_run *r);
/* Whether results have to be right in the end. @bounded: some rounds had a loss bound */
int coll_must_be_right(const struct coll_run *r, int bounded);

/**
 * struct coll_figures - what came of a size
 * @times: of rounds, until the last rank was done, sorted; ns
 * @nr: how many
 * @mean: ns
 * @jain: fairness between ranks: 1 if all took as long
 * @sums: over all ranks, see below
 */
enum {
	COLL_MISSING,
	COLL_RECEIVED,
	COLL_FED_BACK,
	COLL_WRONG,
	COLL_OLD,
	COLL_SUMS,
};

struct coll_figures {
	double	*times;
	size_t	nr;
	double	mean;
	double	jain;
	int64_t	sums[COLL_SUMS];
};

/* Of all ranks' times, by @f->times of this one. Return: 0, or -1 */
int coll_figures_collect(struct coll_figures *f, const struct coll_run *r,
			 const struct dlcp_coll_stats *before);
/**
 * struct coll_row - what is shown of a size
 * @bytes: the size
 * @count: elements of a rank's part
 * @redop: name of the reduction
 * @time_us: mean; the next ones are quantiles
 * @algbw: GB/s
 * @busbw: likewise, on a rank's link
 * @jct_ratio: of the time that a link alone needs; -1: its rate is not known
 * @jain: fairness; -1: it means nothing here
 * @sums: those of struct coll_figures
 */
struct coll_row {
	double		bytes;
	size_t		count;
	const char	*redop;
	double		time_us;
	double		p50_us;
	double		p99_us;
	double		p99_9_us;
	double		max_us;
	double		algbw;
	double		busbw;
	double		jct_ratio;
	double		jain;
	int64_t		sums[COLL_SUMS];
};

void coll_row_of(const struct coll_run *r, const struct coll_figures *f, double rate,
		 struct coll_row *row);
/* Bytes that were missing, in percent. Return: @buf */
const char *coll_missing(const struct coll_row *row, char buf[NUM_LEN]);
void coll_table_head(const struct coll_run *r, double rate, int json);
/* @rate: bits per second of a link, or 0 */
void coll_table_row(const struct coll_run *r, const struct coll_figures *f, double rate, int json);

/* --- coll_html.c: nothing is written unless a page was begun */

void coll_html_row(const struct coll_row *row);
/* What came of all sizes */
void coll_html_add(const struct coll_run *r);

#endif
