// SPDX-License-Identifier: GPL-2.0
/*
 * Egress scheduling: one struct dlcp_egress_dev for each device of a namespace
 * that data leaves through, and each user. A user's sockets are not served
 * before those of other users, however urgent their messages are said to be.
 * Which socket sends next, and from which queue length on sockets wait, is
 * decided in core/egress.c.
 *
 * What stands in the device's queue is what the kernel has charged to the
 * sockets and not yet given back (sk_wmem_alloc). A device is seen to have sent
 * something by sk_write_space(), which sock_wfree() calls for every packet. A
 * virtual device below which netem delays packets gives them back at once; then
 * nothing ever seems to stand there, and nobody waits.
 */
#include "dlcp.h"

/**
 * struct dlcp_egress_dev - a device data leaves through
 * @dev: of one user's sockets
 * @sched: which socket is next; @lock
 * @lock: taken inside socket locks; inside it are only those of timers
 * @out: bytes, with the kernel's overhead, charged and not given back
 */
struct dlcp_egress_dev {
	struct dlcp_dev		dev;
	struct dlcp_egress	sched;
	spinlock_t		lock;	/* sched */
	atomic_t		out;
};

static struct dlcp_egress_dev *dlcp_egress_dev(struct dlcp_dev *dev)
{
	return container_of(dev, struct dlcp_egress_dev, dev);
}

static void dlcp_egress_dev_init(struct dlcp_dev *dev)
{
	struct dlcp_egress_dev *ed = dlcp_egress_dev(dev);

	spin_lock_init(&ed->lock);
	dlcp_egress_init(&ed->sched);
}

static const struct dlcp_dev_kind dlcp_egress_kind = {
	.size	= sizeof(struct dlcp_egress_dev),
	.init	= dlcp_egress_dev_init,
};

static u32 dlcp_dev_queued(const struct dlcp_egress_dev *dev)
{
	return max(atomic_read(&dev->out), 0);
}

/* No packet of the flow is on its way, so nobody else looks at it */
static void dlcp_egress_flow_put(struct dlcp_egress_flow *flow)
{
	struct dlcp_egress_dev *dev = flow->dev;

	if (!dev)
		return;
	flow->dev = NULL;
	dlcp_dev_put(dlcp_pernet(sock_net(flow->sk)), &dev->dev);
}

/* One after the last that dlcp_egress_flow() knows */
static u8 dlcp_egress_flows(const struct sock *sk)
{
	return READ_ONCE(dlcp_sk(sk)->rails) ? DLCP_PAIRS_MAX : 1;
}

/**
 * dlcp_egress_put() - forget the devices
 * @sk: a socket that nobody has, and no packet
 *
 * Context: any but hard interrupts.
 */
void dlcp_egress_put(struct sock *sk)
{
	u8 i;

	for (i = 0; i < dlcp_egress_flows(sk); i++)
		dlcp_egress_flow_put(dlcp_egress_flow(sk, i));
}

/*
 * Bring @out up to date. Whoever changes the charge comes here afterwards, and
 * the last one to exchange sees the last change: so in the end it is right,
 * though nothing is locked.
 *
 * Return: by how much it grew.
 */
static int dlcp_flow_sync(struct dlcp_egress_flow *flow,
			  struct dlcp_egress_dev *dev)
{
	int now, more = 0;

	do {
		now = dlcp_egress_flow_out(flow);
		more += now - xchg(&flow->out, now);
	} while (now != dlcp_egress_flow_out(flow));
	if (more)
		atomic_add(more, &dev->out);
	/* Before we look which flow waits; see dlcp_egress_done() */
	smp_mb__after_atomic();
	return more;
}

static void dlcp_egress_wake(struct dlcp_egress_dev *dev)
{
	struct dlcp_egress_entry *next;

	lockdep_assert_held(&dev->lock);
	next = dlcp_egress_call(&dev->sched, dlcp_dev_queued(dev));
	/* A flow that waits has not left, so there is a reference */
	if (next)
		dlcp_timer_now(container_of(next, struct dlcp_egress_flow,
					    entry)->sk);
}

static void dlcp_egress_flow_leave(struct dlcp_egress_flow *flow)
{
	struct dlcp_egress_dev *dev = flow->dev;

	if (!dev)
		return;
	spin_lock_bh(&dev->lock);
	dlcp_egress_quit(&dev->sched, &flow->entry);
	dlcp_egress_wake(dev);
	spin_unlock_bh(&dev->lock);
}

/**
 * dlcp_egress_set_dev() - packets leave through this device from now on
 * @flow: those of which pair of addresses
 * @ifindex: of the device
 *
 * Those on their way belong to the one before: as long as there are any it
 * stays.
 *
 * Context: socket lock held.
 */
void dlcp_egress_set_dev(struct dlcp_egress_flow *flow, int ifindex)
{
	struct dlcp_dev *dev;

	if (likely(flow->dev && flow->dev->dev.ifindex == ifindex))
		return;
	if (flow->dev && refcount_read(&flow->sk->sk_wmem_alloc) > 1)
		return;
	/* The last packet was taken off before we saw it */
	smp_acquire__after_ctrl_dep();
	dlcp_egress_flow_leave(flow);
	dlcp_egress_flow_put(flow);
	dev = dlcp_dev_get(dlcp_pernet(sock_net(flow->sk)), &dlcp_egress_kind,
			   ifindex, dlcp_sk_uid(flow->sk));
	/* Packets of other flows are freed meanwhile: see
	 * dlcp_egress_flow_freed()
	 */
	smp_store_release(&flow->dev, dev ? dlcp_egress_dev(dev) : NULL);
}

/**
 * dlcp_egress_wait() - may a batch of data leave now? As dlcp_conn_ops.egress
 * @c: the engine of a connection
 * @pair: of addresses it would leave by
 * @late: it has waited long enough
 *
 * Context: socket lock held.
 * Return: 0: yes; else the connection's timer will fire when it may, and the ns
 * to wait at most.
 */
u64 dlcp_egress_wait(struct dlcp_conn *c, u8 pair, bool late)
{
	struct sock *sk = dlcp_conn_sk(c);
	struct dlcp_egress_flow *flow = dlcp_egress_flow(sk, pair);
	u64 wait = late ? 0 : dlcp_hostq_wait(sk, pair);
	struct dlcp_egress_dev *dev = flow->dev;

	if (wait || !dev || !READ_ONCE(dlcp_pernet(sock_net(sk))->tx_order))
		return wait;
	if (dlcp_egress_free(&dev->sched, dlcp_dev_queued(dev),
			     READ_ONCE(flow->out)))
		return 0;
	spin_lock_bh(&dev->lock);
	wait = dlcp_egress_turn(&dev->sched, &flow->entry, c,
				dlcp_dev_queued(dev), READ_ONCE(flow->out),
				late);
	spin_unlock_bh(&dev->lock);
	if (wait)
		DLCP_INC(sock_net(sk), TX_EGRESS_WAITS);
	else if (late)
		DLCP_INC(sock_net(sk), TX_EGRESS_LATE);
	return wait;
}

static void dlcp_egress_flow_passed(struct dlcp_egress_flow *flow)
{
	struct dlcp_egress_dev *dev = flow->dev;

	if (!dev ||
	    (!READ_ONCE(dev->sched.nr) && !READ_ONCE(flow->entry.called)))
		return;
	/* Whoever took the last packet off the queue while we came to wait has
	 * seen us, or we see it here.
	 */
	smp_mb();
	spin_lock_bh(&dev->lock);
	dlcp_egress_pass(&dev->sched, &flow->entry);
	dlcp_egress_wake(dev);
	spin_unlock_bh(&dev->lock);
}

/**
 * dlcp_egress_done() - the connection has built what it may for now
 * @sk: the connection
 *
 * If there is still room, the next one is called.
 *
 * Context: socket lock held.
 */
void dlcp_egress_done(struct sock *sk)
{
	u8 i;

	for (i = 0; i < dlcp_egress_flows(sk); i++)
		dlcp_egress_flow_passed(dlcp_egress_flow(sk, i));
}

/**
 * dlcp_egress_leave() - the connection sends no more
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_egress_leave(struct sock *sk)
{
	u8 i;

	for (i = 0; i < dlcp_egress_flows(sk); i++)
		dlcp_egress_flow_leave(dlcp_egress_flow(sk, i));
}

/*
 * Of a packet that is freed the destructor is all that tells on which rail it
 * was, so each has one. UDP cuts a packet with another destructor than
 * sock_wfree() into some without any: then this rail's queue seems empty, and
 * nobody waits for it. Devices that segment by themselves do not do that.
 */
static void dlcp_rail_wfree(struct sk_buff *skb, u32 k)
{
	struct dlcp_egress_flow *flow = &dlcp_sk(skb->sk)->rails[k].egress;

	/* The socket may take the module with it */
	rcu_read_lock();
	atomic_sub(skb->truesize, &flow->charged);
	sock_wfree(skb);
	rcu_read_unlock();
}

#define DLCP_RAIL_WFREE(k)					\
	static void dlcp_rail_wfree_##k(struct sk_buff *skb)	\
	{							\
		dlcp_rail_wfree(skb, k);			\
	}

DLCP_RAIL_WFREE(0)
DLCP_RAIL_WFREE(1)
DLCP_RAIL_WFREE(2)
DLCP_RAIL_WFREE(3)

static void (*const dlcp_rail_wfrees[DLCP_RAILS_MAX])(struct sk_buff *skb) = {
	dlcp_rail_wfree_0, dlcp_rail_wfree_1, dlcp_rail_wfree_2,
	dlcp_rail_wfree_3,
};

/**
 * dlcp_egress_charge() - a packet is on its way to its device
 * @skb: the packet, with nobody to account for it yet
 * @sk: the connection
 * @pair: of addresses it goes by
 *
 * Context: socket lock held.
 */
void dlcp_egress_charge(struct sk_buff *skb, struct sock *sk, u8 pair)
{
	struct dlcp_egress_flow *flow = dlcp_egress_flow(sk, pair);

	skb_set_owner_w(skb, sk);
	if (pair) {
		skb->destructor = dlcp_rail_wfrees[pair - 1];
		atomic_add(skb->truesize, &flow->charged);
	}
	if (!flow->dev)
		return;
	dlcp_flow_sync(flow, flow->dev);
	if (!READ_ONCE(flow->dev->sched.nr))
		return;
	spin_lock_bh(&flow->dev->lock);
	dlcp_egress_sent(&flow->dev->sched, &flow->entry, skb->truesize);
	spin_unlock_bh(&flow->dev->lock);
}

static bool dlcp_egress_flow_freed(struct dlcp_egress_flow *flow)
{
	struct dlcp_egress_dev *dev = READ_ONCE(flow->dev);

	if (!dev || dlcp_flow_sync(flow, dev) >= 0)
		return false;
	if (!READ_ONCE(dev->sched.nr))
		return true;
	spin_lock_bh(&dev->lock);
	dlcp_egress_freed(&dev->sched, dlcp_dev_queued(dev), dlcp_now());
	dlcp_egress_wake(dev);
	spin_unlock_bh(&dev->lock);
	return true;
}

/**
 * dlcp_egress_uncharged() - devices may have sent something of this socket
 * @sk: any socket, perhaps no longer used by anyone
 *
 * Context: any but hard interrupts; no lock is needed.
 * Return: whether they have.
 */
bool dlcp_egress_uncharged(struct sock *sk)
{
	bool freed = false;
	u8 i;

	for (i = 0; i < dlcp_egress_flows(sk); i++) {
		freed |= dlcp_egress_flow_freed(dlcp_egress_flow(sk, i));
		dlcp_hostq_freed(sk, i);
	}
	return freed;
}

/**
 * dlcp_egress_look() - what is known of a device
 * @dn: namespace
 * @id: from this number on; that of the device found
 * @seen: filled in
 *
 * Context: process, no lock is needed.
 * Return: false: there is none.
 */
bool dlcp_egress_look(struct dlcp_net *dn, unsigned long *id,
		      struct dlcp_egress_seen *seen)
{
	struct dlcp_egress_dev *ed;
	struct dlcp_dev *dev;

	xa_lock_bh(&dn->devs);
	dev = dlcp_dev_next(dn, &dlcp_egress_kind, id);
	if (dev) {
		ed = dlcp_egress_dev(dev);
		seen->uid = dev->uid;
		seen->ifindex = dev->ifindex;
		seen->flows = dev->users;
		seen->queued = dlcp_dev_queued(ed);
		seen->waiting = READ_ONCE(ed->sched.nr);
	}
	xa_unlock_bh(&dn->devs);
	return dev;
}
