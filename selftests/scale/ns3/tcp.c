// SPDX-License-Identifier: GPL-2.0
/* Messages over streams of ns-3's TCP, one behind the other. */
#include "map.h"
#include "net.h"
#include "proto.h"

struct flow {
	void	*tcp;
	const char *kind;
	struct xfer *head;	/* of those that come */
	struct xfer **tail;
	u64	got;		/* bytes, of the first of them */
	bool	ready;
};

static struct map flows;
static u32 waiting;

static struct flow *flow_of(u32 src, u32 dst, const char *kind)
{
	struct flow *f = map_get(&flows, map_pair(src, dst));

	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	f->kind = kind;
	f->tail = &f->head;
	map_put(&flows, map_pair(src, dst), f);
	waiting++;
	f->tcp = net_tcp_open(src, dst, kind, f);
	return f;
}

void fab_tcp_ready(void *flow)
{
	struct flow *f = flow;

	f->ready = true;
	waiting--;
}

void fab_tcp_got(void *flow, uint64_t bytes)
{
	struct flow *f = flow;
	struct xfer *x;

	fab.wheel.now = net_now();
	f->got += bytes;
	while ((x = f->head) && f->got >= x->bytes) {
		f->got -= x->bytes;
		f->head = x->next;
		if (!f->head)
			f->tail = &f->head;
		xfer_done(x);
	}
}

static void send_over(struct xfer *x, const char *kind)
{
	struct flow *f = flow_of(x->src, x->dst, kind);

	x->next = NULL;
	*f->tail = x;
	f->tail = &x->next;
	net_tcp_send(f->tcp, x->bytes);
}

static void tcp_setup(u8 nr)
{
}

static bool tcp_ready(void)
{
	return !waiting;
}

static void tcp_stats(struct proto_stats *s)
{
}

#define NS3_TCP(_name, _kind) \
static void _name##_connect(u32 a, u32 b) { flow_of(a, b, _kind); } \
static void _name##_send(struct xfer *x) { send_over(x, _kind); } \
struct proto proto_ns3_##_name = { \
	.name = #_name, .disc = &port_drop_tail, .bands = 1, \
	.setup = tcp_setup, .connect = _name##_connect, .ready = tcp_ready, \
	.send = _name##_send, .stats = tcp_stats, \
}

NS3_TCP(dctcp, "ns3::TcpDctcp");
NS3_TCP(cubic, "ns3::TcpCubic");
NS3_TCP(bbr, "ns3::TcpBbr");
