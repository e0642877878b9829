// SPDX-License-Identifier: GPL-2.0
/*
 * Promises 7 and 9 of protocol.md: whoever dies and whatever breaks, the other
 * side gets an error in time, and nothing is left behind.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/genetlink.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "netlink.h"
#include "scene.h"

/* Send until it fails; the errno */
static int send_until_error(int fd)
{
	struct msg m = MSG(.len = 200 * KB);

	for (;;)
		if (send_msg(fd, &m, 0) < 0)
			return errno;
}

static int recv_until_error(int fd)
{
	struct got g;
	int err = 0;

	got_init(&g, 2 * MB);
	while (!err)
		if (recv_any(fd, &g, 0) < 0)
			err = errno;
		else if (g.eof)
			err = EPIPE;
	got_free(&g);
	return err;
}

static void child_sends(void *arg)
{
	send_until_error(*(int *)arg);
}

/* More than all buffers and what may be sent unasked */
#define LARGE	(2 * MB)

static void child_sends_large(void *arg)
{
	struct msg m = MSG(.len = LARGE);

	for (;;)
		must_send(*(int *)arg, &m);
}

static void child_receives(void *arg)
{
	recv_until_error(*(int *)arg);
}

static void kill_child(pid_t pid)
{
	ASSERT_OK(kill(pid, SIGKILL));
	ASSERT_OK(waitpid(pid, NULL, 0));
}

TEST(receiver_killed)
{
	struct pair p = pair_lo();
	pid_t pid = spawn(child_receives, &p.b, p.a);
	struct msg m = MSG(.len = 200 * KB);
	int i, err;

	close(p.b);
	for (i = 0; i < 5; i++)
		must_send(p.a, &m);
	kill_child(pid);
	err = send_until_error(p.a);
	EXPECT(err == ECONNRESET || err == EPIPE);
	EXPECT_EQ(info_of(p.a).state, DLCP_CLOSED);
}

/* What it had begun to send must not be taken for whole */
TEST(sender_killed)
{
	struct pair p = pair_lo();
	struct got g;
	pid_t pid;
	int i;

	set_buffers(p.a, 50000);
	set_buffers(p.b, 50000);
	pid = spawn(child_sends_large, &p.a, p.b);
	close(p.a);
	got_init(&g, LARGE);
	for (i = 0; i < 5; i++) {
		memset(g.buf, CANARY, g.size);
		ASSERT_OK(recv_any(p.b, &g, 0));
		check_got(&MSG(.len = LARGE), &g);
	}
	/* in the middle of a message, which does not fit into the buffers */
	WAIT_FOR(pid_sleeps(pid) &&
		 info_of(p.b).rx_msgs > info_of(p.b).rx_msgs_done);
	kill_child(pid);
	EXPECT_EQ(recv_until_error(p.b), ECONNRESET);
}

TEST(both_killed)
{
	struct pair p = pair_lo();
	pid_t rx = spawn(child_receives, &p.b, p.a),
	      tx = spawn(child_sends, &p.a, p.b);

	WAIT_FOR(info_of(p.b).rx_msgs_done > 3);
	pair_close(&p);
	kill_child(rx);
	kill_child(tx);
	WAIT_FOR(!proto_sockets(-1) && !proto_memory());
}

/* --- a peer that answers no more */

struct dying {
	struct hosts	h;
	struct pair	p;
};

static void dying_open(struct dying *d, int dead_ms)
{
	hosts_open(&d->h);
	d->p = pair_hosts(&d->h);
	ASSERT_OK(set_int(d->p.a, DLCP_DEAD_MS, dead_ms));
	ASSERT_OK(set_int(d->p.b, DLCP_DEAD_MS, dead_ms));
	ping_pong(&d->p);
}

static void cut(struct hosts *h)
{
	netem(h, H0, "loss 100%%");
	netem(h, H1, "loss 100%%");
}

static void check_timeout(long long start, int ms)
{
	EXPECT_GE(now_ms() - start, ms * 8 / 10);
	EXPECT_LE(now_ms() - start, (3 * ms + 3000) * slowness);
}

TEST(peer_vanishes_while_sending)
{
	struct msg m = MSG(.len = 1000, .flags = DLCP_MSG_REPORT);
	struct sent s;
	struct dying d;
	long long start;

	dying_open(&d, 500);
	cut(&d.h);
	start = now_ms();
	must_send(d.p.a, &m);
	EXPECT_EQ(send_until_error(d.p.a), ETIMEDOUT);
	check_words(d.p.a, "the peer has not answered for too long");
	check_timeout(start, 500);
	wait_report(d.p.a, &s);
	EXPECT_EQ(s.r.error, ETIMEDOUT);
	EXPECT_EQ(s.r.length, 1000);
	EXPECT_EQ(info_of(d.p.a).state, DLCP_CLOSED);
}

TEST(peer_vanishes_while_idle)
{
	int on = 1;
	struct dying d;
	long long start;

	dying_open(&d, 600);
	ASSERT_OK(setsockopt(d.p.b, SOL_SOCKET, SO_KEEPALIVE, &on,
			     sizeof(on)));
	ASSERT_OK(set_int(d.p.b, DLCP_KEEPALIVE_MS, 100));
	start = now_ms();
	cut(&d.h);
	EXPECT_EQ(recv_until_error(d.p.b), ETIMEDOUT);
	check_timeout(start, 600);
}

/* The other half: with a peer that lives, keep-alives keep it open */
TEST(keepalive)
{
	struct dying d;
	int on = 1;

	dying_open(&d, 400);
	ASSERT_OK(setsockopt(d.p.b, SOL_SOCKET, SO_KEEPALIVE, &on,
			     sizeof(on)));
	ASSERT_OK(set_int(d.p.b, DLCP_KEEPALIVE_MS, 100));
	WAIT_FOR(mib(d.h.net[H1], "Keepalives") >= 10);
	ping_pong(&d.p);
	EXPECT_EQ(mib(d.h.net[H0], "Keepalives"), 0);
}

/* A packet without DATA in the ninth byte passes: the type of a DLCP packet */
static void refuse_data(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
	};
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			     sizeof(prog)));
}

/* It answers whatever it is asked, and takes no data: that is no life */
TEST(peer_takes_nothing)
{
	struct msg m = MSG(.len = 500 * KB, .flags = DLCP_MSG_REPORT);
	struct dlcp_info before;
	struct pair p = pair_lo();
	long long start;
	struct sent s;

	/* A guest may get no processor for a second: that would be silence */
	ASSERT_OK(set_int(p.a, DLCP_DEAD_MS, 4000));
	ping_pong(&p);
	refuse_data(p.b);
	before = info_of(p.a);
	start = now_ms();
	must_send(p.a, &m);
	wait_report(p.a, &s);
	EXPECT_EQ(s.r.error, ETIMEDOUT);
	check_words(p.a, "the peer takes nothing of the data");
	check_timeout(start, 4000);
	/* eight rounds of all it may send, and few after */
	EXPECT_LT(info_of(p.a).lost_packets - before.lost_packets, 200);
	EXPECT_EQ(recv_until_error(p.b), ECONNRESET);
}

/* Its data comes all the while, and it acknowledges nothing: that is no life, either */
TEST(peer_never_acknowledges)
{
	struct open o = { .length = 1000, .seg = 1000, .elem = 1 };
	int dead_ms = 2000 * slowness, err = 0, i;
	long long start;
	struct scene s;
	struct got g;

	open_scene(&s);
	ASSERT_OK(set_int(s.p.b, DLCP_DEAD_MS, dead_ms));
	silence(&s);
	start = now_ms();
	must_send(s.p.b, &MSG(.len = 1000));
	got_init(&g, o.length);
	for (i = 0; !err && now_ms() - start < 5 * dead_ms; i++) {
		lie_open(&s, LIAR_MSG + i, &o);
		lie_data(&s, i, LIAR_MSG + i, 0, 1000);
		err = recv_any(s.p.b, &g, 0) < 0 ? errno : 0;
		nap_ms(10);
	}
	EXPECT_EQ(err, ETIMEDOUT);
	EXPECT_EQ(info_of(s.p.b).state, DLCP_CLOSED);
	check_words(s.p.b, "the peer has not answered for too long");
	check_timeout(start, dead_ms);
	EXPECT_GE(i, 10);
	got_free(&g);
}

/* And nothing is lost if it takes them again in time */
TEST(peer_takes_nothing_for_a_while)
{
	struct msg m = MSG(.len = 500 * KB);
	struct pair p = pair_lo();
	struct passing there = { p.a, p.b, &m };
	struct task t;
	int none = 0;

	ping_pong(&p);
	refuse_data(p.b);
	task_start(&t, passing_main, &there);
	WAIT_FOR(info_of(p.a).lost_packets > 50);
	ASSERT_OK(setsockopt(p.b, SOL_SOCKET, SO_DETACH_FILTER, &none,
			     sizeof(none)));
	task_join(&t);
	check_counters(p.a, p.b);
}

TEST(link_down_for_good)
{
	struct dying d;
	long long start;
	int err;

	dying_open(&d, 500);
	must_sh(d.h.net[H0], "ip link set eth0 down");
	start = now_ms();
	err = send_until_error(d.p.a);
	EXPECT(err == ETIMEDOUT || err == ENETUNREACH || err == EHOSTUNREACH);
	EXPECT_LE(now_ms() - start, 5000 * slowness);
}

TEST(link_down_and_up)
{
	struct underway u = {
		.m = MSG(.len = 500 * KB, .flags = DLCP_MSG_REPORT),
		.there.again = true,
	};
	int i;

	hosts_open(&u.h);
	for (i = 0; i < 2; i++)
		file_write(u.h.net[i],
			   "/proc/sys/net/ipv6/conf/eth0/keep_addr_on_down",
			   "1");
	underway_start(&u, "16mbit");
	for (i = 0; i < 3; i++) {
		underway_wait(&u, 0);
		must_sh(u.h.net[i % 2], "ip link set eth0 down");
		must_sh(u.h.net[i % 2], "ip link set eth0 up");
	}
	passing_end(&u.there, &u.t);
	check_counters(u.p.a, u.p.b);
}

/* --- name spaces and hosts that go */

/* Every process of a host and the host itself */
TEST(host_dies_under_traffic)
{
	struct dying d;
	pid_t pid;
	int err;

	dying_open(&d, 1000);
	sysctl_set(d.h.net[H1], "dead_ms", 500);
	pid = spawn(child_receives, &d.p.b, d.p.a);
	close(d.p.b);
	must_send(d.p.a, &MSG(.len = 500 * KB));
	cut(&d.h);
	kill_child(pid);
	/* its cable goes with it: the name space is really gone */
	hosts_kill(&d.h);
	err = send_until_error(d.p.a);
	EXPECT(err == ETIMEDOUT || err == ENETUNREACH || err == EHOSTUNREACH);
}

/* What is still being delivered for a closed socket dies with the peer */
TEST(orphans_end)
{
	struct dying d;

	dying_open(&d, 300);
	cut(&d.h);
	must_send(d.p.a, &MSG(.len = 500 * KB));
	pair_close(&d.p);
	WAIT_FOR(!proto_memory());
	/* nothing holds the name space: the cable goes */
	hosts_kill(&d.h);
}

/* However long their users would have waited themselves */
TEST(orphans_end_in_the_systems_time)
{
	struct dying d;

	dying_open(&d, 3600 * 1000);
	sysctl_set(d.h.net[H0], "dead_ms", 300);
	sysctl_set(d.h.net[H1], "dead_ms", 300);
	cut(&d.h);
	must_send(d.p.a, &MSG(.len = 500 * KB));
	pair_close(&d.p);
	WAIT_FOR(!proto_memory());
	hosts_kill(&d.h);
}

static void reboot(struct dying *d)
{
	struct linger l = { .l_onoff = 1 };

	cut(&d->h);
	ASSERT_OK(setsockopt(d->p.b, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	close(d->p.b);
	hosts_reboot(&d->h);
}

/* A host that knows nothing of the connection says so at once */
TEST(peer_rebooted)
{
	struct dying d;
	int lfd;

	dying_open(&d, 20000);
	reboot(&d);
	lfd = listen_in(d.h.net[H1], addr_host(&d.h, H1, PORT));
	EXPECT_EQ(send_until_error(d.p.a), ECONNRESET);
	check_words(d.p.a, "the peer does not know the connection");
	EXPECT_GT(mib(d.h.net[H1], "DropUnknownTag"), 0);
	close(lfd);
	d.p = pair_hosts(&d.h);
	ping_pong(&d.p);
}

/* One on which nobody speaks DLCP yet says it by ICMP, which may be forged:
 * believed when the peer's time is over
 */
TEST(peer_rebooted_without_dlcp)
{
	struct dying d;
	int err;

	dying_open(&d, 1000);
	reboot(&d);
	err = send_until_error(d.p.a);
	EXPECT(err == ECONNREFUSED || err == ECONNRESET || err == ETIMEDOUT);
}

/* --- close() delivers */

static void expect_all(int fd, const struct msg *m, int nr)
{
	struct got g;

	got_init(&g, m->len);
	while (nr--) {
		memset(g.buf, CANARY, g.size);
		ASSERT_OK(recv_any(fd, &g, 0));
		check_got(m, &g);
	}
	ASSERT_EQ(recv_any(fd, &g, 0), 0);
	EXPECT(g.eof);
	got_free(&g);
}

TEST_LIMIT(close_after_send, 30)
{
	struct msg m = MSG(.len = 30000);
	struct hosts h;
	struct pair p;
	int i;

	hosts_open(&h);
	p = pair_hosts(&h);
	netem(&h, H0, "delay 5ms loss 5%%");
	netem(&h, H1, "delay 5ms loss 5%%");
	for (i = 0; i < 10; i++)
		must_send(p.a, &m);
	close(p.a);
	expect_all(p.b, &m, 10);
	close(p.b);
	WAIT_FOR(!proto_memory());
}

static void child_sends_ten(void *arg)
{
	struct msg m = MSG(.len = 30000);
	int i;

	for (i = 0; i < 10; i++)
		must_send(*(int *)arg, &m);
}

TEST(exit_after_send)
{
	struct pair p = pair_lo();
	pid_t pid = spawn(child_sends_ten, &p.a, p.b);

	close(p.a);
	expect_all(p.b, &MSG(.len = 30000), 10);
	ASSERT_OK(waitpid(pid, NULL, 0));
}

TEST(linger_waits)
{
	struct linger l = { .l_onoff = 1, .l_linger = 10 };
	struct msg m = MSG(.len = 200 * KB);
	struct hosts h;
	struct pair p;
	long long start;

	hosts_open(&h);
	p = pair_hosts(&h);
	netem(&h, H0, "rate 8mbit");
	ASSERT_OK(setsockopt(p.a, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	must_send(p.a, &m);
	start = now_ms();
	close(p.a);
	EXPECT_GE(now_ms() - start, 150);
	EXPECT_LE(now_ms() - start, 5000 * slowness);
	expect_all(p.b, &m, 1);
}

/* --- nothing left */

TEST(many_come_and_go)
{
	struct msg m = MSG(.len = 20000);
	int lfd = listen_in(-1, addr_lo(PORT)), i;
	struct pair p;

	for (i = 0; i < 200; i++) {
		p.a = dlcp_socket();
		ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
		p.b = do_accept(lfd);
		if (i % 4)
			must_send(p.a, &m);
		if (i % 3)
			must_send(p.b, &m);
		if (i % 5 == 0)
			ASSERT_OK(shutdown(p.a, SHUT_RDWR));
		pair_close(&p);
	}
	close(lfd);
	WAIT_FOR_LIMIT(!proto_sockets(-1) && !proto_memory(), 15);
}

TEST(half_open_are_forgotten)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd, i;

	/* connections set up, never accepted, and closed at either end */
	for (i = 0; i < 50; i++) {
		fd = dlcp_socket();
		ASSERT_OK(do_connect(fd, addr_lo(PORT)));
		if (i % 2)
			must_send(fd, &MSG(.len = 1000));
		close(fd);
	}
	close(lfd);
	WAIT_FOR_LIMIT(!proto_sockets(-1) && !proto_memory(), 15);
}

/* --- the module */

static void need_module(void)
{
	if (!module_path())
		SKIP("the module may only be removed in the lab");
}

static const char *module_args(void)
{
	return encap == DLCP_ENCAP_RAW ? "raw=1" : "";
}

static bool unloaded(void)
{
	if (!module_unload() || errno == ENOENT)
		return true;
	ASSERT(errno == EAGAIN || errno == EBUSY);
	return false;
}

TEST_LIMIT(removal_refused_in_use, 40)
{
	struct pair p;
	int lfd;

	need_module();
	p = pair_lo();
	EXPECT_ERR(module_unload(), EAGAIN);
	ping_pong(&p);
	pair_close(&p);
	lfd = listen_in(-1, addr_lo(PORT + 1));
	EXPECT_ERR(module_unload(), EAGAIN);
	close(lfd);
	WAIT_FOR_LIMIT(unloaded(), 20);
	EXPECT(socket(family, SOCK_DLCP, 0) < 0);
	ASSERT_OK(module_load(module_args()));
	p = pair_lo();
	ping_pong(&p);
}

TEST_LIMIT(reload_after_traffic, 60)
{
	struct msg m = MSG(.len = 200 * KB);
	struct hosts h;
	struct pair p;
	int i;

	need_module();
	hosts_open(&h);
	for (i = 0; i < 20; i++) {
		p = pair_hosts(&h);
		must_send(p.a, &m);
		if (i % 2)
			pass(p.b, p.a, &m);
		pair_close(&p);
		WAIT_FOR_LIMIT(unloaded(), 20);
		ASSERT_OK(module_load(module_args()));
	}
	p = pair_hosts(&h);
	ping_pong(&p);
}

/* --- who may have it loaded */

#define MODULES		"/run/dlcp-test-modules"
#define MODPROBE	"/proc/sys/kernel/modprobe"

/* The kernel's modprobe finds ours, and nothing else: by the names that depmod
 * reads in it, and by those in a file
 */
static void modprobe_finds_ours(void)
{
	must_sh(-1,
		"d=" MODULES "; to=$d/lib/modules/$(uname -r); mkdir -p $to && : >$d/names &&"
		" cp $(dirname $DLCP_TEST_MODULE)/dlcp*.ko $to && depmod -b $d 2>/dev/null &&"
		" printf '#!/bin/sh\\nexec modprobe -d %%s -C %%s/names \"$@\"\\n' $d $d >$d/modprobe &&"
		" chmod +x $d/modprobe");
	ASSERT_OK(file_write(-1, MODPROBE, MODULES "/modprobe"));
}

static void ask_for_family(int unused1, int unused2, int unused3)
{
	struct {
		struct nlmsghdr		h;
		struct genlmsghdr	g;
		struct nlattr		a;
		char			name[8];
	} m = {
		{ sizeof(m), GENL_ID_CTRL, NLM_F_REQUEST },
		{ CTRL_CMD_GETFAMILY, 1 },
		{ NLA_HDRLEN + sizeof(DLCP_FAMILY_NAME), CTRL_ATTR_FAMILY_NAME },
		DLCP_FAMILY_NAME,
	};
	int fd = ASSERT_OK(socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC));

	EXPECT_OK(send(fd, &m, sizeof(m), 0));
}

static void ask_for_diag(int diag_family, int unused1, int unused2)
{
	struct {
		struct nlmsghdr			h;
		struct inet_diag_req_v2		req;
	} m = {
		{ sizeof(m), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP },
		{ diag_family, IPPROTO_DLCP, 0, 0, ~0U },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

	if (fd >= 0)
		EXPECT_OK(send(fd, &m, sizeof(m), 0));
}

static void ask_for_socket(int of, int type, int protocol)
{
	socket(of, type, protocol);
}

/* What makes the kernel look for a module */
struct way {
	void	(*ask)(int family, int type, int protocol);
	int	family;
	int	type;
	int	protocol;
};

static void ask_as_nobody(void *arg)
{
	const struct way *w = arg;

	ASSERT_OK(setgid(65534));
	ASSERT_OK(setuid(65534));
	w->ask(w->family, w->type, w->protocol);
}

static bool loads_it(const struct way *w)
{
	pid_t pid = spawn(ask_as_nobody, (void *)w, -1);

	ASSERT_OK(waitpid(pid, NULL, 0));
	return !access("/sys/module/dlcp", F_OK);
}

/* Who asks by a name that it had would have it */
TEST_LIMIT(users_load_no_module, 60)
{
	static const struct way ways[] = {
		{ ask_for_socket, AF_INET, SOCK_DLCP, 0 },
		{ ask_for_family },
		{ ask_for_socket, AF_INET6, SOCK_DGRAM, IPPROTO_DLCP },
		{ ask_for_diag, AF_INET },
	};
	struct pair p;
	char *was;
	int i;

	need_module();
	was = file_read(-1, MODPROBE);
	WAIT_FOR_LIMIT(unloaded(), 20);
	modprobe_finds_ours();
	for (i = 0; i < ARRAY_SIZE(ways); i++)
		EXPECT(!loads_it(&ways[i]));
	EXPECT_OK(file_write(-1, MODULES "/names", "alias net-pf-* dlcp\n"));
	for (i = 0; i < 2; i++) {
		EXPECT(loads_it(&ways[i]));
		WAIT_FOR_LIMIT(unloaded(), 20);
	}
	EXPECT_OK(file_write(-1, MODPROBE, was));
	must_sh(-1, "rm -r " MODULES);
	ASSERT_OK(module_load(module_args()));
	p = pair_lo();
	ping_pong(&p);
	free(was);
}
