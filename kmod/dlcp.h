/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The shell around kmod/core: sockets, skbs, timers, locks. What a packet
 * means is decided in core; here it is received, stored, built and sent.
 *
 * Lock order and the life of a packet are in kmod/README.
 */
#ifndef _DLCP_H
#define _DLCP_H

#include "sock.h"

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
u8 dlcp_own_dscp(const struct sock *sk, bool ipv4);
u8 dlcp_route_tos(const struct sock *sk);
u8 dlcp_route_scope(const struct sock *sk);
__be32 dlcp_route_label(const struct sock *sk);

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
/* What the engine counts moves to the MIB when that is read */
void dlcp_mib_counted(struct sock *sk);
void dlcp_mib_collect(struct dlcp_net *dn);

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
/* DLCP_CMSG_RANGES, written piece by piece: begin() returns how many fit, each put()
 * copies one, end() writes the header
 */
struct dlcp_ctl {
	struct msghdr	*msg;
	size_t		len;
};

u32 dlcp_ctl_begin(struct dlcp_ctl *ctl, struct msghdr *msg, u32 nr);
int dlcp_ctl_put(struct dlcp_ctl *ctl, const struct dlcp_range *range);
int dlcp_ctl_end(struct dlcp_ctl *ctl);
/* Bytes of control buffer a message of @len bytes takes */
size_t dlcp_ctl_space(const struct msghdr *msg, size_t len);

/* skb.c: any context, no lock */
enum skb_drop_reason dlcp_drop_reason(int mib);
/* Count, trace and free; @mib: DLCP_MIB_DROP_* */
void dlcp_drop(struct net *net, struct sk_buff *skb, int mib);
bool dlcp_first_data(const struct sk_buff *skb, struct dlcp_hdr *h,
		     struct dlcp_data *d);
const u8 *dlcp_cursor_seek(struct dlcp_cursor *cur, u32 off, u32 len);

/* The @len bytes from @off on, where they lie; @off never less than before.
 * NULL: not in one piece.
 */
static inline const u8 *dlcp_cursor_bytes(struct dlcp_cursor *cur, u32 off,
					  u32 len)
{
	if (likely(off + len <= cur->end && cur->data))
		return cur->data + (off - cur->start);
	return dlcp_cursor_seek(cur, off, len);
}

/* skb_header_pointer(), without a call where they lie in the first fragment */
static inline const void *dlcp_peek(const struct sk_buff *skb, u32 off, u32 len,
				    void *buf)
{
	const skb_frag_t *frag = &skb_shinfo(skb)->frags[0];
	u32 linear = skb_headlen(skb), at = off - linear;
	const u8 *p;

	if (linear >= off + len)
		return skb->data + off;
	if (off < linear || !skb_shinfo(skb)->nr_frags ||
	    at + len > skb_frag_size(frag))
		return skb_header_pointer(skb, off, len, buf);
	p = skb_frag_address_safe(frag);
	return p ? memcpy(buf, p + at, len) :
		   skb_header_pointer(skb, off, len, buf);
}

u32 dlcp_run_length(struct dlcp_cursor *cur, u32 off, u32 step, u32 most,
		    const u8 *first, u32 head, u8 *flags);
/* Append a fragment; false: no room for another */
bool dlcp_add_frag(struct sk_buff *skb, struct page *page, u32 offset, u32 len);

/* unopened.c: data that came before its OPEN */
bool dlcp_unopened_keep(struct sock *sk, struct sk_buff *skb, u32 msg, u32 nr);
struct sk_buff *dlcp_unopened_opened(struct sock *sk);
void dlcp_unopened_purge(struct sock *sk);

/* pieces.c */
void *dlcp_piece_begin(struct dlcp_conn *c, struct dlcp_rxmsg *m, u32 seg);
void dlcp_piece_drop(struct dlcp_conn *c, void *kept);
void dlcp_piece_store(const struct sk_buff *skb, u32 off,
		      const struct dlcp_data *d, struct sk_buff *kept);

/* ingress_link.c: receiving links and what their senders are granted */
void dlcp_link_data(struct sock *sk, int ifindex, const struct dlcp_rxmsg *m,
		    u64 bytes, u64 now);
void dlcp_link_rest(struct sock *sk);
void dlcp_link_leave(struct sock *sk);

/* rxqueue.c */
/* Room for what @skb may bring? Otherwise drop it before the engine sees it */
bool dlcp_rx_room(struct sock *sk, struct sk_buff *skb);
void dlcp_rx_advertise_room(struct sock *sk);
/**
 * struct dlcp_rx_batch - what the packets of an skb say, as they are looked at
 * @rx: message @mask is for
 * @mask: packets with segments of it
 * @segs: numbers of segments, as in struct dlcp_skb_cb; NULL: they follow each other
 * @seg: then that of the i-th packet is so much more than i
 * @msg: the message's
 *
 * An skb may be in memory that its sender still writes to (sendfile(), rings of
 * packet sockets): what was checked is kept here, not read again.
 */
struct dlcp_rx_batch {
	struct dlcp_rx	*rx;
	u64		mask;
	u32		*segs;
	u32		seg;
	u32		msg;
};

/* The engine is to be given the i-th packet, which holds @seg of message @msg.
 * Return: false: there is no memory to keep that
 */
bool dlcp_rx_batch_room(struct dlcp_rx_batch *b, u32 i, u32 msg, u32 seg);
/* A DATA segment the engine accepted (DLCP_OK): the i-th packet of @skb holds
 * @seg of @m, for which dlcp_rx_batch_room() found room. Called for i ascending;
 * afterwards the caller calls dlcp_rx_flush() once for the skb. Returns nothing: it
 * cannot fail.
 */
void dlcp_rx_segments(struct sock *sk, struct sk_buff *skb,
		      struct dlcp_rx_batch *b, struct dlcp_rxmsg *m, u32 i,
		      u32 seg, u32 nr);
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
bool dlcp_rx_by_parts(const struct sock *sk, const struct dlcp_rx *rx);
bool dlcp_rx_worth(const struct sock *sk, const struct dlcp_rx *rx);

/* @len bytes of a user's buffer in one piece, or NULL */
static inline void __user *dlcp_user_buf(const struct iov_iter *i, u64 len)
{
	if (!user_backed_iter(i) || iov_iter_single_seg_count(i) < len)
		return NULL;
	return (void __user *)dlcp_iter_addr(i);
}

/**
 * struct dlcp_reader - a recvmsg() call
 * @node: on dlcp_sock.readers while it waits
 * @wq: it sleeps here
 * @rx: the message it is attached to; may change as long as nothing of it
 *	was copied
 * @want: what the user asked for
 * @to: the user's buffer, its next byte at @at
 * @at: offset in it
 * @room: its length
 * @from: the whole of it
 * @mm: whose it is: a socket may be in the hands of several processes
 * @task: which calls; it lives while the call does
 * @user: its first byte; NULL: only @to knows the way
 * @flags: of recvmsg()
 */
struct dlcp_reader {
	struct list_head	node;
	wait_queue_head_t	wq;
	struct dlcp_rx		*rx;
	struct dlcp_want	want;
	struct iov_iter		to;
	u64			at;
	size_t			room;
	const struct iov_iter	*from;
	const void		*mm;
	const struct task_struct *task;
	void __user		*user;
	int			flags;
};

/* Was a part of @rx copied to this very buffer? */
bool dlcp_reader_has(const struct dlcp_reader *r, const struct dlcp_rx *rx);
void dlcp_buf_init(struct dlcp_buf *b, const struct dlcp_reader *r);
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
void dlcp_want_space(struct sock *sk);
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
/* Takes no lock; of a socket that dlcp_list_next() returned */
void dlcp_list_info(struct sock *sk, struct dlcp_info *info);
void dlcp_fill_path_info(const struct sock *sk, const struct dlcp_path *p,
			 struct dlcp_path_info *info);

/* push.c */
/* Asks the engine what to send until it is idle, builds and transmits, handles
 * events, re-arms the timer.
 */
void dlcp_push(struct sock *sk);
void dlcp_push_read(struct sock *sk);
void dlcp_push_later(struct sock *sk, struct sock **ref);
void dlcp_push_init(void);
void dlcp_push_exit(void);
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

/* device.c: devices of a namespace, in use */
struct dlcp_dev;

/**
 * struct dlcp_dev_kind - a direction
 * @size: of an entry, the first part of which is a struct dlcp_dev
 * @init: make an entry, zeroed but for that part
 */
struct dlcp_dev_kind {
	size_t	size;
	void	(*init)(struct dlcp_dev *dev);
};

/**
 * struct dlcp_dev - what connections share that use one device
 * @kind: in which direction
 * @id: index in dlcp_net.devs
 * @users: who points to it; lock of dlcp_net.devs
 * @ifindex: of the device
 * @uid: whose sockets
 */
struct dlcp_dev {
	const struct dlcp_dev_kind *kind;
	u32		id;
	unsigned int	users;
	int		ifindex;
	kuid_t		uid;
};

void dlcp_devs_init(struct dlcp_net *dn);
struct dlcp_dev *dlcp_dev_get(struct dlcp_net *dn,
			      const struct dlcp_dev_kind *kind, int ifindex,
			      kuid_t uid);
void dlcp_dev_put(struct dlcp_net *dn, struct dlcp_dev *dev);
struct dlcp_dev *dlcp_dev_next(struct dlcp_net *dn,
			       const struct dlcp_dev_kind *kind,
			       unsigned long *id);

/* egress_flow.c: packets of a socket by the pair of addresses they leave by */
void dlcp_egress_flow_init(struct dlcp_egress_flow *flow, struct sock *sk);
/* Of a pair of addresses: see core/rail.h */
struct dlcp_egress_flow *dlcp_egress_flow(struct sock *sk, u8 pair);
/* Bytes of it in its device's queue. Any context, no lock */
u32 dlcp_egress_flow_out(const struct dlcp_egress_flow *flow);

/* egress_dev.c: the sockets of a host that send through one device */
void dlcp_egress_put(struct sock *sk);
void dlcp_egress_set_dev(struct dlcp_egress_flow *flow, int ifindex);
u64 dlcp_egress_wait(struct dlcp_conn *c, u8 pair, bool late);
void dlcp_egress_done(struct sock *sk);
void dlcp_egress_leave(struct sock *sk);
void dlcp_egress_charge(struct sk_buff *skb, struct sock *sk, u8 pair);
bool dlcp_egress_uncharged(struct sock *sk);

/**
 * struct dlcp_egress_seen - a device, for who looks
 * @uid: whose sockets send through it
 * @ifindex: of it
 * @flows: number of these, each once for a pair of its addresses
 * @queued: bytes in the device's queue, with the kernel's overhead
 * @waiting: sockets that wait for their turn
 */
struct dlcp_egress_seen {
	kuid_t	uid;
	int	ifindex;
	u32	flows;
	u32	queued;
	u32	waiting;
};

bool dlcp_egress_look(struct dlcp_net *dn, unsigned long *id,
		      struct dlcp_egress_seen *seen);

/* hostq.c: what the host's own queueing discipline refused */
void dlcp_hostq_refused(struct sock *sk, const struct dlcp_tx_note *what);
void dlcp_hostq_settle(struct sock *sk, u64 now);
u64 dlcp_hostq_wait(struct sock *sk, u8 pair);
void dlcp_hostq_freed(struct sock *sk, u8 pair);
void dlcp_hostq_free(struct sock *sk);

/* process.c */
bool dlcp_process(struct sock *sk, struct sk_buff *skb);
bool dlcp_data_due(struct sock *sk, u64 now);
/* Data that came before its message was opened */
void dlcp_process_unopened(struct sock *sk);

/* deliver.c: softirq, RCU read lock held; no lock */
/* Bytes that wait for the user to let go of the socket */
static inline int dlcp_backlog_limit(const struct sock *sk)
{
	return READ_ONCE(sk->sk_rcvbuf) + READ_ONCE(sk->sk_sndbuf);
}

bool dlcp_run_add(struct net *net, struct sk_buff *skb);
void dlcp_deliver(struct sock *sk, struct sk_buff *skb,
		  const struct dlcp_hdr *h);
void dlcp_deliver_init(void);
void dlcp_deliver_exit(void);

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
bool dlcp_timer_armed(struct sock *sk, u64 at);	/* to then or before */
void dlcp_timer_now(struct sock *sk);	/* at once, from any lock */
void dlcp_timer_stop(struct sock *sk);	/* may be called in the callback */

/* table.c: connections by tag, ports */
int dlcp_table_init(void);
void dlcp_table_exit(void);
u64 dlcp_new_tag(struct net *net);
int dlcp_table_add(struct sock *sk);		/* by conn.cfg.local_tag */
void dlcp_table_add_peer(struct sock *sk);	/* when peer_tag is known */
void dlcp_table_retag(struct sock *sk);		/* DLCP_EV_STALE */
void dlcp_table_del(struct sock *sk);
/* RCU; with a reference taken */
struct sock *dlcp_table_find(struct net *net, u64 tag);
struct sock *dlcp_table_find_peer(struct net *net, u64 peer_tag);
bool dlcp_table_has(struct net *net, u64 tag);	/* RCU */
/* netlink.c and dlcp_diag.c show the sockets that are on the list */
int dlcp_list_add(struct sock *sk);
void dlcp_list_del(struct sock *sk);
struct sock *dlcp_list_next(struct net *net, unsigned long *id);
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
