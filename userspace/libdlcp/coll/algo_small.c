// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Small operations: everybody sends everybody everything, with the head of the
 * operation in the same message, and each computes the result by itself. One
 * round, no loss, no other threads. A barrier is one of nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

/* What a rank has to say to another, bytes */
static size_t len_between(const struct coll_op *op, int from, int to)
{
	switch (op->kind) {
	case COLL_REDUCE_SCATTER:
		return op->count * (size_t)op->c->workers * op->size;
	case COLL_BROADCAST:
		return op->root == from ? op->count * op->size : 0;
	case COLL_REDUCE_TO:
		return op->root == to ? op->count * op->size : 0;
	case COLL_BARRIER:
		return 0;
	default:
		return op->count * op->size;
	}
}

static int send_to_all(struct coll_op *op, const void *own)
{
	struct dlcp_coll *c = op->c;
	size_t most = op->count * op->size * (op->kind == COLL_REDUCE_SCATTER ?
					      (size_t)c->workers : 1);
	struct coll_out out = { .half = COLL_HEAD };
	struct coll_head head;
	int i, to, ret = 0;
	size_t len;
	char *buf;

	if (c->workers == 1)
		return 0;
	buf = malloc(sizeof(head) + most);
	if (!buf)
		return coll_no_memory(c);
	out.buf = buf;
	coll_make_head(op, &head);
	memcpy(buf, &head, sizeof(head));
	for (i = 1; i < c->workers && !ret; i++) {
		to = (c->rank + i) % c->workers;
		len = len_between(op, c->rank, to);
		if (len)
			memcpy(buf + sizeof(head), own, len);
		out.len = sizeof(head) + len;
		ret = coll_send_all(op, to, &out);
	}
	free(buf);
	return ret;
}

static void finish(struct coll_op *op, char *const *data)
{
	struct dlcp_coll *c = op->c;
	size_t len = op->count * op->size;
	const void *src[COLL_MAX_WORLD];
	int i;

	for (i = 0; i < c->workers; i++) {
		src[i] = data[i];
		if (op->kind == COLL_REDUCE_SCATTER)
			src[i] = data[i] + (size_t)c->rank * len;
	}
	if (!len || op->kind == COLL_BARRIER ||
	    (op->kind == COLL_REDUCE_TO && c->rank != op->root))
		return;
	if (op->kind == COLL_BROADCAST) {
		if (c->rank != op->root)
			memcpy(op->out, src[op->root], len);
	} else if (op->kind == COLL_ALL_GATHER) {
		for (i = 0; i < c->workers; i++)
			if ((char *)op->out + (size_t)i * len != src[i])
				/* exchange() set them all, but the analyser
				 * thinks that the world could have grown since
				 */
				/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker) */
				memcpy((char *)op->out + (size_t)i * len,
				       src[i], len);
	} else {
		coll_reduce(op->dtype, op->args.reduce,
			    op->out, src, (unsigned int)c->workers, op->count, 1,
			    op->args.reduce == DLCP_COLL_AVG ?
			    (unsigned int)c->workers : 1);
	}
}

static int exchange(struct coll_op *op, char *room, char **data)
{
	struct dlcp_coll *c = op->c;
	size_t want, at = 0;
	int i;

	if (send_to_all(op, op->source) || coll_notify_servers(op))
		return -1;
	for (i = 0; i < c->workers; i++) {
		data[i] = (char *)op->source;
		if (i == c->rank)
			continue;
		want = len_between(op, i, c->rank);
		if (coll_recv_head(op, i, room + at, want))
			return -1;
		data[i] = room + at + sizeof(struct coll_head);
		/* elements stay aligned */
		at += (sizeof(struct coll_head) + want + 63) / 64 * 64;
	}
	return 0;
}

static int run(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	size_t each = (sizeof(struct coll_head) + op->count * op->size *
		       (op->kind == COLL_REDUCE_SCATTER ?
			(size_t)c->workers : 1) + 63) / 64 * 64;
	char **data = calloc((size_t)c->workers, sizeof(*data));
	char *room = malloc(each * (size_t)(c->workers - 1) + 1);
	int ret = -1;

	op->source = op->in;
	if (!data || !room)
		coll_no_memory(c);
	else if (coll_reduces(op->kind) &&
		 coll_feedback_begin(op, op->count *
				     (op->kind == COLL_REDUCE_SCATTER ?
				      (size_t)c->workers : 1)))
		ret = -1;
	else
		ret = exchange(op, room, data);
	if (!ret)
		finish(op, data);
	free(room);
	free(data);
	return ret;
}

/* Bytes of the larger buffer */
static size_t total(const struct coll_op *op)
{
	int all = op->kind == COLL_REDUCE_SCATTER || op->kind == COLL_ALL_GATHER;

	return op->count * op->size * (all ? (size_t)op->c->workers : 1);
}

static int applies(const struct coll_op *op)
{
	const struct dlcp_coll *c = op->c;

	if (op->kind == COLL_PUSH || op->kind == COLL_PULL ||
	    op->sum_size != op->size)
		return 0;
	return (c->workers == 1 && !c->options.dedicated) ||
	       op->kind == COLL_BARRIER || total(op) <= c->options.small_bytes;
}

const struct coll_algo coll_algo_small = {
	.name = "one round",
	.order = COLL_SMALL,
	.applies = applies,
	.run = run,
	.one_round = 1,
};
