/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arithmetic of the collectives: no sockets, no threads, no memory of its own */
#ifndef COLL_REDUCE_H
#define COLL_REDUCE_H

#include <stddef.h>
#include <stdint.h>

/* Beyond those of dlcp_coll.h: units of THC codes, for sums of 8 and 16 bits */
#define COLL_THC8	64
#define COLL_THC16	65

/* dtype.c */
int coll_is_int(int dtype);
int coll_is_thc(int dtype);
/* Bytes of an element, or 0 for an unknown type */
size_t coll_dtype_size(int dtype);
/* And of one that was reduced */
size_t coll_dtype_sum_size(int dtype);
const char *coll_dtype_name(int dtype);

/**
 * coll_reduce() - reduce contributions, element by element
 * @dtype: enum dlcp_coll_dtype
 * @reduce: enum dlcp_coll_reduce; after the sum and the average, which are the
 *	same here, multiply by @num and divide by @den
 * @dst: where the result goes; may be one of the sources
 * @src: @nr arrays of @n elements, added in this order
 * @nr: > 0
 *
 * Units of codes know of contributions that are missing: @den is their number.
 */
void coll_reduce(int dtype, int reduce, void *dst, const void *const *src,
		 unsigned int nr, size_t n, unsigned int num, unsigned int den);

/* To and from float, as in IEEE 754: round to nearest, ties to even */
void coll_to_f32(int dtype, float *dst, const void *src, size_t n);
/* Set what is not finite to zero; integers are left alone */
void coll_drop_nonfinite(int dtype, void *x, size_t n);

/* The two ways of doing it, for the tests; avx2 is NULL where there is none */
struct coll_floats {
	void	(*load)(float *acc, const void *src, size_t n);
	void	(*add)(float *acc, const void *src, size_t n);
	void	(*store)(void *dst, const float *acc, size_t n);
	/* times @num, rounded, by @den, rounded */
	void	(*scale)(float *acc, size_t n, float num, float den);
};

const struct coll_floats *coll_floats_plain(int dtype);
const struct coll_floats *coll_floats_avx2(int dtype);

/* The same for integers: @acc += @src, modulo 2^8, 2^32 or 2^64 */
typedef void coll_ints_fn(void *acc, const void *src, size_t n);

coll_ints_fn *coll_ints_plain(int dtype);
coll_ints_fn *coll_ints_avx2(int dtype);
/* combine.c: @acc becomes the reduction of both; not for 16-bit floats */
coll_ints_fn *coll_combiner(int dtype, int reduce);

#endif
