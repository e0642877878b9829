/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The system-call fuzzer: what its files share. README.md says how it works.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/dlcp.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))

typedef uint8_t		u8;
typedef uint32_t	u32;
typedef uint64_t	u64;

/* --- chance: every call has a stream of its own, so that what one call
 * returns does not change what the next ones do
 */
void rnd_seed(u64 seed, u64 a, u64 b, u64 c);
u64 rnd64(void);
u32 rnd(u32 n);			/* 0 .. n - 1 */
bool chance(int percent);
int rnd_edge(void);		/* numbers that are often handled wrong */
void rnd_bytes(void *p, size_t len);
#define one_of(a) ((a)[rnd(ARRAY_SIZE(a))])

/* --- what a process has */
enum { SLOTS = 24, WORKERS_MAX = 5, PORTS = 4, FIRST_PORT = 4711 };

extern int slot[SLOTS];		/* descriptors; -1: empty */
extern int file_fd;		/* a file of FILE_SIZE bytes */
extern int mail[2];		/* a socket pair all processes share */
extern pid_t *workers;		/* all of them, in shared memory */
extern bool *overran, *settings_changed;	/* ... */
extern bool tracing;
extern bool is_uml;
extern __thread bool faulty;	/* the present call has a fault injected */

#define FILE_SIZE	(256 * 1024)

int fd_any(void);
void fd_put(int fd);		/* nothing if it is negative */
void fd_drop(int i);		/* close slot[i] */

/* --- memory: most of it is there */
void memory_open(void);
void *memory(size_t len);	/* perhaps with a hole, perhaps nowhere */
void memory_change(void);	/* a hole comes or goes */
int iov_make(struct iovec *iov, int max, size_t len);

/* --- the calls */
struct call {
	const char	*name;
	int		weight;
	void		(*fn)(void);
	bool		no_buffers;	/* from memory() */
};

extern const struct call socket_calls[], io_calls[], option_calls[],
			 other_calls[];
void address_make(struct sockaddr_storage *a, socklen_t *len);
/* Says what was called with what, if asked to. The result. */
long done(long result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void call_any(void);
void settings_reset(void);
/* The kernel wrote where it must not: the run will end */
void overrun(const char *what);

/* --- rounds */
struct options {
	u64	seed;
	u64	first;
	u64	rounds;
	int	calls;		/* of a process, 0: as many as it likes */
};

extern struct options options;
extern int slowness;

/* One round in the present name space; false if a process cannot be killed */
bool round_run(u64 nr);

#endif
