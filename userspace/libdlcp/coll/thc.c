// SPDX-License-Identifier: LGPL-2.1-or-later
/* All-reduce of THC codes: the norms first, then codes up and sums down */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../thc/thc.h"
#include "coll.h"

static void multiply(float *x, size_t n, float by)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] *= by;
}

/* Blocks of norms and units of codes do not say where a tensor ends. Ranks that
 * do not agree on that see it by this.
 */
static int in_last_block(const struct dlcp_thc *thc)
{
	return (int)(thc->count % DLCP_THC_BLOCK);
}

/* The largest of each at all ranks, sent as bfloat16, which is all there is to
 * them. Return: are all finite? Or -1
 */
static int share_norms(struct dlcp_coll *c, const struct dlcp_thc *thc,
		       float *norms, uint8_t prio)
{
	struct dlcp_coll_args max = { .reduce = DLCP_COLL_MAX, .prio = prio };
	size_t i, n = dlcp_thc_blocks(thc->count);
	uint16_t *half = malloc((n + 1) * sizeof(*half));
	int ret, finite = 1;
	uint32_t bits;

	if (!half)
		return dlcp__no_memory();
	for (i = 0; i < n; i++) {
		memcpy(&bits, &norms[i], sizeof(bits));
		half[i] = (uint16_t)(bits >> 16);
	}
	ret = coll_start(c, COLL_ALL_REDUCE, half, half, n, DLCP_COLL_BF16,
			 in_last_block(thc), &max, NULL);
	for (i = 0; i < n; i++) {
		bits = (uint32_t)half[i] << 16;
		memcpy(&norms[i], &bits, sizeof(bits));
		finite &= !!isfinite(norms[i]);
	}
	free(half);
	return ret ? -1 : finite;
}

static int reduce_codes(struct dlcp_coll *c, struct dlcp_thc *thc,
			const float *norms, const float *in, float *out,
			const struct dlcp_coll_args *args)
{
	int width = dlcp_thc_width(c->workers), ret;
	uint8_t *codes = malloc(dlcp_thc_code_bytes(thc->count) + 1);
	char *sums = malloc(dlcp_thc_sum_bytes(thc->count, width) + 1);
	uint64_t step = thc->step++;

	if (!codes || !sums) {
		ret = dlcp__no_memory();
	} else {
		dlcp_thc_encode(thc, in, norms, step, codes);
		ret = coll_start(c, COLL_ALL_REDUCE, codes, sums,
				 dlcp_thc_units(thc->count),
				 width == 1 ? COLL_THC8 : COLL_THC16,
				 in_last_block(thc), args, NULL);
	}
	if (!ret)
		dlcp_thc_decode(thc, norms, step, sums, width, out);
	free(codes);
	free(sums);
	return ret;
}

/* Norms are shared, and the error memory has counted the codes as sent: who cannot
 * go on now ends it for all. Return: -1
 */
static int fail_half_way(struct dlcp_coll *c)
{
	int err = errno;

	if (!coll_failed(c))
		coll_fail(c, err, "rank %d: %s", c->rank, dlcp_last_error());
	errno = err;
	return -1;
}

_Static_assert(COLL_MAX_WORLD <= UINT16_MAX / THC_G, "sums of codes have 16 bits");

/* All of it before the norms are shared: what is refused concerns nobody else */
static int check_thc(const struct dlcp_thc *thc,
		     const float *in, const float *out,
		     const struct dlcp_coll_args *how)
{
	if (thc->count && (!in || !out))
		return dlcp__fail(EINVAL, "no buffer: NULL is for 0 elements");
	if (how->algo == DLCP_COLL_RING || how->reduce > DLCP_COLL_AVG)
		return dlcp__fail(EINVAL, "codes are added by servers, not in a ring");
	if (!dlcp_coll_algo_name(how->algo) || how->reduce > DLCP_COLL_MAX)
		return dlcp__fail(EINVAL, "unknown reduction or algorithm: dlcp_coll.h lists them");
	if (how->loss_ppm > DLCP_PPM || how->prio > DLCP_PRIO_MAX)
		return dlcp__fail(EINVAL, "a class or loss bound is out of range: at most %d, and %d millionths",
				  DLCP_PRIO_MAX, DLCP_PPM);
	return 0;
}

DLCP_API int dlcp_thc_all_reduce(struct dlcp_coll *coll, struct dlcp_thc *thc,
				 const float *in, float *out,
				 const struct dlcp_coll_args *args)
{
	size_t i, blocks = dlcp_thc_blocks(thc->count);
	struct dlcp_coll_args how = { 0 };
	float *norms;
	int ret;

	if (args && dlcp__take(&how, sizeof(how), sizeof(how), args,
			       "dlcp_coll_args"))
		return -1;
	if (check_thc(thc, in, out, &how))
		return -1;
	how.correct = DLCP_COLL_AVERAGE;
	how.tensor = 0;
	how.loss2_ppm = 0;
	how.droppable = how.critical = 0;
	norms = malloc((blocks + 1) * sizeof(*norms));
	if (!norms)
		return dlcp__no_memory();
	dlcp_thc_norms(thc, in, norms);
	ret = share_norms(coll, thc, norms, how.prio);
	if (!ret)
		for (i = 0; i < thc->count; i++)
			out[i] = NAN;
	else if (ret > 0)
		ret = reduce_codes(coll, thc, norms, in, out, &how) ?
		      fail_half_way(coll) : 0;
	free(norms);
	if (!ret && how.reduce == DLCP_COLL_SUM)
		multiply(out, thc->count, (float)coll->workers);
	return ret;
}
