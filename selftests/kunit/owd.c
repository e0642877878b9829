// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/core/owd.c"
#include "../core/test_owd.c"
