// SPDX-License-Identifier: GPL-2.0
/* Packets, and how they cross links. */
#include "fabric.h"

static const u16 pkt_sizes[] = { 64, 256, 2048, 9216 };
static struct pkt *pkt_pool[ARRAY_SIZE(pkt_sizes)];

struct pkt *pkt_new(u32 room)
{
	struct pkt *k;
	u16 n = 0;

	while (pkt_sizes[n] < room)
		n++;
	k = pkt_pool[n];
	if (k)
		pkt_pool[n] = k->next;
	else
		k = malloc(sizeof(*k) + pkt_sizes[n]);
	memset(k, 0, sizeof(*k) + room);
	k->size = n;
	k->head = room;
	return k;
}

void pkt_free(struct pkt *k)
{
	k->next = pkt_pool[k->size];
	pkt_pool[k->size] = k;
}

/* --- queues */

void band_put(struct port *p, u32 band, struct pkt *k)
{
	struct band *b = &p->band[band];

	if (!b->head)
		b->tail = &b->head;
	k->next = NULL;
	*b->tail = k;
	b->tail = &k->next;
	b->bytes += k->wire;
	p->bytes += k->wire;
}

struct pkt *band_get(struct port *p, u32 band)
{
	struct band *b = &p->band[band];
	struct pkt *k = b->head;

	if (k) {
		b->head = k->next;
		b->bytes -= k->wire;
		p->bytes -= k->wire;
	}
	return k;
}

void port_drop(struct pkt *k, u64 *counter)
{
	(*counter)++;
	pkt_free(k);
}

/* --- links */

static void node_rx(struct node *n, struct pkt *k);

static void arrived(struct ev *e)
{
	struct pkt *k = container_of(e, struct pkt, ev);

	node_rx(k->port->to, k);
}

static bool port_is_card(const struct port *p)
{
	return p->from->kind == 'h';
}

static struct pkt *port_next(struct port *p)
{
	struct pkt *k = p->ops->get(p);

	if (!k && port_is_card(p))
		k = fab.pull(p->from->nr, p->rail);
	if (k)
		k->rail = p->rail;
	return k;
}

static void port_transmit(struct port *p, struct pkt *k)
{
	u64 ps = k->wire * p->ps_per_byte + p->frac_ps;

	p->idle_at = fab_now() + ps / 1000;
	p->frac_ps = ps % 1000;
	p->out_owner = k->owner;
	p->out_wire = k->wire;
	p->out_proto = k->proto;
	if (p->dead || (p->loss_ppm &&
			rng_below(&fab.fault_rng, 1000000) < p->loss_ppm)) {
		port_drop(k, &fab.stats.faults);
		return;
	}
	k->port = p;
	k->ev.fn = arrived;
	wheel_add(&fab.wheel, &k->ev, p->idle_at + par.delay_ns);
}

/* A card tells of each packet that left; a switch's port only works on */
static void port_run(struct port *p)
{
	struct pkt *k;

	if (ev_waits(&p->ev))
		return;
	if (fab_now() >= p->idle_at) {
		k = port_next(p);
		if (!k)
			return;
		port_transmit(p, k);
		p->waits = port_is_card(p);
	}
	if (p->waits || p->bytes)
		wheel_add(&fab.wheel, &p->ev, p->idle_at);
}

static void port_idle(struct ev *e)
{
	struct port *p = container_of(e, struct port, ev);

	if (p->waits) {
		p->waits = false;
		if (p->out_owner)
			fab.sent(p->out_proto, p->out_owner, p->rail,
				 p->out_wire);
	}
	port_run(p);
}

static void port_count(struct port *p)
{
	struct fabric_stats *s = &fab.stats;

	s->packets++;
	s->queue_sum += p->bytes;
	s->queue_max = max(s->queue_max, p->bytes);
	s->bins[min_t(u64, p->bytes * FABRIC_BINS / fab.limit, FABRIC_BINS)]++;
}

void fabric_send(struct pkt *k)
{
	struct port *p = fab.nodes[k->src].ports[k->rail];

	k->port = p;
	band_put(p, !!k->band, k);
	port_run(p);
}

void fabric_kick(u32 host, u8 rail)
{
	port_run(fab.nodes[host].ports[rail]);
}

static void node_rx(struct node *n, struct pkt *k)
{
	struct port *p;

	if (n->kind != 'h') {
		p = node_route(n, k->dst, k->hash);
		port_count(p);
		p->ops->put(p, k);
		port_run(p);
		return;
	}
	fabric_note(k);
	fab.rx(n->nr, k);
}

void fabric_again(struct node *n, struct pkt *k)
{
	node_rx(n, k);
}

/* --- the hosts' cards: control first, and room for all that was sent */

static void card_put(struct port *p, struct pkt *k)
{
	band_put(p, !!k->band, k);
}

static struct pkt *card_get(struct port *p)
{
	struct pkt *k = band_get(p, 0);

	return k ?: band_get(p, 1);
}

static const struct port_ops port_card = {
	.name = "card", .put = card_put, .get = card_get,
};

void port_init(struct port *p)
{
	p->ops = port_is_card(p) ? &port_card : fab.disc;
	p->ev.fn = port_idle;
}

void fabric_start(void)
{
	wheel_init(&fab.wheel, (u32)par.shift, (u32)par.bits, NSEC_PER_SEC);
}

void fabric_cables(void)
{
}
