// SPDX-License-Identifier: LGPL-2.1-or-later
/* The calls of dlcp_coll.h: arguments are checked here and nowhere else */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coll.h"

#define TIMEOUT_MS	30000
#define CHUNK_BYTES	(1 << 20)
#define SMALL_BYTES	8192

static int env_int(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long n;

	if (!text || !*text)
		return -1;
	n = strtol(text, &end, 10);
	return *end || n < 0 || n > COLL_MAX_WORLD ? -1 : (int)n;
}

DLCP_API void dlcp_coll_options_init_sized(struct dlcp_coll_options *options,
					   size_t size)
{
	memset(options, 0, size);
	options->size = size;
	if (size < sizeof(*options))
		return;		/* dlcp_coll_open() says what is wrong */
	options->rank = env_int("RANK");
	options->world = env_int("WORLD_SIZE");
	options->master_addr = getenv("MASTER_ADDR");
	options->master_port = getenv("MASTER_PORT");
	options->timeout_ms = TIMEOUT_MS;
	options->chunk_bytes = CHUNK_BYTES;
	options->small_bytes = SMALL_BYTES;
}

static int check_options(struct dlcp_coll_options *o)
{
	if (o->world < 1 || o->world > COLL_MAX_WORLD)
		return dlcp__fail(EINVAL, "a group of %d ranks: WORLD_SIZE is 1 to %d",
				  o->world, COLL_MAX_WORLD);
	if (o->rank < 0 || o->rank >= o->world)
		return dlcp__fail(EINVAL, "rank %d of %d: RANK is 0 to %d", o->rank,
				  o->world, o->world - 1);
	if (o->timeout_ms <= 0)
		return dlcp__fail(EINVAL, "a timeout of %d ms: it is 1 or more",
				  o->timeout_ms);
	if (!o->nr_servers)
		o->nr_servers = 1;
	if (o->nr_servers < 0 ||
	    o->nr_servers > o->world - (o->dedicated ? 1 : 0))
		return dlcp__fail(EINVAL, "%d servers among %d ranks: there are 1 to %d",
				  o->nr_servers, o->world,
				  o->world - (o->dedicated ? 1 : 0));
	if (o->chunk_bytes < 4096 || o->chunk_bytes > 1 << 30)
		return dlcp__fail(EINVAL, "chunks of %zu bytes: chunk_bytes is 4096 to %d",
				  o->chunk_bytes, 1 << 30);
	o->chunk_bytes -= o->chunk_bytes % 64;
	if (o->small_bytes > o->chunk_bytes)
		return dlcp__fail(EINVAL, "small_bytes %zu exceeds chunk_bytes, which is %zu",
				  o->small_bytes, o->chunk_bytes);
	return 0;
}

static void open_trace(struct dlcp_coll *c)
{
	const char *name = getenv("DLCP_COLL_TRACE");
	char path[4096];

	if (!name || !*name)
		return;
	snprintf(path, sizeof(path), "%s.%d", name, c->rank);
	c->trace = fopen(path, "we");
}

static void free_group(struct dlcp_coll *c)
{
	int err = errno;

	coll_unregister(c);
	coll_group_stop(c);
	coll_pool_free(c->pool);
	coll_tensors_free(c);
	coll_p2p_free(c);
	if (c->trace)
		fclose(c->trace);
	if (c->wake >= 0)
		close(c->wake);
	if (c->broken >= 0)
		close(c->broken);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c->spare);
	free(c->links);
	free(c);
	errno = err;
}

static struct dlcp_coll *new_group(const struct dlcp_coll_options *o)
{
	struct dlcp_coll *c = calloc(1, sizeof(*c));
	int i;

	if (!c || !(c->links = calloc((size_t)o->world, sizeof(*c->links)))) {
		free(c);
		dlcp__no_memory();
		return NULL;
	}
	c->options = *o;
	c->rank = o->rank;
	c->world = o->world;
	c->workers = o->world - (o->dedicated ? o->nr_servers : 0);
	c->most_small = COLL_MAX_WORLD;	/* until links say less */
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	for (i = 0; i < c->world; i++)
		c->links[i] = (struct coll_link){ .coll = c, .rank = i,
						  .fd = -1 };
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->broken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->pool = coll_pool_new();
	if (c->wake < 0 || c->broken < 0 || !c->pool) {
		dlcp__fail(errno, "eventfd");
		free_group(c);
		return NULL;
	}
	open_trace(c);
	coll_register(c);
	return c;
}

DLCP_API struct dlcp_coll *
dlcp_coll_open(const struct dlcp_coll_options *options)
{
	struct dlcp_coll_options o;
	struct dlcp_coll *c;

	if (dlcp__take(&o, sizeof(o), sizeof(o), options, "dlcp_coll_options") ||
	    check_options(&o))
		return NULL;
	c = new_group(&o);
	if (!c)
		return NULL;
	if ((c->world > 1 && coll_rendezvous(c)) || coll_group_start(c)) {
		free_group(c);
		return NULL;
	}
	coll_joined(c);
	return c;
}

static int is_worker(const struct dlcp_coll *c)
{
	return c->rank < c->workers;
}

static void say_bye(struct dlcp_coll *c)
{
	struct coll_op *op;

	if (!c->options.dedicated || !is_worker(c))
		return;
	op = coll_op_new(c, COLL_BYE, 0, DLCP_COLL_I8, NULL);
	if (!op)
		return;
	coll_choose(op);
	coll_op_start(op, NULL);
}

DLCP_API void dlcp_coll_close(struct dlcp_coll *coll)
{
	int err = errno;

	if (!coll || coll->inherited)
		return;
	__atomic_store_n(&coll->leaving, 1, __ATOMIC_RELEASE);
	if (!coll_failed(coll)) {
		say_bye(coll);
		coll_goodbye(coll);
	}
	free_group(coll);
	errno = err;
}

DLCP_API void dlcp_coll_abort(struct dlcp_coll *coll, const char *why)
{
	if (coll->inherited)
		return;
	coll_fail(coll, ECANCELED, "rank %d gave up: %s", coll->rank, why);
}

DLCP_API int dlcp_coll_set_timeout(struct dlcp_coll *coll, int timeout_ms)
{
	int i;

	if (coll_refuse_child(coll))
		return -1;
	if (timeout_ms <= 0)
		return dlcp__fail(EINVAL, "a timeout of %d ms: it is 1 or more",
				  timeout_ms);
	__atomic_store_n(&coll->options.timeout_ms, timeout_ms,
			 __ATOMIC_RELAXED);
	for (i = 0; i < coll->world; i++)
		if (coll->links[i].fd >= 0 &&
		    coll_limit_silence(coll, &coll->links[i]))
			return -1;
	return 0;
}

DLCP_API int dlcp_coll_rank(const struct dlcp_coll *coll)
{
	return coll->rank;
}

DLCP_API int dlcp_coll_world(const struct dlcp_coll *coll)
{
	return coll->workers;
}

DLCP_API uint8_t dlcp_coll_prio(unsigned int layer, unsigned int layers)
{
	if (layer >= layers)
		return DLCP_PRIO_MAX;
	return (uint8_t)((uint64_t)layer * (DLCP_PRIO_MAX + 1) / layers);
}

DLCP_API void dlcp_coll_get_stats_sized(struct dlcp_coll *coll,
					struct dlcp_coll_stats *stats,
					size_t size)
{
	size_t known = size < sizeof(*stats) ? size : sizeof(*stats);

	memset(stats, 0, size);
	if (coll->inherited)
		return;
	pthread_mutex_lock(&coll->lock);
	memcpy(stats, &coll->stats, known);
	pthread_mutex_unlock(&coll->lock);
}

static int check_share(float share)
{
	return share >= 0 && share <= 1;
}

int coll_check_args(const struct dlcp_coll_args *a, int reducing, int dtype)
{
	const char *why;

	if (a->reduce > COLL_LAST_REDUCE || !dlcp_coll_algo_name(a->algo) ||
	    !dlcp_coll_correct_name(a->correct))
		return dlcp__fail(EINVAL, "unknown reduction, algorithm or correction: dlcp_coll.h lists them");
	if (a->prio > DLCP_PRIO_MAX || a->loss_ppm > DLCP_PPM ||
	    a->loss2_ppm > DLCP_PPM)
		return dlcp__fail(EINVAL, "a class or loss bound is out of range: at most %d, and %d millionths",
				  DLCP_PRIO_MAX, DLCP_PPM);
	if (!check_share(a->droppable) || !check_share(a->critical) ||
	    !check_share(a->droppable + a->critical))
		return dlcp__fail(EINVAL, "shares of tags are 0 to 1, together too");
	if (reducing && a->reduce >= DLCP_COLL_AND && !coll_is_int(dtype))
		return dlcp__fail(EINVAL, "bitwise reductions are for integers, and not for %s",
				  coll_dtype_name(dtype));
	if (reducing && a->loss_ppm && a->reduce > DLCP_COLL_AVG)
		return dlcp__fail(EINVAL, "only sums and averages allow loss: set loss_ppm to 0");
	if (reducing && a->loss_ppm && a->correct == DLCP_COLL_FEEDBACK &&
	    !a->tensor)
		return dlcp__fail(EINVAL, "feedback needs a name for the tensor: set args.tensor");
	why = coll_refusal(a, reducing, dtype);
	return why ? dlcp__fail(EOPNOTSUPP, "%s", why) : 0;
}

static int check_call(struct dlcp_coll *c, int kind, size_t count, int dtype,
		      const struct dlcp_coll_args *args)
{
	size_t size = coll_dtype_size(dtype), max;

	if (coll_refuse_child(c))
		return -1;
	if (!is_worker(c))
		return dlcp__fail(EINVAL, "rank %d is a dedicated server: it calls dlcp_coll_serve() alone",
				  c->rank);
	if (!size || (dtype > COLL_LAST_DTYPE && kind != COLL_ALL_REDUCE))
		return dlcp__fail(EINVAL, "there is no element type %d here: dlcp_coll.h lists them",
				  dtype);
	/* chunks are numbered in 28 bits, twice a ring's world of them */
	max = c->options.chunk_bytes * (COLL_MAX_CHUNK / 2048) / size;
	if (count > max / (size_t)c->workers)
		return dlcp__fail(EINVAL, "a tensor of %zu elements: at most %zu, or raise chunk_bytes",
				  count, max / (size_t)c->workers);
	if (args && coll_check_args(args, coll_reduces(kind), dtype))
		return -1;
	if (coll_failed(c))
		return dlcp__fail(c->error, "%s", c->text);
	return 0;
}

static int find_tensor(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	struct coll_tensor *t;
	int busy;

	if (!op->args.tensor) {
		if (op->kind != COLL_PUSH && op->kind != COLL_PULL)
			return 0;
		return dlcp__fail(EINVAL, "push and pull need a name for the tensor: set args.tensor");
	}
	t = coll_tensor_get(c, op->args.tensor);
	if (!t)
		return -1;
	pthread_mutex_lock(&c->lock);
	busy = t->busy && op->kind != COLL_PULL;
	if (!busy && op->kind != COLL_PULL)
		t->busy = 1;
	pthread_mutex_unlock(&c->lock);
	if (busy)
		return dlcp__fail(EBUSY, "the last operation on tensor %llu is not over: wait for it first",
				  (unsigned long long)t->id);
	op->tensor = t;
	return 0;
}

/* Return: 0 with @copy of them, or NULL, in @args; or -1 */
static int take_args(const struct dlcp_coll_args *given,
		     struct dlcp_coll_args *copy,
		     const struct dlcp_coll_args **args)
{
	*args = given ? copy : NULL;
	return given ? dlcp__take(copy, sizeof(*copy), sizeof(*copy), given,
				  "dlcp_coll_args") : 0;
}

int coll_start(struct dlcp_coll *c, int kind, const void *in, void *out,
	       size_t count, int dtype, int root,
	       const struct dlcp_coll_args *given,
	       struct dlcp_coll_handle **handle)
{
	const struct dlcp_coll_args *args;
	struct dlcp_coll_args copy;
	struct coll_op *op;

	if (take_args(given, &copy, &args) ||
	    check_call(c, kind, count, dtype, args))
		return -1;
	if (kind == COLL_REDUCE_TO && c->rank != root)
		out = NULL;
	if (count && ((!in && kind != COLL_PULL) ||
		      (!out && kind != COLL_PUSH &&
		       (kind != COLL_REDUCE_TO || c->rank == root))))
		return dlcp__fail(EINVAL, "no buffer: NULL is for 0 elements");
	op = coll_op_new(c, kind, count, dtype, args);
	if (!op)
		return -1;
	op->in = in;
	op->out = out;
	op->root = root;
	if (!coll_reduces(kind))
		op->args.loss_ppm = 0;
	coll_choose(op);
	if (find_tensor(op)) {
		coll_op_free(op);
		return -1;
	}
	return coll_op_start(op, handle);
}

DLCP_API int dlcp_coll_all_reduce(struct dlcp_coll *coll, const void *in,
				  void *out, size_t count, int dtype,
				  const struct dlcp_coll_args *args,
				  struct dlcp_coll_handle **handle)
{
	if (dtype > COLL_LAST_DTYPE)
		return dlcp__fail(EINVAL, "there is no element type %d here: dlcp_coll.h lists them",
				  dtype);
	return coll_start(coll, COLL_ALL_REDUCE, in, out, count, dtype, 0, args,
		     handle);
}

DLCP_API int dlcp_coll_reduce_scatter(struct dlcp_coll *coll, const void *in,
				      void *out, size_t count, int dtype,
				      const struct dlcp_coll_args *args,
				      struct dlcp_coll_handle **handle)
{
	return coll_start(coll, COLL_REDUCE_SCATTER, in, out, count, dtype, 0, args,
		     handle);
}

DLCP_API int dlcp_coll_all_gather(struct dlcp_coll *coll, const void *in,
				  void *out, size_t count, int dtype,
				  const struct dlcp_coll_args *args,
				  struct dlcp_coll_handle **handle)
{
	return coll_start(coll, COLL_ALL_GATHER, in, out, count, dtype, 0, args,
		     handle);
}

static int check_root(const struct dlcp_coll *coll, int root)
{
	if (root >= 0 && root < coll->workers)
		return 0;
	return dlcp__fail(EINVAL, "root %d of %d ranks: the first is 0",
			  root, coll->workers);
}

DLCP_API int dlcp_coll_broadcast(struct dlcp_coll *coll, void *buf,
				 size_t count, int dtype, int root,
				 const struct dlcp_coll_args *args,
				 struct dlcp_coll_handle **handle)
{
	if (check_root(coll, root))
		return -1;
	return coll_start(coll, COLL_BROADCAST, buf, buf, count, dtype, root, args,
		     handle);
}

DLCP_API int dlcp_coll_reduce(struct dlcp_coll *coll, const void *in, void *out,
			      size_t count, int dtype, int root,
			      const struct dlcp_coll_args *args,
			      struct dlcp_coll_handle **handle)
{
	if (check_root(coll, root))
		return -1;
	return coll_start(coll, COLL_REDUCE_TO, in, out, count, dtype, root,
			  args, handle);
}

/* @in_n and @out_n: see coll_make_blocks() */
static int start_exchange(struct dlcp_coll *c, int kind, const void *in,
			  void *out, size_t count, int dtype, int root,
			  const size_t *in_n, const size_t *out_n,
			  const struct dlcp_coll_args *given,
			  struct dlcp_coll_handle **handle)
{
	const struct dlcp_coll_args *args;
	struct dlcp_coll_args copy;
	struct coll_op *op;

	if (check_root(c, root) || take_args(given, &copy, &args) ||
	    check_call(c, kind, count, dtype, args))
		return -1;
	op = coll_op_new(c, kind, count, dtype, args);
	if (!op)
		return -1;
	op->in = in;
	op->out = out;
	op->root = root;
	op->args.loss_ppm = 0;
	op->args.loss2_ppm = 0;
	coll_choose(op);
	if (coll_make_blocks(op, in_n, out_n)) {
		coll_op_free(op);
		return -1;
	}
	return coll_op_start(op, handle);
}

DLCP_API int dlcp_coll_gather(struct dlcp_coll *coll, const void *in, void *out,
			      size_t count, int dtype, int root,
			      const struct dlcp_coll_args *args,
			      struct dlcp_coll_handle **handle)
{
	return start_exchange(coll, COLL_GATHER, in, out, count, dtype, root,
			      NULL, NULL, args, handle);
}

DLCP_API int dlcp_coll_scatter(struct dlcp_coll *coll, const void *in,
			       void *out, size_t count, int dtype, int root,
			       const struct dlcp_coll_args *args,
			       struct dlcp_coll_handle **handle)
{
	return start_exchange(coll, COLL_SCATTER, in, out, count, dtype, root,
			      NULL, NULL, args, handle);
}

DLCP_API int dlcp_coll_all_to_all(struct dlcp_coll *coll, const void *in,
				  const size_t *in_counts, void *out,
				  const size_t *out_counts, int dtype,
				  const struct dlcp_coll_args *args,
				  struct dlcp_coll_handle **handle)
{
	int i;

	if (!in_counts || !out_counts)
		return dlcp__fail(EINVAL, "no counts: give one for each rank");
	for (i = 0; i < coll->workers; i++)
		if (check_call(coll, COLL_ALL_TO_ALL, in_counts[i], dtype, NULL) ||
		    check_call(coll, COLL_ALL_TO_ALL, out_counts[i], dtype, NULL))
			return -1;
	return start_exchange(coll, COLL_ALL_TO_ALL, in, out, 0, dtype, 0,
			      in_counts, out_counts, args, handle);
}

static int start_p2p(struct dlcp_coll *c, const void *in, void *out,
		     size_t len, int peer, uint32_t tag, uint8_t prio,
		     struct dlcp_coll_handle **handle)
{
	struct dlcp_coll_args args = { .prio = prio };
	int any = out && peer == DLCP_COLL_ANY;
	struct coll_op *op;

	if (!any && (peer < 0 || peer >= c->workers || peer == c->rank))
		return dlcp__fail(EINVAL, "rank %d has no other rank %d to %s: peers are 0 to %d",
				  c->rank, peer, out ? "receive from" : "send to",
				  c->workers - 1);
	if (check_call(c, COLL_MESSAGE, len, DLCP_COLL_U8, &args))
		return -1;
	op = coll_op_new(c, COLL_MESSAGE, len, DLCP_COLL_U8, &args);
	if (!op)
		return -1;
	op->in = in;
	op->out = out;
	op->p2p.peer = peer;
	op->p2p.tag = tag;
	op->p2p.len = len;
	op->p2p.receives = !!out;
	coll_choose(op);
	return coll_op_start(op, handle);
}

DLCP_API int dlcp_coll_send(struct dlcp_coll *coll, const void *buf, size_t len,
			    int to, uint32_t tag, uint8_t prio,
			    struct dlcp_coll_handle **handle)
{
	if (!buf && len)
		return dlcp__fail(EINVAL, "no buffer: NULL is for 0 elements");
	return start_p2p(coll, buf, NULL, len, to, tag, prio, handle);
}

DLCP_API int dlcp_coll_recv(struct dlcp_coll *coll, void *buf, size_t len,
			    int from, uint32_t tag,
			    struct dlcp_coll_handle **handle)
{
	static char nothing;

	if (!buf && len)
		return dlcp__fail(EINVAL, "no buffer: NULL is for 0 elements");
	return start_p2p(coll, NULL, buf ? buf : &nothing, len, from, tag, 0,
			 handle);
}

DLCP_API int dlcp_coll_barrier(struct dlcp_coll *coll,
			       struct dlcp_coll_handle **handle)
{
	return coll_start(coll, COLL_BARRIER, NULL, NULL, 0, DLCP_COLL_I8, 0, NULL,
		     handle);
}

DLCP_API int dlcp_coll_push(struct dlcp_coll *coll, const void *in,
			    size_t count, int dtype,
			    const struct dlcp_coll_args *args,
			    struct dlcp_coll_handle **handle)
{
	return coll_start(coll, COLL_PUSH, in, NULL, count, dtype, 0, args, handle);
}

DLCP_API int dlcp_coll_pull(struct dlcp_coll *coll, void *out, size_t count,
			    int dtype, const struct dlcp_coll_args *args,
			    struct dlcp_coll_handle **handle)
{
	return coll_start(coll, COLL_PULL, NULL, out, count, dtype, 0, args, handle);
}

DLCP_API uint32_t dlcp_coll_phase_next(struct dlcp_coll_phase *phase,
				       double norm)
{
	int critical = !isfinite(norm) || phase->last == 0 ||
		       fabs(norm - phase->last) >=
		       phase->threshold * fabs(phase->last);

	if (isfinite(norm))
		phase->last = norm;
	if (critical) {
		phase->left = phase->hold;
		return phase->low_ppm;
	}
	if (!phase->left)
		return phase->high_ppm;
	phase->left--;
	return phase->low_ppm;
}
