// SPDX-License-Identifier: GPL-2.0
/* Waiting, processes, signals, memory, settings, /proc, the interface */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

static void call_poll(void)
{
	struct timespec ts = { .tv_nsec = rnd(3000000) };
	struct pollfd p[4];
	int i, nr = rnd(5);

	for (i = 0; i < nr; i++)
		p[i] = (struct pollfd){ .fd = fd_any(), .events = rnd64() };
	done(ppoll(p, nr, &ts, NULL), "ppoll %d", nr);
}

static void call_epoll(void)
{
	struct epoll_event e = { .events = rnd64() };
	int fd = fd_any(), ep;

	if (chance(60)) {	/* one of its own */
		ep = epoll_create1(EPOLL_CLOEXEC);
		epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
		done(epoll_wait(ep, &e, 1, rnd(4)), "epoll_wait %d", fd);
		if (chance(50))
			fd_put(ep);
		else
			close(ep);
		return;
	}
	ep = fd_any();
	done(epoll_ctl(ep, 1 + rnd(3), fd, &e), "epoll_ctl %d %d", ep, fd);
	done(epoll_wait(ep, &e, 1, rnd(4)), "epoll_wait %d", ep);
}

static void call_select(void)
{
	struct timeval tv = { .tv_usec = rnd(3000) };
	int fd = fd_any();
	fd_set set[3];
	int i;

	for (i = 0; i < 3; i++) {
		FD_ZERO(&set[i]);
		if (fd >= 0 && fd < FD_SETSIZE)
			FD_SET(fd, &set[i]);
	}
	done(select(fd + 1, &set[0], &set[1], &set[2], &tv), "select %d", fd);
}

/* A child that shares everything, does a little, and dies in some way */
static void call_fork(void)
{
	u32 how = rnd(3);
	pid_t pid = fork();
	int i;

	if (!pid) {
		for (i = 0; i < SLOTS / 2; i++)
			fd_drop(rnd(SLOTS));
		for (i = 0; i < 4; i++)
			call_any();
		if (how == 0)
			kill(getpid(), SIGKILL);
		_exit(0);
	}
	if (pid > 0 && how == 1)
		kill(pid, SIGKILL);
	done(pid, "fork");
}

static void call_signal(void)
{
	static const int signals[] = { SIGUSR1, SIGUSR1, SIGURG, SIGSTOP };
	int sig = one_of(signals);
	pid_t pid = workers[rnd(WORKERS_MAX)];

	if (pid <= 0)
		return;
	done(kill(pid, sig), "kill a sibling with %d", sig);
	if (sig == SIGSTOP && chance(80)) {
		sched_yield();
		kill(pid, SIGCONT);
	}
}

static void call_memory(void)
{
	memory_change();
	done(0, "memory");
}

/* Descriptors go to other processes */
static void call_mail(void)
{
	char data[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1,
		.msg_control = data, .msg_controllen = sizeof(data),
	};
	struct cmsghdr *cm = (void *)data;
	int fd;

	if (chance(50)) {
		fd = fd_any();
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
		done(sendmsg(mail[0], &m, MSG_DONTWAIT), "mail %d", fd);
		return;
	}
	if (recvmsg(mail[1], &m, MSG_DONTWAIT) < 1 ||
	    m.msg_controllen < CMSG_LEN(sizeof(int)))
		return;
	memcpy(&fd, CMSG_DATA(cm), sizeof(fd));
	fd_put(done(fd, "mail"));
}

/* --- lo goes down and comes up, or has another MTU */

static int lo_ioctl(int cmd, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	if (!*ifr->ifr_name)
		strcpy(ifr->ifr_name, "lo");
	ret = ioctl(fd, cmd, ifr);
	close(fd);
	return ret;
}

static int lo_flags(int flags)
{
	return lo_ioctl(SIOCSIFFLAGS, &(struct ifreq){ .ifr_flags = flags });
}

static int lo_mtu(int mtu)
{
	return lo_ioctl(SIOCSIFMTU, &(struct ifreq){ .ifr_mtu = mtu });
}

/* An address that a connection may announce as its rail's: 127.0.0.1 is none */
static void lo_address(void)
{
	struct ifreq ifr = { .ifr_name = "lo:1" };
	struct sockaddr_in *in = (void *)&ifr.ifr_addr;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a070707);
	lo_ioctl(SIOCSIFADDR, &ifr);
	in->sin_addr.s_addr = ~0U;
	lo_ioctl(SIOCSIFNETMASK, &ifr);
}

static void call_link(void)
{
	static const int mtus[] = { 65536, 1280, 1500, 576, 68, 9000 };
	int mtu = one_of(mtus);

	*settings_changed = true;
	if (chance(70)) {
		done(lo_mtu(mtu), "mtu %d", mtu);
	} else {
		lo_flags(0);
		done(lo_flags(IFF_UP), "lo down and up");
	}
}

/* --- settings of the name space. Only times that pass soon. */

static const struct setting {
	const char	*name;
	const char	*usual;
	const char	*odd[4];
} settings[] = {
	{ "dlcp/dead_ms", "300", { "100", "800", "99", "500" } },
	{ "dlcp/keepalive_ms", "1000", { "100", "3600000", "0", "200" } },
	{ "dlcp/ack_delay_us", "50", { "0", "100000", "1", "1000" } },
	{ "dlcp/ack_packets", "16", { "1", "256", "0", "2" } },
	{ "dlcp/rx_unsolicited", "262144",
	  { "4096", "1073741824", "1", "10000" } },
	{ "dlcp/max_msg_mb", "2047", { "1", "2048", "0", "2" } },
	{ "dlcp/nr_paths", "1", { "16", "2", "17", "4" } },
	{ "dlcp/reply_rate", "1000", { "0", "1000000", "1", "-1" } },
	{ "dlcp/wmem", "16384 4194304 67108864",
	  { "4096 4096 4096", "9 9 9", "4096 100000 5000",
	    "1073741824 1073741824 1073741824" } },
	{ "dlcp/rmem", "16384 8388608 67108864",
	  { "4096 4096 4096", "x", "4096 20000 100000",
	    "1073741824 1073741824 1073741824" } },
	{ "dlcp/congestion", "dlcp", { "fixed", "loss", "none", "" } },
	{ "dlcp/path_scheduler", "adaptive", { "even", "even", "odd", "" } },
	{ "dlcp/rails", "lo", { "", "none lo", "lo lo lo lo", "1 2 3 4 5" } },
	{ "dlcp/tx_order", "1", { "0", "0", "2", "" } },
	{ "dlcp/tx_priority", "0", { "1", "1", "2", "" } },
	{ "dlcp/udp_port", "6253", { "0", "6254", "65536", "4711" } },
	{ "dlcp/dscp", "36 38 34 48", { "1", "63 63", "64", "0 0 0 0 0" } },
	{ "ipv4/ip_default_ttl", "64", { "1", "255", "0", "2" } },
	{ "ipv4/conf/lo/disable_policy", "0", { "1", "1", "0", "0" } },
	{ "ipv6/conf/lo/mtu", "65536", { "1280", "1500", "1279", "9000" } },
	{ "core/optmem_max", "20480", { "100", "1000", "100000", "20480" } },
};

static long setting_write(const struct setting *s, const char *value)
{
	char path[128];
	long n;
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", s->name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = write(fd, value, strlen(value));
	close(fd);
	return n;
}

void settings_reset(void)
{
	size_t i;

	lo_mtu(65536);
	lo_flags(IFF_UP);
	lo_address();
	for (i = 0; i < ARRAY_SIZE(settings); i++)
		setting_write(&settings[i], settings[i].usual);
}

static void call_sysctl(void)
{
	const struct setting *s = &one_of(settings);
	const char *value = chance(30) ? s->usual : one_of(s->odd);

	*settings_changed = true;
	done(setting_write(s, value), "%s = %s", s->name, value);
}

static void call_proc(void)
{
	static const char * const files[] = {
		"dlcp/conns", "dlcp/paths", "dlcp/snmp", "dlcp/devices",
		"protocols",
	};
	char path[64], text[1024];
	size_t size = chance(50) ? sizeof(text) : 1 + rnd(100);
	int fd, i;

	snprintf(path, sizeof(path), "/proc/thread-self/net/%s",
		 one_of(files));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (i = 0; i < 8 && read(fd, text, size) > 0; i++)
		;
	done(lseek(fd, rnd(1000), SEEK_SET), "%s", path);
	close(fd);
}

static void call_nap(void)
{
	struct timespec ts = { .tv_nsec = rnd(3000000) };

	done(nanosleep(&ts, NULL), "nap");
}

const struct call other_calls[] = {
	{ "poll", 5, call_poll },
	{ "epoll", 6, call_epoll },
	{ "select", 2, call_select },
	{ "fork", 2, call_fork },
	{ "signal", 3, call_signal },
	{ "memory", 5, call_memory },
	{ "mail", 4, call_mail },
	{ "sysctl", 3, call_sysctl },
	{ "proc", 2, call_proc },
	{ "link", 1, call_link },
	{ "nap", 3, call_nap },
	{ }
};
