// SPDX-License-Identifier: GPL-2.0
#include "ideal.h"

/* A layer of less is not split */
#define SPLIT_MIN	(64U << 10)

enum xfer_kind { KIND_PUSH, KIND_PULL, KIND_RING };

struct job *jobs_all;
u32 jobs_nr, jobs_running;
static u64 rng;

/* --- messages */

static struct xfer **xfers;
static u64 nr_xfers, cap_xfers;

u64 xfers_nr(void)
{
	return nr_xfers;
}

struct xfer *xfer_at(u64 i)
{
	return xfers[i];
}

struct xfer *xfer_find(u64 nr)
{
	SCALE_CHECK(nr < nr_xfers);
	return xfers[nr];
}

bool xfer_counts(const struct xfer *x)
{
	return x->step >= par.warm;
}

static void xfer_over(struct ev *e);

static struct xfer *xfer_new(struct job *j, u32 from, u32 to, u64 bytes,
			     u32 tensor, u8 kind)
{
	u32 most = max(j->p->nr_layers, 1U);
	struct xfer *x = calloc(1, sizeof(*x));

	if (nr_xfers == cap_xfers) {
		cap_xfers = max_t(u64, 1024, 2 * cap_xfers);
		xfers = realloc(xfers, cap_xfers * sizeof(*xfers));
	}
	x->nr = nr_xfers;
	xfers[nr_xfers++] = x;
	x->src = j->host[from];
	x->dst = j->host[to];
	x->from_rank = from;
	x->to_rank = to;
	x->bytes = bytes;
	x->tensor = tensor;
	x->kind = kind;
	x->job = j->nr;
	x->step = j->step;
	x->loss_ppm = (u32)(kind == KIND_PULL ? j->p->pull_ppm :
						j->p->loss_ppm);
	x->droppable = (u8)j->p->droppable;
	x->prio = (u8)(j->p->prio ? tensor * 8 / most : 0);
	x->ev.fn = xfer_over;
	x->sent_at = fab_now();
	return x;
}

/* Whatever a job does about it is not done inside the protocol */
void xfer_done(struct xfer *x)
{
	SCALE_CHECK(!x->done_at);
	SCALE_CHECK(x->missing * 1000000 <= x->bytes * x->loss_ppm);
	x->done_at = fab_now();
	wheel_add(&fab.wheel, &x->ev, fab_now());
}

static void job_send(struct job *j, u32 from, u32 to, u64 bytes, u32 tensor,
		     u8 kind)
{
	j->proto->send(xfer_new(j, from, to, bytes, tensor, kind));
}

/* --- pieces of layers */

u64 job_piece(const struct job *j, u32 layer, u32 server)
{
	u64 bytes = j->p->layers[layer], part;

	if (bytes < (u64)SPLIT_MIN * j->nr_servers)
		return layer % j->nr_servers == server ? bytes : 0;
	part = bytes / j->nr_servers & ~3ULL;
	return server + 1 < j->nr_servers ? part :
	       bytes - part * (j->nr_servers - 1);
}

/* As a rank of job->host */
u32 job_server_rank(const struct job *j, u32 server)
{
	return j->shared ? server : j->nr_workers + server;
}

bool job_is_self(const struct job *j, u32 worker, u32 server)
{
	return j->shared && worker == server;
}

/* ns of @us that computing @layer takes */
static u64 share_us(const struct job *j, u32 layer, u64 us)
{
	const u64 *work = j->p->nr_work ? j->p->work : j->p->layers;
	double all = 0;
	u32 i;

	for (i = 0; i < j->p->nr_layers; i++)
		all += (double)work[i];
	return all ? (u64)((double)(us * NSEC_PER_USEC) * (double)work[layer] / all) : 0;
}

static u64 slow(const struct worker *w, u64 ns)
{
	return ns * fab.slow[w->job->host[w->nr]] / 100;
}

/* --- the end of a step */

static void step_begin(struct ev *e);

static void step_end(struct job *j)
{
	if (j->step >= par.warm) {
		j->time[j->step - par.warm] = fab_now() - j->began;
		j->ideal[j->step - par.warm] =
			ideal_end(j, &j->late_cut[j->step - par.warm]);
	}
	if (++j->step == par.warm + par.steps) {
		j->over = true;
		jobs_running--;
		return;
	}
	wheel_add(&fab.wheel, &j->ev,
		  fab_now() + j->p->gap_us * NSEC_PER_USEC);
}

static void step_part_done(struct job *j)
{
	if (!--j->left)
		step_end(j);
}

/* --- the forward pass */

static void worker_forward(struct worker *w)
{
	struct job *j = w->job;
	u32 nr = j->p->nr_layers;

	if (w->computes)
		return;
	while (w->forward < nr && !j->pull_left[w->nr * nr + w->forward]) {
		w->forward++;
		if (j->p->forward_us) {
			w->computes = true;
			wheel_add(&fab.wheel, &w->ev, fab_now() +
				  slow(w, share_us(j, w->forward - 1,
						   j->p->forward_us)));
			return;
		}
	}
	if (w->forward == nr) {
		w->forward++;
		step_part_done(j);
	}
}

/* --- push and pull */

static void send_pulls(struct job *j, u32 layer, u32 server)
{
	u32 i;

	for (i = 0; i < j->nr_workers; i++)
		if (!job_is_self(j, i, server))
			job_send(j, job_server_rank(j, server), i,
				 job_piece(j, layer, server), layer, KIND_PULL);
}

/* DeAR: a rank sends its piece of the next layer when it has the one before */
static void dear_gather(struct worker *w)
{
	struct job *j = w->job;
	u32 nr = j->p->nr_layers;

	while (!j->scatter_left[w->nr] && w->gathered < nr &&
	       (!w->gathered ||
		!j->pull_left[w->nr * nr + w->gathered - 1])) {
		if (job_piece(j, w->gathered, w->nr))
			send_pulls(j, w->gathered, w->nr);
		w->gathered++;
	}
}

static void server_has(struct job *j, u32 layer, u32 server)
{
	if (!j->p->pull)
		step_part_done(j);
	else if (!j->p->dear)
		send_pulls(j, layer, server);
	if (!--j->scatter_left[server] && j->p->dear && j->p->pull)
		dear_gather(&j->worker[server]);
}

static void push_done(struct job *j, u32 layer, u32 server)
{
	if (!--j->push_left[layer * j->nr_servers + server])
		server_has(j, layer, server);
}

static void pull_done(struct job *j, u32 worker, u32 layer)
{
	if (--j->pull_left[worker * j->p->nr_layers + layer])
		return;
	if (j->p->dear)
		dear_gather(&j->worker[worker]);
	worker_forward(&j->worker[worker]);
}

static void push_layer(struct worker *w, u32 layer)
{
	struct job *j = w->job;
	u32 i, s;

	/* Not all begin with the same server */
	for (i = 0; i < j->nr_servers; i++) {
		s = (i + w->nr) % j->nr_servers;
		if (job_piece(j, layer, s) && !job_is_self(j, w->nr, s))
			job_send(j, w->nr, job_server_rank(j, s),
				 job_piece(j, layer, s), layer, KIND_PUSH);
	}
}

static void worker_backward(struct worker *w)
{
	struct job *j = w->job;
	u64 ns;

	while (w->layer) {
		push_layer(w, --w->layer);
		if (!w->layer)
			break;
		ns = slow(w, share_us(j, w->layer - 1, j->p->backward_us));
		if (ns) {
			wheel_add(&fab.wheel, &w->ev, fab_now() + ns);
			return;
		}
	}
	/* There may be nothing to wait for: all pieces are its own */
	if (j->p->pull)
		worker_forward(w);
}

/* --- ring */

static void ring_send(struct worker *w)
{
	struct job *j = w->job;
	u32 n = j->nr_workers;
	u64 bytes = j->p->bytes / n & ~3ULL;
	u32 round = w->gathered++;
	u8 kind = round < n - 1 ? KIND_RING : KIND_PULL;

	job_send(j, w->nr, (w->nr + 1) % n, max_t(u64, bytes, 4), round, kind);
}

static void ring_done(struct job *j, u32 rank, u32 round)
{
	if (round + 1 < 2 * (j->nr_workers - 1))
		ring_send(&j->worker[rank]);
	else
		step_part_done(j);
}

/* --- a step */

bool job_is_ring(const struct job *j)
{
	return !strcmp(j->p->kind, "ring");
}

static void worker_event(struct ev *e)
{
	struct worker *w = container_of(e, struct worker, ev);

	if (w->computes) {
		w->computes = false;
		worker_forward(w);
	} else if (job_is_ring(w->job)) {
		ring_send(w);
	} else {
		worker_backward(w);
	}
}

static void xfer_over(struct ev *e)
{
	struct xfer *x = container_of(e, struct xfer, ev);
	struct job *j = &jobs_all[x->job];

	if (job_is_ring(j))
		ring_done(j, x->to_rank, x->tensor);
	else if (x->kind == KIND_PUSH)
		push_done(j, x->tensor, j->shared ? x->to_rank :
						    x->to_rank - j->nr_workers);
	else
		pull_done(j, x->to_rank, x->tensor);
}

static void count_pieces(struct job *j)
{
	u32 nr = j->p->nr_layers, layer, s, w;

	memset(j->pull_left, 0, j->nr_workers * nr * sizeof(u32));
	memset(j->scatter_left, 0, j->nr_servers * sizeof(u32));
	for (layer = 0; layer < nr; layer++) {
		for (s = 0; s < j->nr_servers; s++) {
			j->push_left[layer * j->nr_servers + s] =
				j->nr_workers - j->shared;
			if (!job_piece(j, layer, s))
				continue;
			j->scatter_left[s]++;
			if (!j->p->pull)
				j->left++;
			for (w = 0; j->p->pull && w < j->nr_workers; w++)
				j->pull_left[w * nr + layer] += !job_is_self(j, w, s);
		}
	}
}

static void step_begin(struct ev *e)
{
	struct job *j = container_of(e, struct job, ev);
	struct worker *w;
	u64 wait, first = U64_MAX, last = 0;

	j->began = fab_now();
	j->left = 0;
	if (job_is_ring(j) || j->p->pull)
		j->left = j->nr_workers;
	if (!job_is_ring(j))
		count_pieces(j);
	for (w = j->worker; w < j->worker + j->nr_workers; w++) {
		w->layer = j->p->nr_layers;
		w->forward = 0;
		w->gathered = 0;
		wait = rng_below(&rng, j->p->jitter_ns + 1);
		first = min(first, wait);
		last = max(last, wait);
		if (!job_is_ring(j))
			wait += slow(w, share_us(j, w->layer - 1,
						 j->p->backward_us));
		/* One that had nothing to send may not have begun yet */
		wheel_del(&fab.wheel, &w->ev);
		wheel_add(&fab.wheel, &w->ev, fab_now() + wait);
	}
	ideal_begin(j, first, last);
}

/* --- set-up */

static u32 *places(void)
{
	u32 *list = calloc(par.hosts, sizeof(*list)), i, k;

	for (i = 0; i < par.hosts; i++)
		list[i] = i;
	for (i = (u32)par.hosts - 1; i; i--) {
		k = (u32)rng_below(&rng, i + 1);
		swap(list[i], list[k]);
	}
	return list;
}

/* Packed: the servers first, host after host */
static void job_place(struct job *j, const u32 *order, u32 *next)
{
	u32 n = j->nr_workers + (j->shared ? 0 : j->nr_servers), i, rank;
	bool pack = !strcmp(j->p->place, "pack");

	j->host = calloc(n, sizeof(*j->host));
	for (i = 0; i < n; i++, ++*next) {
		rank = pack ? (j->nr_workers + i) % n : i;
		j->host[rank] = pack ? *next % (u32)par.hosts :
				order[*next % par.hosts];
	}
}

static void job_make(struct job *j, const struct job_param *p, u32 nr,
		     struct proto *proto)
{
	u32 i;

	SCALE_CHECK(proto);
	j->p = p;
	j->nr = nr;
	j->proto = proto;
	j->ev.fn = step_begin;
	j->shared = job_is_ring(j) || !p->servers;
	j->nr_workers = (u32)p->workers;
	j->nr_servers = (u32)(j->shared ? p->workers : p->servers);
	SCALE_CHECK(!j->shared || j->nr_workers > 1);
	SCALE_CHECK(!p->dear || j->shared);
	j->worker = calloc(j->nr_workers, sizeof(*j->worker));
	for (i = 0; i < j->nr_workers; i++) {
		j->worker[i].job = j;
		j->worker[i].nr = i;
		j->worker[i].ev.fn = worker_event;
	}
	j->push_left = calloc(p->nr_layers * j->nr_servers, sizeof(u32));
	j->pull_left = calloc(p->nr_layers * j->nr_workers, sizeof(u32));
	j->scatter_left = calloc(j->nr_servers, sizeof(u32));
	j->time = calloc(par.steps, sizeof(u64));
	j->ideal = calloc(par.steps, sizeof(u64));
	j->late_cut = calloc(par.steps, sizeof(u64));
}

void jobs_make(struct proto *(*find)(const char *name))
{
	u32 i, k, next = 0, *order;
	struct job *j;

	rng = par.seed * 0x9e3779b97f4a7c15ULL + 3;
	order = places();
	for (i = 0; i < par.nr_jobs; i++)
		jobs_nr += (u32)par.job[i].jobs;
	jobs_all = calloc(jobs_nr, sizeof(*jobs_all));
	for (i = 0, j = jobs_all; i < par.nr_jobs; i++) {
		for (k = 0; k < par.job[i].jobs; k++, j++) {
			job_make(j, &par.job[i], (u32)(j - jobs_all),
				 find(par.job[i].proto));
			job_place(j, order, &next);
			ideal_make(j);
		}
	}
	free(order);
}

void jobs_pairs(void (*fn)(struct proto *p, u32 a, u32 b))
{
	struct job *j;
	u32 s, w;

	for (j = jobs_all; j < jobs_all + jobs_nr; j++) {
		for (w = 0; w < j->nr_workers; w++) {
			if (job_is_ring(j)) {
				fn(j->proto, j->host[w],
				   j->host[(w + 1) % j->nr_workers]);
				continue;
			}
			for (s = 0; s < j->nr_servers; s++)
				if (!job_is_self(j, w, s))
					fn(j->proto, j->host[w],
					   j->host[job_server_rank(j, s)]);
		}
	}
}

void jobs_start(void)
{
	struct job *j;

	for (j = jobs_all; j < jobs_all + jobs_nr; j++) {
		jobs_running++;
		wheel_add(&fab.wheel, &j->ev, fab_now());
	}
}
