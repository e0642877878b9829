// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Connecting. A name may have addresses that do not answer, so they are tried
 * as RFC 8305 says: the next a quarter of a second after the last one, or at
 * once if that fails, IPv6 and IPv4 in turn, all at the same time from then on.
 * The first that answers is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define MOST_TRIES	16
#define STAGGER_NS	250000000ULL

/**
 * struct race - addresses of a name that are tried
 * @from: addresses to leave from, or NULL
 * @order: of the tries
 * @nr: entries there
 * @next: the next to be tried
 * @due: when (dlcp__now_ns()), unless one fails before
 * @pfd: of those under way
 * @who: their addresses
 * @running: entries of both
 * @err: errno of the failure that says most, the last of equal ones
 * @why: what became of each, as words
 */
struct race {
	const struct dlcp__from	*from;
	const struct addrinfo	*order[MOST_TRIES];
	int			nr;
	int			next;
	uint64_t		due;
	struct pollfd		pfd[MOST_TRIES];
	const struct addrinfo	*who[MOST_TRIES];
	int			running;
	int			err;
	char			why[300];
};

int dlcp__set_nonblock(int fd, int on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return dlcp__fail(errno, "fcntl");
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	if (fcntl(fd, F_SETFL, flags))
		return dlcp__fail(errno, "fcntl");
	return 0;
}

/* The kernel's own words about @fd, or "" */
static void kernel_words(int fd, char *text, size_t size)
{
	socklen_t len = (socklen_t)size - 1;

	memset(text, 0, size);
	if (getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, text, &len))
		*text = '\0';
}

/* Return: the errno with which it ended, or 0 */
static int error_of(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

static int fail_conn(int fd, int err)
{
	char words[DLCP_ERROR_TEXT_MAX];

	kernel_words(fd, words, sizeof(words));
	return *words ? dlcp__fail(err, "connect (%s)", words) :
			dlcp__fail(err, "connect");
}

static int finish_connect(int fd, const struct dlcp__until *until)
{
	int n = dlcp__poll(fd, POLLOUT, until), err;

	if (n < 0)
		return -1;
	if (!n)
		return dlcp__fail(ETIMEDOUT, "connect: no answer in time: is the module loaded there, and the port open?");
	err = error_of(fd);
	return err ? fail_conn(fd, err) : 0;
}

/* After a signal the connection goes on being made */
static int is_under_way(int err)
{
	return err == EINPROGRESS || err == EINTR;
}

static int connect_until(int fd, const struct sockaddr *addr,
			 socklen_t addrlen, const struct dlcp__until *until)
{
	int flags = fcntl(fd, F_GETFL), ret = 0, err;

	if (flags < 0)
		return dlcp__fail(errno, "fcntl");
	if (dlcp__set_nonblock(fd, 1))
		return -1;
	if (connect(fd, addr, addrlen))
		ret = is_under_way(errno) ? finish_connect(fd, until) :
					    fail_conn(fd, errno);
	err = errno;
	if (!(flags & O_NONBLOCK) && dlcp__set_nonblock(fd, 0))
		return -1;
	errno = err;
	return ret;
}

DLCP_API int dlcp_connect_fd(int fd, const struct sockaddr *addr,
			     socklen_t addrlen, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);

	return connect_until(fd, addr, addrlen, &until);
}

/* The family of the first address, which the resolver likes best, and the other
 * one in turn
 */
static void set_order(struct race *r, const struct addrinfo *list)
{
	const struct addrinfo *of[2][MOST_TRIES], *ai;
	int nr[2] = { 0, 0 }, i, other;

	for (ai = list; ai; ai = ai->ai_next) {
		other = ai->ai_family != list->ai_family;
		if (nr[other] < MOST_TRIES)
			of[other][nr[other]++] = ai;
	}
	for (i = 0; i < MOST_TRIES; i++)
		for (other = 0; other < 2; other++)
			if (i < nr[other] && r->nr < MOST_TRIES)
				r->order[r->nr++] = of[other][i];
}

static void address_text(const struct addrinfo *ai, char *text, size_t len)
{
	if (getnameinfo(ai->ai_addr, ai->ai_addrlen, text, (socklen_t)len, NULL,
			0, NI_NUMERICHOST))
		snprintf(text, len, "?");
}

/* That there is no way to one address says less than what another one did: it may take
 * a connection later
 */
static int weight(int err)
{
	switch (err) {
	case 0:
		return 0;
	case ENETUNREACH:
	case EHOSTUNREACH:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
		return 1;
	default:
		return 2;
	}
}

static void note_failure(struct race *r, const struct addrinfo *ai, int err,
			 const char *words)
{
	size_t at = strlen(r->why);
	char where[64];

	address_text(ai, where, sizeof(where));
	if (weight(err) >= weight(r->err))
		r->err = err;
	snprintf(r->why + at, sizeof(r->why) - at, "%s%s: %s%s%s%s",
		 at ? "; " : "", where, strerror(err), *words ? " (" : "",
		 words, *words ? ")" : "");
}

/* Leave from the address that was chosen. Return: 0 or an errno */
static int bind_from(int fd, const struct dlcp__from *from, int family)
{
	const struct sockaddr *addr = (const struct sockaddr *)&from->in;
	socklen_t len = sizeof(from->in);
	int has = from->in.sin_family;

	if (family == AF_INET6) {
		addr = (const struct sockaddr *)&from->in6;
		len = sizeof(from->in6);
		has = from->in6.sin6_family;
	}
	if (!has)
		return EADDRNOTAVAIL;
	return bind(fd, addr, len) ? errno : 0;
}

/* Return: a socket that is connected or about to be, or -1 and errno */
static int begin(const struct race *r, const struct addrinfo *ai, int *over)
{
	int fd = dlcp_socket(ai->ai_family), err;

	*over = 0;
	if (fd < 0)
		return -1;
	err = r->from ? bind_from(fd, r->from, ai->ai_family) : 0;
	if (!err && dlcp__set_nonblock(fd, 1))
		err = errno;
	if (!err) {
		*over = !connect(fd, ai->ai_addr, ai->ai_addrlen);
		if (*over || is_under_way(errno))
			return fd;
		err = errno;
	}
	close(fd);
	errno = err;
	return -1;
}

/* Return: a connected socket, -1 if there is none yet, -2 without the module */
static int try_next(struct race *r)
{
	const struct addrinfo *ai = r->order[r->next++];
	int over, fd = begin(r, ai, &over);

	if (fd < 0 && (errno == ESOCKTNOSUPPORT || errno == EPROTONOSUPPORT))
		return -2;
	if (fd < 0) {
		note_failure(r, ai, errno, errno == EADDRNOTAVAIL && r->from ?
			     "the interface chosen has no such address" : "");
		r->due = 0;
		return -1;
	}
	if (over)
		return fd;
	r->pfd[r->running] = (struct pollfd){ .fd = fd, .events = POLLOUT };
	r->who[r->running++] = ai;
	r->due = dlcp__now_ns() + STAGGER_NS;
	return -1;
}

static void take_out(struct race *r, int i)
{
	r->running--;
	r->pfd[i] = r->pfd[r->running];
	r->who[i] = r->who[r->running];
}

/* Return: a connected socket, or -1 if there is none yet */
static int look(struct race *r)
{
	char words[DLCP_ERROR_TEXT_MAX];
	int i, err, fd;

	for (i = r->running - 1; i >= 0; i--) {
		if (!r->pfd[i].revents)
			continue;
		fd = r->pfd[i].fd;
		err = error_of(fd);
		if (err) {
			kernel_words(fd, words, sizeof(words));
			note_failure(r, r->who[i], err, words);
			close(fd);
			r->due = 0;
		}
		take_out(r, i);
		if (!err)
			return fd;
	}
	return -1;
}

/* Milliseconds until there is something to do, however long that is */
static int wait_ms(const struct race *r, const struct dlcp__until *until)
{
	struct dlcp__until due = { .ns = r->due };
	int left = dlcp__left(until), next;

	if (r->next == r->nr)
		return left;
	next = dlcp__left(&due);
	return left < 0 || next < left ? next : left;
}

/* Return: a connected socket; -1: none, and nothing more to try; -2: as above */
static int run(struct race *r, const struct dlcp__until *until)
{
	int fd = -1;

	while (fd == -1) {
		if (r->next < r->nr && (!r->running || dlcp__now_ns() >= r->due))
			fd = try_next(r);
		else if (!r->running)
			return -1;
		else if (poll(r->pfd, (nfds_t)r->running, wait_ms(r, until)) > 0)
			fd = look(r);
		if (fd == -1 && !dlcp__left(until))
			return -1;
	}
	return fd;
}

static int fail_race(struct race *r, const char *host, const char *port)
{
	int i;

	for (i = 0; i < r->running; i++)
		note_failure(r, r->who[i], ETIMEDOUT, "no answer in time");
	return dlcp__fail_text(r->err ? r->err : ETIMEDOUT,
			       "connect to %s port %s: %s", host, port, r->why);
}

int dlcp__connect(const char *host, const char *port,
		  const struct dlcp__until *until, const struct dlcp__from *from)
{
	struct race r = { .from = from };
	struct addrinfo *list;
	int fd, err;

	if (dlcp__check_port(port))
		return -1;
	list = dlcp__resolve(host, port, AF_UNSPEC, 0, until);
	if (!list)
		return -1;
	set_order(&r, list);
	fd = run(&r, until);
	err = errno;
	if (fd == -1)
		fail_race(&r, host, port);
	if (fd == -1)
		err = errno;
	while (r.running)
		close(r.pfd[--r.running].fd);
	freeaddrinfo(list);
	errno = err;
	if (fd < 0)
		return -1;
	if (dlcp__set_nonblock(fd, 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

DLCP_API int dlcp_connect(const char *host, const char *port, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);

	return dlcp__connect(host, port, &until, NULL);
}
