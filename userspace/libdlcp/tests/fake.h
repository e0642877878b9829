/* SPDX-License-Identifier: GPL-2.0 */
/*
 * System calls the library makes, replaced at link time. A test points the
 * member it expects to its own function; a call nobody expects fails with
 * ENOSYS.
 */
#ifndef LIBDLCP_FAKE_H
#define LIBDLCP_FAKE_H

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

struct fake {
	int (*socket)(int family, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *addr, socklen_t len);
	int (*listen)(int fd, int backlog);
	int (*accept4)(int fd, struct sockaddr *addr, socklen_t *len, int flags);
	int (*connect)(int fd, const struct sockaddr *addr, socklen_t len);
	ssize_t (*sendmsg)(int fd, const struct msghdr *mh, int flags);
	ssize_t (*recvmsg)(int fd, struct msghdr *mh, int flags);
	int (*poll)(struct pollfd *pfd, nfds_t n, int timeout);
	int (*setsockopt)(int fd, int level, int name, const void *val,
			  socklen_t len);
	int (*getsockopt)(int fd, int level, int name, void *val,
			  socklen_t *len);
	/* if it is not set, the real one is called */
	int (*getaddrinfo)(const char *host, const char *port,
			   const struct addrinfo *hints,
			   struct addrinfo **list);
	int calls;	/* of whatever was called last */
	int no_memory;	/* for realloc() */
	int no_thread;	/* for pthread_create() */
	int no_interface;	/* for getifaddrs() */
};

extern struct fake fake;

int fake_real_getaddrinfo(const char *host, const char *port,
			  const struct addrinfo *hints, struct addrinfo **list);

/* Forget everything a test has set */
void fake_reset(void);

/*
 * Control messages as the kernel's put_cmsg() writes them: cut, with
 * MSG_CTRUNC, when there is too little room. @at starts at 0.
 */
void fake_put(struct msghdr *mh, size_t *at, int type, const void *data,
	      size_t len);

#endif
