/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef LIBDLCP_INTERNAL_H
#define LIBDLCP_INTERNAL_H

#include <netinet/in.h>
#include <sys/time.h>

#include "dlcp.h"

#define DLCP_API	__attribute__((visibility("default")))

/* No segment of the protocol is expected to be shorter than this */
#define DLCP_SEG_MIN	128

/* error.c: set the text (and errno) of this thread; all return -1 */
int dlcp__fail(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int dlcp__no_memory(void);
int dlcp__no_thread(int err);
int dlcp__fail_socket(int err, int family);
/* Without the errno's name behind the text */
int dlcp__fail_text(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * size.c: structs whose first member is their size, or 0 for that of the first
 * version, which is @first. Those of the caller are copied to @known bytes
 * at @to. Return: 0, or -1 with EINVAL or E2BIG
 */
int dlcp__check_size(size_t size, size_t first, const char *what);
int dlcp__take(void *to, size_t known, size_t first, const void *from,
	       const char *what);
/* Zero it, but for its size */
void dlcp__clear(void *what, size_t known);

/* wait.c: a point in time to wait until */
struct dlcp__until {
	int		forever;
	uint64_t	ns;
};

uint64_t dlcp__now_ns(void);
struct dlcp__until dlcp__until(int timeout_ms);
/* Milliseconds left, rounded up, as poll() takes them */
int dlcp__left(const struct dlcp__until *until);
/* 0: time is up, < 0: errno is set, > 0: events */
int dlcp__poll(int fd, short events, const struct dlcp__until *until);

/* resolve.c: to be freed with freeaddrinfo(), or NULL. @until NULL: no limit */
struct addrinfo;
struct addrinfo *dlcp__resolve(const char *host, const char *port, int family,
			       int flags, const struct dlcp__until *until);
/* Can one connect to it? Return: 0 or -1 */
int dlcp__check_port(const char *port);

/* connect.c */
/* Addresses to leave from, one for each family; family 0: none */
struct dlcp__from {
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

int dlcp__set_nonblock(int fd, int on);
/* dlcp_connect(), from these addresses; NULL: from any */
int dlcp__connect(const char *host, const char *port,
		  const struct dlcp__until *until,
		  const struct dlcp__from *from);

/* limit.c: SO_RCVTIMEO and SO_SNDTIMEO under signals */
struct dlcp__lent;

/**
 * struct dlcp__call - a system call that may wait, and be started again
 * @fd: socket
 * @name: SO_RCVTIMEO or SO_SNDTIMEO
 * @flags: MSG_DONTWAIT or not
 * @began: when (dlcp__now_ns())
 * @changes: for limit.c
 * @lowered: for limit.c
 * @lent: for limit.c
 */
struct dlcp__call {
	int			fd;
	int			name;
	int			flags;
	uint64_t		began;
	unsigned int		changes;
	unsigned int		lowered;
	struct dlcp__lent	*lent;
};

struct dlcp__call dlcp__call(int fd, int name, int flags);
/* It failed, with errno. Return: 1: try again, 0: that is its errno */
int dlcp__again(struct dlcp__call *call);
/* After the last try; errno stays */
void dlcp__call_over(struct dlcp__call *call);
int dlcp__set_limit(int fd, int name, const struct timeval *limit);

/* cmsg.c: control messages as bytes; nothing here makes a system call */
size_t dlcp__send_control_len(const struct dlcp_send *msg);
void dlcp__build_send_control(const struct dlcp_send *msg, void *control,
			      size_t len);
size_t dlcp__recv_control_len(size_t message_len);
size_t dlcp__control_len_for(size_t nr_ranges);
void dlcp__build_want(const struct dlcp_want *want, void *control, size_t len);
/* Return 0, or -1 with errno ENOMEM */
int dlcp__parse_receipt(struct msghdr *mh, struct dlcp_receipt *receipt);
int dlcp__parse_reports(struct msghdr *mh, struct dlcp_reports *reports);

/* tags.c: the two ways of computing the mean of a part, for the tests */
float dlcp__mean_plain(const float *g, size_t n);
float dlcp__mean_avx2(const float *g, size_t n);
int dlcp__have_avx2(void);

#endif
