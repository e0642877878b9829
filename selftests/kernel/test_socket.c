// SPDX-License-Identifier: GPL-2.0
/* Sockets come to life: creation, names, listen, connect, accept */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib.h"

static int sock_int(int fd, int opt)
{
	socklen_t len = sizeof(int);
	int val = -1;

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, opt, &val, &len));
	return val;
}

TEST(creation)
{
	static const struct {
		int family, type, protocol, err;
	} cases[] = {
		{ AF_INET, SOCK_DLCP, 0, 0 },
		{ AF_INET6, SOCK_DLCP, 0, 0 },
		{ AF_INET, SOCK_DLCP, IPPROTO_DLCP, 0 },
		{ AF_INET6, SOCK_DLCP, IPPROTO_DLCP, 0 },
		{ AF_INET, SOCK_DGRAM, IPPROTO_DLCP, 0 },
		{ AF_INET6, SOCK_DGRAM, IPPROTO_DLCP, 0 },
		{ AF_INET, SOCK_DLCP, IPPROTO_TCP, EPROTONOSUPPORT },
		{ AF_INET, SOCK_STREAM, IPPROTO_DLCP, EPROTONOSUPPORT },
		{ AF_INET6, SOCK_STREAM, IPPROTO_DLCP, EPROTONOSUPPORT },
		{ AF_UNIX, SOCK_DLCP, 0, ESOCKTNOSUPPORT },
	};
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		errno = 0;
		fd = socket(cases[i].family, cases[i].type, cases[i].protocol);
		if (fd < 0 ? errno != cases[i].err : cases[i].err)
			test_failed(false, "socket(%d, %d, %d): %s, expected %s",
				    cases[i].family, cases[i].type,
				    cases[i].protocol, err_name(errno),
				    err_name(cases[i].err));
		if (fd < 0)
			continue;
		EXPECT_EQ(sock_int(fd, SO_DOMAIN), cases[i].family);
		EXPECT_EQ(sock_int(fd, SO_TYPE), cases[i].type);
		EXPECT_EQ(sock_int(fd, SO_PROTOCOL), IPPROTO_DLCP);
		EXPECT_EQ(sock_int(fd, SO_ACCEPTCONN), 0);
		EXPECT_EQ(info_of(fd).state, DLCP_CLOSED);
		close(fd);
	}
}

TEST(creation_flags)
{
	int fd = ASSERT_OK(socket(family, SOCK_DLCP | SOCK_NONBLOCK |
				  SOCK_CLOEXEC, 0));

	EXPECT(fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

TEST(dgram_form_works)
{
	int fd = ASSERT_OK(socket(family, SOCK_DGRAM, IPPROTO_DLCP));
	struct pair p;

	ASSERT_OK(set_int(fd, DLCP_RECVWANT, 1));
	ASSERT_OK(set_int(fd, DLCP_ENCAP, encap));
	p = pair_from(fd, -1, addr_lo(PORT));
	ping_pong(&p);
}

TEST(names)
{
	struct pair p = pair_lo();
	union addr local, peer;
	socklen_t len;

	len = sizeof(peer);
	ASSERT_OK(getpeername(p.a, &peer.sa, &len));
	EXPECT_EQ(len, addr_len());
	EXPECT_EQ(addr_port(&peer), PORT);
	EXPECT(addr_same_ip(peer, addr_lo(0)));
	len = sizeof(local);
	ASSERT_OK(getsockname(p.a, &local.sa, &len));
	EXPECT_EQ(len, addr_len());
	EXPECT(addr_same_ip(local, addr_lo(0)));
	EXPECT_NE(addr_port(&local), 0);

	len = sizeof(peer);
	ASSERT_OK(getpeername(p.b, &peer.sa, &len));
	EXPECT_EQ(addr_port(&peer), addr_port(&local));
	EXPECT(addr_same_ip(peer, addr_lo(0)));
	len = sizeof(local);
	ASSERT_OK(getsockname(p.b, &local.sa, &len));
	EXPECT_EQ(addr_port(&local), PORT);
}

TEST(names_of_the_unconnected)
{
	int fd = dlcp_socket();
	socklen_t len = sizeof(union addr);
	union addr a;

	EXPECT_ERR(getpeername(fd, &a.sa, &len), ENOTCONN);
	ASSERT_OK(getsockname(fd, &a.sa, &len));
	EXPECT_EQ(a.sa.sa_family, family);
	EXPECT_EQ(addr_port(&a), 0);
}

/* As with TCP: a connection is what cannot be given another name */
TEST(accept_gives_the_peer)
{
	int lfd = listen_in(-1, addr_lo(PORT)), a = dlcp_socket(), b;
	union addr local, peer;
	socklen_t len = sizeof(peer);

	ASSERT_OK(do_bind(a, addr_lo(4242)));
	ASSERT_OK(do_connect(a, addr_lo(PORT)));
	ASSERT(poll_for(lfd, POLLIN, 5000) & POLLIN);
	b = ASSERT_OK(accept4(lfd, &peer.sa, &len, SOCK_NONBLOCK |
			      SOCK_CLOEXEC));
	EXPECT_EQ(len, addr_len());
	EXPECT_EQ(addr_port(&peer), 4242);
	EXPECT(fcntl(b, F_GETFL) & O_NONBLOCK);
	EXPECT(fcntl(b, F_GETFD) & FD_CLOEXEC);
	len = sizeof(local);
	ASSERT_OK(getsockname(a, &local.sa, &len));
	EXPECT_EQ(addr_port(&local), 4242);
	EXPECT_ERR(do_bind(b, addr_lo(0)), EINVAL);
}

TEST(accept_without_connections)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket();

	EXPECT_ERR(accept4(fd, NULL, NULL, 0), EINVAL);
	ASSERT_OK(fcntl(lfd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(accept4(lfd, NULL, NULL, 0), EAGAIN);
	EXPECT_EQ(poll_for(lfd, POLLIN | POLLOUT, 0), 0);
	ASSERT_OK(fcntl(lfd, F_SETFL, 0));
	set_timeout(lfd, SO_RCVTIMEO, 50);
	EXPECT_ERR(accept4(lfd, NULL, NULL, 0), EAGAIN);
	EXPECT_ERR(accept4(lfd, NULL, NULL, 0x12345), EINVAL);
}

TEST(binding)
{
	int fd = dlcp_socket(), other = dlcp_socket(), any = dlcp_socket();
	const char *far = family == AF_INET6 ? "fd99::1" : "192.0.2.1";
	union addr a, wrong = addr_lo(PORT);
	socklen_t len = sizeof(a);

	EXPECT_ERR(do_bind(fd, addr_of(far, PORT)), EADDRNOTAVAIL);
	wrong.sa.sa_family = AF_UNIX;
	EXPECT_ERR(do_bind(fd, wrong), EAFNOSUPPORT);
	EXPECT_ERR(bind(fd, &wrong.sa, 3), EINVAL);
	ASSERT_OK(do_bind(fd, addr_lo(PORT)));
	EXPECT_ERR(do_bind(fd, addr_lo(PORT + 1)), EINVAL);
	EXPECT_ERR(do_bind(other, addr_lo(PORT)), EADDRINUSE);
	EXPECT_ERR(do_bind(other, addr_any(PORT)), EADDRINUSE);
	EXPECT_OK(do_bind(other, addr_lo(PORT + 1)));

	ASSERT_OK(do_bind(any, addr_any(0)));
	ASSERT_OK(getsockname(any, &a.sa, &len));
	EXPECT_GT(addr_port(&a), 0);
	EXPECT_NE(addr_port(&a), PORT);

	/* free again after close */
	close(fd);
	fd = dlcp_socket();
	EXPECT_OK(do_bind(fd, addr_lo(PORT)));
}

TEST(many_free_ports)
{
	int fd[200], i, k, port[200];
	socklen_t len;
	union addr a;

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = dlcp_socket();
		ASSERT_OK(do_bind(fd[i], addr_any(0)));
		len = sizeof(a);
		ASSERT_OK(getsockname(fd[i], &a.sa, &len));
		port[i] = addr_port(&a);
		for (k = 0; k < i; k++)
			ASSERT(port[k] != port[i]);
	}
}

/* A server that is started again while its connections live on */
TEST(reuseaddr)
{
	int lfd = listen_in(-1, addr_any(PORT)), fd, on = 1;
	struct pair p = { .a = dlcp_socket() };

	/* no two listeners on one port */
	fd = dlcp_socket();
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	if (do_bind(fd, addr_any(PORT)) == 0)
		EXPECT_ERR(listen(fd, 1), EADDRINUSE);
	else
		EXPECT_EQ(errno, EADDRINUSE);
	close(fd);

	ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
	p.b = do_accept(lfd);
	close(lfd);
	lfd = listen_in(-1, addr_any(PORT));
	ping_pong(&p);
	pair_close(&p);
	p.a = dlcp_socket();
	ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
	p.b = do_accept(lfd);
	ping_pong(&p);
}

TEST(listening)
{
	int fd = dlcp_socket(), other = dlcp_socket();
	char buf[8];

	ASSERT_OK(do_bind(fd, addr_lo(PORT)));
	ASSERT_OK(listen(fd, 5));
	EXPECT_OK(listen(fd, 10));
	EXPECT_EQ(sock_int(fd, SO_ACCEPTCONN), 1);
	EXPECT_EQ(info_of(fd).state, DLCP_LISTEN);
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EISCONN);
	EXPECT(recv(fd, buf, sizeof(buf), MSG_DONTWAIT) < 0);
	EXPECT_EQ(errno, ENOTCONN);
	/* without a bind it gets a port of its own */
	EXPECT_OK(listen(other, 5));
}

TEST(using_the_unconnected)
{
	int fd = dlcp_socket();
	char buf[8] = { 0 };

	EXPECT_ERR(recv(fd, buf, sizeof(buf), 0), ENOTCONN);
	EXPECT(send(fd, buf, sizeof(buf), MSG_NOSIGNAL) < 0);
	EXPECT(errno == ENOTCONN || errno == EPIPE);
	EXPECT_ERR(shutdown(fd, SHUT_WR), ENOTCONN);
	EXPECT_ERR(read_reports(fd, NULL, 0, 0), EAGAIN);
	EXPECT(poll_for(fd, POLLIN | POLLOUT, 0) & POLLHUP);
}

/* A message with a key is looked for among those on their way: there is no
 * such list yet
 */
TEST(receiving_by_key_unconnected)
{
	int fd = dlcp_socket(), lfd = listen_in(-1, addr_lo(PORT));
	struct got g;

	got_init(&g, 100);
	EXPECT_ERR(recv_key(fd, &g, 1, 0), ENOTCONN);
	EXPECT_ERR(recv_key(lfd, &g, 1, MSG_DONTWAIT), ENOTCONN);
	ASSERT_ERR(do_connect(fd, addr_lo(PORT + 1)), ECONNREFUSED);
	EXPECT_LE(recv_key(fd, &g, 1, 0), 0);
}

struct connecting {
	int		fd;
	union addr	to;
};

static void connecting_main(void *arg)
{
	struct connecting *c = arg;

	EXPECT_ERR(do_connect(c->fd, c->to), ECONNABORTED);
}

/* The peer does not answer; the socket can be used again afterwards */
TEST(shutdown_while_connecting)
{
	struct connecting c;
	struct hosts h;
	struct pair p;
	struct task t;

	hosts_open(&h);
	netem(&h, H0, "loss 100%%");
	c.to = addr_host(&h, H1, PORT);
	c.fd = dlcp_socket_in(h.net[H0]);
	task_start(&t, connecting_main, &c);
	WAIT_FOR(info_of(c.fd).state == DLCP_INIT_SENT);
	ASSERT_OK(shutdown(c.fd, SHUT_WR));
	task_join(&t);
	EXPECT(poll_for(c.fd, POLLIN | POLLOUT, 0) & POLLHUP);
	EXPECT_ERR(shutdown(c.fd, SHUT_WR), ENOTCONN);

	ASSERT_OK(fcntl(c.fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(do_connect(c.fd, c.to), EINPROGRESS);
	ASSERT_OK(shutdown(c.fd, SHUT_RDWR));
	EXPECT_EQ(sock_error(c.fd), ECONNABORTED);
	ASSERT_OK(fcntl(c.fd, F_SETFL, 0));
	must_sh(h.net[H0], "tc qdisc del dev eth0 root");
	p = pair_from(c.fd, h.net[H1], c.to);
	ping_pong(&p);
}

TEST(connecting)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket();
	union addr wrong = addr_lo(PORT);

	wrong.sa.sa_family = AF_UNIX;
	EXPECT_ERR(do_connect(fd, wrong), EAFNOSUPPORT);
	wrong = addr_lo(PORT);
	EXPECT_ERR(connect(fd, &wrong.sa, 4), EINVAL);
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	EXPECT_EQ(info_of(fd).state, DLCP_ESTABLISHED);
	EXPECT_EQ(info_of(fd).encap, encap);
	EXPECT_GT(info_of(fd).version, 0);
	EXPECT_GT(info_of(fd).seg_size, 0);
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EISCONN);
	EXPECT_ERR(listen(fd, 1), EINVAL);
	EXPECT_ERR(do_bind(fd, addr_lo(0)), EINVAL);
	close(do_accept(lfd));
}

TEST(connect_nonblocking)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket(), b;
	struct pair p;

	must_sh(-1, "tc qdisc add dev lo root netem delay 50ms");
	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	ASSERT_ERR(do_connect(fd, addr_lo(PORT)), EINPROGRESS);
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EALREADY);
	EXPECT_EQ(poll_for(fd, POLLOUT, 0), 0);
	ASSERT_EQ(poll_for(fd, POLLOUT, 10000), POLLOUT);
	EXPECT_EQ(sock_error(fd), 0);
	EXPECT_EQ(info_of(fd).state, DLCP_ESTABLISHED);
	b = do_accept(lfd);
	must_sh(-1, "tc qdisc del dev lo root");
	ASSERT_OK(fcntl(fd, F_SETFL, 0));
	p = (struct pair){ fd, b };
	ping_pong(&p);
}

TEST(connect_refused)
{
	int fd = dlcp_socket();
	char text[10];

	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	check_words(fd, "nobody listens at the peer's port");
	/* not connected is not the end of a connection */
	EXPECT_ERR(recv(fd, text, sizeof(text), 0), ENOTCONN);
	/* the socket can be used for another attempt */
	close(listen_in(-1, addr_lo(PORT + 1)));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	ASSERT_OK(listen_in(-1, addr_lo(PORT)));
	EXPECT_OK(do_connect(fd, addr_lo(PORT)));
}

TEST(shutdown_while_it_connects)
{
	int fd = dlcp_socket();

	must_sh(-1, "tc qdisc add dev lo root netem loss 100%%");
	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EINPROGRESS);
	ASSERT_OK(shutdown(fd, SHUT_RDWR));
	check_words(fd, "shutdown() ended the set-up: call connect() again");
	must_sh(-1, "tc qdisc del dev lo root");
	ASSERT_OK(listen_in(-1, addr_lo(PORT)));
	ASSERT_OK(fcntl(fd, F_SETFL, 0));
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
}

/* What a listener tried before says nothing of its connections */
TEST(refused_then_listens)
{
	char text[DLCP_ERROR_TEXT_MAX] = "?";
	int lfd = dlcp_socket(), fd = dlcp_socket();
	socklen_t len = sizeof(text);
	union addr a = addr_lo(PORT + 2);

	EXPECT_ERR(do_connect(lfd, addr_lo(PORT)), ECONNREFUSED);
	ASSERT_OK(do_bind(lfd, a));
	ASSERT_OK(listen(lfd, 4));
	ASSERT_OK(do_connect(fd, a));
	fd = do_accept(lfd);
	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, text, &len));
	EXPECT_EQ(strlen(text), 0);
}

static void expect_text(int fd, const struct hosts *h, const char *words)
{
	char text[DLCP_ERROR_TEXT_MAX] = { 0 };
	socklen_t len = sizeof(text);

	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_LAST_ERROR, text, &len));
	if (!strstr(text, words) || !strstr(text, text_host(h, H1)) ||
	    !strstr(text, encap == DLCP_ENCAP_RAW ? "IP protocol 253" :
							"UDP port 6253"))
		test_failed(false, "not \"%s\", host and port: %s", words,
			    text);
}

/* A set-up that the peer says nothing to names address, port and what to look at */
TEST(connect_unanswered)
{
	struct hosts h;
	int fd;

	hosts_open(&h);
	sysctl_set(h.net[H0], "dead_ms", 300);
	fd = dlcp_socket_in(h.net[H0]);
	/* No socket there has opened the port. The raw protocol is there. */
	EXPECT_ERR(do_connect(fd, addr_host(&h, H1, PORT)), ECONNREFUSED);
	if (encap == DLCP_ENCAP_UDP)
		expect_text(fd, &h, "is closed (ICMP): is the module in use there");
	netem(&h, H0, "loss 100%%");
	EXPECT_ERR(do_connect(fd, addr_host(&h, H1, PORT)), ETIMEDOUT);
	expect_text(fd, &h, "no answer from");
	check_words(fd, "is the module loaded there, and the port open?");
}

/* And one that a router refuses */
TEST(connect_prohibited)
{
	struct hosts h;
	int fd;

	hosts_open_routed(&h);
	sysctl_set(h.net[H0], "dead_ms", 2000);
	must_sh(h.net[ROUTER], "ip route add prohibit %s", text_host(&h, H1));
	fd = dlcp_socket_in(h.net[H0]);
	EXPECT(do_connect(fd, addr_host(&h, H1, PORT)) < 0);
	expect_text(fd, &h, "no way to");
	check_words(fd, "(ICMP or no route): does a firewall or router refuse it?");
}

/* It listens no more, who waited is told, and it may listen again */
TEST(shutdown_of_a_listener)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket();
	int waiting = dlcp_socket(), lowat = 2;
	struct pair p = { .a = fd };
	char c;

	EXPECT_ERR(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &lowat,
			      sizeof(lowat)), EOPNOTSUPP);
	ASSERT_OK(do_connect(waiting, addr_lo(PORT)));
	ASSERT_OK(shutdown(lfd, SHUT_WR));
	ASSERT_OK(shutdown(lfd, SHUT_RD));
	EXPECT_ERR(recv(waiting, &c, 1, 0), ECONNRESET);
	EXPECT_ERR(accept(lfd, NULL, NULL), EINVAL);
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	ASSERT_OK(listen(lfd, 5));
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	p.b = do_accept(lfd);
	ping_pong(&p);
}

TEST(connect_refused_nonblocking)
{
	int fd = dlcp_socket();

	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	if (do_connect(fd, addr_lo(PORT)) < 0 && errno == ECONNREFUSED)
		return;
	ASSERT_EQ(errno, EINPROGRESS);
	ASSERT(poll_for(fd, POLLOUT, 10000) & (POLLOUT | POLLERR | POLLHUP));
	EXPECT_EQ(sock_error(fd), ECONNREFUSED);
	EXPECT_EQ(sock_error(fd), 0);
}

TEST(connect_unreachable)
{
	const char *far = family == AF_INET6 ? "fd99::1" : "192.0.2.1";
	int fd = dlcp_socket();

	EXPECT_ERR(do_connect(fd, addr_of(far, PORT)), ENETUNREACH);
}

/* The way back goes between the two packets that a client begins with */
TEST(accept_without_route)
{
	struct hosts h;
	int fd, lfd;

	hosts_open(&h);
	netem(&h, H0, "delay 500ms");
	net_enter(h.net[H1]);
	lfd = dlcp_socket();
	ASSERT_OK(do_bind(lfd, addr_any(PORT)));
	ASSERT_OK(listen(lfd, 5));
	net_leave();
	net_enter(h.net[H0]);
	fd = dlcp_socket();
	net_leave();
	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(do_connect(fd, addr_host(&h, H1, PORT)), EINPROGRESS);
	WAIT_FOR(mib(h.net[H1], "SetupInitReceived") > 0);
	must_sh(h.net[H1], "ip route add unreachable %s", text_host(&h, H0));
	WAIT_FOR(mib(h.net[H1], "SetupListenNoRoute") > 0);
	EXPECT_EQ(mib(h.net[H1], "SetupListenNoMemory"), 0);
	EXPECT_EQ(mib(h.net[H1], "SetupAccepted"), 0);
	close(fd);
	close(lfd);
}

/* What belongs to no connection is no batch of one */
TEST(batches_of_connections)
{
	union addr to = addr_lo(DLCP_UDP_PORT);
	long long drops = mib_drops(-1);
	int fd, i;

	sysctl_set(-1, "udp_port", DLCP_UDP_PORT);
	fd = ASSERT_OK(socket(family, SOCK_DGRAM, 0));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(sendto(fd, "garbage", 7, 0, &to.sa, addr_len()), 7);
	WAIT_FOR(mib_drops(-1) >= drops + 10);
	EXPECT_EQ(mib(-1, "RxBatches"), 0);
	close(fd);
}

TEST(connect_timeout)
{
	int fd = dlcp_socket();
	long long start = now_ms();

	must_sh(-1, "tc qdisc add dev lo root netem loss 100%%");
	ASSERT_OK(set_int(fd, DLCP_DEAD_MS, 500));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ETIMEDOUT);
	EXPECT_GE(now_ms() - start, 400);
	EXPECT_LE(now_ms() - start, 5000 * slowness);
}

TEST(connect_sndtimeo)
{
	int fd = dlcp_socket();

	must_sh(-1, "tc qdisc add dev lo root netem loss 100%%");
	set_timeout(fd, SO_SNDTIMEO, 100);
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EINPROGRESS);
	close(fd);
}

static void on_alarm(int sig)
{
}

static void interrupt_after(int ms)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval it = { .it_value.tv_usec = ms * 1000 };

	ASSERT_OK(sigaction(SIGALRM, &sa, NULL));
	ASSERT_OK(setitimer(ITIMER_REAL, &it, NULL));
}

/* accept() of a socket that connects takes nothing of what others wait for */
TEST(accept_of_a_client)
{
	int fd = dlcp_socket();

	ASSERT_OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EINPROGRESS);
	EXPECT_ERR(accept(fd, NULL, NULL), EINVAL);
	WAIT_FOR(poll_for(fd, POLLERR, 0) & POLLERR);
	EXPECT_ERR(accept(fd, NULL, NULL), EINVAL);
	EXPECT_EQ(sock_error(fd), ECONNREFUSED);
	close(fd);
}

TEST(interrupted)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket(), b;
	char buf[8];

	must_sh(-1, "tc qdisc add dev lo root netem delay 200ms");
	interrupt_after(50);
	ASSERT_ERR(do_connect(fd, addr_lo(PORT)), EINTR);
	ASSERT_EQ(poll_for(fd, POLLOUT, 10000), POLLOUT);
	EXPECT_EQ(sock_error(fd), 0);
	b = do_accept(lfd);
	interrupt_after(50);
	EXPECT_ERR(recv(b, buf, sizeof(buf), 0), EINTR);
	interrupt_after(50);
	EXPECT_ERR(accept4(lfd, NULL, NULL, 0), EINTR);
}

TEST(backlog)
{
	int lfd = dlcp_socket(), fd[8], i, accepted = 0;

	ASSERT_OK(do_bind(lfd, addr_lo(PORT)));
	ASSERT_OK(listen(lfd, 2));
	ASSERT_OK(fcntl(lfd, F_SETFL, O_NONBLOCK));
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = dlcp_socket();
		ASSERT_OK(fcntl(fd[i], F_SETFL, O_NONBLOCK));
		EXPECT(do_connect(fd[i], addr_lo(PORT)) == 0 ||
		       errno == EINPROGRESS);
	}
	/* those that found no room keep trying and get in */
	WAIT_FOR(({
		i = accept4(lfd, NULL, NULL, 0);
		accepted += i >= 0;
		accepted == ARRAY_SIZE(fd);
	}));
	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		WAIT_FOR(info_of(fd[i]).state == DLCP_ESTABLISHED);
	}
}

TEST(close_of_a_listener)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket();
	char buf[8];

	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	close(lfd);
	/* nobody accepted it, and nobody will */
	EXPECT_ERR(recv(fd, buf, sizeof(buf), 0), ECONNRESET);
}

TEST(bindtodevice)
{
	int lfd = dlcp_socket(), fd = dlcp_socket();
	union addr a = addr_any(PORT);

	must_sh(-1, "ip link add d0 type dummy && ip link set d0 up");
	ASSERT_OK(setsockopt(lfd, SOL_SOCKET, SO_BINDTODEVICE, "d0", 2));
	ASSERT_OK(do_bind(lfd, a));
	ASSERT_OK(listen(lfd, 5));
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
	/* another device is another port space */
	close(fd);
	fd = dlcp_socket();
	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
	ASSERT_OK(do_bind(fd, a));
	ASSERT_OK(listen(fd, 5));
	close(lfd);
	lfd = dlcp_socket();
	EXPECT_OK(do_connect(lfd, addr_lo(PORT)));
}

TEST(v6_socket_takes_v4)
{
	int lfd, fd, b, off = 0;
	struct pair p;

	family = AF_INET6;
	lfd = dlcp_socket();
	ASSERT_OK(setsockopt(lfd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
			     sizeof(off)));
	ASSERT_OK(do_bind(lfd, addr_any(PORT)));
	ASSERT_OK(listen(lfd, 5));
	family = AF_INET;
	fd = dlcp_socket();
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	b = do_accept(lfd);
	p = (struct pair){ fd, b };
	ping_pong(&p);
	pair_close(&p);
	/* and goes to v4 by a mapped address */
	close(lfd);
	lfd = listen_in(-1, addr_lo(PORT));
	family = AF_INET6;
	fd = dlcp_socket();
	ASSERT_OK(do_connect(fd, addr_of("::ffff:127.0.0.1", PORT)));
	p = (struct pair){ fd, do_accept(lfd) };
	ping_pong(&p);
}

TEST(v6only_does_not_take_v4)
{
	int lfd, fd, on = 1;

	family = AF_INET6;
	lfd = dlcp_socket();
	ASSERT_OK(setsockopt(lfd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)));
	ASSERT_OK(do_bind(lfd, addr_any(PORT)));
	ASSERT_OK(listen(lfd, 5));
	family = AF_INET;
	fd = dlcp_socket();
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), ECONNREFUSED);
}

/* A connection is for life: its socket cannot be used for another */
TEST(disconnect_is_not_supported)
{
	struct pair p = pair_lo();
	struct sockaddr sa = { .sa_family = AF_UNSPEC };

	EXPECT(connect(p.a, &sa, sizeof(sa)) < 0);
	EXPECT(errno == EISCONN || errno == EOPNOTSUPP);
	ping_pong(&p);
}
