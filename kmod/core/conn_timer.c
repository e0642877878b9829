// SPDX-License-Identifier: GPL-2.0
/*
 * Times at which something is to be done without an arrival. Most are worked
 * out from what was sent and received when, and not kept: nothing has to be
 * re-armed, and nothing can be forgotten to be.
 */
#include "conn_int.h"

/* Of two times, 0: never */
static __always_inline u64 earlier(u64 a, u64 b)
{
	return a && (!b || a < b) ? a : b;
}

/* Each path is probed by itself: that others work says nothing of it */
static u64 path_pto_time(const struct dlcp_conn *c, const struct dlcp_path *p)
{
	u64 delay = p->prompt ? 0 : conn_ack_delay(c, &p->rtt);
	u64 t;

	/* What does not work is tried again while there is use for it */
	if (!p->inflight && (!p->bad || list_empty(&c->tx.active)))
		return 0;
	/* The first asks for a lost tail (RFC 8985, 7) and is no timeout yet */
	t = conn_backoff(dlcp_conn_path_pto(c, p, delay),
			 p->pto_shift - !!p->pto_shift);
	/* The network may have healed, or the next entropy be a good one */
	if (p->bad)
		t = min_t(u64, t, DLCP_PATH_PROBE_MAX);
	return p->last_elicit + t;
}

/*
 * What is sent behind the tail of a burst tells whether it got lost (RFC 8985, 7). On
 * a long path one small packet and its answer cost nothing, and waiting for a
 * timeout three round trips: they go after as much of a round trip as packets
 * there may overtake each other by (RFC 8985, 6.2). A path that was not used yet is
 * as long as the longest of the others: small messages leave by one each.
 */
static u64 path_tail_time(const struct dlcp_conn *c, const struct dlcp_path *p)
{
	u64 srtt = p->rtt.srtt;
	u32 i;

	if (p->tail != DLCP_TAIL_OUT || !p->data_out || p->pto_count)
		return 0;
	for (i = 0; !p->rtt.srtt && i < c->cfg.nr_paths; i++)
		srtt = max(srtt, c->paths[i].rtt.srtt);
	return srtt < CONN_FAR ? 0 : p->last_elicit + srtt / 4;
}

/*
 * A MAP is not repeated by itself, and a DONE might be owed by a peer that
 * could not send it: what was asked for and did not come is asked for again.
 */
static u64 conn_resolve_time(const struct dlcp_conn *c)
{
	const struct dlcp_txmsg *m;

	if (list_empty(&c->tx.resolve))
		return 0;
	m = list_first_entry(&c->tx.resolve, struct dlcp_txmsg, resolve_node);
	return m->asked_at +
	       conn_backoff(2 * dlcp_conn_pto(c), c->alive.resolve_count);
}

static bool conn_starved(const struct dlcp_conn *c)
{
	return !c->inflight && c->sched.nr_wait && !c->sched.nr_ready;
}

static u64 conn_persist_time(const struct dlcp_conn *c)
{
	if (!conn_starved(c))
		return 0;
	return c->last_sent +
	       conn_backoff(2 * dlcp_conn_pto(c), c->alive.persist_count);
}

static u64 conn_keepalive_time(const struct dlcp_conn *c)
{
	if (!c->cfg.keepalive_ns || c->inflight)
		return 0;
	return max(c->last_rcvd, c->last_sent) + c->cfg.keepalive_ns;
}

static bool conn_other_works(const struct dlcp_conn *c,
			     const struct dlcp_path *p)
{
	u32 i;

	for (i = 0; i < c->cfg.nr_paths; i++)
		if (&c->paths[i] != p && !c->paths[i].bad &&
		    !c->paths[i].pto_count && c->paths[i].any_acked)
			return true;
	return false;
}

/*
 * Was another path's packet answered after an answer to those of @p was due? Then
 * the peer is there, and the way of @p is dead. A peer that stands still answers
 * nobody, and what it has got is not to be sent again.
 */
static bool conn_path_alone(struct dlcp_conn *c, const struct dlcp_path *p,
			    u64 now)
{
	u64 ago = dlcp_conn_awake(c, now) - c->alive.silent_since;

	return c->alive.answered && c->net.min &&
	       now - min(ago, now) >= p->last_elicit + c->net.min;
}

/* Others work, and @p does not answer: what it carried goes by them */
static void conn_path_fail(struct dlcp_conn *c, struct dlcp_path *p, u64 now)
{
	struct conn_sample cs;

	dlcp_conn_sample_init(c, &cs, now);
	dlcp_conn_path_give_up(c, p, &cs);
	p->bad = 1;
	p->probe = !list_empty(&c->tx.active);
	conn_repath(c, p, now);
}

/* From the second timeout in a row on each probe takes another way, which may well
 * be a good one: of those four do not wait longer than the one before them. It
 * takes more to say that all ways are dead, if one has ever worked. A way that
 * answers is not left.
 */
static void conn_pto_count(struct dlcp_path *p, bool alive)
{
	p->alive = 0;
	if (p->pto_count < U8_MAX)
		p->pto_count++;
	if (alive || !p->any_acked || p->pto_count <= DLCP_PATH_BAD_PTOS ||
	    !((p->pto_count - DLCP_PATH_BAD_PTOS) % 4))
		p->pto_shift = min_t(u32, p->pto_shift + 1, U8_MAX);
}

/*
 * A probe shows what was lost, and only that is sent again. As long as it is
 * not answered, nothing else takes this path if others work: a dead one costs
 * what was on it for one probe timeout, and is no congestion. Where none does,
 * another port may take packets another way through the network, or the
 * well-known one through a firewall.
 */
static void conn_path_timeout(struct dlcp_conn *c, struct dlcp_path *p,
			      u64 now)
{
	bool others = conn_other_works(c, p);
	bool alone = conn_path_alone(c, p, now);
	bool alive = p->alive;

	conn_pto_count(p, alive);
	p->probe = CONN_PROBES;
	p->tail = DLCP_TAIL_ASKED;
	c->cnt[DLCP_CNT_PROBES]++;
	/* Also what is not sent at once does not wait for the timer again */
	p->last_elicit = now;
	/* Its data is in a queue, or was lost: the answer will tell. Where only
	 * control gets through there is none, and others may do better.
	 */
	if (alive && p->pto_count > 1 &&
	    (!others || p->pto_count < DLCP_PATH_DATA_PTOS))
		return;
	if (others) {
		if (alone || p->pto_count >= DLCP_PATH_BAD_PTOS)
			conn_path_fail(c, p, now);
		return;
	}
	/* One of each path is not one after the other */
	if (p->pto_shift > c->alive.pto_nth) {
		c->cong.ops->timeout(&c->cong, now, ++c->alive.pto_nth);
		c->pace.rate = c->cong.rate;
	}
	if (p->pto_count < DLCP_PATH_BAD_PTOS)
		return;
	conn_repath(c, p, now);
	/* The last of the probes goes from the well-known port in any case, but where
	 * the path is bad and has one way at a time
	 */
	p->home = (p->bad || c->place.ports != CONN_PORTS_OPEN) &&
		  p->entropy >> 8 & 1;
}

static u64 conn_paths_time(const struct dlcp_conn *c)
{
	const struct dlcp_path *p;
	u64 t = 0;

	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++) {
		t = earlier(t, p->loss_time);
		t = earlier(t, path_pto_time(c, p));
		t = earlier(t, path_tail_time(c, p));
	}
	return t;
}

static void conn_paths_timer(struct dlcp_conn *c, u64 now)
{
	struct conn_sample cs;
	struct dlcp_path *p;
	u64 t;
	u32 i;

	dlcp_conn_sample_init(c, &cs, now);
	for (i = 0; i < c->cfg.nr_paths; i++) {
		p = &c->paths[i];
		if (p->loss_time && p->loss_time <= now)
			dlcp_conn_detect(c, p, &cs);
	}
	dlcp_conn_sample_done(c, &cs);
	for (i = 0; i < c->cfg.nr_paths; i++) {
		p = &c->paths[i];
		t = path_pto_time(c, p);
		if (t && t <= now)
			conn_path_timeout(c, p, now);
		t = path_tail_time(c, p);
		if (t && t <= now) {
			p->tail = DLCP_TAIL_ASK;
			p->probe = 1;
		}
	}
}

static void conn_resolve_again(struct dlcp_conn *c, u64 now)
{
	struct dlcp_txmsg *m;
	u64 t;

	for (;;) {
		/* Each goes to the end of the list, asked just now */
		t = conn_resolve_time(c);
		if (!t || t > now)
			break;
		m = list_first_entry(&c->tx.resolve, struct dlcp_txmsg,
				     resolve_node);
		if (m->state != DLCP_TX_RESOLVING &&
		    (m->inflight_segs || m->lost.count)) {
			/* It waits for what is still to come */
			m->asked_since = c->alive.awake;
			dlcp_conn_tx_asked(c, m, now);
			continue;
		}
		if (c->alive.awake - m->asked_since >= c->cfg.dead_ns) {
			dlcp_conn_abort(c, ETIMEDOUT,
					"the peer does not say what it has");
			return;
		}
		dlcp_conn_tx_ask(c, m, now);
	}
	if (c->alive.resolve_count < U8_MAX)
		c->alive.resolve_count++;
}

static void conn_persist(struct dlcp_conn *c, u64 now)
{
	c->ctrl.ping_pending = 1;
	c->last_sent = now;
	if (c->alive.persist_count < U8_MAX)
		c->alive.persist_count++;
}

static void conn_keepalive(struct dlcp_conn *c, u64 now)
{
	c->ctrl.ping_pending = 1;
	c->cnt[DLCP_CNT_KEEPALIVES]++;
}

static void conn_linger_over(struct dlcp_conn *c, u64 now)
{
	c->t_linger = 0;
	dlcp_conn_set_state(c, DLCP_CLOSED);
}

static void conn_stall_over(struct dlcp_conn *c, u64 now)
{
	c->alive.stall_until = 0;
}

static u64 conn_pace_time(const struct dlcp_conn *c)
{
	return c->send.pace_wait ? max_t(u64, c->pace.next, 1) : 0;
}

/* For what dlcp_conn_next() does */
static void conn_none(struct dlcp_conn *c, u64 now)
{
}

/*
 * One timer: due at @when, 0: it is off. @run: it is run if it is due; else only
 * looked at.
 *
 * Return: @t, or @when, if that is sooner
 */
static __always_inline u64 conn_timer(struct dlcp_conn *c, u64 t, u64 when,
				      void (*what)(struct dlcp_conn *c, u64 now),
				      u64 now, bool run)
{
	if (!run)
		return earlier(t, when);
	if (when && when <= now && conn_open(c))
		what(c, now);
	return t;
}

/* All timers of an open connection, in the order in which they are run. A list of
 * calls and not an array: all of it is looked at after each packet, without an
 * indirect call.
 */
static __always_inline u64 conn_timers(struct dlcp_conn *c, u64 now, bool run)
{
	u64 t = 0;

#define TIMER(when, what)	(t = conn_timer(c, t, when, what, now, run))
	TIMER(c->alive.stall_until, conn_stall_over);
	TIMER(conn_paths_time(c), conn_paths_timer);
	TIMER(conn_asks(c) ? dlcp_conn_place_time(c) : 0,
	      dlcp_conn_place_timer);
	TIMER(c->rx.deadline, dlcp_conn_rx_deadlines);
	TIMER(c->rx.vest_timer, dlcp_conn_rx_vests);
	TIMER(dlcp_conn_tx_sent_time(c), dlcp_conn_tx_sent_timer);
	TIMER(c->mtu.again, dlcp_conn_pmtu_timer);
	TIMER(dlcp_conn_idle_time(c), dlcp_conn_shrink);
	TIMER(conn_resolve_time(c), conn_resolve_again);
	TIMER(conn_persist_time(c), conn_persist);
	TIMER(conn_keepalive_time(c), conn_keepalive);
	TIMER(c->t_linger, conn_linger_over);
	TIMER(dlcp_conn_ack_time(c), conn_none);
	TIMER(conn_asks(c) ? dlcp_conn_rails_time(c) : 0, conn_none);
	TIMER(c->send.retry, conn_none);
	TIMER(c->send.egress, conn_none);
	TIMER(conn_pace_time(c), conn_none);
#undef TIMER
	return t;
}

/* Room for messages to come is looked for again: all that is under way may wait
 * for its reader, and then nothing else does
 */
static u64 conn_cramped_time(const struct dlcp_conn *c)
{
	return dlcp_conn_tx_cramped(c) ? c->alive.looked + CONN_CRAMPED : 0;
}

u64 dlcp_conn_next_timer(const struct dlcp_conn *c)
{
	u64 t;

	if (c->state == DLCP_CLOSED)
		return U64_MAX;
	t = earlier(c->setup.timer, dlcp_conn_dead_time(c));
	if (conn_open(c)) {
		t = earlier(t, dlcp_conn_look_time(c));
		t = earlier(t, conn_cramped_time(c));
		/* Not written to, as nothing is run */
		t = earlier(t, conn_timers((struct dlcp_conn *)c, 0, false));
	}
	return t ?: U64_MAX;
}

static void conn_timed_out(struct dlcp_conn *c)
{
	c->unanswered = !conn_open(c);
	dlcp_conn_fail(c, c->soft_error ? c->soft_error : ETIMEDOUT,
		       conn_open(c) ? "the peer has not answered for too long" :
				 "the peer did not answer the set-up");
}

void dlcp_conn_timer(struct dlcp_conn *c, u64 now)
{
	if (c->state == DLCP_CLOSED)
		return;
	dlcp_conn_awake(c, now);
	if (dlcp_conn_dead(c)) {
		conn_timed_out(c);
		return;
	}
	if (c->setup.timer && c->setup.timer <= now)
		dlcp_conn_setup_timer(c, now);
	if (!conn_open(c))
		return;
	if (dlcp_conn_tx_cramped(c))
		dlcp_conn_tx_room(c);
	if (dlcp_conn_stall_dead(c)) {
		dlcp_conn_abort(c, ETIMEDOUT,
				"the peer takes nothing of the data");
		return;
	}
	conn_timers(c, now, true);
}
