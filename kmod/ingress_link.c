// SPDX-License-Identifier: GPL-2.0
/*
 * Who shares which receiving link: one struct dlcp_link for each device of a
 * namespace that brings data to a connection. What each sender is granted is
 * decided in core/ingress.c.
 */
#include "dlcp.h"

/**
 * struct dlcp_link - a device data comes from
 * @dev: of all users' sockets
 * @grant: the decisions; @lock
 * @lock: taken inside the socket lock; nothing is taken inside it
 */
struct dlcp_link {
	struct dlcp_dev		dev;
	struct dlcp_grant	grant;
	spinlock_t		lock;	/* grant */
};

static void dlcp_link_init(struct dlcp_dev *dev)
{
	struct dlcp_link *link = container_of(dev, struct dlcp_link, dev);

	spin_lock_init(&link->lock);
	dlcp_grant_init(&link->grant);
}

static const struct dlcp_dev_kind dlcp_link_kind = {
	.size	= sizeof(struct dlcp_link),
	.init	= dlcp_link_init,
};

/**
 * dlcp_link_leave() - the connection receives no more
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_link_leave(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_link *link = ds->link;

	if (!link)
		return;
	ds->link = NULL;
	spin_lock_bh(&link->lock);
	dlcp_grant_leave(&link->grant, &ds->ingress.grantee);
	spin_unlock_bh(&link->lock);
	dlcp_dev_put(dlcp_pernet(sock_net(sk)), &link->dev);
}

static struct dlcp_link *dlcp_link_of(struct sock *sk, int ifindex, u64 now)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_dev *dev;

	if (dlcp_ingress_moves(&ds->ingress, ifindex, now))
		dlcp_link_leave(sk);
	if (ds->link || dlcp_ingress_mixed(&ds->ingress, now))
		return ds->link;
	dev = dlcp_dev_get(dlcp_pernet(sock_net(sk)), &dlcp_link_kind, ifindex,
			   GLOBAL_ROOT_UID);
	if (dev)
		ds->link = container_of(dev, struct dlcp_link, dev);
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
	if (!link || dlcp_conn_rx_any(&ds->conn))
		return;
	spin_lock_bh(&link->lock);
	dlcp_ingress_rest(&ds->ingress, &link->grant, &ds->conn, dlcp_now());
	spin_unlock_bh(&link->lock);
}
