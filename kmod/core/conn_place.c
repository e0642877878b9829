// SPDX-License-Identifier: GPL-2.0
/*
 * Where the peer is, and from which ports it is sent to.
 *
 * A host receives at its well-known port alone. What is sent from there, too,
 * says so (DLCP_F_HERE) and is answered to the address and port it was seen
 * from: translators of addresses and firewalls that let nothing in but answers
 * take both directions for one flow. But all connections of two hosts are the
 * same flow then, and take the same way through the network. So each end also
 * asks from another port (ASK, a random token); when the token comes back, its
 * paths take ports of their own. Whoever is not the peer, and a path that does
 * not answer, sends them home again.
 *
 * A packet that says HERE may come from another place than before: the peer's
 * translator has forgotten it, or it has another address. Nothing goes there
 * but questions, no more of them than packets have come from there, until a
 * token has come back (RFC 9000, section 9). Nor does the connection move as
 * long as the peer answers at the place it had: whoever only knows the tags,
 * and repeats them from a place of his own, gains nothing.
 */
#include "conn_int.h"

/* Ports to ask from, before the network is taken for one that lets none through */
#define PLACE_PORTS		8
/* Questions to the place before that must have been in vain */
#define PLACE_UNANSWERED		2
/* So long another place is not looked at: the peer was where it is, or somebody
 * does not answer at the one he names
 */
#define PLACE_STAY		((u64)NSEC_PER_SEC)

/* Until the next question, after @nr of them */
static u64 place_pause(const struct dlcp_conn *c, u32 nr)
{
	u64 t = max_t(u64, 2 * dlcp_conn_pto(c), CONN_ASK_MIN);

	return min_t(u64, t << min_t(u32, nr - 1, 16), CONN_BACKOFF_MAX);
}

/*
 * Ports
 */

/* A peer that says it without having been asked deceives itself alone */
static u64 ports_token(const struct dlcp_conn *c)
{
	return ~c->cfg.local_tag;
}

static u64 ports_time(const struct dlcp_conn *c)
{
	if (c->place.ports != CONN_PORTS_ASK || c->place.nr_ports == PLACE_PORTS)
		return 0;
	if (!c->place.nr_ports)
		return 1;
	return c->place.asked + place_pause(c, c->place.nr_ports);
}

static void ports_proven(struct dlcp_conn *c)
{
	u32 i;

	c->place.ports = CONN_PORTS_OPEN;
	for (i = 0; i < c->cfg.nr_paths; i++)
		dlcp_path_set_home(&c->paths[i], false);
}

/* A packet that was not sent from home has reached somebody else. If the peer
 * has forgotten us, it says so to the next one.
 */
void dlcp_conn_ports_lost(struct dlcp_conn *c)
{
	struct dlcp_path *p;

	c->place.ports = CONN_PORTS_SHUT;
	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++) {
		if (p->home)
			continue;
		dlcp_path_set_home(p, true);
		p->probe = 1;
	}
}

/* The way through the network may be broken, or the way back; or it is a
 * firewall that only lets through what comes from the well-known port
 */
void dlcp_conn_setup_repath(struct dlcp_conn *c, u64 now)
{
	struct dlcp_path *p = &c->paths[0];

	conn_repath(c, p, now);
	p->weight = DLCP_WEIGHT_ONE;
	p->home = !p->home;
}

/*
 * Places
 */

static void place_free(struct dlcp_conn *c)
{
	c->cfg.ops->free(c, c->place.move, sizeof(*c->place.move));
	c->place.move = NULL;
}

static void place_drop(struct dlcp_conn *c, u64 now)
{
	place_free(c);
	c->place.stay = now + PLACE_STAY;
}

void dlcp_conn_elsewhere(struct dlcp_conn *c, const struct dlcp_place *to,
			 const u64 *tokens, u64 now)
{
	struct dlcp_move *m = c->place.move;

	if (!conn_open(c))
		return;
	if (m && !memcmp(&m->to, to, sizeof(*to))) {
		m->seen++;
		return;
	}
	/* One that has not answered may be gone again: a translator that
	 * forgets twice
	 */
	if (m) {
		if (m->proven)
			return;
		memset(m, 0, sizeof(*m));
	} else {
		if (now < c->place.stay)
			return;
		m = c->cfg.ops->alloc(c, sizeof(*m));
		if (!m)
			return;
	}
	m->to = *to;
	m->token[DLCP_TO_PEER] = tokens[0];
	m->token[DLCP_TO_MOVED] = tokens[1];
	m->since = now;
	m->seen = 1;
	c->place.move = m;
}

/* Each round asks at both places, the new one only if it has paid for it */
static u64 move_time(const struct dlcp_conn *c)
{
	const struct dlcp_move *m = c->place.move;

	if (!m)
		return 0;
	return m->rounds ? m->asked + place_pause(c, m->rounds) : 1;
}

static bool move_ask(struct dlcp_conn *c, struct conn_ask *ask, u64 now)
{
	struct dlcp_move *m = c->place.move;

	if (!m->half && move_time(c) > now)
		return false;
	if (!m->half) {
		m->half = 1;
		if (!m->proven && m->nr_asked < m->seen) {
			m->nr_asked++;
			ask->to = DLCP_TO_MOVED;
			ask->token = m->token[DLCP_TO_MOVED];
			return true;
		}
	}
	m->half = 0;
	m->asked = now;
	m->rounds++;
	ask->to = DLCP_TO_PEER;
	ask->token = m->token[DLCP_TO_PEER];
	return true;
}

static void place_move(struct dlcp_conn *c, u64 now)
{
	const struct dlcp_place to = c->place.move->to;
	bool far = c->cfg.ops->moved(c, &to);
	struct dlcp_path *p;

	place_free(c);
	c->place.ports = CONN_PORTS_ASK;
	c->place.nr_ports = 0;
	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++) {
		dlcp_path_set_home(p, true);
		if (p->pair)
			continue;
		/* Of another address nothing is known: RFC 9000, 9.4 */
		if (far)
			conn_path_move(c, p, 0, now);
		p->probe = 1;
	}
	if (!far)
		return;
	dlcp_cong_init(&c->cong, c->cfg.cong, c->cfg.mtu + c->cfg.overhead,
		       c->cfg.max_rate, now);
	c->pace.rate = c->cong.rate;
}

void dlcp_conn_place_timer(struct dlcp_conn *c, u64 now)
{
	struct dlcp_move *m = c->place.move;

	if (!m || m->half || !m->rounds || move_time(c) > now)
		return;
	if (m->proven && m->rounds >= PLACE_UNANSWERED)
		place_move(c, now);
	else if (!m->proven && now - m->since > PLACE_STAY)
		place_drop(c, now);
}

/*
 * Questions and answers
 */

u64 dlcp_conn_place_time(const struct dlcp_conn *c)
{
	u64 t = move_time(c), u = ports_time(c);

	return t && u ? min(t, u) : t + u;
}

bool dlcp_conn_place_ask(struct dlcp_conn *c, struct conn_ask *ask, u64 now)
{
	u64 t = ports_time(c);

	memset(ask, 0, sizeof(*ask));
	if (c->place.move && move_ask(c, ask, now))
		return true;
	if (!t || t > now)
		return false;
	/* Another way through the network, perhaps, than the one in vain */
	if (c->place.nr_ports && c->paths[0].home)
		conn_repath(c, &c->paths[0], now);
	c->place.asked = now;
	c->place.nr_ports++;
	ask->token = ports_token(c);
	ask->port = c->paths[0].entropy;
	return true;
}

bool dlcp_conn_place_answer(struct dlcp_conn *c, u64 token, u64 now)
{
	struct dlcp_move *m = c->place.move;

	if (m && m->nr_asked && token == m->token[DLCP_TO_MOVED]) {
		m->proven = 1;
		return true;
	}
	if (m && token == m->token[DLCP_TO_PEER]) {
		place_drop(c, now);
		return true;
	}
	if (token != ports_token(c) || !c->place.nr_ports)
		return false;
	if (c->place.ports == CONN_PORTS_ASK)
		ports_proven(c);
	return true;
}
