// SPDX-License-Identifier: GPL-2.0
/* Incoming messages of a connection, and the credit they are given. */
#include "conn_int.h"

/* Least that a reader is granted ahead, as a part of the space */
#define CREDIT_MIN_SHIFT	4

static u32 conn_rx_index(const struct dlcp_conn *c, u64 id)
{
	return (u32)id & (c->rx_size - 1);
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
	u32 ahead = msg - (u32)c->rx_low_id;

	if (ahead >= DLCP_MSG_WINDOW)
		n = dlcp_tree_find32(&c->rx_old, msg);
	return n ? (s64)n->key : (s64)c->rx_low_id + (s32)ahead;
}

/* One that was left behind */
static struct dlcp_rxmsg *conn_rx_find_old(const struct dlcp_conn *c, u64 id)
{
	struct dlcp_tnode *n = dlcp_tree_find(&c->rx_old, id);

	return n ? container_of(n, struct dlcp_rxmsg, old_node) : NULL;
}

bool dlcp_conn_rx_is_done(struct dlcp_conn *c, u64 id)
{
	if (id < c->rx_low_id)
		return !conn_rx_find_old(c, id);
	return id - c->rx_low_id < c->rx_size &&
	       c->rx_done_bits[conn_rx_index(c, id) / 64] & conn_rx_bit(c, id);
}

struct dlcp_rxmsg *dlcp_conn_rx_msg(struct dlcp_conn *c, u64 id)
{
	if (id < c->rx_low_id)
		return conn_rx_find_old(c, id);
	if (id - c->rx_low_id >= c->rx_size)
		return NULL;
	return c->rx_table[conn_rx_index(c, id)];
}

/* Free the tables of messages, which are empty or were copied */
void dlcp_conn_rx_shrink(struct dlcp_conn *c)
{
	if (!c->rx_size)
		return;
	c->cfg.ops->free(c, c->rx_table, c->rx_size * sizeof(*c->rx_table));
	c->cfg.ops->free(c, c->rx_done_bits,
		     dlcp_segmap_words(c->rx_size) * sizeof(u64));
	c->rx_table = NULL;
	c->rx_done_bits = NULL;
	c->rx_size = 0;
}

static int conn_rx_grow(struct dlcp_conn *c, u64 id)
{
	u32 need = (u32)(id - c->rx_low_id + 1);
	u32 old = c->rx_size;
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
	for (i = c->rx_low_id; i < c->rx_low_id + old; i++) {
		table[i & (size - 1)] = c->rx_table[conn_rx_index(c, i)];
		if (dlcp_conn_rx_is_done(c, i))
			bits[(i & (size - 1)) / 64] |=
				BIT_ULL((i & (size - 1)) % 64);
	}
	dlcp_conn_rx_shrink(c);
	c->rx_table = table;
	c->rx_done_bits = bits;
	c->rx_size = size;
	return 0;
}

bool dlcp_conn_rx_known(struct dlcp_conn *c, u32 msg)
{
	s64 id = dlcp_conn_rx_extend(c, msg);

	return id < 0 || dlcp_conn_rx_is_done(c, (u64)id) ||
	       dlcp_conn_rx_msg(c, (u64)id);
}

struct dlcp_rxmsg *dlcp_conn_rx_find(struct dlcp_conn *c, u32 msg)
{
	s64 id = dlcp_conn_rx_extend(c, msg);

	return id < 0 ? NULL : dlcp_conn_rx_msg(c, (u64)id);
}

void dlcp_conn_rx_ctrl_due(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (list_empty(&m->ctrl_node))
		list_add_tail(&m->ctrl_node, &c->rx_ctrl);
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
	       a->has_deadline == b->has_deadline && a->group == b->group;
}

/* May the lowest message be left behind? */
static bool conn_rx_leave(struct dlcp_conn *c)
{
	struct dlcp_rxmsg **slot = &c->rx_table[conn_rx_index(c, c->rx_low_id)];

	if (!*slot || c->nr_rx_old >= DLCP_MSG_OLD_MAX ||
	    c->rx_end_id - c->rx_low_id < CONN_OLD_SPAN)
		return false;
	dlcp_tree_add(&c->rx_old, &(*slot)->old_node, c->rx_low_id);
	c->nr_rx_old++;
	*slot = NULL;
	return true;
}

static void conn_rx_advance(struct dlcp_conn *c)
{
	u64 low = c->rx_low_id;
	u64 *word;

	for (;; c->rx_low_id++) {
		word = &c->rx_done_bits[conn_rx_index(c, c->rx_low_id) / 64];
		if (*word & conn_rx_bit(c, c->rx_low_id))
			*word &= ~conn_rx_bit(c, c->rx_low_id);
		else if (!conn_rx_leave(c))
			break;
	}
	if (c->rx_low_id != low)
		dlcp_conn_window_check(c, false);
}

/* It cannot be complete before somebody reads it */
static bool conn_rx_long(const struct dlcp_conn *c, const struct dlcp_rxmsg *m)
{
	return m->open.length - m->consumed > dlcp_conn_unread_space(c);
}

static void conn_rx_next_deadline(struct dlcp_conn *c)
{
	const struct dlcp_tnode *n = dlcp_tree_first(&c->rx_deadlines);

	c->t_deadline = n ? n->key : 0;
}

/* Without memory for accounts its own bound counts. A sender of ours has no more groups
 * under way than there are accounts.
 */
static void conn_rx_join(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!m->open.group || !dlcp_conn_groups(c, &c->rx_groups))
		return;
	m->group = dlcp_group_numbered(c->rx_groups, m->open.group);
	if (m->group)
		dlcp_group_begin(c->rx_groups, m->group,
				 dlcp_bound(m->open.length, m->open.loss_ppm));
}

static enum dlcp_verdict conn_rx_create(struct dlcp_conn *c, u64 id,
					const struct dlcp_open *o,
					struct dlcp_rxmsg **out, u64 now)
{
	size_t size = dlcp_rxmsg_mem(dlcp_nr_segs(o->length, o->seg_size));
	struct dlcp_rxmsg *m;
	void *mem;

	if (o->length > c->cfg.max_msg_len)
		return DLCP_DROP_MISMATCH;
	if (c->rx_maps && c->rx_maps + size > DLCP_RX_MAPS_MAX)
		return DLCP_DROP_NOMEM;
	if (conn_rx_grow(c, id))
		return DLCP_DROP_NOMEM;
	mem = c->cfg.ops->alloc(c, size);
	if (!mem)
		return DLCP_DROP_NOMEM;
	m = c->cfg.ops->rx_open(c, o, id);
	if (!m) {
		c->cfg.ops->free(c, mem, size);
		return DLCP_DROP_NOMEM;
	}
	dlcp_rxmsg_init(m, id, o, mem, now);
	conn_rx_join(c, m);
	c->rx_maps += size;
	c->rx_table[conn_rx_index(c, id)] = m;
	c->rx_end_id = max(c->rx_end_id, id + 1);
	list_add_tail(&m->node, &c->rx_open);
	if (o->length) {
		list_add_tail(&m->want_node, &c->rx_want[conn_rx_long(c, m) ?
						CONN_WANT_LONG : o->prio]);
		c->credit_dirty = 1;
	}
	if (m->deadline) {
		dlcp_tree_add(&c->rx_deadlines, &m->late_node, m->deadline);
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

static u8 conn_rx_kind(const struct dlcp_rxmsg *m)
{
	if (m->reader)
		return DLCP_RX_READ;
	if (m->complete || m->granted >= m->open.length)
		return DLCP_RX_WHOLE;
	return m->granted ? DLCP_RX_PART : DLCP_RX_UNASKED;
}

/* Messages nobody reads must leave room for those that are being read, and each
 * other room to become complete: see conn_credit_unread()
 */
static void conn_rx_account(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	u64 here = m->received + m->held;
	u64 most = m->complete ? here : max(m->granted, here);

	c->rx_out[m->out_kind] -= m->out;
	m->out_kind = conn_rx_kind(m);
	m->out = most - m->consumed;
	c->rx_out[m->out_kind] += m->out;
}

/* Of all but @m */
static u64 conn_rx_out(const struct dlcp_conn *c, const struct dlcp_rxmsg *m)
{
	u64 out = 0;
	u32 i;

	for (i = 0; i < DLCP_RX_KINDS; i++)
		out += c->rx_out[i];
	return out - m->out;
}

static u64 conn_rx_out_kind(const struct dlcp_conn *c,
			    const struct dlcp_rxmsg *m, u8 kind)
{
	return c->rx_out[kind] - (m->out_kind == kind ? m->out : 0);
}

static void conn_rx_release(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	c->rx_unsolicited -= m->unsolicited;
	m->unsolicited = 0;
}

/*
 * Is a segment of @len bytes within what we allowed? Beyond its credit a
 * message may use its share, as long as all shares in use are within the
 * allowance. The sender keeps to that: it had the same shares in use, or more,
 * when it began with this one.
 *
 * Readers that left had asked for more than there is room for without them.
 */
bool dlcp_conn_rx_allowed(const struct dlcp_conn *c, const struct dlcp_rxmsg *m,
			  u32 len)
{
	u64 share = conn_rx_share(c, m);
	u64 all = m->received + m->held + len;

	if (!m->reader &&
	    c->rx_buffered + len > c->cfg.rx_space + c->cfg.unsolicited)
		return false;
	if (all <= m->granted)
		return true;
	if (all > share)
		return false;
	return m->unsolicited ||
	       c->rx_unsolicited + share <= c->cfg.unsolicited;
}

bool dlcp_conn_rx_dry(const struct dlcp_conn *c, const struct dlcp_rxmsg *m)
{
	u64 told = m->unsolicited ? conn_rx_share(c, m) : 0;
	u64 here = m->received + m->held;
	u64 next = min_t(u64, m->open.seg_size, m->open.length - here);

	return here + next > max(told, m->granted_sent);
}

/* All of it comes without credit, and the sender knows: it has begun with it */
static bool conn_rx_unasked(const struct dlcp_rxmsg *m)
{
	return !m->granted && m->unsolicited &&
	       m->open.length <= m->unsolicited;
}

/* More of @m is here: @len bytes */
static void conn_rx_buffer(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len)
{
	if (m->received + m->held > m->granted && !m->unsolicited) {
		m->unsolicited = conn_rx_share(c, m);
		c->rx_unsolicited += m->unsolicited;
		if (conn_rx_unasked(m))
			list_del_init(&m->want_node);
	}
	c->rx_quiet = 0;
	c->rx_buffered += len;
	conn_rx_account(c, m);
}

void dlcp_conn_rx_accept(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len)
{
	c->cnt[DLCP_CNT_RX_DELIVERED] += len;
	conn_rx_buffer(c, m, len);
}

void dlcp_conn_rx_hold(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len)
{
	m->held += len;
	conn_rx_buffer(c, m, len);
}

void dlcp_conn_rx_unhold(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len)
{
	m->held -= len;
	c->rx_buffered -= len;
	conn_rx_account(c, m);
}

void dlcp_conn_window_check(struct dlcp_conn *c, bool all)
{
	u64 bytes = c->rx_unsolicited_max - c->rx_unsolicited_advertised;
	u64 ids = c->rx_low_id + DLCP_MSG_WINDOW - c->rx_max_id_advertised;

	if (ids >= DLCP_MSG_WINDOW / 4 ||
	    (bytes && bytes >= c->cfg.unsolicited / 8) ||
	    (all && (ids || bytes)))
		c->window_pending = 1;
}

/* Complete and consumed: the peer gets its allowance back */
static void conn_rx_refund(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!m->complete || m->consumed != m->received || m->refunded)
		return;
	m->refunded = 1;
	conn_rx_release(c, m);
	c->rx_unsolicited_max += conn_rx_share(c, m);
	dlcp_conn_window_check(c, false);
}

/* It is the shell's to free */
void dlcp_conn_rx_free(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	size_t size = dlcp_rxmsg_mem(m->nr_segs);

	dlcp_conn_cut_rx_free(c, m);
	c->cfg.ops->free(c, m->map.bits, size);
	c->rx_maps -= size;
	m->map.bits = NULL;
	list_move_tail(&m->node, &c->rx_free);
}

static void conn_rx_try_free(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!m->shell_done || !m->done_ackd)
		return;
	list_del_init(&m->ctrl_node);
	dlcp_conn_rx_free(c, m);
	conn_event(c, DLCP_EV_RX_FREE);
}

/* Nothing is owed any more: the message becomes a bit */
void dlcp_conn_rx_confirmed(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (m->done_ackd)
		return;
	m->done_ackd = 1;
	m->done_pending = 0;
	m->map_pending = 0;
	list_del_init(&m->ctrl_node);
	if (m->id < c->rx_low_id) {
		dlcp_tree_del(&c->rx_old, &m->old_node);
		c->nr_rx_old--;
	} else {
		c->rx_table[conn_rx_index(c, m->id)] = NULL;
		c->rx_done_bits[conn_rx_index(c, m->id) / 64] |=
			conn_rx_bit(c, m->id);
	}
	conn_rx_advance(c);
	conn_rx_try_free(c, m);
}

static void conn_rx_next_vest(struct dlcp_conn *c)
{
	const struct dlcp_tnode *n = dlcp_tree_first(&c->rx_vests);

	c->t_vest = n ? n->key : 0;
}

static void conn_rx_finish(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now)
{
	list_move_tail(&m->node, &c->rx_closed);
	list_del_init(&m->want_node);
	dlcp_tree_del(&c->rx_deadlines, &m->late_node);
	conn_rx_next_deadline(c);
	dlcp_tree_del(&c->rx_vests, &m->vest_node);
	conn_rx_next_vest(c);
	m->credit_pending = 0;
	dlcp_conn_cut_rx_free(c, m);
	conn_rx_account(c, m);
	c->credit_dirty = 1;
	c->rx_complete++;
	c->rx_unread += !m->shell_done;
	c->cnt[DLCP_CNT_RX_MSGS_DONE]++;
	c->cnt[DLCP_CNT_RX_FORGIVEN] += m->missing;
	c->cnt[DLCP_CNT_RX_STOPPED] += m->why == DLCP_WHY_STOPPED;
	c->cnt[DLCP_CNT_RX_LATE] += m->late;
	c->cnt[DLCP_CNT_RX_VESTED] += m->vested;
	conn_event(c, DLCP_EV_RX_DONE);
	if (m->nr_missing) {
		m->done_pending = 1;
		dlcp_conn_rx_ctrl_due(c, m);
	} else {
		dlcp_conn_rx_confirmed(c, m);
	}
	conn_rx_refund(c, m);
	dlcp_conn_rx_check_eof(c);
	dlcp_conn_check_close(c, now);
}

void dlcp_conn_rx_check(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now)
{
	if (!m->complete && dlcp_rxmsg_try_complete(m, now))
		conn_rx_finish(c, m, now);
}

void dlcp_conn_rx_check_eof(struct dlcp_conn *c)
{
	if (!c->fin_rcvd || c->eof || c->rx_complete != c->rx_fin_id)
		return;
	c->eof = 1;
	conn_event(c, DLCP_EV_EOF);
}

void dlcp_conn_rx_deadlines(struct dlcp_conn *c, u64 now)
{
	struct dlcp_rxmsg *m;
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&c->rx_deadlines)) && n->key <= now) {
		dlcp_tree_del(&c->rx_deadlines, n);
		/* Once late it completes with the next segment, if at all */
		m = container_of(n, struct dlcp_rxmsg, late_node);
		dlcp_conn_rx_check(c, m, now);
	}
	conn_rx_next_deadline(c);
}

/* The silence ends, if nothing more comes */
static u64 conn_rx_silent(const struct dlcp_conn *c, const struct dlcp_rxmsg *m)
{
	return m->last + ((u64)m->wait << c->vest_shift);
}

void dlcp_conn_rx_vest(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!dlcp_rxmsg_may_vest(m))
		return;
	dlcp_tree_del(&c->rx_vests, &m->vest_node);
	dlcp_tree_add(&c->rx_vests, &m->vest_node, conn_rx_silent(c, m));
	conn_rx_next_vest(c);
}

/* This message did not have to wait for longer, as far as is known yet */
static void conn_rx_calm(struct dlcp_conn *c)
{
	if (!c->vest_shift || ++c->vest_calm < CONN_SILENCE_CALM)
		return;
	c->vest_shift--;
	c->vest_calm = 0;
}

void dlcp_conn_rx_overtaken(struct dlcp_conn *c)
{
	c->cnt[DLCP_CNT_RX_OVERTAKEN]++;
	c->vest_calm = 0;
	if (c->vest_shift < CONN_SILENCE_DOUBLED)
		c->vest_shift++;
}

void dlcp_conn_rx_vests(struct dlcp_conn *c, u64 now)
{
	struct dlcp_rxmsg *m;
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&c->rx_vests)) && n->key <= now) {
		m = container_of(n, struct dlcp_rxmsg, vest_node);
		dlcp_tree_del(&c->rx_vests, n);
		/* Silences may have become longer since */
		if (conn_rx_silent(c, m) > now) {
			dlcp_tree_add(&c->rx_vests, n, conn_rx_silent(c, m));
			continue;
		}
		dlcp_rxmsg_vest(m, now);
		/* Others have taken what was left of their group's budget */
		if (!m->complete)
			continue;
		conn_rx_calm(c);
		conn_rx_finish(c, m, now);
	}
	conn_rx_next_vest(c);
}

static void conn_credit_set(struct dlcp_conn *c, struct dlcp_rxmsg *m,
			    u64 granted)
{
	if (granted > m->granted) {
		m->granted = granted;
		if (granted >= conn_rx_share(c, m))
			conn_rx_release(c, m);
		conn_rx_account(c, m);
	}
	if (m->granted >= m->open.length)
		list_del_init(&m->want_node);
}

/* A reader takes the bytes away as they come: keep the sender ahead of it */
static void conn_credit_reader(struct dlcp_conn *c, struct dlcp_rxmsg *m,
			       bool all)
{
	u64 others = conn_rx_out(c, m);
	u64 least = max_t(u64, c->cfg.rx_space >> CREDIT_MIN_SHIFT,
			  2 * m->open.seg_size);
	u64 ahead = c->cfg.rx_space > others ? c->cfg.rx_space - others : 0;
	u64 target;

	if (conn_rx_unasked(m)) {
		list_del_init(&m->want_node);
		return;
	}
	ahead = max(min(ahead, c->cfg.rx_space / 2), least);
	target = m->consumed + min(ahead, m->open.length - m->consumed);
	conn_credit_set(c, m, target);
	/* Not for every packet, but before the sender runs dry */
	if (m->granted - m->granted_sent >= ahead / 4 ||
	    (m->granted > m->granted_sent &&
	     (!m->granted_sent || m->granted == m->open.length ||
	      all))) {
		m->credit_pending = 1;
		dlcp_conn_rx_ctrl_due(c, m);
	}
	if (m->credit_pending || m->granted == m->granted_sent)
		list_del_init(&m->want_node);
	else
		list_move_tail(&m->want_node, &c->rx_unadvertised);
}

/*
 * How much of @m, that nobody reads, may be here or under way. Readers may
 * leave: what was granted to them counts, too. The allowance is apart.
 *
 * What is whole will be complete, and its room is free when it is read. Others
 * do not count for one that can be complete: it is to get all that it needs,
 * whatever they hold of the allowance, or beforehand of a long message.
 */
static u64 conn_credit_room(const struct dlcp_conn *c,
			    const struct dlcp_rxmsg *m)
{
	u64 unasked = conn_rx_out_kind(c, m, DLCP_RX_UNASKED);
	u64 unread = conn_rx_out_kind(c, m, DLCP_RX_WHOLE);
	u64 out = conn_rx_out(c, m) - unasked;
	u64 space = dlcp_conn_unread_space(c);

	if (conn_rx_long(c, m))
		unread += conn_rx_out_kind(c, m, DLCP_RX_PART) + unasked;
	return min(space - min(space, unread),
		   c->cfg.rx_space - min(c->cfg.rx_space, out));
}

/*
 * Return: whether others may be given credit. None may while one that can be
 * complete has a part of what it needs and waits for the rest, or each could
 * have a part, and none ever be complete: so this one goes before all.
 */
static bool conn_credit_unread(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	u64 have = max(m->granted, m->received + m->held) - m->consumed;
	u64 need = m->open.length - m->consumed;
	u64 room = conn_credit_room(c, m);
	u64 least = max_t(u64, m->open.seg_size,
			  dlcp_conn_unread_space(c) >> CREDIT_MIN_SHIFT);

	if (need > room && room < have + least)
		return false;
	conn_credit_set(c, m, m->consumed + min(need, room));
	if (need > room && !conn_rx_long(c, m))
		list_move(&m->want_node, &c->rx_want[0]);
	if (m->granted > m->granted_sent) {
		m->credit_pending = 1;
		dlcp_conn_rx_ctrl_due(c, m);
	}
	return need <= room;
}

/*
 * In order of priority, then age, but for what conn_credit_unread() puts first
 * and what is too long. Each is given all it can be: the sooner it is complete
 * the sooner its space is free. Those with a reader are looked after as they
 * are read.
 */
void dlcp_conn_credit_run(struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m, *n;
	u32 i;

	if (!c->credit_dirty)
		return;
	c->credit_dirty = 0;
	if (c->credit_all)
		list_for_each_entry_safe(m, n, &c->rx_unadvertised, want_node)
			conn_credit_reader(c, m, true);
	c->credit_all = 0;
	/* Each gets all it needs, and is off the list; the first that does not is
	 * the last that is looked at
	 */
	for (i = 0; i <= CONN_WANT_LONG; i++)
		list_for_each_entry_safe(m, n, &c->rx_want[i], want_node)
			if (!conn_credit_unread(c, m))
				return;
}

/* Who asks again may have got no answer. An end that only answers would never
 * see that its way to the peer is dead: by a question of its own it does, and
 * takes another way as any sender (conn_path_timeout()). Of three probes one is
 * answered by one, so that two ends do not keep each other awake.
 */
static void conn_rx_ask_back(struct dlcp_conn *c)
{
	struct dlcp_path *p;

	if (c->rx_quiet % 3 != 2)
		return;
	p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	p->probe = max_t(u8, p->probe, 1);
}

void dlcp_conn_rx_probe(struct dlcp_conn *c)
{
	c->rx_quiet = c->rx_quiet < U8_MAX ? c->rx_quiet + 1 : CONN_RX_QUIET;
	if (c->rx_quiet >= CONN_RX_QUIET)
		conn_event(c, DLCP_EV_RX_QUIET);
	conn_rx_ask_back(c);
}

/* The first that has used up its credit, where no more is to be expected: others
 * were announced, granted all the room, and are not sent
 */
static struct dlcp_rxmsg *conn_rx_waits(const struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;
	u32 i;

	if (c->rx_unread || c->rx_quiet < CONN_RX_QUIET)
		return NULL;
	for (i = 0; i <= CONN_WANT_LONG; i++)
		list_for_each_entry(m, &c->rx_want[i], want_node)
			if (m->received + m->held >= m->granted)
				return m;
	return NULL;
}

struct dlcp_rxmsg *dlcp_conn_rx_starved(const struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;
	u64 others;

	if (list_empty(&c->rx_want[0]))
		return conn_rx_waits(c);
	m = list_first_entry(&c->rx_want[0], struct dlcp_rxmsg, want_node);
	if (!m->granted)
		return conn_rx_waits(c);
	others = conn_rx_out_kind(c, m, DLCP_RX_PART);
	if (others + m->open.length - m->consumed <= c->cfg.rx_space)
		return conn_rx_waits(c);
	return m;
}

void dlcp_conn_reader(struct dlcp_conn *c, struct dlcp_rxmsg *m, bool there)
{
	if (m->reader == there)
		return;
	m->reader = there;
	conn_rx_account(c, m);
	if (m->complete)
		return;
	list_del_init(&m->want_node);
	if (there) {
		conn_credit_reader(c, m, false);
	} else if (m->granted > m->granted_sent) {
		/* Put off for the reader's next look; there may be none */
		m->credit_pending = 1;
		dlcp_conn_rx_ctrl_due(c, m);
	}
	/* It has a part: see conn_credit_unread() */
	if (!there && m->granted < m->open.length && !conn_rx_unasked(m)) {
		if (conn_rx_long(c, m))
			list_add_tail(&m->want_node,
				      &c->rx_want[CONN_WANT_LONG]);
		else
			list_add(&m->want_node, &c->rx_want[0]);
	}
	/* Without, it may be given less ahead than with */
	c->credit_dirty = 1;
}

void dlcp_conn_consume(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 bytes)
{
	if (WARN_ON_ONCE(bytes > m->received - m->consumed))
		bytes = m->received - m->consumed;
	if (!bytes && m->refunded)
		return;
	if (bytes)
		c->rx_quiet = 0;
	m->consumed += bytes;
	c->rx_buffered -= bytes;
	conn_rx_account(c, m);
	conn_rx_refund(c, m);
	if (m->reader && !m->complete)
		conn_credit_reader(c, m, false);
	else if (bytes)
		c->credit_dirty = 1;
}

void dlcp_conn_rx_done(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	dlcp_conn_reader(c, m, false);
	dlcp_conn_consume(c, m, m->received - m->consumed);
	m->shell_done = 1;
	if (m->complete) {
		c->rx_unread--;
		conn_rx_try_free(c, m);
	}
}

/* ACKs carry it soon enough, unless much less is left than the peer thinks */
void dlcp_conn_grant(struct dlcp_conn *c, u64 rate)
{
	u64 told = c->rx_rate_advertised;

	c->rx_rate = rate;
	c->rate_used |= !!rate;
	c->rate_due = rate && (!told || rate < told - told / 8);
}

void dlcp_conn_discard(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now)
{
	if (m->complete)
		return;
	dlcp_rxmsg_discard(m, now);
	conn_rx_finish(c, m, now);
}
