/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two engines joined by a channel in virtual time, driven as the module
 * drives them, with real payload. After every step what protocol.md promises
 * is checked; what fails ends the test (sim_on_fail, else abort).
 */
#ifndef _DLCP_SIM_H
#define _DLCP_SIM_H

#include "conn_msg.h"
#include "egress.h"
#include "ingress.h"

#define SIM_US			1000ULL
#define SIM_MS			1000000ULL
#define SIM_S			1000000000ULL

/* One direction of the channel */
struct sim_link {
	u64	rate;		/* bits per second; 0 = no limit */
	u64	delay;		/* ns */
	u64	jitter;		/* ns, added at random: reorders */
	u64	sigma;		/* ns, standard deviation of a delay that is
				 * normally distributed: reorders
				 */
	u64	queue;		/* bytes; 0 = no limit */
	u64	mark;		/* bytes: CE is set above; 0 = never */
	u64	reorder_delay;	/* ns, for the share below */
	u64	data_delay;	/* ns, of DATA: control packets overtake it */
	u32	loss;		/* ppm */
	u32	burst_enter;	/* ppm per packet */
	u32	burst_exit;	/* ppm per packet; all is lost in between */
	u32	dup;		/* ppm */
	u32	reorder;	/* ppm */
	u32	ctrl_loss;	/* ppm, of CTRL packets only */
	u32	setup_loss;	/* ppm, of set-up packets only */
	u32	dead_paths;	/* bits */
	u32	dead_tags;	/* bits: no data with such a tag gets through */
	u32	dead_class;	/* bits: paths that take nothing but control */
	u32	mtu;		/* larger packets are dropped; 0 = none */
	bool	down;
	/* state */
	u64	free_at;	/* ns: the transmitter is idle from then on */
	bool	in_burst;
	u64	packets;
	u64	bytes;
	u64	dropped;
	u64	path_packets[DLCP_PATHS_MAX];
	bool	shut;		/* what is not from the well-known port is lost, */
	bool	astray;		/* or comes to a stranger, who says so */
};

/* What the receiver does with a message */
enum sim_read {
	SIM_READ_NOW,		/* a reader waits, bytes go as they come */
	SIM_READ_DONE,		/* taken when complete, in any order */
	SIM_READ_NEVER,
	SIM_READ_DISCARD,	/* thrown away after some bytes */
	SIM_READ_POLL,		/* taken when complete, and no reader waits but
				 * for what poll() tells of before it is
				 */
	SIM_READS
};

struct sim;
struct sim_ep;

/* A message, seen from both ends */
/* Names of groups of messages that share their bounds; 0 is none */
#define SIM_GROUPS	64

struct sim_msg {
	struct dlcp_txmsg tx;
	struct sim_ep	*from;
	u8	*data;
	void	*mem;
	u64	id;
	u64	sent_at;
	u64	done_at;	/* sender's report */
	u64	rcvd_at;	/* receiver's completion */
	enum sim_read read;
	u64	discard_after;	/* bytes */
	u32	nr_segs;
	u32	seg_size;
	u64	length;
	u32	ppm;
	u32	group;
	u8	*taken;		/* segments handed to the receiver, once each */
	u8	*receipt;	/* 1 = missing; when rcvd */
	u8	*report;	/* the same; when done */
	u8	*critical;	/* by segment */
	u64	missing;
	u8	why;
	u8	below_bound;
	u8	late;
	bool	opened;
	bool	rcvd;
	bool	done;
	bool	failed;		/* the connection ended first */
};

struct sim_rxmsg {
	struct dlcp_rxmsg m;
	struct sim_msg	*msg;
	bool	taken;		/* its completion was seen */
	bool	told;		/* poll() told of it before */
};

struct sim_pkt {
	u64	time;		/* it is handled */
	u64	wire;		/* it reaches the host */
	u64	seq;
	u8	to;		/* endpoint */
	u8	pair;		/* of addresses it was sent by */
	u16	from;		/* place it was sent from, */
	u16	dest;		/* and to: struct sim_ep.at */
	u16	port;		/* dlcp_out.port */
	bool	ce;
	u32	len;
	u8	*p;
};

/* One connection's part in a device */
struct sim_flow {
	struct dlcp_egress_entry entry;
	struct sim_ep	*e;
	u32	out;		/* bytes in its queue */
};

struct sim_dev {
	struct dlcp_egress sched;
	u32	out;		/* bytes in its queue */
};

/* What the connections of a host share, by pair of addresses */
struct sim_host {
	struct dlcp_grant grant[DLCP_PAIRS_MAX];
	struct sim_dev	dev[DLCP_PAIRS_MAX];
};

struct sim_ep {
	struct dlcp_conn c;
	struct dlcp_conn_cfg cfg;
	struct sim_host	*host;
	struct dlcp_ingress ingress;
	struct dlcp_grant *grant;	/* of the link that data comes by */
	bool	own_rate;	/* what is granted is the test's to say */
	struct sim_flow	flow[DLCP_PAIRS_MAX];
	u64	called;		/* ns: its turn to send has come; 0: it has not */
	u64	waited;		/* times that it asked for one */
	struct sim	*s;
	struct sim_ep	*peer;
	struct sim_link	*out;
	u8	n;
	bool	live;		/* c is initialised */
	bool	listening;
	bool	gone;		/* packets are answered by RESET */
	bool	mute;		/* takes no packets, does nothing */
	bool	eof;
	bool	auto_close;	/* shut down at EOF */
	u16	at;		/* the place where it receives and is seen */
	u16	peer_at;	/* where it takes its peer to be */
	u16	dest;		/* of the packets it sends now */
	u16	port;		/* and dlcp_out.port */
	bool	far;		/* places of its peer are other addresses */
	u32	moves;
	u32	asks;		/* packets sent to another place than peer_at */
	u64	quiet;		/* DATA after which nothing was due */
	u64	quiet_reads;	/* messages freed, likewise */
	int	error;
	u64	asker;		/* a listener: tag of its last client */
	u64	old_tag;	/* dlcp_conn_anew() */
	u32	anew;		/* so often */
	u64	full;		/* ns: a listener takes no ECHO until then */
	u64	busy;		/* ns: packets wait up to so long for the host */
	u64	handled;	/* the last packet will be */
	u64	runs;		/* ns: it has a processor for so long, 0: always, */
	u64	waits;		/* and then none for so long; */
	u64	phase;		/* at 0 so much of both is over */
	u64	allocated;	/* bytes */
	u64	peak;
	u32	alloc_fail;	/* ppm */
	u32	allocs;		/* so many were asked for, rx_open and cut included; */
	u32	fail_first;	/* those from this one on fail, counted from 1, */
	u32	fail_nr;	/* so many */
	u32	refuse;		/* ppm, of rx_open */
	u32	own_queue;	/* ppm: its host's queue refuses a batch */
	enum sim_read strangers;	/* what is done with forged messages */
	u32	max_segs;
	u32	pieces;		/* sent */
	u32	small_paths;	/* DLCP_EV_MTU was seen */
	u32	fill_step;	/* positions that become there at a time; 0 =
				 * all at once
				 */
	struct sim_msg	**msgs;
	u32	nr_msgs;
	u32	cap_msgs;
	u64	id_base;	/* number of the first message */
	u32	nr_done;	/* reports */
	u32	nr_rcvd;	/* completions of the peer's messages here */
	u64	max_buffered;
};

struct sim {
	u64	now;
	u64	rng;
	u64	seed;
	u64	seq;
	struct sim	*next;	/* connections of the same hosts: a ring */
	struct sim_ep	ep[2];
	struct sim_host	host[2];
	struct sim_link	link[2];	/* of the packets of ep[i] */
	struct sim_link	rail[2][DLCP_RAILS_MAX];	/* on its rails */
	struct dlcp_rail_own own[2][DLCP_RAILS_MAX];
	struct sim_pkt	*heap;
	u32	nr_heap;
	u32	cap_heap;
	/* By who sends, bytes: bounds of those that began, and what is missing */
	u64	group_bound[2][SIM_GROUPS];
	u64	group_missing[2][SIM_GROUPS];
	bool	tainted;	/* packets were forged: only memory safety and
				 * what each end can see by itself is checked
				 */
	bool	may_forget;	/* the channel may be dead for longer than an end
				 * lingers: see sim_forgotten()
				 */
	/* Hostile channel: may change, keep or drop a packet. Return: false
	 * if it was taken.
	 */
	bool	(*meddle)(struct sim *s, struct sim_pkt *k);
	void	*arg;
};

/* What to send */
struct sim_attr {
	u64	length;
	u32	ppm;
	u32	group;		/* below SIM_GROUPS */
	u32	deadline_us;
	u32	elem;		/* 0 = 4 */
	u8	prio;
	u8	flags;
	u8	critical;	/* percent of segments */
	u8	droppable;
	bool	awaited;	/* somebody waits for its end at the sender */
	bool	held;		/* nothing of it is there, until sim_fill() */
	enum sim_read read;
	u64	discard_after;
};

extern void (*sim_on_fail)(void);
void sim_fail(const struct sim *s, const char *file, int line, const char *what)
	__attribute__((__noreturn__));
#define SIM_CHECK(s, cond)						\
	do {								\
		if (!(cond))						\
			sim_fail(s, __FILE__, __LINE__, #cond);		\
	} while (0)

u64 sim_rnd(struct sim *s);
u64 sim_below(struct sim *s, u64 n);
bool sim_chance(struct sim *s, u32 ppm);

/* 10 Gbit/s, 25 us each way, no loss; change s->link[] and s->ep[].cfg, then
 * sim_connect()
 */
void sim_init(struct sim *s, u64 seed);
/* Checks that nothing is left */
void sim_free(struct sim *s);
/* Both have @nr rails, each like the first link; before sim_connect() */
void sim_rails(struct sim *s, u32 nr);
/* @s is another connection over the two links of @with, and of those of its hosts
 * that are in @ends, bits; time is theirs together. Both have just been initialised.
 */
void sim_share(struct sim *s, struct sim *with, u32 ends);
/* Start the set-up; sim_up() also waits for it and checks it worked */
void sim_connect(struct sim *s);
void sim_wait_up(struct sim *s);
void sim_up(struct sim *s);
struct sim_msg *sim_send(struct sim_ep *e, const struct sim_attr *a);
/* The @i-th of many, 16 at a time. Return: false if there is no room for a while. */
bool sim_send_one_of(struct sim_ep *e, const struct sim_attr *a, u32 i);
void sim_fill(struct sim_msg *m);
/* Let an endpoint act on what a test changed */
void sim_kick(struct sim_ep *e);
/* Next event. Return: false if there is none before @until. */
bool sim_step(struct sim *s, u64 until);
void sim_run(struct sim *s, u64 ns);
/* Was @e told that its peer does not know it, by one that has all it sent and
 * waited for it in vain? Where may_forget is set this ends a test well.
 */
bool sim_forgotten(const struct sim_ep *e);
/* Until all messages of both are reported; fails after @ns */
void sim_finish(struct sim *s, u64 ns);
/* Shut both down and wait for the end */
void sim_close(struct sim *s);
void sim_shutdown(struct sim_ep *e);
void sim_read(struct sim_ep *e, struct sim_msg *m, enum sim_read how);
/* Give @e a packet as if it came from the channel */
void sim_inject_by(struct sim *s, u8 to, u8 pair, const u8 *p, u32 len,
		   bool ce, u64 at);
void sim_inject(struct sim *s, u8 to, const u8 *p, u32 len, bool ce, u64 at);

/* For its own files: counters agree; what arrives next; and onto the link, @cls
 * 0xff: control
 */
void sim_check_counters(struct sim_ep *e);
struct sim_pkt sim_pkt_next(struct sim *s);
void sim_link_send(struct sim_ep *e, u8 pair, const u8 *p, u32 len, u8 cls);

#endif
