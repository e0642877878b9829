// SPDX-License-Identifier: GPL-2.0
#include "param.h"

struct scale_param par = {
	.topo = "star", .disc = "auto", .hosts = 2, .per = 16, .spines = 4,
	.k = 4, .rails = 1, .mbps = 10000, .delay_ns = 1000, .mtu = 1500,
	.queue = 128, .ecn = 30, .seed = 1, .steps = 3, .warm = 1,
	.stop_ms = 20000, .shift = 5, .bits = 8, .paths = 1,
	.grants = 1, .order = 1, .dead_ms = 30000, .modern = 1,
};

/* What each job begins with */
static struct job_param base = {
	.kind = "ps", .proto = "dlcp", .place = "random", .jobs = 1,
	.workers = 1, .servers = 1, .bytes = 1000000, .jitter_ns = 1000,
};

struct key {
	const char *name;
	size_t	at;
	bool	text;
};

#define NUM(f)	{ #f, offsetof(struct scale_param, f), false }
#define TEXT(f)	{ #f, offsetof(struct scale_param, f), true }

static const struct key keys[] = {
	TEXT(topo), TEXT(disc), NUM(hosts), NUM(per), NUM(spines), NUM(k),
	NUM(rails), NUM(mbps), NUM(up_mbps), NUM(delay_ns), NUM(mtu),
	NUM(queue), NUM(ecn), NUM(ecn_min), NUM(bands), NUM(spray), NUM(seed),
	NUM(steps), NUM(warm), NUM(stop_ms), NUM(shift), NUM(bits), NUM(cdf),
	TEXT(cong), NUM(paths), NUM(grants), NUM(order), NUM(rx_space),
	NUM(dead_ms), NUM(lose_credits), NUM(rto_us), NUM(modern), NUM(credit),
};

#undef NUM
#undef TEXT
#define NUM(f)	{ #f, offsetof(struct job_param, f), false }
#define TEXT(f)	{ #f, offsetof(struct job_param, f), true }

static const struct key job_keys[] = {
	TEXT(proto), TEXT(place), NUM(jobs), NUM(workers), NUM(servers),
	NUM(bytes), NUM(pull), NUM(dear), NUM(prio), NUM(loss_ppm),
	NUM(pull_ppm), NUM(droppable), NUM(backward_us), NUM(forward_us),
	NUM(gap_us), NUM(jitter_ns),
};

static void bad(const char *arg)
{
	fprintf(stderr, "scale: %s makes no sense\n", arg);
	exit(2);
}

static void set_text(char *to, const char *value, const char *arg)
{
	if (strlen(value) >= SCALE_TEXT_MAX)
		bad(arg);
	strcpy(to, value);
}

/* As 2, 1.5e6 */
static u64 number(const char *value, const char *arg, char **end)
{
	double v = strtod(value, end);

	if (*end == value || v < 0 || v > 1e18)
		bad(arg);
	return (u64)(v + 0.5);
}

static bool set_key(const struct key *k, size_t nr, char *to, const char *name,
		    size_t len, const char *value, const char *arg)
{
	char *end;
	u64 v;

	for (; nr; nr--, k++)
		if (!strncmp(k->name, name, len) && !k->name[len])
			break;
	if (!nr)
		return false;
	if (k->text) {
		set_text(to + k->at, value, arg);
		return true;
	}
	v = number(value, arg, &end);
	if (*end)
		bad(arg);
	memcpy(to + k->at, &v, sizeof(v));
	return true;
}

/* Return: how many numbers there are */
static u32 set_list(u64 *to, const char *value, const char *arg)
{
	char *end;
	u32 nr;

	for (nr = 0; *value; value = *end ? end + 1 : end) {
		if (nr == SCALE_LAYERS_MAX)
			bad(arg);
		to[nr++] = number(value, arg, &end);
		if (*end && *end != ',')
			bad(arg);
	}
	return nr;
}

static void set_one(const char *arg)
{
	struct job_param *j = par.nr_jobs ? &par.job[par.nr_jobs - 1] : &base;
	const char *value = strchr(arg, '=');
	size_t len;

	if (!value)
		bad(arg);
	len = value++ - arg;
	if (!strncmp(arg, "job=", 4)) {
		if (par.nr_jobs == SCALE_JOBS_MAX)
			bad(arg);
		j = &par.job[par.nr_jobs++];
		*j = base;
		set_text(j->kind, value, arg);
	} else if (!strncmp(arg, "layers=", 7)) {
		j->nr_layers = set_list(j->layers, value, arg);
	} else if (!strncmp(arg, "work=", 5)) {
		j->nr_work = set_list(j->work, value, arg);
	} else if (!strncmp(arg, "fault=", 6)) {
		if (par.nr_faults == SCALE_FAULTS_MAX ||
		    strlen(value) >= sizeof(par.fault[0]))
			bad(arg);
		strcpy(par.fault[par.nr_faults++], value);
	} else if (!set_key(keys, ARRAY_SIZE(keys), (char *)&par, arg, len,
			    value, arg) &&
		   !set_key(job_keys, ARRAY_SIZE(job_keys), (char *)j, arg, len,
			    value, arg)) {
		bad(arg);
	}
}

static void check_jobs(void)
{
	struct job_param *j;
	u32 i;

	for (i = 0; i < par.nr_jobs; i++) {
		j = &par.job[i];
		if (!strcmp(j->kind, "ring"))
			j->servers = 0;
		else if (strcmp(j->kind, "ps"))
			bad(j->kind);
		if (!j->workers || !j->jobs || j->loss_ppm > 1000000 ||
		    j->pull_ppm > 1000000 || j->workers + j->servers > par.hosts)
			bad(j->kind);
		if (!j->nr_layers)
			j->layers[j->nr_layers++] = j->bytes;
		if (j->nr_work && j->nr_work != j->nr_layers)
			bad("work");
	}
}

/* A job to each key before the first job= if there is none */
void param_parse(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		set_one(argv[i]);
	if (!par.nr_jobs)
		par.job[par.nr_jobs++] = base;
	if (!strcmp(par.topo, "fat"))
		par.hosts = par.k * par.k * par.k / 4;
	if (!par.up_mbps)
		par.up_mbps = par.mbps;
	if (!par.ecn_min)
		par.ecn_min = par.ecn;
	if (par.hosts < 2 || !par.rails || par.rails > 5 || !par.mbps ||
	    par.mtu < 576 || par.mtu > 9000 || !par.queue || !par.steps ||
	    par.bits < 2 || par.bits > 12 || par.shift > 20 || !par.per ||
	    (!strcmp(par.topo, "fat") && (par.k < 2 || par.k % 2)))
		bad("the network");
	check_jobs();
}
