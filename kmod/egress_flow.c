// SPDX-License-Identifier: GPL-2.0
/*
 * Flows: packets of a socket by the pair of addresses they leave by, and how
 * much of them is in a device's queue. What the kernel has charged to a socket
 * and not given back yet (sk_wmem_alloc) is there.
 */
#include "dlcp.h"

void dlcp_egress_flow_init(struct dlcp_egress_flow *flow, struct sock *sk)
{
	memset(flow, 0, sizeof(*flow));
	flow->sk = sk;
	dlcp_egress_entry_init(&flow->entry);
}

/**
 * dlcp_egress_flow() - packets of a pair of addresses
 * @sk: the connection
 * @pair: its number: see core/rail.h; that of a rail only if it has rails
 */
struct dlcp_egress_flow *dlcp_egress_flow(struct sock *sk, u8 pair)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	return pair ? &READ_ONCE(ds->rails)[pair - 1].egress : &ds->egress;
}

/* Bytes in its device's queue, rounded down, since sock_wfree() gives the last
 * byte of a packet back only after it has called us. Any context, no lock.
 */
u32 dlcp_egress_flow_out(const struct dlcp_egress_flow *flow)
{
	struct dlcp_sock *ds = dlcp_sk(flow->sk);
	const struct dlcp_rail_way *rails;
	int now, k;

	if (flow != &ds->egress)
		return atomic_read(&flow->charged) & ~255;
	rails = READ_ONCE(ds->rails);
	now = refcount_read(&flow->sk->sk_wmem_alloc);
	for (k = 0; rails && k < DLCP_RAILS_MAX; k++)
		now -= atomic_read(&rails[k].egress.charged);
	return max(now, 0) & ~255;
}
