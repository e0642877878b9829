// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One contribution into another, in the elements' own type. Integers wrap around
 * in their own width, so sums and products of signed ones are those of unsigned
 * ones. reduce.c has what needs a wider type.
 */
#include <math.h>
#include <stddef.h>

#include "../dlcp_coll.h"
#include "reduce.h"

/* @a is the element of the accumulator, @b that of the other */
#define COMBINE(name, type, expr)					\
static void name(void *acc, const void *src, size_t n)			\
{									\
	const type *x = src;						\
	type *sum = acc;						\
	size_t i;							\
									\
	for (i = 0; i < n; i++) {					\
		const type a = sum[i], b = x[i];			\
									\
		sum[i] = (type)(expr);					\
	}								\
}

/* A NaN wins */
#define FLOATS(type, bits)						\
COMBINE(add_f##bits, type, a + b)					\
COMBINE(max_f##bits, type, b > a || isnan(b) ? b : a)			\
COMBINE(min_f##bits, type, b < a || isnan(b) ? b : a)			\
COMBINE(mul_f##bits, type, a * b)

FLOATS(float, 32)
FLOATS(double, 64)

#define LARGEST(name, type)						\
COMBINE(max_##name, type, b > a ? b : a)				\
COMBINE(min_##name, type, b < a ? b : a)

LARGEST(i8, int8_t)
LARGEST(u8, uint8_t)
LARGEST(i32, int32_t)
LARGEST(i64, int64_t)

#define BITS(bits)							\
COMBINE(mul_##bits, uint##bits##_t, a * b)				\
COMBINE(and_##bits, uint##bits##_t, a & b)				\
COMBINE(or_##bits, uint##bits##_t, a | b)				\
COMBINE(xor_##bits, uint##bits##_t, a ^ b)

BITS(8)
BITS(32)
BITS(64)

#define OF_FLOATS(bits) {						\
	[DLCP_COLL_SUM] = add_f##bits, [DLCP_COLL_MAX] = max_f##bits,	\
	[DLCP_COLL_MIN] = min_f##bits, [DLCP_COLL_PRODUCT] = mul_f##bits, \
}

#define OF_INTS(name, bits) {						\
	[DLCP_COLL_MAX] = max_##name, [DLCP_COLL_MIN] = min_##name,	\
	[DLCP_COLL_PRODUCT] = mul_##bits, [DLCP_COLL_AND] = and_##bits,	\
	[DLCP_COLL_OR] = or_##bits, [DLCP_COLL_XOR] = xor_##bits,	\
}

static coll_ints_fn *const table[][DLCP_COLL_XOR + 1] = {
	[DLCP_COLL_F32]	= OF_FLOATS(32),
	[DLCP_COLL_I8]	= OF_INTS(i8, 8),
	[DLCP_COLL_I32]	= OF_INTS(i32, 32),
	[DLCP_COLL_F64]	= OF_FLOATS(64),
	[DLCP_COLL_I64]	= OF_INTS(i64, 64),
	[DLCP_COLL_U8]	= OF_INTS(u8, 8),
};

coll_ints_fn *coll_combiner(int dtype, int reduce)
{
	coll_ints_fn *sum;

	if (reduce == DLCP_COLL_AVG)
		reduce = DLCP_COLL_SUM;
	if (reduce == DLCP_COLL_SUM && coll_is_int(dtype)) {
		sum = coll_ints_avx2(dtype);
		return sum ? sum : coll_ints_plain(dtype);
	}
	return table[dtype][reduce];
}
