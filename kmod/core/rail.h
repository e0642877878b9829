/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rails: hosts with several network cards have an address on each, and a
 * connection may use them all. Both ends announce theirs, in the same order
 * (card 0, card 1, ...), and rail k goes from our address k to the peer's.
 *
 * An address somebody announces may be anybody's. So nothing but a question
 * with a random token is sent there before the token has come back, and of
 * questions no more than the peer has sent packets.
 *
 * A pair of addresses has a number: 0 is that of the set-up, 1 + k rail k.
 */
#ifndef _DLCP_CORE_RAIL_H
#define _DLCP_CORE_RAIL_H

#include "env.h"
#include "wire.h"

#define DLCP_PAIRS_MAX		(1 + DLCP_RAILS_MAX)

enum dlcp_rail_state {
	DLCP_RAIL_NONE		= 0,	/* one of the two has no address */
	DLCP_RAIL_REFUSED,		/* of no use to the shell */
	DLCP_RAIL_ASKED,		/* the peer may not be there */
	DLCP_RAIL_PROVEN,
};

/* Own addresses, for dlcp_conn_cfg; the engine keeps a copy */
struct dlcp_rail_own {
	u8	addr[DLCP_ADDR_LEN];	/* all zero: none */
	u64	token;			/* random: what is asked on it */
};

struct dlcp_rail {
	struct dlcp_rail_own own;
	u8	peer[DLCP_ADDR_LEN];
	u64	asked;		/* ns */
	u64	paid;		/* packets the peer had sent by then */
	u8	state;		/* enum dlcp_rail_state */
	u8	nr_asked;
};

/* Where the peer receives: see conn_place.c. All bytes count. */
struct dlcp_place {
	u8	addr[DLCP_ADDR_LEN];	/* in the form of dlcp_rail_own */
	u16	port;		/* UDP, host order */
};

/* Whom a packet goes to */
enum dlcp_to {
	DLCP_TO_PEER		= 0,	/* where it is */
	DLCP_TO_MOVED		= 1,	/* where it was seen: dlcp_conn.place.move->to */
};

/* The peer was seen at another place */
struct dlcp_move {
	struct dlcp_place to;
	u64	token[2];	/* asked at each: enum dlcp_to */
	u64	since;		/* ns */
	u64	asked;		/* ns: the last round of questions */
	u32	seen;		/* packets from there */
	u32	nr_asked;	/* there */
	u32	rounds;
	u8	half;		/* of a round: the place before is to be asked */
	u8	proven;		/* the peer receives there */
};

static inline bool dlcp_addr_none(const u8 *addr)
{
	static const u8 none[DLCP_ADDR_LEN];

	return !memcmp(addr, none, sizeof(none));
}

#endif
