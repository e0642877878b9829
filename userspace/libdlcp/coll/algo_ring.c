// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * All-reduce around a ring. The tensor is cut into a part for each rank; in
 * step k of the reducing half rank r sends part r - k to its right, and adds
 * what comes from its left to part r - k - 1. After world - 1 steps part r + 1
 * is complete at rank r, and as many steps of the spreading half carry it
 * around. Chunks of a step follow each other without waiting for its end: each
 * may go on as soon as it has come. There are a few in every step, so that what
 * comes and what goes on overlap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

#define CHUNKS		4		/* of a part, at least, ... */
#define LEAST_CHUNK	(16 << 10)	/* ... but not of fewer bytes */

/**
 * struct ring - an all-reduce of this kind
 * @op: the operation
 * @sums: what is reduced so far: @op->out, or, if that has to keep its old
 *	contents where something will be missing, a buffer
 * @spread_ppm: loss bound of the spreading half
 * @chunk: elements of a chunk
 * @chunks: of a part, the longest one; shorter parts have empty ones
 * @here: items received, in order
 * @stage: room for a chunk
 */
struct ring {
	struct coll_op	*op;
	char		*sums;
	uint32_t	spread_ppm;
	size_t		chunk;
	size_t		chunks;
	size_t		here;
	char		*stage;
};

/* A chunk of a step: what we send as item i + chunks is what came as item i */
struct item {
	enum coll_half	half;
	size_t		first;	/* element */
	size_t		n;
	int		last_reduction;
};

static int world_of(const struct ring *g)
{
	return g->op->c->workers;
}

static struct item item_of(const struct ring *g, int rank, size_t i)
{
	int n = world_of(g), step = (int)(i / g->chunks), part;
	size_t at = i % g->chunks * g->chunk;
	struct item item = { .half = COLL_REDUCE };
	struct coll_part p;

	part = ((rank - step) % n + n) % n;
	if (step >= n - 1) {
		item.half = COLL_SPREAD;
		part = ((rank + 1 - (step - (n - 1))) % n + n) % n;
	}
	item.last_reduction = step == n - 2;
	p = coll_cut(g->op->count, g->op->size, part, n);
	item.first = p.first + at;
	if (at < p.n)
		item.n = p.n - at < g->chunk ? p.n - at : g->chunk;
	return item;
}

static size_t nr_items(const struct ring *g)
{
	return 2 * (size_t)(world_of(g) - 1) * g->chunks;
}

static int take_item(struct ring *g, int left, size_t i)
{
	struct item item = item_of(g, left, i);
	struct coll_op *op = g->op;
	char *out = (char *)op->out + item.first * op->size;
	char *sums = g->sums + item.first * op->size;
	struct coll_gaps gaps = { 0 };
	const void *src[2] = { sums, g->stage };
	int reduce = item.half == COLL_REDUCE, ret;

	if (!item.n)
		return 0;
	ret = coll_recv(op, left, &(struct coll_in){
		.half = item.half, .chunk = (uint32_t)i, .keep = !reduce,
		.buf = reduce ? g->stage : out, .len = item.n * op->size,
		.first = item.first, .gaps = &gaps });
	free(gaps.gap);
	if (!ret && reduce)
		coll_reduce(op->dtype, op->args.reduce,
			    item.last_reduction ? out : sums, src, 2, item.n,
			    1, item.last_reduction &&
			    op->args.reduce == DLCP_COLL_AVG ?
			    (unsigned int)world_of(g) : 1);
	return ret;
}

static void receive(void *arg)
{
	struct ring *g = arg;
	struct coll_op *op = g->op;
	int n = world_of(g), left = (op->c->rank + n - 1) % n;
	struct coll_head head;
	size_t i;

	if (coll_recv_head(op, left, &head, 0))
		goto out;
	if (n == 2)
		coll_eager_begun(op, left);
	for (i = 0; i < nr_items(g); i++) {
		if (take_item(g, left, i))
			break;
		pthread_mutex_lock(&op->lock);
		g->here = i + 1;
		pthread_mutex_unlock(&op->lock);
		coll_op_kick(op);
	}
out:
	coll_op_task_done(op);
}

/* Our right has begun, too: see eager.c */
static void hear_right(void *arg)
{
	struct ring *g = arg;
	struct coll_op *op = g->op;
	int right = (op->c->rank + 1) % world_of(g);
	struct coll_head head;

	if (!coll_recv_head(op, right, &head, 0))
		coll_eager_begun(op, right);
	coll_op_task_done(op);
}

/* Item @i may go when what it is made of is here */
static int wait_item(struct ring *g, size_t i)
{
	int ready;

	for (;;) {
		pthread_mutex_lock(&g->op->lock);
		ready = i < g->chunks || g->here > i - g->chunks;
		pthread_mutex_unlock(&g->op->lock);
		if (ready)
			return 0;
		if (coll_wait_room(g->op, NULL))
			return -1;
	}
}

static int send_item(struct ring *g, int right, size_t i)
{
	struct coll_op *op = g->op;
	struct item item = item_of(g, op->c->rank, i);
	int reduce = item.half == COLL_REDUCE;
	struct coll_out out = {
		.buf = (reduce ? g->sums : (char *)op->out) +
		       item.first * op->size,
		.len = item.n * op->size,
		.half = item.half,
		.chunk = (uint32_t)i,
		.loss_ppm = reduce ? op->args.loss_ppm : g->spread_ppm,
		.first = item.first,
	};

	if (wait_item(g, i))
		return -1;
	return item.n ? coll_send_all(op, right, &out) : 0;
}

/* What is sent on is overwritten later: the values a report may ask for have
 * to be kept, each part as it was when we sent it
 */
static void keep_sent(struct ring *g, size_t i)
{
	struct coll_op *op = g->op;
	struct item item = item_of(g, op->c->rank, i);

	if (op->copy && item.half == COLL_REDUCE && item.n)
		memcpy(op->copy + item.first * op->size,
		       g->sums + item.first * op->size, item.n * op->size);
}

static int send_all(struct ring *g)
{
	int n = world_of(g), right = (g->op->c->rank + 1) % n;
	int left = (g->op->c->rank + n - 1) % n;
	struct coll_head head;
	struct coll_out out = {
		.buf = &head, .len = sizeof(head), .half = COLL_HEAD,
	};
	size_t i;

	coll_make_head(g->op, &head);
	if (coll_send_all(g->op, right, &out) ||
	    (n > 2 && coll_send_all(g->op, left, &out)) ||
	    coll_notify_servers(g->op))
		return -1;
	for (i = 0; i < nr_items(g); i++) {
		if (wait_item(g, i))
			return -1;
		keep_sent(g, i);
		if (send_item(g, right, i))
			return -1;
	}
	return 0;
}

/* A bound counts for each chunk, and wants large ones */
static size_t chunk_of(const struct coll_op *op, size_t part)
{
	size_t most = coll_chunk_elems(op), least = LEAST_CHUNK / op->size;
	size_t few = part / CHUNKS + 1;

	if (op->args.loss_ppm || op->args.loss2_ppm)
		return most;
	few = few > least ? few : least;
	return few < most ? few : most;
}

static int prepare(struct ring *g)
{
	struct coll_op *op = g->op;
	size_t len = op->count * op->size;

	g->sums = op->out;
	g->stage = malloc(op->c->options.chunk_bytes);
	if (g->spread_ppm)
		g->sums = coll_buffer_get(op->c, len);
	if (!g->stage || !g->sums)
		return coll_no_memory(op->c);
	if (g->sums != op->source)
		memcpy(g->sums, op->source, len);
	return 0;
}

static int run(struct coll_op *op)
{
	size_t part = coll_cut(op->count, op->size, 0, op->c->workers).n;
	struct ring g = {
		.op = op,
		.spread_ppm = coll_spread_ppm(op),
		.chunk = chunk_of(op, part),
	};
	int ret = -1, joined = 0;

	g.chunks = coll_nr_chunks(part, g.chunk);
	if (coll_feedback_begin(op, op->count))
		return -1;
	if (!prepare(&g)) {
		if (!coll_op_task(op, receive, &g) &&
		    (op->c->workers == 2 ||
		     !coll_op_task(op, hear_right, &g)) &&
		    !send_all(&g))
			ret = 0;
		joined = coll_op_join(op);
	}
	free(g.stage);
	if (g.sums != op->out)
		coll_buffer_put(op->c, g.sums, op->count * op->size);
	return ret || joined ? -1 : coll_feedback_end(op);
}

/* Partial sums are in the elements themselves: those of integers overflow */
static int wraps(const struct dlcp_coll_args *args, int dtype)
{
	return args->reduce == DLCP_COLL_AVG && coll_is_int(dtype);
}

/* Does it add as the transpose does? It rounds 16-bit floats at each rank */
static int is_exact(const struct coll_op *op)
{
	return op->dtype == DLCP_COLL_F32 || op->dtype == DLCP_COLL_F64 ||
	       (coll_is_int(op->dtype) && !wraps(&op->args, op->dtype));
}

/* A bound would count for each of its steps */
static int suits(const struct coll_op *op)
{
	return !op->c->options.dedicated && is_exact(op) &&
	       !op->args.loss_ppm && !op->args.loss2_ppm;
}

static const char *refuses(const struct dlcp_coll_args *args, int reducing,
			   int dtype)
{
	if (wraps(args, dtype))
		return "in a ring sums of integers overflow before they are divided";
	if (reducing && args->loss_ppm && args->correct == DLCP_COLL_AVERAGE)
		return "in a ring nobody knows how many contributions are missing";
	return NULL;
}

static int applies(const struct coll_op *op)
{
	return op->args.algo == DLCP_COLL_RING && op->c->workers > 1;
}

/*
 * In a transpose all ranks send to all at once. That takes longer where links of
 * hosts are no faster than ports of the switch, or where these ports hold little.
 * The ring has too many steps for small tensors and for large groups. The range is
 * measured: userspace/tools/coll-bench, dlcp-ring and dlcp-transpose.
 */
const struct coll_algo coll_algo_ring = {
	.name = "ring",
	.order = COLL_ONE_WAY,
	.named = DLCP_COLL_RING,
	.range = { .least_workers = 4, .most_workers = 16,
		   .least_part = 32 << 10 },
	.suits = suits,
	.refuses = refuses,
	.applies = applies,
	.run = run,
	.streams = 1,
};
