// SPDX-License-Identifier: GPL-2.0
/*
 * A page of its own: plots, tables and the settings in one HTML file that asks for nothing from
 * elsewhere.
 */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "commit.h"
#include "page.h"

/* Of a plot, with room for what stands beside it */
#define WIDTH	640
#define HEIGHT	240
#define LEFT	80
#define TOP	20
#define BELOW	50

static const char head[] =
"<!DOCTYPE html>\n"
"<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>%s</title>\n"
"<style>body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222 }\n"
"table { border-collapse: collapse; margin: 1em 0 } td, th { padding: .2em .7em; border-bottom: 1px solid #ccc }\n"
"td + td, th + th { text-align: right } figure { margin: 1em 0 } svg { max-width: 100%%; height: auto }\n"
".wide { overflow-x: auto }</style></head><body>\n<h1>%s</h1>\n";

static const char *const colours[] = { "#1f6fb4", "#d2601a" };

FILE *page;
static const char *page_name;

int page_begin(const char *name, const char *title)
{
	page = fopen(name, "we");
	page_name = name;
	if (!page)
		return say_error("%s: %s: choose another file", name, strerror(errno));
	fprintf(page, head, title, title);
	return 0;
}

void page_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", page);
		else if (*s == '&')
			fputs("&amp;", page);
		else
			putc(*s, page);
	}
}

void plot_begin(const char *what)
{
	fprintf(page, "<figure><figcaption>%s</figcaption>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" font-size=\"12\">\n"
		"<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#888\"/>\n", what,
		LEFT + WIDTH + 40, TOP + HEIGHT + BELOW, LEFT + WIDTH + 40, TOP + HEIGHT + BELOW,
		LEFT, TOP, TOP + HEIGHT, LEFT + WIDTH);
}

void plot_end(const char *right)
{
	fprintf(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n</svg></figure>\n",
		LEFT + WIDTH / 2, TOP + HEIGHT + BELOW - 8, right);
}

void plot_x(double x, const char *value)
{
	fprintf(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		LEFT + x * WIDTH, TOP + HEIGHT + 18, value);
}

void plot_y(double y, const char *value)
{
	fprintf(page, "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
		LEFT, TOP + HEIGHT * (1 - y), WIDTH, LEFT - 6, TOP + HEIGHT * (1 - y) + 4, value);
}

void plot_line_begin(int d)
{
	fprintf(page, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colours[d]);
}

void plot_line_point(double x, double y)
{
	fprintf(page, "%.1f,%.1f ", LEFT + x * WIDTH, TOP + HEIGHT * (1 - y));
}

void plot_line_end(int d, const char *name)
{
	fprintf(page, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", LEFT + 10 + 40 * d,
		TOP - 6, colours[d], name);
}

static void fact(const char *name, const char *value)
{
	fprintf(page, "<tr><td>%s</td><td>", name);
	page_text(value);
	fputs("</td></tr>\n", page);
}

int page_end(char **words)
{
	char line[1000] = "", version[40] = "not loaded", date[40];
	struct utsname uts = { 0 };
	time_t now = time(NULL);
	size_t len = 0;
	int failed;

	if (!page)
		return 0;
	for (; *words && len < sizeof(line); words++)
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s", len ? " " : "dlcp ", *words);
	uname(&uts);
	module_version(version, sizeof(version));
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
	fputs("<h2>Settings</h2>\n<table>\n<tr><th>setting</th><th>value</th></tr>\n", page);
	fact("command", line);
	fact("dlcp", tool_version);
	fact("commit", *TOOL_COMMIT ? TOOL_COMMIT : "not known: it was built outside git");
	fact("module", version);
	fact("kernel", uts.release);
	fact("host", uts.nodename);
	fact("date", date);
	fputs("</table>\n</body></html>\n", page);
	failed = fclose(page);
	page = NULL;
	if (failed)
		return say_error("%s: %s: is the file system full?", page_name, strerror(errno));
	return 0;
}
