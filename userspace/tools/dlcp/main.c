// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp: subcommands.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* Its file is left out where there is no ncurses */
__attribute__((weak)) int cmd_top(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return say_error("this dlcp was built without ncurses, which top needs: install libncurses-dev and build it again, or take `dlcp show -w 1`");
}

/* Its file is left out where there is no libmnl */
__attribute__((weak)) int cmd_kill(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return say_error("this dlcp was built without libmnl, which kill needs: install libmnl-dev and build it again");
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *text;
} commands[] = {
	{ "check", cmd_check, "what is wrong with this node, or on the way to another one" },
	{ "coll-perf", cmd_coll_perf, "how long collectives take among all ranks" },
	{ "kill", cmd_kill, "end listeners and connections" },
	{ "perf", cmd_perf, "how fast messages go to a host, over DLCP or TCP" },
	{ "ping", cmd_ping, "whether a host answers DLCP" },
	{ "show", cmd_show, "listeners, connections and paths" },
	{ "stat", cmd_stat, "counters" },
	{ "top", cmd_top, "connections by rate, on the whole screen" },
	{ "trace", cmd_trace, "where the time of each message went" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(*commands))

static int usage(FILE *f)
{
	size_t i;

	fputs("usage: dlcp COMMAND [OPTION...]\n\n", f);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(f, "  %-10s%s\n", commands[i].name, commands[i].text);
	fputs("\n`dlcp COMMAND --help` has the options, `man 8 dlcp` and `man dlcp-perf` more.\n", f);
	return f == stdout ? 0 : DLCP_USAGE;
}

/* Return: an exit status */
static int run(int argc, char **argv)
{
	char version[40];
	size_t i;
	int word;

	if (argc < 2)
		return usage(stderr);
	for (word = 1; word < argc; word++)
		if (strlen(argv[word]) >= WORD_MAX)
			return say_usage("word %d of the command line has %zu characters: %d at most",
					 word, strlen(argv[word]), WORD_MAX - 1);
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return usage(stdout);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		if (module_version(version, sizeof(version)))
			strcpy(version, "not loaded");
		printf("dlcp %s, module %s\n", tool_version, *version ? version : "loaded");
		return 0;
	}
	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return say_usage("there is no command %s: `dlcp help` lists them", argv[1]);
}

/* Where the caller closed 0, 1 or 2, a file or socket of ours would have that number, and get what is
 * printed. What stands there now fails as a closed one does.
 */
static void keep_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Nobody is told that all went well who has not got all of it */
int main(int argc, char **argv)
{
	int status;

	keep_standard_files();
	status = run(argc, argv);

	/* One line: the first fault is the cause */
	if ((fflush(stdout) || ferror(stdout)) && (!status || !*say_last()))
		status = say_error("the output is not complete: is the file system full, or its reader gone?");
	return status;
}
