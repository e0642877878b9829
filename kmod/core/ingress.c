// SPDX-License-Identifier: GPL-2.0
#include "ingress.h"

bool dlcp_ingress_moves(struct dlcp_ingress *in, int link, u64 now)
{
	if (likely(link == in->link))
		return false;
	if (in->link)
		in->mixed = now;
	in->link = link;
	return true;
}

bool dlcp_ingress_mixed(const struct dlcp_ingress *in, u64 now)
{
	return in->mixed && now - in->mixed < DLCP_INGRESS_MIXED;
}

u64 dlcp_ingress_data(struct dlcp_ingress *in, struct dlcp_grant *g,
		      const struct dlcp_conn *c, const struct dlcp_rxmsg *m,
		      u64 bytes, u64 now)
{
	/* The class first: lest who begins be taken for one of that of its last
	 * message
	 */
	if (m)
		dlcp_grant_rank(g, &in->grantee, m->open.prio,
				m->open.length - m->received);
	dlcp_grant_rtt(g, c->paths[0].rtt.srtt);
	dlcp_grant_arrived(g, &in->grantee, bytes, c->credit.bad, c->credit.queued,
			   now);
	dlcp_ingress_rest(in, g, c, now);
	return dlcp_grant_rate(g, &in->grantee, now);
}

void dlcp_ingress_rest(struct dlcp_ingress *in, struct dlcp_grant *g,
		       const struct dlcp_conn *c, u64 now)
{
	if (list_empty(&c->rx.open))
		dlcp_grant_rest(g, &in->grantee, now);
}
