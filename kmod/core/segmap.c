// SPDX-License-Identifier: GPL-2.0
#include "segmap.h"

void dlcp_segmap_init(struct dlcp_segmap *m, u64 *bits, u32 nr)
{
	m->bits = bits;
	m->nr = nr;
	m->count = 0;
	m->low = 0;
}

/* First bit from @i on, and below @end, that differs from @flip's; else @end. What is
 * behind is not looked at.
 */
static u32 segmap_find(const struct dlcp_segmap *m, u32 i, u32 end, u64 flip)
{
	u32 nr_words = dlcp_segmap_words(end);
	u32 w = i / 64;
	u64 word;

	if (i >= end)
		return end;
	word = (m->bits[w] ^ flip) & (~0ULL << (i % 64));
	while (!word) {
		if (++w == nr_words)
			return end;
		word = m->bits[w] ^ flip;
	}
	/* Flipped, the unused bits of the last word are there too. 64 bits:
	 * the last word of the largest map ends at 2^32.
	 */
	return (u32)min_t(u64, (u64)w * 64 + __ffs64(word), end);
}

bool dlcp_segmap_set(struct dlcp_segmap *m, u32 i)
{
	if (WARN_ON_ONCE(i >= m->nr) || dlcp_segmap_test(m, i))
		return false;
	m->bits[i / 64] |= BIT_ULL(i % 64);
	m->count++;
	/* Kept exact, so that in-order arrival costs one step each */
	if (i != m->low)
		return true;
	m->low++;
	if (dlcp_segmap_test(m, m->low))
		m->low = dlcp_segmap_next_zero(m, m->low);
	return true;
}

bool dlcp_segmap_no_run(const struct dlcp_segmap *m, u32 i, u32 nr)
{
	u64 run = ~0ULL >> (64 - nr);
	u32 at = i % 64;

	return i >= m->low && !(m->bits[i / 64] & (run << at)) &&
	       (at + nr <= 64 ||
		!(m->bits[i / 64 + 1] & (run >> (64 - at))));
}

bool dlcp_segmap_set_run(struct dlcp_segmap *m, u32 i, u32 n)
{
	u32 end = i + n;
	u32 at, bits;

	if (WARN_ON_ONCE(i >= m->nr || n > m->nr - i) || i < m->low ||
	    segmap_find(m, i, end, 0) < end)
		return false;
	for (at = i; at < end; at += bits) {
		bits = min(end - at, 64 - at % 64);
		m->bits[at / 64] |= ~0ULL >> (64 - bits) << (at % 64);
	}
	m->count += n;
	if (i == m->low)
		m->low = dlcp_segmap_next_zero(m, end);
	return true;
}

bool dlcp_segmap_clear(struct dlcp_segmap *m, u32 i)
{
	if (WARN_ON_ONCE(i >= m->nr) || !dlcp_segmap_test(m, i))
		return false;
	m->bits[i / 64] &= ~BIT_ULL(i % 64);
	m->count--;
	m->low = min(m->low, i);
	return true;
}

u32 dlcp_segmap_next(const struct dlcp_segmap *m, u32 i)
{
	if (i < m->low)
		return i;
	return segmap_find(m, i, m->nr, 0);
}

u32 dlcp_segmap_next_zero(const struct dlcp_segmap *m, u32 i)
{
	return segmap_find(m, max(i, m->low), m->nr, ~0ULL);
}
