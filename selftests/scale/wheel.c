// SPDX-License-Identifier: GPL-2.0
#include "wheel.h"

void wheel_init(struct wheel *w, u32 shift, u32 bits, u64 now)
{
	memset(w, 0, sizeof(*w));
	w->now = now;
	w->shift = shift;
	w->bits = bits;
	w->cur = now >> shift;
	w->levels = (64 - shift + bits - 1) / bits;
	w->slots = calloc((size_t)w->levels << bits, sizeof(*w->slots));
}

void wheel_free(struct wheel *w)
{
	free(w->slots);
	free(w->heap);
}

static bool ev_before(const struct ev *a, const struct ev *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static void heap_set(struct wheel *w, u32 i, struct ev *e)
{
	w->heap[i] = e;
	e->heap = i + 1;
}

static void heap_up(struct wheel *w, u32 i, struct ev *e)
{
	while (i && ev_before(e, w->heap[(i - 1) / 2])) {
		heap_set(w, i, w->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_set(w, i, e);
}

static void heap_down(struct wheel *w, u32 i, struct ev *e)
{
	u32 k;

	for (;;) {
		k = 2 * i + 1;
		if (k >= w->nr)
			break;
		if (k + 1 < w->nr && ev_before(w->heap[k + 1], w->heap[k]))
			k++;
		if (!ev_before(w->heap[k], e))
			break;
		heap_set(w, i, w->heap[k]);
		i = k;
	}
	heap_up(w, i, e);
}

static void heap_push(struct wheel *w, struct ev *e)
{
	if (w->nr == w->cap) {
		w->cap = max_t(u32, 64, 2 * w->cap);
		w->heap = realloc(w->heap, w->cap * sizeof(*w->heap));
	}
	heap_up(w, w->nr++, e);
}

static void heap_remove(struct wheel *w, struct ev *e)
{
	u32 i = e->heap - 1;
	struct ev *last = w->heap[--w->nr];

	e->heap = 0;
	if (last != e)
		heap_down(w, i, last);
}

static void slot_add(struct wheel *w, struct ev *e)
{
	u64 slot = e->time >> w->shift;
	struct ev **head;
	u32 level;

	if (slot <= w->cur) {
		heap_push(w, e);
		return;
	}
	level = (u32)(fls64(slot ^ w->cur) - 1) / w->bits;
	slot = slot >> (level * w->bits) & ((1U << w->bits) - 1);
	head = &w->slots[((u64)level << w->bits) + slot];
	e->next = *head;
	e->link = head;
	if (e->next)
		e->next->link = &e->next;
	*head = e;
}

void wheel_add(struct wheel *w, struct ev *e, u64 time)
{
	if (ev_waits(e) || time < w->now)
		ENV_DIE("an event twice, or in the past");
	e->time = time;
	e->seq = w->seq++;
	slot_add(w, e);
}

void wheel_del(struct wheel *w, struct ev *e)
{
	if (e->heap) {
		heap_remove(w, e);
	} else if (e->link) {
		*e->link = e->next;
		if (e->next)
			e->next->link = e->link;
		e->link = NULL;
	}
}

/* The first slot of @level behind the present one that is not empty, or 0: the
 * present digit is never behind itself
 */
static u32 slot_next(const struct wheel *w, u32 level)
{
	u32 nr = 1U << w->bits, i;
	struct ev *const *slot = &w->slots[(u64)level << w->bits];

	for (i = (w->cur >> (level * w->bits) & (nr - 1)) + 1; i < nr; i++)
		if (slot[i])
			return i;
	return 0;
}

/* Go to the next slot that has events. Return: false: there is none */
static bool wheel_turn(struct wheel *w)
{
	struct ev *list, *e;
	u32 level, slot = 0;

	for (level = 0; level < w->levels; level++) {
		slot = slot_next(w, level);
		if (slot)
			break;
	}
	if (!slot)
		return false;
	list = w->slots[((u64)level << w->bits) + slot];
	w->slots[((u64)level << w->bits) + slot] = NULL;
	w->cur >>= level * w->bits;
	w->cur = (w->cur & ~(u64)((1U << w->bits) - 1)) | slot;
	w->cur <<= level * w->bits;
	while ((e = list)) {
		list = e->next;
		e->link = NULL;
		slot_add(w, e);
	}
	return true;
}

bool wheel_step(struct wheel *w, u64 until)
{
	struct ev *e;

	while (!w->nr)
		if (!wheel_turn(w))
			return false;
	e = w->heap[0];
	if (e->time > until)
		return false;
	heap_remove(w, e);
	w->now = e->time;
	w->done++;
	e->fn(e);
	return true;
}
