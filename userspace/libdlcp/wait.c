// SPDX-License-Identifier: LGPL-2.1-or-later
/* Waiting with a deadline that survives signals */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

#include "internal.h"

#define NS_PER_MS	1000000ULL

uint64_t dlcp__now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

struct dlcp__until dlcp__until(int timeout_ms)
{
	struct dlcp__until until = { .forever = timeout_ms < 0 };

	if (timeout_ms > 0)
		until.ns = dlcp__now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	return until;
}

int dlcp__left(const struct dlcp__until *until)
{
	uint64_t now, ms;

	if (until->forever)
		return -1;
	if (!until->ns)
		return 0;
	now = dlcp__now_ns();
	if (now >= until->ns)
		return 0;
	ms = (until->ns - now + NS_PER_MS - 1) / NS_PER_MS;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

int dlcp__poll(int fd, short events, const struct dlcp__until *until)
{
	struct pollfd pfd = { .fd = fd, .events = events };
	int left, n;

	do {
		left = dlcp__left(until);
		n = poll(&pfd, 1, left);
	} while ((n < 0 && errno == EINTR) || (n == 0 && left == INT_MAX));
	if (n > 0 && (pfd.revents & POLLNVAL))
		return dlcp__fail(EBADF, "poll on descriptor %d: it is not open", fd);
	if (n < 0)
		return dlcp__fail(errno, "poll");
	return n ? pfd.revents : 0;
}

DLCP_API int dlcp_wait(int fd, short events, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);
	int n = dlcp__poll(fd, events, &until);

	if (!n)
		return dlcp__fail(ETIMEDOUT, "nothing happened for %d ms",
				  timeout_ms);
	return n;
}
