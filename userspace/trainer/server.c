// SPDX-License-Identifier: GPL-2.0
/*
 * The parameter server. For each worker one thread reads and one writes, so
 * that all are served at the same time. The reader that brings the last
 * gradient of a piece computes the piece's new parameters, and the writers
 * send them on at once. The main thread looks at the test set and reports.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"
#include "sgd.h"

#define EXIT_WORKER_LOST	3

/* The whole run ends with the first worker that is lost: say which one */
static void __attribute__((noreturn)) lost_worker(struct peer *peer,
						  const char *why)
{
	die(EXIT_WORKER_LOST, "server: worker %d (%s) is lost: %s",
	    peer->id, peer->name, why);
}

static void __attribute__((noreturn)) foreign_worker(struct peer *peer)
{
	lost_worker(peer, "it sent something unexpected: start one version of dlcp-train on all hosts");
}

static void check(struct peer *peer, int ret)
{
	if (ret == NET_EOF)
		lost_worker(peer, "it has closed its connection: look at what it says");
	if (ret == NET_WRONG)
		foreign_worker(peer);
	if (ret)
		lost_worker(peer, peer->server->net->error());
}

/* Hand a message to all writers; the lock is held */
static void announce(struct server *s, uint64_t key)
{
	s->ready[s->nr_ready++] = key;
	pthread_cond_broadcast(&s->changed);
}

/*
 * All gradients of a piece are here. Nobody else touches this piece until its
 * new parameters have gone out, so no lock is needed.
 */
static void update_piece(struct server *s, uint32_t step, int piece)
{
	const struct config *c = &s->opt->config;
	const struct piece *p = &pieces[piece];
	float *grads[MAX_WORKERS];
	struct gaps gaps[MAX_WORKERS];
	uint32_t w;

	for (w = 0; w < c->workers; w++) {
		grads[w] = s->peers[w].grads + p->at;
		gaps[w] = s->peers[w].gaps[piece];
	}
	if (sgd_average(s->mean + p->at, grads, gaps, c->workers, p->count,
			c->correct == CORRECT_AVERAGE))
		out_of_memory();
	sgd_step(s->params + p->at, s->momentum + p->at, s->mean + p->at,
		 p->count, sgd_rate(s->opt->rate, step, s->steps));
}

/* After the last piece: note the time, and keep a copy for the test */
static void finish_step(struct server *s, uint32_t step)
{
	struct step *at = &s->step[step + 1];
	size_t bytes = s->nr_params * sizeof(float);

	at->done_ms = net_now_ms() - s->start_ms;
	if ((step + 1) % s->opt->eval_every && step + 1 < s->steps)
		return;
	at->snapshot = need_memory(1, bytes);
	memcpy(at->snapshot, s->params, bytes);
}

static void piece_arrived(struct server *s, uint32_t step, int piece)
{
	uint32_t workers = s->opt->config.workers;
	int last;

	pthread_mutex_lock(&s->lock);
	last = ++s->arrived[piece] == workers;
	if (last)
		s->arrived[piece] = 0;
	pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	update_piece(s, step, piece);
	pthread_mutex_lock(&s->lock);
	if (++s->step[step + 1].pieces == nr_pieces)
		finish_step(s, step);
	if (step + 1 < s->steps)
		announce(s, KEY(step + 1, piece));
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void read_gradient(struct peer *peer, uint64_t key)
{
	struct server *s = peer->server;
	int piece = KEY_WHAT(key);
	const struct piece *p = &pieces[piece];

	peer->gaps[piece].nr = 0;
	check(peer, s->net->recv(peer->conn, key, peer->grads + p->at,
				 p->count * sizeof(float),
				 &peer->gaps[piece]));
	piece_arrived(s, KEY_STEP(key), piece);
}

static void read_status(struct peer *peer, uint64_t key)
{
	struct server *s = peer->server;
	uint32_t step = KEY_STEP(key);
	struct status *status = &peer->status[step];

	check(peer, s->net->recv(peer->conn, key, status, sizeof(*status),
				 NULL));
	pthread_mutex_lock(&s->lock);
	s->step[step].statuses++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* A status may overtake a gradient or be overtaken, so all come as they come */
static void *reader(void *arg)
{
	struct peer *peer = arg;
	struct server *s = peer->server;
	uint64_t left = (uint64_t)s->steps * (nr_pieces + 1) + 2, key;

	while (left--) {
		check(peer, s->net->next(peer->conn, &key));
		if (KEY_WHAT(key) == WHAT_STATUS &&
		    KEY_STEP(key) <= s->steps + 1)
			read_status(peer, key);
		else if (KEY_WHAT(key) < nr_pieces && KEY_STEP(key) < s->steps)
			read_gradient(peer, key);
		else
			foreign_worker(peer);
	}
	return NULL;
}

static void send_to(struct peer *peer, uint64_t key)
{
	struct server *s = peer->server;
	struct tensor tensor = { .key = key };
	const struct piece *p;

	if (KEY_WHAT(key) == WHAT_BYE) {
		tensor.data = "";
		tensor.bytes = 1;
	} else {
		p = &pieces[KEY_WHAT(key)];
		tensor.data = s->params + p->at;
		tensor.bytes = p->count * sizeof(float);
		tensor.prio = piece_prio(KEY_WHAT(key));
	}
	check(peer, s->net->send(peer->conn, &tensor));
}

/* Until a goodbye has been sent */
static void *writer(void *arg)
{
	struct peer *peer = arg;
	struct server *s = peer->server;
	size_t at = 0;
	uint64_t key;

	do {
		pthread_mutex_lock(&s->lock);
		while (at == s->nr_ready)
			pthread_cond_wait(&s->changed, &s->lock);
		key = s->ready[at++];
		pthread_mutex_unlock(&s->lock);
		send_to(peer, key);
	} while (KEY_WHAT(key) != WHAT_BYE);
	return NULL;
}

static void start_peer(struct server *s, int id, struct conn *conn)
{
	struct peer *peer = &s->peers[id];
	struct config config = s->opt->config;
	struct tensor hello = {
		.key = KEY(0, WHAT_HELLO),
		.data = &config,
		.bytes = sizeof(config),
	};
	int err;

	peer->server = s;
	peer->id = id;
	peer->conn = conn;
	snprintf(peer->name, sizeof(peer->name), "%s", s->net->name_of(conn));
	peer->grads = need_memory(s->nr_params, sizeof(float));
	peer->status = need_memory(s->steps + 2, sizeof(*peer->status));
	config.magic = CONFIG_MAGIC;
	config.id = id;
	check(peer, s->net->send(conn, &hello));
	err = pthread_create(&peer->reader, NULL, reader, peer);
	if (!err)
		err = pthread_create(&peer->writer, NULL, writer, peer);
	if (err)
		die(1, "no thread for worker %d (%s): raise 'ulimit -u', 'ulimit -v' or pids.max of the cgroup",
		    id, strerror(err));
}

static void accept_workers(struct server *s)
{
	int fd = s->net->listen(s->opt->port);
	struct conn *conn;
	uint32_t i;

	for (i = 0; i < s->opt->config.workers; i++) {
		conn = fd < 0 ? NULL : s->net->accept(fd);
		if (!conn)
			die(1, "server at port %s: %s", s->opt->port, s->net->error());
		start_peer(s, i, conn);
	}
	close(fd);
}

static void start_training(struct server *s)
{
	int i;

	pthread_mutex_lock(&s->lock);
	while (s->step[0].statuses < s->opt->config.workers)
		pthread_cond_wait(&s->changed, &s->lock);
	s->start_ms = net_now_ms();
	for (i = 0; i < nr_pieces; i++)
		announce(s, KEY(0, i));
	pthread_mutex_unlock(&s->lock);
}

static void end_training(struct server *s)
{
	uint32_t i;
	int j;

	pthread_mutex_lock(&s->lock);
	announce(s, KEY(0, WHAT_BYE));
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < s->opt->config.workers; i++) {
		pthread_join(s->peers[i].reader, NULL);
		pthread_join(s->peers[i].writer, NULL);
	}
	report_end(s);
	for (i = 0; i < s->opt->config.workers; i++) {
		s->net->close(s->peers[i].conn);
		free(s->peers[i].grads);
		free(s->peers[i].status);
		for (j = 0; j < MAX_PIECES; j++)
			free(s->peers[i].gaps[j].gap);
	}
}

int server_main(const struct options *opt)
{
	struct server s = {
		.opt = opt,
		.net = opt->net,
		.nr_params = model_setup(),
		.steps = total_steps(&opt->config),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};

	if (cut_pieces(opt->config.slice))
		die(2, "--slice %u cuts a step into more than %d messages: give more bytes, or 0",
		    opt->config.slice, MAX_PIECES);
	report_open(opt);
	s.params = need_memory(s.nr_params, sizeof(float));
	s.momentum = need_memory(s.nr_params, sizeof(float));
	s.mean = need_memory(s.nr_params, sizeof(float));
	s.step = need_memory(s.steps + 2, sizeof(*s.step));
	s.ready = need_memory((size_t)(s.steps + 1) * nr_pieces + 1,
			       sizeof(*s.ready));
	model_init(s.params, opt->config.seed);
	accept_workers(&s);
	start_training(&s);
	report_run(&s);
	end_training(&s);
	free(s.params);
	free(s.momentum);
	free(s.mean);
	free(s.step);
	free(s.ready);
	return 0;
}
