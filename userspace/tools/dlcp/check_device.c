// SPDX-License-Identifier: GPL-2.0
/*
 * Network devices: MTU, queue, offloads.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "findings.h"

/* Packets that a queue should hold, at least */
#define SHORT_QUEUE	100

/**
 * struct queue - the queueing discipline at a device's root
 * @kind: its name, or ""
 * @limit: what it holds, as far as it is a FIFO; -1: not known
 */
struct queue {
	char	kind[16];
	long	limit;
};

static void read_queue(const struct nlmsghdr *h, struct queue *q)
{
	const struct tcmsg *tc = NLMSG_DATA(h);
	const struct rtattr *a = (const void *)((const char *)tc + NLMSG_ALIGN(sizeof(*tc)));
	int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(*tc)));

	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == TCA_KIND)
			snprintf(q->kind, sizeof(q->kind), "%.15s", (const char *)RTA_DATA(a));
		if (a->rta_type == TCA_OPTIONS && RTA_PAYLOAD(a) >= sizeof(struct tc_fifo_qopt))
			q->limit = ((const struct tc_fifo_qopt *)RTA_DATA(a))->limit;
	}
	if (strcmp(q->kind, "pfifo"))
		q->limit = -1;
}

static void root_queue(int index, struct queue *q)
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

	*q = (struct queue){ .limit = -1 };
	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) < 0)
		more = 0;
	while (fd >= 0 && more && (len = recv(fd, buf, sizeof(buf), 0)) > 0) {
		for (h = (void *)buf; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			tc = NLMSG_DATA(h);
			if (h->nlmsg_type != RTM_NEWQDISC)
				more = 0;
			else if (tc->tcm_ifindex == index && tc->tcm_parent == TC_H_ROOT)
				read_queue(h, q);
		}
	}
	if (fd >= 0)
		close(fd);
}

static void check_queue(struct check *c, const char *dev, int txqueuelen)
{
	struct queue q;
	char type[100];

	root_queue((int)if_nametoindex(dev), &q);
	if (!strcmp(q.kind, "netem") || !strcmp(q.kind, "tbf")) {
		snprintf(type, sizeof(type), "tc qdisc del dev %s root", dev);
		found(c, BAD, "qdisc", type, "%s: %s delays, loses or slows packets", dev, q.kind);
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

static int ethtool_value(int fd, struct ifreq *r, uint32_t cmd)
{
	struct ethtool_value v = { .cmd = cmd };

	r->ifr_data = (void *)&v;
	return ioctl(fd, SIOCETHTOOL, r) ? -1 : (int)v.data;
}

/* Pairs of virtual devices hand large packets over as they are */
static int is_veth(int fd, struct ifreq *r)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	r->ifr_data = (void *)&info;
	return !ioctl(fd, SIOCETHTOOL, r) && !strcmp(info.driver, "veth");
}

static void check_offloads(struct check *c, const char *dev, int fd, struct ifreq *r)
{
	int gro = is_veth(fd, r) ? -1 : ethtool_value(fd, r, ETHTOOL_GGRO);
	char type[60];

	snprintf(type, sizeof(type), "ethtool -K %s gro on", dev);
	if (!gro)
		found(c, BAD, "offloads", type, "%s: without GRO each packet is handled by itself", dev);
	else if (gro > 0)
		found(c, FINE, "offloads", NULL, "%s: GRO is on", dev);
}

void check_device(struct check *c, const char *dev)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu;
	struct ifreq r = { 0 };
	char type[60];

	if (fd < 0)
		return;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%.15s", dev);
	if (ioctl(fd, SIOCGIFMTU, &r)) {
		found(c, BAD, "device", "ip -br link", "%s: %s", dev, strerror(errno));
		close(fd);
		return;
	}
	mtu = r.ifr_mtu;
	snprintf(type, sizeof(type), "ip link set dev %s mtu 1500", dev);
	if (mtu < 1280)
		found(c, BAD, "mtu", type, "%s: %d bytes: much of each packet is headers", dev, mtu);
	else
		found(c, FINE, "mtu", NULL, "%s: %d bytes", dev, mtu);
	if (!ioctl(fd, SIOCGIFTXQLEN, &r))
		check_queue(c, dev, r.ifr_qlen);
	check_offloads(c, dev, fd, &r);
	check_irq(c, dev);
	close(fd);
}

void check_devices(struct check *c)
{
	struct ifaddrs *list, *i, *j;
	int nr = 0;

	if (getifaddrs(&list))
		return;
	for (i = list; i; i = i->ifa_next) {
		if (!i->ifa_addr || (i->ifa_flags & IFF_LOOPBACK) || !(i->ifa_flags & IFF_UP) ||
		    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		/* One of several addresses */
		for (j = list; j != i; j = j->ifa_next)
			if (j->ifa_addr && !strcmp(j->ifa_name, i->ifa_name) &&
			    (j->ifa_addr->sa_family == AF_INET ||
			     j->ifa_addr->sa_family == AF_INET6))
				break;
		if (j != i)
			continue;
		nr++;
		check_device(c, i->ifa_name);
	}
	freeifaddrs(list);
	if (!nr)
		found(c, WRONG, "device", "ip -br address",
		      "no device but loopback is up and has an address");
}
