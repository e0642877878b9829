// SPDX-License-Identifier: LGPL-2.1-or-later
/* Element types: sizes, names, and which are integers */
#include "../dlcp_coll.h"
#include "../dlcp_thc.h"
#include "reduce.h"

static const struct {
	size_t		size;
	const char	*name;
} types[] = {
	[DLCP_COLL_F32]		= { 4, "float32" },
	[DLCP_COLL_F16]		= { 2, "float16" },
	[DLCP_COLL_BF16]	= { 2, "bfloat16" },
	[DLCP_COLL_I8]		= { 1, "int8" },
	[DLCP_COLL_I32]		= { 4, "int32" },
	[DLCP_COLL_F64]		= { 8, "float64" },
	[DLCP_COLL_I64]		= { 8, "int64" },
	[DLCP_COLL_U8]		= { 1, "uint8" },
};

static int known(int dtype)
{
	return dtype >= 0 && dtype < (int)(sizeof(types) / sizeof(types[0]));
}

int coll_is_thc(int dtype)
{
	return dtype == COLL_THC8 || dtype == COLL_THC16;
}

size_t coll_dtype_size(int dtype)
{
	if (coll_is_thc(dtype))
		return DLCP_THC_UNIT / 2;
	return known(dtype) ? types[dtype].size : 0;
}

size_t coll_dtype_sum_size(int dtype)
{
	if (coll_is_thc(dtype))
		return dlcp_thc_sum_bytes(DLCP_THC_BLOCK, dtype - COLL_THC8 + 1) /
		       dlcp_thc_units(DLCP_THC_BLOCK);
	return coll_dtype_size(dtype);
}

const char *coll_dtype_name(int dtype)
{
	if (coll_is_thc(dtype))
		return "units of THC codes";
	return known(dtype) ? types[dtype].name : "an unknown type";
}

int coll_is_int(int dtype)
{
	return dtype == DLCP_COLL_I8 || dtype == DLCP_COLL_I32 ||
	       dtype == DLCP_COLL_I64 || dtype == DLCP_COLL_U8;
}
