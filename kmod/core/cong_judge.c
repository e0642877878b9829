// SPDX-License-Identifier: GPL-2.0
/* The default controller: is loss made by the sender, or by the link? */
#include "cong_dflt.h"

/* Packets that show what share is lost; fewer tell of chance. A suspicion ends
 * in a trial once the window is half of what it was, or after so many rounds.
 * A trial ends with so many packets lost, sent, or so many rounds.
 */
#define TRIAL_SEGS	64
#define TRIAL_ROUNDS	24
#define TRIAL_LOST	8
#define TRIAL_SENT	256

/* Loss was found to be ours, and two packets of a round are no chance */
bool dlcp_dflt_is_policed(const struct dlcp_cong *c, const struct dflt *d,
			  u64 lost)
{
	return d->loss_ok < LOSS_OK && lost > c->mss &&
	       dflt_share(lost, dlcp_dflt_round_bytes(d)) > 2 * d->loss_ok;
}

/* Half of what arrives of a window */
static u64 half_of_arriving(const struct dlcp_cong *c, const struct dflt *d)
{
	return clamp_t(u64, dlcp_dflt_arriving(c, d, d->srtt) / 2, d->win / 4,
		       d->win / 2);
}

/* If a quarter of the loss is left at half the rate, or the packets were too few,
 * it is the link's own. More than LOSS_OK_MAX is not put back: of such a loss,
 * half must be left.
 */
static void judge_end(const struct dlcp_cong *c, struct dflt *d)
{
	bool few = d->trial_sent < TRIAL_SENT / 2 * (u64)c->mss &&
		   d->trial_lost < TRIAL_LOST * (u64)c->mss;
	u32 loss = few ? d->trial_loss :
			 dflt_share(d->trial_lost, d->trial_sent);
	u32 part = d->trial_loss > LOSS_OK_MAX ? 2 : 4;
	bool ours = loss < d->trial_loss / part;

	if (loss > LOSS_OK_MAX)
		d->win = min(d->win, d->trial_win);
	else if (ours)
		d->win = min(d->win, 2 * d->trial_win);
	if (loss <= LOSS_OK_MAX)
		d->loss_ok = clamp_t(u32, loss + loss / 4,
				     ours ? LOSS_OURS : LOSS_OK, LOSS_OK_MAX);
	d->loss = min_t(u16, d->loss, d->loss_ok << LOSS_SHIFT);
	d->step = 0;
	d->trial_win = 0;
	d->judge = 0;
}

static void judge_begin(struct dflt *d, u64 win, u8 judge)
{
	d->trial_win = win;
	d->trial_lost = 0;
	d->trial_sent = 0;
	d->trial_left = TRIAL_ROUNDS;
	d->judge = judge;
}

/* A round with half the rate; two that began before do not count */
static void judge_round(const struct dlcp_cong *c, struct dflt *d, u64 lost)
{
	if (d->judge > 1) {
		d->judge--;
		return;
	}
	d->trial_lost += lost;
	d->trial_sent += dlcp_dflt_round_bytes(d);
	if (!--d->trial_left || d->trial_lost >= TRIAL_LOST * (u64)c->mss ||
	    d->trial_sent >= TRIAL_SENT * (u64)c->mss)
		judge_end(c, d);
}

/*
 * More is lost than is put back, for long, or although the window is half of
 * what it was. Where packets take their own time nothing better can be told;
 * and one of many hides by its window what the others do.
 */
static void judge_suspect(const struct dlcp_cong *c, struct dflt *d,
			  const struct dlcp_rtt *r, u32 loss)
{
	if (dlcp_rtt_noise(r) > r->min / QUIET_DIV ||
	    d->win < MANY_SEGS * (u64)c->mss) {
		d->loss_ok = min_t(u32, loss + loss / 4, LOSS_OK_MAX);
		d->trial_win = 0;
		return;
	}
	d->trial_loss = (u16)loss;
	judge_begin(d, half_of_arriving(c, d), 3);
}

/*
 * Is more lost than is put back? One round says nothing: the way may have been dead
 * for a moment, and half the rate would lose less. So a round after the cut must lose
 * as much, unless slow start ended so (@first), which sends at most twice what arrives;
 * in a rack a trial is over in a few milliseconds.
 */
static void judge_watch(const struct dlcp_cong *c, struct dflt *d,
			const struct dlcp_rtt *r, u64 lost, bool first)
{
	u32 share = dflt_share(lost, dlcp_dflt_round_bytes(d));
	u32 least = max_t(u32, d->loss_ok, LOSS_OK);
	u32 loss;

	if (!d->trial_win) {
		if (d->win < CWND_MIN * (u64)c->mss || share <= least)
			return;
		judge_begin(d, d->win, 0);
		d->once = r->min >= LONG_PATH && (!first || share > ONE / 2);
	}
	d->trial_lost += lost;
	d->trial_sent += dlcp_dflt_round_bytes(d);
	if (d->trial_left)
		d->trial_left--;
	loss = dflt_share(d->trial_lost, d->trial_sent);
	if (loss <= least)
		d->trial_win = 0;
	else if ((d->win <= d->trial_win / 2 || !d->trial_left) &&
		 d->trial_sent >= TRIAL_SEGS * (u64)c->mss &&
		 (!d->once || (share > least && !d->cut)))
		judge_suspect(c, d, r, loss);
}

/*
 * Loss that does not fall with the rate is not made by it. A link that loses by
 * itself takes a share of whatever is sent; a policer or a short queue takes so
 * much and no more. So when more is lost than is put back, for some rounds half
 * of what arrives is sent, and what is lost of that is put back from then on.
 * But one of many, who fill a shallow buffer together, cannot change their loss
 * either: hence not with any queue to be seen at all, nor where the receiver
 * knows of many. Return: whether only half is sent, and loss is no news.
 */
bool dlcp_dflt_judge_loss(const struct dlcp_cong *c, struct dflt *d,
			  const struct dlcp_rtt *r, u64 lost, bool first)
{
	u32 loss = d->loss >> LOSS_SHIFT;

	if (loss < d->loss_ok / 2 && d->loss_ok > LOSS_OK)
		d->loss_ok--;
	else if (d->loss_ok < LOSS_OK && !(d->rounds % OURS_AGES))
		d->loss_ok++;
	if (c->grant || dlcp_dflt_delay(d, r) > r->min / QUIET_DIV) {
		judge_begin(d, 0, 0);
		return false;
	}
	if (d->judge) {
		judge_round(c, d, lost);
		return true;
	}
	judge_watch(c, d, r, lost, first);
	return d->judge;
}
