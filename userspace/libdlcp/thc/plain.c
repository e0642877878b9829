// SPDX-License-Identifier: LGPL-2.1-or-later
/* The loops of THC in plain C: what the others are measured against */
#include "thc.h"

const uint8_t thc_table[16] = {
	0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30,
};

const uint8_t thc_below[32] = {
	0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7,
	7, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 14, 15,
};

/* A value of the table itself, and half or a third of the way to the next */
#define T	(-128)
#define H	0
#define T1	(85 - 128)
#define T2	(171 - 128)
const int8_t thc_chance[32] = {
	T, T, T1, T2, T, H, T, H, T, H, T, H, T, H, T, T,
	H, T, T, H, T, H, T, H, T, H, T, H, T, T1, T2, T,
};

static void squares(const float *a, const float *b, size_t n, float *lane)
{
	size_t i;
	float x;

	for (i = 0; i < n; i++) {
		x = a[i] + b[i];
		lane[i % 32] += x * x;
	}
}

/* Multiplied by these bits, an element gets its sign */
static float sign_of(const uint32_t *signs, size_t i)
{
	uint32_t word = signs[i / 256 * 8 + i % 8];

	return word << i / 8 % 32 & 0x80000000 ? -1 : 1;
}

/* One step: what is @h apart */
static void step(float *x, size_t n, size_t h)
{
	size_t i, j;
	float a, b;

	for (i = 0; i < n; i += 2 * h) {
		for (j = i; j < i + h; j++) {
			a = x[j];
			b = x[j + h];
			x[j] = a + b;
			x[j + h] = a - b;
		}
	}
}

/* Steps begin with what is far apart, and backwards end with that: who does
 * several at once then has to reach far but once on either way
 */
static void rotate(float *x, const float *a, const float *b, size_t n,
		   const uint32_t *signs, float scale)
{
	size_t h, i;

	for (i = 0; i < n; i++)
		x[i] = (a[i] + b[i]) * sign_of(signs, i) * scale;
	for (h = n / 2; h; h /= 2)
		step(x, n, h);
}

static void rotate_back(float *to, float *x, size_t n, const uint32_t *signs,
			float scale)
{
	size_t h, i;

	for (h = 1; h < n; h *= 2)
		step(x, n, h);
	for (i = 0; i < n; i++)
		to[i] = x[i] * scale * sign_of(signs, i);
}

/* xorshift32 */
static void next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
}

/* 16 bits for one of 32 elements, which are so distributed that others find
 * them where they have the elements
 */
static unsigned int random_of(const uint32_t *random, size_t i)
{
	size_t lane = i / 16 * 8 + i % 8 / 4 * 4 + i % 16 / 8 * 2 + i % 4 / 2;

	return random[lane] >> i % 2 * 16 & 0xffff;
}

static float clamp(float x, float low, float high)
{
	x = x < high ? x : high;
	return x > low ? x : low;
}

/* The nearest whole number, the even one of two; of at most 22 bits */
static int nearest(float x)
{
	return (int)(x + 0x1.8p23f - 0x1.8p23f);
}

/*
 * One element, in parts of a step. It is rounded at random to a whole step, and
 * then, where the table has none there, to one of its two neighbours, so that
 * the expectation is right (to 1/250 of a step). The upper 11 of 16 random bits
 * are for the first, the lower 8 for the second; of the three that both have,
 * the first only sees 1/256 of a step.
 *
 * Return: its code; *@x becomes what is lost
 */
static unsigned int quantise_one(float *x, unsigned int random)
{
	int fine = nearest(clamp(*x, INT16_MIN, INT16_MAX)), coin;
	unsigned int whole, code;

	fine += (int)(random >> (16 - THC_FINE_BITS));
	fine = fine < INT16_MAX ? fine : INT16_MAX;
	whole = (unsigned int)(fine - INT16_MIN) >> THC_FINE_BITS;
	coin = (random & 0xff) < 0x80 ? (int)(random & 0xff) :
					(int)(random & 0xff) - 0x100;
	code = thc_below[whole] + (unsigned int)(coin < thc_chance[whole]);
	/* & 15 for analysers: the last one's chance to be more is none */
	*x -= (float)((thc_table[code & 15] - THC_HALF) * THC_FINE);
	return code;
}

static void quantise(float *x, size_t n, uint32_t *random, uint8_t *codes)
{
	unsigned int low, high;
	size_t i, k;

	for (i = 0; i < n; i += 2) {
		for (k = 0; k < THC_LANES && i % 32 == 0; k++)
			next_random(&random[k]);
		low = quantise_one(&x[i], random_of(random, i % 32));
		high = quantise_one(&x[i + 1], random_of(random, i % 32 + 1));
		codes[i / 2] = (uint8_t)(low | high << 4);
	}
}

static unsigned int entry(const uint8_t *codes, size_t i)
{
	return thc_table[codes[i / 2] >> (i % 2 * 4) & 15];
}

static void add_codes8(uint8_t *sums, const uint8_t *codes, int first)
{
	size_t i;

	for (i = 0; i < THC_UNIT; i++)
		sums[i] = (uint8_t)((first ? 0 : sums[i]) + entry(codes, i));
}

static void add_codes16(uint16_t *sums, const uint8_t *codes, int first)
{
	size_t i;

	for (i = 0; i < THC_UNIT; i++)
		sums[i] = (uint16_t)((first ? 0 : sums[i]) + entry(codes, i));
}

static void dequantise8(float *x, const uint8_t *sums, float by, float half)
{
	size_t i;

	for (i = 0; i < THC_UNIT; i++)
		x[i] = (float)sums[i] * by - half;
}

static void dequantise16(float *x, const uint16_t *sums, float by, float half)
{
	size_t i;

	for (i = 0; i < THC_UNIT; i++)
		x[i] = (float)sums[i] * by - half;
}

const struct thc_loops thc_plain = {
	squares, rotate, rotate_back, quantise, add_codes8, add_codes16,
	dequantise8, dequantise16,
};
