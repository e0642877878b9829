// SPDX-License-Identifier: GPL-2.0
/* setsockopt(), getsockopt(), ioctl(), fcntl() */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"

enum { OPT_MAX = 512 };

static int level_make(int *name)
{
	static const int levels[] = { SOL_IP, SOL_IPV6, IPPROTO_TCP, IPPROTO_UDP, -1 };
	u32 what = rnd(100);

	if (what < 50) {
		*name = rnd(14);
		return SOL_DLCP;
	}
	*name = rnd(84);
	if (what < 75)
		return SOL_SOCKET;
	if (chance(3))
		*name = rnd_edge();
	return one_of(levels);
}

/* So that what is closed is over soon, and can be waited for */
static int dead_ms(void)
{
	static const int times[] = { 1, 100, 300, 800 };

	return one_of(times);
}

static void attr_value(void *v)
{
	struct dlcp_attr a = { .elem_size = 1 + rnd(8), .prio = rnd(9) };

	a.mask = chance(90) ? rnd(DLCP_ATTR_ALL + 1) & ~7 : rnd64();
	a.flags = rnd(8);
	a.loss_ppm = rnd(5) * 100000;
	a.deadline_us = chance(70) ? 0 : rnd(100000);
	memcpy(v, &a, sizeof(a));
}

static socklen_t value_make(int level, int name, u8 *v)
{
	static const char * const controllers[] = {
		"dlcp", "fixed", "loss", "nonsense",
	};
	int i = chance(50) ? (int)rnd(3) : rnd_edge();
	socklen_t len = sizeof(i);

	rnd_bytes(v, 64);
	memset(v + 64, 0, OPT_MAX - 64);
	if (level == SOL_DLCP && name == DLCP_DEAD_MS)
		i = dead_ms();
	if (level == SOL_SOCKET && name == SO_LINGER && chance(80)) {
		memcpy(v, &(struct linger){ rnd(2), rnd(2) },
		       sizeof(struct linger));
		return sizeof(struct linger);
	}
	memcpy(v, &i, sizeof(i));
	if (level == SOL_DLCP && name == DLCP_ATTR) {
		attr_value(v);
		len = sizeof(struct dlcp_attr);
	}
	if (level == SOL_DLCP && name == DLCP_CONGESTION) {
		strcpy((char *)v, one_of(controllers));
		len = strlen((char *)v) + rnd(3);
	}
	if (level == SOL_DLCP && name == DLCP_DEAD_MS)
		return chance(90) ? len : rnd(4);
	return chance(85) ? len : rnd(OPT_MAX);
}

static void call_setsockopt(void)
{
	u8 v[OPT_MAX] __attribute__((aligned(16)));
	int fd = fd_any(), name, level = level_make(&name);
	socklen_t len = value_make(level, name, v);
	void *at = chance(97) ? v : memory(len);

	/* with a wild pointer it might be any time */
	if (level == SOL_DLCP && name == DLCP_DEAD_MS)
		at = v;
	if (chance(1))
		len = rnd_edge();
	done(setsockopt(fd, level, name, at, len), "setsockopt %d %d %d [%d] %d",
	     fd, level, name, *(int *)v, len);
}

/* Those that do something to a DLCP socket, with values that make sense */
static void call_buffers(void)
{
	static const int names[] = { SO_SNDBUF, SO_RCVBUF, SO_SNDBUFFORCE,
				     SO_RCVBUFFORCE };
	static const int sizes[] = { 0, 2304, 5000, 20000, 100000, 1 << 20 };
	int fd = fd_any(), name = one_of(names), val = one_of(sizes);

	done(setsockopt(fd, SOL_SOCKET, name, &val, sizeof(val)),
	     "buffer %d %d %d", fd, name, val);
}

static void call_timeouts(void)
{
	struct timeval tv = { .tv_usec = rnd(20000) };
	int fd = fd_any(), on = 1;

	setsockopt(fd, SOL_SOCKET, chance(50) ? SO_RCVTIMEO : SO_SNDTIMEO, &tv,
		   sizeof(tv));
	done(setsockopt(fd, SOL_DLCP, chance(50) ? DLCP_RECVWANT :
			DLCP_ZEROCOPY, &on, sizeof(on)), "want %d", fd);
}

static void call_filter(void)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, rnd(64) },
		{ BPF_RET | BPF_K, 0, 0, chance(70) ? ~0U : rnd(40) },
	};
	struct sock_fprog prog = { .len = 2, .filter = code };
	int fd = fd_any();

	if (chance(70))
		done(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
				sizeof(prog)), "filter %d", fd);
	else
		done(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &prog.len,
				sizeof(int)), "no filter %d", fd);
}

static void call_getsockopt(void)
{
	u8 v[OPT_MAX + 64] __attribute__((aligned(16)));
	int fd = fd_any(), name, level = level_make(&name), i;
	socklen_t room = chance(70) ? OPT_MAX : rnd(OPT_MAX), len = room;
	bool in_v = chance(95);

	memset(v, 0x5a, sizeof(v));
	/* where the length is anything, the value may become as long */
	done(getsockopt(fd, level, name, in_v ? v : memory(room),
			in_v || chance(50) ? &len : memory(4)),
	     "getsockopt %d %d %d %d", fd, level, name, room);
	for (i = 0; i < 64; i++)
		if (v[room + i] != 0x5a)
			overrun("getsockopt");
}

static void call_ioctl(void)
{
	static const unsigned long cmds[] = {
		SIOCINQ, SIOCOUTQ, FIONBIO, FIOASYNC, SIOCGSTAMP_OLD,
		SIOCGPGRP, SIOCSPGRP, SIOCATMARK, SIOCGIFNAME, SIOCOUTQNSD,
	};
	unsigned long cmd = chance(90) ? one_of(cmds) : 0x8900 + rnd(256);
	int fd = fd_any(), val[16];

	rnd_bytes(val, sizeof(val));
	val[0] = cmd == SIOCSPGRP ? getpid() : (int)rnd(2);
	/* Not the interface: that is for call_link() */
	if (cmd >= SIOCSIFNAME && cmd <= 0x89ff && cmd != SIOCGIFNAME)
		cmd = SIOCINQ;
	done(ioctl(fd, cmd, chance(95) ? val : memory(64)), "ioctl %d %#lx", fd,
	     cmd);
}

static void call_fcntl(void)
{
	int fd = fd_any();

	switch (rnd(3)) {
	case 0:
		done(fcntl(fd, F_SETFL, rnd(2) * O_NONBLOCK), "F_SETFL %d", fd);
		break;
	case 1:
		fcntl(fd, F_SETOWN, getpid());
		done(fcntl(fd, F_SETFL, O_ASYNC | rnd(2) * O_NONBLOCK),
		     "O_ASYNC %d", fd);
		break;
	default:
		done(fcntl(fd, F_SETSIG, rnd(2) * 10), "F_SETSIG %d", fd);
	}
}

const struct call option_calls[] = {
	{ "setsockopt", 20, call_setsockopt, true },
	{ "buffers", 3, call_buffers, true },
	{ "timeouts", 6, call_timeouts, true },
	{ "filter", 1, call_filter, true },
	{ "getsockopt", 12, call_getsockopt, true },
	{ "ioctl", 5, call_ioctl, true },
	{ "fcntl", 4, call_fcntl, true },
	{ }
};
