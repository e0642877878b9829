// SPDX-License-Identifier: GPL-2.0
#include "txlimit.h"

/* Steps up come so far apart, ns: at first, and at most. Each refusal doubles
 * the distance, so that a queue of constant size refuses one batch in some
 * seconds.
 */
#define HOLD_FIRST	(8 * NSEC_PER_MSEC)
#define HOLD_MAX	((u64)NSEC_PER_SEC)
/* A step up is one part in so many */
#define STEP_DIV	8
/* Nothing of the socket leaves the queue for so long, ns: look again */
#define WAIT_MAX	(100 * NSEC_PER_MSEC)

/* Waiting for our own packets to leave helps only if there are some */
static void txlimit_try(struct dlcp_txlimit *l, u32 out, u64 now)
{
	if (!dlcp_txlimit_room(l, out) || now >= l->retry_at + HOLD_MAX)
		l->tries = 0;
	if (!dlcp_txlimit_room(l, out))
		return;
	l->retry_at = now + DLCP_TXLIMIT_RETRY;
	if (!l->full && l->tries < DLCP_TXLIMIT_TRIES)
		l->tries++;
}

bool dlcp_txlimit_refused(struct dlcp_txlimit *l, u32 out, u64 now)
{
	u32 limit = out - out / 4;

	/* A queue goes on refusing until the sender hears of it: one event.
	 * The next one says that a batch on top of the limit is too much.
	 */
	if (l->full) {
		limit = min(limit, l->limit);
	} else {
		l->hold = l->hold ? min(2 * l->hold, HOLD_MAX) : HOLD_FIRST;
		if (l->limit)
			limit = min(limit, l->limit - l->limit / 4);
	}
	l->refused = out;
	WRITE_ONCE(l->limit, max(limit, DLCP_TXLIMIT_MIN));
	l->grow_at = now + l->hold;
	txlimit_try(l, out, now);
	WRITE_ONCE(l->full, true);
	return l->tries < DLCP_TXLIMIT_TRIES;
}

static void txlimit_grow(struct dlcp_txlimit *l, u64 now)
{
	/* The queue takes more than it did: it may take much more */
	if (l->limit > l->refused)
		l->hold = max(l->hold / 2, (u64)HOLD_FIRST);
	WRITE_ONCE(l->limit, min_t(u64, (u64)l->limit + l->limit / STEP_DIV,
				   S32_MAX));
	l->grow_at = now + l->hold;
}

u64 dlcp_txlimit_wait(struct dlcp_txlimit *l, u32 out, u64 now)
{
	if (!l->limit)
		return 0;
	if (now < l->retry_at)
		return l->retry_at - now;
	if (now >= l->grow_at)
		txlimit_grow(l, now);
	WRITE_ONCE(l->full, l->full ? !dlcp_txlimit_room(l, out) :
				      out >= l->limit);
	return l->full ? WAIT_MAX : 0;
}
