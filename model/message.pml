/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One message, from its OPEN to its report: kmod/core/txmsg.c, rxmsg.c,
 * conn_msg.c, conn_rxmsg.c, and what conn_loss.c does with lost packets.
 * README.md says which inline stands for which function.
 *
 * The network is a set of packets. It delivers them in any order, drops DROPS
 * of them and delivers DUPS twice, the second time whenever it likes; SPURIOUS
 * times a packet that is only late is taken for lost. With these spent the
 * network is kind, so whatever still hangs or goes round in circles is the
 * protocol's fault: an end state that is not FINISHED is a deadlock, a cycle is
 * a livelock.
 *
 * BREAK_* takes one rule away; spin must then find an error.
 */
#ifndef DROPS
#define DROPS		2
#endif
#ifndef DUPS
#define DUPS		1
#endif
#ifndef SPURIOUS
#define SPURIOUS	1
#endif

/* Segments, by position; the first is critical. p is 1/2 or 0. */
#define N		3
#define ALL		7
#define CRITICAL	1
#define HALF		1	/* floor(p * N) */
#define B(i)		(1 << (i))
#define CNT(m)		(((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1))
/* A word of the map holds at most two segments here */
#define WORDS		2
#define WORD(w)		(3 << (2 * (w)))
#define FROM_WORD(w)	(ALL & (ALL << (2 * (w))))

mtype = { SENDING, RESOLVING, DONE };
mtype = { PLAIN, EARLY, SOFT, HARD, DISCARD };

/* Control packets. MAP_nm: m words from word n on. */
#define P_OPEN		B(0)
#define P_OFFER		B(1)	/* one segment is given up: no more may be */
#define P_OFFER_OPEN	B(2)	/* OFFER and OPEN in one */
#define P_GETMAP0	B(3)
#define P_GETMAP1	B(4)
#define P_DONE_ACK	B(5)
#define P_PING		B(6)
#define P_DONE		B(7)
#define P_DONE_NONE	B(8)	/* of a message that is forgotten */
#define P_MAP_01	B(9)
#define P_MAP_02	B(10)
#define P_MAP_11	B(11)
#define P_SENT		B(12)	/* all was sent once */
#define P_OFFERS	(P_OFFER | P_OFFER_OPEN)
#define P_GETMAPS	(P_GETMAP0 | P_GETMAP1)
#define P_MAPS		(P_MAP_01 | P_MAP_02 | P_MAP_11)
#define P_TO_RECEIVER	(P_OPEN | P_OFFERS | P_GETMAPS | P_DONE_ACK | P_PING | \
			 P_SENT)

/* the network: what is under way */
short ctl;
byte data;		/* DATA, by segment */
byte acks;		/* acknowledgements, by segment */
byte drops = DROPS, dups = DUPS, spurious = SPURIOUS;

/* what is agreed when the message is made */
mtype mode;
byte bound;
bool inl;		/* every DATA carries the open block */

/* the sender */
mtype tx = SENDING;
byte acked, lost, forgiven, inflight;
byte next;		/* position */
byte late_loss;		/* something that went later was acknowledged */
bool open_acked, opened, offered;
bool sent;		/* SENT went out: OFFERs are held back */
bool offer_out, getmap_out, open_out, done_ack_out;	/* not acknowledged */
byte nr_missing, map_next, report;

/* the receiver */
bool known, complete, gone, late;
bool offered_to;	/* an OFFER came */
bool told;		/* all was sent once */
bool done_out;
byte map, missing;

/* A timer is longer than what still is under way; and what is lost of control
 * packets is found out no later than lost data
 */
#define OPEN_LOST	(open_out && !(ctl & (P_OPEN | P_OFFER_OPEN)))
#define OFFER_LOST	(offer_out && !(ctl & P_OFFERS))
#define GETMAP_LOST	(getmap_out && !(ctl & P_GETMAPS))
#define DONE_ACK_LOST	(done_ack_out && !(ctl & P_DONE_ACK))
#define DONE_LOST	(done_out && !(ctl & P_DONE))
#define QUIET		(!data && !acks && !ctl && !OPEN_LOST && !DONE_LOST)
#define FINISHED	(tx == DONE && gone && !open_out && !done_ack_out && \
			 !offer_out && !getmap_out && !done_out)

inline put(p)
{
	ctl = ctl | (p)
}

/* It arrives. It may come once more, any time later. */
inline take(set, p)
{
	if
	:: set = set & ~(p)
	:: dups > 0 -> dups--
	fi
}

/* A packet that asks to be acknowledged got there; the ACK may get lost, too */
inline confirm(out)
{
	if
	:: out = false
	:: drops > 0 -> drops--
	fi
}

/* ----- the sender ----- */

/* dlcp_budget_may_forgive(), in segments: vesting */
#define MAY_FORGIVE(s)							\
	(bound && !(B(s) & CRITICAL) &&					\
	 2 * (CNT(forgiven) + 1) <= CNT(acked) + CNT(forgiven) + 1)

/* dlcp_conn_tx_ask(): the peer waits for what is still to come by itself */
inline send_offer()
{
	assert(CNT(forgiven) <= bound);
	offered = true;
	offer_out = true;
	if
	:: open_acked -> put(P_OFFER)
	:: else -> open_out = true; put(P_OFFER_OPEN)
	fi
}

inline send_getmap()
{
	getmap_out = true;
	if
	:: map_next == 0 -> put(P_GETMAP0)
	:: else -> put(P_GETMAP1)
	fi
}

/* dlcp_txmsg_should_offer() */
#define SHOULD_OFFER	(tx == SENDING && next == N && forgiven && !offered)

/* conn_batch_commit() */
inline send_data(s)
{
	assert(!(forgiven & B(s)));		/* no waste */
	data = data | B(s);
	lost = lost & ~B(s);
	inflight = inflight | B(s);
	late_loss = late_loss & ~B(s);
	if
	:: SHOULD_OFFER -> send_offer()
	:: else
	fi
}

/* conn_tx_finish() */
inline tx_finish(set)
{
	report = set;
	tx = DONE;
	lost = 0; forgiven = 0; acked = 0; late_loss = 0;
	inflight = 0; map_next = 0;
	offer_out = false;
	getmap_out = false;
	assert(complete);			/* no false completion */
	assert(report == missing);		/* agreement */
	if
	:: nr_missing > 0 -> done_ack_out = true; put(P_DONE_ACK)
	:: else
	fi
}

/* dlcp_txmsg_try_resolve() and dlcp_conn_tx_check() */
inline tx_check()
{
	if
	:: tx == SENDING && acked == ALL ->
		nr_missing = 0;
		tx_finish(0)
#ifdef BREAK_COMPLETION
	:: tx == SENDING && acked != ALL && (acked | forgiven) == ALL ->
		nr_missing = 0;
		tx_finish(0)
#endif
	:: tx == RESOLVING && CNT(lost) <= nr_missing ->
		tx_finish(lost)
#ifdef BREAK_AGREEMENT_MAP
	:: tx == RESOLVING && CNT(lost) > nr_missing ->
		tx_finish(lost)
#endif
	:: tx == RESOLVING && CNT(lost) > nr_missing ->
		/* words that hold nothing unknown need not be fetched */
		if
		:: map_next == 0 && !(lost & WORD(0)) -> map_next = 1
		:: else
		fi;
		if
		:: map_next >= WORDS || !(lost & FROM_WORD(map_next)) ->
			tx_finish(lost)
		:: else
		fi
	:: acked != ALL && SHOULD_OFFER && !sent ->
		send_offer()
	:: else
	fi
}

/* conn_data_acked(): of this transmission, or of an earlier one */
inline on_ack(s)
{
	take(acks, B(s));
	if
	:: inflight = inflight & ~B(s)
	:: (inflight & B(s)) && (spurious < SPURIOUS)
	fi;
	late_loss = late_loss | (inflight & (B(s) - 1));
	open_acked = true;
	if
	:: tx != DONE ->
		acked = acked | B(s);
		forgiven = forgiven & ~B(s);
		lost = lost & ~B(s);
		tx_check()
	:: else
	fi
}

/* conn_lost() and dlcp_txmsg_lost() */
inline on_lost(s)
{
	inflight = inflight & ~B(s);
	late_loss = late_loss & ~B(s);
	if
	:: tx == SENDING && !((acked | forgiven) & B(s)) ->
		if
		:: MAY_FORGIVE(s) -> forgiven = forgiven | B(s)
		:: else -> lost = lost | B(s)
		fi
	:: else
	fi;
	tx_check()
}

/* dlcp_txmsg_next_resend() */
inline resend(s)
{
	if
	:: MAY_FORGIVE(s) ->
#ifndef BREAK_WASTE
		lost = lost & ~B(s);
#endif
		forgiven = forgiven | B(s);
		tx_check()
	:: else ->
		send_data(s)
	fi
}

/* conn_on_done() and dlcp_txmsg_on_done() */
inline on_done(nr)
{
	if
	:: tx == SENDING ->
		/* so that refusing other numbers refuses no honest peer */
		assert(nr <= N - CNT(acked));
		tx = RESOLVING;
		offer_out = false;
		nr_missing = nr;
		map_next = 0;
		lost = ALL & ~acked;
		if
		:: nr == 0 -> lost = 0
		:: else
		fi;
		tx_check();
		if
		:: tx == RESOLVING -> send_getmap()
		:: else
		fi
	:: else
	fi
}

/* conn_on_map() and dlcp_txmsg_on_map() */
inline on_map(first, words, bits)
{
	if
	:: tx == RESOLVING && first <= map_next && first + words > map_next ->
		lost = lost & ~(map & (bits));
		map_next = first + words;
		getmap_out = false;
		tx_check();
		if
		:: tx == RESOLVING -> send_getmap()
		:: else
		fi
	:: tx == RESOLVING && first + words <= map_next ->
		lost = lost & ~(map & (bits))
	:: else
	fi
}

#define SEND_LOST(s)							\
	:: atomic { tx == SENDING && (lost & B(s)) && !(lost & (B(s) - 1)) -> \
		resend(s) }
/* a packet sent later was acknowledged: dlcp_conn_detect() */
#define FIND_LOST(s)							\
	:: atomic { (inflight & late_loss & B(s)) &&			\
		    !OPEN_LOST && !DONE_LOST &&				\
		    (!((data | acks) & B(s)) || spurious > 0) ->	\
		if							\
		:: (data | acks) & B(s) -> spurious--			\
		:: else							\
		fi;							\
		on_lost(s) }
#define GET_ACK(s)							\
	:: atomic { acks & B(s) -> on_ack(s) }

proctype sender()
{
	do
	/* OPEN goes ahead of the first data */
	:: atomic { !opened && !inl ->
		opened = true; open_out = true; put(P_OPEN) }
	:: atomic { tx == SENDING && next == 0 && (opened || inl) ->
		next++; send_data(0) }
	:: atomic { tx == SENDING && next == 1 -> next++; send_data(1) }
	:: atomic { tx == SENDING && next == 2 -> next++; send_data(2) }
	SEND_LOST(0)
	SEND_LOST(1)
	SEND_LOST(2)
	FIND_LOST(0)
	FIND_LOST(1)
	FIND_LOST(2)
#ifndef BREAK_PROBE
	/* conn_path_timeout(): the tail may be lost */
	:: atomic { inflight && !(inflight & late_loss) && QUIET ->
		put(P_PING) }
#endif
	/* conn_ctrl_lost() */
	:: atomic { OPEN_LOST ->
		if
		:: open_acked || tx == DONE -> open_out = false
		:: else -> put(P_OPEN)
		fi }
	/* dlcp_conn_tx_sent_timer(). That it is repeated when it gets lost saves time
	 * and nothing else.
	 */
	:: atomic { tx == SENDING && next == N && bound && open_acked && !sent ->
		sent = true; put(P_SENT) }
	:: atomic { OFFER_LOST && tx == SENDING -> send_offer() }
	:: atomic { GETMAP_LOST && tx == RESOLVING -> send_getmap() }
	:: atomic { DONE_ACK_LOST -> put(P_DONE_ACK) }
#ifndef BREAK_RESOLVE
	/* conn_resolve_again(): asked, heard, and yet no answer */
	:: atomic { tx == SENDING && (offered || (sent && forgiven)) &&
		    !offer_out && !inflight && !lost && QUIET ->
		send_offer() }
	:: atomic { tx == RESOLVING && !getmap_out && QUIET ->
		send_getmap() }
#endif
	/* arrivals */
	GET_ACK(0)
	GET_ACK(1)
	GET_ACK(2)
	:: atomic { ctl & P_DONE ->
		take(ctl, P_DONE); confirm(done_out); on_done(CNT(missing)) }
	:: atomic { ctl & P_DONE_NONE ->
		take(ctl, P_DONE_NONE); on_done(0) }
	:: atomic { ctl & P_MAP_01 ->
		take(ctl, P_MAP_01); on_map(0, 1, WORD(0)) }
	:: atomic { ctl & P_MAP_02 ->
		take(ctl, P_MAP_02); on_map(0, 2, ALL) }
	:: atomic { ctl & P_MAP_11 ->
		take(ctl, P_MAP_11); on_map(1, 1, WORD(1)) }
	:: FINISHED -> break
	od
}

/* ----- the receiver ----- */

/* rxmsg_within_bound() */
#ifdef BREAK_BOUND
#define WITHIN_BOUND	(N - CNT(map) <= bound)
#else
#define WITHIN_BOUND	((map & CRITICAL) && N - CNT(map) <= bound)
#endif

/* rxmsg_complete() and conn_rx_finish() */
inline rx_finish(excused)
{
	complete = true;
	missing = ALL & ~map;
	/* the bound */
	assert(excused || (map & CRITICAL));
	assert(excused || CNT(missing) <= bound);
	if
	:: missing -> done_out = true; put(P_DONE)
	:: else -> gone = true
	fi
}

/* dlcp_rxmsg_try_complete() */
inline rx_check()
{
	if
	:: complete
	:: !complete && map == ALL -> rx_finish(false)
	:: !complete && map != ALL && late && mode == HARD -> rx_finish(true)
	:: !complete && map != ALL && !(late && mode == HARD) &&
	   ((offered_to && N - CNT(map) <= HALF) || mode == EARLY || late) &&
	   WITHIN_BOUND ->
		rx_finish(false)
	:: else
	fi
}

/* What a silence makes complete: dlcp_rxmsg_may_vest() */
#ifdef BREAK_SILENCE
#define MAY_VEST	told
#else
#define MAY_VEST	(told && WITHIN_BOUND)
#endif

inline on_open()
{
	if
	:: !gone && !known -> known = true; rx_check()
	:: else
	fi
}

/* conn_data_msg() and conn_data_segment() */
inline on_data(s)
{
	take(data, B(s));
	if
	:: inl -> on_open()
	:: else
	fi;
	if
	:: gone -> acks = acks | B(s)
	:: !gone && !known			/* DROP_UNOPENED */
	:: !gone && known && (map & B(s)) -> acks = acks | B(s)
	:: !gone && known && !(map & B(s)) && complete ->
#ifdef BREAK_AGREEMENT
		acks = acks | B(s)
#else
		skip				/* DROP_LATE: looks lost */
#endif
	:: else ->
		map = map | B(s);
		acks = acks | B(s);
		/* DLCP_F_SENT: the last position goes when all others went */
		told = told || (bound && s == N - 1);
		rx_check()
	fi
}

/* conn_on_offer() */
inline on_offer()
{
	if
	:: gone -> put(P_DONE_NONE)
	:: !gone && complete -> done_out = true; put(P_DONE)
	:: !gone && !complete ->
		offered_to = true;
		rx_check();
		if
		:: gone -> put(P_DONE_NONE)
		:: else
		fi
	fi
}

/* conn_on_getmap() and ctrl_rx_map(): a packet may not hold all of it */
inline on_getmap(w)
{
	if
	:: !complete || gone
#ifdef BREAK_PROGRESS
	:: complete && !gone -> put(P_MAP_01)
#else
	:: complete && !gone && w == 0 -> put(P_MAP_01)
	:: complete && !gone && w == 0 -> put(P_MAP_02)
	:: complete && !gone && w == 1 -> put(P_MAP_11)
#endif
	fi
}

#define GET_DATA(s)							\
	:: atomic { data & B(s) -> on_data(s) }

proctype receiver()
{
	do
	GET_DATA(0)
	GET_DATA(1)
	GET_DATA(2)
	:: atomic { ctl & P_OPEN ->
		take(ctl, P_OPEN);
		if
		:: open_out -> confirm(open_out);
			if
			:: !open_out -> open_acked = true
			:: else
			fi
		:: else
		fi;
		on_open() }
	:: atomic { ctl & P_OFFER ->
		take(ctl, P_OFFER); confirm(offer_out); on_offer() }
	:: atomic { ctl & P_OFFER_OPEN ->
		take(ctl, P_OFFER_OPEN);
		confirm(offer_out);
		on_open();
		on_offer() }
	:: atomic { ctl & P_GETMAP0 ->
		take(ctl, P_GETMAP0); confirm(getmap_out); on_getmap(0) }
	:: atomic { ctl & P_GETMAP1 ->
		take(ctl, P_GETMAP1); confirm(getmap_out); on_getmap(1) }
	:: atomic { ctl & P_DONE_ACK ->
		take(ctl, P_DONE_ACK);
		gone = true;
		done_out = false;
		confirm(done_ack_out) }
	/* A probe is answered with all that is known; then what was in flight
	 * before it, and is not in the answer, is lost
	 */
	:: atomic { ctl & P_PING ->
		take(ctl, P_PING);
		acks = acks | (inflight & map);
		late_loss = late_loss | inflight }
	/* A message that is over needs none, and answers none */
	:: atomic { ctl & P_SENT ->
		take(ctl, P_SENT);
		if
		:: known && !complete -> told = true
		:: else
		fi }
	/* dlcp_conn_rx_vests(): however short the silence is */
	:: atomic { known && !complete && MAY_VEST -> rx_finish(false) }
	/* conn_ctrl_lost() */
	:: atomic { DONE_LOST && !gone -> put(P_DONE) }
	/* a deadline passes: dlcp_conn_rx_deadlines() */
	:: atomic { (mode == SOFT || mode == HARD) && !late ->
		late = true;
		if
		:: known && !gone -> rx_check()
		:: else
		fi }
	/* dlcp_conn_discard() */
	:: atomic { mode == DISCARD && known && !complete -> rx_finish(true) }
	:: FINISHED -> break
	od
}

/* ----- the network, and what is chosen at the start ----- */

#define DROP(set, i)							\
	:: d_step { drops > 0 && (set & B(i)) -> drops--; set = set & ~B(i) }

proctype network()
{
	do
	DROP(data, 0) DROP(data, 1) DROP(data, 2)
	DROP(acks, 0) DROP(acks, 1) DROP(acks, 2)
	DROP(ctl, 0) DROP(ctl, 1) DROP(ctl, 2) DROP(ctl, 3)
	DROP(ctl, 4) DROP(ctl, 5) DROP(ctl, 6) DROP(ctl, 7)
	DROP(ctl, 8) DROP(ctl, 9) DROP(ctl, 10) DROP(ctl, 11) DROP(ctl, 12)
	:: FINISHED -> break
	od
}

init {
	atomic {
		if
		:: mode = PLAIN
		:: mode = EARLY
		:: mode = SOFT
		:: mode = HARD
		:: mode = DISCARD
		fi;
		if
		:: bound = 0
		:: bound = HALF
		fi;
		if
		:: inl = false
		:: inl = true
		fi;
		run sender();
		run receiver();
		run network()
	}
}
