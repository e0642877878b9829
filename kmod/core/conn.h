/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine of one connection: packets, times and user wishes in; packets
 * to send, times to wake and events out. It owns no bytes, no clock, no lock:
 * the shell (the module, or a test) holds the payload, calls with one lock
 * held, in process or softirq context, and passes the time in ns. Nothing
 * here sleeps. Memory comes through ops->alloc, which must not sleep.
 *
 * How the shell uses it:
 *   arrival	dlcp_conn_rx_data() / dlcp_conn_rx_other(), then
 *		dlcp_conn_next() until it is idle
 *   user	dlcp_conn_send(), dlcp_conn_fill(), dlcp_conn_consume(), ...,
 *		then dlcp_conn_next() until it is idle
 *   timer	dlcp_conn_timer(), then dlcp_conn_next() until it is idle
 *   after each: dlcp_conn_take_events(), re-arm the timer to
 *		dlcp_conn_next_timer()
 */
#ifndef _DLCP_CORE_CONN_H
#define _DLCP_CORE_CONN_H

#include "env.h"
#include "cong.h"
#include "pace.h"
#include "path.h"
#include "rail.h"
#include "ring.h"
#include "rxmsg.h"
#include "pathsched.h"
#include "tree.h"
#include "txmsg.h"
#include "wire.h"

/* Messages a peer may have open beyond the lowest unfinished one, leaving out
 * those that were left behind: see tx_old, rx_old
 */
#define DLCP_MSG_WINDOW		8192
/* Most messages that can be left behind at each end */
#define DLCP_MSG_OLD_MAX	1024
/* Bytes of maps of incoming messages, beyond the first of them: a peer may
 * announce segments of a byte, and would have the memory of all others
 */
#define DLCP_RX_MAPS_MAX	(8U << 20)
/* Control packets are no larger: they get through where IPv6 does */
#define DLCP_CTRL_MAX		1232U
/* A message of at most this many segments carries its OPEN in its packets */
#define DLCP_INLINE_SEGS	16
/* OPEN is repeated after so many packets until acknowledged; of a message with a
 * bound
 */
#define DLCP_OPEN_REPEAT	64
#define DLCP_OPEN_REPEAT_BOUND	16

/* conn->events, which dlcp_conn_take_events() returns */
#define DLCP_EV_STATE		BIT(0)	/* conn->state changed */
#define DLCP_EV_TX_DONE		BIT(1)	/* see dlcp_conn_take_tx_done() */
#define DLCP_EV_TX_SPACE	BIT(2)	/* dlcp_txmsg_released() moved, or the
					 * message window opened
					 */
#define DLCP_EV_RX_OPEN		BIT(3)	/* a message was announced */
#define DLCP_EV_RX_DONE		BIT(4)	/* a message completed */
#define DLCP_EV_EOF		BIT(5)	/* peer closed, all its messages are
					 * complete
					 */
#define DLCP_EV_ERROR		BIT(6)	/* conn->error, state is CLOSED */
#define DLCP_EV_RX_FREE		BIT(7)	/* see dlcp_conn_take_rx_free() */
#define DLCP_EV_FLUSHED		BIT(8)	/* conn->flushed: after shutdown, all that
					 * was sent is settled
					 */
#define DLCP_EV_RX_QUIET	BIT(9)	/* what was granted does not come: see
					 * dlcp_conn_rx_starved()
					 */

#define DLCP_EV_MTU		BIT(10)	/* it was found that the path carries
					 * cfg.mtu and no more, whatever the
					 * route says
					 */
#define DLCP_EV_STALE		BIT(11)	/* the listener's cookie is worth nothing
					 * any more: see dlcp_conn_anew()
					 */

/* Counters; the shell mirrors them into the MIB and DLCP_INFO */
enum dlcp_cnt {
	DLCP_CNT_TX_PACKETS,	DLCP_CNT_TX_DATA,	DLCP_CNT_TX_CTRL,
	DLCP_CNT_TX_OFFERED,	DLCP_CNT_TX_SENT,	DLCP_CNT_TX_DELIVERED,
	DLCP_CNT_TX_FORGIVEN,	DLCP_CNT_TX_RESENT,	DLCP_CNT_TX_MSGS,
	DLCP_CNT_TX_MSGS_DONE,	DLCP_CNT_LOST,		DLCP_CNT_SPURIOUS,
	DLCP_CNT_CE,		DLCP_CNT_PROBES,	DLCP_CNT_OFFERS,
	DLCP_CNT_RX_PACKETS,	DLCP_CNT_RX_DATA,	DLCP_CNT_RX_CTRL,
	DLCP_CNT_RX_OFFERED,	DLCP_CNT_RX_DELIVERED,	DLCP_CNT_RX_FORGIVEN,
	DLCP_CNT_RX_DUP,	DLCP_CNT_RX_MSGS,	DLCP_CNT_RX_MSGS_DONE,
	DLCP_CNT_RX_STOPPED,	DLCP_CNT_RX_LATE,	DLCP_CNT_ACKS_SENT,
	DLCP_CNT_ACKS_RCVD,	DLCP_CNT_KEEPALIVES,	DLCP_CNT_MTU_DOWN,
	DLCP_CNT_MTU_HOLES,	DLCP_CNT_MTU_PROBES,	DLCP_CNT_TX_PIECES,
	DLCP_CNT_RX_PIECES,	DLCP_CNT_RATES_SENT,	DLCP_CNT_RATES_RCVD,
	DLCP_CNT_SENTS,		DLCP_CNT_RX_SILENCE,	DLCP_CNT_RX_OVERTAKEN,
	DLCP_CNT_REPATHS,	DLCP_CNT_ROOM_UPDATES,
	DLCP_CNT_MAX
};

/* Why a packet was not taken; the shell has a drop reason for each */
enum dlcp_verdict {
	DLCP_OK			= 0,	/* DATA: new segment, keep payload */
	DLCP_MORE,			/* DATA: new piece, the segment lacks others */
	DLCP_DUP,			/* known already */
	DLCP_DROP_MALFORMED,
	DLCP_DROP_STATE,		/* not in this state of the connection */
	DLCP_DROP_OLD,			/* packet number far behind */
	DLCP_DROP_UNOPENED,		/* DATA before its OPEN */
	DLCP_DROP_WINDOW,		/* beyond what we allowed */
	DLCP_DROP_NOMEM,		/* no memory, or ops->rx_open refused */
	DLCP_DROP_LATE,			/* message is complete without it */
	DLCP_DROP_MISMATCH,		/* does not fit the message's OPEN */
};

/* What may still come of a message and fill our memory counts as one of these */
enum dlcp_rx_kind {
	DLCP_RX_READ,		/* has a reader */
	DLCP_RX_WHOLE,		/* is complete, or was granted all of itself */
	DLCP_RX_PART,		/* was granted a part */
	DLCP_RX_UNASKED,	/* was granted nothing: within the allowance */
	DLCP_RX_KINDS
};

struct dlcp_conn;

struct dlcp_conn_ops {
	/* Zeroed memory, or NULL; charged to the socket by the shell */
	void *(*alloc)(struct dlcp_conn *c, size_t size);
	void (*free)(struct dlcp_conn *c, void *p, size_t size);
	/**
	 * @rx_open: a message was announced
	 *
	 * Return: the rxmsg, a part of a larger struct of the shell's, zeroed
	 * but for nothing; the engine initialises it, with map memory from
	 * @alloc. NULL refuses (DLCP_DROP_NOMEM; the peer will try again).
	 */
	struct dlcp_rxmsg *(*rx_open)(struct dlcp_conn *c,
				      const struct dlcp_open *o, u64 id);
	/**
	 * @cut: pieces of segment @seg of @m will come
	 *
	 * Return: memory for all of it, for dlcp_conn_rx_piece(), or NULL
	 */
	void *(*cut)(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg);
	/** @uncut: free what @cut returned; the segment will not be whole */
	void (*uncut)(struct dlcp_conn *c, void *kept);
	/**
	 * @egress: may a batch of data leave this host now, by this pair of
	 * addresses? Optional
	 *
	 * dlcp_conn_first() tells what it would be. @late: it was refused for
	 * so long that it goes in any case, and the shell forgets it.
	 *
	 * Return: 0: now; else the shell calls dlcp_conn_next() again when it
	 * may, and after so many ns it goes in any case.
	 */
	u64 (*egress)(struct dlcp_conn *c, u8 pair, bool late);
	/**
	 * @released: dlcp_txmsg_released() of @m has moved. Optional
	 *
	 * DLCP_EV_TX_SPACE comes, too: there the shell may act on it.
	 */
	void (*released)(struct dlcp_conn *c, struct dlcp_txmsg *m);
	/**
	 * @rail: the peer has announced c->rail.table[k].peer. Optional
	 *
	 * Return: whether packets can be sent there, as far as this host
	 * knows. The engine finds out whether it is the peer who gets them.
	 */
	bool (*rail)(struct dlcp_conn *c, u32 k);
	/**
	 * @moved: from now on packets go to @to. Needed by who calls
	 * dlcp_conn_elsewhere()
	 *
	 * Return: whether it is another address, not just another port.
	 */
	bool (*moved)(struct dlcp_conn *c, const struct dlcp_place *to);
};

struct dlcp_conn_cfg {
	const struct dlcp_conn_ops *ops;
	const struct dlcp_cong_ops *cong;
	const struct dlcp_pathsched_ops *pathsched;	/* NULL: the default */
	u64	local_tag;	/* random, unique here */
	u64	dead_ns;	/* without an answer until ETIMEDOUT, while this
				 * end was awake; not 0
				 */
	u64	keepalive_ns;	/* 0 = off */
	u64	ack_delay_ns;	/* longest delay of an ACK */
	u64	max_rate;	/* bytes per second, 0 = none */
	u64	unsolicited;	/* bytes the peer may send without a CREDIT, at
				 * first: see dlcp_conn_rx_came()
				 */
	u64	rx_space;	/* bytes we can buffer */
	u64	max_msg_len;
	u32	ack_packets;	/* ACK at least every so many */
	u32	mtu;		/* bytes for a whole DLCP packet: path MTU less
				 * IP and UDP headers
				 */
	u32	overhead;	/* IP, UDP and link headers, for pacing */
	u16	sport;
	u16	dport;
	/* DLCP_RAILS_MAX addresses of ours to be announced; NULL: none. Read
	 * by dlcp_conn_init() only.
	 */
	const struct dlcp_rail_own *rails;
	u8	nr_paths;
	u8	rail_family;	/* 4, 6 */
	bool	front;		/* the shell knows dlcp_out.front */
};

/* conn.c: set-up */
struct dlcp_conn_setup {
	u64	timer;		/* it is repeated */
	u64	sent;		/* the first INIT, or ECHO, left */
	u8	*cookie;	/* DLCP_COOKIE_LEN, in set-up; else NULL */
	u8	count;
	u8	pending:1;	/* client: INIT or ECHO to be sent */
	u8	ack_pending:1;	/* server: the answer to ECHO */
	u8	acked:1;	/* client: the peer's limits are known */
	u8	anew:1;		/* client: it has begun again */
};

/* conn_alive.c: is the peer there, and does it take what it is sent? */
struct dlcp_conn_alive {
	u64	looked;		/* the engine last looked at the clock */
	u64	woke;		/* and found that it had stood still */
	u64	awake;		/* the time that counts: dlcp_conn_awake() */
	u64	silent_since;	/* awake: the peer owes an answer, or gave one */
	/* The peer answers, and takes none of the data, or none of some messages */
	u64	stall_until;	/* nothing is sent of these before */
	u64	stall_since;	/* awake: the first round of which nothing was taken
				 * began, or the peer told why
				 */
	u64	stall_mark;	/* what left before is of an earlier round */
	u8	stall_rounds;	/* in a row of which nothing was taken, of any message */
	u8	stall_tries;	/* since one that was refused was taken */
	u8	answered;	/* the peer answered since silent_since was set */
	u8	pto_nth;	/* probe timeouts in a row, of one path */
	u8	persist_count;	/* probes in a row of a peer that gives no credit */
	u8	resolve_count;	/* questions in a row of what became of messages */
};

/* conn_pmtu.c: the largest packet that arrives */
struct dlcp_conn_mtu {
	u64	again;		/* larger packets may arrive again */
	u64	mark;		/* the last round of large packets lost */
	u16	route;		/* what the shell knows; cfg.mtu may be less */
	u16	cap;		/* more does not arrive; 0 = no such finding */
	u16	flight;		/* part of inflight: a packet of padding */
	u8	rounds;		/* in which large packets were lost, only */
	u8	lost:6;		/* probes of the size that is tried */
	u8	due:1;		/* one is to be sent */
	u8	works:1;	/* packets of the size cap arrive */
};

/* conn_place.c: where the peer is, and from which ports it is sent to */
struct dlcp_conn_place {
	struct dlcp_move *move;	/* NULL: the peer is where it was */
	u64	stay;		/* until then it does not move */
	u64	asked;		/* the last question from another port */
	u8	ports;		/* enum conn_ports */
	u8	nr_ports;	/* so many were asked from */
	u8	elsewhere;	/* it was seen at another place: the shell's,
				 * who sets it to 0
				 */
};

/* conn_rail.c: pairs of addresses */
struct dlcp_conn_rail {
	struct dlcp_rail *table;	/* DLCP_RAILS_MAX; NULL: none of ours */
	u8	nr_pairs;	/* in use */
	u8	rx_pair;	/* the last packet came by this one */
	u8	pending:1;	/* ours are to be announced */
	u8	known:1;	/* the peer has announced its own */
};

/* conn_msg.c: outgoing messages */
struct dlcp_conn_tx {
	struct list_head active;	/* in id order */
	struct list_head done;	/* for the shell to report and free */
	struct list_head sent;	/* all was sent once, the peer may not know it; in
				 * the order of sent_at
				 */
	struct list_head resolve;	/* wait for a DONE or a MAP, in the order in
					 * which it was asked for
					 */
	struct dlcp_txmsg **table;	/* by id % size; see conn_int.h */
	u64	due;		/* DONE_ACKs of finished messages to be sent, by
				 * id % size; behind table if that is more than 64
				 */
	u64	tombstone_low;	/* none of these is below */
	struct dlcp_groups *groups;	/* NULL: none had one yet */
	u64	next_id;
	u64	low_id;		/* lowest not done, but for those in */
	struct rb_root old;	/* struct conn_old, by id */
	struct list_head old_due;	/* of these, with a DONE_ACK to be sent */
	u64	max_id;		/* peer's limit, exclusive */
	u32	size;		/* power of two, grows up to DLCP_MSG_WINDOW */
	u16	tombstones;	/* in due */
	u16	nr_old;		/* on old */
};

/* msgsched.c: outgoing messages with something to send */
struct dlcp_conn_sched {
	struct dlcp_ring ready[DLCP_PRIO_MAX + 1];	/* can send now */
	/* lack credit: the allowance does for those of a class, and not for the
	 * last
	 */
	struct dlcp_ring wait[DLCP_PRIO_MAX + 2];
	struct dlcp_ring refused;	/* could, and is not taken */
	struct list_head unopened;	/* of these, some the peer does not know */
	u32	nr_ready;	/* on ready[] */
	u32	nr_wait;	/* on wait[] */
	u64	unsolicited_sent;
	u64	unsolicited_max;	/* peer's limit */
	u64	promised;	/* of it, to those on ready that have not begun */
	u32	unsolicited_msg;	/* most that one message may take of
					 * unsolicited_max,
					 */
	u8	doubled;	/* to be doubled so often */
	u8	wakes;		/* messages that had to wait for the allowance */
	u8	wake_due:1;	/* one that was ready waits: others may be ready */
	u8	opens_ahead:1;	/* look who can be announced */
};

/* conn_tx.c: what leaves, and when */
struct dlcp_conn_send {
	u64	batch;		/* number of batches sent */
	u64	retry;		/* ns: look again for memory; 0 = off */
	u64	egress;		/* ns: ops->egress refused; it goes in any case */
	u64	last_data;	/* ns */
	u64	last_opens;	/* ns: messages without credit were announced */
	u64	granted_time;	/* ns: the peer's last RATE */
	u32	since_ack_now;	/* bytes, at most as many as fit */
	u8	pace_late;	/* that much later than the clock said, see
				 * conn_tx.c, and not yet made up for
				 */
	u8	pace_wait:1;	/* something waits for the pacing clock */
	u8	no_memory:1;	/* something could not be sent for want of it */
	u8	app_limited:1;	/* the window is not full */
};

/* conn_rxmsg.c: incoming messages */
struct dlcp_conn_rx {
	struct list_head open;
	struct list_head closed;	/* complete; DONE not yet confirmed, or not
					 * handed to the user
					 */
	struct list_head free;	/* for the shell to free: the engine and the shell
				 * (shell_done) are both done
				 */
	struct rb_root deadlines;	/* incomplete messages, by deadline */
	u64	deadline;	/* ns: the earliest; 0 = none */
	struct rb_root vest_waiting;	/* that only a silence keeps from being complete,
					 * by the end of it
					 */
	u64	vest_timer;	/* ns: the earliest end */
	struct dlcp_unopened *unopened;	/* the newest first */
	struct dlcp_groups *groups;
	struct dlcp_rxmsg **table;	/* by id % size */
	u64	*done_bits;	/* complete with nothing owed, by id */
	u64	low_id;		/* all below are complete and forgotten, but for
				 * those in
				 */
	struct rb_root old;	/* unfinished, and far behind the others, by id */
	u64	end_id;		/* all ids seen are below */
	u64	fin_id;		/* with fin_rcvd: number of messages in all */
	u64	complete;	/* messages */
	u64	maps;		/* bytes of the maps of all messages */
	u32	size;		/* power of two, grows up to DLCP_MSG_WINDOW */
	u32	unread;		/* complete, and not handed to the user */
	u16	nr_old;		/* on old */
	u8	nr_unopened;	/* on unopened */
	u8	nr_paths;	/* those that the peer has used are below */
	u8	vest_shift;	/* silences are longer by so many doublings */
	u8	vest_calm;	/* messages in a row that were complete after one, and
				 * nothing came behind them
				 */
};

/* conn_credit.c: what the peer may send */
struct dlcp_conn_credit {
	/* without a reader, by class; the last: too long to be complete before
	 * it is read
	 */
	struct list_head want[DLCP_PRIO_MAX + 2];
	struct list_head unadvertised;	/* readers', their credit not told */
	u64	unsolicited;	/* held by messages that have no credit */
	u64	unsolicited_max;	/* limit of the peer, and the */
	u64	unsolicited_advertised;	/* one it was told, */
	u64	unsolicited_acked;	/* and one that went with an ACK */
	u64	max_id_advertised;
	u64	buffered;	/* bytes accepted and not consumed */
	u64	out[DLCP_RX_KINDS];	/* granted or accepted, not consumed */
	u64	rate;		/* bytes per second we grant; 0 = any */
	u64	rate_advertised;
	u32	bad;		/* packets marked, or missing before others, */
	u32	queued;		/* or whose sender sees a queue, since the last
				 * dlcp_conn_grant()
				 */
	u32	denied_msg;	/* with denied: what was refused last is of it */
	u8	doubled;	/* as the allowance that the peer has */
	u8	quiet;		/* probes of the peer in a row with nothing new
				 * between them
				 */
	u8	dirty:1;	/* look who can be given credit */
	u8	all:1;		/* tell every change, however small */
	u8	rate_used:1;	/* it was told one */
	u8	denied:1;	/* for want of memory; the peer may be waiting */
};

/* conn_ctrl.c: what is to be told */
struct dlcp_conn_ctrl {
	struct list_head tx;	/* outgoing messages that have frames to send */
	struct list_head rx;	/* incoming ones */
	u64	ack;		/* ns: delayed ACK; 0 = off */
	u64	answer;		/* token to be said back */
	u32	again[4];	/* ids: OFFERs for messages long complete */
	u32	out;		/* control packets neither acknowledged nor lost */
	u8	nr_again;
	u8	rate_due:1;	/* the peer is to be told credit.rate now */
	u8	answer_pending:1;
	u8	answer_home:1;	/* what tells next goes from the well-known port */
	u8	open_lost:1;	/* of what is held most lately: the peer is to be told */
	u8	window_pending:1;
	u8	close_pending:1;
	u8	ping_pending:1;
	u8	room_pending:1;	/* the peer is to be told of room for credit.denied_msg */
};

struct dlcp_conn {
	struct dlcp_conn_cfg cfg;
	u8	state;		/* enum dlcp_state */
	u8	version;
	u8	reset_code;	/* RESET to be sent, then gone */
	u8	is_client:1;
	u8	fin_sent:1;	/* CLOSE queued: no more dlcp_conn_send() */
	u8	fin_acked:1;
	u8	flushed:1;	/* fin_acked, and no message is under way */
	u8	fin_rcvd:1;
	u8	eof:1;
	u8	unanswered:1;	/* it failed without a word of the peer's */
	int	error;		/* positive errno */
	const char *error_text;	/* constant string, or NULL */
	u32	events;
	int	soft_error;

	u64	peer_tag;

	struct dlcp_path *paths;	/* cfg.nr_paths of ours */
	union {
		struct dlcp_path path0;	/* if it is just one */
		struct dlcp_rtt net;	/* else: of all of them together, for
					 * the controller
					 */
	};
	struct dlcp_recv_window *recv0;	/* of the peer's first path; NULL until
					 * used
					 */
	struct dlcp_recv_window **recv;	/* of its other DLCP_PATHS_MAX - 1,
					 * likewise; see conn_recv_window()
					 */
	struct dlcp_cong cong;
	struct dlcp_pace pace;
	struct dlcp_conn_setup setup;
	struct dlcp_conn_alive alive;
	struct dlcp_conn_mtu mtu;
	struct dlcp_conn_place place;
	struct dlcp_conn_rail rail;
	struct dlcp_conn_tx tx;
	struct dlcp_conn_sched sched;
	struct dlcp_conn_send send;
	struct dlcp_conn_rx rx;
	struct dlcp_conn_credit credit;
	struct dlcp_conn_ctrl ctrl;
	u64	inflight;
	u64	delivered;	/* bytes acknowledged in all */

	/* ns; 0 = off */
	u64	t_linger;	/* CLOSING: state kept for a late CLOSE */
	u64	last_rcvd;	/* last packet of the peer */
	u64	last_sent;	/* something to be acknowledged */

	u64	cnt[DLCP_CNT_MAX];
};

/* What dlcp_conn_next() wants sent */
enum dlcp_out_kind {
	DLCP_OUT_IDLE	= 0,	/* nothing now; dlcp_conn_next_timer() */
	DLCP_OUT_CTRL	= 1,	/* buf holds a whole packet of len bytes */
	DLCP_OUT_DATA	= 2,	/* segments of a message */
};

struct dlcp_out {
	u8	kind;
	u8	path;
	u8	pair;		/* of addresses: see rail.h */
	u8	cls;		/* for DSCP, ECN and skb->priority; CTRL: 0xff */
	u8	flags;		/* DATA: DLCP_F_* of every packet */
	u8	last_flags;	/* DATA: those that only the last one has, too:
				 * DLCP_F_ACK_NOW, DLCP_F_SENT
				 */
	u8	to;		/* enum dlcp_to */
	u16	port;		/* UDP source port; 0: the well-known one */
	u16	len;		/* CTRL. DATA: if not 0, it is not a segment but a
				 * piece of the one at pos, of so many bytes
				 */
	u16	off;		/* DATA: where in the segment that piece begins */
	u16	pad;		/* CTRL: so many of len are zeros, not in buf */
	u16	front;		/* DATA: buf holds a CTRL packet of so many bytes that
				 * goes in front of it, in the same datagram
				 */
	/* DATA: positions pos .. pos + count - 1 of m, packet numbers from pn
	 * on; all full segments, but the last may be shorter. CTRL: count is 1
	 * if packet number pn waits for an acknowledgment, else 0.
	 */
	struct dlcp_txmsg *m;
	u32	pos;
	u32	count;
	u32	pn;
	u8	first;		/* first transmission of all of them */
	/* With DLCP_F_OPEN in flags: the block to write. It differs from
	 * m->open by what is left of the deadline.
	 */
	struct dlcp_open open;
};

/**
 * dlcp_conn_init() - a connection that is not set up yet
 * @c: filled in; goes by dlcp_conn_destroy(), also after an error
 * @cfg: copied, but for what it points to
 * @now: ns
 *
 * Return: 0, -ENOMEM
 */
int dlcp_conn_init(struct dlcp_conn *c, const struct dlcp_conn_cfg *cfg,
		   u64 now);
/* Free everything, but for messages that are still there: dlcp_conn_take_tx_done() has
 * the outgoing ones (with conn->error), dlcp_conn_take_rx_free() the others.
 */
void dlcp_conn_destroy(struct dlcp_conn *c);

/* Client: start the set-up */
void dlcp_conn_connect(struct dlcp_conn *c, u64 now);
/**
 * dlcp_conn_anew() - the set-up begins again
 * @c: a client, after DLCP_EV_STALE
 * @tag: as dlcp_conn_cfg.local_tag
 *
 * Its ECHO may have made a connection, and all answers got lost. Packets of that one
 * have the tag before, and must not be taken for those of the next.
 */
void dlcp_conn_anew(struct dlcp_conn *c, u64 tag);
/* Server: @c is established by an ECHO whose cookie is valid */
void dlcp_conn_accept(struct dlcp_conn *c, const struct dlcp_setup *echo,
		      u64 now);
/* Server: the cookie of that ECHO was made @age ns ago (dlcp_cookie_age()) */
void dlcp_conn_setup_took(struct dlcp_conn *c, u64 age);

/* In what the shell keeps of data before its OPEN: see dlcp_conn_unopened_keep() */
struct dlcp_unopened {
	struct dlcp_unopened *next;
	u32	msg;
	u32	nr;		/* packets of it, with those held just before */
};

/* What the shell knows of a packet beside its bytes */
struct dlcp_arrival {
	u64	now;	/* ns: it is handled now */
	u64	wire;	/* ns: it reached this host, never after @now. What lies
			 * between is this host's time and not the network's.
			 */
	bool	ce;	/* IP had congestion experienced */
	u8	pair;	/* of addresses it came by; 0 also if it is none */
	bool	elsewhere;	/* it says HERE, and not where the peer is */
};

/* A packet that is not DATA, of @len bytes at @pkt; the header @h was parsed */
enum dlcp_verdict dlcp_conn_rx_other(struct dlcp_conn *c,
				     const struct dlcp_hdr *h, const u8 *pkt,
				     u32 len, const struct dlcp_arrival *a);
/**
 * dlcp_conn_rx_data() - a packet of DATA
 * @c: the connection
 * @h: its header; the tag matched
 * @d: what follows
 * @a: how it came
 * @m: its message, or NULL
 * @kept: of a segment that comes in pieces what ops->cut returned for it; else NULL
 *
 * With DLCP_OK the shell must keep the d->len bytes of payload for offset d->seg *
 * seg_size until dlcp_conn_consume(). With @kept, and DLCP_MORE or DLCP_OK, it copies
 * them to d->off of @kept. With DLCP_OK the segment is whole then: @kept is the
 * shell's, who keeps it as a segment that came in one packet. Completion is seen in
 * events after each.
 *
 * Return: what became of it
 */
enum dlcp_verdict dlcp_conn_rx_data(struct dlcp_conn *c,
				    const struct dlcp_hdr *h,
				    const struct dlcp_data *d,
				    const struct dlcp_arrival *a,
				    struct dlcp_rxmsg **m, void **kept);
/**
 * dlcp_conn_rx_run() - dlcp_conn_rx_data() of several packets at once
 * @c: the connection
 * @h: the header of the first, of flags that all have, without PIECE
 * @d: what follows; each of the others has the next packet number, the next segment,
 *	the same open block if any, and, but for the last, the same length
 * @a: how all came
 * @nr: packets, at most 64
 * @last: bytes of payload of the last one
 * @m: their message
 *
 * For what is the rule: all of them are new, the newest of their path, and allowed, and
 * their message is known, or they open it.
 *
 * Return: they were taken; false: nothing has changed, but that their message may be
 * open, and each is to be given to dlcp_conn_rx_data()
 */
bool dlcp_conn_rx_run(struct dlcp_conn *c, const struct dlcp_hdr *h,
		      const struct dlcp_data *d, const struct dlcp_arrival *a,
		      u32 nr, u32 last, struct dlcp_rxmsg **m);
/**
 * dlcp_conn_unopened_keep() - may data before its OPEN (DLCP_DROP_UNOPENED) be kept?
 * @c: the connection
 * @held: the packet, or a batch of them: what dlcp_conn_rx_data() said of the first
 * @msg: its message, as DATA numbers it
 * @nr: packets
 * @used: bytes that data takes of the shell's buffer, with it
 * @space: bytes of that buffer
 *
 * Return: it is held, and the shell keeps it until it gets @held back; false: too
 * much is held already
 */
bool dlcp_conn_unopened_keep(struct dlcp_conn *c, struct dlcp_unopened *held,
			     u32 msg, u32 nr, u64 used, u64 space);
/* After DLCP_EV_RX_OPEN: what is held of messages that are open now, the oldest
 * first. Each is to be given to dlcp_conn_rx_data() again.
 */
struct dlcp_unopened *dlcp_conn_unopened_take(struct dlcp_conn *c);
/* For a shell that is short of memory, or has done with @c: one that is held, for it
 * to drop; NULL: none is
 */
struct dlcp_unopened *dlcp_conn_unopened_any(struct dlcp_conn *c);
/* So much came since the last ACK that another one is to be sent before more
 * comes: one frame of an ACK could not name all of it
 */
bool dlcp_conn_ack_full(const struct dlcp_conn *c);
/* When dlcp_conn_next() is to be asked, after DATA that was taken, or messages that
 * were read, and nothing else since it was idle; 0: at once. Never later than
 * dlcp_conn_next_timer() was before: only what these may bring nearer is looked at.
 */
u64 dlcp_conn_rx_due(struct dlcp_conn *c);
/* Message @msg, as DATA numbers it; NULL: it is not open, or over */
struct dlcp_rxmsg *dlcp_conn_rx_find(struct dlcp_conn *c, u32 msg);
/* The shell had no memory for @nr packets of data that came on @path, the first one of
 * message @msg. The peer is told of them as of packets the network marked: else it would
 * take them for what a link loses by itself, and send no less.
 */
void dlcp_conn_rx_refused(struct dlcp_conn *c, u8 path, u32 msg, u32 nr);
/* Was something refused for want of memory, by shell or engine, of which the peer waits
 * to hear?
 */
static inline bool dlcp_conn_rx_denied(const struct dlcp_conn *c)
{
	return c->credit.denied;
}

/* There is room again: the peer is told, once for each time that it was refused. Who has
 * a reader, and takes away what is here, needs no call.
 */
void dlcp_conn_rx_room(struct dlcp_conn *c);
/* ICMP said the peer, port or route is gone (@err a positive errno): fails a
 * set-up, is only remembered by an open connection (soft error).
 */
void dlcp_conn_soft_error(struct dlcp_conn *c, int err);
/* The route has another MTU. @mtu: as dlcp_conn_cfg.mtu */
void dlcp_conn_set_mtu(struct dlcp_conn *c, u32 mtu, u64 now);

/* May packets of a stranger's be expected from there, and ours be sent? */
bool dlcp_conn_pair_works(const struct dlcp_conn *c, u8 pair);

/* User: segment of a message of @length, for elements of @elem_size with the present
 * MTU; @loss_ppm: its own bound, 0: it shares a group's
 */
u32 dlcp_conn_seg_size(const struct dlcp_conn *c, u32 elem_size, u64 length,
		       u32 loss_ppm);
/* May another message be started? (window of message numbers) */
bool dlcp_conn_may_send(const struct dlcp_conn *c);
/* Queue an initialised message; it gets its id */
void dlcp_conn_send(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* Bytes of positions below @filled are there */
void dlcp_conn_fill(struct dlcp_conn *c, struct dlcp_txmsg *m, u32 filled);
/* A reader waits for @m with room for all of it / no longer does */
void dlcp_conn_reader(struct dlcp_conn *c, struct dlcp_rxmsg *m, bool there);
/* @bytes of @m were copied out or thrown away */
void dlcp_conn_consume(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 bytes);
/* The message was handed to the user, all its bytes are consumed */
void dlcp_conn_rx_done(struct dlcp_conn *c, struct dlcp_rxmsg *m);
/* Bytes that messages nobody reads may hold, but for the allowance: none that is
 * longer can be complete before it is read
 */
static inline u64 dlcp_conn_unread_space(const struct dlcp_conn *c)
{
	return c->cfg.rx_space / 2;
}

/* Bytes that may come without a CREDIT */
static inline u64 dlcp_conn_unsolicited(const struct dlcp_conn *c)
{
	return c->cfg.unsolicited << c->credit.doubled;
}

/* So many bytes came in a round trip, and there is memory */
void dlcp_conn_rx_came(struct dlcp_conn *c, u64 bytes);

/* DLCP_EV_* since the last call */
static inline u32 dlcp_conn_take_events(struct dlcp_conn *c)
{
	u32 ev = c->events;

	c->events = 0;
	return ev;
}

/* What users may change at any time: ns until a peer that owes an answer is dead, ns
 * of silence after which it is asked (0: never), bytes that messages may take
 */
static inline void dlcp_conn_set_dead(struct dlcp_conn *c, u64 ns)
{
	c->cfg.dead_ns = ns;
}

static inline void dlcp_conn_set_keepalive(struct dlcp_conn *c, u64 ns)
{
	c->cfg.keepalive_ns = ns;
}

static inline void dlcp_conn_set_rx_space(struct dlcp_conn *c, u64 bytes)
{
	c->cfg.rx_space = bytes;
}

/* The message that gets no room as long as nobody reads it, or NULL: readers that
 * left others hold too much; or nothing is complete, and others were given the room
 * and make no use of it. That may happen with DLCP_EV_RX_QUIET, and when a reader
 * leaves or is done.
 */
struct dlcp_rxmsg *dlcp_conn_rx_starved(const struct dlcp_conn *c);
/* The peer may send nothing more of @m, as far as it was told: only who takes what is
 * here makes room for the rest
 */
bool dlcp_conn_rx_dry(const struct dlcp_conn *c, const struct dlcp_rxmsg *m);
/* Since the last call a packet came that says it was sent from where its sender
 * receives, and from another place than the peer's: see dlcp_conn_elsewhere()
 */
static inline bool dlcp_conn_take_elsewhere(struct dlcp_conn *c)
{
	bool elsewhere = c->place.elsewhere;

	c->place.elsewhere = 0;
	return elsewhere;
}

/* Such a packet came from @to. @tokens: two random ones. */
void dlcp_conn_elsewhere(struct dlcp_conn *c, const struct dlcp_place *to,
			 const u64 *tokens, u64 now);
/* The peer shall send no faster than @rate, bytes per second; 0 = no limit.
 * Every ACK repeats it. What the rate was worked out from is counted anew.
 */
void dlcp_conn_grant(struct dlcp_conn *c, u64 rate);
/* The reader does not want @m: it is complete, and its sender stopped. One that was
 * complete before stays as it is.
 */
void dlcp_conn_discard(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now);
/* shutdown(SHUT_WR): CLOSE after what was queued */
void dlcp_conn_shutdown(struct dlcp_conn *c, u64 now);
/* RESET to the peer, state CLOSED with @err. @text: NULL where no program can
 * ask for it any more
 */
void dlcp_conn_abort(struct dlcp_conn *c, int err, const char *text);

/* What to send now; of DLCP_OUT_IDLE only the kind is set. @buf: room for a CTRL
 * packet; its length is at most min(buf_len, cfg.mtu). @max_segs: most segments of
 * one batch of first transmissions (GSO limit); segments sent again go one by one.
 * What is returned counts as sent: packet numbers, window and pacing are charged.
 */
void dlcp_conn_next(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
		    u32 buf_len, u32 max_segs, u64 now);
/* It would find nothing to do: it need not be called. This costs far less */
bool dlcp_conn_idle(struct dlcp_conn *c, u64 now);
/* As dlcp_conn_next(), where dlcp_conn_idle() was just said to be false */
void dlcp_conn_next_due(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			u32 buf_len, u32 max_segs, u64 now);
/**
 * dlcp_conn_tx_refused() - packets did not leave the host
 * @c: the connection
 * @path: theirs, as dlcp_conn_next() said
 * @pn: number of the first
 * @nr: how many; what is no longer in flight is left alone
 * @now: ns
 *
 * What they carried is sent again. Nothing was lost in the network: neither the
 * controller nor a loss bound is charged.
 */
void dlcp_conn_tx_refused(struct dlcp_conn *c, u8 path, u32 pn, u32 nr,
			  u64 now);
/* The most urgent message that could send: its class, and the bytes it has to
 * go; false: there is none
 */
bool dlcp_conn_first(const struct dlcp_conn *c, u8 *prio, u64 *left);
/* Time at which dlcp_conn_timer() is due, ns; U64_MAX = never. Includes the
 * pacing clock when there is something to send.
 */
u64 dlcp_conn_next_timer(const struct dlcp_conn *c);
/* Do what is due at @now, which may be nothing */
void dlcp_conn_timer(struct dlcp_conn *c, u64 now);

#endif
