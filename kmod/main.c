// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading.
 */
#include <linux/module.h>

#include "dlcp.h"
#include "netlink_gen.h"

static void __init dlcp_check_sizes(void)
{
	/* The user's structs: the same on 32 and 64 bit */
	BUILD_BUG_ON(sizeof(struct dlcp_attr) != 48);
	BUILD_BUG_ON(sizeof(struct dlcp_tags) != 8);
	BUILD_BUG_ON(sizeof(struct dlcp_want) != 16);
	BUILD_BUG_ON(sizeof(struct dlcp_msg) != 56);
	BUILD_BUG_ON(sizeof(struct dlcp_range) != 24);
	BUILD_BUG_ON(sizeof(struct dlcp_report) != 72);
	BUILD_BUG_ON(sizeof(struct dlcp_info) != 224);
	BUILD_BUG_ON(sizeof(struct dlcp_path_info) != 128);
	/* On the wire */
	BUILD_BUG_ON(DLCP_HDR_LEN != 12);
	BUILD_BUG_ON(DLCP_DATA_HDR_LEN != 24);
	BUILD_BUG_ON(DLCP_CTRL_HDR_LEN != 16);
	BUILD_BUG_ON(DLCP_OPEN_LEN != 40);
	BUILD_BUG_ON(DLCP_SETUP_LEN > DLCP_CTRL_MAX);

	BUILD_BUG_ON(sizeof(struct dlcp_tx_cb) > sizeof_field(struct sk_buff, cb));
	BUILD_BUG_ON(sizeof(struct dlcp_skb_cb) >
		     sizeof_field(struct sk_buff, cb));
	BUILD_BUG_ON(sizeof_field(struct dlcp_skb_cb, mask) * 8 < DLCP_SKB_SEGS);
}

static int __init dlcp_init(void)
{
	int err;

	dlcp_check_sizes();
	dlcp_push_init();
	dlcp_deliver_init();
	err = dlcp_mem_init();
	if (err)
		return err;
	err = dlcp_table_init();
	if (err)
		goto exit_mem;
	err = dlcp_pernet_register();
	if (err)
		goto exit_table;
	err = dlcp_raw ? dlcp_raw_register() : 0;
	if (err)
		goto unregister_pernet;
	err = dlcp_register_protos();
	if (err)
		goto unregister_raw;
	err = genl_register_family(&dlcp_nl_family);
	if (err)
		goto unregister_protos;
	return 0;

unregister_protos:
	dlcp_unregister_protos();
unregister_raw:
	if (dlcp_raw)
		dlcp_raw_unregister();
unregister_pernet:
	dlcp_pernet_unregister();
exit_table:
	dlcp_table_exit();
exit_mem:
	dlcp_mem_exit();
	return err;
}

/* No socket is left: each one holds the module */
static void __exit dlcp_exit(void)
{
	genl_unregister_family(&dlcp_nl_family);
	dlcp_unregister_protos();
	if (dlcp_raw)
		dlcp_raw_unregister();
	dlcp_pernet_unregister();
	synchronize_rcu();	/* receive callbacks still running */
	rcu_barrier();		/* sockets freed after a grace period */
	dlcp_deliver_exit();
	dlcp_push_exit();
	dlcp_table_exit();
	dlcp_mem_exit();
}

module_init(dlcp_init);
module_exit(dlcp_exit);

/* No alias has any user's socket(), or question to the netlink family, load it:
 * that is for the administrator
 */
MODULE_AUTHOR("The DLCP authors");
MODULE_DESCRIPTION("DLCP: bounded-loss transport for distributed training");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
