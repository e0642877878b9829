// SPDX-License-Identifier: GPL-2.0
/* Everything is per name space and visible; users get what is theirs */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "netlink.h"

/* --- settings */

struct range_case {
	const char *name, *good, *bad[4];
};

static const struct range_case ranges[] = {
	{ "udp_port", "6254", { "65536", "-1", "x" } },
	{ "congestion", "loss", { "nosuch", "" } },
	{ "dead_ms", "5000", { "0", "-1", "99999999" } },
	{ "keepalive_ms", "5000", { "0", "-1", "99999999" } },
	{ "ack_delay_us", "100", { "-1", "9999999" } },
	{ "ack_packets", "8", { "0", "-1", "99999" } },
	{ "rx_unsolicited", "65536", { "1", "-1", "99999999999" } },
	{ "max_msg_mb", "16", { "0", "-1", "99999999" } },
	{ "nr_paths", "4", { "0", "17", "-1" } },
	{ "path_scheduler", "even", { "nosuch", "" } },
	{ "reply_rate", "10", { "-1", "99999999" } },
	{ "wmem", "4096 100000 200000", { "0 0 0", "-1 -1 -1", "x" } },
	{ "rmem", "4096 100000 200000", { "0 0 0", "-1 -1 -1", "x" } },
	{ "dscp", "1 2 3 4", { "64", "-1", "1 2 99" } },
};

static void path_of(char *path, size_t len, const char *name)
{
	snprintf(path, len, "/proc/sys/net/dlcp/%s", name);
}

static void check_setting(const struct range_case *c)
{
	char path[128], *before, *after;
	int i;

	path_of(path, sizeof(path), c->name);
	before = file_read(-1, path);
	if (!before) {
		test_failed(false, "no %s", c->name);
		return;
	}
	for (i = 0; i < 4 && c->bad[i]; i++) {
		if (!*c->bad[i])
			continue;
		HERE();
		if (!file_write(-1, path, c->bad[i]))
			test_failed(false, "%s takes '%s'", c->name,
				    c->bad[i]);
		else if (errno != EINVAL && errno != ENOENT)
			test_failed(false, "%s = '%s': %s", c->name, c->bad[i],
				    err_name(errno));
		after = file_read(-1, path);
		if (strcmp(before, after))
			test_failed(false, "%s = '%s' changed it to %s",
				    c->name, c->bad[i], after);
		free(after);
	}
	if (file_write(-1, path, c->good))
		test_failed(false, "%s = %s: %s", c->name, c->good,
			    err_name(errno));
	after = file_read(-1, path);
	if (!strcmp(before, after))
		test_failed(false, "%s did not change", c->name);
	free(before);
	free(after);
}

TEST(settings)
{
	struct pair p;
	int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		check_setting(&ranges[i]);
	/* odd as they are now, it works with them */
	p = pair_lo();
	ping_pong(&p);
	EXPECT_EQ(info_of(p.a).nr_paths, 4);
}

TEST(settings_are_of_one_name_space)
{
	int other = net_new();

	sysctl_set(-1, "dead_ms", 1234);
	EXPECT_NE(sysctl_get(other, "dead_ms"), 1234);
	sysctl_set(other, "dead_ms", 4321);
	EXPECT_EQ(sysctl_get(-1, "dead_ms"), 1234);
	/* the account of all memory belongs to the first one */
	EXPECT(!file_read(other, "/proc/sys/net/dlcp/mem"));
}

TEST(settings_count)
{
	int fd, val;
	socklen_t len = sizeof(val);
	struct pair p;

	sysctl_set(-1, "max_msg_mb", 1);
	sysctl_set(-1, "dead_ms", 4000);
	must_sh(-1, "echo loss >/proc/sys/net/dlcp/congestion");
	must_sh(-1, "echo 4096 123456 200000 >/proc/sys/net/dlcp/wmem");
	must_sh(-1, "echo 4096 234567 300000 >/proc/sys/net/dlcp/rmem");
	p = pair_lo();
	EXPECT_ERR(send_msg(p.a, &MSG(.len = 2 * MB), 0), EMSGSIZE);
	ASSERT_OK(getsockopt(p.a, SOL_SOCKET, SO_SNDBUF, &val, &len));
	EXPECT_EQ(val, 123456);
	ASSERT_OK(getsockopt(p.b, SOL_SOCKET, SO_RCVBUF, &val, &len));
	EXPECT_EQ(val, 234567);
	ping_pong(&p);
	/* the limit of what may be asked for */
	fd = dlcp_socket();
	set_buffers(fd, 64 * MB);
	ASSERT_OK(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &val, &len));
	EXPECT_LT(val, 64 * MB);
}

TEST(udp_port)
{
	struct hosts h;
	struct pair p;
	int fd;

	hosts_open(&h);
	sysctl_set(h.net[H0], "udp_port", 7777);
	sysctl_set(h.net[H1], "udp_port", 7777);
	p = pair_hosts(&h);
	ping_pong(&p);
	pair_close(&p);
	/* the ends must agree on it */
	sysctl_set(h.net[H1], "udp_port", 8888);
	fd = dlcp_socket_in(h.net[H0]);
	listen_in(h.net[H1], addr_host(&h, H1, PORT));
	ASSERT_OK(set_int(fd, DLCP_DEAD_MS, 500));
	if (encap == DLCP_ENCAP_UDP)
		EXPECT(do_connect(fd, addr_host(&h, H1, PORT)) < 0);
}

TEST(udp_port_taken)
{
	union addr a = addr_any(DLCP_UDP_PORT);
	int u, fd;

	if (encap != DLCP_ENCAP_UDP)
		SKIP("needs no UDP port");
	u = ASSERT_OK(socket(family, SOCK_DGRAM, 0));
	ASSERT_OK(do_bind(u, a));
	fd = dlcp_socket();
	EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EADDRINUSE);
	EXPECT_ERR(listen(fd, 1), EADDRINUSE);
	close(u);
	EXPECT_OK(listen(fd, 1));
}

/* --- what can be seen */

TEST(counters)
{
	struct msg m = MSG(.len = 100 * KB);
	struct hosts h;
	struct pair p;
	int i;

	hosts_open(&h);
	p = pair_hosts(&h);
	for (i = 0; i < 5; i++)
		pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	EXPECT_EQ(mib(h.net[H0], "TxMessages"), 5);
	EXPECT_EQ(mib(h.net[H0], "TxMessagesDone"), 5);
	EXPECT_EQ(mib(h.net[H0], "TxBytesOffered"), 5 * m.len);
	EXPECT_EQ(mib(h.net[H0], "TxBytesDelivered"), 5 * m.len);
	EXPECT_EQ(mib(h.net[H0], "RxMessages"), 0);
	EXPECT_EQ(mib(h.net[H1], "RxMessages"), 5);
	EXPECT_EQ(mib(h.net[H1], "RxMessagesDone"), 5);
	EXPECT_EQ(mib(h.net[H1], "RxBytesDelivered"), 5 * m.len);
	EXPECT_EQ(mib(h.net[H1], "SetupAccepted"), 1);
	EXPECT_EQ(mib(h.net[H1], "TxMessages"), 0);
	EXPECT_EQ(mib(h.net[H0], "TxBytesSent"), info_of(p.a).tx_sent);
	EXPECT_EQ(mib(-1, "TxPackets"), 0);
}

static bool all_counted(const struct hosts *h, const struct pair *p, int nr)
{
	u64 packets = 0, sent = 0, done = 0, rcvd = 0;
	struct dlcp_info info;
	int i;

	for (i = 0; i < nr; i++) {
		info = info_of(p[i].a);
		packets += info.tx_packets;
		sent += info.tx_sent;
		done += info.tx_msgs_done;
		rcvd += info.rx_packets;
	}
	return mib(h->net[H0], "TxPackets") == packets &&
	       mib(h->net[H0], "TxBytesSent") == sent &&
	       mib(h->net[H0], "TxMessagesDone") == done &&
	       mib(h->net[H0], "RxPackets") == rcvd;
}

/* They are added up when they are read: of connections at rest, and of those gone */
TEST(counters_are_whole)
{
	struct msg m = MSG(.len = 100 * KB);
	struct pair p[4];
	struct hosts h;
	u64 sent = 0;
	int i;

	hosts_open(&h);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = pair_hosts(&h);
		pass(p[i].a, p[i].b, &m);
		WAIT_FOR(all_counted(&h, p, i + 1));
	}
	/* Nobody reads them before these are gone */
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		pass(p[i].a, p[i].b, &m);
		check_counters(p[i].a, p[i].b);
		sent += info_of(p[i].a).tx_sent;
		pair_close(&p[i]);
	}
	WAIT_FOR(!proto_sockets(h.net[H0]));
	EXPECT_EQ(mib(h.net[H0], "TxBytesSent"), sent);
	EXPECT_EQ(mib(h.net[H0], "TxMessagesDone"), 2 * ARRAY_SIZE(p));
}

/* --- users who are not root */

static void become_nobody(void)
{
	ASSERT_OK(setgid(65534));
	ASSERT_OK(setuid(65534));
}

static int devices(int net)
{
	struct nl_rows rows = nl_all(net, DLCP_CMD_DEV_GET);
	int nr = rows.nr;

	nl_free(&rows);
	return nr;
}

/* Has the device called "other" sent something? */
static bool other_has_sent(int net)
{
	char *text = file_read(net, "/proc/thread-self/net/dev"), *line;
	long long bytes = 0;

	ASSERT(text);
	line = strstr(text, "other:");
	ASSERT(line);
	sscanf(line, "other: %*d %*d %*d %*d %*d %*d %*d %*d %lld", &bytes);
	free(text);
	return bytes;
}

/* What is kept of a device that data left through is kept as long as a socket
 * sends through it: whoever may make devices does not get memory without end.
 */
TEST_LIMIT(devices_are_forgotten, 30)
{
	struct msg m = MSG(.len = 1000);
	struct hosts h;
	struct pair p;
	struct got g;
	int i;

	hosts_open(&h);
	p = pair_hosts(&h);
	ping_pong(&p);
	EXPECT_EQ(devices(h.net[H0]), 1);
	got_init(&g, m.len);
	for (i = 0; i < 3; i++) {
		must_sh(h.net[H0], "ip link add name other type dummy && "
			"ip link set other up && ip route add %s dev other",
			text_host(&h, H1));
		must_send(p.a, &m);
		WAIT_FOR(other_has_sent(h.net[H0]));
		EXPECT_EQ(devices(h.net[H0]), 1);
		must_sh(h.net[H0], "ip link del other");
		ASSERT_OK(recv_any(p.b, &g, 0));
	}
	EXPECT_EQ(devices(h.net[H0]), 1);
	pair_close(&p);
	WAIT_FOR(!devices(h.net[H0]) && !devices(h.net[H1]));
}

/* A port of all addresses is not any user's to take */
TEST(port_is_the_administrators)
{
	union addr a = addr_any(DLCP_UDP_PORT);
	int in[2], out[2], u, fd;
	char c = 0;
	pid_t pid;

	if (encap != DLCP_ENCAP_UDP)
		SKIP("needs no UDP port");
	ASSERT_OK(pipe(in));
	ASSERT_OK(pipe(out));
	pid = fork();
	if (!pid) {
		become_nobody();
		fd = dlcp_socket();
		EXPECT_ERR(do_connect(fd, addr_lo(PORT)), EPERM);
		check_words(fd, "the UDP port is closed: root opens it by net.dlcp.udp_port");
		EXPECT_ERR(listen(fd, 1), EPERM);
		EXPECT_OK(do_bind(fd, addr_lo(PORT)));
		/* the port is there for others */
		u = ASSERT_OK(socket(family, SOCK_DGRAM, 0));
		EXPECT_OK(do_bind(u, a));
		close(u);
		ASSERT_EQ(write(out[1], &c, 1), 1);
		ASSERT_EQ(read(in[0], &c, 1), 1);
		EXPECT_OK(listen(fd, 1));
		fd = dlcp_socket();
		EXPECT_OK(do_connect(fd, addr_lo(PORT)));
		_exit(0);
	}
	ASSERT_EQ(read(out[0], &c, 1), 1);
	/* also if it is the number it has */
	sysctl_set(-1, "udp_port", DLCP_UDP_PORT);
	u = ASSERT_OK(socket(family, SOCK_DGRAM, 0));
	EXPECT_ERR(do_bind(u, a), EADDRINUSE);
	ASSERT_EQ(write(in[1], &c, 1), 1);
	ASSERT_OK(waitpid(pid, NULL, 0));
}

/* Whoever says his messages are urgent goes before his own */
TEST_LIMIT(turns_are_of_one_user, 40)
{
	int in[2], out[2], other;
	struct hosts h;
	struct pair p;
	char c = 0;
	pid_t pid;

	hosts_open(&h);
	p = pair_hosts(&h);
	ping_pong(&p);
	ASSERT_OK(pipe(in));
	ASSERT_OK(pipe(out));
	pid = fork();
	if (!pid) {
		other = listen_in(h.net[H1], addr_host(&h, H1, PORT + 1));
		net_enter(h.net[H0]);
		become_nobody();
		p.a = dlcp_socket();
		ASSERT_OK(do_connect(p.a, addr_host(&h, H1, PORT + 1)));
		p.b = do_accept(other);
		ping_pong(&p);
		ASSERT_EQ(write(out[1], &c, 1), 1);
		ASSERT_EQ(read(in[0], &c, 1), 1);
		_exit(0);
	}
	ASSERT_EQ(read(out[0], &c, 1), 1);
	EXPECT_EQ(devices(h.net[H0]), 2);
	ASSERT_EQ(write(in[1], &c, 1), 1);
	ASSERT_OK(waitpid(pid, NULL, 0));
	WAIT_FOR(devices(h.net[H0]) == 1);
}

/* A message of this class, over a socket of that user, from h0 to h1 */
struct stream {
	struct msg	m;
	struct pair	p;
	struct passing	there;
	struct task	t;
};

static void stream_start(struct stream *s, struct hosts *h, uid_t user, int prio, int len)
{
	int fd = dlcp_socket_in(h->net[H0]);

	ASSERT_OK(fchown(fd, user, -1));
	s->p = pair_from(fd, h->net[H1], addr_host(h, H1, PORT + prio));
	s->m = MSG(.len = len, .prio = prio);
	s->there = (struct passing){ s->p.a, s->p.b, &s->m };
	task_start(&s->t, passing_main, &s->there);
}

static u64 moved(const struct stream *s)
{
	return info_of(s->p.b).rx_delivered;
}

/* Bytes of an urgent message that go while 100 KB of one of the last class do, of @user */
static u64 beside(uid_t user)
{
	struct stream urgent, last;
	struct hosts h;
	u64 bytes;

	hosts_open(&h);
	/* netem would take packets off the sockets' accounts */
	must_sh(h.net[H0], "tc qdisc add dev eth0 root tbf rate 16mbit burst 8000 limit 10000000");
	stream_start(&urgent, &h, 0, 0, 3 * MB);
	WAIT_FOR(moved(&urgent) > 100 * KB);
	stream_start(&last, &h, user, 7, 200 * KB);
	WAIT_FOR(moved(&last) >= 50 * KB);
	bytes = moved(&urgent);
	WAIT_FOR(moved(&last) >= 150 * KB);
	bytes = moved(&urgent) - bytes;
	task_join(&last.t);
	task_join(&urgent.t);
	pair_close(&last.p);
	pair_close(&urgent.p);
	return bytes;
}

/* A user's own are owed one part in 16; others have a share, however urgent the first is */
TEST_LIMIT(share_of_another_user, 120)
{
	u64 own, others;

	if (!in_virtual_time())
		SKIP("a busy machine does not fill the link");
	own = beside(0);
	others = beside(65534);
	test_note("figure: while 100 KB of the last class go, %llu KB of an urgent message of the same user do, or %llu of another's",
		  (unsigned long long)own / KB, (unsigned long long)others / KB);
	EXPECT_LE(others, 200 * KB);
	EXPECT_GE(own, 500 * KB);
}

TEST(unprivileged)
{
	static const char *const settings[] = {
		"ack_delay_us", "ack_packets", "congestion", "dead_ms", "dscp",
		"keepalive_ms", "max_msg_mb", "nr_paths", "path_scheduler",
		"rails", "reply_rate", "rmem", "rx_unsolicited", "tx_order",
		"tx_priority", "udp_port", "wmem",
	};
	static const struct { int opt, val; } options[] = {
		{ DLCP_FILL, DLCP_FILL_KEEP }, { DLCP_DEAD_MS, 5000 },
		{ DLCP_KEEPALIVE_MS, 5000 }, { DLCP_PATHS, 2 },
		{ DLCP_ZEROCOPY, 1 },
	};
	int big = 1 << 30, on = 1, fd, i;
	struct pair p;
	char path[64];

	ASSERT_OK(file_write(-1, "/proc/sys/net/ipv4/ip_unprivileged_port_start",
			     "1024"));
	sysctl_set(-1, "udp_port", DLCP_UDP_PORT);
	become_nobody();
	p = pair_lo();
	ping_pong(&p);
	fd = dlcp_socket();
	for (i = 0; i < ARRAY_SIZE(options); i++)
		EXPECT_OK(set_int(fd, options[i].opt, options[i].val));
	EXPECT_OK(setsockopt(fd, SOL_DLCP, DLCP_CONGESTION, "fixed", 5));
	EXPECT_ERR(do_bind(fd, addr_lo(80)), EACCES);
	EXPECT_OK(do_bind(fd, addr_lo(8080)));
	EXPECT_ERR(setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big,
			      sizeof(big)), EPERM);
	EXPECT_ERR(setsockopt(fd, SOL_SOCKET, SO_MARK, &on, sizeof(on)),
		   EPERM);
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/dlcp/%s",
			 settings[i]);
		EXPECT_ERR(file_write(-1, path, "1000"), EACCES);
	}
	/* what may be seen by everybody */
	EXPECT_GE(mib(-1, "TxMessages"), 2);
	EXPECT_EQ(info_of(p.a).tx_msgs, 1);
}

/* Root of a user name space of its own, and of a network in it */
TEST(user_name_space)
{
	int status, outside = ASSERT_OK(open("/proc/self/ns/net", O_RDONLY));
	long long before = sysctl_get(-1, "dead_ms");
	struct pair p;
	pid_t pid = fork();

	if (!pid) {
		become_nobody();
		ASSERT_OK(unshare(CLONE_NEWUSER | CLONE_NEWNET));
		net_lo_up();
		p = pair_lo();
		ping_pong(&p);
		/* its own network is for it to set, the protocol's memory not */
		EXPECT_OK(file_write(-1, "/proc/sys/net/dlcp/dead_ms", "777"));
		EXPECT_EQ(sysctl_get(-1, "dead_ms"), 777);
		EXPECT_ERR(file_write(-1, "/proc/sys/net/dlcp/mem", "1 2 3"),
			   ENOENT);
		EXPECT_ERR(setns(outside, CLONE_NEWNET), EPERM);
		_exit(0);
	}
	ASSERT_OK(waitpid(pid, &status, 0));
	EXPECT_EQ(status, 0);
	EXPECT_EQ(sysctl_get(-1, "dead_ms"), before);
}

/* --- tracepoints */

#define TRACEFS	"/sys/kernel/tracing/"

static bool trace_set(const char *file, const char *text)
{
	char path[100];

	snprintf(path, sizeof(path), TRACEFS "%s", file);
	return !file_write(-1, path, text);
}

TEST_LIMIT(tracepoints, 40)
{
	static const char *const names[] = {
		"dlcp_send:", "dlcp_receive:", "dlcp_ack:", "dlcp_loss:",
		"dlcp_forgive:", "dlcp_complete:", "dlcp_events:",
		"dlcp_open:", "dlcp_left:", "dlcp_read:",
	};
	struct msg m = MSG(.len = MB, .loss = 10 * PERCENT);
	char *text = NULL;
	struct hosts h;
	struct pair p;
	int i;

	mount("tracefs", TRACEFS, "tracefs", 0, NULL);
	if (!trace_set("events/dlcp/enable", "1"))
		SKIP("no tracing in this kernel");
	hosts_open(&h);
	p = pair_hosts(&h);
	netem(&h, H0, "loss 3%%");
	/* Large packets are lost whole: of one message's few perhaps none */
	for (i = 0; i < 16 && !(text && strstr(text, "dlcp_forgive:")); i++) {
		free(text);
		pass(p.a, p.b, &m);
		text = file_read(-1, TRACEFS "trace");
	}
	check_counters(p.a, p.b);
	trace_set("events/dlcp/enable", "0");
	ASSERT(text);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strstr(text, names[i]))
			test_failed(false, "nothing of %s", names[i]);
	EXPECT(strstr(text, "sender=1 msg=0 key=0 length=1048576"));
	EXPECT(strstr(text, "sender=0 msg=0 key=0 length=1048576"));
	free(text);
	trace_set("trace", "");
}
