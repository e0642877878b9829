// SPDX-License-Identifier: GPL-2.0
/* Listeners and ports: who may have which, who sees them, and what becomes of
 * connections that nobody accepts. Where TCP can do the same it does, in the
 * same test, and what it answers is what is expected.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define NOBODY	65534

/* What a list of calls returned, of sockets of one type */
struct answers {
	int	type;		/* SOCK_STREAM or SOCK_DLCP */
	int	nr;
	int	err[64];	/* errno, or 0 */
	int	line[64];
};

#define ANSWER(a, call) ({						\
	HERE();								\
	ASSERT((a)->nr < ARRAY_SIZE((a)->err));				\
	errno = 0;							\
	(a)->line[(a)->nr] = __LINE__;					\
	(a)->err[(a)->nr++] = (call) < 0 ? errno : 0; })

static void as_tcp(void (*fn)(struct answers *a))
{
	struct answers tcp = { .type = SOCK_STREAM }, dlcp = { .type = SOCK_DLCP };
	int i;

	fn(&tcp);
	fn(&dlcp);
	ASSERT_EQ(dlcp.nr, tcp.nr);
	for (i = 0; i < tcp.nr; i++)
		if (tcp.err[i] != dlcp.err[i])
			test_failed(false, "line %d, answer %d: %s, of TCP %s",
				    tcp.line[i], i, err_name(dlcp.err[i]),
				    err_name(tcp.err[i]));
}

static int new_socket(int type, int fam)
{
	int fd = ASSERT_OK(socket(fam, type | SOCK_CLOEXEC, 0));

	if (type == SOCK_DLCP)
		ASSERT_OK(set_int(fd, DLCP_ENCAP, encap));
	return fd;
}

/* Of a user who is not root */
static int socket_of_nobody(int type, int fam)
{
	int fd;

	ASSERT_OK(seteuid(NOBODY));
	fd = new_socket(type, fam);
	ASSERT_OK(seteuid(0));
	return fd;
}

static void set_on(int fd, int level, int opt)
{
	int on = 1;

	ASSERT_OK(setsockopt(fd, level, opt, &on, sizeof(on)));
}

static int socket_with(int type, int opt)
{
	int fd = new_socket(type, family);

	if (opt)
		set_on(fd, SOL_SOCKET, opt);
	return fd;
}

/*
 * Two sockets and one port
 */

/* An address, and who wants it how */
struct claim {
	int		fam;
	const char	*addr;
	const char	*dev;
	bool		only6;
	bool		reuse;
	bool		share;		/* SO_REUSEPORT */
	bool		nobody;
};

/* Not ::ffff:0.0.0.0: since 6.1 TCP does not see that it is a wildcard */
static const struct claim places[] = {
	{ AF_INET, "0.0.0.0" }, { AF_INET, "127.0.0.1" },
	{ AF_INET, "127.0.0.2" }, { AF_INET6, "::" },
	{ AF_INET6, "::", .only6 = true }, { AF_INET6, "::1" },
	{ AF_INET6, "::ffff:127.0.0.1" },
};

static const char * const devices[] = { NULL, "lo", "eth0", "blue", "eth1" };

/* The same each time */
static u32 draw(u32 *state, u32 below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

static struct claim draw_claim(u32 *state)
{
	struct claim c = places[draw(state, ARRAY_SIZE(places))];

	/* Most without, or too few conflict */
	if (draw(state, 2))
		c.dev = devices[draw(state, ARRAY_SIZE(devices))];
	c.reuse = draw(state, 4) != 0;
	c.share = draw(state, 3) == 0;
	c.nobody = draw(state, 3) == 0;
	return c;
}

static int claim_socket(int type, const struct claim *c)
{
	int fd = c->nobody ? socket_of_nobody(type, c->fam) :
			     new_socket(type, c->fam);

	if (c->dev)
		ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, c->dev,
				     strlen(c->dev)));
	if (c->only6)
		set_on(fd, SOL_IPV6, IPV6_V6ONLY);
	if (c->reuse)
		set_on(fd, SOL_SOCKET, SO_REUSEADDR);
	if (c->share)
		set_on(fd, SOL_SOCKET, SO_REUSEPORT);
	return fd;
}

static int claim_bind(int fd, const struct claim *c)
{
	int old = family, ret;

	family = c->fam;
	ret = do_bind(fd, addr_of(c->addr, PORT));
	family = old;
	return ret;
}

enum { ORDERS = 4 };

/* @order: who binds and listens when */
static void claim_both(struct answers *a, const struct claim c[2], int order)
{
	int fd[2], i;

	for (i = 0; i < 2; i++)
		fd[i] = claim_socket(a->type, &c[i]);
	ANSWER(a, claim_bind(fd[0], &c[0]));
	if (order == 1 || order == 3)
		ANSWER(a, listen(fd[0], 1));
	ANSWER(a, claim_bind(fd[1], &c[1]));
	if (order == 0)
		ANSWER(a, listen(fd[0], 1));
	ANSWER(a, listen(fd[1], 1));
	if (order == 2)
		ANSWER(a, listen(fd[0], 1));
	if (order == 3) {
		ANSWER(a, shutdown(fd[0], SHUT_RD));
		ANSWER(a, listen(fd[1], 1));
		ANSWER(a, listen(fd[0], 1));
	}
	close(fd[0]);
	close(fd[1]);
}

static const char *claim_text(const struct claim *c, char *buf, size_t len)
{
	snprintf(buf, len, "%s%s dev %s%s%s%s", c->addr,
		 c->only6 ? " only6" : "", c->dev ?: "any",
		 c->reuse ? " REUSEADDR" : "", c->share ? " REUSEPORT" : "",
		 c->nobody ? " nobody" : "");
	return buf;
}

static void claim_compare(const struct claim c[2], int order)
{
	struct answers tcp = { .type = SOCK_STREAM }, dlcp = { .type = SOCK_DLCP };
	char text[2][128];
	int i;

	claim_both(&tcp, c, order);
	claim_both(&dlcp, c, order);
	for (i = 0; i < tcp.nr; i++)
		if (tcp.err[i] != dlcp.err[i])
			test_failed(false, "%s / %s, order %d, answer %d: %s, of TCP %s",
				    claim_text(&c[0], text[0], 128),
				    claim_text(&c[1], text[1], 128), order, i,
				    err_name(dlcp.err[i]),
				    err_name(tcp.err[i]));
}

TEST_LIMIT(ports_as_tcp, 60)
{
	struct claim c[2];
	u32 state = 1;
	int i;

	if (family != AF_INET)
		SKIP("has all families");
	must_sh(-1, "ip link add name eth0 type veth peer name eth1");
	must_sh(-1, "ip link add blue type vrf table 10");
	must_sh(-1, "ip link set eth1 master blue");
	for (i = 0; i < 600; i++) {
		if (i == 300)
			ASSERT_OK(file_write(-1, "/proc/sys/net/ipv4/tcp_l3mdev_accept",
					     "1\n"));
		c[0] = draw_claim(&state);
		c[1] = draw_claim(&state);
		claim_compare(c, i % ORDERS);
	}
}

/* The attacker has bound a closer address; who gets the client? */
static void steal(struct answers *a)
{
	int victim = new_socket(a->type, family), client, thief;

	thief = socket_of_nobody(a->type, family);
	set_on(thief, SOL_SOCKET, SO_REUSEADDR);
	set_on(victim, SOL_SOCKET, SO_REUSEADDR);
	ANSWER(a, do_bind(thief, addr_lo(PORT)));
	ANSWER(a, do_bind(victim, addr_any(PORT)));
	ANSWER(a, listen(victim, 8));
	ANSWER(a, listen(thief, 8));
	client = new_socket(a->type, family);
	ANSWER(a, do_connect(client, addr_lo(PORT)));
	EXPECT_EQ(poll_for(thief, POLLIN, 0) & POLLIN, 0);
	EXPECT_EQ(poll_for(victim, POLLIN, 10000 * slowness), POLLIN);
	close(client);
	close(victim);
	/* Now nobody has it */
	ANSWER(a, listen(thief, 8));
	close(thief);
}

TEST(closer_address)
{
	as_tcp(steal);
}

/*
 * Two users who listen at the same moment, on two processors
 */

enum { RACE_ROUNDS = 200, RACE_CROWD = 400, RACE_SPINS = 100000 };

struct race {
	pthread_barrier_t	barrier;
	int			type;
	int			fd[2];
	int			ready;		/* counts up */
	int			listens[2];
	bool			bound;		/* both, before they start */
};

static union addr race_addr(int round, int who)
{
	return (round & 1) == who ? addr_any(PORT) : addr_lo(PORT);
}

/* After a barrier one thread sleeps longer than the other. Whoever comes first waits
 * for the other one, but not for ever: there may be one processor.
 */
static void race_start(struct race *r, int round)
{
	int i = 0;

	pthread_barrier_wait(&r->barrier);
	__atomic_add_fetch(&r->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&r->ready, __ATOMIC_SEQ_CST) < 2 * (round + 1) &&
	       i < RACE_SPINS)
		i++;
}

static void race_one(struct race *r, int round, int who)
{
	int fd, err = 0;

	race_start(r, round);
	fd = r->fd[who];
	if (!r->bound)
		err = do_bind(fd, race_addr(round, who));
	if (!err)
		err = listen(fd, 1);
	if (err)
		EXPECT_EQ(errno, EADDRINUSE);
	r->listens[who] = !err;
	pthread_barrier_wait(&r->barrier);
}

static void race_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	ASSERT_OK(sched_setaffinity(0, sizeof(set), &set));
}

static void race_other(void *arg)
{
	int i;

	race_on(1);
	for (i = 0; i < RACE_ROUNDS; i++)
		race_one(arg, i, 1);
}

static void race_sockets(struct race *r, int round)
{
	int who;

	r->fd[0] = new_socket(r->type, family);
	r->fd[1] = socket_of_nobody(r->type, family);
	r->bound = round & 2;
	for (who = 0; who < 2; who++) {
		set_on(r->fd[who], SOL_SOCKET, SO_REUSEADDR);
		if (r->bound)
			ASSERT_OK(do_bind(r->fd[who], race_addr(round, who)));
	}
}

/* Many share the port, so that to look at all of them takes long */
static void race_crowd(int type, int *fd)
{
	int i;

	for (i = 0; i < RACE_CROWD; i++) {
		fd[i] = socket_with(type, SO_REUSEADDR);
		ASSERT_OK(do_bind(fd[i], addr_lo(PORT)));
	}
}

static void race_of(int type)
{
	struct race r = { .type = type };
	int crowd[RACE_CROWD], i, who;
	struct task t;

	ASSERT_OK(pthread_barrier_init(&r.barrier, NULL, 2));
	race_crowd(type, crowd);
	task_start(&t, race_other, &r);
	for (i = 0; i < RACE_ROUNDS; i++) {
		race_sockets(&r, i);
		race_one(&r, i, 0);
		/* Of TCP it may be that each has kept the other one off */
		EXPECT_LE(r.listens[0] + r.listens[1], 1);
		if (type == SOCK_DLCP)
			EXPECT_EQ(r.listens[0] + r.listens[1], 1);
		for (who = 0; who < 2; who++)
			close(r.fd[who]);
	}
	task_join(&t);
	for (i = 0; i < RACE_CROWD; i++)
		close(crowd[i]);
}

TEST_LIMIT(two_listen_at_once, 60)
{
	race_on(0);
	race_of(SOCK_STREAM);
	race_of(SOCK_DLCP);
}

static void listen_again(struct answers *a)
{
	int fd = socket_with(a->type, 0), other = socket_with(a->type, 0);

	ANSWER(a, do_bind(fd, addr_lo(PORT)));
	ANSWER(a, listen(fd, 1));
	ANSWER(a, listen(fd, 5));
	ANSWER(a, do_bind(fd, addr_lo(PORT + 1)));
	ANSWER(a, do_bind(other, addr_lo(PORT)));
	ANSWER(a, shutdown(fd, SHUT_RD));
	ANSWER(a, do_bind(other, addr_lo(PORT)));
	ANSWER(a, listen(fd, 1));
	close(fd);
	ANSWER(a, do_bind(other, addr_lo(PORT)));
	ANSWER(a, listen(other, 1));
	close(other);
	/* Without an address, and twice */
	fd = socket_with(a->type, SO_REUSEADDR);
	other = socket_with(a->type, SO_REUSEADDR);
	ANSWER(a, listen(fd, 1));
	ANSWER(a, listen(other, 1));
	close(fd);
	close(other);
}

TEST(listening_again)
{
	as_tcp(listen_again);
}

/* SO_REUSEPORT: each of several listeners gets clients, and none gets lost */
TEST_LIMIT(listeners_share, 30)
{
	int lfd[4], got[4] = { 0 }, fd[48], i, k, n = 0;

	for (i = 0; i < ARRAY_SIZE(lfd); i++) {
		lfd[i] = socket_with(SOCK_DLCP, SO_REUSEPORT);
		ASSERT_OK(do_bind(lfd[i], addr_lo(PORT)));
		ASSERT_OK(listen(lfd[i], 64));
	}
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = dlcp_socket();
		ASSERT_OK(do_connect(fd[i], addr_lo(PORT)));
	}
	while (n < ARRAY_SIZE(fd))
		for (k = 0; k < ARRAY_SIZE(lfd); k++)
			while (poll_for(lfd[k], POLLIN, 0) & POLLIN) {
				close(do_accept(lfd[k]));
				got[k]++;
				n++;
			}
	/* One in a million that one of them gets none */
	for (k = 0; k < ARRAY_SIZE(lfd); k++)
		EXPECT_GT(got[k], 0);
}

/* Two listeners that share a port: which of them gets clients? */
static void which_of_two(struct answers *a, void (*choose)(struct answers *a, int fd, int which))
{
	int fd[2], client, which, i;

	for (which = 0; which < 2; which++) {
		for (i = 0; i < 2; i++) {
			fd[i] = socket_with(a->type, SO_REUSEPORT);
			ANSWER(a, do_bind(fd[i], addr_lo(PORT)));
			ANSWER(a, listen(fd[i], 32));
		}
		choose(a, fd[which], which);
		for (i = 0; i < 12; i++) {
			client = new_socket(a->type, family);
			ANSWER(a, do_connect(client, addr_lo(PORT)));
			EXPECT_EQ(poll_for(fd[which], POLLIN, 10000 * slowness),
				  POLLIN);
			close(ASSERT_OK(accept(fd[which], NULL, NULL)));
			close(client);
		}
		EXPECT_EQ(poll_for(fd[!which], POLLIN, 0), 0);
		close(fd[0]);
		close(fd[1]);
	}
}

static void by_program(struct answers *a, int fd, int which)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, which) };
	struct sock_fprog prog = { 1, code };

	ANSWER(a, setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog,
			     sizeof(prog)));
}

/* The program of a group says which of its listeners gets a client */
TEST_LIMIT(program_chooses, 30)
{
	struct answers tcp = { .type = SOCK_STREAM }, dlcp = { .type = SOCK_DLCP };

	which_of_two(&tcp, by_program);
	which_of_two(&dlcp, by_program);
}

static void by_processor(struct answers *a, int fd, int which)
{
	cpu_set_t set;
	int cpu = 0;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ASSERT_OK(sched_setaffinity(0, sizeof(set), &set));
	ANSWER(a, setsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, sizeof(cpu)));
}

/* Over loopback a packet comes on the processor that has sent it */
TEST_LIMIT(processor_chooses, 30)
{
	which_of_two(&(struct answers){ .type = SOCK_STREAM }, by_processor);
	which_of_two(&(struct answers){ .type = SOCK_DLCP }, by_processor);
}

/*
 * A local port, many peers
 */

static void port_range(int low, int high)
{
	char text[32];

	snprintf(text, sizeof(text), "%d %d\n", low, high);
	ASSERT_OK(file_write(-1, "/proc/sys/net/ipv4/ip_local_port_range",
			     text));
}

static int listener(int type, int port)
{
	int fd = socket_with(type, SO_REUSEADDR);

	ASSERT_OK(do_bind(fd, addr_lo(port)));
	ASSERT_OK(listen(fd, 64));
	return fd;
}

/* Ten ports the kernel may choose, three peers */
static void few_ports(struct answers *a)
{
	int lfd[3], fd[40], i, k, n = 0;

	for (k = 0; k < 3; k++)
		lfd[k] = listener(a->type, PORT + k);
	for (k = 0; k < 3; k++)
		for (i = 0; i < 11; i++) {
			fd[n] = socket_with(a->type, 0);
			ANSWER(a, do_connect(fd[n], addr_lo(PORT + k)));
			n++;
		}
	/* Nor does bind() give one of them that is in use */
	fd[n] = socket_with(a->type, SO_REUSEADDR);
	ANSWER(a, do_bind(fd[n], addr_lo(0)));
	n++;
	/* One that did not connect can do so to somebody else */
	ANSWER(a, do_connect(fd[10], addr_lo(PORT + 3)));
	while (n)
		close(fd[--n]);
	for (k = 0; k < 3; k++)
		close(lfd[k]);
}

TEST_LIMIT(ports_of_clients, 30)
{
	port_range(40000, 40009);
	as_tcp(few_ports);
}

/* One port, which the user chose */
static void one_port(struct answers *a, int opt)
{
	int lfd[2], fd[4], other, i, k;

	for (k = 0; k < 2; k++)
		lfd[k] = listener(a->type, PORT + k);
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = socket_with(a->type, opt);
		ANSWER(a, do_bind(fd[i], i == 3 ? addr_any(PORT + 9) :
						  addr_lo(PORT + 9)));
	}
	ANSWER(a, do_connect(fd[0], addr_lo(PORT)));
	ANSWER(a, do_connect(fd[1], addr_lo(PORT)));
	ANSWER(a, do_connect(fd[1], addr_lo(PORT + 1)));
	ANSWER(a, do_connect(fd[2], addr_lo(PORT + 1)));
	ANSWER(a, do_connect(fd[3], addr_lo(PORT)));
	/* It is not free for those who do not share */
	other = socket_with(a->type, 0);
	ANSWER(a, do_bind(other, addr_lo(PORT + 9)));
	close(other);
	/* Nor may who is not the same user listen there */
	other = socket_of_nobody(a->type, family);
	if (opt)
		set_on(other, SOL_SOCKET, opt);
	ANSWER(a, do_bind(other, addr_lo(PORT + 9)));
	close(other);
	for (i = 0; i < ARRAY_SIZE(fd); i++)
		close(fd[i]);
	close(lfd[0]);
	close(lfd[1]);
}

static void one_port_reuse(struct answers *a)
{
	one_port(a, SO_REUSEADDR);
}

static void one_port_share(struct answers *a)
{
	one_port(a, SO_REUSEPORT);
}

static void one_port_alone(struct answers *a)
{
	one_port(a, 0);
}

TEST(port_of_a_client)
{
	as_tcp(one_port_reuse);
	as_tcp(one_port_share);
	as_tcp(one_port_alone);
}

/* An address, and a port when it connects */
static void address_only(struct answers *a)
{
	int lfd[2], fd[2], i;

	for (i = 0; i < 2; i++) {
		lfd[i] = listener(a->type, PORT + i);
		fd[i] = socket_with(a->type, 0);
		set_on(fd[i], SOL_IP, IP_BIND_ADDRESS_NO_PORT);
		ANSWER(a, do_bind(fd[i], addr_lo(0)));
		ANSWER(a, do_connect(fd[i], addr_lo(PORT + i)));
	}
	for (i = 0; i < 2; i++) {
		close(fd[i]);
		close(lfd[i]);
	}
}

TEST(address_without_a_port)
{
	port_range(40000, 40000);
	as_tcp(address_only);
}

/* Connections from one port are told apart by all that is sent */
TEST(port_shared_in_use)
{
	int lfd[2] = { listener(SOCK_DLCP, PORT), listener(SOCK_DLCP, PORT + 1) };
	struct pair p[2];
	int i;

	port_range(40000, 40000);
	for (i = 0; i < 2; i++) {
		p[i].a = dlcp_socket();
		ASSERT_OK(do_connect(p[i].a, addr_lo(PORT + i)));
		p[i].b = do_accept(lfd[i]);
	}
	for (i = 0; i < 2; i++)
		ping_pong(&p[i]);
	/* A port is given back with its connection, whoever ends it */
	pair_close(&p[0]);
	p[0].a = dlcp_socket();
	WAIT_FOR(!do_connect(p[0].a, addr_lo(PORT)));
	p[0].b = do_accept(lfd[0]);
	ping_pong(&p[0]);
	ping_pong(&p[1]);
}

/*
 * Connections nobody accepts
 */

/* They learn that nobody will: at once, and whatever they are about to do */
TEST(not_accepted)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd[4], i;
	struct msg m = MSG(.len = 1000);

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = dlcp_socket();
		ASSERT_OK(do_connect(fd[i], addr_lo(PORT)));
	}
	must_send(fd[1], &m);
	ASSERT_OK(shutdown(fd[2], SHUT_WR));
	close(fd[3]);
	close(lfd);
	for (i = 0; i < 3; i++) {
		WAIT_FOR(poll_for(fd[i], POLLIN, 0) & POLLHUP);
		EXPECT_EQ(sock_error(fd[i]), ECONNRESET);
	}
}

/*
 * The encapsulation
 */

/* A connection has that of its set-up at both ends, whatever its listener's */
TEST(mixed_encap)
{
	int to, from, lfd, fd;
	struct pair p;

	if (encap != DLCP_ENCAP_RAW)
		SKIP("needs the raw encapsulation");
	for (to = 0; to < 2; to++)
		for (from = 0; from < 2; from++) {
			lfd = socket_with(SOCK_DLCP, SO_REUSEADDR);
			ASSERT_OK(set_int(lfd, DLCP_ENCAP, to));
			ASSERT_OK(do_bind(lfd, addr_lo(PORT)));
			ASSERT_OK(listen(lfd, 1));
			fd = dlcp_socket();
			ASSERT_OK(set_int(fd, DLCP_ENCAP, from));
			ASSERT_OK(do_connect(fd, addr_lo(PORT)));
			p.a = fd;
			p.b = do_accept(lfd);
			EXPECT_EQ(info_of(p.a).encap, from);
			EXPECT_EQ(info_of(p.b).encap, from);
			ping_pong(&p);
			pair_close(&p);
			close(lfd);
		}
}

/*
 * Who is told why a set-up failed, and how often
 */

static void refused_blocking(struct answers *a)
{
	int fd = socket_with(a->type, 0);

	ANSWER(a, do_connect(fd, addr_lo(PORT)));
	ANSWER(a, -(errno = sock_error(fd)));
	ANSWER(a, recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT));
	ANSWER(a, do_connect(fd, addr_lo(PORT)));
	ANSWER(a, -(errno = sock_error(fd)));
	close(fd);
}

static int refused_socket(struct answers *a)
{
	int fd = socket_with(a->type, 0);

	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	ASSERT_ERR(do_connect(fd, addr_lo(PORT)), EINPROGRESS);
	WAIT_FOR(poll_for(fd, POLLOUT, 0) & POLLERR);
	return fd;
}

static void refused_later(struct answers *a)
{
	int fd = refused_socket(a);

	ANSWER(a, -(errno = sock_error(fd)));
	ANSWER(a, -(errno = sock_error(fd)));
	ANSWER(a, do_connect(fd, addr_lo(PORT)));
	close(fd);
	fd = refused_socket(a);
	ANSWER(a, do_connect(fd, addr_lo(PORT)));
	ANSWER(a, -(errno = sock_error(fd)));
	close(fd);
	fd = refused_socket(a);
	ANSWER(a, recv(fd, &(char){ 0 }, 1, 0));
	ANSWER(a, recv(fd, &(char){ 0 }, 1, 0));
	ANSWER(a, -(errno = sock_error(fd)));
	ANSWER(a, do_connect(fd, addr_lo(PORT)));
	close(fd);
	fd = refused_socket(a);
	ANSWER(a, send(fd, "x", 1, MSG_NOSIGNAL));
	ANSWER(a, send(fd, "x", 1, MSG_NOSIGNAL));
	ANSWER(a, -(errno = sock_error(fd)));
	close(fd);
}

/* A reader and a poller wait with connect(): one of them is told */
struct waiter {
	int	fd;
	int	err;
	short	revents;
};

static void reads_main(void *arg)
{
	struct waiter *w = arg;

	w->err = recv(w->fd, &(char){ 0 }, 1, 0) < 0 ? errno : 0;
}

static void polls_main(void *arg)
{
	struct waiter *w = arg;

	w->revents = poll_for(w->fd, POLLIN, 10000 * slowness);
}

static void refused_together(struct answers *a, struct hosts *h)
{
	struct waiter reads, polls;
	struct task t[2];
	int err, told;

	net_enter(h->net[H0]);
	reads.fd = polls.fd = socket_with(a->type, 0);
	net_leave();
	ASSERT_OK(fcntl(reads.fd, F_SETFL, O_NONBLOCK));
	ASSERT_ERR(do_connect(reads.fd, addr_host(h, H1, PORT)), EINPROGRESS);
	ASSERT_OK(fcntl(reads.fd, F_SETFL, 0));
	task_start(&t[0], reads_main, &reads);
	task_start(&t[1], polls_main, &polls);
	err = do_connect(reads.fd, addr_host(h, H1, PORT)) ? errno : 0;
	task_join(&t[0]);
	task_join(&t[1]);
	EXPECT(polls.revents & POLLERR || polls.revents & POLLHUP);
	/* connect() fails in any case, and says so only if it was not said */
	EXPECT(err == ECONNREFUSED || err == ECONNABORTED);
	told = (err == ECONNREFUSED) + (reads.err == ECONNREFUSED);
	EXPECT_EQ(told, 1);
	EXPECT_EQ(sock_error(reads.fd), 0);
	close(reads.fd);
}

TEST(refused_once)
{
	as_tcp(refused_blocking);
	as_tcp(refused_later);
}

TEST_LIMIT(refused_to_several, 40)
{
	struct answers tcp = { .type = SOCK_STREAM }, dlcp = { .type = SOCK_DLCP };
	struct hosts h;
	int i;

	hosts_open(&h);
	netem(&h, H1, "delay 200ms");
	/* Else a client of UDP is told by ICMP, of the port that is not open */
	net_enter(h.net[H1]);
	ASSERT_OK(listen(dlcp_socket(), 1));
	net_leave();
	for (i = 0; i < 4; i++) {
		refused_together(&tcp, &h);
		refused_together(&dlcp, &h);
	}
}
