// SPDX-License-Identifier: GPL-2.0
/*
 * A thread for each connection sends or receives, and another one of a sender waits until
 * its messages are complete.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf.h"

/* TCP reads as much at once */
#define BUF_MIN	131072

int perf_new(struct perf_run *run, int nr)
{
	int i;

	memset(run, 0, sizeof(*run));
	run->event = eventfd(0, EFD_CLOEXEC);
	run->conns = calloc((size_t)nr, sizeof(*run->conns));
	if (run->event < 0 || !run->conns)
		return say_error("no memory for %d connections: ask for fewer with -P", nr);
	run->nr = nr;
	for (i = 0; i < nr; i++) {
		run->conns[i].fd = -1;
		run->conns[i].run = run;
		pthread_mutex_init(&run->conns[i].lock, NULL);
		pthread_cond_init(&run->conns[i].changed, NULL);
	}
	return 0;
}

void perf_free(struct perf_run *run)
{
	int i;

	for (i = 0; i < run->nr; i++) {
		if (run->conns[i].fd >= 0)
			close(run->conns[i].fd);
		free(run->conns[i].buf);
		free(run->conns[i].started);
	}
	free(run->conns);
	if (run->event >= 0)
		close(run->event);
	memset(run, 0, sizeof(*run));
	run->event = -1;
}

static void note_failure(struct perf_conn *c, const char *what)
{
	pthread_mutex_lock(&c->lock);
	if (!c->err) {
		c->err = errno ? errno : EIO;
		snprintf(c->what, sizeof(c->what), "%s", what);
	}
	c->over = 1;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	/* The other thread of it may be waiting */
	shutdown(c->fd, SHUT_RDWR);
}

/* A message may be sent. Return: 0 if none is to be sent any more */
static int begin_message(struct perf_conn *c, uint64_t end)
{
	const struct perf_hello *h = &c->hello;
	int go;

	pthread_mutex_lock(&c->lock);
	while (!c->over && c->sent - c->done >= h->queue)
		pthread_cond_wait(&c->changed, &c->lock);
	go = !c->over && !c->run->stop && (h->count ? c->sent < h->count : now_ns() < end);
	if (go) {
		c->started[c->sent++ % PERF_QUEUE] = now_ns();
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return go;
}

/* Whether a message is on its way, as soon as that is known */
static int on_its_way(struct perf_conn *c)
{
	int is;

	pthread_mutex_lock(&c->lock);
	while (c->done == c->sent && !c->over)
		pthread_cond_wait(&c->changed, &c->lock);
	is = c->done < c->sent && !c->err;
	pthread_mutex_unlock(&c->lock);
	return is;
}

static void *wait_for_messages(void *arg)
{
	struct perf_conn *c = arg;
	int n;

	while (on_its_way(c)) {
		n = c->net->complete(c);
		if (n < 0) {
			note_failure(c, "waiting for messages to arrive");
			break;
		}
		pthread_mutex_lock(&c->lock);
		c->done += (uint64_t)n;
		pthread_cond_broadcast(&c->changed);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

static void send_messages(struct perf_conn *c)
{
	uint64_t end = c->run->begin + c->hello.ns;

	errno = pthread_create(&c->waiter, NULL, wait_for_messages, c);
	if (errno) {
		note_failure(c, "starting a thread");
		return;
	}
	while (begin_message(c, end)) {
		if (c->net->send(c)) {
			note_failure(c, "sending");
			break;
		}
	}
	pthread_mutex_lock(&c->lock);
	c->over = 1;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->waiter, NULL);
	c->result.messages = c->done;
	c->result.bytes = c->done * c->hello.length;
	c->result.ns = now_ns() - c->run->begin;
	/* The receiver learns that this was all */
	shutdown(c->fd, SHUT_WR);
}

static void receive_messages(struct perf_conn *c)
{
	int more;

	while ((more = c->net->receive(c)) > 0)
		c->result.ns = now_ns() - c->run->begin;
	if (more < 0)
		note_failure(c, "receiving");
}

static void *work(void *arg)
{
	struct perf_conn *c = arg;
	const uint64_t one = 1;
	struct perf_counters n;

	if (c->sends)
		send_messages(c);
	else
		receive_messages(c);
	c->net->count(c->fd, &n);
	c->result.resent = n.resent - c->before.resent;
	c->result.rtt_us = n.rtt_us;
	if (write(c->run->event, &one, sizeof(one)) < 0)
		abort();
	return NULL;
}

/* Every page is touched before the test */
static int prepare(struct perf_conn *c)
{
	size_t room = c->hello.length > BUF_MIN ? c->hello.length : BUF_MIN;

	c->buf = malloc(room);
	c->started = c->sends ? malloc(PERF_QUEUE * sizeof(*c->started)) : NULL;
	if (!c->buf || (c->sends && !c->started))
		return say_error("no memory for messages of %llu bytes: ask for shorter ones with -l",
				 (unsigned long long)c->hello.length);
	memset(c->buf, 0x5a, room);
	perf_patience(c->fd, 0);
	c->net->count(c->fd, &c->before);
	return 0;
}

int perf_prepare(struct perf_run *run)
{
	int i, err = 0;

	for (i = 0; i < run->nr && !err; i++)
		err = prepare(&run->conns[i]);
	return err;
}

int perf_start(struct perf_run *run)
{
	int i;

	run->begin = now_ns();
	for (i = 0; i < run->nr; i++) {
		errno = pthread_create(&run->conns[i].thread, NULL, work, &run->conns[i]);
		if (errno) {
			say_error("no thread for connection %d: %s: ask for fewer with -P", i + 1,
				  strerror(errno));
			/* Those that run use what this process has */
			exit(DLCP_FAILED);
		}
		run->running++;
	}
	return 0;
}

int perf_running(struct perf_run *run)
{
	uint64_t n;

	if (read(run->event, &n, sizeof(n)) == sizeof(n))
		run->running -= (int)n;
	return run->running;
}

int perf_end(struct perf_run *run)
{
	struct perf_conn *c;
	int i, err = 0;

	for (i = 0; i < run->nr; i++)
		pthread_join(run->conns[i].thread, NULL);
	for (i = 0; i < run->nr && !err; i++) {
		c = &run->conns[i];
		if (c->err)
			err = say_error("%s connection %d failed while %s: %s: is the other side still there? `dlcp check` finds faults on the way",
					c->net->name, i + 1, c->what, strerror(c->err));
	}
	return err;
}
