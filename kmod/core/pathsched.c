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
