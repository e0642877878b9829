// SPDX-License-Identifier: GPL-2.0
#include "budget.h"
#include "rxmsg.h"
#include "txmsg.h"

size_t dlcp_rxmsg_mem(u32 nr_segs)
{
	u32 words = dlcp_segmap_words(nr_segs);

	return words > 1 ? (size_t)words * sizeof(u64) : 0;
}

void dlcp_rxmsg_init(struct dlcp_rxmsg *m, u64 id, const struct dlcp_open *o,
		     void *mem, u64 now)
{
	memset(m, 0, sizeof(*m));
	INIT_LIST_HEAD(&m->node);
	INIT_LIST_HEAD(&m->want_node);
	INIT_LIST_HEAD(&m->ctrl_node);
	dlcp_tnode_init(&m->old_node);
	dlcp_tnode_init(&m->late_node);
	dlcp_tnode_init(&m->vest_node);
	m->cuts = RB_ROOT;
	m->open = *o;
	m->id = id;
	m->nr_segs = dlcp_nr_segs(o->length, o->seg_size);
	m->start_time = now;
	if (o->has_deadline)
		m->deadline = now + (u64)o->deadline_us * 1000;
	dlcp_segmap_init(&m->map, mem ?: &m->small, m->nr_segs);
}

int dlcp_rxmsg_segment(struct dlcp_rxmsg *m, u32 seg, u32 len, bool critical)
{
	if (seg >= m->nr_segs || len != dlcp_seg_len(&m->open, seg))
		return -EBADMSG;
	if (dlcp_segmap_test(&m->map, seg)) {
		m->dup += len;
		return 0;
	}
	if (dlcp_rxmsg_complete(m))
		return -ESTALE;
	/* More critical ones than announced: one of the two is a lie */
	if (critical && m->critical >= m->open.nr_critical)
		return -EBADMSG;
	dlcp_segmap_set(&m->map, seg);
	m->received += len;
	m->critical += critical;
	return 1;
}

bool dlcp_rxmsg_run_fits(const struct dlcp_rxmsg *m, u32 seg, u32 nr, u32 len,
			 u32 last, bool critical)
{
	if (dlcp_rxmsg_complete(m) || seg >= m->nr_segs ||
	    nr > m->nr_segs - seg ||
	    (nr > 1 && len != m->open.seg_size) ||
	    last != dlcp_seg_len(&m->open, seg + nr - 1))
		return false;
	if (critical && nr > m->open.nr_critical - m->critical)
		return false;
	return dlcp_segmap_no_run(&m->map, seg, nr);
}

void dlcp_rxmsg_run(struct dlcp_rxmsg *m, u32 seg, u32 nr, u32 last,
		    bool critical)
{
	dlcp_segmap_set_run(&m->map, seg, nr);
	m->received += (u64)(nr - 1) * m->open.seg_size + last;
	m->critical += critical ? nr : 0;
}

/* Bytes that may be missing, by its own bound and, if it has one, its group's budget */
static u64 rxmsg_bound(const struct dlcp_rxmsg *m)
{
	u64 own = dlcp_bound(m->open.length, m->open.loss_ppm);

	return m->group ? min(own, dlcp_group_left(m->group)) : own;
}

/* Is not more missing than @most, and nothing that must not? */
static bool rxmsg_within(const struct dlcp_rxmsg *m, u64 most)
{
	u64 missing = m->open.length - m->received;

	/* An empty message has nothing to give up but itself */
	if (!m->open.length)
		return m->map.count == m->nr_segs;
	return m->critical == m->open.nr_critical && missing <= most;
}

/* What a silence makes it complete with: of a group all that is left */
static u64 rxmsg_vests(const struct dlcp_rxmsg *m)
{
	return m->group ? dlcp_group_left(m->group) : rxmsg_bound(m);
}

static void rxmsg_finish(struct dlcp_rxmsg *m, u8 why, u64 now)
{
	m->state = DLCP_RX_COMPLETE;
	m->done_time = now;
	/* Without bytes none is missing, whether its segment came or not */
	m->nr_missing = m->open.length ? m->nr_segs - m->map.count : 0;
	m->missing = m->open.length - m->received;
	m->why = m->nr_missing ? why : 0;
	m->late = m->deadline && now >= m->deadline;
	m->below_bound = m->nr_missing && !rxmsg_within(m, rxmsg_vests(m));
	if (m->group)
		dlcp_group_end(m->group, m->missing);
	m->group = NULL;
}

/*
 * OFFERs may overtake each other. What was given up and came all the same, late,
 * is not missing; then as much else may be that was still on its way.
 */
void dlcp_rxmsg_offer(struct dlcp_rxmsg *m, u32 given_up)
{
	m->given_up = max(m->given_up, given_up);
}

bool dlcp_rxmsg_try_complete(struct dlcp_rxmsg *m, u64 now)
{
	bool late = m->deadline && now >= m->deadline;
	u8 why;

	if (dlcp_rxmsg_complete(m))
		return true;
	if (m->map.count == m->nr_segs) {
		rxmsg_finish(m, 0, now);
		return true;
	}
	if (late && m->open.flags & DLCP_MSG_HARD_DEADLINE) {
		rxmsg_finish(m, DLCP_WHY_DEADLINE, now);
		return true;
	}
	if (m->nr_segs - m->map.count <= m->given_up)
		why = DLCP_WHY_FORGIVEN;
	else if (m->open.flags & DLCP_MSG_EARLY_STOP)
		why = DLCP_WHY_STOPPED;
	else if (late)
		why = DLCP_WHY_DEADLINE;
	else
		return false;
	if (rxmsg_within(m, rxmsg_bound(m)))
		rxmsg_finish(m, why, now);
	return dlcp_rxmsg_complete(m);
}

void dlcp_rxmsg_all_sent(struct dlcp_rxmsg *m, u32 wait, u64 now)
{
	if (m->all_sent || dlcp_rxmsg_complete(m) || !wait)
		return;
	m->all_sent = 1;
	m->wait = min(wait, DLCP_WAIT_MAX);
	/* Of a message of which nothing came yet there was no silence */
	if (!m->last)
		m->last = now;
}

bool dlcp_rxmsg_may_vest(const struct dlcp_rxmsg *m)
{
	return m->all_sent && !dlcp_rxmsg_complete(m) &&
	       rxmsg_within(m, rxmsg_vests(m));
}

void dlcp_rxmsg_vest(struct dlcp_rxmsg *m, u64 now)
{
	if (!dlcp_rxmsg_may_vest(m))
		return;
	m->silence = 1;
	rxmsg_finish(m, DLCP_WHY_FORGIVEN, now);
}

void dlcp_rxmsg_discard(struct dlcp_rxmsg *m, u64 now)
{
	if (!dlcp_rxmsg_complete(m))
		rxmsg_finish(m, DLCP_WHY_DISCARDED, now);
}

bool dlcp_rxmsg_next_missing(const struct dlcp_rxmsg *m, u32 *seg, u32 *count)
{
	u32 first = dlcp_segmap_next_zero(&m->map, *seg);

	if (first >= m->nr_segs)
		return false;
	*seg = first;
	*count = dlcp_segmap_next(&m->map, first) - first;
	return true;
}
