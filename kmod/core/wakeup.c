// SPDX-License-Identifier: GPL-2.0
#include "wakeup.h"

u64 dlcp_wakeup_at(struct dlcp_wakeup *w, u64 next, u64 now)
{
	u32 doublings = 0;

	if (next > now)
		w->late = 0;
	else if (w->fired && w->late < DLCP_WAKEUP_FEW + DLCP_WAKEUP_DOUBLINGS)
		w->late++;
	/* In vain, and it had not saved as much as that costs */
	if (w->fired && w->left && w->left < DLCP_WAKEUP_FIRE)
		w->moves = DLCP_WAKEUP_MOVES;
	w->fired = 0;
	w->left = 0;
	if (w->late > DLCP_WAKEUP_FEW)
		doublings = w->late - DLCP_WAKEUP_FEW;
	return max_t(u64, next, now + ((u64)DLCP_WAKEUP_MIN << doublings));
}

bool dlcp_wakeup_leave(struct dlcp_wakeup *w)
{
	if (w->moves) {
		w->moves--;
		return false;
	}
	if (w->left < U8_MAX)
		w->left++;
	return true;
}
