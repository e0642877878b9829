// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "path.h"

static struct dlcp_recv_window *window_new(void)
{
	struct dlcp_recv_window *w = calloc(1, dlcp_recv_size(0));

	w->patience = 2;
	return w;
}

/* A run of numbers received on a path is the same as one after the other */
static void numbers__runs(void)
{
	struct dlcp_recv_window *a = window_new(), *b = window_new();
	struct dlcp_f_ack ack;
	u32 i, k, nr, pn = (u32)rnd();
	bool ce;

	dlcp_recv_mark(a, pn, false, 1000);
	dlcp_recv_mark(b, pn, false, 1000);
	for (i = 0; i < 20000; i++) {
		pn = a->largest + 1;
		if (rnd() % 3 == 0)
			pn += (u32)(rnd() % (rnd() % 50 ? 100 : 5000));
		nr = 1 + rnd() % 64;
		ce = rnd() % 4 == 0;
		dlcp_recv_mark_run(a, pn, nr, ce, i);
		for (k = 0; k < nr; k++)
			dlcp_recv_mark(b, pn + k, ce, i);
		CHECK(!memcmp(a, b, dlcp_recv_size(0)));
		if (rnd() % 8)
			continue;
		dlcp_recv_ack(a, 0, i, DLCP_ACK_WORDS_MAX, &ack);
		dlcp_recv_ack(b, 0, i, DLCP_ACK_WORDS_MAX, &ack);
	}
	free(a);
	free(b);
}

#define NUMBERS		40000U

/* Take @pn in, in a longer window if it wants one. Return: it was new */
static bool window_take(struct dlcp_recv_window **w, u32 pn, u64 now)
{
	u8 order = dlcp_recv_wants(*w, pn);
	struct dlcp_recv_window *longer;

	if (order != (*w)->order) {
		longer = calloc(1, dlcp_recv_size(order));
		dlcp_recv_move(longer, *w, order);
		free(*w);
		*w = longer;
	}
	if (dlcp_recv_test(*w, pn) <= 0)
		return false;
	dlcp_recv_mark(*w, pn, false, now);
	return true;
}

/* Every number that a frame names was received, of those from @base on */
static void frame_is_true(const struct dlcp_f_ack *f, u32 base,
			  const bool *came, bool *named)
{
	u32 w, bit, i;

	for (w = 0; w < f->nr_words; w++)
		for (bit = 0; bit < 64; bit++) {
			if (!(f->words[w] >> bit & 1))
				continue;
			i = f->largest - 64 * w - bit - base;
			CHECK(i < NUMBERS && came[i]);
			named[i] = true;
		}
}

static void window_acks(struct dlcp_recv_window *w, u32 base, const bool *came,
			bool *named)
{
	u32 at = dlcp_recv_low(w), before = at - 1;
	struct dlcp_f_ack f;

	while (dlcp_recv_ack_late(w, 0, 0, 8, &at, &f)) {
		CHECK(f.nr_words && f.nr_words <= 8 && f.words[0] & 1);
		CHECK(dlcp_pn_before(before, f.largest));
		before = f.largest;
		frame_is_true(&f, base, came, named);
	}
	dlcp_recv_ack(w, 0, 0, DLCP_ACK_WORDS_MAX, &f);
	CHECK(f.largest == w->largest);
	frame_is_true(&f, base, came, named);
}

/* Each number is late by up to @by, or one in @one_in overtakes so many, and one in
 * @of arrives: ACKs name all that came, and nothing else
 */
static void window_order(u32 base, u32 by, u32 one_in, u32 of)
{
	bool *came = calloc(2, NUMBERS), *named = came + NUMBERS;
	struct dlcp_recv_window *w = window_new();
	u32 *when = calloc(NUMBERS, sizeof(*when));
	u32 i, k, now, old = 0;

	for (i = 0; i < NUMBERS; i++)
		when[i] = one_in ? i + (rnd() % one_in ? by : 0) : i + (u32)(rnd() % (by + 1));
	for (now = 0; now < NUMBERS + by; now++) {
		for (k = now < by ? 0 : now - by; k <= now && k < NUMBERS; k++) {
			if (when[k] != now || rnd() % of)
				continue;
			if (!window_take(&w, base + k, now)) {
				old++;
				continue;
			}
			came[k] = true;
			CHECK(!window_take(&w, base + k, now));
		}
		if (now % 16 == 15 && w->any)
			window_acks(w, base, came, named);
	}
	window_acks(w, base, came, named);
	CHECK(!old);
	for (i = 0; i < NUMBERS; i++)
		CHECK((came[i] || of > 1) && named[i] == came[i]);
	CHECK(dlcp_recv_size(w->order) <= 2112);
	free(when);
	free(came);
	free(w);
}

/* However many others a packet overtakes */
static void numbers__late(void)
{
	window_order(0, 0, 0, 1);
	window_order(0, 900, 0, 1);
	window_order((u32)rnd(), 400, 0, 1);
	window_order(0U - 20000, 3000, 0, 1);
	window_order((u32)rnd(), 7000, 0, 1);
	window_order(0, 2400, 500, 1);
	window_order(0U - 9000, 7000, 100, 1);
	window_order(0, 0, 0, 100);
	window_order((u32)rnd(), 100, 0, 30);
	window_order((u32)rnd(), 700, 0, 3);
}

TESTS(T(numbers__runs), T(numbers__late))
