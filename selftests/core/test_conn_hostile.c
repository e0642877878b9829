// SPDX-License-Identifier: GPL-2.0
/* A peer that lies: what it says is refused, or harms only itself. */
#include "conn_int.h"
#include "test_conn.h"

/* The engine's reader goes away from every message there is */
static void no_readers(struct dlcp_conn *c)
{
	struct dlcp_rxmsg *m;

	list_for_each_entry(m, &c->rx.open, node)
		dlcp_conn_reader(c, m, false);
}

/* All that is not granted is refused, whatever else there is room for, and whatever
 * share of the allowance the message says it has
 */
static void hostile__ignores_credit(void)
{
	u8 share;

	for (share = 0; share <= DLCP_DOUBLED_MAX; share++) {
		struct sim *s = victim(start(1));
		struct dlcp_conn *c = &s->ep[1].c;
		u32 i, taken = 0;

		c->cfg.rx_space = 1 << 20;
		SIM_CHECK(s, take_open_as(s, 0, (struct dlcp_open) {
			.length = 1ULL << 30, .seg_size = 1000,
			.share = share }) == DLCP_OK);
		no_readers(c);
		for (i = 0; i < 100000; i++)
			taken += take_data(s, 0, i, 1000) == DLCP_OK;
		SIM_CHECK(s, taken && taken < 2000);
		SIM_CHECK(s, c->credit.unsolicited <= c->cfg.unsolicited);
		SIM_CHECK(s, c->credit.buffered <=
			     c->cfg.rx_space + c->cfg.unsolicited);
		SIM_CHECK(s, take_data(s, 0, i, 1000) == DLCP_DROP_WINDOW);
		sim_free(s);
	}
}

/* Each reader is granted something; when many leave, that is more than there
 * is room for
 */
static void hostile__sends_what_readers_left(void)
{
	struct sim *s = victim(start(1));
	struct dlcp_conn *c = &s->ep[1].c;
	u32 msg, i, refused = 0;
	u64 granted = 0;
	struct dlcp_rxmsg *m;

	c->cfg.rx_space = 1 << 20;
	for (msg = 0; msg < 100; msg++)
		SIM_CHECK(s, take_open(s, msg, 1 << 20, 1000) == DLCP_OK);
	list_for_each_entry(m, &c->rx.open, node) {
		dlcp_conn_reader(c, m, true);
		granted += m->granted;
	}
	no_readers(c);
	SIM_CHECK(s, granted > 2 * (c->cfg.rx_space + c->cfg.unsolicited));
	for (msg = 0; msg < 100; msg++)
		for (i = 0; i < 1000; i++)
			refused += take_data(s, msg, i, 1000) ==
				   DLCP_DROP_NOMEM;
	SIM_CHECK(s, refused);
	SIM_CHECK(s, c->credit.buffered <= c->cfg.rx_space + c->cfg.unsolicited);
	/* Who comes back gets on */
	m = list_first_entry(&c->rx.open, struct dlcp_rxmsg, node);
	dlcp_conn_reader(c, m, true);
	dlcp_conn_consume(c, m, m->received - m->consumed);
	for (i = 0; i < 1000 && dlcp_segmap_test(&m->map, i); i++)
		;
	SIM_CHECK(s, take_data(s, (u32)m->id, i, 1000) == DLCP_OK);
	no_readers(c);
	sim_free(s);
}

/* Long messages of segments of a byte: one may be as it likes, not all */
static void hostile__announces_bytes(void)
{
	struct sim *s = victim(start(1));
	u64 before = s->ep[1].allocated;
	u32 i, nr = 0;

	for (i = 0; i < 100; i++) {
		switch (take_open(s, i, 1 << 23, 1)) {
		case DLCP_OK:
			nr++;
			break;
		case DLCP_DROP_NOMEM:
			break;
		default:
			SIM_CHECK(s, false);
		}
	}
	SIM_CHECK(s, nr == 8);
	SIM_CHECK(s, s->ep[1].allocated - before < DLCP_RX_MAPS_MAX + 100000);
	/* What is over makes room */
	dlcp_conn_discard(&s->ep[1].c,
			  list_first_entry(&s->ep[1].c.rx.open,
					   struct dlcp_rxmsg, node), s->now);
	sim_kick(&s->ep[1]);
	SIM_CHECK(s, take_frame(s, &(struct dlcp_frame) {
			.type = DLCP_FT_DONE_ACK }) == DLCP_OK);
	SIM_CHECK(s, take_open(s, 200, 1 << 23, 1) == DLCP_OK);
	sim_free(s);
}

/* The longest that is allowed may come, if it is the only one */
static void hostile__one_long_message(void)
{
	struct sim *s = victim(start(1));

	SIM_CHECK(s, take_open(s, 0, 1ULL << 27, 1) == DLCP_OK);
	SIM_CHECK(s, take_open(s, 1, 1000, 1000) == DLCP_DROP_NOMEM);
	sim_free(s);
}

static void hostile__numbers_out_of_range(void)
{
	static const u32 msgs[] = {
		DLCP_MSG_WINDOW, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	struct sim *s = victim(start(1));
	struct dlcp_conn *c = &s->ep[1].c;
	struct dlcp_frame f;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(msgs); i++) {
		SIM_CHECK(s, take_open(s, msgs[i], 1000, 1000) ==
			  DLCP_DROP_WINDOW);
		SIM_CHECK(s, take_data(s, msgs[i], 0, 1000) ==
			  DLCP_DROP_WINDOW);
		memset(&f, 0, sizeof(f));
		f.msg.msg = msgs[i];
		f.msg.word = 0xffffffff;
		for (f.type = DLCP_FT_OFFER; f.type <= DLCP_FT_CREDIT; f.type++)
			take_frame(s, &f);
	}
	SIM_CHECK(s, list_empty(&c->rx.open) && !c->rx.maps && !c->rx.size);
	/* No more than it was announced as, nor any other message */
	SIM_CHECK(s, take_open(s, 0, 10000, 1000) == DLCP_OK);
	SIM_CHECK(s, take_open(s, 0, 10001, 1000) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, take_data(s, 0, 10, 1000) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, take_data(s, 0, 0xffffffff, 1000) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, take_data(s, 0, 9, 999) == DLCP_DROP_MISMATCH);
	f.type = DLCP_FT_CLOSE;
	f.close.nr_msgs = 0;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_DROP_MALFORMED);
	SIM_CHECK(s, c->state == DLCP_ESTABLISHED);
	sim_free(s);
}

/* The victim sends what nobody reads, and has sent all it was allowed to */
static struct sim_msg *half_sent(struct sim *s)
{
	struct sim_attr a = { .length = 4 << 20, .read = SIM_READ_NEVER };
	struct sim_msg *m;

	s->ep[0].cfg.rx_space = 100000;
	sim_up(s);
	next_pn = 100000;
	m = sim_send(&s->ep[1], &a);
	sim_run(s, 10 * SIM_MS);
	SIM_CHECK(s, m->tx.acked.count && m->tx.sent_bytes < 1 << 20);
	s->tainted = true;
	return m;
}

/* Packets never sent cannot have arrived; nor can more be granted than taken */
static void hostile__acks_and_credit(void)
{
	struct dlcp_frame ack = { .type = DLCP_FT_ACK };
	struct dlcp_frame f = { .type = DLCP_FT_CREDIT };
	struct sim *s = start(1);
	struct sim_msg *m = half_sent(s);

	ack.ack.nr_words = DLCP_ACK_WORDS_MAX;
	ack.ack.words[0] = 1;
	ack.ack.largest = s->ep[1].c.paths[0].sent.head;
	SIM_CHECK(s, take_frame(s, &ack) == DLCP_DROP_MALFORMED);
	ack.ack.largest += 0x7fffffff;
	take_frame(s, &ack);
	ack.ack.path = 1;
	SIM_CHECK(s, take_frame(s, &ack) == DLCP_DROP_MALFORMED);
	SIM_CHECK(s, m->tx.acked.count < m->nr_segs);
	/* A lie is believed, and of no use to the liar */
	f.credit.bytes = U64_MAX;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	f.credit.bytes = 0;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	f.type = DLCP_FT_WINDOW;
	f.window.max_msg = 0xffffffff;
	f.window.unsolicited = U64_MAX;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	sim_run(s, 100 * SIM_MS);
	SIM_CHECK(s, m->tx.sent_bytes > m->tx.acked.count * m->seg_size);
	SIM_CHECK(s, s->ep[0].c.credit.buffered <= s->ep[0].c.cfg.rx_space / 2 +
		  s->ep[0].c.cfg.unsolicited);
	sim_free(s);
}

/* A receipt that names more than is missing is no receipt */
static void hostile__forged_receipts(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_DONE };
	struct sim *s = start(1);
	struct sim_msg *m = half_sent(s);

	f.done.why = DLCP_WHY_FORGIVEN;
	f.done.nr_missing = m->nr_segs;
	f.done.missing = m->length;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	SIM_CHECK(s, !m->done && m->tx.state == DLCP_TX_SENDING);
	f.done.nr_missing = 0xffffffff;
	f.done.missing = 0xffffffff;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	SIM_CHECK(s, !m->done && m->tx.state == DLCP_TX_SENDING);
	/* One of a message there is not */
	f.done.msg = 77;
	f.done.nr_missing = 0;
	f.done.missing = 0;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	SIM_CHECK(s, !m->done && m->tx.state == DLCP_TX_SENDING);
	/* Of ours: it is believed that it does not want more */
	f.done.msg = 0;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	SIM_CHECK(s, m->done);
	sim_free(s);
}

/* A stop with more missing than the bound: nobody may report that */
static void hostile__forged_stop(void)
{
	static const u8 why[] = { DLCP_WHY_FORGIVEN, DLCP_WHY_STOPPED,
				  DLCP_WHY_DEADLINE };
	struct dlcp_frame f = { .type = DLCP_FT_DONE };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(why); i++) {
		struct sim *s = start(1);
		struct sim_msg *m = half_sent(s);

		f.done.why = why[i];
		f.done.nr_missing = 1;
		f.done.missing = m->seg_size;
		take_frame(s, &f);
		SIM_CHECK(s, s->ep[1].error == EPROTO && !m->done);
		/* The peer is told */
		sim_run(s, SIM_MS);
		SIM_CHECK(s, s->ep[0].error == EPROTO);
		sim_free(s);
	}
}

/* What it may do: throw away what it does not want */
static void hostile__discard_is_allowed(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_DONE };
	struct sim *s = start(1);
	struct sim_msg *m = half_sent(s);

	f.done.why = DLCP_WHY_DISCARDED;
	f.done.nr_missing = 1;
	f.done.missing = m->seg_size;
	SIM_CHECK(s, take_frame(s, &f) == DLCP_OK);
	SIM_CHECK(s, !s->ep[1].error && m->tx.state == DLCP_TX_RESOLVING);
	sim_free(s);
}

/* What is over is said again, but of so many messages at a time */
static void hostile__asks_again(void)
{
	struct dlcp_arrival a = { 0 };
	struct dlcp_hdr h = { .type = DLCP_PT_CTRL, .flags = DLCP_F_ELICIT };
	struct dlcp_frame f = { .type = DLCP_FT_OFFER };
	struct sim_attr m = { .length = 1000 };
	struct sim *s = start(1);
	struct dlcp_conn *c = &s->ep[1].c;
	u8 pkt[512];
	u32 i, len;

	sim_up(s);
	for (i = 0; i < 6; i++)
		sim_send(&s->ep[0], &m);
	sim_finish(s, SIM_S);
	s->tainted = true;
	a.now = s->now;
	a.wire = s->now;
	h.tag = s->ep[1].cfg.local_tag;
	len = dlcp_put_ctrl(pkt, h.tag, DLCP_F_ELICIT, 0, 100000);
	for (i = 0; i < 7; i++) {
		f.msg.msg = i / 2;
		if (i == 6)
			f.msg.msg = 5;
		len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	}
	SIM_CHECK(s, dlcp_conn_rx_other(c, &h, pkt, len, &a) == DLCP_OK);
	SIM_CHECK(s, c->ctrl.nr_again == 4);
	f.msg.msg = 4;
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	dlcp_put_ctrl(pkt, s->ep[1].cfg.local_tag, DLCP_F_ELICIT, 0, 100001);
	SIM_CHECK(s, dlcp_conn_rx_other(c, &h, pkt, len, &a) ==
		  DLCP_DROP_WINDOW);
	SIM_CHECK(s, !c->recv0->ce);
	sim_kick(&s->ep[1]);
	SIM_CHECK(s, !c->ctrl.nr_again);
	/* Paths there are not, and a connection that is over */
	h.path = DLCP_PATHS_MAX;
	SIM_CHECK(s, dlcp_conn_rx_other(c, &h, pkt, len, &a) ==
		  DLCP_DROP_MALFORMED);
	h.path = 0;
	dlcp_conn_abort(c, ECONNABORTED, "test");
	dlcp_conn_abort(c, ECONNABORTED, "once is enough");
	SIM_CHECK(s, dlcp_conn_rx_other(c, &h, pkt, len, &a) ==
		  DLCP_DROP_STATE);
	SIM_CHECK(s, take_data(s, 9, 0, 1000) == DLCP_DROP_STATE);
	sim_kick(&s->ep[1]);
	sim_free(s);
}

/* It asks and asks, each time for something that has to be acknowledged, and
 * never acknowledges anything
 */
static void hostile__never_acknowledges(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_OFFER };
	struct sim_attr m = { .length = 1000 };
	struct sim *s = start(1);
	struct dlcp_conn *c = &s->ep[1].c;
	u64 before;
	u32 i;

	sim_up(s);
	sim_send(&s->ep[0], &m);
	sim_finish(s, SIM_S);
	s->tainted = true;
	next_pn = 100000;
	before = s->ep[1].allocated;
	for (i = 0; i < 5 * CONN_CTRL_OUT_MAX; i++)
		take_frame(s, &f);
	SIM_CHECK(s, c->ctrl.out == CONN_CTRL_OUT_MAX);
	SIM_CHECK(s, s->ep[1].allocated - before <=
		     2 * CONN_CTRL_OUT_MAX * sizeof(struct dlcp_sent));
	sim_free(s);
}

/* Nothing of an empty message is missing: there would be no DONE to say so */
static void hostile__announces_nothing(void)
{
	struct sim *s = receiver();
	struct dlcp_rxmsg *m;

	SIM_CHECK(s, take_open(s, 0, 0, 1000) == DLCP_OK);
	m = dlcp_conn_rx_find(&s->ep[1].c, 0);
	dlcp_conn_discard(&s->ep[1].c, m, s->now);
	SIM_CHECK(s, !m->nr_missing && !m->missing);
	SIM_CHECK(s, take_data(s, 0, 0, 0) == DLCP_DUP);
	sim_free(s);
}

TESTS(T(hostile__announces_nothing), T(hostile__ignores_credit),
      T(hostile__sends_what_readers_left),
      T(hostile__announces_bytes), T(hostile__one_long_message),
      T(hostile__numbers_out_of_range), T(hostile__acks_and_credit),
      T(hostile__forged_receipts), T(hostile__forged_stop),
      T(hostile__discard_is_allowed), T(hostile__asks_again),
      T(hostile__never_acknowledges))
