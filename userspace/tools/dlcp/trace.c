// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp trace: messages as they end, and where their time went.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"
#include "tool.h"
#include "trace.h"

/* Between looks at the kernel's buffer */
#define LOOK_NS	50000000L

/**
 * struct trace_run - what is asked for, and what was seen
 * @json: as JSON
 * @summary: nothing but the table at the end
 * @file: a saved trace rather than the kernel's, or NULL
 * @has_key: only messages of one key
 * @key: it
 * @slower: only those that took longer, ns
 * @count: messages; 0: until the end
 * @time: ns; 0: likewise
 * @nr: messages seen
 * @events: lines that are events, or say that the kernel threw some away
 * @lost: lines that the kernel threw away
 * @lives: messages under way
 * @err: why some were not followed
 * @totals: of sent ones and of received ones
 * @parts: of them
 */
struct trace_run {
	int		json;
	int		summary;
	const char	*file;
	int		has_key;
	uint64_t	key;
	uint64_t	slower;
	uint64_t	count;
	uint64_t	time;
	uint64_t	nr;
	uint64_t	events;
	uint64_t	lost;
	struct lives	*lives;
	int		err;
	struct hist	totals[2];
	struct hist	parts[NR_PARTS];
};

static const char help[] =
"usage: dlcp trace [-jS] [-k KEY] [--slower MS] [-c COUNT] [-t SECONDS] [--from FILE]\n"
"\n"
"Messages of all sockets of this kernel as they end, and where their time went; as root.\n"
"A sent one:\n"
"  wait     until its first packet was built: credit, more urgent messages, pacing\n"
"  send     until each of its segments was built once\n"
"  queue    until the last of them had left this host\n"
"  repair   until the last one that was sent again had left\n"
"  network  until the sender knew that it had arrived\n"
"A received one:\n"
"  arrive   from when it was announced until it was complete\n"
"  reader   until its reader had all of it\n"
"\n"
"  -j, --json       JSON: an object for each message, on a line; times in microseconds\n"
"  -S, --summary    only the table at the end\n"
"  -k, --key KEY    only messages of this key\n"
"      --slower MS  only those that took longer than so many milliseconds\n"
"  -c, --count N    end after N messages\n"
"  -t, --time SECS  end after so many seconds; else Ctrl-C ends it\n"
"      --from FILE  read a saved trace of the events dlcp:* (the file trace of tracefs)\n";

static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void show_titles(const struct trace_run *t)
{
	if (t->json || t->summary)
		return;
	printf("%-14s %-4s %-22s %12s %10s %9s", "TIME", "DIR", "PEER", "KEY", "BYTES", "TOTAL");
	printf("  %-46s %8s %s\n", "WHERE", "MISSING", "END");
}

static void show_text(const struct life *life)
{
	char buf[NUM_LEN], where[200] = "";
	size_t len = 0;
	int i;

	for (i = 0; i < NR_PARTS; i++)
		if (life->part[i] && len < sizeof(where))
			len += (size_t)snprintf(where + len, sizeof(where) - len, "%s%s %s",
						len ? ", " : "", part_names[i],
						say_usecs(buf, life->part[i] / 1000));
	printf("%-14.6f %-4s %-22s %12" PRIu64 " %10" PRIu64 " %9s", (double)life->end / 1e9,
	       life->sender ? "sent" : "rcvd", life->peer, life->key, life->length,
	       say_usecs(buf, life->total / 1000));
	printf("  %-46s %8" PRIu64 " %s\n", where, life->missing, life->why);
	fflush(stdout);
}

static void show_json(const struct life *life)
{
	int i, from = life->sender ? PART_WAIT : PART_ARRIVE;
	int to = life->sender ? PART_NETWORK : PART_READER;

	json_open(NULL, '{');
	json_number("time", (double)life->end / 1e9);
	json_text("direction", life->sender ? "sent" : "received");
	json_text("peer", life->peer);
	json_u64("key", life->key);
	json_u64("bytes", life->length);
	json_u64("missing", life->missing);
	json_text("end", life->why);
	if (life->sender) {
		json_u64("packets", life->packets);
		json_u64("resent", life->resent);
	}
	json_u64("total", life->total / 1000);
	for (i = from; i <= to; i++)
		json_u64(part_names[i], life->part[i] / 1000);
	json_close('}');
}

static void take_life(void *arg, const struct life *life)
{
	int i, from = life->sender ? PART_WAIT : PART_ARRIVE;
	int to = life->sender ? PART_NETWORK : PART_READER;
	struct trace_run *t = arg;

	if ((t->has_key && life->key != t->key) || life->total <= t->slower ||
	    (t->count && t->nr == t->count))
		return;
	t->nr++;
	hist_add(&t->totals[life->sender], life->total);
	for (i = from; i <= to; i++)
		hist_add(&t->parts[i], life->part[i]);
	if (t->summary)
		return;
	if (t->json)
		show_json(life);
	else
		show_text(life);
}

static void take_line(void *arg, char *line)
{
	struct trace_run *t = arg;
	uint64_t lost = event_lost(line);
	struct event e;
	int err = 0;

	t->lost += lost;
	t->events += lost > 0;
	if (!event_parse(&e, line)) {
		t->events++;
		err = lives_take(t->lives, &e);
	}
	t->err = err ?: t->err;
}

static void summary_row(struct grid *g, const char *name, const struct hist *h, uint64_t all)
{
	char buf[NUM_LEN];

	if (!h->nr)
		return;
	grid_add(g, "%s", name);
	grid_add(g, "%" PRIu64, h->nr);
	grid_add(g, "%s", say_usecs(buf, h->sum / h->nr / 1000));
	grid_add(g, "%s", say_usecs(buf, hist_quantile(h, 0.5) / 1000));
	grid_add(g, "%s", say_usecs(buf, hist_quantile(h, 0.99) / 1000));
	grid_add(g, "%s", say_usecs(buf, h->max / 1000));
	grid_add(g, "%s", say_percent(buf, h->sum, all));
}

static void show_summary(const struct trace_run *t)
{
	static const char *const titles[] = {
		"PART", "MESSAGES", "MEAN", "P50", "P99", "MAX", "SHARE", NULL
	};
	struct grid *g = grid_new(titles);
	int i;

	if (!g)
		return;
	summary_row(g, "sent", &t->totals[1], t->totals[1].sum);
	for (i = PART_WAIT; i <= PART_NETWORK; i++)
		summary_row(g, part_names[i], &t->parts[i], t->totals[1].sum);
	summary_row(g, "received", &t->totals[0], t->totals[0].sum);
	for (i = PART_ARRIVE; i <= PART_READER; i++)
		summary_row(g, part_names[i], &t->parts[i], t->totals[0].sum);
	if (!t->summary)
		putchar('\n');
	grid_print(g, 1);
	grid_free(g);
}

static int run_saved(struct trace_run *t)
{
	FILE *f = fopen(t->file, "re");
	char *line = NULL;
	int err = 0, is_trace = 0;
	size_t room = 0;

	if (!f)
		return say_error("%s: %s", t->file, strerror(errno));
	show_titles(t);
	while (getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		is_trace |= !strncmp(line, "# tracer:", 9);
		take_line(t, line);
	}
	if (ferror(f))
		err = say_error("%s: %s", t->file, strerror(errno));
	else if (!is_trace && !t->events)
		err = say_error("%s has no events of dlcp: save the file trace of tracefs, with dlcp:* switched on",
				t->file);
	free(line);
	fclose(f);
	return err;
}

static int run_live(struct trace_run *t)
{
	static const struct timespec pause = { .tv_nsec = LOOK_NS };
	const struct sigaction action = { .sa_handler = stop };
	struct tracer *tracer = malloc(sizeof(*tracer));
	uint64_t end = t->time ? now_ns() + t->time : UINT64_MAX;
	int err;

	if (!tracer)
		return say_no_memory();
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	err = tracer_open(tracer);
	if (!err) {
		show_titles(t);
		do {
			if (tracer_read(tracer, take_line, t) < 0)
				err = DLCP_FAILED;
			else if (!stopped)
				nanosleep(&pause, NULL);
		} while (!err && !stopped && !ferror(stdout) && now_ns() < end && (!t->count || t->nr < t->count));
		/* What came since */
		if (!err && tracer_read(tracer, take_line, t) < 0)
			err = DLCP_FAILED;
		tracer_close(tracer);
	}
	free(tracer);
	return err;
}

static int parse_option(struct trace_run *t, int c)
{
	uint64_t ms;
	int err;

	switch (c) {
	case 'j': t->json = 1; return 0;
	case 'S': t->summary = 1; return 0;
	case 'f': t->file = optarg; return 0;
	case 'k':
		t->has_key = 1;
		return parse_number(optarg, 0, UINT64_MAX, "key", &t->key);
	case 'c': return parse_number(optarg, 1, UINT64_MAX, "number of messages", &t->count);
	case 'l':
		err = parse_number(optarg, 0, UINT64_MAX / 1000000, "time in milliseconds", &ms);
		t->slower = err ? 0 : ms * 1000000;
		return err;
	case 't':
		t->time = parse_interval(optarg);
		return t->time ? 0 : say_usage("no time in seconds: %s", optarg);
	}
	return say_help(c, help);
}

static int parse(struct trace_run *t, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", 0, NULL, 'j' }, { "summary", 0, NULL, 'S' },
		{ "key", 1, NULL, 'k' }, { "slower", 1, NULL, 'l' },
		{ "count", 1, NULL, 'c' }, { "time", 1, NULL, 't' },
		{ "from", 1, NULL, 'f' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	int c, err;

	while ((c = next_option(argc, argv, ":jSk:c:t:h", options)) != -1) {
		err = parse_option(t, c);
		if (err)
			return err;
	}
	if (optind < argc)
		return say_usage("%s is no option", argv[optind]);
	if (t->json && t->summary)
		return say_usage("-j and -S do not go together");
	if (t->file && t->time)
		return say_usage("-t and --from do not go together");
	return 0;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_run *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return say_no_memory();
	err = parse(t, argc, argv);
	if (!err) {
		t->lives = lives_new(take_life, t);
		err = !t->lives ? say_no_memory() : t->file ? run_saved(t) : run_live(t);
	}
	if (!err && !t->json)
		show_summary(t);
	if (!err && t->lost)
		err = say_error("the kernel threw away %" PRIu64 " lines, as they came faster than they were read: messages are missing",
				t->lost);
	if (!err && t->err)
		err = say_error("%s: messages are missing", t->err == -ENOMEM ? "no memory" :
				"the kernel has started only now, and does not tell sockets apart yet");
	if (t->lives)
		lives_free(t->lives);
	free(t);
	return err < 0 ? 0 : err;
}
