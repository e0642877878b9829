// SPDX-License-Identifier: GPL-2.0
/*
 * Which socket of the host sends next: one struct dlcp_egress for each device
 * of a namespace that data leaves through. Whose turn it is, and from when on
 * turns are needed, is decided in core/turn.c.
 *
 * What stands in the device's queue is what the kernel has charged to the
 * sockets and not yet given back (sk_wmem_alloc). A device is seen to have sent
 * something by sk_write_space(), which sock_wfree() calls for every packet. A
 * virtual device below which netem delays packets gives them back at once; then
 * nothing ever seems to stand there, and nobody waits.
 */
#include <linux/slab.h>

#include "dlcp.h"

/**
 * struct dlcp_egress - a device data leaves through
 * @turns: whose turn it is; @lock
 * @lock: taken inside socket locks; inside it are only those of timers
 * @out: bytes, with the kernel's overhead, charged and not given back
 * @node: in dlcp_net.egress, until the namespace ends
 * @ifindex: of the device
 */
struct dlcp_egress {
	struct dlcp_turns	turns;
	spinlock_t		lock;	/* turns */
	atomic_t		out;
	struct list_head	node;
	int			ifindex;
};

static u32 dlcp_egress_out(const struct dlcp_egress *eg)
{
	return max(atomic_read(&eg->out), 0);
}

static struct dlcp_egress *dlcp_egress_find(struct dlcp_net *dn, int ifindex)
{
	struct dlcp_egress *eg;

	list_for_each_entry_rcu(eg, &dn->egress, node,
				lockdep_is_held(&dn->egress_lock))
		if (eg->ifindex == ifindex)
			return eg;
	return NULL;
}

/* That of a device; made if it is the first time. NULL: no memory. */
static struct dlcp_egress *dlcp_egress_get(struct dlcp_net *dn, int ifindex)
{
	struct dlcp_egress *eg;

	rcu_read_lock();
	eg = dlcp_egress_find(dn, ifindex);
	rcu_read_unlock();
	if (eg)
		return eg;

	spin_lock_bh(&dn->egress_lock);
	eg = dlcp_egress_find(dn, ifindex);
	if (!eg)
		eg = kzalloc(sizeof(*eg), GFP_ATOMIC | __GFP_NOWARN);
	if (eg && !eg->ifindex) {
		eg->ifindex = ifindex;
		spin_lock_init(&eg->lock);
		dlcp_turns_init(&eg->turns);
		list_add_tail_rcu(&eg->node, &dn->egress);
	}
	spin_unlock_bh(&dn->egress_lock);
	return eg;
}

/*
 * Bring @out up to date. Rounded down, since sock_wfree() gives the last byte
 * of a packet back only after it has called us. Whoever changes the charge
 * comes here afterwards, and the last one to exchange sees the last change: so
 * in the end it is right, though nothing is locked.
 *
 * Return: by how much it grew.
 */
static int dlcp_egress_sync(struct dlcp_egress *eg, struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	int now, more = 0;

	do {
		now = refcount_read(&sk->sk_wmem_alloc) & ~255;
		more += now - xchg(&ds->tx_out, now);
	} while (now != (refcount_read(&sk->sk_wmem_alloc) & ~255));
	if (more)
		atomic_add(more, &eg->out);
	/* Before we look who waits; see dlcp_turn_passed() */
	smp_mb__after_atomic();
	return more;
}

static void dlcp_turn_wake(struct dlcp_egress *eg)
{
	struct dlcp_turn *next = dlcp_turn_call(&eg->turns,
						dlcp_egress_out(eg));

	/* Who waits has not left, so there is a reference */
	if (next)
		dlcp_timer_now(&container_of(next, struct dlcp_sock,
					     turn)->inet.sk);
}

/**
 * dlcp_turn_device() - packets leave through this device from now on
 * @sk: the connection
 * @ifindex: of the device
 *
 * Those on their way belong to the one before: as long as there are any it
 * stays.
 *
 * Context: socket lock held.
 */
void dlcp_turn_device(struct sock *sk, int ifindex)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	if (likely(ds->egress && ds->egress->ifindex == ifindex))
		return;
	if (ds->egress && refcount_read(&sk->sk_wmem_alloc) > 1)
		return;
	dlcp_turn_leave(sk);
	ds->egress = dlcp_egress_get(dlcp_pernet(sock_net(sk)), ifindex);
}

/**
 * dlcp_turn_asked() - may a batch of data leave now? As dlcp_conn_ops.turn
 * @c: the engine of a connection
 * @late: it has waited long enough
 *
 * Context: socket lock held.
 * Return: false: the connection's timer will fire when it may.
 */
bool dlcp_turn_asked(struct dlcp_conn *c, bool late)
{
	struct sock *sk = dlcp_conn_sk(c);
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_egress *eg = ds->egress;
	bool may = true;
	u64 left;
	u8 prio;
	u32 out;

	if (!eg || !READ_ONCE(dlcp_pernet(sock_net(sk))->tx_order))
		return true;
	out = dlcp_egress_out(eg);
	if (!READ_ONCE(eg->turns.nr) &&
	    (out < READ_ONCE(eg->turns.limit) || out <= READ_ONCE(ds->tx_out)))
		return true;
	spin_lock_bh(&eg->lock);
	if (late || !dlcp_conn_first(c, &prio, &left))
		dlcp_turn_quit(&eg->turns, &ds->turn);
	else
		may = dlcp_turn_ask(&eg->turns, &ds->turn, prio, left,
				    dlcp_egress_out(eg),
				    READ_ONCE(ds->tx_out));
	spin_unlock_bh(&eg->lock);
	if (!may)
		DLCP_INC(sock_net(sk), TX_TURNS);
	else if (late)
		DLCP_INC(sock_net(sk), TX_TURNS_LATE);
	return may;
}

/**
 * dlcp_turn_passed() - the connection has built what it may for now
 * @sk: the connection
 *
 * If there is still room, the next one is called.
 *
 * Context: socket lock held.
 */
void dlcp_turn_passed(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_egress *eg = ds->egress;

	if (!eg || (!READ_ONCE(eg->turns.nr) && !READ_ONCE(eg->turns.called)))
		return;
	/* Whoever took the last packet off the queue while we came to wait has
	 * seen us, or we see it here.
	 */
	smp_mb();
	spin_lock_bh(&eg->lock);
	dlcp_turn_pass(&eg->turns, &ds->turn);
	dlcp_turn_wake(eg);
	spin_unlock_bh(&eg->lock);
}

/**
 * dlcp_turn_leave() - the connection sends no more through its device
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_turn_leave(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_egress *eg = ds->egress;

	if (!eg)
		return;
	spin_lock_bh(&eg->lock);
	dlcp_turn_quit(&eg->turns, &ds->turn);
	dlcp_turn_wake(eg);
	spin_unlock_bh(&eg->lock);
}

/**
 * dlcp_turn_charged() - a packet of this socket is on its way to the device
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_turn_charged(struct sock *sk)
{
	struct dlcp_egress *eg = dlcp_sk(sk)->egress;

	if (eg)
		dlcp_egress_sync(eg, sk);
}

/**
 * dlcp_turn_freed() - the device may have sent something of this socket
 * @sk: any socket, perhaps no longer used by anyone
 *
 * Context: any but hard interrupts; no lock is needed.
 * Return: whether it has.
 */
bool dlcp_turn_freed(struct sock *sk)
{
	struct dlcp_egress *eg = dlcp_sk(sk)->egress;

	if (!eg || dlcp_egress_sync(eg, sk) >= 0)
		return false;
	if (!READ_ONCE(eg->turns.nr))
		return true;
	spin_lock_bh(&eg->lock);
	dlcp_turns_freed(&eg->turns, dlcp_egress_out(eg), dlcp_now());
	dlcp_turn_wake(eg);
	spin_unlock_bh(&eg->lock);
	return true;
}

void dlcp_egress_init(struct dlcp_net *dn)
{
	spin_lock_init(&dn->egress_lock);
	INIT_LIST_HEAD(&dn->egress);
}

/* No socket and no packet is left that could look at them */
void dlcp_egress_exit(struct dlcp_net *dn)
{
	struct dlcp_egress *eg, *n;

	list_for_each_entry_safe(eg, n, &dn->egress, node)
		kfree(eg);
}
