// SPDX-License-Identifier: GPL-2.0
/*
 * The module dlcp_diag: sockets by sock_diag, as tools know it of TCP and UDP,
 * and SOCK_DESTROY. It is apart from dlcp, which does without inet_diag.
 *
 * No socket is locked for who only looks. INET_DIAG_INFO is struct dlcp_info.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/sock_diag.h>
#include <net/netlink.h>
#include <net/tcp_states.h>

#include "dlcp.h"

static void dlcp_diag_get_info(struct sock *sk, struct inet_diag_msg *r,
			       void *info)
{
	if (READ_ONCE(sk->sk_state) == TCP_LISTEN) {
		r->idiag_rqueue = READ_ONCE(sk->sk_ack_backlog);
		r->idiag_wqueue = READ_ONCE(sk->sk_max_ack_backlog);
	} else {
		r->idiag_rqueue = sk_rmem_alloc_get(sk);
		r->idiag_wqueue = READ_ONCE(sk->sk_wmem_queued);
	}
	if (info)
		dlcp_list_info(sk, info);
}

/* Attributes of a message; @net_admin: the mark is among them */
static int dlcp_diag_put(struct sock *sk, struct sk_buff *skb,
			 struct inet_diag_msg *r, int ext,
			 struct user_namespace *user_ns, bool net_admin)
{
	struct nlattr *attr;
	void *info = NULL;

	if (inet_diag_msg_attrs_fill(sk, skb, r, ext, user_ns, net_admin))
		return -EMSGSIZE;
	if (ext & BIT(INET_DIAG_SKMEMINFO - 1) &&
	    sock_diag_put_meminfo(sk, skb, INET_DIAG_SKMEMINFO))
		return -EMSGSIZE;
	if (ext & BIT(INET_DIAG_INFO - 1)) {
		attr = nla_reserve_64bit(skb, INET_DIAG_INFO,
					 sizeof(struct dlcp_info),
					 INET_DIAG_PAD);
		if (!attr)
			return -EMSGSIZE;
		info = nla_data(attr);
		memset(info, 0, sizeof(struct dlcp_info));
	}
	dlcp_diag_get_info(sk, r, info);
	return 0;
}

static int dlcp_diag_fill(struct sock *sk, struct sk_buff *skb,
			  struct netlink_callback *cb,
			  const struct inet_diag_req_v2 *req, u16 flags)
{
	struct user_namespace *user_ns = sk_user_ns(NETLINK_CB(cb->skb).sk);
	bool net_admin = netlink_net_capable(cb->skb, CAP_NET_ADMIN);
	struct inet_diag_msg *r;
	struct nlmsghdr *nlh;
	int err;

	nlh = nlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			cb->nlh->nlmsg_type, sizeof(*r), flags);
	if (!nlh)
		return -EMSGSIZE;
	r = nlmsg_data(nlh);
	memset(r, 0, sizeof(*r));
	inet_diag_msg_common_fill(r, sk);
	r->idiag_state = READ_ONCE(sk->sk_state);
	err = dlcp_diag_put(sk, skb, r, req->idiag_ext, user_ns, net_admin);
	if (err)
		nlmsg_cancel(skb, nlh);
	else
		nlmsg_end(skb, nlh);
	return err;
}

static bool dlcp_diag_wanted(struct sock *sk, struct netlink_callback *cb,
			     const struct inet_diag_req_v2 *req)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (req->sdiag_family != AF_UNSPEC &&
	    req->sdiag_family != sk->sk_family)
		return false;
	if (!(req->idiag_states & BIT(READ_ONCE(sk->sk_state))))
		return false;
	if (req->id.idiag_sport && req->id.idiag_sport != inet->inet_sport)
		return false;
	if (req->id.idiag_dport && req->id.idiag_dport != inet->inet_dport)
		return false;
	return dlcp_diag_bc_sk(cb->data, sk);
}

static void dlcp_diag_dump(struct sk_buff *skb, struct netlink_callback *cb,
			   const struct inet_diag_req_v2 *req)
{
	struct net *net = sock_net(skb->sk);
	unsigned long id = cb->args[0];
	struct sock *sk;
	int err = 0;

	for (; (sk = dlcp_list_next(net, &id)); id++) {
		if (dlcp_diag_wanted(sk, cb, req))
			err = dlcp_diag_fill(sk, skb, cb, req, NLM_F_MULTI);
		sock_put(sk);
		if (err)
			break;
		cond_resched();
	}
	cb->args[0] = id;
}

/* Is it the one that a dump has shown so? */
static bool dlcp_diag_is(struct sock *sk, const struct inet_diag_req_v2 *req)
{
	struct inet_diag_msg r = {};

	if (req->sdiag_family != sk->sk_family ||
	    sock_diag_check_cookie(sk, req->id.idiag_cookie))
		return false;
	inet_diag_msg_common_fill(&r, sk);
	return !memcmp(&r.id, &req->id,
		       offsetof(struct inet_diag_sockid, idiag_if));
}

/* Return: with a reference; NULL: there is none */
static struct sock *dlcp_diag_find(struct net *net,
				   const struct inet_diag_req_v2 *req)
{
	unsigned long id = 0;
	struct sock *sk;

	for (; (sk = dlcp_list_next(net, &id)); id++) {
		if (dlcp_diag_is(sk, req))
			return sk;
		sock_put(sk);
		cond_resched();
	}
	return NULL;
}

static int dlcp_diag_dump_one(struct netlink_callback *cb,
			      const struct inet_diag_req_v2 *req)
{
	struct net *net = sock_net(cb->skb->sk);
	struct sk_buff *skb;
	struct sock *sk;
	int err;

	sk = dlcp_diag_find(net, req);
	if (!sk)
		return -ENOENT;
	err = -ENOMEM;
	skb = nlmsg_new(NLMSG_ALIGN(sizeof(struct inet_diag_msg)) +
			inet_diag_msg_attrs_size() +
			nla_total_size(SK_MEMINFO_VARS * sizeof(u32)) +
			nla_total_size_64bit(sizeof(struct dlcp_info)),
			GFP_KERNEL);
	if (!skb)
		goto out;
	err = dlcp_diag_fill(sk, skb, cb, req, 0);
	if (err) {
		WARN_ON_ONCE(err == -EMSGSIZE);
		nlmsg_free(skb);
	} else {
		err = nlmsg_unicast(net->diag_nlsk, skb,
				    NETLINK_CB(cb->skb).portid);
	}
out:
	sock_put(sk);
	return err;
}

#ifdef CONFIG_INET_DIAG_DESTROY
static int dlcp_diag_destroy(struct sk_buff *in_skb,
			     const struct inet_diag_req_v2 *req)
{
	struct sock *sk = dlcp_diag_find(sock_net(in_skb->sk), req);
	int err;

	if (!sk)
		return -ENOENT;
	err = sock_diag_destroy(sk, ECONNABORTED);
	sock_put(sk);
	return err;
}
#endif

static const struct inet_diag_handler dlcp_diag_handler = {
	DLCP_DIAG_OWNER
	.dump			= dlcp_diag_dump,
	.dump_one		= dlcp_diag_dump_one,
	.idiag_get_info		= dlcp_diag_get_info,
	.idiag_type		= IPPROTO_DLCP,
	.idiag_info_size	= sizeof(struct dlcp_info),
#ifdef CONFIG_INET_DIAG_DESTROY
	.destroy		= dlcp_diag_destroy,
#endif
};

static int __init dlcp_diag_init(void)
{
	return inet_diag_register(&dlcp_diag_handler);
}

static void __exit dlcp_diag_exit(void)
{
	inet_diag_unregister(&dlcp_diag_handler);
}

module_init(dlcp_diag_init);
module_exit(dlcp_diag_exit);

/* No alias has any user's question load it, and dlcp with it: that is for the
 * administrator
 */
MODULE_AUTHOR("The DLCP authors");
MODULE_DESCRIPTION("DLCP: sockets by sock_diag");
MODULE_LICENSE("GPL");
MODULE_VERSION("1.0.0");
