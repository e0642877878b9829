// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The loops of THC with AVX2; every operation in the order of plain.c.
 *
 * A block is rows of 64 elements, eight registers. Steps of the transform
 * between rows are done for a column of registers, of all rows, and those
 * within a row for a row, so that each element is loaded and stored once for
 * all of a kind. Rows could be quantised while they are in registers, but that
 * is slower: what depends on each other becomes longer than what a processor
 * can look ahead.
 */
#include "thc.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#define TARGET	__attribute__((target("avx2,fma")))
#define INLINE	TARGET static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL	_Pragma("unroll")
#else
#define UNROLL	_Pragma("GCC unroll 16")
#endif
#define ROW	64	/* elements */

TARGET static void squares(const float *a, const float *b, size_t n,
			   float *lane)
{
	__m256 sum[4], x;
	size_t i, k;

	UNROLL
	for (k = 0; k < 4; k++)
		sum[k] = _mm256_loadu_ps(lane + 8 * k);
	for (i = 0; i < n; i += 32) {
		UNROLL
		for (k = 0; k < 4; k++) {
			x = _mm256_add_ps(_mm256_loadu_ps(a + i + 8 * k),
					  _mm256_loadu_ps(b + i + 8 * k));
			sum[k] = _mm256_add_ps(sum[k], _mm256_mul_ps(x, x));
		}
	}
	UNROLL
	for (k = 0; k < 4; k++)
		_mm256_storeu_ps(lane + 8 * k, sum[k]);
}

/* --- the transform */

/* Two registers of a step. Taking away what is multiplied by 1 is subtracting,
 * with the same one rounding, but done by units that have less to do.
 */
INLINE void cross(__m256 *a, __m256 *b)
{
	__m256 sum = _mm256_add_ps(*a, *b);

	*b = _mm256_fnmadd_ps(*b, _mm256_set1_ps(1), *a);
	*a = sum;
}

/* Four of them, whose partners are @h apart */
INLINE void cross4(__m256 *v, size_t h)
{
	cross(v, v + h);
	cross(v + 1, v + 1 + h);
	cross(v + 2, v + 2 + h);
	cross(v + 3, v + 3 + h);
}

/* All steps between @n registers, two to 16, as in a rotation; and backwards */
INLINE void down4(__m256 *v)
{
	cross(v, v + 2);
	cross(v + 1, v + 3);
	cross(v, v + 1);
	cross(v + 2, v + 3);
}

INLINE void down8(__m256 *v)
{
	cross4(v, 4);
	down4(v);
	down4(v + 4);
}

INLINE void steps_down(__m256 *v, size_t n)
{
	if (n == 16) {
		cross4(v, 8);
		cross4(v + 4, 8);
		down8(v + 8);
	}
	if (n >= 8)
		down8(v);
	else if (n == 4)
		down4(v);
	else
		cross(v, v + 1);
}

INLINE void up4(__m256 *v)
{
	cross(v, v + 1);
	cross(v + 2, v + 3);
	cross(v, v + 2);
	cross(v + 1, v + 3);
}

INLINE void up8(__m256 *v)
{
	up4(v);
	up4(v + 4);
	cross4(v, 4);
}

INLINE void steps_up(__m256 *v, size_t n)
{
	if (n >= 8)
		up8(v);
	else if (n == 4)
		up4(v);
	else
		cross(v, v + 1);
	if (n == 16) {
		up8(v + 8);
		cross4(v, 8);
		cross4(v + 4, 8);
	}
}

/* Steps within a register, of lanes 1, 2 and 4 apart: a + b and a - b. Times 1
 * or -1 is exact, so that adding up with one rounding is adding or subtracting.
 */
INLINE __m256 step1(__m256 x)
{
	return _mm256_fmadd_ps(x, _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1),
			       _mm256_permute_ps(x, 0xb1));
}

INLINE __m256 step2(__m256 x)
{
	return _mm256_fmadd_ps(x, _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1),
			       _mm256_permute_ps(x, 0x4e));
}

INLINE __m256 step4(__m256 x)
{
	return _mm256_fmadd_ps(x, _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1),
			       _mm256_permute2f128_ps(x, x, 1));
}

/* The steps within rows */
TARGET static void rows_down(float *x, size_t n)
{
	__m256 v[8];
	size_t i, k;

	for (i = 0; i < n; i += ROW, x += ROW) {
		UNROLL
		for (k = 0; k < 8; k++)
			v[k] = _mm256_load_ps(x + 8 * k);
		steps_down(v, 8);
		UNROLL
		for (k = 0; k < 8; k++)
			_mm256_store_ps(x + 8 * k, step1(step2(step4(v[k]))));
	}
}

TARGET static void rows_up(float *x, size_t n)
{
	__m256 v[8];
	size_t i, k;

	for (i = 0; i < n; i += ROW, x += ROW) {
		UNROLL
		for (k = 0; k < 8; k++)
			v[k] = step4(step2(step1(_mm256_load_ps(x + 8 * k))));
		steps_up(v, 8);
		UNROLL
		for (k = 0; k < 8; k++)
			_mm256_store_ps(x + 8 * k, v[k]);
	}
}

/* Times @by[1] where an element's sign is set, else times @by[0]; @signs are
 * those of the column's first four rows, eight bits for each
 */
INLINE __m256 scaled(__m256 x, const __m256 *by, __m256i signs, size_t row)
{
	signs = _mm256_slli_epi32(signs, (int)row % 4 * 8);
	return _mm256_mul_ps(x, _mm256_blendv_ps(by[0], by[1],
						 _mm256_castsi256_ps(signs)));
}

INLINE void load_signs(__m256i *s, const uint32_t *signs, size_t rows)
{
	size_t k;

	UNROLL
	for (k = 0; k < (rows + 3) / 4; k++)
		s[k] = _mm256_loadu_si256((const __m256i *)signs + k);
}

/* On to the next column */
INLINE void next_signs(__m256i *s, size_t rows)
{
	size_t k;

	UNROLL
	for (k = 0; k < (rows + 3) / 4; k++)
		s[k] = _mm256_add_epi32(s[k], s[k]);
}

/* a + b, signs and scale, and the steps between @rows rows */
INLINE void columns_down(float *x, const float *a, const float *b, size_t rows,
			 const uint32_t *signs, float scale)
{
	__m256 v[16], by[2] = { _mm256_set1_ps(scale), _mm256_set1_ps(-scale) };
	size_t at, row, i;
	__m256i s[4];

	load_signs(s, signs, rows);
	for (at = 0; at < ROW; at += 8) {
		UNROLL
		for (row = 0; row < rows; row++) {
			i = row * ROW + at;
			v[row] = _mm256_add_ps(_mm256_loadu_ps(a + i),
					       _mm256_loadu_ps(b + i));
			v[row] = scaled(v[row], by, s[row / 4], row);
		}
		next_signs(s, rows);
		steps_down(v, rows);
		UNROLL
		for (row = 0; row < rows; row++)
			_mm256_store_ps(x + row * ROW + at, v[row]);
	}
}

/* The same backwards, to somewhere else */
INLINE void columns_up(float *to, const float *x, size_t rows,
		       const uint32_t *signs, float scale)
{
	__m256 v[16], by[2] = { _mm256_set1_ps(scale), _mm256_set1_ps(-scale) };
	size_t at, row;
	__m256i s[4];

	load_signs(s, signs, rows);
	for (at = 0; at < ROW; at += 8) {
		UNROLL
		for (row = 0; row < rows; row++)
			v[row] = _mm256_load_ps(x + row * ROW + at);
		steps_up(v, rows);
		UNROLL
		for (row = 0; row < rows; row++)
			_mm256_storeu_ps(to + row * ROW + at,
					 scaled(v[row], by, s[row / 4], row));
		next_signs(s, rows);
	}
}

/* How many rows is known when compiling, so that they are in registers */
TARGET static void rotate(float *x, const float *a, const float *b, size_t n,
			  const uint32_t *signs, float scale)
{
	if (n == 16 * ROW)
		columns_down(x, a, b, 16, signs, scale);
	else if (n == 8 * ROW)
		columns_down(x, a, b, 8, signs, scale);
	else if (n == 4 * ROW)
		columns_down(x, a, b, 4, signs, scale);
	else
		columns_down(x, a, b, 2, signs, scale);
	rows_down(x, n);
}

TARGET static void rotate_back(float *to, float *x, size_t n,
			       const uint32_t *signs, float scale)
{
	rows_up(x, n);
	if (n == 16 * ROW)
		columns_up(to, x, 16, signs, scale);
	else if (n == 8 * ROW)
		columns_up(to, x, 8, signs, scale);
	else if (n == 4 * ROW)
		columns_up(to, x, 4, signs, scale);
	else
		columns_up(to, x, 2, signs, scale);
}

/* --- quantising */

INLINE __m256i next_random(__m256i s)
{
	s = _mm256_xor_si256(s, _mm256_slli_epi32(s, 13));
	s = _mm256_xor_si256(s, _mm256_srli_epi32(s, 17));
	return _mm256_xor_si256(s, _mm256_slli_epi32(s, 5));
}

INLINE __m256i twice(const void *p)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128(p));
}

/* What a table of 32 bytes has for whole values of -16..15: where the upper bit
 * of a number is set, a shuffle gives 0
 */
INLINE __m256i look_up(const void *table, __m256i whole)
{
	__m256i other = _mm256_xor_si256(whole, _mm256_set1_epi8((char)0x80));

	return _mm256_or_si256(
		_mm256_shuffle_epi8(twice((const char *)table + 16), whole),
		_mm256_shuffle_epi8(twice(table), other));
}

/* Two registers of elements to whole values of 16 bits, and their coins */
INLINE __m256i round16(const __m256 *x, __m256i random, __m256i *coin)
{
	/* what is too large would be converted to the smallest */
	const __m256 most = _mm256_set1_ps(INT16_MAX);
	__m256i fine;

	fine = _mm256_packs_epi32(
		_mm256_cvtps_epi32(_mm256_min_ps(x[0], most)),
		_mm256_cvtps_epi32(_mm256_min_ps(x[1], most)));
	fine = _mm256_adds_epi16(fine, _mm256_srli_epi16(random,
							 16 - THC_FINE_BITS));
	*coin = _mm256_and_si256(random, _mm256_set1_epi16(0xff));
	return _mm256_srai_epi16(fine, THC_FINE_BITS);
}

/* (thc_table[] - THC_HALF) * THC_FINE as bfloat16 */
static const uint8_t values_low[16] = {
	0xf0, 0xc0, 0xa0, 0x80, 0x40, 0x00, 0x80, 0x00,
	0x00, 0x80, 0x00, 0x40, 0x80, 0xa0, 0xc0, 0xf0,
};

static const uint8_t values_high[16] = {
	0xc6, 0xc6, 0xc6, 0xc6, 0xc6, 0xc6, 0xc5, 0xc5,
	0x45, 0x45, 0x46, 0x46, 0x46, 0x46, 0x46, 0x46,
};

/* Take from four registers of elements what their codes say, which are in the
 * order in which packing them twice puts them
 */
INLINE void subtract32(__m256 *x, __m256i code)
{
	const __m256i zero = _mm256_setzero_si256();
	__m256i low = _mm256_shuffle_epi8(twice(values_low), code);
	__m256i high = _mm256_shuffle_epi8(twice(values_high), code);
	__m256i a = _mm256_unpacklo_epi8(low, high);
	__m256i b = _mm256_unpackhi_epi8(low, high);

	x[0] = _mm256_sub_ps(x[0], _mm256_castsi256_ps(
				     _mm256_unpacklo_epi16(zero, a)));
	x[1] = _mm256_sub_ps(x[1], _mm256_castsi256_ps(
				     _mm256_unpackhi_epi16(zero, a)));
	x[2] = _mm256_sub_ps(x[2], _mm256_castsi256_ps(
				     _mm256_unpacklo_epi16(zero, b)));
	x[3] = _mm256_sub_ps(x[3], _mm256_castsi256_ps(
				     _mm256_unpackhi_epi16(zero, b)));
}

/* Two codes in a byte, in the order of the elements */
INLINE void store32(uint8_t *to, __m256i code)
{
	__m256i two = _mm256_maddubs_epi16(code, _mm256_set1_epi16(0x1001));

	two = _mm256_packus_epi16(two, two);
	_mm_storeu_si128((__m128i *)to,
			 _mm_unpacklo_epi16(_mm256_castsi256_si128(two),
					    _mm256_extracti128_si256(two, 1)));
}

/* Four registers of elements, which become what is lost */
INLINE void quantise32(__m256 *x, __m256i *random, uint8_t *codes)
{
	__m256i a, b, coin[2], whole, code, up;

	random[0] = next_random(random[0]);
	random[1] = next_random(random[1]);
	a = round16(x, random[0], &coin[0]);
	b = round16(x + 2, random[1], &coin[1]);
	whole = _mm256_packs_epi16(a, b);
	coin[0] = _mm256_packus_epi16(coin[0], coin[1]);
	up = _mm256_cmpgt_epi8(look_up(thc_chance, whole), coin[0]);
	code = _mm256_sub_epi8(look_up(thc_below, whole), up);
	subtract32(x, code);
	store32(codes, code);
}

TARGET static void quantise(float *x, size_t n, uint32_t *random,
			    uint8_t *codes)
{
	__m256i *to = (__m256i *)random, state[2];
	__m256 v[4];
	size_t i, k;

	state[0] = _mm256_loadu_si256(to);
	state[1] = _mm256_loadu_si256(to + 1);
	for (i = 0; i < n; i += 32) {
		UNROLL
		for (k = 0; k < 4; k++)
			v[k] = _mm256_load_ps(x + i + 8 * k);
		quantise32(v, state, codes + i / 2);
		UNROLL
		for (k = 0; k < 4; k++)
			_mm256_store_ps(x + i + 8 * k, v[k]);
	}
	_mm256_storeu_si256(to, state[0]);
	_mm256_storeu_si256(to + 1, state[1]);
}

/* --- sums */

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

/* Eight sums as integers */
INLINE __m256 averages8(__m256i sums, float by, float half)
{
	return _mm256_sub_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums),
					   _mm256_set1_ps(by)),
			     _mm256_set1_ps(half));
}

TARGET static void dequantise8(float *x, const uint8_t *sums, float by,
			       float half)
{
	__m128i s;
	size_t i;

	for (i = 0; i < THC_UNIT; i += 8) {
		s = _mm_loadl_epi64((const __m128i *)(sums + i));
		_mm256_store_ps(x + i, averages8(_mm256_cvtepu8_epi32(s), by,
						 half));
	}
}

TARGET static void dequantise16(float *x, const uint16_t *sums, float by,
				float half)
{
	__m128i s;
	size_t i;

	for (i = 0; i < THC_UNIT; i += 8) {
		s = _mm_loadu_si128((const __m128i *)(sums + i));
		_mm256_store_ps(x + i, averages8(_mm256_cvtepu16_epi32(s), by,
						 half));
	}
}

static const struct thc_loops loops = {
	squares, rotate, rotate_back, quantise, add_codes8, add_codes16,
	dequantise8, dequantise16,
};

const struct thc_loops *thc_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ?
	       &loops : NULL;
}
#else
const struct thc_loops *thc_avx2(void)
{
	return NULL;
}
#endif
