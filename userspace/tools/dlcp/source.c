// SPDX-License-Identifier: GPL-2.0
/*
 * Where the kernel's figures are, and why they cannot be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/dlcp.h>

#include "tool.h"

/* Not /proc/net: that is the process's, and a thread may have gone elsewhere */
#define PROC_DIR	"/proc/thread-self/net/dlcp"

static int say_no_namespace(const char *path, int err)
{
	return say_error("%s is no network namespace (%s): `ip netns` lists those that have names",
			 path, strerror(err));
}

int source_enter(const struct source *src)
{
	char path[WORD_MAX + 20];
	int fd, err;

	if (!src->netns)
		return 0;
	if (src->dir)
		return say_usage("-N and --from do not go together");
	snprintf(path, sizeof(path), "%s%s", strchr(src->netns, '/') ? "" : "/run/netns/",
		 src->netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return say_error("there is no network namespace %s: `ip netns` lists those that have names",
				 src->netns);
	if (fd < 0)
		return say_no_namespace(path, errno);
	err = setns(fd, CLONE_NEWNET) ? errno : 0;
	close(fd);
	if (err == EPERM)
		return say_error("not permitted to enter network namespace %s: run it as root (sudo)",
				 src->netns);
	return err ? say_no_namespace(path, err) : 0;
}

/* As libdlcp makes them: where AppArmor has "network inet,", our type is not among those it gives */
int source_socket(int family, int flags)
{
	int fd = socket(family, SOCK_DLCP | SOCK_CLOEXEC | flags, 0);

	if (fd < 0 && errno == EACCES)
		fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | flags, IPPROTO_DLCP);
	return fd;
}

/* Whether socket() knows DLCP. A policy that forbids it may hide it */
static int socket_knows(void)
{
	int fd = source_socket(AF_INET, 0);

	if (fd < 0)
		return errno != ESOCKTNOSUPPORT && errno != EPROTONOSUPPORT &&
		       errno != EAFNOSUPPORT && errno != EINVAL;
	close(fd);
	return 1;
}

int module_version(char *version, size_t size)
{
	FILE *f = fopen("/sys/module/dlcp/version", "re");

	*version = '\0';
	if (f) {
		if (fgets(version, (int)size, f))
			version[strcspn(version, "\n")] = '\0';
		fclose(f);
		return 0;
	}
	return access("/sys/module/dlcp", F_OK) && !socket_knows() ? -1 : 0;
}

/* Its file is left out where there is no libmnl */
__attribute__((weak)) int netlink_read(const char *name, char **text)
{
	(void)name;
	(void)text;
	return ELIBACC;
}

/* @what cannot be had though the module is there */
static void say_absent(const char *what)
{
	char version[40];

	if (module_version(version, sizeof(version)))
		say_error("the module dlcp is not loaded: run `modprobe dlcp` as root");
	else
		say_error("the module is loaded, but %s", what);
}

static char *read_netlink(const char *name)
{
	char *text;
	int err = netlink_read(name, &text);

	switch (err) {
	case 0:
		return text;
	case ENOENT:
		say_absent("it has no netlink family: install the module that this program came with");
		break;
	case ELIBACC:
		say_error("this dlcp was built without libmnl, which tells it of sockets: install libmnl-dev and build it again");
		break;
	case EPERM:
	case EACCES:
		say_error("not permitted to ask the kernel for %s: run it as root (sudo)", name);
		break;
	case EPROTONOSUPPORT:
	case EAFNOSUPPORT:
		say_error("netlink sockets are forbidden here, by seccomp say: run it on the host");
		break;
	default:
		say_error("cannot ask the kernel for %s: %s", name, strerror(err));
	}
	return NULL;
}

static char *read_all(int fd)
{
	size_t size = 16384, len = 0;
	char *text = malloc(size), *more;
	ssize_t n;

	while (text) {
		n = read(fd, text + len, size - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		if (size - len > 4096)
			continue;
		size *= 2;
		more = realloc(text, size);
		if (!more)
			free(text);
		text = more;
	}
	if (text && n < 0) {
		free(text);
		return NULL;
	}
	if (text)
		text[len] = '\0';
	return text;
}

static void say_unreadable(const struct source *src, const char *path)
{
	if (src->dir)
		say_error("%s: %s: --from wants a folder with files of `dlcp show -t NAME`, with these names",
			  path, strerror(errno));
	else
		say_error("%s: %s", path, strerror(errno));
}

char *source_read(const struct source *src, const char *name)
{
	char path[WORD_MAX + 20], *text;
	int fd;

	if (!src->dir && strcmp(name, "snmp"))
		return read_netlink(name);
	snprintf(path, sizeof(path), "%s/%s", src->dir ? src->dir : PROC_DIR, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT && !src->dir)
			say_absent("/proc/net/dlcp is not visible here: /proc is of another namespace, is masked, or has subset=pid; run it on the host, or with `nsenter -m -n -t PID`");
		else if (errno == EACCES || errno == EPERM)
			say_error("not permitted to read %s: run it as root (sudo)", path);
		else
			say_unreadable(src, path);
		return NULL;
	}
	text = read_all(fd);
	if (!text)
		say_unreadable(src, path);
	close(fd);
	return text;
}

int look_option(int c, const struct look *look, const char *help)
{
	switch (c) {
	case 'j': *look->json = 1; return 0;
	case 'N': look->src->netns = optarg; return 0;
	case 'f': look->src->dir = optarg; return 0;
	case 'w':
		*look->interval = parse_interval(optarg);
		return *look->interval ? 0 : say_usage("%s is no interval in seconds", optarg);
	case 'c':
		if (!parse_u64(optarg, look->count) && *look->count)
			return 0;
		return say_usage("%s is no number of looks", optarg);
	default:
		return say_help(c, help);
	}
}

int look_check(const struct look *look)
{
	return *look->count && !*look->interval ? say_usage("-c goes with -w") : 0;
}
