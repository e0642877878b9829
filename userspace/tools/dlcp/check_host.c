// SPDX-License-Identifier: GPL-2.0
/*
 * The module and its UDP port.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
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

static void check_unloaded(struct check *c)
{
	char file[300], would[300], type[300];
	struct utsname uts = { 0 };

	first_line("modinfo -n dlcp 2>/dev/null", file, sizeof(file));
	first_line("modprobe -n -v dlcp 2>/dev/null", would, sizeof(would));
	uname(&uts);
	if (!*file) {
		snprintf(type, sizeof(type), "apt-get install -y linux-headers-%s dlcp-dkms && dkms autoinstall && modprobe dlcp", uts.release);
		found(c, WRONG, "module", type,
		      "the module dlcp is not loaded, and none is installed for this kernel, %s: the package dlcp-dkms builds it, if the kernel's headers are here",
		      uts.release);
		return;
	}
	if (!strncmp(would, "install ", 8)) {
		found(c, WRONG, "module", "grep -rE 'install +dlcp' /etc/modprobe.d /run/modprobe.d /lib/modprobe.d",
		      "the module dlcp is not loaded, and a line of modprobe.d runs `%s` in its place: remove that, and run `modprobe dlcp`",
		      would + 8);
		return;
	}
	found(c, WRONG, "module", "modprobe dlcp", "the module dlcp is not loaded");
}

int check_module(struct check *c)
{
	char version[40];
	int fd;

	if (module_version(version, sizeof(version))) {
		check_signature(c, WRONG);
		check_unloaded(c);
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
