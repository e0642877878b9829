// SPDX-License-Identifier: GPL-2.0
/* Who is cabled to whom, and which way a packet takes. */
#include "fabric.h"

struct fabric fab;

u64 rng_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

u32 mix32(u32 a, u32 b, u32 c)
{
	u64 x = ((u64)a << 32 | b) ^ c * 0x9e3779b97f4a7c15ULL;

	return (u32)(rng_next(&x) >> 32);
}

/* FNV-1a, by words */
static u64 hash_add(u64 hash, u64 word)
{
	return (hash ^ word) * 0x100000001b3ULL;
}

void fabric_note(const struct pkt *k)
{
	u32 len = min_t(u32, k->head, k->len), at;
	u64 hash, word;

	hash = hash_add(fab.hash, fab_now() ^ (u64)k->src << 40 ^
			(u64)k->dst << 20 ^ k->wire);
	for (at = 0; at < len; at += sizeof(word)) {
		word = 0;
		memcpy(&word, k->data + at, min_t(u32, len - at, sizeof(word)));
		hash = hash_add(hash, word);
	}
	fab.hash = hash;
}

struct port *node_route(const struct node *n, u32 dst, u32 entropy)
{
	u32 hash;

	if (dst >= n->low && dst < n->high)
		return n->ports[(dst - n->low) / n->per];
	hash = mix32(entropy, n->salt, dst);
	if (par.spray)
		hash = (u32)rng_next(&fab.rng);
	return n->ports[n->nr_down + (u32)((u64)hash * n->nr_up >> 32)];
}

static struct port *port_make(struct node *from, struct node *to, u64 mbps,
			      u8 rail)
{
	struct port *p = calloc(1, sizeof(*p));

	p->from = from;
	p->to = to;
	p->rail = rail;
	p->ps_per_byte = 8000000 / mbps;
	port_init(p);
	return p;
}

static void cable(struct node *low, u32 up, struct node *high, u32 down,
		  u64 mbps, u8 rail)
{
	low->ports[low->nr_down + up] = port_make(low, high, mbps, rail);
	high->ports[down] = port_make(high, low, mbps, rail);
}

static struct node *node_make(char kind, u32 nr, u32 low, u32 high, u32 per,
			      u32 nr_up)
{
	struct node *n = &fab.nodes[fab.nr_nodes++];

	n->kind = kind;
	n->nr = nr;
	n->low = low;
	n->high = min_t(u32, high, (u32)par.hosts);
	n->per = per;
	n->nr_down = (n->high - low + per - 1) / per;
	n->nr_up = nr_up;
	n->salt = (u32)rng_next(&fab.rng);
	n->ports = calloc(n->nr_down + nr_up, sizeof(*n->ports));
	return n;
}

/* Hosts low .. at @leaf */
static void plug(struct node *leaf, u8 rail)
{
	u32 i;

	for (i = leaf->low; i < leaf->high; i++)
		cable(&fab.nodes[i], rail, leaf, i - leaf->low, par.mbps, rail);
}

static void make_leaf_spine(u8 rail, u32 per, u32 spines)
{
	u32 leaves = ((u32)par.hosts + per - 1) / per, i, k;
	struct node *leaf = fab.nodes + fab.nr_nodes;
	struct node *spine;

	for (i = 0; i < leaves; i++)
		plug(node_make('l', rail * leaves + i, i * per, (i + 1) * per,
			       1, spines), rail);
	for (k = 0; k < spines; k++) {
		spine = node_make('s', rail * spines + k, 0, (u32)par.hosts,
				  per, 0);
		for (i = 0; i < leaves; i++)
			cable(&leaf[i], k, spine, i, par.up_mbps, rail);
	}
}

/* Al-Fares et al., SIGCOMM 2008 */
static void make_fat_tree(u8 rail)
{
	u32 half = (u32)par.k / 2, pods = (u32)par.k, pod, i, k;
	u32 size = half * half;
	struct node *first = fab.nodes + fab.nr_nodes, *agg, *core;

	for (pod = 0; pod < pods; pod++) {
		for (i = 0; i < half; i++)
			plug(node_make('l', pod * half + i,
				       pod * size + i * half,
				       pod * size + (i + 1) * half, 1, half),
			     rail);
		for (i = 0; i < half; i++) {
			agg = node_make('a', pod * half + i, pod * size,
					(pod + 1) * size, half, half);
			for (k = 0; k < half; k++)
				cable(agg - i - half + k, i, agg, k,
				      par.up_mbps, rail);
		}
	}
	for (i = 0; i < size; i++) {
		core = node_make('s', i, 0, (u32)par.hosts, size, 0);
		for (pod = 0; pod < pods; pod++)
			cable(first + pod * 2 * half + half + i / half,
			      i % half, core, pod, par.up_mbps, rail);
	}
}

static void make_hosts(void)
{
	u32 i;

	for (i = 0; i < par.hosts; i++)
		node_make('h', i, i, i, 1, (u32)par.rails);
	fab.slow = calloc(par.hosts, sizeof(*fab.slow));
	for (i = 0; i < par.hosts; i++)
		fab.slow[i] = 100;
}

void fabric_init(const struct port_ops *disc, u32 bands)
{
	u32 switches = (u32)(par.hosts + par.spines + 5 * par.k * par.k + 2);
	u8 rail;

	fab.rng = par.seed * 0x2545f4914f6cdd1dULL + 1;
	fab.fault_rng = ~fab.rng;
	fab.disc = disc;
	fab.bands = bands;
	fab.limit = par.queue * par_wire();
	fab.mark = par.ecn * par_wire();
	fab.mark_min = par.ecn_min * par_wire();
	fabric_start();
	fab.nodes = calloc(par.hosts + par.rails * switches,
			   sizeof(*fab.nodes));
	make_hosts();
	for (rail = 0; rail < par.rails; rail++) {
		if (!strcmp(par.topo, "fat"))
			make_fat_tree(rail);
		else if (!strcmp(par.topo, "leaf"))
			make_leaf_spine(rail, (u32)par.per, (u32)par.spines);
		else
			make_leaf_spine(rail, (u32)par.hosts, 0);
	}
	fabric_cables();
}

void fabric_ports(void (*fn)(struct port *p, void *arg), void *arg)
{
	u32 i, k;

	for (i = 0; i < fab.nr_nodes; i++)
		for (k = 0; k < fab.nodes[i].nr_down + fab.nodes[i].nr_up; k++)
			fn(fab.nodes[i].ports[k], arg);
}

u64 fabric_base(u32 src, u32 dst, u32 wire)
{
	struct pkt k = { .src = src, .dst = dst, .wire = wire };
	struct node *n = fab.nodes[src].ports[0]->to;
	u64 ps = wire * fab.nodes[src].ports[0]->ps_per_byte;
	u64 ns = par.delay_ns;
	struct port *p;

	while (n->kind != 'h') {
		if (dst >= n->low && dst < n->high)
			p = n->ports[(dst - n->low) / n->per];
		else
			p = n->ports[n->nr_down];
		ps += k.wire * p->ps_per_byte;
		ns += par.delay_ns;
		n = p->to;
	}
	return ns + ps / 1000;
}
