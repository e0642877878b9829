// SPDX-License-Identifier: GPL-2.0
/*
 * Histogram of times: 32 buckets for each power of two.
 */
#include "perf.h"

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int order, i;

	if (ns < 32)
		return (unsigned int)ns;
	order = 63U - (unsigned int)__builtin_clzll(ns);
	i = (order - 4) * 32 + (unsigned int)(ns >> (order - 5)) - 32;
	return i < HIST_BUCKETS ? i : HIST_BUCKETS - 1;
}

/* The greatest time in it */
static uint64_t bucket_end(unsigned int i)
{
	if (i < 32)
		return i;
	return ((uint64_t)(i % 32 + 33) << (i / 32 - 1)) - 1;
}

void hist_add(struct hist *h, uint64_t ns)
{
	h->min = !h->nr || ns < h->min ? ns : h->min;
	h->max = ns > h->max ? ns : h->max;
	h->sum += ns;
	h->nr++;
	h->bucket[bucket_of(ns)]++;
}

void hist_merge(struct hist *h, const struct hist *other)
{
	unsigned int i;

	if (!other->nr)
		return;
	h->min = !h->nr || other->min < h->min ? other->min : h->min;
	h->max = other->max > h->max ? other->max : h->max;
	h->sum += other->sum;
	h->nr += other->nr;
	for (i = 0; i < HIST_BUCKETS; i++)
		h->bucket[i] += other->bucket[i];
}

uint64_t hist_quantile(const struct hist *h, double share)
{
	double want = share * (double)h->nr;
	uint64_t sum = 0, end;
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS; i++) {
		sum += h->bucket[i];
		if (sum && (double)sum >= want)
			break;
	}
	end = i < HIST_BUCKETS - 1 ? bucket_end(i) : h->max;
	return end < h->max ? end : h->max;
}
