// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/dlcp: counters, connections and their paths, devices.
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

	for (i = 0; i < DLCP_MIB_MAX; i++)
		seq_printf(seq, "%-24s %lu\n", dlcp_mib_names[i],
			   dlcp_mib_sum(dn, i));
	return 0;
}

/*
 * Connections and listeners, in the order of dlcp_net.socks. The position in
 * the file is the index there and 1, so that each read() goes on where the one
 * before has ended. Nobody's socket is locked: whoever may read this file could
 * hold up its users otherwise. The lock of the list keeps a socket on it, and
 * so its engine, for as long as it takes to copy what is shown.
 */
struct dlcp_socks_iter {
	struct seq_net_private	p;
	unsigned long		id;
};

static struct xarray *dlcp_socks(struct seq_file *seq)
{
	return &dlcp_pernet(seq_file_net(seq))->socks;
}

/* The first one from index *@pos - 1 on */
static void *dlcp_socks_find(struct seq_file *seq, loff_t *pos)
{
	struct dlcp_socks_iter *it = seq->private;

	it->id = *pos - 1;
	if (!xa_find(dlcp_socks(seq), &it->id, U32_MAX, XA_PRESENT))
		return NULL;
	*pos = it->id + 1;
	return it;
}

static void *dlcp_socks_start(struct seq_file *seq, loff_t *pos)
{
	return *pos ? dlcp_socks_find(seq, pos) : SEQ_START_TOKEN;
}

static void *dlcp_socks_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	return dlcp_socks_find(seq, pos);
}

static void dlcp_socks_stop(struct seq_file *seq, void *v)
{
}

/**
 * struct dlcp_socks_ends - the addresses of a socket
 * @local: IPv4 or IPv6
 * @remote: likewise; zeros of a listener
 * @local_port: host order
 * @remote_port: host order; 0 of a listener
 * @ipv4: they are IPv4
 */
struct dlcp_socks_ends {
	u8	local[DLCP_ADDR_LEN];
	u8	remote[DLCP_ADDR_LEN];
	u16	local_port;
	u16	remote_port;
	bool	ipv4;
};

static void dlcp_socks_ends(struct dlcp_socks_ends *e, const struct sock *sk,
			    u8 pair)
{
	dlcp_pair_addrs(sk, pair, e->local, e->remote);
	e->local_port = dlcp_sk(sk)->port;
	e->remote_port = ntohs(inet_sk(sk)->inet_dport);
	e->ipv4 = dlcp_is_ipv4(sk);
}

static void dlcp_socks_show_ends(struct seq_file *seq,
				 const struct dlcp_socks_ends *e)
{
	seq_printf(seq, e->ipv4 ? "%pI4:%u " : "[%pI6c]:%u ", e->local,
		   e->local_port);
	seq_printf(seq, e->ipv4 ? "%pI4:%u" : "[%pI6c]:%u", e->remote,
		   e->remote_port);
}

/**
 * struct dlcp_conns_line - what is shown of a socket
 * @info: its DLCP_INFO
 * @ends: its addresses
 * @wqueue: bytes in its send buffer; of a listener connections that may wait
 * @rqueue: bytes in its receive buffer; of a listener connections that wait
 * @inode: of its file; 0: it has none
 * @uid: its user
 */
struct dlcp_conns_line {
	struct dlcp_info	info;
	struct dlcp_socks_ends	ends;
	unsigned int		wqueue;
	unsigned int		rqueue;
	u64			inode;
	kuid_t			uid;
};

/* Return: false if it is not there any more */
static bool dlcp_conns_copy(struct xarray *socks, unsigned long id,
			    struct dlcp_conns_line *line)
{
	struct dlcp_sock *ds;
	struct sock *sk;

	xa_lock_bh(socks);
	ds = xa_load(socks, id);
	if (ds) {
		sk = &ds->inet.sk;
		dlcp_fill_info(sk, &line->info);
		dlcp_socks_ends(&line->ends, sk, 0);
		line->wqueue = READ_ONCE(sk->sk_wmem_queued);
		line->rqueue = sk_rmem_alloc_get(sk);
		if (line->info.state == DLCP_LISTEN) {
			line->wqueue = READ_ONCE(sk->sk_max_ack_backlog);
			line->rqueue = READ_ONCE(sk->sk_ack_backlog);
		}
		line->inode = sock_i_ino(sk);
		line->uid = READ_ONCE(sk->sk_uid);
	}
	xa_unlock_bh(socks);
	return ds;
}

static int dlcp_conns_show(struct seq_file *seq, void *v)
{
	static const char * const states[] = {
		"CLOSED", "LISTEN", "INIT_SENT", "ECHO_SENT", "ESTABLISHED",
		"CLOSING",
	};
	struct dlcp_socks_iter *it = v;
	struct dlcp_conns_line line;
	struct dlcp_info *info = &line.info;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "local remote state encap paths mtu srtt_us cwnd rate inflight wqueue rqueue tx_offered tx_delivered tx_forgiven tx_resent rx_offered rx_delivered rx_forgiven inode uid\n");
		return 0;
	}
	if (!dlcp_conns_copy(dlcp_socks(seq), it->id, &line))
		return SEQ_SKIP;
	dlcp_socks_show_ends(seq, &line.ends);
	seq_printf(seq, " %s %s %u %u %llu %llu %llu %llu %u %u",
		   info->state < ARRAY_SIZE(states) ? states[info->state] : "?",
		   info->encap == DLCP_ENCAP_RAW ? "raw" : "udp",
		   info->nr_paths, info->mtu,
		   div_u64(info->srtt_ns, NSEC_PER_USEC), info->cwnd,
		   info->pacing_rate, info->inflight, line.wqueue, line.rqueue);
	seq_printf(seq, " %llu %llu %llu %llu %llu %llu %llu %llu %u\n",
		   info->tx_offered, info->tx_delivered, info->tx_forgiven,
		   info->tx_resent, info->rx_offered, info->rx_delivered,
		   info->rx_forgiven, line.inode,
		   from_kuid_munged(seq_user_ns(seq), line.uid));
	return 0;
}

static const struct seq_operations dlcp_conns_ops = {
	.start	= dlcp_socks_start,
	.next	= dlcp_socks_next,
	.stop	= dlcp_socks_stop,
	.show	= dlcp_conns_show,
};

/* The @i-th path of a connection. Return: false if there is none. */
static bool dlcp_paths_copy(struct xarray *socks, unsigned long id, u32 i,
			    struct dlcp_path_info *info,
			    struct dlcp_socks_ends *ends)
{
	const struct dlcp_conn *c;
	struct dlcp_sock *ds;
	bool found;

	xa_lock_bh(socks);
	ds = xa_load(socks, id);
	c = ds ? &ds->conn : NULL;
	found = c && i < c->cfg.nr_paths;
	if (found) {
		dlcp_fill_path_info(&ds->inet.sk, &c->paths[i], info);
		dlcp_socks_ends(ends, &ds->inet.sk, info->pair);
	}
	xa_unlock_bh(socks);
	return found;
}

/* As many lines per connection as it has paths */
static int dlcp_paths_show(struct seq_file *seq, void *v)
{
	static const char * const states[] = { "works", "asked", "failed" };
	struct xarray *socks = dlcp_socks(seq);
	struct dlcp_socks_iter *it = v;
	struct dlcp_socks_ends ends;
	struct dlcp_path_info info;
	u32 i;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "local remote path state entropy weight srtt_us rttvar_us net_us min_net_us packets acked lost ce_marks inflight\n");
		return 0;
	}
	for (i = 0; dlcp_paths_copy(socks, it->id, i, &info, &ends); i++) {
		dlcp_socks_show_ends(seq, &ends);
		seq_printf(seq, " %u %s %u %u %llu %llu %llu %llu",
			   info.id, states[info.state], info.entropy,
			   info.weight, div_u64(info.srtt_ns, NSEC_PER_USEC),
			   div_u64(info.rttvar_ns, NSEC_PER_USEC),
			   div_u64(info.net_ns, NSEC_PER_USEC),
			   div_u64(info.min_net_ns, NSEC_PER_USEC));
		seq_printf(seq, " %llu %llu %llu %llu %llu\n", info.packets,
			   info.acked, info.lost, info.ce_marks,
			   info.inflight);
	}
	return 0;
}

static const struct seq_operations dlcp_paths_ops = {
	.start	= dlcp_socks_start,
	.next	= dlcp_socks_next,
	.stop	= dlcp_socks_stop,
	.show	= dlcp_paths_show,
};

int dlcp_proc_init(struct net *net)
{
	struct dlcp_net *dn = dlcp_pernet(net);

	if (!IS_ENABLED(CONFIG_PROC_FS))
		return 0;
	dn->proc = proc_net_mkdir(net, "dlcp", net->proc_net);
	if (!dn->proc)
		return -ENOMEM;
	if (proc_create_net_single("snmp", 0444, dn->proc, dlcp_snmp_show,
				   NULL) &&
	    proc_create_net_single("devices", 0444, dn->proc,
				   dlcp_egress_show, NULL) &&
	    proc_create_net("conns", 0444, dn->proc, &dlcp_conns_ops,
			    sizeof(struct dlcp_socks_iter)) &&
	    proc_create_net("paths", 0444, dn->proc, &dlcp_paths_ops,
			    sizeof(struct dlcp_socks_iter)))
		return 0;
	remove_proc_subtree("dlcp", net->proc_net);
	return -ENOMEM;
}

void dlcp_proc_exit(struct net *net)
{
	if (IS_ENABLED(CONFIG_PROC_FS))
		remove_proc_subtree("dlcp", net->proc_net);
}
