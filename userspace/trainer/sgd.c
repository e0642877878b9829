// SPDX-License-Identifier: GPL-2.0
/* From gradients to parameters */
#include <stdlib.h>
#include <string.h>

#include "sgd.h"

#define MOMENTUM	0.9f
#define DECAY		1e-4f

/* A place, in floats, from which on one gradient more or less is missing */
struct edge {
	size_t	at;
	int	missing;
};

static int by_place(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void sum(float *out, float *const *grads, int workers, int n)
{
	int i, w;

	memcpy(out, grads[0], n * sizeof(*out));
	for (w = 1; w < workers; w++)
		for (i = 0; i < n; i++)
			out[i] += grads[w][i];
}

static void scale(float *out, size_t from, size_t to, int by)
{
	float f = by ? 1.0f / (float)by : 0;

	for (; from < to; from++)
		out[from] *= f;
}

int sgd_average(float *out, float *const *grads, const struct gaps *gaps,
		int workers, int n, int by_arrived)
{
	size_t nr = 0, i, at = 0;
	struct edge *edges;
	int w, missing = 0;

	sum(out, grads, workers, n);
	for (w = 0; by_arrived && w < workers; w++)
		nr += 2 * gaps[w].nr;
	edges = malloc((nr + 1) * sizeof(*edges));
	if (!edges)
		return -1;
	for (w = 0, nr = 0; by_arrived && w < workers; w++)
		for (i = 0; i < gaps[w].nr; i++) {
			edges[nr++] = (struct edge){
				gaps[w].gap[i].from / sizeof(float), 1 };
			edges[nr++] = (struct edge){
				gaps[w].gap[i].to / sizeof(float), -1 };
		}
	qsort(edges, nr, sizeof(*edges), by_place);
	for (i = 0; i < nr; i++) {
		scale(out, at, edges[i].at, workers - missing);
		at = edges[i].at;
		missing += edges[i].missing;
	}
	scale(out, at, n, workers);
	free(edges);
	return 0;
}

void sgd_step(float *params, float *momentum, const float *grad, int n,
	      double rate)
{
	float r = (float)rate;
	int i;

	for (i = 0; i < n; i++) {
		momentum[i] = MOMENTUM * momentum[i] + grad[i] +
			      DECAY * params[i];
		params[i] -= r * momentum[i];
	}
}

double sgd_rate(double highest, uint32_t step, uint32_t steps)
{
	double at = (step + 0.5) / steps;

	return highest * (at < 0.2 ? at / 0.2 : (1 - at) / 0.8);
}
