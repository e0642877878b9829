// SPDX-License-Identifier: GPL-2.0
/* Devices, VRFs and marks of sockets. TCP has to give the same answers. */
#define _GNU_SOURCE
#include <net/if.h>
#include <unistd.h>

#include "beside.h"
#include "lib.h"
#include "packet.h"

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX	62
#endif

static struct hosts h;

static void bind_device(int fd, const char *dev)
{
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev,
			     strlen(dev)));
}

static int int_opt(int fd, int opt)
{
	int val = -1;
	socklen_t len = sizeof(val);

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, opt, &val, &len));
	return val;
}

static int index_in(int net, const char *dev)
{
	int index;

	net_enter(net);
	index = if_nametoindex(dev);
	net_leave();
	return index;
}

/* Two cards of h1 in networks that look alike; to the second no route leads but
 * for who is bound to it
 */
static int second_network(void)
{
	int c = net_new();

	hosts_open(&h);
	must_sh(h.net[H1], "ip link add eth1 type veth peer name eth0"
		" netns /proc/%d/fd/%d && ip link set eth1 up &&"
		" ip addr add 10.0.0.3/24 dev eth1 &&"
		" ip addr add fd00::3/64 dev eth1 nodad", getpid(), c);
	must_sh(c, "ip link set eth0 up && ip addr add 10.0.0.9/24 dev eth0 &&"
		" ip addr add fd00::9/64 dev eth0 nodad");
	return c;
}

TEST_LIMIT(device, 60)
{
	union addr a = addr_of(of_family(1, 0) ? "10.0.0.3" : "fd00::3", PORT);
	int c = second_network(), i, fd, lfd;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		lfd = socket_of(h.net[H1], types[i]);
		bind_device(lfd, "eth1");
		must_listen(lfd, a);
		check_client(c, types[i], a, 0);
		fd = ASSERT_OK(accept(lfd, NULL, NULL));
		EXPECT_EQ(int_opt(fd, SO_BINDTOIFINDEX),
			  index_in(h.net[H1], "eth1"));
		close(fd);
		close(lfd);
	}
}

/* A connection of one device takes nothing that comes by another */
TEST_LIMIT(device_of_a_connection, 60)
{
	union addr a = addr_of(of_family(1, 0) ? "10.0.0.3" : "fd00::3", PORT);
	int c = second_network(), lfd, from, to, i;
	struct msg m = MSG(.len = 1000);
	static struct packet pkt;
	struct trace t = { 0 };
	struct pair p;

	lfd = dlcp_socket_in(h.net[H1]);
	bind_device(lfd, "eth1");
	must_listen(lfd, a);
	from = wire_open(c, "eth0");
	to = wire_open(h.net[H0], "eth0");
	p.a = dlcp_socket_in(c);
	ASSERT_OK(do_connect(p.a, a));
	p.b = do_accept(lfd);
	pass(p.a, p.b, &m);
	trace_read(from, &t, 100);
	for (i = 0; i < t.nr; i++) {
		pkt = t.p[i];
		packet_fix(&pkt);
		memcpy(pkt.frame, "\2\0\0\0\0\2", 6);	/* eth0 of h1 */
		wire_send(to, &pkt);
	}
	WAIT_FOR(mib(h.net[H1], "DropDevice") > 0);
	ping_pong(&p);
}

static void vrf_open(void)
{
	hosts_open(&h);
	if (sh(h.net[H1], "ip link add red type vrf table 10 2>/dev/null"))
		SKIP("no VRFs in this kernel");
	must_sh(h.net[H1], "ip link set red up && ip link set eth0 master red"
		" && ip addr replace fd00::2/64 dev eth0 nodad");
	ASSERT_OK(file_write(h.net[H1], "/proc/sys/net/ipv4/udp_l3mdev_accept",
			     "1"));
}

static void check_vrf(int type, const char *dev)
{
	union addr a = addr_host(&h, H1, PORT);
	int lfd = socket_of(h.net[H1], type), fd;

	bind_device(lfd, dev);
	must_listen(lfd, a);
	check_client(h.net[H0], type, a, 0);
	fd = ASSERT_OK(accept(lfd, NULL, NULL));
	EXPECT_EQ(int_opt(fd, SO_BINDTOIFINDEX), index_in(h.net[H1], dev));
	close(fd);
	close(lfd);
}

static void check_vrf_unbound(int type, bool accept_all)
{
	union addr a = addr_any(PORT);
	int lfd = socket_of(h.net[H1], type), fd;

	ASSERT_OK(file_write(h.net[H1], "/proc/sys/net/ipv4/tcp_l3mdev_accept",
			     accept_all ? "1" : "0"));
	must_listen(lfd, a);
	check_client(h.net[H0], type, addr_host(&h, H1, PORT),
		     accept_all ? 0 : ECONNREFUSED);
	if (accept_all) {
		fd = ASSERT_OK(accept(lfd, NULL, NULL));
		EXPECT_EQ(int_opt(fd, SO_BINDTOIFINDEX),
			  index_in(h.net[H1], "red"));
		close(fd);
	}
	close(lfd);
}

TEST_LIMIT(vrf, 90)
{
	int i, fd, lfd;

	vrf_open();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		check_vrf(types[i], "red");
		check_vrf(types[i], "eth0");
		check_vrf_unbound(types[i], false);
		check_vrf_unbound(types[i], true);
		/* a client */
		lfd = socket_of(h.net[H0], types[i]);
		must_listen(lfd, addr_host(&h, H0, PORT));
		fd = socket_of(h.net[H1], types[i]);
		bind_device(fd, "red");
		EXPECT_EQ(try_connect(fd, addr_host(&h, H0, PORT)), 0);
		close(fd);
		close(lfd);
	}
}

#define FAR	of_family(4, 6) == 4 ? "192.0.2.7" : "2001:db8::7"

/* To h0's other address h1 finds only by a rule, e.g. "fwmark 5" */
static void far_open(const char *rule)
{
	const char *v = of_family(4, 6) == 4 ? "-4" : "-6";

	hosts_open(&h);
	must_sh(h.net[H0], "ip addr add %s dev lo", FAR);
	must_sh(h.net[H1], "ip %s rule add %s lookup 5 && "
		"ip %s route add %s via %s dev eth0 table 5", v, rule, v, FAR,
		text_host(&h, H0));
}

static int from_far(int type)
{
	int fd = socket_of(h.net[H0], type);

	ASSERT_OK(do_bind(fd, addr_of(FAR, 0)));
	return fd;
}

static void check_marks(int type, int mark, bool reaches)
{
	int lfd = socket_of(h.net[H1], type), fd = from_far(type), cfd;

	ASSERT_OK(setsockopt(lfd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)));
	must_listen(lfd, addr_host(&h, H1, PORT));
	EXPECT_EQ(!try_connect(fd, addr_host(&h, H1, PORT)), reaches);
	if (reaches) {
		cfd = ASSERT_OK(accept(lfd, NULL, NULL));
		EXPECT_EQ(int_opt(cfd, SO_MARK), 5);
		close(cfd);
	}
	close(fd);
	close(lfd);
}

TEST_LIMIT(mark, 60)
{
	int i;

	far_open("fwmark 5");
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		check_marks(types[i], 5, true);
		check_marks(types[i], 0, false);
	}
	/* that of the client's packets, if the administrator wants it so */
	must_sh(h.net[H1], "tc qdisc add dev eth0 clsact && tc filter add"
		" dev eth0 ingress matchall action skbedit mark 5");
	ASSERT_OK(file_write(h.net[H1], "/proc/sys/net/ipv4/tcp_fwmark_accept",
			     "1"));
	for (i = 0; i < ARRAY_SIZE(types); i++)
		check_marks(types[i], 0, true);
}

static void set_tos(int fd, int tos)
{
	if (family == AF_INET)
		ASSERT_OK(setsockopt(fd, SOL_IP, IP_TOS, &tos, sizeof(tos)));
	else
		ASSERT_OK(setsockopt(fd, SOL_IPV6, IPV6_TCLASS, &tos,
				     sizeof(tos)));
}

/* Both ends' routes are those of their IP_TOS: of the listener's answers, too */
static void check_tos(int type, int tos, int err)
{
	int lfd = socket_of(h.net[H1], type), fd = from_far(type);

	set_tos(lfd, tos);
	must_listen(lfd, addr_host(&h, H1, PORT));
	EXPECT_EQ(try_connect(fd, addr_host(&h, H1, PORT)), err);
	close(fd);
	close(lfd);
}

TEST_LIMIT(tos, 60)
{
	far_open(family == AF_INET ? "tos 0x10" : "dsfield 0x10");
	check_tos(DLCP, 0x10, 0);
	check_tos(DLCP, 0, ETIMEDOUT);
	/* Over IPv6 TCP's listeners do not ask for it */
	if (family != AF_INET)
		return;
	check_tos(TCP, 0x10, 0);
	check_tos(TCP, 0, ETIMEDOUT);
}

static void set_dontroute(int fd)
{
	int on = 1;

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_DONTROUTE, &on, sizeof(on)));
}

/* No router is asked for anything: IPv6 does not know it */
TEST_LIMIT(dontroute, 60)
{
	int i, fd, lfd;

	if (family != AF_INET)
		SKIP("IPv4 alone has SO_DONTROUTE");
	hosts_open_routed(&h);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		lfd = socket_of(h.net[H1], types[i]);
		must_listen(lfd, addr_host(&h, H1, PORT));
		check_client(h.net[H0], types[i], addr_host(&h, H1, PORT), 0);
		fd = socket_of(h.net[H0], types[i]);
		set_dontroute(fd);
		EXPECT_EQ(try_connect(fd, addr_host(&h, H1, PORT)), ENETUNREACH);
		close(fd);
		/* nor are a listener's answers given to one */
		set_dontroute(lfd);
		check_client(h.net[H0], types[i], addr_host(&h, H1, PORT),
			     ETIMEDOUT);
		close(lfd);
	}
}
