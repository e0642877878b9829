/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SCALE_FAULTS_H
#define _SCALE_FAULTS_H

#include "fabric.h"

/* Times are from now on. Exits if a fault names nothing. */
void faults_start(void);

#endif
