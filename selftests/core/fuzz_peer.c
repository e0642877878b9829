// SPDX-License-Identifier: GPL-2.0
/*
 * One engine, and a peer that says whatever the input has: bytes become
 * packets with the right tag. Whatever comes, memory, counters and limits are
 * what they should be, and the engine comes to rest (see ep_check()).
 */
#include "sim.h"

struct input {
	const u8 *p;
	size_t	left;
};

static u64 in(struct input *i, u32 bytes)
{
	u64 v = 0;

	for (; bytes && i->left; bytes--, i->left--)
		v = v << 8 | *i->p++;
	return v;
}

/* The next @len bytes as they are */
static u32 in_bytes(struct input *i, u8 *to, u32 len)
{
	len = (u32)min_t(size_t, len, i->left);
	memcpy(to, i->p, len);
	i->p += len;
	i->left -= len;
	return len;
}

static void from_peer(struct sim *s, struct input *i, u8 op)
{
	struct sim_ep *e = &s->ep[1];
	u8 pkt[DLCP_CTRL_HDR_LEN + 2048];
	u32 len, frame;

	memset(pkt, 0, sizeof(pkt));
	if (op < 6) {
		/* Frames; the length of the first is right */
		len = dlcp_put_ctrl(pkt, e->cfg.local_tag, (u8)in(i, 1),
				    (u8)in(i, 1) % 18, (u32)in(i, 2) - 100);
		frame = 4 + in_bytes(i, pkt + len + 4, (u32)in(i, 1) * 4);
		pkt[len] = op * 2 + (u8)in(i, 1) % (op < 5 ? 2 : 6);
		pkt[len + 2] = (u8)(frame >> 8);
		pkt[len + 3] = (u8)frame;
		len += frame;
		len += in_bytes(i, pkt + len, (u32)in(i, 1) % 128);
	} else if (op < 10) {
		len = dlcp_put_data(pkt, e->cfg.local_tag, (u8)in(i, 1),
				    (u8)in(i, 1) % 18, (u8)in(i, 1),
				    (u32)in(i, 2) - 100, (u32)in(i, 1),
				    (u32)in(i, 1));
		if (op == 9)
			pkt[16 + in(i, 1) % 8] ^= (u8)in(i, 1);
		if (pkt[9] & DLCP_F_OPEN)
			len += in_bytes(i, pkt + len, DLCP_OPEN_LEN);
		if (pkt[9] & DLCP_F_PIECE)
			len += dlcp_put_piece(pkt + len, (u32)in(i, 2));
		len += (u32)in(i, 2) % 1500;
	} else {
		/* Set-up, resets, and what is not known */
		len = in_bytes(i, pkt + 8, 1 + (u32)in(i, 1)) + 8;
		pkt[8] = (u8)(DLCP_PT_INIT_ACK + pkt[8] % 6);
		dlcp_put_be64(pkt, e->cfg.local_tag);
		len = max_t(u32, len, pkt[9] & 1 ? DLCP_SETUP_LEN : 0);
	}
	sim_inject(s, 1, pkt, len, op & 1, s->now);
	sim_step(s, s->now);
}

static void from_user(struct sim *s, struct input *i)
{
	struct sim_ep *e = &s->ep[1];
	struct sim_attr a = { 0 };
	u8 b = (u8)in(i, 1);

	switch (b % 8) {
	case 0 ... 2:
		a.length = in(i, 2) << b / 64;
		a.ppm = b & 8 ? 100000 : 0;
		a.flags = b & DLCP_MSG_SENDER_FLAGS;
		a.critical = b & 16 ? 20 : 0;
		if (dlcp_conn_may_send(&e->c) && e->nr_msgs < 16)
			sim_send(e, &a);
		return;
	case 3:
		e->strangers = (enum sim_read)(b / 8 % 3);
		break;
	case 4:
		e->alloc_fail = (u32)in(i, 1) * 2000;
		break;
	case 5:
		dlcp_conn_set_mtu(&e->c, 300 + (u32)in(i, 2) % 9000, s->now);
		break;
	case 6:
		e->c.cfg.rx_space = 4096ULL << b / 32;
		break;
	default:
		if (b & 8)
			dlcp_conn_shutdown(&e->c, s->now);
		else if (b & 16)
			dlcp_conn_soft_error(&e->c, EHOSTUNREACH);
		break;
	}
	sim_kick(e);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input i = { .p = data, .left = size };
	struct dlcp_setup echo = { .tag = 77, .version_min = DLCP_VERSION,
				   .version_max = DLCP_VERSION };
	struct sim_ep *e;
	struct sim s;
	u8 op;

	sim_init(&s, 1);
	s.tainted = true;
	s.ep[0].mute = true;
	s.link[1].down = true;
	e = &s.ep[1];
	op = (u8)in(&i, 1);
	e->cfg.nr_paths = 1 + op % 4;
	e->cfg.cong = dlcp_cong_all[op / 4 % 3];
	e->cfg.max_msg_len = 1ULL << (op & 16 ? 40 : 20);
	e->cfg.rx_space = op & 32 ? 65536 : 1 << 20;
	if (op & 64)
		sim_rails(&s, 1 + op / 128);
	echo.max_msg = (u32)in(&i, 2);
	echo.unsolicited = in(&i, 3);
	if (!dlcp_conn_init(&e->c, &e->cfg, s.now)) {
		e->live = true;
		dlcp_conn_accept(&e->c, &echo, s.now);
		sim_kick(e);
		while (i.left && e->c.state != DLCP_CLOSED) {
			op = (u8)in(&i, 1) % 16;
			if (op < 12)
				from_peer(&s, &i, op);
			else if (op < 14)
				from_user(&s, &i);
			else
				sim_run(&s, in(&i, 2) << (op == 14 ? 8 : 14));
		}
	}
	sim_free(&s);
	return 0;
}
