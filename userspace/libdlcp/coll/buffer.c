// SPDX-License-Identifier: LGPL-2.1-or-later
/* A group keeps the largest buffer that an operation gave back, for the next one */
#include <stdlib.h>

#include "coll.h"

/* One buffer is kept: fresh memory costs a page fault every 4 KiB */
void *coll_buffer_get(struct dlcp_coll *c, size_t len)
{
	void *buf = NULL;

	pthread_mutex_lock(&c->lock);
	if (c->spare_len >= len) {
		buf = c->spare;
		c->spare = NULL;
		c->spare_len = 0;
	}
	pthread_mutex_unlock(&c->lock);
	return buf ? buf : malloc(len ? len : 1);
}

void coll_buffer_put(struct dlcp_coll *c, void *buf, size_t len)
{
	pthread_mutex_lock(&c->lock);
	if (buf && len > c->spare_len) {
		void *old = c->spare;

		c->spare = buf;
		c->spare_len = len;
		buf = old;
	}
	pthread_mutex_unlock(&c->lock);
	free(buf);
}
