// SPDX-License-Identifier: GPL-2.0
/* Training over DLCP */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlcp.h>

#include "net.h"

/*
 * All layers of a step fit into the socket's buffers: then they wait side by
 * side, and the kernel sends the urgent ones first, whatever the order of the
 * calls.
 */
#define BUFFER		(32 << 20)
#define DEAD_MS		20000
#define REPORT_MS	20000

/**
 * struct conn - a connection
 * @fd: its socket
 * @seg_size: bytes of a segment, the stride of the tags
 * @receipt: of the reading thread
 * @batch: reports of the thread that reads them
 */
struct conn {
	int			fd;
	uint32_t		seg_size;
	struct dlcp_receipt	receipt;
	struct dlcp_reports	batch;
};

/* Use up the descriptor: into a connection, or closed */
static struct conn *make_conn(int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));
	uint32_t dead = DEAD_MS, on = 1;
	struct dlcp_info info;

	if (!conn || dlcp_set_buffers(fd, BUFFER, BUFFER) ||
	    dlcp_get_info(fd, &info) ||
	    setsockopt(fd, SOL_DLCP, DLCP_DEAD_MS, &dead, sizeof(dead)) ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on))) {
		free(conn);
		close(fd);
		return NULL;
	}
	conn->fd = fd;
	conn->seg_size = info.seg_size;
	return conn;
}

static int listen_dlcp(const char *port)
{
	return dlcp_listen(NULL, port, 64);
}

static struct conn *accept_dlcp(int fd)
{
	int conn = dlcp_accept(fd, -1);

	return conn < 0 ? NULL : make_conn(conn);
}

static struct conn *connect_dlcp(const char *host, const char *port, int ms)
{
	int fd = dlcp_connect(host, port, ms);

	return fd < 0 ? NULL : make_conn(fd);
}

/* Mark the segments with the smallest magnitudes as the first to be dropped */
static struct dlcp_tags *make_tags(const struct conn *conn,
				   const struct tensor *tensor)
{
	struct dlcp_tags *tags = dlcp_tags_new(tensor->bytes, conn->seg_size);

	if (tags && dlcp_tags_f32(tags, tensor->data,
				  tensor->bytes / sizeof(float),
				  tensor->droppable, 0)) {
		dlcp_tags_free(tags);
		return NULL;
	}
	return tags;
}

static int send_dlcp(struct conn *conn, const struct tensor *tensor)
{
	struct dlcp_send msg = {
		.buf = tensor->data,
		.len = tensor->bytes,
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_LOSS |
				DLCP_ATTR_PRIO | DLCP_ATTR_ELEM |
				DLCP_ATTR_FLAGS,
			.key = tensor->key,
			.loss_ppm = (uint32_t)(tensor->loss * DLCP_PPM),
			.prio = (uint8_t)tensor->prio,
			.elem_size = sizeof(float),
			.flags = (tensor->report ? DLCP_MSG_REPORT : 0) |
				 (tensor->early ? DLCP_MSG_EARLY_STOP : 0),
		},
	};
	struct dlcp_tags *tags = NULL;
	ssize_t n;

	if (tensor->droppable > 0) {
		tags = make_tags(conn, tensor);
		if (!tags)
			return -1;
		msg.tags = tags;
	}
	n = dlcp_send(conn->fd, &msg);
	dlcp_tags_free(tags);
	return n < 0 ? -1 : 0;
}

static int next_dlcp(struct conn *conn, uint64_t *key)
{
	if (dlcp_peek(conn->fd, DLCP_ANY, 0, &conn->receipt) < 0)
		return -1;
	if (conn->receipt.eof)
		return NET_EOF;
	*key = conn->receipt.msg.key;
	return 0;
}

static int add_gaps(const struct dlcp_range *ranges, size_t nr,
		    struct gaps *gaps)
{
	struct gap gap;
	size_t i;

	for (i = 0; i < nr; i++) {
		gap.from = ranges[i].offset;
		gap.to = gap.from + ranges[i].length;
		if (gaps_add(gaps, gap))
			return -1;
	}
	return 0;
}

static int recv_dlcp(struct conn *conn, uint64_t key, void *buf, size_t bytes,
		     struct gaps *gaps)
{
	struct dlcp_receipt *r = &conn->receipt;
	ssize_t n;

	n = dlcp_recv(conn->fd, DLCP_KEY(key), buf, bytes, 0, r);
	if (n < 0)
		return -1;
	if (r->eof)
		return NET_EOF;
	if ((size_t)n != bytes || r->truncated || (r->nr_ranges && !gaps))
		return NET_WRONG;
	return add_gaps(r->ranges, r->nr_ranges, gaps);
}

static int recv_any_dlcp(struct conn *conn, uint64_t *key, void *buf,
			 size_t max, struct gaps *gaps)
{
	struct dlcp_receipt *r = &conn->receipt;

	if (dlcp_recv(conn->fd, DLCP_ANY, buf, max, 0, r) < 0)
		return -1;
	if (r->eof)
		return NET_EOF;
	*key = r->msg.key;
	return add_gaps(r->ranges, r->nr_ranges, gaps);
}

static int tell_reports(const struct dlcp_reports *batch,
			void (*told)(void *ctx, uint64_t key,
				     const struct gaps *gaps), void *ctx)
{
	const struct dlcp_sent *sent;
	struct gaps gaps = { 0 };
	size_t i;
	int ret = 0;

	for (i = 0; i < batch->nr && !ret; i++) {
		sent = &batch->sent[i];
		gaps.nr = 0;
		ret = add_gaps(sent->ranges, sent->nr_ranges, &gaps);
		if (!ret)
			told(ctx, sent->report.key, &gaps);
	}
	free(gaps.gap);
	return ret;
}

static int reports_dlcp(struct conn *conn, int wait,
			void (*told)(void *ctx, uint64_t key,
				     const struct gaps *gaps), void *ctx)
{
	if (dlcp_reports(conn->fd, &conn->batch, wait ? REPORT_MS : 0) < 0)
		return wait || errno != EAGAIN ? -1 : 0;
	return tell_reports(&conn->batch, told, ctx);
}

static int backlog_dlcp(struct conn *conn, size_t bytes)
{
	return dlcp_set_buffers(conn->fd, bytes, BUFFER);
}

static int stats_dlcp(struct conn *conn, struct stats *stats)
{
	struct dlcp_info info;

	if (dlcp_get_info(conn->fd, &info))
		return -1;
	stats->offered = info.tx_offered;
	stats->delivered = info.tx_delivered;
	stats->forgiven = info.tx_forgiven;
	stats->resent = info.tx_resent;
	return 0;
}

static const char *name_of_dlcp(struct conn *conn)
{
	return net_peer_name(conn->fd);
}

static void close_dlcp(struct conn *conn)
{
	close(conn->fd);
	dlcp_receipt_free(&conn->receipt);
	dlcp_reports_free(&conn->batch);
	free(conn);
}

const struct net_ops net_dlcp = {
	.name		= "dlcp",
	.any_order	= 1,
	.listen		= listen_dlcp,
	.accept		= accept_dlcp,
	.connect	= connect_dlcp,
	.send		= send_dlcp,
	.next		= next_dlcp,
	.recv		= recv_dlcp,
	.recv_any	= recv_any_dlcp,
	.reports	= reports_dlcp,
	.backlog	= backlog_dlcp,
	.stats		= stats_dlcp,
	.name_of	= name_of_dlcp,
	.error		= dlcp_last_error,
	.close		= close_dlcp,
};
