// SPDX-License-Identifier: GPL-2.0
/*
 * What administrators and owners of sockets lay down for TCP holds for DLCP:
 * filters, programs of control groups, security modules, IPsec policies of a socket.
 * Set-up is asked about as the rest is. Where TCP can be asked the same question it
 * is, and has to give the same answer.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "beside.h"
#include "lib.h"
#include "prog.h"

#ifndef IPV6_MINHOPCOUNT
#define IPV6_MINHOPCOUNT	73
#endif
#ifndef IP_XFRM_POLICY
#define IP_XFRM_POLICY		17
#define IPV6_XFRM_POLICY	35
#endif

/* --- socket filters */

static struct sock_filter drop_code[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
static struct sock_filter pass_code[] = { BPF_STMT(BPF_RET | BPF_K, ~0U) };
static const struct sock_fprog drop_all = { 1, drop_code };
static const struct sock_fprog pass_all = { 1, pass_code };

static void filter(int fd, const struct sock_fprog *prog)
{
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, prog,
			     sizeof(*prog)));
}

TEST(filter_of_a_listener)
{
	int i, fd, off = 0;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		fd = socket_of(-1, types[i]);
		must_listen(fd, addr_lo(PORT));
		filter(fd, &drop_all);
		check_client(-1, types[i], addr_lo(PORT), ETIMEDOUT);
		EXPECT_EQ(poll_for(fd, POLLIN, 0), 0);
		ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &off,
				     sizeof(off)));
		check_client(-1, types[i], addr_lo(PORT), 0);
		close(fd);
	}
	EXPECT_GT(mib(-1, "DropFilter"), 0);
}

TEST(filter_of_a_client)
{
	int i, fd, lfd;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		lfd = socket_of(-1, types[i]);
		must_listen(lfd, addr_lo(PORT));
		fd = socket_of(-1, types[i]);
		filter(fd, &drop_all);
		EXPECT_EQ(try_connect(fd, addr_lo(PORT)), ETIMEDOUT);
		close(fd);
		close(lfd);
	}
}

/* Instructions in the filter of a socket */
static int filter_len(int fd)
{
	socklen_t len = 0;

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &len));
	return len;
}

TEST(filter_is_inherited)
{
	int lfd = listen_in(-1, addr_lo(PORT)), off = 0;
	struct msg m = MSG(.len = 1000);
	struct pair p, q;
	struct got g;

	filter(lfd, &pass_all);
	p.a = dlcp_socket();
	ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
	p.b = do_accept(lfd);
	EXPECT_EQ(filter_len(p.b), 1);
	EXPECT_EQ(filter_len(p.a), 0);
	q.a = dlcp_socket();
	ASSERT_OK(do_connect(q.a, addr_lo(PORT)));
	q.b = do_accept(lfd);
	ping_pong(&p);
	/* each has its own from then on */
	filter(p.b, &drop_all);
	must_send(p.a, &m);
	WAIT_FOR(mib(-1, "DropFilter") > 2);
	EXPECT_EQ(poll_for(p.b, POLLIN, 0), 0);
	ping_pong(&q);
	ASSERT_OK(setsockopt(p.b, SOL_SOCKET, SO_DETACH_FILTER, &off,
			     sizeof(off)));
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
}

/* A filter may cut packets: nothing that is cut is taken for whole */
TEST(filter_that_cuts)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog prog = { 1, code };
	struct msg m = MSG(.len = 100 * KB);
	struct pair p = pair_lo();
	int len, off = 0;
	struct got g;

	for (len = 1; len < 200; len += 9) {
		code[0].k = len;
		filter(p.b, &prog);
		if (len == 1)
			must_send(p.a, &m);
		nap_ms(1);
	}
	ASSERT_OK(setsockopt(p.b, SOL_SOCKET, SO_DETACH_FILTER, &off,
			     sizeof(off)));
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
}

/* --- programs of control groups */

/* A program that says no; attached */
static int forbid(int type, int at)
{
	const struct bpf_insn no[] = { RETURN(0) };
	int prog = prog_load(type, at, no, ARRAY_SIZE(no));

	prog_attach(prog, at);
	return prog;
}

/* @first: of types */
static void check_skb_program(int at, int first)
{
	int i, fd, prog;

	cgroup_open();
	for (i = first; i < ARRAY_SIZE(types); i++) {
		fd = socket_of(-1, types[i]);
		must_listen(fd, addr_lo(PORT));
		prog = forbid(BPF_PROG_TYPE_CGROUP_SKB, at);
		cgroup_leave();
		check_client(-1, types[i], addr_lo(PORT), ETIMEDOUT);
		EXPECT_EQ(poll_for(fd, POLLIN, 0), 0);
		prog_detach(prog, at);
		check_client(-1, types[i], addr_lo(PORT), 0);
		close(fd);
		cgroup_enter(cgroup_dir);
	}
	cgroup_leave();
	rmdir(cgroup_dir);
}

/* Only the listener is in the group: its answers are its own */
TEST(cgroup_ingress)
{
	check_skb_program(BPF_CGROUP_INET_INGRESS, 0);
	EXPECT_GT(mib(-1, "DropFilter"), 0);
}

TEST(cgroup_egress)
{
	/* of TCP over IPv6 Linux asks connections, not listeners */
	check_skb_program(BPF_CGROUP_INET_EGRESS, of_family(0, 1));
}

/* The children of a listener are of its group, too */
TEST(cgroup_of_a_child)
{
	struct msg m = MSG(.len = 1000);
	struct pair p;
	int lfd, prog;
	struct got g;

	cgroup_open();
	lfd = listen_in(-1, addr_lo(PORT));
	cgroup_leave();
	p.a = dlcp_socket();
	ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
	p.b = do_accept(lfd);
	prog = forbid(BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS);
	must_send(p.a, &m);
	WAIT_FOR(mib(-1, "DropFilter") > 2);
	EXPECT_EQ(poll_for(p.b, POLLIN, 0), 0);
	prog_detach(prog, BPF_CGROUP_INET_INGRESS);
	got_init(&g, m.len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&m, &g);
	rmdir(cgroup_dir);
}

TEST(cgroup_connect)
{
	int at = of_family(BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT);
	int i, fd, prog;
	union addr own;
	socklen_t len;

	cgroup_open();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		must_listen(socket_of(-1, types[i]), addr_lo(PORT));
		fd = socket_of(-1, types[i]);
		prog = forbid(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, at);
		EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EPERM);
		len = sizeof(own);
		ASSERT_OK(getsockname(fd, &own.sa, &len));
		EXPECT_EQ(addr_port(&own), 0);
		prog_detach(prog, at);
		EXPECT_OK(do_connect(fd, addr_lo(PORT)));
	}
	cgroup_leave();
	rmdir(cgroup_dir);
}

/* A program may also send clients elsewhere */
TEST(cgroup_connect_rewrites)
{
	int at = of_family(BPF_CGROUP_INET4_CONNECT, BPF_CGROUP_INET6_CONNECT);
	const struct bpf_insn code[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, htons(PORT)),
		INSN(BPF_STX | BPF_MEM | BPF_W, 1, 2,
		     offsetof(struct bpf_sock_addr, user_port), 0),
		RETURN(1),
	};
	int i, fd, prog;
	union addr peer;
	socklen_t len;

	cgroup_open();
	prog = prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, at, code, ARRAY_SIZE(code));
	prog_attach(prog, at);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		must_listen(socket_of(-1, types[i]), addr_lo(PORT));
		fd = socket_of(-1, types[i]);
		EXPECT_OK(do_connect(fd, addr_lo(PORT + 1)));
		len = sizeof(peer);
		ASSERT_OK(getpeername(fd, &peer.sa, &len));
		EXPECT_EQ(addr_port(&peer), PORT);
	}
	prog_detach(prog, at);
	cgroup_leave();
	rmdir(cgroup_dir);
}

static void check_bind_program(int type, int at)
{
	int i, fd, prog;

	cgroup_open();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		fd = socket_of(-1, types[i]);
		prog = forbid(type, at);
		EXPECT_ERR(do_bind(fd, addr_lo(PORT)), EPERM);
		prog_detach(prog, at);
		/* neither the socket nor the port is bound */
		must_listen(socket_of(-1, types[i]), addr_lo(PORT));
		EXPECT_ERR(do_bind(fd, addr_lo(PORT)), EADDRINUSE);
		EXPECT_OK(do_bind(fd, addr_lo(PORT + 1)));
		EXPECT_OK(listen(fd, 1));
		check_client(-1, types[i], addr_lo(PORT + 1), 0);
	}
	cgroup_leave();
	rmdir(cgroup_dir);
}

TEST(cgroup_bind)
{
	check_bind_program(BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
			   of_family(BPF_CGROUP_INET4_BIND,
				     BPF_CGROUP_INET6_BIND));
}

TEST(cgroup_post_bind)
{
	check_bind_program(BPF_PROG_TYPE_CGROUP_SOCK,
			   of_family(BPF_CGROUP_INET4_POST_BIND,
				     BPF_CGROUP_INET6_POST_BIND));
}

TEST(cgroup_sock_create)
{
	long long before = proto_sockets(-1);
	int prog;

	cgroup_open();
	prog = forbid(BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE);
	EXPECT_ERR(socket(family, SOCK_DLCP, 0), EPERM);
	prog_detach(prog, BPF_CGROUP_INET_SOCK_CREATE);
	WAIT_FOR(proto_sockets(-1) == before);
	close(dlcp_socket());
	cgroup_leave();
	rmdir(cgroup_dir);
}

/* --- security modules: programs in the place of one */

/* Bytes behind a type's head, or -1 */
static int btf_more(const struct btf_type *t)
{
	int vlen = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return vlen * 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return vlen * 8;
	}
	return BTF_INFO_KIND(t->info) <= BTF_KIND_ENUM64 ? 0 : -1;
}

/* What the kernel says of its types */
static char *read_btf(void)
{
	static char *btf;
	size_t size = 0;
	ssize_t n;
	int fd;

	if (btf)
		return btf;
	fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		SKIP("this kernel has no type information");
	do {
		btf = realloc(btf, size + (1 << 20));
		n = ASSERT_OK(read(fd, btf + size, 1 << 20));
		size += n;
	} while (n);
	close(fd);
	return btf;
}

/* The number of function bpf_lsm_@hook */
static int btf_id(const char *hook)
{
	char *btf = read_btf(), *at, *end, *names, name[64];
	const struct btf_header *head = (void *)btf;
	const struct btf_type *t;
	int id;

	snprintf(name, sizeof(name), "bpf_lsm_%s", hook);
	at = btf + head->hdr_len + head->type_off;
	end = at + head->type_len;
	names = btf + head->hdr_len + head->str_off;
	for (id = 1; at < end; id++) {
		t = (void *)at;
		if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC &&
		    !strcmp(names + t->name_off, name))
			return id;
		if (btf_more(t) < 0)
			break;
		at += sizeof(*t) + btf_more(t);
	}
	SKIP("this kernel takes no programs as security modules");
}

/* Return: what detaches it when closed */
static int lsm_attach(const char *hook, const struct bpf_insn *insns, int nr)
{
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_LSM,
		.expected_attach_type = BPF_LSM_MAC,
		.attach_btf_id = btf_id(hook),
		.insns = (uintptr_t)insns, .insn_cnt = nr,
		.license = (uintptr_t)"GPL",
	};
	int prog, link;

	prog = ASSERT_OK(syscall(__NR_bpf, BPF_PROG_LOAD, &a, sizeof(a)));
	a = (union bpf_attr){ .raw_tracepoint.prog_fd = prog };
	link = syscall(__NR_bpf, BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a));
	close(prog);
	if (link < 0)
		SKIP("programs are no security module here");
	return link;
}

/* A program that adds 1 to @map */
static int lsm_count(const char *hook, int map)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 1, 0, BPF_ADD),
		RETURN(0),
	};

	return lsm_attach(hook, insns, ARRAY_SIZE(insns));
}

static int make_counter(void)
{
	union bpf_attr a = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4,
		.value_size = 8, .max_entries = 1,
	};

	return ASSERT_OK(syscall(__NR_bpf, BPF_MAP_CREATE, &a, sizeof(a)));
}

static unsigned long long read_counter(int map)
{
	unsigned long long value;
	int key = 0;
	union bpf_attr a = {
		.map_fd = map, .key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};

	ASSERT_OK(syscall(__NR_bpf, BPF_MAP_LOOKUP_ELEM, &a, sizeof(a)));
	return value;
}

/* All that a server and a client do. Return: at which call it failed, and errno */
static const char *life(int type, int fds[3], int *err)
{
	char buf[100] = "";
	int on = 1;

	fds[0] = socket(family, type, 0);
	fds[1] = fds[0] < 0 ? -1 : socket(family, type, 0);
	*err = errno;
	if (fds[0] < 0 || fds[1] < 0)
		return "socket";
	ASSERT_OK(setsockopt(fds[0], SOL_SOCKET, SO_REUSEADDR, &on,
			     sizeof(on)));
	if (do_bind(fds[0], addr_lo(PORT)))
		return *err = errno, "bind";
	if (listen(fds[0], 8))
		return *err = errno, "listen";
	*err = try_connect(fds[1], addr_lo(PORT));
	if (*err)
		return "connect";
	poll_for(fds[0], POLLIN, 5000 * slowness);
	fds[2] = accept(fds[0], NULL, NULL);
	if (fds[2] < 0)
		return *err = errno, "accept";
	if (send(fds[1], buf, sizeof(buf), 0) != sizeof(buf))
		return *err = errno, "send";
	poll_for(fds[2], POLLIN, 5000 * slowness);
	if (recv(fds[2], buf, sizeof(buf), 0) != sizeof(buf))
		return *err = errno, "recv";
	*err = 0;
	return "nothing";
}

static const char *whole_life(int type, int *err)
{
	int fds[3] = { -1, -1, -1 }, i;
	const char *failed = life(type, fds, err);

	for (i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return failed;
}

static const char *const lsm_hooks[] = {
	"socket_create", "socket_bind", "socket_listen", "socket_connect",
	"socket_accept", "socket_sendmsg", "socket_recvmsg",
	"socket_sock_rcv_skb", "inet_conn_request",
};

/* They only listen: they cannot refuse, or not at once */
static const char *const lsm_told[] = {
	"socket_post_create", "sk_alloc_security", "sk_clone_security",
	"sock_graft", "inet_conn_established",
};

static void check_asked(const char *hook)
{
	int map = make_counter(), link = lsm_count(hook, map), i, err;
	unsigned long long before;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		before = read_counter(map);
		whole_life(types[i], &err);
		EXPECT_EQ(err, 0);
		if (read_counter(map) == before)
			test_failed(false, "%s is not asked for %s", hook,
				    types[i] == TCP ? "TCP" : "DLCP");
	}
	close(link);
	close(map);
}

TEST(lsm_is_asked)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lsm_hooks); i++)
		check_asked(lsm_hooks[i]);
	for (i = 0; i < ARRAY_SIZE(lsm_told); i++)
		check_asked(lsm_told[i]);
}

/* The call that fails, and its error, are those of TCP */
TEST(lsm_refuses)
{
	const struct bpf_insn no[] = { RETURN(-EPERM) };
	const char *tcp, *dlcp;
	int i, link, err[2];

	for (i = 0; i < ARRAY_SIZE(lsm_hooks); i++) {
		link = lsm_attach(lsm_hooks[i], no, ARRAY_SIZE(no));
		tcp = whole_life(TCP, &err[0]);
		dlcp = whole_life(DLCP, &err[1]);
		close(link);
		EXPECT_NE(err[0], 0);
		if (strcmp(tcp, dlcp) || err[0] != err[1])
			test_failed(false, "%s: TCP fails at %s: %s, DLCP at %s: %s",
				    lsm_hooks[i], tcp, err_name(err[0]), dlcp,
				    err_name(err[1]));
	}
	whole_life(DLCP, &err[1]);
	EXPECT_EQ(err[1], 0);
}

/* --- policies of a socket */

static int block(int fd, int dir)
{
	struct xfrm_userpolicy_info info = {
		.sel.family = family, .dir = dir, .action = XFRM_POLICY_BLOCK,
		.lft = { .soft_byte_limit = XFRM_INF,
			 .hard_byte_limit = XFRM_INF,
			 .soft_packet_limit = XFRM_INF,
			 .hard_packet_limit = XFRM_INF },
	};

	return setsockopt(fd, of_family(SOL_IP, SOL_IPV6),
			  of_family(IP_XFRM_POLICY, IPV6_XFRM_POLICY), &info,
			  sizeof(info));
}

TEST(ipsec_policy)
{
	int i, fd, lfd;

	/* Policies of a socket are read by a module that this loads */
	close(socket(AF_NETLINK, SOCK_RAW, NETLINK_XFRM));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		lfd = socket_of(-1, types[i]);
		if (block(lfd, XFRM_POLICY_IN))
			SKIP("no IPsec in this kernel");
		must_listen(lfd, addr_lo(PORT));
		check_client(-1, types[i], addr_lo(PORT), ETIMEDOUT);
		EXPECT_EQ(poll_for(lfd, POLLIN, 0), 0);
		close(lfd);
		must_listen(socket_of(-1, types[i]), addr_lo(PORT + 1));
		check_client(-1, types[i], addr_lo(PORT + 1), 0);
		fd = socket_of(-1, types[i]);
		ASSERT_OK(block(fd, XFRM_POLICY_IN));
		EXPECT_EQ(try_connect(fd, addr_lo(PORT + 1)), ETIMEDOUT);
		close(fd);
		fd = socket_of(-1, types[i]);
		ASSERT_OK(block(fd, XFRM_POLICY_OUT));
		EXPECT_EQ(try_connect(fd, addr_lo(PORT + 1)), EPERM);
		close(fd);
	}
	EXPECT_GT(mib(-1, "DropPolicy"), 0);
}

/* Packets that have crossed routers are no neighbour's */
TEST(least_hop_limit)
{
	int level = of_family(SOL_IP, SOL_IPV6), least = 255, ttl = 255;
	int i, fd, lfd;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		lfd = socket_of(-1, types[i]);
		ASSERT_OK(setsockopt(lfd, level,
				     of_family(IP_MINTTL, IPV6_MINHOPCOUNT),
				     &least, sizeof(least)));
		must_listen(lfd, addr_lo(PORT));
		check_client(-1, types[i], addr_lo(PORT), ETIMEDOUT);
		fd = socket_of(-1, types[i]);
		ASSERT_OK(setsockopt(fd, level,
				     of_family(IP_TTL, IPV6_UNICAST_HOPS),
				     &ttl, sizeof(ttl)));
		EXPECT_EQ(try_connect(fd, addr_lo(PORT)), 0);
		close(fd);
		close(lfd);
	}
	EXPECT_GT(mib(-1, "DropHopLimit"), 0);
}
