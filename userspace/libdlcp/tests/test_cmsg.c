// SPDX-License-Identifier: GPL-2.0
/* Control messages: what is built, and what is made of what the kernel says */
#include <time.h>	/* the next one needs it */
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"
#include "check.h"
#include "fake.h"

static char control[65536] __attribute__((aligned(8)));

static struct msghdr empty_header(size_t len)
{
	memset(control, 0xa5, sizeof(control));
	return (struct msghdr){ .msg_control = control, .msg_controllen = len };
}

static void attr_and_tags_are_built(void)
{
	struct dlcp_tags *tags = dlcp_tags_new(4000, 1000);
	struct dlcp_send msg = {
		.attr = { .mask = DLCP_ATTR_KEY | DLCP_ATTR_LOSS, .key = 77,
			  .loss_ppm = 100000 },
		.tags = tags,
	};
	struct msghdr mh = empty_header(dlcp__send_control_len(&msg));
	struct cmsghdr *cm;

	CHECK(tags);
	dlcp_tags_set(tags, 2, DLCP_TAG_CRITICAL);
	dlcp__build_send_control(&msg, control, mh.msg_controllen);
	cm = CMSG_FIRSTHDR(&mh);
	CHECK(cm && cm->cmsg_level == SOL_DLCP);
	CHECK(cm->cmsg_type == DLCP_CMSG_ATTR);
	CHECK(cm->cmsg_len == CMSG_LEN(sizeof(struct dlcp_attr)));
	CHECK(!memcmp(CMSG_DATA(cm), &msg.attr, sizeof(msg.attr)));
	cm = CMSG_NXTHDR(&mh, cm);
	CHECK(cm && cm->cmsg_type == DLCP_CMSG_TAGS);
	CHECK(cm->cmsg_len == CMSG_LEN(sizeof(*tags) + 1));
	CHECK(!memcmp(CMSG_DATA(cm), tags, sizeof(*tags) + 1));
	CHECK(!CMSG_NXTHDR(&mh, cm));
	msg.tags = NULL;
	msg.attr.mask = 0;
	CHECK(dlcp__send_control_len(&msg) == 0);
	dlcp_tags_free(tags);
}

static void want_comes_first(void)
{
	struct dlcp_want got, want = dlcp_want_key(0x123456789aULL);
	struct msghdr mh = empty_header(1000);
	struct cmsghdr *cm = CMSG_FIRSTHDR(&mh);

	dlcp__build_want(&want, control, 1000);
	CHECK(cm->cmsg_type == DLCP_CMSG_WANT && cm->cmsg_level == SOL_DLCP);
	CHECK(cm->cmsg_len == CMSG_LEN(sizeof(want)));
	memcpy(&got, CMSG_DATA(cm), sizeof(got));
	CHECK(got.key == want.key && got.flags == DLCP_WANT_KEY && !got.__pad);
	dlcp__build_want(DLCP_ANY, control, 1000);
	memcpy(&got, CMSG_DATA(cm), sizeof(got));
	CHECK(!got.key && !got.flags);
}

static void receipt_with_ranges(void)
{
	struct dlcp_range r[40];
	struct dlcp_msg msg = { .key = 5, .length = 100, .nr_ranges = 40 };
	struct dlcp_receipt receipt = { .eof = 1 };
	struct msghdr mh = empty_header(sizeof(control));
	size_t at = 0;

	memset(r, 0, sizeof(r));
	r[39].offset = 99;
	fake_put(&mh, &at, DLCP_CMSG_MSG, &msg, sizeof(msg));
	fake_put(&mh, &at, DLCP_CMSG_RANGES, r, sizeof(r));
	mh.msg_controllen = at;
	CHECK(!dlcp__parse_receipt(&mh, &receipt));
	CHECK(!receipt.eof && !receipt.truncated && receipt.msg.key == 5);
	CHECK(receipt.nr_ranges == 40 && receipt.ranges[39].offset == 99);
	dlcp_receipt_free(&receipt);
	CHECK(!receipt.ranges);
}

static void cut_list_is_noticed(void)
{
	struct dlcp_range r[40];
	struct dlcp_msg msg = { .key = 5, .nr_ranges = 40 };
	struct dlcp_receipt receipt = { .eof = 1 };
	struct msghdr mh;
	size_t at = 0, room;

	memset(r, 0, sizeof(r));
	/* ten and a half */
	room = CMSG_SPACE(sizeof(msg)) + CMSG_LEN(sizeof(*r) * 21 / 2);
	mh = empty_header(room);
	fake_put(&mh, &at, DLCP_CMSG_MSG, &msg, sizeof(msg));
	fake_put(&mh, &at, DLCP_CMSG_RANGES, r, sizeof(r));
	CHECK(mh.msg_flags & MSG_CTRUNC);
	CHECK(!dlcp__parse_receipt(&mh, &receipt));
	CHECK(receipt.truncated && receipt.nr_ranges == 10);
	dlcp_receipt_free(&receipt);
}

static void end_and_empty_message_differ(void)
{
	struct dlcp_receipt receipt = { .eof = 0 };
	struct dlcp_msg msg = { .key = 5, .complete = 1 };
	struct msghdr mh = empty_header(0);
	size_t at = 0;

	CHECK(!dlcp__parse_receipt(&mh, &receipt) && receipt.eof);
	mh = empty_header(sizeof(control));
	fake_put(&mh, &at, DLCP_CMSG_MSG, &msg, sizeof(msg));
	mh.msg_controllen = at;
	CHECK(!dlcp__parse_receipt(&mh, &receipt) && !receipt.eof);
	CHECK(receipt.msg.complete);
	dlcp_receipt_free(&receipt);
}

static void other_sizes_and_levels(void)
{
	struct { struct dlcp_msg msg; char more[24]; } longer;
	struct dlcp_receipt receipt = { .eof = 0 };
	struct msghdr mh = empty_header(sizeof(control));
	size_t at = 0;

	memset(&longer, 0, sizeof(longer));
	longer.msg.key = 9;
	longer.msg.prio = 3;
	fake_put(&mh, &at, 99, "unknown", 8);
	fake_put(&mh, &at, DLCP_CMSG_MSG, &longer, sizeof(longer));
	mh.msg_controllen = at;
	CHECK(!dlcp__parse_receipt(&mh, &receipt) && receipt.msg.key == 9);
	CHECK(receipt.msg.prio == 3);
	/* an older kernel: key and length only */
	at = 0;
	mh = empty_header(sizeof(control));
	fake_put(&mh, &at, DLCP_CMSG_MSG, &longer, 16);
	mh.msg_controllen = at;
	CHECK(!dlcp__parse_receipt(&mh, &receipt) && receipt.msg.key == 9);
	CHECK(!receipt.msg.prio && !receipt.eof);
	dlcp_receipt_free(&receipt);
}

static void batch_of_reports(void)
{
	struct dlcp_report rep = { .key = 0 };
	struct dlcp_range r[30];
	struct dlcp_reports reports = { .nr = 0 };
	struct msghdr mh = empty_header(sizeof(control));
	size_t at = 0, i, n;

	memset(r, 0, sizeof(r));
	for (i = 0; i < 50; i++) {
		n = i % 3 ? i % 30 : 0;
		rep.key = i;
		rep.nr_ranges = n;
		r[0].offset = i * 1000;
		fake_put(&mh, &at, DLCP_CMSG_REPORT, &rep, sizeof(rep));
		if (n)
			fake_put(&mh, &at, DLCP_CMSG_RANGES, r, n * sizeof(*r));
	}
	mh.msg_controllen = at;
	CHECK(!dlcp__parse_reports(&mh, &reports) && reports.nr == 50);
	for (i = 0; i < 50; i++) {
		n = i % 3 ? i % 30 : 0;
		CHECK(reports.sent[i].report.key == i);
		CHECK(reports.sent[i].nr_ranges == n);
		CHECK(!reports.sent[i].truncated);
		CHECK(!n || reports.sent[i].ranges->offset == i * 1000);
	}
	dlcp_reports_free(&reports);
	CHECK(!reports.sent && !reports.nr);
}

static void zerocopy_is_parsed(void)
{
	struct { struct sock_extended_err ee; struct sockaddr_in6 from; } e;
	struct dlcp_reports reports = { .nr = 0 };
	struct msghdr mh = empty_header(sizeof(control));
	struct cmsghdr *cm = (struct cmsghdr *)control;
	size_t at = 0;

	memset(&e, 0, sizeof(e));
	e.ee.ee_origin = SO_EE_ORIGIN_ZEROCOPY;
	e.ee.ee_code = SO_EE_CODE_ZEROCOPY_COPIED;
	e.ee.ee_info = UINT32_MAX - 1;
	e.ee.ee_data = 2;
	fake_put(&mh, &at, IPV6_RECVERR, &e, sizeof(e));
	cm->cmsg_level = IPPROTO_IPV6;
	mh.msg_controllen = at;
	CHECK(!dlcp__parse_reports(&mh, &reports) && !reports.nr);
	CHECK(reports.first_zerocopy == UINT32_MAX - 1);
	CHECK(reports.nr_zerocopy == 5 && reports.copied);
	/* another error of the same kind of message */
	e.ee.ee_origin = SO_EE_ORIGIN_ICMP6;
	memcpy(CMSG_DATA(cm), &e, sizeof(e));
	CHECK(!dlcp__parse_reports(&mh, &reports) && !reports.nr_zerocopy);
	dlcp_reports_free(&reports);
}

/* Whatever the bytes are, nothing outside the buffer is read */
static void random_bytes_do_no_harm(void)
{
	struct dlcp_receipt receipt = { .eof = 0 };
	struct dlcp_reports reports = { .nr = 0 };
	int round, i, len;
	struct msghdr mh;
	char *buf;

	srand(1);
	for (round = 0; round < 20000; round++) {
		len = rand() % 300;
		buf = malloc(len + 1);
		CHECK(buf);
		for (i = 0; i < len; i++)
			buf[i] = rand() % 4 ? 0 : (char)rand();
		mh = (struct msghdr){ .msg_control = buf,
				      .msg_controllen = len };
		if (len > (int)CMSG_LEN(0) && round % 2) {
			struct cmsghdr *cm = CMSG_FIRSTHDR(&mh);

			cm->cmsg_level = SOL_DLCP;
			cm->cmsg_type = DLCP_CMSG_MSG + rand() % 3;
			cm->cmsg_len = rand() % (len + 1);
		}
		CHECK(!dlcp__parse_receipt(&mh, &receipt));
		CHECK(!dlcp__parse_reports(&mh, &reports));
		free(buf);
	}
	dlcp_receipt_free(&receipt);
	dlcp_reports_free(&reports);
}

int main(void)
{
	int bad = 0;

	bad |= RUN(attr_and_tags_are_built);
	bad |= RUN(want_comes_first);
	bad |= RUN(receipt_with_ranges);
	bad |= RUN(cut_list_is_noticed);
	bad |= RUN(end_and_empty_message_differ);
	bad |= RUN(other_sizes_and_levels);
	bad |= RUN(batch_of_reports);
	bad |= RUN(zerocopy_is_parsed);
	bad |= RUN(random_bytes_do_no_harm);
	return bad;
}
