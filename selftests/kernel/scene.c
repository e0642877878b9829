// SPDX-License-Identifier: GPL-2.0
#include <linux/filter.h>

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

void wire_deaf(int wire)
{
	int size = 0;

	ASSERT_OK(setsockopt(wire, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)));
}

void silence(struct scene *s)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog prog = { ARRAY_SIZE(code), code };

	ASSERT_OK(setsockopt(s->p.a, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			     sizeof(prog)));
	wire_deaf(s->wire);
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

void put(u8 *p, int bytes, u64 val)
{
	while (bytes--) {
		p[bytes] = val;
		val >>= 8;
	}
}

u8 *add(u8 *p, int bytes, u64 val)
{
	put(p, bytes, val);
	return p + bytes;
}

void lie_begin(struct scene *s, struct packet *p, int type)
{
	*p = *trace_find(&s->t, DATA);
	dlcp_of(p)[AT_TYPE] = type;
	dlcp_of(p)[AT_FLAGS] = 0;
	dlcp_of(p)[AT_PATH] = LIAR_PATH;
	p->len = p->dlcp + (type == DATA ? DATA_HDR : 16);
}

void lie_send(struct scene *s, struct packet *p)
{
	packet_fix(p);
	wire_send(s->wire, p);
}

void lie_frame(struct scene *s, int type, const u8 *body, int n, int len)
{
	struct packet p;
	u8 *f;

	lie_begin(s, &p, CTRL);
	f = p.frame + p.len;
	f[0] = type;
	f[1] = 0;
	put(f + 2, 2, len ? len : n + 4);
	memcpy(f + 4, body, n);
	p.len += n + 4;
	lie_send(s, &p);
}

void lie_open(struct scene *s, u32 msg, const struct open *o)
{
	u8 b[44] = { 0 }, *at = b;

	at = add(at, 4, msg);
	at = add(at, 8, 0xbad);
	at = add(at, 8, o->length);
	at = add(at, 4, o->loss);
	at = add(at, 4, 0);
	at = add(at, 4, o->critical);
	at = add(at, 2, o->seg);
	at = add(at, 2, o->elem);
	at = add(at, 1, o->prio);
	add(at, 3, o->wait);
	lie_frame(s, F_OPEN_MSG, b, sizeof(b), 0);
}

void lie_data(struct scene *s, u32 pn, u32 msg, u32 seg, int len)
{
	struct packet p;

	lie_begin(s, &p, DATA);
	put(dlcp_of(&p) + AT_PN, 4, pn);
	put(dlcp_of(&p) + AT_MSG, 4, msg);
	put(dlcp_of(&p) + AT_SEG, 4, seg);
	p.len += len;
	lie_send(s, &p);
}
