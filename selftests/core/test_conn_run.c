// SPDX-License-Identifier: GPL-2.0
/* Runs: several packets that the engine takes at once. They do what each of them alone
 * would do, or nothing.
 */
#include <sys/mman.h>

#include "conn_int.h"
#include "test_conn.h"

#define SEG	1000
#define SEGS	20

static const struct dlcp_open opened = {
	.key = 5, .length = SEGS * SEG, .seg_size = SEG, .elem_size = 1,
	.nr_critical = SEGS / 2, .wait = 3, .prio = 2,
};

/* One run: its first packet */
struct first {
	struct dlcp_hdr		h;
	struct dlcp_data	d;
	struct dlcp_arrival	a;
};

/* With the open block of @o, or without */
static struct first run_of(struct sim *s, u32 seg, const struct dlcp_open *o)
{
	struct first f = {
		.h = { .type = DLCP_PT_DATA, .flags = DLCP_F_QUEUED },
		.d = { .pn = next_pn, .seg = seg, .len = SEG },
		.a = { .now = s->now, .wire = s->now, .ce = true },
	};

	if (o) {
		f.h.flags |= DLCP_F_OPEN;
		f.d.open = *o;
	}
	return f;
}

/* The last packet has @last bytes */
static bool take_run_to(struct sim *s, const struct first *f, u32 nr, u32 last)
{
	struct dlcp_rxmsg *m;
	bool taken = dlcp_conn_rx_run(&s->ep[1].c, &f->h, &f->d, &f->a, nr, last,
				      &m);

	next_pn += taken ? nr : 0;
	return taken;
}

static bool take_run(struct sim *s, const struct first *f, u32 nr)
{
	return take_run_to(s, f, nr, f->d.len);
}

/* What a run says of its last packet none of the others does */
static void take_each_to(struct sim *s, struct first f, u32 nr, u32 len)
{
	u8 last = f.h.flags & DLCP_F_LAST;
	struct dlcp_rxmsg *m;
	void *kept;

	f.h.flags ^= last;
	while (nr--) {
		f.h.flags |= nr ? 0 : last;
		f.d.len = nr ? f.d.len : len;
		SIM_CHECK(s, dlcp_conn_rx_data(&s->ep[1].c, &f.h, &f.d, &f.a,
					       &m, &kept) == DLCP_OK);
		f.d.pn++;
		f.d.seg++;
		next_pn++;
	}
}

static void take_each(struct sim *s, struct first f, u32 nr)
{
	take_each_to(s, f, nr, f.d.len);
}

/* A receiver that has the open message, and of it the first segment */
static struct sim *begun(void)
{
	struct sim *s = receiver();
	struct first f = run_of(s, 0, &opened);

	take_each(s, f, 1);
	return s;
}

/* All of the engine that a packet may change */
struct state {
	u64	cnt[DLCP_CNT_MAX];
	u8	window[sizeof(struct dlcp_recv_window)];
	u64	numbers[DLCP_RECV_WORDS];
	u64	bits, received, last;
	u64	buffered, t_ack;
	u32	critical, wait, bad, queued;
};

static struct state state_of(struct sim *s)
{
	struct dlcp_conn *c = &s->ep[1].c;
	struct dlcp_rxmsg *m = dlcp_conn_rx_find(c, 0);
	struct state t;

	memset(&t, 0, sizeof(t));
	memcpy(t.cnt, c->cnt, sizeof(t.cnt));
	memcpy(t.window, c->recv0, sizeof(t.window));
	memcpy(t.numbers, c->recv0->words, sizeof(t.numbers));
	t.bits = m->map.bits[0];
	t.received = m->received;
	t.last = m->last;
	t.critical = m->critical;
	t.wait = m->open.wait;
	t.buffered = c->credit.buffered;
	t.t_ack = c->ctrl.ack;
	t.bad = c->credit.bad;
	t.queued = c->credit.queued;
	return t;
}

static void same(const struct sim *s, const struct state *a,
		 const struct state *b)
{
	SIM_CHECK(s, !memcmp(a, b, sizeof(*a)));
}

/* @nr packets from @seg on of @flags and @cls, after the first of the message */
static void compare(u32 seg, u32 nr, u8 flags, u8 cls,
		    const struct dlcp_open *o)
{
	struct state state[2];
	struct first f;
	struct sim *s;
	u32 i;

	for (i = 0; i < 2; i++) {
		s = begun();
		f = run_of(s, seg, o);
		f.h.flags |= flags;
		f.h.cls = cls;
		if (i)
			SIM_CHECK(s, take_run(s, &f, nr));
		else
			take_each(s, f, nr);
		state[i] = state_of(s);
		SIM_CHECK(s, state[i].received == (nr + 1) * SEG);
		sim_free(s);
	}
	same(s, &state[0], &state[1]);
}

static void run__does_what_its_packets_do(void)
{
	struct dlcp_open later = opened;

	compare(1, 10, 0, 0, NULL);
	compare(5, 3, DLCP_F_ACK_NOW, 0, NULL);
	compare(9, 11, DLCP_F_SENT, 0, NULL);
	compare(1, 10, 0, dlcp_cls(2, DLCP_TAG_CRITICAL), NULL);
	compare(1, 10, 0, 0, &opened);
	compare(1, 4, DLCP_F_ACK_NOW | DLCP_F_SENT, 0, &opened);
	/* The sender has learned what a round trip is */
	later.wait = 77;
	compare(1, 10, 0, 0, &later);
}

/* What is refused has changed nothing, and each of it alone may be taken */
static void refused(struct sim *s, const struct first *f, u32 nr)
{
	struct state before = state_of(s), after;

	SIM_CHECK(s, !take_run(s, f, nr));
	after = state_of(s);
	same(s, &before, &after);
}

/* One message under one number: its open block is the same in all its packets */
static void run__wants_the_same_open_block(void)
{
	struct sim *s = begun();
	struct dlcp_open o = opened;
	struct first f;

	o.length -= SEG;
	f = run_of(s, 1, &o);
	refused(s, &f, 4);
	o = opened;
	o.loss_ppm = 1000000;
	f = run_of(s, 1, &o);
	refused(s, &f, 4);
	f = run_of(s, 1, &opened);
	SIM_CHECK(s, take_run(s, &f, 4));
	sim_free(s);
}

/* A receiver that knows a message beside that of the tests */
static struct sim *heard(void)
{
	struct sim *s = receiver();
	struct first f = run_of(s, 0, &opened);

	f.d.msg = 1;
	take_each(s, f, 1);
	return s;
}

/* As of a small message, all of which comes at once: the last segment is shorter */
static void run__opens_its_message(void)
{
	struct dlcp_open o = opened;
	struct state state[2];
	struct first f;
	struct sim *s;
	u32 i;

	o.length = 3 * SEG - SEG / 4;
	o.nr_critical = 0;
	for (i = 0; i < 2; i++) {
		s = heard();
		/* It shall not be over, and gone */
		f = run_of(s, 1, &o);
		if (i)
			SIM_CHECK(s, take_run_to(s, &f, 2, SEG - SEG / 4));
		else
			take_each_to(s, f, 2, SEG - SEG / 4);
		state[i] = state_of(s);
		SIM_CHECK(s, state[i].received == o.length - SEG);
		sim_free(s);
	}
	same(s, &state[0], &state[1]);
}

static void run__wants_a_message(void)
{
	struct sim *s = heard();
	struct first f = run_of(s, 0, NULL);

	SIM_CHECK(s, !take_run(s, &f, 4));
	SIM_CHECK(s, !dlcp_conn_rx_find(&s->ep[1].c, 0));
	/* The last one is not as long as the message says */
	f = run_of(s, 17, &opened);
	SIM_CHECK(s, !take_run_to(s, &f, 3, SEG - 1));
	SIM_CHECK(s, take_run(s, &f, 3));
	sim_free(s);
}

static void run__refuses_what_does_not_fit(void)
{
	struct sim *s = begun();
	struct first f;

	/* More than there are, and more critical ones than announced */
	f = run_of(s, 10, NULL);
	refused(s, &f, 11);
	f = run_of(s, 1, NULL);
	f.h.cls = dlcp_cls(2, DLCP_TAG_CRITICAL);
	refused(s, &f, 11);
	/* Of another length, with one that is here, and sent before another */
	f = run_of(s, 1, NULL);
	f.d.len--;
	refused(s, &f, 4);
	f = run_of(s, 0, NULL);
	refused(s, &f, 4);
	f = run_of(s, 1, NULL);
	f.d.pn = next_pn - 1;
	refused(s, &f, 4);
	/* Over a path that nothing came by, and not where it should come */
	f = run_of(s, 1, NULL);
	f.h.path = 3;
	refused(s, &f, 4);
	f = run_of(s, 1, NULL);
	f.a.elsewhere = true;
	refused(s, &f, 4);
	f = run_of(s, 1, NULL);
	SIM_CHECK(s, take_run(s, &f, 4));
	sim_free(s);
}

/* Beyond the credit nothing reaches the map, not even its first packets */
static void run__refuses_what_is_not_allowed(void)
{
	struct sim *s = begun();
	struct dlcp_conn *c = &s->ep[1].c;
	struct first f = run_of(s, 1, NULL);

	dlcp_conn_reader(c, dlcp_conn_rx_find(c, 0), false);
	c->cfg.rx_space = 0;
	c->cfg.unsolicited = 0;
	refused(s, &f, 4);
	sim_free(s);
}

/* However long a message is: what of its map is behind a run is not looked at */
static void run__looks_at_its_part_of_the_map(void)
{
	const u32 page = 65536, first = 100, n = 64;
	u8 *mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dlcp_segmap m;
	u32 i;

	CHECK(mem != MAP_FAILED);
	CHECK_EQ(mprotect(mem + page, page, PROT_NONE), 0);
	dlcp_segmap_init(&m, (u64 *)mem, 16 * page);
	for (i = first; i + n < 8 * page; i += n)
		CHECK(dlcp_segmap_set_run(&m, i, n));
	CHECK_EQ(m.count, i - first);
	munmap(mem, 2 * page);
}

TESTS(T(run__does_what_its_packets_do), T(run__looks_at_its_part_of_the_map), T(run__wants_the_same_open_block),
      T(run__wants_a_message), T(run__opens_its_message), T(run__refuses_what_does_not_fit),
      T(run__refuses_what_is_not_allowed))
