/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inner loops of THC, plainly and with AVX2: the same bits from both */
#ifndef THC_THC_H
#define THC_THC_H

#include <stddef.h>
#include <stdint.h>

#include "../dlcp_coll.h"
#include "../dlcp_thc.h"

#define THC_BLOCK	DLCP_THC_BLOCK
#define THC_UNIT	DLCP_THC_UNIT
#define THC_G		DLCP_THC_GRANULARITY
#define THC_LANES	8	/* of random numbers */
#define THC_TP		2.15387f /* P(|N(0,1)| > it) = 1/32 */

/* The 16 values of a code */
extern const uint8_t thc_table[16];
/* For whole v in 0..29: code below v, its value, distance to the next one */
extern const uint32_t thc_below[32];
#define THC_BELOW(code, value, gap)	((code) | (value) << 8 | (gap) << 16)

/**
 * struct thc_loops - the loops
 * @add: x = a + b, n a multiple of 8 here and everywhere
 * @squares: add the squares of one block to eight lanes
 * @rotate: multiply by signs (32 words of 32 bits), Hadamard transform, times
 *	@scale; one block
 * @rotate_back: the same backwards: transform, times @scale, signs
 * @quantise: one block, scaled so that it looks normal: 512 bytes of codes;
 *	@x becomes what is lost by that, in the same scale
 * @add_codes8: one unit: 128 sums of 8 bits
 * @add_codes16: and of 16
 * @dequantise: one unit: (sum / m - G / 2) * scale
 */
struct thc_loops {
	void	(*add)(float *x, const float *a, const float *b, size_t n);
	void	(*squares)(const float *x, float *lane);
	void	(*rotate)(float *x, const uint32_t *signs, float scale);
	void	(*rotate_back)(float *x, const uint32_t *signs, float scale);
	void	(*quantise)(float *x, uint32_t *random, uint8_t *codes);
	void	(*add_codes8)(uint8_t *sums, const uint8_t *codes, int first);
	void	(*add_codes16)(uint16_t *sums, const uint8_t *codes, int first);
	void	(*dequantise8)(float *x, const uint8_t *sums, float by, float k);
	void	(*dequantise16)(float *x, const uint16_t *sums, float by,
				float k);
};

extern const struct thc_loops thc_plain;
/* NULL where the processor has no AVX2 */
const struct thc_loops *thc_avx2(void);
/* For tests: which to use; NULL: what is best */
void thc_use(const struct thc_loops *loops);

struct dlcp_thc {
	size_t		count;
	size_t		padded;	/* whole blocks */
	float		*memory;
	float		*x;	/* gradient and memory, and scratch */
	uint32_t	random[THC_LANES];
	uint64_t	step;	/* of dlcp_thc_all_reduce() */
};

#endif
