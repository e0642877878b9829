// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: KIND:WHERE:FROM:UNTIL[:VALUE], times in microseconds from the start of
 * the jobs, UNTIL 0: for ever.
 *
 *	loss	VALUE packets of a million are lost
 *	dead	all are
 *	flap	dead and alive in turn, VALUE microseconds each
 *	slow	the rate is VALUE percent
 *	straggler	a host computes VALUE percent as long
 *	reboot	its links are dead, and it has forgotten its connections
 *
 * WHERE is one end of a link, - for both directions or > for one, and the other
 * end: h for hosts, l leaves, a aggregation, s spines, and a number or *. Of a
 * straggler and a reboot it is a host: h3.
 */
#include "faults.h"
#include "ideal.h"

#define KINDS	" loss dead flap slow straggler reboot "

struct fault {
	struct ev ev;
	char	kind[16];
	char	a[16];
	char	b[16];
	char	way;
	u64	until;		/* ns */
	u64	value;
	bool	on;
	u32	hits;
};

static bool names(const char *name, const struct node *n)
{
	return name[0] == n->kind &&
	       (name[1] == '*' || strtoul(name + 1, NULL, 10) == n->nr);
}

static void set_port(struct port *p, void *arg)
{
	struct fault *f = arg;
	bool there = names(f->a, p->from) && names(f->b, p->to);
	bool back = f->way == '-' && names(f->b, p->from) && names(f->a, p->to);

	if (!there && !back)
		return;
	f->hits++;
	if (!strcmp(f->kind, "loss"))
		p->loss_ppm = f->on ? (u32)f->value : 0;
	else if (!strcmp(f->kind, "slow"))
		p->ps_per_byte = f->on ? p->ps_per_byte * 100 / f->value :
				 p->ps_per_byte * f->value / 100;
	else
		p->dead += f->on ? 1 : -1;
}

static void set_host(struct fault *f)
{
	u32 i;

	for (i = 0; i < par.hosts; i++) {
		if (!names(f->a, &fab.nodes[i]))
			continue;
		if (!strcmp(f->kind, "reboot"))
			fab.boot(i, !f->on);
		else
			fab.slow[i] = f->on ? (u32)f->value : 100;
		f->hits++;
	}
}

static void turn(struct ev *e)
{
	struct fault *f = container_of(e, struct fault, ev);
	bool host = strstr(" straggler reboot ", f->kind);
	bool flap = !strcmp(f->kind, "flap");
	u64 next = f->until;

	f->on = !f->on;
	if (strcmp(f->kind, "straggler"))
		fabric_ports(set_port, f);
	if (host)
		set_host(f);
	if (!f->hits) {
		fprintf(stderr, "scale: a fault is nowhere\n");
		exit(2);
	}
	ideal_fault();
	if (flap && (f->on || !f->until || fab_now() < f->until))
		next = fab_now() + f->value * NSEC_PER_USEC;
	else if (!f->on)
		return;
	if (next)
		wheel_add(&fab.wheel, e, max(next, fab_now() + 1));
}

void faults_start(void)
{
	unsigned long long from, until, value = 0;
	struct fault *f;
	char where[40];
	u32 i;
	int n;

	for (i = 0; i < par.nr_faults; i++) {
		f = calloc(1, sizeof(*f));
		n = sscanf(par.fault[i], "%15[^:]:%39[^:]:%llu:%llu:%llu",
			   f->kind, where, &from, &until, &value);
		if (n >= 4)
			n = sscanf(where, "%15[^->]%c%15s", f->a, &f->way, f->b);
		if (n < 1 || !strstr(KINDS, f->kind) ||
		    (strchr("fs", f->kind[0]) && !value)) {
			fprintf(stderr, "scale: fault=%s makes no sense\n",
				par.fault[i]);
			exit(2);
		}
		if (!strcmp(f->kind, "reboot")) {
			f->way = '-';
			strcpy(f->b, "l*");
		}
		f->value = value;
		f->until = until ? fab_now() + until * NSEC_PER_USEC : 0;
		f->ev.fn = turn;
		wheel_add(&fab.wheel, &f->ev, fab_now() + from * NSEC_PER_USEC);
	}
}
