// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "pace.h"

#define SEC 1000000000ULL

static void pace__unlimited(void)
{
	struct dlcp_pace p = { .rate = 0 };

	CHECK_EQ(dlcp_pace_allow(&p, 0, 0, 1500, 64000), 64000);
	dlcp_pace_sent(&p, 5, 0, 64000);
	CHECK_EQ(dlcp_pace_allow(&p, 5, 0, 1500, 64000), 64000);
}

static void pace__batch_sizes(void)
{
	struct dlcp_pace p = { .rate = 1250000000 };	/* 10 Gbit/s */

	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 1500, 64000), 20000);
	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 1500, 9000), 9000);
	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 30000, 64000), 30000);
	/* the last segment of a message may be shorter than others */
	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 1500, 100), 100);
	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 1500, 0), 0);
	p.rate = 1;
	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 1500, 64000), 1500);
	p.rate = U64_MAX;
	CHECK_EQ(dlcp_pace_allow(&p, 100, 0, 1500, 64000), 64000);
}

static void pace__next_is_when_it_may(void)
{
	struct dlcp_pace p = { .rate = 1250000 };
	u64 now = SEC;

	dlcp_pace_sent(&p, now, 0, 1500);
	CHECK(p.next > now);
	CHECK_EQ(dlcp_pace_allow(&p, p.next - 1, 0, 1500, 1500), 0);
	CHECK_EQ(dlcp_pace_allow(&p, p.next, 0, 1500, 1500), 1500);
}

/* Rates from 1 Mbit/s to 400 Gbit/s, with timers that fire up to 10 us late */
static void pace__rate_is_kept(void)
{
	static const u64 rates[] = { 125000, 1250000, 125000000, 1250000000,
				     12500000000ULL, 50000000000ULL };
	u64 rate, now, start, bytes, got;
	struct dlcp_pace p;
	u32 n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		memset(&p, 0, sizeof(p));
		p.rate = rates[i];
		now = start = SEC;
		for (bytes = 0; bytes < rates[i];) {
			n = dlcp_pace_allow(&p, now, 0, 1500, 64000);
			if (!n) {
				now = p.next + rnd_below(10000);
				continue;
			}
			/* at most so much of it, as a window would */
			n -= n > 3000 ? (u32)rnd_below(1500) : 0;
			dlcp_pace_sent(&p, now, 0, n);
			bytes += n;
		}
		got = mul_u64_u64_div_u64(bytes, SEC, max(p.next, now) - start);
		CHECK(got <= rates[i] + rates[i] / 500);
		rate = rates[i] - rates[i] / 50;
		if (got < rate)
			printf("# %llu of %llu\n", got, rates[i]);
		CHECK(got >= rate);
	}
}

/* Bytes that go at @now, of which @late ns are made up for */
static u32 pace_burst(struct dlcp_pace *p, u64 now, u64 late)
{
	u32 n, bytes = 0;

	while ((n = dlcp_pace_allow(p, now, late, 1500, 64000))) {
		dlcp_pace_sent(p, now, late, n);
		bytes += n;
	}
	return bytes;
}

/* Idle time earns one quantum at most beyond the one that may go anyway */
static void pace__no_burst_after_idle(void)
{
	struct dlcp_pace p = { .rate = 1250000000 };

	dlcp_pace_sent(&p, SEC, 0, 1500);
	CHECK(pace_burst(&p, 100 * SEC, 0) <= 2 * 20000);
}

static void pace__slow_sender_never_bursts(void)
{
	struct dlcp_pace p = { .rate = 1250000 };
	u64 now = 100 * SEC;

	CHECK_EQ(dlcp_pace_allow(&p, now, 0, 1500, 64000), 1500);
	dlcp_pace_sent(&p, now, 0, 1500);
	CHECK_EQ(dlcp_pace_allow(&p, now, 0, 1500, 64000), 0);
	CHECK(p.next - now > 1180000);
}

static void pace__a_bad_rate_is_forgotten(void)
{
	struct dlcp_pace p = { .rate = 1 };

	dlcp_pace_sent(&p, SEC, 0, U32_MAX);
	CHECK(p.next <= 2 * SEC);
	p.rate = 1250000000;
	CHECK(dlcp_pace_allow(&p, 2 * SEC, 0, 1500, 64000));
}

/* What has waited goes, as much of it as the caller says, and once */
static void pace__a_late_host_makes_up(void)
{
	static const u32 late[] = { 0, 10000, 100000, 1000000, 10000000 };
	struct dlcp_pace p = { .rate = 1250000000 };
	u64 now = SEC;
	u32 bytes;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(late); i++) {
		pace_burst(&p, now, 0);
		now = p.next + 2 * SEC / 1000;
		bytes = pace_burst(&p, now, late[i]);
		/* 1.25 bytes in a ns, in 2 ms at most, and a batch more */
		CHECK(bytes >= min(late[i], 2000000U) / 4 * 5);
		CHECK(bytes <= min(late[i], 2000000U) / 4 * 5 + 2 * 64000);
		CHECK(!pace_burst(&p, now, late[i]));
	}
}

TESTS(T(pace__unlimited),
      T(pace__batch_sizes),
      T(pace__next_is_when_it_may),
      T(pace__rate_is_kept),
      T(pace__no_burst_after_idle),
      T(pace__slow_sender_never_bursts),
      T(pace__a_bad_rate_is_forgotten),
      T(pace__a_late_host_makes_up))
