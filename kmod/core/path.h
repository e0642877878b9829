/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths of a connection. Every path has its own packet numbers, so that loss
 * detection needs no order between paths, and its own RTT, loss and ECN
 * record. A path is an entropy value (UDP source port, flow label) and an
 * address pair.
 */
#ifndef _DLCP_CORE_PATH_H
#define _DLCP_CORE_PATH_H

#include "env.h"
#include "owd.h"
#include "rtt.h"
#include "wire.h"

/* What a packet number stands for at its sender */
enum dlcp_sent_kind {
	DLCP_SENT_FREE		= 0,	/* acknowledged, lost or never used */
	DLCP_SENT_DATA		= 1,	/* segment at position pos of msg */
	DLCP_SENT_DATA_OPEN	= 2,	/* the same, with an open block */
	DLCP_SENT_CTRL		= 3,	/* frames given by what */
	DLCP_SENT_LOST_DATA	= 4,	/* declared lost; may still be acked */
};

/* Bits of dlcp_sent.what: which reliable frames a CTRL packet carried */
#define DLCP_SW_OPEN		BIT(0)	/* of msg */
#define DLCP_SW_OFFER		BIT(1)	/* of msg */
#define DLCP_SW_DONE		BIT(2)	/* of msg */
#define DLCP_SW_DONE_ACK	BIT(3)	/* of msg */
#define DLCP_SW_CREDIT		BIT(4)	/* of msg */
#define DLCP_SW_WINDOW		BIT(5)
#define DLCP_SW_CLOSE		BIT(6)
#define DLCP_SW_GETMAP		BIT(7)	/* of msg */
#define DLCP_SW_PING		BIT(8)
#define DLCP_SW_RAILS		BIT(9)
#define DLCP_SW_MTU		BIT(10)	/* padding: does so much arrive? */
#define DLCP_SW_SENT		BIT(11)	/* of msg */
#define DLCP_SW_HOME		BIT(12)	/* PING: from the well-known port */

struct dlcp_sent {
	u64	time;		/* ns */
	u64	delivered;	/* conn->delivered when it left */
	u32	msg;		/* message number */
	u32	pos;		/* DATA: position; CTRL: DLCP_SW_* */
	u16	bytes;		/* as the congestion window counts it */
	u8	kind;
	u8	app_limited;
	u8	unit;		/* DATA: first unit of a piece (cut.h), and how */
	u8	units;		/* many of them; 0: it is a whole segment */
	u8	again;		/* DATA: it was sent before */
	u8	with_data;	/* it waits in the queues of data */
};

/* Packets sent on a path, a ring indexed by packet number */
struct dlcp_sent_ring {
	struct dlcp_sent *ring;	/* size entries, power of two; may be NULL */
	u32	size;
	u32	head;		/* next packet number to use */
	u32	tail;		/* all before are FREE and forgotten */
	u32	first;		/* all before are not in flight */
};

/* ACK intervals an ACK looks back, so that as many may be lost in a row */
#define DLCP_RECV_BACK		7

/*
 * Packet numbers received on a path, the newest. A ring of words by number, so
 * that a new number moves nothing; within a word higher bits are lower numbers,
 * as in an ACK. The 64 numbers up to any lie in two words, so that those of all
 * words but one are known. With its first words it fits 192 bytes, of which an
 * allocator has pages; an idle connection has one.
 *
 * What falls out of a window cannot be acknowledged. So it is twice as long as
 * packets were seen to overtake others, and no word falls out of it that has less
 * than half of its numbers: control leaves a host before the data that waits in
 * its queue, and some fabrics spray.
 */
#define DLCP_RECV_WORDS		16
#define DLCP_RECV_ORDER_MAX	4	/* doublings: 16,320 numbers, 2,112 bytes */
/* Numbers that one ACK frame names, of the newest. It names as many of others. */
#define DLCP_RECV_FRAME		(64 * (DLCP_ACK_WORDS_MAX - 1))

struct dlcp_recv_window {
	u64	last_time;	/* ns: when the last one reached this host */
	u32	first_us;	/* us: when the first one did */
	u32	largest;
	u32	from;		/* nothing is known of those before */
	u32	count;		/* packets received, each once */
	u32	ce;
	u32	unacked;	/* since the last ACK we sent */
	u32	low[DLCP_RECV_BACK];	/* lowest number recorded in each of the
					 * last intervals between ACKs
					 */
	u8	slot:3;		/* of the running interval */
	u8	order:3;	/* how often it was doubled */
	u8	disorder:2;	/* since the last ACK, DLCP_RECV_* */
	u8	any:1;		/* something was received */
	u8	ack_now:1;	/* a reason not to delay the ACK */
	u8	full:1;		/* the next ACK shall tell all we know */
	u8	patience;	/* packets that disorder waits for */
	u8	by;		/* own path by which its last ACK left */
	u64	words[];	/* 63 - pn % 64 of pn / 64 */
};

#define DLCP_RECV_GAP		BIT(0)
#define DLCP_RECV_LATE		BIT(1)
/* Where packets overtake each other all the time each would ask for an ACK of
 * its own, which would take 6 % of the link from who sends the other way
 */
#define DLCP_RECV_PATIENCE	4

/* After so many probe timeouts in a row a path is given up, if others work, and
 * after the first if they were answered meanwhile: what it carried is lost, and it is
 * probed with another entropy
 */
#define DLCP_PATH_BAD_PTOS	2
/* Likewise of one that answers what overtakes its data, and not what goes with it.
 * Each of them is twice as long.
 */
#define DLCP_PATH_DATA_PTOS	6
/* A path that was given up is probed at least that often */
#define DLCP_PATH_PROBE_MAX	(20 * NSEC_PER_MSEC)
#define DLCP_REORDER_MIN	3
#define DLCP_REORDER_MAX	64
#define DLCP_SLACK_MAX		8
/* Rounds with losses, none of them spurious, after which what reordering was
 * seen counts half (RFC 8985, 6.2: reset after as many)
 */
#define DLCP_SLACK_KEEP		16

#define DLCP_WEIGHT_ONE		1024

/* What a round trip of a path brought; filled only with several paths */
struct dlcp_path_round {
	u64	net;		/* ns: least of dlcp_path.net; 0 = none */
	u32	end;		/* over when this packet is acknowledged */
	u32	acked;		/* packets */
	u32	ce;
};

/* What is known of the last data that left by a path */
enum dlcp_tail {
	DLCP_TAIL_ASKED,	/* there is none, or something asks for it */
	DLCP_TAIL_OUT,		/* nothing was sent behind it yet */
	DLCP_TAIL_ASK,		/* the next probe asks for it */
};

/* Of packets before dlcp_path.repath_pn, while they are on their way */
enum dlcp_former {
	DLCP_FORMER_NONE,	/* there are none */
	DLCP_FORMER_WAY,	/* they went another way, */
	DLCP_FORMER_PAIR,	/* and between another pair of addresses */
};

struct dlcp_path {
	struct dlcp_sent_ring	sent;
	struct dlcp_rtt		rtt;	/* between the hosts: for timers */
	struct dlcp_rtt		net;	/* in the network alone, and without
					 * the queue on the way back: for the
					 * controller; see conn_ack_rtt()
					 */
	struct dlcp_owd		owd;
	u64	inflight;	/* bytes */
	u64	net_time;	/* ns: of the last sample of net that counted
				 * for the controller
				 */
	u64	last_elicit;	/* ns: something to be acknowledged was sent */
	u64	loss_time;	/* ns: a packet becomes old enough to be lost;
				 * 0 = none
				 */
	u64	lost;		/* packets */
	u64	acked;		/* packets */
	u64	ce_seen;	/* packets the peer reported with CE */
	u64	sent_packets;	/* that count as in flight */
	struct dlcp_path_round round;
	u64	vtime;		/* what it carried, as its policy counts it */
	u64	queue;		/* ns: of the last round, for the policy */
	u64	repathed;	/* ns: took its entropy; 0 = at the start */
	u32	data_out;	/* of sent_packets, in the queues of data */
	u32	weight;		/* DLCP_WEIGHT_ONE is the mean */
	u32	loss_avg;	/* share of lost packets, 65536 = all */
	u32	ce_avg;		/* share of marked packets, likewise */
	u32	repath_pn;	/* first packet with this entropy */
	u32	largest_acked;
	u32	largest_data;	/* the same, of what waits in queues of data */
	u32	reorder;	/* packets: threshold, grows on spurious loss */
	u32	slack_pn;	/* slack may grow again from here on */
	u32	peer_ce;	/* last CE count the peer reported */
	u32	keep_pn;	/* losses from here on are another round's */
	u16	entropy;	/* UDP source port; changes when the path fails */
	u8	id;
	u8	cls;		/* the least urgent of data in flight */
	u8	pto_count;	/* probe timeouts in a row */
	u8	pto_shift;	/* so often the timeout has doubled */
	u8	probe;		/* so many probes are to be sent on this path */
	u8	slack;		/* eighths added to the age at which a packet
				 * is lost; grows on spurious loss
				 */
	u8	slack_keep;	/* rounds with losses until it is halved */
	u8	pair;		/* of addresses: see rail.h */
	u8	light;		/* rounds of little weight, for the policy */
	u8	home:1;		/* it is sent from the well-known port instead */
	u8	any_acked:1;
	u8	any_data:1;	/* so was something that waits with data */
	u8	slack_pn_valid:1;
	u8	alive:1;	/* something arrived since the last timeout */
	u8	bad:1;		/* not to be used while others work */
	u8	tail:2;		/* of data: enum dlcp_tail */
	u8	prompt:1;	/* the last packet is acknowledged at once */
	u8	settling:1;	/* nothing of this entropy is acknowledged yet */
	u8	former:2;	/* enum dlcp_former */
	u8	held:1;		/* not now: conn_egress() */
};

void dlcp_path_init(struct dlcp_path *p, u8 id, u64 tag);
/* Another way through the network, perhaps: the @nth entropy of the path */
void dlcp_path_repath(struct dlcp_path *p, u64 tag, u32 nth, u64 now);
/* It is sent from the well-known port, or from one of its own */
void dlcp_path_set_home(struct dlcp_path *p, bool home);
/* To another pair of addresses, of which nothing is known yet */
void dlcp_path_move(struct dlcp_path *p, u8 pair, u64 tag, u32 nth, u64 now);
/* One packet was acknowledged or lost; @nr were acknowledged */
void dlcp_path_record(struct dlcp_path *p, bool lost);
void dlcp_path_record_acked(struct dlcp_path *p, u32 nr);
/* Something was acknowledged. Return: whether a round trip is over; the caller
 * then looks at p->round and calls dlcp_path_round_next().
 */
bool dlcp_path_round_over(struct dlcp_path *p);
void dlcp_path_round_next(struct dlcp_path *p);
/* An acknowledgment came for a path that did not work */
void dlcp_path_revive(struct dlcp_path *paths, u32 nr, struct dlcp_path *p);

/* May data go there? Not while it owes an answer to a probe. */
static inline bool dlcp_path_works(const struct dlcp_path *p)
{
	return !p->bad && !p->pto_count && !p->held;
}

/* For policies: of the paths that work the first one by @before; if none works,
 * the one least often tried in vain
 */
struct dlcp_path *
dlcp_path_first(struct dlcp_path *paths, u32 nr,
		bool (*before)(const struct dlcp_path *a,
			       const struct dlcp_path *b));

/* Packet number order: is @a before @b? */
static inline bool dlcp_pn_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* Entry of @pn; NULL if it was never used or is forgotten */
static inline struct dlcp_sent *dlcp_sent_get(const struct dlcp_sent_ring *r,
					      u32 pn)
{
	if (pn - r->tail >= r->head - r->tail)
		return NULL;
	return &r->ring[pn & (r->size - 1)];
}

/* Of two numbers that were used, the last one of which is not long ago: was @a sent
 * before @b? The other one may be as old as may be.
 */
static inline bool dlcp_sent_before(const struct dlcp_sent_ring *r, u32 a,
				    u32 b)
{
	return r->head - a > r->head - b;
}

static inline u32 dlcp_sent_room(const struct dlcp_sent_ring *r)
{
	return r->size - (r->head - r->tail);
}

/* Entry of the next packet number, zeroed, to be filled; there must be room */
static inline struct dlcp_sent *dlcp_sent_push(struct dlcp_sent_ring *r)
{
	struct dlcp_sent *e;

	WARN_ON_ONCE(!dlcp_sent_room(r));
	e = &r->ring[r->head++ & (r->size - 1)];
	memset(e, 0, sizeof(*e));
	return e;
}

/* The next @nr are as @first, each of the next position; there must be room */
void dlcp_sent_fill(struct dlcp_sent_ring *r, const struct dlcp_sent *first,
		    u32 nr);

/* The @nr packets up to @pn, which were in flight, are no more. Mostly they are the
 * oldest of all, and nobody looks at them again.
 */
void dlcp_sent_landed(struct dlcp_sent_ring *r, u32 pn, u32 nr);

/* Have @first be one that is in flight, or the head */
void dlcp_sent_skip(struct dlcp_sent_ring *r);
/* Forget what is FREE, and lost packets of which no news is waited for: those
 * sent before @old, and those that the frame of an ACK which begins with
 * @largest does not name.
 */
void dlcp_sent_trim(struct dlcp_sent_ring *r, u64 old, u32 largest);
/* Move to @ring of @size zeroed entries. Return: the old one. */
struct dlcp_sent *dlcp_sent_move(struct dlcp_sent_ring *r,
				 struct dlcp_sent *ring, u32 size);

static inline size_t dlcp_recv_size(u8 order)
{
	return sizeof(struct dlcp_recv_window) +
	       ((size_t)DLCP_RECV_WORDS << order) * sizeof(u64);
}

/* Return: how often @w has to be doubled before @pn is looked for in it */
u8 dlcp_recv_wants(const struct dlcp_recv_window *w, u32 pn);
/* Move @w to @longer, zeroed memory of dlcp_recv_size(@order) */
void dlcp_recv_move(struct dlcp_recv_window *longer,
		    const struct dlcp_recv_window *w, u8 order);
/* Bits above @pn received earlier? Return: 1 new, 0 duplicate, -1 too old. */
int dlcp_recv_test(const struct dlcp_recv_window *w, u32 pn);
/* Record @pn, which reached this host at @time; it must have been new */
void dlcp_recv_mark(struct dlcp_recv_window *w, u32 pn, bool ce, u64 time);
/* The same of @nr, at most 64, from @pn on, all of them later than any before */
void dlcp_recv_mark_run(struct dlcp_recv_window *w, u32 pn, u32 nr, bool ce,
			u64 time);
/* The lowest number that the next ACK shall tell of */
u32 dlcp_recv_low(const struct dlcp_recv_window *w);
/*
 * Numbers that were late by more than the newest frame names have frames of their
 * own, which go before it. Fill @a with the next one, of at most @max_words. @at
 * begins with dlcp_recv_low(), and is moved on. Return: there is one.
 */
bool dlcp_recv_ack_late(const struct dlcp_recv_window *w, u8 path, u64 now,
			u32 max_words, u32 *at, struct dlcp_f_ack *a);
/* Fill an ACK frame with no more words than needed and at most @max_words */
void dlcp_recv_ack(struct dlcp_recv_window *w, u8 path, u64 now,
		   u32 max_words, struct dlcp_f_ack *a);

#endif
