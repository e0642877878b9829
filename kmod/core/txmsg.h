/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One outgoing message.
 *
 * Segments are sent in the order critical, important, droppable. The index of
 * a segment in that order is its *position*; everything here counts in
 * positions, so that tags are just two thresholds: positions below
 * nr_critical are critical, those from first_droppable on are droppable, and
 * the first transmissions run from 0 to nr_segs. User memory is copied in
 * this order, too. Only the wire and the peer's maps speak of segment indices.
 */
#ifndef _DLCP_CORE_TXMSG_H
#define _DLCP_CORE_TXMSG_H

#include "env.h"
#include "budget.h"
#include "group.h"
#include "segmap.h"
#include "wire.h"

struct dlcp_conn;

/* The state of an outgoing message. Every change is to the next one, or from
 * SENDING to DONE, if all of it is acknowledged. Each of the first two has a
 * question to the peer, which is repeated until the state changes.
 */
enum dlcp_tx_state {
	DLCP_TX_SENDING		= 0,	/* OFFER: can it do without the rest? */
	DLCP_TX_RESOLVING	= 1,	/* DONE came. GETMAP: what is missing? */
	DLCP_TX_DONE		= 2,	/* report complete */
};

/* Does the peer know that all of a message was sent once? */
enum dlcp_tx_sent_frame {
	DLCP_FRAME_SENT_NO		= 0,	/* it was not, or nobody needs to know */
	DLCP_FRAME_SENT_DUE		= 1,	/* SENT is due after a while */
	DLCP_FRAME_SENT_PENDING	= 2,	/* SENT is to be sent */
	DLCP_FRAME_SENT_OUT		= 3,	/* SENT is on its way */
	DLCP_FRAME_SENT_KNOWN		= 4,
};

struct dlcp_txmsg {
	struct list_head	node;	/* conn->tx.active, or conn->tx.done */
	struct list_head	sched_node;	/* on sched_ring */
	struct dlcp_ring	*sched_ring;	/* of conn->sched.ready[], tx_wait[] ...
						 * or NULL
						 */
	struct list_head	ctrl_node;	/* conn->ctrl.tx */
	struct list_head	resolve_node;	/* conn->tx.resolve */
	struct list_head	open_node;	/* conn->sched.unopened */
	struct list_head	sent_node;	/* conn->tx.sent */
	struct dlcp_open	open;
	struct dlcp_budget	budget;	/* sender's view */
	struct dlcp_segmap	acked;	/* by position */
	struct dlcp_segmap	lost;	/* to be sent again, by position. From
					 * RESOLVING on: not received, or not
					 * yet known to be, by segment.
					 */
	struct dlcp_segmap	forgiven;	/* given up by us, perhaps
						 * received all the same
						 */
	u32	*seg_of_pos;	/* NULL: position == segment */
	struct rb_root cuts;	/* struct dlcp_cut: sent in pieces, and not
				 * acknowledged
				 */
	struct dlcp_group *group;	/* whose budget it shares while SENDING */
	u64	id;
	u64	granted;	/* bytes of first transmissions; 0 = none yet */
	u64	sent_bytes;	/* first transmissions */
	u64	resent_bytes;
	u64	start_time;	/* ns: sendmsg() */
	u64	done_time;
	u64	missing_bytes;	/* valid in DONE */
	u64	wait_since;	/* batch number, for the scheduler */
	u64	asked_at;	/* ns: the question was due, or sent */
	u64	asked_since;	/* dlcp_conn_awake(): the peer owes
				 * what was asked for
				 */
	u64	sent_at;	/* ns: with it all was sent once */
	u64	stall_mark;	/* ns: what left before was of an earlier round */
	u32	nr_segs;
	u32	first_droppable;
	u32	filled;		/* positions whose bytes are there */
	u32	next_pos;	/* next first transmission */
	u32	cutting;	/* the position before it of which not all
				 * pieces were sent once; else nr_segs
				 */
	u32	inflight_segs;
	u32	again_segs;	/* of them, sent before */
	u32	since_open;	/* packets since OPEN was last sent */
	u32	map_next;	/* RESOLVING: next word to fetch */
	u32	resend_low;	/* no lost position is below */
	u32	released;	/* dlcp_txmsg_released() */
	u32	nr_missing;	/* RESOLVING, DONE: segments */
	u32	offered;	/* given_up of the last OFFER */
	u16	opened_paths;	/* bit: OPEN went ahead on this path */
	u8	state;		/* enum dlcp_tx_state */
	u8	stall_rounds;	/* of rounds in a row nothing was taken */
	u8	open_acked;
	u8	inline_open;	/* OPEN travels in every DATA until acked */
	u8	ask_pending;	/* the question of the state is to be sent */
	u8	sent_frame;		/* enum dlcp_tx_sent_frame */
	u8	vests;		/* the bound holds a segment, and it is not the
				 * peer who stops early
				 */
	u8	open_due;	/* OPEN to be sent in a packet of its own */
	u8	charged;	/* counted against the unsolicited allowance */
	u8	unsolicited;	/* when it was charged there was room for it */
	u8	done_ack_due;	/* DONE: the peer waits for a DONE_ACK */
	u8	sched;		/* enum dlcp_msgsched_state */
	u8	promised;	/* its share is part of conn->sched.promised */
	u8	done_rcvd;
	u8	why;		/* from DONE */
	u8	below_bound;
	u8	late;
	u8	awaited;	/* the shell's: somebody waits for its end */
	u8	refused;	/* some of @lost never left the host: until all
				 * of @lost is sent none of it is forgiven
				 */
};

u32 dlcp_nr_segs(u64 length, u32 seg_size);	/* >= 1, also for length 0 */
/* Payload bytes of segment @seg */
static inline u32 dlcp_seg_len(const struct dlcp_open *o, u32 seg)
{
	u64 off = (u64)seg * o->seg_size;

	return off + o->seg_size <= o->length ? o->seg_size :
	       (u32)(o->length - off);
}

/* Bytes of memory for bitmaps (and the order, if @tagged) of a message;
 * the caller zeroes them.
 */
size_t dlcp_txmsg_mem(u32 nr_segs, bool tagged);
/**
 * dlcp_txmsg_init() - prepare a message
 * @m: zeroed by the caller
 * @open: all but nr_critical, which is set here; its group is the user's name
 *	of it, which dlcp_conn_send() makes a number
 * @tags: 2 bits each as in struct dlcp_tags, or NULL: all important
 * @stride: bytes of a tag's part
 * @mem: zeroed, dlcp_txmsg_mem() bytes, 8-byte aligned
 * @now: ns
 */
void dlcp_txmsg_init(struct dlcp_txmsg *m, const struct dlcp_open *open,
		     const u8 *tags, u32 stride, void *mem, u64 now);

/* Between dlcp_conn_send() and when the shell took it back */
static inline bool dlcp_txmsg_queued(const struct dlcp_txmsg *m)
{
	return !list_empty(&m->node);
}

static inline u32 dlcp_txmsg_seg(const struct dlcp_txmsg *m, u32 pos)
{
	return m->seg_of_pos ? m->seg_of_pos[pos] : pos;
}

static inline u32 dlcp_txmsg_len(const struct dlcp_txmsg *m, u32 pos)
{
	return dlcp_seg_len(&m->open, dlcp_txmsg_seg(m, pos));
}

/* enum dlcp_tag of a position */
u8 dlcp_txmsg_tag(const struct dlcp_txmsg *m, u32 pos);
/* First position after @pos that may have another tag */
u32 dlcp_txmsg_tag_end(const struct dlcp_txmsg *m, u32 pos);
/* Positions below this one are all acknowledged or given up for good: the
 * shell may free their bytes. nr_segs once the message is over.
 */
u32 dlcp_txmsg_released(const struct dlcp_txmsg *m);
/* DONE: the next missing segment at or after @seg (its index, not position);
 * nr_segs if none. For reports: runs are found by calling it repeatedly.
 */
u32 dlcp_txmsg_next_missing(struct dlcp_txmsg *m, u32 seg);

/* Has the deadline passed? */
bool dlcp_txmsg_late(const struct dlcp_txmsg *m, u64 now);
/* OPEN as it has to go out at @now: with what is left of the deadline */
void dlcp_txmsg_open(const struct dlcp_txmsg *m, u64 now,
		     struct dlcp_open *o);

/* Used by conn.c */
/* Return: bytes newly acknowledged */
u32 dlcp_txmsg_acked(struct dlcp_txmsg *m, u32 pos);
/* Of @n positions from @pos on at once. Return: 0: they want a look at each, and
 * nothing has changed
 */
u32 dlcp_txmsg_acked_run(struct dlcp_txmsg *m, u32 pos, u32 n);
/* A segment was declared lost: forgive it if the rule allows, else queue it.
 * Return: bytes forgiven.
 */
u32 dlcp_txmsg_lost(struct dlcp_txmsg *m, u32 pos);
/* Was a piece lost of what will be forgiven, if the others are lost, too? */
bool dlcp_txmsg_undecided(const struct dlcp_txmsg *m, u32 pos);
/* A segment never left the host: queue it. Not for the budget to pay. */
void dlcp_txmsg_refused(struct dlcp_txmsg *m, u32 pos);
/* Next position to send again, re-checked against the budget; nr_segs: none */
u32 dlcp_txmsg_next_resend(struct dlcp_txmsg *m);
/* Was all of it sent once? What did not leave the host was not. */
bool dlcp_txmsg_all_sent(const struct dlcp_txmsg *m);
/* All was sent once, and more is given up than the peer was told. What is in
 * flight or has to be sent again need not be waited for: the peer does that, or
 * a loss that is forgiven would cost a round trip more than one that is not.
 */
bool dlcp_txmsg_should_offer(const struct dlcp_txmsg *m);
/* May @d take more than the bound: a discard, or at a hard deadline? */
bool dlcp_txmsg_unbound(const struct dlcp_txmsg *m, const struct dlcp_f_done *d);
/* The peer's DONE / MAP */
void dlcp_txmsg_on_done(struct dlcp_txmsg *m, const struct dlcp_f_done *d);
void dlcp_txmsg_on_map(struct dlcp_txmsg *m, const struct dlcp_f_map *f);
/* RESOLVING: is it known which segments are missing? Then sets DONE. */
bool dlcp_txmsg_try_resolve(struct dlcp_txmsg *m);

#endif
