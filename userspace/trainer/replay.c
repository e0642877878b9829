// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp-replay: the iterations of a training whose computation is slept, over
 * DLCP or TCP. Buckets of gradients become ready while the backward pass goes
 * on; they are exchanged with a parameter server, or reduced in a ring; the
 * forward pass wants them back. Contents are zero and are not added: what is
 * measured is the schedule and the network. A bucket with no time to compute is a
 * piece of the one after it.
 *
 * plain: the next forward pass begins when all is back (DistributedDataParallel)
 * dear: it begins when all is reduced, and waits for each bucket where it needs
 *	it (DeAR, ICDCS'23). Gathers begin in forward order, after the backward
 *	pass, each when its bucket is reduced.
 * eager: it waits for each bucket where it needs it, and for nothing else; gathers
 *	begin when their bucket is reduced, as dlcp.DeAR's do (userspace/torch), and
 *	are less urgent than reductions until the backward pass is over, as those are
 *	not. A server's answers begin so anyway: there this is dear.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "net.h"
#include "train.h"

#define MAX_BUCKETS	256	/* as name_of() has room for */
#define MAX_ITERS	100
#define MAX_RANKS	32
#define MAX_STRIPES	8
#define MAX_LINKS	(MAX_RANKS * MAX_STRIPES)

static const char usage_text[] =
"usage: dlcp-replay [-e] TRANSPORT ps|ring plain|dear|eager RANK WORLD ITERATIONS BOUND BACKLOG STRIPES BUCKET...\n"
"eager: ring only.\n"
"-e: a reduction is stopped as soon as no more than BOUND of it is missing (early stop).\n"
"STRIPES: connections of each worker, 1 to 8, which take buckets in turn; a ring has 1.\n"
"BOUND is of reductions, and of a server's answers.\n"
"BACKLOG: bytes given to the kernel ahead of time, more than a path holds: the order of\n"
"the others is ours. BUCKET is BYTES:FORWARD_US:BACKWARD_US, in forward order. Rank r is at 10.0.0.(r + 1);\n"
"rank 0 is the server of ps, and contributes nothing. One rank (ring: 0, ps: 1) prints\n"
"the milliseconds of each iteration.\n";

enum phase { REDUCE, GATHER, BYE };
enum schedule { PLAIN, DEAR, EAGER, SCHEDULES };
static const char *const schedules[SCHEDULES] = { "plain", "dear", "eager" };

/**
 * struct bucket - gradients that are exchanged together
 * @bytes: of them
 * @forward_us: time to compute, of the forward pass
 * @backward_us: of the backward pass
 * @whole: number of the bucket it is a piece of, in forward order
 */
struct bucket {
	size_t	bytes;
	double	forward_us, backward_us;
	int	whole;
};

static struct bucket buckets[MAX_BUCKETS];

/*
 * A message's key. Less is more urgent: what is late keeps others waiting, no
 * forward pass begins before all is reduced, and front layers come first in it.
 * All pieces of a bucket are wanted at the same time, so all do a hop before any
 * does the next: with one after the other, the last goes round the ring alone.
 */
static uint64_t name_of(int iter, enum phase phase, int bucket, int hop)
{
	return (uint64_t)iter << 32 | (uint64_t)phase << 24 |
	       (uint64_t)buckets[bucket].whole << 16 | /* NOLINT: clang 14 overlooks a cast */
	       (uint64_t)hop << 8 | (uint64_t)bucket;
}

static int iter_of(uint64_t key)
{
	return (int)(key >> 32);
}

static enum phase phase_of(uint64_t key)
{
	return key >> 24 & 0xff;
}

static int bucket_of(uint64_t key)
{
	return key & 0xff;
}

static int hop_of(uint64_t key)
{
	return key >> 8 & 0xff;
}

/**
 * struct state - one bucket in one iteration
 * @ready: its gradient is computed here
 * @seen: hops that have arrived, a bit each, of REDUCE and of GATHER
 * @passed: of these, hops that have had their effect
 * @pushes: server: gradients that are here, and
 * @from: links that they came by
 * @reduced: ring: the part of this rank is reduced
 * @back: all of it is back
 */
struct state {
	int		ready;
	uint64_t	seen[2], passed[2];
	int		pushes, reduced, back;
	uint8_t		from[MAX_RANKS];
};

/**
 * struct link - a connection, with a thread that sends what is queued
 * @conn: connection
 * @queue: keys to send; [@head, @tail)
 * @reader: thread that receives
 * @writer: thread that sends
 */
struct link {
	struct conn	*conn;
	uint64_t	*queue;
	size_t		head, tail;
	pthread_t	reader, writer;
};

static const struct net_ops *net;
static enum schedule schedule = SCHEDULES;
static int is_ring, early, rank, world, iters, nr_buckets, stripes;
static double bound;
static size_t backlog;
static struct state state[MAX_ITERS + 1][MAX_BUCKETS];
static struct link links[MAX_LINKS];
static int computed[MAX_ITERS + 1];	/* backward passes that are over */
static int gathers[MAX_ITERS + 1];	/* dear: buckets whose gather has begun */
static int byes, over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *zeros;
static size_t most = 4;	/* bytes of a message */

static void __attribute__((noreturn)) failed(const char *what)
{
	die(1, "rank %d: %s: %s", rank, what, net ? net->error() : "");
}

static size_t bytes_of(uint64_t key)
{
	size_t bytes;

	if (phase_of(key) == BYE)
		return 4;
	bytes = buckets[bucket_of(key)].bytes;
	return is_ring ? (bytes / world + 3) / 4 * 4 : bytes;
}

/* The lock is held */
static void enqueue(struct link *l, uint64_t key)
{
	l->queue[l->tail++] = key;
	pthread_cond_broadcast(&changed);
}

/* --- what messages do; the lock is held */

static void start_gather(int iter, int bucket)
{
	enqueue(&links[1], name_of(iter, GATHER, bucket, 0));
}

/* dear: those that may begin */
static void start_gathers(int iter)
{
	while (computed[iter] && gathers[iter] < nr_buckets &&
	       state[iter][gathers[iter]].reduced)
		start_gather(iter, gathers[iter]++);
}

static void pass_on(int iter, int bucket, enum phase phase)
{
	struct state *s = &state[iter][bucket];
	uint64_t todo = s->seen[phase] & ~s->passed[phase];
	uint64_t all = (1ULL << (world - 1)) - 1;
	int hop;

	if (phase == REDUCE && !s->ready)
		return;
	for (hop = 0; hop < world - 2; hop++)
		if (todo >> hop & 1)
			enqueue(&links[1], name_of(iter, phase, bucket, hop + 1));
	s->passed[phase] |= todo;
	if (s->passed[phase] != all || !todo)
		return;
	if (phase == GATHER) {
		s->back = 1;
		return;
	}
	s->reduced = 1;
	if (schedule == DEAR)
		start_gathers(iter);
	else
		start_gather(iter, bucket);
}

static void arrived(uint64_t key, int link)
{
	int iter = iter_of(key), bucket = bucket_of(key), i;
	enum phase phase = phase_of(key);
	struct state *s = &state[iter][bucket];

	if (phase == BYE) {
		byes++;
	} else if (is_ring) {
		s->seen[phase] |= 1ULL << hop_of(key);
		pass_on(iter, bucket, phase);
	} else if (rank) {
		s->back = 1;
	} else {
		s->from[s->pushes++] = (uint8_t)link;
		for (i = 0; s->pushes == world - 1 && i < world - 1; i++)
			enqueue(&links[s->from[i]], name_of(iter, GATHER, bucket, 0));
	}
	pthread_cond_broadcast(&changed);
}

static void *reader(void *arg)
{
	char *buf = need_memory(1, most);
	struct link *l = arg;
	struct gaps gaps = { 0 };
	uint64_t key;
	int ret;

	while (!(ret = net->recv_any(l->conn, &key, buf, most, &gaps))) {
		gaps.nr = 0;
		pthread_mutex_lock(&lock);
		arrived(key, (int)(l - links));
		pthread_mutex_unlock(&lock);
	}
	if (ret != NET_EOF && !over)
		failed("waiting for a message");
	free(buf);
	free(gaps.gap);
	return NULL;
}

/*
 * In a ring all are of one class: the transport would prefer the front layers of the
 * next iteration to what others still need of this one, and all wait for the slowest.
 * But while this host computes gradients, eager gathers give way to reductions: the
 * next forward pass begins with the front, whose reduction is the last. The lock is held
 */
static uint8_t class_of(uint64_t key)
{
	if (!is_ring)
		return 1 + bucket_of(key) * 7 / nr_buckets;
	return 1 + (schedule == EAGER && phase_of(key) == GATHER &&
		    !computed[iter_of(key)]);
}

static void send_key(struct link *l, uint64_t key, uint8_t prio)
{
	struct tensor tensor = {
		.key = key, .data = zeros, .bytes = bytes_of(key), .prio = prio,
		.loss = phase_of(key) == REDUCE || !is_ring ? bound : 0,
		.early = early && phase_of(key) == REDUCE,
	};

	if (net->send(l->conn, &tensor))
		failed("sending");
}

/* Take it off the queue; the lock is held */
static uint64_t most_urgent(struct link *l)
{
	size_t i, best = l->head;
	uint64_t key;

	for (i = l->head + 1; i < l->tail; i++)
		if (l->queue[i] < l->queue[best])
			best = i;
	key = l->queue[best];
	l->queue[best] = l->queue[l->head++];
	return key;
}

static void *writer(void *arg)
{
	struct link *l = arg;
	uint64_t key;
	uint8_t prio;

	do {
		pthread_mutex_lock(&lock);
		while (l->head == l->tail)
			pthread_cond_wait(&changed, &lock);
		key = most_urgent(l);
		prio = class_of(key);
		pthread_mutex_unlock(&lock);
		send_key(l, key, prio);
	} while (phase_of(key) != BYE);
	return NULL;
}

/* --- the passes */

static void compute(double us)
{
	struct timespec ts = { (time_t)(us / 1e6), (long)(us * 1e3) % 1000000000 };

	while (us > 0 && nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void forward(int iter)
{
	int i;

	for (i = 0; i < nr_buckets; i++) {
		pthread_mutex_lock(&lock);
		while (iter && !state[iter - 1][i].back)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		compute(buckets[i].forward_us);
	}
}

static void backward(int iter)
{
	int i;

	for (i = nr_buckets - 1; i >= 0; i--) {
		compute(buckets[i].backward_us);
		pthread_mutex_lock(&lock);
		state[iter][i].ready = 1;
		enqueue(&links[is_ring ? 1 : i % stripes], name_of(iter, REDUCE, i, 0));
		if (is_ring)
			pass_on(iter, i, REDUCE);
		pthread_mutex_unlock(&lock);
	}
}

/* step(): plain waits for all, dear for the reductions, eager for nothing */
static void between(int iter)
{
	struct state *s = state[iter];
	int i;

	pthread_mutex_lock(&lock);
	computed[iter] = 1;
	if (schedule == DEAR && is_ring)
		start_gathers(iter);
	for (i = 0; schedule != EAGER && i < nr_buckets; i++)
		while (schedule == DEAR ? is_ring && !s[i].reduced : !s[i].back)
			pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void work(void)
{
	double start = 0, now;
	int iter, i;

	for (iter = 0; iter <= iters; iter++) {
		now = net_now_ms();
		if (iter && rank == !is_ring)
			printf("%.4f\n", now - start);
		start = now;
		if (iter == iters)
			break;
		forward(iter);
		backward(iter);
		between(iter);
	}
	pthread_mutex_lock(&lock);
	for (i = 0; i < nr_buckets; i++)
		while (!state[iters - 1][i].back)
			pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/*
 * Everybody says goodbye to whom it sends to, the server when all workers have, and
 * stays until it was said to itself. What is not delivered then is the kernel's to deliver.
 */
static void finish(int first, int last, int from)
{
	int server = !is_ring && !rank, i;

	pthread_mutex_lock(&lock);
	for (i = first; !server && i <= last; i++)
		enqueue(&links[i], name_of(MAX_ITERS, BYE, 0, 0));
	while (byes < from)
		pthread_cond_wait(&changed, &lock);
	over = 1;
	for (i = first; server && i <= last; i++)
		enqueue(&links[i], name_of(MAX_ITERS, BYE, 0, 0));
	pthread_mutex_unlock(&lock);
	for (i = first; i <= last; i++)
		pthread_join(links[i].writer, NULL);
}

/* --- connections */

static struct conn *connect_to(int to)
{
	struct conn *conn;
	char host[32];

	snprintf(host, sizeof(host), "10.0.0.%d", to + 1);
	conn = net_connect(net, host, "7070", 20000);
	if (!conn)
		failed("connecting");
	return conn;
}

static void start_link(int i, struct conn *conn)
{
	struct link *l = &links[i];

	l->conn = conn;
	l->queue = need_memory((size_t)MAX_ITERS * MAX_BUCKETS * 2 *
			       (is_ring ? world : 2), sizeof(*l->queue));
	if (!conn || net->backlog(conn, backlog))
		failed("accepting");
	if ((!is_ring || !i) &&
	    pthread_create(&l->reader, NULL, reader, l))
		failed("no thread");
	if ((!is_ring || i) &&
	    pthread_create(&l->writer, NULL, writer, l))
		failed("no thread");
}

/* ring: link 0 is from the one before, 1 to the next; ps: those of all workers, or of this one */
static void meet(void)
{
	int fd = is_ring || !rank ? net->listen("7070") : 0, i;
	struct conn *next;

	if (fd < 0)
		failed("listening");
	if (is_ring) {
		next = connect_to((rank + 1) % world);
		start_link(0, net->accept(fd));
		start_link(1, next);
	} else if (rank) {
		for (i = 0; i < stripes; i++)
			start_link(i, connect_to(0));
	} else {
		for (i = 0; i < (world - 1) * stripes; i++)
			start_link(i, net->accept(fd));
	}
}

static void parse(char **argv)
{
	const char *form = argv[2];
	int whole = 0, i;

	net = net_find(argv[1]);
	is_ring = !strcmp(form, "ring");
	for (i = 0; i < SCHEDULES; i++)
		if (!strcmp(argv[3], schedules[i]) && (is_ring || i != EAGER))
			schedule = i;
	rank = atoi(argv[4]);
	world = atoi(argv[5]);
	iters = atoi(argv[6]);
	bound = atof(argv[7]);
	backlog = strtoul(argv[8], NULL, 10);
	stripes = atoi(argv[9]);
	for (argv += 10; *argv && nr_buckets < MAX_BUCKETS; argv++) {
		struct bucket *b = &buckets[nr_buckets++];

		if (sscanf(*argv, "%zu:%lf:%lf", &b->bytes, &b->forward_us,
			   &b->backward_us) != 3)
			failed(*argv);
		b->whole = whole;
		whole += b->forward_us > 0;
		most = b->bytes > most ? b->bytes : most;
	}
	if (!net || (!is_ring && strcmp(form, "ps")) || schedule == SCHEDULES || *argv ||
	    !backlog || stripes < 1 || stripes > (is_ring ? 1 : MAX_STRIPES) || world < 2 ||
	    world > MAX_RANKS || iters < 1 || iters > MAX_ITERS) {
		fputs(usage_text, stderr);
		exit(2);
	}
	zeros = need_memory(1, most);
}

int main(int argc, char **argv)
{
	early = argc > 1 && !strcmp(argv[1], "-e");
	if (argc - early < 11) {
		fputs(usage_text, stderr);
		return 2;
	}
	parse(argv + early);
	prctl(PR_SET_TIMERSLACK, 1UL);
	meet();
	if (is_ring || rank)
		work();
	if (is_ring)
		finish(1, 1, 1);
	else if (rank)
		finish(0, stripes - 1, stripes);
	else
		finish(0, (world - 1) * stripes - 1, (world - 1) * stripes);
	return 0;
}
