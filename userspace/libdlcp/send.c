// SPDX-License-Identifier: LGPL-2.1-or-later
/* Sending a message */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/* Attributes and the tags of a 300 kB tensor fit; longer ones use the heap */
#define CONTROL_ON_STACK	256

static size_t total_len(const struct iovec *iov, size_t n)
{
	size_t len = 0;

	while (n--)
		len += iov[n].iov_len;
	return len;
}

static int fail_send(int err, const struct dlcp_send *msg, size_t len)
{
	switch (err) {
	case ENOBUFS:
		return dlcp__fail(err, "sending a message of %zu bytes: read the reports (dlcp_reports())%s",
				  len, msg->tags ?
				  ", or net.core.optmem_max is too small for the tags" : "");
	case EMSGSIZE:
		return dlcp__fail(err, "a message of %zu bytes does not fit into SO_SNDBUF without blocking: dlcp_set_buffers() raises it",
				  len);
	default:
		return dlcp__fail(err, "sending a message of %zu bytes", len);
	}
}

static ssize_t send_control(int fd, const struct dlcp_send *msg, void *control,
			    size_t control_len)
{
	struct iovec one = { (void *)msg->buf, msg->len };
	struct msghdr mh = {
		.msg_iov = msg->iovcnt ? (struct iovec *)msg->iov : &one,
		.msg_iovlen = msg->iovcnt ? msg->iovcnt : 1,
		.msg_control = control_len ? control : NULL,
		.msg_controllen = control_len,
	};
	struct dlcp__call call = dlcp__call(fd, SO_SNDTIMEO, msg->flags);
	size_t len = total_len(mh.msg_iov, mh.msg_iovlen);
	ssize_t n;

	if (control_len)
		dlcp__build_send_control(msg, control, control_len);
	do
		n = sendmsg(fd, &mh, msg->flags | MSG_NOSIGNAL);
	while (n < 0 && dlcp__again(&call));
	dlcp__call_over(&call);
	if (n < 0)
		return fail_send(errno, msg, len);
	if ((size_t)n != len)
		return dlcp__fail(EIO, "the kernel took %zd of %zu bytes", n,
				  len);
	return n;
}

/* What a later kernel knows of attributes, and we do not */
static int check_room(const struct dlcp_send *msg)
{
	size_t i;

	for (i = 0; i < sizeof(msg->attr_room); i++)
		if (msg->attr_room[i])
			return dlcp__fail(E2BIG, "libdlcp is too old for an attribute that is set: install the one the program was built with");
	return 0;
}

DLCP_API ssize_t dlcp_send(int fd, const struct dlcp_send *given)
{
	union {
		struct cmsghdr	align;
		char		bytes[CONTROL_ON_STACK];
	} stack;
	struct dlcp_send copy, *msg = &copy;
	ssize_t n;
	size_t len;
	void *heap;
	int err;

	if (dlcp__take(&copy, sizeof(copy), sizeof(copy), given, "dlcp_send") ||
	    check_room(msg))
		return -1;
	len = dlcp__send_control_len(msg);
	if (len <= sizeof(stack))
		return send_control(fd, msg, &stack, len);
	heap = malloc(len);
	if (!heap)
		return dlcp__no_memory();
	n = send_control(fd, msg, heap, len);
	err = errno;
	free(heap);
	errno = err;
	return n;
}
