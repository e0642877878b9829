// SPDX-License-Identifier: GPL-2.0
/* Segments that were cut before the path's MTU shrank go in pieces */
#include "cut.h"
#include "test_conn.h"

/* From @from to @to bytes of DLCP packet in the middle of @len bytes. Return: ns
 * until the message was over
 */
static u64 shrink(struct sim *s, u32 from, u32 to, const struct sim_attr *a,
		  bool told)
{
	struct sim_msg *m;
	u64 t;

	s->ep[0].cfg.mtu = from;
	s->ep[0].max_segs = 7;
	s->link[0].rate = 1000000000;
	sim_up(s);
	m = sim_send(&s->ep[0], a);
	while (m->tx.acked.count < m->nr_segs / 4)
		SIM_CHECK(s, sim_step(s, s->now + SIM_S));
	s->link[0].mtu = to;
	if (told)
		dlcp_conn_set_mtu(&s->ep[0].c, to, s->now);
	t = s->now;
	sim_finish(s, 60 * SIM_S);
	return s->now - t;
}

static const struct { u32 from, to; } mtus[] = {
	{ 8972, 1472 }, { 8972, 548 }, { 1472, 1252 }, { 1472, 548 },
	{ 1472, 1471 }, { 16356, 1232 },
};

static void cut__sizes(void)
{
	static const u32 lengths[] = { 65536, 1000000, 16000000 };
	u32 i, k, told;

	for (i = 0; i < ARRAY_SIZE(mtus); i++)
		for (k = 0; k < ARRAY_SIZE(lengths); k++)
			for (told = 0; told < 2; told++) {
				struct sim_attr a = { .length = lengths[k],
						      .read = k % 2 };
				struct sim *s = start(1 + i);
				u64 t;

				/* until the window is open little is on its way */
				t = shrink(s, mtus[i].from, mtus[i].to, &a,
					   told);
				SIM_CHECK(s, t < SIM_S / 2);
				SIM_CHECK(s, !k || s->ep[0].pieces);
				end(s);
			}
}

/* Also on a long way, and where nobody tells: data goes on within a second */
static void cut__within_a_second(void)
{
	static const u64 rtts[] = { 100, 1000, 10000, 80000 };
	u64 t;
	u32 i, told;

	for (i = 0; i < ARRAY_SIZE(rtts); i++) {
		for (told = 0; told < 2; told++) {
			struct sim_attr a = { .length = 16000000 };
			struct sim *s = start(i + 1);
			struct sim_msg *m;
			u32 before;

			s->link[0].delay = rtts[i] * SIM_US / 2;
			s->link[1].delay = rtts[i] * SIM_US / 2;
			s->link[0].rate = 1000000000;
			s->ep[0].cfg.mtu = 8972;
			s->ep[1].cfg.rx_space = 64 << 20;
			s->ep[1].cfg.unsolicited = 32 << 20;
			sim_up(s);
			m = sim_send(&s->ep[0], &a);
			while (m->tx.acked.count < m->nr_segs / 4)
				SIM_CHECK(s, sim_step(s, s->now + SIM_S));
			s->link[0].mtu = 1472;
			if (told)
				dlcp_conn_set_mtu(&s->ep[0].c, 1472, s->now);
			/* more than what is on its way */
			before = m->tx.next_pos;
			t = s->now;
			while (!m->done && m->tx.acked.count <= before)
				SIM_CHECK(s, sim_step(s, s->now + SIM_S));
			t = s->now - t;
			FIGURE("round trip %5llu us, %s: data goes on after %.1f ms",
			       (unsigned long long)rtts[i],
			       told ? "told" : "not told", (double)t / SIM_MS);
			SIM_CHECK(s, t < SIM_S);
			sim_finish(s, 60 * SIM_S);
			end(s);
		}
	}
}

/* Loss, copies, disorder, tags, bounds, and all ways to read */
static void cut__bad_networks(void)
{
	u32 seed, pieces = 0;

	for (seed = 1; seed <= 60; seed++) {
		struct sim_attr a = {
			.length = 200000 + seed * 7001,
			.ppm = bounds[seed % ARRAY_SIZE(bounds)],
			.critical = seed % 3 * 10,
			.droppable = seed % 4 * 10,
			.flags = seed % 5 ? 0 : DLCP_MSG_EARLY_STOP,
			.read = (enum sim_read)(seed % 2),
		};
		struct sim *s = start(seed);
		u32 n;

		lossy(s, 30000);
		for (n = 0; n < 2; n++) {
			s->link[n].dup = 50000;
			s->link[n].reorder = 50000;
			s->link[n].reorder_delay = 200 * SIM_US;
			s->ep[n].cfg.nr_paths = 1 + seed % 4;
			s->ep[n].own_queue = seed % 3 ? 0 : 20000;
			s->ep[n].alloc_fail = seed % 7 ? 0 : 50000;
		}
		n = seed % ARRAY_SIZE(mtus);
		shrink(s, mtus[n].from, mtus[n].to, &a, seed & 1);
		for (n = 0; n < 2; n++)
			s->ep[n].alloc_fail = 0;
		pieces += !!s->ep[0].pieces;
		end(s);
	}
	FIGURE("%u of 60 networks saw pieces", pieces);
	CHECK(pieces > 40);
}

/* Smaller, larger and smaller again, under way */
static void cut__mtu_wanders(void)
{
	u32 seed, i;

	for (seed = 1; seed <= 20; seed++) {
		struct sim_attr a = { .length = 3000000, .ppm = seed % 2 * 1000 };
		struct sim *s = start(seed);
		struct sim_msg *m;

		lossy(s, 10000);
		s->ep[0].cfg.mtu = 8972;
		sim_up(s);
		m = sim_send(&s->ep[0], &a);
		for (i = 0; i < 50 && !m->done; i++) {
			s->link[0].mtu = 548 + (u32)sim_below(s, 8972 - 548);
			dlcp_conn_set_mtu(&s->ep[0].c, s->link[0].mtu, s->now);
			sim_kick(&s->ep[0]);
			sim_run(s, 200 * SIM_US);
		}
		sim_finish(s, 10 * SIM_S);
		end(s);
	}
}

/* A short message, whose OPEN travelled in its only packet */
static void cut__one_segment(void)
{
	struct sim_attr a = { .length = 1300 };
	struct sim *s = start(1);
	u32 i;

	sim_up(s);
	s->link[0].down = true;
	for (i = 0; i < 3; i++)
		sim_send(&s->ep[0], &a);
	sim_run(s, SIM_MS);
	s->link[0].down = false;
	s->link[0].mtu = 548;
	dlcp_conn_set_mtu(&s->ep[0].c, 548, s->now);
	sim_finish(s, SIM_S);
	SIM_CHECK(s, s->ep[0].pieces >= 9);
	end(s);
}

/* What a peer, or somebody who knows the tag, may say of pieces */
static enum dlcp_verdict piece(struct sim *s, u32 pn, u32 seg, u32 off, u32 len,
			       void **kept)
{
	static const u8 zeros[2000];
	struct dlcp_arrival a = { .now = s->now, .wire = s->now };
	struct dlcp_hdr h = { .type = DLCP_PT_DATA, .flags = DLCP_F_PIECE };
	struct dlcp_data d = { .pn = pn, .seg = seg, .off = off, .len = len,
			       .payload = zeros };
	struct dlcp_rxmsg *m;

	return dlcp_conn_rx_data(&s->ep[1].c, &h, &d, &a, &m, kept);
}

static void cut__hostile(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_OPEN };
	struct sim *s = start(1);
	struct dlcp_conn *c;
	u64 buffered, before;
	u8 pkt[256];
	u32 i, n, len;
	void *kept;

	s->tainted = true;
	sim_up(s);
	c = &s->ep[1].c;
	s->ep[1].strangers = SIM_READ_NEVER;
	/* three segments of 6400 bytes, so that a unit has 100, and a last one */
	f.open.open.length = 3 * 6400 + 150;
	f.open.open.seg_size = 6400;
	f.open.open.elem_size = 1;
	len = dlcp_put_ctrl(pkt, c->cfg.local_tag, 0, 0, 0);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	sim_inject(s, 1, pkt, len, false, s->now);
	sim_step(s, s->now);
	/* the path gets its record of numbers here */
	piece(s, 999, 4, 0, 100, &kept);
	before = s->ep[1].allocated;
	n = 1000;
	/* no pieces */
	SIM_CHECK(s, piece(s, n++, 0, 50, 100, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, 0, 0, 50, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, 0, 6300, 200, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, 0, 6400, 100, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, 0, 65500, 100, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, 3, 100, 51, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, 4, 0, 100, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, piece(s, n++, ~0U, 0, 100, &kept) == DLCP_DROP_MISMATCH);
	SIM_CHECK(s, s->ep[1].allocated == before && !c->credit.buffered);
	/* whatever overlaps and repeats counts once */
	SIM_CHECK(s, piece(s, n++, 0, 0, 300, &kept) == DLCP_MORE);
	buffered = c->credit.buffered;
	SIM_CHECK(s, buffered == 6400);
	SIM_CHECK(s, piece(s, n++, 0, 0, 300, &kept) == DLCP_DUP);
	SIM_CHECK(s, piece(s, n++, 0, 200, 300, &kept) == DLCP_MORE);
	SIM_CHECK(s, piece(s, n++, 0, 400, 100, &kept) == DLCP_DUP);
	for (i = 500; i < 6300; i += 100)
		SIM_CHECK(s, piece(s, n++, 0, i, 100, &kept) == DLCP_MORE);
	SIM_CHECK(s, c->credit.buffered == buffered);
	SIM_CHECK(s, piece(s, n++, 0, 6300, 100, &kept) == DLCP_OK);
	s->ep[1].cfg.ops->uncut(c, kept);
	SIM_CHECK(s, c->credit.buffered == buffered);
	SIM_CHECK(s, piece(s, n++, 0, 0, 300, &kept) == DLCP_DUP);
	/* what is never finished is held until the message goes, and no longer */
	SIM_CHECK(s, piece(s, n++, 3, 100, 50, &kept) == DLCP_MORE);
	SIM_CHECK(s, piece(s, n++, 1, 100, 100, &kept) == DLCP_MORE);
	SIM_CHECK(s, c->credit.buffered == buffered + 6400 + 150);
	sim_free(s);
}

/* A segment that was sent whole may overtake its last piece: it counts once, and
 * what counts twice would leave no credit for the others
 */
static void cut__whole_after_a_piece(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_OPEN };
	struct dlcp_arrival a = {};
	struct dlcp_hdr h = { .type = DLCP_PT_DATA };
	struct dlcp_data d = { .len = 64000 };
	struct sim *s = start(1);
	struct dlcp_rxmsg *m;
	struct dlcp_conn *c;
	u8 pkt[256];
	void *kept;
	u32 len;

	s->tainted = true;
	sim_up(s);
	c = &s->ep[1].c;
	s->ep[1].strangers = SIM_READ_NEVER;
	/* all that may come without credit */
	f.open.open.length = c->cfg.unsolicited / 64000 * 64000;
	f.open.open.seg_size = 64000;
	f.open.open.elem_size = 1;
	len = dlcp_put_ctrl(pkt, c->cfg.local_tag, 0, 0, 0);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	sim_inject(s, 1, pkt, len, false, s->now);
	sim_step(s, s->now);
	for (d.seg = 0; d.seg < f.open.open.length / 64000; d.seg++) {
		d.pn = 1001 + 2 * d.seg;
		SIM_CHECK(s, piece(s, d.pn - 1, d.seg, 0, 1000, &kept) == DLCP_MORE);
		a.now = s->now;
		a.wire = s->now;
		SIM_CHECK(s, dlcp_conn_rx_data(c, &h, &d, &a, &m, &kept) ==
			  DLCP_OK);
		SIM_CHECK(s, c->credit.buffered == (d.seg + 1) * 64000);
	}
	sim_free(s);
}

/* Pieces of segments that will never be whole take no more than the credit */
static void cut__memory(void)
{
	struct dlcp_frame f = { .type = DLCP_FT_OPEN };
	struct sim *s = start(1);
	u32 i, len, taken = 0;
	struct dlcp_conn *c;
	u8 pkt[256];
	void *kept;

	s->tainted = true;
	s->ep[1].cfg.rx_space = 1 << 20;
	s->ep[1].cfg.unsolicited = 256 << 10;
	sim_up(s);
	c = &s->ep[1].c;
	s->ep[1].strangers = SIM_READ_NEVER;
	f.open.open.length = 64 << 20;
	f.open.open.seg_size = 64000;
	f.open.open.elem_size = 1;
	len = dlcp_put_ctrl(pkt, c->cfg.local_tag, 0, 0, 0);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
	sim_inject(s, 1, pkt, len, false, s->now);
	sim_step(s, s->now);
	for (i = 0; i < 1000; i++)
		taken += piece(s, 1000 + i, i, 0, 1000, &kept) == DLCP_MORE;
	SIM_CHECK(s, taken && taken * 64000 <= (1 << 20) + (256 << 10));
	SIM_CHECK(s, c->credit.buffered <= c->cfg.rx_space + c->cfg.unsolicited);
	sim_free(s);
}

/* Pieces of what is given up would fill the receiver's room, unread and read */
static void cut__room_of_pieces(void)
{
	u32 read;

	for (read = 0; read < 2; read++) {
		struct sim_attr a = { .length = 16 << 20, .ppm = 100000 };
		struct sim *s = start(1 + read);
		struct sim_msg *m;

		a.read = read ? SIM_READ_NOW : SIM_READ_NEVER;
		s->ep[0].cfg.mtu = 8972;
		s->ep[1].cfg.mtu = 8972;
		s->ep[1].cfg.rx_space = read ? 256 << 10 : 4 << 20;
		s->ep[1].cfg.unsolicited = 64 << 10;
		s->link[0].delay = 250 * SIM_US;
		s->link[1].delay = 250 * SIM_US;
		sim_up(s);
		m = sim_send(&s->ep[0], &a);
		sim_run(s, 300 * SIM_US);
		dlcp_conn_set_mtu(&s->ep[0].c, 1472, s->now);
		s->link[0].mtu = 1472;
		lossy(s, 20000);
		if (!read)
			sim_run(s, 4 * s->ep[0].cfg.dead_ns);
		SIM_CHECK(s, !s->ep[0].error);
		sim_read(&s->ep[1], m, SIM_READ_NOW);
		sim_finish(s, 30 * SIM_S);
		end(s);
	}
}

TESTS(T(cut__sizes), T(cut__within_a_second), T(cut__bad_networks),
      T(cut__mtu_wanders), T(cut__one_segment), T(cut__hostile),
      T(cut__whole_after_a_piece), T(cut__memory),
      T(cut__room_of_pieces))
