// SPDX-License-Identifier: GPL-2.0
/*
 * dlcp-coll-perf: how long does an all-reduce take? Run it once for each rank,
 * with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.
 *
 * All inputs are whole numbers, so that every result can be checked exactly:
 * with feedback, what is lost in one round comes in a later one, and the sum
 * over all rounds, the last of which is lossless, is as if nothing was lost.
 * With a second bound the inputs are k times as large in the k-th round, so that
 * what is missing, and therefore old, shows which round it is of.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dlcp.h>
#include <dlcp_coll.h>
#include <dlcp_thc.h>

struct settings {
	size_t			count;
	int			rounds;
	int			warmup;
	int			same;
	int			thc;
	struct dlcp_coll_args	args;
};

static void usage(void)
{
	fprintf(stderr,
		"dlcp-coll-perf [options]\n"
		"  --bytes N       tensor of float32, default 4194304\n"
		"  --rounds N      that are timed, default 10; --warmup N, default 2\n"
		"  --algo NAME     transpose, ring, server\n"
		"  --loss PPM      bound of the reducing half\n"
		"  --loss2 PPM     of the distributing half; --resync N: but every N rounds 0\n"
		"  --correct NAME  feedback, average, nothing\n"
		"  --droppable SHARE, --critical SHARE\n"
		"  --servers N, --dedicated\n"
		"  --same          all ranks have the same input, so that averages over\n"
		"                  those that arrived are exact\n"
		"  --thc           averages of the same input, in 4 bits\n"
		"  --chunk BYTES, --timeout MS\n"
		"Fails if a result is wrong that must be right: with feedback, with\n"
		"averages of the same input, and without a bound; if what --loss2 left out is\n"
		"anything but the result of an earlier round, or is missing after --resync;\n"
		"if the mean of all results of --thc is off the input by a tenth.\n");
	exit(2);
}

static uint8_t choose(const char *name, const char *const *names, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return (uint8_t)i;
	usage();
	return 0;
}

static const struct option known[] = {
	{ "bytes", 1, NULL, 'b' }, { "rounds", 1, NULL, 'r' },
	{ "warmup", 1, NULL, 'w' }, { "algo", 1, NULL, 'a' },
	{ "loss", 1, NULL, 'l' }, { "loss2", 1, NULL, '2' },
	{ "resync", 1, NULL, 'R' }, { "correct", 1, NULL, 'c' },
	{ "droppable", 1, NULL, 'd' }, { "critical", 1, NULL, 'C' },
	{ "servers", 1, NULL, 's' }, { "dedicated", 0, NULL, 'D' },
	{ "same", 0, NULL, 'S' }, { "thc", 0, NULL, 'T' },
	{ "chunk", 1, NULL, 'k' }, { "timeout", 1, NULL, 't' },
	{ NULL, 0, NULL, 0 },
};

static void parse(int argc, char **argv, struct settings *s,
		  struct dlcp_coll_options *o)
{
	static const char *const algos[] = { "auto", "ring", "transpose",
					     "server" };
	static const char *const corrects[] = { "feedback", "average",
						"nothing" };
	int opt;

	while ((opt = getopt_long(argc, argv, "", known, NULL)) >= 0) {
		switch (opt) {
		case 'b': s->count = strtoul(optarg, NULL, 0) / 4; break;
		case 'r': s->rounds = atoi(optarg); break;
		case 'w': s->warmup = atoi(optarg); break;
		case 'a': s->args.algo = choose(optarg, algos, 4); break;
		case 'l': s->args.loss_ppm = (uint32_t)atoi(optarg); break;
		case '2': s->args.loss2_ppm = (uint32_t)atoi(optarg); break;
		case 'R': s->args.resync_every = (uint32_t)atoi(optarg); break;
		case 'c': s->args.correct = choose(optarg, corrects, 3); break;
		case 'd': s->args.droppable = strtof(optarg, NULL); break;
		case 'C': s->args.critical = strtof(optarg, NULL); break;
		case 's': o->nr_servers = atoi(optarg); break;
		case 'D': o->dedicated = 1; break;
		case 'S': s->same = 1; break;
		case 'T': s->thc = 1; break;
		case 'k': o->chunk_bytes = strtoul(optarg, NULL, 0); break;
		case 't': o->timeout_ms = atoi(optarg); break;
		default: usage();
		}
	}
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, dlcp_last_error());
	exit(1);
}

static float value(int rank, size_t i)
{
	return (float)((int)(i % 61) - 30 + rank);
}

static float sum_of(int world, size_t i, int same)
{
	return (float)(world * ((int)(i % 61) - 30) +
		       (same ? 0 : world * (world - 1) / 2));
}

/* Elements of @total that are not @rounds times what they should be */
static size_t count_wrong(const float *total, size_t n, int world, int rounds,
			  int same)
{
	size_t i, wrong = 0;

	for (i = 0; i < n; i++)
		wrong += total[i] != (float)rounds * sum_of(world, i, same);
	return wrong;
}

/*
 * After the @k-th all-reduce, with a second bound. Return: elements that are no
 * result at all, or old where nothing may be missing; *@old counts the others
 */
static size_t count_old(const struct settings *s, const float *out, int world,
			unsigned int k, size_t *old)
{
	int exact = s->args.resync_every && k % s->args.resync_every == 0;
	size_t i, wrong = 0;
	float sum, times;

	for (i = 0; i < s->count; i++) {
		sum = sum_of(world, i, s->same);
		if (out[i] == (float)k * sum)
			continue;
		times = out[i] / sum;
		if (exact || times < 0 || times > (float)k ||
		    times != (float)(int)times)
			wrong++;
		++*old;
	}
	return wrong;
}

static double one_round(struct dlcp_coll *c, const struct settings *s,
			const float *in, float *out, float *total)
{
	double start, end;
	size_t i;

	if (dlcp_coll_barrier(c, NULL))
		fail("barrier");
	start = now();
	if (dlcp_coll_all_reduce(c, in, out, s->count, DLCP_COLL_F32, &s->args,
				 NULL))
		fail("all-reduce");
	end = now();
	for (i = 0; i < s->count; i++)
		total[i] += out[i];
	return end - start;
}

static void report(struct dlcp_coll *c, const struct settings *s, double sum,
		   double worst, size_t wrong)
{
	struct dlcp_coll_stats stats;

	dlcp_coll_get_stats(c, &stats);
	printf("rank %d: %zu bytes, mean %.3f ms, worst %.3f ms, missing %llu of %llu, fed back %llu, wrong %zu\n",
	       dlcp_coll_rank(c), s->count * 4, sum / s->rounds * 1e3,
	       worst * 1e3, (unsigned long long)stats.missing,
	       (unsigned long long)stats.received,
	       (unsigned long long)stats.fed_back, wrong);
	fflush(stdout);
}

/* Return: elements that are wrong */
static size_t measure_old(struct dlcp_coll *c, const struct settings *s)
{
	float *in = malloc(s->count * 4 + 4), *out = calloc(s->count + 1, 4);
	size_t i, old = 0, wrong = 0;
	unsigned int k;

	if (!in || !out)
		fail("memory");
	for (k = 1; k <= (unsigned int)s->rounds; k++) {
		for (i = 0; i < s->count; i++)
			in[i] = (float)k * value(s->same ? 0 : dlcp_coll_rank(c),
						 i);
		if (dlcp_coll_all_reduce(c, in, out, s->count, DLCP_COLL_F32,
					 &s->args, NULL))
			fail("all-reduce");
		wrong += count_old(s, out, dlcp_coll_world(c), k, &old);
	}
	printf("rank %d: %zu elements old, wrong %zu\n", dlcp_coll_rank(c), old,
	       wrong);
	free(in);
	free(out);
	return wrong;
}

/* Return: whether it is wrong */
static size_t measure_thc(struct dlcp_coll *c, struct settings *s)
{
	float *in = malloc(s->count * 4 + 4), *out = malloc(s->count * 4 + 4);
	struct dlcp_thc *thc = dlcp_thc_new(s->count,
					    (uint64_t)dlcp_coll_rank(c));
	double *total = calloc(s->count + 1, sizeof(*total));
	double off = 0, all = 0;
	struct dlcp_coll_stats stats;
	size_t i, wrong;
	int round;

	if (!in || !out || !thc || !total)
		fail("memory");
	s->args.reduce = DLCP_COLL_AVG;
	for (i = 0; i < s->count; i++)
		in[i] = value(0, i);
	for (round = 0; round < s->rounds; round++) {
		if (dlcp_thc_all_reduce(c, thc, in, out, &s->args))
			fail("all-reduce");
		for (i = 0; i < s->count; i++)
			total[i] += out[i];
	}
	for (i = 0; i < s->count; i++) {
		off += pow(total[i] / s->rounds - in[i], 2);
		all += in[i] * in[i];
	}
	wrong = !(off < all / 100);
	dlcp_coll_get_stats(c, &stats);
	printf("rank %d: off by %.3f, missing %llu of %llu, wrong %zu\n",
	       dlcp_coll_rank(c), sqrt(off / all),
	       (unsigned long long)stats.missing,
	       (unsigned long long)stats.received, wrong);
	dlcp_thc_free(thc);
	free(in);
	free(out);
	free(total);
	return wrong;
}

/* Return: elements that are wrong in the end */
static size_t measure(struct dlcp_coll *c, struct settings *s)
{
	float *in = malloc(s->count * 4 + 4), *out = malloc(s->count * 4 + 4);
	float *total = calloc(s->count + 1, 4);
	double t, sum = 0, worst = 0;
	size_t i, wrong;
	int round;

	if (!in || !out || !total)
		fail("memory");
	for (i = 0; i < s->count; i++)
		in[i] = value(s->same ? 0 : dlcp_coll_rank(c), i);
	for (round = -s->warmup; round < s->rounds; round++) {
		t = one_round(c, s, in, out, total);
		if (round < 0)
			continue;
		sum += t;
		worst = t > worst ? t : worst;
	}
	s->args.loss_ppm = 0;
	one_round(c, s, in, out, total);
	wrong = count_wrong(total, s->count, dlcp_coll_world(c),
			    s->warmup + s->rounds + 1, s->same);
	report(c, s, sum, worst, wrong);
	free(in);
	free(out);
	free(total);
	return wrong;
}

int main(int argc, char **argv)
{
	struct settings s = {
		.count = 1 << 20, .rounds = 10, .warmup = 2,
		.args = { .tensor = 1 },
	};
	struct dlcp_coll_options o;
	struct dlcp_coll *c;
	uint32_t loss;
	size_t wrong;

	dlcp_coll_options_init(&o);
	parse(argc, argv, &s, &o);
	loss = s.args.loss_ppm;
	c = dlcp_coll_open(&o);
	if (!c)
		fail("open");
	if (dlcp_coll_rank(c) >= dlcp_coll_world(c)) {
		if (dlcp_coll_serve(c))
			fail("serve");
		dlcp_coll_close(c);
		return 0;
	}
	wrong = s.thc ? measure_thc(c, &s) :
		s.args.loss2_ppm ? measure_old(c, &s) : measure(c, &s);
	dlcp_coll_close(c);
	return wrong && (!loss || s.thc || s.args.correct == DLCP_COLL_FEEDBACK ||
			 (s.same && s.args.correct == DLCP_COLL_AVERAGE));
}
