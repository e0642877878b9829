/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What ../core/test.h offers, made of KUnit: a test file is a suite, each of its
 * tests a parameter of its one case. Memory that a failed check leaves behind
 * is KUnit's to free.
 */
#ifndef _DLCP_TEST_KUNIT_H
#define _DLCP_TEST_KUNIT_H

#include <kunit/test.h>

#include "env.h"

static struct kunit *test_kunit;

/* One place, for each assertion takes a good deal of stack */
static noinline void test_fail(const char *file, int line, const char *what)
{
	KUNIT_ASSERT_TRUE_MSG(test_kunit, false, "%s:%d: %s", file, line, what);
}

#define CHECK(c)							\
	do {								\
		if (!(c))						\
			test_fail(__FILE__, __LINE__, #c);		\
	} while (0)
#define CHECK_EQ(a, b)							\
	do {								\
		if ((long long)(a) != (long long)(b))			\
			test_fail(__FILE__, __LINE__, #a " is not " #b); \
	} while (0)

#define SKIP(why)	kunit_skip(test_kunit, why)

/* A test that wants more than this skips itself */
static __maybe_unused void *test_alloc(size_t size)
{
	return size <= 65536 ? kunit_kzalloc(test_kunit, size, GFP_KERNEL) :
			       NULL;
}

#define malloc(n)	test_alloc(n)
#define calloc(n, size)	test_alloc((n) * (size))
#define free(p)		kunit_kfree(test_kunit, p)
#define printf(...)	kunit_info(test_kunit, __VA_ARGS__)

/* Seeds for the fuzzers are made in user space */
#define getenv(name)	((const char *)NULL)
typedef void FILE;
#define fopen(path, mode)		((FILE *)NULL)
#define fwrite(p, size, nr, file)	((void)(p))
#define fclose(file)			((void)(file))

static void test_describe(const struct test *t, char *desc)
{
	strscpy(desc, t->name, KUNIT_PARAM_DESC_SIZE);
}

#define TESTS(...)							\
	static const struct test tests[] = { __VA_ARGS__ };		\
	KUNIT_ARRAY_PARAM(test, tests, test_describe);			\
									\
	static void all(struct kunit *kunit)				\
	{								\
		const struct test *t = kunit->param_value;		\
									\
		test_kunit = kunit;					\
		test_rng_state = 1;					\
		t->run();						\
	}								\
									\
	static struct kunit_case test_cases[] = {			\
		KUNIT_CASE_PARAM(all, test_gen_params),			\
		{}							\
	};								\
									\
	static struct kunit_suite test_suite = {			\
		.name = "dlcp_" KBUILD_BASENAME,			\
		.test_cases = test_cases,				\
	};								\
	kunit_test_suite(test_suite);

#endif
