// SPDX-License-Identifier: GPL-2.0
/*
 * The queueing disciplines of a device, and what limits what arrives there.
 */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "findings.h"

/* Packets that a queue should hold, at least */
#define SHORT_QUEUE	100
/* Handles of dlcp-tc, which shapes where it was told to: dc0 */
#define OWN_SHAPER	0x0dc00000

/**
 * struct queues - the queueing disciplines of a device
 * @kind: the root's name, or ""
 * @limit: what it holds, as far as it is a FIFO; -1: not known
 * @harms: the name of one that delays, loses or slows packets, or ""
 * @ingress: there are filters for what arrives
 */
struct queues {
	char	kind[16];
	long	limit;
	char	harms[16];
	int	ingress;
};

static int is_harm(const char *kind)
{
	static const char *const kinds[] = { "netem", "tbf", "htb", "hfsc", "cbq" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return 1;
	return 0;
}

static void read_queue(const struct nlmsghdr *h, struct queues *q)
{
	const struct tcmsg *tc = NLMSG_DATA(h);
	const struct rtattr *a = (const void *)((const char *)tc + NLMSG_ALIGN(sizeof(*tc)));
	int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*tc)));
	char kind[16] = "";
	long limit = -1;

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == TCA_KIND)
			snprintf(kind, sizeof(kind), "%.15s", (const char *)RTA_DATA(a));
		if (a->rta_type == TCA_OPTIONS && RTA_PAYLOAD(a) >= sizeof(struct tc_fifo_qopt))
			limit = ((const struct tc_fifo_qopt *)RTA_DATA(a))->limit;
	}
	if (tc->tcm_parent == TC_H_ROOT) {
		strcpy(q->kind, kind);
		q->limit = strcmp(kind, "pfifo") ? -1 : limit;
	}
	if (tc->tcm_parent == TC_H_INGRESS)
		q->ingress = 1;
	else if (!*q->harms && is_harm(kind) && tc->tcm_handle != OWN_SHAPER)
		strcpy(q->harms, kind);
}

static void read_queues(int index, struct queues *q)
{
	struct {
		struct nlmsghdr h;
		struct tcmsg tc;
	} ask = {
		.h = {
			.nlmsg_len = sizeof(ask),
			.nlmsg_type = RTM_GETQDISC,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.tc = { .tcm_family = AF_UNSPEC, .tcm_ifindex = index },
	};
	static char buf[65536] __attribute__((aligned(8)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), more = 1;
	struct nlmsghdr *h;
	struct tcmsg *tc;
	ssize_t len;

	*q = (struct queues){ .limit = -1 };
	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) < 0)
		more = 0;
	while (fd >= 0 && more && (len = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (h = (void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			tc = NLMSG_DATA(h);
			if (h->nlmsg_type != RTM_NEWQDISC)
				more = 0;
			else if (tc->tcm_ifindex == index)
				read_queue(h, q);
		}
	}
	if (fd >= 0)
		close(fd);
}

/* What becomes of packets that arrive: tc knows its filters' many forms */
static void check_ingress(struct check *c, const char *dev)
{
	char command[100], line[400], type[100];
	int polices = 0;
	FILE *f;

	if (strchr(dev, '\''))
		return;
	snprintf(command, sizeof(command), "tc filter show dev '%s' ingress 2>/dev/null", dev);
	f = popen(command, "re");
	if (!f)
		return;
	while (fgets(line, sizeof(line), f))
		polices |= !!strstr(line, "police ") || !!strstr(line, "gact action drop");
	pclose(f);
	snprintf(type, sizeof(type), "tc filter show dev %s ingress; tc qdisc del dev %s ingress", dev, dev);
	if (polices)
		found(c, BAD, "qdisc", type, "%s: a filter drops packets that arrive", dev);
}

void check_queue(struct check *c, const char *dev, int txqueuelen)
{
	struct queues q;
	char type[100];

	read_queues((int)if_nametoindex(dev), &q);
	if (q.ingress)
		check_ingress(c, dev);
	if (*q.harms) {
		snprintf(type, sizeof(type), "tc qdisc del dev %s root", dev);
		found(c, BAD, "qdisc", type, "%s: %s delays, loses or slows packets", dev, q.harms);
		return;
	}
	if (!strcmp(q.kind, "pfifo_fast"))
		q.limit = txqueuelen;
	if (q.limit >= 0 && q.limit < SHORT_QUEUE) {
		if (!strcmp(q.kind, "pfifo_fast"))
			snprintf(type, sizeof(type), "ip link set dev %s txqueuelen 1000", dev);
		else
			snprintf(type, sizeof(type), "tc qdisc replace dev %s root fq", dev);
		found(c, BAD, "qdisc", type, "%s: %s holds %ld packets, fewer than a burst", dev,
		      q.kind, q.limit);
		return;
	}
	found(c, FINE, "qdisc", NULL, "%s: %s", dev, *q.kind ? q.kind : "not known");
}
