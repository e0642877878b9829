// SPDX-License-Identifier: GPL-2.0
#include "listen.h"

static void listen_cookie_in(struct dlcp_cookie_in *in,
			     const struct dlcp_setup *s, u8 version)
{
	in->client_tag = s->tag;
	in->sport = s->sport;
	in->dport = s->dport;
	in->version = version;
}

int dlcp_listen_init(u8 *buf, const struct dlcp_setup *s,
		     struct dlcp_cookie_in *in,
		     const struct dlcp_listen_keys *keys)
{
	struct dlcp_setup ack = {
		.sport		= s->dport,
		.dport		= s->sport,
		.version_min	= DLCP_VERSION,
		.version_max	= DLCP_VERSION,
		.tag		= in->server_tag,
	};

	if (s->version_min > DLCP_VERSION || s->version_max < DLCP_VERSION)
		return -EPROTONOSUPPORT;
	listen_cookie_in(in, s, DLCP_VERSION);
	dlcp_cookie_make(ack.cookie, in, keys->mac, keys->now);
	return (int)dlcp_put_setup(buf, DLCP_PT_INIT_ACK, s->tag, &ack);
}

int dlcp_listen_echo(const struct dlcp_setup *s, u64 tag,
		     struct dlcp_cookie_in *in,
		     const struct dlcp_listen_keys *keys)
{
	int err;

	listen_cookie_in(in, s, s->version_min);
	err = dlcp_cookie_check(s->cookie, in, keys->mac, keys->now);
	if (err == -EBADMSG)
		err = dlcp_cookie_check(s->cookie, in, keys->mac, keys->before);
	if (!err && in->server_tag != tag)
		err = -EBADMSG;
	return err;
}
