// SPDX-License-Identifier: GPL-2.0
/* What switches do with packets that must wait. */
#include "fabric.h"

static u32 band_of(const struct pkt *k)
{
	return min_t(u32, k->band, fab.bands - 1);
}

/* RED by the length that the queue has now, as DCTCP wants it */
static bool beyond_mark(const struct port *p)
{
	u64 over;

	if (!fab.mark || p->bytes < fab.mark_min)
		return false;
	if (p->bytes >= fab.mark)
		return true;
	over = p->bytes - fab.mark_min;
	return rng_below(&fab.rng, fab.mark - fab.mark_min) < over;
}

static void tail_put(struct port *p, struct pkt *k)
{
	if (p->bytes + k->wire > fab.limit) {
		port_drop(k, &fab.stats.drops);
		return;
	}
	if (beyond_mark(p)) {
		if (k->droppable) {
			port_drop(k, &fab.stats.early);
			return;
		}
		if (k->ect && !k->ce) {
			k->ce = 1;
			fab.stats.marks++;
		}
	}
	band_put(p, band_of(k), k);
}

static struct pkt *tail_get(struct port *p)
{
	struct pkt *k = NULL;
	u32 i;

	for (i = 0; i < fab.bands && !k; i++)
		k = band_get(p, i);
	return k;
}

const struct port_ops port_drop_tail = {
	.name = "drop", .put = tail_put, .get = tail_get,
};

/* Full packets of data that wait, and headers sent for each of them */
#define NDP_DATA	8
#define NDP_TURNS	10

/* A header that finds no room goes back to its sender, once */
static void ndp_header(struct port *p, struct pkt *k)
{
	u64 room = NDP_DATA * par_wire();
	u32 host;

	if (p->band[0].bytes + k->wire <= room) {
		band_put(p, 0, k);
		return;
	}
	if (!k->trimmed || k->trimmed == 2) {
		port_drop(k, &fab.stats.drops);
		return;
	}
	k->trimmed = 2;
	fab.stats.bounced++;
	host = k->src;
	k->src = k->dst;
	k->dst = host;
	/* Through this switch again, and from here by its own way */
	fabric_again(p->from, k);
}

static void ndp_cut(struct pkt *k)
{
	k->trimmed = 1;
	k->wire = WIRE_MIN;
	k->band = 0;
	fab.stats.trims++;
}

/* The packet that came last or the one before it, at random: the end of a queue
 * shall not always hit the same sender
 */
static struct pkt *ndp_choose(struct port *p, struct pkt *k)
{
	struct band *b = &p->band[1];
	struct pkt **at = &b->head, *last;

	if (!b->head || rng_below(&fab.rng, 2))
		return k;
	while ((*at)->next)
		at = &(*at)->next;
	last = *at;
	*at = NULL;
	b->tail = at;
	b->bytes -= last->wire;
	p->bytes -= last->wire;
	band_put(p, 1, k);
	return last;
}

static void ndp_put(struct port *p, struct pkt *k)
{
	if (!k->band || k->trimmed) {
		ndp_header(p, k);
	} else if (p->band[1].bytes + k->wire <= NDP_DATA * par_wire()) {
		band_put(p, 1, k);
	} else {
		k = ndp_choose(p, k);
		ndp_cut(k);
		ndp_header(p, k);
	}
}

static struct pkt *ndp_get(struct port *p)
{
	bool data = p->band[1].head;

	if (p->band[0].head && (!data || p->turn < NDP_TURNS)) {
		p->turn++;
		return band_get(p, 0);
	}
	p->turn = 0;
	return band_get(p, 1);
}

const struct port_ops port_ndp = {
	.name = "ndp", .put = ndp_put, .get = ndp_get,
};

/* The packet with the largest rank, the last such one */
static struct pkt **worst_of(struct port *p)
{
	struct pkt **at, **worst = NULL;

	for (at = &p->band[1].head; *at; at = &(*at)->next)
		if (!worst || (*at)->rank >= (*worst)->rank)
			worst = at;
	return worst;
}

static struct pkt *take(struct port *p, struct pkt **at)
{
	struct band *b = &p->band[1];
	struct pkt *k = *at;

	*at = k->next;
	if (!k->next)
		b->tail = at;
	b->bytes -= k->wire;
	p->bytes -= k->wire;
	return k;
}

static void pfabric_put(struct port *p, struct pkt *k)
{
	struct pkt **worst;

	if (!k->band) {
		band_put(p, 0, k);
		return;
	}
	while (p->bytes + k->wire > fab.limit) {
		worst = worst_of(p);
		if (!worst || (*worst)->rank <= k->rank) {
			port_drop(k, &fab.stats.drops);
			return;
		}
		port_drop(take(p, worst), &fab.stats.drops);
	}
	band_put(p, 1, k);
}

/* The smallest rank, and of its message the packet that came first */
static struct pkt *pfabric_get(struct port *p)
{
	struct pkt *k = band_get(p, 0), **at, **best = NULL;

	if (k)
		return k;
	for (at = &p->band[1].head; *at; at = &(*at)->next)
		if (!best || (*at)->rank < (*best)->rank)
			best = at;
	if (!best)
		return NULL;
	for (at = &p->band[1].head; (*at)->flow != (*best)->flow; )
		at = &(*at)->next;
	return take(p, at);
}

const struct port_ops port_pfabric = {
	.name = "pfabric", .put = pfabric_put, .get = pfabric_get,
};
