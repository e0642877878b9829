// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A message from one rank to another, in no order with the operations of all.
 *
 * The sender offers it: a control message (group.c) with its number, tag and
 * length. The receiver answers the first offer that suits a receive, and reads.
 * The data, whose keys have that number, are sent only then: what nobody reads
 * would fill the connection, which all operations share (eager.c). Control
 * messages are always read, but come in any order, hence the numbers.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll.h"

/**
 * struct coll_offer - of another rank
 * @next: of dlcp_coll.offers or coll_link.early
 * @from: the rank
 * @nr: of its messages to us
 * @tag: the user's
 * @len: bytes
 */
struct coll_offer {
	struct coll_offer	*next;
	int			from;
	uint32_t		nr;
	uint32_t		tag;
	uint64_t		len;
};

static void append_op(struct coll_op **list, struct coll_op *op)
{
	while (*list)
		list = &(*list)->p2p.next;
	op->p2p.next = NULL;
	*list = op;
}

static void remove_op(struct coll_op **list, const struct coll_op *op)
{
	while (*list && *list != op)
		list = &(*list)->p2p.next;
	if (*list)
		*list = op->p2p.next;
}

static void append_offer(struct coll_offer **list, struct coll_offer *o)
{
	while (*list)
		list = &(*list)->next;
	o->next = NULL;
	*list = o;
}

static int suits(const struct coll_op *op, const struct coll_offer *o)
{
	return op->p2p.tag == o->tag &&
	       (op->p2p.peer == DLCP_COLL_ANY || op->p2p.peer == o->from);
}

/* The oldest offer for it, off the list, or NULL */
static struct coll_offer *find_offer(struct dlcp_coll *c,
				     const struct coll_op *op)
{
	struct coll_offer **at, *o;

	for (at = &c->offers; (o = *at); at = &o->next) {
		if (!suits(op, o))
			continue;
		*at = o->next;
		return o;
	}
	return NULL;
}

/* Receives in the order of their calls */
static void match(struct dlcp_coll *c)
{
	struct coll_op *op, *next;
	struct coll_offer *o;

	for (op = c->receives; op; op = next) {
		next = op->p2p.next;
		o = find_offer(c, op);
		if (!o)
			continue;
		remove_op(&c->receives, op);
		op->nr = o->nr;
		op->p2p.peer = o->from;
		op->p2p.len = o->len;
		op->p2p.matched = 1;
		free(o);
	}
	pthread_cond_broadcast(&c->changed);
}

static void enlist(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;

	if (op->p2p.receives) {
		append_op(&c->receives, op);
		match(c);
		return;
	}
	op->nr = c->links[op->p2p.peer].next_p2p++;
	append_op(&c->sends, op);
}

static void delist(struct coll_op *op)
{
	remove_op(op->p2p.receives ? &op->c->receives : &op->c->sends, op);
}

/* Those that come next of the early ones; their order is the user's */
static void take_early(struct coll_link *link)
{
	struct coll_offer **at = &link->early, *o;

	while ((o = *at)) {
		if (o->nr != link->received_p2p) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		link->received_p2p++;
		append_offer(&link->coll->offers, o);
		at = &link->early;
	}
}

static void hear_offer(struct coll_link *link, const struct coll_control *ctl)
{
	struct dlcp_coll *c = link->coll;
	struct coll_offer *o = malloc(sizeof(*o));

	if (!o) {
		coll_no_memory(c);
		return;
	}
	*o = (struct coll_offer){
		.from = link->rank,
		.nr = le32toh(ctl->p2p.nr),
		.tag = le32toh(ctl->p2p.tag),
		.len = le64toh(ctl->p2p.len),
	};
	pthread_mutex_lock(&c->lock);
	append_offer(&link->early, o);
	take_early(link);
	match(c);
	pthread_mutex_unlock(&c->lock);
}

static void hear_take(struct coll_link *link, const struct coll_control *ctl)
{
	struct dlcp_coll *c = link->coll;
	struct coll_op *op;

	pthread_mutex_lock(&c->lock);
	for (op = c->sends; op; op = op->p2p.next)
		if (op->p2p.peer == link->rank &&
		    op->nr == le32toh(ctl->p2p.nr))
			op->p2p.matched = 1;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

void coll_p2p_receive(struct coll_link *link, const struct coll_control *ctl)
{
	switch (le32toh(ctl->type)) {
	case COLL_OFFER:
		hear_offer(link, ctl);
		break;
	case COLL_TAKE:
		hear_take(link, ctl);
		break;
	}
}

static void free_offers(struct coll_offer *o)
{
	struct coll_offer *next;

	for (; o; o = next) {
		next = o->next;
		free(o);
	}
}

void coll_p2p_free(struct dlcp_coll *c)
{
	int i;

	free_offers(c->offers);
	for (i = 0; i < c->world; i++)
		free_offers(c->links[i].early);
}

void coll_p2p_describe(const struct coll_op *op, char *text, size_t len)
{
	const struct coll_p2p *p = &op->p2p;

	if (p->peer == DLCP_COLL_ANY)
		snprintf(text, len, "a receive from any rank, tag %u,", p->tag);
	else
		snprintf(text, len, "a %s rank %d, tag %u,",
			 p->receives ? "receive from" : "send to", p->peer,
			 p->tag);
}

/* Has everybody left who could be the other rank? */
static int is_deserted(const struct coll_op *op)
{
	const struct dlcp_coll *c = op->c;
	int i;

	if (op->p2p.peer != DLCP_COLL_ANY)
		return c->links[op->p2p.peer].left;
	for (i = 0; i < c->workers; i++)
		if (i != c->rank && !c->links[i].left)
			return 0;
	return 1;
}

static int wait_match(struct coll_op *op)
{
	struct dlcp_coll *c = op->c;
	char what[60];
	int alone;

	pthread_mutex_lock(&c->lock);
	while (!op->p2p.matched && !c->error && !is_deserted(op))
		pthread_cond_wait(&c->changed, &c->lock);
	alone = !op->p2p.matched && !c->error;
	coll_p2p_describe(op, what, sizeof(what));
	pthread_mutex_unlock(&c->lock);
	if (alone)
		return coll_fail(c, ECONNRESET,
				 "rank %d waits for %s but the other side has left the group",
				 c->rank, what);
	return coll_failed(c) ? -1 : 0;
}

static int tell(struct coll_op *op, enum coll_control_type type)
{
	struct coll_control ctl = { .type = htole32((uint32_t)type) };

	ctl.p2p.nr = htole32(op->nr);
	ctl.p2p.tag = htole32(op->p2p.tag);
	ctl.p2p.len = htole64(op->p2p.len);
	return coll_send_control(op->c, op->p2p.peer, &ctl);
}

static size_t chunk_len(const struct coll_op *op, size_t at)
{
	size_t left = op->count - at, chunk = op->c->options.chunk_bytes;

	return left < chunk ? left : chunk;
}

static int send_it(struct coll_op *op)
{
	struct coll_out out = { .half = COLL_P2P };
	size_t at;

	if (tell(op, COLL_OFFER) || wait_match(op))
		return -1;
	coll_eager_begun(op, op->p2p.peer);
	for (at = 0; at < op->count; at += out.len) {
		out.buf = (const char *)op->in + at;
		out.len = chunk_len(op, at);
		if (coll_send_all(op, op->p2p.peer, &out))
			return -1;
		out.chunk++;
	}
	return 0;
}

static int receive_it(struct coll_op *op)
{
	struct coll_gaps gaps = { 0 };
	struct coll_in in = { .half = COLL_P2P, .gaps = &gaps };
	size_t at;
	int ret;

	if (wait_match(op))
		return -1;
	if (op->p2p.len != op->count)
		return coll_fail(op->c, EMSGSIZE,
				 "rank %d sends %llu bytes with tag %u, and rank %d expects %zu",
				 op->p2p.peer, (unsigned long long)op->p2p.len,
				 op->p2p.tag, op->c->rank, op->count);
	ret = tell(op, COLL_TAKE);
	for (at = 0; at < op->count && !ret; at += in.len) {
		in.buf = (char *)op->out + at;
		in.len = chunk_len(op, at);
		in.first = at;
		ret = coll_recv(op, op->p2p.peer, &in);
		in.chunk++;
	}
	free(gaps.gap);
	return ret;
}

static int applies(const struct coll_op *op)
{
	return op->kind == COLL_MESSAGE;
}

static int run(struct coll_op *op)
{
	return op->p2p.receives ? receive_it(op) : send_it(op);
}

const struct coll_algo coll_algo_p2p = {
	.name = "message",
	.order = COLL_ITS_OWN,
	.applies = applies,
	.run = run,
	.enlist = enlist,
	.delist = delist,
	.pairwise = 1,
};
