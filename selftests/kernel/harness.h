/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small test harness: every TEST() runs in a process of its own, under a
 * watchdog, and the results come out as TAP.
 *
 * EXPECT_*() notes a failure and goes on; ASSERT_*() ends the test. Both print
 * what they compared, can be used in any function, thread or child of a
 * test, and leave behind where the test was in case it hangs.
 *
 * The program's exit status is 0 (all passed or some were skipped), 1 (a test
 * failed) or 4 (nothing but skipped tests). Arguments choose tests by name.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { TEST_PASS = 0, TEST_FAIL = 1, TEST_SKIP = 4 };

struct test {
	const char	*name;
	void		(*fn)(void);
	int		seconds;	/* until the watchdog bites */
	struct test	*next;
};

void test_register(struct test *t);

#define TEST_LIMIT(name_, seconds_)					\
	static void case_##name_(void);					\
	static struct test entry_##name_ = {				\
		.name = #name_, .fn = case_##name_, .seconds = seconds_	\
	};								\
	static void __attribute__((constructor)) register_##name_(void)	\
	{								\
		test_register(&entry_##name_);				\
	}								\
	static void case_##name_(void)
#define TEST(name) TEST_LIMIT(name, 20)

/* Defined by the library: what main() does first, and every test process.
 * test_init() returns NULL, or why nothing here can be tested.
 */
const char *test_init(void);
void test_setup(void);

/* The watchdog's and everyone's limits are multiplied by this */
extern int slowness;

void test_at(const char *file, int line);
void test_failed(bool fatal, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void test_skip(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
void test_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The errno's name; "0" for 0 */
const char *err_name(int err);

#define HERE() test_at(__FILE__, __LINE__)
#define SKIP(...) test_skip(__VA_ARGS__)

#define CHECK(fatal, cond) ({						\
	HERE();								\
	bool ok_ = (cond);						\
	if (!ok_)							\
		test_failed(fatal, "%s:%d: %s is false (errno %s)",	\
			    __FILE__, __LINE__, #cond, err_name(errno)); \
	ok_; })
#define CHECK_CMP(fatal, a, op, b) ({					\
	HERE();								\
	long long a_ = (a), b_ = (b);					\
	bool ok_ = a_ op b_;						\
	if (!ok_)							\
		test_failed(fatal,					\
			    "%s:%d: %s " #op " %s: %lld and %lld (errno %s)", \
			    __FILE__, __LINE__, #a, #b, a_, b_,		\
			    err_name(errno));				\
	ok_; })
/* The call must return -1 and set errno to @err */
#define CHECK_ERR(fatal, call, err) ({					\
	HERE();								\
	errno = 0;							\
	long long r_ = (call);						\
	int e_ = r_ < 0 ? errno : 0;					\
	if (e_ != (err))						\
		test_failed(fatal, "%s:%d: %s: %lld %s, expected %s",	\
			    __FILE__, __LINE__, #call, r_, err_name(e_), \
			    err_name(err));				\
	e_ == (err); })
/* The call must not fail; its result */
#define CHECK_OK(fatal, call) ({					\
	HERE();								\
	long long r_ = (call);						\
	if (r_ < 0)							\
		test_failed(fatal, "%s:%d: %s: %s", __FILE__, __LINE__,	\
			    #call, err_name(errno));			\
	r_; })

#define EXPECT(cond)		CHECK(false, cond)
#define EXPECT_EQ(a, b)		CHECK_CMP(false, a, ==, b)
#define EXPECT_NE(a, b)		CHECK_CMP(false, a, !=, b)
#define EXPECT_LE(a, b)		CHECK_CMP(false, a, <=, b)
#define EXPECT_LT(a, b)		CHECK_CMP(false, a, <, b)
#define EXPECT_GE(a, b)		CHECK_CMP(false, a, >=, b)
#define EXPECT_GT(a, b)		CHECK_CMP(false, a, >, b)
#define EXPECT_ERR(call, err)	CHECK_ERR(false, call, err)
#define EXPECT_OK(call)		CHECK_OK(false, call)
#define ASSERT(cond)		CHECK(true, cond)
#define ASSERT_EQ(a, b)		CHECK_CMP(true, a, ==, b)
#define ASSERT_LE(a, b)		CHECK_CMP(true, a, <=, b)
#define ASSERT_GT(a, b)		CHECK_CMP(true, a, >, b)
#define ASSERT_ERR(call, err)	CHECK_ERR(true, call, err)
#define ASSERT_OK(call)		CHECK_OK(true, call)

/* Wait until the condition holds: never for a time, but not for ever either */
#define WAIT_FOR_LIMIT(cond, seconds) ({				\
	HERE();								\
	long long end_ = now_ms() + (seconds) * 1000LL * slowness;	\
	while (!(cond)) {						\
		if (now_ms() > end_)					\
			test_failed(true, "%s:%d: %s did not become true", \
				    __FILE__, __LINE__, #cond);		\
		nap_ms(1);						\
	} })
#define WAIT_FOR(cond) WAIT_FOR_LIMIT(cond, 10)

long long now_ms(void);
void nap_ms(int ms);


#endif
