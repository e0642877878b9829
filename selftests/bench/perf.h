/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of dlcpperf share. */
#ifndef DLCPPERF_H
#define DLCPPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dlcp.h"

#define MAX_SENDERS	256
#define MAX_ROUNDS	100000
#define MAX_LAYERS	1024
#define MAX_IOVECS	1024	/* UIO_MAXIOV */

struct options {
	const struct proto *proto;
	const char *cc;		/* name of a congestion controller, or NULL */
	const char *scenario;	/* for the output only */
	const char *label;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	uint32_t senders;
	uint32_t index;		/* of this sender */
	uint32_t rounds;
	uint32_t warmup;
	uint32_t bound;		/* ppm */
	uint64_t share;		/* bytes of a sender in a round */
	double rate;		/* bits per second of the bottleneck */
	/* A share's parts, in the order in which they are there to be sent, the
	 * last one the most urgent. One if nothing else is said.
	 */
	uint32_t nr_layers;
	uint64_t layer[MAX_LAYERS];	/* bytes */
	uint32_t messages;	/* calls of send() for a share, where that makes them */
	uint32_t iovecs;	/* pieces of memory that a message is received into */
	double compute;		/* ms until the last one is there */
	double gap;		/* ms between rounds */
	uint32_t urgent;	/* so many senders, the first, are in class 0, the
				 * others in class 7; 0: all are alike
				 */
	uint32_t number;	/* of this measurement: mark.h */
	bool early_stop;
	bool check;		/* fill and compare contents */
};

/* What a sender says of itself when asked. All since it connected. */
struct stats {
	uint64_t known;		/* does the protocol count resent bytes? */
	uint64_t sent;		/* payload bytes, first and again */
	uint64_t resent;	/* payload bytes */
	uint64_t lost;		/* payload bytes thought lost */
	uint64_t spurious;	/* packets thought lost that arrived */
	uint64_t probes;
	uint64_t marks;		/* packets with a congestion mark */
	uint64_t report_hash;	/* of every missing range reported */
};

struct range {
	uint64_t offset;
	uint64_t length;
};

struct conn {
	const struct options *opt;
	uint32_t index;		/* number of the sender */
	int fd;			/* also carries commands */
	int data_fd;		/* udp: the data */
	uint32_t segment;	/* udp-gso: bytes of a packet */
	uint64_t unread;	/* udp-gso: bytes that there is no credit for yet */
	uint8_t *buf;
	/* of the round just received */
	struct range *missing;
	uint32_t nr_missing;
	uint32_t max_missing;
	uint64_t front_end;	/* ns: its last layer was here */
	struct inbox_layer *layers;	/* dlcp only */
	/* of all rounds */
	uint64_t missing_bytes;
	uint64_t receipt_hash;
	/* dlcp only */
	uint64_t report_hash;
	uint64_t reports_due;
	struct dlcp_receipt receipt;
	struct dlcp_reports reports;
};

/*
 * A protocol. Functions that fail print why and end the program: there is
 * nothing to measure any more. put() and get() carry short commands both ways
 * and lose nothing; send() and recv() carry a sender's share of a round: send()
 * one layer of it, that begins at @offset, recv() all of them.
 */
struct proto {
	const char *name;
	int (*open)(const struct options *opt);
	void (*connected)(struct conn *c);
	void (*accepted)(struct conn *c);
	void (*put)(struct conn *c, const void *data, size_t len);
	void (*get)(struct conn *c, void *data, size_t len);
	void (*send)(struct conn *c, uint64_t round, uint32_t layer,
		     uint64_t offset);
	void (*recv)(struct conn *c, uint64_t round);
	/* receiver, when the round's clock has stopped; optional */
	void (*after)(struct conn *c);
	void (*stats)(struct conn *c, struct stats *st);
};

extern const struct proto *const protos[];
extern const struct proto proto_dlcp, proto_dlcp_plain, proto_udp_gso;

/* Say what failed, with errno, and end */
__attribute__((noreturn, format(printf, 1, 2)))
void die(const char *format, ...);
__attribute__((noreturn, format(printf, 1, 2)))
void fail(const char *format, ...);

uint64_t now_ns(void);
/* Until @ns after @start */
void sleep_until(uint64_t start, double ns);
/* With layers: room for a whole round in the send buffer */
void hold_share(struct conn *c);
void set_int(int fd, int level, int name, int value, const char *what);
void add_missing(struct conn *c, uint64_t offset, uint64_t length);
uint64_t hash_range(uint64_t hash, uint64_t round, uint64_t offset,
		    uint64_t length);

/* By socket calls alone, for whatever is connected */
void write_all(int fd, const void *data, size_t len, size_t step);
void read_all(int fd, void *data, size_t len);
void stream_put(struct conn *c, const void *data, size_t len);
void stream_get(struct conn *c, void *data, size_t len);
void stream_send(struct conn *c, uint64_t round, uint32_t layer, uint64_t offset);
void stream_recv(struct conn *c, uint64_t round);
void no_stats(struct conn *c, struct stats *st);

/* A socket for datagrams, for the peer that a TCP connection leads to: the receiver opens
 * it and tells the sender its port.
 */
int tcp_open(const struct options *opt);
void udp_accepted(struct conn *c);
void udp_connected(struct conn *c);

/* Contents: a function of sender, round and place */
void pattern_fill(uint8_t *buf, size_t len, uint32_t sender, uint64_t round);
/* Return: bytes that are wrong; missing ranges must be zero */
uint64_t pattern_check(const uint8_t *buf, size_t len, uint32_t sender,
		       uint64_t round, const struct range *missing,
		       uint32_t nr_missing);

#endif
