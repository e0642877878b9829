// SPDX-License-Identifier: GPL-2.0
/* Several threads receive from one socket, or send to it. */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "lib.h"

struct reading {
	int	fd;
	int	*seen;	/* by key */
	int	nr;
};

static void reading_main(void *arg)
{
	struct reading *r = arg;
	struct got g;

	got_init(&g, 3000);
	while (recv_any(r->fd, &g, 0) >= 0 && !g.eof) {
		struct msg m = MSG(.len = 100 + g.msg.key, .key = g.msg.key);

		check_got(&m, &g);
		__atomic_add_fetch(&r->seen[g.msg.key], 1, __ATOMIC_RELAXED);
		memset(g.buf, CANARY, g.size);
	}
	EXPECT(g.eof);
	got_free(&g);
}

TEST(many_readers)
{
	struct pair p = pair_lo();
	int seen[400] = { 0 }, i;
	struct reading r = { p.b, seen, ARRAY_SIZE(seen) };
	struct task t[4];

	for (i = 0; i < 4; i++)
		task_start(&t[i], reading_main, &r);
	for (i = 0; i < r.nr; i++)
		must_send(p.a, &MSG(.len = 100 + i, .key = i));
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	for (i = 0; i < 4; i++)
		task_join(&t[i]);
	for (i = 0; i < r.nr; i++)
		EXPECT_EQ(seen[i], 1);
}

static void keyed_reader(void *arg)
{
	struct msg *m = ((struct sending *)arg)->m;
	struct got g;

	got_init(&g, m->len);
	ASSERT_OK(recv_key(((struct sending *)arg)->fd, &g, m->key, 0));
	check_got(m, &g);
	got_free(&g);
}

/* Each waits for its own, sent in the opposite order */
TEST(readers_by_key)
{
	struct pair p = pair_lo();
	struct msg m[5];
	struct sending s[5];
	struct task t[5];
	int i;

	for (i = 0; i < 5; i++) {
		m[i] = MSG(.len = 20000 * (i + 1), .key = i);
		s[i] = (struct sending){ p.b, &m[i] };
		task_start(&t[i], keyed_reader, &s[i]);
	}
	for (i = 4; i >= 0; i--)
		must_send(p.a, &m[i]);
	for (i = 0; i < 5; i++)
		task_join(&t[i]);
}

static void sender_main(void *arg)
{
	struct reading *r = arg;
	int k;

	while ((k = __atomic_fetch_add(r->seen, 1, __ATOMIC_RELAXED)) < r->nr)
		must_send(r->fd, &MSG(.len = 100 + k, .key = k));
}

TEST(many_senders)
{
	struct pair p = pair_lo();
	int next = 0, seen[400] = { 0 }, i;
	struct reading w = { p.a, &next, 400 }, r = { p.b, seen, 400 };
	struct task t[4], reader;

	task_start(&reader, reading_main, &r);
	for (i = 0; i < 4; i++)
		task_start(&t[i], sender_main, &w);
	for (i = 0; i < 4; i++)
		task_join(&t[i]);
	ASSERT_OK(shutdown(p.a, SHUT_WR));
	task_join(&reader);
	for (i = 0; i < r.nr; i++)
		EXPECT_EQ(seen[i], 1);
}
