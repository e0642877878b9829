// SPDX-License-Identifier: GPL-2.0
/* The simulator: a listener, and answers to packets of no connection. */
#include "sim.h"

static void ep_reset_reply(struct sim_ep *e, const struct dlcp_hdr *h)
{
	struct dlcp_reset r = { .your_tag = h->tag, .code = DLCP_RST_UNKNOWN };
	u8 buf[64];

	if (h->type == DLCP_PT_RESET)
		return;
	sim_link_send(e, 0, buf, dlcp_put_reset(buf, h->tag, &r), 0xff);
}

static void listen_cookie(const struct sim_ep *e, u64 tag, u8 *cookie)
{
	u32 i;

	for (i = 0; i < DLCP_COOKIE_LEN; i++)
		cookie[i] = (u8)(tag >> (i % 8 * 8)) ^ (u8)(i * 37) ^
			    (u8)e->s->seed;
}

/* A listener as the module's: keeps nothing until the cookie is back */
static void ep_listen(struct sim_ep *e, const struct dlcp_hdr *h,
		      const struct dlcp_setup *in)
{
	struct dlcp_setup s = {
		.tag = e->cfg.local_tag,
		.sport = in->dport,
		.dport = in->sport,
		.version_min = DLCP_VERSION,
		.version_max = DLCP_VERSION,
	};
	u8 cookie[DLCP_COOKIE_LEN];
	u8 buf[256];

	if (h->type == DLCP_PT_INIT) {
		e->asked = e->s->now;
		listen_cookie(e, in->tag, s.cookie);
		sim_link_send(e, 0, buf, dlcp_put_setup(buf, DLCP_PT_INIT_ACK,
							in->tag, &s), 0xff);
		return;
	}
	if (h->type != DLCP_PT_ECHO || e->live || e->gone ||
	    h->tag != e->cfg.local_tag)
		return;
	listen_cookie(e, in->tag, cookie);
	if (memcmp(cookie, in->cookie, sizeof(cookie)))
		return;
	if (dlcp_conn_init(&e->c, &e->cfg, e->s->now)) {
		dlcp_conn_destroy(&e->c);
		return;
	}
	e->live = true;
	dlcp_conn_accept(&e->c, in, e->s->now);
	dlcp_conn_setup_took(&e->c, e->s->now - e->asked);
}
