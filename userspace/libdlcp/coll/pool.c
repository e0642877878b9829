// SPDX-License-Identifier: LGPL-2.1-or-later
/* Threads for tasks that may block. A task never waits for a thread. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "coll.h"

struct task {
	struct task	*next;
	void		(*fn)(void *arg);
	void		*arg;
};

struct coll_pool {
	pthread_mutex_t	lock;
	pthread_cond_t	changed;
	struct task	*first, **last;
	int		waiting;	/* tasks no thread has taken yet */
	int		idle;
	int		threads;
	int		stop;
};

struct coll_pool *coll_pool_new(void)
{
	struct coll_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->changed, NULL);
	pool->last = &pool->first;
	return pool;
}

/* With the lock held */
static struct task *take(struct coll_pool *pool)
{
	struct task *task = pool->first;

	pool->first = task->next;
	if (!pool->first)
		pool->last = &pool->first;
	pool->waiting--;
	return task;
}

static void *work(void *arg)
{
	struct coll_pool *pool = arg;
	struct task *task;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		pool->idle++;
		while (!pool->first && !pool->stop)
			pthread_cond_wait(&pool->changed, &pool->lock);
		pool->idle--;
		if (!pool->first)
			break;
		task = take(pool);
		pthread_mutex_unlock(&pool->lock);
		task->fn(task->arg);
		free(task);
		pthread_mutex_lock(&pool->lock);
	}
	pool->threads--;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* With the lock held. Signals are for the program's own threads. */
static int add_thread(struct coll_pool *pool)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, COLL_STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, work, pool);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		pool->threads++;
	return err;
}

int coll_pool_run(struct coll_pool *pool, void (*fn)(void *arg), void *arg)
{
	struct task *task = malloc(sizeof(*task));
	int err = 0;

	if (!task)
		return ENOMEM;
	*task = (struct task){ .fn = fn, .arg = arg };
	pthread_mutex_lock(&pool->lock);
	if (pool->idle <= pool->waiting)
		err = add_thread(pool);
	if (!err) {
		*pool->last = task;
		pool->last = &task->next;
		pool->waiting++;
		pthread_cond_signal(&pool->changed);
	}
	pthread_mutex_unlock(&pool->lock);
	if (err)
		free(task);
	return err;
}

void coll_pool_free(struct coll_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = 1;
	pthread_cond_broadcast(&pool->changed);
	while (pool->threads)
		pthread_cond_wait(&pool->changed, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	pthread_cond_destroy(&pool->changed);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}
