// SPDX-License-Identifier: GPL-2.0
/* The end of a connection. */
#include "test_conn.h"

static void close__simultaneous(void)
{
	u32 seed;

	for (seed = 1; seed <= 40; seed++) {
		struct sim_attr a = {
			.length = sim_below(start(seed), 100000),
			.ppm = bounds[seed % 5],
		};
		struct sim *s = &sim;

		lossy(s, 100000);
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		/* What was queued is delivered all the same */
		end(s);
		SIM_CHECK(s, s->ep[0].nr_done == 1 && s->ep[1].nr_done == 1);
	}
}

static void close__one_after_the_other(void)
{
	u32 seed;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = { .length = 200000, .ppm = 10000 };
		struct sim *s = start(seed);

		lossy(s, 50000);
		s->ep[1].auto_close = true;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_shutdown(&s->ep[0]);
		SIM_CHECK(s, !dlcp_conn_may_send(&s->ep[0].c));
		sim_run(s, 10 * SIM_S);
		SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSED);
		SIM_CHECK(s, s->ep[1].c.state == DLCP_CLOSED);
		SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
		SIM_CHECK(s, s->ep[1].nr_rcvd == 1 && s->ep[0].eof);
		sim_free(s);
	}
}

static void close__half_closed_still_receives(void)
{
	struct sim_attr a = { .length = 500000 };
	struct sim *s = start(1);

	sim_up(s);
	sim_shutdown(&s->ep[0]);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[1].eof && s->ep[0].c.state == DLCP_ESTABLISHED);
	sim_send(&s->ep[1], &a);
	sim_finish(s, SIM_S);
	sim_shutdown(&s->ep[1]);
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSED && !s->ep[0].error);
	sim_free(s);
}

static void close__unknown_peer_after_the_end(void)
{
	struct dlcp_reset r = { .code = DLCP_RST_UNKNOWN };
	struct sim_attr a = { .length = 1000 };
	struct sim *s = start(1);
	u8 buf[64];

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_shutdown(&s->ep[0]);
	sim_shutdown(&s->ep[1]);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSING);
	r.your_tag = s->ep[1].cfg.local_tag;
	sim_inject(s, 0, buf, dlcp_put_reset(buf, 1, &r), false, s->now + 1);
	sim_run(s, SIM_US);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_CLOSED && !s->ep[0].error);
	sim_free(s);
}

TESTS(T(close__simultaneous), T(close__one_after_the_other),
      T(close__half_closed_still_receives),
      T(close__unknown_peer_after_the_end))
