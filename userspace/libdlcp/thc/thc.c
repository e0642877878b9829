// SPDX-License-Identifier: LGPL-2.1-or-later
/* THC: what surrounds the inner loops. See dlcp_thc.h */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"
#include "thc.h"

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

/* The signs of the block of element @first: the same at all ranks, others in
 * every step
 */
static void make_signs(uint64_t step, size_t first, uint32_t *signs)
{
	uint64_t word, at = mix(step) + first / THC_UNIT * 16;
	size_t i;

	for (i = 0; i < THC_SIGNS / 2; i++) {
		word = mix(at + i);
		signs[2 * i] = (uint32_t)word;
		signs[2 * i + 1] = (uint32_t)(word >> 32);
	}
}

static size_t padded(size_t count)
{
	return (count + THC_UNIT - 1) / THC_UNIT * THC_UNIT;
}

/* Whole blocks, and then smaller ones, each as large as it can be: the largest
 * power of two that the rest has room for
 */
static size_t block_size(size_t left)
{
	size_t n = THC_BLOCK;

	while (n > left)
		n /= 2;
	return n;
}

DLCP_API size_t dlcp_thc_units(size_t count)
{
	return padded(count) / THC_UNIT;
}

DLCP_API size_t dlcp_thc_blocks(size_t count)
{
	size_t left = padded(count), n;

	for (n = left / THC_BLOCK, left %= THC_BLOCK; left; n++)
		left -= block_size(left);
	return n;
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
	}
	if (!thc || !thc->memory) {
		dlcp_thc_free(thc);
		dlcp__no_memory();
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
	free(thc);
}

/* Up to the next value of bfloat16, so that the upper half is all of it, and
 * that no norm becomes smaller
 */
static float round_up(float norm)
{
	uint32_t bits;

	if (!isfinite(norm))
		return INFINITY;
	memcpy(&bits, &norm, sizeof(bits));
	bits = (bits + 0xffff) & 0xffff0000;
	memcpy(&norm, &bits, sizeof(bits));
	return norm;
}

/* @n elements from @i, with zeros beyond the tensor's end, in @room then */
static const float *gradient(const struct dlcp_thc *thc, const float *grad,
			     size_t i, size_t n, float *room)
{
	size_t left = thc->count - i;

	if (left >= n)
		return grad + i;
	memcpy(room, grad + i, left * sizeof(*room));
	memset(room + left, 0, (n - left) * sizeof(*room));
	return room;
}

DLCP_API void dlcp_thc_norms(const struct dlcp_thc *thc, const float *grad,
			     float *norms)
{
	const struct thc_loops *l = best();
	float lane[32], room[THC_BLOCK];
	size_t i, j, n;
	double sum;

	for (i = 0; i < thc->padded; i += n) {
		n = block_size(thc->padded - i);
		memset(lane, 0, sizeof(lane));
		l->squares(gradient(thc, grad, i, n, room), thc->memory + i, n,
			   lane);
		for (sum = 0, j = 0; j < 32; j++)
			sum += (double)lane[j];
		*norms++ = round_up((float)sqrt(sum));
	}
}

/* Of the block from @i on, which is the next one. The loops go through a block
 * in strides, in which a processor does not see what comes next.
 */
static void fetch(const struct dlcp_thc *thc, const float *x, size_t i)
{
	size_t end = i + THC_BLOCK;

	for (; end <= thc->count && i < end; i += 64 / sizeof(*x))
		__builtin_prefetch(x + i);
}

DLCP_API void dlcp_thc_encode(struct dlcp_thc *thc, const float *grad,
			      const float *norms, uint64_t step,
			      uint8_t *codes)
{
	const struct thc_loops *l = best();
	float x[THC_BLOCK] THC_ALIGN, room[THC_BLOCK];
	uint32_t signs[THC_SIGNS];
	float *memory, norm;
	size_t i, n;

	for (i = 0; i < thc->padded; i += n) {
		n = block_size(thc->padded - i);
		norm = *norms++;
		memory = thc->memory + i;
		make_signs(step, i, signs);
		/* the transform multiplies norms by the root of n, and so does
		 * what makes elements look normal
		 */
		l->rotate(x, gradient(thc, grad, i, n, room), memory, n, signs,
			  norm > 0 ? THC_HALF * THC_FINE / THC_TP / norm : 0);
		fetch(thc, grad, i + n);
		fetch(thc, thc->memory, i + n);
		l->quantise(x, n, thc->random, codes + i / 2);
		l->rotate_back(memory, x, n, signs,
			       THC_TP / THC_HALF / THC_FINE * norm / (float)n);
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

/* To steps from the middle of the table */
static void dequantise(const struct thc_loops *l, const char *unit, int width,
		       float *x)
{
	uint16_t m;

	memcpy(&m, unit + THC_UNIT * width, sizeof(m));
	if (!m)
		memset(x, 0, THC_UNIT * sizeof(*x));
	else if (width == 1)
		l->dequantise8(x, (const uint8_t *)unit, 1.0f / m, THC_HALF);
	else
		l->dequantise16(x, (const uint16_t *)unit, 1.0f / m, THC_HALF);
}

DLCP_API void dlcp_thc_decode(const struct dlcp_thc *thc, const float *norms,
			      uint64_t step, const void *sums, int width,
			      float *out)
{
	const struct thc_loops *l = best();
	float x[THC_BLOCK] THC_ALIGN, room[THC_BLOCK];
	uint32_t signs[THC_SIGNS];
	const char *unit = sums;
	size_t i, j, n, left;

	for (i = 0; i < thc->padded; i += n) {
		n = block_size(thc->padded - i);
		fetch(thc, out, i + n);
		for (j = 0; j < n; j += THC_UNIT, unit += unit_bytes(width))
			dequantise(l, unit, width, x + j);
		make_signs(step, i, signs);
		left = thc->count - i;
		l->rotate_back(left < n ? room : out + i, x, n, signs,
			       THC_TP / THC_HALF * *norms++ / (float)n);
		if (left < n)
			memcpy(out + i, room, left * sizeof(*out));
	}
}
