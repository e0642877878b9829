/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What C and C++ call of each other. ns-3 cannot read fabric.h, whose kernel
 * macros are C alone.
 *
 * Nodes have the numbers of fab.nodes, hosts first. Times are in nanoseconds,
 * rates in bits per second.
 */
#ifndef _SCALE_NS3_NET_H
#define _SCALE_NS3_NET_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that Ethernet has around a frame and PPP has not: an interframe gap */
#define NET_GAP		36U
#define NET_IP_PPP	22U	/* heads of IP and PPP */

struct net_config {
	uint32_t nodes;
	uint32_t hosts;
	uint32_t wire;		/* of a full packet */
	uint32_t payload;	/* of a segment of TCP */
	uint64_t queue;		/* bytes of a switch's port */
	uint64_t mark;		/* from here on all are marked; 0: none is */
	uint64_t mark_min;	/* from here on some are */
	uint64_t delay;		/* of a link */
	uint64_t min_rto;	/* of TCP */
	uint64_t seed;
};

/* net.cc */
void net_init(const struct net_config *c);
/* The next port of @a, and the next of @b, at the ends of one cable */
void net_cable(uint32_t a, uint64_t rate_a, void *port_a,
	       uint32_t b, uint64_t rate_b, void *port_b);
void net_start(void);
uint64_t net_now(void);
/* Return: what net_cancel() wants; it is gone when fab_fire() is called */
void *net_at(uint64_t time, void *ev);
void net_cancel(void *timer);
/* Run what is before @until */
void net_run(uint64_t until);
/* A packet of @len bytes behind its UDP header, the first @head of them at @data */
void net_send(uint32_t src, uint32_t dst, uint32_t entropy, bool ect,
	      const void *data, uint32_t head, uint32_t len, uint32_t wire,
	      void *owner);
uint64_t net_events(void);

/* tcp.cc; @kind: TypeId of a TcpCongestionOps; @flow: the caller's own */
void net_tcp_init(void);
void *net_tcp_open(uint32_t src, uint32_t dst, const char *kind, void *flow);
void net_tcp_send(void *tcp, uint64_t bytes);

/* fabric.c */
void fab_fire(void *ev);
uint32_t fab_way(uint32_t node, uint32_t dst, uint32_t entropy);
void fab_arrived(uint32_t host, uint32_t src, bool ce, const void *data,
		 uint32_t head, uint32_t len, uint32_t wire);
void fab_left(void *owner, uint32_t wire);
bool fab_loses(void *port);
void fab_dropped(void);
void fab_marked(void);
/* tcp.c */
void fab_tcp_ready(void *flow);
void fab_tcp_got(void *flow, uint64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
