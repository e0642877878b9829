// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes: packets of a socket by the pair of addresses they leave by, and how
 * much of them is in a device's queue. What the kernel has charged to a socket
 * and not given back yet (sk_wmem_alloc) is there.
 */
#include "dlcp.h"

void dlcp_lane_init(struct dlcp_lane *lane, struct sock *sk)
{
	memset(lane, 0, sizeof(*lane));
	lane->sk = sk;
	dlcp_turn_init(&lane->turn);
}

/**
 * dlcp_lane() - packets of a pair of addresses
 * @sk: the connection
 * @pair: its number: see core/rail.h; that of a rail only if it has rails
 */
struct dlcp_lane *dlcp_lane(struct sock *sk, u8 pair)
{
	struct dlcp_sock *ds = dlcp_sk(sk);

	return pair ? &READ_ONCE(ds->rails)[pair - 1].lane : &ds->lane;
}

/* Bytes in its device's queue, rounded down, since sock_wfree() gives the last
 * byte of a packet back only after it has called us. Any context, no lock.
 */
u32 dlcp_lane_out(const struct dlcp_lane *lane)
{
	struct dlcp_sock *ds = dlcp_sk(lane->sk);
	const struct dlcp_rail_way *rails;
	int now, k;

	if (lane != &ds->lane)
		return atomic_read(&lane->charged) & ~255;
	rails = READ_ONCE(ds->rails);
	now = refcount_read(&lane->sk->sk_wmem_alloc);
	for (k = 0; rails && k < DLCP_RAILS_MAX; k++)
		now -= atomic_read(&rails[k].lane.charged);
	return max(now, 0) & ~255;
}
