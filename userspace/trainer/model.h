/* SPDX-License-Identifier: GPL-2.0 */
/* The network that is trained: five convolutions, each with bias and ReLU */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include <stdint.h>

#define NR_LAYERS	5
#define NR_CLASSES	10
#define IMAGE		(28 * 28)

/**
 * struct layer - shape of a layer, and where its parameters are
 * @name: for people
 * @in: height and width of the input
 * @in_c: channels of the input
 * @kernel: height and width of the kernel
 * @out: height and width of the output, before pooling
 * @out_c: channels of the output
 * @pool: 1 if a 2 x 2 maximum follows
 * @at: index of its first parameter; weights [kernel][kernel][in_c][out_c]
 *	and then a bias for each output channel
 * @count: number of its parameters
 */
struct layer {
	const char	*name;
	int		in, in_c, kernel, out, out_c, pool;
	int		at, count;
};

extern struct layer layers[NR_LAYERS];

/* Fill in what follows from the shapes; returns the number of parameters */
int model_setup(void);

/* Random initial parameters, the same for the same seed */
void model_init(float *params, uint64_t seed);

/* Buffers for a batch of up to @max images; exits when out of memory */
struct net *net_new(int max);
void net_free(struct net *net);

/*
 * Forward through one layer after the other, so that a worker can start before
 * the parameters of all layers are there; net_input() comes first. Pixels are
 * 0..255, @index selects the images.
 */
void net_input(struct net *net, const uint8_t *images, const uint32_t *index,
	       int n);
void net_forward(struct net *net, int layer, const float *params);

/*
 * After the last layer: mean cross entropy and number of right answers;
 * prepares for net_backward().
 */
double net_loss(struct net *net, const uint8_t *labels, const uint32_t *index,
		int *right);

/* Gradient of one layer, last layer first, into its part of @grads */
void net_backward(struct net *net, int layer, const float *params,
		  float *grads);

/* A small generator with a 64-bit state */
uint32_t random_u32(uint64_t *state);

#endif
