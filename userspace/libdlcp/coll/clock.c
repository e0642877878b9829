// SPDX-License-Identifier: LGPL-2.1-or-later
/* The monotonic clock, and waiting by it */
#include <time.h>

#include "coll.h"

uint64_t coll_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int coll_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
		    uint64_t until)
{
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000),
		.tv_nsec = (long)(until % 1000 * 1000000),
	};

	return pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &ts);
}
