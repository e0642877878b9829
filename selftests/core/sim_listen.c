// SPDX-License-Identifier: GPL-2.0
/* The simulator: a listener, and answers to packets of no connection. */
#include "listen.h"
#include "mac.h"
#include "sim.h"

static void ep_reset_reply(struct sim_ep *e, const struct dlcp_hdr *h)
{
	struct dlcp_reset r = { .your_tag = h->tag, .code = DLCP_RST_UNKNOWN };
	u8 buf[64];

	if (h->type == DLCP_PT_RESET)
		return;
	sim_link_send(e, 0, buf, dlcp_put_reset(buf, h->tag, &r), 0xff);
}

/* A listener as the module's: keeps nothing until the cookie is back. It has one
 * connection, and each client is told of another one.
 */
static void ep_listen(struct sim_ep *e, const struct dlcp_hdr *h,
		      const struct dlcp_setup *in)
{
	struct dlcp_listen_keys keys = { test_mac, &e->s->seed, &e->s->seed };
	struct dlcp_cookie_in cookie = { .now = e->s->now };
	u8 buf[256];
	int len;

	if (h->type == DLCP_PT_INIT) {
		if (!e->live && e->asker && e->asker != in->tag)
			e->cfg.local_tag += 2;
		e->asker = in->tag;
		cookie.server_tag = e->cfg.local_tag + 2 * e->live;
		len = dlcp_listen_init(buf, in, &cookie, &keys);
		if (len > 0)
			sim_link_send(e, 0, buf, (u32)len, 0xff);
		return;
	}
	if (h->type != DLCP_PT_ECHO || e->live || e->gone ||
	    h->tag != e->cfg.local_tag || e->s->now < e->full ||
	    dlcp_listen_echo(in, h->tag, &cookie, &keys))
		return;
	if (dlcp_conn_init(&e->c, &e->cfg, e->s->now)) {
		dlcp_conn_destroy(&e->c);
		return;
	}
	e->live = true;
	dlcp_conn_accept(&e->c, in, e->s->now);
	dlcp_conn_setup_took(&e->c, dlcp_cookie_age(in->cookie, e->s->now));
}
