// SPDX-License-Identifier: GPL-2.0
/* Counters of a network namespace: where they are, and their names. */
#include "dlcp.h"

unsigned int dlcp_net_id __read_mostly;

const char *const dlcp_mib_names[DLCP_MIB_MAX] = {
#define DLCP_MIB_ITEM(field, name) name,
#include "mib_list.h"
#undef DLCP_MIB_ITEM
};
