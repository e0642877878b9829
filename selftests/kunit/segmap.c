// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/core/segmap.c"
#include "../core/test_segmap.c"
