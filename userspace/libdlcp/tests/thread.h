/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LIBDLCP_TESTS_THREAD_H
#define LIBDLCP_TESTS_THREAD_H

/* Shall pthread_create() fail now? Each of the stand-ins (fake.c, threads.c) has its own */
int thread_refused(void);

#endif
