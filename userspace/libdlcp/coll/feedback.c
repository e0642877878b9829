// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What is remembered of a tensor between operations, above all error feedback:
 * the values that a report said were forgiven. They are added to the next
 * contribution of this rank; what is sent is therefore a copy, which also
 * keeps the values until the reports are in, while the caller's buffer may be
 * overwritten with the result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

struct coll_tensor *coll_tensor_get(struct dlcp_coll *c, uint64_t id)
{
	struct coll_tensor *t;

	pthread_mutex_lock(&c->lock);
	for (t = c->tensors; t && t->id != id;)
		t = t->next;
	if (!t && (t = calloc(1, sizeof(*t)))) {
		t->id = id;
		t->next = c->tensors;
		c->tensors = t;
	}
	pthread_mutex_unlock(&c->lock);
	if (!t)
		dlcp__no_memory();
	return t;
}

static void forget_values(struct coll_tensor *t)
{
	free(t->gaps);
	free(t->values);
	t->gaps = NULL;
	t->values = NULL;
	t->nr = 0;
}

void coll_tensors_free(struct dlcp_coll *c)
{
	struct coll_tensor *t;

	while ((t = c->tensors)) {
		c->tensors = t->next;
		forget_values(t);
		free(t->value);
		free(t);
	}
}

static void add_values(struct coll_op *op, const struct coll_tensor *t)
{
	const char *value = t->values;
	const void *src[2];
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		src[0] = op->copy + t->gaps[i].first * op->size;
		src[1] = value;
		coll_reduce(op->dtype, 0, (void *)src[0], src, 2, t->gaps[i].n,
			    1, 1);
		value += t->gaps[i].n * op->size;
		bytes += t->gaps[i].n * op->size;
	}
	__atomic_fetch_add(&op->c->stats.fed_back, bytes, __ATOMIC_RELAXED);
}

/* A tensor that has changed its shape has no past */
static int same_shape(const struct coll_op *op, const struct coll_tensor *t,
		      size_t count)
{
	return t->dtype == op->dtype && t->count == count;
}

int coll_feedback_begin(struct coll_op *op, size_t count)
{
	struct coll_tensor *t = op->tensor;

	op->source = op->in;
	if (!t || op->args.correct != DLCP_COLL_FEEDBACK ||
	    op->args.reduce > DLCP_COLL_AVG)
		return 0;
	if (t->nr && !same_shape(op, t, count))
		forget_values(t);
	if (!t->nr && !op->args.loss_ppm)
		return 0;
	op->copy_len = count * op->size;
	op->copy = coll_buffer_get(op->c, op->copy_len);
	if (!op->copy)
		return coll_no_memory(op->c);
	memcpy(op->copy, op->in, op->copy_len);
	op->source = op->copy;
	add_values(op, t);
	forget_values(t);
	t->dtype = op->dtype;
	t->count = count;
	return 0;
}

static int by_first(const void *a, const void *b)
{
	const struct coll_gap *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

int coll_feedback_end(struct coll_op *op)
{
	struct coll_tensor *t = op->tensor;
	size_t i, n = 0, at = 0;

	if (op->lost_unknown)
		return coll_no_memory(op->c);
	if (!op->nr_lost)
		return 0;
	for (i = 0; i < op->nr_lost; i++)
		n += op->lost[i].n;
	qsort(op->lost, op->nr_lost, sizeof(*op->lost), by_first);
	t->values = malloc(n * op->size);
	if (!t->values)
		return coll_no_memory(op->c);
	for (i = 0; i < op->nr_lost; i++) {
		memcpy(t->values + at * op->size,
		       op->source + op->lost[i].first * op->size,
		       op->lost[i].n * op->size);
		at += op->lost[i].n;
	}
	coll_drop_nonfinite(op->dtype, t->values, n);
	t->gaps = op->lost;
	t->nr = op->nr_lost;
	op->lost = NULL;
	op->nr_lost = 0;
	return 0;
}

static int note_lost(struct coll_op *op, size_t first, size_t n)
{
	struct coll_gap *lost = op->lost;
	size_t max = op->max_lost;

	if (op->nr_lost == max) {
		max = max ? 2 * max : 16;
		lost = realloc(lost, max * sizeof(*lost));
		if (!lost)
			return -1;
		op->lost = lost;
		op->max_lost = max;
	}
	op->lost[op->nr_lost++] = (struct coll_gap){ first, n };
	return 0;
}

/* The monitor calls, with the group's lock held. What is lost and cannot be
 * remembered would be missing from the model for ever, so the operation fails
 * then, in coll_feedback_end(). A message that failed has no report: the group
 * fails, and that ends the waiting.
 */
void coll_reported(struct coll_op *op, int to, const struct dlcp_sent *sent)
{
	size_t i;

	(void)to;
	pthread_mutex_lock(&op->lock);
	op->lost_unknown |= sent->truncated;
	for (i = 0; i < sent->nr_ranges && !op->lost_unknown; i++)
		if (note_lost(op, sent->report.cookie +
				  sent->ranges[i].offset / op->size,
			      sent->ranges[i].length / op->size))
			op->lost_unknown = 1;
	if (op->reports && !sent->report.error)
		op->reports--;
	pthread_cond_broadcast(&op->changed);
	pthread_mutex_unlock(&op->lock);
}
