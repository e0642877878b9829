/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection from INIT to the end of both ends: kmod/core/conn.c, the
 * stateless listener of kmod/input.c and accept.c. Each end sends one reliable
 * message and shuts down. The network is that of message.pml.
 *
 * LINGER_LONG: nobody crashes, and who lingers outlasts the losses; then no end
 * may see an error. Without it only what an end was told must be true.
 */
#ifndef DROPS
#define DROPS		2
#endif
#ifndef DUPS
#define DUPS		2
#endif

#define B(i)		(1 << (i))
#define CLIENT		0
#define SERVER		1

mtype = { NONE, INIT_SENT, ECHO_SENT, ESTABLISHED, CLOSING, CLOSED };

#define P_INIT		B(0)
#define P_INIT_ACK	B(1)
#define P_ECHO		B(2)
#define P_ECHO_ACK	B(3)
/* of what end @e sends, and its acknowledgement */
#define P_DATA(e)	B(4 + (e))
#define P_ACK(e)	B(6 + (e))
#define P_CLOSE(e)	B(8 + (e))
#define P_CLOSE_ACK(e)	B(10 + (e))
/* to end @e */
#define P_RESET(e)	B(12 + (e))

short net;
byte drops = DROPS, dups = DUPS;

mtype state[2] = NONE;
bool echo_acked;			/* of the client: it knows the limits */
bool sent[2], unacked[2];		/* the message; not acknowledged */
bool got[2];				/* the peer's message */
bool fin_sent[2], fin_acked[2], fin_rcvd[2], eof[2], linger[2];
bool failed[2];
bool spent;				/* the cookie made a connection */
byte made;				/* connections accept() returned */

#define OPEN(e)		(state[e] == ESTABLISHED || state[e] == CLOSING)
#define OVER		(state[CLIENT] == CLOSED && state[SERVER] == CLOSED)

inline put(p)
{
	net = net | (p)
}

inline take(p)
{
	if
	:: net = net & ~(p)
	:: dups > 0 -> dups--
	fi
}

/* dlcp_conn_check_close() */
inline check_close(e)
{
	if
	:: fin_sent[e] && fin_rcvd[e] && OPEN(e) ->
		state[e] = CLOSING;
		if
		:: fin_acked[e] && eof[e] && !unacked[e] -> linger[e] = true
		:: else
		fi
	:: else
	fi
}

/* A clean end, to the user: all I sent is there, all there was I have */
inline closed(e)
{
	assert(got[1 - e] || !sent[e]);
	assert(eof[e]);
	linger[e] = false;
	state[e] = CLOSED
}

inline fail(e)
{
#ifdef LINGER_LONG
	assert(false);				/* no error without a cause */
#endif
	linger[e] = false;
	failed[e] = true;
	state[e] = CLOSED
}

/* dlcp_conn_rx_check_eof(): CLOSE says how many messages there were */
inline check_eof(e)
{
	if
#ifdef BREAK_EOF
	:: fin_rcvd[e] && !eof[e] -> eof[e] = true
#else
	:: fin_rcvd[e] && !eof[e] && (got[e] || !sent[1 - e]) -> eof[e] = true
#endif
	:: else
	fi;
	/* end of file only after all messages */
	assert(!eof[e] || got[e] || !sent[1 - e])
}

/* conn_rx_ready(): the peer has accepted us if it sends */
inline ready(e)
{
	if
	:: state[e] == ECHO_SENT -> state[e] = ESTABLISHED
	:: else
	fi
}

/* A packet of the peer @p, and what the end then does; a host that does not
 * know the connection says so: dlcp_rcv()
 */
#define ARRIVE(e, p, act)						\
	:: atomic { net & (p) -> take(p); ready(e);			\
		if							\
		:: OPEN(e) -> act					\
		:: !OPEN(e) && (state[e] == NONE || state[e] == CLOSED) -> \
			put(P_RESET(1 - e))				\
		:: else							\
		fi }

#define END(e)								\
	/* dlcp_conn_send(), dlcp_conn_shutdown() */			\
	:: atomic { OPEN(e) && !sent[e] && !fin_sent[e] &&		\
		    (e == SERVER || echo_acked) ->			\
		sent[e] = true; unacked[e] = true; put(P_DATA(e)) }	\
	:: atomic { OPEN(e) && !fin_sent[e] ->				\
		fin_sent[e] = true; put(P_CLOSE(e)); check_close(e) }	\
	/* lost: sent again, as long as it matters */			\
	:: atomic { OPEN(e) && unacked[e] && !(net & (P_DATA(e) | P_ACK(e) | \
		    P_RESET(e))) -> put(P_DATA(e)) }			\
	:: atomic { OPEN(e) && fin_sent[e] && !fin_acked[e] &&		\
		    !(net & (P_CLOSE(e) | P_CLOSE_ACK(e) | P_RESET(e))) -> \
		put(P_CLOSE(e)) }					\
	ARRIVE(e, P_DATA(1 - e),					\
	       got[e] = true; put(P_ACK(1 - e)); check_eof(e); check_close(e)) \
	ARRIVE(e, P_ACK(e), unacked[e] = false; check_close(e))		\
	ARRIVE(e, P_CLOSE(1 - e),					\
	       fin_rcvd[e] = true; put(P_CLOSE_ACK(1 - e));		\
	       check_eof(e); check_close(e))				\
	ARRIVE(e, P_CLOSE_ACK(e), fin_acked[e] = true; check_close(e))	\
	KEEPALIVE(e)							\
	/* dlcp_conn_rx_reset(), conn_clean_end() */			\
	:: atomic { net & P_RESET(e) -> take(P_RESET(e));		\
		if							\
		:: OPEN(e) && fin_sent[e] && !unacked[e] && eof[e] -> closed(e) \
		:: OPEN(e) && !(fin_sent[e] && !unacked[e] && eof[e]) ->	\
			CLEAN_OR_FAIL(e)				\
		:: state[e] == ECHO_SENT -> fail(e)			\
		:: else							\
		fi }							\
	:: atomic { linger[e] && LINGER_ENDS(1 - e) -> closed(e) }

#ifdef BREAK_RESET
#define CLEAN_OR_FAIL(e)	closed(e)
#else
#define CLEAN_OR_FAIL(e)	fail(e)
#endif
#if defined(LINGER_LONG) && !defined(BREAK_LINGER)
#define LINGER_ENDS(o)							\
	(state[o] == CLOSED || (fin_acked[o] && !unacked[o] && eof[o]))
#else
#define LINGER_ENDS(o)	true
#endif

/* conn_keepalive_time(): silence is asked about, and who knows nothing says so */
#ifdef BREAK_KEEPALIVE
#define KEEPALIVE(e)
#else
#define KEEPALIVE(e)							\
	:: atomic { OPEN(e) && state[1 - e] == CLOSED && !net ->	\
		put(P_RESET(e)) }
#endif

active proctype client()
{
	state[CLIENT] = INIT_SENT;
	put(P_INIT);
	do
	:: atomic { state[CLIENT] == INIT_SENT && !(net & (P_INIT | P_INIT_ACK)) ->
		put(P_INIT) }
	/* conn_on_init_ack() */
	:: atomic { net & P_INIT_ACK -> take(P_INIT_ACK);
		if
		:: state[CLIENT] == INIT_SENT ->
			state[CLIENT] = ECHO_SENT; put(P_ECHO)
		:: else
		fi }
#ifndef BREAK_SETUP
	/* also once established: until the limits are known */
	:: atomic { (state[CLIENT] == ECHO_SENT || OPEN(CLIENT)) &&
		    !echo_acked && !(net & (P_ECHO | P_ECHO_ACK |
					    P_RESET(CLIENT))) -> put(P_ECHO) }
#endif
	/* conn_on_echo_ack() */
	:: atomic { net & P_ECHO_ACK -> take(P_ECHO_ACK);
		if
		:: (state[CLIENT] == ECHO_SENT || OPEN(CLIENT)) && !echo_acked ->
			echo_acked = true;
			ready(CLIENT)
		:: else
		fi }
	END(CLIENT)
	:: OVER -> break
	od
}

active proctype server()
{
	do
	/* dlcp_answer_init(): keeps nothing */
	:: atomic { net & P_INIT -> take(P_INIT); put(P_INIT_ACK) }
	/* dlcp_rcv_echo(), dlcp_accept_child() */
	:: atomic { net & P_ECHO -> take(P_ECHO);
		if
		:: OPEN(SERVER) -> put(P_ECHO_ACK)
#ifdef BREAK_ONCE
		:: !OPEN(SERVER) ->
#else
		/* shown before: refused, and said so */
		:: !OPEN(SERVER) && spent -> put(P_RESET(CLIENT))
		:: !OPEN(SERVER) && !spent ->
#endif
			/* only to a client that receives at its address */
			assert(state[CLIENT] != NONE &&
			       state[CLIENT] != INIT_SENT);
			made++;
			assert(made == 1);	/* once */
			spent = true;
			state[SERVER] = ESTABLISHED;
			put(P_ECHO_ACK)
		fi }
	END(SERVER)
#ifndef LINGER_LONG
	/* The server's host is gone, and comes back knowing nothing: its secret
	 * is new, so that the old cookie is worth nothing.
	 */
	:: atomic { OPEN(SERVER) -> state[SERVER] = CLOSED; linger[SERVER] = false }
#endif
	:: OVER -> break
	od
}

#define DROP(i)								\
	:: d_step { drops > 0 && (net & B(i)) -> drops--; net = net & ~B(i) }

active proctype network()
{
	do
	DROP(0) DROP(1) DROP(2) DROP(3) DROP(4) DROP(5) DROP(6) DROP(7)
	DROP(8) DROP(9) DROP(10) DROP(11) DROP(12) DROP(13)
	:: OVER -> break
	od
}
