/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test is a function; it fails at its first CHECK() that does not hold.
 * Output is one line for each test, which tests/run counts.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>

/* One for all files of a program */
__attribute__((weak)) int check_failed;

#define CHECK(cond) do { \
	if (!(cond)) { \
		printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
		check_failed = 1; \
		return; \
	} \
} while (0)

#define RUN(test) check_run(#test, test)

static inline int check_run(const char *name, void (*test)(void))
{
	check_failed = 0;
	test();
	printf("%s %s\n", check_failed ? "not ok" : "ok", name);
	fflush(stdout);
	return check_failed;
}

static inline void check_skip(const char *name, const char *why)
{
	printf("skip %s: %s\n", name, why);
}

#endif
