/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Paths of a connection. Every path has its own packet numbers, so that loss
 * detection needs no order between paths, and its own RTT, loss and ECN
 * record. A path is an entropy value (UDP source port, flow label) and,
 * later, an address pair.
 */
#ifndef _DLCP_CORE_PATH_H
#define _DLCP_CORE_PATH_H

#include "env.h"
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

struct dlcp_sent {
	u64	time;		/* ns */
	u64	delivered;	/* conn->delivered when it left */
	u32	msg;		/* message number */
	u32	pos;		/* DATA: position; CTRL: DLCP_SW_* */
	u16	bytes;		/* as the congestion window counts it */
	u8	kind;
	u8	app_limited;
};

/* Packets sent on a path, a ring indexed by packet number */
struct dlcp_sent_ring {
	struct dlcp_sent *ring;	/* size entries, power of two; may be NULL */
	u32	size;
	u32	head;		/* next packet number to use */
	u32	tail;		/* all before are FREE and forgotten */
};

/* Bits of packet numbers received on a path, the newest 64 * 16 */
struct dlcp_recv_window {
	u64	words[DLCP_ACK_WORDS_MAX];	/* bit k of word 0: largest - k */
	u64	largest_time;	/* ns: when the largest came */
	u32	largest;
	u32	count;		/* packets received, each once */
	u32	ce;
	u32	unacked;	/* since the last ACK we sent */
	u8	any;		/* something was received */
	u8	ack_now;	/* a reason not to delay the ACK */
};

struct dlcp_path {
	struct dlcp_sent_ring	sent;
	struct dlcp_recv_window	recv;
	struct dlcp_rtt		rtt;
	u64	inflight;	/* bytes */
	u64	last_ack_time;	/* ns: an ACK acknowledged something new */
	u64	lost;		/* packets */
	u64	acked;		/* packets */
	u64	ce_seen;	/* packets the peer reported with CE */
	u32	largest_acked;
	u32	reorder;	/* packets: threshold, from 3, grows on spurious loss */
	u16	entropy;	/* UDP source port */
	u8	id;
	u8	any_acked;
	u8	peer_ce_valid;
	u32	peer_ce;	/* last CE count the peer reported */
};

/* Bits above @pn received earlier? Return: 1 new, 0 duplicate, -1 too old. */
int dlcp_recv_test(const struct dlcp_recv_window *w, u32 pn);
/* Record @pn; it must have been new */
void dlcp_recv_mark(struct dlcp_recv_window *w, u32 pn, bool ce, u64 now);
/* Fill an ACK frame with no more words than needed and at most @max_words */
void dlcp_recv_ack(const struct dlcp_path *p, u64 now, u32 max_words,
		   struct dlcp_f_ack *a);

#endif
