// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reductions. Floats of every width are added in float, a block at a time
 * that stays in the first-level cache, and stored once. Doubles and integers are
 * reduced in their own type, but averages of integers in a wider one.
 */
#include <math.h>
#include <string.h>

#include "../dlcp_coll.h"
#include "../dlcp_thc.h"
#include "reduce.h"

#define BLOCK	1024	/* elements */

/* Holds the sum of as many 64-bit integers as there are ranks */
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 wide_int;
#else
typedef int64_t wide_int;
#endif

/* Is it a sum, which may be divided by something? */
static int adds(int reduce)
{
	return reduce == DLCP_COLL_SUM || reduce == DLCP_COLL_AVG;
}

static const struct coll_floats *floats_for(int dtype)
{
	const struct coll_floats *f = coll_floats_avx2(dtype);

	return f ? f : coll_floats_plain(dtype);
}

static void reduce_floats(int dtype, int reduce, char *dst,
			  const void *const *src, unsigned int nr, size_t n,
			  float num, float den)
{
	const struct coll_floats *f = floats_for(dtype);
	size_t size = coll_dtype_size(dtype), at, len;
	float acc[BLOCK], one[BLOCK];
	unsigned int i;

	for (at = 0; at < n; at += len) {
		len = n - at < BLOCK ? n - at : BLOCK;
		f->load(acc, (const char *)src[0] + at * size, len);
		for (i = 1; i < nr; i++) {
			if (adds(reduce)) {
				f->add(acc, (const char *)src[i] + at * size,
				       len);
				continue;
			}
			f->load(one, (const char *)src[i] + at * size, len);
			coll_combiner(DLCP_COLL_F32, reduce)(acc, one, len);
		}
		if (num != den)
			f->scale(acc, len, num, den);
		f->store(dst + at * size, acc, len);
	}
}

/* In the elements' own type. @dst may be a source, hence the block */
static void reduce_as_is(int dtype, int reduce, char *dst,
			 const void *const *src, unsigned int nr, size_t n)
{
	coll_ints_fn *combine = coll_combiner(dtype, reduce);
	size_t size = coll_dtype_size(dtype), at, len;
	int64_t acc[BLOCK];
	unsigned int k;

	for (at = 0; at < n; at += len) {
		len = n - at < BLOCK ? n - at : BLOCK;
		memcpy(acc, (const char *)src[0] + at * size, len * size);
		for (k = 1; k < nr; k++)
			combine(acc, (const char *)src[k] + at * size, len);
		memcpy(dst + at * size, acc, len * size);
	}
}

static void scale_doubles(double *x, size_t n, double num, double den)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = x[i] * num / den;
}

static int64_t int_at(int dtype, const void *src, size_t i)
{
	switch (dtype) {
	case DLCP_COLL_I8:
		return ((const int8_t *)src)[i];
	case DLCP_COLL_U8:
		return ((const uint8_t *)src)[i];
	case DLCP_COLL_I32:
		return ((const int32_t *)src)[i];
	default:
		return ((const int64_t *)src)[i];
	}
}

static void set_int(int dtype, void *dst, size_t i, wide_int x)
{
	switch (dtype) {
	case DLCP_COLL_I8:
	case DLCP_COLL_U8:
		((uint8_t *)dst)[i] = (uint8_t)x;
		break;
	case DLCP_COLL_I32:
		((uint32_t *)dst)[i] = (uint32_t)x;
		break;
	default:
		((uint64_t *)dst)[i] = (uint64_t)x;
	}
}

/* Sums that are divided must not wrap around before */
static void scale_sums(int dtype, void *dst, const void *const *src,
		       unsigned int nr, size_t n, unsigned int num,
		       unsigned int den)
{
	unsigned int k;
	wide_int acc;
	size_t i;

	for (i = 0; i < n; i++) {
		for (acc = 0, k = 0; k < nr; k++)
			acc += int_at(dtype, src[k], i);
		set_int(dtype, dst, i, acc * num / den);
	}
}

static void reduce_codes(int dtype, char *dst, const void *const *src,
			 unsigned int nr, size_t n, uint16_t contributions)
{
	size_t size = coll_dtype_sum_size(dtype), i;
	unsigned int k;

	for (k = 0; k < nr; k++)
		dlcp_thc_add(dst, src[k], n, dtype - COLL_THC8 + 1, !k);
	for (i = 1; i <= n; i++)
		memcpy(dst + i * size - sizeof(contributions), &contributions,
		       sizeof(contributions));
}

void coll_reduce(int dtype, int reduce, void *dst, const void *const *src,
		 unsigned int nr, size_t n, unsigned int num, unsigned int den)
{
	if (!adds(reduce))
		num = den = 1;
	if (coll_is_thc(dtype)) {
		reduce_codes(dtype, dst, src, nr, n, (uint16_t)(num ? den : 0));
	} else if (coll_is_int(dtype) && num != den) {
		scale_sums(dtype, dst, src, nr, n, num, den);
	} else if (coll_is_int(dtype) || dtype == DLCP_COLL_F64) {
		reduce_as_is(dtype, reduce, dst, src, nr, n);
		if (num != den)
			scale_doubles(dst, n, num, den);
	} else {
		reduce_floats(dtype, reduce, dst, src, nr, n, (float)num,
			      (float)den);
	}
}

void coll_to_f32(int dtype, float *dst, const void *src, size_t n)
{
	floats_for(dtype)->load(dst, src, n);
}

void coll_drop_nonfinite(int dtype, void *x, size_t n)
{
	size_t size = coll_dtype_size(dtype), i;
	double one;
	float f;

	if (coll_is_int(dtype))
		return;
	for (i = 0; i < n; i++) {
		if (dtype == DLCP_COLL_F64) {
			one = ((double *)x)[i];
		} else {
			coll_to_f32(dtype, &f, (char *)x + i * size, 1);
			one = f;
		}
		if (!isfinite(one))
			memset((char *)x + i * size, 0, size);
	}
}
