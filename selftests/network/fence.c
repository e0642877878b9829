// SPDX-License-Identifier: GPL-2.0
/*
 * What stands between a program and its network: seccomp filters, XDP programs. Both are
 * assembled here, so that no compiler for BPF is needed.
 *
 *   fence seccomp FORBIDDEN COMMAND...	run it under a filter that forbids
 *	others			calls that no program of DLCP makes, as containers do
 *	eperm, eacces, eafnosupport	internet sockets, with that error
 *   fence xdp PROGRAM FILE	load it, and pin it there
 *	pass			everything
 *	lossy			drops one packet of 16, at random
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static void die(const char *what)
{
	fprintf(stderr, "fence: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* --- seccomp; the guests have one architecture */

#define LOAD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(value, yes, no) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(value)	BPF_STMT(BPF_RET | BPF_K, value)

static void filter(struct sock_filter *insns, size_t count)
{
	struct sock_fprog prog = { .len = count, .filter = insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		die("seccomp");
}

static void forbid_others(void)
{
	struct sock_filter insns[] = {
		LOAD(nr),
		IS(__NR_keyctl, 3, 0),
		IS(__NR_ptrace, 2, 0),
		IS(__NR_reboot, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};

	filter(insns, ARRAY_SIZE(insns));
	if (!syscall(__NR_ptrace, -1, 0, 0, 0) || errno != EPERM)
		die("the filter does not work");
}

static void forbid_sockets(int error)
{
	struct sock_filter insns[] = {
		LOAD(nr),
		IS(__NR_socket, 0, 3),
		LOAD(args[0]),
		IS(AF_INET, 2, 0),
		IS(AF_INET6, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | error),
	};

	filter(insns, ARRAY_SIZE(insns));
}

static void seccomp(const char *what, char **command)
{
	if (!strcmp(what, "others"))
		forbid_others();
	else if (!strcmp(what, "eperm"))
		forbid_sockets(EPERM);
	else if (!strcmp(what, "eacces"))
		forbid_sockets(EACCES);
	else if (!strcmp(what, "eafnosupport"))
		forbid_sockets(EAFNOSUPPORT);
	else
		exit(2);
	execvp(command[0], command);
	die(command[0]);
}

/* --- XDP */

#define R0(op, value) \
	{ .code = BPF_ALU64 | (op) | BPF_K, .dst_reg = BPF_REG_0, .imm = (value) }
#define R0_IS(value, skipped) \
	{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, \
	  .imm = (value), .off = (skipped) }
#define CALL(func)	{ .code = BPF_JMP | BPF_CALL, .imm = (func) }
#define EXIT		{ .code = BPF_JMP | BPF_EXIT }

static const struct bpf_insn pass[] = {
	R0(BPF_MOV, XDP_PASS),
	EXIT,
};

static const struct bpf_insn lossy[] = {
	CALL(BPF_FUNC_get_prandom_u32),
	R0(BPF_AND, 15),
	R0_IS(0, 2),
	R0(BPF_MOV, XDP_PASS),
	EXIT,
	R0(BPF_MOV, XDP_DROP),
	EXIT,
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static void xdp(const char *name, const char *file)
{
	int is_pass = !strcmp(name, "pass");
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)(is_pass ? pass : lossy),
		.insn_cnt = is_pass ? ARRAY_SIZE(pass) : ARRAY_SIZE(lossy),
		.license = (uintptr_t)"GPL",
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		die("BPF_PROG_LOAD");
	attr = (union bpf_attr){ .pathname = (uintptr_t)file, .bpf_fd = fd };
	if (bpf(BPF_OBJ_PIN, &attr))
		die(file);
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "seccomp"))
		seccomp(argv[2], argv + 3);
	else if (argc == 4 && !strcmp(argv[1], "xdp"))
		xdp(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
