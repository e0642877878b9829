// SPDX-License-Identifier: GPL-2.0
/*
 * fabric.h and wheel.h over ns-3: packets and events are handed to it, and what
 * it says is handed on. topology.c says who is cabled to whom.
 */
#include "fabric.h"
#include "net.h"
#include "proto.h"

/* Between two looks at whether the run is over */
#define SLICE		(20ULL * NSEC_PER_USEC)

struct pkt *pkt_new(u32 room)
{
	struct pkt *k = calloc(1, sizeof(*k) + room);

	k->head = (u16)room;
	return k;
}

void pkt_free(struct pkt *k)
{
	free(k);
}

/* --- events */

void wheel_add(struct wheel *w, struct ev *e, u64 time)
{
	e->link = net_at(time, e);
	e->time = time;
}

void wheel_del(struct wheel *w, struct ev *e)
{
	if (!e->link)
		return;
	net_cancel(e->link);
	e->link = NULL;
}

void fab_fire(void *ev)
{
	struct ev *e = ev;

	wheel_del(&fab.wheel, e);
	fab.wheel.now = net_now();
	e->fn(e);
}

bool wheel_step(struct wheel *w, u64 until)
{
	u64 now = net_now();

	if (now >= until)
		return false;
	net_run(min(until, now + SLICE));
	w->now = net_now();
	w->done = net_events();
	return true;
}

/* --- packets */

void fabric_send(struct pkt *k)
{
	net_send(k->src, k->dst, k->hash, k->ect, k->data,
		 min_t(u32, k->head, k->len), k->len, k->wire, k->owner);
	pkt_free(k);
}

void fab_arrived(u32 host, u32 src, bool ce, const void *data, u32 head,
		 u32 len, u32 wire)
{
	struct pkt *k = pkt_new(max(head, 256U));

	fab.wheel.now = net_now();
	memcpy(k->data, data, head);
	k->head = head;
	k->src = src;
	k->dst = host;
	k->len = len;
	k->wire = wire;
	k->ce = ce;
	k->proto = proto_dlcp.nr;
	fabric_note(k);
	fab.rx(host, k);
}

void fab_left(void *owner, u32 wire)
{
	fab.wheel.now = net_now();
	fab.sent(proto_dlcp.nr, owner, 0, wire);
}

u32 fab_way(u32 node, u32 dst, u32 entropy)
{
	const struct node *n = &fab.nodes[node];
	struct port *p = node_route(n, dst, entropy);
	u32 i = 0;

	fab.stats.packets++;
	while (n->ports[i] != p)
		i++;
	return i;
}

bool fab_loses(void *port)
{
	struct port *p = port;

	if (!p->dead && !(p->loss_ppm &&
			  rng_below(&fab.fault_rng, 1000000) < p->loss_ppm))
		return false;
	fab.stats.faults++;
	return true;
}

void fab_dropped(void)
{
	fab.stats.drops++;
}

void fab_marked(void)
{
	fab.stats.marks++;
}

/* --- cables */

void port_init(struct port *p)
{
}

static void refuse(const char *what)
{
	fprintf(stderr, "scale: not under ns-3: %s\n", what);
	exit(2);
}

static u32 number_of(const struct node *n)
{
	return (u32)(n - fab.nodes);
}

static struct port *back_of(const struct port *p)
{
	u32 i = 0;

	while (p->to->ports[i]->to != p->from)
		i++;
	return p->to->ports[i];
}

static u64 rate_of(const struct port *p)
{
	return 8000000000000ULL / p->ps_per_byte;
}

/* Devices have the order of ports: all of a node's ports down are cabled while it
 * is the upper node, in order, before those up
 */
static void cable_down(struct node *n)
{
	struct port *p, *q;
	u32 i;

	for (i = 0; i < n->nr_down; i++) {
		p = n->ports[i];
		q = back_of(p);
		net_cable(number_of(n), rate_of(p), p, number_of(p->to),
			  rate_of(q), q);
	}
}

static void cable_kind(char kind)
{
	u32 i;

	for (i = 0; i < fab.nr_nodes; i++)
		if (fab.nodes[i].kind == kind)
			cable_down(&fab.nodes[i]);
}

void fabric_start(void)
{
	u32 i;

	if (par.rails > 1 || par.spray || !strcmp(par.disc, "ndp") ||
	    !strcmp(par.disc, "pfabric") || fab.bands > 1)
		refuse("rails, spray, bands and other queues");
	for (i = 0; i < par.nr_faults; i++)
		if (!strncmp(par.fault[i], "slow", 4))
			refuse("links that become slow");
	fab.wheel.now = net_now();
}

void fabric_cables(void)
{
	struct net_config c = {
		.nodes = fab.nr_nodes, .hosts = (u32)par.hosts,
		.wire = par_wire() - NET_GAP, .payload = par_payload(),
		.queue = fab.limit, .mark = fab.mark, .mark_min = fab.mark_min,
		.delay = par.delay_ns, .seed = par.seed,
		.min_rto = (par.rto_us ?: 200000) * NSEC_PER_USEC,
	};

	net_init(&c);
	cable_kind('l');
	cable_kind('a');
	cable_kind('s');
	net_start();
}

const struct port_ops port_drop_tail = { .name = "drop" };
const struct port_ops port_ndp = { .name = "ndp" };
const struct port_ops port_pfabric = { .name = "pfabric" };
