// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What operations need of servers: ranks that keep a tensor, whether they work or
 * serve alone. server.c has what only dedicated servers do.
 */
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

int coll_notify_servers(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	struct coll_head head;
	struct coll_out out = {
		.buf = &head, .len = sizeof(head), .half = COLL_HEAD,
	};
	int i;

	coll_make_head(op, &head);
	for (i = c->workers; i < c->world; i++)
		if (coll_send_all(op, i, &out))
			return -1;
	return 0;
}

int coll_wait_begun(struct coll_op *op, int from)
{
	pthread_mutex_lock(&op->lock);
	while (op->waiting[from] == COLL_NOT_BEGUN && !coll_failed(op->c))
		pthread_cond_wait(&op->changed, &op->lock);
	pthread_mutex_unlock(&op->lock);
	return coll_failed(op->c) ? -1 : 0;
}
