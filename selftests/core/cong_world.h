/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A bottleneck for controllers: packets, one queue, a policer, a delay, random loss,
 * marks above a threshold. Senders are endless and obey cwnd and rate; losses are
 * found as the transport finds them. (The whole transport is simulated elsewhere;
 * this is the controller alone.)
 */
#ifndef _CONG_WORLD_H
#define _CONG_WORLD_H

#include "test.h"
#include "cong.h"
#include "pace.h"

#define US	1000ULL
#define MS	1000000ULL
#define SEC	1000000000ULL
#define MSS	1500
#define GBIT	125000000ULL

#define RING	8192		/* packets of a flow on their way */
#define HOST_QUEUE	(100 * US)	/* that wait for the sender's own link */

struct net {
	u64	rate;		/* bytes per second */
	u64	delay;		/* ns, both ways together */
	u32	queue;		/* packets */
	u32	mark;		/* from so many on; 0 = never */
	double	loss;		/* at random */
	double	forgiven;	/* share of losses that are forgiven */
	u64	max_rate;
	u64	jitter;		/* ns added to a round trip at random */
	u64	own;		/* bytes per second of each sender's own link;
				 * 0 = it is as fast as the other, and the host
				 * sees to it that little waits for it
				 */
	u64	police;		/* bytes per second that a policer lets pass; 0 =
				 * there is none
				 */
};

/* Packets that a policer lets pass at once */
#define POLICE_BURST	20

struct pkt {
	u64	sent;
	u64	delivered;
	u64	arrival;	/* at the switch */
	u64	back;		/* when its acknowledgment is here; 0 = lost */
	u32	batch;		/* first packet of those it was sent with */
	bool	ce;
};

struct flow {
	struct dlcp_cong c;
	struct dlcp_pace pace;
	struct dlcp_rtt rtt;
	struct pkt	ring[RING];
	u32	head, tail;
	u32	next;		/* to arrive at the switch */
	u64	delivered;	/* bytes */
	u64	lost;
	u64	inflight;
	u64	start, stop;
	u64	last_back;	/* time of the last acknowledgment */
	u64	nic;		/* its own link is busy until */
	u32	probes;
	u64	mark;		/* delivered when measuring began */
};

struct world {
	struct net n;
	u64	now;
	u64	busy;		/* the link is busy until */
	u64	sum_queue;	/* ns over packets */
	u64	packets;
	u64	drops;
	u64	max_queue;
	u64	tokens_at;	/* the policer has all it can have from then on */
	int	nr;
	struct flow *f;
};

static double frnd(void)
{
	return (double)(rnd() >> 11) / (double)(1ULL << 53);
}

static struct world *world(const struct net *n, int nr, const char *cc)
{
	struct world *w = calloc(1, sizeof(*w));
	int i;

	w->n = *n;
	w->nr = nr;
	w->now = SEC;
	w->busy = w->now;
	w->f = calloc(nr, sizeof(*w->f));
	for (i = 0; i < nr; i++) {
		w->f[i].start = w->now;
		w->f[i].stop = U64_MAX;
		dlcp_rtt_init(&w->f[i].rtt);
		dlcp_cong_init(&w->f[i].c, dlcp_cong_find(cc), MSS,
			       n->max_rate, w->now);
	}
	return w;
}

static void world_free(struct world *w)
{
	free(w->f);
	free(w);
}

static u32 on_way(const struct flow *f)
{
	return f->tail - f->head;
}

/*
 * What pacing allows goes at once into the sender's own link, and is
 * acknowledged together.
 */
static void send_batch(struct world *w, struct flow *f)
{
	u32 n = dlcp_pace_allow(&f->pace, w->now, 0, MSS, 64000) / MSS;
	u64 tx = MSS * SEC / (w->n.own ?: w->n.rate);
	u32 batch = f->tail;
	struct pkt *p;

	while (n-- && f->inflight + MSS <= f->c.cwnd && on_way(f) < RING - 1) {
		p = &f->ring[f->tail++ % RING];
		/* Else packets of one flow would always find the slot that
		 * just became free, and those of the others never
		 */
		f->nic = max(f->nic, w->now) + tx * 3 / 4 + rnd_below(tx / 2);
		p->sent = w->now;
		p->delivered = f->delivered;
		p->arrival = f->nic;
		/* Without pacing, acknowledgments are the clock */
		p->batch = f->pace.rate ? batch : f->tail - 1;
		p->back = 0;
		p->ce = false;
		f->inflight += MSS;
		dlcp_pace_sent(&f->pace, w->now, 0, MSS);
	}
}

/* A token bucket, as a time. Return: whether a packet may pass */
static bool police(struct world *w)
{
	u64 each;

	if (!w->n.police)
		return true;
	each = MSS * SEC / w->n.police;
	if (w->tokens_at > w->now + (POLICE_BURST - 1) * each)
		return false;
	w->tokens_at = max(w->tokens_at, w->now) + each;
	return true;
}

static void arrive(struct world *w, struct flow *f)
{
	struct pkt *p = &f->ring[f->next % RING];
	u64 tx = MSS * SEC / w->n.rate, wait;
	u32 i;

	f->next++;
	wait = w->busy > w->now ? w->busy - w->now : 0;
	w->packets++;
	w->sum_queue += wait;
	w->max_queue = max(w->max_queue, wait);
	if (wait / tx >= w->n.queue || !police(w)) {
		w->drops++;
		return;
	}
	p->ce = w->n.mark && wait / tx >= w->n.mark;
	w->busy = max(w->busy, w->now) + tx;
	if (frnd() < w->n.loss)
		return;
	p->back = w->busy + w->n.delay;
	if (w->n.jitter)
		p->back += rnd_below(w->n.jitter);
	/* One path: no overtaking */
	p->back = max(p->back, f->last_back);
	f->last_back = p->back;
	for (i = f->next - 2; (s32)(i - max(p->batch, f->head)) >= 0; i--)
		if (f->ring[i % RING].back)
			f->ring[i % RING].back = p->back;
}

/* The next acknowledgment of @f, U64_MAX if none is on its way */
static u64 next_back(const struct flow *f)
{
	u32 i;

	for (i = f->head; i != f->next; i++)
		if (f->ring[i % RING].back)
			return f->ring[i % RING].back;
	return U64_MAX;
}

static void ack_one(struct world *w, struct flow *f)
{
	struct dlcp_cong_sample s;
	struct pkt *p, *q;
	u64 limit;
	u32 i, k;

	memset(&s, 0, sizeof(s));
	for (i = f->head; !f->ring[i % RING].back; i++)
		;
	p = &f->ring[i % RING];
	s.now = w->now;
	s.inflight = f->inflight;
	s.acked = MSS;
	s.acked_packets = 1;
	s.ce_packets = p->ce;
	s.rtt = w->now - p->sent;
	s.sent_then = p->sent;
	s.delivered_then = p->delivered;
	f->delivered += MSS;
	s.delivered = f->delivered;
	s.app_limited = w->now > f->stop;
	f->inflight -= MSS;
	f->probes = 0;
	dlcp_rtt_sample(&f->rtt, s.rtt, 0, w->now);

	/* Sent before it and old enough: lost. Gaps in front stay until then,
	 * the acknowledged one is taken out by moving them on.
	 */
	for (k = i; k != f->head; k--)
		f->ring[k % RING] = f->ring[(k - 1) % RING];
	f->head++;
	i++;
	limit = dlcp_rtt_loss_delay(&f->rtt);
	while (f->head != i) {
		q = &f->ring[f->head % RING];
		if (w->now - q->sent < limit)
			break;
		f->head++;
		f->inflight -= MSS;
		f->lost += MSS;
		s.lost += MSS;
		if (frnd() < w->n.forgiven)
			s.forgiven += MSS;
	}
	f->c.ops->ack(&f->c, &f->rtt, &s);
	f->pace.rate = f->c.rate;
	CHECK(f->c.cwnd >= 2 * MSS);
	CHECK(!f->c.max_rate || (f->c.rate && f->c.rate <= f->c.max_rate));
}

/* Nothing comes back any more: after the probe all on its way is lost */
static void probe(struct world *w, struct flow *f)
{
	struct dlcp_cong_sample s;

	memset(&s, 0, sizeof(s));
	f->c.ops->timeout(&f->c, w->now, ++f->probes);
	s.now = w->now;
	s.inflight = f->inflight;
	s.lost = f->inflight;
	s.delivered = f->delivered;
	f->lost += s.lost;
	f->head = f->tail;
	f->inflight = 0;
	f->c.ops->ack(&f->c, &f->rtt, &s);
	f->pace.rate = f->c.rate;
}

typedef void event(struct world *w, struct flow *f);

/* What comes next, to @who at @next. NULL: nothing */
static event *next_event(struct world *w, struct flow **who, u64 *next)
{
	event *what = NULL;
	struct flow *f;
	u64 t;
	int i;

	for (i = 0; i < w->nr; i++) {
		f = &w->f[i];
		f->pace.rate = f->c.rate;
		if (f->next != f->tail) {
			t = f->ring[f->next % RING].arrival;
			if (t < *next) {
				*next = t;
				*who = f;
				what = arrive;
			}
		}
		t = next_back(f);
		if (t == U64_MAX && f->next == f->tail && on_way(f)) {
			t = f->ring[(f->tail - 1) % RING].sent +
			    (dlcp_rtt_pto(&f->rtt, 0) <<
			     min_t(u32, f->probes, 6));
			if (t < *next) {
				*next = t;
				*who = f;
				what = probe;
			}
		} else if (t < *next) {
			*next = t;
			*who = f;
			what = ack_one;
		}
		if (f->inflight + MSS > f->c.cwnd ||
		    on_way(f) >= RING - 1)
			continue;
		t = max3(f->pace.rate ? f->pace.next : 0, f->start,
			 w->now);
		if (!w->n.own)
			t = max(t, f->nic - min(f->nic, HOST_QUEUE));
		if (t < f->stop && t < *next) {
			*next = t;
			*who = f;
			what = send_batch;
		}
	}
	return what;
}

static void run(struct world *w, u64 until)
{
	struct flow *who = NULL;
	event *what;
	u64 next;

	for (;;) {
		next = U64_MAX;
		what = next_event(w, &who, &next);
		if (!what || next > until)
			break;
		w->now = max(w->now, next);
		what(w, who);
	}
	w->now = until;
}

static void measure_from_here(struct world *w)
{
	int i;

	for (i = 0; i < w->nr; i++)
		w->f[i].mark = w->f[i].delivered;
	w->sum_queue = 0;
	w->packets = 0;
	w->drops = 0;
	w->max_queue = 0;
}

static u64 got(const struct world *w)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < w->nr; i++)
		sum += w->f[i].delivered - w->f[i].mark;
	return sum;
}

static double jain(const struct world *w)
{
	double s = 0, q = 0, x;
	int i;

	for (i = 0; i < w->nr; i++) {
		x = (double)(w->f[i].delivered - w->f[i].mark);
		s += x;
		q += x * x;
	}
	return q > 0 ? s * s / (q * w->nr) : 0;
}

struct result {
	double	util;		/* of the link */
	double	good;		/* of the link without what it loses */
	double	queue_us;
	double	drops;		/* share of packets */
	double	jain;
};

static struct result trial(const char *what, const struct net *n, int nr,
			   const char *cc, u64 warm, u64 len)
{
	struct world *w = world(n, nr, cc);
	struct result r;

	run(w, w->now + warm);
	measure_from_here(w);
	run(w, w->now + len);
	r.util = (double)got(w) / ((double)n->rate * (double)len / 1e9);
	r.good = r.util / (1 - n->loss);
	r.queue_us = w->packets ? (double)w->sum_queue / w->packets / 1000 : 0;
	r.drops = w->packets ? (double)w->drops / w->packets : 0;
	r.jain = jain(w);
	if (getenv("DLCP_DEBUG")) {
		int i;

		for (i = 0; i < nr; i++)
			printf("# flow %d: %llu bytes, cwnd %llu, rate %llu, srtt %llu, min %llu, var %llu, lost %llu, probes %u\n",
			       i, w->f[i].delivered - w->f[i].mark,
			       w->f[i].c.cwnd, w->f[i].c.rate,
			       w->f[i].rtt.srtt, w->f[i].rtt.min,
			       w->f[i].rtt.var, w->f[i].lost, w->f[i].probes);
	}
	FIGURE("%s %s: utilisation %.3f, mean queue %.1f us, drops %.2f %%, Jain %.3f",
	       cc, what, r.util, r.queue_us, 100 * r.drops, r.jain);
	world_free(w);
	return r;
}

#endif
