// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The servers' side of push and pull, and dedicated servers: these start every
 * operation that the first worker's head announces, in the numbers that only
 * operations with servers have.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

/* Older operations come later in the list. With the group's lock held */
static int older_one_runs(const struct coll_op *op)
{
	const struct coll_op *o;

	for (o = op->next; o; o = o->next)
		if (o->tensor == op->tensor &&
		    (o->kind == COLL_PUSH ||
		     (o->kind == COLL_PULL && op->kind == COLL_PUSH)))
			return 1;
	return 0;
}

int coll_served_wait(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;

	pthread_mutex_lock(&c->lock);
	while (!c->error && older_one_runs(op))
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return coll_failed(c) ? -1 : 0;
}

void coll_served_update(struct coll_op *op, size_t first, const void *grad,
			void *value, size_t n)
{
	struct dlcp_coll *c = op->c;

	if (c->update)
		c->update(c->update_ctx, op->tensor->id, first, grad, value, n,
			  op->dtype);
	else
		memcpy(value, grad, n * op->size);
}

DLCP_API void dlcp_coll_set_update(struct dlcp_coll *coll,
				   dlcp_coll_update_fn *update, void *ctx)
{
	coll->update = update;
	coll->update_ctx = ctx;
}

/* Workers say that they leave, servers hear it from all */
int coll_run_bye(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	struct coll_head head;
	struct coll_out out = {
		.buf = &head, .len = sizeof(head), .half = COLL_HEAD,
	};
	int i, ret = 0;

	coll_make_head(op, &head);
	for (i = 0; i < c->world && !ret; i++) {
		if (c->rank < c->workers && i >= c->workers)
			ret = coll_send_all(op, i, &out);
		if (c->rank >= c->workers && i < c->workers)
			ret = coll_recv_head(op, i, &head, 0);
	}
	return ret;
}

/* Look at the head of the next operation. Return: 0, or -1: it has failed */
static int next_head(struct dlcp_coll *c, struct coll_head *head)
{
	uint32_t nr = (c->next[1] & (COLL_SERVED - 1)) | COLL_SERVED;
	struct dlcp_want want = dlcp_want_key(coll_key(nr, COLL_HEAD, 0));
	struct dlcp_receipt r = { .eof = 0 };
	ssize_t n;

	do
		n = dlcp_recv(c->links[0].fd, &want, head, sizeof(*head),
			      MSG_PEEK, &r);
	while (n >= 0 && !r.eof && !r.msg.complete);
	if (n < 0 || r.eof)
		n = coll_lost(c, 0, n < 0 ? errno : 0);
	else if ((size_t)n != sizeof(*head))
		n = coll_fail(c, EBADMSG, "rank 0 sent a short head");
	dlcp_receipt_free(&r);
	return n < 0 ? -1 : 0;
}

static struct coll_op *op_from_head(struct dlcp_coll *c,
				    const struct coll_head *head)
{
	struct dlcp_coll_args args = {
		.tensor = le64toh(head->tensor),
		.reduce = head->reduce,
		.algo = head->algo,
		.correct = head->correct,
		.prio = (uint8_t)le32toh(head->prio),
		.loss2_ppm = le32toh(head->loss2_ppm),
		.resync_every = le32toh(head->resync_every),
	};
	struct coll_op *op;

	if (!coll_dtype_size(head->dtype) ||
	    (head->kind != COLL_ALL_REDUCE && head->kind != COLL_PUSH &&
	     head->kind != COLL_PULL && head->kind != COLL_BYE)) {
		coll_fail(c, EBADMSG, "rank 0 asks its servers for nonsense");
		return NULL;
	}
	op = coll_op_new(c, head->kind, le64toh(head->count), head->dtype,
			 &args);
	if (!op || !args.tensor)
		return op;
	op->tensor = coll_tensor_get(c, args.tensor);
	if (op->tensor)
		return op;
	coll_op_free(op);
	return NULL;
}

static void wait_all(struct dlcp_coll *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->ops)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

DLCP_API int dlcp_coll_serve(struct dlcp_coll *coll)
{
	struct dlcp_coll_handle *handle;
	struct coll_head head;
	struct coll_op *op;
	int bye, failed = 0;

	if (coll->rank < coll->workers)
		return dlcp__fail(EINVAL, "rank %d is not a dedicated server",
				  coll->rank);
	do {
		if (next_head(coll, &head))
			break;
		op = op_from_head(coll, &head);
		if (!op) {
			coll_fail(coll, ENOMEM, "server %d", coll->rank);
			break;
		}
		bye = head.kind == COLL_BYE;
		op->run = bye ? coll_run_bye : coll_run_parts;
		op->detached = !bye;
		failed = coll_op_start(op, 1, bye ? NULL : &handle);
	} while (!bye && !failed);
	wait_all(coll);
	if (coll_failed(coll))
		return dlcp__fail(coll->error, "%s", coll->text);
	return failed;
}
