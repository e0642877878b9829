// SPDX-License-Identifier: GPL-2.0
/* Whatever parses, written again, parses to the same values. */
#include "wire.h"

#define MUST(c)	do { if (!(c)) ENV_DIE(#c); } while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void same_hdr(const struct dlcp_hdr *a, const u8 *p, u32 len)
{
	struct dlcp_hdr b;

	MUST(!dlcp_get_hdr(p, len, &b));
	MUST(a->tag == b.tag && a->type == b.type);
	/* Set-up and reset have neither path nor flags nor class */
	if (a->type == DLCP_PT_DATA || a->type == DLCP_PT_CTRL)
		MUST(a->path == b.path && a->flags == b.flags);
	if (a->type == DLCP_PT_DATA)
		MUST(a->cls == b.cls);
}

static void data(const u8 *p, u32 len, const struct dlcp_hdr *h)
{
	u8 out[DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN + 2048];
	struct dlcp_data d, e, part;
	u32 n;
	int off;

	memset(&d, 0, sizeof(d));
	memset(&e, 0, sizeof(e));
	memset(&part, 0, sizeof(part));
	off = dlcp_get_data(p, len, len, h, &d);
	if (off < 0)
		return;
	MUST(d.payload == p + off && (u32)off + d.len == len);

	/* With the header only, the same but for the payload */
	MUST(dlcp_get_data(p, (u32)off, len, h, &part) == off);
	MUST(part.len == d.len && (part.payload == NULL || !d.len));

	n = dlcp_put_data(out, h->tag, h->flags, h->path, h->cls, d.pn, d.msg,
			  d.seg);
	if (h->flags & DLCP_F_PIECE)
		n += dlcp_put_piece(out + n, d.off);
	if (h->flags & DLCP_F_OPEN)
		n += dlcp_put_open(out + n, &d.open);
	MUST(n == (u32)off);
	memcpy(out + n, d.payload, d.len);
	same_hdr(h, out, n + d.len);
	MUST(dlcp_get_data(out, n + d.len, n + d.len, h, &e) == off);
	e.payload = d.payload;
	MUST(!memcmp(&d, &e, sizeof(d)));
}

static void ctrl(const u8 *p, u32 len, const struct dlcp_hdr *h)
{
	u32 off = DLCP_CTRL_HDR_LEN, prev = 0, pn, pn2, n, o;
	/* Static: it is large, and unused bytes are equal in both */
	static struct dlcp_frame f, g;
	u8 out[DLCP_CTRL_HDR_LEN + 2048];
	int rc;

	if (dlcp_get_ctrl(p, len, &pn))
		return;
	dlcp_put_ctrl(out, h->tag, h->flags, h->path, pn);
	MUST(!dlcp_get_ctrl(out, DLCP_CTRL_HDR_LEN, &pn2) && pn2 == pn);
	same_hdr(h, out, DLCP_CTRL_HDR_LEN);
	n = dlcp_get_front(p, len, len);
	MUST(!n || (n >= DLCP_FRONT_LEN && n < len));
	if (n) {
		dlcp_put_front(out + DLCP_CTRL_HDR_LEN, n);
		MUST(dlcp_get_front(out, DLCP_FRONT_LEN, len) == n);
	}

	for (;;) {
		memset(&f, 0, sizeof(f));
		rc = dlcp_get_frame(p, len, &off, &f);
		if (rc <= 0)
			break;
		MUST(off > prev && off <= len);
		prev = off;
		n = dlcp_put_frame(out + DLCP_CTRL_HDR_LEN, 2048, &f);
		MUST(n && !dlcp_put_frame(out + DLCP_CTRL_HDR_LEN, n - 1, &f));
		memset(&g, 0, sizeof(g));
		o = DLCP_CTRL_HDR_LEN;
		MUST(dlcp_get_frame(out, o + n, &o, &g) == 1);
		MUST(o == DLCP_CTRL_HDR_LEN + n);
		MUST(!memcmp(&f, &g, sizeof(f)));
		MUST(dlcp_get_frame(out, o, &o, &g) == 0);
	}
	MUST(rc == -EBADMSG || off == len);
}

static void setup(const u8 *p, u32 len, const struct dlcp_hdr *h)
{
	struct dlcp_setup s, t;
	u8 out[DLCP_SETUP_LEN];
	u32 n;

	memset(&s, 0, sizeof(s));
	memset(&t, 0, sizeof(t));
	if (dlcp_get_setup(p, len, h, &s))
		return;
	n = dlcp_put_setup(out, h->type, h->tag, &s);
	MUST(n && n <= DLCP_SETUP_LEN && n <= len);
	same_hdr(h, out, n);
	MUST(!dlcp_get_setup(out, n, h, &t));
	MUST(!memcmp(&s, &t, sizeof(s)));
}

static void reset(const u8 *p, u32 len, const struct dlcp_hdr *h)
{
	struct dlcp_reset r, s;
	u8 out[32];
	u32 n;

	memset(&r, 0, sizeof(r));
	memset(&s, 0, sizeof(s));
	if (dlcp_get_reset(p, len, &r))
		return;
	n = dlcp_put_reset(out, h->tag, &r);
	same_hdr(h, out, n);
	MUST(!dlcp_get_reset(out, n, &s) && !memcmp(&r, &s, sizeof(r)));
}

int LLVMFuzzerTestOneInput(const u8 *data_, size_t size)
{
	struct dlcp_hdr h;
	u32 len = (u32)min_t(size_t, size, 2048);

	if (dlcp_get_hdr(data_, len, &h))
		return 0;
	switch (h.type) {
	case DLCP_PT_DATA:
		data(data_, len, &h);
		break;
	case DLCP_PT_CTRL:
		ctrl(data_, len, &h);
		break;
	case DLCP_PT_RESET:
		reset(data_, len, &h);
		break;
	default:
		setup(data_, len, &h);
	}
	return 0;
}
