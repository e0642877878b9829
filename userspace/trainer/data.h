/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TRAINER_DATA_H
#define TRAINER_DATA_H

#include <stdint.h>

/**
 * struct dataset - images and labels
 * @n: number of images
 * @images: 28 x 28 bytes each
 * @labels: one byte each, 0..9
 */
struct dataset {
	uint32_t	n;
	uint8_t		*images;
	uint8_t		*labels;
};

/*
 * Read the first @n images of the training or test set of (Fashion-)MNIST in
 * @dir; idx files, compressed or not. Exits with a message on failure.
 */
struct dataset data_read(const char *dir, int test, uint32_t n);
void data_free(struct dataset *set);

/* Order of the @n images in an epoch; the same for the same seed and epoch */
void data_shuffle(uint32_t *order, uint32_t n, uint64_t seed, uint32_t epoch);

#endif
