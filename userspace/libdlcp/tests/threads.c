// SPDX-License-Identifier: GPL-2.0
/*
 * See ranks.h: every rank is a thread, and the network is memory, so that
 * sanitizers see all of it and no module is needed. Messages with a bound lose
 * some of what they may, and there is no room to send at times, and while the
 * other rank leaves too much unread.
 *
 * The library's calls of dlcp.h come here (ld --wrap). A connection's end is an
 * eventfd, readable when there are reports, so that everybody may poll() it.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../coll/coll.h"
#include "ranks.h"
#include "thread.h"

#define SEG	256	/* bytes */

struct message {
	struct message		*next;
	struct dlcp_msg		msg;
	struct dlcp_range	*ranges;
	char			data[];
};

struct news {
	struct news		*next;
	struct dlcp_report	report;
	struct dlcp_range	*ranges;
};

/**
 * struct end - of a connection
 * @fd: what a rank has for it
 * @peer: the other one
 * @lock: of what follows
 * @changed: something did
 * @in: messages that have come and are not taken yet
 * @reports: of those that were sent
 * @at_reports: where the next one goes
 * @unread: bytes at @in
 * @finished: the peer sends no more
 * @shut: nobody here does anything any more
 * @random: what happens next
 */
struct end {
	int			fd;
	struct end		*peer;
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	struct message		*in, **last;
	struct news		*reports, **last_report;
	size_t			unread;
	int			finished;
	int			shut;
	unsigned int		random;
};

/* Of small operations, and of chunks that nobody may read */
#define MOST_SMALL	3
#define MOST_EAGER	2

/* Bytes that may be unread: these, one chunk more and something for heads */
static size_t room;

#define MOST	16

static struct end ends[MOST][MOST];
static int nr_ends;

static struct end *find(int fd)
{
	int i, j;

	for (i = 0; i < nr_ends; i++)
		for (j = 0; j < nr_ends; j++)
			if (i != j && ends[i][j].fd == fd)
				return &ends[i][j];
	return NULL;
}

static int full(struct end *e)
{
	int ret;

	pthread_mutex_lock(&e->lock);
	ret = e->unread > __atomic_load_n(&room, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&e->lock);
	return ret;
}

enum fault fault[MOST];

/* Is it what @e's rank does wrong? Goodbyes and failures are told all the same. */
static int is_faulty(const struct end *e, uint64_t key, enum fault what)
{
	int i = (int)((e - &ends[0][0]) / MOST);

	return key != COLL_KEY_CONTROL &&
	       __atomic_load_n(&fault[i], __ATOMIC_SEQ_CST) == what;
}

static uint32_t chance(struct end *e, uint32_t n)
{
	return (uint32_t)rand_r(&e->random) % n;
}

/* --- sending */

/* Some of what @msg may lose. Return: bytes */
static size_t lose(struct end *e, const struct dlcp_send *msg,
		   struct message *m)
{
	size_t most = (size_t)((uint64_t)msg->len * msg->attr.loss_ppm / DLCP_PPM);
	size_t seg = SEG - SEG % msg->attr.elem_size, at, n, lost = 0;

	if (most < seg)
		return 0;
	m->ranges = calloc(msg->len / seg + 1, sizeof(*m->ranges));
	for (at = 0; at < msg->len; at += seg) {
		n = msg->len - at < seg ? msg->len - at : seg;
		if (chance(e, 3) || lost + n > most)
			continue;
		m->ranges[m->msg.nr_ranges++] = (struct dlcp_range){
			.offset = at, .length = n };
		memset(m->data + at, 0xff, n);	/* nobody is to read that */
		lost += n;
	}
	return lost;
}

static void report(struct end *e, const struct dlcp_send *msg,
		   const struct message *m)
{
	struct news *news = calloc(1, sizeof(*news));
	size_t len = m->msg.nr_ranges * sizeof(*news->ranges);
	uint64_t one = 1;

	news->report.key = msg->attr.key;
	news->report.cookie = msg->attr.cookie;
	news->report.nr_ranges = m->msg.nr_ranges;
	news->ranges = malloc(len + 1);
	if (len)
		memcpy(news->ranges, m->ranges, len);
	*e->last_report = news;
	e->last_report = &news->next;
	NEED(write(e->fd, &one, sizeof(one)) == sizeof(one));
}

ssize_t __wrap_dlcp_send(int fd, const struct dlcp_send *msg);

ssize_t __wrap_dlcp_send(int fd, const struct dlcp_send *msg)
{
	struct end *e = find(fd), *peer = e->peer;
	struct message *m;
	int err = 0, no_room = full(peer);

	if (is_faulty(e, msg->attr.key, SEND_FAILS))
		return dlcp__fail(EIO, "sending");
	if (is_faulty(e, msg->attr.key, NO_DATA) &&
	    (msg->attr.key >> 28 & 0xf) != COLL_HEAD)
		return (ssize_t)msg->len;
	m = calloc(1, sizeof(*m) + msg->len);
	m->msg.key = msg->attr.key;
	m->msg.length = msg->len;
	m->msg.complete = 1;
	if (msg->len)
		memcpy(m->data, msg->buf, msg->len);
	pthread_mutex_lock(&e->lock);
	if (e->shut)
		err = EPIPE;
	else if (msg->flags & MSG_DONTWAIT && (no_room || !chance(e, 8)))
		err = EAGAIN;
	else if (msg->attr.mask & DLCP_ATTR_LOSS)
		m->msg.missing = lose(e, msg, m);
	if (!err && msg->attr.flags & DLCP_MSG_REPORT)
		report(e, msg, m);
	pthread_mutex_unlock(&e->lock);
	if (err) {
		free(m);
		return dlcp__fail(err, "sending");
	}
	pthread_mutex_lock(&peer->lock);
	*peer->last = m;
	peer->last = &m->next;
	peer->unread += msg->len;
	pthread_cond_broadcast(&peer->changed);
	pthread_mutex_unlock(&peer->lock);
	return (ssize_t)msg->len;
}

/* --- receiving */

static struct message **look_for(struct end *e, uint64_t key)
{
	struct message **m;

	for (m = &e->in; *m; m = &(*m)->next)
		if ((*m)->msg.key == key)
			return m;
	return NULL;
}

static void copy(const struct message *m, char *buf, size_t len, int keep)
{
	size_t i, at = 0;
	struct dlcp_range gap;

	len = len < m->msg.length ? len : m->msg.length;
	for (i = 0; i < m->msg.nr_ranges; i++) {
		gap = m->ranges[i];
		memcpy(buf + at, m->data + at, gap.offset - at);
		at = gap.offset + gap.length;
		if (!keep)
			memset(buf + gap.offset, 0, gap.length);
	}
	if (len > at)
		memcpy(buf + at, m->data + at, len - at);
}

/* With the lock held */
static void take(struct end *e, struct message **at)
{
	struct message *m = *at;

	*at = m->next;
	if (!m->next)
		e->last = at;
	e->unread -= m->msg.length;
	free(m->ranges);
	free(m);
}

static ssize_t deliver(struct end *e, struct message **at,
		       const struct dlcp_want *want, void *buf, size_t len,
		       int flags, struct dlcp_receipt *receipt)
{
	struct message *m = *at;
	size_t n = m->msg.nr_ranges * sizeof(*m->ranges);
	size_t length = m->msg.length;

	if (length > len && !(flags & (MSG_TRUNC | MSG_PEEK)))
		return dlcp__fail(EMSGSIZE, "too long");
	if (len)
		copy(m, buf, len, want->flags & DLCP_WANT_KEEP);
	receipt->eof = 0;
	receipt->msg = m->msg;
	free(receipt->ranges);
	receipt->ranges = malloc(n + 1);
	receipt->nr_ranges = m->msg.nr_ranges;
	if (n)
		memcpy(receipt->ranges, m->ranges, n);
	if (!(flags & MSG_PEEK))
		take(e, at);
	return (ssize_t)length;
}

ssize_t __wrap_dlcp_recv(int fd, const struct dlcp_want *want, void *buf,
			 size_t len, int flags, struct dlcp_receipt *receipt);

ssize_t __wrap_dlcp_recv(int fd, const struct dlcp_want *want, void *buf,
			 size_t len, int flags, struct dlcp_receipt *receipt)
{
	struct end *e = find(fd);
	struct message **at;
	ssize_t n = 0;

	if (is_faulty(e, want->key, RECV_FAILS))
		return dlcp__fail(EIO, "receiving");
	pthread_mutex_lock(&e->lock);
	while (!(at = look_for(e, want->key)) && !e->finished && !e->shut)
		pthread_cond_wait(&e->changed, &e->lock);
	if (at && !e->shut)
		n = deliver(e, at, want, buf, len, flags, receipt);
	else
		receipt->eof = 1;
	pthread_mutex_unlock(&e->lock);
	return n;
}

/* --- reports */

/* One at a time */
int __wrap_dlcp_reports(int fd, struct dlcp_reports *reports, int timeout_ms);

int __wrap_dlcp_reports(int fd, struct dlcp_reports *reports, int timeout_ms)
{
	struct end *e = find(fd);
	struct news *news;
	uint64_t n;

	(void)timeout_ms;
	pthread_mutex_lock(&e->lock);
	news = e->reports;
	if (news) {
		e->reports = news->next;
		if (!news->next)
			e->last_report = &e->reports;
	} else if (read(e->fd, &n, sizeof(n)) < 0) {
		n = 0;
	}
	pthread_mutex_unlock(&e->lock);
	if (!news)
		return dlcp__fail(EAGAIN, "no report");
	free(reports->ranges);
	free(reports->sent);
	reports->sent = calloc(1, sizeof(*reports->sent));
	reports->ranges = news->ranges;
	reports->sent[0] = (struct dlcp_sent){
		.report = news->report, .nr_ranges = news->report.nr_ranges,
		.ranges = news->ranges };
	reports->nr = 1;
	free(news);
	return 1;
}

/* Who waits for nothing of a connection waits for its reports */
int __real_poll(struct pollfd *pfd, nfds_t n, int timeout);
int __wrap_poll(struct pollfd *pfd, nfds_t n, int timeout);

int __wrap_poll(struct pollfd *pfd, nfds_t n, int timeout)
{
	nfds_t i;
	int ret;

	for (i = 0; i < n; i++)
		pfd[i].events = pfd[i].events ? pfd[i].events : POLLIN;
	ret = __real_poll(pfd, n, timeout);
	return ret;
}

/* --- the end */

int __wrap_dlcp_conn_error(int fd, char *text, size_t len);

int __wrap_dlcp_conn_error(int fd, char *text, size_t len)
{
	(void)fd;
	if (len)
		*text = '\0';
	return 0;
}

static void set(struct end *e, int *what)
{
	pthread_mutex_lock(&e->lock);
	*what = 1;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

int __wrap_shutdown(int fd, int how);

int __wrap_shutdown(int fd, int how)
{
	struct end *e = find(fd);

	set(e->peer, &e->peer->finished);
	if (how == SHUT_RDWR)
		set(e, &e->shut);
	return 0;
}

int __wrap_coll_rendezvous(struct dlcp_coll *c);

int __wrap_coll_rendezvous(struct dlcp_coll *c)
{
	size_t most = MOST_SMALL * c->options.small_bytes +
		      MOST_EAGER * c->options.chunk_bytes;
	int i;

	__atomic_store_n(&room, most + 65536, __ATOMIC_RELAXED);
	for (i = 0; i < c->world; i++) {
		if (i == c->rank)
			continue;
		c->most_small = MOST_SMALL;
		/* the library closes it; ours says who it is until all is over */
		c->links[i].fd = ends[c->rank][i].fd;
		c->links[i].seg_size = SEG;
		c->links[i].most_eager = MOST_EAGER * c->options.chunk_bytes;
	}
	return 0;
}

int __wrap_coll_limit_silence(const struct dlcp_coll *c,
			      const struct coll_link *link);

int __wrap_coll_limit_silence(const struct dlcp_coll *c,
			      const struct coll_link *link)
{
	(void)c, (void)link;
	return 0;
}

static void connect_all(int n)
{
	struct end *e;
	int i, j;

	nr_ends = n;
	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			e = &ends[i][j];
			memset(e, 0, sizeof(*e));
			e->fd = i == j ? -1 :
				eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
			e->peer = &ends[j][i];
			e->random = (unsigned int)(i * MOST + j);
			e->last = &e->in;
			e->last_report = &e->reports;
			pthread_mutex_init(&e->lock, NULL);
			pthread_cond_init(&e->changed, NULL);
		}
	}
}

static void forget(struct end *e)
{
	struct news *news;

	while (e->in)
		take(e, &e->in);
	while ((news = e->reports)) {
		e->reports = news->next;
		free(news->ranges);
		free(news);
	}
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
}

int thread_refused(void)
{
	return __atomic_load_n(&fault[me], __ATOMIC_SEQ_CST) == NO_THREAD;
}

/* --- ranks */

struct rank {
	pthread_t			thread;
	rank_fn				*fn;
	struct dlcp_coll_options	options;
};

static void *run_rank(void *arg)
{
	struct rank *r = arg;

	options = r->options;
	me = options.rank;
	world = options.world;
	r->fn();
	return NULL;
}

int ranks(int n, rank_fn *fn)
{
	struct rank r[MOST];
	int i, j;

	memset(shared, 0, sizeof(*shared));
	memset(fault, 0, sizeof(fault));
	connect_all(n);
	for (i = 0; i < n; i++) {
		r[i].fn = fn;
		r[i].options = options;
		r[i].options.rank = i;
		r[i].options.world = n;
		if (pthread_create(&r[i].thread, NULL, run_rank, &r[i]))
			abort();
	}
	for (i = 0; i < n; i++)
		pthread_join(r[i].thread, NULL);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			forget(&ends[i][j]);
	return 0;
}

int run_tests(const char *program, const struct test *tests)
{
	static struct shared memory;

	(void)program;
	shared = &memory;
	return run_all(tests);
}
