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

#define LOCAL		"fib daddr type local"

/* Chains that jump to each other, at most */
#define MOST_JUMPS	16

enum verdict {
	GO_ON,
	ACCEPT,
	DROP,
	/* Some packets return from a chain here; and: it cannot be told */
	NOT_KNOWN,
};

/**
 * struct chain - a chain of rules
 * @table: family and name of its table
 * @name: of it
 * @hook: where packets meet it, or "": others jump to it
 * @policy: of what its rules let go on
 * @first: its first rule
 * @nr: how many
 */
struct chain {
	char		table[140];
	char		name[64];
	char		hook[16];
	enum verdict	policy;
	size_t		first;
	size_t		nr;
};

/**
 * struct rule - one that packets to our port may meet
 * @verdict: GO_ON: it jumps
 * @to: the name of the chain it jumps to
 * @back: and comes back from there
 */
struct rule {
	enum verdict	verdict;
	char		to[64];
	int		back;
};

/**
 * struct ruleset - of this host; a node of a cluster has thousands
 * @chain: of all tables
 * @rule: of all chains
 */
struct ruleset {
	size_t		nr_chains;
	size_t		nr_rules;
	struct chain	*chain;
	struct rule	*rule;
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

/* ... at the begin of a word, and not in what a rule refuses with */
static int asks_for(const char *line, const char *word)
{
	const char *at, *end = strstr(line, "reject with ");

	for (at = strstr(line, word); at && (!end || at < end); at = strstr(at + 1, word))
		if (at == line || !isalnum((unsigned char)at[-1]))
			return 1;
	return 0;
}

/* Every packet meets it: it asks for nothing but that it is UDP */
static int is_for_all(const char *line)
{
	static const char *const asks[] = {
		"dport", "sport", "saddr", "daddr", "iif", "oif", "ct ", "tcp", "icmp", "mark",
		"limit", "fib", "ether", "set ", "pkttype",
	};
	/* What comes to this host, as ufw asks before it drops all else */
	const char *local = strstr(line, LOCAL);
	size_t i;

	if (local && !is_for_all(local + strlen(LOCAL)))
		return 0;
	for (i = 0; !local && i < sizeof(asks) / sizeof(*asks); i++)
		if (asks_for(line, asks[i]))
			return 0;
	return 1;
}

/* The verdict of a rule which packets to our port meet. Return: 0, or -1: it has none */
static int read_rule(struct rule *r, const char *line, long port)
{
	int named = has(line, "udp") && has(line, "dport") && has_port(line, port);
	const char *at;

	*r = (struct rule){ .verdict = GO_ON };
	if (!named && !is_for_all(line)) {
		r->verdict = NOT_KNOWN;
		return has(line, " return") && !has(line, "tcp") && !has(line, "icmp") ? 0 : -1;
	}
	if ((at = strstr(line, "jump ")) || (at = strstr(line, "goto "))) {
		r->back = *at == 'j';
		return sscanf(at + 5, "%63s", r->to) == 1 ? 0 : -1;
	}
	if (has(line, "accept"))
		r->verdict = ACCEPT;
	else if (has(line, "drop") || has(line, "reject"))
		r->verdict = DROP;
	else if (has(line, "return"))
		r->back = 1;
	else
		return -1;
	return 0;
}

static const struct chain *chain_of(const struct ruleset *set, const char *table, const char *name)
{
	size_t i;

	for (i = 0; i < set->nr_chains; i++)
		if (!strcmp(set->chain[i].table, table) && !strcmp(set->chain[i].name, name))
			return &set->chain[i];
	return NULL;
}

/* What becomes of our packets in a chain, and in those it jumps to */
static enum verdict walk(const struct ruleset *set, const struct chain *ch, int depth)
{
	const struct chain *to;
	const struct rule *r;
	enum verdict v;
	int some = 0;
	size_t i;

	for (i = 0; i < ch->nr; i++) {
		r = &set->rule[ch->first + i];
		some |= r->verdict == NOT_KNOWN;
		if (r->verdict == ACCEPT || r->verdict == DROP)
			return some && r->verdict == DROP ? NOT_KNOWN : r->verdict;
		if (r->verdict == NOT_KNOWN)
			continue;
		if (!*r->to)
			return GO_ON;
		to = chain_of(set, ch->table, r->to);
		/* A map of verdicts, say */
		if (!to || depth == MOST_JUMPS)
			return NOT_KNOWN;
		v = walk(set, to, depth + 1);
		if (v != GO_ON || !r->back)
			return v;
	}
	return GO_ON;
}

/* The command of those who wrote the rules, whose next reload would undo another one */
static void say_open(const struct check *c, const struct ruleset *set, const struct chain *ch,
		     char *type, size_t size)
{
	if (has(ch->table, "firewalld"))
		snprintf(type, size, "firewall-cmd --permanent --add-port=%ld/udp && firewall-cmd --reload", c->port);
	else if (!strcmp(ch->name, "INPUT") && chain_of(set, ch->table, "ufw-before-input"))
		snprintf(type, size, "ufw allow %ld/udp", c->port);
	else
		snprintf(type, size, "nft insert rule %s %s udp dport %ld accept", ch->table, ch->name, c->port);
}

static void judge(struct check *c, const struct ruleset *set, const struct chain *ch)
{
	enum verdict v = walk(set, ch, 0);
	char type[300];

	if (v == NOT_KNOWN && ch->policy == DROP)
		found(c, UNKNOWN, "firewall", "nft list ruleset",
		      "chain %s (%s) drops what others do not accept, of which not all can be read",
		      ch->name, ch->hook);
	if (v == GO_ON)
		v = ch->policy;
	if (v != DROP)
		return;
	say_open(c, set, ch, type, sizeof(type));
	found(c, WRONG, "firewall", type, "chain %s (%s) seems to drop UDP port %ld", ch->name,
	      ch->hook, c->port);
}

/* Room for one more than @nr. Return: NULL: there is none, and @array is freed */
static void *grown(void *array, size_t nr, size_t size)
{
	void *more;

	if (nr & (nr - 1))
		return array;
	more = reallocarray(array, nr ? 2 * nr : 1, size);
	if (!more)
		free(array);
	return more;
}

static int read_line(struct ruleset *set, struct chain **ch, char *table, const char *at, long port)
{
	char family[64], name[64];
	struct chain *last;

	if (sscanf(at, "table %63s %63s {", family, name) == 2) {
		snprintf(table, sizeof(last->table), "%s %s", family, name);
	} else if (sscanf(at, "chain %63s {", name) == 1) {
		set->chain = grown(set->chain, set->nr_chains, sizeof(*set->chain));
		if (!set->chain)
			return -1;
		last = *ch = &set->chain[set->nr_chains++];
		*last = (struct chain){ .policy = ACCEPT, .first = set->nr_rules };
		strcpy(last->table, table);
		strcpy(last->name, name);
	} else if (*at == '}') {
		*ch = NULL;
	} else if (*ch && sscanf(at, "type filter hook %15s", (*ch)->hook) == 1) {
		(*ch)->policy = has(at, "policy drop") ? DROP : ACCEPT;
	} else if (*ch) {
		set->rule = grown(set->rule, set->nr_rules, sizeof(*set->rule));
		if (!set->rule)
			return -1;
		if (!read_rule(&set->rule[set->nr_rules], at, port)) {
			set->nr_rules++;
			(*ch)->nr++;
		}
	}
	return 0;
}

/* Return: 0, or -1: there is not enough memory */
static int read_ruleset(struct ruleset *set, FILE *f, long port)
{
	char line[2000], table[sizeof(((struct chain *)0)->table)] = "";
	struct chain *ch = NULL;

	while (fgets(line, sizeof(line), f))
		if (read_line(set, &ch, table, line + strspn(line, " \t"), port))
			return -1;
	return 0;
}

/* Rules of iptables-legacy, which nft does not show */
static void check_legacy(struct check *c)
{
	static const char *const files[] = { "/proc/net/ip_tables_names", "/proc/net/ip6_tables_names" };
	static const char *const tools[] = { "iptables-legacy -S", "ip6tables-legacy -S" };
	char name[64];
	size_t i;
	FILE *f;

	for (i = 0; i < 2; i++) {
		f = fopen(files[i], "re");
		if (!f)
			continue;
		if (fscanf(f, "%63s", name) == 1)
			found(c, UNKNOWN, "firewall", tools[i],
			      "there are rules of %.*s, too, which are not looked at",
			      (int)strcspn(tools[i], " "), tools[i]);
		fclose(f);
	}
}

static long read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long value = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

/* A full table drops the first packets of what is new */
static void check_conntrack(struct check *c)
{
	long most = read_number("/proc/sys/net/netfilter/nf_conntrack_max");
	long nr = read_number("/proc/sys/net/netfilter/nf_conntrack_count");
	char type[200];

	if (!most || nr < most - most / 10)
		return;
	snprintf(type, sizeof(type), "sysctl -w net.netfilter.nf_conntrack_max=%ld", most * 4 > 65536 ? most * 4 : 65536);
	found(c, BAD, "conntrack", type,
	      "the firewall follows %ld connections of %ld at most: soon it drops what is new", nr, most);
}

/* Those that packets to this host pass, and its own */
static int is_ours(const struct chain *ch)
{
	static const char *const hooks[] = { "ingress", "prerouting", "input", "output", "postrouting", "egress" };
	size_t i;

	for (i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(ch->hook, hooks[i]))
			return 1;
	return 0;
}

void check_firewall(struct check *c)
{
	int before = c->nr[WRONG] + c->nr[UNKNOWN], status;
	struct ruleset set = { 0 };
	size_t i;
	FILE *f;

	check_conntrack(c);
	if (geteuid()) {
		found(c, UNKNOWN, "firewall", NULL, "only root sees its rules");
		return;
	}
	f = popen("nft list ruleset 2>/dev/null", "re");
	if (!f)
		return;
	if (read_ruleset(&set, f, c->port)) {
		pclose(f);
		found(c, UNKNOWN, "firewall", NULL, "there is not enough memory for its rules");
		goto out;
	}
	status = pclose(f);
	for (i = 0; i < set.nr_chains; i++)
		if (is_ours(&set.chain[i]))
			judge(c, &set, &set.chain[i]);
	check_legacy(c);
	if (status)
		found(c, UNKNOWN, "firewall", "apt-get install nftables",
		      "`nft list ruleset` failed; without it the rules are not seen");
	else if (before == c->nr[WRONG] + c->nr[UNKNOWN])
		found(c, FINE, "firewall", NULL, "no rule of this host seems to drop UDP port %ld",
		      c->port);
out:
	free(set.chain);
	free(set.rule);
}
