// SPDX-License-Identifier: GPL-2.0
/*
 * The simulator: what the connections of a host share. Its receiving links grant
 * rates, its devices say who sends next. A connection that has its hosts for
 * itself never waits for a turn, so only shared devices count what they hold.
 */
#include "sim.h"

static void host_init(struct sim_host *h)
{
	u32 i;

	for (i = 0; i < DLCP_PAIRS_MAX; i++) {
		dlcp_grant_init(&h->grant[i]);
		dlcp_egress_init(&h->dev[i].sched);
	}
}

/* ---- receiving links ---- */

static void ep_link_leave(struct sim_ep *e)
{
	if (e->grant)
		dlcp_grant_leave(e->grant, &e->ingress.grantee);
	e->grant = NULL;
}

/* Data of @m came, or of none that is still wanted */
static void ep_link_data(struct sim_ep *e, const struct sim_pkt *k,
			 const struct dlcp_rxmsg *m)
{
	struct dlcp_conn *c = &e->c;
	u64 now = e->s->now, rate = 0;

	if (c->state == DLCP_CLOSED || e->own_rate)
		return;
	if (dlcp_ingress_moves(&e->ingress, k->pair + 1, now))
		ep_link_leave(e);
	if (!e->grant && !dlcp_ingress_mixed(&e->ingress, now))
		e->grant = &e->host->grant[k->pair];
	if (e->grant)
		rate = dlcp_ingress_data(&e->ingress, e->grant, c, m,
					 k->len + c->cfg.overhead, now);
	dlcp_conn_grant(c, rate);
}

static void ep_link_rest(struct sim_ep *e)
{
	if (e->grant)
		dlcp_ingress_rest(&e->ingress, e->grant, &e->c, e->s->now);
}

/* ---- devices ---- */

static void dev_wake(struct sim_dev *dev, u64 now)
{
	struct dlcp_egress_entry *next = dlcp_egress_call(&dev->sched, dev->out);

	if (next)
		container_of(next, struct sim_flow, entry)->e->called = now;
}

static u64 ep_egress(struct dlcp_conn *c, u8 pair, bool late)
{
	struct sim_ep *e = container_of(c, struct sim_ep, c);
	struct sim_dev *dev = &e->host->dev[pair];
	struct sim_flow *f = &e->flow[pair];

	if (dlcp_egress_free(&dev->sched, dev->out, f->out))
		return 0;
	e->waited++;
	return dlcp_egress_turn(&dev->sched, &f->entry, c, dev->out, f->out,
				late);
}

/* It has sent what it wanted to send for now, or will never send again */
static void ep_egress_done(struct sim_ep *e, bool over)
{
	struct sim_dev *dev;
	u32 i;

	for (i = 0; e->s->next != e->s && i < DLCP_PAIRS_MAX; i++) {
		dev = &e->host->dev[i];
		if (over)
			dlcp_egress_quit(&dev->sched, &e->flow[i].entry);
		else
			dlcp_egress_pass(&dev->sched, &e->flow[i].entry);
		dev_wake(dev, e->s->now);
	}
}

/* @wire bytes are in the device's queue until @at */
static void ep_egress_charge(struct sim_ep *e, u8 pair, u32 wire, u64 at)
{
	struct sim_dev *dev = &e->host->dev[pair];

	if (e->s->next == e->s)
		return;
	e->flow[pair].out += wire;
	dev->out += wire;
	if (dev->sched.nr)
		dlcp_egress_sent(&dev->sched, &e->flow[pair].entry, wire);
	heap_push(e->s, (struct sim_pkt) {
		.time = at, .to = e->n, .pair = pair, .len = wire });
}

static void ep_egress_sent(struct sim_ep *e, const struct sim_pkt *k)
{
	struct sim_dev *dev = &e->host->dev[k->pair];

	e->flow[k->pair].out -= k->len;
	dev->out -= k->len;
	if (!dev->sched.nr)
		return;
	dlcp_egress_freed(&dev->sched, dev->out, e->s->now);
	dev_wake(dev, e->s->now);
}

void sim_share(struct sim *s, struct sim *with, u32 ends)
{
	struct sim_ep *e;

	s->next = with->next;
	with->next = s;
	for (e = s->ep; e < s->ep + 2; e++) {
		if (ends & BIT(e->n))
			e->host = with->ep[e->n].host;
		e->out = with->ep[e->n].out;
	}
}
