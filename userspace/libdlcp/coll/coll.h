/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside the collectives. From the bottom up, no file needs one that comes later:
 *
 *   names.c            what users call algorithms and corrections
 *   dtype.c floats.c ints.c combine.c reduce.c   element types and arithmetic
 *   clock.c cut.c buffer.c pool.c   time, parts and chunks, memory, threads
 *   fail.c             how a group fails; control messages
 *   ifname.c rendezvous.c fork.c    how ranks find each other; processes that end
 *   feedback.c         what was forgiven, kept for the next time
 *   task.c eager.c     threads of an operation; what may be sent before it is read
 *   head.c link.c      what an operation is; one message to or from one rank
 *   op.c               the life of an operation
 *   served.c           what operations need of the ranks that serve
 *   parts.c            operations whose parts have an owner each
 *   algo_*.c           algorithms
 *   choose.c           which algorithm an operation has
 *   group.c            control messages received, reports, deadlines, the end
 *   server.c           dedicated servers
 *   api.c thc.c        the calls of dlcp_coll.h
 */
#ifndef COLL_COLL_H
#define COLL_COLL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../dlcp_coll.h"
#include "../internal.h"
#include "reduce.h"

#define COLL_MAX_WORLD	DLCP_COLL_WORLD_MAX

/* The last of those that users may name */
#define COLL_LAST_DTYPE		DLCP_COLL_U8
#define COLL_LAST_REDUCE	DLCP_COLL_XOR

/* Bytes of a thread's. With them come the variables that the program's libraries
 * have for each thread: with PyTorch 1.13 over 100 KiB
 */
#define COLL_STACK	(1024 * 1024)

struct coll_algo;
struct coll_op;
struct coll_offer;

/**
 * struct coll_link - the connection with one other rank
 * @coll: its group
 * @rank: who is there
 * @fd: socket, or -1 (ourselves)
 * @control: thread that waits for its control messages, if @has_control
 * @has_control: see @control
 * @left: it has said goodbye
 * @knows: it has told us of a failure, or is gone: no need to tell it
 * @why: errno with which the connection ended
 * @seg_size: bytes of a segment
 * @reports: batch of the group's monitor
 * @most_eager: bytes that may be sent before it is certain that they are read
 * @ahead: bytes that were
 * @next_p2p: number of the next message to it
 * @received_p2p: of its offers, all before this one are here
 * @early: offers after that one
 */
struct coll_link {
	struct dlcp_coll	*coll;
	int			rank;
	int			fd;
	pthread_t		control;
	int			has_control;
	int			left;
	int			knows;
	int			why;
	uint32_t		seg_size;
	struct dlcp_reports	reports;
	size_t			most_eager;
	size_t			ahead;
	uint32_t		next_p2p;
	uint32_t		received_p2p;
	struct coll_offer	*early;
};

/* pool.c */
struct coll_pool;
struct coll_pool *coll_pool_new(void);
/* Waits for all tasks */
void coll_pool_free(struct coll_pool *pool);
/* Runs @fn soon, in a thread of its own if need be. Return: 0 or an errno */
int coll_pool_run(struct coll_pool *pool, void (*fn)(void *arg), void *arg);

struct coll_tensor;

/* COLL_JOINING: nothing, as a thread is making it. COLL_JOINED: others are to be told;
 * COLL_ENDING: they are being told, by a thread that uses it; COLL_ENDED: they were
 */
enum coll_end {
	COLL_JOINING,
	COLL_JOINED,
	COLL_ENDING,
	COLL_ENDED,
};

/**
 * struct dlcp_coll - a group
 * @options: as given; strings are not valid after dlcp_coll_open()
 * @rank: us
 * @world: all ranks
 * @workers: ranks that contribute: the first ones
 * @links: one for each rank
 * @pool: threads
 * @monitor: thread that reads reports and watches the time
 * @has_monitor: see @monitor
 * @wake: eventfd: @monitor shall look again
 * @broken: eventfd, readable for ever once the group has failed
 * @lock: of what follows
 * @changed: something did
 * @error: errno with which the group failed, or 0
 * @text: and why
 * @telling: threads that tell others of the failure
 * @closing: dlcp_coll_close() was called
 * @next: number of the next operation
 * @ops: operations that are not over
 * @receives: of these, what waits for an offer of another rank
 * @sends: and what has made one
 * @offers: that nobody waits for, the oldest first
 * @tensors: what is remembered of tensors
 * @update: of the server
 * @update_ctx: its argument
 * @stats: counters
 * @spare: a buffer for the next operation that needs one, and its size
 * @spare_len: see @spare
 * @trace: file for what is missing, or NULL
 * @most_small: small operations that run at a time
 * @next_group: of the groups of this process
 * @end: what the end of this process does to it (fork.c)
 * @leaving: dlcp_coll_close() was called, so that nobody is told of our end
 * @inherited: this is a forked child, and the group its parent's
 */
struct dlcp_coll {
	struct dlcp_coll_options options;
	int			rank;
	int			world;
	int			workers;
	struct coll_link	*links;
	struct coll_pool	*pool;
	pthread_t		monitor;
	int			has_monitor;
	int			wake;
	int			broken;
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	int			error;
	char			text[200];
	int			telling;
	int			closing;
	uint32_t		next;
	struct coll_op		*ops;
	struct coll_op		*receives;
	struct coll_op		*sends;
	struct coll_offer	*offers;
	struct coll_tensor	*tensors;
	dlcp_coll_update_fn	*update;
	void			*update_ctx;
	struct dlcp_coll_stats	stats;
	void			*spare;
	size_t			spare_len;
	FILE			*trace;
	int			most_small;
	struct dlcp_coll	*next_group;
	enum coll_end		end;
	int			leaving;
	int			inherited;
};

/* A control message, little endian */
enum coll_control_type {
	COLL_GOODBYE	= 1,
	COLL_FAILURE	= 2,
	COLL_OFFER	= 3,	/* algo_p2p.c */
	COLL_TAKE	= 4,
};

struct coll_control {
	uint32_t	type;
	uint32_t	error;
	union {
		char	text[200];
		struct {
			uint32_t	nr;
			uint32_t	tag;
			uint64_t	len;
		} p2p;
	};
};

/* dlcp_coll_set_timeout() may change it while threads of ours read it */
static inline int coll_timeout_ms(const struct dlcp_coll *c)
{
	return __atomic_load_n(&c->options.timeout_ms, __ATOMIC_RELAXED);
}

/* clock.c */
uint64_t coll_now_ms(void);
/* Until @cond is signalled (0) or coll_now_ms() is @until. The time of day is not
 * used: it may be set
 */
int coll_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock,
		    uint64_t until);

/* buffer.c */
void *coll_buffer_get(struct dlcp_coll *c, size_t len);
void coll_buffer_put(struct dlcp_coll *c, void *buf, size_t len);

/* fail.c */
/* What another rank calls an errno: it has to be one, as 0 would be no failure */
int coll_errno_from(uint32_t wire);
/* What another rank says is for a terminal: control characters become "?" */
void coll_plain(char *text);
/* To a rank, from a thread that may wait for room. Return: 0 or -1 */
int coll_send_control(struct dlcp_coll *c, int to,
		      const struct coll_control *ctl);
/* The same until coll_now_ms() is @until; fails nothing. Return: 0 or -1 */
int coll_send_control_until(struct dlcp_coll *c, int to,
			    const struct coll_control *ctl, uint64_t until);
/* Fail the group (the first failure counts) and tell all ranks. Return: -1 */
int coll_fail(struct dlcp_coll *c, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int coll_fail_with(struct dlcp_coll *c, int err, const char *text);
int coll_no_memory(struct dlcp_coll *c);
int coll_no_thread(struct dlcp_coll *c, int err);
/* What @rank sends makes no sense */
int coll_foreign(struct dlcp_coll *c, int rank);
static inline int coll_failed(const struct dlcp_coll *c)
{
	return __atomic_load_n(&c->error, __ATOMIC_ACQUIRE);
}

/* The connection with @rank is gone, as an operation noticed: @err, or 0 if that
 * does not say. The control thread fails the group; wait for it. Return: -1
 */
int coll_lost(struct dlcp_coll *c, int rank, int err);
/* A call on the connection failed with @err: keep the errno that says why it ended */
void coll_note_end(struct coll_link *link, int err);
/* Until no thread tells other ranks of a failure: these use all connections */
void coll_wait_told(struct dlcp_coll *c);
/* The monitor shall look at deadlines again */
void coll_poke(struct dlcp_coll *c);

/* group.c */
/* Threads for control messages, reports and deadlines; and their end */
int coll_group_start(struct dlcp_coll *c);
void coll_group_stop(struct dlcp_coll *c);
/* Tell all others that we leave, and wait for them to do so */
void coll_goodbye(struct dlcp_coll *c);

/* fork.c: a group that ends with its process; and one that is no more */
void coll_register(struct dlcp_coll *c);
void coll_joined(struct dlcp_coll *c);
void coll_unregister(struct dlcp_coll *c);
/* Is this process a child of the group's? Return: 0, or -1 with ECHILD */
int coll_refuse_child(const struct dlcp_coll *c);

/* ifname.c */
/* Does DLCP_SOCKET_IFNAME's value @choice mean the interface @name? */
int coll_ifname_matches(const char *choice, const char *name);
/* The addresses it means. Return: 1, 0 if it is not set, or -1 */
int coll_ifname(struct dlcp__from *from);
int coll_is_loopback(const char *host);

/* rendezvous.c: fill in c->links. Return: 0 or -1, errno and text being set */
int coll_rendezvous(struct dlcp_coll *c);
/* When a connection whose peer is silent ends. Return: 0 or -1 */
int coll_limit_silence(const struct dlcp_coll *c, const struct coll_link *link);

/*
 * Keys of messages: number of the operation, which half, which chunk. Control
 * messages have the largest key of all.
 */
enum coll_half {
	COLL_HEAD	= 0,	/* what the operation is; small ones' data */
	COLL_REDUCE	= 1,
	COLL_SPREAD	= 2,
	COLL_P2P	= 3,	/* numbered by another count: algo_p2p.c */
};

#define COLL_KEY_CONTROL	UINT64_MAX
#define COLL_MAX_CHUNK		0x0fffffffU

static inline uint64_t coll_key(uint32_t nr, enum coll_half half,
				uint32_t chunk)
{
	return (uint64_t)nr << 32 | (uint64_t)half << 28 | chunk;
}

/**
 * struct coll_gap - elements missing from a chunk
 * @first: the first, counted from the chunk's start
 * @n: how many
 */
struct coll_gap {
	size_t	first;
	size_t	n;
};

/* Gaps of one chunk from one rank, ascending */
struct coll_gaps {
	struct coll_gap	*gap;
	size_t		nr;
};

/* What every rank says of an operation before its data; little endian */
#define COLL_HEAD_SAME	offsetof(struct coll_head, loss2_ppm)

struct coll_head {
	uint32_t	magic;
	uint8_t		kind;
	uint8_t		dtype;
	uint8_t		reduce;
	uint8_t		algo;
	uint8_t		correct;
	uint8_t		bounded;	/* a ring that may lose something */
	uint8_t		pad[2];
	uint32_t	root;
	uint64_t	count;
	uint64_t	tensor;
	uint64_t	chunk;
	/* ranks may differ from here on; servers look at rank 0's */
	uint32_t	loss2_ppm;
	uint32_t	resync_every;
	uint32_t	prio;
	uint32_t	meant_by;
	uint64_t	pair;		/* algo_exchange.c: bytes for who reads it */
};

enum coll_kind {
	COLL_ALL_REDUCE = 1,
	COLL_REDUCE_SCATTER,
	COLL_ALL_GATHER,
	COLL_BROADCAST,
	COLL_BARRIER,
	COLL_PUSH,
	COLL_PULL,
	COLL_REDUCE_TO,	/* one rank */
	COLL_GATHER,
	COLL_SCATTER,
	COLL_ALL_TO_ALL,
	COLL_BYE,	/* dedicated servers may go */
	COLL_MESSAGE,	/* between two ranks; has no head */
};

/* Chunks of the reducing half that a rank takes before others' are there */
#define COLL_WINDOW	4

/**
 * struct coll_eager - what an operation has sent one rank
 * @begun: it has begun the operation
 * @reduced: chunks of its part that it has reduced, as far as we know
 * @sent: chunks of that part that we have sent
 * @bytes: of what we have sent: not certain to be read
 */
struct coll_eager {
	int		begun;
	uint32_t	reduced;
	uint32_t	sent;
	size_t		bytes;
};

/**
 * struct coll_blocks - what an exchange moves between us and one rank, elements
 * @in: where in the input what it gets begins
 * @in_n: its length
 * @out: where in the output what comes from it goes
 * @out_n: its length
 */
struct coll_blocks {
	size_t	in;
	size_t	in_n;
	size_t	out;
	size_t	out_n;
};

/**
 * struct coll_p2p - a message between two ranks; under the group's lock
 * @next: of dlcp_coll.receives or .sends, the oldest first
 * @peer: the other rank, or DLCP_COLL_ANY until it is known
 * @tag: the user's
 * @receives: else it sends
 * @matched: both ranks are in it, and data flow
 * @len: bytes, of the sender's
 */
struct coll_p2p {
	struct coll_op	*next;
	int		peer;
	uint32_t	tag;
	int		receives;
	int		matched;
	uint64_t	len;
};

/**
 * struct coll_op - an operation; it is the handle too
 * @c: its group
 * @next: of c->ops
 * @nr: its number
 * @kind: enum coll_kind
 * @dtype: of its elements
 * @size: bytes of an element
 * @sum_size: bytes of one that was reduced; the same, except for THC
 * @root: of a broadcast and the like; of THC, elements in the last block
 * @meant_by: rank whose operation it is: ours, or on a dedicated server the
 *	first that spoke of it
 * @args: as given
 * @in: input, or NULL
 * @out: output, or NULL
 * @count: elements as given
 * @blocks: of an exchange, or NULL
 * @p2p: of a send or receive
 * @algo: how it is done
 * @timeout_ms: the group's when it began
 * @deadline: time (coll_now_ms()) at which it fails
 * @event: eventfd, readable once it is over
 * @lock: of what follows
 * @changed: something did
 * @wake: eventfd for its sending thread
 * @waiting: for each rank, and again for the spreading half of each, for error
 *	texts: 0, COLL_NO_DATA or COLL_NOT_BEGUN
 * @ahead: for each rank
 * @tasks: receiving tasks that run
 * @reports: reports still to come
 * @over: it is; nothing will touch it but its owner
 * @detached: no handle: to be freed when it is over
 * @error: errno, or 0; @text has more
 * @text: see @error
 * @tensor: what feedback and servers keep, or NULL
 * @use: the how many-th use of it of this kind this is, from 1
 * @source: what is sent in the reducing half: @in, or a copy with feedback
 * @copy: that copy, to be freed
 * @lost: elements of @source that did not arrive: (first, n) pairs
 * @nr_lost: entries at @lost
 * @max_lost: room there
 * @lost_unknown: there was no memory for some of them
 */
struct coll_op {
	struct dlcp_coll	*c;
	struct coll_op		*next;
	uint32_t		nr;
	int			kind;
	int			dtype;
	size_t			size;
	size_t			sum_size;
	int			root;
	int			meant_by;
	struct dlcp_coll_args	args;
	const void		*in;
	void			*out;
	size_t			count;
	struct coll_blocks	*blocks;
	struct coll_p2p		p2p;
	const struct coll_algo	*algo;
	int			timeout_ms;
	uint64_t		deadline;
	int			event;
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	int			wake;
	uint8_t			*waiting;
	struct coll_eager	*ahead;
	int			tasks;
	size_t			reports;
	int			over;
	int			detached;
	int			error;
	char			text[200];
	struct coll_tensor	*tensor;
	uint32_t		use;
	const char		*source;
	char			*copy;
	size_t			copy_len;
	struct coll_gap		*lost;
	size_t			nr_lost;
	size_t			max_lost;
	int			lost_unknown;
};

/* link.c */
/**
 * struct coll_out - a message to send
 * @buf: its elements; the head of an operation if @half is COLL_HEAD
 * @len: bytes
 * @half: and chunk: its key
 * @chunk: see @half
 * @loss_ppm: its bound
 * @first: for COLL_REDUCE: where in op->source it begins, elements
 */
struct coll_out {
	const void	*buf;
	size_t		len;
	enum coll_half	half;
	uint32_t	chunk;
	uint32_t	loss_ppm;
	size_t		first;
};

#define COLL_NOT_YET	2

/* Return: 1 sent, 0 no room now, COLL_NOT_YET: not before op->wake, -1 the group
 * has failed
 */
int coll_send(struct coll_op *op, int to, const struct coll_out *out);
/* Until there is room, or op->wake, or the group has failed (-1) */
int coll_wait_room(struct coll_op *op, const uint8_t *blocked);
/* Send, waiting for room */
int coll_send_all(struct coll_op *op, int to, const struct coll_out *out);
/**
 * struct coll_in - a chunk to receive
 * @half: and @chunk: its key
 * @chunk: see @half
 * @keep: missing ranges keep what is in @buf, else they become zero
 * @buf: where it goes
 * @len: bytes it must have
 * @first: where in the tensor it begins, elements
 * @gaps: filled with what is missing
 */
struct coll_in {
	enum coll_half		half;
	uint32_t		chunk;
	int			keep;
	void			*buf;
	size_t			len;
	size_t			first;
	struct coll_gaps	*gaps;
};

/* Return: 0, or -1: the group has failed */
int coll_recv(struct coll_op *op, int from, const struct coll_in *in);
/* A head, and @len bytes of data after it. Return: 0 or -1 */
int coll_recv_head(struct coll_op *op, int from, void *buf, size_t len);
/* What @op waits for of @from, for texts */
void coll_note_waiting(struct coll_op *op, int from, uint8_t what);

/* head.c */
void coll_make_head(const struct coll_op *op, struct coll_head *head);
/* Does @from mean another operation? 0, or 1 with @text: what each rank means */
int coll_differs(const struct coll_op *op, int from,
		 const struct coll_head *head, char *text, size_t len);

/* eager.c */
/* Until @op may begin, or the group has failed */
void coll_eager_wait(struct coll_op *op);
/* May @out be sent? If it may, but is not, coll_eager_not_sent() has @taken */
int coll_eager_may_send(struct coll_op *op, int to, const struct coll_out *out,
			size_t *taken);
void coll_eager_not_sent(struct coll_op *op, int to, size_t taken);
/* Rank @from has begun it; or has reduced @chunks of its part */
void coll_eager_begun(struct coll_op *op, int from);
void coll_eager_reduced(struct coll_op *op, int from, uint32_t chunks);
/* @op is over */
void coll_eager_end(struct coll_op *op);

/* task.c */
/* Tasks of @op that may block. coll_op_join() waits for all of them */
int coll_op_task(struct coll_op *op, void (*fn)(void *arg), void *arg);
void coll_op_task_done(struct coll_op *op);
int coll_op_join(struct coll_op *op);
/* Wake the thread in coll_wait_room() */
void coll_op_kick(struct coll_op *op);

/* op.c */
#define COLL_NO_DATA	1
#define COLL_NOT_BEGUN	2

struct coll_op *coll_op_new(struct dlcp_coll *c, int kind, size_t count,
			    int dtype, const struct dlcp_coll_args *args);
/* Run it; takes @op over. Return as the calls of dlcp_coll.h */
int coll_op_start(struct coll_op *op, struct dlcp_coll_handle **handle);
/* Nothing was started */
void coll_op_free(struct coll_op *op);
/* Loss bound of the spreading half, this time: resync_every */
uint32_t coll_spread_ppm(const struct coll_op *op);

/* api.c: check the arguments of an operation, make it and start it */
int coll_start(struct dlcp_coll *c, int kind, const void *in, void *out,
	       size_t count, int dtype, int root,
	       const struct dlcp_coll_args *args,
	       struct dlcp_coll_handle **handle);
/* Does it add contributions? */
static inline int coll_reduces(int kind)
{
	return kind == COLL_ALL_REDUCE || kind == COLL_REDUCE_SCATTER ||
	       kind == COLL_REDUCE_TO || kind == COLL_PUSH;
}

/* api.c */
/* Return: 0, or -1 if @a has no meaning for elements of @dtype */
int coll_check_args(const struct dlcp_coll_args *a, int reducing, int dtype);

/* feedback.c */
/**
 * struct coll_tensor - what is remembered of a tensor
 * @next: of dlcp_coll.tensors
 * @id: its name
 * @busy: an operation uses its feedback
 * @uses: operations so far, by enum coll_kind
 * @gaps: elements that were lost, ascending
 * @nr: entries at @gaps
 * @values: their values, packed
 * @dtype: of these
 * @count: elements of the whole tensor
 * @value: what a server keeps: its part, or NULL before the first push
 * @value_dtype: type of its elements
 * @value_count: elements of the whole tensor
 */
struct coll_tensor {
	struct coll_tensor	*next;
	uint64_t		id;
	int			busy;
	uint32_t		uses[COLL_BYE];
	struct coll_gap		*gaps;
	size_t			nr;
	char			*values;
	int			dtype;
	size_t			count;
	void			*value;
	int			value_dtype;
	size_t			value_count;
};

/* Find or make it. NULL: ENOMEM */
struct coll_tensor *coll_tensor_get(struct dlcp_coll *c, uint64_t id);
void coll_tensors_free(struct dlcp_coll *c);
/* Before the first byte of op->in is sent: op->source. 0 or an errno */
int coll_feedback_begin(struct coll_op *op, size_t count);
/* After the last report */
int coll_feedback_end(struct coll_op *op);
/* A report for a message of @op came */
void coll_reported(struct coll_op *op, int to, const struct dlcp_sent *sent);

/**
 * struct coll_range - where an algorithm is the fastest one
 * @least_workers: fewest workers
 * @most_workers: most workers; 0: any number
 * @least_part: fewest bytes in a rank's part of the tensor
 */
struct coll_range {
	int	least_workers;
	int	most_workers;
	size_t	least_part;
};

/* Of the algorithms that can do an operation the first one in this order does it */
enum coll_order {
	COLL_ITS_OWN,		/* no other one does operations of this kind */
	COLL_SMALL,		/* of any kind, as they are short */
	COLL_ONE_WAY,		/* all-reduces in a way that not all have */
	COLL_GENERAL,		/* whatever is left */
};

/**
 * struct coll_algo - an algorithm for operations
 * @name: its name
 * @order: where it is asked, before those that are more general
 * @named: value of enum dlcp_coll_algo with which a user asks for it; 0: none does
 * @range: where the automatic choice takes it
 * @suits: the automatic choice may take it for this all-reduce; NULL: it never does
 * @refuses: why it cannot have these arguments, or NULL. @reducing: the operation
 *	adds contributions. No function: it refuses nothing
 * @applies: it does operations of this kind, with these arguments
 * @run: do it. Runs in a thread that may block. Return: 0, or -1: the group failed
 * @enlist: give the operation its number, in place of the next one of all ranks.
 *	With the group's lock held
 * @delist: the operation is over. With the group's lock held
 * @one_round: its data are in the heads, and it has no other threads
 * @streams: who has begun it reads all of its data, not a window
 * @served: it needs ranks that serve
 * @pairwise: it concerns two ranks only, in no order with operations of all ranks
 */
struct coll_algo {
	const char		*name;
	enum coll_order		order;
	uint8_t			named;
	struct coll_range	range;
	int			(*suits)(const struct coll_op *op);
	const char		*(*refuses)(const struct dlcp_coll_args *args,
					    int reducing, int dtype);
	int			(*applies)(const struct coll_op *op);
	int			(*run)(struct coll_op *op);
	void			(*enlist)(struct coll_op *op);
	void			(*delist)(struct coll_op *op);
	unsigned int		one_round : 1;
	unsigned int		streams : 1;
	unsigned int		served : 1;
	unsigned int		pairwise : 1;
};

/* choose.c */
/* Set op->algo, and op->args.algo to what all ranks compare */
void coll_choose(struct coll_op *op);
/* Why the algorithm that @args name cannot have them, or NULL */
const char *coll_refusal(const struct dlcp_coll_args *args, int reducing,
			 int dtype);

/* parts.c: parts that have an owner each; coll_algo.run */
int coll_run_parts(struct coll_op *op);

/* algo_exchange.c */
/* With a NULL @in_n or @out_n (gathers, scatters) the blocks are what they have
 * to be. Return: 0 or -1
 */
int coll_make_blocks(struct coll_op *op, const size_t *in_n,
		     const size_t *out_n);

/* algo_p2p.c */
/* Another rank's control message about it; takes the lock */
void coll_p2p_receive(struct coll_link *link, const struct coll_control *ctl);
void coll_p2p_describe(const struct coll_op *op, char *text, size_t len);
/* What others have offered is forgotten */
void coll_p2p_free(struct dlcp_coll *c);

/* served.c: @value becomes what @grad makes of it */
void coll_served_update(struct coll_op *op, size_t first, const void *grad,
			void *value, size_t n);
/* Before the value is looked at: a pull waits for the pushes before it, a push
 * for pulls and pushes
 */
int coll_served_wait(struct coll_op *op);
/* Dedicated servers hear what every operation is, to see whether workers agree.
 * Return: 0 or -1
 */
int coll_notify_servers(struct coll_op *op);
/* On such a server: until @from has begun it. Return: 0 or -1 */
int coll_wait_begun(struct coll_op *op, int from);

/* cut.c */
/* Elements of a chunk: chunks begin at multiples of it */
size_t coll_chunk_elems(const struct coll_op *op);

/* Part @i of @n of @count elements, cut at multiples of 64 bytes */
struct coll_part {
	size_t	first;
	size_t	n;
};

struct coll_part coll_cut(size_t count, size_t size, int i, int n);

static inline size_t coll_nr_chunks(size_t n, size_t chunk)
{
	return (n + chunk - 1) / chunk;
}

#endif
