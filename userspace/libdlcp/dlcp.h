/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdlcp: a small companion to the DLCP socket (dlcp(7)).
 *
 * DLCP carries messages, each a tensor with a name (key), a priority class
 * and a bound on how much of it may be missing. The kernel interface is
 * <linux/dlcp.h>; this library builds and parses its control messages, waits
 * with timeouts, and turns magnitudes into tags. It keeps no state of its
 * own about a socket: a file descriptor made here may be used with plain
 * system calls and the other way round (see dlcp_prepare()).
 *
 * Conventions, unless a function says otherwise:
 *
 * - Functions return -1 and set errno on failure; dlcp_last_error() then has
 *   a sentence about it. On success neither is touched.
 * - Timeouts are in milliseconds; a negative one waits without end, 0 does
 *   not wait. Running out of time is ETIMEDOUT where there is no connection
 *   yet, and EAGAIN on one, where ETIMEDOUT means that the peer is dead.
 * - A system call interrupted by a signal (EINTR) goes on, with the time that
 *   is left: timeouts count from the library's call on.
 * - Everything is thread safe. Two threads may send on, receive from and read
 *   reports from one socket at the same time; a struct dlcp_receipt, struct
 *   dlcp_reports or struct dlcp_tags must not be written by two at once.
 * - No function is async-signal safe.
 * - A struct that the caller allocates begins with its size: sizeof it, or 0,
 *   which means the size that it has in version 1.0, the first. It may grow at its end in
 *   later versions. EINVAL when it is shorter than the first version; E2BIG
 *   when it has a member that the library does not know and that is not 0.
 *   Structs of <linux/dlcp.h> inside others have room to grow, which must be 0.
 */
#ifndef LIBDLCP_DLCP_H
#define LIBDLCP_DLCP_H

#include <linux/dlcp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBDLCP_VERSION_MAJOR	1
#define LIBDLCP_VERSION_MINOR	0
#define LIBDLCP_VERSION_PATCH	0

/* Room for what later kernels add to a struct of <linux/dlcp.h> */
#define DLCP_ROOM(type)	(128 - sizeof(struct type))

/**
 * dlcp_version() - version of the library in use
 *
 * Return: major * 10000 + minor * 100 + patch. Never fails.
 */
unsigned int dlcp_version(void);

/**
 * dlcp_last_error() - what went wrong in this thread's last failed call
 *
 * Return: a sentence without a full stop or newline, never NULL; "no error"
 * before the first failure. Valid until the next failure in this thread.
 */
const char *dlcp_last_error(void);

/**
 * DOC: sockets
 */

/**
 * dlcp_socket() - make a DLCP socket
 * @family: AF_INET or AF_INET6
 *
 * The socket is blocking and close-on-exec, and dlcp_prepare() has been
 * called on it. Set options that must come before the connection (bind(),
 * DLCP_ENCAP, SO_BINDTODEVICE) and go on with dlcp_connect_fd() or listen().
 *
 * Return: a file descriptor. ESOCKTNOSUPPORT or EPROTONOSUPPORT means that
 * the kernel module is not loaded, and dlcp_last_error() says what to do.
 */
int dlcp_socket(int family);

/**
 * dlcp_prepare() - make a DLCP socket from elsewhere fit for this library
 * @fd: a DLCP socket
 *
 * Switches DLCP_RECVWANT on, which dlcp_recv() and dlcp_peek() need. Sockets
 * from dlcp_socket(), dlcp_connect(), dlcp_listen() and dlcp_accept() have it.
 *
 * Return: 0; ENOPROTOOPT or EOPNOTSUPP when @fd is not a DLCP socket.
 */
int dlcp_prepare(int fd);

/**
 * dlcp_listen() - listen for connections
 * @host: address or name to listen at; NULL for every address, IPv6 and IPv4
 *	(the peers of the latter then have IPv4-mapped addresses)
 * @port: port number or service name; "0" lets the kernel choose (ask with
 *	getsockname())
 * @backlog: as for listen(2); <= 0 means SOMAXCONN
 *
 * Return: a listening socket; the errno of the last address tried.
 * EADDRNOTAVAIL when @host or @port cannot be resolved.
 */
int dlcp_listen(const char *host, const char *port, int backlog);

/**
 * dlcp_accept() - take the next connection
 * @fd: a listening socket; it becomes non-blocking
 * @timeout_ms: how long to wait
 *
 * Connections that are over before they are taken are passed over.
 *
 * Return: a connected, blocking, close-on-exec socket. ETIMEDOUT; EINVAL when
 * @fd does not listen; EMFILE and others of accept(2).
 */
int dlcp_accept(int fd, int timeout_ms);

/**
 * dlcp_connect() - connect to a host
 * @host: name or address, IPv4 or IPv6. Its addresses are tried as RFC 8305
 *	says: the next 250 ms after the last, or when that fails; the first
 *	that answers is taken
 * @port: port number or service name
 * @timeout_ms: for all addresses together, and for the resolver
 *
 * Return: a connected, blocking socket; the errno of the last address tried
 * (ECONNREFUSED, EHOSTUNREACH, ETIMEDOUT, ...). EADDRNOTAVAIL when @host or
 * @port cannot be resolved.
 */
int dlcp_connect(const char *host, const char *port, int timeout_ms);

/**
 * dlcp_connect_fd() - connect a socket made with dlcp_socket()
 * @fd: the socket; it is not closed on failure
 * @addr: peer
 * @addrlen: bytes of @addr
 * @timeout_ms: how long to wait
 *
 * Return: 0; the errno of connect(2), or ETIMEDOUT.
 */
int dlcp_connect_fd(int fd, const struct sockaddr *addr, socklen_t addrlen,
		    int timeout_ms);

/**
 * dlcp_set_defaults() - defaults for the messages to be sent
 * @fd: a DLCP socket
 * @attr: @attr->mask tells which fields count. key, length and cookie have
 *	no default (EINVAL).
 *
 * Return: 0.
 */
int dlcp_set_defaults(int fd, const struct dlcp_attr *attr);

/**
 * dlcp_set_timeouts() - limits for the blocking calls of a socket
 * @fd: a DLCP socket
 * @send_ms: for dlcp_send() until the message begins; < 0: none, the default.
 *	Milliseconds.
 * @recv_ms: for dlcp_recv() and dlcp_peek(); likewise
 *
 * A call that runs out of time fails with EAGAIN. Nothing was sent; but see
 * dlcp_recv() about the buffer.
 *
 * Sets SO_SNDTIMEO and SO_RCVTIMEO. 0 is taken as 1 ms; for a call that does
 * not wait at all use MSG_DONTWAIT.
 *
 * Return: 0.
 */
int dlcp_set_timeouts(int fd, int send_ms, int recv_ms);

/**
 * dlcp_set_buffers() - room for messages on their way
 * @fd: a DLCP socket
 * @send_bytes: SO_SNDBUF; 0 leaves it. Messages that fit wait side by side,
 *	so that an urgent one sent last still leaves first.
 * @recv_bytes: SO_RCVBUF; 0 leaves it
 *
 * With CAP_NET_ADMIN the system's limits (net.core.wmem_max, rmem_max) are
 * exceeded where needed; without it the kernel gives as much as it allows, which
 * is no error. More than INT_MAX / 2 is taken as that.
 *
 * Return: 0.
 */
int dlcp_set_buffers(int fd, size_t send_bytes, size_t recv_bytes);

/**
 * dlcp_allow_zerocopy() - let messages be sent without being copied
 * @fd: a DLCP socket
 *
 * From then on dlcp_send() takes MSG_ZEROCOPY, which pays from some 100 kB on.
 * The buffer must not be changed until dlcp_reports() has told that its number
 * is over: that all of it has been received, or given up. The memory counts
 * against RLIMIT_MEMLOCK.
 *
 * Return: 0.
 */
int dlcp_allow_zerocopy(int fd);

/** dlcp_get_info_sized() - as dlcp_get_info(), for @size bytes at @info */
int dlcp_get_info_sized(int fd, struct dlcp_info *info, size_t size);

/**
 * dlcp_get_info() - state and counters of a connection
 * @fd: a DLCP socket
 * @info: filled in; fields that the kernel does not know become 0
 *
 * Return: 0.
 */
static inline int dlcp_get_info(int fd, struct dlcp_info *info)
{
	return dlcp_get_info_sized(fd, info, sizeof(*info));
}

/**
 * dlcp_conn_error() - why a connection failed, in the kernel's words
 * @fd: a DLCP socket
 * @text: where to put a string, "" if the kernel has nothing to say
 * @len: bytes at @text; DLCP_ERROR_TEXT_MAX is enough. 0: EINVAL
 *
 * Return: 0.
 */
int dlcp_conn_error(int fd, char *text, size_t len);

/**
 * dlcp_wait() - wait for a socket
 * @fd: a DLCP socket
 * @events: POLLIN (a message, a connection or the end), POLLOUT or 0;
 *	POLLERR (reports, or the connection's failure) always counts
 * @timeout_ms: how long
 *
 * poll(2) that goes on after a signal with the time that is left.
 *
 * Return: the events that are there (> 0); ETIMEDOUT when there are none.
 */
int dlcp_wait(int fd, short events, int timeout_ms);

/**
 * DOC: sending
 */

/**
 * struct dlcp_send - a message to send
 * @size: see the head of this file
 * @buf: its bytes
 * @len: their number; may be 0
 * @iov: used instead of @buf and @len when @iovcnt is not 0
 * @iovcnt: entries at @iov, at most IOV_MAX (1024)
 * @flags: MSG_DONTWAIT, MSG_ZEROCOPY (see dlcp_allow_zerocopy()) or 0
 * @attr: attributes; @attr.mask tells which are given, the others take the
 *	socket's defaults. See struct dlcp_attr in <linux/dlcp.h>.
 * @attr_room: 0
 * @tags: tags for its parts, or NULL: all important
 */
struct dlcp_send {
	size_t			size;
	const void		*buf;
	size_t			len;
	const struct iovec	*iov;
	unsigned int		iovcnt;
	int			flags;
	struct dlcp_attr	attr;
	uint8_t			attr_room[DLCP_ROOM(dlcp_attr)];
	const struct dlcp_tags	*tags;
};

/**
 * dlcp_send() - send a message
 * @fd: a connected socket
 * @msg: the message; nothing of it is needed after the call returns, unless
 *	MSG_ZEROCOPY was given
 *
 * Blocks until the kernel has all the bytes. They need not have left the host:
 * ask for DLCP_MSG_REPORT to learn what became of them.
 *
 * Return: the message's length. EAGAIN when it does not fit now, with
 * MSG_DONTWAIT, O_NONBLOCK or after dlcp_set_timeouts(): nothing was taken;
 * EMSGSIZE when it could never be sent without blocking on this O_NONBLOCK
 * socket, or is too long; EINVAL for attributes or tags the kernel refuses;
 * ENOBUFS when SO_SNDBUF is full of reports that nobody reads, the limit of
 * MSG_ZEROCOPY is reached (read reports), or the tags exceed
 * net.core.optmem_max (use a longer stride); EPIPE, ECONNRESET and others when
 * the connection is over.
 */
ssize_t dlcp_send(int fd, const struct dlcp_send *msg);

/**
 * DOC: receiving
 */

/**
 * struct dlcp_receipt - what came of a message at the receiver
 * @size: see the head of this file
 * @msg: the message as the kernel describes it
 * @msg_room: 0
 * @eof: 1 when there was no message, because the peer has finished sending
 *	and everything was received
 * @truncated: 1 when @ranges is not the whole list; @msg.missing is right
 *	all the same. dlcp_recv() sizes its buffers so that this happens only
 *	with segments of less than 128 bytes, or for a discarded message.
 * @nr_ranges: entries at @ranges
 * @ranges: what is missing, ascending, without overlap
 *
 * Zero it before the first use, but for @size, use it again as often as wanted,
 * and free it with dlcp_receipt_free(). The members after @ranges are the library's.
 */
struct dlcp_receipt {
	size_t			size;
	struct dlcp_msg		msg;
	uint8_t			msg_room[DLCP_ROOM(dlcp_msg)];
	int			eof;
	int			truncated;
	size_t			nr_ranges;
	struct dlcp_range	*ranges;
	size_t			max_ranges;
	void			*control;
	size_t			control_len;
};

/** dlcp_receipt_free() - free what a receipt holds and zero it; errno and @size stay */
void dlcp_receipt_free(struct dlcp_receipt *receipt);

/** dlcp_want_key() - the message with this key; for dlcp_recv() */
static inline struct dlcp_want dlcp_want_key(uint64_t key)
{
	struct dlcp_want want = { 0, 0, 0 };

	want.key = key;
	want.flags = DLCP_WANT_KEY;
	return want;
}

/*
 * For dlcp_recv(fd, DLCP_KEY(k), ...). In C it lives as long as the enclosing
 * block; in C++ until the call is over, so that a pointer must not be kept.
 */
#ifdef __cplusplus
#define DLCP_KEY(k)	(&static_cast<const struct dlcp_want &>( \
				dlcp_want_key(k)))
#else
#define DLCP_KEY(k)	(&(const struct dlcp_want){ \
				.key = (k), .flags = DLCP_WANT_KEY })
#endif
/* For dlcp_recv(fd, DLCP_ANY, ...): whichever message completes first */
#ifdef __cplusplus
#define DLCP_ANY	(static_cast<const struct dlcp_want *>(nullptr))
#else
#define DLCP_ANY	((const struct dlcp_want *)0)
#endif

/**
 * dlcp_recv() - receive one message
 * @fd: a connected socket prepared by this library
 * @want: which message: DLCP_ANY, DLCP_KEY(key), or a struct dlcp_want with
 *	DLCP_WANT_KEEP, _ZERO or _DISCARD (whose ranges may be truncated)
 * @buf: where its bytes go. Missing ranges are zeroed or left as they were
 *	(DLCP_FILL, DLCP_WANT_KEEP, DLCP_WANT_ZERO).
 * @len: bytes at @buf
 * @flags: MSG_DONTWAIT, MSG_TRUNC (let the part that does not fit be lost)
 *	or 0
 * @receipt: filled in; NULL if it is of no interest, which makes sense only
 *	for messages with loss bound 0 whose end is known otherwise
 *
 * A long message is copied as it arrives. When the call fails with EAGAIN, a
 * part of it may be in @buf already: receive it with the same @buf and @len
 * next time, or discard it; with another buffer the answer is EBUSY.
 *
 * Return: the message's length; 0 with @receipt->eof set at the end of the
 * connection, and for a message that was discarded. EMSGSIZE when the message
 * is longer than @len (nothing is lost; ask dlcp_peek() for its length);
 * EAGAIN with MSG_DONTWAIT, O_NONBLOCK or after dlcp_set_timeouts(); EBUSY, see
 * above; ENOMEM; ETIMEDOUT, ECONNRESET and others when the connection has
 * failed.
 */
ssize_t dlcp_recv(int fd, const struct dlcp_want *want, void *buf, size_t len,
		  int flags, struct dlcp_receipt *receipt);

/**
 * dlcp_peek() - look at a message without taking it
 * @fd: a connected socket prepared by this library
 * @want: which message, see dlcp_recv()
 * @flags: MSG_DONTWAIT or 0
 * @receipt: filled in, may be NULL. @receipt->msg.complete is 0 while the
 *	message is still on its way; its ranges are then not known yet. Unless
 *	it was asked for by its key, it may not be complete before it is
 *	received: see dlcp(7).
 *
 * Return: the message's length in bytes; errors as for dlcp_recv().
 */
ssize_t dlcp_peek(int fd, const struct dlcp_want *want, int flags,
		  struct dlcp_receipt *receipt);

/**
 * DOC: reports
 */

/**
 * struct dlcp_sent - what became of one message that was sent
 * @report: as the kernel gives it: key, cookie, bytes missing and resent
 * @report_room: 0
 * @nr_ranges: entries at @ranges, equal to @report.nr_ranges unless
 *	@truncated
 * @truncated: 1 when @ranges is not the whole list
 * @ranges: what the receiver lacks, ascending; the same as in its receipt
 * @reserved: 0; the library allocates these, as an array, so they never grow
 */
struct dlcp_sent {
	struct dlcp_report	report;
	uint8_t			report_room[DLCP_ROOM(dlcp_report)];
	size_t			nr_ranges;
	int			truncated;
	const struct dlcp_range	*ranges;
	uint64_t		reserved[4];
};

/**
 * struct dlcp_reports - a batch of reports
 * @size: see the head of this file
 * @nr: entries at @sent
 * @sent: the reports, valid until the next dlcp_reports() with this batch
 * @nr_zerocopy: how many sends with MSG_ZEROCOPY are over; their buffers are
 *	yours again
 * @first_zerocopy: the first of them: they are numbered from 0 on, by socket,
 *	in the order of dlcp_send(), and not always over in this order
 * @copied: 1 when the kernel had to copy after all
 *
 * Zero it before the first use, but for @size, use it again, and free it with
 * dlcp_reports_free(). The members after @copied are the library's.
 */
struct dlcp_reports {
	size_t			size;
	size_t			nr;
	struct dlcp_sent	*sent;
	uint32_t		nr_zerocopy;
	uint32_t		first_zerocopy;
	int			copied;
	size_t			max_sent;
	struct dlcp_range	*ranges;
	size_t			max_ranges;
	void			*control;
	size_t			control_len;
};

/** dlcp_reports_free() - free what a batch holds and zero it; errno and @size stay */
void dlcp_reports_free(struct dlcp_reports *reports);

/**
 * dlcp_reports() - read reports of messages sent with DLCP_MSG_REPORT
 * @fd: a connected socket
 * @reports: emptied and filled with all that one system call brings
 * @timeout_ms: how long to wait for the first
 *
 * Read them regularly: unread reports count against the socket's memory.
 *
 * Return: their number; 0 only if zero-copy sends are over and there is no
 * report. EAGAIN when there is none in time; EPIPE when none is left and the
 * connection has been shut down in both directions; the connection's errno when
 * it has failed; ENOMEM.
 */
int dlcp_reports(int fd, struct dlcp_reports *reports, int timeout_ms);

/**
 * DOC: tags
 *
 * A tag says of a part of a message how much it hurts to lose it. The tags of
 * a message are a struct dlcp_tags from <linux/dlcp.h>: 2 bits for each part
 * of @stride bytes. The best stride is the connection's segment size, or a
 * multiple of it (dlcp_info.seg_size).
 */

/**
 * dlcp_tags_new() - tags for a message, all important
 * @len: bytes of the message
 * @stride: bytes of one part, > 0
 *
 * Return: to be freed with dlcp_tags_free(), or NULL (ENOMEM, EINVAL;
 * EOVERFLOW if there would be more than 2^32 - 1 parts).
 */
struct dlcp_tags *dlcp_tags_new(size_t len, uint32_t stride);

/** dlcp_tags_free() - free what dlcp_tags_new() returned; NULL is allowed */
void dlcp_tags_free(struct dlcp_tags *tags);

/** dlcp_tags_bytes() - size of @tags with its array, in bytes */
size_t dlcp_tags_bytes(const struct dlcp_tags *tags);

/** dlcp_tags_get() - the tag of part @i; @i must be < @tags->count */
enum dlcp_tag dlcp_tags_get(const struct dlcp_tags *tags, uint32_t i);

/** dlcp_tags_set() - change the tag of part @i; @i must be < @tags->count */
void dlcp_tags_set(struct dlcp_tags *tags, uint32_t i, enum dlcp_tag tag);

/**
 * dlcp_tags_means() - mean magnitude of each part of a tensor
 * @g: elements
 * @n: number of elements
 * @per_part: elements of one part, > 0; the last part may have fewer
 * @means: where the means of |g| go, one float for each part
 *
 * Uses AVX2 where the processor has it; the result is the same, bit for bit,
 * on every processor. A part with a NaN has a NaN mean. Never fails.
 */
void dlcp_tags_means(const float *g, size_t n, size_t per_part, float *means);

/**
 * dlcp_tags_f32() - tag the parts of a tensor by their magnitude
 * @tags: made by dlcp_tags_new(@n * 4, stride), stride a multiple of 4
 * @g: elements of the tensor
 * @n: their number
 * @droppable: share of the parts, 0..1: those with the smallest mean |g|
 *	become droppable
 * @critical: share of the parts, 0..1: those with the largest mean |g|
 *	become critical. Together with @droppable at most 1.
 *
 * Shares are rounded down to whole parts; of equal means the earlier part
 * counts as the smaller; a NaN counts as larger than everything.
 *
 * Return: 0; EINVAL when @tags does not fit @n or the shares make no sense;
 * ENOMEM.
 */
int dlcp_tags_f32(struct dlcp_tags *tags, const float *g, size_t n,
		  double droppable, double critical);

#ifdef __cplusplus
}
#endif

#endif /* LIBDLCP_DLCP_H */
