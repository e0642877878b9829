// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses of bind() and connect(): nothing behind the end of a short one is
 * read, and what fails leaves the socket as it was.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX	62
#endif

/* RFC 2133's, without the scope */
#define SHORT_LEN	offsetof(struct sockaddr_in6, sin6_scope_id)

static int bound_dev(int fd)
{
	int dev = -1;
	socklen_t len = sizeof(dev);

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &dev, &len));
	return dev;
}

static union addr own_addr(int fd)
{
	union addr a = { 0 };
	socklen_t len = sizeof(a);

	ASSERT_OK(getsockname(fd, &a.sa, &len));
	return a;
}

/* A socket that nothing was done with */
static void check_untouched(int fd)
{
	union addr own = own_addr(fd), peer;
	socklen_t len = sizeof(peer);
	union addr any = addr_any(0);

	EXPECT(!memcmp(&own, &any, addr_len()));
	EXPECT_EQ(bound_dev(fd), 0);
	EXPECT_ERR(getpeername(fd, &peer.sa, &len), ENOTCONN);
	EXPECT_EQ(sock_error(fd), 0);
	EXPECT_EQ(info_of(fd).state, DLCP_CLOSED);
}

static union addr link_local(int port, int scope)
{
	union addr a = addr_of("fe80::99", port);

	a.in6.sin6_scope_id = scope;
	return a;
}

/* --- io_uring, which has the kernel copy an address to its heap */

struct ring {
	int			fd;
	char			*sq;
	char			*cq;
	struct io_uring_sqe	*sqes;
	struct io_uring_params	p;
};

static void *ring_map(struct ring *r, size_t len, off_t at)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, r->fd, at);

	ASSERT(p != MAP_FAILED);
	return p;
}

static void ring_open(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = syscall(__NR_io_uring_setup, 8, &r->p);
	if (r->fd < 0)
		SKIP("no io_uring in this kernel");
	r->sq = ring_map(r, r->p.sq_off.array + r->p.sq_entries * sizeof(u32),
			 IORING_OFF_SQ_RING);
	r->cq = ring_map(r, r->p.cq_off.cqes + r->p.cq_entries *
			 sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	r->sqes = ring_map(r, r->p.sq_entries * sizeof(*r->sqes),
			   IORING_OFF_SQES);
}

static int ring_connect(struct ring *r, int fd, const void *addr, int len)
{
	u32 *tail = (u32 *)(r->sq + r->p.sq_off.tail);
	u32 *head = (u32 *)(r->cq + r->p.cq_off.head);
	u32 at = *tail & *(u32 *)(r->sq + r->p.sq_off.ring_mask);
	struct io_uring_cqe *cqe;
	int res;

	r->sqes[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_CONNECT, .fd = fd, .off = len,
		.addr = (uintptr_t)addr, .flags = IOSQE_ASYNC,
	};
	((u32 *)(r->sq + r->p.sq_off.array))[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	ASSERT_OK(syscall(__NR_io_uring_enter, r->fd, 1, 1,
			  IORING_ENTER_GETEVENTS, NULL, 0));
	cqe = (void *)(r->cq + r->p.cq_off.cqes);
	res = cqe[*head & *(u32 *)(r->cq + r->p.cq_off.ring_mask)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

/* Fill what the kernel's heap gives out next: control messages of a size with
 * io_uring's copy of an address
 */
static void poison_heap(u32 pattern)
{
	int fd = ASSERT_OK(socket(AF_INET, SOCK_DGRAM, 0)), i;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9) };
	u32 words[25];
	struct msghdr mh = {
		.msg_name = &a, .msg_namelen = sizeof(a),
		.msg_control = words, .msg_controllen = sizeof(words),
	};

	for (i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = pattern;
	for (i = 0; i < 200; i++)
		EXPECT_ERR(sendmsg(fd, &mh, MSG_DONTWAIT), EINVAL);
	close(fd);
}

/* With what was left on the kernel's stack by another call of the same kind */
static void poison_stack(int scope)
{
	union addr a = link_local(9, scope);
	int fd = ASSERT_OK(socket(AF_INET6, SOCK_DGRAM, 0));

	connect(fd, &a.sa, sizeof(a.in6));
	close(fd);
}

TEST(scope_behind_the_end)
{
	union addr a;
	struct ring r;
	int i, fd;

	if (family != AF_INET6)
		SKIP("IPv4 has no scopes");
	ring_open(&r);
	a = link_local(PORT, 0x7abcdef0);
	for (i = 0; i < 20; i++) {
		fd = dlcp_socket();
		poison_heap(0x42434440 + i);
		EXPECT_EQ(ring_connect(&r, fd, &a, SHORT_LEN), -EINVAL);
		EXPECT_EQ(bound_dev(fd), 0);
		poison_stack(0x42434440 + i);
		EXPECT_ERR(connect(fd, &a.sa, SHORT_LEN), EINVAL);
		check_untouched(fd);
		poison_stack(0x42434440 + i);
		EXPECT_ERR(bind(fd, &a.sa, SHORT_LEN), EINVAL);
		check_untouched(fd);
		close(fd);
	}
}

/* --- calls that fail */

TEST(short_ones)
{
	union addr a = addr_lo(PORT);
	int least = family == AF_INET6 ? SHORT_LEN : sizeof(struct sockaddr_in);
	int fd = dlcp_socket(), len;

	listen_in(-1, a);
	for (len = 0; len < least; len++) {
		EXPECT_ERR(connect(fd, &a.sa, len), EINVAL);
		EXPECT_ERR(bind(fd, &a.sa, len), EINVAL);
		check_untouched(fd);
	}
	/* more than the kernel knows is cut */
	EXPECT_OK(connect(fd, &a.sa, sizeof(union addr)));
}

/* A scope that is cut off is none */
TEST(scope_cut_off)
{
	int fd = dlcp_socket(), len;
	union addr a;

	if (family != AF_INET6)
		SKIP("IPv4 has no scopes");
	a = link_local(PORT, if_nametoindex("lo"));
	for (len = SHORT_LEN; len < sizeof(a.in6); len++) {
		EXPECT_ERR(connect(fd, &a.sa, len), EINVAL);
		EXPECT_ERR(bind(fd, &a.sa, len), EINVAL);
		check_untouched(fd);
	}
}

/* What is a group in the other family is of the other family first of all */
TEST(groups_of_the_other_family)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr_in6 a6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(PORT),
	};
	int fd = dlcp_socket();

	a4.sin_addr.s_addr = htonl(INADDR_ALLHOSTS_GROUP);
	ASSERT_EQ(inet_pton(AF_INET6, "ff02::1", &a6.sin6_addr), 1);
	if (family == AF_INET)
		EXPECT_ERR(bind(fd, (void *)&a6, sizeof(a6)), EAFNOSUPPORT);
	else	/* as long as an address of its own */
		EXPECT_ERR(bind(fd, memcpy(&a6, &a4, sizeof(a4)), sizeof(a6)),
			   EAFNOSUPPORT);
	check_untouched(fd);
}

static const char *const foreign4[] = { "198.51.100.1", "224.0.0.1",
	"255.255.255.255", NULL };
static const char *const foreign6[] = { "2001:db8::1", "ff02::1", "fe80::1",
	"::ffff:224.0.0.1", "::ffff:198.51.100.1", NULL };

TEST(connect_fails)
{
	const char *const *text = family == AF_INET6 ? foreign6 : foreign4;
	union addr a = addr_lo(0), own = addr_lo(PORT + 1);
	int fd = dlcp_socket();

	EXPECT_ERR(do_connect(fd, a), EINVAL);
	a.sa.sa_family = AF_APPLETALK;
	EXPECT_ERR(do_connect(fd, a), EAFNOSUPPORT);
	check_untouched(fd);
	for (; *text; text++) {
		EXPECT(do_connect(fd, addr_of(*text, PORT)) < 0);
		check_untouched(fd);
	}
	/* one that it takes a packet to know of */
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	check_untouched(fd);
	/* so it can be bound, and what bind() said stays */
	EXPECT_OK(do_bind(fd, own));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	a = own_addr(fd);
	EXPECT(!memcmp(&a, &own, addr_len()));
	listen_in(-1, addr_lo(PORT));
	EXPECT_OK(do_connect(fd, addr_lo(PORT)));
}

/* Port 0 is bind()'s choice, not connect()'s */
TEST(connect_fails_bound)
{
	union addr before, after;
	int fd = dlcp_socket();

	ASSERT_OK(do_bind(fd, addr_any(0)));
	before = own_addr(fd);
	EXPECT(addr_port(&before));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	after = own_addr(fd);
	EXPECT(!memcmp(&before, &after, addr_len()));
}

static union addr in_ipv6(const char *v4, int port)
{
	union addr a = { .in6 = { .sin6_family = AF_INET6,
				  .sin6_port = htons(port) } };
	char text[64];

	snprintf(text, sizeof(text), "::ffff:%s", v4);
	ASSERT_EQ(inet_pton(AF_INET6, text, &a.in6.sin6_addr), 1);
	return a;
}

/* All of IPv4, and nothing of IPv6: the wildcard that is not all zeros */
TEST(wildcard_of_ipv4_in_ipv6)
{
	union addr all = in_ipv6("0.0.0.0", PORT + 1), own;
	union addr other = in_ipv6("127.0.0.2", PORT + 1);
	union addr to = in_ipv6("127.0.0.1", PORT);
	int fd, cfd, i;

	fd = ASSERT_OK(socket(AF_INET6, SOCK_DLCP | SOCK_CLOEXEC, 0));
	ASSERT_OK(bind(fd, &all.sa, sizeof(all.in6)));
	for (i = 0; i < 2; i++) {
		EXPECT_ERR(connect(fd, &to.sa, sizeof(to.in6)), ECONNREFUSED);
		own = own_addr(fd);
		EXPECT(!memcmp(&own, &all, sizeof(all.in6)));
	}
	/* not only those of the address that connect() had chosen */
	ASSERT_OK(listen(fd, 8));
	cfd = ASSERT_OK(socket(AF_INET6, SOCK_DLCP | SOCK_CLOEXEC, 0));
	EXPECT_OK(connect(cfd, &other.sa, sizeof(other.in6)));
	close(ASSERT_OK(accept(fd, NULL, NULL)));
}

TEST(connected_from_the_wildcard_of_ipv4)
{
	union addr all = in_ipv6("0.0.0.0", 0), own;
	union addr to = in_ipv6("127.0.0.1", PORT);
	int fd = ASSERT_OK(socket(AF_INET6, SOCK_DLCP | SOCK_CLOEXEC, 0));
	int lfd = ASSERT_OK(socket(AF_INET6, SOCK_DLCP | SOCK_CLOEXEC, 0));

	ASSERT_OK(bind(lfd, &to.sa, sizeof(to.in6)));
	ASSERT_OK(listen(lfd, 8));
	ASSERT_OK(bind(fd, &all.sa, sizeof(all.in6)));
	ASSERT_OK(connect(fd, &to.sa, sizeof(to.in6)));
	own = own_addr(fd);
	EXPECT(!memcmp(&own.in6.sin6_addr, &to.in6.sin6_addr, 16));
}

/* A socket that is bound to a broadcast address sends from one that the route chooses */
TEST(source_of_a_broadcast_address)
{
	struct sockaddr_in all = { .sin_family = AF_INET,
				   .sin_port = htons(PORT + 1) };
	struct sockaddr_in lo = all, far = all;
	struct hosts h;
	int fd;

	hosts_open(&h);
	net_enter(h.net[H0]);
	fd = ASSERT_OK(socket(AF_INET, SOCK_DLCP | SOCK_CLOEXEC, 0));
	net_leave();
	ASSERT_EQ(inet_pton(AF_INET, "127.255.255.255", &all.sin_addr), 1);
	ASSERT_EQ(inet_pton(AF_INET, "127.0.0.1", &lo.sin_addr), 1);
	ASSERT_EQ(inet_pton(AF_INET, "10.0.0.2", &far.sin_addr), 1);
	ASSERT_OK(bind(fd, (void *)&all, sizeof(all)));
	EXPECT_ERR(connect(fd, (void *)&lo, sizeof(lo)), ECONNREFUSED);
	/* not from 127.0.0.1, which has no way there */
	EXPECT_ERR(connect(fd, (void *)&far, sizeof(far)), ECONNREFUSED);
}

TEST(bind_fails)
{
	const char *const *text = family == AF_INET6 ? foreign6 : foreign4;
	union addr a = addr_lo(PORT);
	int fd = dlcp_socket();

	listen_in(-1, a);
	EXPECT_ERR(do_bind(fd, a), EADDRINUSE);
	check_untouched(fd);
	a.sa.sa_family = AF_APPLETALK;
	EXPECT_ERR(do_bind(fd, a), EAFNOSUPPORT);
	check_untouched(fd);
	for (; *text; text++) {
		if (!strcmp(*text, "255.255.255.255"))
			continue;
		EXPECT(do_bind(fd, addr_of(*text, PORT + 1)) < 0);
		check_untouched(fd);
	}
	if (family == AF_INET6) {
		a = link_local(PORT + 1, 1);
		EXPECT_ERR(do_bind(fd, a), EADDRNOTAVAIL);
		check_untouched(fd);
		a = link_local(PORT + 1, 12345);
		EXPECT_ERR(do_bind(fd, a), ENODEV);
		check_untouched(fd);
	}
	EXPECT_OK(do_bind(fd, addr_lo(PORT + 1)));
}

/* --- link-local addresses, which bind to their device */

static union addr link_local_of(int net, int port)
{
	char text[64] = "";
	union addr a;
	FILE *f;

	net_enter(net);
	f = popen("ip -6 -o addr show dev eth0 scope link | "
		  "sed 's,.*inet6 \\([^/]*\\)/.*,\\1,'", "r");
	ASSERT(f && fscanf(f, "%63s", text) == 1);
	pclose(f);
	a = addr_of(text, port);
	net_leave();
	return a;
}

/* Until duplicate address detection is over */
static void wait_link_local(int net)
{
	must_sh(net, "until ip -6 addr show dev eth0 scope link -tentative |"
		" grep -q inet6; do sleep 0.1; done");
}

static int eth0_of(int net)
{
	int dev;

	net_enter(net);
	dev = if_nametoindex("eth0");
	net_leave();
	return dev;
}

TEST_LIMIT(scope, 60)
{
	union addr to, from;
	struct hosts h;
	int fd, lfd, cfd;

	if (family != AF_INET6)
		SKIP("IPv4 has no scopes");
	hosts_open(&h);
	wait_link_local(h.net[H0]);
	wait_link_local(h.net[H1]);
	to = link_local_of(h.net[H1], PORT);
	fd = dlcp_socket_in(h.net[H0]);
	EXPECT_ERR(do_connect(fd, to), EINVAL);
	to.in6.sin6_scope_id = 12345;
	EXPECT(do_connect(fd, to) < 0);
	EXPECT_EQ(bound_dev(fd), 0);
	to.in6.sin6_scope_id = eth0_of(h.net[H0]);
	EXPECT_ERR(do_connect(fd, to), ECONNREFUSED);
	check_untouched(fd);
	lfd = listen_in(h.net[H1], addr_any(PORT));
	EXPECT_OK(do_connect(fd, to));
	EXPECT_EQ(bound_dev(fd), to.in6.sin6_scope_id);
	cfd = do_accept(lfd);
	EXPECT_EQ(bound_dev(cfd), eth0_of(h.net[H1]));
	from = own_addr(fd);
	EXPECT_EQ(from.in6.sin6_scope_id, to.in6.sin6_scope_id);
	ping_pong(&(struct pair){ fd, cfd });
}
