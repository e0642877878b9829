// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One message of an operation, to or from one rank.
 *
 * Sending never blocks inside the kernel: a peer that does not read could hold
 * us there for ever, where no failure of the group would reach us. A message is
 * therefore no longer than a chunk, and is sent whole or not yet.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll.h"

static void count(uint64_t *counter, uint64_t bytes)
{
	__atomic_fetch_add(counter, bytes, __ATOMIC_RELAXED);
}

static int wants_report(const struct coll_op *op, const struct coll_out *out)
{
	return out->half == COLL_REDUCE && out->loss_ppm &&
	       op->args.correct == DLCP_COLL_FEEDBACK;
}

static int wants_tags(const struct coll_op *op, const struct coll_out *out)
{
	return out->half == COLL_REDUCE && out->loss_ppm &&
	       (op->args.droppable > 0 || op->args.critical > 0) &&
	       op->dtype <= DLCP_COLL_BF16;
}

/* A byte has four, and control messages may have net.core.optmem_max bytes,
 * which was 20480 until Linux 6.9
 */
#define MAX_TAGS	65536

/* Tags by the magnitudes of floats, 16-bit ones as 32-bit ones of twice the
 * stride. Of very long messages one is for several segments.
 */
static struct dlcp_tags *make_tags(const struct coll_op *op, uint32_t seg,
				   const struct coll_out *out)
{
	size_t n = out->len / op->size;
	const float *x = out->buf;
	struct dlcp_tags *tags;
	float *wide = NULL;
	int bad;

	seg -= seg % 4;
	seg *= (uint32_t)(out->len / seg / MAX_TAGS + 1);
	tags = dlcp_tags_new(n * 4, seg * (uint32_t)(4 / op->size));
	if (!tags)
		return NULL;
	if (op->dtype != DLCP_COLL_F32) {
		wide = malloc(n * sizeof(*wide));
		x = wide;
		if (wide)
			coll_to_f32(op->dtype, wide, out->buf, n);
	}
	if (x)
		bad = dlcp_tags_f32(tags, x, n, op->args.droppable,
				    op->args.critical);
	else
		bad = dlcp__no_memory();
	free(wide);
	if (bad) {
		dlcp_tags_free(tags);
		return NULL;
	}
	tags->stride = seg;
	return tags;
}

static void expect_report(struct coll_op *op, int more)
{
	pthread_mutex_lock(&op->lock);
	op->reports += (size_t)more;
	pthread_mutex_unlock(&op->lock);
}

/* Return as coll_send() */
static int try_send(struct coll_op *op, const struct coll_link *link,
		    const struct coll_out *out, const struct dlcp_send *msg)
{
	int report = wants_report(op, out);

	if (report)	/* it may be here before dlcp_send() has returned */
		expect_report(op, 1);
	if (dlcp_send(link->fd, msg) >= 0) {
		count(&op->c->stats.sent, out->len);
		return 1;
	}
	if (report)
		expect_report(op, -1);
	if (errno == EAGAIN || errno == ENOBUFS)
		return 0;
	if (errno == EPIPE || errno == ECONNRESET || errno == ETIMEDOUT ||
	    errno == EHOSTUNREACH || errno == ENETUNREACH ||
	    errno == ENOTCONN || errno == ECONNABORTED)
		return coll_lost(op->c, link->rank, errno);
	return coll_fail(op->c, errno, "sending to rank %d: %s", link->rank,
			 dlcp_last_error());
}

/* Heads and sums of THC are not cut at their elements: they lose nothing */
static uint16_t elem_size(const struct coll_op *op, const struct coll_out *out)
{
	if (out->half == COLL_REDUCE || op->sum_size == op->size)
		return (uint16_t)op->size;
	return sizeof(uint16_t);
}

/* Return: 1 sent, 0 no room now, -1 the group has failed */
static int send_now(struct coll_op *op, int to, const struct coll_out *out)
{
	struct coll_link *link = &op->c->links[to];
	struct pollfd pfd = { .fd = link->fd, .events = POLLOUT };
	struct dlcp_tags *tags = NULL;
	struct dlcp_send msg = {
		.buf = out->buf,
		.len = out->len,
		.flags = MSG_DONTWAIT,
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_LOSS | DLCP_ATTR_ELEM |
				DLCP_ATTR_PRIO | DLCP_ATTR_FLAGS |
				DLCP_ATTR_COOKIE | DLCP_ATTR_GROUP,
			.key = coll_key(op->nr, out->half, out->chunk),
			.cookie = out->first,
			.loss_ppm = out->loss_ppm,
			.elem_size = elem_size(op, out),
			.prio = op->args.prio,
			.group = op->args.step,
			.flags = wants_report(op, out) ? DLCP_MSG_REPORT : 0,
		},
	};
	int ret;

	if (wants_tags(op, out)) {
		if (poll(&pfd, 1, 0) != 1 || !(pfd.revents & POLLOUT))
			return 0;	/* tags would be made in vain */
		tags = make_tags(op, link->seg_size, out);
		if (!tags)
			return coll_fail(op->c, errno, "rank %d: %s",
					 op->c->rank, dlcp_last_error());
		msg.tags = tags;
	}
	ret = try_send(op, link, out, &msg);
	dlcp_tags_free(tags);
	return ret;
}

int coll_send(struct coll_op *op, int to, const struct coll_out *out)
{
	size_t taken;
	int ret;

	if (coll_failed(op->c))
		return -1;
	if (!coll_eager_may_send(op, to, out, &taken))
		return COLL_NOT_YET;
	ret = send_now(op, to, out);
	if (ret <= 0)
		coll_eager_not_sent(op, to, taken);
	return ret;
}

/* Full of reports is no room either: the monitor makes some, but nobody tells
 * us of that, hence the time limit
 */
int coll_wait_room(struct coll_op *op, const uint8_t *blocked)
{
	struct dlcp_coll *c = op->c;
	struct pollfd pfd[COLL_MAX_WORLD + 2];
	nfds_t n = 2;
	uint64_t one;
	int i;

	pfd[0] = (struct pollfd){ .fd = c->broken, .events = POLLIN };
	pfd[1] = (struct pollfd){ .fd = op->wake, .events = POLLIN };
	for (i = 0; i < c->world; i++)
		if (blocked && blocked[i])
			pfd[n++] = (struct pollfd){ .fd = c->links[i].fd,
						    .events = POLLOUT };
	while (poll(pfd, n, n > 2 ? 100 : -1) < 0)
		if (errno != EINTR)
			return coll_fail(c, errno, "poll");
	if (pfd[1].revents & POLLIN && read(op->wake, &one, sizeof(one)) < 0 &&
	    errno != EAGAIN)
		return coll_fail(c, errno, "eventfd");
	return coll_failed(c) ? -1 : 0;
}

int coll_send_all(struct coll_op *op, int to, const struct coll_out *out)
{
	struct pollfd pfd[2] = {
		{ .fd = op->c->broken, .events = POLLIN },
		{ .fd = op->c->links[to].fd, .events = POLLOUT },
	};
	int ret;

	for (;;) {
		ret = coll_send(op, to, out);
		if (ret == 1)
			return 0;
		if (ret < 0 ||
		    (ret == COLL_NOT_YET && coll_wait_room(op, NULL)))
			return -1;
		if (!ret)
			poll(pfd, 2, 100);
	}
}

/* A line for every message, so that those of which nothing is missing count */
static void trace(struct coll_op *op, int from, const struct coll_in *in)
{
	size_t i, size = in->half == COLL_REDUCE ? op->size : op->sum_size;
	FILE *file = op->c->trace;
	const struct coll_gap *g;

	if (!file || !in->len)
		return;
	flockfile(file);
	fprintf(file, "%u %llu %d %d %zu %zu", op->nr,
		(unsigned long long)op->args.tensor, in->half, from, in->first,
		in->len / size);
	for (i = 0; i < in->gaps->nr; i++) {
		g = &in->gaps->gap[i];
		fprintf(file, " %zu %zu", in->first + g->first, g->n);
	}
	fputc('\n', file);
	funlockfile(file);
}

/* Ranges of bytes into ranges of elements; segments never cut one */
static int note_gaps(struct coll_op *op, int from, const struct coll_in *in,
		     const struct dlcp_receipt *r)
{
	struct coll_gaps *gaps = in->gaps;
	size_t i;

	gaps->nr = 0;
	if (r->nr_ranges) {
		free(gaps->gap);
		gaps->gap = malloc(r->nr_ranges * sizeof(*gaps->gap));
		if (!gaps->gap)
			return coll_no_memory(op->c);
	}
	for (i = 0; i < r->nr_ranges; i++)
		gaps->gap[i] = (struct coll_gap){
			r->ranges[i].offset / op->size,
			r->ranges[i].length / op->size };
	gaps->nr = r->nr_ranges;
	trace(op, from, in);
	return 0;
}

/* For the monitor, which looks at any time. @from: a rank, and the group's size
 * more for the spreading half
 */
void coll_note_waiting(struct coll_op *op, int from, uint8_t what)
{
	__atomic_store_n(&op->waiting[from], what, __ATOMIC_RELAXED);
}

/* A message of up to @max bytes, or with MSG_TRUNC (heads) of any length.
 * Return: its length or -1
 */
static ssize_t take(struct coll_op *op, int from, const struct dlcp_want *want,
		    void *buf, size_t max, int flags, struct dlcp_receipt *r)
{
	int half = from, spread = (int)(want->key >> 28 & 0xf) == COLL_SPREAD;
	struct dlcp_coll *c = op->c;
	ssize_t n;

	if (spread)
		half += c->world;
	if (coll_failed(c))
		return -1;
	coll_note_waiting(op, half, flags ? COLL_NOT_BEGUN : COLL_NO_DATA);
	n = dlcp_recv(c->links[from].fd, want, buf, max, flags, r);
	if (n < 0 && errno == EMSGSIZE)
		return flags ? -1 : coll_foreign(c, from);
	if (n < 0 || r->eof)
		return coll_lost(c, from, n < 0 ? errno : 0);
	coll_note_waiting(op, half, 0);
	count(&c->stats.received, (uint64_t)n);
	count(&c->stats.missing, r->msg.missing);
	return n;
}

int coll_recv(struct coll_op *op, int from, const struct coll_in *in)
{
	struct dlcp_want want =
		dlcp_want_key(coll_key(op->nr, in->half, in->chunk));
	struct dlcp_receipt r = { .eof = 0 };
	ssize_t n;
	int ret;

	want.flags |= in->keep ? DLCP_WANT_KEEP : DLCP_WANT_ZERO;
	n = take(op, from, &want, in->buf, in->len, 0, &r);
	if (n < 0)
		ret = -1;
	else if ((size_t)n != in->len || r.truncated)
		ret = coll_foreign(op->c, from);
	else
		ret = note_gaps(op, from, in, &r);
	dlcp_receipt_free(&r);
	return ret;
}

/* What is too long is received too: its head says what it is */
int coll_recv_head(struct coll_op *op, int from, void *buf, size_t len)
{
	struct dlcp_want want = dlcp_want_key(coll_key(op->nr, COLL_HEAD, 0));
	struct dlcp_receipt r = { .eof = 0 };
	struct coll_head head;
	char text[200];
	ssize_t n;

	len += sizeof(head);
	n = take(op, from, &want, buf, len, MSG_TRUNC, &r);
	dlcp_receipt_free(&r);
	if (n < 0)
		return -1;
	if ((size_t)n < sizeof(head))
		return coll_foreign(op->c, from);
	memcpy(&head, buf, sizeof(head));
	if (coll_differs(op, from, &head, text, sizeof(text)))
		return coll_fail(op->c, EBADMSG, "%s", text);
	return (size_t)n == len ? 0 : coll_foreign(op->c, from);
}
