// SPDX-License-Identifier: LGPL-2.1-or-later
/* Reading reports from the error queue */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Some 400 reports without ranges, or one with 2700 */
#define CONTROL_LEN	65536

DLCP_API void dlcp_reports_free(struct dlcp_reports *reports)
{
	int err = errno;

	free(reports->sent);
	free(reports->ranges);
	free(reports->control);
	dlcp__clear(reports, sizeof(*reports));
	errno = err;
}

static int need_control(struct dlcp_reports *reports, size_t len)
{
	if (len <= reports->control_len)
		return 0;
	free(reports->control);
	reports->control_len = 0;
	reports->control = malloc(len);
	if (!reports->control)
		return dlcp__no_memory();
	reports->control_len = len;
	return 0;
}

/* Return the number of reports, 0 if there is none, or -1 */
static int read_queue(int fd, struct dlcp_reports *reports, int flags)
{
	struct msghdr mh;
	ssize_t n;

	do {
		mh = (struct msghdr){
			.msg_control = reports->control,
			.msg_controllen = reports->control_len,
		};
		n = recvmsg(fd, &mh, flags | MSG_ERRQUEUE | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
		reports->nr = 0;
		reports->nr_zerocopy = 0;
		return 0;
	}
	if (n < 0)
		return dlcp__fail(errno, "reading reports");
	if (dlcp__parse_reports(&mh, reports))
		return -1;
	return (int)reports->nr;
}

/*
 * What does not fit into the control buffer would be lost, so the first report
 * in the queue is looked at before it is taken.
 */
static int read_batch(int fd, struct dlcp_reports *reports)
{
	size_t need;
	int n;

	if (need_control(reports, CONTROL_LEN))
		return -1;
	n = read_queue(fd, reports, MSG_PEEK);
	if (n < 0)
		return n;
	if (!n)	/* news of zero-copy sends can only be taken */
		return read_queue(fd, reports, 0);
	need = CMSG_SPACE(sizeof(struct dlcp_report)) +
	       CMSG_SPACE(reports->sent[0].report.nr_ranges *
			  sizeof(struct dlcp_range));
	if (need_control(reports, need))
		return -1;
	return read_queue(fd, reports, 0);
}

/* poll() said that something is wrong, and it was not a report */
static int fail_over(int fd, int events)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (!err)
		err = events & POLLHUP ? EPIPE : EIO;
	return dlcp__fail(err, "no more reports: the connection has ended");
}

DLCP_API int dlcp_reports(int fd, struct dlcp_reports *reports, int timeout_ms)
{
	struct dlcp__until until = dlcp__until(timeout_ms);
	int events, n;

	if (dlcp__check_size(reports->size, sizeof(*reports), "dlcp_reports"))
		return -1;
	for (;;) {
		n = read_batch(fd, reports);
		if (n || reports->nr_zerocopy)
			return n;
		events = dlcp__poll(fd, 0, &until);
		if (events < 0)
			return -1;
		if (!events)
			return dlcp__fail(EAGAIN, "no report in %d ms",
					  timeout_ms);
		n = read_batch(fd, reports);
		if (n || reports->nr_zerocopy)
			return n;
		return fail_over(fd, events);
	}
}
