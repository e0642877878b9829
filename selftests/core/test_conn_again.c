// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection comes back from: a route that reordered once, a lost CREDIT.
 */
#include "test_conn.h"

/* Return: mean time of @nr messages of @length, one each 10 ms; us */
static u64 messages(struct sim *s, u64 length, u32 nr)
{
	struct sim_attr a = { .length = length };
	struct sim_msg *m;
	u64 sum = 0;
	u32 i;

	for (i = 0; i < nr; i++) {
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, 10 * SIM_S);
		sum += m->rcvd_at - m->sent_at;
		sim_run(s, 10 * SIM_MS);
	}
	return sum / nr / SIM_US;
}

/* Loss detection is as quick again as before */
static void again__order_after_disorder(void)
{
	struct sim_attr a = { .length = 3000000 };
	struct sim *s = start(1);
	struct dlcp_path *p;

	sim_up(s);
	s->link[0].reorder = 100000;
	s->link[0].reorder_delay = 2 * SIM_MS;
	sim_send(&s->ep[0], &a);
	sim_finish(s, 10 * SIM_S);
	p = s->ep[0].c.paths;
	SIM_CHECK(s, p->slack >= 4 && p->reorder == DLCP_REORDER_MAX);
	s->link[0].reorder = 0;
	s->link[0].loss = 10000;
	messages(s, 200000, 200);
	FIGURE("after 200 messages in order: %u eighths, %u packets", p->slack,
	       p->reorder);
	SIM_CHECK(s, p->slack <= 1 && p->reorder <= 16);
	end(s);
}

static u32 credits_to_drop;

static bool drop_credit(struct sim *s, struct sim_pkt *k)
{
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_frame f;

	if (k->to || k->p[8] != DLCP_PT_CTRL || !credits_to_drop)
		return true;
	while (dlcp_get_frame(k->p, k->len, &off, &f) > 0) {
		if (f.type == DLCP_FT_CREDIT) {
			credits_to_drop--;
			return false;
		}
	}
	return true;
}

/* A receiver that knows no round trip yet, as its ECHO came late */
static void again__a_lost_credit(void)
{
	struct sim_attr a = { .length = 1000000 };
	struct sim *s;
	u64 took;
	u32 i;

	for (i = 1; i <= 3; i++) {
		s = start(i);
		sim_up(s);
		s->ep[1].c.paths[0].rtt.srtt = 333 * SIM_MS;
		s->meddle = drop_credit;
		credits_to_drop = i;
		took = messages(s, a.length, 1);
		FIGURE("1 MB, %u CREDITs lost: %llu us", i,
		       (unsigned long long)took);
		SIM_CHECK(s, !credits_to_drop);
		SIM_CHECK(s, took < 5000);
		end(s);
	}
}

TESTS(T(again__order_after_disorder), T(again__a_lost_credit))
