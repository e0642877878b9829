// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp show: listeners and connections.
 */
#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/**
 * struct show - what is asked for, and what was seen last
 * @src: where
 * @filter: which
 * @json: as JSON
 * @listeners: those alone
 * @with_paths: a line for each path
 * @with_owners: the processes that hold the sockets
 * @with_titles: the line of titles
 * @interval: between looks, in ns; 0: one look
 * @count: looks; 0: until the end
 * @conns: what the looks saw
 * @owners: the processes
 * @with_devices: the devices that sockets send through
 * @devices: they
 * @table: of which the text is asked for, or NULL
 */
struct show {
	struct source	src;
	struct filter	*filter;
	int		json;
	int		listeners;
	int		with_paths;
	int		with_owners;
	int		with_titles;
	uint64_t	interval;
	uint64_t	count;
	struct conns	conns;
	struct owners	*owners;
	int		with_devices;
	struct table	devices;
	const char	*table;
};

static const char help[] =
"usage: dlcp show [-dlPpHj] [-w SECONDS [-c COUNT]] [-N NETNS] [--from DIR] [FILTER...]\n"
"       dlcp show -t NAME [-N NETNS]\n"
"\n"
"  -d, --devices     also the devices that sockets send through\n"
"  -l, --listening   listeners alone\n"
"  -P, --paths       a line for each path of a connection\n"
"  -p, --processes   which processes hold the sockets (of others: as root)\n"
"  -H, --no-header   no line of titles\n"
"  -j, --json        JSON: an object for each look, on a line\n"
"  -w, --watch SECS  look again and again, with rates over each interval\n"
"  -c, --count N     end after N looks\n"
"  -N, --net NAME    in that network namespace (ip netns)\n"
"  -t, --table NAME  conns, paths, devices or snmp as text, to be saved or searched\n"
"      --from DIR    read files of that kind, with these names\n"
"\n"
"FILTER: state NAME | src ADDR[/LEN][:PORT] | dst ... | sport PORT | dport PORT | uid N.\n"
"All of them have to hold.\n";

static int is_shown(const struct show *s, size_t row)
{
	return (!s->listeners || conns_is_listener(&s->conns, row)) &&
	       filter_takes(s->filter, &s->conns.now, row);
}

static void add_rate(struct show *s, struct grid *g, size_t row, const char *name)
{
	double rate = conns_rate(&s->conns, row, name);
	char buf[NUM_LEN];

	grid_add(g, "%s", rate < 0 ? "-" : say_rate(buf, rate));
}

static void show_path(const struct show *s, struct grid *g, size_t line)
{
	const struct table *t = &s->conns.paths.table;
	char rtt[NUM_LEN], net[NUM_LEN], lost[NUM_LEN], flight[NUM_LEN];

	grid_note(g, "  path %s %s %s -> %s entropy %s weight %s rtt %s net %s lost %s marks %s inflight %s",
		  table_get(t, line, "path"), table_get(t, line, "state"),
		  table_get(t, line, "local"), table_get(t, line, "remote"),
		  table_get(t, line, "entropy"), table_get(t, line, "weight"),
		  say_usecs(rtt, table_u64(t, line, "srtt_us")),
		  say_usecs(net, table_u64(t, line, "net_us")),
		  say_percent(lost, table_u64(t, line, "lost"), table_u64(t, line, "packets")),
		  table_get(t, line, "ce_marks"),
		  say_number(flight, (double)table_u64(t, line, "inflight")));
}

static void add_number(struct grid *g, const struct table *t, size_t row, const char *name)
{
	char buf[NUM_LEN];

	grid_add(g, "%s", say_number(buf, (double)table_u64(t, row, name)));
}

/* What only connections have */
static void add_conn(struct show *s, struct grid *g, size_t row)
{
	const struct table *t = &s->conns.now;
	char buf[NUM_LEN], rx[NUM_LEN];

	grid_add(g, "%s", say_usecs(buf, table_u64(t, row, "srtt_us")));
	grid_add(g, "%s", say_rate(buf, (double)table_u64(t, row, "rate")));
	if (s->interval) {
		add_rate(s, g, row, "tx_delivered");
		add_rate(s, g, row, "rx_delivered");
	}
	add_number(g, t, row, "inflight");
	add_number(g, t, row, "wqueue");
	add_number(g, t, row, "rqueue");
	grid_add(g, "%s", say_percent(buf, paths_sum(&s->conns.paths, row, "lost"),
				      paths_sum(&s->conns.paths, row, "packets")));
	grid_add(g, "%s/%s", say_number(buf, (double)table_u64(t, row, "tx_forgiven")),
		 say_number(rx, (double)table_u64(t, row, "rx_forgiven")));
	grid_add(g, "%s%s", table_get(t, row, "paths"), conns_mark(&s->conns, row));
}

static void add_listener(const struct show *s, struct grid *g, size_t row)
{
	int i;

	for (i = 0; i < (s->interval ? 5 : 3); i++)
		grid_add(g, "-");
	grid_add(g, "%s", table_get(&s->conns.now, row, "wqueue"));
	grid_add(g, "%s", table_get(&s->conns.now, row, "rqueue"));
	for (i = 0; i < 3; i++)
		grid_add(g, "-");
}

/* Queues of devices, which the sockets of a user share */
static void show_devices(const struct show *s)
{
	static const char *const titles[] = {
		"DEVICE", "UID", "SOCKETS", "QUEUED", "WAITING", NULL,
	};
	struct grid *g = grid_new(titles);
	const struct table *t = &s->devices;
	char name[IF_NAMESIZE];
	size_t i;

	for (i = 0; g && i < t->nr_rows; i++) {
		grid_add(g, "%s", if_indextoname((unsigned int)table_u64(t, i, "ifindex"), name) ?
			 name : table_get(t, i, "ifindex"));
		grid_add(g, "%s", table_get(t, i, "uid"));
		grid_add(g, "%s", table_get(t, i, "sockets"));
		add_number(g, t, i, "queued");
		grid_add(g, "%s", table_get(t, i, "waiting"));
	}
	if (!g)
		return;
	putchar('\n');
	grid_print(g, s->with_titles);
	grid_free(g);
}

static void show_text(struct show *s)
{
	static const char *const once[] = {
		"STATE", "LOCAL", "PEER", "UID", "RTT", "RATE", "INFLIGHT", "SENDQ",
		"RECVQ", "LOST", "FORGIVEN", "PATHS", "PROCESS", NULL,
	};
	static const char *const watched[] = {
		"STATE", "LOCAL", "PEER", "UID", "RTT", "RATE", "SENT/S", "RCVD/S",
		"INFLIGHT", "SENDQ", "RECVQ", "LOST", "FORGIVEN", "PATHS", "PROCESS", NULL,
	};
	struct grid *g = grid_new(s->interval ? watched : once);
	size_t row, i;

	for (row = 0; g && row < s->conns.now.nr_rows; row++) {
		if (!is_shown(s, row))
			continue;
		grid_add(g, "%s", table_get(&s->conns.now, row, "state"));
		grid_add(g, "%s", table_get(&s->conns.now, row, "local"));
		grid_add(g, "%s", table_get(&s->conns.now, row, "remote"));
		grid_add(g, "%s", table_get(&s->conns.now, row, "uid"));
		if (conns_is_listener(&s->conns, row))
			add_listener(s, g, row);
		else
			add_conn(s, g, row);
		grid_add(g, "%s", owners_find(s->owners, table_u64(&s->conns.now, row, "inode")));
		for (i = 0; s->with_paths && i < s->conns.paths.nr[row]; i++)
			show_path(s, g, s->conns.paths.first[row] + i);
	}
	if (!g)
		return;
	if (s->interval && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	grid_print(g, s->with_titles);
	grid_free(g);
	if (s->with_devices)
		show_devices(s);
}

/* Addresses and ports apart, all else under its own name, so that what a later module
 * tells is there, too
 */
static void json_cells(const struct table *t, size_t row)
{
	const char *name, *cell;
	char copy[100], *colon;
	size_t i;

	for (i = 0; i < t->nr_names; i++) {
		name = t->names[i];
		cell = t->cells[row * t->nr_names + i];
		if (!cell)
			continue;
		colon = strrchr(cell, ':');
		if ((strcmp(name, "local") && strcmp(name, "remote")) || !colon ||
		    strlen(cell) >= sizeof(copy) || (*cell == '[' && colon[-1] != ']')) {
			json_word(name, cell);
			continue;
		}
		/* Without brackets */
		strcpy(copy, cell + (*cell == '['));
		copy[colon - cell - 2 * (*cell == '[')] = '\0';
		json_text(name, copy);
		strcpy(copy, name);
		json_word(strcat(copy, "_port"), colon + 1);
	}
}

static void json_rate(struct show *s, size_t row, const char *name, const char *column)
{
	double rate = conns_rate(&s->conns, row, column);

	if (rate >= 0)
		json_number(name, rate);
}

static void json_socket(struct show *s, size_t row)
{
	size_t i;

	json_cells(&s->conns.now, row);
	json_rate(s, row, "tx_per_second", "tx_delivered");
	json_rate(s, row, "rx_per_second", "rx_delivered");
	if (s->with_owners)
		json_text("process",
			  owners_find(s->owners, table_u64(&s->conns.now, row, "inode")));
	json_open("path_list", '[');
	for (i = 0; i < s->conns.paths.nr[row]; i++) {
		json_open(NULL, '{');
		json_cells(&s->conns.paths.table, s->conns.paths.first[row] + i);
		json_close('}');
	}
	json_close(']');
}

static void show_json(struct show *s)
{
	size_t row;

	json_open(NULL, '{');
	json_number("seconds", s->conns.seconds);
	json_open("sockets", '[');
	for (row = 0; row < s->conns.now.nr_rows; row++) {
		if (!is_shown(s, row))
			continue;
		json_open(NULL, '{');
		json_socket(s, row);
		json_close('}');
	}
	json_close(']');
	if (s->with_devices) {
		json_open("devices", '[');
		for (row = 0; row < s->devices.nr_rows; row++) {
			json_open(NULL, '{');
			json_cells(&s->devices, row);
			json_close('}');
		}
		json_close(']');
	}
	json_close('}');
}

static int look(struct show *s)
{
	int err = conns_look(&s->conns, &s->src);

	if (!err && s->with_devices)
		err = table_read(&s->devices, &s->src, "devices");
	if (err)
		return err;
	s->owners = s->with_owners ? owners_read() : NULL;
	if (s->json)
		show_json(s);
	else
		show_text(s);
	fflush(stdout);
	owners_free(s->owners);
	table_free(&s->devices);
	return 0;
}

static int print_table(const struct show *s)
{
	static const char *const names[] = { "conns", "paths", "devices", "snmp" };
	char *text;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(s->table, names[i]))
			continue;
		text = source_read(&s->src, s->table);
		if (text)
			fputs(text, stdout);
		free(text);
		return text ? 0 : DLCP_FAILED;
	}
	return say_usage("there is no table %s", s->table);
}

static int look_on(struct show *s)
{
	uint64_t next = now_ns(), n;
	int err = 0;

	for (n = 1; !err; n++) {
		err = look(s);
		if (err || !s->interval || n == s->count || ferror(stdout))
			break;
		wait_until(&next, s->interval);
	}
	conns_free(&s->conns);
	return err;
}

static int parse(struct show *s, int argc, char **argv)
{
	static const struct option options[] = {
		{ "listening", 0, NULL, 'l' }, { "devices", 0, NULL, 'd' },
		{ "paths", 0, NULL, 'P' },
		{ "processes", 0, NULL, 'p' }, { "no-header", 0, NULL, 'H' },
		{ "json", 0, NULL, 'j' }, { "watch", 1, NULL, 'w' },
		{ "count", 1, NULL, 'c' }, { "net", 1, NULL, 'N' },
		{ "table", 1, NULL, 't' }, { "from", 1, NULL, 'f' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	const struct look look = { &s->src, &s->json, &s->interval, &s->count };
	int c, err;

	while ((c = next_option(argc, argv, ":dlPpHjw:c:N:t:h", options)) != -1) {
		switch (c) {
		case 'd': s->with_devices = 1; break;
		case 'l': s->listeners = 1; break;
		case 'P': s->with_paths = 1; break;
		case 'p': s->with_owners = 1; break;
		case 'H': s->with_titles = 0; break;
		case 't': s->table = optarg; break;
		default:
			err = look_option(c, &look, help);
			if (err)
				return err;
		}
	}
	err = look_check(&look);
	if (!err && s->table && (s->json || s->interval || s->listeners || s->with_paths ||
				 s->with_owners || s->with_devices || !s->with_titles || optind < argc))
		err = say_usage("-t goes with -N or --from alone: `dlcp show` has what chooses and sorts");
	if (!err && s->json && !s->with_titles)
		err = say_usage("-H and -j do not go together: JSON has no line of titles");
	if (err)
		return err;
	s->filter = filter_parse(argv + optind, argc - optind);
	return s->filter ? 0 : DLCP_USAGE;
}

int cmd_show(int argc, char **argv)
{
	struct show s = { .with_titles = 1 };
	int err = parse(&s, argc, argv);

	if (err)
		return err < 0 ? 0 : err;
	err = source_enter(&s.src);
	if (!err)
		err = s.table ? print_table(&s) : look_on(&s);
	filter_free(s.filter);
	return err;
}
