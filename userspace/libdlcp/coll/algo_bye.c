// SPDX-License-Identifier: LGPL-2.1-or-later
/* The last operation of a worker: dedicated servers may go */
#include "coll.h"

static int applies(const struct coll_op *op)
{
	return op->kind == COLL_BYE;
}

const struct coll_algo coll_algo_bye = {
	.name = "the end",
	.order = COLL_ITS_OWN,
	.applies = applies,
	.run = coll_notify_servers,
};
