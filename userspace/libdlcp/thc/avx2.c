// SPDX-License-Identifier: LGPL-2.1-or-later
/* The loops of THC with AVX2; every operation in the order of plain.c */
#include <string.h>

#include "thc.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#define TARGET	__attribute__((target("avx2")))

TARGET static void add(float *x, const float *a, const float *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i += 8)
		_mm256_storeu_ps(x + i, _mm256_add_ps(_mm256_loadu_ps(a + i),
						      _mm256_loadu_ps(b + i)));
}

TARGET static void squares(const float *x, float *lane)
{
	__m256 sum = _mm256_loadu_ps(lane), v;
	size_t i;

	for (i = 0; i < THC_BLOCK; i += 8) {
		v = _mm256_loadu_ps(x + i);
		sum = _mm256_add_ps(sum, _mm256_mul_ps(v, v));
	}
	_mm256_storeu_ps(lane, sum);
}

/* Bits @bits >> 0..7 as signs of eight lanes */
TARGET static inline __m256 sign8(uint32_t bits)
{
	const __m256i shift = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
	__m256i s = _mm256_sllv_epi32(_mm256_set1_epi32((int)bits), shift);

	return _mm256_castsi256_ps(_mm256_and_si256(s,
					_mm256_set1_epi32((int)0x80000000)));
}

/* a + b and a - b of lanes 1, 2 and 4 apart */
TARGET static inline __m256 inside(__m256 x)
{
	const __m256 s1 = _mm256_setr_ps(0, -0.f, 0, -0.f, 0, -0.f, 0, -0.f);
	const __m256 s2 = _mm256_setr_ps(0, 0, -0.f, -0.f, 0, 0, -0.f, -0.f);
	const __m256 s4 = _mm256_setr_ps(0, 0, 0, 0, -0.f, -0.f, -0.f, -0.f);

	x = _mm256_add_ps(_mm256_permute_ps(x, 0xb1), _mm256_xor_ps(x, s1));
	x = _mm256_add_ps(_mm256_permute_ps(x, 0x4e), _mm256_xor_ps(x, s2));
	return _mm256_add_ps(_mm256_permute2f128_ps(x, x, 1),
			     _mm256_xor_ps(x, s4));
}

/* Steps h and 2h at once: each element is loaded and stored once for two */
TARGET static void step4(float *x, size_t h)
{
	__m256 a, b, c, d, t;
	size_t i, j;

	for (i = 0; i < THC_BLOCK; i += 4 * h) {
		for (j = i; j < i + h; j += 8) {
			a = _mm256_loadu_ps(x + j);
			b = _mm256_loadu_ps(x + j + h);
			c = _mm256_loadu_ps(x + j + 2 * h);
			d = _mm256_loadu_ps(x + j + 3 * h);
			t = _mm256_add_ps(a, b);
			b = _mm256_sub_ps(a, b);
			a = _mm256_add_ps(c, d);
			d = _mm256_sub_ps(c, d);
			_mm256_storeu_ps(x + j, _mm256_add_ps(t, a));
			_mm256_storeu_ps(x + j + h, _mm256_add_ps(b, d));
			_mm256_storeu_ps(x + j + 2 * h, _mm256_sub_ps(t, a));
			_mm256_storeu_ps(x + j + 3 * h, _mm256_sub_ps(b, d));
		}
	}
}

/* The last step, h = 512, with what is multiplied at the end */
TARGET static void last_step(float *x, float scale, const uint32_t *signs)
{
	const size_t h = THC_BLOCK / 2;
	const __m256 by = _mm256_set1_ps(scale);
	__m256 a, b, t;
	size_t i;

	for (i = 0; i < h; i += 8) {
		t = _mm256_loadu_ps(x + i);
		b = _mm256_loadu_ps(x + i + h);
		a = _mm256_mul_ps(_mm256_add_ps(t, b), by);
		b = _mm256_mul_ps(_mm256_sub_ps(t, b), by);
		if (signs) {
			a = _mm256_xor_ps(a, sign8(signs[i / 32] >> (i % 32)));
			b = _mm256_xor_ps(b, sign8(signs[(i + h) / 32] >>
						   (i % 32)));
		}
		_mm256_storeu_ps(x + i, a);
		_mm256_storeu_ps(x + i + h, b);
	}
}

TARGET static void middle(float *x)
{
	step4(x, 8);
	step4(x, 32);
	step4(x, 128);
}

TARGET static void rotate(float *x, const uint32_t *signs, float scale)
{
	__m256 v;
	size_t i;

	for (i = 0; i < THC_BLOCK; i += 8) {
		v = _mm256_xor_ps(_mm256_loadu_ps(x + i),
				  sign8(signs[i / 32] >> (i % 32)));
		_mm256_storeu_ps(x + i, inside(v));
	}
	middle(x);
	last_step(x, scale, NULL);
}

TARGET static void rotate_back(float *x, const uint32_t *signs, float scale)
{
	size_t i;

	for (i = 0; i < THC_BLOCK; i += 8)
		_mm256_storeu_ps(x + i, inside(_mm256_loadu_ps(x + i)));
	middle(x);
	last_step(x, scale, signs);
}

TARGET static inline __m256i random8(__m256i *state)
{
	__m256i s = *state;

	s = _mm256_xor_si256(s, _mm256_slli_epi32(s, 13));
	s = _mm256_xor_si256(s, _mm256_srli_epi32(s, 17));
	s = _mm256_xor_si256(s, _mm256_slli_epi32(s, 5));
	*state = s;
	return s;
}

/* Of 16 bytes, those that eight numbers 0..15 choose */
TARGET static inline __m256i look_up(const uint8_t *table, __m256i i)
{
	__m256i t = _mm256_broadcastsi128_si256(
			_mm_loadu_si128((const __m128i *)table));

	/* an index with its upper bit set gives 0 */
	i = _mm256_or_si256(i, _mm256_set1_epi32((int)0x80808000));
	return _mm256_shuffle_epi8(t, i);
}

/* What thc_below says, by shuffles, which are faster than a gather: the code
 * below each of 0..31, and the distance from there to the next
 */
static const uint8_t below_low[16] = {
	0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7,
};

static const uint8_t below_high[16] = {
	8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 14, 14, 14,
};

static const uint8_t gaps[16] = {
	3, 2, 2, 2, 2, 2, 1, 2, 1, 2, 2, 2, 2, 2, 3, 0,
};

TARGET static inline __m256i codes_below(__m256i whole)
{
	__m256i high = _mm256_cmpgt_epi32(whole, _mm256_set1_epi32(15));

	return _mm256_blendv_epi8(look_up(below_low, whole),
				  look_up(below_high, whole), high);
}

/* Eight elements. Return: their codes; *@px becomes what is lost */
TARGET static inline __m256i quantise8(float *px, __m256i *state)
{
	const __m256 tp = _mm256_set1_ps(THC_TP), minus = _mm256_set1_ps(-THC_TP);
	__m256 x = _mm256_loadu_ps(px), y, v, chance, value, gap, up;
	__m256i code;

	chance = _mm256_mul_ps(_mm256_cvtepi32_ps(
			_mm256_srli_epi32(random8(state), 8)),
			_mm256_set1_ps(0x1p-24f));
	y = _mm256_max_ps(_mm256_min_ps(x, tp), minus);
	v = _mm256_mul_ps(_mm256_add_ps(y, tp),
			  _mm256_set1_ps(THC_G / (2 * THC_TP)));
	code = codes_below(_mm256_cvttps_epi32(v));
	value = _mm256_cvtepi32_ps(look_up(thc_table, code));
	gap = _mm256_cvtepi32_ps(look_up(gaps, code));
	up = _mm256_cmp_ps(_mm256_mul_ps(chance, gap),
			   _mm256_sub_ps(v, value), _CMP_LT_OQ);
	value = _mm256_add_ps(value, _mm256_and_ps(up, gap));
	value = _mm256_mul_ps(_mm256_sub_ps(value, _mm256_set1_ps(THC_G / 2)),
			      _mm256_set1_ps(2 * THC_TP / THC_G));
	_mm256_storeu_ps(px, _mm256_sub_ps(x, value));
	return _mm256_sub_epi32(code, _mm256_castps_si256(up));
}

TARGET static void quantise(float *x, uint32_t *random, uint8_t *codes)
{
	const __m256i pick = _mm256_setr_epi8(
		0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
		0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	__m256i state = _mm256_loadu_si256((const __m256i *)random), q;
	uint32_t four;
	size_t i;

	for (i = 0; i < THC_BLOCK; i += 8) {
		q = quantise8(x + i, &state);
		/* the second of each pair into the upper half of a byte */
		q = _mm256_or_si256(q, _mm256_srli_epi64(q, 28));
		q = _mm256_shuffle_epi8(q, pick);
		four = (uint32_t)_mm256_extract_epi16(q, 0) |
		       (uint32_t)_mm256_extract_epi16(q, 8) << 16;
		memcpy(codes + i / 2, &four, 4);
	}
	_mm256_storeu_si256((__m256i *)random, state);
}

/* Table entries of 32 codes, in order, in two registers */
TARGET static inline void entries(const uint8_t *codes, __m128i *a, __m128i *b)
{
	const __m128i table = _mm_loadu_si128((const __m128i *)thc_table);
	const __m128i low = _mm_set1_epi8(15);
	__m128i c = _mm_loadu_si128((const __m128i *)codes), even, odd;

	even = _mm_shuffle_epi8(table, _mm_and_si128(c, low));
	odd = _mm_shuffle_epi8(table,
			       _mm_and_si128(_mm_srli_epi16(c, 4), low));
	*a = _mm_unpacklo_epi8(even, odd);
	*b = _mm_unpackhi_epi8(even, odd);
}

TARGET static void add_codes8(uint8_t *sums, const uint8_t *codes, int first)
{
	__m128i *to = (__m128i *)sums, a, b;
	size_t i;

	for (i = 0; i < THC_UNIT / 2; i += 16, to += 2) {
		entries(codes + i, &a, &b);
		if (!first) {
			a = _mm_add_epi8(a, _mm_loadu_si128(to));
			b = _mm_add_epi8(b, _mm_loadu_si128(to + 1));
		}
		_mm_storeu_si128(to, a);
		_mm_storeu_si128(to + 1, b);
	}
}

TARGET static void add_codes16(uint16_t *sums, const uint8_t *codes, int first)
{
	__m256i *to = (__m256i *)sums, x, y;
	__m128i a, b;
	size_t i;

	for (i = 0; i < THC_UNIT / 2; i += 16, to += 2) {
		entries(codes + i, &a, &b);
		x = _mm256_cvtepu8_epi16(a);
		y = _mm256_cvtepu8_epi16(b);
		if (!first) {
			x = _mm256_add_epi16(x, _mm256_loadu_si256(to));
			y = _mm256_add_epi16(y, _mm256_loadu_si256(to + 1));
		}
		_mm256_storeu_si256(to, x);
		_mm256_storeu_si256(to + 1, y);
	}
}

TARGET static inline __m256 value8(__m256i sums, __m256 by, __m256 k)
{
	const __m256 half = _mm256_set1_ps(THC_G / 2);

	return _mm256_mul_ps(_mm256_sub_ps(
			_mm256_mul_ps(_mm256_cvtepi32_ps(sums), by), half), k);
}

TARGET static void dequantise8(float *x, const uint8_t *sums, float by, float k)
{
	__m256 vby = _mm256_set1_ps(by), vk = _mm256_set1_ps(k);
	__m128i s;
	size_t i;

	for (i = 0; i < THC_UNIT; i += 8) {
		s = _mm_loadl_epi64((const __m128i *)(sums + i));
		_mm256_storeu_ps(x + i, value8(_mm256_cvtepu8_epi32(s), vby,
					       vk));
	}
}

TARGET static void dequantise16(float *x, const uint16_t *sums, float by,
				float k)
{
	__m256 vby = _mm256_set1_ps(by), vk = _mm256_set1_ps(k);
	__m128i s;
	size_t i;

	for (i = 0; i < THC_UNIT; i += 8) {
		s = _mm_loadu_si128((const __m128i *)(sums + i));
		_mm256_storeu_ps(x + i, value8(_mm256_cvtepu16_epi32(s), vby,
					       vk));
	}
}

static const struct thc_loops loops = {
	add, squares, rotate, rotate_back, quantise, add_codes8, add_codes16,
	dequantise8, dequantise16,
};

const struct thc_loops *thc_avx2(void)
{
	return __builtin_cpu_supports("avx2") ? &loops : NULL;
}
#else
const struct thc_loops *thc_avx2(void)
{
	return NULL;
}
#endif
