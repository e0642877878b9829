/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test is a function, listed once in TESTS(); a check that fails ends the
 * test, not the program. Output is TAP; the last line counts.
 *
 *	static void promise__case(void) { CHECK(1 + 1 == 2); }
 *	TESTS(T(promise__case))
 *
 * Arguments of the program choose tests by a part of their name.
 */
#ifndef _DLCP_TEST_H
#define _DLCP_TEST_H

#include "env.h"

struct test {
	const char *name;
	void (*run)(void);
};

static u64 test_rng_state;

#define T(fn)	{ #fn, fn }

/* splitmix64; each test starts from the same seed, or from DLCP_SEED */
static inline u64 rnd(void)
{
	u64 z = test_rng_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 .. n - 1 */
static inline u64 rnd_below(u64 n)
{
	return rnd() % n;
}

#ifdef __KERNEL__
#include "../kunit/test_kunit.h"
#else
#include <setjmp.h>

static jmp_buf test_jmp;

#define CHECK(c)							\
	do {								\
		if (!(c)) {						\
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #c); \
			longjmp(test_jmp, 1);				\
		}							\
	} while (0)

#define CHECK_EQ(a, b)							\
	do {								\
		long long ca_ = (long long)(a), cb_ = (long long)(b);	\
		if (ca_ != cb_) {					\
			printf("# %s:%d: %s is %lld, %s is %lld\n",	\
			       __FILE__, __LINE__, #a, ca_, #b, cb_);	\
			longjmp(test_jmp, 1);				\
		}							\
	} while (0)

/* Ends the test as not run */
#define SKIP(why) \
	do { printf("# %s\n", why); longjmp(test_jmp, 2); } while (0)

/* Figures worth seeing also when all is well */
#define FIGURE(...) \
	do { printf("# figure: "); printf(__VA_ARGS__); puts(""); } while (0)

/* 0 passed, 1 failed, 2 skipped; a function of its own, for longjmp() keeps
 * no locals
 */
static noinline int test_run(void (*run)(void))
{
	int rc = setjmp(test_jmp);

	if (!rc)
		run();
	return rc;
}

static inline int test_main(int argc, char **argv, const struct test *t, int n)
{
	const char *seed = getenv("DLCP_SEED");
	int done[3] = { 0 };
	int i, k, rc, nr = 0;

	printf("TAP version 13\n");
	for (i = 0; i < n; i++) {
		for (k = 1; k < argc && !strstr(t[i].name, argv[k]); k++)
			;
		if (argc > 1 && k == argc)
			continue;
		test_rng_state = seed ? strtoull(seed, NULL, 0) : 1;
		rc = test_run(t[i].run);
		done[rc]++;
		printf("%sok %d - %s%s\n", rc == 1 ? "not " : "", ++nr,
		       t[i].name, rc == 2 ? " # SKIP" : "");
		fflush(stdout);
	}
	printf("1..%d\n", nr);
	printf("%d passed, %d failed, %d skipped\n", done[0], done[1], done[2]);
	return done[1] ? 1 : 0;
}

#define TESTS(...)							\
	int main(int argc, char **argv)					\
	{								\
		static const struct test tests[] = { __VA_ARGS__ };	\
									\
		return test_main(argc, argv, tests, ARRAY_SIZE(tests));	\
	}

#endif /* __KERNEL__ */

#endif
