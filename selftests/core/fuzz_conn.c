// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes choose what two engines do and what a hostile channel does to them:
 * it drops, repeats, reorders, delays. All promises are checked after every
 * step, and in the end, the channel healed, everything must be delivered,
 * reported alike and freed. Once the channel forges packets, which it can
 * only do knowing the tags, what is checked is what each end can see alone:
 * memory, counters, limits.
 */
#include "sim.h"

struct input {
	const u8 *p;
	size_t	left;
};

static u8 in_u8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static u32 in_u16(struct input *in)
{
	return in_u8(in) | (u32)in_u8(in) << 8;
}

static const u32 fuzz_ppm[] = {
	0, 0, 1, 1000, 10000, 100000, 500000, 1000000,
};

/* A peer so long silent is dead. The channel is not bad for as long: nobody could
 * tell one that came back just then from one that did not.
 */
#define DEAD	(1000 * SIM_S)

static void fuzz_cfg(struct sim *s, struct input *in)
{
	u32 i, rails = 0;
	u8 b;

	for (i = 0; i < 2; i++) {
		struct dlcp_conn_cfg *c = &s->ep[i].cfg;

		b = in_u8(in);
		c->nr_paths = 1 + b % 4;
		c->mtu = b & 4 ? 1472 : 300 + in_u8(in);
		c->rx_space = 8192ULL << (b >> 3) % 8;
		c->unsolicited = c->rx_space >> (b >> 6);
		c->ack_packets = 1 + in_u8(in) % 32;
		c->max_msg_len = 1 << 20;
		c->cong = dlcp_cong_all[in_u8(in) % 3];
		c->max_rate = 1000000000;
		c->dead_ns = DEAD;
		b = in_u8(in);
		s->ep[i].max_segs = 1 + b % 16;
		rails |= b >> 6;
	}
	if (rails)
		sim_rails(s, rails);
}

static void fuzz_link(struct sim *s, struct input *in)
{
	struct sim_link *l = &s->link[in_u8(in) % 2];
	u8 b = in_u8(in);

	switch (b % 8) {
	case 0:
		l->loss = in_u8(in) * 3000;
		break;
	case 1:
		l->dup = in_u8(in) * 3000;
		break;
	case 2:
		l->reorder = in_u8(in) * 3000;
		l->reorder_delay = SIM_US << in_u8(in) % 14;
		break;
	case 3:
		l->delay = SIM_US << in_u8(in) % 12;
		break;
	case 4:
		l->ctrl_loss = in_u8(in) * 3000;
		break;
	case 5:
		l->dead_paths = in_u8(in);
		break;
	case 6:
		l->down = in_u8(in) & 1;
		break;
	default:
		l->rate = 10000000ULL << in_u8(in) % 10;
		l->mark = in_u8(in) * 100;
		break;
	}
}

static void fuzz_heal(struct sim *s)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct sim_link *l = &s->link[i];

		l->loss = 0;
		l->dup = 0;
		l->reorder = 0;
		l->ctrl_loss = 0;
		l->setup_loss = 0;
		l->dead_paths = 0;
		l->down = false;
		l->delay = 20 * SIM_US;
		l->rate = 1000000000;
		s->ep[i].alloc_fail = 0;
		s->ep[i].refuse = 0;
	}
}

/* In a sixteenth of all cases the last one: it came later than the inputs of
 * corpus/, which shall mean what they meant
 */
static enum sim_read fuzz_read(u8 b)
{
	return b >> 4 == 0xe ? SIM_READ_POLL : (enum sim_read)(b % 4);
}

static void fuzz_send(struct sim *s, struct input *in)
{
	struct sim_ep *e = &s->ep[in_u8(in) % 2];
	u8 b = in_u8(in);
	struct sim_attr a = {
		.length = in_u16(in) << b % 3,
		.ppm = fuzz_ppm[(b >> 2) % 8],
		.elem = 1 + (b >> 5),
		.read = fuzz_read(in_u8(in)),
		.flags = in_u8(in) & DLCP_MSG_SENDER_FLAGS,
		.prio = in_u8(in) % 8,
		.discard_after = in_u16(in),
	};

	b = in_u8(in);
	a.critical = b % 3 * 15;
	a.droppable = (b >> 2) % 3 * 20;
	a.deadline_us = b & 0x30 ? 0 : in_u16(in);
	a.group = b >> 6;
	if (e->live && dlcp_conn_may_send(&e->c) && e->nr_msgs < 64)
		sim_send(e, &a);
}

static void fuzz_frame(struct input *in, struct dlcp_frame *f)
{
	u32 i;
	u8 b;

	memset(f, 0, sizeof(*f));
	b = in_u8(in);
	/* One in 21, for the same reason as in fuzz_read() */
	f->type = b >= 0xf4 ? DLCP_FT_SENT : b % 12;
	/* Same place in all frames but ACK: the message */
	f->msg.msg = in_u8(in) % 8;
	switch (f->type) {
	case DLCP_FT_ACK:
		f->ack.path = in_u8(in) % 5;
		f->ack.largest = in_u16(in) - 100;
		f->ack.nr_words = 1 + in_u8(in) % DLCP_ACK_WORDS_MAX;
		f->ack.ce = in_u8(in);
		for (i = 0; i < f->ack.nr_words; i++)
			f->ack.words[i] = in_u8(in) * 0x0101010101010101ULL | !i;
		break;
	case DLCP_FT_OPEN:
		f->open.open.length = in_u16(in) << in_u8(in) % 6;
		f->open.open.loss_ppm = fuzz_ppm[in_u8(in) % 8];
		f->open.open.elem_size = 1;
		f->open.open.seg_size = (u16)(1 + in_u16(in));
		f->open.open.prio = in_u8(in) % 8;
		f->open.open.flags = in_u8(in) & 7;
		break;
	case DLCP_FT_MAP:
		f->map.first_word = in_u8(in) % 4;
		f->map.nr_words = in_u8(in) % 8;
		for (i = 0; i < f->map.nr_words; i++)
			f->map.words[i] = in_u8(in) * 0x0101010101010101ULL;
		break;
	case DLCP_FT_DONE:
		f->done.nr_missing = in_u8(in);
		f->done.missing = in_u16(in);
		f->done.why = in_u8(in) % 5;
		break;
	case DLCP_FT_OFFER:
		/* no byte of the input: those of corpus/ shall mean what they meant */
		f->offer.given_up = 1U << f->offer.msg;
		break;
	case DLCP_FT_SENT:
		f->sent.wait = 1U << 4 * f->sent.msg;
		break;
	case DLCP_FT_GETMAP:
		f->msg.word = in_u8(in) % 8;
		break;
	case DLCP_FT_CREDIT:
		f->credit.bytes = in_u16(in) * 1000ULL;
		break;
	case DLCP_FT_WINDOW:
		f->window.max_msg = in_u16(in) - 1000;
		f->window.unsolicited = in_u16(in) * 100ULL;
		break;
	default:
		break;
	}
}

/* A packet only someone who knows the tag could send */
static void fuzz_forge(struct sim *s, struct input *in)
{
	u8 b = in_u8(in);
	struct sim_ep *e = &s->ep[b & 1];
	u64 tag = e->cfg.local_tag;
	u8 path = in_u8(in) % 17;
	u32 pn = in_u16(in) - 200;
	struct dlcp_frame f;
	u8 pkt[2048];
	u32 len, n;

	s->tainted = true;
	memset(pkt, 0x5a, sizeof(pkt));
	if (b & 2) {
		len = dlcp_put_ctrl(pkt, tag, in_u8(in) & DLCP_F_ELICIT, path,
				    pn);
		for (n = b >> 2 & 3; n; n--) {
			fuzz_frame(in, &f);
			len += dlcp_put_frame(pkt + len, sizeof(pkt) - len,
					      &f);
		}
	} else {
		len = dlcp_put_data(pkt, tag, in_u8(in) & (7 | DLCP_F_PIECE |
						   DLCP_F_SENT),
				    path, in_u8(in),
				    pn, in_u8(in) % 8, in_u8(in));
		f.type = DLCP_FT_OPEN;
		if (pkt[9] & DLCP_F_OPEN) {
			memset(&f, 0, sizeof(f));
			f.open.open.length = in_u16(in);
			f.open.open.seg_size = (u16)(1 + in_u8(in) * 4);
			f.open.open.elem_size = 1;
			f.open.open.nr_critical = in_u8(in) % 4;
			f.open.open.flags = in_u8(in) & 7;
			len += dlcp_put_open(pkt + len, &f.open.open);
		}
		if (pkt[9] & DLCP_F_PIECE)
			len += dlcp_put_piece(pkt + len, in_u16(in) % 2048);
		len += in_u16(in) % 1500;
	}
	sim_inject(s, e->n, pkt, len, b & 0x80, s->now + in_u8(in) * 1000);
}

/* Bytes of a packet on its way are changed */
static bool fuzz_meddle(struct sim *s, struct sim_pkt *k)
{
	u32 n = 1 + (u32)sim_below(s, 3);

	if (!s->tainted || !sim_chance(s, *(u32 *)s->arg))
		return true;
	while (n-- && k->len > 8)
		k->p[8 + sim_below(s, min_t(u32, k->len - 8, 80))] ^=
			(u8)(1 << sim_below(s, 8));
	return true;
}

static void fuzz_misc(struct sim *s, struct input *in)
{
	u8 b = in_u8(in);
	struct sim_ep *e = &s->ep[b & 1];

	if (!e->live)
		return;
	switch (b >> 1 & 7) {
	case 0:
		sim_shutdown(e);
		break;
	case 1:
		dlcp_conn_set_mtu(&e->c, 300 + in_u16(in) % 1500, s->now);
		sim_kick(e);
		break;
	case 2:
		e->fill_step = in_u8(in);
		break;
	case 3:
		e->alloc_fail = in_u8(in) * 2000;
		break;
	case 4:
		e->refuse = in_u8(in) * 2000;
		break;
	case 5:
		dlcp_conn_soft_error(&e->c, EHOSTUNREACH);
		sim_kick(e);
		break;
	default:
		b = in_u8(in);
		if (e->peer->nr_msgs && e->peer->live)
			sim_read(e, e->peer->msgs[b % e->peer->nr_msgs],
				 fuzz_read(b >> 6 | (b & 0x3c) << 2));
		break;
	}
}

/* All answers to ECHO got lost for so long that the client has begun again. It is
 * told of another connection, which the listener of sim_listen.c does not make.
 */
static bool fuzz_parted(const struct sim *s)
{
	return s->ep[0].c.setup.anew && (s->ep[1].live || s->ep[1].gone);
}

static void fuzz_end(struct sim *s)
{
	u32 i, k;

	fuzz_heal(s);
	while (s->ep[0].c.state == DLCP_INIT_SENT ||
	       s->ep[0].c.state == DLCP_ECHO_SENT) {
		if (fuzz_parted(s))
			return;
		SIM_CHECK(s, sim_step(s, s->now + 10 * SIM_S));
	}
	for (i = 0; i < 2; i++) {
		s->ep[i].fill_step = 0;
		for (k = 0; k < s->ep[i].nr_msgs; k++) {
			/* Polled ones complete one after the other */
			if (s->ep[i].msgs[k]->read != SIM_READ_POLL)
				s->ep[i].msgs[k]->read = SIM_READ_DONE;
			if (s->ep[i].live && !s->ep[i].msgs[k]->done)
				dlcp_conn_fill(&s->ep[i].c,
					       &s->ep[i].msgs[k]->tx,
					       s->ep[i].msgs[k]->nr_segs);
		}
	}
	sim_kick(&s->ep[0]);
	sim_kick(&s->ep[1]);
	sim_finish(s, 500 * SIM_S);
	sim_close(s);
}

static void fuzz_setup(struct sim *s, struct input *in, u32 *rewrite)
{
	sim_init(s, in_u8(in));
	fuzz_cfg(s, in);
	s->may_forget = true;
	s->meddle = fuzz_meddle;
	s->arg = rewrite;
	if (in_u8(in) & 1)
		sim_connect(s);
	else
		sim_up(s);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	u32 rewrite = 0, steps = 0, n;
	bool aborted = false;
	struct sim s;
	u8 b;

	fuzz_setup(&s, &in, &rewrite);
	while (in.left && steps < 20000 && !aborted && s.now < DEAD / 2) {
		b = in_u8(&in);
		switch (b % 16) {
		case 0 ... 3:
			fuzz_send(&s, &in);
			break;
		case 4 ... 5:
			fuzz_link(&s, &in);
			break;
		case 6 ... 7:
			fuzz_misc(&s, &in);
			break;
		case 8:
			if (b < 128)
				break;
			fuzz_forge(&s, &in);
			break;
		case 9:
			if (b < 224)
				break;
			s.tainted = true;
			rewrite = in_u8(&in) * 1000;
			break;
		case 10:
			if (b != 250)
				break;
			aborted = true;
			dlcp_conn_abort(&s.ep[0].c, ECONNABORTED, "fuzz");
			sim_kick(&s.ep[0]);
			break;
		case 11:
			sim_run(&s, SIM_US << in_u8(&in) % 20);
			break;
		default:
			for (n = in_u8(&in); n && steps < 20000; n--, steps++)
				sim_step(&s, s.now + 100 * SIM_MS);
			break;
		}
	}
	if (s.tainted || aborted || s.ep[0].error || s.ep[1].error)
		sim_run(&s, 100 * SIM_MS);
	else
		fuzz_end(&s);
	sim_free(&s);
	return 0;
}
