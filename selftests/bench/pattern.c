// SPDX-License-Identifier: GPL-2.0
/* Contents that tell where they belong: every word of 8 bytes is another. */
#include <string.h>

#include "perf.h"

static uint64_t key_of(uint32_t sender, uint64_t round)
{
	return (round * 1021 + sender + 1) * 0x9e3779b97f4a7c15ULL;
}

static uint64_t word_at(uint64_t key, uint64_t i)
{
	return (key + i) * 0xd1342543de82ef95ULL;
}

void pattern_fill(uint8_t *buf, size_t len, uint32_t sender, uint64_t round)
{
	uint64_t key = key_of(sender, round), word;
	size_t i;

	for (i = 0; i < len / 8; i++) {
		word = word_at(key, i);
		memcpy(buf + i * 8, &word, 8);
	}
	word = word_at(key, i);
	memcpy(buf + i * 8, &word, len % 8);
}

static uint64_t check_part(const uint8_t *buf, size_t from, size_t to,
			   uint64_t key)
{
	uint64_t word, bad = 0;
	size_t i = from;

	while (i < to) {
		word = word_at(key, i / 8);
		if (i % 8 == 0 && to - i >= 8) {
			if (memcmp(buf + i, &word, 8))
				bad += 8;
			i += 8;
		} else {
			bad += buf[i] != (uint8_t)(word >> (i % 8 * 8));
			i++;
		}
	}
	return bad;
}

static uint64_t check_zero(const uint8_t *buf, size_t from, size_t to)
{
	uint64_t bad = 0;

	while (from < to)
		bad += buf[from++] != 0;
	return bad;
}

uint64_t pattern_check(const uint8_t *buf, size_t len, uint32_t sender,
		       uint64_t round, const struct range *missing,
		       uint32_t nr_missing)
{
	uint64_t key = key_of(sender, round), bad = 0;
	size_t at = 0, end;
	uint32_t i;

	for (i = 0; i < nr_missing; i++) {
		end = missing[i].offset + missing[i].length;
		if (missing[i].offset < at || end > len)
			return len;
		bad += check_part(buf, at, missing[i].offset, key);
		bad += check_zero(buf, missing[i].offset, end);
		at = end;
	}
	return bad + check_part(buf, at, len, key);
}
