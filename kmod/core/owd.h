/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One-way delay: which part of a round trip's queue stood on the way there.
 * ACKs wait, too, where the link to their receiver is full, and whoever slows
 * down for that leaves its own link to nobody.
 *
 * The ACK tells when the packet came, by the peer's clock. Two clocks show no
 * delay, but by how much it differs from another packet's (LEDBAT, RFC 6817).
 * There the other one is the quickest of some minutes, since it means to see
 * 100 ms. Clocks drift by that in less than the hour, and by the 25 us of a
 * rack's queue in a quarter of a second. So here the other one is a round trip
 * that is itself known to have met next to no queue on either way, and what is
 * known of it loses worth as it ages:
 *
 *   queue there <= queue of the reference, both ways
 *		    + by how much longer the way there was by the two clocks
 *		    + what they may have drifted since
 *
 * and never more than the queue both ways. So a reference that is old, or a
 * peer that tells nothing of use, costs only this knowledge.
 */
#ifndef _DLCP_CORE_OWD_H
#define _DLCP_CORE_OWD_H

#include "env.h"

/* The reference */
struct dlcp_owd {
	u64	sent;		/* ns, by our clock */
	u32	rtt;		/* ns, in the network, 4 s at most; 0 = none */
	u32	trip;		/* us: arrived there, by the peer's clock, less
				 * sent, by ours
				 */
};

/**
 * dlcp_owd_rtt() - a round trip without the queue on its way back
 * @o: the path's, of zeros at first
 * @min: least round trip of the path in the network, ns; 0 = not known yet
 * @rtt: this one, ns, > 0
 * @sent: when the packet left, ns, by our clock
 * @came_us: when it came, us, by the peer's clock, whatever its origin; wraps
 *
 * Round trips of 4 s and more are no references.
 *
 * Return: @rtt, or as much less as must have been spent in queues on the way
 * back, and at least the smaller of @min and @rtt.
 */
u64 dlcp_owd_rtt(struct dlcp_owd *o, u64 min, u64 rtt, u64 sent, u32 came_us);

#endif
