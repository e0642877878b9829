// SPDX-License-Identifier: GPL-2.0
/*
 * JSON on the standard output, on one line for each value at the top.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool.h"

static int depth, behind;	/* open brackets; something stands before */

/* Bytes of the character at @s, by RFC 3629; 0: it is none */
static size_t utf8_len(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;
	size_t len = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0, i;

	for (i = 1; i < len; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	/* Longer than need be, surrogates, and what is no character any more */
	if ((*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) ||
	    (*c == 0xf0 && c[1] < 0x90) || (*c == 0xf4 && c[1] > 0x8f))
		return 0;
	return len;
}

/* Names of processes are any bytes, and JSON is UTF-8 */
static void quote(const char *s)
{
	size_t len;

	putchar('"');
	for (; *s; s += len ? len : 1) {
		len = utf8_len(s);
		if (len != 1) {
			printf("%.*s", len ? (int)len : 3, len ? s : "\xef\xbf\xbd");
			continue;
		}
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
