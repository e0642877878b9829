// SPDX-License-Identifier: GPL-2.0
/* Results, as JSON lines, while the training goes on */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

#define EVAL_BATCH	200

static FILE *out;
static struct dataset test;

static void __attribute__((noreturn)) cannot_write(const char *path)
{
	die(1, "%s: %s: choose another file with --out, or make room there", path ? path : "stdout",
	    strerror(errno));
}

void report_open(const struct options *opt)
{
	out = opt->out ? fopen(opt->out, "w") : stdout;
	if (!out)
		cannot_write(opt->out);
	test = data_read(opt->data, 1, opt->test_images);
}

static double evaluate(struct net *net,
		       const float *params, uint32_t images)
{
	uint32_t index[EVAL_BATCH], i, j, n;
	int layer, right, all = 0;

	for (i = 0; i < images; i += n) {
		n = images - i < EVAL_BATCH ? images - i : EVAL_BATCH;
		for (j = 0; j < n; j++)
			index[j] = i + j;
		net_input(net, test.images, index, n);
		for (layer = 0; layer < NR_LAYERS; layer++)
			net_forward(net, layer, params);
		net_loss(net, test.labels, index, &right);
		all += right;
	}
	return (double)all / images;
}

static void add(struct stats *to, const struct stats *stats)
{
	to->offered += stats->offered;
	to->delivered += stats->delivered;
	to->forgiven += stats->forgiven;
	to->resent += stats->resent;
}

static void print_stats(const char *name, const struct stats *stats)
{
	fprintf(out, ",\"%s\":{\"offered\":%llu,\"delivered\":%llu,\"forgiven\":%llu,\"resent\":%llu}",
		name, (unsigned long long)stats->offered,
		(unsigned long long)stats->delivered,
		(unsigned long long)stats->forgiven,
		(unsigned long long)stats->resent);
}

/* Workers to server as of @step, and server to workers as of now */
static void print_traffic(struct server *s, uint32_t step)
{
	struct stats push = { 0 }, pull = { 0 }, one;
	uint32_t w;

	for (w = 0; w < s->opt->config.workers; w++) {
		add(&push, &s->peers[w].status[step].stats);
		if (!s->net->stats(s->peers[w].conn, &one))
			add(&pull, &one);
	}
	print_stats("push", &push);
	print_stats("pull", &pull);
}

static void print_start(const struct server *s)
{
	static const char *const correct[] = { "none", "average", "feedback" };
	const struct config *c = &s->opt->config;
	int i;

	fprintf(out, "{\"event\":\"start\",\"transport\":\"%s\",\"workers\":%u,\"steps\":%u,\"epochs\":%u,\"images\":%u,\"batch\":%u,\"seed\":%llu,\"loss_bound\":%g,\"droppable\":%g,\"correct\":\"%s\",\"compute_us\":%u,\"slice\":%u,\"layer_bytes\":[",
		s->net->name, c->workers, s->steps, c->epochs, c->images,
		c->batch, (unsigned long long)c->seed, c->loss, c->droppable,
		correct[c->correct], c->compute_us, c->slice);
	for (i = 0; i < NR_LAYERS; i++)
		fprintf(out, "%s%zu", i ? "," : "",
			layers[i].count * sizeof(float));
	fprintf(out, "]}\n");
	fflush(out);
}

static void print_step(struct server *s, uint32_t step, double accuracy)
{
	const struct config *c = &s->opt->config;
	double loss = 0;
	uint32_t w;

	for (w = 0; w < c->workers; w++)
		loss += s->peers[w].status[step].loss;
	fprintf(out, "{\"event\":\"step\",\"epoch\":%u,\"step\":%u,\"t_ms\":%.3f,\"loss\":%.5f",
		(step - 1) / steps_per_epoch(c) + 1, step,
		s->step[step].done_ms, loss / c->workers);
	if (accuracy >= 0)
		fprintf(out, ",\"accuracy\":%.4f", accuracy);
	print_traffic(s, step);
	fprintf(out, "}\n");
	fflush(out);
}

/* A number that tells two models apart: FNV-1a over all their bits */
static uint64_t model_hash(const struct server *s)
{
	const unsigned char *p = (const unsigned char *)s->params;
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t i;

	for (i = 0; i < s->nr_params * sizeof(float); i++)
		hash = (hash ^ p[i]) * 0x100000001b3ULL;
	return hash;
}

static void wait_for_step(struct server *s, uint32_t step)
{
	struct step *at = &s->step[step];

	pthread_mutex_lock(&s->lock);
	while (at->pieces < nr_pieces ||
	       at->statuses < s->opt->config.workers)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void report_run(struct server *s)
{
	struct net *net = net_new(EVAL_BATCH);
	uint32_t step, images;
	double accuracy;

	print_start(s);
	for (step = 1; step <= s->steps; step++) {
		wait_for_step(s, step);
		accuracy = -1;
		if (s->step[step].snapshot) {
			images = step == s->steps ? test.n :
				 s->opt->eval_images;
			accuracy = evaluate(net, s->step[step].snapshot,
					    images);
			free(s->step[step].snapshot);
		}
		print_step(s, step, accuracy);
	}
	net_free(net);
	data_free(&test);
}

void report_end(struct server *s)
{
	fprintf(out, "{\"event\":\"end\",\"t_ms\":%.3f,\"model\":\"%016llx\"",
		s->step[s->steps].done_ms, (unsigned long long)model_hash(s));
	print_traffic(s, s->steps + 1);
	fprintf(out, "}\n");
	if (fflush(out) || (out != stdout && fclose(out)))
		cannot_write(s->opt->out);
}
