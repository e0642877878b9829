// SPDX-License-Identifier: GPL-2.0
#include "cut.h"
#include "txmsg.h"

u32 dlcp_nr_segs(u64 length, u32 seg_size)
{
	u64 nr = DIV_ROUND_UP_ULL(length, seg_size);

	return (u32)clamp_t(u64, nr, 1, U32_MAX);
}

size_t dlcp_txmsg_mem(u32 nr_segs, bool tagged)
{
	size_t mem = (size_t)3 * dlcp_segmap_words(nr_segs) * sizeof(u64);

	if (tagged)
		mem += (size_t)nr_segs * sizeof(u32);
	return mem;
}

static u8 tag_get(const u8 *tags, u32 i)
{
	return (tags[i / 4] >> (i % 4 * 2)) & 3;
}

/* Tag of a segment: the most important of the parts it touches */
static u8 tag_of_seg(const struct dlcp_open *o, const u8 *tags, u32 stride,
		     u32 seg)
{
	u64 off = (u64)seg * o->seg_size;
	u8 best = DLCP_TAG_DROPPABLE;
	u32 len, i, last;

	len = dlcp_seg_len(o, seg);
	if (!len)
		return DLCP_TAG_IMPORTANT;
	i = (u32)div_u64(off, stride);
	last = (u32)div_u64(off + len - 1, stride);
	for (; i <= last; i++) {
		switch (tag_get(tags, i)) {
		case DLCP_TAG_CRITICAL:
			return DLCP_TAG_CRITICAL;
		case DLCP_TAG_DROPPABLE:
			break;
		default:
			best = DLCP_TAG_IMPORTANT;
			break;
		}
	}
	return best;
}

/* Counting sort by tag; within a tag segments keep their order */
static void txmsg_order(struct dlcp_txmsg *m, const u8 *tags, u32 stride)
{
	u32 next[3] = { 0, 0, 0 };
	u32 seg;
	u8 tag;

	for (seg = 0; seg < m->nr_segs; seg++)
		next[tag_of_seg(&m->open, tags, stride, seg)]++;
	m->open.nr_critical = next[DLCP_TAG_CRITICAL];
	m->first_droppable = m->nr_segs - next[DLCP_TAG_DROPPABLE];
	next[DLCP_TAG_CRITICAL] = 0;
	next[DLCP_TAG_IMPORTANT] = m->open.nr_critical;
	next[DLCP_TAG_DROPPABLE] = m->first_droppable;
	for (seg = 0; seg < m->nr_segs; seg++) {
		tag = tag_of_seg(&m->open, tags, stride, seg);
		m->seg_of_pos[next[tag]++] = seg;
	}
}

void dlcp_txmsg_init(struct dlcp_txmsg *m, const struct dlcp_open *open,
		     const u8 *tags, u32 stride, void *mem, u64 now)
{
	u32 nr = dlcp_nr_segs(open->length, open->seg_size);
	u32 words = dlcp_segmap_words(nr);
	u64 *bits = mem;

	INIT_LIST_HEAD(&m->node);
	INIT_LIST_HEAD(&m->sched_node);
	INIT_LIST_HEAD(&m->ctrl_node);
	INIT_LIST_HEAD(&m->resolve_node);
	INIT_LIST_HEAD(&m->open_node);
	INIT_LIST_HEAD(&m->sent_node);
	m->open = *open;
	m->open.nr_critical = 0;
	m->nr_segs = nr;
	m->first_droppable = nr;
	m->cutting = nr;
	m->cuts = RB_ROOT;
	m->start_time = now;
	dlcp_budget_init(&m->budget, open->length, open->loss_ppm);
	dlcp_segmap_init(&m->acked, bits, nr);
	dlcp_segmap_init(&m->lost, bits + words, nr);
	dlcp_segmap_init(&m->forgiven, bits + 2 * (size_t)words, nr);
	m->resend_low = nr;
	if (tags) {
		m->seg_of_pos = (u32 *)(bits + 3 * (size_t)words);
		txmsg_order(m, tags, stride);
	}
	/* The last segment is the shortest */
	m->vests = open->length && m->open.nr_critical < nr &&
		   !(open->flags & DLCP_MSG_EARLY_STOP) &&
		   (open->group ? open->loss_ppm :
		    dlcp_bound(open->length, open->loss_ppm) >=
		    dlcp_seg_len(open, nr - 1));
}

u8 dlcp_txmsg_tag(const struct dlcp_txmsg *m, u32 pos)
{
	if (pos < m->open.nr_critical)
		return DLCP_TAG_CRITICAL;
	return pos < m->first_droppable ? DLCP_TAG_IMPORTANT :
					  DLCP_TAG_DROPPABLE;
}

u32 dlcp_txmsg_tag_end(const struct dlcp_txmsg *m, u32 pos)
{
	if (pos < m->open.nr_critical)
		return m->open.nr_critical;
	return pos < m->first_droppable ? m->first_droppable : m->nr_segs;
}

u32 dlcp_txmsg_released(const struct dlcp_txmsg *m)
{
	return m->state == DLCP_TX_SENDING ? m->released : m->nr_segs;
}

static void txmsg_release(struct dlcp_txmsg *m)
{
	while (m->released < m->nr_segs) {
		if (dlcp_segmap_test(&m->acked, m->released))
			m->released = dlcp_segmap_next_zero(&m->acked,
							    m->released);
		else if (dlcp_segmap_test(&m->forgiven, m->released))
			m->released++;
		else
			break;
	}
}

u32 dlcp_txmsg_next_missing(struct dlcp_txmsg *m, u32 seg)
{
	return dlcp_segmap_next(&m->lost, seg);
}

bool dlcp_txmsg_late(const struct dlcp_txmsg *m, u64 now)
{
	return m->open.has_deadline &&
	       now - m->start_time >= (u64)m->open.deadline_us * 1000;
}

void dlcp_txmsg_open(const struct dlcp_txmsg *m, u64 now, struct dlcp_open *o)
{
	u64 past;

	*o = m->open;
	if (!o->has_deadline)
		return;
	past = now > m->start_time ? div_u64(now - m->start_time, 1000) : 0;
	o->deadline_us -= (u32)min_t(u64, past, o->deadline_us);
}

u32 dlcp_txmsg_acked(struct dlcp_txmsg *m, u32 pos)
{
	u32 len;

	if (pos >= m->nr_segs || !dlcp_segmap_set(&m->acked, pos))
		return 0;
	if (pos == m->cutting)
		m->cutting = m->nr_segs;
	len = dlcp_txmsg_len(m, pos);
	dlcp_budget_receive(&m->budget, len, m->forgiven.count &&
			    dlcp_segmap_clear(&m->forgiven, pos));
	/* By position while it is sent, by segment from then on */
	if (m->lost.count)
		dlcp_segmap_clear(&m->lost, m->state == DLCP_TX_SENDING ?
					    pos : dlcp_txmsg_seg(m, pos));
	if (pos == m->released)
		txmsg_release(m);
	return len;
}

u32 dlcp_txmsg_acked_run(struct dlcp_txmsg *m, u32 pos, u32 n)
{
	u32 bytes;

	if (m->state != DLCP_TX_SENDING || m->seg_of_pos || m->lost.count ||
	    m->forgiven.count || m->cutting < m->nr_segs ||
	    !dlcp_segmap_set_run(&m->acked, pos, n))
		return 0;
	bytes = (n - 1) * m->open.seg_size + dlcp_txmsg_len(m, pos + n - 1);
	dlcp_budget_receive(&m->budget, bytes, false);
	if (pos == m->released)
		txmsg_release(m);
	return bytes;
}

static const struct dlcp_cut *txmsg_cut(const struct dlcp_txmsg *m, u32 pos)
{
	const struct dlcp_tnode *n = dlcp_tree_find(&m->cuts, pos);

	return n ? container_of(n, struct dlcp_cut, node) : NULL;
}

/*
 * An empty segment costs the budget nothing and so could always be given up;
 * but then the peer would never see an empty message. What a group has left only
 * its receiver knows.
 */
static bool txmsg_affords(const struct dlcp_txmsg *m, u32 pos)
{
	u32 len = dlcp_txmsg_len(m, pos);

	return m->open.loss_ppm && !m->open.group && len &&
	       pos >= m->open.nr_critical &&
	       dlcp_budget_may_forgive(&m->budget, len);
}

bool dlcp_txmsg_undecided(const struct dlcp_txmsg *m, u32 pos)
{
	const struct dlcp_cut *cut = txmsg_cut(m, pos);

	return cut && !cut->have && txmsg_affords(m, pos);
}

/* Of a segment in pieces the receiver keeps what came, in the room that its credit
 * speaks of: it is given up only if nothing did. What is not due is there, or on its
 * way.
 */
static bool txmsg_may_forgive(const struct dlcp_txmsg *m, u32 pos)
{
	const struct dlcp_cut *cut = txmsg_cut(m, pos);
	u32 units = DIV_ROUND_UP(dlcp_txmsg_len(m, pos),
				 dlcp_cut_unit(&m->open));

	return txmsg_affords(m, pos) &&
	       (!cut || cut->due == dlcp_cut_units(0, units));
}

static void txmsg_forgive(struct dlcp_txmsg *m, u32 pos)
{
	dlcp_budget_forgive(&m->budget, dlcp_txmsg_len(m, pos));
	dlcp_segmap_set(&m->forgiven, pos);
	if (pos == m->cutting)
		m->cutting = m->nr_segs;
	txmsg_release(m);
}

u32 dlcp_txmsg_lost(struct dlcp_txmsg *m, u32 pos)
{
	bool again;

	if (m->state != DLCP_TX_SENDING || pos >= m->nr_segs ||
	    dlcp_segmap_test(&m->acked, pos) ||
	    dlcp_segmap_test(&m->forgiven, pos))
		return 0;
	/* It may be in the set for another of its pieces */
	again = dlcp_segmap_test(&m->lost, pos);
	if (!(again && m->refused) && txmsg_may_forgive(m, pos)) {
		dlcp_segmap_clear(&m->lost, pos);
		txmsg_forgive(m, pos);
		return dlcp_txmsg_len(m, pos);
	}
	if (again)
		return 0;
	dlcp_segmap_set(&m->lost, pos);
	m->resend_low = min(m->resend_low, pos);
	return 0;
}

void dlcp_txmsg_refused(struct dlcp_txmsg *m, u32 pos)
{
	if (m->state != DLCP_TX_SENDING || pos >= m->nr_segs ||
	    dlcp_segmap_test(&m->acked, pos) ||
	    dlcp_segmap_test(&m->forgiven, pos))
		return;
	dlcp_segmap_set(&m->lost, pos);
	m->resend_low = min(m->resend_low, pos);
	m->refused = 1;
}

u32 dlcp_txmsg_next_resend(struct dlcp_txmsg *m)
{
	if (m->state != DLCP_TX_SENDING)
		return m->nr_segs;
	/* What was begun is not given up: nothing of it was lost */
	if (m->cutting < m->nr_segs)
		return m->cutting;
	while (m->lost.count) {
		m->resend_low = dlcp_segmap_next(&m->lost, m->resend_low);
		if (m->resend_low == m->nr_segs)
			break;
		if (m->refused || !txmsg_may_forgive(m, m->resend_low))
			return m->resend_low;
		/* The budget has grown since it was lost */
		dlcp_segmap_clear(&m->lost, m->resend_low);
		txmsg_forgive(m, m->resend_low);
	}
	m->refused = 0;
	m->resend_low = m->nr_segs;
	return m->nr_segs;
}

bool dlcp_txmsg_all_sent(const struct dlcp_txmsg *m)
{
	return m->state == DLCP_TX_SENDING && m->next_pos == m->nr_segs &&
	       m->cutting == m->nr_segs && !(m->refused && m->lost.count);
}

bool dlcp_txmsg_should_offer(const struct dlcp_txmsg *m)
{
	return m->state == DLCP_TX_SENDING && m->next_pos == m->nr_segs &&
	       m->forgiven.count > m->offered;
}

/* What is not acknowledged, by segment, becomes the set to be resolved */
static void txmsg_unacked(struct dlcp_txmsg *m)
{
	u32 pos;

	memset(m->lost.bits, 0, dlcp_segmap_words(m->nr_segs) * sizeof(u64));
	dlcp_segmap_init(&m->lost, m->lost.bits, m->nr_segs);
	for (pos = dlcp_segmap_next_zero(&m->acked, 0); pos < m->nr_segs;
	     pos = dlcp_segmap_next_zero(&m->acked, pos + 1))
		dlcp_segmap_set(&m->lost, dlcp_txmsg_seg(m, pos));
}

/* Nothing more of it is sent */
static void txmsg_over(struct dlcp_txmsg *m, u64 missing)
{
	txmsg_unacked(m);
	if (m->group)
		dlcp_group_end(m->group, missing);
	m->group = NULL;
}

static void txmsg_done(struct dlcp_txmsg *m)
{
	u32 seg;

	m->missing_bytes = 0;
	m->nr_missing = m->lost.count;
	for (seg = dlcp_segmap_next(&m->lost, 0); seg < m->nr_segs;
	     seg = dlcp_segmap_next(&m->lost, seg + 1))
		m->missing_bytes += dlcp_seg_len(&m->open, seg);
	m->state = DLCP_TX_DONE;
}

bool dlcp_txmsg_try_resolve(struct dlcp_txmsg *m)
{
	u32 words = dlcp_segmap_words(m->nr_segs);
	u32 seg;

	if (m->state == DLCP_TX_SENDING) {
		if (m->acked.count < m->nr_segs)
			return false;
		txmsg_over(m, 0);
		m->nr_missing = 0;
	}
	if (m->state == DLCP_TX_DONE)
		return true;
	if (m->lost.count > m->nr_missing) {
		/* Words that hold nothing unknown need not be fetched */
		seg = m->map_next < words ?
		      dlcp_segmap_next(&m->lost, m->map_next * 64) :
		      m->nr_segs;
		if (seg < m->nr_segs) {
			m->map_next = seg / 64;
			return false;
		}
	}
	txmsg_done(m);
	return true;
}

bool dlcp_txmsg_unbound(const struct dlcp_txmsg *m, const struct dlcp_f_done *d)
{
	return d->why == DLCP_WHY_DISCARDED ||
	       (d->why == DLCP_WHY_DEADLINE &&
		m->open.flags & DLCP_MSG_HARD_DEADLINE);
}

/* What is beyond the bound is not on its group's account: this DONE may have
 * overtaken one of a message that was complete before, and took what was left then
 */
void dlcp_txmsg_on_done(struct dlcp_txmsg *m, const struct dlcp_f_done *d)
{
	if (m->state != DLCP_TX_SENDING)
		return;
	m->done_rcvd = 1;
	m->why = d->why;
	m->below_bound = d->below_bound;
	m->late = d->late;
	m->ask_pending = 0;
	if (m->sent_frame == DLCP_FRAME_SENT_PENDING)
		m->sent_frame = DLCP_FRAME_SENT_KNOWN;
	m->map_next = 0;
	txmsg_over(m, dlcp_txmsg_unbound(m, d) ? 0 : d->missing);
	m->state = DLCP_TX_RESOLVING;
	m->nr_missing = d->nr_missing;
	if (!d->nr_missing) {
		/* All of it came: what we do not know of are lost ACKs */
		memset(m->lost.bits, 0,
		       dlcp_segmap_words(m->nr_segs) * sizeof(u64));
		dlcp_segmap_init(&m->lost, m->lost.bits, m->nr_segs);
	}
}

void dlcp_txmsg_on_map(struct dlcp_txmsg *m, const struct dlcp_f_map *f)
{
	u32 words = dlcp_segmap_words(m->nr_segs);
	u32 w, bit;
	u64 got;

	/* Only the next part counts, so that no word is left out */
	if (m->state != DLCP_TX_RESOLVING || f->first_word > m->map_next)
		return;
	for (w = 0; w < f->nr_words && f->first_word + w < words; w++) {
		got = m->lost.bits[f->first_word + w] & f->words[w];
		while (got) {
			bit = __ffs64(got);
			got &= got - 1;
			dlcp_segmap_clear(&m->lost,
					  (f->first_word + w) * 64 + bit);
		}
	}
	m->map_next = max(m->map_next, f->first_word + f->nr_words);
}
