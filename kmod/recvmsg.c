// SPDX-License-Identifier: GPL-2.0
/*
 * recvmsg(): one message, whole, into the user's buffer.
 *
 * A call looks for a complete message. If there is none it waits, and a long
 * message that is on its way may already be copied segment by segment, each to
 * its own place. Then the call is bound to this message. If it is interrupted,
 * or its time is over, what was copied is only in the user's buffer: the
 * message is continued by calling recvmsg() again with the same buffer (same
 * process, addresses, lengths, order of its parts), as the kernel itself does after
 * a signal with SA_RESTART. With any other buffer the message is not found; who
 * asks for it by its key, or for any without waiting when there is no other, gets
 * EBUSY. So does who would receive another message into that buffer, or between two
 * parts of it. The message can always be thrown away with DLCP_WANT_DISCARD.
 */
#include "dlcp.h"
#include "trace.h"

/* Skbs copied between two looks at the backlog */
#define DLCP_COPY_BATCH	16

static void dlcp_reader_init(struct dlcp_reader *r, struct msghdr *msg,
			     size_t len, int flags)
{
	init_waitqueue_head(&r->wq);
	r->rx = NULL;
	r->to = msg->msg_iter;
	r->at = 0;
	r->room = len;
	r->from = &msg->msg_iter;
	r->mm = current->mm;
	r->task = current;
	r->user = dlcp_user_buf(&msg->msg_iter, len);
	r->flags = flags;
}

/* May @r have @rx? @busy is set if only its buffer forbids it. */
static bool dlcp_may_take(const struct dlcp_reader *r,
			  const struct dlcp_rx *rx, bool *busy)
{
	if (rx->reader)
		return false;
	if (r->want.flags & DLCP_WANT_KEY && r->want.key != rx->core.open.key)
		return false;
	if (!rx->partial || r->flags & MSG_PEEK ||
	    r->want.flags & DLCP_WANT_DISCARD)
		return true;
	if (dlcp_reader_has(r, rx))
		return true;
	*busy = true;
	return false;
}

static struct dlcp_rx *dlcp_older(struct dlcp_rx *a, struct dlcp_rx *b)
{
	return !a || b->core.id < a->core.id ? b : a;
}

/* Complete ones are sorted by class and age; with a key, age alone counts */
static struct dlcp_rx *dlcp_pick_ready(struct sock *sk,
				       const struct dlcp_reader *r, bool *busy)
{
	struct dlcp_rx *rx, *best = NULL;

	list_for_each_entry(rx, &dlcp_sk(sk)->rx_ready, ready) {
		if (!dlcp_may_take(r, rx, busy))
			continue;
		if (!(r->want.flags & DLCP_WANT_KEY))
			return rx;
		best = dlcp_older(best, rx);
	}
	return best;
}

/* One on its way: with the key, or such as will not complete by itself */
static struct dlcp_rx *dlcp_pick_open(struct sock *sk,
				      const struct dlcp_reader *r, bool *busy)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_rx *rx, *best = NULL;
	bool any = !(r->want.flags & DLCP_WANT_KEY);

	if (any && !ds->rx_attn && !ds->rx_partial)
		return NULL;
	dlcp_conn_for_each_rx(rx, &ds->conn, core) {
		if (any && !rx->partial && !dlcp_rx_large(sk, rx))
			continue;
		if (!dlcp_may_take(r, rx, busy))
			continue;
		if (any && best &&
		    best->core.open.prio < rx->core.open.prio)
			continue;
		if (any && best && best->core.open.prio > rx->core.open.prio)
			best = NULL;
		best = dlcp_older(best, rx);
	}
	return best;
}

/* The one whose beginning lies in this very buffer goes before all others */
static struct dlcp_rx *dlcp_pick_partial(struct sock *sk,
					 const struct dlcp_reader *r)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_rx *rx;
	bool busy;

	if (!ds->rx_partial || r->flags & MSG_PEEK)
		return NULL;
	list_for_each_entry(rx, &ds->rx_ready, ready)
		if (dlcp_reader_has(r, rx) && dlcp_may_take(r, rx, &busy))
			return rx;
	dlcp_conn_for_each_rx(rx, &ds->conn, core)
		if (dlcp_reader_has(r, rx) && dlcp_may_take(r, rx, &busy))
			return rx;
	return NULL;
}

static bool dlcp_overlaps(const struct dlcp_reader *r, const struct dlcp_buf *b,
			  const struct dlcp_rx *rx)
{
	if (!rx->partial || rx == r->rx || rx->buf.mm != b->mm ||
	    rx->buf.process != b->process)
		return false;
	return (b->id != DLCP_BUF_PIECE && rx->buf.id == b->id) ||
	       (b->low < rx->buf.high && rx->buf.low < b->high);
}

/* Would r->rx be copied over a part of another message? */
static bool dlcp_clobbers(struct sock *sk, const struct dlcp_reader *r)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_buf buf;
	struct dlcp_rx *rx;

	if (ds->rx_partial <= r->rx->partial)
		return false;
	dlcp_buf_init(&buf, r);
	list_for_each_entry(rx, &ds->rx_ready, ready)
		if (dlcp_overlaps(r, &buf, rx))
			return true;
	dlcp_conn_for_each_rx(rx, &ds->conn, core)
		if (dlcp_overlaps(r, &buf, rx))
			return true;
	return false;
}

/* Attach @r to a message if there is one for it */
static void dlcp_pick(struct sock *sk, struct dlcp_reader *r, bool *busy)
{
	struct dlcp_rx *rx;

	/* A socket that was never connected has not even lists */
	if (r->rx || !dlcp_sk(sk)->conn_ready)
		return;
	rx = dlcp_pick_partial(sk, r);
	if (!rx)
		rx = dlcp_pick_ready(sk, r, busy);
	if (!rx)
		rx = dlcp_pick_open(sk, r, busy);
	if (rx)
		dlcp_reader_attach(sk, r, rx);
}

/* Have the next byte go to offset @at of the buffer. It mostly does. */
static void dlcp_seek(struct dlcp_reader *r, u64 at)
{
	if (at > r->at)
		iov_iter_advance(&r->to, at - r->at);
	else if (at < r->at)
		iov_iter_revert(&r->to, r->at - at);
	r->at = at;
}

/* Copy @len bytes at @off of @skb to offset @at of the buffer. @p: where they are, if
 * they are in one piece
 */
static int dlcp_copy_iter(struct dlcp_reader *r, const struct sk_buff *skb,
			  const u8 *p, u32 off, u64 at, u32 len)
{
	size_t left;
	int err = 0;

	dlcp_seek(r, at);
	left = iov_iter_count(&r->to);
	if (!p)
		err = skb_copy_datagram_iter(skb, off, &r->to, len);
	else if (_copy_to_iter(p, len, &r->to) != len)
		err = -EFAULT;
	r->at += left - iov_iter_count(&r->to);
	return err;
}

/* The same, from the cursor's skb. As in dlcp_copy_in(), an iterator is only where it has
 * to be.
 */
static __always_inline int dlcp_copy_out(struct dlcp_reader *r,
					 struct dlcp_cursor *cur, u32 off,
					 u64 at, u32 len)
{
	const u8 *p = dlcp_cursor_bytes(cur, off, len);

	if (p && r->user)
		return _copy_to_user(r->user + at, p, len) ? -EFAULT : 0;
	return dlcp_copy_iter(r, cur->skb, p, off, at, len);
}

/* The packet at @off was parsed when it came: it holds segment @seg, as long as
 * the message says. What its header says now does not matter. Return: its bytes, or
 * -EFAULT
 */
static int dlcp_copy_seg(struct dlcp_reader *r, const struct dlcp_open *o,
			 struct dlcp_cursor *cur, u32 off, u32 seg)
{
	u64 start;
	u32 len;

	off += DLCP_DATA_HDR_LEN;
	if (seg & DLCP_SEG_OPEN)
		off += DLCP_OPEN_LEN;
	seg &= ~DLCP_SEG_OPEN;
	len = dlcp_seg_len(o, seg);
	start = (u64)seg * o->seg_size;
	if (start < r->room &&
	    dlcp_copy_out(r, cur, off, start, min_t(u64, len, r->room - start)))
		return -EFAULT;
	return (int)len;
}

/* How many packets of @mask, from the lowest on, hold full segments that follow each
 * other from @seg on? @cb: what they are of; @most: of the message, and of the buffer
 */
static u32 dlcp_row_len(const struct dlcp_skb_cb *cb, u64 mask, u32 seg, u32 most)
{
	u32 i = __ffs64(mask), n, k;

	if (seg >= most)
		return 0;
	mask = ~(mask >> i);
	n = min_t(u32, mask ? __ffs64(mask) : DLCP_SKB_SEGS, most - seg);
	for (k = 1; !cb->run && k < n; k++)
		if (cb->segs[i + k] != seg + k)
			return k;
	return n;
}

/* Copy so many. Return: their bytes, or -EFAULT */
static int dlcp_copy_row(struct dlcp_reader *r, const struct dlcp_open *o,
			 struct dlcp_cursor *cur, u32 off, u32 seg, u32 n)
{
	u32 len = o->seg_size, step = DLCP_SKB_CB(cur->skb)->step, i;
	u64 at = (u64)seg * len;

	off += DLCP_DATA_HDR_LEN;
	for (i = 0; i < n; i++, off += step, at += len)
		if (dlcp_copy_out(r, cur, off, at, len))
			return -EFAULT;
	return (int)(n * len);
}

/* Copy the segments in @skb. Return: their bytes, or -EFAULT */
static int dlcp_copy_skb(struct dlcp_reader *r, const struct dlcp_rx *rx,
			 const struct sk_buff *skb)
{
	const struct dlcp_skb_cb *cb = DLCP_SKB_CB(skb);
	const struct dlcp_open *o = &rx->core.open;
	u64 mask = cb->mask, full;
	struct dlcp_cursor cur;
	int len, bytes = 0;
	u32 i, n, seg;

	full = div_u64(min_t(u64, o->length, r->room), o->seg_size);
	dlcp_cursor_init(&cur, skb);
	for (; mask; mask &= mask - 1) {
		i = __ffs64(mask);
		seg = cb->run ? cb->seg + i : cb->segs[i];
		/* What has an OPEN block has a number beyond all */
		n = dlcp_row_len(cb, mask, seg, min_t(u64, full, DLCP_SEG_OPEN));
		if (n)
			len = dlcp_copy_row(r, o, &cur, i * cb->step, seg, n);
		else
			len = dlcp_copy_seg(r, o, &cur, i * cb->step, seg);
		if (len < 0)
			return len;
		bytes += len;
		mask &= ~0ULL << (i + max(n, 1U) - 1);
	}
	return bytes;
}

static void dlcp_set_partial(struct sock *sk, struct dlcp_reader *r)
{
	struct dlcp_rx *rx = r->rx;

	if (rx->partial)
		return;
	dlcp_sk(sk)->rx_partial++;
	rx->partial = true;
	dlcp_buf_init(&rx->buf, r);
}

/* Let in what came meanwhile, and tell the peer of the room there is */
static void dlcp_breathe(struct sock *sk)
{
	dlcp_flush_backlog(sk);
	dlcp_run_deferred(sk);
	dlcp_push(sk);
}

/* Copy what is here of the message and free it */
static int dlcp_drain(struct sock *sk, struct dlcp_reader *r)
{
	struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	struct dlcp_rx *rx = r->rx;
	struct sk_buff *skb;
	int bytes;
	u32 n = 0;

	while ((skb = skb_peek(&rx->queue))) {
		bytes = dlcp_copy_skb(r, rx, skb);
		/* None of it counts as copied: a message of which nothing was
		 * is not bound to a bad buffer.
		 */
		if (bytes < 0)
			return bytes;
		dlcp_set_partial(sk, r);
		dlcp_conn_consume(c, &rx->core, bytes);
		rx->queued -= skb->len;
		__skb_unlink(skb, &rx->queue);
		dlcp_rx_skb_free(skb);
		if (++n % DLCP_COPY_BATCH == 0)
			dlcp_breathe(sk);
	}
	return 0;
}

/* Copy a complete message that is all here, and leave it here: it is not lost
 * should the user's buffer turn out bad.
 */
static int dlcp_copy_whole(struct sock *sk, struct dlcp_reader *r)
{
	struct dlcp_rx *rx = r->rx;
	struct sk_buff *skb;
	u32 n = 0;
	int bytes;

	skb_queue_walk(&rx->queue, skb) {
		bytes = dlcp_copy_skb(r, rx, skb);
		if (bytes < 0)
			return bytes;
		/* The queue of a complete message does not change */
		if (++n % DLCP_COPY_BATCH == 0)
			dlcp_breathe(sk);
	}
	return 0;
}

static void dlcp_run_range(const struct dlcp_rxmsg *m, u32 seg, u32 count,
			   struct dlcp_range *range)
{
	u64 end = (u64)(seg + count - 1) * m->open.seg_size +
		  dlcp_seg_len(&m->open, seg + count - 1);

	memset(range, 0, sizeof(*range));
	range->offset = (u64)seg * m->open.seg_size;
	range->length = end - range->offset;
	range->why = m->why;
}

static int dlcp_zero_missing(struct dlcp_reader *r)
{
	const struct dlcp_rxmsg *m = &r->rx->core;
	struct dlcp_range range;
	u32 seg = 0, count;
	u64 len;

	while (dlcp_rxmsg_next_missing(m, &seg, &count)) {
		dlcp_run_range(m, seg, count, &range);
		seg += count;
		if (range.offset >= r->room)
			break;
		len = min_t(u64, range.length, r->room - range.offset);
		dlcp_seek(r, range.offset);
		if (iov_iter_zero(len, &r->to) != len)
			return -EFAULT;
		r->at += len;
	}
	return 0;
}

static u32 dlcp_count_ranges(const struct dlcp_rxmsg *m)
{
	u32 seg = 0, count, n = 0;

	if (!dlcp_rxmsg_complete(m) || !m->nr_missing)
		return 0;
	while (dlcp_rxmsg_next_missing(m, &seg, &count)) {
		seg += count;
		n++;
	}
	return n;
}

static int dlcp_put_ranges(struct msghdr *msg, const struct dlcp_rxmsg *m,
			   u32 nr)
{
	struct dlcp_range range;
	struct dlcp_ctl ctl;
	u32 seg = 0, count;
	int err;

	nr = dlcp_ctl_begin(&ctl, msg, nr);
	while (nr-- && dlcp_rxmsg_next_missing(m, &seg, &count)) {
		dlcp_run_range(m, seg, count, &range);
		seg += count;
		err = dlcp_ctl_put(&ctl, &range);
		if (err)
			return err;
	}
	return dlcp_ctl_end(&ctl);
}

/* The control messages that describe @m */
static int dlcp_put_receipt(struct msghdr *msg, const struct dlcp_rxmsg *m)
{
	struct dlcp_msg info = {
		.key = m->open.key,
		.length = m->open.length,
		.missing = dlcp_rxmsg_complete(m) ? m->missing : 0,
		.id = m->id,
		.flags = dlcp_end_flags(m->open.flags, m->below_bound, m->late,
					m->why),
		.loss_ppm = m->open.loss_ppm,
		.seg_size = m->open.seg_size,
		.nr_ranges = dlcp_count_ranges(m),
		.elem_size = m->open.elem_size,
		.prio = m->open.prio,
		.complete = dlcp_rxmsg_complete(m),
	};
	int err;

	err = put_cmsg(msg, SOL_DLCP, DLCP_CMSG_MSG, sizeof(info), &info);
	if (err || !info.nr_ranges)
		return err;
	return dlcp_put_ranges(msg, m, info.nr_ranges);
}

static bool dlcp_wants_zeros(const struct sock *sk,
			     const struct dlcp_reader *r)
{
	if (r->want.flags & DLCP_WANT_ZERO)
		return true;
	if (r->want.flags & DLCP_WANT_KEEP)
		return false;
	return READ_ONCE(dlcp_sk(sk)->fill) == DLCP_FILL_ZERO;
}

/* The user has it. r->rx may be gone afterwards. */
static void dlcp_take_off(struct sock *sk, struct dlcp_reader *r)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_rx *rx = r->rx;

	r->rx = NULL;
	rx->reader = NULL;
	if (rx->partial)
		ds->rx_partial--;
	rx->partial = false;
	list_del_init(&rx->ready);
	dlcp_rx_purge_queue(sk, rx);
	trace_dlcp_read(sk, rx->core.id, true);
	dlcp_conn_rx_done(&ds->conn, &rx->core);
	dlcp_rx_advertise_room(sk);
	dlcp_push_read(sk);
	dlcp_rx_check_credit(sk);
}

/* What recvmsg() returns for a message of @length of which all was copied */
static ssize_t dlcp_recv_len(struct msghdr *msg, const struct dlcp_reader *r,
			     u64 length)
{
	size_t copied = min_t(u64, length, r->room);

	if (length > r->room)
		msg->msg_flags |= MSG_TRUNC;
	iov_iter_advance(&msg->msg_iter, copied);
	return r->flags & MSG_TRUNC ? length : copied;
}

static ssize_t dlcp_recv_complete(struct sock *sk, struct msghdr *msg,
				  struct dlcp_reader *r)
{
	struct dlcp_rxmsg *m = &r->rx->core;
	u64 length = m->open.length;
	int err;

	err = r->rx->partial ? dlcp_drain(sk, r) : dlcp_copy_whole(sk, r);
	if (!err && m->nr_missing && dlcp_wants_zeros(sk, r))
		err = dlcp_zero_missing(r);
	if (!err)
		err = dlcp_put_receipt(msg, m);
	if (err)
		return err;
	dlcp_take_off(sk, r);
	return dlcp_recv_len(msg, r, length);
}

/* Only look. Of one that is not complete, or lies partly in a buffer already,
 * there is nothing to show but what it is.
 */
static ssize_t dlcp_recv_peek(struct sock *sk, struct msghdr *msg,
			      struct dlcp_reader *r)
{
	struct dlcp_rx *rx = r->rx;
	bool show = dlcp_rxmsg_complete(&rx->core) && !rx->partial;
	int err = 0;

	if (show && dlcp_clobbers(sk, r))
		return -EBUSY;
	if (show) {
		err = dlcp_copy_whole(sk, r);
		if (!err && rx->core.nr_missing && dlcp_wants_zeros(sk, r))
			err = dlcp_zero_missing(r);
	}
	if (!err)
		err = dlcp_put_receipt(msg, &rx->core);
	if (err)
		return err;
	if (show)
		return dlcp_recv_len(msg, r, rx->core.open.length);
	return r->flags & MSG_TRUNC ? rx->core.open.length : 0;
}

static ssize_t dlcp_recv_discard(struct sock *sk, struct msghdr *msg,
				 struct dlcp_reader *r)
{
	struct dlcp_rx *rx = r->rx;
	int err;

	dlcp_conn_discard(&dlcp_sk(sk)->conn, &rx->core, dlcp_now());
	dlcp_events(sk);
	err = dlcp_put_receipt(msg, &rx->core);
	/* Who could not be told may still read of it */
	if (!err)
		dlcp_take_off(sk, r);
	return err;
}

/* Return: what recvmsg() returns; -EINPROGRESS: the message is not complete */
static ssize_t dlcp_recv_from(struct sock *sk, struct msghdr *msg,
			      struct dlcp_reader *r)
{
	struct dlcp_rx *rx = r->rx;
	int err = 0;

	if (r->flags & MSG_PEEK)
		return dlcp_recv_peek(sk, msg, r);
	if (r->want.flags & DLCP_WANT_DISCARD)
		return dlcp_recv_discard(sk, msg, r);
	if (rx->core.open.length > r->room && !(r->flags & MSG_TRUNC))
		return -EMSGSIZE;
	if (dlcp_clobbers(sk, r))
		return -EBUSY;
	if (!dlcp_rxmsg_complete(&rx->core) && dlcp_rx_by_parts(sk, rx)) {
		err = dlcp_drain(sk, r);
		if (err)
			return err;
	}
	if (dlcp_rxmsg_complete(&rx->core))
		return dlcp_recv_complete(sk, msg, r);
	rx->seen = true;
	dlcp_rx_advertise_room(sk);
	dlcp_push(sk);
	return -EINPROGRESS;
}

/* Nothing to be had: must this call return? 0: it may sleep. */
static int dlcp_recv_idle(struct sock *sk, bool busy, long timeo, bool *eof)
{
	if (sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & RCV_SHUTDOWN) {
		*eof = true;
		return 0;
	}
	if (sk->sk_state == TCP_CLOSE || sk->sk_state == TCP_LISTEN)
		return -ENOTCONN;
	if (busy)
		return -EBUSY;
	if (!timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(timeo);
	return 0;
}

/* What was refused may be what @r waits for, and has a minimum of its own now */
static void dlcp_recv_wanted(struct sock *sk, const struct dlcp_reader *r)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (r->rx || !(r->want.flags & DLCP_WANT_KEY) || !ds->conn_ready ||
	    !dlcp_conn_rx_denied(&ds->conn))
		return;
	dlcp_conn_rx_room(&ds->conn);
	dlcp_push(sk);
}

static void dlcp_recv_sleep(struct sock *sk, struct dlcp_reader *r,
			    long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	dlcp_recv_wanted(sk, r);
	add_wait_queue(&r->wq, &wait);
	release_sock(sk);
	*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
	lock_sock(sk);
	remove_wait_queue(&r->wq, &wait);
}

static ssize_t dlcp_recv_one(struct sock *sk, struct msghdr *msg,
			     struct dlcp_reader *r)
{
	long timeo = sock_rcvtimeo(sk, r->flags & MSG_DONTWAIT);
	bool busy, eof = false;
	ssize_t ret;

	for (;;) {
		busy = false;
		dlcp_pick(sk, r, &busy);
		if (r->rx) {
			ret = dlcp_recv_from(sk, msg, r);
			if (ret != -EINPROGRESS)
				return ret;
			if (r->rx && (dlcp_rxmsg_complete(&r->rx->core) ||
				      dlcp_rx_worth(sk, r->rx)))
				continue;
		}
		/* Others may come, but not with a key, nor at once */
		busy = busy && !r->rx &&
		       (r->want.flags & DLCP_WANT_KEY || !timeo);
		ret = dlcp_recv_idle(sk, busy, timeo, &eof);
		if (ret || eof)
			return ret;
		dlcp_recv_sleep(sk, r, &timeo);
	}
}

/**
 * dlcp_recvmsg() - receive a message, or reports
 * @sk: socket
 * @msg: of recvmsg()
 * @len: bytes of the user's buffer
 * @flags: MSG_PEEK, MSG_TRUNC, MSG_DONTWAIT, MSG_ERRQUEUE
 *
 * Context: process.
 * Return: bytes, 0 at the end (then without a DLCP_CMSG_MSG), or an errno
 */
int dlcp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags)
{
	struct dlcp_reader r;
	ssize_t ret;

	if (flags & MSG_ERRQUEUE)
		return dlcp_recv_errqueue(sk, msg, len, flags);
	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	dlcp_reader_init(&r, msg, len, flags);
	ret = dlcp_get_want(sk, msg, &r.want);
	if (ret)
		return ret;
	lock_sock(sk);
	dlcp_rx_sync_space(sk);
	list_add_tail(&r.node, &dlcp_sk(sk)->readers);
	ret = dlcp_recv_one(sk, msg, &r);
	list_del(&r.node);
	if (r.rx)
		dlcp_reader_detach(sk, &r);
	release_sock(sk);
	return min_t(ssize_t, ret, INT_MAX);
}
