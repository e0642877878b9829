/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests share: sockets, messages whose
 * bytes can be checked, receipts and reports.
 *
 * Functions without a result to look at end the test when they fail.
 *
 * The environment chooses what everything runs over, so that one program
 * tests all: DLCP_TEST_FAMILY=4|6, DLCP_TEST_ENCAP=udp|raw.
 */
#ifndef LIB_H
#define LIB_H

#include <linux/dlcp.h>
#include <poll.h>
#include <pthread.h>

#include "net.h"

extern int encap;	/* enum dlcp_encap */

/* Sockets */
int dlcp_socket(void);			/* with DLCP_RECVWANT */
int dlcp_socket_in(int net);
int listen_in(int net, union addr a);
int do_accept(int lfd);			/* waits; with DLCP_RECVWANT */
int set_int(int fd, int opt, int val);	/* SOL_DLCP; as setsockopt() */
void set_buffers(int fd, int bytes);	/* SO_SNDBUF, SO_RCVBUF */
void set_timeout(int fd, int opt, int ms);	/* SO_RCVTIMEO, SO_SNDTIMEO */
struct dlcp_info info_of(int fd);
/* SO_MEMINFO: bytes in a socket's queues, as the kernel counts them */
long long rmem_of(int fd);
long long wmem_of(int fd);
int poll_for(int fd, int events, int ms);	/* revents */
int sock_error(int fd);			/* SO_ERROR */
void check_words(int fd, const char *words);	/* in DLCP_LAST_ERROR */

struct pair {
	int a;		/* connected */
	int b;		/* accepted */
};

struct pair pair_lo(void);
struct pair pair_hosts(const struct hosts *h);	/* a in h0, b in h1 */
struct pair pair_between(int net_a, int net_b, union addr to);
/* connect() on a socket with options of its own */
struct pair pair_from(int fd, int net_b, union addr to);
void pair_close(struct pair *p);

/* A message to send. Use MSG() for the defaults. */
struct msg {
	size_t	len;
	u64	key;
	u64	cookie;
	u64	seed;		/* of its bytes, with key */
	u32	loss;		/* ppm */
	u32	group;		/* whose bounds the caller looks after; 0 = none */
	u32	deadline_us;
	u32	flags;		/* DLCP_MSG_* */
	int	elem;
	int	prio;
	struct dlcp_tags *tags;
};

#define MSG(...) ((struct msg){ .elem = 4, .prio = DLCP_PRIO_DEFAULT,	\
				__VA_ARGS__ })

/* Tags for a message: @kinds repeats, "cdi" = critical, droppable,
 * important
 */
struct dlcp_tags *tags_new(size_t len, u32 stride, const char *kinds);
int tag_at(const struct dlcp_tags *t, u64 offset);
void fill(void *buf, size_t len, u64 seed);
ssize_t send_bytes(int fd, const struct msg *m, const void *buf, int flags);
ssize_t send_msg(int fd, const struct msg *m, int flags);
void must_send(int fd, const struct msg *m);

/* What recvmsg() gave */
struct got {
	u8			*buf;
	size_t			size;	/* of buf; recvmsg() may use all of it */
	ssize_t			n;	/* recvmsg()'s result */
	int			flags;	/* MSG_TRUNC, ... */
	bool			eof;
	struct dlcp_msg		msg;
	struct dlcp_range	*ranges;
	size_t			nr_ranges;
	size_t			max_ranges;
	bool			keep;	/* missing ranges are left alone */
};

#define CANARY	0xa5	/* what buf holds before recvmsg() */

void got_init(struct got *g, size_t size);
void got_free(struct got *g);
ssize_t recv_want(int fd, struct got *g, const struct dlcp_want *w, int flags);
ssize_t recv_key(int fd, struct got *g, u64 key, int flags);
ssize_t recv_any(int fd, struct got *g, int flags);

/* A report */
struct sent {
	struct dlcp_report	r;
	struct dlcp_range	*ranges;
	size_t			nr_ranges;
};

/* One recvmsg() on the error queue. Returns the number of reports, at most
 * @max, or -1
 */
int read_reports(int fd, struct sent *s, int max, int flags);
/* Waits for one; with several messages under way use read_reports() */
/* A zero-copy notification: numbers lo to hi of MSG_ZEROCOPY sends are over.
 * 0, or -1 and EAGAIN if there is none.
 */
struct zerocopy {
	u32	lo;
	u32	hi;
	bool	copied;
};

int read_zerocopy(int fd, struct zerocopy *z);
/* Waits until @nr sends are over */
void wait_zerocopy(int fd, u32 nr, struct zerocopy *all);
void wait_report(int fd, struct sent *s);
void sent_free(struct sent *s);

/* Promises 1, 2 and 3 of protocol.md, section 1 */
void check_got(const struct msg *m, const struct got *g);
void check_agree(const struct got *g, const struct sent *s);
/* offered = delivered + forgiven at both ends; all messages must be over */
void check_counters(int from, int to);
/* In the lab with --time: what passes is not the machine's time */
bool in_virtual_time(void);
/* Bytes sent again of which there was no first copy */
long long really_lost(int from, int to);

/* For task_start(): must_send() */
struct sending {
	int		fd;
	struct msg	*m;
};

void sending_main(void *arg);

/* Send, receive and check a message; with a report if m->flags ask for it.
 * Result: what became of it, to be freed with outcome_free().
 */
struct outcome {
	struct got	got;
	struct sent	sent;
	u64		ms;
};

struct outcome transfer(int from, int to, struct msg *m);
void outcome_free(struct outcome *o);
void pass(int from, int to, struct msg *m);	/* ..., nothing else */
/* The same for task_start() */
struct passing {
	int		from;
	int		to;
	struct msg	*m;
	bool		again;	/* one after another, as long as it is set */
};

void passing_main(void *arg);
/* A small message there and back: the connection works */
void ping_pong(struct pair *p);

/* Threads that may ASSERT */
struct task {
	pthread_t	thread;
	pid_t		tid;
	void		(*fn)(void *);
	void		*arg;
	bool		done;
};

void task_start(struct task *t, void (*fn)(void *), void *arg);
void task_join(struct task *t);
void passing_end(struct passing *p, struct task *t);

/* Messages caught under way. The caller fills in @m, there.again if it shall be
 * more than one, and the hosts.
 */
struct underway {
	struct hosts	h;
	struct pair	p;
	struct msg	m;
	struct passing	there;
	struct task	t;
};

/* Over a cable so slow: as netem's rate, e.g. "8mbit" */
void underway_start(struct underway *u, const char *rate);
/* Until so many bytes more have arrived, or all is over */
void underway_wait(struct underway *u, u64 bytes);
bool task_sleeps(const struct task *t);	/* in a system call */
bool pid_sleeps(pid_t pid);

/* A user's memory that is not there, so that who needs it waits, on which the
 * test waits in turn, until it fills it
 */
struct hole {
	void	*p;
	size_t	len;
	int	uffd;
};

void hole_new(struct hole *h, size_t len);
void hole_wait(struct hole *h);
void hole_fill(struct hole *h);

/* A sender of 64 KB that sleeps with its socket locked, as its memory is not there */
struct stuck {
	int		fd;
	struct hole	hole;
	struct task	task;
};

void stuck_start(struct stuck *s, int fd);
void stuck_end(struct stuck *s);

/* A child process; @not is closed in it */
pid_t spawn(void (*fn)(void *), void *arg, int not);

/* The module: NULL where it cannot be removed and put back here */
const char *module_path(void);
int module_load(const char *args);	/* 0 or -1 and errno */
int module_unload(void);

#endif
