// SPDX-License-Identifier: GPL-2.0
/*
 * "loss": NewReno (RFC 6582) by bytes (RFC 3465), for networks without ECN
 * whose queues are deep or whose delay says nothing.
 *
 * The window doubles per round until the first congestion, then grows by one
 * segment per round and is halved once per round in which a loss was not
 * forgiven, or more than 1 % of the bytes were lost: up to that share the
 * bound may pay for what the link loses by itself.
 */
#include "cong.h"

#define LOSS_INIT	10		/* segments: RFC 6928 */
#define LOSS_MIN	2
#define LOSS_MAX	BIT_ULL(34)
#define LOSS_SHARE	100		/* 1 / share that may be forgiven */
#define LOSS_FIRST_TIME	(100 * NSEC_PER_USEC)	/* see cong_default.c */

struct loss {
	struct dlcp_cong_round round;
	u64	ssthresh;
	u64	recover;	/* delivered_then that ends a reduction */
	u64	srtt;
	bool	recovering;
};

static struct loss *loss_priv(struct dlcp_cong *c)
{
	BUILD_BUG_ON(sizeof(struct loss) > sizeof(c->priv));
	return (struct loss *)c->priv;
}

static void loss_set(struct dlcp_cong *c, u64 cwnd)
{
	struct loss *l = loss_priv(c);
	bool start;

	c->cwnd = clamp_t(u64, cwnd, (u64)LOSS_MIN * c->mss, LOSS_MAX);
	/* As Linux paces TCP: room to grow, and for late acknowledgements */
	start = c->cwnd < l->ssthresh;
	c->rate = dlcp_cong_rate(c, c->cwnd,
				 l->srtt ? l->srtt : LOSS_FIRST_TIME,
				 start ? 200 : 120);
}

static void loss_init(struct dlcp_cong *c, u64 now)
{
	loss_priv(c)->ssthresh = LOSS_MAX;
	loss_set(c, (u64)LOSS_INIT * c->mss);
}

static bool loss_is_congestion(const struct dlcp_cong_round *r,
			       const struct dlcp_cong_sample *s)
{
	if (!s->lost)
		return false;
	return s->lost > s->forgiven ||
	       r->lost > div_u64(r->lost + r->acked, LOSS_SHARE);
}

static void loss_grow(struct dlcp_cong *c, const struct dlcp_cong_sample *s)
{
	u64 more = div64_u64(min(s->acked, c->cwnd) * c->mss, c->cwnd);
	const struct loss *l = loss_priv(c);

	/* An unused window says nothing of what the network would bear */
	if (s->app_limited || s->inflight < c->cwnd / 2)
		return;
	if (c->cwnd < l->ssthresh)
		loss_set(c, c->cwnd + s->acked);
	else
		loss_set(c, c->cwnd + max_t(u64, more, 1));
}

static void loss_ack(struct dlcp_cong *c, const struct dlcp_rtt *r,
		     const struct dlcp_cong_sample *s)
{
	struct loss *l = loss_priv(c);
	bool over = dlcp_cong_round_add(c, &l->round, s);

	l->srtt = r->srtt;
	if (l->recovering && s->acked && s->delivered_then >= l->recover)
		l->recovering = false;

	if (!l->recovering && loss_is_congestion(&l->round, s)) {
		l->recovering = true;
		/* Without news what is on its way still bears this number */
		l->recover = s->delivered + !s->acked;
		l->ssthresh = max_t(u64, c->cwnd / 2, (u64)LOSS_MIN * c->mss);
		loss_set(c, l->ssthresh);
	} else if (s->acked && !l->recovering) {
		loss_grow(c, s);
	} else {
		loss_set(c, c->cwnd);
	}
	if (over)
		dlcp_cong_round_next(&l->round, s);
}

/* The first probe asks only; from the second on nothing comes back. Before there
 * is a sample the path is longer than was thought (RFC 9002, 7.6.1).
 */
static void loss_timeout(struct dlcp_cong *c, u64 now, u32 nth)
{
	struct loss *l = loss_priv(c);

	if (nth < 2 || !l->srtt)
		return;
	if (nth == 2)
		l->ssthresh = max_t(u64, c->cwnd / 2, (u64)LOSS_MIN * c->mss);
	loss_set(c, (u64)LOSS_MIN * c->mss);
}

/* RFC 2861: half of it for each idle round trip, here of at least 10 ms */
static void loss_restart(struct dlcp_cong *c, u64 now, u64 idle)
{
	struct loss *l = loss_priv(c);
	u64 step = max_t(u64, 4 * l->srtt, 10 * NSEC_PER_MSEC);
	u64 floor = min_t(u64, (u64)LOSS_INIT * c->mss, c->cwnd);
	u64 n = min_t(u64, div64_u64(idle, step), 63);

	if (!n)
		return;
	l->ssthresh = max(l->ssthresh, c->cwnd / 4 * 3);
	loss_set(c, max(c->cwnd >> n, floor));
}

const struct dlcp_cong_ops dlcp_cong_loss = {
	.name		= "loss",
	.init		= loss_init,
	.ack		= loss_ack,
	.timeout	= loss_timeout,
	.restart	= loss_restart,
};
