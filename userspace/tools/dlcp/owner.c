// SPDX-License-Identifier: GPL-2.0
/*
 * Which process has which socket, by the inode numbers of /proc/PID/fd.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

struct owner {
	uint64_t	inode;
	char		text[48];
};

struct owners {
	struct owner	*list;
	size_t		nr;
	size_t		room;
};

/* Any user names processes, and root reads it at a terminal */
static void make_plain(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void add(struct owners *o, uint64_t inode, const char *pid)
{
	char path[300], comm[20] = "?";
	struct owner *more;
	FILE *f;

	if (o->nr == o->room) {
		more = realloc(o->list, (2 * o->room + 64) * sizeof(*more));
		if (!more)
			return;
		o->list = more;
		o->room = 2 * o->room + 64;
	}
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f) {
		if (fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = '\0';
		fclose(f);
		make_plain(comm);
	}
	o->list[o->nr].inode = inode;
	snprintf(o->list[o->nr++].text, sizeof(o->list->text), "%s(%.20s)", comm, pid);
}

static void read_process(struct owners *o, const char *pid)
{
	char path[300], target[64];
	struct dirent *e;
	uint64_t inode;
	ssize_t len;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((e = readdir(dir))) {
		len = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1)
			add(o, inode, pid);
	}
	closedir(dir);
}

struct owners *owners_read(void)
{
	struct owners *o = calloc(1, sizeof(*o));
	DIR *dir = o ? opendir("/proc") : NULL;
	struct dirent *e;

	if (!dir)
		return o;
	while ((e = readdir(dir)))
		if (isdigit((unsigned char)*e->d_name))
			read_process(o, e->d_name);
	closedir(dir);
	return o;
}

const char *owners_find(const struct owners *o, uint64_t inode)
{
	size_t i;

	for (i = 0; o && inode && i < o->nr; i++)
		if (o->list[i].inode == inode)
			return o->list[i].text;
	return "";
}

void owners_free(struct owners *o)
{
	if (o)
		free(o->list);
	free(o);
}
