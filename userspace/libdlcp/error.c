// SPDX-License-Identifier: LGPL-2.1-or-later
/* Words for what went wrong, one text per thread */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define TEXT_MAX	560

static _Thread_local char text[TEXT_MAX] = "no error";

DLCP_API const char *dlcp_last_error(void)
{
	return text;
}

DLCP_API unsigned int dlcp_version(void)
{
	return LIBDLCP_VERSION_MAJOR * 10000 + LIBDLCP_VERSION_MINOR * 100 +
	       LIBDLCP_VERSION_PATCH;
}

/* "what: why", where what is the formatted text and why the errno's name */
int dlcp__fail(int err, const char *fmt, ...)
{
	char what[480], why[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "%s: %s", what,
		 strerror_r(err, why, sizeof(why)));
	errno = err;
	return -1;
}

int dlcp__fail_text(int err, const char *fmt, ...)
{
	char what[TEXT_MAX];	/* @fmt's arguments may be the old text */
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	memcpy(text, what, sizeof(text));
	errno = err;
	return -1;
}

int dlcp__no_memory(void)
{
	return dlcp__fail_text(ENOMEM, "no memory: end other programs, or raise memory.max of the cgroup");
}

int dlcp__no_thread(int err)
{
	return dlcp__fail(err, "cannot start a thread: raise 'ulimit -u' or pids.max of the cgroup");
}

int dlcp__fail_socket(int err, int family)
{
	if (err == ESOCKTNOSUPPORT || err == EPROTONOSUPPORT)
		snprintf(text, sizeof(text),
			 "the running kernel has no DLCP: the module is not loaded (as root: modprobe dlcp)");
	else if (err == EAFNOSUPPORT && family != AF_INET && family != AF_INET6)
		snprintf(text, sizeof(text),
			 "DLCP needs AF_INET or AF_INET6, not address family %d",
			 family);
	else if (err == EPERM || err == EACCES || err == EAFNOSUPPORT)
		snprintf(text, sizeof(text),
			 "a DLCP socket is forbidden here: by seccomp (containers, systemd's RestrictAddressFamilies=), AppArmor or SELinux%s",
			 err == EAFNOSUPPORT && family == AF_INET6 ?
			 "; or there is no IPv6" : "");
	else
		return dlcp__fail(err, "cannot make a DLCP socket, though the module is loaded");
	errno = err;
	return -1;
}
