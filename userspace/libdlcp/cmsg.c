// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Control messages as bytes. A control buffer may come from anywhere, so what
 * lies in it is copied in and out, never cast.
 */
#include <errno.h>
#include <time.h>	/* the next one needs it */
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

size_t dlcp__send_control_len(const struct dlcp_send *msg)
{
	size_t len = 0;

	if (msg->attr.mask)
		len += CMSG_SPACE(sizeof(struct dlcp_attr));
	if (msg->tags)
		len += CMSG_SPACE(dlcp_tags_bytes(msg->tags));
	return len;
}

static struct cmsghdr *put(struct msghdr *mh, struct cmsghdr *cm, int type,
			   const void *data, size_t len)
{
	if (!cm)	/* there is room: it was counted above */
		return NULL;
	cm->cmsg_level = SOL_DLCP;
	cm->cmsg_type = type;
	cm->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cm), data, len);
	return CMSG_NXTHDR(mh, cm);
}

/* @len as dlcp__send_control_len() says */
void dlcp__build_send_control(const struct dlcp_send *msg, void *control,
			      size_t len)
{
	struct msghdr mh = { .msg_control = control, .msg_controllen = len };
	struct cmsghdr *cm;

	memset(control, 0, len);
	cm = CMSG_FIRSTHDR(&mh);
	if (msg->attr.mask)
		cm = put(&mh, cm, DLCP_CMSG_ATTR, &msg->attr,
			 sizeof(msg->attr));
	if (msg->tags)
		put(&mh, cm, DLCP_CMSG_TAGS, msg->tags,
		    dlcp_tags_bytes(msg->tags));
}

size_t dlcp__control_len_for(size_t nr_ranges)
{
	return CMSG_SPACE(sizeof(struct dlcp_want)) +
	       CMSG_SPACE(sizeof(struct dlcp_msg)) +
	       CMSG_SPACE(nr_ranges * sizeof(struct dlcp_range));
}

/*
 * Room for the longest list of missing ranges that a message of this length
 * can have: every second segment. Most of it is never touched, so it costs
 * address space rather than memory.
 */
size_t dlcp__recv_control_len(size_t message_len)
{
	return dlcp__control_len_for(message_len / (2 * DLCP_SEG_MIN) + 16);
}

void dlcp__build_want(const struct dlcp_want *want, void *control, size_t len)
{
	static const struct dlcp_want any;
	struct msghdr mh = { .msg_control = control, .msg_controllen = len };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&mh);

	memset(cm, 0, CMSG_SPACE(sizeof(any)));
	put(&mh, cm, DLCP_CMSG_WANT, want ? want : &any, sizeof(any));
}

static size_t data_len(const struct cmsghdr *cm)
{
	return cm->cmsg_len > CMSG_LEN(0) ? cm->cmsg_len - CMSG_LEN(0) : 0;
}

/* A struct may be shorter than ours (older kernel) or longer (newer one) */
static void get(const struct cmsghdr *cm, void *to, size_t size)
{
	size_t len = data_len(cm);

	memset(to, 0, size);
	memcpy(to, CMSG_DATA(cm), len < size ? len : size);
}

static int is(const struct cmsghdr *cm, int type)
{
	return cm->cmsg_level == SOL_DLCP && cm->cmsg_type == type;
}

/* Make room for @want entries; doubles so that a list grows in few steps */
static int grow(void **array, size_t *max, size_t want, size_t size)
{
	size_t n = *max ? *max : 16;
	void *p;

	if (want <= *max)
		return 0;
	while (n < want)
		n *= 2;
	p = realloc(*array, n * size);
	if (!p)
		return dlcp__no_memory();
	*array = p;
	*max = n;
	return 0;
}

static int append_ranges(const struct cmsghdr *cm, struct dlcp_range **ranges,
			 size_t *max, size_t *nr)
{
	size_t n = data_len(cm) / sizeof(struct dlcp_range);
	void *array = *ranges;

	if (grow(&array, max, *nr + n, sizeof(**ranges)))
		return -1;
	*ranges = array;
	if (n)
		memcpy(*ranges + *nr, CMSG_DATA(cm), n * sizeof(**ranges));
	*nr += n;
	return 0;
}

int dlcp__parse_receipt(struct msghdr *mh, struct dlcp_receipt *receipt)
{
	struct cmsghdr *cm;

	memset(&receipt->msg, 0, sizeof(receipt->msg));
	receipt->nr_ranges = 0;
	receipt->eof = 1;
	for (cm = CMSG_FIRSTHDR(mh); cm; cm = CMSG_NXTHDR(mh, cm)) {
		if (is(cm, DLCP_CMSG_MSG)) {
			get(cm, &receipt->msg, sizeof(receipt->msg));
			receipt->eof = 0;
		} else if (is(cm, DLCP_CMSG_RANGES) &&
			   append_ranges(cm, &receipt->ranges,
					 &receipt->max_ranges,
					 &receipt->nr_ranges)) {
			return -1;
		}
	}
	receipt->truncated = receipt->nr_ranges < receipt->msg.nr_ranges;
	return 0;
}

static int append_report(const struct cmsghdr *cm, struct dlcp_reports *reports)
{
	void *array = reports->sent;
	struct dlcp_sent *sent;

	if (grow(&array, &reports->max_sent, reports->nr + 1, sizeof(*sent)))
		return -1;
	reports->sent = array;
	sent = &reports->sent[reports->nr++];
	memset(sent, 0, sizeof(*sent));
	get(cm, &sent->report, sizeof(sent->report));
	return 0;
}

/* The array of ranges may move while it grows: point into it at the end */
static void point_to_ranges(struct dlcp_reports *reports)
{
	const struct dlcp_range *at = reports->ranges;
	struct dlcp_sent *sent = reports->sent;
	size_t i;

	for (i = 0; i < reports->nr; i++, sent++) {
		sent->truncated = sent->nr_ranges < sent->report.nr_ranges;
		sent->ranges = sent->nr_ranges ? at : NULL;
		if (sent->nr_ranges)
			at += sent->nr_ranges;
	}
}

/* IP_RECVERR and IPV6_RECVERR begin with the same struct */
static void add_zerocopy(const struct msghdr *mh, const struct cmsghdr *cm,
			 struct dlcp_reports *reports)
{
	const char *end = (const char *)mh->msg_control + mh->msg_controllen;
	struct sock_extended_err ee;

	/* A level that is not ours: nothing is taken for granted */
	if (cm->cmsg_len > (size_t)(end - (const char *)cm))
		return;
	if (!(cm->cmsg_level == IPPROTO_IP && cm->cmsg_type == IP_RECVERR) &&
	    !(cm->cmsg_level == IPPROTO_IPV6 && cm->cmsg_type == IPV6_RECVERR))
		return;
	get(cm, &ee, sizeof(ee));
	if (ee.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return;
	reports->first_zerocopy = ee.ee_info;
	reports->nr_zerocopy = ee.ee_data - ee.ee_info + 1;
	reports->copied = !!(ee.ee_code & SO_EE_CODE_ZEROCOPY_COPIED);
}

int dlcp__parse_reports(struct msghdr *mh, struct dlcp_reports *reports)
{
	struct cmsghdr *cm;
	size_t nr = 0, old;

	reports->nr = 0;
	reports->nr_zerocopy = 0;
	for (cm = CMSG_FIRSTHDR(mh); cm; cm = CMSG_NXTHDR(mh, cm)) {
		if (is(cm, DLCP_CMSG_REPORT)) {
			if (append_report(cm, reports))
				return -1;
		} else if (is(cm, DLCP_CMSG_RANGES) && reports->nr) {
			old = nr;
			if (append_ranges(cm, &reports->ranges,
					  &reports->max_ranges, &nr))
				return -1;
			reports->sent[reports->nr - 1].nr_ranges += nr - old;
		} else {
			add_zerocopy(mh, cm, reports);
		}
	}
	point_to_ranges(reports);
	return 0;
}
