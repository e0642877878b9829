// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp stat: the counters, in all and by second. prometheus.c has the form for Prometheus.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

/**
 * struct stat_run - what is asked for, and what was seen last
 * @src: where
 * @json: as JSON
 * @prometheus: for Prometheus
 * @file: where that goes rather than to the standard output, or NULL
 * @all: zeros, too
 * @interval: between looks, in ns; 0: one look
 * @count: looks; 0: until the end
 * @now: the counters
 * @before: those of the look before
 * @seconds: since then; 0: there was none
 * @looked: when this look was
 */
struct stat_run {
	struct source	src;
	int		json;
	int		prometheus;
	const char	*file;
	int		all;
	uint64_t	interval;
	uint64_t	count;
	struct table	now;
	struct table	before;
	double		seconds;
	uint64_t	looked;
};

static const char help[] =
"usage: dlcp stat [-aj] [--prometheus [-o FILE]] [-w SECONDS [-c COUNT]] [-N NETNS] [--from DIR] [NAME...]\n"
"\n"
"Counters since the module was loaded or the namespace made; those that are not 0.\n"
"\n"
"  -a, --all         zeros, too\n"
"  -j, --json        JSON: an object for each look, on a line\n"
"      --prometheus  for node_exporter's textfile collector\n"
"  -o, --output FILE ... which is replaced all at once\n"
"  -w, --watch SECS  look again and again, with what was added by second\n"
"  -c, --count N     end after N looks\n"
"  -N, --net NAME    in that network namespace (ip netns)\n"
"      --from DIR    read a saved copy of snmp\n"
"\n"
"NAME: counters that begin with it; upper and lower case are the same.\n";

/* Added by second. Counters do not go back but when the module is loaded anew */
static double rate_of(const struct stat_run *s, size_t row)
{
	uint64_t now = table_u64(&s->now, row, "value"), was;
	const char *name = table_get(&s->now, row, "name");
	size_t i;

	for (i = 0; i < s->before.nr_rows; i++)
		if (!strcmp(table_get(&s->before, i, "name"), name))
			break;
	was = i < s->before.nr_rows ? table_u64(&s->before, i, "value") : 0;
	if (s->seconds <= 0 || now < was)
		return 0;
	return (double)(now - was) / s->seconds;
}

static void show_text(const struct stat_run *s, char **prefixes)
{
	static const char *const once[] = { "COUNTER", "TOTAL", NULL };
	static const char *const watched[] = { "COUNTER", "TOTAL", "PER-SECOND", NULL };
	struct grid *g = grid_new(s->interval ? watched : once);
	char buf[NUM_LEN];
	size_t i;

	for (i = 0; g && i < s->now.nr_rows; i++) {
		if (!counter_is_named(table_get(&s->now, i, "name"), prefixes) ||
		    (!s->all && !table_u64(&s->now, i, "value")))
			continue;
		grid_add(g, "%s", table_get(&s->now, i, "name"));
		grid_add(g, "%s", table_get(&s->now, i, "value"));
		if (s->interval)
			grid_add(g, "%s", say_number(buf, rate_of(s, i)));
	}
	if (!g)
		return;
	grid_print(g, 1);
	grid_free(g);
	if (s->interval)
		putchar('\n');
}

static void show_json(const struct stat_run *s, char **prefixes)
{
	const char *name;
	size_t i;

	json_open(NULL, '{');
	json_number("seconds", s->seconds);
	json_open("counters", '{');
	for (i = 0; i < s->now.nr_rows; i++) {
		name = table_get(&s->now, i, "name");
		if (counter_is_named(name, prefixes))
			json_word(name, table_get(&s->now, i, "value"));
	}
	json_close('}');
	if (s->seconds > 0) {
		json_open("per_second", '{');
		for (i = 0; i < s->now.nr_rows; i++) {
			name = table_get(&s->now, i, "name");
			if (counter_is_named(name, prefixes))
				json_number(name, rate_of(s, i));
		}
		json_close('}');
	}
	json_close('}');
}

static int look(struct stat_run *s, char **prefixes)
{
	uint64_t now;
	int err;

	table_free(&s->before);
	s->before = s->now;
	err = pairs_read(&s->now, &s->src, "snmp");
	if (!err && !s->looked)
		err = counters_check(&s->now, prefixes);
	if (err)
		return err;
	now = now_ns();
	s->seconds = s->looked ? (double)(now - s->looked) / 1e9 : 0;
	s->looked = now;
	if (s->json)
		show_json(s, prefixes);
	else
		show_text(s, prefixes);
	fflush(stdout);
	return 0;
}

static int look_on(struct stat_run *s, char **prefixes)
{
	uint64_t next = now_ns(), n;
	int err = 0;

	for (n = 1; !err; n++) {
		err = look(s, prefixes);
		if (err || !s->interval || n == s->count || ferror(stdout))
			break;
		wait_until(&next, s->interval);
	}
	table_free(&s->now);
	table_free(&s->before);
	return err;
}

static int parse(struct stat_run *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", 0, NULL, 'a' }, { "json", 0, NULL, 'j' },
		{ "prometheus", 0, NULL, 'P' }, { "output", 1, NULL, 'o' },
		{ "watch", 1, NULL, 'w' },
		{ "count", 1, NULL, 'c' }, { "net", 1, NULL, 'N' },
		{ "from", 1, NULL, 'f' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	const struct look look = { &s->src, &s->json, &s->interval, &s->count };
	int c, err;

	while ((c = next_option(argc, argv, ":ajo:w:c:N:h", options)) != -1) {
		switch (c) {
		case 'a': s->all = 1; break;
		case 'P': s->prometheus = 1; break;
		case 'o': s->file = optarg; break;
		default:
			err = look_option(c, &look, help);
			if (err)
				return err;
		}
	}
	err = look_check(&look);
	if (err)
		return err;
	if (s->prometheus && (s->json || s->interval))
		return say_usage("--prometheus goes neither with -j nor with -w");
	if (s->file && !s->prometheus)
		return say_usage("-o goes with --prometheus");
	return 0;
}

int cmd_stat(int argc, char **argv)
{
	struct stat_run s = { 0 };
	int err = parse(&s, argc, argv);

	if (err)
		return err < 0 ? 0 : err;
	err = source_enter(&s.src);
	if (err)
		return err;
	return s.prometheus ? prometheus_write(&s.src, s.file, argv + optind) :
	       look_on(&s, argv + optind);
}
