// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and sockets in the text form of Prometheus, for node_exporter's textfile collector.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#define NR(array)	(sizeof(array) / sizeof(*(array)))

int counter_is_named(const char *name, char **prefixes)
{
	if (!*prefixes)
		return 1;
	for (; *prefixes; prefixes++)
		if (!strncasecmp(name, *prefixes, strlen(*prefixes)))
			return 1;
	return 0;
}

int counters_check(const struct table *counters, char **prefixes)
{
	char *one[] = { NULL, NULL };
	size_t i;

	for (; *prefixes; prefixes++) {
		*one = *prefixes;
		for (i = 0; i < counters->nr_rows; i++)
			if (counter_is_named(table_get(counters, i, "name"), one))
				break;
		if (i == counters->nr_rows || !**prefixes)
			return say_error("no counter begins with \"%s\": `dlcp stat -a` lists them",
					 *prefixes);
	}
	return 0;
}

static const char *text_of(const char *name)
{
	const struct counter_text *t;

	for (t = counter_texts; t->name; t++)
		if (!strcmp(t->name, name))
			return t->text;
	return "a counter of /proc/net/dlcp/snmp";
}

/* "dlcp_tx_packets_total" of "TxPackets", "dlcp_tx_sent_bytes_total" of "TxBytesSent":
 * Prometheus has units at the end
 */
static void metric_name(char *buf, size_t size, const char *name)
{
	const char *unit = strstr(name, "Bytes"), *c;
	size_t at = (size_t)snprintf(buf, size, "dlcp");

	for (c = name; *c && at + 20 < size; c++) {
		if (c == unit)
			c += strlen("Bytes");
		if (isupper((unsigned char)*c))
			buf[at++] = '_';
		buf[at++] = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c) : '_');
	}
	snprintf(buf + at, size - at, "%s_total", unit ? "_bytes" : "");
}

static int write_counters(const struct source *src, char **prefixes)
{
	struct table t = { 0 };
	int err = pairs_read(&t, src, "snmp");
	char metric[100];
	const char *name;
	size_t i;

	if (!err)
		err = counters_check(&t, prefixes);
	for (i = 0; !err && i < t.nr_rows; i++) {
		name = table_get(&t, i, "name");
		if (!counter_is_named(name, prefixes))
			continue;
		metric_name(metric, sizeof(metric), name);
		printf("# HELP %s %s: %s\n# TYPE %s counter\n%s %s\n", metric, name, text_of(name),
		       metric, metric, table_get(&t, i, "value"));
	}
	table_free(&t);
	return err;
}

static void begin_gauge(const char *name, const char *help)
{
	printf("# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* How many rows have each of these words in a column */
static void write_states(const struct table *t, const char *column, const char *metric,
			 const char *const *states, size_t nr_states)
{
	char state[20];
	size_t i, j, n;

	for (i = 0; i < nr_states; i++) {
		for (j = 0, n = 0; j < t->nr_rows; j++)
			n += !strcmp(table_get(t, j, column), states[i]);
		printf("%s{state=\"%s\"} %zu\n", metric, lower(states[i], state, sizeof(state)), n);
	}
}

/* A listener's queues are of connections */
static void write_sums(const struct table *conns)
{
	static const struct {
		const char *column;
		const char *metric;
		const char *help;
	} sums[] = {
		{ "wqueue", "dlcp_send_queue_bytes", "Send buffers of connections" },
		{ "rqueue", "dlcp_receive_queue_bytes", "Receive buffers of connections" },
		{ "inflight", "dlcp_inflight_bytes", "Sent, and neither acknowledged nor lost" },
	};
	uint64_t sum, rtt, most = 0;
	size_t i, j;

	for (i = 0; i < NR(sums); i++) {
		for (j = 0, sum = 0; j < conns->nr_rows; j++)
			if (strcmp(table_get(conns, j, "state"), "LISTEN"))
				sum += table_u64(conns, j, sums[i].column);
		begin_gauge(sums[i].metric, sums[i].help);
		printf("%s %llu\n", sums[i].metric, (unsigned long long)sum);
	}
	for (j = 0; j < conns->nr_rows; j++) {
		rtt = table_u64(conns, j, "srtt_us");
		most = rtt > most ? rtt : most;
	}
	begin_gauge("dlcp_longest_rtt_seconds", "Greatest smoothed round trip of a connection");
	printf("dlcp_longest_rtt_seconds %g\n", (double)most / 1e6);
}

static int write_sockets(const struct source *src)
{
	static const char *const states[] = {
		"CLOSED", "LISTEN", "INIT_SENT", "ECHO_SENT", "ESTABLISHED", "CLOSING",
	};
	static const char *const path_states[] = { "works", "asked", "failed" };
	struct table conns, paths;
	int err = table_read(&conns, src, "conns");

	if (err)
		return err;
	begin_gauge("dlcp_sockets", "Sockets by state");
	write_states(&conns, "state", "dlcp_sockets", states, NR(states));
	write_sums(&conns);
	table_free(&conns);
	err = table_read(&paths, src, "paths");
	if (err)
		return err;
	begin_gauge("dlcp_paths", "Paths of connections by state");
	write_states(&paths, "state", "dlcp_paths", path_states, NR(path_states));
	table_free(&paths);
	return 0;
}

static int write_all(const struct source *src, char **prefixes)
{
	int err = write_counters(src, prefixes);
	char version[40];

	if (!err)
		err = write_sockets(src);
	if (!err && !src->dir && !module_version(version, sizeof(version))) {
		begin_gauge("dlcp_info", "Version of the module");
		printf("dlcp_info{version=\"%s\"} 1\n", version);
	}
	return err;
}

/* What the standard output gets is in the file, whose readers see all of it or none */
static int write_file(const struct source *src, const char *file, char **prefixes)
{
	char name[WORD_MAX];
	struct stat st;
	int fd, err;

	if (snprintf(name, sizeof(name), "%s.XXXXXX", file) >= (int)sizeof(name))
		return say_error("the name of %zu characters is too long: choose a shorter one",
				 strlen(file));
	/* A device, which a file would take the place of */
	if (!stat(file, &st) && !S_ISREG(st.st_mode))
		return say_error("%s is no regular file, which -o replaces: leave -o out for the standard output",
				 file);
	fd = mkstemp(name);
	if (fd < 0)
		return say_error("cannot write beside %s: %s: make its folder, or run it as a user that may write there",
				 file, strerror(errno));
	fflush(stdout);
	if (dup2(fd, STDOUT_FILENO) < 0)
		err = say_error("%s: %s", name, strerror(errno));
	else
		err = write_all(src, prefixes);
	/* node_exporter has a user of its own */
	if (!err && (fflush(stdout) || ferror(stdout) || fchmod(fd, 0644) || rename(name, file)))
		err = say_error("%s: %s: is there room on its file system?", file, strerror(errno));
	close(fd);
	if (err)
		unlink(name);
	return err;
}

int prometheus_write(const struct source *src, const char *file, char **prefixes)
{
	return file ? write_file(src, file, prefixes) : write_all(src, prefixes);
}
