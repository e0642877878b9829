// SPDX-License-Identifier: GPL-2.0
/* Products, derivatives and averages against their definitions */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels.h"
#include "../model.h"
#include "../sgd.h"
#include "check.h"

#define IMAGES	3

static uint64_t state = 42;
static uint8_t images[IMAGES * IMAGE], labels[IMAGES];
static const uint32_t image_index[IMAGES] = { 2, 0, 1 };

static float some(void)
{
	return (float)random_u32(&state) / 2147483648.0f - 1;
}

static void fill(float *p, int n)
{
	while (n--)
		*p++ = some();
}

static double loss_of(struct net *net, const float *params)
{
	int i, right;

	net_input(net, images, image_index, IMAGES);
	for (i = 0; i < NR_LAYERS; i++)
		net_forward(net, i, params);
	return net_loss(net, labels, image_index, &right);
}

/* Central differences of some parameters of each layer */
static void gradient_is_the_slope(void)
{
	int n = model_setup(), i, j, at, bad = 0;
	float *params = calloc(n, sizeof(float));
	float *grads = calloc(n, sizeof(float)), old, h = 1e-3f;
	struct net *net = net_new(IMAGES + 2);
	double slope, up;

	CHECK(params && grads);
	for (i = 0; i < IMAGES * IMAGE; i++)
		images[i] = (uint8_t)random_u32(&state);
	for (i = 0; i < IMAGES; i++)
		labels[i] = (uint8_t)(3 * i + 1);
	model_init(params, 5);
	loss_of(net, params);
	for (i = NR_LAYERS - 1; i >= 0; i--)
		net_backward(net, i, params, grads);
	for (i = 0; i < NR_LAYERS; i++) {
		for (j = 0; j < 60; j++) {
			at = layers[i].at + (j < 5 ? layers[i].count - 1 - j :
				(int)(random_u32(&state) % layers[i].count));
			old = params[at];
			params[at] = old + h;
			up = loss_of(net, params);
			params[at] = old - h;
			slope = (up - loss_of(net, params)) / (2 * h);
			params[at] = old;
			/* kinks of ReLU and maximum spoil a few */
			bad += fabs(slope - grads[at]) >
			       0.02 * fabs(slope) + 2e-3;
		}
	}
	printf("# %d of %d slopes differ\n", bad, NR_LAYERS * 60);
	CHECK(bad < 15);
	net_free(net);
	free(params);
	free(grads);
}

/* A convolution written down as it is defined: 7 x 6 x 3 with 20 kernels */
enum { H = 7, W = 6, C = 3, K = 3, OH = H - K + 1, OW = W - K + 1, N = 20 };

static float x[H * W * C], w[K * K * C * N], d[OH * OW * ROUND_NR(N)];

static float forward_at(int r, int n, const float *bias)
{
	double sum = bias[n];
	int ky, kx, c;

	for (ky = 0; ky < K; ky++)
		for (kx = 0; kx < K; kx++)
			for (c = 0; c < C; c++)
				sum += (double)x[((r / OW + ky) * W + r % OW + kx) * C + c] *
				       w[((ky * K + kx) * C + c) * N + n];
	return (float)sum;
}

static float weight_slope_at(int k, int n)
{
	int ky = k / (K * C), kx = k / C % K, c = k % C, r;
	double sum = 0;

	for (r = 0; r < OH * OW; r++)
		sum += (double)d[r * ROUND_NR(N) + n] *
		       x[((r / OW + ky) * W + r % OW + kx) * C + c];
	return (float)sum;
}

static void check_kernels(const struct kernels *kern)
{
	float packed[K * K * C * ROUND_NR(N)], y[OH * OW * ROUND_NR(N)];
	float bias[ROUND_NR(N)] = { 0 }, tmp[K * K * C * ROUND_NR(N)];
	float dw[K * K * C * N];
	int off[OH * OW], r, n;
	struct patches p = {
		.off = off, .rows = OH * OW, .runs = K, .run_len = K * C,
		.run_stride = W * C,
	};

	for (r = 0; r < OH * OW; r++)
		off[r] = (r / OW * W + r % OW) * C;
	fill(x, H * W * C);
	fill(w, K * K * C * N);
	fill(d, OH * OW * ROUND_NR(N));
	fill(bias, N);
	kern->pack(w, K * K * C, N, 0, packed);
	kern->mul_patches(&p, x, packed, bias, N, y);
	for (r = 0; r < OH * OW; r++)
		for (n = 0; n < N; n++)
			CHECK(fabsf(y[r * ROUND_NR(N) + n] -
				    forward_at(r, n, bias)) < 1e-5f);
	kern->mul_patches_t(&p, x, d, N, tmp, dw);
	for (r = 0; r < K * K * C; r++)
		for (n = 0; n < N; n++)
			CHECK(fabsf(dw[r * N + n] - weight_slope_at(r, n)) <
			      1e-5f);
}

static void plain_kernels(void)
{
	check_kernels(&kernels_plain);
}

#if defined(__x86_64__)
static void avx2_kernels(void)
{
	check_kernels(&kernels_avx2);
}
#endif

enum { WORKERS = 5, FLOATS = 1000 };

/* Random gaps, ascending and apart; what is missing is zeroed */
static void make_gaps(struct gaps *gaps, float *grad, char *here)
{
	size_t at = random_u32(&state) % 50, len;

	gaps->nr = 0;
	memset(here, 1, FLOATS);
	while (at < FLOATS) {
		len = 1 + random_u32(&state) % 40;
		if (at + len > FLOATS)
			len = FLOATS - at;
		CHECK(!gaps_add(gaps, (struct gap){ at * 4, (at + len) * 4 }));
		memset(here + at, 0, len);
		memset(grad + at, 0, len * sizeof(*grad));
		at += len + random_u32(&state) % 60;
	}
}

static void average_counts_what_arrived(void)
{
	static float grad[WORKERS][FLOATS], out[FLOATS];
	static char here[WORKERS][FLOATS];
	struct gaps gaps[WORKERS];
	float *grads[WORKERS], sum;
	int round, i, j, n, by_arrived;

	memset(gaps, 0, sizeof(gaps));
	for (round = 0; round < 200; round++) {
		by_arrived = round % 2;
		for (j = 0; j < WORKERS; j++) {
			grads[j] = grad[j];
			fill(grad[j], FLOATS);
			make_gaps(&gaps[j], grad[j], here[j]);
			if (check_failed)
				return;
		}
		CHECK(!sgd_average(out, grads, gaps, WORKERS, FLOATS,
				   by_arrived));
		for (i = 0; i < FLOATS; i++) {
			for (sum = 0, n = 0, j = 0; j < WORKERS; j++) {
				sum += grad[j][i];
				n += here[j][i];
			}
			if (!by_arrived)
				n = WORKERS;
			CHECK(fabsf(out[i] - (n ? sum / (float)n : 0)) < 1e-6f);
		}
	}
	for (j = 0; j < WORKERS; j++)
		free(gaps[j].gap);
}

static void no_loss_no_difference(void)
{
	static float grad[WORKERS][FLOATS], a[FLOATS], b[FLOATS];
	struct gaps gaps[WORKERS];
	float *grads[WORKERS];
	int j;

	memset(gaps, 0, sizeof(gaps));
	for (j = 0; j < WORKERS; j++) {
		grads[j] = grad[j];
		fill(grad[j], FLOATS);
	}
	CHECK(!sgd_average(a, grads, gaps, WORKERS, FLOATS, 0));
	CHECK(!sgd_average(b, grads, gaps, WORKERS, FLOATS, 1));
	CHECK(!memcmp(a, b, sizeof(a)));
}

static void rate_rises_and_falls(void)
{
	double sum = 0, rate, last = 0;
	uint32_t i;

	for (i = 0; i < 100; i++) {
		rate = sgd_rate(0.1, i, 100);
		CHECK(rate > 0 && rate <= 0.1);
		CHECK(i == 0 || (i < 20 ? rate > last : i == 20 || rate < last));
		sum += last = rate;
	}
	CHECK(fabs(sum - 5) < 0.01);
}

int main(void)
{
	int bad = 0;

	bad |= RUN(plain_kernels);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		bad |= RUN(avx2_kernels);
	else
		check_skip("avx2_kernels", "no AVX2 here");
#endif
	bad |= RUN(gradient_is_the_slope);
	bad |= RUN(average_counts_what_arrived);
	bad |= RUN(no_loss_no_difference);
	bad |= RUN(rate_rises_and_falls);
	return bad;
}
