// SPDX-License-Identifier: GPL-2.0
/* A host that forgets its connections, and what becomes of messages. */
#include "driver.h"

/* Behind @list come the messages of @e that the job still waits for */
static void end_undone(struct end *e, struct xfer **list,
		       struct dlcp_txmsg *(*take)(struct dlcp_conn *c))
{
	struct dlcp_txmsg *m;
	struct tx *t;

	while (*list)
		list = &(*list)->next;
	while ((m = take(&e->c))) {
		t = container_of(m, struct tx, m);
		/* It has come, which no end will learn any more */
		if (t->x->done_at) {
			t->x->reported = true;
		} else {
			t->x->tries++;
			*list = t->x;
			list = &t->x->next;
		}
		tx_free(t);
	}
	*list = e->wait;
	e->wait = NULL;
}

static void send_all(struct xfer *list)
{
	struct xfer *x;

	while ((x = list)) {
		list = x->next;
		dl_send(x);
	}
}

/* The program makes another connection */
void end_bereft(struct end *e)
{
	struct xfer *list = NULL;

	SCALE_CHECK(e->c.error == (hosts[e->peer].down ? ETIMEDOUT :
							 ECONNRESET));
	end_undone(e, &list, dlcp_conn_take_tx_failed);
	send_all(list);
}

/* All that the engine has goes, as where the module is unloaded. Packets in the card's
 * queue still have their owner.
 */
static void end_lose(struct end *e)
{
	struct dlcp_unopened *held;
	struct kept *kept;

	map_put(&tags, e->c.cfg.local_tag, NULL);
	map_put(&pairs, map_pair(e->host, e->peer), NULL);
	wheel_del(&fab.wheel, &e->timer);
	while ((held = dlcp_conn_unopened_any(&e->c))) {
		kept = container_of(held, struct kept, held);
		pkt_free(kept->k);
		free(kept);
	}
	dlcp_conn_destroy(&e->c);
	end_undone(e, &hosts[e->host].wait, dlcp_conn_take_tx_done);
	ev_rx_free(e);
}

/* What ranks of the host had received they have kept */
void dl_boot(u32 host, bool up)
{
	struct host *h = &hosts[host];
	struct xfer *list = h->wait;
	struct end *e;

	h->down = !up;
	if (up) {
		h->wait = NULL;
		send_all(list);
		return;
	}
	for (e = ends; e; e = e->next) {
		if (e->host == host && e->c.paths)
			end_lose(e);
		e->bereft |= e->peer == host;
	}
	host_init(h);
}
