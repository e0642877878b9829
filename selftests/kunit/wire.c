// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/core/wire.c"
#include "../core/test_wire.c"
