// SPDX-License-Identifier: GPL-2.0
/*
 * sender HOST PORT: send one tensor of which 10 % may get lost, and print what
 * became of it.
 */
#include <dlcp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N	(1 << 20)

static float tensor[N];

static void die(void)
{
	fprintf(stderr, "sender: %s\n", dlcp_last_error());
	exit(1);
}

int main(int argc, char **argv)
{
	struct dlcp_reports reports = { .nr = 0 };
	struct dlcp_send msg = {
		.buf = tensor,
		.len = sizeof(tensor),
		.attr = {
			.mask = DLCP_ATTR_KEY | DLCP_ATTR_PRIO | DLCP_ATTR_LOSS |
				DLCP_ATTR_FLAGS,
			.key = 1,
			.prio = 0,		/* the most urgent class */
			.loss_ppm = 100000,	/* 10 % */
			.flags = DLCP_MSG_REPORT,
		},
	};
	struct dlcp_tags *tags;
	struct dlcp_info info;
	size_t i;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: sender HOST PORT\n");
		return 2;
	}
	for (i = 0; i < N; i++)
		tensor[i] = sinf((float)i * 1e-4f);
	fd = dlcp_connect(argv[1], argv[2], 5000);
	if (fd < 0 || dlcp_get_info(fd, &info))
		die();

	/* the half of the segments with the smallest values goes first */
	tags = dlcp_tags_new(sizeof(tensor), info.seg_size);
	if (!tags || dlcp_tags_f32(tags, tensor, N, 0.5, 0))
		die();
	msg.tags = tags;
	if (dlcp_send(fd, &msg) < 0)
		die();

	/* the message is over when its report is here */
	if (dlcp_reports(fd, &reports, 10000) < 0)
		die();
	for (i = 0; i < reports.nr; i++)
		printf("message %llu: %llu of %llu bytes missing in %u ranges, %llu resent, %.3f ms\n",
		       (unsigned long long)reports.sent[i].report.key,
		       (unsigned long long)reports.sent[i].report.missing,
		       (unsigned long long)reports.sent[i].report.length,
		       reports.sent[i].report.nr_ranges,
		       (unsigned long long)reports.sent[i].report.resent,
		       (double)reports.sent[i].report.duration_ns / 1e6);
	dlcp_reports_free(&reports);
	dlcp_tags_free(tags);
	return close(fd);
}
