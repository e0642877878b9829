// SPDX-License-Identifier: LGPL-2.1-or-later
/* The head of an operation: what a rank says of it, and in what two ranks differ */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "coll.h"

#define MAGIC	0x434c4c33	/* "CLL3" */

void coll_make_head(const struct coll_op *op, struct coll_head *head)
{
	memset(head, 0, sizeof(*head));
	head->magic = htole32(MAGIC);
	head->kind = (uint8_t)op->kind;
	head->dtype = (uint8_t)op->dtype;
	head->reduce = op->args.reduce;
	head->algo = op->args.algo;
	head->correct = op->args.correct;
	head->bounded = op->args.algo == DLCP_COLL_RING &&
			(op->args.loss_ppm || op->args.loss2_ppm);
	head->root = htole32((uint32_t)op->root);
	head->count = htole64(op->count);
	head->tensor = htole64(op->args.tensor);
	head->chunk = htole64(op->c->options.chunk_bytes);
	head->loss2_ppm = htole32(op->args.loss2_ppm);
	head->resync_every = htole32(op->args.resync_every);
	head->prio = htole32(op->args.prio);
	head->meant_by = htole32((uint32_t)op->meant_by);
}

static const char *kind_name(int kind)
{
	static const char *const names[] = {
		[COLL_ALL_REDUCE] = "all-reduce",
		[COLL_REDUCE_SCATTER] = "reduce-scatter",
		[COLL_ALL_GATHER] = "all-gather",
		[COLL_BROADCAST] = "broadcast",
		[COLL_BARRIER] = "barrier",
		[COLL_PUSH] = "push",
		[COLL_PULL] = "pull",
		[COLL_REDUCE_TO] = "reduce",
		[COLL_GATHER] = "gather",
		[COLL_SCATTER] = "scatter",
		[COLL_ALL_TO_ALL] = "all-to-all",
		[COLL_BYE] = "the end",
	};

	return kind > 0 && kind <= COLL_BYE ? names[kind] : "unknown";
}

/* What it is, as words */
static void describe(const struct coll_head *head, char *text, size_t len)
{
	if (head->kind == COLL_BARRIER || head->kind == COLL_BYE)
		snprintf(text, len, "%s", kind_name(head->kind));
	else
		snprintf(text, len, "%s of %llu %s", kind_name(head->kind),
			 (unsigned long long)le64toh(head->count),
			 coll_dtype_name(head->dtype));
}

/* A rank of a later version may mean something else */
static const char *known(const char *name)
{
	return name ? name : "unknown";
}

static const char *reduce_name(int reduce)
{
	static const char *const names[] = { "sum", "average", "maximum",
					     "minimum", "product", "and",
					     "or", "exclusive or" };

	return reduce <= COLL_LAST_REDUCE ? names[reduce] : NULL;
}

/* Operations of one kind, count and type differ in something else, of which
 * the first is named
 */
static void describe_rest(const struct coll_head *a, const struct coll_head *b,
			  char *text, size_t len)
{
	if (a->tensor != b->tensor)
		snprintf(text, len, "tensor %llu and %llu",
			 (unsigned long long)le64toh(a->tensor),
			 (unsigned long long)le64toh(b->tensor));
	else if (a->root != b->root)
		snprintf(text, len, "%s%u and %u%s",
			 a->kind == COLL_ALL_REDUCE ? "" : "root ",
			 le32toh(a->root), le32toh(b->root),
			 a->kind == COLL_ALL_REDUCE ?
			 " elements in THC's last block" : "");
	else if (a->reduce != b->reduce)
		snprintf(text, len, "%s and %s", known(reduce_name(a->reduce)),
			 known(reduce_name(b->reduce)));
	else if (a->algo != b->algo)
		snprintf(text, len, "%s and %s", known(dlcp_coll_algo_name(a->algo)),
			 known(dlcp_coll_algo_name(b->algo)));
	else if (a->bounded != b->bounded)
		snprintf(text, len, "%s in a ring",
			 a->bounded ? "a loss bound and none" :
			 "no loss bound and one");
	else if (a->correct != b->correct)
		snprintf(text, len, "correction %s and %s",
			 known(dlcp_coll_correct_name(a->correct)),
			 known(dlcp_coll_correct_name(b->correct)));
	else
		snprintf(text, len, "chunks of %llu and %llu bytes",
			 (unsigned long long)le64toh(a->chunk),
			 (unsigned long long)le64toh(b->chunk));
}

int coll_differs(const struct coll_op *op, int from,
		 const struct coll_head *head, char *text, size_t len)
{
	char theirs[60], ours[60], rest[60];
	uint32_t they = le32toh(head->meant_by);
	struct coll_head own;

	coll_make_head(op, &own);
	if (!memcmp(&own, head, COLL_HEAD_SAME))
		return 0;
	if (head->magic != own.magic) {
		snprintf(text, len, "rank %d breaks the protocol: install one libdlcp on all hosts", from);
		return 1;
	}
	describe(head, theirs, sizeof(theirs));
	describe(&own, ours, sizeof(ours));
	if (strcmp(theirs, ours)) {
		snprintf(text, len, "operation %u is %s at rank %u, but %s at rank %d",
			 op->nr, theirs, they, ours, op->meant_by);
		return 1;
	}
	describe_rest(head, &own, rest, sizeof(rest));
	snprintf(text, len, "operation %u is %s at rank %u and at rank %d, with other arguments: %s",
		 op->nr, ours, they, op->meant_by, rest);
	return 1;
}
