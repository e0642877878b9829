// SPDX-License-Identifier: GPL-2.0
/* Layers are sent in pieces, so that the first can be on the way back while the last comes */
#include "train.h"

struct piece pieces[MAX_PIECES];
int nr_pieces;

static int cut_layer(int layer, int most)
{
	int at, left, n = (layers[layer].count + most - 1) / most;

	for (at = 0; n; n--) {
		if (nr_pieces == MAX_PIECES)
			return -1;
		left = layers[layer].count - at;
		pieces[nr_pieces++] = (struct piece){
			layer, layers[layer].at + at, left / n };
		at += left / n;
	}
	return 0;
}

int cut_pieces(uint32_t bytes)
{
	int layer, most = bytes ? (int)(bytes / sizeof(float)) : INT32_MAX / 2;

	nr_pieces = 0;
	for (layer = 0; layer < NR_LAYERS; layer++)
		if (!most || cut_layer(layer, most))
			return -1;
	return 0;
}
