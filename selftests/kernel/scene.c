// SPDX-License-Identifier: GPL-2.0
#include "scene.h"

void scene_begin(struct scene *s)
{
	struct msg m = MSG(.len = 100 * KB, .flags = DLCP_MSG_REPORT);

	s->wire = wire_open(s->h.net[H0], "eth0");
	s->p = pair_hosts(&s->h);
	pass(s->p.a, s->p.b, &m);
	check_counters(s->p.a, s->p.b);
	trace_read(s->wire, &s->t, TRACE_MAX);
	s->before = info_of(s->p.b);
	s->drops = mib_drops(s->h.net[H1]);
}

void open_scene(struct scene *s)
{
	hosts_open(&s->h);
	no_gso(&s->h, H0);
	no_gso(&s->h, H1);
	scene_begin(s);
}

long long new_drops(struct scene *s)
{
	return mib_drops(s->h.net[H1]) - s->drops;
}

int past_set_up(struct scene *s)
{
	int i, nr = 0;

	for (i = 0; i < s->t.nr; i++)
		nr += type_of(&s->t.p[i]) == DATA || type_of(&s->t.p[i]) == CTRL;
	ASSERT_GT(nr, 50);
	return nr;
}

void nothing_changed(struct scene *s)
{
	struct dlcp_info now = info_of(s->p.b);

	EXPECT_EQ(now.state, DLCP_ESTABLISHED);
	EXPECT_EQ(now.rx_msgs, s->before.rx_msgs);
	EXPECT_EQ(now.rx_msgs_done, s->before.rx_msgs_done);
	EXPECT_EQ(now.rx_offered, s->before.rx_offered);
	EXPECT_EQ(now.rx_delivered, s->before.rx_delivered);
	EXPECT_EQ(now.tx_msgs, s->before.tx_msgs);
	EXPECT_EQ(now.mtu, s->before.mtu);
	EXPECT_EQ(poll_for(s->p.b, POLLIN, 0), 0);
	EXPECT_EQ(sock_error(s->p.b), 0);
	ping_pong(&s->p);
}
