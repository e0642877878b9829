// SPDX-License-Identifier: GPL-2.0
/*
 * From tracepoints the lives of messages. Packets of a socket leave its host in the order in
 * which they were built (as long as they go by one device): one has left when no more is
 * charged to the socket than what was built later.
 */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "tool.h"
#include "trace.h"

const char *const part_names[NR_PARTS] = {
	"wait", "send", "queue", "repair", "network", "arrive", "reader",
};

/**
 * struct traced - a message under way
 * @sock: its socket, as the kernel prints it
 * @msg: its number
 * @sender: as in struct life
 * @key: likewise
 * @length: likewise
 * @missing: likewise
 * @packets: likewise
 * @resent: likewise
 * @peer: likewise
 * @why: 0: nothing is missing, or it was not over
 * @begun: times: it has a number, or was announced
 * @first: the first packet was built
 * @sent: the last one that is not sent again was built
 * @left: that one had left; 0: not yet
 * @repaired: the last one sent again had left, or was built
 * @completed: a received one is complete
 * @end: bytes charged to the socket in all when its last packet was built
 * @queued: link among those whose last packet may not have left
 * @is_queued: it is among them
 */
struct traced {
	uint64_t	sock;
	uint64_t	msg;
	int		sender;
	uint64_t	key;
	uint64_t	length;
	uint64_t	missing;
	uint64_t	packets;
	uint64_t	resent;
	char		peer[72];
	uint64_t	why;
	uint64_t	begun;
	uint64_t	first;
	uint64_t	sent;
	uint64_t	left;
	uint64_t	repaired;
	uint64_t	completed;
	uint64_t	end;
	TAILQ_ENTRY(traced) queued;
	int		is_queued;
};

/**
 * struct traced_sock - a socket that sends
 * @sock: as the kernel prints it
 * @built: bytes charged to it since it was first seen
 * @queue: messages by @end
 */
struct traced_sock {
	uint64_t	sock;
	uint64_t	built;
	TAILQ_HEAD(, traced) queue;
};

/**
 * struct lives - all messages and sockets
 * @over: is called at the end of each message
 * @arg: for it
 * @msgs: tree of struct traced
 * @socks: tree of struct traced_sock
 */
struct lives {
	void	(*over)(void *arg, const struct life *life);
	void	*arg;
	void	*msgs;
	void	*socks;
};

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_msgs(const void *a, const void *b)
{
	const struct traced *x = a, *y = b;

	return by_number(x->sock, y->sock) ?: by_number(x->msg, y->msg) ?: x->sender - y->sender;
}

static int compare_socks(const void *a, const void *b)
{
	const struct traced_sock *x = a, *y = b;

	return by_number(x->sock, y->sock);
}

struct lives *lives_new(void (*over)(void *arg, const struct life *life), void *arg)
{
	struct lives *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->over = over;
	l->arg = arg;
	return l;
}

void lives_free(struct lives *l)
{
	tdestroy(l->msgs, free);
	tdestroy(l->socks, free);
	free(l);
}

static uint64_t sock_of(const struct event *e)
{
	const char *value = event_field(e, "sk");

	return value ? strtoull(value, NULL, 16) : 0;
}

/* A copy of @key that is in the tree, or what was there. Return: NULL: no memory */
static void *tree_get(void **root, const void *key, size_t size,
		      int (*compare)(const void *a, const void *b))
{
	void *node = tfind(key, root, compare), *new;

	if (node)
		return *(void **)node;
	new = malloc(size);
	if (!new)
		return NULL;
	memcpy(new, key, size);
	if (tsearch(new, root, compare))
		return new;
	free(new);
	return NULL;
}

static struct traced *find(struct lives *l, const struct event *e, int sender)
{
	struct traced key = {
		.sock = sock_of(e),
		.msg = event_u64(e, "msg"),
		.sender = sender,
	};
	void *node = tfind(&key, &l->msgs, compare_msgs);

	return node ? *(struct traced **)node : NULL;
}

static struct traced_sock *sock_get(struct lives *l, uint64_t sock)
{
	struct traced_sock key = { .sock = sock }, *s;

	s = tree_get(&l->socks, &key, sizeof(key), compare_socks);
	if (s && !s->built)
		TAILQ_INIT(&s->queue);
	return s;
}

static void forget(struct lives *l, struct traced *m)
{
	struct traced_sock *s = m->is_queued ? sock_get(l, m->sock) : NULL;

	if (s)
		TAILQ_REMOVE(&s->queue, m, queued);
	tdelete(m, &l->msgs, compare_msgs);
	free(m);
}

/* "[::ffff:10.0.0.2]:7000" without what IPv4 does not need */
static void copy_peer(char *to, size_t size, const char *from)
{
	static const char mapped[] = "[::ffff:";
	size_t len = strcspn(from, " ");
	const char *end;

	if (!strncmp(from, mapped, strlen(mapped)) && memchr(from, '.', len)) {
		from += strlen(mapped);
		end = strchr(from, ']');
		snprintf(to, size, "%.*s%.*s", (int)(end - from), from,
			 (int)strcspn(end + 1, " "), end + 1);
		return;
	}
	snprintf(to, size, "%.*s", (int)len, from);
}

static int on_open(struct lives *l, const struct event *e)
{
	struct traced key = {
		.sock = sock_of(e),
		.msg = event_u64(e, "msg"),
		.sender = !!event_u64(e, "sender"),
	}, *m = find(l, e, key.sender);
	const char *peer = event_field(e, "peer");

	if (m)		/* of a socket that had this address before */
		forget(l, m);
	m = tree_get(&l->msgs, &key, sizeof(key), compare_msgs);
	if (!m)
		return -ENOMEM;
	m->key = event_u64(e, "key");
	m->length = event_u64(e, "length");
	m->begun = e->ns;
	if (peer)
		copy_peer(m->peer, sizeof(m->peer), peer);
	return 0;
}

static int on_send(struct lives *l, const struct event *e)
{
	struct traced_sock *s = sock_get(l, sock_of(e));
	struct traced *m = find(l, e, 1);
	uint64_t count = event_u64(e, "count");

	if (!s)
		return -ENOMEM;
	s->built += event_u64(e, "charged");
	if (!m || event_u64(e, "cls") == 0xff)
		return 0;
	m->packets += count;
	if (!m->first)
		m->first = e->ns;
	if (event_u64(e, "first")) {
		m->sent = e->ns;
		m->left = 0;
		m->repaired = 0;
	} else {
		m->resent += count;
		m->repaired = e->ns;
	}
	m->end = s->built;
	if (m->is_queued)
		TAILQ_REMOVE(&s->queue, m, queued);
	TAILQ_INSERT_TAIL(&s->queue, m, queued);
	m->is_queued = 1;
	return 0;
}

static int on_left(struct lives *l, const struct event *e)
{
	uint64_t queued = event_u64(e, "queued");
	struct traced_sock *s = sock_get(l, sock_of(e));
	struct traced *m;

	if (!s)
		return -ENOMEM;
	while ((m = TAILQ_FIRST(&s->queue)) && s->built - m->end >= queued) {
		TAILQ_REMOVE(&s->queue, m, queued);
		m->is_queued = 0;
		if (!m->left)
			m->left = e->ns;
		if (m->repaired)
			m->repaired = e->ns;
	}
	return 0;
}

/* From where the last part ended to @until. Return: where this one ends */
static uint64_t add_part(struct life *life, enum part part, uint64_t from, uint64_t until)
{
	if (until < from)
		return from;
	life->part[part] = until - from;
	return until;
}

static const char *why_of(const struct traced *m, uint64_t error)
{
	static const char *const whys[] = {
		"complete", "bound", "early-stop", "deadline", "discarded",
	};

	if (error)
		return "failed";
	if (!m->missing)
		return whys[0];
	return m->why < sizeof(whys) / sizeof(*whys) ? whys[m->why] : "failed";
}

static void end_life(struct lives *l, struct traced *m, const struct event *e, struct life *life)
{
	life->end = e->ns;
	life->key = m->key;
	life->length = m->length;
	life->missing = m->missing;
	life->packets = m->packets;
	life->resent = m->resent;
	life->total = e->ns - m->begun;
	life->sender = m->sender;
	memcpy(life->peer, m->peer, sizeof(life->peer));
	l->over(l->arg, life);
	forget(l, m);
}

static void on_sent(struct lives *l, struct traced *m, const struct event *e)
{
	uint64_t at = m->begun, over = e->ns;
	struct life life = { .why = why_of(m, event_u64(e, "error")) };

	at = add_part(&life, PART_WAIT, at, m->first ? m->first : over);
	if (m->first) {
		at = add_part(&life, PART_SEND, at, m->sent);
		/* Where the receiver is on this host, it may know first */
		at = add_part(&life, PART_QUEUE, at, m->left ? m->left : over);
		at = add_part(&life, PART_REPAIR, at, m->repaired);
		add_part(&life, PART_NETWORK, at, over);
	}
	end_life(l, m, e, &life);
}

static int on_complete(struct lives *l, const struct event *e)
{
	int sender = !!event_u64(e, "sender");
	struct traced *m = find(l, e, sender);

	if (!m)
		return 0;
	m->missing = event_u64(e, "missing");
	m->why = event_u64(e, "why");
	m->completed = e->ns;
	if (sender)
		on_sent(l, m, e);
	return 0;
}

static int on_read(struct lives *l, const struct event *e)
{
	struct traced *m = find(l, e, 0);
	struct life life = { 0 };

	if (!m)
		return 0;
	life.why = !event_u64(e, "taken") ? "unread" : m->completed ? why_of(m, 0) : "failed";
	if (!m->completed)
		m->completed = e->ns;
	add_part(&life, PART_READER, add_part(&life, PART_ARRIVE, m->begun, m->completed), e->ns);
	end_life(l, m, e, &life);
	return 0;
}

int lives_take(struct lives *l, const struct event *e)
{
	static const struct {
		const char *name;
		int (*take)(struct lives *l, const struct event *e);
	} kinds[] = {
		{ "send", on_send }, { "left", on_left }, { "open", on_open },
		{ "complete", on_complete }, { "read", on_read },
	};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(e->name, kinds[i].name))
			return sock_of(e) ? kinds[i].take(l, e) : -EAGAIN;
	return 0;
}
