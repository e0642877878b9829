// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded: the clock of a program is as many seconds wrong as WRONG_CLOCK says.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *ts)
{
	const char *wrong = getenv("WRONG_CLOCK");
	long ret = syscall(SYS_clock_gettime, id, ts);

	if (!ret && id == CLOCK_REALTIME && wrong)
		ts->tv_sec += atoi(wrong);
	return (int)ret;
}
