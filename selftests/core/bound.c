// SPDX-License-Identifier: GPL-2.0
/*
 * What a loss bound buys in time: messages between two engines in virtual time,
 * each sent when the one before it is reported, to a reader that waits. Loss is
 * the same in both directions. Printed is the time from the sender's call until
 * the receiver has the message. After it comes what was missing, as a share of
 * the payload and of what the link lost of it.
 *
 *	build/bound/gcc/bound [messages [part of the name of a row]]
 */
#include <stdio.h>
#include "sim.h"

#define WARM	50	/* messages before those that count */

struct net {
	const char *name;
	u64	rate;		/* bit/s */
	u64	rtt;		/* us */
	u64	length;
	u32	loss;		/* ppm */
	u32	part;		/* of the messages asked for, per cent */
	u32	burst;		/* packets, mean; 0: each for itself */
	u32	paths;
	u64	jitter;		/* us */
};

struct way {
	const char *name;
	bool	loss;
	u32	ppm;
	u8	flags;
	u32	group;		/* messages that share their bounds */
};

struct result {
	double	mean, p50, p99, p999;	/* us */
	double	missing;	/* of the payload */
	double	lost;		/* of it, by the link */
	u64	overtaken;
};

static const struct way ways[] = {
	{ .name = "no loss" },
	{ .name = "p = 0", .loss = true },
	{ .name = "p = 5 %", .loss = true, .ppm = 50000 },
	{ .name = "p = 5 %, groups of 20", .loss = true, .ppm = 50000, .group = 20 },
	{ .name = "early stop", .loss = true, .ppm = 50000,
	  .flags = DLCP_MSG_EARLY_STOP },
};

#define G	1000000000ULL
#define NET(n, r, t, l, p, s, ...)					\
	{ .name = n, .rate = r, .rtt = t, .length = l, .loss = p,	\
	  .part = s, __VA_ARGS__ }

static const struct net nets[] = {
	NET("48 KB, 50 us, 0.1 %", 10 * G, 50, 48000, 1000, 100),
	NET("48 KB, 50 us, 1 %", 10 * G, 50, 48000, 10000, 100),
	NET("256 KB, 50 us, 1 %", 10 * G, 50, 256000, 10000, 100),
	NET("48 KB, 500 us, 1 %", 10 * G, 500, 48000, 10000, 100),
	NET("256 KB, 500 us, 0.1 %", 10 * G, 500, 256000, 1000, 100),
	NET("256 KB, 500 us, 1 %", 10 * G, 500, 256000, 10000, 100),
	NET("256 KB, 500 us, 1 % in bursts of 4", 10 * G, 500, 256000, 10000,
	    100, .burst = 4),
	NET("1 MB, 500 us, 1 %", 10 * G, 500, 1000000, 10000, 50),
	NET("48 KB, 5 ms, 0.1 %", 10 * G, 5000, 48000, 1000, 100),
	NET("256 KB, 5 ms, 0.1 %", 10 * G, 5000, 256000, 1000, 100),
	NET("256 KB, 5 ms, 1 %", 10 * G, 5000, 256000, 10000, 100),
	NET("1 MB, 5 ms, 1 %", 10 * G, 5000, 1000000, 10000, 50),
	NET("1 MB, 40 ms, 0.1 %", 10 * G, 40000, 1000000, 1000, 50),
	NET("1 MB, 40 ms, 1 %", 10 * G, 40000, 1000000, 10000, 50),
	NET("10 MB, 40 ms, 1 Gbit/s, 1 %", G, 40000, 10000000, 10000, 6),
	NET("256 KB, 500 us, 1 %, 4 paths", 10 * G, 500, 256000, 10000, 50,
	    .paths = 4),
	NET("256 KB, 500 us, 0.1 %, jitter of 125 us", 10 * G, 500, 256000, 1000,
	    50, .jitter = 125),
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void start(struct sim *s, const struct net *n, bool loss)
{
	u32 i;

	sim_init(s, 1);
	for (i = 0; i < 2; i++) {
		struct sim_link *l = &s->link[i];

		l->rate = n->rate;
		l->delay = n->rtt * SIM_US / 2;
		l->jitter = n->jitter * SIM_US;
		/* As much as the path holds, and no less than a rack's */
		l->queue = max_t(u64, 1 << 20, n->rate / 8 * n->rtt / 1000000);
		if (n->burst) {
			l->burst_exit = 1000000 / n->burst;
			l->burst_enter = loss ? n->loss / n->burst : 0;
		} else {
			l->loss = loss ? n->loss : 0;
		}
		s->ep[i].cfg.rx_space = 64 << 20;
		s->ep[i].cfg.unsolicited = 4 << 20;
		s->ep[i].cfg.nr_paths = (u8)max_t(u32, n->paths, 1);
	}
	sim_up(s);
}

/* Losses are counted by what never arrived of the first transmissions */
static void measure(const struct net *n, const struct way *w, u32 nr,
		    struct result *r)
{
	struct sim_attr a = { .length = n->length, .ppm = w->ppm,
			      .flags = w->flags };
	double *time = calloc(nr, sizeof(*time));
	u64 missing = 0, dropped = 0, sent = 0;
	struct sim_msg *m;
	struct sim s;
	u32 i;

	start(&s, n, w->loss);
	memset(r, 0, sizeof(*r));
	for (i = 0; i < WARM + nr; i++) {
		if (w->group)
			a.group = 1 + i / w->group % (SIM_GROUPS - 1);
		m = sim_send(&s.ep[0], &a);
		sim_finish(&s, 600 * SIM_S);
		if (i < WARM) {
			dropped = s.link[0].dropped;
			sent = s.link[0].packets;
			continue;
		}
		time[i - WARM] = (double)(m->rcvd_at - m->sent_at) / 1000;
		r->mean += time[i - WARM] / nr;
		missing += m->missing;
	}
	qsort(time, nr, sizeof(*time), by_size);
	r->p50 = time[nr / 2];
	r->p99 = time[nr * 99 / 100];
	r->p999 = time[nr * 999 / 1000];
	r->missing = (double)missing / (double)(nr * n->length);
	r->lost = (double)(s.link[0].dropped - dropped) /
		  (double)(s.link[0].packets - sent);
	r->overtaken = s.ep[1].c.cnt[DLCP_CNT_RX_OVERTAKEN];
	sim_free(&s);
	free(time);
}

int main(int argc, char **argv)
{
	u32 nr = argc > 1 ? (u32)atoi(argv[1]) : 1000;
	struct result r;
	double none = 0;
	u32 i, k, some;

	puts("| message, round trip, loss | way | mean, us | over no loss | p50 | p99 | p99.9 | missing, % | of the loss | overtaken |");
	puts("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
	for (i = 0; i < ARRAY_SIZE(nets); i++) {
		if (argc > 2 && !strstr(nets[i].name, argv[2]))
			continue;
		some = max_t(u32, nr * nets[i].part / 100, 1);
		for (k = 0; k < ARRAY_SIZE(ways); k++) {
			measure(&nets[i], &ways[k], some, &r);
			none = k ? none : r.mean;
			printf("| %s | %s | %.1f | %.2f | %.1f | %.1f | %.1f | %.2f | %.2f | %llu |\n",
			       nets[i].name, ways[k].name, r.mean,
			       r.mean / none, r.p50, r.p99, r.p999,
			       100 * r.missing,
			       r.lost > 0 ? r.missing / r.lost : 0,
			       (unsigned long long)r.overtaken);
			fflush(stdout);
		}
	}
	return 0;
}
