// SPDX-License-Identifier: GPL-2.0
/*
 * THC: the SIMD loops against the plain ones, bit for bit, and the scheme
 * against what it promises. With the argument "speed": GB/s of float32.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../thc/thc.h"
#include "check.h"

#define N	(THC_BLOCK * 7 + 333)

static uint32_t seed = 7;

static float uniform(void)
{
	seed = seed * 1664525 + 1013904223;
	return (float)(seed >> 8) * 0x1p-24f;
}

/* Roughly normal, with a few elements that dominate, as gradients have */
static void gradient(float *x, size_t n)
{
	size_t i;
	int k;

	for (i = 0; i < n; i++) {
		for (x[i] = -6, k = 0; k < 12; k++)
			x[i] += uniform();
		if (i % 97 == 0)
			x[i] *= 30;
	}
}

static float *new_gradient(size_t n)
{
	float *x = malloc(n * sizeof(*x) + 1);

	gradient(x, n);
	return x;
}

static double norm_of(const float *x, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	return sqrt(sum);
}

/* The rotation keeps norms and can be undone */
static void rotation(void)
{
	float x[THC_BLOCK], y[THC_BLOCK];
	uint32_t signs[THC_BLOCK / 32];
	size_t i;

	for (i = 0; i < THC_BLOCK / 32; i++)
		signs[i] = (uint32_t)(uniform() * 4e9f);
	gradient(x, THC_BLOCK);
	memcpy(y, x, sizeof(x));
	thc_plain.rotate(y, signs, 1.0f / 32);
	CHECK(fabs(norm_of(x, THC_BLOCK) / norm_of(y, THC_BLOCK) - 1) < 1e-5);
	CHECK(memcmp(x, y, sizeof(x)));
	thc_plain.rotate_back(y, signs, 1.0f / 32);
	for (i = 0; i < THC_BLOCK; i++)
		CHECK(fabsf(x[i] - y[i]) < 1e-3f);
}

/* Every element of the Hadamard matrix, against its definition */
static void hadamard_matrix(void)
{
	uint32_t none[THC_BLOCK / 32] = { 0 };
	float x[THC_BLOCK];
	size_t i, j;

	for (j = 0; j < THC_BLOCK; j += 37) {
		memset(x, 0, sizeof(x));
		x[j] = 1;
		thc_plain.rotate(x, none, 1);
		for (i = 0; i < THC_BLOCK; i++)
			CHECK(x[i] == (__builtin_parity((unsigned int)(i & j)) ?
				       -1.0f : 1.0f));
	}
}

/* The two neighbours in the table, in the right proportion; clamped beyond */
static void rounding_is_unbiased(void)
{
	const float step = 2 * THC_TP / THC_G;
	uint32_t random[THC_LANES] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint8_t codes[THC_BLOCK / 2];
	float x[THC_BLOCK], y;
	double sum;
	size_t i;
	int k;

	for (y = -2.1f; y < 2.1f; y += 0.173f) {
		for (sum = 0, k = 0; k < 50; k++) {
			for (i = 0; i < THC_BLOCK; i++)
				x[i] = y;
			thc_plain.quantise(x, random, codes);
			for (i = 0; i < THC_BLOCK; i++) {
				CHECK(fabsf(x[i]) <= 3 * step);
				sum += y - x[i];
			}
		}
		CHECK(fabs(sum / 50 / THC_BLOCK - y) < 4e-3);
	}
	for (i = 0; i < THC_BLOCK; i++)
		x[i] = i % 2 ? 9 : -9;
	thc_plain.quantise(x, random, codes);
	for (i = 0; i < THC_BLOCK / 2; i++)
		CHECK(codes[i] == 0xf0);
	CHECK(fabsf(x[1] - (9 - THC_TP)) < 1e-5f);
}

static void sums_of_codes(void)
{
	uint8_t codes[8][THC_UNIT / 2], sums[THC_UNIT];
	uint16_t wide[THC_UNIT];
	unsigned int want;
	size_t i, k;

	for (k = 0; k < 8; k++)
		for (i = 0; i < THC_UNIT / 2; i++)
			codes[k][i] = (uint8_t)(uniform() * 256);
	memset(codes[0], 0xff, sizeof(codes[0]));
	for (k = 0; k < 8; k++) {
		thc_plain.add_codes8(sums, codes[k], !k);
		thc_plain.add_codes16(wide, codes[k], !k);
	}
	for (i = 0; i < THC_UNIT; i++) {
		for (want = 0, k = 0; k < 8; k++)
			want += thc_table[codes[k][i / 2] >> (i % 2 * 4) & 15];
		CHECK(sums[i] == want && wide[i] == want);
	}
	CHECK(dlcp_thc_width(8) == 1 && dlcp_thc_width(9) == 2);
}

/* One worker's codes, added up for one and decoded: its own dequantised value,
 * so that it and the error memory make the gradient
 */
static void memory_has_the_rest(void)
{
	struct dlcp_thc *thc = dlcp_thc_new(N, 1);
	float *g = new_gradient(N), *out = malloc(N * 4);
	float norms[N / THC_BLOCK + 1];
	uint8_t *codes = malloc(dlcp_thc_code_bytes(N));
	size_t units = dlcp_thc_units(N), i;
	char *sums = malloc(dlcp_thc_sum_bytes(N, 1));
	uint16_t one = 1;

	CHECK(dlcp_thc_blocks(N) == N / THC_BLOCK + 1);
	dlcp_thc_norms(thc, g, norms);
	CHECK(fabs(norms[1] / norm_of(g + THC_BLOCK, THC_BLOCK) - 1) < 1e-5);
	dlcp_thc_encode(thc, norms, 5, codes);
	dlcp_thc_add(sums, codes, units, 1, 1);
	for (i = 1; i <= units; i++)
		memcpy(sums + i * (THC_UNIT + 2) - 2, &one, 2);
	dlcp_thc_decode(thc, norms, 5, sums, 1, out);
	for (i = 0; i < N; i++)
		CHECK(fabsf(out[i] + thc->memory[i] - g[i]) < 2e-3f);
	/* 4 bits: the error is a fraction of the gradient */
	CHECK(norm_of(thc->memory, N) < 0.25 * norm_of(g, N));
	/* another step has other signs, about half of them */
	dlcp_thc_decode(thc, norms, 6, sums, 1, out);
	for (i = 0, units = 0; i < N; i++)
		units += fabsf(out[i] + thc->memory[i] - g[i]) > 2e-3f;
	CHECK(units > N / 3 && units < N * 2 / 3);
	dlcp_thc_free(thc);
	free(g);
	free(out);
	free(codes);
	free(sums);
}

/* Sums over many steps are right: nothing is lost for good */
static void feedback_over_steps(void)
{
	enum { WORKERS = 3, STEPS = 40, LEN = 3000 };
	struct dlcp_thc *thc[WORKERS];
	float *g[WORKERS], out[LEN], norms[3], one[3];
	uint8_t *codes = malloc(dlcp_thc_code_bytes(LEN));
	size_t units = dlcp_thc_units(LEN), i;
	char *sums = malloc(dlcp_thc_sum_bytes(LEN, 1));
	double total[LEN] = { 0 }, mean, off = 0, all = 0;
	uint16_t m = WORKERS;
	int w, step;

	for (w = 0; w < WORKERS; w++) {
		thc[w] = dlcp_thc_new(LEN, (uint64_t)w);
		g[w] = new_gradient(LEN);
	}
	for (step = 0; step < STEPS; step++) {
		memset(norms, 0, sizeof(norms));
		for (w = 0; w < WORKERS; w++) {
			dlcp_thc_norms(thc[w], g[w], one);
			for (i = 0; i < 3; i++)
				norms[i] = fmaxf(norms[i], one[i]);
		}
		for (w = 0; w < WORKERS; w++) {
			dlcp_thc_encode(thc[w], norms, (uint64_t)step, codes);
			dlcp_thc_add(sums, codes, units, 1, !w);
		}
		for (i = 1; i <= units; i++)
			memcpy(sums + i * (THC_UNIT + 2) - 2, &m, 2);
		dlcp_thc_decode(thc[0], norms, (uint64_t)step, sums, 1, out);
		for (i = 0; i < LEN; i++)
			total[i] += out[i];
	}
	for (i = 0; i < LEN; i++) {
		mean = ((double)g[0][i] + g[1][i] + g[2][i]) / WORKERS;
		off += pow(total[i] / STEPS - mean, 2);
		all += mean * mean;
	}
	CHECK(sqrt(off / all) < 0.02);
	for (w = 0; w < WORKERS; w++) {
		dlcp_thc_free(thc[w]);
		free(g[w]);
	}
	free(codes);
	free(sums);
}

/* Layers of very different scale side by side in one tensor: the error of each
 * is a fraction of itself
 */
static void layers_of_all_scales(void)
{
	static const float scale[] = { 1, 1e-3f, 300, 1e-9f };
	enum { LAYERS = 4, LEN = LAYERS * THC_BLOCK };
	struct dlcp_thc *thc = dlcp_thc_new(LEN, 3);
	uint8_t *codes = malloc(dlcp_thc_code_bytes(LEN));
	float *g = new_gradient(LEN), norms[LAYERS];
	size_t i;

	for (i = 0; i < LEN; i++)
		g[i] *= scale[i / THC_BLOCK];
	dlcp_thc_norms(thc, g, norms);
	dlcp_thc_encode(thc, norms, 1, codes);
	for (i = 0; i < LEN; i += THC_BLOCK)
		CHECK(norm_of(thc->memory + i, THC_BLOCK) <
		      0.25 * norm_of(g + i, THC_BLOCK));
	dlcp_thc_free(thc);
	free(codes);
	free(g);
}

/* --- both ways, the same bits */

static void same_bits(void)
{
	const struct thc_loops *fast = thc_avx2();
	float x[THC_BLOCK], y[THC_BLOCK], sum[THC_BLOCK];
	uint32_t signs[THC_BLOCK / 32], r[8], s[8];
	uint8_t a[THC_BLOCK], b[THC_BLOCK];
	uint16_t u[THC_UNIT], v[THC_UNIT];
	size_t i, k;

	if (!fast) {
		check_skip("same_bits", "no AVX2");
		return;
	}
	for (k = 0; k < 50; k++) {
		for (i = 0; i < THC_BLOCK / 32; i++)
			signs[i] = (uint32_t)(uniform() * 4e9f);
		for (i = 0; i < 8; i++)
			r[i] = s[i] = (uint32_t)(uniform() * 4e9f) | 1;
		gradient(x, THC_BLOCK);
		memcpy(y, x, sizeof(x));
		memset(u, 0, sizeof(u));
		memset(v, 0, sizeof(v));
		thc_plain.squares(x, (float *)u);
		fast->squares(y, (float *)v);
		CHECK(!memcmp(u, v, sizeof(u)));
		thc_plain.rotate(x, signs, 0.03f);
		fast->rotate(y, signs, 0.03f);
		CHECK(!memcmp(x, y, sizeof(x)));
		thc_plain.quantise(x, r, a);
		fast->quantise(y, s, b);
		CHECK(!memcmp(x, y, sizeof(x)) && !memcmp(r, s, sizeof(r)));
		CHECK(!memcmp(a, b, THC_BLOCK / 2));
		thc_plain.rotate_back(x, signs, 0.05f);
		fast->rotate_back(y, signs, 0.05f);
		CHECK(!memcmp(x, y, sizeof(x)));
		for (i = 0; i < 3; i++) {
			thc_plain.add_codes16(u, a + 64 * i, !i);
			fast->add_codes16(v, a + 64 * i, !i);
			CHECK(!memcmp(u, v, sizeof(u)));
		}
		thc_plain.dequantise16(x, u, 0.2f, 1.7f);
		fast->dequantise16(y, u, 0.2f, 1.7f);
		CHECK(!memcmp(x, y, THC_UNIT * 4));
		for (i = 0; i < 3; i++) {
			thc_plain.add_codes8(a, b + 64 * i, !i);
			fast->add_codes8((uint8_t *)v, b + 64 * i, !i);
			CHECK(!memcmp(a, v, THC_UNIT));
		}
		thc_plain.dequantise8(x, a, 0.2f, 1.7f);
		fast->dequantise8(y, a, 0.2f, 1.7f);
		CHECK(!memcmp(x, y, THC_UNIT * 4));
		gradient(x, THC_BLOCK);
		gradient(y, THC_BLOCK);
		thc_plain.add(sum, x, y, THC_BLOCK);
		fast->add(x, x, y, THC_BLOCK);
		CHECK(!memcmp(sum, x, sizeof(x)));
	}
}

static void odd_sizes(void)
{
	static const size_t counts[] = { 0, 1, 7, 1023, 1024, 1025, 5000 };
	size_t k, n, i;

	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		n = counts[k];
		struct dlcp_thc *thc = dlcp_thc_new(n, 1);
		float *g = new_gradient(n), *out = malloc(n * 4 + 4);
		uint8_t *codes = malloc(dlcp_thc_code_bytes(n) + 1);
		char *sums = calloc(1, dlcp_thc_sum_bytes(n, 2) + 1);
		float norms[6], zeros[6] = { 0 };

		out[n] = 5;
		dlcp_thc_norms(thc, g, norms);
		dlcp_thc_encode(thc, norms, 1, codes);
		dlcp_thc_add(sums, codes, dlcp_thc_units(n), 2, 1);
		/* no contribution says that it is there */
		for (i = 1; i <= dlcp_thc_units(n); i++)
			memset(sums + i * (THC_UNIT * 2 + 2) - 2, 0, 2);
		dlcp_thc_decode(thc, norms, 1, sums, 2, out);
		for (i = 0; i < n; i++)
			CHECK(out[i] == 0);
		CHECK(out[n] == 5);
		/* zeros are zeros */
		memset(g, 0, n * 4);
		dlcp_thc_free(thc);
		thc = dlcp_thc_new(n, 1);
		dlcp_thc_norms(thc, g, norms);
		CHECK(!memcmp(norms, zeros, dlcp_thc_blocks(n) * 4));
		dlcp_thc_encode(thc, norms, 1, codes);
		for (i = 0; i < n; i++)
			CHECK(thc->memory[i] == 0);
		dlcp_thc_free(thc);
		free(g);
		free(out);
		free(codes);
		free(sums);
	}
}

/* --- speed */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void say(const char *what, size_t n, int rounds, double seconds)
{
	printf("# figure %s: %.2f GB/s of float32\n", what,
	       (double)n * 4 * rounds / seconds / 1e9);
}

static int speed(const char *which)
{
	enum { LEN = 1 << 22, ROUNDS = 12 };
	struct dlcp_thc *thc = dlcp_thc_new(LEN, 1);
	float *g = new_gradient(LEN), *out = malloc(LEN * 4);
	float *norms = malloc(dlcp_thc_blocks(LEN) * 4);
	uint8_t *codes = malloc(dlcp_thc_code_bytes(LEN));
	char *sums = calloc(1, dlcp_thc_sum_bytes(LEN, 1));
	double t[5];
	int i;

	t[0] = now();
	for (i = 0; i < ROUNDS; i++)
		memcpy(out, g, LEN * 4);
	t[1] = now();
	for (i = 0; i < ROUNDS; i++) {
		dlcp_thc_norms(thc, g, norms);
		dlcp_thc_encode(thc, norms, (uint64_t)i, codes);
	}
	t[2] = now();
	for (i = 0; i < ROUNDS; i++)
		dlcp_thc_add(sums, codes, dlcp_thc_units(LEN), 1, 0);
	t[3] = now();
	for (i = 1; (size_t)i <= dlcp_thc_units(LEN); i++)
		memcpy(sums + (size_t)i * (THC_UNIT + 2) - 2, "\1", 2);
	t[4] = now();
	for (i = 0; i < ROUNDS; i++)
		dlcp_thc_decode(thc, norms, (uint64_t)i, sums, 1, out);
	t[4] = now() - t[4];
	printf("# %s loops\n", which);
	say("memcpy", LEN, ROUNDS, t[1] - t[0]);
	say("encode (with the norm)", LEN, ROUNDS, t[2] - t[1]);
	say("aggregate, one contribution", LEN, ROUNDS, t[3] - t[2]);
	say("decode", LEN, ROUNDS, t[4]);
	say("encode plus decode", LEN, ROUNDS, t[2] - t[1] + t[4]);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	if (argc > 1 && !strcmp(argv[1], "speed")) {
		thc_use(&thc_plain);
		speed("plain");
		thc_use(NULL);
		return thc_avx2() ? speed("AVX2") : 0;
	}
	bad |= RUN(rotation);
	bad |= RUN(hadamard_matrix);
	bad |= RUN(rounding_is_unbiased);
	bad |= RUN(sums_of_codes);
	bad |= RUN(memory_has_the_rest);
	bad |= RUN(feedback_over_steps);
	bad |= RUN(layers_of_all_scales);
	bad |= RUN(same_bits);
	bad |= RUN(odd_sizes);
	return bad;
}
