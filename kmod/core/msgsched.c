// SPDX-License-Identifier: GPL-2.0
#include "conn_int.h"
#include "msgsched.h"

/*
 * A forgiven segment leaves room for another one: the peer did not get it,
 * and the peer's credit speaks of what it gets.
 */
bool dlcp_msgsched_credit(const struct dlcp_conn *c, const struct dlcp_txmsg *m,
			  u64 need, u64 *left)
{
	u64 used = m->sent_bytes - m->budget.forgiven;
	u64 limit = m->granted;

	if (m->charged ? m->unsolicited : conn_tx_may_charge(c, m))
		limit = max(limit, conn_tx_share(c, m));
	*left = limit > used ? limit - used : 0;
	return *left >= need;
}

static u8 msgsched_state(const struct dlcp_conn *c, const struct dlcp_txmsg *m)
{
	u64 left;

	if (m->state != DLCP_TX_SENDING)
		return DLCP_SCHED_NONE;
	if (m->lost.count || m->cutting < m->nr_segs)
		return DLCP_SCHED_READY;
	if (m->next_pos >= m->filled || m->next_pos >= m->nr_segs)
		return DLCP_SCHED_NONE;
	return dlcp_msgsched_credit(c, m, dlcp_txmsg_len(m, m->next_pos),
				    &left) ?
	       DLCP_SCHED_READY : DLCP_SCHED_WAIT;
}

void dlcp_msgsched_update(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	u8 state = msgsched_state(c, m);

	if (state == m->sched)
		return;
	m->sched = state;
	switch (state) {
	case DLCP_SCHED_READY:
		m->wait_since = c->batch;
		c->opens_ahead = 1;
		list_move_tail(&m->sched_node, &c->tx_ready[m->open.prio]);
		list_del_init(&m->open_node);
		break;
	case DLCP_SCHED_WAIT:
		c->opens_ahead = 1;
		list_move_tail(&m->sched_node, &c->tx_wait);
		list_move_tail(&m->open_node, &c->tx_unopened);
		/* Only the peer's credit helps it: the peer has to know it */
		if (m->open.length > c->unsolicited_msg)
			conn_tx_open_due(c, m);
		break;
	default:
		list_del_init(&m->sched_node);
		list_del_init(&m->open_node);
		break;
	}
}

void dlcp_msgsched_wake(struct dlcp_conn *c)
{
	struct dlcp_txmsg *m, *n;
	u32 blocked = 0;

	list_for_each_entry_safe(m, n, &c->tx_wait, sched_node) {
		dlcp_msgsched_update(c, m);
		if (m->sched == DLCP_SCHED_WAIT && ++blocked == 64)
			break;
	}
}

static u64 msgsched_left(const struct dlcp_txmsg *m)
{
	return m->budget.length - m->budget.received - m->budget.forgiven;
}

static struct dlcp_txmsg *msgsched_oldest(struct dlcp_conn *c)
{
	struct dlcp_txmsg *best = NULL;
	struct dlcp_txmsg *m;
	u32 look;
	u32 i;

	for (i = 0; i <= DLCP_PRIO_MAX; i++) {
		look = 0;
		list_for_each_entry(m, &c->tx_ready[i], sched_node) {
			if (!best || m->wait_since < best->wait_since)
				best = m;
			if (++look == DLCP_SCHED_LOOK)
				break;
		}
	}
	/* Behind those that have waited as long, for its next turn */
	if (best)
		list_move_tail(&best->sched_node,
			       &c->tx_ready[best->open.prio]);
	return best;
}

/*
 * Short ones pass long ones, so that most messages are over soon. Those of about
 * one length go in the order in which we got them: they may be the steps of a
 * pipeline, which stands until the next one is there.
 */
static bool msgsched_before(const struct dlcp_txmsg *m,
			    const struct dlcp_txmsg *other)
{
	u64 left = msgsched_left(m), others = msgsched_left(other);

	if (left < others / 2 || others < left / 2)
		return left < others;
	return m->id < other->id;
}

/* But for the turns of those that have waited longest */
static struct dlcp_txmsg *msgsched_first(const struct dlcp_conn *c)
{
	struct dlcp_txmsg *best = NULL;
	struct dlcp_txmsg *m;
	u32 look = 0;
	u32 i;

	for (i = 0; i <= DLCP_PRIO_MAX && !best; i++) {
		list_for_each_entry(m, &c->tx_ready[i], sched_node) {
			if (!best || msgsched_before(m, best))
				best = m;
			if (++look == DLCP_SCHED_LOOK)
				break;
		}
	}
	return best;
}

struct dlcp_txmsg *dlcp_msgsched_pick(struct dlcp_conn *c)
{
	/* Of what is refused, each has its turn: another may be taken */
	if (c->batch % DLCP_SCHED_FAIR == DLCP_SCHED_FAIR - 1 ||
	    c->stalled >= CONN_STALL_ROUNDS)
		return msgsched_oldest(c);
	return msgsched_first(c);
}

bool dlcp_conn_first(const struct dlcp_conn *c, u8 *prio, u64 *left)
{
	const struct dlcp_txmsg *m = msgsched_first(c);

	if (!m)
		return false;
	*prio = m->open.prio;
	*left = msgsched_left(m);
	return true;
}

bool dlcp_msgsched_idle(const struct dlcp_conn *c)
{
	u32 i;

	for (i = 0; i <= DLCP_PRIO_MAX; i++)
		if (!list_empty(&c->tx_ready[i]))
			return false;
	return true;
}
