/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dlcp perf: messages between two hosts, over DLCP or TCP. hist.c (times), perf_net.c (what is
 * asked of a transport), perf_run.c (threads that send and receive) are of both sides;
 * perf_server.c, perf_client.c and perf_out.c stand on them.
 */
#ifndef TOOLS_PERF_H
#define TOOLS_PERF_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "tool.h"

/* DLCP's and TCP's */
#define PERF_PORT	6254
#define PERF_CONNS	128
/* Of a message, and of all connections' messages: both sides have a buffer for each */
#define PERF_LENGTH_MAX	(1ULL << 30)
/* Messages on their way: nobody queues more */
#define PERF_QUEUE	65536
/* For an answer while a test is set up */
#define PERF_SET_UP_MS	10000

/* --- hist.c */

#define HIST_BUCKETS	1280

/**
 * struct hist - times, to one part in 32
 * @nr: how many
 * @sum: of them, ns
 * @min: the least, exactly
 * @max: the greatest, likewise
 * @bucket: how many of this size
 */
struct hist {
	uint64_t nr;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);
void hist_merge(struct hist *h, const struct hist *other);
/* No more than @share of the times are greater. Return: ns; 0 if there are none */
uint64_t hist_quantile(const struct hist *h, double share);

/* --- what the two sides tell each other: numbers of 64 bits, the high byte first */

#define PERF_MAGIC	0x646c637070657232ULL

enum {
	PERF_CONTROL = 1,
	PERF_DATA,
};

enum {
	PERF_READY = 1,
	PERF_BUSY,
	PERF_REFUSED,
};

/**
 * struct perf_hello - the first that a connection carries, to the server
 * @magic: PERF_MAGIC, which also is the version
 * @kind: PERF_CONTROL, the first; or PERF_DATA
 * @cookie: of the test
 * @index: of this connection from 0 on; of PERF_CONTROL: how many will follow
 * @server_sends: and not the client
 * @length: bytes of a message
 * @bound_ppm: how much of one may be missing
 * @prio: class
 * @early_stop: complete as soon as the bound allows
 * @ns: send for so long; 0: @count
 * @count: messages to send
 * @queue: as many messages may be on their way
 * @more: another test follows
 */
struct perf_hello {
	uint64_t magic;
	uint64_t kind;
	uint64_t cookie;
	uint64_t index;
	uint64_t server_sends;
	uint64_t length;
	uint64_t bound_ppm;
	uint64_t prio;
	uint64_t early_stop;
	uint64_t ns;
	uint64_t count;
	uint64_t queue;
	uint64_t more;
};

/**
 * struct perf_result - what one side saw of a connection
 * @messages: sent and complete, or received
 * @bytes: of them, without what is missing
 * @missing: bytes
 * @ns: from the start of the test until the last message was complete, as this side knows
 * @resent: packets
 * @rtt_us: in the end
 * @times: of messages; the sender's
 */
struct perf_result {
	uint64_t	messages;
	uint64_t	bytes;
	uint64_t	missing;
	uint64_t	ns;
	uint64_t	resent;
	uint64_t	rtt_us;
	struct hist	times;
};

/* --- perf_net.c */

/**
 * struct perf_counters - what the kernel says of a connection
 * @acked: payload bytes that the peer has acknowledged
 * @received: payload bytes that came
 * @resent: packets sent again
 * @rtt_us: smoothed round trip
 */
struct perf_counters {
	uint64_t acked;
	uint64_t received;
	uint64_t resent;
	uint64_t rtt_us;
};

/**
 * struct perf_conn - a connection of a test
 * @net: its transport
 * @fd: socket
 * @sends: this side does
 * @hello: its settings
 * @buf: of a message; the receiver's may be larger
 * @before: counters before the test
 * @result: what came of it
 * @lock: for what follows
 * @changed: @sent, @done or @over
 * @sent: messages begun
 * @done: messages that are complete
 * @over: no more will be sent
 * @started: when messages were begun, by number modulo PERF_QUEUE; TCP's
 * @err: errno of the first failure
 * @what: failed, in words
 * @run: what it is of
 * @thread: which sends or receives
 * @waiter: which waits for messages to be complete
 */
struct perf_conn {
	const struct perf_net	*net;
	int			fd;
	int			sends;
	struct perf_hello	hello;
	char			*buf;
	struct perf_counters	before;
	struct perf_result	result;
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	uint64_t		sent;
	uint64_t		done;
	int			over;
	uint64_t		*started;
	int			err;
	char			what[200];
	struct perf_run		*run;
	pthread_t		thread;
	pthread_t		waiter;
};

/**
 * struct perf_net - a transport
 * @name: of it
 * @listen: Return: a socket, or -1 after an error message
 * @connect: Return: a socket, or -1 and why
 * @failed: say that none of @host's addresses took a connection; @r is of the last
 * @accept: Return: a socket, or -1
 * @put: a message. Return: 0, or -1
 * @get: one of exactly that length. Return: 0, or -1
 * @send: one message. Return: 0, or -1
 * @complete: wait until messages are, at least one. Return: how many, or -1
 * @receive: some. Return: 1; 0: there are no more; -1
 * @count: the kernel's counters
 */
struct perf_net {
	const char *name;
	int (*listen)(int port);
	int (*connect)(const struct sockaddr_storage *to, int ms, struct reach *r);
	void (*failed)(const char *host, int port, const struct reach *r);
	int (*accept)(int fd);
	int (*put)(int fd, const void *buf, size_t len);
	int (*get)(int fd, void *buf, size_t len);
	int (*send)(struct perf_conn *c);
	int (*complete)(struct perf_conn *c);
	int (*receive)(struct perf_conn *c);
	void (*count)(int fd, struct perf_counters *n);
};

extern const struct perf_net perf_dlcp, perf_tcp;

/* Numbers, in the order of the network. Return: 0, or -1 */
int perf_put(const struct perf_net *net, int fd, const void *numbers, size_t size);
int perf_get(const struct perf_net *net, int fd, void *numbers, size_t size);
/* For a call that waits; 0: it waits as long as the peer lives */
void perf_patience(int fd, int ms);

/* --- perf_run.c */

/**
 * struct perf_run - the connections of a test
 * @conns: they
 * @nr: how many
 * @begin: when it began
 * @stop: send no more
 * @event: readable when connections are over: their number
 * @running: those that are not
 */
struct perf_run {
	struct perf_conn	*conns;
	int			nr;
	uint64_t		begin;
	volatile int		stop;
	int			event;
	int			running;
};

/* Return: 0, or an exit status after an error message */
int perf_new(struct perf_run *run, int nr);
/* Once connections and settings are known. Likewise */
int perf_prepare(struct perf_run *run);
int perf_start(struct perf_run *run);
/* After @event was readable. Return: connections that are not over */
int perf_running(struct perf_run *run);
/* Wait for threads and take results. Return: 0, or an exit status after an error message */
int perf_end(struct perf_run *run);
void perf_free(struct perf_run *run);

/* --- perf_server.c */

int perf_serve(int port, int once, int only_tcp);

/* --- perf_out.c */

/* Of both directions: the client's messages, the server's */
#define DIRS	2

/**
 * struct point - what had come at some time
 * @ns: since the beginning
 * @bytes: by direction
 * @resent: packets, by this side
 */
struct point {
	uint64_t ns;
	uint64_t bytes[DIRS];
	uint64_t resent;
};

/**
 * struct perf_test - what the client asks for
 * @host: as the user calls it
 * @port: of DLCP and of TCP
 * @nr: connections in each direction
 * @reverse: the server sends
 * @both: both sides do
 * @json: print JSON
 * @interval: ns; 0: none
 * @bytes: to send in all, in each direction; 0: for @ns
 * @ns: see there
 * @net: transport of this run
 * @run: the connections
 * @remote: the server's results
 */
struct perf_test {
	const char		*host;
	int			port;
	int			nr;
	int			reverse;
	int			both;
	int			json;
	uint64_t		interval;
	uint64_t		bytes;
	uint64_t		ns;
	const struct perf_net	*net;
	struct perf_run		run;
	struct perf_result	*remote;
};

/**
 * struct perf_sum - all connections of a direction
 * @messages: complete
 * @bytes: received
 * @missing: forgiven
 * @resent: packets
 * @ns: until the last message was complete
 * @times: of messages
 */
struct perf_sum {
	uint64_t	messages;
	uint64_t	bytes;
	uint64_t	missing;
	uint64_t	resent;
	uint64_t	ns;
	struct hist	times;
};

void perf_sum(const struct perf_test *t, int server_sends, struct perf_sum *sum);
/* A connection as if it was all */
void perf_sum_one(const struct perf_test *t, int i, struct perf_sum *sum);
/* What had come at each interval; the first is the beginning */
const struct point *perf_points(size_t *nr);
int perf_has_dir(const struct perf_test *t, int server_sends);
/* Bytes per second */
double perf_rate(const struct perf_sum *sum);
/* The settings, before the test */
void perf_print_head(const struct perf_test *t);
/* What came since the last call; @last: the end */
void perf_print_interval(const struct perf_test *t, int last);
/* All of it, after the test */
void perf_print_end(const struct perf_test *t);
/* A test that failed */
void perf_print_failed(const struct perf_test *t);

/* --- perf_html.c */

/* A test that is over, to the page, if one was begun */
void perf_html_add(const struct perf_test *t);

#endif
