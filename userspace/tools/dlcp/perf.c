// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp perf: the client, and the command line.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "page.h"
#include "perf.h"

#define LIST_MAX	16

/**
 * struct list - an option that may differ by connection
 * @values: those given; connections take them in turn
 * @nr: how many
 */
struct list {
	uint64_t	values[LIST_MAX];
	int		nr;
};

enum {
	NO_TCP,
	TCP_TOO,
	TCP_ALONE,
};

/**
 * struct perf_options - the command line
 * @src: network namespace
 * @server: be one
 * @once: one test
 * @of_client: options that a server has no use for
 * @of_dlcp: options that TCP has no use for
 * @family: of addresses
 * @both_families: each was asked for alone
 * @timed: for how long was said
 * @tcp: whether over TCP
 * @early_stop: messages complete as soon as their bound allows
 * @queue: messages on their way
 * @html: a file for a page, or NULL
 * @lengths: of messages
 * @bounds: of loss, in millionths
 * @classes: priorities
 * @test: the rest
 */
struct perf_options {
	struct source		src;
	int			server;
	int			once;
	int			of_client;
	int			of_dlcp;
	int			family;
	int			both_families;
	int			timed;
	int			tcp;
	int			early_stop;
	uint64_t		queue;
	const char		*html;
	struct list		lengths;
	struct list		bounds;
	struct list		classes;
	struct perf_test	test;
};

static const char help[] =
"usage: dlcp perf [OPTION...] HOST\n"
"       dlcp perf -s [-1] [-p PORT] [--tcp=only] [-N NETNS]\n"
"\n"
"Sends messages to a host that runs `dlcp perf -s`, and says how fast they went.\n"
"\n"
"  -s, --server        be that host, until the end\n"
"  -1, --one-off       ... for one test\n"
"  -p, --port PORT     of DLCP and of TCP (6254)\n"
"  -t, --time SECS     send for so long (10)\n"
"  -n, --bytes N       instead: send so many bytes in all; K, M and G are units of 1024\n"
"  -l, --length N,...  bytes of a message (1M)\n"
"      --bound P,...   how much of it may be missing: 0.01, 1% (0)\n"
"      --class C,...   0, the most urgent, to 7 (4)\n"
"      --early-stop    messages complete as soon as their bound allows\n"
"  -P, --parallel N    connections (1); of lists each takes the next value\n"
"  -q, --queue N       messages of a connection on their way at once (as its buffer holds)\n"
"  -R, --reverse       the server sends\n"
"      --bidir         both send\n"
"      --tcp           after it, the same over TCP; --tcp=only: without DLCP\n"
"  -i, --interval SECS between lines (1); 0: no lines\n"
"  -j, --json          JSON, with the names of iperf3 where they fit\n"
"      --html FILE     all of it as a page, with plots and settings\n"
"  -4, --ipv4, -6, --ipv6\n"
"  -N, --net NAME      in that network namespace (ip netns)\n";

static struct perf_run *interrupted;

/* Once: messages on their way still arrive. Twice: the program ends */
static void on_interrupt(int signal)
{
	(void)signal;
	if (interrupted)
		interrupted->stop = 1;
}

static void catch_interrupt(struct perf_run *run)
{
	const struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };

	interrupted = run;
	sigaction(SIGINT, &action, NULL);
}

static uint64_t of_conn(const struct list *list, int i)
{
	return list->values[i % list->nr];
}

static void settings_of(const struct perf_options *o, int i, uint64_t cookie, struct perf_hello *h)
{
	const struct perf_test *t = &o->test;
	int k = i % t->nr;
	uint64_t nr = (uint64_t)t->nr, length = of_conn(&o->lengths, k);
	/* None has 0 of them, which would be: by time */
	uint64_t share = t->bytes / nr + !!(t->bytes % nr);

	*h = (struct perf_hello){
		.magic = PERF_MAGIC, .kind = PERF_DATA, .cookie = cookie, .index = (uint64_t)i,
		.server_sends = t->both ? i >= t->nr : t->reverse, .length = length,
		.bound_ppm = of_conn(&o->bounds, k), .prio = of_conn(&o->classes, k),
		.early_stop = (uint64_t)o->early_stop, .ns = t->ns, .queue = o->queue,
		.count = share / length + !!(share % length),
	};
}

/* Return: 0, or an exit status after an error message */
static int hear_answer(const struct perf_test *t, int fd)
{
	uint64_t what;

	if (perf_get(t->net, fd, &what, sizeof(what)))
		return say_error("%s took the connection and did not answer (%s): what listens at port %d there is no `dlcp perf -s`, or it is of another version",
				 t->host, strerror(errno), t->port);
	if (what == PERF_BUSY)
		return say_error("the server at %s is busy with another test: try again later, or run another one with -p",
				 t->host);
	if (what != PERF_READY)
		return say_error("the server at %s refuses the settings: its dlcp is of another version: install the same one on both",
				 t->host);
	return 0;
}

static void try_next(const struct perf_test *t, const struct sockaddr_storage *to,
		     const struct reach *r)
{
	char addr[64];

	peer_text(to, addr);
	say_error("%s of %s: %s%s%s%s: its next address is tried", addr, t->host,
		  strerror(r->err), *r->words ? " (" : "", r->words, *r->words ? ")" : "");
}

/* The first address that takes a connection; each that is left has an equal share of the time.
 * Return: a socket, or -1 after an error message
 */
static int connect_any(const struct perf_test *t, const struct peer *peer,
		       const struct sockaddr_storage **to)
{
	uint64_t end = now_ns() + PERF_SET_UP_MS * 1000000ULL, now;
	struct reach r;
	size_t i;
	int fd;

	for (i = 0; ; i++) {
		*to = &peer->addrs[i];
		now = now_ns();
		now = now < end ? now : end;
		fd = t->net->connect(*to, 1 + (int)((end - now) / 1000000 / (peer->nr - i)), &r);
		if (fd >= 0)
			return fd;
		if (i + 1 == peer->nr)
			break;
		try_next(t, *to, &r);
	}
	t->net->failed(t->host, t->port, &r);
	return -1;
}

static int server_ended(const struct perf_test *t, const char *when)
{
	return say_error("the server at %s ended before %s: %s: look at what it said there, and start it again: `dlcp perf -s`",
			 t->host, when, strerror(errno));
}

/* Connections with their hellos; then the server's word that it has them all.
 * Return: the first one, or -1 after an error message
 */
static int set_up(struct perf_options *o, const struct peer *peer)
{
	struct perf_test *t = &o->test;
	struct perf_hello h = { .magic = PERF_MAGIC, .kind = PERF_CONTROL };
	const struct sockaddr_storage *to;
	struct perf_conn *c;
	struct reach r;
	int control, i;

	control = connect_any(t, peer, &to);
	if (control < 0)
		return -1;
	perf_patience(control, PERF_SET_UP_MS + 1000);
	h.index = (uint64_t)t->run.nr;
	h.more = o->tcp == TCP_TOO && t->net == &perf_dlcp;
	if (getrandom(&h.cookie, sizeof(h.cookie), 0) < 0)
		h.cookie = now_ns();
	if (perf_put(t->net, control, &h, sizeof(h))) {
		server_ended(t, "the test began");
		goto failed;
	}
	for (i = 0; i < t->run.nr; i++) {
		c = &t->run.conns[i];
		c->net = t->net;
		settings_of(o, i, h.cookie, &c->hello);
		c->sends = !c->hello.server_sends;
		c->fd = t->net->connect(to, PERF_SET_UP_MS, &r);
		if (c->fd < 0) {
			t->net->failed(t->host, t->port, &r);
			goto failed;
		}
		if (perf_put(t->net, c->fd, &c->hello, sizeof(c->hello))) {
			server_ended(t, "the test began");
			goto failed;
		}
	}
	if (!hear_answer(t, control))
		return control;
failed:
	close(control);
	return -1;
}

/* Lines until all is over */
static void let_run(struct perf_test *t)
{
	struct pollfd p = { .fd = t->run.event, .events = POLLIN };
	uint64_t next = t->run.begin + t->interval, now;
	int n;

	for (;;) {
		now = now_ns();
		n = poll(&p, 1, !t->interval ? -1 :
			 next > now ? (int)((next - now + 999999) / 1000000) : 0);
		if (n > 0 && perf_running(&t->run) <= 0)
			break;
		if (t->interval && now_ns() >= next) {
			perf_print_interval(t, 0);
			next += t->interval;
		}
	}
	if (t->interval)
		perf_print_interval(t, 1);
}

static int run_test(struct perf_options *o, int control)
{
	const uint64_t go = PERF_READY;
	struct perf_test *t = &o->test;
	int err;

	err = perf_prepare(&t->run);
	if (err)
		return err;
	perf_print_head(t);
	if (perf_put(t->net, control, &go, sizeof(go)))
		return server_ended(t, "the test began");
	err = perf_start(&t->run);
	if (err)
		return err;
	catch_interrupt(&t->run);
	let_run(t);
	interrupted = NULL;
	err = perf_end(&t->run);
	if (err)
		return err;
	perf_patience(control, 0);
	if (perf_get(t->net, control, t->remote, (size_t)t->run.nr * sizeof(*t->remote)))
		return server_ended(t, "it told its results");
	/* Then it knows that we were there until the end */
	perf_put(t->net, control, &go, sizeof(go));
	perf_print_end(t);
	perf_html_add(t);
	return 0;
}

static int test(struct perf_options *o, const struct perf_net *net, struct perf_sum *sum)
{
	struct perf_test *t = &o->test;
	int control, err;
	struct peer peer;

	t->net = net;
	err = peer_resolve(t->host, t->port, o->family, &peer);
	if (err)
		return err;
	err = perf_new(&t->run, t->nr << t->both);
	t->remote = calloc((size_t)t->run.nr + 1, sizeof(*t->remote));
	control = err ? -1 : set_up(o, &peer);
	peer_free(&peer);
	if (control >= 0) {
		err = run_test(o, control);
		close(control);
	}
	if (control < 0 || err) {
		perf_print_failed(t);
		err = DLCP_FAILED;
	} else {
		perf_sum(t, t->reverse, sum);
	}
	perf_free(&t->run);
	free(t->remote);
	return err;
}

static int tests(struct perf_options *o)
{
	static struct perf_sum dlcp, tcp;
	int err = 0;

	if (o->tcp != TCP_ALONE)
		err = test(o, &perf_dlcp, &dlcp);
	if (err || o->tcp == NO_TCP)
		return err;
	err = test(o, &perf_tcp, &tcp);
	if (!err && o->tcp == TCP_TOO && !o->test.json && perf_rate(&tcp) > 0)
		printf("\nDLCP's rate is %.3f times that of TCP\n", perf_rate(&dlcp) / perf_rate(&tcp));
	return err;
}

/* --- the command line */

static int parse_length(const char *text, uint64_t *bytes)
{
	return parse_bytes(text, bytes) || !*bytes || *bytes > PERF_LENGTH_MAX ? -1 : 0;
}

static int parse_class(const char *text, uint64_t *class)
{
	return parse_u64(text, class) || *class > 7 ? -1 : 0;
}

static int parse_list(struct list *list, const char *text,
		      int (*parse)(const char *text, uint64_t *value), const char *what)
{
	char *copy = strdup(text), *at = copy, *word;

	if (!copy)
		return say_no_memory();
	list->nr = 0;
	while ((word = strsep(&at, ","))) {
		if (list->nr == LIST_MAX || parse(word, &list->values[list->nr++])) {
			say_usage("%s is no %s", text, what);
			free(copy);
			return DLCP_USAGE;
		}
	}
	free(copy);
	return 0;
}

static int parse_tcp(struct perf_options *o)
{
	o->tcp = optarg ? TCP_ALONE : TCP_TOO;
	return optarg && strcmp(optarg, "only") ? say_usage("--tcp, or --tcp=only") : 0;
}

static int parse_number_option(struct perf_options *o, int c)
{
	struct perf_test *t = &o->test;
	uint64_t n;
	int err;

	switch (c) {
	case 'p':
		err = parse_number(optarg, 1, 65535, "port", &n);
		t->port = (int)n;
		return err;
	case 'P':
		err = parse_number(optarg, 1, PERF_CONNS, "number of connections", &n);
		t->nr = (int)n;
		return err;
	case 'q':
		return parse_number(optarg, 1, PERF_QUEUE, "number of messages", &o->queue);
	case 'n':
		return parse_bytes(optarg, &t->bytes) || !t->bytes ?
		       say_usage("%s is no number of bytes", optarg) : 0;
	case 't':
		t->ns = parse_interval(optarg);
		o->timed = 1;
		return t->ns ? 0 : say_usage("%s is no time in seconds", optarg);
	default:
		t->interval = parse_interval(optarg);
		return t->interval || !strcmp(optarg, "0") ? 0 :
		       say_usage("%s is no interval in seconds", optarg);
	}
}

static int choose_family(struct perf_options *o, int family)
{
	o->both_families |= o->family && o->family != family;
	o->family = family;
	return 0;
}

static int parse_option(struct perf_options *o, int c)
{
	o->of_client |= !strchr("s1pTN", c);
	o->of_dlcp |= !!strchr("bcE", c);
	switch (c) {
	case 's': o->server = 1; return 0;
	case '1': o->once = 1; return 0;
	case '4': return choose_family(o, AF_INET);
	case '6': return choose_family(o, AF_INET6);
	case 'j': o->test.json = 1; return 0;
	case 'R': o->test.reverse = 1; return 0;
	case 'B': o->test.both = 1; return 0;
	case 'E': o->early_stop = 1; return 0;
	case 'N': o->src.netns = optarg; return 0;
	case 'T': return parse_tcp(o);
	case 'H': o->html = optarg; return 0;
	case 'l':
		return parse_list(&o->lengths, optarg, parse_length,
				  "length of a message: 1 to 1G");
	case 'b':
		return parse_list(&o->bounds, optarg, parse_share,
				  "bound: a share of 0 to 1, or 0% to 100%");
	case 'c':
		return parse_list(&o->classes, optarg, parse_class, "class: 0 to 7");
	case 'h':
	case '?':
		return say_help(c, help);
	default:
		return parse_number_option(o, c);
	}
}

static int is_bounded(const struct list *bounds)
{
	int i;

	for (i = 0; i < bounds->nr; i++)
		if (bounds->values[i])
			return 1;
	return 0;
}

/* What would be taken and do nothing. Return: 0, or DLCP_USAGE */
static int check_idle(const struct perf_options *o)
{
	if (o->server && (o->of_client || o->tcp == TCP_TOO))
		return say_usage("-s takes -1, -p, -N and --tcp=only alone: give the rest to the client");
	if (o->tcp == TCP_ALONE && o->of_dlcp)
		return say_usage("--tcp=only takes no --bound, --class and --early-stop, which TCP has not: leave them out, or take --tcp, which measures DLCP, too");
	if (o->lengths.nr > o->test.nr || o->bounds.nr > o->test.nr || o->classes.nr > o->test.nr)
		return say_usage("a list has more values than there are connections: ask for as many with -P");
	if (o->early_stop && !is_bounded(&o->bounds))
		return say_usage("--early-stop goes with --bound: without one all of a message has to arrive");
	return 0;
}

static int check(const struct perf_options *o, char **words)
{
	uint64_t sum = 0;
	int i;

	if (o->server && *words)
		return say_usage("-s takes no host");
	if (!o->server && (!*words || words[1]))
		return say_usage("one host, or -s");
	if (o->server && o->html)
		return say_usage("--html goes with the client, which has the results of both");
	if (check_idle(o))
		return DLCP_USAGE;
	if (o->once && !o->server)
		return say_usage("-1 goes with -s");
	if (o->both_families)
		return say_usage("-4 and -6 exclude each other");
	if (o->timed && o->test.bytes)
		return say_usage("-t and -n exclude each other");
	for (i = 0; i < o->test.nr << o->test.both; i++)
		sum += of_conn(&o->lengths, i % o->test.nr);
	if (sum > PERF_LENGTH_MAX)
		return say_usage("messages of all connections together have more than 1G: ask for shorter ones with -l, or for fewer connections with -P");
	if (o->test.reverse && o->test.both)
		return say_usage("-R and --bidir exclude each other");
	return 0;
}

int cmd_perf(int argc, char **argv)
{
	static const struct option options[] = {
		{ "server", 0, NULL, 's' }, { "one-off", 0, NULL, '1' }, { "port", 1, NULL, 'p' },
		{ "time", 1, NULL, 't' }, { "bytes", 1, NULL, 'n' }, { "length", 1, NULL, 'l' },
		{ "bound", 1, NULL, 'b' }, { "class", 1, NULL, 'c' },
		{ "early-stop", 0, NULL, 'E' }, { "parallel", 1, NULL, 'P' },
		{ "queue", 1, NULL, 'q' }, { "reverse", 0, NULL, 'R' }, { "bidir", 0, NULL, 'B' },
		{ "tcp", 2, NULL, 'T' }, { "interval", 1, NULL, 'i' }, { "json", 0, NULL, 'j' },
		{ "html", 1, NULL, 'H' },
		{ "ipv4", 0, NULL, '4' }, { "ipv6", 0, NULL, '6' }, { "net", 1, NULL, 'N' },
		{ "help", 0, NULL, 'h' }, { 0 },
	};
	struct perf_options o = {
		.queue = PERF_QUEUE, .lengths = { { 1 << 20 }, 1 }, .bounds = { { 0 }, 1 },
		.classes = { { 4 }, 1 },
		.test = { .port = PERF_PORT, .nr = 1, .ns = 10000000000, .interval = 1000000000 },
	};
	int c, err = 0;

	while (!err && (c = next_option(argc, argv, ":s1p:t:n:l:P:q:Ri:j46N:h", options)) != -1)
		err = parse_option(&o, c);
	if (!err)
		err = check(&o, argv + optind);
	if (err)
		return err < 0 ? 0 : err;
	o.test.host = argv[optind];
	err = source_enter(&o.src);
	if (err)
		return err;
	if (o.server)
		return perf_serve(o.test.port, o.once, o.tcp == TCP_ALONE);
	err = o.html ? page_begin(o.html, "dlcp perf") : 0;
	if (!err)
		err = tests(&o);
	/* Also of tests that failed: what there is */
	return page_end(argv) || err ? DLCP_FAILED : 0;
}
