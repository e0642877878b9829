// SPDX-License-Identifier: GPL-2.0
/*
 * The netlink family "dlcp": what it says of listeners, connections, paths and
 * devices, to whom, while they come and go; and what it refuses.
 */
#define _GNU_SOURCE
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib.h"
#include "netlink.h"

#define NOBODY	65534

static u64 inode_of(int fd)
{
	struct stat st;

	ASSERT_OK(fstat(fd, &st));
	return st.st_ino;
}

static const struct nl_row *row_of(const struct nl_rows *rows, int fd)
{
	const struct nl_row *row = nl_find(rows, DLCP_A_SOCK_COOKIE, cookie_of(fd));

	ASSERT(row);
	return row;
}

#define SAME(row, attr, want)						\
	EXPECT_EQ((row)->value[DLCP_A_SOCK_ ## attr], want)

TEST(connection)
{
	struct msg m = MSG(.len = 100 * KB);
	struct pair p = pair_lo();
	const struct nl_row *row;
	struct dlcp_info info;
	struct nl_rows rows;

	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	rows = nl_all(-1, DLCP_CMD_SOCK_GET);
	row = row_of(&rows, p.a);
	info = info_of(p.a);
	SAME(row, STATE, DLCP_ESTABLISHED);
	SAME(row, ENCAP, encap);
	SAME(row, UID, 0);
	SAME(row, INODE, inode_of(p.a));
	SAME(row, VERSION, info.version);
	SAME(row, PATHS, info.nr_paths);
	SAME(row, PAIRS, info.nr_pairs);
	SAME(row, MTU, info.mtu);
	SAME(row, SEG_SIZE, info.seg_size);
	SAME(row, TX_OFFERED, info.tx_offered);
	SAME(row, TX_OFFERED, m.len);
	SAME(row, TX_DELIVERED, info.tx_delivered);
	SAME(row, TX_MSGS, 1);
	SAME(row, TX_MSGS_DONE, 1);
	SAME(row, RX_MSGS, 0);
	EXPECT_GE(info.tx_packets, row->value[DLCP_A_SOCK_TX_PACKETS]);
	EXPECT_GT(row->value[DLCP_A_SOCK_TX_PACKETS], 0);
	EXPECT_GT(row->value[DLCP_A_SOCK_SRTT_NS], 0);
	EXPECT(!row->has[DLCP_A_SOCK_BACKLOG]);
	EXPECT(!strcmp(row->local, row_of(&rows, p.b)->remote));
	EXPECT(!strcmp(row->remote, row_of(&rows, p.b)->local));
	row = row_of(&rows, p.b);
	SAME(row, RX_DELIVERED, m.len);
	SAME(row, RX_MSGS_DONE, 1);
	nl_free(&rows);
}

TEST(listener)
{
	int lfd = dlcp_socket(), fd = dlcp_socket();
	const struct nl_row *row;
	struct nl_rows rows;
	char text[80];
	u64 cookie;

	ASSERT_OK(do_bind(lfd, addr_any(PORT)));
	rows = nl_all(-1, DLCP_CMD_SOCK_GET);
	EXPECT_EQ(rows.nr, 0);
	nl_free(&rows);
	ASSERT_OK(listen(lfd, 7));
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	WAIT_FOR(poll_for(lfd, POLLIN, 0));
	rows = nl_all(-1, DLCP_CMD_SOCK_GET);
	row = row_of(&rows, lfd);
	SAME(row, STATE, DLCP_LISTEN);
	SAME(row, BACKLOG, 1);
	SAME(row, BACKLOG_MAX, 7);
	SAME(row, INODE, inode_of(lfd));
	EXPECT(!row->has[DLCP_A_SOCK_MTU]);
	snprintf(text, sizeof(text), "%s:%d", family == AF_INET6 ? "[::]" : "0.0.0.0",
		 PORT);
	EXPECT(!strcmp(row->local, text));
	nl_free(&rows);
	EXPECT_EQ(nl_of_cookie(-1, DLCP_CMD_PATH_GET, cookie_of(lfd)).nr, 0);
	ASSERT_OK(shutdown(lfd, SHUT_RD));
	EXPECT_EQ(nl_of_cookie(-1, DLCP_CMD_SOCK_GET, cookie_of(lfd)).nr, 0);
	ASSERT_OK(listen(lfd, 7));
	EXPECT_EQ(nl_of_cookie(-1, DLCP_CMD_SOCK_GET, cookie_of(lfd)).nr, 1);
	cookie = cookie_of(lfd);
	close(lfd);
	EXPECT_EQ(nl_of_cookie(-1, DLCP_CMD_SOCK_GET, cookie).nr, 0);
}

/* Of one connection all, in order, and of no other */
TEST(paths)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd[2], i;
	struct nl_rows rows;

	for (i = 0; i < ARRAY_SIZE(fd); i++) {
		fd[i] = dlcp_socket();
		ASSERT_OK(set_int(fd[i], DLCP_PATHS, 16));
		ASSERT_OK(do_connect(fd[i], addr_lo(PORT)));
	}
	rows = nl_of_cookie(-1, DLCP_CMD_PATH_GET, cookie_of(fd[1]));
	EXPECT_EQ(rows.nr, info_of(fd[1]).nr_paths);
	ASSERT_EQ(rows.nr, 16);
	for (i = 0; i < rows.nr; i++) {
		EXPECT_EQ(rows.row[i].value[DLCP_A_PATH_ID], i);
		EXPECT_EQ(rows.row[i].value[DLCP_A_PATH_STATE], DLCP_PATH_WORKS);
		EXPECT(rows.row[i].has[DLCP_A_PATH_INFLIGHT]);
		EXPECT(!strcmp(rows.row[i].local, rows.row[0].local));
	}
	nl_free(&rows);
	/* And theirs who have not been accepted: one each */
	rows = nl_all(-1, DLCP_CMD_PATH_GET);
	EXPECT_EQ(rows.nr, 2 * 16 + 2);
	nl_free(&rows);
	close(lfd);
}

TEST(devices)
{
	struct msg m = MSG(.len = 1000);
	const struct nl_row *row;
	struct nl_rows rows;
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	p = pair_hosts(&h);
	pass(p.a, p.b, &m);
	rows = nl_all(h.net[H0], DLCP_CMD_DEV_GET);
	ASSERT_EQ(rows.nr, 1);
	row = &rows.row[0];
	net_enter(h.net[H0]);
	EXPECT_EQ(row->value[DLCP_A_DEV_IFINDEX], if_nametoindex("eth0"));
	net_leave();
	EXPECT_EQ(row->value[DLCP_A_DEV_UID], 0);
	EXPECT_EQ(row->value[DLCP_A_DEV_FLOWS], 1);
	EXPECT(row->has[DLCP_A_DEV_QUEUED] && row->has[DLCP_A_DEV_WAITING]);
	nl_free(&rows);
	pair_close(&p);
}

/* A name space has its own */
TEST(other_name_spaces)
{
	struct nl_rows rows;
	struct pair p;
	struct hosts h;
	int cmd;

	hosts_open(&h);
	p = pair_hosts(&h);
	for (cmd = DLCP_CMD_SOCK_GET; cmd <= DLCP_CMD_DEV_GET; cmd++) {
		EXPECT_EQ(nl_all(-1, cmd).nr, 0);
		EXPECT_EQ(nl_all(h.net[H0], cmd).nr, 1);
	}
	rows = nl_of_cookie(h.net[H1], DLCP_CMD_SOCK_GET, cookie_of(p.a));
	EXPECT_EQ(rows.nr, 0);
	rows = nl_of_cookie(h.net[H1], DLCP_CMD_SOCK_GET, cookie_of(p.b));
	EXPECT_EQ(rows.nr, 1);
	pair_close(&p);
}

/* Who may look is whoever is there, as with ss */
TEST(other_users)
{
	struct pair p = pair_lo();
	struct nl_rows rows;

	ASSERT_OK(setuid(NOBODY));
	rows = nl_all(-1, DLCP_CMD_SOCK_GET);
	EXPECT_EQ(row_of(&rows, p.a)->value[DLCP_A_SOCK_UID], 0);
	EXPECT_EQ(nl_all(-1, DLCP_CMD_PATH_GET).nr, 2);
	EXPECT_EQ(nl_all(-1, DLCP_CMD_DEV_GET).row->value[DLCP_A_DEV_UID], 0);
	/* To whom root is nobody */
	if (unshare(CLONE_NEWUSER))
		SKIP("no user name spaces for users here");
	rows = nl_all(-1, DLCP_CMD_SOCK_GET);
	EXPECT_EQ(row_of(&rows, p.a)->value[DLCP_A_SOCK_UID], NOBODY);
}

static void refused(int fd, const struct nl_ask *ask, int err, const char *words)
{
	struct nl_rows rows;

	EXPECT_ERR(nl_try(fd, ask, &rows), err);
	EXPECT_EQ(rows.nr, 0);
	if (!strstr(nl_error(), words))
		test_failed(false, "\"%s\" has no \"%s\"", nl_error(), words);
	nl_free(&rows);
}

/* Whatever is wrong is said so, and the socket goes on */
TEST(bad_requests)
{
	struct {
		struct nlattr	a;
		u32		value;
	} number = { { sizeof(number), DLCP_A_SOCK_COOKIE }, 0 };
	struct nl_ask ask = { DLCP_CMD_SOCK_GET, 0, &number, sizeof(number) };
	struct nl_rows rows;
	int fd = nl_open(-1);

	/* Not a dump; no command; commands that are none */
	refused(fd, &ask, EOPNOTSUPP, "");
	ask.flags = NLM_F_DUMP;
	ask.cmd = 0;
	refused(fd, &ask, EOPNOTSUPP, "");
	ask.cmd = DLCP_CMD_MAX + 1;
	refused(fd, &ask, EOPNOTSUPP, "");
	/* An attribute too short, of no number, of an answer; too long for the message */
	ask.cmd = DLCP_CMD_SOCK_GET;
	refused(fd, &ask, EINVAL, "length");
	number.a.nla_type = DLCP_A_SOCK_MAX + 1;
	refused(fd, &ask, EINVAL, "Unknown attribute");
	number.a.nla_type = DLCP_A_SOCK_UID;
	refused(fd, &ask, EINVAL, "Unknown attribute");
	number.a.nla_len = 200;
	refused(fd, &ask, EINVAL, "");
	number.a.nla_len = sizeof(number);
	/* A range; half a header */
	ask.cmd = DLCP_CMD_DEV_GET;
	number.a.nla_type = DLCP_A_DEV_IFINDEX;
	refused(fd, &ask, ERANGE, "range");
	ask.len = 0;
	ask.hdr = 2;
	refused(fd, &ask, EINVAL, "");
	ask.hdr = 0;
	ASSERT_OK(nl_try(fd, &ask, &rows));
}

/* Each once, however it is read, and though one goes that was seen already */
TEST(small_pieces)
{
	enum { NR = 200 };
	struct nl_ask ask = { DLCP_CMD_SOCK_GET, NLM_F_DUMP };
	int lfd[NR], fd = nl_open(-1), i;
	struct nl_rows rows = { 0 };
	u64 cookie[NR];

	for (i = 0; i < NR; i++) {
		lfd[i] = listen_in(-1, addr_lo(PORT + i));
		cookie[i] = cookie_of(lfd[i]);
	}
	nl_send(fd, &ask);
	while (nl_read(fd, &rows, 8 * KB) == 1)
		if (rows.nr > NR / 2 && lfd[0] >= 0) {
			close(lfd[0]);
			lfd[0] = -1;
		}
	EXPECT_EQ(lfd[0], -1);
	EXPECT_GE(rows.reads, 4);
	EXPECT_EQ(rows.nr, NR);
	for (i = 0; i < NR; i++)
		EXPECT(nl_find(&rows, DLCP_A_SOCK_COOKIE, cookie[i]));
}

/* Whoever looks locks nobody's socket: were the owner of one stuck, he would
 * be, too, and could keep it from its owner.
 */
TEST(locks_nobody)
{
	struct pair p = pair_lo();
	struct stuck s;

	stuck_start(&s, p.a);
	EXPECT_EQ(nl_of_cookie(-1, DLCP_CMD_SOCK_GET, cookie_of(p.a)).nr, 1);
	EXPECT_EQ(nl_of_cookie(-1, DLCP_CMD_PATH_GET, cookie_of(p.a)).nr, 1);
	stuck_end(&s);
}

/*
 * Sockets that come and go
 */

struct crowd {
	int	rounds;
	bool	stop;
};

/* Connections and listeners, on ports of their own */
static void crowd_main(void *arg)
{
	struct crowd *c = arg;
	int lfd, fd[4], i;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		lfd = dlcp_socket();
		ASSERT_OK(set_int(lfd, DLCP_PATHS, 16));
		ASSERT_OK(do_bind(lfd, addr_lo(0)));
		ASSERT_OK(listen(lfd, ARRAY_SIZE(fd)));
		for (i = 0; i < ARRAY_SIZE(fd); i++) {
			union addr a = addr_lo(0);
			socklen_t len = sizeof(a);

			ASSERT_OK(getsockname(lfd, &a.sa, &len));
			fd[i] = dlcp_socket();
			ASSERT_OK(do_connect(fd[i], a));
		}
		/* With connections that nobody accepts, which somebody looks at */
		close(lfd);
		for (i = 0; i < ARRAY_SIZE(fd); i++)
			close(fd[i]);
		__atomic_add_fetch(&c->rounds, 1, __ATOMIC_RELAXED);
	}
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Those that are there all the time, each once */
static void check_rows(const struct nl_rows *rows, const u64 *cookie, int nr)
{
	u64 *seen = calloc(rows->nr, sizeof(*seen));
	int i, at = 0, missing = 0, twice = 0;

	for (i = 0; i < rows->nr; i++)
		seen[i] = rows->row[i].value[DLCP_A_SOCK_COOKIE];
	qsort(seen, rows->nr, sizeof(*seen), compare);
	for (i = 1; i < rows->nr; i++)
		twice += seen[i] == seen[i - 1];
	for (i = 0; i < nr; i++) {
		while (at < rows->nr && seen[at] < cookie[i])
			at++;
		missing += at == rows->nr || seen[at] != cookie[i];
	}
	EXPECT_EQ(missing, 0);
	EXPECT_EQ(twice, 0);
	free(seen);
}

/* Paths of one connection follow each other, from the first one on */
static void check_paths(const struct nl_rows *rows)
{
	const struct nl_row *row = rows->row, *last = NULL;
	int i;

	for (i = 0; i < rows->nr; i++, last = row++) {
		u64 id = row->value[DLCP_A_PATH_ID];

		if (id && (!last || last->value[DLCP_A_PATH_ID] != id - 1 ||
			   last->value[DLCP_A_PATH_COOKIE] !=
			   row->value[DLCP_A_PATH_COOKIE]))
			test_failed(true, "row %d is path %lld of another", i,
				    (long long)id);
	}
}

TEST_LIMIT(ten_thousand, 240)
{
	enum { NR = 10000 };
	struct rlimit many = { NR + 500, NR + 500 };
	static u64 cookie[NR];
	struct crowd c = { 0 };
	int fd[NR], i, dumps = 0, seen;
	struct nl_rows rows;
	struct task t;

	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &many));
	for (i = 0; i < NR; i++) {
		fd[i] = ASSERT_OK(socket(family, SOCK_DLCP, 0));
		ASSERT_OK(do_bind(fd[i], addr_lo(1024 + i)));
		ASSERT_OK(listen(fd[i], 1));
		cookie[i] = cookie_of(fd[i]);
	}
	qsort(cookie, NR, sizeof(*cookie), compare);
	task_start(&t, crowd_main, &c);
	do {
		seen = __atomic_load_n(&c.rounds, __ATOMIC_RELAXED);
		rows = nl_all(-1, DLCP_CMD_SOCK_GET);
		check_rows(&rows, cookie, NR);
		nl_free(&rows);
		rows = nl_all(-1, DLCP_CMD_PATH_GET);
		check_paths(&rows);
		nl_free(&rows);
		/* As many again: one that had to begin anew would not end */
		WAIT_FOR_LIMIT(__atomic_load_n(&c.rounds, __ATOMIC_RELAXED) != seen, 60);
	} while (++dumps < 5);
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	task_join(&t);
}

static void watch_main(void *arg)
{
	struct crowd *c = arg;
	struct nl_rows rows;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		rows = nl_all(-1, DLCP_CMD_PATH_GET);
		check_paths(&rows);
		nl_free(&rows);
		rows = nl_all(-1, DLCP_CMD_SOCK_GET);
		nl_free(&rows);
		__atomic_add_fetch(&c->rounds, 1, __ATOMIC_RELAXED);
	}
}

/* Little is there, so that each is looked at often: a user who is not root can do
 * both
 */
TEST_LIMIT(watched_while_they_go, 120)
{
	struct crowd c[4] = { 0 };
	struct task t[4];
	int i;

	sysctl_set(-1, "udp_port", DLCP_UDP_PORT);
	ASSERT_OK(setgid(NOBODY));
	ASSERT_OK(setuid(NOBODY));
	for (i = 0; i < ARRAY_SIZE(t); i++)
		task_start(&t[i], i % 2 ? watch_main : crowd_main, &c[i]);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		WAIT_FOR_LIMIT(__atomic_load_n(&c[i].rounds, __ATOMIC_RELAXED) >= 100, 80);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		__atomic_store_n(&c[i].stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < ARRAY_SIZE(t); i++)
		task_join(&t[i]);
}

/* A dump that nobody reads to its end holds the module, and no more than that */
TEST(unread_dump)
{
	struct nl_ask ask = { DLCP_CMD_SOCK_GET, NLM_F_DUMP };
	int lfd[100], fd = nl_open(-1), i;
	struct nl_rows rows = { 0 };

	if (!module_path())
		SKIP("the module cannot be removed here");
	for (i = 0; i < ARRAY_SIZE(lfd); i++)
		lfd[i] = listen_in(-1, addr_lo(PORT + i));
	nl_send(fd, &ask);
	ASSERT_EQ(nl_read(fd, &rows, 8 * KB), 1);
	ASSERT_LE(rows.nr, ARRAY_SIZE(lfd) - 1);
	for (i = 0; i < ARRAY_SIZE(lfd); i++)
		close(lfd[i]);
	EXPECT_ERR(module_unload(), EWOULDBLOCK);
	close(fd);
	WAIT_FOR(!module_unload());
	ASSERT_OK(module_load(""));
}
