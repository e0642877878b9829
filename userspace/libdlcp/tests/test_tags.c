// SPDX-License-Identifier: GPL-2.0
/* Tags from magnitudes, against a plain reference */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"
#include "check.h"

#define N	20011

static float g[N];

static void fill(unsigned int seed)
{
	size_t i;

	srand(seed);
	for (i = 0; i < N; i++)
		g[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
}

static void both_ways_agree_bit_for_bit(void)
{
	size_t n, start;
	float a, b;

	fill(1);
	for (n = 1; n < 500; n++) {
		for (start = 0; start < 9; start++) {
			a = dlcp__mean_plain(g + start, n);
			b = dlcp__mean_avx2(g + start, n);
			CHECK(!memcmp(&a, &b, sizeof(a)));
		}
	}
	a = dlcp__mean_plain(g, N);
	b = dlcp__mean_avx2(g, N);
	CHECK(!memcmp(&a, &b, sizeof(a)));
}

static void mean_is_the_mean(void)
{
	double sum = 0;
	float means[3];
	size_t i;

	fill(2);
	for (i = 0; i < N; i++)
		sum += fabs(g[i]);
	CHECK(fabs(dlcp__mean_plain(g, N) - sum / N) < 1e-5);
	dlcp_tags_means(g, 25, 10, means);
	for (sum = 0, i = 20; i < 25; i++)
		sum += fabs(g[i]);
	CHECK(fabs(means[2] - sum / 5) < 1e-6);
}

/* Rank of part i among all, by counting: the definition */
static size_t rank_of(const float *means, size_t n, size_t i)
{
	size_t j, rank = 0;

	for (j = 0; j < n; j++)
		rank += means[j] < means[i] || (means[j] == means[i] && j < i);
	return rank;
}

static void agree_with_definition(uint32_t stride, double drop, double crit)
{
	struct dlcp_tags *tags = dlcp_tags_new(N * sizeof(*g), stride);
	size_t per_part = stride / 4, count = (N + per_part - 1) / per_part;
	float *means = calloc(count, sizeof(*means));
	size_t i, rank, nr_drop, nr_crit;
	enum dlcp_tag want;

	CHECK(tags && means && tags->count == count);
	CHECK(!dlcp_tags_f32(tags, g, N, drop, crit));
	dlcp_tags_means(g, N, per_part, means);
	nr_drop = (size_t)(drop * (double)count);
	nr_crit = (size_t)(crit * (double)count);
	for (i = 0; i < count; i++) {
		rank = rank_of(means, count, i);
		want = rank < nr_drop ? DLCP_TAG_DROPPABLE :
		       rank >= count - nr_crit ? DLCP_TAG_CRITICAL :
		       DLCP_TAG_IMPORTANT;
		CHECK(dlcp_tags_get(tags, i) == want);
	}
	free(means);
	dlcp_tags_free(tags);
}

static void tags_follow_the_quantiles(void)
{
	fill(3);
	agree_with_definition(1392, 0.5, 0);
	agree_with_definition(1392, 0.9, 0.1);
	agree_with_definition(4, 0.25, 0.25);
	agree_with_definition(1u << 20, 1, 0);
	agree_with_definition(8, 0, 1);
}

static void equal_means_by_position(void)
{
	memset(g, 0, sizeof(g));
	agree_with_definition(64, 0.5, 0.1);
}

static void nan_is_never_droppable(void)
{
	struct dlcp_tags *tags = dlcp_tags_new(40, 4);

	CHECK(tags);
	fill(4);
	g[3] = NAN;
	g[7] = INFINITY;
	CHECK(!dlcp_tags_f32(tags, g, 10, 0.8, 0.1));
	CHECK(dlcp_tags_get(tags, 3) == DLCP_TAG_CRITICAL);
	CHECK(dlcp_tags_get(tags, 7) == DLCP_TAG_IMPORTANT);
	CHECK(dlcp_tags_get(tags, 0) == DLCP_TAG_DROPPABLE);
	/* in float these two are 1 together, in double a little more */
	CHECK(!dlcp_tags_f32(tags, g, 10, 0.8f, 0.2f));
	dlcp_tags_free(tags);
}

static void layout_is_the_kernels(void)
{
	struct dlcp_tags *tags = dlcp_tags_new(5 * 100 - 1, 100);

	CHECK(tags && tags->count == 5 && tags->stride == 100);
	CHECK(dlcp_tags_bytes(tags) == sizeof(*tags) + 2);
	dlcp_tags_set(tags, 0, DLCP_TAG_CRITICAL);
	dlcp_tags_set(tags, 1, DLCP_TAG_DROPPABLE);
	dlcp_tags_set(tags, 4, DLCP_TAG_DROPPABLE);
	CHECK(tags->tags[0] == (2 | 1 << 2) && tags->tags[1] == 1);
	dlcp_tags_set(tags, 0, DLCP_TAG_IMPORTANT);
	CHECK(tags->tags[0] == 1 << 2);
	dlcp_tags_free(tags);
}

static void bad_arguments(void)
{
	struct dlcp_tags *tags = dlcp_tags_new(400, 40);

	CHECK(tags);
	errno = 0;
	CHECK(!dlcp_tags_new(10, 0) && errno == EINVAL);
	CHECK(strstr(dlcp_last_error(), "a stride of 0 bytes: give the bytes"));
	CHECK(dlcp_tags_f32(tags, g, 50, 0, 0) == -1 && errno == EINVAL);
	CHECK(strstr(dlcp_last_error(), "10 tags of stride 40 do not fit 50 floats"));
	CHECK(dlcp_tags_f32(tags, g, 100, 0.6, 0.6) == -1);
	CHECK(dlcp_tags_f32(tags, g, 100, NAN, 0) == -1);
	CHECK(dlcp_tags_f32(tags, g, 100, -0.1, 0) == -1);
	CHECK(strstr(dlcp_last_error(), "critical are not shares"));
	dlcp_tags_free(tags);
	tags = dlcp_tags_new(0, 4);
	CHECK(tags && !tags->count && !dlcp_tags_f32(tags, g, 0, 1, 0));
	dlcp_tags_free(tags);
	tags = dlcp_tags_new(12, 6);
	CHECK(tags && dlcp_tags_f32(tags, g, 3, 0, 0) == -1);
	dlcp_tags_free(tags);
}

int main(void)
{
	int bad = 0;

	if (dlcp__have_avx2())
		bad |= RUN(both_ways_agree_bit_for_bit);
	else
		check_skip("both_ways_agree_bit_for_bit", "no AVX2 here");
	bad |= RUN(mean_is_the_mean);
	bad |= RUN(tags_follow_the_quantiles);
	bad |= RUN(equal_means_by_position);
	bad |= RUN(nan_is_never_droppable);
	bad |= RUN(layout_is_the_kernels);
	bad |= RUN(bad_arguments);
	return bad;
}
