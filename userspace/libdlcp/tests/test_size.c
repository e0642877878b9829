// SPDX-License-Identifier: GPL-2.0
/* Structs that the caller allocates: callers older and newer than the library */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../dlcp_coll.h"
#include "../dlcp_thc.h"
#include "../internal.h"
#include "check.h"
#include "fake.h"

#define FD	1000	/* never opened: only fakes see it */

/* Layouts that must not change in version 1 */
#if __SIZEOF_POINTER__ == 8
_Static_assert(sizeof(struct dlcp_send) == 176, "dlcp_send");
_Static_assert(offsetof(struct dlcp_send, tags) == 168, "dlcp_send");
_Static_assert(sizeof(struct dlcp_receipt) == 184, "dlcp_receipt");
_Static_assert(offsetof(struct dlcp_receipt, eof) == 136, "dlcp_receipt");
_Static_assert(sizeof(struct dlcp_sent) == 184, "dlcp_sent");
_Static_assert(sizeof(struct dlcp_reports) == 80, "dlcp_reports");
_Static_assert(sizeof(struct dlcp_coll_options) == 72, "dlcp_coll_options");
_Static_assert(sizeof(struct dlcp_coll_args) == 48, "dlcp_coll_args");
_Static_assert(sizeof(struct dlcp_coll_phase) == 48, "dlcp_coll_phase");
#endif

/* A struct as a later version may have it */
#define LATER(type)	struct { struct type now; uint64_t later[2]; }

static ssize_t take_all(int fd, const struct msghdr *mh, int flags)
{
	(void)fd, (void)flags;
	return (ssize_t)mh->msg_iov[0].iov_len;
}

static void send_of_any_version(void)
{
	LATER(dlcp_send) m = { .now = { .buf = "abcd", .len = 4 } };

	fake_reset();
	fake.sendmsg = take_all;
	CHECK(dlcp_send(FD, &m.now) == 4);	/* size 0: the first version */
	m.now.size = sizeof(m.now);
	CHECK(dlcp_send(FD, &m.now) == 4);
	m.now.size = sizeof(m);			/* newer, but asks for nothing */
	CHECK(dlcp_send(FD, &m.now) == 4);
	m.later[1] = 1;
	CHECK(dlcp_send(FD, &m.now) == -1 && errno == E2BIG);
	CHECK(strstr(dlcp_last_error(), "is too old for a member of struct dlcp_send"));
	m.now.size = sizeof(m.now);		/* not its struct's any more */
	CHECK(dlcp_send(FD, &m.now) == 4);
	m.now.size = sizeof(m.now) - 8;
	CHECK(dlcp_send(FD, &m.now) == -1 && errno == EINVAL);
	CHECK(strstr(dlcp_last_error(), "struct dlcp_send has size 168, and has at least 176"));
	m.now.size = SIZE_MAX;			/* nobody set it */
	CHECK(dlcp_send(FD, &m.now) == -1 && errno == EINVAL);
	m.now.size = 0;
	m.now.attr_room[sizeof(m.now.attr_room) - 1] = 1;
	CHECK(dlcp_send(FD, &m.now) == -1 && errno == E2BIG);
	CHECK(strstr(dlcp_last_error(), "is too old for an attribute that is set"));
}

static ssize_t at_end(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)flags;
	mh->msg_controllen = 0;
	return 0;
}

static ssize_t no_reports(int fd, struct msghdr *mh, int flags)
{
	(void)fd, (void)mh, (void)flags;
	errno = EAGAIN;
	return -1;
}

static int poll_nothing(struct pollfd *pfd, nfds_t n, int timeout)
{
	(void)n, (void)timeout;
	pfd->revents = 0;
	return 0;
}

static void results_of_any_version(void)
{
	LATER(dlcp_receipt) r = { .later = { 7, 8 } };
	LATER(dlcp_reports) p = { .later = { 7, 8 } };

	fake_reset();
	fake.recvmsg = at_end;
	r.now.size = sizeof(r);
	CHECK(dlcp_recv(FD, DLCP_ANY, NULL, 0, 0, &r.now) == 0 && r.now.eof);
	dlcp_receipt_free(&r.now);
	CHECK(r.now.size == sizeof(r) && !r.now.control);
	CHECK(r.later[0] == 7 && r.later[1] == 8);
	r.now.size = 8;
	CHECK(dlcp_recv(FD, DLCP_ANY, NULL, 0, 0, &r.now) == -1 && errno == EINVAL);
	CHECK(dlcp_peek(FD, DLCP_ANY, 0, &r.now) == -1 && errno == EINVAL);
	fake.recvmsg = no_reports;
	fake.poll = poll_nothing;
	p.now.size = sizeof(p);
	CHECK(dlcp_reports(FD, &p.now, 0) == -1 && errno == EAGAIN);
	dlcp_reports_free(&p.now);
	CHECK(p.now.size == sizeof(p) && p.later[0] == 7);
	p.now.size = 8;
	CHECK(dlcp_reports(FD, &p.now, 0) == -1 && errno == EINVAL);
}

static size_t info_len;

static int give_info(int fd, int level, int name, void *val, socklen_t *len)
{
	(void)fd, (void)level, (void)name;
	info_len = *len;
	memset(val, 1, 16);
	*len = 16;
	return 0;
}

/* The kernel's may be shorter and longer than the caller's */
static void info_of_any_version(void)
{
	LATER(dlcp_info) i;

	memset(&i, 0xff, sizeof(i));
	fake_reset();
	fake.getsockopt = give_info;
	CHECK(!dlcp_get_info(FD, &i.now) && info_len == sizeof(i.now));
	CHECK(i.now.state == 1 && !i.now.nr_pairs && i.later[0] == UINT64_MAX);
	CHECK(!dlcp_get_info_sized(FD, &i.now, sizeof(i)));
	CHECK(info_len == sizeof(i) && !i.later[1]);
}

static struct dlcp_coll *group_of(struct dlcp_coll_options *o, size_t size)
{
	dlcp_coll_options_init_sized(o, size);
	o->rank = 0;
	o->world = 1;
	return dlcp_coll_open(o);
}

static void group_of_any_version(void)
{
	LATER(dlcp_coll_options) o;
	struct {
		struct dlcp_coll_stats	now;
		uint64_t		later;
	} s = { .later = 9 };
	struct dlcp_coll *c;

	memset(&o, 0xff, sizeof(o));
	c = group_of(&o.now, sizeof(o.now));
	CHECK(c && o.later[0] == UINT64_MAX);
	dlcp_coll_get_stats(c, &s.now);
	CHECK(s.later == 9);
	dlcp_coll_get_stats_sized(c, &s.now, sizeof(s));
	CHECK(!s.later);
	s.now.sent = 5;
	dlcp_coll_get_stats_sized(c, &s.now, sizeof(s.now.ops));
	CHECK(s.now.sent == 5);
	dlcp_coll_close(c);
	c = group_of(&o.now, sizeof(o));
	CHECK(c && o.later[0] == 0);
	dlcp_coll_close(c);
	o.later[0] = 1;
	CHECK(!dlcp_coll_open(&o.now) && errno == E2BIG);
	CHECK(!group_of(&o.now, 2 * sizeof(int)) && errno == EINVAL);
	o.now.size = 0;
	o.now.world = 1;
	c = dlcp_coll_open(&o.now);
	CHECK(c);
	dlcp_coll_close(c);
}

static void args_of_any_version(void)
{
	LATER(dlcp_coll_args) a = { .now = { .reduce = DLCP_COLL_AVG } };
	struct dlcp_thc *thc = dlcp_thc_new(1, 1);
	struct dlcp_coll_options o;
	struct dlcp_coll *c = group_of(&o, sizeof(o));
	size_t one = 1;
	float x = 3;

	CHECK(c && thc);
	CHECK(!dlcp_coll_all_reduce(c, &x, &x, 1, DLCP_COLL_F32, &a.now, NULL));
	a.now.size = sizeof(a);
	CHECK(!dlcp_coll_all_reduce(c, &x, &x, 1, DLCP_COLL_F32, &a.now, NULL));
	CHECK(!dlcp_thc_all_reduce(c, thc, &x, &x, &a.now));
	CHECK(!dlcp_coll_gather(c, &x, &x, 1, DLCP_COLL_F32, 0, &a.now, NULL));
	CHECK(!dlcp_coll_all_to_all(c, &x, &one, &x, &one, DLCP_COLL_F32,
				    &a.now, NULL));
	a.later[0] = 1;
	CHECK(dlcp_coll_gather(c, &x, &x, 1, DLCP_COLL_F32, 0, &a.now, NULL) &&
	      errno == E2BIG);
	CHECK(dlcp_coll_all_to_all(c, &x, &one, &x, &one, DLCP_COLL_F32,
				   &a.now, NULL) && errno == E2BIG);
	CHECK(dlcp_coll_all_reduce(c, &x, &x, 1, DLCP_COLL_F32, &a.now, NULL));
	CHECK(errno == E2BIG && strstr(dlcp_last_error(), "dlcp_coll_args"));
	CHECK(dlcp_thc_all_reduce(c, thc, &x, &x, &a.now) && errno == E2BIG);
	a.now.size = 16;
	CHECK(dlcp_coll_push(c, &x, 1, DLCP_COLL_F32, &a.now, NULL));
	CHECK(errno == EINVAL);
	CHECK(!dlcp_coll_barrier(c, NULL));	/* nothing has happened */
	dlcp_coll_close(c);
	dlcp_thc_free(thc);
}

static void version_is_the_headers(void)
{
	CHECK(dlcp_version() == LIBDLCP_VERSION_MAJOR * 10000 +
				LIBDLCP_VERSION_MINOR * 100 +
				LIBDLCP_VERSION_PATCH);
}

int main(void)
{
	int bad = 0;

	bad |= RUN(send_of_any_version);
	bad |= RUN(results_of_any_version);
	bad |= RUN(info_of_any_version);
	bad |= RUN(group_of_any_version);
	bad |= RUN(args_of_any_version);
	bad |= RUN(version_is_the_headers);
	return bad;
}
