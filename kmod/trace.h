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

/* Segments or a control packet built; cls 0xff: control */
TRACE_EVENT(dlcp_send,
	TP_PROTO(const struct sock *sk, const struct dlcp_out *out),
	TP_ARGS(sk, out),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u64, msg)
		__field(u32, pos)
		__field(u32, count)
		__field(u32, pn)
		__field(u8, path)
		__field(u8, cls)
		__field(u8, first)
	),
	TP_fast_assign(
		bool data = out->kind == DLCP_OUT_DATA;

		__entry->sk = sk;
		__entry->msg = data ? out->m->id : 0;
		__entry->pos = data ? out->pos : 0;
		__entry->count = data ? out->count : 1;
		__entry->pn = data ? out->pn : 0;
		__entry->path = out->path;
		__entry->cls = out->cls;
		__entry->first = data && out->first;
	),
	TP_printk("sk=%p path=%u cls=%#x msg=%llu pos=%u count=%u pn=%u first=%u",
		  __entry->sk, __entry->path, __entry->cls, __entry->msg,
		  __entry->pos, __entry->count, __entry->pn, __entry->first)
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

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
