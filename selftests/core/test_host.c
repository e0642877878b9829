// SPDX-License-Identifier: GPL-2.0
/* What all drivers of the engine share: listener, receiving links, the timer. */
#include "test.h"
#include "ingress.h"
#include "listen.h"
#include "mac.h"
#include "wakeup.h"

#define US	1000ULL
#define SEC	1000000000ULL

static struct dlcp_cookie_in from(u64 now)
{
	struct dlcp_cookie_in in = { .now = now, .addr_len = 4 };

	memcpy(in.saddr, "abcd", 4);
	memcpy(in.daddr, "ABCD", 4);
	return in;
}

/* What the client says in ECHO after this INIT_ACK */
static struct dlcp_setup echo_of(const struct dlcp_setup *init, const u8 *buf,
				 int len)
{
	struct dlcp_setup ack, echo = *init;
	struct dlcp_hdr h;

	CHECK(!dlcp_get_hdr(buf, (u32)len, &h));
	CHECK_EQ(h.type, DLCP_PT_INIT_ACK);
	CHECK(h.tag == init->tag);
	CHECK(!dlcp_get_setup(buf, (u32)len, &h, &ack));
	CHECK_EQ(ack.tag, 77);
	CHECK_EQ(ack.sport, init->dport);
	CHECK_EQ(ack.dport, init->sport);
	echo.version_min = DLCP_VERSION;
	echo.version_max = DLCP_VERSION;
	memcpy(echo.cookie, ack.cookie, sizeof(echo.cookie));
	return echo;
}

static void listener__knows_who_it_answered(void)
{
	u64 first = 1, second = 2;
	struct dlcp_listen_keys keys = { test_mac, &first, &second };
	struct dlcp_setup init = {
		.tag = 5, .sport = 4000, .dport = 6253,
		.version_min = 1, .version_max = 9,
	};
	struct dlcp_cookie_in in = from(10 * SEC);
	u8 buf[DLCP_SETUP_LEN];
	struct dlcp_setup echo;
	int len;

	in.server_tag = 77;
	len = dlcp_listen_init(buf, &init, &in, &keys);
	CHECK(len > 0 && len <= DLCP_SETUP_LEN);
	echo = echo_of(&init, buf, len);
	in = from(11 * SEC);
	CHECK_EQ(dlcp_listen_echo(&echo, 77, &in, &keys), 0);
	/* Not for another connection, nor from another address or port */
	in = from(11 * SEC);
	CHECK_EQ(dlcp_listen_echo(&echo, 78, &in, &keys), -EBADMSG);
	in = from(11 * SEC);
	in.saddr[3]++;
	CHECK_EQ(dlcp_listen_echo(&echo, 77, &in, &keys), -EBADMSG);
	in = from(11 * SEC);
	echo.sport++;
	CHECK_EQ(dlcp_listen_echo(&echo, 77, &in, &keys), -EBADMSG);
	echo.sport--;
	/* The key before is good too, until the cookie is old */
	keys = (struct dlcp_listen_keys) { test_mac, &second, &first };
	in = from(69 * SEC);
	CHECK_EQ(dlcp_listen_echo(&echo, 77, &in, &keys), 0);
	in = from(70 * SEC);
	CHECK_EQ(dlcp_listen_echo(&echo, 77, &in, &keys), -ESTALE);
	keys.before = &second;
	in = from(69 * SEC);
	CHECK_EQ(dlcp_listen_echo(&echo, 77, &in, &keys), -EBADMSG);
}

static void listener__refuses_other_versions(void)
{
	u64 key = 1;
	const struct dlcp_listen_keys keys = { test_mac, &key, &key };
	struct dlcp_setup init = { .tag = 5, .version_min = DLCP_VERSION + 1,
				   .version_max = 99 };
	struct dlcp_cookie_in in = from(SEC);
	u8 buf[DLCP_SETUP_LEN];

	CHECK_EQ(dlcp_listen_init(buf, &init, &in, &keys), -EPROTONOSUPPORT);
	init.version_min = 0;
	init.version_max = DLCP_VERSION - 1;
	CHECK_EQ(dlcp_listen_init(buf, &init, &in, &keys), -EPROTONOSUPPORT);
	init.version_max = DLCP_VERSION;
	CHECK(dlcp_listen_init(buf, &init, &in, &keys) > 0);
}

/* One link is one link, however long nothing came; two within a second are none */
static void ingress__several_links(void)
{
	struct dlcp_ingress in = { 0 };

	CHECK(dlcp_ingress_moves(&in, 3, SEC));
	CHECK(!dlcp_ingress_mixed(&in, SEC));
	CHECK(!dlcp_ingress_moves(&in, 3, 5 * SEC));
	CHECK(dlcp_ingress_moves(&in, 4, 6 * SEC));
	CHECK(dlcp_ingress_mixed(&in, 7 * SEC - 1));
	CHECK(!dlcp_ingress_mixed(&in, 7 * SEC));
}

static void wakeup__never_at_once(void)
{
	struct dlcp_wakeup w = { 0 };

	CHECK_EQ(dlcp_wakeup_at(&w, 5 * SEC, SEC), 5 * SEC);
	CHECK_EQ(dlcp_wakeup_at(&w, SEC + 1, SEC), SEC + 10 * US);
	CHECK_EQ(dlcp_wakeup_at(&w, 0, SEC), SEC + 10 * US);
}

/* An engine that wants the past for ever is asked 400 times a second in the end,
 * and at once again when it wants the future
 */
static void wakeup__ever_later(void)
{
	struct dlcp_wakeup w = { 0 };
	u64 now = SEC;
	u32 i;

	for (i = 0; i < 8; i++) {
		w.fired = 1;
		CHECK_EQ(dlcp_wakeup_at(&w, 0, now), now + 10 * US);
	}
	for (i = 0; i < 100; i++) {
		w.fired = 1;
		now = dlcp_wakeup_at(&w, 0, now);
	}
	CHECK_EQ(dlcp_wakeup_at(&w, 0, now), now + 2560 * US);
	/* Packets ask too: they are no firing */
	CHECK_EQ(dlcp_wakeup_at(&w, now + 1, now), now + 10 * US);
	CHECK_EQ(dlcp_wakeup_at(&w, 0, now), now + 10 * US);
}

/* @n pushes put the timer off, and it fires. Return: how many of them moved it */
static u32 wakeup_round(struct dlcp_wakeup *w, u32 n)
{
	u32 moved = 0;

	dlcp_wakeup_at(w, SEC + 50 * US, SEC);
	while (n--) {
		if (dlcp_wakeup_leave(w))
			continue;
		dlcp_wakeup_at(w, 2 * SEC, SEC);
		moved++;
	}
	w->fired = !moved;
	return moved;
}

/* A timer that fires in vain for each question and its answer is moved instead; where
 * more puts it off it may fire, and now and then it is tried out
 */
static void wakeup__is_moved_where_that_is_less(void)
{
	struct dlcp_wakeup w = { 0 };
	u32 i, fired = 0;

	for (i = 0; i < 100; i++) {
		CHECK_EQ(wakeup_round(&w, 100), 0);
		CHECK_EQ(wakeup_round(&w, 0), 0);
	}
	for (i = 0; i < 1000; i++)
		fired += !wakeup_round(&w, 1);
	CHECK(fired && fired <= 1000 / 64 + 1);
	/* It is not for long where there is more to do */
	CHECK(wakeup_round(&w, 1000) <= 64);
	CHECK_EQ(wakeup_round(&w, 1000), 0);
}

TESTS(T(listener__knows_who_it_answered), T(listener__refuses_other_versions),
      T(ingress__several_links), T(wakeup__never_at_once),
      T(wakeup__ever_later), T(wakeup__is_moved_where_that_is_less))
