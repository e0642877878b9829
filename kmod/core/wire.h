/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet formats. Every length that comes from the network is checked in
 * wire.c and nowhere else: what the parsers hand on may be trusted to lie
 * within the packet. All multi-byte fields are big endian.
 *
 * A DLCP packet is the payload of a UDP datagram, or follows an 8-byte
 * header of the same form as UDP's in an IP packet of protocol 253.
 *
 * Every packet starts with
 *
 *   0                8    9      10    11     12
 *   | tag (64)       |type|flags |path |class | ...
 *
 *   tag     the receiver's connection tag; in INIT zero
 *   type    enum dlcp_ptype
 *   flags   DLCP_F_*
 *   path    path the packet was sent on, 0..15
 *   class   bits 0-2 priority class, bits 3-4 enum dlcp_tag
 *
 * DATA, 24 bytes, then (with DLCP_F_OPEN) an open block of 40 bytes, then
 * exactly one segment:
 *
 *   12 pn (32)    packet number on this path
 *   16 msg (32)   message number, low 32 bits
 *   20 seg (32)   index of the segment
 *
 * With DLCP_F_PIECE, and never an open block, it is a piece of that segment:
 *
 *   24 off (16)   where in the segment it begins
 *   26 zero (16)
 *
 * DLCP_F_SENT: with this packet all of the message has been sent once. What the
 * receiver does about it, and after which silence, see rxmsg.h.
 *
 * CTRL, 16 bytes, then frames:
 *
 *   12 pn (32)    packet number; counts only with DLCP_F_ELICIT
 *
 * A frame is { u8 type; u8 flags; be16 len; body }, len counts the whole
 * frame and is a multiple of 4; a frame of unknown type is skipped.
 */
#ifndef _DLCP_CORE_WIRE_H
#define _DLCP_CORE_WIRE_H

#include "env.h"

#define DLCP_VERSION		1

#define DLCP_HDR_LEN		12
#define DLCP_DATA_HDR_LEN	24
#define DLCP_CTRL_HDR_LEN	16
/* And of one that a DATA packet follows, with the frame that says so */
#define DLCP_FRONT_LEN		(DLCP_CTRL_HDR_LEN + 8)
#define DLCP_RESET_LEN		24
#define DLCP_OPEN_LEN		40
#define DLCP_DOUBLED_MAX	7	/* of dlcp_open.share */
#define DLCP_PIECE_LEN		4
#define DLCP_COOKIE_LEN		48
#define DLCP_SETUP_LEN		128	/* INIT and ECHO are padded to this */

/* Addresses an end may have beside that of set-up */
#define DLCP_RAILS_MAX		4
#define DLCP_ADDR_LEN		16	/* of IPv4 the first 4 are used */

/* Largest number of 64-bit words in one ACK or MAP frame */
#define DLCP_ACK_WORDS_MAX	16
#define DLCP_MAP_WORDS_MAX	64

enum dlcp_ptype {
	DLCP_PT_DATA		= 1,
	DLCP_PT_CTRL		= 2,
	DLCP_PT_INIT		= 3,	/* client: a cookie, please */
	DLCP_PT_INIT_ACK	= 4,	/* server: here; it kept nothing */
	DLCP_PT_ECHO		= 5,	/* client: cookie sent back */
	DLCP_PT_ECHO_ACK	= 6,	/* server: established */
	DLCP_PT_RESET		= 7,
};

#define DLCP_F_ACK_NOW		0x01	/* acknowledge without delay */
#define DLCP_F_OPEN		0x02	/* DATA: an open block follows */
#define DLCP_F_RESENT		0x04	/* DATA: the segment was sent before */
#define DLCP_F_ELICIT		0x08	/* CTRL: to be acknowledged */
#define DLCP_F_QUEUED		0x10	/* DATA: its sender sees a queue */
#define DLCP_F_HERE		0x20	/* its sender receives at its source port */
#define DLCP_F_PIECE		0x40	/* DATA: a piece of a segment */
#define DLCP_F_SENT		0x80	/* DATA: all of the message was sent once */
#define DLCP_F_STRAY		0x20	/* RESET: of a packet without HERE */
/* What only the last packet of a batch says */
#define DLCP_F_LAST		(DLCP_F_ACK_NOW | DLCP_F_SENT)

enum dlcp_ftype {
	DLCP_FT_PAD		= 0,
	DLCP_FT_ACK		= 1,
	DLCP_FT_OPEN		= 2,
	DLCP_FT_OFFER		= 3,	/* sender: complete without so many */
	DLCP_FT_MAP		= 4,	/* receiver: what it has */
	DLCP_FT_DONE		= 5,	/* receiver: complete; count missing */
	DLCP_FT_DONE_ACK	= 6,	/* sender: report known, forget it */
	DLCP_FT_GETMAP		= 7,	/* sender: MAP from this word on */
	DLCP_FT_CREDIT		= 8,	/* receiver: may send so much of msg */
	DLCP_FT_WINDOW		= 9,	/* receiver: limits of the connection */
	DLCP_FT_CLOSE		= 10,	/* no message after number n */
	DLCP_FT_RATE		= 11,	/* receiver: send no faster than that */
	DLCP_FT_RAILS		= 12,	/* my addresses beside that of set-up */
	DLCP_FT_ASK		= 13,	/* do you receive here? say this back */
	DLCP_FT_ANSWER		= 14,	/* what was asked to be said back */
	DLCP_FT_SENT		= 15,	/* sender: all of it was sent once */
	DLCP_FT_DATA		= 16,	/* the packet's end; DATA follows it */
};

#define DLCP_FT_LAST		DLCP_FT_DATA

/* Longest silence a sender may ask for, ns */
#define DLCP_WAIT_MAX		((u32)NSEC_PER_SEC)

/* Reset codes */
enum dlcp_reset_code {
	DLCP_RST_ABORT		= 1,	/* the peer gave up: ECONNRESET */
	DLCP_RST_REFUSED	= 2,	/* nobody listens: ECONNREFUSED */
	DLCP_RST_UNKNOWN	= 3,	/* no such connection: ECONNRESET */
	DLCP_RST_VERSION	= 4,	/* no common version: EPROTONOSUPPORT */
	DLCP_RST_PROTOCOL	= 5,	/* the peer broke the protocol: EPROTO */
};

struct dlcp_hdr {
	u64	tag;
	u8	type;
	u8	flags;
	u8	path;
	u8	cls;		/* wire byte: priority class and tag */
};

static inline u8 dlcp_cls(u8 prio, u8 tag)
{
	return (prio & 7) | (tag & 3) << 3;
}

static inline u8 dlcp_cls_prio(u8 cls)
{
	return cls & 7;
}

static inline u8 dlcp_cls_tag(u8 cls)
{
	return (cls >> 3) & 3;
}

/* What a message is: in a DATA packet with DLCP_F_OPEN and in frame OPEN */
struct dlcp_open {
	u64	key;
	u64	length;
	u32	loss_ppm;
	u32	deadline_us;	/* what is left of it when sent; 0 = none */
	u32	nr_critical;	/* critical segments */
	u16	seg_size;
	u16	elem_size;
	u8	prio;
	u8	flags;		/* DLCP_MSG_SENDER_FLAGS */
	u8	has_deadline : 1; /* deadline_us 0 then means: it has passed */
	u8	share : 3;	/* doublings of its part of the allowance */
	u8	wait;		/* silence after DLCP_F_SENT: dlcp_wait_ns() */
	u32	group;		/* whose budget it shares; 0 = it has its own */
};

/**
 * dlcp_wait_code() - a silence as a byte of the open block
 * @ns: at most DLCP_WAIT_MAX counts; 0 = none is known
 *
 * 3 bits of mantissa and 5 of exponent: what dlcp_wait_ns() makes of it is
 * never shorter than @ns, and by less than a seventh longer.
 */
u8 dlcp_wait_code(u64 ns);
u32 dlcp_wait_ns(u8 code);

struct dlcp_data {
	u32	pn;
	u32	msg;
	u32	seg;
	u32	off;		/* with DLCP_F_PIECE: of its bytes in the
				 * segment
				 */
	u32	len;		/* payload bytes */
	const u8 *payload;	/* NULL where only the header was given */
	struct dlcp_open open;	/* with DLCP_F_OPEN */
};

struct dlcp_f_ack {
	u8	path;
	u16	nr_words;
	u32	largest;	/* highest packet number received on path */
	u32	delay_us;	/* since the last packet came */
	u32	ce;		/* packets with CE on this path so far */
	u32	count;		/* packets counted on this path so far */
	u32	time_us;	/* the last packet came so long after the first
				 * of this path; wraps
				 */
	u64	words[DLCP_ACK_WORDS_MAX];	/* bit k: largest - k is here */
};

struct dlcp_f_map {
	u32	msg;
	u32	first_word;	/* segments from 64 * first_word on */
	u16	nr_words;
	u64	words[DLCP_MAP_WORDS_MAX];	/* 1 = received */
};

struct dlcp_f_done {
	u32	msg;
	u32	nr_missing;	/* segments */
	u64	missing;	/* bytes */
	u8	why;		/* enum dlcp_why; 0 if nothing is missing */
	u8	below_bound;
	u8	late;
};

struct dlcp_f_rails {
	u8	family;		/* 4 or 6 */
	u8	addr[DLCP_RAILS_MAX][DLCP_ADDR_LEN];	/* all zero: none */
};

/* Of OPEN: all of the message comes within the allowance, which it is charged with,
 * and its data follows
 */
#define DLCP_FF_COVERED		BIT(0)

struct dlcp_frame {
	u8	type;
	u8	flags;		/* DLCP_FF_* */
	union {
		struct dlcp_f_ack ack;
		struct dlcp_f_map map;
		struct dlcp_f_done done;
		struct {
			u32 msg;
			struct dlcp_open open;
		} open;
		struct {
			u32 msg;
			u32 word;	/* GETMAP: from this word on */
		} msg;			/* DONE_ACK, GETMAP */
		struct {
			u32 msg;
			u32 given_up;	/* segments that will not be sent again */
		} offer;
		struct {
			u32 msg;
			u32 wait;	/* silence, ns; 0 = complete by nothing */
		} sent;
		struct {
			u32 msg;
			u64 bytes;	/* of first transmissions, in all */
		} credit;
		struct {
			u32 max_msg;	/* first message number not allowed */
			u64 unsolicited; /* bytes without a credit, in all */
		} window;
		struct {
			u32 nr_msgs;	/* messages sent in all */
		} close;
		struct {
			u32 rate;	/* 1000 bytes per second; 0 = any */
		} rate;
		struct dlcp_f_rails rails;
		struct {
			u64 token;
		} token;		/* ASK, ANSWER */
	};
};

/* INIT, INIT_ACK, ECHO and ECHO_ACK carry parts of one structure */
struct dlcp_setup {
	u64	tag;		/* of the one who sends, to be put in replies */
	u16	sport;		/* DLCP ports of the one who sends */
	u16	dport;
	u8	version_min;	/* INIT; in the others both are the chosen */
	u8	version_max;
	u16	options;	/* none defined; unknown bits are ignored */
	u32	max_msg;	/* ECHO, ECHO_ACK: as in WINDOW */
	u64	unsolicited;
	u8	cookie[DLCP_COOKIE_LEN];	/* INIT_ACK, ECHO */
	bool	here;		/* DLCP_F_HERE */
};

struct dlcp_reset {
	u64	your_tag;	/* tag the offending packet was sent with, or,
				 * answering INIT, the tag it announced
				 */
	u16	code;
	u8	version_min;	/* DLCP_RST_VERSION */
	u8	version_max;
	bool	stray;		/* DLCP_F_STRAY */
};

/* Parsers: 0, or -EBADMSG. len is what there is from the first byte on. */
int dlcp_get_hdr(const u8 *p, u32 len, struct dlcp_hdr *h);
/**
 * dlcp_get_data() - parse a DATA packet
 * @p: the packet, at least the first DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN bytes
 *	of it, or all if it is shorter
 * @avail: bytes at @p
 * @len: bytes of the whole packet, >= @avail
 * @h: its header, from dlcp_get_hdr()
 * @d: filled in; d->payload points into @p only if all of it is there
 *
 * Return: the payload's offset: length of header and open block, or of what a
 * piece has instead; or -EBADMSG.
 */
int dlcp_get_data(const u8 *p, u32 avail, u32 len, const struct dlcp_hdr *h,
		  struct dlcp_data *d);
int dlcp_get_ctrl(const u8 *p, u32 len, u32 *pn);
/**
 * dlcp_get_frame() - parse the next frame of a CTRL packet
 * @p: the packet
 * @len: its length
 * @off: in/out: DLCP_CTRL_HDR_LEN before the first call
 * @f: filled in
 *
 * Return: 1 with a frame of a known type, 0 at the end, -EBADMSG. Frames of
 * unknown type are skipped. Values are range-checked as far as that needs no
 * state (word counts, path < 16, non-zero seg_size, loss_ppm <= 1000000,
 * elem_size 1..256, prio <= 7, seg_size a multiple of elem_size, critical
 * segments <= segments, segments fit 32 bits).
 */
int dlcp_get_frame(const u8 *p, u32 len, u32 *off, struct dlcp_frame *f);
/**
 * dlcp_get_front() - does a DATA packet follow in the same datagram?
 * @p: a CTRL packet, at least DLCP_FRONT_LEN bytes of it, or all if it is shorter
 * @avail: bytes at @p
 * @len: bytes of the datagram
 *
 * Return: bytes of the CTRL packet; 0: nothing follows it
 */
u32 dlcp_get_front(const u8 *p, u32 avail, u32 len);
int dlcp_get_setup(const u8 *p, u32 len, const struct dlcp_hdr *h,
		   struct dlcp_setup *s);
int dlcp_get_reset(const u8 *p, u32 len, struct dlcp_reset *r);

/* The header of a DATA packet, as three words */
struct dlcp_words {
	u64	tag, pn, seg;
};

static inline struct dlcp_words dlcp_get_words(const u8 *p)
{
	return (struct dlcp_words) { dlcp_get_be64(p), dlcp_get_be64(p + 8),
				     dlcp_get_be64(p + 16) };
}

/* Is a DATA packet the @n-th behind another one: the same, but so much more of packet
 * number and segment? @p: its header; @first: the other's. Return: 0: no; 1: it is;
 * 2: and it has flags that end a batch.
 */
static inline u32 dlcp_data_follows(const u8 *p, struct dlcp_words first, u32 n)
{
	u64 diff = dlcp_get_be64(p + 8) ^ (first.pn + n);

	if (dlcp_get_be64(p) != first.tag ||
	    dlcp_get_be64(p + 16) != first.seg + n ||
	    diff & ~((u64)DLCP_F_LAST << 48))
		return 0;
	return diff ? 2 : 1;
}

/* The @len bytes, a multiple of 8, at @a and @b: are they the same? */
static inline bool dlcp_same_words(const u8 *a, const u8 *b, u32 len)
{
	u64 diff = 0;

	for (; len; len -= 8, a += 8, b += 8)
		diff |= dlcp_get_be64(a) ^ dlcp_get_be64(b);
	return !diff;
}

/* Writers: bytes written; put_frame 0 if @room does not hold the frame. */
u32 dlcp_put_data(u8 *p, u64 tag, u8 flags, u8 path, u8 cls, u32 pn, u32 msg,
		  u32 seg);
/* As @first, of the same batch, but for packet number and segment */
static inline void dlcp_put_data_like(u8 *p, const u8 *first, u32 pn, u32 seg)
{
	memcpy(p, first, DLCP_DATA_HDR_LEN);
	dlcp_put_be32(p + 12, pn);
	dlcp_put_be32(p + 20, seg);
}

u32 dlcp_put_open(u8 *p, const struct dlcp_open *o);
u32 dlcp_put_piece(u8 *p, u32 off);
u32 dlcp_put_ctrl(u8 *p, u64 tag, u8 flags, u8 path, u32 pn);
/* The first frame of a CTRL packet of @len bytes that a DATA packet follows */
u32 dlcp_put_front(u8 *p, u32 len);
/* The beginning of a frame PAD that is @len bytes long, zeros from there on */
u32 dlcp_put_pad(u8 *p, u32 len);
u32 dlcp_put_frame(u8 *p, u32 room, const struct dlcp_frame *f);
/* Always DLCP_SETUP_LEN bytes for INIT and ECHO; INIT_ACK and ECHO_ACK are
 * never longer than what they answer.
 */
u32 dlcp_put_setup(u8 *p, u8 type, u64 tag, const struct dlcp_setup *s);
/* 24 bytes */
u32 dlcp_put_reset(u8 *p, u64 tag, const struct dlcp_reset *r);

#endif
