// SPDX-License-Identifier: GPL-2.0
/* Reading the data set */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data.h"
#include "model.h"
#include "train.h"

static void __attribute__((noreturn)) wrong_file(const char *path, uint32_t n)
{
	die(1, "%s is not Fashion-MNIST with %u images: install dataset-fashion-mnist anew, or name another folder with --data",
	    path, n);
}

static uint32_t get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* An idx file: magic, number of items, their dimensions, bytes */
static uint8_t *read_idx(const char *dir, const char *name, uint32_t magic,
			 int header, uint32_t n, uint32_t item)
{
	uint8_t head[16], *data = need_memory(n, item);
	char path[512];
	gzFile f;

	snprintf(path, sizeof(path), "%s/%s.gz", dir, name);
	f = gzopen(path, "rb");
	if (!f) {
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		f = gzopen(path, "rb");
	}
	if (!f)
		die(1, "%s cannot be read (%s): install dataset-fashion-mnist, or name its folder with --data",
		    path, strerror(errno));
	if (gzread(f, head, header) != header || get_be32(head) != magic ||
	    get_be32(head + 4) < n || gzread(f, data, n * item) != (int)(n * item))
		wrong_file(path, n);
	gzclose(f);
	return data;
}

struct dataset data_read(const char *dir, int test, uint32_t n)
{
	struct dataset set = { .n = n };
	uint32_t i;

	set.images = read_idx(dir, test ? "t10k-images-idx3-ubyte" :
			      "train-images-idx3-ubyte", 0x803, 16, n, IMAGE);
	set.labels = read_idx(dir, test ? "t10k-labels-idx1-ubyte" :
			      "train-labels-idx1-ubyte", 0x801, 8, n, 1);
	for (i = 0; i < n; i++)
		if (set.labels[i] >= NR_CLASSES)
			wrong_file(dir, n);
	return set;
}

void data_free(struct dataset *set)
{
	free(set->images);
	free(set->labels);
}

void data_shuffle(uint32_t *order, uint32_t n, uint64_t seed, uint32_t epoch)
{
	uint64_t state = seed * 1000003 + epoch;
	uint32_t i, j, t;

	for (i = 0; i < n; i++)
		order[i] = i;
	for (i = n; i > 1; i--) {
		j = (uint32_t)(((uint64_t)random_u32(&state) * i) >> 32);
		t = order[i - 1];
		order[i - 1] = order[j];
		order[j] = t;
	}
}
