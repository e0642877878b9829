// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of a packet of a connection: the engine hears of it, and data
 * goes to its message.
 */
#include "dlcp.h"
#include "trace.h"

/* The headers of a DLCP packet that is not all in the linear part */
struct dlcp_head {
	u8 bytes[DLCP_DATA_HDR_LEN + DLCP_OPEN_LEN];
};

static void dlcp_count_verdict(struct sock *sk, const struct sk_buff *skb,
			       enum dlcp_verdict v)
{
	int mib = dlcp_mib_verdict(v);

	SNMP_INC_STATS(dlcp_pernet(sock_net(sk))->mib, mib);
	trace_dlcp_drop(skb, mib);
}

/**
 * struct dlcp_seen - a DATA packet, and what became of it
 * @arrival: how it came; not changed
 * @m: its message, if the engine took it
 * @seg: which segment of that it holds, and DLCP_SEG_OPEN
 * @kept: for what the pieces of that segment are copied to; NULL: all of it came
 * @d: what its header says
 * @head: bytes of that
 * @batch: what was taken of the same skb
 * @refused: it, or one before it in the same skb, was not taken
 * @nth: which packet of its skb it is
 * @nr: so many were taken at once, with it
 * @single: those of this skb are not
 */
struct dlcp_seen {
	const struct dlcp_arrival *arrival;
	struct dlcp_rxmsg	*m;
	u32			seg;
	void			*kept;
	struct dlcp_data	d;
	u32			head;
	struct dlcp_rx_batch	batch;
	bool			refused;
	bool			single;
	u8			nth;
	u8			nr;
};

/* dlcp_run_length(), of which the encapsulation has read all headers. Return: 0: it has
 * not
 */
static u32 dlcp_run_known(struct dlcp_cursor *cur, u32 off, u32 step, u32 most,
			  u32 head, u8 *flags)
{
	u32 n = min_t(u32, DLCP_SKB_CB(cur->skb)->run, most);
	const u8 *p;

	if (off || n < 2)
		return 0;
	p = dlcp_cursor_bytes(cur, (n - 1) * step, head);
	if (!p)
		return 1;
	*flags |= p[DLCP_HDR_TYPE + 1] & DLCP_F_LAST;
	return n;
}

/* The packet at @off, whose header @first is at @p, and those that follow it, at once.
 * Return: they were taken
 */
static bool dlcp_process_run(struct sock *sk, struct dlcp_cursor *cur, u32 off,
			     u32 len, const u8 *p, const struct dlcp_hdr *first,
			     struct dlcp_seen *seen)
{
	u32 rest = cur->skb->len - off;
	u32 most = min_t(u32, DIV_ROUND_UP(rest, len), DLCP_SKB_SEGS - seen->nth);
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dlcp_cursor ahead = *cur;
	struct dlcp_hdr h = *first;
	u32 nr, last;

	if (most < 2 || h.flags & DLCP_F_PIECE)
		return false;
	nr = dlcp_run_known(&ahead, off, len, most, seen->head, &h.flags) ?:
	     dlcp_run_length(&ahead, off, len, most, p, seen->head, &h.flags);
	if (nr < 2)
		return false;
	/* Its headers are there: it is not shorter than they */
	last = min(len, rest - (nr - 1) * len) - seen->head;
	if (!dlcp_conn_rx_run(c, &h, &seen->d, seen->arrival, nr, last,
			      &seen->m)) {
		seen->single = true;
		return false;
	}
	*cur = ahead;
	seen->nr = (u8)nr;
	return true;
}

/* A packet of @len bytes at @off, of which @avail are at @p, for the engine */
static enum dlcp_verdict dlcp_process_packet(struct sock *sk,
					     struct dlcp_cursor *cur, u32 off,
					     const u8 *p, u32 avail, u32 len,
					     struct dlcp_seen *seen)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dlcp_data *d = &seen->d;
	struct dlcp_hdr h;
	int head;

	seen->kept = NULL;
	if (dlcp_get_hdr(p, avail, &h) || h.type != DLCP_PT_DATA ||
	    h.tag != c->cfg.local_tag)
		return DLCP_DROP_MALFORMED;
	head = dlcp_get_data(p, avail, len, &h, d);
	if (head < 0)
		return DLCP_DROP_MALFORMED;
	seen->head = head;
	seen->seg = d->seg | (h.flags & DLCP_F_OPEN ? DLCP_SEG_OPEN : 0);
	if (!dlcp_rx_batch_room(&seen->batch, seen->nth, d->msg, seen->seg)) {
		dlcp_conn_rx_refused(c, h.path, d->msg, 1);
		return DLCP_DROP_NOMEM;
	}
	if (!seen->single && dlcp_process_run(sk, cur, off, len, p, &h, seen))
		return DLCP_OK;
	return dlcp_conn_rx_data(c, &h, d, seen->arrival, &seen->m,
				 &seen->kept);
}

/* The @len bytes at @off of the cursor's skb are a packet. In the linear part
 * nobody writes to it; of what is in fragments the headers are copied first.
 */
static enum dlcp_verdict dlcp_process_segment(struct sock *sk,
					      struct dlcp_cursor *cur,
					      u32 off, u32 len,
					      struct dlcp_seen *seen)
{
	struct dlcp_head head;
	u32 avail = min_t(u32, len, sizeof(head));
	const u8 *p = dlcp_cursor_bytes(cur, off, avail);

	if (p && cur->frag < 0)
		return dlcp_process_packet(sk, cur, off, p, avail, len, seen);
	if (p)
		memcpy(head.bytes, p, avail);
	else if (skb_copy_bits(cur->skb, off, head.bytes, avail))
		return DLCP_DROP_MALFORMED;
	return dlcp_process_packet(sk, cur, off, head.bytes, avail, len, seen);
}

static void dlcp_arrival_init(struct dlcp_arrival *a, const struct sock *sk,
			      const struct sk_buff *skb)
{
	a->now = dlcp_now();
	a->wire = DLCP_SKB_CB(skb)->wire;
	a->ce = DLCP_SKB_CB(skb)->ce;
	a->pair = dlcp_pair_of(sk, skb);
	a->elsewhere = DLCP_SKB_CB(skb)->elsewhere;
}

/* What the engine said of the packet at @off of @skb, or of seen->nr from there on */
static void dlcp_process_verdict(struct sock *sk, struct sk_buff *skb, u32 off,
				 struct dlcp_seen *seen, enum dlcp_verdict v)
{
	u32 k;

	for (k = 0; k < seen->nr && trace_dlcp_receive_enabled(); k++)
		trace_dlcp_receive(sk, skb,
				   off + k * (seen->head + seen->d.len),
				   seen->m, v);
	if (v <= DLCP_MORE && seen->kept)
		dlcp_piece_store(skb, off + seen->head, &seen->d, seen->kept);
	if (v > DLCP_MORE) {
		dlcp_count_verdict(sk, skb, v);
		seen->refused = true;
	} else if (v == DLCP_OK && seen->kept) {
		dlcp_rx_whole(sk, seen->kept, seen->m, seen->seg);
	} else if (v == DLCP_OK) {
		dlcp_rx_segments(sk, skb, &seen->batch, seen->m, seen->nth,
				 seen->seg, seen->nr);
	}
}

/* Hands the packets of @skb to the engine. Return: false: it is kept for later;
 * else *@last is the last verdict.
 */
static bool dlcp_process_steps(struct sock *sk, struct sk_buff *skb, u32 step,
			       struct dlcp_seen *seen, enum dlcp_verdict *last)
{
	enum dlcp_verdict v = DLCP_OK;
	struct dlcp_cursor cursor;
	u32 off;

	dlcp_cursor_init(&cursor, skb);
	for (off = 0; off < skb->len; off += seen->nr * step) {
		seen->nr = 1;
		if (seen->nth == DLCP_SKB_SEGS)
			v = DLCP_DROP_MALFORMED;
		else
			v = dlcp_process_segment(sk, &cursor, off,
						 min(step, skb->len - off),
						 seen);
		if (!seen->nth && v == DLCP_DROP_UNOPENED &&
		    dlcp_unopened_keep(sk, skb, seen->d.msg,
				       DIV_ROUND_UP(skb->len, step)))
			return false;
		dlcp_process_verdict(sk, skb, off, seen, v);
		if (seen->nth == DLCP_SKB_SEGS)
			break;
		seen->nth += seen->nr;
	}
	*last = v;
	return true;
}

/**
 * dlcp_data_due() - data was taken, or read: has the engine to be asked?
 * @sk: the connection
 * @now: ns
 *
 * Where only a timer is due earlier than before it is armed here.
 *
 * Context: socket lock held; process or softirq.
 */
bool dlcp_data_due(struct sock *sk, u64 now)
{
	u64 due = dlcp_conn_rx_due(&dlcp_sk(sk)->conn);

	if (due <= now)
		return true;
	if (!dlcp_timer_armed(sk, due))
		dlcp_timer_arm(sk, now);
	return false;
}

static void dlcp_process_refused(struct sock *sk, struct sk_buff *skb, u32 count)
{
	struct dlcp_data d;
	struct dlcp_hdr h;

	if (dlcp_first_data(skb, &h, &d))
		dlcp_conn_rx_refused(&dlcp_sk(sk)->conn, h.path, d.msg, count);
	dlcp_drop(sock_net(sk), skb, DLCP_MIB_DROP_NOMEM);
}

/* Takes @skb. Return: as dlcp_process() */
static bool dlcp_process_data(struct sock *sk, struct sk_buff *skb,
			      const struct dlcp_arrival *arrival)
{
	u32 step = DLCP_SKB_CB(skb)->step ?: skb->len;
	u32 count = DIV_ROUND_UP(skb->len, step);
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dlcp_seen seen = { .arrival = arrival, .single = count == 1 };
	enum dlcp_verdict v;

	if (!dlcp_rx_room(sk, skb)) {
		dlcp_process_refused(sk, skb, count);
		return true;
	}
	if (!dlcp_process_steps(sk, skb, step, &seen, &v))
		return true;
	dlcp_link_data(sk, skb->skb_iif, seen.m,
		       skb->len + (u64)count * c->cfg.overhead,
		       arrival->now);
	if (!dlcp_rx_flush(sk, skb, &seen.batch)) {
		if (v <= DLCP_MORE)
			consume_skb(skb);	/* it was copied */
		else
			kfree_skb_reason(skb,
					 dlcp_drop_reason(dlcp_mib_verdict(v)));
	}
	return seen.refused || dlcp_data_due(sk, arrival->now);
}

/* All but DATA: the first @len bytes of @skb, which are linear */
static enum dlcp_verdict dlcp_process_other(struct sock *sk,
					    struct sk_buff *skb, u32 len,
					    const struct dlcp_hdr *h,
					    const struct dlcp_arrival *arrival)
{
	enum dlcp_verdict v;

	if (h->type == DLCP_PT_RESET && !dlcp_from_peer(sk, skb))
		return DLCP_DROP_STATE;
	v = dlcp_conn_rx_other(&dlcp_sk(sk)->conn, h, skb->data, len, arrival);
	if (v != DLCP_OK)
		return v;
	switch (h->type) {
	case DLCP_PT_CTRL:
		sk_dst_confirm(sk);	/* the neighbour is there */
		break;
	case DLCP_PT_RESET:
		DLCP_INC(sock_net(sk), RESET_RCVD);
		break;
	default:
		dlcp_table_add_peer(sk);
		if (h->type == DLCP_PT_ECHO_ACK)
			security_inet_conn_established(sk, skb);
	}
	return DLCP_OK;
}

/* All but DATA. Takes @skb. */
static void dlcp_process_linear(struct sock *sk, struct sk_buff *skb,
				const struct dlcp_arrival *arrival)
{
	enum dlcp_verdict v = DLCP_DROP_MALFORMED;
	struct net *net = sock_net(sk);
	struct dlcp_hdr h;

	if (skb_linearize(skb)) {
		dlcp_drop(net, skb, DLCP_MIB_DROP_NOMEM);
		return;
	}
	/* Nobody writes to it from here on: what counts is what it says now */
	if (!dlcp_get_hdr(skb->data, skb->len, &h))
		v = dlcp_process_other(sk, skb, skb->len, &h, arrival);
	if (v == DLCP_OK)
		consume_skb(skb);
	else
		dlcp_drop(net, skb, dlcp_mib_verdict(v));
}

/* The first @front bytes of @skb are a CTRL packet, and the rest is DATA. Takes @skb. */
static void dlcp_process_both(struct sock *sk, struct sk_buff *skb, u32 front,
			      const struct dlcp_arrival *arrival)
{
	enum dlcp_verdict v = DLCP_DROP_MALFORMED;
	struct net *net = sock_net(sk);
	u8 buf[DLCP_HDR_LEN];
	struct dlcp_hdr h;
	const u8 *p;

	if (!pskb_may_pull(skb, front)) {
		dlcp_drop(net, skb, DLCP_MIB_DROP_NOMEM);
		return;
	}
	/* As in dlcp_process_linear() */
	if (!dlcp_get_hdr(skb->data, front, &h) && h.type == DLCP_PT_CTRL)
		v = dlcp_process_other(sk, skb, front, &h, arrival);
	if (v != DLCP_OK) {
		dlcp_drop(net, skb, dlcp_mib_verdict(v));
		return;
	}
	__skb_pull(skb, front);
	p = skb_header_pointer(skb, 0, sizeof(buf), buf);
	if (!p || dlcp_get_hdr(p, sizeof(buf), &h)) {
		dlcp_drop(net, skb, DLCP_MIB_DROP_MALFORMED);
		return;
	}
	dlcp_process_data(sk, skb, arrival);
}

/* Return: as dlcp_get_front() */
static u32 dlcp_front(const struct sk_buff *skb)
{
	u8 buf[DLCP_FRONT_LEN];
	const u8 *p = skb_header_pointer(skb, 0, sizeof(buf), buf);

	return p ? dlcp_get_front(p, sizeof(buf), skb->len) : 0;
}

/**
 * dlcp_process() - a packet for a connection: a new one, or one that was kept
 * @sk: the connection
 * @skb: the packet; taken
 *
 * Context: socket lock held; process or softirq.
 * Return: the caller is to have the engine asked, by dlcp_push_build(); not after
 * each packet of data is there something to be done
 */
bool dlcp_process(struct sock *sk, struct sk_buff *skb)
{
	struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct net *net = sock_net(sk);
	struct dlcp_arrival arrival;
	struct dlcp_place from;
	struct dlcp_hdr h;
	u8 buf[DLCP_HDR_LEN];
	bool due = true;
	const u8 *p;
	u32 front;

	dlcp_assert_locked(sk);
	p = dlcp_peek(skb, 0, sizeof(buf), buf);
	if (!ds->conn_ready) {
		dlcp_drop(net, skb, DLCP_MIB_DROP_STATE);
		return true;
	}
	if (!p || dlcp_get_hdr(p, sizeof(buf), &h)) {
		dlcp_drop(net, skb, DLCP_MIB_DROP_MALFORMED);
		return true;
	}
	cb->elsewhere = cb->here && dlcp_elsewhere(sk, skb, &from);
	dlcp_arrival_init(&arrival, sk, skb);
	front = h.type == DLCP_PT_CTRL ? dlcp_front(skb) : 0;
	if (h.type == DLCP_PT_DATA)
		due = dlcp_process_data(sk, skb, &arrival);
	else if (front)
		dlcp_process_both(sk, skb, front, &arrival);
	else
		dlcp_process_linear(sk, skb, &arrival);
	if (!dlcp_conn_take_elsewhere(&ds->conn))
		return due;
	dlcp_seen_elsewhere(sk, &from);
	return true;
}

/**
 * dlcp_process_unopened() - messages were opened: data that came before
 * @sk: the connection
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_process_unopened(struct sock *sk)
{
	struct sk_buff *list = dlcp_unopened_opened(sk);
	struct sk_buff *skb;

	dlcp_assert_locked(sk);
	while (list) {
		skb = list;
		list = skb->next;
		skb_mark_not_on_list(skb);
		dlcp_process(sk, skb);
	}
}
