// SPDX-License-Identifier: GPL-2.0
/* Incoming messages of a connection, and the credit they are given. */
#include "conn_int.h"

static u32 conn_rx_index(const struct dlcp_conn *c, u64 id)
{
	return (u32)id & (c->rx.size - 1);
}

static u64 conn_rx_bit(const struct dlcp_conn *c, u64 id)
{
	return BIT_ULL(conn_rx_index(c, id) % 64);
}

/* The id in the window, or of one that was left behind, however far; else the one
 * nearest to the window, which may be negative, if nonsense was sent
 */
s64 dlcp_conn_rx_extend(const struct dlcp_conn *c, u32 msg)
{
	const struct dlcp_tnode *n = NULL;
	u32 ahead = msg - (u32)c->rx.low_id;

	if (ahead >= DLCP_MSG_WINDOW)
		n = dlcp_tree_find32(&c->rx.old, msg);
	return n ? (s64)n->key : (s64)c->rx.low_id + (s32)ahead;
}

/* One that was left behind */
static struct dlcp_rxmsg *conn_rx_find_old(const struct dlcp_conn *c, u64 id)
{
	struct dlcp_tnode *n = dlcp_tree_find(&c->rx.old, id);

	return n ? container_of(n, struct dlcp_rxmsg, old_node) : NULL;
}

bool dlcp_conn_rx_is_done(struct dlcp_conn *c, u64 id)
{
	if (id < c->rx.low_id)
		return !conn_rx_find_old(c, id);
	return id - c->rx.low_id < c->rx.size &&
	       c->rx.done_bits[conn_rx_index(c, id) / 64] & conn_rx_bit(c, id);
}

struct dlcp_rxmsg *dlcp_conn_rx_msg(struct dlcp_conn *c, u64 id)
{
	if (id < c->rx.low_id)
		return conn_rx_find_old(c, id);
	if (id - c->rx.low_id >= c->rx.size)
		return NULL;
	return c->rx.table[conn_rx_index(c, id)];
}

/* Free the tables of messages, which are empty or were copied */
void dlcp_conn_rx_shrink(struct dlcp_conn *c)
{
	if (!c->rx.size)
		return;
	c->cfg.ops->free(c, c->rx.table, c->rx.size * sizeof(*c->rx.table));
	c->cfg.ops->free(c, c->rx.done_bits,
		     dlcp_segmap_words(c->rx.size) * sizeof(u64));
	c->rx.table = NULL;
	c->rx.done_bits = NULL;
	c->rx.size = 0;
}

static int conn_rx_grow(struct dlcp_conn *c, u64 id)
{
	u32 need = (u32)(id - c->rx.low_id + 1);
	u32 old = c->rx.size;
	struct dlcp_rxmsg **table;
	u32 size = CONN_TABLE_MIN;
	u64 *bits;
	u64 i;

	while (size < need)
		size *= 2;
	if (size <= old)
		return 0;
	table = c->cfg.ops->alloc(c, size * sizeof(*table));
	bits = c->cfg.ops->alloc(c, dlcp_segmap_words(size) * sizeof(u64));
	if (!table || !bits) {
		if (table)
			c->cfg.ops->free(c, table, size * sizeof(*table));
		if (bits)
			c->cfg.ops->free(c, bits,
				     dlcp_segmap_words(size) * sizeof(u64));
		return -ENOMEM;
	}
	for (i = c->rx.low_id; i < c->rx.low_id + old; i++) {
		table[i & (size - 1)] = c->rx.table[conn_rx_index(c, i)];
		if (dlcp_conn_rx_is_done(c, i))
			bits[(i & (size - 1)) / 64] |=
				BIT_ULL((i & (size - 1)) % 64);
	}
	dlcp_conn_rx_shrink(c);
	c->rx.table = table;
	c->rx.done_bits = bits;
	c->rx.size = size;
	return 0;
}

/* Data that overtook the OPEN of its message, or came by another path, is held: if
 * it were dropped, it would be sent again more than a round trip later, and the
 * message would wait for it. What is open comes first, if there is little room.
 *
 * If three packets overtook OPEN it is lost (RFC 9002, 6.1.1). Its sender cannot know:
 * what is held is not acknowledged.
 */
bool dlcp_conn_unopened_keep(struct dlcp_conn *c, struct dlcp_unopened *held,
			     u32 msg, u32 nr, u64 used, u64 space)
{
	u32 before = 0;

	if (c->rx.nr_unopened == CONN_UNOPENED_MAX || used > space / 2)
		return false;
	if (c->rx.unopened && c->rx.unopened->msg == msg)
		before = c->rx.unopened->nr;
	if (before < DLCP_REORDER_MIN && before + nr >= DLCP_REORDER_MIN)
		c->ctrl.open_lost = 1;
	held->msg = msg;
	held->nr = before + nr;
	held->next = c->rx.unopened;
	c->rx.unopened = held;
	c->rx.nr_unopened++;
	/* It is counted when it comes again */
	c->cnt[DLCP_CNT_RX_PACKETS]--;
	c->cnt[DLCP_CNT_RX_DATA]--;
	return true;
}

static struct dlcp_unopened *conn_unopened_pop(struct dlcp_conn *c,
					       struct dlcp_unopened **at)
{
	struct dlcp_unopened *held = *at;

	*at = held->next;
	c->rx.nr_unopened--;
	return held;
}

struct dlcp_unopened *dlcp_conn_unopened_any(struct dlcp_conn *c)
{
	return c->rx.unopened ? conn_unopened_pop(c, &c->rx.unopened) : NULL;
}

/* Open, over, or none that ever may be */
static bool conn_rx_known(struct dlcp_conn *c, u32 msg)
{
	s64 id = dlcp_conn_rx_extend(c, msg);

	return id < 0 || dlcp_conn_rx_is_done(c, (u64)id) ||
	       dlcp_conn_rx_msg(c, (u64)id);
}

struct dlcp_unopened *dlcp_conn_unopened_take(struct dlcp_conn *c)
{
	struct dlcp_unopened **at = &c->rx.unopened, *held, *list = NULL;

	while (*at) {
		if (!conn_rx_known(c, (*at)->msg)) {
			at = &(*at)->next;
			continue;
		}
		/* The newest came first here, and comes last now */
		held = conn_unopened_pop(c, at);
		held->next = list;
		list = held;
	}
	return list;
}

struct dlcp_rxmsg *dlcp_conn_rx_find(struct dlcp_conn *c, u32 msg)
{
	s64 id = dlcp_conn_rx_extend(c, msg);

	return id < 0 ? NULL : dlcp_conn_rx_msg(c, (u64)id);
}

/* All that OPEN says but the deadline and the silence, which differ by the time it
 * is sent
 */
static bool conn_same_open(const struct dlcp_open *a, const struct dlcp_open *b)
{
	return a->key == b->key && a->length == b->length &&
	       a->loss_ppm == b->loss_ppm && a->nr_critical == b->nr_critical &&
	       a->seg_size == b->seg_size && a->elem_size == b->elem_size &&
	       a->prio == b->prio && a->flags == b->flags &&
	       a->has_deadline == b->has_deadline && a->group == b->group &&
	       a->share == b->share;
}

/* May the lowest message be left behind? */
static bool conn_rx_leave(struct dlcp_conn *c)
{
	struct dlcp_rxmsg **slot = &c->rx.table[conn_rx_index(c, c->rx.low_id)];

	if (!*slot || c->rx.nr_old >= DLCP_MSG_OLD_MAX ||
	    c->rx.end_id - c->rx.low_id < CONN_OLD_SPAN)
		return false;
	dlcp_tree_add(&c->rx.old, &(*slot)->old_node, c->rx.low_id);
	c->rx.nr_old++;
	*slot = NULL;
	return true;
}

static void conn_rx_advance(struct dlcp_conn *c)
{
	u64 low = c->rx.low_id;
	u64 *word;

	for (;; c->rx.low_id++) {
		word = &c->rx.done_bits[conn_rx_index(c, c->rx.low_id) / 64];
		if (*word & conn_rx_bit(c, c->rx.low_id))
			*word &= ~conn_rx_bit(c, c->rx.low_id);
		else if (!conn_rx_leave(c))
			break;
	}
	if (c->rx.low_id != low)
		dlcp_conn_window_check(c, false);
}

static void conn_rx_next_deadline(struct dlcp_conn *c)
{
	const struct dlcp_tnode *n = dlcp_tree_first(&c->rx.deadlines);

	c->rx.deadline = n ? n->key : 0;
}

/* Without memory for accounts its own bound counts. A sender of ours has no more groups
 * under way than there are accounts.
 */
static void conn_rx_join(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!m->open.group || !conn_groups(c, &c->rx.groups))
		return;
	m->group = dlcp_group_numbered(c->rx.groups, m->open.group);
	if (m->group)
		dlcp_group_begin(c->rx.groups, m->group,
				 dlcp_bound(m->open.length, m->open.loss_ppm));
}

static enum dlcp_verdict conn_rx_create(struct dlcp_conn *c, u64 id,
					const struct dlcp_open *o,
					struct dlcp_rxmsg **out, u64 now)
{
	size_t size = dlcp_rxmsg_mem(dlcp_nr_segs(o->length, o->seg_size));
	struct dlcp_rxmsg *m;
	void *mem = NULL;

	if (o->length > c->cfg.max_msg_len)
		return DLCP_DROP_MISMATCH;
	if (c->rx.maps && c->rx.maps + size > DLCP_RX_MAPS_MAX)
		return DLCP_DROP_NOMEM;
	if (conn_rx_grow(c, id))
		return DLCP_DROP_NOMEM;
	if (size)
		mem = c->cfg.ops->alloc(c, size);
	if (size && !mem)
		return DLCP_DROP_NOMEM;
	m = c->cfg.ops->rx_open(c, o, id);
	if (!m) {
		if (size)
			c->cfg.ops->free(c, mem, size);
		return DLCP_DROP_NOMEM;
	}
	dlcp_rxmsg_init(m, id, o, mem, now);
	conn_rx_join(c, m);
	c->rx.maps += size;
	c->rx.table[conn_rx_index(c, id)] = m;
	c->rx.end_id = max(c->rx.end_id, id + 1);
	/* Others may have gone as far as they can without it */
	if (id == c->rx.low_id)
		conn_rx_advance(c);
	list_add_tail(&m->node, &c->rx.open);
	if (o->length) {
		list_add_tail(&m->want_node, &c->credit.want[conn_rx_long(c, m) ?
						CONN_WANT_LONG : o->prio]);
		c->credit.dirty = 1;
	}
	if (m->deadline) {
		dlcp_tree_add(&c->rx.deadlines, &m->late_node, m->deadline);
		conn_rx_next_deadline(c);
	}
	c->cnt[DLCP_CNT_RX_MSGS]++;
	c->cnt[DLCP_CNT_RX_OFFERED] += o->length;
	conn_event(c, DLCP_EV_RX_OPEN);
	*out = m;
	return DLCP_OK;
}

/* OPEN, in whichever packet it came. DLCP_DUP: the message is finished. */
enum dlcp_verdict dlcp_conn_rx_begin(struct dlcp_conn *c, u64 id,
				     const struct dlcp_open *o,
				     struct dlcp_rxmsg **m, u64 now)
{
	if (dlcp_conn_rx_is_done(c, id))
		return DLCP_DUP;
	*m = dlcp_conn_rx_msg(c, id);
	if (!*m)
		return conn_rx_create(c, id, o, m, now);
	if (!conn_same_open(&(*m)->open, o))
		return DLCP_DROP_MISMATCH;
	/* The first one may have left before there was a round trip to go by */
	if (o->wait)
		(*m)->open.wait = o->wait;
	return DLCP_OK;
}

struct dlcp_rxmsg *dlcp_conn_take_rx_free(struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;

	m = list_first_entry_or_null(&c->rx.free, struct dlcp_rxmsg, node);
	if (m)
		list_del_init(&m->node);
	return m;
}

/* It is the shell's to free */
void dlcp_conn_rx_free(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	size_t size = dlcp_rxmsg_mem(m->nr_segs);

	dlcp_conn_cut_rx_free(c, m);
	if (size)
		c->cfg.ops->free(c, m->map.bits, size);
	c->rx.maps -= size;
	m->map.bits = NULL;
	list_move_tail(&m->node, &c->rx.free);
}

static void conn_rx_try_free(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!m->shell_done || m->state != DLCP_RX_CONFIRMED)
		return;
	dlcp_list_off(&m->ctrl_node);
	dlcp_conn_rx_free(c, m);
	conn_event(c, DLCP_EV_RX_FREE);
}

/* Nothing is owed any more: the message becomes a bit */
void dlcp_conn_rx_confirmed(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (m->state == DLCP_RX_CONFIRMED)
		return;
	m->state = DLCP_RX_CONFIRMED;
	m->done_pending = 0;
	m->map_pending = 0;
	dlcp_list_off(&m->ctrl_node);
	if (m->id < c->rx.low_id) {
		dlcp_tree_del(&c->rx.old, &m->old_node);
		c->rx.nr_old--;
	} else {
		c->rx.table[conn_rx_index(c, m->id)] = NULL;
		c->rx.done_bits[conn_rx_index(c, m->id) / 64] |=
			conn_rx_bit(c, m->id);
	}
	conn_rx_advance(c);
	conn_rx_try_free(c, m);
}

static void conn_rx_next_vest(struct dlcp_conn *c)
{
	const struct dlcp_tnode *n = dlcp_tree_first(&c->rx.vest_waiting);

	c->rx.vest_timer = n ? n->key : 0;
}

static void conn_rx_finish(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now)
{
	list_move_tail(&m->node, &c->rx.closed);
	dlcp_list_off(&m->want_node);
	dlcp_tree_del(&c->rx.deadlines, &m->late_node);
	conn_rx_next_deadline(c);
	dlcp_tree_del(&c->rx.vest_waiting, &m->vest_node);
	conn_rx_next_vest(c);
	m->credit_pending = 0;
	dlcp_conn_cut_rx_free(c, m);
	dlcp_conn_rx_account(c, m);
	c->credit.dirty = 1;
	c->rx.complete++;
	c->rx.unread += !m->shell_done;
	c->cnt[DLCP_CNT_RX_MSGS_DONE]++;
	c->cnt[DLCP_CNT_RX_FORGIVEN] += m->missing;
	c->cnt[DLCP_CNT_RX_STOPPED] += m->why == DLCP_WHY_STOPPED;
	c->cnt[DLCP_CNT_RX_LATE] += m->late;
	c->cnt[DLCP_CNT_RX_SILENCE] += m->silence;
	conn_event(c, DLCP_EV_RX_DONE);
	if (m->nr_missing) {
		m->done_pending = 1;
		conn_rx_ctrl_due(c, m);
	} else {
		dlcp_conn_rx_confirmed(c, m);
	}
	dlcp_conn_rx_refund(c, m);
	dlcp_conn_rx_check_eof(c);
	dlcp_conn_check_close(c, now);
}

void dlcp_conn_rx_check(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now)
{
	if (!dlcp_rxmsg_complete(m) && dlcp_rxmsg_try_complete(m, now))
		conn_rx_finish(c, m, now);
}

void dlcp_conn_rx_check_eof(struct dlcp_conn *c)
{
	if (!c->fin_rcvd || c->eof || c->rx.complete != c->rx.fin_id)
		return;
	c->eof = 1;
	conn_event(c, DLCP_EV_EOF);
}

void dlcp_conn_rx_deadlines(struct dlcp_conn *c, u64 now)
{
	struct dlcp_rxmsg *m;
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&c->rx.deadlines)) && n->key <= now) {
		dlcp_tree_del(&c->rx.deadlines, n);
		/* Once late it completes with the next segment, if at all */
		m = container_of(n, struct dlcp_rxmsg, late_node);
		dlcp_conn_rx_check(c, m, now);
	}
	conn_rx_next_deadline(c);
}

/* The silence ends, if nothing more comes */
static u64 conn_rx_silent(const struct dlcp_conn *c, const struct dlcp_rxmsg *m)
{
	return m->last + ((u64)m->wait << c->rx.vest_shift);
}

void dlcp_conn_rx_vest(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!dlcp_rxmsg_may_vest(m))
		return;
	dlcp_tree_del(&c->rx.vest_waiting, &m->vest_node);
	dlcp_tree_add(&c->rx.vest_waiting, &m->vest_node, conn_rx_silent(c, m));
	conn_rx_next_vest(c);
}

/* This message did not have to wait for longer, as far as is known yet */
static void conn_rx_calm(struct dlcp_conn *c)
{
	if (!c->rx.vest_shift || ++c->rx.vest_calm < CONN_SILENCE_CALM)
		return;
	c->rx.vest_shift--;
	c->rx.vest_calm = 0;
}

void dlcp_conn_rx_overtaken(struct dlcp_conn *c)
{
	c->cnt[DLCP_CNT_RX_OVERTAKEN]++;
	c->rx.vest_calm = 0;
	if (c->rx.vest_shift < CONN_SILENCE_DOUBLED)
		c->rx.vest_shift++;
}

void dlcp_conn_rx_vests(struct dlcp_conn *c, u64 now)
{
	struct dlcp_rxmsg *m;
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&c->rx.vest_waiting)) && n->key <= now) {
		m = container_of(n, struct dlcp_rxmsg, vest_node);
		dlcp_tree_del(&c->rx.vest_waiting, n);
		/* Silences may have become longer since */
		if (conn_rx_silent(c, m) > now) {
			dlcp_tree_add(&c->rx.vest_waiting, n, conn_rx_silent(c, m));
			continue;
		}
		dlcp_rxmsg_vest(m, now);
		/* Others have taken what was left of their group's budget */
		if (!dlcp_rxmsg_complete(m))
			continue;
		conn_rx_calm(c);
		conn_rx_finish(c, m, now);
	}
	conn_rx_next_vest(c);
}

void dlcp_conn_rx_done(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	dlcp_conn_reader(c, m, false);
	dlcp_conn_consume(c, m, m->received - m->consumed);
	m->shell_done = 1;
	if (dlcp_rxmsg_complete(m)) {
		c->rx.unread--;
		conn_rx_try_free(c, m);
	}
}

void dlcp_conn_discard(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now)
{
	if (dlcp_rxmsg_complete(m))
		return;
	dlcp_rxmsg_discard(m, now);
	conn_rx_finish(c, m, now);
}
