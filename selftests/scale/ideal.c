// SPDX-License-Identifier: GPL-2.0
#include "ideal.h"

/* Segments of the first window (RFC 6928) */
#define FIRST_WINDOW	10

/* Of the step that goes on */
struct job_ideal {
	u64	push;		/* ns: of the floor, until all is pushed */
	u64	own;		/* ns: the longest that one worker has to send */
	u64	base;		/* ns: the longest way */
	u64	push_start;	/* ns: rounds in which windows grow, at first */
	u64	pull_start;
	u64	end;		/* when it would be over */
	u64	cut_at;		/* a pair has no way, since then; 0: each has */
	bool	hurt;		/* a fault has met a pair's way */
};

/* --- floors */

struct load {
	u64	out;
	u64	in;
};

static struct load *load_host, *load_leaf;

static u32 leaf_size(void)
{
	if (!strcmp(par.topo, "fat"))
		return (u32)par.k / 2;
	return !strcmp(par.topo, "leaf") ? (u32)par.per : (u32)par.hosts;
}

static void load_add(const struct job *j, u32 from, u32 to, u64 bytes)
{
	u32 a = j->host[from], b = j->host[to];

	load_host[a].out += bytes;
	load_host[b].in += bytes;
	if (a / leaf_size() == b / leaf_size())
		return;
	load_leaf[a / leaf_size()].out += bytes;
	load_leaf[b / leaf_size()].in += bytes;
}

/* ns for what was added, which is forgotten */
static u64 load_time(void)
{
	double wire = 8000.0 * par_wire() / par_payload();
	double host = 0, leaf = 0;
	u64 ups = par.spines;
	u32 i;

	if (!strcmp(par.topo, "fat"))
		ups = par.k / 2;
	for (i = 0; i < par.hosts; i++) {
		host = max(host, (double)max(load_host[i].in, load_host[i].out));
		leaf = max(leaf, (double)max(load_leaf[i].in, load_leaf[i].out));
	}
	memset(load_host, 0, par.hosts * sizeof(*load_host));
	memset(load_leaf, 0, par.hosts * sizeof(*load_leaf));
	return (u64)max(host * wire / (par.mbps * par.rails),
			ups ? leaf * wire / (par.up_mbps * par.rails * ups) : 0);
}

static void load_layer(const struct job *j, u32 layer, bool pull)
{
	u32 s, w;

	for (s = 0; s < j->nr_servers; s++)
		for (w = 0; w < j->nr_workers; w++)
			if (!job_is_self(j, w, s) && pull)
				load_add(j, job_server_rank(j, s), w,
					 job_piece(j, layer, s));
			else if (!job_is_self(j, w, s))
				load_add(j, w, job_server_rank(j, s),
					 job_piece(j, layer, s));
}

/* Of the longest way that has to be gone */
static u64 base_time(const struct job *j)
{
	u64 most = 0;
	u32 s, w;

	for (w = 0; w < j->nr_workers; w++)
		for (s = 0; !job_is_ring(j) && s < j->nr_servers; s++)
			if (!job_is_self(j, w, s))
				most = max(most, fabric_base(j->host[w],
							     j->host[job_server_rank(j, s)],
							     par_wire()));
	if (job_is_ring(j))
		most = fabric_base(j->host[0], j->host[1], par_wire());
	return most - par_wire() * 8000ULL / par.mbps;
}

static u64 floor_ps(const struct job *j)
{
	u64 push, pull, first, forward = j->p->forward_us * NSEC_PER_USEC;
	u32 i;

	for (i = 0; i < j->p->nr_layers; i++)
		load_layer(j, i, false);
	push = max_t(u64, load_time(), j->p->backward_us * NSEC_PER_USEC) +
	       base_time(j);
	j->now->push = push;
	if (!j->p->pull)
		return push;
	for (i = 0; i < j->p->nr_layers; i++)
		load_layer(j, i, true);
	pull = load_time();
	load_layer(j, 0, true);
	first = load_time();
	if (j->p->dear)
		return push + max(pull, forward) + base_time(j);
	return push + first + forward + base_time(j);
}

static u64 floor_ring(const struct job *j)
{
	u32 n = j->nr_workers, i;

	for (i = 0; i < n; i++)
		load_add(j, i, (i + 1) % n, j->p->bytes / n);
	return 2 * (n - 1) * (load_time() + base_time(j));
}

/* --- what had to be waited for */

/* Round trips until @bytes have left, but the last: each takes twice as much */
static u64 start_time(const struct job *j, u64 bytes)
{
	u64 sent = 0, window = (u64)FIRST_WINDOW * par_payload();
	u64 ns = 0;

	for (;; window *= 2, ns += 2 * j->now->base) {
		sent += window;
		if (sent >= bytes)
			return ns;
	}
}

static void pair_bytes(const struct job *j, u32 server, u64 *push, u64 *pull)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < j->p->nr_layers; i++)
		bytes += job_piece(j, i, server);
	*push = max(*push, bytes);
	*pull = max(*pull, j->p->dear ? bytes : job_piece(j, 0, server));
}

void ideal_make(struct job *j)
{
	u64 push = 0, pull = 0, own = 0;
	u32 i;

	if (!load_host) {
		load_host = calloc(par.hosts, sizeof(*load_host));
		load_leaf = calloc(par.hosts, sizeof(*load_leaf));
	}
	j->now = calloc(1, sizeof(*j->now));
	j->floor = job_is_ring(j) ? floor_ring(j) : floor_ps(j);
	j->now->base = base_time(j);
	if (job_is_ring(j)) {
		j->now->push = j->floor;
		push = j->p->bytes / j->nr_workers;
		own = push;
	} else {
		for (i = 0; i < j->nr_servers; i++)
			pair_bytes(j, i, &push, &pull);
		for (i = 0; i < j->p->nr_layers; i++)
			own += j->p->layers[i];
		if (j->shared)
			own -= own / j->nr_workers;
	}
	j->now->own = own * 8000 * par_wire() / par_payload() /
		      (par.mbps * par.rails);
	j->now->push_start = start_time(j, push);
	if (j->p->pull)
		j->now->pull_start = start_time(j, pull);
}

/* Is there a way from @n to host @dst? *@hurt: that loses something, or a way
 * that is dead
 */
static bool way(const struct node *n, u32 dst, bool *hurt)
{
	bool found = false;
	struct port *p;
	u32 i;

	if (n->kind == 'h')
		return true;
	if (dst >= n->low && dst < n->high) {
		p = n->ports[(dst - n->low) / n->per];
		*hurt |= p->dead || p->loss_ppm;
		return way(p->to, dst, hurt) && !p->dead;
	}
	for (i = n->nr_down; i < n->nr_down + n->nr_up; i++) {
		p = n->ports[i];
		*hurt |= p->dead || p->loss_ppm;
		found |= way(p->to, dst, hurt) && !p->dead;
	}
	return found;
}

static bool pair_cut(u32 a, u32 b, bool *hurt)
{
	return !way(fab.nodes[a].ports[0]->to, b, hurt) ||
	       !way(fab.nodes[b].ports[0]->to, a, hurt);
}

/* Has any pair of the job no way? */
static bool job_cut(const struct job *j, bool *hurt)
{
	bool cut = false;
	u32 s, w;

	for (w = 0; w < j->nr_workers; w++) {
		if (job_is_ring(j))
			cut |= pair_cut(j->host[w],
					j->host[(w + 1) % j->nr_workers], hurt);
		for (s = 0; !job_is_ring(j) && s < j->nr_servers; s++)
			if (!job_is_self(j, w, s))
				cut |= pair_cut(j->host[w],
						j->host[job_server_rank(j, s)],
						hurt);
	}
	return cut;
}

static void ideal_look(struct job *j)
{
	struct job_ideal *now = j->now;
	bool hurt = false, cut;

	if (j->over || !now->end)
		return;
	cut = job_cut(j, &hurt);
	if (now->cut_at) {
		now->end += fab_now() - now->cut_at;
		now->cut_at = 0;
	}
	/* What happens after the ideal's end is none of its business */
	if (fab_now() >= now->end)
		return;
	if (cut)
		now->cut_at = fab_now();
	if (hurt && !now->hurt) {
		now->hurt = true;
		now->end += 2 * now->base;
	}
}

void ideal_begin(struct job *j, u64 first, u64 last)
{
	struct job_ideal *now = j->now;
	u64 push = max(now->push + first, now->own + now->base + last);
	u64 rest = j->floor - now->push;

	if (!j->step) {
		push = max(push, now->push_start + now->base + last);
		if (j->p->pull)
			rest = max(rest, now->pull_start + now->base);
	}
	now->hurt = false;
	now->cut_at = 0;
	now->end = j->began + push + rest;
	if (par.nr_faults)
		ideal_look(j);
}

u64 ideal_end(struct job *j)
{
	struct job_ideal *now = j->now;

	if (now->cut_at)
		now->end += fab_now() - now->cut_at;
	now->cut_at = 0;
	return now->end - j->began;
}

void ideal_fault(void)
{
	struct job *j;

	for (j = jobs_all; j < jobs_all + jobs_nr; j++)
		ideal_look(j);
}
