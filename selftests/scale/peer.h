/* SPDX-License-Identifier: GPL-2.0 */
/* What the models of other protocols share: packets of messages, and who is next. */
#ifndef _SCALE_PEER_H
#define _SCALE_PEER_H

#include "map.h"
#include "proto.h"

enum peer_type { PEER_DATA, PEER_ACK, PEER_PROBE, PEER_PULL };

/* State of a packet at its sender */
enum peer_seg { SEG_NEW, SEG_FLIES, SEG_ACKED, SEG_LOST };

static inline u32 peer_packets(u64 bytes)
{
	return (u32)max_t(u64, 1, DIV_ROUND_UP(bytes, par_payload()));
}

/* Bytes on the wire of packet @i of a message */
static inline u32 peer_wire(u64 bytes, u32 i)
{
	u64 left = bytes - (u64)i * par_payload();

	return max_t(u32, WIRE_MIN,
		     (u32)min_t(u64, left, par_payload()) +
		     par_wire() - par_payload());
}

static inline struct pkt *peer_pkt(u8 proto, u8 type, u32 src, u32 dst,
				   void *flow, u64 seq, u32 wire)
{
	struct pkt *k = pkt_new(0);

	k->proto = proto;
	k->type = type;
	k->src = src;
	k->dst = dst;
	k->flow = flow;
	k->seq = seq;
	k->wire = wire;
	k->band = type == PEER_DATA;
	k->hash = mix32(src, dst, proto);
	return k;
}

/* Packets that a path between hosts holds: at least what is on its way there and
 * back at the rate of a card
 */
static inline u32 peer_bdp(u32 src, u32 dst)
{
	u64 rtt = fabric_base(src, dst, par_wire()) +
		  fabric_base(dst, src, WIRE_MIN);

	if (par.credit)
		return (u32)par.credit;
	return (u32)(rtt * par.mbps / 8000 / par_wire()) + 1;
}

static inline u64 peer_rtt(u32 src, u32 dst)
{
	return fabric_base(src, dst, par_wire()) +
	       fabric_base(dst, src, WIRE_MIN);
}

#endif
