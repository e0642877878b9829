/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dlcp trace: where the time of a message goes. trace_read.c (the kernel's tracepoints),
 * trace_life.c (from them the lives of messages), trace.c (the command).
 */
#ifndef TOOLS_DLCP_TRACE_H
#define TOOLS_DLCP_TRACE_H

#include <stdint.h>

/* --- trace_read.c */

/**
 * struct event - a line of the kernel's trace
 * @ns: when, by the trace's clock
 * @name: without "dlcp_"
 * @fields: "NAME=VALUE ..."
 */
struct event {
	uint64_t	ns;
	const char	*name;
	const char	*fields;
};

/* Cut @line, which is changed. Return: 0, or -1: it is none of DLCP's */
int event_parse(struct event *e, char *line);
/* Value of a field; NULL: there is none */
const char *event_field(const struct event *e, const char *name);
uint64_t event_u64(const struct event *e, const char *name);
/* "CPU:0 [LOST 12 EVENTS]". Return: 12; 0: it says nothing of that kind */
uint64_t event_lost(const char *line);

/**
 * struct tracer - a buffer of the kernel's for DLCP's tracepoints
 * @dir: its folder in tracefs
 * @fd: its pipe; -1: none
 * @held: bytes of a line that is not whole yet
 * @line: it
 */
struct tracer {
	char	dir[100];
	int	fd;
	size_t	held;
	char	line[65536];
};

/* Return: 0, or an exit status after an error message */
int tracer_open(struct tracer *t);
void tracer_close(struct tracer *t);
/* Hand all lines that are there to @take. Return: how many; -1 after an error message */
int tracer_read(struct tracer *t, void (*take)(void *arg, char *line), void *arg);

/* --- trace_life.c */

/* What the time of a message is divided into. Of a sent one, from its number to its end: */
enum part {
	PART_WAIT,	/* until its first packet was built */
	PART_SEND,	/* until each segment was built once */
	PART_QUEUE,	/* until the last of them had left this host */
	PART_REPAIR,	/* until the last one that was sent again had left */
	PART_NETWORK,	/* until the sender knew how it ended */
	/* Of a received one, from when it was announced to its reader: */
	PART_ARRIVE,	/* until it was complete within its bound */
	PART_READER,	/* until its reader had it */
	NR_PARTS,
};

extern const char *const part_names[NR_PARTS];

/**
 * struct life - a message that is over
 * @end: when, by the trace's clock
 * @key: its key
 * @length: bytes
 * @missing: of them
 * @packets: sent; of a received one 0
 * @resent: of them, again
 * @total: ns
 * @part: of @total; the others' are 0
 * @peer: address and port
 * @why: how it ended, in a word
 * @sender: it was sent
 */
struct life {
	uint64_t	end;
	uint64_t	key;
	uint64_t	length;
	uint64_t	missing;
	uint64_t	packets;
	uint64_t	resent;
	uint64_t	total;
	uint64_t	part[NR_PARTS];
	char		peer[72];
	const char	*why;
	int		sender;
};

struct lives;
/* @over is called with each message that was seen from its begin to its end */
struct lives *lives_new(void (*over)(void *arg, const struct life *life), void *arg);
/* Return: 0, -ENOMEM, or -EAGAIN: the kernel does not tell sockets apart, as it has
 * no random numbers yet
 */
int lives_take(struct lives *l, const struct event *e);
void lives_free(struct lives *l);

#endif
