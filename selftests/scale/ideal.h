/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a step has to take. The floor knows bytes, rates and delays. The ideal
 * also knows what any sender has to wait for:
 *
 * - workers that begin late;
 * - the round trips in which windows double from ten segments (RFC 6928), as nobody
 *   knows the way yet: they last from step to step;
 * - as long as a pair of hosts has no way, for one;
 * - what links take that are slow or dead;
 * - one round trip, if a fault meets a way of a pair: the news of what was lost.
 */
#ifndef _SCALE_IDEAL_H
#define _SCALE_IDEAL_H

#include "jobs.h"

/* Sets job->floor */
void ideal_make(struct job *j);
/* A step begins, its workers @first to @last ns later */
void ideal_begin(struct job *j, u64 first, u64 last);
/* The step is over. Return: ns that it had to take. *@late_cut: ns of outages that
 * began later; who has to wait for them has only to be slow, not very slow
 */
u64 ideal_end(struct job *j, u64 *late_cut);
/* Some link is another one from now on */
void ideal_fault(void);

#endif
