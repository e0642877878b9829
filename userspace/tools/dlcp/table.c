// SPDX-License-Identifier: GPL-2.0
/*
 * Tables as /proc has them. Columns are found by their names, so that those a later
 * module adds, wherever it does, change nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

#define BLANKS	" \t"

/* The next line, ended; NULL at the end */
static char *next_line(char **at)
{
	char *line = *at, *end;

	if (!*line)
		return NULL;
	end = strchr(line, '\n');
	*at = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

static size_t count_lines(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static size_t count_words(const char *line)
{
	size_t n = 0;

	for (line += strspn(line, BLANKS); *line; line += strspn(line, BLANKS)) {
		line += strcspn(line, BLANKS);
		n++;
	}
	return n;
}

/* The first @nr words of a line; those that are not there stay NULL */
static void split(char *line, char **words, size_t nr)
{
	char *save, *word = strtok_r(line, BLANKS, &save);
	size_t i;

	for (i = 0; i < nr && word; i++) {
		words[i] = word;
		word = strtok_r(NULL, BLANKS, &save);
	}
}

static int parse_rows(struct table *t, char *at)
{
	char *line;

	t->cells = calloc(count_lines(at) * t->nr_names, sizeof(*t->cells));
	if (!t->cells)
		return -ENOMEM;
	while ((line = next_line(&at))) {
		if (!line[strspn(line, BLANKS)])
			continue;
		split(line, t->cells + t->nr_rows * t->nr_names, t->nr_names);
		t->nr_rows++;
	}
	return 0;
}

int table_parse(struct table *t, char *text)
{
	char *at = text, *head = next_line(&at);

	*t = (struct table){ .text = text };
	t->nr_names = head ? count_words(head) : 0;
	if (!t->nr_names)
		return -EPROTO;
	t->names = calloc(t->nr_names, sizeof(*t->names));
	if (!t->names)
		return -ENOMEM;
	split(head, t->names, t->nr_names);
	return parse_rows(t, at);
}

int pairs_parse(struct table *t, char *text)
{
	static char name[] = "name", value[] = "value";

	*t = (struct table){ .text = text, .nr_names = 2 };
	t->names = calloc(2, sizeof(*t->names));
	if (!t->names)
		return -ENOMEM;
	t->names[0] = name;
	t->names[1] = value;
	return parse_rows(t, text);
}

static int read_with(struct table *t, const struct source *src, const char *name,
		     int (*parse)(struct table *t, char *text))
{
	char *text = source_read(src, name);
	int err;

	*t = (struct table){ 0 };
	if (!text)
		return DLCP_FAILED;
	err = parse(t, text);
	if (!err)
		return 0;
	table_free(t);
	return err == -ENOMEM ? say_no_memory() :
	       say_error("%s is not as this program knows it: install the program that came with the module",
			 name);
}

int table_read(struct table *t, const struct source *src, const char *name)
{
	return read_with(t, src, name, table_parse);
}

int pairs_read(struct table *t, const struct source *src, const char *name)
{
	return read_with(t, src, name, pairs_parse);
}

void table_free(struct table *t)
{
	free(t->text);
	free(t->names);
	free(t->cells);
	*t = (struct table){ 0 };
}

const char *table_get(const struct table *t, size_t row, const char *name)
{
	const char *cell;
	size_t i;

	for (i = 0; i < t->nr_names && row < t->nr_rows; i++) {
		if (strcmp(t->names[i], name))
			continue;
		cell = t->cells[row * t->nr_names + i];
		return cell ? cell : "";
	}
	return "";
}

uint64_t table_u64(const struct table *t, size_t row, const char *name)
{
	return strtoull(table_get(t, row, name), NULL, 10);
}
