/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all attacks begin with: a connection of h0 with h1, packets of it, and a
 * way to put others on the wire. The attacker sits in h0, the victim is h1.
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
long long new_drops(struct scene *s);
/* Packets of the trace that are not set-up, which a slow machine sends again */
int past_set_up(struct scene *s);
/* The connection is as it was, and works */
void nothing_changed(struct scene *s);

#endif
