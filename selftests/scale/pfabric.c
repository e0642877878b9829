// SPDX-License-Identifier: GPL-2.0
/*
 * pFabric (Alizadeh et al., SIGCOMM 2013): packets carry what their message has to
 * go, and switches with small buffers keep and send the least of it. A sender
 * begins with a window of what the network holds; losses are found by a timeout
 * of three round trips alone, after which it starts slowly; after five in a row it
 * sends probes without payload.
 */
#include "peer.h"

#define PROBE_AFTER	5

struct flow {
	struct list_head node;	/* of its host */
	struct xfer *x;
	u8	*state;		/* enum peer_seg, by packet */
	u8	*have;		/* the receiver's */
	u32	nr;
	u32	next;		/* first that was never sent */
	u32	lost;
	u32	lost_low;
	u32	acked;
	u32	came;
	u32	flies;
	u32	timeouts;	/* in a row */
	u32	most;
	double	cwnd;
	bool	probes;
	struct ev timer;
};

static struct list_head *flows;	/* of each host */
static struct proto_stats stats;
static u8 proto_nr;

static u64 rto(const struct flow *f)
{
	if (par.rto_us)
		return par.rto_us * NSEC_PER_USEC;
	return 3 * peer_rtt(f->x->src, f->x->dst);
}

static bool may_send(const struct flow *f)
{
	return !f->probes && f->flies < (u32)f->cwnd &&
	       (f->lost || f->next < f->nr);
}

static struct pkt *flow_packet(struct flow *f, u32 i)
{
	struct pkt *k;

	f->state[i] = SEG_FLIES;
	f->flies++;
	stats.sent++;
	k = peer_pkt(proto_nr, PEER_DATA, f->x->src, f->x->dst, f, i,
		     peer_wire(f->x->bytes, i));
	k->rank = f->nr - f->acked;
	if (!ev_waits(&f->timer))
		wheel_add(&fab.wheel, &f->timer, fab_now() + rto(f));
	return k;
}

/* The message with the least to go */
static struct pkt *pf_pull(u32 host, u8 rail)
{
	struct flow *f, *best = NULL;
	u32 i;

	if (rail)
		return NULL;
	list_for_each_entry(f, &flows[host], node)
		if (may_send(f) &&
		    (!best || f->nr - f->acked < best->nr - best->acked))
			best = f;
	if (!best)
		return NULL;
	if (!best->lost)
		return flow_packet(best, best->next++);
	for (i = best->lost_low; best->state[i] != SEG_LOST; i++)
		;
	best->lost_low = i + 1;
	best->lost--;
	stats.resent++;
	return flow_packet(best, i);
}

static void pf_timer(struct ev *e)
{
	struct flow *f = container_of(e, struct flow, timer);
	struct pkt *k;
	u32 i;

	stats.timeouts++;
	f->timeouts++;
	f->cwnd = 1;
	f->lost_low = f->next;
	for (i = f->next; i--; ) {
		if (f->state[i] == SEG_FLIES) {
			f->state[i] = SEG_LOST;
			f->lost++;
			f->flies--;
		}
		if (f->state[i] == SEG_LOST)
			f->lost_low = i;
	}
	wheel_add(&fab.wheel, e, fab_now() + rto(f));
	f->probes = f->timeouts >= PROBE_AFTER;
	if (f->probes) {
		k = peer_pkt(proto_nr, PEER_PROBE, f->x->src, f->x->dst, f, 0,
			     WIRE_MIN);
		k->band = 1;
		k->rank = f->nr - f->acked;
		fabric_send(k);
	}
	fabric_kick(f->x->src, 0);
}

static void flow_acked(struct flow *f, u32 i)
{
	f->timeouts = 0;
	f->probes = false;
	wheel_del(&fab.wheel, &f->timer);
	if (f->state[i] == SEG_FLIES) {
		f->flies--;
	} else if (f->state[i] == SEG_LOST) {
		f->lost--;
		stats.spurious++;
	}
	if (f->state[i] != SEG_ACKED) {
		f->state[i] = SEG_ACKED;
		f->acked++;
		f->cwnd = min(f->cwnd + 1, (double)f->most);
	}
}

static void rx_ack(struct flow *f, struct pkt *k)
{
	if (k->a) {	/* of a probe */
		f->timeouts = 0;
		f->probes = false;
		f->cwnd = max(f->cwnd, 1.0);
	} else {
		flow_acked(f, (u32)k->seq);
	}
	if (f->acked == f->nr) {
		list_del_init(&f->node);
	} else if (!ev_waits(&f->timer)) {
		wheel_add(&fab.wheel, &f->timer, fab_now() + rto(f));
	}
	fabric_kick(f->x->src, 0);
	pkt_free(k);
}

static void rx_data(struct flow *f, struct pkt *k)
{
	struct pkt *ack = peer_pkt(proto_nr, PEER_ACK, f->x->dst, f->x->src, f,
				   k->seq, WIRE_MIN);

	ack->a = k->type == PEER_PROBE;
	fabric_send(ack);
	if (k->type == PEER_DATA && !f->have[k->seq]) {
		f->have[k->seq] = 1;
		if (++f->came == f->nr)
			xfer_done(f->x);
	}
	pkt_free(k);
}

static void pf_rx(u32 host, struct pkt *k)
{
	if (k->type == PEER_ACK)
		rx_ack(k->flow, k);
	else
		rx_data(k->flow, k);
}

static void pf_send(struct xfer *x)
{
	struct flow *f = calloc(1, sizeof(*f));

	f->x = x;
	f->nr = peer_packets(x->bytes);
	f->state = calloc(f->nr, 1);
	f->have = calloc(f->nr, 1);
	f->most = peer_bdp(x->src, x->dst);
	f->cwnd = f->most;
	f->timer.fn = pf_timer;
	list_add_tail(&f->node, &flows[x->src]);
	fabric_kick(x->src, 0);
}

static void pf_setup(u8 nr)
{
	u32 i;

	proto_nr = nr;
	flows = calloc(par.hosts, sizeof(*flows));
	for (i = 0; i < par.hosts; i++)
		INIT_LIST_HEAD(&flows[i]);
}

static void pf_stats(struct proto_stats *s)
{
	*s = stats;
}

struct proto proto_pfabric = {
	.name = "pfabric", .disc = &port_pfabric, .bands = 2,
	.setup = pf_setup, .send = pf_send, .rx = pf_rx, .pull = pf_pull,
	.stats = pf_stats,
};
