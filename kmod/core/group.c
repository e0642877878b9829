// SPDX-License-Identifier: GPL-2.0
#include "group.h"

/* One that nobody needs any more, the one that was not used for longest; NULL: none */
static struct dlcp_group *group_spare(struct dlcp_groups *gs)
{
	struct dlcp_group *g, *best = NULL;

	for (g = gs->group; g < gs->group + DLCP_GROUPS; g++)
		if (!g->open &&
		    (!best || gs->uses - g->used > gs->uses - best->used))
			best = g;
	if (best)
		memset(best, 0, sizeof(*best));
	return best;
}

struct dlcp_group *dlcp_group_named(struct dlcp_groups *gs, u32 name)
{
	struct dlcp_group *g;

	for (g = gs->group; g < gs->group + DLCP_GROUPS; g++)
		if (g->number && g->name == name)
			return g;
	/* No number comes again */
	g = gs->last < U32_MAX ? group_spare(gs) : NULL;
	if (g) {
		g->number = ++gs->last;
		g->name = name;
	}
	return g;
}

struct dlcp_group *dlcp_group_numbered(struct dlcp_groups *gs, u32 number)
{
	struct dlcp_group *g;

	for (g = gs->group; g < gs->group + DLCP_GROUPS; g++)
		if (g->number == number)
			return g;
	g = group_spare(gs);
	if (g)
		g->number = number;
	return g;
}

void dlcp_group_begin(struct dlcp_groups *gs, struct dlcp_group *g, u64 bound)
{
	g->used = ++gs->uses;
	g->open++;
	g->allowed += bound;
}

void dlcp_group_end(struct dlcp_group *g, u64 missing)
{
	g->open--;
	g->missing += missing;
}

u64 dlcp_group_left(const struct dlcp_group *g)
{
	/* Below their bound are what was discarded, or late by a hard deadline */
	return g->allowed > g->missing ? g->allowed - g->missing : 0;
}
