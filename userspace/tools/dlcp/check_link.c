// SPDX-License-Identifier: GPL-2.0
/*
 * A device's link: whether it has one, how fast it is, the rings of its card, and its VRF.
 */
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

/* Below it TCP serves as well, Mbit/s */
#define SLOW_LINK	1000
/* Packets that a card should have room for, at least */
#define SHORT_RING	256

/* The text of a file below /sys/class/net/DEV. Return: whether there is some */
static int read_file(const char *dev, const char *name, char *buf, size_t size)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/%s", dev, name);
	*buf = '\0';
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(buf, (int)size, f))
		*buf = '\0';
	fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	return !!*buf;
}

static int has_file(const char *dev, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/%s", dev, name);
	return !access(path, F_OK);
}

static void check_speed(struct check *c, const char *dev)
{
	char speed[20], duplex[20], type[100];

	if (!read_file(dev, "speed", speed, sizeof(speed)) || atol(speed) <= 0)
		return;
	read_file(dev, "duplex", duplex, sizeof(duplex));
	snprintf(type, sizeof(type), "ethtool %s; ethtool -s %s autoneg on", dev, dev);
	if (!strcmp(duplex, "half"))
		found(c, BAD, "link", type,
		      "%s: half duplex: one side sends at a time, which the other side may not know", dev);
	else if (atol(speed) < SLOW_LINK)
		found(c, BAD, "link", type,
		      "%s: %s Mbit/s: is that the card's, or was a slow speed agreed on (cable, switch)?",
		      dev, speed);
	else
		found(c, FINE, "link", NULL, "%s: %s Mbit/s", dev, speed);
}

static void check_ring(struct check *c, const char *dev)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ifreq r = { .ifr_data = (void *)&ring };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;
	unsigned int most;
	char type[100];

	if (fd < 0)
		return;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%.15s", dev);
	err = ioctl(fd, SIOCETHTOOL, &r);
	close(fd);
	most = ring.rx_max_pending;
	if (err || ring.rx_pending >= SHORT_RING || ring.rx_pending >= most)
		return;
	snprintf(type, sizeof(type), "ethtool -G %s rx %u", dev, most);
	found(c, BAD, "ring", type,
	      "%s: room for %u packets that arrive, of %u that the card can have: a burst is lost",
	      dev, ring.rx_pending, most);
}

/* The VRF that the device is of, or "" */
static void vrf_of(const char *dev, char *vrf)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq r = { .ifr_data = (void *)&info };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char index[20];

	*vrf = '\0';
	if (fd < 0)
		return;
	if (read_file(dev, "master/ifindex", index, sizeof(index)) &&
	    if_indextoname((unsigned int)atoi(index), r.ifr_name) &&
	    !ioctl(fd, SIOCETHTOOL, &r) && !strcmp(info.driver, "vrf"))
		memcpy(vrf, r.ifr_name, IF_NAMESIZE);
	close(fd);
}

/* What comes by a VRF finds the module's UDP socket, or it does not */
static void check_vrf(struct check *c, const char *dev)
{
	char vrf[IF_NAMESIZE], accept = '1';
	FILE *f;

	vrf_of(dev, vrf);
	if (!*vrf)
		return;
	f = fopen("/proc/sys/net/ipv4/udp_l3mdev_accept", "re");
	if (f) {
		accept = (char)fgetc(f);
		fclose(f);
	}
	if (accept == '0')
		found(c, WRONG, "vrf", "sysctl -w net.ipv4.udp_l3mdev_accept=1",
		      "%s is of VRF %s, from which nothing gets to the UDP port", dev, vrf);
	else
		found(c, FINE, "vrf", NULL, "%s is of VRF %s", dev, vrf);
}

void check_link(struct check *c, const char *dev, int flags)
{
	char type[100];

	snprintf(type, sizeof(type), "ip -br link; ethtool %s", dev);
	/* A bridge without ports is idle, say one of containers */
	if (!(flags & IFF_RUNNING) && !has_file(dev, "bridge"))
		found(c, BAD, "link", type, "%s has no link: look at its cable, and at the other end", dev);
	else if (has_file(dev, "device"))
		check_speed(c, dev);
	check_ring(c, dev);
	check_vrf(c, dev);
}
