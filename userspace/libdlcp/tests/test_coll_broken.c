// SPDX-License-Identifier: GPL-2.0
/*
 * What the library says when one rank's host is short of something, its
 * connections fail, or it speaks another language. As threads.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "../coll/coll.h"
#include "ranks.h"

#define MANY	100000	/* elements that do not go in one round */

static int reduce(struct dlcp_coll_args *args)
{
	float *data = make(me, MANY);
	int ret = dlcp_coll_all_reduce(coll, data, data, MANY, DLCP_COLL_F32,
				       args, NULL);

	free(data);
	return ret;
}

/* What rank 1 does wrong, and what all hear of it */
static const struct broken {
	enum fault	what;
	int		err;
	const char	*words;
} *broken;

static void broken_body(void)
{
	options.timeout_ms = broken->what == NO_DATA ? 1000 : 30000;
	join();
	if (me)
		__atomic_store_n(&fault[me], broken->what, __ATOMIC_SEQ_CST);
	NEED(reduce(NULL) && errno == broken->err && said(broken->words));
	__atomic_store_n(&fault[me], NO_FAULT, __ATOMIC_SEQ_CST);
	leave();
}

static void rank_is_broken(void)
{
	static const struct broken all[] = {
		{ NO_THREAD, EAGAIN, "rank 1 cannot start a thread: raise" },
		{ SEND_FAILS, EIO, "sending to rank 0: " },
		{ RECV_FAILS, EIO, "the connection of rank 1 with rank 0: " },
		{ NO_DATA, ETIMEDOUT, " was not over: no data from rank " },
	};

	for (broken = all; broken < all + NR(all); broken++)
		CHECK(!ranks(2, broken_body));
}

/* Rank 1 sends this in place of an operation's head */
static void nonsense_body(void)
{
	struct dlcp_send msg = {
		.buf = "?", .len = 1,
		.attr = { .mask = DLCP_ATTR_KEY,
			  .key = coll_key(0, COLL_HEAD, 0) },
	};

	join();
	msg.attr.key = coll_key(coll->next, COLL_HEAD, 0);
	if (me) {
		NEED(dlcp_send(coll->links[0].fd, &msg) == 1);
		idle_until_told();
	} else {
		NEED(reduce(NULL));
	}
	NEED(errno == EBADMSG &&
	     said("rank 1 breaks the protocol: install one libdlcp on all"));
	leave();
}

static void other_language(void)
{
	CHECK(!ranks(2, nonsense_body));
}

/* What rank 0 says it begins, to a dedicated server, and no libdlcp would */
static const struct odd {
	int	kind;
	int	dtype;
	uint8_t	reduce;
	uint8_t	algo;
	uint8_t	correct;
	int	root;
} *odd;

static void odd_body(void)
{
	struct coll_op op;
	struct coll_head head;
	struct dlcp_send msg = {
		.buf = &head, .len = sizeof(head),
		.attr = { .mask = DLCP_ATTR_KEY },
	};

	options.dedicated = 1;
	join();
	if (me) {
		NEED(dlcp_coll_serve(coll));
	} else {
		op = (struct coll_op) {
			.c = coll, .kind = odd->kind, .dtype = odd->dtype,
			.root = odd->root, .count = MANY,
			.args = { .reduce = odd->reduce, .algo = odd->algo,
				  .correct = odd->correct },
		};
		coll_make_head(&op, &head);
		msg.attr.key = coll_key(coll->next, COLL_HEAD, 0);
		NEED(dlcp_send(coll->links[1].fd, &msg) == sizeof(head));
		idle_until_told();
	}
	NEED(errno == EBADMSG &&
	     said("rank 0 breaks the protocol: install one libdlcp on all"));
	leave();
}

static void server_hears_nonsense(void)
{
	static const struct odd all[] = {
		{ COLL_ALL_REDUCE, DLCP_COLL_I32, .reduce = 200 },
		{ COLL_ALL_REDUCE, DLCP_COLL_F64, .reduce = DLCP_COLL_XOR },
		{ COLL_ALL_REDUCE, COLL_THC8, .reduce = DLCP_COLL_MAX },
		{ COLL_ALL_REDUCE, DLCP_COLL_F32, .algo = 9 },
		{ COLL_ALL_REDUCE, DLCP_COLL_F32, .correct = 9 },
		{ COLL_ALL_GATHER, COLL_THC8, .root = 0 },
		{ COLL_BROADCAST, DLCP_COLL_F32, .root = 1 },
		{ COLL_BROADCAST, DLCP_COLL_F32, .root = -1 },
		{ COLL_PUSH, DLCP_COLL_F32, .root = 0 },
	};

	for (odd = all; odd < all + NR(all); odd++)
		CHECK(!ranks(2, odd_body));
}

/* What rank 1 calls an errno when it tells of a failure */
static uint32_t no_errno;

static void failure_body(void)
{
	struct coll_control ctl = {
		.type = htole32(COLL_FAILURE), .error = htole32(no_errno),
		.text = "of another\033 kind",
	};

	join();
	if (me) {
		NEED(!coll_send_control(coll, 0, &ctl));
		idle_until_told();
	} else {
		NEED(reduce(NULL) && errno == EPROTO && said("of another? kind"));
	}
	leave();
}

static void failure_without_errno(void)
{
	static const uint32_t all[] = { 0, 4096, (uint32_t)-EIO };
	size_t i;

	for (i = 0; i < NR(all); i++) {
		no_errno = all[i];
		CHECK(!ranks(2, failure_body));
	}
}

/* Arguments of which rank 1 has others than rank 0 */
static const struct pair {
	struct dlcp_coll_args	args[2];
	size_t			chunk[2];
	const char		*words;
} *pair;

static void arguments_body(void)
{
	struct dlcp_coll_args args = pair->args[me];

	options.chunk_bytes = pair->chunk[me];
	join();
	NEED(reduce(&args) && errno == EBADMSG);
	NEED(said("with other arguments: ") && said(pair->words));
	leave();
}

#define BOUND(fix)	{ .loss_ppm = 10000, .tensor = 5, .correct = (fix) }

static void other_arguments(void)
{
	static const struct pair all[] = {
		{ { { .tensor = 5 }, { .tensor = 6 } }, { 65536, 65536 }, "tensor " },
		{ { BOUND(DLCP_COLL_FEEDBACK), BOUND(DLCP_COLL_AVERAGE) },
		  { 65536, 65536 }, "correction " },
		{ { { 0 }, { 0 } }, { 65536, 32768 }, "chunks of " },
	};

	for (pair = all; pair < all + NR(all); pair++)
		CHECK(!ranks(2, arguments_body));
}

int main(void)
{
	static const struct test tests[] = {
		{ "coll_rank_is_broken", rank_is_broken },
		{ "coll_other_language", other_language },
		{ "coll_server_hears_nonsense", server_hears_nonsense },
		{ "coll_failure_without_errno", failure_without_errno },
		{ "coll_other_arguments", other_arguments },
		{ NULL, NULL }
	};

	return run_tests("coll-broken", tests);
}
