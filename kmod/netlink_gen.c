// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dlcp.yaml */
/* YNL-GEN kernel source */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/dlcp_netlink.h>
#include <linux/dlcp.h>

/* DLCP_CMD_SOCK_GET - dump */
static const struct nla_policy dlcp_sock_get_nl_policy[DLCP_A_SOCK_COOKIE + 1] = {
	[DLCP_A_SOCK_COOKIE] = { .type = NLA_U64, },
};

/* DLCP_CMD_PATH_GET - dump */
static const struct nla_policy dlcp_path_get_nl_policy[DLCP_A_PATH_COOKIE + 1] = {
	[DLCP_A_PATH_COOKIE] = { .type = NLA_U64, },
};

/* DLCP_CMD_DEV_GET - dump */
static const struct nla_policy dlcp_dev_get_nl_policy[DLCP_A_DEV_IFINDEX + 1] = {
	[DLCP_A_DEV_IFINDEX] = NLA_POLICY_MIN(NLA_U32, 1),
};

/* Ops table for dlcp */
static const struct genl_split_ops dlcp_nl_ops[] = {
	{
		.cmd		= DLCP_CMD_SOCK_GET,
		.dumpit		= dlcp_nl_sock_get_dumpit,
		.policy		= dlcp_sock_get_nl_policy,
		.maxattr	= DLCP_A_SOCK_COOKIE,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= DLCP_CMD_PATH_GET,
		.dumpit		= dlcp_nl_path_get_dumpit,
		.policy		= dlcp_path_get_nl_policy,
		.maxattr	= DLCP_A_PATH_COOKIE,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= DLCP_CMD_DEV_GET,
		.dumpit		= dlcp_nl_dev_get_dumpit,
		.policy		= dlcp_dev_get_nl_policy,
		.maxattr	= DLCP_A_DEV_IFINDEX,
		.flags		= GENL_CMD_CAP_DUMP,
	},
};

struct genl_family dlcp_nl_family __ro_after_init = {
	.name		= DLCP_FAMILY_NAME,
	.version	= DLCP_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= dlcp_nl_ops,
	.n_split_ops	= ARRAY_SIZE(dlcp_nl_ops),
};
