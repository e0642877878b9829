// SPDX-License-Identifier: GPL-2.0
/*
 * NDP (Handley et al., SIGCOMM 2017): a sender begins with what the network holds,
 * each packet by another way. Switches cut packets they have no room for. The
 * receiver acknowledges packets, tells of headers, and asks for one more packet for
 * each that came: all that comes to it from all senders at the rate of its card.
 * What a switch sends back, and what is never heard of for rto_us (1 ms unless
 * set), goes again.
 */
#include "peer.h"

#define RTO	NSEC_PER_MSEC

struct flow {
	struct list_head node;	/* sender: of its host, in turns */
	struct list_head pulls;	/* receiver: of its host, in turns */
	struct xfer *x;
	u8	*state;		/* enum peer_seg, by packet */
	u8	*have;		/* the receiver's */
	u32	nr;
	u32	next;		/* first that was never sent */
	u32	lost;
	u32	lost_low;
	u32	acked;
	u32	flies;
	u32	first;		/* packets of the first window */
	u64	sent;
	u64	told;		/* pulls, of the receiver */
	u64	extra;		/* packets without a pull: timeouts, what came back */
	u32	came;
	u32	owed;		/* the receiver's: pulls to be sent, */
	u64	pulled;		/* and those that were */
	struct ev timer;
};

struct host {
	struct list_head flows;
	struct list_head pulls;
	struct ev pacer;	/* it may pull again */
};

static struct host *hosts;
static struct proto_stats stats;
static u64 ways;
static u8 proto_nr;

static struct pkt *packet(struct flow *f, u8 type, bool back, u64 seq, u32 wire)
{
	u32 src = back ? f->x->dst : f->x->src;
	u32 dst = back ? f->x->src : f->x->dst;
	struct pkt *k = peer_pkt(proto_nr, type, src, dst, f, seq, wire);

	k->hash = (u32)rng_next(&ways);
	return k;
}

/* --- sender */

static bool may_send(const struct flow *f)
{
	return f->sent < f->first + f->told + f->extra &&
	       (f->lost || f->next < f->nr);
}

static void arm(struct flow *f)
{
	u64 wait = par.rto_us ? par.rto_us * NSEC_PER_USEC : RTO;

	wheel_del(&fab.wheel, &f->timer);
	if (f->acked < f->nr)
		wheel_add(&fab.wheel, &f->timer, fab_now() + wait);
}

static u32 next_of(struct flow *f)
{
	u32 i;

	if (!f->lost)
		return f->next++;
	for (i = f->lost_low; f->state[i] != SEG_LOST; i++)
		;
	f->lost_low = i + 1;
	f->lost--;
	stats.resent++;
	return i;
}

static struct pkt *ndp_pull(u32 host, u8 rail)
{
	struct flow *f;
	u32 i;

	if (rail)
		return NULL;
	list_for_each_entry(f, &hosts[host].flows, node) {
		if (!may_send(f))
			continue;
		list_move_tail(&f->node, &hosts[host].flows);
		i = next_of(f);
		f->state[i] = SEG_FLIES;
		f->flies++;
		f->sent++;
		stats.sent++;
		if (!ev_waits(&f->timer))
			arm(f);
		return packet(f, PEER_DATA, false, i, peer_wire(f->x->bytes, i));
	}
	return NULL;
}

static void lose(struct flow *f, u32 i)
{
	if (f->state[i] != SEG_FLIES)
		return;
	f->state[i] = SEG_LOST;
	f->flies--;
	f->lost++;
	f->lost_low = min(f->lost_low, i);
}

/* Of what was on its way nothing is heard: it was not cut but lost */
static void ndp_timer(struct ev *e)
{
	struct flow *f = container_of(e, struct flow, timer);
	u32 i;

	stats.timeouts++;
	for (i = 0; i < f->next; i++)
		lose(f, i);
	/* One if only pulls were lost */
	f->extra += clamp(f->lost, 1U, f->first);
	arm(f);
	fabric_kick(f->x->src, 0);
}

static void rx_ack(struct flow *f, struct pkt *k)
{
	u32 i = (u32)k->seq;

	if (k->a) {
		lose(f, i);
	} else if (f->state[i] != SEG_ACKED) {
		f->flies -= f->state[i] == SEG_FLIES;
		f->lost -= f->state[i] == SEG_LOST;
		stats.spurious += f->state[i] == SEG_LOST;
		f->state[i] = SEG_ACKED;
		f->acked++;
	}
	if (f->acked == f->nr)
		list_del_init(&f->node);
	arm(f);
}

/* A header that came back: who expects no pull sends at once */
static void rx_bounced(struct flow *f, struct pkt *k)
{
	lose(f, (u32)k->seq);
	if (!f->flies && !may_send(f))
		f->extra++;
}

/* --- receiver */

static void pull_next(struct ev *e)
{
	struct host *h = container_of(e, struct host, pacer);
	struct flow *f;

	if (list_empty(&h->pulls))
		return;
	f = list_first_entry(&h->pulls, struct flow, pulls);
	f->pulled++;
	if (--f->owed)
		list_move_tail(&f->pulls, &h->pulls);
	else
		list_del_init(&f->pulls);
	fabric_send(packet(f, PEER_PULL, true, f->pulled, WIRE_MIN));
	wheel_add(&fab.wheel, e, fab_now() + par_wire() * 8000ULL / par.mbps);
}

static void owe_pull(struct flow *f)
{
	struct host *h = &hosts[f->x->dst];

	if (f->came == f->nr) {
		f->owed = 0;
		list_del_init(&f->pulls);
		return;
	}
	if (!f->owed++)
		list_add_tail(&f->pulls, &h->pulls);
	if (!ev_waits(&h->pacer))
		pull_next(&h->pacer);
}

static void rx_data(struct flow *f, struct pkt *k)
{
	struct pkt *ack = packet(f, PEER_ACK, true, k->seq, WIRE_MIN);

	ack->a = k->trimmed;
	fabric_send(ack);
	if (!k->trimmed && !f->have[k->seq]) {
		f->have[k->seq] = 1;
		if (++f->came == f->nr)
			xfer_done(f->x);
	}
	owe_pull(f);
}

static void ndp_rx(u32 host, struct pkt *k)
{
	struct flow *f = k->flow;

	if (k->type == PEER_ACK)
		rx_ack(f, k);
	else if (k->type == PEER_PULL)
		f->told = max(f->told, k->seq);
	else if (k->trimmed == 2)
		rx_bounced(f, k);
	else
		rx_data(f, k);
	fabric_kick(f->x->src, 0);
	pkt_free(k);
}

/* --- messages */

static void ndp_send(struct xfer *x)
{
	struct flow *f = calloc(1, sizeof(*f));

	f->x = x;
	f->nr = peer_packets(x->bytes);
	f->state = calloc(f->nr, 1);
	f->have = calloc(f->nr, 1);
	f->first = peer_bdp(x->src, x->dst);
	f->timer.fn = ndp_timer;
	INIT_LIST_HEAD(&f->pulls);
	list_add_tail(&f->node, &hosts[x->src].flows);
	fabric_kick(x->src, 0);
}

static void ndp_setup(u8 nr)
{
	u32 i;

	proto_nr = nr;
	ways = par.seed;
	hosts = calloc(par.hosts, sizeof(*hosts));
	for (i = 0; i < par.hosts; i++) {
		INIT_LIST_HEAD(&hosts[i].flows);
		INIT_LIST_HEAD(&hosts[i].pulls);
		hosts[i].pacer.fn = pull_next;
	}
}

static void ndp_stats(struct proto_stats *s)
{
	*s = stats;
}

struct proto proto_ndp = {
	.name = "ndp", .disc = &port_ndp, .bands = 2,
	.setup = ndp_setup, .send = ndp_send, .rx = ndp_rx, .pull = ndp_pull,
	.stats = ndp_stats,
};
