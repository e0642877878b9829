// SPDX-License-Identifier: GPL-2.0
/* Name spaces and hosts, addresses, files of /proc */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net.h"

int family = AF_INET;

static int own_net;
static __thread bool away;

void net_lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = ASSERT_OK(socket(AF_INET, SOCK_DGRAM, 0));

	ASSERT_OK(ioctl(fd, SIOCSIFFLAGS, &ifr));
	close(fd);
}

/* A name space whose connections, left without a peer to answer, are soon gone:
 * the suite waits for that after each program. Without the module there are none.
 */
static void net_unshare(void)
{
	char ms[16];

	ASSERT_OK(unshare(CLONE_NEWNET));
	net_lo_up();
	snprintf(ms, sizeof(ms), "%d", 8000 * slowness);
	file_write(-1, "/proc/sys/net/dlcp/dead_ms", ms);
}

void test_setup(void)
{
	net_unshare();
	own_net = ASSERT_OK(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

/* --- name spaces */

int net_new(void)
{
	int fd;

	net_unshare();
	away = true;
	fd = ASSERT_OK(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
	net_leave();
	return fd;
}

void net_enter(int net)
{
	if (net < 0)
		return;
	ASSERT_OK(setns(net, CLONE_NEWNET));
	away = true;
}

void net_leave(void)
{
	if (away)
		ASSERT_OK(setns(own_net, CLONE_NEWNET));
	away = false;
}

/* Starting a program is what costs most in user-mode Linux */
static int run(int net, const char *program, const char *arg1,
	       const char *arg2)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		net_enter(net);
		execlp(program, program, arg1, arg2, NULL);
		_exit(127);
	}
	ASSERT_OK(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int sh(int net, const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return run(net, "sh", "-c", command);
}

void must_sh(int net, const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (run(net, "sh", "-c", command))
		test_failed(true, "failed: %s", command);
}

char *file_read(int net, const char *path)
{
	size_t len = 0, room = 65536;
	char *text = malloc(room);
	ssize_t n = -1;
	int fd;

	net_enter(net);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text + len, room - len - 1)) > 0) {
		len += n;
		if (room - len < 4096)
			text = realloc(text, room *= 2);
	}
	if (fd >= 0)
		close(fd);
	net_leave();
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

int file_write(int net, const char *path, const char *text)
{
	ssize_t n = -1;
	int fd, err;

	net_enter(net);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = write(fd, text, strlen(text));
		err = errno;
		close(fd);
		errno = err;
	}
	err = errno;
	net_leave();
	errno = err;
	return n < 0 ? -1 : 0;
}

long long sysctl_get(int net, const char *name)
{
	char path[128], *text;
	long long val;

	snprintf(path, sizeof(path), "/proc/sys/net/dlcp/%s", name);
	text = file_read(net, path);
	ASSERT(text);
	val = atoll(text);
	free(text);
	return val;
}

void sysctl_set(int net, const char *name, long long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/proc/sys/net/dlcp/%s", name);
	snprintf(text, sizeof(text), "%lld\n", value);
	if (file_write(net, path, text))
		test_failed(true, "%s = %lld: %s", name, value,
			    err_name(errno));
}

/* The sum of the counters that start with @name, or are just it */
static long long mib_sum(int net, const char *name, bool prefix)
{
	char *text = file_read(net, "/proc/thread-self/net/dlcp/snmp");
	long long sum = 0, val;
	bool found = false;
	char *line, *save;
	char word[64];

	ASSERT(text);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%63s %lld", word, &val) != 2 ||
		    strncmp(word, name, prefix ? strlen(name) : sizeof(word)))
			continue;
		sum += val;
		found = true;
	}
	free(text);
	if (!found)
		test_failed(true, "no counter %s", name);
	return sum;
}

long long mib(int net, const char *name)
{
	return mib_sum(net, name, false);
}

long long mib_drops(int net)
{
	return mib_sum(net, "Drop", true);
}

/* Columns 3 and 4 of the lines of our protocols */
static long long proto_column(int net, int column)
{
	char *text = file_read(net, "/proc/thread-self/net/protocols");
	long long sum = 0, sockets, memory;
	char *line, *save;
	char name[32];

	ASSERT(text);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%31s %*d %lld %lld", name, &sockets,
			   &memory) == 3 && !strncmp(name, "DLCP", 4))
			sum += column ? memory : sockets;
	}
	free(text);
	return sum;
}

long long proto_sockets(int net)
{
	return proto_column(net, 0);
}

/*
 * Each processor may hold back up to 256 pages of the account, in either
 * direction, and each socket one; and both protocols show the same account.
 */
long long proto_memory(void)
{
	long long pages = proto_column(-1, 1) / 2;
	long long held = 256 * sysconf(_SC_NPROCESSORS_ONLN) + proto_sockets(-1);

	return llabs(pages) <= held ? 0 : pages;
}

/* "Udp: InDatagrams ..." and a line of their values; IPv6 has its own file */
long long udp_csum_errors(int net)
{
	char *text = file_read(net, "/proc/thread-self/net/snmp"), *udp;
	long long sum = 0, val;

	ASSERT(text);
	udp = strstr(text, "\nUdp: InDatagrams");
	ASSERT(udp);
	udp = strstr(udp + 1, "\nUdp: ");
	if (sscanf(udp, "\nUdp: %*d %*d %*d %*d %*d %*d %lld", &val) == 1)
		sum += val;
	free(text);
	text = file_read(net, "/proc/thread-self/net/snmp6");
	udp = text ? strstr(text, "Udp6InCsumErrors") : NULL;
	if (udp && sscanf(udp, "%*s %lld", &val) == 1)
		sum += val;
	free(text);
	return sum;
}

/* --- hosts: addresses are 10.0.subnet.host and fd00:0:0:subnet::host */

enum { GATEWAY = 254 };

static int subnet_of(const struct hosts *h, int host)
{
	return h->routed ? host + 1 : 0;
}

static void must_ip(int net, const char *batch)
{
	int fd = ASSERT_OK(memfd_create("ip", 0));
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ASSERT_EQ(write(fd, batch, strlen(batch)), (ssize_t)strlen(batch));
	if (run(net, "ip", "-batch", path))
		test_failed(true, "ip failed with one of:\n%s", batch);
	close(fd);
}

/*
 * What a new interface needs, as lines for ip -batch. The neighbour is fixed:
 * a lost ARP request would cost a second.
 */
static const char *dev_lines(const char *dev, int subnet, int host, int peer)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "link set %1$s address 02:00:00:00:%2$02x:%3$02x up\n"
		 "addr add 10.0.%2$d.%3$d/24 dev %1$s\n"
		 "addr add fd00:0:0:%2$d::%3$d/64 dev %1$s nodad\n"
		 "neigh replace 10.0.%2$d.%4$d dev %1$s"
		 " lladdr 02:00:00:00:%2$02x:%4$02x\n"
		 "neigh replace fd00:0:0:%2$d::%4$d dev %1$s"
		 " lladdr 02:00:00:00:%2$02x:%4$02x\n",
		 dev, subnet, host, peer);
	return text;
}

/* The cable: eth0 in @net, @peer_dev in @peer_net; returns lines to make it */
static const char *cable_lines(int peer_net, const char *peer_dev)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "link add eth0 type veth peer name %s netns /proc/%d/fd/%d\n",
		 peer_dev, getpid(), peer_net);
	return text;
}

static void gateway_lines(char *to, int subnet)
{
	sprintf(to, "route add default via 10.0.%d.%d\n"
		"route add ::/0 via fd00:0:0:%d::%d\n",
		subnet, GATEWAY, subnet, GATEWAY);
}

static void plug(struct hosts *h, int host, int peer_net, const char *peer_dev)
{
	int subnet = subnet_of(h, host);
	int peer = h->routed ? GATEWAY : 2 - host;
	char text[2048], *end = text;

	end = stpcpy(end, cable_lines(peer_net, peer_dev));
	end = stpcpy(end, dev_lines("eth0", subnet, host + 1, peer));
	if (h->routed)
		gateway_lines(end, subnet);
	must_ip(h->net[host], text);
}

void hosts_open(struct hosts *h)
{
	*h = (struct hosts){ .net = { net_new(), net_new(), -1 } };
	plug(h, H0, h->net[H1], "eth0");
	must_ip(h->net[H1], dev_lines("eth0", 0, 2, 1));
}

void hosts_open_routed(struct hosts *h)
{
	char text[2048], *end = text;

	*h = (struct hosts){
		.net = { net_new(), net_new(), net_new() }, .routed = true,
	};
	plug(h, H0, h->net[ROUTER], "eth0");
	plug(h, H1, h->net[ROUTER], "eth1");
	end = stpcpy(end, dev_lines("eth0", 1, GATEWAY, 1));
	strcpy(end, dev_lines("eth1", 2, GATEWAY, 2));
	must_ip(h->net[ROUTER], text);
	file_write(h->net[ROUTER], "/proc/sys/net/ipv4/ip_forward", "1");
	file_write(h->net[ROUTER], "/proc/sys/net/ipv6/conf/all/forwarding",
		   "1");
}

/* The veth goes with the name space, but not at once */
static bool has_eth0(int net)
{
	bool there;

	net_enter(net);
	there = if_nametoindex("eth0");
	net_leave();
	return there;
}

void hosts_kill(struct hosts *h)
{
	close(h->net[H1]);
	h->net[H1] = -1;
	WAIT_FOR_LIMIT(!has_eth0(h->net[H0]), 20);
}

void hosts_reboot(struct hosts *h)
{
	hosts_kill(h);
	h->net[H1] = net_new();
	plug(h, H0, h->net[H1], "eth0");
	must_ip(h->net[H1], dev_lines("eth0", 0, 2, 1));
}

void no_gso(struct hosts *h, int host)
{
	must_sh(h->net[host], "ethtool -K eth0 tso off gso off gro off "
		"tx-udp-segmentation off 2>/dev/null");
}

void netem(struct hosts *h, int host, const char *fmt, ...)
{
	char how[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(how, sizeof(how), fmt, ap);
	va_end(ap);
	must_sh(h->net[host],
		"tc qdisc replace dev eth0 root netem limit 100000 %s", how);
}

/* --- addresses */

socklen_t addr_len(void)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) :
				    sizeof(struct sockaddr_in);
}

union addr addr_of(const char *text, int port)
{
	union addr a = { .sa.sa_family = family };

	if (family == AF_INET6) {
		a.in6.sin6_port = htons(port);
		ASSERT_EQ(inet_pton(AF_INET6, text, &a.in6.sin6_addr), 1);
	} else {
		a.in.sin_port = htons(port);
		ASSERT_EQ(inet_pton(AF_INET, text, &a.in.sin_addr), 1);
	}
	return a;
}

union addr addr_lo(int port)
{
	return addr_of(family == AF_INET6 ? "::1" : "127.0.0.1", port);
}

union addr addr_any(int port)
{
	return addr_of(family == AF_INET6 ? "::" : "0.0.0.0", port);
}

const char *text_host(const struct hosts *h, int host)
{
	static char text[HOSTS_MAX][32];

	if (family == AF_INET6 && !h->routed)	/* as the kernel writes it */
		snprintf(text[host], sizeof(text[host]), "fd00::%d", host + 1);
	else
		snprintf(text[host], sizeof(text[host]),
			 family == AF_INET6 ? "fd00:0:0:%d::%d" : "10.0.%d.%d",
			 subnet_of(h, host), host + 1);
	return text[host];
}

union addr addr_host(const struct hosts *h, int host, int port)
{
	return addr_of(text_host(h, host), port);
}

int addr_port(const union addr *a)
{
	return ntohs(a->sa.sa_family == AF_INET6 ? a->in6.sin6_port :
						   a->in.sin_port);
}

bool addr_same_ip(union addr a, union addr b)
{
	if (a.sa.sa_family != b.sa.sa_family)
		return false;
	if (a.sa.sa_family == AF_INET6)
		return !memcmp(&a.in6.sin6_addr, &b.in6.sin6_addr,
			       sizeof(a.in6.sin6_addr));
	return a.in.sin_addr.s_addr == b.in.sin_addr.s_addr;
}

int do_bind(int fd, union addr a)
{
	return bind(fd, &a.sa, addr_len());
}

int do_connect(int fd, union addr a)
{
	return connect(fd, &a.sa, addr_len());
}
