// SPDX-License-Identifier: GPL-2.0
/* To be preloaded: a kernel that was started with ipv6.disable=1 */
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

int socket(int family, int type, int protocol)
{
	int (*next)(int, int, int) = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");

	if (family != AF_INET6)
		return next(family, type, protocol);
	errno = EAFNOSUPPORT;
	return -1;
}
