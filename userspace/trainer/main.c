// SPDX-License-Identifier: GPL-2.0
/* dlcp-train: distributed training over DLCP or TCP */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "data.h"
#include "train.h"

static const char usage_text[] =
"usage: dlcp-train server [options]\n"
"       dlcp-train worker --host HOST [options]\n"
"\n"
"Train a small network on Fashion-MNIST: one server, some workers, each step\n"
"one message per layer and worker in both directions. The server prints its\n"
"progress as JSON lines and tells the workers all they need to know.\n"
"\n"
"both:\n"
"  --transport dlcp|tcp   (default dlcp)\n"
"  --port PORT            (default 7070)\n"
"  --data DIR             (default /usr/share/datasets/fashion-mnist)\n"
"worker:\n"
"  --host HOST            the server's name or address\n"
"server:\n"
"  --workers N            wait for this many (default 8)\n"
"  --images N             of the training set (default 40960)\n"
"  --batch N              images of one worker in one step (default 64)\n"
"  --epochs N             (default 2)\n"
"  --rate R               highest learning rate (default 0.1)\n"
"  --seed N               (default 1)\n"
"  --loss P               loss bound of gradients, 0..1 (default 0.1)\n"
"  --droppable Q          share of a gradient to drop first (default 0.5)\n"
"  --correct average|feedback|none\n"
"                         what is done about lost gradients: divide by what\n"
"                         arrived (default), send them with the next step's,\n"
"                         or nothing\n"
"  --compute-us N         let each step's computation take so long (default 0:\n"
"                         as long as it takes)\n"
"  --slice N              bytes of a message at most; longer layers are cut (default\n"
"                         0: a message per layer)\n"
"  --eval-every N         steps between two tests (default 10)\n"
"  --eval-images N        images of a test but the last (default 2000)\n"
"  --test-images N        images of the last test (default 10000)\n"
"  --out FILE             results there, not on stdout\n";

enum {
	OPT_TRANSPORT, OPT_PORT, OPT_DATA, OPT_HOST, OPT_WORKERS, OPT_IMAGES,
	OPT_BATCH, OPT_EPOCHS, OPT_RATE, OPT_SEED, OPT_LOSS, OPT_DROPPABLE,
	OPT_CORRECT, OPT_COMPUTE, OPT_SLICE, OPT_EVERY, OPT_EVAL, OPT_TEST, OPT_OUT, OPT_HELP,
};

static const struct option long_options[] = {
	{ "transport",	1, NULL, OPT_TRANSPORT },
	{ "port",	1, NULL, OPT_PORT },
	{ "data",	1, NULL, OPT_DATA },
	{ "host",	1, NULL, OPT_HOST },
	{ "workers",	1, NULL, OPT_WORKERS },
	{ "images",	1, NULL, OPT_IMAGES },
	{ "batch",	1, NULL, OPT_BATCH },
	{ "epochs",	1, NULL, OPT_EPOCHS },
	{ "rate",	1, NULL, OPT_RATE },
	{ "seed",	1, NULL, OPT_SEED },
	{ "loss",	1, NULL, OPT_LOSS },
	{ "droppable",	1, NULL, OPT_DROPPABLE },
	{ "correct",	1, NULL, OPT_CORRECT },
	{ "compute-us",	1, NULL, OPT_COMPUTE },
	{ "slice",	1, NULL, OPT_SLICE },
	{ "eval-every",	1, NULL, OPT_EVERY },
	{ "eval-images", 1, NULL, OPT_EVAL },
	{ "test-images", 1, NULL, OPT_TEST },
	{ "out",	1, NULL, OPT_OUT },
	{ "help",	0, NULL, OPT_HELP },
	{ 0 },
};

static double number(const char *text, double min, double max)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !(x >= min && x <= max))
		die(2, "%s is no number of %g to %g: see --help", text, min, max);
	return x;
}

static uint32_t count(const char *text, double max)
{
	return (uint32_t)number(text, 1, max);
}

/* A port that a worker can connect to. getaddrinfo() takes numbers modulo 65536 */
static const char *port_of(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	long port = digits && digits < 6 && !text[digits] ? atol(text) : 0;

	if (port < 1 || port > 65535)
		die(2, "'%s' is no port: a number of 1 to 65535", text);
	return text;
}

static enum correct correction(const char *text)
{
	if (!strcmp(text, "none"))
		return CORRECT_NONE;
	if (!strcmp(text, "average"))
		return CORRECT_AVERAGE;
	if (!strcmp(text, "feedback"))
		return CORRECT_FEEDBACK;
	die(2, "%s is no correction: average, feedback or none", text);
}

/* Return 0 if it is none of the options that both roles have */
static int common_option(struct options *opt, int c)
{
	switch (c) {
	case OPT_TRANSPORT:
		opt->net = net_find(optarg);
		if (!opt->net)
			die(2, "%s is no transport: dlcp or tcp", optarg);
		return 1;
	case OPT_PORT:
		opt->port = port_of(optarg);
		return 1;
	case OPT_DATA:
		opt->data = optarg;
		return 1;
	case OPT_HOST:
		opt->host = optarg;
		return 1;
	case OPT_OUT:
		opt->out = optarg;
		return 1;
	case OPT_HELP:
		fputs(usage_text, stdout);
		exit(0);
	}
	return 0;
}

static void server_option(struct options *opt, int c)
{
	struct config *config = &opt->config;

	switch (c) {
	case OPT_WORKERS:
		config->workers = count(optarg, MAX_WORKERS);
		break;
	case OPT_IMAGES:
		config->images = count(optarg, 60000);
		break;
	case OPT_BATCH:
		config->batch = count(optarg, 10000);
		break;
	case OPT_EPOCHS:
		config->epochs = count(optarg, 1000);
		break;
	case OPT_RATE:
		opt->rate = number(optarg, 0, 100);
		break;
	case OPT_SEED:
		config->seed = (uint64_t)number(optarg, 0, 1e15);
		break;
	case OPT_LOSS:
		config->loss = number(optarg, 0, 1);
		break;
	case OPT_DROPPABLE:
		config->droppable = number(optarg, 0, 1);
		break;
	case OPT_CORRECT:
		config->correct = correction(optarg);
		break;
	case OPT_COMPUTE:
		config->compute_us = (uint32_t)number(optarg, 0, 1e8);
		break;
	case OPT_SLICE:
		config->slice = (uint32_t)number(optarg, 0, 1e9);
		break;
	case OPT_EVERY:
		opt->eval_every = count(optarg, 1e6);
		break;
	case OPT_EVAL:
		opt->eval_images = count(optarg, 10000);
		break;
	case OPT_TEST:
		opt->test_images = count(optarg, 10000);
		break;
	}
}

/* Which role, of which there is one; and what it needs */
static int is_server(const struct options *opt, char **words)
{
	const struct config *c = &opt->config;
	int server = *words && !strcmp(*words, "server");

	if (!*words || words[1] || (!server && strcmp(*words, "worker")))
		die(2, "one role: server or worker; see --help");
	if (server && !total_steps(c))
		die(2, "a step takes --workers %u times --batch %u images, and there are --images %u: lower one of those, or raise this",
		    c->workers, c->batch, c->images);
	if (!server && (!opt->host || !*opt->host))
		die(2, "a worker needs --host, the server's name or address");
	return server;
}

int main(int argc, char **argv)
{
	struct options opt = {
		.net = &net_dlcp,
		.config = {
			.workers = 8, .images = 40960, .batch = 64,
			.epochs = 2, .seed = 1, .loss = 0.1, .droppable = 0.5,
			.correct = CORRECT_AVERAGE,
		},
		.port = "7070",
		.data = "/usr/share/datasets/fashion-mnist",
		.eval_every = 10,
		.eval_images = 2000,
		.test_images = 10000,
		.rate = 0.1,
	};
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == '?')
			return 2;
		if (!common_option(&opt, c))
			server_option(&opt, c);
	}
	if (opt.eval_images > opt.test_images)
		opt.eval_images = opt.test_images;
	/* sleeps are to be exact to the microsecond */
	prctl(PR_SET_TIMERSLACK, 1UL);
	return is_server(&opt, argv + optind) ? server_main(&opt) : worker_main(&opt);
}
