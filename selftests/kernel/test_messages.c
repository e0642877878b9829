// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of all sizes arrive whole, in whatever order they can, however
 * little memory there is and whoever reads them. Nothing is lost here.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib.h"

TEST(sizes)
{
	static const size_t sizes[] = {
		0, 1, 3, 4, 63, 64, 1000, 8191, 65535, 65536, 65537,
	};
	struct msg m = MSG(.flags = DLCP_MSG_REPORT);
	struct pair p = pair_lo();
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		m.len = sizes[i];
		m.key++;
		pass(p.a, p.b, &m);
	}
	check_counters(p.a, p.b);
}

/* Around the borders of segments, for elements that do and do not fit */
TEST(sizes_around_segments)
{
	static const int elems[] = { 1, 2, 4, 8, 12, 256 };
	struct pair p = pair_lo();
	struct outcome o;
	struct msg m;
	int i, d, n;
	u32 seg;

	must_sh(-1, "ip link set lo mtu 1500");
	pair_close(&p);
	p = pair_between(-1, -1, addr_lo(PORT + 1));
	for (i = 0; i < ARRAY_SIZE(elems); i++) {
		m = MSG(.len = 100000, .elem = elems[i]);
		o = transfer(p.a, p.b, &m);
		seg = o.got.msg.seg_size;
		EXPECT_EQ(seg % elems[i], 0);
		EXPECT_GT(seg, 1000);
		EXPECT_LT(seg, 1500);
		outcome_free(&o);
		for (n = 1; n <= 5; n += 2) {
			for (d = -1; d <= 1; d++) {
				m.len = n * seg + d;
				m.key++;
				pass(p.a, p.b, &m);
			}
		}
	}
	check_counters(p.a, p.b);
}

TEST(one_megabyte)
{
	struct msg m = MSG(.len = MB, .flags = DLCP_MSG_REPORT);
	struct pair p = pair_lo();
	long long before = really_lost(p.a, p.b);

	pass(p.a, p.b, &m);
	m.len++;
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	WAIT_FOR(really_lost(p.a, p.b) <= before);
}

TEST_LIMIT(sixteen_megabytes, 40)
{
	struct msg m = MSG(.len = 16 * MB, .flags = DLCP_MSG_REPORT);
	struct pair p = pair_lo();

	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
}

TEST_LIMIT(a_quarter_gigabyte, 60)
{
	struct msg m = MSG(.len = 256 * MB, .elem = 8,
			   .flags = DLCP_MSG_REPORT);
	struct pair p;

	if (strcmp(getenv("DLCP_LAB") ?: "", "qemu") || slowness > 2)
		SKIP("only on qemu: too slow or too large elsewhere");
	p = pair_lo();
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
}

/* With a reader that waits, and one that comes late */
TEST(larger_than_all_buffers)
{
	struct msg m = MSG(.len = 4 * MB);
	struct sending s = { 0, &m };
	struct pair p = pair_lo();
	struct task t;
	struct got g;

	set_buffers(p.a, 50000);
	set_buffers(p.b, 50000);
	pass(p.a, p.b, &m);

	s.fd = p.a;
	m.key = 1;
	task_start(&t, sending_main, &s);
	/* stuck half-way, as nobody reads */
	WAIT_FOR(info_of(p.b).rx_msgs == 2 && task_sleeps(&t));
	EXPECT(!t.done);
	EXPECT_LT(info_of(p.b).rx_delivered, 6 * MB);
	got_init(&g, m.len);
	ASSERT_OK(recv_key(p.b, &g, 1, 0));
	check_got(&m, &g);
	task_join(&t);
	check_counters(p.a, p.b);
}

/* Into a buffer of a thousand pieces, of all lengths, from packets that overtake
 * each other, as long as some are missing, too
 */
TEST(scattered)
{
	struct msg m = MSG(.len = MB, .loss = 5 * PERCENT);
	struct msghdr h = { .msg_iovlen = 1024 };
	struct sending s = { 0, &m };
	u8 *got = calloc(1, m.len), *want = calloc(1, m.len);
	struct iovec iov[1024];
	size_t at = 0, n, wrong = 0;
	struct hosts hosts;
	struct pair p;
	struct task t;
	int i;

	hosts_open(&hosts);
	p = pair_hosts(&hosts);
	netem(&hosts, H0, "delay 1ms 1ms loss 1%%");
	for (i = 0; i < h.msg_iovlen; i++) {
		n = i == h.msg_iovlen - 1 ? m.len - at : i * 7919 % 2000;
		iov[i] = (struct iovec){ got + at, n };
		at += n;
	}
	ASSERT_EQ(at, m.len);
	h.msg_iov = iov;
	fill(want, m.len, m.key);
	s.fd = p.a;
	task_start(&t, sending_main, &s);
	ASSERT_EQ(ASSERT_OK(recvmsg(p.b, &h, 0)), m.len);
	task_join(&t);
	/* What is missing is zeros */
	for (at = 0; at < m.len; at++)
		wrong += got[at] != want[at] && got[at];
	EXPECT_EQ(wrong, 0);
	free(got);
	free(want);
}

TEST(by_key_out_of_order)
{
	struct pair p = pair_lo();
	struct got g;
	int i;

	for (i = 0; i < 50; i++)
		must_send(p.a, &MSG(.len = 1000 + i, .key = i));
	got_init(&g, 2000);
	for (i = 49; i >= 0; i--) {
		memset(g.buf, CANARY, g.size);
		ASSERT_OK(recv_key(p.b, &g, i, 0));
		check_got(&MSG(.len = 1000 + i, .key = i), &g);
	}
	EXPECT_ERR(recv_any(p.b, &g, MSG_DONTWAIT), EAGAIN);
}

/* Contract 4: a key may be used again; each message comes once, oldest first */
TEST(one_key_many_times)
{
	struct pair p = pair_lo();
	struct got g;
	int i;

	for (i = 0; i < 20; i++)
		must_send(p.a, &MSG(.len = 500, .key = 7, .seed = i));
	got_init(&g, 500);
	for (i = 0; i < 20; i++) {
		ASSERT_OK(recv_key(p.b, &g, 7, 0));
		check_got(&MSG(.len = 500, .key = 7, .seed = i), &g);
		EXPECT_EQ(g.msg.id, i);
	}
	EXPECT_ERR(recv_key(p.b, &g, 7, MSG_DONTWAIT), EAGAIN);
}

/* Contract 5: a small message overtakes a large one that is on its way */
TEST(whichever_completes_first)
{
	struct msg large = MSG(.len = 2 * MB, .key = 1),
		   urgent = MSG(.len = 1000, .key = 2, .prio = 0);
	struct sending s;
	struct hosts h;
	struct pair p;
	struct task t;
	struct got g;

	hosts_open(&h);
	netem(&h, H0, "rate 50mbit");
	p = pair_hosts(&h);
	s = (struct sending){ p.a, &large };
	task_start(&t, sending_main, &s);
	WAIT_FOR(info_of(p.b).rx_delivered > 0);
	must_send(p.a, &urgent);
	got_init(&g, large.len);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&urgent, &g);
	memset(g.buf, CANARY, g.size);
	ASSERT_OK(recv_any(p.b, &g, 0));
	check_got(&large, &g);
	task_join(&t);
}

enum { LOOKED_AT = 400, LOOK_LEN = 40000, POLLED = 60, POLLED_LEN = 300000 };

/* Messages of all classes, with their numbers for keys */
struct writer {
	int	fd;
	int	nr;
	u64	len;
};

static struct msg nth_msg(u64 i, u64 len)
{
	return MSG(.len = len, .key = i, .prio = i * 7 % 8);
}

static void writer_main(void *arg)
{
	struct writer *w = arg;
	struct msg m;
	int i;

	for (i = 0; i < w->nr; i++) {
		m = nth_msg(i, w->len);
		must_send(w->fd, &m);
	}
}

/* Who looks first holds no message while waiting: then nobody takes bytes
 * away as they come, and what there is room for must make one complete
 */
TEST(look_and_read)
{
	struct pair p = pair_lo();
	struct writer w = { p.a, LOOKED_AT, LOOK_LEN };
	struct msg m;
	struct task t;
	struct got g;
	int i;

	set_buffers(p.a, 4 * MB);
	set_buffers(p.b, 4 * LOOK_LEN);
	task_start(&t, writer_main, &w);
	for (i = 0; i < LOOKED_AT; i++) {
		got_init(&g, LOOK_LEN);
		ASSERT_OK(recv_any(p.b, &g, MSG_PEEK));
		m = nth_msg(g.msg.key, LOOK_LEN);
		ASSERT_OK(recv_key(p.b, &g, m.key, 0));
		check_got(&m, &g);
		got_free(&g);
	}
	task_join(&t);
	check_counters(p.a, p.b);
}

/* Who takes only what is complete, without a call that waits for it: there is
 * room for one message and a part, and what comes unasked is a part of two more
 */
TEST(polled)
{
	int i, room = 7 * POLLED_LEN / 3;
	struct pair p = pair_lo();
	struct writer w = { p.a, POLLED, POLLED_LEN };
	struct msg m;
	struct task t;
	struct got g;

	set_buffers(p.a, 4 * MB);
	/* Beyond net.core.rmem_max */
	ASSERT_OK(setsockopt(p.b, SOL_SOCKET, SO_RCVBUFFORCE, &room,
			     sizeof(room)));
	task_start(&t, writer_main, &w);
	for (i = 0; i < POLLED; i++) {
		got_init(&g, POLLED_LEN);
		/* Whose writer gets no processor for long is shown, too */
		do {
			ASSERT(poll_for(p.b, POLLIN, 5000 * slowness));
			ASSERT_OK(recv_any(p.b, &g, MSG_PEEK | MSG_DONTWAIT));
		} while (!g.msg.complete && !usleep(1000));
		m = nth_msg(g.msg.key, POLLED_LEN);
		ASSERT_OK(recv_key(p.b, &g, m.key, MSG_DONTWAIT));
		check_got(&m, &g);
		got_free(&g);
	}
	task_join(&t);
	check_counters(p.a, p.b);
}

enum { THOUSANDS = 5000 };

static void thousands_main(void *arg)
{
	int i;

	for (i = 0; i < THOUSANDS; i++)
		must_send(*(int *)arg, &MSG(.len = 96, .key = i));
}

TEST_LIMIT(thousands, 30)
{
	static u8 seen[THOUSANDS];
	struct pair p = pair_lo();
	struct task t;
	struct got g;
	int i;

	task_start(&t, thousands_main, &p.a);
	got_init(&g, 96);
	for (i = 0; i < THOUSANDS; i++) {
		ASSERT_OK(recv_any(p.b, &g, 0));
		ASSERT(g.msg.key < THOUSANDS && !seen[g.msg.key]);
		seen[g.msg.key] = 1;
		check_got(&MSG(.len = 96, .key = g.msg.key), &g);
	}
	task_join(&t);
	check_counters(p.a, p.b);
	EXPECT_EQ(info_of(p.b).rx_msgs_done, THOUSANDS);
}

/*
 * Contract 5: a message nobody reads never stops one that is being read, even
 * when it fills all the memory there is at both ends.
 */
static bool all_stuck(struct task *t, int nr)
{
	while (nr--)
		if (!t[nr].done && !task_sleeps(&t[nr]))
			return false;
	return true;
}

static void unread_beside_read(size_t unread_len, int nr_unread)
{
	struct msg m = MSG(.len = 2 * MB, .key = 1000);
	struct pair p = pair_lo();
	struct sending s[16];
	struct msg unread[16];
	struct task t[16];
	struct got g;
	int i;

	set_buffers(p.a, 100000);
	set_buffers(p.b, 100000);
	for (i = 0; i < nr_unread; i++) {
		unread[i] = MSG(.len = unread_len, .key = i);
		s[i] = (struct sending){ p.a, &unread[i] };
		task_start(&t[i], sending_main, &s[i]);
	}
	WAIT_FOR(info_of(p.b).rx_msgs > 0 && all_stuck(t, nr_unread));
	for (i = 0; i < 3; i++) {
		m.key++;
		pass(p.a, p.b, &m);
	}
	got_init(&g, unread_len);
	for (i = 0; i < nr_unread; i++) {
		memset(g.buf, CANARY, g.size);
		ASSERT_OK(recv_key(p.b, &g, i, 0));
		check_got(&unread[i], &g);
		task_join(&t[i]);
	}
	check_counters(p.a, p.b);
}

TEST_LIMIT(one_large_unread, 30)
{
	unread_beside_read(MB, 1);
}

TEST_LIMIT(many_small_unread, 30)
{
	unread_beside_read(40000, 16);
}

TEST(both_directions)
{
	struct msg m = MSG(.len = 4 * MB, .key = 1, .flags = DLCP_MSG_REPORT);
	struct pair p = pair_lo();
	struct passing there = { p.a, p.b, &m }, back = { p.b, p.a, &m };
	struct task t[2];

	task_start(&t[0], passing_main, &there);
	task_start(&t[1], passing_main, &back);
	task_join(&t[0]);
	task_join(&t[1]);
	check_counters(p.a, p.b);
	check_counters(p.b, p.a);
}

TEST_LIMIT(many_connections, 40)
{
	enum { NR = 64 };
	struct msg m = MSG(.len = 100 * KB, .flags = DLCP_MSG_REPORT);
	struct passing pass[NR];
	struct pair p[NR];
	struct task t[NR];
	int lfd = listen_in(-1, addr_lo(PORT)), i;

	for (i = 0; i < NR; i++) {
		p[i].a = dlcp_socket();
		ASSERT_OK(do_connect(p[i].a, addr_lo(PORT)));
		p[i].b = do_accept(lfd);
		pass[i] = (struct passing){ p[i].a, p[i].b, &m };
	}
	for (i = 0; i < NR; i++)
		task_start(&t[i], passing_main, &pass[i]);
	for (i = 0; i < NR; i++)
		task_join(&t[i]);
	for (i = 0; i < NR; i++) {
		check_counters(p[i].a, p[i].b);
		pair_close(&p[i]);
	}
}

/* A connection with itself as the peer's host: h0 to its own address */
TEST(own_address)
{
	struct msg m = MSG(.len = MB);
	struct hosts h;
	struct pair p;

	hosts_open(&h);
	p = pair_between(h.net[H0], h.net[H0], addr_host(&h, H0, PORT));
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
}

TEST(over_a_cable)
{
	struct msg m = MSG(.len = 4 * MB, .flags = DLCP_MSG_REPORT);
	struct hosts h;
	struct pair p;
	u64 joined;

	hosts_open(&h);
	p = pair_hosts(&h);
	pass(p.a, p.b, &m);
	pass(p.b, p.a, &m);
	check_counters(p.a, p.b);
	check_counters(p.b, p.a);
	no_gso(&h, H0);
	no_gso(&h, H1);
	joined = mib(h.net[H1], "RxJoined");
	pass(p.a, p.b, &m);
	EXPECT_EQ(info_of(p.a).mtu, 1500);
	/* of some 2,900 packets that come alone */
	EXPECT(mib(h.net[H1], "RxJoined") > joined + 500);
}

/* Every path was used, and together they sent what the connection did */
static void check_path_info(int fd, int nr)
{
	struct dlcp_path_info info[DLCP_PATHS_MAX];
	socklen_t len = sizeof(info);
	u64 lost = 0;
	int i;

	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_PATH_INFO, info, &len));
	ASSERT_EQ(len, nr * sizeof(info[0]));
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(info[i].size, sizeof(info[0]));
		EXPECT_EQ(info[i].id, i);
		EXPECT(info[i].entropy);
		EXPECT_GT(info[i].acked, 0);
		EXPECT_GT(info[i].srtt_ns, 0);
		EXPECT_GT(info[i].weight, 0);
		EXPECT_GE(info[i].packets, info[i].acked);
		EXPECT_EQ(info[i].pair, 0);
		EXPECT_EQ(info[i].ifindex, 1);	/* lo */
		EXPECT_EQ(info[i].local[0], family == AF_INET ? 127 : 0);
		EXPECT(!memcmp(info[i].local, info[i].remote, 16));
		lost += info[i].lost;
	}
	EXPECT_EQ(lost, info_of(fd).lost_packets);
	/* as many as fit */
	len = sizeof(info[0]);
	ASSERT_OK(getsockopt(fd, SOL_DLCP, DLCP_PATH_INFO, info, &len));
	EXPECT_EQ(len, sizeof(info[0]));
}

TEST(several_paths)
{
	static const int nr[] = { 1, 4, 16 };
	struct msg m = MSG(.len = 2 * MB, .flags = DLCP_MSG_REPORT);
	struct pair p;
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		fd = dlcp_socket();
		ASSERT_OK(set_int(fd, DLCP_PATHS, nr[i]));
		p = pair_from(fd, -1, addr_lo(PORT + i));
		pass(p.a, p.b, &m);
		check_counters(p.a, p.b);
		EXPECT_EQ(info_of(p.a).nr_paths, nr[i]);
		check_path_info(p.a, nr[i]);
		pair_close(&p);
	}
}

TEST(controllers)
{
	static const char * const names[] = { "dlcp", "fixed", "loss" };
	struct msg m = MSG(.len = MB);
	struct pair p;
	int i, fd;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		fd = dlcp_socket();
		ASSERT_OK(setsockopt(fd, SOL_DLCP, DLCP_CONGESTION, names[i],
				     strlen(names[i])));
		p = pair_from(fd, -1, addr_lo(PORT + i));
		pass(p.a, p.b, &m);
		pair_close(&p);
	}
}

TEST(pacing_limit)
{
	struct msg m = MSG(.len = 512 * KB);
	int rate = 1 << 20, fd = dlcp_socket();
	struct outcome o;
	struct pair p;

	ASSERT_OK(setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate,
			     sizeof(rate)));
	p = pair_from(fd, -1, addr_lo(PORT));
	o = transfer(p.a, p.b, &m);
	EXPECT_GE(o.ms, 400);
	EXPECT_LE(o.ms, 5000 * slowness);
	outcome_free(&o);
}

/* A message that is under way is sent no faster than the limit that is set now */
TEST_LIMIT(pacing_limit_under_way, 60)
{
	struct underway u = { .m = MSG(.len = 4 * MB), .there.again = true };
	int limit = 50000, none = -1;
	u64 before;

	hosts_open(&u.h);
	underway_start(&u, "40mbit");
	underway_wait(&u, 100000);
	ASSERT_OK(setsockopt(u.p.a, SOL_SOCKET, SO_MAX_PACING_RATE, &limit,
			     sizeof(limit)));
	WAIT_FOR(info_of(u.p.a).pacing_rate <= limit);
	before = info_of(u.p.b).rx_delivered;
	nap_ms(1000);
	EXPECT_LE(info_of(u.p.b).rx_delivered - before, MB);
	ASSERT_OK(setsockopt(u.p.a, SOL_SOCKET, SO_MAX_PACING_RATE, &none,
			     sizeof(none)));
	passing_end(&u.there, &u.t);
}

TEST(waitall_and_keep)
{
	struct dlcp_want w = { .flags = DLCP_WANT_KEEP };
	struct pair p = pair_lo();
	struct msg m = MSG(.len = 3000);
	struct got g;

	/* nothing is missing: all the same */
	must_send(p.a, &m);
	got_init(&g, 3000);
	ASSERT_OK(recv_want(p.b, &g, &w, MSG_WAITALL));
	check_got(&m, &g);
}
