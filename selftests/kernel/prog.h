/* SPDX-License-Identifier: GPL-2.0 */
/* Programs of control groups and tracepoints, written out. */
#ifndef PROG_H
#define PROG_H

#include <linux/bpf.h>

#include "lib.h"

#define INSN(op, dst, src, at, k) ((struct bpf_insn){			\
	.code = op, .dst_reg = dst, .src_reg = src, .off = at, .imm = k })
#define RETURN(k)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, k),	\
			INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

extern char cgroup_dir[64];

/* A group of the test's own; what it makes then is in it. To be removed. */
void cgroup_open(void);
void cgroup_enter(const char *dir);
void cgroup_leave(void);	/* Sockets from now on are of another group */

int prog_load(int type, int at, const struct bpf_insn *insns, int nr);
/* To the test's group */
void prog_attach(int prog, int at);
void prog_detach(int prog, int at);

/* A program that does not return while it is shut, if not for longer than it may run:
 * who comes by is kept there
 */
enum { GATE_HOLDS = 1, GATE_GAVE_UP };

struct gate {
	volatile u64	shut;	/* by us */
	volatile u64	state;	/* by the program */
	volatile u64	passed;
};

/* At that tracepoint; NULL: for packets of the test's group, cgroup_open() */
struct gate *gate_open(const char *tracepoint);
/* Nothing has passed it for a while */
bool gate_is_quiet(const struct gate *g);

#endif
