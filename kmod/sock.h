/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a socket, a message, a packet and a network namespace have. The engine's
 * part of a connection is struct dlcp_conn (core/conn.h).
 */
#ifndef _DLCP_SOCK_H
#define _DLCP_SOCK_H

#include "compat/compat.h"

#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/llist.h>
#include <linux/rhashtable.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/xarray.h>
#include <net/inet_sock.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/sock.h>

#include <linux/dlcp.h>

#include "core/conn_msg.h"
#include "core/ingress.h"
#include "core/egress.h"
#include "core/wakeup.h"
#include "core/txlimit.h"
#include "mib.h"

/* Longest message, MiB: just below where the kernel cuts a call, so that what was
 * cut is refused
 */
#define DLCP_MAX_MSG_MB	((u32)(MAX_RW_COUNT >> 20))

/* For how long a peer may be silent: of settings and of options */
#define DLCP_SILENCE_MIN_MS	100
#define DLCP_SILENCE_MAX_MS	(3600 * 1000)

/* Largest number of segments in one skb, sent or received: one mask word */
#define DLCP_SKB_SEGS	64
/* A slot of the largest segment must fit into a chunk */
#define DLCP_MTU_MAX	16384
/* Offset of the type in a DLCP header; the tag is in front of it */
#define DLCP_HDR_TYPE	8
/* dlcp_sock.deferred: work left for release_cb while a user owns the lock */
enum {
	DLCP_DEFER_TIMER,	/* the timer fired */
	DLCP_DEFER_MTU,		/* dlcp_sync_mtu() */
	DLCP_DEFER_ERROR,	/* dlcp_sock.soft_error */
	DLCP_DEFER_PUSH,	/* packets of the backlog were processed */
};

/**
 * struct dlcp_egress_flow - a connection's packets on their way to one device
 * @dev: the device; NULL: none was sent yet. Changed only while none is on its
 *	way
 * @entry: the connection's place among those of @dev; its lock
 * @sk: the connection's socket
 * @charged: of a rail: bytes of sk_wmem_alloc that belong to it
 * @out: what @dev knows of
 */
struct dlcp_egress_flow {
	struct dlcp_egress_dev	*dev;
	struct dlcp_egress_entry entry;
	struct sock		*sk;
	atomic_t		charged;
	int			out;
};

/**
 * struct dlcp_rail_way - the way to the peer's address on a rail
 * @egress: packets on it
 * @dst: the route; NULL: not looked up yet, or there is none
 * @cookie: for dst_check() of it
 * @ifindex: the device that has our address; 0: we have none
 */
struct dlcp_rail_way {
	struct dlcp_egress_flow	egress;
	struct dst_entry	*dst;
	u32			cookie;
	int			ifindex;
};

/* Counters of the engine that count bytes: those sent, and all */
#define DLCP_CNT_TX_BYTES	(DLCP_CNT_TX_RESENT - DLCP_CNT_TX_OFFERED + 1)
#define DLCP_CNT_BYTES		(DLCP_CNT_TX_BYTES + DLCP_CNT_RX_DUP -	\
				 DLCP_CNT_RX_OFFERED + 1)

/**
 * struct dlcp_sock - a socket: a listener or one connection
 * @inet: must be first
 * @conn: the engine; state CLOSED in a listener. Socket lock.
 * @node: in the connection table, by (net, conn.cfg.local_tag)
 * @peer_node: in the second table, by (net, conn.peer_tag): for ICMP and RESET
 * @port_node: among the sockets bound to its port; lock of dlcp_net.ports
 * @accept_node: of a child, which is never bound: on the parent's
 *	@accept_queue
 * @listen_node: among those that listen at its port; lock of dlcp_net.ports
 * @accept_queue: listener: children set up and not yet accepted, by
 *	accept_node. Listener's socket lock.
 * @timer: the one timer: pacing and all of core's; armed to
 *	dlcp_conn_next_timer()
 * @timer_lock: guards @timer_ref, see timer.c; nothing but the timer's own
 *	locks is taken inside
 * @timer_ref: a reference is held for the next firing of @timer
 * @wakeup: when it is to fire
 * @deferred: DLCP_DEFER_*
 * @later: on a processor's list of dlcp_push_later(), with a reference
 * @rx_ready: complete messages for recvmsg(), struct dlcp_rx.ready, sorted
 *	by priority class and number
 * @rx_new: messages announced and not looked at since, struct dlcp_rx.ready
 * @readers: recvmsg() calls that wait, struct dlcp_reader.node
 * @engine_mem: bytes of dlcp_mem_alloc()
 * @mem_wanted: bytes that a sender was refused and is to be told of; 0: none
 * @rx_attn: messages that need a reader before they can complete, and have
 *	something for one
 * @rx_partial: number of messages with struct dlcp_rx.partial
 * @wmem_filling: part of sk_wmem_queued that belongs to messages with a
 *	sendmsg() at work
 * @orphan_mark: bytes delivered when the orphan was last looked at, low 32 bits
 * @orphan_looks: looks in a row at which nothing had moved
 * @tx_large: struct dlcp_tx.large: messages of more than one chunk, of which some
 *	may be freed
 * @reports: struct dlcp_tx whose report waits on the error queue
 * @attr: defaults of messages to send (DLCP_ATTR)
 * @dst_cookie: for dst_check() of sk->sk_dst_cache
 * @mtu: what the engine was told of the route
 * @last_priority: skb->priority of the last packet built
 * @soft_error: what DLCP_DEFER_ERROR is about: positive errno
 * @tune_time: ns: when SO_RCVBUF is looked at again
 * @tune_bytes: bytes received when it was last
 * @dead_ms: DLCP_DEAD_MS; 0: net.dlcp.dead_ms
 * @keepalive_ms: DLCP_KEEPALIVE_MS; 0: net.dlcp.keepalive_ms
 * @cong: DLCP_CONGESTION
 * @port: DLCP port bound, host order
 * @list_id: index in dlcp_net.socks
 * @scope_dev: the link-local peer's device, which connect() bound the socket to
 * @dev_before: what the socket was bound to before
 * @peer_port: UDP port packets to the peer go to, host order; 0: net.dlcp.udp_port
 * @ip_ident: of the next IPv4 packet; any number will do
 * @tried: where connect() went: the socket forgets it when that fails
 * @tried_ipv4: and whether it was IPv4
 * @tried_err: errno of a connect() that the peer said nothing to; 0: there is none
 * @tried_text: what DLCP_LAST_ERROR says of it else, a constant string
 * @nr_paths: DLCP_PATHS; 0: net.dlcp.nr_paths
 * @encap: enum dlcp_encap
 * @fill: enum dlcp_fill
 * @recvwant: DLCP_RECVWANT
 * @hashed: in the connection table
 * @peer_hashed: in the second table
 * @port_bound: in the port table
 * @port_auto: ... at a port that connect() chose; its lock
 * @port_peer: ... and no other socket may have the same peer; its lock
 * @listed: in dlcp_net.socks, as @list_id
 * @timer_ready: dlcp_timer_init() was called
 * @conn_ready: the engine may be called
 * @destroyed: dlcp_destroy() was called
 * @was_open: was ESTABLISHED once
 * @autobound: connect() chose the port, not bind()
 * @auto_addr: the route, or a listener's packet, chose inet_saddr, not bind()
 * @later_queued: @later is on such a list; socket lock
 * @later_due: and the engine was not asked since; socket lock
 * @txq: built packets on their way to IP; filled under the socket lock,
 *	emptied without it by who owns @tx_busy, so that they keep their order
 * @tx_busy: bit 0: someone empties @txq
 * @egress: packets sent from the address of the set-up
 * @rails: those of the others, DLCP_RAILS_MAX; NULL: it has none. Freed with
 *	the socket
 * @hostq: what its own host refused; NULL: nothing was. Freed with the socket
 * @destruct: the family's sk_destruct
 * @link: where data comes from; NULL: none does, or it comes over several
 * @ingress: the connection's part in it, by ifindex; lock of @link
 * @cnt_lags: the MIB lacks what the engine counted when nobody traced; written
 *	under the socket lock
 * @cnt_seen: part of conn.cnt that is already in the MIB, low 32 bits. Lock of
 *	dlcp_net.socks, while @listed
 * @cnt_high: the high ones of those that count bytes; likewise
 */
struct dlcp_sock {
	struct inet_sock	inet;
	struct dlcp_conn	conn;
	struct rhash_head	node;
	struct rhash_head	peer_node;
	union {
		struct hlist_node	port_node;
		struct list_head	accept_node;
	};
	struct hlist_node	listen_node;
	struct list_head	accept_queue;
	struct hrtimer		timer;
	spinlock_t		timer_lock;	/* timer, timer_ref */
	u8			timer_ref;
	struct dlcp_wakeup	wakeup;
	unsigned long		deferred;
	struct llist_node	later;
	struct list_head	rx_ready;
	struct list_head	rx_new;
	struct list_head	readers;
	struct list_head	tx_large;
	int			wmem_filling;
	u32			engine_mem;
	u32			mem_wanted;
	u32			rx_attn;
	u32			rx_partial;
	u32			orphan_mark;
	struct list_head	reports;
	struct dlcp_attr	attr;
	u32			dst_cookie;
	u32			mtu;
	u32			last_priority;
	int			soft_error;
	u64			tune_time;
	u64			tune_bytes;
	u32			dead_ms;
	u32			keepalive_ms;
	const struct dlcp_cong_ops *cong;
	u32			list_id;
	u16			port;
	u16			peer_port;
	u16			ip_ident;
	struct dlcp_place	tried;
	u8			tried_ipv4;
	u8			tried_err;
	u8			orphan_looks;
	u8			cnt_lags;
	const char		*tried_text;
	int			scope_dev;
	int			dev_before;
	u8			nr_paths;
	u8			encap;
	u8			fill;
	u8			recvwant;
	u8			hashed:1,
				peer_hashed:1,
				port_bound:1,
				port_auto:1,
				port_peer:1,
				listed:1,
				timer_ready:1,
				conn_ready:1,
				destroyed:1,
				was_open:1,
				autobound:1,
				auto_addr:1;
	u8			later_queued;
	u8			later_due;
	struct sk_buff_head	txq;
	unsigned long		tx_busy;
	struct dlcp_egress_flow	egress;
	struct dlcp_rail_way	*rails;
	struct dlcp_hostq	*hostq;
	void			(*destruct)(struct sock *sk);
	struct dlcp_link	*link;
	struct dlcp_ingress	ingress;
	u32			cnt_seen[DLCP_CNT_MAX];
	u32			cnt_high[DLCP_CNT_BYTES];
};

struct dlcp6_sock {
	struct dlcp_sock	dlcp;
	struct ipv6_pinfo	inet6;		/* must be last */
};

/* Whoever calls has the socket's lock: its owner, or softirq with the spinlock */
static inline void dlcp_assert_locked(const struct sock *sk)
{
#ifdef CONFIG_LOCKDEP
	WARN_ON_ONCE(debug_locks && !lockdep_sock_is_held(sk));
#endif
}

static inline struct dlcp_sock *dlcp_sk(const struct sock *sk)
{
	return (struct dlcp_sock *)sk;
}

static inline struct sock *dlcp_conn_sk(const struct dlcp_conn *c)
{
	return (struct sock *)container_of(c, struct dlcp_sock, conn);
}

/* IPv4 on the wire: an AF_INET socket, or an AF_INET6 one whose peer is a
 * mapped address.
 */
static inline bool dlcp_is_ipv4(const struct sock *sk)
{
#if IS_ENABLED(CONFIG_IPV6)
	return sk->sk_family == AF_INET ||
	       ipv6_addr_v4mapped(&sk->sk_v6_daddr);
#else
	return true;
#endif
}

/* SO_MAX_PACING_RATE, bytes per second; 0: none */
static inline u64 dlcp_max_rate(const struct sock *sk)
{
	unsigned long rate = READ_ONCE(sk->sk_max_pacing_rate);

	return rate == ~0UL ? 0 : rate;
}

static inline u8 dlcp_ip_proto(u8 encap)
{
	return encap == DLCP_ENCAP_RAW ? IPPROTO_DLCP : IPPROTO_UDP;
}

static inline u64 dlcp_now(void)
{
	return ktime_get_ns();
}

/* Chunks of so many bytes, or fewer, share pages: a segment of jumbo frames fits */
#define DLCP_SHARE_MAX	9216U

/*
 * Outgoing payload. A message's bytes lie in chunks, in order of positions;
 * a chunk is a run of slots, each the room of a packet's headers followed by one
 * segment, so that many slots go into one GSO skb as one fragment. Of a
 * message that is not copied (zerocopy.c) the chunk has just the headers.
 * They are written when a position is first sent, and never after: what is sent
 * again gets a header of its own.
 */
struct dlcp_chunk {
	struct page	*page;		/* NULL: freed, or not yet filled */
	u32		offset;
	u32		size;		/* bytes charged */
	struct dlcp_pins *pins;		/* dlcp_tx.pinned: the payload */
};

/**
 * struct dlcp_tx - an outgoing message
 * @core: what the engine knows of it; must be first
 * @chunks: @nr_chunks of them; position p lies in chunk p / @slots
 * @nr_chunks: number of chunks
 * @head: room for headers in front of a segment, bytes; they end where it begins
 * @slot_size: @head + segment size
 * @stride: bytes from one header to the next in a chunk
 * @slots: slots per chunk
 * @copied: chunks below are filled
 * @freed: chunks below are freed
 * @spare: from here up to @freed, chunks keep their pages for those to be
 *	copied: without, the kernel would zero every page of a message first
 * @in_mem: bytes charged for chunks that are not freed
 * @charged: bytes charged to sk_wmem_queued for this struct and what follows
 *	it: the bitmaps of @core and @chunks
 * @extra: bytes charged to the protocol only: more than a share of SO_SNDBUF
 * @flags: DLCP_MSG_* of the sender
 * @error: errno of the report
 * @cookie: the user's
 * @uarg: MSG_ZEROCOPY: to be told when it is over
 * @report: on dlcp_sock.reports
 * @large: on dlcp_sock.tx_large
 * @filling: sendmsg() works on it and will free or report it
 * @over: the engine is done with it
 * @zerocopy: MSG_ZEROCOPY was given
 * @pinned: and the payload is the user's pages
 */
struct dlcp_tx {
	struct dlcp_txmsg	core;
	struct dlcp_chunk	*chunks;
	u32			nr_chunks;
	u32			head;
	u32			slot_size;
	u32			stride;
	u32			slots;
	u32			copied;
	u32			freed;
	u32			spare;
	u32			in_mem;
	u32			charged;
	u32			extra;
	u32			flags;
	u32			error;
	u64			cookie;
	struct ubuf_info	*uarg;
	struct list_head	report;
	struct list_head	large;
	bool			filling;
	bool			over;
	bool			zerocopy;
	bool			pinned;
};

#define DLCP_BUF_PIECE	1

/**
 * struct dlcp_buf - a buffer of recvmsg(), to know it again
 * @id: hash of its parts in their order: of their addresses, or, where the kernel was
 *	given pages (io_uring's registered buffers, which have them as long as they
 *	are registered), of these. DLCP_BUF_PIECE: it is one part, @low to @high.
 *	0: it cannot be known again
 * @low: its parts lie from here
 * @high: to here; both 0: they have no addresses
 * @mm: whose it is; only compared, and with @process only: that of another one, later,
 *	may lie at the same place
 * @process: see dlcp_process_id()
 */
struct dlcp_buf {
	u64		id;
	unsigned long	low;
	unsigned long	high;
	const void	*mm;
	u64		process;
};

/**
 * struct dlcp_rx - an incoming message
 * @core: what the engine knows of it; must be first
 * @queue: skbs whose segments are not copied out yet; struct dlcp_skb_cb
 * @ready: on dlcp_sock.rx_new, then on dlcp_sock.rx_ready when complete
 * @reader: the call that waits for it, or NULL
 * @buf: where it was partly copied to
 * @queued: bytes of the skbs on @queue, with headers
 * @done: RX_DONE was seen: it is on, or was taken off, dlcp_sock.rx_ready
 * @attn: counted in dlcp_sock.rx_attn
 * @seen: a reader left it because there was nothing
 * @stuck: memory is short: it needs a reader though it is not large
 * @partial: a part was copied out to @buf
 */
struct dlcp_rx {
	struct dlcp_rxmsg	core;
	struct sk_buff_head	queue;
	struct list_head	ready;
	struct dlcp_reader	*reader;
	struct dlcp_buf		buf;
	u32			queued;
	bool			done;
	bool			attn;
	bool			seen;
	bool			stuck;
	bool			partial;
};

/**
 * struct dlcp_skb_cb - skb->cb of a received packet, from the encap on
 * @header: IP's
 * @held: of data before its OPEN
 * @mask: on dlcp_rx.queue: bit i: the i-th DLCP packet in the skb holds a
 *	segment of this message to be copied out
 * @wire: ns, dlcp_now(): when it reached this host
 * @seg: on dlcp_rx.queue, if @run: the i-th packet holds segment @seg + i, in which
 *	DLCP_SEG_OPEN is counted
 * @segs: on dlcp_rx.queue, else: that of each packet; dlcp_rx_skb_free()
 * @step: bytes from one DLCP packet to the next in the skb (the gso_size);
 *	0 or more than skb->len: just one
 * @run: so many of them, from the first on, are each the one that follows
 *	(dlcp_data_follows()); 0: not known. On dlcp_rx.queue: see @seg
 * @rport: UDP source port of the sender, host order
 * @ce: congestion experienced
 * @here: it says DLCP_F_HERE: its sender receives at @rport
 * @elsewhere: and that is not where the peer is
 * @echo: an ECHO whose cookie was found good
 * @encap: enum dlcp_encap
 *
 * skb->data points at the first DLCP packet.
 */
struct dlcp_skb_cb {
	union {
		union {
			struct inet_skb_parm	h4;
			struct inet6_skb_parm	h6;
		} header;
		struct dlcp_unopened	held;
	};
	u64	mask;
	union {
		u64	wire;
		u32	seg;
		u32	*segs;
	};
	u16	step;
	u16	rport;
	u8	ce:1,
		here:1,
		elsewhere:1,
		echo:1;
	u8	encap;
	u8	run;
};

/* In a segment's number: its packet has an OPEN block. There are fewer segments */
#define DLCP_SEG_OPEN	BIT(31)

#define DLCP_SKB_CB(skb) ((struct dlcp_skb_cb *)&((skb)->cb[0]))

/**
 * struct dlcp_tx_note - what a packet of a connection carries
 * @pn: number of the first DLCP packet in it
 * @count: how many wait for an acknowledgment; 0: none of them
 * @path: theirs
 * @pair: of addresses
 */
struct dlcp_tx_note {
	u32	pn;
	u16	count;
	u8	path;
	u8	pair;
};

/* skb->cb of it until IP has it, whose own part comes first */
struct dlcp_tx_cb {
	union {
		struct inet_skb_parm	h4;
		struct inet6_skb_parm	h6;
	} header;
	struct dlcp_tx_note	note;
};

#define DLCP_TX_CB(skb) ((struct dlcp_tx_cb *)&((skb)->cb[0]))

/**
 * struct dlcp_cursor - the bytes of an skb, looked at in ascending order
 * @skb: the packet
 * @data: byte @start of it; those up to @end follow
 * @start: offset in @skb
 * @end: offset in @skb
 * @frag: page fragment @data is in, or -1: the linear part
 */
struct dlcp_cursor {
	const struct sk_buff	*skb;
	const u8		*data;
	u32			start;
	u32			end;
	int			frag;
};

static inline void dlcp_cursor_init(struct dlcp_cursor *cur,
				    const struct sk_buff *skb)
{
	cur->skb = skb;
	cur->data = skb->data;
	cur->start = 0;
	cur->end = skb_headlen(skb);
	cur->frag = -1;
}

/* Keys of cookies */
struct dlcp_secrets {
	siphash_aligned_key_t	now;
	siphash_aligned_key_t	before;
};

/* pernet.c, sysctl.c */
extern unsigned int dlcp_net_id;
int dlcp_pernet_register(void);
void dlcp_pernet_unregister(void);

struct dlcp_net {
	struct socket		*udp4;		/* tunnel sockets; NULL: off */
	struct socket		*udp6;
	struct ctl_table_header	*sysctl;
	struct ctl_table	*sysctl_table;
	DEFINE_SNMP_STAT(struct dlcp_mib, mib);
	struct dlcp_secrets	secrets;
	u64			secret_time;	/* ns, of the last rotation */
	spinlock_t		secret_lock;	/* secrets, secret_time */
	struct xarray		ports;	/* struct dlcp_port, by port */
	struct xarray		socks;	/* connections and listeners; its lock:
					 * to look into one. dlcp_list_add()
					 */
	atomic64_t		reply_time;	/* rate limit of RESETs */
	struct mutex		udp_lock;	/* (re)opening tunnel sockets */
	u64			spent[1024];	/* tags that were accepted; see
						 * dlcp_tag_spent()
						 */
	struct xarray		devs;	/* struct dlcp_dev; its lock */
	spinlock_t		rails_lock;	/* rails */
	char			rails[DLCP_RAILS_MAX][IFNAMSIZ];

	/* sysctls, see Documentation/sysctl.md */
	unsigned int		udp_port;
	unsigned int		dead_ms;
	unsigned int		keepalive_ms;
	unsigned int		ack_delay_us;
	unsigned int		ack_packets;
	unsigned int		rx_unsolicited;	/* bytes */
	unsigned int		max_msg_mb;
	unsigned int		nr_paths;
	unsigned int		tx_order;	/* 0, 1 */
	unsigned int		tx_priority;	/* 0, 1 */
	unsigned int		reply_rate;	/* stateless RESETs per second */
	unsigned int		wmem[3];	/* bytes: min, default, max */
	unsigned int		rmem[3];
	u8			dscp[8][4];	/* class x (tag or 3: control) */
	const struct dlcp_cong_ops *cong;
	const struct dlcp_pathsched_ops *pathsched;
};

static inline struct dlcp_net *dlcp_pernet(const struct net *net)
{
	return net_generic(net, dlcp_net_id);
}

extern bool dlcp_raw;			/* module parameter raw */

#define DLCP_INC(net, field) \
	SNMP_INC_STATS(dlcp_pernet(net)->mib, DLCP_MIB_##field)

#endif
