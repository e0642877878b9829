/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Collective communication over DLCP (libdlcp-coll(3)): all-reduce and its
 * parts, and a parameter server, among a fixed group of processes (ranks).
 *
 * Conventions, unless a function says otherwise:
 *
 * - Functions return -1 and set errno on failure; dlcp_last_error() then has
 *   a sentence about it. What is refused (EINVAL, EBUSY, EOPNOTSUPP, and for
 *   want of file descriptors EMFILE, ENFILE) changes nothing and concerns the
 *   caller alone, who may try again. Every other failure ends the group: all
 *   operations of all its ranks fail, within the group's timeout, with a text
 *   that names the rank at fault, and dlcp_coll_close() is all that is left to
 *   do.
 * - All ranks call the same operations in the same order, with the same count,
 *   type and arguments (loss bounds, tags and priorities may differ, but in a
 *   ring all have a bound or none has). What differs is found out and reported:
 *   EBADMSG, by this operation, or by one of the next at ranks where this one
 *   was over. For that a rank waits, in every operation but those with dedicated
 *   servers, until at least the rank before it (before rank 0: the last) has
 *   begun it, too; and dedicated servers hear of every operation.
 * - Every operation takes a place for a handle: NULL makes it wait for its
 *   end; otherwise it returns at once, and its buffers are the library's until
 *   dlcp_coll_wait() has returned. Operations may overlap in any number, but
 *   each takes up to two file descriptors until then (RLIMIT_NOFILE). Of each
 *   rank's at most 256 run at a time, fewer if they are small, and the others
 *   wait for those before them. Some ranks may wait where others go on: what
 *   these send of operations that those have not begun is limited, and holds up
 *   nothing older.
 * - Counts are elements, not bytes. Input and output may be the same buffer
 *   where the function says so, and must not overlap otherwise.
 * - Thread safe, except that the order of calls must be the same on all ranks,
 *   so that calls from several threads need an order of their own.
 * - Structs that the caller allocates begin with their size, as in dlcp.h.
 * - A process that ends by exit() or by returning from main() without
 *   dlcp_coll_close() ends its groups, as dlcp_coll_abort() does. Of a child that
 *   fork() makes the group is none: there every call fails with ECHILD,
 *   dlcp_coll_close() and dlcp_coll_abort() do nothing, and its end means nothing.
 * - Not async-signal safe.
 */
#ifndef LIBDLCP_DLCP_COLL_H
#define LIBDLCP_DLCP_COLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A group, and an operation that was started */
struct dlcp_coll;
struct dlcp_coll_handle;

/** enum dlcp_coll_dtype - type of the elements */
enum dlcp_coll_dtype {
	DLCP_COLL_F32	= 0,
	DLCP_COLL_F16	= 1,
	DLCP_COLL_BF16	= 2,
	DLCP_COLL_I8	= 3,
	DLCP_COLL_I32	= 4,
	DLCP_COLL_F64	= 5,
	DLCP_COLL_I64	= 6,
	DLCP_COLL_U8	= 7,
};

/**
 * enum dlcp_coll_reduce - what becomes of several contributions
 * @DLCP_COLL_SUM: their sum; integers wrap around
 * @DLCP_COLL_AVG: their sum, divided by the number of ranks; integers are
 *	rounded towards zero
 * @DLCP_COLL_MAX: the largest; a NaN wins. This and what follows allow no loss
 * @DLCP_COLL_MIN: the smallest; a NaN wins
 * @DLCP_COLL_PRODUCT: their product; integers wrap around
 * @DLCP_COLL_AND: of their bits; this and the next two for integers only
 * @DLCP_COLL_OR: of their bits
 * @DLCP_COLL_XOR: of their bits
 *
 * 16-bit floats are reduced in 32 bits and rounded once, except by the ring,
 * which rounds at every rank.
 */
enum dlcp_coll_reduce {
	DLCP_COLL_SUM	= 0,
	DLCP_COLL_AVG	= 1,
	DLCP_COLL_MAX	= 2,
	DLCP_COLL_MIN	= 3,
	DLCP_COLL_PRODUCT = 4,
	DLCP_COLL_AND	= 5,
	DLCP_COLL_OR	= 6,
	DLCP_COLL_XOR	= 7,
};

/**
 * enum dlcp_coll_algo - how an all-reduce goes
 * @DLCP_COLL_AUTO: the dedicated servers where there are some; a ring for
 *	4 to 16 ranks, at least 32 KiB for each of them, no 16-bit floats, no
 *	averages of integers and no loss allowed, since no link is sent to by
 *	several then; else the transpose. So either all ranks have a bound or
 *	none has
 * @DLCP_COLL_RING: 2 * (world - 1) steps from neighbour to neighbour. Not for
 *	averages of integers, whose partial sums would overflow; and either all
 *	ranks have a bound or none has
 * @DLCP_COLL_TRANSPOSE: every rank reduces one part; two rounds
 * @DLCP_COLL_SERVER: the first ranks, or the dedicated servers, reduce
 */
enum dlcp_coll_algo {
	DLCP_COLL_AUTO		= 0,
	DLCP_COLL_RING		= 1,
	DLCP_COLL_TRANSPOSE	= 2,
	DLCP_COLL_SERVER	= 3,
};

/**
 * enum dlcp_coll_correct - what makes up for what was forgiven
 * @DLCP_COLL_FEEDBACK: it is added to the same rank's next contribution to
 *	the same tensor: late, but not lost. What is not finite is not kept.
 * @DLCP_COLL_AVERAGE: each part is divided by the contributions that really
 *	arrived (for a sum, times their expected number). Not with the ring.
 * @DLCP_COLL_NOTHING: lost is zero; for experiments
 *
 * One of them: both together would count a gradient twice.
 */
enum dlcp_coll_correct {
	DLCP_COLL_FEEDBACK	= 0,
	DLCP_COLL_AVERAGE	= 1,
	DLCP_COLL_NOTHING	= 2,
};

/** dlcp_coll_algo_name() - "ring" and so on; NULL if @algo is no enum dlcp_coll_algo */
const char *dlcp_coll_algo_name(int algo);

/** dlcp_coll_correct_name() - likewise, of enum dlcp_coll_correct */
const char *dlcp_coll_correct_name(int correct);

#define DLCP_COLL_WORLD_MAX	1024

/**
 * struct dlcp_coll_options - a group to be made
 * @size: dlcp_coll_options_init() sets it
 * @rank: this process, 0..@world - 1
 * @world: number of processes, with the dedicated servers; 1..DLCP_COLL_WORLD_MAX
 * @addrs: "host:port,host:port,...", one for each rank ("[v6]:port"), or NULL:
 *	all meet at @master_addr
 * @master_addr: where rank 0 is: a name or address all others can reach. Names
 *	that cannot be resolved and networks that are not there may come.
 * @master_port: DLCP port at which rank 0 listens (not a TCP port: TCP's of
 *	the same number may be in use)
 * @timeout_ms: limit, in milliseconds, for the making of the group, for every
 *	single operation (with dedicated servers a tenth less, as these know which
 *	worker is late), and for finding out that a rank is dead; > 0
 * @nr_servers: ranks that reduce for DLCP_COLL_SERVER, push and pull; 0 = 1
 * @dedicated: 1: these are the last @nr_servers ranks, which do nothing but
 *	dlcp_coll_serve() and contribute nothing; 0: the first ranks do it beside
 * @chunk_bytes: longest message (a ring without loss cuts shorter ones); a loss
 *	bound counts for each by itself, so that p * @chunk_bytes must exceed a
 *	packet for anything to be forgiven. Beyond net.dlcp.wmem's default
 *	SO_SNDBUF is raised, for which CAP_NET_ADMIN or net.core.wmem_max is needed
 * @small_bytes: operations up to this size go in one exact round between all
 *
 * @world, @nr_servers, @dedicated, @chunk_bytes and @small_bytes are the same at
 * all ranks: else dlcp_coll_open() fails, with EBADMSG where it is known why.
 */
struct dlcp_coll_options {
	size_t		size;
	int		rank;
	int		world;
	const char	*addrs;
	const char	*master_addr;
	const char	*master_port;
	int		timeout_ms;
	int		nr_servers;
	int		dedicated;
	size_t		chunk_bytes;
	size_t		small_bytes;
};

/** dlcp_coll_options_init_sized() - the same for @size bytes at @options */
void dlcp_coll_options_init_sized(struct dlcp_coll_options *options,
				  size_t size);

/**
 * dlcp_coll_options_init() - the defaults
 * @options: filled in: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from the
 *	environment (rank and world -1 without; the strings are the
 *	environment's), 30 s, chunks of 1 MiB, small operations up to 8 KiB
 */
static inline void dlcp_coll_options_init(struct dlcp_coll_options *options)
{
	dlcp_coll_options_init_sized(options, sizeof(*options));
}

/**
 * dlcp_coll_address() - an address by which other hosts may reach this one
 * @towards: a name or address of the network to be used, as MASTER_ADDR, or of
 *	this host; NULL is allowed
 * @buf: where a numerical address goes
 * @len: bytes there; 64 are enough
 *
 * For programs in which rank 0 tells the others where it is. The address of the
 * interface that DLCP_SOCKET_IFNAME chooses; else the one from which packets
 * to @towards leave, unless that is loopback; else that of the default route, or
 * of the first interface. Loopback if there is nothing else.
 *
 * Return: 0. ENODEV: DLCP_SOCKET_IFNAME chooses no interface; EADDRNOTAVAIL;
 * ENOSPC.
 */
int dlcp_coll_address(const char *towards, char *buf, size_t len);

/**
 * dlcp_coll_open() - meet the other ranks
 * @options: see there
 *
 * Makes a connection between any two ranks and a few threads. Blocks until all
 * have come. With the variable DLCP_COLL_TRACE set, what is missing from the
 * data that this rank receives is written to the file of that name with "."
 * and the rank added. Each message has a line "operation tensor half peer
 * first-element elements" (half: 1 reducing, 2 distributing; peer: who sent
 * it), followed by " first-element elements" for each range missing from it.
 *
 * The variable DLCP_SOCKET_IFNAME chooses the interface from which this rank
 * connects to others, and at whose address they connect to it:
 * libdlcp-coll(3).
 *
 * Return: the group, or NULL. EINVAL; ENODEV when DLCP_SOCKET_IFNAME chooses no
 * interface that is up and has an address; EBADMSG, when ranks do not have the same
 * options or the same number; ETIMEDOUT, with the missing ranks in the
 * text; EADDRINUSE; EMSGSIZE when SO_SNDBUF cannot be made large enough for
 * @chunk_bytes; EPROTONOSUPPORT or ESOCKTNOSUPPORT where the kernel module
 * is not loaded.
 */
struct dlcp_coll *dlcp_coll_open(const struct dlcp_coll_options *options);

/**
 * dlcp_coll_close() - leave the group
 * @coll: all operations must have been waited for; NULL is allowed
 *
 * Waits, no longer than the timeout, for the other ranks to close too, so that
 * what was sent last still arrives. After a failure it waits no longer than it
 * takes to tell them, a second at most.
 */
void dlcp_coll_close(struct dlcp_coll *coll);

/**
 * dlcp_coll_abort() - end the group on all ranks
 * @coll: a group; its calls fail with ECANCELED from now on, here too
 * @why: a sentence that all ranks are told, as far as some 180 bytes hold it
 *
 * Any thread may call it, also while others wait. It waits until all ranks know,
 * a second at most, and cannot fail. dlcp_coll_close() is still to be called.
 */
void dlcp_coll_abort(struct dlcp_coll *coll, const char *why);

/**
 * dlcp_coll_set_timeout() - another timeout than that of the options
 * @coll: a group
 * @timeout_ms: for operations that begin from now on, and for finding out
 *	that a rank is dead; > 0. Those under way keep theirs.
 *
 * Ranks need not agree on it: the first whose time is over ends the group.
 *
 * Return: 0. EINVAL for a @timeout_ms below 1; ECHILD
 */
int dlcp_coll_set_timeout(struct dlcp_coll *coll, int timeout_ms);

/** dlcp_coll_rank() - number of this process in the group */
int dlcp_coll_rank(const struct dlcp_coll *coll);

/** dlcp_coll_world() - number of ranks that contribute (without servers) */
int dlcp_coll_world(const struct dlcp_coll *coll);

/**
 * struct dlcp_coll_args - how an operation shall go; all zero is fine
 * @size: see dlcp.h
 * @tensor: name of the tensor, the same in every step; needed for error
 *	feedback and for push and pull; 0: none
 * @reduce: enum dlcp_coll_reduce
 * @algo: enum dlcp_coll_algo
 * @correct: enum dlcp_coll_correct
 * @prio: priority class, 0 (most urgent) .. 7; see dlcp_coll_prio()
 * @loss_ppm: bound for the reducing half, 0..1000000 parts per million
 * @loss2_ppm: bound for the distributing half. What is missing there keeps
 *	the old contents of the output, and replicas differ from then on; hence 0
 *	unless you know better.
 * @resync_every: with @loss2_ppm and @tensor: of so many operations of one
 *	kind (all-reduces, pulls, ...) on this tensor the last has a second bound
 *	of 0 after all; 0 = never
 * @droppable: share of the parts (segments) of each message with the smallest
 *	magnitudes tagged droppable, 0..1; only with @loss_ppm, and for floats of
 *	16 and 32 bits
 * @critical: share with the largest that are never given up, likewise
 * @step: number of the training step, say; not 0: all messages of that step from one
 *	rank to another share their bounds (dlcp_attr.group), so that a small
 *	tensor may lose more than its own if others lose less. 0: none do.
 *	What a dedicated server sends has its own bounds.
 */
struct dlcp_coll_args {
	size_t		size;
	uint64_t	tensor;
	uint8_t		reduce;
	uint8_t		algo;
	uint8_t		correct;
	uint8_t		prio;
	uint32_t	loss_ppm;
	uint32_t	loss2_ppm;
	uint32_t	resync_every;
	float		droppable;
	float		critical;
	uint32_t	step;
};

/**
 * dlcp_coll_prio() - class of a layer
 * @layer: 0 is the front
 * @layers: how many there are
 *
 * Return: 0 for the first eighth of the layers, and so on; 7 if @layer is not
 * below @layers
 */
uint8_t dlcp_coll_prio(unsigned int layer, unsigned int layers);

/**
 * dlcp_coll_all_reduce() - everybody gets the reduction of all inputs
 * @coll: the group
 * @in: @count elements
 * @out: @count elements; may be @in
 * @count: elements; 0 is allowed everywhere, and still an operation
 * @dtype: enum dlcp_coll_dtype
 * @args: NULL: all zero
 * @handle: see the head of this file
 *
 * With @loss2_ppm 0 the result is the same, bit for bit, on all ranks.
 *
 * Return: 0. EINVAL, also for more than 131,071 * chunk_bytes of all ranks together;
 * EBUSY when an operation on the same @args->tensor (other than a pull) is not over; EOPNOTSUPP for the ring with DLCP_COLL_AVERAGE or for
 * averages of integers; the group's errno (ETIMEDOUT, ECONNRESET, EBADMSG, ...).
 */
int dlcp_coll_all_reduce(struct dlcp_coll *coll, const void *in, void *out,
			 size_t count, int dtype,
			 const struct dlcp_coll_args *args,
			 struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_reduce_scatter() - rank r gets the r-th part of the reduction
 * @in: world * @count elements
 * @out: @count elements; may be this rank's part of @in
 *
 * Otherwise as dlcp_coll_all_reduce(), @args->algo being ignored.
 */
int dlcp_coll_reduce_scatter(struct dlcp_coll *coll, const void *in, void *out,
			     size_t count, int dtype,
			     const struct dlcp_coll_args *args,
			     struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_all_gather() - everybody gets the inputs of all, in rank order
 * @in: @count elements; may be this rank's part of @out
 * @out: world * @count elements
 *
 * Only @args->loss2_ppm, @prio and @tensor mean anything here.
 */
int dlcp_coll_all_gather(struct dlcp_coll *coll, const void *in, void *out,
			 size_t count, int dtype,
			 const struct dlcp_coll_args *args,
			 struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_broadcast() - everybody gets what rank @root has in @buf
 *
 * @args as for dlcp_coll_all_gather().
 */
int dlcp_coll_broadcast(struct dlcp_coll *coll, void *buf, size_t count,
			int dtype, int root, const struct dlcp_coll_args *args,
			struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_reduce() - rank @root gets the reduction of all inputs
 * @out: @count elements at @root, where it may be @in; elsewhere ignored
 *
 * Otherwise as dlcp_coll_all_reduce(), @args->algo being ignored. EINVAL for
 * @root, too.
 */
int dlcp_coll_reduce(struct dlcp_coll *coll, const void *in, void *out,
		     size_t count, int dtype, int root,
		     const struct dlcp_coll_args *args,
		     struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_gather() - rank @root gets the inputs of all, in rank order
 * @in: @count elements; at @root it may be its own part of @out
 * @out: world * @count elements at @root; elsewhere ignored
 *
 * Nothing is lost here, nor in the next two. Only @args->prio means anything.
 */
int dlcp_coll_gather(struct dlcp_coll *coll, const void *in, void *out,
		     size_t count, int dtype, int root,
		     const struct dlcp_coll_args *args,
		     struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_scatter() - rank r gets the r-th part of what rank @root has
 * @in: world * @count elements at @root; elsewhere ignored
 * @out: @count elements; at @root it may be its own part of @in
 */
int dlcp_coll_scatter(struct dlcp_coll *coll, const void *in, void *out,
		      size_t count, int dtype, int root,
		      const struct dlcp_coll_args *args,
		      struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_all_to_all() - every rank has something else for every rank
 * @in: what this rank has for rank 0, then for rank 1, and so on
 * @in_counts: elements for each rank
 * @out: what rank 0 has for this rank, then rank 1, and so on
 * @out_counts: elements from each rank
 *
 * Both lists are read before the call returns. Two ranks that do not mean the
 * same length end the group, with EBADMSG.
 */
int dlcp_coll_all_to_all(struct dlcp_coll *coll, const void *in,
			 const size_t *in_counts, void *out,
			 const size_t *out_counts, int dtype,
			 const struct dlcp_coll_args *args,
			 struct dlcp_coll_handle **handle);

/* Instead of a rank: any */
#define DLCP_COLL_ANY	(-1)

/**
 * dlcp_coll_send() - to one rank, which calls dlcp_coll_recv()
 * @buf: @len bytes
 * @len: of the message; 0 is allowed
 * @to: another rank
 * @tag: any number. A message goes to the first receive with its tag
 * @prio: priority class
 *
 * Messages of one tag between two ranks come in order. These calls are not among
 * those that all ranks have to make in the same order, and may come between
 * them anywhere. Nothing is sent before the other rank receives it, so that a
 * send is over no sooner. Each takes a thread while it is under way.
 *
 * Return: 0; EINVAL; the group's errno. A receive for which no message comes
 * within the group's timeout ends the group, as does a send that nobody receives.
 */
int dlcp_coll_send(struct dlcp_coll *coll, const void *buf, size_t len, int to,
		   uint32_t tag, uint8_t prio, struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_recv() - from one rank, which calls dlcp_coll_send()
 * @buf: @len bytes
 * @len: of the message; another one ends the group, with EMSGSIZE
 * @from: another rank, or DLCP_COLL_ANY
 * @tag: of the message
 */
int dlcp_coll_recv(struct dlcp_coll *coll, void *buf, size_t len, int from,
		   uint32_t tag, struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_source() - the rank that a message was from
 * @handle: of a dlcp_coll_recv() that is over by dlcp_coll_test(). Ask before
 *	dlcp_coll_wait(), which forgets the handle
 */
int dlcp_coll_source(const struct dlcp_coll_handle *handle);

/** dlcp_coll_barrier() - over when all ranks have called it */
int dlcp_coll_barrier(struct dlcp_coll *coll, struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_update_fn - what a server does with a reduced gradient
 * @ctx: as given
 * @tensor: which
 * @first: where in the tensor this part begins, elements
 * @grad: the reduction of all pushes of this round
 * @value: what is pulled afterwards; zero before the first round
 * @count: elements at @grad and @value
 * @dtype: their type
 *
 * Parts of one push may be handled by several threads at once. That of the
 * next push of the tensor begins when all of it is over.
 */
typedef void dlcp_coll_update_fn(void *ctx, uint64_t tensor, size_t first,
				 const void *grad, void *value, size_t count,
				 int dtype);

/**
 * dlcp_coll_set_update() - the server's side of push and pull
 * @coll: the group, on a rank that serves
 * @update: NULL, the default: the value becomes the gradient
 * @ctx: for @update
 *
 * To be called before the first push. Never fails.
 */
void dlcp_coll_set_update(struct dlcp_coll *coll, dlcp_coll_update_fn *update,
			  void *ctx);

/**
 * dlcp_coll_push() - contribute to a tensor on the servers
 *
 * As the reducing half of dlcp_coll_all_reduce(); @args->tensor must not be 0.
 * Over, on a worker, when all is sent (and reported, with feedback) and, without
 * dedicated servers, the rank before has begun it; on a server that is also a
 * worker, when the update is made. Servers make the updates of a tensor in the
 * order of its pushes. EINVAL, which ends the group, when the tensor was pushed
 * in another type or of another count before.
 */
int dlcp_coll_push(struct dlcp_coll *coll, const void *in, size_t count,
		   int dtype, const struct dlcp_coll_args *args,
		   struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_pull() - get a tensor from the servers
 *
 * It is the value after the last push before this call in program order. As
 * the distributing half; EINVAL, which ends the group, when the tensor was never
 * pushed, or in another type or of another count. Missing ranges
 * (@args->loss2_ppm) keep their old value in @out.
 */
int dlcp_coll_pull(struct dlcp_coll *coll, void *out, size_t count, int dtype,
		   const struct dlcp_coll_args *args,
		   struct dlcp_coll_handle **handle);

/**
 * dlcp_coll_serve() - be a dedicated server
 *
 * Blocks. Return: 0 when all workers have closed. EINVAL at a rank that is none;
 * ENOMEM; the group's errno.
 */
int dlcp_coll_serve(struct dlcp_coll *coll);

/**
 * dlcp_coll_wait() - wait for an operation, and forget it
 * @handle: gone afterwards, unless the errno is EAGAIN
 * @timeout_ms: how long to wait; < 0: until it is over, which is bounded by
 *	the group's timeout
 *
 * Return: 0; EAGAIN when it is not over in time; its errno.
 */
int dlcp_coll_wait(struct dlcp_coll_handle *handle, int timeout_ms);

/** dlcp_coll_test() - 1 when it is over and dlcp_coll_wait() will not block */
int dlcp_coll_test(struct dlcp_coll_handle *handle);

/**
 * dlcp_coll_fd() - a descriptor that polls readable once it is over
 *
 * It belongs to the handle: do not read from it or close it.
 */
int dlcp_coll_fd(const struct dlcp_coll_handle *handle);

/**
 * struct dlcp_coll_stats - counters since dlcp_coll_open(); bytes of payload
 * @ops: operations that are over
 * @sent: bytes given to the transport
 * @received: bytes of the messages received
 * @missing: of these, bytes that were missing
 * @fed_back: bytes that were added to later contributions
 */
struct dlcp_coll_stats {
	uint64_t	ops;
	uint64_t	sent;
	uint64_t	received;
	uint64_t	missing;
	uint64_t	fed_back;
};

/**
 * dlcp_coll_get_stats_sized() - read the counters; never fails
 * @size: bytes at @stats; those that the library does not know become 0
 */
void dlcp_coll_get_stats_sized(struct dlcp_coll *coll,
			       struct dlcp_coll_stats *stats, size_t size);

/** dlcp_coll_get_stats() - the same, for the struct as it is here */
static inline void dlcp_coll_get_stats(struct dlcp_coll *coll,
				       struct dlcp_coll_stats *stats)
{
	dlcp_coll_get_stats_sized(coll, stats, sizeof(*stats));
}

/**
 * struct dlcp_coll_phase - a loss bound that follows the phase of training
 * @size: see dlcp.h
 * @low_ppm: bound in critical phases
 * @high_ppm: bound elsewhere
 * @threshold: relative change of the gradient's norm from one step to the next
 *	that makes a phase critical; 0.5 is the published value
 * @hold: steps it stays critical after the last such change
 * @last: the library's: norm of the last step; start with 0
 * @left: the library's: critical steps left; start with 0
 *
 * For a constant bound set both to it.
 */
struct dlcp_coll_phase {
	size_t		size;
	uint32_t	low_ppm;
	uint32_t	high_ppm;
	double		threshold;
	unsigned int	hold;
	double		last;
	unsigned int	left;
};

/**
 * dlcp_coll_phase_next() - the bound for the next step
 * @phase: see there
 * @norm: norm of the gradient of the last step. Take the reduced one, which
 *	is the same on all ranks. One that is not finite is critical.
 *
 * The first step is critical.
 *
 * Return: parts per million
 */
uint32_t dlcp_coll_phase_next(struct dlcp_coll_phase *phase, double norm);

#ifdef __cplusplus
}
#endif

#endif /* LIBDLCP_DLCP_COLL_H */
