// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp check: what is wrong with this node, or on the way to another one, and what to type.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "findings.h"

static const char help[] =
"usage: dlcp check [-j] [-p PORT] [-W SECONDS] [-N NETNS] [PEER]\n"
"\n"
"Looks at the module, its UDP port, the firewall, settings, clock, cgroup and devices of this node;\n"
"with PEER at the way there, too. Run it as root, who sees all of it. The exit status is 1 if DLCP cannot work.\n"
"\n"
"  -p, --port PORT   DLCP port for the peer (6253); where dlcp ping listens, clocks,\n"
"                    versions and settings are compared, too\n"
"  -W, --timeout S   seconds to wait for an answer (2)\n"
"  -j, --json        JSON\n"
"  -N, --net NAME    in that network namespace (ip netns)\n";

void found(struct check *c, enum level level, const char *name, const char *type,
	   const char *format, ...)
{
	static const char *const levels[] = { "ok", "unknown", "BAD", "WRONG" };
	char words[400];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	c->nr[level]++;
	if (c->json) {
		json_open(NULL, '{');
		json_text("name", name);
		json_text("level", levels[level]);
		json_text("words", words);
		if (type)
			json_text("type", type);
		json_close('}');
		return;
	}
	printf("%-8s%-16s%s\n", levels[level], name, words);
	if (type)
		printf("%-8s%-16s%s\n", "", "  type:", type);
	fflush(stdout);
}

static void check_all(struct check *c, const char *host,
		      const struct peer *peer, int timeout_ms)
{
	const struct sockaddr_storage *to;
	char dev[16];
	int mtu;

	if (check_module(c))
		return;
	c->port = setting_number("udp_port");
	check_port(c);
	check_settings(c);
	check_firewall(c);
	check_clock(c);
	check_cgroup(c);
	if (!host) {
		check_devices(c);
		return;
	}
	to = check_addresses(c, host, peer, timeout_ms);
	if (!peer_route(to, &mtu, dev) && *dev)
		check_device(c, dev);
	check_peer(c, host, to, timeout_ms);
}

static int run(struct check *c, const char *host, int port, int timeout_ms)
{
	struct peer peer = { 0 };
	int err = host ? peer_resolve(host, port, 0, &peer) : 0;

	if (err)
		return err;
	if (c->json) {
		json_open(NULL, '{');
		json_open("findings", '[');
	}
	check_all(c, host, &peer, timeout_ms);
	peer_free(&peer);
	if (c->json) {
		json_close(']');
		json_u64("wrong", (uint64_t)c->nr[WRONG]);
		json_u64("bad", (uint64_t)c->nr[BAD]);
		json_close('}');
	} else {
		printf("%d wrong, %d bad, %d unknown, %d ok\n", c->nr[WRONG], c->nr[BAD],
		       c->nr[UNKNOWN], c->nr[FINE]);
	}
	return c->nr[WRONG] ? DLCP_FAILED : 0;
}

int cmd_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", 0, NULL, 'j' }, { "port", 1, NULL, 'p' }, { "timeout", 1, NULL, 'W' },
		{ "net", 1, NULL, 'N' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	uint64_t port = PING_PORT, timeout = 2000000000;
	struct source src = { 0 };
	struct check check = { 0 };
	int c, err, has_port = 0;

	while ((c = next_option(argc, argv, ":jp:W:N:h", options)) != -1) {
		switch (c) {
		case 'j': check.json = 1; break;
		case 'N': src.netns = optarg; break;
		case 'p':
			if (parse_u64(optarg, &port) || !port || port > 65535)
				return say_usage("%s is no port", optarg);
			has_port = 1;
			break;
		case 'W':
			timeout = parse_interval(optarg);
			if (!timeout)
				return say_usage("%s is no time in seconds", optarg);
			break;
		default:
			err = say_help(c, help);
			return err < 0 ? 0 : err;
		}
	}
	if (argc - optind > 1)
		return say_usage("one peer");
	if (has_port && optind == argc)
		return say_usage("-p goes with a peer: it is the port of `dlcp ping -l` there");
	if (source_enter(&src))
		return DLCP_FAILED;
	return run(&check, argv[optind], (int)port, (int)(timeout / 1000000));
}
