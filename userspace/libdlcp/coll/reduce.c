// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reductions. Floats of every width are added in float, a block at a time
 * that stays in the first-level cache, and stored once; so are integers where
 * only their sum is wanted, else they are added in int64_t.
 */
#include <math.h>
#include <string.h>

#include "../dlcp_coll.h"
#include "../dlcp_thc.h"
#include "reduce.h"

#define BLOCK	1024	/* elements */

static const struct {
	size_t		size;
	const char	*name;
} types[] = {
	[DLCP_COLL_F32]		= { 4, "float32" },
	[DLCP_COLL_F16]		= { 2, "float16" },
	[DLCP_COLL_BF16]	= { 2, "bfloat16" },
	[DLCP_COLL_I8]		= { 1, "int8" },
	[DLCP_COLL_I32]		= { 4, "int32" },
};

static int known(int dtype)
{
	return dtype >= 0 && dtype < (int)(sizeof(types) / sizeof(types[0]));
}

static int is_thc(int dtype)
{
	return dtype == COLL_THC8 || dtype == COLL_THC16;
}

size_t coll_dtype_size(int dtype)
{
	if (is_thc(dtype))
		return DLCP_THC_UNIT / 2;
	return known(dtype) ? types[dtype].size : 0;
}

size_t coll_dtype_sum_size(int dtype)
{
	if (is_thc(dtype))
		return dlcp_thc_sum_bytes(DLCP_THC_BLOCK, dtype - COLL_THC8 + 1) /
		       dlcp_thc_units(DLCP_THC_BLOCK);
	return coll_dtype_size(dtype);
}

const char *coll_dtype_name(int dtype)
{
	if (is_thc(dtype))
		return "units of THC codes";
	return known(dtype) ? types[dtype].name : "an unknown type";
}

/* Floats that win over what is not larger; a NaN stays */
static void max_into(float *acc, const float *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (x[i] > acc[i] || isnan(x[i]))
			acc[i] = x[i];
}

static const struct coll_floats *floats_for(int dtype)
{
	const struct coll_floats *f = coll_floats_avx2(dtype);

	return f ? f : coll_floats_plain(dtype);
}

static void reduce_floats(int dtype, int max, char *dst, const void *const *src,
			  unsigned int nr, size_t n, float num, float den)
{
	const struct coll_floats *f = floats_for(dtype);
	size_t size = coll_dtype_size(dtype), at, len;
	float acc[BLOCK], one[BLOCK];
	unsigned int i;

	for (at = 0; at < n; at += len) {
		len = n - at < BLOCK ? n - at : BLOCK;
		f->load(acc, (const char *)src[0] + at * size, len);
		for (i = 1; i < nr; i++) {
			if (!max) {
				f->add(acc, (const char *)src[i] + at * size,
				       len);
				continue;
			}
			f->load(one, (const char *)src[i] + at * size, len);
			max_into(acc, one, len);
		}
		if (num != den)
			f->scale(acc, len, num, den);
		f->store(dst + at * size, acc, len);
	}
}

static int64_t int_at(int dtype, const void *src, size_t i)
{
	return dtype == DLCP_COLL_I8 ? ((const int8_t *)src)[i] :
				       ((const int32_t *)src)[i];
}

static void sum_ints(int dtype, char *dst, const void *const *src,
		     unsigned int nr, size_t n)
{
	coll_ints_fn *avx2 = coll_ints_avx2(dtype);
	coll_ints_fn *add = avx2 ? avx2 : coll_ints_plain(dtype);
	size_t size = coll_dtype_size(dtype), at, len;
	int32_t acc[BLOCK];
	unsigned int k;

	for (at = 0; at < n; at += len) {
		len = n - at < BLOCK ? n - at : BLOCK;
		memcpy(acc, (const char *)src[0] + at * size, len * size);
		for (k = 1; k < nr; k++)
			add(acc, (const char *)src[k] + at * size, len);
		memcpy(dst + at * size, acc, len * size);
	}
}

static void reduce_ints(int dtype, int max, void *dst, const void *const *src,
			unsigned int nr, size_t n, int64_t num, int64_t den)
{
	unsigned int k;
	int64_t acc, x;
	size_t i;

	if (!max && num == den) {
		sum_ints(dtype, dst, src, nr, n);
		return;
	}
	for (i = 0; i < n; i++) {
		acc = int_at(dtype, src[0], i);
		for (k = 1; k < nr; k++) {
			x = int_at(dtype, src[k], i);
			if (!max)
				acc += x;
			else if (x > acc)
				acc = x;
		}
		acc = acc * num / den;
		if (dtype == DLCP_COLL_I8)
			((int8_t *)dst)[i] = (int8_t)acc;
		else
			((int32_t *)dst)[i] = (int32_t)acc;
	}
}

static int is_int(int dtype)
{
	return dtype == DLCP_COLL_I8 || dtype == DLCP_COLL_I32;
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

void coll_reduce(int dtype, int max, void *dst, const void *const *src,
		 unsigned int nr, size_t n, unsigned int num, unsigned int den)
{
	if (max)
		num = den = 1;
	if (is_thc(dtype))
		reduce_codes(dtype, dst, src, nr, n, (uint16_t)(num ? den : 0));
	else if (is_int(dtype))
		reduce_ints(dtype, max, dst, src, nr, n, num, den);
	else
		reduce_floats(dtype, max, dst, src, nr, n, (float)num,
			      (float)den);
}

void coll_to_f32(int dtype, float *dst, const void *src, size_t n)
{
	floats_for(dtype)->load(dst, src, n);
}

void coll_drop_nonfinite(int dtype, void *x, size_t n)
{
	size_t size = coll_dtype_size(dtype), i;
	float one;

	if (is_int(dtype))
		return;
	for (i = 0; i < n; i++) {
		coll_to_f32(dtype, &one, (char *)x + i * size, 1);
		if (!isfinite(one))
			memset((char *)x + i * size, 0, size);
	}
}
