// SPDX-License-Identifier: GPL-2.0
/*
 * A guess at the firewall of this host, from the text of its rules. What it lets pass only a peer
 * tells for sure.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "findings.h"

/**
 * struct chain - a chain of rules that is read
 * @table: family and name of its table
 * @name: of it
 * @hook: "input" or "output", or NULL: another one
 * @drops: its policy, or a rule that everything meets
 * @accepts: a rule lets our packets pass before
 * @refuses: a rule names our port, and drops it
 * @jumps: other chains decide, which are not read
 */
struct chain {
	char		table[140];
	char		name[64];
	const char	*hook;
	int		drops;
	int		accepts;
	int		refuses;
	int		jumps;
};

/* The number as a word of its own, or the end of a range it lies in */
static int has_port(const char *line, long port)
{
	const char *at;
	char *end;
	long from, to;

	for (at = line; *at; at++) {
		if (!isdigit((unsigned char)*at) || (at > line && isalnum((unsigned char)at[-1])))
			continue;
		from = strtol(at, &end, 10);
		to = from;
		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtol(end + 1, &end, 10);
		if (from <= port && port <= to && *end != '.')
			return 1;
		at = end - 1;
	}
	return 0;
}

static int has(const char *line, const char *word)
{
	return !!strstr(line, word);
}

/* Every packet meets it: it asks for nothing but that it is UDP */
static int is_for_all(const char *line)
{
	static const char *const asks[] = {
		"dport", "sport", "saddr", "daddr", "iif", "oif", "ct ", "tcp", "icmp", "mark",
		"limit", "fib", "ether", "set ", "pkttype",
	};
	size_t i;

	for (i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		if (has(line, asks[i]))
			return 0;
	return 1;
}

static void read_rule(struct chain *ch, const char *line, long port)
{
	int named = has(line, "udp") && has(line, "dport") && has_port(line, port);
	int drop = has(line, "drop") || has(line, "reject");

	if (ch->accepts || ch->refuses || ch->drops)
		return;
	if ((has(line, "jump") || has(line, "goto")) && (named || is_for_all(line)))
		ch->jumps = 1;
	if (!named && !is_for_all(line))
		return;
	if (has(line, "accept"))
		ch->accepts = 1;
	else if (drop && named)
		ch->refuses = 1;
	else if (drop)
		ch->drops = 1;
}

static void judge(struct check *c, const struct chain *ch, int policy)
{
	char type[300];

	if (ch->accepts || (!ch->refuses && !ch->drops && !policy))
		return;
	snprintf(type, sizeof(type), "nft insert rule %s %s udp dport %ld accept", ch->table,
		 ch->name, c->port);
	if (ch->jumps && !ch->refuses)
		found(c, UNKNOWN, "firewall", "nft list ruleset",
		      "chain %s (%s) drops what its other chains do not accept", ch->name, ch->hook);
	else
		found(c, WRONG, "firewall", type, "chain %s (%s) seems to drop UDP port %ld",
		      ch->name, ch->hook, c->port);
}

static void read_ruleset(struct check *c, FILE *f)
{
	struct chain ch = { .hook = NULL };
	int policy = 0;
	char line[2000], family[64], table[64], *at;

	while (fgets(line, sizeof(line), f)) {
		at = line + strspn(line, " \t");
		if (sscanf(at, "table %63s %63s {", family, table) == 2) {
			snprintf(ch.table, sizeof(ch.table), "%s %s", family, table);
		} else if (sscanf(at, "chain %63s {", ch.name) == 1) {
			ch.hook = NULL;
			ch.drops = ch.accepts = ch.refuses = ch.jumps = policy = 0;
		} else if (has(at, "type filter hook ")) {
			ch.hook = has(at, "hook input") ? "input" :
				  has(at, "hook output") ? "output" : NULL;
			policy = has(at, "policy drop");
		} else if (*at == '}' && ch.hook) {
			judge(c, &ch, policy);
			ch.hook = NULL;
		} else if (ch.hook) {
			read_rule(&ch, at, c->port);
		}
	}
}

void check_firewall(struct check *c)
{
	int before = c->nr[WRONG] + c->nr[UNKNOWN], status;
	FILE *f;

	if (geteuid()) {
		found(c, UNKNOWN, "firewall", NULL, "only root sees its rules");
		return;
	}
	f = popen("nft list ruleset 2>/dev/null", "re");
	if (!f)
		return;
	read_ruleset(c, f);
	status = pclose(f);
	if (status)
		found(c, UNKNOWN, "firewall", "apt-get install nftables",
		      "`nft list ruleset` failed; without it the rules are not seen");
	else if (before == c->nr[WRONG] + c->nr[UNKNOWN])
		found(c, FINE, "firewall", NULL, "no rule of this host seems to drop UDP port %ld",
		      c->port);
}
