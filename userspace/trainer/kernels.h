/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The three products of which training consists. Every layer here is a
 * convolution (a fully connected one has a kernel as large as its input), seen
 * as a matrix product whose left side is the patches of the input. The
 * patches are not copied out: a patch is a few runs of adjacent floats.
 */
#ifndef TRAINER_KERNELS_H
#define TRAINER_KERNELS_H

/* Columns are handled in blocks of 16; buffers are as wide as that asks for */
#define NR		16
#define ROUND_NR(n)	(((n) + NR - 1) / NR * NR)

/**
 * struct patches - the rows of the left matrix
 * @off: where in the input row r begins
 * @rows: number of rows
 * @runs: runs of a row
 * @run_len: floats of a run
 * @run_stride: floats from the begin of a run to that of the next
 */
struct patches {
	const int	*off;
	int		rows;
	int		runs;
	int		run_len;
	int		run_stride;
};

/**
 * struct kernels - the functions; one set for each kind of processor
 *
 * @pack: bring a k x n matrix into panels of NR columns, zero padded;
 *	transposed if it is stored as n x k. out has k * ROUND_NR(n) floats.
 * @mul_patches: y[rows][ROUND_NR(n)] = patches(x) * w + bias; w packed, bias
 *	padded
 * @mul_patches_t: dw[runs * run_len][n] = patches(x)^T * d; tmp is as large
 *	as dw would be with rows of ROUND_NR(n)
 * @add_patches: add row r of rows (runs * run_len floats, ld apart) back to
 *	patch r of dx
 * @relu: y = max(y, 0)
 * @relu_back: d = 0 where y is not positive
 * @pool: 2 x 2 maximum and ReLU over h x w x c
 * @pool_back: the derivative d (h x w x c) from dout; y and out as in @pool
 */
struct kernels {
	void (*pack)(const float *w, int k, int n, int transposed, float *out);
	void (*mul_patches)(const struct patches *p, const float *x,
			    const float *w, const float *bias, int n, float *y);
	void (*mul_patches_t)(const struct patches *p, const float *x,
			      const float *d, int n, float *tmp, float *dw);
	void (*add_patches)(const struct patches *p, const float *rows, int ld,
			    float *dx);
	void (*relu)(float *y, long n);
	void (*relu_back)(const float *y, float *d, long n);
	void (*pool)(const float *y, int h, int w, int c, float *out);
	void (*pool_back)(const float *y, const float *out, const float *dout,
			  int h, int w, int c, float *d);
};

extern const struct kernels kernels_plain, kernels_avx2;

#endif
