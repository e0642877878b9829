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
#define THC_HALF	(THC_G / 2)
#define THC_TP		2.15387f /* P(|N(0,1)| > it) = 1/32 */
#define THC_FINE_BITS	11
/* Parts of a step of the table, 1 / THC_G of -THC_TP..THC_TP. So many that what
 * 16 bits hold is one step more than that on either side.
 */
#define THC_FINE	(1 << THC_FINE_BITS)
#define THC_LANES	16	/* of random numbers */
#define THC_SIGNS	(THC_BLOCK / 32) /* words */
#define THC_ALIGN	__attribute__((aligned(32)))

/* The 16 values of a code */
extern const uint8_t thc_table[16];
/* For whole values -1..30: the code of it or below it, and how often to take
 * the next one, of 256, less 128. What is below 0 counts as 0.
 */
extern const uint8_t thc_below[32];
extern const int8_t thc_chance[32];

/**
 * struct thc_loops - the loops
 * @squares: add the squares of a + b to 32 lanes; @n elements, here and below
 *	of a block: 128, 256, 512 or 1024
 * @rotate: a + b, with signs, times @scale, and their Hadamard transform
 * @rotate_back: the same backwards: transform, times @scale, signs; @x is
 *	overwritten, too
 * @quantise: what is in parts of a step: n / 2 bytes of codes; @x becomes what
 *	is lost by that
 * @add_codes8: one unit: 128 sums of 8 bits
 * @add_codes16: and of 16
 * @dequantise8: one unit of such sums: times @by, less @half
 * @dequantise16: likewise
 *
 * @signs are those of a whole block, of which a smaller one has the first: of
 * element i bit 31 - i / 8 % 32 of word i / 256 * 8 + i % 8. @x is THC_ALIGN.
 */
struct thc_loops {
	void	(*squares)(const float *a, const float *b, size_t n,
			   float *lane);
	void	(*rotate)(float *x, const float *a, const float *b, size_t n,
			  const uint32_t *signs, float scale);
	void	(*rotate_back)(float *to, float *x, size_t n,
			       const uint32_t *signs, float scale);
	void	(*quantise)(float *x, size_t n, uint32_t *random,
			    uint8_t *codes);
	void	(*add_codes8)(uint8_t *sums, const uint8_t *codes, int first);
	void	(*add_codes16)(uint16_t *sums, const uint8_t *codes, int first);
	void	(*dequantise8)(float *x, const uint8_t *sums, float by,
			       float half);
	void	(*dequantise16)(float *x, const uint16_t *sums, float by,
				float half);
};

extern const struct thc_loops thc_plain;
/* NULL where the processor has no AVX2 */
const struct thc_loops *thc_avx2(void);
/* For tests: which to use; NULL: what is best */
void thc_use(const struct thc_loops *loops);

struct dlcp_thc {
	size_t		count;
	size_t		padded;	/* whole units */
	float		*memory;
	uint32_t	random[THC_LANES];
	uint64_t	step;	/* of dlcp_thc_all_reduce() */
};

#endif
