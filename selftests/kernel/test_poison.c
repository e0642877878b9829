// SPDX-License-Identifier: GPL-2.0
/*
 * Short options and control messages, where the kernel's heap gives out memory as it was
 * left: nothing behind the end of what was given counts, and nothing of the heap comes
 * back. On kernels that clear such memory these tests see less.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <unistd.h>

#include "lib.h"

#define PATTERN		0x5a
/* The kernel's struct msg_msg, in front of a message of System V */
#define MSG_MSG		48

static bool has_pattern(const void *p, size_t len)
{
	static const u8 four[] = { PATTERN, PATTERN, PATTERN, PATTERN };

	return memmem(p, len, four, sizeof(four));
}

/* As the kernel keeps control messages of sendmsg() */
static void poison_control(const void *words, size_t size)
{
	int fd = ASSERT_OK(socket(AF_INET, SOCK_DGRAM, 0));
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct msghdr mh = {
		.msg_name = &a, .msg_namelen = sizeof(a),
		.msg_control = (void *)words, .msg_controllen = size,
	};

	EXPECT_ERR(sendmsg(fd, &mh, MSG_DONTWAIT), EINVAL);
	close(fd);
}

/* As it keeps what a user's control group pays for */
static void poison_charged(size_t size)
{
	struct {
		long	type;
		u8	text[4096];
	} m = { .type = 1 };
	int q = ASSERT_OK(msgget(IPC_PRIVATE, 0600));

	memset(m.text, PATTERN, sizeof(m.text));
	ASSERT_OK(msgsnd(q, &m, size - MSG_MSG, IPC_NOWAIT));
	ASSERT_OK(msgrcv(q, &m, sizeof(m.text), 0, IPC_NOWAIT));
	ASSERT_OK(msgctl(q, IPC_RMID, NULL));
}

/* What the heap gives out next, of each size, is full of the pattern */
static void poison_heap(void)
{
	static const size_t sizes[] = { 64, 96, 128, 192, 256, 512, 1024, 2048 };
	u8 words[2048];
	int i;

	memset(words, PATTERN, sizeof(words));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		poison_charged(sizes[i]);
		poison_control(words, sizes[i]);
	}
}

/* Of several paths, and fewer than there can be: their entries are the longest answer */
static struct pair pair_of_paths(void)
{
	int fd = dlcp_socket();

	ASSERT_OK(set_int(fd, DLCP_PATHS, 3));
	return pair_from(fd, -1, addr_lo(PORT));
}

/* --- options */

TEST_LIMIT(options_read, 60)
{
	u8 buf[DLCP_PATHS_MAX * sizeof(struct dlcp_path_info) + 64];
	struct pair p = pair_of_paths();
	socklen_t len, got;
	int opt;

	for (opt = DLCP_ATTR; opt <= DLCP_PATH_INFO; opt++) {
		for (len = 0; len <= sizeof(buf); len += 1 + len / 5) {
			memset(buf, CANARY, sizeof(buf));
			poison_heap();
			got = len;
			ASSERT_OK(getsockopt(p.a, SOL_DLCP, opt, buf, &got));
			EXPECT_LE(got, len);
			EXPECT(!has_pattern(buf, got));
			for (; got < sizeof(buf); got++)
				ASSERT_EQ(buf[got], CANARY);
		}
	}
	ping_pong(&p);
}

/* All but those that a short struct cannot have: an element of 0 bytes is refused */
static const struct dlcp_attr whole = {
	.mask = DLCP_ATTR_KEY | DLCP_ATTR_COOKIE | DLCP_ATTR_LOSS |
		DLCP_ATTR_PRIO | DLCP_ATTR_GROUP,
	.key = 0x1112131415161718, .cookie = 0x2122232425262728,
	.loss_ppm = 0x31323, .prio = 5,
};

/* The user's own memory behind the end counts as little as the kernel's */
TEST(options_written)
{
	struct dlcp_attr given, want, a;
	u8 buf[sizeof(given)];
	socklen_t len, got;
	int fd;

	given = whole;
	given.mask &= ~(DLCP_ATTR_KEY | DLCP_ATTR_COOKIE);
	for (len = 0; len <= sizeof(given); len++) {
		fd = dlcp_socket();
		memset(buf, PATTERN, sizeof(buf));
		memcpy(buf, &given, len);
		want = (struct dlcp_attr){ 0 };
		memcpy(&want, &given, len);
		poison_heap();
		ASSERT_OK(setsockopt(fd, SOL_DLCP, DLCP_ATTR, buf, len));
		got = sizeof(a);
		ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_ATTR, &a, &got));
		EXPECT_EQ(a.loss_ppm, want.loss_ppm);
		EXPECT_EQ(a.prio, want.mask & DLCP_ATTR_PRIO ? want.prio :
			  DLCP_PRIO_DEFAULT);
		EXPECT_EQ(a.group, want.group);
		EXPECT(!has_pattern(&a, sizeof(a)));
		close(fd);
	}
}

/* --- control messages */

/* A first one makes all of them too long for the kernel's stack; the second one has @len
 * bytes, and says that it has @claim
 */
static ssize_t send_attr(int fd, const struct dlcp_attr *a, size_t len,
			 size_t claim)
{
	size_t first = CMSG_SPACE(sizeof(*a));
	union {
		struct cmsghdr cm;
		u8 room[512];
	} u = { .cm = { .cmsg_level = SOL_DLCP, .cmsg_type = DLCP_CMSG_ATTR,
			.cmsg_len = CMSG_LEN(sizeof(*a)) } };
	struct cmsghdr *cm = (void *)(u.room + first);
	struct iovec iov = { "12345678", 8 };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
		.msg_controllen = first + CMSG_LEN(len),
	};

	*cm = u.cm;
	cm->cmsg_len = CMSG_LEN(claim);
	memcpy(CMSG_DATA(cm), a, len);
	poison_heap();
	return sendmsg(fd, &mh, 0);
}

TEST(control_messages_short)
{
	struct dlcp_attr report = { .mask = DLCP_ATTR_FLAGS,
				    .flags = DLCP_MSG_REPORT };
	struct pair p = pair_lo();
	struct dlcp_attr want;
	struct sent s;
	struct got g;
	size_t len;

	got_init(&g, 100);
	ASSERT_OK(setsockopt(p.a, SOL_DLCP, DLCP_ATTR, &report, sizeof(report)));
	for (len = 0; len <= sizeof(whole); len++) {
		want = (struct dlcp_attr){ 0 };
		memcpy(&want, &whole, len);
		ASSERT_EQ(send_attr(p.a, &whole, len, len), 8);
		ASSERT_EQ(recv_any(p.b, &g, 0), 8);
		EXPECT_EQ(g.msg.key, want.key);
		EXPECT_EQ(g.msg.loss_ppm, want.loss_ppm);
		EXPECT_EQ(g.msg.prio, want.mask & DLCP_ATTR_PRIO ? want.prio :
			  DLCP_PRIO_DEFAULT);
		EXPECT(!has_pattern(&g.msg, sizeof(g.msg)));
		wait_report(p.a, &s);
		EXPECT_EQ(s.r.key, want.key);
		EXPECT_EQ(s.r.cookie, want.cookie);
		EXPECT(!has_pattern(&s.r, sizeof(s.r)));
		sent_free(&s);
	}
}

/* One that is said to be longer than what there is */
TEST(control_messages_cut)
{
	struct pair p = pair_lo();
	size_t len;

	for (len = 0; len < sizeof(whole); len++)
		EXPECT_ERR(send_attr(p.a, &whole, len, sizeof(whole)), EINVAL);
	EXPECT_EQ(info_of(p.a).tx_msgs, 0);
	ping_pong(&p);
}

/* recvmsg() with room for @room bytes of control messages writes to no more */
static void read_control(int fd, size_t room, int flags)
{
	u8 buf[256], byte;
	struct iovec iov = { &byte, flags & MSG_ERRQUEUE ? 0 : 1 };
	struct msghdr mh = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = buf, .msg_controllen = room,
	};
	size_t i;

	memset(buf, CANARY, sizeof(buf));
	poison_heap();
	ASSERT_OK(recvmsg(fd, &mh, flags | MSG_DONTWAIT));
	EXPECT_LE(mh.msg_controllen, room);
	EXPECT(!has_pattern(buf, mh.msg_controllen));
	for (i = room; i < sizeof(buf); i++)
		ASSERT_EQ(buf[i], CANARY);
}

TEST(receipts_cut)
{
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 10);
	struct got g;
	size_t room;

	got_init(&g, 100);
	must_send(p.a, &m);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	for (room = 0; room <= CMSG_SPACE(sizeof(struct dlcp_msg)); room++)
		read_control(p.b, room, MSG_PEEK);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
}

TEST(reports_cut)
{
	struct msg m = MSG(.len = 10, .flags = DLCP_MSG_REPORT);
	size_t room, whole = CMSG_SPACE(sizeof(struct dlcp_report));
	struct pair p = pair_lo();
	struct got g;

	got_init(&g, 100);
	for (room = 0; room <= whole; room++) {
		must_send(p.a, &m);
		ASSERT_OK(recv_any(p.b, &g, 0));
		WAIT_FOR(info_of(p.a).tx_msgs_done > room);
		read_control(p.a, room, MSG_ERRQUEUE);
	}
}
