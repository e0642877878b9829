// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which of this host's addresses others are to use. DLCP_SOCKET_IFNAME chooses
 * an interface, with the syntax of NCCL_SOCKET_IFNAME: prefixes of names,
 * separated by commas; with "=" before the list whole names; with "^" all
 * interfaces but these; with "^=" both.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll.h"

/* As NCCL and others, not to be chosen if there is another */
static int is_virtual(const char *name)
{
	return !strncmp(name, "docker", 6) || !strncmp(name, "virbr", 5) ||
	       !strncmp(name, "veth", 4) || !strncmp(name, "cni", 3);
}

/* Is @name in the list? @exact: whole names, else prefixes */
static int is_listed(const char *list, int exact, const char *name)
{
	const char *end;
	size_t len;

	for (; *list; list = *end ? end + 1 : end) {
		end = strchrnul(list, ',');
		len = (size_t)(end - list);
		if (len && !strncmp(list, name, len) &&
		    (!exact || !name[len]))
			return 1;
	}
	return 0;
}

int coll_ifname_matches(const char *choice, const char *name)
{
	int exclude = *choice == '^', exact;

	choice += exclude;
	exact = *choice == '=';
	choice += exact;
	return is_listed(choice, exact, name) != exclude;
}

/* How good is an address? 0: of no use */
static int worth(const struct ifaddrs *i)
{
	const struct sockaddr_in6 *in6 = (const void *)i->ifa_addr;

	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
		return 0;
	if (i->ifa_addr->sa_family == AF_INET6) {
		/* others do not know the number of our interface */
		if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			return 0;
	} else if (i->ifa_addr->sa_family != AF_INET) {
		return 0;
	}
	if (i->ifa_flags & IFF_LOOPBACK)
		return 1;
	return is_virtual(i->ifa_name) ? 2 : 3;
}

/* The best of those that match, the first of equal ones */
static const struct ifaddrs *best_of(const struct ifaddrs *list,
				     const char *choice, int family)
{
	const struct ifaddrs *i, *best = NULL;

	for (i = list; i; i = i->ifa_next)
		if (worth(i) && (!family || i->ifa_addr->sa_family == family) &&
		    coll_ifname_matches(choice, i->ifa_name) &&
		    (!best || worth(i) > worth(best)))
			best = i;
	return best;
}

static void take_address(struct dlcp__from *from, const struct ifaddrs *i)
{
	if (i->ifa_addr->sa_family == AF_INET6)
		memcpy(&from->in6, i->ifa_addr, sizeof(from->in6));
	else
		memcpy(&from->in, i->ifa_addr, sizeof(from->in));
}

/* @words: each after a blank */
static int has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	while ((words = strchr(words, ' ')))
		if (!strncmp(++words, word, len) &&
		    (!words[len] || words[len] == ' '))
			return 1;
	return 0;
}

/* One interface, with its addresses of both families */
static int choose(const struct ifaddrs *list, const char *choice,
		  struct dlcp__from *from)
{
	const struct ifaddrs *best = best_of(list, choice, 0), *i;
	char names[120] = "", exact[IF_NAMESIZE + 2];
	size_t at = 0;

	memset(from, 0, sizeof(*from));
	for (i = list; !best && i && at < sizeof(names); i = i->ifa_next)
		if (worth(i) && !has_word(names, i->ifa_name))
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       " %s", i->ifa_name);
	if (!best)
		return dlcp__fail_text(ENODEV, "DLCP_SOCKET_IFNAME=%s chooses no interface that is up and has an address; there are:%s",
				       choice, names);
	snprintf(exact, sizeof(exact), "=%s", best->ifa_name);
	take_address(from, best);
	i = best_of(list, exact, best->ifa_addr->sa_family == AF_INET ?
		    AF_INET6 : AF_INET);
	if (i)
		take_address(from, i);
	return 0;
}

int coll_ifname(struct dlcp__from *from)
{
	const char *choice = getenv("DLCP_SOCKET_IFNAME");
	struct ifaddrs *list;
	int ret;

	if (!choice || !*choice)
		return 0;
	if (getifaddrs(&list))
		return dlcp__fail(errno, "getifaddrs");
	ret = choose(list, choice, from);
	freeifaddrs(list);
	return ret ? -1 : 1;
}

/* --- an address to tell others */

static int address_text(const void *addr, char *buf, size_t len)
{
	const struct sockaddr *sa = addr;
	socklen_t size = sa->sa_family == AF_INET6 ?
			 sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (getnameinfo(sa, size, buf, (socklen_t)len, NULL, 0, NI_NUMERICHOST))
		return dlcp__fail(ENOSPC, "getnameinfo");
	return 0;
}

int coll_is_loopback(const char *host)
{
	return !strncmp(host, "127.", 4) || !strcmp(host, "::1");
}

/* From which address do packets to @where leave? Return: 0, if not loopback */
static int source_to(const struct addrinfo *where, char *buf, size_t len)
{
	int fd = socket(where->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage addr = { 0 };
	socklen_t size = sizeof(addr);
	int ret = -1;

	if (fd < 0)
		return -1;
	if (!connect(fd, where->ai_addr, where->ai_addrlen) &&
	    !getsockname(fd, (struct sockaddr *)&addr, &size) &&
	    !address_text(&addr, buf, len) && !coll_is_loopback(buf))
		ret = 0;
	close(fd);
	return ret;
}

static int source_to_name(const char *name, char *buf, size_t len, int flags)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM,
				  .ai_flags = flags }, *list, *i;
	int ret = -1;

	if (getaddrinfo(name, "9", &hints, &list))
		return -1;
	for (i = list; i && ret; i = i->ai_next)
		ret = source_to(i, buf, len);
	freeaddrinfo(list);
	return ret;
}

static int first_address(char *buf, size_t len)
{
	const struct ifaddrs *best;
	struct ifaddrs *list;
	int ret;

	if (getifaddrs(&list))
		return dlcp__fail(errno, "getifaddrs");
	best = best_of(list, "^", AF_INET);
	if (!best || worth(best) == 1)
		best = best_of(list, "^", 0);
	ret = best ? address_text(best->ifa_addr, buf, len) :
		     dlcp__fail_text(EADDRNOTAVAIL, "this host has no address: 'ip address' lists them");
	freeifaddrs(list);
	return ret;
}

/*
 * A name of our own may stand for loopback, or for nothing. Addresses of no
 * host, to which nothing is sent, tell the default route's.
 */
DLCP_API int dlcp_coll_address(const char *towards, char *buf, size_t len)
{
	struct dlcp__from from = { { 0 }, { 0 } };
	int chosen = coll_ifname(&from);

	if (chosen < 0)
		return -1;
	if (chosen)
		return address_text(from.in.sin_family ? (void *)&from.in :
				    (void *)&from.in6, buf, len);
	if ((towards && !source_to_name(towards, buf, len, 0)) ||
	    !source_to_name("192.0.2.1", buf, len, AI_NUMERICHOST) ||
	    !source_to_name("2001:db8::1", buf, len, AI_NUMERICHOST))
		return 0;
	return first_address(buf, len);
}
