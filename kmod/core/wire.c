// SPDX-License-Identifier: GPL-2.0
/*
 * Packets to structures and back. See wire.h for the formats.
 *
 * A reader takes a packet only if every value that can be judged without
 * knowing the connection is sound, so that nobody behind it has to ask again.
 * Reserved bits and padding are written as zero and not looked at.
 */
#include "wire.h"

#define FRAME_HDR_LEN	4
#define ACK_LEN		(FRAME_HDR_LEN + 24)
#define MAP_LEN		(FRAME_HDR_LEN + 12)
#define DONE_LEN	(FRAME_HDR_LEN + 20)
#define OPEN_LEN	(FRAME_HDR_LEN + 4 + DLCP_OPEN_LEN)
#define MSG_LEN		(FRAME_HDR_LEN + 4)
#define OFFER_LEN	(FRAME_HDR_LEN + 8)
#define SENT_LEN	(FRAME_HDR_LEN + 8)
#define GETMAP_LEN	(FRAME_HDR_LEN + 8)
#define CREDIT_LEN	(FRAME_HDR_LEN + 12)
#define WINDOW_LEN	(FRAME_HDR_LEN + 12)
#define CLOSE_LEN	(FRAME_HDR_LEN + 4)
#define RATE_LEN	(FRAME_HDR_LEN + 4)
#define RAILS_LEN	(FRAME_HDR_LEN + 4 + DLCP_RAILS_MAX * DLCP_ADDR_LEN)
#define TOKEN_LEN	(FRAME_HDR_LEN + 8)
#define FRONT_LEN	(FRAME_HDR_LEN + 4)

/* Words of a map of the largest message */
#define WORDS_MAX	BIT(26)

#define INIT_ACK_LEN	88
#define ECHO_ACK_LEN	40

#define DONE_F_BELOW	0x01
#define DONE_F_LATE	0x02

static u32 put_hdr(u8 *p, u64 tag, u8 type, u8 flags, u8 path, u8 cls)
{
	dlcp_put_be64(p, tag);
	p[8] = type;
	p[9] = flags;
	p[10] = path & (DLCP_PATHS_MAX - 1);
	p[11] = cls & 0x1f;
	return DLCP_HDR_LEN;
}

int dlcp_get_hdr(const u8 *p, u32 len, struct dlcp_hdr *h)
{
	if (len < DLCP_HDR_LEN)
		return -EBADMSG;

	h->tag = dlcp_get_be64(p);
	h->type = p[8];
	h->flags = p[9];
	h->path = p[10];
	h->cls = p[11] & 0x1f;
	if (h->type < DLCP_PT_DATA || h->type > DLCP_PT_RESET ||
	    h->path >= DLCP_PATHS_MAX ||
	    dlcp_cls_tag(h->cls) > DLCP_TAG_CRITICAL)
		return -EBADMSG;
	return 0;
}

u8 dlcp_wait_code(u64 ns)
{
	u8 e = 0;

	if (!ns)
		return 0;
	/* 0 says that there is none, so that 8 ns cannot be said */
	for (ns = clamp_t(u64, ns, 9, DLCP_WAIT_MAX); ns > 15; e++)
		ns = (ns + 1) / 2;
	return (u8)(e << 3 | (ns - 8));
}

u32 dlcp_wait_ns(u8 code)
{
	u64 ns = (u64)(8 + (code & 7)) << (code >> 3);

	return code ? (u32)min_t(u64, ns, DLCP_WAIT_MAX) : 0;
}

u32 dlcp_put_open(u8 *p, const struct dlcp_open *o)
{
	dlcp_put_be64(p, o->key);
	dlcp_put_be64(p + 8, o->length);
	dlcp_put_be32(p + 16, o->loss_ppm);
	dlcp_put_be32(p + 20, o->deadline_us);
	dlcp_put_be32(p + 24, o->nr_critical);
	dlcp_put_be16(p + 28, o->seg_size);
	dlcp_put_be16(p + 30, o->elem_size);
	p[32] = o->prio;
	p[33] = o->flags & DLCP_MSG_SENDER_FLAGS;
	p[34] = (o->has_deadline || o->deadline_us) | o->share << 1;
	p[35] = o->wait;
	dlcp_put_be32(p + 36, o->group);
	return DLCP_OPEN_LEN;
}

static u64 open_segs(const struct dlcp_open *o)
{
	/* Not DIV_ROUND_UP: length may be close to 2^64 */
	return o->length ? div_u64(o->length - 1, o->seg_size) + 1 : 0;
}

static int get_open(const u8 *p, struct dlcp_open *o)
{
	u64 segs;

	o->key = dlcp_get_be64(p);
	o->length = dlcp_get_be64(p + 8);
	o->loss_ppm = dlcp_get_be32(p + 16);
	o->deadline_us = dlcp_get_be32(p + 20);
	o->nr_critical = dlcp_get_be32(p + 24);
	o->seg_size = dlcp_get_be16(p + 28);
	o->elem_size = dlcp_get_be16(p + 30);
	o->prio = p[32];
	o->flags = p[33] & DLCP_MSG_SENDER_FLAGS;
	o->has_deadline = p[34] & 1 || o->deadline_us;
	o->share = p[34] >> 1 & DLCP_DOUBLED_MAX;
	o->wait = p[35];
	o->group = dlcp_get_be32(p + 36);

	if (!o->seg_size || !o->elem_size || o->elem_size > 256 ||
	    o->seg_size % o->elem_size || o->loss_ppm > DLCP_PPM ||
	    o->prio > DLCP_PRIO_MAX)
		return -EBADMSG;
	segs = open_segs(o);
	if (segs > U32_MAX || o->nr_critical > segs)
		return -EBADMSG;
	return 0;
}

u32 dlcp_put_data(u8 *p, u64 tag, u8 flags, u8 path, u8 cls, u32 pn, u32 msg,
		  u32 seg)
{
	put_hdr(p, tag, DLCP_PT_DATA, flags, path, cls);
	dlcp_put_be32(p + 12, pn);
	dlcp_put_be32(p + 16, msg);
	dlcp_put_be32(p + 20, seg);
	return DLCP_DATA_HDR_LEN;
}

/* Behind dlcp_put_data() with DLCP_F_PIECE */
u32 dlcp_put_piece(u8 *p, u32 off)
{
	dlcp_put_be16(p, (u16)off);
	dlcp_put_be16(p + 2, 0);
	return DLCP_PIECE_LEN;
}

/* With the open block at hand the segment has to fit the message. */
static int check_seg(const struct dlcp_data *d)
{
	const struct dlcp_open *o = &d->open;
	u64 off = (u64)d->seg * o->seg_size;

	/* An empty message is announced by an empty segment 0 */
	if (!o->length)
		return d->seg || d->len ? -EBADMSG : 0;
	if (off >= o->length ||
	    d->len != min_t(u64, o->length - off, o->seg_size))
		return -EBADMSG;
	return 0;
}

int dlcp_get_data(const u8 *p, u32 avail, u32 len, const struct dlcp_hdr *h,
		  struct dlcp_data *d)
{
	u32 off = DLCP_DATA_HDR_LEN;

	avail = min(avail, len);
	if (avail < off)
		return -EBADMSG;

	d->pn = dlcp_get_be32(p + 12);
	d->msg = dlcp_get_be32(p + 16);
	d->seg = dlcp_get_be32(p + 20);
	d->off = 0;
	if (h->flags & DLCP_F_PIECE) {
		if (h->flags & DLCP_F_OPEN || avail < off + DLCP_PIECE_LEN)
			return -EBADMSG;
		d->off = dlcp_get_be16(p + off);
		off += DLCP_PIECE_LEN;
	}
	if (h->flags & DLCP_F_OPEN) {
		off += DLCP_OPEN_LEN;
		memset(&d->open, 0, sizeof(d->open));
		if (avail < off ||
		    get_open(p + DLCP_DATA_HDR_LEN, &d->open))
			return -EBADMSG;
	}
	d->len = len - off;
	d->payload = avail == len ? p + off : NULL;

	if (h->flags & DLCP_F_OPEN) {
		if (check_seg(d))
			return -EBADMSG;
	} else if (!d->len) {
		return -EBADMSG;
	}
	return (int)off;
}

u32 dlcp_put_ctrl(u8 *p, u64 tag, u8 flags, u8 path, u32 pn)
{
	put_hdr(p, tag, DLCP_PT_CTRL, flags, path, 0);
	dlcp_put_be32(p + 12, pn);
	return DLCP_CTRL_HDR_LEN;
}

int dlcp_get_ctrl(const u8 *p, u32 len, u32 *pn)
{
	if (len < DLCP_CTRL_HDR_LEN)
		return -EBADMSG;
	*pn = dlcp_get_be32(p + 12);
	return 0;
}

static u32 frame_len(const struct dlcp_frame *f)
{
	switch (f->type) {
	case DLCP_FT_PAD:
		return FRAME_HDR_LEN;
	case DLCP_FT_ACK:
		return ACK_LEN + 8 * f->ack.nr_words;
	case DLCP_FT_OPEN:
		return OPEN_LEN;
	case DLCP_FT_OFFER:
		return OFFER_LEN;
	case DLCP_FT_SENT:
		return SENT_LEN;
	case DLCP_FT_DONE_ACK:
		return MSG_LEN;
	case DLCP_FT_MAP:
		return MAP_LEN + 8 * f->map.nr_words;
	case DLCP_FT_DONE:
		return DONE_LEN;
	case DLCP_FT_GETMAP:
		return GETMAP_LEN;
	case DLCP_FT_CREDIT:
		return CREDIT_LEN;
	case DLCP_FT_WINDOW:
		return WINDOW_LEN;
	case DLCP_FT_CLOSE:
		return CLOSE_LEN;
	case DLCP_FT_RATE:
		return RATE_LEN;
	case DLCP_FT_RAILS:
		return RAILS_LEN;
	case DLCP_FT_ASK:
	case DLCP_FT_ANSWER:
		return TOKEN_LEN;
	}
	return 0;
}

static void put_words(u8 *p, const u64 *words, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		dlcp_put_be64(p + 8 * i, words[i]);
}

static void get_words(const u8 *p, u64 *words, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		words[i] = dlcp_get_be64(p + 8 * i);
}

static void put_ack(u8 *b, const struct dlcp_f_ack *a)
{
	b[0] = a->path;
	b[1] = 0;
	dlcp_put_be16(b + 2, a->nr_words);
	dlcp_put_be32(b + 4, a->largest);
	dlcp_put_be32(b + 8, a->delay_us);
	dlcp_put_be32(b + 12, a->ce);
	dlcp_put_be32(b + 16, a->count);
	dlcp_put_be32(b + 20, a->time_us);
	put_words(b + 24, a->words, a->nr_words);
}

static void put_map(u8 *b, const struct dlcp_frame *f)
{
	dlcp_put_be32(b, f->map.msg);
	dlcp_put_be32(b + 4, f->map.first_word);
	dlcp_put_be16(b + 8, f->map.nr_words);
	dlcp_put_be16(b + 10, 0);
	put_words(b + 12, f->map.words, f->map.nr_words);
}

static void put_done(u8 *b, const struct dlcp_f_done *d)
{
	dlcp_put_be32(b, d->msg);
	dlcp_put_be32(b + 4, d->nr_missing);
	dlcp_put_be64(b + 8, d->missing);
	b[16] = d->missing ? d->why : 0;
	b[17] = (d->below_bound ? DONE_F_BELOW : 0) |
		(d->late ? DONE_F_LATE : 0);
	dlcp_put_be16(b + 18, 0);
}

u32 dlcp_put_pad(u8 *p, u32 len)
{
	p[0] = DLCP_FT_PAD;
	p[1] = 0;
	dlcp_put_be16(p + 2, (u16)len);
	return FRAME_HDR_LEN;
}

u32 dlcp_put_front(u8 *p, u32 len)
{
	p[0] = DLCP_FT_DATA;
	p[1] = 0;
	dlcp_put_be16(p + 2, FRONT_LEN);
	dlcp_put_be16(p + 4, (u16)len);
	dlcp_put_be16(p + 6, 0);
	return FRONT_LEN;
}

u32 dlcp_get_front(const u8 *p, u32 avail, u32 len)
{
	const u8 *b = p + DLCP_CTRL_HDR_LEN;
	u32 n;

	if (avail < DLCP_FRONT_LEN || b[0] != DLCP_FT_DATA ||
	    dlcp_get_be16(b + 2) != FRONT_LEN)
		return 0;
	n = dlcp_get_be16(b + 4);
	return n >= DLCP_FRONT_LEN && n < len ? n : 0;
}

static void put_body(u8 *b, const struct dlcp_frame *f)
{
	switch (f->type) {
	case DLCP_FT_ACK:
		put_ack(b, &f->ack);
		break;
	case DLCP_FT_OPEN:
		dlcp_put_be32(b, f->open.msg);
		dlcp_put_open(b + 4, &f->open.open);
		break;
	case DLCP_FT_MAP:
		put_map(b, f);
		break;
	case DLCP_FT_DONE:
		put_done(b, &f->done);
		break;
	case DLCP_FT_GETMAP:
		dlcp_put_be32(b + 4, f->msg.word);
		fallthrough;
	case DLCP_FT_DONE_ACK:
		dlcp_put_be32(b, f->msg.msg);
		break;
	case DLCP_FT_OFFER:
		dlcp_put_be32(b, f->offer.msg);
		dlcp_put_be32(b + 4, f->offer.given_up);
		break;
	case DLCP_FT_SENT:
		dlcp_put_be32(b, f->sent.msg);
		dlcp_put_be32(b + 4, f->sent.wait);
		break;
	case DLCP_FT_CREDIT:
		dlcp_put_be32(b, f->credit.msg);
		dlcp_put_be64(b + 4, f->credit.bytes);
		break;
	case DLCP_FT_WINDOW:
		dlcp_put_be32(b, f->window.max_msg);
		dlcp_put_be64(b + 4, f->window.unsolicited);
		break;
	case DLCP_FT_CLOSE:
		dlcp_put_be32(b, f->close.nr_msgs);
		break;
	case DLCP_FT_RATE:
		dlcp_put_be32(b, f->rate.rate);
		break;
	case DLCP_FT_RAILS:
		dlcp_put_be32(b, (u32)f->rails.family << 24);
		memcpy(b + 4, f->rails.addr, sizeof(f->rails.addr));
		break;
	case DLCP_FT_ASK:
	case DLCP_FT_ANSWER:
		dlcp_put_be64(b, f->token.token);
		break;
	}
}

u32 dlcp_put_frame(u8 *p, u32 room, const struct dlcp_frame *f)
{
	u32 len = frame_len(f);

	if (!len || len > room)
		return 0;
	if ((f->type == DLCP_FT_ACK && f->ack.nr_words > DLCP_ACK_WORDS_MAX) ||
	    (f->type == DLCP_FT_MAP && f->map.nr_words > DLCP_MAP_WORDS_MAX))
		return 0;

	p[0] = f->type;
	p[1] = f->flags;
	dlcp_put_be16(p + 2, (u16)len);
	put_body(p + FRAME_HDR_LEN, f);
	return len;
}

static int get_ack(const u8 *b, u32 len, struct dlcp_f_ack *a)
{
	if (len < ACK_LEN)
		return -EBADMSG;
	a->path = b[0];
	a->nr_words = dlcp_get_be16(b + 2);
	if (a->path >= DLCP_PATHS_MAX ||
	    !a->nr_words || a->nr_words > DLCP_ACK_WORDS_MAX ||
	    len != ACK_LEN + 8 * (u32)a->nr_words)
		return -EBADMSG;
	a->largest = dlcp_get_be32(b + 4);
	a->delay_us = dlcp_get_be32(b + 8);
	a->ce = dlcp_get_be32(b + 12);
	a->count = dlcp_get_be32(b + 16);
	a->time_us = dlcp_get_be32(b + 20);
	get_words(b + 24, a->words, a->nr_words);
	/* Bit 0 is the largest one itself, which came by definition */
	return a->words[0] & 1 ? 0 : -EBADMSG;
}

static int get_map(const u8 *b, u32 len, struct dlcp_f_map *m)
{
	if (len < MAP_LEN)
		return -EBADMSG;
	m->msg = dlcp_get_be32(b);
	m->first_word = dlcp_get_be32(b + 4);
	m->nr_words = dlcp_get_be16(b + 8);
	if (m->nr_words > DLCP_MAP_WORDS_MAX ||
	    len != MAP_LEN + 8 * (u32)m->nr_words ||
	    m->first_word > WORDS_MAX - m->nr_words)
		return -EBADMSG;
	get_words(b + 12, m->words, m->nr_words);
	return 0;
}

static int get_done(const u8 *b, struct dlcp_f_done *d)
{
	d->msg = dlcp_get_be32(b);
	d->nr_missing = dlcp_get_be32(b + 4);
	d->missing = dlcp_get_be64(b + 8);
	d->why = b[16];
	d->below_bound = !!(b[17] & DONE_F_BELOW);
	d->late = !!(b[17] & DONE_F_LATE);

	if (!d->missing) {
		d->why = 0;
		return d->nr_missing ? -EBADMSG : 0;
	}
	/* Each missing segment has at least one and at most 2^16 - 1 bytes */
	if (d->missing < d->nr_missing ||
	    d->missing > (u64)d->nr_missing * U16_MAX ||
	    d->why < DLCP_WHY_FORGIVEN || d->why > DLCP_WHY_DISCARDED)
		return -EBADMSG;
	return 0;
}

static int get_rails(const u8 *b, struct dlcp_f_rails *r)
{
	u32 i, k;

	r->family = b[0];
	memcpy(r->addr, b + 4, sizeof(r->addr));
	if (r->family == 6)
		return 0;
	if (r->family != 4)
		return -EBADMSG;
	for (i = 0; i < DLCP_RAILS_MAX; i++)
		for (k = 4; k < DLCP_ADDR_LEN; k++)
			if (r->addr[i][k])
				return -EBADMSG;
	return 0;
}

/* Body of a frame of @len bytes in all whose type has one size only. */
static int get_fixed(const u8 *b, u32 len, struct dlcp_frame *f)
{
	if (len != frame_len(f))
		return -EBADMSG;

	switch (f->type) {
	case DLCP_FT_OPEN:
		f->open.msg = dlcp_get_be32(b);
		return get_open(b + 4, &f->open.open);
	case DLCP_FT_DONE:
		return get_done(b, &f->done);
	case DLCP_FT_OFFER:
		f->offer.msg = dlcp_get_be32(b);
		f->offer.given_up = dlcp_get_be32(b + 4);
		return 0;
	case DLCP_FT_SENT:
		f->sent.msg = dlcp_get_be32(b);
		f->sent.wait = min(dlcp_get_be32(b + 4), DLCP_WAIT_MAX);
		return 0;
	case DLCP_FT_DONE_ACK:
		f->msg.msg = dlcp_get_be32(b);
		f->msg.word = 0;
		return 0;
	case DLCP_FT_GETMAP:
		f->msg.msg = dlcp_get_be32(b);
		f->msg.word = dlcp_get_be32(b + 4);
		return f->msg.word < WORDS_MAX ? 0 : -EBADMSG;
	case DLCP_FT_CREDIT:
		f->credit.msg = dlcp_get_be32(b);
		f->credit.bytes = dlcp_get_be64(b + 4);
		return 0;
	case DLCP_FT_WINDOW:
		f->window.max_msg = dlcp_get_be32(b);
		f->window.unsolicited = dlcp_get_be64(b + 4);
		return 0;
	case DLCP_FT_CLOSE:
		f->close.nr_msgs = dlcp_get_be32(b);
		return 0;
	case DLCP_FT_RATE:
		f->rate.rate = dlcp_get_be32(b);
		return 0;
	case DLCP_FT_RAILS:
		return get_rails(b, &f->rails);
	case DLCP_FT_ASK:
	case DLCP_FT_ANSWER:
		f->token.token = dlcp_get_be64(b);
		return 0;
	}
	return -EBADMSG;
}

int dlcp_get_frame(const u8 *p, u32 len, u32 *off, struct dlcp_frame *f)
{
	const u8 *b;
	u32 flen;
	int err;

	if (*off > len)
		return -EBADMSG;

	while (*off < len) {
		if (len - *off < FRAME_HDR_LEN)
			return -EBADMSG;
		b = p + *off;
		flen = dlcp_get_be16(b + 2);
		if (flen < FRAME_HDR_LEN || flen % 4 || flen > len - *off)
			return -EBADMSG;
		*off += flen;

		f->type = b[0];
		f->flags = b[1];
		if (f->type == DLCP_FT_PAD || f->type >= DLCP_FT_DATA)
			continue;

		b += FRAME_HDR_LEN;
		if (f->type == DLCP_FT_ACK)
			err = get_ack(b, flen, &f->ack);
		else if (f->type == DLCP_FT_MAP)
			err = get_map(b, flen, &f->map);
		else
			err = get_fixed(b, flen, f);
		return err ? err : 1;
	}
	return 0;
}

static u32 setup_len(u8 type)
{
	switch (type) {
	case DLCP_PT_INIT:
	case DLCP_PT_ECHO:
		return DLCP_SETUP_LEN;
	case DLCP_PT_INIT_ACK:
		return INIT_ACK_LEN;
	case DLCP_PT_ECHO_ACK:
		return ECHO_ACK_LEN;
	}
	return 0;
}

static bool setup_has_window(u8 type)
{
	return type == DLCP_PT_ECHO || type == DLCP_PT_ECHO_ACK;
}

static bool setup_has_cookie(u8 type)
{
	return type == DLCP_PT_INIT_ACK || type == DLCP_PT_ECHO;
}

u32 dlcp_put_setup(u8 *p, u8 type, u64 tag, const struct dlcp_setup *s)
{
	u32 len = setup_len(type);

	BUILD_BUG_ON(ECHO_ACK_LEN + DLCP_COOKIE_LEN != INIT_ACK_LEN);
	BUILD_BUG_ON(INIT_ACK_LEN > DLCP_SETUP_LEN);

	if (WARN_ON_ONCE(!len))
		return 0;
	memset(p, 0, len);
	put_hdr(p, tag, type, s->here ? DLCP_F_HERE : 0, 0, 0);
	dlcp_put_be64(p + 12, s->tag);
	dlcp_put_be16(p + 20, s->sport);
	dlcp_put_be16(p + 22, s->dport);
	p[24] = s->version_min;
	p[25] = s->version_max;
	dlcp_put_be16(p + 26, s->options);
	if (setup_has_window(type)) {
		dlcp_put_be32(p + 28, s->max_msg);
		dlcp_put_be64(p + 32, s->unsolicited);
	}
	if (setup_has_cookie(type))
		memcpy(p + 40, s->cookie, DLCP_COOKIE_LEN);
	return len;
}

int dlcp_get_setup(const u8 *p, u32 len, const struct dlcp_hdr *h,
		   struct dlcp_setup *s)
{
	u32 want = setup_len(h->type);

	/*
	 * A short INIT or ECHO would make the listener an amplifier: its
	 * answer must never be longer than what it answers.
	 */
	if (!want || len < want)
		return -EBADMSG;
	if (h->type == DLCP_PT_INIT ? h->tag : !h->tag)
		return -EBADMSG;

	memset(s, 0, sizeof(*s));
	s->here = h->flags & DLCP_F_HERE;
	s->tag = dlcp_get_be64(p + 12);
	s->sport = dlcp_get_be16(p + 20);
	s->dport = dlcp_get_be16(p + 22);
	s->version_min = p[24];
	s->version_max = p[25];
	s->options = dlcp_get_be16(p + 26);
	if (setup_has_window(h->type)) {
		s->max_msg = dlcp_get_be32(p + 28);
		s->unsolicited = dlcp_get_be64(p + 32);
	}
	if (setup_has_cookie(h->type))
		memcpy(s->cookie, p + 40, DLCP_COOKIE_LEN);

	if (!s->tag || !s->version_min || s->version_min > s->version_max)
		return -EBADMSG;
	if (h->type != DLCP_PT_INIT && s->version_min != s->version_max)
		return -EBADMSG;
	return 0;
}

u32 dlcp_put_reset(u8 *p, u64 tag, const struct dlcp_reset *r)
{
	put_hdr(p, tag, DLCP_PT_RESET, r->stray ? DLCP_F_STRAY : 0, 0, 0);
	dlcp_put_be64(p + 12, r->your_tag);
	dlcp_put_be16(p + 20, r->code);
	p[22] = r->version_min;
	p[23] = r->version_max;
	return DLCP_RESET_LEN;
}

int dlcp_get_reset(const u8 *p, u32 len, struct dlcp_reset *r)
{
	if (len < DLCP_RESET_LEN)
		return -EBADMSG;
	r->stray = p[9] & DLCP_F_STRAY;
	r->your_tag = dlcp_get_be64(p + 12);
	r->code = dlcp_get_be16(p + 20);
	r->version_min = p[22];
	r->version_max = p[23];
	/* A code of a later version still ends the connection */
	return r->code ? 0 : -EBADMSG;
}
