// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp coll-perf: how long do collectives take? Run once for each rank.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_perf.h"
#include "page.h"

/**
 * struct coll_options - the command line
 * @src: network namespace
 * @json: as JSON
 * @least: bytes of the first size
 * @most: of the last one
 * @factor: from one size to the next
 * @rounds: that are timed
 * @warmup: rounds before them
 * @rate: bits per second of a link; 0: not known
 * @html: a file for a page, or NULL
 * @run: the rest
 * @group: likewise
 */
struct coll_options {
	struct source			src;
	int				json;
	uint64_t			least;
	uint64_t			most;
	uint64_t			factor;
	uint64_t			rounds;
	uint64_t			warmup;
	double				rate;
	const char			*html;
	struct coll_run			run;
	struct dlcp_coll_options	group;
};

static const char help[] =
"usage: dlcp coll-perf [OPTION...] [OPERATION]\n"
"\n"
"Times a collective among all ranks, each of which runs this; rank 0 prints.\n"
"OPERATION: all_reduce, reduce_scatter, all_gather, broadcast, reduce or alltoall (all_reduce)\n"
"\n"
"      --rank N          this one's (RANK)\n"
"      --world N         how many there are, at most 1024 (WORLD_SIZE)\n"
"      --master HOST     where rank 0 is (MASTER_ADDR)\n"
"  -p, --port PORT       DLCP port there (MASTER_PORT)\n"
"  -b, --minbytes N      first size (4M); K, M and G are units of 1024\n"
"  -e, --maxbytes N      last size (the first)\n"
"  -f, --stepfactor N    from one to the next (2)\n"
"  -n, --iters N         rounds (20)\n"
"  -w, --warmup-iters N  rounds before them (5)\n"
"      --rate RATE       of a link, in bits per second, for the ideal time: 10G\n"
"  -j, --json            JSON, an object on a line for each size\n"
"      --html FILE       all of it as a page, with plots and settings: rank 0 writes it\n"
"  -N, --net NAME        in that network namespace (ip netns)\n"
"  -W, --timeout SECS    of the group and of each operation (30)\n"
"all_reduce and reduce_scatter:\n"
"      --algo NAME       auto, ring, transpose, server (auto)\n"
"      --loss SHARE      bound of the reducing half: 0.01, 1% (0)\n"
"      --loss2 SHARE     of the distributing half; --resync N: but every N rounds 0\n"
"      --correct NAME    feedback, average, nothing (feedback)\n"
"      --droppable SHARE, --critical SHARE\n"
"      --servers N, --dedicated  ranks that serve (1)\n"
"      --same            all ranks have the same input\n"
"      --thc             averages of the same input, in 4 bits\n"
"      --chunk BYTES     longest message (1M)\n"
"Fails if a result is wrong that has to be right.\n";

enum {
	RANK = 256, WORLD, MASTER, RATE, ALGO, LOSS, LOSS2, RESYNC, CORRECT, DROPPABLE, CRITICAL,
	SERVERS, DEDICATED, SAME, THC, CHUNK, HTML,
};

static const struct option known[] = {
	{ "rank", 1, NULL, RANK }, { "world", 1, NULL, WORLD }, { "master", 1, NULL, MASTER },
	{ "port", 1, NULL, 'p' }, { "minbytes", 1, NULL, 'b' }, { "maxbytes", 1, NULL, 'e' },
	{ "stepfactor", 1, NULL, 'f' }, { "iters", 1, NULL, 'n' },
	{ "warmup-iters", 1, NULL, 'w' }, { "rate", 1, NULL, RATE }, { "json", 0, NULL, 'j' },
	{ "net", 1, NULL, 'N' }, { "timeout", 1, NULL, 'W' }, { "algo", 1, NULL, ALGO },
	{ "loss", 1, NULL, LOSS }, { "loss2", 1, NULL, LOSS2 }, { "resync", 1, NULL, RESYNC },
	{ "correct", 1, NULL, CORRECT }, { "droppable", 1, NULL, DROPPABLE },
	{ "critical", 1, NULL, CRITICAL }, { "servers", 1, NULL, SERVERS },
	{ "dedicated", 0, NULL, DEDICATED }, { "same", 0, NULL, SAME }, { "thc", 0, NULL, THC },
	{ "chunk", 1, NULL, CHUNK }, { "html", 1, NULL, HTML }, { "help", 0, NULL, 'h' }, { 0 },
};

static int choose(const char *what, const char *(*name)(int), uint8_t *choice)
{
	int i;

	for (i = 0; name(i); i++) {
		if (!strcmp(optarg, name(i))) {
			*choice = (uint8_t)i;
			return 0;
		}
	}
	return say_usage("%s is no %s: `dlcp coll-perf --help` lists them", optarg, what);
}

static int parse_int(const char *what, uint64_t least, uint64_t most, int *value)
{
	uint64_t n;
	int err = parse_number(optarg, least, most, what, &n);

	*value = (int)n;
	return err;
}

static int parse_ppm(uint32_t *ppm)
{
	uint64_t n;

	if (parse_share(optarg, &n))
		return say_usage("%s is no share of 0 to 1, or of 0%% to 100%%", optarg);
	*ppm = (uint32_t)n;
	return 0;
}

static int parse_float(float *share)
{
	uint32_t ppm = 0;
	int err = parse_ppm(&ppm);

	*share = (float)ppm / 1e6f;
	return err;
}

static int parse_size(uint64_t *bytes)
{
	return parse_bytes(optarg, bytes) || *bytes < 4 ?
	       say_usage("%s is no size: 4 bytes at least, as 64, 16K, 8M or 1G", optarg) : 0;
}

static int parse_rate_option(double *rate)
{
	*rate = parse_rate(optarg);
	return *rate > 0 ? 0 : say_usage("%s is no rate: bits per second, as 10G", optarg);
}

static int parse_timeout(int *ms)
{
	uint64_t ns = parse_interval(optarg);

	*ms = (int)(ns / 1000000);
	return ns && ns / 1000000 < 1 << 30 ? 0 : say_usage("%s is no time in seconds", optarg);
}

/* Those of an operation with bounds */
static int parse_bounded(struct coll_options *o, int c)
{
	struct dlcp_coll_args *args = &o->run.args;
	uint64_t n;
	int err;

	switch (c) {
	case ALGO: return choose("algorithm", dlcp_coll_algo_name, &args->algo);
	case LOSS: return parse_ppm(&args->loss_ppm);
	case LOSS2: return parse_ppm(&args->loss2_ppm);
	case RESYNC:
		err = parse_number(optarg, 0, UINT32_MAX, "number of rounds", &n);
		args->resync_every = (uint32_t)n;
		return err;
	case CORRECT: return choose("correction", dlcp_coll_correct_name, &args->correct);
	case DROPPABLE: return parse_float(&args->droppable);
	case CRITICAL: return parse_float(&args->critical);
	case SERVERS: return parse_int("number of servers", 1, DLCP_COLL_WORLD_MAX, &o->group.nr_servers);
	case DEDICATED: o->group.dedicated = 1; return 0;
	case SAME: o->run.same = 1; return 0;
	case THC:
		o->run.thc = 1;
		o->run.same = 1;
		args->reduce = DLCP_COLL_AVG;
		return 0;
	case CHUNK:
		err = parse_size(&n);
		o->group.chunk_bytes = n;
		return err;
	default:
		return say_help(c, help);
	}
}

static int parse_port(struct coll_options *o)
{
	uint64_t port;

	o->group.master_port = optarg;
	return parse_number(optarg, 1, 65535, "port", &port);
}

static int parse_option(struct coll_options *o, int c)
{
	switch (c) {
	case RANK: return parse_int("rank", 0, DLCP_COLL_WORLD_MAX - 1, &o->group.rank);
	case WORLD: return parse_int("number of ranks", 1, DLCP_COLL_WORLD_MAX, &o->group.world);
	case MASTER: o->group.master_addr = optarg; return 0;
	case 'p': return parse_port(o);
	case 'b': return parse_size(&o->least);
	case 'e': return parse_size(&o->most);
	case 'f': return parse_number(optarg, 2, 1 << 20, "factor", &o->factor);
	case 'n': return parse_number(optarg, 1, 1000000, "number of rounds", &o->rounds);
	case 'w': return parse_number(optarg, 0, 1000000, "number of rounds", &o->warmup);
	case 'j': o->json = 1; return 0;
	case 'N': o->src.netns = optarg; return 0;
	case 'W': return parse_timeout(&o->group.timeout_ms);
	case RATE: return parse_rate_option(&o->rate);
	case HTML: o->html = optarg; return 0;
	default:
		return parse_bounded(o, c);
	}
}

/* What would be taken and do nothing. Return: 0, or DLCP_USAGE */
static int check_idle(const struct coll_options *o, const char *name)
{
	const struct dlcp_coll_args *args = &o->run.args;
	int mends = args->correct != DLCP_COLL_FEEDBACK || args->droppable > 0 || args->critical > 0;

	if (!o->run.op->bounded && (mends || args->algo != DLCP_COLL_AUTO))
		return say_usage("%s takes no --algo, --correct, --droppable and --critical: only all_reduce and reduce_scatter do",
				 name);
	if (o->run.thc && (mends || args->loss2_ppm))
		return say_usage("--thc chooses itself what makes up for a loss: leave out --loss2, --correct, --droppable and --critical");
	if (mends && !args->loss_ppm)
		return say_usage("--correct, --droppable and --critical go with --loss: nothing is lost without it");
	if (o->factor && !o->most)
		return say_usage("-f goes with -e: without a last size there is only the first");
	return 0;
}

static int check(struct coll_options *o, char **words)
{
	const char *name = *words ? *words : "all_reduce";
	const struct dlcp_coll_args *args = &o->run.args;
	uint64_t port;
	char names[200];

	o->run.op = coll_operation_find(name);
	if (!o->run.op)
		return say_usage("%s is no operation: %s", name,
				 coll_operation_names(names, sizeof(names)));
	if (*words && words[1])
		return say_usage("one operation: run the command again for %s", words[1]);
	if ((args->loss_ppm && !o->run.op->bounded) ||
	    ((args->loss2_ppm || o->run.thc) && strcmp(name, "all_reduce")))
		return say_usage("%s takes no such bound: only all_reduce and reduce_scatter do, and --loss2 and --thc go with all_reduce",
				 name);
	if (check_idle(o, name))
		return DLCP_USAGE;
	if (o->group.rank >= o->group.world && o->group.world > 0)
		return say_usage("there is no rank %d of %d: the first is 0", o->group.rank,
				 o->group.world);
	if (o->group.rank < 0 || o->group.world < 1)
		return say_usage("which rank of how many is this? Set RANK and WORLD_SIZE, or give --rank and --world; rank 0 is the first");
	if (!o->group.master_addr || !*o->group.master_addr || !o->group.master_port || !*o->group.master_port)
		return say_usage("where is rank 0? Set MASTER_ADDR and MASTER_PORT, or give --master and --port");
	if (parse_number(o->group.master_port, 1, 65535, "port", &port))
		return DLCP_USAGE;
	if (args->resync_every && !args->loss2_ppm)
		return say_usage("--resync goes with --loss2");
	if (o->most && o->most < o->least)
		return say_usage("the last size (-e) is %llu bytes, and the first (-b) %llu: they ascend",
				 (unsigned long long)o->most, (unsigned long long)o->least);
	o->most = o->most ?: o->least;
	o->factor = o->factor ?: 2;
	return 0;
}

static int failed(const char *what)
{
	return say_error("%s: %s", what, dlcp_last_error());
}

/* Return: ns, or -1 */
static double one_round(struct coll_run *r)
{
	uint64_t begin;
	double ns;

	coll_round_prepare(r);
	if (dlcp_coll_barrier(r->coll, NULL))
		return -1;
	begin = now_ns();
	if (r->op->run(r))
		return -1;
	ns = (double)(now_ns() - begin);
	coll_round_check(r);
	return ns;
}

/* With a bound another one without it, which brings what was fed back */
static int all_rounds(const struct coll_options *o, struct coll_run *r, double *times)
{
	uint32_t bound = r->args.loss_ppm;
	double ns = 0;
	uint64_t i;

	for (i = 0; i < o->warmup + o->rounds && ns >= 0; i++) {
		ns = one_round(r);
		if (i >= o->warmup)
			times[i - o->warmup] = ns;
	}
	if (ns >= 0 && bound && !r->thc && !r->args.loss2_ppm) {
		r->args.loss_ppm = 0;
		ns = one_round(r);
		r->args.loss_ppm = bound;
	}
	return ns < 0 ? failed(r->op->name) : 0;
}

/* Return: 0, or an exit status after an error message */
static int one_size(struct coll_options *o, uint64_t bytes)
{
	struct coll_run *r = &o->run;
	struct coll_figures f = { .nr = o->rounds };
	struct dlcp_coll_stats before;
	int err;

	f.times = malloc(f.nr * sizeof(*f.times));
	if (!f.times)
		return say_error("no memory for %zu rounds: ask for fewer with -n", f.nr);
	err = coll_run_prepare(r, bytes / sizeof(float));
	if (!err) {
		dlcp_coll_get_stats(r->coll, &before);
		err = all_rounds(o, r, f.times);
	}
	if (!err) {
		coll_run_check(r);
		if (coll_figures_collect(&f, r, &before))
			err = failed("collecting figures");
	}
	if (!err && !dlcp_coll_rank(r->coll))
		coll_table_row(r, &f, o->rate, o->json);
	if (!err && f.sums[COLL_WRONG] && coll_must_be_right(r, r->args.loss_ppm > 0))
		err = say_error("%lld elements are wrong: a fault of DLCP, or of a host's memory: report it, with this command", (long long)f.sums[COLL_WRONG]);
	free(f.times);
	coll_run_free(r);
	return err;
}

static int all_sizes(struct coll_options *o)
{
	uint64_t bytes;
	int err = 0;

	if (!dlcp_coll_rank(o->run.coll))
		coll_table_head(&o->run, o->rate, o->json);
	for (bytes = o->least; !err; bytes *= o->factor) {
		err = one_size(o, bytes);
		/* What is fed back is of a tensor, and of one size */
		o->run.args.tensor++;
		if (bytes > o->most / o->factor)
			break;
	}
	return err;
}

static int run(struct coll_options *o)
{
	int err = source_enter(&o->src);

	if (!err && o->html && !o->group.rank)
		err = page_begin(o->html, "dlcp coll-perf");
	if (err)
		return err;
	o->run.coll = dlcp_coll_open(&o->group);
	if (!o->run.coll)
		return failed("no group");
	if (dlcp_coll_rank(o->run.coll) >= dlcp_coll_world(o->run.coll))
		err = dlcp_coll_serve(o->run.coll) ? failed("serving") : 0;
	else
		err = all_sizes(o);
	coll_html_add(&o->run);
	dlcp_coll_close(o->run.coll);
	return err;
}

int cmd_coll_perf(int argc, char **argv)
{
	struct coll_options o = {
		.least = 4 << 20, .rounds = 20, .warmup = 5, .run.args.tensor = 1,
	};
	int c, err = 0;

	dlcp_coll_options_init(&o.group);
	while (!err && (c = next_option(argc, argv, ":p:b:e:f:n:w:jN:W:h", known)) != -1)
		err = parse_option(&o, c);
	if (!err)
		err = check(&o, argv + optind);
	if (err)
		return err < 0 ? 0 : err;
	err = run(&o);
	/* Also of rounds that failed: what there is */
	return page_end(argv) || err ? DLCP_FAILED : 0;
}
