// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The limits of dlcp_set_timeouts() count from the call, whatever signals come.
 *
 * The kernel starts a limit again with each system call. So a call that a signal
 * interrupted goes on with what is left: for that time the socket's limit is
 * lowered. Other threads may begin calls on the socket meanwhile. Theirs end too
 * early then, which they notice, and go on likewise.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>

#include "internal.h"

/**
 * struct dlcp__lent - a limit of a socket that is lowered
 * @next: of the list
 * @fd: socket
 * @name: SO_RCVTIMEO or SO_SNDTIMEO
 * @limit: what it is otherwise
 * @users: calls that lowered it and are not over
 */
struct dlcp__lent {
	struct dlcp__lent	*next;
	int			fd;
	int			name;
	struct timeval		limit;
	int			users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct dlcp__lent *list;
/* Changes with each limit that is lowered, and when it is as before; odd while
 * one is
 */
static unsigned int changes;
static unsigned int lowered;

static void fork_begins(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_ends(void)
{
	pthread_mutex_unlock(&lock);
}

/* The calls that lowered them are the parent's */
static void in_child(void)
{
	list = NULL;
	lowered = 0;
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(fork_begins, fork_ends, in_child);
}

/* With the lock held */
static struct dlcp__lent *find(int fd, int name)
{
	struct dlcp__lent *l;

	for (l = list; l && (l->fd != fd || l->name != name);)
		l = l->next;
	return l;
}

int dlcp__set_limit(int fd, int name, const struct timeval *limit)
{
	struct dlcp__lent *l;
	int ret = 0;

	pthread_mutex_lock(&lock);
	l = find(fd, name);
	if (l)
		l->limit = *limit;
	else
		ret = setsockopt(fd, SOL_SOCKET, name, limit, sizeof(*limit));
	pthread_mutex_unlock(&lock);
	return ret;
}

struct dlcp__call dlcp__call(int fd, int name, int flags)
{
	struct dlcp__call call = { .fd = fd, .name = name, .flags = flags };

	if (flags & MSG_DONTWAIT)
		return call;
	call.began = dlcp__now_ns();
	call.changes = __atomic_load_n(&changes, __ATOMIC_ACQUIRE);
	call.lowered = __atomic_load_n(&lowered, __ATOMIC_ACQUIRE);
	return call;
}

/* With the lock held. NULL: no memory */
static struct dlcp__lent *lend(struct dlcp__call *call,
			       const struct timeval *limit)
{
	struct dlcp__lent *l = find(call->fd, call->name);

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return NULL;
		l->fd = call->fd;
		l->name = call->name;
		l->limit = *limit;
		l->next = list;
		list = l;
	}
	if (call->lent)
		return l;
	l->users++;
	__atomic_add_fetch(&lowered, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&changes, 1, __ATOMIC_RELEASE);
	call->lent = l;
	return l;
}

static int limit_of(const struct dlcp__call *call, struct timeval *limit)
{
	socklen_t len = sizeof(*limit);
	const struct dlcp__lent *l = find(call->fd, call->name);

	if (l)
		*limit = l->limit;
	else
		return getsockopt(call->fd, SOL_SOCKET, call->name, limit, &len);
	return 0;
}

/* With the lock held. Return: 1, or 0: time is up */
static int go_on(struct dlcp__call *call)
{
	uint64_t now = dlcp__now_ns(), end;
	struct timeval limit, left;

	if (limit_of(call, &limit) || (!limit.tv_sec && !limit.tv_usec))
		return 1;
	end = call->began + (uint64_t)limit.tv_sec * 1000000000ULL +
	      (uint64_t)limit.tv_usec * 1000ULL;
	if (now >= end)
		return 0;
	left.tv_sec = (time_t)((end - now) / 1000000000ULL);
	left.tv_usec = (suseconds_t)((end - now) % 1000000000ULL / 1000 + 1);
	if (left.tv_usec >= 1000000) {
		left.tv_sec++;
		left.tv_usec = 0;
	}
	if (lend(call, &limit))
		setsockopt(call->fd, SOL_SOCKET, call->name, &left, sizeof(left));
	return 1;
}

static int is_too_early(const struct dlcp__call *call)
{
	int flags;

	if (!call->lowered &&
	    call->changes == __atomic_load_n(&changes, __ATOMIC_ACQUIRE))
		return 0;
	flags = fcntl(call->fd, F_GETFL);
	return flags >= 0 && !(flags & O_NONBLOCK);
}

int dlcp__again(struct dlcp__call *call)
{
	int err = errno, again;

	if (err == EINTR && call->flags & MSG_DONTWAIT)
		return 1;
	if (call->flags & MSG_DONTWAIT ||
	    (err != EINTR && (err != EAGAIN || !is_too_early(call)))) {
		errno = err;
		return 0;
	}
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	again = go_on(call);
	pthread_mutex_unlock(&lock);
	errno = EAGAIN;
	return again;
}

/* With the lock held */
static void take_off(const struct dlcp__lent *l)
{
	struct dlcp__lent **at;

	for (at = &list; *at && *at != l;)
		at = &(*at)->next;
	if (*at)
		*at = l->next;
}

void dlcp__call_over(struct dlcp__call *call)
{
	struct dlcp__lent *l = call->lent;
	int err = errno;

	if (!l)
		return;
	pthread_mutex_lock(&lock);
	__atomic_sub_fetch(&lowered, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&changes, 1, __ATOMIC_RELEASE);
	if (!--l->users) {
		setsockopt(l->fd, SOL_SOCKET, l->name, &l->limit,
			   sizeof(l->limit));
		take_off(l);
		free(l);
	}
	pthread_mutex_unlock(&lock);
	errno = err;
}
