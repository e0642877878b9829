// SPDX-License-Identifier: GPL-2.0
/* Several connections: of two hosts, or of many senders to one receiver. */
#include "test_conn.h"

#define NR	16
#define MBYTE	1000000ULL

static struct sim sims[NR];

/* @nr connections, up, that share the hosts in @ends */
static void start_shared(u32 nr, u32 ends, bool grants)
{
	u32 i;

	sim_on_fail = on_fail;
	for (i = 0; i < nr; i++) {
		sim_init(&sims[i], 1 + i);
		if (i)
			sim_share(&sims[i], &sims[0], ends);
		sims[i].ep[1].own_rate = !grants;
	}
	for (i = 0; i < nr; i++)
		sim_up(&sims[i]);
}

static void end_shared(u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		sim_close(&sims[i]);
	for (i = 0; i < nr; i++)
		sim_free(&sims[i]);
}

/* Return: packets that a link lost of many senders, who have used it before */
static u64 incast_drops(bool grants)
{
	struct sim_attr a = { .length = MBYTE };
	struct sim_link *l = &sims[0].link[0];
	u64 lost = 0, begin = 0;
	u32 i, k;

	start_shared(NR, BIT(1), grants);
	l->queue = 64 * 1514;
	for (k = 0; k < 2; k++) {
		lost = l->dropped;
		begin = sims[0].now;
		for (i = 0; i < NR; i++)
			sim_send(&sims[i].ep[0], &a);
		for (i = 0; i < NR; i++)
			sim_finish(&sims[i], 10 * SIM_S);
		FIGURE("step %u, grants %d: %llu lost, %.3f of the floor", k,
		       grants, l->dropped - lost, (sims[0].now - begin) /
		       (NR * MBYTE * 0.8 * 1514 / 1448));
	}
	lost = l->dropped - lost;
	end_shared(NR);
	return lost;
}

static void shared__link_grants(void)
{
	u64 with = incast_drops(true), without = incast_drops(false);

	CHECK(4 * with < without);
}

/* Of two messages of one host the shorter goes first, as if it were alone */
static void shared__device_takes_turns(void)
{
	struct sim_attr large = { .length = 20 * MBYTE }, small = large;
	struct sim_msg *m;
	u64 begin, alone;

	small.length = 2 * MBYTE;
	start_shared(2, BIT(0) | BIT(1), true);
	begin = sims[0].now;
	m = sim_send(&sims[1].ep[0], &small);
	sim_finish(&sims[1], SIM_S);
	alone = m->rcvd_at - begin;
	begin = sims[0].now;
	sim_send(&sims[0].ep[0], &large);
	m = sim_send(&sims[1].ep[0], &small);
	sim_finish(&sims[1], SIM_S);
	sim_finish(&sims[0], SIM_S);
	FIGURE("2 MB beside 20 MB: %.2f of the time alone, %llu turns asked for",
	       (double)(m->rcvd_at - begin) / alone, sims[0].ep[0].waited);
	CHECK(sims[0].ep[0].waited);
	CHECK(m->rcvd_at - begin < alone * 5 / 4);
	end_shared(2);
}

TESTS(T(shared__link_grants), T(shared__device_takes_turns))
