// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which algorithm an operation has. All ranks choose the same one: the choice depends
 * only on what a head has, and on options that all ranks have alike.
 */
#include "coll.h"

/* A file algo_NAME.c has a struct coll_algo coll_algo_NAME. make lists the files. */
#define DECLARE(name)	extern const struct coll_algo coll_algo_##name;
#define ENTRY(name)	&coll_algo_##name,

COLL_ALGOS(DECLARE)

static const struct coll_algo *const algos[] = { COLL_ALGOS(ENTRY) };

#define NR_ALGOS	(sizeof(algos) / sizeof(algos[0]))

static int in_range(const struct coll_op *op, const struct coll_range *range)
{
	int workers = op->c->workers;

	return workers >= range->least_workers &&
	       (!range->most_workers || workers <= range->most_workers) &&
	       op->count * op->size / (size_t)workers >= range->least_part;
}

/* Of two that can do it, which is asked first */
static const struct coll_algo *first(const struct coll_algo *a,
				     const struct coll_algo *b)
{
	return a && a->order <= b->order ? a : b;
}

static uint8_t automatic(const struct coll_op *op)
{
	const struct coll_algo *found = NULL;
	size_t i;

	for (i = 0; i < NR_ALGOS; i++)
		if (algos[i]->suits && in_range(op, &algos[i]->range) &&
		    algos[i]->suits(op))
			found = first(found, algos[i]);
	return found ? found->named : DLCP_COLL_AUTO;
}

void coll_choose(struct coll_op *op)
{
	size_t i;

	if (op->kind != COLL_ALL_REDUCE)
		op->args.algo = DLCP_COLL_AUTO;
	else if (op->args.algo == DLCP_COLL_AUTO)
		op->args.algo = automatic(op);
	op->algo = NULL;
	for (i = 0; i < NR_ALGOS; i++)
		if (algos[i]->applies(op))
			op->algo = first(op->algo, algos[i]);
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
