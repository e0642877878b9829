// SPDX-License-Identifier: LGPL-2.1-or-later
#include "address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

#include <cstring>

#include <gloo/common/error.h>

namespace gloo::transport::dlcp {

static_assert(sizeof(Address::where) + sizeof(uint64_t) <=
	      ::gloo::transport::Address::kMaxByteSize, "too long for Gloo");

Address::Address(const std::vector<char> &bytes)
{
	if (bytes.size() != sizeof(where) + sizeof(pair))
		GLOO_THROW_IO_EXCEPTION("not the address of a DLCP device: do all ranks use DLCP?");
	memcpy(&where, bytes.data(), sizeof(where));
	memcpy(&pair, bytes.data() + sizeof(where), sizeof(pair));
}

std::vector<char> Address::bytes() const
{
	std::vector<char> bytes(sizeof(where) + sizeof(pair));

	memcpy(bytes.data(), &where, sizeof(where));
	memcpy(bytes.data() + sizeof(where), &pair, sizeof(pair));
	return bytes;
}

const struct sockaddr *Address::sockaddr() const
{
	return &where.any;
}

socklen_t Address::length() const
{
	return where.any.sa_family == AF_INET6 ? sizeof(where.in6) :
						 sizeof(where.in);
}

/* It lies at the same place in both families */
uint16_t Address::port() const
{
	return ntohs(where.in.sin_port);
}

void Address::set_port(uint16_t port)
{
	where.in.sin_port = htons(port);
}

std::string Address::host() const
{
	char text[NI_MAXHOST];

	if (getnameinfo(sockaddr(), length(), text, sizeof(text), nullptr, 0,
			NI_NUMERICHOST))
		return "?";
	return text;
}

std::string Address::str() const
{
	bool six = where.any.sa_family == AF_INET6;

	return (six ? "[" + host() + "]" : host()) + ":" +
	       std::to_string(port());
}

static bool take(const struct sockaddr *sa, Address *a)
{
	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6))
		return false;
	memset(&a->where, 0, sizeof(a->where));
	memcpy(&a->where, sa, sa->sa_family == AF_INET6 ?
	       sizeof(a->where.in6) : sizeof(a->where.in));
	return true;
}

/* Link-local ones only if there is no other */
static int rank_of(const struct sockaddr *sa)
{
	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6))
		return 0;
	if (sa->sa_family == AF_INET)
		return 3;
	return IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)sa)->sin6_addr) ? 1 : 2;
}

static Address of_interface(const std::string &name)
{
	struct ifaddrs *list, *i;
	Address a;
	int best = 0;

	if (getifaddrs(&list))
		GLOO_THROW_IO_EXCEPTION("getifaddrs: ", strerror(errno));
	for (i = list; i; i = i->ifa_next) {
		if (name != i->ifa_name || rank_of(i->ifa_addr) <= best)
			continue;
		take(i->ifa_addr, &a);
		best = rank_of(i->ifa_addr);
	}
	freeifaddrs(list);
	if (!best)
		GLOO_THROW_IO_EXCEPTION("interface ", name, " does not exist or has no address: 'ip -br address' lists those that have");
	return a;
}

/* Is it one of ours? */
static bool usable(const Address &a)
{
	int fd = socket(a.where.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok = fd >= 0 && !bind(fd, a.sockaddr(), a.length());

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool of_host(const std::string &name, Address *a)
{
	struct addrinfo hints = {}, *list, *i;
	bool found = false;

	hints.ai_socktype = SOCK_DGRAM;
	if (getaddrinfo(name.c_str(), nullptr, &hints, &list))
		return false;
	for (i = list; i && !found; i = i->ai_next)
		found = take(i->ai_addr, a) && usable(*a);
	freeaddrinfo(list);
	return found;
}

Address find_address(const attr &attr)
{
	char name[256] = "";
	Address a;

	if (!attr.iface.empty())
		return of_interface(attr.iface);
	if (!attr.hostname.empty()) {
		if (!of_host(attr.hostname, &a))
			GLOO_THROW_IO_EXCEPTION(attr.hostname, " has no address on this host: set GLOO_SOCKET_IFNAME");
		return a;
	}
	gethostname(name, sizeof(name) - 1);
	if (!of_host(name, &a) && !of_host("127.0.0.1", &a))
		GLOO_THROW_IO_EXCEPTION("this host has no address, not even 127.0.0.1: 'ip link set lo up', or set GLOO_SOCKET_IFNAME");
	return a;
}

} // namespace gloo::transport::dlcp
