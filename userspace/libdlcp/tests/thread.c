// SPDX-License-Identifier: GPL-2.0
/* Threads that cannot be started (ld --wrap) */
#include <errno.h>
#include <pthread.h>

#include "thread.h"

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *arg), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *arg), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *arg), void *arg)
{
	if (thread_refused())
		return EAGAIN;
	return __real_pthread_create(thread, attr, fn, arg);
}
