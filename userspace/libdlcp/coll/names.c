// SPDX-License-Identifier: LGPL-2.1-or-later
/* What users call values of enums, in options and in messages */
#include "coll.h"

#define NAME_OF(i, names) \
	((size_t)(i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : NULL)

DLCP_API const char *dlcp_coll_algo_name(int algo)
{
	static const char *const names[] = {
		[DLCP_COLL_AUTO] = "auto",
		[DLCP_COLL_RING] = "ring",
		[DLCP_COLL_TRANSPOSE] = "transpose",
		[DLCP_COLL_SERVER] = "server",
	};

	return NAME_OF(algo, names);
}

DLCP_API const char *dlcp_coll_correct_name(int correct)
{
	static const char *const names[] = {
		[DLCP_COLL_FEEDBACK] = "feedback",
		[DLCP_COLL_AVERAGE] = "average",
		[DLCP_COLL_NOTHING] = "nothing",
	};

	return NAME_OF(correct, names);
}
