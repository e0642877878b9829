// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp perf -s: one test at a time. The first connection of a test stays for what the two sides
 * tell each other; those that carry messages follow.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf.h"

/* A stranger that says nothing does not keep others waiting for longer */
#define HELLO_MS	1000

/* Of next_conn(): there are no more, after an error message */
#define NO_MORE		(-2)

/**
 * struct server - what listens
 * @nets: transports
 * @fds: their listening sockets
 * @nr: how many
 */
struct server {
	const struct perf_net	*nets[2];
	int			fds[2];
	int			nr;
};

static int is_usable(const struct perf_hello *h)
{
	if (h->kind == PERF_CONTROL)
		return h->index >= 1 && h->index <= 2 * PERF_CONNS;
	return h->kind == PERF_DATA && h->length >= 1 && h->length <= PERF_LENGTH_MAX &&
	       h->bound_ppm <= 1000000 && h->prio <= 7 && h->queue >= 1 && h->queue <= PERF_QUEUE;
}

static void answer(const struct perf_net *net, int fd, uint64_t what)
{
	perf_put(net, fd, &what, sizeof(what));
}

/* Wait for a connection, or for @event. Return: a socket whose hello came and makes sense, -1 or
 * NO_MORE
 */
static int next_conn(const struct server *s, int event, int ms, const struct perf_net **net,
		     struct perf_hello *h)
{
	struct pollfd p[3] = { { .fd = event, .events = POLLIN } };
	int i, fd;

	for (i = 0; i < s->nr; i++)
		p[i + 1] = (struct pollfd){ .fd = s->fds[i], .events = POLLIN };
	if (poll(p, (nfds_t)s->nr + 1, ms) <= 0 || p[0].revents)
		return -1;
	for (i = 0; i < s->nr && !p[i + 1].revents; i++)
		;
	*net = s->nets[i];
	fd = (*net)->accept(s->fds[i]);
	if (fd < 0)
		return peer_accept_failed() ? NO_MORE : -1;
	perf_patience(fd, HELLO_MS);
	if (!perf_get(*net, fd, h, sizeof(*h)) && h->magic == PERF_MAGIC && is_usable(h)) {
		perf_patience(fd, PERF_SET_UP_MS);
		return fd;
	}
	answer(*net, fd, PERF_REFUSED);
	close(fd);
	return -1;
}

static void peer_name(int fd, char name[64])
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);

	if (getpeername(fd, (struct sockaddr *)&from, &len))
		strcpy(name, "?");
	else
		peer_text(&from, name);
}

static int ended_early(const char *name)
{
	return say_error("the client at %s ended before the test began: look at what it said there, and run it again",
			 name);
}

/* The client says nothing there before it has its answer */
static int has_ended(int control)
{
	struct pollfd p = { .fd = control, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

/* Take those that belong to this test. Return: 0, or an exit status after an error message */
static int take_conns(const struct server *s, const struct perf_hello *first, int control,
		      const char *name, const struct perf_net *net, struct perf_run *run)
{
	uint64_t end = now_ns() + PERF_SET_UP_MS * 1000000ULL;
	const struct perf_net *other;
	struct perf_hello h;
	uint64_t room = PERF_LENGTH_MAX;
	struct perf_conn *c;
	int fd, nr = 0;

	while (nr < run->nr && now_ns() < end) {
		fd = next_conn(s, control, 100, &other, &h);
		if (fd == NO_MORE)
			break;
		if (fd < 0 && has_ended(control))
			return ended_early(name);
		if (fd < 0)
			continue;
		c = h.index < (uint64_t)run->nr ? &run->conns[h.index] : NULL;
		if (h.kind != PERF_DATA || h.cookie != first->cookie || other != net || !c ||
		    c->fd >= 0 || h.length > room) {
			answer(other, fd, PERF_BUSY);
			close(fd);
			continue;
		}
		room -= h.length;
		c->fd = fd;
		c->net = net;
		c->hello = h;
		c->sends = (int)h.server_sends;
		nr++;
	}
	if (nr == run->nr)
		return 0;
	return say_error("the client's %d connections did not come in %d s: it ended, or its packets are lost: `dlcp check` finds faults on the way",
			 run->nr, PERF_SET_UP_MS / 1000);
}

/* Until all are over; others hear meanwhile that the server is busy */
static void let_run(const struct server *s, struct perf_run *run)
{
	const struct perf_net *net;
	struct perf_hello h;
	struct pollfd p = { .fd = run->event, .events = POLLIN };
	int fd;

	do {
		fd = next_conn(s, run->event, -1, &net, &h);
		if (fd == NO_MORE)
			poll(&p, 1, -1);
		if (fd >= 0) {
			answer(net, fd, PERF_BUSY);
			close(fd);
		}
	} while (!poll(&p, 1, 0) || perf_running(run) > 0);
}

static void report(const struct perf_run *run)
{
	uint64_t bytes[2] = { 0 }, ns[2] = { 0 };
	char rate[NUM_LEN], size[NUM_LEN];
	const struct perf_conn *c;
	int i, k;

	for (i = 0; i < run->nr; i++) {
		c = &run->conns[i];
		bytes[c->sends] += c->result.bytes;
		ns[c->sends] = c->result.ns > ns[c->sends] ? c->result.ns : ns[c->sends];
	}
	for (k = 0; k < 2; k++)
		if (ns[k])
			printf("  %s %sB in %.2f s, %s\n", k ? "sent" : "received",
			       say_number(size, (double)bytes[k]), (double)ns[k] / 1e9,
			       say_rate(rate, (double)bytes[k] * 1e9 / (double)ns[k]));
}

/* In one message, as messages come in any order. A client that was killed is known by what it does
 * not say: its connections end as those of one that has sent all.
 * Return: 0, or an exit status after an error message
 */
static int hand_over(const struct perf_net *net, int control, const char *name,
		     const struct perf_run *run)
{
	size_t size = (size_t)run->nr * sizeof(struct perf_result);
	struct perf_result *results = malloc(size);
	uint64_t has;
	int i, err;

	if (!results)
		return say_no_memory();
	for (i = 0; i < run->nr; i++)
		results[i] = run->conns[i].result;
	perf_patience(control, PERF_SET_UP_MS);
	err = perf_put(net, control, results, size) || perf_get(net, control, &has, sizeof(has));
	free(results);
	if (err)
		return say_error("the client at %s did not take the results: it was killed, is stopped, or its host is gone: look there, and run it again",
				 name);
	return 0;
}

/* Return: 0, or an exit status after an error message */
static int run_test(const struct server *s, const struct perf_net *net, int control,
		    const char *name, const struct perf_hello *first, struct perf_run *run)
{
	uint64_t go;
	int err;

	err = take_conns(s, first, control, name, net, run);
	if (!err)
		err = perf_prepare(run);
	if (err)
		return err;
	answer(net, control, PERF_READY);
	if (perf_get(net, control, &go, sizeof(go)))
		return ended_early(name);
	err = perf_start(run);
	if (err)
		return err;
	let_run(s, run);
	err = perf_end(run);
	if (!err)
		err = hand_over(net, control, name, run);
	if (!err)
		report(run);
	return err;
}

/* @more: another test of the same client follows. Return: 0, an exit status, or NO_MORE */
static int serve_one(const struct server *s, int *more)
{
	const struct perf_net *net;
	struct perf_hello h;
	struct perf_run run;
	char name[64];
	int fd, err;

	do
		fd = next_conn(s, -1, -1, &net, &h);
	while (fd == -1);
	if (fd == NO_MORE)
		return NO_MORE;
	if (h.kind != PERF_CONTROL) {
		answer(net, fd, PERF_REFUSED);
		close(fd);
		return DLCP_FAILED;
	}
	*more = h.more != 0;
	peer_name(fd, name);
	printf("%s: %d connections over %s\n", name, (int)h.index, net->name);
	fflush(stdout);
	err = perf_new(&run, (int)h.index);
	if (!err)
		err = run_test(s, net, fd, name, &h, &run);
	fflush(stdout);
	perf_free(&run);
	close(fd);
	/* The client has seen its test fail, and does not come again */
	if (err)
		*more = 0;
	return err;
}

int perf_serve(int port, int once, int only_tcp)
{
	struct server s = { .nets = { &perf_tcp, &perf_dlcp }, .nr = only_tcp ? 1 : 2 };
	int i, err, more = 1;

	for (i = 0; i < s.nr; i++) {
		s.fds[i] = s.nets[i]->listen(port);
		if (s.fds[i] < 0)
			return DLCP_FAILED;
		/* A connection that has gone since poll() is not waited for */
		fcntl(s.fds[i], F_SETFL, O_NONBLOCK);
	}
	printf("listening at port %d of %sTCP\n", port, only_tcp ? "" : "DLCP and of ");
	fflush(stdout);
	do
		err = serve_one(&s, &more);
	while (err != NO_MORE && (!once || more));
	return err == NO_MORE ? DLCP_FAILED : err;
}
