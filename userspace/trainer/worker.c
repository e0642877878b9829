// SPDX-License-Identifier: GPL-2.0
/*
 * A worker: takes the parameters of each step, computes the gradient of its
 * share of the images, and pushes it piece by piece.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "data.h"
#include "train.h"

#define CONNECT_MS	20000
#define KEPT		4	/* gradients: this step's, and of older ones */

/**
 * struct worker - all of a worker
 * @net: its transport
 * @conn: to the server
 * @config: the run
 * @train: the images
 * @order: in which they are used in this epoch
 * @model: activations
 * @params: parameters, received in place
 * @have: which pieces' parameters of this step are here
 * @grads: gradients of the last KEPT steps, as they were sent; of step s at
 *	s % KEPT
 * @due: how many of its pieces are not reported yet
 * @carry: what was lost of older gradients and has not been sent again
 * @carries: whether there is any, for each piece
 */
struct worker {
	const struct net_ops	*net;
	struct conn		*conn;
	struct config		config;
	struct dataset		train;
	uint32_t		*order;
	struct net		*model;
	float			*params, *grads[KEPT], *carry;
	int			due[KEPT];
	int			have[MAX_PIECES], carries[MAX_PIECES];
};

static void __attribute__((noreturn)) foreign_server(void)
{
	die(1, "the server does not speak this worker's language: start one version of dlcp-train on all hosts");
}

static void check(const struct worker *w, int ret)
{
	if (ret == NET_EOF)
		die(1, "worker %u: the server has closed the connection: look at what it says",
		    w->config.id);
	if (ret == NET_WRONG)
		foreign_server();
	if (ret)
		die(1, "worker %u: the connection with the server: %s",
		    w->config.id, w->net->error());
}

/* A message of the housekeeping: small, urgent, reliable */
static void send_small(struct worker *w, uint64_t key, const void *data,
		       size_t bytes)
{
	struct tensor tensor = { .key = key, .data = data, .bytes = bytes };

	check(w, w->net->send(w->conn, &tensor));
}

static void send_status(struct worker *w, uint32_t step, double loss, int right)
{
	struct status status = {
		.loss = loss, .right = right, .images = w->config.batch,
	};

	check(w, w->net->stats(w->conn, &status.stats));
	send_small(w, KEY(step, WHAT_STATUS), &status, sizeof(status));
}

/*
 * Wait for the parameters of a piece. Where messages can be asked for by name
 * it waits for no other; else it takes what comes before.
 */
static void need_piece(struct worker *w, uint32_t step, int piece)
{
	uint64_t key = KEY(step, piece);
	const struct piece *p;

	while (!w->have[piece]) {
		if (!w->net->any_order)
			check(w, w->net->next(w->conn, &key));
		if (KEY_STEP(key) != step || KEY_WHAT(key) >= nr_pieces)
			foreign_server();
		p = &pieces[KEY_WHAT(key)];
		check(w, w->net->recv(w->conn, key, w->params + p->at,
				      p->count * sizeof(float), NULL));
		w->have[KEY_WHAT(key)] = 1;
	}
}

/* Sleep for this layer's part of the time that computing shall take */
static void take_time(const struct worker *w, int layer, double share)
{
	double all = 0, work[NR_LAYERS];
	struct timespec ts;
	int i;

	if (!w->config.compute_us)
		return;
	for (i = 0; i < NR_LAYERS; i++)
		all += work[i] = (double)layers[i].count * layers[i].out *
				 layers[i].out;
	share *= work[layer] / all * w->config.compute_us * 1e3;
	ts.tv_sec = (time_t)(share / 1e9);
	ts.tv_nsec = (long)share % 1000000000;
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void reported(void *ctx, uint64_t key, const struct gaps *gaps)
{
	struct worker *w = ctx;
	int piece = KEY_WHAT(key), slot = KEY_STEP(key) % KEPT;
	const float *sent = w->grads[slot] + pieces[piece].at;
	float *carry = w->carry + pieces[piece].at;
	size_t i, j;

	for (i = 0; i < gaps->nr; i++)
		for (j = gaps->gap[i].from / sizeof(float);
		     j < gaps->gap[i].to / sizeof(float); j++)
			carry[j] += sent[j];
	w->carries[piece] |= gaps->nr > 0;
	w->due[slot]--;
}

/*
 * Take the reports that are there. One that is late, as its acknowledgement was
 * lost, holds nobody up: what it tells goes into a later gradient. It is waited
 * for when the place of what was sent is needed.
 */
static void take_reports(struct worker *w, uint32_t step)
{
	int wait;

	do {
		wait = w->due[step % KEPT] > 0;
		check(w, w->net->reports(w->conn, wait, reported, w));
	} while (wait);
}

/* What older gradients have lost is added to this one */
static void feed_back(struct worker *w, uint32_t step, int piece)
{
	const struct piece *p = &pieces[piece];
	float *grads = w->grads[step % KEPT] + p->at, *carry = w->carry + p->at;
	int i;

	if (!w->carries[piece])
		return;
	for (i = 0; i < p->count; i++)
		grads[i] += carry[i];
	memset(carry, 0, p->count * sizeof(*carry));
	w->carries[piece] = 0;
}

static int wants_reports(const struct worker *w)
{
	return w->net->reports && w->config.correct == CORRECT_FEEDBACK;
}

static void push_piece(struct worker *w, uint32_t step, int piece)
{
	const struct piece *p = &pieces[piece];
	struct tensor tensor = {
		.key = KEY(step, piece),
		.data = w->grads[step % KEPT] + p->at,
		.bytes = p->count * sizeof(float),
		.prio = piece_prio(piece),
		.loss = w->config.loss,
		.droppable = w->config.droppable,
		.report = wants_reports(w),
	};

	check(w, w->net->send(w->conn, &tensor));
	w->due[step % KEPT] += tensor.report;
}

static double forward(struct worker *w, uint32_t step, const uint32_t *index,
		      int *right)
{
	int i, at = 0;

	net_input(w->model, w->train.images, index, w->config.batch);
	memset(w->have, 0, sizeof(w->have));
	for (i = 0; i < NR_LAYERS; i++) {
		for (; at < nr_pieces && pieces[at].layer == i; at++)
			need_piece(w, step, at);
		take_time(w, i, 1.0 / 3);
		net_forward(w->model, i, w->params);
	}
	return net_loss(w->model, w->train.labels, index, right);
}

static void backward(struct worker *w, uint32_t step)
{
	int i, at = nr_pieces;

	if (wants_reports(w))
		take_reports(w, step);
	for (i = NR_LAYERS - 1; i >= 0; i--) {
		take_time(w, i, 2.0 / 3);
		net_backward(w->model, i, w->params, w->grads[step % KEPT]);
		for (; at && pieces[at - 1].layer == i; at--) {
			feed_back(w, step, at - 1);
			push_piece(w, step, at - 1);
		}
	}
}

static void train(struct worker *w)
{
	const struct config *c = &w->config;
	uint32_t step, steps = total_steps(c), per_epoch = steps_per_epoch(c);
	const uint32_t *index;
	double loss;
	int right;

	for (step = 0; step < steps; step++) {
		if (step % per_epoch == 0)
			data_shuffle(w->order, c->images, c->seed,
				     step / per_epoch);
		index = w->order + (step % per_epoch * c->workers + c->id) *
				   c->batch;
		loss = forward(w, step, index, &right);
		backward(w, step);
		send_status(w, step + 1, loss, right);
	}
}

static void get_ready(struct worker *w, const char *data)
{
	struct config *c = &w->config;
	size_t bytes = model_setup() * sizeof(float);
	int i;

	check(w, w->net->recv(w->conn, KEY(0, WHAT_HELLO), c, sizeof(*c), NULL));
	if (c->magic != CONFIG_MAGIC || !c->batch || !c->workers ||
	    c->id >= c->workers || !steps_per_epoch(c) ||
	    cut_pieces(c->slice))
		foreign_server();
	w->train = data_read(data, 0, c->images);
	w->order = need_memory(c->images, sizeof(*w->order));
	w->model = net_new(c->batch);
	w->params = need_memory(1, bytes);
	w->carry = need_memory(1, bytes);
	for (i = 0; i < KEPT; i++)
		w->grads[i] = need_memory(1, bytes);
	send_status(w, 0, 0, 0);
}

/* Stay until the server has all, then tell it the final counters */
static void say_goodbye(struct worker *w)
{
	uint64_t key;
	char bye;

	check(w, w->net->recv(w->conn, KEY(0, WHAT_BYE), &bye, 1, NULL));
	send_status(w, total_steps(&w->config) + 1, 0, 0);
	w->net->next(w->conn, &key);
}

static void clean_up(struct worker *w)
{
	int i;

	w->net->close(w->conn);
	data_free(&w->train);
	net_free(w->model);
	free(w->order);
	free(w->params);
	free(w->carry);
	for (i = 0; i < KEPT; i++)
		free(w->grads[i]);
}

int worker_main(const struct options *opt)
{
	struct worker w = { .net = opt->net };

	w.conn = net_connect(w.net, opt->host, opt->port, CONNECT_MS);
	if (!w.conn)
		die(1, "no connection to the server at %s port %s: %s", opt->host, opt->port,
		    w.net->error());
	get_ready(&w, opt->data);
	train(&w);
	say_goodbye(&w);
	clean_up(&w);
	return 0;
}
