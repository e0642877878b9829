/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pacing: a virtual clock that runs ahead by what was sent. A batch may go
 * when the clock is not ahead of now, so that next is the time to wake; at
 * most one quantum of lateness is made up. A batch is at most the quantum:
 * what the rate yields in DLCP_PACE_QUANTUM ns, at least one segment, so that
 * slow senders never burst and fast ones still fill large packets.
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
 * and, if anything at all, at least @seg.
 */
u32 dlcp_pace_allow(const struct dlcp_pace *p, u64 now, u32 seg, u32 max);
/* @bytes (with all headers) were sent at @now */
void dlcp_pace_sent(struct dlcp_pace *p, u64 now, u32 bytes);

#endif
