// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations in which a tensor is cut into parts that have an owner each. In
 * the reducing half every rank sends every owner its contribution to the
 * owner's part. In the spreading half owners send their parts to all ranks.
 * If every rank is an owner this is the transpose; if one or a few are, the
 * parameter server. @layouts has the halves that each kind of operation has.
 *
 * A thread for each rank and half receives, chunk after chunk, the reducing half's
 * into a window; who brings a chunk its last contribution reduces it, in the order
 * of the ranks, so that the result does not depend on who was first. The thread of
 * the operation itself sends to all. Halves have threads of their own as neither
 * may fill the connection while it waits for the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

/**
 * struct parts - an operation of this kind
 * @op: the operation
 * @reducing: it has this half
 * @spreading: it has this half
 * @only_to: for this rank alone; -1: for all
 * @first_owner: and the following @nr_owners ranks own a part each
 * @nr_owners: see @first_owner
 * @total: elements of the whole
 * @equal: parts of exactly @total / @nr_owners
 * @chunk: elements of a chunk
 * @mine: our part; empty if we own none
 * @result: where the reduction of our part goes; NULL: to a server's update
 * @spread: what we send of our part
 * @spread_ppm: loss bound of that
 * @window: chunks that may be under way from one rank
 * @stage: @window chunks for each rank, @stride bytes each
 * @stage_len: bytes there
 * @stride: see @stage
 * @gaps: what is missing from them
 * @due: contributions to a chunk from others
 * @arrived: how many are there, for each place in the window
 * @ready: it is reduced, likewise
 * @reduced: chunks of our part that are
 * @next: for each rank and half, the next chunk to send it
 * @blocked: ranks that have no room
 */
struct parts {
	struct coll_op		*op;
	int			reducing;
	int			spreading;
	int			only_to;
	int			first_owner;
	int			nr_owners;
	size_t			total;
	int			equal;
	size_t			chunk;
	struct coll_part	mine;
	char			*result;
	const char		*spread;
	uint32_t		spread_ppm;
	size_t			window;
	char			*stage;
	size_t			stage_len;
	size_t			stride;
	struct coll_gaps	*gaps;
	int			due;
	int			arrived[COLL_WINDOW];
	int			ready[COLL_WINDOW];
	size_t			reduced;
	uint32_t		*next[2];
	uint8_t			*blocked;
};

/**
 * struct layout - what distinguishes kinds of operations
 * @spreads: owners send their parts
 * @to_root: to the root alone, and not to all workers
 * @root_owns: the root owns the whole tensor; else servers or all workers do
 * @equal: the count of the call is that of a part, and not of the whole tensor
 *
 * Those of coll_reduces() have the reducing half: all workers contribute.
 */
struct layout {
	uint8_t	spreads;
	uint8_t	to_root;
	uint8_t	root_owns;
	uint8_t	equal;
};

static const struct layout layouts[COLL_BYE] = {
	[COLL_ALL_REDUCE]	= { .spreads = 1 },
	[COLL_REDUCE_TO]	= { .spreads = 1, .to_root = 1 },
	[COLL_REDUCE_SCATTER]	= { .equal = 1 },
	[COLL_ALL_GATHER]	= { .spreads = 1, .equal = 1 },
	[COLL_BROADCAST]	= { .spreads = 1, .root_owns = 1 },
	[COLL_PUSH]		= { .spreads = 0 },
	[COLL_PULL]		= { .spreads = 1 },
};

struct receiver {
	struct parts	*p;
	int		from;
};

static struct coll_part part_of(const struct parts *p, int rank)
{
	struct coll_part part = { 0, 0 };
	int i = rank - p->first_owner;

	if (i < 0 || i >= p->nr_owners)
		return part;
	if (!p->equal)
		return coll_cut(p->total, p->op->size, i, p->nr_owners);
	part.n = p->total / (size_t)p->nr_owners;
	part.first = (size_t)i * part.n;
	return part;
}

static int owns(const struct parts *p, int rank)
{
	return rank >= p->first_owner && rank < p->first_owner + p->nr_owners;
}

/* Dedicated servers neither contribute nor receive */
static int works(const struct parts *p, int rank)
{
	return rank < p->op->c->workers;
}

static size_t chunks_of(const struct parts *p, int rank)
{
	return coll_nr_chunks(part_of(p, rank).n, p->chunk);
}

/* Does @to get data in this half? */
static int spreads_to(const struct parts *p, int to)
{
	return p->spreading && (p->only_to < 0 || p->only_to == to);
}

/* With no other half, contributors to a part that is longer than the window still
 * hear of each chunk that it is reduced: by an empty one
 */
static int acknowledges(const struct parts *p, int owner, int to)
{
	return !spreads_to(p, to) && p->reducing &&
	       chunks_of(p, owner) > COLL_WINDOW;
}

/* Does @from send @to anything of one half? */
static int reduces(const struct parts *p, int from, int to)
{
	return from != to && p->reducing && works(p, from) && owns(p, to);
}

static int spreads(const struct parts *p, int from, int to)
{
	return from != to && owns(p, from) && works(p, to) &&
	       (spreads_to(p, to) || acknowledges(p, from, to));
}

static int sends(const struct parts *p, int from, int to)
{
	return reduces(p, from, to) || spreads(p, from, to);
}

/*
 * A rank that gets data says that it reads it (eager.c). One that sends none
 * says what it means: to dedicated servers, which hear of every operation from
 * all; where they have no part, to the next rank too, as in a ring. If not all
 * mean the same, two neighbours do not, and one of them sees it.
 */
static int tells(const struct parts *p, int from, int to)
{
	int served = !works(p, p->first_owner);

	if (sends(p, from, to) || sends(p, to, from))
		return 1;
	if (!works(p, from) || from == to)
		return 0;
	return !works(p, to) ||
	       (!served && to == (from + 1) % p->op->c->workers);
}

static size_t chunk_len(const struct parts *p, size_t part, size_t c)
{
	size_t left = part - c * p->chunk;

	return left < p->chunk ? left : p->chunk;
}

static char *stage_of(const struct parts *p, int rank, size_t c)
{
	return p->stage + ((size_t)rank * p->window + c % p->window) * p->stride;
}

static struct coll_gaps *gaps_of(const struct parts *p, int rank, size_t c)
{
	return &p->gaps[(size_t)rank * p->window + c % p->window];
}

/* --- reducing a chunk */

/* How many contributions are there to element @at of a chunk, and up to where
 * does this hold?
 */
static unsigned int present(const struct parts *p, size_t c, size_t at,
			    size_t *end)
{
	const struct coll_gaps *gaps;
	const struct coll_gap *g;
	unsigned int n = 0;
	size_t i;
	int r;

	for (r = 0; r < p->op->c->workers; r++) {
		n++;
		if (r == p->op->c->rank)
			continue;
		gaps = gaps_of(p, r, c);
		for (i = 0; i < gaps->nr; i++) {
			g = &gaps->gap[i];
			if (at >= g->first + g->n)
				continue;
			if (at >= g->first)
				n--;
			if (at >= g->first && g->first + g->n < *end)
				*end = g->first + g->n;
			else if (at < g->first && g->first < *end)
				*end = g->first;
			break;
		}
	}
	return n;
}

static void reduce_run(const struct parts *p, size_t c, size_t at, size_t n,
		       char *dst, unsigned int num, unsigned int den)
{
	const void *src[COLL_MAX_WORLD];
	const struct coll_op *op = p->op;
	unsigned int nr = 0;
	size_t first = p->mine.first + c * p->chunk + at;
	int r;

	for (r = 0; r < op->c->workers; r++)
		src[nr++] = r == op->c->rank ? op->source + first * op->size :
				stage_of(p, r, c) + at * op->size;
	coll_reduce(op->dtype, op->args.reduce,
		    dst + at * op->sum_size, src, nr, n, num, den);
}

static void reduce_into(const struct parts *p, size_t c, char *dst)
{
	unsigned int world = (unsigned int)p->op->c->workers, num = 1, den = 1;
	size_t n = chunk_len(p, p->mine.n, c), at, end;
	int average = p->op->args.reduce == DLCP_COLL_AVG;

	if (p->op->args.correct != DLCP_COLL_AVERAGE) {
		reduce_run(p, c, 0, n, dst, 1, average ? world : 1);
		return;
	}
	for (at = 0; at < n; at = end) {
		end = n;
		den = present(p, c, at, &end);
		num = average ? 1 : world;
		reduce_run(p, c, at, end - at, dst, den ? num : 0,
			   den ? den : 1);
	}
}

static int reduce_chunk(struct parts *p, size_t c)
{
	struct coll_op *op = p->op;
	size_t n = chunk_len(p, p->mine.n, c), first = c * p->chunk;
	char *dst;

	if (p->result) {
		reduce_into(p, c, p->result + first * op->sum_size);
		return 0;
	}
	dst = malloc(n * op->size);
	if (!dst)
		return coll_no_memory(op->c);
	reduce_into(p, c, dst);
	coll_served_update(op, p->mine.first + first, dst,
			   (char *)op->tensor->value + first * op->size, n);
	free(dst);
	return 0;
}

/* --- receiving */

static int wait_window(struct parts *p, size_t c)
{
	struct coll_op *op = p->op;

	pthread_mutex_lock(&op->lock);
	while (c >= p->reduced + p->window && !coll_failed(op->c))
		pthread_cond_wait(&op->changed, &op->lock);
	pthread_mutex_unlock(&op->lock);
	return coll_failed(op->c) ? -1 : 0;
}

/* A contribution to chunk @c is here */
static int arrive(struct parts *p, size_t c)
{
	struct coll_op *op = p->op;
	size_t slot = c % p->window;
	int last;

	pthread_mutex_lock(&op->lock);
	last = ++p->arrived[slot] == p->due;
	pthread_mutex_unlock(&op->lock);
	if (!last)
		return 0;
	if (reduce_chunk(p, c))
		return -1;
	pthread_mutex_lock(&op->lock);
	p->arrived[slot] = 0;
	p->ready[slot] = 1;
	while (p->ready[p->reduced % p->window]) {
		p->ready[p->reduced % p->window] = 0;
		p->reduced++;
	}
	pthread_cond_broadcast(&op->changed);
	pthread_mutex_unlock(&op->lock);
	coll_op_kick(op);
	return 0;
}

static int receive_reducing(struct parts *p, int from)
{
	size_t c, n = coll_nr_chunks(p->mine.n, p->chunk);

	for (c = 0; c < n; c++)
		if (wait_window(p, c) ||
		    coll_recv(p->op, from, &(struct coll_in){
				.half = COLL_REDUCE, .chunk = (uint32_t)c,
				.buf = stage_of(p, from, c),
				.len = chunk_len(p, p->mine.n, c) * p->op->size,
				.first = p->mine.first + c * p->chunk,
				.gaps = gaps_of(p, from, c) }) ||
		    arrive(p, c))
			return -1;
	return 0;
}

static int spread_from(struct parts *p, int from)
{
	struct coll_part part = part_of(p, from);
	size_t c, n = coll_nr_chunks(part.n, p->chunk);
	struct coll_gaps gaps = { 0 };
	struct coll_in in = { .half = COLL_SPREAD, .keep = 1, .gaps = &gaps };
	int ret = 0;

	for (c = 0; c < n && !ret; c++) {
		in.chunk = (uint32_t)c;
		in.first = part.first + c * p->chunk;
		if (spreads_to(p, p->op->c->rank)) {
			in.buf = (char *)p->op->out + in.first * p->op->sum_size;
			in.len = chunk_len(p, part.n, c) * p->op->sum_size;
		}
		ret = coll_recv(p->op, from, &in);
		if (!ret && reduces(p, p->op->c->rank, from))
			coll_eager_reduced(p->op, from, (uint32_t)c + 1);
	}
	free(gaps.gap);
	return ret;
}

static void receive_spreading(void *arg)
{
	struct receiver *r = arg;

	spread_from(r->p, r->from);
	coll_op_task_done(r->p->op);
}

/* Dedicated servers have others listen for heads (server.c) */
static int wait_head(const struct parts *p, int from)
{
	struct coll_head head;

	return works(p, p->op->c->rank) ?
	       coll_recv_head(p->op, from, &head, 0) :
	       coll_wait_begun(p->op, from);
}

static void receive(void *arg)
{
	struct receiver *r = arg;
	struct parts *p = r->p;
	int me = p->op->c->rank;

	if (wait_head(p, r->from))
		goto out;
	coll_eager_begun(p->op, r->from);
	if (!reduces(p, r->from, me)) {
		if (spreads(p, r->from, me))
			spread_from(p, r->from);
		goto out;
	}
	if (!spreads(p, r->from, me) ||
	    !coll_op_task(p->op, receive_spreading, r))
		receive_reducing(p, r->from);
out:
	coll_op_task_done(p->op);
}

/* --- sending */

static int send_heads(struct parts *p)
{
	struct dlcp_coll *c = p->op->c;
	struct coll_head head;
	struct coll_out out = {
		.buf = &head, .len = sizeof(head), .half = COLL_HEAD,
	};
	int i, to;

	coll_make_head(p->op, &head);
	for (i = 1; i < c->world; i++) {
		to = (c->rank + i) % c->world;
		if (tells(p, c->rank, to) && coll_send_all(p->op, to, &out))
			return -1;
	}
	return 0;
}

/* The next chunk of one half for one rank, if there is one to be had now.
 * Return: 1 sent, 0 not, -1 failed
 */
static int send_next(struct parts *p, int to, int spread)
{
	struct coll_part part = spread ? p->mine : part_of(p, to);
	uint32_t *next = &p->next[spread][to];
	size_t c = *next, first = c * p->chunk;
	struct coll_out out = {
		.half = spread ? COLL_SPREAD : COLL_REDUCE,
		.chunk = (uint32_t)c,
		.loss_ppm = spread ? p->spread_ppm : p->op->args.loss_ppm,
		.first = part.first + first,
	};
	int ret;

	if (spread && !spreads_to(p, to)) {
		out.buf = "";
	} else if (spread) {
		out.len = chunk_len(p, part.n, c) * p->op->sum_size;
		out.buf = p->spread + first * p->op->sum_size;
	} else {
		out.len = chunk_len(p, part.n, c) * p->op->size;
		out.buf = p->op->source + out.first * p->op->size;
	}
	ret = coll_send(p->op, to, &out);
	if (ret == COLL_NOT_YET)
		return 0;
	if (ret > 0)
		++*next;
	else if (!ret)
		p->blocked[to] = 1;
	return ret;
}

/* Chunks of each half that rank @to shall have from us, and that exist */
static size_t goal(const struct parts *p, int to, int spread, size_t reduced)
{
	int me = p->op->c->rank;

	if (spread && spreads(p, me, to))
		return p->reducing ? reduced : chunks_of(p, me);
	if (!spread && reduces(p, me, to))
		return chunks_of(p, to);
	return 0;
}

/* One chunk for everybody who has room. Return: chunks sent, or -1 */
static int send_round(struct parts *p, int *left)
{
	struct dlcp_coll *c = p->op->c;
	size_t reduced, all = coll_nr_chunks(p->mine.n, p->chunk);
	int i, to, spread, ret, sent = 0;

	pthread_mutex_lock(&p->op->lock);
	reduced = p->reduced;
	pthread_mutex_unlock(&p->op->lock);
	*left = 0;
	for (i = 1; i < c->world; i++) {
		to = (c->rank + i) % c->world;
		p->blocked[to] = 0;
		for (spread = 0; spread < 2 && !p->blocked[to]; spread++) {
			if (p->next[spread][to] < goal(p, to, spread, reduced)) {
				ret = send_next(p, to, spread);
				if (ret < 0)
					return -1;
				sent += ret;
			}
		}
		*left += p->next[0][to] < goal(p, to, 0, all) ||
			 p->next[1][to] < goal(p, to, 1, all);
	}
	return sent;
}

static int send_parts(struct parts *p)
{
	int left, sent;

	do {
		sent = send_round(p, &left);
		if (sent < 0)
			return -1;
		if (!sent && left && coll_wait_room(p->op, p->blocked))
			return -1;
	} while (left);
	return 0;
}

/* --- all of it */

static int start_receivers(struct parts *p, struct receiver *r)
{
	struct dlcp_coll *c = p->op->c;
	int i;

	for (i = 0; i < c->world; i++) {
		r[i] = (struct receiver){ p, i };
		if (tells(p, i, c->rank) &&
		    coll_op_task(p->op, receive, &r[i]))
			return -1;
	}
	return 0;
}

/* Our own part, where nobody sends it to us */
static void copy_own(struct parts *p)
{
	struct coll_op *op = p->op;
	char *to;

	if (!spreads_to(p, op->c->rank) || !works(p, op->c->rank) || !p->mine.n)
		return;
	to = (char *)op->out + p->mine.first * op->sum_size;
	if (p->spread != to)
		memcpy(to, p->spread, p->mine.n * op->sum_size);
}

/* With one worker nothing has to arrive */
static int reduce_alone(struct parts *p)
{
	size_t n = coll_nr_chunks(p->mine.n, p->chunk);

	if (!p->reducing || p->due)
		return 0;
	for (p->reduced = 0; p->reduced < n; p->reduced++)
		if (reduce_chunk(p, p->reduced))
			return -1;
	return 0;
}

static int go(struct parts *p, struct receiver *r)
{
	int ret = -1, joined;

	if (!p->reducing)
		copy_own(p);
	if (!reduce_alone(p) && !start_receivers(p, r) && !send_heads(p) && !send_parts(p))
		ret = 0;
	joined = coll_op_join(p->op);
	if (ret || joined)
		return -1;
	if (p->reducing)
		copy_own(p);
	return coll_feedback_end(p->op);
}

static int prepare(struct parts *p)
{
	struct coll_op *op = p->op;
	struct dlcp_coll *c = op->c;
	size_t chunks = coll_nr_chunks(p->mine.n, p->chunk);
	size_t world = (size_t)c->world;

	p->window = chunks < COLL_WINDOW ? chunks + !chunks : COLL_WINDOW;
	p->due = c->workers - works(p, c->rank);
	if (p->reducing && p->mine.n) {
		p->stride = chunk_len(p, p->mine.n, 0) * op->size;
		p->stage_len = world * p->window * p->stride;
		p->stage = coll_buffer_get(c, p->stage_len);
	}
	p->gaps = calloc(world * p->window, sizeof(*p->gaps));
	p->next[0] = calloc(world, sizeof(uint32_t));
	p->next[1] = calloc(world, sizeof(uint32_t));
	p->blocked = calloc(world, 1);
	if (!p->gaps || !p->next[0] || !p->next[1] || !p->blocked ||
	    (p->reducing && p->mine.n && !p->stage))
		return coll_no_memory(c);
	return 0;
}

static void clean_up(struct parts *p)
{
	size_t i;

	for (i = 0; p->gaps && i < (size_t)p->op->c->world * p->window; i++)
		free(p->gaps[i].gap);
	coll_buffer_put(p->op->c, p->stage, p->stage_len);
	free(p->gaps);
	free(p->next[0]);
	free(p->next[1]);
	free(p->blocked);
}

/* Which rank owns which part, and where the result goes */
static void lay_out(struct parts *p)
{
	struct coll_op *op = p->op;
	const struct layout *l = &layouts[op->kind];
	struct dlcp_coll *c = op->c;
	int served = op->algo->served;

	p->reducing = coll_reduces(op->kind);
	p->only_to = l->to_root ? op->root : -1;
	p->spreading = l->spreads;
	p->equal = l->equal;
	p->nr_owners = served ? c->options.nr_servers : c->workers;
	p->first_owner = served && c->options.dedicated ? c->workers : 0;
	p->total = op->count * (p->equal ? (size_t)c->workers : 1);
	if (l->root_owns) {
		p->first_owner = op->root;
		p->nr_owners = 1;
	}
	p->chunk = coll_chunk_elems(op);
	p->mine = part_of(p, c->rank);
	p->spread_ppm = coll_spread_ppm(op);
}

/* It is not what the server has: all mean it, or else that is said first */
static int fail_value(struct parts *p)
{
	struct coll_op *op = p->op;
	const struct coll_tensor *t = op->tensor;
	int i;

	if (send_heads(p))
		return -1;
	for (i = 0; i < op->c->workers; i++)
		if (tells(p, i, op->c->rank) && wait_head(p, i))
			return -1;
	if (!t->value)
		return coll_fail(op->c, EINVAL,
				 "tensor %llu was not pushed before it is pulled: push it first",
				 (unsigned long long)t->id);
	return coll_fail(op->c, EINVAL,
			 "tensor %llu was pushed as %zu %s, and is %s as %zu %s",
			 (unsigned long long)t->id, t->value_count,
			 coll_dtype_name(t->value_dtype),
			 op->kind == COLL_PULL ? "pulled" : "pushed now",
			 op->count, coll_dtype_name(op->dtype));
}

static int new_value(struct coll_op *op, size_t len)
{
	struct coll_tensor *t = op->tensor;

	t->value = calloc(1, len + !len);
	t->value_dtype = op->dtype;
	t->value_count = op->count;
	return t->value ? 0 : coll_no_memory(op->c);
}

static int server_value(struct parts *p)
{
	struct coll_op *op = p->op;
	struct coll_tensor *t = op->tensor;

	if ((op->kind != COLL_PUSH && op->kind != COLL_PULL) ||
	    !owns(p, op->c->rank))
		return 0;
	if (coll_served_wait(op))
		return -1;
	if (!t->value && op->kind == COLL_PUSH)
		return new_value(op, p->mine.n * op->size);
	if (!t->value || t->value_dtype != op->dtype ||
	    t->value_count != op->count)
		return fail_value(p);
	if (op->kind == COLL_PULL)
		p->spread = t->value;
	return 0;
}

/* Return: memory to be freed, in *@own, where a server has no output */
static int find_buffers(struct parts *p, char **own)
{
	struct coll_op *op = p->op;
	char *at = op->out ? (char *)op->out + p->mine.first * op->sum_size :
			     NULL;

	*own = NULL;
	switch (op->kind) {
	case COLL_ALL_REDUCE:
	case COLL_REDUCE_TO:
		if (!works(p, op->c->rank) || !spreads_to(p, op->c->rank))
			at = *own = malloc(p->mine.n * op->sum_size + 1);
		if (!at && p->mine.n)
			return coll_no_memory(op->c);
		p->result = at;
		p->spread = at;
		break;
	case COLL_REDUCE_SCATTER:
		p->result = op->out;
		break;
	case COLL_ALL_GATHER:
		p->spread = op->in;
		break;
	case COLL_BROADCAST:
		p->spread = op->out;
		break;
	}
	return 0;
}

int coll_run_parts(struct coll_op *op)
{
	struct parts p = { .op = op };
	struct receiver *r = calloc((size_t)op->c->world, sizeof(*r));
	char *own = NULL;
	int ret = -1;

	/* a dedicated server has its bounds from rank 0's head */
	if (op->c->rank >= op->c->workers && coll_wait_begun(op, 0)) {
		free(r);
		return -1;
	}
	lay_out(&p);
	if (!r)
		coll_no_memory(op->c);
	else if (!server_value(&p) && !find_buffers(&p, &own) && !prepare(&p) &&
		 (!p.reducing || !works(&p, op->c->rank) ||
		  !coll_feedback_begin(op, p.total)))
		ret = go(&p, r);
	clean_up(&p);
	free(own);
	free(r);
	return ret;
}
