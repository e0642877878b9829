// SPDX-License-Identifier: GPL-2.0
/*
 * The module, its UDP port and settings.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/dlcp.h>

#include "findings.h"

/* The first line of what a command prints, or "" */
static void first_line(const char *command, char *buf, size_t size)
{
	FILE *f = popen(command, "re");

	*buf = '\0';
	if (!f)
		return;
	if (fgets(buf, (int)size, f))
		buf[strcspn(buf, "\n")] = '\0';
	pclose(f);
}

/* Is the module in memory the one that the next boot loads? */
static void check_same(struct check *c)
{
	char here[64] = "", there[64];
	FILE *f = fopen("/sys/module/dlcp/srcversion", "re");

	if (f) {
		if (fgets(here, sizeof(here), f))
			here[strcspn(here, "\n")] = '\0';
		fclose(f);
	}
	first_line("modinfo -F srcversion dlcp 2>/dev/null", there, sizeof(there));
	if (*here && *there && strcmp(here, there))
		found(c, BAD, "module", "modprobe -r dlcp && modprobe dlcp",
		      "the module that is loaded is not the one that is installed");
}

/* Does the kernel load modules with a signature alone? */
static int wants_signature(void)
{
	char text[80] = "";
	FILE *f = fopen("/sys/module/module/parameters/sig_enforce", "re");

	if (f) {
		if (!fgets(text, sizeof(text), f))
			*text = '\0';
		fclose(f);
	}
	if (*text == 'Y')
		return 1;
	f = fopen("/sys/kernel/security/lockdown", "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	return strstr(text, "[integrity]") || strstr(text, "[confidentiality]");
}

/* Of a module that is not installed nobody knows */
static void check_signature(struct check *c, enum level level)
{
	static const char enroll[] = "mokutil --import /var/lib/dkms/mok.pub && reboot";
	char file[300], signer[100];

	first_line("modinfo -n dlcp 2>/dev/null", file, sizeof(file));
	if (!wants_signature() || !*file)
		return;
	first_line("modinfo -F signer dlcp 2>/dev/null", signer, sizeof(signer));
	if (!*signer)
		found(c, level, "signature", "apt-get install -y --reinstall dlcp-dkms && mokutil --import /var/lib/dkms/mok.pub && reboot",
		      "this kernel loads signed modules alone (Secure Boot), and %s is not signed", file);
	else if (level == WRONG)
		found(c, level, "signature", enroll,
		      "this kernel loads signed modules alone (Secure Boot); `modprobe dlcp` works if it knows the key of \"%s\", who signed %s",
		      signer, file);
	else
		found(c, FINE, "signature", NULL, "signed by \"%s\"", signer);
}

int check_module(struct check *c)
{
	char version[40];
	int fd;

	if (module_version(version, sizeof(version))) {
		check_signature(c, WRONG);
		found(c, WRONG, "module", "modprobe dlcp", "the module dlcp is not loaded");
		return -1;
	}
	fd = source_socket(AF_INET, 0);
	if (fd < 0) {
		found(c, WRONG, "socket", NULL,
		      "socket(): %s: a policy of this service or container forbids it; allow it in seccomp, RestrictAddressFamilies= or AppArmor",
		      strerror(errno));
		return -1;
	}
	close(fd);
	found(c, FINE, "module", NULL, "dlcp %s is loaded", version);
	check_same(c);
	check_signature(c, BAD);
	return 0;
}

/**
 * struct bound - who has a UDP port
 * @nr: sockets that are bound to it
 * @inode: of one that a process may have, or 0
 * @uid: its user
 */
struct bound {
	int		nr;
	unsigned long	inode;
	unsigned int	uid;
};

static void read_bound(struct bound *b, const char *file, long port)
{
	unsigned int local, uid;
	unsigned long inode;
	char line[400];
	FILE *f = fopen(file, "re");

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*d: %*[0-9A-F]:%x %*s %*s %*s %*s %*s %u %*s %lu",
			   &local, &uid, &inode) != 3 || local != port)
			continue;
		b->nr++;
		b->inode = inode;
		b->uid = uid;
	}
	fclose(f);
}

/* The module's socket is root's, and no process has it. Return: whether there is a finding */
static int check_squatter(struct check *c, const struct bound *b)
{
	struct owners *owners = owners_read();
	const char *who = owners_find(owners, b->inode);
	int taken = *who || b->uid;
	char type[80];

	snprintf(type, sizeof(type), "ss -lunp 'sport = :%ld'", c->port);
	if (taken)
		found(c, WRONG, "udp_port", type,
		      "another program has UDP port %ld%s%s: stop it", c->port,
		      *who ? ": " : "", who);
	owners_free(owners);
	return taken;
}

static void check_bound(struct check *c)
{
	struct bound b = { 0 };
	char type[80];

	read_bound(&b, "/proc/thread-self/net/udp", c->port);
	if (!b.nr)
		read_bound(&b, "/proc/thread-self/net/udp6", c->port);
	snprintf(type, sizeof(type), "sysctl -w net.dlcp.udp_port=%ld", c->port);
	if (!b.nr)
		found(c, geteuid() ? WRONG : BAD, "udp_port", type,
		      "UDP port %ld is not open yet: root's first connect() or listen() opens it, those of users fail before",
		      c->port);
	else if (!check_squatter(c, &b))
		found(c, FINE, "udp_port", NULL, "UDP port %ld is open", c->port);
}

void check_port(struct check *c)
{
	if (!c->port) {
		found(c, WRONG, "udp_port", "sysctl -w net.dlcp.udp_port=6253",
		      "UDP is switched off in this network namespace");
		return;
	}
	check_bound(c);
	if (c->port != DLCP_UDP_PORT)
		found(c, BAD, "udp_port", "sysctl -w net.dlcp.udp_port=6253",
		      "the UDP port is %ld and not 6253: all hosts must have the same", c->port);
}

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

static void check_rails(struct check *c)
{
	char text[120], *save, *dev;
	int nr = 0, bad = 0;

	setting_read("rails", text, sizeof(text));
	for (dev = strtok_r(text, " \t,", &save); dev; dev = strtok_r(NULL, " \t,", &save)) {
		nr++;
		if (if_nametoindex(dev))
			continue;
		bad++;
		found(c, BAD, "rails", "ip -br link",
		      "net.dlcp.rails names %s, which is not here: the other devices carry all", dev);
	}
	if (nr && !bad)
		found(c, FINE, "rails", NULL, "%d devices", nr);
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
	check_rails(c);
}
