// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which algorithm an operation has. A new algorithm is a file with a struct
 * coll_algo, and a line here. All ranks choose the same one: the choice depends
 * only on what a head has, and on options that all ranks have alike.
 */
#include "coll.h"

/* The first one that applies is taken, and by the automatic choice the first that
 * suits
 */
static const struct coll_algo *const algos[] = {
	&coll_algo_bye,
	&coll_algo_p2p,
	&coll_algo_exchange,
	&coll_algo_small,
	&coll_algo_server,
	&coll_algo_ring,
	&coll_algo_transpose,
};

#define NR_ALGOS	(sizeof(algos) / sizeof(algos[0]))

static int in_range(const struct coll_op *op, const struct coll_range *range)
{
	int workers = op->c->workers;

	return workers >= range->least_workers &&
	       (!range->most_workers || workers <= range->most_workers) &&
	       op->count * op->size / (size_t)workers >= range->least_part;
}

static uint8_t automatic(const struct coll_op *op)
{
	size_t i;

	for (i = 0; i < NR_ALGOS; i++)
		if (algos[i]->suits && in_range(op, &algos[i]->range) &&
		    algos[i]->suits(op))
			return algos[i]->named;
	return DLCP_COLL_AUTO;
}

void coll_choose(struct coll_op *op)
{
	size_t i = 0;

	if (op->kind != COLL_ALL_REDUCE)
		op->args.algo = DLCP_COLL_AUTO;
	else if (op->args.algo == DLCP_COLL_AUTO)
		op->args.algo = automatic(op);
	while (i < NR_ALGOS - 1 && !algos[i]->applies(op))
		i++;
	op->algo = algos[i];
}

const char *coll_refusal(const struct dlcp_coll_args *args, int reducing,
			 int dtype)
{
	size_t i;

	for (i = 0; i < NR_ALGOS; i++)
		if (algos[i]->refuses && algos[i]->named == args->algo)
			return algos[i]->refuses(args, reducing, dtype);
	return NULL;
}
