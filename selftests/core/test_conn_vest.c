// SPDX-License-Identifier: GPL-2.0
/*
 * A message is complete within its bound a short silence after all of it was sent
 * once. The first part injects packets, the second looks at what two engines
 * send each other.
 */
#include "budget.h"
#include "conn_int.h"
#include "test_conn.h"

/* ---- one engine, ep[1] ---- */

#define SEG	1000
#define NR	20
#define WAIT	(1 * SIM_MS)

static enum dlcp_verdict open_as(struct sim *s, u32 msg, u32 ppm, u64 wait)
{
	return take_open_as(s, msg, (struct dlcp_open) {
		.length = NR * SEG, .seg_size = SEG, .loss_ppm = ppm,
		.wait = dlcp_wait_code(wait) });
}

static enum dlcp_verdict sent_as(struct sim *s, u32 msg, u32 wait)
{
	struct dlcp_frame f = {
		.type = DLCP_FT_SENT,
		.sent = { .msg = msg, .wait = wait },
	};

	return take_frame(s, &f);
}

/* All of @msg but segment 5; the last one says that all was sent */
static void all_but_one(struct sim *s, u32 msg)
{
	u32 i;

	for (i = 0; i < NR; i++)
		if (i != 5)
			SIM_CHECK(s, take_data_as(s, msg, i, SEG, i == NR - 1 ?
						  DLCP_F_SENT : 0) == DLCP_OK);
	sim_kick(&s->ep[1]);
}

static const struct dlcp_rxmsg *rx(struct sim *s, u32 msg)
{
	return dlcp_conn_rx_find(&s->ep[1].c, msg);
}

static void vest__after_the_silence(void)
{
	struct sim *s = receiver();
	u64 wait = dlcp_wait_ns(dlcp_wait_code(WAIT));

	SIM_CHECK(s, open_as(s, 0, 50000, WAIT) == DLCP_OK);
	all_but_one(s, 0);
	sim_run(s, wait - SIM_US);
	SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, 0)));
	sim_run(s, 2 * SIM_US);
	SIM_CHECK(s, dlcp_rxmsg_complete(rx(s, 0)) && rx(s, 0)->nr_missing == 1);
	SIM_CHECK(s, rx(s, 0)->why == DLCP_WHY_FORGIVEN);
	SIM_CHECK(s, s->ep[1].c.cnt[DLCP_CNT_RX_SILENCE] == 1);
	sim_free(s);
}

/* Whatever comes of it begins the silence anew; repeats do not */
static void vest__something_new_is_no_silence(void)
{
	struct sim *s = receiver();

	SIM_CHECK(s, open_as(s, 0, 100000, WAIT) == DLCP_OK);
	SIM_CHECK(s, take_data_as(s, 0, NR - 1, SEG, DLCP_F_SENT) == DLCP_OK);
	SIM_CHECK(s, take_data(s, 0, 0, SEG) == DLCP_OK);
	sim_run(s, 3 * WAIT);
	for (u32 i = 3; i < NR - 1; i++) {
		SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, 0)));
		SIM_CHECK(s, take_data(s, 0, i, SEG) == DLCP_OK);
		sim_kick(&s->ep[1]);
		sim_run(s, WAIT * 3 / 4);
	}
	/* Two of twenty are missing now, and are the bound */
	SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, 0)));
	SIM_CHECK(s, take_data(s, 0, 3, SEG) == DLCP_DUP);
	sim_run(s, WAIT / 2);
	SIM_CHECK(s, dlcp_rxmsg_complete(rx(s, 0)) && rx(s, 0)->nr_missing == 2);
	sim_free(s);
}

/* Nothing else makes it complete: neither more than the bound, nor a critical
 * segment, nor silence alone
 */
static void vest__not_beyond_the_bound(void)
{
	struct dlcp_frame f = {
		.type = DLCP_FT_OPEN,
		.open = {
			.msg = 2,
			.open = { .length = NR * SEG, .seg_size = SEG,
				  .elem_size = 1, .loss_ppm = 500000,
				  .nr_critical = 1,
				  .wait = dlcp_wait_code(WAIT) },
		},
	};
	struct sim *s = receiver();
	u32 i;

	SIM_CHECK(s, open_as(s, 0, 49999, WAIT) == DLCP_OK);
	all_but_one(s, 0);
	SIM_CHECK(s, open_as(s, 1, 50000, WAIT) == DLCP_OK);
	for (i = 1; i < NR; i++)
		SIM_CHECK(s, take_data(s, 1, i, SEG) == DLCP_OK);
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	all_but_one(s, 2);
	/* Without a silence to go by, as before the first round trip */
	SIM_CHECK(s, open_as(s, 3, 50000, 0) == DLCP_OK);
	all_but_one(s, 3);
	SIM_CHECK(s, sent_as(s, 3, 0) == DLCP_OK);
	sim_run(s, 100 * WAIT);
	for (i = 0; i < 4; i++)
		SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, i)));
	/* The segment that was missing, and SENT, end it */
	SIM_CHECK(s, take_data(s, 0, 5, SEG) == DLCP_OK);
	SIM_CHECK(s, sent_as(s, 1, WAIT) == DLCP_OK);
	SIM_CHECK(s, sent_as(s, 3, WAIT) == DLCP_OK);
	sim_run(s, 2 * WAIT);
	SIM_CHECK(s, !rx(s, 0) && dlcp_rxmsg_complete(rx(s, 1)) &&
		  dlcp_rxmsg_complete(rx(s, 3)));
	SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, 2)));
	sim_free(s);
}

/* A message that is over needs no SENT, and answers none: not with a DONE */
static void vest__finished_is_silent(void)
{
	struct sim *s = receiver();
	struct dlcp_conn *c = &s->ep[1].c;
	u64 packets;
	u32 i;

	SIM_CHECK(s, open_as(s, 0, 50000, WAIT) == DLCP_OK);
	for (i = 0; i < NR; i++)
		SIM_CHECK(s, take_data(s, 0, i, SEG) == DLCP_OK);
	SIM_CHECK(s, open_as(s, 1, 50000, WAIT) == DLCP_OK);
	all_but_one(s, 1);
	sim_run(s, 2 * WAIT);
	SIM_CHECK(s, !rx(s, 0) && dlcp_rxmsg_complete(rx(s, 1)) &&
		  !rx(s, 1)->done_pending);
	packets = c->cnt[DLCP_CNT_TX_CTRL];
	SIM_CHECK(s, sent_as(s, 0, WAIT) == DLCP_OK);
	SIM_CHECK(s, sent_as(s, 1, WAIT) == DLCP_OK);
	SIM_CHECK(s, !c->ctrl.nr_again && list_empty(&c->ctrl.rx));
	/* One ACK for each, and nothing that asks for one */
	SIM_CHECK(s, c->cnt[DLCP_CNT_TX_CTRL] <= packets + 2);
	/* Of one that was never opened it must come again */
	SIM_CHECK(s, sent_as(s, 7, WAIT) == DLCP_DROP_UNOPENED);
	sim_free(s);
}

/* Of a message that may be lost as a whole nothing came yet: that is no silence */
static void vest__nothing_came_yet(void)
{
	struct sim *s = receiver();

	SIM_CHECK(s, open_as(s, 0, 1000000, WAIT) == DLCP_OK);
	sim_run(s, 50 * WAIT);
	SIM_CHECK(s, sent_as(s, 0, WAIT) == DLCP_OK);
	sim_run(s, WAIT / 2);
	SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, 0)));
	sim_run(s, WAIT);
	SIM_CHECK(s, dlcp_rxmsg_complete(rx(s, 0)) &&
		  rx(s, 0)->nr_missing == NR);
	sim_free(s);
}

/* What comes behind doubles the silence, up to a limit; not what was sent again.
 * Messages that have enough of it halve it.
 */
static void vest__learns_of_reordering(void)
{
	struct sim *s = receiver();
	struct dlcp_conn *c = &s->ep[1].c;
	u32 i, msg;

	for (msg = 0; msg < 8; msg++) {
		SIM_CHECK(s, open_as(s, msg, 50000, WAIT) == DLCP_OK);
		all_but_one(s, msg);
		sim_run(s, 20 * WAIT);
		SIM_CHECK(s, dlcp_rxmsg_complete(rx(s, msg)));
		SIM_CHECK(s, take_data_as(s, msg, 5, SEG, DLCP_F_RESENT) ==
			     DLCP_DROP_LATE);
		SIM_CHECK(s, c->rx.vest_shift == min_t(u32, msg,
						    CONN_SILENCE_DOUBLED));
		SIM_CHECK(s, take_data(s, msg, 5, SEG) == DLCP_DROP_LATE);
	}
	SIM_CHECK(s, c->cnt[DLCP_CNT_RX_OVERTAKEN] == 8);
	SIM_CHECK(s, open_as(s, msg, 50000, WAIT) == DLCP_OK);
	all_but_one(s, msg);
	sim_run(s, 15 * WAIT);
	SIM_CHECK(s, !dlcp_rxmsg_complete(rx(s, msg++)));
	for (i = 1; i < CONN_SILENCE_DOUBLED * CONN_SILENCE_CALM; i++, msg++) {
		SIM_CHECK(s, open_as(s, msg, 50000, WAIT) == DLCP_OK);
		all_but_one(s, msg);
		sim_run(s, 20 * WAIT);
		SIM_CHECK(s, c->rx.vest_shift == CONN_SILENCE_DOUBLED -
			     (i + 1) / CONN_SILENCE_CALM);
	}
	SIM_CHECK(s, !c->rx.vest_shift);
	sim_free(s);
}

/* An OPEN that is repeated has learnt of the round trip meanwhile */
static void vest__open_says_another_silence(void)
{
	struct sim *s = receiver();

	SIM_CHECK(s, open_as(s, 0, 50000, 0) == DLCP_OK);
	SIM_CHECK(s, open_as(s, 0, 50000, WAIT) == DLCP_OK);
	/* One that overtakes it does not unsay it */
	SIM_CHECK(s, open_as(s, 0, 50000, 0) == DLCP_OK);
	SIM_CHECK(s, open_as(s, 0, 40000, WAIT) == DLCP_DROP_MISMATCH);
	all_but_one(s, 0);
	sim_run(s, 2 * WAIT);
	SIM_CHECK(s, dlcp_rxmsg_complete(rx(s, 0)));
	sim_free(s);
}

/* Each of many ends when its own silence does, the earliest first */
static void vest__many_in_their_order(void)
{
	struct sim *s = receiver();
	struct dlcp_conn *c = &s->ep[1].c;
	const struct dlcp_tnode *n;
	u32 i, k, done;

	for (i = 0; i < 100; i++) {
		SIM_CHECK(s, open_as(s, i, 50000,
				     (1 + i * 37 % 100) * WAIT) == DLCP_OK);
		all_but_one(s, i);
	}
	for (k = 1; k <= 100; k++) {
		n = dlcp_tree_first(&c->rx.vest_waiting);
		SIM_CHECK(s, c->rx.vest_timer == (n ? n->key : 0));
		sim_run(s, WAIT * 8 / 7);
		for (i = 0, done = 0; i < 100; i++) {
			done += dlcp_rxmsg_complete(rx(s, i));
			if (dlcp_rxmsg_complete(rx(s, i)))
				SIM_CHECK(s, (1 + i * 37 % 100) * WAIT <=
					     rx(s, i)->done_time -
					     rx(s, i)->last);
		}
		SIM_CHECK(s, done >= k);
	}
	SIM_CHECK(s, !c->rx.vest_timer && !dlcp_tree_first(&c->rx.vest_waiting));
	sim_free(s);
}

/* A type of a later version is skipped, and one of another length is refused */
static void vest__frames_have_one_length(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_SENT, .sent = { .wait = 7 } };
	u8 pkt[64] = { 0 };
	struct dlcp_frame g;
	u32 off, n;

	n = DLCP_CTRL_HDR_LEN;
	n += dlcp_put_frame(pkt + n, sizeof(pkt) - n, &f);
	pkt[DLCP_CTRL_HDR_LEN] = DLCP_FT_LAST + 1;
	off = DLCP_CTRL_HDR_LEN;
	CHECK_EQ(dlcp_get_frame(pkt, n, &off, &g), 0);
	pkt[DLCP_CTRL_HDR_LEN] = DLCP_FT_OFFER;
	off = DLCP_CTRL_HDR_LEN;
	CHECK_EQ(dlcp_get_frame(pkt, n, &off, &g), 1);
	/* A third word would be another frame */
	dlcp_put_be16(pkt + DLCP_CTRL_HDR_LEN + 2, 16);
	off = DLCP_CTRL_HDR_LEN;
	CHECK_EQ(dlcp_get_frame(pkt, n + 4, &off, &g), -EBADMSG);
}

/* ---- two engines ---- */

/* What passed the channel, and what of it is dropped */
static struct watch {
	u32	drop[8];	/* first transmissions of these segments, */
	u32	nr_drop;	/* so many, */
	u32	tail;		/* and of the last so many of each message */
	u32	nr_segs;
	bool	no_flag;	/* packets with the flag are lost */
	u32	flags;		/* packets with DLCP_F_SENT */
	u32	wrong;		/* that were not the last position */
	u32	dropped;
	u32	nr[DLCP_FT_LAST + 1];	/* frames, by type, from both */
} watch;

static bool watch_data(const struct sim_pkt *k, const struct dlcp_hdr *h)
{
	struct dlcp_data d;
	bool drop;
	u32 i;

	if (dlcp_get_data(k->p, k->len, k->len, h, &d) < 0)
		return true;
	if (h->flags & DLCP_F_SENT) {
		watch.flags++;
		watch.wrong += d.seg != watch.nr_segs - 1 &&
			       !(h->flags & DLCP_F_RESENT);
	}
	if (h->flags & DLCP_F_RESENT)
		return true;
	drop = d.seg + watch.tail >= watch.nr_segs ||
	       (h->flags & DLCP_F_SENT && watch.no_flag);
	for (i = 0; i < watch.nr_drop; i++)
		drop |= watch.drop[i] == d.seg;
	watch.dropped += drop;
	return !drop;
}

static bool watch_channel(struct sim *s, struct sim_pkt *k)
{
	static struct dlcp_frame f;
	u32 off = DLCP_CTRL_HDR_LEN;
	struct dlcp_hdr h;

	if (dlcp_get_hdr(k->p, k->len, &h))
		return true;
	if (h.type == DLCP_PT_DATA)
		return watch_data(k, &h);
	if (h.type == DLCP_PT_CTRL)
		while (dlcp_get_frame(k->p, k->len, &off, &f) == 1)
			watch.nr[f.type]++;
	return true;
}

#define BYTES	48000

static const struct sim_attr small = { .length = BYTES, .ppm = 100000 };

/* 48 KB messages over 500 us, some of which have told of the round trip. What is
 * dropped is set after this.
 */
static struct sim *pair_by(u64 seed, u8 paths)
{
	struct sim *s = start(seed);
	struct sim_attr a = { .length = BYTES };
	u32 i;

	s->link[0].delay = 250 * SIM_US;
	s->link[1].delay = 250 * SIM_US;
	s->ep[0].cfg.nr_paths = paths;
	sim_up(s);
	for (i = 0; i < 20; i++) {
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
	}
	sim_run(s, 10 * SIM_MS);
	memset(&watch, 0, sizeof(watch));
	watch.nr_segs = dlcp_nr_segs(BYTES, 1448);
	s->meddle = watch_channel;
	return s;
}

static struct sim *pair(u64 seed)
{
	return pair_by(seed, 1);
}

static struct sim_msg *one(struct sim *s, const struct sim_attr *a)
{
	struct sim_msg *m = sim_send(&s->ep[0], a);

	sim_finish(s, SIM_S);
	return m;
}

/* The flag is in the last packet of a batch, which may be large, and no other; and
 * a message without a segment to spare has none, and no frame
 */
static void vest__flag_in_the_last_packet(void)
{
	struct sim_attr none = { .length = BYTES, .ppm = 4000 };
	struct sim_attr stop = { .length = BYTES, .ppm = 100000,
				 .flags = DLCP_MSG_EARLY_STOP };
	struct sim *s = pair(1);
	u32 i;

	for (i = 1; i <= 10; i++) {
		s->ep[0].max_segs = 1 + 11 * (i - 1);
		one(s, &small);
		SIM_CHECK(s, watch.flags == i && !watch.wrong);
		SIM_CHECK(s, watch.nr[DLCP_FT_SENT] <= i);
	}
	sim_run(s, 10 * SIM_MS);
	memset(watch.nr, 0, sizeof(watch.nr));
	/* The last segment has 216 bytes, and the bound 192 */
	one(s, &none);
	none.ppm = 0;
	one(s, &none);
	one(s, &stop);
	sim_run(s, 10 * SIM_MS);
	SIM_CHECK(s, watch.flags == 10 && !watch.nr[DLCP_FT_SENT]);
	end(s);
}

/* A loss within the bound costs the silence, not a round trip */
static void vest__no_round_trip(void)
{
	struct sim *s = pair(1);
	struct sim_msg *m = NULL;
	u64 none;
	u32 i;

	/* After the pause the window is small */
	for (i = 0; i < 20; i++)
		m = one(s, &small);
	none = m->rcvd_at - m->sent_at;
	watch.drop[0] = 7;
	watch.nr_drop = 1;
	m = one(s, &small);
	SIM_CHECK(s, m->missing && m->why == DLCP_WHY_FORGIVEN);
	SIM_CHECK(s, m->rcvd_at - m->sent_at <= none + 20 * SIM_US);
	/* The packet that tells is lost: a frame does */
	watch.nr_drop = 0;
	watch.no_flag = true;
	m = one(s, &small);
	SIM_CHECK(s, m->missing);
	SIM_CHECK(s, m->rcvd_at - m->sent_at <= none + 500 * SIM_US / 8);
	/* And that of a message with more gaps than may be is no later */
	watch.no_flag = false;
	watch.tail = 6;
	m = one(s, &small);
	SIM_CHECK(s, m->rcvd_at - m->sent_at >= none + 400 * SIM_US);
	SIM_CHECK(s, m->rcvd_at - m->sent_at <= none + 700 * SIM_US);
	end(s);
}

/* The frame stands in the queue that its data stands in, so that one silence after it
 * is enough: the queue, which is most of this round trip, is not waited for once more
 */
static void vest__no_longer_where_a_frame_tells(void)
{
	struct sim *s = pair(1);
	struct sim_msg *m = NULL;
	u64 none;
	u32 i;

	s->link[0].rate = 1000000000;
	for (i = 0; i < 100; i++)
		m = one(s, &small);
	none = m->rcvd_at - m->sent_at;
	watch.no_flag = true;
	m = one(s, &small);
	SIM_CHECK(s, m->missing && watch.dropped == 1);
	FIGURE("48 KB, 1 Gbit/s, the last packet lost: %llu us after %llu",
	       (m->rcvd_at - m->sent_at - none) / 1000, none / 1000);
	SIM_CHECK(s, m->rcvd_at - m->sent_at <=
		  none + 2 * dlcp_conn_tx_silence(&s->ep[0].c));
	end(s);
}

/* Where packets get lost a message of 5 % has three segments to spare, or as many as are
 * no smaller than half a packet; not so where none gets lost, nor in a group
 */
static void vest__segments_to_spare(void)
{
	static const struct {
		u64 length;
		u32 ppm, elem, seg;
	} cases[] = {
		{ 48000, 50000, 4, 800 },	/* 2400 bytes: 1.7 segments */
		{ 48000, 0, 4, 1448 },
		{ 86000, 50000, 4, 1432 },	/* 2.97 */
		{ 87000, 50000, 4, 1448 },
		{ 30000, 50000, 4, 748 },	/* 1.04: no more than two */
		{ 48000, 50000, 256, 768 },
		{ 16000, 50000, 4, 800 },	/* less than one */
		{ 12000, 50000, 4, 1408 },	/* less than half, with room for OPEN */
		{ 2400000, 1000, 4, 1448 },	/* of a long message the headers cost more */
	};
	struct sim_attr a = { .length = BYTES, .ppm = 50000 };
	struct dlcp_conn *c;
	struct sim *s = pair(1);
	u32 i;

	c = &s->ep[0].c;
	CHECK_EQ(dlcp_conn_seg_size(c, 4, 48000, 50000), 1448);
	watch.tail = 1;
	one(s, &small);
	watch.nr_segs = BYTES / 800;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(dlcp_conn_seg_size(c, cases[i].elem, cases[i].length,
					    cases[i].ppm), cases[i].seg);
	CHECK_EQ(one(s, &a)->seg_size, 800);
	a.group = 1;
	watch.tail = 0;
	CHECK_EQ(one(s, &a)->seg_size, 1448);
	/* None got lost of late */
	a.group = 0;
	for (i = 0; i < 5; i++)
		one(s, &a);
	CHECK_EQ(one(s, &a)->seg_size, 1448);
	end(s);
}

/* So three losses in 48 KB cost the silence, where two cost a round trip */
static void vest__three_losses(void)
{
	struct sim_attr a = { .length = BYTES, .ppm = 50000 };
	struct sim *s = pair(1);
	struct sim_msg *m;
	u64 none;
	u32 i;

	watch.nr_segs = BYTES / 800;
	watch.drop[0] = 7;
	watch.nr_drop = 1;
	for (i = 0; i < 20; i++)
		m = one(s, &a);
	none = m->rcvd_at - m->sent_at;
	watch.drop[1] = 18;
	watch.drop[2] = 29;
	watch.nr_drop = 3;
	m = one(s, &a);
	CHECK_EQ(m->missing, BYTES / 20);
	SIM_CHECK(s, m->rcvd_at - m->sent_at <= none + 10 * SIM_US);
	end(s);
}

/* The controller hears of what the receiver did not wait for, once */
static void vest__losses_are_heard_of(void)
{
	static const u32 tails[] = { 1, 2, 3 };
	struct sim *s = pair(1);
	u64 lost = s->ep[0].c.cnt[DLCP_CNT_LOST];
	u32 i, k;

	for (k = 0; k < ARRAY_SIZE(tails); k++) {
		watch.tail = tails[k];
		for (i = 0; i < 10; i++) {
			one(s, &small);
			sim_run(s, 5 * SIM_MS);
		}
	}
	watch.tail = 1;
	watch.drop[0] = 30;
	watch.drop[1] = 3;
	watch.nr_drop = 2;
	for (i = 0; i < 10; i++) {
		one(s, &small);
		sim_run(s, 5 * SIM_MS);
	}
	SIM_CHECK(s, watch.dropped == 10 * (1 + 2 + 3) + 30);
	CHECK_EQ(s->ep[0].c.cnt[DLCP_CNT_LOST] - lost, watch.dropped);
	end(s);
}

/* Also where it goes by several paths, whose tails nothing tells of */
static void vest__losses_of_paths_are_heard_of(void)
{
	struct sim *s = pair_by(1, 4);
	u64 lost = s->ep[0].c.cnt[DLCP_CNT_LOST];
	u32 i;

	watch.tail = 3;
	for (i = 0; i < 20; i++) {
		one(s, &small);
		sim_run(s, 5 * SIM_MS);
	}
	CHECK_EQ(s->ep[0].c.cnt[DLCP_CNT_LOST] - lost, watch.dropped);
	end(s);
}

/* So it does of a message that is stopped early; and what was on its way when
 * it was stopped is no loss
 */
static void vest__stopped_losses_are_heard_of(void)
{
	/* Three segments may be missing, but not the short last one, too */
	struct sim_attr a = { .length = BYTES, .ppm = 92000,
			      .flags = DLCP_MSG_EARLY_STOP };
	struct sim *s = pair(1);
	u64 lost = s->ep[0].c.cnt[DLCP_CNT_LOST];
	u32 i;

	/* So it ends with the last packet, and two before it got lost */
	watch.drop[0] = 32;
	watch.drop[1] = 31;
	watch.drop[2] = 8;
	watch.nr_drop = 3;
	for (i = 0; i < 20; i++) {
		one(s, &a);
		sim_run(s, 5 * SIM_MS);
	}
	CHECK_EQ(s->ep[0].c.cnt[DLCP_CNT_LOST] - lost, watch.dropped);
	lost += watch.dropped;
	watch.nr_drop = 0;
	for (i = 0; i < 20; i++) {
		one(s, &a);
		sim_run(s, 5 * SIM_MS);
	}
	CHECK_EQ(s->ep[0].c.cnt[DLCP_CNT_LOST], lost);
	end(s);
}

/* No OFFER meets a message that is finished; one that comes in time helps. DONE is
 * said once.
 */
static void vest__one_done(void)
{
	struct sim *s = pair(1);
	u32 i;

	watch.drop[0] = 7;
	watch.nr_drop = 1;
	for (i = 1; i <= 20; i++) {
		one(s, &small);
		sim_run(s, 5 * SIM_MS);
		CHECK_EQ(watch.nr[DLCP_FT_DONE], i);
		CHECK_EQ(watch.nr[DLCP_FT_OFFER], 0);
	}
	end(s);
}

/* SENT waits for no answer: it is not among what is asked for again */
static void vest__sent_asks_for_nothing(void)
{
	struct sim *s = pair(1);
	struct dlcp_conn *c = &s->ep[0].c;
	u64 until;

	sim_send(&s->ep[0], &small);
	until = s->now + 5 * SIM_MS;
	while (s->ep[0].nr_done < s->ep[0].nr_msgs) {
		SIM_CHECK(s, sim_step(s, until));
		SIM_CHECK(s, list_empty(&c->tx.resolve));
		SIM_CHECK(s, !c->alive.resolve_count);
	}
	CHECK_EQ(watch.nr[DLCP_FT_SENT], 1);
	CHECK_EQ(watch.nr[DLCP_FT_DONE], 0);
	end(s);
}

/* Where each packet takes its own time, the silence becomes long enough */
static void vest__jitter(void)
{
	struct sim_attr a = { .length = 256000, .ppm = 50000 };
	struct sim *s = pair(1);
	u64 missing = 0;
	u32 i;

	s->meddle = NULL;
	s->link[0].jitter = 125 * SIM_US;
	s->link[0].loss = 1000;
	for (i = 0; i < 200; i++)
		missing += one(s, &a)->missing;
	FIGURE("jitter of a quarter of the round trip, 0.1 %% lost: missing %.3f %%, overtaken %llu of %u",
	       (double)missing * 100 / (200.0 * 256000),
	       s->ep[1].c.cnt[DLCP_CNT_RX_OVERTAKEN], 200 * 177);
	SIM_CHECK(s, s->ep[1].c.cnt[DLCP_CNT_RX_OVERTAKEN]);
	SIM_CHECK(s, missing <= 200ULL * 256000 * 15 / 10000);
	end(s);
}

/* The aims of results/bound.md, of a few messages */
static void vest__in_time(void)
{
	struct sim_attr a = { .length = 256000, .ppm = 50000 };
	u64 none, sum = 0, exact = 0, missing = 0;
	struct sim *s = pair(1);
	struct sim_msg *m;
	u32 i;

	s->meddle = NULL;
	for (i = 0; i < 20; i++)
		m = one(s, &a);
	none = m->rcvd_at - m->sent_at;
	lossy(s, 10000);
	for (i = 0; i < 100; i++) {
		m = one(s, &a);
		sum += m->rcvd_at - m->sent_at;
		missing += m->missing;
	}
	a.ppm = 0;
	for (i = 0; i < 50; i++) {
		m = one(s, &a);
		exact += m->rcvd_at - m->sent_at;
	}
	FIGURE("256 KB, 500 us, 1 %% lost: %.2f of the time without loss, p = 0 %.2f, missing %.2f %%",
	       (double)sum / 100 / (double)none,
	       (double)exact / 50 / (double)none,
	       (double)missing / 256000);
	SIM_CHECK(s, !s->ep[1].c.cnt[DLCP_CNT_RX_OVERTAKEN]);
	SIM_CHECK(s, sum * 100 <= 100 * none * 108);
	SIM_CHECK(s, exact * 100 >= 50 * none * 120);
	SIM_CHECK(s, missing <= 256000 * 13 / 10);
	end(s);
}

TESTS(T(vest__after_the_silence), T(vest__something_new_is_no_silence),
      T(vest__not_beyond_the_bound), T(vest__finished_is_silent),
      T(vest__nothing_came_yet), T(vest__learns_of_reordering),
      T(vest__open_says_another_silence), T(vest__many_in_their_order),
      T(vest__frames_have_one_length), T(vest__flag_in_the_last_packet),
      T(vest__no_round_trip), T(vest__no_longer_where_a_frame_tells),
      T(vest__segments_to_spare), T(vest__three_losses),
      T(vest__losses_are_heard_of),
      T(vest__losses_of_paths_are_heard_of),
      T(vest__stopped_losses_are_heard_of), T(vest__one_done),
      T(vest__sent_asks_for_nothing), T(vest__jitter), T(vest__in_time))
