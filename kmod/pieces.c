// SPDX-License-Identifier: GPL-2.0
/*
 * Segments that come in pieces: they were cut before the path's MTU shrank. All
 * pieces of one are copied into an skb that is made when the first has come, and
 * looks as if the segment had come in one packet.
 */
#include "dlcp.h"

/* Bytes copied at a time, on the stack */
#define DLCP_PIECE_COPY	256

/**
 * dlcp_piece_begin() - the first piece of a segment came
 * @c: the connection
 * @m: its message
 * @seg: the segment
 *
 * Context: socket lock held; process or softirq.
 * Return: an skb with room for all of it, or NULL: there is no memory
 */
void *dlcp_piece_begin(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg)
{
	struct sock *sk = dlcp_conn_sk(c);
	u32 len = dlcp_seg_len(&m->open, seg);
	struct sk_buff *skb;
	int err;

	skb = alloc_skb_with_frags(DLCP_DATA_HDR_LEN, len, 0, &err,
				   GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	/* dlcp_rx_room() looks which message it is of */
	dlcp_put_data(skb_put(skb, DLCP_DATA_HDR_LEN), c->cfg.local_tag, 0, 0, 0,
		      0, (u32)m->id, seg);
	skb->len += len;
	skb->data_len = len;
	memset(DLCP_SKB_CB(skb), 0, sizeof(*DLCP_SKB_CB(skb)));
	if (!dlcp_rx_room(sk, skb)) {
		kfree_skb(skb);
		return NULL;
	}
	skb_set_owner_r(skb, sk);
	return skb;
}

/* The segment will not be whole */
void dlcp_piece_drop(struct dlcp_conn *c, void *kept)
{
	kfree_skb(kept);
}

/**
 * dlcp_piece_store() - copy a piece that the engine took
 * @skb: has it
 * @off: of the piece's payload
 * @d: what its header says
 * @kept: what dlcp_piece_begin() returned
 */
void dlcp_piece_store(const struct sk_buff *skb, u32 off,
		      const struct dlcp_data *d, struct sk_buff *kept)
{
	u32 to = DLCP_DATA_HDR_LEN + d->off;
	u32 left = d->len, n;
	u8 buf[DLCP_PIECE_COPY];

	for (; left; left -= n, off += n, to += n) {
		n = min_t(u32, left, sizeof(buf));
		/* Within both, as the engine has checked: they cannot fail */
		if (WARN_ON_ONCE(skb_copy_bits(skb, off, buf, n) ||
				 skb_store_bits(kept, to, buf, n)))
			return;
	}
}
