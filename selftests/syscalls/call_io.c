// SPDX-License-Identifier: GPL-2.0
/* Calls that move messages: right ones, mostly, with attributes of all sorts */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

enum { CONTROL_MAX = 8192, IOV_MAX_HERE = 6 };

struct control {
	u8	data[CONTROL_MAX] __attribute__((aligned(16)));
	size_t	len;
};

static size_t length_make(void)
{
	static const size_t sizes[] = {
		0, 1, 3, 4, 100, 1400, 1416, 1417, 4096, 10000, 32768, 65536,
		100000, 300000,
	};

	if (chance(3))
		return 1 << 20;
	return chance(70) ? one_of(sizes) : rnd(20000);
}

static void *control_add(struct control *c, int level, int type, size_t len)
{
	struct cmsghdr *cm = (void *)(c->data + c->len);

	if (c->len + CMSG_SPACE(len) > sizeof(c->data))
		return NULL;
	cm->cmsg_level = level;
	cm->cmsg_type = type;
	cm->cmsg_len = CMSG_LEN(len);
	if (chance(1))
		cm->cmsg_len = rnd_edge();
	c->len += CMSG_SPACE(len);
	memset(CMSG_DATA(cm), 0, len);
	return CMSG_DATA(cm);
}

static void attr_fill(struct dlcp_attr *a, size_t len)
{
	static const u32 bounds[] = { 0, 1000, 10000, 500000, 1000000 };
	static const u32 elems[] = { 1, 2, 3, 4, 8, 100, 256 };

	a->mask = chance(90) ? rnd(DLCP_ATTR_ALL + 1) : rnd64();
	a->flags = rnd(8);
	a->key = rnd(4);
	a->length = chance(90) ? len : rnd64();
	a->cookie = rnd64();
	a->loss_ppm = chance(95) ? one_of(bounds) : rnd64();
	a->deadline_us = chance(70) ? rnd(5000) : rnd64();
	a->elem_size = chance(95) ? one_of(elems) : rnd64();
	a->prio = chance(95) ? rnd(8) : rnd64();
	a->group = rnd(12);
	if (chance(2))
		a->__pad = 1;
}

static void attr_add(struct control *c, size_t len)
{
	struct dlcp_attr a = { 0 };
	size_t size = sizeof(a);
	void *to;

	attr_fill(&a, len);
	if (chance(5))
		size = rnd(2 * sizeof(a));
	to = control_add(c, SOL_DLCP, DLCP_CMSG_ATTR, size);
	if (to)
		memcpy(to, &a, size < sizeof(a) ? size : sizeof(a));
}

static void tags_add(struct control *c, size_t len)
{
	static const u32 strides[] = { 1, 4, 100, 1024, 1400, 65536, ~0U };
	u32 stride = one_of(strides), i;
	struct dlcp_tags *t;
	u64 count;

	if (len / stride > 4 * (CONTROL_MAX - 500))
		stride = 1400;
	count = len ? (len - 1) / stride + 1 : 0;
	if (chance(4))
		count += rnd(3) - 1;
	if (count > 4 * (CONTROL_MAX - 500))
		return;
	t = control_add(c, SOL_DLCP, DLCP_CMSG_TAGS,
			sizeof(*t) + (count + 3) / 4);
	if (!t)
		return;
	t->stride = stride;
	t->count = count;
	/* never 3, which means nothing */
	for (i = 0; i < (count + 3) / 4; i++)
		t->tags[i] = rnd64() & (chance(50) ? 0x55 : 0xaa);
	if (chance(3) && count)
		t->tags[0] |= 3;
}

static void control_for_send(struct control *c, size_t len)
{
	size_t size;

	c->len = 0;
	if (chance(70))
		attr_add(c, len);
	if (chance(40))
		tags_add(c, len);
	if (chance(3))
		control_add(c, SOL_IP, rnd(30), 4);
	if (chance(3)) {
		size = rnd(64);
		control_add(c, SOL_DLCP, rnd(9), size);
	}
	if (chance(2))
		c->len -= rnd(c->len + 1);
}

static int send_flags(void)
{
	int flags = MSG_NOSIGNAL;

	if (chance(60))
		flags |= MSG_DONTWAIT;
	if (chance(15))
		flags |= MSG_ZEROCOPY;
	if (chance(3))
		flags |= MSG_MORE | MSG_EOR;
	if (chance(2))
		flags = rnd64();
	return flags;
}

static void call_sendmsg(void)
{
	size_t len = length_make();
	struct iovec iov[IOV_MAX_HERE];
	static __thread struct control c;
	struct sockaddr_storage a;
	struct msghdr m = { 0 };
	int fd = fd_any(), flags = send_flags();

	m.msg_iov = iov;
	m.msg_iovlen = iov_make(iov, IOV_MAX_HERE, len);
	control_for_send(&c, len);
	m.msg_control = c.data;
	m.msg_controllen = c.len;
	if (chance(3)) {
		m.msg_name = &a;
		address_make(&a, &m.msg_namelen);
	}
	if (chance(1))
		m.msg_controllen = rnd64();
	done(sendmsg(fd, &m, flags), "sendmsg %d %zu %#x", fd, len, flags);
}

static void call_sendmmsg(void)
{
	static __thread struct control c[3];
	struct iovec iov[3][IOV_MAX_HERE];
	struct mmsghdr m[3] = { 0 };
	int fd = fd_any(), flags = send_flags(), i, nr = 1 + rnd(3);
	size_t len;

	for (i = 0; i < nr; i++) {
		len = length_make();
		m[i].msg_hdr.msg_iov = iov[i];
		m[i].msg_hdr.msg_iovlen = iov_make(iov[i], IOV_MAX_HERE, len);
		control_for_send(&c[i], len);
		m[i].msg_hdr.msg_control = c[i].data;
		m[i].msg_hdr.msg_controllen = c[i].len;
	}
	done(sendmmsg(fd, m, nr, flags), "sendmmsg %d %d %#x", fd, nr, flags);
}

static void call_write(void)
{
	struct iovec iov[IOV_MAX_HERE];
	size_t len = length_make();
	int fd = fd_any(), nr;

	if (chance(50)) {
		nr = iov_make(iov, IOV_MAX_HERE, len);
		done(writev(fd, iov, nr), "writev %d %zu", fd, len);
	} else {
		done(write(fd, memory(len), len), "write %d %zu", fd, len);
	}
}

static void want_add(struct control *c)
{
	struct dlcp_want w = { .key = rnd(4) };
	size_t size = sizeof(w);
	void *to;

	w.flags = chance(90) ? rnd(16) : rnd64();
	if (chance(70))
		w.flags &= ~(DLCP_WANT_KEEP | DLCP_WANT_DISCARD);
	if (chance(2))
		w.__pad = 1;
	if (chance(5))
		size = rnd(2 * sizeof(w));
	to = control_add(c, SOL_DLCP, DLCP_CMSG_WANT, size);
	if (to)
		memcpy(to, &w, size < sizeof(w) ? size : sizeof(w));
}

static int recv_flags(void)
{
	int flags = 0;

	if (chance(70))
		flags |= MSG_DONTWAIT;
	if (chance(15))
		flags |= MSG_ERRQUEUE;
	if (chance(15))
		flags |= MSG_PEEK;
	if (chance(20))
		flags |= MSG_TRUNC;
	if (chance(5))
		flags |= MSG_WAITALL;
	if (chance(2))
		flags = rnd64();
	return flags;
}

enum { GUARD = 64 };

static void control_for_recv(struct control *c, size_t *room)
{
	c->len = 0;
	memset(c->data, 0, sizeof(c->data));
	if (chance(50))
		want_add(c);
	*room = chance(70) ? 1024 : rnd(CONTROL_MAX - GUARD);
	memset(c->data + *room, 0x5a, GUARD);
}

static void control_check(const struct control *c, size_t room)
{
	int i;

	for (i = 0; i < GUARD; i++)
		if (c->data[room + i] != 0x5a)
			overrun("recvmsg, control messages");
}

/* Of a size that a message continued after a signal finds again, too */
static void call_recvmsg(void)
{
	static __thread struct control c;
	size_t len = length_make(), room;
	struct iovec iov[IOV_MAX_HERE];
	struct sockaddr_storage a;
	struct msghdr m = { 0 };
	int fd = fd_any(), flags = recv_flags();

	if (chance(40))
		len = 300000;
	m.msg_iov = iov;
	m.msg_iovlen = iov_make(iov, IOV_MAX_HERE, len);
	control_for_recv(&c, &room);
	m.msg_control = chance(2) ? memory(room) : c.data;
	m.msg_controllen = room;
	if (chance(20)) {
		m.msg_name = &a;
		m.msg_namelen = rnd(sizeof(a) + 1);
	}
	done(recvmsg(fd, &m, flags), "recvmsg %d %zu %#x", fd, len, flags);
	control_check(&c, room);
}

static void call_recvmmsg(void)
{
	struct timespec ts = { .tv_nsec = rnd(5000000) };
	struct iovec iov[3][IOV_MAX_HERE];
	struct mmsghdr m[3] = { 0 };
	int fd = fd_any(), flags = recv_flags(), i;

	for (i = 0; i < 3; i++) {
		m[i].msg_hdr.msg_iov = iov[i];
		m[i].msg_hdr.msg_iovlen = iov_make(iov[i], IOV_MAX_HERE,
						   length_make());
	}
	done(recvmmsg(fd, m, 3, flags, chance(80) ? &ts : NULL),
	     "recvmmsg %d %#x", fd, flags);
}

static void call_read(void)
{
	struct iovec iov[IOV_MAX_HERE];
	size_t len = length_make();
	int fd = fd_any(), nr;

	if (chance(50)) {
		nr = iov_make(iov, IOV_MAX_HERE, len);
		done(readv(fd, iov, nr), "readv %d %zu", fd, len);
	} else {
		done(read(fd, memory(len), len), "read %d %zu", fd, len);
	}
}

static void call_sendfile(void)
{
	int fd = fd_any(), from = chance(90) ? file_fd : fd_any();
	off_t at = rnd(FILE_SIZE + 4096);
	size_t n = rnd(FILE_SIZE);

	done(sendfile(fd, from, &at, n), "sendfile %d %zu", fd, n);
}

static void call_splice(void)
{
	int fd = fd_any(), p[2];
	struct iovec v;

	if (pipe2(p, O_NONBLOCK))
		return;
	v.iov_len = rnd(65536);
	v.iov_base = memory(v.iov_len);
	switch (rnd(3)) {
	case 0:
		done(splice(fd, NULL, p[1], NULL, v.iov_len, rnd(16)),
		     "splice out of %d", fd);
		break;
	case 1:
		vmsplice(p[1], &v, 1, rnd(16));
		done(splice(p[0], NULL, fd, NULL, v.iov_len, rnd(16)),
		     "splice into %d", fd);
		break;
	default:
		splice(file_fd, NULL, p[1], NULL, v.iov_len, 0);
		done(splice(p[0], NULL, fd, NULL, v.iov_len, rnd(16)),
		     "splice a file into %d", fd);
	}
	close(p[0]);
	close(p[1]);
}

const struct call io_calls[] = {
	{ "sendmsg", 40, call_sendmsg },
	{ "sendmmsg", 3, call_sendmmsg },
	{ "write", 3, call_write },
	{ "recvmsg", 35, call_recvmsg },
	{ "recvmmsg", 3, call_recvmmsg },
	{ "read", 3, call_read },
	{ "sendfile", 2, call_sendfile },
	{ "splice", 3, call_splice },
	{ }
};
