#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kmod/compat/probe.sh KERNEL-BUILD-FOLDER OUTPUT [MAKE-ARGUMENT...]
#
# Find out what the kernel to build for has, by compiling, and write it to
# OUTPUT as HAVE_* macros for compat.h. Version numbers would tell less:
# distributions and stable releases carry interfaces both ways.

set -eu

kdir=$1
out=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
names=()

# probe NAME HEADER... CODE: it compiles -> HAVE_NAME
probe() {
	names+=("$1")
	printf '#include <%s>\n' "${@:2:$#-2}" >"$dir/$1.c"
	printf '%s\n' "${!#}" >>"$dir/$1.c"
}

# exported NAME SYMBOL: modules may call it -> HAVE_NAME. Headers declare others, too.
exported=()
exported() {
	if [ -e "$kdir/Module.symvers" ] && ! grep -qw "$2" "$kdir/Module.symvers"; then
		exported+=("/* no HAVE_$1 */")
	else
		exported+=("#define HAVE_$1 1")
	fi
}

exported INET_RECV_ERROR inet_recv_error
exported SK_FLUSH_BACKLOG __sk_flush_backlog

# One that must compile; if it does not, nothing here means anything.
probe SANE linux/module.h net/sock.h 'int dlcp_probe(struct sock *sk) { return sk->sk_family; }'

probe INET_DSCP_H net/inet_dscp.h ''
probe GRO_H net/gro.h ''
probe CONST_CTL_TABLE linux/sysctl.h \
	'int h(const struct ctl_table *t, int write, void *buf, size_t *len, loff_t *pos);
	struct ctl_table dlcp_probe = { .proc_handler = h };'
probe REGISTER_NET_SYSCTL_SZ net/net_namespace.h \
	'void *dlcp_probe(struct net *net, struct ctl_table *t)
	{ return register_net_sysctl_sz(net, "net/x", t, 1); }'
probe HRTIMER_SETUP linux/hrtimer.h \
	'void dlcp_probe(struct hrtimer *t, enum hrtimer_restart (*f)(struct hrtimer *))
	{ hrtimer_setup(t, f, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT); }'
probe ENCAP_ERR_RCV_ERRNO net/udp_tunnel.h \
	'void e(struct sock *sk, struct sk_buff *skb, int err, __be16 port, u32 info, u8 *payload);
	struct udp_tunnel_sock_cfg dlcp_probe = { .encap_err_rcv = e };'
probe TUNNEL_SOCK_SK net/udp_tunnel.h \
	'void dlcp_probe(struct net *net, struct sock *sk, struct udp_tunnel_sock_cfg *cfg)
	{ setup_udp_tunnel_sock(net, sk, cfg); }'
probe PROTO_MEMORY_H net/proto_memory.h 'int dlcp_probe;'
probe PROTO_ACCEPT_ARG linux/net.h \
	'int a(struct socket *sock, struct socket *to, struct proto_accept_arg *arg);
	struct proto_ops dlcp_probe = { .accept = a };'
probe SOCKADDR_UNSIZED linux/net.h \
	'int b(struct socket *sock, struct sockaddr_unsized *addr, int len);
	struct proto_ops dlcp_probe = { .bind = b };'
probe RECVMSG_ADDR_LEN net/sock.h \
	'int r(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len);
	struct proto dlcp_probe = { .recvmsg = r };'
probe RECVMSG_NOBLOCK net/sock.h \
	'int r(struct sock *sk, struct msghdr *msg, size_t len, int noblock, int flags, int *addr_len);
	struct proto dlcp_probe = { .recvmsg = r };'
probe ENCAP_ERR_RCV net/udp_tunnel.h \
	'void *dlcp_probe(struct udp_tunnel_sock_cfg *cfg) { return cfg->encap_err_rcv; }'
probe MSG_ZEROCOPY linux/skbuff.h 'void dlcp_probe(struct ubuf_info *uarg) { net_zcopy_put(uarg); }'
probe UARG_TO_MSGZC linux/skbuff.h \
	'void dlcp_probe(struct ubuf_info *uarg) { uarg_to_msgzc(uarg)->zerocopy = 0; }'
probe ITER_UBUF linux/uio.h \
	'ssize_t dlcp_probe(struct iov_iter *i, struct page **p, size_t *start)
	{ return iter_is_ubuf(i) ? iov_iter_get_pages2(i, p, 1, 1, start) : user_backed_iter(i); }'
probe SK_ERROR_REPORT net/sock.h 'void dlcp_probe(struct sock *sk) { sk_error_report(sk); }'
probe DROP_REASONS linux/skbuff.h \
	'void dlcp_probe(struct sk_buff *skb) { kfree_skb_reason(skb, SKB_DROP_REASON_PROTO_MEM); }'
probe SKB_TSTAMP linux/skbuff.h 'ktime_t dlcp_probe(const struct sk_buff *skb) { return skb_tstamp(skb); }'
probe UDP_POST_SEGMENT net/udp.h 'void dlcp_probe(struct sk_buff *skb) { udp_post_segment_fix_csum(skb); }'
probe SK_PORT_RANGE net/ip.h net/sock.h \
	'void dlcp_probe(struct sock *sk, int *low, int *high)
	{ inet_sk_get_local_port_range(sk, low, high); }'
probe PROTO_PUT_PORT net/sock.h \
	'void p(struct sock *sk);
	struct proto dlcp_probe = { .put_port = p };'
probe PROTO_FW_ALLOC net/sock.h \
	'size_t dlcp_probe(const struct proto *p) { return sizeof(p->per_cpu_fw_alloc); }'
probe IOCTL_KARG net/sock.h \
	'int i(struct sock *sk, int cmd, int *karg);
	struct proto dlcp_probe = { .ioctl = i };'
probe IPV6_PINFO_OFFSET net/sock.h 'struct proto dlcp_probe = { .ipv6_pinfo_offset = 8 };'
probe SENDPAGE linux/net.h \
	'ssize_t p(struct socket *sock, struct page *page, int offset, size_t size, int flags);
	struct proto_ops dlcp_probe = { .sendpage = p };'
probe ITER_IOV linux/uio.h 'const void *dlcp_probe(const struct iov_iter *i) { return iter_iov(i); }'
probe SK_UID_HELPER net/sock.h 'kuid_t dlcp_probe(const struct sock *sk) { return sk_uid(sk); }'
probe ZEROCOPY_DEVMEM linux/skbuff.h \
	'struct ubuf_info *dlcp_probe(struct sock *sk) { return msg_zerocopy_realloc(sk, 1, NULL, false); }'
probe BPF_CONNECT_LEN linux/bpf-cgroup.h \
	'int dlcp_probe(struct sock *sk, void *addr, int *len)
	{ return BPF_CGROUP_RUN_PROG_INET4_CONNECT(sk, addr, len); }'
probe TIMER_CONTAINER_OF net/sock.h \
	'struct sock *dlcp_probe(struct timer_list *t)
	{ struct sock *sk = timer_container_of(sk, t, sk_timer); return sk; }'
probe INET_SOCK_FL_LIST net/inet_sock.h \
	'void dlcp_probe(struct inet_sock *inet) { inet->ipv6_fl_list = NULL; }'
probe GENL_SPLIT_OPS net/genetlink.h 'struct genl_split_ops dlcp_probe[1];'
probe GENL_INFO_DUMP net/genetlink.h \
	'const void *dlcp_probe(struct netlink_callback *cb) { return genl_info_dump(cb)->attrs; }'
probe INET_DIAG_BC_DATA linux/inet_diag.h \
	'int dlcp_probe(const struct inet_diag_dump_data *data, struct sock *sk) { return inet_diag_bc_sk(data, sk); }'
probe INET_DIAG_OWNER linux/inet_diag.h \
	'const void *dlcp_probe(const struct inet_diag_handler *h) { return h->owner; }'
probe NLA_PUT_UINT net/netlink.h 'int dlcp_probe(struct sk_buff *skb) { return nla_put_uint(skb, 1, 1); }'

{
	printf 'obj-m := %s\n' "$(printf '%s.o ' "${names[@]}")"
	echo 'ccflags-y := -Werror -Wno-missing-prototypes -Wno-missing-declarations'
} >"$dir/Makefile"

# One make, all probes at once; those that fail are the answer "no".
make -s -k -j"$(nproc)" -C "$kdir" M="$dir" "$@" "${names[@]/%/.o}" >"$dir/log" 2>&1 || true

if [ ! -s "$dir/SANE.o" ]; then
	cat "$dir/log" >&2
	echo "probe.sh: nothing compiles against $kdir" >&2
	exit 1
fi

{
	echo '/* Written by kmod/compat/probe.sh */'
	for name in "${names[@]}"; do
		[ "$name" = SANE ] && continue
		if [ -s "$dir/$name.o" ]; then
			echo "#define HAVE_$name 1"
		else
			echo "/* no HAVE_$name */"
		fi
	done
	printf '%s\n' "${exported[@]}"
} >"$out.tmp"
mv "$out.tmp" "$out"
