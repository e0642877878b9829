// SPDX-License-Identifier: GPL-2.0
/*
 * Does the peer answer? How long an answer takes, since when one is owed, and when
 * the peer is taken for dead: it says nothing, or takes nothing of the data.
 */
#include "conn_int.h"
#include "msgsched.h"

/*
 * Of a peer that stood still for some seconds a sample of the round trip is of
 * no use: who asked it by that would not ask often enough before giving it up.
 */
static u64 rtt_pto(const struct dlcp_rtt *r, u64 delay)
{
	return min(dlcp_rtt_pto(r, delay), max(3 * r->min, CONN_BACKOFF_MAX));
}

/* Probe timeout of the path most likely to be used */
u64 dlcp_conn_pto(const struct dlcp_conn *c)
{
	u64 best = U64_MAX;
	u32 i;

	for (i = 0; i < c->cfg.nr_paths; i++)
		if (!c->paths[i].bad || c->cfg.nr_paths == 1)
			best = min(best, rtt_pto(&c->paths[i].rtt,
						 conn_ack_delay(c, &c->paths[i].rtt)));
	return best != U64_MAX ? best :
	       rtt_pto(&c->paths[0].rtt, conn_ack_delay(c, &c->paths[0].rtt));
}

/*
 * Of a path that was not used yet as much is expected as of the slowest of the
 * others, or the first loss on each of many paths would cost ten milliseconds.
 */
u64 dlcp_conn_path_pto(const struct dlcp_conn *c, const struct dlcp_path *p,
		       u64 delay)
{
	u64 most = 0;
	u32 i;

	for (i = 0; !p->rtt.srtt && i < c->cfg.nr_paths; i++)
		if (c->paths[i].rtt.srtt)
			most = max(most, rtt_pto(&c->paths[i].rtt, delay));
	return most ?: rtt_pto(&p->rtt, delay);
}

void dlcp_conn_stall_pause(struct dlcp_conn *c, u64 now)
{
	u64 pause = conn_backoff(2 * dlcp_conn_pto(c), c->alive.stall_tries);

	c->alive.stall_until = now + min(pause, c->cfg.dead_ns / 4);
	if (c->alive.stall_tries < U8_MAX)
		c->alive.stall_tries++;
}

void dlcp_conn_taken(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	bool refused = m && m->stall_rounds >= CONN_STALL_ROUNDS;

	if (m)
		m->stall_rounds = 0;
	if (refused || conn_stalled(c)) {
		c->alive.stall_until = 0;
		c->alive.stall_tries = 0;
	}
	c->alive.stall_rounds = 0;
}

/* It is tried at once, one segment first. A peer that says so and refuses it again gets a
 * segment for each time, and is given up as any other that takes nothing.
 */
void dlcp_conn_room_received(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	c->alive.stall_until = 0;
	dlcp_msgsched_try(c, m);
}

/* Longest step of the time that counts */
static u64 conn_look(const struct dlcp_conn *c)
{
	return min(c->cfg.dead_ns / CONN_LOOKS + 1, CONN_BACKOFF_MAX);
}

/*
 * The time that a peer has had to answer: what the engine was awake for. A
 * machine that stood still, or whose timers did, has neither probed nor heard
 * anything. When it comes back the clock has moved by all of the pause at once,
 * of which one step counts.
 */
u64 dlcp_conn_awake(struct dlcp_conn *c, u64 now)
{
	u64 step = now > c->alive.looked ? now - c->alive.looked : 0;
	u64 most = conn_look(c);

	if (step > 2 * most)
		c->alive.woke = now;
	c->alive.awake += min(step, most);
	c->alive.looked = max(c->alive.looked, now);
	return c->alive.awake;
}

/*
 * The peer has answered. What it sends by itself is no answer: it may not hear
 * us, and then nothing of ours will ever arrive.
 */
void dlcp_conn_received(struct dlcp_conn *c, u64 now)
{
	c->alive.silent_since = dlcp_conn_awake(c, now);
	c->alive.answered = 1;
}

static bool conn_owed(const struct dlcp_conn *c)
{
	return !conn_open(c) || c->inflight || !c->setup.acked;
}

/* From here on the peer owes an answer, if not before */
void dlcp_conn_waits(struct dlcp_conn *c, u64 now)
{
	if (conn_owed(c) || !c->alive.answered)
		return;
	c->alive.silent_since = dlcp_conn_awake(c, now);
	c->alive.answered = 0;
}

/* When to see whether the peer is dead; 0: it owes nothing */
u64 dlcp_conn_dead_time(const struct dlcp_conn *c)
{
	u64 past = c->alive.awake - c->alive.silent_since;

	if (!conn_owed(c))
		return 0;
	return c->alive.looked + min(conn_look(c),
			       c->cfg.dead_ns - min(past, c->cfg.dead_ns));
}

bool dlcp_conn_dead(const struct dlcp_conn *c)
{
	return conn_owed(c) &&
	       c->alive.awake - c->alive.silent_since >= c->cfg.dead_ns;
}

/* It answers, has taken nothing for as long as it may be silent, and does not
 * say that it is short of memory
 */
bool dlcp_conn_stall_dead(const struct dlcp_conn *c)
{
	return conn_stalled(c) && !list_empty(&c->tx.active) &&
	       c->alive.awake - c->alive.stall_since >= c->cfg.dead_ns;
}

/* Something may be owed although nothing is on its way */
u64 dlcp_conn_look_time(const struct dlcp_conn *c)
{
	bool stalled = conn_stalled(c) && !list_empty(&c->tx.active);

	if (!stalled && list_empty(&c->tx.resolve))
		return 0;
	return c->alive.looked + conn_look(c);
}
