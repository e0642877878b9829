// SPDX-License-Identifier: GPL-2.0
/*
 * What dlcp(8) makes of texts: tables, addresses, filters, which path is whose.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "perf.h"

static void table_by_names(void)
{
	struct table t;

	CHECK(!table_parse(&t, strdup("a  b\tc\n1 2 3\n\n4 5 6\n")));
	CHECK(t.nr_rows == 2);
	CHECK(table_u64(&t, 1, "b") == 5);
	CHECK(!strcmp(table_get(&t, 0, "c"), "3"));
	CHECK(!strcmp(table_get(&t, 0, "d"), ""));
	CHECK(!strcmp(table_get(&t, 2, "a"), ""));
	table_free(&t);
}

/* Of a later module: columns anywhere, and words that have no name */
static void table_of_later(void)
{
	struct table t;

	CHECK(!table_parse(&t, strdup("new a newer b\nx 1 y 2 more\n")));
	CHECK(t.nr_rows == 1);
	CHECK(table_u64(&t, 0, "a") == 1 && table_u64(&t, 0, "b") == 2);
	table_free(&t);
}

static void table_too_short(void)
{
	struct table t;

	CHECK(!table_parse(&t, strdup("a b\n1\n3 4")));
	CHECK(t.nr_rows == 2);
	CHECK(!strcmp(table_get(&t, 0, "b"), ""));
	CHECK(table_u64(&t, 1, "b") == 4);
	table_free(&t);
	CHECK(table_parse(&t, strdup("")));
	table_free(&t);
	CHECK(!table_parse(&t, strdup("a\n")));
	CHECK(t.nr_rows == 0);
	table_free(&t);
}

static void pairs(void)
{
	struct table t;

	CHECK(!pairs_parse(&t, strdup("TxPackets   12\nRxPackets 18446744073709551615\n")));
	CHECK(t.nr_rows == 2);
	CHECK(table_u64(&t, 1, "value") == UINT64_MAX);
	CHECK(!strcmp(table_get(&t, 0, "name"), "TxPackets"));
	table_free(&t);
}

static int same(const char *pattern, const char *text)
{
	struct addr p, a;

	return !addr_parse(&p, pattern, 1) && !addr_parse(&a, text, 0) && addr_matches(&p, &a);
}

static void addresses(void)
{
	CHECK(same("10.0.0.1", "10.0.0.1:7000"));
	CHECK(!same("10.0.0.1", "10.0.0.2:7000"));
	CHECK(same("10.0.0.1:7000", "10.0.0.1:7000"));
	CHECK(!same("10.0.0.1:7001", "10.0.0.1:7000"));
	CHECK(same("10.0.0.0/8", "10.200.0.1:7000"));
	CHECK(!same("10.0.0.0/8", "11.0.0.1:7000"));
	CHECK(same("10.0.0.0/9:7000", "10.127.0.1:7000"));
	CHECK(!same("10.0.0.0/9", "10.128.0.1:7000"));
	CHECK(same("*:7000", "[fd00::1]:7000"));
	CHECK(same(":7000", "[fd00::1]:7000"));
	CHECK(same("*", "[fd00::1]:7000"));
	CHECK(same("fd00::1", "[fd00::1]:7000"));
	CHECK(same("[fd00::1]:7000", "[fd00::1]:7000"));
	CHECK(same("[fd00::]/64:7000", "[fd00::1]:7000"));
	CHECK(same("fd00::/16", "[fd00:1::1]:7000"));
	CHECK(!same("fd01::/16", "[fd00:1::1]:7000"));
	/* A socket of IPv6 that talks to IPv4 */
	CHECK(same("10.0.0.0/8", "[::ffff:10.0.0.1]:7000"));
	CHECK(!same("10.0.0.0/8", "[fd00::1]:7000"));
}

static void no_addresses(void)
{
	static const char *const wrong[] = {
		"10.0.0", "10.0.0.1/33", "10.0.0.1:70000", "10.0.0.1:", "fd00::1/129",
		"[fd00::1", "host", "10.0.0.1:7a", "/8",
	};
	struct addr a;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(addr_parse(&a, wrong[i], 1));
	CHECK(addr_parse(&a, "10.0.0.1", 0));
}

static int takes(const struct table *t, size_t row, const char *words)
{
	char copy[100], *list[10], *save, *word;
	struct filter *f;
	int nr = 0, ret;

	strcpy(copy, words);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		list[nr++] = word;
	f = filter_parse(list, nr);
	ret = f ? filter_takes(f, t, row) : -1;
	filter_free(f);
	return ret;
}

static void filters(void)
{
	struct table t;

	CHECK(!table_parse(&t, strdup("local remote state uid\n"
				      "10.0.0.1:3000 10.0.0.2:7000 ESTABLISHED 1234\n"
				      "[::]:7000 [::]:0 LISTEN 0\n"
				      "10.0.0.1:3001 10.0.0.3:7000 INIT_SENT 12\n")));
	CHECK(takes(&t, 0, "") == 1);
	CHECK(takes(&t, 0, "state established") == 1);
	CHECK(takes(&t, 1, "state listening") == 1);
	CHECK(takes(&t, 2, "state init-sent") == 1);
	CHECK(takes(&t, 1, "state established") == 0);
	CHECK(takes(&t, 0, "dport = :7000 and dst 10.0.0.2") == 1);
	CHECK(takes(&t, 2, "dport 7000 dst 10.0.0.2") == 0);
	CHECK(takes(&t, 1, "sport 7000") == 1);
	CHECK(takes(&t, 0, "uid 1234") == 1);
	CHECK(takes(&t, 2, "uid 1234") == 0);
	CHECK(takes(&t, 0, "state waiting") == -1);
	CHECK(takes(&t, 0, "dport") == -1);
	CHECK(takes(&t, 0, "color red") == -1);
	CHECK(takes(&t, 0, "dst nowhere") == -1);
	table_free(&t);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* A connection came between the two reads, one has rails, one has not even a line */
static void whose_paths(void)
{
	char dir[] = "/tmp/dlcp-test-XXXXXX", command[100];
	struct source src = { .dir = dir };
	struct table conns;
	struct paths p;

	CHECK(mkdtemp(dir));
	write_file(dir, "conns", "local remote paths\n1.1.1.1:1 2.2.2.2:7 2\n0.0.0.0:7 0.0.0.0:0 0\n"
		   "1.1.1.1:3 2.2.2.2:7 1\n1.1.1.1:4 2.2.2.2:7 1\n");
	write_file(dir, "paths", "local remote path lost\n9.9.9.9:1 2.2.2.2:7 0 100\n"
		   "1.1.1.1:1 2.2.2.2:7 0 1\n1.2.1.1:1 2.3.2.2:7 1 2\n1.1.1.1:4 2.2.2.2:7 0 4\n");
	CHECK(!table_read(&conns, &src, "conns"));
	CHECK(!paths_read(&p, &src, &conns));
	CHECK(p.nr[0] == 2 && paths_sum(&p, 0, "lost") == 3);
	CHECK(p.nr[1] == 0);
	CHECK(p.nr[2] == 0);
	CHECK(p.nr[3] == 1 && paths_sum(&p, 3, "lost") == 4);
	paths_free(&p);
	table_free(&conns);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(!system(command));
}

/* Of several with the same addresses, and those that came or went meanwhile */
static void whose_paths_by_cookie(void)
{
	char dir[] = "/tmp/dlcp-test-XXXXXX", command[100];
	struct source src = { .dir = dir };
	struct table conns;
	struct paths p;

	CHECK(mkdtemp(dir));
	write_file(dir, "conns", "local remote paths cookie\n1.1.1.1:1 2.2.2.2:7 2 11\n"
		   "1.1.1.1:1 2.2.2.2:7 1 12\n1.1.1.1:1 2.2.2.2:7 1 13\n");
	write_file(dir, "paths", "local remote path lost cookie\n1.1.1.1:1 2.2.2.2:7 0 1 13\n"
		   "1.1.1.1:1 2.2.2.2:7 0 2 11\n1.2.1.1:1 2.3.2.2:7 1 4 11\n");
	CHECK(!table_read(&conns, &src, "conns"));
	CHECK(!paths_read(&p, &src, &conns));
	CHECK(p.nr[0] == 2 && paths_sum(&p, 0, "lost") == 6);
	CHECK(p.nr[1] == 0);
	CHECK(p.nr[2] == 1 && paths_sum(&p, 2, "lost") == 1);
	paths_free(&p);
	table_free(&conns);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(!system(command));
}

static int reads(const char *got, const char *want)
{
	if (strcmp(got, want))
		printf("# %s, not %s\n", got, want);
	return !strcmp(got, want);
}

static void numbers(void)
{
	char b[NUM_LEN];
	uint64_t n;

	CHECK(reads(say_number(b, 0), "0"));
	CHECK(reads(say_number(b, 999), "999"));
	CHECK(reads(say_number(b, 1000), "1.00k"));
	CHECK(reads(say_number(b, 999999), "1.00M"));
	CHECK(reads(say_number(b, 12345678), "12.3M"));
	CHECK(reads(say_number(b, 0.5), "0.50"));
	CHECK(reads(say_rate(b, 1.25e9), "10.0Gbps"));
	CHECK(reads(say_usecs(b, 999), "999us"));
	CHECK(reads(say_usecs(b, 1500), "1.50ms"));
	CHECK(reads(say_percent(b, 1, 1), "100%"));
	CHECK(reads(say_percent(b, 0, 0), "0%"));
	CHECK(reads(say_percent(b, 1, 200), "0.50%"));
	CHECK(parse_interval("0.5") == 500000000);
	CHECK(!parse_interval("nan") && !parse_interval("0") && !parse_interval("1s"));
	CHECK(!parse_u64("7", &n) && n == 7);
	CHECK(!parse_bytes("3K", &n) && n == 3072);
	CHECK(!parse_bytes("1G", &n) && n == 1 << 30);
	CHECK(parse_bytes("1T", &n) && parse_bytes("", &n) && parse_bytes("1KB", &n));
	CHECK(parse_bytes("17179869184G", &n) && parse_bytes("-1", &n));
	CHECK(parse_u64("-1", &n) && parse_u64("", &n) && parse_u64("7x", &n));
}

/* To one part in 32, and never more than the greatest */
static void times(void)
{
	static struct hist all, low, high;
	uint64_t i, q;

	for (i = 1; i <= 10000; i++)
		hist_add(i % 2 ? &low : &high, i * 1000);
	hist_merge(&all, &low);
	hist_merge(&all, &high);
	CHECK(all.nr == 10000 && all.min == 1000 && all.max == 10000000);
	CHECK(all.sum == 1000ULL * 10000 * 10001 / 2);
	for (i = 1; i < 100; i++) {
		q = hist_quantile(&all, (double)i / 100);
		CHECK(q >= i * 100000 && q <= i * 100000 * 33 / 32);
	}
	CHECK(hist_quantile(&all, 1) == 10000000);
	memset(&low, 0, sizeof(low));
	CHECK(hist_quantile(&low, 0.5) == 0);
	/* None is lost, however long */
	hist_add(&low, UINT64_MAX);
	CHECK(hist_quantile(&low, 0.5) == UINT64_MAX);
}

int main(void)
{
	int failed = RUN(table_by_names) | RUN(table_of_later) | RUN(table_too_short);

	failed |= RUN(pairs) | RUN(addresses) | RUN(no_addresses) | RUN(filters);
	failed |= RUN(whose_paths) | RUN(whose_paths_by_cookie) | RUN(numbers) | RUN(times);
	return failed;
}
