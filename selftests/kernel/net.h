/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hosts made of network name spaces, what /proc shows in them, and addresses.
 */
#ifndef NET_H
#define NET_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "harness.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#define PERCENT		10000	/* in ppm */
#define KB		1024
#define MB		(1024 * 1024)
#define PORT		4711

typedef uint8_t		u8;
typedef uint16_t	u16;
typedef uint32_t	u32;
typedef uint64_t	u64;

extern int family;	/* AF_INET or AF_INET6 */

/*
 * Name spaces. Every test starts in a fresh one with lo up. A name space is a
 * file descriptor; -1 is the test's own.
 */
int net_new(void);
void net_lo_up(void);	/* in the present one */
void net_enter(int net);	/* this thread */
void net_leave(void);		/* back to the test's own */
/* Run a shell command there; its exit status */
int sh(int net, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void must_sh(int net, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Read or write a small file as it is seen from there */
char *file_read(int net, const char *path);	/* to be freed; NULL */
int file_write(int net, const char *path, const char *text);
long long sysctl_get(int net, const char *name);	/* of net.dlcp. */
void sysctl_set(int net, const char *name, long long value);
/* Counter of /proc/net/dlcp/snmp */
long long mib(int net, const char *name);
long long mib_drops(int net);	/* sum of all drop counters */
/* A column of the DLCP lines of /proc/net/protocols */
long long proto_sockets(int net);
long long proto_memory(void);	/* pages, of all name spaces, roughly */
/* UDP packets the kernel dropped for their checksum */
long long udp_csum_errors(int net);

/* Two hosts, and a router between them if asked for */
enum { H0, H1, ROUTER, HOSTS_MAX };

struct hosts {
	int	net[HOSTS_MAX];
	bool	routed;
};

/* eth0 of h0 <-> eth0 of h1; with a router: h0 <-> eth0, eth1 <-> h1 */
void hosts_open(struct hosts *h);
void hosts_open_routed(struct hosts *h);
/* Remove h1: none of its sockets may be open. hosts_reboot() brings it back
 * with the same address and nothing in memory.
 */
void hosts_kill(struct hosts *h);
void hosts_reboot(struct hosts *h);
/* Every packet of a host is one on the wire */
void no_gso(struct hosts *h, int host);
/* netem on what leaves a host, e.g. "loss 1%" */
void netem(struct hosts *h, int host, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Addresses */
union addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

union addr addr_of(const char *text, int port);	/* numeric, of family */
union addr addr_lo(int port);
union addr addr_any(int port);
union addr addr_host(const struct hosts *h, int host, int port);
const char *text_host(const struct hosts *h, int host);
socklen_t addr_len(void);
int addr_port(const union addr *a);
bool addr_same_ip(union addr a, union addr b);
int do_bind(int fd, union addr a);
int do_connect(int fd, union addr a);

#endif
