// SPDX-License-Identifier: GPL-2.0
/*
 * Which paths belong to which connection. The paths of a connection are lines that
 * follow each other, numbered from 0. Cookies tell whose they are. Where a table that
 * was saved has none, addresses do: those of the first path, since others may have
 * their own (rails).
 */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

int same_socket(const struct table *a, size_t i, const struct table *b, size_t j)
{
	const char *one = table_get(a, i, "cookie"), *other = table_get(b, j, "cookie");

	if (*one && *other)
		return !strcmp(one, other);
	return !strcmp(table_get(a, i, "local"), table_get(b, j, "local")) &&
	       !strcmp(table_get(a, i, "remote"), table_get(b, j, "remote"));
}

/* Lines of the connection whose first one is @first */
static size_t group_size(const struct table *paths, size_t first)
{
	size_t i = first + 1;

	while (i < paths->nr_rows && table_u64(paths, i, "path"))
		i++;
	return i - first;
}

/* Both tables are in one order: the search goes on where the last one ended, and round
 * if sockets came or went between the two reads
 */
static void match(struct paths *p, const struct table *conns)
{
	size_t at = 0, row, seen;

	for (row = 0; row < conns->nr_rows; row++) {
		if (!table_u64(conns, row, "paths"))
			continue;
		for (seen = 0; seen < p->table.nr_rows; seen += p->nr[row]) {
			if (at >= p->table.nr_rows)
				at = 0;
			p->nr[row] = group_size(&p->table, at);
			p->first[row] = at;
			at += p->nr[row];
			if (same_socket(&p->table, p->first[row], conns, row))
				break;
		}
		if (seen >= p->table.nr_rows)
			p->nr[row] = 0;
	}
}

int paths_read(struct paths *p, const struct source *src, const struct table *conns)
{
	int err = table_read(&p->table, src, "paths");

	p->first = NULL;
	p->nr = NULL;
	if (err)
		return err;
	p->first = calloc(conns->nr_rows + 1, sizeof(*p->first));
	p->nr = calloc(conns->nr_rows + 1, sizeof(*p->nr));
	if (!p->first || !p->nr) {
		paths_free(p);
		return say_no_memory();
	}
	match(p, conns);
	return 0;
}

uint64_t paths_sum(const struct paths *p, size_t row, const char *name)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < p->nr[row]; i++)
		sum += table_u64(&p->table, p->first[row] + i, name);
	return sum;
}

void paths_free(struct paths *p)
{
	table_free(&p->table);
	free(p->first);
	free(p->nr);
	p->first = NULL;
	p->nr = NULL;
}
