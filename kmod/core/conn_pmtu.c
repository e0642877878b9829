// SPDX-License-Identifier: GPL-2.0
/*
 * Black holes: a path that drops large packets and tells nobody (RFC 8899).
 * What shows one is that large packets get lost, round after round, while
 * small ones arrive, which is how the losses come to be known. Then the next
 * smaller size that is common is tried, and after a long time the largest
 * again. What ICMP says comes through dlcp_conn_set_mtu(): the smaller counts.
 */
#include "conn_int.h"

/* Rounds in which nothing but large packets was lost, and none arrived */
#define PMTU_ROUNDS	5
/* After so long the path may have changed (RFC 8899: PMTU_RAISE_TIMER) */
#define PMTU_RAISE	(600ULL * NSEC_PER_SEC)

/* DLCP packets that fit: jumbo frames less tunnels, Ethernet less tunnels,
 * what IPv6 guarantees, and what IPv4 does
 */
static const u32 pmtu_sizes[] = { 8140, 4048, 1424, 1352, 1232, 548 };

static u32 pmtu_below(u32 mtu)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pmtu_sizes); i++)
		if (pmtu_sizes[i] < mtu)
			return pmtu_sizes[i];
	return 0;
}

static void pmtu_apply(struct dlcp_conn *c)
{
	u32 mtu = c->mtu_cap ? min(c->route_mtu, c->mtu_cap) : c->route_mtu;

	if (mtu < c->cfg.mtu)
		c->cnt[DLCP_CNT_MTU_DOWN]++;
	c->cfg.mtu = mtu;
	c->cong.mss = mtu + c->cfg.overhead;
	c->mtu_rounds = 0;
}

void dlcp_conn_set_mtu(struct dlcp_conn *c, u32 mtu, u64 now)
{
	c->route_mtu = mtu;
	c->mtu_mark = now;
	pmtu_apply(c);
}

/* Would the packet be smaller, or in smaller fragments, one step down? */
static bool pmtu_is_large(const struct dlcp_conn *c, const struct dlcp_sent *e)
{
	u32 below = pmtu_below(c->cfg.mtu);

	return below && e->bytes > below + c->cfg.overhead;
}

void conn_pmtu_acked(struct dlcp_conn *c, const struct dlcp_sent *e)
{
	if (c->mtu_rounds && pmtu_is_large(c, e))
		c->mtu_rounds = 0;
}

void conn_pmtu_lost(struct dlcp_conn *c, const struct dlcp_sent *e, u64 now)
{
	/* Once in a round: what was sent since the last one was noticed */
	if (e->time <= c->mtu_mark || !pmtu_is_large(c, e))
		return;
	c->mtu_mark = now;
	if (++c->mtu_rounds < PMTU_ROUNDS)
		return;
	c->mtu_cap = pmtu_below(c->cfg.mtu);
	c->t_mtu = now + PMTU_RAISE;
	c->cnt[DLCP_CNT_MTU_HOLES]++;
	/* It was the network that took nothing */
	conn_taken(c);
	pmtu_apply(c);
}

/* The peer, or this host, had no memory for packets: what is missing of those
 * sent before says nothing of the path
 */
void conn_pmtu_refused(struct dlcp_conn *c, u64 now)
{
	c->mtu_rounds = 0;
	c->mtu_mark = now;
}

void conn_pmtu_raise(struct dlcp_conn *c)
{
	c->t_mtu = 0;
	c->mtu_cap = 0;
	pmtu_apply(c);
}
