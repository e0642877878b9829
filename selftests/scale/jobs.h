/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs: who sends what to whom, step by step. A step begins for all workers at
 * once, give or take jitter, and ends when the last of them has what it needs.
 *
 * ps: each worker pushes each layer, in the order of the backward pass, split over
 * the servers. A server that has a piece of all workers sends the sum back (pull).
 * With servers=0 each worker is a server, too: this is the all-reduce by
 * transpose. dear=1: first all pushes (reduce-scatter), then the pulls layer by
 * layer from the front (all-gather), as DeAR does (ICDCS 2023).
 *
 * ring: each rank passes pieces on to the next, 2 (n - 1) times.
 */
#ifndef _SCALE_JOBS_H
#define _SCALE_JOBS_H

#include "proto.h"

struct job;

struct worker {
	struct ev ev;
	struct job *job;
	u32	nr;
	u32	layer;		/* backward: those below are to be pushed */
	u32	forward;	/* layers used */
	u32	gathered;	/* DeAR: layers that it has sent on; ring: rounds */
	bool	computes;
};

struct job {
	struct ev ev;
	const struct job_param *p;
	struct proto *proto;
	u32	nr;
	u32	nr_workers;
	u32	nr_servers;
	bool	shared;		/* the workers are the servers */
	u32	*host;		/* of workers, then of servers */
	struct worker *worker;
	u32	step;
	bool	over;
	u64	began;		/* ns: the step */
	u64	floor;		/* ns: no step can be shorter */
	u32	*push_left;	/* by layer and server */
	u32	*pull_left;	/* by worker and layer */
	u32	*scatter_left;	/* by server: pieces to come */
	u32	left;		/* workers, or pieces, the step waits for */
	u64	*time;		/* ns: of each step that counts */
	u64	*ideal;		/* ns: what each of them had to wait for */
	u64	*late_cut;	/* ns: outages after that, which are not counted */
	struct job_ideal *now;	/* ideal.c */
};

extern struct job *jobs_all;
extern u32 jobs_nr;
extern u32 jobs_running;

/* Bytes of @layer that are @server's */
u64 job_piece(const struct job *j, u32 layer, u32 server);
/* As a rank of job->host */
u32 job_server_rank(const struct job *j, u32 server);
/* The worker is that server, too */
bool job_is_self(const struct job *j, u32 worker, u32 server);
bool job_is_ring(const struct job *j);

void jobs_make(struct proto *(*find)(const char *name));
/* Call @fn for each pair of hosts that will have something to say */
void jobs_pairs(void (*fn)(struct proto *p, u32 a, u32 b));
void jobs_start(void);

/* Messages that counted, in the order in which they began */
u64 xfers_nr(void);
struct xfer *xfer_at(u64 i);
bool xfer_counts(const struct xfer *x);

#endif
