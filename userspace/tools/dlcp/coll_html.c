// SPDX-License-Identifier: GPL-2.0
/*
 * The page of dlcp coll-perf: times and bandwidths by size, and the table.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll_perf.h"
#include "page.h"

static struct coll_row *rows;
static size_t nr_rows;

void coll_html_row(const struct coll_row *row)
{
	struct coll_row *more;

	if (!page)
		return;
	more = realloc(rows, (nr_rows + 1) * sizeof(*rows));
	if (!more) {
		say_no_memory();
		return;
	}
	rows = more;
	rows[nr_rows++] = *row;
}

/* Where a value is from the least to the most, each twice as large as far as the one before */
static double place(double value, double least, double most)
{
	return most > least ? log(value / least) / log(most / least) : 0;
}

static double size_place(size_t i)
{
	return place(rows[i].bytes, rows[0].bytes, rows[nr_rows - 1].bytes);
}

static void mark_sizes(void)
{
	size_t i, step = nr_rows / 8 + 1;
	char buf[NUM_LEN];

	for (i = 0; i < nr_rows; i += step)
		plot_x(size_place(i), say_number(buf, rows[i].bytes));
}

static void plot_times(void)
{
	double least = rows[0].p50_us, most = rows[0].p99_us;
	char buf[NUM_LEN];
	size_t i;

	for (i = 0; i < nr_rows; i++) {
		least = fmin(least, rows[i].p50_us);
		most = fmax(most, rows[i].p99_us);
	}
	plot_begin("Time until the last rank was done");
	mark_sizes();
	for (i = 0; i <= 4; i++)
		plot_y((double)i / 4, say_usecs(buf, (uint64_t)(least * pow(most / least, (double)i / 4))));
	plot_line_begin(0);
	for (i = 0; i < nr_rows; i++)
		plot_line_point(size_place(i), place(rows[i].p50_us, least, most));
	plot_line_end(0, "p50");
	plot_line_begin(1);
	for (i = 0; i < nr_rows; i++)
		plot_line_point(size_place(i), place(rows[i].p99_us, least, most));
	plot_line_end(1, "p99");
	plot_end("bytes");
}

static void plot_bandwidth(void)
{
	char buf[NUM_LEN];
	double most = 0;
	size_t i;

	for (i = 0; i < nr_rows; i++)
		most = fmax(most, rows[i].busbw);
	plot_begin("Bandwidth of a rank&#39;s link (busbw)");
	mark_sizes();
	for (i = 1; i <= 4; i++)
		plot_y((double)i / 4.4, say_rate(buf, most * 1e9 * (double)i / 4));
	plot_line_begin(0);
	for (i = 0; i < nr_rows; i++)
		plot_line_point(size_place(i), most > 0 ? rows[i].busbw / most / 1.1 : 0);
	plot_line_end(0, "busbw");
	plot_end("bytes");
}

static void cell(double value, const char *format)
{
	char buf[NUM_LEN] = "-";

	if (value >= 0)
		snprintf(buf, sizeof(buf), format, value);
	fprintf(page, "<td>%s</td>", buf);
}

static void table_row(const struct coll_row *row)
{
	char missing[NUM_LEN];

	fprintf(page, "<tr><td>%.0f</td><td>%zu</td><td>%s</td><td>%.1f</td><td>%.3f</td><td>%.3f</td><td>%lld</td>",
		row->bytes, row->count, row->redop, row->time_us, row->algbw, row->busbw,
		(long long)row->sums[COLL_WRONG]);
	fprintf(page, "<td>%.1f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td>", row->p50_us,
		row->p99_us, row->p99_9_us, row->max_us);
	cell(row->jct_ratio, "%.3f");
	cell(row->jain, "%.3f");
	fprintf(page, "<td>%s</td></tr>\n", coll_missing(row, missing));
}

void coll_html_add(const struct coll_run *r)
{
	size_t i;

	if (!page || !r->op)
		return;
	fprintf(page, "<h2>%s of %d ranks</h2>\n", r->op->name, dlcp_coll_world(r->coll));
	if (nr_rows > 1) {
		plot_times();
		plot_bandwidth();
	}
	fputs("<div class=\"wide\"><table>\n<tr><th>size</th><th>count</th><th>redop</th><th>time, us</th>"
	      "<th>algbw, GB/s</th><th>busbw, GB/s</th><th>wrong</th><th>p50</th><th>p99</th><th>p99.9</th>"
	      "<th>longest</th><th>JCT ratio</th><th>Jain</th><th>missing</th></tr>\n", page);
	for (i = 0; i < nr_rows; i++)
		table_row(&rows[i]);
	fputs("</table></div>\n", page);
	free(rows);
	rows = NULL;
	nr_rows = 0;
}
