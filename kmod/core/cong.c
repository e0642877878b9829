// SPDX-License-Identifier: GPL-2.0
#include "cong.h"

const struct dlcp_cong_ops *const dlcp_cong_all[] = {
	&dlcp_cong_default,
	&dlcp_cong_fixed,
	&dlcp_cong_loss,
	NULL,
};

const struct dlcp_cong_ops *dlcp_cong_find(const char *name)
{
	const struct dlcp_cong_ops *const *ops;

	for (ops = dlcp_cong_all; *ops; ops++)
		if (!strcmp((*ops)->name, name))
			return *ops;
	return NULL;
}

void dlcp_cong_init(struct dlcp_cong *c, const struct dlcp_cong_ops *ops,
		    u32 mss, u64 max_rate, u64 now)
{
	memset(c, 0, sizeof(*c));
	c->ops = ops;
	c->mss = max_t(u32, mss, 1);
	c->max_rate = max_rate;
	ops->init(c, now);
}
