/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: perf list 'dlcp:*'.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM dlcp

#if !defined(_DLCP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DLCP_TRACE_H

#include <linux/skbuff.h>
#include <linux/tracepoint.h>

#include "dlcp.h"

#ifndef _DLCP_TRACE_PEER
#define _DLCP_TRACE_PEER

/* The peer's address, that of IPv4 as ::ffff:a.b.c.d */
static inline void dlcp_trace_peer(u8 *to, const struct sock *sk)
{
	struct in6_addr addr;

	ipv6_addr_set_v4mapped(sk->sk_daddr, &addr);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		addr = sk->sk_v6_daddr;
#endif
	memcpy(to, &addr, sizeof(addr));
}

#endif

/* A packet was dropped; why: name of the counter that counted it */
TRACE_EVENT(dlcp_drop,
	TP_PROTO(const struct sk_buff *skb, int mib),
	TP_ARGS(skb, mib),
	TP_STRUCT__entry(
		__field(const void *, skb)
		__field(unsigned int, len)
		__array(char, why, 24)
	),
	TP_fast_assign(
		__entry->skb = skb;
		__entry->len = skb->len;
		strscpy(__entry->why, dlcp_mib_names[mib], 24);
	),
	TP_printk("skb=%p len=%u why=%s", __entry->skb, __entry->len,
		  __entry->why)
);

/* A message begins at this end: it has a number, or was announced */
TRACE_EVENT(dlcp_open,
	TP_PROTO(const struct sock *sk, bool sender, u64 msg,
		 const struct dlcp_open *o),
	TP_ARGS(sk, sender, msg, o),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, msg)
		__field(u64, key)
		__field(u64, length)
		__array(u8, peer, 16)
		__field(u16, port)
		__field(u8, prio)
		__field(bool, sender)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->msg = msg;
		__entry->key = o->key;
		__entry->length = o->length;
		__entry->port = be16_to_cpu(sk->sk_dport);
		__entry->prio = o->prio;
		__entry->sender = sender;
		dlcp_trace_peer(__entry->peer, sk);
	),
	TP_printk("sk=%p sender=%d msg=%llu key=%llu length=%llu prio=%u peer=[%pI6c]:%u",
		  __entry->sk, __entry->sender, __entry->msg, __entry->key,
		  __entry->length, __entry->prio, __entry->peer, __entry->port)
);

/* A packet was built, of @nr segments or of control frames, and charged to its
 * socket; cls 0xff: control
 */
TRACE_EVENT(dlcp_send,
	TP_PROTO(const struct sock *sk, const struct dlcp_out *out, u32 i,
		 u32 nr, const struct sk_buff *skb),
	TP_ARGS(sk, out, i, nr, skb),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, msg)
		__field(u32, pos)
		__field(u32, count)
		__field(u32, pn)
		__field(u32, charged)
		__field(u8, path)
		__field(u8, cls)
		__field(u8, first)
	),
	TP_fast_assign(
		bool data = out->kind == DLCP_OUT_DATA;

		__entry->sk = sk;
		__entry->msg = data ? out->m->id : 0;
		__entry->pos = data ? out->pos + i : 0;
		__entry->count = nr;
		__entry->pn = out->pn + i;
		__entry->charged = skb->truesize;
		__entry->path = out->path;
		__entry->cls = out->cls;
		__entry->first = data && out->first;
	),
	TP_printk("sk=%p path=%u cls=%#x msg=%llu pos=%u count=%u pn=%u first=%u charged=%u",
		  __entry->sk, __entry->path, __entry->cls, __entry->msg,
		  __entry->pos, __entry->count, __entry->pn, __entry->first,
		  __entry->charged)
);

/* A packet left this host: what is still charged to its socket */
TRACE_EVENT(dlcp_left,
	TP_PROTO(const struct sock *sk),
	TP_ARGS(sk),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u32, queued)
	),
	TP_fast_assign(
		/* One byte of this packet is given back later, and one is the
		 * socket's own
		 */
		int queued = refcount_read(&sk->sk_wmem_alloc) - 2;

		__entry->sk = sk;
		__entry->queued = max(queued, 0);
	),
	TP_printk("sk=%p queued=%u", __entry->sk, __entry->queued)
);

/* What the engine has to tell: DLCP_EV_*, state and losses so far */
TRACE_EVENT(dlcp_events,
	TP_PROTO(const struct sock *sk, const struct dlcp_conn *c),
	TP_ARGS(sk, c),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, lost)
		__field(u64, forgiven)
		__field(u32, events)
		__field(int, error)
		__field(u8, state)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->lost = c->cnt[DLCP_CNT_LOST];
		__entry->forgiven = c->cnt[DLCP_CNT_TX_FORGIVEN];
		__entry->events = c->events;
		__entry->error = c->error;
		__entry->state = c->state;
	),
	TP_printk("sk=%p events=%#x state=%u error=%d lost=%llu forgiven=%llu",
		  __entry->sk, __entry->events, __entry->state, __entry->error,
		  __entry->lost, __entry->forgiven)
);

/* A segment arrived, at @off of the skb; verdict: 0 taken, 1 a piece taken, 2 known already,
 * else dropped: enum dlcp_verdict
 */
TRACE_EVENT(dlcp_receive,
	TP_PROTO(const struct sock *sk, const struct sk_buff *skb, u32 off,
		 const struct dlcp_rxmsg *m, int verdict),
	TP_ARGS(sk, skb, off, m, verdict),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(const void *, skb)
		__field(u64, msg)
		__field(u64, received)
		__field(u32, off)
		__field(int, verdict)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->skb = skb;
		__entry->msg = m ? m->id : 0;
		__entry->received = m ? m->received : 0;
		__entry->off = off;
		__entry->verdict = verdict;
	),
	TP_printk("sk=%p skb=%p off=%u verdict=%d msg=%llu received=%llu",
		  __entry->sk, __entry->skb, __entry->off, __entry->verdict,
		  __entry->msg, __entry->received)
);

/* Acknowledgments came: what they tell of round trips, in ns, and what the
 * congestion controller makes of them, in bytes and bytes per second
 */
TRACE_EVENT(dlcp_ack,
	TP_PROTO(const struct sock *sk, const struct dlcp_conn *c, u64 frames),
	TP_ARGS(sk, c, frames),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, frames)
		__field(u64, delivered)
		__field(u64, inflight)
		__field(u64, cwnd)
		__field(u64, rate)
		__field(u64, srtt)
		__field(u64, min_rtt)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->frames = frames;
		__entry->delivered = c->delivered;
		__entry->inflight = c->inflight;
		__entry->cwnd = c->cong.cwnd;
		__entry->rate = c->cong.rate;
		__entry->srtt = c->paths ? c->paths[0].rtt.srtt : 0;
		__entry->min_rtt = c->paths ? c->paths[0].rtt.min : 0;
	),
	TP_printk("sk=%p frames=%llu delivered=%llu inflight=%llu cwnd=%llu rate=%llu srtt=%llu min_rtt=%llu",
		  __entry->sk, __entry->frames, __entry->delivered,
		  __entry->inflight, __entry->cwnd, __entry->rate,
		  __entry->srtt, __entry->min_rtt)
);

/* Packets were declared lost; in all: of them found to have arrived, and bytes
 * sent again
 */
TRACE_EVENT(dlcp_loss,
	TP_PROTO(const struct sock *sk, const struct dlcp_conn *c, u64 packets),
	TP_ARGS(sk, c, packets),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, packets)
		__field(u64, spurious)
		__field(u64, resent)
		__field(u64, inflight)
		__field(u64, cwnd)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->packets = packets;
		__entry->spurious = c->cnt[DLCP_CNT_SPURIOUS];
		__entry->resent = c->cnt[DLCP_CNT_TX_RESENT];
		__entry->inflight = c->inflight;
		__entry->cwnd = c->cong.cwnd;
	),
	TP_printk("sk=%p packets=%llu spurious=%llu resent=%llu inflight=%llu cwnd=%llu",
		  __entry->sk, __entry->packets, __entry->spurious,
		  __entry->resent, __entry->inflight, __entry->cwnd)
);

/* Bytes were given up for good, as sender or as receiver */
TRACE_EVENT(dlcp_forgive,
	TP_PROTO(const struct sock *sk, bool sender, u64 bytes),
	TP_ARGS(sk, sender, bytes),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, bytes)
		__field(bool, sender)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->bytes = bytes;
		__entry->sender = sender;
	),
	TP_printk("sk=%p sender=%d bytes=%llu", __entry->sk, __entry->sender,
		  __entry->bytes)
);

/* What this end grants its peer, or the peer granted it, in bytes per second; 0: any */
TRACE_EVENT(dlcp_rate,
	TP_PROTO(const struct sock *sk, bool own, u64 rate),
	TP_ARGS(sk, own, rate),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, rate)
		__field(bool, own)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->rate = rate;
		__entry->own = own;
	),
	TP_printk("sk=%p own=%d rate=%llu", __entry->sk, __entry->own,
		  __entry->rate)
);

/* Paths were given up for others; in all, of this connection */
TRACE_EVENT(dlcp_repath,
	TP_PROTO(const struct sock *sk, u64 paths, u64 all),
	TP_ARGS(sk, paths, all),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, paths)
		__field(u64, all)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->paths = paths;
		__entry->all = all;
	),
	TP_printk("sk=%p paths=%llu all=%llu", __entry->sk, __entry->paths,
		  __entry->all)
);

/* A message is over at this end; why: enum dlcp_why; error: of the connection */
TRACE_EVENT(dlcp_complete,
	TP_PROTO(const struct sock *sk, bool sender, u64 msg,
		 const struct dlcp_open *o, u64 missing, int why, int error),
	TP_ARGS(sk, sender, msg, o, missing, why, error),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, msg)
		__field(u64, key)
		__field(u64, length)
		__field(u64, missing)
		__field(int, why)
		__field(int, error)
		__field(bool, sender)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->msg = msg;
		__entry->key = o->key;
		__entry->length = o->length;
		__entry->missing = missing;
		__entry->why = why;
		__entry->error = error;
		__entry->sender = sender;
	),
	TP_printk("sk=%p sender=%d msg=%llu key=%llu length=%llu missing=%llu why=%d error=%d",
		  __entry->sk, __entry->sender, __entry->msg, __entry->key,
		  __entry->length, __entry->missing, __entry->why,
		  __entry->error)
);

/* Its reader has all of a message; or, not @taken, its connection is over before */
TRACE_EVENT(dlcp_read,
	TP_PROTO(const struct sock *sk, u64 msg, bool taken),
	TP_ARGS(sk, msg, taken),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, msg)
		__field(bool, taken)
	),
	TP_fast_assign(
		__entry->sk = sk;
		__entry->msg = msg;
		__entry->taken = taken;
	),
	TP_printk("sk=%p msg=%llu taken=%d", __entry->sk, __entry->msg,
		  __entry->taken)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
