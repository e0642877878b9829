// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What holds a group together: a thread for each other rank that waits for
 * its control messages (and so notices its death at once), and one that reads
 * reports and watches deadlines.
 */
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll.h"

static void mark_left(struct dlcp_coll *c, int rank)
{
	pthread_mutex_lock(&c->lock);
	c->links[rank].left = 1;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static int has_left(struct dlcp_coll *c, int rank)
{
	int left;

	pthread_mutex_lock(&c->lock);
	left = c->links[rank].left;
	pthread_mutex_unlock(&c->lock);
	return left;
}

static void mark_knows(struct coll_link *link)
{
	pthread_mutex_lock(&link->coll->lock);
	link->knows = 1;
	pthread_cond_broadcast(&link->coll->changed);
	pthread_mutex_unlock(&link->coll->lock);
}

/* Was it silence? Should the kernel have given its reason to another thread, that
 * one will say so
 */
static int fell_silent(struct coll_link *link, int err)
{
	uint64_t until = coll_now_ms() + 1000;
	char words[DLCP_ERROR_TEXT_MAX] = "";
	struct dlcp_coll *c = link->coll;

	if (!err && !dlcp_conn_error(link->fd, words, sizeof(words)) && *words) {
		pthread_mutex_lock(&c->lock);
		while (!c->error && !link->why &&
		       !coll_wait_until(&c->changed, &c->lock, until))
			;
		err = link->why;
		pthread_mutex_unlock(&c->lock);
	}
	return err == ETIMEDOUT || err == EHOSTUNREACH || err == ENETUNREACH;
}

static void end_of_link(struct coll_link *link, int err)
{
	struct dlcp_coll *c = link->coll;
	int silent;

	mark_knows(link);
	if (!has_left(c, link->rank) && !coll_failed(c)) {
		silent = fell_silent(link, err);
		coll_fail(c, silent ? ETIMEDOUT : ECONNRESET, "rank %d %s",
			  link->rank,
			  silent ? "does not answer any more" :
			  "died: Connection closed by peer");
	}
	mark_left(c, link->rank);
}

static void *wait_control(void *arg)
{
	struct coll_link *link = arg;
	struct dlcp_receipt r = { .eof = 0 };
	struct coll_control ctl;
	char text[200];
	ssize_t n;

	for (;;) {
		n = dlcp_recv(link->fd, DLCP_KEY(COLL_KEY_CONTROL), &ctl,
			      sizeof(ctl), 0, &r);
		if (n < 0 || r.eof)
			break;
		if ((size_t)n != sizeof(ctl))
			continue;
		if (le32toh(ctl.type) == COLL_GOODBYE) {
			mark_left(link->coll, link->rank);
			continue;
		}
		if (le32toh(ctl.type) != COLL_FAILURE) {
			coll_p2p_receive(link, &ctl);
			continue;
		}
		memcpy(text, ctl.text, sizeof(text));
		text[sizeof(text) - 1] = '\0';
		coll_plain(text);
		mark_knows(link);
		coll_fail_with(link->coll, coll_errno_from(ctl.error), text);
	}
	end_of_link(link, n < 0 ? errno : 0);
	dlcp_receipt_free(&r);
	return NULL;
}

/* --- the monitor */

static void dispatch(struct dlcp_coll *c, const struct coll_link *link)
{
	const struct dlcp_sent *sent;
	struct coll_op *op;
	size_t i;

	pthread_mutex_lock(&c->lock);
	for (i = 0; i < link->reports.nr; i++) {
		sent = &link->reports.sent[i];
		for (op = c->ops; op; op = op->next)
			if (!op->algo->pairwise &&
			    op->nr == sent->report.key >> 32)
				coll_reported(op, link->rank, sent);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Return: 0 when there is nothing more to be had from it, ever */
static int read_reports(struct dlcp_coll *c, struct coll_link *link)
{
	while (dlcp_reports(link->fd, &link->reports, 0) > 0)
		dispatch(c, link);
	if (errno == ENOMEM)
		coll_no_memory(c);
	else if (errno != EAGAIN)
		coll_note_end(link, errno);
	return errno == EAGAIN;
}

/* Of both halves what is worse */
static uint8_t waits_for(const struct coll_op *op, int rank)
{
	const uint8_t *w = &op->waiting[rank];
	uint8_t a = __atomic_load_n(w, __ATOMIC_RELAXED);
	uint8_t b = __atomic_load_n(w + op->c->world, __ATOMIC_RELAXED);

	return a > b ? a : b;
}

/* Who is to blame, as words: ranks that have not begun, or else those whose
 * data is missing, for these may be waiting themselves
 */
static void name_waiting(const struct coll_op *op, char *text, size_t len)
{
	uint8_t worst = 0, one;
	size_t at;
	int i, n = 0;

	*text = '\0';
	for (i = 0; i < op->c->world; i++) {
		one = waits_for(op, i);
		if (one > worst)
			worst = one;
	}
	if (!worst)
		return;
	at = (size_t)snprintf(text, len, worst == COLL_NOT_BEGUN ?
			      ": not begun by rank" : ": no data from rank");
	for (i = 0; i < op->c->world && at < len; i++) {
		one = waits_for(op, i);
		if (one == worst && n++ < 8)
			at += (size_t)snprintf(text + at, len - at, "%s %d",
					       n > 1 ? "," : "", i);
	}
	if (n > 8 && at < len)
		snprintf(text + at, len - at, " and others");
}

/* What was not over in time, and why */
static void describe(const struct coll_op *op, char *text, size_t len)
{
	char who[100] = "", name[60];

	snprintf(name, sizeof(name), "operation %u", op->nr);
	if (op->algo->pairwise)
		coll_p2p_describe(op, name, sizeof(name));
	else
		name_waiting(op, who, sizeof(who));
	snprintf(text, len, "%s was not over%s", name, who);
}

/* Return: milliseconds until the next deadline, -1 without one */
static int check_deadlines(struct dlcp_coll *c)
{
	uint64_t now = coll_now_ms(), next = UINT64_MAX;
	struct coll_op *op;
	char what[200] = "";
	int timeout_ms = 0;

	pthread_mutex_lock(&c->lock);
	for (op = c->ops; op; op = op->next) {
		if (op->deadline < next) {
			next = op->deadline;
			timeout_ms = op->timeout_ms;
			describe(op, what, sizeof(what));
		}
	}
	pthread_mutex_unlock(&c->lock);
	if (coll_failed(c) || next == UINT64_MAX)
		return -1;
	if (next > now)
		return (int)(next - now);
	coll_fail(c, ETIMEDOUT, "rank %d: Timed out after %d ms: %s", c->rank,
		  timeout_ms, what);
	return -1;
}

static void *monitor(void *arg)
{
	struct dlcp_coll *c = arg;
	struct pollfd *pfd = calloc((size_t)c->world + 1, sizeof(*pfd));
	uint64_t n;
	int i;

	if (!pfd) {
		coll_no_memory(c);
		return NULL;
	}
	for (i = 0; i < c->world; i++)
		pfd[i].fd = c->links[i].fd;
	pfd[c->world] = (struct pollfd){ .fd = c->wake, .events = POLLIN };
	while (!__atomic_load_n(&c->closing, __ATOMIC_ACQUIRE)) {
		if (poll(pfd, (nfds_t)c->world + 1, check_deadlines(c)) < 0)
			continue;
		if (pfd[c->world].revents &&
		    read(c->wake, &n, sizeof(n)) < 0)
			continue;
		for (i = 0; i < c->world; i++)
			if (pfd[i].fd >= 0 && pfd[i].revents &&
			    !read_reports(c, &c->links[i]))
				pfd[i].fd = -1;	/* its control thread knows */
	}
	free(pfd);
	return NULL;
}

/* --- beginning and end */

static int start_thread(pthread_t *thread, int *has, void *(*fn)(void *arg),
			void *arg)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, COLL_STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	*has = !err;
	return err;
}

int coll_group_start(struct dlcp_coll *c)
{
	int i, err;

	err = start_thread(&c->monitor, &c->has_monitor, monitor, c);
	for (i = 0; !err && i < c->world; i++)
		if (c->links[i].fd >= 0)
			err = start_thread(&c->links[i].control,
					   &c->links[i].has_control,
					   wait_control, &c->links[i]);
	return err ? dlcp__no_thread(err) : 0;
}

/* Whose end comes without a goodbye has died */
static void send_goodbye(struct dlcp_coll *c, int to, uint64_t until)
{
	struct coll_control ctl = { .type = htole32(COLL_GOODBYE) };

	coll_send_control_until(c, to, &ctl, until);
}

void coll_goodbye(struct dlcp_coll *c)
{
	uint64_t end = coll_now_ms() + (uint64_t)coll_timeout_ms(c) + 1000;
	int i;

	/* The end comes after all that was sent, even if this overtakes it */
	for (i = 0; i < c->world; i++) {
		if (c->links[i].fd < 0)
			continue;
		send_goodbye(c, i, end);
		shutdown(c->links[i].fd, SHUT_WR);
	}
	pthread_mutex_lock(&c->lock);
	for (i = 0; i < c->world && !c->error; i++)
		while (!c->error && i != c->rank && !c->links[i].left &&
		       !coll_wait_until(&c->changed, &c->lock, end))
			;
	pthread_mutex_unlock(&c->lock);
}

void coll_group_stop(struct dlcp_coll *c)
{
	int i;

	__atomic_store_n(&c->closing, 1, __ATOMIC_RELEASE);
	coll_poke(c);
	if (c->has_monitor)
		pthread_join(c->monitor, NULL);
	coll_wait_told(c);
	for (i = 0; i < c->world; i++) {
		mark_left(c, i);
		if (c->links[i].fd >= 0)
			shutdown(c->links[i].fd, SHUT_RDWR);
	}
	for (i = 0; i < c->world; i++)
		if (c->links[i].has_control)
			pthread_join(c->links[i].control, NULL);
	coll_wait_told(c);
	for (i = 0; i < c->world; i++) {
		if (c->links[i].fd < 0)
			continue;
		close(c->links[i].fd);
		dlcp_reports_free(&c->links[i].reports);
	}
}
