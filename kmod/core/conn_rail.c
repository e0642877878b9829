// SPDX-License-Identifier: GPL-2.0
/* Pairs of addresses beside that of the set-up: see rail.h. */
#include "conn_int.h"

int dlcp_conn_rails_init(struct dlcp_conn *c)
{
	u32 i;

	if (!c->cfg.rails)
		return 0;
	c->rail.table = c->cfg.ops->alloc(c, DLCP_RAILS_MAX *
					  sizeof(*c->rail.table));
	if (!c->rail.table)
		return -ENOMEM;
	for (i = 0; i < DLCP_RAILS_MAX; i++)
		c->rail.table[i].own = c->cfg.rails[i];
	c->cfg.rails = NULL;	/* the caller's */
	return 0;
}

/* The paths are dealt out to the pairs that work, in turn */
static void conn_deal_paths(struct dlcp_conn *c, u64 now)
{
	u8 pairs[DLCP_PAIRS_MAX];
	struct dlcp_path *p;
	u32 i, nr = 1;

	pairs[0] = 0;
	for (i = 0; i < DLCP_RAILS_MAX; i++)
		if (c->rail.table[i].state == DLCP_RAIL_PROVEN)
			pairs[nr++] = (u8)(1 + i);
	c->rail.nr_pairs = (u8)nr;
	for (i = 0; i < c->cfg.nr_paths; i++) {
		p = &c->paths[i];
		if (p->pair != pairs[i % nr])
			conn_path_move(c, p, pairs[i % nr], now);
	}
}

/*
 * The first announcement counts: one that comes again says the same, and who
 * wants to name ever more addresses shall not.
 */
void dlcp_conn_on_rails(struct dlcp_conn *c, const struct dlcp_f_rails *f)
{
	struct dlcp_rail *r;
	u32 i;

	if (!c->rail.table || c->rail.known || f->family != c->cfg.rail_family)
		return;
	c->rail.known = 1;
	for (i = 0; i < DLCP_RAILS_MAX; i++) {
		r = &c->rail.table[i];
		if (dlcp_addr_none(r->own.addr) || dlcp_addr_none(f->addr[i]))
			continue;
		memcpy(r->peer, f->addr[i], DLCP_ADDR_LEN);
		r->state = DLCP_RAIL_ASKED;
		if (c->cfg.ops->rail && !c->cfg.ops->rail(c, i))
			r->state = DLCP_RAIL_REFUSED;
	}
}

/* A question is paid for by a packet of the peer's */
static bool rail_may_ask(const struct dlcp_conn *c, const struct dlcp_rail *r)
{
	return r->state == DLCP_RAIL_ASKED &&
	       c->cnt[DLCP_CNT_RX_PACKETS] > r->paid;
}

static u64 rail_ask_time(const struct dlcp_conn *c, const struct dlcp_rail *r)
{
	u64 t = max_t(u64, 2 * dlcp_conn_pto(c), CONN_ASK_MIN);

	if (!r->nr_asked)
		return 1;
	return r->asked + min_t(u64, t << min_t(u32, r->nr_asked - 1, 16),
				CONN_BACKOFF_MAX);
}

/* When the next question is due; 0 = none is */
u64 dlcp_conn_rails_time(const struct dlcp_conn *c)
{
	u64 best = 0, t;
	u32 i;

	for (i = 0; c->rail.table && i < DLCP_RAILS_MAX; i++) {
		if (!rail_may_ask(c, &c->rail.table[i]))
			continue;
		t = rail_ask_time(c, &c->rail.table[i]);
		best = best ? min(best, t) : t;
	}
	return best;
}

/* The rail to ask on now. Return: its number, or -1; it counts as asked. */
int dlcp_conn_rails_ask(struct dlcp_conn *c, u64 now)
{
	struct dlcp_rail *r;
	u32 i;

	for (i = 0; c->rail.table && i < DLCP_RAILS_MAX; i++) {
		r = &c->rail.table[i];
		if (!rail_may_ask(c, r) || rail_ask_time(c, r) > now)
			continue;
		r->asked = now;
		r->paid = c->cnt[DLCP_CNT_RX_PACKETS];
		if (r->nr_asked < U8_MAX)
			r->nr_asked++;
		return (int)i;
	}
	return -1;
}

/* Who says it back has received it where it was sent to */
void dlcp_conn_on_answer(struct dlcp_conn *c, u64 token, u64 now)
{
	struct dlcp_rail *r;
	u32 i;

	if (dlcp_conn_place_answer(c, token, now))
		return;
	for (i = 0; c->rail.table && i < DLCP_RAILS_MAX; i++) {
		r = &c->rail.table[i];
		if (r->state != DLCP_RAIL_ASKED || !r->nr_asked ||
		    r->own.token != token)
			continue;
		r->state = DLCP_RAIL_PROVEN;
		conn_deal_paths(c, now);
	}
}

bool dlcp_conn_pair_works(const struct dlcp_conn *c, u8 pair)
{
	return !pair || (c->rail.table && pair < DLCP_PAIRS_MAX &&
			 c->rail.table[pair - 1].state == DLCP_RAIL_PROVEN);
}

/*
 * ACKs go back the way the last packet came: it was seen to work, while of
 * what is not acknowledged itself nobody learns whether it arrives.
 */
void dlcp_conn_came_by(struct dlcp_conn *c, u8 pair)
{
	if (dlcp_conn_pair_works(c, pair))
		c->rail.rx_pair = pair;
}
