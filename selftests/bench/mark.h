/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks in a program that cost/count.c sees, the plugin of a simulated machine that counts
 * instructions. The processor itself sees an 8-byte nop, so they stay in for every run.
 */
#ifndef DLCPPERF_MARK_H
#define DLCPPERF_MARK_H

#include <stdint.h>

enum mark {
	MARK_NEW = 0,		/* forget who said what of itself */
	MARK_SENDER = 1,	/* the thread that is running sends */
	MARK_RECEIVER = 2,	/* ... receives */
	MARK_BEGIN = 3,		/* count from here */
	MARK_END = 4,		/* to here: that is measurement number @value */
};

/* nopl "DLCP"(%rax,%rax,1): no compiler pads with that */
#define MARK_CODE	0x0f, 0x1f, 0x84, 0x00, 'D', 'L', 'C', 'P'

static inline void mark(enum mark what, uint64_t value)
{
#ifdef __x86_64__
	asm volatile(".byte 0x0f,0x1f,0x84,0x00,0x44,0x4c,0x43,0x50"
		     : : "a"((uint64_t)what), "d"(value));
#else
	(void)what;
	(void)value;
#endif
}

#endif
