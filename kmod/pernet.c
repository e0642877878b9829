// SPDX-License-Identifier: GPL-2.0
/*
 * What a network namespace owns: settings, counters, ports, the tunnel
 * sockets, the listener's secret.
 */
#include <linux/random.h>

#include "dlcp.h"

/* RFC 2597: AFxy = 8x + 2y; urgent classes get AF4, unimportant ones AF1 */
static void dlcp_default_dscp(struct dlcp_net *dn)
{
	int prio, af;

	for (prio = 0; prio <= DLCP_PRIO_MAX; prio++) {
		af = 8 * (4 - prio / 2);
		dn->dscp[prio][DLCP_TAG_CRITICAL] = af + 2;
		dn->dscp[prio][DLCP_TAG_IMPORTANT] = af + 4;
		dn->dscp[prio][DLCP_TAG_DROPPABLE] = af + 6;
		dn->dscp[prio][3] = 48;		/* control: CS6 */
	}
}

static void dlcp_defaults(struct dlcp_net *dn)
{
	dn->udp_port = DLCP_UDP_PORT;
	dn->dead_ms = 30000;
	dn->keepalive_ms = 10000;
	dn->ack_delay_us = 50;
	dn->ack_packets = 16;
	dn->rx_unsolicited = 256 * 1024;
	dn->max_msg_mb = DLCP_MAX_MSG_MB;
	dn->nr_paths = 1;
	dn->tx_order = 1;
	dn->reply_rate = 1000;
	/* 10 Gbit/s over 1 ms is 1.25 MB in flight; twice that and the
	 * overhead of skbs is what must fit.
	 */
	dn->wmem[0] = 16 * 1024;
	dn->wmem[1] = 4 * 1024 * 1024;
	dn->wmem[2] = 64 * 1024 * 1024;
	dn->rmem[0] = 16 * 1024;
	dn->rmem[1] = 8 * 1024 * 1024;
	dn->rmem[2] = 64 * 1024 * 1024;
	dn->cong = dlcp_cong_all[0];
	dn->pathsched = dlcp_pathsched_all[0];
	dlcp_default_dscp(dn);
}

static int __net_init dlcp_net_init(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);
	int err;

	dlcp_ports_init(dn);
	spin_lock_init(&dn->secret_lock);
	spin_lock_init(&dn->rails_lock);
	mutex_init(&dn->udp_lock);
	dlcp_devs_init(dn);
	get_random_bytes(&dn->secrets, sizeof(dn->secrets));
	dlcp_defaults(dn);

	dn->mib = alloc_percpu(struct dlcp_mib);
	if (!dn->mib)
		return -ENOMEM;
	err = dlcp_proc_init(net);
	if (err)
		goto free_mib;
	err = dlcp_sysctl_init(net);
	if (err)
		goto exit_proc;
	return 0;

exit_proc:
	dlcp_proc_exit(net);
free_mib:
	free_percpu(dn->mib);
	return err;
}

/* All sockets of the namespace are gone: they hold it */
static void __net_exit dlcp_net_exit(struct net *net)
{
	dlcp_sysctl_exit(net);
	dlcp_udp_close(net);
	dlcp_proc_exit(net);
	dlcp_ports_exit(dlcp_pernet(net));
	free_percpu(dlcp_pernet(net)->mib);
}

static struct pernet_operations dlcp_net_ops = {
	.init	= dlcp_net_init,
	.exit	= dlcp_net_exit,
	.id	= &dlcp_net_id,
	.size	= sizeof(struct dlcp_net),
};

int dlcp_pernet_register(void)
{
	return register_pernet_subsys(&dlcp_net_ops);
}

void dlcp_pernet_unregister(void)
{
	unregister_pernet_subsys(&dlcp_net_ops);
}
