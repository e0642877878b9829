/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One incoming message. The receiver decides when it is complete; the
 * sender only offers. A message completes
 *  - when every segment is here;
 *  - when no more is missing than the sender has given up (OFFER: so many
 *    segments will not be sent again), and that is within the bound, and no
 *    critical segment is missing;
 *  - when all was sent once (the sender told: DLCP_F_SENT, or a frame SENT), not
 *    more than the bound is missing, no critical segment is, and for a while
 *    nothing new came of it: what is missing was lost, and to hear of that
 *    from the sender would take a round trip more. Of a group it is the group's
 *    budget that must not be exceeded: its sender gives up nothing by itself;
 *  - with EARLY_STOP, or once a deadline has passed: as soon as not more than
 *    the bound is missing and no critical segment is;
 *  - with HARD_DEADLINE: at the deadline, with what is here;
 *  - when the reader discards it.
 * After that its map never changes. Segments that come later are dropped
 * without an acknowledgment unless the map has them: so what the sender
 * knows as acknowledged is always a part of the map, and receipt and report
 * agree.
 */
#ifndef _DLCP_CORE_RXMSG_H
#define _DLCP_CORE_RXMSG_H

#include "env.h"
#include "group.h"
#include "segmap.h"
#include "tree.h"
#include "wire.h"

/* The state of an incoming message. Every change is to the next one. */
enum dlcp_rx_state {
	DLCP_RX_OPEN		= 0,	/* segments are accepted */
	DLCP_RX_COMPLETE	= 1,	/* none is; DONE is owed, and is answered
					 * by GETMAPs, or a DONE_ACK
					 */
	DLCP_RX_CONFIRMED	= 2,	/* nothing is owed to the peer */
};

struct dlcp_rxmsg {
	struct list_head	node;	/* conn->rx.open, rx_closed or rx_free */
	struct list_head	want_node;	/* conn->credit.want[]: would use more
						 * credit; a reader:
						 * rx_unadvertised
						 */
	struct list_head	ctrl_node;	/* conn->ctrl.rx */
	struct dlcp_tnode	old_node;	/* conn->rx.old, by id */
	struct dlcp_tnode	late_node;	/* conn->rx.deadlines */
	struct dlcp_tnode	vest_node;	/* conn->rx.vest_waiting, by the end of
						 * the silence
						 */
	struct dlcp_open	open;
	struct dlcp_segmap	map;	/* received, by segment index */
	u64	small;			/* its bits, if they are no more */
	struct dlcp_group *group;	/* whose budget it shares until it is
					 * complete; NULL: its own
					 */
	u64	id;
	struct rb_root cuts;	/* struct dlcp_cut: segments of which pieces
				 * are here
				 */
	u64	received;	/* bytes, each once */
	u64	held;		/* bytes of the segments in @cuts */
	u64	dup;		/* bytes received again */
	u64	consumed;	/* bytes the shell freed or copied out */
	u64	granted;	/* last CREDIT */
	u64	granted_sent;	/* the one the peer was told */
	u64	unsolicited;	/* its part of conn->credit.unsolicited */
	u64	out;		/* its part of conn->credit.out[] */
	u64	deadline;	/* ns; 0 = none */
	u64	start_time;
	u64	last;		/* ns: something new came, or the first word
				 * that all was sent, if nothing had come
				 */
	u64	done_time;
	u32	wait;		/* ns, with all_sent: silence after which it is
				 * complete, where nothing is reordered
				 */
	u32	nr_segs;
	u32	critical;	/* critical segments received */
	u32	given_up;	/* segments, by the latest OFFERs */
	u32	nr_missing;	/* when complete: segments, */
	u64	missing;	/* and bytes */
	u8	state;		/* enum dlcp_rx_state */
	u8	why;		/* enum dlcp_why, when something is missing */
	u8	below_bound;
	u8	late;		/* the deadline has passed */
	u8	all_sent;	/* all was sent once */
	u8	silence;	/* complete after one */
	u8	reader;		/* a reader waits for it: grant freely */
	u8	done_pending;	/* DONE to be sent (again) */
	u8	map_pending;	/* MAPs to be sent, from map_word on */
	u8	shell_done;	/* the shell has handed it to the user */
	u8	credit_pending;
	u8	refunded;	/* its allowance was given back to the peer */
	u8	out_kind;	/* index of conn->credit.out[] */
	u8	denied;		/* for want of memory, and nothing was taken since */
	u32	map_word;
};

static inline bool dlcp_rxmsg_complete(const struct dlcp_rxmsg *m)
{
	return m->state != DLCP_RX_OPEN;
}

/* Bytes of @mem that the map takes; 0: none, it is in the message */
size_t dlcp_rxmsg_mem(u32 nr_segs);
void dlcp_rxmsg_init(struct dlcp_rxmsg *m, u64 id, const struct dlcp_open *o,
		     void *mem, u64 now);
/* Record a segment. Return: 1 new, 0 duplicate, -EBADMSG (index or length
 * does not fit the message), -ESTALE (complete without it).
 */
int dlcp_rxmsg_segment(struct dlcp_rxmsg *m, u32 seg, u32 len, bool critical);
/* May @nr, at most 64, from @seg on be recorded at once? They are new, and of @len bytes
 * each but for the last, of @last. Record them.
 */
bool dlcp_rxmsg_run_fits(const struct dlcp_rxmsg *m, u32 seg, u32 nr, u32 len,
			 u32 last, bool critical);
void dlcp_rxmsg_run(struct dlcp_rxmsg *m, u32 seg, u32 nr, u32 last,
		    bool critical);
/* The sender will not send so many segments again */
void dlcp_rxmsg_offer(struct dlcp_rxmsg *m, u32 given_up);
/* Complete by the rules above?
 * Return: true if it is complete (now or before).
 */
bool dlcp_rxmsg_try_complete(struct dlcp_rxmsg *m, u64 now);
/* All was sent once, and what of it was not lost is here after a silence of @wait
 * ns; 0 tells nothing. The first word counts.
 */
void dlcp_rxmsg_all_sent(struct dlcp_rxmsg *m, u32 wait, u64 now);
/* Does it only take a silence for it to be complete? */
bool dlcp_rxmsg_may_vest(const struct dlcp_rxmsg *m);
/* There was one: complete it, if dlcp_rxmsg_may_vest() */
void dlcp_rxmsg_vest(struct dlcp_rxmsg *m, u64 now);
void dlcp_rxmsg_discard(struct dlcp_rxmsg *m, u64 now);
/* Next missing run at or after *seg. Return false if none. */
bool dlcp_rxmsg_next_missing(const struct dlcp_rxmsg *m, u32 *seg, u32 *count);

#endif
