// SPDX-License-Identifier: GPL-2.0
/*
 * What dlcp perf prints: text, or JSON with the names that iperf3 has for the same things.
 */
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "perf.h"

static struct point *points;
static size_t nr_points;
static struct rusage used_before;
static uint64_t wall_before;

void perf_sum(const struct perf_test *t, int server_sends, struct perf_sum *sum)
{
	const struct perf_result *to, *from;
	const struct perf_conn *c;
	int i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < t->run.nr; i++) {
		c = &t->run.conns[i];
		if ((int)c->hello.server_sends != server_sends)
			continue;
		from = c->sends ? &c->result : &t->remote[i];
		to = c->sends ? &t->remote[i] : &c->result;
		sum->messages += to->messages;
		sum->bytes += to->bytes;
		sum->missing += to->missing;
		sum->resent += from->resent;
		/* The receiver's time may begin when packets are there already */
		sum->ns = from->ns > sum->ns ? from->ns : sum->ns;
		hist_merge(&sum->times, &from->times);
	}
}

double perf_rate(const struct perf_sum *sum)
{
	return sum->ns ? (double)sum->bytes * 1e9 / (double)sum->ns : 0;
}

int perf_has_dir(const struct perf_test *t, int server_sends)
{
	return t->both || server_sends == t->reverse;
}

const struct point *perf_points(size_t *nr)
{
	*nr = nr_points;
	return points;
}

/* --- while it runs */

static void take_point(const struct perf_test *t, struct point *p)
{
	const struct perf_conn *c;
	struct perf_counters n;
	int i;

	memset(p, 0, sizeof(*p));
	p->ns = now_ns() - t->run.begin;
	for (i = 0; i < t->run.nr; i++) {
		c = &t->run.conns[i];
		c->net->count(c->fd, &n);
		if (c->sends)
			p->bytes[0] += n.acked - c->before.acked;
		else
			p->bytes[1] += n.received - c->before.received;
		p->resent += n.resent - c->before.resent;
	}
}

static void print_point(const struct perf_test *t, const struct point *from, const struct point *to)
{
	double secs = (double)(to->ns - from->ns) / 1e9;
	char size[NUM_LEN], rate[NUM_LEN];
	int d;

	for (d = 0; d < DIRS; d++) {
		if (!perf_has_dir(t, d))
			continue;
		printf("%7.2f-%-7.2f %s %8sB %10s", (double)from->ns / 1e9, (double)to->ns / 1e9,
		       d ? "<-" : "->", say_number(size, (double)(to->bytes[d] - from->bytes[d])),
		       say_rate(rate, (double)(to->bytes[d] - from->bytes[d]) / secs));
		if (d)
			putchar('\n');
		else
			printf(" %8llu\n", (unsigned long long)(to->resent - from->resent));
	}
	fflush(stdout);
}

void perf_print_interval(const struct perf_test *t, int last)
{
	struct point *more = realloc(points, (nr_points + 1) * sizeof(*points));

	if (!more)
		return;
	points = more;
	take_point(t, &points[nr_points]);
	/* What is left after the last line is worth one of its own */
	if (last && nr_points > 1 &&
	    points[nr_points].ns - points[nr_points - 1].ns < t->interval / 20)
		return;
	nr_points++;
	if (nr_points > 1 && !t->json)
		print_point(t, &points[nr_points - 2], &points[nr_points - 1]);
}

void perf_print_head(const struct perf_test *t)
{
	char length[NUM_LEN];

	free(points);
	points = calloc(1, sizeof(*points));
	nr_points = points ? 1 : 0;
	getrusage(RUSAGE_SELF, &used_before);
	wall_before = now_ns();
	if (t->json)
		return;
	printf("%s to %s port %d: %d connection%s%s, messages of %sB\n", t->net->name, t->host,
	       t->port, t->nr, t->nr == 1 ? "" : "s", t->both ? " each way" : "",
	       say_number(length, (double)t->run.conns[0].hello.length));
	if (t->interval)
		printf("    SECONDS    DIR    BYTES       RATE   RESENT\n");
	fflush(stdout);
}

/* --- text */

static void add_times(struct grid *g, const struct hist *h)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 0.999 };
	char buf[NUM_LEN];
	size_t i;

	for (i = 0; i < sizeof(shares) / sizeof(*shares); i++)
		grid_add(g, "%s", say_usecs(buf, hist_quantile(h, shares[i]) / 1000));
	grid_add(g, "%s", say_usecs(buf, h->max / 1000));
}

static void add_row(struct grid *g, const struct perf_sum *sum)
{
	char buf[NUM_LEN];

	grid_add(g, "%llu", (unsigned long long)sum->messages);
	grid_add(g, "%sB", say_number(buf, (double)sum->bytes));
	grid_add(g, "%s", say_rate(buf, perf_rate(sum)));
	grid_add(g, "%s", say_percent(buf, sum->missing, sum->missing + sum->bytes));
	grid_add(g, "%llu", (unsigned long long)sum->resent);
	add_times(g, &sum->times);
}

void perf_sum_one(const struct perf_test *t, int i, struct perf_sum *sum)
{
	struct perf_test one = *t;

	one.run.conns = &t->run.conns[i];
	one.run.nr = 1;
	one.remote = &t->remote[i];
	perf_sum(&one, (int)t->run.conns[i].hello.server_sends, sum);
}

static void add_conn(struct grid *g, const struct perf_test *t, int i)
{
	const struct perf_hello *h = &t->run.conns[i].hello;
	static struct perf_sum sum;
	char buf[NUM_LEN];

	grid_add(g, "%d", i + 1);
	grid_add(g, "%s", h->server_sends ? "<-" : "->");
	grid_add(g, "%sB", say_number(buf, (double)h->length));
	if (t->net == &perf_dlcp) {
		grid_add(g, "%s", say_percent(buf, h->bound_ppm, 1000000));
		grid_add(g, "%llu", (unsigned long long)h->prio);
	} else {
		grid_add(g, "-");
		grid_add(g, "-");
	}
	perf_sum_one(t, i, &sum);
	add_row(g, &sum);
}

static void print_text(const struct perf_test *t)
{
	static const char *const titles[] = {
		"CONN", "DIR", "LENGTH", "BOUND", "CLASS", "MESSAGES", "BYTES", "RATE", "MISSING",
		"RESENT", "P50", "P90", "P99", "P99.9", "MAX", NULL,
	};
	struct grid *g = grid_new(titles);
	static struct perf_sum sum;
	int i, d;

	for (i = 0; g && i < t->run.nr; i++)
		add_conn(g, t, i);
	for (d = 0; g && d < DIRS && t->nr > 1; d++) {
		if (!perf_has_dir(t, d))
			continue;
		grid_add(g, "all");
		grid_add(g, d ? "<-" : "->");
		for (i = 0; i < 3; i++)
			grid_add(g, "-");
		perf_sum(t, d, &sum);
		add_row(g, &sum);
	}
	if (!g)
		return;
	if (t->interval)
		putchar('\n');
	grid_print(g, 1);
	grid_free(g);
}

/* --- JSON */

static void json_span(uint64_t from, uint64_t to, uint64_t bytes)
{
	double secs = (double)(to - from) / 1e9;

	json_number("start", (double)from / 1e9);
	json_number("end", (double)to / 1e9);
	json_number("seconds", secs);
	json_u64("bytes", bytes);
	json_number("bits_per_second", secs > 0 ? 8 * (double)bytes / secs : 0);
}

static void json_bool(const char *name, int value)
{
	json_literal(name, value ? "true" : "false");
}

static void json_address(const struct perf_conn *c, int i)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in6 port;	/* IPv4 has it there, too */
	} a = { 0 };
	socklen_t len;
	char text[64];
	int remote;

	json_open(NULL, '{');
	json_u64("socket", (uint64_t)i + 1);
	for (remote = 0; remote < 2; remote++) {
		len = sizeof(a);
		if (remote ? getpeername(c->fd, (struct sockaddr *)&a.any, &len) :
			     getsockname(c->fd, (struct sockaddr *)&a.any, &len))
			continue;
		json_text(remote ? "remote_host" : "local_host", peer_text(&a.any, text));
		json_u64(remote ? "remote_port" : "local_port",
			 ntohs(a.port.sin6_port));
	}
	json_close('}');
}

static void json_start(const struct perf_test *t)
{
	const struct perf_hello *h = &t->run.conns[0].hello;
	int i;

	json_open("start", '{');
	json_open("connected", '[');
	for (i = 0; i < t->run.nr; i++)
		json_address(&t->run.conns[i], i);
	json_close(']');
	json_text("version", tool_version);
	json_open("timestamp", '{');
	json_u64("timesecs", (uint64_t)time(NULL));
	json_close('}');
	json_open("connecting_to", '{');
	json_text("host", t->host);
	json_u64("port", (uint64_t)t->port);
	json_close('}');
	json_open("test_start", '{');
	json_text("protocol", t->net->name);
	json_u64("num_streams", (uint64_t)t->nr);
	json_u64("blksize", h->length);
	json_number("duration", t->bytes ? 0 : (double)t->ns / 1e9);
	json_u64("bytes", t->bytes);
	json_u64("reverse", (uint64_t)t->reverse);
	json_u64("bidir", (uint64_t)t->both);
	json_close('}');
	json_close('}');
}

static void json_intervals(const struct perf_test *t)
{
	const struct point *from, *to;
	size_t i;
	int d;

	json_open("intervals", '[');
	for (i = 1; i < nr_points; i++) {
		from = &points[i - 1];
		to = &points[i];
		json_open(NULL, '{');
		for (d = 0; d < DIRS; d++) {
			if (!perf_has_dir(t, d))
				continue;
			json_open(d && t->both ? "sum_bidir_reverse" : "sum", '{');
			json_span(from->ns, to->ns, to->bytes[d] - from->bytes[d]);
			if (!d)
				json_u64("retransmits", to->resent - from->resent);
			json_bool("sender", !d);
			json_close('}');
		}
		json_close('}');
	}
	json_close(']');
}

static void json_times(const struct hist *h)
{
	static const struct {
		const char *name;
		double share;
	} quantiles[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99_9", 0.999 },
	};
	size_t i;

	json_open("message_time_us", '{');
	json_number("min", (double)h->min / 1e3);
	json_number("mean", h->nr ? (double)h->sum / (double)h->nr / 1e3 : 0);
	for (i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		json_number(quantiles[i].name, (double)hist_quantile(h, quantiles[i].share) / 1e3);
	json_number("max", (double)h->max / 1e3);
	json_close('}');
}

/* What was sent is what arrived, and what did not have to */
static void json_sums(const struct perf_sum *sum, int client_sends, const char *sent,
		      const char *received)
{
	json_open(sent, '{');
	json_span(0, sum->ns, sum->bytes + sum->missing);
	json_u64("retransmits", sum->resent);
	json_u64("messages", sum->messages);
	json_times(&sum->times);
	json_bool("sender", client_sends);
	json_close('}');
	json_open(received, '{');
	json_span(0, sum->ns, sum->bytes);
	json_u64("missing_bytes", sum->missing);
	json_bool("sender", client_sends);
	json_close('}');
}

static void json_streams(const struct perf_test *t)
{
	static struct perf_sum sum;
	const struct perf_hello *h;
	const struct perf_conn *c;
	int i;

	json_open("streams", '[');
	for (i = 0; i < t->run.nr; i++) {
		c = &t->run.conns[i];
		h = &c->hello;
		perf_sum_one(t, i, &sum);
		json_open(NULL, '{');
		json_u64("socket", (uint64_t)i + 1);
		json_u64("blksize", h->length);
		json_number("bound", (double)h->bound_ppm / 1e6);
		json_u64("class", h->prio);
		json_u64("rtt", c->sends ? c->result.rtt_us : t->remote[i].rtt_us);
		json_sums(&sum, c->sends, "sender", "receiver");
		json_close('}');
	}
	json_close(']');
}

static double used(const struct timeval *now, const struct timeval *before)
{
	return 100 * ((double)(now->tv_sec - before->tv_sec) * 1e9 +
		      (double)(now->tv_usec - before->tv_usec) * 1e3) /
	       (double)(now_ns() - wall_before + 1);
}

static void json_cpu(void)
{
	struct rusage now;
	double user, system;

	getrusage(RUSAGE_SELF, &now);
	user = used(&now.ru_utime, &used_before.ru_utime);
	system = used(&now.ru_stime, &used_before.ru_stime);
	json_open("cpu_utilization_percent", '{');
	json_number("host_total", user + system);
	json_number("host_user", user);
	json_number("host_system", system);
	json_close('}');
}

static void print_json(const struct perf_test *t)
{
	static struct perf_sum sum;
	int d;

	json_open(NULL, '{');
	json_start(t);
	json_intervals(t);
	json_open("end", '{');
	json_streams(t);
	for (d = 0; d < DIRS; d++) {
		if (!perf_has_dir(t, d))
			continue;
		perf_sum(t, d, &sum);
		if (d && t->both)
			json_sums(&sum, 0, "sum_sent_bidir_reverse", "sum_received_bidir_reverse");
		else
			json_sums(&sum, !d, "sum_sent", "sum_received");
	}
	json_cpu();
	json_close('}');
	json_close('}');
}

void perf_print_end(const struct perf_test *t)
{
	if (t->json)
		print_json(t);
	else
		print_text(t);
	fflush(stdout);
}

void perf_print_failed(const struct perf_test *t)
{
	if (!t->json)
		return;
	json_open(NULL, '{');
	json_text("error", say_last());
	json_close('}');
}
