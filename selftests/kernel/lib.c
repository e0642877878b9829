// SPDX-License-Identifier: GPL-2.0
/* Sockets, messages, receipts and reports for the tests */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

int encap = DLCP_ENCAP_UDP;

static bool env_is(const char *name, const char *value)
{
	const char *s = getenv(name);

	return s && !strcmp(s, value);
}

bool in_virtual_time(void)
{
	return env_is("DLCP_LAB_TIME", "inf-cpu") ||
	       env_is("DLCP_LAB_TIME", "travel");
}

/* --- the start of a program */

const char *test_init(void)
{
	int fd;

	if (env_is("DLCP_TEST_FAMILY", "6"))
		family = AF_INET6;
	if (env_is("DLCP_TEST_ENCAP", "raw"))
		encap = DLCP_ENCAP_RAW;
	if (env_is("DLCP_LAB_DEBUG", "yes"))
		slowness *= 4;
	if (env_is("DLCP_LAB", "qemu"))
		slowness *= 2;
	if (geteuid())
		return "not root";
	fd = socket(family, SOCK_DLCP, 0);
	if (fd < 0)
		return "the module is not loaded";
	if (set_int(fd, DLCP_ENCAP, encap))
		return "the module does not offer this encap";
	close(fd);
	return NULL;
}

/* --- sockets */

int set_int(int fd, int opt, int val)
{
	return setsockopt(fd, SOL_DLCP, opt, &val, sizeof(val));
}

int dlcp_socket(void)
{
	int fd = ASSERT_OK(socket(family, SOCK_DLCP | SOCK_CLOEXEC, 0));

	ASSERT_OK(set_int(fd, DLCP_RECVWANT, 1));
	if (encap != DLCP_ENCAP_UDP)
		ASSERT_OK(set_int(fd, DLCP_ENCAP, encap));
	return fd;
}

int dlcp_socket_in(int net)
{
	int fd;

	net_enter(net);
	fd = dlcp_socket();
	net_leave();
	return fd;
}

int listen_in(int net, union addr a)
{
	int fd = dlcp_socket_in(net), on = 1;

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	ASSERT_OK(do_bind(fd, a));
	ASSERT_OK(listen(fd, 128));
	return fd;
}

int do_accept(int lfd)
{
	int fd;

	ASSERT(poll_for(lfd, POLLIN, 10000 * slowness) & POLLIN);
	fd = ASSERT_OK(accept4(lfd, NULL, NULL, SOCK_CLOEXEC));
	ASSERT_OK(set_int(fd, DLCP_RECVWANT, 1));
	return fd;
}

void set_buffers(int fd, int bytes)
{
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)));
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)));
}

void set_timeout(int fd, int opt, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)));
}

struct dlcp_info info_of(int fd)
{
	struct dlcp_info info = { 0 };
	socklen_t len = sizeof(info);

	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_INFO, &info, &len));
	return info;
}

static u32 meminfo_of(int fd, int what)
{
	u32 mem[SK_MEMINFO_VARS];
	socklen_t len = sizeof(mem);

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len));
	return mem[what];
}

long long rmem_of(int fd)
{
	return meminfo_of(fd, SK_MEMINFO_RMEM_ALLOC);
}

long long wmem_of(int fd)
{
	return meminfo_of(fd, SK_MEMINFO_WMEM_QUEUED);
}

int poll_for(int fd, int events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	ASSERT_OK(poll(&p, 1, ms));
	return p.revents;
}

void check_words(int fd, const char *words)
{
	char text[DLCP_ERROR_TEXT_MAX] = "";
	socklen_t len = sizeof(text);

	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, text, &len));
	if (!strstr(text, words))
		test_failed(false, "\"%s\" has no \"%s\"", text, words);
}

int sock_error(int fd)
{
	int err = -1;
	socklen_t len = sizeof(err);

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
	return err;
}

struct pair pair_from(int fd, int net_b, union addr to)
{
	int lfd = listen_in(net_b, to);
	struct pair p = { .a = fd };

	ASSERT_OK(do_connect(fd, to));
	p.b = do_accept(lfd);
	close(lfd);
	return p;
}

struct pair pair_between(int net_a, int net_b, union addr to)
{
	return pair_from(dlcp_socket_in(net_a), net_b, to);
}

struct pair pair_lo(void)
{
	return pair_between(-1, -1, addr_lo(PORT));
}

struct pair pair_hosts(const struct hosts *h)
{
	return pair_between(h->net[H0], h->net[H1], addr_host(h, H1, PORT));
}

void pair_close(struct pair *p)
{
	close(p->a);
	close(p->b);
}

/* --- bytes */

/* A word of a message's pattern: position- and seed-dependent, never zero */
static u64 pattern(u64 seed, u64 i)
{
	u64 x = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL;

	x ^= x >> 31;
	x *= 0x94d049bb133111ebULL;
	x ^= x >> 29;
	/* no zero byte: what is missing cannot look like what is there */
	return x | 0x0101010101010101ULL;
}

void fill(void *buf, size_t len, u64 seed)
{
	u8 *p = buf;
	size_t i;
	u64 w;

	for (i = 0; i < len; i += 8) {
		w = pattern(seed, i / 8);
		memcpy(p + i, &w, len - i < 8 ? len - i : 8);
	}
}

/* First byte of [from, to) that is not the pattern's; @to if none */
static u64 first_wrong(const u8 *buf, u64 seed, u64 from, u64 to)
{
	u64 i = from, w;

	while (i < to) {
		w = pattern(seed, i / 8);
		if (i % 8 == 0 && to - i >= 8 && !memcmp(buf + i, &w, 8)) {
			i += 8;
			continue;
		}
		if (buf[i] != (u8)(w >> i % 8 * 8))
			return i;
		i++;
	}
	return to;
}

static u64 first_not(const u8 *buf, u8 value, u64 from, u64 to)
{
	while (from < to && buf[from] == value)
		from++;
	return from;
}

/* --- messages out */

struct dlcp_tags *tags_new(size_t len, u32 stride, const char *kinds)
{
	u32 n = (len + stride - 1) / stride, i, period = strlen(kinds);
	struct dlcp_tags *t = calloc(1, sizeof(*t) + (n + 3) / 4);
	int tag;

	t->stride = stride;
	t->count = n;
	for (i = 0; i < n; i++) {
		tag = kinds[i % period] == 'c' ? DLCP_TAG_CRITICAL :
		      kinds[i % period] == 'd' ? DLCP_TAG_DROPPABLE :
						   DLCP_TAG_IMPORTANT;
		t->tags[i / 4] |= tag << i % 4 * 2;
	}
	return t;
}

int tag_at(const struct dlcp_tags *t, u64 offset)
{
	u64 i = offset / t->stride;

	return t->tags[i / 4] >> i % 4 * 2 & 3;
}

static struct dlcp_attr attr_of(const struct msg *m)
{
	return (struct dlcp_attr){
		.mask = DLCP_ATTR_ALL,
		.flags = m->flags,
		.key = m->key,
		.length = m->len,
		.cookie = m->cookie,
		.loss_ppm = m->loss,
		.deadline_us = m->deadline_us,
		.elem_size = m->elem,
		.prio = m->prio,
		.group = m->group,
	};
}

/* Append to a control buffer that is large enough and zeroed */
static void put_cmsg(struct msghdr *mh, int type, const void *data, size_t len)
{
	struct cmsghdr *cm = (void *)((u8 *)mh->msg_control +
				      mh->msg_controllen);

	cm->cmsg_level = SOL_DLCP;
	cm->cmsg_type = type;
	cm->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cm), data, len);
	mh->msg_controllen += CMSG_SPACE(len);
}

ssize_t send_bytes(int fd, const struct msg *m, const void *buf, int flags)
{
	struct iovec iov = { (void *)buf, m->len };
	size_t tags_len = m->tags ? sizeof(*m->tags) + (m->tags->count + 3) / 4
				  : 0;
	struct dlcp_attr attr = attr_of(m);
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;
	int err;

	mh.msg_control = calloc(1, CMSG_SPACE(sizeof(attr)) +
				CMSG_SPACE(tags_len));
	put_cmsg(&mh, DLCP_CMSG_ATTR, &attr, sizeof(attr));
	if (tags_len)
		put_cmsg(&mh, DLCP_CMSG_TAGS, m->tags, tags_len);
	n = sendmsg(fd, &mh, flags | MSG_NOSIGNAL);
	err = errno;
	free(mh.msg_control);
	errno = err;
	return n;
}

ssize_t send_msg(int fd, const struct msg *m, int flags)
{
	u8 *buf = malloc(m->len + 8);
	ssize_t n;
	int err;

	fill(buf, m->len, m->key + m->seed);
	n = send_bytes(fd, m, buf, flags);
	err = errno;
	free(buf);
	errno = err;
	return n;
}

void must_send(int fd, const struct msg *m)
{
	ASSERT_EQ(send_msg(fd, m, 0), (ssize_t)m->len);
}

/* --- messages in */

void got_init(struct got *g, size_t size)
{
	*g = (struct got){
		.buf = malloc(size + 64),
		.size = size,
		.max_ranges = size / 1024 + 64,
	};
	g->ranges = malloc(g->max_ranges * sizeof(*g->ranges));
	memset(g->buf, CANARY, size + 64);
}

void got_free(struct got *g)
{
	free(g->buf);
	free(g->ranges);
	memset(g, 0, sizeof(*g));
}

static void parse_got(struct got *g, struct msghdr *mh)
{
	struct cmsghdr *cm;
	size_t len;

	g->eof = true;
	g->nr_ranges = 0;
	g->flags = mh->msg_flags;
	for (cm = CMSG_FIRSTHDR(mh); cm; cm = CMSG_NXTHDR(mh, cm)) {
		EXPECT_EQ(cm->cmsg_level, SOL_DLCP);
		len = cm->cmsg_len - CMSG_LEN(0);
		if (cm->cmsg_type == DLCP_CMSG_MSG) {
			EXPECT_EQ(len, sizeof(g->msg));
			memcpy(&g->msg, CMSG_DATA(cm), sizeof(g->msg));
			g->eof = false;
		} else if (cm->cmsg_type == DLCP_CMSG_RANGES) {
			EXPECT_EQ(len % sizeof(*g->ranges), 0);
			memcpy(g->ranges, CMSG_DATA(cm), len);
			g->nr_ranges = len / sizeof(*g->ranges);
		} else {
			test_failed(false, "unexpected control message %d",
				    cm->cmsg_type);
		}
	}
}

ssize_t recv_want(int fd, struct got *g, const struct dlcp_want *w, int flags)
{
	static const struct dlcp_want any;
	struct iovec iov = { g->buf, g->size };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	size_t room = CMSG_SPACE(sizeof(*w)) + CMSG_SPACE(sizeof(g->msg)) +
		      CMSG_SPACE(g->max_ranges * sizeof(*g->ranges));
	int err;

	mh.msg_control = calloc(1, room);
	put_cmsg(&mh, DLCP_CMSG_WANT, w ? w : &any, sizeof(*w));
	mh.msg_controllen = room;
	memset(&g->msg, 0, sizeof(g->msg));
	g->keep = w && (w->flags & DLCP_WANT_KEEP);
	g->n = recvmsg(fd, &mh, flags);
	err = errno;
	if (g->n >= 0)
		parse_got(g, &mh);
	free(mh.msg_control);
	errno = err;
	return g->n;
}

ssize_t recv_key(int fd, struct got *g, u64 key, int flags)
{
	struct dlcp_want w = { .key = key, .flags = DLCP_WANT_KEY };

	return recv_want(fd, g, &w, flags);
}

ssize_t recv_any(int fd, struct got *g, int flags)
{
	return recv_want(fd, g, NULL, flags);
}

/* --- reports */

static void add_report(struct sent *s, const struct cmsghdr *cm)
{
	EXPECT_EQ(cm->cmsg_len, CMSG_LEN(sizeof(s->r)));
	memset(s, 0, sizeof(*s));
	memcpy(&s->r, CMSG_DATA(cm), sizeof(s->r));
}

static void add_ranges(struct sent *s, const struct cmsghdr *cm)
{
	size_t len = cm->cmsg_len - CMSG_LEN(0);

	s->ranges = malloc(len);
	memcpy(s->ranges, CMSG_DATA(cm), len);
	s->nr_ranges = len / sizeof(*s->ranges);
}

int read_reports(int fd, struct sent *s, int max, int flags)
{
	/* for ranges as well: some 40,000 */
	size_t room = max * CMSG_SPACE(sizeof(s->r)) + MB;
	struct msghdr mh = { .msg_control = calloc(1, room),
			     .msg_controllen = room };
	ssize_t n = recvmsg(fd, &mh, MSG_ERRQUEUE | MSG_DONTWAIT | flags);
	struct cmsghdr *cm;
	int nr = 0, err = errno;

	for (cm = CMSG_FIRSTHDR(&mh); n >= 0 && cm; cm = CMSG_NXTHDR(&mh, cm)) {
		if (cm->cmsg_type == DLCP_CMSG_REPORT) {
			ASSERT(nr < max);
			add_report(&s[nr++], cm);
		} else {
			ASSERT_EQ(cm->cmsg_type, DLCP_CMSG_RANGES);
			ASSERT_GT(nr, 0);
			add_ranges(&s[nr - 1], cm);
		}
	}
	free(mh.msg_control);
	errno = err;
	return n < 0 ? -1 : nr;
}

int read_zerocopy(int fd, struct zerocopy *z)
{
	union { struct cmsghdr align; char room[256]; } control;
	struct msghdr mh = { .msg_control = &control,
			     .msg_controllen = sizeof(control) };
	struct sock_extended_err ee;
	struct cmsghdr *cm;

	if (recvmsg(fd, &mh, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return -1;
	EXPECT(mh.msg_flags & MSG_ERRQUEUE);
	cm = CMSG_FIRSTHDR(&mh);
	ASSERT(cm);
	EXPECT_EQ(cm->cmsg_level, family == AF_INET ? SOL_IP : SOL_IPV6);
	EXPECT_EQ(cm->cmsg_type, family == AF_INET ? IP_RECVERR : IPV6_RECVERR);
	memcpy(&ee, CMSG_DATA(cm), sizeof(ee));
	EXPECT_EQ(ee.ee_errno, 0);
	EXPECT_EQ(ee.ee_origin, SO_EE_ORIGIN_ZEROCOPY);
	z->lo = ee.ee_info;
	z->hi = ee.ee_data;
	z->copied = ee.ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	return 0;
}

void wait_zerocopy(int fd, u32 nr, struct zerocopy *all)
{
	struct zerocopy z;
	u32 n;

	for (n = 0; n < nr; n += z.hi - z.lo + 1) {
		/* an error of the socket makes it ready, too */
		ASSERT(poll_for(fd, 0, 20000 * slowness) & POLLERR);
		WAIT_FOR(!read_zerocopy(fd, &z));
		ASSERT_LE(z.lo, z.hi);
		*all = (struct zerocopy){
			.lo = n && all->lo < z.lo ? all->lo : z.lo,
			.hi = n && all->hi > z.hi ? all->hi : z.hi,
			.copied = (n && all->copied) || z.copied,
		};
	}
	ASSERT_EQ(n, nr);
}

void wait_report(int fd, struct sent *s)
{
	int n;

	ASSERT(poll_for(fd, 0, 20000 * slowness) & POLLERR);
	n = ASSERT_OK(read_reports(fd, s, 1, 0));
	ASSERT_EQ(n, 1);
}

void sent_free(struct sent *s)
{
	free(s->ranges);
	memset(s, 0, sizeof(*s));
}

/* --- the promises */

static void check_range(const struct msg *m, const struct got *g,
			const struct dlcp_range *r)
{
	u64 end = r->offset + r->length, at;
	u8 hole = g->keep ? CANARY : 0;

	EXPECT_GT(r->length, 0);
	ASSERT_LE(end, m->len);
	EXPECT_EQ(r->offset % g->msg.seg_size, 0);
	EXPECT(end == m->len || end % g->msg.seg_size == 0);
	EXPECT(r->why >= DLCP_WHY_FORGIVEN && r->why <= DLCP_WHY_DISCARDED);
	if (!(g->msg.flags & DLCP_MSG_DISCARDED))
		EXPECT_EQ(first_not(g->buf, hole, r->offset, end), end);
	if (!m->tags || (g->msg.flags & DLCP_MSG_BELOW_BOUND))
		return;
	for (at = r->offset; at < end; at++)
		if (tag_at(m->tags, at) == DLCP_TAG_CRITICAL) {
			test_failed(false, "critical byte %llu is missing",
				    (unsigned long long)at);
			return;
		}
}

static void check_exact(const struct msg *m, const struct got *g, u64 from,
			u64 to)
{
	u64 bad;

	if (g->msg.flags & DLCP_MSG_DISCARDED)
		return;
	bad = first_wrong(g->buf, m->key + m->seed, from, to);
	if (bad != to)
		test_failed(false, "byte %llu of %zu is wrong: %#x",
			    (unsigned long long)bad, m->len, g->buf[bad]);
}

static void check_bound(const struct msg *m, const struct got *g)
{
	u64 bound = (unsigned __int128)m->len * m->loss / DLCP_PPM;

	if (g->msg.flags & DLCP_MSG_DISCARDED)
		return;
	if (g->msg.flags & DLCP_MSG_BELOW_BOUND)
		EXPECT(m->flags & DLCP_MSG_HARD_DEADLINE);
	else if (!m->group)
		EXPECT_LE(g->msg.missing, bound);
}

void check_got(const struct msg *m, const struct got *g)
{
	u64 at = 0, missing = 0;
	size_t i;

	ASSERT(!g->eof);
	EXPECT_EQ(g->n, m->len);
	EXPECT_EQ(g->flags & (MSG_TRUNC | MSG_CTRUNC), 0);
	EXPECT_EQ(g->msg.key, m->key);
	EXPECT_EQ(g->msg.length, m->len);
	EXPECT_EQ(g->msg.loss_ppm, m->loss);
	EXPECT_EQ(g->msg.elem_size, m->elem);
	EXPECT_EQ(g->msg.prio, m->prio);
	EXPECT_EQ(g->msg.complete, 1);
	EXPECT_EQ(g->msg.nr_ranges, g->nr_ranges);
	ASSERT_GT(g->msg.seg_size, 0);
	EXPECT_EQ(g->msg.seg_size % m->elem, 0);
	for (i = 0; i < g->nr_ranges; i++) {
		/* two that touch would be one, but for different reasons */
		EXPECT_GE(g->ranges[i].offset, at);
		check_exact(m, g, at, g->ranges[i].offset);
		check_range(m, g, &g->ranges[i]);
		missing += g->ranges[i].length;
		at = g->ranges[i].offset + g->ranges[i].length;
	}
	check_exact(m, g, at, m->len);
	EXPECT_EQ(missing, g->msg.missing);
	check_bound(m, g);
	/* nothing is written behind the message */
	EXPECT_EQ(first_not(g->buf, CANARY, m->len, g->size + 64),
		  g->size + 64);
}

#define KERNEL_FLAGS	(DLCP_MSG_BELOW_BOUND | DLCP_MSG_STOPPED | \
			 DLCP_MSG_LATE | DLCP_MSG_DISCARDED)

void check_agree(const struct got *g, const struct sent *s)
{
	u32 flags = KERNEL_FLAGS;
	size_t i;

	/* Of a message that is whole the sender judges by its own clock: what
	 * came late is late for it, too.
	 */
	if (!g->msg.missing && !(g->msg.flags & DLCP_MSG_LATE))
		flags &= ~DLCP_MSG_LATE;

	EXPECT_EQ(s->r.error, 0);
	EXPECT_EQ(s->r.key, g->msg.key);
	EXPECT_EQ(s->r.id, g->msg.id);
	EXPECT_EQ(s->r.length, g->msg.length);
	EXPECT_EQ(s->r.missing, g->msg.missing);
	EXPECT_EQ(s->r.flags & flags, g->msg.flags & flags);
	EXPECT_EQ(s->r.nr_ranges, s->nr_ranges);
	if (!EXPECT_EQ(s->nr_ranges, g->nr_ranges))
		return;
	for (i = 0; i < g->nr_ranges; i++) {
		EXPECT_EQ(s->ranges[i].offset, g->ranges[i].offset);
		EXPECT_EQ(s->ranges[i].length, g->ranges[i].length);
		EXPECT_EQ(s->ranges[i].why, g->ranges[i].why);
	}
}

static bool all_over(int from, int to)
{
	struct dlcp_info tx = info_of(from), rx = info_of(to);

	return tx.tx_msgs == tx.tx_msgs_done && rx.rx_msgs == rx.rx_msgs_done &&
	       tx.tx_msgs == rx.rx_msgs;
}

void check_counters(int from, int to)
{
	struct dlcp_info tx, rx;

	WAIT_FOR(all_over(from, to));
	tx = info_of(from);
	rx = info_of(to);
	EXPECT_EQ(tx.tx_offered, tx.tx_delivered + tx.tx_forgiven);
	EXPECT_EQ(rx.rx_offered, rx.rx_delivered + rx.rx_forgiven);
	EXPECT_EQ(tx.tx_offered, rx.rx_offered);
	EXPECT_EQ(tx.tx_forgiven, rx.rx_forgiven);
	EXPECT_LE(tx.tx_offered - tx.tx_forgiven, tx.tx_sent);
	EXPECT_LE(tx.tx_resent, tx.tx_sent);
}

/*
 * What is late, on several or busy processors, looks lost for a moment, and
 * then comes twice.
 */
long long really_lost(int from, int to)
{
	return info_of(from).tx_resent - info_of(to).rx_dup;
}

/* --- threads */

static void *task_main(void *arg)
{
	struct task *t = arg;

	__atomic_store_n(&t->tid, gettid(), __ATOMIC_RELEASE);
	t->fn(t->arg);
	__atomic_store_n(&t->done, true, __ATOMIC_RELEASE);
	return NULL;
}

void task_start(struct task *t, void (*fn)(void *), void *arg)
{
	*t = (struct task){ .fn = fn, .arg = arg };
	ASSERT_EQ(pthread_create(&t->thread, NULL, task_main, t), 0);
}

void task_join(struct task *t)
{
	HERE();
	pthread_join(t->thread, NULL);
}

bool pid_sleeps(pid_t pid)
{
	char path[64], *text;
	bool sleeps;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	text = file_read(-1, path);
	/* also where only a fatal signal would wake it */
	sleeps = text && (strstr(text, ") S ") || strstr(text, ") D "));
	free(text);
	return sleeps;
}

bool task_sleeps(const struct task *t)
{
	return pid_sleeps(__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE));
}

void hole_new(struct hole *h, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	h->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (h->uffd < 0 && errno == ENOSYS)
		SKIP("needs userfaultfd");
	ASSERT_OK(h->uffd);
	ASSERT_OK(ioctl(h->uffd, UFFDIO_API, &api));
	h->len = len;
	h->p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(h->p != MAP_FAILED);
	reg.range.start = (unsigned long)h->p;
	reg.range.len = len;
	ASSERT_OK(ioctl(h->uffd, UFFDIO_REGISTER, &reg));
}

void hole_wait(struct hole *h)
{
	struct uffd_msg fault;

	ASSERT_EQ(read(h->uffd, &fault, sizeof(fault)), sizeof(fault));
}

void hole_fill(struct hole *h)
{
	struct uffdio_zeropage zero = {
		.range.start	= (unsigned long)h->p,
		.range.len	= h->len,
	};

	ASSERT_OK(ioctl(h->uffd, UFFDIO_ZEROPAGE, &zero));
}

static void stuck_main(void *arg)
{
	struct stuck *s = arg;
	struct msg m = MSG(.len = s->hole.len);

	send_bytes(s->fd, &m, s->hole.p, 0);
}

void stuck_start(struct stuck *s, int fd)
{
	s->fd = fd;
	hole_new(&s->hole, 64 * KB);
	task_start(&s->task, stuck_main, s);
	hole_wait(&s->hole);
	WAIT_FOR(task_sleeps(&s->task));
}

void stuck_end(struct stuck *s)
{
	hole_fill(&s->hole);
	task_join(&s->task);
}

pid_t spawn(void (*fn)(void *), void *arg, int not)
{
	pid_t pid = ASSERT_OK(fork());

	if (!pid) {
		close(not);
		fn(arg);
		_exit(0);
	}
	return pid;
}

/* --- whole transfers */

void sending_main(void *arg)
{
	struct sending *s = arg;

	must_send(s->fd, s->m);
}

struct outcome transfer(int from, int to, struct msg *m)
{
	struct sending sending = { from, m };
	struct outcome o = { 0 };
	long long start;
	struct task t;

	got_init(&o.got, m->len);
	start = now_ms();
	task_start(&t, sending_main, &sending);
	ASSERT_OK(recv_key(to, &o.got, m->key, 0));
	o.ms = now_ms() - start;
	task_join(&t);
	check_got(m, &o.got);
	if (m->flags & DLCP_MSG_REPORT) {
		wait_report(from, &o.sent);
		EXPECT_EQ(o.sent.r.cookie, m->cookie);
		check_agree(&o.got, &o.sent);
	}
	return o;
}

void outcome_free(struct outcome *o)
{
	got_free(&o->got);
	sent_free(&o->sent);
}

void pass(int from, int to, struct msg *m)
{
	struct outcome o = transfer(from, to, m);

	outcome_free(&o);
}

void passing_main(void *arg)
{
	struct passing *p = arg;

	pass(p->from, p->to, p->m);
	/* Several may share a message, if each sends it once */
	while (__atomic_load_n(&p->again, __ATOMIC_ACQUIRE)) {
		p->m->key++;
		pass(p->from, p->to, p->m);
	}
}

/* After the message that is under way */
void passing_end(struct passing *p, struct task *t)
{
	__atomic_store_n(&p->again, false, __ATOMIC_RELEASE);
	task_join(t);
}

void underway_start(struct underway *u, const char *rate)
{
	u->p = pair_hosts(&u->h);
	netem(&u->h, H0, "rate %s", rate);
	u->there.from = u->p.a;
	u->there.to = u->p.b;
	u->there.m = &u->m;
	task_start(&u->t, passing_main, &u->there);
}

void underway_wait(struct underway *u, u64 bytes)
{
	u64 at = info_of(u->p.b).rx_delivered;

	WAIT_FOR(u->t.done || info_of(u->p.b).rx_delivered > at + bytes);
}

void ping_pong(struct pair *p)
{
	struct msg m = MSG(.len = 1000, .key = 0x9199);

	pass(p->a, p->b, &m);
	pass(p->b, p->a, &m);
}

/* --- the module */

const char *module_path(void)
{
	return getenv("DLCP_TEST_MODULE");
}

int module_load(const char *args)
{
	int fd = ASSERT_OK(open(module_path(), O_RDONLY | O_CLOEXEC));
	int ret = syscall(SYS_finit_module, fd, args, 0), err = errno;

	close(fd);
	errno = err;
	return ret;
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "dlcp", O_NONBLOCK);
}
