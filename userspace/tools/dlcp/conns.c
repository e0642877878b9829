// SPDX-License-Identifier: GPL-2.0
/*
 * Looks at the connections, one after the other, and what changed between two of them.
 */
#include <string.h>

#include "tool.h"

int conns_is_listener(const struct conns *c, size_t row)
{
	return !strcmp(table_get(&c->now, row, "state"), "LISTEN");
}

/* That connection in the look before. A socket that was closed has no inode any more.
 * Return: nr_rows of that look if it was not there
 */
static size_t find_before(struct conns *c, size_t row)
{
	const struct table *b = &c->before;
	uint64_t inode = table_u64(&c->now, row, "inode");
	size_t seen, i;

	/* Both looks are in one order: it is most often where the last one was, or behind */
	for (seen = 0; seen < b->nr_rows; seen++) {
		i = (c->hint + seen) % b->nr_rows;
		if (!same_socket(b, i, &c->now, row) ||
		    (inode && inode != table_u64(b, i, "inode")))
			continue;
		c->hint = i;
		return i;
	}
	return b->nr_rows;
}

double conns_rate(struct conns *c, size_t row, const char *name)
{
	size_t i = find_before(c, row);
	uint64_t now, was;

	if (c->seconds <= 0 || i == c->before.nr_rows)
		return -1;
	now = table_u64(&c->now, row, name);
	was = table_u64(&c->before, i, name);
	return now > was ? (double)(now - was) / c->seconds : 0;
}

const char *conns_mark(const struct conns *c, size_t row)
{
	size_t i;

	for (i = 0; i < c->paths.nr[row]; i++)
		if (strcmp(table_get(&c->paths.table, c->paths.first[row] + i, "state"), "works"))
			return "!";
	return "";
}

int conns_look(struct conns *c, const struct source *src)
{
	uint64_t now;
	int err;

	table_free(&c->before);
	c->before = c->now;
	paths_free(&c->paths);
	err = table_read(&c->now, src, "conns");
	if (err)
		return err;
	now = now_ns();
	c->seconds = c->looked ? (double)(now - c->looked) / 1e9 : 0;
	c->looked = now;
	return paths_read(&c->paths, src, &c->now);
}

void conns_free(struct conns *c)
{
	table_free(&c->now);
	table_free(&c->before);
	paths_free(&c->paths);
}
