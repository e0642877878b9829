// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU that counts instructions: how often each block of code runs, and in whose
 * name. The guest's programs say who sends and who receives, and what is to be counted (../mark.h).
 *
 *   -plugin count.so,symbols=FILE,out=FOLDER
 *
 * FILE is the guest's /proc/kallsyms, read at the first mark. A measurement becomes
 * FOLDER/NUMBER.counts: "total N", what was counted instruction by instruction, and then a line
 * for each block: its address, its instructions, and its runs in each context.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../mark.h"
#include "qemu.h"

EXPORT int qemu_plugin_version = 4;

/* Whose work a block is: that of a program in its system calls, or of a softirq */
enum context { SENDER, RECEIVER, SOFTIRQ, OTHER, NR_CONTEXTS };

struct block {
	struct block *next;
	uint64_t addr;
	uint32_t instructions;
	uint64_t runs[NR_CONTEXTS];
};

#define NR_CHAINS	65536
#define MAX_TASKS	4096
#define KERNEL		0xffff800000000000ULL

static struct block *chains[NR_CHAINS];
static qemu_plugin_u64 total;
static uint64_t total_before;
static bool counting;

/* Tasks that have said who they are: addresses of their task_struct */
static struct {
	uint64_t addr;
	enum context role;
} tasks[MAX_TASKS];
static unsigned int nr_tasks;
static uint64_t current;
static enum context role = OTHER;

/* Where the kernel switches tasks, and where softirqs begin; 0: not known yet */
static uint64_t switch_addr, softirq_addr;
/* A softirq is over when it returns to there; 0: none is running */
static uint64_t softirq_end;

static char *symbols, *folder;
static struct qemu_plugin_register *rax, *rdx, *rsi, *rsp;
static GByteArray *bytes;

static void die(const char *what, const char *which)
{
	fprintf(stderr, "count: %s %s\n", what, which);
	exit(1);
}

static uint64_t as_number(void)
{
	uint64_t value;

	if (bytes->len != sizeof(value))
		die("cannot read", "a register");
	memcpy(&value, bytes->data, sizeof(value));
	return value;
}

static uint64_t read_register(struct qemu_plugin_register *handle)
{
	g_byte_array_set_size(bytes, 0);
	qemu_plugin_read_register(handle, bytes);
	return as_number();
}

static uint64_t read_memory(uint64_t addr)
{
	g_byte_array_set_size(bytes, 0);
	qemu_plugin_read_memory_vaddr(addr, bytes, sizeof(uint64_t));
	return as_number();
}

/* Newer kernels have both names of a softirq's beginning, and only the first one is called always */
static void read_symbols(void)
{
	unsigned long long addr;
	uint64_t old_softirq = 0;
	char line[512], name[256];
	FILE *f = fopen(symbols, "r");

	if (!f)
		die("no", symbols);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %255s", &addr, name) != 2)
			continue;
		if (!strcmp(name, "__switch_to_asm"))
			switch_addr = addr;
		else if (!strcmp(name, "handle_softirqs"))
			softirq_addr = addr;
		else if (!strcmp(name, "__do_softirq"))
			old_softirq = addr;
	}
	fclose(f);
	if (!softirq_addr)
		softirq_addr = old_softirq;
	if (!switch_addr || !softirq_addr)
		die("what is needed is not in", symbols);
}

/* Return: its place, or the first free one */
static unsigned int find_task(uint64_t task)
{
	unsigned int i;

	for (i = 0; i < nr_tasks; i++)
		if (tasks[i].addr == task)
			break;
	return i;
}

static enum context role_of(uint64_t task)
{
	unsigned int i = find_task(task);

	return i < nr_tasks ? tasks[i].role : OTHER;
}

/* Until the first switch nobody knows which task it is: programs say it in each round */
static void set_role(enum context mine)
{
	unsigned int i = find_task(current);

	if (!current)
		return;
	if (i == MAX_TASKS)
		die("too many", "tasks");
	tasks[i].addr = current;
	tasks[i].role = mine;
	if (i == nr_tasks)
		nr_tasks++;
	role = mine;
}

/* Addresses of tasks that end are used again */
static void forget_tasks(void)
{
	nr_tasks = 0;
	role = OTHER;
}

static void for_each_block(void (*what)(struct block *b, FILE *f), FILE *f)
{
	struct block *b;
	int i;

	for (i = 0; i < NR_CHAINS; i++)
		for (b = chains[i]; b; b = b->next)
			what(b, f);
}

static void forget_block(struct block *b, FILE *f)
{
	(void)f;
	memset(b->runs, 0, sizeof(b->runs));
}

static void print_block(struct block *b, FILE *f)
{
	uint64_t all = 0;
	int i;

	for (i = 0; i < NR_CONTEXTS; i++)
		all += b->runs[i];
	if (!all)
		return;
	fprintf(f, "%llx %u", (unsigned long long)b->addr, b->instructions);
	for (i = 0; i < NR_CONTEXTS; i++)
		fprintf(f, " %llu", (unsigned long long)b->runs[i]);
	fputc('\n', f);
}

static void finish(uint64_t number)
{
	char path[4096];
	FILE *f;

	counting = false;
	snprintf(path, sizeof(path), "%s/%llu.counts", folder, (unsigned long long)number);
	f = fopen(path, "w");
	if (!f)
		die("cannot write", path);
	fprintf(f, "total %llu\n",
		(unsigned long long)(qemu_plugin_u64_sum(total) - total_before));
	for_each_block(print_block, f);
	if (fclose(f))
		die("cannot write", path);
}

static void on_mark(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (!switch_addr)
		read_symbols();
	switch (read_register(rax)) {
	case MARK_NEW:
		forget_tasks();
		break;
	case MARK_SENDER:
		set_role(SENDER);
		break;
	case MARK_RECEIVER:
		set_role(RECEIVER);
		break;
	case MARK_BEGIN:
		for_each_block(forget_block, NULL);
		total_before = qemu_plugin_u64_sum(total);
		counting = true;
		break;
	case MARK_END:
		if (counting)
			finish(read_register(rdx));
		break;
	}
}

static void on_block(unsigned int cpu, void *data)
{
	struct block *b = data;

	(void)cpu;
	if (b->addr == softirq_end) {
		softirq_end = 0;
	} else if (b->addr == softirq_addr) {
		softirq_end = read_memory(read_register(rsp));
	} else if (b->addr == switch_addr) {
		current = read_register(rsi);
		role = role_of(current);
	}
	if (counting)
		b->runs[softirq_end ? SOFTIRQ : role]++;
}

static struct block *find_block(uint64_t addr, uint32_t instructions)
{
	struct block **chain = &chains[(addr ^ addr >> 16 ^ instructions * 31) % NR_CHAINS];
	struct block *b;

	for (b = *chain; b; b = b->next)
		if (b->addr == addr && b->instructions == instructions)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		die("out of", "memory");
	b->addr = addr;
	b->instructions = instructions;
	b->next = *chain;
	*chain = b;
	return b;
}

static bool is_mark(const struct qemu_plugin_insn *insn)
{
	static const uint8_t code[] = { MARK_CODE };
	uint8_t data[sizeof(code)];

	return qemu_plugin_insn_size(insn) == sizeof(code) &&
	       qemu_plugin_insn_data(insn, data, sizeof(data)) == sizeof(code) &&
	       !memcmp(code, data, sizeof(code));
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	struct qemu_plugin_insn *insn;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, addr >= KERNEL ? QEMU_PLUGIN_CB_R_REGS :
					     QEMU_PLUGIN_CB_NO_REGS, find_block(addr, n));
	for (i = 0; i < n; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
			insn, QEMU_PLUGIN_INLINE_ADD_U64, total, 1);
		if (addr < KERNEL && is_mark(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
							       QEMU_PLUGIN_CB_R_REGS, NULL);
	}
}

static void on_start(qemu_plugin_id_t id, unsigned int cpu)
{
	GArray *list = qemu_plugin_get_registers();
	qemu_plugin_reg_descriptor *d = (void *)list->data;
	unsigned int i;

	(void)id;
	(void)cpu;
	for (i = 0; i < list->len; i++)
		if (!strcmp(d[i].name, "rax"))
			rax = d[i].handle;
		else if (!strcmp(d[i].name, "rdx"))
			rdx = d[i].handle;
		else if (!strcmp(d[i].name, "rsi"))
			rsi = d[i].handle;
		else if (!strcmp(d[i].name, "rsp"))
			rsp = d[i].handle;
	if (!rax || !rdx || !rsi || !rsp)
		die("no register", "rax, rdx, rsi or rsp");
	bytes = g_byte_array_new();
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "symbols=", 8))
			symbols = strdup(argv[i] + 8);
		else if (!strncmp(argv[i], "out=", 4))
			folder = strdup(argv[i] + 4);
	if (!symbols || !folder || !info->system_emulation || info->system.smp_vcpus != 1) {
		fprintf(stderr, "count: wants symbols=FILE, out=FOLDER, and a machine of one processor\n");
		return 1;
	}
	total.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_init_cb(id, on_start);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
