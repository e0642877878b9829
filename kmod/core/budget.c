// SPDX-License-Identifier: GPL-2.0
#include "budget.h"

u64 dlcp_bound(u64 length, u32 ppm)
{
	return mul_u64_u32_div(length, min_t(u32, ppm, DLCP_PPM), DLCP_PPM);
}

void dlcp_budget_init(struct dlcp_budget *b, u64 length, u32 ppm)
{
	b->length = length;
	b->received = 0;
	b->forgiven = 0;
	b->ppm = min_t(u32, ppm, DLCP_PPM);
}

/* Bytes of which nothing is known yet */
static u64 budget_open(const struct dlcp_budget *b)
{
	return b->length - b->received - b->forgiven;
}

bool dlcp_budget_may_forgive(const struct dlcp_budget *b, u64 range)
{
	u64 seen;

	if (range > budget_open(b))
		return false;
	/* Cannot overflow: all three are parts of the length */
	seen = b->received + b->forgiven + range;
	return b->forgiven + range <= dlcp_bound(seen, b->ppm);
}

/*
 * Not checked against the bound: an early stop and a deadline forgive by
 * rules of their own.
 */
void dlcp_budget_forgive(struct dlcp_budget *b, u64 range)
{
	if (WARN_ON_ONCE(range > budget_open(b)))
		range = budget_open(b);
	b->forgiven += range;
}

void dlcp_budget_receive(struct dlcp_budget *b, u64 range, bool was_forgiven)
{
	if (was_forgiven) {
		if (WARN_ON_ONCE(range > b->forgiven))
			range = b->forgiven;
		b->forgiven -= range;
	} else if (WARN_ON_ONCE(range > budget_open(b))) {
		range = budget_open(b);
	}
	b->received += range;
}
