// SPDX-License-Identifier: GPL-2.0
/* Pairs of addresses: how they are proven, used, lost and found again. */
#include "test_conn.h"

#define MBYTE	1000000ULL

static struct sim *up(u64 seed, u32 nr, u8 paths)
{
	struct sim *s = start(seed);

	sim_rails(s, nr);
	s->ep[0].cfg.nr_paths = paths;
	s->ep[1].cfg.nr_paths = paths;
	sim_up(s);
	sim_run(s, 2 * SIM_MS);
	return s;
}

/* Return: ns for a message from the first to the second */
static u64 transfer(struct sim *s, u64 length)
{
	struct sim_attr a = { .length = length };
	struct sim_msg *m = sim_send(&s->ep[0], &a);

	sim_finish(s, 10 * SIM_S);
	return m->rcvd_at - m->sent_at;
}

static void set_down(struct sim *s, u8 pair, bool down)
{
	u32 i;

	for (i = 0; i < 2; i++)
		(pair ? &s->rail[i][pair - 1] : &s->link[i])->down = down;
}

/* One connection gets the sum, whatever the number of paths and rails */
static void rails__sum(void)
{
	static const u8 cases[][2] = { { 1, 2 }, { 1, 16 }, { 3, 4 }, { 3, 8 } };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sim *s = up(i + 1, cases[i][0], cases[i][1]);
		u64 len = (cases[i][0] + 1) * 20 * MBYTE;
		u64 took, ideal = len * 1514 / 1448 * 8 / 10 /
				  (cases[i][0] + 1);

		for (k = 0; k < 2; k++)
			SIM_CHECK(s, s->ep[k].c.rail.nr_pairs == cases[i][0] + 1);
		transfer(s, 5 * MBYTE);
		took = transfer(s, len);
		FIGURE("%u rails, %u paths: %.3f of the ideal time",
		       cases[i][0] + 1, cases[i][1], (double)took / ideal);
		SIM_CHECK(s, took < ideal * 100 / 95);
		SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_TX_RESENT]);
		end(s);
	}
}

/* A card fails in the middle of a message: the other goes on, and when it is
 * back it is used again. Either may be the one of the set-up.
 */
static void rails__one_dies_and_returns(void)
{
	struct sim_attr a = { .length = 40 * MBYTE };
	struct sim_msg *m;
	u64 before, took;
	struct sim *s;
	u8 dead;

	for (dead = 0; dead < 2; dead++) {
		s = up(dead + 1, 1, 4);
		m = sim_send(&s->ep[0], &a);
		sim_run(s, 4 * SIM_MS);
		SIM_CHECK(s, !m->rcvd);
		set_down(s, dead, true);
		sim_finish(s, SIM_S);
		took = m->rcvd_at - m->sent_at;
		FIGURE("pair %u dies after 4 ms: 40 MB took %.1f ms", dead,
		       took / 1e6);
		/* 10 MB with two, 30 MB with one, and some time to notice */
		SIM_CHECK(s, took < 4 * SIM_MS + 25 * SIM_MS + 5 * SIM_MS);
		set_down(s, dead, false);
		transfer(s, 60 * MBYTE);
		before = dead ? s->rail[0][0].packets : s->link[0].packets;
		took = transfer(s, 40 * MBYTE);
		before = (dead ? s->rail[0][0].packets : s->link[0].packets) -
			 before;
		FIGURE("when it is back: %.1f ms, %llu packets by it",
		       took / 1e6, (unsigned long long)before);
		SIM_CHECK(s, before > 11000 && took < 19 * SIM_MS);
		end(s);
	}
}

/* Both lose packets, and nothing is missing */
static void rails__lossy(void)
{
	struct sim *s;
	u64 seed;

	for (seed = 1; seed < 9; seed++) {
		s = start(seed);
		lossy(s, 30000);
		sim_rails(s, 2);
		s->ep[0].cfg.nr_paths = 3;
		s->ep[1].cfg.nr_paths = 3;
		sim_up(s);
		sim_run(s, SIM_S);
		transfer(s, 2 * MBYTE);
		SIM_CHECK(s, s->ep[0].c.rail.nr_pairs == 3);
		end(s);
	}
}

/* One that is slower carries less and does not hold up the other */
static void rails__unequal(void)
{
	struct sim *s = up(1, 1, 4);
	u64 took, ideal = 40 * MBYTE * 1514 / 1448 * 8 * 10 / 125;
	u32 i;

	for (i = 0; i < 2; i++)
		s->rail[i][0].rate /= 4;
	transfer(s, 20 * MBYTE);
	took = transfer(s, 40 * MBYTE);
	FIGURE("a rail of a quarter: %.3f of the ideal time",
	       (double)took / ideal);
	SIM_CHECK(s, took < ideal * 100 / 85);
	end(s);
}

/*
 * Nobody answers at the address the peer has announced. However much is sent
 * meanwhile, there go only questions, ever fewer, and none without a packet of
 * the peer's.
 */
static void stranger__gets_questions_only(void)
{
	struct sim *s = start(1);
	u64 asked, packets;
	u32 i;

	sim_rails(s, 1);
	s->rail[0][0].down = true;
	s->ep[0].cfg.nr_paths = 4;
	sim_up(s);
	for (i = 0; i < 20; i++)
		transfer(s, 20 * MBYTE);
	sim_run(s, 60 * SIM_S);
	asked = s->rail[0][0].packets;
	packets = s->ep[0].c.cnt[DLCP_CNT_RX_PACKETS];
	FIGURE("%llu questions, %llu bytes; %llu packets came",
	       (unsigned long long)asked,
	       (unsigned long long)s->rail[0][0].bytes,
	       (unsigned long long)packets);
	SIM_CHECK(s, asked && asked <= 10 && asked <= packets);
	SIM_CHECK(s, s->rail[0][0].bytes <= asked * 94);
	SIM_CHECK(s, s->ep[0].c.rail.nr_pairs == 1);
	/* A silent peer pays for nothing */
	SIM_CHECK(s, dlcp_conn_next_timer(&s->ep[0].c) == U64_MAX);
	end(s);
}

/* A frame to the first, by @pair, with the right tag */
static void inject_frame(struct sim *s, u8 pair, const struct dlcp_frame *f)
{
	u8 pkt[256];
	u32 len;

	len = dlcp_put_ctrl(pkt, s->ep[0].cfg.local_tag, 0, 0, 0);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, f);
	s->tainted = true;
	sim_inject_by(s, 0, pair, pkt, len, false, s->now);
	sim_step(s, s->now);
}

/* It was asked there, and says something else from there, or from elsewhere */
static void stranger__guesses(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_ANSWER };
	struct sim *s = start(1);
	u64 i;

	sim_rails(s, 2);
	s->rail[0][0].down = true;
	s->rail[0][1].down = true;
	s->ep[0].cfg.nr_paths = 4;
	sim_up(s);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, s->rail[0][0].packets && s->rail[0][1].packets);
	for (i = 0; i < 1000; i++) {
		f.token.token = i < 500 ? i : s->own[0][0].token ^ i;
		inject_frame(s, (u8)(i % 3), &f);
	}
	/* i = 512 .. give other bits; none is the token itself */
	SIM_CHECK(s, s->ep[0].c.rail.nr_pairs == 1 && !s->ep[0].c.rail.rx_pair);
	f.token.token = s->own[0][1].token;
	inject_frame(s, 0, &f);
	SIM_CHECK(s, s->ep[0].c.rail.nr_pairs == 2);
	SIM_CHECK(s, dlcp_conn_pair_works(&s->ep[0].c, 2));
	SIM_CHECK(s, !dlcp_conn_pair_works(&s->ep[0].c, 1));
	SIM_CHECK(s, !dlcp_conn_pair_works(&s->ep[0].c, 77));
	sim_free(s);
}

/* Ever new addresses, of any family: the first announcement counts */
static void stranger__is_named_again(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_RAILS };
	struct sim *s = up(1, 1, 2);
	u8 peer[DLCP_ADDR_LEN];
	u32 i;

	memcpy(peer, s->ep[0].c.rail.table[0].peer, sizeof(peer));
	SIM_CHECK(s, !memcmp(peer, s->own[1][0].addr, sizeof(peer)));
	for (i = 0; i < 100; i++) {
		f.rails.family = i % 2 ? 4 : 6;
		f.rails.addr[i % 4][i % 2] = (u8)i;
		inject_frame(s, 0, &f);
	}
	SIM_CHECK(s, !memcmp(peer, s->ep[0].c.rail.table[0].peer, sizeof(peer)));
	SIM_CHECK(s, s->ep[0].c.rail.nr_pairs == 2);
	for (i = 1; i < 4; i++)
		SIM_CHECK(s, s->ep[0].c.rail.table[i].state == DLCP_RAIL_NONE);
	sim_free(s);
}

static bool no_rail(struct dlcp_conn *c, u32 k)
{
	return k;
}

/* What the host has no route to is not asked; who has no rails asks nobody */
static void rails__refused(void)
{
	struct dlcp_conn_ops ops;
	struct sim *s = start(1);

	ops = *s->ep[0].cfg.ops;
	ops.rail = no_rail;
	sim_rails(s, 2);
	s->ep[0].cfg.ops = &ops;
	s->ep[0].cfg.nr_paths = 3;
	sim_up(s);
	transfer(s, MBYTE);
	SIM_CHECK(s, s->ep[0].c.rail.table[0].state == DLCP_RAIL_REFUSED);
	SIM_CHECK(s, !s->rail[0][0].packets && s->ep[0].c.rail.nr_pairs == 2);
	end(s);

	s = start(2);
	sim_rails(s, 2);
	s->ep[1].cfg.rails = NULL;
	sim_up(s);
	transfer(s, MBYTE);
	SIM_CHECK(s, !s->ep[1].c.rail.table && s->ep[0].c.rail.nr_pairs == 1);
	end(s);
}

TESTS(T(rails__sum), T(rails__one_dies_and_returns), T(rails__lossy),
      T(rails__unequal), T(rails__refused), T(stranger__gets_questions_only),
      T(stranger__guesses), T(stranger__is_named_again))
