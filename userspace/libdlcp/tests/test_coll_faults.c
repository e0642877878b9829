// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong in collectives: ranks that die, do not come or do not agree,
 * bad arguments, limits of the machine. As coll-live, with the kernel it runs in.
 */
#include <errno.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <dlcp.h>

#include "ranks.h"

/* After the timeout, but not much, though machines may be slow */
static int in_time(void)
{
	double timeout = options.timeout_ms / 1e3;

	return between(timeout - 0.01, 3 * timeout + 2);
}

static void die(void)
{
	begin();
	raise(SIGKILL);
}

static void killed_body(void)
{
	float *x = make(me, 500000);
	int i = 0;

	join();
	while (!dlcp_coll_all_reduce(coll, x, x, 500000, DLCP_COLL_F32, NULL,
				     NULL))
		if (me == 2 && ++i == 3)
			die();
	NEED(errno == ECONNRESET && said("rank 2 died") && at_once());
	NEED(dlcp_coll_barrier(coll, NULL) && said("rank 2 died"));
	leave();
}

static void killed_rank(void)
{
	CHECK(ranks(4, killed_body) == 1);
}

static void killed_idle_body(void)
{
	struct dlcp_coll_handle *h;
	struct pollfd pfd = { .events = POLLIN };

	join();
	if (me == 1)
		die();
	/* nothing is due from rank 1 here, and yet; its death may be known already */
	if (!me && dlcp_coll_barrier(coll, &h)) {
		NEED(errno == ECONNRESET);
	} else if (!me) {
		pfd.fd = dlcp_coll_fd(h);
		NEED(poll(&pfd, 1, 20000) == 1);
		NEED(dlcp_coll_wait(h, -1) && errno == ECONNRESET);
	} else {
		while (!dlcp_coll_barrier(coll, NULL))
			;
	}
	NEED(said("rank 1 died") && at_once());
	leave();
}

static void killed_before_it_starts(void)
{
	CHECK(ranks(3, killed_idle_body) == 1);
}

static void die_updating(void *ctx, uint64_t tensor, size_t first,
			 const void *grad, void *value, size_t count, int dtype)
{
	(void)ctx, (void)tensor, (void)first, (void)grad, (void)value;
	(void)count, (void)dtype;
	die();
}

/* The last rank is a dedicated server, which dies in a push or an all-reduce */
static void killed_server_body(int push)
{
	struct dlcp_coll_args args = { .tensor = 5 };
	struct dlcp_coll_handle *h;
	size_t n = 4000000;
	float *x = make(me, n);

	options.dedicated = 1;
	if (me == 2)
		shared->server = getpid();
	join();
	if (me == 2) {
		dlcp_coll_set_update(coll, die_updating, NULL);
		dlcp_coll_serve(coll);
		_exit(0);	/* it should have died */
	}
	if (push) {
		/* one may be over, if all it had to say was sent */
		while (!dlcp_coll_push(coll, x, n, DLCP_COLL_F32, &args, NULL))
			;
	} else if (!me) {
		NEED(!dlcp_coll_barrier(coll, NULL));
		NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, &args,
					   &h));
		begin();
		kill(shared->server, SIGKILL);
		NEED(dlcp_coll_wait(h, -1));
	} else if (!dlcp_coll_barrier(coll, NULL)) {
		/* else rank 0 was through it before */
		while (!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32,
					     &args, NULL))
			;
	}
	NEED(errno == ECONNRESET && said("rank 2 died") && at_once());
	leave();
}

static void killed_in_push_body(void) { killed_server_body(1); }
static void killed_in_reduce_body(void) { killed_server_body(0); }

static void killed_server(void)
{
	CHECK(ranks(3, killed_in_push_body) == 1);
	CHECK(ranks(3, killed_in_reduce_body) == 1);
}

static void mixed_body(void)
{
	float x[10000];

	memset(x, 0, sizeof(x));
	join();
	if (me == 1)
		NEED(dlcp_coll_barrier(coll, NULL));
	else
		NEED(dlcp_coll_all_reduce(coll, x, x, 10000, DLCP_COLL_F32,
					  NULL, NULL));
	NEED(errno == EBADMSG && said("barrier") && said("all-reduce"));
	leave();
}

static void disagreement_of_calls(void) { CHECK(!ranks(3, mixed_body)); }

static void never(size_t n)
{
	float *x = make(me, n);	/* which may take longer than the others wait */

	join();
	if (me == 1) {
		idle_until_told();
	} else {
		begin();
		NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL,
					  NULL));
	}
	NEED(errno == ETIMEDOUT && said("was not over: not begun by rank 1") &&
	     in_time());
	leave();
}

static void never_body(void)
{
	options.timeout_ms = 700;
	never(10000);
}

/* Rank 1 is told although all room on the way to it is taken by what it does
 * not read
 */
static void never_large_body(void)
{
	options.timeout_ms = 2000;
	never(8000000);
}

static void rank_that_does_not_call(void)
{
	CHECK(!ranks(3, never_body));
	CHECK(!ranks(3, never_large_body));
}

static void absent_body(void)
{
	options.timeout_ms = 1000;
	if (me == 2)
		return;
	begin();
	NEED(!dlcp_coll_open(&options));
	NEED(errno == ETIMEDOUT && said("rank 2 did not come") && in_time());
}

static void rank_that_never_comes(void) { CHECK(!ranks(3, absent_body)); }

/* --- a host or a name that is up only after the first try of rendezvous.c */

static void (*on_nap)(void);

int nanosleep(const struct timespec *req, struct timespec *rem)
{
	void (*fn)(void) = on_nap;

	on_nap = NULL;
	if (fn)
		fn();
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, req, rem);
	return errno ? -1 : 0;
}

static void lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	NEED(!ioctl(fd, SIOCSIFFLAGS, &ifr));
	close(fd);
}

static void late_network_body(void)
{
	if (me)
		on_nap = lo_up;
	join();
	NEED(!on_nap);
	NEED(!dlcp_coll_barrier(coll, NULL));
	leave();
}

#define NAME	"rank-0.a-name-that-is-longer-than-63-characters.as-those-in-clusters-are.test"

static char hosts[] = "/tmp/coll-faults.XXXXXX";

static void write_hosts(const char *text)
{
	FILE *file = fopen(hosts, "w");

	NEED(file && fputs(text, file) >= 0 && !fclose(file));
}

static void name_up(void)
{
	write_hosts("127.0.0.1 " NAME "\n");
}

static void late_name_body(void)
{
	if (me) {
		setenv("RES_OPTIONS", "attempts:1 timeout:1", 1);
		options.master_addr = NAME;
		on_nap = name_up;
	}
	join();
	NEED(!on_nap);
	NEED(!dlcp_coll_barrier(coll, NULL));
	leave();
}

static void nameless_body(void)
{
	options.timeout_ms = 1000;
	options.master_addr = NAME;
	if (!me)
		return;
	begin();
	NEED(!dlcp_coll_open(&options));
	NEED(errno == ETIMEDOUT && said("rank 0 did not come") && said(NAME));
	NEED(between(0.99, 20));	/* the resolver has a time of its own */
}

/* In name spaces of its own, whose lo is down */
static int apart(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET | CLONE_NEWNS)) {
			printf("# not root: this is not tested\n");
			fflush(stdout);
			_exit(0);
		}
		_exit(fn() != 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int late_network(void)
{
	return ranks(2, late_network_body);
}

static int late_name(void)
{
	int bad;

	lo_up();
	close(mkstemp(hosts));
	write_hosts("");
	bad = mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	      mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL) ||
	      ranks(2, nameless_body) || ranks(2, late_name_body);
	unlink(hosts);
	return bad;
}

static void not_up_yet(void)
{
	CHECK(!apart(late_network));
	CHECK(!apart(late_name));
}

static void names_body(void)
{
	char name[1100], list[1200];

	if (!me)
		return;	/* it reads no name */
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	options.master_addr = name;
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EINVAL && said("a host of 1099 characters"));
	snprintf(list, sizeof(list), "%s:5,127.0.0.1:6", name);
	options.addrs = list;
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EINVAL && said("1099 characters"));
	options.addrs = "127.0.0.1:5,127.0.0.1";
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EINVAL && said("not a list of host:port"));
}

static void names_too_long(void)
{
	CHECK(!ranks(2, names_body));
}

/* --- limits of the machine */

static void set_open_files(rlim_t n)
{
	struct rlimit limit;

	NEED(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = n;
	NEED(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void open_files_body(void)
{
	struct dlcp_coll_args args = { .tensor = 9 };
	struct dlcp_coll_handle *h;
	struct rlimit limit;
	size_t n = 100000;
	float *x = make(me, n);
	int fd, less;

	join();
	NEED(!getrlimit(RLIMIT_NOFILE, &limit));
	fd = dup(0);
	close(fd);
	/* one descriptor too few, and two */
	for (less = 0; less < 2; less++) {
		set_open_files((rlim_t)(fd + less));
		NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, &args,
					  &h));
		NEED(errno == EMFILE);
	}
	set_open_files(limit.rlim_cur);
	NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, &args, &h));
	NEED(!dlcp_coll_wait(h, -1));
	check_sum(x, n, 1);
	leave();
}

static void too_many_open_files(void) { CHECK(!ranks(2, open_files_body)); }

static void large_chunks_body(void)
{
	size_t n = 5000000;
	float *x = make(me, n);

	options.chunk_bytes = 8 << 20;
	join();
	NEED(!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL, NULL));
	check_sum(x, n, 1);
	leave();
}

/* Who may not exceed net.core.wmem_max is told at once */
static void too_large_chunks_body(void)
{
	options.chunk_bytes = 8 << 20;
	NEED(!setuid(65534));
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EMSGSIZE && said("chunks of 8388608 bytes"));
}

static void large_chunks(void)
{
	if (geteuid()) {
		printf("# not root: this is not tested\n");
		return;
	}
	CHECK(!ranks(2, large_chunks_body));
	CHECK(!ranks(2, too_large_chunks_body));
}

/* --- a clock that somebody sets back all the time */

static int stop_clock;

static void *set_back(void *arg)
{
	struct timespec ts;

	(void)arg;
	while (!__atomic_load_n(&stop_clock, __ATOMIC_ACQUIRE)) {
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_sec -= 5;
		clock_settime(CLOCK_REALTIME, &ts);
		usleep(20000);
	}
	return NULL;
}

static void clock_body(void)
{
	struct dlcp_coll_handle *h;

	options.timeout_ms = 3000;
	alarm(60);
	join();
	if (me == 1) {
		idle_until_told();
		_exit(0);
	}
	NEED(!dlcp_coll_barrier(coll, &h));
	begin();
	NEED(dlcp_coll_wait(h, 300) && errno == EAGAIN);
	NEED(between(0.29, 3));
	NEED(dlcp_coll_wait(h, -1) && errno == ETIMEDOUT);
	leave();
}

/* Rank 1 does not close, for longer than rank 0 waits */
static void clock_close_body(void)
{
	options.timeout_ms = 1000;
	alarm(60);
	join();
	if (me == 1) {
		while (!shared->server)
			usleep(20000);
		_exit(0);
	}
	begin();
	leave();
	NEED(between(0, 10));
	shared->server = 1;
}

static void clock_set_back(void)
{
	struct timespec was, is;
	double from = seconds();
	pthread_t thread;
	int bad;

	if (!getenv("DLCP_LAB")) {
		printf("# outside the lab: the clock is left alone\n");
		return;
	}
	CHECK(!clock_gettime(CLOCK_REALTIME, &was));
	pthread_create(&thread, NULL, set_back, NULL);
	bad = ranks(2, clock_body) + ranks(2, clock_close_body);
	__atomic_store_n(&stop_clock, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	is = was;
	is.tv_sec += (time_t)(seconds() - from);
	clock_settime(CLOCK_REALTIME, &is);
	CHECK(!bad);
}

static void sizes_body(void)
{
	size_t n = me == 1 ? 300000 : 200000;
	float *x = make(me, n);

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL, NULL));
	NEED(errno == EBADMSG && said("300000") && said("200000"));
	leave();
}

static void small_sizes_body(void)
{
	size_t n = me == 1 ? 3 : 200000;
	float *x = make(me, n);

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL, NULL));
	NEED(errno == EBADMSG && said("all-reduce"));
	leave();
}

static void dtype_body(void)
{
	float *x = make(me, 100);
	int dtype = me ? DLCP_COLL_F32 : DLCP_COLL_I32;

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, 100, dtype, NULL, NULL));
	NEED(errno == EBADMSG && said("int32") && said("float32"));
	leave();
}

/* Where the operation was over before others found out, the next one fails */
static void fails_now_or_next(int ret)
{
	NEED(ret || dlcp_coll_barrier(coll, NULL));
	NEED(errno == EBADMSG);
}

static void roots_body(void)
{
	size_t n = 100000;
	float *x = make(me, n);

	join();
	fails_now_or_next(dlcp_coll_broadcast(coll, x, n, DLCP_COLL_F32,
					      me == 1, NULL, NULL));
	NEED(said("broadcast") && said("with other arguments"));
	leave();
}

static void pull_or_push_body(void)
{
	struct dlcp_coll_args args = { .tensor = 5 };
	size_t n = 100000;
	float *x = make(me, n);

	join();
	NEED(!dlcp_coll_push(coll, x, n, DLCP_COLL_F32, &args, NULL));
	/* others may be through the barrier, and at odds, before this rank is */
	if (dlcp_coll_barrier(coll, NULL))
		NEED(errno == EBADMSG);
	else if (me == 1)
		fails_now_or_next(dlcp_coll_push(coll, x, n, DLCP_COLL_F32,
						 &args, NULL));
	else
		fails_now_or_next(dlcp_coll_pull(coll, x, n, DLCP_COLL_F32,
						 &args, NULL));
	NEED(said("push of 100000") && said("pull of 100000"));
	leave();
}

static void unequal_without_data(void)
{
	CHECK(!ranks(2, roots_body));
	CHECK(!ranks(3, roots_body));
	CHECK(!ranks(5, roots_body));
	CHECK(!ranks(2, pull_or_push_body));
	CHECK(!ranks(4, pull_or_push_body));
}

static void unequal(void)
{
	CHECK(!ranks(3, sizes_body));
	CHECK(!ranks(2, small_sizes_body));
	CHECK(!ranks(3, dtype_body));
}

static void bad_arguments_body(void)
{
	struct dlcp_coll_args args = { .loss_ppm = 1000 };
	float x[4] = { NAN, 1, 2, INFINITY };

	join();
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 77, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_all_reduce(coll, x, NULL, 4, 0, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_all_reduce(coll, x, x, SIZE_MAX / 4, 0, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 0, &args, NULL));
	NEED(errno == EINVAL && said("name"));
	args.correct = DLCP_COLL_AVERAGE;
	args.algo = DLCP_COLL_RING;
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 0, &args, NULL));
	NEED(errno == EOPNOTSUPP);
	args.algo = 0;
	args.droppable = 2;
	NEED(dlcp_coll_all_reduce(coll, x, x, 4, 0, &args, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_broadcast(coll, x, 4, 0, 9, NULL, NULL));
	NEED(errno == EINVAL);
	NEED(dlcp_coll_push(coll, x, 4, 0, NULL, NULL) && errno == EINVAL);
	NEED(dlcp_coll_serve(coll) && errno == EINVAL);
	/* and none of it has done any harm; NaN and infinity go through */
	NEED(!dlcp_coll_all_reduce(coll, x, x, 4, 0, NULL, NULL));
	NEED(isnan(x[0]) && x[1] == 2 && x[2] == 4 && isinf(x[3]));
	leave();
}

static void bad_arguments(void) { CHECK(!ranks(2, bad_arguments_body)); }

static void world_body(void)
{
	options.timeout_ms = 2000;
	if (me == 1)
		options.world = 4;
	NEED(!dlcp_coll_open(&options));
	NEED(me || said("says that there are 4 ranks, and not 2"));
}

static void twins_body(void)
{
	options.timeout_ms = 2000;
	if (me == 2)
		options.rank = 1;
	NEED(!dlcp_coll_open(&options));
	NEED(me || said("two processes say that they are rank 1"));
}

static void options_body(void)
{
	options.world = 0;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.world = 2;
	options.rank = 2;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.rank = 0;
	options.addrs = "10.0.0.1:5";
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.addrs = "10.0.0.1,10.0.0.2:4";
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.addrs = NULL;
	options.master_addr = NULL;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
	options.timeout_ms = 0;
	NEED(!dlcp_coll_open(&options) && errno == EINVAL);
}

/* Calls rank 0 and does not say who it is: ever, in other words, or before it goes */
static void be_stranger(void)
{
	struct dlcp_send msg = { .buf = "?", .len = 1 };
	int fd, calls = 0;

	while (calls < 10) {
		fd = dlcp_connect(options.master_addr, options.master_port,
				  options.timeout_ms);
		if (fd < 0)
			continue;	/* rank 0 does not listen yet */
		calls++;
		if (calls == 9)
			NEED(dlcp_send(fd, &msg) >= 0);
		if (calls == 10)
			close(fd);
	}
	begin();
	while (__atomic_load_n(&shared->pushed, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
}

static void strangers_body(void)
{
	double began = 0;

	if (me == 2) {
		be_stranger();
		return;
	}
	options.world = 2;
	while (me && !began) {
		usleep(1000);
		__atomic_load(&shared->began, &began, __ATOMIC_SEQ_CST);
	}
	join();
	NEED(!me || at_once());
	__atomic_add_fetch(&shared->pushed, 1, __ATOMIC_SEQ_CST);
	leave();
}

/* Ten that are not of the group delay it by nothing */
static void strangers(void) { CHECK(!ranks(3, strangers_body)); }

/* A rank's first barrier overtakes its hello, as where that was lost once */
static void overtaken_body(void)
{
	/* as in rendezvous.c: magic, rank, world, port, servers, dedicated, chunk, small */
	uint32_t hello[] = { 0x444c4d33, 1, 2, 9, 1, 0, 0, 0 };
	struct dlcp_send msg = {
		.buf = hello, .len = sizeof(hello),
		.attr = { .mask = DLCP_ATTR_KEY, .key = 7 },
	};
	int fd;

	hello[6] = (uint32_t)options.chunk_bytes;
	hello[7] = (uint32_t)options.small_bytes;
	if (!me) {
		join();
		__atomic_add_fetch(&shared->pushed, 1, __ATOMIC_SEQ_CST);
		leave();
		return;
	}
	do
		fd = dlcp_connect(options.master_addr, options.master_port,
				  options.timeout_ms);
	while (fd < 0);		/* rank 0 does not listen yet */
	NEED(dlcp_send(fd, &msg) >= 0);
	usleep(200000);
	msg.attr.key = 1;
	NEED(dlcp_send(fd, &msg) >= 0);
	while (!__atomic_load_n(&shared->pushed, __ATOMIC_SEQ_CST))
		usleep(1000);
	close(fd);
}

static void hello_overtaken(void) { CHECK(!ranks(2, overtaken_body)); }

/* What it says of servers, chunks or small operations is not what others say */
static void alike(const char *words)
{
	options.timeout_ms = 2000;
	NEED(!dlcp_coll_open(&options));
	NEED(errno == EBADMSG && said(words));
}

static void servers_body(void)
{
	options.nr_servers = me == 1 ? 2 : 1;
	alike("rank 1 has options for 2 servers, and rank 0 for 1");
}

static void dedicated_body(void)
{
	options.dedicated = me == 1;
	alike("rank 1 has options for 1 dedicated servers, and rank 0 for 1");
}

static void chunks_body(void)
{
	options.chunk_bytes = me == 1 ? 8192 : 4096;
	options.small_bytes = 1000;
	alike("rank 1 has chunk_bytes 8192 and small_bytes 1000, and rank 0 has 4096 and 1000");
}

static void small_body(void)
{
	options.small_bytes = me == 1 ? 1000 : 2000;
	alike("rank 1 has chunk_bytes 65536 and small_bytes 1000, and rank 0 has 65536 and 2000");
}

static void unlike_groups(void)
{
	CHECK(!ranks(2, servers_body));
	CHECK(!ranks(2, dedicated_body));
	CHECK(!ranks(2, chunks_body));
	CHECK(!ranks(2, small_body));
}

static void bad_groups(void)
{
	CHECK(!ranks(2, world_body));
	CHECK(!ranks(3, twins_body));
	CHECK(!ranks(1, options_body));
}

static void left_body(void)
{
	join();
	NEED(!dlcp_coll_barrier(coll, NULL));
	if (me == 1) {
		leave();
		return;
	}
	NEED(dlcp_coll_barrier(coll, NULL) && said("rank 1 has left"));
	leave();
}

static void one_leaves_early(void) { CHECK(!ranks(2, left_body)); }

static void abort_body(void)
{
	join();
	/* rank 2 may be in it when it is over at rank 1 */
	NEED(!dlcp_coll_barrier(coll, NULL) || errno == ECANCELED);
	if (me == 1)
		dlcp_coll_abort(coll, "no more data");
	else
		NEED(dlcp_coll_barrier(coll, NULL));
	NEED(dlcp_coll_barrier(coll, NULL) && errno == ECANCELED);
	NEED(said("rank 1 gave up: no more data"));
	leave();
}

static void abort_with_words(void) { CHECK(!ranks(3, abort_body)); }

/*
 * One rank of those whose network a script breaks (coll-silent), RANK and so on
 * being set: without an operation ("idle", "abort": until rank 1 ends it), or in
 * one all-reduce after the other ("busy", "served" by the last rank). It says when
 * it is there, and when and of what it heard.
 */
static int be_rank(const char *what, int timeout_ms)
{
	size_t n = 100000;
	struct timespec ts;
	float *x;
	int i = 0;

	options.timeout_ms = timeout_ms;
	options.dedicated = !strcmp(what, "served");
	coll = dlcp_coll_open(&options);
	if (!coll) {
		printf("open: %s\n", dlcp_last_error());
		return 1;
	}
	me = dlcp_coll_rank(coll);
	x = make(me, n);
	if (me >= dlcp_coll_world(coll)) {
		dlcp_coll_serve(coll);
	} else if (!strcmp(what, "idle") || !strcmp(what, "abort")) {
		if (!dlcp_coll_barrier(coll, NULL))
			puts("there");
		fflush(stdout);
		if (*what == 'a' && me == 1)
			dlcp_coll_abort(coll, "no more data");
		idle_until_told();
	} else {
		while (!dlcp_coll_all_reduce(coll, x, x, n, DLCP_COLL_F32, NULL,
					     NULL))
			if (++i == 3 && puts("there"))
				fflush(stdout);
	}
	clock_gettime(CLOCK_BOOTTIME, &ts);
	printf("heard at %lld.%03ld: %s\n", (long long)ts.tv_sec,
	       ts.tv_nsec / 1000000, dlcp_last_error());
	dlcp_coll_close(coll);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
#define T(name) { #name, name }
		T(killed_rank), T(killed_before_it_starts), T(killed_server),
		T(disagreement_of_calls), T(rank_that_does_not_call),
		T(rank_that_never_comes), T(not_up_yet), T(names_too_long),
		T(too_many_open_files), T(large_chunks), T(clock_set_back),
		T(unequal), T(unequal_without_data), T(bad_arguments),
		T(bad_groups), T(unlike_groups), T(strangers), T(hello_overtaken),
		T(one_leaves_early), T(abort_with_words), { 0 },
	};

	if (argc > 2) {
		defaults();
		return be_rank(argv[1], atoi(argv[2]));
	}
	return run_tests("coll-faults", tests);
}
