// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <ifaddrs.h>
#include <linux/dlcp.h>
#include <string.h>

#include "fake.h"
#include "thread.h"

struct fake fake;

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
}

void fake_put(struct msghdr *mh, size_t *at, int type, const void *data,
	      size_t len)
{
	struct cmsghdr cm = { .cmsg_level = SOL_DLCP, .cmsg_type = type };
	size_t room = mh->msg_controllen - *at;
	char *to = (char *)mh->msg_control + *at;

	if (room < sizeof(cm)) {
		mh->msg_flags |= MSG_CTRUNC;
		return;
	}
	if (room < CMSG_LEN(len)) {
		mh->msg_flags |= MSG_CTRUNC;
		len = room - CMSG_LEN(0);
	}
	cm.cmsg_len = CMSG_LEN(len);
	memcpy(to, &cm, sizeof(cm));
	memcpy(to + CMSG_LEN(0), data, len);
	*at += room < CMSG_SPACE(len) ? room : CMSG_SPACE(len);
}

#define FAKE(ret, name, params, args) \
	ret __wrap_##name params; \
	ret __wrap_##name params \
	{ \
		fake.calls++; \
		if (fake.name) \
			return fake.name args; \
		errno = ENOSYS; \
		return -1; \
	}

FAKE(int, socket, (int a, int b, int c), (a, b, c))
FAKE(int, bind, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))
FAKE(int, listen, (int a, int b), (a, b))
FAKE(int, accept4, (int a, struct sockaddr *b, socklen_t *c, int d),
     (a, b, c, d))
FAKE(int, connect, (int a, const struct sockaddr *b, socklen_t c), (a, b, c))
FAKE(ssize_t, sendmsg, (int a, const struct msghdr *b, int c), (a, b, c))
FAKE(ssize_t, recvmsg, (int a, struct msghdr *b, int c), (a, b, c))
FAKE(int, poll, (struct pollfd *a, nfds_t b, int c), (a, b, c))
FAKE(int, setsockopt, (int a, int b, int c, const void *d, socklen_t e),
     (a, b, c, d, e))
FAKE(int, getsockopt, (int a, int b, int c, void *d, socklen_t *e),
     (a, b, c, d, e))

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
	return fake.no_memory ? NULL : __real_realloc(p, n);
}

int thread_refused(void)
{
	return fake.no_thread;
}

int __real_getifaddrs(struct ifaddrs **list);
int __wrap_getifaddrs(struct ifaddrs **list);

int __wrap_getifaddrs(struct ifaddrs **list)
{
	*list = NULL;
	return fake.no_interface ? 0 : __real_getifaddrs(list);
}

int __real_getaddrinfo(const char *host, const char *port,
		       const struct addrinfo *hints, struct addrinfo **list);
int __wrap_getaddrinfo(const char *host, const char *port,
		       const struct addrinfo *hints, struct addrinfo **list);

int fake_real_getaddrinfo(const char *host, const char *port,
			  const struct addrinfo *hints, struct addrinfo **list)
{
	return __real_getaddrinfo(host, port, hints, list);
}

int __wrap_getaddrinfo(const char *host, const char *port,
		       const struct addrinfo *hints, struct addrinfo **list)
{
	return (fake.getaddrinfo ? fake.getaddrinfo : __real_getaddrinfo)
		(host, port, hints, list);
}
