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

/*
 * Of packets and messages the low half of what was seen tells the difference. A
 * counter of bytes may grow by more than that holds from one call to the next.
 */
static u32 *dlcp_mib_high(struct dlcp_sock *ds, int i)
{
	if (i >= DLCP_CNT_TX_OFFERED && i <= DLCP_CNT_TX_RESENT)
		return &ds->cnt_high[i - DLCP_CNT_TX_OFFERED];
	if (i >= DLCP_CNT_RX_OFFERED && i <= DLCP_CNT_RX_DUP)
		return &ds->cnt_high[DLCP_CNT_TX_BYTES + i -
				     DLCP_CNT_RX_OFFERED];
	return NULL;
}

/* How much the engine counted since last time */
static u64 dlcp_mib_delta(struct dlcp_sock *ds, int i)
{
	u32 *high = dlcp_mib_high(ds, i);
	u64 now = ds->conn.cnt[i];
	u64 delta = (u32)now - ds->cnt_seen[i];

	if (high) {
		delta = now - ((u64)*high << 32 | ds->cnt_seen[i]);
		*high = upper_32_bits(now);
	}
	ds->cnt_seen[i] = lower_32_bits(now);
	return delta;
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
		delta = dlcp_mib_delta(ds, i);
		if (!delta)
			continue;
		SNMP_ADD_STATS(dn->mib, i, delta);
		dlcp_mib_trace(sk, i, delta);
	}
}
