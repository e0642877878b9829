// SPDX-License-Identifier: GPL-2.0
/* Outgoing messages of a connection. */
#include "budget.h"
#include "conn_int.h"

static struct dlcp_txmsg **conn_tx_slot(const struct dlcp_conn *c, u64 id)
{
	return &c->tx.table[id & (c->tx.size - 1)];
}

/* The slots, and a bit for each whose DONE_ACK is to be sent */
size_t dlcp_conn_tx_table_mem(u32 size)
{
	return size * sizeof(struct dlcp_txmsg *) +
	       (size > 64 ? dlcp_segmap_words(size) * sizeof(u64) : 0);
}

/* Word of tx_due with @id's bit */
static u64 *conn_tx_due_word(struct dlcp_conn *c, u64 id)
{
	u64 *words = c->tx.size > 64 ? (u64 *)(c->tx.table + c->tx.size) :
				       &c->tx.due;

	return words + (id & (c->tx.size - 1)) / 64;
}

static u64 conn_tx_due_bit(const struct dlcp_conn *c, u64 id)
{
	return BIT_ULL((id & (c->tx.size - 1)) % 64);
}

/* Twice the slots. Return: 0, or -errno and nothing has changed. */
int dlcp_conn_tx_grow(struct dlcp_conn *c)
{
	u32 size = max_t(u32, 2 * c->tx.size, CONN_TABLE_MIN);
	struct dlcp_txmsg **old = c->tx.table;
	u32 old_size = c->tx.size;
	struct dlcp_txmsg *m;
	u64 id;

	if (size > DLCP_MSG_WINDOW)
		return -ENOSPC;
	c->tx.table = c->cfg.ops->alloc(c, dlcp_conn_tx_table_mem(size));
	if (!c->tx.table) {
		c->tx.table = old;
		return -ENOMEM;
	}
	c->tx.size = size;
	c->tx.due = 0;
	for (id = c->tx.low_id; id != c->tx.next_id; id++) {
		m = old[id & (old_size - 1)];
		*conn_tx_slot(c, id) = m;
		if (m == CONN_TOMBSTONE_DUE)
			*conn_tx_due_word(c, id) |= conn_tx_due_bit(c, id);
	}
	if (old)
		c->cfg.ops->free(c, old, dlcp_conn_tx_table_mem(old_size));
	return 0;
}

/* There is no slot for another message, and there was no memory for more of them, or
 * to leave one behind
 */
bool dlcp_conn_tx_cramped(const struct dlcp_conn *c)
{
	return c->tx.next_id - c->tx.low_id == c->tx.size &&
	       (c->tx.size < DLCP_MSG_WINDOW ||
		c->tx.nr_old < DLCP_MSG_OLD_MAX);
}

/* The peer speaks of a message by 32 bits: the id nearest to our window */
u64 dlcp_conn_tx_extend(const struct dlcp_conn *c, u32 msg)
{
	return c->tx.low_id + (s32)(msg - (u32)c->tx.low_id);
}

static struct conn_old *conn_tx_find_old(const struct dlcp_conn *c, u64 id)
{
	struct dlcp_tnode *n = dlcp_tree_find(&c->tx.old, id);

	return n ? container_of(n, struct conn_old, node) : NULL;
}

/* The slot of @id, left behind or not; NULL: there is no such message */
static struct dlcp_txmsg **conn_tx_any_slot(struct dlcp_conn *c, u64 id)
{
	struct conn_old *old;

	if (id - c->tx.low_id < c->tx.next_id - c->tx.low_id)
		return conn_tx_slot(c, id);
	old = conn_tx_find_old(c, id);
	return old ? &old->m : NULL;
}

/* The id of the message that the peer calls @msg */
static u64 conn_tx_id(const struct dlcp_conn *c, u32 msg)
{
	u64 id = dlcp_conn_tx_extend(c, msg);
	const struct dlcp_tnode *n = NULL;

	if (id - c->tx.low_id >= c->tx.next_id - c->tx.low_id)
		n = dlcp_tree_find32(&c->tx.old, msg);
	return n ? n->key : id;
}

static bool conn_is_tombstone(const struct dlcp_txmsg *m)
{
	return m == CONN_TOMBSTONE_DUE || m == CONN_TOMBSTONE_SENT;
}

struct dlcp_txmsg *dlcp_conn_tx_find(struct dlcp_conn *c, u32 msg)
{
	struct dlcp_txmsg **slot = conn_tx_any_slot(c, conn_tx_id(c, msg));

	return slot && !conn_is_tombstone(*slot) ? *slot : NULL;
}

/* The DONE_ACK of the message that @slot is of is to be sent */
static void conn_tx_due(struct dlcp_conn *c, struct dlcp_txmsg **slot, u64 id)
{
	*slot = CONN_TOMBSTONE_DUE;
	c->tx.tombstones++;
	if (id < c->tx.low_id) {
		list_add_tail(&container_of(slot, struct conn_old, m)->due,
			      &c->tx.old_due);
		return;
	}
	*conn_tx_due_word(c, id) |= conn_tx_due_bit(c, id);
	c->tx.tombstone_low = min(c->tx.tombstone_low, id);
}

/* It need not be, or is sent now */
static void conn_tx_not_due(struct dlcp_conn *c, struct dlcp_txmsg **slot,
			    u64 id)
{
	c->tx.tombstones--;
	if (id < c->tx.low_id)
		list_del_init(&container_of(slot, struct conn_old, m)->due);
	else
		*conn_tx_due_word(c, id) &= ~conn_tx_due_bit(c, id);
}

/* Leave the lowest message behind, if it is time. Return: it was. The peer does so
 * with a message that it knows, and nothing of this one may have been sent.
 */
static bool conn_tx_leave(struct dlcp_conn *c)
{
	u64 id = c->tx.low_id;
	struct conn_old *old;

	if (c->tx.next_id - c->tx.low_id < CONN_OLD_SPAN ||
	    c->tx.nr_old >= DLCP_MSG_OLD_MAX)
		return false;
	old = c->cfg.ops->alloc(c, sizeof(*old));
	if (!old)
		return false;
	INIT_LIST_HEAD(&old->due);
	old->m = *conn_tx_slot(c, id);
	*conn_tx_slot(c, id) = NULL;
	if (old->m == CONN_TOMBSTONE_DUE) {
		*conn_tx_due_word(c, id) &= ~conn_tx_due_bit(c, id);
		list_add_tail(&old->due, &c->tx.old_due);
	}
	if (!conn_is_tombstone(old->m) && old->m->state == DLCP_TX_SENDING)
		conn_tx_open_due(c, old->m);
	dlcp_tree_add(&c->tx.old, &old->node, id);
	c->tx.nr_old++;
	return true;
}

static void conn_tx_drop_old(struct dlcp_conn *c, struct conn_old *old)
{
	dlcp_tree_del(&c->tx.old, &old->node);
	list_del(&old->due);
	c->tx.nr_old--;
	c->cfg.ops->free(c, old, sizeof(*old));
}

void dlcp_conn_tx_forget(struct dlcp_conn *c)
{
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&c->tx.old)))
		conn_tx_drop_old(c, container_of(n, struct conn_old, node));
}

/* The slot of @id was emptied */
static void conn_tx_advance(struct dlcp_conn *c, u64 id)
{
	u64 low = c->tx.low_id;
	struct conn_old *old = id < low ? conn_tx_find_old(c, id) : NULL;

	if (old && !old->m) {
		conn_tx_drop_old(c, old);
		/* It may have been the one that those to come wait for */
		conn_event(c, DLCP_EV_TX_SPACE);
	}
	while (c->tx.low_id != c->tx.next_id &&
	       (!*conn_tx_slot(c, c->tx.low_id) || conn_tx_leave(c)))
		c->tx.low_id++;
	if (c->tx.low_id != low)
		conn_event(c, DLCP_EV_TX_SPACE);
}

/* dlcp_conn_tx_cramped(): is there room now? */
void dlcp_conn_tx_room(struct dlcp_conn *c)
{
	if (c->tx.size == DLCP_MSG_WINDOW)
		conn_tx_advance(c, c->tx.low_id);
	else if (!dlcp_conn_tx_grow(c))
		conn_event(c, DLCP_EV_TX_SPACE);
}

/* News of a DONE_ACK: it got there, or it got lost */
void dlcp_conn_tx_tombstone(struct dlcp_conn *c, u32 msg, bool acked)
{
	u64 id = conn_tx_id(c, msg);
	struct dlcp_txmsg **slot = conn_tx_any_slot(c, id);

	if (!slot || !conn_is_tombstone(*slot))
		return;
	if (acked) {
		if (*slot == CONN_TOMBSTONE_DUE)
			conn_tx_not_due(c, slot, id);
		*slot = NULL;
		conn_tx_advance(c, id);
	} else if (*slot == CONN_TOMBSTONE_SENT) {
		conn_tx_due(c, slot, id);
	}
}

/* The first one in the window, or U64_MAX */
static u64 conn_tx_first_due(struct dlcp_conn *c)
{
	u32 span = min_t(u32, c->tx.size, 64);
	u64 id, base, bits;

	for (id = max(c->tx.tombstone_low, c->tx.low_id); id < c->tx.next_id;
	     id = base + span) {
		base = id & ~((u64)span - 1);
		bits = *conn_tx_due_word(c, id) >> (id - base) << (id - base);
		if (bits)
			return base + __ffs64(bits);
	}
	return U64_MAX;
}

/* A DONE_ACK to be sent; it counts as sent. Return: false if there is none. */
bool dlcp_conn_tx_next_tombstone(struct dlcp_conn *c, u64 *id)
{
	struct dlcp_txmsg **slot;
	struct conn_old *old;

	if (!c->tx.tombstones)
		return false;
	old = list_first_entry_or_null(&c->tx.old_due, struct conn_old, due);
	if (old) {
		*id = old->node.key;
		slot = &old->m;
	} else {
		*id = conn_tx_first_due(c);
		if (WARN_ON_ONCE(*id == U64_MAX)) {
			c->tx.tombstones = 0;
			return false;
		}
		slot = conn_tx_slot(c, *id);
		c->tx.tombstone_low = *id + 1;
	}
	*slot = CONN_TOMBSTONE_SENT;
	conn_tx_not_due(c, slot, *id);
	if (!c->tx.tombstones)
		c->tx.tombstone_low = U64_MAX;
	return true;
}

/* Do packets get lost, on any path? */
static bool conn_lossy(const struct dlcp_conn *c)
{
	const struct dlcp_path *p;

	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++)
		if (conn_loses(p))
			return true;
	return false;
}

/* Headers of what @length makes more in segments of @small than in those of @size */
static u64 conn_seg_cost(const struct dlcp_conn *c, u64 length, u32 size, u32 small)
{
	u64 more = dlcp_nr_segs(length, small) - dlcp_nr_segs(length, size);

	return more * (DLCP_DATA_HDR_LEN + c->cfg.overhead);
}

/*
 * What a message may lose comes in whole segments: one that is allowed little more
 * than a segment cannot use the rest, and two losses cost it a round trip. Where
 * packets get lost its segments are smaller, so that it has CONN_SPARE of them to
 * spare; but no smaller than half of @size, for each is a packet, and not where their
 * headers take a quarter of a round trip: a long message would pay more than it saves.
 */
static u32 conn_seg_spare(const struct dlcp_conn *c, u32 size, u32 elem_size,
			  u64 length, u64 bound)
{
	u64 spare = min_t(u64, div_u64(2 * bound, size), CONN_SPARE);
	u32 small;

	if (!spare || !conn_lossy(c))
		return size;
	bound = min_t(u64, div_u64(bound, (u32)spare), size);
	small = max((u32)bound / elem_size * elem_size, elem_size);
	return conn_seg_cost(c, length, size, small) > c->cong.cwnd / 4 ? size : small;
}

u32 dlcp_conn_seg_size(const struct dlcp_conn *c, u32 elem_size, u64 length,
		       u32 loss_ppm)
{
	u32 room = c->cfg.mtu - DLCP_DATA_HDR_LEN;
	u64 bound = dlcp_bound(length, loss_ppm);
	u32 size, small;

	if (c->cfg.mtu < DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN + elem_size)
		return elem_size;
	size = min_t(u32, room, U16_MAX) / elem_size * elem_size;
	small = min_t(u32, room - DLCP_OPEN_LEN, U16_MAX) / elem_size *
		elem_size;
	/* Few segments: each has room for the open block */
	if (dlcp_nr_segs(length, small) <= DLCP_INLINE_SEGS)
		size = small;
	return conn_seg_spare(c, size, elem_size, length, bound);
}

/* Has the oldest message been overtaken by as many as may be? */
static bool conn_tx_too_far(const struct dlcp_conn *c)
{
	const struct dlcp_tnode *n = dlcp_tree_first(&c->tx.old);

	return n && c->tx.next_id - n->key >= CONN_ID_SPAN;
}

bool dlcp_conn_may_send(const struct dlcp_conn *c)
{
	return !conn_tx_too_far(c) && conn_open(c) && !c->fin_sent &&
	       c->tx.next_id < c->tx.max_id &&
	       c->tx.next_id - c->tx.low_id <
	       min_t(u64, c->tx.size, DLCP_MSG_WINDOW);
}

/* The wire has its number and not its name; without an account there is none */
static void conn_tx_join(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	struct dlcp_group *g = NULL;

	if (m->open.group && m->open.loss_ppm &&
	    conn_groups(c, &c->tx.groups))
		g = dlcp_group_named(c->tx.groups, m->open.group);
	if (g)
		dlcp_group_begin(c->tx.groups, g,
				 dlcp_bound(m->open.length, m->open.loss_ppm));
	m->open.group = g ? g->number : 0;
	m->group = g;
}

void dlcp_conn_send(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (WARN_ON_ONCE(!dlcp_conn_may_send(c)))
		return;
	m->id = c->tx.next_id++;
	conn_tx_join(c, m);
	m->open.share = c->sched.doubled;
	*conn_tx_slot(c, m->id) = m;
	list_add_tail(&m->node, &c->tx.active);
	m->inline_open = m->nr_segs <= DLCP_INLINE_SEGS &&
			 c->cfg.mtu >= DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN +
				       (u32)m->open.seg_size;
	c->cnt[DLCP_CNT_TX_MSGS]++;
	c->cnt[DLCP_CNT_TX_OFFERED] += m->open.length;
	/* Ahead of need: dlcp_conn_may_send() cannot allocate */
	if (dlcp_conn_tx_cramped(c))
		dlcp_conn_tx_room(c);
	dlcp_msgsched_update(c, m);
}

void dlcp_conn_fill(struct dlcp_conn *c, struct dlcp_txmsg *m, u32 filled)
{
	m->filled = min(filled, m->nr_segs);
	if (m->state == DLCP_TX_SENDING)
		dlcp_msgsched_update(c, m);
}

static void conn_tx_take(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	dlcp_conn_cut_tx_free(c, m);
	list_del_init(&m->node);
}

struct dlcp_txmsg *dlcp_conn_take_tx_done(struct dlcp_conn *c)
{
	struct dlcp_txmsg *m;

	m = list_first_entry_or_null(&c->tx.done, struct dlcp_txmsg, node);
	if (m)
		conn_tx_take(c, m);
	return m;
}

struct dlcp_txmsg *dlcp_conn_take_tx_failed(struct dlcp_conn *c)
{
	struct dlcp_txmsg *m;

	m = list_first_entry_or_null(&c->tx.active, struct dlcp_txmsg, node);
	if (!m)
		return NULL;
	dlcp_conn_tx_unlink(c, m);
	conn_tx_take(c, m);
	return m;
}

void dlcp_conn_tx_charge(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (m->charged)
		return;
	m->charged = 1;
	m->unsolicited = conn_tx_may_charge(c, m);
	dlcp_msgsched_promise(c, m, false);
	c->sched.unsolicited_sent += conn_tx_share(c, m);
}

void dlcp_conn_tx_released(struct dlcp_conn *c, struct dlcp_txmsg *m,
			   u32 before)
{
	if (dlcp_txmsg_released(m) == before)
		return;
	conn_event(c, DLCP_EV_TX_SPACE);
	if (c->cfg.ops->released)
		c->cfg.ops->released(c, m);
}

void dlcp_conn_tx_asked(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	m->asked_at = now;
	list_move_tail(&m->resolve_node, &c->tx.resolve);
}

void dlcp_conn_tx_ask(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (list_empty(&m->resolve_node))
		m->asked_since = dlcp_conn_awake(c, now);
	m->ask_pending = 1;
	dlcp_conn_tx_asked(c, m, now);
	conn_tx_ctrl(c, m);
}

void dlcp_conn_tx_check_offer(struct dlcp_conn *c, struct dlcp_txmsg *m,
			      u64 now)
{
	if (m->ask_pending || !dlcp_txmsg_should_offer(m))
		return;
	if (m->sent_frame < DLCP_FRAME_SENT_OUT) {
		dlcp_conn_tx_ask(c, m, now);
	} else if (list_empty(&m->resolve_node)) {
		/*
		 * The peer knows that all was sent, or will: it completes the
		 * message without an OFFER, which would find it finished, and
		 * be answered by a second DONE. Should DONE not come it is
		 * asked for.
		 */
		m->asked_since = dlcp_conn_awake(c, now);
		dlcp_conn_tx_asked(c, m, now);
	}
}

void dlcp_conn_tx_open(const struct dlcp_conn *c, const struct dlcp_txmsg *m,
		       u64 now,
		       struct dlcp_open *o)
{
	dlcp_txmsg_open(m, now, o);
	o->wait = m->vests ? dlcp_wait_code(dlcp_conn_tx_silence(c)) : 0;
}

/*
 * How long nothing new may come of a message of which all was sent once until what
 * is missing can be taken for lost: what a path that keeps the order makes of
 * packets sent in a row. Of several paths the slowest is waited for. Where there is
 * more reordering the receiver sees it, and waits for longer.
 *
 * Return: ns; 0: nothing is known of round trips yet
 */
u64 dlcp_conn_tx_silence(const struct dlcp_conn *c)
{
	const struct dlcp_path *p;
	u64 least = U64_MAX;
	u64 most = 0;
	u64 wait;

	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++) {
		if (!p->rtt.srtt || p->bad)
			continue;
		least = min(least, p->rtt.min);
		most = max(most, p->rtt.srtt);
	}
	if (!most)
		return 0;
	wait = max_t(u64, least >> CONN_SILENCE_SHIFT, CONN_SILENCE_MIN);
	if (c->cfg.nr_paths > 1)
		wait += most - min(least, most);
	return min_t(u64, wait, DLCP_WAIT_MAX);
}

bool dlcp_conn_tx_sent(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (!m->vests || !dlcp_txmsg_all_sent(m))
		return false;
	if (m->sent_frame == DLCP_FRAME_SENT_NO) {
		m->sent_frame = DLCP_FRAME_SENT_DUE;
		m->sent_at = now;
		list_add_tail(&m->sent_node, &c->tx.sent);
	}
	return true;
}

/* SENT is for when the packet got lost that told it at no cost */
u64 dlcp_conn_tx_sent_time(const struct dlcp_conn *c)
{
	const struct dlcp_txmsg *m;
	u64 wait;

	if (list_empty(&c->tx.sent))
		return 0;
	wait = dlcp_conn_tx_silence(c);
	m = list_first_entry(&c->tx.sent, struct dlcp_txmsg, sent_node);
	return wait ? m->sent_at + wait : 0;
}

static void conn_tx_sent_due(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	list_del_init(&m->sent_node);
	if (m->state != DLCP_TX_SENDING)
		return;
	/* Some of it came back from the own queue: when that is sent */
	if (!dlcp_txmsg_all_sent(m)) {
		m->sent_frame = DLCP_FRAME_SENT_NO;
		return;
	}
	/* The last packet of the first round had the flag, and is there */
	if (dlcp_segmap_test(&m->acked, m->nr_segs - 1)) {
		m->sent_frame = DLCP_FRAME_SENT_KNOWN;
		return;
	}
	m->sent_frame = DLCP_FRAME_SENT_PENDING;
	conn_tx_ctrl(c, m);
}

void dlcp_conn_tx_sent_timer(struct dlcp_conn *c, u64 now)
{
	u64 t;

	while ((t = dlcp_conn_tx_sent_time(c)) && t <= now)
		conn_tx_sent_due(c, list_first_entry(&c->tx.sent,
						     struct dlcp_txmsg,
						     sent_node));
}

void dlcp_conn_tx_sent_lost(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (m->sent_frame != DLCP_FRAME_SENT_OUT)
		return;
	conn_tx_sent_due(c, m);
	dlcp_conn_tx_check_offer(c, m, now);
}

static void conn_tx_finish(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	struct dlcp_txmsg **slot = conn_tx_any_slot(c, m->id);
	u64 id = m->id;
	u64 arrived = m->open.length - m->missing_bytes;

	dlcp_conn_cut_tx_free(c, m);
	dlcp_conn_tx_charge(c, m);
	m->done_time = now;
	/* The peer says so only with a DONE. If it was late we are, too. */
	if (!m->done_rcvd && dlcp_txmsg_late(m, now))
		m->late = 1;
	c->cnt[DLCP_CNT_TX_MSGS_DONE]++;
	c->cnt[DLCP_CNT_TX_FORGIVEN] += m->missing_bytes;
	c->cnt[DLCP_CNT_TX_DELIVERED] += arrived - m->budget.received;
	*slot = NULL;
	if (m->done_ack_due)
		conn_tx_due(c, slot, id);
	dlcp_msgsched_remove(c, m);
	dlcp_list_off(&m->ctrl_node);
	dlcp_list_off(&m->resolve_node);
	dlcp_list_off(&m->sent_node);
	list_move_tail(&m->node, &c->tx.done);
	conn_event(c, DLCP_EV_TX_DONE | DLCP_EV_TX_SPACE);
	dlcp_conn_check_flushed(c);
	conn_tx_advance(c, id);
	dlcp_conn_check_close(c, now);
}

void dlcp_conn_tx_check(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now)
{
	if (dlcp_txmsg_try_resolve(m)) {
		conn_tx_finish(c, m, now);
		return;
	}
	if (m->state != DLCP_TX_SENDING)
		return;
	dlcp_conn_tx_check_offer(c, m, now);
	dlcp_msgsched_update(c, m);
}
