/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/dlcp.yaml */
/* YNL-GEN kernel header */
/* To regenerate run: tools/net/ynl/ynl-regen.sh */

#ifndef _LINUX_DLCP_GEN_H
#define _LINUX_DLCP_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/dlcp_netlink.h>
#include <linux/dlcp.h>

int dlcp_nl_sock_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dlcp_nl_path_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int dlcp_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

extern struct genl_family dlcp_nl_family;

#endif /* _LINUX_DLCP_GEN_H */
