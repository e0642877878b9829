// SPDX-License-Identifier: GPL-2.0
/*
 * How long does a bucket take? 20 MB over 10 Gbit/s and 25 us each way, with
 * random loss, from sendmsg() to completion at the receiver. Twice as a
 * multiple: of its own bits over the rate, and of those with the 66 bytes
 * (IP, UDP, Ethernet) that go around each packet, which no transport on this
 * network can do without. The bounds are part of the test.
 */
#include "sim.h"
#include "test.h"

#define PERF_BYTES	20000000ULL

static void perf_fail(void)
{
	longjmp(test_jmp, 1);
}

static double perf_one(u32 loss, u32 ppm, u64 seed, struct sim *s)
{
	struct sim_attr a = { .length = PERF_BYTES, .ppm = ppm };
	struct sim_msg *m;
	double ideal;

	sim_init(s, seed);
	s->link[0].loss = loss;
	s->link[1].loss = loss;
	sim_up(s);
	m = sim_send(&s->ep[0], &a);
	sim_finish(s, 10 * SIM_S);
	ideal = PERF_BYTES * 8.0 / (double)s->link[0].rate * 1e9;
	return (double)(m->rcvd_at - m->sent_at) / ideal;
}

static void perf_case(u32 loss, u32 ppm, double most)
{
	double sum = 0, worst = 0;
	const double lower = (1448.0 + 66) / 1448;
	const int runs = 30;
	u64 resent = 0, lost = 0, spurious = 0, forgiven = 0;
	struct sim s;
	int i;

	for (i = 0; i < runs; i++) {
		double x = perf_one(loss, ppm, (u64)i + 1, &s);

		sum += x;
		worst = x > worst ? x : worst;
		resent += s.ep[0].c.cnt[DLCP_CNT_TX_RESENT];
		forgiven += s.ep[0].c.cnt[DLCP_CNT_TX_FORGIVEN];
		lost += s.ep[0].c.cnt[DLCP_CNT_LOST];
		spurious += s.ep[0].c.cnt[DLCP_CNT_SPURIOUS];
		sim_free(&s);
	}
	FIGURE("loss %5.2f %%  p %5.2f %%  time/ideal %.4f (worst %.4f)  of payload alone %.4f  resent %.2f %%  forgiven %.2f %%  lost %llu  spurious %llu",
	       loss / 1e4, ppm / 1e4, sum / runs / lower, worst / lower,
	       sum / runs,
	       100.0 * (double)resent / (double)(runs * PERF_BYTES),
	       100.0 * (double)forgiven / (double)(runs * PERF_BYTES),
	       (unsigned long long)lost / runs,
	       (unsigned long long)spurious / runs);
	CHECK(sum / runs / lower <= most);
	/* Of 300 runs: 1.085 at most, and 1.118 where more is lost than may be */
	CHECK(sum / runs <= (ppm >= loss ? 1.09 : 1.125));
}

/* Return: sum of @runs times, in parts of the ideal */
static double perf_bursts(u32 loss, u32 ppm, u64 seed, int runs, double *worst)
{
	struct sim_attr a = { .length = PERF_BYTES, .ppm = ppm };
	double x, sum = 0;
	struct sim_msg *m;
	struct sim s;
	int i;

	sim_init(&s, seed);
	for (i = 0; i < 2; i++) {
		s.link[i].burst_exit = 1000000 / 4;
		s.link[i].burst_enter = loss / 4;
	}
	sim_up(&s);
	for (i = 0; i < runs; i++) {
		m = sim_send(&s.ep[0], &a);
		sim_finish(&s, 10 * SIM_S);
		x = (double)(m->rcvd_at - m->sent_at) *
		    (double)s.link[0].rate / (PERF_BYTES * 8e9);
		sum += x;
		*worst = x > *worst ? x : *worst;
	}
	sim_free(&s);
	return sum;
}

/*
 * Loss that comes in bursts of four packets takes all ACKs of a window now and
 * then: that costs the time until a probe is answered, and no more.
 */
static void perf__bursts(void)
{
	static const u32 loss[] = { 10000, 30000 };
	const int seeds = 24, runs = 4;
	double sum, worst;
	size_t i;
	int k;

	sim_on_fail = perf_fail;
	for (i = 0; i < ARRAY_SIZE(loss); i++) {
		sum = 0;
		worst = 0;
		for (k = 0; k < seeds; k++)
			sum += perf_bursts(loss[i], loss[i], (u64)k + 1, runs,
					   &worst);
		sum /= seeds * runs;
		FIGURE("loss and p %.0f %%, bursts of 4: time/ideal %.3f (worst %.3f)",
		       loss[i] / 1e4, sum, worst);
		/* Measured: 1.100 and 1.15, with a run in a hundred of 1.9 */
		CHECK(sum <= (i ? 1.17 : 1.11));
	}
}

#define PERF(loss, ppm, most)						\
	static void perf__loss_##loss##_bound_##ppm(void)		\
	{								\
		sim_on_fail = perf_fail;				\
		perf_case(loss, ppm, most);				\
	}

PERF(0, 0, 1.08)
PERF(1000, 0, 1.12)
PERF(10000, 0, 1.12)
PERF(30000, 0, 1.12)
PERF(0, 10000, 1.08)
PERF(1000, 1000, 1.08)
PERF(10000, 10000, 1.08)
PERF(30000, 30000, 1.08)
PERF(10000, 100000, 1.08)
PERF(30000, 100000, 1.08)

TESTS(T(perf__loss_0_bound_0), T(perf__loss_1000_bound_0),
      T(perf__loss_10000_bound_0), T(perf__loss_30000_bound_0),
      T(perf__loss_0_bound_10000), T(perf__loss_1000_bound_1000),
      T(perf__loss_10000_bound_10000), T(perf__loss_30000_bound_30000),
      T(perf__loss_10000_bound_100000), T(perf__loss_30000_bound_100000),
      T(perf__bursts))
