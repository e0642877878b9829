/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosts, switches and the links between them. A port has a queue and a rate,
 * and leads to another node after a delay; packets are stored and forwarded.
 */
#ifndef _SCALE_FABRIC_H
#define _SCALE_FABRIC_H

#include "param.h"
#include "wheel.h"

#define FABRIC_BANDS	9	/* of a port; 0: control, the most urgent */
#define FABRIC_BINS	64	/* of the distribution of queues */

struct pkt {
	struct ev ev;		/* reaches the node behind the port it left by */
	struct pkt *next;
	struct port *port;
	void	*owner;		/* at the sender: who is told that it left */
	void	*flow;		/* the protocol's own, */
	u64	rank;		/* pFabric: bytes its message has to go */
	u64	seq;
	u64	a;
	u64	b;
	u32	src;
	u32	dst;
	u32	wire;		/* bytes, with all there is around it */
	u32	hash;		/* entropy */
	u32	len;		/* of the packet in @data, what follows included */
	u16	size;		/* class of memory */
	u16	head;		/* bytes that are in @data: headers, and all of a control packet */
	u8	proto;
	u8	type;
	u8	band;
	u8	rail;
	u8	ect;
	u8	ce;
	u8	trimmed;
	u8	droppable;	/* beyond the mark it is dropped */
	u8	data[] __attribute__((__aligned__(8)));
};

struct band {
	struct pkt *head;
	struct pkt **tail;
	u64	bytes;
};

struct port {
	struct ev ev;		/* the transmitter becomes idle, with more to send */
	struct node *from;
	struct node *to;
	const struct port_ops *ops;
	struct band band[FABRIC_BANDS];
	u64	bytes;		/* in the queue */
	u64	idle_at;	/* ns */
	u64	ps_per_byte;
	u64	frac_ps;	/* left over from rounding to ns */
	u64	dead;		/* faults that hold it dead */
	u32	loss_ppm;
	u32	turn;		/* NDP: headers sent since the last data */
	u8	rail;
	bool	waits;		/* a card: ev tells that a packet left */
	void	*out_owner;	/* of that packet */
	u32	out_wire;
	u8	out_proto;
};

/* A switch, or a host, whose ports up are its cards */
struct node {
	char	kind;		/* h, l(eaf), a(ggregation), s(pine) */
	u32	nr;		/* of its kind */
	u32	low;		/* hosts below: low .. high - 1 */
	u32	high;
	u32	per;		/* of them at each port down */
	u32	nr_down;
	u32	nr_up;
	u32	salt;
	struct port **ports;	/* down, then up */
};

/* What happens to packets at a queue that is not idle */
struct port_ops {
	const char *name;
	void (*put)(struct port *p, struct pkt *k);
	struct pkt *(*get)(struct port *p);	/* NULL: empty */
};

struct fabric_stats {
	u64	packets;	/* that reached a switch's port */
	u64	drops;		/* for want of room */
	u64	early;		/* droppable ones beyond the mark */
	u64	marks;
	u64	trims;
	u64	bounced;	/* headers sent back to where they came from */
	u64	faults;		/* lost by faults */
	u64	queue_max;	/* bytes */
	u64	queue_sum;
	u64	bins[FABRIC_BINS + 1];	/* by 1/64 of the limit */
};

struct fabric {
	struct wheel wheel;
	u64	rng;
	u64	fault_rng;
	u64	hash;		/* of all that reached a host */
	u32	nr_nodes;
	u32	bands;
	u64	limit;		/* bytes of a queue */
	u64	mark;
	u64	mark_min;
	struct node *nodes;	/* hosts come first */
	u32	*slow;		/* of each host: computes so many times longer, percent */
	struct fabric_stats stats;
	const struct port_ops *disc;
	/* A packet for @host; takes it */
	void (*rx)(u32 host, struct pkt *k);
	/* A card is idle: the next packet, or NULL */
	struct pkt *(*pull)(u32 host, u8 rail);
	/* A packet of @owner has left the card */
	void (*sent)(u8 proto, void *owner, u8 rail, u32 wire);
	/* A host loses what it knows, or is there again */
	void (*boot)(u32 host, bool up);
};

extern struct fabric fab;

static inline u64 fab_now(void)
{
	return fab.wheel.now;
}

u64 rng_next(u64 *state);
static inline u64 rng_below(u64 *state, u64 n)
{
	return rng_next(state) % n;
}

/* Any good mixing: for hashes of flows */
u32 mix32(u32 a, u32 b, u32 c);
/* @k reached its host: when, between whom, its length and the bytes of its headers are part
 * of fab.hash from now on
 */
void fabric_note(const struct pkt *k);

/* Where a packet for host @dst leaves a switch */
struct port *node_route(const struct node *n, u32 dst, u32 entropy);

void fabric_init(const struct port_ops *disc, u32 bands);
/* Call @fn for each port, with the node that it leaves */
void fabric_ports(void (*fn)(struct port *p, void *arg), void *arg);
/* ns from host to host for @bytes on the wire, with nothing in the way */
u64 fabric_base(u32 src, u32 dst, u32 wire);

/* For topology.c: time begins; a port is there; all are */
void fabric_start(void);
void port_init(struct port *p);
void fabric_cables(void);

/* @room: bytes at .data, zeroed */
struct pkt *pkt_new(u32 room);
void pkt_free(struct pkt *k);
/* Into the queue of its host's card */
void fabric_send(struct pkt *k);
/* There may be something to pull */
void fabric_kick(u32 host, u8 rail);
/* @k reaches @n once more */
void fabric_again(struct node *n, struct pkt *k);
/* Drop it, with a counter */
void port_drop(struct pkt *k, u64 *counter);
void band_put(struct port *p, u32 band, struct pkt *k);
struct pkt *band_get(struct port *p, u32 band);

/* Bands in strict order, marks, drop precedence */
extern const struct port_ops port_drop_tail;
/* NDP: cuts payloads; Handley et al., SIGCOMM 2017, section 3.1 */
extern const struct port_ops port_ndp;
/* pFabric: the largest rank is dropped, the smallest goes first; Alizadeh et al.,
 * SIGCOMM 2013, section 4.2
 */
extern const struct port_ops port_pfabric;

/* Bytes on the wire of a packet without payload: the least Ethernet takes */
#define WIRE_MIN	84U

#endif
