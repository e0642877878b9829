// SPDX-License-Identifier: GPL-2.0
#include "wakeup.h"

u64 dlcp_wakeup_at(struct dlcp_wakeup *w, u64 next, u64 now)
{
	u32 doublings = 0;

	if (next > now)
		w->late = 0;
	else if (w->fired && w->late < DLCP_WAKEUP_FEW + DLCP_WAKEUP_DOUBLINGS)
		w->late++;
	w->fired = 0;
	if (w->late > DLCP_WAKEUP_FEW)
		doublings = w->late - DLCP_WAKEUP_FEW;
	return max_t(u64, next, now + ((u64)DLCP_WAKEUP_MIN << doublings));
}
