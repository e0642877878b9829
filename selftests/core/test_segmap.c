// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "segmap.h"

#define SEGS 700

static void compare(const struct dlcp_segmap *m, const bool *in)
{
	u32 i, count = 0, low = m->nr, next = m->nr, zero = m->nr;

	for (i = m->nr; i-- > 0;) {
		count += in[i];
		if (in[i])
			next = i;
		else
			low = zero = i;
		CHECK_EQ(dlcp_segmap_test(m, i), in[i]);
		CHECK_EQ(dlcp_segmap_next(m, i), next);
		CHECK_EQ(dlcp_segmap_next_zero(m, i), zero);
	}
	CHECK_EQ(m->count, count);
	CHECK_EQ(m->low, low);
	CHECK_EQ(dlcp_segmap_next(m, m->nr), m->nr);
	CHECK_EQ(dlcp_segmap_next_zero(m, m->nr), m->nr);
	CHECK_EQ(dlcp_segmap_next(m, U32_MAX), m->nr);
	CHECK_EQ(dlcp_segmap_next_zero(m, U32_MAX), m->nr);
	CHECK(!dlcp_segmap_test(m, m->nr));
}

static void segmap__words(void)
{
	CHECK_EQ(dlcp_segmap_words(0), 0);
	CHECK_EQ(dlcp_segmap_words(1), 1);
	CHECK_EQ(dlcp_segmap_words(64), 1);
	CHECK_EQ(dlcp_segmap_words(65), 2);
	CHECK_EQ(dlcp_segmap_words(U32_MAX), 1U << 26);
}

/* All sets of up to 10 segments, built in order and taken apart */
static void segmap__small_sets_exhaustively(void)
{
	bool in[16];
	struct dlcp_segmap m;
	u32 nr, set, i;
	u64 bits[1];

	for (nr = 0; nr <= 10; nr++) {
		for (set = 0; set < 1U << nr; set++) {
			memset(in, 0, sizeof(in));
			bits[0] = 0;
			dlcp_segmap_init(&m, bits, nr);
			for (i = 0; i < nr; i++) {
				if (!(set >> i & 1))
					continue;
				CHECK(dlcp_segmap_set(&m, i));
				CHECK(!dlcp_segmap_set(&m, i));
				in[i] = true;
			}
			compare(&m, in);
			for (i = 0; i < nr; i++)
				CHECK_EQ(dlcp_segmap_clear(&m, i), in[i]);
			CHECK_EQ(m.count, 0);
			CHECK_EQ(m.low, 0);
			CHECK_EQ(bits[0], 0);
		}
	}
}

static void segmap__model(void)
{
	static const u32 sizes[] = { 1, 63, 64, 65, 127, 128, 129, 300, SEGS };
	u64 *bits;
	struct dlcp_segmap m;
	bool in[SEGS];
	u32 nr, i;
	size_t s;
	int k, bias;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		nr = sizes[s];
		/* On the heap, of exact size, for the sanitizer */
		bits = calloc(dlcp_segmap_words(nr), sizeof(u64));
		memset(in, 0, sizeof(in));
		dlcp_segmap_init(&m, bits, nr);
		for (k = 0; k < 4000; k++) {
			bias = k / 400 % 3;
			i = (u32)rnd_below(nr);
			if (bias == 2)
				i = m.low < nr ? m.low : i;
			if (rnd_below(4) < (bias == 1 ? 1U : 3U)) {
				CHECK_EQ(dlcp_segmap_set(&m, i), !in[i]);
				in[i] = true;
			} else {
				CHECK_EQ(dlcp_segmap_clear(&m, i), in[i]);
				in[i] = false;
			}
			if (!(k % 37))
				compare(&m, in);
		}
		for (i = 0; i < nr; i++) {
			dlcp_segmap_set(&m, i);
			in[i] = true;
		}
		compare(&m, in);
		CHECK_EQ(m.low, nr);
		free(bits);
	}
}

/* All of a run or nothing of it */
static void segmap__runs(void)
{
	u64 bits[(SEGS + 63) / 64];
	struct dlcp_segmap m;
	bool in[SEGS];
	u32 i, k, n;
	bool any;

	for (k = 0; k < 2000; k++) {
		if (!(k % 100)) {
			memset(bits, 0, sizeof(bits));
			memset(in, 0, sizeof(in));
			dlcp_segmap_init(&m, bits, SEGS - k / 100);
		}
		i = k % 3 ? (u32)rnd_below(m.nr) : min(m.low, m.nr - 1);
		n = 1 + (u32)rnd_below(min(m.nr - i, 150U));
		any = memchr(in + i, true, n);
		CHECK_EQ(dlcp_segmap_set_run(&m, i, n), !any);
		if (!any)
			memset(in + i, true, n);
		compare(&m, in);
	}
}

/* The largest map there is: 512 MB of bits, of which few pages are touched */
static void segmap__largest(void)
{
	struct dlcp_segmap m;
	u64 *bits = calloc(dlcp_segmap_words(U32_MAX), sizeof(u64));
	u32 i;

	if (!bits)
		SKIP("no memory");
	dlcp_segmap_init(&m, bits, U32_MAX);
	CHECK(dlcp_segmap_set(&m, U32_MAX - 1));
	CHECK_EQ(dlcp_segmap_next(&m, U32_MAX - 1000), U32_MAX - 1);
	CHECK_EQ(dlcp_segmap_next_zero(&m, U32_MAX - 1), U32_MAX);
	CHECK_EQ(dlcp_segmap_next_zero(&m, U32_MAX - 2), U32_MAX - 2);
	CHECK(!dlcp_segmap_set_run(&m, U32_MAX - 100, 100));
	CHECK(dlcp_segmap_set_run(&m, U32_MAX - 100, 99));
	CHECK_EQ(dlcp_segmap_next_zero(&m, U32_MAX - 100), U32_MAX);
	for (i = U32_MAX - 100; i < U32_MAX - 1; i++)
		CHECK(dlcp_segmap_clear(&m, i));
	CHECK(dlcp_segmap_clear(&m, U32_MAX - 1));
	CHECK_EQ(dlcp_segmap_next(&m, U32_MAX - 1000), U32_MAX);
	free(bits);
}

/* A run is the same as one after the other; what it may not be is seen */
static void segmap__runs_one_by_one(void)
{
	u64 bits[(SEGS + 63) / 64], other[(SEGS + 63) / 64];
	struct dlcp_segmap a, b;
	u32 i, k, at, nr, free, refused = 0;

	for (i = 0; i < 3000; i++) {
		if (i % 60 == 0) {
			memset(bits, 0, sizeof(bits));
			memset(other, 0, sizeof(other));
			dlcp_segmap_init(&a, bits, SEGS);
			dlcp_segmap_init(&b, other, SEGS);
		}
		nr = 1 + rnd() % 64;
		at = rnd() % 2 ? a.low : rnd() % SEGS;
		if (at + nr > SEGS)
			continue;
		for (k = 0, free = 0; k < nr; k++)
			free += !dlcp_segmap_test(&b, at + k);
		CHECK_EQ(dlcp_segmap_no_run(&a, at, nr), free == nr);
		refused += free != nr;
		if (free != nr)
			continue;
		dlcp_segmap_set_run(&a, at, nr);
		for (k = 0; k < nr; k++)
			dlcp_segmap_set(&b, at + k);
		CHECK(!memcmp(bits, other, sizeof(bits)));
		CHECK_EQ(a.count, b.count);
		CHECK_EQ(a.low, b.low);
	}
	CHECK(refused > 100);
}

TESTS(T(segmap__runs_one_by_one), T(segmap__words),
      T(segmap__small_sets_exhaustively),
      T(segmap__model),
      T(segmap__runs),
      T(segmap__largest))
