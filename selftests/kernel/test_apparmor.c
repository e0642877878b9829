// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that AppArmor confines: which profiles give a DLCP socket, and what
 * becomes of one that was made before, beside TCP and UDP.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

#define SECURITYFS	"/sys/kernel/security"
#define ENABLED		"/sys/module/apparmor/parameters/enabled"
#define CURRENT		"/proc/self/attr/apparmor/current"

enum kind { TCP, UDP, DLCP, DLCP_AS_DGRAM, KINDS };

static const struct {
	const char	*name;
	int		type;
	int		protocol;
} kinds[KINDS] = {
	[TCP]		= { "TCP", SOCK_STREAM, 0 },
	[UDP]		= { "UDP", SOCK_DGRAM, 0 },
	[DLCP]		= { "SOCK_DLCP", SOCK_DLCP, 0 },
	[DLCP_AS_DGRAM]	= { "SOCK_DGRAM, IPPROTO_DLCP", SOCK_DGRAM,
			    IPPROTO_DLCP },
};

static int open_kind(enum kind k)
{
	return socket(family, kinds[k].type | SOCK_CLOEXEC, kinds[k].protocol);
}

/* --- profiles */

static void need_apparmor(void)
{
	char *on = file_read(-1, ENABLED);

	if (!on || *on != 'Y')
		SKIP("no AppArmor in this kernel");
	if (sh(-1, "command -v apparmor_parser >/dev/null"))
		SKIP("no apparmor_parser here");
	free(on);
	if (access(SECURITYFS "/apparmor", F_OK))
		ASSERT_OK(mount("securityfs", SECURITYFS, "securityfs", 0,
				NULL));
}

/* Everything but the network, of which @rules decides */
static void load_profile(const char *name, const char *rules)
{
	must_sh(-1, "apparmor_parser -r -K <<-END 2>&1\n"
		"abi <abi/3.0>,\nprofile %s {\n"
		"file, capability, signal, ptrace, unix, mount,\n%s\n}\nEND\n",
		name, rules);
}

/* For good: this process, which has one thread */
static void confine(const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "changeprofile %s", name);
	ASSERT_OK(file_write(-1, CURRENT, text));
}

/* --- what a profile gives */

struct profile {
	const char	*rules;		/* %s is the family */
	bool		gives[KINDS];
};

static const struct profile profiles[] = {
	{ "", { } },
	{ "network,", { true, true, true, true } },
	/* AppArmor's parser does not know SOCK_DLCP: what names a family gives and
	 * takes the types that it knows
	 */
	{ "network %s,", { true, true, false, true } },
	{ "network %s stream,", { [TCP] = true } },
	{ "network %s dgram,", { [UDP] = true, [DLCP_AS_DGRAM] = true } },
	{ "network %s, deny network %s dgram,", { [TCP] = true } },
	/* ... and the module asks for who has ours as if it were UDP */
	{ "network, deny network %s dgram,", { [TCP] = true } },
	{ "network, deny network %s,", { } },
	{ "network, deny network %s stream,",
	  { [UDP] = true, [DLCP] = true, [DLCP_AS_DGRAM] = true } },
};

/* A server and its client, in this process */
static void check_life(enum kind k)
{
	struct msg m = MSG(.len = 3 * KB);
	int lfd = ASSERT_OK(open_kind(k)), fd = ASSERT_OK(open_kind(k));
	struct pair p = { fd };

	ASSERT_OK(set_int(fd, DLCP_ENCAP, encap));
	ASSERT_OK(set_int(lfd, DLCP_ENCAP, encap));
	ASSERT_OK(do_bind(lfd, addr_lo(PORT)));
	ASSERT_OK(listen(lfd, 8));
	ASSERT_OK(do_connect(fd, addr_lo(PORT)));
	p.b = do_accept(lfd);
	ASSERT_OK(set_int(fd, DLCP_RECVWANT, 1));
	pass(p.a, p.b, &m);
	pass(p.b, p.a, &m);
	pair_close(&p);
	close(lfd);
}

/* A profile with a port that nobody has opened yet: what the module does for itself
 * is no matter of the program's profile
 */
static void confined_main(void *arg)
{
	const struct profile *p = arg;
	int fd, k;

	confine("dlcp-test");
	for (k = 0; k < KINDS; k++) {
		fd = open_kind(k);
		if (fd < 0 ? p->gives[k] || errno != EACCES : !p->gives[k])
			test_failed(false, "\"%s\": %s: %s", p->rules,
				    kinds[k].name,
				    err_name(fd < 0 ? errno : 0));
		if (fd >= 0)
			close(fd);
		if (fd >= 0 && (k == DLCP || k == DLCP_AS_DGRAM))
			check_life(k);
	}
}

static void run_confined(void (*fn)(void *), void *arg)
{
	int status = -1, net = net_new();
	pid_t pid;

	net_enter(net);
	pid = spawn(fn, arg, -1);
	waitpid(pid, &status, 0);
	EXPECT_EQ(status, 0);
	net_leave();
	close(net);
}

TEST_LIMIT(profile_decides, 60)
{
	const char *name = family == AF_INET ? "inet" : "inet6";
	struct profile p;
	char rules[256];
	int i;

	need_apparmor();
	for (i = 0; i < ARRAY_SIZE(profiles); i++) {
		p = profiles[i];
		snprintf(rules, sizeof(rules), p.rules, name, name);
		p.rules = rules;
		load_profile("dlcp-test", rules);
		run_confined(confined_main, &p);
	}
}

/* --- sockets made before */

struct made {
	int	fresh;
	int	listener;	/* with a client in its queue */
	int	client;
};

static struct made make_before(enum kind k)
{
	union addr a = addr_lo(PORT + k);
	struct made m = {
		.fresh = ASSERT_OK(open_kind(k)),
		.listener = ASSERT_OK(open_kind(k)),
		.client = ASSERT_OK(open_kind(k)),
	};

	ASSERT_OK(do_bind(m.listener, a));
	ASSERT_OK(listen(m.listener, 8));
	ASSERT_OK(do_connect(m.client, a));
	ASSERT(poll_for(m.listener, POLLIN, 5000 * slowness) & POLLIN);
	return m;
}

static int last_of(int result)
{
	return result < 0 ? errno : 0;
}

/* Every call that a program has for a socket; what becomes of each */
static int use(enum kind k, struct made *m, int errs[])
{
	union addr a = addr_lo(PORT + KINDS + k);
	char buf[8] = "", byte[1];
	socklen_t len = sizeof(a);
	int n = 0, value = 0;

	errs[n++] = last_of(do_bind(m->fresh, a));
	errs[n++] = last_of(listen(m->fresh, 1));
	errs[n++] = last_of(do_connect(m->fresh, addr_lo(PORT + k)));
	errs[n++] = last_of(accept(m->listener, NULL, NULL));
	errs[n++] = last_of(send(m->client, buf, sizeof(buf), MSG_NOSIGNAL));
	errs[n++] = last_of(write(m->client, buf, sizeof(buf)));
	errs[n++] = last_of(recv(m->client, byte, 1, MSG_DONTWAIT));
	errs[n++] = last_of(getsockname(m->client, &a.sa, &len));
	errs[n++] = last_of(getpeername(m->client, &a.sa, &len));
	len = sizeof(value);
	errs[n++] = last_of(getsockopt(m->client, SOL_SOCKET, SO_RCVBUF, &value,
				       &len));
	errs[n++] = last_of(setsockopt(m->client, SOL_SOCKET, SO_RCVBUF, &value,
				       sizeof(value)));
	errs[n++] = last_of(shutdown(m->client, SHUT_WR));
	return n;
}

static void inherits_main(void *arg)
{
	int errs[KINDS][16], n = 0, k, i;
	struct made m[KINDS];

	for (k = 0; k < KINDS; k++)
		if (k != UDP)
			m[k] = make_before(k);
	confine("dlcp-test");
	for (k = 0; k < KINDS; k++)
		if (k != UDP)
			n = use(k, &m[k], errs[k]);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(errs[TCP][i], EACCES);
		EXPECT_EQ(errs[DLCP][i], errs[TCP][i]);
		EXPECT_EQ(errs[DLCP_AS_DGRAM][i], errs[TCP][i]);
	}
}

/* ... before the program was confined */
TEST(inherited_is_of_no_use)
{
	need_apparmor();
	load_profile("dlcp-test", "");
	run_confined(inherits_main, NULL);
}
