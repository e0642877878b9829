// SPDX-License-Identifier: GPL-2.0
/*
 * Errors, numbers as people read them, and intervals.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool.h"

#define NSEC	1000000000ULL

/* Longer than any message: main() lets no longer words in, and none stands there more than thrice */
static char last[4 * WORD_MAX];

static void say(const char *format, va_list args)
{
	char *c;

	vsnprintf(last, sizeof(last), format, args);
	/* One line, and nothing that a terminal obeys, whatever the user typed */
	for (c = last; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	fflush(stdout);
	fprintf(stderr, "dlcp: %s\n", last);
}

const char *say_last(void)
{
	return last;
}

int say_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return DLCP_FAILED;
}

int say_no_memory(void)
{
	return say_error("no memory: end other programs, or raise memory.max of the cgroup");
}

int say_usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	fputs("Try `dlcp help`, or `man 8 dlcp`.\n", stderr);
	return DLCP_USAGE;
}

int say_help(int c, const char *help)
{
	if (c != 'h')
		return DLCP_USAGE;
	fputs(help, stdout);
	return -1;
}

static const char *name_of(int c, const struct option *options)
{
	while (options->name && options->val != c)
		options++;
	return options->name ? options->name : "";
}

int next_option(int argc, char **argv, const char *letters, const struct option *options)
{
	const char *word;
	int c;

	opterr = 0;
	c = getopt_long(argc, argv, letters, options, NULL);
	if (c == '?') {
		word = argv[optind - 1];
		if (optopt && strncmp(word, "--", 2))
			say_usage("-%c is no option: `dlcp %s --help` lists them", optopt, *argv);
		else if (optopt)
			say_usage("option --%s takes no value", name_of(optopt, options));
		else
			say_usage("%s is no option, or several begin so: `dlcp %s --help` lists them",
				  word, *argv);
	} else if (c == ':' || (c != -1 && optarg && !*optarg)) {
		say_usage("option --%s has no value: `dlcp %s --help` says which",
			  name_of(c == ':' ? optopt : c, options), *argv);
		c = '?';
	}
	return c;
}

static const char *scaled(char buf[NUM_LEN], double value, const char *unit)
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
	size_t i = 0;
	int digits;

	for (; value >= 999.5 && i + 1 < sizeof(prefixes) / sizeof(*prefixes); i++)
		value /= 1000;
	digits = value >= 99.95 || (!i && value == (double)(uint64_t)value) ? 0 :
		 value >= 9.995 ? 1 : 2;
	snprintf(buf, NUM_LEN, "%.*f%s%s", digits, value, prefixes[i], unit);
	return buf;
}

const char *say_number(char buf[NUM_LEN], double value)
{
	return scaled(buf, value, "");
}

const char *say_rate(char buf[NUM_LEN], double bytes)
{
	return scaled(buf, 8 * bytes, "bps");
}

const char *say_usecs(char buf[NUM_LEN], uint64_t us)
{
	if (us < 1000)
		snprintf(buf, NUM_LEN, "%" PRIu64 "us", us);
	else if (us < 1000000)
		snprintf(buf, NUM_LEN, "%.2fms", (double)us / 1000);
	else
		snprintf(buf, NUM_LEN, "%.2fs", (double)us / 1000000);
	return buf;
}

const char *say_percent(char buf[NUM_LEN], uint64_t part, uint64_t whole)
{
	double percent = whole ? 100. * (double)part / (double)whole : 0;

	snprintf(buf, NUM_LEN, "%.*f%%", !part || percent >= 10 ? 0 : percent >= 1 ? 1 : 2,
		 percent);
	return buf;
}

/* As strtod(), which also knows blanks, signs, words and hexadecimal */
static double parse_decimal(const char *text, char **end)
{
	*end = (char *)text;
	if ((!isdigit((unsigned char)*text) && *text != '.') || strpbrk(text, "xX"))
		return 0;
	return strtod(text, end);
}

uint64_t parse_interval(const char *text)
{
	char *end;
	double secs = parse_decimal(text, &end);

	/* Not-a-number is no interval either */
	if (end == text || *end || !(secs >= 0.001 && secs <= 1e6))
		return 0;
	return (uint64_t)(secs * (double)NSEC);
}

int parse_u64(const char *text, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return *end || errno ? -1 : 0;
}

int parse_number(const char *text, uint64_t least, uint64_t most, const char *what,
		 uint64_t *value)
{
	if (!parse_u64(text, value) && *value >= least && *value <= most)
		return 0;
	return say_usage("%s is no %s: %llu to %llu", text, what, (unsigned long long)least,
			 (unsigned long long)most);
}

int parse_share(const char *text, uint64_t *ppm)
{
	char *end;
	double share = parse_decimal(text, &end);

	if (end != text && !strcmp(end, "%"))
		share /= 100;
	else if (end == text || *end)
		return -1;
	if (!(share >= 0 && share <= 1))
		return -1;
	*ppm = (uint64_t)(share * 1e6 + 0.5);
	return 0;
}

double parse_rate(const char *text)
{
	static const char units[] = "kMGT";
	const char *unit;
	char *end;
	double rate = parse_decimal(text, &end);

	unit = end != text && *end ? strchr(units, *end) : NULL;
	if (unit) {
		rate *= pow(1000, (double)(unit - units + 1));
		end++;
	}
	return end == text || *end || !(rate > 0 && rate < 1e18) ? 0 : rate;
}

int parse_bytes(const char *text, uint64_t *bytes)
{
	static const char units[] = "kKmMgG";
	const char *unit;
	char *end;
	int shift;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*bytes = strtoull(text, &end, 10);
	if (errno)
		return -1;
	if (!*end)
		return 0;
	unit = strchr(units, *end);
	if (!unit || end[1])
		return -1;
	shift = 10 * (int)((unit - units) / 2 + 1);
	if (*bytes > UINT64_MAX >> shift)
		return -1;
	*bytes <<= shift;
	return 0;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC + (uint64_t)ts.tv_nsec;
}

void wait_until(uint64_t *next, uint64_t interval)
{
	struct timespec ts;
	uint64_t now = now_ns();

	if (*next + interval < now)
		*next = now;
	*next += interval;
	ts.tv_sec = (time_t)(*next / NSEC);
	ts.tv_nsec = (long)(*next % NSEC);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}
