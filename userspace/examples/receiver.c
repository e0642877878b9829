// SPDX-License-Identifier: GPL-2.0
/*
 * receiver PORT: wait for a connection, receive messages until its end, and
 * print which parts of them are missing. The missing parts read as zeros.
 */
#include <dlcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void die(void)
{
	fprintf(stderr, "receiver: %s\n", dlcp_last_error());
	exit(1);
}

static const char *why(const struct dlcp_range *range)
{
	switch (range->why) {
	case DLCP_WHY_FORGIVEN:
		return "forgiven";
	case DLCP_WHY_STOPPED:
		return "stopped early";
	case DLCP_WHY_DEADLINE:
		return "too late";
	default:
		return "discarded";
	}
}

int main(int argc, char **argv)
{
	struct dlcp_receipt receipt = { .eof = 0 };
	void *buf = NULL;
	ssize_t len;
	size_t i;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: receiver PORT\n");
		return 2;
	}
	fd = dlcp_listen(NULL, argv[1], 1);
	if (fd < 0)
		die();
	fd = dlcp_accept(fd, -1);
	if (fd < 0)
		die();
	for (;;) {
		/* how long is the next message, and what is its key? */
		len = dlcp_peek(fd, DLCP_ANY, 0, &receipt);
		if (len < 0)
			die();
		if (receipt.eof)
			break;
		buf = realloc(buf, len + 1);
		if (!buf) {
			perror("receiver");
			return 1;
		}
		/* wait for this one; its bytes are copied as they arrive */
		if (dlcp_recv(fd, DLCP_KEY(receipt.msg.key), buf, len, 0,
			      &receipt) < 0)
			die();
		printf("message %llu: %zd bytes, %llu missing\n",
		       (unsigned long long)receipt.msg.key, len,
		       (unsigned long long)receipt.msg.missing);
		for (i = 0; i < receipt.nr_ranges; i++)
			printf("  %llu+%llu %s\n",
			       (unsigned long long)receipt.ranges[i].offset,
			       (unsigned long long)receipt.ranges[i].length,
			       why(&receipt.ranges[i]));
	}
	free(buf);
	dlcp_receipt_free(&receipt);
	return close(fd);
}
