/* SPDX-License-Identifier: GPL-2.0+ WITH Linux-syscall-note */
/*
 * DLCP: a transport for distributed deep-learning training.
 *
 * The one header a user of the socket needs. Every struct here has the same
 * layout on 32 and 64 bit and may grow at its end: the kernel copies the part
 * both sides know, treats what the caller left out as zero, and refuses a
 * tail it does not know unless that tail is all zero (E2BIG).
 */
#ifndef _UAPI_LINUX_DLCP_H
#define _UAPI_LINUX_DLCP_H

#include <linux/types.h>

/* socket(AF_INET | AF_INET6, SOCK_DLCP, 0), or SOCK_DGRAM + IPPROTO_DLCP */
#define SOCK_DLCP		7
#define IPPROTO_DLCP		253
#define SOL_DLCP		290

/* Default of net.dlcp.udp_port */
#define DLCP_UDP_PORT		6253

/* Loss bounds are given in parts per million of a message's bytes */
#define DLCP_PPM		1000000
/* Priority classes: 0 is the most urgent */
#define DLCP_PRIO_MAX		7
#define DLCP_PRIO_DEFAULT	4
#define DLCP_CC_NAME_MAX	16
#define DLCP_ERROR_TEXT_MAX	160
#define DLCP_PATHS_MAX		16

/**
 * enum dlcp_sockopt - options at level SOL_DLCP
 *
 * Set them at any time, unless it says before connect() or listen(), after which
 * they fail with EISCONN. A value out of range is EINVAL, and to set one that is
 * read only ENOPROTOOPT. All can be read.
 *
 * @DLCP_ATTR: struct dlcp_attr; defaults of the attributes of messages to
 *	send. key, length and cookie have no default: in the mask they are EINVAL.
 * @DLCP_INFO: struct dlcp_info, read only
 * @DLCP_CONGESTION: string of less than DLCP_CC_NAME_MAX bytes; name of the
 *	congestion controller, else ENOENT; before connect() or listen(). Default
 *	net.dlcp.congestion
 * @DLCP_RECVWANT: int 0/1, default 0; recvmsg() reads a DLCP_CMSG_WANT from the first
 *	control message of the caller's control buffer
 * @DLCP_FILL: int, enum dlcp_fill; what missing ranges become. Default
 *	DLCP_FILL_ZERO
 * @DLCP_DEAD_MS: __u32 milliseconds without a sign of the peer until the
 *	connection fails with ETIMEDOUT, 100..3600000; 0 = net.dlcp.dead_ms,
 *	which is also the most for what is still to be delivered after close()
 * @DLCP_KEEPALIVE_MS: __u32 milliseconds of silence until a keep-alive is
 *	sent when SO_KEEPALIVE is on, 100..3600000; 0 = net.dlcp.keepalive_ms
 * @DLCP_PATHS: __u32 1..DLCP_PATHS_MAX; paths to spread packets over; before
 *	connect() or listen(). Default net.dlcp.nr_paths. Of a connection it is
 *	how many it has, which net.dlcp.rails may have raised
 * @DLCP_ENCAP: int, enum dlcp_encap; before connect() or listen()
 * @DLCP_LAST_ERROR: string of at most DLCP_ERROR_TEXT_MAX bytes with the NUL,
 *	read only; why the connection failed, in words; empty if it did not
 * @DLCP_ZEROCOPY: int 0/1, default 0; allow MSG_ZEROCOPY in sendmsg(). As for TCP and
 *	UDP the error queue tells when the buffer may be changed again
 *	(SO_EE_ORIGIN_ZEROCOPY).
 * @DLCP_PATH_INFO: array of struct dlcp_path_info, read only: one for each of
 *	dlcp_info.nr_paths, as many as fit, dlcp_path_info.size bytes apart
 */
enum dlcp_sockopt {
	DLCP_ATTR		= 1,
	DLCP_INFO		= 2,
	DLCP_CONGESTION		= 3,
	DLCP_RECVWANT		= 4,
	DLCP_FILL		= 5,
	DLCP_DEAD_MS		= 6,
	DLCP_KEEPALIVE_MS	= 7,
	DLCP_PATHS		= 8,
	DLCP_ENCAP		= 9,
	DLCP_LAST_ERROR		= 10,
	DLCP_ZEROCOPY		= 11,
	DLCP_PATH_INFO		= 12,
};

/**
 * enum dlcp_fill - what becomes of missing ranges in the reader's buffer
 * @DLCP_FILL_ZERO: filled with zeros (gradients)
 * @DLCP_FILL_KEEP: left as they were (parameters)
 */
enum dlcp_fill {
	DLCP_FILL_ZERO		= 0,
	DLCP_FILL_KEEP		= 1,
};

/**
 * enum dlcp_encap - the way onto the wire
 * @DLCP_ENCAP_UDP: UDP to port net.dlcp.udp_port
 * @DLCP_ENCAP_RAW: IP protocol IPPROTO_DLCP; EPROTONOSUPPORT unless the
 *	module was loaded with raw=1
 */
enum dlcp_encap {
	DLCP_ENCAP_UDP	= 0,
	DLCP_ENCAP_RAW	= 1,
};

/**
 * enum dlcp_cmsg - control messages at level SOL_DLCP
 * @DLCP_CMSG_ATTR: sendmsg: struct dlcp_attr
 * @DLCP_CMSG_TAGS: sendmsg: struct dlcp_tags and its tags
 * @DLCP_CMSG_WANT: recvmsg, in: struct dlcp_want (see DLCP_RECVWANT)
 * @DLCP_CMSG_MSG: recvmsg, out: struct dlcp_msg, always
 * @DLCP_CMSG_RANGES: recvmsg, out: array of struct dlcp_range: what is
 *	missing, ascending; absent where nothing is. On the error queue it
 *	follows its DLCP_CMSG_REPORT.
 * @DLCP_CMSG_REPORT: recvmsg(MSG_ERRQUEUE), out: struct dlcp_report; as many
 *	as the control buffer holds
 */
enum dlcp_cmsg {
	DLCP_CMSG_ATTR		= 1,
	DLCP_CMSG_TAGS		= 2,
	DLCP_CMSG_WANT		= 3,
	DLCP_CMSG_MSG		= 4,
	DLCP_CMSG_RANGES	= 5,
	DLCP_CMSG_REPORT	= 6,
};

/* dlcp_attr.mask: which attributes are given; the rest take the defaults */
#define DLCP_ATTR_KEY		(1U << 0)
#define DLCP_ATTR_LENGTH	(1U << 1)
#define DLCP_ATTR_COOKIE	(1U << 2)
#define DLCP_ATTR_LOSS		(1U << 3)
#define DLCP_ATTR_DEADLINE	(1U << 4)
#define DLCP_ATTR_ELEM		(1U << 5)
#define DLCP_ATTR_PRIO		(1U << 6)
#define DLCP_ATTR_FLAGS		(1U << 7)
#define DLCP_ATTR_GROUP		(1U << 8)
#define DLCP_ATTR_ALL		((1U << 9) - 1)

/* Flags of a message */
/* Complete as soon as the bound allows, rather than vest the loss budget */
#define DLCP_MSG_EARLY_STOP	(1U << 0)
/* At the deadline complete even below the bound */
#define DLCP_MSG_HARD_DEADLINE	(1U << 1)
/* Put a report on the sender's error queue when the message is over */
#define DLCP_MSG_REPORT		(1U << 2)
/* Flags a sender may give */
#define DLCP_MSG_SENDER_FLAGS	(DLCP_MSG_EARLY_STOP | \
				 DLCP_MSG_HARD_DEADLINE | DLCP_MSG_REPORT)
/* Set by the kernel in dlcp_msg and dlcp_report: */
/* completed below its bound by a hard deadline */
#define DLCP_MSG_BELOW_BOUND	(1U << 8)
/* the receiver stopped the sender early */
#define DLCP_MSG_STOPPED	(1U << 9)
/* the deadline had passed when it completed; in a report also if it passed
 * between that and the news of it, unless something is missing
 */
#define DLCP_MSG_LATE		(1U << 10)
/* the receiver did not want it (dlcp_want.flags DLCP_WANT_DISCARD) */
#define DLCP_MSG_DISCARDED	(1U << 11)

/**
 * struct dlcp_attr - attributes of a message to send
 * @mask: DLCP_ATTR_*: which fields below are given
 * @flags: DLCP_MSG_EARLY_STOP, _HARD_DEADLINE, _REPORT
 * @key: name of the message for the receiver (tensor and step, say); need
 *	not be unique. Default 0.
 * @length: bytes; if given it must equal what sendmsg() was passed, else
 *	EMSGSIZE
 * @cookie: comes back in the report, unread
 * @loss_ppm: loss bound p, 0..1000000 parts per million of the length that
 *	may be missing; default 0, fully reliable
 * @deadline_us: microseconds from sendmsg(); 0 = none (default)
 * @elem_size: bytes of one element, 1..256; a segment never cuts one.
 *	Default 4.
 * @prio: priority class 0 (most urgent) .. 7; default 4
 * @__pad: must be zero
 * @group: number of a group of messages on this connection, of one training step,
 *	say. They share their bounds: a message may lack more than its own if
 *	others lack less, and all together never lack more than the sum of their
 *	bounds. While 8 groups are under way, messages of further ones have
 *	their own bounds. 0 = none (default).
 */
struct dlcp_attr {
	__u32	mask;
	__u32	flags;
	__u64	key;
	__u64	length;
	__u64	cookie;
	__u32	loss_ppm;
	__u32	deadline_us;
	__u16	elem_size;
	__u8	prio;
	__u8	__pad;
	__u32	group;
};

/**
 * enum dlcp_tag - what the sender says of a part of a message
 * @DLCP_TAG_IMPORTANT: large magnitude; the default
 * @DLCP_TAG_DROPPABLE: small magnitude: the first to be dropped
 * @DLCP_TAG_CRITICAL: never given up
 */
enum dlcp_tag {
	DLCP_TAG_IMPORTANT	= 0,
	DLCP_TAG_DROPPABLE	= 1,
	DLCP_TAG_CRITICAL	= 2,
};

/**
 * struct dlcp_tags - tags of the parts of a message to send
 * @stride: bytes of one part, >= 1; part i covers bytes [i * stride, (i + 1) *
 *	stride). dlcp_info.seg_size is a good choice.
 * @count: number of tags, exactly the message's length / @stride rounded up
 * @tags: 2 bits each (enum dlcp_tag), the lowest bits first, 4 to a byte
 *
 * A segment that lies in several parts takes the most important of their tags.
 * Another number of tags or bytes, or a tag of 3, is EINVAL. All control messages
 * of a call have at most net.core.optmem_max bytes, else ENOBUFS.
 */
struct dlcp_tags {
	__u32	stride;
	__u32	count;
	/* ISO C++ has no such members */
	__extension__ __u8 tags[];
};

/* dlcp_want.flags */
/* Only the message with this key; without it, any */
#define DLCP_WANT_KEY		(1U << 0)
/* Leave missing ranges as they are, whatever DLCP_FILL says */
#define DLCP_WANT_KEEP		(1U << 1)
/* Fill missing ranges with zeros, whatever DLCP_FILL says */
#define DLCP_WANT_ZERO		(1U << 2)
/* Throw the message away; nothing is copied, the sender is stopped */
#define DLCP_WANT_DISCARD	(1U << 3)

/**
 * struct dlcp_want - which message recvmsg() shall return
 * @key: see DLCP_WANT_KEY
 * @flags: DLCP_WANT_*; KEEP and ZERO together are EINVAL, as are unknown ones
 * @__pad: must be zero
 */
struct dlcp_want {
	__u64	key;
	__u32	flags;
	__u32	__pad;
};

/**
 * struct dlcp_msg - a received message
 * @key: as the sender gave it
 * @length: bytes of the whole message
 * @missing: bytes missing; 0 while it is not @complete
 * @id: number of the message on its connection, from 0, in sendmsg() order
 * @flags: DLCP_MSG_*
 * @loss_ppm: its loss bound
 * @seg_size: bytes of a segment
 * @nr_ranges: number of missing ranges, whether or not they fitted; 0 while it
 *	is not @complete
 * @elem_size: bytes of one element
 * @prio: priority class
 * @complete: 0 only with MSG_PEEK, for a message still on its way
 * @__pad: zero
 */
struct dlcp_msg {
	__u64	key;
	__u64	length;
	__u64	missing;
	__u64	id;
	__u32	flags;
	__u32	loss_ppm;
	__u32	seg_size;
	__u32	nr_ranges;
	__u16	elem_size;
	__u8	prio;
	__u8	complete;
	__u32	__pad;
};

/**
 * enum dlcp_why - why a range is missing
 * @DLCP_WHY_FORGIVEN: lost, and given up within the bound; or not there a short
 *	silence after all was sent once, and within the bound
 * @DLCP_WHY_STOPPED: not there when the receiver stopped the sender early
 * @DLCP_WHY_DEADLINE: not there at the deadline
 * @DLCP_WHY_DISCARDED: the receiver discarded the message
 */
enum dlcp_why {
	DLCP_WHY_FORGIVEN	= 1,
	DLCP_WHY_STOPPED	= 2,
	DLCP_WHY_DEADLINE	= 3,
	DLCP_WHY_DISCARDED	= 4,
};

/**
 * struct dlcp_range - a missing range of a message
 * @offset: first byte
 * @length: bytes
 * @why: enum dlcp_why
 * @__pad: zero
 */
struct dlcp_range {
	__u64	offset;
	__u64	length;
	__u32	why;
	__u32	__pad;
};

/**
 * struct dlcp_report - what became of a sent message
 * @cookie: as given in dlcp_attr
 * @key: as given in dlcp_attr
 * @length: bytes of the message
 * @missing: bytes the receiver did not get; 0 with an @error
 * @resent: bytes sent more than once
 * @id: number of the message on its connection, from 0, in sendmsg() order
 * @duration_ns: nanoseconds from sendmsg() to the message's end
 * @flags: DLCP_MSG_*
 * @nr_ranges: number of missing ranges, which follow in DLCP_CMSG_RANGES; 0 with
 *	an @error
 * @error: 0, or the errno with which the connection ended before the
 *	message did; what the receiver has of it is then unknown
 * @__pad: zero
 */
struct dlcp_report {
	__u64	cookie;
	__u64	key;
	__u64	length;
	__u64	missing;
	__u64	resent;
	__u64	id;
	__u64	duration_ns;
	__u32	flags;
	__u32	nr_ranges;
	__u32	error;
	__u32	__pad;
};

/**
 * enum dlcp_state - state of a connection
 * @DLCP_CLOSED: not connected, or over
 * @DLCP_LISTEN: listening
 * @DLCP_INIT_SENT: connect(): asked for a cookie
 * @DLCP_ECHO_SENT: connect(): cookie sent back
 * @DLCP_ESTABLISHED: open in both directions
 * @DLCP_CLOSING: shut down; what was sent is still being delivered
 */
enum dlcp_state {
	DLCP_CLOSED		= 0,
	DLCP_LISTEN		= 1,
	DLCP_INIT_SENT		= 2,
	DLCP_ECHO_SENT		= 3,
	DLCP_ESTABLISHED	= 4,
	DLCP_CLOSING		= 5,
};

/**
 * struct dlcp_info - state and counters of a connection
 * @state: enum dlcp_state
 * @encap: enum dlcp_encap
 * @version: protocol version in use
 * @nr_paths: paths in use
 * @mtu: path MTU: bytes of a packet with its IP header
 * @seg_size: bytes of the largest segment for elements of 4 bytes
 * @srtt_ns: smoothed round-trip time of the best path
 * @rttvar_ns: its mean deviation
 * @min_rtt_ns: minimum of its part in the network: without the time packets
 *	wait in the hosts
 * @cwnd: congestion window, bytes
 * @inflight: bytes sent and neither acknowledged nor declared lost
 * @pacing_rate: at which packets are sent, bytes per second
 * @delivery_rate: bytes per second, last measured
 * @tx_offered: bytes given to sendmsg()
 * @tx_delivered: bytes the receiver has acknowledged
 * @tx_forgiven: bytes missing from completed messages
 * @tx_resent: bytes sent again
 * @tx_sent: payload bytes sent, first and again
 * @tx_msgs: messages given to sendmsg()
 * @tx_msgs_done: messages whose report is known
 * @rx_offered: bytes of the messages the peer announced
 * @rx_delivered: payload bytes received, each counted once
 * @rx_forgiven: bytes missing from completed messages
 * @rx_dup: payload bytes received again
 * @rx_msgs: messages the peer announced
 * @rx_msgs_done: messages completed
 * @tx_packets: packets sent
 * @rx_packets: packets received
 * @lost_packets: packets declared lost
 * @spurious: packets declared lost that were acknowledged later
 * @ce_marks: packets of ours that arrived with a congestion mark
 * @probes: probe timeouts
 * @nr_pairs: pairs of addresses in use (net.dlcp.rails)
 * @__pad: zero
 */
struct dlcp_info {
	__u8	state;
	__u8	encap;
	__u8	version;
	__u8	nr_paths;
	__u32	mtu;
	__u32	seg_size;
	__u32	probes;
	__u64	srtt_ns;
	__u64	rttvar_ns;
	__u64	min_rtt_ns;
	__u64	cwnd;
	__u64	inflight;
	__u64	pacing_rate;
	__u64	delivery_rate;
	__u64	tx_offered;
	__u64	tx_delivered;
	__u64	tx_forgiven;
	__u64	tx_resent;
	__u64	tx_sent;
	__u64	tx_msgs;
	__u64	tx_msgs_done;
	__u64	rx_offered;
	__u64	rx_delivered;
	__u64	rx_forgiven;
	__u64	rx_dup;
	__u64	rx_msgs;
	__u64	rx_msgs_done;
	__u64	tx_packets;
	__u64	rx_packets;
	__u64	lost_packets;
	__u64	spurious;
	__u64	ce_marks;
	__u32	nr_pairs;
	__u32	__pad;
};

/**
 * enum dlcp_path_state - what is known of a path
 * @DLCP_PATH_WORKS: its packets are acknowledged
 * @DLCP_PATH_ASKED: a probe was sent and is not answered yet; data goes by
 *	other paths meanwhile
 * @DLCP_PATH_FAILED: given up; it is probed now and then, with other entropies
 */
enum dlcp_path_state {
	DLCP_PATH_WORKS		= 0,
	DLCP_PATH_ASKED		= 1,
	DLCP_PATH_FAILED	= 2,
};

/**
 * struct dlcp_path_info - one way through the network, as the sender sees it
 * @size: bytes from this entry of DLCP_PATH_INFO's array to the next one: not
 *	sizeof the struct where the kernel knows more of a path, or less
 * @__pad: zero
 * @id: number of the path, from 0
 * @state: enum dlcp_path_state
 * @entropy: UDP source port, or what the IPv6 flow label is made of; it changes
 *	when another way is tried
 * @weight: share of what is in flight; 1024 is the mean of all paths
 * @srtt_ns: smoothed round-trip time between the hosts; 0: not known yet
 * @rttvar_ns: its mean deviation
 * @net_ns: smoothed round-trip time in the network alone, without the queues
 *	that ACKs stood in
 * @min_net_ns: its minimum
 * @packets: packets sent that are to be acknowledged: data, and what is sent
 *	again when it gets lost
 * @acked: of them acknowledged
 * @lost: of them declared lost
 * @ce_marks: of them arrived with a congestion mark
 * @inflight: bytes sent and neither acknowledged nor declared lost
 * @local: address it leaves from; of IPv4 the first 4 bytes, the rest zero
 * @remote: the peer's, likewise
 * @ifindex: device it leaves through; 0: there is no route
 * @pair: number of the pair of addresses: 0 that of the set-up, 1 + k the one
 *	on device k of net.dlcp.rails
 */
struct dlcp_path_info {
	__u32	size;
	__u32	__pad;
	__u8	id;
	__u8	state;
	__u16	entropy;
	__u32	weight;
	__u64	srtt_ns;
	__u64	rttvar_ns;
	__u64	net_ns;
	__u64	min_net_ns;
	__u64	packets;
	__u64	acked;
	__u64	lost;
	__u64	ce_marks;
	__u64	inflight;
	__u8	local[16];
	__u8	remote[16];
	__u32	ifindex;
	__u32	pair;
};

#endif /* _UAPI_LINUX_DLCP_H */
