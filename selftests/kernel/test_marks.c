// SPDX-License-Identifier: GPL-2.0
/* What the network sees of classes and tags (Documentation/sysctl.md, dscp) */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beside.h"
#include "packet.h"

enum { CONTROL = 3, NOT_ECT = 0 };

struct table {
	int dscp[8][4];		/* of class and tag, or CONTROL */
};

static struct table table_of(int net)
{
	char *text = file_read(net, "/proc/sys/net/dlcp/dscp"), *at = text;
	struct table t;
	int i;

	ASSERT(text);
	for (i = 0; i < 32; i++)
		t.dscp[i / 4][i % 4] = strtol(at, &at, 10);
	free(text);
	return t;
}

static struct hosts h;
static int wire;

static struct pair marks_pair(void)
{
	struct pair p;

	hosts_open(&h);
	no_gso(&h, H0);
	no_gso(&h, H1);
	p = pair_hosts(&h);
	ping_pong(&p);
	check_counters(p.a, p.b);
	wire = wire_open(h.net[H0], "eth0");
	return p;
}

static void check_data(struct packet *p, const struct table *t, int prio,
		       int nr[3])
{
	int cls = dlcp_of(p)[AT_CLASS], tag = cls >> 3 & 3;

	EXPECT_EQ(cls & 7, prio);
	ASSERT(tag <= 2);
	nr[tag]++;
	EXPECT_EQ(dscp_of(p), t->dscp[prio][tag]);
	if (tag == DLCP_TAG_DROPPABLE)
		EXPECT_EQ(ecn_of(p), NOT_ECT);
	else
		EXPECT(ecn_of(p) == 1 || ecn_of(p) == 2);
}

/* Control is in no class of data, but what asks for data goes with it */
static void check_control(const struct packet *p, const struct table *t,
			  int prio)
{
	if (dscp_of(p) != t->dscp[prio][DLCP_TAG_IMPORTANT])
		EXPECT_EQ(dscp_of(p), t->dscp[0][CONTROL]);
}

/* Send with tags of all kinds in every class, and look at every packet */
static void check_marks(struct pair *p)
{
	struct table t = table_of(h.net[H0]);
	struct msg m = MSG(.len = 60000);
	static struct packet pkt;
	int prio, nr[3];

	m.tags = tags_new(m.len, info_of(p->a).seg_size, "cdi");
	for (prio = 0; prio < 8; prio++) {
		m.prio = prio;
		m.key = prio;
		memset(nr, 0, sizeof(nr));
		pass(p->a, p->b, &m);
		check_counters(p->a, p->b);
		while (wire_read(wire, &pkt, 50)) {
			if (!pkt.out)
				continue;
			if (type_of(&pkt) == DATA)
				check_data(&pkt, &t, prio, nr);
			else
				check_control(&pkt, &t, prio);
		}
		EXPECT_GT(nr[DLCP_TAG_CRITICAL], 10);
		EXPECT_GT(nr[DLCP_TAG_IMPORTANT], 10);
		EXPECT_GT(nr[DLCP_TAG_DROPPABLE], 10);
	}
}

/* RFC 2597: class AFx, and within it the drop precedence of the tag */
TEST(default_table)
{
	struct pair p = marks_pair();
	struct table t = table_of(h.net[H0]);
	int prio, tag, *d;

	for (prio = 0; prio < 8; prio++) {
		d = t.dscp[prio];
		for (tag = 0; tag < 3; tag++) {
			EXPECT(d[tag] >= 10 && d[tag] <= 38);
			EXPECT_EQ(d[tag] / 8, d[0] / 8);
			EXPECT_GT(d[CONTROL], d[tag]);
		}
		/* AFx1 is kept longest, AFx3 dropped first */
		EXPECT_LT(d[DLCP_TAG_CRITICAL], d[DLCP_TAG_IMPORTANT]);
		EXPECT_LT(d[DLCP_TAG_IMPORTANT], d[DLCP_TAG_DROPPABLE]);
		if (prio)
			EXPECT_LE(d[0] / 8, t.dscp[prio - 1][0] / 8);
	}
	check_marks(&p);
}

TEST(own_table)
{
	struct pair p = marks_pair();
	char text[256] = "";
	int i;

	for (i = 0; i < 32; i++)
		sprintf(text + strlen(text), "%d ", (i * 7 + 3) % 64);
	ASSERT_OK(file_write(h.net[H0], "/proc/sys/net/dlcp/dscp", text));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(table_of(h.net[H0]).dscp[i][1], ((i * 4 + 1) * 7 + 3) % 64);
	check_marks(&p);
}

/* A message that says nothing is important and of the middle class */
TEST(default_message)
{
	struct pair p = marks_pair();
	struct table t = table_of(h.net[H0]);
	static struct packet pkt;
	u8 buf[20000] = { 0 };
	int nr[3] = { 0 };

	ASSERT_EQ(send(p.a, buf, sizeof(buf), 0), sizeof(buf));
	ASSERT_EQ(recv(p.b, buf, sizeof(buf), 0), sizeof(buf));
	while (wire_read(wire, &pkt, 100))
		if (pkt.out && type_of(&pkt) == DATA)
			check_data(&pkt, &t, DLCP_PRIO_DEFAULT, nr);
	EXPECT_GT(nr[DLCP_TAG_IMPORTANT], 10);
	EXPECT_EQ(nr[DLCP_TAG_DROPPABLE] + nr[DLCP_TAG_CRITICAL], 0);
}

/* Critical segments go first, then important, then droppable */
TEST(order_of_tags)
{
	struct pair p = marks_pair();
	struct msg m = MSG(.len = 60000);
	static const int rank[3] = {
		[DLCP_TAG_CRITICAL] = 0, [DLCP_TAG_IMPORTANT] = 1,
		[DLCP_TAG_DROPPABLE] = 2,
	};
	static struct packet pkt;
	int last = 0, now;

	m.tags = tags_new(m.len, info_of(p.a).seg_size, "idc");
	pass(p.a, p.b, &m);
	while (wire_read(wire, &pkt, 100)) {
		/* What is sent again is important once more */
		if (!pkt.out || type_of(&pkt) != DATA ||
		    dlcp_of(&pkt)[AT_FLAGS] & F_RESENT)
			continue;
		now = rank[dlcp_of(&pkt)[AT_CLASS] >> 3 & 3];
		EXPECT_GE(now, last);
		last = now;
	}
	EXPECT_EQ(last, 2);
}

/* A queue that marks instead of dropping: nothing is lost, and it is seen */
TEST(congestion_marks)
{
	struct msg m = MSG(.len = 500 * KB, .flags = DLCP_MSG_REPORT);
	struct pair p = marks_pair();
	long long before;
	struct outcome o;

	netem(&h, H0, "loss 10%% ecn");
	before = really_lost(p.a, p.b);
	transfer(p.a, p.b, &m);
	EXPECT_GT(info_of(p.a).ce_marks, 0);
	check_counters(p.a, p.b);
	WAIT_FOR(really_lost(p.a, p.b) <= before);
	/* what is droppable is dropped instead */
	m.tags = tags_new(m.len, 1000, "d");
	m.loss = 50 * PERCENT;
	o = transfer(p.a, p.b, &m);
	EXPECT_GT(o.got.msg.missing, 0);
}

/* Data far above a slow cable's rate, in a queue with a flow for each hash */
static struct task queue_filled(struct passing *back)
{
	u64 rate = 6 * MB;
	struct task t;

	must_sh(h.net[H1], "tc qdisc add dev eth0 root handle 1: htb default 1");
	must_sh(h.net[H1], "tc class add dev eth0 parent 1: classid 1:1 "
		"htb rate 16mbit");
	must_sh(h.net[H1], "tc qdisc add dev eth0 parent 1:1 "
		"fq_codel limit 10000 target 10s interval 20s");
	ASSERT_OK(setsockopt(back->from, SOL_SOCKET, SO_MAX_PACING_RATE, &rate,
			     sizeof(rate)));
	task_start(&t, passing_main, back);
	WAIT_FOR(info_of(back->from).srtt_ns > 100000000);
	return t;
}

/* Acknowledgments do not wait behind what this host sends */
TEST_LIMIT(control_is_another_flow, 30)
{
	struct msg large = MSG(.len = 2 * MB, .key = 1);
	struct msg small = MSG(.len = 1000, .key = 2);
	struct passing back = { .m = &large };
	struct pair p;
	struct task t;
	int i;

	if (!in_virtual_time())
		SKIP("a busy machine does not fill the queue");
	hosts_open(&h);
	no_gso(&h, H1);
	ASSERT_OK(file_write(h.net[H1], "/proc/sys/net/dlcp/congestion",
			     "fixed"));
	p = pair_hosts(&h);
	back.from = p.b;
	back.to = p.a;
	t = queue_filled(&back);
	for (i = 0; i < 10; i++)
		pass(p.a, p.b, &small);
	EXPECT(!t.done);
	EXPECT_LT(5 * info_of(p.a).srtt_ns, info_of(p.b).srtt_ns);
	task_join(&t);
	check_counters(p.b, p.a);
}

/* --- what the owner of a socket sets himself */

TEST_LIMIT(own_tos, 60)
{
	int level = family == AF_INET6 ? SOL_IPV6 : SOL_IP;
	int opt = family == AF_INET6 ? IPV6_TCLASS : IP_TOS;
	int tos = 10 << 2 | 3, lfd, fd, seen[2] = { 0 };
	struct msg m = MSG(.len = 20000);
	static struct packet pkt;
	struct pair p;

	hosts_open(&h);
	no_gso(&h, H0);
	no_gso(&h, H1);
	wire = wire_open(h.net[H0], "eth0");
	lfd = dlcp_socket_in(h.net[H1]);
	fd = dlcp_socket_in(h.net[H0]);
	ASSERT_OK(setsockopt(lfd, level, opt, &tos, sizeof(tos)));
	ASSERT_OK(setsockopt(fd, level, opt, &tos, sizeof(tos)));
	ASSERT_OK(do_bind(lfd, addr_host(&h, H1, PORT)));
	ASSERT_OK(listen(lfd, 1));
	ASSERT_OK(do_connect(fd, addr_host(&h, H1, PORT)));
	p = (struct pair){ fd, do_accept(lfd) };
	pass(p.a, p.b, &m);
	while (wire_read(wire, &pkt, 100)) {
		EXPECT_EQ(dscp_of(&pkt), 10);
		/* ECN is the protocol's */
		EXPECT_EQ(ecn_of(&pkt), 2);
		seen[pkt.out]++;
	}
	EXPECT_GT(seen[0], 2);
	EXPECT_GT(seen[1], 10);
}

struct bands {
	long long	packets[3];
};

/* What eth0 has sent. To start a program is what takes time. */
static struct bands bands_of(int net)
{
	struct bands b = { { -1, -1, -1 } };
	char line[256];
	FILE *f;
	int nr;

	net_enter(net);
	f = popen("tc -s class show dev eth0", "r");
	net_leave();
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "class prio 1:%d ", &nr) == 1 && nr >= 1 &&
		    nr <= 3 && fgets(line, sizeof(line), f))
			sscanf(line, " Sent %*d bytes %lld",
			       &b.packets[nr - 1]);
	pclose(f);
	return b;
}

/* Of a message; and of the kernel's, for neighbours and groups, at most */
enum { DATA_PACKETS = 100, OTHERS = 30 };

TEST_LIMIT(priority, 120)
{
	struct msg m = MSG(.len = 200000, .prio = 0);
	int low = 5, high = 7;
	struct bands b, c;
	struct pair p;
	pid_t pid;

	hosts_open(&h);
	no_gso(&h, H0);
	/* band 0: what needs CAP_NET_ADMIN, 1: 5, 2: the rest */
	must_sh(h.net[H0], "tc qdisc add dev eth0 root handle 1: prio bands 3"
		" priomap 2 2 2 2 2 1 2 0 0 0 0 0 0 0 0 0");
	p = pair_hosts(&h);
	pass(p.a, p.b, &m);
	b = bands_of(h.net[H0]);
	EXPECT_LT(b.packets[0], OTHERS);
	EXPECT_LT(b.packets[1], OTHERS);
	EXPECT_GT(b.packets[2], DATA_PACKETS);
	/* what the user says; the administrator's word does not change it */
	ASSERT_OK(setsockopt(p.a, SOL_SOCKET, SO_PRIORITY, &low, sizeof(low)));
	sysctl_set(h.net[H0], "tx_priority", 1);
	pass(p.a, p.b, &m);
	c = bands_of(h.net[H0]);
	EXPECT_LT(c.packets[0], OTHERS);
	EXPECT_GT(c.packets[1], DATA_PACKETS);
	EXPECT_LT(c.packets[2], b.packets[2] + OTHERS);
	pid = fork();
	if (!pid) {
		ASSERT_OK(setuid(65534));
		EXPECT_ERR(setsockopt(p.a, SOL_SOCKET, SO_PRIORITY, &high,
				      sizeof(high)), EPERM);
		_exit(0);
	}
	ASSERT_OK(waitpid(pid, NULL, 0));
	low = 0;
	ASSERT_OK(setsockopt(p.a, SOL_SOCKET, SO_PRIORITY, &low, sizeof(low)));
	pass(p.a, p.b, &m);
	EXPECT_GT(bands_of(h.net[H0]).packets[0], DATA_PACKETS);
}

/* Nothing is taken and not done */
TEST(options_without_effect)
{
	static const int opts6[] = { IPV6_HOPOPTS, IPV6_RTHDR, IPV6_DSTOPTS,
				     IPV6_RTHDRDSTOPTS };
	u8 zeros[8] = { 0 };
	int fd = dlcp_socket(), i;

	EXPECT_ERR(setsockopt(fd, SOL_IP, IP_OPTIONS, zeros, 4), ENOPROTOOPT);
	for (i = 0; family == AF_INET6 && i < ARRAY_SIZE(opts6); i++)
		EXPECT_ERR(setsockopt(fd, SOL_IPV6, opts6[i], zeros, 8),
			   ENOPROTOOPT);
}

/* What means nothing to a connection is refused as TCP refuses it */
TEST(options_as_tcp)
{
	static const struct { int level, name; } opts[] = {
		{ SOL_IP, IP_MULTICAST_IF }, { SOL_IP, IP_MULTICAST_TTL },
		{ SOL_IP, IP_ADD_MEMBERSHIP }, { SOL_IP, IP_DROP_MEMBERSHIP },
		{ SOL_IPV6, IPV6_MULTICAST_IF },
		{ SOL_IPV6, IPV6_MULTICAST_HOPS },
		{ SOL_IPV6, IPV6_ADD_MEMBERSHIP },
		{ SOL_IPV6, IPV6_DROP_MEMBERSHIP }, { 77, 1 },
	};
	int fd[2] = { socket_of(-1, TCP), socket_of(-1, DLCP) }, i, k;
	int set[2], get[2];
	u32 val[5] = { 0 };
	socklen_t len;

	for (i = 0; i < ARRAY_SIZE(opts); i++) {
		for (k = 0; k < 2; k++) {
			set[k] = setsockopt(fd[k], opts[i].level, opts[i].name,
					    val, sizeof(val)) ? errno : 0;
			len = sizeof(val);
			get[k] = getsockopt(fd[k], opts[i].level, opts[i].name,
					    val, &len) ? errno : 0;
			memset(val, 0, sizeof(val));
		}
		EXPECT_NE(set[0], 0);
		EXPECT_EQ(set[1], set[0]);
		EXPECT_EQ(get[1], get[0]);
	}
}
