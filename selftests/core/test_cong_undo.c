// SPDX-License-Identifier: GPL-2.0
/* The default controller: cuts that prove wrong, and hosts that do not answer */
#include "test.h"
#include "cong.h"

#define MS	1000000ULL
#define MSS	1500
#define RTT	(40 * MS)

struct sender {
	struct dlcp_cong c;
	struct dlcp_rtt r;
	struct dlcp_cong_sample s;
};

static void sender_init(struct sender *a, u64 grant)
{
	memset(a, 0, sizeof(*a));
	dlcp_rtt_init(&a->r);
	dlcp_cong_init(&a->c, dlcp_cong_find("dlcp"), MSS, 0, 0);
	a->c.grant = grant;
}

/* One ACK: of @acked bytes, of which @late were lost before, while @lost are now. A round
 * ends with it if @over.
 */
static void one_ack(struct sender *a, u64 acked, u64 lost, u64 late, bool over)
{
	struct dlcp_cong_sample *s = &a->s;

	if (over) {
		s->sent_then = s->now;
		s->delivered_then = s->delivered;
		s->now += RTT;
	}
	s->rtt = RTT;
	s->acked_packets = 8;
	s->inflight = a->c.cwnd;
	s->acked = acked;
	s->lost = lost;
	s->spurious = late;
	s->delivered += acked;
	dlcp_rtt_sample(&a->r, RTT, 0, s->now);
	a->c.ops->ack(&a->c, &a->r, s);
}

static void rounds(struct sender *a, int n)
{
	while (n--)
		one_ack(a, a->c.cwnd, 0, 0, true);
}

/* Marks end slow start */
static void settle(struct sender *a)
{
	rounds(a, 6);
	a->s.ce_packets = a->c.cwnd / MSS;
	rounds(a, 1);
	a->s.ce_packets = 0;
	rounds(a, 1);
}

/* What was lost, and came late after all, was no congestion */
static void undo__late_is_not_lost(void)
{
	struct sender a;
	u64 w;

	sender_init(&a, 0);
	rounds(&a, 5);
	w = a.c.cwnd;
	one_ack(&a, w / 2, w / 2, 0, true);
	CHECK(a.c.cwnd < w);
	/* All but two packets, and then these */
	one_ack(&a, w / 2 - 2 * MSS, 0, w / 2 - 2 * MSS, false);
	CHECK(a.c.cwnd < w);
	one_ack(&a, 2 * MSS, 0, 2 * MSS, false);
	CHECK(a.c.cwnd >= w);
}

/* The same within one round: the window is not even cut */
static void undo__late_within_the_round(void)
{
	struct sender a;
	u64 w;

	sender_init(&a, 0);
	settle(&a);
	w = a.c.cwnd;
	one_ack(&a, 0, w / 2, 0, false);
	one_ack(&a, w, 0, w / 2, true);
	CHECK(a.c.cwnd >= w);
}

/* Under a grant losses are smoothed: a round without any cuts the window, too, and
 * nothing can come late that would undo it
 */
static void undo__not_for_earlier_losses(void)
{
	struct sender a;
	u64 w;
	int i;

	sender_init(&a, 1000 * 1000 * 1000 / 8);
	rounds(&a, 10);
	for (i = 0; i < 6; i++)
		one_ack(&a, a.c.cwnd / 2, a.c.cwnd / 2, 0, true);
	/* The round after a cut is not answered */
	rounds(&a, 1);
	w = a.c.cwnd;
	rounds(&a, 1);
	CHECK(a.c.cwnd < w);
	w = a.c.cwnd;
	one_ack(&a, MSS, 0, 0, false);
	CHECK_EQ(a.c.cwnd, w);
}

/* An ACK that waited for a second, at a host: what two round trips and a tenth of that
 * bring may be under way
 */
static void hosts__hold_up_little(void)
{
	struct sender a;
	u64 w;

	sender_init(&a, 0);
	settle(&a);
	a.r.back = 1000 * MS;
	w = a.c.cwnd;
	rounds(&a, 1);
	FIGURE("under way: what arrives in %.0f ms", 40.0 * a.c.cwnd / w);
	CHECK(a.c.cwnd >= 2 * w);
	CHECK(a.c.cwnd <= 10 * w);
}

TESTS(T(undo__late_is_not_lost), T(undo__late_within_the_round),
      T(undo__not_for_earlier_losses), T(hosts__hold_up_little))
