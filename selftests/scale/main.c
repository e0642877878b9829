// SPDX-License-Identifier: GPL-2.0
/* One run: reads what to simulate from its arguments, prints an object of JSON. */
#include <time.h>

#include "faults.h"
#include "jobs.h"

#define SETUP_LIMIT	(20ULL * NSEC_PER_SEC)
#define SETUP_SPREAD	(20 * NSEC_PER_USEC)	/* for each connection */
/* Reports may still be on their way when the last message is complete */
#define REPORTS		(1ULL * NSEC_PER_SEC)

static struct proto *used[PROTOS_MAX];
static u8 nr_used;

void scale_die(const char *file, int line, const char *what)
{
	fprintf(stderr, "scale: %s:%d: %s (seed %llu, %llu ns)\n", file, line,
		what, par.seed, fab_now());
	exit(3);
}

static void net_rx(u32 host, struct pkt *k)
{
	used[k->proto]->rx(host, k);
}

/* Protocols take turns */
static struct pkt *net_pull(u32 host, u8 rail)
{
	static u8 turn;
	struct pkt *k;
	u8 i;

	for (i = 0; i < nr_used; i++) {
		turn = (turn + 1) % nr_used;
		if (!used[turn]->pull)
			continue;
		k = used[turn]->pull(host, rail);
		if (k)
			return k;
	}
	return NULL;
}

static void net_sent(u8 proto, void *owner, u8 rail, u32 wire)
{
	if (used[proto]->sent)
		used[proto]->sent(owner, rail, wire);
}

static void net_boot(u32 host, bool up)
{
	u8 i;

	for (i = 0; i < nr_used; i++) {
		if (!used[i]->boot) {
			fprintf(stderr, "scale: %s knows no reboot\n",
				used[i]->name);
			exit(2);
		}
		used[i]->boot(host, up);
	}
}

static void use_protos(void)
{
	struct proto *p;
	u32 i;
	u8 k;

	for (i = 0; i < par.nr_jobs; i++) {
		p = proto_find(par.job[i].proto);
		for (k = 0; k < nr_used && used[k] != p; k++)
			;
		p->nr = k;
		used[k] = p;
		nr_used = max_t(u8, nr_used, k + 1);
	}
}

static const struct port_ops *choose_disc(void)
{
	static const struct port_ops *const all[] = {
		&port_drop_tail, &port_ndp, &port_pfabric,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (!strcmp(all[i]->name, par.disc))
			return all[i];
	return used[0]->disc;
}

static void net_setup(void)
{
	u32 bands = (u32)par.bands;
	u8 i;

	use_protos();
	for (i = 0; !par.bands && i < nr_used; i++)
		bands = max(bands, used[i]->bands);
	if (bands > FABRIC_BANDS)
		bands = FABRIC_BANDS;
	fab.rx = net_rx;
	fab.pull = net_pull;
	fab.sent = net_sent;
	fab.boot = net_boot;
	fabric_init(choose_disc(), bands);
	for (i = 0; i < nr_used; i++)
		used[i]->setup(i);
	jobs_make(proto_find);
}

/* --- connections are there before the jobs start */

struct dial {
	struct ev ev;
	struct proto *p;
	u32	a;
	u32	b;
};

static u64 dials;

static void dial(struct ev *e)
{
	struct dial *d = container_of(e, struct dial, ev);

	d->p->connect(d->a, d->b);
	dials--;
	free(d);
}

static void dial_later(struct proto *p, u32 a, u32 b)
{
	struct dial *d;

	if (!p->connect)
		return;
	d = calloc(1, sizeof(*d));
	d->ev.fn = dial;
	d->p = p;
	d->a = a;
	d->b = b;
	wheel_add(&fab.wheel, &d->ev, fab_now() + ++dials * SETUP_SPREAD);
}

static bool all_ready(void)
{
	u8 i;

	for (i = 0; i < nr_used; i++)
		if (used[i]->ready && !used[i]->ready())
			return false;
	return !dials;
}

static void connect_all(void)
{
	u64 until = fab_now() + SETUP_LIMIT;

	jobs_pairs(dial_later);
	while (!all_ready())
		SCALE_CHECK(wheel_step(&fab.wheel, until));
	/* What set-up left behind in queues and timers is over */
	until = fab_now() + 20 * NSEC_PER_MSEC;
	while (wheel_step(&fab.wheel, until))
		;
	fab.wheel.now = max(fab.wheel.now, until);
}

static bool all_reported(void)
{
	u64 i;

	for (i = xfers_nr(); i; i--)
		if (!xfer_at(i - 1)->reported &&
		    jobs_all[xfer_at(i - 1)->job].proto == &proto_dlcp)
			return false;
	return true;
}

static void run(void)
{
	u64 until = fab_now() + par.stop_ms * NSEC_PER_MSEC;

	memset(&fab.stats, 0, sizeof(fab.stats));
	faults_start();
	jobs_start();
	while (jobs_running && wheel_step(&fab.wheel, until))
		;
	until = min(until, fab_now() + REPORTS);
	while (!jobs_running && !all_reported() &&
	       wheel_step(&fab.wheel, until))
		;
}

/* --- what it says */

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* "name": {count, mean, quantiles}, in microseconds */
static void say_times(const char *name, double *v, u64 nr)
{
	static const double at[] = { 0.5, 0.99, 0.999 };
	static const char *const is[] = { "p50", "p99", "p999" };
	double sum = 0;
	u64 i;

	qsort(v, nr, sizeof(*v), by_size);
	for (i = 0; i < nr; i++)
		sum += v[i];
	printf("\"%s\":{\"nr\":%llu", name, nr);
	if (nr) {
		printf(",\"mean\":%.4f,\"max\":%.4f", sum / (double)nr,
		       v[nr - 1]);
		for (i = 0; i < ARRAY_SIZE(at); i++)
			printf(",\"%s\":%.4f", is[i],
			       v[(u64)(at[i] * (double)(nr - 1) + 0.5)]);
	}
	if (nr && par.cdf) {
		printf(",\"cdf\":[");
		for (i = 0; i <= 200; i++)
			printf("%s%.4g", i ? "," : "", v[i * (nr - 1) / 200]);
		printf("]");
	}
	printf("},");
}

static void say_steps(void)
{
	double *us = calloc(jobs_nr * par.steps, sizeof(*us));
	double *times = calloc(jobs_nr * par.steps, sizeof(*us));
	double *ideal = calloc(jobs_nr * par.steps, sizeof(*us));
	double floor = 0;
	struct job *j;
	u64 nr = 0;
	u32 i;

	for (j = jobs_all; j < jobs_all + jobs_nr; j++) {
		floor += (double)j->floor / 1e3 / jobs_nr;
		for (i = 0; i < par.steps && j->time[i]; i++) {
			us[nr] = (double)j->time[i] / 1e3;
			ideal[nr] = (double)(j->time[i] - j->late_cut[i]) /
				    (double)j->ideal[i];
			times[nr++] = (double)j->time[i] / (double)j->floor;
		}
	}
	printf("\"floor_us\":%.1f,\"steps_wanted\":%llu,", floor,
	       jobs_nr * par.steps);
	say_times("step_us", us, nr);
	say_times("step_x", times, nr);
	say_times("ideal_x", ideal, nr);
	free(us);
	free(times);
	free(ideal);
}

/* The mean of a job's steps, as multiples of its floor, in the order of the jobs */
static void say_jobs(void)
{
	const struct job *j;
	u64 sum, nr;

	printf("\"job_x\":[");
	for (j = jobs_all; j < jobs_all + jobs_nr; j++) {
		for (sum = 0, nr = 0; nr < par.steps && j->time[nr]; nr++)
			sum += j->time[nr];
		printf("%s%.4f", j > jobs_all ? "," : "",
		       nr ? (double)sum / (double)nr / (double)j->floor : 0);
	}
	printf("],");
}

static void say_messages(void)
{
	double *us = calloc(xfers_nr() + 1, sizeof(*us)), share = 1;
	u64 i, nr = 0, open = 0, unreported = 0, missing = 0, bytes = 0;
	struct xfer *x;

	for (i = 0; i < xfers_nr(); i++) {
		x = xfer_at(i);
		open += !x->done_at;
		unreported += x->done_at && !x->reported &&
			      jobs_all[x->job].proto == &proto_dlcp;
		if (!x->done_at || !xfer_counts(x))
			continue;
		us[nr++] = (double)(x->done_at - x->sent_at) / 1e3;
		missing += x->missing;
		bytes += x->bytes;
		share = min(share, 1 - (double)x->missing / (double)x->bytes);
	}
	say_times("message_us", us, nr);
	printf("\"unfinished\":%llu,\"unreported\":%llu,\"bytes\":%llu,"
	       "\"missing\":%llu,\"least_share\":%.6f,", open, unreported,
	       bytes, missing, share);
	free(us);
}

/* ns at which the last message of @job from each rank to @rank came in @step */
static u64 last_to(u32 job, u32 step, u32 rank, u64 *from, u32 ranks)
{
	struct xfer *x;
	u64 i, nr = 0;

	memset(from, 0, ranks * sizeof(*from));
	for (i = 0; i < xfers_nr(); i++) {
		x = xfer_at(i);
		if (x->job != job || x->step != step || x->to_rank != rank)
			continue;
		from[x->from_rank] = max(from[x->from_rank], x->done_at);
		nr++;
	}
	return nr;
}

/* For how long all of a step but one sender's messages had come: [to, from, us] */
static void say_waits(const struct job *j)
{
	u32 ranks = j->nr_workers + j->nr_servers, to, i, last;
	u64 *from = calloc(ranks, sizeof(*from)), before;
	u64 step = par.warm;
	bool more = false;

	printf("\"waits\":[");
	for (; step < par.warm + par.steps; step++) {
		for (to = 0; to < ranks; to++) {
			if (!last_to(j->nr, (u32)step, to, from, ranks))
				continue;
			for (last = 0, i = 1; i < ranks; i++)
				if (from[i] > from[last])
					last = i;
			for (before = 0, i = 0; i < ranks; i++)
				if (i != last)
					before = max(before, from[i]);
			if (!before)
				continue;
			printf("%s[%u,%u,%.1f]", more ? "," : "", to, last,
			       (double)(from[last] - before) / 1e3);
			more = true;
		}
	}
	printf("],");
	free(from);
}

static void say_network(void)
{
	const struct fabric_stats *s = &fab.stats;
	u32 i;

	printf("\"packets\":%llu,\"drops\":%llu,\"early\":%llu,\"marks\":%llu,"
	       "\"trims\":%llu,\"bounced\":%llu,\"faults\":%llu,"
	       "\"queue_max\":%.1f,\"queue_mean\":%.2f,", s->packets, s->drops,
	       s->early, s->marks, s->trims, s->bounced, s->faults,
	       (double)s->queue_max / par_wire(),
	       (double)s->queue_sum / (double)max(s->packets, 1ULL) /
	       par_wire());
	if (!par.cdf)
		return;
	printf("\"queue_bins\":[");
	for (i = 0; i <= FABRIC_BINS; i++)
		printf("%s%llu", i ? "," : "", s->bins[i]);
	printf("],");
	say_waits(jobs_all);
}

static void say_protos(void)
{
	struct proto_stats s;
	u8 i;

	for (i = 0; i < nr_used; i++) {
		memset(&s, 0, sizeof(s));
		used[i]->stats(&s);
		printf("\"%s\":{\"sent\":%llu,\"resent\":%llu,\"timeouts\":%llu,"
		       "\"spurious\":%llu,\"failed\":%llu,\"error\":%llu,"
		       "\"unopened\":%llu,\"cut\":%llu,\"holes\":%llu},", used[i]->name, s.sent,
		       s.resent, s.timeouts, s.spurious, s.failed, s.late_by,
		       s.unopened, s.cut, s.holes);
	}
}

/* getrusage() would count whoever called exec(), too */
static long most_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kb = 0;

	while (f && fgets(line, sizeof(line), f) &&
	       sscanf(line, "VmHWM: %ld", &kb) != 1)
		;
	if (f)
		fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	int i;

	param_parse(argc, argv);
	net_setup();
	connect_all();
	run();
	printf("{\"args\":\"");
	for (i = 1; i < argc; i++)
		printf("%s%s", i > 1 ? " " : "", argv[i]);
	printf("\",\"seed\":%llu,", par.seed);
	say_steps();
	say_jobs();
	say_messages();
	say_network();
	say_protos();
	printf("\"hash\":\"%016llx\",\"events\":%llu,\"rss_kb\":%ld,"
	       "\"cpu_s\":%.2f}\n", fab.hash, fab.wheel.done, most_kb(),
	       (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
