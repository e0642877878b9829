// SPDX-License-Identifier: GPL-2.0
/*
 * What this host's own queueing discipline refused. The packets never left, so
 * the engine sends again what they carried and charges nobody; and the socket
 * keeps less in the queue: core/txlimit.c.
 *
 * A refusal is seen where packets are given to IP, without the socket lock. It
 * is noted there, and the connection's timer does the rest. The struct is
 * allocated at the first one: most sockets never see any.
 */
#include <linux/llist.h>
#include <linux/slab.h>

#include "dlcp.h"

/**
 * struct dlcp_hostq - a socket whose packets were refused
 * @notes: struct dlcp_hostq_note, the newest first
 * @limit: by pair of addresses; socket lock
 */
struct dlcp_hostq {
	struct llist_head	notes;
	struct dlcp_txlimit	limit[DLCP_PAIRS_MAX];
};

struct dlcp_hostq_note {
	struct llist_node	node;
	struct dlcp_tx_note	what;
	u32			out;	/* bytes of the flow in the queue */
};

static struct dlcp_hostq *dlcp_hostq_get(struct sock *sk)
{
	struct dlcp_sock *ds = dlcp_sk(sk);
	struct dlcp_hostq *hq = READ_ONCE(ds->hostq);
	struct dlcp_hostq *old;

	if (hq)
		return hq;
	hq = kzalloc(sizeof(*hq), GFP_ATOMIC | __GFP_NOWARN);
	if (!hq)
		return NULL;
	init_llist_head(&hq->notes);
	old = cmpxchg(&ds->hostq, NULL, hq);
	if (old)
		kfree(hq);
	return old ?: hq;
}

/**
 * dlcp_hostq_refused() - a queueing discipline dropped a packet
 * @sk: the connection, with a reference
 * @what: the packet
 *
 * Without memory for the note the packet counts as lost on the way.
 *
 * Context: any but hard interrupts; no lock is needed.
 */
void dlcp_hostq_refused(struct sock *sk, const struct dlcp_tx_note *what)
{
	struct dlcp_hostq *hq = dlcp_hostq_get(sk);
	struct dlcp_hostq_note *note;

	if (!hq || !what->count)
		return;
	note = kmalloc(sizeof(*note), GFP_ATOMIC | __GFP_NOWARN);
	if (!note)
		return;
	note->what = *what;
	note->out = dlcp_egress_flow_out(dlcp_egress_flow(sk, what->pair));
	if (llist_add(&note->node, &hq->notes))
		dlcp_timer_now(sk);
}

/**
 * dlcp_hostq_settle() - tell the engine what was refused
 * @sk: a connection with an engine
 * @now: ns
 *
 * Context: socket lock held, process or softirq.
 */
void dlcp_hostq_settle(struct sock *sk, u64 now)
{
	struct dlcp_hostq *hq = READ_ONCE(dlcp_sk(sk)->hostq);
	struct dlcp_hostq_note *note, *next;
	struct llist_node *list;

	dlcp_assert_locked(sk);
	if (likely(!hq) || llist_empty(&hq->notes))
		return;
	list = llist_reverse_order(llist_del_all(&hq->notes));
	llist_for_each_entry_safe(note, next, list, node) {
		if (dlcp_txlimit_refused(&hq->limit[note->what.pair], note->out,
					 now))
			dlcp_conn_tx_refused(&dlcp_sk(sk)->conn,
					     note->what.path, note->what.pn,
					     note->what.count, now);
		kfree(note);
	}
}

/**
 * dlcp_hostq_wait() - may another batch be queued?
 * @sk: the connection
 * @pair: of addresses it would leave by
 *
 * Context: socket lock held.
 * Return: 0: yes; else the ns to wait at most. The timer fires earlier if
 * enough left the queue before.
 */
u64 dlcp_hostq_wait(struct sock *sk, u8 pair)
{
	struct dlcp_hostq *hq = READ_ONCE(dlcp_sk(sk)->hostq);
	struct dlcp_egress_flow *flow = dlcp_egress_flow(sk, pair);
	u64 wait;

	if (likely(!hq))
		return 0;
	wait = dlcp_txlimit_wait(&hq->limit[pair], dlcp_egress_flow_out(flow),
				 dlcp_now());
	if (!wait)
		return 0;
	/* What left the queue before we said that we wait woke nobody */
	smp_mb();
	if (dlcp_txlimit_room(&hq->limit[pair], dlcp_egress_flow_out(flow)))
		wait = min_t(u64, wait, DLCP_TXLIMIT_RETRY);
	return wait;
}

/**
 * dlcp_hostq_freed() - a packet of the socket left the queue
 * @sk: any socket that may send
 * @pair: of addresses it went by
 *
 * Context: any but hard interrupts; no lock is needed.
 */
void dlcp_hostq_freed(struct sock *sk, u8 pair)
{
	struct dlcp_hostq *hq = READ_ONCE(dlcp_sk(sk)->hostq);

	if (likely(!hq) || !READ_ONCE(hq->limit[pair].full))
		return;
	if (dlcp_txlimit_room(&hq->limit[pair],
			      dlcp_egress_flow_out(dlcp_egress_flow(sk, pair))))
		dlcp_timer_now(sk);
}

/* Of a socket that nobody has */
void dlcp_hostq_free(struct sock *sk)
{
	struct dlcp_hostq *hq = dlcp_sk(sk)->hostq;
	struct dlcp_hostq_note *note, *next;

	if (!hq)
		return;
	llist_for_each_entry_safe(note, next, llist_del_all(&hq->notes), node)
		kfree(note);
	kfree(hq);
}
