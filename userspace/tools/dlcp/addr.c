// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses and ports, as the kernel writes them and as people do.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static int parse_port(const char *text, int *port)
{
	uint64_t value;

	*port = -1;
	if (!strcmp(text, "*"))
		return 0;
	if (parse_u64(text, &value) || value > 65535)
		return -1;
	*port = (int)value;
	return 0;
}

/* An address alone, perhaps with a prefix's length behind it */
static int parse_host(struct addr *a, char *text)
{
	char *slash = strchr(text, '/');
	int all;
	uint64_t bits;

	if (slash)
		*slash++ = '\0';
	if (!*text || !strcmp(text, "*"))
		return slash ? -1 : 0;
	a->is_ipv4 = inet_pton(AF_INET, text, a->bytes + 12) == 1;
	if (a->is_ipv4)
		memcpy(a->bytes, mapped, sizeof(mapped));
	else if (inet_pton(AF_INET6, text, a->bytes) != 1)
		return -1;
	else
		a->is_ipv4 = !memcmp(a->bytes, mapped, sizeof(mapped));
	all = strchr(text, ':') ? 128 : 32;
	a->bits = 128;
	if (!slash)
		return 0;
	if (parse_u64(slash, &bits) || bits > (uint64_t)all)
		return -1;
	a->bits = 128 - all + (int)bits;
	return 0;
}

/* Where the port begins, behind its colon; NULL: there is none */
static char *find_port(char *text)
{
	char *from = *text == '[' ? strchr(text, ']') : text;
	char *colon = from ? strchr(from, ':') : NULL;

	return colon && !strchr(colon + 1, ':') ? colon + 1 : NULL;
}

int addr_parse(struct addr *a, const char *text, int loose)
{
	char copy[100], *port, *host = copy, *bracket;

	*a = (struct addr){ .port = -1 };
	if (strlen(text) >= sizeof(copy))
		return -1;
	strcpy(copy, text);
	port = find_port(copy);
	if (port) {
		port[-1] = '\0';
		if (parse_port(port, &a->port))
			return -1;
	} else if (!loose) {
		return -1;
	}
	if (*host == '[') {
		bracket = strchr(++host, ']');
		if (!bracket)
			return -1;
		/* The prefix's length may stand inside or behind */
		memmove(bracket, bracket + 1, strlen(bracket));
	}
	return parse_host(a, host) || (!loose && !a->bits) ? -1 : 0;
}

int addr_matches(const struct addr *pattern, const struct addr *a)
{
	int whole = pattern->bits / 8, rest = pattern->bits % 8;

	if (pattern->port >= 0 && pattern->port != a->port)
		return 0;
	if (memcmp(pattern->bytes, a->bytes, (size_t)whole))
		return 0;
	return !rest || !((pattern->bytes[whole] ^ a->bytes[whole]) >> (8 - rest));
}
