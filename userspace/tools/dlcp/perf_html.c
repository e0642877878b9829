// SPDX-License-Identifier: GPL-2.0
/*
 * What dlcp perf writes as a page of its own: plots, a table and the settings in one HTML file
 * that asks for nothing from elsewhere.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "commit.h"
#include "perf.h"

/* Of a plot, with room for what stands beside it */
#define WIDTH	640
#define HEIGHT	240
#define LEFT	80
#define TOP	20
#define BELOW	50
/* Steps of a distribution */
#define STEPS	200

static const char head[] =
"<!DOCTYPE html>\n"
"<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>dlcp perf</title>\n"
"<style>body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222 }\n"
"table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .7em; border-bottom: 1px solid #ccc }\n"
"td + td, th + th { text-align: right } figure { margin: 1em 0 } svg { max-width: 100%; height: auto }\n"
".wide { overflow-x: auto }</style></head><body>\n<h1>dlcp perf</h1>\n";

static const char *const colours[] = { "#1f6fb4", "#d2601a" };
static const char *const arrows[] = { "-&gt;", "&lt;-" };

static FILE *page;
static const char *page_name;

static void text(const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", page);
		else if (*s == '&')
			fputs("&amp;", page);
		else
			putc(*s, page);
	}
}

static void fact(const char *name, const char *value)
{
	fprintf(page, "<tr><td>%s</td><td>", name);
	text(value);
	fputs("</td></tr>\n", page);
}

int perf_html_begin(const char *name)
{
	page = fopen(name, "we");
	page_name = name;
	if (!page)
		return say_error("%s: %s: choose another file", name, strerror(errno));
	fputs(head, page);
	return 0;
}

/* --- plots: lines between points of 0 to 1, right and up */

static void plot_begin(const char *what)
{
	fprintf(page, "<figure><figcaption>%s</figcaption>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" font-size=\"12\">\n"
		"<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#888\"/>\n", what,
		LEFT + WIDTH + 40, TOP + HEIGHT + BELOW, LEFT + WIDTH + 40, TOP + HEIGHT + BELOW,
		LEFT, TOP, TOP + HEIGHT, LEFT + WIDTH);
}

static void plot_end(const char *right)
{
	fprintf(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n</svg></figure>\n",
		LEFT + WIDTH / 2, TOP + HEIGHT + BELOW - 8, right);
}

static void mark_x(double x, const char *value)
{
	fprintf(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		LEFT + x * WIDTH, TOP + HEIGHT + 18, value);
}

static void mark_y(double y, const char *value)
{
	fprintf(page, "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		LEFT, TOP + HEIGHT * (1 - y), WIDTH, LEFT - 6, TOP + HEIGHT * (1 - y) + 4, value);
}

static void line_begin(int d)
{
	fprintf(page, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[d]);
}

static void line_point(double x, double y)
{
	fprintf(page, "%.1f,%.1f ", LEFT + x * WIDTH, TOP + HEIGHT * (1 - y));
}

static void line_end(int d, const char *name)
{
	fprintf(page, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", LEFT + 10 + 40 * d,
		TOP - 6, colours[d], name);
}

/* --- what is in them */

static double rate_of(const struct point *from, const struct point *to, int d)
{
	return to->ns > from->ns ?
	       (double)(to->bytes[d] - from->bytes[d]) * 1e9 / (double)(to->ns - from->ns) : 0;
}

static void plot_rates(const struct perf_test *t)
{
	const struct point *p;
	double most = 1, end;
	size_t nr, i;
	char buf[NUM_LEN];
	int d;

	p = perf_points(&nr);
	if (nr < 2)
		return;
	end = (double)p[nr - 1].ns;
	for (i = 1; i < nr; i++)
		for (d = 0; d < DIRS; d++)
			most = rate_of(&p[i - 1], &p[i], d) > most ? rate_of(&p[i - 1], &p[i], d) : most;
	plot_begin("Rate of what arrived");
	for (i = 1; i <= 4; i++)
		mark_y((double)i / 4.4, say_rate(buf, most * (double)i / 4));
	for (i = 0; i <= 5; i++) {
		snprintf(buf, sizeof(buf), "%.3g", end / 1e9 * (double)i / 5);
		mark_x((double)i / 5, buf);
	}
	for (d = 0; d < DIRS; d++) {
		if (!perf_has_dir(t, d))
			continue;
		line_begin(d);
		/* A rate is that of all its interval */
		for (i = 1; i < nr; i++) {
			line_point((double)p[i - 1].ns / end, rate_of(&p[i - 1], &p[i], d) / most / 1.1);
			line_point((double)p[i].ns / end, rate_of(&p[i - 1], &p[i], d) / most / 1.1);
		}
		line_end(d, arrows[d]);
	}
	plot_end("seconds");
}

static void plot_times(const struct perf_test *t)
{
	static struct perf_sum sum;
	double most = 1, share;
	char buf[NUM_LEN];
	int d, i;

	for (d = 0; d < DIRS; d++) {
		perf_sum(t, d, &sum);
		most = (double)sum.times.max > most ? (double)sum.times.max : most;
	}
	plot_begin("Messages that took no longer");
	for (i = 1; i <= 4; i++) {
		snprintf(buf, sizeof(buf), "%d %%", 25 * i);
		mark_y((double)i / 4, buf);
		mark_x((double)i / 4, say_usecs(buf, (uint64_t)(most * i / 4000)));
	}
	for (d = 0; d < DIRS; d++) {
		perf_sum(t, d, &sum);
		if (!perf_has_dir(t, d) || !sum.times.nr)
			continue;
		line_begin(d);
		for (i = 0; i <= STEPS; i++) {
			share = (double)i / STEPS;
			line_point((i == STEPS ? (double)sum.times.max :
				    (double)hist_quantile(&sum.times, share)) / most, share);
		}
		line_end(d, arrows[d]);
	}
	plot_end("time of a message");
}

static void cell_usecs(uint64_t ns)
{
	char buf[NUM_LEN];

	fprintf(page, "<td>%s</td>", say_usecs(buf, ns / 1000));
}

static void row(const char *name, int d, const struct perf_sum *sum)
{
	char size[NUM_LEN], rate[NUM_LEN], missing[NUM_LEN];

	fprintf(page, "<tr><td>%s</td><td>%s</td><td>%llu</td><td>%sB</td><td>%s</td><td>%s</td><td>%llu</td>",
		name, arrows[d], (unsigned long long)sum->messages,
		say_number(size, (double)sum->bytes), say_rate(rate, perf_rate(sum)),
		say_percent(missing, sum->missing, sum->missing + sum->bytes),
		(unsigned long long)sum->resent);
	cell_usecs(hist_quantile(&sum->times, 0.5));
	cell_usecs(hist_quantile(&sum->times, 0.99));
	cell_usecs(hist_quantile(&sum->times, 0.999));
	cell_usecs(sum->times.max);
	fputs("</tr>\n", page);
}

void perf_html_add(const struct perf_test *t)
{
	static struct perf_sum sum;
	char name[NUM_LEN];
	int i, d;

	if (!page)
		return;
	fprintf(page, "<h2>%s to ", t->net->name);
	text(t->host);
	fputs("</h2>\n", page);
	plot_rates(t);
	plot_times(t);
	fputs("<div class=\"wide\"><table>\n<tr><th>connection</th><th>direction</th><th>messages</th><th>bytes</th>"
	      "<th>rate</th><th>missing</th><th>packets resent</th><th>p50</th><th>p99</th><th>p99.9</th><th>longest</th></tr>\n",
	      page);
	for (i = 0; i < t->run.nr; i++) {
		snprintf(name, sizeof(name), "%d", i + 1);
		perf_sum_one(t, i, &sum);
		row(name, (int)t->run.conns[i].hello.server_sends, &sum);
	}
	for (d = 0; d < DIRS; d++) {
		if (!perf_has_dir(t, d))
			continue;
		perf_sum(t, d, &sum);
		row("all", d, &sum);
	}
	fputs("</table></div>\n", page);
}

int perf_html_end(char **words)
{
	char line[1000] = "", version[40] = "not loaded", date[40];
	struct utsname uts = { 0 };
	time_t now = time(NULL);
	size_t len = 0;

	if (!page)
		return 0;
	for (; *words && len < sizeof(line); words++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s", len ? " " : "dlcp ", *words);
	uname(&uts);
	module_version(version, sizeof(version));
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
	fputs("<h2>Settings</h2>\n<table>\n<tr><th>setting</th><th>value</th></tr>\n", page);
	fact("command", line);
	fact("dlcp", tool_version);
	fact("commit", *TOOL_COMMIT ? TOOL_COMMIT : "not known: it was built outside git");
	fact("module", version);
	fact("kernel", uts.release);
	fact("host", uts.nodename);
	fact("date", date);
	fputs("</table>\n</body></html>\n", page);
	if (fclose(page))
		return say_error("%s: %s: is the file system full?", page_name, strerror(errno));
	return 0;
}
