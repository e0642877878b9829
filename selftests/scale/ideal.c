// SPDX-License-Identifier: GPL-2.0
#include "ideal.h"

/* Segments of the first window (RFC 6928) */
#define FIRST_WINDOW	10

/* Of the step that goes on */
struct job_ideal {
	u64	push;		/* ns: of the floor, until all is pushed */
	u64	own;		/* ns: the longest that one worker has to send */
	u64	base;		/* ns: the longest way */
	u64	push_bytes;	/* the most of one pair of hosts */
	u64	pull_bytes;
	u64	push_window;	/* bytes: of who knows no more than it tried */
	u64	pull_window;
	u64	end;		/* when it would be over */
	u64	late_cut;	/* ns that a pair had no way, since then */
	u64	cut_at;		/* a pair has no way, since then; 0: each has */
	double	pace;		/* the rates that are left let it go on so fast */
	bool	hurt;		/* a fault has met a pair's way */
	u64	faults;		/* packets that faults had taken before */
};

/* --- floors */

struct load {
	u64	out;		/* bytes on the wire */
	u64	in;
	u64	piece;		/* the longest piece's, of those sent back */
};

/* What a leaf's links up and down take, in bytes per ps */
struct room {
	double	up;
	double	down;
};

static struct load *load_host, *load_leaf;
static struct room *room_now, *room_first;

static u32 leaf_size(void)
{
	if (!strcmp(par.topo, "fat"))
		return (u32)par.k / 2;
	return !strcmp(par.topo, "leaf") ? (u32)par.per : (u32)par.hosts;
}

/* A message with the headers of its packets */
static u64 load_wire(u64 bytes)
{
	u64 packets = DIV_ROUND_UP(bytes, par_payload());

	return max(bytes + packets * (par_wire() - par_payload()),
		   packets * WIRE_MIN);
}

static void load_add(const struct job *j, u32 from, u32 to, u64 bytes)
{
	u32 a = j->host[from], b = j->host[to];
	u64 wire = load_wire(bytes);

	load_host[a].out += wire;
	load_host[b].in += wire;
	if (a / leaf_size() == b / leaf_size())
		return;
	load_leaf[a / leaf_size()].out += wire;
	load_leaf[b / leaf_size()].in += wire;
}

static double port_room(const struct port *p)
{
	return p->dead ? 0 : 1.0 / (double)p->ps_per_byte;
}

static void room_look(struct room *room)
{
	const struct node *n, *up;
	struct room *r;
	u32 i, k;

	memset(room, 0, par.hosts * sizeof(*room));
	for (i = 0; i < fab.nr_nodes; i++) {
		n = &fab.nodes[i];
		r = &room[n->low / leaf_size()];
		for (k = 0; n->kind == 'l' && k < n->nr_up; k++) {
			up = n->ports[n->nr_down + k]->to;
			r->up += port_room(n->ports[n->nr_down + k]);
			r->down += port_room(up->ports[(n->low - up->low) /
						       up->per]);
		}
	}
}

static double host_time(const struct load *l, u32 i)
{
	return (double)(max(l->in, l->out) + l->piece);
}

/* As if its links had the rates they began with: in longer bytes */
static double leaf_time(const struct load *l, u32 i)
{
	double up = room_first[i].up / max(room_now[i].up, 1e-9);
	double down = room_first[i].down / max(room_now[i].down, 1e-9);

	return max((double)l->out * up, (double)l->in * down) +
	       (double)l->piece * max(up, down);
}

/* ns for what was added; with the longest piece, if it is known */
static u64 load_time(void)
{
	double host = 0, leaf = 0;
	u64 ups = par.spines;
	u32 i;

	if (!strcmp(par.topo, "fat"))
		ups = par.k / 2;
	for (i = 0; i < par.hosts; i++) {
		host = max(host, host_time(&load_host[i], i));
		leaf = max(leaf, leaf_time(&load_leaf[i], i));
	}
	return (u64)max(8000.0 * host / (par.mbps * par.rails), ups ?
			8000.0 * leaf / (par.up_mbps * par.rails * ups) : 0);
}

static void load_none(void)
{
	memset(load_host, 0, par.hosts * sizeof(*load_host));
	memset(load_leaf, 0, par.hosts * sizeof(*load_leaf));
}

static void load_push(const struct job *j, u32 layer)
{
	u32 s, w;

	for (s = 0; s < j->nr_servers; s++)
		for (w = 0; w < j->nr_workers; w++)
			if (!job_is_self(j, w, s))
				load_add(j, w, job_server_rank(j, s),
					 job_piece(j, layer, s));
}

static void load_pull(const struct job *j, u32 layer)
{
	u32 s, w;

	for (s = 0; s < j->nr_servers; s++)
		for (w = 0; w < j->nr_workers; w++)
			if (!job_is_self(j, w, s))
				load_add(j, job_server_rank(j, s), w,
					 job_piece(j, layer, s));
}

/* One piece is sent back to all, after it has come from all */
static void load_piece(const struct job *j, u32 server, u64 bytes)
{
	u32 h = j->host[job_server_rank(j, server)], w, to;
	u64 wire = load_wire(bytes), host = 0, leaf = 0;

	for (w = 0; w < j->nr_workers; w++) {
		if (job_is_self(j, w, server))
			continue;
		to = j->host[w];
		host += wire;
		leaf += to / leaf_size() != h / leaf_size() ? wire : 0;
		load_host[to].piece = max(load_host[to].piece, wire);
	}
	load_host[h].piece = max(load_host[h].piece, host);
	h /= leaf_size();
	load_leaf[h].piece = max(load_leaf[h].piece, leaf);
}

/*
 * ns until the first @nr layers are pushed and sent back. What is sent back may
 * overlap what is pushed, but for one piece, whatever the order: of two machines in a
 * row with the same times the longest piece has both for itself (Johnson 1954).
 */
static u64 shop_time(const struct job *j, u32 nr)
{
	u64 ns;
	u32 i, s;

	load_none();
	for (i = 0; i < nr; i++) {
		load_push(j, i);
		for (s = 0; s < j->nr_servers; s++)
			load_piece(j, s, job_piece(j, i, s));
	}
	ns = load_time();
	load_none();
	for (i = 0; i < nr; i++) {
		load_push(j, i);
		load_pull(j, i);
	}
	return max(ns, load_time());
}

/*
 * ns from the last push on. Who sends a layer on has the one before, so that each
 * takes a way, and its own time at whoever receives it.
 */
static u64 dear_time(const struct job *j)
{
	u64 chain = 0, forward = j->p->forward_us * NSEC_PER_USEC;
	u32 i, s;

	load_none();
	for (i = 0; i < j->p->nr_layers; i++) {
		u64 in = 0;

		load_pull(j, i);
		/* Rank 0 has a piece of its own, which may be the only one */
		for (s = 1; s < j->nr_servers; s++)
			in += load_wire(job_piece(j, i, s));
		chain += j->now->base + in * 8000 / (par.mbps * par.rails);
	}
	return max3(chain, load_time() + j->now->base,
		    forward + j->now->base);
}

/* The shortest message: it may be the last */
static u64 least_piece(const struct job *j)
{
	u64 least = par_payload(), piece;
	u32 i, s;

	for (i = 0; i < j->p->nr_layers; i++)
		for (s = 0; s < j->nr_servers; s++) {
			piece = job_piece(j, i, s);
			if (piece)
				least = min(least, piece);
		}
	return least;
}

/* Of the longest way that has to be gone, beyond its first link's own time */
static u64 base_time(const struct job *j)
{
	u32 wire = (u32)load_wire(least_piece(j)), s, w;
	u64 most = 0;

	if (job_is_ring(j)) {
		wire = par_wire();
		most = fabric_base(j->host[0], j->host[1], wire);
	}
	for (w = 0; w < j->nr_workers; w++)
		for (s = 0; !job_is_ring(j) && s < j->nr_servers; s++)
			if (!job_is_self(j, w, s))
				most = max(most, fabric_base(j->host[w],
							     j->host[job_server_rank(j, s)],
							     wire));
	return most - wire * 8000ULL / par.mbps;
}

static u64 floor_ps(const struct job *j)
{
	u64 backward = j->p->backward_us * NSEC_PER_USEC;
	u64 forward = j->p->forward_us * NSEC_PER_USEC;
	u64 base = j->now->base;
	u32 i;

	load_none();
	for (i = 0; i < j->p->nr_layers; i++)
		load_push(j, i);
	j->now->push = max(load_time(), backward) + base;
	if (!j->p->pull)
		return j->now->push;
	if (j->p->dear)
		return j->now->push + dear_time(j);
	/* The front layer is pushed last and used first */
	return 2 * base + max(shop_time(j, j->p->nr_layers),
			      backward + shop_time(j, 1) + forward);
}

static u64 floor_ring(const struct job *j)
{
	u32 n = j->nr_workers, i;

	load_none();
	for (i = 0; i < n; i++)
		load_add(j, i, (i + 1) % n, j->p->bytes / n);
	return 2 * (n - 1) * (load_time() + j->now->base);
}

/* --- what had to be waited for */

/*
 * Round trips until @bytes have left, but the last: each takes twice as much. A
 * window that is not used by half is not known to be too small (RFC 7661).
 */
static u64 start_time(const struct job *j, u64 bytes, u64 *window)
{
	u64 ns = 0;

	while (bytes > *window) {
		bytes -= *window;
		*window *= 2;
		ns += 2 * j->now->base;
	}
	if (bytes > *window / 2)
		*window *= 2;
	return ns;
}

static void pair_bytes(struct job *j, u32 server)
{
	struct job_ideal *now = j->now;
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < j->p->nr_layers; i++)
		bytes += job_piece(j, i, server);
	now->push_bytes = max(now->push_bytes, bytes);
	if (j->p->pull)
		now->pull_bytes = max(now->pull_bytes, j->p->dear ? bytes :
				      job_piece(j, 0, server));
}

void ideal_make(struct job *j)
{
	struct job_ideal *now;
	u64 own = 0;
	u32 i;

	if (!load_host) {
		load_host = calloc(par.hosts, sizeof(*load_host));
		load_leaf = calloc(par.hosts, sizeof(*load_leaf));
		room_now = calloc(par.hosts, sizeof(*room_now));
		room_first = calloc(par.hosts, sizeof(*room_first));
		room_look(room_first);
		room_look(room_now);
	}
	now = calloc(1, sizeof(*now));
	j->now = now;
	now->base = base_time(j);
	now->push_window = (u64)FIRST_WINDOW * par_payload();
	now->pull_window = now->push_window;
	j->floor = job_is_ring(j) ? floor_ring(j) : floor_ps(j);
	if (job_is_ring(j)) {
		now->push = j->floor;
		now->push_bytes = j->p->bytes / j->nr_workers;
		own = now->push_bytes;
	} else {
		for (i = 0; i < j->nr_servers; i++)
			pair_bytes(j, i);
		for (i = 0; i < j->p->nr_layers; i++)
			own += j->p->layers[i];
		if (j->shared)
			own -= own / j->nr_workers;
	}
	now->own = load_wire(own) * 8000 / (par.mbps * par.rails);
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

/* How fast a step goes on with the rates that links have now */
static double job_pace(struct job *j)
{
	u64 push = j->now->push, floor;

	room_look(room_now);
	floor = job_is_ring(j) ? floor_ring(j) : floor_ps(j);
	j->now->push = push;
	return min((double)j->floor / (double)floor, 1.0);
}

/* A cut is over, or the step is */
static void ideal_cut_ends(struct job_ideal *now)
{
	u64 ns = fab_now() - now->cut_at;

	if (!now->cut_at)
		return;
	if (now->cut_at < now->end)
		now->end += ns;
	else
		now->late_cut += ns;
	now->cut_at = 0;
}

static void ideal_look(struct job *j)
{
	struct job_ideal *now = j->now;
	bool hurt = false, cut;
	double pace;

	if (j->over || !now->end)
		return;
	cut = job_cut(j, &hurt);
	ideal_cut_ends(now);
	if (cut)
		now->cut_at = fab_now();
	/* What else happens after the ideal's end is none of its business */
	if (fab_now() >= now->end)
		return;
	if (!cut) {
		pace = job_pace(j);
		now->end = fab_now() + (u64)((double)(now->end - fab_now()) *
					     now->pace / pace);
		now->pace = pace;
	}
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

	push = max(push, start_time(j, now->push_bytes, &now->push_window) +
			 now->base + last);
	if (j->p->pull)
		rest = max(rest, now->base +
			   start_time(j, now->pull_bytes, j->shared ?
				      &now->push_window : &now->pull_window));
	now->hurt = false;
	now->faults = fab.stats.faults;
	now->cut_at = 0;
	now->late_cut = 0;
	now->pace = 1;
	now->end = j->began + push + rest;
	if (par.nr_faults)
		ideal_look(j);
}

/*
 * The round trip for a hurt way is what the first loss costs. Most ways of a job are
 * not the one that is hurt, and a step of which no packet was lost need not wait: of a
 * step of one way's time this would be two thirds.
 */
u64 ideal_end(struct job *j, u64 *late_cut)
{
	struct job_ideal *now = j->now;
	bool spared = now->hurt && fab.stats.faults == now->faults;

	ideal_cut_ends(now);
	*late_cut = now->late_cut;
	return now->end - j->began - (spared ? 2 * now->base : 0);
}

void ideal_fault(void)
{
	struct job *j;

	for (j = jobs_all; j < jobs_all + jobs_nr; j++)
		ideal_look(j);
}
