// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "prog.h"

char cgroup_dir[64];
static int cgroup = -1;

void cgroup_enter(const char *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	ASSERT_OK(file_write(-1, path, "0"));
}

void cgroup_open(void)
{
	snprintf(cgroup_dir, sizeof(cgroup_dir), "/sys/fs/cgroup/dlcp-%d",
		 getpid());
	if (mkdir(cgroup_dir, 0755))
		SKIP("no control groups here");
	cgroup = ASSERT_OK(open(cgroup_dir, O_DIRECTORY | O_CLOEXEC));
	cgroup_enter(cgroup_dir);
}

void cgroup_leave(void)
{
	cgroup_enter("/sys/fs/cgroup");
}

int prog_load(int type, int at, const struct bpf_insn *insns, int nr)
{
	union bpf_attr a = {
		.prog_type = type, .expected_attach_type = at,
		.insns = (uintptr_t)insns, .insn_cnt = nr,
		.license = (uintptr_t)"GPL",
	};

	return ASSERT_OK(syscall(__NR_bpf, BPF_PROG_LOAD, &a, sizeof(a)));
}

void prog_attach(int prog, int at)
{
	union bpf_attr a = {
		.target_fd = cgroup, .attach_bpf_fd = prog, .attach_type = at,
	};

	ASSERT_OK(syscall(__NR_bpf, BPF_PROG_ATTACH, &a, sizeof(a)));
}

void prog_detach(int prog, int at)
{
	union bpf_attr a = {
		.target_fd = cgroup, .attach_bpf_fd = prog, .attach_type = at,
	};

	ASSERT_OK(syscall(__NR_bpf, BPF_PROG_DETACH, &a, sizeof(a)));
}
