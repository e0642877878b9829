// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp ping: does a host answer DLCP? Each try is the set-up of a connection.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/dlcp.h>

#include "tool.h"

/**
 * struct ping - what is asked for, and what came of it
 * @src: the network namespace
 * @host: as the user calls it
 * @port: of DLCP
 * @family: of addresses
 * @count: tries
 * @interval: between them, in ns
 * @timeout: of one, in ns
 * @json: as JSON
 * @answer: rather than ask, listen
 * @asks: options of the former
 * @both_families: each was asked for alone
 * @peer: its addresses
 * @tries: the last try of each
 * @at: the address that is asked
 * @nr: tries made
 * @answered: of them
 * @min: round trip, us
 * @max: likewise
 * @sum: likewise
 */
struct ping {
	struct source		src;
	const char		*host;
	int			port;
	int			family;
	uint64_t		count;
	uint64_t		interval;
	uint64_t		timeout;
	int			json;
	int			answer;
	int			asks;
	int			both_families;
	struct peer		peer;
	struct reach		*tries;
	size_t			at;
	uint64_t		nr;
	uint64_t		answered;
	uint64_t		min;
	uint64_t		max;
	uint64_t		sum;
};

static const char help[] =
"usage: dlcp ping [-46j] [-c COUNT] [-i SECONDS] [-W SECONDS] [-p PORT] [-N NETNS] HOST\n"
"       dlcp ping -l [-p PORT] [-N NETNS]\n"
"\n"
"Sets up connections and closes them. A host answers also where nobody listens at the port.\n"
"Of a name's addresses the first that answers is taken.\n"
"\n"
"  -4, --ipv4        IPv4 alone\n"
"  -6, --ipv6        IPv6 alone\n"
"  -c, --count N     so many set-ups (3)\n"
"  -i, --interval S  seconds between them (0.2)\n"
"  -W, --timeout S   seconds to wait for one (2)\n"
"  -p, --port PORT   DLCP port (6253), a number inside DLCP and no UDP port\n"
"  -l, --listen      listen there until the end, so that others' pings make connections, and\n"
"                    tell all that connect this host's time, version and settings\n"
"  -j, --json        JSON\n"
"  -N, --net NAME    in that network namespace (ip netns)\n";

static const struct sockaddr_storage *addr_of(const struct ping *p)
{
	return &p->peer.addrs[p->at];
}

static void note(struct ping *p)
{
	uint64_t rtt = p->tries[p->at].rtt_us;

	p->nr++;
	if (p->tries[p->at].what == REACHED_NOT)
		return;
	p->min = !p->answered || rtt < p->min ? rtt : p->min;
	p->max = rtt > p->max ? rtt : p->max;
	p->sum += rtt;
	p->answered++;
}

static void print_try(const struct ping *p)
{
	const struct reach *r = &p->tries[p->at];
	char addr[64], rtt[NUM_LEN];

	peer_text(addr_of(p), addr);
	if (r->what == REACHED)
		printf("%s: connected, rtt %s, version %d, path MTU %d\n", addr,
		       say_usecs(rtt, r->rtt_us), r->version, r->mtu);
	else if (r->what == REACHED_ONLY)
		printf("%s: DLCP answers, rtt %s; nobody listens at DLCP port %d\n", addr,
		       say_usecs(rtt, r->rtt_us), p->port);
	else
		printf("%s: %s%s%s\n", addr, strerror(r->err), *r->words ? ": " : "", r->words);
	fflush(stdout);
}

/* As large as the route says, if such a packet arrives. Return: 0 if it does not */
static int tried_mtu(const struct ping *p, int *mtu, int *arrives)
{
	char dev[16];

	if (peer_route(addr_of(p), mtu, dev))
		return -1;
	*arrives = peer_echo(addr_of(p), *mtu, (int)(p->timeout / 1000000));
	return 0;
}

static void print_end(const struct ping *p)
{
	char min[NUM_LEN], mean[NUM_LEN], max[NUM_LEN], advice[400];
	int mtu, arrives;

	printf("%llu set-ups, %llu answered", (unsigned long long)p->nr,
	       (unsigned long long)p->answered);
	if (!p->answered) {
		putchar('\n');
		fflush(stdout);
		fprintf(stderr, "next: %s\n",
			peer_advice(&p->tries[p->at], p->host, advice, sizeof(advice)));
		return;
	}
	printf(", rtt min/mean/max %s/%s/%s\n", say_usecs(min, p->min),
	       say_usecs(mean, p->sum / p->answered), say_usecs(max, p->max));
	if (tried_mtu(p, &mtu, &arrives))
		return;
	printf("packets of %d bytes, the route's MTU, %s\n", mtu,
	       arrives > 0 ? "arrive (ICMP echo)" :
	       arrives ? "were not tried: that needs root" :
	       "are not answered (ICMP echo): `dlcp check` finds out whether the path is narrower");
}

static void print_failed(const struct sockaddr_storage *to, const struct reach *r)
{
	char addr[64];

	json_open(NULL, '{');
	json_text("address", peer_text(to, addr));
	json_text("error", strerror(r->err));
	json_text("words", r->words);
	json_close('}');
}

static void print_json(const struct ping *p)
{
	const struct reach *r = &p->tries[p->at];
	char addr[64], advice[400];
	int mtu, arrives;
	size_t i;

	json_open(NULL, '{');
	json_text("address", peer_text(addr_of(p), addr));
	json_open("tried_before", '[');
	for (i = 0; i < p->at; i++)
		print_failed(&p->peer.addrs[i], &p->tries[i]);
	json_close(']');
	json_u64("set_ups", p->nr);
	json_u64("answered", p->answered);
	if (p->answered) {
		json_u64("rtt_min_us", p->min);
		json_u64("rtt_mean_us", p->sum / p->answered);
		json_u64("rtt_max_us", p->max);
		json_u64("version", (uint64_t)r->version);
		if (!tried_mtu(p, &mtu, &arrives)) {
			json_u64("route_mtu", (uint64_t)mtu);
			if (arrives >= 0)
				json_u64("route_mtu_arrives", (uint64_t)arrives);
		}
	} else {
		json_text("error", strerror(r->err));
		json_text("words", r->words);
		json_text("next", peer_advice(r, p->host, advice, sizeof(advice)));
	}
	json_close('}');
}

static void try_address(struct ping *p)
{
	peer_reach(addr_of(p), (int)(p->timeout / 1000000), &p->tries[p->at]);
	note(p);
	if (!p->json)
		print_try(p);
}

/* All addresses in turn until one answers, and this one from then on */
static void try_all(struct ping *p)
{
	if (p->answered) {
		try_address(p);
		return;
	}
	for (p->at = 0; p->at < p->peer.nr; p->at++) {
		try_address(p);
		if (p->answered)
			return;
	}
	p->at--;
}

static int ask(struct ping *p)
{
	int err = peer_resolve(p->host, p->port, p->family, &p->peer);
	uint64_t next = now_ns(), i;

	if (err)
		return err;
	p->tries = calloc(p->peer.nr, sizeof(*p->tries));
	if (!p->tries)
		return say_no_memory();
	for (i = 0; i < p->count; i++) {
		if (i)
			wait_until(&next, p->interval);
		try_all(p);
	}
	if (p->json)
		print_json(p);
	else
		print_end(p);
	free(p->tries);
	peer_free(&p->peer);
	return p->answered ? 0 : DLCP_FAILED;
}

static int answer(const struct ping *p)
{
	int fd = peer_listen(p->port), conn, err = 0;

	if (fd < 0)
		return DLCP_FAILED;
	printf("listening at DLCP port %d\n", p->port);
	fflush(stdout);
	while (!err) {
		conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (conn < 0) {
			err = peer_accept_failed();
			continue;
		}
		about_send(conn);
		close(conn);
	}
	close(fd);
	return err;
}

static int parse_option(struct ping *p, int c)
{
	uint64_t port;

	p->asks |= !strchr("lpN", c);
	switch (c) {
	case '4':
	case '6':
		p->both_families |= p->family && p->family != (c == '4' ? AF_INET : AF_INET6);
		p->family = c == '4' ? AF_INET : AF_INET6;
		break;
	case 'j': p->json = 1; break;
	case 'l': p->answer = 1; break;
	case 'N': p->src.netns = optarg; break;
	case 'c':
		if (parse_u64(optarg, &p->count) || !p->count)
			return say_usage("%s is no number of set-ups", optarg);
		break;
	case 'i':
		p->interval = parse_interval(optarg);
		return p->interval ? 0 : say_usage("%s is no interval in seconds", optarg);
	case 'W':
		p->timeout = parse_interval(optarg);
		return p->timeout ? 0 : say_usage("%s is no time in seconds", optarg);
	case 'p':
		if (parse_u64(optarg, &port) || !port || port > 65535)
			return say_usage("%s is no port", optarg);
		p->port = (int)port;
		break;
	default:
		return say_help(c, help);
	}
	return 0;
}

int cmd_ping(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ipv4", 0, NULL, '4' }, { "ipv6", 0, NULL, '6' }, { "json", 0, NULL, 'j' },
		{ "listen", 0, NULL, 'l' }, { "net", 1, NULL, 'N' }, { "count", 1, NULL, 'c' },
		{ "interval", 1, NULL, 'i' }, { "timeout", 1, NULL, 'W' },
		{ "port", 1, NULL, 'p' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	struct ping p = {
		.port = PING_PORT, .count = 3, .interval = 200000000, .timeout = 2000000000,
	};
	int c, err = 0;

	while (!err && (c = next_option(argc, argv, ":46jlN:c:i:W:p:h", options)) != -1)
		err = parse_option(&p, c);
	if (err)
		return err < 0 ? 0 : err;
	p.host = argv[optind];
	if (p.answer ? !!p.host : !p.host || argv[optind + 1])
		return say_usage(p.answer ? "-l takes no host" : "one host");
	if (p.answer && p.asks)
		return say_usage("-l takes -p and -N alone");
	if (p.both_families)
		return say_usage("-4 and -6 exclude each other");
	err = source_enter(&p.src);
	if (err)
		return err;
	return p.answer ? answer(&p) : ask(&p);
}
