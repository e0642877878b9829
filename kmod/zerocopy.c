// SPDX-License-Identifier: GPL-2.0
/*
 * Zero-copy send: MSG_ZEROCOPY on a socket with DLCP_ZEROCOPY, which
 * is their SO_ZEROCOPY: that one the kernel keeps to TCP and UDP.
 *
 * The user's pages are held instead of copied. A chunk has then only the
 * headers of its slots and a list of pages; skbs take both as fragments. A
 * page is let go with its chunk, as soon as all of that is acknowledged or
 * given up.
 *
 * The kernel's own ubuf_info counts who may still look at the pages: the
 * message until it is over, and each skb. The last one queues the notification
 * on sk_error_queue, as for TCP and UDP; until then the pages count against
 * RLIMIT_MEMLOCK. What goes back to this host, over lo, veth or tap, is copied
 * by the kernel on its way (skb_orphan_frags_rx()), which the notification
 * says. Messages that are copied here after all have one that says the same.
 */
#include "dlcp.h"

/* Below that, holding pages and telling the user costs more than copying */
#define DLCP_ZC_MIN	(16 * 1024)

/**
 * struct dlcp_pins - the user's pages of one chunk
 * @nr: pages held
 * @max: room in @pages
 * @pages: in the order of the slots; twice where two runs of segments meet in
 *	one page
 * @at: by slot: where its payload begins, as if @pages lay in a row
 */
struct dlcp_pins {
	u32		nr;
	u32		max;
	struct page	**pages;
	u32		at[];
};

/**
 * dlcp_zc_usable() - can the pages themselves be sent?
 * @sk: the connection
 * @from: the user's buffer
 * @len: bytes
 *
 * Not if the device has to have it all in one piece anyway, and not if the
 * buffer is in pieces, which could end in the middle of a segment.
 *
 * Context: process, socket lock owned.
 */
bool dlcp_zc_usable(const struct sock *sk, const struct iov_iter *from,
		    size_t len)
{
	const struct dst_entry *dst = __sk_dst_get((struct sock *)sk);

	return len >= DLCP_ZC_MIN && user_backed_iter(from) &&
	       iov_iter_single_seg_count(from) >= len &&
	       dlcp_sk(sk)->encap == DLCP_ENCAP_UDP &&
	       dst && dst->dev->features & NETIF_F_SG;
}

/* The end of the run of following segments that begins at position @pos */
static u32 dlcp_run_end(const struct dlcp_txmsg *m, u32 pos, u32 end)
{
	u32 seg = dlcp_txmsg_seg(m, pos);

	while (++pos < end && dlcp_txmsg_seg(m, pos) == seg + 1)
		seg++;
	return pos;
}

static u32 dlcp_run_len(const struct dlcp_txmsg *m, u32 pos, u32 end)
{
	return (end - pos - 1) * m->open.seg_size + dlcp_txmsg_len(m, end - 1);
}

static struct dlcp_pins *dlcp_pins_new(const struct dlcp_txmsg *m, u32 pos,
				       u32 end)
{
	struct dlcp_pins *pins;
	u32 max = 0, i, next;

	for (i = pos; i < end; i = next) {
		next = dlcp_run_end(m, i, end);
		max += dlcp_run_len(m, i, next) / PAGE_SIZE + 2;
	}
	pins = kzalloc(ALIGN(struct_size(pins, at, end - pos), sizeof(void *)) +
		       max * sizeof(*pins->pages), GFP_KERNEL);
	if (!pins)
		return NULL;
	pins->max = max;
	pins->pages = (void *)pins + ALIGN(struct_size(pins, at, end - pos),
					   sizeof(void *));
	return pins;
}

/* Hold @len bytes from @from on. Return: where they begin, or an errno */
static s64 dlcp_pin(struct dlcp_pins *pins, struct iov_iter from, u32 len)
{
	size_t start;
	s64 at = -1;
	ssize_t n;

	while (len) {
		n = iov_iter_get_pages2(&from, pins->pages + pins->nr, len,
					pins->max - pins->nr, &start);
		if (n <= 0)
			return n == -ENOMEM ? -ENOBUFS : -EFAULT;
		if (at < 0)
			at = ((u64)pins->nr << PAGE_SHIFT) + start;
		pins->nr += DIV_ROUND_UP(start + n, PAGE_SIZE);
		len -= n;
	}
	return at;
}

/**
 * dlcp_pin_chunk() - hold the user's pages of a chunk
 * @tx: the message
 * @i: the chunk
 * @from: the user's buffer, as far as the message's first byte
 *
 * Context: process, socket lock owned; sleeps.
 * Return: 0, -ENOBUFS, -EFAULT; what is held then goes with the chunk.
 */
int dlcp_pin_chunk(struct dlcp_tx *tx, u32 i, const struct iov_iter *from)
{
	const struct dlcp_txmsg *m = &tx->core;
	u32 first = i * tx->slots, pos, next;
	u32 end = min(first + tx->slots, m->nr_segs);
	struct dlcp_pins *pins;
	struct iov_iter it;
	s64 at;

	pins = dlcp_pins_new(m, first, end);
	if (!pins)
		return -ENOBUFS;
	tx->chunks[i].pins = pins;
	for (pos = first; pos < end; pos = next) {
		next = dlcp_run_end(m, pos, end);
		it = *from;
		iov_iter_advance(&it, (u64)dlcp_txmsg_seg(m, pos) *
				      m->open.seg_size);
		at = dlcp_pin(pins, it, dlcp_run_len(m, pos, next));
		if (at < 0)
			return at;
		for (; pos < next; pos++, at += m->open.seg_size)
			pins->at[pos - first] = at;
	}
	return 0;
}

void dlcp_unpin_chunk(struct dlcp_chunk *chunk)
{
	struct dlcp_pins *pins = chunk->pins;
	u32 i;

	if (!pins)
		return;
	for (i = 0; i < pins->nr; i++)
		put_page(pins->pages[i]);
	kfree(pins);
	chunk->pins = NULL;
}

/* Fragments that @len bytes of payload may take */
u32 dlcp_pinned_frags(u32 len)
{
	return len / PAGE_SIZE + 2;
}

/* Append the payload of position @pos; there is room for it. Such fragments
 * are merged where the user's memory is in large pages.
 */
void dlcp_add_pinned(struct sk_buff *skb, const struct dlcp_tx *tx, u32 pos,
		     u32 off, u32 len)
{
	const struct dlcp_pins *pins = tx->chunks[pos / tx->slots].pins;
	u32 at = pins->at[pos % tx->slots] + off;
	struct page *page, *head;
	u32 offset, n;

	while (len) {
		page = pins->pages[at >> PAGE_SHIFT];
		head = compound_head(page);
		n = min_t(u32, len, PAGE_SIZE - offset_in_page(at));
		offset = offset_in_page(at) +
			 ((page_to_pfn(page) - page_to_pfn(head)) << PAGE_SHIFT);
		dlcp_add_frag(skb, head, offset, n);
		at += n;
		len -= n;
	}
}

/**
 * dlcp_zc_begin() - the message is about to be queued: it gets its number
 * @sk: the connection
 * @tx: the message
 *
 * Context: process, socket lock owned; does not let go of it, so that numbers
 * are in the order of messages.
 * Return: 0, or -ENOBUFS: RLIMIT_MEMLOCK, or net.core.optmem_max.
 */
int dlcp_zc_begin(struct sock *sk, struct dlcp_tx *tx)
{
	if (!tx->zerocopy)
		return 0;
	tx->uarg = dlcp_ubuf_alloc(sk, tx->core.open.length);
	if (!tx->uarg)
		return -ENOBUFS;
	if (!tx->pinned)
		uarg_to_msgzc(tx->uarg)->zerocopy = 0;
	return 0;
}

/* The message does not look at the user's pages any more */
void dlcp_zc_end(struct dlcp_tx *tx)
{
	net_zcopy_put(tx->uarg);
	tx->uarg = NULL;
}
