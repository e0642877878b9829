// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations that fail: one after the other in every call, and at random under
 * traffic. The call fails with the right error or does without, nothing is
 * lost but the call, and the next one works. For kernels with fault injection.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib.h"
#include "netlink.h"

#define DEBUGFS	"/sys/kernel/debug/"

static int nth_fd = -1;

static void set_fault(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUGFS "%s", name);
	ASSERT_OK(file_write(-1, path, value));
}

/* Allocations of the calling thread, and copies from and to its memory */
static void need_faults(void)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0 || access(DEBUGFS "failslab", F_OK))
		SKIP("this kernel has no fault injection");
	set_fault("failslab/verbose", "0");
	set_fault("failslab/ignore-gfp-wait", "0");
	set_fault("fail_page_alloc/verbose", "0");
	set_fault("fail_page_alloc/ignore-gfp-wait", "0");
	set_fault("fail_page_alloc/min-order", "0");
	set_fault("fail_page_alloc/ignore-gfp-highmem", "1");
	set_fault("fail_usercopy/verbose", "0");
}

/* A fault may hit these calls themselves, as they copy */
static void fail_at(int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", nth);

	while (write(nth_fd, text, n) != n)
		ASSERT_EQ(errno, EFAULT);
}

/* No more faults. Has there been the one asked for? */
static bool has_failed(void)
{
	char text[16] = "";
	ssize_t n = pread(nth_fd, text, sizeof(text) - 1, 0);

	ASSERT(n > 0 || errno == EFAULT);
	fail_at(0);
	return n > 0 && atoi(text) == 0;
}

static bool is_shortage(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EAGAIN ||
	       err == EFAULT || err == ENFILE || err == ETIMEDOUT;
}

/*
 * @call with its first allocation failing, with its second, and so on until
 * all are through. It returns what a system call does, and fails for want of memory
 * or not at all; @check sees whether all is as it should be.
 */
enum { SITES_MAX = 1000 };

static int sweep(int (*call)(void *arg), void (*check)(void *arg, int ret),
		 void *arg)
{
	int nth, ret, err;
	bool more = true;

	for (nth = 1; more && nth < SITES_MAX; nth++) {
		fail_at(nth);
		errno = 0;
		ret = call(arg);
		err = errno;
		more = has_failed();
		if (ret < 0 && (!more || !is_shortage(err)))
			test_failed(true, "allocation %d: %s", nth,
				    err_name(err));
		if (check)
			check(arg, ret);
	}
	EXPECT_LT(nth, SITES_MAX);
	EXPECT_GT(nth, 2);
	return nth - 2;
}

/* --- the module itself */

static bool module_is_loaded(void)
{
	return !access("/sys/module/dlcp", F_OK);
}

static int load(int fd, const char *args)
{
	return syscall(SYS_finit_module, fd, args, 0);
}

/* Allocations so far, since fail_at(ENOUGH) */
enum { ENOUGH = 1000000, LOAD_SPREAD = 16 };

static int allocations(void)
{
	char text[16] = "";

	ASSERT_GT(pread(nth_fd, text, sizeof(text) - 1, 0), 0);
	fail_at(0);
	return ENOUGH - atoi(text);
}

/* A module that cannot be loaded for want of memory leaves nothing behind, and can
 * be loaded when there is some. The first allocations are those of the kernel's
 * loader and of its tracing, which warns of its own: up to where parameters are
 * looked at. They are more at one time than at another, as slabs are full or not.
 */
TEST_LIMIT(module_load, 60)
{
	const char *args = encap == DLCP_ENCAP_RAW ? "raw=1" : "";
	const char *step = getenv("DLCP_LOAD_STEP");
	int nth, nr, err, ret, fd, n, i;
	struct pair p;

	need_faults();
	if (!module_path())
		SKIP("the module may only be removed in the lab");
	fd = ASSERT_OK(open(module_path(), O_RDONLY | O_CLOEXEC));
	WAIT_FOR(!module_unload());
	for (nth = 0, i = 0; i < 5; i++) {
		fail_at(ENOUGH);
		EXPECT_ERR(load(fd, "raw=perhaps"), EINVAL);
		n = allocations();
		nth = n > nth ? n : nth;
	}
	fail_at(ENOUGH);
	ASSERT_OK(load(fd, args));
	nr = allocations();
	WAIT_FOR(!module_unload());
	printf("# figure allocations of a load: %d to %d\n", nth, nr);
	for (nth += LOAD_SPREAD; nth <= nr; nth += step ? atoi(step) : 10) {
		fail_at(nth);
		ret = load(fd, args);
		err = errno;
		fail_at(0);
		if (ret && !is_shortage(err))
			test_failed(false, "allocation %d of %d: %s", nth, nr,
				    err_name(err));
		EXPECT_EQ(module_is_loaded(), !ret);
		if (!ret)
			WAIT_FOR(!module_unload());
	}
	ASSERT_OK(load(fd, args));
	p = pair_lo();
	ping_pong(&p);
}

/* --- calls that make sockets */

static int call_socket(void *arg)
{
	return socket(family, SOCK_DLCP | SOCK_CLOEXEC, 0);
}

static void check_socket(void *arg, int fd)
{
	if (fd >= 0)
		close(fd);
	EXPECT_EQ(proto_sockets(-1), 0);
}

TEST(socket_calls)
{
	need_faults();
	sweep(call_socket, check_socket, NULL);
}

/* In a name space that has never listened: the tunnel's sockets as well */
static int call_listen(void *arg)
{
	int fd = *(int *)arg, on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (do_bind(fd, addr_lo(PORT)) < 0)
		return -1;
	return listen(fd, 5);
}

static void check_listen(void *arg, int ret)
{
	int *fd = arg, err = errno;

	/* A bound socket stays bound: try the rest */
	if (ret < 0)
		EXPECT(!listen(*fd, 5) || err == EADDRINUSE);
	close(*fd);
	test_setup();	/* another name space */
	*fd = dlcp_socket();
}

TEST_LIMIT(listen_calls, 60)
{
	int fd = dlcp_socket();

	need_faults();
	sweep(call_listen, check_listen, &fd);
}

struct door {
	int	lfd;
	int	fd;
};

static int call_connect(void *arg)
{
	struct door *d = arg;

	return do_connect(d->fd, addr_lo(PORT));
}

/* Connected or not, the listener works */
static void check_connect(void *arg, int ret)
{
	struct door *d = arg;
	struct pair p = { .a = d->fd };

	if (ret < 0) {
		close(d->fd);
		p.a = dlcp_socket();
		ASSERT_OK(do_connect(p.a, addr_lo(PORT)));
	}
	p.b = do_accept(d->lfd);
	ping_pong(&p);
	pair_close(&p);
	d->fd = dlcp_socket();
}

TEST_LIMIT(connect_calls, 60)
{
	struct door d = { listen_in(-1, addr_lo(PORT)), dlcp_socket() };

	need_faults();
	sweep(call_connect, check_connect, &d);
}

/* The same where the connection has addresses to announce */
TEST_LIMIT(connect_calls_with_rails, 60)
{
	struct door d;

	need_faults();
	must_sh(-1, "ip addr add 10.7.7.7/24 dev lo && "
		"ip addr add fd00:7::7/64 dev lo nodad");
	ASSERT_OK(file_write(-1, "/proc/sys/net/dlcp/rails", "lo"));
	d = (struct door){ listen_in(-1, addr_lo(PORT)), dlcp_socket() };
	sweep(call_connect, check_connect, &d);
}

static int call_accept(void *arg)
{
	struct door *d = arg;

	return accept4(d->lfd, NULL, NULL, SOCK_CLOEXEC);
}

/* One that could not be accepted is there still */
static void check_accept(void *arg, int fd)
{
	struct door *d = arg;
	struct pair p = { .a = d->fd, .b = fd >= 0 ? fd : do_accept(d->lfd) };

	ASSERT_OK(set_int(p.b, DLCP_RECVWANT, 1));
	ping_pong(&p);
	pair_close(&p);
	d->fd = dlcp_socket();
	ASSERT_OK(do_connect(d->fd, addr_lo(PORT)));
}

TEST_LIMIT(accept_calls, 60)
{
	struct door d = { listen_in(-1, addr_lo(PORT)), dlcp_socket() };

	need_faults();
	ASSERT_OK(do_connect(d.fd, addr_lo(PORT)));
	sweep(call_accept, check_accept, &d);
}

/* --- messages */

/* All memory a call is given has been touched: user-mode Linux does not survive
 * a page fault within a system call that finds no memory.
 */
struct talk {
	struct pair	p;
	size_t		len;
	int		flags;
	u8		*out;
	u8		*in;
	int		err;		/* of the last call_send() */
	int		broken;		/* connections that ended */
};

static struct talk talk_open(size_t len, int flags)
{
	struct talk t = { .len = len, .flags = flags };

	need_faults();
	t.p = pair_lo();
	t.out = malloc(len);
	t.in = malloc(len);
	fill(t.out, len, 0);
	memset(t.in, CANARY, len);
	return t;
}

static void talk_send(struct talk *t)
{
	ASSERT_EQ(send(t->p.a, t->out, t->len, 0), (ssize_t)t->len);
	WAIT_FOR(poll_for(t->p.b, POLLIN, 0) & POLLIN);
}

/* Both ways, also of what was not taken for want of memory */
static void talk_counters(struct talk *t)
{
	check_counters(t->p.a, t->p.b);
	check_counters(t->p.b, t->p.a);
}

static void talk_check(struct talk *t)
{
	EXPECT(!memcmp(t->in, t->out, t->len));
	memset(t->in, CANARY, t->len);
}

static int call_send(void *arg)
{
	struct talk *t = arg;
	int ret = send(t->p.a, t->out, t->len, t->flags | MSG_NOSIGNAL);

	t->err = errno;
	return ret;
}

/* What was sent arrives; what was not leaves no trace. For memory a message that
 * is under way waits; only where the user's cannot be read the connection ends.
 */
static void check_send(void *arg, int ret)
{
	struct talk *t = arg;

	if (ret >= 0) {
		ASSERT_EQ(recv(t->p.b, t->in, t->len, 0), (ssize_t)t->len);
		talk_check(t);
	}
	if (info_of(t->p.a).state == DLCP_ESTABLISHED) {
		ping_pong(&t->p);
		talk_counters(t);
		return;
	}
	EXPECT_LT(ret, 0);
	EXPECT_EQ(t->err, EFAULT);
	EXPECT_EQ(recv(t->p.b, t->in, t->len, 0), -1);
	EXPECT(errno == ECONNABORTED || errno == ECONNRESET);
	pair_close(&t->p);
	t->p = pair_lo();
	t->broken++;
}

static void send_sweep(size_t len, int flags)
{
	struct talk t = talk_open(len, flags);

	if (flags & MSG_ZEROCOPY)
		ASSERT_OK(set_int(t.p.a, DLCP_ZEROCOPY, 1));
	sweep(call_send, check_send, &t);
	/* a message that was not queued yet is no reason to end anything */
	if (len < 30000)
		EXPECT_EQ(t.broken, 0);
}

TEST_LIMIT(small_sends, 60)
{
	send_sweep(1000, 0);
}

TEST_LIMIT(sends_at_once, 60)
{
	send_sweep(20000, MSG_DONTWAIT);
}

TEST_LIMIT(large_sends, 60)
{
	send_sweep(300 * KB, 0);
}

TEST_LIMIT(zerocopy_sends, 60)
{
	send_sweep(25000, MSG_ZEROCOPY);
}

static int call_recv(void *arg)
{
	struct talk *t = arg;

	return recv(t->p.b, t->in, t->len, 0);
}

/* Into the same buffer it is received whole, then */
static void check_recv(void *arg, int ret)
{
	struct talk *t = arg;

	if (ret < 0)
		ASSERT_EQ(recv(t->p.b, t->in, t->len, 0), (ssize_t)t->len);
	talk_check(t);
	talk_send(t);
}

TEST_LIMIT(receives, 60)
{
	struct talk t = talk_open(60000, 0);

	talk_send(&t);
	sweep(call_recv, check_recv, &t);
	EXPECT_EQ(info_of(t.p.b).state, DLCP_ESTABLISHED);
	ASSERT_EQ(recv(t.p.b, t.in, t.len, 0), (ssize_t)t.len);
	talk_counters(&t);
}

static int call_report(void *arg)
{
	static u8 control[1024];
	struct msghdr mh = { .msg_control = control,
			     .msg_controllen = sizeof(control) };
	struct talk *t = arg;

	memset(control, 0, sizeof(control));
	if (recvmsg(t->p.a, &mh, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return -1;
	EXPECT_EQ(CMSG_FIRSTHDR(&mh)->cmsg_type, DLCP_CMSG_REPORT);
	return 0;
}

/* One that could not be read is there still */
static void check_report(void *arg, int ret)
{
	struct talk *t = arg;

	if (ret < 0)
		ASSERT_OK(call_report(t));
	EXPECT_ERR(call_report(t), EAGAIN);
	talk_send(t);
	ASSERT_EQ(recv(t->p.b, t->in, t->len, 0), (ssize_t)t->len);
	WAIT_FOR(poll_for(t->p.a, POLLERR, 0) & POLLERR);
}

TEST_LIMIT(reports, 60)
{
	struct dlcp_attr a = { .mask = DLCP_ATTR_FLAGS,
			       .flags = DLCP_MSG_REPORT };
	struct talk t = talk_open(1000, 0);

	ASSERT_OK(setsockopt(t.p.a, SOL_DLCP, DLCP_ATTR, &a, sizeof(a)));
	check_report(&t, 0);
	sweep(call_report, check_report, &t);
	talk_counters(&t);
}

/* --- looking and setting */

static int call_options(void *arg)
{
	static struct dlcp_path_info info[DLCP_PATHS_MAX];
	socklen_t len = sizeof(info);
	struct pair *p = arg;

	memset(info, 1, sizeof(info));
	if (set_int(p->a, DLCP_DEAD_MS, 5000))
		return -1;
	return getsockopt(p->a, SOL_DLCP, DLCP_PATH_INFO, info, &len);
}

static int call_proc(void *arg)
{
	static char text[4096];
	int fd, n;

	memset(text, 1, sizeof(text));
	fd = open("/proc/thread-self/net/dlcp/snmp", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n;
}

static int call_netlink(void *arg)
{
	int family = *(int *)arg, cmd, ret = 0;

	for (cmd = DLCP_CMD_SOCK_GET; cmd <= DLCP_CMD_DEV_GET && !ret; cmd++)
		ret = nl_dump_once(family, cmd);
	return ret;
}

static void check_pair(void *arg, int ret)
{
	ping_pong(arg);
}

TEST_LIMIT(options_and_files, 60)
{
	int family_number = nl_family();
	struct pair p = pair_lo();

	need_faults();
	sweep(call_options, check_pair, &p);
	sweep(call_proc, check_pair, &p);
	sweep(call_netlink, NULL, &family_number);
	ping_pong(&p);
}

/* --- in softirq, where nobody can be told */

/* Everybody's allocations: so not for ever, and to end it takes none */
enum { FAULTS = 100, ROUNDS = 40 };

static int open_fault(const char *name)
{
	return ASSERT_OK(open(name, O_WRONLY | O_CLOEXEC));
}

static void fail_at_random(int fd, int percent)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", percent);

	ASSERT_EQ(write(fd, text, n), n);
}

static void send_stubbornly(void *arg)
{
	struct passing *s = arg;
	int i;

	for (i = 0; i < ROUNDS; i++)
		while (send_msg(s->from, s->m, 0) < 0) {
			ASSERT(is_shortage(errno));
			nap_ms(1);
		}
}

static void receive_stubbornly(int fd, const struct msg *m)
{
	struct got g;
	int i;

	got_init(&g, m->len);
	for (i = 0; i < ROUNDS; i++) {
		memset(g.buf, CANARY, g.size);
		while (recv_any(fd, &g, 0) < 0) {
			ASSERT(is_shortage(errno));
			nap_ms(1);
		}
		check_got(m, &g);
	}
}

TEST_LIMIT(at_random_under_traffic, 60)
{
	struct msg m = MSG(.len = 20000, .loss = PERCENT);
	struct passing s;
	struct pair p;
	struct task t;
	int fd;

	need_faults();
	p = pair_lo();
	s = (struct passing){ p.a, p.b, &m };
	fd = open_fault(DEBUGFS "failslab/probability");
	fail_at_random(open_fault(DEBUGFS "failslab/times"), FAULTS);
	task_start(&t, send_stubbornly, &s);
	fail_at_random(fd, 2);
	receive_stubbornly(p.b, &m);
	task_join(&t);
	fail_at_random(fd, 0);
	pass(p.a, p.b, &m);
	check_counters(p.a, p.b);
	EXPECT_GT(mib(-1, "TxNoMemory") + mib(-1, "DropNoMemory") +
		  info_of(p.a).lost_packets, 0);
}
