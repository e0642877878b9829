// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tags from magnitudes */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#if defined(__x86_64__) || defined(__i386__)
#define HAVE_X86	1
#include <immintrin.h>
#else
#define HAVE_X86	0
#endif

/*
 * A mean is summed in 32 lanes, lane i taking the elements i, i + 32, ..., and
 * the lanes are then added in a fixed tree. Both ways below do these
 * additions in this order, so they agree bit for bit.
 */
#define LANES	32

static float fold(float lane[LANES], const float *tail, size_t nr_tail,
		  size_t n)
{
	size_t i, half;

	for (i = 0; i < nr_tail; i++)
		lane[i] += fabsf(tail[i]);
	for (half = LANES / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			lane[i] += lane[i + half];
	return lane[0] / (float)n;
}

float dlcp__mean_plain(const float *g, size_t n)
{
	float lane[LANES] = { 0 };
	size_t i, j;

	for (i = 0; i + LANES <= n; i += LANES)
		for (j = 0; j < LANES; j++)
			lane[j] += fabsf(g[i + j]);
	return fold(lane, g + i, n - i, n);
}

#if HAVE_X86
int dlcp__have_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2")))
float dlcp__mean_avx2(const float *g, size_t n)
{
	const __m256 sign = _mm256_set1_ps(-0.0f);
	__m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
	float lane[LANES];
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES) {
		a = _mm256_add_ps(a, _mm256_andnot_ps(sign,
					_mm256_loadu_ps(g + i)));
		b = _mm256_add_ps(b, _mm256_andnot_ps(sign,
					_mm256_loadu_ps(g + i + 8)));
		c = _mm256_add_ps(c, _mm256_andnot_ps(sign,
					_mm256_loadu_ps(g + i + 16)));
		d = _mm256_add_ps(d, _mm256_andnot_ps(sign,
					_mm256_loadu_ps(g + i + 24)));
	}
	_mm256_storeu_ps(lane, a);
	_mm256_storeu_ps(lane + 8, b);
	_mm256_storeu_ps(lane + 16, c);
	_mm256_storeu_ps(lane + 24, d);
	return fold(lane, g + i, n - i, n);
}
#else
int dlcp__have_avx2(void)
{
	return 0;
}

float dlcp__mean_avx2(const float *g, size_t n)
{
	return dlcp__mean_plain(g, n);
}
#endif

DLCP_API void dlcp_tags_means(const float *g, size_t n, size_t per_part,
			      float *means)
{
	float (*mean)(const float *, size_t) =
		dlcp__have_avx2() ? dlcp__mean_avx2 : dlcp__mean_plain;
	size_t i;

	for (i = 0; i < n; i += per_part)
		*means++ = mean(g + i, n - i < per_part ? n - i : per_part);
}

DLCP_API struct dlcp_tags *dlcp_tags_new(size_t len, uint32_t stride)
{
	struct dlcp_tags *tags;
	size_t count;

	if (!stride) {
		dlcp__fail(EINVAL, "tags with a stride of 0 bytes: give the bytes that one tag is for");
		return NULL;
	}
	count = len / stride + !!(len % stride);
	if (count > UINT32_MAX) {
		dlcp__fail(EOVERFLOW, "%zu tags", count);
		return NULL;
	}
	tags = calloc(1, sizeof(*tags) + (count + 3) / 4);
	if (!tags) {
		dlcp__no_memory();
		return NULL;
	}
	tags->stride = stride;
	tags->count = (uint32_t)count;
	return tags;
}

DLCP_API void dlcp_tags_free(struct dlcp_tags *tags)
{
	free(tags);
}

DLCP_API size_t dlcp_tags_bytes(const struct dlcp_tags *tags)
{
	return sizeof(*tags) + ((size_t)tags->count + 3) / 4;
}

DLCP_API enum dlcp_tag dlcp_tags_get(const struct dlcp_tags *tags, uint32_t i)
{
	return (enum dlcp_tag)((tags->tags[i / 4] >> (i % 4 * 2)) & 3);
}

DLCP_API void dlcp_tags_set(struct dlcp_tags *tags, uint32_t i,
			    enum dlcp_tag tag)
{
	unsigned int shift = i % 4 * 2;
	unsigned int byte = tags->tags[i / 4];

	byte = (byte & ~(3U << shift)) | (((unsigned int)tag & 3) << shift);
	tags->tags[i / 4] = (uint8_t)byte;
}

struct part {
	float		mean;
	uint32_t	i;
};

/* A total order: by mean, NaN last, and by position where means are equal */
static int smaller(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (isnan(x->mean) != isnan(y->mean))
		return isnan(x->mean) ? 1 : -1;
	if (x->mean < y->mean)
		return -1;
	if (x->mean > y->mean)
		return 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static void tag_by_rank(struct dlcp_tags *tags, struct part *parts,
			double droppable, double critical)
{
	size_t nr_drop = (size_t)(droppable * tags->count);
	size_t nr_crit = (size_t)(critical * tags->count);
	size_t i, n = tags->count;

	qsort(parts, n, sizeof(*parts), smaller);
	for (i = 0; i < n; i++)
		dlcp_tags_set(tags, parts[i].i,
			      i < nr_drop ? DLCP_TAG_DROPPABLE :
			      i >= n - nr_crit ? DLCP_TAG_CRITICAL :
			      DLCP_TAG_IMPORTANT);
}

DLCP_API int dlcp_tags_f32(struct dlcp_tags *tags, const float *g, size_t n,
			   double droppable, double critical)
{
	size_t per_part = tags->stride / sizeof(float);
	struct part *parts;
	float *means;
	uint32_t i;

	if (!per_part || tags->stride % sizeof(float) ||
	    tags->count != n / per_part + !!(n % per_part))
		return dlcp__fail(EINVAL,
				  "%u tags of stride %u do not fit %zu floats",
				  tags->count, tags->stride, n);
	/* shares that were floats may together be a rounding above 1 */
	if (!(droppable >= 0 && critical >= 0 &&
	      (float)(droppable + critical) <= 1))
		return dlcp__fail(EINVAL,
				  "%g droppable and %g critical are not shares",
				  droppable, critical);
	if (!n)
		return 0;
	parts = malloc(tags->count * (sizeof(*parts) + sizeof(*means)));
	if (!parts)
		return dlcp__no_memory();
	means = (float *)(parts + tags->count);
	dlcp_tags_means(g, n, per_part, means);
	for (i = 0; i < tags->count; i++)
		parts[i] = (struct part){ .mean = means[i], .i = i };
	tag_by_rank(tags, parts, droppable, critical);
	free(parts);
	return 0;
}
