// SPDX-License-Identifier: GPL-2.0
/* The state of a connection, and what its end waits for. */
#include "conn_int.h"

void dlcp_conn_set_state(struct dlcp_conn *c, u8 state)
{
	if (c->state == state)
		return;
	c->state = state;
	conn_event(c, DLCP_EV_STATE);
}

void dlcp_conn_fail(struct dlcp_conn *c, int err, const char *text)
{
	if (c->state == DLCP_CLOSED)
		return;
	c->error = err;
	c->error_text = text;
	dlcp_conn_set_state(c, DLCP_CLOSED);
	conn_event(c, DLCP_EV_ERROR);
}

void dlcp_conn_abort(struct dlcp_conn *c, int err, const char *text)
{
	if (c->state == DLCP_CLOSED)
		return;
	if (c->peer_tag)
		c->reset_code = DLCP_RST_ABORT;
	dlcp_conn_fail(c, err, text);
}

/* Is all that was sent before our CLOSE settled, and the CLOSE acknowledged? */
void dlcp_conn_check_flushed(struct dlcp_conn *c)
{
	if (c->flushed || !c->fin_acked || !list_empty(&c->tx.active))
		return;
	c->flushed = 1;
	conn_event(c, DLCP_EV_FLUSHED);
}

/* Something came while we linger: the peer still asks, as our answers are lost.
 * It asks ever less often, and some of that is lost too.
 */
void dlcp_conn_linger_on(struct dlcp_conn *c, u64 now)
{
	u64 more = min_t(u64, 8 * (now - c->last_rcvd), c->cfg.dead_ns);

	c->t_linger = max_t(u64, c->t_linger, now + more);
}

/* Both ends closed: what is still to be done? */
void dlcp_conn_check_close(struct dlcp_conn *c, u64 now)
{
	u64 linger;

	if (!c->fin_sent || !c->fin_rcvd || !conn_open(c))
		return;
	dlcp_conn_set_state(c, DLCP_CLOSING);
	if (!c->fin_acked || !c->eof || !conn_tx_all_done(c) ||
	    c->rx.low_id != c->rx.fin_id || c->rx.nr_old || c->t_linger)
		return;
	/* The peer may not know that we have its CLOSE: stay to answer */
	linger = max_t(u64, 8 * dlcp_conn_pto(c), CONN_LINGER_MIN);
	c->t_linger = now + linger;
}
