// SPDX-License-Identifier: GPL-2.0
/* The simulator: what holds in every test, of messages that are over and after every step. */
#include "conn_int.h"
#include "sim.h"

void sim_check_counters(struct sim_ep *e)
{
	const u64 *n = e->c.cnt;

	SIM_CHECK(e->s, n[DLCP_CNT_TX_DELIVERED] + n[DLCP_CNT_TX_FORGIVEN] <=
		  n[DLCP_CNT_TX_OFFERED]);
	SIM_CHECK(e->s, n[DLCP_CNT_RX_DELIVERED] + n[DLCP_CNT_RX_FORGIVEN] <=
		  n[DLCP_CNT_RX_OFFERED]);
	if (!dlcp_conn_tx_any(&e->c) && e->live && !e->error) {
		SIM_CHECK(e->s, n[DLCP_CNT_TX_DELIVERED] +
			  n[DLCP_CNT_TX_FORGIVEN] == n[DLCP_CNT_TX_OFFERED]);
		SIM_CHECK(e->s, n[DLCP_CNT_TX_MSGS] == n[DLCP_CNT_TX_MSGS_DONE]);
	}
}

/* The report: what is missing, as the receipt says it */
static void msg_reported(struct sim_ep *e, struct sim_msg *m)
{
	u64 missing = 0;
	u32 seg;

	m->done = true;
	m->done_at = e->s->now;
	e->nr_done++;
	m->report = calloc(1, m->nr_segs);
	for (seg = dlcp_txmsg_next_missing(&m->tx, 0); seg < m->nr_segs;
	     seg = dlcp_txmsg_next_missing(&m->tx, seg + 1)) {
		m->report[seg] = 1;
		missing += dlcp_seg_len(&m->tx.open, seg);
	}
	SIM_CHECK(e->s, missing == m->tx.missing_bytes);
	if (e->s->tainted)
		return;
	SIM_CHECK(e->s, m->rcvd);
	SIM_CHECK(e->s, !memcmp(m->report, m->receipt, m->nr_segs));
	SIM_CHECK(e->s, missing == m->missing);
	SIM_CHECK(e->s, m->tx.why == m->why);
	SIM_CHECK(e->s, m->tx.below_bound == m->below_bound);
	SIM_CHECK(e->s, dlcp_txmsg_released(&m->tx) == m->nr_segs);
}

/* Its own, or of its group what began: what is discarded is nobody's share */
static void sim_check_bound(struct sim *s, const struct sim_msg *m, bool exempt)
{
	u64 *missing = &s->group_missing[m->from - s->ep][m->group];

	if (exempt)
		return;
	if (!m->group)
		SIM_CHECK(s, m->missing <= dlcp_bound(m->length, m->ppm));
	*missing += m->missing;
	SIM_CHECK(s, !m->group || *missing <=
		  s->group_bound[m->from - s->ep][m->group]);
}

/* The receipt: within the bound, nothing critical, and true */
static void msg_received(struct sim_ep *e, struct sim_rxmsg *r)
{
	struct sim_msg *m = r->msg;
	struct sim *s = e->s;
	u32 seg = 0, count, i;
	u64 missing = 0;
	bool exempt;

	e->nr_rcvd++;
	if (!m || s->tainted)
		return;
	SIM_CHECK(s, !m->rcvd);
	m->rcvd = true;
	m->rcvd_at = s->now;
	m->receipt = calloc(1, m->nr_segs);
	while (dlcp_rxmsg_next_missing(&r->m, &seg, &count)) {
		for (i = 0; i < count; i++, seg++) {
			m->receipt[seg] = 1;
			missing += dlcp_seg_len(&r->m.open, seg);
		}
	}
	for (i = 0; i < m->nr_segs; i++)
		SIM_CHECK(s, m->receipt[i] != m->taken[i]);
	m->missing = missing;
	m->why = r->m.why;
	m->below_bound = r->m.below_bound;
	m->late = r->m.late;
	SIM_CHECK(s, missing == r->m.missing);
	exempt = r->m.why == DLCP_WHY_DISCARDED ||
		 (r->m.why == DLCP_WHY_DEADLINE &&
		  r->m.open.flags & DLCP_MSG_HARD_DEADLINE);
	SIM_CHECK(s, exempt || !r->m.below_bound);
	if (r->m.below_bound)
		return;
	sim_check_bound(s, m, exempt);
	for (i = 0; !exempt && i < m->nr_segs; i++)
		SIM_CHECK(s, !m->receipt[i] || !m->critical[i]);
	SIM_CHECK(s, m->ppm || exempt || !r->m.nr_missing);
}

static void ep_check(struct sim_ep *e)
{
	struct dlcp_conn *c = &e->c;
	const struct sim_rxmsg *r;
	const struct sim_msg *m;

	e->max_buffered = max(e->max_buffered, c->credit.buffered);
	SIM_CHECK(e->s, c->credit.buffered <=
			c->cfg.rx_space + dlcp_conn_unsolicited(c));
	dlcp_conn_for_each_rx(r, c, m) {
		SIM_CHECK(e->s, c->rx.maps >= dlcp_rxmsg_mem(r->m.nr_segs));
		break;
	}
	SIM_CHECK(e->s, c->credit.unsolicited <= dlcp_conn_unsolicited(c));
	sim_check_counters(e);
	/* Idle means that nothing was left undone that could be done */
	if (c->state >= DLCP_ESTABLISHED && !c->send.no_memory &&
	    c->ctrl.out < CONN_CTRL_OUT_MAX)
		SIM_CHECK(e->s, list_empty(&c->ctrl.tx) && !c->tx.tombstones &&
			  !c->ctrl.nr_again && !c->ctrl.window_pending &&
			  !c->ctrl.close_pending && !c->ctrl.ping_pending &&
			  !c->rail.pending && !c->ctrl.answer_pending);
	dlcp_conn_for_each_tx(m, c, tx) {
		SIM_CHECK(e->s, m->tx.budget.forgiven <=
			  dlcp_bound(m->tx.open.length, m->tx.open.loss_ppm));
		/* A few do: the walk must not make long tests longer */
		if (m->tx.id > c->tx.low_id + 8)
			break;
	}
}
