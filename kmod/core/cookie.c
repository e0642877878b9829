// SPDX-License-Identifier: GPL-2.0
#include "cookie.h"

#define COOKIE_BODY	32
#define COOKIE_MAC	16

static u32 cookie_time(u64 now)
{
	return (u32)div_u64(now, NSEC_PER_SEC);
}

static u32 cookie_us(u64 now)
{
	u32 ns;

	div_u64_rem(now, NSEC_PER_SEC, &ns);
	return ns / NSEC_PER_USEC;
}

/*
 * Two hashes of the same data under different first words make 128 bits of a
 * function that gives 64.
 */
static void cookie_mac(u8 out[COOKIE_MAC], const u8 *body,
		       const struct dlcp_cookie_in *in, dlcp_cookie_mac_t mac,
		       void *ctx)
{
	u8 data[8 + COOKIE_BODY + 2 * DLCP_COOKIE_ADDR_MAX] = { 0 };
	u8 n = min_t(u8, in->addr_len, DLCP_COOKIE_ADDR_MAX);
	u8 *addrs = data + 8 + COOKIE_BODY;

	/* The length is in: no IPv4 address passes for one of IPv6 */
	data[1] = n;
	memcpy(data + 8, body, COOKIE_BODY);
	memcpy(addrs, in->saddr, n);
	memcpy(addrs + DLCP_COOKIE_ADDR_MAX, in->daddr, n);

	data[0] = 1;
	dlcp_put_be64(out, mac(ctx, data, sizeof(data)));
	data[0] = 2;
	dlcp_put_be64(out + 8, mac(ctx, data, sizeof(data)));
}

static void cookie_body(u8 *out, const struct dlcp_cookie_in *in,
			u64 server_tag, u32 time, u32 us)
{
	memset(out, 0, COOKIE_BODY);
	dlcp_put_be64(out, server_tag);
	dlcp_put_be64(out + 8, in->client_tag);
	dlcp_put_be32(out + 16, time);
	dlcp_put_be16(out + 20, in->sport);
	dlcp_put_be16(out + 22, in->dport);
	out[24] = in->version;
	dlcp_put_be32(out + 28, us);
}

void dlcp_cookie_make(u8 out[DLCP_COOKIE_LEN], const struct dlcp_cookie_in *in,
		      dlcp_cookie_mac_t mac, void *ctx)
{
	BUILD_BUG_ON(COOKIE_BODY + COOKIE_MAC != DLCP_COOKIE_LEN);

	cookie_body(out, in, in->server_tag, cookie_time(in->now),
		    cookie_us(in->now));
	cookie_mac(out + COOKIE_BODY, out, in, mac, ctx);
}

/* ns from then to @now. Unsigned: one from the future is very old */
static u64 cookie_since(u32 time, u32 us, u64 now)
{
	u32 ns, secs = (u32)div_u64_rem(now, NSEC_PER_SEC, &ns) - time;

	return (u64)secs * NSEC_PER_SEC + ns - (u64)us * NSEC_PER_USEC;
}

int dlcp_cookie_check(const u8 cookie[DLCP_COOKIE_LEN],
		      struct dlcp_cookie_in *in, dlcp_cookie_mac_t mac,
		      void *ctx)
{
	u64 server_tag = dlcp_get_be64(cookie);
	u32 time = dlcp_get_be32(cookie + 16);
	u32 us = dlcp_get_be32(cookie + 28);
	u8 want[DLCP_COOKIE_LEN];
	u8 diff = 0;
	int i;

	/*
	 * What it should be is made from what the caller saw and compared
	 * as a whole, in constant time.
	 */
	cookie_body(want, in, server_tag, time, us);
	cookie_mac(want + COOKIE_BODY, want, in, mac, ctx);
	for (i = 0; i < DLCP_COOKIE_LEN; i++)
		diff |= want[i] ^ cookie[i];
	if (diff)
		return -EBADMSG;

	/* Not by whole seconds: the client, which begins again, goes by ns too */
	if (cookie_since(time, us, in->now) >=
	    (u64)DLCP_COOKIE_LIFE * NSEC_PER_SEC)
		return -ESTALE;
	in->server_tag = server_tag;
	return 0;
}

u64 dlcp_cookie_age(const u8 cookie[DLCP_COOKIE_LEN], u64 now)
{
	u64 made = (u64)dlcp_get_be32(cookie + 16) * NSEC_PER_SEC +
		   (u64)dlcp_get_be32(cookie + 28) * NSEC_PER_USEC;

	return now > made ? now - made : 0;
}
