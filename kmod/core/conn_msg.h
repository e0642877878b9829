/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The messages of a connection, for the shell. It names none of the engine's lists.
 * Context of all: as conn.h says, with the connection's lock held, in process or
 * softirq context. Nothing here sleeps.
 */
#ifndef _DLCP_CORE_CONN_MSG_H
#define _DLCP_CORE_CONN_MSG_H

#include "conn.h"

/**
 * dlcp_conn_take_tx_done() - an outgoing message that is over
 * @c: after DLCP_EV_TX_DONE, or dlcp_conn_destroy()
 *
 * Return: the message, which is the shell's to report and to free; NULL: there is
 * none left
 */
struct dlcp_txmsg *dlcp_conn_take_tx_done(struct dlcp_conn *c);

/**
 * dlcp_conn_take_tx_failed() - an outgoing message that was not over
 * @c: a connection that is over, after DLCP_EV_ERROR
 *
 * Nothing more is to be sent of it, nor will more be known of it.
 *
 * Return: as dlcp_conn_take_tx_done()
 */
struct dlcp_txmsg *dlcp_conn_take_tx_failed(struct dlcp_conn *c);

/**
 * dlcp_conn_take_rx_free() - an incoming message that the engine is done with
 * @c: after DLCP_EV_RX_FREE, or dlcp_conn_destroy()
 *
 * Return: the message, which is the shell's to free; NULL: there is none left
 */
struct dlcp_rxmsg *dlcp_conn_take_rx_free(struct dlcp_conn *c);

/* Is an outgoing message under way? */
static inline bool dlcp_conn_tx_any(const struct dlcp_conn *c)
{
	return !list_empty(&c->tx.active);
}

/* Was a message announced that is not complete? */
static inline bool dlcp_conn_rx_any(const struct dlcp_conn *c)
{
	return !list_empty(&c->rx.open);
}

/**
 * dlcp_conn_for_each_tx() - outgoing messages that are not over, by number
 * @pos: the shell's struct of each
 * @c: the connection
 * @core: member of @pos that is the struct dlcp_txmsg
 *
 * None may go while they are walked.
 */
#define dlcp_conn_for_each_tx(pos, c, core) \
	list_for_each_entry(pos, &(c)->tx.active, core.node)

/**
 * dlcp_conn_for_each_rx() - messages that are not complete, as they were announced
 * @pos: the shell's struct of each
 * @c: the connection
 * @core: member of @pos that is the struct dlcp_rxmsg
 *
 * None may go, nor complete, while they are walked.
 */
#define dlcp_conn_for_each_rx(pos, c, core) \
	list_for_each_entry(pos, &(c)->rx.open, core.node)

/**
 * dlcp_conn_for_each_rx_safe() - as dlcp_conn_for_each_rx(), and @pos may go
 * @pos: the shell's struct of each
 * @n: another such pointer
 * @c: the connection
 * @core: member of @pos that is the struct dlcp_rxmsg
 */
#define dlcp_conn_for_each_rx_safe(pos, n, c, core) \
	list_for_each_entry_safe(pos, n, &(c)->rx.open, core.node)

/**
 * dlcp_conn_for_each_rx_done_safe() - messages that are complete, the first one first
 * @pos: the shell's struct of each
 * @n: another such pointer
 * @c: the connection
 * @core: member of @pos that is the struct dlcp_rxmsg
 *
 * A message is one of these until its sender knows of it, and dlcp_conn_rx_done() was
 * called: also some that were seen before. @pos may go.
 */
#define dlcp_conn_for_each_rx_done_safe(pos, n, c, core) \
	list_for_each_entry_safe(pos, n, &(c)->rx.closed, core.node)

/**
 * dlcp_conn_for_each_rx_done_reverse() - messages that are complete, the last one first
 * @pos: the shell's struct of each
 * @c: the connection
 * @core: member of @pos that is the struct dlcp_rxmsg
 *
 * Those completed since the shell last looked come before all others. None may go.
 */
#define dlcp_conn_for_each_rx_done_reverse(pos, c, core) \
	list_for_each_entry_reverse(pos, &(c)->rx.closed, core.node)

#endif
