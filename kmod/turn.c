// SPDX-License-Identifier: GPL-2.0
/*
 * Which socket of the host sends next: one struct dlcp_egress for each device
 * of a namespace that data leaves through, and each user: nobody gets before
 * other users' sockets by saying that his messages are urgent. Whose turn it is, and from when on
 * turns are needed, is decided in core/turn.c.
 *
 * What stands in the device's queue is what the kernel has charged to the
 * sockets and not yet given back (sk_wmem_alloc). A device is seen to have sent
 * something by sk_write_space(), which sock_wfree() calls for every packet. A
 * virtual device below which netem delays packets gives them back at once; then
 * nothing ever seems to stand there, and nobody waits.
 */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "dlcp.h"

/**
 * struct dlcp_egress - a device data leaves through
 * @turns: whose turn it is; @lock
 * @lock: taken inside socket locks; inside it are only those of timers
 * @out: bytes, with the kernel's overhead, charged and not given back
 * @node: in dlcp_net.egress
 * @users: lanes that point to it; dlcp_net.egress_lock
 * @ifindex: of the device
 * @uid: whose sockets
 */
struct dlcp_egress {
	struct dlcp_turns	turns;
	spinlock_t		lock;	/* turns */
	atomic_t		out;
	struct list_head	node;
	unsigned int		users;
	int			ifindex;
	kuid_t			uid;
};

static u32 dlcp_egress_out(const struct dlcp_egress *eg)
{
	return max(atomic_read(&eg->out), 0);
}

static struct dlcp_egress *dlcp_egress_find(struct dlcp_net *dn, int ifindex,
					    kuid_t uid)
{
	struct dlcp_egress *eg;

	list_for_each_entry(eg, &dn->egress, node)
		if (eg->ifindex == ifindex && uid_eq(eg->uid, uid))
			return eg;
	eg = kzalloc(sizeof(*eg), GFP_ATOMIC | __GFP_NOWARN);
	if (!eg)
		return NULL;
	eg->ifindex = ifindex;
	eg->uid = uid;
	spin_lock_init(&eg->lock);
	dlcp_turns_init(&eg->turns);
	list_add_tail(&eg->node, &dn->egress);
	return eg;
}

/* That of a device; made if it is the first time. NULL: no memory. */
static struct dlcp_egress *dlcp_egress_get(struct dlcp_net *dn, int ifindex,
					   kuid_t uid)
{
	struct dlcp_egress *eg;

	spin_lock_bh(&dn->egress_lock);
	eg = dlcp_egress_find(dn, ifindex, uid);
	if (eg)
		eg->users++;
	spin_unlock_bh(&dn->egress_lock);
	return eg;
}

/* No packet of the lane is on its way, so nobody else looks at it */
static void dlcp_lane_put(struct dlcp_lane *lane)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(lane->sk));
	struct dlcp_egress *eg = lane->egress;

	if (!eg)
		return;
	lane->egress = NULL;
	spin_lock_bh(&dn->egress_lock);
	if (!--eg->users) {
		list_del(&eg->node);
		kfree(eg);
	}
	spin_unlock_bh(&dn->egress_lock);
}

/* One after the last that dlcp_lane() knows */
static u8 dlcp_lanes(const struct sock *sk)
{
	return READ_ONCE(dlcp_sk(sk)->rails) ? DLCP_PAIRS_MAX : 1;
}

/**
 * dlcp_lanes_put() - forget the devices
 * @sk: a socket that nobody has, and no packet
 *
 * Context: any but hard interrupts.
 */
void dlcp_lanes_put(struct sock *sk)
{
	u8 i;

	for (i = 0; i < dlcp_lanes(sk); i++)
		dlcp_lane_put(dlcp_lane(sk, i));
}

/*
 * Bring @out up to date. Whoever changes the charge comes here afterwards, and
 * the last one to exchange sees the last change: so in the end it is right,
 * though nothing is locked.
 *
 * Return: by how much it grew.
 */
static int dlcp_lane_sync(struct dlcp_lane *lane, struct dlcp_egress *eg)
{
	int now, more = 0;

	do {
		now = dlcp_lane_out(lane);
		more += now - xchg(&lane->out, now);
	} while (now != dlcp_lane_out(lane));
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
		dlcp_timer_now(container_of(next, struct dlcp_lane, turn)->sk);
}

static void dlcp_lane_leave(struct dlcp_lane *lane)
{
	struct dlcp_egress *eg = lane->egress;

	if (!eg)
		return;
	spin_lock_bh(&eg->lock);
	dlcp_turn_quit(&eg->turns, &lane->turn);
	dlcp_turn_wake(eg);
	spin_unlock_bh(&eg->lock);
}

/**
 * dlcp_turn_device() - packets leave through this device from now on
 * @lane: those of which pair of addresses
 * @ifindex: of the device
 *
 * Those on their way belong to the one before: as long as there are any it
 * stays.
 *
 * Context: socket lock held.
 */
void dlcp_turn_device(struct dlcp_lane *lane, int ifindex)
{
	if (likely(lane->egress && lane->egress->ifindex == ifindex))
		return;
	if (lane->egress && refcount_read(&lane->sk->sk_wmem_alloc) > 1)
		return;
	/* Who took the last one off has done so before we saw it */
	smp_acquire__after_ctrl_dep();
	dlcp_lane_leave(lane);
	dlcp_lane_put(lane);
	/* Packets of other lanes are freed meanwhile: dlcp_lane_freed() looks */
	smp_store_release(&lane->egress,
			  dlcp_egress_get(dlcp_pernet(sock_net(lane->sk)),
					  ifindex, dlcp_sk_uid(lane->sk)));
}

/**
 * dlcp_turn_asked() - may a batch of data leave now? As dlcp_conn_ops.turn
 * @c: the engine of a connection
 * @pair: of addresses it would leave by
 * @late: it has waited long enough
 *
 * Context: socket lock held.
 * Return: 0: yes; else the connection's timer will fire when it may, and the ns
 * to wait at most.
 */
u64 dlcp_turn_asked(struct dlcp_conn *c, u8 pair, bool late)
{
	struct sock *sk = dlcp_conn_sk(c);
	struct dlcp_lane *lane = dlcp_lane(sk, pair);
	u64 wait = late ? 0 : dlcp_hostq_wait(sk, pair);
	struct dlcp_egress *eg = lane->egress;
	bool may = true;
	u64 left;
	u8 prio;
	u32 out;

	if (wait || !eg || !READ_ONCE(dlcp_pernet(sock_net(sk))->tx_order))
		return wait;
	out = dlcp_egress_out(eg);
	if (!READ_ONCE(eg->turns.nr) &&
	    (out < READ_ONCE(eg->turns.limit) || out <= READ_ONCE(lane->out)))
		return 0;
	spin_lock_bh(&eg->lock);
	if (late || !dlcp_conn_first(c, &prio, &left))
		dlcp_turn_quit(&eg->turns, &lane->turn);
	else
		may = dlcp_turn_ask(&eg->turns, &lane->turn, prio, left,
				    dlcp_egress_out(eg), READ_ONCE(lane->out));
	spin_unlock_bh(&eg->lock);
	if (!may)
		DLCP_INC(sock_net(sk), TX_TURNS);
	else if (late)
		DLCP_INC(sock_net(sk), TX_TURNS_LATE);
	return may ? 0 : DLCP_TURN_WAIT_MAX;
}

static void dlcp_lane_passed(struct dlcp_lane *lane)
{
	struct dlcp_egress *eg = lane->egress;

	if (!eg || (!READ_ONCE(eg->turns.nr) && !READ_ONCE(lane->turn.called)))
		return;
	/* Whoever took the last packet off the queue while we came to wait has
	 * seen us, or we see it here.
	 */
	smp_mb();
	spin_lock_bh(&eg->lock);
	dlcp_turn_pass(&eg->turns, &lane->turn);
	dlcp_turn_wake(eg);
	spin_unlock_bh(&eg->lock);
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
	u8 i;

	for (i = 0; i < dlcp_lanes(sk); i++)
		dlcp_lane_passed(dlcp_lane(sk, i));
}

/**
 * dlcp_turn_leave() - the connection sends no more
 * @sk: the connection
 *
 * Context: socket lock held.
 */
void dlcp_turn_leave(struct sock *sk)
{
	u8 i;

	for (i = 0; i < dlcp_lanes(sk); i++)
		dlcp_lane_leave(dlcp_lane(sk, i));
}

/*
 * Of a packet that is freed the destructor is all that tells on which rail it
 * was, so each has one. UDP cuts a packet with another destructor than
 * sock_wfree() into some without any: then this rail's queue seems empty, and
 * nobody waits for it. Devices that segment by themselves do not do that.
 */
static void dlcp_rail_wfree(struct sk_buff *skb, u32 k)
{
	struct dlcp_lane *lane = &dlcp_sk(skb->sk)->rails[k].lane;

	/* The socket may take the module with it */
	rcu_read_lock();
	atomic_sub(skb->truesize, &lane->charged);
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
 * dlcp_turn_charge() - a packet is on its way to its device
 * @skb: the packet, with nobody to account for it yet
 * @sk: the connection
 * @pair: of addresses it goes by
 *
 * Context: socket lock held.
 */
void dlcp_turn_charge(struct sk_buff *skb, struct sock *sk, u8 pair)
{
	struct dlcp_lane *lane = dlcp_lane(sk, pair);

	skb_set_owner_w(skb, sk);
	if (pair) {
		skb->destructor = dlcp_rail_wfrees[pair - 1];
		atomic_add(skb->truesize, &lane->charged);
	}
	if (!lane->egress)
		return;
	dlcp_lane_sync(lane, lane->egress);
	if (!READ_ONCE(lane->egress->turns.nr))
		return;
	spin_lock_bh(&lane->egress->lock);
	dlcp_turn_sent(&lane->egress->turns, &lane->turn, skb->truesize);
	spin_unlock_bh(&lane->egress->lock);
}

static bool dlcp_lane_freed(struct dlcp_lane *lane)
{
	struct dlcp_egress *eg = READ_ONCE(lane->egress);

	if (!eg || dlcp_lane_sync(lane, eg) >= 0)
		return false;
	if (!READ_ONCE(eg->turns.nr))
		return true;
	spin_lock_bh(&eg->lock);
	dlcp_turns_freed(&eg->turns, dlcp_egress_out(eg), dlcp_now());
	dlcp_turn_wake(eg);
	spin_unlock_bh(&eg->lock);
	return true;
}

/**
 * dlcp_turn_freed() - devices may have sent something of this socket
 * @sk: any socket, perhaps no longer used by anyone
 *
 * Context: any but hard interrupts; no lock is needed.
 * Return: whether they have.
 */
bool dlcp_turn_freed(struct sock *sk)
{
	bool freed = false;
	u8 i;

	for (i = 0; i < dlcp_lanes(sk); i++) {
		freed |= dlcp_lane_freed(dlcp_lane(sk, i));
		dlcp_hostq_freed(sk, i);
	}
	return freed;
}

/* /proc/net/dlcp/devices */
int dlcp_egress_show(struct seq_file *seq, void *v)
{
	struct net *net = seq->private;
	struct dlcp_net *dn = dlcp_pernet(net);
	struct dlcp_egress *eg;

	seq_puts(seq, "ifindex uid users queued waiting\n");
	spin_lock_bh(&dn->egress_lock);
	list_for_each_entry(eg, &dn->egress, node)
		seq_printf(seq, "%d %u %u %u %u\n", eg->ifindex,
			   from_kuid_munged(seq_user_ns(seq), eg->uid),
			   eg->users, dlcp_egress_out(eg),
			   READ_ONCE(eg->turns.nr));
	spin_unlock_bh(&dn->egress_lock);
	return 0;
}

void dlcp_egress_init(struct dlcp_net *dn)
{
	spin_lock_init(&dn->egress_lock);
	INIT_LIST_HEAD(&dn->egress);
}
