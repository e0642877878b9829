// SPDX-License-Identifier: GPL-2.0
/*
 * The settings of this network namespace.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "findings.h"

/* Settings that are numbers, and from where to where they make sense for training */
static const struct {
	const char *name;
	long least;
	long most;
	const char *good;
	const char *words;
} limits[] = {
	{ "dead_ms", 2000, 600000, "30000",
	  "short: a pause of a machine ends connections; long: a dead peer is not noticed" },
	{ "keepalive_ms", 1000, 600000, "10000",
	  "long: that the peer of an idle connection is gone is not noticed; short: packets for nothing" },
	{ "ack_delay_us", 0, 1000, "50", "late acknowledgements make senders slow" },
	{ "ack_packets", 1, 64, "16", "rare acknowledgements make senders slow" },
	{ "rx_unsolicited", 65536, 1L << 30, "262144",
	  "short messages wait a round trip for credit" },
	{ "max_msg_mb", 64, 2047, "2047", "larger tensors are refused with EMSGSIZE" },
	{ "reply_rate", 1, 1000000, "1000",
	  "peers are not told that nobody listens, and wait in vain" },
};

static void check_numbers(struct check *c)
{
	size_t i, bad = 0;
	char type[80];
	long value;

	for (i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		value = setting_number(limits[i].name);
		if (value >= limits[i].least && value <= limits[i].most)
			continue;
		bad++;
		snprintf(type, sizeof(type), "sysctl -w net.dlcp.%s=%s", limits[i].name,
			 limits[i].good);
		found(c, BAD, limits[i].name, type, "%ld: %s", value, limits[i].words);
	}
	if (!bad)
		found(c, FINE, "settings", NULL, "times and limits are sensible");
}

/* The last of three numbers is as far as a buffer grows */
static void check_buffer(struct check *c, const char *name, const char *good)
{
	char text[80], type[100];
	long most = 0;

	setting_read(name, text, sizeof(text));
	if (sscanf(text, "%*d %*d %ld", &most) != 1)
		return;
	snprintf(type, sizeof(type), "sysctl -w net.dlcp.%s='%s'", name, good);
	if (most < 4 << 20)
		found(c, BAD, name, type,
		      "buffers grow to %ld bytes: too little for a fast link or a long way", most);
	else
		found(c, FINE, name, NULL, "buffers grow to %ld MiB", most >> 20);
}

/* Return: why the device carries nothing, or NULL */
static const char *useless(const struct ifaddrs *list, const char *dev)
{
	const struct ifaddrs *i;
	int up = 0;

	if (!if_nametoindex(dev))
		return "which is not here";
	for (i = list; i; i = i->ifa_next) {
		if (strcmp(i->ifa_name, dev))
			continue;
		up |= (i->ifa_flags & IFF_UP) && (i->ifa_flags & IFF_RUNNING);
		if (up && i->ifa_addr && (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6))
			return NULL;
	}
	return up ? "which has no address" : "which is down";
}

static void check_rails(struct check *c)
{
	char text[120], *save, *dev;
	struct ifaddrs *list = NULL;
	int nr = 0, bad = 0;
	const char *why;

	if (getifaddrs(&list))
		return;
	setting_read("rails", text, sizeof(text));
	for (dev = strtok_r(text, " \t,", &save); dev; dev = strtok_r(NULL, " \t,", &save)) {
		nr++;
		why = useless(list, dev);
		if (!why)
			continue;
		bad++;
		found(c, BAD, "rails", "ip -br address",
		      "net.dlcp.rails names %s, %s: the other devices carry all", dev, why);
	}
	freeifaddrs(list);
	if (nr && !bad)
		found(c, FINE, "rails", NULL, "%d devices", nr);
}

/* In the initial network namespace alone, in pages */
static void check_mem(struct check *c)
{
	long low, pressure, high, memory = sysconf(_SC_PHYS_PAGES);
	char text[80], type[120];

	setting_read("mem", text, sizeof(text));
	if (sscanf(text, "%ld %ld %ld", &low, &pressure, &high) != 3)
		return;
	snprintf(type, sizeof(type), "sysctl -w net.dlcp.mem='%ld %ld %ld'", memory * 3 / 64,
		 memory / 16, memory * 3 / 32);
	if (low > pressure || pressure > high)
		found(c, BAD, "mem", type, "%ld %ld %ld: they must ascend", low, pressure, high);
	else if (pressure < memory / 64)
		found(c, BAD, "mem", type,
		      "all connections together may have %ld MiB of %ld: they wait for memory",
		      high * sysconf(_SC_PAGESIZE) >> 20, memory * sysconf(_SC_PAGESIZE) >> 20);
	else
		found(c, FINE, "mem", NULL, "all connections together may have %ld MiB",
		      high * sysconf(_SC_PAGESIZE) >> 20);
}

/* Do its numbers differ at all? */
static void check_dscp(struct check *c)
{
	char text[200], *save, *number;
	long first;
	int nr = 0, same = 0;

	setting_read("dscp", text, sizeof(text));
	first = strtol(text, NULL, 10);
	for (number = strtok_r(text, " \t", &save); number; number = strtok_r(NULL, " \t", &save), nr++)
		same += atol(number) == first;
	if (nr && same == nr)
		found(c, BAD, "dscp", "sysctl -w net.dlcp.dscp='36 38 34 48 36 38 34 48 28 30 26 48 28 30 26 48 20 22 18 48 20 22 18 48 12 14 10 48 12 14 10 48'",
		      "all packets have code point %ld: no switch tells classes and tags apart", first);
}

void check_settings(struct check *c)
{
	char text[80];

	check_numbers(c);
	setting_read("congestion", text, sizeof(text));
	if (!strcmp(text, "fixed"))
		found(c, BAD, "congestion", "sysctl -w net.dlcp.congestion=dlcp",
		      "`fixed` does not react to congestion: it is for tests");
	else
		found(c, FINE, "congestion", NULL, "%s", text);
	check_buffer(c, "rmem", "16384 8388608 67108864");
	check_buffer(c, "wmem", "16384 4194304 67108864");
	check_mem(c);
	check_dscp(c);
	check_rails(c);
}
