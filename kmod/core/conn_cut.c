// SPDX-License-Identifier: GPL-2.0
/*
 * Segments in pieces (cut.h). What a message's maps, tags, bound and report
 * speak of stays the segment: it counts as acknowledged, or received, when all
 * of it is, and one piece that is given up gives up all of it.
 */
#include "conn_int.h"

static struct dlcp_cut *cut_find(const struct rb_root *cuts, u32 key)
{
	struct dlcp_tnode *n = dlcp_tree_find(cuts, key);

	return n ? container_of(n, struct dlcp_cut, node) : NULL;
}

static struct dlcp_cut *cut_add(struct dlcp_conn *c, struct rb_root *cuts,
				u32 key)
{
	struct dlcp_cut *cut = c->cfg.ops->alloc(c, sizeof(*cut));

	if (cut)
		dlcp_tree_add(cuts, &cut->node, key);
	return cut;
}

static void cut_del(struct dlcp_conn *c, struct rb_root *cuts,
		    struct dlcp_cut *cut)
{
	dlcp_tree_del(cuts, &cut->node);
	c->cfg.ops->free(c, cut, sizeof(*cut));
}

/* The units of the @len bytes at @off of a segment */
static u64 cut_range(const struct dlcp_open *o, u32 off, u32 len)
{
	u32 unit = dlcp_cut_unit(o);

	return dlcp_cut_units(off / unit, DIV_ROUND_UP(len, unit));
}

/*
 * Sending
 */

static u64 cut_tx_all(const struct dlcp_txmsg *m, u32 pos)
{
	return cut_range(&m->open, 0, dlcp_txmsg_len(m, pos));
}

/* What the packet @e carried */
static u64 cut_sent_units(const struct dlcp_txmsg *m,
			  const struct dlcp_sent *e)
{
	return e->units ? dlcp_cut_units(e->unit, e->units) :
			  cut_tx_all(m, e->pos);
}

/* The next piece of @cut that fits into @room bytes */
static void cut_next(const struct dlcp_txmsg *m, const struct dlcp_cut *cut,
		     u32 room, struct dlcp_out *out)
{
	u32 unit = dlcp_cut_unit(&m->open);
	u32 first = __ffs64(cut->due);
	u64 run = cut->due >> first;
	u32 nr = ~run ? __ffs64(~run) : DLCP_CUT_UNITS;

	nr = min(nr, max(room / unit, 1U));
	out->off = (u16)(first * unit);
	out->len = (u16)min(nr * unit, dlcp_txmsg_len(m, out->pos) - out->off);
}

bool dlcp_conn_cut_start(struct dlcp_conn *c, struct dlcp_out *out)
{
	const u32 headers = DLCP_DATA_HDR_LEN + DLCP_PIECE_LEN;
	struct dlcp_txmsg *m = out->m;
	struct dlcp_cut *cut = cut_find(&m->cuts, out->pos);
	u32 len = dlcp_txmsg_len(m, out->pos);

	if (!cut && conn_data_len(m, len) <= c->cfg.mtu)
		return true;
	/* Where there is no room for OPEN it goes ahead in a packet of its own */
	m->inline_open = 0;
	if (!cut && conn_data_len(m, len) <= c->cfg.mtu)
		return true;
	if (!cut)
		cut = cut_add(c, &m->cuts, out->pos);
	if (!cut) {
		c->send.no_memory = 1;
		return false;
	}
	if (!cut->due)
		cut->due = cut_tx_all(m, out->pos) & ~cut->have;
	cut_next(m, cut, c->cfg.mtu > headers ? c->cfg.mtu - headers : 0, out);
	return true;
}

/* Nothing of @pos is left to be sent */
static void cut_tx_sent(struct dlcp_txmsg *m, u32 pos)
{
	if (m->state != DLCP_TX_SENDING)
		return;
	if (m->cutting == pos)
		m->cutting = m->nr_segs;
	dlcp_segmap_clear(&m->lost, pos);
}

void dlcp_conn_cut_sent(struct dlcp_conn *c, const struct dlcp_out *out,
			struct dlcp_sent *e)
{
	struct dlcp_txmsg *m = out->m;
	struct dlcp_cut *cut = cut_find(&m->cuts, out->pos);
	u32 unit = dlcp_cut_unit(&m->open);

	e->unit = (u8)(out->off / unit);
	e->units = (u8)DIV_ROUND_UP((u32)out->len, unit);
	cut->due &= ~dlcp_cut_units(e->unit, e->units);
	if (out->first)
		m->cutting = out->pos;
	if (!cut->due)
		cut_tx_sent(m, out->pos);
	c->cnt[DLCP_CNT_TX_PIECES]++;
}

bool dlcp_conn_cut_acked(struct dlcp_conn *c, struct dlcp_txmsg *m,
			 const struct dlcp_sent *e)
{
	struct dlcp_cut *cut = cut_find(&m->cuts, e->pos);

	if (!cut)
		return true;
	cut->have |= cut_sent_units(m, e);
	cut->due &= ~cut->have;
	if (cut->have == cut_tx_all(m, e->pos)) {
		cut_del(c, &m->cuts, cut);
		return true;
	}
	if (!cut->due)
		cut_tx_sent(m, e->pos);
	return false;
}

bool dlcp_conn_cut_lost(struct dlcp_txmsg *m, const struct dlcp_sent *e)
{
	struct dlcp_cut *cut = cut_find(&m->cuts, e->pos);
	u64 units;

	if (!cut)
		return true;
	units = cut_sent_units(m, e) & ~cut->have;
	cut->due |= units;
	return units;
}

void dlcp_conn_cut_tx_free(struct dlcp_conn *c, struct dlcp_txmsg *m)
{
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&m->cuts)))
		cut_del(c, &m->cuts, container_of(n, struct dlcp_cut, node));
}

/*
 * Receiving
 */

/* The units of @d, or 0: it is no piece of a segment of @len bytes */
static u64 cut_rx_units(const struct dlcp_open *o, const struct dlcp_data *d,
			u32 len)
{
	u32 unit = dlcp_cut_unit(o);

	if (d->off % unit || d->off >= len || d->len > len - d->off ||
	    (d->len % unit && d->off + d->len != len))
		return 0;
	return cut_range(o, d->off, d->len);
}

/* All of the segment counts as received from its first piece on, for the shell
 * takes memory for all of it
 */
static struct dlcp_cut *cut_rx_begin(struct dlcp_conn *c, struct dlcp_rxmsg *m,
				     u32 seg, u32 len)
{
	struct dlcp_cut *cut = cut_add(c, &m->cuts, seg);

	if (!cut)
		return NULL;
	cut->kept = c->cfg.ops->cut(c, m, seg);
	if (!cut->kept) {
		cut_del(c, &m->cuts, cut);
		return NULL;
	}
	dlcp_conn_rx_hold(c, m, len);
	return cut;
}

enum dlcp_verdict dlcp_conn_cut_rx(struct dlcp_conn *c, struct dlcp_rxmsg *m,
				   const struct dlcp_data *d, void **kept)
{
	enum dlcp_verdict v = DLCP_OK;
	struct dlcp_cut *cut;
	u64 units;
	u32 len;

	if (d->seg >= m->nr_segs)
		return DLCP_DROP_MISMATCH;
	len = dlcp_seg_len(&m->open, d->seg);
	units = cut_rx_units(&m->open, d, len);
	if (!units)
		return DLCP_DROP_MISMATCH;
	if (dlcp_segmap_test(&m->map, d->seg))
		return DLCP_DUP;
	if (dlcp_rxmsg_complete(m))
		return DLCP_DROP_LATE;
	cut = cut_find(&m->cuts, d->seg);
	if (!cut)
		v = dlcp_conn_rx_allowed(c, m, len);
	if (v != DLCP_OK)
		return v;
	if (!cut)
		cut = cut_rx_begin(c, m, d->seg, len);
	if (!cut)
		return DLCP_DROP_NOMEM;
	c->cnt[DLCP_CNT_RX_PIECES]++;
	if (!(units & ~cut->have))
		return DLCP_DUP;
	cut->have |= units;
	*kept = cut->kept;
	if (cut->have != cut_range(&m->open, 0, len))
		return DLCP_MORE;
	cut_del(c, &m->cuts, cut);
	dlcp_conn_rx_unhold(c, m, len);
	return DLCP_OK;
}

bool dlcp_conn_cut_rx_begun(const struct dlcp_rxmsg *m, u32 seg)
{
	return cut_find(&m->cuts, seg);
}

static void cut_rx_drop(struct dlcp_conn *c, struct dlcp_rxmsg *m,
			struct dlcp_cut *cut)
{
	u32 seg = (u32)cut->node.key;

	dlcp_conn_rx_unhold(c, m, dlcp_seg_len(&m->open, seg));
	c->cfg.ops->uncut(c, cut->kept);
	cut_del(c, &m->cuts, cut);
}

void dlcp_conn_cut_rx_whole(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg)
{
	struct dlcp_cut *cut = cut_find(&m->cuts, seg);

	if (cut)
		cut_rx_drop(c, m, cut);
}

void dlcp_conn_cut_rx_free(struct dlcp_conn *c, struct dlcp_rxmsg *m)
{
	struct dlcp_tnode *n;

	while ((n = dlcp_tree_first(&m->cuts)))
		cut_rx_drop(c, m, container_of(n, struct dlcp_cut, node));
}
