// SPDX-License-Identifier: GPL-2.0
/* What several files do with an skb: drop it, read and add to its fragments. */
#include "dlcp.h"
#include "trace.h"

/* What the kernel calls it; @mib: DLCP_MIB_DROP_* */
enum skb_drop_reason dlcp_drop_reason(int mib)
{
	switch (mib) {
	case DLCP_MIB_DROP_SHORT:
	case DLCP_MIB_DROP_MALFORMED:
		return SKB_DROP_REASON_PKT_TOO_SMALL;
	case DLCP_MIB_DROP_CSUM:
	case DLCP_MIB_DROP_NO_CSUM:
		return SKB_DROP_REASON_UDP_CSUM;
	case DLCP_MIB_DROP_TAG:
	case DLCP_MIB_DROP_LISTENER:
		return SKB_DROP_REASON_NO_SOCKET;
	case DLCP_MIB_DROP_BACKLOG:
		return SKB_DROP_REASON_SOCKET_BACKLOG;
	case DLCP_MIB_DROP_NOMEM:
		return SKB_DROP_REASON_PROTO_MEM;
	case DLCP_MIB_DROP_FILTER:
		return SKB_DROP_REASON_SOCKET_FILTER;
	case DLCP_MIB_DROP_POLICY:
		return SKB_DROP_REASON_XFRM_POLICY;
	default:
		return SKB_DROP_REASON_NOT_SPECIFIED;
	}
}

/**
 * dlcp_drop() - count, trace and free
 * @net: the namespace
 * @skb: the packet
 * @mib: DLCP_MIB_DROP_*
 */
void dlcp_drop(struct net *net, struct sk_buff *skb, int mib)
{
	SNMP_INC_STATS(dlcp_pernet(net)->mib, mib);
	trace_dlcp_drop(skb, mib);
	kfree_skb_reason(skb, dlcp_drop_reason(mib));
}

/**
 * dlcp_first_data() - what the first packet of @skb says
 * @skb: DATA packets
 * @h: its header
 * @d: what follows
 *
 * Return: false: it is malformed
 */
bool dlcp_first_data(const struct sk_buff *skb, struct dlcp_hdr *h,
		     struct dlcp_data *d)
{
	u32 step = DLCP_SKB_CB(skb)->step ?: skb->len;
	u8 buf[DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN];
	u32 len = min_t(u32, skb->len, sizeof(buf));
	const u8 *p;

	p = skb_header_pointer(skb, 0, len, buf);
	return p && !dlcp_get_hdr(p, len, h) &&
	       dlcp_get_data(p, len, min(step, skb->len), h, d) >= 0;
}

/* dlcp_cursor_bytes(), also where it is another part than before */
const u8 *dlcp_cursor_seek(struct dlcp_cursor *cur, u32 off, u32 len)
{
	const struct skb_shared_info *shinfo = skb_shinfo(cur->skb);
	const skb_frag_t *frag;

	while (off >= cur->end) {
		if (cur->frag + 1 >= shinfo->nr_frags)
			return NULL;
		frag = &shinfo->frags[++cur->frag];
		cur->start = cur->end;
		cur->end += skb_frag_size(frag);
		cur->data = skb_frag_address_safe(frag);
	}
	if (!cur->data || off + len > cur->end)
		return NULL;
	return cur->data + (off - cur->start);
}

/**
 * dlcp_run_length() - DATA packets that each are the one that follows
 * @cur: the skb, anywhere before the second of them
 * @off: where the first one is
 * @step: bytes from one to the next
 * @most: look at so many
 * @first: header of the first
 * @head: bytes of that; what is behind DLCP_DATA_HDR_LEN is the same in all
 * @flags: what ends a batch is added
 *
 * Return: how many, at least 1
 */
u32 dlcp_run_length(struct dlcp_cursor *cur, u32 off, u32 step, u32 most,
		    const u8 *first, u32 head, u8 *flags)
{
	struct dlcp_words words = dlcp_get_words(first);
	u32 same = 1, n;
	const u8 *p;

	for (n = 1; n < most && same == 1; n++) {
		off += step;
		p = dlcp_cursor_bytes(cur, off, head);
		same = p ? dlcp_data_follows(p, words, n) : 0;
		if (!same ||
		    (head > DLCP_DATA_HDR_LEN &&
		     !dlcp_same_words(p + DLCP_DATA_HDR_LEN,
				      first + DLCP_DATA_HDR_LEN,
				      DLCP_OPEN_LEN)))
			break;
		if (same > 1)
			*flags |= p[DLCP_HDR_TYPE + 1] & DLCP_F_LAST;
	}
	return n;
}

/* Append @len bytes at @offset of @page, to the last fragment if they follow
 * it. Return: false if there is no room for another fragment.
 */
bool dlcp_add_frag(struct sk_buff *skb, struct page *page, u32 offset, u32 len)
{
	int n = skb_shinfo(skb)->nr_frags;

	if (n && skb_can_coalesce(skb, n, page, offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[n - 1], len);
	} else if (n < MAX_SKB_FRAGS) {
		get_page(page);
		skb_fill_page_desc(skb, n, page, offset, len);
	} else {
		return false;
	}
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
	return true;
}
