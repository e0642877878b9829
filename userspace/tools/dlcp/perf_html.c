// SPDX-License-Identifier: GPL-2.0
/*
 * The page of dlcp perf: its plots, and a table.
 */
#include <stdio.h>

#include "page.h"
#include "perf.h"

/* Steps of a distribution */
#define STEPS	200

static const char *const arrows[] = { "-&gt;", "&lt;-" };

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
		plot_y((double)i / 4.4, say_rate(buf, most * (double)i / 4));
	for (i = 0; i <= 5; i++) {
		snprintf(buf, sizeof(buf), "%.3g", end / 1e9 * (double)i / 5);
		plot_x((double)i / 5, buf);
	}
	for (d = 0; d < DIRS; d++) {
		if (!perf_has_dir(t, d))
			continue;
		plot_line_begin(d);
		/* A rate is that of all its interval */
		for (i = 1; i < nr; i++) {
			plot_line_point((double)p[i - 1].ns / end, rate_of(&p[i - 1], &p[i], d) / most / 1.1);
			plot_line_point((double)p[i].ns / end, rate_of(&p[i - 1], &p[i], d) / most / 1.1);
		}
		plot_line_end(d, arrows[d]);
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
		plot_y((double)i / 4, buf);
		plot_x((double)i / 4, say_usecs(buf, (uint64_t)(most * i / 4000)));
	}
	for (d = 0; d < DIRS; d++) {
		perf_sum(t, d, &sum);
		if (!perf_has_dir(t, d) || !sum.times.nr)
			continue;
		plot_line_begin(d);
		for (i = 0; i <= STEPS; i++) {
			share = (double)i / STEPS;
			plot_line_point((i == STEPS ? (double)sum.times.max :
				    (double)hist_quantile(&sum.times, share)) / most, share);
		}
		plot_line_end(d, arrows[d]);
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
	page_text(t->host);
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
