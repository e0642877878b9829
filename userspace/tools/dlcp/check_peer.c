// SPDX-License-Identifier: GPL-2.0
/*
 * The way to another host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "findings.h"

static uint64_t counter(const char *name)
{
	struct source src = { 0 };
	struct table t;
	uint64_t value = 0;
	size_t i;

	if (pairs_read(&t, &src, "snmp"))
		return 0;
	for (i = 0; i < t.nr_rows; i++)
		if (!strcmp(table_get(&t, i, "name"), name))
			value = table_u64(&t, i, "value");
	table_free(&t);
	return value;
}

/* Does a packet for it come from it? */
static int is_own(const struct sockaddr_storage *to)
{
	int fd = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;
	socklen_t len = sizeof(struct sockaddr_storage);
	struct sockaddr_storage from = { 0 };
	char own[64], other[64];

	if (fd < 0)
		return 0;
	ret = !connect(fd, (const struct sockaddr *)to, sizeof(*to)) &&
	      !getsockname(fd, (struct sockaddr *)&from, &len) &&
	      !strcmp(peer_text(&from, own), peer_text(to, other));
	close(fd);
	return ret;
}

/* What this host drops as it came by another device than the one that leads back, or -1 */
static long long strangers(void)
{
	static const char name[] = "IPReversePathFilter";
	char names[8192], values[8192], *n, *v, *save_n, *save_v;
	FILE *f = fopen("/proc/thread-self/net/netstat", "re");
	long long nr = -1;

	if (!f)
		return -1;
	if (fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
		n = strtok_r(names, " \n", &save_n);
		v = strtok_r(values, " \n", &save_v);
		for (; n && v && nr < 0; n = strtok_r(NULL, " \n", &save_n), v = strtok_r(NULL, " \n", &save_v))
			if (!strcmp(n, name))
				nr = atoll(v);
	}
	fclose(f);
	return nr;
}

/* The largest size of packet that is answered, between two that are known */
static int largest(const struct sockaddr_storage *to, int works, int fails, int timeout_ms)
{
	int size;

	while (fails - works > 4) {
		size = (works + fails) / 2;
		if (peer_echo(to, size, timeout_ms) > 0)
			works = size;
		else
			fails = size;
	}
	return works;
}

static void check_path_mtu(struct check *c, const char *host, const struct sockaddr_storage *to,
			   int mtu, const char *dev, int timeout_ms)
{
	char type[200];
	int arrives = peer_echo(to, mtu, timeout_ms), size;

	if (arrives > 0) {
		found(c, FINE, "path_mtu", NULL, "packets of %d bytes reach %s", mtu, host);
		return;
	}
	size = arrives ? -1 : largest(to, 64, mtu, timeout_ms / 4 + 50);
	if (size < 256) {
		found(c, UNKNOWN, "path_mtu", NULL, "%s", arrives ? "only root may send ICMP" :
		      "the host answers no ICMP of that size");
		return;
	}
	snprintf(type, sizeof(type), "ip link set dev %s mtu %d", dev, size);
	found(c, BAD, "path_mtu", type,
	      "packets of %d bytes do not reach %s, those of %d do: an MTU on the way is smaller, and nobody says so",
	      mtu, host, size);
}

/* Nothing came back. Return: whether it is our own firewall */
static int check_own_drops(struct check *c, uint64_t drops)
{
	char type[120];

	if (!drops)
		return 0;
	snprintf(type, sizeof(type), "nft list ruleset; nft insert rule inet filter output udp dport %ld accept",
		 c->port);
	if (c->programs)
		strcpy(type, "nft list ruleset; bpftool cgroup tree; systemctl show -p IPAddressDeny UNIT");
	found(c, WRONG, "peer", type, "packets do not leave this host: %s drops them (TxLocalDrops)",
	      c->programs ? "a BPF program of this cgroup, or a firewall of its own," :
			    "a firewall of its own");
	return 1;
}

/* Nothing came back. Return: whether answers came by another device than they have to */
static int check_strangers(struct check *c, const char *host, const char *dev, long long more)
{
	char type[100];

	if (more <= 0)
		return 0;
	snprintf(type, sizeof(type), "sysctl -w net.ipv4.conf.all.rp_filter=2; ip route get %s", host);
	found(c, WRONG, "peer", type,
	      "answers of %s come by another device than %s, which leads there: rp_filter drops them",
	      host, *dev ? dev : "the one");
	return 1;
}

/* Why there is no way */
static void check_no_route(struct check *c, const char *host, int err)
{
	char type[200];

	snprintf(type, sizeof(type), "ip route get %s; ip -br address", host);
	if (err == EPERM)
		strcpy(type, "ip xfrm policy; nft list ruleset");
	found(c, WRONG, "route", type, "%s: %s%s", host, strerror(err),
	      err == EPERM ? ": an IPsec policy forbids it, or a firewall" :
	      err == EINVAL ? ": a route of type blackhole" :
	      err == EACCES ? ": a route of type prohibit" : "");
}

static void check_silent(struct check *c, const char *host, const struct sockaddr_storage *to,
			 int timeout_ms)
{
	char type[300];
	int alive = peer_echo(to, 0, timeout_ms);

	if (alive > 0) {
		snprintf(type, sizeof(type), "at %s: dlcp check; nft insert rule inet filter input udp dport %ld accept",
			 host, c->port);
		found(c, WRONG, "peer", type,
		      "%s is up (ICMP) and does not answer DLCP: a firewall there or on the way drops UDP port %ld, or drops the answers here",
		      host, c->port);
		return;
	}
	snprintf(type, sizeof(type), "ip route get %s; ip -br link; ip neigh", host);
	found(c, WRONG, "peer", type, "%s answers neither DLCP nor ICMP: it is down, or the way there is", host);
}

static void check_answer(struct check *c, const char *host, const struct sockaddr_storage *to,
			 int timeout_ms, const struct reach *r)
{
	char advice[400], rtt[NUM_LEN];

	if (r->what == REACHED) {
		found(c, FINE, "peer", NULL, "%s: connected, rtt %s, protocol version %d", host,
		      say_usecs(rtt, r->rtt_us), r->version);
		return;
	}
	if (r->what == REACHED_ONLY) {
		found(c, FINE, "peer", NULL, "%s: DLCP answers, rtt %s", host,
		      say_usecs(rtt, r->rtt_us));
		return;
	}
	if (r->err == ETIMEDOUT) {
		check_silent(c, host, to, timeout_ms);
		return;
	}
	found(c, WRONG, "peer", peer_advice(r, host, advice, sizeof(advice)), "%s: %s%s%s", host,
	      strerror(r->err), *r->words ? ": " : "", r->words);
}

static void check_dead(struct check *c, const char *host, const struct sockaddr_storage *to)
{
	char addr[64], type[100];

	peer_text(to, addr);
	snprintf(type, sizeof(type), "dlcp check %s", addr);
	found(c, BAD, "address", type,
	      "%s is an address of %s and does not answer: programs that try it first wait, or fail",
	      addr, host);
}

const struct sockaddr_storage *check_addresses(struct check *c, const char *host,
					       const struct peer *peer, int timeout_ms)
{
	struct reach r = { .what = REACHED_NOT };
	size_t alive, i;
	char addr[64];

	if (peer->nr == 1)
		return peer->addrs;
	for (alive = 0; alive < peer->nr; alive++) {
		peer_reach(&peer->addrs[alive], timeout_ms, &r);
		if (r.what != REACHED_NOT)
			break;
	}
	/* What is wrong with the first of them all, check_peer() finds out */
	for (i = alive == peer->nr; i < alive; i++)
		check_dead(c, host, &peer->addrs[i]);
	if (alive == peer->nr)
		return peer->addrs;
	found(c, FINE, "address", NULL, "%s is that of %s which answers first",
	      peer_text(&peer->addrs[alive], addr), host);
	return &peer->addrs[alive];
}

void check_peer(struct check *c, const char *host, const struct sockaddr_storage *to,
		int timeout_ms)
{
	uint64_t before = counter("TxLocalDrops");
	long long others = strangers();
	struct reach r;
	char dev[16], type[200];
	int mtu, err;

	err = peer_route(to, &mtu, dev);
	if (err) {
		check_no_route(c, host, err);
		return;
	}
	snprintf(type, sizeof(type), "ip -br address; getent ahosts %s", host);
	if (is_own(to))
		found(c, BAD, "route", type,
		      "%s is an address of this host: the way to another one is not looked at", host);
	else
		found(c, FINE, "route", NULL, "%s: through %s, MTU %d", host, *dev ? dev : "?", mtu);
	peer_reach(to, timeout_ms, &r);
	if (r.what == REACHED_NOT && check_own_drops(c, counter("TxLocalDrops") - before))
		return;
	if (r.what == REACHED_NOT && check_strangers(c, host, dev, strangers() - others))
		return;
	check_answer(c, host, to, timeout_ms, &r);
	if (r.what == REACHED_NOT)
		return;
	check_path_mtu(c, host, to, mtu, dev, timeout_ms);
	check_both(c, host, to, timeout_ms);
}
