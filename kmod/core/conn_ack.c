// SPDX-License-Identifier: GPL-2.0
/* Acknowledgements: what of it arrived, when, and what that tells of the path. */
#include "conn_int.h"

static void conn_ctrl_acked(struct dlcp_conn *c, struct dlcp_path *p,
			    const struct dlcp_sent *e, u64 now)
{
	struct dlcp_txmsg *m;

	/* It was asked by two ways. Of several answers the oldest is looked at last */
	if (e->pos & DLCP_SW_PING && !p->bad &&
	    p->pto_count >= DLCP_PATH_BAD_PTOS)
		dlcp_path_set_home(p, e->pos & DLCP_SW_HOME);
	if (e->pos & DLCP_SW_OPEN) {
		m = dlcp_conn_tx_find(c, e->msg);
		if (m)
			m->open_acked = 1;
		dlcp_conn_taken(c, NULL);
	}
	if (e->pos & DLCP_SW_SENT) {
		m = dlcp_conn_tx_find(c, e->msg);
		if (m)
			m->sent_frame = DLCP_FRAME_SENT_KNOWN;
	}
	if (e->pos & DLCP_SW_DONE_ACK)
		dlcp_conn_tx_tombstone(c, e->msg, true);
	if (e->pos & DLCP_SW_CLOSE) {
		c->fin_acked = 1;
		dlcp_conn_check_flushed(c);
	}
	if (e->pos & (DLCP_SW_DONE_ACK | DLCP_SW_CLOSE))
		dlcp_conn_check_close(c, now);
}

/* Once for all segments of a message that an ACK names, not for each */
static void conn_acked_check(struct dlcp_conn *c, struct conn_sample *cs)
{
	if (cs->m)
		dlcp_conn_tx_check(c, cs->m, cs->s.now);
	cs->m = NULL;
}

/* The message that @e is of; NULL: it is over */
static struct dlcp_txmsg *conn_acked_msg(struct dlcp_conn *c,
					 const struct dlcp_sent *e,
					 struct conn_sample *cs)
{
	if (!cs->m || (u32)cs->m->id != e->msg) {
		conn_acked_check(c, cs);
		cs->m = dlcp_conn_tx_find(c, e->msg);
	}
	return cs->m;
}

static void conn_data_acked(struct dlcp_conn *c, const struct dlcp_sent *e,
			    struct conn_sample *cs)
{
	struct dlcp_txmsg *m = conn_acked_msg(c, e, cs);
	u32 released;

	cs->acked_data++;
	dlcp_conn_taken(c, m);
	if (!m)
		return;
	released = dlcp_txmsg_released(m);
	if (e->kind != DLCP_SENT_LOST_DATA)
		conn_landed(m, e);
	/* A segment is taken only of a message that is open */
	m->open_acked = 1;
	if (dlcp_conn_cut_acked(c, m, e))
		c->cnt[DLCP_CNT_TX_DELIVERED] += dlcp_txmsg_acked(m, e->pos);
	dlcp_conn_tx_released(c, m, released);
}

static void conn_spurious(struct dlcp_conn *c, struct dlcp_path *p, u32 pn)
{
	u32 by = p->largest_acked - pn + 1;

	c->cnt[DLCP_CNT_SPURIOUS]++;
	p->slack_keep = DLCP_SLACK_KEEP;
	if ((s32)by > 0)
		p->reorder = clamp_t(u32, by, p->reorder, DLCP_REORDER_MAX);
	/* One step for each round in which it happens (RFC 8985, 6.2) */
	if (p->slack < DLCP_SLACK_MAX &&
	    (!p->slack_pn_valid ||
	     !dlcp_sent_before(&p->sent, pn, p->slack_pn))) {
		p->slack++;
		p->slack_pn = p->sent.head;
		p->slack_pn_valid = 1;
	}
}

/* Packet @pn and perhaps some before it were acknowledged */
static void conn_acked_newest(struct dlcp_path *p, const struct dlcp_sent *e,
			      u32 pn, struct conn_sample *cs)
{
	if (!p->any_acked || dlcp_pn_before(p->largest_acked, pn)) {
		p->largest_acked = pn;
		p->any_acked = 1;
	}
	if (e->with_data &&
	    (!p->any_data || dlcp_sent_before(&p->sent, p->largest_data, pn))) {
		p->largest_data = pn;
		p->any_data = 1;
	}
	if (!cs->path || e->time >= cs->newest) {
		cs->path = p;
		cs->newest = e->time;
		cs->s.sent_then = e->time;
		cs->s.delivered_then = e->delivered;
		cs->s.app_limited = e->app_limited;
	}
}

/* How many of the @most packets up to @pn carry segments of one message in a row,
 * each sent once? *@bytes: of these packets
 */
static u32 conn_run_len(const struct dlcp_path *p, const struct dlcp_sent *e,
			u32 pn, u32 most, u64 *bytes)
{
	const struct dlcp_sent_ring *r = &p->sent;
	u32 msg = e->msg, pos = e->pos, n;
	const struct dlcp_sent *f;
	u32 mask = r->size - 1;
	u8 kind = e->kind;
	u64 sum = 0;

	most = min(most, pn - r->tail + 1);
	for (n = 0; n < most; n++, pos--) {
		f = &r->ring[(pn - n) & mask];
		if (f->msg != msg || f->pos != pos || f->kind != kind ||
		    f->again | f->units)
			break;
		sum += f->bytes;
	}
	*bytes = sum;
	return n;
}

/* conn_acked() of so many. Return: false: they want a look at each */
static bool conn_acked_run(struct dlcp_conn *c, struct dlcp_path *p,
			   struct dlcp_sent *e, u32 pn, u32 n, u64 bytes,
			   struct conn_sample *cs)
{
	struct dlcp_txmsg *m = conn_acked_msg(c, e, cs);
	u32 released, len;

	if (!m || c->mtu.cap || c->mtu.rounds || m->cuts.rb_node)
		return false;
	released = dlcp_txmsg_released(m);
	len = dlcp_txmsg_acked_run(m, e->pos - (n - 1), n);
	if (!len)
		return false;
	conn_acked_newest(p, e, pn, cs);
	dlcp_sent_landed(&p->sent, pn, n);
	c->delivered += bytes;
	c->inflight -= bytes;
	p->inflight -= bytes;
	p->data_out -= n;
	cs->s.acked += bytes;
	cs->s.acked_packets += n;
	cs->acked_data += n;
	dlcp_path_record_acked(p, n);
	dlcp_conn_taken(c, m);
	m->inflight_segs -= n;
	m->open_acked = 1;
	c->cnt[DLCP_CNT_TX_DELIVERED] += len;
	dlcp_conn_tx_released(c, m, released);
	return true;
}

static void conn_acked(struct dlcp_conn *c, struct dlcp_path *p,
		       struct dlcp_sent *e, u32 pn, struct conn_sample *cs)
{
	conn_acked_newest(p, e, pn, cs);
	c->delivered += e->bytes;
	cs->s.acked += e->bytes;
	cs->s.acked_packets++;
	dlcp_path_record(p, false);
	dlcp_conn_pmtu_acked(c, e);
	if (e->kind == DLCP_SENT_LOST_DATA) {
		cs->s.spurious += e->bytes;
		conn_spurious(c, p, pn);
	} else {
		conn_unsent(c, p, e);
	}
	if (e->kind == DLCP_SENT_CTRL)
		conn_ctrl_acked(c, p, e, cs->s.now);
	else
		conn_data_acked(c, e, cs);
	e->kind = DLCP_SENT_FREE;
}

/* The queue the newest sample of @p tells of, ns */
static u64 conn_path_queue(const struct dlcp_path *p)
{
	return p->net.latest - min(p->net.latest, p->net.min);
}

/*
 * With several paths the controller shall see a queue where there is no way
 * around it: the least queue of the paths that carry their full share, on top
 * of the shortest path. That some have more is for the spreading policy; and
 * one that is held back for its losses has no queue, whatever the others have.
 * Only what they told within a round trip counts: a small window uses few of
 * them, and what the others told long ago would hold it down for as long. If
 * there was none of them, @newest, just heard of, is all that is known.
 */
static u64 conn_net_rtt(const struct dlcp_conn *c,
			const struct dlcp_path *newest, bool full)
{
	u64 recent = max(c->net.srtt, newest->net.latest);
	const struct dlcp_path *p;
	u64 queue = U64_MAX;
	u64 base = U64_MAX;

	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++) {
		if (!p->net.min || !dlcp_path_works(p) || p->net.full < full)
			continue;
		base = min(base, p->net.min);
		if (p->weight >= DLCP_WEIGHT_ONE * 7 / 8 &&
		    newest->net_time - p->net_time <= recent)
			queue = min(queue, conn_path_queue(p));
	}
	if (base == U64_MAX)
		return 0;
	return base + (queue != U64_MAX ? queue : conn_path_queue(newest));
}

/* Once there are full packets, the least time is theirs: at 100 Mbit/s they take
 * longer than small ones cross the network, and that is no queue
 */
static void conn_path_rtt(struct dlcp_conn *c, struct dlcp_path *p, u64 net,
			  u64 back, struct conn_sample *cs)
{
	bool full;

	if (c->cfg.nr_paths == 1)
		return;
	full = c->net.full || p->net.full;
	if (!p->round.net || net < p->round.net)
		p->round.net = net;
	p->net_time = cs->s.now;
	net = conn_net_rtt(c, p, full);
	if (!net)
		return;
	cs->s.rtt = net;
	if (full)
		dlcp_rtt_sample(&c->net, net, back, cs->s.now);
	else
		dlcp_rtt_sample_small(&c->net, net, back, cs->s.now);
}

/*
 * A packet and its ACK take two times (as in Swift, SIGCOMM 2020):
 * - between the hosts, up to now: what a timer has to expect. Only the delay
 *   of ACKs that is meant is taken off, for the timers add it themselves;
 * - in the network, from wire to wire: without the time the ACK waited in
 *   this host, and without all the time the peer's host had the packet. Busy
 *   hosts, whose packets wait for a processor, must not pass for a queue. Nor
 *   must the queue its ACK stood in: whoever slows down for that leaves its own
 *   link to nobody.
 * A delay longer than the round trip itself is nonsense, and tells nothing of
 * the network.
 *
 * @e is the newest packet that the ACK is the first to name, number @pn: a late
 * one is acknowledged at once. Had only those a sample that overtook all before
 * them, then where each packet takes its own time a mean would be one of the
 * quickest, and the others would be taken for lost.
 *
 * Where packets overtake each other all the time an ACK names a few at once:
 * then the last of them, @late, tells the timers, too, but not the controller,
 * to whom one quick and one slow in turn would be more jitter than there is.
 */
static void conn_ack_rtt(struct dlcp_conn *c, struct dlcp_path *p,
			 const struct dlcp_f_ack *a, const struct dlcp_sent *e,
			 u32 pn, bool late, struct conn_sample *cs)
{
	u64 net = cs->wire > e->time ? cs->wire - e->time : 0;
	bool small = e->bytes < c->cong.mss / 2;
	u64 delay = (u64)a->delay_us * 1000;
	u64 rtt = cs->s.now - e->time;
	u64 back;

	if (p->former == DLCP_FORMER_PAIR && dlcp_pn_before(pn, p->repath_pn))
		return;
	/* One of the ends stood still meanwhile */
	if (e->time < c->alive.woke || delay > CONN_BACKOFF_MAX)
		return;
	net -= min(net, delay);
	if (net)
		rtt = max(net, rtt - min(delay, conn_ack_delay(c, &p->rtt)));
	dlcp_rtt_sample(&p->rtt, rtt, 0, cs->s.now);
	if (!net || late)
		return;
	rtt = net;
	net = dlcp_owd_rtt(&p->owd, p->net.min, rtt, e->time, a->time_us);
	back = rtt - net;
	if (small && !dlcp_rtt_sample_small(&p->net, net, back, cs->s.now))
		return;
	if (!small)
		dlcp_rtt_sample(&p->net, net, back, cs->s.now);
	cs->s.rtt = net;
	conn_path_rtt(c, p, net, back, cs);
}

/* @acked: data packets that the same ACK is the first to name: that control is taken says
 * nothing of memory for data
 */
static void conn_ack_ce(struct dlcp_conn *c, struct dlcp_path *p, u32 ce,
			u32 acked, struct conn_sample *cs)
{
	s32 more = (s32)(ce - p->peer_ce);

	/* An ACK overtaken by a later one tells less than we know */
	if (more <= 0)
		return;
	p->peer_ce = ce;
	p->ce_seen += (u32)more;
	p->round.ce += (u32)more;
	c->cnt[DLCP_CNT_CE] += (u32)more;
	cs->s.ce_packets += (u32)more;
	/* What is refused for want of memory is told so: like a closed window of
	 * TCP that is waited for as long as the peer lives. The network marks
	 * what arrives, and seldom all of it.
	 */
	c->alive.stall_since = dlcp_conn_awake(c, cs->s.now);
	if ((u32)more >= acked)
		dlcp_conn_pmtu_refused(c, cs->s.now);
}

/* Nobody answered, and @p does now. How often the others timed out meanwhile tells of the
 * network and not of their ways: each waits as after one timeout, from now on
 * (RFC 9002, 6.2.1: an answer ends the backoff). One whose way is dead is then left,
 * as others work. Not from when it was asked: what stands in a queue would be sent
 * again all at once.
 */
static void conn_answers_again(struct dlcp_conn *c, const struct dlcp_path *p,
			       u64 now)
{
	struct dlcp_path *q;

	for (q = c->paths; q < c->paths + c->cfg.nr_paths; q++) {
		if (q == p || q->pto_shift < 2)
			continue;
		q->pto_shift = 1;
		q->last_elicit = now;
	}
}

/* After an ACK that told something new of @p, and with @data of what waits with
 * data. That control arrives says nothing of data that is out: its next timeout is
 * twice as long still.
 */
static void conn_path_news(struct dlcp_conn *c, struct dlcp_path *p, bool data,
			   u64 now)
{
	const struct dlcp_pathsched_ops *pathsched = c->cfg.pathsched;
	u32 nr = c->cfg.nr_paths;

	p->alive = 1;
	if (data || !p->data_out) {
		if (!dlcp_path_works(p))
			dlcp_path_revive(c->paths, nr, p);
		if (c->alive.pto_nth > 1)
			conn_answers_again(c, p, now);
		c->alive.pto_nth = 0;
	}
	if (nr == 1 || !dlcp_path_round_over(p))
		return;
	if (pathsched->round && pathsched->round(c->paths, nr, p, now))
		conn_repath(c, p, now);
	dlcp_path_round_next(p);
}

/* Packet @pn was acknowledged; @bits: so were these, the lowest is it and others are
 * of packets before. Return: how many were dealt with
 */
static u32 conn_acked_some(struct dlcp_conn *c, struct dlcp_path *p,
			   struct dlcp_sent *e, u32 pn, u64 bits,
			   struct conn_sample *cs)
{
	u64 bytes = 0;
	u32 n = 0;

	if (e->kind == DLCP_SENT_DATA || e->kind == DLCP_SENT_DATA_OPEN)
		n = conn_run_len(p, e, pn, ~bits ? __ffs64(~bits) : 64, &bytes);
	if (n > 1 && conn_acked_run(c, p, e, pn, n, bytes, cs))
		return n;
	conn_acked(c, p, e, pn, cs);
	return 1;
}

static bool conn_data_out(const struct dlcp_conn *c)
{
	const struct dlcp_path *p;

	for (p = c->paths; p < c->paths + c->cfg.nr_paths; p++)
		if (p->data_out)
			return true;
	return false;
}

/* Return: false if the ACK is of packets never sent */
bool dlcp_conn_on_ack(struct dlcp_conn *c, const struct dlcp_f_ack *a,
		      struct conn_sample *cs)
{
	u32 data_before = cs->acked_data;
	u32 before = cs->s.acked_packets;
	struct dlcp_sent *e, *last = NULL;
	struct dlcp_path *p;
	u32 known, late = 0;
	bool data = false;
	u32 pn, bit, n;
	u64 word;
	u32 w;

	if (a->path >= c->cfg.nr_paths)
		return false;
	p = &c->paths[a->path];
	if (!dlcp_pn_before(a->largest, p->sent.head))
		return false;
	c->cnt[DLCP_CNT_ACKS_RCVD]++;
	known = p->largest_acked;
	for (w = 0; w < a->nr_words; w++) {
		pn = a->largest - 64 * w;
		if (dlcp_pn_before(pn, p->sent.tail))
			break;
		for (word = a->words[w]; word; word &= word - 1) {
			bit = __ffs64(word);
			pn = a->largest - 64 * w - bit;
			e = dlcp_sent_get(&p->sent, pn);
			if (!e)
				break;
			if (e->kind == DLCP_SENT_FREE)
				continue;
			if (cs->s.acked_packets == before)
				conn_ack_rtt(c, p, a, e, pn, false, cs);
			data |= e->with_data;
			n = conn_acked_some(c, p, e, pn, word >> bit, cs);
			/* They are the lowest bits that are left */
			word &= ~0ULL << (bit + n - 1);
			late = pn - (n - 1);
			/* It may be forgotten, but is still there */
			last = &p->sent.ring[late & (p->sent.size - 1)];
		}
	}
	if (last && dlcp_pn_before(late, known) && dlcp_rtt_jitter(&p->net) &&
	    cs->s.acked_packets > before + 1)
		conn_ack_rtt(c, p, a, last, late, true, cs);
	conn_acked_check(c, cs);
	if (cs->s.acked_packets == before)
		return true;
	/* Without the peer's limits nothing can be sent: those are waited for. So is
	 * data: a network may let through nothing but control.
	 */
	if (c->setup.acked && (data || !conn_data_out(c)))
		dlcp_conn_received(c, cs->s.now);
	conn_ack_ce(c, p, a->ce, cs->acked_data - data_before, cs);
	cs->news |= BIT(a->path);
	cs->data_news |= data ? BIT(a->path) : 0;
	return true;
}

void dlcp_conn_acks_end(struct dlcp_conn *c, struct conn_sample *cs)
{
	struct dlcp_path *p;
	u32 i;

	for (; cs->news; cs->news &= cs->news - 1) {
		i = __ffs64(cs->news);
		p = &c->paths[i];
		dlcp_conn_detect(c, p, cs);
		conn_path_news(c, p, cs->data_news & BIT(i), cs->s.now);
	}
	cs->data_news = 0;
}
