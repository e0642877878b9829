// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: their names, and how those of the engine get here.
 */
#include "dlcp.h"
#include "trace.h"

const char *const dlcp_mib_names[DLCP_MIB_MAX] = {
#define DLCP_MIB_ITEM(field, name) name,
#include "mib_list.h"
#undef DLCP_MIB_ITEM
};

static_assert(DLCP_MIB_TX_PACKETS == (int)DLCP_CNT_TX_PACKETS);
static_assert(DLCP_MIB_CE == (int)DLCP_CNT_CE);
static_assert(DLCP_MIB_RX_DUP == (int)DLCP_CNT_RX_DUP);
static_assert(DLCP_MIB_MTU_DOWN == (int)DLCP_CNT_MTU_DOWN);
static_assert(DLCP_MIB_DUP == (int)DLCP_CNT_MAX);
static_assert(DLCP_MIB_DROP_MISMATCH - DLCP_MIB_DUP ==
	      DLCP_DROP_MISMATCH - DLCP_DUP);

static void dlcp_mib_trace(const struct sock *sk, int cnt, u64 delta)
{
	switch (cnt) {
	case DLCP_CNT_ACKS_RCVD:
		trace_dlcp_ack(sk, &dlcp_sk(sk)->conn, delta);
		break;
	case DLCP_CNT_LOST:
		trace_dlcp_loss(sk, &dlcp_sk(sk)->conn, delta);
		break;
	case DLCP_CNT_TX_FORGIVEN:
	case DLCP_CNT_RX_FORGIVEN:
		trace_dlcp_forgive(sk, cnt == DLCP_CNT_TX_FORGIVEN, delta);
		break;
	}
}

/**
 * dlcp_mib_sync() - add to the MIB what the engine counted since last time
 * @sk: a connection
 *
 * The engine counts in plain words under the socket lock; here the
 * differences move to the counters of the namespace.
 *
 * Context: socket lock held.
 */
void dlcp_mib_sync(struct sock *sk)
{
	struct dlcp_net *dn = dlcp_pernet(sock_net(sk));
	struct dlcp_sock *ds = dlcp_sk(sk);
	u64 delta;
	int i;

	for (i = 0; i < DLCP_CNT_MAX; i++) {
		delta = ds->conn.cnt[i] - ds->cnt_seen[i];
		if (!delta)
			continue;
		ds->cnt_seen[i] = ds->conn.cnt[i];
		SNMP_ADD_STATS(dn->mib, i, delta);
		dlcp_mib_trace(sk, i, delta);
	}
}
