// SPDX-License-Identifier: LGPL-2.1-or-later
/* THC: what surrounds the inner loops. See dlcp_thc.h */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"
#include "thc.h"

#define ROOT	32.0f	/* of THC_BLOCK */

static const struct thc_loops *chosen;

void thc_use(const struct thc_loops *loops)
{
	__atomic_store_n(&chosen, loops, __ATOMIC_RELAXED);
}

static const struct thc_loops *best(void)
{
	const struct thc_loops *l = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (!l)
		l = thc_avx2();
	return l ? l : &thc_plain;
}

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* The signs of a block: the same at all ranks, others in every step */
static void make_signs(uint64_t step, size_t block, uint32_t *signs)
{
	uint64_t word, at = mix(step) + (uint64_t)block * 16;
	size_t i;

	for (i = 0; i < THC_BLOCK / 64; i++) {
		word = mix(at + i);
		signs[2 * i] = (uint32_t)word;
		signs[2 * i + 1] = (uint32_t)(word >> 32);
	}
}

static size_t padded(size_t count)
{
	return (count + THC_BLOCK - 1) / THC_BLOCK * THC_BLOCK;
}

DLCP_API size_t dlcp_thc_units(size_t count)
{
	return padded(count) / THC_UNIT;
}

DLCP_API size_t dlcp_thc_blocks(size_t count)
{
	return padded(count) / THC_BLOCK;
}

DLCP_API size_t dlcp_thc_code_bytes(size_t count)
{
	return padded(count) / 2;
}

DLCP_API int dlcp_thc_width(int world)
{
	return world * THC_G <= UINT8_MAX ? 1 : 2;
}

static size_t unit_bytes(int width)
{
	return THC_UNIT * (size_t)width + sizeof(uint16_t);
}

DLCP_API size_t dlcp_thc_sum_bytes(size_t count, int width)
{
	return dlcp_thc_units(count) * unit_bytes(width);
}

DLCP_API struct dlcp_thc *dlcp_thc_new(size_t count, uint64_t seed)
{
	struct dlcp_thc *thc = calloc(1, sizeof(*thc));
	size_t i;

	if (thc) {
		thc->count = count;
		thc->padded = padded(count);
		thc->memory = calloc(thc->padded + 1, sizeof(float));
		thc->x = calloc(thc->padded + 1, sizeof(float));
	}
	if (!thc || !thc->memory || !thc->x) {
		dlcp_thc_free(thc);
		dlcp__fail(ENOMEM, "no memory for a codec");
		return NULL;
	}
	for (i = 0; i < THC_LANES; i++)	/* never 0 */
		thc->random[i] = (uint32_t)mix(seed * THC_LANES + i) | 1;
	return thc;
}

DLCP_API void dlcp_thc_free(struct dlcp_thc *thc)
{
	if (!thc)
		return;
	free(thc->memory);
	free(thc->x);
	free(thc);
}

DLCP_API void dlcp_thc_norms(struct dlcp_thc *thc, const float *grad,
			     float *norms)
{
	size_t i, j, whole = thc->count / 8 * 8;
	const struct thc_loops *l = best();
	float lane[8];
	double sum;

	l->add(thc->x, grad, thc->memory, whole);
	for (i = whole; i < thc->count; i++)
		thc->x[i] = grad[i] + thc->memory[i];
	/* beyond the tensor's end the memory counts, the gradient is zero */
	memcpy(thc->x + thc->count, thc->memory + thc->count,
	       (thc->padded - thc->count) * sizeof(float));
	for (i = 0; i < thc->padded; i += THC_BLOCK) {
		memset(lane, 0, sizeof(lane));
		l->squares(thc->x + i, lane);
		for (sum = 0, j = 0; j < 8; j++)
			sum += (double)lane[j];
		norms[i / THC_BLOCK] = (float)sqrt(sum);
	}
}

DLCP_API void dlcp_thc_encode(struct dlcp_thc *thc, const float *norms,
			      uint64_t step, uint8_t *codes)
{
	const struct thc_loops *l = best();
	uint32_t signs[THC_BLOCK / 32];
	size_t i, block;
	float *x, norm;

	for (i = 0; i < thc->padded; i += THC_BLOCK) {
		block = i / THC_BLOCK;
		norm = norms[block];
		x = thc->memory + i;
		memcpy(x, thc->x + i, THC_BLOCK * sizeof(float));
		make_signs(step, block, signs);
		/* rotating divides by ROOT, looking normal multiplies by it */
		l->rotate(x, signs, norm > 0 ? 1 / norm : 0);
		l->quantise(x, thc->random, codes + i / 2);
		l->rotate_back(x, signs, norm / ROOT / ROOT);
	}
}

DLCP_API void dlcp_thc_add(void *sums, const uint8_t *codes, size_t units,
			   int width, int first)
{
	const struct thc_loops *l = best();
	size_t i;

	for (i = 0; i < units; i++) {
		char *unit = (char *)sums + i * unit_bytes(width);

		if (width == 1)
			l->add_codes8((uint8_t *)unit, codes + i * THC_UNIT / 2,
				      first);
		else
			l->add_codes16((uint16_t *)unit,
				       codes + i * THC_UNIT / 2, first);
	}
}

static void dequantise(const struct thc_loops *l, const char *unit, int width,
		       float k, float *x)
{
	uint16_t m;

	memcpy(&m, unit + THC_UNIT * width, sizeof(m));
	if (!m)
		memset(x, 0, THC_UNIT * sizeof(*x));
	else if (width == 1)
		l->dequantise8(x, (const uint8_t *)unit, 1.0f / m, k);
	else
		l->dequantise16(x, (const uint16_t *)unit, 1.0f / m, k);
}

DLCP_API void dlcp_thc_decode(const struct dlcp_thc *thc, const float *norms,
			      uint64_t step, const void *sums, int width,
			      float *out)
{
	const struct thc_loops *l = best();
	uint32_t signs[THC_BLOCK / 32];
	float x[THC_BLOCK], k, *to;
	const char *unit = sums;
	size_t i, j, left;

	for (i = 0; i < thc->padded; i += THC_BLOCK) {
		left = thc->count - i;
		k = 2 * THC_TP / THC_G * norms[i / THC_BLOCK] / ROOT;
		to = left >= THC_BLOCK ? out + i : x;
		for (j = 0; j < THC_BLOCK; j += THC_UNIT) {
			dequantise(l, unit, width, k, to + j);
			unit += unit_bytes(width);
		}
		make_signs(step, i / THC_BLOCK, signs);
		l->rotate_back(to, signs, 1 / ROOT);
		if (to == x)
			memcpy(out + i, x, left * sizeof(float));
	}
}
