// SPDX-License-Identifier: GPL-2.0
/* A peer that is there, and takes no data, or less than comes. */
#include "test_conn.h"

/* What ep[1] refuses, as a hostile or starved host would */
struct refusal {
	bool	data;		/* all of it */
	bool	unread;		/* what nobody reads, beyond */
	u32	least;		/* so many bytes */
	u32	msgs;		/* that of so many messages, the first ones */
	u64	rate;		/* what is beyond so many bytes per second; 0 = none */
	bool	told;		/* the engine knows of that */
	u64	room;		/* bytes it takes now */
	u64	since;
	u64	refused;	/* packets */
	bool	lies;		/* says each time that there is room */
};

/* As the module's forced minimum */
static bool no_minimum(struct sim *s, const struct refusal *r, u32 msg)
{
	const struct dlcp_rxmsg *m = dlcp_conn_rx_find(&s->ep[1].c, msg);

	return r->unread && m && !m->reader &&
	       m->received - m->consumed >= r->least;
}

/* One more packet of @len at the rate of @r? Room for 64 kB is kept. */
static bool has_room(struct sim *s, struct refusal *r, u32 len)
{
	r->room += (s->now - r->since) * r->rate / SIM_S;
	r->room = min_t(u64, r->room, 65536);
	r->since = s->now;
	if (r->room < len)
		return false;
	r->room -= len;
	return true;
}

/* Without a word of what was refused */
static void say_room(struct sim_ep *e, u32 msg)
{
	struct dlcp_rxmsg *m = dlcp_conn_rx_find(&e->c, msg);

	if (m)
		m->denied = 1;
	e->c.credit.denied = 1;
	e->c.credit.denied_msg = msg;
	dlcp_conn_rx_room(&e->c);
	sim_kick(e);
}

static bool refuse(struct sim *s, struct sim_pkt *k)
{
	struct refusal *r = s->arg;
	struct dlcp_data d;
	struct dlcp_hdr h;

	if (k->to != 1 || dlcp_get_hdr(k->p, k->len, &h) ||
	    h.type != DLCP_PT_DATA ||
	    dlcp_get_data(k->p, k->len, k->len, &h, &d) < 0)
		return true;
	if (!r->data && d.msg >= r->msgs && !no_minimum(s, r, d.msg) &&
	    (!r->rate || has_room(s, r, k->len)))
		return true;
	r->refused++;
	if (r->told)
		dlcp_conn_rx_refused(&s->ep[1].c, h.path, d.msg, 1);
	if (r->lies)
		say_room(&s->ep[1], d.msg);
	return false;
}

static struct sim *start_refusing(u64 seed, struct refusal *r)
{
	struct sim *s = start(seed);

	s->meddle = refuse;
	s->arg = r;
	return s;
}

/* It answers all probes: that is no sign of life for ever */
static void refused__all_is_an_error(void)
{
	struct sim_attr a = { .length = 10000000 };
	u32 paths;

	for (paths = 1; paths <= 4; paths += 3) {
		struct refusal r = { .data = true };
		struct sim *s = start_refusing(paths, &r);

		s->ep[0].cfg.nr_paths = (u8)paths;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_run(s, 9 * SIM_S);
		SIM_CHECK(s, !s->ep[0].error);
		sim_run(s, 2 * SIM_S);
		FIGURE("%u paths: %llu packets in vain", paths,
		       (unsigned long long)r.refused);
		SIM_CHECK(s, s->ep[0].error == ETIMEDOUT);
		SIM_CHECK(s, s->ep[1].error == ECONNRESET);
		SIM_CHECK(s, r.refused < 1000);
		sim_free(s);
	}
}

/* One segment taken, and all is as before */
static void refused__until_it_is_taken(void)
{
	struct sim_attr a = { .length = 1000000 };
	struct refusal r = { .data = true };
	struct sim *s = start_refusing(3, &r);
	u64 since;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 5 * SIM_S);
	r.data = false;
	since = s->now;
	sim_finish(s, 5 * SIM_S);
	FIGURE("taken up after %llu ms",
	       (unsigned long long)((s->now - since) / SIM_MS));
	SIM_CHECK(s, s->now - since < 1200 * SIM_MS);
	end(s);
}

/* No message waits for another, even if it is the most urgent one */
static void refused__others_get_through(void)
{
	struct refusal r = { .msgs = 1 };
	struct sim *s = start_refusing(4, &r);
	struct sim_msg *m;
	u32 i;

	sim_up(s);
	for (i = 0; i < 5; i++) {
		struct sim_attr a = {
			.length = i ? 100000 : 1000000,
			.prio = i ? DLCP_PRIO_MAX : 0,
		};

		m = sim_send(&s->ep[0], &a);
		sim_run(s, i ? SIM_S : 3 * SIM_S);
	}
	sim_run(s, 3 * SIM_S);
	for (i = 1; i < 5; i++)
		SIM_CHECK(s, s->ep[0].msgs[i]->done);
	SIM_CHECK(s, m->done && !s->ep[0].msgs[0]->done);
	r.msgs = 0;
	sim_finish(s, 2 * SIM_S);
	end(s);
}

/* ... and not for long: the host of a reader has no memory for @nr messages that
 * nobody reads. Return: ns that 3 MB beside them take
 */
static u64 time_beside(u32 nr)
{
	struct sim_attr unread = { .length = 60000 }, read = { .length = 3000000 };
	struct refusal r = { .msgs = nr, .told = true };
	struct sim *s = start_refusing(8, &r);
	struct sim_msg *m;
	u64 since;
	u32 i;

	sim_up(s);
	for (i = 0; i < nr; i++)
		sim_send(&s->ep[0], &unread);
	sim_run(s, 100 * SIM_MS);
	since = s->now;
	m = sim_send(&s->ep[0], &read);
	while (!m->done && s->now - since < 20 * SIM_S)
		sim_run(s, SIM_MS);
	since = s->now - since;
	FIGURE("beside %u: %llu ms", nr, (unsigned long long)(since / SIM_MS));
	SIM_CHECK(s, m->done);
	r.msgs = 0;
	sim_finish(s, 2 * SIM_S);
	end(s);
	return since;
}

/* The losses have made the window small, and it grows again: that is the factor */
static void refused__costs_others_little(void)
{
	u64 alone = time_beside(0);

	SIM_CHECK(&sim, time_beside(1) < 8 * alone);
	SIM_CHECK(&sim, time_beside(5) < 8 * alone);
}

/* Nothing of a message has to arrive: what is lost costs no pause */
static void refused__what_may_be_lost(void)
{
	struct sim_attr a = { .length = 3000000, .ppm = 1000000 };
	struct refusal r = { .data = true };
	struct sim *s = start_refusing(5, &r);

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 5 * SIM_S);
	end(s);
}

/*
 * A host that takes a fifth of what the link brings: refusing must not pass for
 * a link that loses packets by itself.
 */
static u64 resent_share(u64 seed, bool told)
{
	struct refusal r = { .rate = 1000000000 / 5, .told = told };
	struct sim_attr a = { .length = 20000000 };
	struct sim *s = start_refusing(seed, &r);
	u64 share;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 20 * SIM_S);
	share = s->ep[0].c.cnt[DLCP_CNT_TX_RESENT] * 1000 / a.length;
	FIGURE("told %d: %llu per mille sent again, room told %llu times of %llu, %llu ms",
	       told, (unsigned long long)share,
	       (unsigned long long)s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES],
	       (unsigned long long)r.refused,
	       (unsigned long long)(s->now / SIM_MS - 1000));
	/* What is taken tells by its ACK that there is room */
	SIM_CHECK(s, s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES] <= r.refused / 100);
	end(s);
	return share;
}

static void refused__for_memory(void)
{
	SIM_CHECK(&sim, resent_share(6, true) < resent_share(6, false));
}

/* A host where nobody reads says that it has no memory for more: it is alive */
static void refused__for_memory_is_waited_for(void)
{
	struct sim_attr a = { .length = 1000000 };
	struct refusal r = { .data = true, .told = true };
	struct sim *s = start_refusing(7, &r);

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, 40 * SIM_S);
	FIGURE("%llu packets in vain in 40 s", (unsigned long long)r.refused);
	SIM_CHECK(s, !s->ep[0].error && r.refused < 1000);
	/* nor is that the path's doing: segments keep their size */
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_MTU_HOLES]);
	r.data = false;
	sim_finish(s, 5 * SIM_S);
	end(s);
}

/* Two messages that come without credit, of which the last segment is refused, or (@all) each,
 * until their readers come, the first one after so long. Return: ns that it takes then
 */
static u64 since_reader(u64 after, bool all)
{
	struct sim_attr a = { .length = 67000, .read = SIM_READ_NEVER };
	struct refusal r = { .unread = true, .least = all ? 0 : 65536, .told = true };
	struct sim *s = start_refusing(9, &r);
	struct sim_msg *m[2];
	u64 since, took;
	u32 i;

	sim_up(s);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		m[i] = sim_send(&s->ep[0], &a);
	sim_run(s, after);
	SIM_CHECK(s, r.refused && !s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES]);
	since = s->now;
	sim_read(&s->ep[1], m[1], SIM_READ_NOW);
	while (!m[1]->done && s->now - since < 5 * SIM_S)
		sim_step(s, s->now + SIM_MS);
	took = s->now - since;
	SIM_CHECK(s, m[1]->done);
	sim_read(&s->ep[1], m[0], SIM_READ_NOW);
	sim_finish(s, 5 * SIM_S);
	SIM_CHECK(s, s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES] <= r.refused);
	end(s);
	return took;
}

/* What is refused until its reader comes is sent then, and not when its sender tries
 * again, who rests for up to a second by then. A round trip takes 100 us; where all is
 * sent again its rate is low at first.
 */
static void refused__a_reader_comes(void)
{
	u64 after, one = 0, all = 0;

	for (after = 5 * SIM_MS; after < 10 * SIM_S; after += after / 3) {
		one = max(one, since_reader(after, false));
		all = max(all, since_reader(after, true));
	}
	FIGURE("a segment at most %llu us after its reader came, a message %llu",
	       (unsigned long long)(one / SIM_US),
	       (unsigned long long)(all / SIM_US));
	SIM_CHECK(&sim, one < 200 * SIM_US && all < 50 * SIM_MS);
}

/* A reader that is there is slow: once it has taken something away */
static void refused__what_is_taken_away(void)
{
	struct sim_attr a = { .length = 67000, .read = SIM_READ_NEVER };
	struct refusal r = { .unread = true, .least = 65536, .told = true };
	struct sim *s = start_refusing(9, &r);
	struct dlcp_conn *c = &s->ep[1].c;
	struct dlcp_rxmsg *m;
	u32 i;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_run(s, SIM_S);
	m = dlcp_conn_rx_find(c, 0);
	for (i = 1; i <= 2; i++) {
		dlcp_conn_reader(c, m, true);
		SIM_CHECK(s, c->cnt[DLCP_CNT_ROOM_UPDATES] == 2 * i - 1);
		dlcp_conn_rx_refused(c, 0, 0, 1);
		dlcp_conn_consume(c, m, 0);
		SIM_CHECK(s, c->cnt[DLCP_CNT_ROOM_UPDATES] == 2 * i - 1);
		dlcp_conn_consume(c, m, 1448);
		dlcp_conn_consume(c, m, 1448);
		SIM_CHECK(s, c->cnt[DLCP_CNT_ROOM_UPDATES] == 2 * i);
		dlcp_conn_rx_refused(c, 0, 0, 1);
		dlcp_conn_reader(c, m, false);
	}
	sim_read(&s->ep[1], s->ep[0].msgs[0], SIM_READ_NOW);
	sim_finish(s, SIM_S);
	end(s);
}

/* Of a message of which nothing is known here, too */
static void refused__room_again(void)
{
	struct sim_attr a = { .length = 10000 };
	u32 known;

	for (known = 0; known < 2; known++) {
		struct refusal r = { .data = true, .told = true };
		struct sim *s = start_refusing(10, &r);
		u64 since;

		a.length = known ? 1000000 : 10000;
		sim_up(s);
		sim_send(&s->ep[0], &a);
		sim_run(s, 10 * SIM_S);
		SIM_CHECK(s, !!dlcp_conn_rx_find(&s->ep[1].c, 0) == known);
		r.data = false;
		since = s->now;
		dlcp_conn_rx_room(&s->ep[1].c);
		sim_kick(&s->ep[1]);
		sim_finish(s, 5 * SIM_S);
		FIGURE("%u bytes: %llu us after there was room", (u32)a.length,
		       (unsigned long long)((s->now - since) / SIM_US));
		SIM_CHECK(s, s->now - since < 20 * SIM_MS);
		SIM_CHECK(s, s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES] == 1);
		end(s);
	}
}

/* A peer that says so and takes nothing costs a packet for each of its own, and is given
 * up as one that says nothing is
 */
static void refused__room_that_is_none(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct refusal r = { .data = true, .lies = true };
	struct sim *s = start_refusing(11, &r);
	const struct dlcp_conn *c = &s->ep[0].c;

	sim_up(s);
	sim_send(&s->ep[0], &a);
	while (!s->ep[0].error && s->now < 60 * SIM_S)
		sim_step(s, s->now + SIM_S);
	FIGURE("%llu packets in vain, %llu times told, error %d",
	       (unsigned long long)r.refused,
	       (unsigned long long)s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES],
	       s->ep[0].error);
	SIM_CHECK(s, s->ep[0].error == ETIMEDOUT && s->now < 13 * SIM_S);
	SIM_CHECK(s, r.refused < s->ep[1].c.cnt[DLCP_CNT_ROOM_UPDATES] + 1000);
	SIM_CHECK(s, c->cnt[DLCP_CNT_TX_PACKETS] <
		  3 * s->ep[1].c.cnt[DLCP_CNT_TX_PACKETS] + 1000);
	sim_free(s);
}

TESTS(T(refused__a_reader_comes), T(refused__what_is_taken_away), T(refused__room_again),
      T(refused__room_that_is_none), T(refused__all_is_an_error), T(refused__until_it_is_taken),
      T(refused__others_get_through), T(refused__costs_others_little),
      T(refused__what_may_be_lost),
      T(refused__for_memory), T(refused__for_memory_is_waited_for))
