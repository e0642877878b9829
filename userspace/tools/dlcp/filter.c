// SPDX-License-Identifier: GPL-2.0
/*
 * Which sockets are shown: conditions that all have to hold, in the words of ss(8).
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/**
 * struct condition - one of them
 * @column: what it is about: "local", "remote", "state" or another column
 * @addr: of an address
 * @word: of anything else
 */
struct condition {
	const char	*column;
	struct addr	addr;
	char		word[40];
};

struct filter {
	int			nr;
	struct condition	conditions[];
};

const char *lower(const char *text, char *buf, size_t size)
{
	size_t i;

	for (i = 0; text[i] && i + 1 < size; i++)
		buf[i] = (char)(text[i] == '-' ? '_' : tolower((unsigned char)text[i]));
	buf[i] = '\0';
	return buf;
}

static int set_state(struct condition *c, const char *column, const char *value)
{
	static const char *const states[] = {
		"closed", "listen", "init_sent", "echo_sent", "established", "closing",
	};
	size_t i;

	c->column = column;
	lower(value, c->word, sizeof(c->word));
	if (!strcmp(c->word, "listening"))
		strcpy(c->word, "listen");
	for (i = 0; i < sizeof(states) / sizeof(*states); i++)
		if (!strcmp(c->word, states[i]))
			return 0;
	return say_usage("%s is no state: closed, listen, init_sent, echo_sent, established, closing",
			 value);
}

static int set_addr(struct condition *c, const char *column, const char *value)
{
	c->column = column;
	return addr_parse(&c->addr, value, 1) ?
		say_usage("%s is no address: 10.0.0.1, 10.0.0.0/8:7000, [fd00::1]:7000, *:7000",
			  value) : 0;
}

static int set_port(struct condition *c, const char *column, const char *value)
{
	uint64_t port;

	c->column = column;
	if (parse_u64(value + (*value == ':'), &port) || port > 65535)
		return say_usage("%s is no port", value);
	c->addr = (struct addr){ .port = (int)port };
	return 0;
}

static int set_uid(struct condition *c, const char *column, const char *value)
{
	uint64_t uid;

	c->column = column;
	if (parse_u64(value, &uid) || uid > UINT32_MAX)
		return say_usage("%s is no user's number (`id -u NAME` prints it)", value);
	/* As the kernel writes it: without zeros before it */
	snprintf(c->word, sizeof(c->word), "%u", (unsigned int)uid);
	return 0;
}

static const struct word {
	const char	*name;
	int		(*set)(struct condition *c, const char *column, const char *value);
	const char	*column;
} words_of_filters[] = {
	{ "state", set_state, "state" },
	{ "src", set_addr, "local" },
	{ "dst", set_addr, "remote" },
	{ "sport", set_port, "local" },
	{ "dport", set_port, "remote" },
	{ "uid", set_uid, "uid" },
	{ }
};

/* Condition @c, of the first of @nr words. Return: how many they are; negative: an error,
 * which is said
 */
static int parse_one(struct condition *c, char **words, int nr)
{
	const struct word *w = words_of_filters;
	int i = 1;

	while (w->name && strcmp(w->name, words[0]))
		w++;
	if (!w->name)
		return -say_usage("%s is no filter: state, src, dst, sport, dport, uid",
				  words[0]);
	if (i < nr && (!strcmp(words[i], "=") || !strcmp(words[i], "==")))
		i++;
	if (i == nr)
		return -say_usage("filter %s lacks a value", words[0]);
	return w->set(c, w->column, words[i]) ? -1 : i + 1;
}

struct filter *filter_parse(char **words, int nr)
{
	struct filter *f = calloc(1, sizeof(*f) + (size_t)nr * sizeof(*f->conditions));
	int i = 0, n;

	while (f && i < nr) {
		if (!strcmp(words[i], "and")) {
			i++;
			continue;
		}
		n = parse_one(&f->conditions[f->nr++], words + i, nr - i);
		if (n < 0) {
			free(f);
			return NULL;
		}
		i += n;
	}
	if (!f)
		say_no_memory();
	return f;
}

static int takes(const struct condition *c, const struct table *t, size_t row)
{
	const char *cell = table_get(t, row, c->column);
	struct addr a;
	char buf[40];

	if (*c->word)
		return !strcmp(lower(cell, buf, sizeof(buf)), c->word);
	return !addr_parse(&a, cell, 0) && addr_matches(&c->addr, &a);
}

int filter_takes(const struct filter *f, const struct table *t, size_t row)
{
	int i;

	for (i = 0; i < f->nr; i++)
		if (!takes(&f->conditions[i], t, row))
			return 0;
	return 1;
}

void filter_free(struct filter *f)
{
	free(f);
}
