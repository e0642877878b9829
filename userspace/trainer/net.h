/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What training asks of a transport. There are two answers: net_dlcp.c and
 * net_tcp.c. Functions block, return -1 with errno on failure, and leave a
 * sentence for ops->error(). Sending, receiving and reading reports may go on
 * in different threads.
 */
#ifndef TRAINER_NET_H
#define TRAINER_NET_H

#include <stddef.h>
#include <stdint.h>

/* A message's key says which step and which piece, or another purpose */
#define KEY(step, what)	((uint64_t)(step) << 8 | (what))
#define KEY_STEP(key)	((uint32_t)((key) >> 8))
#define KEY_WHAT(key)	((int)((key) & 0xff))
#define WHAT_HELLO	0xff
#define WHAT_STATUS	0xfe
#define WHAT_BYE	0xfd

/* The peer has closed the connection in order; recv() and next() return it */
#define NET_EOF		(-2)
/* What came is another message than was asked for; recv() returns it */
#define NET_WRONG	(-3)

/**
 * struct tensor - a message to send
 * @key: its name
 * @data: its bytes
 * @bytes: their number
 * @prio: 0 (most urgent) .. 7
 * @loss: share of the bytes that may be lost; 0 for none
 * @droppable: share of its parts, those of the smallest magnitude, that the
 *	network should drop first; data is then float32
 * @report: 1 if reports() shall tell what was lost
 * @early: 1: it is over as soon as no more than @loss is missing, lost or not
 */
struct tensor {
	uint64_t	key;
	const void	*data;
	size_t		bytes;
	int		prio;
	double		loss;
	double		droppable;
	int		report;
	int		early;
};

/* Parts of a tensor that are missing: bytes [from, to), ascending */
struct gap {
	size_t		from, to;
};

struct gaps {
	size_t		nr, max;
	struct gap	*gap;
};

/* Bytes that this end has sent, over all its life */
struct stats {
	uint64_t	offered;	/* given to send() */
	uint64_t	delivered;	/* known to have arrived */
	uint64_t	forgiven;	/* given up */
	uint64_t	resent;		/* sent more than once */
};

struct conn;

/**
 * struct net_ops - a transport
 * @name: as the user calls it
 * @any_order: 1 if recv() can ask for any key; 0 if messages come in the order
 *	they were sent in
 * @listen: on all addresses; returns a descriptor
 * @accept: the next connection, NULL on failure
 * @connect: tries once, for @ms; NULL on failure
 * @send: returns when the bytes may be changed
 * @next: wait for a message and put its key at @key; it stays
 * @recv: receive the message @key, @bytes long. Gaps (may be NULL: then none
 *	are allowed) are zero in @buf.
 * @recv_any: the same for whichever message comes first, of up to @max bytes;
 *	its key is put at @key. Better than next() and recv(): bytes are copied
 *	as they arrive.
 * @reports: call @told for each report that is there, with the gaps that the message's
 *	receiver has; if @wait, wait for one. NULL: nothing is ever lost
 * @backlog: send() waits while about so many bytes, more than a round trip takes, wait in
 *	the kernel; without it, as many as it has room for
 * @stats: of what was sent
 * @name_of: address of the peer; valid until the next call
 * @error: what went wrong in this thread
 * @close: end the connection
 */
struct net_ops {
	const char	*name;
	int		any_order;
	int (*listen)(const char *port);
	struct conn *(*accept)(int fd);
	struct conn *(*connect)(const char *host, const char *port, int ms);
	int (*send)(struct conn *conn, const struct tensor *tensor);
	int (*next)(struct conn *conn, uint64_t *key);
	int (*recv)(struct conn *conn, uint64_t key, void *buf, size_t bytes,
		    struct gaps *gaps);
	int (*recv_any)(struct conn *conn, uint64_t *key, void *buf,
			size_t max, struct gaps *gaps);
	int (*reports)(struct conn *conn, int wait,
		       void (*told)(void *ctx, uint64_t key,
				    const struct gaps *gaps), void *ctx);
	int (*backlog)(struct conn *conn, size_t bytes);
	int (*stats)(struct conn *conn, struct stats *stats);
	const char *(*name_of)(struct conn *conn);
	const char *(*error)(void);
	void (*close)(struct conn *conn);
};

extern const struct net_ops net_dlcp, net_tcp;

/* net.c */
/* Say what is wrong, behind the program's name, and end it with all its threads */
void __attribute__((noreturn, format(printf, 2, 3))) die(int status, const char *format, ...);
const struct net_ops *net_find(const char *name);
/* Returns -1 when out of memory */
int gaps_add(struct gaps *gaps, struct gap gap);
/* The peer of a socket as "address port N" */
const char *net_peer_name(int fd);
double net_now_ms(void);
/* Tries until @timeout_ms are over, so that a server may start later; NULL on failure */
struct conn *net_connect(const struct net_ops *net, const char *host, const char *port, int timeout_ms);

#endif
