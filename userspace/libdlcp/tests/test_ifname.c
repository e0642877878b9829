// SPDX-License-Identifier: GPL-2.0
/* DLCP_SOCKET_IFNAME, with the syntax of NCCL_SOCKET_IFNAME */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../coll/coll.h"
#include "check.h"
#include "fake.h"

static void prefixes_exact_and_excluded(void)
{
	static const struct {
		const char *choice, *name;
		int matches;
	} cases[] = {
		{ "eth", "eth0", 1 }, { "eth", "eth10", 1 }, { "eth", "bond0", 0 },
		{ "eth0", "eth01", 1 }, { "=eth0", "eth01", 0 },
		{ "=eth0", "eth0", 1 }, { "ib,eth", "eth1", 1 },
		{ "=ib0,eth1", "eth1", 1 }, { "=ib0,eth1", "eth10", 0 },
		{ "^docker", "docker0", 0 }, { "^docker", "eth0", 1 },
		{ "^docker,lo", "lo", 0 }, { "^=eth1", "eth1", 0 },
		{ "^=eth1", "eth10", 1 }, { "", "eth0", 0 }, { "^", "eth0", 1 },
		{ "eth0,", "eth0", 1 }, { ",eth0", "eth0", 1 },
		{ ",", "eth0", 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (coll_ifname_matches(cases[i].choice, cases[i].name) ==
		    cases[i].matches)
			continue;
		printf("# %s and %s\n", cases[i].choice, cases[i].name);
		CHECK(0);
	}
}

static void interface_of_this_host(void)
{
	struct dlcp_coll_options o;
	struct dlcp__from from;
	char buf[64];

	unsetenv("DLCP_SOCKET_IFNAME");
	CHECK(coll_ifname(&from) == 0);
	CHECK(!dlcp_coll_address(NULL, buf, sizeof(buf)) && *buf);
	CHECK(dlcp_coll_address(NULL, buf, 2) == -1);
	setenv("DLCP_SOCKET_IFNAME", "=lo", 1);
	CHECK(coll_ifname(&from) == 1);
	CHECK(from.in.sin_family == AF_INET);
	CHECK(from.in.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	CHECK(!dlcp_coll_address("192.0.2.9", buf, sizeof(buf)));
	CHECK(!strcmp(buf, "127.0.0.1"));
	/* at once, and with what there is */
	setenv("DLCP_SOCKET_IFNAME", "nosuch", 1);
	CHECK(coll_ifname(&from) == -1 && errno == ENODEV);
	CHECK(strstr(dlcp_last_error(), "DLCP_SOCKET_IFNAME=nosuch"));
	CHECK(strstr(dlcp_last_error(), " lo"));
	CHECK(dlcp_coll_address(NULL, buf, sizeof(buf)) == -1 && errno == ENODEV);
	dlcp_coll_options_init(&o);
	o.rank = 1;
	o.world = 2;
	o.master_addr = "127.0.0.1";
	o.master_port = "7000";
	CHECK(!dlcp_coll_open(&o) && errno == ENODEV);
	unsetenv("DLCP_SOCKET_IFNAME");
}

static void host_without_addresses(void)
{
	char buf[64];

	fake.no_interface = 1;
	CHECK(dlcp_coll_address("no.such.host.invalid", buf, sizeof(buf)) == -1);
	CHECK(errno == EADDRNOTAVAIL);
	CHECK(strstr(dlcp_last_error(), "this host has no address: 'ip address' lists them"));
	fake_reset();
}

int main(void)
{
	int bad = 0;

	bad |= RUN(prefixes_exact_and_excluded);
	bad |= RUN(interface_of_this_host);
	bad |= RUN(host_without_addresses);
	return bad;
}
