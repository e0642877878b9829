// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp kill: end sockets, as ss -K does.
 */
#include <getopt.h>
#include <stdio.h>

#include "tool.h"

static const char help[] =
"usage: dlcp kill [-n] [-N NETNS] FILTER...\n"
"       dlcp kill [-n] [-N NETNS] --all\n"
"\n"
"  -a, --all         all of them\n"
"  -n, --dry-run     say which, and end none\n"
"  -N, --net NAME    in that network namespace (ip netns)\n"
"\n"
"FILTER: state NAME | src ADDR[/LEN][:PORT] | dst ... | sport PORT | dport PORT | uid N.\n"
"All of them have to hold.\n";

static void say_socket(const struct table *t, size_t row)
{
	printf("%s %s %s uid %s\n", table_get(t, row, "state"), table_get(t, row, "local"),
	       table_get(t, row, "remote"), table_get(t, row, "uid"));
}

/* Return: an exit status */
static int end_sockets(const struct source *src, const struct filter *filter, int dry_run)
{
	struct diag *d = NULL;
	struct table t;
	size_t row, nr = 0;
	int err, done = 1;

	err = table_read(&t, src, "conns");
	if (err)
		return err;
	if (!dry_run)
		d = diag_open();
	for (row = 0; (d || dry_run) && row < t.nr_rows && done >= 0; row++) {
		if (!filter_takes(filter, &t, row))
			continue;
		if (!dry_run)
			done = diag_destroy(d, table_u64(&t, row, "cookie"));
		if (done <= 0)
			continue;
		say_socket(&t, row);
		nr++;
	}
	if ((d || dry_run) && done >= 0)
		printf("%zu socket%s %sended\n", nr, nr == 1 ? "" : "s", dry_run ? "would be " : "");
	err = (d || dry_run) && done >= 0 ? 0 : DLCP_FAILED;
	diag_close(d);
	table_free(&t);
	return err;
}

int cmd_kill(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", 0, NULL, 'a' }, { "dry-run", 0, NULL, 'n' }, { "net", 1, NULL, 'N' },
		{ "help", 0, NULL, 'h' }, { 0 },
	};
	int c, err, all = 0, dry_run = 0;
	struct source src = { 0 };
	struct filter *filter;

	while ((c = next_option(argc, argv, ":anN:h", options)) != -1) {
		switch (c) {
		case 'a': all = 1; break;
		case 'n': dry_run = 1; break;
		case 'N': src.netns = optarg; break;
		default:
			err = say_help(c, help);
			return err < 0 ? 0 : err;
		}
	}
	if (all != (optind == argc))
		return say_usage(all ? "--all and a filter do not go together" :
				       "which sockets? Give a filter, or --all");
	filter = filter_parse(argv + optind, argc - optind);
	if (!filter)
		return DLCP_USAGE;
	err = source_enter(&src);
	if (!err)
		err = end_sockets(&src, filter, dry_run);
	filter_free(filter);
	return err;
}
