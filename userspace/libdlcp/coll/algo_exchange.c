// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations that move data and add nothing: gather, scatter, all-to-all. What a
 * rank has for another goes straight to it, and into its place. A thread for each
 * rank receives; the operation's own sends to all in turn, chunk by chunk.
 *
 * Every rank that sends or is sent something sends a head, as in parts.c. That of
 * an all-to-all says how long what follows is, for the other rank to compare.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

/**
 * struct exchange - an operation of this kind
 * @op: the operation
 * @chunk: elements of a chunk
 * @next: for each rank, the next chunk to send it
 * @blocked: ranks that have no room
 */
struct exchange {
	struct coll_op	*op;
	size_t		chunk;
	uint32_t	*next;
	uint8_t		*blocked;
};

struct receiver {
	struct exchange	*e;
	int		from;
};

/* What rank @from has for rank @to, both of them or one being us, elements */
static size_t between(const struct coll_op *op, int from, int to)
{
	return from == op->c->rank ? op->blocks[to].in_n :
				     op->blocks[from].out_n;
}

int coll_make_blocks(struct coll_op *op, const size_t *in_n,
		     const size_t *out_n)
{
	int me = op->c->rank, root = op->root, i;
	size_t in = 0, out = 0;
	struct coll_blocks *b;

	op->blocks = calloc((size_t)op->c->workers, sizeof(*op->blocks));
	if (!op->blocks)
		return dlcp__no_memory();
	for (i = 0; i < op->c->workers; i++) {
		b = &op->blocks[i];
		b->in = in;
		b->out = out;
		if (op->kind == COLL_ALL_TO_ALL) {
			b->in_n = in_n[i];
			b->out_n = out_n[i];
		} else if (op->kind == COLL_GATHER) {
			b->in_n = i == root ? op->count : 0;
			b->out_n = me == root ? op->count : 0;
		} else {
			b->in_n = me == root ? op->count : 0;
			b->out_n = i == root ? op->count : 0;
		}
		in += b->in_n;
		out += b->out_n;
	}
	if ((in && !op->in) || (out && !op->out))
		return dlcp__fail(EINVAL, "no buffer: NULL is for 0 elements");
	return 0;
}

/* Who has nothing to do with another still tells the next rank, as in parts.c */
static int tells(const struct coll_op *op, int from, int to)
{
	if (from == to)
		return 0;
	return op->kind == COLL_ALL_TO_ALL || from == op->root ||
	       to == op->root || to == (from + 1) % op->c->workers;
}

static size_t chunk_len(const struct exchange *e, size_t n, size_t c)
{
	size_t left = n - c * e->chunk;

	return (left < e->chunk ? left : e->chunk) * e->op->size;
}

static int hear(struct exchange *e, int from)
{
	struct coll_op *op = e->op;
	struct coll_head head;
	uint64_t ours = between(op, from, op->c->rank) * op->size, theirs;

	if (coll_recv_head(op, from, &head, 0))
		return -1;
	theirs = le64toh(head.pair);
	if (theirs != ours)
		return coll_fail(op->c, EBADMSG,
				 "rank %d sends %llu bytes in operation %u, and rank %d expects %llu",
				 from, (unsigned long long)theirs, op->nr,
				 op->c->rank, (unsigned long long)ours);
	coll_eager_begun(op, from);
	return 0;
}

static int receive_block(struct exchange *e, int from)
{
	struct coll_op *op = e->op;
	const struct coll_blocks *b = &op->blocks[from];
	size_t c, n = coll_nr_chunks(b->out_n, e->chunk);
	struct coll_gaps gaps = { 0 };
	int ret = 0;

	for (c = 0; c < n && !ret; c++)
		ret = coll_recv(op, from, &(struct coll_in){
			.half = COLL_SPREAD, .chunk = (uint32_t)c, .keep = 1,
			.buf = (char *)op->out +
			       (b->out + c * e->chunk) * op->size,
			.len = chunk_len(e, b->out_n, c),
			.first = b->out + c * e->chunk, .gaps = &gaps });
	free(gaps.gap);
	return ret;
}

static void receive(void *arg)
{
	struct receiver *r = arg;

	if (!hear(r->e, r->from))
		receive_block(r->e, r->from);
	coll_op_task_done(r->e->op);
}

static int send_heads(struct exchange *e)
{
	struct coll_op *op = e->op;
	struct dlcp_coll *c = op->c;
	struct coll_head head;
	struct coll_out out = {
		.buf = &head, .len = sizeof(head), .half = COLL_HEAD,
	};
	int i, to;

	coll_make_head(op, &head);
	for (i = 1; i < c->workers; i++) {
		to = (c->rank + i) % c->workers;
		head.pair = htole64(between(op, c->rank, to) * op->size);
		if (tells(op, c->rank, to) && coll_send_all(op, to, &out))
			return -1;
	}
	return coll_notify_servers(op);
}

/* Return: 1 sent, 0 not now, -1 failed */
static int send_chunk(struct exchange *e, int to)
{
	struct coll_op *op = e->op;
	const struct coll_blocks *b = &op->blocks[to];
	size_t c = e->next[to];
	struct coll_out out = {
		.buf = (const char *)op->in + (b->in + c * e->chunk) * op->size,
		.len = chunk_len(e, b->in_n, c),
		.half = COLL_SPREAD,
		.chunk = (uint32_t)c,
	};
	int ret = coll_send(op, to, &out);

	if (ret == COLL_NOT_YET)
		return 0;
	e->blocked[to] = !ret;
	e->next[to] += ret > 0;
	return ret;
}

/* One chunk for everybody who has room. Return: chunks sent, or -1 */
static int send_round(struct exchange *e, int *left)
{
	struct dlcp_coll *c = e->op->c;
	int i, to, ret, sent = 0;
	size_t n;

	*left = 0;
	for (i = 1; i < c->workers; i++) {
		to = (c->rank + i) % c->workers;
		n = coll_nr_chunks(e->op->blocks[to].in_n, e->chunk);
		e->blocked[to] = 0;
		if (e->next[to] == n)
			continue;
		ret = send_chunk(e, to);
		if (ret < 0)
			return -1;
		sent += ret;
		*left += e->next[to] < n;
	}
	return sent;
}

static int send_blocks(struct exchange *e)
{
	int left, sent;

	do {
		sent = send_round(e, &left);
		if (sent < 0)
			return -1;
		if (!sent && left && coll_wait_room(e->op, e->blocked))
			return -1;
	} while (left);
	return 0;
}

static void copy_own(struct coll_op *op)
{
	const struct coll_blocks *b = &op->blocks[op->c->rank];

	/* lengths that differ are for the user to see: nothing tells them else */
	if (b->in_n && b->out_n)
		memmove((char *)op->out + b->out * op->size,
			(const char *)op->in + b->in * op->size,
			(b->in_n < b->out_n ? b->in_n : b->out_n) * op->size);
}

static int go(struct exchange *e, struct receiver *r)
{
	struct coll_op *op = e->op;
	int i, ret = 0, joined;

	copy_own(op);
	for (i = 0; i < op->c->workers && !ret; i++) {
		r[i] = (struct receiver){ e, i };
		if (tells(op, i, op->c->rank))
			ret = coll_op_task(op, receive, &r[i]);
	}
	if (!ret && !send_heads(e))
		ret = send_blocks(e);
	else
		ret = -1;
	joined = coll_op_join(op);
	return ret || joined ? -1 : 0;
}

static int run(struct coll_op *op)
{
	size_t workers = (size_t)op->c->workers;
	struct exchange e = { .op = op, .chunk = coll_chunk_elems(op) };
	struct receiver *r = calloc(workers, sizeof(*r));
	int ret = -1;

	e.next = calloc(workers, sizeof(*e.next));
	e.blocked = calloc((size_t)op->c->world, 1);
	if (!r || !e.next || !e.blocked)
		coll_no_memory(op->c);
	else
		ret = go(&e, r);
	free(r);
	free(e.next);
	free(e.blocked);
	return ret;
}

static int applies(const struct coll_op *op)
{
	return op->kind == COLL_GATHER || op->kind == COLL_SCATTER ||
	       op->kind == COLL_ALL_TO_ALL;
}

const struct coll_algo coll_algo_exchange = {
	.name = "exchange",
	.order = COLL_ITS_OWN,
	.applies = applies,
	.run = run,
};
