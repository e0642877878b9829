/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page.c: a page of plots and tables.
 */
#ifndef TOOLS_DLCP_PAGE_H
#define TOOLS_DLCP_PAGE_H

#include <stdio.h>

#include "tool.h"

/* What is written goes there; NULL: none was begun */
extern FILE *page;

/* Return: 0, or an exit status after an error message */
int page_begin(const char *name, const char *title);
void page_text(const char *s);
/* The settings, with the words of the command line; nothing if none was begun. Return: likewise */
int page_end(char **words);

/* A plot: lines between points of 0 to 1, right and up. Marks of its axes, in order or not */
void plot_begin(const char *what);
void plot_x(double x, const char *value);
void plot_y(double y, const char *value);
/* The first or second of a plot */
void plot_line_begin(int line);
void plot_line_point(double x, double y);
void plot_line_end(int line, const char *name);
/* @right: what is on the axis below */
void plot_end(const char *right);

#endif
