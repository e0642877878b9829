// SPDX-License-Identifier: GPL-2.0
/*
 * The devices of a namespace: what the connections that send through one
 * (egress_dev.c), or are brought data by one (ingress_link.c), share. There is an
 * entry for as long as somebody uses it.
 */
#include <linux/slab.h>

#include "dlcp.h"

static struct dlcp_dev *dlcp_dev_find(struct dlcp_net *dn,
				      const struct dlcp_dev_kind *kind,
				      int ifindex, kuid_t uid)
{
	struct dlcp_dev *dev;
	unsigned long id;

	lockdep_assert_held(&dn->devs.xa_lock);
	xa_for_each(&dn->devs, id, dev)
		if (dev->kind == kind && dev->ifindex == ifindex &&
		    uid_eq(dev->uid, uid))
			return dev;
	return NULL;
}

static struct dlcp_dev *dlcp_dev_make(struct dlcp_net *dn,
				      const struct dlcp_dev_kind *kind,
				      int ifindex, kuid_t uid)
{
	struct dlcp_dev *dev = kzalloc(kind->size, GFP_ATOMIC | __GFP_NOWARN);

	if (!dev)
		return NULL;
	dev->kind = kind;
	dev->ifindex = ifindex;
	dev->uid = uid;
	kind->init(dev);
	if (!__xa_alloc(&dn->devs, &dev->id, dev, xa_limit_32b,
			GFP_ATOMIC | __GFP_NOWARN))
		return dev;
	kfree(dev);
	return NULL;
}

/**
 * dlcp_dev_get() - use a device
 * @dn: namespace
 * @kind: in which direction
 * @ifindex: of it
 * @uid: whose sockets do; GLOBAL_ROOT_UID where all users share it
 *
 * Context: any but hard interrupts.
 * Return: its entry, made if there is none; dlcp_dev_put() gives it back. NULL:
 * no memory.
 */
struct dlcp_dev *dlcp_dev_get(struct dlcp_net *dn,
			      const struct dlcp_dev_kind *kind, int ifindex,
			      kuid_t uid)
{
	struct dlcp_dev *dev;

	xa_lock_bh(&dn->devs);
	dev = dlcp_dev_find(dn, kind, ifindex, uid) ?:
	      dlcp_dev_make(dn, kind, ifindex, uid);
	if (dev)
		dev->users++;
	xa_unlock_bh(&dn->devs);
	return dev;
}

/**
 * dlcp_dev_put() - use it no more
 * @dn: namespace
 * @dev: from dlcp_dev_get(); the last user's is freed
 *
 * Context: any but hard interrupts.
 */
void dlcp_dev_put(struct dlcp_net *dn, struct dlcp_dev *dev)
{
	xa_lock_bh(&dn->devs);
	if (!--dev->users) {
		__xa_erase(&dn->devs, dev->id);
		kfree(dev);
	}
	xa_unlock_bh(&dn->devs);
}

/**
 * dlcp_dev_next() - the next device of a kind
 * @dn: namespace; its lock of devices is held
 * @kind: of which direction
 * @id: from this number on; that of the device found
 *
 * Return: NULL: there is none.
 */
struct dlcp_dev *dlcp_dev_next(struct dlcp_net *dn,
			       const struct dlcp_dev_kind *kind,
			       unsigned long *id)
{
	struct dlcp_dev *dev;

	lockdep_assert_held(&dn->devs.xa_lock);
	xa_for_each_start(&dn->devs, *id, dev, *id)
		if (dev->kind == kind)
			return dev;
	return NULL;
}

void dlcp_devs_init(struct dlcp_net *dn)
{
	xa_init_flags(&dn->devs, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
}
