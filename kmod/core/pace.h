/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pacing: a virtual clock that runs ahead by what was sent. A batch may go
 * when the clock is not ahead of now, so that next is the time to wake. A batch
 * is at most the quantum: what the rate yields in DLCP_PACE_QUANTUM ns, at least
 * one segment, so that slow senders never burst and fast ones still fill large
 * packets.
 *
 * Of time in which nothing was sent one quantum is made up for, and no more if there
 * was nothing to send. If the host was late it is more: a host that others take
 * processors from wakes up every few milliseconds, and would send a quantum then.
 */
#ifndef _DLCP_CORE_PACE_H
#define _DLCP_CORE_PACE_H

#include "env.h"

#define DLCP_PACE_QUANTUM	16000	/* ns */

struct dlcp_pace {
	u64	rate;		/* bytes per second; 0 = unlimited */
	u64	next;		/* ns: when the next byte may go */
};

/* Bytes that may go at @now (0: wait until p->next), never more than @max
 * and, if anything at all, at least @seg. @late: ns before @now in which the host
 * was late
 */
u32 dlcp_pace_allow(const struct dlcp_pace *p, u64 now, u64 late, u32 seg,
		    u32 max);
/* @bytes (with all headers) were sent at @now; @late: as above */
void dlcp_pace_sent(struct dlcp_pace *p, u64 now, u64 late, u32 bytes);

/* ns by which the clock is behind @now */
static inline u64 dlcp_pace_behind(const struct dlcp_pace *p, u64 now)
{
	return now > p->next ? now - p->next : 0;
}

#endif
