/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A segment in pieces: one that was cut for a larger MTU than the path has now.
 *
 * Whatever its length a segment has at most 64 units, and a piece is a run of
 * them; so a word tells which are there, and pieces may be of any size. Each end
 * remembers a segment from its first piece until it is whole: the sender which
 * units arrived and which are to be sent, the receiver which it has.
 */
#ifndef _DLCP_CORE_CUT_H
#define _DLCP_CORE_CUT_H

#include "env.h"
#include "tree.h"
#include "wire.h"

#define DLCP_CUT_UNITS	64

struct dlcp_cut {
	struct dlcp_tnode node;	/* by position (sender), segment (receiver) */
	u64	have;		/* units acknowledged, or received */
	u64	due;		/* sender: units to be sent */
	void	*kept;		/* receiver: what the shell keeps them in */
};

/* Bytes of a unit of segments of @o */
static inline u32 dlcp_cut_unit(const struct dlcp_open *o)
{
	return DIV_ROUND_UP((u32)o->seg_size, DLCP_CUT_UNITS);
}

/* Units @first .. @first + @nr - 1, of which there is at least one */
static inline u64 dlcp_cut_units(u32 first, u32 nr)
{
	return (~0ULL >> (DLCP_CUT_UNITS - nr)) << first;
}

#endif
