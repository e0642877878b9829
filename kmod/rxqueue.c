// SPDX-License-Identifier: GPL-2.0
/*
 * Received messages and those who read them. A skb waits on the queue of the
 * message it brought segments of; a message waits for a reader, or has one.
 *
 * A reader asleep is woken when its message is complete; when the message is
 * long, whenever a good deal of it is here, to copy that out meanwhile; and when no
 * more may come before what is here is taken.
 */
#include <linux/bvec.h>
#include <linux/pfn.h>
#include <linux/sched.h>
#include <linux/uio.h>

#include "dlcp.h"
#include "trace.h"

/* Bytes worth waking a reader for before the message is complete */
#define DLCP_WAKE_BYTES		(64 * 1024)
/* Messages looked at for each packet dropped for want of memory */
#define DLCP_SQUEEZE		16
/* Messages from this length on are copied out as they come */
#define DLCP_BY_PARTS_LEN	(256 * 1024)

static struct dlcp_rx *dlcp_rx_of(struct dlcp_rxmsg *m)
{
	return container_of(m, struct dlcp_rx, core);
}

/**
 * dlcp_rx_alloc() - a message was announced
 * @sk: the connection
 *
 * Context: socket lock held; process or softirq.
 * Return: the message, on dlcp_sock.rx_new, or NULL: no memory for it
 */
struct dlcp_rx *dlcp_rx_alloc(struct sock *sk)
{
	struct dlcp_rx *rx;

	dlcp_rx_sync_space(sk);
	rx = dlcp_mem_alloc(sk, sizeof(*rx));
	if (!rx)
		return NULL;
	__skb_queue_head_init(&rx->queue);
	list_add_tail(&rx->ready, &dlcp_sk(sk)->rx_new);
	return rx;
}

void dlcp_rx_skb_free(struct sk_buff *skb)
{
	if (!DLCP_SKB_CB(skb)->run)
		kfree(DLCP_SKB_CB(skb)->segs);
	consume_skb(skb);
}

void dlcp_rx_purge_queue(struct sock *sk, struct dlcp_rx *rx)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&rx->queue)))
		dlcp_rx_skb_free(skb);
	rx->queued = 0;
}

static void dlcp_rx_set_attn(struct sock *sk, struct dlcp_rx *rx, bool on)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (rx->attn == on)
		return;
	rx->attn = on;
	WRITE_ONCE(ds->rx_attn, ds->rx_attn + (on ? 1 : -1));
}

void dlcp_rx_free(struct sock *sk, struct dlcp_rx *rx)
{
	if (!rx->core.shell_done)
		trace_dlcp_read(sk, rx->core.id, false);
	dlcp_rx_set_attn(sk, rx, false);
	if (rx->partial)
		dlcp_sk(sk)->rx_partial--;
	dlcp_list_off(&rx->ready);
	dlcp_rx_purge_queue(sk, rx);
	dlcp_mem_free(sk, rx, sizeof(*rx));
}

/* SO_RCVBUF may be set at any time, and nobody tells us */
void dlcp_rx_sync_space(struct sock *sk)
{
	dlcp_conn_set_rx_space(&dlcp_sk(sk)->conn,
			       READ_ONCE(sk->sk_rcvbuf) / 2);
}

bool dlcp_rx_large(const struct sock *sk, const struct dlcp_rx *rx)
{
	return rx->stuck ||
	       rx->core.open.length >
	       dlcp_conn_unread_space(&dlcp_sk(sk)->conn);
}

bool dlcp_rx_by_parts(const struct sock *sk, const struct dlcp_rx *rx)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;

	return rx->partial || rx->core.open.length >= DLCP_BY_PARTS_LEN ||
	       dlcp_rx_large(sk, rx) || c->credit.buffered > c->cfg.rx_space / 2 ||
	       (rx->queued && dlcp_conn_rx_dry(c, &rx->core)) ||
	       sk_under_memory_pressure(sk);
}

bool dlcp_rx_readable(const struct sock *sk)
{
	const struct dlcp_sock *ds = dlcp_sk(sk);

	return !list_empty(&ds->rx_ready) || READ_ONCE(ds->rx_attn);
}

/* Enough for its reader to copy, though it is not complete? What counts is
 * also what the peer may still send: the reader must not let it run dry.
 */
bool dlcp_rx_worth(const struct sock *sk, const struct dlcp_rx *rx)
{
	if (!rx->queued || !dlcp_rx_by_parts(sk, rx))
		return false;
	return rx->queued >= min_t(u64, DLCP_WAKE_BYTES, rx->core.out / 2) ||
	       dlcp_conn_rx_dry(&dlcp_sk(sk)->conn, &rx->core) ||
	       sk_under_memory_pressure(sk);
}

static void dlcp_reader_wake(struct dlcp_reader *r)
{
	/* Who sleeps has queued itself before it let go of the socket lock */
	if (waitqueue_active(&r->wq))
		wake_up_interruptible(&r->wq);
}

void dlcp_rx_wake_all(struct sock *sk)
{
	struct dlcp_reader *r;

	list_for_each_entry(r, &dlcp_sk(sk)->readers, node)
		dlcp_reader_wake(r);
}

/* Bytes from @at on are the next of @b, of which @end is the end as yet. Where they
 * go on there it is one part, as it is to a caller who cuts it otherwise.
 */
static void dlcp_buf_add(struct dlcp_buf *b, u64 *end, u64 at, size_t len)
{
	static const siphash_aligned_key_t key;

	if (at != *end)
		b->id = siphash_3u64(b->id, *end, at, &key);
	*end = at + len;
}

static void dlcp_buf_of_addresses(struct dlcp_buf *b, const struct iov_iter *i,
				  const struct iovec *v)
{
	size_t left = iov_iter_count(i), len;
	size_t off = i->iov_offset;
	unsigned long at;
	u64 end = 0;

	b->low = ULONG_MAX;
	for (; left; left -= len, off = 0, v++) {
		len = min_t(size_t, left, v->iov_len - off);
		if (!len)
			continue;
		at = (unsigned long)v->iov_base + off;
		b->low = min(b->low, at);
		b->high = max(b->high, at + len);
		dlcp_buf_add(b, &end, at, len);
	}
	dlcp_buf_add(b, &end, 0, 0);
}

static void dlcp_buf_of_pages(struct dlcp_buf *b, const struct iov_iter *i)
{
	const struct bio_vec *v = i->bvec;
	size_t left = iov_iter_count(i), len;
	size_t off = i->iov_offset;
	u64 end = 0;

	for (; left; left -= len, off = 0, v++) {
		len = min_t(size_t, left, v->bv_len - off);
		if (len)
			dlcp_buf_add(b, &end, PFN_PHYS((u64)page_to_pfn(v->bv_page)) +
				     v->bv_offset + off, len);
	}
	dlcp_buf_add(b, &end, 0, 0);
}

/*
 * A number that a process shares with no other, before or after it, nor with what it
 * was before exec(): memory of an mm that is gone becomes that of another. A thread
 * of the kernel that works for one (io_uring's, in old kernels) is that one.
 */
static u64 dlcp_process_id(const struct dlcp_reader *r)
{
	static const siphash_aligned_key_t key;
	const struct task_struct *t = r->task;
	u64 id;

	rcu_read_lock();
#ifdef CONFIG_MEMCG
	if (t->flags & PF_KTHREAD && t->mm)
		t = rcu_dereference(t->mm->owner) ?: t;
#endif
	id = siphash_3u64(t->group_leader->start_boottime, t->tgid,
			  t->self_exec_id, &key);
	rcu_read_unlock();
	return id;
}

/**
 * dlcp_buf_init() - what a reader's buffer is known by
 * @b: set to it
 * @r: the reader
 *
 * Two buffers of one process that are not the same have the same hash once in 2^64
 * times.
 *
 * Context: any, while the call lasts.
 */
void dlcp_buf_init(struct dlcp_buf *b, const struct dlcp_reader *r)
{
	memset(b, 0, sizeof(*b));
	b->mm = r->mm;
	b->process = dlcp_process_id(r);
	if (r->user || !r->room) {
		b->low = (unsigned long)r->user;
		b->high = b->low + r->room;
		b->id = DLCP_BUF_PIECE;
	} else if (user_backed_iter(r->from)) {
		dlcp_buf_of_addresses(b, r->from, dlcp_iter_iov(r->from));
	} else if (iov_iter_is_kvec(r->from)) {
		dlcp_buf_of_addresses(b, r->from, (const struct iovec *)r->from->kvec);
	} else if (iov_iter_is_bvec(r->from)) {
		dlcp_buf_of_pages(b, r->from);
	}
}

bool dlcp_reader_has(const struct dlcp_reader *r, const struct dlcp_rx *rx)
{
	struct dlcp_buf buf;

	if (!rx->partial || rx->buf.mm != r->mm)
		return false;
	dlcp_buf_init(&buf, r);
	return buf.id && !memcmp(&buf, &rx->buf, sizeof(buf));
}

/* Who only looks, or has too little room, takes no bytes away as they come */
static bool dlcp_reader_takes(const struct dlcp_reader *r,
			      const struct dlcp_rx *rx)
{
	return !(r->flags & MSG_PEEK) &&
	       (r->room >= rx->core.open.length || r->flags & MSG_TRUNC);
}

void dlcp_reader_attach(struct sock *sk, struct dlcp_reader *r,
			struct dlcp_rx *rx)
{
	dlcp_assert_locked(sk);
	r->rx = rx;
	rx->reader = r;
	dlcp_rx_set_attn(sk, rx, false);
	dlcp_conn_reader(&dlcp_sk(sk)->conn, &rx->core,
			 dlcp_reader_takes(r, rx));
}

/* Could @r have @rx, as far as the user's wish goes? */
static bool dlcp_reader_wants(const struct sock *sk,
			      const struct dlcp_reader *r,
			      const struct dlcp_rx *rx)
{
	if (rx->partial && !dlcp_reader_has(r, rx))
		return false;
	if (r->want.flags & DLCP_WANT_KEY)
		return r->want.key == rx->core.open.key;
	return dlcp_rxmsg_complete(&rx->core) || dlcp_rx_large(sk, rx);
}

/* A reader for @rx that sleeps and has no message, or only one of which
 * nothing was copied and that is not complete while this one is
 */
static struct dlcp_reader *dlcp_find_reader(struct sock *sk,
					    const struct dlcp_rx *rx)
{
	struct dlcp_reader *r, *second = NULL;

	list_for_each_entry(r, &dlcp_sk(sk)->readers, node) {
		if (!dlcp_reader_wants(sk, r, rx))
			continue;
		if (!r->rx)
			return r;
		if (!second && dlcp_rxmsg_complete(&rx->core) &&
		    !r->rx->partial && !dlcp_rxmsg_complete(&r->rx->core))
			second = r;
	}
	return second;
}

static void dlcp_rx_leave(struct sock *sk, struct dlcp_rx *rx);

/* Somebody should have @rx: give it to a reader, or tell those who poll */
static void dlcp_rx_offer(struct sock *sk, struct dlcp_rx *rx)
{
	struct dlcp_reader *r = dlcp_find_reader(sk, rx);
	struct dlcp_rx *old;

	if (r) {
		old = r->rx;
		dlcp_reader_attach(sk, r, rx);
		if (old)
			dlcp_rx_leave(sk, old);
		/* Also for one that only looks, or whose buffer is too short,
		 * or if what is here must make room for the rest
		 */
		if (dlcp_rxmsg_complete(&rx->core) || r->flags & MSG_PEEK ||
		    r->want.flags & DLCP_WANT_DISCARD ||
		    r->room < rx->core.open.length || dlcp_rx_worth(sk, rx))
			dlcp_reader_wake(r);
		return;
	}
	if (!dlcp_rxmsg_complete(&rx->core)) {
		if (!dlcp_rx_large(sk, rx) ||
		    (rx->seen && skb_queue_empty(&rx->queue)))
			return;
		dlcp_rx_set_attn(sk, rx, true);
	}
	if (!sock_flag(sk, SOCK_DEAD))
		sk->sk_data_ready(sk);
}

/* @rx has lost its reader */
static void dlcp_rx_leave(struct sock *sk, struct dlcp_rx *rx)
{
	rx->reader = NULL;
	dlcp_conn_reader(&dlcp_sk(sk)->conn, &rx->core, false);
	dlcp_rx_offer(sk, rx);
	dlcp_rx_check_credit(sk);
}

/* Leave r->rx to others; @r itself is off dlcp_sock.readers */
void dlcp_reader_detach(struct sock *sk, struct dlcp_reader *r)
{
	struct dlcp_rx *rx = r->rx;

	dlcp_assert_locked(sk);
	r->rx = NULL;
	dlcp_rx_leave(sk, rx);
}

/* It will not complete without a reader, though it is not large */
static void dlcp_rx_stuck(struct sock *sk, struct dlcp_rx *rx)
{
	if (rx->stuck)
		return;
	rx->stuck = true;
	if (!rx->reader)
		dlcp_rx_offer(sk, rx);
}

/**
 * dlcp_rx_check_credit() - does a message nobody reads wait for ever?
 * @sk: the connection
 *
 * The peer gets credit for a part of SO_RCVBUF for what nobody reads, one
 * message after the other. Where readers left, and had been given credit, these
 * together can hold so much that none of them completes until one is read as it
 * comes; and a peer need not send what it was granted the room for.
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_rx_check_credit(struct sock *sk)
{
	struct dlcp_rxmsg *m = dlcp_conn_rx_starved(&dlcp_sk(sk)->conn);

	dlcp_assert_locked(sk);
	if (m)
		dlcp_rx_stuck(sk, dlcp_rx_of(m));
}

/* Memory is short: those who could give some back shall do it now, and what
 * would be left until it is complete is given to a reader too.
 */
static void dlcp_rx_squeeze(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_reader *r;
	struct dlcp_rx *rx;
	int n = 0;

	dlcp_conn_for_each_rx(rx, &ds->conn, core) {
		if (!skb_queue_empty(&rx->queue))
			dlcp_rx_stuck(sk, rx);
		if (++n == DLCP_SQUEEZE)
			break;
	}
	list_for_each_entry(r, &ds->readers, node)
		if (r->rx && !skb_queue_empty(&r->rx->queue))
			dlcp_reader_wake(r);
}

/* Messages were announced. Context: socket lock held. */
void dlcp_rx_opened(struct sock *sk)
{
	struct dlcp_rx *rx, *n;

	dlcp_assert_locked(sk);
	list_for_each_entry_safe(rx, n, &dlcp_sk(sk)->rx_new, ready) {
		list_del_init(&rx->ready);
		/* Complete at once: dlcp_rx_completed() sees to it. It may
		 * also have a reader from when its first bytes came.
		 */
		if (!dlcp_rxmsg_complete(&rx->core) && !rx->reader)
			dlcp_rx_offer(sk, rx);
	}
}

/* By priority class, then number; mostly it belongs at the end */
static void dlcp_rx_ready_add(struct sock *sk, struct dlcp_rx *rx)
{
	struct dlcp_rx *pos;

	list_for_each_entry_reverse(pos, &dlcp_sk(sk)->rx_ready, ready) {
		if (pos->core.open.prio < rx->core.open.prio ||
		    (pos->core.open.prio == rx->core.open.prio &&
		     pos->core.id < rx->core.id))
			break;
	}
	list_add(&rx->ready, &pos->ready);
}

/* Messages completed */
void dlcp_rx_completed(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	const struct dlcp_rxmsg *m;
	struct dlcp_rx *rx;

	dlcp_assert_locked(sk);
	dlcp_conn_for_each_rx_done_reverse(rx, &ds->conn, core) {
		m = &rx->core;
		if (rx->done)
			break;
		rx->done = true;
		trace_dlcp_complete(sk, false, m->id, &m->open, m->missing,
				    m->why, 0);
		dlcp_list_off(&rx->ready);
		dlcp_rx_set_attn(sk, rx, false);
		dlcp_rx_ready_add(sk, rx);
		if (rx->reader)
			dlcp_reader_wake(rx->reader);
		else
			dlcp_rx_offer(sk, rx);
	}
}

/* What the skbs of all that the engine has allowed the peer may take. Payload
 * keeps to half of SO_RCVBUF and what comes unasked; of a full packet it is
 * half of the memory at least. Of small messages it is so little that some are
 * refused: told as marked, that is waited for (conn_ack_ce()).
 */
static u64 dlcp_rx_limit(const struct sock *sk)
{
	return 4 * (READ_ONCE(sk->sk_rcvbuf) / 2 +
		    dlcp_conn_unsolicited(&dlcp_sk(sk)->conn));
}

/* Does a reader wait for the message that @d is of? It takes away what comes:
 * see dlcp_reader_takes().
 */
static bool dlcp_rx_awaited(struct sock *sk, const struct dlcp_data *d,
			    bool opens)
{
	struct dlcp_rxmsg *m = dlcp_conn_rx_find(&dlcp_sk(sk)->conn, d->msg);
	struct dlcp_reader *r;

	if (m)
		return m->reader && dlcp_rx_of(m)->queued < DLCP_MEM_MIN;
	if (!opens)
		return false;
	list_for_each_entry(r, &dlcp_sk(sk)->readers, node)
		if (!r->rx && r->want.flags & DLCP_WANT_KEY &&
		    r->want.key == d->open.key)
			return true;
	return false;
}

/* Without memory, too, something may come: of what this socket has, and of each
 * message that is being read, whatever others leave unread
 */
static bool dlcp_rx_minimum(struct sock *sk, const struct sk_buff *skb)
{
	struct dlcp_data d;
	struct dlcp_hdr h;

	if (atomic_read(&sk->sk_rmem_alloc) < DLCP_MEM_MIN)
		return true;
	return dlcp_first_data(skb, &h, &d) &&
	       dlcp_rx_awaited(sk, &d, h.flags & DLCP_F_OPEN);
}

/**
 * dlcp_rx_room() - may @skb be stored?
 * @sk: the connection
 * @skb: holds DATA packets the engine has not seen yet
 *
 * Context: socket lock held; process or softirq.
 * Return: false: drop it
 */
bool dlcp_rx_room(struct sock *sk, struct sk_buff *skb)
{
	if ((u64)atomic_read(&sk->sk_rmem_alloc) <= dlcp_rx_limit(sk) &&
	    dlcp_mem_rx(sk, skb))
		return true;
	dlcp_unopened_purge(sk);
	dlcp_rx_squeeze(sk);
	return dlcp_rx_minimum(sk, skb);
}

/**
 * dlcp_rx_advertise_room() - is there room for what was refused?
 * @sk: the connection
 *
 * There is where half of the minimum is free, or of what the socket may have: else the
 * peer would be called for what the next message takes again.
 *
 * Context: process, socket lock owned. dlcp_push() comes next.
 */
void dlcp_rx_advertise_room(struct sock *sk)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u64 used = atomic_read(&sk->sk_rmem_alloc);

	if (!dlcp_conn_rx_denied(c))
		return;
	if (used <= DLCP_MEM_MIN / 2 ||
	    (used <= dlcp_rx_limit(sk) / 2 && !sk_under_memory_pressure(sk)))
		dlcp_conn_rx_room(c);
}

bool dlcp_rx_batch_room(struct dlcp_rx_batch *b, u32 i, u32 msg, u32 seg)
{
	u32 k;

	/* Mostly they follow each other. Those of another message begin anew */
	if (!b->mask || b->segs || msg != b->msg || seg == b->seg + i)
		return true;
	b->segs = kmalloc_array(DLCP_SKB_SEGS, sizeof(*b->segs),
				GFP_ATOMIC | __GFP_NOWARN);
	for (k = 0; b->segs && k < i; k++)
		b->segs[k] = b->seg + k;
	return b->segs;
}

/* Takes @skb and @b->segs */
static void dlcp_rx_queue(struct sock *sk, struct dlcp_rx *rx,
			  struct sk_buff *skb, const struct dlcp_rx_batch *b)
{
	struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);

	cb->mask = b->mask;
	cb->run = !b->segs;
	if (b->segs) {
		cb->segs = b->segs;
		skb->truesize += DLCP_SKB_SEGS * sizeof(*b->segs);
	} else {
		cb->seg = b->seg;
	}
	if (skb->destructor != sock_rfree || skb->sk != sk) {
		skb_orphan(skb);
		skb_dst_drop(skb);
		skb_set_owner_r(skb, sk);
	}
	__skb_queue_tail(&rx->queue, skb);
	rx->queued += skb->len;
	if (!rx->reader) {
		if (dlcp_rx_large(sk, rx) && !rx->attn)
			dlcp_rx_offer(sk, rx);
		else
			dlcp_rx_check_credit(sk);
	} else if (dlcp_rx_worth(sk, rx)) {
		dlcp_reader_wake(rx->reader);
	}
}

/* @skb has segments of another message, too: those of the last one */
static void dlcp_rx_split(struct sock *sk, struct sk_buff *skb,
			  struct dlcp_rx_batch *b)
{
	struct sk_buff *clone = skb_clone(skb, GFP_ATOMIC);

	if (clone) {
		dlcp_rx_queue(sk, b->rx, clone, b);
	} else {	/* accepted is accepted: it cannot be asked for again */
		kfree(b->segs);
		dlcp_conn_abort(&dlcp_sk(sk)->conn, ENOBUFS,
				"no memory for a received segment");
	}
	b->segs = NULL;
	b->mask = 0;
}

/**
 * dlcp_rx_segments() - the engine accepted segments
 * @sk: the connection
 * @skb: holds them, as its packets from number @i on
 * @b: state of this skb, zeroed to begin with
 * @m: its message
 * @i: ascending from call to call
 * @seg: number of the first, and DLCP_SEG_OPEN
 * @nr: how many; if it is not 1 each is the one that follows
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_rx_segments(struct sock *sk, struct sk_buff *skb,
		      struct dlcp_rx_batch *b, struct dlcp_rxmsg *m, u32 i,
		      u32 seg, u32 nr)
{
	struct dlcp_rx *rx = dlcp_rx_of(m);
	u32 k;

	dlcp_assert_locked(sk);
	if (b->mask && b->rx != rx)
		dlcp_rx_split(sk, skb, b);
	if (!b->mask) {
		b->rx = rx;
		b->msg = (u32)m->id;
		b->seg = seg - i;
	}
	b->mask |= GENMASK_ULL(i + nr - 1, i);
	for (k = 0; b->segs && k < nr; k++)
		b->segs[i + k] = seg + k;
}

/* After the last segment of @skb. Return: it was taken. */
bool dlcp_rx_flush(struct sock *sk, struct sk_buff *skb,
		   struct dlcp_rx_batch *b)
{
	dlcp_assert_locked(sk);
	if (!b->mask)
		return false;
	dlcp_rx_queue(sk, b->rx, skb, b);
	return true;
}

void dlcp_rx_whole(struct sock *sk, struct sk_buff *skb, struct dlcp_rxmsg *m,
		   u32 seg)
{
	const struct dlcp_rx_batch b = { .mask = 1, .seg = seg };

	dlcp_assert_locked(sk);
	dlcp_rx_queue(sk, dlcp_rx_of(m), skb, &b);
}
