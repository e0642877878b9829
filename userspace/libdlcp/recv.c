// SPDX-License-Identifier: LGPL-2.1-or-later
/* Receiving a message, by key or whichever is complete */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

DLCP_API void dlcp_receipt_free(struct dlcp_receipt *receipt)
{
	int err = errno;

	free(receipt->ranges);
	free(receipt->control);
	dlcp__clear(receipt, sizeof(*receipt));
	errno = err;
}

static int check_receipt(const struct dlcp_receipt *receipt)
{
	return receipt ? dlcp__check_size(receipt->size, sizeof(*receipt),
					  "dlcp_receipt") : 0;
}

/* The old contents are not needed */
static int need_control(struct dlcp_receipt *receipt, size_t len)
{
	if (len <= receipt->control_len)
		return 0;
	free(receipt->control);
	receipt->control_len = 0;
	receipt->control = malloc(len);
	if (!receipt->control)
		return dlcp__no_memory();
	receipt->control_len = len;
	return 0;
}

static int fail_recv(int err, const struct dlcp_want *want, size_t len)
{
	char key[40] = "any message";

	if (want && (want->flags & DLCP_WANT_KEY))
		snprintf(key, sizeof(key), "message %llu",
			 (unsigned long long)want->key);
	if (err == EMSGSIZE)
		return dlcp__fail(err, "%s is longer than the buffer of %zu bytes (dlcp_peek() tells its length)",
				  key, len);
	if (err == EBUSY)
		return dlcp__fail(err, "a part of %s is in the buffer of an earlier call, which must be used again",
				  key);
	return dlcp__fail(err, "receiving %s", key);
}

/* One recvmsg() with the wish in its control buffer */
static ssize_t recv_once(int fd, const struct dlcp_want *want,
			 struct iovec *iov, int flags,
			 struct dlcp_receipt *receipt)
{
	struct dlcp__call call = dlcp__call(fd, SO_RCVTIMEO, flags);
	struct msghdr mh;
	ssize_t n;

	do {
		mh = (struct msghdr){
			.msg_iov = iov,
			.msg_iovlen = 1,
			.msg_control = receipt->control,
			.msg_controllen = receipt->control_len,
		};
		dlcp__build_want(want, mh.msg_control, mh.msg_controllen);
		n = recvmsg(fd, &mh, flags);
	} while (n < 0 && dlcp__again(&call));
	dlcp__call_over(&call);
	if (n < 0)
		return fail_recv(errno, want, iov->iov_len);
	if (dlcp__parse_receipt(&mh, receipt))
		return -1;
	return n;
}

/* A peek changes nothing, so look again with more room for the ranges */
static ssize_t peek(int fd, const struct dlcp_want *want, int flags,
		    struct dlcp_receipt *receipt)
{
	struct iovec iov = { NULL, 0 };
	size_t need = dlcp__control_len_for(16);
	ssize_t n;

	do {
		if (need_control(receipt, need))
			return -1;
		n = recv_once(fd, want, &iov, flags | MSG_PEEK, receipt);
		need = dlcp__control_len_for(receipt->msg.nr_ranges);
	} while (n >= 0 && receipt->truncated && need > receipt->control_len);
	return n < 0 ? n : (ssize_t)receipt->msg.length;
}

DLCP_API ssize_t dlcp_peek(int fd, const struct dlcp_want *want, int flags,
			   struct dlcp_receipt *receipt)
{
	struct dlcp_receipt own = { .eof = 0 };
	ssize_t n;

	if (check_receipt(receipt))
		return -1;
	n = peek(fd, want, flags, receipt ? receipt : &own);
	dlcp_receipt_free(&own);
	return n;
}

static ssize_t do_recv(int fd, const struct dlcp_want *want,
		       struct iovec *iov, int flags,
		       struct dlcp_receipt *receipt)
{
	size_t need = dlcp__recv_control_len(iov->iov_len);

	/* the ranges of a message that will be cut are not bounded by @len */
	if (flags & MSG_TRUNC) {
		if (peek(fd, want, flags & ~MSG_TRUNC, receipt) < 0)
			return -1;
		need = dlcp__recv_control_len(receipt->msg.length);
	}
	if (need_control(receipt, need))
		return -1;
	return recv_once(fd, want, iov, flags, receipt);
}

DLCP_API ssize_t dlcp_recv(int fd, const struct dlcp_want *want, void *buf,
			   size_t len, int flags, struct dlcp_receipt *receipt)
{
	struct dlcp_receipt own = { .eof = 0 };
	struct iovec iov = { buf, len };
	ssize_t n;

	if (check_receipt(receipt))
		return -1;
	n = do_recv(fd, want, &iov, flags, receipt ? receipt : &own);
	dlcp_receipt_free(&own);
	return n;
}
