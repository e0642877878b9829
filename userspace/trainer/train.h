/* SPDX-License-Identifier: GPL-2.0 */
/* What server and worker share */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include <stdint.h>

#include "model.h"
#include "net.h"

#define MAX_WORKERS	64
#define MAX_PIECES	200

/* Zeroed memory, or the end of the program with a message */
void *need_memory(size_t n, size_t size);
void __attribute__((noreturn)) out_of_memory(void);

/* What is done about gradients that did not arrive */
enum correct {
	CORRECT_NONE,		/* they count as zero */
	CORRECT_AVERAGE,	/* the server divides by what arrived */
	CORRECT_FEEDBACK,	/* the worker adds them to the next step's */
};

/**
 * struct config - a training run; the server tells its workers
 * @magic: CONFIG_MAGIC; a peer of other byte order or version has another
 * @id: of this worker, 0 .. @workers - 1
 * @workers: number of workers
 * @images: images of the training set that are used
 * @batch: images of one worker in one step
 * @epochs: times through the training set
 * @correct: enum correct
 * @compute_us: microseconds that each step's computation is made to take
 *	(it sleeps), 0 for as long as it does take
 * @slice: bytes of a message at most, 0 for a message per layer
 * @unused: 0
 * @seed: of initial parameters and order of the images
 * @loss: loss bound of gradients, a share
 * @droppable: share of the parts of a gradient to be dropped first
 */
struct config {
	uint32_t	magic;
	uint32_t	id;
	uint32_t	workers;
	uint32_t	images;
	uint32_t	batch;
	uint32_t	epochs;
	uint32_t	correct;
	uint32_t	compute_us;
	uint32_t	slice;
	uint32_t	unused;
	uint64_t	seed;
	double		loss;
	double		droppable;
};

#define CONFIG_MAGIC	0x444c4302

/**
 * struct piece - what one message carries
 * @layer: of which it is a part
 * @at: index of its first parameter
 * @count: number of its parameters
 */
struct piece {
	int	layer, at, count;
};

extern struct piece pieces[MAX_PIECES];
extern int nr_pieces;

/*
 * Cut all layers into pieces of at most @bytes (0: of any size), after
 * model_setup(). Returns -1 if there would be too many.
 */
int cut_pieces(uint32_t bytes);

/*
 * What a worker says when it is ready (as of step 0), at the end of each step
 * (1 and up), and at the end of all
 */
struct status {
	double		loss;
	uint32_t	right;
	uint32_t	images;
	struct stats	stats;
};

/**
 * struct options - what the user gave
 * @net: transport
 * @config: server: the run; worker: filled in by the server
 * @host: worker: of the server
 * @port: of the server
 * @data: folder of the data set
 * @eval_every: server: steps between two looks at the test set
 * @eval_images: server: images of the test set to look at
 * @test_images: server: the same at the end
 * @rate: server: highest learning rate
 * @out: server: file for the results
 */
struct options {
	const struct net_ops *net;
	struct config	config;
	const char	*host;
	const char	*port;
	const char	*data;
	uint32_t	eval_every;
	uint32_t	eval_images;
	uint32_t	test_images;
	double		rate;
	const char	*out;
};

int server_main(const struct options *opt);
int worker_main(const struct options *opt);

static inline uint32_t steps_per_epoch(const struct config *c)
{
	/* NOLINTNEXTLINE: neither is 0, the options were looked at */
	return c->images / (c->batch * c->workers);
}

static inline uint32_t total_steps(const struct config *c)
{
	return c->epochs * steps_per_epoch(c);
}

/* Priority class of a piece: the front ones are needed first; 0 is housekeeping */
static inline int piece_prio(int piece)
{
	return 1 + (nr_pieces <= 7 ? piece : piece * 7 / nr_pieces);
}

#endif
