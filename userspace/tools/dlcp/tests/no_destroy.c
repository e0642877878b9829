// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded: what a kernel without CONFIG_INET_DIAG_DESTROY answers to those who would end a socket.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t tolen)
{
	ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t) =
		dlsym(RTLD_NEXT, "sendto");
	struct nlmsghdr head;

	if (len >= sizeof(head)) {
		memcpy(&head, buf, sizeof(head));
		if (head.nlmsg_type == SOCK_DESTROY) {
			errno = EOPNOTSUPP;
			return -1;
		}
	}
	return real(fd, buf, len, flags, to, tolen);
}
