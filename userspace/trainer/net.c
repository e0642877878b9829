// SPDX-License-Identifier: GPL-2.0
/* What both transports need */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net.h"
#include "train.h"

/* To connect once, and the pause before it is tried anew */
#define FIRST_TRY_MS	1000
#define RETRY_US	50000

/* The first thread that finds something has the last word */
void die(int status, const char *format, ...)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	va_list ap;

	pthread_mutex_lock(&once);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	fflush(NULL);
	_exit(status);
}

const struct net_ops *net_find(const char *name)
{
	if (!strcmp(name, net_dlcp.name))
		return &net_dlcp;
	if (!strcmp(name, net_tcp.name))
		return &net_tcp;
	return NULL;
}

void out_of_memory(void)
{
	die(1, "no memory: end other programs, or ask for fewer --epochs or a smaller --batch");
}

void *need_memory(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		out_of_memory();
	return p;
}

int gaps_add(struct gaps *gaps, struct gap gap)
{
	size_t max = gaps->max ? gaps->max * 2 : 16;
	struct gap *p;

	if (gaps->nr == gaps->max) {
		p = realloc(gaps->gap, max * sizeof(*p));
		if (!p)
			return -1;
		gaps->gap = p;
		gaps->max = max;
	}
	gaps->gap[gaps->nr++] = gap;
	return 0;
}

const char *net_peer_name(int fd)
{
	static _Thread_local char name[100];
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char host[64], port[16];

	if (getpeername(fd, (struct sockaddr *)&addr, &len) ||
	    getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV |
			NI_DGRAM))
		return "unknown address";
	/* an IPv4 address is shown as one, whatever the socket's family */
	snprintf(name, sizeof(name), "%s port %s",
		 strncmp(host, "::ffff:", 7) ? host : host + 7, port);
	return name;
}

double net_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* One address may be silent for ever, and another one refuse until the server is there: so try
 * anew, and longer each time
 */
struct conn *net_connect(const struct net_ops *net, const char *host, const char *port, int timeout_ms)
{
	double left = timeout_ms, end = net_now_ms() + timeout_ms;
	int ms = FIRST_TRY_MS;
	struct conn *conn;

	for (;;) {
		conn = net->connect(host, port, left < 1 ? 1 : left < ms ? (int)left : ms);
		if (conn || (errno != ECONNREFUSED && errno != ETIMEDOUT))
			return conn;
		usleep(RETRY_US);
		left = end - net_now_ms();
		if (left <= 0)
			return NULL;
		if (ms < timeout_ms)
			ms *= 2;
	}
}
