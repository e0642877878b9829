// SPDX-License-Identifier: GPL-2.0
/*
 * dlcpperf: rounds of many-to-one transfers, over DLCP and its peers.
 *
 * In a round the receiver says "go" to every sender, each sends its share, and
 * the round's time runs from the first "go" until the last byte of the last
 * sender has been handed to the receiver. Connections stay open. Nothing here
 * looks at the clock but at the ends of a round, and nothing spins: in a
 * machine with virtual time both would distort what is measured.
 */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mark.h"
#include "perf.h"

static const char *who = "dlcpperf";

void die(const char *format, ...)
{
	int err = errno;
	va_list args;

	fprintf(stderr, "%s: ", who);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(err));
	exit(1);
}

void fail(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", who);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

void set_int(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("%s", what);
}

/* What is there to be sent is handed over and not waited for */
void hold_share(struct conn *c)
{
	if (c->opt->nr_layers > 1)
		set_int(c->fd, SOL_SOCKET, SO_SNDBUFFORCE, 2 * c->opt->share,
			"SO_SNDBUFFORCE");
}

static void *allocate(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		fail("out of memory");
	return p;
}

void add_missing(struct conn *c, uint64_t offset, uint64_t length)
{
	if (c->nr_missing == c->max_missing) {
		c->max_missing = c->max_missing * 2 + 64;
		c->missing = realloc(c->missing,
				     c->max_missing * sizeof(*c->missing));
		if (!c->missing)
			fail("out of memory");
	}
	c->missing[c->nr_missing++] = (struct range){ offset, length };
}

/* The order of ranges and of rounds makes no difference */
uint64_t hash_range(uint64_t hash, uint64_t round, uint64_t offset,
		    uint64_t length)
{
	uint64_t h = round * 0x9e3779b97f4a7c15ULL ^ offset;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL ^ length;
	h = (h ^ h >> 32) * 0x94d049bb133111ebULL;
	return hash + (h ^ h >> 29);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void sleep_until(uint64_t start, double ns)
{
	uint64_t at = start + (uint64_t)ns;
	struct timespec ts = { .tv_sec = at / 1000000000,
			       .tv_nsec = at % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static struct conn *new_conn(const struct options *opt, int fd)
{
	struct conn *c = allocate(sizeof(*c));

	c->opt = opt;
	c->fd = fd;
	c->data_fd = -1;
	c->buf = allocate(opt->share);
	/* Touch every page now */
	memset(c->buf, 1, opt->share);
	return c;
}

/* --- the sender: does what the receiver commands */

#define COMMAND_STATS	(~0ULL)
#define COMMAND_END	(~1ULL)

static void prepare_round(struct conn *c, uint64_t round)
{
	if (c->opt->check || round == 0)
		pattern_fill(c->buf, c->opt->share, c->index, round);
}

/* The backward pass takes as long for each layer */
static void send_share(struct conn *c, uint64_t round)
{
	const struct options *opt = c->opt;
	uint64_t start = opt->nr_layers > 1 ? now_ns() : 0, offset = 0;
	uint32_t i;

	for (i = 0; i < opt->nr_layers; i++) {
		if (opt->nr_layers > 1)
			sleep_until(start, opt->compute * 1e6 * (i + 1) /
					   opt->nr_layers);
		opt->proto->send(c, round, i, offset);
		offset += opt->layer[i];
	}
}

static int sender(const struct options *opt)
{
	struct conn *c = new_conn(opt, opt->proto->open(opt));
	uint64_t command, round = 0;
	struct stats st;

	c->index = opt->index;
	if (connect(c->fd, (const struct sockaddr *)&opt->addr, opt->addr_len))
		die("connect");
	opt->proto->connected(c);
	opt->proto->put(c, &c->index, sizeof(c->index));
	prepare_round(c, 0);
	while (1) {
		mark(MARK_SENDER, 0);
		opt->proto->get(c, &command, sizeof(command));
		if (command == COMMAND_END)
			break;
		if (command == COMMAND_STATS) {
			memset(&st, 0, sizeof(st));
			opt->proto->stats(c, &st);
			opt->proto->put(c, &st, sizeof(st));
			continue;
		}
		if (command != round)
			fail("told to begin round %llu, not %llu",
			     (unsigned long long)command,
			     (unsigned long long)round);
		send_share(c, round++);
		prepare_round(c, round);
	}
	close(c->fd);
	return 0;
}

/* --- the receiver: a thread for each sender waits in recv() */

struct inbox {
	struct conn *c;
	pthread_t thread;
	sem_t begin;
	sem_t *done;
	uint64_t end;		/* ns, of the round just received */
	struct stats first, last;
};

static void receive(struct inbox *in, uint64_t round)
{
	const struct options *opt = in->c->opt;

	mark(MARK_RECEIVER, 0);
	in->c->nr_missing = 0;
	in->c->front_end = 0;
	opt->proto->recv(in->c, round);
	in->end = now_ns();
	if (!in->c->front_end)
		in->c->front_end = in->end;
	if (opt->proto->after)
		opt->proto->after(in->c);
}

static void *inbox_thread(void *arg)
{
	struct inbox *in = arg;
	const struct options *opt = in->c->opt;
	uint64_t round;

	for (round = 0; round < opt->warmup + opt->rounds; round++) {
		while (sem_wait(&in->begin))
			;
		receive(in, round);
		sem_post(in->done);
	}
	return NULL;
}

/* From one sender the main thread receives by itself: a hand-over would be in each round trip */
static void start_threads(const struct options *opt, struct inbox *in)
{
	uint32_t i;

	for (i = 0; opt->senders > 1 && i < opt->senders; i++) {
		sem_init(&in[i].begin, 0, 0);
		errno = pthread_create(&in[i].thread, NULL, inbox_thread, &in[i]);
		if (errno)
			die("pthread_create");
	}
}

static void let_begin(const struct options *opt, struct inbox *in)
{
	uint32_t i;

	for (i = 0; opt->senders > 1 && i < opt->senders; i++)
		sem_post(&in[i].begin);
}

static void wait_for_all(const struct options *opt, struct inbox *in, sem_t *done, uint64_t round)
{
	uint32_t i;

	if (opt->senders == 1) {
		receive(&in[0], round);
		return;
	}
	for (i = 0; i < opt->senders; i++)
		while (sem_wait(done))
			;
}

static struct inbox *accept_all(const struct options *opt, sem_t *done)
{
	struct inbox *in = allocate(opt->senders * sizeof(*in));
	int listener = opt->proto->open(opt), fd;
	struct conn *c;
	uint32_t i;

	set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR");
	if (bind(listener, (const struct sockaddr *)&opt->addr, opt->addr_len))
		die("bind");
	if (listen(listener, MAX_SENDERS))
		die("listen");
	printf("ready\n");
	fflush(stdout);
	for (i = 0; i < opt->senders; i++) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			die("accept");
		c = new_conn(opt, fd);
		opt->proto->accepted(c);
		opt->proto->get(c, &c->index, sizeof(c->index));
		if (c->index >= opt->senders || in[c->index].c)
			fail("sender %u twice or unknown", c->index);
		in[c->index].c = c;
		in[c->index].done = done;
	}
	close(listener);
	return in;
}

static void command_all(const struct options *opt, struct inbox *in,
			uint64_t command)
{
	uint32_t i;

	for (i = 0; i < opt->senders; i++)
		opt->proto->put(in[i].c, &command, sizeof(command));
}

static void check_content(const struct options *opt, struct inbox *in,
			  uint64_t round)
{
	struct conn *c;
	uint64_t bad;
	uint32_t i, k;

	for (i = 0; i < opt->senders; i++) {
		c = in[i].c;
		for (k = 0; k < c->nr_missing; k++)
			c->receipt_hash = hash_range(c->receipt_hash, round,
						     c->missing[k].offset,
						     c->missing[k].length);
		for (k = 0; k < c->nr_missing && round >= opt->warmup; k++)
			c->missing_bytes += c->missing[k].length;
		if (!opt->check)
			continue;
		bad = pattern_check(c->buf, opt->share, i, round, c->missing,
				    c->nr_missing);
		if (bad)
			fail("%llu bytes of sender %u in round %llu are wrong",
			     (unsigned long long)bad, i,
			     (unsigned long long)round);
	}
}

/* ns, of each round; sorted for printing */
struct times {
	uint64_t *all;		/* from the first "go" until the last byte */
	uint64_t *front;	/* ... until all have the front layer, or until
				 * the urgent ones are through
				 */
};

static void run_round(const struct options *opt, struct inbox *in,
		      sem_t *done, uint64_t round, uint64_t *all,
		      uint64_t *front)
{
	uint64_t start, end = 0, front_end = 0;
	uint32_t i;

	mark(MARK_RECEIVER, 0);
	let_begin(opt, in);
	if (opt->gap)
		sleep_until(now_ns(), opt->gap * 1e6);
	start = now_ns();
	command_all(opt, in, round);
	wait_for_all(opt, in, done, round);
	for (i = 0; i < opt->senders; i++) {
		end = in[i].end > end ? in[i].end : end;
		if (in[i].c->front_end > front_end &&
		    (!opt->urgent || i < opt->urgent))
			front_end = in[i].c->front_end;
	}
	check_content(opt, in, round);
	*all = end - start;
	*front = front_end - start;
}

static void ask_stats(const struct options *opt, struct inbox *in, bool last)
{
	uint32_t i;

	command_all(opt, in, COMMAND_STATS);
	for (i = 0; i < opt->senders; i++)
		opt->proto->get(in[i].c, last ? &in[i].last : &in[i].first,
				sizeof(struct stats));
}

/* --- the result */

struct result {
	struct times ns;
};

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest time that at least @share of the rounds did not exceed */
static double quantile_ms(const uint64_t *ns, uint32_t n, double share)
{
	uint32_t i = share * n;

	if (i < share * n)
		i++;
	return ns[i ? i - 1 : 0] / 1e6;
}

/* Prints them all, sorts them. Return: the mean, ms. */
static double print_list(const char *name, uint64_t *ns, uint32_t n)
{
	double sum = 0;
	uint32_t i;

	printf("\"%s\": [", name);
	for (i = 0; i < n; i++) {
		printf("%s%.3f", i ? ", " : "", ns[i] / 1e6);
		sum += ns[i] / 1e6;
	}
	printf("], ");
	qsort(ns, n, sizeof(*ns), compare);
	return sum / n;
}

static void print_front(const struct options *opt, struct result *r)
{
	uint64_t *ns = r->ns.front;
	double mean = print_list("front_times", ns, opt->rounds);

	printf("\"compute\": %.3f, ", opt->compute);
	printf("\"front_mean\": %.3f, \"front_p50\": %.3f, \"front_worst\": %.3f, ",
	       mean, quantile_ms(ns, opt->rounds, 0.5),
	       ns[opt->rounds - 1] / 1e6);
}

static void print_urgent(const struct options *opt, struct result *r)
{
	double mean = print_list("urgent_times", r->ns.front, opt->rounds);

	printf("\"notes\": {\"urgent_ms\": %.3f, \"urgent_worst_ms\": %.3f}, ",
	       mean, r->ns.front[opt->rounds - 1] / 1e6);
}

static void print_times(const struct options *opt, struct result *r)
{
	double ideal = opt->share * opt->senders * 8e3 / opt->rate;
	double mean = print_list("times", r->ns.all, opt->rounds);
	double worst = r->ns.all[opt->rounds - 1] / 1e6;

	if (opt->nr_layers > 1)
		print_front(opt, r);
	else if (opt->urgent)
		print_urgent(opt, r);
	printf("\"mean\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"worst\": %.3f, ",
	       mean, quantile_ms(r->ns.all, opt->rounds, 0.5),
	       quantile_ms(r->ns.all, opt->rounds, 0.99), worst);
	printf("\"ideal\": %.3f, \"mean_ratio\": %.4f, \"worst_ratio\": %.4f, ",
	       ideal, mean / ideal, worst / ideal);
	printf("\"goodput\": %.4f", ideal / mean);
}

static void print_counters(const struct options *opt, const struct inbox *in)
{
	struct stats d = { .known = 1 };
	uint64_t missing = 0;
	uint32_t i;

	for (i = 0; i < opt->senders; i++) {
		missing += in[i].c->missing_bytes;
		d.known &= in[i].last.known;
		d.sent += in[i].last.sent - in[i].first.sent;
		d.resent += in[i].last.resent - in[i].first.resent;
		d.lost += in[i].last.lost - in[i].first.lost;
		d.spurious += in[i].last.spurious - in[i].first.spurious;
		d.probes += in[i].last.probes - in[i].first.probes;
		d.marks += in[i].last.marks - in[i].first.marks;
	}
	if (opt->proto == &proto_dlcp)
		printf(", \"lost\": %llu, \"forgiven\": %llu, \"spurious\": %llu, \"probes\": %llu",
		       (unsigned long long)d.lost, (unsigned long long)missing,
		       (unsigned long long)d.spurious,
		       (unsigned long long)d.probes);
	else if (missing)
		printf(", \"lost\": %llu", (unsigned long long)missing);
	if (d.known)
		printf(", \"sent\": %llu, \"resent\": %llu, \"marks\": %llu",
		       (unsigned long long)d.sent, (unsigned long long)d.resent,
		       (unsigned long long)d.marks);
}

static void print_result(const struct options *opt, struct result *r,
			 const struct inbox *in)
{
	printf("{\"scenario\": \"%s\", \"protocol\": \"%s\", \"bound\": %g, ",
	       opt->scenario, opt->label, opt->bound / 1e6);
	printf("\"senders\": %u, \"bytes\": %llu, \"rounds\": %u, ",
	       opt->senders, (unsigned long long)(opt->share * opt->senders),
	       opt->rounds);
	print_times(opt, r);
	print_counters(opt, in);
	printf("}\n");
}

/* Promise 3 (protocol.md, section 1): receipts and reports name the same ranges */
static void check_agreement(const struct options *opt, const struct inbox *in)
{
	uint32_t i;

	for (i = 0; opt->proto == &proto_dlcp && i < opt->senders; i++)
		if (in[i].last.report_hash != in[i].c->receipt_hash)
			fail("reports and receipts of sender %u differ", i);
}

static int receiver(const struct options *opt)
{
	struct result r = {
		.ns.all = allocate(opt->rounds * sizeof(uint64_t)),
		.ns.front = allocate(opt->rounds * sizeof(uint64_t)),
	};
	uint64_t all, front;
	struct inbox *in;
	uint32_t i;
	sem_t done;

	mark(MARK_NEW, 0);
	sem_init(&done, 0, 0);
	in = accept_all(opt, &done);
	start_threads(opt, in);
	for (i = 0; i < opt->warmup + opt->rounds; i++) {
		if (i == opt->warmup) {
			ask_stats(opt, in, false);
			mark(MARK_BEGIN, 0);
		}
		run_round(opt, in, &done, i, &all, &front);
		if (i < opt->warmup)
			continue;
		r.ns.all[i - opt->warmup] = all;
		r.ns.front[i - opt->warmup] = front;
	}
	mark(MARK_END, opt->number);
	ask_stats(opt, in, true);
	command_all(opt, in, COMMAND_END);
	check_agreement(opt, in);
	print_result(opt, &r, in);
	return 0;
}

/* --- the command line */

static void usage(FILE *f)
{
	fprintf(f,
"usage: dlcpperf recv|send --proto P --addr A [options]\n"
"  --proto P      tcp, mptcp, sctp, dlcp; dlcp-plain: by socket calls alone, no reports,\n"
"                 no receipts; udp: paced blindly; udp-gso: as fast as it is read\n"
"  --addr A       address of the receiver, a number\n"
"  --port P       its port (5001)\n"
"  --cc NAME      congestion controller (the system's default)\n"
"  --bound P      dlcp: share of a message that may be missing (0)\n"
"  --early-stop   dlcp: complete as soon as the bound allows\n"
"  --senders N    how many (1)\n"
"  --index I      send: which one, from 0 (0)\n"
"  --bytes N      bytes of all senders in a round (20000000)\n"
"  --urgent N     the first N senders are in class 0, the others in 7 (dlcp)\n"
"  --layers A,B.. a sender's bytes instead, in parts, the last the most urgent\n"
"  --messages N   a sender's bytes in so many calls of send() and recv() (1; not dlcp)\n"
"  --iovecs N     recv: each message into so many pieces of memory (1; not dlcp, udp)\n"
"  --compute MS   time until the last part is there to be sent (0)\n"
"  --gap MS       recv: pause before each round (0)\n"
"  --rate R       bits per second of the bottleneck (1e10)\n"
"  --rounds N     recv: rounds that count (8)\n"
"  --warmup N     recv: rounds before them (2)\n"
"  --number N     recv: of this measurement, for what counts instructions (0)\n"
"  --no-check     do not fill and compare contents\n"
"  --scenario S, --label S   words for the result\n"
"recv prints \"ready\" when senders may start, and the result as a line of JSON.\n");
}

static void set_addr(struct options *opt, const char *host, const char *port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;

	if (getaddrinfo(host, port, &hints, &ai))
		fail("%s port %s is no address", host, port);
	memcpy(&opt->addr, ai->ai_addr, ai->ai_addrlen);
	opt->addr_len = ai->ai_addrlen;
	freeaddrinfo(ai);
}

static const struct proto *find_proto(const char *name)
{
	int i;

	for (i = 0; protos[i]; i++)
		if (!strcmp(protos[i]->name, name))
			return protos[i];
	fail("unknown protocol %s", name);
}

static double number(const char *text, double min, double max)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !(x >= min && x <= max))
		fail("%s is not a number from %g to %g", text, min, max);
	return x;
}

static const struct option long_options[] = {
	{ "proto", 1, NULL, 'p' },	{ "addr", 1, NULL, 'a' },
	{ "port", 1, NULL, 'P' },	{ "cc", 1, NULL, 'c' },
	{ "bound", 1, NULL, 'b' },	{ "early-stop", 0, NULL, 'e' },
	{ "senders", 1, NULL, 'n' },	{ "index", 1, NULL, 'i' },
	{ "bytes", 1, NULL, 'B' },	{ "rate", 1, NULL, 'r' },
	{ "rounds", 1, NULL, 'R' },	{ "warmup", 1, NULL, 'w' },
	{ "layers", 1, NULL, 'L' },	{ "compute", 1, NULL, 'm' },
	{ "messages", 1, NULL, 'M' },	{ "iovecs", 1, NULL, 'I' },
	{ "gap", 1, NULL, 'g' },	{ "urgent", 1, NULL, 'u' },
	{ "number", 1, NULL, 'N' },	{ "no-check", 0, NULL, 'C' },
	{ "scenario", 1, NULL, 's' },	{ "label", 1, NULL, 'l' },
	{ "help", 0, NULL, 'h' },
	{}
};

struct words {
	const char *addr, *port;
	double bytes;
};

static void set_layers(struct options *o, char *list)
{
	char *word;

	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		if (o->nr_layers == MAX_LAYERS)
			fail("more than %u layers", MAX_LAYERS);
		o->layer[o->nr_layers] = number(word, 1, 1e12);
		o->share += o->layer[o->nr_layers++];
	}
}

static void take_option(struct options *o, struct words *w, int letter)
{
	switch (letter) {
	case 'p': o->proto = find_proto(optarg); break;
	case 'a': w->addr = optarg; break;
	case 'P': w->port = optarg; break;
	case 'c': o->cc = optarg; break;
	case 'b': o->bound = number(optarg, 0, 1) * DLCP_PPM + 0.5; break;
	case 'e': o->early_stop = true; break;
	case 'n': o->senders = number(optarg, 1, MAX_SENDERS); break;
	case 'i': o->index = number(optarg, 0, MAX_SENDERS - 1); break;
	case 'B': w->bytes = number(optarg, 1, 1e12); break;
	case 'L': set_layers(o, optarg); break;
	case 'M': o->messages = number(optarg, 1, 1e6); break;
	case 'I': o->iovecs = number(optarg, 1, MAX_IOVECS); break;
	case 'm': o->compute = number(optarg, 0, 1e6); break;
	case 'g': o->gap = number(optarg, 0, 1e6); break;
	case 'r': o->rate = number(optarg, 1, 1e15); break;
	case 'R': o->rounds = number(optarg, 1, MAX_ROUNDS); break;
	case 'w': o->warmup = number(optarg, 0, MAX_ROUNDS); break;
	case 'u': o->urgent = number(optarg, 0, MAX_SENDERS); break;
	case 'N': o->number = number(optarg, 0, 1e9); break;
	case 'C': o->check = false; break;
	case 's': o->scenario = optarg; break;
	case 'l': o->label = optarg; break;
	case 'h': usage(stdout); exit(0);
	default: usage(stderr); exit(2);
	}
}

int main(int argc, char **argv)
{
	struct options opt = {
		.senders = 1, .rounds = 8, .warmup = 2, .rate = 1e10,
		.messages = 1, .iovecs = 1, .check = true, .scenario = "",
	};
	struct words words = { .port = "5001", .bytes = 20e6 };
	int letter;

	while ((letter = getopt_long(argc, argv, "", long_options, NULL)) >= 0)
		take_option(&opt, &words, letter);
	if (optind != argc - 1 || !opt.proto || !words.addr) {
		usage(stderr);
		return 2;
	}
	if (!opt.label)
		opt.label = opt.proto->name;
	if (!opt.nr_layers) {
		opt.nr_layers = 1;
		opt.layer[0] = opt.share = words.bytes / opt.senders;
	}
	if (!opt.share)
		fail("fewer bytes than senders");
	if (opt.share % opt.messages || (opt.messages > 1 && opt.nr_layers > 1))
		fail("messages are all alike, and no layers");
	set_addr(&opt, words.addr, words.port);
	who = argv[optind];
	if (!strcmp(who, "recv"))
		return receiver(&opt);
	if (!strcmp(who, "send"))
		return sender(&opt);
	usage(stderr);
	return 2;
}
