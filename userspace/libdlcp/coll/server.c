// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Dedicated servers. They listen to the heads of all operations of all workers, also
 * of those that need no server. So they see at once where workers do not agree. The
 * workers could not see it if one waits for a server and another for a worker. The
 * first head with a number begins the operation.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "coll.h"

/**
 * struct service - of a dedicated server
 * @c: the group
 * @starting: one thread begins an operation at a time
 * @lock: of what follows
 * @changed: it did
 * @listening: threads that listen to a worker
 */
struct service {
	struct dlcp_coll	*c;
	pthread_mutex_t		starting;
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	int			listening;
};

struct listener {
	struct service	*s;
	int		worker;
};

/* What a server does in an operation that needs none: it checks that all workers
 * mean the same
 */
static int run_witness(struct coll_op *op)
{
	int i;

	for (i = 0; i < op->c->workers; i++)
		if (coll_wait_begun(op, i))
			return -1;
	return 0;
}

static const struct coll_algo witness = {
	.name = "witness",
	.run = run_witness,
};

static int has_root(int kind)
{
	return kind == COLL_BROADCAST || kind == COLL_REDUCE_TO ||
	       kind == COLL_GATHER || kind == COLL_SCATTER;
}

/* The numbers index tables here, before any other rank's head disagrees: only what
 * a worker's own calls accept
 */
static int makes_sense(const struct dlcp_coll *c, const struct coll_head *head)
{
	const struct dlcp_coll_args args = {
		.reduce = head->reduce,
		.algo = head->algo,
		.correct = head->correct,
	};

	if (!head->kind || head->kind > COLL_BYE ||
	    !coll_dtype_size(head->dtype))
		return 0;
	if (head->dtype > COLL_LAST_DTYPE &&
	    (head->kind != COLL_ALL_REDUCE || head->reduce > DLCP_COLL_AVG))
		return 0;
	if (has_root(head->kind) && le32toh(head->root) >= (uint32_t)c->workers)
		return 0;
	if ((head->kind == COLL_PUSH || head->kind == COLL_PULL) &&
	    !head->tensor)
		return 0;
	return !coll_check_args(&args, coll_reduces(head->kind), head->dtype);
}

static struct coll_op *op_from_head(struct dlcp_coll *c, int from,
				    const struct coll_head *head)
{
	struct dlcp_coll_args args = {
		.tensor = le64toh(head->tensor),
		.reduce = head->reduce,
		.algo = head->algo,
		.correct = head->correct,
		.loss_ppm = head->bounded,	/* or not, which is all we hear */
	};
	struct coll_op *op;
	int i;

	op = coll_op_new(c, head->kind, le64toh(head->count), head->dtype,
			 &args);
	if (!op)
		return NULL;
	op->root = (int)le32toh(head->root);
	op->meant_by = from;
	op->detached = 1;
	for (i = 0; i < c->workers; i++)
		op->waiting[i] = COLL_NOT_BEGUN;
	coll_choose(op);
	if (!op->algo->served)
		op->algo = &witness;
	if (!op->algo->served || !args.tensor)
		return op;
	op->tensor = coll_tensor_get(c, args.tensor);
	if (op->tensor)
		return op;
	coll_op_free(op);
	return NULL;
}

/* Who is first with a number begins the operation. Return: 0 or -1 */
static int begin(struct service *s, int from, uint32_t nr,
		 const struct coll_head *head)
{
	struct dlcp_coll *c = s->c;
	struct dlcp_coll_handle *handle;
	struct coll_op *op;
	int ret = 0;

	pthread_mutex_lock(&s->starting);
	if (c->next == nr) {
		op = op_from_head(c, from, head);
		if (!op || coll_op_start(op, &handle))
			ret = coll_fail(c, errno, "server %d: %s", c->rank,
					dlcp_last_error());
	}
	pthread_mutex_unlock(&s->starting);
	return ret;
}

/* With the group's lock held */
static void note_begun(struct coll_op *op, int from,
		       const struct coll_head *head)
{
	pthread_mutex_lock(&op->lock);
	if (!from) {
		op->args.prio = (uint8_t)le32toh(head->prio);
		op->args.loss2_ppm = le32toh(head->loss2_ppm);
		op->args.resync_every = le32toh(head->resync_every);
	}
	coll_note_waiting(op, from, 0);
	pthread_cond_broadcast(&op->changed);
	pthread_mutex_unlock(&op->lock);
}

/* To the operation, which is there until it has heard of all or has failed */
static int hand_over(struct dlcp_coll *c, int from, uint32_t nr,
		     const struct coll_head *head)
{
	char text[200];
	struct coll_op *op;
	int differs = 0;

	pthread_mutex_lock(&c->lock);
	for (op = c->ops; op && op->nr != nr;)
		op = op->next;
	if (op)
		differs = coll_differs(op, from, head, text, sizeof(text));
	if (op && !differs)
		note_begun(op, from, head);
	pthread_mutex_unlock(&c->lock);
	if (differs)
		return coll_fail(c, EBADMSG, "%s", text);
	return op ? 0 : -1;
}

/* Return: 0, or -1: the group has failed */
static int hear(struct dlcp_coll *c, int from, uint32_t nr,
		struct coll_head *head)
{
	struct dlcp_want want = dlcp_want_key(coll_key(nr, COLL_HEAD, 0));
	struct dlcp_receipt r = { .eof = 0 };
	ssize_t n;
	int ret = 0;

	n = dlcp_recv(c->links[from].fd, &want, head, sizeof(*head), MSG_TRUNC,
		      &r);
	if (n < 0 || r.eof)
		ret = coll_lost(c, from, n < 0 ? errno : 0);
	else if ((size_t)n != sizeof(*head) || !makes_sense(c, head))
		ret = coll_foreign(c, from);
	dlcp_receipt_free(&r);
	return ret;
}

static void done_listening(struct service *s)
{
	pthread_mutex_lock(&s->lock);
	s->listening--;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* To what a worker begins, one operation after the other, until it leaves */
static void listen_to(void *arg)
{
	struct listener *l = arg;
	struct dlcp_coll *c = l->s->c;
	struct coll_head head = { .kind = 0 };
	uint32_t nr;

	for (nr = 0; head.kind != COLL_BYE; nr++)
		if (hear(c, l->worker, nr, &head) ||
		    begin(l->s, l->worker, nr, &head) ||
		    hand_over(c, l->worker, nr, &head))
			break;
	done_listening(l->s);
}

static void listen_to_all(struct service *s, struct listener *l)
{
	int i, err = 0;

	for (i = 0; i < s->c->workers && !err; i++) {
		l[i] = (struct listener){ s, i };
		pthread_mutex_lock(&s->lock);
		s->listening++;
		pthread_mutex_unlock(&s->lock);
		err = coll_pool_run(s->c->pool, listen_to, &l[i]);
		if (!err)
			continue;
		done_listening(s);
		coll_no_thread(s->c, err);
	}
	pthread_mutex_lock(&s->lock);
	while (s->listening)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
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
	struct service s = {
		.c = coll,
		.starting = PTHREAD_MUTEX_INITIALIZER,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	struct listener *l;

	if (coll_refuse_child(coll))
		return -1;
	if (coll->rank < coll->workers)
		return dlcp__fail(EINVAL, "rank %d is not a dedicated server: it serves while it works",
				  coll->rank);
	l = calloc((size_t)coll->workers, sizeof(*l));
	if (!l) {
		coll_no_memory(coll);
		return dlcp__no_memory();
	}
	listen_to_all(&s, l);
	wait_all(coll);
	free(l);
	pthread_cond_destroy(&s.changed);
	pthread_mutex_destroy(&s.lock);
	pthread_mutex_destroy(&s.starting);
	if (coll_failed(coll))
		return dlcp__fail(coll->error, "%s", coll->text);
	return 0;
}
