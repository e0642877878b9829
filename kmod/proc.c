// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/dlcp: counters, connections and their paths, devices.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/ip.h>

#include "dlcp.h"

static int dlcp_snmp_show(struct seq_file *seq, void *v)
{
	struct net *net = seq->private;
	struct dlcp_net *dn = dlcp_pernet(net);
	int i;

	for (i = 0; i < DLCP_MIB_MAX; i++)
		seq_printf(seq, "%-24s %lu\n", dlcp_mib_names[i],
			   snmp_fold_field(dn->mib, i));
	return 0;
}

/*
 * One line per connection. Walking the table needs RCU, looking into a
 * connection its lock, which may sleep: so each one is held by a reference
 * between the two.
 */
struct dlcp_conns_iter {
	struct seq_net_private	p;
	struct rhashtable_iter	iter;
};

static void *dlcp_conns_step(struct seq_file *seq)
{
	struct dlcp_conns_iter *it = seq->private;
	struct net *net = seq_file_net(seq);
	struct dlcp_sock *ds;

	rhashtable_walk_start(&it->iter);
	do {
		ds = rhashtable_walk_next(&it->iter);
		if (IS_ERR(ds) && PTR_ERR(ds) == -EAGAIN)
			continue;	/* resized: some may come twice */
		if (IS_ERR_OR_NULL(ds))
			break;
		if (net_eq(sock_net(&ds->inet.sk), net) &&
		    refcount_inc_not_zero(&ds->inet.sk.sk_refcnt))
			break;
	} while (1);
	rhashtable_walk_stop(&it->iter);
	return IS_ERR(ds) ? NULL : ds;
}

static void *dlcp_conns_start(struct seq_file *seq, loff_t *pos)
{
	struct dlcp_conns_iter *it = seq->private;
	void *v = SEQ_START_TOKEN;
	loff_t i;

	rhashtable_walk_enter(dlcp_table_local(), &it->iter);
	for (i = 0; i < *pos && v; i++) {
		if (v != SEQ_START_TOKEN)
			sock_put(v);
		v = dlcp_conns_step(seq);
	}
	return v;
}

static void *dlcp_conns_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	if (v != SEQ_START_TOKEN)
		sock_put(v);
	return dlcp_conns_step(seq);
}

static void dlcp_conns_stop(struct seq_file *seq, void *v)
{
	struct dlcp_conns_iter *it = seq->private;

	if (v && v != SEQ_START_TOKEN)
		sock_put(v);
	rhashtable_walk_exit(&it->iter);
}

/* Of pair @pair of addresses */
static void dlcp_conns_addr(struct seq_file *seq, const struct sock *sk,
			    u8 pair)
{
	const struct dlcp_conn *c = &dlcp_sk(sk)->conn;
	const struct inet_sock *inet = inet_sk(sk);
	u16 dport = ntohs(inet->inet_dport);
	u16 port = dlcp_sk(sk)->port;
	const void *saddr, *daddr;

	saddr = &inet->inet_saddr;
	daddr = &inet->inet_daddr;
#if IS_ENABLED(CONFIG_IPV6)
	if (!dlcp_is_ipv4(sk)) {
		saddr = &inet6_sk(sk)->saddr;
		daddr = &sk->sk_v6_daddr;
	}
#endif
	if (pair) {
		saddr = c->rails[pair - 1].own.addr;
		daddr = c->rails[pair - 1].peer;
	}
	if (dlcp_is_ipv4(sk))
		seq_printf(seq, "%pI4:%u %pI4:%u", saddr, port, daddr, dport);
	else
		seq_printf(seq, "[%pI6c]:%u [%pI6c]:%u", saddr, port, daddr,
			   dport);
}

static int dlcp_conns_show(struct seq_file *seq, void *v)
{
	static const char * const states[] = {
		"CLOSED", "LISTEN", "INIT_SENT", "ECHO_SENT", "ESTABLISHED",
		"CLOSING",
	};
	struct dlcp_info info = {};
	struct sock *sk = v;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "local remote state carrier paths mtu srtt_us cwnd rate inflight wqueue rqueue tx_offered tx_delivered tx_forgiven tx_resent rx_offered rx_delivered rx_forgiven inode\n");
		return 0;
	}
	lock_sock(sk);
	if (!dlcp_sk(sk)->conn_ready) {
		release_sock(sk);
		return SEQ_SKIP;
	}
	dlcp_fill_info(sk, &info);
	dlcp_conns_addr(seq, sk, 0);
	seq_printf(seq, " %s %s %u %u %llu %llu %llu %llu %d %d",
		   info.state < ARRAY_SIZE(states) ? states[info.state] : "?",
		   info.carrier == DLCP_CARRIER_RAW ? "raw" : "udp",
		   info.nr_paths, info.mtu,
		   div_u64(info.srtt_ns, NSEC_PER_USEC), info.cwnd,
		   info.pacing_rate, info.inflight, sk->sk_wmem_queued,
		   sk_rmem_alloc_get(sk));
	seq_printf(seq, " %llu %llu %llu %llu %llu %llu %llu %lu\n",
		   info.tx_offered, info.tx_delivered, info.tx_forgiven,
		   info.tx_resent, info.rx_offered, info.rx_delivered,
		   info.rx_forgiven, sock_i_ino(sk));
	release_sock(sk);
	return 0;
}

static const struct seq_operations dlcp_conns_ops = {
	.start	= dlcp_conns_start,
	.next	= dlcp_conns_next,
	.stop	= dlcp_conns_stop,
	.show	= dlcp_conns_show,
};

/* As many lines per connection as it has paths */
static int dlcp_paths_show(struct seq_file *seq, void *v)
{
	static const char * const states[] = { "works", "asked", "failed" };
	struct dlcp_path_info info;
	const struct dlcp_conn *c;
	struct sock *sk = v;
	u32 i;

	if (v == SEQ_START_TOKEN) {
		seq_puts(seq, "local remote path state entropy weight srtt_us rttvar_us net_us min_net_us packets acked lost ce_marks inflight\n");
		return 0;
	}
	lock_sock(sk);
	c = &dlcp_sk(sk)->conn;
	for (i = 0; dlcp_sk(sk)->conn_ready && i < c->cfg.nr_paths; i++) {
		dlcp_fill_path_info(sk, &c->paths[i], &info);
		dlcp_conns_addr(seq, sk, c->paths[i].pair);
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
	release_sock(sk);
	return 0;
}

static const struct seq_operations dlcp_paths_ops = {
	.start	= dlcp_conns_start,
	.next	= dlcp_conns_next,
	.stop	= dlcp_conns_stop,
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
			    sizeof(struct dlcp_conns_iter)) &&
	    proc_create_net("paths", 0444, dn->proc, &dlcp_paths_ops,
			    sizeof(struct dlcp_conns_iter)))
		return 0;
	remove_proc_subtree("dlcp", net->proc_net);
	return -ENOMEM;
}

void dlcp_proc_exit(struct net *net)
{
	if (IS_ENABLED(CONFIG_PROC_FS))
		remove_proc_subtree("dlcp", net->proc_net);
}
