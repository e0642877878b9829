// SPDX-License-Identifier: GPL-2.0
/* The simulator: the channel between the two ends, and all that is on its way. */
#include "sim.h"

static bool pkt_before(const struct sim_pkt *a, const struct sim_pkt *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static void heap_push(struct sim *s, struct sim_pkt k)
{
	u32 i = s->nr_heap++;

	if (s->nr_heap > s->cap_heap) {
		s->cap_heap = max_t(u32, 64, 2 * s->cap_heap);
		s->heap = realloc(s->heap, s->cap_heap * sizeof(*s->heap));
	}
	k.seq = s->seq++;
	s->heap[i] = k;
	while (i && pkt_before(&s->heap[i], &s->heap[(i - 1) / 2])) {
		swap(s->heap[i], s->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

struct sim_pkt sim_pkt_next(struct sim *s)
{
	struct sim_pkt top = s->heap[0];
	u32 i = 0, k;

	s->heap[0] = s->heap[--s->nr_heap];
	for (;;) {
		k = 2 * i + 1;
		if (k >= s->nr_heap)
			return top;
		if (k + 1 < s->nr_heap &&
		    pkt_before(&s->heap[k + 1], &s->heap[k]))
			k++;
		if (!pkt_before(&s->heap[k], &s->heap[i]))
			return top;
		swap(s->heap[i], s->heap[k]);
		i = k;
	}
}

/* The first time from @t on at which the host has a processor */
static u64 ep_runs(const struct sim_ep *e, u64 t)
{
	u64 in;

	if (!e->runs || t == U64_MAX)
		return t;
	in = (t + e->phase) % (e->runs + e->waits);
	return in < e->runs ? t : t + e->runs + e->waits - in;
}

void sim_inject_by(struct sim *s, u8 to, u8 pair, const u8 *p, u32 len,
		   bool ce, u64 at)
{
	struct sim_pkt k = { .time = at, .wire = at, .to = to, .ce = ce,
			     .len = len, .pair = pair };
	struct sim_ep *e = &s->ep[to];

	k.from = e->peer->at;
	k.dest = e->peer->dest;
	k.port = e->peer->port;
	if (e->busy) {
		k.time = max(e->handled, at + sim_below(s, e->busy));
		e->handled = k.time;
	}
	/* Nor can its card tell when packets came */
	if (e->runs) {
		k.time = ep_runs(e, at);
		k.wire = k.time;
	}
	/* Exactly as large as the packet: reads beyond it are found */
	k.p = malloc(len ? len : 1);
	memcpy(k.p, p, len);
	heap_push(s, k);
}

void sim_inject(struct sim *s, u8 to, const u8 *p, u32 len, bool ce, u64 at)
{
	sim_inject_by(s, to, 0, p, len, ce, at);
}

/* sim_host.c */
static void ep_egress_charge(struct sim_ep *e, u8 pair, u32 wire, u64 at);

static struct sim_link *ep_link(struct sim_ep *e, u8 pair)
{
	SIM_CHECK(e->s, pair < DLCP_PAIRS_MAX);
	return pair ? &e->s->rail[e->n][pair - 1] : e->out;
}

/* The right host has no such connection */
static void link_stray(struct sim_ep *e, const u8 *p)
{
	struct dlcp_reset r = { .your_tag = dlcp_get_be64(p),
				.code = DLCP_RST_UNKNOWN, .stray = true };
	u8 buf[64];

	if (p[8] != DLCP_PT_RESET)
		sim_inject(e->s, e->n, buf, dlcp_put_reset(buf, 0, &r), false,
			   e->s->now + 2 * e->out->delay);
}

static bool link_loses(struct sim *s, struct sim_link *l, const u8 *p, u32 len,
		       u8 cls)
{
	u8 type = p[8];

	if (l->burst_enter) {
		if (l->in_burst)
			l->in_burst = !sim_chance(s, l->burst_exit);
		else
			l->in_burst = sim_chance(s, l->burst_enter);
	}
	if (l->down || l->in_burst || sim_chance(s, l->loss))
		return true;
	if (l->mtu && len > l->mtu)
		return true;
	if (cls != 0xff && l->dead_class & BIT(p[10]))
		return true;
	if (cls != 0xff && l->dead_tags & BIT(dlcp_cls_tag(cls)))
		return true;
	if (type == DLCP_PT_CTRL && sim_chance(s, l->ctrl_loss))
		return true;
	if (type >= DLCP_PT_INIT && type <= DLCP_PT_ECHO_ACK)
		return sim_chance(s, l->setup_loss);
	return type <= DLCP_PT_CTRL && l->dead_paths & BIT(p[10]);
}

/* The sum of twelve of 0 to 1 has a deviation of 1, and a mean of 6 */
static u64 normal(struct sim *s, u64 mean, u64 sigma)
{
	u64 sum = mean;
	u32 i;

	for (i = 0; i < 12; i++)
		sum += sim_below(s, sigma);
	return sum - min(sum, 6 * sigma);
}

void sim_link_send(struct sim_ep *e, u8 pair, const u8 *p, u32 len, u8 cls)
{
	struct sim_link *l = ep_link(e, pair);
	u32 wire = len + e->cfg.overhead;
	struct sim *s = e->s;
	u64 queued = 0;
	bool ce = false;
	u64 at = s->now;

	l->packets++;
	l->bytes += wire;
	if (p[10] < DLCP_PATHS_MAX)
		l->path_packets[p[10]]++;
	if (l->rate) {
		l->free_at = max(l->free_at, s->now);
		queued = (l->free_at - s->now) * (l->rate / 1000000) / 8000;
		if (l->queue && queued + wire > l->queue) {
			l->dropped++;
			return;
		}
		l->free_at += wire * 8000ULL / (l->rate / 1000000);
		at = l->free_at;
		ep_egress_charge(e, pair, wire, at);
	}
	if (l->mark && queued > l->mark)
		ce = cls == 0xff || dlcp_cls_tag(cls) != DLCP_TAG_DROPPABLE;
	if (e->port && l->astray)
		link_stray(e, p);
	if (link_loses(s, l, p, len, cls) || (e->port && (l->shut || l->astray))) {
		l->dropped++;
		return;
	}
	at += l->sigma ? normal(s, l->delay, l->sigma) : l->delay;
	if (l->jitter)
		at += sim_below(s, l->jitter);
	at += cls == 0xff ? 0 : l->data_delay;
	if (sim_chance(s, l->reorder))
		at += sim_below(s, l->reorder_delay + 1);
	sim_inject_by(s, 1 - e->n, pair, p, len, ce, at);
	if (sim_chance(s, l->dup))
		sim_inject_by(s, 1 - e->n, pair, p, len, ce,
			      at + sim_below(s, 4 * l->delay + 1));
}
