// SPDX-License-Identifier: GPL-2.0
/*
 * One timer per connection. It holds a reference while it is armed, and
 * fires in softirq; when a user owns the socket the work waits for
 * release_cb.
 *
 * A timer may be armed again while its callback runs, and then
 * hrtimer_try_to_cancel() does not say that it waits. So timer_lock guards
 * timer_ref: somebody has a reference for the next firing.
 */
#include "dlcp.h"

/* Context: socket lock held */
bool dlcp_timer_armed(struct sock *sk, u64 at)
{
	struct hrtimer *timer = &dlcp_sk(sk)->timer;

	return hrtimer_is_queued(timer) &&
	       (u64)ktime_to_ns(hrtimer_get_expires(timer)) <= at;
}

/* Is it armed, and need not be armed for @at? For time 0: dlcp_timer_now() did it */
static bool dlcp_timer_will_do(struct sock *sk, u64 at)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u64 expires;

	if (!dlcp_timer_armed(sk, at))
		return false;
	expires = (u64)ktime_to_ns(hrtimer_get_expires(&ds->timer));
	return expires == at || !expires || dlcp_wakeup_leave(&ds->wakeup);
}

/* Somebody wants it to fire at once. Context: timer_lock held */
static bool dlcp_timer_urgent(struct dlcp_sock *ds)
{
	return hrtimer_is_queued(&ds->timer) &&
	       !ktime_to_ns(hrtimer_get_expires(&ds->timer));
}

/**
 * dlcp_timer_arm() - have the timer fire at dlcp_conn_next_timer()
 * @sk: the connection
 * @now: when the engine was asked last
 *
 * A timer that would fire earlier is left alone, where that is cheaper:
 * dlcp_wakeup_leave().
 *
 * Context: socket lock held, process or softirq.
 */
void dlcp_timer_arm(struct sock *sk, u64 now)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	u64 next = dlcp_conn_next_timer(&ds->conn);

	if (next >= KTIME_MAX) {
		dlcp_timer_stop(sk);
		return;
	}
	if (dlcp_timer_will_do(sk, next))
		return;
	next = dlcp_wakeup_at(&ds->wakeup, next, now);
	spin_lock_bh(&ds->timer_lock);
	if (!ds->timer_ref) {
		ds->timer_ref = 1;
		sock_hold(sk);
	}
	if (!dlcp_timer_urgent(ds))
		hrtimer_start(&ds->timer, ns_to_ktime(next),
			      HRTIMER_MODE_ABS_PINNED_SOFT);
	spin_unlock_bh(&ds->timer_lock);
}

/**
 * dlcp_timer_now() - have the timer fire at once
 * @sk: a connection; nothing happens if its last reference is gone
 *
 * Context: any but hard interrupts; takes timer_lock and nothing else.
 */
void dlcp_timer_now(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	spin_lock_bh(&ds->timer_lock);
	if (ds->timer_ref || refcount_inc_not_zero(&sk->sk_refcnt)) {
		ds->timer_ref = 1;
		hrtimer_start(&ds->timer, 0, HRTIMER_MODE_ABS_PINNED_SOFT);
	}
	spin_unlock_bh(&ds->timer_lock);
}

/**
 * dlcp_timer_stop() - have the timer not fire any more
 * @sk: the connection; somebody else has a reference to it too
 *
 * What cannot be cancelled, as the callback is running and it is armed for
 * the time after that, fires at once, finds nothing to do, and drops its
 * reference.
 *
 * Context: socket lock held; may be called in the timer's own callback.
 */
void dlcp_timer_stop(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	spin_lock_bh(&ds->timer_lock);
	if (ds->timer_ref) {
		if (hrtimer_try_to_cancel(&ds->timer) == 1) {
			ds->timer_ref = 0;
			__sock_put(sk);
		} else if (hrtimer_is_queued(&ds->timer)) {
			hrtimer_start(&ds->timer, 0,
				      HRTIMER_MODE_ABS_PINNED_SOFT);
		}
	}
	spin_unlock_bh(&ds->timer_lock);
}
