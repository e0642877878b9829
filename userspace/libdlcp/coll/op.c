// SPDX-License-Identifier: LGPL-2.1-or-later
/* An operation's life: made, started, run in a thread, over, waited for */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coll.h"

/* What the user waits for; only the name is public */
static struct coll_op *op_of(struct dlcp_coll_handle *handle)
{
	return (struct coll_op *)handle;
}

struct coll_op *coll_op_new(struct dlcp_coll *c, int kind, size_t count,
			    int dtype, const struct dlcp_coll_args *args)
{
	struct coll_op *op = calloc(1, sizeof(*op));

	if (op) {
		op->waiting = calloc(2 * (size_t)c->world, 1);
		op->ahead = calloc((size_t)c->world, sizeof(*op->ahead));
	}
	if (!op || !op->waiting || !op->ahead) {
		if (op) {
			free(op->waiting);
			free(op->ahead);
		}
		free(op);
		dlcp__no_memory();
		return NULL;
	}
	op->c = c;
	op->kind = kind;
	op->count = count;
	op->dtype = dtype;
	op->size = coll_dtype_size(dtype);
	op->sum_size = coll_dtype_sum_size(dtype);
	if (args)
		op->args = *args;
	op->meant_by = c->rank;
	op->event = -1;
	op->wake = -1;
	pthread_mutex_init(&op->lock, NULL);
	pthread_cond_init(&op->changed, NULL);
	return op;
}

void coll_op_free(struct coll_op *op)
{
	int err = errno;

	if (op->event >= 0)
		close(op->event);
	if (op->wake >= 0)
		close(op->wake);
	coll_buffer_put(op->c, op->copy, op->copy_len);
	pthread_cond_destroy(&op->changed);
	pthread_mutex_destroy(&op->lock);
	free(op->lost);
	free(op->blocks);
	free(op->waiting);
	free(op->ahead);
	free(op);
	errno = err;
}

/*
 * Place of this use among those of its kind: a pull that follows each push
 * would have even numbers only. With the group's lock held
 */
static void count_use(struct coll_op *op)
{
	if (op->tensor)
		op->use = ++op->tensor->uses[op->kind];
}

uint32_t coll_spread_ppm(const struct coll_op *op)
{
	if (op->args.resync_every && op->tensor &&
	    op->use % op->args.resync_every == 0)
		return 0;
	return op->args.loss2_ppm;
}

/* Dedicated servers know which worker is late, and so are the first to say it,
 * although they begin later
 */
static void set_deadline(struct coll_op *op)
{
	const struct dlcp_coll *c = op->c;
	uint64_t ms;

	op->timeout_ms = coll_timeout_ms(c);
	ms = (uint64_t)op->timeout_ms;
	if (c->rank >= c->workers)
		ms -= ms / 10;
	op->deadline = coll_now_ms() + ms;
}

static void add_to_list(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	int first;

	pthread_mutex_lock(&c->lock);
	if (op->algo->enlist)
		op->algo->enlist(op);
	else
		op->nr = c->next++;
	set_deadline(op);
	count_use(op);
	op->next = c->ops;
	/* the monitor sleeps until the nearest deadline, or for ever */
	first = !op->next || op->deadline < op->next->deadline;
	c->ops = op;
	pthread_mutex_unlock(&c->lock);
	if (first)
		coll_poke(c);
}

static void take_off_list(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	struct coll_op **at;

	pthread_mutex_lock(&c->lock);
	for (at = &c->ops; *at != op;)
		at = &(*at)->next;
	*at = op->next;
	c->stats.ops++;
	if (op->algo->delist)
		op->algo->delist(op);
	if (op->tensor && op->kind != COLL_PULL)
		op->tensor->busy = 0;
	pthread_cond_broadcast(&c->changed);
	op->error = c->error;
	memcpy(op->text, c->text, sizeof(op->text));
	pthread_mutex_unlock(&c->lock);
}

/* Run it, and be over. Handles may be freed by others from the unlock on.
 * Return: whether nobody else will.
 */
static int run(struct coll_op *op)
{
	int failed, detached;
	uint64_t one = 1;

	if (!op->algo->pairwise)
		coll_eager_wait(op);
	failed = op->algo->run(op);
	coll_eager_end(op);
	take_off_list(op);
	if (!failed)
		op->error = 0;
	pthread_mutex_lock(&op->lock);
	op->over = 1;
	detached = op->detached;
	if (op->event >= 0 && write(op->event, &one, sizeof(one)) < 0)
		op->error = errno;
	pthread_cond_broadcast(&op->changed);
	pthread_mutex_unlock(&op->lock);
	return detached;
}

static void run_in_pool(void *op)
{
	if (run(op))
		coll_op_free(op);
}

static int fail_as(const struct coll_op *op)
{
	return dlcp__fail(op->error, "%s", op->text);
}

/* Operations of one round have no other threads to wait for */
static int make_events(struct coll_op *op, int has_handle)
{
	if (!op->algo->one_round) {
		op->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (op->wake < 0)
			return dlcp__fail(errno, "eventfd");
	}
	if (has_handle) {
		op->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (op->event < 0)
			return dlcp__fail(errno, "eventfd");
	}
	return 0;
}

/* It never began, so its tensor is free for the next. Return: -1 */
static int give_back(struct coll_op *op)
{
	pthread_mutex_lock(&op->c->lock);
	if (op->tensor && op->kind != COLL_PULL)
		op->tensor->busy = 0;
	pthread_mutex_unlock(&op->c->lock);
	coll_op_free(op);
	return -1;
}

int coll_op_start(struct coll_op *op, struct dlcp_coll_handle **handle)
{
	int err = 0;

	if (make_events(op, handle && !op->detached))
		return give_back(op);
	add_to_list(op);
	if (handle) {
		*handle = (struct dlcp_coll_handle *)op;
		err = coll_pool_run(op->c->pool, run_in_pool, op);
		if (!err)
			return 0;
		coll_no_thread(op->c, err);
		*handle = NULL;
	}
	run(op);
	if (op->error)
		err = fail_as(op);
	else if (err)
		err = dlcp__no_thread(err);
	coll_op_free(op);
	return err;
}

/* With the lock held. Return: 0 when it is over */
static int wait_over(struct coll_op *op, int timeout_ms)
{
	uint64_t until = coll_now_ms();

	until += timeout_ms > 0 ? (uint64_t)timeout_ms : 0;
	while (!op->over) {
		if (timeout_ms < 0)
			pthread_cond_wait(&op->changed, &op->lock);
		else if (coll_wait_until(&op->changed, &op->lock, until))
			return op->over ? 0 : -1;
	}
	return 0;
}

DLCP_API int dlcp_coll_wait(struct dlcp_coll_handle *handle, int timeout_ms)
{
	struct coll_op *op = op_of(handle);
	int ret;

	if (coll_refuse_child(op->c))
		return -1;
	pthread_mutex_lock(&op->lock);
	ret = wait_over(op, timeout_ms);
	pthread_mutex_unlock(&op->lock);
	if (ret)
		return dlcp__fail(EAGAIN, "operation %u is not over in %d ms: wait again, or longer",
				  op->nr, timeout_ms);
	ret = op->error ? fail_as(op) : 0;
	coll_op_free(op);
	return ret;
}

DLCP_API int dlcp_coll_test(struct dlcp_coll_handle *handle)
{
	struct coll_op *op = op_of(handle);
	int over;

	if (op->c->inherited)
		return 1;
	pthread_mutex_lock(&op->lock);
	over = op->over;
	pthread_mutex_unlock(&op->lock);
	return over;
}

DLCP_API int dlcp_coll_source(const struct dlcp_coll_handle *handle)
{
	return ((const struct coll_op *)handle)->p2p.peer;
}

DLCP_API int dlcp_coll_fd(const struct dlcp_coll_handle *handle)
{
	return ((const struct coll_op *)handle)->event;
}
