// SPDX-License-Identifier: GPL-2.0
/* Error feedback: what reports say was lost is in the next contribution, or
 * the operation fails.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../coll/coll.h"
#include "check.h"
#include "fake.h"

#define N	1000

static struct coll_link link0 = { .fd = -1 };
static struct dlcp_coll group;
static struct coll_tensor *tensor;
static float in[N];

static void new_group(void)
{
	group = (struct dlcp_coll){
		.world = 1, .workers = 1, .links = &link0,
		.wake = -1, .broken = -1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	tensor = coll_tensor_get(&group, 1);
}

/* An operation that has sent its input and waits for one report */
static int begin(struct coll_op *op)
{
	size_t i;

	*op = (struct coll_op){
		.c = &group, .dtype = DLCP_COLL_F32, .size = 4, .sum_size = 4,
		.args = { .loss_ppm = 100000 },
		.in = in, .count = N, .tensor = tensor, .reports = 1,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	for (i = 0; i < N; i++)
		in[i] = (float)i;
	return coll_feedback_begin(op, N);
}

static void end(struct coll_op *op)
{
	free(op->copy);
	free(op->lost);
}

static void report(struct coll_op *op, int truncated)
{
	static const struct dlcp_range ranges[] = {
		{ .offset = 0, .length = 40 }, { .offset = 400, .length = 4 },
	};
	struct dlcp_sent sent = {
		.report = { .cookie = 100 },
		.nr_ranges = 2, .ranges = ranges, .truncated = truncated,
	};

	coll_reported(op, 0, &sent);
}

static void lost_comes_again(void)
{
	struct coll_op op;
	const float *x;
	size_t i;

	new_group();
	CHECK(!begin(&op));
	report(&op, 0);
	CHECK(!op.reports && !coll_feedback_end(&op));
	end(&op);
	CHECK(!begin(&op));
	x = (const float *)op.source;
	for (i = 0; i < N; i++)
		CHECK(x[i] == (float)i * ((i >= 100 && i < 110) || i == 200 ? 2 : 1));
	CHECK(!coll_feedback_end(&op));
	end(&op);
	coll_tensors_free(&group);
}

static void no_memory_fails(void)
{
	struct coll_op op;

	new_group();
	CHECK(!begin(&op));
	fake.no_memory = 1;
	report(&op, 0);
	fake.no_memory = 0;
	CHECK(!op.reports);
	CHECK(coll_feedback_end(&op) && group.error == ENOMEM);
	CHECK(strstr(group.text, "rank 0 has no memory: end other programs there"));
	end(&op);
	coll_tensors_free(&group);
}

/* The library could not hold all ranges of a report */
static void half_a_report_fails(void)
{
	struct coll_op op;

	new_group();
	CHECK(!begin(&op));
	report(&op, 1);
	CHECK(coll_feedback_end(&op) && group.error == ENOMEM);
	end(&op);
	coll_tensors_free(&group);
}

/* Of two steps a maximum makes no sense, and what was kept is for the next sum */
static void maximum_leaves_it(void)
{
	struct coll_op op, max;

	new_group();
	CHECK(!begin(&op));
	report(&op, 0);
	CHECK(!coll_feedback_end(&op));
	end(&op);
	max = op;
	max.args.reduce = DLCP_COLL_MAX;
	max.args.loss_ppm = 0;
	max.copy = NULL;
	CHECK(!coll_feedback_begin(&max, N));
	CHECK(max.source == (const char *)in && tensor->nr == 2);
	coll_tensors_free(&group);
}

/* It comes when the connection ends, and says nothing of what arrived */
static void failed_message_is_no_report(void)
{
	const struct dlcp_sent sent = { .report = { .error = ECONNRESET } };
	struct coll_op op;

	new_group();
	CHECK(!begin(&op));
	coll_reported(&op, 0, &sent);
	CHECK(op.reports == 1);
	end(&op);
	coll_tensors_free(&group);
}

int main(void)
{
	int bad = 0;

	bad |= RUN(lost_comes_again);
	bad |= RUN(no_memory_fails);
	bad |= RUN(half_a_report_fails);
	bad |= RUN(maximum_leaves_it);
	bad |= RUN(failed_message_is_no_report);
	return bad;
}
