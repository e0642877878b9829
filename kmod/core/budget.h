/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loss budget of one message, in bytes (Documentation/protocol.md, section 6).
 *
 * A missing range is forgiven only while
 *	forgiven + range <= p * (received + forgiven + range)
 * so that the budget vests as the message arrives and is not spent on the
 * first burst; when every other byte is there the rule equals the bound.
 */
#ifndef _DLCP_CORE_BUDGET_H
#define _DLCP_CORE_BUDGET_H

#include "env.h"

struct dlcp_budget {
	u64	length;
	u64	received;	/* acknowledged bytes, each once */
	u64	forgiven;
	u32	ppm;
};

/* floor(length * ppm / 10^6) without overflow for any length */
u64 dlcp_bound(u64 length, u32 ppm);
void dlcp_budget_init(struct dlcp_budget *b, u64 length, u32 ppm);
bool dlcp_budget_may_forgive(const struct dlcp_budget *b, u64 range);
void dlcp_budget_forgive(struct dlcp_budget *b, u64 range);
/* @was_forgiven: the range counted as forgiven and came late after all */
void dlcp_budget_receive(struct dlcp_budget *b, u64 range, bool was_forgiven);

#endif
