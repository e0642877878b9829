// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection comes back from: a route that reordered once, a moment in which all
 * was lost, a lost CREDIT.
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

/*
 * All is lost for some milliseconds, once, in the midst of a message. What is lost in one
 * round says nothing of what a link takes: no trial at half the rate, and no smaller steps
 * from then on. @gap: the outage begins so long after the message
 */
static void outage(u64 seed, u64 rtt, u64 gap)
{
	struct sim_attr a = { .length = 200000 };
	struct sim *s = start(seed);
	u64 before, after;

	s->ep[0].cfg.unsolicited = 1000000;
	s->ep[1].cfg.unsolicited = 1000000;
	s->link[0].delay = rtt / 2;
	s->link[1].delay = rtt / 2;
	s->link[0].queue = 1000000;
	sim_up(s);
	before = messages(s, a.length, 30);
	sim_send(&s->ep[0], &a);
	sim_run(s, gap);
	s->link[0].loss = 1000000;
	sim_run(s, rtt / 4);
	s->link[0].loss = 0;
	sim_finish(s, 10 * SIM_S);
	/* Half of the window is lost, and grows by half a step more in each round */
	messages(s, a.length, 6);
	after = messages(s, a.length, 12);
	FIGURE("%.1f ms: %llu us before, %llu us after it", rtt / 1e6,
	       (unsigned long long)before, (unsigned long long)after);
	SIM_CHECK(s, after < before * 21 / 20);
	end(s);
}

static void again__window_after_an_outage(void)
{
	u32 i;

	for (i = 0; i < 8; i++)
		outage(10 + i, (i & 1 ? 15 : 40) * SIM_MS, i / 2 * SIM_MS);
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

static u32 dead_to;
static u64 dead_since;

/* One spine of four is left, and it is not that of the well-known port */
static bool drop_three_of_four(struct sim *s, struct sim_pkt *k)
{
	return k->to != dead_to || s->now < dead_since ||
	       k->port % 4 == 3;
}

/* A connection of one path, of which most ways to @to die in a message */
static void dies_to(u32 to, u64 length, u64 after)
{
	struct sim_attr a = { .length = length };
	struct sim *s;
	u64 took;
	u32 i;

	for (i = 1; i <= 8; i++) {
		s = start(i);
		sim_up(s);
		messages(s, 100000, 2);
		dead_to = to;
		dead_since = s->now + after;
		s->meddle = drop_three_of_four;
		took = messages(s, a.length, 1);
		FIGURE("seed %u: %llu us", i, (unsigned long long)took);
		SIM_CHECK(s, !s->ep[0].error && !s->ep[1].error);
		SIM_CHECK(s, took < 50000);
		end(s);
	}
}

static void again__way_there_dies(void)
{
	dies_to(1, 1000000, 300 * SIM_US);
}

static void again__way_back_dies(void)
{
	dies_to(0, 1000000, 300 * SIM_US);
}

/* One spine of four dies, that of the well-known ports, while both ends send */
static bool drop_home(struct sim *s, struct sim_pkt *k)
{
	return s->now < dead_since || k->port % 4;
}

static void again__home_dies(void)
{
	struct sim_attr a = { .length = 1000000 };
	struct sim_msg *m[2];
	u64 took, most = 0;
	struct sim *s;
	u32 i, k;

	for (i = 1; i <= 64; i++) {
		s = start(i);
		sim_up(s);
		messages(s, 100000, 2);
		dead_since = s->now + 300 * SIM_US;
		s->meddle = drop_home;
		for (k = 0; k < 2; k++) {
			s->ep[k].c.paths[0].entropy &= ~3U;
			m[k] = sim_send(&s->ep[k], &a);
		}
		sim_finish(s, 10 * SIM_S);
		for (k = 0; k < 2; k++) {
			took = (m[k]->rcvd_at - m[k]->sent_at) / SIM_US;
			most = took > most ? took : most;
		}
		end(s);
	}
	FIGURE("two of 1 MB: at most %llu us", (unsigned long long)most);
	CHECK(most < 10000);
}

/* A client will have its cookie; what it sends then gets lost */
static struct sim *echo_lost(u64 seed)
{
	struct sim *s = start(seed);

	s->ep[0].cfg.dead_ns = 300 * SIM_S;
	sim_connect(s);
	while (!s->ep[1].asker)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	s->link[0].down = true;
	return s;
}

/* The network was away for longer than the cookie is good. Before that it is kept. */
static void again__cookie_too_old(void)
{
	static const u32 away[] = { 1, 55, 59, 60, 61, 62, 63, 90, 200 };
	struct sim_attr a = { .length = 10000 };
	struct sim *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(away); i++) {
		s = echo_lost(i + 1);
		sim_run(s, away[i] * SIM_S);
		s->link[0].down = false;
		sim_run(s, 4 * SIM_S);
		SIM_CHECK(s, s->ep[0].c.setup.acked);
		SIM_CHECK(s, s->ep[0].anew == (away[i] >= 60));
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		end(s);
	}
}

/* It comes again, from the listener itself: INIT was sent twice, or the network has
 * copied the answer. The first one counts.
 */
static void again__two_cookies(void)
{
	struct sim_attr a = { .length = 10000 };
	struct sim *s;
	u32 i;

	for (i = 1; i < 50; i++) {
		s = start(i);
		s->ep[0].cfg.dead_ns = 300 * SIM_S;
		s->link[0].dup = 500000;
		s->link[1].dup = 500000;
		s->link[0].setup_loss = 300000;
		s->link[1].setup_loss = 300000;
		s->link[1].jitter = 70 * SIM_MS;
		s->ep[1].full = s->now + 62 * SIM_S;
		sim_connect(s);
		sim_run(s, 90 * SIM_S);
		SIM_CHECK(s, s->ep[0].c.setup.acked && s->ep[0].anew == 1);
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[1], &a);
		sim_finish(s, 60 * SIM_S);
		end(s);
	}
}

/* A listener that has room for no more answers each INIT: that is not for ever */
static void again__no_room(void)
{
	struct sim *s = echo_lost(1);

	s->link[0].down = false;
	s->ep[1].full = U64_MAX;
	sim_run(s, 299 * SIM_S);
	SIM_CHECK(s, !s->ep[0].error && s->ep[0].anew == 4);
	sim_run(s, 2 * SIM_S);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
	sim_free(s);
}

/* ECHO has made a connection, and only the way back was away. What that one sends is
 * not for the next, and tells it that nobody knows it.
 */
static void again__half_a_connection(void)
{
	struct sim_attr a = { .length = 10000 };
	struct sim *s = echo_lost(1);

	s->link[0].down = false;
	s->link[1].down = true;
	sim_run(s, SIM_S);
	SIM_CHECK(s, s->ep[1].live && s->ep[1].c.state == DLCP_ESTABLISHED);
	s->ep[1].c.cfg.dead_ns = 300 * SIM_S;
	sim_run(s, 61 * SIM_S);
	SIM_CHECK(s, s->ep[0].anew == 1);
	s->link[1].down = false;
	sim_send(&s->ep[1], &a);
	sim_run(s, 10 * SIM_S);
	SIM_CHECK(s, s->ep[1].error == ECONNRESET);
	SIM_CHECK(s, s->ep[0].c.state == DLCP_ECHO_SENT && !s->ep[0].error);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_RX_DATA]);
	sim_free(s);
}

/* A queue that marks others drops all that is droppable: the bound spares as much as
 * it can, and the rest comes at the second attempt
 */
static void again__as_important(void)
{
	static const u32 bounds[] = { 0, 10000, 200000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++) {
		struct sim_attr a = {
			.length = 300000, .ppm = bounds[i], .droppable = 40,
		};
		struct sim *s = start(1);
		struct sim_msg *m;

		sim_up(s);
		s->link[0].dead_tags = BIT(DLCP_TAG_DROPPABLE);
		m = sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		FIGURE("bound of %u ppm: %.2f ms", bounds[i],
		       (m->rcvd_at - m->sent_at) / 1e6);
		SIM_CHECK(s, m->rcvd_at - m->sent_at < 5 * SIM_MS);
		end(s);
	}
}

TESTS(T(again__as_important), T(again__cookie_too_old), T(again__two_cookies),
      T(again__no_room), T(again__half_a_connection),
      T(again__order_after_disorder), T(again__window_after_an_outage),
      T(again__a_lost_credit),
      T(again__way_there_dies), T(again__way_back_dies),
      T(again__home_dies))
