// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Floats of 16 and 32 bits, plainly and with AVX2. Both give the same bits,
 * NaNs included: a NaN stays one and becomes quiet.
 */
#include <string.h>

#include "../dlcp_coll.h"
#include "reduce.h"

#if defined(__x86_64__) || defined(__i386__)
#define HAVE_X86	1
#include <immintrin.h>
#else
#define HAVE_X86	0
#endif

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static float of_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static float from_bf16(uint16_t h)
{
	return of_bits((uint32_t)h << 16);
}

static uint16_t to_bf16(float f)
{
	uint32_t u = bits_of(f);

	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float from_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31;
	uint32_t frac = h & 0x3ff;

	if (exp == 31)
		return of_bits(sign | 0x7f800000 | frac << 13 |
			       (frac ? 0x400000 : 0));
	if (!exp)	/* zero and subnormals: frac / 2^24 */
		return of_bits(sign | bits_of((float)frac * 0x1p-24f));
	return of_bits(sign | (exp + 112) << 23 | frac << 13);
}

static uint16_t to_f16(float f)
{
	uint32_t u = bits_of(f), sign = u >> 16 & 0x8000, shift, m;

	u &= 0x7fffffff;
	if (u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (u >> 13 & 0x3ff));
	if (u >= 0x477ff000)	/* rounds to 2^16 or more */
		return (uint16_t)(sign | 0x7c00);
	if (u >= 0x38800000) {	/* normal */
		u -= 112U << 23;
		return (uint16_t)(sign | (u + 0xfff + (u >> 13 & 1)) >> 13);
	}
	if (u < 0x33000000)	/* below half of the smallest */
		return (uint16_t)sign;
	shift = 126 - (u >> 23);
	m = (u & 0x7fffff) | 0x800000;
	u = m >> shift;
	m &= (1U << shift) - 1;
	if (m > 1U << (shift - 1) || (m == 1U << (shift - 1) && u & 1))
		u++;
	return (uint16_t)(sign | u);
}

static void load_f32(float *acc, const void *src, size_t n)
{
	memcpy(acc, src, n * sizeof(*acc));
}

static void add_f32(float *acc, const void *src, size_t n)
{
	const float *x = src;
	size_t i;

	for (i = 0; i < n; i++)
		acc[i] += x[i];
}

static void store_f32(void *dst, const float *acc, size_t n)
{
	memcpy(dst, acc, n * sizeof(*acc));
}

#define PLAIN_16(type)							\
static void load_##type(float *acc, const void *src, size_t n)		\
{									\
	const uint16_t *x = src;					\
	size_t i;							\
									\
	for (i = 0; i < n; i++)						\
		acc[i] = from_##type(x[i]);				\
}									\
									\
static void add_##type(float *acc, const void *src, size_t n)		\
{									\
	const uint16_t *x = src;					\
	size_t i;							\
									\
	for (i = 0; i < n; i++)						\
		acc[i] += from_##type(x[i]);				\
}									\
									\
static void store_##type(void *dst, const float *acc, size_t n)	\
{									\
	uint16_t *x = dst;						\
	size_t i;							\
									\
	for (i = 0; i < n; i++)						\
		x[i] = to_##type(acc[i]);				\
}

PLAIN_16(f16)
PLAIN_16(bf16)

static void scale(float *acc, size_t n, float num, float den)
{
	size_t i;

	for (i = 0; i < n; i++)
		acc[i] = acc[i] * num / den;
}

static const struct coll_floats plain[] = {
	[DLCP_COLL_F32]		= { load_f32, add_f32, store_f32, scale },
	[DLCP_COLL_F16]		= { load_f16, add_f16, store_f16, scale },
	[DLCP_COLL_BF16]	= { load_bf16, add_bf16, store_bf16, scale },
};

const struct coll_floats *coll_floats_plain(int dtype)
{
	return dtype >= 0 && dtype <= DLCP_COLL_BF16 ? &plain[dtype] : NULL;
}

#if HAVE_X86
#define TARGET	__attribute__((target("avx2,f16c")))

TARGET static void add8_f32(float *acc, const void *src, size_t n)
{
	const float *x = src;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8)
		_mm256_storeu_ps(acc + i,
				 _mm256_add_ps(_mm256_loadu_ps(acc + i),
					       _mm256_loadu_ps(x + i)));
	add_f32(acc + i, x + i, n - i);
}

TARGET static inline __m256 get8_f16(const uint16_t *x)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
}

TARGET static inline __m128i put8_f16(__m256 f)
{
	return _mm256_cvtps_ph(f, _MM_FROUND_TO_NEAREST_INT);
}

TARGET static inline __m256 get8_bf16(const uint16_t *x)
{
	__m128i h = _mm_loadu_si128((const __m128i *)x);

	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h),
						     16));
}

/* As to_bf16(); the halves of the packed words are put in order at the end */
TARGET static inline __m128i put8_bf16(__m256 f)
{
	const __m256i half = _mm256_set1_epi32(0x7fff);
	const __m256i one = _mm256_set1_epi32(1);
	__m256i u = _mm256_castps_si256(f), odd, round, quiet, nan;

	odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), one);
	round = _mm256_add_epi32(u, _mm256_add_epi32(half, odd));
	quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
	nan = _mm256_castps_si256(_mm256_cmp_ps(f, f, _CMP_UNORD_Q));
	u = _mm256_srli_epi32(_mm256_blendv_epi8(round, quiet, nan), 16);
	u = _mm256_permute4x64_epi64(_mm256_packus_epi32(u, u), 0x08);
	return _mm256_castsi256_si128(u);
}

#define AVX2_16(type)							\
TARGET static void load8_##type(float *acc, const void *src, size_t n)	\
{									\
	const uint16_t *x = src;					\
	size_t i;							\
									\
	for (i = 0; i + 8 <= n; i += 8)					\
		_mm256_storeu_ps(acc + i, get8_##type(x + i));		\
	load_##type(acc + i, x + i, n - i);				\
}									\
									\
TARGET static void add8_##type(float *acc, const void *src, size_t n)	\
{									\
	const uint16_t *x = src;					\
	size_t i;							\
									\
	for (i = 0; i + 8 <= n; i += 8)					\
		_mm256_storeu_ps(acc + i,				\
				 _mm256_add_ps(_mm256_loadu_ps(acc + i),\
					       get8_##type(x + i)));	\
	add_##type(acc + i, x + i, n - i);				\
}									\
									\
TARGET static void store8_##type(void *dst, const float *acc, size_t n)\
{									\
	uint16_t *x = dst;						\
	size_t i;							\
									\
	for (i = 0; i + 8 <= n; i += 8)					\
		_mm_storeu_si128((__m128i *)(x + i),			\
				 put8_##type(_mm256_loadu_ps(acc + i)));\
	store_##type(x + i, acc + i, n - i);				\
}

AVX2_16(f16)
AVX2_16(bf16)

TARGET static void scale8(float *acc, size_t n, float num, float den)
{
	const __m256 by = _mm256_set1_ps(num), over = _mm256_set1_ps(den);
	__m256 x;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		x = _mm256_mul_ps(_mm256_loadu_ps(acc + i), by);
		_mm256_storeu_ps(acc + i, _mm256_div_ps(x, over));
	}
	scale(acc + i, n - i, num, den);
}

static const struct coll_floats avx2[] = {
	[DLCP_COLL_F32]		= { load_f32, add8_f32, store_f32, scale8 },
	[DLCP_COLL_F16]		= { load8_f16, add8_f16, store8_f16, scale8 },
	[DLCP_COLL_BF16]	= { load8_bf16, add8_bf16, store8_bf16, scale8 },
};

const struct coll_floats *coll_floats_avx2(int dtype)
{
	/* No processor has AVX2 and not F16C */
	if (!__builtin_cpu_supports("avx2"))
		return NULL;
	return dtype >= 0 && dtype <= DLCP_COLL_BF16 ? &avx2[dtype] : NULL;
}
#else
const struct coll_floats *coll_floats_avx2(int dtype)
{
	(void)dtype;
	return NULL;
}
#endif
