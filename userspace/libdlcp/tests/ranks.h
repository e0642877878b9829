/* SPDX-License-Identifier: GPL-2.0 */
/* Tests whose ranks are processes over loopback (processes.c) or threads (threads.c) */
#ifndef LIBDLCP_RANKS_H
#define LIBDLCP_RANKS_H

#include <dlcp_coll.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"

/* In a rank: a failed check ends the process, and so all ranks that are threads */
#define NEED(cond) do { \
	if (!(cond)) { \
		printf("# rank %d: %s:%d: %s (%s)\n", me, __FILE__, __LINE__, \
		       #cond, dlcp_last_error()); \
		fflush(stdout); \
		_exit(1); \
	} \
} while (0)

#define NR(array) (sizeof(array) / sizeof((array)[0]))

/**
 * struct shared - what ranks of a test see of each other
 * @began: when what is to go wrong did, or 0
 * @server: who a dedicated one is
 * @updates: of a server, that run
 * @together: several did
 * @pushed: so many pushes
 */
struct shared {
	double	began;
	pid_t	server;
	int	updates;
	int	together;
	int	pushed;
};

/* What goes wrong at a rank, from when it says so on; where ranks are threads */
enum fault { NO_FAULT, NO_THREAD, SEND_FAILS, RECV_FAILS, NO_DATA };
extern enum fault fault[];

/* A test, the last with no name, is run unless TESTS names others */
struct test {
	const char	*name;
	void		(*fn)(void);
};

typedef void rank_fn(void);

/* Each rank's own */
extern __thread int me, world;
extern __thread struct dlcp_coll *coll;
extern __thread struct dlcp_coll_options options;
/* Where this test's rank 0 listens; others' ports are far above */
extern int base_port;
extern struct shared *shared;

/* Run them, or skip @program where there is no module. Return: did one fail? */
int run_tests(const char *program, const struct test *tests);
int run_all(const struct test *tests);
/* @fn in @n ranks, with our @options. Return: ranks that failed */
int ranks(int n, rank_fn *fn);
/* What @options are when a test begins */
void defaults(void);
void join(void);
void leave(void);
/* Exactly representable, and different for every rank and element */
float value(int rank, size_t i);
float *make(int rank, size_t n);
float sum_at(size_t i);
void check_sum(const float *x, size_t n, float divisor);
/* Has dlcp_last_error() these words? */
int said(const char *words);

/* The monotonic clock */
double seconds(void);
/* What is to go wrong does so now: the first rank that calls this sets shared->began */
void begin(void);
/* Seconds since then: are they in this range? */
int between(double least, double most);
/* Nobody had to wait for the timeout, which is 30 s */
int at_once(void);
/* Alive until the group fails, in no operation: a call with a bad argument is none */
void idle_until_told(void);

#endif
