/* SPDX-License-Identifier: GPL-2.0 */
/* What the shell around the engine keeps. */
#ifndef _SCALE_DRIVER_H
#define _SCALE_DRIVER_H

#include "conn_msg.h"
#include "egress.h"
#include "ingress.h"
#include "map.h"
#include "proto.h"
#include "wakeup.h"

#define KEY_TRY		48	/* bits of a key: which message; above: which try */

struct flow {
	struct dlcp_egress_entry entry;
	struct end *e;
	u32	out;		/* bytes in the card's queue */
};

/* One end of a connection */
struct end {
	struct dlcp_conn c;
	struct ev timer;
	struct dlcp_wakeup wakeup;
	struct dlcp_ingress ingress;
	struct dlcp_grant *link;
	struct list_head fresh;	/* struct rx, not seen yet */
	struct xfer *wait;	/* messages to be sent */
	struct xfer **wait_tail;
	u64	tune_time;
	u64	tune_bytes;
	u32	host;
	u32	peer;
	bool	ready;
	bool	failed;
	bool	bereft;		/* the peer's host has lost its end */
	struct end *next;	/* of all */
	struct flow flow[];	/* by rail */
};

struct dev {
	struct dlcp_egress sched;
	u32	out;
};

struct host {
	u64	secret;
	struct dlcp_grant grant[DLCP_PAIRS_MAX];
	struct dev dev[DLCP_PAIRS_MAX];
	bool	down;
	struct xfer *wait;	/* for the host to be up */
};

struct tx {
	struct dlcp_txmsg m;
	struct xfer *x;
	void	*mem;
};

/* A packet before its OPEN */
struct kept {
	struct dlcp_unopened held;
	struct pkt *k;
};

struct rx {
	struct dlcp_rxmsg m;
	struct list_head fresh;
	struct xfer *x;
	u16	tries;		/* as of the message when this one was sent */
	bool	seen;		/* its completion */
};

extern struct host *hosts;
extern struct map tags, pairs;
extern struct end *ends;

static inline void tx_free(struct tx *t)
{
	free(t->mem);
	free(t);
}

void host_init(struct host *h);
void ev_rx_free(struct end *e);
void dl_send(struct xfer *x);

/* reboot.c: the connection is over, as the peer has forgotten it */
void end_bereft(struct end *e);
void dl_boot(u32 host, bool up);

#endif
