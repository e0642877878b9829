// SPDX-License-Identifier: LGPL-2.1-or-later
/* The loops of THC in plain C: what the others are measured against */
#include "thc.h"

const uint8_t thc_table[16] = {
	0, 3, 5, 7, 9, 11, 13, 14, 16, 17, 19, 21, 23, 25, 27, 30,
};

#define B THC_BELOW
const uint32_t thc_below[32] = {
	B(0, 0, 3), B(0, 0, 3), B(0, 0, 3), B(1, 3, 2), B(1, 3, 2),
	B(2, 5, 2), B(2, 5, 2), B(3, 7, 2), B(3, 7, 2), B(4, 9, 2),
	B(4, 9, 2), B(5, 11, 2), B(5, 11, 2), B(6, 13, 1), B(7, 14, 2),
	B(7, 14, 2), B(8, 16, 1), B(9, 17, 2), B(9, 17, 2), B(10, 19, 2),
	B(10, 19, 2), B(11, 21, 2), B(11, 21, 2), B(12, 23, 2), B(12, 23, 2),
	B(13, 25, 2), B(13, 25, 2), B(14, 27, 3), B(14, 27, 3), B(14, 27, 3),
	B(14, 27, 3), B(14, 27, 3),
};

static void add(float *x, const float *a, const float *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		x[i] = a[i] + b[i];
}

static void squares(const float *x, float *lane)
{
	size_t i;

	for (i = 0; i < THC_BLOCK; i++)
		lane[i % 8] += x[i] * x[i];
}

static void signs_on(float *x, const uint32_t *signs)
{
	size_t i;

	for (i = 0; i < THC_BLOCK; i++)
		if (signs[i / 32] >> (i % 32) & 1)
			x[i] = -x[i];
}

static void hadamard(float *x, float scale)
{
	size_t h, i, j;
	float a, b;

	for (h = 1; h < THC_BLOCK; h *= 2) {
		for (i = 0; i < THC_BLOCK; i += 2 * h) {
			for (j = i; j < i + h; j++) {
				a = x[j];
				b = x[j + h];
				x[j] = a + b;
				x[j + h] = a - b;
			}
		}
	}
	for (i = 0; i < THC_BLOCK; i++)
		x[i] *= scale;
}

static void rotate(float *x, const uint32_t *signs, float scale)
{
	signs_on(x, signs);
	hadamard(x, scale);
}

static void rotate_back(float *x, const uint32_t *signs, float scale)
{
	hadamard(x, scale);
	signs_on(x, signs);
}

/* xorshift32; lane i serves elements i, i + 8, ... */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* One element. Return: its code; *@x becomes what is lost */
static unsigned int quantise_one(float *x, uint32_t *state)
{
	float y = *x, v, chance = (float)(next_random(state) >> 8) * 0x1p-24f;
	uint32_t below;
	unsigned int code, gap, value, up;

	y = y < THC_TP ? y : THC_TP;
	y = y > -THC_TP ? y : -THC_TP;
	v = (y + THC_TP) * (THC_G / (2 * THC_TP));
	below = thc_below[(unsigned int)v & 31];
	code = below & 255;
	value = below >> 8 & 255;
	gap = below >> 16;
	up = chance * (float)gap < v - (float)value;
	value += up ? gap : 0;
	*x -= ((float)value - THC_G / 2) * (2 * THC_TP / THC_G);
	return code + up;
}

static void quantise(float *x, uint32_t *random, uint8_t *codes)
{
	unsigned int low, high;
	size_t i;

	for (i = 0; i < THC_BLOCK; i += 2) {
		low = quantise_one(&x[i], &random[i % THC_LANES]);
		high = quantise_one(&x[i + 1], &random[(i + 1) % THC_LANES]);
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

static void dequantise8(float *x, const uint8_t *sums, float by, float k)
{
	size_t i;

	for (i = 0; i < THC_UNIT; i++)
		x[i] = ((float)sums[i] * by - THC_G / 2) * k;
}

static void dequantise16(float *x, const uint16_t *sums, float by, float k)
{
	size_t i;

	for (i = 0; i < THC_UNIT; i++)
		x[i] = ((float)sums[i] * by - THC_G / 2) * k;
}

const struct thc_loops thc_plain = {
	add, squares, rotate, rotate_back, quantise, add_codes8, add_codes16,
	dequantise8, dequantise16,
};
