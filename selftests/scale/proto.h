/* SPDX-License-Identifier: GPL-2.0 */
/* What a transport protocol is to the simulator, and the messages it carries. */
#ifndef _SCALE_PROTO_H
#define _SCALE_PROTO_H

#include "fabric.h"

#define PROTOS_MAX	8

/* A message from host to host: a tensor of one rank in one step */
struct xfer {
	u64	nr;		/* its number, from 0 */
	u32	src;
	u32	dst;
	u64	bytes;
	u64	missing;	/* when done */
	u64	sent_at;	/* ns */
	u64	done_at;	/* ns: complete at the receiver; 0: not yet */
	u64	left;		/* packets, for protocols that count them */
	u32	loss_ppm;
	u32	job;
	u32	step;
	u32	tensor;
	u32	from_rank;
	u32	to_rank;
	u8	kind;		/* the job's own */
	u8	prio;
	u8	droppable;	/* percent of segments */
	u16	tries;		/* so often an end forgot it, and it is sent anew */
	bool	reported;	/* the sender knows, too */
	struct ev ev;
	struct xfer *next;	/* the protocol's */
	void	*priv;
};

/* What happened in all, of one protocol */
struct proto_stats {
	u64	sent;		/* packets of data */
	u64	resent;
	u64	timeouts;
	u64	spurious;
	u64	failed;		/* connections that ended with an error */
	u64	late_by;	/* the last of them, errno */
	u64	unopened;	/* data that was kept for its OPEN */
	u64	cut;		/* segments that came in pieces */
	u64	holes;		/* black holes found: an MTU that changed, and none does here */
};

struct proto {
	const char *name;
	const struct port_ops *disc;	/* of switches */
	u32	bands;
	u8	nr;		/* set by proto_setup() */
	void (*setup)(u8 nr);
	/* Make ready for messages between two hosts; optional */
	void (*connect)(u32 a, u32 b);
	/* All of them are ready; optional */
	bool (*ready)(void);
	void (*send)(struct xfer *x);
	void (*rx)(u32 host, struct pkt *k);
	/* Data for an idle card; optional: else the protocol sends by itself */
	struct pkt *(*pull)(u32 host, u8 rail);
	void (*sent)(void *owner, u8 rail, u32 wire);
	/* The host loses what it knows, or is there again; optional: it cannot */
	void (*boot)(u32 host, bool up);
	void (*stats)(struct proto_stats *s);
};

extern struct proto proto_dlcp, proto_dctcp, proto_pfabric, proto_ndp,
	proto_homa;
/* TCP as ns-3 has it: ns3/ */
extern struct proto proto_ns3_dctcp, proto_ns3_cubic, proto_ns3_bbr;

/* All of @x that will come is at its receiver. Checks the bound. */
void xfer_done(struct xfer *x);
struct xfer *xfer_find(u64 nr);
struct proto *proto_find(const char *name);
/* A check of the simulator that nothing may break */
void scale_die(const char *file, int line, const char *what)
	__attribute__((__noreturn__));
#define SCALE_CHECK(c) \
	do { if (!(c)) scale_die(__FILE__, __LINE__, #c); } while (0)

#endif
