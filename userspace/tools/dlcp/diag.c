// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets by sock_diag, which the module dlcp_diag answers: they can be ended.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <libmnl/libmnl.h>
#include <linux/dlcp.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>

#include "tool.h"

/* As much as the kernel puts into one message of a dump */
#define BUF_SIZE	32768

/**
 * struct diag - sockets as sock_diag tells of them
 * @nl: to the kernel
 * @ids: they
 * @nr: how many
 * @room: for so many
 */
struct diag {
	struct mnl_socket	*nl;
	struct diag_id {
		int			family;
		struct inet_diag_sockid	id;
	}			*ids;
	size_t			nr;
	size_t			room;
};

static int keep_id(const struct nlmsghdr *h, void *data)
{
	const struct inet_diag_msg *msg = mnl_nlmsg_get_payload(h);
	struct diag *d = data;
	struct diag_id *more;

	if (d->nr == d->room) {
		more = realloc(d->ids, (2 * d->room + 64) * sizeof(*more));
		if (!more) {
			errno = ENOMEM;
			return MNL_CB_ERROR;
		}
		d->ids = more;
		d->room = 2 * d->room + 64;
	}
	d->ids[d->nr].family = msg->idiag_family;
	d->ids[d->nr++].id = msg->id;
	return MNL_CB_OK;
}

/* An answer, or the end of a dump: either begins with an error, or 0 */
static int at_end(const struct nlmsghdr *h, void *data)
{
	int err = h->nlmsg_len >= MNL_NLMSG_HDRLEN + sizeof(int) ?
		  *(const int *)mnl_nlmsg_get_payload(h) : 0;

	(void)data;
	if (err >= 0)
		return MNL_CB_STOP;
	errno = -err;
	return MNL_CB_ERROR;
}

/* Return: 0, or an errno */
static int ask(struct diag *d, uint16_t type, uint16_t flags, const struct diag_id *of)
{
	static mnl_cb_t ends[] = { [NLMSG_ERROR] = at_end, [NLMSG_DONE] = at_end };
	static _Alignas(8) char buf[BUF_SIZE];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *req;
	int more = MNL_CB_OK;
	ssize_t n;

	h->nlmsg_type = type;
	h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	req = mnl_nlmsg_put_extra_header(h, sizeof(*req));
	req->sdiag_family = (uint8_t)of->family;
	req->sdiag_protocol = IPPROTO_DLCP;
	req->idiag_states = ~0U;
	req->id = of->id;
	if (mnl_socket_sendto(d->nl, h, h->nlmsg_len) < 0)
		return errno;
	while (more > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(d->nl, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		more = mnl_cb_run2(buf, (size_t)n, 0, 0, keep_id, d, ends,
				   sizeof(ends) / sizeof(*ends));
	}
	return more < 0 ? errno : 0;
}

static int say_why(int err)
{
	switch (err) {
	case ENOENT:
	case EINVAL:
		return say_error("the module dlcp_diag is not loaded: run `modprobe dlcp_diag` as root");
	case EPERM:
	case EACCES:
		return say_error("not permitted to end sockets: run it as root (sudo)");
	case EOPNOTSUPP:
		return say_error("this kernel ends no sockets (CONFIG_INET_DIAG_DESTROY is not set): end their programs");
	case EPROTONOSUPPORT:
	case EAFNOSUPPORT:
		return say_error("netlink sockets are forbidden here, by seccomp say: run it on the host");
	default:
		return say_error("cannot ask the kernel for sockets: %s", strerror(err));
	}
}

struct diag *diag_open(void)
{
	static const struct diag_id all[] = { { .family = AF_INET }, { .family = AF_INET6 } };
	struct diag *d = calloc(1, sizeof(*d));
	int err = ENOMEM;

	if (d) {
		d->nl = mnl_socket_open(NETLINK_SOCK_DIAG);
		err = !d->nl || mnl_socket_bind(d->nl, 0, MNL_SOCKET_AUTOPID) ? errno : 0;
		if (!err)
			err = ask(d, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &all[0]);
		if (!err)
			err = ask(d, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &all[1]);
	}
	if (!err)
		return d;
	say_why(err);
	diag_close(d);
	return NULL;
}

int diag_destroy(struct diag *d, uint64_t cookie)
{
	size_t i, nr = d->nr;
	int err;

	for (i = 0; i < nr; i++) {
		const uint32_t *half = d->ids[i].id.idiag_cookie;

		if (((uint64_t)half[1] << 32 | half[0]) != cookie)
			continue;
		err = ask(d, SOCK_DESTROY, NLM_F_ACK, &d->ids[i]);
		/* It has gone by itself */
		if (err == ENOENT)
			return 0;
		return err ? -say_why(err) : 1;
	}
	return 0;
}

void diag_close(struct diag *d)
{
	if (!d)
		return;
	if (d->nl)
		mnl_socket_close(d->nl);
	free(d->ids);
	free(d);
}
