// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "budget.h"

typedef unsigned __int128 u128;

static u64 some_length(void)
{
	return rnd() >> rnd_below(64);
}

static u32 some_ppm(void)
{
	static const u32 edge[] = { 0, 1, 2, 999999, 1000000, 500000, 333333 };

	return rnd() & 1 ? edge[rnd_below(ARRAY_SIZE(edge))] :
			   (u32)rnd_below(1000001);
}

static void bound__equals_exact_arithmetic(void)
{
	u64 len;
	u32 ppm;
	int i;

	for (i = 0; i < 200000; i++) {
		len = some_length();
		ppm = some_ppm();
		CHECK(dlcp_bound(len, ppm) == (u64)((u128)len * ppm / 1000000));
	}
	CHECK(dlcp_bound(U64_MAX, 1000000) == U64_MAX);
	CHECK_EQ(dlcp_bound(U64_MAX, 0), 0);
	CHECK_EQ(dlcp_bound(999999, 1), 0);
	CHECK_EQ(dlcp_bound(1000000, 1), 1);
	CHECK(dlcp_bound(U64_MAX, U32_MAX) == U64_MAX);
}

static void bound__zero_forgives_nothing(void)
{
	struct dlcp_budget b;

	dlcp_budget_init(&b, 1000000, 0);
	dlcp_budget_receive(&b, 999999, false);
	CHECK(!dlcp_budget_may_forgive(&b, 1));
	CHECK(dlcp_budget_may_forgive(&b, 0));
}

static void vesting__follows_what_arrived(void)
{
	struct dlcp_budget b;

	dlcp_budget_init(&b, 1000, 100000);
	CHECK(!dlcp_budget_may_forgive(&b, 1));
	dlcp_budget_receive(&b, 8, false);
	CHECK(!dlcp_budget_may_forgive(&b, 1));
	dlcp_budget_receive(&b, 1, false);
	CHECK(dlcp_budget_may_forgive(&b, 1));
	CHECK(!dlcp_budget_may_forgive(&b, 2));
	dlcp_budget_forgive(&b, 1);
	CHECK(!dlcp_budget_may_forgive(&b, 1));
	/* It came after all: the budget has it back */
	dlcp_budget_receive(&b, 1, true);
	CHECK(dlcp_budget_may_forgive(&b, 1));
	CHECK_EQ(b.forgiven, 0);
	CHECK_EQ(b.received, 10);
}

/* Contract: when every other byte is there the rule equals the bound */
static void vesting__ends_at_the_bound(void)
{
	struct dlcp_budget b;
	u64 len, miss;
	u32 ppm;
	int i;

	for (i = 0; i < 50000; i++) {
		len = some_length();
		ppm = some_ppm();
		miss = dlcp_bound(len, ppm);
		dlcp_budget_init(&b, len, ppm);
		dlcp_budget_receive(&b, len - miss, false);
		CHECK(dlcp_budget_may_forgive(&b, miss));
		CHECK(!dlcp_budget_may_forgive(&b, miss + 1) || miss == U64_MAX);
		dlcp_budget_forgive(&b, miss);
		CHECK(b.received + b.forgiven == len);
		CHECK(!dlcp_budget_may_forgive(&b, 1));
	}
}

/* Against a model in 128 bits, in random order, with extreme ranges */
static void vesting__model(void)
{
	u128 rec, forg, want;
	struct dlcp_budget b;
	u64 range, open;
	u32 ppm;
	int i, k;
	bool may;

	for (i = 0; i < 3000; i++) {
		dlcp_budget_init(&b, some_length(), some_ppm());
		ppm = b.ppm;
		rec = 0;
		forg = 0;
		for (k = 0; k < 100; k++) {
			open = b.length - (u64)rec - (u64)forg;
			range = rnd() & 7 ? (open ? rnd_below(open) >>
					     rnd_below(8) : 0) : rnd();
			want = (forg + range) * 1000000;
			may = forg + rec + range <= b.length &&
			      want <= (rec + forg + range) * ppm;
			CHECK_EQ(dlcp_budget_may_forgive(&b, range), may);
			if (may && (rnd() & 1)) {
				dlcp_budget_forgive(&b, range);
				forg += range;
			} else if (range <= open && (rnd() & 1)) {
				dlcp_budget_receive(&b, range, false);
				rec += range;
			} else if (forg && !(rnd() & 3)) {
				range = 1 + rnd_below((u64)forg);
				dlcp_budget_receive(&b, range, true);
				rec += range;
				forg -= range;
			}
			CHECK(b.received == (u64)rec && b.forgiven == (u64)forg);
			CHECK(b.forgiven <= dlcp_bound(b.length, ppm));
		}
	}
}

static void vesting__huge_range_is_refused(void)
{
	struct dlcp_budget b;

	dlcp_budget_init(&b, U64_MAX, 1000000);
	dlcp_budget_receive(&b, U64_MAX - 1, false);
	CHECK(dlcp_budget_may_forgive(&b, 1));
	CHECK(!dlcp_budget_may_forgive(&b, 2));
	CHECK(!dlcp_budget_may_forgive(&b, U64_MAX));
}

TESTS(T(bound__equals_exact_arithmetic),
      T(bound__zero_forgives_nothing),
      T(vesting__follows_what_arrived),
      T(vesting__ends_at_the_bound),
      T(vesting__model),
      T(vesting__huge_range_is_refused))
