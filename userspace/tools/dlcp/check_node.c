// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of this node, and the cgroups of this process: limits, and programs that see packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "findings.h"

#define CGROUPS		"/sys/fs/cgroup"
#define CGROUP2_MAGIC	0x63677270

void check_clock(struct check *c)
{
	struct timex t = { 0 };
	int state = adjtimex(&t);

	if (state < 0)
		found(c, UNKNOWN, "clock", "timedatectl", "adjtimex(): %s", strerror(errno));
	else if (state == TIME_ERROR || (t.status & STA_UNSYNC))
		found(c, BAD, "clock", "apt-get install -y chrony && systemctl restart chrony",
		      "the clock is not synchronised: logs of several nodes do not tell what came first");
	else
		found(c, FINE, "clock", NULL, "the clock is synchronised");
}

/* This process's folder below CGROUPS. Return: 0, or -1 */
static int own_cgroup(char *path, size_t size)
{
	struct statfs fs;
	char line[1000];
	FILE *f = fopen("/proc/self/cgroup", "re");
	int ret = -1;

	if (!f)
		return -1;
	while (ret && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4))
			continue;
		snprintf(path, size, CGROUPS "%.900s", line[4] ? line + 3 : "");
		ret = 0;
	}
	fclose(f);
	if (ret || statfs(CGROUPS, &fs) || fs.f_type != CGROUP2_MAGIC)
		return -1;
	return access(path, F_OK);
}

static int read_line(const char *dir, const char *name, char *buf, size_t size)
{
	char path[1100];
	FILE *f;
	int ret = -1;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fgets(buf, (int)size, f)) {
		buf[strcspn(buf, "\n")] = '\0';
		ret = 0;
	}
	fclose(f);
	return ret;
}

/* How far the buffers of one connection grow */
static long most_buffers(void)
{
	static const char *const names[] = { "rmem", "wmem" };
	long most, sum = 0;
	char text[80];
	size_t i;

	for (i = 0; i < 2; i++) {
		setting_read(names[i], text, sizeof(text));
		if (sscanf(text, "%*d %*d %ld", &most) == 1)
			sum += most;
	}
	return sum;
}

/* A limit, or the mark above which allocations wait. Return: whether there is a finding */
static int check_memory(struct check *c, const char *dir, const char *name)
{
	long limit, need = most_buffers();
	char text[80], type[1200];

	if (read_line(dir, name, text, sizeof(text)) ||
	    sscanf(text, "%ld", &limit) != 1 || limit >= need)
		return 0;
	snprintf(type, sizeof(type), "echo max >%s/%s", dir, name);
	found(c, BAD, "cgroup", type,
	      "processes of this cgroup may have %ld MiB; the buffers of one connection, which count, grow to %ld MiB",
	      limit >> 20, need >> 20);
	return 1;
}

static int check_cpu(struct check *c, const char *dir)
{
	long quota, period;
	char text[80], type[1200];

	if (read_line(dir, "cpu.max", text, sizeof(text)) ||
	    sscanf(text, "%ld %ld", &quota, &period) != 2 || quota >= period)
		return 0;
	snprintf(type, sizeof(type), "echo max >%s/cpu.max", dir);
	found(c, BAD, "cgroup", type,
	      "processes of this cgroup may use %.2f of a processor: a rank that has used it waits, and all others for it",
	      (double)quota / (double)period);
	return 1;
}

/* Programs of this kind for this cgroup, its parents' among them; 0 if nobody may ask */
static int programs(int fd, enum bpf_attach_type type)
{
	union bpf_attr attr = {
		.query = {
			.target_fd = (uint32_t)fd,
			.attach_type = type,
			.query_flags = BPF_F_QUERY_EFFECTIVE,
		},
	};

	if (syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) && errno != ENOSPC)
		return 0;
	return (int)attr.query.prog_cnt;
}

static int check_programs(struct check *c, const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), in;
	char type[1200];

	if (fd < 0)
		return 0;
	in = programs(fd, BPF_CGROUP_INET_INGRESS);
	c->programs = programs(fd, BPF_CGROUP_INET_EGRESS);
	close(fd);
	if (!in && !c->programs)
		return 0;
	snprintf(type, sizeof(type), "bpftool cgroup tree %s; systemctl show -p IPAddressDeny UNIT", dir);
	found(c, UNKNOWN, "cgroup", type,
	      "%d BPF programs of this cgroup see each packet that leaves, %d each that arrives, and may drop it",
	      c->programs, in);
	return 1;
}

/* Those that this process may use: taskset, a cgroup's cpuset */
static void check_processors(struct check *c)
{
	long all = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;
	int nr;

	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	nr = CPU_COUNT(&set);
	if (nr > 1 || all < 2)
		found(c, FINE, "processors", NULL, "%d of %ld for processes as this one", nr, all);
	else
		found(c, BAD, "processors", "taskset -p $$; cat /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/cpuset.cpus",
		      "processes as this one run on one of %ld processors, program and kernel in turn", all);
}

void check_cgroup(struct check *c)
{
	int nr = 0;
	char path[1000], *slash;

	check_processors(c);
	if (own_cgroup(path, sizeof(path))) {
		found(c, UNKNOWN, "cgroup", NULL, "cgroups (version 2) are not visible here");
		return;
	}
	nr += check_programs(c, path);
	/* Limits of those above count, too */
	while (strlen(path) > strlen(CGROUPS)) {
		nr += check_memory(c, path, "memory.max") + check_memory(c, path, "memory.high") +
		      check_cpu(c, path);
		slash = strrchr(path, '/');
		*slash = '\0';
	}
	if (!nr)
		found(c, FINE, "cgroup", NULL, "it limits neither memory nor processors much");
}
