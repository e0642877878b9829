// SPDX-License-Identifier: GPL-2.0
/*
 * DCTCP (Alizadeh et al., SIGCOMM 2010; RFC 8257) over a TCP with selective
 * acknowledgments: one connection for each direction between two hosts, which
 * delivers its messages in order and keeps its window between them.
 *
 * modern=1: losses are found by RACK (RFC 8985) and by tail loss probes, as Linux
 * does; modern=0: by three later packets that arrived (RFC 6675), else by timeout.
 * rto_us is the least timeout; 200 ms unless set, as Linux has it.
 */
#include "peer.h"

#define RTO_MIN		(200 * NSEC_PER_MSEC)
#define RTO_MAX		(60ULL * NSEC_PER_SEC)
#define TLP_MIN		(2 * NSEC_PER_MSEC)	/* Linux: two jiffies */
#define ACK_DELAY	NSEC_PER_MSEC
#define WINDOW_FIRST	10
#define WINDOW_MIN	2
#define DUP_THRESHOLD	3

struct seg {
	u64	sent;		/* ns */
	u32	wire;
	u8	state;		/* enum peer_seg */
	u8	again;
};

struct tcp {
	struct list_head active;
	bool	is_active;
	u32	src;
	u32	dst;
	/* sender, in packets from 0 */
	struct seg *seg;	/* by number % size */
	u32	size;
	u64	una;
	u64	nxt;
	u64	end;
	u64	sacked;		/* one behind the highest that arrived */
	u64	recover;	/* losses below are of this recovery */
	u64	round;		/* DCTCP: the window ends when this is acknowledged */
	u64	lost;		/* packets to be sent again; none is below lost_low */
	u64	lost_low;
	u32	flies;
	u32	acked;		/* in this window, */
	u32	marked;
	bool	reduced;	/* once in it */
	double	cwnd;
	double	ssthresh;
	double	alpha;
	u64	srtt;
	u64	var;
	u64	rack;		/* ns: when the latest that arrived had left */
	u32	backoff;
	bool	probed;
	struct ev timer;
	struct xfer *tx;	/* not complete at the receiver, oldest first; */
	struct xfer **tx_tail;	/* .left is one behind the last packet */
	/* receiver */
	u8	*have;		/* by number % size */
	u64	rcv;		/* all below are here */
	u32	unacked;
	u32	unacked_ce;
	bool	ce;
	struct ev ack;
};

static struct list_head *active;	/* of each host: they take turns */
static struct map flows;
static struct proto_stats stats;
static u8 proto_nr;

static struct seg *seg_of(struct tcp *t, u64 n)
{
	return &t->seg[n & (t->size - 1)];
}

static void grow(struct tcp *t, u64 want)
{
	struct tcp old = *t;
	u64 n;

	while (t->size < want)
		t->size = max_t(u32, 64, 2 * t->size);
	if (t->size == old.size)
		return;
	t->seg = calloc(t->size, sizeof(*t->seg));
	t->have = calloc(t->size, 1);
	for (n = t->una; old.size && n < t->end; n++) {
		*seg_of(t, n) = *seg_of(&old, n);
		t->have[n & (t->size - 1)] = old.have[n & (old.size - 1)];
	}
	free(old.seg);
	free(old.have);
}

static bool may_send(const struct tcp *t)
{
	return (t->lost || t->nxt < t->end) && t->flies < (u32)t->cwnd;
}

static void activate(struct tcp *t)
{
	if (!t->is_active && may_send(t)) {
		list_add_tail(&t->active, &active[t->src]);
		t->is_active = true;
	}
	fabric_kick(t->src, 0);
}

static u64 rto(const struct tcp *t)
{
	u64 least = par.rto_us ? par.rto_us * NSEC_PER_USEC : RTO_MIN;

	return min(max(least, t->srtt + 4 * t->var) << t->backoff, RTO_MAX);
}

static void arm(struct tcp *t)
{
	u64 wait = rto(t);

	wheel_del(&fab.wheel, &t->timer);
	if (t->una == t->nxt)
		return;
	if (par.modern && !t->probed && !t->backoff)
		wait = min_t(u64, wait, 2 * t->srtt + TLP_MIN);
	wheel_add(&fab.wheel, &t->timer, fab_now() + wait);
}

/* --- sending */

static struct pkt *send_seg(struct tcp *t, u64 n)
{
	struct seg *s = seg_of(t, n);
	struct pkt *k;

	s->sent = fab_now();
	s->state = SEG_FLIES;
	t->flies++;
	stats.sent++;
	k = peer_pkt(proto_nr, PEER_DATA, t->src, t->dst, t, n, s->wire);
	k->ect = 1;
	if (!ev_waits(&t->timer))
		arm(t);
	return k;
}

static struct pkt *next_of(struct tcp *t)
{
	u64 n;

	if (!t->lost)
		return send_seg(t, t->nxt++);
	for (n = max(t->lost_low, t->una); seg_of(t, n)->state != SEG_LOST; n++)
		;
	t->lost_low = n + 1;
	t->lost--;
	seg_of(t, n)->again = 1;
	stats.resent++;
	return send_seg(t, n);
}

static struct pkt *tcp_pull(u32 host, u8 rail)
{
	struct tcp *t;
	struct pkt *k;

	while (!rail && !list_empty(&active[host])) {
		t = list_first_entry(&active[host], struct tcp, active);
		list_del(&t->active);
		t->is_active = false;
		if (!may_send(t))
			continue;
		k = next_of(t);
		if (may_send(t)) {
			list_add_tail(&t->active, &active[host]);
			t->is_active = true;
		}
		return k;
	}
	return NULL;
}

/* --- losses */

static void lose(struct tcp *t, u64 n)
{
	seg_of(t, n)->state = SEG_LOST;
	t->flies--;
	t->lost++;
	t->lost_low = min(t->lost_low, n);
}

static void halve(struct tcp *t)
{
	t->ssthresh = max(t->cwnd / 2, (double)WINDOW_MIN);
	t->cwnd = t->ssthresh;
	t->recover = t->nxt;
}

static bool is_lost(const struct tcp *t, const struct seg *s, u64 n)
{
	if (s->state != SEG_FLIES)
		return false;
	if (!par.modern)
		return !s->again && n + DUP_THRESHOLD < t->sacked;
	/* Without reordering seen a quarter of a round trip is waited for */
	return s->sent + (n + DUP_THRESHOLD < t->sacked ? 0 : t->srtt / 4) <
	       t->rack;
}

static void find_losses(struct tcp *t)
{
	u64 n;

	for (n = t->una; n < t->sacked; n++) {
		if (!is_lost(t, seg_of(t, n), n))
			continue;
		if (n >= t->recover)
			halve(t);
		lose(t, n);
	}
}

static void timed_out(struct tcp *t)
{
	u64 n;

	stats.timeouts++;
	t->ssthresh = max(t->cwnd / 2, (double)WINDOW_MIN);
	t->cwnd = 1;
	t->backoff = min(t->backoff + 1, 10U);
	t->recover = t->nxt;
	for (n = t->una; n < t->nxt; n++)
		if (seg_of(t, n)->state == SEG_FLIES)
			lose(t, n);
}

/* The last packet again, or a new one: its acknowledgment tells what is lost */
static void probe(struct tcp *t)
{
	u64 n = t->nxt;

	t->probed = true;
	if (t->nxt < t->end) {
		fabric_send(send_seg(t, t->nxt++));
		return;
	}
	while (n > t->una && seg_of(t, n - 1)->state != SEG_FLIES)
		n--;
	if (n == t->una)
		return;
	t->flies--;
	stats.resent++;
	seg_of(t, n - 1)->again = 1;
	fabric_send(send_seg(t, n - 1));
}

static void tcp_timer(struct ev *e)
{
	struct tcp *t = container_of(e, struct tcp, timer);

	if (par.modern && !t->probed && !t->backoff &&
	    2 * t->srtt + TLP_MIN < rto(t))
		probe(t);
	else
		timed_out(t);
	arm(t);
	activate(t);
}

/* --- acknowledgments */

static void rtt_sample(struct tcp *t, u64 rtt)
{
	u64 diff = rtt > t->srtt ? rtt - t->srtt : t->srtt - rtt;

	t->var = (3 * t->var + diff) / 4;
	t->srtt = (7 * t->srtt + rtt) / 8;
}

static void arrived_there(struct tcp *t, u64 n)
{
	struct seg *s = seg_of(t, n);

	if (s->state == SEG_ACKED)
		return;
	if (s->state == SEG_LOST) {
		t->lost--;
		stats.spurious++;
	} else {
		t->flies--;
	}
	if (!s->again)
		rtt_sample(t, fab_now() - s->sent);
	if (s->state == SEG_FLIES)
		t->rack = max(t->rack, s->sent);
	s->state = SEG_ACKED;
	t->sacked = max(t->sacked, n + 1);
	t->acked++;
	if (t->cwnd < t->ssthresh)
		t->cwnd++;
	else
		t->cwnd += 1 / t->cwnd;
}

static void dctcp_marks(struct tcp *t, u64 marked)
{
	t->marked += (u32)marked;
	if (marked && !t->reduced) {
		t->reduced = true;
		t->cwnd = max(t->cwnd * (1 - t->alpha / 2), (double)WINDOW_MIN);
		t->ssthresh = t->cwnd;
	}
	if (t->una < t->round)
		return;
	if (t->acked)
		t->alpha += (min(1.0, (double)t->marked / t->acked) - t->alpha)
			    / 16;
	t->acked = 0;
	t->marked = 0;
	t->reduced = false;
	t->round = t->nxt;
}

static void rx_ack(struct tcp *t, struct pkt *k)
{
	u64 n, from = max(k->a >> 32, t->una);

	for (n = t->una; n < k->seq; n++)
		arrived_there(t, n);
	for (n = max(from, k->seq); n < (k->a >> 32) + (u32)k->a; n++)
		arrived_there(t, n);
	if (k->seq > t->una) {
		t->una = k->seq;
		t->backoff = 0;
		t->probed = false;
		arm(t);
	}
	find_losses(t);
	dctcp_marks(t, k->b);
	activate(t);
	pkt_free(k);
}

/* --- receiver: @n: the packet that came last */

static void send_ack(struct tcp *t, u64 n)
{
	struct pkt *k = peer_pkt(proto_nr, PEER_ACK, t->dst, t->src, t, t->rcv,
				 WIRE_MIN);
	u64 low = n, high = n + 1;

	/* The block around it, as far as 32 bits of numbers go */
	while (low > t->rcv && t->have[(low - 1) & (t->size - 1)])
		low--;
	while (high < t->end && t->have[high & (t->size - 1)])
		high++;
	if (n >= t->rcv)
		k->a = low << 32 | (high - low);
	k->b = t->unacked_ce;
	t->unacked = 0;
	t->unacked_ce = 0;
	wheel_del(&fab.wheel, &t->ack);
	fabric_send(k);
}

static void ack_late(struct ev *e)
{
	struct tcp *t = container_of(e, struct tcp, ack);

	send_ack(t, t->rcv - 1);
}

static void deliver(struct tcp *t)
{
	struct xfer *x;

	while (t->rcv < t->end && t->have[t->rcv & (t->size - 1)]) {
		t->have[t->rcv & (t->size - 1)] = 0;
		t->rcv++;
	}
	while ((x = t->tx) && x->left <= t->rcv) {
		t->tx = x->next;
		xfer_done(x);
	}
}

/* Every second packet is acknowledged, and at once what tells something new */
static void rx_data(struct tcp *t, struct pkt *k)
{
	bool in_order = k->seq == t->rcv, other = k->ce != t->ce;

	if (other && t->unacked)
		send_ack(t, t->rcv ? t->rcv - 1 : 0);
	t->ce = k->ce;
	t->unacked++;
	t->unacked_ce += k->ce;
	if (k->seq >= t->rcv)
		t->have[k->seq & (t->size - 1)] = 1;
	deliver(t);
	if (!in_order || t->unacked >= 2 || t->rcv == t->end)
		send_ack(t, k->seq);
	else if (!ev_waits(&t->ack))
		wheel_add(&fab.wheel, &t->ack, fab_now() + ACK_DELAY);
	pkt_free(k);
}

static void tcp_rx(u32 host, struct pkt *k)
{
	if (k->type == PEER_ACK)
		rx_ack(k->flow, k);
	else
		rx_data(k->flow, k);
}

/* --- messages */

static struct tcp *tcp_of(u32 src, u32 dst)
{
	struct tcp *t = map_get(&flows, map_pair(src, dst));

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	t->src = src;
	t->dst = dst;
	t->cwnd = WINDOW_FIRST;
	t->ssthresh = 1e9;
	t->alpha = 1;
	/* As its handshake measures it */
	t->srtt = peer_rtt(src, dst);
	t->var = t->srtt / 2;
	t->timer.fn = tcp_timer;
	t->ack.fn = ack_late;
	map_put(&flows, map_pair(src, dst), t);
	return t;
}

static void tcp_send(struct xfer *x)
{
	struct tcp *t = tcp_of(x->src, x->dst);
	u32 nr = peer_packets(x->bytes), i;

	grow(t, t->end + nr - min(t->una, t->rcv) + 1);
	for (i = 0; i < nr; i++) {
		*seg_of(t, t->end) = (struct seg) {
			.wire = peer_wire(x->bytes, i),
		};
		t->have[t->end & (t->size - 1)] = 0;
		t->end++;
	}
	x->left = t->end;
	x->next = NULL;
	if (!t->tx)
		t->tx_tail = &t->tx;
	*t->tx_tail = x;
	t->tx_tail = &x->next;
	activate(t);
}

static void tcp_setup(u8 nr)
{
	u32 i;

	proto_nr = nr;
	active = calloc(par.hosts, sizeof(*active));
	for (i = 0; i < par.hosts; i++)
		INIT_LIST_HEAD(&active[i]);
}

static void tcp_stats(struct proto_stats *s)
{
	*s = stats;
}

struct proto proto_dctcp = {
	.name = "dctcp", .disc = &port_drop_tail, .bands = 1,
	.setup = tcp_setup, .send = tcp_send, .rx = tcp_rx, .pull = tcp_pull,
	.stats = tcp_stats,
};
