/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of a network namespace: /proc/net/dlcp/snmp. Every place that
 * drops something has one of its own. Documentation/counters.md says what
 * they mean to an operator.
 */
#ifndef _DLCP_MIB_H
#define _DLCP_MIB_H

#include <net/snmp.h>

#include "core/conn.h"

enum {
#define DLCP_MIB_ITEM(field, name) DLCP_MIB_##field,
#include "mib_list.h"
#undef DLCP_MIB_ITEM
	DLCP_MIB_MAX
};

struct dlcp_mib {
	unsigned long mibs[DLCP_MIB_MAX];
};

extern const char *const dlcp_mib_names[DLCP_MIB_MAX];

/* The counter of a verdict that is not DLCP_OK */
static inline int dlcp_mib_verdict(enum dlcp_verdict v)
{
	return DLCP_MIB_DUP + (int)v - DLCP_DUP;
}

#endif
