// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp top: connections on the whole screen, the busiest first.
 */
#include <getopt.h>
#include <locale.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

/**
 * struct row - a connection
 * @row: in the table
 * @sent: bytes per second
 * @received: likewise
 * @key: what it is sorted by
 */
struct row {
	size_t	row;
	double	sent;
	double	received;
	double	key;
};

enum {
	BY_RATE,
	BY_SENT,
	BY_RECEIVED,
	BY_QUEUE,
	BY_RTT,
	BY_LOST,
	NR_KEYS,
};

static const char *const key_names[NR_KEYS] = {
	"rate", "sent", "received", "queues", "rtt", "lost",
};

/**
 * struct top - what is on the screen
 * @src: where
 * @filter: which
 * @interval: ns between looks
 * @conns: what they saw
 * @owners: processes
 * @rows: connections, sorted
 * @nr: how many
 * @nr_listeners: those that are not among them
 * @key: of the order
 * @first: of @rows on the screen
 * @paused: no looks
 */
struct top {
	struct source	src;
	struct filter	*filter;
	uint64_t	interval;
	struct conns	conns;
	struct owners	*owners;
	struct row	*rows;
	size_t		nr;
	size_t		nr_listeners;
	int		key;
	size_t		first;
	int		paused;
};

static const char help[] =
"usage: dlcp top [-d SECONDS] [-o KEY] [-N NETNS] [--from DIR] [FILTER...]\n"
"\n"
"Connections on the whole screen, the busiest first.\n"
"\n"
"  -d, --delay SECS  between looks (1)\n"
"  -o, --order KEY   rate, sent, received, queues, rtt or lost (rate)\n"
"  -N, --net NAME    in that network namespace (ip netns)\n"
"      --from DIR    show saved copies of conns and paths\n"
"\n"
"Keys: q ends it, s sorts by the next key, p pauses and goes on; arrows and pages move.\n"
"FILTER as of `dlcp show`.\n";

static double key_of(const struct top *t, const struct row *r)
{
	const struct table *c = &t->conns.now;
	uint64_t packets;

	switch (t->key) {
	case BY_SENT: return r->sent;
	case BY_RECEIVED: return r->received;
	case BY_QUEUE:
		return (double)(table_u64(c, r->row, "wqueue") + table_u64(c, r->row, "rqueue"));
	case BY_RTT: return (double)table_u64(c, r->row, "srtt_us");
	case BY_LOST:
		packets = paths_sum(&t->conns.paths, r->row, "packets");
		return packets ? (double)paths_sum(&t->conns.paths, r->row, "lost") / (double)packets : 0;
	default: return r->sent + r->received;
	}
}

/* Equal ones stay where they are */
static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	return x->row > y->row ? 1 : -1;
}

static void sort(struct top *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		t->rows[i].key = key_of(t, &t->rows[i]);
	if (t->nr)
		qsort(t->rows, t->nr, sizeof(*t->rows), compare);
}

static double rate_of(struct top *t, size_t row, const char *name)
{
	double rate = conns_rate(&t->conns, row, name);

	return rate > 0 ? rate : 0;
}

/* Return: 0, or an exit status after an error message */
static int look(struct top *t)
{
	int err = conns_look(&t->conns, &t->src);
	struct row *rows;
	size_t i;

	if (err)
		return err;
	owners_free(t->owners);
	t->owners = owners_read();
	rows = realloc(t->rows, (t->conns.now.nr_rows + 1) * sizeof(*rows));
	if (!rows)
		return say_no_memory();
	t->rows = rows;
	t->nr = 0;
	t->nr_listeners = 0;
	for (i = 0; i < t->conns.now.nr_rows; i++) {
		if (!filter_takes(t->filter, &t->conns.now, i))
			continue;
		if (conns_is_listener(&t->conns, i)) {
			t->nr_listeners++;
			continue;
		}
		rows[t->nr++] = (struct row){
			.row = i, .sent = rate_of(t, i, "tx_delivered"),
			.received = rate_of(t, i, "rx_delivered"),
		};
	}
	sort(t);
	return 0;
}

/* --- the screen */

#define HEAD	3
#define FORMAT	"%-25s %-25s %6s %8s %9s %9s %8s %8s %8s %6s %5s %s"

/* One line: what is longer than the screen is wide would go on in the next */
__attribute__((format(printf, 2, 3)))
static void put_line(int y, const char *fmt, ...)
{
	char line[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	mvaddnstr(y, 0, line, COLS);
}

static void draw_head(const struct top *t)
{
	char clock[20], sent[NUM_LEN], received[NUM_LEN];
	double sums[2] = { 0 };
	time_t now = time(NULL);
	struct tm tm;
	size_t i;

	for (i = 0; i < t->nr; i++) {
		sums[0] += t->rows[i].sent;
		sums[1] += t->rows[i].received;
	}
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	put_line(0, "dlcp top %s  %zu connections, %zu listeners  sent %s, received %s",
		 clock, t->nr, t->nr_listeners, say_rate(sent, sums[0]),
		 say_rate(received, sums[1]));
	put_line(1, "sorted by %s%s  q: quit  s: sort  p: %s", key_names[t->key],
		 t->paused ? "  PAUSED" : "", t->paused ? "go on" : "pause");
	attron(A_REVERSE);
	put_line(2, FORMAT, "PEER", "LOCAL", "UID", "RTT", "SENT/S", "RCVD/S", "INFLIGHT", "SENDQ",
		 "RECVQ", "LOST", "PATHS", "PROCESS");
	attroff(A_REVERSE);
}

static void draw_row(const struct top *t, const struct row *r, int y)
{
	char rtt[NUM_LEN], sent[NUM_LEN], received[NUM_LEN], flight[NUM_LEN], sendq[NUM_LEN];
	char recvq[NUM_LEN], lost[NUM_LEN], paths[NUM_LEN];
	const struct table *c = &t->conns.now;

	snprintf(paths, sizeof(paths), "%.10s%s", table_get(c, r->row, "paths"),
		 conns_mark(&t->conns, r->row));
	put_line(y, FORMAT, table_get(c, r->row, "remote"), table_get(c, r->row, "local"),
		 table_get(c, r->row, "uid"), say_usecs(rtt, table_u64(c, r->row, "srtt_us")),
		 say_rate(sent, r->sent), say_rate(received, r->received),
		 say_number(flight, (double)table_u64(c, r->row, "inflight")),
		 say_number(sendq, (double)table_u64(c, r->row, "wqueue")),
		 say_number(recvq, (double)table_u64(c, r->row, "rqueue")),
		 say_percent(lost, paths_sum(&t->conns.paths, r->row, "lost"),
			     paths_sum(&t->conns.paths, r->row, "packets")),
		 paths, owners_find(t->owners, table_u64(c, r->row, "inode")));
}

static size_t page(void)
{
	return LINES > HEAD ? (size_t)(LINES - HEAD) : 1;
}

static void draw(struct top *t)
{
	size_t i;

	if (t->first + page() > t->nr)
		t->first = t->nr > page() ? t->nr - page() : 0;
	erase();
	draw_head(t);
	for (i = 0; i < page() && t->first + i < t->nr; i++)
		draw_row(t, &t->rows[t->first + i], HEAD + (int)i);
	refresh();
}

static void move_by(struct top *t, long by)
{
	t->first = by < 0 && (size_t)-by > t->first ? 0 : t->first + (size_t)by;
}

/* Return: 0 when it was the last */
static int on_key(struct top *t, int key)
{
	switch (key) {
	case 'q': return 0;
	case 's':
		t->key = (t->key + 1) % NR_KEYS;
		sort(t);
		break;
	case 'p': t->paused = !t->paused; break;
	case KEY_UP: move_by(t, -1); break;
	case KEY_DOWN: move_by(t, 1); break;
	case KEY_PPAGE: move_by(t, -(long)page()); break;
	case KEY_NPAGE: move_by(t, (long)page()); break;
	default: break;
	}
	return 1;
}

/* Keys until it is time for the next look. Return: 0 when it was the last */
static int wait_for_keys(struct top *t, uint64_t until)
{
	uint64_t now;
	int key;

	for (;;) {
		now = now_ns();
		/* Keys count, too, where a look takes longer than the interval */
		timeout(t->paused ? -1 : now < until ? (int)((until - now + 999999) / 1000000) : 0);
		key = getch();
		if (key == ERR) {
			/* A terminal that is gone does not wait */
			if (t->paused || !isatty(STDIN_FILENO))
				return 0;
			if (now >= until)
				return 1;
			continue;
		}
		if (!on_key(t, key))
			return 0;
		draw(t);
	}
}

static int run(struct top *t)
{
	int err = look(t), more = 1;
	SCREEN *screen;

	if (err)
		return err;
	setlocale(LC_CTYPE, "");
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return say_error("the terminal \"%s\" is not known here: set TERM (`TERM=vt100 dlcp top`), or take `dlcp show -w 1`",
				 getenv("TERM") ? getenv("TERM") : "");
	if (!tigetstr("cup")) {
		endwin();
		delscreen(screen);
		return say_error("the terminal \"%s\" cannot move its cursor: set TERM (`TERM=vt100 dlcp top`), or take `dlcp show -w 1`",
				 getenv("TERM"));
	}
	noecho();
	cbreak();
	keypad(stdscr, TRUE);
	curs_set(0);
	while (!err && more) {
		draw(t);
		more = wait_for_keys(t, t->conns.looked + t->interval);
		if (more)
			err = look(t);
	}
	endwin();
	delscreen(screen);
	/* What it said went to a screen that is gone */
	if (err)
		fprintf(stderr, "dlcp: %s\n", say_last());
	return err;
}

static int parse(struct top *t, int argc, char **argv)
{
	static const struct option options[] = {
		{ "delay", 1, NULL, 'd' }, { "order", 1, NULL, 'o' }, { "net", 1, NULL, 'N' },
		{ "from", 1, NULL, 'f' },
		{ "help", 0, NULL, 'h' }, { 0 },
	};
	int c;

	while ((c = next_option(argc, argv, ":d:o:N:h", options)) != -1) {
		switch (c) {
		case 'N': t->src.netns = optarg; break;
		case 'f': t->src.dir = optarg; break;
		case 'd':
			t->interval = parse_interval(optarg);
			if (!t->interval)
				return say_usage("%s is no interval in seconds", optarg);
			break;
		case 'o':
			for (t->key = 0; t->key < NR_KEYS && strcmp(optarg, key_names[t->key]); t->key++)
				;
			if (t->key == NR_KEYS)
				return say_usage("%s is no order: rate, sent, received, queues, rtt, lost",
						 optarg);
			break;
		default:
			return say_help(c, help);
		}
	}
	t->filter = filter_parse(argv + optind, argc - optind);
	return t->filter ? 0 : DLCP_USAGE;
}

int cmd_top(int argc, char **argv)
{
	struct top t = { .interval = 1000000000 };
	int err = parse(&t, argc, argv);

	if (err)
		return err < 0 ? 0 : err;
	err = source_enter(&t.src);
	if (!err && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		err = say_error("top wants a terminal: `dlcp show -w 1` is for files and pipes");
	if (!err)
		err = run(&t);
	conns_free(&t.conns);
	owners_free(t.owners);
	filter_free(t.filter);
	free(t.rows);
	return err;
}
