// SPDX-License-Identifier: GPL-2.0
/* A client of the module's netlink family */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "netlink.h"

#ifndef SOL_NETLINK
#define SOL_NETLINK	270
#endif

static char error_text[160];

const char *nl_error(void)
{
	return error_text;
}

static const void *payload(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static size_t payload_len(const struct nlattr *a)
{
	return a->nla_len - NLA_HDRLEN;
}

/* The attribute at @at of @len bytes, and where the next one is; NULL: the end */
static const struct nlattr *next_attr(const char **at, size_t *len)
{
	const struct nlattr *a = (const void *)*at;
	size_t step;

	if (*len < NLA_HDRLEN)
		return NULL;
	ASSERT(a->nla_len >= NLA_HDRLEN && a->nla_len <= *len);
	step = NLA_ALIGN(a->nla_len) < *len ? NLA_ALIGN(a->nla_len) : *len;
	*at += step;
	*len -= step;
	return a;
}

static u64 number(const struct nlattr *a)
{
	u64 n = 0;

	ASSERT(payload_len(a) <= sizeof(n));
	memcpy(&n, payload(a), payload_len(a));
	return n;
}

static void end_text(char *text, size_t size, const char *ip, int port)
{
	snprintf(text, size, strchr(ip, ':') ? "[%s]:%d" : "%s:%d", ip, port);
}

static void parse_ends(struct nl_row *row, const struct nlattr *ends)
{
	char local[INET6_ADDRSTRLEN] = "?", remote[INET6_ADDRSTRLEN] = "?";
	int local_port = -1, remote_port = -1;
	size_t len = payload_len(ends);
	const char *at = payload(ends);
	const struct nlattr *a;

	while ((a = next_attr(&at, &len))) {
		const void *p = payload(a);

		switch (a->nla_type) {
		case DLCP_A_ENDS_LOCAL_IPV4:
			inet_ntop(AF_INET, p, local, sizeof(local));
			break;
		case DLCP_A_ENDS_REMOTE_IPV4:
			inet_ntop(AF_INET, p, remote, sizeof(remote));
			break;
		case DLCP_A_ENDS_LOCAL_IPV6:
			inet_ntop(AF_INET6, p, local, sizeof(local));
			break;
		case DLCP_A_ENDS_REMOTE_IPV6:
			inet_ntop(AF_INET6, p, remote, sizeof(remote));
			break;
		case DLCP_A_ENDS_LOCAL_PORT:
			local_port = number(a);
			break;
		case DLCP_A_ENDS_REMOTE_PORT:
			remote_port = number(a);
			break;
		}
	}
	end_text(row->local, sizeof(row->local), local, local_port);
	end_text(row->remote, sizeof(row->remote), remote, remote_port);
}

static void parse_row(struct nl_rows *rows, const struct nlmsghdr *h)
{
	const char *at = (const char *)NLMSG_DATA(h) + GENL_HDRLEN;
	size_t len = h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	const struct nlattr *a;
	struct nl_row *row;

	if (rows->nr == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 64;
		rows->row = realloc(rows->row, rows->room * sizeof(*row));
		ASSERT(rows->row);
	}
	row = &rows->row[rows->nr++];
	memset(row, 0, sizeof(*row));
	while ((a = next_attr(&at, &len))) {
		int type = a->nla_type & NLA_TYPE_MASK;

		ASSERT(type < NL_ATTRS);
		row->has[type] = true;
		if (a->nla_type & NLA_F_NESTED)
			parse_ends(row, a);
		else if (payload_len(a))
			row->value[type] = number(a);
	}
}

/* Return: the error, negative, or 0 */
static int parse_error(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	const char *at = (const char *)(e + 1);
	size_t len = h->nlmsg_len - NLMSG_LENGTH(sizeof(*e));
	const struct nlattr *a;

	error_text[0] = '\0';
	if (!(h->nlmsg_flags & NLM_F_CAPPED)) {
		at += NLMSG_ALIGN(e->msg.nlmsg_len - NLMSG_HDRLEN);
		len -= NLMSG_ALIGN(e->msg.nlmsg_len - NLMSG_HDRLEN);
	}
	while ((h->nlmsg_flags & NLM_F_ACK_TLVS) && (a = next_attr(&at, &len)))
		if (a->nla_type == NLMSGERR_ATTR_MSG)
			snprintf(error_text, sizeof(error_text), "%s",
				 (const char *)payload(a));
	return e->error;
}

int nl_read(int fd, struct nl_rows *rows, size_t size)
{
	char *buf = aligned_alloc(NLMSG_ALIGNTO, size);
	const struct nlmsghdr *h = (void *)buf;
	ssize_t n = recv(fd, buf, size, MSG_TRUNC);
	int err = n < 0 ? -errno : 0, more = 1;

	ASSERT_LE(n, size);
	rows->reads++;
	for (; NLMSG_OK(h, n) && !err && more; h = NLMSG_NEXT(h, n)) {
		/* Each dump is consistent in what is there all the time */
		EXPECT(!(h->nlmsg_flags & NLM_F_DUMP_INTR));
		if (h->nlmsg_type == NLMSG_ERROR)
			err = parse_error(h);
		else if (h->nlmsg_type == NLMSG_DONE)
			err = *(int *)NLMSG_DATA(h);
		else
			parse_row(rows, h);
		more = h->nlmsg_type != NLMSG_ERROR && h->nlmsg_type != NLMSG_DONE;
	}
	free(buf);
	if (err)
		errno = -err;
	return err ? -1 : more;
}

/* Of the family "dlcp", or of that which knows all names */
static int send_to(int fd, int type, const struct nl_ask *ask)
{
	struct {
		struct nlmsghdr		h;
		struct genlmsghdr	g;
		char			attr[256];
	} m = {
		.h.nlmsg_type = type,
		.h.nlmsg_flags = NLM_F_REQUEST | ask->flags,
		.g.cmd = ask->cmd,
		.g.version = DLCP_FAMILY_VERSION,
	};
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };

	ASSERT_LE(ask->len, sizeof(m.attr));
	memcpy(m.attr, ask->attr, ask->len);
	m.h.nlmsg_len = NLMSG_HDRLEN + (ask->hdr ?: GENL_HDRLEN) + ask->len;
	return sendto(fd, &m, m.h.nlmsg_len, 0, (void *)&to, sizeof(to));
}

/* It has a socket of its own: how much a socket has read at once is what it is given
 * at once later. The same in all name spaces
 */
int nl_family(void)
{
	int fd = ASSERT_OK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	struct {
		struct nlattr	a;
		char		name[8];
	} name = {
		{ NLA_HDRLEN + sizeof(DLCP_FAMILY_NAME), CTRL_ATTR_FAMILY_NAME },
		DLCP_FAMILY_NAME,
	};
	struct nl_ask ask = { CTRL_CMD_GETFAMILY, 0, &name, sizeof(name) };
	char buf[NL_BUF] __attribute__((aligned(8)));
	const struct nlmsghdr *h = (void *)buf;
	const struct nlattr *a;
	const char *at;
	size_t len;
	int id = -1;

	ASSERT_OK(send_to(fd, GENL_ID_CTRL, &ask));
	ASSERT_GT(recv(fd, buf, sizeof(buf), 0), NLMSG_HDRLEN);
	ASSERT_EQ(h->nlmsg_type, GENL_ID_CTRL);
	at = (const char *)NLMSG_DATA(h) + GENL_HDRLEN;
	len = h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	while ((a = next_attr(&at, &len)))
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			id = number(a);
	close(fd);
	return ASSERT_OK(id);
}

int nl_open(int net)
{
	int fd, on = 1;

	net_enter(net);
	fd = ASSERT_OK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	net_leave();
	ASSERT_OK(setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)));
	return fd;
}

void nl_send(int fd, const struct nl_ask *ask)
{
	ASSERT_OK(send_to(fd, nl_family(), ask));
}

/* Return: 1: there is more, 0: it is over, or -1 and errno */
static int read_one(int fd, char *buf, size_t size)
{
	const struct nlmsghdr *h = (void *)buf;
	ssize_t n = recv(fd, buf, size, 0);

	for (; n > 0 && NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
		if (h->nlmsg_type != NLMSG_ERROR && h->nlmsg_type != NLMSG_DONE)
			continue;
		/* Both begin with it */
		errno = -*(int *)NLMSG_DATA(h);
		return errno ? -1 : 0;
	}
	return n < 0 ? -1 : 1;
}

int nl_dump_once(int family, int cmd)
{
	static char buf[NL_BUF] __attribute__((aligned(8)));
	struct nl_ask ask = { cmd, NLM_F_DUMP };
	int ret = 1, err, fd;

	/* The page is there: memory is refused to nobody but the call */
	memset(buf, 1, sizeof(buf));
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0)
		return -1;
	if (send_to(fd, family, &ask) < 0)
		ret = -1;
	while (ret == 1)
		ret = read_one(fd, buf, sizeof(buf));
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

int nl_try(int fd, const struct nl_ask *ask, struct nl_rows *rows)
{
	int ret;

	memset(rows, 0, sizeof(*rows));
	nl_send(fd, ask);
	while ((ret = nl_read(fd, rows, NL_BUF)) == 1)
		;
	return ret;
}

static struct nl_rows all_of(int net, const struct nl_ask *ask)
{
	int fd = nl_open(net);
	struct nl_rows rows;

	ASSERT_OK(nl_try(fd, ask, &rows));
	close(fd);
	return rows;
}

struct nl_rows nl_all(int net, int cmd)
{
	struct nl_ask ask = { cmd, NLM_F_DUMP };

	return all_of(net, &ask);
}

struct nl_rows nl_of_cookie(int net, int cmd, u64 cookie)
{
	/* DLCP_A_PATH_COOKIE is the same number */
	struct {
		struct nlattr	a;
		u64		cookie;
	} __attribute__((packed)) attr = {
		{ sizeof(attr), DLCP_A_SOCK_COOKIE }, cookie
	};
	struct nl_ask ask = { cmd, NLM_F_DUMP, &attr, sizeof(attr) };

	return all_of(net, &ask);
}

void nl_free(struct nl_rows *rows)
{
	free(rows->row);
	memset(rows, 0, sizeof(*rows));
}

u64 cookie_of(int fd)
{
	socklen_t len = sizeof(u64);
	u64 cookie;

	ASSERT_OK(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len));
	return cookie;
}

const struct nl_row *nl_find(const struct nl_rows *rows, int attr, u64 value)
{
	const struct nl_row *found = NULL;
	int i, nr = 0;

	for (i = 0; i < rows->nr; i++) {
		if (!rows->row[i].has[attr] || rows->row[i].value[attr] != value)
			continue;
		found = &rows->row[i];
		nr++;
	}
	return nr == 1 ? found : NULL;
}
