// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "wire.h"

#define ROOM 2048

static u8 pkt[ROOM];
static struct dlcp_frame f, g;

/* With DLCP_SEEDS=directory each packet made here becomes a seed to fuzz */
static void seed(const char *name, const u8 *p, u32 len)
{
	const char *dir = getenv("DLCP_SEEDS");
	char path[512];
	FILE *out;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "wb");
	if (!out)
		return;
	fwrite(p, 1, len, out);
	fclose(out);
}

/* A copy on the heap of exactly @len bytes, for the sanitizer */
static u8 *exact(const u8 *p, u32 len)
{
	u8 *c = malloc(len ? len : 1);

	memcpy(c, p, len);
	return c;
}

static struct dlcp_open some_open(void)
{
	struct dlcp_open o;

	memset(&o, 0, sizeof(o));
	o.key = 0x0123456789abcdefULL;
	o.length = 10001;
	o.loss_ppm = 100000;
	o.deadline_us = 77;
	o.has_deadline = 1;
	o.nr_critical = 3;
	o.seg_size = 1400;
	o.elem_size = 4;
	o.prio = 5;
	o.flags = DLCP_MSG_REPORT;
	o.wait = 0x5a;
	o.share = 5;
	return o;
}

/* Result of the parser of the packet's type, whatever it is */
static int parse(const u8 *p, u32 len)
{
	static struct dlcp_frame fr;
	u32 pn, off = DLCP_CTRL_HDR_LEN;
	struct dlcp_setup s;
	struct dlcp_reset r;
	struct dlcp_data d;
	struct dlcp_hdr h;
	int rc;

	if (dlcp_get_hdr(p, len, &h))
		return -EBADMSG;
	switch (h.type) {
	case DLCP_PT_DATA:
		rc = dlcp_get_data(p, len, len, &h, &d);
		return rc < 0 ? rc : 0;
	case DLCP_PT_CTRL:
		if (dlcp_get_ctrl(p, len, &pn))
			return -EBADMSG;
		while ((rc = dlcp_get_frame(p, len, &off, &fr)) == 1)
			;
		return rc;
	case DLCP_PT_RESET:
		return dlcp_get_reset(p, len, &r);
	default:
		return dlcp_get_setup(p, len, &h, &s);
	}
}

/* Number of lengths below @len at which a cut packet is still taken */
static int taken_when_cut(const u8 *p, u32 len)
{
	int taken = 0;
	u32 n;
	u8 *c;

	for (n = 0; n < len; n++) {
		c = exact(p, n);
		taken += !parse(c, n);
		free(c);
	}
	return taken;
}

static void hdr__round_trip(void)
{
	struct dlcp_hdr h;
	int type, path, cls;

	for (type = 0; type < 256; type++) {
		for (path = 0; path < 256; path++) {
			dlcp_put_be64(pkt, 7);
			pkt[8] = (u8)type;
			pkt[9] = 0x5a;
			pkt[10] = (u8)path;
			pkt[11] = 0;
			CHECK_EQ(dlcp_get_hdr(pkt, 12, &h), type < 1 ||
				 type > 7 || path > 15 ? -EBADMSG : 0);
		}
	}
	pkt[8] = 1;
	pkt[10] = 3;
	for (cls = 0; cls < 256; cls++) {
		pkt[11] = (u8)cls;
		CHECK_EQ(dlcp_get_hdr(pkt, 12, &h),
			 (cls >> 3 & 3) == 3 ? -EBADMSG : 0);
		CHECK_EQ(h.cls, cls & 0x1f);
	}
	CHECK_EQ(dlcp_cls_prio(dlcp_cls(5, DLCP_TAG_CRITICAL)), 5);
	CHECK_EQ(dlcp_cls_tag(dlcp_cls(5, DLCP_TAG_CRITICAL)), 2);
}

static void data__round_trip(void)
{
	struct dlcp_hdr h;
	struct dlcp_data d;
	u32 len;
	u8 *c;

	len = dlcp_put_data(pkt, 0xdeadbeefcafef00dULL, DLCP_F_ACK_NOW, 15,
			    dlcp_cls(7, DLCP_TAG_DROPPABLE), 1, 2, 3);
	CHECK_EQ(len, DLCP_DATA_HDR_LEN);
	memset(pkt + len, 0xab, 100);
	seed("data", pkt, len + 100);
	c = exact(pkt, len + 100);
	CHECK_EQ(dlcp_get_hdr(c, len + 100, &h), 0);
	CHECK(h.tag == 0xdeadbeefcafef00dULL && h.type == DLCP_PT_DATA &&
	      h.flags == DLCP_F_ACK_NOW && h.path == 15);
	CHECK_EQ(dlcp_cls_prio(h.cls), 7);
	CHECK_EQ(dlcp_cls_tag(h.cls), DLCP_TAG_DROPPABLE);
	CHECK_EQ(dlcp_get_data(c, len + 100, len + 100, &h, &d), (int)len);
	CHECK(d.pn == 1 && d.msg == 2 && d.seg == 3 && d.len == 100);
	CHECK(d.payload == c + len);
	free(c);
	/* Only the head is linear */
	c = exact(pkt, len);
	CHECK_EQ(dlcp_get_data(c, len, len + 100, &h, &d), (int)len);
	CHECK(!d.payload && d.len == 100);
	/* A segment has at least a byte */
	CHECK_EQ(dlcp_get_data(c, len, len, &h, &d), -EBADMSG);
	free(c);
	/* cut in the payload it is another segment; in the head it is none */
	CHECK_EQ(taken_when_cut(pkt, len + 1), 0);
}

static void data__piece(void)
{
	struct dlcp_hdr h;
	struct dlcp_data d;
	u32 len;

	len = dlcp_put_data(pkt, 9, DLCP_F_PIECE, 1, 0, 1, 2, 3);
	len += dlcp_put_piece(pkt + len, 0xfffe);
	CHECK_EQ(len, DLCP_DATA_HDR_LEN + DLCP_PIECE_LEN);
	memset(pkt + len, 0xab, 100);
	seed("piece", pkt, len + 100);
	CHECK_EQ(dlcp_get_hdr(pkt, len, &h), 0);
	CHECK_EQ(dlcp_get_data(pkt, len, len + 100, &h, &d), (int)len);
	CHECK(d.seg == 3 && d.off == 0xfffe && d.len == 100 && !d.payload);
	/* of nothing, without all of its header, or with an open block: none */
	CHECK_EQ(dlcp_get_data(pkt, len, len, &h, &d), -EBADMSG);
	CHECK_EQ(dlcp_get_data(pkt, len - 1, len + 100, &h, &d), -EBADMSG);
	CHECK_EQ(dlcp_get_data(pkt, len - 1, len - 1, &h, &d), -EBADMSG);
	h.flags |= DLCP_F_OPEN;
	CHECK_EQ(dlcp_get_data(pkt, len + 100, len + 100, &h, &d), -EBADMSG);
}

static void data__open_block(void)
{
	struct dlcp_open o = some_open();
	struct dlcp_hdr h;
	struct dlcp_data d;
	u32 len, last = 10001 - 7 * 1400, hl = 64;

	len = dlcp_put_data(pkt, 9, DLCP_F_OPEN, 1, 0, 1, 2, 0);
	len += dlcp_put_open(pkt + len, &o);
	CHECK_EQ(len, hl);
	seed("data_open", pkt, len + 1400);
	CHECK_EQ(dlcp_get_hdr(pkt, len, &h), 0);
	CHECK_EQ(dlcp_get_data(pkt, len, len + 1400, &h, &d), (int)hl);
	CHECK(!memcmp(&d.open, &o, sizeof(o)));
	CHECK(!d.payload);
	/* Only the length its segment has */
	CHECK_EQ(dlcp_get_data(pkt, len, len + 1399, &h, &d), -EBADMSG);
	CHECK_EQ(dlcp_get_data(pkt, len, len + 1401, &h, &d), -EBADMSG);
	CHECK_EQ(dlcp_get_data(pkt, len, len, &h, &d), -EBADMSG);
	CHECK_EQ(dlcp_get_data(pkt, hl - 1, len + 1400, &h, &d), -EBADMSG);
	dlcp_put_be32(pkt + 20, 7);
	CHECK_EQ(dlcp_get_data(pkt, len, len + last, &h, &d), (int)hl);
	CHECK_EQ(dlcp_get_data(pkt, len, len + 1400, &h, &d), -EBADMSG);
	dlcp_put_be32(pkt + 20, 8);
	CHECK_EQ(dlcp_get_data(pkt, len, len + last, &h, &d), -EBADMSG);
	dlcp_put_be32(pkt + 20, U32_MAX);
	CHECK_EQ(dlcp_get_data(pkt, len, len + 1400, &h, &d), -EBADMSG);
	dlcp_put_be32(pkt + 20, 0);
	CHECK_EQ(taken_when_cut(pkt, hl + 1400), 0);
}

static void data__empty_message(void)
{
	struct dlcp_open o = some_open();
	struct dlcp_hdr h;
	struct dlcp_data d;
	u32 len;

	o.length = 0;
	o.nr_critical = 0;
	len = dlcp_put_data(pkt, 9, DLCP_F_OPEN, 1, 0, 1, 2, 0);
	len += dlcp_put_open(pkt + len, &o);
	seed("data_empty", pkt, len);
	CHECK_EQ(dlcp_get_hdr(pkt, len, &h), 0);
	CHECK_EQ(dlcp_get_data(pkt, len, len, &h, &d), (int)len);
	CHECK_EQ(d.len, 0);
	CHECK_EQ(dlcp_get_data(pkt, len, len + 1, &h, &d), -EBADMSG);
	dlcp_put_be32(pkt + 20, 1);
	CHECK_EQ(dlcp_get_data(pkt, len, len, &h, &d), -EBADMSG);
}

/* Result for an open block in a frame */
static int open_rc(const struct dlcp_open *o)
{
	u32 off = DLCP_CTRL_HDR_LEN, len;

	memset(&f, 0, sizeof(f));
	f.type = DLCP_FT_OPEN;
	f.open.open = *o;
	len = off + dlcp_put_frame(pkt + off, ROOM - off, &f);
	return dlcp_get_frame(pkt, len, &off, &g);
}

static void open__limits(void)
{
	struct dlcp_open o = some_open();

	CHECK_EQ(open_rc(&o), 1);
#define LIMIT(field, good, bad)						\
	do {								\
		o = some_open();					\
		o.field = good;						\
		CHECK_EQ(open_rc(&o), 1);				\
		CHECK(!memcmp(&g.open.open, &o, sizeof(o)));		\
		o.field = bad;						\
		CHECK_EQ(open_rc(&o), -EBADMSG);			\
	} while (0)
	LIMIT(loss_ppm, 1000000, 1000001);
	LIMIT(prio, 7, 8);
	LIMIT(seg_size, 1404, 0);
	LIMIT(seg_size, 4, 5);
	LIMIT(elem_size, 1, 0);
	LIMIT(elem_size, 200, 257);
	LIMIT(elem_size, 1, 3);
	LIMIT(nr_critical, 8, 9);
	/* Segments are numbered with 32 bits */
	LIMIT(length, 1400ULL * U32_MAX, 1400ULL * U32_MAX + 1);
	LIMIT(length, 1400ULL * U32_MAX - 1, U64_MAX);
	LIMIT(length, 9800 + 1, 2 * 1400);
	o = some_open();
	o.elem_size = 256;
	o.seg_size = 1024;
	CHECK_EQ(open_rc(&o), 1);
	o.elem_size = 512;
	CHECK_EQ(open_rc(&o), -EBADMSG);
}

static void open__deadline(void)
{
	struct dlcp_open o = some_open();

	o.deadline_us = 0;
	CHECK_EQ(open_rc(&o), 1);
	CHECK(g.open.open.has_deadline && !g.open.open.deadline_us);
	o.has_deadline = 0;
	CHECK_EQ(open_rc(&o), 1);
	CHECK(!g.open.open.has_deadline);
	o.deadline_us = 5;
	CHECK_EQ(open_rc(&o), 1);
	CHECK(g.open.open.has_deadline && g.open.open.deadline_us == 5);
	CHECK_EQ(g.open.open.share, 5);
}

static void open__only_flags_of_senders(void)
{
	struct dlcp_open o = some_open();

	o.flags = 0xff;
	CHECK_EQ(open_rc(&o), 1);
	CHECK_EQ(g.open.open.flags, DLCP_MSG_SENDER_FLAGS);
}

static void make_fixed_frame(int type)
{
	switch (type) {
	case DLCP_FT_OFFER:
		f.offer.msg = 5;
		f.offer.given_up = 0xffffffff;
		break;
	case DLCP_FT_SENT:
		f.sent.msg = 11;
		f.sent.wait = DLCP_WAIT_MAX;
		break;
	case DLCP_FT_DONE_ACK:
		f.msg.msg = 0xffffffff;
		break;
	case DLCP_FT_GETMAP:
		f.msg.msg = 6;
		f.msg.word = (1 << 26) - 1;
		break;
	case DLCP_FT_CREDIT:
		f.credit.msg = 7;
		f.credit.bytes = U64_MAX;
		break;
	case DLCP_FT_WINDOW:
		f.window.max_msg = 8;
		f.window.unsolicited = 1ULL << 40;
		break;
	case DLCP_FT_CLOSE:
		f.close.nr_msgs = 9;
		break;
	case DLCP_FT_RATE:
		f.rate.rate = 1250000;
		break;
	case DLCP_FT_RAILS:
		f.rails.family = 4;
		memcpy(f.rails.addr[1], "\x0a\x00\x01\x02", 4);
		break;
	case DLCP_FT_ASK:
	case DLCP_FT_ANSWER:
		f.token.token = 0x123456789abcdef0ULL;
		break;
	}
}

/* A valid frame of each type */
static void make_frame(int type, int nr_words)
{
	int i;

	memset(&f, 0, sizeof(f));
	f.type = (u8)type;
	f.flags = 0x42;
	switch (type) {
	case DLCP_FT_ACK:
		f.ack.path = 3;
		f.ack.nr_words = (u16)nr_words;
		f.ack.largest = 0x01020304;
		f.ack.delay_us = 55;
		f.ack.ce = 2;
		f.ack.count = U32_MAX;
		for (i = 0; i < nr_words && i < DLCP_ACK_WORDS_MAX; i++)
			f.ack.words[i] = rnd() | 1;
		break;
	case DLCP_FT_OPEN:
		f.open.msg = 12;
		f.open.open = some_open();
		break;
	case DLCP_FT_MAP:
		f.map.msg = 1;
		f.map.first_word = 99;
		f.map.nr_words = (u16)nr_words;
		for (i = 0; i < nr_words && i < DLCP_MAP_WORDS_MAX; i++)
			f.map.words[i] = rnd();
		break;
	case DLCP_FT_DONE:
		f.done.msg = 5;
		f.done.nr_missing = 2;
		f.done.missing = 2800;
		f.done.why = DLCP_WHY_STOPPED;
		f.done.late = 1;
		break;
	default:
		make_fixed_frame(type);
		break;
	}
}

static void frame__round_trip_and_cuts(void)
{
	static const int words[] = { 1, 2, 15, 16, 17, 63, 64, 65 };
	u32 off, len, n, start = DLCP_CTRL_HDR_LEN;
	char name[32];
	u8 *c;
	int t, w, max;

	for (t = DLCP_FT_ACK; t < DLCP_FT_DATA; t++) {
		max = t == DLCP_FT_ACK ? 16 : 64;
		for (w = 0; w < (int)ARRAY_SIZE(words); w++) {
			if (t != DLCP_FT_ACK && t != DLCP_FT_MAP && w)
				break;
			make_frame(t, words[w]);
			dlcp_put_ctrl(pkt, 1, DLCP_F_ELICIT, 0, 5);
			n = dlcp_put_frame(pkt + start, ROOM - start, &f);
			if (words[w] > max) {
				CHECK_EQ(n, 0);
				continue;
			}
			CHECK(n >= 4 && n % 4 == 0);
			len = start + n;
			snprintf(name, sizeof(name), "frame%d_%d", t, words[w]);
			seed(name, pkt, len);
			/* A writer stays within its room, all of which it writes */
			c = malloc(n);
			memset(c, ~pkt[start], n);
			CHECK_EQ(dlcp_put_frame(c, n, &f), n);
			CHECK(!memcmp(c, pkt + start, n));
			CHECK_EQ(dlcp_put_frame(c, n - 1, &f), 0);
			CHECK_EQ(dlcp_put_frame(c, 0, &f), 0);
			free(c);
			c = exact(pkt, len);
			off = start;
			memset(&g, 0, sizeof(g));
			CHECK_EQ(dlcp_get_frame(c, len, &off, &g), 1);
			CHECK(!memcmp(&f, &g, sizeof(f)));
			CHECK_EQ(dlcp_get_frame(c, len, &off, &g), 0);
			free(c);
			/* Cut right behind the header it is an empty packet */
			CHECK_EQ(taken_when_cut(pkt, len), 1);
			/* Any other length of the same frame is refused */
			for (max = 4; max < (int)n + 64; max += 4) {
				dlcp_put_be16(pkt + start + 2, (u16)max);
				off = start;
				CHECK_EQ(dlcp_get_frame(pkt, ROOM, &off, &g),
					 max == (int)n ? 1 : -EBADMSG);
			}
			max = t == DLCP_FT_ACK ? 16 : 64;
		}
	}
}

#define RC(want)							\
	do {								\
		n = dlcp_put_frame(pkt + start, ROOM - start, &f);	\
		off = start;						\
		CHECK_EQ(dlcp_get_frame(pkt, start + n, &off, &g), want); \
	} while (0)

static void frame__limits(void)
{
	u32 off, start = DLCP_CTRL_HDR_LEN, n;

	make_frame(DLCP_FT_ACK, 1);
	f.ack.path = 16;
	RC(-EBADMSG);
	make_frame(DLCP_FT_ACK, 0);
	RC(-EBADMSG);
	make_frame(DLCP_FT_ACK, 2);
	f.ack.words[0] &= ~1ULL;
	RC(-EBADMSG);
	make_frame(DLCP_FT_MAP, 0);
	RC(1);
	make_frame(DLCP_FT_MAP, 4);
	f.map.first_word = (1 << 26) - 4;
	RC(1);
	f.map.first_word++;
	RC(-EBADMSG);
	f.map.first_word = U32_MAX;
	RC(-EBADMSG);
	make_frame(DLCP_FT_GETMAP, 0);
	f.msg.word = 1 << 26;
	RC(-EBADMSG);
	make_frame(DLCP_FT_RAILS, 0);
	f.rails.addr[0][4] = 1;
	RC(-EBADMSG);
	f.rails.family = 6;
	RC(1);
	f.rails.family = 5;
	RC(-EBADMSG);
	/* No such type to write */
	f.type = DLCP_FT_LAST + 1;
	CHECK_EQ(dlcp_put_frame(pkt, ROOM, &f), 0);
}

static void frame__limits_of_done(void)
{
	u32 off, start = DLCP_CTRL_HDR_LEN, n;

	make_frame(DLCP_FT_DONE, 0);
	f.done.why = 0;
	RC(-EBADMSG);
	f.done.why = DLCP_WHY_DISCARDED;
	RC(1);
	f.done.why++;
	RC(-EBADMSG);
	make_frame(DLCP_FT_DONE, 0);
	f.done.missing = 1;
	RC(-EBADMSG);
	f.done.missing = 2 * 65535;
	RC(1);
	f.done.missing++;
	RC(-EBADMSG);
	f.done.missing = 0;
	RC(-EBADMSG);
	f.done.nr_missing = 0;
	RC(1);
	CHECK_EQ(g.done.why, 0);
	f.done.missing = 1;
	RC(-EBADMSG);
}

/* DATA behind CTRL: the length of the latter is somewhere in the datagram, or not there */
static void ctrl__with_data_behind(void)
{
	u8 pkt[256] = { 0 };
	u32 n, off, len;

	len = dlcp_put_ctrl(pkt, 1, 0, 0, 5);
	len += dlcp_put_front(pkt + len, 40);
	CHECK_EQ(len, DLCP_FRONT_LEN);
	for (n = 0; n <= 64; n++)
		CHECK_EQ(dlcp_get_front(pkt, n, n), n > 40 ? 40 : 0);
	seed("front", pkt, 64);
	for (n = 0; n <= 64; n++) {
		dlcp_put_front(pkt + DLCP_CTRL_HDR_LEN, n);
		CHECK_EQ(dlcp_get_front(pkt, DLCP_FRONT_LEN, 64),
			 n >= DLCP_FRONT_LEN && n < 64 ? n : 0);
	}
	/* As a frame it says nothing */
	off = DLCP_CTRL_HDR_LEN;
	CHECK_EQ(dlcp_get_frame(pkt, DLCP_FRONT_LEN, &off, &g), 0);
	dlcp_put_be16(pkt + DLCP_CTRL_HDR_LEN + 2, 12);
	CHECK_EQ(dlcp_get_front(pkt, 64, 64), 0);
	dlcp_put_pad(pkt + DLCP_CTRL_HDR_LEN, 8);
	CHECK_EQ(dlcp_get_front(pkt, 64, 64), 0);
}

/* A silence as a byte is never shorter, and little longer */
static void open__silence(void)
{
	u32 off, start = DLCP_CTRL_HDR_LEN, n;
	u64 ns, got, last = 0;

	CHECK_EQ(dlcp_wait_ns(dlcp_wait_code(0)), 0);
	for (ns = 9; ns <= DLCP_WAIT_MAX; ns += 1 + ns / 50) {
		got = dlcp_wait_ns(dlcp_wait_code(ns));
		CHECK(got >= ns && got - ns <= ns / 7 + 1 && got >= last);
		last = got;
	}
	CHECK(dlcp_wait_ns(dlcp_wait_code(1)));
	CHECK_EQ(dlcp_wait_ns(dlcp_wait_code(U64_MAX)), DLCP_WAIT_MAX);
	CHECK_EQ(dlcp_wait_ns(0xff), DLCP_WAIT_MAX);
	/* And nobody can make us wait for longer */
	make_frame(DLCP_FT_SENT, 0);
	f.sent.wait = U32_MAX;
	RC(1);
	CHECK_EQ(g.sent.wait, DLCP_WAIT_MAX);
}

static void frame__unknown_is_skipped(void)
{
	u32 off = DLCP_CTRL_HDR_LEN, len = DLCP_CTRL_HDR_LEN;

	dlcp_put_ctrl(pkt, 1, 0, 0, 5);
	memset(pkt + len, 0xee, 40);
	dlcp_put_be16(pkt + len + 2, 40);
	len += 40;
	f.type = DLCP_FT_PAD;
	len += dlcp_put_frame(pkt + len, 100, &f);
	make_frame(DLCP_FT_CREDIT, 0);
	len += dlcp_put_frame(pkt + len, 100, &f);
	make_frame(DLCP_FT_CLOSE, 0);
	len += dlcp_put_frame(pkt + len, 100, &f);
	seed("frames", pkt, len);
	CHECK_EQ(dlcp_get_frame(pkt, len, &off, &g), 1);
	CHECK_EQ(g.type, DLCP_FT_CREDIT);
	CHECK_EQ(dlcp_get_frame(pkt, len, &off, &g), 1);
	CHECK_EQ(g.type, DLCP_FT_CLOSE);
	CHECK_EQ(dlcp_get_frame(pkt, len, &off, &g), 0);
	off = len + 1;
	CHECK_EQ(dlcp_get_frame(pkt, len, &off, &g), -EBADMSG);
}

/* Every frame moves on by at least its header, or ends the packet */
static void frame__bad_lengths(void)
{
	u32 off, l;

	memset(pkt, 0, 64);
	for (l = 0; l < 70; l++) {
		pkt[DLCP_CTRL_HDR_LEN] = 0x77;
		dlcp_put_be16(pkt + DLCP_CTRL_HDR_LEN + 2, (u16)l);
		off = DLCP_CTRL_HDR_LEN;
		CHECK_EQ(dlcp_get_frame(pkt, 64, &off, &g),
			 l == 48 ? 0 : -EBADMSG);
	}
}

static void ctrl__round_trip(void)
{
	struct dlcp_hdr h;
	u32 pn;

	CHECK_EQ(dlcp_put_ctrl(pkt, 77, DLCP_F_ELICIT, 2, 0xfffffffe), 16);
	seed("ctrl", pkt, 16);
	CHECK_EQ(dlcp_get_hdr(pkt, 16, &h), 0);
	CHECK(h.tag == 77 && h.type == DLCP_PT_CTRL && h.path == 2 &&
	      h.flags == DLCP_F_ELICIT);
	CHECK_EQ(dlcp_get_ctrl(pkt, 15, &pn), -EBADMSG);
	CHECK_EQ(dlcp_get_ctrl(pkt, 16, &pn), 0);
	CHECK(pn == 0xfffffffe);
}

static struct dlcp_setup some_setup(int type)
{
	struct dlcp_setup s;

	memset(&s, 0, sizeof(s));
	s.tag = 0x1111222233334444ULL;
	s.sport = 1234;
	s.dport = 5678;
	s.version_min = 1;
	s.version_max = type == DLCP_PT_INIT ? 3 : 1;
	s.options = 0xbeef;
	if (type == DLCP_PT_ECHO || type == DLCP_PT_ECHO_ACK) {
		s.max_msg = 64;
		s.unsolicited = 1 << 20;
	}
	if (type == DLCP_PT_INIT_ACK || type == DLCP_PT_ECHO)
		memset(s.cookie, 0xc0, sizeof(s.cookie));
	return s;
}

static void setup__round_trip(void)
{
	static const u32 lens[] = { 128, 88, 128, 40 };
	struct dlcp_setup s, t;
	struct dlcp_hdr h;
	char name[32];
	u32 len;
	int type;

	for (type = DLCP_PT_INIT; type <= DLCP_PT_ECHO_ACK; type++) {
		s = some_setup(type);
		memset(pkt, 0xff, sizeof(pkt));
		len = dlcp_put_setup(pkt, (u8)type,
				     type == DLCP_PT_INIT ? 0 : 99, &s);
		CHECK_EQ(len, lens[type - DLCP_PT_INIT]);
		CHECK_EQ(pkt[len], 0xff);
		snprintf(name, sizeof(name), "setup%d", type);
		seed(name, pkt, len);
		CHECK_EQ(dlcp_get_hdr(pkt, len, &h), 0);
		CHECK_EQ(h.type, type);
		memset(&t, 0, sizeof(t));
		CHECK_EQ(dlcp_get_setup(pkt, len, &h, &t), 0);
		CHECK(!memcmp(&s, &t, sizeof(s)));
		CHECK_EQ(taken_when_cut(pkt, len), 0);
	}
}

static void setup__limits(void)
{
	struct dlcp_setup s = some_setup(DLCP_PT_INIT), t;
	struct dlcp_hdr h = { .type = DLCP_PT_INIT };

	dlcp_put_setup(pkt, DLCP_PT_INIT, 0, &s);
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), 0);
	/* INIT has no tag to be sent to, all others have */
	h.tag = 1;
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), -EBADMSG);
	h.type = DLCP_PT_ECHO;
	s = some_setup(DLCP_PT_ECHO);
	dlcp_put_setup(pkt, DLCP_PT_ECHO, 1, &s);
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), 0);
	h.tag = 0;
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), -EBADMSG);
	h.tag = 1;
	s.version_max = 2;
	dlcp_put_setup(pkt, DLCP_PT_ECHO, 1, &s);
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), -EBADMSG);
	s = some_setup(DLCP_PT_ECHO);
	s.version_min = 0;
	s.version_max = 0;
	dlcp_put_setup(pkt, DLCP_PT_ECHO, 1, &s);
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), -EBADMSG);
	s = some_setup(DLCP_PT_ECHO);
	s.tag = 0;
	dlcp_put_setup(pkt, DLCP_PT_ECHO, 1, &s);
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), -EBADMSG);
	h.type = DLCP_PT_DATA;
	CHECK_EQ(dlcp_get_setup(pkt, 128, &h, &t), -EBADMSG);
}

/* A listener that kept nothing must not send more than it was sent */
static void setup__no_amplification(void)
{
	struct dlcp_setup s = some_setup(DLCP_PT_INIT);

	CHECK(dlcp_put_setup(pkt, DLCP_PT_INIT_ACK, 1, &s) <=
	      dlcp_put_setup(pkt, DLCP_PT_INIT, 0, &s));
	CHECK(dlcp_put_setup(pkt, DLCP_PT_ECHO_ACK, 1, &s) <=
	      dlcp_put_setup(pkt, DLCP_PT_ECHO, 1, &s));
}

static void reset__round_trip(void)
{
	struct dlcp_reset r, t;
	struct dlcp_hdr h;

	memset(&r, 0, sizeof(r));
	r.your_tag = 0x123456789ULL;
	r.code = DLCP_RST_VERSION;
	r.version_min = 1;
	r.version_max = 9;
	CHECK_EQ(dlcp_put_reset(pkt, 31, &r), 24);
	seed("reset", pkt, 24);
	CHECK_EQ(dlcp_get_hdr(pkt, 24, &h), 0);
	CHECK(h.type == DLCP_PT_RESET && h.tag == 31);
	memset(&t, 0, sizeof(t));
	CHECK_EQ(dlcp_get_reset(pkt, 24, &t), 0);
	CHECK(!memcmp(&r, &t, sizeof(r)));
	CHECK_EQ(taken_when_cut(pkt, 24), 0);
	dlcp_put_be16(pkt + 20, 0);
	CHECK_EQ(dlcp_get_reset(pkt, 24, &t), -EBADMSG);
}

/* No input makes a parser read or write out of bounds, or go on for ever */
static void parsers__mutated_packets(void)
{
	struct dlcp_open o = some_open();
	struct dlcp_setup s;
	u32 len, k, n;
	u8 *c;
	int i, t;

	for (i = 0; i < 60000; i++) {
		t = (int)rnd_below(17);
		if (t < 10) {
			len = dlcp_put_ctrl(pkt, 1, 0, 0, 5);
			for (k = 0; k < 3; k++) {
				make_frame(1 + (t + (int)k) % 10,
					   1 + (int)rnd_below(16));
				len += dlcp_put_frame(pkt + len, ROOM - len,
						      &f);
			}
		} else if (t < 14) {
			s = some_setup(t - 7);
			len = dlcp_put_setup(pkt, (u8)(t - 7), t != 10, &s);
		} else if (t < 16) {
			len = dlcp_put_data(pkt, 1, DLCP_F_OPEN, 0, 0, 1, 2, 7);
			len += dlcp_put_open(pkt + len, &o);
			len += 201;
		} else {
			len = (u32)rnd_below(200);
			for (k = 0; k < len; k++)
				pkt[k] = (u8)rnd();
			pkt[8] = (u8)(1 + rnd_below(7));
			pkt[10] = 0;
			pkt[11] = 0;
		}
		for (n = (u32)rnd_below(4); n && len; n--)
			pkt[rnd_below(len)] = (u8)(rnd() & 1 ? rnd() :
						   1 << rnd_below(8));
		if (!(rnd() & 7))
			len = (u32)rnd_below(len + 1);
		c = exact(pkt, len);
		k = (u32)parse(c, len);
		CHECK(!k || k == (u32)-EBADMSG);
		free(c);
	}
}

/* Is a DATA packet with byte @at of its header changed by @by the next one? */
static u32 follows(u32 at, u8 by)
{
	u8 first[DLCP_DATA_HDR_LEN], p[DLCP_DATA_HDR_LEN];

	dlcp_put_data(first, 7, DLCP_F_HERE, 1, 3, 100, 5, 40);
	dlcp_put_data(p, 7, DLCP_F_HERE, 1, 3, 102, 5, 42);
	p[at] ^= by;
	return dlcp_data_follows(p, dlcp_get_words(first), 2);
}

static void data__follows(void)
{
	u32 at;

	CHECK(follows(0, 0) == 1);
	CHECK(follows(9, DLCP_F_ACK_NOW) == 2);
	CHECK(follows(9, DLCP_F_ACK_NOW | DLCP_F_SENT) == 2);
	CHECK(!follows(9, DLCP_F_HERE));
	CHECK(!follows(9, DLCP_F_OPEN));
	for (at = 0; at < DLCP_DATA_HDR_LEN; at++)
		CHECK(at == 9 || !follows(at, 1));
}

TESTS(T(hdr__round_trip),
      T(data__round_trip), T(data__piece), T(data__follows),
      T(data__open_block),
      T(data__empty_message),
      T(open__limits),
      T(open__deadline),
      T(open__only_flags_of_senders), T(open__silence),
      T(frame__round_trip_and_cuts),
      T(frame__limits),
      T(frame__limits_of_done),
      T(frame__unknown_is_skipped),
      T(frame__bad_lengths),
      T(ctrl__round_trip), T(ctrl__with_data_behind),
      T(setup__round_trip),
      T(setup__limits),
      T(setup__no_amplification),
      T(reset__round_trip),
      T(parsers__mutated_packets))
