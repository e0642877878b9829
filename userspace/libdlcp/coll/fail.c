// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * How a group fails. The first failure counts. The rank that fails tells all others
 * why, and then shuts its connections down, which wakes all threads that wait on
 * them. Each rank tells the others in turn before it shuts down, so that every rank
 * learns the first cause and not the last one.
 */
#include <endian.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll.h"

#define TELL_MS	1000	/* to tell the others of a failure, at most */
#define MAX_ERRNO 4095	/* as in the kernel */

/* A control message for a rank, in a thread that may block */
struct notice {
	struct dlcp_coll	*c;
	int			to;
	struct coll_control 	ctl;
};

int coll_errno_from(uint32_t wire)
{
	uint32_t err = le32toh(wire);

	return err && err <= MAX_ERRNO ? (int)err : EPROTO;
}

void coll_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void signal_fd(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return;	/* it is readable already */
}

void coll_poke(struct dlcp_coll *c)
{
	signal_fd(c->wake);
}

/* Of all threads at a connection one alone is told why it ended, by errno; the
 * others see only the end
 */
void coll_note_end(struct coll_link *link, int err)
{
	int old = errno;

	if (err == EPIPE || err == ENOTCONN || err == EIO)
		return;	/* it is over, and no more than that */
	pthread_mutex_lock(&link->coll->lock);
	if (!link->why)
		link->why = err;
	pthread_cond_broadcast(&link->coll->changed);
	pthread_mutex_unlock(&link->coll->lock);
	errno = old;
}

/* Return: 0, or -1 with errno, EAGAIN or ENOBUFS if there is no room just now */
static int send_control(struct dlcp_coll *c, int to, const struct coll_control *ctl,
			int flags)
{
	struct dlcp_send msg = {
		.buf = ctl,
		.len = sizeof(*ctl),
		.flags = flags,
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_PRIO,
			.key = COLL_KEY_CONTROL,
			.prio = 0,
		},
	};

	if (c->links[to].fd < 0)
		return 0;
	if (dlcp_send(c->links[to].fd, &msg) >= 0)
		return 0;
	if (errno != EAGAIN && errno != ENOBUFS)
		coll_note_end(&c->links[to], errno);
	return -1;
}

/* Waits for room where what was sent before fills the connection, as it does on
 * the way to a slow host
 */
int coll_send_control_until(struct dlcp_coll *c, int to,
		      const struct coll_control *ctl, uint64_t until)
{
	struct pollfd pfd[2] = {
		{ .fd = c->broken, .events = POLLIN },
		{ .fd = c->links[to].fd, .events = POLLOUT },
	};

	while (send_control(c, to, ctl, MSG_DONTWAIT)) {
		if ((errno != EAGAIN && errno != ENOBUFS) || coll_failed(c) ||
		    coll_now_ms() >= until)
			return -1;
		poll(pfd, 2, 100);
	}
	return 0;
}

static void wake_ops(struct dlcp_coll *c)
{
	struct coll_op *op;

	for (op = c->ops; op; op = op->next) {
		pthread_mutex_lock(&op->lock);
		pthread_cond_broadcast(&op->changed);
		pthread_mutex_unlock(&op->lock);
	}
	pthread_cond_broadcast(&c->changed);
}

/* The first failure counts. Return: 1 if this is it */
static int set_error(struct dlcp_coll *c, int err, const char *text)
{
	int first;

	pthread_mutex_lock(&c->lock);
	first = !c->error;
	if (first) {
		c->telling++;
		snprintf(c->text, sizeof(c->text), "%s", text);
		__atomic_store_n(&c->error, err, __ATOMIC_RELEASE);
		signal_fd(c->broken);
		wake_ops(c);
	}
	pthread_mutex_unlock(&c->lock);
	return first;
}

static void told(struct dlcp_coll *c)
{
	pthread_mutex_lock(&c->lock);
	c->telling--;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void send_notice(void *arg)
{
	struct notice *n = arg;

	send_control(n->c, n->to, &n->ctl, 0);
	told(n->c);
	free(n);
}

/* Is there room for a control message, although less than a third is free? */
static int fits(int fd)
{
	uint32_t mem[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(mem);

	return !getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) &&
	       mem[SK_MEMINFO_WMEM_QUEUED] + 4096 < mem[SK_MEMINFO_SNDBUF];
}

/*
 * To a rank that does not read, the kernel accepts nothing without waiting once
 * two thirds of SO_SNDBUF are taken, whatever its length. A call that may wait
 * need not; but should it, shutdown() ends it. Return: 0: try again
 */
static int notify(struct dlcp_coll *c, int to, const struct coll_control *ctl)
{
	struct notice *n;

	if (!send_control(c, to, ctl, MSG_DONTWAIT) ||
	    (errno != EAGAIN && errno != ENOBUFS))
		return 1;
	if (!fits(c->links[to].fd))
		return 0;
	n = malloc(sizeof(*n));
	if (!n)
		return 0;
	*n = (struct notice){ .c = c, .to = to, .ctl = *ctl };
	pthread_mutex_lock(&c->lock);
	c->telling++;
	pthread_mutex_unlock(&c->lock);
	if (!coll_pool_run(c->pool, send_notice, n))
		return 1;
	told(c);
	free(n);
	return 0;
}

/* With the lock held */
static int all_know(const struct dlcp_coll *c)
{
	int i;

	for (i = 0; i < c->world; i++)
		if (c->links[i].fd >= 0 && !c->links[i].knows)
			return 0;
	return 1;
}

/* Whoever sees the end of a connection without a word takes us for dead. So wait
 * for the others' words, which they send us when they hear ours.
 */
static void tell_all(struct dlcp_coll *c, const struct coll_control *ctl)
{
	uint64_t limit = (uint64_t)coll_timeout_ms(c) / 2;
	uint64_t until = coll_now_ms() + (limit < TELL_MS ? limit : TELL_MS);
	uint8_t done[COLL_MAX_WORLD] = { 0 };
	int i, left;

	for (;;) {
		for (left = 0, i = 0; i < c->world; i++) {
			if (!done[i])
				done[i] = (uint8_t)notify(c, i, ctl);
			left += !done[i];
		}
		if (!left || coll_now_ms() >= until)
			break;
		poll(NULL, 0, 10);
	}
	pthread_mutex_lock(&c->lock);
	while (!all_know(c) && !coll_wait_until(&c->changed, &c->lock, until))
		;
	pthread_mutex_unlock(&c->lock);
}

int coll_fail_with(struct dlcp_coll *c, int err, const char *text)
{
	struct coll_control ctl = {
		.type = htole32(COLL_FAILURE), .error = htole32((uint32_t)err),
	};
	int i;

	if (!set_error(c, err, text))
		return -1;
	memcpy(ctl.text, c->text, sizeof(ctl.text));
	tell_all(c, &ctl);
	for (i = 0; i < c->world; i++)
		if (c->links[i].fd >= 0)
			shutdown(c->links[i].fd, SHUT_RDWR);
	coll_poke(c);
	told(c);
	return -1;
}

int coll_fail(struct dlcp_coll *c, int err, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return coll_fail_with(c, err, text);
}

int coll_no_memory(struct dlcp_coll *c)
{
	return coll_fail(c, ENOMEM, "rank %d has no memory: end other programs there, or raise memory.max of its cgroup",
			 c->rank);
}

int coll_no_thread(struct dlcp_coll *c, int err)
{
	return coll_fail(c, err, "rank %d cannot start a thread: raise 'ulimit -u' or pids.max of its cgroup",
			 c->rank);
}

int coll_foreign(struct dlcp_coll *c, int rank)
{
	return coll_fail(c, EBADMSG, "rank %d breaks the protocol: install one libdlcp on all hosts",
			 rank);
}

/* It takes the control thread no longer than to be scheduled; but should it
 * have gone with a goodbye, say so
 */
int coll_lost(struct dlcp_coll *c, int rank, int err)
{
	uint64_t until = coll_now_ms() + 2000;
	int left;

	if (err)
		coll_note_end(&c->links[rank], err);
	else
		err = ECONNRESET;
	pthread_mutex_lock(&c->lock);
	while (!c->error && !c->links[rank].left &&
	       !coll_wait_until(&c->changed, &c->lock, until))
		;
	left = c->links[rank].left;
	pthread_mutex_unlock(&c->lock);
	if (left)
		return coll_fail(c, ECONNRESET,
				 "rank %d has left the group, and rank %d has not finished",
				 rank, c->rank);
	return coll_fail(c, err, "the connection of rank %d with rank %d: %s",
			 c->rank, rank, strerror(err));
}

int coll_send_control(struct dlcp_coll *c, int to,
		      const struct coll_control *ctl)
{
	if (!coll_send_control_until(c, to, ctl, UINT64_MAX))
		return 0;
	return coll_failed(c) ? -1 : coll_lost(c, to, errno);
}

/* Who tells of a failure uses all connections */
void coll_wait_told(struct dlcp_coll *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->telling)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}
