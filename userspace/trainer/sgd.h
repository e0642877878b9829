/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TRAINER_SGD_H
#define TRAINER_SGD_H

#include "net.h"

/**
 * sgd_average() - mean of the gradients that arrived
 * @out: n floats
 * @grads: @workers gradients of n floats; zero where @gaps says so
 * @gaps: for each worker, what is missing, in bytes
 * @workers: number of workers
 * @n: floats
 * @by_arrived: 1: divide by the number of gradients that arrived, separately
 *	for each part; 0: by @workers
 *
 * Gradients are added in the order of the workers, so that the result does
 * not depend on the order of arrival.
 *
 * Return: 0, or -1 when out of memory.
 */
int sgd_average(float *out, float *const *grads, const struct gaps *gaps,
		int workers, int n, int by_arrived);

/* Momentum and weight decay: m = 0.9 m + g + decay * p; p -= rate * m */
void sgd_step(float *params, float *momentum, const float *grad, int n,
	      double rate);

/* Learning rate of a step: rises for a fifth of the run, then falls to 0 */
double sgd_rate(double highest, uint32_t step, uint32_t steps);

#endif
