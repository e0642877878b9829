// SPDX-License-Identifier: GPL-2.0
#include "conn.h"
#include "egress.h"

/* Looks at the limit are so far apart, ns, at first and at most */
#define HOLD_FIRST	NSEC_PER_MSEC
#define HOLD_MAX	((u64)NSEC_PER_SEC)

void dlcp_egress_init(struct dlcp_egress *t)
{
	u32 i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i <= DLCP_PRIO_MAX; i++)
		INIT_LIST_HEAD(&t->waiting[i]);
	t->limit = DLCP_EGRESS_LIMIT_FIRST;
	t->least = U32_MAX;
	t->hold = HOLD_FIRST;
}

void dlcp_egress_entry_init(struct dlcp_egress_entry *me)
{
	memset(me, 0, sizeof(*me));
	INIT_LIST_HEAD(&me->node);
}

void dlcp_egress_quit(struct dlcp_egress *t, struct dlcp_egress_entry *me)
{
	dlcp_egress_pass(t, me);
	if (list_empty(&me->node))
		return;
	list_del_init(&me->node);
	t->nr--;
}

void dlcp_egress_pass(struct dlcp_egress *t, struct dlcp_egress_entry *me)
{
	me->called = 0;
	if (t->called == me)
		t->called = NULL;
}

/* Keeps its place in its class; in another class it is the last */
static void egress_wait(struct dlcp_egress *t, struct dlcp_egress_entry *me,
			u8 prio, u64 left)
{
	me->left = left;
	if (!list_empty(&me->node) && me->prio == prio)
		return;
	dlcp_egress_quit(t, me);
	me->prio = prio;
	me->number = t->number++;
	list_add_tail(&me->node, &t->waiting[prio]);
	t->nr++;
}

/* The one that has waited longest, except @best; NULL: there is no other */
static struct dlcp_egress_entry *
egress_oldest(const struct dlcp_egress *t,
	      const struct dlcp_egress_entry *best)
{
	struct dlcp_egress_entry *oldest = NULL;
	struct dlcp_egress_entry *m;
	u32 i;

	for (i = 0; i <= DLCP_PRIO_MAX; i++) {
		list_for_each_entry(m, &t->waiting[i], node) {
			if (m == best)
				continue;
			if (!oldest || m->number < oldest->number)
				oldest = m;
			break;
		}
	}
	return oldest;
}

static struct dlcp_egress_entry *egress_best(const struct dlcp_egress *t)
{
	struct dlcp_egress_entry *best = NULL;
	struct dlcp_egress_entry *m;
	u32 look = 0;
	u32 i;

	for (i = 0; i <= DLCP_PRIO_MAX && !best; i++) {
		list_for_each_entry(m, &t->waiting[i], node) {
			if (!best || m->left < best->left)
				best = m;
			if (++look == DLCP_EGRESS_LOOK)
				break;
		}
	}
	return best;
}

/*
 * One at a time, so that who is called second cannot come before who was
 * called first. But that one may be held up, by a page fault of its user, say,
 * and then the queue must not run dry for its sake.
 *
 * Return: the one that goes next, or NULL: none does now.
 */
static struct dlcp_egress_entry *egress_next(struct dlcp_egress *t, u32 out)
{
	struct dlcp_egress_entry *best, *oldest;

	if (!t->nr || out >= t->limit || (t->called && out > t->limit / 2))
		return NULL;
	best = egress_best(t);
	oldest = egress_oldest(t, best);
	best->order = oldest ? DLCP_EGRESS_AHEAD : DLCP_EGRESS_ALONE;
	if (!oldest)
		return best;
	oldest->order = DLCP_EGRESS_OWED;
	return t->owed > 0 ? oldest : best;
}

void dlcp_egress_sent(struct dlcp_egress *t, const struct dlcp_egress_entry *me,
		      u32 bytes)
{
	s64 owed = t->owed;

	if (me->order == DLCP_EGRESS_AHEAD)
		owed += bytes / (DLCP_EGRESS_FAIR - 1);
	else if (me->order == DLCP_EGRESS_OWED)
		owed -= bytes;
	t->owed = (s32)clamp_t(s64, owed, -DLCP_EGRESS_OWED_MAX,
			       DLCP_EGRESS_OWED_MAX);
}

bool dlcp_egress_ask(struct dlcp_egress *t, struct dlcp_egress_entry *me,
		     u8 prio, u64 left, u32 out, u32 mine)
{
	bool came = t->called == me || (me->called && out < t->limit);

	/* If another one was called since, it goes while there is room. Else all
	 * could be called for ever, each in place of the one before, and none go.
	 */
	dlcp_egress_pass(t, me);
	if (came)
		return true;
	egress_wait(t, me, prio, left);
	/* A single socket need not wait for itself */
	if (t->nr == 1 && out <= mine)
		me->order = DLCP_EGRESS_ALONE;
	else if (egress_next(t, out) != me)
		return false;
	dlcp_egress_quit(t, me);
	return true;
}

struct dlcp_egress_entry *dlcp_egress_call(struct dlcp_egress *t, u32 out)
{
	struct dlcp_egress_entry *next = egress_next(t, out);

	if (!next)
		return NULL;
	dlcp_egress_quit(t, next);
	next->called = 1;
	t->called = next;
	return next;
}

void dlcp_egress_freed(struct dlcp_egress *t, u32 out, u64 now)
{
	u32 spare = t->limit / 4;
	u32 less;

	/* With nobody kept waiting an empty queue tells nothing */
	if (!t->nr)
		return;
	if (!out) {
		t->limit = min(t->limit + t->limit / 2, DLCP_EGRESS_LIMIT_MAX);
		t->hold = min_t(u64, 2 * t->hold, HOLD_MAX);
	} else {
		t->least = min(t->least, out);
		if (now < t->look)
			return;
		less = t->least > spare ? (t->least - spare) / 2 : 0;
		t->limit = max(t->limit - min(less, t->limit / 2),
			       DLCP_EGRESS_LIMIT_MIN);
	}
	t->least = U32_MAX;
	t->look = now + t->hold;
}

u64 dlcp_egress_turn(struct dlcp_egress *t, struct dlcp_egress_entry *me,
		     const struct dlcp_conn *c, u32 out, u32 mine, bool late)
{
	bool may = true;
	u64 left;
	u8 prio;

	if (late || !dlcp_conn_first(c, &prio, &left))
		dlcp_egress_quit(t, me);
	else
		may = dlcp_egress_ask(t, me, prio, left, out, mine);
	return may ? 0 : DLCP_EGRESS_WAIT_MAX;
}
