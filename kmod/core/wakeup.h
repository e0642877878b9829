/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When the one timer of a connection is to fire, which asks the engine.
 *
 * Not at once: the engine was just asked. If it wants the past each time the timer
 * fires it cannot do what is due, for want of memory or by mistake, and is asked
 * ever less often, lest the processor do nothing else. A few times say little: the
 * time it wanted passed while it was asked.
 */
#ifndef _DLCP_CORE_WAKEUP_H
#define _DLCP_CORE_WAKEUP_H

#include "env.h"

/* Not sooner than this from now, ns */
#define DLCP_WAKEUP_MIN		(10 * NSEC_PER_USEC)
#define DLCP_WAKEUP_FEW		8
#define DLCP_WAKEUP_DOUBLINGS	8
/* To fire in vain costs as much as so many moves of the timer. So many moves, and it is
 * tried out again
 */
#define DLCP_WAKEUP_FIRE	4
#define DLCP_WAKEUP_MOVES	64

/**
 * struct dlcp_wakeup - of a connection. Zeroed to begin with
 * @fired: the timer fired, and was not armed since: set by the caller
 * @late: how often in a row it fired, and the engine wanted the past again
 * @left: how often it was left to fire earlier than the engine wants, since it was
 *	armed
 * @moves: so often it will be moved instead
 */
struct dlcp_wakeup {
	u8	fired:1;
	u8	late:7;
	u8	left;
	u8	moves;
};

/* The time to arm the timer for, where the engine wants @next. All in ns */
u64 dlcp_wakeup_at(struct dlcp_wakeup *w, u64 next, u64 now);
/*
 * The timer is armed for earlier than the engine wants: is it left alone? Where each of
 * many packets puts it off, it fires once in vain, which is cheaper than to move it for
 * each. Where one or two do, as between a question and its answer, it is moved.
 */
bool dlcp_wakeup_leave(struct dlcp_wakeup *w);

#endif
