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

/* Data that the peer may take: will it? */
static u8 msgsched_ready(const struct dlcp_txmsg *m)
{
	return m->stall_rounds < CONN_STALL_ROUNDS ? DLCP_SCHED_READY :
						     DLCP_SCHED_REFUSED;
}

static u8 msgsched_state(const struct dlcp_conn *c, const struct dlcp_txmsg *m)
{
	u64 left;

	if (m->state != DLCP_TX_SENDING)
		return DLCP_SCHED_NONE;
	if (m->lost.count || m->cutting < m->nr_segs)
		return msgsched_ready(m);
	if (m->next_pos >= m->filled || m->next_pos >= m->nr_segs)
		return DLCP_SCHED_NONE;
	return dlcp_msgsched_credit(c, m, dlcp_txmsg_len(m, m->next_pos),
				    &left) ?
	       msgsched_ready(m) : DLCP_SCHED_WAIT;
}

/* Of the allowance, what a message that is ready will take with its first segment */
void dlcp_msgsched_promise(struct dlcp_conn *c, struct dlcp_txmsg *m, bool on)
{
	if (m->promised == on)
		return;
	m->promised = on;
	if (on)
		c->sched.promised += conn_tx_share(c, m);
	else
		c->sched.promised -= conn_tx_share(c, m);
}

/* Those that wait for the allowance by class, those that only credit helps, and
 * those that are refused
 */
static struct dlcp_ring *msgsched_queue(struct dlcp_conn *c,
					const struct dlcp_txmsg *m, u8 state)
{
	if (state == DLCP_SCHED_READY)
		return &c->sched.ready[m->open.prio];
	if (state == DLCP_SCHED_REFUSED)
		return &c->sched.refused;
	return &c->sched.wait[m->charged ? DLCP_SCHED_CREDIT : m->open.prio];
}

static void msgsched_unlink(struct dlcp_txmsg *m)
{
	if (m->sched_ring)
		dlcp_ring_del(m->sched_ring, &m->sched_node);
	m->sched_ring = NULL;
}

static void msgsched_link(struct dlcp_ring *r, struct dlcp_txmsg *m)
{
	msgsched_unlink(m);
	dlcp_ring_add_tail(r, &m->sched_node);
	m->sched_ring = r;
}

static void msgsched_set(struct dlcp_conn *c, struct dlcp_txmsg *m, u8 state)
{
	c->sched.nr_ready += (state == DLCP_SCHED_READY) -
		       (m->sched == DLCP_SCHED_READY);
	c->sched.nr_wait += (state == DLCP_SCHED_WAIT) -
		      (m->sched == DLCP_SCHED_WAIT);
	m->sched = state;
	dlcp_msgsched_promise(c, m, state == DLCP_SCHED_READY && !m->charged);
	if (state == DLCP_SCHED_NONE) {
		msgsched_unlink(m);
		dlcp_list_off(&m->open_node);
	}
}

void dlcp_conn_tx_unlink(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	dlcp_msgsched_remove(c, m);
	dlcp_list_off(&m->ctrl_node);
	dlcp_list_off(&m->resolve_node);
	dlcp_list_off(&m->sent_node);
}

void dlcp_msgsched_remove(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	msgsched_set(c, m, DLCP_SCHED_NONE);
}

void dlcp_msgsched_update(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	u8 state = msgsched_state(c, m);

	if (state == m->sched)
		return;
	if (m->sched == DLCP_SCHED_NONE)
		m->wait_since = c->send.batch;
	/* Others may do with less of the allowance than it had been promised */
	if (m->sched == DLCP_SCHED_READY && state == DLCP_SCHED_WAIT)
		c->sched.wake_due = 1;
	msgsched_set(c, m, state);
	if (state == DLCP_SCHED_NONE)
		return;
	c->sched.opens_ahead = 1;
	msgsched_link(msgsched_queue(c, m, state), m);
	if (state != DLCP_SCHED_WAIT) {
		dlcp_list_off(&m->open_node);
		return;
	}
	list_move_tail(&m->open_node, &c->sched.unopened);
	/* Only the peer's credit helps it: the peer has to know it */
	if (conn_tx_share(c, m) < m->open.length)
		conn_tx_open_due(c, m);
}

static u64 msgsched_left(const struct dlcp_txmsg *m)
{
	return m->budget.length - m->budget.received - m->budget.forgiven;
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

/* Could it send, and is there enough of the allowance that nobody was promised? */
static bool msgsched_may_wake(const struct dlcp_conn *c,
			      const struct dlcp_txmsg *m)
{
	return c->sched.unsolicited_sent + c->sched.promised + conn_tx_share(c, m) <=
	       c->sched.unsolicited_max && msgsched_state(c, m) == DLCP_SCHED_READY;
}

/* Of @lists, one a class: who is first, or who has waited longest. Of those that
 * wait, which may be ready.
 */
static struct dlcp_txmsg *msgsched_find(const struct dlcp_conn *c,
					const struct dlcp_ring *lists,
					bool longest)
{
	struct dlcp_txmsg *best = NULL;
	struct list_head *at;
	struct dlcp_txmsg *m;
	u32 look;
	u32 i;

	for (i = 0; i <= DLCP_PRIO_MAX && (longest || !best); i++) {
		look = 0;
		dlcp_ring_for_each(at, &lists[i]) {
			m = list_entry(at, struct dlcp_txmsg, sched_node);
			if (look++ == DLCP_SCHED_LOOK)
				break;
			if (m->sched == DLCP_SCHED_WAIT &&
			    !msgsched_may_wake(c, m))
				continue;
			if (!best || (longest ?
				      m->wait_since < best->wait_since :
				      msgsched_before(m, best)))
				best = m;
		}
	}
	return best;
}

static bool msgsched_fair(u64 nth)
{
	return nth % DLCP_SCHED_FAIR == DLCP_SCHED_FAIR - 1;
}

/*
 * Those that would send first, and as many as the allowance does for: the others
 * would be looked at in vain.
 */
void dlcp_msgsched_wake(struct dlcp_conn *c)
{
	struct dlcp_txmsg *m;

	c->sched.wake_due = 0;
	while ((m = msgsched_find(c, c->sched.wait, msgsched_fair(c->sched.wakes)))) {
		c->sched.wakes++;
		dlcp_msgsched_update(c, m);
	}
}

void dlcp_msgsched_try(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (m->sched != DLCP_SCHED_REFUSED)
		return;
	msgsched_link(&c->sched.refused, m);
	c->sched.refused.first = &m->sched_node;
}

struct dlcp_txmsg *dlcp_msgsched_trial(const struct dlcp_conn *c)
{
	if (c->alive.stall_until || !c->sched.refused.first)
		return NULL;
	return list_entry(c->sched.refused.first, struct dlcp_txmsg, sched_node);
}

struct dlcp_txmsg *dlcp_msgsched_pick(struct dlcp_conn *c)
{
	struct dlcp_txmsg *m = dlcp_msgsched_trial(c);
	bool longest = msgsched_fair(c->send.batch);

	/* Each has its turn: another may be taken */
	if (m) {
		msgsched_link(&c->sched.refused, m);
		return m;
	}
	if (!c->sched.nr_ready && c->sched.wake_due)
		dlcp_msgsched_wake(c);
	if (!c->sched.nr_ready)
		return NULL;
	m = msgsched_find(c, c->sched.ready, longest);
	/* Behind those that have waited as long, for its next turn */
	if (m && longest)
		msgsched_link(&c->sched.ready[m->open.prio], m);
	return m;
}

struct dlcp_txmsg *dlcp_msgsched_first(const struct dlcp_conn *c)
{
	struct dlcp_txmsg *m = dlcp_msgsched_trial(c);

	return m || !c->sched.nr_ready ? m : msgsched_find(c, c->sched.ready, false);
}

bool dlcp_conn_first(const struct dlcp_conn *c, u8 *prio, u64 *left)
{
	const struct dlcp_txmsg *m = dlcp_msgsched_first(c);

	if (!m)
		return false;
	*prio = m->open.prio;
	*left = msgsched_left(m);
	return true;
}
