// SPDX-License-Identifier: GPL-2.0
/*
 * libnap.so, to be preloaded where computing takes no time (--time inf-cpu of
 * selftests/vm/lab): there a thread that polls stops the clock for ever, and what
 * it polls for never comes. Gloo's threads do so, and therefore PyTorch's.
 *
 * sched_yield() sleeps for a microsecond. poll() and epoll_wait() do when they
 * are called for the thousandth time in one instant, which no thread does that is
 * getting on: the time of no other call is changed.
 */
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

#define MANY_CALLS	1000

static int nap(void)
{
	const struct timespec ts = { .tv_nsec = 1000 };

	return nanosleep(&ts, NULL);
}

static void nap_if_stuck(void)
{
	static _Thread_local struct timespec last;
	static _Thread_local int calls;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != last.tv_sec || now.tv_nsec != last.tv_nsec) {
		last = now;
		calls = 0;
	} else if (++calls >= MANY_CALLS) {
		calls = 0;
		nap();
	}
}

int sched_yield(void)
{
	return nap();
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int (*next)(struct pollfd *, nfds_t, int) =
		(int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");

	nap_if_stuck();
	return next(fds, n, timeout);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	int (*next)(int, struct epoll_event *, int, int) =
		(int (*)(int, struct epoll_event *, int, int))
		dlsym(RTLD_NEXT, "epoll_wait");

	nap_if_stuck();
	return next(fd, events, n, timeout);
}
