// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/core/pace.c"
#include "../core/test_pace.c"
