// SPDX-License-Identifier: LGPL-2.1-or-later
/* How a tensor is cut into parts, and parts into chunks */
#include "coll.h"

size_t coll_chunk_elems(const struct coll_op *op)
{
	return op->c->options.chunk_bytes /
	       (op->sum_size > op->size ? op->sum_size : op->size);
}

struct coll_part coll_cut(size_t count, size_t size, int i, int n)
{
	size_t unit = 64 / size, units = (count + unit - 1) / unit;
	size_t from = units / (size_t)n * (size_t)i, extra = units % (size_t)n;
	size_t many = units / (size_t)n + ((size_t)i < extra);
	struct coll_part part;

	from += (size_t)i < extra ? (size_t)i : extra;
	part.first = from * unit < count ? from * unit : count;
	part.n = (from + many) * unit < count ? many * unit :
						count - part.first;
	return part;
}
