// SPDX-License-Identifier: GPL-2.0
#include "pathsched.h"

const struct dlcp_pathsched_ops *const dlcp_pathsched_all[] = {
	&dlcp_pathsched_adaptive,
	&dlcp_pathsched_even,
	NULL,
};

const struct dlcp_pathsched_ops *dlcp_pathsched_find(const char *name)
{
	const struct dlcp_pathsched_ops *const *ops;

	for (ops = dlcp_pathsched_all; *ops; ops++)
		if (!strcmp((*ops)->name, name))
			return *ops;
	return NULL;
}

struct dlcp_path *
dlcp_pathsched_first(struct dlcp_path *paths, u32 nr,
		     bool (*before)(const struct dlcp_path *a,
				    const struct dlcp_path *b))
{
	struct dlcp_path *best = &paths[0];
	struct dlcp_path *p;

	for (p = paths + 1; p < paths + nr; p++) {
		if (dlcp_path_works(p) != dlcp_path_works(best)) {
			if (dlcp_path_works(p))
				best = p;
		} else if (p->bad != best->bad) {
			if (best->bad)
				best = p;
		} else if (p->bad ? p->pto_count < best->pto_count :
			   before(p, best)) {
			best = p;
		}
	}
	return best;
}
