// SPDX-License-Identifier: GPL-2.0
/*
 * libnap.so, to be preloaded where computing takes no time (--time inf-cpu of
 * selftests/vm/lab): there a thread that polls stops the clock for ever, and what
 * it polls for never comes. Gloo's threads do so, and therefore PyTorch's.
 */
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

/* Others run meanwhile */
int sched_yield(void)
{
	const struct timespec ts = { .tv_nsec = 1000 };

	return nanosleep(&ts, NULL);
}

/*
 * A look at the clock moves it on by 256 ns there (the kernel's own means against
 * programs that wait for it), so that who asks again and again lets time pass.
 */
static void let_time_pass(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int (*next)(struct pollfd *, nfds_t, int) =
		(int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");

	let_time_pass();
	return next(fds, n, timeout);
}

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	int (*next)(int, struct epoll_event *, int, int) =
		(int (*)(int, struct epoll_event *, int, int))
		dlsym(RTLD_NEXT, "epoll_wait");

	let_time_pass();
	return next(fd, events, n, timeout);
}
