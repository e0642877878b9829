// SPDX-License-Identifier: GPL-2.0
/*
 * How much peers may send: room that messages take, the credit each is given, and the
 * allowance for what comes without credit.
 */
#include "conn_int.h"

/* Least that a reader is granted ahead, as a part of the space */
#define CREDIT_MIN_SHIFT	4

static u8 conn_rx_kind(const struct dlcp_rxmsg *m)
{
	if (m->reader)
		return DLCP_RX_READ;
	if (dlcp_rxmsg_complete(m) || m->granted >= m->open.length)
		return DLCP_RX_WHOLE;
	return m->granted ? DLCP_RX_PART : DLCP_RX_UNASKED;
}

/* Messages nobody reads must leave room for those that are being read, and each
 * other room to become complete: see conn_credit_unread()
 */
void dlcp_conn_rx_account(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	u64 here = m->received + m->held;
	u64 most = dlcp_rxmsg_complete(m) ? here : max(m->granted, here);

	c->credit.out[m->out_kind] -= m->out;
	m->out_kind = conn_rx_kind(m);
	m->out = most - m->consumed;
	c->credit.out[m->out_kind] += m->out;
}

/* Of all but @m */
static u64 conn_rx_out(const struct dlcp_conn *c, const struct dlcp_rxmsg *m)
{
	u64 out = 0;
	u32 i;

	for (i = 0; i < DLCP_RX_KINDS; i++)
		out += c->credit.out[i];
	return out - m->out;
}

static u64 conn_rx_out_kind(const struct dlcp_conn *c,
			    const struct dlcp_rxmsg *m, u8 kind)
{
	return c->credit.out[kind] - (m->out_kind == kind ? m->out : 0);
}

static void conn_rx_release(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	c->credit.unsolicited -= m->unsolicited;
	m->unsolicited = 0;
}

/*
 * Is so much of @m within what we allowed? Beyond its credit a message may use
 * its share, as long as all shares in use are within the allowance. The sender
 * keeps to that: it had the same shares in use, or more, when it began with
 * this one.
 */
static bool conn_rx_within(const struct dlcp_conn *c, const struct dlcp_rxmsg *m,
			   u64 all)
{
	u64 share = conn_rx_share(c, m);

	if (all <= m->granted)
		return true;
	if (all > share)
		return false;
	return m->unsolicited ||
	       c->credit.unsolicited + share <= dlcp_conn_unsolicited(c);
}

/* Readers that left had asked for more than there is room for without them: then
 * it is memory that is wanted, and the peer has to know
 */
enum dlcp_verdict dlcp_conn_rx_allowed(const struct dlcp_conn *c,
				       const struct dlcp_rxmsg *m, u32 len)
{
	if (!conn_rx_within(c, m, m->received + m->held + len))
		return DLCP_DROP_WINDOW;
	if (!m->reader &&
	    c->credit.buffered + len > c->cfg.rx_space + dlcp_conn_unsolicited(c))
		return DLCP_DROP_NOMEM;
	return DLCP_OK;
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

void dlcp_conn_rx_covered(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	u64 share = conn_rx_share(c, m);

	if (dlcp_rxmsg_complete(m) || m->granted || m->unsolicited ||
	    share < m->open.length ||
	    c->credit.unsolicited + share > dlcp_conn_unsolicited(c))
		return;
	m->unsolicited = share;
	c->credit.unsolicited += share;
	dlcp_list_off(&m->want_node);
}

/* More of @m is here: @len bytes */
static void conn_rx_buffer(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len)
{
	if (m->received + m->held > m->granted && !m->unsolicited) {
		m->unsolicited = conn_rx_share(c, m);
		c->credit.unsolicited += m->unsolicited;
		if (conn_rx_unasked(m))
			dlcp_list_off(&m->want_node);
	}
	c->credit.quiet = 0;
	m->denied = 0;
	c->credit.buffered += len;
	dlcp_conn_rx_account(c, m);
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
	c->credit.buffered -= len;
	dlcp_conn_rx_account(c, m);
}

/*
 * ACKs carry the limit of bytes, and most of what is sent is acknowledged before the
 * peer needs it. It needs it when what it knows of leaves no room for the largest
 * share: then it waits for a packet of its own, as it does where ACKs got lost.
 */
void dlcp_conn_window_check(struct dlcp_conn *c, bool all)
{
	u64 bytes = c->credit.unsolicited_max - c->credit.unsolicited_advertised;
	u64 untold = c->credit.unsolicited_max - c->credit.unsolicited_acked;
	u64 ids = c->rx.low_id + DLCP_MSG_WINDOW - c->credit.max_id_advertised;
	u64 half = dlcp_conn_unsolicited(c) / 2;
	bool little = bytes < dlcp_conn_unsolicited(c) / 8 ||
		      (bytes < half && untold + c->credit.unsolicited <= half);

	if (ids >= DLCP_MSG_WINDOW / 4 || (bytes && !little) ||
	    (all && (ids || bytes)))
		c->ctrl.window_pending = 1;
}

/*
 * A message begins without credit with as much as comes in a round trip, in which
 * its CREDIT comes, or it stops there. So the allowance grows as TCP's window does
 * (tcp_rcv_space_adjust()): it is what two such messages take, and not more than
 * others may hold that nobody reads.
 */
void dlcp_conn_rx_came(struct dlcp_conn *c, u64 bytes)
{
	u64 all = dlcp_conn_unsolicited(c);

	if (bytes <= all / 2 || all > dlcp_conn_unread_space(c) / 2 ||
	    c->credit.doubled == DLCP_DOUBLED_MAX)
		return;
	c->credit.doubled++;
	c->credit.unsolicited_max += all;
	dlcp_conn_window_check(c, false);
}

/* Complete and consumed: the peer gets its allowance back */
void dlcp_conn_rx_refund(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!dlcp_rxmsg_complete(m) || m->consumed != m->received || m->refunded)
		return;
	m->refunded = 1;
	conn_rx_release(c, m);
	c->credit.unsolicited_max += conn_rx_share(c, m);
	dlcp_conn_window_check(c, false);
}

static void conn_credit_set(struct dlcp_conn *c, struct dlcp_rxmsg *m,
			    u64 granted)
{
	if (granted > m->granted) {
		m->granted = granted;
		if (granted >= conn_rx_share(c, m))
			conn_rx_release(c, m);
		dlcp_conn_rx_account(c, m);
	}
	if (m->granted >= m->open.length)
		dlcp_list_off(&m->want_node);
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
		dlcp_list_off(&m->want_node);
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
		conn_rx_ctrl_due(c, m);
	}
	if (m->credit_pending || m->granted == m->granted_sent)
		dlcp_list_off(&m->want_node);
	else
		list_move_tail(&m->want_node, &c->credit.unadvertised);
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
		list_move(&m->want_node, &c->credit.want[0]);
	if (m->granted > m->granted_sent) {
		m->credit_pending = 1;
		conn_rx_ctrl_due(c, m);
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

	if (!c->credit.dirty)
		return;
	c->credit.dirty = 0;
	/* Who is complete wants none */
	if (list_empty(&c->rx.open)) {
		c->credit.all = 0;
		return;
	}
	if (c->credit.all)
		list_for_each_entry_safe(m, n, &c->credit.unadvertised, want_node)
			conn_credit_reader(c, m, true);
	c->credit.all = 0;
	/* Each gets all it needs, and is off the list; the first that does not is
	 * the last that is looked at
	 */
	for (i = 0; i <= CONN_WANT_LONG; i++)
		list_for_each_entry_safe(m, n, &c->credit.want[i], want_node)
			if (!conn_credit_unread(c, m))
				return;
}

/* Who asks again may have got no answer, and an end that only answers would never
 * see that its way to the peer is dead. So of the two probes of a timeout one is
 * answered by another way, as Protective ReRoute does (SIGCOMM 2023). Where there
 * are several, a question of its own shows which of them is dead; two ends do not
 * keep each other awake, as of three only one is asked back.
 */
static void conn_rx_ask_back(struct dlcp_conn *c, bool here, u64 now)
{
	struct dlcp_path *p;

	p = c->cfg.pathsched->pick(c->paths, c->cfg.nr_paths);
	if (c->cfg.nr_paths > 1 && c->credit.quiet % 3 == 2)
		p->probe = max_t(u8, p->probe, 1);
	if (c->cfg.nr_paths > 1 || c->credit.quiet < 2)
		return;
	/* What came from the well-known port is answered from there: that may be all
	 * that a firewall lets through
	 */
	c->ctrl.answer_home = here;
	if (here)
		return;
	if (c->place.ports == CONN_PORTS_OPEN)
		dlcp_path_set_home(p, false);
	conn_repath(c, p, now);
}

void dlcp_conn_rx_probe(struct dlcp_conn *c, bool here, u64 now)
{
	c->credit.quiet = c->credit.quiet < U8_MAX ? c->credit.quiet + 1 : CONN_RX_QUIET;
	if (c->credit.quiet >= CONN_RX_QUIET)
		conn_event(c, DLCP_EV_RX_QUIET);
	conn_rx_ask_back(c, here, now);
}

/* The first that has used up its credit, where no more is to be expected: others
 * were announced, granted all the room, and are not sent
 */
static struct dlcp_rxmsg *conn_rx_waits(const struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;
	u32 i;

	if (c->rx.unread || c->credit.quiet < CONN_RX_QUIET)
		return NULL;
	for (i = 0; i <= CONN_WANT_LONG; i++)
		list_for_each_entry(m, &c->credit.want[i], want_node)
			if (m->received + m->held >= m->granted)
				return m;
	return NULL;
}

struct dlcp_rxmsg *dlcp_conn_rx_starved(const struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;
	u64 others;

	if (list_empty(&c->credit.want[0]))
		return conn_rx_waits(c);
	m = list_first_entry(&c->credit.want[0], struct dlcp_rxmsg, want_node);
	if (!m->granted)
		return conn_rx_waits(c);
	others = conn_rx_out_kind(c, m, DLCP_RX_PART);
	if (others + m->open.length - m->consumed <= c->cfg.rx_space)
		return conn_rx_waits(c);
	return m;
}

/*
 * The peer rests the longer the more often it was refused: as TCP's window, once it was
 * closed, is told when it opens. A CREDIT says so, of as much as before. Of a message that
 * something was taken of the ACK says as much.
 */
void dlcp_conn_rx_advertise(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (!m->denied || dlcp_rxmsg_complete(m))
		return;
	m->denied = 0;
	m->credit_pending = 1;
	conn_rx_ctrl_due(c, m);
	c->cnt[DLCP_CNT_ROOM_UPDATES]++;
}

void dlcp_conn_reader(struct dlcp_conn *c, struct dlcp_rxmsg *m, bool there)
{
	if (m->reader == there)
		return;
	m->reader = there;
	dlcp_conn_rx_account(c, m);
	if (dlcp_rxmsg_complete(m))
		return;
	dlcp_list_off(&m->want_node);
	if (there) {
		dlcp_conn_rx_advertise(c, m);
		conn_credit_reader(c, m, false);
	} else if (m->granted > m->granted_sent) {
		/* Put off for the reader's next look; there may be none */
		m->credit_pending = 1;
		conn_rx_ctrl_due(c, m);
	}
	/* It has a part: see conn_credit_unread() */
	if (!there && m->granted < m->open.length && !conn_rx_unasked(m)) {
		if (conn_rx_long(c, m))
			list_add_tail(&m->want_node,
				      &c->credit.want[CONN_WANT_LONG]);
		else
			list_add(&m->want_node, &c->credit.want[0]);
	}
	/* Without, it may be given less ahead than with */
	c->credit.dirty = 1;
}

void dlcp_conn_consume(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 bytes)
{
	if (WARN_ON_ONCE(bytes > m->received - m->consumed))
		bytes = m->received - m->consumed;
	if (!bytes && m->refunded)
		return;
	if (bytes)
		c->credit.quiet = 0;
	m->consumed += bytes;
	c->credit.buffered -= bytes;
	dlcp_conn_rx_account(c, m);
	dlcp_conn_rx_refund(c, m);
	if (m->reader && !dlcp_rxmsg_complete(m)) {
		if (bytes)
			dlcp_conn_rx_advertise(c, m);
		conn_credit_reader(c, m, false);
	} else if (bytes) {
		c->credit.dirty = 1;
	}
}

/* ACKs carry it soon enough, unless much less is left than the peer thinks */
void dlcp_conn_grant(struct dlcp_conn *c, u64 rate)
{
	u64 told = c->credit.rate_advertised;

	c->credit.bad = 0;
	c->credit.queued = 0;
	c->credit.rate = rate;
	c->credit.rate_used |= !!rate;
	c->ctrl.rate_due = rate && (!told || rate < told - told / 8);
}
