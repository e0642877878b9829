// SPDX-License-Identifier: GPL-2.0
/*
 * JSON on the standard output, on one line for each value at the top.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

static int depth, behind;	/* open brackets; something stands before */

static void quote(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned int)*s);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void begin(const char *name)
{
	if (behind)
		fputs(", ", stdout);
	behind = 1;
	if (name) {
		quote(name);
		fputs(": ", stdout);
	}
}

void json_open(const char *name, char bracket)
{
	begin(name);
	putchar(bracket);
	depth++;
	behind = 0;
}

void json_close(char bracket)
{
	putchar(bracket);
	behind = 1;
	if (!--depth) {
		putchar('\n');
		fflush(stdout);
		behind = 0;
	}
}

void json_text(const char *name, const char *value)
{
	begin(name);
	quote(value);
}

void json_literal(const char *name, const char *value)
{
	begin(name);
	fputs(value, stdout);
}

void json_word(const char *name, const char *value)
{
	size_t len = strlen(value);

	/* JSON has no numbers that begin with zeros */
	if (!len || strspn(value, "0123456789") != len || (*value == '0' && len > 1)) {
		json_text(name, value);
		return;
	}
	json_literal(name, value);
}

void json_number(const char *name, double value)
{
	begin(name);
	printf("%.17g", value);
}

void json_u64(const char *name, uint64_t value)
{
	begin(name);
	printf("%" PRIu64, value);
}
