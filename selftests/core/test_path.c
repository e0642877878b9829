// SPDX-License-Identifier: GPL-2.0
#include "test.h"
#include "path.h"

/* A run of numbers received on a path is the same as one after the other */
static void numbers__runs(void)
{
	struct dlcp_recv_window a = { .patience = 2 }, b = a;
	struct dlcp_f_ack ack;
	u32 i, k, nr, pn = (u32)rnd();
	bool ce;

	dlcp_recv_mark(&a, pn, false, 1000);
	dlcp_recv_mark(&b, pn, false, 1000);
	for (i = 0; i < 20000; i++) {
		pn = a.largest + 1;
		if (rnd() % 3 == 0)
			pn += (u32)(rnd() % (rnd() % 50 ? 100 : 5000));
		nr = 1 + rnd() % 64;
		ce = rnd() % 4 == 0;
		dlcp_recv_mark_run(&a, pn, nr, ce, i);
		for (k = 0; k < nr; k++)
			dlcp_recv_mark(&b, pn + k, ce, i);
		CHECK(!memcmp(&a, &b, sizeof(a)));
		if (rnd() % 8)
			continue;
		dlcp_recv_ack(&a, 0, i, DLCP_ACK_WORDS_MAX, &ack);
		dlcp_recv_ack(&b, 0, i, DLCP_ACK_WORDS_MAX, &ack);
	}
}

TESTS(T(numbers__runs))
