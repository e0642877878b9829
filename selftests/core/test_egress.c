// SPDX-License-Identifier: GPL-2.0
/* Turns on one device, which sends a packet at a time. */
#include "test.h"
#include "egress.h"

#define PACKET	2304U
#define SOCKS	40
#define WINDOW	64		/* packets of a socket on their way */

struct sock {
	struct dlcp_egress_entry entry;
	u64	left;		/* bytes of its message */
	u64	sent;
	u32	window;		/* packets that may be on their way */
	u8	prio;
};

struct host {
	struct dlcp_egress sched;
	struct sock s[SOCKS];
	u32	nr;
	u64	now;
	u64	out;		/* bytes in the queue */
	u64	idle;		/* packets the device could have sent */
	struct sock *queue[4096];	/* whose packet; a ring */
	u32	head, tail;
};

static struct host h;

static struct sock *host_add(u8 prio, u64 left)
{
	struct sock *s = &h.s[h.nr++];

	dlcp_egress_entry_init(&s->entry);
	s->prio = prio;
	s->left = left;
	s->window = WINDOW;
	return s;
}

static void host_init(void)
{
	memset(&h, 0, sizeof(h));
	dlcp_egress_init(&h.sched);
}

/* Packets of its own in the queue */
static u32 host_own(const struct sock *s)
{
	u32 i, n = 0;

	for (i = h.tail; i != h.head; i++)
		n += h.queue[i % ARRAY_SIZE(h.queue)] == s;
	return n;
}

static void host_send(struct sock *s, u32 packets)
{
	while (packets-- && s->left) {
		CHECK(h.head - h.tail < ARRAY_SIZE(h.queue));
		h.queue[h.head++ % ARRAY_SIZE(h.queue)] = s;
		h.out += PACKET;
		dlcp_egress_sent(&h.sched, &s->entry, PACKET);
		s->left -= min_t(u64, s->left, PACKET);
		s->sent += PACKET;
	}
}

/* It asks and sends until it is refused, or its window is full */
static void host_run(struct sock *s, u32 batch)
{
	u32 own;

	while (s->left && (own = host_own(s)) < s->window &&
	       dlcp_egress_ask(&h.sched, &s->entry, s->prio, s->left, h.out,
			       own * PACKET))
		host_send(s, min(batch, s->window - own));
	if (!s->left)
		dlcp_egress_quit(&h.sched, &s->entry);
	dlcp_egress_pass(&h.sched, &s->entry);
}

static void host_wake(u32 batch)
{
	struct dlcp_egress_entry *next;

	while ((next = dlcp_egress_call(&h.sched, h.out)))
		host_run(container_of(next, struct sock, entry), batch);
}

static void host_run_all(u32 batch)
{
	u32 i;

	for (i = 0; i < h.nr; i++)
		if (list_empty(&h.s[i].entry.node))
			host_run(&h.s[i], batch);
}

/* So many packet times of the device; whoever has room in its window asks */
static void host_time(u32 packets, u32 batch)
{
	while (packets--) {
		h.now += 1000;
		if (h.out) {
			h.out -= PACKET;
			h.tail++;
			dlcp_egress_freed(&h.sched, h.out, h.now);
		} else {
			h.idle++;
		}
		host_wake(batch);
		host_run_all(batch);
	}
}

static void egress__alone_nobody_waits(void)
{
	struct sock *s;

	host_init();
	s = host_add(7, 1000 * PACKET);
	s->window = 1000;
	host_run(s, 100);
	CHECK_EQ(s->left, 0);
	CHECK_EQ(h.sched.nr, 0);
}

/* However late they come, and in whatever order */
static void egress__urgent_first(void)
{
	struct sock *late, *front;

	host_init();
	late = host_add(7, 1000 * PACKET);
	host_add(6, 1000 * PACKET);
	host_run_all(8);
	host_time(100, 8);
	front = host_add(0, 200 * PACKET);
	host_run(front, 8);
	CHECK(front->left);
	/* What stood there before it, and one turn in 16, are not its own */
	host_time(200 * 16 / 15 + DLCP_EGRESS_LIMIT_FIRST / PACKET + 8, 8);
	CHECK_EQ(front->left, 0);
	CHECK(late->left > 800 * PACKET);
	CHECK_EQ(h.idle, 0);
}

static void egress__shorter_first(void)
{
	struct sock *small;
	u32 i;

	host_init();
	for (i = 0; i < 20; i++)
		host_add(3, (1000 + i) * PACKET);
	host_run_all(4);
	host_time(100, 4);
	small = host_add(3, 50 * PACKET);
	host_run(small, 4);
	host_time(50 * 16 / 15 + DLCP_EGRESS_LIMIT_FIRST / PACKET + 8, 4);
	CHECK_EQ(small->left, 0);
	/* and then the shortest of the others */
	host_time(1000 * 16 / 15 + 64, 4);
	CHECK_EQ(h.s[0].left, 0);
	CHECK(h.s[1].left);
}

/* One turn in 16, to each of those that wait */
static void egress__nobody_starves(void)
{
	u32 i;

	host_init();
	host_add(0, 1ULL << 40);
	for (i = 0; i < 8; i++)
		host_add(i, 1ULL << 40);
	host_run_all(4);
	host_time(100, 4);
	for (i = 0; i < h.nr; i++)
		h.s[i].sent = 0;
	host_time(12800, 4);
	CHECK(h.s[0].sent + h.s[1].sent > 11500ULL * PACKET);
	for (i = 2; i < h.nr; i++) {
		CHECK(h.s[i].sent > 80 * PACKET);
		CHECK(h.s[i].sent < 150 * PACKET);
	}
}

/* However large the batches of those ahead, and small its own: it has its part
 * of the bytes
 */
static void egress__small_batches_do_not_starve(void)
{
	struct sock *urgent, *late;
	struct dlcp_egress_entry *next;
	u32 i;

	host_init();
	urgent = host_add(0, 1ULL << 40);
	late = host_add(7, 1ULL << 40);
	host_run(urgent, 40);
	for (i = 0; i < 20000; i++) {
		h.now += 1000;
		if (h.out) {
			h.out -= PACKET;
			h.tail++;
			dlcp_egress_freed(&h.sched, h.out, h.now);
		}
		while ((next = dlcp_egress_call(&h.sched, h.out)))
			host_run(container_of(next, struct sock, entry),
				 next == &late->entry ? 1 : 40);
		if (list_empty(&urgent->entry.node))
			host_run(urgent, 40);
		if (list_empty(&late->entry.node))
			host_run(late, 1);
	}
	CHECK(late->sent > 20000ULL * PACKET / 20);
	CHECK(late->sent < 20000ULL * PACKET / 14);
}

/* A socket that does not come when it is called holds nobody up for long */
static void egress__who_is_called_may_be_late(void)
{
	struct dlcp_egress t;
	struct dlcp_egress_entry a, b;
	u32 limit;

	dlcp_egress_init(&t);
	dlcp_egress_entry_init(&a);
	dlcp_egress_entry_init(&b);
	limit = t.limit;
	CHECK(!dlcp_egress_ask(&t, &a, 0, 1, limit, 0));
	CHECK(!dlcp_egress_ask(&t, &b, 1, 1, limit, 0));
	CHECK(!dlcp_egress_call(&t, limit));
	CHECK(dlcp_egress_call(&t, limit - 1) == &a);
	CHECK(!dlcp_egress_call(&t, limit - 1));
	CHECK(dlcp_egress_call(&t, limit / 2) == &b);
	/* Then it waits like others */
	CHECK(!dlcp_egress_ask(&t, &a, 0, 1, limit, 0));
	CHECK(dlcp_egress_ask(&t, &b, 1, 1, limit, 0));
}

static void egress__who_leaves_is_forgotten(void)
{
	struct dlcp_egress t;
	struct dlcp_egress_entry a, b, c;

	dlcp_egress_init(&t);
	dlcp_egress_entry_init(&a);
	dlcp_egress_entry_init(&b);
	dlcp_egress_entry_init(&c);
	CHECK(!dlcp_egress_ask(&t, &a, 0, 1, t.limit, 0));
	CHECK(!dlcp_egress_ask(&t, &b, 1, 1, t.limit, 0));
	CHECK(!dlcp_egress_ask(&t, &c, 2, 1, t.limit, 0));
	CHECK_EQ(t.nr, 3);
	CHECK(dlcp_egress_call(&t, 0) == &a);
	dlcp_egress_quit(&t, &a);
	CHECK(!t.called);
	dlcp_egress_quit(&t, &b);
	CHECK_EQ(t.nr, 1);
	CHECK(dlcp_egress_call(&t, 0) == &c);
	dlcp_egress_pass(&t, &c);
	CHECK(!t.called);
	CHECK_EQ(t.nr, 0);
	CHECK(!dlcp_egress_call(&t, 0));
}

/* The queue becomes as short as the device allows, and the device is busy */
static void egress__limit_shrinks(void)
{
	host_init();
	host_add(0, 1ULL << 40);
	host_add(1, 1ULL << 40);
	host_run_all(1);
	host_time(100000, 1);
	CHECK(h.sched.limit <= 2 * DLCP_EGRESS_LIMIT_MIN);
	CHECK_EQ(h.idle, 0);
}

/*
 * Three are called before the first has come, as the queue is empty: each is let
 * through when it comes, though a fourth one waits for its turn.
 */
static void egress__called_is_called(void)
{
	struct dlcp_egress_entry a[4];
	struct dlcp_egress t;
	u32 i;

	dlcp_egress_init(&t);
	for (i = 0; i < 4; i++) {
		dlcp_egress_entry_init(&a[i]);
		CHECK(!dlcp_egress_ask(&t, &a[i], 1, 18560, U32_MAX, 0));
	}
	for (i = 0; i < 3; i++)
		CHECK(dlcp_egress_call(&t, 0) == &a[i]);
	for (i = 0; i < 3; i++)
		CHECK(dlcp_egress_ask(&t, &a[i], 1, 18560, 0, 0));
	dlcp_egress_quit(&t, &a[3]);
	/* A turn is used once, or passed */
	CHECK(!dlcp_egress_ask(&t, &a[0], 1, 18560, U32_MAX, 0));
	CHECK(dlcp_egress_call(&t, 0) == &a[0]);
	dlcp_egress_pass(&t, &a[0]);
	CHECK(!dlcp_egress_ask(&t, &a[0], 1, 18560, U32_MAX, 0));
}

/* A device that tells only now and then what it has sent needs more */
static void egress__limit_grows(void)
{
	u32 i, k, idle = 0;

	host_init();
	host_add(0, 1ULL << 40)->window = 2000;
	host_add(1, 1ULL << 40)->window = 2000;
	host_run_all(16);
	for (i = 0; i < 20000; i++) {
		h.now += 300000;
		for (k = 0; k < 250; k++) {
			if (h.out) {
				h.out -= PACKET;
				h.tail++;
			} else if (i > 1000) {
				idle++;
			}
		}
		dlcp_egress_freed(&h.sched, h.out, h.now);
		host_wake(16);
		host_run_all(16);
	}
	CHECK(h.sched.limit > 200 * PACKET);
	CHECK(h.sched.limit < 1000 * PACKET);
	/* It tries with less from time to time */
	CHECK(idle < 250 * 19000 / 100);
}

static void egress__limit_has_bounds(void)
{
	struct dlcp_egress t;
	struct dlcp_egress_entry a;
	u32 i;

	dlcp_egress_init(&t);
	dlcp_egress_entry_init(&a);
	/* Nobody waits: that nothing is there tells nothing */
	dlcp_egress_freed(&t, 0, 0);
	CHECK_EQ(t.limit, DLCP_EGRESS_LIMIT_FIRST);
	CHECK(!dlcp_egress_ask(&t, &a, 0, 1, U32_MAX, 0));
	for (i = 0; i < 100; i++)
		dlcp_egress_freed(&t, 0, i);
	CHECK_EQ(t.limit, DLCP_EGRESS_LIMIT_MAX);
	for (i = 0; i < 100; i++)
		dlcp_egress_freed(&t, U32_MAX, i * 2000000000ULL);
	CHECK_EQ(t.limit, DLCP_EGRESS_LIMIT_MIN);
}

TESTS(T(egress__alone_nobody_waits),
      T(egress__urgent_first),
      T(egress__shorter_first),
      T(egress__nobody_starves),
      T(egress__small_batches_do_not_starve),
      T(egress__who_is_called_may_be_late),
      T(egress__called_is_called),
      T(egress__who_leaves_is_forgotten),
      T(egress__limit_shrinks),
      T(egress__limit_grows),
      T(egress__limit_has_bounds))
