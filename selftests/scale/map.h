/* SPDX-License-Identifier: GPL-2.0 */
/* From a number that is not 0 to a pointer: open addressing, nothing is removed. */
#ifndef _SCALE_MAP_H
#define _SCALE_MAP_H

#include "env.h"

struct map {
	u64	*keys;
	void	**values;
	u32	size;		/* power of two */
	u32	nr;
};

static inline u32 map_slot(const struct map *m, u64 key)
{
	u32 i = (u32)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (m->size - 1);

	while (m->keys[i] && m->keys[i] != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

static inline void *map_get(const struct map *m, u64 key)
{
	return m->size ? m->values[map_slot(m, key)] : NULL;
}

static inline void map_put(struct map *m, u64 key, void *value)
{
	struct map old = *m;
	u32 i;

	if (2 * m->nr >= m->size) {
		m->size = max_t(u32, 64, 2 * m->size);
		m->keys = calloc(m->size, sizeof(*m->keys));
		m->values = calloc(m->size, sizeof(*m->values));
		m->nr = 0;
		for (i = 0; i < old.size; i++)
			if (old.keys[i])
				map_put(m, old.keys[i], old.values[i]);
		free(old.keys);
		free(old.values);
	}
	i = map_slot(m, key);
	m->nr += !m->keys[i];
	m->keys[i] = key;
	m->values[i] = value;
}

/* Of two hosts, in this order */
static inline u64 map_pair(u32 a, u32 b)
{
	return (u64)(a + 1) << 32 | (b + 1);
}

#endif
