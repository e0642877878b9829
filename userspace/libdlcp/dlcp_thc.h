/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * THC (NSDI'24, arXiv 2302.08545): gradients in 4 bits each that a server
 * can add without decompressing them.
 *
 * A worker adds its error memory to the gradient, rotates blocks of 1024
 * elements (random signs that all share, Hadamard transform), scales each by
 * the largest norm that it has at any worker, so that it looks normally
 * distributed, and rounds its elements at random to one of 16 values of a
 * table of integers, so that the expectation is right. A server adds table
 * entries. Workers divide by the number of contributions and rotate back; what
 * rounding took away stays in the error memory.
 *
 * Each block has a norm of its own (0.4 % more to send), because layers differ
 * in scale by more than the table can hold: with one norm for several layers,
 * those with large gradients are clamped in every step. Norms are sent as
 * bfloat16: rounded up, so that nothing is clamped that was not, which makes
 * rounding coarser by 0.3 % in the mean and 0.8 % at most.
 *
 * At a tensor's end, blocks are smaller, of 512, 256 and 128 elements: each the
 * largest that what is left can fill, so that no more than a unit is padded.
 *
 * Elements come in units of DLCP_THC_UNIT: 64 bytes of codes, and in the sums
 * as many integers of 8 or 16 bits, followed by the number of contributions in
 * 16 bits (of the host's byte order). A lost unit is one that contributes
 * nothing to either. dlcp_thc_all_reduce() does all of it; the other calls are
 * its steps, for servers of other kinds.
 */
#ifndef LIBDLCP_DLCP_THC_H
#define LIBDLCP_DLCP_THC_H

#include <dlcp_coll.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLCP_THC_BLOCK		1024	/* elements rotated together */
#define DLCP_THC_UNIT		128	/* elements lost or kept together */
#define DLCP_THC_GRANULARITY	30	/* largest table entry */

/* A codec for one tensor, with its error memory */
struct dlcp_thc;

/**
 * dlcp_thc_new() - a codec
 * @count: elements of the tensor; its error memory has 4 bytes for each
 * @seed: of the random rounding; should differ from rank to rank
 *
 * Return: a codec, to be freed with dlcp_thc_free(); NULL: ENOMEM
 */
struct dlcp_thc *dlcp_thc_new(size_t count, uint64_t seed);

/** dlcp_thc_free() - free it; NULL is allowed */
void dlcp_thc_free(struct dlcp_thc *thc);

/**
 * dlcp_thc_blocks() - blocks of a tensor of @count elements, and its norms
 *
 * Whole ones, and up to three for the rest.
 */
size_t dlcp_thc_blocks(size_t count);

/** dlcp_thc_units() - units a tensor of @count elements is coded in */
size_t dlcp_thc_units(size_t count);

/** dlcp_thc_code_bytes() - bytes of its codes */
size_t dlcp_thc_code_bytes(size_t count);

/**
 * dlcp_thc_width() - bytes of an integer of the sums
 * @world: contributions to a sum, at most 2184
 *
 * Return: 1 up to 8 contributions, else 2
 */
int dlcp_thc_width(int world);

/** dlcp_thc_sum_bytes() - bytes of the sums of a tensor */
size_t dlcp_thc_sum_bytes(size_t count, int width);

/**
 * dlcp_thc_norms() - of a gradient
 * @thc: codec, which does not change
 * @grad: elements
 * @norms: dlcp_thc_blocks() of them, filled in: of @grad and the error memory
 *	together. dlcp_thc_encode() wants the maximum of each over all workers.
 *	They are rounded up to a bfloat16, so that the upper 16 bits are all
 *	that need be sent. Infinite where @grad has elements that are not
 *	finite, or too large to be squared; then forget this step.
 */
void dlcp_thc_norms(const struct dlcp_thc *thc, const float *grad,
		    float *norms);

/**
 * dlcp_thc_encode() - code a gradient
 * @thc: codec, whose error memory changes
 * @grad: as dlcp_thc_norms() had it
 * @norms: of each block the largest of all workers, finite. What is beyond 2.15
 *	times the root of the mean square that they stand for is clamped.
 * @step: number that all workers share, another one each time
 * @codes: dlcp_thc_code_bytes()
 */
void dlcp_thc_encode(struct dlcp_thc *thc, const float *grad,
		     const float *norms, uint64_t step, uint8_t *codes);

/**
 * dlcp_thc_add() - add codes to sums
 * @sums: of @units units of integers of @width bytes
 * @codes: what arrived
 * @units: how many
 * @width: dlcp_thc_width(): more contributions than it was asked for overflow
 * @first: 1: @sums is not initialised, and these are the first; else 0
 *
 * Only the integers are added. The number of contributions behind those of each
 * unit is left as it is, also with @first: who receives knows which units have
 * arrived, calls this for them, and writes the numbers when all are in.
 */
void dlcp_thc_add(void *sums, const uint8_t *codes, size_t units, int width,
		  int first);

/**
 * dlcp_thc_decode() - the average of the gradients that arrived
 * @thc: codec
 * @norms: as for dlcp_thc_encode(), as is @step
 * @step: see @norms
 * @sums: units, each divided by its own number of contributions; one with none
 *	is zero (before it is rotated back)
 * @width: dlcp_thc_width()
 * @out: elements
 */
void dlcp_thc_decode(const struct dlcp_thc *thc, const float *norms,
		     uint64_t step, const void *sums, int width, float *out);

/**
 * dlcp_thc_all_reduce() - an all-reduce in 4 bits up and 8 or 16 down
 * @coll: group
 * @thc: codec of this rank; the tensor's size is in it
 * @in: elements, as many at all ranks
 * @out: elements; may be @in
 * @args: @reduce (sum or average), @prio, @loss_ppm, and @algo (not the ring)
 *	count; what is forgiven is left out of the average
 *
 * Blocks. If a gradient of any rank is not finite, or the norm of a block above
 * 1.8e19 (its square overflows), the result is NaN everywhere and no codec has
 * changed. A block of elements below 1e-23 counts as zero.
 *
 * Return: as dlcp_coll_all_reduce()
 */
int dlcp_thc_all_reduce(struct dlcp_coll *coll, struct dlcp_thc *thc,
			const float *in, float *out,
			const struct dlcp_coll_args *args);

#ifdef __cplusplus
}
#endif

#endif /* LIBDLCP_DLCP_THC_H */
