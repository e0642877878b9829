// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/dlcp/snmp: counters.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/ip.h>

#include "dlcp.h"

static unsigned long dlcp_mib_sum(const struct dlcp_net *dn, int item)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += snmp_get_cpu_field(dn->mib, cpu, item);
	return sum;
}

static int dlcp_snmp_show(struct seq_file *seq, void *v)
{
	struct net *net = seq->private;
	struct dlcp_net *dn = dlcp_pernet(net);
	int i;

	dlcp_mib_collect(dn);
	for (i = 0; i < DLCP_MIB_MAX; i++)
		seq_printf(seq, "%-24s %lu\n", dlcp_mib_names[i],
			   dlcp_mib_sum(dn, i));
	return 0;
}

int dlcp_proc_init(struct net *net)
{
	struct proc_dir_entry *dir;

	if (!IS_ENABLED(CONFIG_PROC_FS))
		return 0;
	dir = proc_net_mkdir(net, "dlcp", net->proc_net);
	if (!dir)
		return -ENOMEM;
	if (proc_create_net_single("snmp", 0444, dir, dlcp_snmp_show, NULL))
		return 0;
	remove_proc_subtree("dlcp", net->proc_net);
	return -ENOMEM;
}

void dlcp_proc_exit(struct net *net)
{
	if (IS_ENABLED(CONFIG_PROC_FS))
		remove_proc_subtree("dlcp", net->proc_net);
}
