// SPDX-License-Identifier: GPL-2.0
/* What the arguments of an operation say of its messages is said to the kernel */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "../coll/coll.h"
#include "check.h"
#include "fake.h"

static struct coll_link links[2] = { { .fd = -1 }, { .rank = 1, .fd = 99 } };
static struct dlcp_attr seen;
static struct coll_head seen_head;

static ssize_t see_attr(int fd, const struct msghdr *mh, int flags)
{
	const struct cmsghdr *cm = CMSG_FIRSTHDR(mh);

	(void)flags;
	memset(&seen, 0, sizeof(seen));
	if (fd == 99 && cm && cm->cmsg_type == DLCP_CMSG_ATTR)
		memcpy(&seen, CMSG_DATA(cm), sizeof(seen));
	if (mh->msg_iov[0].iov_len == sizeof(seen_head))
		memcpy(&seen_head, mh->msg_iov[0].iov_base, sizeof(seen_head));
	return (ssize_t)mh->msg_iov[0].iov_len;
}

static struct dlcp_coll group = {
	.world = 2, .workers = 2, .links = links, .wake = -1, .broken = -1,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};

static void prio_and_bound(void)
{
	struct dlcp_coll_args args = {
		.tensor = 1, .loss_ppm = 1000, .correct = DLCP_COLL_AVERAGE,
	};
	struct coll_out out = {
		.len = 64, .half = COLL_REDUCE, .chunk = 3, .loss_ppm = 1000,
	};
	struct coll_op *op;
	float x[16] = { 0 };

	out.buf = x;
	for (args.prio = 0; args.prio <= DLCP_PRIO_MAX; args.prio++) {
		args.step = 5u * args.prio;
		op = coll_op_new(&group, COLL_PUSH, 16, DLCP_COLL_F32, &args);
		CHECK(op);
		coll_choose(op);
		op->nr = 7;
		fake_reset();
		fake.sendmsg = see_attr;
		CHECK(coll_send(op, 1, &out) == COLL_NOT_YET);
		coll_eager_begun(op, 1);
		CHECK(coll_send(op, 1, &out) == 1);
		CHECK(seen.mask & DLCP_ATTR_PRIO && seen.prio == args.prio);
		CHECK(seen.mask & DLCP_ATTR_LOSS && seen.loss_ppm == 1000);
		CHECK(seen.mask & DLCP_ATTR_GROUP && seen.group == args.step);
		CHECK(seen.key == coll_key(7, COLL_REDUCE, 3));
		coll_op_free(op);
	}
}

/* By its head a dedicated server learns the class of what it sends */
static void prio_in_heads(void)
{
	struct dlcp_coll_args args = { .tensor = 1, .prio = 6 };
	struct coll_head head;
	struct coll_out out = {
		.buf = &head, .len = sizeof(head), .half = COLL_HEAD,
	};
	struct coll_op *op = coll_op_new(&group, COLL_PULL, 16, DLCP_COLL_F32,
					 &args);

	CHECK(op);
	coll_choose(op);
	coll_make_head(op, &head);
	fake_reset();
	fake.sendmsg = see_attr;
	CHECK(coll_send(op, 1, &out) == 1);
	CHECK(seen.mask & DLCP_ATTR_PRIO && seen.prio == 6);
	CHECK(le32toh(seen_head.prio) == 6);
	coll_op_free(op);
}

int main(void)
{
	int bad = 0;

	bad |= RUN(prio_and_bound);
	bad |= RUN(prio_in_heads);
	return bad;
}
