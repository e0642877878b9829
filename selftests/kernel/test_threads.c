// SPDX-License-Identifier: GPL-2.0
/* Several threads receive from one socket, or send to it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

struct reading {
	int	fd;
	int	*seen;	/* by key */
	int	nr;
};

static void reading_main(void *arg)
{
	struct reading *r = arg;
	struct got g;

	got_init(&g, 3000);
	while (recv_any(r->fd, &g, 0) >= 0 && !g.eof) {
		struct msg m = MSG(.len = 100 + g.msg.key, .key = g.msg.key);

		check_got(&m, &g);
		__atomic_add_fetch(&r->seen[g.msg.key], 1, __ATOMIC_RELAXED);
		memset(g.buf, CANARY, g.size);
	}
	EXPECT(g.eof);
	got_free(&g);
}

TEST(many_readers)
{
	struct pair p = pair_lo();
	int seen[400] = { 0 }, i;
	struct reading r = { p.b, seen, ARRAY_SIZE(seen) };
	struct task t[4];

	for (i = 0; i < 4; i++)
		task_start(&t[i], reading_main, &r);
	for (i = 0; i < r.nr; i++)
		must_send(p.a, &MSG(.len = 100 + i, .key = i));
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	for (i = 0; i < 4; i++)
		task_join(&t[i]);
	for (i = 0; i < r.nr; i++)
		EXPECT_EQ(seen[i], 1);
}

static void keyed_reader(void *arg)
{
	struct msg *m = ((struct sending *)arg)->m;
	struct got g;

	got_init(&g, m->len);
	ASSERT_OK(recv_key(((struct sending *)arg)->fd, &g, m->key, 0));
	check_got(m, &g);
	got_free(&g);
}

/* Each waits for its own, sent in the opposite order */
TEST(readers_by_key)
{
	struct pair p = pair_lo();
	struct msg m[5];
	struct sending s[5];
	struct task t[5];
	int i;

	for (i = 0; i < 5; i++) {
		m[i] = MSG(.len = 20000 * (i + 1), .key = i);
		s[i] = (struct sending){ p.b, &m[i] };
		task_start(&t[i], keyed_reader, &s[i]);
	}
	for (i = 4; i >= 0; i--)
		must_send(p.a, &m[i]);
	for (i = 0; i < 5; i++)
		task_join(&t[i]);
}

static void sender_main(void *arg)
{
	struct reading *r = arg;
	int k;

	while ((k = __atomic_fetch_add(r->seen, 1, __ATOMIC_RELAXED)) < r->nr)
		must_send(r->fd, &MSG(.len = 100 + k, .key = k));
}

TEST(many_senders)
{
	struct pair p = pair_lo();
	int next = 0, seen[400] = { 0 }, i;
	struct reading w = { p.a, &next, 400 }, r = { p.b, seen, 400 };
	struct task t[4], reader;

	task_start(&reader, reading_main, &r);
	for (i = 0; i < 4; i++)
		task_start(&t[i], sender_main, &w);
	for (i = 0; i < 4; i++)
		task_join(&t[i]);
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	task_join(&reader);
	for (i = 0; i < r.nr; i++)
		EXPECT_EQ(seen[i], 1);
}

struct stuck_reader {
	int		fd;
	struct hole	hole;
};

static void stuck_reader_main(void *arg)
{
	struct stuck_reader *s = arg;

	ASSERT_EQ(recv(s->fd, s->hole.p, s->hole.len, 0), s->hole.len);
}

/* More packets wait for a reader's page than one acknowledgment can name. All of
 * them came, so that none is sent again.
 */
TEST_LIMIT(page_of_a_reader_comes_late, 60)
{
	struct stuck_reader s = { .hole.len = 4 * KB };
	int nr = 1500, bytes = 16 * MB, fd = dlcp_socket();
	long long before;
	struct task t;
	struct pair p;
	struct got g;
	int i;

	/* It sends all of them without an answer */
	ASSERT_OK(setsockopt(fd, SOL_DLCP, DLCP_CONGESTION, "fixed", 5));
	p = pair_from(fd, -1, addr_lo(PORT));
	ASSERT_OK(setsockopt(p.a, SOL_SOCKET, SO_SNDBUFFORCE, &bytes,
			     sizeof(bytes)));
	ASSERT_OK(setsockopt(p.b, SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
			     sizeof(bytes)));
	s.fd = p.b;
	hole_new(&s.hole, s.hole.len);
	task_start(&t, stuck_reader_main, &s);
	must_send(p.a, &MSG(.len = s.hole.len));
	hole_wait(&s.hole);
	before = mib(-1, "RxBacklog");
	for (i = 0; i < nr; i++)
		must_send(p.a, &MSG(.len = 64, .key = 1 + i));
	WAIT_FOR(mib(-1, "RxBacklog") >= before + nr);
	hole_fill(&s.hole);
	task_join(&t);
	got_init(&g, 64);
	for (i = 0; i < nr; i++) {
		ASSERT_OK(recv_any(p.b, &g, 0));
		check_got(&MSG(.len = 64, .key = 1 + i), &g);
	}
	got_free(&g);
	EXPECT_EQ(info_of(p.a).tx_resent, 0);
	EXPECT_EQ(mib(-1, "DropBacklog"), 0);
	check_counters(p.a, p.b);
}

#define FREEZER	"/run/dlcp-freezer"

static void large_sender_main(void *arg)
{
	must_send(*(int *)arg, &MSG(.len = 8 * MB, .key = 7));
	exit(0);
}

static bool freezer_says(const char *want)
{
	char *state = file_read(-1, FREEZER "/a/freezer.state");
	bool is = state && !strncmp(state, want, strlen(want));

	free(state);
	return is;
}

/* A message half given has to be finished, and no signal but a fatal one ends that.
 * It can be frozen there all the same, or no machine could be suspended then.
 */
TEST(frozen_in_a_message)
{
	struct pair p = pair_lo();
	char text[16];
	struct got g;
	int status;
	pid_t pid;

	if (sh(-1, "mkdir -p " FREEZER " && "
	       "mount -t cgroup -o freezer none " FREEZER " && "
	       "mkdir -p " FREEZER "/a"))
		SKIP("no freezer here");
	pid = spawn(large_sender_main, &p.a, p.b);
	WAIT_FOR(info_of(p.b).rx_msgs == 1 && pid_sleeps(pid));
	snprintf(text, sizeof(text), "%d", pid);
	ASSERT_OK(file_write(-1, FREEZER "/a/cgroup.procs", text));
	ASSERT_OK(file_write(-1, FREEZER "/a/freezer.state", "FROZEN"));
	WAIT_FOR(freezer_says("FROZEN"));
	ASSERT_OK(file_write(-1, FREEZER "/a/freezer.state", "THAWED"));
	got_init(&g, 8 * MB);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&MSG(.len = 8 * MB, .key = 7), &g);
	got_free(&g);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	must_sh(-1, "rmdir " FREEZER "/a && umount " FREEZER);
}

struct connecting {
	int		fd;
	union addr	peer;
	int		error;
};

static void connecting_main(void *arg)
{
	struct connecting *c = arg;

	c->error = do_connect(c->fd, c->peer) ? errno : 0;
}

/* Who is told first puts all back, and the other one leaves that alone */
TEST(two_connect)
{
	struct connecting c[2];
	struct task t[2];
	struct hosts h;
	int i, fd, lfd;

	hosts_open(&h);
	lfd = listen_in(h.net[H1], addr_host(&h, H1, PORT + 1));
	netem(&h, H0, "loss 100%%");
	fd = dlcp_socket_in(h.net[H0]);
	for (i = 0; i < 2; i++) {
		c[i].fd = fd;
		c[i].peer = addr_host(&h, H1, PORT);
		task_start(&t[i], connecting_main, &c[i]);
	}
	WAIT_FOR(task_sleeps(&t[0]) && task_sleeps(&t[1]));
	netem(&h, H0, "loss 0%%");
	for (i = 0; i < 2; i++)
		task_join(&t[i]);
	EXPECT(c[0].error == ECONNREFUSED || c[1].error == ECONNREFUSED);
	EXPECT(c[0].error == ECONNABORTED || c[1].error == ECONNABORTED);
	check_words(fd, "nobody listens at the peer's port");
	close(fd);
	close(lfd);
}

TEST(shutdown_beside_connect)
{
	struct connecting c;
	struct hosts h;
	struct task t;

	hosts_open(&h);
	netem(&h, H0, "loss 100%%");
	c.fd = dlcp_socket_in(h.net[H0]);
	c.peer = addr_host(&h, H1, PORT);
	task_start(&t, connecting_main, &c);
	WAIT_FOR(task_sleeps(&t) && info_of(c.fd).state);
	ASSERT_OK(shutdown(c.fd, SHUT_RDWR));
	task_join(&t);
	EXPECT_EQ(c.error, ECONNABORTED);
	check_words(c.fd, "shutdown() ended the set-up");
	ASSERT_OK(listen(c.fd, 8));
	close(c.fd);
}
