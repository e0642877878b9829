// SPDX-License-Identifier: GPL-2.0
/* recvmsg(MSG_ERRQUEUE): reports of sent messages, as many as fit, and the
 * kernel's notifications of zero-copy sends.
 */

#include "dlcp.h"

/* A run of missing segments as a range of bytes. Return: segment after it. */
static u32 dlcp_tx_run(struct dlcp_tx *tx, u32 seg, struct dlcp_range *range)
{
	struct dlcp_txmsg *m = &tx->core;
	u32 end = seg + 1;
	u64 last;

	while (end < m->nr_segs && dlcp_txmsg_next_missing(m, end) == end)
		end++;
	last = (u64)(end - 1) * m->open.seg_size;
	memset(range, 0, sizeof(*range));
	range->offset = (u64)seg * m->open.seg_size;
	range->length = last + dlcp_seg_len(&m->open, end - 1) - range->offset;
	range->why = m->why;
	return end;
}

static u32 dlcp_count_runs(struct dlcp_tx *tx)
{
	struct dlcp_range range;
	u32 seg = 0, n = 0;

	if (tx->error || !tx->core.nr_missing)
		return 0;
	while ((seg = dlcp_txmsg_next_missing(&tx->core, seg)) <
	       tx->core.nr_segs) {
		seg = dlcp_tx_run(tx, seg, &range);
		n++;
	}
	return n;
}

static void dlcp_fill_report(struct dlcp_tx *tx, struct dlcp_report *r)
{
	const struct dlcp_txmsg *m = &tx->core;

	memset(r, 0, sizeof(*r));
	r->cookie = tx->cookie;
	r->key = m->open.key;
	r->length = m->open.length;
	r->resent = m->resent_bytes;
	r->id = m->id;
	r->flags = dlcp_end_flags(tx->flags, m->below_bound, m->late, m->why);
	r->error = tx->error;
	r->duration_ns = m->done_time - m->start_time;
	if (tx->error)
		return;
	r->missing = m->missing_bytes;
	r->nr_ranges = dlcp_count_runs(tx);
}

static int dlcp_put_runs(struct msghdr *msg, struct dlcp_tx *tx, u32 nr)
{
	struct dlcp_range range;
	struct dlcp_ctl ctl;
	u32 seg = 0;
	int err;

	nr = dlcp_ctl_begin(&ctl, msg, nr);
	while (nr--) {
		seg = dlcp_txmsg_next_missing(&tx->core, seg);
		if (seg >= tx->core.nr_segs)
			break;
		seg = dlcp_tx_run(tx, seg, &range);
		err = dlcp_ctl_put(&ctl, &range);
		if (err)
			return err;
	}
	return dlcp_ctl_end(&ctl);
}

/* Return: 0; an errno: @msg is as it was. -ENOSPC: it does not fit any more, and is
 * not the first
 */
static int dlcp_put_report(struct msghdr *msg, struct dlcp_tx *tx, bool first)
{
	const struct msghdr before = *msg;
	struct dlcp_report report;
	size_t need;
	int err;

	dlcp_fill_report(tx, &report);
	need = dlcp_ctl_space(msg, sizeof(report));
	if (report.nr_ranges)
		need += dlcp_ctl_space(msg, (size_t)report.nr_ranges *
					    sizeof(struct dlcp_range));
	if (need > msg->msg_controllen && !first)
		return -ENOSPC;
	err = put_cmsg(msg, SOL_DLCP, DLCP_CMSG_REPORT, sizeof(report),
		       &report);
	if (!err && report.nr_ranges)
		err = dlcp_put_runs(msg, tx, report.nr_ranges);
	if (err)
		*msg = before;
	return err;
}

static int dlcp_recv_reports(struct sock *sk, struct msghdr *msg, int flags)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_tx *tx, *n;
	bool first = true;
	int err = -EAGAIN;

	lock_sock(sk);
	list_for_each_entry_safe(tx, n, &ds->reports, report) {
		err = dlcp_put_report(msg, tx, first);
		if (err)
			break;
		first = false;
		if (!(flags & MSG_PEEK))
			dlcp_tx_free(sk, tx);
	}
	if (!first && !(flags & MSG_PEEK))
		dlcp_write_space(sk);
	release_sock(sk);
	/* What stopped it the next call is told, which begins there */
	if (!first)
		err = 0;
	if (!err)
		msg->msg_flags |= MSG_ERRQUEUE;
	return err;
}

bool dlcp_errqueue_readable(const struct sock *sk)
{
	return !list_empty(&dlcp_sk(sk)->reports) ||
	       !skb_queue_empty_lockless(&sk->sk_error_queue);
}

/**
 * dlcp_recv_errqueue() - recvmsg(MSG_ERRQUEUE)
 * @sk: socket
 * @msg: gets a DLCP_CMSG_REPORT, and DLCP_CMSG_RANGES where bytes are missing,
 *	for each report that fits and can be written; the others stay.
 *	MSG_CTRUNC if not even the first one did fit; it
 *	is gone then, as with any other control message. When there is no
 *	report: one zero-copy notification, as IP_RECVERR or IPV6_RECVERR;
 *	to look at it is to take it, so MSG_PEEK does not show it.
 * @len: bytes of the user's buffer, which stays as it is
 * @flags: MSG_PEEK leaves reports there
 *
 * Context: process. Never blocks.
 * Return: 0, -EAGAIN if there is nothing, -EFAULT: not even the first one could be
 *	written, and it stays
 */
int dlcp_recv_errqueue(struct sock *sk, struct msghdr *msg, size_t len,
		       int flags)
{
	int err = dlcp_recv_reports(sk, msg, flags);

	if (err == -EAGAIN && !(flags & MSG_PEEK) &&
	    !skb_queue_empty_lockless(&sk->sk_error_queue))
		err = dlcp_inet_recv_error(sk, msg, len);
	return err;
}
