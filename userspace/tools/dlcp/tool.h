/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dlcp: what this node's DLCP does. A file for each subcommand, and below them:
 * say.c (errors, numbers), netlink.c, diag.c, source.c (what the kernel says, or a file), table.c (what
 * is in it), json.c, addr.c, filter.c, owner.c, paths.c, conns.c, page.c. perf.h has the files of dlcp perf,
 * coll_perf.h those of dlcp coll-perf, trace.h those of dlcp trace.
 */
#ifndef TOOLS_DLCP_H
#define TOOLS_DLCP_H

#include <stddef.h>
#include <stdint.h>

/* Exit statuses: 0 is success */
#define DLCP_FAILED	1
#define DLCP_USAGE	2

/* Of a word of the command line, with its 0: a file has no longer name */
#define WORD_MAX	4096

int cmd_check(int argc, char **argv);
int cmd_coll_perf(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_ping(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);

/* --- counters.c, which is made of Documentation/counters.md */

/**
 * struct counter_text - what a counter counts
 * @name: of the counter; NULL: the end
 * @text: in words
 */
struct counter_text {
	const char *name;
	const char *text;
};

extern const struct counter_text counter_texts[];
extern const char tool_version[];

/* --- prometheus.c */

struct source;
struct table;

/* Counters that begin so; all if there are no prefixes */
int counter_is_named(const char *name, char **prefixes);
/* Whether each prefix is that of a counter. Return: 0, or an exit status after an error message */
int counters_check(const struct table *counters, char **prefixes);
/* Metrics of these counters and of sockets, to the standard output or in place of a file.
 * Return: 0, or an exit status after an error message
 */
int prometheus_write(const struct source *src, const char *file, char **prefixes);

/* --- say.c */

/* "dlcp: ..." on the standard error. Return: DLCP_FAILED */
int say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
int say_no_memory(void);
/* What it said last */
const char *say_last(void);
/* Likewise, with a hint where to read on. Return: DLCP_USAGE */
int say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct option;
/* As getopt_long(), with @letters behind a colon. A mistake, which a value of no characters is, too,
 * is said. Return: '?' after a mistake
 */
int next_option(int argc, char **argv, const char *letters, const struct option *options);
/* What it gave and no other option is: 'h', or a mistake. Return: -1 or DLCP_USAGE */
int say_help(int c, const char *help);

#define NUM_LEN	24

/* @value in units of 1000, three digits: "1.25M". Return: @buf */
const char *say_number(char buf[NUM_LEN], double value);
/* Bits per second of @bytes per second */
const char *say_rate(char buf[NUM_LEN], double bytes);
const char *say_usecs(char buf[NUM_LEN], uint64_t us);
const char *say_percent(char buf[NUM_LEN], uint64_t part, uint64_t whole);
/* Seconds of "1", "0.5". Return: nanoseconds, or 0 if it is no interval */
uint64_t parse_interval(const char *text);
/* The same in these limits. Return: 0, or DLCP_USAGE after an error message */
int parse_number(const char *text, uint64_t least, uint64_t most, const char *what,
		 uint64_t *value);
/* Millionths of "0.01" or "1%". Return: 0, or -1 */
int parse_share(const char *text, uint64_t *ppm);
/* Bits per second of "10G", in units of 1000. Return: 0 if it is none */
double parse_rate(const char *text);
/* Bytes of "64", "128K", "1M", "2G", in units of 1024. Return: 0, or -1 */
int parse_bytes(const char *text, uint64_t *bytes);
/* A whole number and nothing else. Return: 0, or -1 */
int parse_u64(const char *text, uint64_t *value);
/* Wait until *@next, and make it @interval later: intervals do not add up delays */
void wait_until(uint64_t *next, uint64_t interval);
uint64_t now_ns(void);

/* --- peer.c */

struct sockaddr;
struct sockaddr_storage;

/* DLCP port of `dlcp ping`, which needs no rights to listen to */
#define PING_PORT	6253

/**
 * enum reached - what came of a set-up
 * @REACHED: a connection was made
 * @REACHED_ONLY: DLCP answered that nobody listens at that port
 * @REACHED_NOT: neither
 */
enum reached {
	REACHED,
	REACHED_ONLY,
	REACHED_NOT,
};

/**
 * struct reach - a set-up
 * @what: came of it
 * @err: errno of one that failed
 * @words: the kernel's, of one that failed
 * @rtt_us: of a packet and its answer
 * @version: of the protocol; 0: not known
 * @mtu: of the path, as the connection has it; 0: not known
 */
struct reach {
	enum reached	what;
	int		err;
	char		words[160];
	uint64_t	rtt_us;
	int		version;
	int		mtu;
};

/**
 * struct peer - another host
 * @nr: its addresses
 * @addrs: with the port, in the order in which they are to be tried (RFC 6724)
 */
struct peer {
	size_t			nr;
	struct sockaddr_storage	*addrs;
};

/* All addresses of a name. Return: 0, or an exit status after an error message */
int peer_resolve(const char *host, int port, int family, struct peer *peer);
void peer_free(struct peer *peer);
/* Digits of the address; @buf has room for 64 */
const char *peer_text(const struct sockaddr_storage *to, char *buf);
void peer_reach(const struct sockaddr_storage *to, int timeout_ms, struct reach *r);
/* Connect, and take the first message. Return: its length, 0 if there came none, or -1 */
int peer_read(const struct sockaddr_storage *to, int timeout_ms, char *buf, size_t size);
/* What to do where a limit of this host was met, or NULL */
const char *advise_limit(int err);
/* A listener's accept() failed. Return: 0: go on, or an exit status after an error message */
int peer_accept_failed(void);
/* What to do about a set-up that failed; @host is what the user calls the peer. Return: @buf */
const char *peer_advice(const struct reach *r, const char *host, char *buf, size_t size);
/* A DLCP socket that listens for both families, or for IPv4 where that is all. Return: -1 after an error message */
int peer_listen(int port);
/* The device that packets leave by, or ""; @dev: IF_NAMESIZE */
void route_device(const struct sockaddr_storage *to, char *dev);
/* MTU of the route and the name of its device; 0, or an errno. @dev has room for 16 */
int peer_route(const struct sockaddr_storage *to, int *mtu, char *dev);
/* Whether an ICMP echo of so many bytes (0: a small one), never cut, is answered.
 * Return: 1, 0, or -1: not permitted to ask
 */
int peer_echo(const struct sockaddr_storage *to, int bytes, int timeout_ms);
/* net.dlcp.NAME as it is. Return: 0, or -1 and "" */
int setting_read(const char *name, char *buf, size_t size);
/* Its number; 0 if there is none */
long setting_number(const char *name);

/* --- check_both.c */

/* Time, versions and settings of this host, a line for each */
void about_host(char *buf, size_t size);
/* The same as a message on a connection */
void about_send(int fd);

/* --- netlink.c */

/* The table "conns", "paths" or "devices", of the kernel; to be freed. Return: 0, or an errno */
int netlink_read(const char *name, char **text);

/* --- diag.c */

struct diag;
/* All sockets. Return: NULL after an error message */
struct diag *diag_open(void);
/* End the one with that SO_COOKIE. Return: 1; 0: it is gone; -1 after an error message */
int diag_destroy(struct diag *d, uint64_t cookie);
void diag_close(struct diag *d);

/* --- source.c */

/**
 * struct source - which host is looked at
 * @dir: a folder with what was saved of one, or NULL: this one
 * @netns: name of the network namespace to look at, or NULL
 */
struct source {
	const char	*dir;
	const char	*netns;
};

/* Go there. Return: 0, or an exit status after an error message */
int source_enter(const struct source *src);
/* A table or file, with a 0 behind it; to be freed. Return: NULL after an error message */
char *source_read(const struct source *src, const char *name);

/* Where the options go that all who look at a host have: -j -w -c -N --from -h */
struct look {
	struct source *src;
	int *json;
	uint64_t *interval;	/* ns */
	uint64_t *count;
};

/* Return: 0, -1 when @help was asked for and printed, or an exit status */
int look_option(int c, const struct look *look, const char *help);
/* Whether they go together. Return: 0, or an exit status after an error message */
int look_check(const struct look *look);
/* A socket of DLCP, closed by exec. @flags: SOCK_NONBLOCK, or 0. Return: -1 with errno */
int source_socket(int family, int flags);
/* The module's version; 0 if it is in this kernel, and -1 if not */
int module_version(char *version, size_t size);

/* --- table.c */

/**
 * struct table - lines of words under a line of names
 * @text: all of it
 * @names: of the columns
 * @cells: @nr_rows times @nr_names; NULL where a line is too short
 */
struct table {
	char	*text;
	char	**names;
	char	**cells;
	size_t	nr_names;
	size_t	nr_rows;
};

/* @text is the table's from now on. Return: 0, -ENOMEM, or -EPROTO: no names */
int table_parse(struct table *t, char *text);
/* Read and parse it. Return: 0, or an exit status after an error message */
int table_read(struct table *t, const struct source *src, const char *name);
void table_free(struct table *t);
/* Return: "" where there is no such column or cell */
const char *table_get(const struct table *t, size_t row, const char *name);
uint64_t table_u64(const struct table *t, size_t row, const char *name);
/* Names and numbers without a line above them become the columns "name" and "value" */
int pairs_parse(struct table *t, char *text);
int pairs_read(struct table *t, const struct source *src, const char *name);

/* --- json.c */

/* The next value stands in the object or array that is open, under @name if not NULL */
void json_open(const char *name, char bracket);
void json_close(char bracket);
void json_text(const char *name, const char *value);
/* "true", say: nothing is put around it */
void json_literal(const char *name, const char *value);
/* A number as it is written, else a text */
void json_word(const char *name, const char *value);
void json_number(const char *name, double value);
void json_u64(const char *name, uint64_t value);

/* --- addr.c */

/**
 * struct addr - an address and a port
 * @bytes: IPv4 as ::ffff:a.b.c.d
 * @bits: of the prefix that counts, of 128
 * @port: -1: any
 * @is_ipv4: which it is
 */
struct addr {
	uint8_t	bytes[16];
	int	bits;
	int	port;
	int	is_ipv4;
};

/* "10.0.0.1:80", "[fd00::1]:80"; with @loose also without either, "*", and a prefix's
 * length. Return: 0, or -1
 */
int addr_parse(struct addr *a, const char *text, int loose);
int addr_matches(const struct addr *pattern, const struct addr *a);

/* --- grid.c */

struct grid;
/* A table for people: its titles, ended by NULL */
struct grid *grid_new(const char *const *titles);
/* The next cell; rows follow from the number of titles */
void grid_add(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of its own before the next row */
void grid_note(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void grid_print(struct grid *g, int with_titles);
void grid_free(struct grid *g);

/* --- filter.c */

struct filter;
/* Words as those of ss(8). Return: NULL after an error message */
struct filter *filter_parse(char **words, int nr);
int filter_takes(const struct filter *f, const struct table *t, size_t row);
void filter_free(struct filter *f);
/* "established" of "ESTABLISHED", in @buf */
const char *lower(const char *text, char *buf, size_t size);

/* --- owner.c */

struct owners;
/* The processes that hold sockets, as far as the caller may see */
struct owners *owners_read(void);
/* "python3 (4711)", or "" */
const char *owners_find(const struct owners *o, uint64_t inode);
void owners_free(struct owners *o);

/* --- paths.c */

/**
 * struct paths - which lines of "paths" belong to which of "conns"
 * @table: the paths
 * @first: for each connection the first line of its paths
 * @nr: for each connection how many follow
 */
struct paths {
	struct table	table;
	size_t		*first;
	size_t		*nr;
};

int paths_read(struct paths *p, const struct source *src, const struct table *conns);
/* Whether rows of conns or paths, of two looks perhaps, are of one socket */
int same_socket(const struct table *a, size_t i, const struct table *b, size_t j);
/* Sum of a column over the paths of connection @row */
uint64_t paths_sum(const struct paths *p, size_t row, const char *name);
void paths_free(struct paths *p);

/* --- conns.c */

/**
 * struct conns - connections as two looks saw them
 * @now: those of the last look
 * @before: of the look before
 * @paths: those of @now
 * @seconds: between them; 0: there was one look
 * @looked: when the last one was
 * @hint: where in @before the last search ended
 */
struct conns {
	struct table	now;
	struct table	before;
	struct paths	paths;
	double		seconds;
	uint64_t	looked;
	size_t		hint;
};

/* Return: 0, or an exit status after an error message */
int conns_look(struct conns *c, const struct source *src);
int conns_is_listener(const struct conns *c, size_t row);
/* What was added to a column by second, or -1: the connection was not there before */
double conns_rate(struct conns *c, size_t row, const char *name);
/* "!" if one of its paths does not answer, or "" */
const char *conns_mark(const struct conns *c, size_t row);
void conns_free(struct conns *c);

#endif
