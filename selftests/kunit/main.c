// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>

MODULE_DESCRIPTION("Unit tests of DLCP's engine");
MODULE_LICENSE("GPL");
