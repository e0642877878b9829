// SPDX-License-Identifier: GPL-2.0
/*
 * A protocol like Homa (Montazeri et al., SIGCOMM 2018): the first round trip of a
 * message is sent unasked, in a class by its length. The rest waits for grants: a
 * receiver grants to the GRANTED messages that have the least to come, a round trip
 * each, in a class of their own. Senders, too, prefer what has the least to go.
 * Losses: a receiver that waits for rto_us (1 ms unless set) asks for what is
 * missing; a sender that hears nothing for twice as long sends its first packet.
 * Unlike Homa, classes by length are fixed and not learnt.
 */
#include "peer.h"

#define RTO		NSEC_PER_MSEC
#define UNASKED		4	/* classes of what was not asked for: 1 to 4; */
#define GRANTED		4	/* and of what was: 5 to 8 */
#define ASK_MOST	64	/* packets, at a time */

struct flow {
	struct list_head node;	/* sender: of its host */
	struct list_head in;	/* receiver: of its host */
	struct xfer *x;
	u8	*state;		/* enum peer_seg, by packet */
	u8	*have;		/* the receiver's */
	u32	nr;
	u32	next;		/* first that was never sent */
	u32	lost;
	u32	lost_low;
	u32	first;		/* packets of a round trip */
	u32	may;		/* be sent: the sender knows */
	u8	band;		/* of them */
	u32	came;
	u32	granted;	/* by the receiver */
	struct ev tx_timer;
	struct ev rx_timer;
};

struct host {
	struct list_head flows;
	struct list_head in;
};

static struct host *hosts;
static struct proto_stats stats;
static u8 proto_nr;

static u64 rto(void)
{
	return par.rto_us ? par.rto_us * NSEC_PER_USEC : RTO;
}

static void again(struct ev *e, u64 wait)
{
	wheel_del(&fab.wheel, e);
	wheel_add(&fab.wheel, e, fab_now() + wait);
}

/* --- sender */

/* By its length, in packets */
static u8 unasked_band(const struct flow *f)
{
	u32 i = UNASKED, most;

	for (most = f->first; i > 1 && f->nr <= most; most /= 4)
		i--;
	return (u8)i;
}

static bool may_send(const struct flow *f)
{
	return f->lost || f->next < f->may;
}

static struct pkt *send_next(struct flow *f)
{
	struct pkt *k;
	u32 i;

	if (f->lost) {
		for (i = f->lost_low; f->state[i] != SEG_LOST; i++)
			;
		f->lost_low = i + 1;
		f->lost--;
		stats.resent++;
	} else {
		i = f->next++;
	}
	f->state[i] = SEG_FLIES;
	stats.sent++;
	k = peer_pkt(proto_nr, PEER_DATA, f->x->src, f->x->dst, f, i,
		     peer_wire(f->x->bytes, i));
	k->band = i < f->first ? unasked_band(f) : f->band;
	if (!ev_waits(&f->tx_timer))
		again(&f->tx_timer, 2 * rto());
	return k;
}

static struct pkt *homa_pull(u32 host, u8 rail)
{
	struct flow *f, *best = NULL;

	if (rail)
		return NULL;
	list_for_each_entry(f, &hosts[host].flows, node)
		if (may_send(f) && (!best || f->nr - f->next < best->nr - best->next))
			best = f;
	return best ? send_next(best) : NULL;
}

static void lose(struct flow *f, u32 i)
{
	if (i >= f->next || f->state[i] != SEG_FLIES)
		return;
	f->state[i] = SEG_LOST;
	f->lost++;
	f->lost_low = min(f->lost_low, i);
}

static void tx_timer(struct ev *e)
{
	struct flow *f = container_of(e, struct flow, tx_timer);

	stats.timeouts++;
	lose(f, 0);
	again(e, 2 * rto());
	fabric_kick(f->x->src, 0);
}

static void rx_ack(struct flow *f)
{
	wheel_del(&fab.wheel, &f->tx_timer);
	f->may = 0;
	f->lost = 0;
	list_del_init(&f->node);
}

static void rx_grant(struct flow *f, const struct pkt *k)
{
	f->may = max_t(u32, f->may, (u32)k->seq);
	f->band = (u8)k->a;
	again(&f->tx_timer, 2 * rto());
}

static void rx_ask(struct flow *f, const struct pkt *k)
{
	u32 i;

	for (i = 0; i < ASK_MOST; i++) {
		if (!(k->a & 1ULL << i))
			continue;
		/* The grant may have been lost, too */
		f->may = max_t(u32, f->may, (u32)k->seq + i + 1);
		lose(f, (u32)k->seq + i);
	}
	again(&f->tx_timer, 2 * rto());
}

/* --- receiver */

static void tell(struct flow *f, u8 type, u64 seq, u64 a)
{
	struct pkt *k = peer_pkt(proto_nr, type, f->x->dst, f->x->src, f, seq,
				 WIRE_MIN);

	k->a = a;
	fabric_send(k);
}

/* The messages with the least to come, that others are not all granted */
static u32 least(struct host *h, struct flow **to)
{
	struct flow *f, *other;
	u32 nr = 0, i;

	list_for_each_entry(f, &h->in, in) {
		if (f->granted == f->nr)
			continue;
		for (i = 0, other = f; i < nr; i++)
			if (other->nr - other->came < to[i]->nr - to[i]->came)
				swap(other, to[i]);
		if (nr < GRANTED)
			to[nr++] = other;
	}
	return nr;
}

static void grant(struct host *h)
{
	struct flow *to[GRANTED];
	u32 nr = least(h, to), i, want;

	for (i = 0; i < nr; i++) {
		want = min(to[i]->nr, to[i]->came + to[i]->first);
		if (want <= to[i]->granted)
			continue;
		to[i]->granted = want;
		/* The lowest classes, so that a shorter one finds a free one */
		tell(to[i], PEER_PULL, want, UNASKED + GRANTED - (nr - 1 - i));
		again(&to[i]->rx_timer, rto());
	}
}

static void rx_timer(struct ev *e)
{
	struct flow *f = container_of(e, struct flow, rx_timer);
	u64 missing = 0;
	u32 i, low;

	if (f->came >= f->granted)
		return;
	for (low = 0; f->have[low]; low++)
		;
	for (i = 0; i < ASK_MOST && low + i < f->granted; i++)
		if (!f->have[low + i])
			missing |= 1ULL << i;
	stats.timeouts++;
	tell(f, PEER_PROBE, low, missing);
	again(e, rto());
}

static void rx_data(struct flow *f, struct pkt *k)
{
	struct host *h = &hosts[f->x->dst];

	if (!f->granted) {
		f->granted = min(f->first, f->nr);
		list_add_tail(&f->in, &h->in);
	}
	if (!f->have[k->seq]) {
		f->have[k->seq] = 1;
		f->came++;
		again(&f->rx_timer, rto());
		if (f->came == f->nr) {
			list_del_init(&f->in);
			wheel_del(&fab.wheel, &f->rx_timer);
			xfer_done(f->x);
		}
	}
	if (f->came == f->nr)
		tell(f, PEER_ACK, 0, 0);
	grant(h);
}

static void homa_rx(u32 host, struct pkt *k)
{
	struct flow *f = k->flow;

	if (k->type == PEER_DATA)
		rx_data(f, k);
	else if (k->type == PEER_ACK)
		rx_ack(f);
	else if (k->type == PEER_PULL)
		rx_grant(f, k);
	else
		rx_ask(f, k);
	fabric_kick(f->x->src, 0);
	pkt_free(k);
}

/* --- messages */

static void homa_send(struct xfer *x)
{
	struct flow *f = calloc(1, sizeof(*f));

	f->x = x;
	f->nr = peer_packets(x->bytes);
	f->state = calloc(f->nr, 1);
	f->have = calloc(f->nr, 1);
	f->first = peer_bdp(x->src, x->dst);
	f->may = min(f->first, f->nr);
	f->tx_timer.fn = tx_timer;
	f->rx_timer.fn = rx_timer;
	INIT_LIST_HEAD(&f->in);
	list_add_tail(&f->node, &hosts[x->src].flows);
	fabric_kick(x->src, 0);
}

static void homa_setup(u8 nr)
{
	u32 i;

	proto_nr = nr;
	hosts = calloc(par.hosts, sizeof(*hosts));
	for (i = 0; i < par.hosts; i++) {
		INIT_LIST_HEAD(&hosts[i].flows);
		INIT_LIST_HEAD(&hosts[i].in);
	}
}

static void homa_stats(struct proto_stats *s)
{
	*s = stats;
}

struct proto proto_homa = {
	.name = "homa", .disc = &port_drop_tail, .bands = UNASKED + GRANTED + 1,
	.setup = homa_setup, .send = homa_send, .rx = homa_rx, .pull = homa_pull,
	.stats = homa_stats,
};
