// SPDX-License-Identifier: GPL-2.0
/*
 * Wrong arguments are refused with the right error and change nothing: after
 * every case a message still passes, with the attributes it had before.
 */
#define _GNU_SOURCE
#include <netinet/udp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib.h"

#define BAD	((void *)8)	/* no such address */

static struct dlcp_attr defaults_of(int fd)
{
	struct dlcp_attr a = { 0 };
	socklen_t len = sizeof(a);

	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_ATTR, &a, &len));
	return a;
}

/* --- options */

struct option_case {
	const char	*what;
	int		opt;
	const void	*val;
	socklen_t	len;
	int		err;
};

static const int zero, one = 1, two = 2, minus = -1, huge = 0x7fffffff;
static const int under_silence = 99, over_silence = 3600001;
static const u32 u17 = DLCP_PATHS_MAX + 1;

#define ATTR(name, ...) \
	static const struct dlcp_attr name = { __VA_ARGS__ }

ATTR(key_given, .mask = DLCP_ATTR_KEY, .key = 5);
ATTR(length_given, .mask = DLCP_ATTR_LENGTH, .length = 5);
ATTR(cookie_given, .mask = DLCP_ATTR_COOKIE, .cookie = 5);
ATTR(mask_unknown, .mask = DLCP_ATTR_ALL + 1);
ATTR(flags_unknown, .mask = DLCP_ATTR_FLAGS, .flags = 1 << 3);
ATTR(flags_of_kernel, .mask = DLCP_ATTR_FLAGS, .flags = DLCP_MSG_LATE);
ATTR(loss_over, .mask = DLCP_ATTR_LOSS, .loss_ppm = DLCP_PPM + 1);
ATTR(elem_zero, .mask = DLCP_ATTR_ELEM, .elem_size = 0);
ATTR(elem_over, .mask = DLCP_ATTR_ELEM, .elem_size = 257);
ATTR(prio_over, .mask = DLCP_ATTR_PRIO, .prio = DLCP_PRIO_MAX + 1);
ATTR(pad_set, .mask = DLCP_ATTR_PRIO, .prio = 1, .__pad = 1);
ATTR(not_given, .prio = 1);

static const struct {
	struct dlcp_attr a;
	u8 tail[8];
} tail_set = { .tail = { 0, 1 } };

static const struct option_case set_cases[] = {
	{ "unknown option", 99, &one, sizeof(one), ENOPROTOOPT },
	{ "option 0", 0, &one, sizeof(one), ENOPROTOOPT },
	{ "read only", DLCP_INFO, &one, sizeof(one), ENOPROTOOPT },
	{ "read only", DLCP_LAST_ERROR, "text", 4, ENOPROTOOPT },
	{ "short int", DLCP_RECVWANT, &one, 3, EINVAL },
	{ "no int", DLCP_RECVWANT, &one, 0, EINVAL },
	{ "bad pointer", DLCP_RECVWANT, BAD, sizeof(int), EFAULT },
	{ "neither 0 nor 1", DLCP_RECVWANT, &two, sizeof(two), EINVAL },
	{ "neither 0 nor 1", DLCP_RECVWANT, &minus, sizeof(minus), EINVAL },
	{ "no such fill", DLCP_FILL, &two, sizeof(two), EINVAL },
	{ "no such fill", DLCP_FILL, &minus, sizeof(minus), EINVAL },
	{ "short", DLCP_FILL, &one, 2, EINVAL },
	{ "bad pointer", DLCP_FILL, BAD, sizeof(int), EFAULT },
	{ "neither 0 nor 1", DLCP_ZEROCOPY, &two, sizeof(two), EINVAL },
	{ "bad pointer", DLCP_ZEROCOPY, BAD, sizeof(int), EFAULT },
	{ "short", DLCP_DEAD_MS, &one, 2, EINVAL },
	{ "bad pointer", DLCP_DEAD_MS, BAD, sizeof(u32), EFAULT },
	{ "too short", DLCP_DEAD_MS, &under_silence, sizeof(int), EINVAL },
	{ "too long", DLCP_DEAD_MS, &over_silence, sizeof(int), EINVAL },
	{ "negative", DLCP_DEAD_MS, &minus, sizeof(int), EINVAL },
	{ "too short", DLCP_KEEPALIVE_MS, &under_silence, sizeof(int),
	  EINVAL },
	{ "too long", DLCP_KEEPALIVE_MS, &over_silence, sizeof(int), EINVAL },
	{ "negative", DLCP_KEEPALIVE_MS, &minus, sizeof(int), EINVAL },
	{ "short", DLCP_KEEPALIVE_MS, &one, 2, EINVAL },
	{ "bad pointer", DLCP_KEEPALIVE_MS, BAD, sizeof(u32), EFAULT },
	{ "none", DLCP_PATHS, &zero, sizeof(zero), EINVAL },
	{ "too many", DLCP_PATHS, &u17, sizeof(u17), EINVAL },
	{ "far too many", DLCP_PATHS, &huge, sizeof(huge), EINVAL },
	{ "short", DLCP_PATHS, &one, 1, EINVAL },
	{ "bad pointer", DLCP_PATHS, BAD, sizeof(u32), EFAULT },
	{ "connected", DLCP_ENCAP, &zero, sizeof(zero), EISCONN },
	{ "no such name", DLCP_CONGESTION, "nosuch", 6, ENOENT },
	{ "empty name", DLCP_CONGESTION, "", 0, EINVAL },
	{ "bad pointer", DLCP_CONGESTION, BAD, 4, EFAULT },
	{ "bad pointer", DLCP_ATTR, BAD, sizeof(struct dlcp_attr), EFAULT },
	{ "tail not zero", DLCP_ATTR, &tail_set, sizeof(tail_set), E2BIG },
	{ "key has no default", DLCP_ATTR, &key_given, sizeof(key_given),
	  EINVAL },
	{ "nor has length", DLCP_ATTR, &length_given, sizeof(length_given),
	  EINVAL },
	{ "nor has cookie", DLCP_ATTR, &cookie_given, sizeof(cookie_given),
	  EINVAL },
	{ "unknown mask", DLCP_ATTR, &mask_unknown, sizeof(mask_unknown),
	  EINVAL },
	{ "unknown flags", DLCP_ATTR, &flags_unknown, sizeof(flags_unknown),
	  EINVAL },
	{ "kernel's flags", DLCP_ATTR, &flags_of_kernel,
	  sizeof(flags_of_kernel), EINVAL },
	{ "loss", DLCP_ATTR, &loss_over, sizeof(loss_over), EINVAL },
	{ "element 0", DLCP_ATTR, &elem_zero, sizeof(elem_zero), EINVAL },
	{ "element 257", DLCP_ATTR, &elem_over, sizeof(elem_over), EINVAL },
	{ "class 8", DLCP_ATTR, &prio_over, sizeof(prio_over), EINVAL },
	{ "padding", DLCP_ATTR, &pad_set, sizeof(pad_set), EINVAL },
};

TEST(options_set)
{
	struct pair p = pair_lo();
	struct dlcp_attr before, after;
	const struct option_case *c;
	int ret, i;

	before = defaults_of(p.a);
	for (i = 0; i < ARRAY_SIZE(set_cases); i++) {
		c = &set_cases[i];
		HERE();
		errno = 0;
		ret = setsockopt(p.a, SOL_DLCP, c->opt, c->val, c->len);
		if (ret != -1 || errno != c->err)
			test_failed(false, "option %d, %s: %d %s, expected %s",
				    c->opt, c->what, ret, err_name(errno),
				    err_name(c->err));
		after = defaults_of(p.a);
		if (memcmp(&before, &after, sizeof(before)))
			test_failed(false, "option %d, %s: defaults changed",
				    c->opt, c->what);
		ping_pong(&p);
	}
}

/* What is not in the mask is not looked at; a longer struct of zeros is fine */
TEST(options_that_are_right)
{
	struct { struct dlcp_attr a; u8 tail[100]; } longer = {
		.a = { .mask = DLCP_ATTR_LOSS, .loss_ppm = 7 },
	};
	struct pair p = pair_lo();

	EXPECT_OK(setsockopt(p.a, SOL_DLCP, DLCP_ATTR, &not_given,
			     sizeof(not_given)));
	EXPECT_EQ(defaults_of(p.a).prio, DLCP_PRIO_DEFAULT);
	EXPECT_OK(setsockopt(p.a, SOL_DLCP, DLCP_ATTR, &longer,
			     sizeof(longer)));
	EXPECT_EQ(defaults_of(p.a).loss_ppm, 7);
	/* an older program's struct ends after the loss bound */
	longer.a.loss_ppm = 8;
	EXPECT_OK(setsockopt(p.a, SOL_DLCP, DLCP_ATTR, &longer,
			     offsetof(struct dlcp_attr, deadline_us)));
	EXPECT_EQ(defaults_of(p.a).loss_ppm, 8);
	EXPECT_EQ(defaults_of(p.a).elem_size, 4);
	EXPECT_EQ(defaults_of(p.a).prio, DLCP_PRIO_DEFAULT);
}

/* What is read can be written: nothing is lost on the way */
TEST(attributes_there_and_back)
{
	struct dlcp_attr a = {
		.mask = DLCP_ATTR_GROUP | DLCP_ATTR_LOSS | DLCP_ATTR_DEADLINE |
			DLCP_ATTR_ELEM | DLCP_ATTR_PRIO | DLCP_ATTR_FLAGS,
		.group = 77, .loss_ppm = 5, .deadline_us = 6, .elem_size = 8,
		.prio = 2, .flags = DLCP_MSG_EARLY_STOP,
	}, read;
	int from = dlcp_socket(), to = dlcp_socket();

	ASSERT_OK(setsockopt(from, SOL_DLCP, DLCP_ATTR, &a, sizeof(a)));
	read = defaults_of(from);
	EXPECT(!memcmp(&a, &read, sizeof(a)));
	ASSERT_OK(setsockopt(to, SOL_DLCP, DLCP_ATTR, &read, sizeof(read)));
	read = defaults_of(to);
	EXPECT(!memcmp(&a, &read, sizeof(a)));
}

static void expect_setup(int fd, const char *cong, int nr_paths)
{
	char name[DLCP_CC_NAME_MAX] = { 0 };
	socklen_t len = sizeof(name);
	int nr;

	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_CONGESTION, name, &len));
	EXPECT(!strcmp(name, cong));
	len = sizeof(nr);
	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_PATHS, &nr, &len));
	EXPECT_EQ(nr, nr_paths);
}

static void default_setup(const char *cong, int nr_paths)
{
	ASSERT_OK(file_write(-1, "/proc/sys/net/dlcp/congestion", cong));
	sysctl_set(-1, "nr_paths", nr_paths);
}

/* A connection tells what it was set up with, a socket what it would be */
TEST(options_of_a_connection)
{
	int fd = dlcp_socket();
	struct pair p;

	default_setup("loss", 3);
	p = pair_lo();
	default_setup("dlcp", 2);
	expect_setup(p.a, "loss", 3);
	expect_setup(p.b, "loss", 3);
	expect_setup(fd, "dlcp", 2);
	ping_pong(&p);
}

TEST(options_kept)
{
	static const struct { int opt, val, val2; } ints[] = {
		{ DLCP_RECVWANT, 0, 1 }, { DLCP_FILL, 1, 0 },
		{ DLCP_DEAD_MS, 1234, 0 }, { DLCP_KEEPALIVE_MS, 4321, 0 },
		{ DLCP_PATHS, 3, 16 },
	};
	int fd = dlcp_socket(), i, val;
	char name[DLCP_CC_NAME_MAX] = { 0 };
	socklen_t len;

	for (i = 0; i < ARRAY_SIZE(ints) * 2; i++) {
		int want = i % 2 ? ints[i / 2].val2 : ints[i / 2].val;

		ASSERT_OK(set_int(fd, ints[i / 2].opt, want));
		len = sizeof(val);
		ASSERT_OK(getsockopt(fd, SOL_DLCP, ints[i / 2].opt, &val,
				     &len));
		EXPECT_EQ(len, sizeof(val));
		/* 0: the namespace's value */
		if (want)
			EXPECT_EQ(val, want);
	}
	ASSERT_OK(setsockopt(fd, SOL_DLCP, DLCP_CONGESTION, "loss", 4));
	len = sizeof(name);
	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_CONGESTION, name, &len));
	EXPECT(!strcmp(name, "loss"));
}

TEST(options_get)
{
	static const int opts[] = {
		DLCP_ATTR, DLCP_INFO, DLCP_CONGESTION, DLCP_RECVWANT,
		DLCP_FILL, DLCP_DEAD_MS, DLCP_KEEPALIVE_MS, DLCP_PATHS,
		DLCP_ENCAP, DLCP_LAST_ERROR, DLCP_ZEROCOPY,
	};
	struct pair p = pair_lo();
	socklen_t len, bad = -1;
	u8 buf[512];
	int i;

	len = sizeof(buf);
	EXPECT_ERR(getsockopt(p.a, SOL_DLCP, 99, buf, &len), ENOPROTOOPT);
	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		len = sizeof(buf);
		EXPECT_ERR(getsockopt(p.a, SOL_DLCP, opts[i], BAD, &len),
			   EFAULT);
		EXPECT_ERR(getsockopt(p.a, SOL_DLCP, opts[i], buf, BAD),
			   EFAULT);
		EXPECT_ERR(getsockopt(p.a, SOL_DLCP, opts[i], buf, &bad),
			   EINVAL);
		/* never more than asked for, and the length says how much */
		memset(buf, CANARY, sizeof(buf));
		len = 2;
		EXPECT_OK(getsockopt(p.a, SOL_DLCP, opts[i], buf, &len));
		EXPECT_LE(len, 2);
		EXPECT_EQ(buf[2], CANARY);
		len = sizeof(buf);
		EXPECT_OK(getsockopt(p.a, SOL_DLCP, opts[i], buf, &len));
		EXPECT_LT(len, sizeof(buf));
	}
	ping_pong(&p);
}

/* Of strings that do not fit the beginning comes, and ends as strings do */
TEST(strings_that_are_cut)
{
	static const int opts[] = { DLCP_CONGESTION, DLCP_LAST_ERROR };
	char whole[DLCP_ERROR_TEXT_MAX], part[DLCP_ERROR_TEXT_MAX];
	int fd = dlcp_socket();
	socklen_t len, full;
	int i, n;

	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		full = sizeof(whole);
		ASSERT_OK(getsockopt(fd, SOL_DLCP, opts[i], whole, &full));
		ASSERT(full > 1 && full == strlen(whole) + 1);
		for (n = 1; n <= sizeof(part); n++) {
			memset(part, CANARY, sizeof(part));
			len = n;
			ASSERT_OK(getsockopt(fd, SOL_DLCP, opts[i], part,
					     &len));
			ASSERT_EQ(len, n < full ? n : full);
			ASSERT_EQ(part[len - 1], 0);
			ASSERT(!strncmp(part, whole, len - 1));
		}
		len = 0;
		EXPECT_OK(getsockopt(fd, SOL_DLCP, opts[i], part, &len));
		EXPECT_EQ(len, 0);
	}
}

/* Nobody has the kernel look through all his memory for what is not zero */
TEST(options_beyond_a_page)
{
	static const int opts[] = {
		DLCP_ATTR, DLCP_CONGESTION, DLCP_RECVWANT, DLCP_FILL,
		DLCP_DEAD_MS, DLCP_KEEPALIVE_MS, DLCP_PATHS, DLCP_ENCAP,
		DLCP_ZEROCOPY, DLCP_INFO, 99,
	};
	long page = sysconf(_SC_PAGESIZE);
	struct pair p = pair_lo();
	u8 *zeros;
	int i;

	zeros = mmap(NULL, 64 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		EXPECT_ERR(setsockopt(p.a, SOL_DLCP, opts[i], zeros, page + 1),
			   E2BIG);
		EXPECT_ERR(setsockopt(p.a, SOL_DLCP, opts[i], zeros, 64 * MB),
			   E2BIG);
	}
	EXPECT_OK(setsockopt(p.a, SOL_DLCP, DLCP_ATTR, zeros, page));
	ping_pong(&p);
}

TEST(encap)
{
	int fd = dlcp_socket();

	EXPECT_ERR(set_int(fd, DLCP_ENCAP, 2), EINVAL);
	EXPECT_ERR(set_int(fd, DLCP_ENCAP, -1), EINVAL);
	EXPECT_OK(set_int(fd, DLCP_ENCAP, DLCP_ENCAP_UDP));
	if (encap == DLCP_ENCAP_UDP && !getenv("DLCP_TEST_RAW"))
		EXPECT_ERR(set_int(fd, DLCP_ENCAP, DLCP_ENCAP_RAW),
			   EPROTONOSUPPORT);
}

/* --- control messages of sendmsg() */

struct cmsg_case {
	const char	*what;
	int		level, type;
	const void	*data;
	size_t		len;
	int		err;
};

#define MSG_LEN		100

ATTR(fine, .mask = DLCP_ATTR_KEY, .key = 5);
ATTR(length_differs, .mask = DLCP_ATTR_LENGTH, .length = MSG_LEN + 1);

static const struct {
	struct dlcp_tags t;
	u8 bits[8];
} tags_stride0 = { { 0, 1 } }, tags_few = { { 10, 9 } },
  tags_many = { { 10, 11 } }, tags_right = { { 10, 10 } },
  tags_three = { { 100, 1 }, { 3 } };

#define TAGS_LEN(count) (sizeof(struct dlcp_tags) + ((count) + 3) / 4)

static const struct cmsg_case send_cases[] = {
	{ "unknown type", SOL_DLCP, 99, &one, 4, EINVAL },
	{ "a type of recvmsg", SOL_DLCP, DLCP_CMSG_MSG, &one, 4, EINVAL },
	{ "tail of attr", SOL_DLCP, DLCP_CMSG_ATTR, &tail_set,
	  sizeof(tail_set), E2BIG },
	{ "mask", SOL_DLCP, DLCP_CMSG_ATTR, &mask_unknown,
	  sizeof(mask_unknown), EINVAL },
	{ "flags", SOL_DLCP, DLCP_CMSG_ATTR, &flags_unknown,
	  sizeof(flags_unknown), EINVAL },
	{ "kernel's flags", SOL_DLCP, DLCP_CMSG_ATTR, &flags_of_kernel,
	  sizeof(flags_of_kernel), EINVAL },
	{ "loss", SOL_DLCP, DLCP_CMSG_ATTR, &loss_over, sizeof(loss_over),
	  EINVAL },
	{ "element 0", SOL_DLCP, DLCP_CMSG_ATTR, &elem_zero,
	  sizeof(elem_zero), EINVAL },
	{ "element 257", SOL_DLCP, DLCP_CMSG_ATTR, &elem_over,
	  sizeof(elem_over), EINVAL },
	{ "class 8", SOL_DLCP, DLCP_CMSG_ATTR, &prio_over, sizeof(prio_over),
	  EINVAL },
	{ "padding", SOL_DLCP, DLCP_CMSG_ATTR, &pad_set, sizeof(pad_set),
	  EINVAL },
	{ "another length", SOL_DLCP, DLCP_CMSG_ATTR, &length_differs,
	  sizeof(length_differs), EMSGSIZE },
	{ "short tags", SOL_DLCP, DLCP_CMSG_TAGS, &tags_right, 7, EINVAL },
	{ "stride 0", SOL_DLCP, DLCP_CMSG_TAGS, &tags_stride0, TAGS_LEN(1),
	  EINVAL },
	{ "too few tags", SOL_DLCP, DLCP_CMSG_TAGS, &tags_few, TAGS_LEN(9),
	  EINVAL },
	{ "too many tags", SOL_DLCP, DLCP_CMSG_TAGS, &tags_many, TAGS_LEN(11),
	  EINVAL },
	{ "tags cut off", SOL_DLCP, DLCP_CMSG_TAGS, &tags_right,
	  TAGS_LEN(10) - 1, EINVAL },
	{ "tag 3", SOL_DLCP, DLCP_CMSG_TAGS, &tags_three, TAGS_LEN(1),
	  EINVAL },
	/* what other protocols obey */
	{ "mark", SOL_SOCKET, SO_MARK, &one, 4, EINVAL },
	{ "time to leave", SOL_SOCKET, SCM_TXTIME, &fine, 8, EINVAL },
	{ "time stamps", SOL_SOCKET, SO_TIMESTAMPING, &one, 4, EINVAL },
	{ "type of SOL_SOCKET", SOL_SOCKET, 99, &one, 4, EINVAL },
	{ "TOS", SOL_IP, IP_TOS, &one, 4, EINVAL },
	{ "TTL", SOL_IP, IP_TTL, &one, 4, EINVAL },
	{ "traffic class", SOL_IPV6, IPV6_TCLASS, &one, 4, EINVAL },
	{ "UDP's segments", SOL_UDP, UDP_SEGMENT, &one, 2, EINVAL },
	{ "level", 77, DLCP_CMSG_ATTR, &fine, sizeof(fine), EINVAL },
};

static ssize_t send_cmsg(int fd, const struct cmsg_case *c, size_t claim)
{
	union {
		struct cmsghdr cm;
		u8 room[512];
	} u = { .cm = { .cmsg_len = claim ? claim : CMSG_LEN(c->len),
			.cmsg_level = c->level, .cmsg_type = c->type } };
	u8 buf[MSG_LEN] = { 0 };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
		.msg_controllen = CMSG_SPACE(c->len),
	};

	memcpy(CMSG_DATA(&u.cm), c->data, c->len);
	return sendmsg(fd, &mh, 0);
}

TEST(control_messages)
{
	struct pair p = pair_lo();
	const struct cmsg_case *c;
	ssize_t ret;
	int i, sent;

	for (i = 0; i < ARRAY_SIZE(send_cases); i++) {
		c = &send_cases[i];
		sent = info_of(p.a).tx_msgs;
		HERE();
		errno = 0;
		ret = send_cmsg(p.a, c, 0);
		if (ret != -1 || errno != c->err)
			test_failed(true, "%s: %zd %s, expected %s", c->what,
				    ret, err_name(errno), err_name(c->err));
		EXPECT_EQ(info_of(p.a).tx_msgs, sent);
		ping_pong(&p);
	}
}

/* As of every socket that is not AF_UNIX */
TEST(control_messages_of_unix)
{
	static const struct cmsg_case rights = {
		"", SOL_SOCKET, SCM_RIGHTS, &zero, sizeof(zero), 0
	};
	struct pair p = pair_lo();

	EXPECT_EQ(send_cmsg(p.a, &rights, 0), MSG_LEN);
	EXPECT_EQ(recv(p.b, (u8[MSG_LEN]){ 0 }, MSG_LEN, 0), MSG_LEN);
	ping_pong(&p);
}

TEST(control_messages_malformed)
{
	static const struct cmsg_case c = {
		"", SOL_DLCP, DLCP_CMSG_ATTR, &fine, sizeof(fine), 0
	};
	struct pair p = pair_lo();
	u8 buf[8] = { 0 };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	EXPECT_ERR(send_cmsg(p.a, &c, 5), EINVAL);
	EXPECT_ERR(send_cmsg(p.a, &c, 1 << 20), EINVAL);
	mh.msg_control = BAD;
	mh.msg_controllen = 64;
	EXPECT_ERR(sendmsg(p.a, &mh, 0), EFAULT);
	ping_pong(&p);
}

TEST(control_messages_beyond_a_page)
{
	long page = sysconf(_SC_PAGESIZE);
	struct pair p = pair_lo();
	u8 buf[8] = { 0 };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cm;

	cm = mmap(NULL, 64 * MB, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cm->cmsg_len = CMSG_LEN(page + 1);
	cm->cmsg_level = SOL_DLCP;
	cm->cmsg_type = DLCP_CMSG_ATTR;
	mh.msg_control = cm;
	mh.msg_controllen = CMSG_SPACE(page + 1);
	EXPECT_ERR(sendmsg(p.a, &mh, 0), E2BIG);
	EXPECT_EQ(info_of(p.a).tx_msgs, 0);
	ping_pong(&p);
	ASSERT_EQ(send(p.a, buf, sizeof(buf), 0), sizeof(buf));
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	cm->cmsg_len = 64 * MB;
	cm->cmsg_type = DLCP_CMSG_WANT;
	mh.msg_controllen = 64 * MB;
	EXPECT_ERR(recvmsg(p.b, &mh, MSG_DONTWAIT), E2BIG);
	EXPECT_EQ(recv(p.b, buf, sizeof(buf), MSG_DONTWAIT), sizeof(buf));
	ping_pong(&p);
}

/* Defaults of the socket, and what a message says of itself */
TEST(attributes_in_steps)
{
	struct pair p = pair_lo();
	u8 buf[500];
	struct got g;
	struct msg m = MSG(.len = 500, .key = 9, .prio = 2, .loss = 3);
	struct dlcp_attr a = { .mask = DLCP_ATTR_PRIO | DLCP_ATTR_LOSS,
			       .prio = 2, .loss_ppm = 3 };

	/* a default of the socket, then one of the message's own */
	ASSERT_OK(setsockopt(p.a, SOL_DLCP, DLCP_ATTR, &a, sizeof(a)));
	pass(p.a, p.b, &m);
	m.prio = 5;
	pass(p.a, p.b, &m);
	EXPECT_EQ(defaults_of(p.a).prio, 2);
	/* and a plain send() takes the defaults */
	fill(buf, sizeof(buf), 0);
	ASSERT_EQ(send(p.a, buf, sizeof(buf), 0), sizeof(buf));
	got_init(&g, 500);
	ASSERT_OK(recv_any(p.b, &g, 0));
	m.key = 0;
	m.prio = 2;
	check_got(&m, &g);
}

/* --- memory */

TEST(bad_buffers)
{
	struct pair p = pair_lo();
	struct iovec iov = { BAD, 1000 };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct msg m = MSG(.len = 1000);
	struct got g;

	EXPECT_ERR(send(p.a, BAD, 1000, 0), EFAULT);
	EXPECT_ERR(sendmsg(p.a, BAD, 0), EFAULT);
	ping_pong(&p);
	must_send(p.a, &m);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	EXPECT_ERR(recvmsg(p.b, &mh, 0), EFAULT);
	EXPECT_ERR(recvmsg(p.b, BAD, 0), EFAULT);
	/* a message that could not be copied out is not lost */
	got_init(&g, 1000);
	ASSERT_OK(recv_any(p.b, &g, MSG_DONTWAIT));
	check_got(&m, &g);
	ping_pong(&p);
}

/* The second page of the buffer is not there */
TEST(half_bad_buffers)
{
	struct pair p = pair_lo();
	u8 *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct msg m = MSG(.len = 8192);
	u64 offered;
	struct got g;

	ASSERT_OK(munmap(map + 4096, 4096));
	offered = info_of(p.a).tx_offered;
	EXPECT_ERR(send(p.a, map, 8192, 0), EFAULT);
	EXPECT_EQ(info_of(p.a).tx_offered, offered);
	ping_pong(&p);
	must_send(p.a, &m);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	EXPECT_ERR(recv(p.b, map, 8192, 0), EFAULT);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, MSG_DONTWAIT));
	check_got(&m, &g);
}

/* A long message is copied as it comes, here nowhere, and belongs to nobody */
TEST(bad_buffer_of_a_waiting_reader)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 4 * MB);
	struct sending s = { p.a, &m };
	struct task t;
	struct got g;

	set_buffers(p.a, 100000);
	set_buffers(p.b, 100000);
	task_start(&t, sending_main, &s);
	EXPECT_ERR(recv(p.b, BAD, m.len, 0), EFAULT);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
	task_join(&t);
}

/* A large message whose memory ends in the middle: part of it has left */
struct cut_off {
	int	fd;
	u8	*buf;
	size_t	len;
};

static void cut_off_main(void *arg)
{
	struct cut_off *c = arg;

	EXPECT_ERR(send(c->fd, c->buf, c->len, MSG_NOSIGNAL), EFAULT);
}

TEST(large_message_cut_off)
{
	struct pair p = pair_lo();
	size_t len = 2 * MB;
	u8 *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct cut_off c = { p.a, map, len };
	struct task t;
	struct got g;

	ASSERT_OK(munmap(map + len / 2, len / 2));
	set_buffers(p.a, 100000);
	set_buffers(p.b, 100000);
	task_start(&t, cut_off_main, &c);
	got_init(&g, len);
	/* nobody may take it for whole; the connection may end */
	EXPECT(recv_any(p.b, &g, 0) < 0 || g.eof ||
	       (g.msg.flags & DLCP_MSG_DISCARDED));
	close(p.b);
	task_join(&t);
}

/* --- memory that control messages cannot be written to: what they tell is kept */

/* Two pages, the second of which cannot be written to, and has @end before it */
static struct msghdr control_before(size_t end, int prot)
{
	size_t page = sysconf(_SC_PAGESIZE);
	u8 *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(map != MAP_FAILED);
	ASSERT_OK(mprotect(map + page, page, prot));
	return (struct msghdr){ .msg_control = map + page - end,
				.msg_controllen = page };
}

TEST(reports_to_bad_memory)
{
	struct msg m = MSG(.len = 10, .flags = DLCP_MSG_REPORT);
	size_t one = CMSG_SPACE(sizeof(struct dlcp_report));
	struct pair p = pair_lo();
	struct sent s[3];
	struct msghdr mh;
	int i;

	for (i = 0; i < 3; i++)
		must_send(p.a, &m);
	WAIT_FOR(info_of(p.a).tx_msgs_done == 3);
	mh = control_before(0, PROT_NONE);
	EXPECT_ERR(recvmsg(p.a, &mh, MSG_ERRQUEUE), EFAULT);
	mh = control_before(one + 32, PROT_NONE);
	EXPECT_OK(recvmsg(p.a, &mh, MSG_ERRQUEUE));
	EXPECT_EQ(mh.msg_controllen, one);
	EXPECT_EQ(mh.msg_flags, MSG_ERRQUEUE);
	EXPECT_EQ(read_reports(p.a, s, 3, 0), 2);
}

/* A report without its ranges is none */
TEST(ranges_to_bad_memory)
{
	struct msg m[] = { MSG(.len = 10, .flags = DLCP_MSG_REPORT),
			   MSG(.len = 4 * MB, .key = 3, .flags = DLCP_MSG_REPORT) };
	struct dlcp_want w = { .key = 3, .flags = DLCP_WANT_KEY |
						  DLCP_WANT_DISCARD };
	size_t one = CMSG_SPACE(sizeof(struct dlcp_report));
	struct sending sending;
	struct msghdr mh;
	struct hosts h;
	struct pair p;
	struct task t;
	struct sent s;
	struct got g;

	hosts_open(&h);
	netem(&h, H0, "rate 8mbit");
	p = pair_hosts(&h);
	must_send(p.a, &m[0]);
	WAIT_FOR(info_of(p.a).tx_msgs_done == 1);
	got_init(&g, 100);
	sending = (struct sending){ p.a, &m[1] };
	task_start(&t, sending_main, &sending);
	WAIT_FOR(info_of(p.b).rx_delivered > m[0].len);
	ASSERT_OK(recv_want(p.b, &g, &w, 0));
	task_join(&t);
	WAIT_FOR(info_of(p.a).tx_msgs_done == 2);
	mh = control_before(2 * one + 24, PROT_NONE);
	EXPECT_OK(recvmsg(p.a, &mh, MSG_ERRQUEUE));
	EXPECT_EQ(mh.msg_controllen, one);
	ASSERT_EQ(read_reports(p.a, &s, 1, 0), 1);
	EXPECT_EQ(s.r.key, 3);
	EXPECT_GT(s.r.nr_ranges, 0);
}

/* Nothing was thrown away of which the receipt could not be given */
TEST(receipt_to_bad_memory)
{
	size_t len = CMSG_SPACE(sizeof(struct dlcp_want));
	struct msghdr mh = control_before(len, PROT_READ);
	struct cmsghdr *cm = mh.msg_control;
	struct msg m = MSG(.len = 1000);
	struct pair p = pair_lo();
	struct got g;

	mh.msg_controllen = len;
	*cm = (struct cmsghdr){ .cmsg_level = SOL_DLCP, .cmsg_type = DLCP_CMSG_WANT,
				.cmsg_len = CMSG_LEN(sizeof(struct dlcp_want)) };
	((struct dlcp_want *)CMSG_DATA(cm))->flags = DLCP_WANT_DISCARD;
	must_send(p.a, &m);
	EXPECT_EQ(poll_for(p.b, POLLIN, 5000 * slowness), POLLIN);
	ASSERT_OK(mprotect((u8 *)cm + len - sysconf(_SC_PAGESIZE),
			   sysconf(_SC_PAGESIZE), PROT_READ));
	EXPECT_ERR(recvmsg(p.b, &mh, 0), EFAULT);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, MSG_DONTWAIT));
	check_got(&m, &g);
	ping_pong(&p);
}

/* --- wishes of recvmsg() */

TEST(wants)
{
	static const struct { struct dlcp_want w; const char *what; } bad[] = {
		{ { .flags = 1 << 4 }, "unknown flag" },
		{ { .flags = DLCP_WANT_KEEP | DLCP_WANT_ZERO }, "both fills" },
		{ { .__pad = 1 }, "padding" },
	};
	struct msg m = MSG(.len = 1000);
	struct pair p = pair_lo();
	struct got g;
	int i;

	got_init(&g, 1000);
	must_send(p.a, &m);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		if (recv_want(p.b, &g, &bad[i].w, MSG_DONTWAIT) >= 0 ||
		    errno != EINVAL)
			test_failed(true, "%s: %zd %s", bad[i].what, g.n,
				    err_name(errno));
	ASSERT_OK(recv_any(p.b, &g, MSG_DONTWAIT));
	check_got(&m, &g);
}

TEST(wants_malformed)
{
	u8 control[256] = { 0 }, buf[100];
	struct cmsghdr *cm = (void *)control;
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1,
			     .msg_control = control };
	struct msg m = MSG(.len = 100);
	struct pair p = pair_lo();
	static const struct {
		size_t len, control;
	} bad[] = {
		{ 5, 256 }, { 4096, 256 }, { CMSG_LEN(16), 20 },
	};
	int i;

	must_send(p.a, &m);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		cm->cmsg_len = bad[i].len;
		cm->cmsg_level = SOL_DLCP;
		cm->cmsg_type = DLCP_CMSG_WANT;
		mh.msg_controllen = bad[i].control;
		mh.msg_control = control;
		HERE();
		if (recvmsg(p.b, &mh, MSG_DONTWAIT) != -1 || errno != EINVAL)
			test_failed(true, "case %d: %s", i, err_name(errno));
	}
	/* a tail we do not know */
	memset(control, 0, sizeof(control));
	cm->cmsg_len = CMSG_LEN(32);
	cm->cmsg_level = SOL_DLCP;
	cm->cmsg_type = DLCP_CMSG_WANT;
	CMSG_DATA(cm)[31] = 1;
	mh.msg_controllen = sizeof(control);
	EXPECT_ERR(recvmsg(p.b, &mh, MSG_DONTWAIT), E2BIG);
	mh.msg_control = BAD;
	EXPECT_ERR(recvmsg(p.b, &mh, MSG_DONTWAIT), EFAULT);
	EXPECT_EQ(recv(p.b, buf, sizeof(buf), MSG_DONTWAIT), 100);
	ping_pong(&p);
}

TEST(too_long)
{
	struct msg m = MSG(.len = 2 * MB);
	struct pair p;

	sysctl_set(-1, "max_msg_mb", 1);
	p = pair_lo();
	EXPECT_ERR(send_msg(p.a, &m, 0), EMSGSIZE);
	ping_pong(&p);
}

TEST(zerocopy_not_allowed)
{
	struct pair p = pair_lo();
	u8 buf[100] = { 0 };

	/* as with other sockets the flag is then without effect */
	EXPECT_EQ(send(p.a, buf, sizeof(buf), MSG_ZEROCOPY), sizeof(buf));
	EXPECT_EQ(recv(p.b, buf, sizeof(buf), 0), sizeof(buf));
	ping_pong(&p);
}
