// SPDX-License-Identifier: GPL-2.0
/*
 * net.dlcp.*: see Documentation/sysctl.md.
 */
#include <linux/slab.h>
#include <linux/sysctl.h>

#include "dlcp.h"

static int dlcp_max_port = 65535;
static int dlcp_max_paths = DLCP_PATHS_MAX;
static int dlcp_min_buf = 4096;
static int dlcp_max_buf = 1 << 30;
static unsigned int dlcp_one = 1;
static unsigned int dlcp_min_silence = DLCP_SILENCE_MIN_MS;
static unsigned int dlcp_max_silence = DLCP_SILENCE_MAX_MS;
static unsigned int dlcp_max_ack_delay = 100 * 1000;
static unsigned int dlcp_max_ack_packets = 256;
static unsigned int dlcp_min_unsolicited = 4096;
static unsigned int dlcp_max_unsolicited = 1 << 30;
/* A call that brings more is cut by the kernel, at MAX_RW_COUNT */
static unsigned int dlcp_max_msg_mb = DLCP_MAX_MSG_MB;
static unsigned int dlcp_max_reply_rate = 1000 * 1000;

static int dlcp_proc_port(DLCP_CTL_TABLE *table, int write, void *buf,
			  size_t *len, loff_t *pos)
{
	struct net *net = table->extra1;
	struct dlcp_net *dn = dlcp_pernet(net);
	int port = READ_ONCE(dn->udp_port);
	struct ctl_table tmp = {
		.data	= &port,
		.maxlen	= sizeof(port),
		.mode	= table->mode,
		.extra1	= SYSCTL_ZERO,
		.extra2	= &dlcp_max_port,
	};
	int err;

	err = proc_dointvec_minmax(&tmp, write, buf, len, pos);
	if (!err && write)
		err = dlcp_udp_set_port(net, port);
	return err;
}

/* Read or write a word: @name holds the present one, then the new one. Return:
 * 1 if there is a new one, 0, or a negative errno.
 */
static int dlcp_proc_name(DLCP_CTL_TABLE *table, int write, void *buf,
			  size_t *len, loff_t *pos, char *name)
{
	struct ctl_table tmp = {
		.data	= name,
		.maxlen	= DLCP_CC_NAME_MAX,
		.mode	= table->mode,
	};
	int err;

	err = proc_dostring(&tmp, write, buf, len, pos);
	return err ?: !!write;
}

static int dlcp_proc_cong(DLCP_CTL_TABLE *table, int write, void *buf,
			  size_t *len, loff_t *pos)
{
	struct dlcp_net *dn = dlcp_pernet(table->extra1);
	const struct dlcp_cong_ops *ops;
	char name[DLCP_CC_NAME_MAX];
	int ret;

	strscpy(name, READ_ONCE(dn->cong)->name, sizeof(name));
	ret = dlcp_proc_name(table, write, buf, len, pos, name);
	if (ret <= 0)
		return ret;
	ops = dlcp_cong_find(name);
	if (!ops)
		return -ENOENT;
	WRITE_ONCE(dn->cong, ops);
	return 0;
}

static int dlcp_proc_pathsched(DLCP_CTL_TABLE *table, int write, void *buf,
			       size_t *len, loff_t *pos)
{
	struct dlcp_net *dn = dlcp_pernet(table->extra1);
	const struct dlcp_pathsched_ops *ops;
	char name[DLCP_CC_NAME_MAX];
	int ret;

	strscpy(name, READ_ONCE(dn->pathsched)->name, sizeof(name));
	ret = dlcp_proc_name(table, write, buf, len, pos, name);
	if (ret <= 0)
		return ret;
	ops = dlcp_pathsched_find(name);
	if (!ops)
		return -ENOENT;
	WRITE_ONCE(dn->pathsched, ops);
	return 0;
}

static int dlcp_proc_rails(DLCP_CTL_TABLE *table, int write, void *buf,
			   size_t *len, loff_t *pos)
{
	struct dlcp_net *dn = dlcp_pernet(table->extra1);
	char names[DLCP_RAILS_TEXT];
	struct ctl_table tmp = {
		.data	= names,
		.maxlen	= sizeof(names),
		.mode	= table->mode,
	};
	int err;

	dlcp_rails_get(dn, names);
	err = proc_dostring(&tmp, write, buf, len, pos);
	if (err || !write)
		return err;
	/* It has cut off what is too long, perhaps within a name */
	if (strlen(names) == sizeof(names) - 1)
		return -EINVAL;
	return dlcp_rails_set(dn, names);
}

/* 8 lines of 4: important, droppable, critical, control */
static int dlcp_proc_dscp(DLCP_CTL_TABLE *table, int write, void *buf,
			  size_t *len, loff_t *pos)
{
	struct net *net = table->extra1;
	struct dlcp_net *dn = dlcp_pernet(net);
	int values[sizeof(dn->dscp)];
	u8 *dscp = &dn->dscp[0][0];
	int max = 63, err, i;
	struct ctl_table tmp = {
		.data	= values,
		.maxlen	= sizeof(values),
		.mode	= table->mode,
		.extra1	= SYSCTL_ZERO,
		.extra2	= &max,
	};

	for (i = 0; i < ARRAY_SIZE(values); i++)
		values[i] = READ_ONCE(dscp[i]);
	err = proc_dointvec_minmax(&tmp, write, buf, len, pos);
	if (err || !write)
		return err;
	for (i = 0; i < ARRAY_SIZE(values); i++)
		WRITE_ONCE(dscp[i], values[i]);
	return 0;
}

/* Those with a handler of their own: .extra1 becomes the namespace */
static const struct ctl_table dlcp_sysctl_own[] = {
	{ .procname = "udp_port", .maxlen = sizeof(int), .mode = 0644,
	  .proc_handler = dlcp_proc_port },
	{ .procname = "congestion", .maxlen = DLCP_CC_NAME_MAX, .mode = 0644,
	  .proc_handler = dlcp_proc_cong },
	{ .procname = "path_scheduler", .maxlen = DLCP_CC_NAME_MAX,
	  .mode = 0644,
	  .proc_handler = dlcp_proc_pathsched },
	{ .procname = "rails", .maxlen = DLCP_RAILS_TEXT, .mode = 0644,
	  .proc_handler = dlcp_proc_rails },
	{ .procname = "dscp", .maxlen = sizeof_field(struct dlcp_net, dscp),
	  .mode = 0644, .proc_handler = dlcp_proc_dscp },
};

/* Those that are fields of struct dlcp_net: .data is the offset there */
#define FIELD(f) .data = (void *)offsetof(struct dlcp_net, f), \
		 .maxlen = sizeof_field(struct dlcp_net, f), .mode = 0644

static const struct ctl_table dlcp_sysctl_fields[] = {
	{ .procname = "dead_ms", FIELD(dead_ms),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = &dlcp_min_silence, .extra2 = &dlcp_max_silence },
	{ .procname = "keepalive_ms", FIELD(keepalive_ms),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = &dlcp_min_silence, .extra2 = &dlcp_max_silence },
	{ .procname = "ack_delay_us", FIELD(ack_delay_us),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = SYSCTL_ZERO, .extra2 = &dlcp_max_ack_delay },
	{ .procname = "ack_packets", FIELD(ack_packets),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = &dlcp_one, .extra2 = &dlcp_max_ack_packets },
	{ .procname = "rx_unsolicited", FIELD(rx_unsolicited),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = &dlcp_min_unsolicited, .extra2 = &dlcp_max_unsolicited },
	{ .procname = "max_msg_mb", FIELD(max_msg_mb),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = &dlcp_one, .extra2 = &dlcp_max_msg_mb },
	{ .procname = "nr_paths", FIELD(nr_paths),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = &dlcp_one, .extra2 = &dlcp_max_paths },
	{ .procname = "tx_order", FIELD(tx_order),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE },
	{ .procname = "tx_priority", FIELD(tx_priority),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = SYSCTL_ZERO, .extra2 = SYSCTL_ONE },
	{ .procname = "reply_rate", FIELD(reply_rate),
	  .proc_handler = proc_douintvec_minmax,
	  .extra1 = SYSCTL_ZERO, .extra2 = &dlcp_max_reply_rate },
	{ .procname = "wmem", FIELD(wmem),
	  .proc_handler = proc_dointvec_minmax,
	  .extra1 = &dlcp_min_buf, .extra2 = &dlcp_max_buf },
	{ .procname = "rmem", FIELD(rmem),
	  .proc_handler = proc_dointvec_minmax,
	  .extra1 = &dlcp_min_buf, .extra2 = &dlcp_max_buf },
};

/* Of all namespaces together, in init_net */
static const struct ctl_table dlcp_sysctl_host[] = {
	{ .procname = "mem", .data = dlcp_sysctl_mem,
	  .maxlen = sizeof(dlcp_sysctl_mem), .mode = 0644,
	  .proc_handler = proc_doulongvec_minmax },
};

#define DLCP_NR_OWN	ARRAY_SIZE(dlcp_sysctl_own)
#define DLCP_NR_FIELDS	ARRAY_SIZE(dlcp_sysctl_fields)
#define DLCP_NR_HOST	ARRAY_SIZE(dlcp_sysctl_host)

static void dlcp_sysctl_fill(struct net *net, struct ctl_table *table)
{
	u8 *dn = (u8 *)dlcp_pernet(net);
	struct ctl_table *t = table;

	memcpy(t, dlcp_sysctl_own, sizeof(dlcp_sysctl_own));
	for (; t < table + DLCP_NR_OWN; t++)
		t->extra1 = net;
	memcpy(t, dlcp_sysctl_fields, sizeof(dlcp_sysctl_fields));
	for (; t < table + DLCP_NR_OWN + DLCP_NR_FIELDS; t++)
		t->data = dn + (unsigned long)t->data;
	if (net_eq(net, &init_net))
		memcpy(t, dlcp_sysctl_host, sizeof(dlcp_sysctl_host));
}

int dlcp_sysctl_init(struct net *net)
{
	size_t size = DLCP_NR_OWN + DLCP_NR_FIELDS;
	struct dlcp_net *dn = dlcp_pernet(net);
	struct ctl_table *table;

	if (net_eq(net, &init_net))
		size += DLCP_NR_HOST;
	table = kcalloc(size + 1, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	dlcp_sysctl_fill(net, table);
	dn->sysctl = dlcp_register_sysctl(net, "net/dlcp", table, size);
	if (!dn->sysctl) {
		kfree(table);
		return -ENOMEM;
	}
	dn->sysctl_table = table;
	return 0;
}

void dlcp_sysctl_exit(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);

	unregister_net_sysctl_table(dn->sysctl);
	kfree(dn->sysctl_table);
}
