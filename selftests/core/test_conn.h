/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of whole connections share. */
#ifndef _DLCP_TEST_CONN_H
#define _DLCP_TEST_CONN_H

#include "sim.h"
#include "test.h"

static struct sim sim;

static void on_fail(void)
{
	longjmp(test_jmp, 1);
}

static inline struct sim *start(u64 seed)
{
	sim_on_fail = on_fail;
	sim_init(&sim, seed);
	return &sim;
}

static inline void lossy(struct sim *s, u32 ppm)
{
	s->link[0].loss = ppm;
	s->link[1].loss = ppm;
}

static inline void end(struct sim *s)
{
	sim_close(s);
	sim_free(s);
}

static const u32 bounds[] = { 0, 1000, 10000, 100000, 1000000 };

#endif
