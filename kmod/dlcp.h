/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shell around kmod/core: sockets, skbs, timers, locks. What a packet
 * means is decided in core; here it is received, stored, built and sent.
 *
 * Lock order and the life of a packet are in kmod/README.
 */
#ifndef _DLCP_H
#define _DLCP_H

#include "compat/compat.h"

#include <linux/hrtimer.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
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

#include "core/conn.h"
#include "core/grant.h"
#include "core/egress.h"
#include "core/txlimit.h"
#include "mib.h"

/* Longest message, MiB: just below where the kernel cuts a call, so that what was
 * cut is refused
 */
#define DLCP_MAX_MSG_MB	((u32)(MAX_RW_COUNT >> 20))

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
 * @timer_fired: the timer fired, and was not armed since
 * @timer_late: how often in a row it fired, and the engine wanted the past again
 * @deferred: DLCP_DEFER_*
 * @rx_ready: complete messages for recvmsg(), struct dlcp_rx.ready, sorted
 *	by priority class and number
 * @rx_new: messages announced and not looked at since, struct dlcp_rx.ready
 * @readers: recvmsg() calls that wait, struct dlcp_reader.node
 * @engine_mem: bytes of dlcp_mem_alloc()
 * @mem_wanted: bytes that a sender was refused and is to be told of; 0: none
 * @rx_attn: messages that need a reader before they can complete, and have
 *	something for one
 * @rx_partial: number of messages with struct dlcp_rx.partial
 * @link_dev: ifindex of the device that brought data last
 * @wmem_filling: part of sk_wmem_queued that belongs to messages with a
 *	sendmsg() at work
 * @orphan_mark: bytes delivered when the orphan was last looked at
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
 * @tried: where connect() went: the socket forgets it when that fails
 * @tried_ipv4: and whether it was IPv4
 * @tried_err: errno of a connect() that the peer said nothing to; 0: there is none
 * @nr_paths: DLCP_PATHS; 0: net.dlcp.nr_paths
 * @encap: enum dlcp_encap
 * @fill: enum dlcp_fill
 * @recvwant: DLCP_RECVWANT
 * @unopened_nr: skbs on @unopened
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
 * @txq: built packets on their way to IP; filled under the socket lock,
 *	emptied without it by who owns @tx_busy, so that they keep their order
 * @tx_busy: bit 0: someone empties @txq
 * @egress: packets sent from the address of the set-up
 * @rails: those of the others, DLCP_RAILS_MAX; NULL: it has none. Freed with
 *	the socket
 * @hostq: what its own host refused; NULL: nothing was. Freed with the socket
 * @destruct: the family's sk_destruct
 * @link: where data comes from; NULL: none does, or it comes over several
 * @link_mixed: ns, when that was another one than before; 0: never
 * @grantee: the connection's part in it; its lock
 * @unopened: data whose messages are not open yet, the newest first: unopened.c
 * @cnt_seen: part of conn.cnt that is already in the MIB, low 32 bits
 * @cnt_high: the high ones of those that count bytes
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
	u8			timer_fired;
	u8			timer_late;
	unsigned long		deferred;
	struct list_head	rx_ready;
	struct list_head	rx_new;
	struct list_head	readers;
	struct list_head	tx_large;
	int			wmem_filling;
	u32			engine_mem;
	u32			mem_wanted;
	u32			rx_attn;
	u32			rx_partial;
	int			link_dev;
	u64			orphan_mark;
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
	struct dlcp_place	tried;
	u8			tried_ipv4;
	u8			tried_err;
	int			scope_dev;
	int			dev_before;
	u8			nr_paths;
	u8			encap;
	u8			fill;
	u8			recvwant;
	u8			unopened_nr;
	u8			orphan_looks;
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
				autobound:1;
	struct sk_buff_head	txq;
	unsigned long		tx_busy;
	struct dlcp_egress_flow	egress;
	struct dlcp_rail_way	*rails;
	struct dlcp_hostq	*hostq;
	void			(*destruct)(struct sock *sk);
	struct dlcp_link	*link;
	u64			link_mixed;
	struct dlcp_grantee	grantee;
	struct sk_buff		*unopened;
	u32			cnt_seen[DLCP_CNT_MAX];
	u32			cnt_high[DLCP_CNT_BYTES];
};

struct dlcp6_sock {
	struct dlcp_sock	dlcp;
	struct ipv6_pinfo	inet6;		/* must be last */
};

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

static inline u8 dlcp_ip_proto(u8 encap)
{
	return encap == DLCP_ENCAP_RAW ? IPPROTO_DLCP : IPPROTO_UDP;
}

static inline u64 dlcp_now(void)
{
	return ktime_get_ns();
}

/*
 * Outgoing payload. A message's bytes lie in chunks, in order of positions;
 * a chunk is a run of slots, each a DATA header's room followed by one
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
 * @slot_size: DLCP_DATA_HDR_LEN + segment size, bytes
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

/**
 * struct dlcp_rx - an incoming message
 * @core: what the engine knows of it; must be first
 * @queue: skbs whose segments are not copied out yet; struct dlcp_skb_cb
 * @ready: on dlcp_sock.rx_new, then on dlcp_sock.rx_ready when complete
 * @reader: the call that waits for it, or NULL
 * @buf: where it was partly copied to: first byte,
 * @buf_len: and length of that buffer
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
	unsigned long		buf;
	size_t			buf_len;
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
 * @mask: on dlcp_rx.queue: bit i: the i-th DLCP packet in the skb holds a
 *	segment of this message to be copied out
 * @wire: ns, dlcp_now(): when it reached this host
 * @seg: on dlcp_rx.queue, if @step is 0: number of its segment, and DLCP_SEG_OPEN
 * @segs: on dlcp_rx.queue, else: the same of each packet; dlcp_rx_skb_free()
 * @step: bytes from one DLCP packet to the next in the skb (the gso_size);
 *	0 or more than skb->len: just one
 * @rport: UDP source port of the sender, host order
 * @ce: congestion experienced
 * @here: it says DLCP_F_HERE: its sender receives at @rport
 * @elsewhere: and that is not where the peer is
 * @encap: enum dlcp_encap
 *
 * skb->data points at the first DLCP packet.
 */
struct dlcp_skb_cb {
	union {
		struct inet_skb_parm	h4;
		struct inet6_skb_parm	h6;
	} header;
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
		elsewhere:1;
	u8	encap;
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
	struct proc_dir_entry	*proc;
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
	spinlock_t		egress_lock;
	struct list_head	egress;	/* dlcp_egress_dev; egress_lock */
	spinlock_t		link_lock;
	struct list_head	links;		/* struct dlcp_link; link_lock */
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
#define DLCP_ADD(net, field, n) \
	SNMP_ADD_STATS(dlcp_pernet(net)->mib, DLCP_MIB_##field, n)

/* addr.c: what the user says of addresses */
union dlcp_addr {
	struct sockaddr		sa;
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;
};

int dlcp_get_addr(union dlcp_addr *addr, const void *uaddr, int len);
int dlcp_bind(struct socket *sock, const void *uaddr, int len);
/* The two below: socket lock held, process */
int dlcp_set_peer(struct sock *sk, union dlcp_addr *addr, int len);
void dlcp_forget_peer(struct sock *sk);

/* socket.c */
int dlcp_register_protos(void);
void dlcp_unregister_protos(void);

/* lifetime.c */
/* Lists, queues and callbacks of a new socket or child */
void dlcp_sock_setup(struct sock *sk);
/* Its user is gone. Socket lock held */
void dlcp_orphan(struct sock *sk);

/*
 * All below: socket lock held (owned, or slock in softirq with no owner),
 * unless it says otherwise.
 */

/* memory.c */
extern atomic_long_t dlcp_memory_allocated;
extern struct percpu_counter dlcp_sockets_allocated;
extern unsigned long dlcp_memory_pressure;
DECLARE_PER_CPU(int, dlcp_fw_alloc);
extern long dlcp_sysctl_mem[3];		/* pages; net.dlcp.mem, init_net */

/* So much is to be had whatever the limits, for each that memory.c names */
#define DLCP_MEM_MIN	65536

int dlcp_mem_init(void);
void dlcp_mem_exit(void);
bool dlcp_mem_tx(struct sock *sk, int size, int held);
bool dlcp_mem_rx(struct sock *sk, struct sk_buff *skb);
bool dlcp_mem_never(const struct sock *sk, u64 size);
void *dlcp_mem_alloc(struct sock *sk, size_t size);
void dlcp_mem_free(struct sock *sk, void *p, size_t size);

/* events.c */
/* Engine of a new connection: fill conn.cfg from the socket and init it */
int dlcp_conn_setup(struct sock *sk, u64 local_tag);
/* Act on conn->events: wake, report, complete, free, change sk_state; the
 * caller transmits afterwards (dlcp_push() calls this itself).
 */
void dlcp_events(struct sock *sk);
/* Free all a socket has but the socket */
void dlcp_sock_cleanup(struct sock *sk);
/* Free the engine and all messages; the socket could connect anew */
void dlcp_conn_teardown(struct sock *sk);
/* Orphaned and over: also drop the reference the user's socket held */
void dlcp_destroy(struct sock *sk);
void dlcp_state_change(struct sock *sk);
/* Add to the MIB what the engine counted since the last call */
void dlcp_mib_sync(struct sock *sk);

/* accept.c */
/* Softirq, listener's slock held: a valid ECHO came. Make the child, hash it,
 * queue it, wake accept(). NULL: refused (backlog full, no memory).
 */
struct sock *dlcp_accept_child(struct sock *lsk, struct sk_buff *skb,
			       const struct dlcp_setup *echo, u64 local_tag);
void dlcp_listen_stop(struct sock *sk);
struct sock *dlcp_do_accept(struct sock *sk, int flags, int *err);

/* cmsg.c: structs that grow at their end */
int dlcp_struct_from_sockptr(void *dst, size_t size, sockptr_t src,
			     size_t len);
int dlcp_check_attr(const struct dlcp_attr *a);
u32 dlcp_end_flags(u32 flags, bool below_bound, bool late, u8 why);

struct dlcp_send_args {
	struct dlcp_attr	attr;
	const struct dlcp_tags	*tags;	/* NULL: none */
	bool			zerocopy;	/* as in struct dlcp_tx */
	bool			pinned;
};

int dlcp_get_send_args(struct sock *sk, struct msghdr *msg, size_t len,
		       struct dlcp_send_args *args);
int dlcp_get_want(struct sock *sk, struct msghdr *msg, struct dlcp_want *w);
/* An array written piece by piece: begin() returns how many fit, each put()
 * copies one, end() writes the header
 */
struct dlcp_ctl {
	struct msghdr	*msg;
	size_t		len;
	int		type;
};

u32 dlcp_ctl_begin(struct dlcp_ctl *ctl, struct msghdr *msg, int type, u32 nr,
		   size_t size);
int dlcp_ctl_put(struct dlcp_ctl *ctl, const void *p, size_t size);
int dlcp_ctl_end(struct dlcp_ctl *ctl);
/* Bytes of control buffer a message of @len bytes takes */
size_t dlcp_ctl_space(const struct msghdr *msg, size_t len);

/* skb.c: any context, no lock */
enum skb_drop_reason dlcp_drop_reason(int mib);
/* Count, trace and free; @mib: DLCP_MIB_DROP_* */
void dlcp_drop(struct net *net, struct sk_buff *skb, int mib);
bool dlcp_first_data(const struct sk_buff *skb, struct dlcp_hdr *h,
		     struct dlcp_data *d);
/* The @len bytes from @off on, where they lie; @off never less than before.
 * NULL: not in one piece.
 */
const u8 *dlcp_cursor_bytes(struct dlcp_cursor *cur, u32 off, u32 len);
/* Append a fragment; false: no room for another */
bool dlcp_add_frag(struct sk_buff *skb, struct page *page, u32 offset, u32 len);

/* unopened.c: data that came before its OPEN */
bool dlcp_unopened_keep(struct sock *sk, struct sk_buff *skb);
struct sk_buff *dlcp_unopened_opened(struct sock *sk);
void dlcp_unopened_purge(struct sock *sk);

/* pieces.c */
void *dlcp_piece_begin(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg);
void dlcp_piece_drop(struct dlcp_conn *c, void *kept);
void dlcp_piece_store(const struct sk_buff *skb, u32 off,
		      const struct dlcp_data *d, struct sk_buff *kept);

/* ingress.c: receiving links and what their senders are granted */
void dlcp_links_init(struct dlcp_net *dn);
void dlcp_link_data(struct sock *sk, int ifindex, const struct dlcp_rxmsg *m,
		    u64 bytes, u64 now);
void dlcp_link_rest(struct sock *sk);
void dlcp_link_leave(struct sock *sk);

/* rxqueue.c */
/* Room for what @skb may bring? Otherwise drop it before the engine sees it */
bool dlcp_rx_room(struct sock *sk, struct sk_buff *skb);
/**
 * struct dlcp_rx_batch - what the packets of an skb say, as they are looked at
 * @rx: message @mask is for
 * @mask: packets with segments of it
 * @segs: numbers of segments, as in struct dlcp_skb_cb; NULL: there is but one
 * @seg: that one
 *
 * An skb may be in memory that its sender still writes to (sendfile(), rings of
 * packet sockets): what was checked is kept here, not read again.
 */
struct dlcp_rx_batch {
	struct dlcp_rx	*rx;
	u64		mask;
	u32		*segs;
	u32		seg;
};

/* Room for the numbers of @count segments. Return: false: no memory */
bool dlcp_rx_batch_init(struct dlcp_rx_batch *b, u32 count);
/* A DATA segment the engine accepted (DLCP_OK): the i-th packet of @skb holds
 * @seg of @m. Called for i ascending; afterwards the caller calls
 * dlcp_rx_flush() once for the skb. Returns nothing: it cannot fail.
 */
void dlcp_rx_segment(struct sock *sk, struct sk_buff *skb,
		     struct dlcp_rx_batch *b, struct dlcp_rxmsg *m, int i,
		     u32 seg);
/* Return: true if the skb was taken (the caller must not free it) */
bool dlcp_rx_flush(struct sock *sk, struct sk_buff *skb,
		   struct dlcp_rx_batch *b);
/* @skb has segment @seg of @m, all of whose pieces came; taken */
void dlcp_rx_whole(struct sock *sk, struct sk_buff *skb, struct dlcp_rxmsg *m,
		   u32 seg);
/* One that was taken */
void dlcp_rx_skb_free(struct sk_buff *skb);
struct dlcp_rx *dlcp_rx_alloc(struct sock *sk);
void dlcp_rx_free(struct sock *sk, struct dlcp_rx *rx);
void dlcp_rx_purge_queue(struct sock *sk, struct dlcp_rx *rx);
/* On DLCP_EV_RX_OPEN and DLCP_EV_RX_DONE */
void dlcp_rx_opened(struct sock *sk);
void dlcp_rx_completed(struct sock *sk);
void dlcp_rx_check_credit(struct sock *sk);
void dlcp_rx_wake_all(struct sock *sk);
/* Is there something for a recvmsg() without a key? Needs no lock. */
bool dlcp_rx_readable(const struct sock *sk);
void dlcp_rx_sync_space(struct sock *sk);
/* May a reader take this one before it is complete? */
bool dlcp_rx_large(const struct sock *sk, const struct dlcp_rx *rx);
/* Shall its reader copy what is there, though it is not complete? */
bool dlcp_rx_unopened(const struct sock *sk, const struct dlcp_rx *rx);
bool dlcp_rx_worth(const struct sock *sk, const struct dlcp_rx *rx);

/**
 * struct dlcp_reader - a recvmsg() call
 * @node: on dlcp_sock.readers while it waits
 * @wq: it sleeps here
 * @rx: the message it is attached to; may change as long as nothing of it
 *	was copied
 * @want: what the user asked for
 * @start: the user's buffer
 * @room: its length
 * @buf: its first byte
 * @flags: of recvmsg()
 */
struct dlcp_reader {
	struct list_head	node;
	wait_queue_head_t	wq;
	struct dlcp_rx		*rx;
	struct dlcp_want	want;
	struct iov_iter		start;
	size_t			room;
	unsigned long		buf;
	int			flags;
};

void dlcp_reader_attach(struct sock *sk, struct dlcp_reader *r,
			struct dlcp_rx *rx);
/* Leave r->rx to other readers */
void dlcp_reader_detach(struct sock *sk, struct dlcp_reader *r);

/* recvmsg.c; process, no lock held */
int dlcp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags);

/* errqueue.c; process, no lock held */
bool dlcp_errqueue_readable(const struct sock *sk);	/* needs no lock */
int dlcp_recv_errqueue(struct sock *sk, struct msghdr *msg, size_t len,
		       int flags);

/* sendmsg.c */
int dlcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len); /* no lock */

/* txqueue.c */
/* What calls that returned have left in memory, bytes */
int dlcp_left_behind(const struct sock *sk);
/* A third of SO_SNDBUF is */
bool dlcp_third_free(const struct sock *sk);
void dlcp_filling_add(struct sock *sk, int bytes);
/* @force: even beyond the limits */
bool dlcp_tx_charge(struct sock *sk, u32 queued, u32 extra, bool force);
void dlcp_tx_uncharge(struct sock *sk, u32 queued, u32 extra);
bool dlcp_charge_chunk(struct sock *sk, struct dlcp_tx *tx, u32 bytes,
		       bool force);
void dlcp_uncharge_chunk(struct sock *sk, struct dlcp_tx *tx, u32 bytes);
void dlcp_free_chunk(struct sock *sk, struct dlcp_tx *tx, u32 i);
struct page *dlcp_take_spare(struct sock *sk, struct dlcp_tx *tx, u32 size);
void dlcp_drop_spares(struct sock *sk, struct dlcp_tx *tx);
void dlcp_tx_release(struct sock *sk, struct dlcp_tx *tx); /* free done chunks */
void dlcp_tx_free(struct sock *sk, struct dlcp_tx *tx);
/* The engine is done with @tx: report it or free it */
void dlcp_tx_over(struct sock *sk, struct dlcp_tx *tx);
bool dlcp_writable(const struct sock *sk);
void dlcp_write_space(struct sock *sk);
void dlcp_skb_freed(struct sock *sk);
void dlcp_mem_refused(struct sock *sk, u32 size);
void dlcp_mem_again(struct sock *sk);

/* zerocopy.c */
bool dlcp_zc_usable(const struct sock *sk, const struct iov_iter *from,
		    size_t len);
int dlcp_zc_begin(struct sock *sk, struct dlcp_tx *tx);
void dlcp_zc_end(struct dlcp_tx *tx);
int dlcp_pin_chunk(struct dlcp_tx *tx, u32 i, const struct iov_iter *from);
void dlcp_unpin_chunk(struct dlcp_chunk *chunk);
u32 dlcp_pinned_frags(u32 len);
void dlcp_add_pinned(struct sk_buff *skb, const struct dlcp_tx *tx, u32 pos,
		     u32 off, u32 len);

/* options.c; the first two take the lock */
int dlcp_setsockopt(struct sock *sk, int level, int optname, sockptr_t optval,
		    unsigned int optlen);
int dlcp_getsockopt(struct sock *sk, int level, int optname,
		    char __user *optval, int __user *optlen);
void dlcp_fill_info(const struct sock *sk, struct dlcp_info *info);
void dlcp_fill_path_info(const struct sock *sk, const struct dlcp_path *p,
			 struct dlcp_path_info *info);

/* push.c */
/* Asks the engine what to send until it is idle, builds and transmits, handles
 * events, re-arms the timer.
 */
void dlcp_push(struct sock *sk);
/* The two halves of it for softirq: build with the lock held; give to IP
 * after unlocking, with a reference.
 */
void dlcp_push_build(struct sock *sk);
void dlcp_push_xmit(struct sock *sk);
/* Once for every socket: the timer and what push.c keeps */
void dlcp_timer_init(struct sock *sk);
/* From release_cb: the work of dlcp_sock.deferred */
void dlcp_run_deferred(struct sock *sk);

/* output.c */
void dlcp_build(struct sock *sk, u64 now);
/* The path MTU may have changed: ask the route, tell the engine */
void dlcp_sync_mtu(struct sock *sk);
u32 dlcp_under(const struct sock *sk);
/* Route to the peer: fills inet_saddr / saddr if unset, sk_dst_cache, and
 * returns the packet size for core (path MTU less IP and UDP headers) or a
 * negative errno. Process context or softirq.
 */
int dlcp_route(struct sock *sk);

/* reply.c */
/* Stateless packet (INIT_ACK, RESET) in answer to @skb; @lsk: the listener that
 * it is for, or NULL
 */
void dlcp_reply(struct net *net, struct sock *lsk, struct sk_buff *skb,
		const u8 *pkt, u32 len);

/* policy.c: softirq, RCU read lock held; no lock needed */
bool dlcp_dev_matches(const struct sock *sk, struct sk_buff *skb);
int dlcp_request_dev(const struct sock *lsk, struct sk_buff *skb);
int dlcp_policy_in(struct sock *sk, struct sk_buff *skb);
bool dlcp_request_ok(struct sock *lsk, struct sk_buff *skb,
		     const struct dlcp_setup *s);

/* rail.c: several addresses of a host */
/* Their names, and as many blanks again */
#define DLCP_RAILS_TEXT	(2 * DLCP_RAILS_MAX * IFNAMSIZ)
void dlcp_rails_setup(struct sock *sk, struct dlcp_rail_own *own,
		      struct dlcp_conn_cfg *cfg);
void dlcp_pair_addrs(const struct sock *sk, u8 pair, u8 *own, u8 *peer);
struct dst_entry *dlcp_rail_dst(struct sock *sk, u32 k);
void dlcp_rails_drop_routes(struct sock *sk);
u32 dlcp_rails_mtu(struct sock *sk, u32 mtu);
bool dlcp_rail_wanted(struct dlcp_conn *c, u32 k);
u8 dlcp_pair_of(const struct sock *sk, const struct sk_buff *skb);
bool dlcp_from_peer(const struct sock *sk, const struct sk_buff *skb);
void dlcp_skb_addrs(const struct sk_buff *skb, u8 *own, u8 *peer);
bool dlcp_addr_usable(const struct sock *sk, const u8 *addr);
bool dlcp_dst_one_other(const struct sock *sk, const struct dst_entry *dst);
struct dst_entry *dlcp_route_pair(struct sock *sk, int oif, const u8 *own,
				  const u8 *peer);
int dlcp_rails_set(struct dlcp_net *dn, char *names);
void dlcp_rails_get(struct dlcp_net *dn, char *names);

/* place.c */
u16 dlcp_peer_port(const struct sock *sk);
u16 dlcp_place_port(struct net *net, const struct sk_buff *skb);
bool dlcp_elsewhere(const struct sock *sk, const struct sk_buff *skb,
		    struct dlcp_place *from);
void dlcp_seen_elsewhere(struct sock *sk, const struct dlcp_place *from);
struct dst_entry *dlcp_place_dst(struct sock *sk);
bool dlcp_place_moved(struct dlcp_conn *c, const struct dlcp_place *to);
void dlcp_place_tried(struct sock *sk);

/* egress_flow.c: packets of a socket by the pair of addresses they leave by */
void dlcp_egress_flow_init(struct dlcp_egress_flow *flow, struct sock *sk);
/* Of a pair of addresses: see core/rail.h */
struct dlcp_egress_flow *dlcp_egress_flow(struct sock *sk, u8 pair);
/* Bytes of it in its device's queue. Any context, no lock */
u32 dlcp_egress_flow_out(const struct dlcp_egress_flow *flow);

/* egress.c: the sockets of a host that send through one device */
void dlcp_egress_net_init(struct dlcp_net *dn);
int dlcp_egress_show(struct seq_file *seq, void *v);
void dlcp_egress_put(struct sock *sk);
void dlcp_egress_set_dev(struct dlcp_egress_flow *flow, int ifindex);
u64 dlcp_egress_wait(struct dlcp_conn *c, u8 pair, bool late);
void dlcp_egress_done(struct sock *sk);
void dlcp_egress_leave(struct sock *sk);
void dlcp_egress_charge(struct sk_buff *skb, struct sock *sk, u8 pair);
bool dlcp_egress_uncharged(struct sock *sk);

/* hostq.c: what the host's own queueing discipline refused */
void dlcp_hostq_refused(struct sock *sk, const struct dlcp_tx_note *what);
void dlcp_hostq_settle(struct sock *sk, u64 now);
u64 dlcp_hostq_wait(struct sock *sk, u8 pair);
void dlcp_hostq_freed(struct sock *sk, u8 pair);
void dlcp_hostq_free(struct sock *sk);

/* process.c */
void dlcp_process(struct sock *sk, struct sk_buff *skb);
/* Data that came before its message was opened */
void dlcp_process_unopened(struct sock *sk);

/* input.c: from the encapsulations; skb->data at the DLCP packet, cb filled */
int dlcp_rcv(struct sk_buff *skb);
int dlcp_backlog_rcv(struct sock *sk, struct sk_buff *skb);
/* ICMP error @err (negative) quoting one of our packets at @offset of @skb */
void dlcp_icmp(struct net *net, struct sk_buff *skb, int offset, int err);
struct sock *dlcp_icmp_find(struct net *net, const struct sk_buff *skb,
			    int offset);
/* What it says; @skb: as in an error handler of IP */
int dlcp_icmp_errno(const struct sk_buff *skb, int family);

/* timer.c */
void dlcp_timer_arm(struct sock *sk, u64 now);	/* to dlcp_conn_next_timer() */
void dlcp_timer_now(struct sock *sk);	/* at once, from any lock */
void dlcp_timer_stop(struct sock *sk);	/* may be called in the callback */

/* table.c: connections by tag, ports */
int dlcp_table_init(void);
void dlcp_table_exit(void);
u64 dlcp_new_tag(struct net *net);
int dlcp_table_add(struct sock *sk);		/* by conn.cfg.local_tag */
void dlcp_table_add_peer(struct sock *sk);	/* when peer_tag is known */
void dlcp_table_del(struct sock *sk);
/* RCU; with a reference taken */
struct sock *dlcp_table_find(struct net *net, u64 tag);
struct sock *dlcp_table_find_peer(struct net *net, u64 peer_tag);
bool dlcp_table_has(struct net *net, u64 tag);	/* RCU */
/* /proc shows the sockets that are on the list */
int dlcp_list_add(struct sock *sk);
void dlcp_list_del(struct sock *sk);
void dlcp_ports_init(struct dlcp_net *dn);
void dlcp_ports_exit(struct dlcp_net *dn);
/* For bind(), connect(), listen(), and what undoes each of them */
int dlcp_port_bind(struct sock *sk, u16 port);
int dlcp_port_connect(struct sock *sk);
int dlcp_port_listen(struct sock *sk);
void dlcp_port_release(struct sock *sk);
void dlcp_port_disconnect(struct sock *sk);
void dlcp_port_unlisten(struct sock *sk);
/* The listener a set-up packet is for, best match first; reference taken */
struct sock *dlcp_port_find(struct net *net, struct sk_buff *skb, u16 port,
			    u64 client_tag);

/* encap_udp.c, encap_raw.c */
/* Have the tunnel sockets of @net, on net.dlcp.udp_port; connect() and
 * listen() call it. Process context. -EADDRINUSE, -EPROTONOSUPPORT (port 0).
 */
int dlcp_udp_open(struct net *net);
/* Move them to @port, or close them if it is 0 */
int dlcp_udp_set_port(struct net *net, unsigned int port);
void dlcp_udp_close(struct net *net);
int dlcp_raw_register(void);
void dlcp_raw_unregister(void);

/* proc.c, sysctl.c */
int dlcp_sysctl_init(struct net *net);
void dlcp_sysctl_exit(struct net *net);
int dlcp_proc_init(struct net *net);
void dlcp_proc_exit(struct net *net);

#endif
