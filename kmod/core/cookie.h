/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cookie of the stateless listener.
 *
 * INIT is answered with a cookie and forgotten. Who brings the cookie back in
 * ECHO has shown that packets to its address reach it, and the cookie holds
 * all that the listener would otherwise have had to remember:
 *
 *    0 server tag (64)    the tag the server will know the connection by
 *    8 client tag (64)
 *   16 time (32)          seconds of the listener's clock
 *   20 sport (16)  22 dport (16)   as the client put them in INIT
 *   24 version  25 zero (24)
 *   28 time (32)          microseconds of that second
 *   32 MAC (128)          over the above and both addresses
 *
 * Nothing of it is secret, only unforgeable. A cookie may be shown more than
 * once (ECHO may be lost or repeated): the listener looks for a connection
 * with the server tag before it makes one.
 */
#ifndef _DLCP_CORE_COOKIE_H
#define _DLCP_CORE_COOKIE_H

#include "env.h"
#include "wire.h"

/* Seconds a cookie is good for */
#define DLCP_COOKIE_LIFE	60
/* An address takes at most this many bytes */
#define DLCP_COOKIE_ADDR_MAX	16

/**
 * struct dlcp_cookie_in - what a cookie is made of
 * @now: ns of a clock that does not go back while the secret lives
 * @server_tag: random, not zero, chosen by the caller of dlcp_cookie_make();
 *	filled in by dlcp_cookie_check()
 * @client_tag: as announced in INIT and again in ECHO
 * @sport: the client's port
 * @dport: the listener's port
 * @version: chosen by the listener
 * @addr_len: bytes of each address, at most DLCP_COOKIE_ADDR_MAX
 * @saddr: the client's address as seen by the listener
 * @daddr: the listener's
 */
struct dlcp_cookie_in {
	u64	now;
	u64	server_tag;
	u64	client_tag;
	u16	sport;
	u16	dport;
	u8	version;
	u8	addr_len;
	u8	saddr[DLCP_COOKIE_ADDR_MAX];
	u8	daddr[DLCP_COOKIE_ADDR_MAX];
};

/* A keyed hash (siphash); the key is the callback's business. */
typedef u64 (*dlcp_cookie_mac_t)(void *ctx, const void *data, size_t len);

void dlcp_cookie_make(u8 out[DLCP_COOKIE_LEN], const struct dlcp_cookie_in *in,
		      dlcp_cookie_mac_t mac, void *ctx);
/**
 * dlcp_cookie_check() - is this a cookie of ours, for this client, and fresh?
 * @cookie: as received
 * @in: all but @server_tag as found in the ECHO packet, which is filled in
 * @mac: the hash, under the current secret
 * @ctx: passed to @mac
 *
 * Secrets rotate: on -EBADMSG the caller tries again with the previous one,
 * which it keeps for at least DLCP_COOKIE_LIFE.
 *
 * Return: 0, -EBADMSG (not made with this secret from these values) or
 * -ESTALE (too old).
 */
int dlcp_cookie_check(const u8 cookie[DLCP_COOKIE_LEN],
		      struct dlcp_cookie_in *in, dlcp_cookie_mac_t mac,
		      void *ctx);

/**
 * dlcp_cookie_age() - how long ago was a cookie made?
 * @cookie: one that dlcp_cookie_check() found good
 * @now: as in struct dlcp_cookie_in
 *
 * The client answers at once. So this is the round trip, or more if an ECHO was
 * lost.
 *
 * Return: ns, to the microsecond
 */
u64 dlcp_cookie_age(const u8 cookie[DLCP_COOKIE_LEN], u64 now);

#endif
