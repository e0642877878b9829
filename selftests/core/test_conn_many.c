// SPDX-License-Identifier: GPL-2.0
/*
 * Thousands of messages at once, of which each packet and each timer may look at a
 * few only; and numbers that wrap. What is counted are steps along lists.
 */
#include "conn_int.h"
#include "test_conn.h"

#define FEW	800
#define MANY	8000

static u32 next_pn;

static void take(struct sim *s, const u8 *pkt, u32 len)
{
	struct dlcp_arrival a = { .now = s->now, .wire = s->now };
	struct dlcp_conn *c = &s->ep[1].c;
	struct dlcp_hdr h;

	SIM_CHECK(s, !dlcp_get_hdr(pkt, len, &h));
	SIM_CHECK(s, dlcp_conn_rx_other(c, &h, pkt, len, &a) == DLCP_OK);
}

/* What it sends gets nowhere */
static void drain(struct sim *s, struct dlcp_conn *c)
{
	struct dlcp_out o;
	u8 buf[2048];

	do {
		dlcp_conn_next(c, &o, buf, sizeof(buf), 44, s->now);
	} while (o.kind != DLCP_OUT_IDLE);
	c->events = 0;
}

/* ep[0] announces messages of @length to ep[1], each with its deadline, if @late */
static struct sim *announced(u32 nr, u64 length, bool late)
{
	struct sim *s = start(1);
	struct dlcp_frame f;
	u8 pkt[2048];
	u32 i, len;

	sim_up(s);
	s->tainted = true;
	next_pn = 1000;
	for (i = 0; i < nr; i++) {
		memset(&f, 0, sizeof(f));
		f.type = DLCP_FT_OPEN;
		f.open.msg = i;
		f.open.open = (struct dlcp_open) {
			.length = length, .seg_size = 60000, .elem_size = 1,
			.key = i, .has_deadline = late,
			.deadline_us = late ? 1000000 + 10 * i : 0,
		};
		len = dlcp_put_ctrl(pkt, s->ep[1].cfg.local_tag, DLCP_F_ELICIT,
				    0, next_pn++);
		len += dlcp_put_frame(pkt + len, sizeof(pkt) - len, &f);
		take(s, pkt, len);
		drain(s, &s->ep[1].c);
	}
	return s;
}

static u64 probe_steps(u32 nr, u64 length)
{
	struct sim *s = announced(nr, length, false);
	u64 steps;
	u8 pkt[64];
	u32 i;

	steps = env_steps;
	for (i = 0; i < 100; i++) {
		take(s, pkt, dlcp_put_ctrl(pkt, s->ep[1].cfg.local_tag,
					   DLCP_F_ELICIT, 0, next_pn++));
		dlcp_conn_rx_starved(&s->ep[1].c);
		drain(s, &s->ep[1].c);
	}
	steps = env_steps - steps;
	sim_free(s);
	return steps;
}

static void many__probes(void)
{
	static const u64 lengths[] = { 100, 1000000, 100000000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		CHECK(probe_steps(MANY, lengths[i]) <=
		      2 * probe_steps(FEW, lengths[i]) + 1000);
}

static u64 deadline_steps(u32 nr)
{
	struct sim *s = announced(nr, 1000000, true);
	struct dlcp_conn *c = &s->ep[1].c;
	u64 steps = env_steps;
	u32 i;

	for (i = 0; i < 100; i++) {
		SIM_CHECK(s, c->rx.deadline > s->now);
		s->now = c->rx.deadline;
		dlcp_conn_timer(c, s->now);
		drain(s, c);
	}
	steps = env_steps - steps;
	sim_free(s);
	return steps;
}

static void many__deadlines(void)
{
	CHECK(deadline_steps(MANY) <= 2 * deadline_steps(FEW) + 1000);
}

/* In whatever order they come, each is met at its time */
static void many__deadlines_in_order(void)
{
	struct sim *s = start(3);
	struct sim_msg *m[200];
	u32 i;

	sim_up(s);
	s->link[0].rate = 1000000;
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		struct sim_attr a = {
			.length = 100000,
			.deadline_us = 50000 + (u32)sim_below(s, 500000),
			.flags = DLCP_MSG_HARD_DEADLINE,
		};

		m[i] = sim_send(&s->ep[0], &a);
	}
	sim_finish(s, 60 * SIM_S);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		SIM_CHECK(s, m[i]->rcvd && m[i]->rcvd_at - m[i]->sent_at <
			  2 * SIM_S);
	SIM_CHECK(s, !s->ep[1].c.rx.deadline);
	end(s);
}

static void send_small(struct sim *s, u32 nr)
{
	struct sim_attr a = { .length = 1000 };
	u32 i;

	for (i = 0; i < nr; i++) {
		while (!dlcp_conn_may_send(&s->ep[0].c))
			SIM_CHECK(s, sim_step(s, s->now + SIM_S));
		sim_send(&s->ep[0], &a);
		if (i % 16 == 15)
			sim_run(s, 100 * SIM_US);
	}
	sim_run(s, 100 * SIM_MS);
}

/* For a message of 40,000 bytes there is none unless it is read */
static void little_room(struct sim *s)
{
	s->ep[1].cfg.rx_space = 64 << 10;
	s->ep[1].cfg.unsolicited = 16 << 10;
	sim_up(s);
}

/* ep[0] has sent @nr messages that nobody reads, and enough others since */
static struct sim *left_behind(u32 nr)
{
	struct sim_attr a = { .length = 40000, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	u32 i;

	little_room(s);
	for (i = 0; i < nr; i++)
		sim_send(&s->ep[0], &a);
	send_small(s, DLCP_MSG_WINDOW + 500);
	SIM_CHECK(s, s->ep[0].c.tx.nr_old == nr);
	SIM_CHECK(s, s->ep[1].c.rx.nr_old == nr);
	return s;
}

/* The simulator itself walks along the messages that are open: only the engine's
 * part of a message counts
 */
static u64 left_steps(u32 nr)
{
	struct sim *s = left_behind(nr);
	struct dlcp_conn *c = &s->ep[0].c;
	u64 steps = env_steps;
	struct dlcp_hdr h = { .type = DLCP_PT_DATA };
	struct dlcp_arrival a = { .now = s->now, .wire = s->now };
	struct dlcp_data d = { .pn = 10000000, .len = 1000 };
	struct dlcp_rxmsg *m;
	u32 i;
	void *kept;

	s->tainted = true;
	for (i = 0; i < 100; i++) {
		/* an old one, and none, at the receiver */
		d.pn++;
		d.msg = nr - 1;
		dlcp_conn_rx_data(&s->ep[1].c, &h, &d, &a, &m, &kept);
		d.pn++;
		d.msg = nr + 10;
		dlcp_conn_rx_data(&s->ep[1].c, &h, &d, &a, &m, &kept);
		dlcp_conn_may_send(c);
	}
	steps = env_steps - steps;
	sim_free(s);
	return steps;
}

static void many__left_behind(void)
{
	CHECK(left_steps(500) <= 2 * left_steps(50) + 2000);
}

/* Of those that wait for credit, each is announced once and not looked at again */
static u64 waiting_steps(u32 nr)
{
	struct sim_attr a = { .length = 40000, .read = SIM_READ_NEVER };
	struct sim *s = start(1);
	u64 steps;
	u32 i;

	little_room(s);
	for (i = 0; i < nr; i++)
		sim_send(&s->ep[0], &a);
	sim_run(s, SIM_S);
	steps = env_steps;
	for (i = 0; i < 100; i++) {
		s->now += SIM_MS;
		drain(s, &s->ep[0].c);
	}
	steps = env_steps - steps;
	sim_free(s);
	return steps;
}

static void many__wait_for_credit(void)
{
	CHECK(waiting_steps(2000) <= 2 * waiting_steps(200) + 2000);
}

/* ep[0] has @nr messages for which there is no allowance, @prio the last; none moves */
static struct sim *out_of_allowance(u32 nr, u8 prio)
{
	struct sim_attr a = { .length = 4000, .prio = 3 };
	struct dlcp_conn *c;
	struct sim *s;
	u32 i;

	s = start(1);
	s->ep[1].cfg.unsolicited = 16 << 10;
	sim_up(s);
	c = &s->ep[0].c;
	c->cong.cwnd = 10000000;
	c->pace.rate = 0;
	s->tainted = true;
	for (i = 0; i < nr; i++) {
		if (i + 1 == nr)
			a.prio = prio;
		sim_send(&s->ep[0], &a);
	}
	drain(s, c);
	SIM_CHECK(s, !c->sched.nr_ready && c->sched.unsolicited_sent == 16000);
	return s;
}

/* Room for @nr more messages of 4000 bytes. Return: the first that is sent */
static u64 allow(struct sim *s, u32 nr)
{
	struct dlcp_conn *c = &s->ep[0].c;
	struct dlcp_out o;
	u8 buf[2048];
	u64 id;

	dlcp_conn_set_limits(c, 0, c->sched.unsolicited_max + nr * 4000);
	do {
		dlcp_conn_next(c, &o, buf, sizeof(buf), 44, s->now);
	} while (o.kind == DLCP_OUT_CTRL);
	SIM_CHECK(s, o.kind == DLCP_OUT_DATA);
	id = o.m->id;
	drain(s, c);
	return id;
}

/* Of those that wait for the allowance no more are looked at than it does for */
static u64 allowance_steps(u32 nr)
{
	struct sim *s = out_of_allowance(nr, 3);
	u64 steps = env_steps;
	u32 i;

	for (i = 0; i < 100; i++)
		SIM_CHECK(s, allow(s, 1) == 4 + i);
	steps = env_steps - steps;
	sim_free(s);
	return steps;
}

static void many__wait_for_the_allowance(void)
{
	CHECK(allowance_steps(2000) <= 2 * allowance_steps(200) + 2000);
}

/* An urgent one goes first, and of every 16 one that has waited longest */
static void many__order_of_the_allowance(void)
{
	struct sim *s = out_of_allowance(100, 0);
	struct sim_attr a = { .length = 4000 };
	u32 late = 0;
	u32 i;

	SIM_CHECK(s, allow(s, 1) == 99);
	for (i = 0; i < 64; i++) {
		sim_send(&s->ep[0], &a);
		sim_send(&s->ep[0], &a);
		late += allow(s, 1) < 99;
	}
	SIM_CHECK(s, late == 4);
	sim_free(s);
	/* Short ones pass those that are longer */
	s = out_of_allowance(20, 3);
	a.length = 400;
	a.prio = 3;
	sim_send(&s->ep[0], &a);
	SIM_CHECK(s, allow(s, 1) == 20);
	sim_free(s);
}

/* What one message leaves is for another */
static void many__what_is_left_of_the_allowance(void)
{
	struct sim *s = out_of_allowance(10, 3);
	struct dlcp_conn *c = &s->ep[0].c;
	struct sim_attr a = { .length = 3000, .prio = 4 };
	struct sim_msg *small;

	small = sim_send(&s->ep[0], &a);
	drain(s, c);
	/* It was for message 4, and a more urgent one comes before that began */
	dlcp_conn_set_limits(c, 0, c->sched.unsolicited_max + 5000);
	a.length = 1500;
	a.prio = 0;
	sim_send(&s->ep[0], &a);
	drain(s, c);
	SIM_CHECK(s, small->tx.sent_bytes == 3000);
	sim_free(s);
}

/* @k messages came and went meanwhile; a multiple of the window */
static void jump(struct sim *s, u64 k)
{
	struct dlcp_conn *t = &s->ep[0].c, *r = &s->ep[1].c;

	t->tx.low_id += k;
	t->tx.next_id += k;
	t->tx.max_id += k;
	r->rx.low_id += k;
	r->rx.end_id += k;
	r->credit.max_id_advertised += k;
	r->rx.complete += k;
	s->ep[0].id_base += k;
}

/* What was left behind is found, however many others there were since */
static void wrap__left_behind(void)
{
	static const u64 far[] = {
		1ULL << 30, (1ULL << 31) - DLCP_MSG_WINDOW, 1ULL << 31,
		3ULL << 30, (1ULL << 32) - 4 * DLCP_MSG_WINDOW,
	};
	struct sim *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		s = left_behind(2);
		jump(s, far[i]);
		send_small(s, 100);
		sim_read(&s->ep[1], s->ep[0].msgs[1], SIM_READ_NOW);
		sim_read(&s->ep[1], s->ep[0].msgs[0], SIM_READ_NOW);
		sim_finish(s, 10 * SIM_S);
		SIM_CHECK(s, !s->ep[0].c.tx.nr_old && !s->ep[1].c.rx.nr_old);
		end(s);
	}
}

/* Before another could have the same number, those to come wait for it */
static void wrap__too_far(void)
{
	struct sim_attr a = { .length = 1000 };
	struct sim *s = left_behind(1);
	struct dlcp_conn *c = &s->ep[0].c;
	u32 i;

	jump(s, (1ULL << 32) - 4 * DLCP_MSG_WINDOW);
	for (i = 0; i < 4 * DLCP_MSG_WINDOW; i++) {
		if (i % 16 == 15)
			sim_run(s, 100 * SIM_US);
		if (!dlcp_conn_may_send(c))
			sim_run(s, 100 * SIM_MS);
		if (!dlcp_conn_may_send(c))
			break;
		sim_send(&s->ep[0], &a);
	}
	SIM_CHECK(s, c->tx.next_id == (1ULL << 32) - 2 * DLCP_MSG_WINDOW);
	sim_read(&s->ep[1], s->ep[0].msgs[0], SIM_READ_NOW);
	sim_finish(s, 10 * SIM_S);
	send_small(s, DLCP_MSG_WINDOW);
	sim_finish(s, 10 * SIM_S);
	end(s);
}

/* ep[0] has sent @k packets of control since, which were acknowledged; a multiple of
 * the receiver's window
 */
static void jump_packets(struct sim *s, u32 k)
{
	struct dlcp_recv_window *w = s->ep[1].c.recv0;
	struct dlcp_path *p = s->ep[0].c.paths;
	u32 i;

	SIM_CHECK(s, p->sent.first == p->sent.head);
	p->sent.head += k;
	p->sent.tail = p->sent.head;
	p->sent.first = p->sent.head;
	p->largest_acked = p->sent.head - 1;
	p->round.end += k;
	w->largest += k;
	w->from += k;
	for (i = 0; i < DLCP_RECV_BACK; i++)
		w->low[i] += k;
}

/* The last data, loss and late packet were that long ago: nothing is lost for that, and
 * what is late, or lost, is learned from as ever
 */
static void wrap__long_ago(void)
{
	static const u32 far[] = {
		1U << 30, (1U << 31) - (1U << 20), 1U << 31, 3U << 30,
		U32_MAX - (1U << 20) + 1,
	};
	struct sim_attr a = { .length = 1000000 };
	struct dlcp_path *p;
	struct sim *s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		s = start(i + 1);
		sim_up(s);
		p = s->ep[0].c.paths;
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		sim_run(s, SIM_MS);
		p->slack_pn = p->sent.head;
		p->slack_pn_valid = 1;
		p->keep_pn = p->sent.head;
		jump_packets(s, far[i]);
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_LOST]);
		s->link[0].reorder = 100000;
		s->link[0].reorder_delay = SIM_MS;
		sim_send(&s->ep[0], &a);
		sim_finish(s, SIM_S);
		SIM_CHECK(s, s->ep[0].c.cnt[DLCP_CNT_SPURIOUS] && p->slack);
		s->link[0].reorder = 0;
		lossy(s, 20000);
		p->slack = DLCP_SLACK_MAX;
		p->slack_keep = DLCP_SLACK_KEEP;
		while (s->ep[0].nr_msgs < 40) {
			sim_send(&s->ep[0], &a);
			sim_finish(s, SIM_S);
		}
		SIM_CHECK(s, p->slack < DLCP_SLACK_MAX);
		end(s);
	}
}

/* Numbers of messages and of packets wrap while data is lost both ways */
static void wrap__numbers(void)
{
	static const u64 at[] = { 1ULL << 31, 1ULL << 32, 3ULL << 31, 1ULL << 33 };
	struct sim_attr a = { .length = 30000, .ppm = 10000 };
	struct dlcp_path *p;
	struct sim *s;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		s = start(i + 1);
		s->ep[0].cfg.nr_paths = (u8)(1 + i);
		sim_up(s);
		jump(s, at[i] - 64);
		for (k = 0; k <= i; k++) {
			p = &s->ep[0].c.paths[k];
			p->sent.head = (u32)at[i] - 200;
			p->sent.tail = p->sent.head;
			p->sent.first = p->sent.head;
			p->round.end = p->sent.head;
		}
		lossy(s, 20000);
		for (k = 0; k < 200; k++) {
			sim_send(&s->ep[0], &a);
			if (k % 8 == 7)
				sim_run(s, 200 * SIM_US);
		}
		sim_finish(s, 10 * SIM_S);
		SIM_CHECK(s, !s->ep[0].c.cnt[DLCP_CNT_PROBES] ||
			  s->ep[0].c.cnt[DLCP_CNT_PROBES] < 200);
		end(s);
	}
}

TESTS(T(many__probes), T(many__deadlines), T(many__deadlines_in_order),
      T(many__left_behind), T(many__wait_for_credit),
      T(many__wait_for_the_allowance), T(many__order_of_the_allowance),
      T(many__what_is_left_of_the_allowance), T(wrap__left_behind),
      T(wrap__too_far), T(wrap__long_ago), T(wrap__numbers))
