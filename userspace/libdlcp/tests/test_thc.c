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

static void random_signs(uint32_t *signs)
{
	size_t i;

	for (i = 0; i < THC_SIGNS; i++)
		signs[i] = (uint32_t)(uniform() * 4e9f);
}

/* The rotation keeps norms and can be undone */
static void rotation(void)
{
	float x[THC_BLOCK], y[THC_BLOCK] THC_ALIGN, zeros[THC_BLOCK] = { 0 };
	uint32_t signs[THC_SIGNS];
	size_t i, n;
	float by;

	random_signs(signs);
	for (n = THC_UNIT; n <= THC_BLOCK; n *= 2) {
		by = 1 / sqrtf((float)n);
		gradient(x, n);
		thc_plain.rotate(y, x, zeros, n, signs, by);
		CHECK(fabs(norm_of(x, n) / norm_of(y, n) - 1) < 1e-5);
		CHECK(memcmp(x, y, n * sizeof(*x)));
		thc_plain.rotate_back(y, y, n, signs, by);
		for (i = 0; i < n; i++)
			CHECK(fabsf(x[i] - y[i]) < 1e-3f);
	}
}

/* Every element of the Hadamard matrix, against its definition */
static void hadamard_matrix(void)
{
	float x[THC_BLOCK], y[THC_BLOCK] THC_ALIGN, zeros[THC_BLOCK] = { 0 };
	uint32_t none[THC_SIGNS] = { 0 };
	size_t i, j, n;

	for (n = THC_UNIT; n <= THC_BLOCK; n *= 2) {
		for (j = 0; j < n; j += 37) {
			memset(x, 0, sizeof(x));
			x[j] = 1;
			thc_plain.rotate(y, zeros, x, n, none, 1);
			for (i = 0; i < n; i++)
				CHECK(y[i] == (__builtin_parity((unsigned int)
						(i & j)) ? -1.0f : 1.0f));
		}
	}
}

static void fill(float *x, float y)
{
	size_t i;

	for (i = 0; i < THC_BLOCK; i++)
		x[i] = y * THC_FINE;
}

/* The two neighbours in the table, in the right proportion */
static void rounding_is_unbiased(void)
{
	uint32_t random[THC_LANES];
	uint8_t codes[THC_BLOCK / 2];
	float x[THC_BLOCK] THC_ALIGN, y;
	double sum;
	size_t i;
	int k;

	for (i = 0; i < THC_LANES; i++)
		random[i] = (uint32_t)i + 1;
	for (y = -14.9f; y < 15; y += 0.713f) {
		for (sum = 0, k = 0; k < 50; k++) {
			fill(x, y);
			thc_plain.quantise(x, THC_BLOCK, random, codes);
			for (i = 0; i < THC_BLOCK; i++) {
				CHECK(fabsf(x[i]) <= 3 * THC_FINE);
				sum += x[i] / THC_FINE;
			}
		}
		CHECK(fabs(sum / 50 / THC_BLOCK) < 0.03);
	}
}

/* What is in the table, and clamped what is beyond it, always */
static void rounding_is_exact(void)
{
	static const float beyond[] = { 15.01f, 16, 223, 1e6f, 1e20f };
	uint32_t random[THC_LANES] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	uint8_t codes[THC_BLOCK / 2];
	float x[THC_BLOCK] THC_ALIGN;
	unsigned int k;
	size_t i;

	for (k = 0; k < 16; k++) {
		fill(x, (float)thc_table[k] - 15);
		thc_plain.quantise(x, THC_BLOCK, random, codes);
		for (i = 0; i < THC_BLOCK; i++)
			CHECK(codes[i / 2] == k * 17 && x[i] == 0);
	}
	for (k = 0; k < 5; k++) {
		fill(x, beyond[k]);
		for (i = 0; i < THC_BLOCK; i += 2)
			x[i] = -x[i];
		thc_plain.quantise(x, THC_BLOCK, random, codes);
		for (i = 0; i < THC_BLOCK / 2; i++)
			CHECK(codes[i] == 0xf0);
		CHECK(x[1] == beyond[k] * THC_FINE - 15 * THC_FINE);
		CHECK(x[0] == -x[1]);
	}
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
	float norms[N / THC_BLOCK + 2];
	uint8_t *codes = malloc(dlcp_thc_code_bytes(N));
	size_t units = dlcp_thc_units(N), i;
	char *sums = malloc(dlcp_thc_sum_bytes(N, 1));
	uint16_t one = 1;

	/* what is left is 256 and 128 */
	CHECK(dlcp_thc_blocks(N) == N / THC_BLOCK + 2);
	dlcp_thc_norms(thc, g, norms);
	dlcp_thc_encode(thc, g, norms, 5, codes);
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
			dlcp_thc_encode(thc[w], g[w], norms,
					(uint64_t)step, codes);
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
	dlcp_thc_encode(thc, g, norms, 1, codes);
	for (i = 0; i < LEN; i += THC_BLOCK)
		CHECK(norm_of(thc->memory + i, THC_BLOCK) <
		      0.25 * norm_of(g + i, THC_BLOCK));
	dlcp_thc_free(thc);
	free(codes);
	free(g);
}

/* --- norms, and what is sent */

/* Rounded up to bfloat16, if at all: at most 1/128 too large */
static void norms_round_up(void)
{
	static const float scale[] = { 1, 1e-3f, 300, 1e-9f, 1e15f, 1e-17f };
	struct dlcp_thc *thc = dlcp_thc_new(N, 1);
	float *g = new_gradient(N), norms[N / THC_BLOCK + 2];
	double is, up = 0;
	uint32_t bits;
	size_t i, k;

	for (k = 0; k < 6; k++) {
		for (i = 0; i < N; i++)
			g[i] *= scale[k];
		dlcp_thc_norms(thc, g, norms);
		for (i = 0; i < 7; i++) {
			is = norm_of(g + i * THC_BLOCK, THC_BLOCK);
			CHECK(norms[i] > is * (1 - 1e-6));
			CHECK(norms[i] < is * (1 + 1.0 / 128 + 1e-6));
			up += norms[i] / is - 1;
			memcpy(&bits, &norms[i], 4);
			CHECK(!(bits & 0xffff));
		}
		CHECK(norms[7] > norm_of(g + 7 * THC_BLOCK, 256) * (1 - 1e-6));
		CHECK(norms[8] > norm_of(g + N - 77, 77) * (1 - 1e-6));
		for (i = 0; i < N; i++)
			g[i] /= scale[k];
	}
	CHECK(up / 42 > 1e-3 && up / 42 < 5e-3);
	for (i = 0; i < N; i++)
		g[i] = i % THC_BLOCK ? 0 : 160;	/* is a bfloat16 */
	dlcp_thc_norms(thc, g, norms);
	for (i = 0; i < 8; i++)
		CHECK(norms[i] == 160);
	CHECK(norms[8] == 0);
	dlcp_thc_free(thc);
	free(g);
}

/* One element makes one norm so, and whole codecs stay what they were */
static void norms_not_finite(void)
{
	static const float bad[] = { INFINITY, -INFINITY, NAN, -NAN, 3e19f };
	struct dlcp_thc *thc = dlcp_thc_new(N, 1);
	float *g = new_gradient(N), norms[N / THC_BLOCK + 2], was;
	const size_t at[] = { 0, THC_BLOCK + 77, N - 1 };
	size_t blocks = dlcp_thc_blocks(N), i, k, j, wrong;

	for (k = 0; k < 5; k++) {
		for (j = 0; j < 3; j++) {
			was = g[at[j]];
			g[at[j]] = bad[k];
			dlcp_thc_norms(thc, g, norms);
			for (wrong = 0, i = 0; i < blocks; i++)
				wrong += !isfinite(norms[i]);
			CHECK(wrong == 1);
			CHECK(!isfinite(norms[j == 2 ? blocks - 1 : j]));
			g[at[j]] = was;
		}
	}
	for (i = 0; i < N; i++)
		CHECK(thc->memory[i] == 0);
	dlcp_thc_free(thc);
	free(g);
}

/* A worker sends codes, and of norms their upper halves */
static void traffic(void)
{
	static const struct {
		size_t count, units, blocks;
	} is[] = {
		{ 0, 0, 0 }, { 1, 1, 1 }, { 128, 1, 1 }, { 129, 2, 1 },
		{ 300, 3, 2 }, { 512, 4, 1 }, { 600, 5, 2 }, { 895, 7, 3 },
		{ 897, 8, 1 }, { 1024, 8, 1 }, { 1025, 9, 2 },
		{ 105866, 828, 104 },
	};
	const size_t net = 105866;	/* parameters */
	size_t i, up = dlcp_thc_code_bytes(net) + 2 * dlcp_thc_blocks(net);

	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		CHECK(dlcp_thc_units(is[i].count) == is[i].units);
		CHECK(dlcp_thc_blocks(is[i].count) == is[i].blocks);
		CHECK(dlcp_thc_code_bytes(is[i].count) == 64 * is[i].units);
	}
	CHECK(up == 53200 && 4.0 * (double)net / (double)up > 7.95);
}

/* --- both ways, the same bits */

static void same_bits_of(const struct thc_loops *fast, size_t n)
{
	float x[THC_BLOCK] THC_ALIGN, y[THC_BLOCK] THC_ALIGN;
	float a[THC_BLOCK + 1], b[THC_BLOCK + 1], to[THC_BLOCK + 1];
	uint8_t codes[THC_BLOCK / 2], others[THC_BLOCK / 2];
	uint32_t signs[THC_SIGNS], r[THC_LANES], s[THC_LANES];
	size_t i;

	random_signs(signs);
	for (i = 0; i < THC_LANES; i++)
		r[i] = s[i] = (uint32_t)(uniform() * 4e9f) | 1;
	gradient(a, n + 1);
	gradient(b, n + 1);
	memset(x, 0, sizeof(x));
	memset(y, 0, sizeof(y));
	thc_plain.squares(a + 1, b, n, x);
	fast->squares(a + 1, b, n, y);
	CHECK(!memcmp(x, y, sizeof(x)) && x[0] > 0 && x[31] > 0);
	/* so that 1 in 20 is clamped; some far beyond it */
	thc_plain.rotate(x, a, b + 1, n, signs, 120);
	fast->rotate(y, a, b + 1, n, signs, 120);
	CHECK(!memcmp(x, y, sizeof(x)));
	x[5] = y[5] = 1e20f;
	x[9] = y[9] = -1e20f;
	x[70] = y[70] = 32767.5f;
	thc_plain.quantise(x, n, r, codes);
	fast->quantise(y, n, s, others);
	CHECK(!memcmp(x, y, sizeof(x)) && !memcmp(r, s, sizeof(r)));
	CHECK(!memcmp(codes, others, n / 2));
	thc_plain.rotate_back(to + 1, x, n, signs, 0.05f);
	fast->rotate_back(a + 1, y, n, signs, 0.05f);
	CHECK(!memcmp(to + 1, a + 1, n * sizeof(*x)));
}

static void same_sums(const struct thc_loops *fast)
{
	float x[THC_UNIT] THC_ALIGN, y[THC_UNIT] THC_ALIGN;
	uint8_t codes[THC_UNIT / 2], a[THC_UNIT], b[THC_UNIT];
	uint16_t u[THC_UNIT], v[THC_UNIT];
	size_t i, k;

	for (k = 0; k < 3; k++) {
		for (i = 0; i < sizeof(codes); i++)
			codes[i] = (uint8_t)(uniform() * 256);
		thc_plain.add_codes16(u, codes, !k);
		fast->add_codes16(v, codes, !k);
		CHECK(!memcmp(u, v, sizeof(u)));
		thc_plain.add_codes8(a, codes, !k);
		fast->add_codes8(b, codes, !k);
		CHECK(!memcmp(a, b, sizeof(a)));
	}
	thc_plain.dequantise16(x, u, 0.2f, 1.7f);
	fast->dequantise16(y, u, 0.2f, 1.7f);
	CHECK(!memcmp(x, y, sizeof(x)));
	thc_plain.dequantise8(x, a, 0.2f, 1.7f);
	fast->dequantise8(y, a, 0.2f, 1.7f);
	CHECK(!memcmp(x, y, sizeof(x)));
}

static void same_bits(void)
{
	const struct thc_loops *fast = thc_avx2();
	size_t k, n;

	if (!fast) {
		check_skip("same_bits", "no AVX2");
		return;
	}
	for (k = 0; k < 50 && !check_failed; k++) {
		for (n = THC_UNIT; n <= THC_BLOCK; n *= 2)
			same_bits_of(fast, n);
		same_sums(fast);
	}
}

/* A tensor there and back, several times */
struct coded {
	float	*norms, *out;
	uint8_t	*codes;
	char	*sums;
	size_t	blocks, units;
	struct dlcp_thc *thc;
};

static void code(struct coded *c, const struct thc_loops *loops,
		 const float *g, size_t n, int width, float less)
{
	uint16_t m = 1;
	size_t i, k;

	thc_use(loops);
	c->blocks = dlcp_thc_blocks(n);
	c->units = dlcp_thc_units(n);
	c->thc = dlcp_thc_new(n, 3);
	c->norms = malloc(c->blocks * sizeof(*c->norms) + 1);
	c->out = malloc(n * sizeof(*c->out) + 1);
	c->codes = malloc(dlcp_thc_code_bytes(n) + 1);
	c->sums = malloc(dlcp_thc_sum_bytes(n, width) + 1);
	for (k = 0; k < 3; k++) {
		dlcp_thc_norms(c->thc, g, c->norms);
		for (i = 0; i < c->blocks; i++)
			c->norms[i] *= less;
		dlcp_thc_encode(c->thc, g, c->norms, k, c->codes);
		dlcp_thc_add(c->sums, c->codes, c->units, width, 1);
		for (i = 1; i <= c->units; i++)
			memcpy(c->sums + i * (THC_UNIT * (size_t)width + 2) - 2,
			       &m, 2);
		dlcp_thc_decode(c->thc, c->norms, k, c->sums, width, c->out);
	}
	thc_use(NULL);
}

static void forget(struct coded *c)
{
	dlcp_thc_free(c->thc);
	free(c->norms);
	free(c->out);
	free(c->codes);
	free(c->sums);
}

/* Whole tensors, with what is left in every shape there is: 0 to 7 units. The
 * last time with norms that are far too small, so that all is clamped
 */
static void same_tensors(void)
{
	struct coded a, b;
	size_t n, k;
	float *g;

	if (!thc_avx2()) {
		check_skip("same_tensors", "no AVX2");
		return;
	}
	for (k = 0; k < 18; k++) {
		n = k < 8 ? THC_BLOCK + k * THC_UNIT : 1 + (k - 8) * 211;
		g = new_gradient(n);
		code(&a, &thc_plain, g, n, 1 + (int)k % 2, k < 17 ? 1 : 1e-7f);
		code(&b, NULL, g, n, 1 + (int)k % 2, k < 17 ? 1 : 1e-7f);
		CHECK(!memcmp(a.norms, b.norms, a.blocks * 4));
		CHECK(!memcmp(a.codes, b.codes, dlcp_thc_code_bytes(n)));
		CHECK(!memcmp(a.thc->memory, b.thc->memory, a.units * 512));
		CHECK(!memcmp(a.thc->random, b.thc->random,
			      sizeof(a.thc->random)));
		CHECK(!memcmp(a.out, b.out, n * 4));
		CHECK(k < 17 ? norm_of(a.thc->memory, n) < 0.4 * norm_of(g, n) :
			       norm_of(a.out, n) < 1e-5 * norm_of(g, n));
		forget(&a);
		forget(&b);
		free(g);
	}
}

static void odd_sizes(void)
{
	static const size_t counts[] = {
		0, 1, 7, 127, 129, 600, 1023, 1024, 1025, 5000
	};
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
		dlcp_thc_encode(thc, g, norms, 1, codes);
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
		dlcp_thc_encode(thc, g, norms, 1, codes);
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

/* Memory is touched once before, so that nobody counts pages being mapped */
static int speed(const char *which)
{
	enum { LEN = 1 << 22, ROUNDS = 12 };
	struct dlcp_thc *thc = dlcp_thc_new(LEN, 1);
	float *g = new_gradient(LEN), *out = malloc(LEN * 4);
	float *norms = malloc(dlcp_thc_blocks(LEN) * 4);
	uint8_t *codes = malloc(dlcp_thc_code_bytes(LEN));
	char *sums = calloc(1, dlcp_thc_sum_bytes(LEN, 1));
	double copy = 0, encode = 0, add = 0, decode = 0, t;
	int i;

	for (i = 1; (size_t)i <= dlcp_thc_units(LEN); i++)
		memcpy(sums + (size_t)i * (THC_UNIT + 2) - 2, "\1", 2);
	for (i = 0; i <= ROUNDS; i++) {
		if (i == 1)
			copy = encode = add = decode = 0;
		t = now();
		memcpy(out, g, LEN * 4);
		copy += now() - t;
		t = now();
		dlcp_thc_norms(thc, g, norms);
		dlcp_thc_encode(thc, g, norms, (uint64_t)i, codes);
		encode += now() - t;
		t = now();
		dlcp_thc_add(sums, codes, dlcp_thc_units(LEN), 1, 0);
		add += now() - t;
		t = now();
		dlcp_thc_decode(thc, norms, (uint64_t)i, sums, 1, out);
		decode += now() - t;
	}
	printf("# %s loops\n", which);
	say("memcpy", LEN, ROUNDS, copy);
	say("encode (with the norm)", LEN, ROUNDS, encode);
	say("aggregate, one contribution", LEN, ROUNDS, add);
	say("decode", LEN, ROUNDS, decode);
	say("encode plus decode", LEN, ROUNDS, encode + decode);
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
	bad |= RUN(rounding_is_exact);
	bad |= RUN(sums_of_codes);
	bad |= RUN(memory_has_the_rest);
	bad |= RUN(feedback_over_steps);
	bad |= RUN(layers_of_all_scales);
	bad |= RUN(norms_round_up);
	bad |= RUN(norms_not_finite);
	bad |= RUN(traffic);
	bad |= RUN(same_bits);
	bad |= RUN(same_tensors);
	bad |= RUN(odd_sizes);
	return bad;
}
