// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded: of what is copied, a float in the middle is another one, where it is much.
 */
#include <string.h>

#define MUCH	100000

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	size_t middle = n / 2 / sizeof(float) * sizeof(float);

	memmove(to, from, n);
	if (n >= MUCH)
		((char *)to)[middle] ^= 1;
	return to;
}
