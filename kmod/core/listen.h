/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A listener's part of the set-up, of which nothing is kept: INIT is answered with
 * a cookie, and ECHO shows it.
 */
#ifndef _DLCP_CORE_LISTEN_H
#define _DLCP_CORE_LISTEN_H

#include "cookie.h"

/**
 * struct dlcp_listen_keys - under which cookies are made and known
 * @mac: the hash
 * @now: its key; the caller makes a new one at most every DLCP_COOKIE_LIFE
 * @before: the key before that
 */
struct dlcp_listen_keys {
	dlcp_cookie_mac_t mac;
	void	*now;
	void	*before;
};

/**
 * dlcp_listen_init() - the answer to INIT
 * @buf: DLCP_SETUP_LEN bytes
 * @s: what INIT says
 * @in: the time, both addresses, and as server_tag the tag of the connection to be
 * @keys: of the host
 *
 * Return: the length of INIT_ACK in @buf; -EPROTONOSUPPORT: the client speaks no
 * version that we do.
 */
int dlcp_listen_init(u8 *buf, const struct dlcp_setup *s,
		     struct dlcp_cookie_in *in,
		     const struct dlcp_listen_keys *keys);
/**
 * dlcp_listen_echo() - may ECHO make a connection?
 * @s: what it says
 * @tag: to which it is
 * @in: the time and both addresses
 * @keys: of the host
 *
 * Return: 0, -EBADMSG (not our cookie, or not for this client) or -ESTALE (too
 * old).
 */
int dlcp_listen_echo(const struct dlcp_setup *s, u64 tag,
		     struct dlcp_cookie_in *in,
		     const struct dlcp_listen_keys *keys);

#endif
