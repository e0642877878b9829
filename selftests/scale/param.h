/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is simulated, as key=value: see README.md, and param.c for the keys and
 * their defaults.
 */
#ifndef _SCALE_PARAM_H
#define _SCALE_PARAM_H

#include "env.h"

#define SCALE_JOBS_MAX		64
#define SCALE_LAYERS_MAX	512
#define SCALE_FAULTS_MAX	32
#define SCALE_TEXT_MAX		32

/* A kind of job, and how many of it */
struct job_param {
	char	kind[SCALE_TEXT_MAX];	/* ps, ring */
	char	proto[SCALE_TEXT_MAX];	/* dlcp, dctcp, pfabric */
	char	place[SCALE_TEXT_MAX];	/* random, pack */
	u64	jobs;		/* alike, side by side */
	u64	workers;
	u64	servers;	/* 0: each worker is a server, too */
	u64	bytes;		/* of the gradient of a worker */
	u64	layers[SCALE_LAYERS_MAX];	/* instead, front layer first */
	u32	nr_layers;
	u64	work[SCALE_LAYERS_MAX];	/* to compute them, relative; else their bytes */
	u32	nr_work;
	u64	pull;		/* servers send the sum back */
	u64	dear;		/* pulls wait for all pushes, and go layer by layer */
	u64	prio;		/* classes by layer; else all are alike */
	u64	loss_ppm;	/* loss bound of pushes, */
	u64	pull_ppm;	/* and of pulls */
	u64	droppable;	/* percent of segments */
	u64	backward_us;	/* time to compute, split over layers by work */
	u64	forward_us;
	u64	gap_us;		/* between steps */
	u64	jitter_ns;	/* each worker begins so much later, at random */
};

struct scale_param {
	/* fabric */
	char	topo[SCALE_TEXT_MAX];	/* star, leaf, fat */
	char	disc[SCALE_TEXT_MAX];	/* drop, ndp, pfabric; auto: the job's */
	u64	hosts;
	u64	per;		/* hosts of a leaf */
	u64	spines;
	u64	k;		/* ports of a switch of a fat tree */
	u64	rails;		/* fabrics side by side, a card of each host in each */
	u64	mbps;		/* of a host's card */
	u64	up_mbps;	/* leaf to spine; 0: as mbps */
	u64	delay_ns;	/* of a link, each way */
	u64	mtu;		/* of IP */
	u64	queue;		/* full packets at a port */
	u64	ecn;		/* full packets from which on all are marked; 0 = never */
	u64	ecn_min;	/* from here on some are; 0: as ecn */
	u64	bands;		/* priority bands of a port; 0: as the jobs want */
	u64	spray;		/* switches take any way for each packet */
	char	fault[SCALE_FAULTS_MAX][128];
	u32	nr_faults;
	/* run */
	u64	seed;
	u64	steps;		/* that count */
	u64	warm;		/* before them */
	u64	stop_ms;	/* from the start of the jobs on */
	u64	shift;		/* of the wheel */
	u64	bits;
	u64	cdf;		/* print distributions */
	/* DLCP */
	char	cong[SCALE_TEXT_MAX];
	u64	paths;
	u64	grants;
	u64	order;		/* egress scheduling */
	u64	rx_space;
	u64	dead_ms;
	u64	lose_credits;	/* CREDITs that get lost, the first ones */
	/* peers */
	u64	rto_us;		/* minimum timeout; 0: the protocol's own */
	u64	modern;		/* DCTCP: RACK and TLP as Linux has them */
	u64	credit;		/* pFabric: packets on their way; 0: what the network
				 * holds
				 */

	struct job_param job[SCALE_JOBS_MAX];
	u32	nr_jobs;
};

extern struct scale_param par;

/* Exits if they make no sense */
void param_parse(int argc, char **argv);

/* Packets carry so much, and take so many bytes on the wire: IP, UDP or TCP with
 * its timestamps, Ethernet with preamble and gap
 */
static inline u32 par_payload(void)
{
	return (u32)par.mtu - 52;
}

static inline u32 par_wire(void)
{
	return (u32)par.mtu + 38;
}

#endif
