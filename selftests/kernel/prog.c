// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
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

static int prog_try(int type, int at, const struct bpf_insn *insns, int nr)
{
	union bpf_attr a = {
		.prog_type = type, .expected_attach_type = at,
		.insns = (uintptr_t)insns, .insn_cnt = nr,
		.license = (uintptr_t)"GPL",
	};

	return (int)syscall(__NR_bpf, BPF_PROG_LOAD, &a, sizeof(a));
}

int prog_load(int type, int at, const struct bpf_insn *insns, int nr)
{
	return ASSERT_OK(prog_try(type, at, insns, nr));
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

static int map_new(int type, int size, int flags)
{
	union bpf_attr a = {
		.map_type = type, .key_size = 4, .value_size = size,
		.max_entries = 1, .map_flags = flags,
	};

	return ASSERT_OK(syscall(__NR_bpf, BPF_MAP_CREATE, &a, sizeof(a)));
}

static void map_put(int map, const void *value)
{
	union bpf_attr a = {
		.map_fd = map, .key = (uintptr_t)&(int){ 0 },
		.value = (uintptr_t)value,
	};

	ASSERT_OK(syscall(__NR_bpf, BPF_MAP_UPDATE_ELEM, &a, sizeof(a)));
}

#define ASK	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ktime_get_ns)

/* It asks the clock 4000 times, and calls itself as often as it may. More would take
 * the verifier longer than the test.
 */
static int gate_load(int type, int map, int itself)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 8, 1, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 7, BPF_PSEUDO_MAP_VALUE, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 6, 0, 0, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 7, offsetof(struct gate, shut), 0),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 15, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, 7, 0, offsetof(struct gate, state), GATE_HOLDS),
		ASK, ASK, ASK, ASK,
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 1, 7, offsetof(struct gate, shut), 0),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 8, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 6, 0, 0, 1),
		INSN(BPF_JMP | BPF_JLT | BPF_K, 6, 0, -8, 1000),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 8, 0, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_MAP_FD, 0, itself),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call),
		INSN(BPF_ST | BPF_MEM | BPF_DW, 7, 0, offsetof(struct gate, state), GATE_GAVE_UP),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, 1),
		INSN(BPF_STX | BPF_ATOMIC | BPF_DW, 7, 1, offsetof(struct gate, passed), BPF_ADD),
		RETURN(1),
	};

	return prog_load(type, type == BPF_PROG_TYPE_CGROUP_SKB ? BPF_CGROUP_INET_EGRESS : 0,
			 insns, ARRAY_SIZE(insns));
}

struct gate *gate_open(const char *tracepoint)
{
	int map = map_new(BPF_MAP_TYPE_ARRAY, sizeof(struct gate), BPF_F_MMAPABLE);
	int itself = map_new(BPF_MAP_TYPE_PROG_ARRAY, 4, 0);
	union bpf_attr a = { .raw_tracepoint.name = (uintptr_t)tracepoint };
	const struct bpf_insn empty[] = { RETURN(0) };
	int prog;
	void *p;

	if (tracepoint && prog_try(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, empty,
				   ARRAY_SIZE(empty)) < 0)
		SKIP("programs at tracepoints are not known here");
	prog = gate_load(tracepoint ? BPF_PROG_TYPE_RAW_TRACEPOINT : BPF_PROG_TYPE_CGROUP_SKB,
			 map, itself);
	map_put(itself, &prog);
	a.raw_tracepoint.prog_fd = prog;
	if (!tracepoint)
		prog_attach(prog, BPF_CGROUP_INET_EGRESS);
	else if (syscall(__NR_bpf, BPF_RAW_TRACEPOINT_OPEN, &a, sizeof(a)) < 0)
		SKIP("programs cannot be attached to tracepoints here");
	p = mmap(NULL, getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	ASSERT(p != MAP_FAILED);
	return p;
}

bool gate_is_quiet(const struct gate *g)
{
	u64 passed = g->passed;
	int i;

	for (i = 0; i < 20; i++)
		nap_ms(1);
	return g->passed == passed;
}
