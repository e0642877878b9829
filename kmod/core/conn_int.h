/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the engine share and nobody else sees. */
#ifndef _DLCP_CORE_CONN_INT_H
#define _DLCP_CORE_CONN_INT_H

#include "conn_msg.h"
#include "cut.h"
#include "msgsched.h"

/* Tables of messages start with so many slots */
#define CONN_TABLE_MIN		4
#define CONN_RING_MIN		16
#define CONN_RING_MAX		(1U << 18)
/* Control packets that wait to be acknowledged: two for each message a peer may
 * have under way. A peer that asks and never acknowledges gets no more of them,
 * or the ring would grow with each question.
 */
#define CONN_CTRL_OUT_MAX	(2 * DLCP_MSG_WINDOW)
#define CONN_RECV_SIZE		((DLCP_PATHS_MAX - 1) *			\
				 sizeof(struct dlcp_recv_window *))
#define CONN_SETUP_FIRST	(50 * NSEC_PER_MSEC)
#define CONN_BACKOFF_MAX	((u64)NSEC_PER_SEC)
/* A peer that owes an answer is looked after so often at least while it is
 * given up
 */
#define CONN_LOOKS		8
/* An address that does not answer is asked again */
#define CONN_ASK_MIN		(5 * NSEC_PER_MSEC)
/* Of a timeout: where data is out the first goes with it, and the last does not */
#define CONN_PROBES		2
/* On a path as long as this the tail of a burst is asked for */
#define CONN_FAR		((u64)NSEC_PER_MSEC)
#define CONN_RETRY		(1 * NSEC_PER_MSEC)
#define CONN_CRAMPED		(20 * NSEC_PER_MSEC)
/* Nobody is kept waiting for the host's other sockets for longer */
#define CONN_LINGER_MIN		(100 * NSEC_PER_MSEC)
/* What the receiver granted so long ago is nothing to go by */
#define CONN_GRANT_LIFE		((u64)NSEC_PER_SEC)
/* Messages whose CREDIT is repeated when the peer asks */
#define CONN_CREDITS_AGAIN	8
/* OPENs of messages without credit that go in one round trip */
#define CONN_OPENS		32

/*
 * Silence after which what is missing of a message sent once is taken for lost: a
 * part of the round trip (2^-n), and not less than timers and interrupts take.
 * RFC 9002, 6.1.2, waits for an eighth; but there a packet taken for lost by
 * mistake is sent again and makes the sender slower, and here it costs a part
 * of the bound, and the receiver learns from it.
 */
#define CONN_SILENCE_SHIFT	5
#define CONN_SILENCE_MIN	(8 * NSEC_PER_USEC)
/* The receiver doubles it at most so often; after so many messages that had
 * enough of it once less
 */
#define CONN_SILENCE_DOUBLED	4
#define CONN_SILENCE_CALM	64

/* Segments to spare, of a message of which packets get lost: one that loses a fifth of
 * its bound in the mean loses more than three once in 300 times (one: once in 60)
 */
#define CONN_SPARE		3

/* Of 65536, of dlcp_path.loss_avg: after one loss it is below in 211 packets */
#define CONN_LOSS_OF_LATE	64

/* Packets, or batches of them (GRO), that are held before their OPEN: at least what
 * comes over 10 Gbit/s in 300 us, by which one packet may be slower than the next
 */
#define CONN_UNOPENED_MAX	U8_MAX

/* Index of credit.want[]: see there */
#define CONN_WANT_LONG		(DLCP_PRIO_MAX + 1)

/* Who asks so often without sending anything does not use what it was granted. Its
 * probes double: a writer that waited for a processor is back by then
 */
#define CONN_RX_QUIET		6

/*
 * A peer that answers, and takes nothing of a message, has no memory, or is
 * mistaken. After so many rounds in a row the message rests, and others do not
 * wait for it. Of those that rest a segment at a time is tried, of each in turn, at
 * intervals that double. When for as long as a peer may be silent it has taken
 * nothing of any message, it is as good as dead. More than the rounds a black hole
 * takes to be found (conn_pmtu.c).
 */
#define CONN_STALL_ROUNDS		8

/* Idle for so long, a connection keeps only what it cannot do without */
#define CONN_IDLE		((u64)NSEC_PER_SEC)

/*
 * A finished message leaves nothing behind but its slot in the table, until
 * the peer has acknowledged the DONE_ACK: so the DONE_ACK needs no memory of
 * its own and cannot get lost, and the shell can free the message at once.
 */
#define CONN_TOMBSTONE_DUE	((struct dlcp_txmsg *)1) /* to be sent */
#define CONN_TOMBSTONE_SENT	((struct dlcp_txmsg *)2) /* not acked */

/*
 * An unfinished message, one that nobody reads, say, shall not hold up all that
 * come after it: when those have used up so much of the window of numbers it
 * is left behind, and the window moves on.
 */
#define CONN_OLD_SPAN		(DLCP_MSG_WINDOW / 4 * 3)

/*
 * The peer speaks of messages by 32 bits. What was left behind is found by these,
 * too, and none may be so far behind that another one has the same. So a sender
 * starts no more until the oldest is over: after some four billion messages.
 */
#define CONN_ID_SPAN		((1ULL << 32) - 2 * DLCP_MSG_WINDOW)

/* A slot of tx_table that was left behind */
struct conn_old {
	struct dlcp_tnode node;	/* conn->tx.old, by id */
	struct list_head due;	/* conn->tx.old_due */
	struct dlcp_txmsg *m;	/* or a tombstone */
};

/* What the ACKs of one packet, or a look at the clock, add up to */
struct conn_sample {
	struct dlcp_cong_sample s;
	struct dlcp_path *path;	/* of the newest acknowledged packet */
	u64 newest;		/* ns: when it left */
	u64 wire;		/* ns: when the ACKs reached this host */
	struct dlcp_txmsg *m;	/* acknowledged last, to be checked */
	u32 acked_data;		/* packets, of s.acked_packets */
	u32 news;		/* paths of which ACKs told something, as bits */
	u32 data_news;		/* and something of what waits with data */
};

/*
 * The unsolicited allowance. Both ends must agree to the byte on what has
 * been used, or losses would eat it up. So a message is charged once, by an
 * amount both know, when its first segment is sent (or it ends), and given
 * back once, when it is complete and consumed. It is half of the first allowance,
 * doubled as often as the OPEN says.
 */
static inline u64 conn_share(const struct dlcp_open *o, u64 first)
{
	return min(o->length, first << o->share);
}

static inline u64 conn_tx_share(const struct dlcp_conn *c,
				const struct dlcp_txmsg *m)
{
	return conn_share(&m->open, c->sched.unsolicited_msg);
}

/* With credit a message is charged in any case, but may use its share only if
 * there was room for it
 */
static inline bool conn_tx_may_charge(const struct dlcp_conn *c,
				      const struct dlcp_txmsg *m)
{
	return c->sched.unsolicited_sent + conn_tx_share(c, m) <= c->sched.unsolicited_max;
}

static inline u64 conn_rx_share(const struct dlcp_conn *c,
				const struct dlcp_rxmsg *m)
{
	return conn_share(&m->open, c->cfg.unsolicited / 2);
}

/* Is nothing taken of any message? */
static inline bool conn_stalled(const struct dlcp_conn *c)
{
	return c->alive.stall_rounds >= CONN_STALL_ROUNDS;
}

/* ... and nothing new is tried before stall.until */
static inline bool conn_stall_rests(const struct dlcp_conn *c)
{
	return c->alive.stall_until && conn_stalled(c);
}

static inline bool conn_open(const struct dlcp_conn *c)
{
	return c->state == DLCP_ESTABLISHED || c->state == DLCP_CLOSING;
}

/* What came on the peer's path @i; NULL: nothing yet */
static inline struct dlcp_recv_window *
conn_recv_window(const struct dlcp_conn *c, u32 i)
{
	if (!i)
		return c->recv0;
	return c->recv ? c->recv[i - 1] : NULL;
}

/* Have packets got lost of late? */
static inline bool conn_loses(const struct dlcp_path *p)
{
	return p->loss_avg >= CONN_LOSS_OF_LATE;
}

/*
 * The longest delay of an ACK where none is asked for: as configured, or on long
 * paths a 32nd of a round trip as @r knows it, up to 25 ms (RFC 9000, 18.2). Where
 * packets come slowly each would have an ACK of its own, which takes 8 % of the
 * bytes, and of a slow way back all. 32 in a round are as many as slow start needs.
 */
static inline u64 conn_ack_delay(const struct dlcp_conn *c,
				 const struct dlcp_rtt *r)
{
	return max(c->cfg.ack_delay_ns,
		   min_t(u64, r->min / 32, 25 * NSEC_PER_MSEC));
}

/* As dlcp_out.port */
static inline u16 conn_port(const struct dlcp_path *p)
{
	return p->home ? 0 : p->entropy;
}

/* Does OPEN go with the data of @m? That of an empty message is nothing without */
static inline bool conn_open_goes(const struct dlcp_txmsg *m)
{
	return m->inline_open && (!m->open_acked || !m->open.length);
}

/* Bytes of a DATA packet with all @len of a segment of @m */
static inline u32 conn_data_len(const struct dlcp_txmsg *m, u32 len)
{
	len += DLCP_DATA_HDR_LEN;
	return conn_open_goes(m) ? len + DLCP_OPEN_LEN : len;
}

/* @p gets an entropy that none of its paths had */
static inline void conn_repath(struct dlcp_conn *c, struct dlcp_path *p,
			       u64 now)
{
	c->cnt[DLCP_CNT_REPATHS]++;
	dlcp_path_repath(p, c->cfg.local_tag, (u32)c->cnt[DLCP_CNT_REPATHS],
			 now);
}

/* Likewise, and it leads to another pair of addresses */
static inline void conn_path_move(struct dlcp_conn *c, struct dlcp_path *p,
				  u8 pair, u64 now)
{
	c->cnt[DLCP_CNT_REPATHS]++;
	dlcp_path_move(p, pair, c->cfg.local_tag,
		       (u32)c->cnt[DLCP_CNT_REPATHS], now);
}

static inline void conn_event(struct dlcp_conn *c, u32 ev)
{
	c->events |= ev;
}

static inline u64 conn_backoff(u64 t, u32 n)
{
	return min(t << min_t(u32, n, 16), max(t, CONN_BACKOFF_MAX));
}

static inline bool conn_tx_all_done(const struct dlcp_conn *c)
{
	return c->tx.low_id == c->tx.next_id && !c->tx.nr_old;
}

static inline void conn_tx_ctrl(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (list_empty(&m->ctrl_node))
		list_add_tail(&m->ctrl_node, &c->ctrl.tx);
}

static inline void conn_tx_open_due(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	if (m->open_acked || m->open_due)
		return;
	m->open_due = 1;
	conn_tx_ctrl(c, m);
}

/* Accounts of groups, made when there is the first one; NULL: no memory */
static inline struct dlcp_groups *conn_groups(struct dlcp_conn *c,
					      struct dlcp_groups **gs)
{
	if (!*gs)
		*gs = c->cfg.ops->alloc(c, sizeof(**gs));
	return *gs;
}

static inline void conn_rx_ctrl_due(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	if (list_empty(&m->ctrl_node))
		list_add_tail(&m->ctrl_node, &c->ctrl.rx);
}

/* It cannot be complete before somebody reads it */
static inline bool conn_rx_long(const struct dlcp_conn *c,
				const struct dlcp_rxmsg *m)
{
	return m->open.length - m->consumed > dlcp_conn_unread_space(c);
}

/* conn_alive.c: how long an answer takes, of any path and of @p; the peer's last one,
 * and whether it is dead
 */
u64 dlcp_conn_pto(const struct dlcp_conn *c);
u64 dlcp_conn_path_pto(const struct dlcp_conn *c, const struct dlcp_path *p,
		       u64 delay);
u64 dlcp_conn_awake(struct dlcp_conn *c, u64 now);
void dlcp_conn_received(struct dlcp_conn *c, u64 now);
void dlcp_conn_waits(struct dlcp_conn *c, u64 now);
u64 dlcp_conn_dead_time(const struct dlcp_conn *c);
bool dlcp_conn_dead(const struct dlcp_conn *c);
u64 dlcp_conn_look_time(const struct dlcp_conn *c);
bool dlcp_conn_stall_dead(const struct dlcp_conn *c);
/* Until a segment is tried again: a few times before that is given up */
void dlcp_conn_stall_pause(struct dlcp_conn *c, u64 now);
/* The peer took something of the data, of @m or (NULL) in general, or will */
void dlcp_conn_taken(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* The peer has room again for what it refused of @m */
void dlcp_conn_room_received(struct dlcp_conn *c, struct dlcp_txmsg *m);

/* conn_state.c */
void dlcp_conn_set_state(struct dlcp_conn *c, u8 state);
void dlcp_conn_fail(struct dlcp_conn *c, int err, const char *text);
void dlcp_conn_check_flushed(struct dlcp_conn *c);
void dlcp_conn_linger_on(struct dlcp_conn *c, u64 now);
void dlcp_conn_check_close(struct dlcp_conn *c, u64 now);

/* conn.c */
u64 dlcp_conn_idle_time(const struct dlcp_conn *c);
void dlcp_conn_shrink(struct dlcp_conn *c, u64 now);
void dlcp_conn_established(struct dlcp_conn *c, u64 now);
void dlcp_conn_set_limits(struct dlcp_conn *c, u64 max_id, u64 unsolicited);

/* conn_rail.c: pairs of addresses */
int dlcp_conn_rails_init(struct dlcp_conn *c);
void dlcp_conn_on_rails(struct dlcp_conn *c, const struct dlcp_f_rails *f);
void dlcp_conn_on_answer(struct dlcp_conn *c, u64 token, u64 now);
u64 dlcp_conn_rails_time(const struct dlcp_conn *c);
int dlcp_conn_rails_ask(struct dlcp_conn *c, u64 now);
void dlcp_conn_came_by(struct dlcp_conn *c, u8 pair);

/* conn_place.c: where the peer is, and from which ports it is sent to */
enum conn_ports {
	CONN_PORTS_ASK	= 0,	/* it is being asked whether others get there */
	CONN_PORTS_OPEN,	/* they do */
	CONN_PORTS_SHUT,	/* they get to somebody else */
};

struct conn_ask {
	u64	token;
	u16	port;		/* as dlcp_out.port */
	u8	to;		/* enum dlcp_to */
};

/* May there be a question, of a place or of rails? Mostly there is none left */
static inline bool conn_asks(const struct dlcp_conn *c)
{
	return c->place.move || c->place.ports == CONN_PORTS_ASK ||
	       c->rail.table;
}

void dlcp_conn_setup_repath(struct dlcp_conn *c, u64 now);
void dlcp_conn_ports_lost(struct dlcp_conn *c);
void dlcp_conn_place_timer(struct dlcp_conn *c, u64 now);
u64 dlcp_conn_place_time(const struct dlcp_conn *c);
bool dlcp_conn_place_ask(struct dlcp_conn *c, struct conn_ask *ask, u64 now);
bool dlcp_conn_place_answer(struct dlcp_conn *c, u64 token, u64 now);

/* conn_ctrl.c: when the delayed ACKs are due, 0: none is owed; a control packet of
 * @len bytes is what leaves next, on @p
 */
u64 dlcp_conn_ack_time(const struct dlcp_conn *c);
void dlcp_conn_out(struct dlcp_conn *c, struct dlcp_out *out,
		   const struct dlcp_path *p, u32 len);
/* May there be a question to a place or a rail? A control packet? */
bool dlcp_conn_ask_due(const struct dlcp_conn *c, u64 now);
bool dlcp_conn_ctrl_due(const struct dlcp_conn *c, u64 now);
/* A question to a place or a rail; padding; all that is due; an OPEN of @m ahead
 * of its data. Return: @out is filled in
 */
bool dlcp_conn_next_ask(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			u32 buf_len, u64 now);
bool dlcp_conn_next_mtu(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			u32 buf_len, u64 now);
bool dlcp_conn_next_ctrl(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			 u32 buf_len, u64 now);
bool dlcp_conn_acks_carried(const struct dlcp_conn *c, u64 now);
void dlcp_conn_front(struct dlcp_conn *c, struct dlcp_out *out,
		     struct dlcp_path *p, u8 *buf, u32 buf_len, u64 now);
bool dlcp_conn_next_open(struct dlcp_conn *c, struct dlcp_txmsg *m,
			 struct dlcp_path *p, struct dlcp_out *out, u8 *buf,
			 u32 buf_len, u64 now);

/* conn.c: set-up and RESET that came */
enum dlcp_verdict dlcp_conn_rx_setup(struct dlcp_conn *c,
				     const struct dlcp_hdr *h,
				     const struct dlcp_setup *s, u64 now);
enum dlcp_verdict dlcp_conn_rx_reset(struct dlcp_conn *c,
				     const struct dlcp_reset *r, u64 now);
/* conn.c: no answer to the set-up; a RESET, or a packet of set-up, which is due */
void dlcp_conn_setup_timer(struct dlcp_conn *c, u64 now);
void dlcp_conn_next_reset(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf);
void dlcp_conn_next_setup(struct dlcp_conn *c, struct dlcp_out *out, u8 *buf,
			  u64 now);

/* conn_msg.c: outgoing messages */
struct dlcp_txmsg *dlcp_conn_tx_find(struct dlcp_conn *c, u32 msg);
void dlcp_conn_tx_forget(struct dlcp_conn *c);
void dlcp_conn_tx_tombstone(struct dlcp_conn *c, u32 msg, bool acked);
bool dlcp_conn_tx_next_tombstone(struct dlcp_conn *c, u64 *id);
u64 dlcp_conn_tx_extend(const struct dlcp_conn *c, u32 msg);
void dlcp_conn_tx_charge(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* After an ACK, a loss, a DONE or a MAP: finished? an OFFER due? */
void dlcp_conn_tx_check(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now);
void dlcp_conn_tx_check_offer(struct dlcp_conn *c, struct dlcp_txmsg *m,
			      u64 now);
/* OPEN as it has to go out at @now */
void dlcp_conn_tx_open(const struct dlcp_conn *c, const struct dlcp_txmsg *m,
		       u64 now,
		       struct dlcp_open *o);
/* Something of @m was sent. Return: by now all of it was, and is to be told */
bool dlcp_conn_tx_sent(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now);
/* SENT got lost; it got there */
void dlcp_conn_tx_sent_lost(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now);
u64 dlcp_conn_tx_silence(const struct dlcp_conn *c);
u64 dlcp_conn_tx_sent_time(const struct dlcp_conn *c);
void dlcp_conn_tx_sent_timer(struct dlcp_conn *c, u64 now);
/* The question of the state of @m is due: OFFER or GETMAP; it was sent */
void dlcp_conn_tx_ask(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now);
void dlcp_conn_tx_asked(struct dlcp_conn *c, struct dlcp_txmsg *m, u64 now);
/* Has dlcp_txmsg_released() moved since it was @before? */
void dlcp_conn_tx_released(struct dlcp_conn *c, struct dlcp_txmsg *m,
			   u32 before);
bool dlcp_conn_tx_cramped(const struct dlcp_conn *c);
void dlcp_conn_tx_room(struct dlcp_conn *c);
int dlcp_conn_tx_grow(struct dlcp_conn *c);
size_t dlcp_conn_tx_table_mem(u32 size);

/* conn_credit.c: the room that incoming messages take, and their credit */
enum dlcp_verdict dlcp_conn_rx_allowed(const struct dlcp_conn *c,
				       const struct dlcp_rxmsg *m, u32 len);
/* Something of @m has changed that its room depends on */
void dlcp_conn_rx_account(struct dlcp_conn *c, struct dlcp_rxmsg *m);
void dlcp_conn_rx_refund(struct dlcp_conn *c, struct dlcp_rxmsg *m);
/* The peer says that all of @m comes without credit */
void dlcp_conn_rx_covered(struct dlcp_conn *c, struct dlcp_rxmsg *m);
void dlcp_conn_rx_accept(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len);
/* Of a segment of @len bytes there are pieces; it is whole, or was dropped */
void dlcp_conn_rx_hold(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len);
void dlcp_conn_rx_unhold(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 len);
void dlcp_conn_credit_run(struct dlcp_conn *c);
void dlcp_conn_rx_probe(struct dlcp_conn *c, bool here, u64 now);
void dlcp_conn_window_check(struct dlcp_conn *c, bool all);
/* There is room for what was refused of @m, if something was: the peer is told */
void dlcp_conn_rx_advertise(struct dlcp_conn *c, struct dlcp_rxmsg *m);

/* conn_rxmsg.c: incoming messages */
s64 dlcp_conn_rx_extend(const struct dlcp_conn *c, u32 msg);
bool dlcp_conn_rx_is_done(struct dlcp_conn *c, u64 id);
struct dlcp_rxmsg *dlcp_conn_rx_msg(struct dlcp_conn *c, u64 id);
enum dlcp_verdict dlcp_conn_rx_begin(struct dlcp_conn *c, u64 id,
				     const struct dlcp_open *o,
				     struct dlcp_rxmsg **m, u64 now);
void dlcp_conn_rx_check(struct dlcp_conn *c, struct dlcp_rxmsg *m, u64 now);
void dlcp_conn_rx_free(struct dlcp_conn *c, struct dlcp_rxmsg *m);
void dlcp_conn_rx_confirmed(struct dlcp_conn *c, struct dlcp_rxmsg *m);
void dlcp_conn_rx_check_eof(struct dlcp_conn *c);
void dlcp_conn_rx_shrink(struct dlcp_conn *c);
void dlcp_conn_rx_deadlines(struct dlcp_conn *c, u64 now);
/* @m has changed, or all of it was sent: from when on is it complete? */
void dlcp_conn_rx_vest(struct dlcp_conn *c, struct dlcp_rxmsg *m);
void dlcp_conn_rx_vests(struct dlcp_conn *c, u64 now);
/* A segment came that was not waited for */
void dlcp_conn_rx_overtaken(struct dlcp_conn *c);

/* A packet is no longer on its way */
static inline void conn_unsent(struct dlcp_conn *c, struct dlcp_path *p,
			       const struct dlcp_sent *e)
{
	c->inflight -= e->bytes;
	c->ctrl.out -= e->kind == DLCP_SENT_CTRL;
	if (e->kind == DLCP_SENT_CTRL && e->pos & DLCP_SW_MTU)
		c->mtu.flight = 0;
	p->inflight -= e->bytes;
	p->data_out -= e->with_data;
}

/* A packet of @m is no longer in flight */
static inline void conn_landed(struct dlcp_txmsg *m,
			       const struct dlcp_sent *e)
{
	m->inflight_segs--;
	m->again_segs -= e->again;
}

/* conn_loss.c, conn_ack.c: losses and acknowledgements of what we sent */
void dlcp_conn_sample_init(struct dlcp_conn *c, struct conn_sample *cs,
			   u64 now);
void dlcp_conn_sample_done(struct dlcp_conn *c, struct conn_sample *cs);
/* After the ACKs of one packet: what they do not name may be lost */
void dlcp_conn_acks_end(struct dlcp_conn *c, struct conn_sample *cs);
bool dlcp_conn_on_ack(struct dlcp_conn *c, const struct dlcp_f_ack *a,
		      struct conn_sample *cs);
void dlcp_conn_detect(struct dlcp_conn *c, struct dlcp_path *p,
		      struct conn_sample *cs);
void dlcp_conn_path_give_up(struct dlcp_conn *c, struct dlcp_path *p,
			    struct conn_sample *cs);
/* The peer's DONE: losses that it tells of, and nothing did before */
void dlcp_conn_done_lost(struct dlcp_conn *c, struct dlcp_txmsg *m,
			 const struct dlcp_f_done *d, struct conn_sample *cs);
bool dlcp_conn_ring_room(struct dlcp_conn *c, struct dlcp_path *p, u32 need);
bool dlcp_conn_ring_steal(struct dlcp_conn *c, struct dlcp_path *p, u64 now);
struct dlcp_sent *dlcp_conn_sent(struct dlcp_conn *c, struct dlcp_path *p,
				 u8 kind,
				 bool with_data, u32 bytes, u64 now);
/* All packets of @out but its last one, first transmissions of @bytes each */
void dlcp_conn_sent_run(struct dlcp_conn *c, struct dlcp_path *p, u8 kind,
			const struct dlcp_out *out, u32 bytes, u64 now);

/* conn_pmtu.c: a packet was acknowledged, or lost; one of padding was */
void dlcp_conn_pmtu_acked(struct dlcp_conn *c, const struct dlcp_sent *e);
void dlcp_conn_pmtu_lost(struct dlcp_conn *c, const struct dlcp_sent *e,
			 u64 now);
/* It did not leave the host */
void dlcp_conn_pmtu_unsent(struct dlcp_conn *c, const struct dlcp_sent *e,
			   u64 now);
bool dlcp_conn_pmtu_again(struct dlcp_conn *c, u64 now);
/* Time to try more */
void dlcp_conn_pmtu_timer(struct dlcp_conn *c, u64 now);
/* Size of the padded packet that is to be sent now; 0: none is */
u32 dlcp_conn_pmtu_probe(struct dlcp_conn *c);
void dlcp_conn_pmtu_refused(struct dlcp_conn *c, u64 now);

/* conn_cut.c: segments in pieces. Of position out->pos a piece, if it does not fit
 * the path. Return: false: no memory
 */
bool dlcp_conn_cut_start(struct dlcp_conn *c, struct dlcp_out *out);
/* The piece @out leaves as @e */
void dlcp_conn_cut_sent(struct dlcp_conn *c, const struct dlcp_out *out,
			struct dlcp_sent *e);
/* Return: the segment of @e is acknowledged, and not just a piece */
bool dlcp_conn_cut_acked(struct dlcp_conn *c, struct dlcp_txmsg *m,
			 const struct dlcp_sent *e);
/* Return: there was something in it that the peer does not have */
bool dlcp_conn_cut_lost(struct dlcp_txmsg *m, const struct dlcp_sent *e);
void dlcp_conn_cut_tx_free(struct dlcp_conn *c, struct dlcp_txmsg *m);
/* A piece came. DLCP_OK: with it the segment is whole */
enum dlcp_verdict dlcp_conn_cut_rx(struct dlcp_conn *c, struct dlcp_rxmsg *m,
				   const struct dlcp_data *d, void **kept);
/* A piece of segment @seg is here */
bool dlcp_conn_cut_rx_begun(const struct dlcp_rxmsg *m, u32 seg);
/* All of it came in one packet: its pieces are forgotten */
void dlcp_conn_cut_rx_whole(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg);
void dlcp_conn_cut_rx_free(struct dlcp_conn *c, struct dlcp_rxmsg *m);

#endif
