/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of whole connections share. */
#ifndef _DLCP_TEST_CONN_H
#define _DLCP_TEST_CONN_H

#include "sim.h"
#include "test.h"

static struct sim sim;

static void on_fail(void)
{
	longjmp(test_jmp, 1);
}

static inline struct sim *start(u64 seed)
{
	sim_on_fail = on_fail;
	sim_init(&sim, seed);
	return &sim;
}

static inline void lossy(struct sim *s, u32 ppm)
{
	s->link[0].loss = ppm;
	s->link[1].loss = ppm;
}

static inline void end(struct sim *s)
{
	sim_close(s);
	sim_free(s);
}

static u32 next_pn;

/* ep[1] is the victim; what is injected is as if ep[0] had sent it */
static inline struct sim *victim(struct sim *s)
{
	sim_up(s);
	s->tainted = true;
	next_pn = 100000;
	return s;
}

/* A victim that talks to nobody else: its messages stay, as DONE gets no answer */
static inline struct sim *receiver(void)
{
	struct sim *s = victim(start(1));

	s->ep[1].strangers = SIM_READ_NOW;
	s->ep[0].mute = true;
	s->link[1].down = true;
	return s;
}

static inline enum dlcp_verdict take_frame(struct sim *s, const struct dlcp_frame *f)
{
	struct dlcp_arrival a = { .now = s->now, .wire = s->now };
	struct sim_ep *e = &s->ep[1];
	u8 pkt[DLCP_CTRL_HDR_LEN + 1024];
	enum dlcp_verdict v;
	struct dlcp_hdr h;
	u32 len;

	len = dlcp_put_ctrl(pkt, e->cfg.local_tag, DLCP_F_ELICIT, 0, next_pn++);
	len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, f);
	SIM_CHECK(s, !dlcp_get_hdr(pkt, len, &h));
	v = dlcp_conn_rx_other(&e->c, &h, pkt, len, &a);
	sim_kick(e);
	return v;
}

/* A message of elements of a byte. @o: all else that its OPEN says */
static inline enum dlcp_verdict take_open_as(struct sim *s, u32 msg, struct dlcp_open o)
{
	struct dlcp_frame f = { .type = DLCP_FT_OPEN, .open = { msg, o } };

	f.open.open.elem_size = 1;
	return take_frame(s, &f);
}

static inline enum dlcp_verdict take_open(struct sim *s, u32 msg, u64 length,
				   u16 seg_size)
{
	return take_open_as(s, msg, (struct dlcp_open) {
		.length = length, .seg_size = seg_size });
}

static inline enum dlcp_verdict take_data_as(struct sim *s, u32 msg, u32 seg, u32 bytes,
					     u8 flags)
{
	struct dlcp_arrival a = { .now = s->now, .wire = s->now };
	struct dlcp_data d = { .pn = next_pn++, .msg = msg, .seg = seg,
			       .len = bytes };
	struct dlcp_hdr h = { .type = DLCP_PT_DATA, .flags = flags };
	struct sim_ep *e = &s->ep[1];
	struct dlcp_rxmsg *m;
	enum dlcp_verdict v;
	void *kept;

	v = dlcp_conn_rx_data(&e->c, &h, &d, &a, &m, &kept);
	SIM_CHECK(s, !m == (v != DLCP_OK));
	return v;
}

static inline enum dlcp_verdict take_data(struct sim *s, u32 msg, u32 seg,
					  u32 bytes)
{
	return take_data_as(s, msg, seg, bytes, 0);
}

static const u32 bounds[] = { 0, 1000, 10000, 100000, 1000000 };

#endif
