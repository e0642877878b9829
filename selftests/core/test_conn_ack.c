// SPDX-License-Identifier: GPL-2.0
/* Which packets are acknowledged at once, which ACKs wait for more, and what control
 * packets a message costs.
 */
#include "test_conn.h"
#include "conn_int.h"

#define MESSAGES	60
#define INTERVAL	(10 * SIM_US)

/* Messages as in @a one by one. Return: ACKs of them; *most: ns, until the
 * sender knew at the latest
 */
static u32 acks(struct sim *s, const struct sim_attr *a, u64 *most)
{
	u64 before = s->ep[1].c.cnt[DLCP_CNT_ACKS_SENT];
	struct sim_msg *m[MESSAGES];
	u32 i;

	for (i = 0; i < MESSAGES; i++) {
		m[i] = sim_send(&s->ep[0], a);
		sim_run(s, INTERVAL);
	}
	sim_finish(s, SIM_S);
	*most = 0;
	for (i = 0; i < MESSAGES; i++)
		*most = max(*most, m[i]->done_at - m[i]->sent_at);
	return (u32)(s->ep[1].c.cnt[DLCP_CNT_ACKS_SENT] - before);
}

/* The ACK waits for its delay at most, and tells of all that came meanwhile */
static void ack__small_messages_share_one(void)
{
	struct sim_attr a = { .length = 2000 };
	struct sim *s = start(1);
	u64 most;
	u32 nr;

	sim_up(s);
	nr = acks(s, &a, &most);
	FIGURE("%u messages, one each %u us: %u ACKs, known after %llu us",
	       MESSAGES, (u32)(INTERVAL / SIM_US), nr,
	       (unsigned long long)(most / SIM_US));
	SIM_CHECK(s, nr < MESSAGES / 3);
	SIM_CHECK(s, most < 50 * SIM_US + s->ep[1].cfg.ack_delay_ns +
			    10 * SIM_US);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_PROBES]);
	end(s);
}

/* Somebody waits for the end of each */
static void ack__awaited_messages_have_their_own(void)
{
	struct sim_attr a = { .length = 2000, .awaited = true };
	struct sim *s = start(1);
	u64 most;

	sim_up(s);
	SIM_CHECK(s, acks(s, &a, &most) == MESSAGES);
	SIM_CHECK(s, most < 60 * SIM_US);
	end(s);
}

/* The end of a large one makes room for what the sender has still to copy */
static void ack__large_messages_have_their_own(void)
{
	struct sim_attr a = { .length = (DLCP_INLINE_SEGS + 1) * 1472 };
	struct sim *s = start(1);
	u64 most;

	sim_up(s);
	SIM_CHECK(s, acks(s, &a, &most) >= MESSAGES);
	end(s);
}

/* Where packets got lost of late the ACK tells what is to be sent again */
static void ack__at_once_after_a_loss(void)
{
	struct sim_attr a = { .length = 2000 };
	struct sim *s = start(1);
	u64 most;

	sim_up(s);
	dlcp_path_record(&s->ep[0].c.paths[0], true);
	/* Each that arrives makes it a little longer ago */
	SIM_CHECK(s, acks(s, &a, &most) > MESSAGES / 2);
	end(s);
}

/* As long as an ACK waits, and nothing else is due, there is nothing to be asked */
static void ack__nothing_is_due_meanwhile(void)
{
	struct sim_attr a = { .length = 2000 };
	struct dlcp_conn *tx, *rx;
	struct sim *s = start(1);
	u64 t;

	sim_up(s);
	tx = &s->ep[0].c;
	rx = &s->ep[1].c;
	sim_send(&s->ep[0], &a);
	sim_run(s, 40 * SIM_US);
	t = dlcp_conn_ack_time(rx);
	SIM_CHECK(s, t > s->now);
	SIM_CHECK(s, dlcp_conn_idle(rx, s->now) && dlcp_conn_idle(tx, s->now));
	SIM_CHECK(s, dlcp_conn_idle(rx, t - 1) && !dlcp_conn_idle(rx, t));
	/* What waits for the window is due: pacing and window are looked at */
	tx->cong.cwnd = 0;
	sim_send(&s->ep[0], &a);
	SIM_CHECK(s, tx->sched.nr_ready && !dlcp_conn_idle(tx, s->now));
	sim_finish(s, SIM_S);
	SIM_CHECK(s, dlcp_conn_idle(tx, s->now));
	end(s);
}

static u32 frames[256];

static bool count_frames(struct sim *s, struct sim_pkt *k)
{
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_frame f;
	struct dlcp_hdr h;

	if (dlcp_get_hdr(k->p, k->len, &h) || h.type != DLCP_PT_CTRL)
		return true;
	while (dlcp_get_frame(k->p, k->len, &off, &f) == 1)
		frames[f.type]++;
	return true;
}

/* @nr messages of 40 segments one after the other, of @ppm, with @deadline_us */
static void announced(u32 nr, u32 ppm, u32 deadline_us, u64 allowance)
{
	struct sim_attr a = { .length = 40 * 1448, .ppm = ppm,
			      .deadline_us = deadline_us };
	struct sim *s = start(1);
	u32 i;

	s->ep[1].cfg.unsolicited = allowance;
	sim_up(s);
	s->ep[0].c.cong.cwnd = 100 * 1514;
	s->meddle = count_frames;
	memset(frames, 0, sizeof(frames));
	for (i = 0; i < nr; i++) {
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
	}
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_PROBES]);
	s->meddle = NULL;
	end(s);
}

/* What the allowance does for costs an OPEN and ACKs of its data */
static void open__needs_no_credit(void)
{
	announced(20, 0, 0, 256 << 10);
	CHECK_EQ(frames[DLCP_FT_OPEN], 20);
	CHECK_EQ(frames[DLCP_FT_CREDIT], 0);
	announced(20, 0, 0, 64 << 10);
	CHECK(frames[DLCP_FT_CREDIT] >= 20);
	/* The peer may have to be told long before it begins */
	announced(20, 0, 100000, 256 << 10);
	CHECK_EQ(frames[DLCP_FT_CREDIT], 20);
}

/* With a bound a message can be complete without what got lost, and not without OPEN */
static void open__again_of_a_message_with_a_bound(void)
{
	announced(20, 10000, 0, 256 << 10);
	CHECK(frames[DLCP_FT_OPEN] > 20);
}

/* An ACK of data that may be delayed is not due earlier because a message is announced */
static void open__leaves_the_timer_of_data(void)
{
	struct sim_attr small = { .length = 2000 };
	struct sim_attr large = { .length = 300 * 1448 };
	struct sim *s = start(1);
	struct dlcp_conn *c;
	u64 due;

	sim_up(s);
	c = &s->ep[0].c;
	sim_send(&s->ep[0], &small);
	SIM_CHECK(s, c->paths[0].data_out && !c->paths[0].prompt);
	due = dlcp_conn_next_timer(c);
	/* Room for an OPEN, and then not for a segment */
	c->cong.cwnd = c->inflight + 1600;
	c->pace.next = s->now;
	sim_send(&s->ep[0], &large);
	CHECK_EQ(c->ctrl.out, 1);
	SIM_CHECK(s, dlcp_conn_next_timer(c) >= due);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, !c->cnt[DLCP_CNT_PROBES]);
	end(s);
}

/* 100 Mbit/s over 40 ms, and 1 Mbit/s back: an ACK for each packet would be 7.6 */
static void ack__few_on_long_paths(void)
{
	struct sim_attr a = { .length = 10000000 };
	struct sim *s = start(3);
	u64 acks, data, begin;
	u32 k;

	for (k = 0; k < 2; k++) {
		s->link[k].delay = 20 * SIM_MS;
		s->link[k].rate = k ? 1000000 : 100000000;
		s->link[k].queue = k ? 10000 : 500000;
	}
	sim_up(s);
	sim_send(&s->ep[0], &a);
	sim_finish(s, 60 * SIM_S);
	acks = s->ep[1].c.cnt[DLCP_CNT_ACKS_SENT];
	data = s->ep[0].c.cnt[DLCP_CNT_TX_DATA];
	begin = s->now;
	sim_send(&s->ep[0], &a);
	sim_finish(s, 60 * SIM_S);
	acks = s->ep[1].c.cnt[DLCP_CNT_ACKS_SENT] - acks;
	data = s->ep[0].c.cnt[DLCP_CNT_TX_DATA] - data;
	FIGURE("10 MB, 100 Mbit/s and 1 back, 40 ms: %.2f s, an ACK for %.1f packets",
	       (double)(s->now - begin) / SIM_S, (double)data / acks);
	SIM_CHECK(s, acks < data / 5);
	SIM_CHECK(s, s->now - begin < 1000 * SIM_MS);
	end(s);
}

/* Messages of @length, one after the other, that are read at once. Return: packets
 * that the reader wants acknowledged
 */
static u32 reader_asks(u32 nr, u64 length)
{
	struct sim_attr a = { .length = length };
	struct sim *s = start(1);
	u32 before, i;

	sim_up(s);
	before = s->ep[1].c.paths[0].sent.head;
	for (i = 0; i < nr; i++) {
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
	}
	before = s->ep[1].c.paths[0].sent.head - before;
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_PROBES]);
	end(s);
	return before;
}

/* ACKs tell the limit of bytes: a packet of its own is for who may be short of it */
static void window__rides_on_acks(void)
{
	CHECK(reader_asks(64, 64 << 10) <= 64 / 2);
	CHECK(reader_asks(64, 4 << 10) <= 64 / 32);
}

/* So many messages of @bytes, each an answer to the one before. Return: datagrams */
static u32 turns(struct sim *s, u32 nr, u32 bytes)
{
	u64 before = s->link[0].packets + s->link[1].packets;
	struct sim_attr a = { .length = bytes };
	struct sim_msg *m;
	u32 i;

	for (i = 0; i < nr; i++) {
		m = sim_send(&s->ep[i % 2], &a);
		while (!m->rcvd)
			SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	}
	return (u32)(s->link[0].packets + s->link[1].packets - before);
}

/* An answer acknowledges what it answers, in the same datagram */
static void ack__answers_carry_it(void)
{
	struct sim *s = start(1);
	u32 nr;

	s->ep[0].strangers = SIM_READ_NOW;
	s->ep[1].strangers = SIM_READ_NOW;
	sim_up(s);
	nr = turns(s, MESSAGES, 64);
	FIGURE("%u messages of 64 bytes in turn: %u datagrams", MESSAGES, nr);
	SIM_CHECK(s, nr <= MESSAGES + MESSAGES / 10);
	/* There is no room in those for it */
	nr = turns(s, MESSAGES, 1400);
	SIM_CHECK(s, nr >= MESSAGES + MESSAGES / 2);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_PROBES] &&
		     !s->ep[1].c.cnt[DLCP_CNT_PROBES]);
	end(s);
}

/* Both are lost together, and neither is missed for long */
static void ack__carried_and_lost(void)
{
	struct sim *s = start(7);
	u64 from;

	s->ep[0].strangers = SIM_READ_NOW;
	s->ep[1].strangers = SIM_READ_NOW;
	sim_up(s);
	from = s->now;
	lossy(s, 100000);
	turns(s, 10 * MESSAGES, 64);
	FIGURE("%u messages of 64 bytes in turn, 10 %% lost: over in %llu ms",
	       10 * MESSAGES, (unsigned long long)((s->now - from) / SIM_MS));
	/* 25 us for each, and less than a millisecond for each of 60 losses */
	SIM_CHECK(s, s->now - from < 75 * SIM_MS);
	lossy(s, 0);
	sim_finish(s, SIM_S);
	end(s);
}

/* Nothing of a kind that the network may drop first, or behind data on its way */
static void ack__not_behind_data(void)
{
	struct sim_attr a = { .length = 10000 }, b = { .length = 64 };
	struct sim *s = start(1);
	struct sim_msg *m;

	sim_up(s);
	s->link[1].data_delay = 10 * SIM_MS;
	sim_send(&s->ep[1], &a);
	sim_run(s, 100 * SIM_US);
	m = sim_send(&s->ep[0], &b);
	sim_run(s, 60 * SIM_US);
	sim_send(&s->ep[1], &b);
	sim_run(s, SIM_MS);
	SIM_CHECK(s, m->done && !s->ep[0].c.cnt[DLCP_CNT_PROBES]);
	sim_finish(s, SIM_S);
	end(s);
}

TESTS(T(ack__answers_carry_it), T(ack__carried_and_lost), T(ack__not_behind_data),
      T(open__leaves_the_timer_of_data), T(ack__small_messages_share_one), T(ack__awaited_messages_have_their_own),
      T(ack__few_on_long_paths),
      T(ack__large_messages_have_their_own), T(ack__at_once_after_a_loss),
      T(ack__nothing_is_due_meanwhile), T(open__needs_no_credit),
      T(open__again_of_a_message_with_a_bound),
      T(window__rides_on_acks))
