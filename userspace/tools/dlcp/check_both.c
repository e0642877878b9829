// SPDX-License-Identifier: GPL-2.0
/*
 * What two hosts must have in common: `dlcp ping -l` sends a text about its host to whoever
 * connects, a line for each fact, and `dlcp check` compares it with its own.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>

#include <dlcp.h>

#include "findings.h"

/* Clocks that NTP keeps differ by less, ns */
#define CLOCK_APART	100000000LL

static long long real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Those that name devices or depend on the machine's memory are the host's own affair */
static int is_common(const struct dirent *d)
{
	return *d->d_name != '.' && strcmp(d->d_name, "rails") && strcmp(d->d_name, "mem");
}

static size_t add_settings(char *buf, size_t size)
{
	struct dirent **list;
	char value[200], *at;
	size_t len = 0;
	int i, nr = scandir("/proc/sys/net/dlcp", &list, is_common, alphasort);

	for (i = 0; i < nr; i++) {
		setting_read(list[i]->d_name, value, sizeof(value));
		while ((at = strchr(value, '\t')))
			*at = ' ';
		if (len < size)
			len += (size_t)snprintf(buf + len, size - len, "net.dlcp.%s %s\n",
						list[i]->d_name, value);
		free(list[i]);
	}
	if (nr >= 0)
		free(list);
	return len;
}

void about_host(char *buf, size_t size)
{
	char version[40] = "", build[64] = "";
	struct utsname uts = { 0 };
	size_t len;
	FILE *f;

	module_version(version, sizeof(version));
	f = fopen("/sys/module/dlcp/srcversion", "re");
	if (f) {
		if (fgets(build, sizeof(build), f))
			build[strcspn(build, "\n")] = '\0';
		fclose(f);
	}
	uname(&uts);
	len = (size_t)snprintf(buf, size, "time %lld\nmodule %s\nbuild %s\nkernel %s\n",
			       real_ns(), version, build, uts.release);
	add_settings(buf + len, size - len);
}

void about_send(int fd)
{
	char text[4096];
	struct dlcp_send msg = { .size = sizeof(msg), .buf = text, .flags = MSG_DONTWAIT };

	about_host(text, sizeof(text));
	msg.len = strlen(text);
	/* Most that connect do not want it: what becomes of it is theirs */
	dlcp_send(fd, &msg);
}

/* It is for root's terminal, and whoever answers at that port wrote it */
static void make_plain(char *text)
{
	for (; *text; text++)
		if (*text != '\n' && ((unsigned char)*text < 0x20 || *text == 0x7f))
			*text = '?';
}

/* The line of @text that begins so, into @value. Return: 0, or -1 */
static int look_up(const char *text, const char *name, char *value, size_t size)
{
	size_t len = strlen(name);
	const char *line = text;

	for (; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (strncmp(line, name, len) || line[len] != ' ')
			continue;
		snprintf(value, size, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
		return 0;
	}
	*value = '\0';
	return -1;
}

/* The other host's clock was read at some time between @begin and @end of this one's */
static void compare_clocks(struct check *c, const char *host, const char *there,
			   long long begin, long long end)
{
	long long apart = 0, time;
	char value[40], type[200];

	if (look_up(there, "time", value, sizeof(value)))
		return;
	time = atoll(value);
	if (time < begin)
		apart = time - begin;
	else if (time > end)
		apart = time - end;
	if (llabs(apart) < CLOCK_APART) {
		found(c, FINE, "peer_clock", NULL, "%s: the clocks agree within %.1f s", host,
		      (double)(end - begin + CLOCK_APART) / 1e9);
		return;
	}
	snprintf(type, sizeof(type), "here and at %s: apt-get install -y chrony && chronyc makestep", host);
	found(c, BAD, "peer_clock", type, "the clock of %s is %.1f s %s this one's: logs do not tell what came first",
	      host, (double)llabs(apart) / 1e9, apart < 0 ? "behind" : "ahead of");
}

static void compare_versions(struct check *c, const char *host, const char *here, const char *there)
{
	char own[64], other[64], kernel[66], type[200];

	look_up(here, "module", own, sizeof(own));
	look_up(there, "module", other, sizeof(other));
	look_up(there, "kernel", kernel, sizeof(kernel));
	snprintf(type, sizeof(type), "here and at %s: apt-get update && apt-get install -y dlcp-dkms && modprobe -r dlcp && modprobe dlcp",
		 host);
	if (strcmp(own, other)) {
		found(c, BAD, "peer_version", type, "the module is %s here, and %s at %s", own,
		      other, host);
		return;
	}
	/* Of one version: the kernels may differ, and then the builds do */
	found(c, FINE, "peer_version", NULL, "%s: dlcp %s, kernel %s", host, other, kernel);
}

static void compare_settings(struct check *c, const char *host, const char *here, const char *there)
{
	char name[60], own[200], other[200], type[300];
	const char *line = here;
	int differ = 0;

	for (; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (sscanf(line, "net.dlcp.%40s", own) != 1)
			continue;
		snprintf(name, sizeof(name), "net.dlcp.%.40s", own);
		look_up(here, name, own, sizeof(own));
		if (look_up(there, name, other, sizeof(other)) || !strcmp(own, other))
			continue;
		differ++;
		snprintf(type, sizeof(type), "at %.60s: sysctl -w %s='%.60s'", host, name, own);
		found(c, BAD, "peer_settings", type, "%s is `%s` here, and `%s` at %s", name, own,
		      other, host);
	}
	if (!differ)
		found(c, FINE, "peer_settings", NULL, "%s: all of net.dlcp is as it is here", host);
}

void check_both(struct check *c, const char *host, const struct sockaddr_storage *to,
		int timeout_ms)
{
	char here[4096], there[4096], type[200];
	long long begin = real_ns(), end;
	int len = peer_read(to, timeout_ms, there, sizeof(there) - 1);

	end = real_ns();
	if (len <= 0) {
		snprintf(type, sizeof(type), "at %s: dlcp ping -l", host);
		found(c, UNKNOWN, "peer_settings", type,
		      "while `dlcp ping -l` runs at %s, its clock, version and settings are compared",
		      host);
		return;
	}
	there[len] = '\0';
	make_plain(there);
	about_host(here, sizeof(here));
	compare_clocks(c, host, there, begin, end);
	compare_versions(c, host, here, there);
	compare_settings(c, host, here, there);
}
