// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's family "dlcp" shows (Documentation/netlink/specs/dlcp.yaml), as
 * tables of text, which can be saved and read again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/dlcp.h>
#include <linux/dlcp_netlink.h>
#include <linux/genetlink.h>

#include "tool.h"

/* Attributes up to there are looked at */
#define NR_ATTRS	64
/* As much as the kernel puts into one message of a dump */
#define BUF_SIZE	32768

typedef const struct nlattr *attrs[NR_ATTRS];

/**
 * struct column - of a table
 * @name: of it
 * @attr: where its number is
 * @per: it is shown in units of so many; 0: as a name
 * @names: of the values
 */
struct column {
	const char		*name;
	int			attr;
	unsigned int		per;
	const char *const	*names;
};

static const char *const states[] = {
	"CLOSED", "LISTEN", "INIT_SENT", "ECHO_SENT", "ESTABLISHED", "CLOSING", NULL,
};
static const char *const encaps[] = { "udp", "raw", NULL };
static const char *const path_states[] = { "works", "asked", "failed", NULL };

static const struct column conns_columns[] = {
	{ "state", DLCP_A_SOCK_STATE, 0, states },
	{ "encap", DLCP_A_SOCK_ENCAP, 0, encaps },
	{ "paths", DLCP_A_SOCK_PATHS, 1, NULL },
	{ "mtu", DLCP_A_SOCK_MTU, 1, NULL },
	{ "srtt_us", DLCP_A_SOCK_SRTT_NS, 1000, NULL },
	{ "cwnd", DLCP_A_SOCK_CWND, 1, NULL },
	{ "rate", DLCP_A_SOCK_PACING_RATE, 1, NULL },
	{ "inflight", DLCP_A_SOCK_INFLIGHT, 1, NULL },
	{ "wqueue", DLCP_A_SOCK_WQUEUE, 1, NULL },
	{ "rqueue", DLCP_A_SOCK_RQUEUE, 1, NULL },
	{ "tx_offered", DLCP_A_SOCK_TX_OFFERED, 1, NULL },
	{ "tx_delivered", DLCP_A_SOCK_TX_DELIVERED, 1, NULL },
	{ "tx_forgiven", DLCP_A_SOCK_TX_FORGIVEN, 1, NULL },
	{ "tx_resent", DLCP_A_SOCK_TX_RESENT, 1, NULL },
	{ "rx_offered", DLCP_A_SOCK_RX_OFFERED, 1, NULL },
	{ "rx_delivered", DLCP_A_SOCK_RX_DELIVERED, 1, NULL },
	{ "rx_forgiven", DLCP_A_SOCK_RX_FORGIVEN, 1, NULL },
	{ "inode", DLCP_A_SOCK_INODE, 1, NULL },
	{ "uid", DLCP_A_SOCK_UID, 1, NULL },
	{ "cookie", DLCP_A_SOCK_COOKIE, 1, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct column paths_columns[] = {
	{ "path", DLCP_A_PATH_ID, 1, NULL },
	{ "state", DLCP_A_PATH_STATE, 0, path_states },
	{ "entropy", DLCP_A_PATH_ENTROPY, 1, NULL },
	{ "weight", DLCP_A_PATH_WEIGHT, 1, NULL },
	{ "srtt_us", DLCP_A_PATH_SRTT_NS, 1000, NULL },
	{ "rttvar_us", DLCP_A_PATH_RTTVAR_NS, 1000, NULL },
	{ "net_us", DLCP_A_PATH_NET_NS, 1000, NULL },
	{ "min_net_us", DLCP_A_PATH_MIN_NET_NS, 1000, NULL },
	{ "packets", DLCP_A_PATH_PACKETS, 1, NULL },
	{ "acked", DLCP_A_PATH_ACKED, 1, NULL },
	{ "lost", DLCP_A_PATH_LOST, 1, NULL },
	{ "ce_marks", DLCP_A_PATH_CE_MARKS, 1, NULL },
	{ "inflight", DLCP_A_PATH_INFLIGHT, 1, NULL },
	{ "cookie", DLCP_A_PATH_COOKIE, 1, NULL },
	{ NULL, 0, 0, NULL },
};

static const struct column devices_columns[] = {
	{ "ifindex", DLCP_A_DEV_IFINDEX, 1, NULL },
	{ "uid", DLCP_A_DEV_UID, 1, NULL },
	{ "sockets", DLCP_A_DEV_FLOWS, 1, NULL },
	{ "queued", DLCP_A_DEV_QUEUED, 1, NULL },
	{ "waiting", DLCP_A_DEV_WAITING, 1, NULL },
	{ NULL, 0, 0, NULL },
};

/**
 * struct kind - a table
 * @name: of it
 * @cmd: that asks for it
 * @ends: attribute with addresses; 0: it has none
 * @columns: besides those
 */
static const struct kind {
	const char		*name;
	uint8_t			cmd;
	int			ends;
	const struct column	*columns;
} kinds[] = {
	{ "conns", DLCP_CMD_SOCK_GET, DLCP_A_SOCK_ENDS, conns_columns },
	{ "paths", DLCP_CMD_PATH_GET, DLCP_A_PATH_ENDS, paths_columns },
	{ "devices", DLCP_CMD_DEV_GET, 0, devices_columns },
};

/* A dump that is being written */
struct dump {
	const struct kind	*kind;
	FILE			*out;
};

static int keep_attr(const struct nlattr *attr, void *data)
{
	const struct nlattr **list = data;

	if (mnl_attr_get_type(attr) < NR_ATTRS)
		list[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

/* The kernel takes as few bytes as a number needs */
static uint64_t number(const struct nlattr *attr)
{
	if (!attr)
		return 0;
	switch (mnl_attr_get_payload_len(attr)) {
	case 1: return mnl_attr_get_u8(attr);
	case 2: return mnl_attr_get_u16(attr);
	case 4: return mnl_attr_get_u32(attr);
	case 8: return mnl_attr_get_u64(attr);
	default: return 0;
	}
}

static void write_end(FILE *out, attrs ends, int ipv4, int ipv6, int port)
{
	int family = ends[ipv4] ? AF_INET : AF_INET6;
	const struct nlattr *addr = ends[ipv4] ? ends[ipv4] : ends[ipv6];
	size_t len = family == AF_INET ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	char text[INET6_ADDRSTRLEN] = "?";

	if (addr && mnl_attr_get_payload_len(addr) == len)
		inet_ntop(family, mnl_attr_get_payload(addr), text, sizeof(text));
	fprintf(out, family == AF_INET ? "%s:%" PRIu64 " " : "[%s]:%" PRIu64 " ", text,
		number(ends[port]));
}

static void write_ends(FILE *out, const struct nlattr *nest)
{
	attrs ends = { NULL };

	if (nest)
		mnl_attr_parse_nested(nest, keep_attr, ends);
	write_end(out, ends, DLCP_A_ENDS_LOCAL_IPV4, DLCP_A_ENDS_LOCAL_IPV6,
		  DLCP_A_ENDS_LOCAL_PORT);
	write_end(out, ends, DLCP_A_ENDS_REMOTE_IPV4, DLCP_A_ENDS_REMOTE_IPV6,
		  DLCP_A_ENDS_REMOTE_PORT);
}

static const char *name_of(const char *const *names, uint64_t value)
{
	while (*names && value--)
		names++;
	return *names ? *names : "?";
}

/* Queues of a listener are connections: how many may wait, and how many do */
static void listener_queues(attrs row)
{
	if (!row[DLCP_A_SOCK_BACKLOG_MAX])
		return;
	row[DLCP_A_SOCK_WQUEUE] = row[DLCP_A_SOCK_BACKLOG_MAX];
	row[DLCP_A_SOCK_RQUEUE] = row[DLCP_A_SOCK_BACKLOG];
}

static int write_row(const struct nlmsghdr *h, void *data)
{
	const struct dump *d = data;
	const struct column *c;
	attrs row = { NULL };

	mnl_attr_parse(h, sizeof(struct genlmsghdr), keep_attr, row);
	if (d->kind->cmd == DLCP_CMD_SOCK_GET)
		listener_queues(row);
	if (d->kind->ends)
		write_ends(d->out, row[d->kind->ends]);
	for (c = d->kind->columns; c->name; c++) {
		if (c->per)
			fprintf(d->out, "%" PRIu64, number(row[c->attr]) / c->per);
		else
			fputs(name_of(c->names, number(row[c->attr])), d->out);
		putc(c[1].name ? ' ' : '\n', d->out);
	}
	return MNL_CB_OK;
}

static void write_names(const struct dump *d)
{
	const struct column *c;

	if (d->kind->ends)
		fputs("local remote ", d->out);
	for (c = d->kind->columns; c->name; c++)
		fprintf(d->out, "%s%c", c->name, c[1].name ? ' ' : '\n');
}

/* Send a request, and give each message of the answer to @each. Return: 0, or an errno */
static int ask(struct mnl_socket *nl, struct nlmsghdr *h, mnl_cb_t each, void *data)
{
	static _Alignas(8) char buf[BUF_SIZE];
	unsigned int port = mnl_socket_get_portid(nl);
	int more = MNL_CB_OK;
	ssize_t n;

	h->nlmsg_seq = 1;
	if (mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
		return errno;
	while (more > MNL_CB_STOP) {
		n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		more = mnl_cb_run(buf, (size_t)n, h->nlmsg_seq, port, each, data);
	}
	return more < 0 ? errno : 0;
}

static struct nlmsghdr *request(char *buf, uint16_t type, uint16_t flags, uint8_t cmd)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *g;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->cmd = cmd;
	g->version = DLCP_FAMILY_VERSION;
	return h;
}

static int keep_family(const struct nlmsghdr *h, void *data)
{
	attrs row = { NULL };
	uint64_t *id = data;

	mnl_attr_parse(h, sizeof(struct genlmsghdr), keep_attr, row);
	*id = number(row[CTRL_ATTR_FAMILY_ID]);
	return MNL_CB_OK;
}

/* Return: 0, or an errno: ENOENT: nobody in the kernel is called "dlcp" */
static int dump(struct mnl_socket *nl, struct dump *d)
{
	_Alignas(8) char buf[128];
	struct nlmsghdr *h = request(buf, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	uint64_t id = 0;
	int err;

	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, DLCP_FAMILY_NAME);
	err = ask(nl, h, keep_family, &id);
	if (err)
		return err;
	write_names(d);
	return ask(nl, request(buf, (uint16_t)id, NLM_F_DUMP, d->kind->cmd), write_row, d);
}

static int open_and_dump(struct dump *d)
{
	struct mnl_socket *nl = mnl_socket_open(NETLINK_GENERIC);
	int err;

	if (!nl)
		return errno;
	err = mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) ? errno : dump(nl, d);
	mnl_socket_close(nl);
	return err;
}

int netlink_read(const char *name, char **text)
{
	struct dump d = { .kind = kinds };
	size_t size;
	int err;

	while (strcmp(d.kind->name, name))
		if (++d.kind == kinds + sizeof(kinds) / sizeof(*kinds))
			return EINVAL;
	*text = NULL;
	d.out = open_memstream(text, &size);
	if (!d.out)
		return errno;
	err = open_and_dump(&d);
	if (fclose(d.out) && !err)
		err = errno;
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}
