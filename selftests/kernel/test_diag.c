// SPDX-License-Identifier: GPL-2.0
/*
 * The module dlcp_diag: what sock_diag shows of sockets, to whom, and what
 * becomes of those that SOCK_DESTROY ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib.h"
#include "netlink.h"
#include "prog.h"

#define NOBODY	65534
#define ALL	~0U
#define ROWS	300

static bool diag_is_loaded(void)
{
	return !access("/sys/module/dlcp_diag", F_OK);
}

/* Where inet_diag is a module, it has to be there before */
static void diag_load(void)
{
	char path[4096];
	int fd;

	if (diag_is_loaded())
		return;
	sh(-1, "modprobe -q inet_diag");
	if (!module_path())
		SKIP("the module cannot be put back here");
	snprintf(path, sizeof(path), "%s", module_path());
	snprintf(path, sizeof(path), "%s/dlcp_diag.ko", dirname(strdup(path)));
	fd = ASSERT_OK(open(path, O_RDONLY | O_CLOEXEC));
	ASSERT_OK(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
}

static void diag_unload(void)
{
	WAIT_FOR(!syscall(SYS_delete_module, "dlcp_diag", O_NONBLOCK));
}

/* A socket, as it is shown */
struct seen {
	struct inet_diag_msg	msg;
	struct dlcp_info	info;
	bool			has_info;
};

static struct seen seen[ROWS];
static int nr_seen, reads;

struct ask {
	struct nlmsghdr			nlh;
	struct inet_diag_req_v2		req;
	struct nlattr			filter;
	struct inet_diag_bc_op		code[2];
};

static struct ask ask_for(int type, int flags)
{
	return (struct ask){
		.nlh = { NLMSG_LENGTH(sizeof(struct inet_diag_req_v2)), type,
			 NLM_F_REQUEST | flags, 1, 0 },
		.req = { family, IPPROTO_DLCP, 1 << (INET_DIAG_INFO - 1), 0, ALL },
	};
}

static void take_row(const struct nlmsghdr *h)
{
	size_t len = h->nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg));
	const struct inet_diag_msg *msg = NLMSG_DATA(h);
	const struct nlattr *a = (const void *)(msg + 1);
	struct seen *s = &seen[nr_seen++];

	ASSERT(nr_seen <= ROWS);
	memset(s, 0, sizeof(*s));
	s->msg = *msg;
	while (len >= NLA_HDRLEN) {
		if (a->nla_type == INET_DIAG_INFO) {
			ASSERT_EQ(a->nla_len, NLA_HDRLEN + sizeof(s->info));
			memcpy(&s->info, a + 1, sizeof(s->info));
			s->has_info = true;
		}
		ASSERT(a->nla_len >= NLA_HDRLEN && NLA_ALIGN(a->nla_len) <= len);
		len -= NLA_ALIGN(a->nla_len);
		a = (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
	}
}

/* Return: an errno, or -1: there is more to be read */
static int take_answer(const void *buf, ssize_t n, bool dump)
{
	const struct nlmsghdr *h = buf;

	for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		if (h->nlmsg_type == NLMSG_DONE)
			return -*(const int *)NLMSG_DATA(h);
		if (h->nlmsg_type == NLMSG_ERROR)
			return -((const struct nlmsgerr *)NLMSG_DATA(h))->error;
		ASSERT_EQ(h->nlmsg_type, SOCK_DIAG_BY_FAMILY);
		take_row(h);
		if (!dump)
			return 0;
	}
	return -1;
}

/* What it says is in seen[]. Return: 0, or an errno */
static int diag(int net, const struct ask *ask)
{
	char buf[8 * KB] __attribute__((aligned(8)));
	bool dump = ask->nlh.nlmsg_flags & NLM_F_DUMP;
	int fd, err;

	nr_seen = 0;
	reads = 0;
	if (net >= 0)
		net_enter(net);
	fd = ASSERT_OK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	if (net >= 0)
		net_leave();
	ASSERT_OK(send(fd, ask, ask->nlh.nlmsg_len, 0));
	do {
		err = take_answer(buf, ASSERT_OK(recv(fd, buf, sizeof(buf), 0)), dump);
		reads++;
	} while (err < 0);
	close(fd);
	return err;
}

static void dump_all(int net)
{
	struct ask ask = ask_for(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);

	ASSERT_EQ(diag(net, &ask), 0);
}

static u64 cookie_in(const struct inet_diag_msg *msg)
{
	return (u64)msg->id.idiag_cookie[1] << 32 | msg->id.idiag_cookie[0];
}

static const struct seen *find(u64 cookie)
{
	int i;

	for (i = 0; i < nr_seen; i++)
		if (cookie_in(&seen[i].msg) == cookie)
			return &seen[i];
	return NULL;
}

static const struct seen *seen_of(int fd)
{
	const struct seen *s = find(cookie_of(fd));

	ASSERT(s);
	return s;
}

/* Of one that a dump has shown. Return: 0, or an errno */
static int ask_one(int net, int type, const struct seen *s)
{
	struct ask ask = ask_for(type, type == SOCK_DESTROY ? NLM_F_ACK : 0);

	ask.req.id = s->msg.id;
	return diag(net, &ask);
}

static int destroy_cookie(int net, u64 cookie)
{
	struct seen s;

	dump_all(net);
	ASSERT(find(cookie));
	s = *find(cookie);
	return ask_one(net, SOCK_DESTROY, &s);
}

static int destroy(int fd)
{
	return destroy_cookie(-1, cookie_of(fd));
}

static bool same_ip(const __be32 *shown, union addr a)
{
	return family == AF_INET ? *shown == a.in.sin_addr.s_addr :
				   !memcmp(shown, &a.in6.sin6_addr, 16);
}

TEST(shows)
{
	struct msg m = MSG(.len = 100 * KB);
	struct pair p = pair_lo();
	int lfd = dlcp_socket();
	const struct seen *s;
	struct stat st;

	diag_load();
	ASSERT_OK(do_bind(lfd, addr_any(PORT + 1)));
	ASSERT_OK(listen(lfd, 7));
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	dump_all(-1);
	s = seen_of(p.a);
	ASSERT_OK(fstat(p.a, &st));
	EXPECT_EQ(s->msg.idiag_family, family);
	EXPECT_EQ(s->msg.idiag_state, TCP_ESTABLISHED);
	EXPECT_EQ(s->msg.idiag_inode, st.st_ino);
	EXPECT_EQ(s->msg.idiag_uid, 0);
	EXPECT(same_ip(s->msg.id.idiag_src, addr_lo(0)));
	EXPECT(same_ip(s->msg.id.idiag_dst, addr_lo(0)));
	EXPECT_EQ(s->msg.id.idiag_dport, seen_of(p.b)->msg.id.idiag_sport);
	EXPECT_EQ(s->msg.id.idiag_sport, seen_of(p.b)->msg.id.idiag_dport);
	EXPECT(s->has_info);
	EXPECT_EQ(s->info.state, DLCP_ESTABLISHED);
	EXPECT_EQ(s->info.encap, encap);
	EXPECT_EQ(s->info.tx_offered, m.len);
	EXPECT_EQ(s->info.tx_delivered, m.len);
	EXPECT_EQ(seen_of(p.b)->info.rx_delivered, m.len);
	s = seen_of(lfd);
	EXPECT_EQ(s->msg.idiag_state, TCP_LISTEN);
	EXPECT_EQ(s->msg.idiag_rqueue, 0);
	EXPECT_EQ(s->msg.idiag_wqueue, 7);
	EXPECT_EQ(ntohs(s->msg.id.idiag_sport), PORT + 1);
	diag_unload();
}

/* By family, state, port, and by a program as that of ss */
TEST(filters)
{
	struct ask ask = ask_for(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	struct pair p = pair_lo();
	int lfd = listen_in(-1, addr_lo(PORT + 1));

	diag_load();
	dump_all(-1);
	EXPECT_EQ(nr_seen, 3);
	ask.req.sdiag_family = family == AF_INET ? AF_INET6 : AF_INET;
	EXPECT_EQ(diag(-1, &ask), 0);
	EXPECT_EQ(nr_seen, 0);
	ask.req.sdiag_family = family;
	ask.req.idiag_states = 1 << TCP_LISTEN;
	EXPECT_EQ(diag(-1, &ask), 0);
	EXPECT_EQ(nr_seen, 1);
	EXPECT(find(cookie_of(lfd)));
	ask.req.idiag_states = ALL;
	ask.req.id.idiag_dport = htons(PORT);
	EXPECT_EQ(diag(-1, &ask), 0);
	EXPECT_EQ(nr_seen, 1);
	EXPECT(find(cookie_of(p.a)));
	ask.req.id.idiag_dport = 0;
	ask.req.id.idiag_sport = htons(PORT);
	EXPECT_EQ(diag(-1, &ask), 0);
	EXPECT_EQ(nr_seen, 1);
	EXPECT(find(cookie_of(p.b)));
	ask.req.id.idiag_sport = 0;
	/* Destination ports up to ours: the listener's is 0 */
	ask.filter = (struct nlattr){ NLA_HDRLEN + sizeof(ask.code), INET_DIAG_REQ_BYTECODE };
	ask.code[0] = (struct inet_diag_bc_op){ INET_DIAG_BC_D_LE, 8, 12 };
	ask.code[1] = (struct inet_diag_bc_op){ .no = PORT - 1 };
	ask.nlh.nlmsg_len = sizeof(ask);
	EXPECT_EQ(diag(-1, &ask), 0);
	EXPECT_EQ(nr_seen, 1);
	EXPECT(find(cookie_of(lfd)));
	diag_unload();
}

TEST(one)
{
	struct pair p = pair_lo();
	struct seen s;

	diag_load();
	dump_all(-1);
	s = *seen_of(p.a);
	EXPECT_EQ(ask_one(-1, SOCK_DIAG_BY_FAMILY, &s), 0);
	EXPECT_EQ(nr_seen, 1);
	EXPECT_EQ(cookie_in(&seen[0].msg), cookie_of(p.a));
	EXPECT_EQ(seen[0].info.state, DLCP_ESTABLISHED);
	/* Another socket's cookie; nobody's port */
	s.msg.id.idiag_cookie[0] ^= 1;
	EXPECT_EQ(ask_one(-1, SOCK_DIAG_BY_FAMILY, &s), ENOENT);
	EXPECT_EQ(ask_one(-1, SOCK_DESTROY, &s), ENOENT);
	s.msg.id.idiag_cookie[0] ^= 1;
	s.msg.id.idiag_dport ^= 1;
	EXPECT_EQ(ask_one(-1, SOCK_DIAG_BY_FAMILY, &s), ENOENT);
	ping_pong(&p);
	diag_unload();
}

struct call {
	int	fd;
	int	ret;
	int	err;
	union addr to;
};

static void receiving_main(void *arg)
{
	struct call *c = arg;
	char byte;

	c->ret = recv(c->fd, &byte, 1, 0);
	c->err = errno;
}

static void accepting_main(void *arg)
{
	struct call *c = arg;

	c->ret = accept(c->fd, NULL, NULL);
	c->err = errno;
}

static void connecting_main(void *arg)
{
	struct call *c = arg;

	c->ret = do_connect(c->fd, c->to);
	c->err = errno;
}

static bool is_shown(int net, u64 cookie)
{
	dump_all(net);
	return find(cookie);
}

/* Its caller sleeps, and is told */
static void destroy_called(int net, struct call *c, void (*fn)(void *))
{
	struct task t;

	task_start(&t, fn, c);
	WAIT_FOR(task_sleeps(&t) && is_shown(net, cookie_of(c->fd)));
	ASSERT_EQ(destroy_cookie(net, cookie_of(c->fd)), 0);
	task_join(&t);
	EXPECT_EQ(c->ret, -1);
	EXPECT_EQ(c->err, ECONNABORTED);
}

TEST(destroys_a_reader)
{
	struct pair p = pair_lo();
	struct call c = { p.a };
	char byte;

	diag_load();
	destroy_called(-1, &c, receiving_main);
	check_words(p.a, "ended by the administrator");
	EXPECT_ERR(send(p.a, "x", 1, MSG_NOSIGNAL), EPIPE);
	/* The peer learns of it */
	EXPECT_ERR(recv(p.b, &byte, 1, 0), ECONNRESET);
	check_words(p.b, "the peer gave up the connection");
	dump_all(-1);
	EXPECT_EQ(nr_seen, 0);
	diag_unload();
}

TEST(destroys_who_connects)
{
	struct call c = { -1 };
	struct hosts h;

	diag_load();
	hosts_open(&h);
	netem(&h, H0, "loss 100%%");
	c.fd = dlcp_socket_in(h.net[H0]);
	c.to = addr_host(&h, H1, PORT);
	destroy_called(h.net[H0], &c, connecting_main);
	close(c.fd);
	diag_unload();
}

TEST(destroys_a_listener)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd;
	struct call c = { lfd };
	char byte;

	diag_load();
	destroy_called(-1, &c, accepting_main);
	EXPECT_ERR(accept(lfd, NULL, NULL), EINVAL);
	ASSERT_OK(listen(lfd, 7));
	/* With a connection that waits for accept() */
	fd = dlcp_socket();
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	WAIT_FOR(poll_for(lfd, POLLIN, 0));
	ASSERT_EQ(destroy(lfd), 0);
	EXPECT_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	EXPECT(poll_for(lfd, POLLERR, 0) & POLLERR);
	EXPECT_ERR(accept(lfd, NULL, NULL), ECONNABORTED);
	dump_all(-1);
	EXPECT_EQ(nr_seen, 0);
	close(lfd);
	diag_unload();
}

/* The one that waits for accept() */
static u64 cookie_of_child(int net, int lfd, int client)
{
	u64 cookie = 0;
	int i;

	WAIT_FOR(poll_for(lfd, POLLIN, 0));
	dump_all(net);
	for (i = 0; i < nr_seen; i++)
		if (cookie_in(&seen[i].msg) != cookie_of(lfd) &&
		    cookie_in(&seen[i].msg) != cookie_of(client))
			cookie = cookie_in(&seen[i].msg);
	ASSERT(cookie);
	return cookie;
}

TEST(destroys_who_waits_for_accept)
{
	int lfd = listen_in(-1, addr_lo(PORT)), fd = dlcp_socket(), child;
	char byte;

	diag_load();
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	ASSERT_EQ(destroy_cookie(-1, cookie_of_child(-1, lfd, fd)), 0);
	EXPECT_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	child = ASSERT_OK(accept(lfd, NULL, NULL));
	EXPECT_ERR(recv(child, &byte, 1, 0), ECONNABORTED);
	diag_unload();
}

/* What is sent after close() goes on without a user, and ends with it */
TEST(destroys_an_orphan)
{
	struct msg m = MSG(.len = 10 * KB);
	struct hosts h;
	struct pair p;
	u64 cookie;

	diag_load();
	hosts_open(&h);
	p = pair_hosts(&h);
	cookie = cookie_of(p.a);
	netem(&h, H0, "loss 100%%");
	must_send(p.a, &m);
	close(p.a);
	dump_all(h.net[H0]);
	ASSERT(find(cookie));
	EXPECT_EQ(find(cookie)->msg.idiag_inode, 0);
	ASSERT_EQ(destroy_cookie(h.net[H0], cookie), 0);
	EXPECT_EQ(proto_sockets(h.net[H0]), 0);
	close(p.b);
	diag_unload();
}

/* Who may look is anybody; who may end, the administrator of the name space */
TEST(not_permitted)
{
	struct pair p = pair_lo();

	diag_load();
	ASSERT_OK(seteuid(NOBODY));
	EXPECT_EQ(destroy(p.a), EPERM);
	EXPECT_EQ(seen[0].msg.idiag_uid, 0);
	ping_pong(&p);
	ASSERT_OK(seteuid(0));
	diag_unload();
}

TEST(other_name_spaces)
{
	struct hosts h;
	struct pair p;
	struct seen a;

	diag_load();
	hosts_open(&h);
	p = pair_hosts(&h);
	dump_all(-1);
	EXPECT_EQ(nr_seen, 0);
	dump_all(h.net[H0]);
	EXPECT_EQ(nr_seen, 1);
	a = *seen_of(p.a);
	EXPECT_EQ(ask_one(h.net[H1], SOCK_DESTROY, &a), ENOENT);
	ping_pong(&p);
	pair_close(&p);
	diag_unload();
}

TEST(in_several_reads)
{
	enum { NR = 200 };
	int i, lfd[NR];

	diag_load();
	for (i = 0; i < NR; i++)
		lfd[i] = listen_in(-1, addr_lo(PORT + i));
	dump_all(-1);
	EXPECT_GE(reads, 4);
	EXPECT_EQ(nr_seen, NR);
	for (i = 0; i < NR; i++)
		EXPECT(find(cookie_of(lfd[i])));
	diag_unload();
}

/* Its owner could keep who looks for ever, were the socket locked */
TEST(locks_nobody)
{
	struct pair p = pair_lo();
	struct stuck s;
	struct seen a;

	diag_load();
	stuck_start(&s, p.a);
	dump_all(-1);
	a = *seen_of(p.a);
	EXPECT_EQ(ask_one(-1, SOCK_DIAG_BY_FAMILY, &a), 0);
	stuck_end(&s);
	diag_unload();
}

struct crowd {
	int	rounds;
	bool	stop;
};

/* Any call may fail: others end these sockets */
static void crowd_main(void *arg)
{
	struct crowd *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		int lfd = dlcp_socket(), a = dlcp_socket(), b;

		ASSERT_OK(do_bind(lfd, addr_lo(PORT)));
		listen(lfd, 4);
		do_connect(a, addr_lo(PORT));
		b = accept4(lfd, NULL, NULL, SOCK_NONBLOCK);
		send(a, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		close(lfd);
		close(a);
		if (b >= 0)
			close(b);
		__atomic_add_fetch(&c->rounds, 1, __ATOMIC_RELAXED);
	}
}

TEST_LIMIT(destroyed_while_they_go, 120)
{
	static struct seen was[ROWS];
	struct crowd c = { 0 };
	int ended = 0, i, nr;
	struct task t;

	diag_load();
	task_start(&t, crowd_main, &c);
	while (ended < 100) {
		dump_all(-1);
		nr = nr_seen;
		memcpy(was, seen, sizeof(was));
		for (i = 0; i < nr; i++)
			ended += !ask_one(-1, SOCK_DESTROY, &was[i]);
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	task_join(&t);
	EXPECT_GT(c.rounds, 0);
	diag_unload();
}

/*
 * Who ends a connection that nobody has accepted owns it, and is kept there by a gate
 */

struct owned {
	struct gate	*gate;
	struct hosts	h;	/* the listener is in h1 */
	int		lfd;
	u64		cookie;	/* of its child */
	bool		seen;	/* owned, in all lists */
};

static void owner_main(void *arg)
{
	struct owned *o = arg;

	EXPECT_EQ(destroy_cookie(o->h.net[H1], o->cookie), 0);
}

static void closes_listener(void *arg)
{
	close(((struct owned *)arg)->lfd);
}

static void shuts_listener(void *arg)
{
	ASSERT_OK(shutdown(((struct owned *)arg)->lfd, SHUT_RD));
}

static void accepts_and_closes(void *arg)
{
	close(ASSERT_OK(accept(((struct owned *)arg)->lfd, NULL, NULL)));
}

/* From then on nobody but the owner keeps the name space */
static void leaves_name_space(void *arg)
{
	struct owned *o = arg;

	close(o->h.net[H1]);
	o->h.net[H1] = -1;
	close(o->lfd);
}

/* Before 6.9 sock_diag answers one after the other */
static bool diag_takes_turns(void)
{
	int major, minor;
	struct utsname u;

	ASSERT_OK(uname(&u));
	ASSERT_EQ(sscanf(u.release, "%d.%d", &major, &minor), 2);
	return major < 6 || (major == 6 && minor < 9);
}

static void looks(void *arg)
{
	struct owned *o = arg;
	int net = o->h.net[H1];
	struct nl_rows socks = nl_of_cookie(net, DLCP_CMD_SOCK_GET, o->cookie);
	struct nl_rows paths = nl_of_cookie(net, DLCP_CMD_PATH_GET, o->cookie);

	/* It is over, and the owner has not come to take it off the list */
	o->seen = socks.nr == 1 && paths.nr == 1 &&
		  socks.row->value[DLCP_A_SOCK_STATE] == DLCP_CLOSED;
	mib_drops(net);
	if (!diag_takes_turns()) {
		dump_all(net);
		o->seen = o->seen && find(o->cookie);
	}
	nl_free(&socks);
	nl_free(&paths);
}

static void owned_open(struct owned *o, const char *tracepoint)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("needs two processors");
	diag_load();
	hosts_open(&o->h);
	cgroup_open();
	o->gate = gate_open(tracepoint);
}

static void owned_close(struct owned *o)
{
	hosts_kill(&o->h);
	rmdir(cgroup_dir);
	diag_unload();
}

static void own_child(struct owned *o, struct task *owner, int fd)
{
	if (o->h.net[H1] < 0)
		hosts_reboot(&o->h);
	cgroup_enter(cgroup_dir);
	o->lfd = listen_in(o->h.net[H1], addr_host(&o->h, H1, PORT));
	cgroup_leave();
	ASSERT_OK(do_connect(fd, addr_host(&o->h, H1, PORT)));
	o->cookie = cookie_of_child(o->h.net[H1], o->lfd, fd);
	WAIT_FOR(gate_is_quiet(o->gate));
	o->gate->state = 0;
	o->gate->shut = 1;
	task_start(owner, owner_main, o);
	WAIT_FOR(o->gate->state);
}

/* @fn waits for the owner of the child, or does not have to. Return: did that have
 * it all the time?
 */
static bool end_owned(struct owned *o, void (*fn)(void *), bool waits)
{
	int fd = dlcp_socket_in(o->h.net[H0]);
	struct task owner, other;
	bool ended, held;
	char byte;

	own_child(o, &owner, fd);
	task_start(&other, fn, o);
	WAIT_FOR(other.done || (waits ? task_sleeps(&other) :
					o->gate->state == GATE_GAVE_UP));
	ended = other.done;
	held = o->gate->state == GATE_HOLDS;
	o->gate->shut = 0;
	task_join(&owner);
	task_join(&other);
	if (held)
		EXPECT_EQ(ended, !waits);
	EXPECT_ERR(recv(fd, &byte, 1, 0), ECONNRESET);
	close(fd);
	close(o->lfd);
	return held;
}

TEST_LIMIT(owned_before_accept, 60)
{
	static void (*const ends[])(void *) = {
		closes_listener, shuts_listener, accepts_and_closes, leaves_name_space,
	};
	struct owned o;
	int i, tries;

	owned_open(&o, NULL);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		tries = 0;
		while (!end_owned(&o, ends[i], true))
			ASSERT_LE(++tries, 20);
	}
	owned_close(&o);
}

/* Who looks finds it, and waits for nobody */
TEST_LIMIT(owned_while_looked_at, 60)
{
	struct owned o;
	int tries = 0;

	owned_open(&o, "dlcp_events");
	while (!end_owned(&o, looks, false) || !o.seen)
		ASSERT_LE(++tries, 20);
	owned_close(&o);
}

/* dlcp does without it, and not the other way */
TEST(absent)
{
	struct ask ask = ask_for(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	struct pair p = pair_lo();

	diag_load();
	pair_close(&p);
	if (module_path())
		EXPECT_ERR(module_unload(), EWOULDBLOCK);
	diag_unload();
	p = pair_lo();
	ping_pong(&p);
	EXPECT_EQ(diag(-1, &ask), ENOENT);
}
