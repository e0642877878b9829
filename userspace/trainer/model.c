// SPDX-License-Identifier: GPL-2.0
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "model.h"
#include "train.h"

static const struct kernels *kern = &kernels_plain;

struct layer layers[NR_LAYERS] = {
	{ .name = "conv1", .in = 28, .in_c = 1, .kernel = 5, .out_c = 16,
	  .pool = 1 },
	{ .name = "conv2", .in = 12, .in_c = 16, .kernel = 3, .out_c = 32,
	  .pool = 1 },
	{ .name = "conv3", .in = 5, .in_c = 32, .kernel = 3, .out_c = 64 },
	{ .name = "fc1", .in = 3, .in_c = 64, .kernel = 3, .out_c = 144 },
	{ .name = "fc2", .in = 1, .in_c = 144, .kernel = 1,
	  .out_c = NR_CLASSES },
};

/**
 * struct net - buffers of one batch
 * @max: images there is room for
 * @n: images in the batch
 * @x: input of each layer; x[0] is the images
 * @y: output of each layer, before ReLU and pooling where it is pooled
 * @d: derivative of the loss by @y of the layer in work
 * @dx: by its input
 * @packed: weights of the layer in work
 * @tmp: products on their way
 * @patches: of each layer, for @max images
 */
struct net {
	int		max, n;
	float		*x[NR_LAYERS + 1];
	float		*y[NR_LAYERS];
	float		*d, *dx, *packed, *tmp;
	struct patches	patches[NR_LAYERS];
};

static int weights(const struct layer *l)
{
	return l->kernel * l->kernel * l->in_c * l->out_c;
}

/* Floats of one image in the output buffer, and in what follows it */
static long y_size(const struct layer *l)
{
	return (long)l->out * l->out * ROUND_NR(l->out_c);
}

static long x_size(const struct layer *l)
{
	return (long)l->in * l->in * l->in_c;
}

int model_setup(void)
{
	int i, at = 0;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		kern = &kernels_avx2;
#endif
	for (i = 0; i < NR_LAYERS; i++) {
		struct layer *l = &layers[i];

		l->out = l->in - l->kernel + 1;
		l->at = at;
		l->count = weights(l) + l->out_c;
		at += l->count;
	}
	return at;
}

uint32_t random_u32(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (uint32_t)(z >> 32);
}

static double uniform(uint64_t *state)
{
	return (random_u32(state) + 0.5) / 4294967296.0;
}

static double normal(uint64_t *state)
{
	double r = sqrt(-2 * log(uniform(state)));

	return r * cos(2 * M_PI * uniform(state));
}

void model_init(float *params, uint64_t seed)
{
	uint64_t state = seed * 2654435761U + 1;
	int i, j;

	for (i = 0; i < NR_LAYERS; i++) {
		const struct layer *l = &layers[i];
		double scale = sqrt(2.0 / (l->kernel * l->kernel * l->in_c));
		float *w = params + l->at;

		if (i == NR_LAYERS - 1)
			scale *= 0.5;
		for (j = 0; j < weights(l); j++)
			w[j] = (float)(normal(&state) * scale);
		memset(w + j, 0, l->out_c * sizeof(*w));
	}
}

static float *floats(long n)
{
	float *p = aligned_alloc(64, (n * sizeof(*p) + 63) / 64 * 64);

	if (!p)
		out_of_memory();
	memset(p, 0, n * sizeof(*p));
	return p;
}

static void setup_patches(struct patches *p, const struct layer *l, int max)
{
	int *off = need_memory(max, sizeof(*off) * l->out * l->out);
	int i, y, x, r = 0;

	for (i = 0; i < max; i++)
		for (y = 0; y < l->out; y++)
			for (x = 0; x < l->out; x++)
				off[r++] = (int)(i * x_size(l) +
						 (y * l->in + x) * l->in_c);
	p->off = off;
	p->runs = l->kernel;
	p->run_len = l->kernel * l->in_c;
	p->run_stride = l->in * l->in_c;
}

struct net *net_new(int max)
{
	struct net *net = need_memory(1, sizeof(*net));
	long d = 0, dx = 0, packed = 0, tmp = 0;
	int i;

	net->max = max;
	for (i = 0; i < NR_LAYERS; i++) {
		const struct layer *l = &layers[i];
		long k = l->kernel * l->kernel * l->in_c;
		long wide = ROUND_NR(k) * (long)ROUND_NR(l->out_c);

		net->x[i] = floats(x_size(l) * max);
		net->y[i] = floats(y_size(l) * max);
		setup_patches(&net->patches[i], l, max);
		d = fmax(d, y_size(l) * max);
		dx = fmax(dx, x_size(l) * max);
		packed = fmax(packed, wide);
		/* of a gradient, or of the patches of one image's derivative */
		tmp = fmax(tmp, fmax(wide, (double)ROUND_NR(k) * l->out * l->out));
	}
	net->d = floats(d);
	net->dx = floats(dx);
	net->packed = floats(packed + ROUND_NR(1024));
	net->tmp = floats(tmp);
	return net;
}

void net_free(struct net *net)
{
	int i;

	for (i = 0; i < NR_LAYERS; i++) {
		free(net->x[i]);
		free(net->y[i]);
		free((void *)net->patches[i].off);
	}
	free(net->d);
	free(net->dx);
	free(net->packed);
	free(net->tmp);
	free(net);
}

void net_input(struct net *net, const uint8_t *images, const uint32_t *index,
	       int n)
{
	int i, j;

	net->n = n;
	for (i = 0; i < n; i++) {
		const uint8_t *from = images + (long)index[i] * IMAGE;
		float *to = net->x[0] + (long)i * IMAGE;

		for (j = 0; j < IMAGE; j++)
			to[j] = ((float)from[j] - 73) / 90;
	}
	for (i = 0; i < NR_LAYERS; i++)
		net->patches[i].rows = n * layers[i].out * layers[i].out;
}

void net_forward(struct net *net, int layer, const float *params)
{
	const struct layer *l = &layers[layer];
	const float *w = params + l->at;
	float *y = net->y[layer], *bias;
	int k = l->kernel * l->kernel * l->in_c, i;

	kern->pack(w, k, l->out_c, 0, net->packed);
	bias = net->packed + (long)k * ROUND_NR(l->out_c);
	memset(bias, 0, ROUND_NR(l->out_c) * sizeof(*bias));
	memcpy(bias, w + weights(l), l->out_c * sizeof(*bias));
	kern->mul_patches(&net->patches[layer], net->x[layer], net->packed, bias,
		    l->out_c, y);
	if (layer == NR_LAYERS - 1)
		return;
	if (!l->pool) {
		kern->relu(y, y_size(l) * net->n);
		memcpy(net->x[layer + 1], y, y_size(l) * net->n * sizeof(*y));
		return;
	}
	for (i = 0; i < net->n; i++)
		kern->pool(y + y_size(l) * i, l->out, l->out, l->out_c,
		     net->x[layer + 1] + x_size(l + 1) * i);
}

double net_loss(struct net *net, const uint8_t *labels, const uint32_t *index,
		int *right)
{
	int ld = ROUND_NR(NR_CLASSES), i, j, best;
	double sum, loss = 0, e[NR_CLASSES];

	*right = 0;
	for (i = 0; i < net->n; i++) {
		const float *y = net->y[NR_LAYERS - 1] + (long)i * ld;
		float *d = net->d + (long)i * ld;
		int label = labels[index[i]];

		for (best = 0, j = 1; j < NR_CLASSES; j++)
			best = y[j] > y[best] ? j : best;
		*right += best == label;
		for (sum = 0, j = 0; j < NR_CLASSES; j++)
			sum += e[j] = exp(y[j] - y[best]);
		loss -= log(e[label] / sum);
		for (j = 0; j < NR_CLASSES; j++)
			d[j] = (float)((e[j] / sum - (j == label)) / net->n);
		memset(d + j, 0, (ld - j) * sizeof(*d));
	}
	return loss / net->n;
}

/* From the derivative by a layer's input to that by the output below it */
static void step_down(struct net *net, int layer)
{
	const struct layer *l = &layers[layer - 1];
	int i;

	if (!l->pool) {
		memcpy(net->d, net->dx, y_size(l) * net->n * sizeof(*net->d));
		kern->relu_back(net->y[layer - 1], net->d, y_size(l) * net->n);
		return;
	}
	for (i = 0; i < net->n; i++)
		kern->pool_back(net->y[layer - 1] + y_size(l) * i,
			  net->x[layer] + x_size(l + 1) * i,
			  net->dx + x_size(l + 1) * i, l->out, l->out,
			  l->out_c, net->d + y_size(l) * i);
}

/* The patches' derivatives of one image after the other, added up in dx */
static void input_gradient(struct net *net, int layer, const float *w)
{
	static const float zeros[1024];
	const struct layer *l = &layers[layer];
	int k = l->kernel * l->kernel * l->in_c, rows = l->out * l->out;
	int ld = ROUND_NR(l->out_c), i, off[rows];
	struct patches flat = {
		.off = off, .rows = rows, .runs = 1, .run_len = l->out_c,
	};
	struct patches one = net->patches[layer];

	for (i = 0; i < rows; i++)
		off[i] = i * ld;
	one.rows = rows;
	kern->pack(w, l->out_c, k, 1, net->packed);
	memset(net->dx, 0, x_size(l) * net->n * sizeof(*net->dx));
	for (i = 0; i < net->n; i++) {
		kern->mul_patches(&flat, net->d + y_size(l) * i, net->packed, zeros,
			    k, net->tmp);
		kern->add_patches(&one, net->tmp, ROUND_NR(k),
			    net->dx + x_size(l) * i);
	}
}

void net_backward(struct net *net, int layer, const float *params,
		  float *grads)
{
	const struct layer *l = &layers[layer];
	const struct patches *p = &net->patches[layer];
	float *dw = grads + l->at, *db = dw + weights(l);
	int ld = ROUND_NR(l->out_c), r, j;

	kern->mul_patches_t(p, net->x[layer], net->d, l->out_c, net->tmp, dw);
	memset(db, 0, l->out_c * sizeof(*db));
	for (r = 0; r < p->rows; r++)
		for (j = 0; j < l->out_c; j++)
			db[j] += net->d[(long)r * ld + j];
	if (!layer)
		return;
	input_gradient(net, layer, params + l->at);
	step_down(net, layer);
}
