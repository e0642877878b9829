// SPDX-License-Identifier: GPL-2.0
/*
 * Who shares which receiving link: one struct dlcp_link for each device of a
 * namespace that brings data to a connection. What each sender is granted is
 * decided in core/ingress.c.
 */
#include "dlcp.h"

/**
 * struct dlcp_link - a device data comes from
 * @grant: the decisions; @lock
 * @lock: taken inside the socket lock; nothing is taken inside it
 * @node: in dlcp_net.links
 * @users: connections that point to it; dlcp_net.link_lock
 * @ifindex: of the device
 */
struct dlcp_link {
	struct dlcp_grant	grant;
	spinlock_t		lock;	/* grant */
	struct list_head	node;
	unsigned int		users;
	int			ifindex;
};

static struct dlcp_link *dlcp_link_find(struct dlcp_net *dn, int ifindex)
{
	struct dlcp_link *link;

	lockdep_assert_held(&dn->link_lock);
	list_for_each_entry(link, &dn->links, node)
		if (link->ifindex == ifindex)
			return link;
	link = kzalloc(sizeof(*link), GFP_ATOMIC | __GFP_NOWARN);
	if (!link)
		return NULL;
	link->ifindex = ifindex;
	spin_lock_init(&link->lock);
	dlcp_grant_init(&link->grant);
	list_add(&link->node, &dn->links);
	return link;
}

/* The link of a device; made if it is the first time. NULL: no memory. */
static struct dlcp_link *dlcp_link_get(struct dlcp_net *dn, int ifindex)
{
	struct dlcp_link *link;

	spin_lock_bh(&dn->link_lock);
	link = dlcp_link_find(dn, ifindex);
	if (link)
		link->users++;
	spin_unlock_bh(&dn->link_lock);
	return link;
}

/**
 * dlcp_link_leave() - the connection receives no more
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_link_leave(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_link *link = ds->link;

	if (!link)
		return;
	ds->link = NULL;
	spin_lock_bh(&link->lock);
	dlcp_grant_leave(&link->grant, &ds->ingress.grantee);
	spin_unlock_bh(&link->lock);

	spin_lock_bh(&dn->link_lock);
	if (!--link->users) {
		list_del(&link->node);
		kfree(link);
	}
	spin_unlock_bh(&dn->link_lock);
}

static struct dlcp_link *dlcp_link_of(struct sock *sk, int ifindex, u64 now)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (dlcp_ingress_moves(&ds->ingress, ifindex, now))
		dlcp_link_leave(sk);
	if (!ds->link && !dlcp_ingress_mixed(&ds->ingress, now))
		ds->link = dlcp_link_get(dlcp_pernet(sock_net(sk)), ifindex);
	return ds->link;
}

/**
 * dlcp_link_data() - data of a connection was taken in
 * @sk: the connection
 * @ifindex: of the device it came from
 * @m: message it was of; NULL: none that is still wanted
 * @bytes: with all headers
 * @now: ns, when it was looked at
 *
 * Decides at which rate the peer may go on.
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_link_data(struct sock *sk, int ifindex, const struct dlcp_rxmsg *m,
		    u64 bytes, u64 now)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_conn *c = &ds->conn;
	struct dlcp_link *link;
	u64 rate = 0;

	dlcp_assert_locked(sk);
	if (c->state == DLCP_CLOSED)
		return;
	link = dlcp_link_of(sk, ifindex, now);
	if (link) {
		spin_lock_bh(&link->lock);
		rate = dlcp_ingress_data(&ds->ingress, &link->grant, c, m,
					 bytes, now);
		spin_unlock_bh(&link->lock);
	}
	dlcp_conn_grant(c, rate);
}

/**
 * dlcp_link_rest() - a message is complete
 * @sk: the connection
 *
 * Context: socket lock held; process or softirq.
 */
void dlcp_link_rest(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_link *link = ds->link;

	dlcp_assert_locked(sk);
	if (!link || !list_empty(&ds->conn.rx_open))
		return;
	spin_lock_bh(&link->lock);
	dlcp_ingress_rest(&ds->ingress, &link->grant, &ds->conn, dlcp_now());
	spin_unlock_bh(&link->lock);
}

void dlcp_links_init(struct dlcp_net *dn)
{
	spin_lock_init(&dn->link_lock);
	INIT_LIST_HEAD(&dn->links);
}
