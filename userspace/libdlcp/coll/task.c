// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tasks of an operation: functions that may block, each in a thread of the pool */
#include <unistd.h>

#include "coll.h"

void coll_op_kick(struct coll_op *op)
{
	uint64_t one = 1;

	if (write(op->wake, &one, sizeof(one)) < 0)
		return;	/* it is readable already */
}

int coll_op_task(struct coll_op *op, void (*fn)(void *arg), void *arg)
{
	int err;

	pthread_mutex_lock(&op->lock);
	op->tasks++;
	pthread_mutex_unlock(&op->lock);
	err = coll_pool_run(op->c->pool, fn, arg);
	if (!err)
		return 0;
	coll_op_task_done(op);
	return coll_no_thread(op->c, err);
}

void coll_op_task_done(struct coll_op *op)
{
	pthread_mutex_lock(&op->lock);
	op->tasks--;
	pthread_cond_broadcast(&op->changed);
	pthread_mutex_unlock(&op->lock);
}

int coll_op_join(struct coll_op *op)
{
	pthread_mutex_lock(&op->lock);
	while (op->tasks || (op->reports && !coll_failed(op->c)))
		pthread_cond_wait(&op->changed, &op->lock);
	pthread_mutex_unlock(&op->lock);
	return coll_failed(op->c) ? -1 : 0;
}
