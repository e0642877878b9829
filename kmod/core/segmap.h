/* SPDX-License-Identifier: GPL-2.0 */
/* A set of segments: a bitmap with a count and a low-water mark. */
#ifndef _DLCP_CORE_SEGMAP_H
#define _DLCP_CORE_SEGMAP_H

#include "env.h"

struct dlcp_segmap {
	u64	*bits;		/* dlcp_segmap_words(nr) words, caller's memory */
	u32	nr;		/* segments */
	u32	count;		/* of them in the set */
	u32	low;		/* all below are in the set */
};

static inline u32 dlcp_segmap_words(u32 nr)
{
	return nr / 64 + !!(nr % 64);
}

/* @bits must be zeroed */
void dlcp_segmap_init(struct dlcp_segmap *m, u64 *bits, u32 nr);
static inline bool dlcp_segmap_test(const struct dlcp_segmap *m, u32 i)
{
	if (i < m->low)
		return true;
	return i < m->nr && (m->bits[i / 64] & BIT_ULL(i % 64));
}

/* Return: whether it was not in the set before */
bool dlcp_segmap_set(struct dlcp_segmap *m, u32 i);
/* All @n from @i on. Return: false: some were in the set, and nothing has changed */
bool dlcp_segmap_set_run(struct dlcp_segmap *m, u32 i, u32 n);
/* Are at most 64 from @i on, below m->nr, all not in the set? */
bool dlcp_segmap_no_run(const struct dlcp_segmap *m, u32 i, u32 nr);
bool dlcp_segmap_clear(struct dlcp_segmap *m, u32 i);
/* First member / first non-member at or after @i; m->nr if none */
u32 dlcp_segmap_next(const struct dlcp_segmap *m, u32 i);
u32 dlcp_segmap_next_zero(const struct dlcp_segmap *m, u32 i);

#endif
