// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded in a chroot: uname() tells the release of the kernel that belongs
 * to that root (DLCP_RELEASE) and not of the one that runs. The module is built
 * for the former, and loaded where it runs: in the lab.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

int uname(struct utsname *u)
{
	const char *release = getenv("DLCP_RELEASE");
	int ret = syscall(SYS_uname, u);

	if (!ret && release)
		snprintf(u->release, sizeof(u->release), "%s", release);
	return ret;
}
