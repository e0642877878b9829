/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rooms of "dlcp", the default controller (cong_default.c): what they share.
 * Shares are in 1/1024, times in ns, sizes in bytes. As all of a controller, it is
 * called with the connection's lock held and does not sleep.
 */
#ifndef _DLCP_CONG_DFLT_H
#define _DLCP_CONG_DFLT_H

#include "cong.h"
#include "pace.h"

#define ONE		1024

/* Initial window, segments (RFC 6928) and the time in which to send it while
 * no round trip is known: the round trip of a busy rack. At 1500 bytes this
 * is 1.2 Gbit/s: no burst for a 32-packet queue, and the first sample, one
 * round trip later, corrects it. Where the set-up took longer it is a part of
 * that: the bursts of many would meet in one queue for the sake of a time that
 * nobody notices on such a path.
 */
#define WIN_INIT	10
#define FIRST_TIME	(100 * NSEC_PER_USEC)
#define FIRST_DIV	8

/* The smallest window is a packet in 16 round trips: 1000 senders share
 * 10 Gbit/s over 75 us. The largest is 16 GiB.
 */
#define WIN_MIN_DIV	16
#define WIN_MAX		BIT_ULL(34)
#define CWND_MIN	2

/* Queueing delay to accept: 25 us is 20 packets at 10 Gbit/s, less is noise of
 * hosts; on long paths half the round trip, as deep as buffers are there; on
 * noisy hosts twice the deviation, or the mean difference of two packets in a
 * row: the deviation is that of four, which are alike now and then by chance.
 */
#define EXCESS_MIN	(25 * NSEC_PER_USEC)
#define DELAY_CUT_MAX	(ONE * 3 / 10)
#define DELAY_SAMPLES	8		/* packets that must agree on it */

/* A path as long as this is no rack: either far, or slow, or noisy. There the
 * initial window is harmless (RFC 6928). Nobody is taken below it by delay, which
 * may be jitter, or a packet's own time on a slow link, nor by marks, which may
 * begin at a packet or two.
 */
#define LONG_PATH	((u64)NSEC_PER_MSEC)
/* The same where marks keep queues short, so that no queue passes for a path */
#define MARKED_PATH	(2 * FIRST_TIME)

#define ALPHA_SHIFT	4		/* RFC 8257: g = 1/16 */
#define ALPHA_FEW	(ONE / 32)	/* less: nobody marks here */
#define LOSS_SHIFT	4
#define LOSS_OK		(ONE * 4 / 100)	/* smoothed: put back, */
#define LOSS_OK_MAX	(ONE / 4)	/* and when shown not to be ours: */
#define QUIET_DIV	32		/* with less delay than 1 / 32 of it */
#define LOSS_BURST	(ONE / 8)	/* of one round: congestion */
#define FORGIVEN_DIV	4

/* What is put back of losses that are ours, growing by 1 / 1024 per so many
 * rounds, as networks change; and what a round that loses more than twice that
 * takes, with the part of the window a step is at most. So much room BBR leaves
 * (draft-ietf-ccwg-bbr, BBRHeadroom), and the news of a step come two late.
 */
#define LOSS_OURS	(ONE / 100)
#define OURS_AGES	8
#define OURS_CUT	(ONE * 15 / 100)
#define OURS_STEP_DIV	16
#define STEP_DIV	4

/* Windows of fewer segments are shares of many */
#define MANY_SEGS	8
#define PEAK_SHIFT	8
#define PEAK_DIV	4	/* most of it: all but a fifth */

#define DRAIN_HALF	1	/* half the window */
#define DRAIN_QUEUE	2	/* what of it is in the queue, and half of the rest */

struct dflt {
	struct dlcp_cong_round round;
	u64	win;		/* bytes; cwnd and rate follow from it */
	u64	peak;		/* largest win of some hundred rounds */
	u64	step;		/* bytes to grow by in a round */
	u64	srtt;
	u64	trial_win;	/* when cong_judge.c began to watch, or what
				 * is sent meanwhile; 0 = it does not. While
				 * competing: to catch up to
				 */
	u64	trial_lost;	/* bytes since */
	u64	trial_sent;
	u64	min;		/* minimum of the round trip, a round ago */
	u64	judged;		/* ns: end of the last round */
	u64	undo;		/* win before a cut that may prove wrong; 0 = none */
	u32	bw;		/* KiB per second: best of recent rounds */
	u32	rtt;		/* ns: least of the last round, 0 = unknown */
	u32	undo_lost;	/* bytes lost that told of the cut, and may come */
	u16	loss;		/* smoothed share << LOSS_SHIFT */
	u16	loss_ok;	/* share that is put back */
	u32	stand;		/* ns the queue stands */
	u32	seen;		/* packets of rounds in a row with a queue */
	u32	before;		/* KiB of the round before its first loss */
	union {
		u32 queue;	/* ns, of the last round; while competing */
		u32 expect;	/* ns: round trip a cut by delay leads to, or 0 */
	};
	u32	back;		/* ns, mean: what ACKs wait on their way */
	u16	alpha;		/* smoothed share of marked packets */
	u16	trial_loss;	/* share that began it */
	u16	cut;		/* what the last round was answered with */
	u16	rounds;		/* since the last drain */
	u16	period;		/* rounds until the next one */
	u8	compete;	/* others fill the queue: do as they do */
	u8	looks;		/* that found them, */
	u8	looks_none;	/* and in a row, that did not */
	u8	alarms;		/* false ones in a row */
	u8	start:1;	/* slow start */
	u8	undo_start:1;	/* so it was at undo */
	u8	undo_queue:1;	/* a queue told of the cut that it cannot drain */
	u8	lossy:1;	/* the last round lost more than is put back */
	u8	once:1;		/* one round lost too much, which may be chance */
	u8	others:1;	/* a queue stood without our part of it */
	u8	idle:1;		/* the round did not use the window */
	u8	trial_left;	/* rounds of a trial that are left */
	u8	judge:2;	/* half the rate: 1 = what is lost counts */
	u8	trial:2;	/* rounds the larger grant's is on trial */
	u8	drain;		/* DRAIN_*; while competing: rounds to hold back */
	u8	drained;	/* while competing: rounds left in which all give
				 * way
				 */
};

static inline struct dflt *dflt_priv(struct dlcp_cong *c)
{
	BUILD_BUG_ON(sizeof(struct dflt) > sizeof(c->priv));
	return (struct dflt *)c->priv;
}

/* @part of @whole, both below 2^54 */
static inline u32 dflt_share(u64 part, u64 whole)
{
	return whole ? (u32)div64_u64(min(part, whole) * ONE, whole) : 0;
}

/* cong_round.c: what a round tells, and the window that follows from it */
u64 dlcp_dflt_full_window(const struct dlcp_cong *c, const struct dflt *d,
			  u64 grant);
u64 dlcp_dflt_arriving(const struct dlcp_cong *c, const struct dflt *d,
		       u64 time);
void dlcp_dflt_set(struct dlcp_cong *c, u64 win);
u64 dlcp_dflt_excess(const struct dlcp_rtt *r);
u64 dlcp_dflt_delay(const struct dflt *d, const struct dlcp_rtt *r);
u32 dlcp_dflt_leniency(const struct dlcp_cong *c, const struct dflt *d);
bool dlcp_dflt_is_empty(const struct dlcp_cong *c, const struct dflt *d,
			const struct dlcp_rtt *r);
u64 dlcp_dflt_round_bytes(const struct dflt *d);
bool dlcp_dflt_is_burst(const struct dlcp_cong *c, const struct dflt *d,
			u64 lost, u32 limit);
bool dlcp_dflt_limited(const struct dlcp_cong *c, const struct dflt *d);
void dlcp_dflt_smooth(struct dflt *d, u32 lost);

/* cong_judge.c: whose doing loss is */
bool dlcp_dflt_is_policed(const struct dlcp_cong *c, const struct dflt *d,
			  u64 lost);
bool dlcp_dflt_judge_loss(const struct dlcp_cong *c, struct dflt *d,
			  const struct dlcp_rtt *r, u64 lost, bool first);

/* cong_compete.c: beside those who fill the queue */
bool dlcp_dflt_is_standing(const struct dflt *d, const struct dlcp_rtt *r);
bool dlcp_dflt_is_competing(const struct dlcp_cong *c, struct dflt *d,
			    const struct dlcp_rtt *r, u64 now);
void dlcp_dflt_compete_round(struct dlcp_cong *c, struct dflt *d,
			     const struct dlcp_rtt *r,
			     const struct dlcp_cong_sample *s);

#endif
