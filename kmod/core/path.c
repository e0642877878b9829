// SPDX-License-Identifier: GPL-2.0
#include "path.h"

/* Ports a path may take: the dynamic ones */
#define PATH_PORT_BASE	49152
#define PATH_PORTS	16384

/* Any good mixing does: it must differ between connections and paths */
static u16 path_entropy(u64 tag, u32 nth)
{
	u64 x = tag + nth * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return (u16)(PATH_PORT_BASE + (x ^ (x >> 31)) % PATH_PORTS);
}

void dlcp_path_init(struct dlcp_path *p, u8 id, u64 tag)
{
	memset(p, 0, sizeof(*p));
	p->id = id;
	p->home = 1;
	p->reorder = DLCP_REORDER_MIN;
	p->slack_keep = DLCP_SLACK_KEEP;
	p->weight = DLCP_WEIGHT_ONE;
	p->entropy = path_entropy(tag, id);
	dlcp_rtt_init(&p->rtt);
	dlcp_rtt_init(&p->net);
}

/* Packets from the next one on go another way */
static void path_leave(struct dlcp_path *p, enum dlcp_former former)
{
	p->repath_pn = p->sent.head;
	if (p->sent.first != p->sent.head)
		p->former = max_t(u8, p->former, former);
}

/*
 * The round-trip times stay: in a fabric of equal-cost paths the least of them
 * is the same everywhere, and a path that begins in a queue would take that
 * for its nature.
 */
void dlcp_path_repath(struct dlcp_path *p, u64 tag, u32 nth, u64 now)
{
	p->entropy = path_entropy(tag, nth * DLCP_PATHS_MAX + p->id);
	p->repathed = now;
	path_leave(p, DLCP_FORMER_WAY);
	p->settling = 1;
	p->weight = min_t(u32, p->weight, DLCP_WEIGHT_ONE / 2);
	p->light = 0;
	p->queue = 0;
	p->loss_avg = 0;
	p->ce_avg = 0;
}

void dlcp_path_set_home(struct dlcp_path *p, bool home)
{
	if (p->home == home)
		return;
	p->home = home;
	path_leave(p, DLCP_FORMER_WAY);
}

void dlcp_path_move(struct dlcp_path *p, u8 pair, u64 tag, u32 nth, u64 now)
{
	dlcp_path_repath(p, tag, nth, now);
	p->pair = pair;
	path_leave(p, DLCP_FORMER_PAIR);
	p->weight = DLCP_WEIGHT_ONE;
	p->bad = 0;
	p->pto_count = 0;
	p->pto_shift = 0;
	p->tail = DLCP_TAIL_ASKED;
	dlcp_rtt_init(&p->rtt);
	dlcp_rtt_init(&p->net);
	memset(&p->owd, 0, sizeof(p->owd));
}

void dlcp_path_record_acked(struct dlcp_path *p, u32 nr)
{
	p->round.acked += nr;
	p->acked += nr;
	for (; nr && p->loss_avg >= 64; nr--)
		p->loss_avg -= p->loss_avg / 64;
}

void dlcp_path_record(struct dlcp_path *p, bool lost)
{
	if (!lost) {
		dlcp_path_record_acked(p, 1);
		return;
	}
	p->lost++;
	p->loss_avg += (65536 - p->loss_avg) / 64;
}

void dlcp_path_round_next(struct dlcp_path *p)
{
	memset(&p->round, 0, sizeof(p->round));
	p->round.end = p->sent.head;
}

bool dlcp_path_round_over(struct dlcp_path *p)
{
	u32 ce;

	if (p->settling) {
		/* What is known so far is of the entropy before */
		if (dlcp_pn_before(p->largest_acked, p->repath_pn))
			return false;
		p->settling = 0;
		p->loss_avg = 0;
		dlcp_path_round_next(p);
		return false;
	}
	if (dlcp_pn_before(p->largest_acked, p->round.end) || !p->round.acked)
		return false;
	ce = min(p->round.ce, p->round.acked) * 65536 / p->round.acked;
	p->ce_avg = (3 * p->ce_avg + ce) / 4;
	return true;
}

void dlcp_path_revive(struct dlcp_path *paths, u32 nr, struct dlcp_path *p)
{
	u64 vtime = U64_MAX;
	u32 i;

	p->bad = 0;
	p->pto_count = 0;
	p->pto_shift = 0;
	for (i = 0; i < nr; i++)
		if (&paths[i] != p && dlcp_path_works(&paths[i]))
			vtime = min(vtime, paths[i].vtime);
	/* It shall not have to catch up with what it missed */
	if (vtime != U64_MAX)
		p->vtime = max(p->vtime, vtime);
}

void dlcp_sent_fill(struct dlcp_sent_ring *r, const struct dlcp_sent *first,
		    u32 nr)
{
	u32 mask = r->size - 1, head = r->head, i;
	struct dlcp_sent e = *first;

	WARN_ON_ONCE(dlcp_sent_room(r) < nr);
	for (i = 0; i < nr; i++, e.pos++)
		r->ring[(head + i) & mask] = e;
	r->head = head + nr;
}

void dlcp_sent_landed(struct dlcp_sent_ring *r, u32 pn, u32 nr)
{
	u32 mask = r->size - 1, from = pn - (nr - 1), i;

	if (r->first == from)
		r->first = pn + 1;
	if (r->tail == from) {
		r->tail = pn + 1;
		return;
	}
	for (i = 0; i < nr; i++)
		r->ring[(from + i) & mask].kind = DLCP_SENT_FREE;
}

void dlcp_sent_skip(struct dlcp_sent_ring *r)
{
	u32 mask = r->size - 1, head = r->head, pn;
	u8 kind;

	for (pn = r->first; pn != head; pn++) {
		kind = r->ring[pn & mask].kind;
		if (kind != DLCP_SENT_FREE && kind != DLCP_SENT_LOST_DATA)
			break;
	}
	r->first = pn;
}

void dlcp_sent_trim(struct dlcp_sent_ring *r, u64 old, u32 largest)
{
	u32 mask = r->size - 1, first = r->first, pn;
	const struct dlcp_sent *e;

	for (pn = r->tail; pn != first; pn++) {
		e = &r->ring[pn & mask];
		if (e->kind != DLCP_SENT_FREE && e->time >= old &&
		    (s32)(largest - pn) < 64 * DLCP_ACK_WORDS_MAX)
			break;
	}
	r->tail = pn;
}

struct dlcp_sent *dlcp_sent_move(struct dlcp_sent_ring *r,
				 struct dlcp_sent *ring, u32 size)
{
	struct dlcp_sent *old = r->ring;
	u32 pn;

	for (pn = r->tail; pn != r->head; pn++)
		ring[pn & (size - 1)] = old[pn & (r->size - 1)];
	r->ring = ring;
	r->size = size;
	return old;
}

static u32 recv_nr_words(const struct dlcp_recv_window *w)
{
	return DLCP_RECV_WORDS << w->order;
}

/* Numbers up to the largest that are known. The 64 up to any lie in two words. */
static u32 recv_known(u8 order)
{
	return 64 * ((DLCP_RECV_WORDS << order) - 1);
}

/* Word of @pn, and its bit */
static u64 *recv_word(struct dlcp_recv_window *w, u32 pn)
{
	return &w->words[pn / 64 & (recv_nr_words(w) - 1)];
}

static u64 recv_get(const struct dlcp_recv_window *w, u32 pn)
{
	return w->words[pn / 64 & (recv_nr_words(w) - 1)];
}

static u64 recv_bit(u32 pn)
{
	return BIT_ULL(63 - pn % 64);
}

int dlcp_recv_test(const struct dlcp_recv_window *w, u32 pn)
{
	if (!w->any || dlcp_pn_before(w->largest, pn))
		return 1;
	if (w->largest - pn >= recv_known(w->order) ||
	    dlcp_pn_before(pn, w->from))
		return -1;
	return !(recv_get(w, pn) & recv_bit(pn));
}

/* Would a number up to @pn make @w, doubled up to @order, forget a word that has
 * less than half of its numbers?
 */
static bool recv_forgets(const struct dlcp_recv_window *w, u32 pn, u8 order)
{
	u32 span = recv_known(order), at;

	if (dlcp_pn_before(pn, w->largest))
		return false;
	/* Words that come wholly or in part before those that are known */
	for (at = (w->largest | 63) + 1 - span; !dlcp_pn_before(pn - span, at);
	     at += 64)
		if (w->largest - at < recv_known(w->order) + 64 &&
		    !dlcp_pn_before(at, w->from) &&
		    hweight64(recv_get(w, at)) < 32)
			return true;
	return false;
}

u8 dlcp_recv_wants(const struct dlcp_recv_window *w, u32 pn)
{
	/* Numbers begin with 0 */
	u32 largest = w->any ? w->largest : 0;
	u32 by = dlcp_pn_before(largest, pn) ? pn - largest : largest - pn;
	u8 order = w->order;

	while (order < DLCP_RECV_ORDER_MAX &&
	       (2 * (u64)by > recv_known(order) ||
		(w->any && recv_forgets(w, pn, order))))
		order++;
	return order;
}

void dlcp_recv_move(struct dlcp_recv_window *longer,
		    const struct dlcp_recv_window *w, u8 order)
{
	u32 i, pn;

	memcpy(longer, w, sizeof(*w));
	longer->order = order;
	if (w->largest - w->from >= recv_known(w->order))
		longer->from = w->largest - recv_known(w->order) + 1;
	for (i = 0; i < recv_nr_words(w); i++) {
		pn = w->largest - 64 * i;
		*recv_word(longer, pn) = recv_get(w, pn);
	}
}

/* The words between hold numbers of long ago. Numbers wrap within 32 bits. */
static void recv_advance(struct dlcp_recv_window *w, u32 pn)
{
	u32 n = (pn / 64 - w->largest / 64) & (U32_MAX / 64);

	for (n = min_t(u32, n, recv_nr_words(w)); n; n--)
		*recv_word(w, pn - 64 * (n - 1)) = 0;
	w->largest = pn;
	/* Before numbers wrap around it is behind all that are known */
	if (pn - w->from >= recv_known(w->order))
		w->from = pn - recv_known(w->order) + 1;
}

/* The 64 numbers up to @pn; bit k: pn - k */
static u64 recv_bits(const struct dlcp_recv_window *w, u32 pn)
{
	u32 r = pn % 64;
	u64 v = recv_get(w, pn) >> (63 - r);

	return r == 63 ? v : v | recv_get(w, pn - 64) << (r + 1);
}

/* @nr more are here, of which @pn is the first */
static void recv_count(struct dlcp_recv_window *w, u32 pn, u32 nr, bool ce,
		       u64 time)
{
	w->last_time = time;
	if (dlcp_pn_before(pn, w->low[w->slot]))
		w->low[w->slot] = pn;
	w->count += nr;
	w->ce += ce ? nr : 0;
	w->unacked += nr;
	if (w->disorder && w->unacked > w->patience)
		w->ack_now = 1;
}

void dlcp_recv_mark(struct dlcp_recv_window *w, u32 pn, bool ce, u64 time)
{
	u32 i;

	if (!w->any) {
		w->any = 1;
		w->largest = pn;
		w->from = pn < recv_known(w->order) ? 0 :
			  pn - recv_known(w->order) + 1;
		w->first_us = (u32)div_u64(time, 1000);
		for (i = 0; i < DLCP_RECV_BACK; i++)
			w->low[i] = pn;
	} else if (dlcp_pn_before(w->largest, pn)) {
		/* A gap: the sender should know soon, some may be lost */
		if (pn - w->largest > 1)
			w->disorder |= DLCP_RECV_GAP;
		recv_advance(w, pn);
	} else {
		/* A hole filled late: before the sender takes it for lost */
		w->disorder |= DLCP_RECV_LATE;
	}
	*recv_word(w, pn) |= recv_bit(pn);
	recv_count(w, pn, 1, ce, time);
}

void dlcp_recv_mark_run(struct dlcp_recv_window *w, u32 pn, u32 nr, bool ce,
			u64 time)
{
	u64 run = ~0ULL << (64 - nr);
	u32 at = pn % 64;

	if (pn - w->largest > 1)
		w->disorder |= DLCP_RECV_GAP;
	recv_advance(w, pn + nr - 1);
	*recv_word(w, pn) |= run >> at;
	if (at + nr > 64)
		*recv_word(w, pn + 64) |= run << (64 - at);
	recv_count(w, pn, nr, ce, time);
}

u32 dlcp_recv_low(const struct dlcp_recv_window *w)
{
	/* In the last word not all numbers are known */
	u32 oldest = w->largest - recv_known(w->order) + 64;
	u32 i, low = w->largest;

	if (w->full)
		return oldest;
	for (i = 0; i < DLCP_RECV_BACK; i++)
		if (dlcp_pn_before(w->low[i], low))
			low = w->low[i];
	return dlcp_pn_before(low, oldest) ? oldest : low;
}

/* @nr words of those up to @pn, without what is empty at the end */
static void recv_frame(const struct dlcp_recv_window *w, u8 path, u64 now,
		       u32 pn, u32 nr, struct dlcp_f_ack *a)
{
	u32 i;

	for (i = 0; i < nr; i++)
		a->words[i] = recv_bits(w, pn - 64 * i);
	while (nr && !a->words[nr - 1])
		nr--;
	a->path = path;
	a->nr_words = (u16)nr;
	a->largest = pn;
	a->delay_us = (u32)min_t(u64, div_u64(now - w->last_time, 1000),
				 U32_MAX);
	a->time_us = (u32)div_u64(w->last_time, 1000) - w->first_us;
	a->ce = w->ce;
	a->count = w->count;
}

bool dlcp_recv_ack_late(const struct dlcp_recv_window *w, u8 path, u64 now,
			u32 max_words, u32 *at, struct dlcp_f_ack *a)
{
	u32 last = w->largest - DLCP_RECV_FRAME;
	u32 pn, low;
	u64 bits;

	while (!dlcp_pn_before(last, *at)) {
		low = *at;
		pn = low + 64 * max_words - 1;
		if (dlcp_pn_before(last, pn))
			pn = last;
		*at = pn + 1;
		/* It begins with one that is here */
		do {
			bits = recv_bits(w, pn);
			pn -= bits ? __ffs64(bits) : 64;
		} while (!bits && !dlcp_pn_before(pn, low));
		if (!bits || dlcp_pn_before(pn, low))
			continue;
		recv_frame(w, path, now, pn, (pn - low) / 64 + 1, a);
		return true;
	}
	return false;
}

void dlcp_recv_ack(struct dlcp_recv_window *w, u8 path, u64 now,
		   u32 max_words, struct dlcp_f_ack *a)
{
	u32 back = w->largest - dlcp_recv_low(w);
	u32 nr = min_t(u32, back, DLCP_RECV_FRAME - 1) / 64 + 1;

	recv_frame(w, path, now, w->largest, min(nr, max_words), a);
	w->slot = (w->slot + 1) % DLCP_RECV_BACK;
	w->low[w->slot] = w->largest + 1;
	w->unacked = 0;
	w->ack_now = 0;
	w->full = 0;
	if (!(w->disorder & DLCP_RECV_LATE))
		w->patience /= 2;
	else if (w->patience < DLCP_RECV_PATIENCE)
		w->patience++;
	w->disorder = 0;
}

struct dlcp_path *
dlcp_path_first(struct dlcp_path *paths, u32 nr,
		bool (*before)(const struct dlcp_path *a,
			       const struct dlcp_path *b))
{
	struct dlcp_path *best = &paths[0];
	struct dlcp_path *p;

	for (p = paths + 1; p < paths + nr; p++) {
		if (dlcp_path_works(p) != dlcp_path_works(best)) {
			if (dlcp_path_works(p))
				best = p;
		} else if (p->bad != best->bad) {
			if (best->bad)
				best = p;
		} else if (p->bad ? p->pto_count < best->pto_count :
			   before(p, best)) {
			best = p;
		}
	}
	return best;
}
