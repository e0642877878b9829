// SPDX-License-Identifier: GPL-2.0
/* DLCP: each layer of a round's share is one message. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define KEY_COMMAND	(1ULL << 63)
#define KEY(round, layer)	((round) * MAX_LAYERS + (layer))

/* A layer is waited for by a thread of its own */
struct inbox_layer {
	struct conn *c;
	pthread_t thread;
	uint64_t round;
	uint64_t offset;
	uint32_t layer;
	struct dlcp_receipt receipt;
};

static int dlcp_open(const struct options *opt)
{
	int fd = dlcp_socket(opt->addr.ss_family);

	if (fd < 0)
		fail("%s", dlcp_last_error());
	if (opt->cc && setsockopt(fd, SOL_DLCP, DLCP_CONGESTION, opt->cc,
				  strlen(opt->cc)))
		die("congestion control %s", opt->cc);
	return fd;
}

static void dlcp_accepted(struct conn *c)
{
	if (dlcp_prepare(c->fd))
		fail("%s", dlcp_last_error());
	hold_share(c);
}

static void do_send(struct conn *c, const struct dlcp_send *msg)
{
	if (dlcp_send(c->fd, msg) < 0)
		fail("%s", dlcp_last_error());
}

static void do_recv(struct conn *c, uint64_t key, void *buf, size_t len,
		    struct dlcp_receipt *receipt)
{
	ssize_t n = dlcp_recv(c->fd, DLCP_KEY(key), buf, len, 0, receipt);

	if (n < 0)
		fail("%s", dlcp_last_error());
	if ((size_t)n != len)
		fail("a message of %zd bytes instead of %zu", n, len);
}

static void dlcp_put(struct conn *c, const void *data, size_t len)
{
	struct dlcp_send msg = {
		.buf = data,
		.len = len,
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_PRIO,
			.key = KEY_COMMAND,
		},
	};

	do_send(c, &msg);
}

static void note_report(struct conn *c, const struct dlcp_sent *sent)
{
	uint64_t round = sent->report.key / MAX_LAYERS, offset = 0;
	size_t i;

	for (i = 0; i < sent->report.key % MAX_LAYERS; i++)
		offset += c->opt->layer[i];
	if (sent->report.error)
		fail("round %llu ended with error %u",
		     (unsigned long long)round, sent->report.error);
	if (sent->truncated)
		fail("a report was truncated");
	for (i = 0; i < sent->nr_ranges; i++)
		c->report_hash = hash_range(c->report_hash, round,
					    offset + sent->ranges[i].offset,
					    sent->ranges[i].length);
	c->reports_due--;
}

static void read_reports(struct conn *c, int timeout)
{
	int n = dlcp_reports(c->fd, &c->reports, timeout), i;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0)
		fail("%s", dlcp_last_error());
	for (i = 0; i < n; i++)
		note_report(c, &c->reports.sent[i]);
}

/* A sender reads its reports while it waits for a command */
static void dlcp_get(struct conn *c, void *data, size_t len)
{
	int events;

	while (c->reports_due) {
		events = dlcp_wait(c->fd, POLLIN, -1);
		if (events < 0)
			fail("%s", dlcp_last_error());
		if (events & POLLERR)
			read_reports(c, 0);
		if (events & POLLIN)
			break;
	}
	do_recv(c, KEY_COMMAND, data, len, &c->receipt);
}

static void dlcp_send_layer(struct conn *c, uint64_t round, uint32_t layer,
			    uint64_t offset)
{
	const struct options *opt = c->opt;
	struct dlcp_send msg = {
		.buf = c->buf + offset,
		.len = opt->layer[layer],
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_LOSS | DLCP_ATTR_FLAGS,
			.key = KEY(round, layer),
			.loss_ppm = opt->bound,
			.flags = DLCP_MSG_REPORT |
				 (opt->early_stop ? DLCP_MSG_EARLY_STOP : 0),
		},
	};

	/* An eighth of the layers in each class, the front in class 0 */
	if (opt->nr_layers > 1) {
		msg.attr.mask |= DLCP_ATTR_PRIO;
		msg.attr.prio = 7 - layer * 8 / opt->nr_layers;
	}
	if (opt->urgent) {
		msg.attr.mask |= DLCP_ATTR_PRIO;
		msg.attr.prio = c->index < opt->urgent ? 0 : 7;
	}
	c->reports_due++;
	do_send(c, &msg);
}

/* What the receipt of a layer says is missing */
static void note_receipt(struct conn *c, const struct inbox_layer *l)
{
	const struct dlcp_receipt *r = &l->receipt;
	uint64_t sum = 0;
	size_t i;

	if (r->truncated)
		fail("a receipt was truncated");
	for (i = 0; i < r->nr_ranges; i++) {
		add_missing(c, l->offset + r->ranges[i].offset,
			    r->ranges[i].length);
		sum += r->ranges[i].length;
	}
	if (sum != r->msg.missing)
		fail("%llu bytes missing, but ranges of %llu bytes",
		     r->msg.missing, (unsigned long long)sum);
	if (sum > c->opt->layer[l->layer] * c->opt->bound / DLCP_PPM)
		fail("%llu bytes missing is beyond the bound",
		     (unsigned long long)sum);
}

static void *recv_layer(void *arg)
{
	struct inbox_layer *l = arg;
	struct conn *c = l->c;

	do_recv(c, KEY(l->round, l->layer), c->buf + l->offset,
		c->opt->layer[l->layer], &l->receipt);
	if (l->layer == c->opt->nr_layers - 1)
		c->front_end = now_ns();
	return NULL;
}

static void dlcp_recv_share(struct conn *c, uint64_t round)
{
	uint32_t i, last = c->opt->nr_layers - 1;
	uint64_t offset = 0;

	if (!c->layers)
		c->layers = calloc(c->opt->nr_layers, sizeof(*c->layers));
	if (!c->layers)
		fail("out of memory");
	for (i = 0; i <= last; i++) {
		c->layers[i].c = c;
		c->layers[i].round = round;
		c->layers[i].layer = i;
		c->layers[i].offset = offset;
		offset += c->opt->layer[i];
		if (i == last)
			break;
		errno = pthread_create(&c->layers[i].thread, NULL, recv_layer,
				       &c->layers[i]);
		if (errno)
			die("pthread_create");
	}
	recv_layer(&c->layers[last]);
	for (i = 0; i < last; i++)
		pthread_join(c->layers[i].thread, NULL);
	for (i = 0; i <= last; i++)
		note_receipt(c, &c->layers[i]);
}

static void dlcp_stats(struct conn *c, struct stats *st)
{
	struct dlcp_info info;

	while (c->reports_due)
		read_reports(c, -1);
	if (dlcp_get_info(c->fd, &info))
		fail("%s", dlcp_last_error());
	st->known = 1;
	st->sent = info.tx_sent;
	st->resent = info.tx_resent;
	st->lost = info.lost_packets * info.seg_size;
	st->spurious = info.spurious;
	st->probes = info.probes;
	st->marks = info.ce_marks;
	st->report_hash = c->report_hash;
}

const struct proto proto_dlcp = {
	.name = "dlcp",
	.open = dlcp_open,
	.connected = dlcp_accepted,
	.accepted = dlcp_accepted,
	.put = dlcp_put,
	.get = dlcp_get,
	.send = dlcp_send_layer,
	.recv = dlcp_recv_share,
	.stats = dlcp_stats,
};

/* --- without the library: no keys, no reports, no receipts */

static int dlcp_plain_open(const struct options *opt)
{
	struct dlcp_attr attr = { .mask = DLCP_ATTR_LOSS, .loss_ppm = opt->bound };
	int fd = dlcp_open(opt);

	if (opt->bound && dlcp_set_defaults(fd, &attr))
		fail("%s", dlcp_last_error());
	return fd;
}

static void dlcp_plain_start(struct conn *c)
{
	(void)c;
}

const struct proto proto_dlcp_plain = {
	.name = "dlcp-plain",
	.open = dlcp_plain_open,
	.connected = dlcp_plain_start,
	.accepted = dlcp_plain_start,
	.put = stream_put,
	.get = stream_get,
	.send = stream_send,
	.recv = stream_recv,
	.stats = dlcp_stats,
};
