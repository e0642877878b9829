/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which receiving link the data of a connection comes by, and what that says of
 * the rate at which the peer may send. One struct dlcp_grant is shared by all
 * connections of a link: the caller holds its lock wherever one is passed.
 */
#ifndef _DLCP_CORE_INGRESS_H
#define _DLCP_CORE_INGRESS_H

#include "conn.h"
#include "grant.h"

/* What came by two links within this time comes over several rails, ns */
#define DLCP_INGRESS_MIXED	((u64)NSEC_PER_SEC)

/**
 * struct dlcp_ingress - a connection's part in its link. Zeroed, it has none
 * @grantee: in the grant of that link
 * @mixed: ns: when data came by another link than before; 0: never
 * @link: number of the link that brought data last; 0: none did
 */
struct dlcp_ingress {
	struct dlcp_grantee grantee;
	u64	mixed;
	int	link;
};

/**
 * dlcp_ingress_moves() - data has come
 * @in: the connection's
 * @link: by which link; not 0
 * @now: ns
 *
 * Return: true: by another one than before, whose grant is to be left with
 * dlcp_grant_leave().
 */
bool dlcp_ingress_moves(struct dlcp_ingress *in, int link, u64 now);
/* Data comes over several links: a share of one of them would be too little */
bool dlcp_ingress_mixed(const struct dlcp_ingress *in, u64 now);
/**
 * dlcp_ingress_data() - data of a connection was taken in
 * @in: the connection's
 * @g: the grant of its link
 * @c: the connection
 * @m: message it was of; NULL: none that is still wanted
 * @bytes: with all headers
 * @now: ns
 *
 * Return: the rate for dlcp_conn_grant(), bytes per second; 0: no limit
 */
u64 dlcp_ingress_data(struct dlcp_ingress *in, struct dlcp_grant *g,
		      const struct dlcp_conn *c, const struct dlcp_rxmsg *m,
		      u64 bytes, u64 now);
/* A message is complete: by data, by what the peer will not send again, or by its
 * deadline
 */
void dlcp_ingress_rest(struct dlcp_ingress *in, struct dlcp_grant *g,
		       const struct dlcp_conn *c, u64 now);

#endif
