// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "cookie.h"
#include "mac.h"

#define SEC 1000000000ULL

static struct dlcp_cookie_in sample(void)
{
	struct dlcp_cookie_in in = {
		.now = 1000 * SEC, .server_tag = 0x1122334455667788ULL,
		.client_tag = 0x99aabbccddeeff00ULL, .sport = 4711,
		.dport = 6253, .version = 1, .addr_len = 16,
	};

	memcpy(in.saddr, "abcdefghijklmnop", 16);
	memcpy(in.daddr, "ABCDEFGHIJKLMNOP", 16);
	return in;
}

static void cookie__comes_back(void)
{
	struct dlcp_cookie_in in = sample();
	u8 c[DLCP_COOKIE_LEN];
	u64 key = 42;

	dlcp_cookie_make(c, &in, test_mac, &key);
	in.server_tag = 0;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), 0);
	CHECK(in.server_tag == 0x1122334455667788ULL);
}

static void cookie__lifetime(void)
{
	struct dlcp_cookie_in in = sample();
	u8 c[DLCP_COOKIE_LEN];
	u64 key = 42;

	/* Whatever part of the second it was made in */
	in.now += SEC - 2000;
	dlcp_cookie_make(c, &in, test_mac, &key);
	in.now += 60 * SEC - 1;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), 0);
	in.now++;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), -ESTALE);
	in.now = 999 * SEC;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), -ESTALE);
	/* around the wrap of its 32 bits */
	in.now = (u64)U32_MAX * SEC;
	dlcp_cookie_make(c, &in, test_mac, &key);
	in.now += 10 * SEC;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), 0);
}

static void cookie__any_bit_counts(void)
{
	struct dlcp_cookie_in in = sample();
	u8 c[DLCP_COOKIE_LEN];
	u64 key = 42;
	int i;

	dlcp_cookie_make(c, &in, test_mac, &key);
	for (i = 0; i < DLCP_COOKIE_LEN * 8; i++) {
		c[i / 8] ^= 1 << i % 8;
		CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), -EBADMSG);
		c[i / 8] ^= 1 << i % 8;
	}
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), 0);
}

static void cookie__only_for_this_client_and_secret(void)
{
	struct dlcp_cookie_in in = sample(), o;
	u8 c[DLCP_COOKIE_LEN];
	u64 key = 42, other = 43;
	int i;

	dlcp_cookie_make(c, &in, test_mac, &key);
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &other), -EBADMSG);
	for (i = 0; i < 16; i++) {
		o = in;
		o.saddr[i]++;
		CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
		o = in;
		o.daddr[i]++;
		CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
	}
	o = in;
	o.client_tag++;
	CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
	o = in;
	o.sport++;
	CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
	o = in;
	o.dport++;
	CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
	o = in;
	o.version++;
	CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
	o = in;
	o.addr_len = 4;
	CHECK_EQ(dlcp_cookie_check(c, &o, test_mac, &key), -EBADMSG);
}

/* What lies behind a short address is not looked at */
static void cookie__ipv4(void)
{
	struct dlcp_cookie_in in = sample();
	u8 c[DLCP_COOKIE_LEN];
	u64 key = 1;

	in.addr_len = 4;
	dlcp_cookie_make(c, &in, test_mac, &key);
	memset(in.saddr + 4, 0x55, 12);
	memset(in.daddr + 4, 0x66, 12);
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), 0);
	in.saddr[3]++;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), -EBADMSG);
}

/* To the microsecond, and over the second's end */
static void cookie__age(void)
{
	struct dlcp_cookie_in in = sample();
	u8 c[DLCP_COOKIE_LEN];
	u64 key = 1;

	in.now = 7 * SEC + 999999000;
	dlcp_cookie_make(c, &in, test_mac, &key);
	CHECK_EQ(dlcp_cookie_age(c, in.now), 0);
	CHECK_EQ(dlcp_cookie_age(c, in.now + 20000), 20000);
	CHECK_EQ(dlcp_cookie_age(c, in.now + 3 * SEC), 3 * SEC);
	CHECK_EQ(dlcp_cookie_age(c, in.now - 1), 0);
	/* It is as unforgeable as the rest */
	c[31] ^= 1;
	CHECK_EQ(dlcp_cookie_check(c, &in, test_mac, &key), -EBADMSG);
}

TESTS(T(cookie__age), T(cookie__comes_back),
      T(cookie__lifetime),
      T(cookie__any_bit_counts),
      T(cookie__only_for_this_client_and_secret),
      T(cookie__ipv4))
