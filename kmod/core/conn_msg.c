// SPDX-License-Identifier: GPL-2.0
/* Outgoing messages of a connection. */
#include "conn_int.h"

static struct dlcp_txmsg **conn_tx_slot(const struct dlcp_conn *c, u64 id)
{
	return &c->tx_table[id & (c->tx_size - 1)];
}

/* Twice the slots. Return: 0, or -errno and nothing has changed. */
int conn_tx_grow(struct dlcp_conn *c)
{
	u32 size = max_t(u32, 2 * c->tx_size, CONN_TABLE_MIN);
	struct dlcp_txmsg **old = c->tx_table;
	struct dlcp_txmsg **table;
	u64 id;

	if (size > DLCP_MSG_WINDOW)
		return -ENOSPC;
	table = c->cfg.ops->alloc(c, size * sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (id = c->tx_low_id; id != c->tx_next_id; id++)
		table[id & (size - 1)] = *conn_tx_slot(c, id);
	if (old)
		c->cfg.ops->free(c, old, c->tx_size * sizeof(*old));
	c->tx_table = table;
	c->tx_size = size;
	return 0;
}

/* The peer speaks of a message by 32 bits: the id nearest to our window */
u64 conn_tx_extend(const struct dlcp_conn *c, u32 msg)
{
	return c->tx_low_id + (s32)(msg - (u32)c->tx_low_id);
}

/* The slot of @id, left behind or not; NULL: there is no such message */
static struct dlcp_txmsg **conn_tx_any_slot(struct dlcp_conn *c, u64 id)
{
	struct conn_old *old;

	if (id - c->tx_low_id < c->tx_next_id - c->tx_low_id)
		return conn_tx_slot(c, id);
	list_for_each_entry(old, &c->tx_old, node)
		if (old->id == id)
			return &old->m;
	return NULL;
}

static bool conn_is_ghost(const struct dlcp_txmsg *m)
{
	return m == CONN_GHOST_DUE || m == CONN_GHOST_SENT;
}

struct dlcp_txmsg *conn_tx_find(struct dlcp_conn *c, u32 msg)
{
	struct dlcp_txmsg **slot = conn_tx_any_slot(c, conn_tx_extend(c, msg));

	return slot && !conn_is_ghost(*slot) ? *slot : NULL;
}

/* Leave the lowest message behind, if it is time. Return: it was. */
static bool conn_tx_leave(struct dlcp_conn *c)
{
	struct conn_old *old;

	if (c->tx_next_id - c->tx_low_id < CONN_OLD_SPAN ||
	    c->nr_tx_old >= DLCP_MSG_OLD_MAX)
		return false;
	old = c->cfg.ops->alloc(c, sizeof(*old));
	if (!old)
		return false;
	old->id = c->tx_low_id;
	old->m = *conn_tx_slot(c, old->id);
	*conn_tx_slot(c, old->id) = NULL;
	list_add_tail(&old->node, &c->tx_old);
	c->nr_tx_old++;
	return true;
}

static void conn_tx_drop_old(struct dlcp_conn *c, struct conn_old *old)
{
	list_del(&old->node);
	c->nr_tx_old--;
	c->cfg.ops->free(c, old, sizeof(*old));
}

void conn_tx_forget(struct dlcp_conn *c)
{
	struct conn_old *old, *n;

	list_for_each_entry_safe(old, n, &c->tx_old, node)
		conn_tx_drop_old(c, old);
}

/* The slot of @id was emptied */
static void conn_tx_advance(struct dlcp_conn *c, u64 id)
{
	u64 low = c->tx_low_id;
	struct conn_old *old;

	list_for_each_entry(old, &c->tx_old, node) {
		if (old->id != id)
			continue;
		if (!old->m)
			conn_tx_drop_old(c, old);
		break;
	}
	while (c->tx_low_id != c->tx_next_id &&
	       (!*conn_tx_slot(c, c->tx_low_id) || conn_tx_leave(c)))
		c->tx_low_id++;
	if (c->tx_low_id != low)
		conn_event(c, DLCP_EV_TX_SPACE);
}

/* News of a DONE_ACK: it got there, or it got lost */
void conn_tx_ghost(struct dlcp_conn *c, u32 msg, bool acked)
{
	u64 id = conn_tx_extend(c, msg);
	struct dlcp_txmsg **slot = conn_tx_any_slot(c, id);

	if (!slot || !conn_is_ghost(*slot))
		return;
	if (acked) {
		c->tx_ghosts -= *slot == CONN_GHOST_DUE;
		*slot = NULL;
		conn_tx_advance(c, id);
	} else if (*slot == CONN_GHOST_SENT) {
		*slot = CONN_GHOST_DUE;
		c->tx_ghosts++;
		c->tx_ghost_low = min(c->tx_ghost_low, id);
	}
}

/* A DONE_ACK to be sent; it counts as sent. Return: false if there is none. */
bool conn_tx_next_ghost(struct dlcp_conn *c, u64 *id)
{
	struct dlcp_txmsg **slot;
	struct conn_old *old;
	u64 i;

	if (!c->tx_ghosts)
		return false;
	list_for_each_entry(old, &c->tx_old, node) {
		if (old->m != CONN_GHOST_DUE)
			continue;
		old->m = CONN_GHOST_SENT;
		c->tx_ghosts--;
		*id = old->id;
		return true;
	}
	i = max(c->tx_ghost_low, c->tx_low_id);
	for (; i != c->tx_next_id; i++) {
		slot = conn_tx_slot(c, i);
		if (*slot != CONN_GHOST_DUE)
			continue;
		*slot = CONN_GHOST_SENT;
		c->tx_ghost_low = --c->tx_ghosts ? i + 1 : U64_MAX;
		*id = i;
		return true;
	}
	WARN_ON_ONCE(1);
	c->tx_ghosts = 0;
	return false;
}

bool conn_tx_all_done(const struct dlcp_conn *c)
{
	return c->tx_low_id == c->tx_next_id && !c->nr_tx_old;
}

u32 dlcp_conn_seg_size(const struct dlcp_conn *c, u32 elem_size, u64 length)
{
	u32 room = c->cfg.mtu - DLCP_DATA_HDR_LEN;
	u32 size, small;

	if (c->cfg.mtu < DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN + elem_size)
		return elem_size;
	size = min_t(u32, room, U16_MAX) / elem_size * elem_size;
	small = min_t(u32, room - DLCP_OPEN_LEN, U16_MAX) / elem_size *
		elem_size;
	/* Few segments: each has room for the open block */
	if (dlcp_nr_segs(length, small) <= DLCP_INLINE_SEGS)
		return small;
	return size;
}

bool dlcp_conn_may_send(const struct dlcp_conn *c)
{
	return conn_open(c) && !c->fin_sent && c->tx_next_id < c->tx_max_id &&
	       c->tx_next_id - c->tx_low_id <
	       min_t(u64, c->tx_size, DLCP_MSG_WINDOW);
}

void dlcp_conn_send(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (WARN_ON_ONCE(!dlcp_conn_may_send(c)))
		return;
	m->id = c->tx_next_id++;
	*conn_tx_slot(c, m->id) = m;
	list_add_tail(&m->node, &c->tx_active);
	m->inline_open = m->nr_segs <= DLCP_INLINE_SEGS &&
			 c->cfg.mtu >= DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN +
				       (u32)m->open.seg_size;
	c->cnt[DLCP_CNT_TX_MSGS]++;
	c->cnt[DLCP_CNT_TX_OFFERED] += m->open.length;
	/* Ahead of need: dlcp_conn_may_send() cannot allocate */
	if (c->tx_next_id - c->tx_low_id == c->tx_size)
		conn_tx_grow(c);
	dlcp_sched_update(c, m);
}

void dlcp_conn_fill(struct dlcp_conn *c, struct dlcp_txmsg *m, u32 filled)
{
	m->filled = min(filled, m->nr_segs);
	if (m->state == DLCP_TX_SENDING)
		dlcp_sched_update(c, m);
}

void dlcp_conn_tx_free(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	(void)c;
	list_del_init(&m->node);
}

static void conn_tx_ctrl(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (list_empty(&m->ctrl_node))
		list_add_tail(&m->ctrl_node, &c->tx_ctrl);
}

void conn_tx_open_due(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (m->open_acked || m->open_due)
		return;
	m->open_due = 1;
	conn_tx_ctrl(c, m);
}

void conn_tx_charge(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (m->charged)
		return;
	m->charged = 1;
	m->unsolicited = conn_tx_may_charge(c, m);
	c->unsolicited_sent += conn_tx_share(c, m);
}

void conn_tx_asked(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	m->asked_at = now;
	list_move_tail(&m->resolve_node, &c->tx_resolve);
}

void conn_tx_ask(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (list_empty(&m->resolve_node))
		m->asked_since = conn_awake(c, now);
	conn_tx_asked(c, m, now);
	conn_tx_ctrl(c, m);
}

void conn_tx_offer(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	m->offer_pending = 1;
	conn_tx_ask(c, m, now);
}

void conn_tx_check_offer(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (!m->offer_pending && dlcp_txmsg_should_offer(m))
		conn_tx_offer(c, m, now);
}

static void conn_tx_finish(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	struct dlcp_txmsg **slot = conn_tx_any_slot(c, m->id);
	u64 id = m->id;
	u64 arrived = m->open.length - m->missing_bytes;

	conn_tx_charge(c, m);
	m->done_time = now;
	/* The peer says so only with a DONE. If it was late we are, too. */
	if (!m->done_rcvd && dlcp_txmsg_late(m, now))
		m->late = 1;
	c->cnt[DLCP_CNT_TX_MSGS_DONE]++;
	c->cnt[DLCP_CNT_TX_FORGIVEN] += m->missing_bytes;
	c->cnt[DLCP_CNT_TX_DELIVERED] += arrived - m->budget.received;
	*slot = NULL;
	if (m->done_ack_due) {
		*slot = CONN_GHOST_DUE;
		c->tx_ghosts++;
		c->tx_ghost_low = min(c->tx_ghost_low, m->id);
	}
	list_del_init(&m->sched_node);
	list_del_init(&m->ctrl_node);
	list_del_init(&m->resolve_node);
	list_move_tail(&m->node, &c->tx_done);
	conn_event(c, DLCP_EV_TX_DONE | DLCP_EV_TX_SPACE);
	conn_check_flushed(c);
	conn_tx_advance(c, id);
	conn_check_close(c, now);
}

void conn_tx_check(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (dlcp_txmsg_try_resolve(m)) {
		conn_tx_finish(c, m, now);
		return;
	}
	if (m->state != DLCP_TX_SENDING)
		return;
	conn_tx_check_offer(c, m, now);
	dlcp_sched_update(c, m);
}
