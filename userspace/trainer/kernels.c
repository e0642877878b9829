// SPDX-License-Identifier: GPL-2.0
/*
 * Compiled twice: VARIANT is plain, or avx2 with -mavx2 -mfma (trainer.mk).
 * Vectors are the compiler's own, so the source is the same.
 */
#include <string.h>

#include "kernels.h"

#define PASTE(a, b)	a##b
#define NAME(a, b)	PASTE(a, b)

#define MR	6	/* rows of a tile: 6 x 16 sums fill 12 registers */
#define CHUNK	384	/* rows whose patches and deltas stay in the cache */

typedef float v8 __attribute__((vector_size(32)));
typedef float v8u __attribute__((vector_size(32), aligned(4), may_alias));

#define LOAD(p)		(*(const v8u *)(p))
#define STORE(p, v)	(*(v8u *)(p) = (v))

static int min(int a, int b)
{
	return a < b ? a : b;
}

static void pack(const float *w, int k, int n, int transposed, float *out)
{
	int nb, i, j;

	memset(out, 0, sizeof(*out) * k * ROUND_NR(n));
	for (nb = 0; nb < n; nb += NR, out += (long)k * NR)
		for (i = 0; i < k; i++)
			for (j = 0; j < min(NR, n - nb); j++)
				out[i * NR + j] = transposed ?
					w[(long)(nb + j) * k + i] :
					w[(long)i * n + nb + j];
}

/*
 * Tiles at the edge take their last row several times and write the same
 * result several times, which is simpler than a loop for the rest.
 */
static void mul_patches(const struct patches *p, const float *x,
			const float *w, const float *bias, int n, float *y)
{
	int ld = ROUND_NR(n), nb, r, i, j, run;

	for (nb = 0; nb < ld; nb += NR) {
		for (r = 0; r < p->rows; r += MR) {
			const float *b = w + (long)nb * p->runs * p->run_len;
			const float *a[MR];
			v8 lo[MR], hi[MR];

			for (i = 0; i < MR; i++) {
				a[i] = x + p->off[min(r + i, p->rows - 1)];
				lo[i] = LOAD(bias + nb);
				hi[i] = LOAD(bias + nb + 8);
			}
			for (run = 0; run < p->runs; run++) {
				for (j = 0; j < p->run_len; j++, b += NR) {
					v8 b0 = LOAD(b), b1 = LOAD(b + 8);

					for (i = 0; i < MR; i++) {
						lo[i] += a[i][j] * b0;
						hi[i] += a[i][j] * b1;
					}
				}
				for (i = 0; i < MR; i++)
					a[i] += p->run_stride;
			}
			for (i = 0; i < MR; i++) {
				float *to = y + nb + (long)ld *
					    min(r + i, p->rows - 1);

				STORE(to, lo[i]);
				STORE(to + 8, hi[i]);
			}
		}
	}
}

/* Add the products of rows r0..r1 to a tile of up to MR x NR sums */
static inline __attribute__((always_inline)) void
outer_tile(const struct patches *p, const float *x, const float *d, int ld,
	   int r0, int r1, const int k[MR], float *to[MR])
{
	v8 lo[MR], hi[MR];
	int i, r;

	for (i = 0; i < MR; i++) {
		lo[i] = LOAD(to[i]);
		hi[i] = LOAD(to[i] + 8);
	}
	for (r = r0; r < r1; r++) {
		const float *a = x + p->off[r];
		v8 d0 = LOAD(d + (long)r * ld), d1 = LOAD(d + (long)r * ld + 8);

		for (i = 0; i < MR; i++) {
			lo[i] += a[k[i]] * d0;
			hi[i] += a[k[i]] * d1;
		}
	}
	for (i = 0; i < MR; i++) {
		STORE(to[i], lo[i]);
		STORE(to[i] + 8, hi[i]);
	}
}

static void mul_patches_t(const struct patches *p, const float *x,
			  const float *d, int n, float *tmp, float *dw)
{
	int ld = ROUND_NR(n), r, nb, run, j, i, k[MR];
	float *to[MR];

	memset(tmp, 0, sizeof(*tmp) * p->runs * p->run_len * ld);
	for (r = 0; r < p->rows; r += CHUNK)
		for (nb = 0; nb < ld; nb += NR)
			for (run = 0; run < p->runs; run++)
				for (j = 0; j < p->run_len; j += MR) {
					for (i = 0; i < MR; i++) {
						k[i] = min(j + i, p->run_len - 1);
						to[i] = tmp + nb + (long)ld *
							(run * p->run_len + k[i]);
						k[i] += run * p->run_stride;
					}
					outer_tile(p, x, d + nb, ld, r,
						   min(r + CHUNK, p->rows),
						   k, to);
				}
	for (r = 0; r < p->runs * p->run_len; r++)
		memcpy(dw + (long)r * n, tmp + (long)r * ld, n * sizeof(*dw));
}

static void add_patches(const struct patches *p, const float *rows, int ld,
			float *dx)
{
	int r, run, j;

	for (r = 0; r < p->rows; r++) {
		const float *from = rows + (long)r * ld;
		float *to = dx + p->off[r];

		for (run = 0; run < p->runs; run++) {
			for (j = 0; j < p->run_len; j++)
				to[j] += from[j];
			from += p->run_len;
			to += p->run_stride;
		}
	}
}

static void relu(float *y, long n)
{
	long i;

	for (i = 0; i < n; i++)
		y[i] = y[i] > 0 ? y[i] : 0;
}

static void relu_back(const float *y, float *d, long n)
{
	long i;

	for (i = 0; i < n; i++)
		d[i] = y[i] > 0 ? d[i] : 0;
}

static inline float max(float a, float b)
{
	return a > b ? a : b;
}

static void pool(const float *y, int h, int w, int c, float *out)
{
	int i, j, k;

	for (i = 0; i < h / 2; i++)
		for (j = 0; j < w / 2; j++, out += c) {
			const float *a = y + ((long)2 * i * w + 2 * j) * c;
			const float *b = a + (long)w * c;

			for (k = 0; k < c; k++)
				out[k] = max(max(max(a[k], a[k + c]),
						 max(b[k], b[k + c])), 0);
		}
}

/* The derivative goes to the first of the four that is the maximum */
static void pool_back(const float *y, const float *out, const float *dout,
		      int h, int w, int c, float *d)
{
	int i, j, k;

	memset(d, 0, sizeof(*d) * h * w * c);
	for (i = 0; i < h / 2; i++)
		for (j = 0; j < w / 2; j++, out += c, dout += c) {
			long at = ((long)2 * i * w + 2 * j) * c;
			const float *a = y + at, *b = a + (long)w * c;
			float *da = d + at, *db = da + (long)w * c;

			for (k = 0; k < c; k++) {
				float m = out[k];
				float g = m > 0 ? dout[k] : 0;
				float g0 = a[k] == m ? g : 0;
				float g1 = a[k + c] == m ? g - g0 : 0;
				float g2 = b[k] == m ? g - g0 - g1 : 0;

				da[k] = g0;
				da[k + c] = g1;
				db[k] = g2;
				db[k + c] = b[k + c] == m ? g - g0 - g1 - g2 : 0;
			}
		}
}

const struct kernels NAME(kernels_, VARIANT) = {
	.pack		= pack,
	.mul_patches	= mul_patches,
	.mul_patches_t	= mul_patches_t,
	.add_patches	= add_patches,
	.relu		= relu,
	.relu_back	= relu_back,
	.pool		= pool,
	.pool_back	= pool_back,
};
