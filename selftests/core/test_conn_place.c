// SPDX-License-Identifier: GPL-2.0
/*
 * Networks that translate addresses and ports, let nothing in but answers, or
 * forget: where packets go, and who can make them go elsewhere.
 */
#include "test_conn.h"

enum { HERE = 7, THERE = 8, BEYOND = 9 };	/* places of the first */

static struct sim *up(u64 seed, u8 paths)
{
	struct sim *s = start(seed);

	s->ep[0].cfg.nr_paths = paths;
	s->ep[1].cfg.nr_paths = paths;
	s->ep[0].at = HERE;
	s->ep[1].peer_at = HERE;
	s->ep[1].dest = HERE;
	sim_up(s);
	sim_run(s, 2 * SIM_MS);
	return s;
}

static struct sim_msg *transfer(struct sim *s, u32 from, u64 length)
{
	struct sim_attr a = { .length = length };
	struct sim_msg *m = sim_send(&s->ep[from], &a);

	sim_finish(s, 20 * SIM_S);
	return m;
}

static u32 nr_home(const struct sim *s, u32 n)
{
	const struct dlcp_conn *c = &s->ep[n].c;
	u32 i, nr = 0;

	for (i = 0; i < c->cfg.nr_paths; i++)
		nr += c->paths[i].home;
	return nr;
}

/* Where every port gets through, each path has its own */
static void ports__own(void)
{
	struct sim *s = up(1, 4);

	transfer(s, 0, 1000000);
	transfer(s, 1, 1000000);
	SIM_CHECK(s, !nr_home(s, 0) && !nr_home(s, 1));
	end(s);
}

/* The first of them lies on a way that is broken */
static void ports__first_is_lost(void)
{
	struct sim *s = start(1);

	s->link[0].shut = true;
	sim_up(s);
	sim_run(s, 4 * SIM_MS);
	s->link[0].shut = false;
	SIM_CHECK(s, nr_home(s, 0) == 1 && !nr_home(s, 1));
	sim_run(s, 50 * SIM_MS);
	SIM_CHECK(s, !nr_home(s, 0));
	end(s);
}

/* A firewall, either way or both: nothing is lost and nothing waits */
static void ports__shut(void)
{
	struct sim_msg *m;
	u32 i, k, paths;
	struct sim *s;

	for (i = 1; i < 4; i++)
		for (paths = 1; paths <= 16; paths += 15) {
			s = start(i);
			for (k = 0; k < 2; k++) {
				s->link[k].shut = i & (k + 1);
				s->ep[k].cfg.nr_paths = (u8)paths;
			}
			sim_up(s);
			for (k = 0; k < 2; k++) {
				m = transfer(s, k, 10000000);
				SIM_CHECK(s, m->rcvd_at - m->sent_at <
					  12 * SIM_MS);
			}
			sim_run(s, 20 * SIM_S);
			for (k = 0; k < 2; k++) {
				struct dlcp_conn *c = &s->ep[k].c;

				SIM_CHECK(s, nr_home(s, k) ==
					  (s->link[k].shut ? paths : 0));
				SIM_CHECK(s, !c->cnt[DLCP_CNT_TX_RESENT]);
				/* It does not ask for ever */
				SIM_CHECK(s, dlcp_conn_next_timer(c) ==
					  U64_MAX);
			}
			end(s);
		}
}

/* A firewall that begins to stand there in the middle of a message */
static void ports__shut_later(void)
{
	struct sim_attr a = { .length = 20000000 };
	struct sim_msg *m;
	u32 paths;

	for (paths = 1; paths <= 4; paths += 3) {
		struct sim *s = up(paths, (u8)paths);

		m = sim_send(&s->ep[0], &a);
		sim_run(s, 2 * SIM_MS);
		s->link[0].shut = true;
		s->link[1].shut = true;
		sim_finish(s, SIM_S);
		FIGURE("%u paths: 20 MB took %.1f ms", paths,
		       (m->rcvd_at - m->sent_at) / 1e6);
		SIM_CHECK(s, m->rcvd_at - m->sent_at < 200 * SIM_MS);
		end(s);
	}
}

/* Ports are dealt out to several hosts, and the others know no such connection */
static void ports__astray(void)
{
	u32 paths;

	for (paths = 1; paths <= 16; paths += 15) {
		struct sim *s = start(paths);

		s->ep[0].cfg.nr_paths = (u8)paths;
		s->link[0].astray = true;
		sim_up(s);
		transfer(s, 0, 10000000);
		transfer(s, 1, 10000000);
		SIM_CHECK(s, nr_home(s, 0) == paths);
		SIM_CHECK(s, !s->ep[0].error);
		end(s);

		/* Only from now on */
		s = up(paths, (u8)paths);
		transfer(s, 0, 10000000);
		s->link[0].astray = true;
		transfer(s, 0, 10000000);
		SIM_CHECK(s, nr_home(s, 0) == paths);
		end(s);
	}
}

/* The peer is seen at another port, or address, and no longer where it was */
static void moves(bool far, bool sends, u8 paths)
{
	struct sim_attr a = { .length = 20000000 };
	struct sim *s = up(1 + far, paths);
	struct sim_msg *m;

	s->ep[1].far = far;
	s->link[0].shut = true;
	m = sim_send(&s->ep[!sends], &a);
	sim_run(s, 4 * SIM_MS);
	SIM_CHECK(s, !m->rcvd);
	s->ep[0].at = THERE;
	/* Who only receives has to say something for himself */
	if (!sends)
		sim_send(&s->ep[0], &a);
	sim_finish(s, 10 * SIM_S);
	FIGURE("%s, %s, %u paths: 20 MB took %.1f ms", far ? "address" : "port",
	       sends ? "sender" : "receiver", paths,
	       (m->rcvd_at - m->sent_at) / 1e6);
	SIM_CHECK(s, s->ep[1].peer_at == THERE);
	SIM_CHECK(s, s->ep[1].moves == 1);
	SIM_CHECK(s, !s->ep[0].moves);
	SIM_CHECK(s, m->rcvd_at - m->sent_at < 500 * SIM_MS);
	end(s);
}

static void place__moves(void)
{
	u32 i;

	for (i = 0; i < 8; i++)
		moves(i & 1, i & 2, i & 4 ? 4 : 1);
}

/* Does the second look at that place, or has it moved there? */
static bool looks(const struct sim_ep *e, u16 at)
{
	return e->peer_at == at ||
	       (e->c.place.move && e->c.place.move->to.port == at);
}

static bool moved(const struct sim_ep *e, u16 at)
{
	return e->peer_at == at;
}

static void wait_until(struct sim *s, bool (*it)(const struct sim_ep *e, u16 at),
		       u16 at)
{
	u64 end = s->now + SIM_S;

	while (!it(&s->ep[1], at) && s->now < end)
		sim_run(s, 10 * SIM_US);
	SIM_CHECK(s, it(&s->ep[1], at));
}

/* A translator that forgets again: before the place has answered, or just after
 * the connection has moved there. Neither costs a second.
 */
static void moves_twice(bool proven, u8 paths)
{
	struct sim_attr a = { .length = 40000000 };
	struct sim *s = up(3 + proven, paths);
	struct sim_msg *m = sim_send(&s->ep[0], &a);

	sim_run(s, 4 * SIM_MS);
	s->ep[0].at = THERE;
	wait_until(s, proven ? moved : looks, THERE);
	s->ep[0].at = BEYOND;
	sim_finish(s, 10 * SIM_S);
	FIGURE("%s, %u paths: 40 MB took %.1f ms", proven ? "moved" : "seen", paths,
	       (m->rcvd_at - m->sent_at) / 1e6);
	SIM_CHECK(s, s->ep[1].peer_at == BEYOND);
	SIM_CHECK(s, s->ep[1].moves == 1U + proven);
	SIM_CHECK(s, m->rcvd_at - m->sent_at < 200 * SIM_MS);
	end(s);
}

static void place__moves_twice(void)
{
	moves_twice(false, 1);
	moves_twice(false, 16);
	moves_twice(true, 1);
	moves_twice(true, 16);
}

/* A packet to the second, that says it is from @from; @pn: on path 15 */
static void forge(struct sim *s, u16 from, u32 pn)
{
	struct dlcp_frame f = { .type = DLCP_FT_PAD };
	u16 at = s->ep[0].at;
	u8 pkt[64];
	u32 len;

	len = dlcp_put_ctrl(pkt, s->ep[1].cfg.local_tag,
			    DLCP_F_ELICIT | DLCP_F_HERE, 15, pn);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	s->tainted = true;
	s->ep[0].at = from;
	sim_inject(s, 1, pkt, len, false, s->now);
	s->ep[0].at = at;
	sim_step(s, s->now);
}

/* Who knows the tags, and repeats or makes up packets from a place of his own, or from
 * two: there go questions, fewer than packets came, and the connection stays
 */
static void stays(u16 second)
{
	struct sim *s = up(1, 1);
	u32 i;

	for (i = 0; i < 1000; i++) {
		forge(s, i & 1 ? second : THERE, i);
		sim_run(s, 100 * SIM_US);
	}
	FIGURE("%u questions for 1000 packets", s->ep[1].asks);
	SIM_CHECK(s, s->ep[1].asks && s->ep[1].asks < 10);
	SIM_CHECK(s, !s->ep[1].moves);
	SIM_CHECK(s, s->ep[1].peer_at == HERE);
	/* The same again, and old ones: not even that */
	sim_run(s, 5 * SIM_S);
	s->ep[1].asks = 0;
	for (i = 0; i < 1000; i++)
		forge(s, THERE, i);
	sim_run(s, SIM_S);
	SIM_CHECK(s, !s->ep[1].asks && !s->ep[1].c.place.move);
	transfer(s, 1, 1000000);
	sim_free(s);
}

static void place__stays(void)
{
	stays(THERE);
	stays(BEYOND);
}

/* The peer is silent, and nobody answers at the place that is named, or says
 * something else: each packet pays for one question at most
 */
static void place__is_not_proven(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_ANSWER };
	struct sim *s = up(1, 1);
	u8 pkt[64];
	u32 i, len;

	s->ep[0].mute = true;
	for (i = 0; i < 3; i++)
		forge(s, THERE, i);
	for (i = 0; i < 1000; i++) {
		f.token.token = s->ep[1].c.place.move->token[DLCP_TO_MOVED] ^ (i + 1);
		len = dlcp_put_ctrl(pkt, s->ep[1].cfg.local_tag, DLCP_F_HERE, 0,
				    0);
		len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
		sim_inject(s, 1, pkt, len, false, s->now);
		sim_step(s, s->now);
	}
	sim_run(s, 5 * SIM_S);
	SIM_CHECK(s, s->ep[1].asks == 3);
	SIM_CHECK(s, !s->ep[1].moves && !s->ep[1].c.place.move);
	SIM_CHECK(s, s->ep[1].peer_at == HERE);
	sim_free(s);
}

/* The peer is at both: it is left where it is known to be */
static void place__both(void)
{
	struct sim *s = up(1, 1);
	u32 i;

	for (i = 0; i < 20; i++) {
		forge(s, THERE, i);
		sim_run(s, 100 * SIM_US);
	}
	sim_run(s, SIM_S);
	SIM_CHECK(s, !s->ep[1].moves);
	transfer(s, 1, 1000000);
	sim_free(s);
}

TESTS(T(ports__own), T(ports__first_is_lost), T(ports__shut),
      T(ports__shut_later), T(ports__astray), T(place__moves), T(place__moves_twice),
      T(place__stays), T(place__is_not_proven), T(place__both))
