// SPDX-License-Identifier: GPL-2.0
/* A socket and a queue of its own host that holds so many packets of it. */
#include "test.h"
#include "txlimit.h"

#define PACKET	2304U
#define MS	1000000ULL

struct queue {
	struct dlcp_txlimit l;
	u64	now;
	u32	out;		/* bytes in the queue */
	u32	room;		/* packets it holds */
	u32	tried;
	u32	refused;
	u32	idle;		/* the device found nothing to send */
};

/* The socket queues until it is told to wait, or was refused */
static void queue_fill(struct queue *q)
{
	u32 batch;

	while (!dlcp_txlimit_wait(&q->l, q->out, q->now)) {
		for (batch = 0; batch < 8; batch++) {
			q->tried++;
			if (q->out >= q->room * PACKET) {
				q->refused++;
				dlcp_txlimit_refused(&q->l, q->out, q->now);
			} else {
				q->out += PACKET;
			}
		}
	}
}

/* So many packet times of 1 us */
static void queue_run(struct queue *q, u32 packets)
{
	while (packets--) {
		q->now += 1000;
		if (q->out)
			q->out -= PACKET;
		else
			q->idle++;
		if (!q->l.full || dlcp_txlimit_room(&q->l, q->out))
			queue_fill(q);
	}
}

static void txlimit__none_until_refused(void)
{
	struct dlcp_txlimit l = { 0 };

	CHECK_EQ(dlcp_txlimit_wait(&l, 1U << 30, 0), 0);
	CHECK_EQ(dlcp_txlimit_wait(&l, 1U << 30, ~0ULL), 0);
}

/* The device is never idle, and few are refused, whatever the queue holds */
static void txlimit__finds_the_queue(void)
{
	static const u32 rooms[] = { 16, 100, 1000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		struct queue q = { .room = rooms[i] };

		queue_fill(&q);
		queue_run(&q, 2000000);
		CHECK_EQ(q.idle, 0);
		CHECK(q.refused);
		CHECK(q.refused * 500ULL < q.tried);
		CHECK(q.l.limit > rooms[i] * PACKET / 2);
		CHECK(q.l.limit < 2 * rooms[i] * PACKET);
	}
}

/* It grows with the queue */
static void txlimit__queue_grows(void)
{
	struct queue q = { .room = 20 };

	queue_fill(&q);
	queue_run(&q, 5000000);
	q.room = 2000;
	queue_run(&q, 20000000);
	CHECK(q.l.limit > 500 * PACKET);
	CHECK_EQ(q.idle, 0);
}

/* Full of others' packets: neither for ever nor all the time */
static void txlimit__full_of_others(void)
{
	struct queue q = { .room = 0 };
	u32 i;

	for (i = 0; i < 1000; i++) {
		u64 wait = dlcp_txlimit_wait(&q.l, 0, q.now);

		if (!wait)
			queue_fill(&q);
		CHECK(wait <= DLCP_TXLIMIT_RETRY);
		q.now += 100000;
	}
	CHECK(q.tried > 8 * 50);
	CHECK(q.tried <= 8 * 101);
	/* Then it counts as lost: the device may never take it */
	CHECK_EQ(q.l.tries, DLCP_TXLIMIT_TRIES);
	CHECK(!dlcp_txlimit_refused(&q.l, 0, q.now));
	/* Unless something of ours is there, or it is long ago */
	CHECK(dlcp_txlimit_refused(&q.l, 100 * PACKET, q.now));
	q.l.full = false;
	CHECK(dlcp_txlimit_refused(&q.l, 0, q.now));
	q.room = 100;
	queue_run(&q, 10000);
	CHECK(q.out);
}

TESTS(T(txlimit__none_until_refused),
      T(txlimit__finds_the_queue),
      T(txlimit__queue_grows),
      T(txlimit__full_of_others))
