/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module's family of generic netlink says. A plain client, so that what
 * is wrong can be asked, too.
 */
#ifndef NETLINK_H
#define NETLINK_H

#include <linux/dlcp_netlink.h>

#include "net.h"

enum { NL_ATTRS = 64, NL_BUF = 65536 };

/* A message of an answer: numbers by attribute */
struct nl_row {
	u64	value[NL_ATTRS];
	bool	has[NL_ATTRS];
	char	local[80];	/* as in "10.0.0.1:80", "[fd00::1]:80" */
	char	remote[80];
};

struct nl_rows {
	struct nl_row	*row;
	int		nr;
	int		room;
	int		reads;	/* recv() calls it took */
};

/* A request: those that are not dumps are refused, but can be made */
struct nl_ask {
	int		cmd;
	int		flags;	/* NLM_F_DUMP, 0 */
	const void	*attr;	/* struct nlattr and more */
	size_t		len;	/* of it */
	int		hdr;	/* bytes of struct genlmsghdr; 0: all */
};

/* A socket that asks that name space, as the present user */
int nl_open(int net);
void nl_send(int fd, const struct nl_ask *ask);
/* One recv() with so large a buffer. Return: 1, 0 at the end, or -1 and errno */
int nl_read(int fd, struct nl_rows *rows, size_t buf);
/* What the kernel said of the last error; "" */
const char *nl_error(void);

/* The number of the family */
int nl_family(void);
/* All that a dump says is read and forgotten. Fails without ending the test: 0, or -1
 * and errno
 */
int nl_dump_once(int family, int cmd);
/* nl_open(), nl_send() and nl_read(); -1 and errno */
int nl_try(int fd, const struct nl_ask *ask, struct nl_rows *rows);
/* All of what DLCP_CMD_* is about, in that name space */
struct nl_rows nl_all(int net, int cmd);
/* A request for one socket */
struct nl_rows nl_of_cookie(int net, int cmd, u64 cookie);
void nl_free(struct nl_rows *rows);
u64 cookie_of(int fd);
/* The row with that number in an attribute; NULL: there is none, or there are several */
const struct nl_row *nl_find(const struct nl_rows *rows, int attr, u64 value);

#endif
