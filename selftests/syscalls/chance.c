// SPDX-License-Identifier: GPL-2.0
/* Pseudo-random choices that a seed repeats */
#include <limits.h>

#include "fuzz.h"

static __thread u64 state;

static u64 scramble(u64 x)
{
	x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 29)) * 0xd6e8feb86659fd93ULL;
	return x ^ (x >> 32);
}

void rnd_seed(u64 seed, u64 a, u64 b, u64 c)
{
	state = scramble(scramble(scramble(scramble(seed + 1) + a) + b) + c);
}

u64 rnd64(void)
{
	state += 0x9e3779b97f4a7c15ULL;
	return scramble(state);
}

u32 rnd(u32 n)
{
	return rnd64() % n;
}

bool chance(int percent)
{
	return rnd(100) < (u32)percent;
}

int rnd_edge(void)
{
	static const int edges[] = {
		0, 1, -1, 2, 3, 4, 7, 8, 255, 256, 1280, 1500, 4096, 65535,
		65536, INT_MAX, INT_MIN, INT_MAX - 1, 1000000, 0x55555555,
	};

	if (chance(30))
		return rnd64();
	return one_of(edges);
}

void rnd_bytes(void *p, size_t len)
{
	u8 *b = p;

	while (len--)
		*b++ = rnd64();
}
