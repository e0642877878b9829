// SPDX-License-Identifier: GPL-2.0
/*
 * The traffic of the network tests: DLCP messages with tags, and TCP beside.
 *
 *   flow recv PORT N [key=value...]	take N connections, say what came of
 *					every message, end when all have ended
 *   flow send ADDR PORT [key=value...]	send messages
 *   flow tcp-recv PORT			take one connection, read to its end, print
 *					"bytes N"
 *   flow tcp-send ADDR PORT		write until the file stop= exists, or, without
 *					one, as many bytes as `send`
 *
 *   len=BYTES count=N prio=N bound=PPM key=N	of the messages
 *   tags=cdi	kinds of segments, repeated: critical, droppable, important.
 *		Both ends must know
 *   rate=BYTES	per second: controller `fixed`, which knows no congestion
 *   paths=N	DLCP_PATHS
 *   go=FILE	connect, and wait until it exists
 *   stop=FILE	as above; `send` stops after the message under way
 *   connected=FILE	create it when connected, or when listening
 *
 * recv prints for each message
 *   message KEY prio N end MS length BYTES missing CRITICAL DROPPABLE IMPORTANT
 * send prints a line for each report
 *   report KEY end MS missing BYTES resent BYTES
 * and at last "sender start MS end MS"; the times are CLOCK_MONOTONIC.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dlcp.h"

static struct options {
	size_t len;
	unsigned int count;
	unsigned int prio;
	unsigned int bound;
	unsigned long long key;
	const char *tags;
	unsigned long long rate;
	unsigned int paths;
	const char *go, *stop, *connected;
} opt = { .len = 1000000, .count = 1, .prio = DLCP_PRIO_DEFAULT, .key = 1 };

static void die(const char *what)
{
	fprintf(stderr, "flow: %s: %s (%s)\n", what, strerror(errno),
		dlcp_last_error());
	exit(1);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int exists(const char *file)
{
	return file && !access(file, F_OK);
}

static void create(const char *file)
{
	int fd = file ? open(file, O_CREAT | O_WRONLY, 0644) : -1;

	if (fd >= 0)
		close(fd);
	else if (file)
		die(file);
}

static void wait_for_go(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	create(opt.connected);
	while (opt.go && !exists(opt.go))
		nanosleep(&ms, NULL);
}

static void parse(int argc, char **argv)
{
	char *value;
	int i;

	for (i = 0; i < argc; i++) {
		value = strchr(argv[i], '=');
		if (!value)
			die(argv[i]);
		*value++ = '\0';
		if (!strcmp(argv[i], "len"))
			opt.len = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "count"))
			opt.count = strtoul(value, NULL, 0);
		else if (!strcmp(argv[i], "prio"))
			opt.prio = strtoul(value, NULL, 0);
		else if (!strcmp(argv[i], "bound"))
			opt.bound = strtoul(value, NULL, 0);
		else if (!strcmp(argv[i], "key"))
			opt.key = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "tags"))
			opt.tags = value;
		else if (!strcmp(argv[i], "rate"))
			opt.rate = strtoull(value, NULL, 0);
		else if (!strcmp(argv[i], "paths"))
			opt.paths = strtoul(value, NULL, 0);
		else if (!strcmp(argv[i], "go"))
			opt.go = value;
		else if (!strcmp(argv[i], "stop"))
			opt.stop = value;
		else if (!strcmp(argv[i], "connected"))
			opt.connected = value;
		else
			die(argv[i]);
	}
}

/* --- DLCP */

static enum dlcp_tag tag_of(uint64_t segment)
{
	if (!opt.tags)
		return DLCP_TAG_IMPORTANT;
	switch (opt.tags[segment % strlen(opt.tags)]) {
	case 'c':
		return DLCP_TAG_CRITICAL;
	case 'd':
		return DLCP_TAG_DROPPABLE;
	default:
		return DLCP_TAG_IMPORTANT;
	}
}

/* Of every word of a message the value is known: key and place */
static void fill(uint32_t *buf, size_t len, uint64_t key)
{
	size_t i;

	for (i = 0; i < len / 4; i++)
		buf[i] = (uint32_t)(key * 2654435761u + i * 40503u) | 1;
}

static void check(const uint32_t *buf, const struct dlcp_receipt *r)
{
	size_t i = 0, n = 0, words = r->msg.length / 4;
	uint64_t key = r->msg.key, from, to;

	while (i < words) {
		from = words, to = words;
		if (n < r->nr_ranges) {
			from = r->ranges[n].offset / 4;
			to = from + r->ranges[n++].length / 4;
		}
		for (; i < from; i++)
			if (buf[i] != ((uint32_t)(key * 2654435761u + i * 40503u) | 1))
				die("a wrong byte");
		for (; i < to; i++)
			if (buf[i])
				die("a missing byte that is not 0");
	}
}

static void print_message(const struct dlcp_receipt *r)
{
	uint64_t missing[3] = { 0 }, at, end;
	size_t i;

	for (i = 0; i < r->nr_ranges; i++) {
		at = r->ranges[i].offset;
		end = at + r->ranges[i].length;
		for (; at < end; at += r->msg.seg_size)
			missing[tag_of(at / r->msg.seg_size)] +=
				end - at < r->msg.seg_size ? end - at :
				r->msg.seg_size;
	}
	printf("message %llu prio %u end %.1f length %llu missing %llu %llu %llu\n",
	       r->msg.key, r->msg.prio, now_ms(), r->msg.length,
	       (unsigned long long)missing[DLCP_TAG_CRITICAL],
	       (unsigned long long)missing[DLCP_TAG_DROPPABLE],
	       (unsigned long long)missing[DLCP_TAG_IMPORTANT]);
	fflush(stdout);
}

static void *receive(void *arg)
{
	struct dlcp_receipt r = { 0 };
	int fd = (int)(long)arg;
	uint32_t *buf = malloc(opt.len);

	if (!buf)
		die("memory");
	while (1) {
		if (dlcp_recv(fd, DLCP_ANY, buf, opt.len, 0, &r) < 0)
			die("recv");
		if (r.eof)
			break;
		check(buf, &r);
		print_message(&r);
	}
	dlcp_receipt_free(&r);
	free(buf);
	close(fd);
	return NULL;
}

static void do_recv(const char *port, int n)
{
	int listener = dlcp_socket(AF_INET6), fd, i;
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6, .sin6_port = htons(atoi(port)),
	};
	pthread_t threads[64];

	if (listener < 0 || n > 64)
		die("socket");
	if (opt.paths && setsockopt(listener, SOL_DLCP, DLCP_PATHS, &opt.paths,
				    sizeof(opt.paths)))
		die("DLCP_PATHS");
	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(listener, 64))
		die("listen");
	create(opt.connected);
	for (i = 0; i < n; i++) {
		fd = dlcp_accept(listener, -1);
		if (fd < 0)
			die("accept");
		pthread_create(&threads[i], NULL, receive, (void *)(long)fd);
	}
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* Of either family. Return: its length */
static socklen_t parse_address(const char *addr, const char *port,
			       struct sockaddr_storage *to)
{
	struct sockaddr_in6 *to6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *to4 = (struct sockaddr_in *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET6, addr, &to6->sin6_addr) == 1) {
		to6->sin6_family = AF_INET6;
		to6->sin6_port = htons(atoi(port));
		return sizeof(*to6);
	}
	if (inet_pton(AF_INET, addr, &to4->sin_addr) != 1)
		die(addr);
	to4->sin_family = AF_INET;
	to4->sin_port = htons(atoi(port));
	return sizeof(*to4);
}

static int sender_socket(const char *addr, const char *port)
{
	struct sockaddr_storage to;
	socklen_t to_len = parse_address(addr, port, &to);
	int fd = dlcp_socket(to.ss_family);
	unsigned long long rate = opt.rate;

	if (fd < 0)
		die("socket");
	if (rate && (setsockopt(fd, SOL_DLCP, DLCP_CONGESTION, "fixed", 5) ||
		     setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate,
				sizeof(rate))))
		die("rate");
	if (opt.paths && setsockopt(fd, SOL_DLCP, DLCP_PATHS, &opt.paths,
				    sizeof(opt.paths)))
		die("DLCP_PATHS");
	if (dlcp_connect_fd(fd, (struct sockaddr *)&to, to_len, 30000))
		die("connect");
	return fd;
}

static struct dlcp_tags *make_tags(int fd)
{
	struct dlcp_tags *tags;
	struct dlcp_info info;
	uint32_t i;

	if (!opt.tags)
		return NULL;
	if (dlcp_get_info(fd, &info))
		die("info");
	tags = dlcp_tags_new(opt.len, info.seg_size);
	if (!tags)
		die("tags");
	for (i = 0; i < tags->count; i++)
		dlcp_tags_set(tags, i, tag_of(i));
	return tags;
}

static unsigned int read_reports(int fd, struct dlcp_reports *reports, int ms)
{
	const struct dlcp_report *r;
	size_t i;

	if (dlcp_reports(fd, reports, ms) < 0) {
		if (errno == EAGAIN)
			return 0;
		die("reports");
	}
	for (i = 0; i < reports->nr; i++) {
		r = &reports->sent[i].report;
		if (r->error)
			die("a message failed");
		printf("report %llu end %.1f missing %llu resent %llu\n",
		       r->key, now_ms(), r->missing, r->resent);
	}
	return reports->nr;
}

static void do_send(const char *addr, const char *port)
{
	int fd = sender_socket(addr, port);
	struct dlcp_reports reports = { 0 };
	struct dlcp_send msg = {
		.buf = malloc(opt.len),
		.len = opt.len,
		.tags = make_tags(fd),
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_LOSS |
				DLCP_ATTR_FLAGS | DLCP_ATTR_PRIO,
			.loss_ppm = opt.bound,
			.prio = opt.prio,
			.flags = DLCP_MSG_REPORT,
		},
	};
	unsigned int i, done = 0;
	double start;

	if (!msg.buf)
		die("memory");
	wait_for_go();
	start = now_ms();
	for (i = 0; i < opt.count && !exists(opt.stop); i++) {
		msg.attr.key = opt.key + i;
		fill((uint32_t *)msg.buf, opt.len, msg.attr.key);
		if (dlcp_send(fd, &msg) < 0)
			die("send");
		done += read_reports(fd, &reports, 0);
	}
	while (done < i)
		done += read_reports(fd, &reports, -1);
	printf("sender start %.1f end %.1f\n", start, now_ms());
	close(fd);
}

/* --- TCP */

static void tcp_recv(const char *port)
{
	int listener = socket(AF_INET6, SOCK_STREAM, 0), fd, on = 1;
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6, .sin6_port = htons(atoi(port)),
	};
	static char buf[65536];
	size_t sum = 0;
	ssize_t n;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(listener, 1))
		die("listen");
	create(opt.connected);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		die("accept");
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += n;
	if (n < 0)
		die("read");
	printf("bytes %zu\n", sum);
}

static void tcp_send(const char *addr, const char *port)
{
	struct sockaddr_storage to;
	socklen_t to_len = parse_address(addr, port, &to);
	int fd = socket(to.ss_family, SOCK_STREAM, 0), size = 1 << 18;
	size_t left = opt.stop ? SIZE_MAX : opt.len * opt.count;
	static char buf[16384];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (connect(fd, (struct sockaddr *)&to, to_len))
		die("connect");
	wait_for_go();
	for (; left && !exists(opt.stop); left -= n) {
		n = write(fd, buf, left < sizeof(buf) ? left : sizeof(buf));
		if (n < 0)
			die("write");
	}
}

int main(int argc, char **argv)
{
	int words = argc > 1 && !strcmp(argv[1], "tcp-recv") ? 3 : 4;

	if (argc < words)
		return 2;
	parse(argc - words, argv + words);
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(argv[1], "recv"))
		do_recv(argv[2], atoi(argv[3]));
	else if (!strcmp(argv[1], "send"))
		do_send(argv[2], argv[3]);
	else if (!strcmp(argv[1], "tcp-recv"))
		tcp_recv(argv[2]);
	else if (!strcmp(argv[1], "tcp-send"))
		tcp_send(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
