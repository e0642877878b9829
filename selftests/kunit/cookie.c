// SPDX-License-Identifier: GPL-2.0
#include "../../kmod/core/cookie.c"
#include "../core/test_cookie.c"
