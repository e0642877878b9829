// SPDX-License-Identifier: GPL-2.0
/*
 * Which processors handle what arrives at a device: its receive queues, RPS and interrupts. Of
 * devices that stand for hardware alone; others run where packets come from.
 */
#include <dirent.h>
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

/* Has the mask of processors in this file a bit? */
static int has_bit(const char *path)
{
	char text[400] = "";
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	return text[strspn(text, "0,\n")] != '\0';
}

/* Return: how many receive queues; @rps: whether one of them has processors of its own */
static int rx_queues(const char *dev, int *rps)
{
	char path[400];
	struct dirent *d;
	DIR *dir;
	int nr = 0;

	*rps = 0;
	snprintf(path, sizeof(path), "/sys/class/net/%.15s/queues", dev);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, "rx-", 3))
			continue;
		nr++;
		snprintf(path, sizeof(path), "/sys/class/net/%.15s/queues/%s/rps_cpus", dev, d->d_name);
		*rps |= has_bit(path);
	}
	if (dir)
		closedir(dir);
	return nr;
}

/* How many queues the driver can have */
static int most_queues(const char *dev)
{
	struct ethtool_channels ch = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq r = { .ifr_data = (void *)&ch };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), most = 0;

	if (fd < 0)
		return 0;
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%.15s", dev);
	if (!ioctl(fd, SIOCETHTOOL, &r))
		most = (int)ch.max_combined;
	close(fd);
	return most;
}

/* The one processor that this file of an interrupt names. Return: -1: none, or several */
static int one_of(const char *irq, const char *file)
{
	char path[400], text[100] = "", *end;
	long cpu;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/irq/%.20s/%s", irq, file);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	cpu = strtol(text, &end, 10);
	return end == text || (*end && *end != '\n') ? -1 : (int)cpu;
}

/* The processor that an interrupt goes to, or from the next one on */
static int irq_processor(const char *irq)
{
	int wanted = one_of(irq, "smp_affinity_list");

	return wanted >= 0 ? wanted : one_of(irq, "effective_affinity_list");
}

/* Return: the processor that all interrupts of the device go to; -1: several, or not known */
static int one_processor(const char *dev)
{
	int cpu = -1, nr = 0, other, same = 1;
	char path[100];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/device/msi_irqs", dev);
	dir = opendir(path);
	if (!dir) {
		/* virtio: a device above the one of PCI */
		snprintf(path, sizeof(path), "/sys/class/net/%.15s/device/../msi_irqs", dev);
		dir = opendir(path);
	}
	while (dir && (d = readdir(dir))) {
		other = irq_processor(d->d_name);
		if (*d->d_name == '.' || other < 0)
			continue;
		same &= !nr++ || other == cpu;
		cpu = other;
	}
	if (dir)
		closedir(dir);
	return same && nr > 1 ? cpu : -1;
}

void check_irq(struct check *c, const char *dev)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int nr, rps, most, cpu;
	char path[60], type[160];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/device", dev);
	if (access(path, F_OK) || cpus < 2)
		return;
	nr = rx_queues(dev, &rps);
	cpu = one_processor(dev);
	if (rps || (nr > 1 && cpu < 0)) {
		found(c, FINE, "rx_processors", NULL, "%s: %d receive queues%s", dev, nr,
		      rps ? ", RPS is on" : "");
		return;
	}
	most = most_queues(dev);
	if (nr == 1 && most > 1)
		snprintf(type, sizeof(type), "ethtool -L %s combined %ld", dev, most < cpus ? most : cpus);
	else if (nr == 1)
		snprintf(type, sizeof(type), "echo %lx >/sys/class/net/%s/queues/rx-0/rps_cpus",
			 cpus < 32 ? (1UL << cpus) - 1 : 0xffffffffUL, dev);
	else
		strcpy(type, "apt-get install -y irqbalance && systemctl restart irqbalance");
	if (nr == 1)
		found(c, BAD, "rx_processors", type,
		      "%s: one receive queue and no RPS: one of %ld processors handles all that arrives", dev, cpus);
	else
		found(c, BAD, "rx_processors", type,
		      "%s: all interrupts of %d receive queues go to processor %d of %ld", dev, nr, cpu, cpus);
}
