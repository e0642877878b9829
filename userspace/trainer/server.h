/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TRAINER_SERVER_H
#define TRAINER_SERVER_H

#include <pthread.h>
#include <stdio.h>

#include "data.h"
#include "train.h"

struct server;

/**
 * struct peer - a worker as the server sees it
 * @server: back
 * @id: its number
 * @conn: connection to it
 * @name: its address
 * @reader: thread that receives from it
 * @writer: thread that sends to it
 * @grads: its gradient of this step
 * @gaps: what is missing of it, for each piece
 * @status: what it said at each step, one more before and one after
 */
struct peer {
	struct server	*server;
	int		id;
	struct conn	*conn;
	char		name[100];
	pthread_t	reader, writer;
	float		*grads;
	struct gaps	gaps[MAX_PIECES];
	struct status	*status;
};

/**
 * struct step - progress of a step
 * @pieces: pieces whose parameters are new
 * @statuses: workers that have reported
 * @done_ms: when the last piece became new
 * @snapshot: parameters after it, for the test; or NULL
 */
struct step {
	int		pieces;
	uint32_t	statuses;
	double		done_ms;
	float		*snapshot;
};

/**
 * struct server - all of the server
 * @opt: what the user wants
 * @net: transport
 * @nr_params: floats of the model
 * @steps: number of steps
 * @params: parameters
 * @momentum: running mean of gradients
 * @mean: gradient of this step
 * @peers: the workers
 * @lock: guards what follows
 * @changed: something below has changed
 * @arrived: for each piece, gradients of this step that are here
 * @ready: keys of messages to all workers, in order; writers follow it
 * @nr_ready: their number
 * @step: progress of each step; [steps + 1] has the final statuses
 * @start_ms: when the first parameters were sent
 */
struct server {
	const struct options	*opt;
	const struct net_ops	*net;
	int			nr_params;
	uint32_t		steps;
	float			*params, *momentum, *mean;
	struct peer		peers[MAX_WORKERS];
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	uint32_t		arrived[MAX_PIECES];
	uint64_t		*ready;
	size_t			nr_ready;
	struct step		*step;
	double			start_ms;
};

/* report.c: the file, and the test set, before anybody waits */
void report_open(const struct options *opt);
/* Print the results as they come; returns after the last step */
void report_run(struct server *s);
void report_end(struct server *s);

#endif
