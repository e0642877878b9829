/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One link, a short queue, and senders that obey grants and would else send as fast
 * as they like. What they are told takes effect a round trip later.
 */
#ifndef _GRANT_WORLD_H
#define _GRANT_WORLD_H

#include "test.h"
#include "grant.h"

#define US	1000ULL
#define MS	1000000ULL
#define SEC	1000000000ULL
#define GBIT	125000000ULL
#define PKT	1500
#define TICK	(5 * US)
#define DELAY	10		/* ticks until the sender knows, */
#define FAR	2000		/* and one that is far away */
#define SENDERS	256

/* What it says of each packet's message to have always something new to say */
enum turns {
	NONE, CLASSES, CLASSES_SLOWLY, LENGTHS, ENDS
};

struct sender {
	struct dlcp_grantee e;
	u64	told[FAR];	/* ring of grants on their way */
	u64	want;		/* bytes per second without a grant */
	u64	owed;		/* part of a packet, bytes * SEC */
	u64	lost;		/* not yet seen by the receiver */
	u64	got;
	u64	len;		/* of its message; 0: it has no end */
	u64	done;		/* its message was complete then */
	u32	holes;		/* packet numbers it leaves out before each */
	u8	turns;		/* enum turns */
	u8	prio;
	bool	queued;		/* tells of a queue, whatever it sees */
	bool	on;
};

static struct {
	struct dlcp_grant g;
	struct sender s[SENDERS];
	u64	now;
	u64	rate;
	u64	busy;		/* the link is busy until */
	u64	tick;
	u32	delay;		/* ticks until senders know */
	u64	lost;
	u64	sent;
	u64	got;
	u32	queue;		/* packets */
	double	loss;		/* at random, behind the queue */
	double	before;		/* and before it */
	bool	told;		/* senders tell of a queue */
} w;

static inline void start(u64 rate, u32 queue)
{
	memset(&w, 0, sizeof(w));
	dlcp_grant_init(&w.g);
	w.now = SEC;
	w.rate = rate;
	w.queue = queue;
	w.delay = DELAY;
}

static inline void on(int from, int to, u64 want)
{
	int i;

	for (i = from; i < to; i++) {
		w.s[i].on = true;
		w.s[i].want = want;
		/* Paced senders do not send at the same instant */
		w.s[i].owed = rnd_below(PKT * SEC);
	}
}

static inline void off(int from, int to)
{
	int i;

	for (i = from; i < to; i++) {
		w.s[i].on = false;
		dlcp_grant_rest(&w.g, &w.s[i].e, w.now);
	}
}

static inline void say_rank(struct sender *s)
{
	bool odd = s->got / PKT % 2;
	u64 left = s->len ? s->len - s->got : 0;
	u8 prio = s->prio;

	switch (s->turns) {
	case CLASSES:
		prio = odd ? DLCP_PRIO_MAX : 0;
		left = SEC;
		break;
	case CLASSES_SLOWLY:
		prio = w.now / (5 * MS) % 2 ? DLCP_PRIO_MAX : 0;
		left = SEC;
		break;
	case LENGTHS:
		left = odd ? 100 * PKT : SEC;
		break;
	case ENDS:
		prio = 0;
		left = SEC;
		dlcp_grant_rest(&w.g, &s->e, w.busy);
		break;
	}
	dlcp_grant_rank(&w.g, &s->e, prio, left);
}

static inline void one_packet(struct sender *s)
{
	u64 tx = PKT * SEC / w.rate;
	u64 wait = w.busy > w.now ? w.busy - w.now : 0;

	w.sent++;
	if (w.before > 0 && rnd_below(1000000) < w.before * 1000000) {
		s->lost++;
		return;
	}
	if (wait / tx >= w.queue) {
		w.lost++;
		s->lost++;
		return;
	}
	w.busy = max(w.busy, w.now) + tx;
	if (rnd_below(1000000) < w.loss * 1000000) {
		s->lost++;
		return;
	}
	s->got += PKT;
	w.got += PKT;
	say_rank(s);
	dlcp_grant_rtt(&w.g, w.delay * TICK);
	/* It leaves the link when those before it have */
	dlcp_grant_arrived(&w.g, &s->e, PKT, s->lost + s->holes,
			   s->queued || (w.told && wait > 30 * US), w.busy);
	s->lost = 0;
	if (s->len && s->got >= s->len) {
		s->on = false;
		s->done = w.busy;
		dlcp_grant_rest(&w.g, &s->e, w.busy);
	}
	s->told[w.tick % w.delay] = dlcp_grant_rate(&w.g, &s->e, w.busy);
}

static inline void tick(void)
{
	struct sender *s;
	u64 rate, old;
	int i;

	w.now += TICK;
	w.tick++;
	for (i = 0; i < SENDERS; i++) {
		s = &w.s[(i + w.tick) % SENDERS];
		old = s->told[w.tick % w.delay];
		s->told[w.tick % w.delay] = s->told[(w.tick - 1) % w.delay];
		if (!s->on)
			continue;
		rate = old ? min(old, s->want) : s->want;
		/* No sender's timers are exact */
		for (s->owed += rate * TICK / 100 * (95 + rnd_below(11));
		     s->on && s->owed >= PKT * SEC; s->owed -= PKT * SEC)
			one_packet(s);
	}
}

static inline void run_for(u64 ns)
{
	u64 end = w.now + ns;

	while (w.now < end)
		tick();
}

static inline void count_from_here(void)
{
	int i;

	w.lost = 0;
	w.sent = 0;
	w.got = 0;
	for (i = 0; i < SENDERS; i++)
		w.s[i].got = 0;
}

static inline double used(u64 ns)
{
	return (double)w.got / ((double)w.rate * ns / SEC);
}

#endif
