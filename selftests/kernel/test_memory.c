// SPDX-License-Identifier: GPL-2.0
/* Promise 8 of protocol.md: every queue is bounded and accounted for */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"
#include "packet.h"

#define PAGE		4096

/* The limit as the kernel understood it */
static int limit_of(int fd, int opt)
{
	socklen_t len = sizeof(int);
	int val;

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, opt, &val, &len));
	return val;
}

TEST(receive_buffer_is_a_limit)
{
	struct msg m = MSG(.len = 10000);
	struct pair p = pair_lo();
	int limit, n = 0;
	struct got g;

	set_buffers(p.b, 100000);
	set_buffers(p.a, 100000);
	limit = limit_of(p.b, SO_RCVBUF);
	while (n < 3000 && (send_msg(p.a, &m, MSG_DONTWAIT) >= 0 ||
			    poll_for(p.a, POLLOUT, 200)))
		n++;
	EXPECT_LT(n, 3000);
	EXPECT_GT(rmem_of(p.b), 0);
	/* an skb that was let in may be larger than what was left */
	EXPECT_LE(rmem_of(p.b), limit * 3 / 2 + 65536);
	EXPECT_LE(wmem_of(p.a), limit_of(p.a, SO_SNDBUF) * 3 / 2);
	/* all that was taken is delivered as soon as it is read */
	got_init(&g, m.len);
	for (n = info_of(p.a).tx_msgs; n; n--) {
		ASSERT_OK(recv_any(p.b, &g, 0));
		check_got(&m, &g);
	}
	check_counters(p.a, p.b);
	WAIT_FOR(wmem_of(p.a) == 0);
	EXPECT_EQ(rmem_of(p.b), 0);
}

/* Reports nobody reads are bounded by the send buffer */
TEST(unread_reports_are_a_limit)
{
	struct msg m = MSG(.len = 100, .flags = DLCP_MSG_REPORT);
	static struct sent s[10000];
	struct pair p = pair_lo();
	struct got g;
	int i, err = 0;

	set_buffers(p.a, 20000);
	got_init(&g, m.len);
	for (i = 0; i < 20000 && !err; i++) {
		if (send_msg(p.a, &m, 0) < 0)
			err = errno;
		else
			ASSERT_OK(recv_any(p.b, &g, 0));
	}
	EXPECT_EQ(err, ENOBUFS);
	EXPECT_LE(wmem_of(p.a), limit_of(p.a, SO_SNDBUF) * 3);
	while (read_reports(p.a, s, ARRAY_SIZE(s), 0) > 0)
		;
	pass(p.a, p.b, &m);
}

/* What the OPEN of @m, as it is on the wire, says of its share of the allowance */
static int share_of(struct hosts *h, struct pair *p, struct msg *m)
{
	int wire = wire_open(h->net[H0], "eth0"), i, j, share = -1;
	u8 key[8] = { 0x5a, 0x17, 0xc3, 0x99, 0x81, 0x66, 0xe4, 0xbd };
	struct trace t = {};
	u8 *open;

	for (i = 0, m->key = 0; i < 8; i++)
		m->key = m->key << 8 | key[i];
	pass(p->a, p->b, m);
	trace_read(wire, &t, 400);
	for (j = 0; j < t.nr && share < 0; j++) {
		open = memmem(dlcp_of(&t.p[j]), dlcp_len(&t.p[j]), key, 8);
		if (open)
			share = open[34] >> 1;
	}
	free(t.p);
	close(wire);
	return share;
}

/* The first window is more than half of this allowance. It grows, and what a user
 * sets bounds it.
 */
TEST(allowance_grows)
{
	struct msg m = MSG(.len = 100 * KB);
	struct hosts h;
	int i, fixed;

	hosts_open(&h);
	sysctl_set(h.net[H1], "rx_unsolicited", 16384);
	netem(&h, H0, "delay 1ms");
	netem(&h, H1, "delay 1ms");
	for (fixed = 0; fixed < 2; fixed++) {
		struct pair p = pair_hosts(&h);

		if (fixed)
			set_buffers(p.b, 50000);
		EXPECT_EQ(share_of(&h, &p, &m), 0);
		for (i = 0; i < 3; i++)
			pass(p.a, p.b, &m);
		i = share_of(&h, &p, &m);
		EXPECT_GE(i, !fixed);
		EXPECT_LE(i, fixed ? 0 : 7);
		pair_close(&p);
	}
}

/* A message in memory that the account knows of */
TEST(protocol_account)
{
	struct msg m = MSG(.len = MB);
	struct pair p[4];
	struct got g;
	int i;

	EXPECT_EQ(proto_memory(), 0);
	for (i = 0; i < 12; i++) {
		if (i < 4)
			p[i] = pair_between(-1, -1, addr_lo(PORT + i));
		must_send(p[i % 4].a, &m);
	}
	WAIT_FOR(proto_memory() > 8 * MB / PAGE);
	got_init(&g, m.len);
	for (i = 0; i < 12; i++)
		ASSERT_OK(recv_any(p[i % 4].b, &g, 0));
	WAIT_FOR(!proto_memory());
}

/* It is a setting of the first name space, which is that of process 1 */
#define SET_MEM	"nsenter -t 1 -n sh -c 'echo %lld %lld %lld" \
		" >/proc/sys/net/dlcp/mem'"

enum { CROWD = 8 };

static void crowd_main(void *arg)
{
	struct msg m = MSG(.len = MB, .flags = DLCP_MSG_REPORT);
	struct passing pass[CROWD];
	struct pair *p = arg;
	struct task t[CROWD];
	int i;

	for (i = 0; i < CROWD; i++) {
		pass[i] = (struct passing){ p[i].a, p[i].b, &m };
		task_start(&t[i], passing_main, &pass[i]);
	}
	for (i = 0; i < CROWD; i++)
		task_join(&t[i]);
}

/* The limit of the whole protocol: slow, but nothing fails or hangs */
TEST_LIMIT(protocol_limit, 40)
{
	struct pair p[CROWD];
	long long pages;
	pid_t pid;
	int i;

	for (i = 0; i < CROWD; i++)
		p[i] = pair_between(-1, -1, addr_lo(PORT + i));
	pages = proto_memory();
	must_sh(-1, SET_MEM, pages + 300, pages + 400, pages + 500);
	/* the setting must be put back whatever happens */
	pid = spawn(crowd_main, p, -1);
	for (i = 0; i < 3000 * slowness && !waitpid(pid, NULL, WNOHANG); i++)
		nap_ms(10);
	must_sh(-1, SET_MEM, 50000LL, 80000LL, 100000LL);
	EXPECT_LT(i, 3000 * slowness);
	for (i = 0; i < CROWD; i++)
		check_counters(p[i].a, p[i].b);
}

/* --- memory cgroups */

#define CGROUP	"/sys/fs/cgroup/dlcp-test"

static long long cgroup_stat(const char *group, const char *key)
{
	char path[64], line[64], *text, *at;
	long long val = -1;

	snprintf(path, sizeof(path), "%s/memory.stat", group);
	text = file_read(-1, path);
	snprintf(line, sizeof(line), "\n%s ", key);
	at = text ? strstr(text, line) : NULL;
	if (at)
		val = atoll(at + strlen(line));
	free(text);
	return val;
}

static void enter_cgroup(const char *group)
{
	char path[64], pid[32];

	if (mkdir(group, 0755) && errno != EEXIST)
		SKIP("no control groups here");
	snprintf(pid, sizeof(pid), "%d", getpid());
	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	if (file_write(-1, path, pid) || cgroup_stat(group, "sock") < 0)
		SKIP("no memory cgroup here");
}

TEST(cgroup_is_charged)
{
	struct msg m = MSG(.len = MB);
	struct pair p;
	struct got g;
	int i;

	enter_cgroup(CGROUP);
	p = pair_lo();
	for (i = 0; i < 3; i++)
		must_send(p.a, &m);
	WAIT_FOR(cgroup_stat(CGROUP, "sock") > MB);
	got_init(&g, m.len);
	for (i = 0; i < 3; i++)
		ASSERT_OK(recv_any(p.b, &g, 0));
	pair_close(&p);
	WAIT_FOR_LIMIT(cgroup_stat(CGROUP, "sock") < MB / 2, 20);
}

/* Who accepts it may be of another one than who listens: one of them pays, and has all
 * of it back
 */
TEST_LIMIT(cgroup_of_a_child, 120)
{
	static const char *const acceptor[] = { CGROUP, CGROUP "-2" };
	struct pair p;
	int lfd, i;

	enter_cgroup(CGROUP);
	lfd = listen_in(-1, addr_lo(PORT));
	for (i = 0; i < 600; i++) {
		if (i % 300 == 0)
			enter_cgroup(acceptor[i / 300]);
		p.a = dlcp_socket();
		ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
		p.b = do_accept(lfd);
		pair_close(&p);
	}
	for (i = 0; i < 2; i++)
		WAIT_FOR_LIMIT(cgroup_stat(acceptor[i], "sock") < MB / 4, 20);
}
