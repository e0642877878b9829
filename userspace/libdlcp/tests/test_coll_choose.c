// SPDX-License-Identifier: GPL-2.0
/* Which algorithm an operation has, and whether all ranks agree on it */
#include <string.h>

#include "../coll/coll.h"
#include "check.h"

#define MIB	(1 << 18)	/* float32 elements */

static struct dlcp_coll group = { .wake = -1, .broken = -1 };

/* @named: as the user does; @chosen: as all ranks compare it */
static const struct choice {
	const char		*name;
	int			kind;
	int			workers;
	int			dedicated;
	size_t			count;
	int			dtype;
	struct dlcp_coll_args	args;
	int			chosen;
} choices[] = {
	/* all-reduces: the ring from 4 to 16 workers with at least 32 KiB each */
	{ "transpose", COLL_ALL_REDUCE, 3, 0, MIB, .chosen = DLCP_COLL_TRANSPOSE },
	{ "ring", COLL_ALL_REDUCE, 4, 0, MIB, .chosen = DLCP_COLL_RING },
	{ "ring", COLL_ALL_REDUCE, 4, 0, 4 * 8192, .chosen = DLCP_COLL_RING },
	{ "transpose", COLL_ALL_REDUCE, 4, 0, 4 * 8192 - 1,
	  .chosen = DLCP_COLL_TRANSPOSE },
	{ "ring", COLL_ALL_REDUCE, 16, 0, MIB, .chosen = DLCP_COLL_RING },
	{ "transpose", COLL_ALL_REDUCE, 17, 0, MIB,
	  .chosen = DLCP_COLL_TRANSPOSE },
	{ "ring", COLL_ALL_REDUCE, 17, 0, MIB, .args.algo = DLCP_COLL_RING,
	  .chosen = DLCP_COLL_RING },
	{ "transpose", COLL_ALL_REDUCE, 1, 1, MIB, .args.algo = DLCP_COLL_RING,
	  .chosen = DLCP_COLL_RING },
	/* a ring would round, overflow, or lose in each step */
	{ "transpose", COLL_ALL_REDUCE, 4, 0, MIB, DLCP_COLL_F16,
	  .chosen = DLCP_COLL_TRANSPOSE },
	{ "ring", COLL_ALL_REDUCE, 4, 0, MIB, DLCP_COLL_I64,
	  .chosen = DLCP_COLL_RING },
	{ "transpose", COLL_ALL_REDUCE, 4, 0, MIB, DLCP_COLL_I64,
	  .args.reduce = DLCP_COLL_AVG, .chosen = DLCP_COLL_TRANSPOSE },
	{ "transpose", COLL_ALL_REDUCE, 4, 0, MIB, .args.loss_ppm = 1,
	  .chosen = DLCP_COLL_TRANSPOSE },
	{ "transpose", COLL_ALL_REDUCE, 4, 0, MIB, .args.loss2_ppm = 1,
	  .chosen = DLCP_COLL_TRANSPOSE },
	/* servers */
	{ "server", COLL_ALL_REDUCE, 4, 1, MIB, .chosen = DLCP_COLL_SERVER },
	{ "server", COLL_ALL_REDUCE, 4, 0, MIB, .args.algo = DLCP_COLL_SERVER,
	  .chosen = DLCP_COLL_SERVER },
	{ "server", COLL_PUSH, 4, 0, .count = 1 },
	{ "server", COLL_PULL, 1, 0, .count = MIB },
	/* small ones are compared as large ones are */
	{ "one round", COLL_ALL_REDUCE, 4, 0, 2048,
	  .chosen = DLCP_COLL_TRANSPOSE },
	{ "one round", COLL_ALL_REDUCE, 4, 1, 2048, .chosen = DLCP_COLL_SERVER },
	{ "transpose", COLL_ALL_REDUCE, 4, 0, 2049,
	  .chosen = DLCP_COLL_TRANSPOSE },
	{ "one round", COLL_ALL_GATHER, 4, 0, .count = 512 },
	{ "transpose", COLL_ALL_GATHER, 4, 0, .count = 513 },
	{ "one round", COLL_BROADCAST, 1, 0, .count = MIB },
	{ "one round", COLL_BARRIER, 1000, 1, .count = 0 },
	/* codes are reduced to something wider */
	{ "transpose", COLL_ALL_REDUCE, 2, 0, 1, COLL_THC16,
	  .chosen = DLCP_COLL_TRANSPOSE },
	/* the algorithm that the user names is for all-reduces alone */
	{ "transpose", COLL_REDUCE_SCATTER, 4, 0, MIB,
	  .args.algo = DLCP_COLL_RING },
	{ "exchange", COLL_ALL_TO_ALL, 2, 0, .count = 1 },
	{ "exchange", COLL_GATHER, 2, 0, .count = 1 },
	{ "exchange", COLL_SCATTER, 2, 0, .count = 1 },
	{ "message", COLL_MESSAGE, 2, 0, .count = 1 },
	{ "the end", COLL_BYE, 2, 1, .count = 0 },
};

static void by_kind_group_and_size(void)
{
	const struct choice *w;
	struct coll_op op;
	size_t i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		w = &choices[i];
		group.workers = w->workers;
		group.world = w->workers + w->dedicated;
		group.options = (struct dlcp_coll_options){
			.dedicated = w->dedicated, .small_bytes = 8192,
		};
		op = (struct coll_op){
			.c = &group, .kind = w->kind, .dtype = w->dtype,
			.size = coll_dtype_size(w->dtype), .args = w->args,
			.sum_size = coll_dtype_sum_size(w->dtype),
			.count = w->count,
		};
		coll_choose(&op);
		if (strcmp(op.algo->name, w->name) || op.args.algo != w->chosen)
			printf("# choice %zu: %s (%d)\n", i, op.algo->name,
			       op.args.algo);
		CHECK(!strcmp(op.algo->name, w->name));
		CHECK(op.args.algo == w->chosen);
	}
}

/* A rank that names what the others chose has the same head as they have */
static void named_or_not(void)
{
	struct coll_op op = {
		.c = &group, .kind = COLL_ALL_REDUCE, .size = 4, .sum_size = 4,
		.count = 100,
	};
	int algo;

	group = (struct dlcp_coll){ .workers = 4, .world = 4 };
	group.options.small_bytes = 8192;
	coll_choose(&op);
	algo = op.args.algo;
	CHECK(algo && op.algo->one_round);
	coll_choose(&op);
	CHECK(op.args.algo == algo && op.algo->one_round);
}

static void refusals(void)
{
	struct dlcp_coll_args args = { .algo = DLCP_COLL_RING };

	CHECK(!coll_refusal(&args, 1, DLCP_COLL_I32));
	args.reduce = DLCP_COLL_AVG;
	CHECK(coll_refusal(&args, 1, DLCP_COLL_I32));
	CHECK(!coll_refusal(&args, 1, DLCP_COLL_F32));
	args.correct = DLCP_COLL_AVERAGE;
	CHECK(!coll_refusal(&args, 1, DLCP_COLL_F32));
	args.loss_ppm = 1;
	CHECK(coll_refusal(&args, 1, DLCP_COLL_F32));
	CHECK(!coll_refusal(&args, 0, DLCP_COLL_F32));
	args.algo = DLCP_COLL_TRANSPOSE;
	CHECK(!coll_refusal(&args, 1, DLCP_COLL_F32));
}

/* Users call an algorithm as it calls itself */
static void names(void)
{
	extern const struct coll_algo coll_algo_ring, coll_algo_transpose,
				      coll_algo_server;
	static const struct coll_algo *const named[] = {
		&coll_algo_ring, &coll_algo_transpose, &coll_algo_server,
	};
	size_t i;

	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		CHECK(!strcmp(dlcp_coll_algo_name(named[i]->named),
			      named[i]->name));
	CHECK(!strcmp(dlcp_coll_algo_name(DLCP_COLL_AUTO), "auto"));
	CHECK(!dlcp_coll_algo_name((int)i + 1) && !dlcp_coll_algo_name(-1));
	CHECK(!strcmp(dlcp_coll_correct_name(DLCP_COLL_AVERAGE), "average"));
	CHECK(!dlcp_coll_correct_name(DLCP_COLL_NOTHING + 1));
}

int main(void)
{
	int bad = 0;

	bad |= RUN(names);
	bad |= RUN(by_kind_group_and_size);
	bad |= RUN(named_or_not);
	bad |= RUN(refusals);
	return bad;
}
