// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What may be sent to a rank before it is certain that it will be read.
 *
 * Nobody reads what belongs to an operation that it has not begun, and of the
 * reducing half no more chunks than the window holds, while others' are missing.
 * What is not read stays in the buffers of the connection, which all operations
 * share. Were these full of it, an older operation had no way through, for which
 * that rank itself, or the one whose chunks are missing, may be waiting: for ever.
 *
 * So every rank that is sent data sends a head (COLL_HEAD), which says that it
 * has begun; and who reduced a chunk sends that chunk's place in the spreading
 * half, of which there is an empty one for this if the operation has no such half
 * (parts.c). What was not announced so may take some of the buffers, but not all
 * of them: in most cases nothing ever waits. Small operations (algo_small.c), whose
 * data are in the head, and heads are limited by the number of operations.
 */
#include "coll.h"

/* Operations of a rank that run at a time: heads take room, too */
#define MOST_OPS	256

/* --- how many operations run */

/* Older operations that run, or @most if there are more. @small: those of one round */
static int older(const struct coll_op *op, int small, int most)
{
	const struct coll_op *o;
	int n = 0;

	for (o = op->next; o && n < most; o = o->next)
		n += small ? o->algo->one_round : !o->algo->pairwise;
	return n;
}

static int is_turn(const struct coll_op *op)
{
	int small = op->c->most_small;

	return older(op, 0, MOST_OPS) < MOST_OPS &&
	       (!op->algo->one_round || older(op, 1, small) < small);
}

/* The oldest that is not over anywhere waits for nobody here */
void coll_eager_wait(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;

	pthread_mutex_lock(&c->lock);
	while (!c->error && !is_turn(op))
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

/* --- how much of one */

/* With the operation's lock held, from here on */
static int is_read(const struct coll_op *op, const struct coll_eager *a,
		   const struct coll_out *out)
{
	return a->begun && (out->half != COLL_REDUCE ||
			    op->algo->streams ||
			    out->chunk < a->reduced + COLL_WINDOW);
}

static int take(struct coll_link *link, size_t len)
{
	if (__atomic_add_fetch(&link->ahead, len, __ATOMIC_RELAXED) <=
	    link->most_eager)
		return 1;
	__atomic_sub_fetch(&link->ahead, len, __ATOMIC_RELAXED);
	return 0;
}

static void give_back(struct coll_op *op, int to, size_t len)
{
	struct coll_eager *a = &op->ahead[to];

	len = len < a->bytes ? len : a->bytes;
	a->bytes -= len;
	__atomic_sub_fetch(&op->c->links[to].ahead, len, __ATOMIC_RELAXED);
}

/* All that it was sent will be read */
static void look_again(struct coll_op *op, int to)
{
	struct coll_eager *a = &op->ahead[to];

	if (a->begun && (op->algo->streams ||
			 a->sent <= a->reduced + COLL_WINDOW))
		give_back(op, to, a->bytes);
}

int coll_eager_may_send(struct coll_op *op, int to, const struct coll_out *out,
			size_t *taken)
{
	struct coll_eager *a = &op->ahead[to];
	int ret = 1;

	*taken = 0;
	if (out->half == COLL_HEAD)
		return 1;
	pthread_mutex_lock(&op->lock);
	if (!is_read(op, a, out)) {
		ret = take(&op->c->links[to], out->len);
		if (ret) {
			*taken = out->len;
			a->bytes += out->len;
		}
	}
	if (ret && out->half == COLL_REDUCE && a->sent <= out->chunk)
		a->sent = out->chunk + 1;
	pthread_mutex_unlock(&op->lock);
	return ret;
}

void coll_eager_not_sent(struct coll_op *op, int to, size_t taken)
{
	pthread_mutex_lock(&op->lock);
	give_back(op, to, taken);
	pthread_mutex_unlock(&op->lock);
}

void coll_eager_begun(struct coll_op *op, int from)
{
	pthread_mutex_lock(&op->lock);
	op->ahead[from].begun = 1;
	look_again(op, from);
	pthread_mutex_unlock(&op->lock);
	coll_op_kick(op);
}

void coll_eager_reduced(struct coll_op *op, int from, uint32_t chunks)
{
	pthread_mutex_lock(&op->lock);
	op->ahead[from].reduced = chunks;
	look_again(op, from);
	pthread_mutex_unlock(&op->lock);
	coll_op_kick(op);
}

void coll_eager_end(struct coll_op *op)
{
	int i;

	pthread_mutex_lock(&op->lock);
	for (i = 0; i < op->c->world; i++)
		give_back(op, i, op->ahead[i].bytes);
	pthread_mutex_unlock(&op->lock);
}
