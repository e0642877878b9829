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

# probe NAME: the C source on standard input compiles -> HAVE_NAME
probe() {
	names+=("$1")
	cat >"$dir/$1.c"
}

# One that must compile; if it does not, nothing here means anything.
probe SANE <<'END'
#include <linux/module.h>
#include <net/sock.h>
int dlcp_probe(struct sock *sk);
int dlcp_probe(struct sock *sk) { return sk->sk_family; }
END

probe CONST_CTL_TABLE <<'END'
#include <linux/sysctl.h>
int h(const struct ctl_table *t, int write, void *buf, size_t *len, loff_t *pos);
struct ctl_table dlcp_probe = { .proc_handler = h };
END

probe REGISTER_NET_SYSCTL_SZ <<'END'
#include <net/net_namespace.h>
void *dlcp_probe(struct net *net, struct ctl_table *t);
void *dlcp_probe(struct net *net, struct ctl_table *t)
{ return register_net_sysctl_sz(net, "net/x", t, 1); }
END

probe HRTIMER_SETUP <<'END'
#include <linux/hrtimer.h>
void dlcp_probe(struct hrtimer *t, enum hrtimer_restart (*f)(struct hrtimer *));
void dlcp_probe(struct hrtimer *t, enum hrtimer_restart (*f)(struct hrtimer *))
{ hrtimer_setup(t, f, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_SOFT); }
END

probe ENCAP_ERR_RCV_ERRNO <<'END'
#include <net/udp_tunnel.h>
void e(struct sock *sk, struct sk_buff *skb, int err, __be16 port, u32 info, u8 *payload);
struct udp_tunnel_sock_cfg dlcp_probe = { .encap_err_rcv = e };
END

probe TUNNEL_SOCK_SK <<'END'
#include <net/udp_tunnel.h>
void dlcp_probe(struct net *net, struct sock *sk, struct udp_tunnel_sock_cfg *cfg);
void dlcp_probe(struct net *net, struct sock *sk, struct udp_tunnel_sock_cfg *cfg)
{ setup_udp_tunnel_sock(net, sk, cfg); }
END

probe PROTO_MEMORY_H <<'END'
#include <net/proto_memory.h>
int dlcp_probe;
END

probe PROTO_ACCEPT_ARG <<'END'
#include <net/sock.h>
struct sock *a(struct sock *sk, struct proto_accept_arg *arg);
struct proto dlcp_probe = { .accept = a };
END

probe SOCKADDR_UNSIZED <<'END'
#include <linux/net.h>
int b(struct socket *sock, struct sockaddr_unsized *addr, int len);
struct proto_ops dlcp_probe = { .bind = b };
END

probe RECVMSG_ADDR_LEN <<'END'
#include <net/sock.h>
int r(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len);
struct proto dlcp_probe = { .recvmsg = r };
END

probe IOCTL_KARG <<'END'
#include <net/sock.h>
int i(struct sock *sk, int cmd, int *karg);
struct proto dlcp_probe = { .ioctl = i };
END

probe IPV6_PINFO_OFFSET <<'END'
#include <net/sock.h>
struct proto dlcp_probe = { .ipv6_pinfo_offset = 8 };
END

probe SENDPAGE <<'END'
#include <linux/net.h>
ssize_t p(struct socket *sock, struct page *page, int offset, size_t size, int flags);
struct proto_ops dlcp_probe = { .sendpage = p };
END

probe ITER_IOV <<'END'
#include <linux/uio.h>
const void *dlcp_probe(const struct iov_iter *i);
const void *dlcp_probe(const struct iov_iter *i) { return iter_iov(i); }
END

probe SK_UID_HELPER <<'END'
#include <net/sock.h>
kuid_t dlcp_probe(const struct sock *sk);
kuid_t dlcp_probe(const struct sock *sk) { return sk_uid(sk); }
END

probe ZEROCOPY_DEVMEM <<'END'
#include <linux/skbuff.h>
struct ubuf_info *dlcp_probe(struct sock *sk);
struct ubuf_info *dlcp_probe(struct sock *sk)
{ return msg_zerocopy_realloc(sk, 1, NULL, false); }
END

probe BPF_CONNECT_LEN <<'END'
#include <linux/bpf-cgroup.h>
int dlcp_probe(struct sock *sk, void *addr, int *len);
int dlcp_probe(struct sock *sk, void *addr, int *len)
{ return BPF_CGROUP_RUN_PROG_INET4_CONNECT(sk, addr, len); }
END

probe TIMER_CONTAINER_OF <<'END'
#include <net/sock.h>
struct sock *dlcp_probe(struct timer_list *t);
struct sock *dlcp_probe(struct timer_list *t)
{
	struct sock *sk = timer_container_of(sk, t, sk_timer);

	return sk;
}
END

probe INET_SOCK_FL_LIST <<'END'
#include <net/inet_sock.h>
void dlcp_probe(struct inet_sock *inet);
void dlcp_probe(struct inet_sock *inet) { inet->ipv6_fl_list = NULL; }
END

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
} >"$out.tmp"
mv "$out.tmp" "$out"
