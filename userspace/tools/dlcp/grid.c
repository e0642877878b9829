// SPDX-License-Identifier: GPL-2.0
/*
 * A table for people: columns as wide as what is in them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/**
 * struct grid - cells, row by row; a note takes a row
 * @titles: of the columns
 * @nr_cols: how many
 * @cells: the titles are not among them; NULL after the first of a note
 * @nr: of the cells
 * @room: for so many
 */
struct grid {
	const char *const	*titles;
	size_t			nr_cols;
	char			**cells;
	size_t			nr;
	size_t			room;
};

struct grid *grid_new(const char *const *titles)
{
	struct grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->titles = titles;
	while (titles[g->nr_cols])
		g->nr_cols++;
	return g;
}

static void push(struct grid *g, char *cell)
{
	char **more;

	if (g->nr == g->room) {
		more = realloc(g->cells, (2 * g->room + 64) * sizeof(*more));
		if (!more) {
			free(cell);
			return;
		}
		g->cells = more;
		g->room = 2 * g->room + 64;
	}
	g->cells[g->nr++] = cell;
}

static char *format_text(const char *format, va_list args)
{
	char buf[300];

	vsnprintf(buf, sizeof(buf), format, args);
	return strdup(buf);
}

void grid_add(struct grid *g, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	push(g, format_text(format, args));
	va_end(args);
}

void grid_note(struct grid *g, const char *format, ...)
{
	va_list args;
	size_t i;

	va_start(args, format);
	push(g, format_text(format, args));
	va_end(args);
	for (i = 1; i < g->nr_cols; i++)
		push(g, NULL);
}

static int is_note(const struct grid *g, size_t row)
{
	return g->nr_cols > 1 && !g->cells[row * g->nr_cols + 1];
}

static size_t width(const struct grid *g, size_t col, int with_titles)
{
	size_t w = with_titles ? strlen(g->titles[col]) : 0, row, len;

	for (row = 0; row < g->nr / g->nr_cols; row++) {
		if (is_note(g, row))
			continue;
		len = strlen(g->cells[row * g->nr_cols + col]);
		w = len > w ? len : w;
	}
	return w;
}

static void print_row(const struct grid *g, const char *const *cells, const size_t *widths)
{
	size_t i;

	for (i = 0; i + 1 < g->nr_cols; i++)
		printf("%-*s ", (int)widths[i], cells[i]);
	puts(cells[i]);
}

void grid_print(struct grid *g, int with_titles)
{
	size_t *widths = calloc(g->nr_cols, sizeof(*widths)), i;

	if (!widths)
		return;
	for (i = 0; i < g->nr_cols; i++)
		widths[i] = width(g, i, with_titles);
	if (with_titles)
		print_row(g, g->titles, widths);
	for (i = 0; i < g->nr / g->nr_cols; i++) {
		if (is_note(g, i))
			puts(g->cells[i * g->nr_cols]);
		else
			print_row(g, (const char *const *)g->cells + i * g->nr_cols, widths);
	}
	free(widths);
}

void grid_free(struct grid *g)
{
	size_t i;

	for (i = 0; g && i < g->nr; i++)
		free(g->cells[i]);
	if (g)
		free(g->cells);
	free(g);
}
