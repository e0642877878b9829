// SPDX-License-Identifier: LGPL-2.1-or-later
/* The parameter server: one or a few ranks own the parts of the tensor (parts.c) */
#include "coll.h"

static int suits(const struct coll_op *op)
{
	return op->c->options.dedicated;
}

static int applies(const struct coll_op *op)
{
	return op->kind == COLL_PUSH || op->kind == COLL_PULL ||
	       op->args.algo == DLCP_COLL_SERVER;
}

const struct coll_algo coll_algo_server = {
	.name = "server",
	.order = COLL_ONE_WAY,
	.named = DLCP_COLL_SERVER,
	.suits = suits,
	.applies = applies,
	.run = coll_run_parts,
	.served = 1,
};
