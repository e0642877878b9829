// SPDX-License-Identifier: GPL-2.0
/*
 * sendmsg(): one message, whole, out of the user's buffer.
 *
 * The message is queued as soon as its first chunks are copied, and is sent
 * while the rest is copied. Once queued it has to be finished, for the peer
 * knows of it: a signal that is not fatal, SO_SNDTIMEO and shutdown() end the
 * call only before that, or when all is copied, and for memory it waits from
 * then on. It can be frozen there, so that suspend does not wait for it. A fatal
 * signal, or a part of the buffer that cannot be read, ends the connection
 * (ECONNABORTED). So that small messages have no such half-way state, what fits
 * two chunks, and everything sent with MSG_DONTWAIT, is copied before it is
 * queued.
 *
 * SO_SNDBUF bounds what calls leave behind when they return. A call that may
 * block queues its message even if SO_SNDBUF is full, and holds no more than a
 * few chunks of it until there is room: or messages nobody reads would stop
 * one that is being read. With SO_SNDTIMEO or MSG_DONTWAIT there has to be room
 * first.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <net/tcp_states.h>

#include "dlcp.h"
#include "trace.h"

#define DLCP_CHUNK_SIZE		32768U
/* A message of no more than a chunk is cut into such parts, so that they fill the
 * pages they share
 */
#define DLCP_PART_SIZE		8192U
/* Chunks copied before the message is queued; they are always to be had */
#define DLCP_PREFILL		2
static_assert(DLCP_PREFILL * DLCP_CHUNK_SIZE <= DLCP_MEM_MIN);

/**
 * struct dlcp_until - how long a call may wait, in all
 * @nonblock: not at all
 * @patient: as long as it takes
 * @end: jiffies, if neither
 */
struct dlcp_until {
	bool		nonblock;
	bool		patient;
	unsigned long	end;
};

/**
 * struct dlcp_fill_state - copying one message in
 * @tx: the message
 * @start: the user's buffer
 * @at: part of it that starts at @off; mostly the next byte to copy
 * @off: see @at
 * @user: the buffer, if it is in one piece; else NULL
 */
struct dlcp_fill_state {
	struct dlcp_tx	*tx;
	const void __user *user;
	struct iov_iter	start;
	struct iov_iter	at;
	u64		off;
};

/* Room for the headers in front of each segment of a message */
static u32 dlcp_head(u32 nr_segs)
{
	return DLCP_DATA_HDR_LEN +
	       (nr_segs <= DLCP_INLINE_SEGS ? DLCP_OPEN_LEN : 0);
}

/* How a message of @nr_segs segments of @seg_size is cut into chunks */
static void dlcp_cut(u32 nr_segs, u32 seg_size, u64 len, u32 *slot_size,
		     u32 *slots)
{
	u32 size = DLCP_CHUNK_SIZE;

	*slot_size = dlcp_head(nr_segs) + (nr_segs > 1 ? seg_size : (u32)len);
	if ((u64)nr_segs * *slot_size <= size)
		size = DLCP_PART_SIZE;
	*slots = min(max(size / *slot_size, 1U), nr_segs);
}

static u32 dlcp_chunk_bytes(const struct dlcp_tx *tx, u32 chunk)
{
	u32 first = chunk * tx->slots;

	return min(tx->slots, tx->core.nr_segs - first) * tx->slot_size;
}

/* Of them, what is allocated for it */
static u32 dlcp_chunk_room(const struct dlcp_tx *tx, u32 chunk)
{
	return dlcp_chunk_bytes(tx, chunk) / tx->slot_size * tx->stride;
}

/* What the chunk is charged: whole pages, or its bytes within shared ones */
static u32 dlcp_chunk_cost(u32 bytes)
{
	return bytes <= DLCP_SHARE_MAX ? bytes : PAGE_SIZE << get_order(bytes);
}

/* Why can this socket not send? */
static int dlcp_send_error(struct sock *sk)
{
	if (sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & SEND_SHUTDOWN)
		return -EPIPE;
	if (sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	return 0;
}

static bool dlcp_space(const struct sock *sk)
{
	return READ_ONCE(sk->sk_wmem_queued) < READ_ONCE(sk->sk_sndbuf);
}

/* Sleep until dlcp_write_space() or dlcp_state_change(). @killable: a signal that
 * is not fatal shall not wake us.
 */
static void dlcp_send_sleep(struct sock *sk, bool killable, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(sk_sleep(sk), &wait);
	dlcp_want_space(sk);
	sk->sk_write_pending++;
	release_sock(sk);
	*timeo = killable ? dlcp_wait_killable(&wait, *timeo) :
			    wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	lock_sock(sk);
	sk->sk_write_pending--;
	remove_wait_queue(sk_sleep(sk), &wait);
}

static void dlcp_until_init(struct dlcp_until *u, const struct sock *sk,
			    bool nonblock)
{
	long timeo = sock_sndtimeo(sk, nonblock);

	u->nonblock = !timeo;
	u->patient = timeo == MAX_SCHEDULE_TIMEOUT;
	u->end = jiffies + timeo;
}

/* Jiffies that are left */
static long dlcp_until_left(const struct dlcp_until *u)
{
	if (u->patient)
		return MAX_SCHEDULE_TIMEOUT;
	return u->nonblock ? 0 : max((long)(u->end - jiffies), 0L);
}

/* @size bytes are beyond the limit of the protocol or of the cgroup: only time
 * helps
 */
static int dlcp_wait_memory(struct sock *sk, const struct dlcp_until *u,
			    u32 size)
{
	long timeo = dlcp_until_left(u);
	int err = dlcp_send_error(sk);

	if (err)
		return err;
	if (!timeo) {
		dlcp_mem_refused(sk, size);
		return -EAGAIN;
	}
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	timeo = min(timeo, HZ / 50 + 1L);
	dlcp_send_sleep(sk, false, &timeo);
	return 0;
}

static int dlcp_tx_open(struct sock *sk, const struct dlcp_attr *a, size_t len,
			struct dlcp_open *o)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u32 seg = dlcp_conn_seg_size(c, a->elem_size, len,
				     a->group ? 0 : a->loss_ppm);

	if (len > (u64)READ_ONCE(dn->max_msg_mb) << 20 ||
	    dlcp_nr_segs(len, seg) > U32_MAX / 8)
		return -EMSGSIZE;
	*o = (struct dlcp_open) {
		.key = a->key,
		.length = len,
		.loss_ppm = a->loss_ppm,
		.deadline_us = a->deadline_us,
		.seg_size = seg,
		.elem_size = a->elem_size,
		.prio = a->prio,
		.flags = a->flags,
		.has_deadline = a->deadline_us != 0,
		.group = a->group,
	};
	return 0;
}

/* Bytes of a message's own memory: itself, its bitmaps, its list of chunks */
static size_t dlcp_tx_size(u32 nr_segs, bool tagged, u32 nr_chunks)
{
	return sizeof(struct dlcp_tx) +
	       ALIGN(dlcp_txmsg_mem(nr_segs, tagged), 8) +
	       nr_chunks * sizeof(struct dlcp_chunk);
}

/* Charge a message's own memory. A call that waits has as much as this always:
 * its message may be the one that all others wait for.
 */
static int dlcp_charge_new(struct sock *sk, size_t queued, size_t extra,
			   const struct dlcp_until *u)
{
	size_t size = queued + extra;
	bool force = size <= DLCP_MEM_MIN &&
		     (!u->nonblock || sk->sk_wmem_queued < DLCP_MEM_MIN);
	int err;

	if (size > INT_MAX || (!force && dlcp_mem_never(sk, size)))
		return -ENOBUFS;
	while (!dlcp_tx_charge(sk, queued, extra, force)) {
		err = dlcp_wait_memory(sk, u, size);
		if (err)
			return err;
	}
	return 0;
}

/**
 * dlcp_tx_new() - a message that is not queued yet
 * @sk: the connection
 * @args: what the user said
 * @len: bytes
 * @now: when sendmsg() was called
 * @u: how long it may wait for memory
 *
 * Context: process, socket lock owned; sleeps.
 * Return: the message or an ERR_PTR()
 */
static struct dlcp_tx *dlcp_tx_new(struct sock *sk,
				   const struct dlcp_send_args *args,
				   size_t len, u64 now,
				   const struct dlcp_until *u)
{
	u32 nr_segs, slot_size, slots, nr_chunks;
	size_t size, share = sk->sk_sndbuf / 4;
	struct dlcp_open open;
	struct dlcp_tx *tx;
	int err;

	err = dlcp_tx_open(sk, &args->attr, len, &open);
	if (err)
		return ERR_PTR(err);
	nr_segs = dlcp_nr_segs(len, open.seg_size);
	dlcp_cut(nr_segs, open.seg_size, len, &slot_size, &slots);
	nr_chunks = DIV_ROUND_UP(nr_segs, slots);
	size = dlcp_tx_size(nr_segs, args->tags, nr_chunks);
	share = min(size, share);
	err = dlcp_charge_new(sk, share, size - share, u);
	if (err)
		return ERR_PTR(err);
	tx = kvzalloc(size, GFP_KERNEL);
	if (!tx) {
		dlcp_filling_add(sk, -(int)share);
		dlcp_tx_uncharge(sk, share, size - share);
		return ERR_PTR(-ENOBUFS);
	}
	tx->chunks = (void *)(tx + 1) + size - sizeof(*tx) -
		     nr_chunks * sizeof(*tx->chunks);
	tx->nr_chunks = nr_chunks;
	tx->slot_size = slot_size;
	tx->head = dlcp_head(nr_segs);
	tx->stride = args->pinned ? tx->head : slot_size;
	tx->slots = slots;
	tx->charged = share;
	tx->extra = size - share;
	tx->flags = args->attr.flags;
	tx->cookie = args->attr.cookie;
	tx->zerocopy = args->zerocopy;
	tx->pinned = args->pinned;
	tx->filling = true;
	tx->core.awaited = tx->zerocopy || tx->flags & DLCP_MSG_REPORT;
	INIT_LIST_HEAD(&tx->report);
	INIT_LIST_HEAD(&tx->large);
	dlcp_txmsg_init(&tx->core, &open, args->tags ? args->tags->tags : NULL,
			args->tags ? args->tags->stride : 0, tx + 1, now);
	return tx;
}

/* A small chunk shares pages with those before and after it, also of other messages.
 * Return: false: it gets its own.
 */
static bool dlcp_share_pages(struct sock *sk, struct dlcp_chunk *chunk,
			     u32 bytes)
{
	struct page_frag *frag = sk_page_frag(sk);

	bytes = ALIGN(bytes, 8);
	/* For want of large ones it may have filled in a small page */
	if (bytes > DLCP_SHARE_MAX ||
	    !skb_page_frag_refill(bytes, frag, sk->sk_allocation) ||
	    frag->offset + bytes > frag->size)
		return false;
	get_page(frag->page);
	chunk->page = frag->page;
	chunk->offset = frag->offset;
	frag->offset += bytes;
	return true;
}

static struct page *dlcp_alloc_pages(struct sock *sk, u32 order)
{
	gfp_t gfp = sk->sk_allocation | __GFP_COMP;
	struct page *page;

	page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_NOWARN |
			   __GFP_NORETRY, order);
	return page ?: alloc_pages(gfp, order);
}

static int dlcp_alloc_chunk(struct sock *sk, struct dlcp_tx *tx, u32 i)
{
	struct dlcp_chunk *chunk = &tx->chunks[i];
	u32 bytes = dlcp_chunk_room(tx, i);

	if (!dlcp_share_pages(sk, chunk, bytes)) {
		chunk->page = dlcp_take_spare(sk, tx, dlcp_chunk_cost(bytes));
		if (!chunk->page)
			chunk->page = dlcp_alloc_pages(sk, get_order(bytes));
		if (!chunk->page)
			return -ENOBUFS;
	}
	chunk->size = dlcp_chunk_cost(dlcp_chunk_bytes(tx, i));
	return 0;
}

/* Bytes [off, off + len) of the user's buffer to @offset of @page */
static int dlcp_copy_in(struct dlcp_fill_state *f, struct page *page,
			u32 offset, u64 off, u32 len)
{
	/* Neither the steps of an iterator for each segment, nor a hardened
	 * kernel's look at the object behind the address
	 */
	if (f->user)
		return _copy_from_user(page_address(page) + offset,
				       f->user + off, len) ? -EFAULT : 0;
	if (off < f->off) {
		f->at = f->start;
		f->off = 0;
	}
	if (off > f->off)
		iov_iter_advance(&f->at, off - f->off);
	f->off = off + len;
	if (len && copy_page_from_iter(page, offset, len, &f->at) != len) {
		f->off = U64_MAX;	/* start anew, should we be called */
		return -EFAULT;
	}
	return 0;
}

/* Segments [@pos, @end) of an untagged message, which the user has in one piece */
static int dlcp_copy_row(const struct dlcp_fill_state *f, u8 *to, u32 pos,
			 u32 end)
{
	const struct dlcp_txmsg *m = &f->tx->core;
	u32 stride = f->tx->slot_size, len = m->open.seg_size;
	const void __user *from = f->user + (u64)pos * len;

	for (; pos < end; pos++, to += stride, from += len) {
		if (pos + 1 == end)
			len = dlcp_txmsg_len(m, pos);
		if (_copy_from_user(to, from, len))
			return -EFAULT;
	}
	return 0;
}

static int dlcp_copy_slots(struct dlcp_fill_state *f, u32 i)
{
	struct dlcp_tx *tx = f->tx;
	struct dlcp_txmsg *m = &tx->core;
	u32 pos = i * tx->slots, seg;
	u32 end = min(pos + tx->slots, m->nr_segs);
	u32 to = tx->chunks[i].offset + tx->head;
	int err;

	if (f->user && !m->seg_of_pos)
		return dlcp_copy_row(f, page_address(tx->chunks[i].page) + to,
				     pos, end);
	for (; pos < end; pos++, to += tx->slot_size) {
		seg = dlcp_txmsg_seg(m, pos);
		err = dlcp_copy_in(f, tx->chunks[i].page, to,
				   (u64)seg * m->open.seg_size,
				   dlcp_txmsg_len(m, pos));
		if (err)
			return err;
	}
	return 0;
}

/* Copy chunk @i in, or hold its pages. It is charged already. */
static int dlcp_copy_chunk(struct sock *sk, struct dlcp_fill_state *f, u32 i)
{
	struct dlcp_tx *tx = f->tx;
	int err;

	err = dlcp_alloc_chunk(sk, tx, i);
	if (err) {
		dlcp_uncharge_chunk(sk, tx,
				    dlcp_chunk_cost(dlcp_chunk_bytes(tx, i)));
		return err;
	}
	err = tx->pinned ? dlcp_pin_chunk(tx, i, &f->start) :
			   dlcp_copy_slots(f, i);
	if (!err)
		tx->copied = i + 1;
	else	/* it may be tried again */
		dlcp_free_chunk(sk, tx, i);
	return err;
}

/* All of SO_SNDBUF is reports nobody reads: waiting would be for ever */
static bool dlcp_only_reports(const struct sock *sk)
{
	const struct dlcp_sock *ds = dlcp_sk(sk);

	return !dlcp_conn_tx_any(&ds->conn) && !list_empty(&ds->reports);
}

/* A @patient call queues its message and then waits for room; it happens that
 * a signal ends that, hence the second limit.
 */
static bool dlcp_room(const struct sock *sk, bool patient)
{
	int sndbuf = READ_ONCE(sk->sk_sndbuf);

	if (patient)
		return dlcp_left_behind(sk) - sndbuf < sndbuf / 2;
	return dlcp_third_free(sk);
}

/* Until a message may begin. Return: 0 or an errno; nothing was sent. */
static int dlcp_wait_begin(struct sock *sk, const struct dlcp_until *u)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	long timeo;
	int err;

	for (;;) {
		err = dlcp_send_error(sk);
		if (err)
			return err;
		if (sk->sk_state != TCP_SYN_SENT && dlcp_conn_may_send(c)) {
			if (dlcp_room(sk, u->patient))
				return 0;
			if (dlcp_only_reports(sk))
				return -ENOBUFS;
		}
		timeo = dlcp_until_left(u);
		if (!timeo) {
			dlcp_want_space(sk);
			return -EAGAIN;
		}
		if (signal_pending(current))
			return sock_intr_errno(timeo);
		dlcp_send_sleep(sk, false, &timeo);
	}
}

/* Let in what came meanwhile, so that it is sent while we copy */
static void dlcp_send_breathe(struct sock *sk)
{
	dlcp_flush_backlog(sk);
	dlcp_run_deferred(sk);
}

/*
 * Room for chunk @i. A message without a chunk in memory may always have one,
 * or unread reports and its own bitmaps could stop it for ever.
 */
static int dlcp_wait_chunk(struct sock *sk, struct dlcp_tx *tx, u32 i)
{
	u32 cost = dlcp_chunk_cost(dlcp_chunk_bytes(tx, i));
	long timeo;

	for (;;) {
		if (tx->over || sk->sk_err || sk->sk_state == TCP_CLOSE)
			return dlcp_send_error(sk);
		timeo = HZ;	/* others' space may have come unnoticed */
		if (dlcp_space(sk) || tx->freed >= i) {
			if (dlcp_charge_chunk(sk, tx, cost, false))
				return 0;
			dlcp_drop_spares(sk, tx);
			timeo = HZ / 50 + 1;	/* memory limit: try again */
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		dlcp_push(sk);	/* what is copied already */
		/* Who has a signal already would be awake all the time */
		dlcp_send_sleep(sk, signal_pending(current), &timeo);
	}
}

/*
 * A chunk of a message that is queued: it has to be finished, so for memory it
 * waits and tries again.
 */
static int dlcp_add_chunk(struct sock *sk, struct dlcp_fill_state *f, u32 i)
{
	struct dlcp_tx *tx = f->tx;
	long timeo;
	int err;

	for (;;) {
		err = dlcp_wait_chunk(sk, tx, i);
		if (err || tx->over)
			return err;
		err = dlcp_copy_chunk(sk, f, i);
		if (err != -ENOBUFS)
			return err;
		if (fatal_signal_pending(current))
			return -EINTR;
		dlcp_push(sk);
		timeo = HZ / 50 + 1;
		dlcp_send_sleep(sk, signal_pending(current), &timeo);
	}
}

/* Before the message is queued: an error leaves no trace */
static int dlcp_prefill(struct sock *sk, struct dlcp_fill_state *f, u32 n,
			const struct dlcp_until *u)
{
	struct dlcp_tx *tx = f->tx;
	int err;
	u32 i;

	for (i = 0; i < n; i++) {
		dlcp_charge_chunk(sk, tx, dlcp_chunk_cost(dlcp_chunk_bytes(tx, i)),
				  true);
		err = dlcp_copy_chunk(sk, f, i);
		if (err)
			return err;
	}
	/* While we slept the connection, or the last number, may have gone */
	return dlcp_wait_begin(sk, u);
}

static int dlcp_queue_tx(struct sock *sk, struct dlcp_tx *tx, u32 n)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	u32 filled = min_t(u64, (u64)n * tx->slots, tx->core.nr_segs);
	int err = dlcp_zc_begin(sk, tx);

	if (err)
		return err;
	dlcp_conn_send(c, &tx->core);
	trace_dlcp_open(sk, true, tx->core.id, &tx->core.open);
	dlcp_conn_fill(c, &tx->core, filled);
	/* A short rest goes along: dlcp_fill_rest() is at it at once */
	if (filled == tx->core.nr_segs ||
	    tx->core.nr_segs - filled > tx->slots / 2)
		dlcp_push(sk);
	return 0;
}

/*
 * Chunks that are copied before the next look at what came, and pushed together. Each
 * push costs as many instructions as some ten packets, and an answer. Two chunks make a
 * packet of the largest size. A window goes together: more could not leave at
 * once. To copy eight takes some 50 us, for which ACKs and timers may wait.
 */
static u32 dlcp_push_chunks(const struct sock *sk)
{
	u64 window = dlcp_sk(sk)->conn.cong.cwnd;

	return clamp_t(u64, window / DLCP_CHUNK_SIZE, 2, 8) & ~1U;
}

/* The rest of a message that is queued */
static int dlcp_fill_rest(struct sock *sk, struct dlcp_fill_state *f, u32 i)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_tx *tx = f->tx;
	u32 left = 0;
	int err = 0;

	for (; i < tx->nr_chunks && !tx->over && !err; i++) {
		if (!left) {
			dlcp_send_breathe(sk);
			left = dlcp_push_chunks(sk);
		}
		err = dlcp_add_chunk(sk, f, i);
		if (err || tx->over)
			break;
		dlcp_conn_fill(&dlcp_sk(sk)->conn, &tx->core,
			       min_t(u64, (u64)(i + 1) * tx->slots,
				     tx->core.nr_segs));
		if (--left && i + 1 != tx->nr_chunks)
			continue;
		/* What waits for the pacing clock goes when the timer fires */
		if (!ds->conn.send.pace_wait ||
		    test_bit(DLCP_DEFER_TIMER, &ds->deferred))
			dlcp_push(sk);
	}
	dlcp_drop_spares(sk, tx);
	if (err && !tx->over) {
		dlcp_conn_abort(&dlcp_sk(sk)->conn, ECONNABORTED,
				"a message could not be copied from its sender");
		dlcp_push(sk);
	}
	return err;
}

/* All is copied, and will be sent. Until it can be left behind, the time is up, a
 * signal comes, or somebody shuts the socket down: as of TCP, nobody waits for
 * that to be read.
 */
static void dlcp_wait_end(struct sock *sk, const struct dlcp_tx *tx,
			  const struct dlcp_until *u)
{
	long timeo;

	while (!tx->over && sk->sk_state != TCP_CLOSE &&
	       !(sk->sk_shutdown & SEND_SHUTDOWN) &&
	       dlcp_left_behind(sk) + (int)(tx->charged + tx->in_mem) >
	       READ_ONCE(sk->sk_sndbuf) &&
	       !dlcp_only_reports(sk) && !signal_pending(current)) {
		timeo = min_t(long, dlcp_until_left(u), HZ);
		if (!timeo)
			break;
		dlcp_send_sleep(sk, false, &timeo);
	}
}

/* Chunks that are copied before the message is queued */
static u32 dlcp_prefill_chunks(const struct dlcp_tx *tx)
{
	u32 slots = DLCP_PREFILL * DLCP_CHUNK_SIZE / tx->slot_size;

	return min_t(u32, max_t(u32, slots / tx->slots, DLCP_PREFILL),
		     tx->nr_chunks);
}

/* Bytes of SO_SNDBUF the whole message takes, but for what it was charged */
static u64 dlcp_tx_cost(const struct dlcp_tx *tx)
{
	u32 last = tx->nr_chunks - 1;
	u64 cost = 0;

	if (last)
		cost = (u64)last * dlcp_chunk_cost(dlcp_chunk_bytes(tx, 0));
	return cost + dlcp_chunk_cost(dlcp_chunk_bytes(tx, last));
}

/* It can be sent only by a call that waits. With MSG_DONTWAIT on a blocking
 * socket that is what EAGAIN says: io_uring tries without waiting first.
 */
static int dlcp_must_wait(const struct sock *sk)
{
	const struct file *file = sk->sk_socket->file;

	return file && file->f_flags & O_NONBLOCK ? -EMSGSIZE : -EAGAIN;
}

/* Memory for the whole message, for a call that does not wait */
static int dlcp_take_whole(struct sock *sk, struct dlcp_tx *tx,
			   const struct dlcp_until *u)
{
	u64 cost = dlcp_tx_cost(tx);

	if (tx->charged + cost > READ_ONCE(sk->sk_sndbuf) ||
	    dlcp_mem_never(sk, tx->charged + tx->extra + cost))
		return dlcp_must_wait(sk);
	if (dlcp_mem_tx(sk, cost, dlcp_left_behind(sk)) ||
	    sk->sk_wmem_queued + cost <= DLCP_MEM_MIN)
		return 0;
	return dlcp_wait_memory(sk, u, cost);
}

static int dlcp_send_tx(struct sock *sk, struct dlcp_tx *tx,
			struct msghdr *msg, const struct dlcp_until *u)
{
	struct dlcp_fill_state f = {
		.tx = tx,
		.start = msg->msg_iter,
		.at = msg->msg_iter,
		.user = dlcp_user_buf(&msg->msg_iter, tx->core.open.length),
	};
	u32 n = dlcp_prefill_chunks(tx);
	int err;

	if (u->nonblock) {
		err = dlcp_take_whole(sk, tx, u);
		if (err)
			return err;
		n = tx->nr_chunks;
	}
	WRITE_ONCE(dlcp_sk(sk)->mem_wanted, 0);
	err = dlcp_prefill(sk, &f, n, u);
	if (err)
		return err;
	err = dlcp_queue_tx(sk, tx, n);
	if (err)
		return err;
	err = dlcp_fill_rest(sk, &f, n);
	if (!err)
		dlcp_wait_end(sk, tx, u);
	return err;
}

/* sendmsg() is done with @tx */
static void dlcp_end_fill(struct sock *sk, struct dlcp_tx *tx, int err)
{
	if (err)
		tx->flags &= ~DLCP_MSG_REPORT;
	dlcp_drop_spares(sk, tx);
	if (!tx->over && !dlcp_txmsg_queued(&tx->core)) {
		dlcp_tx_free(sk, tx);
		return;
	}
	if (!tx->pinned)
		dlcp_zc_end(tx);
	dlcp_filling_add(sk, -(int)(tx->charged + tx->in_mem));
	tx->filling = false;
	if (tx->over)
		dlcp_tx_over(sk, tx);
}

static int dlcp_send_locked(struct sock *sk, struct msghdr *msg, size_t len,
			    struct dlcp_send_args *args, u64 now)
{
	struct dlcp_until u;
	struct dlcp_tx *tx;
	int err;

	dlcp_until_init(&u, sk, msg->msg_flags & MSG_DONTWAIT);
	err = dlcp_wait_begin(sk, &u);
	if (err)
		return err;
	args->zerocopy = len && msg->msg_flags & MSG_ZEROCOPY &&
			 sock_flag(sk, SOCK_ZEROCOPY);
	args->pinned = args->zerocopy &&
		       dlcp_zc_usable(sk, &msg->msg_iter, len);
	tx = dlcp_tx_new(sk, args, len, now, &u);
	if (IS_ERR(tx))
		return PTR_ERR(tx);
	err = dlcp_send_tx(sk, tx, msg, &u);
	dlcp_end_fill(sk, tx, err);
	return err;
}

/* One call is one message. sendfile() and splice() would make one of every few
 * pages; nor does what follows MSG_MORE belong to it.
 */
static int dlcp_check_flags(int flags)
{
	if (flags & DLCP_MSG_SPLICE)
		return -EINVAL;
	return flags & (MSG_OOB | MSG_MORE) ? -EOPNOTSUPP : 0;
}

/**
 * dlcp_sendmsg() - send one message
 * @sk: socket
 * @msg: of sendmsg(); MSG_DONTWAIT, MSG_NOSIGNAL, MSG_ZEROCOPY if the socket
 *	allows it; MSG_OOB and MSG_MORE are refused, others mean nothing
 * @len: bytes
 *
 * Context: process.
 * Return: @len, or an errno: EINVAL and E2BIG for bad attributes, EMSGSIZE,
 *	ENOTCONN, EPIPE, EISCONN (an address was given), EAGAIN, EINTR,
 *	ENOBUFS (no memory, SO_SNDBUF is full of unread reports, or
 *	RLIMIT_MEMLOCK with MSG_ZEROCOPY), EFAULT,
 *	and the connection's own. After an error nothing of the message was
 *	sent, or the connection is over.
 */
int dlcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)
{
	struct dlcp_send_args args;
	u64 now = dlcp_now();
	int err;

	err = dlcp_check_flags(msg->msg_flags);
	if (err)
		return err;
	err = dlcp_get_send_args(sk, msg, len, &args);
	if (err)
		return err;
	lock_sock(sk);
	if (msg->msg_name && sk->sk_state != TCP_CLOSE)
		err = -EISCONN;
	else
		err = dlcp_send_locked(sk, msg, len, &args, now);
	release_sock(sk);
	if (err == -EPIPE && !(msg->msg_flags & MSG_NOSIGNAL))
		send_sig(SIGPIPE, current, 0);
	if (err)
		return err;
	iov_iter_advance(&msg->msg_iter, len);
	return len;
}
