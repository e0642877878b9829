/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DLCP packets as they are on the wire: seen, changed, and put back. The
 * layout is that of Documentation/protocol.md, written down once more here
 * so that a mistake in the module is not repeated by its test.
 */
#ifndef PACKET_H
#define PACKET_H

#include "net.h"

enum { DATA = 1, CTRL, INIT, INIT_ACK, ECHO, ECHO_ACK, RESET };

#define F_OPEN		0x02
#define F_RESENT	0x04
#define F_ELICIT	0x08
#define F_QUEUED	0x10
#define F_HERE		0x20
#define DATA_HDR	24

/* Offsets in a DLCP packet */
enum { AT_TAG = 0, AT_TYPE = 8, AT_FLAGS = 9, AT_PATH = 10, AT_CLASS = 11,
       AT_PN = 12, AT_MSG = 16, AT_SEG = 20 };

struct packet {
	u8	frame[9100];
	int	len;
	bool	out;		/* left the interface it was seen on */
	/* where in the frame */
	int	ip;
	int	udp;		/* or the header of the raw encapsulation */
	int	dlcp;
};

/* Everything that crosses an interface from now on */
int wire_open(int net, const char *dev);
/* The next DLCP packet; false if none comes for @ms */
bool wire_read(int fd, struct packet *p, int ms);
void wire_send(int fd, const struct packet *p);

static inline u8 *dlcp_of(struct packet *p)
{
	return p->frame + p->dlcp;
}

static inline int dlcp_len(const struct packet *p)
{
	return p->len - p->dlcp;
}

static inline int type_of(struct packet *p)
{
	return dlcp_of(p)[AT_TYPE];
}

int dscp_of(const struct packet *p);
int ecn_of(const struct packet *p);
void set_source(struct packet *p, union addr a);
/* Lengths and checksums right for p->len bytes */
void packet_fix(struct packet *p);
/* An ICMP error (v4 code, v6 code) that quotes @q, from its destination back
 * to its source
 */
void icmp_make(struct packet *p, const struct packet *q, int type, int code,
	       u32 info);

/* The packets of one direction, kept */
struct trace {
	struct packet	*p;
	int		nr;
	int		max;
};

/* All that were sent out on @fd until it is quiet */
void trace_read(int fd, struct trace *t, int max);
/* The first of a type; it must be there */
struct packet *trace_find(struct trace *t, int type);

#endif
