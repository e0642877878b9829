// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/core/rtt.c"
#include "../core/test_rtt.c"
