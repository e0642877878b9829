// SPDX-License-Identifier: LGPL-2.1-or-later
/* All-reduce of THC codes: the norm first, then codes up and sums down */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../thc/thc.h"
#include "coll.h"

static void multiply(float *x, size_t n, float by)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] *= by;
}

static int reduce_codes(struct dlcp_coll *c, struct dlcp_thc *thc, float norm,
			float *out, const struct dlcp_coll_args *args)
{
	int width = dlcp_thc_width(c->workers), ret;
	uint8_t *codes = malloc(dlcp_thc_code_bytes(thc->count) + 1);
	char *sums = malloc(dlcp_thc_sum_bytes(thc->count, width) + 1);
	uint64_t step = thc->step++;

	if (!codes || !sums) {
		ret = dlcp__fail(ENOMEM, "no memory for codes");
	} else {
		dlcp_thc_encode(thc, norm, step, codes);
		ret = coll_start(c, COLL_ALL_REDUCE, codes, sums,
				 dlcp_thc_units(thc->count),
				 width == 1 ? COLL_THC8 : COLL_THC16, 0, args,
				 NULL);
	}
	if (!ret)
		dlcp_thc_decode(thc, norm, step, sums, width, out);
	free(codes);
	free(sums);
	return ret;
}

DLCP_API int dlcp_thc_all_reduce(struct dlcp_coll *coll, struct dlcp_thc *thc,
				 const float *in, float *out,
				 const struct dlcp_coll_args *args)
{
	struct dlcp_coll_args max = { .reduce = DLCP_COLL_MAX }, how = { 0 };
	float norm;
	size_t i;

	if (args)
		how = *args;
	if (how.algo == DLCP_COLL_RING || how.reduce == DLCP_COLL_MAX)
		return dlcp__fail(EINVAL, "codes are added by servers, not in a ring");
	if (coll->workers > UINT16_MAX / THC_G)
		return dlcp__fail(EINVAL, "%d contributions", coll->workers);
	how.correct = DLCP_COLL_AVERAGE;
	how.tensor = 0;
	how.loss2_ppm = 0;
	how.droppable = how.critical = 0;
	max.prio = how.prio;
	norm = dlcp_thc_norm(thc, in);
	if (dlcp_coll_all_reduce(coll, &norm, &norm, 1, DLCP_COLL_F32, &max,
				 NULL))
		return -1;
	if (!isfinite(norm)) {
		for (i = 0; i < thc->count; i++)
			out[i] = NAN;
		return 0;
	}
	if (reduce_codes(coll, thc, norm, out, &how))
		return -1;
	if (how.reduce == DLCP_COLL_SUM)
		multiply(out, thc->count, (float)coll->workers);
	return 0;
}
