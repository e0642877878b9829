/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all attacks begin with: a connection of h0 with h1, packets of it, and a
 * way to put others on the wire, lies among them. The attacker sits in h0, the victim
 * is h1.
 */
#ifndef SCENE_H
#define SCENE_H

#include "lib.h"
#include "packet.h"

struct scene {
	struct hosts	h;
	struct pair	p;
	struct trace	t;	/* what h0 sent: set-up and a message */
	struct dlcp_info before;
	long long	drops;
	int		wire;	/* of h0 */
};

enum { TRACE_MAX = 400 };

void open_scene(struct scene *s);
/* The same on hosts that are there already: s->h */
void scene_begin(struct scene *s);
/* What crosses the wire is of no more interest, and must not fill memory */
void wire_deaf(int wire);
/* The honest end neither sees nor says anything any more */
void silence(struct scene *s);
long long new_drops(struct scene *s);
/* Packets of the trace that are not set-up, which a slow machine sends again */
int past_set_up(struct scene *s);
/* The connection is as it was, and works */
void nothing_changed(struct scene *s);

/* Frames, as in Documentation/protocol.md */
enum { F_PAD, F_ACK, F_OPEN_MSG, F_OFFER, F_MAP, F_DONE, F_DONE_ACK, F_GETMAP,
       F_CREDIT, F_WINDOW, F_CLOSE, F_RATE, F_RAILS, F_ASK, F_ANSWER };
/* Bytes of an ACK between its header and its bitmap */
enum { ACK_BODY = 24 };

enum {
	LIAR_PATH = 15,		/* the honest end of the connection uses 0 */
	LIAR_MSG = 1000,	/* and does not come to these numbers */
};

void put(u8 *p, int bytes, u64 val);
u8 *add(u8 *p, int bytes, u64 val);	/* Return: behind it */
/* A packet of h0's, without content */
void lie_begin(struct scene *s, struct packet *p, int type);
void lie_send(struct scene *s, struct packet *p);
/* One frame with this body; @len is what it says of itself if not 0 */
void lie_frame(struct scene *s, int type, const u8 *body, int n, int len);

struct open {
	u64	length;
	u32	loss;
	u32	critical;
	int	seg;
	int	elem;
	int	prio;
	int	wait;
};

void lie_open(struct scene *s, u32 msg, const struct open *o);
void lie_data(struct scene *s, u32 pn, u32 msg, u32 seg, int len);

#endif
