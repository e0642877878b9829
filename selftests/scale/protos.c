// SPDX-License-Identifier: GPL-2.0
/* The protocols that there are. */
#include "proto.h"

static struct proto *const known[] = {
	&proto_dlcp,
#ifdef SCALE_NS3
	&proto_ns3_dctcp, &proto_ns3_cubic, &proto_ns3_bbr,
#else
	&proto_dctcp, &proto_pfabric, &proto_ndp, &proto_homa,
#endif
};

struct proto *proto_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(known[i]->name, name))
			return known[i];
	fprintf(stderr, "scale: there is no protocol %s\n", name);
	exit(2);
}
