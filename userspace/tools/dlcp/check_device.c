// SPDX-License-Identifier: GPL-2.0
/*
 * Network devices: MTU, offloads; what else is looked at of each.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "findings.h"

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

/* Has the card the feature of that name, on or off? Return: -1: not known */
static int can_have(int fd, struct ifreq *r, const char *name)
{
	struct ethtool_sset_info *set = calloc(1, sizeof(*set) + sizeof(set->data[0]));
	struct ethtool_gfeatures *all = NULL;
	struct ethtool_gstrings *names = NULL;
	uint32_t i, len;
	int can = -1;

	if (!set)
		goto out;
	set->cmd = ETHTOOL_GSSET_INFO;
	set->sset_mask = 1ULL << ETH_SS_FEATURES;
	r->ifr_data = (void *)set;
	if (ioctl(fd, SIOCETHTOOL, r) || !set->sset_mask)
		goto out;
	len = set->data[0];
	names = calloc(1, sizeof(*names) + (size_t)len * ETH_GSTRING_LEN);
	all = calloc(1, sizeof(*all) + (len + 31) / 32 * sizeof(all->features[0]));
	if (!names || !all)
		goto out;
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_FEATURES;
	names->len = len;
	r->ifr_data = (void *)names;
	if (ioctl(fd, SIOCETHTOOL, r))
		goto out;
	all->cmd = ETHTOOL_GFEATURES;
	all->size = (len + 31) / 32;
	r->ifr_data = (void *)all;
	if (ioctl(fd, SIOCETHTOOL, r))
		goto out;
	for (i = 0; i < len; i++)
		if (!strncmp((char *)names->data + (size_t)i * ETH_GSTRING_LEN, name,
			     ETH_GSTRING_LEN))
			can = all->features[i / 32].available >> i % 32 & 1;
out:
	free(set);
	free(names);
	free(all);
	return can;
}

static void check_offloads(struct check *c, const char *dev, int fd, struct ifreq *r)
{
	int gro = is_veth(fd, r) ? -1 : ethtool_value(fd, r, ETHTOOL_GGRO);
	int gso = ethtool_value(fd, r, ETHTOOL_GGSO);
	char type[80];

	snprintf(type, sizeof(type), "ethtool -K %s gro on", dev);
	if (!gro)
		found(c, BAD, "offloads", type, "%s: without GRO each packet is handled by itself", dev);
	/* GSO wants a card that gathers: without, nothing can be typed */
	snprintf(type, sizeof(type), "ethtool -K %s tx on sg on gso on", dev);
	if (!gso && can_have(fd, r, "tx-scatter-gather"))
		found(c, BAD, "offloads", type, "%s: without GSO each packet is sent by itself", dev);
	else if (gro > 0)
		found(c, FINE, "offloads", NULL, "%s: GRO is on, GSO is %s", dev,
		      gso > 0 ? "on" : gso ? "not known" : "nothing the card can have");
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
	if (!ioctl(fd, SIOCGIFFLAGS, &r))
		check_link(c, dev, r.ifr_flags);
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
