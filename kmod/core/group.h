/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loss budget of a group of messages: those of one training step, or of one
 * bucket, on one connection. A message of few segments has none to spare within
 * its own bound; within its group's it may lose one that another kept.
 *
 * A message brings its bound, in bytes, when it begins, and takes out what is
 * missing of it when it is complete. So of a group there is never more missing than
 * the sum of the bounds of those that have begun.
 *
 * Both ends keep an account. At the sender a message begins earlier and is
 * complete later than at the receiver, and a group has a number that is never
 * used again on the connection. So whatever the receiver takes is there by the
 * sender's account, too, even if the receiver has forgotten a part of it.
 *
 * Callers hold the connection's lock.
 */
#ifndef _DLCP_CORE_GROUP_H
#define _DLCP_CORE_GROUP_H

#include "env.h"

/* Accounts in each direction; messages of further groups go by their own bound */
#define DLCP_GROUPS	8

/**
 * struct dlcp_group - an account
 * @number: of the group; 0 = there is none
 * @name: what the sender's user calls it
 * @open: messages that have begun and are not complete
 * @used: dlcp_groups.uses when one began last
 * @allowed: bytes, bounds of all that have begun
 * @missing: bytes, of all that are complete
 */
struct dlcp_group {
	u32	number;
	u32	name;
	u32	open;
	u32	used;
	u64	allowed;
	u64	missing;
};

/**
 * struct dlcp_groups - those of a direction
 * @group: the accounts
 * @last: number of the last one that the sender began
 * @uses: counts
 */
struct dlcp_groups {
	struct dlcp_group	group[DLCP_GROUPS];
	u32			last;
	u32			uses;
};

/**
 * dlcp_group_named() - the sender's group of that name
 * @gs: its groups
 * @name: not 0
 *
 * Return: NULL if all accounts are those of messages on their way.
 */
struct dlcp_group *dlcp_group_named(struct dlcp_groups *gs, u32 name);

/**
 * dlcp_group_numbered() - the receiver's group of that number
 * @gs: its groups
 * @number: from OPEN, not 0
 *
 * Return: as dlcp_group_named().
 */
struct dlcp_group *dlcp_group_numbered(struct dlcp_groups *gs, u32 number);

/* A message begins, with a bound of so many bytes */
void dlcp_group_begin(struct dlcp_groups *gs, struct dlcp_group *g, u64 bound);
/* One is complete but for so many bytes */
void dlcp_group_end(struct dlcp_group *g, u64 missing);
/* Bytes that may be missing yet */
u64 dlcp_group_left(const struct dlcp_group *g);

#endif
