// SPDX-License-Identifier: GPL-2.0
/* Other ways to send and receive than sendmsg() and recvmsg(): io_uring, write(),
 * splice(), sendfile(); and calls of 2 GiB and more, which the kernel cuts
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib.h"

/* --- io_uring */

struct ring {
	int			fd;
	unsigned int		*sq_tail;
	unsigned int		*sq_array;
	unsigned int		sq_mask;
	struct io_uring_sqe	*sqes;
	unsigned int		*cq_head;
	unsigned int		*cq_tail;
	unsigned int		cq_mask;
	struct io_uring_cqe	*cqes;
	unsigned int		flags;	/* of what ended last */
};

static void *ring_map(int fd, size_t len, off_t what)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, fd, what);

	ASSERT(p != MAP_FAILED);
	return p;
}

static void ring_open(struct ring *r)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	r->fd = syscall(__NR_io_uring_setup, 8, &p);
	if (r->fd < 0 && (errno == ENOSYS || errno == EPERM))
		SKIP("no io_uring here");
	ASSERT_OK(r->fd);
	sq = ring_map(r->fd, p.sq_off.array + p.sq_entries * sizeof(int),
		      IORING_OFF_SQ_RING);
	cq = ring_map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes),
		      IORING_OFF_CQ_RING);
	r->sqes = ring_map(r->fd, p.sq_entries * sizeof(*r->sqes),
			   IORING_OFF_SQES);
	r->sq_tail = (void *)(sq + p.sq_off.tail);
	r->sq_array = (void *)(sq + p.sq_off.array);
	r->sq_mask = *(unsigned int *)(sq + p.sq_off.ring_mask);
	r->cq_head = (void *)(cq + p.cq_off.head);
	r->cq_tail = (void *)(cq + p.cq_off.tail);
	r->cq_mask = *(unsigned int *)(cq + p.cq_off.ring_mask);
	r->cqes = (void *)(cq + p.cq_off.cqes);
}

static void ring_begin(struct ring *r, struct io_uring_sqe sqe)
{
	unsigned int i = *r->sq_tail & r->sq_mask;

	r->sqes[i] = sqe;
	r->sq_array[i] = i;
	__atomic_store_n(r->sq_tail, *r->sq_tail + 1, __ATOMIC_RELEASE);
	ASSERT_EQ(syscall(__NR_io_uring_enter, r->fd, 1, 0, 0, NULL, 0), 1);
}

/* Result: what the operation gave that ended next */
static int ring_end(struct ring *r)
{
	int res;

	ASSERT_OK(syscall(__NR_io_uring_enter, r->fd, 0, 1,
			  IORING_ENTER_GETEVENTS, NULL, 0));
	ASSERT(__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) != *r->cq_head);
	res = r->cqes[*r->cq_head & r->cq_mask].res;
	r->flags = r->cqes[*r->cq_head & r->cq_mask].flags;
	__atomic_store_n(r->cq_head, *r->cq_head + 1, __ATOMIC_RELEASE);
	return res;
}

/* One operation, from its submission to its end. Result: what it gave */
static int ring_do(struct ring *r, struct io_uring_sqe sqe)
{
	ring_begin(r, sqe);
	return ring_end(r);
}

static struct io_uring_sqe sqe_of(int op, int fd, void *addr, size_t len)
{
	return (struct io_uring_sqe) {
		.opcode = op, .fd = fd, .addr = (uintptr_t)addr, .len = len,
	};
}

struct receiving {
	int		fd;
	struct msg	m;
};

static void receiving_main(void *arg)
{
	struct receiving *r = arg;
	struct got g;

	got_init(&g, r->m.len);
	ASSERT_OK(recv_any(r->fd, &g, 0));
	check_got(&r->m, &g);
	got_free(&g);
}

/* A message of @len bytes by operation @op, to a blocking reader */
static void ring_sends(struct ring *r, struct pair *p, int op, size_t len,
		       int flags)
{
	struct receiving rec = { p->b, MSG(.len = len) };
	char *buf = malloc(len ?: 1);
	struct iovec iov = { buf, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct io_uring_sqe sqe = sqe_of(op, p->a, buf, len);
	struct task t;

	fill(buf, len, 0);
	if (op == IORING_OP_SENDMSG)
		sqe = sqe_of(op, p->a, &mh, 1);
	sqe.flags = flags;
	task_start(&t, receiving_main, &rec);
	EXPECT_EQ(ring_do(r, sqe), len);
	task_join(&t);
	free(buf);
}

/* Whatever the length, it is one message, and whole: what cannot be taken without
 * waiting a worker of io_uring sends
 */
TEST_LIMIT(uring_sends, 120)
{
	static const int ops[] = {
		IORING_OP_SEND, IORING_OP_SENDMSG, IORING_OP_WRITE,
	};
	static const size_t lens[] = { 0, 1, 1000, 300000, 5 * MB };
	struct pair p = pair_lo();
	struct ring r;
	int i, k;

	ring_open(&r);
	set_buffers(p.a, 200000);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			/* write() of nothing is no call of the socket's */
			if (ops[i] == IORING_OP_WRITE && !lens[k])
				continue;
			ring_sends(&r, &p, ops[i], lens[k], 0);
			ring_sends(&r, &p, ops[i], lens[k], IOSQE_ASYNC);
		}
	}
	check_counters(p.a, p.b);
}

/* Who asked for it himself, or has O_NONBLOCK, gets the errno */
TEST(uring_without_waiting)
{
	struct pair p = pair_lo();
	size_t len = 4 * MB;
	char *buf = calloc(1, len);
	struct io_uring_sqe sqe = sqe_of(IORING_OP_SEND, p.a, buf, len);
	struct ring r;

	ring_open(&r);
	set_buffers(p.a, 100000);
	sqe.msg_flags = MSG_DONTWAIT;
	EXPECT_EQ(ring_do(&r, sqe), -EAGAIN);
	ASSERT_OK(fcntl(p.a, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(ring_do(&r, sqe), -EMSGSIZE);
	sqe.msg_flags = 0;
	EXPECT_EQ(ring_do(&r, sqe), -EMSGSIZE);
	sqe.len = 1000;
	EXPECT_EQ(ring_do(&r, sqe), 1000);
	ASSERT_OK(fcntl(p.a, F_SETFL, 0));
	EXPECT_EQ(info_of(p.a).tx_msgs, 1);
#ifdef IORING_CQE_F_NOTIF
	/* Zero-copy sends are DLCP's own: see dlcp(7) */
	sqe = sqe_of(IORING_OP_SEND_ZC, p.a, buf, 1000);
	EXPECT_EQ(ring_do(&r, sqe), -EOPNOTSUPP);
#endif
}

TEST_LIMIT(uring_receives, 120)
{
	static const size_t lens[] = { 1, 1000, 300000, 20 * MB };
	struct pair p = pair_lo();
	struct sending s;
	struct iovec iov;
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct ring r;
	struct task t;
	struct msg m;
	char *buf, *want;
	int i;

	ring_open(&r);
	for (i = 0; i < 2 * ARRAY_SIZE(lens); i++) {
		m = MSG(.len = lens[i / 2]);
		s = (struct sending){ p.a, &m };
		buf = calloc(1, m.len);
		want = calloc(1, m.len);
		fill(want, m.len, m.seed + m.key);
		iov = (struct iovec){ buf, m.len };
		task_start(&t, sending_main, &s);
		EXPECT_EQ(ring_do(&r, i % 2 ?
				  sqe_of(IORING_OP_RECVMSG, p.b, &mh, 1) :
				  sqe_of(IORING_OP_RECV, p.b, buf, m.len)),
			  m.len);
		EXPECT(!memcmp(buf, want, m.len));
		task_join(&t);
		free(buf);
		free(want);
	}
}

/* Into a registered buffer: the operation before has received a part of it when it is
 * cancelled. The buffer is the same in another ring, where the kernel keeps another
 * list of its pages.
 */
TEST_LIMIT(uring_continues, 60)
{
	struct msg m = MSG(.len = 600 * KB);
	char *buf = calloc(1, m.len), *want = malloc(m.len), *other = calloc(1, m.len);
	struct iovec iov[] = { { other, m.len }, { buf, m.len } };
	struct io_uring_sqe sqe;
	struct sending s;
	struct ring r[2];
	struct hosts h;
	struct pair p;
	struct task t;
	int i;

	fill(want, m.len, m.seed + m.key);
	for (i = 0; i < 2; i++) {
		ring_open(&r[i]);
		ASSERT_OK(syscall(__NR_io_uring_register, r[i].fd,
				  IORING_REGISTER_BUFFERS, iov, 2));
	}
	hosts_open(&h);
	netem(&h, H0, "rate 8mbit");
	p = pair_hosts(&h);
	set_buffers(p.b, 50000);
	s = (struct sending){ p.a, &m };
	task_start(&t, sending_main, &s);
	WAIT_FOR(info_of(p.b).rx_delivered > 0);
	sqe = sqe_of(IORING_OP_READ_FIXED, p.b, buf, m.len);
	sqe.buf_index = 1;
	ring_begin(&r[0], sqe);
	EXPECT_ERR(recv(p.b, other, m.len, MSG_DONTWAIT), EBUSY);
	ring_begin(&r[0], (struct io_uring_sqe){ .opcode = IORING_OP_ASYNC_CANCEL });
	for (i = 0; i < 2; i++)
		ring_end(&r[0]);
	EXPECT_ERR(recv(p.b, other, m.len, MSG_DONTWAIT), EBUSY);
	EXPECT_EQ(ring_do(&r[1], sqe), m.len);
	EXPECT(!memcmp(buf, want, m.len));
	task_join(&t);
}

#ifdef IORING_RECV_MULTISHOT
#define GROUP_ROOM	(1 * MB)

/* Four buffers, from which the kernel chooses one for each message */
static char *ring_buffers(struct ring *r, struct io_uring_buf_ring **group)
{
	struct io_uring_buf_reg reg = { .ring_entries = 4, .bgid = 1 };
	char *room = calloc(4, GROUP_ROOM);
	int i;

	*group = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(*group != MAP_FAILED);
	reg.ring_addr = (uintptr_t)*group;
	ASSERT_OK(syscall(__NR_io_uring_register, r->fd,
			  IORING_REGISTER_PBUF_RING, &reg, 1));
	for (i = 0; i < 4; i++) {
		(*group)->bufs[i].addr = (uintptr_t)room + i * GROUP_ROOM;
		(*group)->bufs[i].len = GROUP_ROOM;
		(*group)->bufs[i].bid = i;
	}
	__atomic_store_n(&(*group)->tail, 4, __ATOMIC_RELEASE);
	return room;
}

/* One operation on a registered file receives message after message, also one that
 * comes in parts. It ends at one that is too long, which is still there.
 */
TEST_LIMIT(uring_multishot, 60)
{
	static const size_t lens[] = { 1, 3000, 600 * KB, GROUP_ROOM + 1 };
	char *room, *buf = malloc(GROUP_ROOM + 1), *want = malloc(GROUP_ROOM + 1);
	struct io_uring_buf_ring *group;
	struct io_uring_sqe sqe;
	struct sending s;
	struct hosts h;
	struct pair p;
	struct task t;
	struct ring r;
	struct msg m;
	int i, id;

	ring_open(&r);
	room = ring_buffers(&r, &group);
	hosts_open(&h);
	netem(&h, H0, "rate 80mbit");
	p = pair_hosts(&h);
	set_buffers(p.b, 50000);
	ASSERT_OK(syscall(__NR_io_uring_register, r.fd, IORING_REGISTER_FILES,
			  &p.b, 1));
	sqe = sqe_of(IORING_OP_RECV, 0, NULL, 0);
	sqe.flags = IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
	sqe.ioprio = IORING_RECV_MULTISHOT;
	sqe.buf_group = 1;
	ring_begin(&r, sqe);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		m = MSG(.len = lens[i]);
		s = (struct sending){ p.a, &m };
		fill(want, m.len, m.seed + m.key);
		task_start(&t, sending_main, &s);
		if (m.len > GROUP_ROOM)
			break;
		ASSERT_EQ(ring_end(&r), m.len);
		EXPECT(r.flags & IORING_CQE_F_MORE);
		id = r.flags >> IORING_CQE_BUFFER_SHIFT;
		EXPECT(!memcmp(room + id * GROUP_ROOM, want, m.len));
		task_join(&t);
	}
	EXPECT_EQ(ring_end(&r), -EMSGSIZE);
	EXPECT(!(r.flags & IORING_CQE_F_MORE));
	EXPECT_EQ(recv(p.b, buf, m.len, 0), m.len);
	EXPECT(!memcmp(buf, want, m.len));
	task_join(&t);
}
#endif

/* --- splice(), sendfile() and MSG_MORE: they would cut or join messages */

static int file_of(size_t len)
{
	int fd = memfd_create("dlcp", 0);
	char *buf = calloc(1, len);

	ASSERT_OK(fd);
	ASSERT_EQ(write(fd, buf, len), len);
	ASSERT_EQ(lseek(fd, 0, SEEK_SET), 0);
	free(buf);
	return fd;
}

TEST(no_pages_of_others)
{
	struct pair p = pair_lo();
	int file = file_of(100000), fds[2];
	struct msg m = MSG(.len = 3000);
	static char buf[50000];
	struct iovec iov = { buf, sizeof(buf) };
	struct got g;

	EXPECT_ERR(sendfile(p.a, file, NULL, 100000), EINVAL);
	EXPECT_ERR(sendfile(p.a, file, NULL, 100), EINVAL);
	ASSERT_OK(pipe(fds));
	ASSERT_OK(write(fds[1], buf, 20000));
	EXPECT_ERR(splice(fds[0], NULL, p.a, NULL, 20000, 0), EINVAL);
	EXPECT_ERR(splice(fds[0], NULL, p.a, NULL, 100, SPLICE_F_MORE), EINVAL);
	ASSERT_OK(vmsplice(fds[1], &iov, 1, SPLICE_F_NONBLOCK));
	EXPECT_ERR(splice(fds[0], NULL, p.a, NULL, 40000, 0), EINVAL);
	EXPECT_EQ(info_of(p.a).tx_msgs, 0);
	/* what could not be spliced is still in the pipe */
	EXPECT_EQ(read(fds[0], buf, 20000), 20000);
	/* nor out of the socket: the message stays */
	must_send(p.a, &m);
	ASSERT(poll_for(p.b, POLLIN, 5000) & POLLIN);
	EXPECT_ERR(splice(p.b, NULL, fds[1], NULL, 3000, 0), EINVAL);
	EXPECT_ERR(sendfile(file, p.b, NULL, 3000), EINVAL);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
}

TEST(msg_more)
{
	struct pair p = pair_lo();
	char buf[100] = { 0 };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct mmsghdr mm = { .msg_hdr = mh };

	EXPECT_ERR(send(p.a, buf, sizeof(buf), MSG_MORE), EOPNOTSUPP);
	EXPECT_ERR(sendmsg(p.a, &mh, MSG_MORE), EOPNOTSUPP);
	EXPECT_ERR(sendmmsg(p.a, &mm, 1, MSG_MORE), EOPNOTSUPP);
	EXPECT_EQ(info_of(p.a).tx_msgs, 0);
	/* each is a record in any case */
	EXPECT_EQ(send(p.a, buf, sizeof(buf), MSG_EOR), sizeof(buf));
	EXPECT_EQ(recv(p.b, buf, sizeof(buf), 0), sizeof(buf));
}

/* --- 2 GiB and more: the kernel cuts the call, and none of it may be sent */

#define GB	(1ULL << 30)

static void sends_nothing(int fd, char *p, size_t len, int flags)
{
	struct iovec one = { p, len };
	struct iovec many[4] = {
		{ p, len / 4 }, { p, len / 4 }, { p, len / 4 },
		{ p, len - len / 4 * 3 },
	};
	struct msghdr mh = { .msg_iov = &one, .msg_iovlen = 1 };
	struct msghdr mh4 = { .msg_iov = many, .msg_iovlen = 4 };
	struct mmsghdr mm[2] = { { mh }, { mh4 } };

	EXPECT_ERR(send(fd, p, len, flags), EMSGSIZE);
	EXPECT_ERR(sendto(fd, p, len, flags, NULL, 0), EMSGSIZE);
	EXPECT_ERR(sendmsg(fd, &mh, flags), EMSGSIZE);
	EXPECT_ERR(sendmsg(fd, &mh4, flags), EMSGSIZE);
	EXPECT_ERR(sendmmsg(fd, mm, 2, flags), EMSGSIZE);
	EXPECT_ERR(sendmmsg(fd, mm + 1, 1, flags), EMSGSIZE);
	EXPECT_ERR(write(fd, p, len), EMSGSIZE);
	EXPECT_ERR(writev(fd, &one, 1), EMSGSIZE);
	EXPECT_ERR(writev(fd, many, 4), EMSGSIZE);
	EXPECT_EQ(info_of(fd).tx_msgs, 0);
	EXPECT_EQ(info_of(fd).tx_offered, 0);
}

TEST(two_gigabytes)
{
	static const size_t lens[] = {
		((size_t)2047 << 20) + 1, 0x7ffff000ULL - 1, 0x7ffff000ULL, 0x7fffffffULL,
		2 * GB, 2 * GB + 100, 3 * GB, 4 * GB + 100, 5 * GB,
	};
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 1000);
	char *map;
	int i;

	map = mmap(NULL, 5 * GB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
		   MAP_NORESERVE, -1, 0);
	ASSERT(map != MAP_FAILED);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		sends_nothing(p.a, map, lens[i], 0);
		sends_nothing(p.a, map, lens[i], MSG_DONTWAIT);
	}
	pass(p.a, p.b, &m);
}

/* By io_uring, which on newer kernels refuses some such lengths itself */
static void ring_refuses(struct ring *r, struct io_uring_sqe sqe)
{
	int err = ring_do(r, sqe);

	if (err != -EINVAL)
		EXPECT_EQ(err, -EMSGSIZE);
}

TEST(two_gigabytes_by_uring)
{
	static const size_t lens[] = { 0x7ffff000ULL, 3 * GB };
	struct pair p = pair_lo();
	struct iovec iov;
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct ring r;
	char *map;
	int i;

	ring_open(&r);
	map = mmap(NULL, 3 * GB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
		   MAP_NORESERVE, -1, 0);
	ASSERT(map != MAP_FAILED);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		iov = (struct iovec){ map, lens[i] };
		ring_refuses(&r, sqe_of(IORING_OP_SEND, p.a, map, lens[i]));
		ring_refuses(&r, sqe_of(IORING_OP_SENDMSG, p.a, &mh, 1));
		ring_refuses(&r, sqe_of(IORING_OP_WRITE, p.a, map, lens[i]));
	}
	EXPECT_EQ(info_of(p.a).tx_offered, 0);
}

static void long_main(void *arg)
{
	struct iovec *iov = arg;

	send(iov->iov_len, iov->iov_base, (size_t)2047 << 20, MSG_NOSIGNAL);
}

/* What max_msg_mb says is possible is begun. It is not waited for: the end of the
 * test kills it.
 */
TEST(longest_begins)
{
	struct pair p = pair_lo();
	size_t len = (size_t)2047 << 20;
	struct iovec arg;
	struct task t;
	char *map;

	map = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
		   MAP_NORESERVE, -1, 0);
	ASSERT(map != MAP_FAILED);
	EXPECT_ERR(send(p.a, map, len, MSG_DONTWAIT), EAGAIN);
	EXPECT_EQ(info_of(p.a).tx_offered, 0);
	arg = (struct iovec){ map, p.a };
	task_start(&t, long_main, &arg);
	WAIT_FOR(info_of(p.a).tx_msgs == 1);
	EXPECT_EQ(info_of(p.a).tx_offered, len);
}
