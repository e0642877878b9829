// SPDX-License-Identifier: GPL-2.0
/*
 * DLCP and TCP, as dlcp perf uses them. A message is complete over DLCP when its report says
 * so, and over TCP when the receiving program has said that it has it.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <dlcp.h>

#include "../inet.h"
#include "perf.h"

/* States of TCP: our end was acknowledged, the peer's came */
enum {
	FIN_WAIT2 = 5,
	CLOSE_WAIT = 8,
};

/* The most that TCP reads at once */
#define TCP_READ	131072

static void swap(uint64_t *to, const uint64_t *from, size_t size)
{
	size_t i;

	for (i = 0; i < size / sizeof(*to); i++)
		to[i] = __builtin_bswap64(from[i]);
}

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define swap(to, from, size)	memcpy(to, from, size)
#endif

int perf_put(const struct perf_net *net, int fd, const void *numbers, size_t size)
{
	uint64_t *wire = malloc(size);
	int err;

	if (!wire)
		return -1;
	swap(wire, numbers, size);
	err = net->put(fd, wire, size);
	free(wire);
	return err;
}

int perf_get(const struct perf_net *net, int fd, void *numbers, size_t size)
{
	uint64_t *wire = malloc(size);
	int err = wire ? net->get(fd, wire, size) : -1;

	if (!err)
		swap(numbers, wire, size);
	free(wire);
	return err ? -1 : 0;
}

void perf_patience(int fd, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static void set_alive(int fd)
{
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static socklen_t length_of(const struct sockaddr_storage *to)
{
	return to->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					   sizeof(struct sockaddr_in);
}

static void nobody_listens(const char *host, int port)
{
	if (port == PERF_PORT)
		say_error("%s answers, and no server listens there: run `dlcp perf -s` at %s",
			  host, host);
	else
		say_error("%s answers, and no server listens at port %d: run `dlcp perf -s -p %d` at %s",
			  host, port, port, host);
}

/* --- DLCP */

static int dlcp_net_connect(const struct sockaddr_storage *to, int ms, struct reach *r)
{
	int fd = dlcp_socket(to->ss_family);

	memset(r, 0, sizeof(*r));
	if (fd >= 0 && !dlcp_connect_fd(fd, (const struct sockaddr *)to, length_of(to), ms)) {
		set_alive(fd);
		return fd;
	}
	r->what = REACHED_NOT;
	r->err = errno;
	if (fd < 0)
		strcpy(r->words, "socket");
	else if (dlcp_conn_error(fd, r->words, sizeof(r->words)))
		*r->words = '\0';
	if (fd >= 0)
		close(fd);
	if (r->err == ECONNREFUSED && strstr(r->words, "nobody listens"))
		r->what = REACHED_ONLY;
	return -1;
}

static void dlcp_failed(const char *host, int port, const struct reach *r)
{
	char advice[400];

	if (r->what == REACHED_ONLY)
		nobody_listens(host, port);
	else
		say_error("no DLCP connection to %s: %s: %s", host, strerror(r->err),
			  peer_advice(r, host, advice, sizeof(advice)));
}

static int dlcp_net_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0 && dlcp_prepare(fd)) {
		close(fd);
		errno = ECONNABORTED;	/* its own trouble, not the listener's */
		return -1;
	}
	if (fd >= 0)
		set_alive(fd);
	return fd;
}

static int dlcp_put(int fd, const void *buf, size_t len)
{
	const struct dlcp_send msg = { .buf = buf, .len = len };

	return dlcp_send(fd, &msg) < 0 ? -1 : 0;
}

static int dlcp_get(int fd, void *buf, size_t len)
{
	struct dlcp_receipt receipt = { 0 };
	ssize_t n = dlcp_recv(fd, DLCP_ANY, buf, len, 0, &receipt);

	dlcp_receipt_free(&receipt);
	if (n >= 0 && n != (ssize_t)len)
		errno = ECONNRESET;
	return n == (ssize_t)len ? 0 : -1;
}

static int dlcp_send_one(struct perf_conn *c)
{
	const struct perf_hello *h = &c->hello;
	const struct dlcp_send msg = {
		.buf = c->buf, .len = h->length,
		.attr = {
			.mask = DLCP_ATTR_LOSS | DLCP_ATTR_PRIO | DLCP_ATTR_FLAGS,
			.loss_ppm = (uint32_t)h->bound_ppm, .prio = (uint8_t)h->prio,
			.flags = DLCP_MSG_REPORT | (h->early_stop ? DLCP_MSG_EARLY_STOP : 0),
		},
	};

	while (dlcp_send(c->fd, &msg) < 0) {
		/* Reports fill the buffer, which another thread reads */
		if (errno != ENOBUFS)
			return -1;
		usleep(1000);
	}
	return 0;
}

static int dlcp_complete(struct perf_conn *c)
{
	struct dlcp_reports reports = { 0 };
	int n, i;

	do
		n = dlcp_reports(c->fd, &reports, -1);
	while (!n);
	for (i = 0; i < n; i++) {
		if (reports.sent[i].report.error) {
			errno = (int)reports.sent[i].report.error;
			n = -1;
			break;
		}
		hist_add(&c->result.times, reports.sent[i].report.duration_ns);
	}
	dlcp_reports_free(&reports);
	return n;
}

static int dlcp_receive(struct perf_conn *c)
{
	struct dlcp_receipt receipt = { 0 };
	ssize_t n = dlcp_recv(c->fd, DLCP_ANY, c->buf, c->hello.length, 0, &receipt);
	int more = n < 0 ? -1 : !receipt.eof;

	if (more > 0) {
		c->result.messages++;
		c->result.missing += receipt.msg.missing;
		c->result.bytes += (uint64_t)n - receipt.msg.missing;
	}
	dlcp_receipt_free(&receipt);
	return more;
}

static void dlcp_count(int fd, struct perf_counters *n)
{
	struct dlcp_info info;

	memset(n, 0, sizeof(*n));
	if (dlcp_get_info(fd, &info))
		return;
	n->acked = info.tx_delivered;
	n->received = info.rx_delivered;
	n->resent = info.seg_size ? info.tx_resent / info.seg_size : 0;
	n->rtt_us = info.srtt_ns / 1000;
}

const struct perf_net perf_dlcp = {
	.name = "DLCP",
	.listen = peer_listen,
	.connect = dlcp_net_connect,
	.failed = dlcp_failed,
	.accept = dlcp_net_accept,
	.put = dlcp_put,
	.get = dlcp_get,
	.send = dlcp_send_one,
	.complete = dlcp_complete,
	.receive = dlcp_receive,
	.count = dlcp_count,
};

/* --- TCP */

/* A peer that is gone is noticed in half a minute; messages do not wait for more of them */
static int tcp_prepare(int fd)
{
	int on = 1, secs = 10, ms = 30000;

	set_alive(fd);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &secs, sizeof(secs));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &secs, sizeof(secs));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	return fd;
}

static int tcp_listen(int port)
{
	int fd = inet_listen_tcp(port, PERF_CONNS);

	if (fd >= 0)
		return fd;
	if (errno == EADDRINUSE)
		say_error("TCP port %d is in use: `ss -ltnp 'sport = :%d'` says by whom; choose another one with -p",
			  port, port);
	else
		say_error("TCP port %d: %s: choose another one with -p", port, strerror(errno));
	return -1;
}

static int tcp_connect(const struct sockaddr_storage *to, int ms, struct reach *r)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(r, 0, sizeof(*r));
	/* Which limits connect(), too */
	if (fd >= 0)
		perf_patience(fd, ms);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)to, length_of(to))) {
		perf_patience(fd, PERF_SET_UP_MS);
		return tcp_prepare(fd);
	}
	r->err = errno == EINPROGRESS ? ETIMEDOUT : errno;
	r->what = r->err == ECONNREFUSED ? REACHED_ONLY : REACHED_NOT;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void tcp_failed(const char *host, int port, const struct reach *r)
{
	if (r->what == REACHED_ONLY)
		nobody_listens(host, port);
	else if (r->err == ETIMEDOUT)
		say_error("no answer from TCP port %d of %s: the host is down, or a firewall drops the port: open it there (`nft add rule inet filter input tcp dport %d accept`)",
			  port, host, port);
	else if (advise_limit(r->err))
		say_error("no TCP connection to %s: %s: %s", host, strerror(r->err),
			  advise_limit(r->err));
	else
		say_error("no TCP connection to %s: %s: look at `ip route get %s`", host,
			  strerror(r->err), host);
}

static int tcp_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	return fd < 0 ? fd : tcp_prepare(fd);
}

static int tcp_put(int fd, const void *buf, size_t len)
{
	ssize_t n;

	for (; len; len -= (size_t)n, buf = (const char *)buf + n) {
		n = send(fd, buf, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return -1;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

static int tcp_get(int fd, void *buf, size_t len)
{
	ssize_t n;

	for (; len; len -= (size_t)n, buf = (char *)buf + n) {
		n = recv(fd, buf, len, 0);
		if (!n)
			errno = ECONNRESET;
		if (!n || (n < 0 && errno != EINTR))
			return -1;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

static int tcp_send_one(struct perf_conn *c)
{
	return tcp_put(c->fd, c->buf, c->hello.length);
}

/* The receiver says how many it has */
static int tcp_complete(struct perf_conn *c)
{
	uint64_t has, now, i;

	if (perf_get(&perf_tcp, c->fd, &has, sizeof(has)))
		return -1;
	if (has <= c->done || has > c->sent) {
		errno = EPROTO;
		return -1;
	}
	now = now_ns();
	for (i = c->done; i < has; i++)
		hist_add(&c->result.times, now - c->started[i % PERF_QUEUE]);
	return (int)(has - c->done);
}

static int tcp_receive(struct perf_conn *c)
{
	uint64_t has = c->result.messages;
	ssize_t n = recv(c->fd, c->buf, TCP_READ, 0);

	if (n <= 0)
		return n && errno == EINTR ? 1 : (int)n;
	c->result.bytes += (uint64_t)n;
	c->result.messages = c->result.bytes / c->hello.length;
	if (c->result.messages == has)
		return 1;
	has = c->result.messages;
	return perf_put(&perf_tcp, c->fd, &has, sizeof(has)) ? -1 : 1;
}

static void tcp_count(int fd, struct perf_counters *n)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	memset(n, 0, sizeof(*n));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return;
	/* They count the end of the other direction, and of this one, as a byte */
	n->acked = info.tcpi_bytes_acked - (info.tcpi_state == FIN_WAIT2);
	n->received = info.tcpi_bytes_received - (info.tcpi_state == CLOSE_WAIT);
	n->resent = info.tcpi_total_retrans;
	n->rtt_us = info.tcpi_rtt;
}

const struct perf_net perf_tcp = {
	.name = "TCP",
	.listen = tcp_listen,
	.connect = tcp_connect,
	.failed = tcp_failed,
	.accept = tcp_accept,
	.put = tcp_put,
	.get = tcp_get,
	.send = tcp_send_one,
	.complete = tcp_complete,
	.receive = tcp_receive,
	.count = tcp_count,
};
