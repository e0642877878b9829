// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sums of integers, which wrap in their own width, plainly and with AVX2 */
#include "../dlcp_coll.h"
#include "reduce.h"

#if defined(__x86_64__) || defined(__i386__)
#define HAVE_X86	1
#include <immintrin.h>
#else
#define HAVE_X86	0
#endif

#define PLAIN(bits)							\
static void add_##bits(void *acc, const void *src, size_t n)		\
{									\
	const uint##bits##_t *x = src;					\
	uint##bits##_t *sum = acc;					\
	size_t i;							\
									\
	for (i = 0; i < n; i++)						\
		sum[i] = (uint##bits##_t)(sum[i] + x[i]);		\
}

PLAIN(8)
PLAIN(32)
PLAIN(64)

coll_ints_fn *coll_ints_plain(int dtype)
{
	if (dtype == DLCP_COLL_I64)
		return add_64;
	return dtype == DLCP_COLL_I32 ? add_32 : add_8;
}

#if HAVE_X86
#define AVX2(bits)							\
__attribute__((target("avx2")))						\
static void add_avx2_##bits(void *acc, const void *src, size_t n)	\
{									\
	const size_t step = 256 / bits;					\
	const uint##bits##_t *x = src;					\
	uint##bits##_t *sum = acc;					\
	__m256i a, b;							\
	size_t i;							\
									\
	for (i = 0; i + step <= n; i += step) {				\
		a = _mm256_loadu_si256((const __m256i *)(sum + i));	\
		b = _mm256_loadu_si256((const __m256i *)(x + i));	\
		a = _mm256_add_epi##bits(a, b);				\
		_mm256_storeu_si256((__m256i *)(sum + i), a);		\
	}								\
	add_##bits(sum + i, x + i, n - i);				\
}

AVX2(8)
AVX2(32)
AVX2(64)

coll_ints_fn *coll_ints_avx2(int dtype)
{
	if (!__builtin_cpu_supports("avx2"))
		return NULL;
	if (dtype == DLCP_COLL_I64)
		return add_avx2_64;
	return dtype == DLCP_COLL_I32 ? add_avx2_32 : add_avx2_8;
}
#else
coll_ints_fn *coll_ints_avx2(int dtype)
{
	(void)dtype;
	return NULL;
}
#endif
