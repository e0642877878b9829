// SPDX-License-Identifier: GPL-2.0
/* Arithmetic of the collectives: both ways of doing it, and all of its types */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../coll/coll.h"
#include "check.h"

#define N	70000

static float wide[N], other[N];
static uint16_t narrow[N], narrow2[N];

static uint32_t seed = 1;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8 ^ seed << 13;
}

static int same_floats(const float *a, const float *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (memcmp(&a[i], &b[i], 4) && !(isnan(a[i]) && isnan(b[i])))
			return 0;
	return 1;
}

/* Every 16-bit pattern, there and back again */
static void check_16(int dtype)
{
	const struct coll_floats *f = coll_floats_plain(dtype);
	const struct coll_floats *v = coll_floats_avx2(dtype);
	size_t i;

	for (i = 0; i < 65536; i++)
		narrow[i] = (uint16_t)i;
	f->load(wide, narrow, 65536);
	f->store(narrow2, wide, 65536);
	for (i = 0; i < 65536; i++)
		CHECK(narrow[i] == narrow2[i] || isnan(wide[i]));
	if (!v)
		return;
	v->load(other, narrow, 65536);
	CHECK(same_floats(wide, other, 65536));
	f->add(wide, narrow, 65533);
	v->add(other, narrow, 65533);
	CHECK(same_floats(wide, other, 65536));
	f->scale(wide, 65533, 5, 3);
	v->scale(other, 65533, 5, 3);
	CHECK(same_floats(wide, other, 65536));
}

/* Rounding: floats of all sizes, ties among them */
static void check_rounding(int dtype, int bits)
{
	const struct coll_floats *f = coll_floats_plain(dtype);
	const struct coll_floats *v = coll_floats_avx2(dtype);
	uint32_t u;
	size_t i;

	for (i = 0; i < N; i++) {
		u = next_random() ^ next_random() << 16;
		if (i % 3 == 0)
			u = (u & ~((1U << (bits + 1)) - 1)) | 1U << bits;
		memcpy(&wide[i], &u, 4);
	}
	f->store(narrow, wide, N);
	f->load(other, narrow, N);
	for (i = 0; i < N; i++) {
		if (isnan(wide[i]))
			CHECK(isnan(other[i]));
		else if (isfinite(other[i]) && fabsf(wide[i]) > 1e-4f)
			CHECK(fabs((double)wide[i] - other[i]) <=
			      ldexp(fabs((double)wide[i]), bits - 23));
	}
	if (!v)
		return;
	v->store(narrow2, wide, N);
	f->load(wide, narrow2, N);
	CHECK(same_floats(wide, other, N));
}

static void half_floats(void) { check_16(DLCP_COLL_F16); }
static void bfloats(void) { check_16(DLCP_COLL_BF16); }
static void half_rounding(void) { check_rounding(DLCP_COLL_F16, 12); }
static void bfloat_rounding(void) { check_rounding(DLCP_COLL_BF16, 15); }

static void known_halves(void)
{
	static const struct {
		float		f;
		uint16_t	h;
	} known[] = {
		{ 0, 0 }, { -0.0f, 0x8000 }, { 1, 0x3c00 }, { -2, 0xc000 },
		{ 65504, 0x7bff }, { 65519.99f, 0x7bff }, { 65520, 0x7c00 },
		{ INFINITY, 0x7c00 }, { 0x1p-14f, 0x0400 },
		{ 0x1p-24f, 0x0001 }, { 0x1p-25f, 0x0000 },
		{ 0x1.8p-25f, 0x0001 }, { 0x1.8p-24f, 0x0002 },
		{ 1.0f + 0x1p-11f, 0x3c00 }, { 1.0f + 0x1.8p-10f, 0x3c02 },
	};
	uint16_t h;
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		coll_floats_plain(DLCP_COLL_F16)->store(&h, &known[i].f, 1);
		CHECK(h == known[i].h);
	}
}

static void sums_and_averages(void)
{
	float a[5] = { 1, -2, 3, 4, NAN }, b[5] = { 10, 20, 30, -4, 1 }, out[5];
	const void *src[2] = { a, b };

	coll_reduce(DLCP_COLL_F32, 0, out, src, 2, 5, 1, 1);
	CHECK(out[0] == 11 && out[1] == 18 && out[3] == 0 && isnan(out[4]));
	coll_reduce(DLCP_COLL_F32, 0, out, src, 2, 4, 1, 2);
	CHECK(out[0] == 5.5f && out[2] == 16.5f);
	/* a sum of 3 of which 2 have come */
	coll_reduce(DLCP_COLL_F32, 0, out, src, 2, 4, 3, 2);
	CHECK(out[0] == 16.5f);
	coll_reduce(DLCP_COLL_F32, DLCP_COLL_MAX, out, src, 2, 5, 9, 7);
	CHECK(out[0] == 10 && out[3] == 4 && isnan(out[4]));
	/* the result may replace a source */
	coll_reduce(DLCP_COLL_F32, 0, b, src, 2, 4, 1, 1);
	CHECK(b[0] == 11 && b[2] == 33);
}

static void integers(void)
{
	int8_t a[3] = { 100, -7, 1 }, b[3] = { 100, 2, 2 }, out[3];
	int32_t c[2] = { 2000000000, -5 }, d[2] = { 2000000000, 2 }, big[2];
	const void *bytes[2] = { a, b }, *ints[2] = { c, d };

	coll_reduce(DLCP_COLL_I8, 0, out, bytes, 2, 3, 1, 1);
	CHECK(out[0] == (int8_t)200 && out[1] == -5 && out[2] == 3);
	coll_reduce(DLCP_COLL_I8, 0, out, bytes, 2, 3, 1, 2);
	CHECK(out[0] == 100 && out[1] == -2 && out[2] == 1);
	coll_reduce(DLCP_COLL_I8, DLCP_COLL_MAX, out, bytes, 2, 3, 1, 1);
	CHECK(out[0] == 100 && out[1] == 2);
	coll_reduce(DLCP_COLL_I32, 0, big, ints, 2, 2, 1, 2);
	CHECK(big[0] == 2000000000 && big[1] == -1);
}

/* Sums wrap in their width, both ways, whatever the length */
static void integer_sums(void)
{
	static const int types[] = { DLCP_COLL_I8, DLCP_COLL_I32, DLCP_COLL_I64,
				     DLCP_COLL_U8 };
	static uint8_t a[3001], b[3001], c[3001];
	const void *src[3] = { a, b, a };
	coll_ints_fn *v;
	size_t n, i;
	int dtype;

	for (i = 0; i < sizeof(a); i++) {
		a[i] = (uint8_t)next_random();
		b[i] = (uint8_t)next_random();
	}
	for (n = 0; n <= 3000; n += 37) {
		c[n] = 77;
		coll_reduce(DLCP_COLL_I8, 0, c, src, 3, n, 4, 4);
		for (i = 0; i < n; i++)
			CHECK(c[i] == (uint8_t)(2 * a[i] + b[i]));
		CHECK(c[n] == 77);
	}
	for (i = 0; i < 4; i++) {
		dtype = types[i];
		v = coll_ints_avx2(dtype);
		if (!v)
			return;
		memcpy(wide, a, sizeof(a));
		memcpy(other, a, sizeof(a));
		n = 2999 / coll_dtype_size(dtype);
		coll_ints_plain(dtype)(wide, b, n);
		v(other, b, n);
		CHECK(!memcmp(wide, other, sizeof(a)));
	}
}

/* Every type with every reduction that it has, by small numbers whose results
 * all types can hold
 */
static double number_at(int dtype, const void *x, size_t i)
{
	float f;

	switch (dtype) {
	case DLCP_COLL_I8:
		return ((const int8_t *)x)[i];
	case DLCP_COLL_U8:
		return ((const uint8_t *)x)[i];
	case DLCP_COLL_I32:
		return ((const int32_t *)x)[i];
	case DLCP_COLL_I64:
		return (double)((const int64_t *)x)[i];
	case DLCP_COLL_F64:
		return ((const double *)x)[i];
	default:
		coll_to_f32(dtype, &f, (const char *)x +
			    i * coll_dtype_size(dtype), 1);
		return f;
	}
}

static void set_number(int dtype, void *x, size_t i, int to)
{
	float f = (float)to;

	switch (dtype) {
	case DLCP_COLL_I8:
	case DLCP_COLL_U8:
		((int8_t *)x)[i] = (int8_t)to;
		break;
	case DLCP_COLL_I32:
		((int32_t *)x)[i] = to;
		break;
	case DLCP_COLL_I64:
		((int64_t *)x)[i] = to;
		break;
	case DLCP_COLL_F64:
		((double *)x)[i] = to;
		break;
	default:
		coll_floats_plain(dtype)->store((char *)x +
				i * coll_dtype_size(dtype), &f, 1);
	}
}

static int reduced(int reduce, int a, int b)
{
	switch (reduce) {
	case DLCP_COLL_SUM:
		return a + b;
	case DLCP_COLL_AVG:
		return (a + b) / 2;
	case DLCP_COLL_MAX:
		return a > b ? a : b;
	case DLCP_COLL_MIN:
		return a < b ? a : b;
	case DLCP_COLL_PRODUCT:
		return a * b;
	case DLCP_COLL_AND:
		return a & b;
	case DLCP_COLL_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void every_type_and_reduction(void)
{
	static int64_t a[1500], b[1500];
	const void *src[2] = { a, b };
	int dtype, reduce, x, y;
	size_t i;

	for (dtype = 0; dtype <= COLL_LAST_DTYPE; dtype++) {
		for (reduce = 0; reduce <= COLL_LAST_REDUCE; reduce++) {
			if (reduce >= DLCP_COLL_AND && !coll_is_int(dtype))
				continue;
			for (i = 0; i < 1500; i++) {
				set_number(dtype, a, i, (int)(i % 8) * 2);
				set_number(dtype, b, i, (int)(i % 5) * 2);
			}
			coll_reduce(dtype, reduce, a, src, 2, 1500, 1,
				    reduce == DLCP_COLL_AVG ? 2 : 1);
			for (i = 0; i < 1500; i++) {
				x = (int)(i % 8) * 2;
				y = (int)(i % 5) * 2;
				CHECK(number_at(dtype, a, i) ==
				      reduced(reduce, x, y));
			}
		}
	}
}

/* What is negative, does not fit, or is no number */
static void extremes(void)
{
	int64_t a[3] = { INT64_MAX, INT64_MIN, -7 };
	int64_t b[3] = { INT64_MAX, INT64_MIN, 2 }, out[3];
	const void *src[2] = { a, b }, *doubles[2];
	double d[3] = { NAN, 1e300, -2.5 }, e[3] = { 1, 1e300, -3 }, f[3];

	coll_reduce(DLCP_COLL_I64, DLCP_COLL_AVG, out, src, 2, 3, 1, 2);
	CHECK(out[0] == INT64_MAX && out[1] == INT64_MIN && out[2] == -2);
	coll_reduce(DLCP_COLL_I64, DLCP_COLL_SUM, out, src, 2, 3, 1, 1);
	CHECK(out[0] == -2 && out[1] == 0 && out[2] == -5);
	coll_reduce(DLCP_COLL_I64, DLCP_COLL_MIN, out, src, 2, 3, 1, 1);
	CHECK(out[2] == -7);
	coll_reduce(DLCP_COLL_I64, DLCP_COLL_PRODUCT, out, src, 2, 3, 1, 1);
	CHECK(out[0] == 1 && out[1] == 0 && out[2] == -14);
	doubles[0] = d;
	doubles[1] = e;
	coll_reduce(DLCP_COLL_F64, DLCP_COLL_MIN, f, doubles, 2, 3, 1, 1);
	CHECK(isnan(f[0]) && f[1] == 1e300 && f[2] == -3);
	coll_reduce(DLCP_COLL_F64, DLCP_COLL_AVG, f, doubles, 2, 3, 1, 2);
	CHECK(isnan(f[0]) && f[1] == 1e300 && f[2] == -2.75);
	d[1] = INFINITY;
	coll_drop_nonfinite(DLCP_COLL_F64, d, 3);
	CHECK(d[0] == 0 && d[1] == 0 && d[2] == -2.5);
}

static void blocks_and_tails(void)
{
	size_t n, i;
	const void *src[3] = { wide, other, wide };
	float *out = malloc(N * sizeof(*out));

	for (i = 0; i < N; i++) {
		wide[i] = (float)(next_random() % 1000);
		other[i] = (float)(next_random() % 1000);
	}
	for (n = 0; n < 3000; n += 7) {
		out[n] = -1;
		coll_reduce(DLCP_COLL_F32, 0, out, src, 3, n, 1, 1);
		for (i = 0; i < n; i++)
			CHECK(out[i] == 2 * wide[i] + other[i]);
		CHECK(out[n] == -1);
	}
	free(out);
}

static void nonfinite_is_dropped(void)
{
	float x[4] = { 1, NAN, -INFINITY, 2 };
	uint16_t h[2] = { 0x7c00, 0x3c00 };
	int8_t b[1] = { -1 };

	coll_drop_nonfinite(DLCP_COLL_F32, x, 4);
	CHECK(x[0] == 1 && x[1] == 0 && x[2] == 0 && x[3] == 2);
	coll_drop_nonfinite(DLCP_COLL_F16, h, 2);
	CHECK(!h[0] && h[1] == 0x3c00);
	coll_drop_nonfinite(DLCP_COLL_I8, b, 1);
	CHECK(b[0] == -1);
}

/* Parts cover everything once, begin at 64 bytes, and differ by one unit */
static void cuts(void)
{
	size_t counts[] = { 0, 1, 15, 16, 17, 1000, 12345, 1 << 20 };
	struct coll_part p;
	size_t k, at;
	int i, n;

	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		for (n = 1; n < 40; n++) {
			for (i = 0, at = 0; i < n; i++) {
				p = coll_cut(counts[k], 4, i, n);
				CHECK(p.first == at);
				CHECK(!p.n || p.first % 16 == 0);
				CHECK(p.n <= counts[k] / (size_t)n + 32);
				at += p.n;
			}
			CHECK(at == counts[k]);
		}
	}
}

static void phases(void)
{
	struct dlcp_coll_phase p = {
		.low_ppm = 1000, .high_ppm = 100000, .threshold = 0.5,
		.hold = 2,
	};

	CHECK(dlcp_coll_phase_next(&p, 10) == 1000);	/* the first */
	CHECK(dlcp_coll_phase_next(&p, 9) == 1000);
	CHECK(dlcp_coll_phase_next(&p, 9) == 1000);
	CHECK(dlcp_coll_phase_next(&p, 9) == 100000);
	CHECK(dlcp_coll_phase_next(&p, 4.6) == 100000);
	CHECK(dlcp_coll_phase_next(&p, 2.3) == 1000);	/* halved */
	CHECK(dlcp_coll_phase_next(&p, 2.3) == 1000);
	CHECK(dlcp_coll_phase_next(&p, 2.3) == 1000);
	CHECK(dlcp_coll_phase_next(&p, 2.3) == 100000);
	CHECK(dlcp_coll_phase_next(&p, NAN) == 1000);
	p.hold = UINT_MAX;
	CHECK(dlcp_coll_phase_next(&p, 100) == 1000);
	CHECK(dlcp_coll_phase_next(&p, 100) == 1000);
	p.low_ppm = p.high_ppm = 7;
	CHECK(dlcp_coll_phase_next(&p, 100) == 7);
}

static void priorities(void)
{
	CHECK(dlcp_coll_prio(0, 1) == 0 && dlcp_coll_prio(0, 100) == 0);
	CHECK(dlcp_coll_prio(99, 100) == 7 && dlcp_coll_prio(50, 100) == 4);
	CHECK(dlcp_coll_prio(5, 5) == 7);
}

/* The largest of bfloat16 has no rounding; infinities and NaNs prevail, whoever
 * has them (THC's norms depend on that)
 */
static void largest_of_bfloats(void)
{
	static const uint16_t at[3][6] = {
		{ 0x3f80, 0x0000, 0x7f7f, 0x7f80, 0x7fc0, 0x1a35 },
		{ 0x3f81, 0x0000, 0x7f80, 0x3f80, 0x3f80, 0x1a36 },
		{ 0x3f7f, 0x0001, 0x0000, 0x7f7f, 0x7f80, 0x1a34 },
	};
	static const uint16_t want[6] = {
		0x3f81, 0x0001, 0x7f80, 0x7f80, 0x7fc0, 0x1a36,
	};
	const void *src[3];
	uint16_t got[6];
	size_t i;

	for (i = 0; i < 3; i++) {
		src[0] = at[i];
		src[1] = at[(i + 1) % 3];
		src[2] = at[(i + 2) % 3];
		coll_reduce(DLCP_COLL_BF16, DLCP_COLL_MAX, got, src, 3, 6, 1, 3);
		CHECK(!memcmp(got, want, sizeof(want)));
	}
}

int main(void)
{
	int bad = 0;

	bad |= RUN(half_floats);
	bad |= RUN(bfloats);
	bad |= RUN(half_rounding);
	bad |= RUN(bfloat_rounding);
	bad |= RUN(known_halves);
	bad |= RUN(sums_and_averages);
	bad |= RUN(integers);
	bad |= RUN(integer_sums);
	bad |= RUN(every_type_and_reduction);
	bad |= RUN(extremes);
	bad |= RUN(blocks_and_tails);
	bad |= RUN(largest_of_bfloats);
	bad |= RUN(nonfinite_is_dropped);
	bad |= RUN(cuts);
	bad |= RUN(phases);
	bad |= RUN(priorities);
	return bad;
}
