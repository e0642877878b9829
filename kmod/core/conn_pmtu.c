// SPDX-License-Identifier: GPL-2.0
/*
 * Black holes: a path that drops large packets and tells nobody (RFC 8899).
 * What shows one is that large packets get lost, round after round, while
 * small ones arrive, which is how the losses come to be known. From then on
 * packets are of a size that every path is to carry, and segments cut before go
 * in pieces. Then packets of padding find what the path carries: each size is
 * tried a few times, the next larger one when it has arrived. What they find is
 * the shell's to remember, for later connections. What ICMP says comes through
 * dlcp_conn_set_mtu(): the smaller counts.
 */
#include "conn_int.h"

/* Rounds in which nothing but large packets was lost, and none arrived: few, for
 * data stands still meanwhile. What was taken for a black hole by mistake is found
 * not to be one some round trips later.
 */
#define PMTU_ROUNDS	3
/* No two of them within so long: a queue that is full may drop the few large packets
 * of some round trips, and have room for small ones, but not for long
 */
#define PMTU_PAUSE	(20ULL * NSEC_PER_MSEC)
/* Packets of a size that get lost until that size is given up */
#define PMTU_PROBES	5
/* After so long the path may have changed (RFC 8899: PMTU_RAISE_TIMER) */
#define PMTU_RAISE	(600ULL * NSEC_PER_SEC)

/* DLCP packets that fit: what IPv4 guarantees, and IPv6; Ethernet less tunnels,
 * Ethernet by IPv6 and by IPv4; jumbo frames less tunnels. Multiples of 4, as
 * frames are.
 */
static const u16 pmtu_sizes[] = {
	548, 1232, 1352, 1424, 1452, 1472, 4048, 8140,
};

static u32 pmtu_below(u32 mtu)
{
	if (mtu > pmtu_sizes[1])
		return pmtu_sizes[1];
	return mtu > pmtu_sizes[0] ? pmtu_sizes[0] : 0;
}

/* The route's MTU as a probe can have it */
static u32 pmtu_most(const struct dlcp_conn *c)
{
	return c->mtu.route & ~3U;
}

/* The next size to be tried; 0: there is none */
static u32 pmtu_above(const struct dlcp_conn *c)
{
	u32 most = pmtu_most(c), i;

	for (i = 0; i < ARRAY_SIZE(pmtu_sizes); i++)
		if (pmtu_sizes[i] > c->cfg.mtu)
			return min_t(u32, pmtu_sizes[i], most);
	return most;
}

static void pmtu_apply(struct dlcp_conn *c)
{
	u32 mtu = c->mtu.cap ? min(c->mtu.route, c->mtu.cap) : c->mtu.route;

	if (mtu < c->cfg.mtu)
		c->cnt[DLCP_CNT_MTU_DOWN]++;
	c->cfg.mtu = mtu;
	c->cong.mss = mtu + c->cfg.overhead;
	c->mtu.rounds = 0;
}

/* From the size in use on */
static void pmtu_search(struct dlcp_conn *c)
{
	c->mtu.again = 0;
	c->mtu.lost = 0;
	c->mtu.due = c->mtu.cap && pmtu_above(c) > c->cfg.mtu;
}

void dlcp_conn_set_mtu(struct dlcp_conn *c, u32 mtu, u64 now)
{
	c->mtu.route = mtu;
	c->mtu.mark = now;
	pmtu_apply(c);
	if (c->mtu.works)
		pmtu_search(c);
}

/* Would the packet be smaller one step down? */
static bool pmtu_is_large(const struct dlcp_conn *c, const struct dlcp_sent *e)
{
	u32 below = pmtu_below(c->cfg.mtu);

	return below && e->bytes > below + c->cfg.overhead;
}

/* More than was thought arrives */
static void pmtu_raise(struct dlcp_conn *c, u32 size)
{
	c->mtu.cap = size < pmtu_most(c) ? (u16)size : 0;
	c->mtu.works = 1;
	pmtu_apply(c);
	pmtu_search(c);
}

void dlcp_conn_pmtu_acked(struct dlcp_conn *c, const struct dlcp_sent *e)
{
	if (!c->mtu.cap && !c->mtu.rounds)
		return;
	if (pmtu_is_large(c, e))
		c->mtu.rounds = 0;
	if (c->mtu.cap && e->bytes > c->cfg.mtu + c->cfg.overhead) {
		pmtu_raise(c, e->bytes - c->cfg.overhead);
	} else if (!c->mtu.works && e->kind != DLCP_SENT_CTRL &&
		   (pmtu_is_large(c, e) || !pmtu_below(c->cfg.mtu))) {
		c->mtu.works = 1;
		pmtu_search(c);
	}
}

/* Another packet of padding was lost. Return: it is to be sent again */
bool dlcp_conn_pmtu_again(struct dlcp_conn *c, u64 now)
{
	if (++c->mtu.lost < PMTU_PROBES)
		return true;
	c->mtu.again = now + PMTU_RAISE;
	conn_event(c, DLCP_EV_MTU);
	return false;
}

void dlcp_conn_pmtu_lost(struct dlcp_conn *c, const struct dlcp_sent *e,
			 u64 now)
{
	/* Once in a round: what was sent since the last one was noticed */
	if (e->time <= c->mtu.mark || !pmtu_is_large(c, e) ||
	    (c->mtu.rounds && e->time <= c->mtu.mark + PMTU_PAUSE))
		return;
	c->mtu.mark = now;
	if (++c->mtu.rounds < PMTU_ROUNDS)
		return;
	c->mtu.cap = (u16)pmtu_below(c->cfg.mtu);
	c->mtu.works = 0;
	c->mtu.due = 0;
	c->cnt[DLCP_CNT_MTU_HOLES]++;
	/* It was the network that took nothing */
	dlcp_conn_taken(c, NULL);
	pmtu_apply(c);
}

/* A queue that is full refuses any packet, and not for long; a device that leads to
 * one with a smaller MTU, as veth does, refuses the large ones for ever
 */
void dlcp_conn_pmtu_unsent(struct dlcp_conn *c, const struct dlcp_sent *e,
			   u64 now)
{
	if (now - c->mtu.mark > dlcp_conn_pto(c))
		dlcp_conn_pmtu_lost(c, e, now);
}

/* The peer, or this host, had no memory for packets: what is missing of those
 * sent before says nothing of the path
 */
void dlcp_conn_pmtu_refused(struct dlcp_conn *c, u64 now)
{
	c->mtu.rounds = 0;
	c->mtu.mark = now;
}

void dlcp_conn_pmtu_timer(struct dlcp_conn *c, u64 now)
{
	pmtu_search(c);
}

u32 dlcp_conn_pmtu_probe(struct dlcp_conn *c)
{
	if (!c->mtu.due)
		return 0;
	c->mtu.due = 0;
	c->cnt[DLCP_CNT_MTU_PROBES]++;
	return pmtu_above(c);
}
