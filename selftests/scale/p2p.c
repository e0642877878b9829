// SPDX-License-Identifier: GPL-2.0
/*
 * p2p BYTES LOSS_PPM SEED: one message in the two-node simulator of
 * selftests/core, 10 Gbit/s and 25 us each way. Prints its time in us.
 */
#include "sim.h"

int main(int argc, char **argv)
{
	struct sim_attr a = { 0 };
	struct sim_msg *m;
	struct sim s;
	u32 i;

	if (argc != 4)
		return 2;
	sim_init(&s, strtoull(argv[3], NULL, 0));
	sim_up(&s);
	for (i = 0; i < 2; i++)
		s.link[i].loss = (u32)strtoul(argv[2], NULL, 0);
	/* The first one warms it up */
	for (i = 0; i < 2; i++) {
		a.length = strtoull(argv[1], NULL, 0);
		m = sim_send(&s.ep[0], &a);
		sim_finish(&s, 100 * SIM_S);
	}
	printf("%.3f\n", (double)(m->rcvd_at - m->sent_at) / 1e3);
	sim_free(&s);
	return 0;
}
