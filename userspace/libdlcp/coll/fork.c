// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Groups and the end of their process, or of its children.
 *
 * A process that ends without having left its groups ends them, and says so; the
 * others would hear of it from the kernel, but not why. A child that fork() made
 * has no part in its parent's groups: none of their threads runs there. It closes
 * their connections, so that others hear at once when the parent dies, and ends
 * nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "coll.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct dlcp_coll *groups;

static void fork_begins(void)
{
	pthread_mutex_lock(&lock);
}

static void fork_ends(void)
{
	pthread_mutex_unlock(&lock);
}

static void close_links(struct dlcp_coll *c)
{
	int i;

	for (i = 0; i < c->world; i++) {
		if (c->links[i].fd >= 0)
			close(c->links[i].fd);
		c->links[i].fd = -1;
	}
}

static void in_child(void)
{
	struct dlcp_coll *c;

	for (c = groups; c; c = c->next_group) {
		c->inherited = 1;
		close_links(c);
	}
	groups = NULL;
	/* Whoever waited for it is not here */
	ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_unlock(&lock);
}

/* A group that is to be ended. Another thread may leave it, and would free it: it waits
 * until set_ended()
 */
static struct dlcp_coll *begin_end(void)
{
	struct dlcp_coll *c;

	pthread_mutex_lock(&lock);
	for (c = groups; c; c = c->next_group)
		if (c->end == COLL_JOINED && !__atomic_load_n(&c->leaving, __ATOMIC_ACQUIRE))
			break;
	if (c)
		c->end = COLL_ENDING;
	pthread_mutex_unlock(&lock);
	return c;
}

static void set_ended(struct dlcp_coll *c)
{
	pthread_mutex_lock(&lock);
	c->end = COLL_ENDED;
	pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
}

/* Others fail as soon as they hear of it, rather than when they miss us */
static void at_exit(void)
{
	struct dlcp_coll *c;

	while ((c = begin_end())) {
		coll_fail(c, ECANCELED, "rank %d ended its process without leaving the group",
			  c->rank);
		set_ended(c);
	}
}

static void watch(void)
{
	pthread_atfork(fork_begins, fork_ends, in_child);
	atexit(at_exit);
}

void coll_register(struct dlcp_coll *c)
{
	pthread_once(&once, watch);
	pthread_mutex_lock(&lock);
	c->next_group = groups;
	groups = c;
	pthread_mutex_unlock(&lock);
}

/* Until now its connections were another thread's, which is making them */
void coll_joined(struct dlcp_coll *c)
{
	pthread_mutex_lock(&lock);
	c->end = COLL_JOINED;
	pthread_mutex_unlock(&lock);
}

void coll_unregister(struct dlcp_coll *c)
{
	struct dlcp_coll **at;

	pthread_mutex_lock(&lock);
	while (c->end == COLL_ENDING)
		pthread_cond_wait(&ended, &lock);
	for (at = &groups; *at && *at != c;)
		at = &(*at)->next_group;
	if (*at)
		*at = c->next_group;
	pthread_mutex_unlock(&lock);
}

int coll_refuse_child(const struct dlcp_coll *c)
{
	if (!c->inherited)
		return 0;
	return dlcp__fail_text(ECHILD, "this process was forked by one that is in a group, and is in none itself: make one after fork()");
}
