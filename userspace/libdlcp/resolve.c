// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names into addresses, with a time limit. getaddrinfo() has one of its own,
 * of many seconds where name servers do not answer, so names are looked up in a
 * thread that is left alone when time is up.
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/**
 * struct lookup - a name that is looked up
 * @lock: of what follows
 * @changed: @over did
 * @over: @list or @err is there
 * @left: nobody waits any more: the thread frees all of it
 * @host: a copy
 * @port: a copy
 * @hints: for getaddrinfo()
 * @list: its result
 * @err: its error
 * @sys_err: errno, with EAI_SYSTEM
 */
struct lookup {
	pthread_mutex_t	lock;
	pthread_cond_t	changed;
	int		over;
	int		left;
	char		*host;
	char		*port;
	struct addrinfo	hints;
	struct addrinfo	*list;
	int		err;
	int		sys_err;
};

static void free_lookup(struct lookup *l)
{
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l->host);
	free(l->port);
	free(l);
}

static struct lookup *new_lookup(const char *host, const char *port,
				 const struct addrinfo *hints)
{
	struct lookup *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->hints = *hints;
	l->host = strdup(host);
	l->port = strdup(port);
	if (l->host && l->port)
		return l;
	free_lookup(l);
	return NULL;
}

static void *look_up(void *arg)
{
	struct lookup *l = arg;
	struct addrinfo *list = NULL;
	int err, sys_err, left;

	err = getaddrinfo(l->host, l->port, &l->hints, &list);
	sys_err = errno;
	pthread_mutex_lock(&l->lock);
	l->err = err;
	l->sys_err = sys_err;
	l->list = list;
	l->over = 1;
	left = l->left;
	pthread_cond_signal(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (!left)
		return NULL;
	if (!err)
		freeaddrinfo(list);
	free_lookup(l);
	return NULL;
}

static int start(struct lookup *l)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, look_up, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

/* Return: 1 when it is over; else it is the thread's */
static int wait_for(struct lookup *l, const struct dlcp__until *until)
{
	struct timespec end = {
		.tv_sec = (time_t)(until->ns / 1000000000ULL),
		.tv_nsec = (long)(until->ns % 1000000000ULL),
	};
	int over;

	pthread_mutex_lock(&l->lock);
	while (!l->over &&
	       pthread_cond_clockwait(&l->changed, &l->lock, CLOCK_MONOTONIC,
				      &end) != ETIMEDOUT)
		;
	over = l->over;
	l->left = !over;
	pthread_mutex_unlock(&l->lock);
	return over;
}

static struct addrinfo *fail_lookup(int err, int sys_err, const char *host,
				    const char *port)
{
	if (err == EAI_SYSTEM)
		dlcp__fail(sys_err, "%s port %s", host ? host : "*", port);
	else
		dlcp__fail(EADDRNOTAVAIL, "%s port %s (%s)", host ? host : "*",
			   port, gai_strerror(err));
	return NULL;
}

static struct addrinfo *in_thread(const char *host, const char *port,
				  const struct addrinfo *hints,
				  const struct dlcp__until *until)
{
	struct lookup *l = new_lookup(host, port, hints);
	struct addrinfo *list;
	int err;

	if (!l) {
		dlcp__no_memory();
		return NULL;
	}
	err = start(l);
	if (err) {
		free_lookup(l);
		dlcp__no_thread(err);
		return NULL;
	}
	if (!wait_for(l, until)) {
		dlcp__fail(ETIMEDOUT, "%s was not resolved in time: do the name servers answer?",
			   host);
		return NULL;
	}
	list = l->list;
	if (l->err)
		list = fail_lookup(l->err, l->sys_err, host, port);
	free_lookup(l);
	return list;
}

/* getaddrinfo() takes numbers modulo 65536, and nothing for 0 */
static int is_port(const char *port, unsigned long least)
{
	unsigned long number;
	char *end;

	number = strtoul(port, &end, 10);
	return *port && (*end || (*port >= '0' && *port <= '9' &&
				  number >= least && number <= 65535));
}

/* 0 is for a listener, to which the kernel gives one */
int dlcp__check_port(const char *port)
{
	if (port && is_port(port, 1))
		return 0;
	return dlcp__fail(EINVAL, "%s is no port to connect to: a number of 1 to 65535, or a name of /etc/services",
			  port && *port ? port : "nothing");
}

/* As in a URL, [fd00::1] is fd00::1. Return: @host, or @name with what is inside */
static const char *without_brackets(const char *host, char name[NI_MAXHOST])
{
	size_t len = host ? strlen(host) : 0;

	if (len < 3 || len > NI_MAXHOST || *host != '[' || host[len - 1] != ']' ||
	    !strchr(host, ':'))
		return host;
	memcpy(name, host + 1, len - 2);
	name[len - 2] = '\0';
	return name;
}

struct addrinfo *dlcp__resolve(const char *host, const char *port, int family,
			       int flags, const struct dlcp__until *until)
{
	struct addrinfo hints = {
		.ai_flags = flags | AI_NUMERICHOST,
		.ai_family = family,
		/* getaddrinfo() does not know DLCP; ports are as UDP's */
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *list = NULL;
	char name[NI_MAXHOST];
	int err;

	if (host && !*host) {
		dlcp__fail_text(EINVAL, "the host's name is empty: give a name or an address");
		return NULL;
	}
	host = without_brackets(host, name);
	if (port && !is_port(port, 0)) {
		dlcp__fail(EINVAL, "%s is no port: a number up to 65535, or a name of /etc/services",
			   *port ? port : "nothing");
		return NULL;
	}
	err = getaddrinfo(host, port, &hints, &list);
	if (!err)
		return list;
	if (!host || err != EAI_NONAME)
		return fail_lookup(err, errno, host, port);
	hints.ai_flags = flags;
	if (until && !until->forever)
		return in_thread(host, port, &hints, until);
	err = getaddrinfo(host, port, &hints, &list);
	return err ? fail_lookup(err, errno, host, port) : list;
}
