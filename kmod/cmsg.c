// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages and structs from and to the user. A struct may grow at its
 * end: the part both sides know is copied, the rest is zero, and a tail that
 * this kernel does not know must be zero too (E2BIG). None is longer than a page
 * (E2BIG).
 */
#include <linux/compat.h>
#include <linux/uaccess.h>
#include <net/compat.h>

#include "dlcp.h"

static int dlcp_struct_from_kernel(void *dst, size_t size,
				   const void *src, size_t len)
{
	size_t common = min(size, len);

	if (len > PAGE_SIZE)
		return -E2BIG;
	if (len > size && memchr_inv(src + size, 0, len - size))
		return -E2BIG;
	memcpy(dst, src, common);
	memset(dst + common, 0, size - common);
	return 0;
}

/* Nobody shall have us look for bytes that are not zero in all his memory */
static int dlcp_struct_from_user(void *dst, size_t size,
				 const void __user *src, size_t len)
{
	if (len > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(dst, size, src, len);
}

int dlcp_struct_from_sockptr(void *dst, size_t size, sockptr_t src,
			     size_t len)
{
	if (sockptr_is_kernel(src))
		return dlcp_struct_from_kernel(dst, size, src.kernel, len);
	return dlcp_struct_from_user(dst, size, src.user, len);
}

int dlcp_check_attr(const struct dlcp_attr *a)
{
	if (a->mask & ~DLCP_ATTR_ALL || a->__pad)
		return -EINVAL;
	if (a->mask & DLCP_ATTR_FLAGS && a->flags & ~DLCP_MSG_SENDER_FLAGS)
		return -EINVAL;
	if (a->mask & DLCP_ATTR_LOSS && a->loss_ppm > DLCP_PPM)
		return -EINVAL;
	if (a->mask & DLCP_ATTR_PRIO && a->prio > DLCP_PRIO_MAX)
		return -EINVAL;
	if (a->mask & DLCP_ATTR_ELEM &&
	    (!a->elem_size || a->elem_size > 256))
		return -EINVAL;
	return 0;
}

/* What @given does not mention comes from @def */
static void dlcp_merge_attr(struct dlcp_attr *given,
			    const struct dlcp_attr *def)
{
	if (!(given->mask & DLCP_ATTR_KEY))
		given->key = 0;
	if (!(given->mask & DLCP_ATTR_COOKIE))
		given->cookie = 0;
	if (!(given->mask & DLCP_ATTR_FLAGS))
		given->flags = def->flags;
	if (!(given->mask & DLCP_ATTR_LOSS))
		given->loss_ppm = def->loss_ppm;
	if (!(given->mask & DLCP_ATTR_DEADLINE))
		given->deadline_us = def->deadline_us;
	if (!(given->mask & DLCP_ATTR_ELEM))
		given->elem_size = def->elem_size;
	if (!(given->mask & DLCP_ATTR_PRIO))
		given->prio = def->prio;
	if (!(given->mask & DLCP_ATTR_GROUP))
		given->group = def->group;
}

/* Is a tag 3, which means nothing, among the four in @tags? */
static bool dlcp_bad_tag(u8 tags)
{
	return tags & (tags >> 1) & 0x55;
}

static bool dlcp_bad_tags(const u8 *tags, u32 count)
{
	u32 i, whole = count / 4, rest = count % 4;

	for (i = 0; i < whole; i++)
		if (dlcp_bad_tag(tags[i]))
			return true;
	return rest && dlcp_bad_tag(tags[whole] & ((1U << (2 * rest)) - 1));
}

static int dlcp_check_tags(const struct dlcp_tags *t, size_t size, u64 len)
{
	u64 count;

	if (size < sizeof(*t) || !t->stride)
		return -EINVAL;
	count = len ? div_u64(len - 1, t->stride) + 1 : 0;
	if (t->count != count ||
	    size - sizeof(*t) != DIV_ROUND_UP_ULL(count, 4))
		return -EINVAL;
	return dlcp_bad_tags(t->tags, t->count) ? -EINVAL : 0;
}

/* Descriptors and credentials: sockets that are not AF_UNIX let them pass */
static bool dlcp_is_unix_cmsg(const struct cmsghdr *cm)
{
	return cm->cmsg_level == SOL_SOCKET &&
	       (cm->cmsg_type == SCM_RIGHTS ||
		cm->cmsg_type == SCM_CREDENTIALS);
}

/* None is taken that would change nothing, whatever its level. Return: 0, -EINVAL,
 * -E2BIG
 */
static int dlcp_get_send_cmsg(struct cmsghdr *cm, size_t len,
			      struct dlcp_send_args *args)
{
	size_t size = cm->cmsg_len - sizeof(*cm);
	int err;

	if (cm->cmsg_level != SOL_DLCP)
		return -EINVAL;
	switch (cm->cmsg_type) {
	case DLCP_CMSG_ATTR:
		err = dlcp_struct_from_kernel(&args->attr, sizeof(args->attr),
					      CMSG_DATA(cm), size);
		return err ?: dlcp_check_attr(&args->attr);
	case DLCP_CMSG_TAGS:
		args->tags = CMSG_DATA(cm);
		return dlcp_check_tags(args->tags, size, len);
	default:
		return -EINVAL;
	}
}

/**
 * dlcp_get_send_args() - what the user says of a message to send
 * @sk: socket; its defaults are read without the lock, as one int each
 * @msg: control messages in kernel memory, as in every sendmsg()
 * @len: bytes of the message
 * @args: filled in; @args->tags points into @msg
 *
 * Context: process.
 * Return: 0; EINVAL, E2BIG; EMSGSIZE: @len is not what the user announced
 */
int dlcp_get_send_args(struct sock *sk, struct msghdr *msg, size_t len,
		       struct dlcp_send_args *args)
{
	struct cmsghdr *cm;
	int err;

	memset(args, 0, sizeof(*args));
	for_each_cmsghdr(cm, msg) {
		if (!CMSG_OK(msg, cm))
			return -EINVAL;
		if (dlcp_is_unix_cmsg(cm))
			continue;
		err = dlcp_get_send_cmsg(cm, len, args);
		if (err)
			return err;
	}
	if (args->attr.mask & DLCP_ATTR_LENGTH && args->attr.length != len)
		return -EMSGSIZE;
	if (args->tags && !args->tags->count)
		args->tags = NULL;
	dlcp_merge_attr(&args->attr, &dlcp_sk(sk)->attr);
	return 0;
}

static bool dlcp_msg_compat(const struct msghdr *msg)
{
	return IS_ENABLED(CONFIG_COMPAT) && msg->msg_flags & MSG_CMSG_COMPAT;
}

/* Size of the header of a control message in the caller's layout */
static size_t dlcp_ctl_hdr(const struct msghdr *msg)
{
#ifdef CONFIG_COMPAT
	if (dlcp_msg_compat(msg))
		return sizeof(struct compat_cmsghdr);
#endif
	return sizeof(struct cmsghdr);
}

static size_t dlcp_ctl_align(const struct msghdr *msg, size_t len)
{
	return ALIGN(len, dlcp_msg_compat(msg) ? sizeof(s32) : sizeof(long));
}

size_t dlcp_ctl_space(const struct msghdr *msg, size_t len)
{
	return dlcp_ctl_hdr(msg) + dlcp_ctl_align(msg, len);
}

static int dlcp_ctl_read(const struct msghdr *msg, void *p, size_t len)
{
	if (!msg->msg_control_is_user)
		memcpy(p, msg->msg_control, len);
	else if (copy_from_user(p, msg->msg_control_user, len))
		return -EFAULT;
	return 0;
}

static int dlcp_ctl_write(const struct msghdr *msg, size_t off, const void *p,
			  size_t len)
{
	if (!msg->msg_control_is_user)
		memcpy(msg->msg_control + off, p, len);
	else if (copy_to_user(msg->msg_control_user + off, p, len))
		return -EFAULT;
	return 0;
}

/* The header of the first control message in a buffer for recvmsg() */
static int dlcp_ctl_first(const struct msghdr *msg, struct cmsghdr *cm)
{
#ifdef CONFIG_COMPAT
	if (dlcp_msg_compat(msg)) {
		struct compat_cmsghdr ccm;

		if (dlcp_ctl_read(msg, &ccm, sizeof(ccm)))
			return -EFAULT;
		cm->cmsg_len = ccm.cmsg_len;
		cm->cmsg_level = ccm.cmsg_level;
		cm->cmsg_type = ccm.cmsg_type;
		return 0;
	}
#endif
	return dlcp_ctl_read(msg, cm, sizeof(*cm));
}

static int dlcp_read_want(const struct msghdr *msg, size_t hdr, size_t len,
			  struct dlcp_want *w)
{
	if (!msg->msg_control_is_user)
		return dlcp_struct_from_kernel(w, sizeof(*w),
					       msg->msg_control + hdr, len);
	return dlcp_struct_from_user(w, sizeof(*w),
				     msg->msg_control_user + hdr, len);
}

/**
 * dlcp_get_want() - which message recvmsg() shall return
 * @sk: socket; without DLCP_RECVWANT the buffer is not read
 * @msg: of recvmsg(): the control buffer is the user's, and for output; with
 *	DLCP_RECVWANT its first control message is input
 * @w: filled in
 *
 * Context: process.
 * Return: 0, EINVAL, E2BIG, EFAULT
 */
int dlcp_get_want(struct sock *sk, struct msghdr *msg, struct dlcp_want *w)
{
	size_t hdr = dlcp_ctl_hdr(msg);
	struct cmsghdr cm;
	int err;

	memset(w, 0, sizeof(*w));
	if (!READ_ONCE(dlcp_sk(sk)->recvwant) || !msg->msg_control ||
	    msg->msg_controllen < hdr)
		return 0;
	err = dlcp_ctl_first(msg, &cm);
	if (err)
		return err;
	if (cm.cmsg_level != SOL_DLCP || cm.cmsg_type != DLCP_CMSG_WANT)
		return 0;
	if (cm.cmsg_len < hdr || cm.cmsg_len > msg->msg_controllen)
		return -EINVAL;
	err = dlcp_read_want(msg, hdr, cm.cmsg_len - hdr, w);
	if (err)
		return err;
	if (w->__pad || w->flags & ~(DLCP_WANT_KEY | DLCP_WANT_KEEP |
				     DLCP_WANT_ZERO | DLCP_WANT_DISCARD) ||
	    (w->flags & DLCP_WANT_KEEP && w->flags & DLCP_WANT_ZERO))
		return -EINVAL;
	return 0;
}

/**
 * dlcp_ctl_begin() - start DLCP_CMSG_RANGES, a control message that is an array
 * @ctl: state for dlcp_ctl_put() and dlcp_ctl_end()
 * @msg: of recvmsg(); MSG_CTRUNC is set if not all fit
 * @nr: number of ranges there are
 *
 * Context: process.
 * Return: number of ranges that fit
 */
u32 dlcp_ctl_begin(struct dlcp_ctl *ctl, struct msghdr *msg, u32 nr)
{
	size_t hdr = dlcp_ctl_hdr(msg);
	size_t fit = 0;

	ctl->msg = msg;
	ctl->len = hdr;
	if (msg->msg_control && msg->msg_controllen > hdr)
		fit = (msg->msg_controllen - hdr) / sizeof(struct dlcp_range);
	if (fit < nr)
		msg->msg_flags |= MSG_CTRUNC;
	return min_t(size_t, fit, nr);
}

int dlcp_ctl_put(struct dlcp_ctl *ctl, const struct dlcp_range *range)
{
	int err = dlcp_ctl_write(ctl->msg, ctl->len, range, sizeof(*range));

	ctl->len += sizeof(*range);
	return err;
}

static int dlcp_ctl_write_hdr(const struct dlcp_ctl *ctl)
{
	struct cmsghdr cm = {
		.cmsg_len = ctl->len,
		.cmsg_level = SOL_DLCP,
		.cmsg_type = DLCP_CMSG_RANGES,
	};

#ifdef CONFIG_COMPAT
	if (dlcp_msg_compat(ctl->msg)) {
		struct compat_cmsghdr ccm = {
			.cmsg_len = ctl->len,
			.cmsg_level = SOL_DLCP,
			.cmsg_type = DLCP_CMSG_RANGES,
		};

		return dlcp_ctl_write(ctl->msg, 0, &ccm, sizeof(ccm));
	}
#endif
	return dlcp_ctl_write(ctl->msg, 0, &cm, sizeof(cm));
}

/* Nothing is written if no element was put */
int dlcp_ctl_end(struct dlcp_ctl *ctl)
{
	struct msghdr *msg = ctl->msg;
	size_t len;
	int err;

	if (ctl->len == dlcp_ctl_hdr(msg))
		return 0;
	err = dlcp_ctl_write_hdr(ctl);
	if (err)
		return err;
	len = min_t(size_t, dlcp_ctl_align(msg, ctl->len),
		    msg->msg_controllen);
	msg->msg_control += len;
	msg->msg_controllen -= len;
	return 0;
}

/**
 * dlcp_end_flags() - how a message ended, as both of its users are told
 * @flags: those of the message itself
 * @below_bound: a hard deadline ended it below its bound
 * @late: its deadline had passed
 * @why: enum dlcp_why: what is missing
 *
 * Return: @flags and those of DLCP_MSG_* that the kernel sets.
 */
u32 dlcp_end_flags(u32 flags, bool below_bound, bool late, u8 why)
{
	if (below_bound)
		flags |= DLCP_MSG_BELOW_BOUND;
	if (late)
		flags |= DLCP_MSG_LATE;
	if (why == DLCP_WHY_STOPPED)
		flags |= DLCP_MSG_STOPPED;
	if (why == DLCP_WHY_DISCARDED)
		flags |= DLCP_MSG_DISCARDED;
	return flags;
}
